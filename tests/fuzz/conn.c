/*
 * conn.c - the daemon from its connections to the memory store, without threads and on a clock of its own: octets in, replies out.
 *
 * The input is what three clients say, and between it what else happens:
 *
 *     ~a ~b ~c   from here on it is this client that speaks; c is no operator. Who is not connected connects
 *     ~. ~;      one turn of the loop, or eight
 *     ~0 ... ~9  time goes on by 1 ms, 10 ms ... 10^9 ms, and a turn
 *     ~A ~H      the store answers, or holds what it is asked until it does something else
 *     ~R ~B ~F   it refuses; is in doubt, and has not done it; is in doubt, and has done it
 *     ~s ~l      the client stops reading, or reads again
 *     ~e ~x      it shuts down its sending side, or closes
 *     ~~         a "~"
 *
 * What the clients may hear is in expect.h. At most one op of a key may be with the store; and when all clients have said all that
 * they have to say, each request is answered, each connection ends, and nothing is left in the engine.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../server/clock.h"
#include "../../server/dispatch.h"
#include "../../server/stores/store.h"
#include "expect.h"
#include "fuzz.h"

#define CLIENTS 3
#define MAX_LINE 300
#define MAX_BODY 100
#define MAX_OPS 1024
#define TIMEOUT_MS 10000
#define PATIENCE_MS (INT64_C(100) * 24 * 3600 * 1000) /* how long the end waits for who waits */
#define START_US INT64_C(1700000000000000)

enum manner { MANNER_ANSWERS = 'A', MANNER_HOLDS = 'H', MANNER_REFUSES = 'R', MANNER_BEFORE = 'B', MANNER_AFTER = 'F' };

struct client {
	int fd; /* -1: not connected */
	struct expect *expect;
	char *unsent;
	size_t unsent_len;
	bool deaf, ended, over; /* it does not read; it has shut down its sending side; the daemon has closed */
};

/* An op that the store has, or would have. */
struct asked_op {
	struct op *op;
	enum { OP_HELD, OP_SENT, OP_SENT_IN_VAIN } where;
};

struct play {
	uv_loop_t loop;
	struct conn_set conns;
	struct dispatch dispatch;
	struct stats stats;
	struct grants grants;
	struct log log;
	struct conf conf;
	struct access access;
	struct store *store;
	bool store_closed;
	enum manner manner;
	struct asked_op ops[MAX_OPS];
	size_t op_count;
	struct wins wins;
	struct client client[CLIENTS];
};

/* ---- the clock: this takes the place of server/clock.c ---- */

static int64_t now_us;

int64_t clock_mono_ms(void)
{
	return now_us / 1000;
}

int64_t clock_mono_us(void)
{
	return now_us;
}

int64_t clock_wall_us(void)
{
	return now_us;
}

/* ---- the store ---- */

static void op_answered(struct play *play, struct op *op)
{
	size_t at = 0;

	while (at < play->op_count && play->ops[at].op != op)
		at++;
	must(at < play->op_count && op->result != OP_PENDING);
	if (play->ops[at].where == OP_SENT_IN_VAIN)
		op_doubt(op, ERR_TIMEOUT, "the answer was lost");
	memmove(&play->ops[at], &play->ops[at + 1], (--play->op_count - at) * sizeof play->ops[0]);
	engine_done(play->dispatch.engine, op, clock_mono_ms());
}

static void on_op_done(void *arg, struct op *op)
{
	op_answered(arg, op);
}

static void to_store(void *arg, struct op *op)
{
	struct play *play = ((struct dispatch *)arg)->arg;

	for (size_t i = 0; i < play->op_count; i++)
		must(play->ops[i].op != op && (op->kind != OP_RECORD || play->ops[i].op->kind != OP_RECORD ||
					       !slice_equal(play->ops[i].op->key, op->key)));
	must(play->op_count < MAX_OPS);
	play->ops[play->op_count++] = (struct asked_op){op, OP_HELD};
}

/* What is held, as the manner of now has it. An answer may bring another op, or end some. */
static void store_goes_on(struct play *play)
{
	size_t at = 0;

	while (play->manner != MANNER_HOLDS && at < play->op_count) {
		struct asked_op *asked = &play->ops[at];
		struct op *op = asked->op;

		if (asked->where != OP_HELD) {
			at++;
		} else if (play->manner == MANNER_REFUSES) {
			op_refuse(op, ERR_STORE, "refused");
			op_answered(play, op);
		} else if (play->manner == MANNER_BEFORE) {
			op_doubt(op, ERR_TIMEOUT, "cut off");
			op_answered(play, op);
		} else {
			asked->where = play->manner == MANNER_AFTER ? OP_SENT_IN_VAIN : OP_SENT;
			store_submit(play->store, op);
		}
	}
	store_flush(play->store);
}

