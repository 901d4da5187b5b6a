/*
 * storm.c - daemons and workers that are killed, stopped and started again for a while; then the judge reads what happened.
 *
 *     storm [--seconds N] [--seed S] [--store URL] [--daemons 1..4] [--workers W]
 *     storm --judge FILE        judges a history that was kept
 *     storm --effect ...        is a command of `claim run`; see command.c
 *
 * run.sh calls it. It starts claimd ($TEST_CLAIMD, else ./claimd) on one store, forks workers, a resolver, some who go through
 * `claim run` and some who flood, and kills and stops any of them at random moments. When the time is up the workers end, the audit asks for every key once more, and
 * the judge goes over the sink. Prints the seed, numbers, and one line for each invariant; the last line is "N passed, N
 * failed". The seed decides the choices of each process but not how they interleave.
 *
 * Exit 1 when a promise was broken; then the folder with sink, store and logs is kept. With memory: the daemon is stopped but
 * not killed, since it would forget.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../proto/mem.h"
#include "command.h"
#include "flood.h"
#include "judge.h"

#define END_WAIT_MS 20000
#define COMMANDS 3
#define FLOODS 2
#define SPELL_US 4000000 /* so long daemons are struck, and so long they are not */
#define STALL_US 100000

struct options {
	int64_t seconds, seed, daemons, workers;
	const char *store, *judge;
};

struct driver {
	struct options options;
	char dir[64], sink[96], store[256];
	struct storm *storm;
	struct spawn daemon[DAEMONS_MAX];
	int64_t go_on_us[DAEMONS_MAX]; /* it is stopped until then; 0: it is not */
	int64_t looked_us;             /* when we last looked after everything */
	const char *program;           /* this */
	pid_t seat[SEATS_MAX];         /* workers, the resolver, commands, floods; 0: nobody */
	int64_t births;
	struct client client; /* dice, and the audit */
	int64_t worker_kills, worker_deaths, daemon_kills, daemon_stops, daemon_faults;
	int64_t kills_seen; /* of daemons by workers */
};

