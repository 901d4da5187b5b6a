/*
 * once.c - libclaim, blocking: reads one order a line and places each exactly once, however often its line comes.
 *
 *     cc once.c $(pkg-config --cflags --libs claim) -o once && printf 'A1\nA2\nA1\n' | ./once
 */
#include <claim.h>
#include <stdio.h>
#include <string.h>

/* The work. A real one would hand claim_run_fence to whatever it writes to. */
static enum claim_outcome place(claim_run *run, void *order)
{
	printf("placed %s\n", (const char *)order);
	if (claim_run_result(run, "placed", 6) != CLAIM_OK)
		fprintf(stderr, "%s: done, but its result is not recorded\n", (const char *)order);
	return CLAIM_DID;
}

static void loud(claim_conn *conn, int code, void *order)
{
	fprintf(stderr, "%s: PLACED, BUT NOT RECORDED: %s (%s)\n", (const char *)order, claim_strerror(code),
		claim_detail(conn));
}

/* 0: this line needs nothing more. */
static int handle(claim_conn *conn, char *order)
{
	char key[300];
	struct claim_options options = CLAIM_OPTIONS_INIT;
	struct claim_once_options once = CLAIM_ONCE_INIT;
	options.lease_ms = 30000;
	once.claim = &options;
	once.settle_failed = loud;
	once.arg = order;
	snprintf(key, sizeof(key), "orders:%s", order);
	int code = claim_once(conn, key, strlen(key), &once, place);
	switch (code) {
	case CLAIM_OK: /* recorded; whether nothing more is to be done is another question */
		return once.outcome != CLAIM_DID && once.outcome != CLAIM_NEVER_DO;
	case CLAIM_DONE:
		printf("known  %s\n", order);
		return 0;
	case CLAIM_FAILED:
		printf("burned %s\n", order);
		return 0;
	default: /* held by somebody else, unknown, the daemon is not there: it must come again */
		fprintf(stderr, "again  %s: %s %s\n", order, claim_strerror(code), claim_detail(conn));
		return 1;
	}
}

int main(void)
{
	char line[256];
	int status = 0;
	claim_conn *conn;
	if (claim_open(&conn, NULL, NULL, 10000) != CLAIM_OK)
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line)
			status |= handle(conn, line);
	}
	claim_close(conn);
	return status;
}
