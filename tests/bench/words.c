/*
 * words.c - bench load and bench grow: what is asked of a daemon, in what order, and what is reported of it.
 *
 * bench.c calls these. load.c does the work, grants.c looks at the answers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

#define MANY 32 /* in flight where the time does not count */

/* Settles or takes so many keys, for PLAN_AGAIN and PLAN_RENEW, untimed. */
static void prepare(const char *path, struct grants *grants, enum plan plan, size_t keys)
{
	struct load load;

	load_open(&load, path, MANY, MANY);
	load.grants = grants;
	load_run(&load, plan, 0, keys);
	load_close(&load);
}

static void report_load(struct load *load)
{
	report((double)load->ended / load->took_s, &load->times, load->cpu_us);
}

/* SOCKET PLAN CLIENTS DEPTH COUNT [KEYS] */
int word_load(int argc, char **argv)
{
	static const struct {
		const char *name;
		enum plan plan;
	} plans[] = {{"echo", PLAN_CLAIM},
		     {"claim", PLAN_CLAIM},
		     {"cycle", PLAN_CYCLE},
		     {"again", PLAN_AGAIN},
		     {"lock", PLAN_LOCK}};
	size_t count = number_of(argv[4]), keys = argc > 5 ? number_of(argv[5]) : count, i;
	bool echo = strcmp(argv[1], "echo") == 0, own_keys;
	struct load load;

	for (i = 0; i < sizeof plans / sizeof *plans && strcmp(argv[1], plans[i].name) != 0; i++)
		continue;
	if (i == sizeof plans / sizeof *plans)
		die("there is no plan %s", argv[1]);
	own_keys = plans[i].plan == PLAN_CLAIM || plans[i].plan == PLAN_CYCLE;
	struct grants *grants = echo ? NULL : grants_new(keys, plans[i].plan != PLAN_LOCK);
	if (plans[i].plan == PLAN_AGAIN)
		prepare(argv[0], grants, PLAN_CYCLE, keys);
	load_open(&load, argv[0], number_of(argv[2]), number_of(argv[3]));
	load.grants = grants;
	load.keys = keys;
	load_run(&load, plans[i].plan, 0, count);
	if (grants != NULL && own_keys)
		grants_all(grants, count);
	report_load(&load);
	load_close(&load);
	if (grants != NULL)
		grants_free(grants);
	return 0;
}

/* SOCKET FEW MANY; prints how much slower the median of a RENEW is, the longest CLAIM on the way in milliseconds, and the
 * resident octets of a claim. */
int word_grow(int argc, char **argv)
{
	size_t few = number_of(argv[1]), many = number_of(argv[2]);
	struct grants *grants = grants_new(many, true);
	double slowdown, stall_us, resident;
	struct load load;

	(void)argc;
	load_open(&load, argv[0], 64, 1);
	load.grants = grants;
	load_run(&load, PLAN_CLAIM, 0, few);
	load.keys = few;
	load_run(&load, PLAN_RENEW, 0, many / 10);
	slowdown = times_us(&load.times, 50);
	resident = (double)resident_kib(load.pid);
	load_run(&load, PLAN_CLAIM, few, many - few);
	stall_us = times_us(&load.times, 100);
	resident = (double)resident_kib(load.pid) - resident;
	load.keys = many;
	load_run(&load, PLAN_RENEW, 0, many / 10);
	slowdown = times_us(&load.times, 50) / slowdown;
	grants_all(grants, many);
	printf("%.3f %.2f %.0f\n", slowdown, stall_us / 1e3, resident * 1024 / (double)(many - few));
	load_close(&load);
	grants_free(grants);
	return 0;
}
