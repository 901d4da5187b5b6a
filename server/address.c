/* address.c - see address.h. Pure; allocates nothing. */
#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "../proto/proto.h"

#define MAX_PORT 65535

static bool parse_port(const char *text, in_port_t *port)
{
	size_t len = strlen(text);
	unsigned number = 0;

	if (len == 0 || len > 5 || strspn(text, "0123456789") != len)
		return false;
	for (; *text; text++)
		number = number * 10 + (unsigned)(*text - '0');
	*port = htons((in_port_t)number);
	return number <= MAX_PORT;
}

static bool parse_four(struct address *address, const char *host, in_port_t port)
{
	struct sockaddr_in socket = {.sin_family = AF_INET, .sin_port = port};

	if (inet_pton(AF_INET, host, &socket.sin_addr) != 1)
		return false;
	memcpy(&address->socket, &socket, sizeof socket);
	address->len = sizeof socket;
	address->local = (ntohl(socket.sin_addr.s_addr) >> 24) == 127;
	return true;
}

static bool parse_six(struct address *address, const char *host, in_port_t port)
{
	struct sockaddr_in6 socket = {.sin6_family = AF_INET6, .sin6_port = port};

	if (inet_pton(AF_INET6, host, &socket.sin6_addr) != 1)
		return false;
	memcpy(&address->socket, &socket, sizeof socket);
	address->len = sizeof socket;
	address->local = IN6_IS_ADDR_LOOPBACK(&socket.sin6_addr);
	return true;
}

/* HOST:PORT, with an IPv6 address in brackets. */
static bool parse_numbers(struct address *address, const char *text)
{
	char host[ADDRESS_MAX_TEXT];
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : sizeof host;
	in_port_t port;

	if (len == 0 || len >= sizeof host || !parse_port(colon + 1, &port))
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	if (host[0] != '[' || host[len - 1] != ']')
		return parse_four(address, host, port);
	host[len - 1] = '\0';
	return parse_six(address, host + 1, port);
}

bool address_path_fits(const char *path, struct errbuf *err)
{
	/* A socket is made as PATH.new and renamed when it listens. */
	_Static_assert(PROTO_MAX_SOCKET_PATH == sizeof(((struct sockaddr_un *)0)->sun_path) - sizeof(".new"),
		       "it fits");

	if (strlen(path) <= PROTO_MAX_SOCKET_PATH)
		return true;
	err_set(err, "a path of %zu octets; a socket's path has at most %d", strlen(path), PROTO_MAX_SOCKET_PATH);
	return false;
}

bool address_parse(struct address *address, const char *text, struct errbuf *err)
{
	memset(address, 0, sizeof *address);
	if (strchr(text, '/') == NULL) {
		if (parse_numbers(address, text))
			return true;
		err_set(err,
			"\"%.60s\" is no address: 127.0.0.1:9464 or [::1]:9464, in numbers (0.0.0.0:9464 for other "
			"hosts), or a path with a slash",
			text);
		return false;
	}
	address->local = true;
	return address_path_fits(text, err);
}

void address_show(const struct address *address, char out[ADDRESS_MAX_TEXT])
{
	struct sockaddr_in four;
	struct sockaddr_in6 six;
	char host[INET6_ADDRSTRLEN] = "?";

	if (address->socket.ss_family == AF_INET6) {
		memcpy(&six, &address->socket, sizeof six);
		inet_ntop(AF_INET6, &six.sin6_addr, host, sizeof host);
		snprintf(out, ADDRESS_MAX_TEXT, "[%s]:%u", host, ntohs(six.sin6_port));
	} else {
		memcpy(&four, &address->socket, sizeof four);
		inet_ntop(AF_INET, &four.sin_addr, host, sizeof host);
		snprintf(out, ADDRESS_MAX_TEXT, "%s:%u", host, ntohs(four.sin_port));
	}
}
