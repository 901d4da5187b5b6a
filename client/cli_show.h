/* cli_show.h - answers as text for people. */
#ifndef CLAIM_CLI_SHOW_H
#define CLAIM_CLI_SHOW_H

#include "cli.h"
#include "cli_text.h"

/* The last answer of a connection; valid until the next call on it. */
struct reply cli_reply(const claim_conn *conn);

/* WON fence=... lease=30s ... */
void show_line(FILE *out, bool colour, const struct reply *reply);
/* Why a HELD is one where nobody holds the key: --atleast. False: somebody does. */
bool say_kept_off(const struct reply *reply);
/* One record: a name and its value a line. */
void show_record(FILE *out, bool colour, const struct reply *reply, const char *key);
/* What the daemon says of itself, and what the names mean. */
void show_daemon(FILE *out, bool colour, const struct reply *reply);

/* A table of records: they are kept until it is known how wide their columns are. */
struct table;
/* NULL: no memory. */
struct table *table_new(void);
/* One ITEM. False: no memory. */
bool table_add(struct table *table, const struct reply *item);
/* Prints what was added since, and forgets it; the first time with a head. */
void table_flush(struct table *table, FILE *out, bool colour);
void table_free(struct table *table);

#endif
