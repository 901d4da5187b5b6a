/*
 * bench.c - the load for tests/bench/run.sh: how many jobs a second, and was each granted once?
 *
 *   bench daemon SOCKET CLIENTS JOBS     through claimd; each client has one request under way
 *   bench direct FILE JOBS               SQLite by itself, one commit for each claim and each settlement
 *
 * A job is what a queue that delivers twice makes of one message: two CLAIMs of the same key, by two clients at
 * about the same time, and a COMPLETE by the one that won. Prints one line for run.sh: jobs a second, and the
 * median, the 99th percentile and the longest time of a CLAIM in microseconds. Exit 1 when a key was granted twice
 * or never, or anything else was answered than it should be.
 */
#include <errno.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../../proto/proto.h"

#define MAX_CLIENTS 1000
#define STUCK_MS 10000 /* nothing at all was answered for so long */

struct client {
	int fd;
	size_t key;     /* of its job */
	bool completes; /* the request under way is COMPLETE, not CLAIM */
	int64_t sent_us;
	size_t len; /* octets in `in` */
	char in[1024];
};

struct bench {
	size_t jobs;
	size_t next;      /* the next of 2 * jobs CLAIMs: number / 2 is the key, so two clients meet */
	size_t claims;    /* answered */
	size_t completes; /* answered */
	uint8_t *wins;    /* per key */
	int64_t *took_us; /* per answered CLAIM */
	char run[32];     /* keys of one run are no other's */
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

static int64_t now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static struct slice key_of(const struct bench *bench, size_t number, char *text, size_t size)
{
	int len = snprintf(text, size, "bench:%s:%zu", bench->run, number);
	return (struct slice){text, (size_t)len};
}

static void won(struct bench *bench, size_t key)
{
	if (++bench->wins[key] > 1)
		die("a key was granted twice");
}

/* ---- through the daemon ---- */

static void client_send(struct client *client, const struct writer *w)
{
	if (w->full || write(client->fd, w->data, w->len) != (ssize_t)w->len)
		die("a request could not be written");
	client->sent_us = now_us();
}

/* The next CLAIM; false when there is none left. */
static bool client_claim(struct bench *bench, struct client *client)
{
	char text[512], key[64];
	struct writer w;

	if (bench->next == 2 * bench->jobs)
		return false;
	client->key = bench->next++ / 2;
	client->completes = false;
	writer_init(&w, text, sizeof(text));
	request_begin(&w, VERB_CLAIM, key_of(bench, client->key, key, sizeof(key)));
	request_duration(&w, OPT_LEASE, 60000);
	request_end(&w, SLICE_ABSENT);
	client_send(client, &w);
	return true;
}

static void client_complete(struct bench *bench, struct client *client, int64_t fence)
{
	char text[512], key[64];
	struct writer w;

	client->completes = true;
	writer_init(&w, text, sizeof(text));
	request_begin(&w, VERB_COMPLETE, key_of(bench, client->key, key, sizeof(key)));
	request_integer(&w, OPT_FENCE, fence);
	request_end(&w, SLICE_ABSENT);
	client_send(client, &w);
}

static void client_answer(struct bench *bench, struct client *client, const struct reply *reply)
{
	if (client->completes) {
		if (reply->code != WORD_OK)
			die("a COMPLETE was not answered with OK");
		bench->completes++;
		client_claim(bench, client);
		return;
	}
	bench->took_us[bench->claims++] = now_us() - client->sent_us;
	if (reply->code == WORD_WON) {
		won(bench, client->key);
		client_complete(bench, client, reply_integer(reply, "fence", 0));
	} else if (reply->code == WORD_HELD || reply->code == WORD_DONE) {
		client_claim(bench, client);
	} else {
		fprintf(stderr, "bench: a CLAIM was answered with %.*s\n", (int)reply->word.len, reply->word.data);
		exit(1);
	}
}

static void client_read(struct bench *bench, struct client *client)
{
	struct frame frame = {0};
	struct reply reply;
	struct errbuf err;
	ssize_t n = read(client->fd, client->in + client->len, sizeof(client->in) - client->len);

	if (n <= 0)
		die("the daemon has closed a connection");
	client->len += (size_t)n;
	enum frame_state state = frame_scan(&frame, client->in, client->len, sizeof(client->in), 0, &err);
	if (state == FRAME_MORE)
		return;
	/* One request, one reply: nothing may follow. */
	if (state != FRAME_READY || frame.size != client->len ||
	    !reply_parse(&reply, client->in, frame.line_len, SLICE_ABSENT, &err))
		die("a reply cannot be read");
	client->len = 0;
	client_answer(bench, client, &reply);
}

static int client_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (strlen(path) >= sizeof(address.sun_path))
		die("the socket's path is too long");
	memcpy(address.sun_path, path, strlen(path));
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		die("cannot connect");
	return fd;
}

