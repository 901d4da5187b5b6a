/* conf_default.c - where the socket and the store are when nobody says so. See conf.h. */
#include "conf.h"

#include <string.h>

#include "../proto/mem.h"
#include "env.h"

/* A path from parts; NULL and *err set when there is no memory. */
static char *join(const char *a, struct slice b, const char *c, struct errbuf *err)
{
	size_t len = strlen(a) + b.len + strlen(c);
	char *text = mem_alloc(len + 1);
	struct writer w;

	if (!text) {
		err_set(err, "out of memory");
		return NULL;
	}
	writer_init(&w, text, len);
	writer_text(&w, a);
	writer_slice(&w, b);
	writer_text(&w, c);
	text[len] = 0;
	return text;
}

/* A folder's variable; relative and empty ones count as not set. */
static struct slice folder(char **envp, const char *name)
{
	struct slice value = slice_from(env_get(envp, name));

	return value.len > 0 && value.data[0] == '/' ? value : SLICE_ABSENT;
}

char *conf_default_socket(char **envp, bool root, struct errbuf *err)
{
	struct slice runtime = folder(envp, "XDG_RUNTIME_DIR");

	if (root || !runtime.data)
		runtime = SLICE_OF("/run");
	return join("", runtime, "/claimd/claimd.sock", err);
}

char *conf_default_store(char **envp, bool root, struct errbuf *err)
{
	struct slice state = folder(envp, "STATE_DIRECTORY");
	struct slice home = folder(envp, "HOME");
	const char *colon;

	if (state.data) {
		colon = memchr(state.data, ':', state.len); /* a service may have several: the first */
		if (colon)
			state.len = (size_t)(colon - state.data);
		return join("sqlite:", state, "/claimd.sqlite", err);
	}
	if (root)
		return join("sqlite:", SLICE_OF("/var/lib/claimd"), "/claimd.sqlite", err);
	state = folder(envp, "XDG_STATE_HOME");
	if (state.data)
		return join("sqlite:", state, "/claimd/claimd.sqlite", err);
	if (home.data)
		return join("sqlite:", home, "/.local/state/claimd/claimd.sqlite", err);
	err_set(err, "store: no HOME and no XDG_STATE_HOME to keep it in; set --store");
	return NULL;
}

bool conf_owns_store(const struct conf *conf)
{
	return conf->origin[CONF_ID_store].source == CONF_FROM_DEFAULT;
}
