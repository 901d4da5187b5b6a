/*
 * loop.c - libclaim in a libuv loop: several jobs at once on one connection. Each waits for its key, holds on to it while it is worked on,
 * and is completed. It is stopped where the claim is lost, or where it cannot be renewed in time.
 *
 *     cc loop.c $(pkg-config --cflags --libs claim libuv) -o loop && ./loop A1 A2 A1
 *
 * WORK_MS in the environment is how long a job takes.
 */
#include <claim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define LEASE_MS 6000
#define RENEW_MS (LEASE_MS / 3)
#define TIMEOUT_MS (LEASE_MS / 4) /* a renewal is over before the next one begins */

static uv_loop_t loop;
static uv_poll_t ready;
static uv_timer_t due;
static claim_conn *conn;
static int left, status;
static uint64_t work_ms = 100;

struct job {
	const char *key;
	claim_grant *grant;
	uv_timer_t work, renew;
	uint64_t asked_ms; /* for the last renewal */
	uint64_t sure_until_ms;
	int tries; /* to complete it */
};

static void process(void);

static void on_due(uv_timer_t *timer)
{
	(void)timer;
	process();
}

static void on_ready(uv_poll_t *poll, int failed, int events)
{
	(void)poll;
	(void)failed;
	(void)events;
	process();
}

/* After each call on the connection: its time-out may be another one now. */
static void wait_on(void)
{
	int timeout_ms = claim_timeout_ms(conn);
	uv_timer_stop(&due);
	if (left == 0)
		uv_stop(&loop);
	else if (timeout_ms >= 0)
		uv_timer_start(&due, on_due, (uint64_t)timeout_ms, 0);
}

static void process(void)
{
	claim_process(conn);
	wait_on();
}

static void job_end(struct job *job, const char *what)
{
	printf("%s %s\n", job->key, what);
	uv_timer_stop(&job->work);
	uv_timer_stop(&job->renew);
	claim_grant_free(job->grant);
	job->grant = NULL;
	left--;
}

/* Somebody else may have it now. */
static void job_lost(struct job *job)
{
	status = 1;
	job_end(job, "lost");
}

static void on_renewed(claim_conn *from, int code, void *arg)
{
	struct job *job = arg;
	(void)from;
	if (!uv_is_active((const uv_handle_t *)&job->renew))
		return; /* it is over, or being completed */
	if (code == CLAIM_OK)
		job->sure_until_ms = job->asked_ms + LEASE_MS;
	else if (code == CLAIM_STALE)
		job_lost(job);
}

static void on_renew(uv_timer_t *timer)
{
	struct job *job = timer->data;
	job->asked_ms = uv_now(&loop);
	if (job->asked_ms >= job->sure_until_ms)
		job_lost(job);
	else /* where this fails, the next one may not */
		claim_submit_renew(conn, job->grant, LEASE_MS, on_renewed, job);
	wait_on();
}

static void on_worked(uv_timer_t *timer);

static void on_completed(claim_conn *from, int code, void *arg)
{
	struct job *job = arg;
	if (code < 0 && ++job->tries < 60) {
		uv_timer_start(&job->work, on_worked, 1000, 0);
		return;
	}
	if (code != CLAIM_OK) { /* the work was done: never try it again because of this */
		fprintf(stderr, "DONE, BUT NOT RECORDED: %s %s\n", claim_strerror(code), claim_detail(from));
		status = 1;
	}
	job_end(job, "done");
}

static void on_worked(uv_timer_t *timer)
{
	struct job *job = timer->data;
	uv_timer_stop(&job->renew);
	if (claim_submit_verb(conn, job->grant, CLAIM_COMPLETE, "ok", 2, on_completed, job) != CLAIM_OK) {
		status = 1;
		job_end(job, "out of memory");
	}
	wait_on();
}

static void on_claimed(claim_conn *from, int code, void *arg)
{
	struct job *job = arg;
	switch (code) {
	case CLAIM_WON:
		job->grant = claim_take_grant(from);
		uv_timer_start(&job->work, on_worked, work_ms, 0);
		/* It may have been won some time before the answer came, so the first renewal is now. */
		job->sure_until_ms = uv_now(&loop) + LEASE_MS;
		uv_timer_start(&job->renew, on_renew, 0, RENEW_MS);
		break;
	case CLAIM_DONE:
		job_end(job, "was done before");
		break;
	default: /* whatever else: it does not run */
		fprintf(stderr, "%s: %s %s\n", job->key, claim_strerror(code), claim_detail(from));
		status = 1;
		job_end(job, "not done");
	}
}

static int job_start(struct job *job, const char *key)
{
	struct claim_options options = CLAIM_OPTIONS_INIT;
	options.lease_ms = LEASE_MS;
	options.wait_ms = 60000;
	job->key = key;
	uv_timer_init(&loop, &job->work);
	uv_timer_init(&loop, &job->renew);
	job->work.data = job->renew.data = job;
	return claim_submit_acquire(conn, key, strlen(key), &options, on_claimed, job);
}

int main(int argc, char **argv)
{
	if (getenv("WORK_MS"))
		work_ms = strtoul(getenv("WORK_MS"), NULL, 10);
	struct job *jobs = calloc((size_t)argc, sizeof(*jobs));
	if (!jobs || uv_loop_init(&loop) != 0 || claim_open(&conn, NULL, NULL, TIMEOUT_MS) != CLAIM_OK)
		return 1;
	uv_timer_init(&loop, &due);
	if (uv_poll_init(&loop, &ready, claim_fd(conn)) != 0 || uv_poll_start(&ready, UV_READABLE, on_ready) != 0)
		return 1;
	for (int i = 1; i < argc; i++, left++)
		if (job_start(&jobs[i], argv[i]) != CLAIM_OK)
			return 1;
	wait_on();
	if (left > 0)
		uv_run(&loop, UV_RUN_DEFAULT);
	claim_close(conn);
	free(jobs);
	return status;
}
