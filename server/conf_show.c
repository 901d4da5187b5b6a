/*
 * conf_show.c - what is said about settings: --help, --print-config, warnings, a URL without its password. See conf.h.
 */
#include "conf.h"

#include <string.h>

#include "address.h"
#include "env.h"
#include "setting.h"

void conf_redact(const char *url, struct errbuf *out)
{
	struct writer w;
	const char *slashes = strstr(url, "://");
	const char *colon = slashes ? strchr(slashes + 3, ':') : NULL;
	const char *at = strrchr(url, '@'); /* the last one: a password may hold one that was not escaped */

	writer_init(&w, out->text, sizeof(out->text) - 1);
	while (*url) {
		if (colon && at && url == colon + 1 && url <= at) {
			writer_text(&w, "***");
			url = at;
		}
		writer_char(&w, *url++);
		if (w.len >= 9 && slice_equal_nocase((struct slice){w.data + w.len - 9, 9}, SLICE_OF("password="))) {
			writer_text(&w, "***");
			url += strcspn(url, "& ");
		}
	}
	out->text[w.len] = 0;
}

/* How a setting was written where it was given: "--store-file", "CLAIMD_STORE", "store". */
static void name_given(const struct conf *conf, enum conf_id id, char out[SETTING_MAX_NAME])
{
	static const enum setting_form form[] = {
	    [CONF_FROM_DEFAULT] = SETTING_AS_NAME,
	    [CONF_FROM_FILE] = SETTING_AS_NAME,
	    [CONF_FROM_ENV] = SETTING_AS_ENV,
	    [CONF_FROM_FLAG] = SETTING_AS_FLAG,
	};
	const struct conf_origin *origin = &conf->origin[id];

	setting_name(setting_at(id)->name, origin->twin != NULL, form[origin->source], out);
}

void conf_blame(const struct conf *conf, enum conf_id id, struct errbuf *err)
{
	char name[SETTING_MAX_NAME];

	name_given(conf, id, name);
	err_prefix(err, "%s", name);
	if (conf->origin[id].source == CONF_FROM_FILE)
		err_prefix(err, "%s:%zu", conf->file, conf->origin[id].line);
}

static void print_origin(const struct conf *conf, enum conf_id id, FILE *out)
{
	const struct conf_origin *origin = &conf->origin[id];
	char name[SETTING_MAX_NAME];

	name_given(conf, id, name);
	if (origin->source == CONF_FROM_DEFAULT)
		fputs("# default\n", out);
	else if (origin->source == CONF_FROM_FILE)
		fprintf(out, "# %s:%zu\n", conf->file, origin->line);
	else
		fprintf(out, "# %s\n", name);
}

void conf_print(const struct conf *conf, FILE *out)
{
	for (enum conf_id id = 0; id < CONF__COUNT; id++) {
		const struct setting *setting = setting_at(id);
		const struct conf_origin *origin = &conf->origin[id];
		struct errbuf shown;

		if (!origin->text) {
			fprintf(out, "# not set\n# %s =\n", setting->name);
			continue;
		}
		print_origin(conf, id, out);
		if (setting->kind == SETTING_URL)
			conf_redact(origin->text, &shown);
		if (origin->twin)
			fprintf(out, "# %s\n%s_file = %s\n", shown.text, setting->name, origin->twin);
		else
			fprintf(out, "%s = %s\n", setting->name,
				setting->kind == SETTING_URL ? shown.text : origin->text);
	}
}

static void help_line(FILE *out, const char *flag, const char *metavar, const char *help, const char *fallback)
{
	int used = fprintf(out, "  %s %s", flag, metavar);

	fprintf(out, "%*s%s", used < 27 ? 28 - used : 1, "", help);
	if (fallback)
		fprintf(out, " (%s)", fallback);
	fputc('\n', out);
}

void conf_help(FILE *out)
{
	char flag[SETTING_MAX_NAME];

	fputs("Usage: claimd [OPTION VALUE]...\n"
	      "Answers CLAIM and COMPLETE on a Unix socket, so that work is done once.\n\n"
	      "Settings, with their defaults:\n",
	      out);
	for (enum conf_id id = 0; id < CONF__COUNT; id++) {
		const struct setting *setting = setting_at(id);

		setting_name(setting->name, false, SETTING_AS_FLAG, flag);
		help_line(out, flag, setting->metavar, setting->help, setting->fallback);
		if (!setting_has_twin(id))
			continue;
		setting_name(setting->name, true, SETTING_AS_FLAG, flag);
		help_line(out, flag, "PATH", "file that holds it, for a value with a password", NULL);
	}
	fputs("\nOther options:\n", out);
	help_line(out, "--config", "PATH", "file with more settings: name = value lines", NULL);
	help_line(out, "--check-config", "", "check all settings and exit; 78 when they are wrong", NULL);
	help_line(out, "--print-config", "", "print all settings and their sources and exit", NULL);
	help_line(out, "-h, --help", "", "print this and exit", NULL);
	help_line(out, "-V, --version", "", "print the version and exit", NULL);
	fputs("\nEach setting can also be a variable (CLAIMD_STORE_TIMEOUT=5s) or a line of the\n"
	      "file (store_timeout = 5s). Flags win over variables, variables over the file.\n"
	      "See claimd.conf(5) and claimd(8).\n",
	      out);
}

