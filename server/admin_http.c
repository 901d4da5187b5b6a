/*
 * admin_http.c - see admin_http.h. Called by dispatch.c for a connection of the control socket whose first line looks like HTTP,
 * and by admin.c. Pure.
 *
 * Of a request the method, the path and Accept matter; everything else in it is skipped. A line may end with LF alone.
 */
#include "admin_http.h"

#include <string.h>

#define HEAD_MAX 256

bool admin_http_is(struct slice first_line)
{
	static const char *const method[] = {"GET ",     "HEAD ",  "POST ",    "PUT ",   "DELETE ",
					     "OPTIONS ", "PATCH ", "CONNECT ", "TRACE ", "PRI "};

	for (size_t i = 0; i < sizeof(method) / sizeof(method[0]); i++)
		if (slice_starts(first_line, slice_from(method[i])))
			return true;
	return false;
}

/* ---- Accept ---- */

/* "0.75" in thousandths; what is no weight counts as 1, as if it were not there. */
static int weight_of(struct slice text)
{
	int weight = 0, unit = 1000;

	if (text.len == 0 || (text.data[0] != '0' && text.data[0] != '1'))
		return 1000;
	weight = (text.data[0] - '0') * unit;
	for (size_t i = 2; i < text.len && text.data[1] == '.' && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
		unit /= 10;
		weight += (text.data[i] - '0') * unit;
	}
	return weight;
}

/* How much one range of Accept ("type; version=1.0.0; q=0.5") wants its type. */
static int range_weight(struct slice range)
{
	int weight = 1000;

	while (range.len > 0) {
		struct slice value = slice_cut(&range, ';');
		struct slice name = slice_trim(slice_cut(&value, '='));

		if (slice_equal_nocase(name, SLICE_OF("q")))
			weight = weight_of(slice_trim(value));
	}
	return weight;
}

/* OpenMetrics is named in `accept`, and the plain text is not wanted more. */
static bool wants_open(struct slice accept)
{
	int open = 0, text = 0;

	while (accept.len > 0) {
		struct slice range = slice_cut(&accept, ',');
		struct slice type = slice_trim(slice_cut(&range, ';'));
		int weight = range_weight(range);

		if (slice_equal_nocase(type, SLICE_OF("application/openmetrics-text")) && weight > open)
			open = weight;
		if (slice_equal_nocase(type, SLICE_OF("text/plain")) && weight > text)
			text = weight;
	}
	return open > 0 && open >= text;
}

/* ---- requests ---- */

enum page_name { PAGE_METRICS, PAGE_LIVEZ, PAGE_READYZ, PAGE__COUNT };

struct http_request {
	enum page_name page;
	bool head; /* the answer without its body */
	bool open; /* the metrics as OpenMetrics */
};

/* NULL: it is understood; else the status to answer. req->head is set whatever the answer. */
static const char *read_first_line(struct http_request *req, struct slice line)
{
	static const struct slice path_of[PAGE__COUNT] = {
	    {"/metrics", 8},
	    {"/livez", 6},
	    {"/readyz", 7},
	};
	struct slice method, target, path;

	if (line.len > 0 && line.data[line.len - 1] == '\r')
		line.len--;
	method = slice_cut(&line, ' ');
	target = slice_cut(&line, ' ');
	req->head = slice_equal(method, SLICE_OF("HEAD"));
	if (!slice_equal(line, SLICE_OF("HTTP/1.1")) && !slice_equal(line, SLICE_OF("HTTP/1.0")))
		return "400 Bad Request";
	if (!req->head && !slice_equal(method, SLICE_OF("GET")))
		return "405 Method Not Allowed\r\nAllow: GET, HEAD";
	path = slice_cut(&target, '?');
	for (req->page = 0; req->page < PAGE__COUNT; req->page++)
		if (slice_equal(path, path_of[req->page]))
			return NULL;
	return "404 Not Found";
}

static void read_fields(struct http_request *req, struct slice fields)
{
	while (fields.len > 0) {
		struct slice value = slice_cut(&fields, '\n');
		struct slice name = slice_cut(&value, ':');

		if (slice_equal_nocase(name, SLICE_OF("Accept")))
			req->open = wants_open(value);
	}
}

/* ---- answers ---- */

/* Writes the head in front of a body of this length. */
static void write_head(struct writer *w, const char *status, const char *type, size_t len)
{
	writer_text(w, "HTTP/1.1 ");
	writer_text(w, status);
	writer_text(w, "\r\nContent-Type: ");
	writer_text(w, type);
	writer_text(w, "\r\nContent-Length: ");
	writer_int(w, (int64_t)len);
	writer_text(w, "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n");
}

static void write_text(struct writer *out, const char *status, const char *text, bool head)
{
	write_head(out, status, "text/plain; charset=utf-8", strlen(text));
	if (!head)
		writer_text(out, text);
}

static void write_error(struct writer *out, const char *status, bool head)
{
	write_text(out, status, "claimd has /metrics, /livez and /readyz, for GET and HEAD\n", head);
}

static void write_metrics(struct writer *out, const struct http_request *req, const struct admin_view *view)
{
	const char *type = req->open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
				     : "text/plain; version=0.0.4; charset=utf-8";
	char *body = out->data + HEAD_MAX; /* its length must be known before the head can be written */
	size_t cap = out->cap - HEAD_MAX;
	size_t len = req->open ? stats_format_open(view->stats, view->view, body, cap)
			       : stats_format(view->stats, view->view, body, cap);

	write_head(out, "200 OK", type, len);
	if (req->head)
		return;
	memmove(out->data + out->len, body, len);
	out->len += len;
}

static void write_page(struct writer *out, const struct http_request *req, const struct admin_view *view)
{
	static const char unavailable[] = "503 Service Unavailable";

	if (req->page == PAGE_METRICS)
		write_metrics(out, req, view);
	else if (req->page == PAGE_READYZ && view->view->draining)
		write_text(out, unavailable, "draining\n", req->head);
	else if (req->page == PAGE_READYZ && !view->view->store_up)
		write_text(out, unavailable, "store down\n", req->head);
	else
		write_text(out, "200 OK", "ok\n", req->head);
}

bool admin_http_answer(struct slice first_line, const struct admin_view *view, struct writer *out)
{
	struct http_request req = {.open = false};

	if (out->len != 0 || out->cap < ADMIN_HTTP_MAX || read_first_line(&req, first_line) != NULL)
		return false;
	write_page(out, &req, view);
	return true;
}

void admin_http_reply(struct slice header, const struct admin_view *view, struct writer *out)
{
	struct http_request req = {.open = false};
	const char *status = read_first_line(&req, slice_cut(&header, '\n'));

	if (status != NULL) {
		write_error(out, status, req.head);
		return;
	}
	read_fields(&req, header);
	write_page(out, &req, view);
}

void admin_http_too_long(struct writer *out)
{
	write_error(out, "431 Request Header Fields Too Large", false);
}
