/*
 * setting.c - see setting.h. Called at start only. Bad values come from people, so each refusal says what would be
 * right. Allocates nothing.
 */
#include "setting.h"

#include <stddef.h>
#include <string.h>

#include "access.h"
#include "address.h"

#define MAX_BODY_M 16
#define MAX_CACHE_M 1024
#define MAX_COUNT 1000000
#define MIN_FD 3 /* below are standard input, output and error */

static const struct setting settings[CONF__COUNT] = {
#define CONF(kind, name, field, fallback, metavar, help) \
	{SETTING_##kind, #name, offsetof(struct conf, field), fallback, metavar, help},
#include "conf.def"
};

/* What may be written beside the settings: in each form, but not in a file. */
static const char *const specials[] = {"config", "check_config", "print_config", "help", "version"};

const struct setting *setting_at(enum conf_id id)
{
	return &settings[id];
}

bool setting_has_twin(enum conf_id id)
{
	return settings[id].kind == SETTING_URL;
}

enum conf_id setting_find(struct slice name, bool *twin)
{
	char own[SETTING_MAX_NAME];

	for (enum conf_id id = 0; id < CONF__COUNT; id++) {
		*twin = false;
		if (slice_equal(name, slice_from(settings[id].name)))
			return id;
		*twin = true;
		setting_name(settings[id].name, true, SETTING_AS_NAME, own);
		if (setting_has_twin(id) && slice_equal(name, slice_from(own)))
			return id;
	}
	return CONF__COUNT;
}

/* ---- names ---- */

void setting_name(const char *name, bool twin, enum setting_form form, char out[SETTING_MAX_NAME])
{
	static const char *const start[] = {"", "--", "CLAIMD_"};
	struct writer w;

	writer_init(&w, out, SETTING_MAX_NAME - 1);
	writer_text(&w, start[form]);
	for (; *name; name++) {
		char c = *name;

		if (form == SETTING_AS_FLAG && c == '_')
			c = '-';
		if (form == SETTING_AS_ENV && c >= 'a' && c <= 'z')
			c = (char)(c - 'a' + 'A');
		writer_char(&w, c);
	}
	if (twin)
		writer_text(&w, form == SETTING_AS_ENV ? "_FILE" : form == SETTING_AS_FLAG ? "-file" : "_file");
	out[w.len] = 0;
}

/* Keeps `name` in out when it is nearer than what was found before. */
static void consider(const char *wrong, const char *name, bool twin, enum setting_form form, size_t *best,
		     char out[SETTING_MAX_NAME])
{
	char own[SETTING_MAX_NAME];
	size_t far;

	setting_name(name, twin, form, own);
	far = word_distance(slice_from(wrong), slice_from(own));
	if (far < *best) {
		*best = far;
		memcpy(out, own, sizeof(own));
	}
}

bool setting_suggest(const char *wrong, enum setting_form form, char out[SETTING_MAX_NAME])
{
	static const size_t prefix[] = {0, 2, 7};
	size_t len = strlen(wrong);
	size_t best; /* nearer than this */

	if (len >= SETTING_MAX_NAME || len < prefix[form])
		return false;
	/* A short word is near to everything: one letter in three may be wrong, and three at most. */
	best = 1 + (len - prefix[form] + 1) / 3;
	if (best > 4)
		best = 4;
	out[0] = 0;
	for (enum conf_id id = 0; id < CONF__COUNT; id++) {
		consider(wrong, settings[id].name, false, form, &best, out);
		if (setting_has_twin(id))
			consider(wrong, settings[id].name, true, form, &best, out);
	}
	if (form == SETTING_AS_ENV)
		consider(wrong, "config", false, form, &best, out);
	for (size_t i = 0; form == SETTING_AS_FLAG && i < sizeof(specials) / sizeof(specials[0]); i++)
		consider(wrong, specials[i], false, form, &best, out);
	return out[0] != 0;
}

/* ---- values ---- */

/* The field as what its kind says it is. */
static void *field_of(enum conf_id id, struct conf *conf)
{
	return (char *)conf + settings[id].offset;
}

static bool parse_string(enum conf_id id, char *text, struct conf *conf)
{
	*(char **)field_of(id, conf) = text;
	return true;
}

static bool parse_socket(enum conf_id id, char *text, struct conf *conf, struct errbuf *err)
{
	return address_path_fits(text, err) && parse_string(id, text, conf);
}

static bool parse_address(enum conf_id id, char *text, struct conf *conf, struct errbuf *err)
{
	struct address address;

	return address_parse(&address, text, err) && parse_string(id, text, conf);
}

static bool parse_url(enum conf_id id, char *text, struct conf *conf, struct errbuf *err)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789+");

	if (len == 0 || text[len] != ':') {
		err_set(err,
			"no URL: it begins with its kind and a colon, such as sqlite:/var/lib/claimd/claimd.sqlite");
		return false;
	}
	return parse_string(id, text, conf);
}

