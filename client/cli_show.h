/* cli_show.h - answers as text for people and as JSON for programs. */
#ifndef CLAIM_CLI_SHOW_H
#define CLAIM_CLI_SHOW_H

#include <stdio.h>

#include "cli.h"

/* "812ms" "9.1s" "3m12s" "2h5m" "6d23h" "never" */
struct duration_text {
	char text[24];
};
struct duration_text show_duration(int64_t ms);
/* Octets for a terminal: nothing of them can move the cursor or change a colour. */
void show_text(FILE *out, struct slice text);

/* The last answer of the connection. key: NULL when the verb has none. */
void show_line(const claim_conn *conn);                   /* WON fence=... lease=30s ... */
void show_table(const claim_conn *conn, const char *key); /* a name and its value a line */
void show_item_head(void);
void show_item(const claim_conn *conn);                              /* one line of a list */
void show_json(const claim_conn *conn, const char *key);             /* any answer, its body as "result" */
void show_json_error(int code, const char *key, const char *detail); /* there was no answer */

#endif
