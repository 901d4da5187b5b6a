/*
 * tee.c - the command's standard output passes through us. See tee.h. Called by cli_run.c.
 *
 * Happy path: read a piece, keep it, write it when our output takes it. Failure modes: our output is gone or full (we close
 * the pipe, so that the command meets the same, and keep nothing), more than the limit (passed on, not kept), no memory (the same).
 */
#include "tee.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../proto/mem.h"

#define PIECE 4096                         /* what poll promises that a pipe takes without blocking */
#define REST_MAX ((size_t)2 * 1024 * 1024) /* more than any pipe holds: the command's own output ends before */

bool tee_open(struct tee *tee, size_t limit, struct errbuf *err)
{
	int fds[2];
	*tee = (struct tee){.in = -1, .write_end = -1, .limit = limit};
	tee->pending = mem_alloc(PIECE);
	tee->saved = mem_alloc(PIECE);
	if (!tee->pending || !tee->saved) {
		err_set(err, "no memory");
		return false;
	}
	tee->cap = PIECE;
	if (pipe2(fds, O_CLOEXEC) != 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK) != 0) {
		err_set(err, "no pipe for the output: %s", strerror(errno));
		return false;
	}
	tee->in = fds[0];
	tee->write_end = fds[1];
	return true;
}

void tee_started(struct tee *tee)
{
	if (tee->write_end >= 0)
		close(tee->write_end);
	tee->write_end = -1;
}

void tee_poll(const struct tee *tee, struct pollfd fds[2])
{
	bool full = tee->at < tee->len;
	fds[0] = (struct pollfd){.fd = full ? -1 : tee->in, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = full ? STDOUT_FILENO : -1, .events = POLLOUT};
}

static void stop_reading(struct tee *tee)
{
	if (tee->in >= 0)
		close(tee->in);
	tee->in = -1;
}

/* saved_len stays within limit; room is made in powers of two. */
static void keep(struct tee *tee, const char *data, size_t len)
{
	if (tee->cut)
		return;
	size_t cap = PIECE;
	while (cap < tee->saved_len)
		cap *= 2;
	while (cap < tee->saved_len + len)
		cap *= 2;
	char *more = tee->saved_len + len <= tee->limit ? mem_resize(tee->saved, cap) : NULL;
	if (!more) {
		tee->cut = true;
		return;
	}
	memcpy(more + tee->saved_len, data, len);
	tee->saved = more;
	tee->saved_len += len;
}

/* Appends one piece to what is pending. False: nothing more to be had now. */
static bool take(struct tee *tee)
{
	ssize_t n;
	do
		n = read(tee->in, tee->pending + tee->len, PIECE);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		keep(tee, tee->pending + tee->len, (size_t)n);
		tee->len += (size_t)n;
		return true;
	}
	if (n == 0)
		stop_reading(tee);
	return false;
}

/* Writes one piece. */
static void pass_on(struct tee *tee)
{
	size_t len = tee->len - tee->at < PIECE ? tee->len - tee->at : PIECE;
	ssize_t n = write(STDOUT_FILENO, tee->pending + tee->at, len);
	if (n >= 0) {
		tee->at += (size_t)n;
	} else if (errno != EINTR && errno != EAGAIN) {
		tee->out_errno = errno;
		tee->cut = true;
		tee->at = tee->len;
		stop_reading(tee);
	}
	if (tee->at == tee->len)
		tee->at = tee->len = 0;
}

void tee_process(struct tee *tee, const struct pollfd fds[2])
{
	if (fds[1].fd >= 0 && fds[1].revents)
		pass_on(tee);
	else if (fds[0].fd >= 0 && fds[0].revents && tee->in >= 0)
		take(tee);
}

void tee_finish(struct tee *tee)
{
	while (tee->in >= 0) {
		if (tee->cap - tee->len < PIECE) {
			char *more = tee->cap < REST_MAX ? mem_resize(tee->pending, 2 * tee->cap) : NULL;
			if (!more) {
				tee->cut = true;
				break;
			}
			tee->pending = more;
			tee->cap *= 2;
		}
		if (!take(tee))
			break;
	}
	stop_reading(tee);
}

void tee_flush(struct tee *tee)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
	while (tee->at < tee->len) {
		poll(&out, 1, -1);
		pass_on(tee);
	}
}

struct slice tee_saved(const struct tee *tee)
{
	return tee->cut || !tee->saved ? SLICE_ABSENT : (struct slice){tee->saved, tee->saved_len};
}

void tee_release(struct tee *tee)
{
	stop_reading(tee);
	tee_started(tee);
	mem_free(tee->pending);
	mem_free(tee->saved);
	*tee = (struct tee){.in = -1, .write_end = -1};
}