static void on_store_closed(void *arg)
{
	struct play *play = arg;

	play->store_closed = true;
}

/* ---- the clients ---- */

static void client_connect(struct play *play, int which)
{
	struct client *client = &play->client[which];
	struct expect_limits limits = {MAX_LINE, MAX_BODY, which != 2};
	struct session *session;
	int fd[2], room = 1;

	if (client->fd >= 0)
		return;
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) == 0);
	setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room); /* as small as it gets */
	session = session_new(fd[0], NULL, &play->access);
	must(session != NULL);
	if (!limits.operator_)
		session->uid = play->access.own_uid + 1;
	*client = (struct client){.fd = fd[1], .expect = expect_new(&play->wins, &limits)};
	must(conn_open(&play->conns, fd[0], session));
	play->stats.connections++;
}

static void client_say(struct client *client, char c)
{
	if (client->fd < 0 || client->ended)
		return;
	client->unsent = realloc(client->unsent, client->unsent_len + 1);
	must(client->unsent != NULL);
	client->unsent[client->unsent_len++] = c;
}

static void client_write(struct client *client)
{
	ssize_t n;

	if (client->fd < 0 || client->unsent_len == 0)
		return;
	n = write(client->fd, client->unsent, client->unsent_len);
	if (n < 0 && errno != EAGAIN) /* the daemon has closed */
		n = (ssize_t)client->unsent_len;
	else if (n > 0)
		expect_said(client->expect, client->unsent, (size_t)n);
	if (n <= 0)
		return;
	client->unsent_len -= (size_t)n;
	memmove(client->unsent, client->unsent + n, client->unsent_len);
}

/* True: it has heard something. */
static bool client_read(struct client *client)
{
	char data[4096];
	ssize_t n = 1;
	bool heard = false;

	while (client->fd >= 0 && !client->deaf && !client->over && n > 0) {
		n = read(client->fd, data, sizeof data);
		if (n > 0)
			expect_heard(client->expect, data, (size_t)n);
		else
			client->over = n == 0 || errno != EAGAIN;
		heard |= n > 0;
	}
	return heard;
}

static void client_end(struct client *client)
{
	if (client->fd < 0 || client->ended || client->unsent_len > 0)
		return;
	client->ended = true;
	shutdown(client->fd, SHUT_WR);
}

static void client_close(struct client *client)
{
	if (client->fd < 0)
		return;
	close(client->fd);
	expect_free(client->expect);
	free(client->unsent);
	*client = (struct client){.fd = -1};
}

/* ---- the loop ---- */

/* True: somebody has heard something. */
static bool turn(struct play *play)
{
	bool heard = false;

	for (int i = 0; i < CLIENTS; i++)
		client_write(&play->client[i]);
	uv_run(&play->loop, UV_RUN_NOWAIT);
	engine_tick(play->dispatch.engine, clock_mono_ms());
	do {
		store_goes_on(play);
	} while (conn_set_flush(&play->conns) || play->conns.dirty != NULL);
	engine_tick(play->dispatch.engine, clock_mono_ms());
	watch_remind(&play->dispatch.watchers);
	for (int i = 0; i < CLIENTS; i++)
		heard |= client_read(&play->client[i]);
	return heard;
}

static void turns(struct play *play, int n)
{
	while (n-- > 0)
		turn(play);
}

/* Until nobody hears anything any more. */
static void settle(struct play *play)
{
	for (int quiet = 0; quiet < 3; quiet++)
		quiet = turn(play) ? 0 : quiet;
}

static void pass(struct play *play, int64_t ms)
{
	now_us += ms * 1000;
	conn_set_beat(&play->conns);
	turn(play);
}

/* What stands behind a "~". */
static void directive(struct play *play, int *speaker, char c)
{
	struct client *client = &play->client[*speaker];
	int64_t ms = 1;

	if (c >= 'a' && c < 'a' + CLIENTS) {
		client_connect(play, *speaker = c - 'a');
	} else if (c >= '0' && c <= '9') {
		while (c-- > '0')
			ms *= 10;
		pass(play, ms);
	} else if (c == '.' || c == ';') {
		turns(play, c == ';' ? 8 : 1);
	} else if (c != '\0' && strchr("AHRBF", c) != NULL) {
		play->manner = (enum manner)c;
	} else if (c == 's' || c == 'l') {
		client->deaf = c == 's';
	} else if (c == 'e') {
		client_write(client);
		client_end(client);
	} else if (c == 'x') {
		client_close(client);
	} else if (c == '~') {
		client_say(client, c);
	}
}

/* ---- begin and end ---- */

static void say_status(void *arg, struct slice ns, struct writer *w)
{
	(void)arg;
	reply_bytes(w, "ns", ns);
}