/* ---- warnings ---- */

/* Its name ends at the "=". */
static bool is_known_variable(struct slice name)
{
	/* CLAIMD_DISABLED is for the command. */
	static const char *const others[] = {"CLAIMD_CONFIG", "CLAIMD_DISABLED"};
	char own[SETTING_MAX_NAME];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (slice_equal(name, slice_from(others[i])))
			return true;
	for (enum conf_id id = 0; id < CONF__COUNT; id++) {
		setting_name(setting_at(id)->name, false, SETTING_AS_ENV, own);
		if (slice_equal(name, slice_from(own)))
			return true;
		setting_name(setting_at(id)->name, true, SETTING_AS_ENV, own);
		if (setting_has_twin(id) && slice_equal(name, slice_from(own)))
			return true;
	}
	return false;
}

/* In a pod, Kubernetes adds CLAIMD_SERVICE_HOST, CLAIMD_PORT_80_TCP ... for a service that is called claimd, or claimd-*. */
static bool is_of_kubernetes(const char *variable, size_t name_len)
{
	static const char *const parts[] = {"_SERVICE_HOST=", "_SERVICE_PORT", "_PORT_", "_PORT=tcp://",
					    "_PORT=udp://"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *found = strstr(variable, parts[i]);

		if (found && found < variable + name_len)
			return true;
	}
	return false;
}

static void tell_stranger(struct slice name, void (*each)(void *arg, const char *text), void *arg)
{
	char wrong[SETTING_MAX_NAME], near[SETTING_MAX_NAME];
	size_t len = name.len < sizeof(wrong) ? name.len : sizeof(wrong) - 1;
	struct errbuf text;

	memcpy(wrong, name.data, len);
	wrong[len] = 0;
	if (name.len == len && setting_suggest(wrong, SETTING_AS_ENV, near))
		err_set(&text, "the variable %s is no setting and is not used; did you mean %s?", wrong, near);
	else
		err_set(&text, "the variable %s is no setting and is not used", wrong);
	each(arg, text.text);
}

void conf_strangers(const struct conf *conf, void (*each)(void *arg, const char *text), void *arg)
{
	for (char **at = conf->envp; *at; at++) {
		struct slice name = {*at, strcspn(*at, "=")};

		if (slice_starts(name, SLICE_OF("CLAIMD_")) && !is_known_variable(name) &&
		    !is_of_kubernetes(*at, name.len))
			tell_stranger(name, each, arg);
	}
}

static void warn_of_admin(const struct conf *conf, void (*each)(void *arg, const char *text), void *arg)
{
	struct address address;
	struct errbuf text;

	if (conf->admin == NULL || !address_parse(&address, conf->admin, &text) || address.local)
		return;
	err_set(&text, "admin (%s) is open to other hosts: whoever reaches it sees the metrics", conf->admin);
	each(arg, text.text);
}

void conf_warnings(const struct conf *conf, void (*each)(void *arg, const char *text), void *arg)
{
	struct errbuf text;

	conf_strangers(conf, each, arg);
	warn_of_admin(conf, each, arg);
	if (conf->ttl_ms < conf->lease_ms) {
		err_set(&text, "ttl (%s) is shorter than lease (%s): a settled key is forgotten while copies still run",
			conf->origin[CONF_ID_ttl].text, conf->origin[CONF_ID_lease].text);
		each(arg, text.text);
	}
	if (conf->lease_ms < 2 * conf->store_timeout_ms) {
		err_set(&text, "lease (%s) is below twice store_timeout (%s): one slow answer can cost a claim",
			conf->origin[CONF_ID_lease].text, conf->origin[CONF_ID_store_timeout].text);
		each(arg, text.text);
	}
	if (conf->run_unguarded)
		each(arg, "on_store_down is run-unguarded: while the store is down every claim is granted, and work "
			  "may be done "
			  "twice");
}
