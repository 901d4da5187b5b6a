/*
 * check_sqlite_crash.c - the SQLite store is killed again and again: what was answered is there; and two processes on one file.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sqlite_case.h"

#define ROUNDS 32
#define CLIENTS 64
#define KEYS_PER_CLIENT 20
#define RACED 5000

static struct shop shop;

/* An answer, as the child tells it the moment it has it. */
struct told {
	int32_t client, key;
	int32_t verb, word;
	int64_t fence;
};

/* ---- a process that works until it is killed ---- */

struct client {
	struct op op;
	char key[32], token[32];
	int32_t at, number; /* the key's number */
	int32_t first;      /* the number of this life's first key */
	int out;
};

static struct client clients[CLIENTS];

static void client_ask(struct client *c, struct ask ask)
{
	op_release(&c->op);
	op_init(&c->op, OP_RECORD, slice_from(c->key));
	c->op.ask = ask;
	shop_submit(&shop, &c->op);
}

/* The next key: claimed, and then one third completed, one third released, one third held. */
static void client_next(struct client *c)
{
	c->number++;
	snprintf(c->key, sizeof(c->key), "c%d-%d", c->at, c->first + c->number % KEYS_PER_CLIENT);
	snprintf(c->token, sizeof(c->token), "token-%d-%d-%d", c->at, c->first, c->number);
	client_ask(c, ask_claim(slice_from(c->token)));
}

static void client_tell(const struct client *c)
{
	struct told told = {.client = c->at,
			    .key = c->first + c->number % KEYS_PER_CLIENT,
			    .verb = (int32_t)c->op.ask.verb,
			    .word = (int32_t)c->op.verdict.word,
			    .fence = c->op.record.fence};

	if (write(c->out, &told, sizeof(told)) != (ssize_t)sizeof(told)) /* less than a pipe writes at once */
		_exit(3);
}

static void client_answered(struct op *op)
{
	struct client *c = (struct client *)op; /* its first member */

	if (c->op.result != OP_APPLIED && c->op.result != OP_LOST)
		_exit(4);
	client_tell(c);
	if (c->op.verdict.word == WORD_WON && c->number % 3 == 0)
		client_ask(c, ask_of(ASK_COMPLETE, c->op.record.fence));
	else if (c->op.verdict.word == WORD_WON && c->number % 3 == 1)
		client_ask(c, ask_of(ASK_RELEASE, c->op.record.fence));
	else
		client_next(c);
}

static void work(const char *path, int out, int32_t first)
{
	int i;

	shop_open(&shop, path);
	shop.hook = client_answered;
	for (i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){.at = i, .number = -1, .first = first, .out = out};
		client_next(&clients[i]);
	}
	for (;;)
		shop_turn(&shop);
}

/* ---- what it told ---- */

struct known {
	enum state state;
	int64_t fence;
};

static struct known known[CLIENTS][ROUNDS * KEYS_PER_CLIENT];

static void learn(const struct told *told)
{
	struct known *k = &known[told->client][told->key];

	if (told->word == WORD_WON)
		*k = (struct known){STATE_CLAIMED, told->fence};
	else if (told->word == WORD_OK)
		*k = (struct known){told->verb == ASK_COMPLETE ? STATE_DONE : STATE_FREE, told->fence};
}

/* Reads what is in the pipe; with `until` it stops after so many. Returns how many. */
static size_t learn_all(int in, size_t until)
{
	struct told told;
	size_t count = 0;

	while (count < until) {
		struct pollfd wait = {.fd = in, .events = POLLIN};

		if (poll(&wait, 1, 20000) != 1 || read(in, &told, sizeof(told)) != (ssize_t)sizeof(told))
			break;
		learn(&told);
		count++;
	}
	return count;
}

/* The file may be further than what was told, by one step of each client's last call, and never behind. */
static bool agrees(const struct known *k, const struct record *rec)
{
	if (k->state == STATE_ABSENT)
		return true;
	if (rec->state == k->state && rec->fence == k->fence)
		return true;
	if (k->state == STATE_CLAIMED) /* then settled or released, without an answer */
		return (rec->state == STATE_DONE && rec->fence == k->fence) ||
		       (rec->state == STATE_FREE && rec->fence == k->fence + 1);
	/* given back, and claimed again (and so on), without an answer */
	return k->state == STATE_FREE && rec->fence > k->fence;
}

static size_t look_at_all(const char *path, int rounds)
{
	size_t looked = 0;
	int c, k;

	shop_open(&shop, path);
	for (c = 0; c < CLIENTS; c++) {
		for (k = 0; k < rounds * KEYS_PER_CLIENT; k++) {
			const struct op *op;
			char key[32];

			if (known[c][k].state == STATE_ABSENT)
				continue;
			looked++;
			snprintf(key, sizeof(key), "c%d-%d", c, k);
			op = shop_ask(&shop, key, ask_of(ASK_STATUS, 0));
			ck_assert_msg(agrees(&known[c][k], &op->record),
				      "%s: told state %d fence %lld, found state %d fence %lld", key,
				      (int)known[c][k].state, (long long)known[c][k].fence, (int)op->record.state,
				      (long long)op->record.fence);
		}
	}
	shop_close(&shop);
	return looked;
}