static void look(void *arg, struct stats_view *view)
{
	(void)arg;
	*view = (struct stats_view){.version = "1", .counts_age_ms = -1};
}

static void on_shutdown(void *arg)
{
	(void)arg;
}

static struct play *play_new(void)
{
	static const struct hash_seed seed = {1, 2};
	static const struct engine_limits limits = {TIMEOUT_MS, 60000, 3600000, 4096};
	static int nowhere = -1;
	struct play *play = calloc(1, sizeof *play);
	struct store_options options = {.timeout_ms = TIMEOUT_MS / 2, .max_in_flight = MAX_OPS};
	struct store_events events = {.op_done = on_op_done, .arg = play};
	struct engine_hooks hooks = {to_store,      dispatch_late, dispatch_answer, dispatch_changed,
				     dispatch_told, dispatch_gone, &play->dispatch};
	struct errbuf err;

	must(play != NULL && uv_loop_init(&play->loop) == 0);
	must(nowhere >= 0 || (nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)) >= 0);
	signal(SIGPIPE, SIG_IGN);
	now_us = START_US;
	log_init(&play->log, LOG_FORMAT_TEXT, LOG_LEVEL_DEBUG, LOG_KEYS_FULL, nowhere);
	grants_init(&play->grants, &seed);
	play->conf = (struct conf){.max_body = MAX_BODY, .lease_ms = 60000, .ttl_ms = 3600000, .store_result = true};
	play->access.own_uid = (int64_t)getuid();
	play->manner = MANNER_ANSWERS;
	play->dispatch = (struct dispatch){.conf = &play->conf,
					   .stats = &play->stats,
					   .grants = &play->grants,
					   .log = &play->log,
					   .access = &play->access,
					   .say_status = say_status,
					   .look = look,
					   .shutdown = on_shutdown,
					   .arg = play};
	play->dispatch.engine = engine_new(&hooks, &limits, &seed);
	must(play->dispatch.engine != NULL && dispatch_init(&play->dispatch));
	dispatch_handler(&play->dispatch, &play->conns.handler);
	play->conns.loop = &play->loop;
	play->conns.limits = (struct conn_limits){MAX_LINE, MAX_BODY, 8, 4096};
	must(conn_set_init(&play->conns));
	must(store_open(&play->store, "memory:", &options, &play->loop, &events, &err));
	for (int i = 0; i < CLIENTS; i++)
		play->client[i].fd = -1;
	return play;
}

/* All clients have said all, and listen: each must be answered, and left by the daemon where it does not want events. */
static void finish(struct play *play)
{
	play->manner = MANNER_ANSWERS;
	for (int i = 0; i < CLIENTS; i++)
		play->client[i].deaf = false;
	settle(play);
	for (int64_t ms = 1; ms < PATIENCE_MS; ms *= 2) {
		for (int i = 0; i < CLIENTS; i++)
			client_end(&play->client[i]);
		pass(play, ms);
		settle(play);
	}
	for (int i = 0; i < CLIENTS; i++) {
		struct client *client = &play->client[i];
		bool waits;

		if (client->fd < 0)
			continue;
		must(client->unsent_len == 0 && expect_open(client->expect, PATIENCE_MS) == 0);
		waits = expect_open(client->expect, INT64_MAX) > 0;
		must(client->over || waits || expect_listens(client->expect));
	}
}

static void play_free(struct play *play)
{
	for (int i = 0; i < CLIENTS; i++)
		client_close(&play->client[i]);
	pass(play, 1000);
	turns(play, 8);
	must(play->conns.count == 0);
	engine_abandon(play->dispatch.engine, clock_mono_ms());
	turns(play, 8);
	must(engine_pending(play->dispatch.engine) == 0 && engine_waiting(play->dispatch.engine) == 0);
	must(play->op_count == 0 && play->stats.connections == 0);
	store_close(play->store, on_store_closed, play);
	for (int i = 0; i < 8; i++)
		uv_run(&play->loop, UV_RUN_NOWAIT);
	must(play->store_closed && uv_loop_close(&play->loop) == 0);
	engine_free(play->dispatch.engine);
	dispatch_release(&play->dispatch);
	conn_set_release(&play->conns);
	grants_release(&play->grants);
	log_release(&play->log);
	wins_release(&play->wins);
	free(play);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct play *play = play_new();
	int speaker = 0;

	client_connect(play, speaker);
	for (size_t i = 0; i < size; i++) {
		if (data[i] == '~' && i + 1 < size)
			directive(play, &speaker, (char)data[++i]);
		else
			client_say(&play->client[speaker], (char)data[i]);
	}
	finish(play);
	play_free(play);
	return 0;
}
