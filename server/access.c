/* access.c - see access.h. */
#include "access.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "../proto/mem.h"
#include "../proto/proto.h"

#define NAME_MAX_OCTETS 64

/* ---- the settings ---- */

bool access_find_id(struct slice word, bool group, int64_t *id)
{
	char name[NAME_MAX_OCTETS + 1];

	if (integer_parse(word, id))
		return *id <= UINT32_MAX - 1;
	if (word.len == 0 || word.len > NAME_MAX_OCTETS)
		return false;
	memcpy(name, word.data, word.len);
	name[word.len] = '\0';
	if (group) {
		const struct group *found = getgrnam(name);

		*id = found != NULL ? (int64_t)found->gr_gid : -1;
	} else {
		const struct passwd *found = getpwnam(name);

		*id = found != NULL ? (int64_t)found->pw_uid : -1;
	}
	return *id >= 0;
}

static size_t words_in(struct slice text, char separator)
{
	size_t count = 1;

	for (size_t i = 0; i < text.len; i++)
		count += text.data[i] == separator;
	return count;
}

static bool ids_parse(struct ids *ids, struct slice text, bool group, struct errbuf *err)
{
	size_t count = words_in(text, ',');
	int64_t *id = mem_alloc(count * sizeof *id);

	if (id == NULL) {
		err_set(err, "out of memory");
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		struct slice word = slice_cut(&text, ',');

		if (!access_find_id(word, group, &id[i])) {
			err_set(err,
				"there is no %s \"%.*s\"; write names or numbers with commas between them: app,1001",
				group ? "group" : "user", (int)(word.len < 60 ? word.len : 60), word.data);
			mem_free(id);
			return false;
		}
	}
	*ids = (struct ids){id, count, true};
	return true;
}

static bool setting_take(struct ids *ids, const char *text, bool group, struct errbuf *err)
{
	return text == NULL || ids_parse(ids, slice_from(text), group, err);
}

static bool rules_parse(struct access *access, struct slice text, struct errbuf *err)
{
	access->rule = mem_zero(words_in(text, ' ') * sizeof *access->rule);
	if (access->rule == NULL) {
		err_set(err, "out of memory");
		return false;
	}
	while (text.len > 0) {
		struct ns_rule *rule = &access->rule[access->rules];
		struct slice users = slice_cut(&text, ' ');

		if (users.len == 0)
			continue;
		rule->ns = slice_cut(&users, ':');
		if (rule->ns.len == 0 || users.len == 0) {
			err_set(err, "write a namespace, a colon and its users, with spaces between: billing:app,1001 "
				     "shop:1002");
			return false;
		}
		if (!ids_parse(&rule->uids, users, false, err))
			return false;
		access->rules++;
	}
	return true;
}

bool access_init(struct access *access, const struct access_settings *settings, int64_t own_uid, struct errbuf *err)
{
	*access = (struct access){.own_uid = own_uid};
	if (setting_take(&access->allow_uid, settings->allow_uid, false, err) &&
	    setting_take(&access->allow_gid, settings->allow_gid, true, err) &&
	    setting_take(&access->operators, settings->operator_uid, false, err) &&
	    (settings->namespace_uid == NULL || rules_parse(access, slice_from(settings->namespace_uid), err)))
		return true;
	access_release(access);
	return false;
}

void access_release(struct access *access)
{
	mem_free(access->allow_uid.id);
	mem_free(access->allow_gid.id);
	mem_free(access->operators.id);
	for (size_t i = 0; i < access->rules; i++)
		mem_free(access->rule[i].uids.id);
	mem_free(access->rule);
	*access = (struct access){0};
}

/* ---- the decisions ---- */

static bool holds(const struct ids *ids, int64_t id)
{
	for (size_t i = 0; i < ids->count; i++) {
		if (ids->id[i] == id)
			return true;
	}
	return false;
}

bool access_operator(const struct access *access, int64_t uid)
{
	if (access->operators.set)
		return holds(&access->operators, uid);
	return uid == 0 || uid == access->own_uid;
}

bool access_enter(const struct access *access, const struct peer *peer)
{
	if (!access->allow_uid.set && !access->allow_gid.set)
		return true;
	if (access_operator(access, peer->uid) || holds(&access->allow_uid, peer->uid) ||
	    holds(&access->allow_gid, peer->gid))
		return true;
	for (size_t i = 0; i < peer->group_count; i++) {
		if (holds(&access->allow_gid, (int64_t)peer->groups[i]))
			return true;
	}
	return false;
}

bool access_namespace(const struct access *access, int64_t uid, struct slice ns)
{
	bool tied = ns.data == NULL;

	if (access->rules == 0 || access_operator(access, uid))
		return true;
	for (size_t i = 0; i < access->rules; i++) {
		bool same = ns.data != NULL && slice_equal(access->rule[i].ns, ns);

		if (same && holds(&access->rule[i].uids, uid))
			return true;
		tied = tied || same;
	}
	return !tied;
}

/* The supplementary groups, from mem_alloc; NULL: none, or not to be had. */
static gid_t *groups_of(int fd, size_t *count)
{
	socklen_t octets = 0;
	gid_t *groups;

	/* A buffer that is too small is told how large it must be. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &octets) == 0 || errno != ERANGE)
		return NULL;
	groups = mem_alloc(octets);
	if (groups != NULL && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &octets) != 0) {
		mem_free(groups);
		groups = NULL;
	}
	*count = octets / sizeof *groups;
	return groups;
}

bool access_admit(const struct access *access, int fd, int64_t *pid, int64_t *uid)
{
	struct peer peer = {-1, -1, -1, NULL, 0};
	struct ucred known;
	socklen_t octets = sizeof known;
	gid_t *groups = NULL;
	bool yes;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &known, &octets) == 0)
		peer = (struct peer){known.pid, (int64_t)known.uid, (int64_t)known.gid, NULL, 0};
	if (access->allow_gid.set)
		peer.groups = groups = groups_of(fd, &peer.group_count);
	if (groups == NULL)
		peer.group_count = 0;
	yes = access_enter(access, &peer);
	mem_free(groups);
	*pid = peer.pid;
	*uid = peer.uid;
	return yes;
}
