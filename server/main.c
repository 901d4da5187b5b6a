/*
 * main.c - the daemon's main: settings, then server_run. Exit statuses: 0 stopped, 69 could not start, 78 a wrong flag or setting.
 */
#include "config.h"

#include <stdio.h>

#include "server.h"

#define EXIT_CONFIG 78

int main(int argc, char **argv, char **envp)
{
	static struct server server; /* large, and as long-lived as the process */
	struct conf conf;
	struct errbuf err;
	int status = 0;

	switch (conf_load(&conf, argc, argv, envp, &err)) {
	case CONF_HELP:
		conf_help(stdout);
		break;
	case CONF_VERSION:
		puts("claimd " PACKAGE_VERSION);
		break;
	case CONF_CHECK:
		puts("claimd: the settings are good");
		break;
	case CONF_PRINT:
		conf_print(&conf, stdout);
		break;
	case CONF_BAD:
		fprintf(stderr, "claimd: %s\n", err.text);
		status = EXIT_CONFIG;
		break;
	case CONF_RUN:
		status = server_run(&server, &conf, envp);
		break;
	}
	conf_release(&conf);
	return status;
}
