/*
 * link.c - the transport under client.c: a non-blocking Unix socket that reconnects. See link.h.
 *
 * Happy path: connect (at once on a Unix socket), HELLO, then what is asked. Failure modes: nobody listens, no right to
 * connect, the backlog is full, the daemon closes or is killed, nonsense comes in: in each case the socket is closed, `why` says
 * what it was, and the next attempt is made after a pause that doubles up to a second, with jitter, so that
 * many clients do not come back at the same moment.
 */
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_MIN_MS 10
#define PAUSE_MAX_MS 1000

_Static_assert(sizeof(((struct link *)0)->path) == sizeof(((struct sockaddr_un *)0)->sun_path), "path fits a socket");

bool link_default_path(char *path, size_t size)
{
	struct writer w;
	const char *given = getenv("CLAIMD_SOCKET"), *runtime = getenv("XDG_RUNTIME_DIR");
	writer_init(&w, path, size);
	if (given && *given) {
		writer_text(&w, given);
	} else if (geteuid() != 0 && runtime && *runtime) {
		writer_text(&w, runtime);
		writer_text(&w, "/claimd/claimd.sock");
	} else {
		writer_text(&w, "/run/claimd/claimd.sock");
	}
	writer_char(&w, '\0');
	return !w.full;
}

int64_t link_now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

bool link_init(struct link *link, struct slice path, struct slice name, struct slice ns)
{
	memset(link, 0, sizeof(*link));
	link->fd = link->epoll_fd = -1;
	link->pid = getpid();
	if (path.len == 0 || path.len >= sizeof(link->path))
		return false;
	memcpy(link->path, path.data, path.len);
	if (getrandom(&link->random, sizeof(link->random), GRND_NONBLOCK) != (ssize_t)sizeof(link->random))
		link->random = (uint64_t)link_now_ms() ^ ((uint64_t)link->pid << 32);
	link->random |= 1;
	return client_init(&link->client, name, ns);
}

void link_release(struct link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
	client_release(&link->client);
}

int64_t link_jitter(struct link *link, int64_t n)
{
	/* xorshift64: it only spreads clients over time. */
	link->random ^= link->random << 13;
	link->random ^= link->random >> 7;
	link->random ^= link->random << 17;
	return n - (int64_t)(link->random % (uint64_t)(n / 2 + 1));
}

bool link_token(char token[33])
{
	unsigned char random[16];
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return false;
	for (size_t i = 0; i < sizeof(random); i++) {
		token[2 * i] = "0123456789abcdef"[random[i] >> 4];
		token[2 * i + 1] = "0123456789abcdef"[random[i] & 15];
	}
	token[32] = '\0';
	return true;
}

static void link_down(struct link *link, int64_t now_ms)
{
	/* It would stay in there, and be ready for ever, where a child of a fork has a copy. */
	if (link->fd >= 0 && link->epoll_fd >= 0)
		epoll_ctl(link->epoll_fd, EPOLL_CTL_DEL, link->fd, NULL);
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
	/* A connection that worked is tried again at once; what fails again and again is left in peace for longer each time. */
	int64_t pause = 0;
	if (link->client.greeted)
		link->failures = 0;
	else
		pause = link->failures < 7 ? (int64_t)PAUSE_MIN_MS << link->failures : PAUSE_MAX_MS;
	link->failures++;
	link->retry_at_ms = now_ms + link_jitter(link, pause);
	client_lost(&link->client);
}

static void link_connect(struct link *link, int64_t now_ms)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memcpy(address.sun_path, link->path, sizeof(link->path));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		link->sys_errno = errno;
		err_set(&link->why, "%s", strerror(errno));
		if (fd >= 0)
			close(fd);
		link_down(link, now_ms);
		return;
	}
	link->sys_errno = 0;
	link->deaf = false;
	link->fd = fd;
	link->connects++;
}

/* A failed write does not end the connection: what the daemon said before it closed is read first, and then its end. */
static void link_write(struct link *link, int64_t now_ms)
{
	while (!link->deaf) {
		struct slice out = client_output(&link->client);
		if (out.len == 0)
			return;
		ssize_t n = send(link->fd, out.data, out.len, MSG_NOSIGNAL);
		if (n > 0)
			client_sent(&link->client, (size_t)n, now_ms);
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			return;
		else if (errno != EINTR)
			link->deaf = true;
	}
}

/* False: the connection is over. */
static bool link_read(struct link *link)
{
	size_t room;
	char *space = client_space(&link->client, &room);
	if (!space) {
		err_set(&link->why, "no memory");
		return false;
	}
	ssize_t n;
	do
		n = recv(link->fd, space, room, 0);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		client_received(&link->client, (size_t)n);
	else if (n == 0)
		err_set(&link->why, "the daemon closed the connection");
	else if (errno == EAGAIN || errno == EWOULDBLOCK)
		return true;
	else
		err_set(&link->why, "the connection was cut: %s", strerror(errno));
	return n > 0;
}

void link_process(struct link *link, int64_t now_ms)
{
	if (link->fd < 0 && !client_idle(&link->client) && now_ms >= link->retry_at_ms)
		link_connect(link, now_ms);
	if (link->fd < 0)
		return;
	if (link_read(link))
		link_write(link, now_ms);
	else
		link_down(link, now_ms);
}

struct client_event link_next(struct link *link)
{
	struct client_event event = client_next(&link->client);
	if (event.kind == CLIENT_BROKEN) {
		link->why = link->client.why;
		link_down(link, link_now_ms());
	}
	return event;
}

int link_fd(const struct link *link)
{
	return link->fd;
}

short link_events(const struct link *link)
{
	bool out = !link->deaf && client_output(&link->client).len > 0;
	return (short)(out ? POLLIN | POLLOUT : POLLIN);
}

int64_t link_due(const struct link *link)
{
	return link->fd < 0 && !client_idle(&link->client) ? link->retry_at_ms : INT64_MAX;
}

void link_forget(struct link *link, struct call *call)
{
	if (client_forget(&link->client, call)) {
		err_set(&link->why, "it was closed, since an answer that nobody waits for was due on it");
		link_down(link, link_now_ms());
	}
}