START_TEST(killed_at_any_moment)
{
	const char *path = case_path("db");
	unsigned seed = (unsigned)getpid();
	size_t told = 0, looked = 0;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		int out[2], status;
		pid_t pid;

		ck_assert_int_eq(pipe(out), 0);
		pid = fork();
		ck_assert_int_ge(pid, 0);
		if (pid == 0) {
			close(out[0]);
			work(path, out[1], round * KEYS_PER_CLIENT);
		}
		close(out[1]);
		told += learn_all(out[0], 1 + (size_t)rand_r(&seed) % 3000);
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		told += learn_all(out[0], SIZE_MAX);
		close(out[0]);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_msg(WIFSIGNALED(status), "it ended by itself, with %d", WEXITSTATUS(status));
		looked = look_at_all(path, round + 1);
	}
	ck_assert_uint_gt(told, 10000);
	ck_assert_uint_gt(looked, 2000);
	printf("sqlite crash: %d kills, %zu answers told, %zu keys looked at in the end, none lost\n", ROUNDS, told,
	       looked);
}
END_TEST

/* ---- two processes, one file ---- */

static struct op raced[RACED];
static char raced_keys[RACED][16];

/* Claims all keys, `stride` apart so that the two do not go side by side; tells each that was won. */
static void race(const char *path, const char *token, int stride, int out, int go)
{
	char c;
	int i, next = 0;

	shop_open(&shop, path);
	if (write(out, "r", 1) != 1 || read(go, &c, 1) != 0)
		_exit(1);
	while (next < RACED || shop.outstanding) {
		for (; next < RACED && shop.outstanding < CLIENTS; next++) {
			snprintf(raced_keys[next], sizeof(raced_keys[next]), "k%d", (next * stride) % RACED);
			op_init(&raced[next], OP_RECORD, slice_from(raced_keys[next]));
			raced[next].ask = ask_claim(slice_from(token));
			shop_submit(&shop, &raced[next]);
		}
		shop_turn(&shop);
	}
	shop_close(&shop);
	for (i = 0; i < RACED; i++) {
		int32_t key = (i * stride) % RACED;

		if (raced[i].verdict.word != WORD_WON && raced[i].verdict.word != WORD_HELD)
			_exit(2);
		if (raced[i].verdict.word == WORD_WON && write(out, &key, sizeof(key)) != (ssize_t)sizeof(key))
			_exit(3);
		op_release(&raced[i]);
	}
	_exit(0);
}

static pid_t racer(const char *path, const char *token, int stride, const int *out, const int *go)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		close(go[1]);
		close(out[0]);
		race(path, token, stride, out[1], go[0]);
	}
	return pid;
}

static int wins[RACED];

static int wins_read(int in)
{
	int32_t key;
	int count = 0;

	while (read(in, &key, sizeof(key)) == (ssize_t)sizeof(key)) {
		wins[key]++;
		count++;
	}
	close(in);
	return count;
}

START_TEST(two_processes_one_winner_each)
{
	const char *path = case_path("db");
	int a[2], b[2], go[2], status, won_a, won_b, i;
	pid_t one, two;
	char c;

	ck_assert_int_eq(pipe(a) | pipe(b) | pipe(go), 0);
	one = racer(path, "token-of-process-one", 7, a, go); /* both make the file */
	two = racer(path, "token-of-process-two", 4999, b, go);
	close(a[1]);
	close(b[1]);
	close(go[0]);
	ck_assert_int_eq(read(a[0], &c, 1), 1);
	ck_assert_int_eq(read(b[0], &c, 1), 1);
	close(go[1]);
	won_a = wins_read(a[0]);
	won_b = wins_read(b[0]);
	ck_assert_int_eq(waitpid(one, &status, 0), one);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(waitpid(two, &status, 0), two);
	ck_assert_int_eq(status, 0);
	for (i = 0; i < RACED; i++)
		ck_assert_msg(wins[i] == 1, "k%d was won %d times", i, wins[i]);
	ck_assert_int_gt(won_a, 0);
	ck_assert_int_gt(won_b, 0);
	ck_assert_int_eq(sql_number(path, "SELECT count(*) FROM record WHERE attempts = 1"), RACED);
	printf("sqlite crash: two processes won %d and %d of %d keys\n", won_a, won_b, RACED);
}
END_TEST

int main(void)
{
	TCase *killed = tcase_create("killed"), *two = tcase_create("two");
	TCase *const cases[] = {killed, two};

	tcase_add_test(killed, killed_at_any_moment);
	tcase_add_test(two, two_processes_one_winner_each);
	return case_run("sqlite crash", cases, 2);
}
