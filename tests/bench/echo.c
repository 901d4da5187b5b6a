/*
 * echo.c - what libuv and a Unix socket can do at the best: `echo SOCKET` answers each line with one and the same.
 *
 * run.sh starts it to hold claimd against it. It reads no line and keeps nothing; all answers of one read leave in one
 * write, as claimd's do. It ends by a TERM, or at the first thing that goes wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define READ_SIZE 65536
#define LINES_MAX 4096 /* of one read */

static const char reply[] = "WON fence=1700000000000000 lease_ms=600000 attempts=1 was=new\n";

struct echo {
	uv_pipe_t pipe;
	uv_loop_t loop;
	char in[READ_SIZE];
	char out[LINES_MAX * (sizeof reply - 1)];
};

static void must(int rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "echo: %s: %s\n", what, uv_strerror(rc));
	exit(1);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct echo *echo = handle->loop->data;

	(void)suggested;
	*buf = uv_buf_init(echo->in, sizeof echo->in);
}

static void on_closed(uv_handle_t *handle)
{
	free(handle);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct echo *echo = stream->loop->data;
	const char *at = buf->base, *end = buf->base + n;
	unsigned lines = 0;

	if (n < 0) {
		uv_close((uv_handle_t *)stream, on_closed);
		return;
	}
	for (; at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
		lines++;
	if (lines > LINES_MAX)
		must(UV_EMSGSIZE, "too many lines");
	if (lines > 0) {
		uv_buf_t out = uv_buf_init(echo->out, lines * (unsigned)(sizeof reply - 1));

		if (uv_try_write(stream, &out, 1) != (int)out.len)
			must(UV_EPIPE, "write");
	}
}

static void on_connection(uv_stream_t *server, int status)
{
	uv_pipe_t *client = malloc(sizeof *client);

	must(client == NULL ? UV_ENOMEM : status, "connection");
	must(uv_pipe_init(server->loop, client, 0), "pipe");
	must(uv_accept(server, (uv_stream_t *)client), "accept");
	must(uv_read_start((uv_stream_t *)client, on_alloc, on_read), "read");
}

int main(int argc, char **argv)
{
	struct echo *echo = calloc(1, sizeof *echo);

	if (argc != 2 || echo == NULL) {
		fputs("usage: echo SOCKET\n", stderr);
		return 64;
	}
	for (size_t i = 0; i < LINES_MAX; i++)
		memcpy(echo->out + i * (sizeof reply - 1), reply, sizeof reply - 1);
	must(uv_loop_init(&echo->loop), "loop");
	echo->loop.data = echo;
	must(uv_pipe_init(&echo->loop, &echo->pipe, 0), "pipe");
	must(uv_pipe_bind(&echo->pipe, argv[1]), "bind");
	must(uv_listen((uv_stream_t *)&echo->pipe, 1024, on_connection), "listen");
	return uv_run(&echo->loop, UV_RUN_DEFAULT);
}