static bool parse_namespace(enum conf_id id, char *text, struct conf *conf, struct errbuf *err)
{
	if (strchr(text, ':') || strlen(text) > CONF_MAX_NAMESPACE) {
		err_set(err, "a namespace has no colon and at most %d octets", CONF_MAX_NAMESPACE);
		return false;
	}
	return parse_string(id, text, conf);
}

static bool parse_mode(enum conf_id id, const char *text, struct conf *conf, struct errbuf *err)
{
	size_t len = strspn(text, "01234567");
	unsigned mode = 0;

	for (size_t i = 0; i < len && mode <= 0777; i++)
		mode = mode * 8 + (unsigned)(text[i] - '0');
	if (text[len] || mode > 0777) {
		err_set(err, "\"%.40s\" is no mode: octal digits, at most 0777", text);
		return false;
	}
	*(unsigned *)field_of(id, conf) = mode;
	return true;
}

static bool parse_time(enum conf_id id, const char *text, struct conf *conf, struct errbuf *err)
{
	bool ttl = settings[id].kind == SETTING_TTL;
	int64_t ms;

	if (!duration_parse(slice_from(text), ttl, &ms)) {
		err_set(err, "\"%.40s\" is no time: a whole number with ms, s, m, h or d, such as 30s%s", text,
			ttl ? ", or never" : "");
		return false;
	}
	if (ms < 1 || (!ttl && ms > PROTO_MAX_LEASE_MS)) {
		err_set(err, "%.40s is out of range: %s", text, ttl ? "from 1ms" : "1ms to 365d");
		return false;
	}
	*(int64_t *)field_of(id, conf) = ms;
	return true;
}

static bool parse_count(enum conf_id id, const char *text, struct conf *conf, struct errbuf *err)
{
	int64_t number;

	if (!integer_parse(slice_from(text), &number)) {
		err_set(err, "\"%.40s\" is no whole number", text);
		return false;
	}
	if (number < 1 || number > MAX_COUNT) {
		err_set(err, "%.40s is out of range: 1 to %d", text, MAX_COUNT);
		return false;
	}
	*(size_t *)field_of(id, conf) = (size_t)number;
	return true;
}

/* A whole number with, where wanted, a k or M behind it. */
static bool parse_size(enum conf_id id, const char *text, struct conf *conf, struct errbuf *err)
{
	int64_t min = settings[id].kind == SETTING_CACHE ? 0 : 1;
	int64_t max_m = settings[id].kind == SETTING_CACHE ? MAX_CACHE_M : MAX_BODY_M;
	struct slice digits = slice_from(text);
	char last = digits.len ? digits.data[digits.len - 1] : 0;
	int64_t unit = last == 'k' ? 1024 : last == 'M' ? 1024 * 1024 : 1;
	int64_t number;

	digits.len -= unit > 1;
	if (!integer_parse(digits, &number)) {
		err_set(err, "\"%.40s\" is no size: a whole number, with k or M where wanted", text);
		return false;
	}
	if (number < min || number > max_m * 1024 * 1024 / unit) {
		err_set(err, "%.40s is out of range: %d to %dM", text, (int)min, (int)max_m);
		return false;
	}
	*(size_t *)field_of(id, conf) = (size_t)(number * unit);
	return true;
}

static bool parse_fd(enum conf_id id, const char *text, struct conf *conf, struct errbuf *err)
{
	int64_t number;

	if (!integer_parse(slice_from(text), &number) || number < MIN_FD || number > INT32_MAX) {
		err_set(err, "\"%.40s\" is no descriptor: a whole number from %d", text, MIN_FD);
		return false;
	}
	*(int *)field_of(id, conf) = (int)number;
	return true;
}

