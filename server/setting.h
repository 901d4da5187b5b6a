/*
 * setting.h - one line of conf.def: what a value may be, and how it gets into struct conf.
 *
 * Used by conf.c, which reads the sources, and conf_show.c, which prints.
 */
#ifndef CLAIMD_SERVER_SETTING_H
#define CLAIMD_SERVER_SETTING_H

#include "conf.h"

enum setting_kind {
	SETTING_SOCKET,  /* char *: a path that fits into a socket's address */
	SETTING_MODE,    /* unsigned: octal, at most 0777 */
	SETTING_GROUP,   /* char *: the name or number of one that there is */
	SETTING_ADDRESS, /* char *: as address.h says */
	SETTING_ACCESS,  /* char *: as access.h says */
	SETTING_URL, /* char *: may hold a password, so it has a twin <name>_file that names a file with the value */
	SETTING_NAMESPACE,  /* char *: no colon, at most 255 octets */
	SETTING_LOG_FORMAT, /* its enum, by name; so the next two */
	SETTING_LOG_LEVEL,
	SETTING_LOG_KEYS,
	SETTING_TTL,        /* int64_t ms: from 1ms, or PROTO_NEVER */
	SETTING_TIME,       /* int64_t ms: 1ms .. 365d */
	SETTING_BODY,       /* size_t octets: 1 .. 16M; with k or M */
	SETTING_CACHE,      /* size_t octets: 0 .. 1024M; with k or M */
	SETTING_COUNT,      /* size_t: 1 .. 1000000 */
	SETTING_BOOL,       /* bool: yes or no */
	SETTING_STORE_DOWN, /* bool: refuse or run-unguarded */
	SETTING_FD          /* int: from 3; -1 when not set */
};

struct setting {
	enum setting_kind kind;
	const char *name; /* with underscores */
	size_t offset;    /* of its field in struct conf */
	const char *fallback, *metavar, *help;
};

const struct setting *setting_at(enum conf_id id);
/* A setting by name, with underscores; with *twin set when it is the name of a secret's file. CONF__COUNT: there is none. */
enum conf_id setting_find(struct slice name, bool *twin);
bool setting_has_twin(enum conf_id id);

/* Puts the value of `text` into its field, which for the kinds with a char * then points to it: text lives as long as *conf.
 * False: *err says what is wrong with it, without the name, and without the text where that may be secret. */
bool setting_parse(enum conf_id id, char *text, struct conf *conf, struct errbuf *err);

/* Longest name of a setting in any of its forms, with the NUL. */
#define SETTING_MAX_NAME 48

/* How a setting is called where it is written. */
enum setting_form {
	SETTING_AS_NAME, /* store_timeout */
	SETTING_AS_FLAG, /* --store-timeout */
	SETTING_AS_ENV   /* CLAIMD_STORE_TIMEOUT */
};

void setting_name(const char *name, bool twin, enum setting_form form, char out[SETTING_MAX_NAME]);
/* The name that `wrong`, in the same form, was probably meant to be; false: none is near. */
bool setting_suggest(const char *wrong, enum setting_form form, char out[SETTING_MAX_NAME]);

#endif
