/*
 * cli_doctor.c - `claim doctor`: what is between this command and the store, and what to do where something is not
 * well. Called by cli.c.
 *
 * From the outside in: the environment, the socket, the daemon, its store, what has piled up there. It changes
 * nothing. Each finding has a next step. Exit 0: all is well; 1: there are findings; 69: no daemon answers.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli_json.h"
#include "cli_show.h"
#include "cli_socket.h"
#include "link.h"

#define TRIES 3
#define PING_MS 2000
#define SLOW_US (INT64_C(100) * 1000)
#define COUNTS_OLD_MS (INT64_C(10) * 60 * 1000)
#define SYSTEM_SOCKET "/run/claimd/claimd.sock"

struct doctor {
	struct cli *cli;
	cJSON *checks; /* NULL: for people */
	int findings;
	char path[4096];
};

/* ---- the report ---- */

/* next "": nothing to do. */
static void report(struct doctor *doctor, bool good, const char *name, const char *text, const char *next)
{
	bool colour = doctor->cli->colour;
	doctor->findings += !good;
	if (doctor->checks) {
		cJSON *check = cJSON_CreateObject();
		cJSON_AddStringToObject(check, "name", name);
		cJSON_AddBoolToObject(check, "ok", good);
		json_put_text(check, "text", slice_from(text));
		json_put_text(check, "next", slice_from(next));
		cJSON_AddItemToArray(doctor->checks, check);
		return;
	}
	show_style(stdout, colour, good ? STYLE_GOOD : STYLE_BAD);
	fputs(good ? "ok    " : "BAD   ", stdout);
	show_style(stdout, colour, STYLE_PLAIN);
	printf("%-12s  ", name);
	show_text(stdout, slice_from(text));
	putchar('\n');
	if (*next) {
		fputs("      what to do    ", stdout);
		show_text(stdout, slice_from(next));
		putchar('\n');
	}
	fflush(stdout); /* the next look may take its time */
}

__attribute__((format(printf, 3, 4))) static void good(struct doctor *doctor, const char *name, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	report(doctor, true, name, text, "");
}

__attribute__((format(printf, 4, 5))) static void bad(struct doctor *doctor, const char *name, const char *next,
						      const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	report(doctor, false, name, text, next);
}

/* ---- environment and socket ---- */

static void look_at_environment(struct doctor *doctor)
{
	const char *disabled = getenv("CLAIMD_DISABLED");
	if (disabled && *disabled && strcmp(disabled, "0") != 0)
		bad(doctor, "environment", "unset CLAIMD_DISABLED, but in tests of the work itself",
		    "CLAIMD_DISABLED is set: claim run and claim lock claim nothing");
}

/* Perhaps the daemon is where another user's command would look for it. */
static void look_elsewhere(struct doctor *doctor)
{
	char user[256], next[320];
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	snprintf(user, sizeof(user), "%s/claimd/claimd.sock", runtime ? runtime : "");
	const char *const places[] = {SYSTEM_SOCKET, user};
	for (size_t i = 0; i < 2; i++) {
		struct socket_look look;
		if (strcmp(places[i], doctor->path) == 0)
			continue;
		socket_look(places[i], &look);
		if (look.state != SOCKET_GOOD)
			continue;
		snprintf(next, sizeof(next), "if that is the one: claim --socket %s", places[i]);
		bad(doctor, "elsewhere", next, "somebody listens at %s", places[i]);
	}
}

/* False: there is nobody to ask. */
static bool look_at_socket(struct doctor *doctor)
{
	struct socket_look look;
	const char *from = doctor->cli->socket                   ? "--socket"
			   : getenv("CLAIMD_SOCKET")             ? "CLAIMD_SOCKET"
			   : strcmp(doctor->path, SYSTEM_SOCKET) ? "XDG_RUNTIME_DIR"
								 : "the usual place";
	socket_look(doctor->path, &look);
	if (look.state == SOCKET_GOOD) {
		good(doctor, "socket", "%s (%s), %zu of %d octets", doctor->path, from, strlen(doctor->path),
		     PROTO_MAX_SOCKET_PATH);
		return true;
	}
	bad(doctor, "socket", look.next.text, "%s (%s)", look.what.text, from);
	look_elsewhere(doctor);
	return false;
}

