/*
 * top_draw.c - `claim top` as text. See top_draw.h. Called by cli_top.c.
 *
 * What does not fit is left out, the least important first: of a line the end, of the columns the bar and the owner,
 * of the lines the title, the foot and the head. Nothing here fails.
 */
#include "top_draw.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "cli_text.h"

#define BAR 10
#define OWNER_MAX 24

struct canvas {
	FILE *out;
	const struct top_size *size;
	size_t line;   /* the one that is written, from 1 */
	size_t column; /* columns of it that are taken */
};

/* ---- lines ---- */

static void next_line(struct canvas *canvas)
{
	canvas->line++;
	canvas->column = 0;
	if (canvas->size->screen)
		fprintf(canvas->out, "\033[%zu;1H\033[2K", canvas->line);
	else if (canvas->line > 1)
		putc('\n', canvas->out);
}

/* Writes it if it fits into the line as a whole; else nothing more fits. */
__attribute__((format(printf, 3, 4))) static void piece(struct canvas *canvas, enum style style, const char *format,
							...)
{
	char text[256];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	size_t width = text_width(slice_from(text)), gap = canvas->column > 0 ? 2 : 0;
	if (canvas->column + gap + width > canvas->size->columns) {
		canvas->column = canvas->size->columns;
		return;
	}
	fprintf(canvas->out, "%*s", (int)gap, "");
	show_style(canvas->out, canvas->size->colour, style);
	show_text(canvas->out, slice_from(text));
	show_style(canvas->out, canvas->size->colour, STYLE_PLAIN);
	canvas->column += gap + width;
}

/* Title and foot. */
static bool has_frame(const struct top_size *size)
{
	return size->lines >= 6;
}

static void trouble(struct canvas *canvas, const char *text)
{
	show_style(canvas->out, canvas->size->colour, STYLE_BAD);
	show_cut(canvas->out, slice_from(text), canvas->size->columns);
	show_style(canvas->out, canvas->size->colour, STYLE_PLAIN);
}

static void title(struct canvas *canvas, const struct top_view *view)
{
	const struct top_daemon *daemon = view->daemon;
	next_line(canvas);
	if (!daemon->version[0]) /* it has not said anything yet */
		return;
	piece(canvas, STYLE_HEAD, "claimd %s", daemon->version);
	piece(canvas, style_of(slice_from(daemon->phase)), "%s", daemon->phase);
	piece(canvas, daemon->store_up ? STYLE_PLAIN : STYLE_BAD, "store %s", daemon->store_up ? "up" : "DOWN");
	piece(canvas, STYLE_PLAIN, "up %s", show_duration(daemon->up_ms).text);
	piece(canvas, STYLE_PLAIN, "%" PRId64 " connections", daemon->connections);
	piece(canvas, STYLE_DIM, "%s", daemon->store);
}

/* "12 live", as they are below; "1000+ live" where there are more than we have. */
static void count(struct canvas *canvas, const struct top_rows *rows, enum top_kind kind, const char *word)
{
	enum style style = kind == TOP_LIVE || rows->of_kind[kind] == 0 ? STYLE_PLAIN
			   : kind == TOP_LAPSED                         ? STYLE_BUSY
									: STYLE_BAD;
	piece(canvas, style, "%zu%s %s", rows->of_kind[kind], rows->more[kind] ? "+" : "", word);
}

/* What is worst comes first. */
static void counts(struct canvas *canvas, const struct top_view *view)
{
	const struct top_daemon *daemon = view->daemon;
	const struct top_rows *rows = view->rows;
	next_line(canvas);
	if (view->trouble[0] && !has_frame(canvas->size)) {
		trouble(canvas, view->trouble);
		return;
	}
	if (!daemon->version[0])
		return;
	count(canvas, rows, TOP_UNKNOWN, "unknown");
	count(canvas, rows, TOP_LAPSED, "lapsed");
	count(canvas, rows, TOP_LIVE, "live");
	piece(canvas, STYLE_PLAIN, "%" PRId64 " waiting", daemon->waiting);
	if (daemon->kept > 0)
		piece(canvas, STYLE_BAD, "%" PRId64 " kept for the store", daemon->kept);
	if (daemon->counts_age_ms < 0)
		return;
	piece(canvas, STYLE_DIM, "%s ago: %" PRId64 " done, %" PRId64 " failed, %" PRId64 " free",
	      show_duration(daemon->counts_age_ms + view->now_ms - daemon->seen_ms).text, daemon->done, daemon->failed,
	      daemon->free);
}

/* ---- the table ---- */

struct columns {
	size_t state, time, bar, owner, key; /* 0: not shown; each with a gap behind it */
};

