/*
 * main.c - the daemon's main: settings, then server_run. Exit statuses: 0 stopped, 69 could not start, which may pass, 78 a wrong
 * flag or setting.
 */
#include "config.h"

#include <stdio.h>

#include "server.h"
#include "start_check.h"

#define EXIT_CONFIG 78

static void add_stranger(void *faults, const char *text)
{
	struct errbuf err;

	err_set(&err, "%s", text);
	faults_add(faults, FIT_NEVER, &err);
}

static void print_warning(void *out, const char *text)
{
	fprintf(out, "claimd: warning: %s\n", text);
}

static int refuse(const struct faults *faults)
{
	faults_print(faults, stderr);
	return faults->lasting ? EXIT_CONFIG : EXIT_UNAVAILABLE;
}

static int check(const struct conf *conf, struct faults *faults)
{
	start_check(conf, faults);
	conf_strangers(conf, add_stranger, faults);
	if (faults->count > 0)
		return refuse(faults);
	conf_warnings(conf, print_warning, stderr);
	puts("claimd: the settings are good");
	return 0;
}

static int print(const struct conf *conf, const struct faults *faults)
{
	if (faults->count > 0)
		return refuse(faults);
	conf_print(conf, stdout);
	return 0;
}

static int run(const struct conf *conf, struct faults *faults)
{
	static struct server server; /* large, and as long-lived as the process */
	bool unread = faults->count > 0;

	start_check(conf, faults);
	if (unread || faults->lasting) /* what may pass shows when it is tried, and may have passed by then */
		return refuse(faults);
	return server_run(&server, conf, conf->envp);
}

int main(int argc, char **argv, char **envp)
{
	static struct faults faults;
	struct conf conf;
	int status = 0;

	(void)argc;
	switch (conf_load(&conf, argv, envp, &faults)) {
	case CONF_HELP:
		conf_help(stdout);
		break;
	case CONF_VERSION:
		puts("claimd " PACKAGE_VERSION);
		break;
	case CONF_CHECK:
		status = check(&conf, &faults);
		break;
	case CONF_PRINT:
		status = print(&conf, &faults);
		break;
	case CONF_RUN:
		status = run(&conf, &faults);
		break;
	}
	conf_release(&conf);
	return status;
}