static void run_daemon(struct bench *bench, const char *path, size_t count)
{
	static struct client clients[MAX_CLIENTS];
	static struct pollfd fds[MAX_CLIENTS];

	for (size_t i = 0; i < count; i++) {
		clients[i].fd = client_connect(path);
		fds[i] = (struct pollfd){.fd = clients[i].fd, .events = POLLIN};
	}
	for (size_t i = 0; i < count; i++)
		client_claim(bench, &clients[i]);
	while (bench->claims < 2 * bench->jobs || bench->completes < bench->jobs) {
		int ready = poll(fds, count, STUCK_MS);
		if (ready == 0)
			die("no answer for 10 s: a key was never granted, or the daemon is stuck");
		if (ready < 0 && errno != EINTR)
			die("poll failed");
		for (size_t i = 0; i < count; i++) {
			if (fds[i].revents != 0)
				client_read(bench, &clients[i]);
		}
	}
	for (size_t i = 0; i < count; i++)
		close(clients[i].fd);
}

/* ---- by itself: one connection that nobody disturbs, the best that one commit per claim can be ---- */

static void must(sqlite3 *db, int rc)
{
	if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW)
		die(sqlite3_errmsg(db));
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	must(db, sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
	return statement;
}

/* True when the statement gave a row. Outside a transaction each statement is one commit. */
static bool direct_step(sqlite3 *db, sqlite3_stmt *statement, struct slice key)
{
	must(db, sqlite3_bind_blob(statement, 1, key.data, (int)key.len, SQLITE_STATIC));
	int rc = sqlite3_step(statement);
	must(db, rc);
	bool row = rc == SQLITE_ROW;
	if (row) /* RETURNING writes nothing before it has been asked twice */
		must(db, sqlite3_step(statement));
	must(db, sqlite3_reset(statement));
	return row;
}

static void run_direct(struct bench *bench, const char *path)
{
	sqlite3 *db;
	char text[64];

	if (sqlite3_open(path, &db) != SQLITE_OK)
		die("cannot open the file");
	must(db, sqlite3_exec(db,
			      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
			      "CREATE TABLE IF NOT EXISTS r(key BLOB PRIMARY KEY, state INT, fence INT)",
			      NULL, NULL, NULL));
	sqlite3_stmt *claim = prepare(db, "INSERT INTO r VALUES(?1, 1, 1) ON CONFLICT(key) DO NOTHING RETURNING fence");
	sqlite3_stmt *complete =
	    prepare(db, "UPDATE r SET state = 2 WHERE key = ?1 AND state = 1 AND fence = 1 RETURNING fence");
	for (size_t i = 0; i < 2 * bench->jobs; i++) {
		struct slice key = key_of(bench, i / 2, text, sizeof(text));
		int64_t start_us = now_us();
		bool is_won = direct_step(db, claim, key);
		bench->took_us[bench->claims++] = now_us() - start_us;
		if (!is_won)
			continue;
		won(bench, i / 2);
		if (!direct_step(db, complete, key))
			die("a settlement found nothing");
		bench->completes++;
	}
	sqlite3_finalize(claim);
	sqlite3_finalize(complete);
	sqlite3_close(db);
}

/* ---- both ---- */

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

static void report(struct bench *bench, int64_t took_us)
{
	for (size_t i = 0; i < bench->jobs; i++) {
		if (bench->wins[i] != 1)
			die("a key was never granted");
	}
	qsort(bench->took_us, bench->claims, sizeof(*bench->took_us), by_size);
	printf("%.0f %lld %lld %lld\n", (double)bench->jobs * 1e6 / (double)took_us,
	       (long long)bench->took_us[bench->claims / 2], (long long)bench->took_us[bench->claims * 99 / 100],
	       (long long)bench->took_us[bench->claims - 1]);
}

int main(int argc, char **argv)
{
	struct bench bench = {0};
	bool direct = argc == 4 && strcmp(argv[1], "direct") == 0;
	bool through = argc == 5 && strcmp(argv[1], "daemon") == 0;
	size_t clients = through ? (size_t)strtoul(argv[3], NULL, 10) : 1;

	bench.jobs = argc >= 4 ? (size_t)strtoul(argv[argc - 1], NULL, 10) : 0;
	if (!(direct || through) || bench.jobs == 0 || clients == 0 || clients > MAX_CLIENTS) {
		fprintf(stderr, "usage: bench daemon SOCKET CLIENTS JOBS | bench direct FILE JOBS\n");
		return 64;
	}
	bench.wins = calloc(bench.jobs, sizeof(*bench.wins));
	bench.took_us = calloc(2 * bench.jobs, sizeof(*bench.took_us));
	if (!bench.wins || !bench.took_us)
		die("no memory");
	snprintf(bench.run, sizeof(bench.run), "%lld", (long long)getpid());
	int64_t start_us = now_us();
	if (direct)
		run_direct(&bench, argv[2]);
	else
		run_daemon(&bench, argv[2], clients);
	report(&bench, now_us() - start_us);
	free(bench.wins);
	free(bench.took_us);
	return 0;
}
