/*
 * cli_show.c - answers as text for people. See cli_show.h. Called by the verbs.
 *
 * Names are those of the protocol; what ends in _ms is a duration there and loses the unit here. Failure modes: no memory for
 * the rows of a table.
 */
#include "cli_show.h"

#include <string.h>

#include "../proto/mem.h"

/* ---- one answer ---- */

struct reply cli_reply(const claim_conn *conn)
{
	struct reply reply = {.word = slice_from(claim_word(conn))};
	const char *name;
	struct slice value;
	reply.code = word_find(reply.word);
	reply.err_name.data = claim_field(conn, "code", &reply.err_name.len);
	while (reply.count < PROTO_MAX_FIELDS && (value.data = claim_field_at(conn, reply.count, &name, &value.len)))
		reply.field[reply.count++] = (struct field){slice_from(name), value};
	reply.body.data = claim_body(conn, &reply.body.len);
	return reply;
}

static bool is_duration(const struct field *field)
{
	int64_t ms;
	return field->name.len > 3 && memcmp(field->name.data + field->name.len - 3, "_ms", 3) == 0 &&
	       (integer_parse(field->value, &ms) || slice_equal(field->value, SLICE_OF("never")));
}

/* Without the unit that show_value takes off. */
static struct slice shown_name(const struct field *field)
{
	return (struct slice){field->name.data, field->name.len - (is_duration(field) ? 3 : 0)};
}

static void show_value(FILE *out, bool colour, const struct field *field)
{
	int64_t ms = PROTO_NEVER;
	if (is_duration(field)) {
		integer_parse(field->value, &ms);
		fputs(show_duration(ms).text, out);
		return;
	}
	show_style(out, colour, style_of(field->value));
	show_text(out, field->value);
	show_style(out, colour, STYLE_PLAIN);
}

void show_line(FILE *out, bool colour, const struct reply *reply)
{
	show_style(out, colour, style_of(reply->word));
	show_text(out, reply->word);
	show_style(out, colour, STYLE_PLAIN);
	for (size_t i = 0; i < reply->count; i++) {
		putc(' ', out);
		show_text(out, shown_name(&reply->field[i]));
		putc('=', out);
		show_value(out, false, &reply->field[i]);
	}
	if (reply->body.data)
		fprintf(out, " size=%zu", reply->body.len);
	putc('\n', out);
}

bool say_kept_off(const struct reply *reply)
{
	if (!slice_equal(reply_field(reply, "state"), SLICE_OF("free")))
		return false;
	struct duration_text age = show_duration(reply_integer(reply, "age_ms", 0));
	struct duration_text left = show_duration(reply_integer(reply, "left_ms", 0));
	cli_say("nobody holds it: it ran, and was given back %s ago; its --atleast keeps others off for %s more",
		age.text, left.text);
	return true;
}

static void show_pair(FILE *out, bool colour, const struct field *field, int width)
{
	show_fitted(out, shown_name(field), (size_t)width);
	fputs("  ", out);
	show_value(out, colour, field);
}

static int names_width(const struct reply *reply)
{
	size_t width = sizeof("result") - 1;
	for (size_t i = 0; i < reply->count; i++)
		if (shown_name(&reply->field[i]).len > width)
			width = shown_name(&reply->field[i]).len;
	return (int)width;
}

void show_record(FILE *out, bool colour, const struct reply *reply, const char *key)
{
	int width = names_width(reply);
	fprintf(out, "%-*s  ", width, "key");
	show_text(out, slice_from(key));
	putc('\n', out);
	for (size_t i = 0; i < reply->count; i++) {
		show_pair(out, colour, &reply->field[i], width);
		putc('\n', out);
	}
	if (reply->body.data) {
		bool cut = reply->body.len > 200;
		fprintf(out, "%-*s  ", width, "result");
		show_text(out, (struct slice){reply->body.data, cut ? 200 : reply->body.len});
		fputs(cut ? "...\n" : "\n", out);
	}
}

/* ---- the daemon ---- */

static const char *meaning(struct slice name)
{
	static const char *const meanings[][2] = {
	    {"in_flight", "requests that wait for the store"},
	    {"granted_live", "claims won through this daemon that still run"},
	    {"waiting", "calls that wait for a key"},
	    {"kept", "settlements that the store could not take yet"},
	    {"lapsed", "their holder vanished: the next claim takes them"},
	    {"unknown", "nobody knows whether it happened: a person must look"},
	};
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (slice_equal(slice_from(meanings[i][0]), name))
			return meanings[i][1];
	return NULL;
}

