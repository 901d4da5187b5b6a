/*
 * cli_text.c - text of others on a terminal. See cli_text.h. Called by everything that prints.
 *
 * Keys, owners and results are any octets. What is printed of them is visible and stays where it is put: controls,
 * marks that turn the direction of a line and octets that are no UTF-8 are shown as \xNN. How wide a character is is
 * known here and not asked from the locale, which is "C" in most containers.
 */
#include "cli_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../proto/proto.h"

/* ---- time ---- */

/* "3m12s"; the second unit is left out when there is none of it. */
static void two_units(struct duration_text *out, int64_t n, int64_t small, const char *units)
{
	int len = snprintf(out->text, sizeof(out->text), "%" PRId64 "%c", n / small, units[0]);
	if (n % small != 0)
		snprintf(out->text + len, sizeof(out->text) - (size_t)len, "%" PRId64 "%c", n % small, units[1]);
}

struct duration_text show_duration(int64_t ms)
{
	struct duration_text out;
	int64_t s = ms / 1000;
	if (ms == PROTO_NEVER)
		snprintf(out.text, sizeof(out.text), "never");
	else if (ms < 1000)
		snprintf(out.text, sizeof(out.text), "%" PRId64 "ms", ms);
	else if (s < 60 && ms % 1000 >= 100)
		snprintf(out.text, sizeof(out.text), "%" PRId64 ".%" PRId64 "s", s, ms % 1000 / 100);
	else if (s < 60)
		snprintf(out.text, sizeof(out.text), "%" PRId64 "s", s);
	else if (s < 3600)
		two_units(&out, s, 60, "ms");
	else if (s < 86400)
		two_units(&out, s / 60, 60, "hm");
	else
		two_units(&out, s / 3600, 24, "dh");
	return out;
}

/* ---- characters ---- */