static struct columns columns_of(const struct top_view *view, size_t total)
{
	struct columns columns = {0};
	size_t owner = sizeof("OWNER") - 1;
	for (size_t i = 0; i < view->rows->count; i++) {
		size_t width = text_width(view->rows->row[i].owner);
		owner = width > owner ? width : owner;
	}
	if (total != SIZE_MAX && owner > OWNER_MAX)
		owner = OWNER_MAX;
	columns.state = total >= 16 ? 7 : 0;
	columns.time = total >= 36 ? 7 : 0;
	columns.owner = total >= 60 ? owner : 0;
	columns.bar = total >= 72 ? BAR : 0;
	size_t used = columns.state ? columns.state + 2 : 0;
	used += columns.time ? 2 * (columns.time + 2) : 0;
	used += columns.bar ? columns.bar + 2 : 0;
	used += columns.owner ? columns.owner + 2 : 0;
	columns.key = total - used;
	return columns;
}

static void cell(FILE *out, const char *text, size_t width, bool right)
{
	if (width == 0)
		return;
	size_t taken = strlen(text) < width ? strlen(text) : width;
	if (right)
		fprintf(out, "%*s", (int)(width - taken), "");
	show_fitted(out, slice_from(text), right ? taken : width);
	fputs("  ", out);
}

static void head(struct canvas *canvas, const struct columns *columns)
{
	FILE *out = canvas->out;
	next_line(canvas);
	show_style(out, canvas->size->colour, STYLE_HEAD);
	cell(out, "STATE", columns->state, false);
	cell(out, "AGE", columns->time, true);
	cell(out, "LEFT", columns->time, true);
	cell(out, "LEASE", columns->bar, false);
	cell(out, "OWNER", columns->owner, false);
	show_cut(out, SLICE_OF("KEY"), columns->key);
	show_style(out, canvas->size->colour, STYLE_PLAIN);
}

static void bar(FILE *out, bool colour, int64_t left_ms, int64_t lease_ms)
{
	int64_t marks = lease_ms > 0 ? (left_ms * BAR + lease_ms - 1) / lease_ms : 0;
	show_style(out, colour, marks > BAR / 2 ? STYLE_GOOD : marks > BAR / 4 ? STYLE_BUSY : STYLE_BAD);
	for (int64_t i = 0; i < BAR; i++)
		putc(i < marks ? '#' : '.', out);
	show_style(out, colour, STYLE_PLAIN);
	fputs("  ", out);
}

static void row(struct canvas *canvas, const struct columns *columns, const struct top_row *row, int64_t now_ms)
{
	static const enum style styles[] = {STYLE_BAD, STYLE_BUSY, STYLE_PLAIN};
	FILE *out = canvas->out;
	bool colour = canvas->size->colour;
	int64_t since_ms = now_ms - row->seen_ms;
	int64_t left_ms = row->left_ms > since_ms ? row->left_ms - since_ms : 0;
	next_line(canvas);
	show_style(out, colour, styles[row->kind]);
	cell(out, top_kind_name(row->kind), columns->state, false);
	show_style(out, colour, STYLE_PLAIN);
	cell(out, show_duration(row->age_ms + since_ms).text, columns->time, true);
	cell(out, row->kind == TOP_LIVE ? show_duration(left_ms).text : "-", columns->time, true);
	if (columns->bar && row->kind == TOP_LIVE)
		bar(out, colour, left_ms, row->lease_ms);
	else
		cell(out, "", columns->bar, false);
	if (columns->owner) {
		show_fitted(out, row->owner.data ? row->owner : SLICE_OF("-"), columns->owner);
		fputs("  ", out);
	}
	show_cut(out, row->key, columns->key);
}

/* ---- all of it ---- */

size_t top_room(const struct top_size *size)
{
	size_t taken = has_frame(size) ? 4 : size->lines >= 3 ? 2 : 1;
	return size->lines > taken ? size->lines - taken : 0;
}

static void foot(struct canvas *canvas, const struct top_view *view, size_t shown)
{
	const struct top_rows *rows = view->rows;
	bool more = top_rows_more(rows);
	if (!canvas->size->screen && !more && !view->trouble[0])
		return;
	next_line(canvas);
	if (view->trouble[0]) {
		trouble(canvas, view->trouble);
		return;
	}
	if (canvas->size->screen)
		piece(canvas, STYLE_DIM, "q quit, space and b turn pages");
	if (shown < rows->count)
		piece(canvas, STYLE_DIM, "%zu to %zu of %zu", view->skip + 1, view->skip + shown, rows->count);
	if (more)
		piece(canvas, STYLE_DIM, "there are more: claim ls");
}

void top_draw(FILE *out, const struct top_view *view, const struct top_size *size)
{
	struct canvas canvas = {.out = out, .size = size};
	struct columns columns = columns_of(view, size->columns);
	size_t room = top_room(size), shown = 0;
	if (has_frame(size))
		title(&canvas, view);
	counts(&canvas, view);
	if (size->lines >= 3)
		head(&canvas, &columns);
	for (; shown < room && view->skip + shown < view->rows->count; shown++)
		row(&canvas, &columns, &view->rows->row[view->skip + shown], view->now_ms);
	while (size->screen && shown < room && canvas.line + 1 + has_frame(size) <= size->lines)
		next_line(&canvas);
	if (has_frame(size))
		foot(&canvas, view, shown);
	if (!size->screen)
		putc('\n', out);
}
