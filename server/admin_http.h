/*
 * admin_http.h - the pages that are answered to HTTP: /metrics /livez /readyz. On the control socket, and on --admin (admin.c).
 *
 *     curl --unix-socket SOCKET http://claimd/metrics
 *
 * The caller finds the end of the request's header, sends what is written here, and closes: one request a connection. The
 * two callers differ in what they do with a request that is none of ours. On the control socket it gets no answer, so
 * that a page in somebody's browser which makes it post to a forwarded socket learns nothing. On --admin nothing but HTTP is
 * spoken, so it is told what is wrong.
 */
#ifndef CLAIMD_SERVER_ADMIN_HTTP_H
#define CLAIMD_SERVER_ADMIN_HTTP_H

#include "stats.h"

#define ADMIN_HTTP_MAX (STATS_MAX_TEXT + 512) /* octets that an answer can ever have */

struct admin_view {
	const struct stats *stats;
	const struct stats_view *view; /* ready is: view->store_up and not view->draining */
};

/* The line (without its LF) starts with a method of HTTP: no verb of ours. */
bool admin_http_is(struct slice first_line);

/* Both write a whole answer to *out, which must be empty and have room for ADMIN_HTTP_MAX. */

/* For the control socket: GET and HEAD of a page. False: anything else, nothing was written, close without an answer. */
bool admin_http_answer(struct slice first_line, const struct admin_view *view, struct writer *out);
/* For --admin: `header` is the request up to its empty line. Any request is answered: those above, with the metrics as
 * OpenMetrics where the header asks for it, and 400, 404 or 405. */
void admin_http_reply(struct slice header, const struct admin_view *view, struct writer *out);
/* For --admin: the header is too long. */
void admin_http_too_long(struct writer *out);

#endif
