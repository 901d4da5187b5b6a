/* flood.c - see flood.h. */
#include "flood.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE 4096
#define LOOK_MS 5

/* So much of it that it fills any buffer, or the start of something that never ends. */
static size_t fill(struct client *client, char piece[PIECE], bool *once)
{
	static const char *const some[] = {"STATUS k1.0\n", "PING\n", "LIST limit=1000\n", "CLAIM\n",
					   "COMPLETE k1.0 fence=1 nope=2\n"};
	int64_t kind = client_dice(client, 4);
	const char *text = some[client_dice(client, 5)];
	size_t len = strlen(text);

	*once = kind == 1;
	if (kind == 1) {
		memcpy(piece, "FAIL k1.0 fence=1 body=9999999\n", 31);
		return 31;
	}
	for (size_t i = 0; i < PIECE; i++)
		piece[i] = kind == 0 ? (char)client_dice(client, 256) : text[i % len];
	return kind == 2 ? 1 + (size_t)client_dice(client, PIECE - 1) : PIECE / len * len;
}

void flood_run(struct storm *storm, struct client *client)
{
	char piece[PIECE];

	while (atomic_load(&storm->phase) == PHASE_STORM) {
		int fd = spawn_connect(&client->daemon[client_dice(client, client->daemons)]);
		bool once, open = fd >= 0;
		size_t len = fill(client, piece, &once);

		for (int64_t turns = client_dice(client, 60); turns > 0 && open; turns--) {
			ssize_t sent = send(fd, piece, len, MSG_DONTWAIT | MSG_NOSIGNAL);

			if (sent > 0)
				atomic_fetch_add(&storm->flooded, sent);
			if (once || sent < (ssize_t)len)
				poll(NULL, 0, LOOK_MS);
			open = !once || turns > 1;
			len = once && sent > 0 ? 0 : len;
		}
		if (fd >= 0)
			close(fd);
		else
			poll(NULL, 0, LOOK_MS);
	}
}
