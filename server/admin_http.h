/*
 * admin_http.h - the few pages that are answered to HTTP on the control socket: /metrics /livez /readyz.
 *
 *     curl --unix-socket SOCKET http://claimd/metrics
 *
 * Only a connection's first line is looked at; the caller then sends the answer (or nothing) and closes. It need not
 * read the rest of the request.
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

/* Writes a whole answer, to be followed by a close. False: nothing was written, close without an answer (another page or
 * method, no version, or *out has less room than ADMIN_HTTP_MAX). *out must be empty. */
bool admin_http_answer(struct slice first_line, const struct admin_view *view, struct writer *out);

#endif
