/* script_client.c - see script_client.h. */
#include "script_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENTS 26
#define NAMES 16
#define NAME_MAX_OCTETS 16
#define VALUE_MAX_OCTETS 64

struct client {
	int fd; /* 0: not connected */
	bool ended;
	char in[1 << 16];
	size_t len;
};

struct binding {
	char name[NAME_MAX_OCTETS], value[VALUE_MAX_OCTETS];
};

static struct client clients[CLIENTS];
static struct binding bindings[NAMES];
static size_t bound;

/* ---- names ---- */

static size_t name_len(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyz");
}

static const char *value_of(const char *name, size_t len)
{
	for (size_t i = 0; i < bound; i++)
		if (strlen(bindings[i].name) == len && memcmp(bindings[i].name, name, len) == 0)
			return bindings[i].value;
	return NULL;
}

static bool bind_name(struct slice name, struct slice value)
{
	struct binding *to = &bindings[bound];

	if (bound == NAMES || name.len >= sizeof to->name || value.len >= sizeof to->value)
		return false;
	snprintf(to->name, sizeof to->name, "%.*s", (int)name.len, name.data);
	snprintf(to->value, sizeof to->value, "%.*s", (int)value.len, value.data);
	bound++;
	return true;
}

bool script_expand(const char *text, char out[SCRIPT_LINE])
{
	struct writer w;

	writer_init(&w, out, SCRIPT_LINE - 1);
	while (*text != '\0') {
		size_t len = *text == '$' ? name_len(text + 1) : 0;
		const char *value = value_of(text + 1, len);
		int64_t number;

		if (len == 0 || value == NULL) {
			writer_char(&w, *text++);
			continue;
		}
		text += 1 + len;
		if (strncmp(text, "+1", 2) == 0 && integer_parse(slice_from(value), &number)) {
			writer_int(&w, number + 1);
			text += 2;
		} else {
			writer_text(&w, value);
		}
	}
	out[w.len] = '\0';
	return !w.full;
}

/* ---- matching ---- */

static bool value_fits(struct slice expected, struct slice value, bool *full)
{
	if (slice_equal(expected, SLICE_OF("*")))
		return value.data != NULL;
	if (expected.len > 1 && expected.data[0] == '$' && value.data != NULL) {
		*full = !bind_name((struct slice){expected.data + 1, expected.len - 1}, value);
		return !*full;
	}
	return slice_equal(expected, value);
}

static bool fields_fit(const struct reply *expected, const struct reply *got, struct errbuf *err)
{
	bool full = false;

	for (size_t i = 0; i < expected->count; i++) {
		const struct field *field = &expected->field[i];
		char name[32];
		struct slice value;

		snprintf(name, sizeof name, "%.*s", (int)field->name.len, field->name.data);
		value = strcmp(name, "result") == 0 ? got->body : reply_field(got, name);
		if (value_fits(field->value, value, &full))
			continue;
		err_set(err, full ? "too many names, or too long: %s" : "%s differs", name);
		return false;
	}
	return true;
}

bool script_matches(const char *expected_line, const char *line, struct slice body, struct errbuf *err)
{
	char pattern[SCRIPT_LINE], copy[PROTO_MAX_LINE + 1];
	struct reply expected, got;

	if (!script_expand(expected_line, pattern)) {
		err_set(err, "the line is too long");
		return false;
	}
	snprintf(copy, sizeof copy, "%s", line);
	if (!reply_parse(&expected, pattern, strlen(pattern), SLICE_ABSENT, err) ||
	    !reply_parse(&got, copy, strlen(copy), body, err))
		return false;
	if (expected.event != got.event || !slice_equal(expected.word, got.word) || expected.err != got.err) {
		err_set(err, "another word");
		return false;
	}
	return fields_fit(&expected, &got, err);
}

/* ---- the wire ---- */

static struct client *client_of(char name, struct errbuf *err)
{
	struct client *client = &clients[name - 'a'];