static bool parse_group(enum conf_id id, char *text, struct conf *conf, struct errbuf *err)
{
	int64_t gid;

	if (access_find_id(slice_from(text), true, &gid))
		return parse_string(id, text, conf);
	err_set(err, "there is no group \"%.60s\"", text);
	return false;
}

static bool parse_access(enum conf_id id, char *text, struct conf *conf, struct errbuf *err)
{
	struct access_settings alone = {
	    .allow_uid = id == CONF_ID_allow_uid || id == CONF_ID_operator_uid ? text : NULL,
	    .allow_gid = id == CONF_ID_allow_gid ? text : NULL,
	    .namespace_uid = id == CONF_ID_namespace_uid ? text : NULL,
	};
	struct access access;

	if (!access_init(&access, &alone, 0, err))
		return false;
	access_release(&access);
	return parse_string(id, text, conf);
}

/* Which of `names` (ends with NULL) it is; -1 and *err: none. */
static int parse_choice(const char *const *names, const char *text, struct errbuf *err)
{
	char list[80];
	struct writer w;

	writer_init(&w, list, sizeof(list) - 1);
	for (int i = 0; names[i]; i++) {
		if (strcmp(names[i], text) == 0)
			return i;
		writer_text(&w, i == 0 ? "" : names[i + 1] ? ", " : " or ");
		writer_text(&w, names[i]);
	}
	list[w.len] = 0;
	err_set(err, "\"%.40s\" is not %s", text, list);
	return -1;
}

static bool parse_named(enum conf_id id, const char *text, struct conf *conf, struct errbuf *err)
{
	static const char *const format[] = {"auto", "text", "json", NULL};
	static const char *const level[] = {"debug", "info", "warn", "error", NULL};
	static const char *const keys[] = {"hash", "full", "none", NULL};
	static const char *const answer[] = {"no", "yes", NULL};
	static const char *const store_down[] = {"refuse", "run-unguarded", NULL};
	enum setting_kind kind = settings[id].kind;
	const char *const *names = kind == SETTING_LOG_FORMAT  ? format
				   : kind == SETTING_LOG_LEVEL ? level
				   : kind == SETTING_LOG_KEYS  ? keys
				   : kind == SETTING_BOOL      ? answer
							       : store_down;
	int at = parse_choice(names, text, err);

	if (at < 0)
		return false;
	if (kind == SETTING_LOG_FORMAT)
		*(enum log_format *)field_of(id, conf) = (enum log_format)at;
	else if (kind == SETTING_LOG_LEVEL)
		*(enum log_level *)field_of(id, conf) = (enum log_level)at;
	else if (kind == SETTING_LOG_KEYS)
		*(enum log_keys *)field_of(id, conf) = (enum log_keys)at;
	else
		*(bool *)field_of(id, conf) = at == 1;
	return true;
}

bool setting_parse(enum conf_id id, char *text, struct conf *conf, struct errbuf *err)
{
	if (text[0] == 0) {
		err_set(err, "no value");
		return false;
	}
	switch (settings[id].kind) {
	case SETTING_SOCKET:
		return parse_socket(id, text, conf, err);
	case SETTING_MODE:
		return parse_mode(id, text, conf, err);
	case SETTING_GROUP:
		return parse_group(id, text, conf, err);
	case SETTING_ACCESS:
		return parse_access(id, text, conf, err);
	case SETTING_ADDRESS:
		return parse_address(id, text, conf, err);
	case SETTING_URL:
		return parse_url(id, text, conf, err);
	case SETTING_NAMESPACE:
		return parse_namespace(id, text, conf, err);
	case SETTING_LOG_FORMAT:
	case SETTING_LOG_LEVEL:
	case SETTING_LOG_KEYS:
	case SETTING_BOOL:
	case SETTING_STORE_DOWN:
		return parse_named(id, text, conf, err);
	case SETTING_TTL:
	case SETTING_TIME:
		return parse_time(id, text, conf, err);
	case SETTING_BODY:
	case SETTING_CACHE:
		return parse_size(id, text, conf, err);
	case SETTING_COUNT:
		return parse_count(id, text, conf, err);
	case SETTING_FD:
		return parse_fd(id, text, conf, err);
	}
	return false;
}
