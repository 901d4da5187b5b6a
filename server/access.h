/*
 * access.h - who may do what: decided from the uid and the groups that the kernel says the peer of a socket has.
 *
 *   enter      allow_uid and allow_gid, where one of them is set; operators always may.
 *   operator   operator_uid; not set: the daemon's own uid and root.
 *   namespace  namespace_uid ties some to uids; then a client without a namespace must be an operator.
 *
 * server.c makes it at the start; call.c and dispatch.c ask. Nothing is read from a client.
 */
#ifndef CLAIMD_SERVER_ACCESS_H
#define CLAIMD_SERVER_ACCESS_H

#include <sys/types.h>

#include "../proto/text.h"

/* Numbers of users or groups. */
struct ids {
	int64_t *id; /* from mem_alloc */
	size_t count;
	bool set; /* the setting was given */
};

/* A namespace and those who may use it. */
struct ns_rule {
	struct slice ns; /* points into the setting's text */
	struct ids uids;
};

struct access {
	struct ids allow_uid, allow_gid, operators;
	struct ns_rule *rule; /* from mem_alloc */
	size_t rules;
	int64_t own_uid;
};

/* The settings as they are written; NULL: not set. They must outlive the access. */
struct access_settings {
	const char *allow_uid, *allow_gid; /* "app,1001": names or numbers */
	const char *operator_uid;
	const char *namespace_uid; /* "billing:app,1001 shop:1002" */
};

struct peer {
	int64_t pid, uid, gid; /* -1: not known */
	const gid_t *groups;   /* the supplementary ones */
	size_t group_count;
};

/* False: *err says what is wrong with one of them; nothing is to be released. */
bool access_init(struct access *access, const struct access_settings *settings, int64_t own_uid, struct errbuf *err);
void access_release(struct access *access);

/* The number of a user or a group that is written as a name or a number. False: there is none. */
bool access_find_id(struct slice word, bool group, int64_t *id);

bool access_enter(const struct access *access, const struct peer *peer);
bool access_operator(const struct access *access, int64_t uid);
/* ns without its colon; absent: none. */
bool access_namespace(const struct access *access, int64_t uid, struct slice ns);

/* The same as access_enter, for the process at the other end of this socket, of which *pid and *uid are told (-1: not known). */
bool access_admit(const struct access *access, int fd, int64_t *pid, int64_t *uid);

#endif
