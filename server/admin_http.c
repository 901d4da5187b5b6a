/*
 * admin_http.c - see admin_http.h. Called by conn.c for a connection whose first line looks like HTTP. Pure.
 *
 * Anything that is not GET or HEAD of one of our pages is not answered at all: a page in somebody's browser that makes
 * it post to a forwarded socket shall learn nothing and change nothing.
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

/* Cuts what is before the first space off *text; all of it when there is none. */
static struct slice cut_word(struct slice *text)
{
	const char *space = text->len ? memchr(text->data, ' ', text->len) : NULL;
	size_t len = space ? (size_t)(space - text->data) : text->len;
	struct slice word = {text->data, len};

	text->data += len + (space != NULL);
	text->len -= len + (space != NULL);
	return word;
}

struct page {
	const char *status;
	const char *type;
	size_t len; /* of the body */
};

/* Writes the page's body; false: there is no such page. */
static bool write_page(struct page *page, struct slice path, const struct admin_view *view, char *body, size_t cap)
{
	const char *text;

	page->status = "200 OK";
	if (slice_equal(path, SLICE_OF("/metrics"))) {
		page->type = "text/plain; version=0.0.4; charset=utf-8";
		page->len = stats_format(view->stats, view->view, body, cap);
		return page->len > 0;
	}
	page->type = "text/plain; charset=utf-8";
	if (slice_equal(path, SLICE_OF("/livez")))
		text = "ok\n";
	else if (!slice_equal(path, SLICE_OF("/readyz")))
		return false;
	else if (view->view->draining)
		text = "draining\n";
	else if (!view->view->store_up)
		text = "store down\n";
	else
		text = "ok\n";
	if (strcmp(text, "ok\n") != 0)
		page->status = "503 Service Unavailable";
	page->len = strlen(text);
	memcpy(body, text, page->len);
	return true;
}

static void write_head(struct writer *w, const struct page *page)
{
	writer_text(w, "HTTP/1.1 ");
	writer_text(w, page->status);
	writer_text(w, "\r\nContent-Type: ");
	writer_text(w, page->type);
	writer_text(w, "\r\nContent-Length: ");
	writer_int(w, (int64_t)page->len);
	writer_text(w, "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n");
}

bool admin_http_answer(struct slice first_line, const struct admin_view *view, struct writer *out)
{
	struct slice rest = first_line;
	struct slice method, path;
	const char *query;
	struct page page;
	char *body = out->data + HEAD_MAX; /* its length must be known before the head can be written */

	if (rest.len > 0 && rest.data[rest.len - 1] == '\r')
		rest.len--;
	method = cut_word(&rest);
	path = cut_word(&rest);
	if (!slice_equal(rest, SLICE_OF("HTTP/1.1")) && !slice_equal(rest, SLICE_OF("HTTP/1.0")))
		return false;
	if (!slice_equal(method, SLICE_OF("GET")) && !slice_equal(method, SLICE_OF("HEAD")))
		return false;
	query = path.len ? memchr(path.data, '?', path.len) : NULL;
	if (query)
		path.len = (size_t)(query - path.data);
	if (out->len != 0 || out->cap < ADMIN_HTTP_MAX || !write_page(&page, path, view, body, out->cap - HEAD_MAX))
		return false;
	write_head(out, &page);
	if (slice_equal(method, SLICE_OF("GET"))) {
		memmove(out->data + out->len, body, page.len);
		out->len += page.len;
	}
	return true;
}
