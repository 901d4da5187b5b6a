/*
 * conf.c - the daemon's settings from all their sources, against made-up flags, variables and files.
 *
 * The input is lines: those that begin with "-" are arguments, those that begin with "CLAIMD_" are variables, those that begin with
 * "=" are the file SECRET, and all others are the configuration file. Whatever is wrong must be told in words. What --print-config
 * shows of settings that are good must be a configuration file that gives the same settings, and shows the same; without memory
 * the daemon does not start with others.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../proto/mem.h"
#include "../../server/conf.h"
#include "../../server/setting.h"
#include "fuzz.h"

#define MAX_LIST 40
#define SECRET "/proc/self/fd/100" /* the descriptors are fixed, so that an input can name them */
#define SECRET_FD 100
#define CONF_FD 101

/* What conf_load reads; the strings are in one block that ends with a NUL for each. */
struct sources {
	char *text;
	char *argv[MAX_LIST + 2], *envp[MAX_LIST + 4];
};

static char program[] = "claimd", runtime_dir[] = "XDG_RUNTIME_DIR=/run/x", state_dir[] = "XDG_STATE_HOME=/var/x";
static char variable[] = "CLAIMD_CONFIG=/proc/self/fd/101";

static void write_all(int fd, const char *data, size_t len)
{
	must(write(fd, data, len) == (ssize_t)len);
}

/* A new and empty file under this number, in place of the one before. */
static void file_at(int at)
{
	int fd = memfd_create("file", 0);

	must(fd >= 0 && dup2(fd, at) == at);
	close(fd);
}

static void sources_init(struct sources *from, struct slice input)
{
	size_t args = 0, variables = 0;
	char *line, *end;

	memset(from, 0, sizeof *from);
	from->text = mem_copy(input.data, input.len);
	must(from->text != NULL);
	file_at(CONF_FD);
	file_at(SECRET_FD);
	from->argv[args++] = program;
	from->envp[variables++] = runtime_dir;
	from->envp[variables++] = state_dir;
	for (line = from->text; line < from->text + input.len; line = end + 1) {
		size_t left = (size_t)(from->text + input.len - line);

		end = memchr(line, '\n', left);
		if (end == NULL)
			end = line + left;
		if (line[0] == '-' && args <= MAX_LIST) {
			*end = '\0';
			from->argv[args++] = line;
		} else if (strncmp(line, "CLAIMD_", 7) == 0 && variables <= MAX_LIST) {
			*end = '\0';
			from->envp[variables++] = line;
		} else {
			bool secret = line[0] == '=';

			write_all(secret ? SECRET_FD : CONF_FD, line + secret, (size_t)(end - line) - secret);
			write_all(secret ? SECRET_FD : CONF_FD, "\n", 1);
		}
	}
	from->envp[variables] = variable;
}

/* The path is opened anew each time, and so read from its start. */
static enum conf_action load(struct conf *conf, struct sources *from, struct faults *faults)
{
	enum conf_action action = conf_load(conf, from->argv, from->envp, faults);

	for (size_t i = 0; i < faults->count && i < FAULTS_SHOWN; i++)
		must(faults->at[i].text[0] != '\0');
	return action;
}

static char *printed(const struct conf *conf, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	must(out != NULL);
	conf_print(conf, out);
	must(fclose(out) == 0);
	return text;
}

/* The settings that are lines of their own, without where they come from. */
static bool same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_settings(const struct conf *a, const struct conf *b)
{
	return same_text(a->socket, b->socket) && same_text(a->store, b->store) && same_text(a->admin, b->admin) &&
	       same_text(a->socket_group, b->socket_group) && same_text(a->allow_uid, b->allow_uid) &&
	       same_text(a->allow_gid, b->allow_gid) && same_text(a->operator_uid, b->operator_uid) &&
	       same_text(a->namespace_uid, b->namespace_uid) && same_text(a->namespace, b->namespace) &&
	       a->socket_mode == b->socket_mode && a->log_format == b->log_format && a->log_level == b->log_level &&
	       a->log_keys == b->log_keys && a->lease_ms == b->lease_ms && a->ttl_ms == b->ttl_ms &&
	       a->max_body == b->max_body && a->max_connections == b->max_connections &&
	       a->max_in_flight == b->max_in_flight && a->request_timeout_ms == b->request_timeout_ms &&
	       a->store_timeout_ms == b->store_timeout_ms && a->drain_timeout_ms == b->drain_timeout_ms &&
	       a->store_result == b->store_result && a->run_unguarded == b->run_unguarded && a->ready_fd == b->ready_fd;
}

