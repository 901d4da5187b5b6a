/*
 * conf.h - the daemon's settings: flags, then the environment, then a file, then defaults.
 *
 * conf.def is the one list of them. Read once at the start; main.c calls conf_load and does what it says.
 */
#ifndef CLAIMD_SERVER_CONF_H
#define CLAIMD_SERVER_CONF_H

#include <stdio.h>

#include "../proto/proto.h"
#include "faults.h"
#include "log.h"

#define CONF_MAX_NAMESPACE 255

/* A place in conf.def for each setting. */
enum conf_id {
#define CONF(kind, name, field, fallback, metavar, help) CONF_ID_##name,
#include "conf.def"
	CONF__COUNT
};

enum conf_source { CONF_FROM_DEFAULT, CONF_FROM_FILE, CONF_FROM_ENV, CONF_FROM_FLAG };

/* Where a value came from. */
struct conf_origin {
	enum conf_source source;
	size_t line;  /* of the configuration file */
	char *text;   /* as it was written; owned; NULL: not set */
	char *twin;   /* the file that held it, where it was given as <name>_file; owned; mostly NULL */
	bool refused; /* what was given is wrong, so that nothing is known of it: the field is not to be used */
};

/* The fields are named as the settings, with their unit. Strings are owned by the conf and NULL where not set. */
struct conf {
	char *socket;
	unsigned socket_mode;
	char *socket_group;
	char *admin;                                                /* see address.h */
	char *allow_uid, *allow_gid, *operator_uid, *namespace_uid; /* see access.h */
	char *store; /* may hold a password: never print it but through conf_redact */
	char *namespace;
	enum log_format log_format;
	enum log_level log_level;
	enum log_keys log_keys;
	int64_t lease_ms;
	int64_t ttl_ms; /* or PROTO_NEVER */
	size_t max_body;
	size_t done_cache;
	size_t max_connections;
	size_t max_in_flight;
	int64_t request_timeout_ms;
	int64_t store_timeout_ms;
	int64_t drain_timeout_ms;
	bool store_result;
	bool run_unguarded; /* on_store_down */
	int ready_fd;       /* -1: none */

	char *file;  /* the configuration file, NULL: none; owned */
	char **envp; /* as given to conf_load, for the warnings */
	struct conf_origin origin[CONF__COUNT];
};

enum conf_action { CONF_RUN, CONF_HELP, CONF_VERSION, CONF_CHECK, CONF_PRINT };

/* Reads argv, envp (which must outlive *conf) and the configuration file that they name, and returns what is asked for. *conf
 * need not be initialised and is to be released whatever the answer. Without faults its settings are valid, but for CONF_HELP and
 * CONF_VERSION, which come before anything is read; with faults those are that were not refused. */
enum conf_action conf_load(struct conf *conf, char **argv, char **envp, struct faults *faults);
void conf_release(struct conf *conf);

/* Each value and where it came from, as a configuration file; passwords redacted. */
void conf_print(const struct conf *conf, FILE *out);
void conf_help(FILE *out);
/* Calls `each` for every variable that looks as if it were a setting and is none: one that is mistyped would go unnoticed else. */
void conf_strangers(const struct conf *conf, void (*each)(void *arg, const char *text), void *arg);
/* Calls `each` for everything that is allowed and probably not meant, and for strangers. */
void conf_warnings(const struct conf *conf, void (*each)(void *arg, const char *text), void *arg);
/* Puts in front where the value of a setting stands: "FILE:3: store", "CLAIMD_STORE", "--store"; its name alone for a default. */
void conf_blame(const struct conf *conf, enum conf_id id, struct errbuf *err);
/* A store's URL for people: the password in user:password@ and in password= becomes ***. */
void conf_redact(const char *url, struct errbuf *out);

/* The store is where we chose, so that all its folders may be made; a path that somebody wrote may be mistyped. */
bool conf_owns_store(const struct conf *conf);

/* Where the socket and the store are when nobody says so; NULL with *err set when there is no such place or no memory. The
 * caller frees it. The command finds the daemon by the same rule. */
char *conf_default_socket(char **envp, bool root, struct errbuf *err);
char *conf_default_store(char **envp, bool root, struct errbuf *err);

#endif