static void give_up(const char *what)
{
	fprintf(stderr, "storm: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* Then it is not killed. */
static bool forgets(const struct driver *d)
{
	return strcmp(d->store, "memory:") == 0;
}

/* ---- what the judge must know ---- */

static void note(const struct driver *d, const struct event *event)
{
	if (!journal_write(d->client.sink, event))
		give_up(d->sink);
}

static void note_trouble(const struct driver *d, int64_t from_us, int64_t to_us)
{
	struct event trouble = {
	    .what = HAPPENED_TROUBLE, .asked_us = from_us, .at_us = to_us, .left_ms = -1, .age_ms = -1};

	note(d, &trouble);
}

/* Where we were not let on, daemons were not either. */
static int64_t look_at_clock(struct driver *d)
{
	int64_t now_us = journal_now_us();

	if (d->looked_us != 0 && now_us - d->looked_us > STALL_US)
		note_trouble(d, d->looked_us, now_us);
	return d->looked_us = now_us;
}

/* ---- processes ---- */

static void daemon_start(struct driver *d, int64_t i)
{
	const char *args[] = {
	    "--store", d->store,          "--log-level", "warn", "--store-timeout", "1s", "--request-timeout",
	    "2s",      "--drain-timeout", "1s",          NULL};

	spawn_launch(&d->daemon[i], args);
	d->go_on_us[i] = 0;
}

static void seat_run(struct driver *d, int seat)
{
	int sink = journal_append(d->sink);
	uint64_t seed = (uint64_t)d->options.seed * 1000003 + (uint64_t)d->births;

	if (sink < 0)
		give_up(d->sink);
	client_init(&d->client, d->daemon, (unsigned)d->options.daemons, sink, seed);
	if (seat == d->options.workers) {
		resolver_run(d->storm, &d->client, d->sink);
		return;
	}
	if (seat > d->options.workers) {
		if (seat <= d->options.workers + COMMANDS)
			command_run(d->storm, &d->client, d->program, d->sink);
		else
			flood_run(d->storm, &d->client);
		return;
	}
	if (!forgets(d))
		d->client.kills = &d->storm->kills;
	d->client.calm = &d->storm->calm;
	worker_run(d->storm, &d->client, seat);
}

static int64_t seats(const struct driver *d)
{
	return d->options.workers + 1 + COMMANDS + FLOODS;
}

static void seat_kill(struct driver *d, int seat)
{
	struct event gone = {.what = HAPPENED_GONE,
			     .pid = d->seat[seat],
			     .at_us = journal_now_us(),
			     .left_ms = -1,
			     .age_ms = -1,
			     .killed = true};

	note(d, &gone);
	kill(d->seat[seat], SIGKILL);
}

static void seat_fill(struct driver *d, int seat)
{
	pid_t parent = getpid();

	d->births++;
	atomic_store(&d->storm->wake_us[seat], 0);
	d->seat[seat] = fork();
	if (d->seat[seat] < 0)
		give_up("fork");
	if (d->seat[seat] > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		seat_run(d, seat);
	_exit(0);
}

/* Wakes who has slept enough. True: somebody sits there. */
static bool seat_look(struct driver *d, int seat)
{
	int64_t wake_us = atomic_load(&d->storm->wake_us[seat]);
	int status;

	if (d->seat[seat] <= 0)
		return false;
	if (waitpid(d->seat[seat], &status, WNOHANG) == d->seat[seat]) {
		if (!WIFSIGNALED(status) && WEXITSTATUS(status) != 0)
			exit(2); /* it has said why */
		d->worker_deaths += WIFSIGNALED(status);
		d->seat[seat] = 0;
		return false;
	}
	if (wake_us != 0 && wake_us <= journal_now_us())
		kill(d->seat[seat], SIGCONT); /* again and again: the first may come before it has stopped */
	return true;
}

/* ---- the weather ---- */

static void daemon_look(struct driver *d, int64_t i)
{
	if (d->go_on_us[i] != 0 && d->go_on_us[i] <= journal_now_us()) {
		kill(d->daemon[i].pid, SIGCONT);
		note_trouble(d, d->go_on_us[i], journal_now_us());
		d->go_on_us[i] = 0;
	}
	if (spawn_alive(&d->daemon[i]))
		return;
	if (d->daemon[i].answered == 128 + SIGKILL && d->kills_seen < atomic_load(&d->storm->kills)) {
		d->kills_seen++;
	} else {
		fprintf(stderr, "storm: a daemon ended by itself with status %d; see %s\n", d->daemon[i].answered,
			d->daemon[i].log);
		d->daemon_faults++;
	}
	daemon_start(d, i);
}

static void daemon_strike(struct driver *d)
{
	int64_t i = client_dice(&d->client, d->options.daemons), now_us = journal_now_us();

	if (client_chance(&d->client, 65) && !forgets(d)) {
		note_trouble(d, now_us, now_us);
		spawn_stop(&d->daemon[i], SIGKILL);
		note_trouble(d, now_us, journal_now_us());
		d->daemon_kills++;
		daemon_start(d, i);
	} else if (d->go_on_us[i] == 0) {
		d->go_on_us[i] = now_us + 1000 * (20 + client_dice(&d->client, 800));
		note_trouble(d, now_us, d->go_on_us[i]);
		kill(d->daemon[i].pid, SIGSTOP);
		d->daemon_stops++;
	}
}

static void worker_strike(struct driver *d)
{
	int64_t seat = client_dice(&d->client, seats(d));

	if (d->seat[seat] <= 0)
		return;
	seat_kill(d, (int)seat);
	d->worker_kills++;
}

static void rage(struct driver *d)
{
	int64_t start_us = journal_now_us(), until_us = start_us + d->options.seconds * 1000000;
	int64_t worker_us = 0, daemon_us = 0, now_us;

	while ((now_us = look_at_clock(d)) < until_us) {
		bool calm = (now_us - start_us) / SPELL_US % 2 != 0;

		atomic_store(&d->storm->calm, calm);
		for (int seat = 0; seat < seats(d); seat++)
			if (!seat_look(d, seat))
				seat_fill(d, seat);
		for (int64_t i = 0; i < d->options.daemons; i++)
			daemon_look(d, i);
		if (worker_us <= now_us) {
			worker_strike(d);
			worker_us = now_us + 1000 * (20 + client_dice(&d->client, 160));
		}
		if (daemon_us <= now_us && !calm) {
			daemon_strike(d);
			daemon_us = now_us + 1000 * (60 + client_dice(&d->client, 500));
		}
		wait_moment(0);
	}
}

/* All but the resolver. */
static void workers_end(struct driver *d)
{
	long long deadline_ms = wait_now_ms() + END_WAIT_MS;
	int resolver = (int)d->options.workers;
	bool busy = true;

	while (busy && wait_moment(deadline_ms)) {
		busy = false;
		look_at_clock(d);
		for (int seat = 0; seat < seats(d); seat++)
			busy |= seat != resolver && seat_look(d, seat);
		for (int64_t i = 0; i < d->options.daemons; i++)
			daemon_look(d, i);
	}
	for (int seat = 0; seat < seats(d); seat++)
		if (seat != resolver && d->seat[seat] > 0)
			seat_kill(d, seat);
}

/* A worker may have killed one with its last breath. */
static void daemons_stand(struct driver *d)
{
	long long deadline_ms = wait_now_ms() + END_WAIT_MS;

	for (int64_t i = 0; i < d->options.daemons; i++) {
		do
			daemon_look(d, i);
		while (strncmp(wire_ask_once(&d->daemon[i], "PING"), "OK", 2) != 0 && wait_moment(deadline_ms));
	}
}

/* Workers end, daemons go on, and every key is asked for. */
static void calm(struct driver *d)
{
	struct event audit = {.what = HAPPENED_AUDIT, .left_ms = -1, .age_ms = -1};
	int resolver = (int)d->options.workers;
	long long deadline_ms;

	atomic_store(&d->storm->phase, PHASE_AUDIT);
	workers_end(d);
	for (int64_t i = 0; i < d->options.daemons; i++)
		kill(d->daemon[i].pid, SIGCONT);
	daemons_stand(d);
	if (!seat_look(d, resolver))
		seat_fill(d, resolver);
	audit.at_us = journal_now_us();
	note(d, &audit);
	if (!audit_run(d->storm, &d->client))
		fprintf(stderr, "storm: the audit could not be ended\n");
	atomic_store(&d->storm->phase, PHASE_OVER);
	deadline_ms = wait_now_ms() + END_WAIT_MS;
	while (seat_look(d, resolver) && wait_moment(deadline_ms))
		;
	for (int64_t i = 0; i < d->options.daemons; i++)
		daemon_look(d, i);
}

/* ---- the judgement ---- */

static bool read_history(const char *path, struct event **events, size_t *count, int64_t *torn)
{
	static struct journal journal;
	struct event *all = NULL, event;
	size_t n = 0, size = 0;

	if (!journal_open(&journal, path))
		return false;
	while (journal_read(&journal, &event)) {
		if (n == size) {
			size = size > 0 ? 2 * size : 4096;
			all = mem_resize(all, size * sizeof *all);
			if (all == NULL)
				return false;
		}
		all[n++] = event;
	}
	*torn = journal.torn;
	journal_close(&journal);
	*events = all;
	*count = n;
	return true;
}

#define N(x) ((long long)(x))

static void print_numbers(const struct judgement *j, int64_t torn)
{
	const int64_t *again = j->again, *doubled = j->doubled;

	printf("%lld keys, %lld answers (%lld errors), %lld settlements acknowledged, %lld parts of lines\n",
	       N(j->keys), N(j->answers), N(j->errors), N(j->settled), N(torn));
	printf(
	    "%lld wins; after another win: %lld lapsed, %lld released, %lld resolved, %lld expired; %lld re-affirmed\n",
	    N(j->wins), N(again[REASON_LAPSED]), N(again[REASON_RELEASED]), N(again[REASON_RESOLVED]),
	    N(again[REASON_EXPIRED]), N(j->reaffirmed));
	printf("%lld effects, %lld more refused by their fence; doubled and explained: %lld by a lapse, %lld by a "
	       "release, "
	       "%lld resolved; unexplained: %lld\n",
	       N(j->effects), N(j->fenced_out), N(doubled[REASON_LAPSED]), N(doubled[REASON_RELEASED]),
	       N(doubled[REASON_RESOLVED]), N(doubled[REASON_NONE]));
	printf("%lld redeliveries suppressed, %lld held, %lld refused as stale\n", N(j->suppressed), N(j->held),
	       N(j->stale));
	printf("%lld won by claim run, %lld won after a wait; %lld renewals told, %lld losses, %lld held beyond their "
	       "lease; after another win: "
	       "%lld dropped, and %lld left in doubt by a drop\n",
	       N(j->commands), N(j->waited), N(j->renewals), N(j->losses), N(j->held_on), N(again[REASON_DROPPED]),
	       N(j->drop_doubts));
}

struct score {
	int passed, failed;
};

static void check(struct score *score, bool fine, const char *name, const char *what)
{
	printf("%-4s %-20s %s\n", fine ? "ok" : "FAIL", name, what);
	if (fine)
		score->passed++;
	else
		score->failed++;
}

static void print_invariants(const struct judgement *j, struct score *score)
{
	for (int i = 0; i < INVARIANT__COUNT; i++) {
		enum invariant which = (enum invariant)i;

		check(score, j->broken[i] == 0, invariant_name(which), invariant_says(which));
		if (j->broken[i] > 0)
			printf("     %lld times, first: %s\n", N(j->broken[i]), j->example[i]);
	}
}

/* A quiet day proves nothing. */
static bool was_storm(const struct driver *d, const struct judgement *j)
{
	bool of_daemons = d->daemon_stops > 0 && (forgets(d) || (d->daemon_kills > 0 && d->kills_seen > 0));

	return of_daemons && atomic_load(&d->storm->flooded) > 0 && j->commands > 0 && d->worker_kills > 0 &&
	       d->worker_deaths > d->worker_kills && j->wins > 0 && j->reaffirmed > 0 && j->suppressed > 0 &&
	       j->held > 0 && j->stale > 0 && j->fenced_out > 0 && j->again[REASON_LAPSED] > 0 &&
	       j->again[REASON_RELEASED] > 0 && j->again[REASON_RESOLVED] > 0 && j->again[REASON_EXPIRED] > 0 &&
	       j->again[REASON_DROPPED] > 0 && j->drop_doubts > 0 && j->waited > 0 && j->renewals > 0 && j->held_on > 0;
}

/* True: nothing is broken. */
static bool judge(const struct driver *d, const char *path)
{
	struct score score = {0, 0};
	struct judgement judgement;
	struct event *events = NULL;
	size_t count = 0;
	int64_t torn = 0;

	if (!read_history(path, &events, &count, &torn))
		give_up(path);
	if (!judge_history(events, count, &judgement))
		give_up("judging");
	mem_free(events);
	print_numbers(&judgement, torn);
	print_invariants(&judgement, &score);
	if (d != NULL) {
		check(&score, d->daemon_faults == 0, "daemon_lives", "no daemon ends but by a signal of ours");
		if (d->options.seconds >= 10)
			check(&score, was_storm(d, &judgement), "it_stormed",
			      "everything that is counted above did happen");
	}
	printf("%d passed, %d failed\n", score.passed, score.failed);
	return score.failed == 0;
}

/* ---- start and end ---- */

static void set_up(struct driver *d)
{
	const char *tmp = getenv("TMPDIR");
	int sink;

	snprintf(d->dir, sizeof d->dir, "%.40s/claimd-storm-XXXXXX", tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(d->dir) == NULL)
		give_up(d->dir);
	snprintf(d->sink, sizeof d->sink, "%s/sink", d->dir);
	if (d->options.store != NULL)
		snprintf(d->store, sizeof d->store, "%s", d->options.store);
	else
		snprintf(d->store, sizeof d->store, "sqlite:%s/db", d->dir);
	sink = journal_append(d->sink);
	if (sink < 0)
		give_up(d->sink);
	d->storm = mmap(NULL, sizeof *d->storm, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (d->storm == MAP_FAILED)
		give_up("mmap");
	for (int64_t i = 0; i < d->options.daemons; i++) {
		spawn_init(&d->daemon[i]);
		snprintf(d->daemon[i].log, sizeof d->daemon[i].log, "%s/log%lld", d->dir, N(i));
		daemon_start(d, i);
	}
	client_init(&d->client, d->daemon, (unsigned)d->options.daemons, sink, (uint64_t)d->options.seed);
}

static void tear_down(struct driver *d, bool fine)
{
	char command[96];

	client_close(&d->client);
	for (int64_t i = 0; i < d->options.daemons; i++)
		spawn_end(&d->daemon[i]);
	if (!fine) {
		fprintf(stderr, "storm: sink, store and logs are kept in %s\n", d->dir);
		return;
	}
	snprintf(command, sizeof command, "rm -rf '%s'", d->dir);
	if (system(command) != 0)
		fprintf(stderr, "storm: %s is left\n", d->dir);
}

static bool run(const struct options *options, const char *program)
{
	static struct driver driver;
	bool fine;

	driver.options = *options;
	driver.program = program;
	set_up(&driver);
	printf("seed %lld, %lld s, store %s, %lld daemons, %lld workers\n", N(options->seed), N(options->seconds),
	       options->store != NULL ? options->store : "sqlite", N(options->daemons), N(options->workers));
	fflush(stdout);
	rage(&driver);
	calm(&driver);
	printf("killed: %lld workers by us, %lld at a place of their choice, %lld daemons by us, %lld by workers; "
	       "stopped: %lld daemons; flooded: %lld MiB\n",
	       N(driver.worker_kills), N(driver.worker_deaths - driver.worker_kills), N(driver.daemon_kills),
	       N(driver.kills_seen), N(driver.daemon_stops), N(atomic_load(&driver.storm->flooded)) >> 20);
	fine = judge(&driver, driver.sink);
	tear_down(&driver, fine);
	return fine;
}

static bool number(const char *text, int64_t min, int64_t max, int64_t *out)
{
	return integer_parse(slice_from(text), out) && *out >= min && *out <= max;
}

static bool parse(int argc, char **argv, struct options *o)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		const char *name = argv[i], *value = argv[i + 1];
		bool fine = strcmp(name, "--store") == 0 || strcmp(name, "--judge") == 0 ||
			    (strcmp(name, "--seconds") == 0 && number(value, 1, 86400, &o->seconds)) ||
			    (strcmp(name, "--seed") == 0 && number(value, 0, PROTO_MAX_INTEGER, &o->seed)) ||
			    (strcmp(name, "--daemons") == 0 && number(value, 1, DAEMONS_MAX, &o->daemons)) ||
			    (strcmp(name, "--workers") == 0 &&
			     number(value, 1, SEATS_MAX - 1 - COMMANDS - FLOODS, &o->workers));

		if (!fine)
			return false;
		if (strcmp(name, "--store") == 0)
			o->store = value;
		if (strcmp(name, "--judge") == 0)
			o->judge = value;
	}
	return argc % 2 == 1;
}

int main(int argc, char **argv)
{
	struct options options = {.seconds = 20, .daemons = 2, .workers = 32};

	if (argc == 8 && strcmp(argv[1], "--effect") == 0)
		return command_effect(argv + 2);
	options.seed = journal_now_us() % 1000000000;
	if (!parse(argc, argv, &options)) {
		fprintf(stderr, "usage: storm [--seconds N] [--seed S] [--store URL] [--daemons 1..4] [--workers W]\n"
				"       storm --judge FILE\n");
		return 2;
	}
	if (options.judge != NULL)
		return judge(NULL, options.judge) ? 0 : 1;
	if (options.store != NULL && strcmp(options.store, "memory:") == 0 && options.daemons > 1) {
		fprintf(stderr, "storm: several daemons cannot share memory\n");
		return 2;
	}
	return run(&options, argv[0]) ? 0 : 1;
}