/* What holds of all that are good, said once more. */
static void check_ranges(const struct conf *conf)
{
	must(conf->socket != NULL && conf->store != NULL && strchr(conf->store, ':') != NULL);
	must(conf->socket_mode <= 0777);
	must(conf->namespace == NULL || (strlen(conf->namespace) <= 255 && !strchr(conf->namespace, ':')));
	must(conf->lease_ms >= 1 && conf->lease_ms <= PROTO_MAX_LEASE_MS && conf->ttl_ms >= 1);
	must(conf->max_body >= 1 && conf->max_body <= 16 << 20);
	must(conf->max_connections >= 1 && conf->max_connections <= 1000000);
	must(conf->max_in_flight >= 1 && conf->max_in_flight <= 1000000);
	must(conf->store_timeout_ms >= 1 && conf->store_timeout_ms < conf->request_timeout_ms);
	must(conf->drain_timeout_ms >= 1 && (conf->ready_fd == -1 || conf->ready_fd > 2));
}

/* A password is not shown, so that one cannot be read again; nor is a value that a file of secrets held. */
static bool hides_something(const struct conf *conf)
{
	struct errbuf shown;

	conf_redact(conf->store, &shown);
	return conf->origin[CONF_ID_store].twin != NULL || strcmp(shown.text, conf->store) != 0;
}

static void check_printed(const struct conf *conf)
{
	struct sources from;
	struct conf again;
	struct faults faults;
	size_t len, len_again;
	char *text = printed(conf, &len), *text_again;

	sources_init(&from, (struct slice){text, len});
	must(load(&again, &from, &faults) == CONF_RUN);
	must(faults.count == 0 && same_settings(conf, &again));
	text_again = printed(&again, &len_again);
	for (char *a = text, *b = text_again; *a != '\0' || *b != '\0'; a += *a == '\n', b += *b == '\n') {
		size_t a_len = strcspn(a, "\n"), b_len = strcspn(b, "\n");

		must(*a == '#' ? *b == '#' : a_len == b_len && memcmp(a, b, a_len) == 0);
		a += a_len;
		b += b_len;
	}
	free(text_again);
	free(text);
	conf_release(&again);
	mem_free(from.text);
}

/* Without memory for one thing or other it is the same, or a fault. */
static void check_starved(const struct conf *conf, struct sources *from, size_t fail_at)
{
	struct conf again;
	struct faults faults;

	mem_fail_at(fail_at, 0);
	load(&again, from, &faults);
	mem_fail_at(0, 0);
	must(faults.count > 0 || same_settings(conf, &again));
	conf_release(&again);
}

static void on_warning(void *arg, const char *text)
{
	(void)arg;
	must(text[0] != '\0');
}

/* It names no file that a read would hang on, or that is another one elsewhere, as far as that can be seen. */
static bool is_harmless(struct slice input)
{
	char *text = mem_copy(input.data, input.len);
	bool good = true;

	must(text != NULL);
	for (size_t i = 0; i < input.len && good; i++)
		good =
		    (strncmp(text + i, "/proc", 5) != 0 || strncmp(text + i, SECRET "\n", strlen(SECRET) + 1) == 0) &&
		    strncmp(text + i, "/dev", 4) != 0;
	mem_free(text);
	return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sources from;
	struct conf conf;
	struct faults faults;
	enum conf_action action;

	if (!is_harmless((struct slice){(const char *)data, size}))
		return 0;
	sources_init(&from, (struct slice){(const char *)data, size});
	action = load(&conf, &from, &faults);
	if (action != CONF_HELP && action != CONF_VERSION) {
		if (faults.count == 0) {
			check_ranges(&conf);
			conf_warnings(&conf, on_warning, NULL);
			check_starved(&conf, &from, 1 + size % 40);
			if (!hides_something(&conf))
				check_printed(&conf);
		} else {
			size_t len;

			free(printed(&conf, &len));
		}
	}
	conf_release(&conf);
	mem_free(from.text);
	return 0;
}