	if (client->fd > 0)
		return client;
	err_set(err, "%c is not connected", name);
	return NULL;
}

static bool client_connect(struct client *client, const char *path, struct errbuf *err)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof at) != 0) {
		err_set(err, "no daemon takes the connection");
		close(fd);
		return false;
	}
	*client = (struct client){.fd = fd};
	return true;
}

bool client_say(char name, const char *socket_path, const char *line, struct errbuf *err)
{
	struct client *client = &clients[name - 'a'];
	char text[SCRIPT_LINE + 1];
	size_t len;

	if (client->fd == 0 && !client_connect(client, socket_path, err))
		return false;
	if (!script_expand(line, text)) {
		err_set(err, "the line is too long");
		return false;
	}
	len = strlen(text);
	text[len++] = '\n';
	if (send(client->fd, text, len, MSG_NOSIGNAL) == (ssize_t)len)
		return true;
	err_set(err, "nobody hears what %c says", name);
	return false;
}

static void client_read(struct client *client)
{
	ssize_t got;

	while ((got = recv(client->fd, client->in + client->len, sizeof client->in - client->len, MSG_DONTWAIT)) > 0)
		client->len += (size_t)got;
	client->ended |= got == 0 || (got < 0 && errno == ECONNRESET);
}

/* The next frame, as a line with its NUL. False: there is none. */
static bool client_frame(struct client *client, char line[PROTO_MAX_LINE + 1], struct slice *body, size_t *size)
{
	struct frame frame = {0};
	struct errbuf err;

	client_read(client);
	if (frame_scan(&frame, client->in, client->len, PROTO_MAX_LINE, PROTO_MAX_BODY, &err) != FRAME_READY)
		return false;
	snprintf(line, PROTO_MAX_LINE + 1, "%.*s", (int)frame.line_len, client->in);
	*body = frame.has_body ? (struct slice){client->in + frame.body_at, frame.body_len} : SLICE_ABSENT;
	*size = frame.size;
	return true;
}

bool client_hears(char name, const char *expected, struct errbuf *err)
{
	struct client *client = client_of(name, err);
	char line[PROTO_MAX_LINE + 1];
	bool heard, nothing = strcmp(expected, "nothing") == 0, closed = strcmp(expected, "closed") == 0;
	struct slice body;
	size_t size;

	if (client == NULL)
		return false;
	heard = client_frame(client, line, &body, &size);
	if (!heard) {
		err_set(err, "%c hears nothing%s", name, client->ended ? " any more" : "");
		return client->ended ? closed : nothing;
	}
	if (!nothing && !closed && script_matches(expected, line, body, err)) {
		client->len -= size;
		memmove(client->in, client->in + size, client->len);
		return true;
	}
	if (nothing || closed)
		err_set(err, "something");
	err_prefix(err, "%c hears \"%.150s\"", name, line);
	return false;
}

static bool all_heard(char name, struct errbuf *err)
{
	struct client *client = &clients[name - 'a'];
	char line[PROTO_MAX_LINE + 1];
	struct slice body;
	size_t size;

	if (client->fd == 0 || !client_frame(client, line, &body, &size))
		return true;
	err_set(err, "%c has also heard \"%.150s\"", name, line);
	return false;
}

bool clients_all_heard(struct errbuf *err)
{
	for (char name = 'a'; name <= 'z'; name++)
		if (!all_heard(name, err))
			return false;
	return true;
}

bool client_kill(char name, struct errbuf *err)
{
	struct client *client = client_of(name, err);

	if (client == NULL)
		return false;
	close(client->fd);
	client->fd = 0;
	return true;
}

bool client_close(char name, struct errbuf *err)
{
	return all_heard(name, err) && client_kill(name, err);
}

bool client_halfclose(char name, struct errbuf *err)
{
	struct client *client = client_of(name, err);

	return client != NULL && shutdown(client->fd, SHUT_WR) == 0;
}