/* ---- the daemon ---- */

static int64_t now_us(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* The best of some. *code: of the last. */
static int64_t time_call(const struct doctor *doctor, const char *line, int *code)
{
	int64_t best = INT64_MAX;
	for (int i = 0; i < TRIES; i++) {
		int64_t from = now_us();
		*code = claim_call(doctor->cli->conn, line, strlen(line), NULL, 0);
		int64_t took = now_us() - from;
		best = took < best ? took : best;
		if (*code < 0)
			break;
	}
	return best;
}

/* False: no answer. */
static bool look_at_daemon(struct doctor *doctor)
{
	int code;
	int64_t took_us = time_call(doctor, "PING", &code);
	const char *detail = claim_detail(doctor->cli->conn);
	if (code == CLAIM_OK) {
		good(doctor, "answer", "in %" PRId64 ".%02" PRId64 "ms", took_us / 1000, took_us / 10 % 100);
		return true;
	}
	if (code == CLAIM_E_DENIED)
		bad(doctor, "answer", "ask who runs claimd: allow_uid, allow_gid, namespace_uid", "not allowed: %s",
		    detail);
	else if (code == CLAIM_E_PROTOCOL || code == CLAIM_E_INVAL)
		bad(doctor, "answer", "name the socket of claimd with --socket or CLAIMD_SOCKET", "%s", detail);
	else
		bad(doctor, "answer", "claimd hangs or is stopped: look at its process and its log", "%s", detail);
	return code == CLAIM_E_DENIED;
}

static void look_at_version(struct doctor *doctor, const struct reply *status)
{
	struct slice version = reply_field(status, "version"), phase = reply_field(status, "phase");
	if (slice_equal(version, slice_from(PACKAGE_VERSION)))
		good(doctor, "version", "%s, daemon and command", PACKAGE_VERSION);
	else
		bad(doctor, "version", "install the same version of both, and restart claimd",
		    "the daemon is %.*s, this command is %s", (int)version.len, version.data ? version.data : "",
		    PACKAGE_VERSION);
	if (slice_equal(phase, SLICE_OF("serving")))
		good(doctor, "phase", "serving for %s", show_duration(reply_integer(status, "up_ms", 0)).text);
	else
		bad(doctor, "phase", "wait for its successor: claim wait", "%.*s: it is about to leave", (int)phase.len,
		    phase.data ? phase.data : "");
}

/* ---- the store ---- */

/* Some key: to look it up takes as long as for any other. False: there is nothing more to ask. */
static bool look_at_store(struct doctor *doctor, const char *name, bool up)
{
	const char *next = "see to the store; the daemon's log says what it answered";
	int code;
	if (!up) {
		bad(doctor, "store", next, "%s: it is down", name);
		return false;
	}
	int64_t took_us = time_call(doctor, "STATUS claim-doctor", &code);
	if (code == CLAIM_E_DENIED)
		bad(doctor, "access",
		    "name a namespace of yours with --namespace, or ask who runs claimd: namespace_uid",
		    "not allowed: %s", claim_detail(doctor->cli->conn));
	else if (code < 0)
		bad(doctor, "store", next, "%s: %s", name, claim_detail(doctor->cli->conn));
	else if (took_us > SLOW_US)
		bad(doctor, "store", "look at its load and its disk; keep leases well above that",
		    "%s: it is slow, %" PRId64 "ms for one record", name, took_us / 1000);
	else
		good(doctor, "store", "%s: one record in %" PRId64 ".%02" PRId64 "ms", name, took_us / 1000,
		     took_us / 10 % 100);
	return code >= 0;
}

static void look_at_counts(struct doctor *doctor, const struct reply *status)
{
	int64_t kept = reply_integer(status, "kept", 0), age_ms = reply_integer(status, "counts_age_ms", 0);
	if (kept > 0)
		bad(doctor, "settlements", "do not end claimd before its store has taken them",
		    "%" PRId64 " are kept by the daemon, because the store could not take them", kept);
	if (age_ms > COUNTS_OLD_MS)
		bad(doctor, "counts", "the walk over the store is slow or fails: the daemon's log says which",
		    "the records were counted %s ago", show_duration(age_ms).text);
}

/* The store is asked, since the daemon's count may be a minute old. The oldest comes first. */
static void look_at_unknown(struct doctor *doctor)
{
	const char *line = "LIST state=unknown limit=1";
	int code = claim_call(doctor->cli->conn, line, strlen(line), NULL, 0);
	if (code == CLAIM_ITEM)
		bad(doctor, "records",
		    "find out what happened and settle them: claim ls --state unknown, claim resolve",
		    "some are unknown, the oldest for %s: nobody knows whether it happened",
		    show_duration(claim_number(doctor->cli->conn, "age_ms", 0)).text);
	else if (code == CLAIM_END)
		good(doctor, "records", "none that a person must settle");
	else
		bad(doctor, "records", "look at the daemon's log", "%s", claim_detail(doctor->cli->conn));
}

static void look_inside(struct doctor *doctor)
{
	int code = claim_call(doctor->cli->conn, "STATUS", 6, NULL, 0);
	if (code != CLAIM_STATUS) {
		bad(doctor, "status", "look at the daemon's log", "%s", claim_detail(doctor->cli->conn));
		return;
	}
	struct reply status = cli_reply(doctor->cli->conn);
	struct slice store = reply_field(&status, "store");
	bool up = slice_equal(reply_field(&status, "store_up"), SLICE_OF("yes"));
	char name[256];
	snprintf(name, sizeof(name), "%.*s", (int)store.len, store.data ? store.data : "");
	look_at_version(doctor, &status);
	look_at_counts(doctor, &status);
	/* The reply is gone with the next question. */
	if (look_at_store(doctor, name, up))
		look_at_unknown(doctor);
}

/* ---- all of it ---- */

/* False: no memory. */
static bool connect_for(struct doctor *doctor, int timeout_ms)
{
	claim_close(doctor->cli->conn);
	doctor->cli->conn = NULL;
	if (claim_open(&doctor->cli->conn, doctor->path, doctor->cli->ns, timeout_ms) == CLAIM_OK)
		return true;
	bad(doctor, "answer", "free some memory", "no memory");
	return false;
}

static int look(struct doctor *doctor)
{
	look_at_environment(doctor);
	if (!look_at_socket(doctor) || !connect_for(doctor, PING_MS))
		return CLI_UNREACHABLE;
	int before = doctor->findings;
	if (!look_at_daemon(doctor))
		return CLI_UNREACHABLE;
	if (doctor->findings == before && connect_for(doctor, CLI_ANSWER_MS))
		look_inside(doctor);
	return doctor->findings > 0 ? CLI_NO : CLI_OK;
}

int cli_doctor(struct cli *cli, const struct args *args)
{
	struct doctor doctor = {.cli = cli};
	(void)args;
	if (cli->socket)
		snprintf(doctor.path, sizeof(doctor.path), "%s", cli->socket);
	else if (!link_default_path(doctor.path, sizeof(doctor.path)))
		return CLI_USAGE;
	if (cli->json)
		doctor.checks = cJSON_CreateArray();
	int status = look(&doctor);
	if (cli->json) {
		cJSON *object = json_new(status == CLI_OK ? "OK" : "FINDINGS");
		cJSON_AddItemToObject(object, "checks", doctor.checks);
		json_print(stdout, object);
	}
	return status;
}