void show_daemon(FILE *out, bool colour, const struct reply *reply)
{
	int width = names_width(reply);
	for (size_t i = 0; i < reply->count; i++) {
		const struct field *field = &reply->field[i];
		if (slice_equal(field->name, SLICE_OF("counts_age_ms"))) {
			fprintf(out, "\nrecords, counted %s ago (at most once a minute):\n",
				show_duration(reply_integer(reply, "counts_age_ms", 0)).text);
			continue;
		}
		show_pair(out, colour, field, width);
		const char *means = meaning(field->name);
		size_t used = text_width(field->value);
		if (means) {
			fprintf(out, "%*s  ", used < 6 ? (int)(6 - used) : 0, "");
			show_style(out, colour, STYLE_DIM);
			fputs(means, out);
			show_style(out, colour, STYLE_PLAIN);
		}
		putc('\n', out);
	}
}

/* ---- many records ---- */

struct row {
	struct row *next;
	char state[16];
	char fence[24], age[24], left[24];
	size_t owner_len, key_len;
	char octets[]; /* owner, key */
};

struct table {
	struct row *first, **last;
	size_t owner_width;
	bool headed;
};

struct table *table_new(void)
{
	struct table *table = mem_zero(sizeof(*table));
	if (table) {
		table->last = &table->first;
		table->owner_width = sizeof("OWNER") - 1;
	}
	return table;
}

static void put_field(char *to, size_t size, struct slice value)
{
	snprintf(to, size, "%.*s", value.data ? (int)value.len : 1, value.data ? value.data : "-");
}

static void put_ms(char *to, size_t size, int64_t ms)
{
	snprintf(to, size, "%s", ms < 0 ? "-" : show_duration(ms).text);
}

bool table_add(struct table *table, const struct reply *item)
{
	struct slice state = reply_field(item, "state"), owner = reply_field(item, "owner"),
		     key = reply_field(item, "key");
	if (!owner.data)
		owner = SLICE_OF("-");
	struct row *row = mem_zero(sizeof(*row) + owner.len + key.len);
	if (!row)
		return false;
	/* The word that --state knows. */
	if (reply_integer(item, "lapsed", 0) != 0 && slice_equal(state, SLICE_OF("claimed")))
		state = SLICE_OF("lapsed");
	put_field(row->state, sizeof(row->state), state);
	put_field(row->fence, sizeof(row->fence), reply_field(item, "fence"));
	put_ms(row->age, sizeof(row->age), reply_integer(item, "age_ms", -1));
	put_ms(row->left, sizeof(row->left), reply_integer(item, "left_ms", -1));
	memcpy(row->octets, owner.data, owner.len);
	if (key.data)
		memcpy(row->octets + owner.len, key.data, key.len);
	row->owner_len = owner.len;
	row->key_len = key.len;
	if (text_width(owner) > table->owner_width)
		table->owner_width = text_width(owner);
	*table->last = row;
	table->last = &row->next;
	return true;
}

void table_flush(struct table *table, FILE *out, bool colour)
{
	struct row *row = table->first;
	if (row && !table->headed) {
		show_style(out, colour, STYLE_HEAD);
		fprintf(out, "%-8s  %-16s  %8s  %8s  %-*s  %s", "STATE", "FENCE", "AGE", "LEFT",
			(int)table->owner_width, "OWNER", "KEY");
		show_style(out, colour, STYLE_PLAIN);
		putc('\n', out);
		table->headed = true;
	}
	while (row) {
		struct row *next = row->next;
		show_style(out, colour, style_of(slice_from(row->state)));
		show_fitted(out, slice_from(row->state), 8);
		show_style(out, colour, STYLE_PLAIN);
		fputs("  ", out);
		show_fitted(out, slice_from(row->fence), 16);
		fprintf(out, "  %8s  %8s  ", row->age, row->left);
		show_fitted(out, (struct slice){row->octets, row->owner_len}, table->owner_width);
		fputs("  ", out);
		show_text(out, (struct slice){row->octets + row->owner_len, row->key_len});
		putc('\n', out);
		mem_free(row);
		row = next;
	}
	table->first = NULL;
	table->last = &table->first;
}

void table_free(struct table *table)
{
	while (table && table->first) {
		struct row *row = table->first;
		table->first = row->next;
		mem_free(row);
	}
	mem_free(table);
}
