/*
 * rig.c - see rig.h. Used by contract.c and history.c.
 *
 * It does for a store what the server does: flushes once per turn of the loop, before the loop waits.
 */
#include "rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEADLINE_US (30 * INT64_C(1000000))

struct rig {
	uv_loop_t loop;
	uv_prepare_t flush;
	uv_timer_t tick; /* ends a wait at its deadline, and nothing else does but the store itself */
	struct store *store;
	struct call *calls;
	size_t outstanding;
	bool closed;
};

void rig_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("rig: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(EXIT_FAILURE);
}

int64_t rig_clock_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void *must_alloc(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		rig_fail("out of memory");
	return p;
}

/* ---- answers ---- */

static struct slice copy_slice(char **to, struct slice text)
{
	struct slice copy = {*to, text.len};

	if (!text.data)
		return SLICE_ABSENT;
	memcpy(*to, text.data, text.len);
	*to += text.len;
	return copy;
}

/* The store may let go of what the record points to as soon as the answer has been told. */
static void copy_record(struct call *call)
{
	struct record *rec = &call->op.record;
	char *to;

	call->copies = to = must_alloc(rec->fp.len + rec->token.len + rec->owner.len + rec->result.len);
	rec->fp = copy_slice(&to, rec->fp);
	rec->token = copy_slice(&to, rec->token);
	rec->owner = copy_slice(&to, rec->owner);
	rec->result = copy_slice(&to, rec->result);
}

static void on_done(void *arg, struct op *op)
{
	struct rig *rig = arg;
	struct call *call = (struct call *)op; /* its first member */

	if (call->answered)
		rig_fail("an op was answered twice");
	if (op->result == OP_PENDING)
		rig_fail("an op came back without an answer");
	call->answered = true;
	rig->outstanding--;
	copy_record(call);
	if (call->then)
		rig_submit(call->then);
	if (!rig->outstanding)
		uv_stop(&rig->loop); /* this turn does not wait for anything */
}

static void on_flush(uv_prepare_t *handle)
{
	struct rig *rig = handle->data;

	if (rig->store)
		store_flush(rig->store);
}

static void on_tick(uv_timer_t *timer)
{
	(void)timer;
}

/* ---- open and close ---- */

struct rig *rig_open(const char *url)
{
	struct rig *rig = must_alloc(sizeof(*rig));
	struct store_options options = {.timeout_ms = 20000};
	struct store_events events = {.op_done = on_done, .arg = rig};
	struct errbuf err;

	if (uv_loop_init(&rig->loop) != 0)
		rig_fail("no loop");
	uv_prepare_init(&rig->loop, &rig->flush);
	uv_timer_init(&rig->loop, &rig->tick);
	rig->flush.data = rig;
	uv_prepare_start(&rig->flush, on_flush);
	if (!store_open(&rig->store, url, &options, &rig->loop, &events, &err))
		rig_fail("%s: %s", url, err.text);
	return rig;
}

static void on_closed(void *arg)
{
	struct rig *rig = arg;

	rig->closed = true;
}

/* One turn of the loop that waits for news as long as there is time. */
static void turn_waiting(struct rig *rig, int64_t end)
{
	int64_t left_ms = (end - rig_clock_us()) / 1000 + 1;

	uv_update_time(&rig->loop);
	uv_timer_start(&rig->tick, on_tick, (uint64_t)left_ms, 0);
	uv_run(&rig->loop, UV_RUN_ONCE);
	uv_timer_stop(&rig->tick);
}

void rig_close_store(struct rig *rig)
{
	int64_t end = rig_clock_us() + DEADLINE_US;

	store_close(rig->store, on_closed, rig);
	rig->store = NULL;
	while (!rig->closed && rig_clock_us() < end)
		turn_waiting(rig, end);
	if (!rig->closed)
		rig_fail("the store did not close");
	if (rig->outstanding)
		rig_fail("the store closed with %zu ops not answered", rig->outstanding);
}

void rig_close(struct rig *rig)
{
	if (rig->store)
		rig_close_store(rig);
	rig_forget_calls(rig);
	uv_close((uv_handle_t *)&rig->flush, NULL);
	uv_close((uv_handle_t *)&rig->tick, NULL);
	uv_run(&rig->loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&rig->loop) != 0)
		rig_fail("the store left handles on the loop");
	free(rig);
}

struct store *rig_store(struct rig *rig)
{
	return rig->store;
}

/* ---- calls ---- */

struct call *rig_call(struct rig *rig, enum op_kind kind, struct slice key)
{
	struct call *call = must_alloc(sizeof(*call));
	char *copy = must_alloc(key.len);

	if (key.len)
		memcpy(copy, key.data, key.len);
	op_init(&call->op, kind, (struct slice){copy, key.len});
	call->key = copy;
	call->rig = rig;
	call->next = rig->calls;
	rig->calls = call;
	return call;
}

void rig_submit(struct call *call)
{
	call->rig->outstanding++;
	store_submit(call->rig->store, &call->op);
	if (call->answered)
		rig_fail("an op was answered from inside submit");
}

bool rig_turn(struct rig *rig)
{
	if (rig->outstanding)
		uv_run(&rig->loop, UV_RUN_NOWAIT);
	return rig->outstanding > 0;
}

void rig_wait(struct rig *rig)
{
	int64_t end = rig_clock_us() + DEADLINE_US;

	while (rig->outstanding && rig_clock_us() < end)
		turn_waiting(rig, end);
	if (rig->outstanding)
		rig_fail("%zu ops were not answered in time", rig->outstanding);
}

void rig_forget_calls(struct rig *rig)
{
	while (rig->calls) {
		struct call *call = rig->calls;

		rig->calls = call->next;
		op_release(&call->op);
		free(call->copies);
		free(call->key);
		free(call);
	}
}

struct call *rig_ask(struct rig *rig, struct slice key, struct ask ask)
{
	struct call *call = rig_call(rig, OP_RECORD, key);

	call->op.ask = ask;
	rig_submit(call);
	rig_wait(rig);
	return call;
}

struct call *rig_scan(struct rig *rig, enum op_kind kind, struct scan scan)
{
	struct call *call = rig_call(rig, kind, SLICE_ABSENT);

	call->op.scan = scan;
	rig_submit(call);
	rig_wait(rig);
	return call;
}

void rig_pause(int64_t us)
{
	struct timespec left = {us / 1000000, us % 1000000 * 1000};

	while (nanosleep(&left, &left) != 0)
		;
}

void rig_remove_folder(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(path);
}
