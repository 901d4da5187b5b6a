/*
 * loop.c - libclaim in a libuv loop: several jobs at once on one connection. Each waits for its key, is worked on while the daemon
 * renews its lease, and is completed.
 *
 *     cc loop.c $(pkg-config --cflags --libs claim libuv) -o loop && ./loop A1 A2 A1
 */
#include <claim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define WORK_MS 100

static uv_loop_t loop;
static uv_poll_t ready;
static uv_timer_t due;
static claim_conn *conn;
static int left, status;

struct job {
	const char *key;
	claim_grant *grant;
	uv_timer_t work;
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
	claim_grant_free(job->grant);
	job->grant = NULL;
	left--;
}

static void on_completed(claim_conn *from, int code, void *arg)
{
	if (code != CLAIM_OK) { /* the work was done: never try it again because of this */
		fprintf(stderr, "DONE, BUT NOT RECORDED: %s %s\n", claim_strerror(code), claim_detail(from));
		status = 1;
	}
	job_end(arg, "done");
}

static void on_worked(uv_timer_t *timer)
{
	struct job *job = timer->data;
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
		uv_timer_start(&job->work, on_worked, WORK_MS, 0);
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
	options.lease_ms = 10000;
	options.hold_ms = 60000; /* renewed while this connection lives, for a minute at most */
	options.wait_ms = 60000;
	job->key = key;
	uv_timer_init(&loop, &job->work);
	job->work.data = job;
	return claim_submit_acquire(conn, key, strlen(key), &options, on_claimed, job);
}

int main(int argc, char **argv)
{
	struct job *jobs = calloc((size_t)argc, sizeof(*jobs));
	if (!jobs || uv_loop_init(&loop) != 0 || claim_open(&conn, NULL, NULL, 10000) != CLAIM_OK)
		return 1;
	uv_timer_init(&loop, &due);
	if (uv_poll_init(&loop, &ready, claim_fd(conn)) != 0 || uv_poll_start(&ready, UV_READABLE, on_ready) != 0)
		return 1;
	for (int i = 1; i < argc; i++)
		left += job_start(&jobs[i], argv[i]) == CLAIM_OK;
	wait_on();
	if (left > 0)
		uv_run(&loop, UV_RUN_DEFAULT);
	claim_close(conn);
	free(jobs);
	return status;
}