static uint32_t utf8_code(struct slice octets)
{
	static const unsigned char first[] = {0x7f, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t code = (unsigned char)octets.data[0] & first[octets.len];
	for (size_t i = 1; i < octets.len; i++)
		code = code << 6 | ((unsigned char)octets.data[i] & 0x3f);
	return code;
}

struct range {
	uint32_t first, last;
};

static bool in_ranges(const struct range *range, size_t count, uint32_t code)
{
	for (size_t i = 0; i < count && range[i].first <= code; i++)
		if (code <= range[i].last)
			return true;
	return false;
}

/* Controls, and what a terminal obeys without showing it: separators of lines, marks of direction. */
static bool is_control(uint32_t code)
{
	static const struct range controls[] = {{0x00, 0x1f},     {0x7f, 0x9f},      {0x200e, 0x200f},
						{0x2028, 0x202e}, {0x2060, 0x206f},  {0xfeff, 0xfeff},
						{0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
	return in_ranges(controls, sizeof(controls) / sizeof(controls[0]), code);
}

static size_t code_width(uint32_t code)
{
	/* Marks that stand on the character before, by blocks. */
	static const struct range none[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},    {0x610, 0x61a},
					    {0x64b, 0x65f},   {0x6d6, 0x6dc},   {0x93c, 0x93c},    {0x941, 0x948},
					    {0x94d, 0x94d},   {0xe31, 0xe31},   {0xe34, 0xe3a},    {0xe47, 0xe4e},
					    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d},  {0x20d0, 0x20ff},
					    {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};
	/* East Asian and pictures. */
	static const struct range two[] = {
	    {0x1100, 0x115f},   {0x231a, 0x231b},  {0x23e9, 0x23ec},   {0x25fd, 0x25fe},   {0x2614, 0x2615},
	    {0x2648, 0x2653},   {0x26a1, 0x26a1},  {0x26bd, 0x26be},   {0x26c4, 0x26c5},   {0x2705, 0x2705},
	    {0x270a, 0x270b},   {0x2728, 0x2728},  {0x274c, 0x274c},   {0x2753, 0x2757},   {0x2795, 0x2797},
	    {0x2b1b, 0x2b1c},   {0x2b50, 0x2b55},  {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
	    {0x4e00, 0xa4cf},   {0xa960, 0xa97f},  {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
	    {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x16fe0, 0x1b2ff}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
	    {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};
	if (in_ranges(none, sizeof(none) / sizeof(none[0]), code))
		return 0;
	return in_ranges(two, sizeof(two) / sizeof(two[0]), code) ? 2 : 1;
}

struct glyph text_glyph(struct slice *text)
{
	size_t n = utf8_octets(*text);
	struct glyph glyph = {.octets = {text->data, n ? n : 1}};
	glyph.plain = n > 0 && !is_control(utf8_code(glyph.octets));
	glyph.width = glyph.plain ? code_width(utf8_code(glyph.octets)) : 4 * glyph.octets.len;
	text->data += glyph.octets.len;
	text->len -= glyph.octets.len;
	return glyph;
}

bool text_is_utf8(struct slice text)
{
	while (text.len > 0) {
		size_t n = utf8_octets(text);
		if (n == 0 || *text.data == '\0')
			return false;
		text.data += n;
		text.len -= n;
	}
	return true;
}

/* ---- writing ---- */

/* The octets of a glyph that is not plain. */
static void write_hex(struct writer *w, struct slice octets)
{
	for (size_t i = 0; i < octets.len; i++) {
		unsigned char c = (unsigned char)octets.data[i];
		char hex[4] = {'\\', 'x', "0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]};
		writer_bytes(w, hex, sizeof(hex));
	}
}

static void write_glyph(struct writer *w, const struct glyph *glyph)
{
	if (glyph->plain)
		writer_slice(w, glyph->octets);
	else
		write_hex(w, glyph->octets);
}

void write_shown(struct writer *w, struct slice text)
{
	while (text.len > 0) {
		struct glyph glyph = text_glyph(&text);
		write_glyph(w, &glyph);
	}
}

static void show_glyph(FILE *out, const struct glyph *glyph)
{
	char data[16];
	struct writer w;
	writer_init(&w, data, sizeof(data));
	write_glyph(&w, glyph);
	fwrite(w.data, 1, w.len, out);
}

void show_text(FILE *out, struct slice text)
{
	while (text.len > 0) {
		struct glyph glyph = text_glyph(&text);
		show_glyph(out, &glyph);
	}
}

size_t text_width(struct slice text)
{
	size_t width = 0;
	while (text.len > 0)
		width += text_glyph(&text).width;
	return width;
}

size_t show_cut(FILE *out, struct slice text, size_t columns)
{
	bool cut = text_width(text) > columns;
	size_t room = cut && columns > 0 ? columns - 1 : columns, used = 0;
	while (text.len > 0) {
		struct glyph glyph = text_glyph(&text);
		if (used + glyph.width > room)
			break;
		show_glyph(out, &glyph);
		used += glyph.width;
	}
	if (!cut || columns == 0)
		return used;
	putc('~', out);
	return used + 1;
}

void show_fitted(FILE *out, struct slice text, size_t columns)
{
	fprintf(out, "%*s", (int)(columns - show_cut(out, text, columns)), "");
}

/* ---- colour ---- */

bool colour_wanted(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	return !(no && *no) && term && *term && strcmp(term, "dumb") != 0 && isatty(STDOUT_FILENO);
}

enum style style_of(struct slice word)
{
	static const struct {
		const char *word;
		enum style style;
	} styles[] = {{"WON", STYLE_GOOD},     {"OK", STYLE_GOOD},      {"DONE", STYLE_GOOD},    {"done", STYLE_GOOD},
		      {"serving", STYLE_GOOD}, {"yes", STYLE_GOOD},     {"ok", STYLE_GOOD},      {"HELD", STYLE_BUSY},
		      {"claimed", STYLE_BUSY}, {"lapsed", STYLE_BAD},   {"FAILED", STYLE_BAD},   {"failed", STYLE_BAD},
		      {"UNKNOWN", STYLE_BAD},  {"unknown", STYLE_BAD},  {"MISMATCH", STYLE_BAD}, {"STALE", STYLE_BAD},
		      {"no", STYLE_BAD},       {"draining", STYLE_BAD}, {"stopping", STYLE_BAD}, {"FREE", STYLE_DIM},
		      {"free", STYLE_DIM},     {"GONE", STYLE_DIM}};
	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
		if (slice_equal(slice_from(styles[i].word), word))
			return styles[i].style;
	return STYLE_PLAIN;
}

void show_style(FILE *out, bool colour, enum style style)
{
	static const char *const codes[] = {"\033[0m", "\033[1m", "\033[32m", "\033[33m", "\033[31m", "\033[2m"};
	if (colour)
		fputs(codes[style], out);
}
