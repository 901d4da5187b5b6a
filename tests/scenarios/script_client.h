/*
 * script_client.h - the clients of a scenario, one letter each, on the daemon's real socket; and how what they hear is held against
 * what the script expects.
 */
#ifndef CLAIMD_TESTS_SCENARIOS_SCRIPT_CLIENT_H
#define CLAIMD_TESTS_SCENARIOS_SCRIPT_CLIENT_H

#include "../../proto/proto.h"

#define SCRIPT_LINE 512

/* Says a line; a client that is not connected connects. */
bool client_say(char name, const char *socket_path, const char *line, struct errbuf *err);
/* The next line that it hears is this. "nothing": there is none, and it is connected; "closed": the daemon has closed. */
bool client_hears(char name, const char *expected, struct errbuf *err);
bool client_close(char name, struct errbuf *err);
/* The same, whatever it has not heard. */
bool client_kill(char name, struct errbuf *err);
/* Says no more, and listens. */
bool client_halfclose(char name, struct errbuf *err);
/* Nobody has heard anything that was not expected. */
bool clients_all_heard(struct errbuf *err);

/* "$name" and "$name+1" become what was bound to the name. A name that is not bound stays. False: it does not fit. */
bool script_expand(const char *text, char out[SCRIPT_LINE]);
/* Holds a line against what was expected of it: the word and each field that is named; "*" is any value, "$name" binds the
 * name to the value where it is not bound. */
bool script_matches(const char *expected, const char *line, struct slice body, struct errbuf *err);

#endif
