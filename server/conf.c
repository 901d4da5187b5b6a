/*
 * conf.c - see conf.h. Called once by main.c.
 *
 * The sources are read from the weakest to the strongest (file, environment, flags), each value is checked where it stands,
 * and a stronger one takes its place. Then come the files of secrets, the defaults for what nobody set, and what
 * only shows in the settings together.
 *
 * Failure modes: everything that is wrong is told, each with where it stands and what would be right, and then nothing is
 * done. Nothing is guessed: an empty variable, a setting given twice in one source or an unknown name in the file or
 * among the flags is refused, since a daemon that runs on other settings than were meant may run work twice. Only
 * unknown variables are let through, with a warning: others put variables there too.
 */
#include "conf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../proto/mem.h"
#include "env.h"
#include "setting.h"

#define MAX_FILE 65536 /* octets of a configuration file or a secret's file */

/* ---- one value ---- */

static char *copy_text(struct slice text, struct errbuf *err)
{
	char *copy = mem_copy(text.data, text.len);

	if (!copy)
		err_set(err, "out of memory");
	return copy;
}

/* Takes `text` (owned from now on, also on failure) as the value of a setting, in place of a weaker source's. */
static bool take_value(struct conf *conf, enum conf_id id, struct conf_origin origin, struct errbuf *err)
{
	struct conf_origin *now = &conf->origin[id];

	if (now->source == origin.source && (now->text || now->twin)) {
		err_set(err, "given twice");
		goto fail;
	}
	if (origin.text && !setting_parse(id, origin.text, conf, err))
		goto fail;
	mem_free(now->text);
	mem_free(now->twin);
	*now = origin;
	return true;

fail:
	mem_free(origin.text);
	mem_free(origin.twin);
	return false;
}

/* What no line of a file could hold is hardly meant anywhere: a variable that was filled with a line feed at its end, or that
 * kept its quotes, would make another namespace, and work would be run twice. */
static bool is_plain(struct slice value, struct errbuf *err)
{
	bool control = false;

	for (size_t i = 0; i < value.len; i++)
		control |= (unsigned char)value.data[i] < ' ' && value.data[i] != '\t';
	if (value.len == 0)
		err_set(err, "no value: give one, or leave it out");
	else if (value.data[0] == '"' || value.data[0] == '\'')
		err_set(err, "values are written without quotes");
	else if (control || slice_trim(value).len != value.len)
		err_set(err, "a control character in it, or a blank at its start or end");
	else
		return true;
	return false;
}

static bool take_copy(struct conf *conf, enum conf_id id, bool twin, struct slice value, struct conf_origin origin,
		      struct errbuf *err)
{
	char *copy;

	if (!is_plain(value, err))
		return false;
	copy = copy_text(value, err);
	if (!copy)
		return false;
	if (twin)
		origin.twin = copy;
	else
		origin.text = copy;
	return take_value(conf, id, origin, err);
}

/* A value, or the name of the file that holds it, from a source. When it is wrong nothing is known of the setting, until a
 * stronger source gives another. */
static bool take(struct conf *conf, enum conf_id id, bool twin, struct slice value, struct conf_origin origin,
		 struct errbuf *err)
{
	bool good = take_copy(conf, id, twin, value, origin, err);

	conf->origin[id].refused = !good;
	return good;
}

/* ---- files ---- */

/* The whole file in memory that the caller frees; NULL: *err says why. */
static char *read_file(const char *path, size_t *len, struct errbuf *err)
{
	char *data = mem_alloc(MAX_FILE + 1);
	ssize_t n = 0;
	int fd;

	*len = 0;
	if (!data) {
		err_set(err, "%s: out of memory", path);
		return NULL;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		goto fail_data;
	while (*len <= MAX_FILE) {
		n = read(fd, data + *len, MAX_FILE + 1 - *len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		*len += (size_t)n;
	}
	if (n < 0)
		goto fail_fd;
	close(fd);
	if (*len <= MAX_FILE)
		return data;
	err_set(err, "%s: above %d octets", path, MAX_FILE);
	mem_free(data);
	return NULL;

fail_fd:
	close(fd);
fail_data:
	err_set(err, "%s: %s%s", path, strerror(errno),
		errno == EACCES ? "; make it readable for the user that claimd runs as" : "");
	mem_free(data);
	return NULL;
}

static void refuse_name(struct slice name, enum setting_form form, struct errbuf *err)
{
	char wrong[SETTING_MAX_NAME], near[SETTING_MAX_NAME];
	size_t len = name.len < sizeof(wrong) ? name.len : sizeof(wrong) - 1;

	memcpy(wrong, name.data, len);
	wrong[len] = 0;
	if (name.len != len || !setting_suggest(wrong, form, near))
		err_set(err, "no setting \"%s\"%s", wrong, form == SETTING_AS_FLAG ? "; see --help" : "");
	else if (strcmp(wrong, near) == 0)
		err_set(err, "%s takes no value", wrong); /* it is no setting, but stands beside them */
	else
		err_set(err, "no setting \"%s\"; did you mean %s?", wrong, near);
}

static bool read_line(struct conf *conf, struct slice line, size_t number, struct errbuf *err)
{
	const char *equals = memchr(line.data, '=', line.len);
	struct slice name, value;
	enum conf_id id;
	bool twin;

	if (line.len == 0 || line.data[0] == '#')
		return true;
	if (memchr(line.data, 0, line.len)) {
		err_set(err, "a NUL");
		return false;
	}
	if (!equals) {
		err_set(err, "not \"name = value\"%s", line.data[0] == '[' ? "; there are no sections" : "");
		return false;
	}
	name = slice_trim((struct slice){line.data, (size_t)(equals - line.data)});
	value = slice_trim((struct slice){equals + 1, line.len - (size_t)(equals + 1 - line.data)});
	id = setting_find(name, &twin);
	if (id == CONF__COUNT) {
		refuse_name(name, SETTING_AS_NAME, err);
		return false;
	}
	if (take(conf, id, twin, value, (struct conf_origin){.source = CONF_FROM_FILE, .line = number}, err))
		return true;
	err_prefix(err, "%.*s", (int)name.len, name.data);
	return false;
}

static void read_conf_file(struct conf *conf, struct faults *faults)
{
	size_t number = 0;
	struct errbuf err;
	struct slice rest;
	char *data = read_file(conf->file, &rest.len, &err);

	if (!data) {
		faults_add(faults, FIT_NEVER, &err);
		return;
	}
	rest.data = data;
	while (rest.len > 0) {
		number++;
		if (read_line(conf, slice_trim(slice_cut(&rest, '\n')), number, &err))
			continue;
		err_prefix(&err, "%s:%zu", conf->file, number);
		faults_add(faults, FIT_NEVER, &err);
	}
	mem_free(data);
}

/* Puts the first line of a secret's file where the secret belongs. */
static bool read_twin(struct conf *conf, enum conf_id id, struct errbuf *err)
{
	struct conf_origin *origin = &conf->origin[id];
	struct slice rest, line;
	char *data = read_file(origin->twin, &rest.len, err);

	if (!data)
		return false;
	rest.data = data;
	line = slice_trim(slice_cut(&rest, '\n'));
	if (!is_plain(line, err))
		goto fail;
	if (slice_trim(rest).len > 0) {
		err_set(err, "more than one line");
		goto fail;
	}
	origin->text = copy_text(line, err);
	if (!origin->text || !setting_parse(id, origin->text, conf, err))
		goto fail;
	mem_free(data);
	return true;

fail:
	mem_free(data);
	err_prefix(err, "%s", origin->twin);
	return false;
}

/* ---- the environment and the flags ---- */

static void read_variable(struct conf *conf, enum conf_id id, bool twin, struct faults *faults)
{
	char name[SETTING_MAX_NAME];
	const char *value;
	struct errbuf err;

	setting_name(setting_at(id)->name, twin, SETTING_AS_ENV, name);
	value = env_get(conf->envp, name);
	if (!value || take(conf, id, twin, slice_from(value), (struct conf_origin){.source = CONF_FROM_ENV}, &err))
		return;
	err_prefix(&err, "%s", name);
	faults_add(faults, FIT_NEVER, &err);
}

static void read_environment(struct conf *conf, struct faults *faults)
{
	for (enum conf_id id = 0; id < CONF__COUNT; id++) {
		read_variable(conf, id, false, faults);
		if (setting_has_twin(id))
			read_variable(conf, id, true, faults);
	}
}

/* What the command line says, taken apart: the settings are looked at after the file that it may name. */
struct flags {
	enum conf_action action;
	const char *file;
};

/* A flag that is no setting and takes no value. */
static bool find_action(const char *arg, enum conf_action *action)
{
	static const struct {
		const char *flag;
		enum conf_action action;
	} list[] = {{"--help", CONF_HELP},          {"-h", CONF_HELP},
		    {"--version", CONF_VERSION},    {"-V", CONF_VERSION},
		    {"--check-config", CONF_CHECK}, {"--print-config", CONF_PRINT}};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (strcmp(arg, list[i].flag) == 0) {
			*action = list[i].action;
			return true;
		}
	return false;
}

/* Splits "--name=value", or takes the value from the next argument. */
static bool cut_flag(char **argv, int *at, struct slice *flag, struct slice *value, struct errbuf *err)
{
	char *arg = argv[*at];
	char *equals = strchr(arg, '=');

	if (strncmp(arg, "--", 2) != 0 || arg[2] == 0) {
		err_set(err, "\"%.80s\" is not understood; see --help", arg);
		return false;
	}
	if (equals) {
		*flag = (struct slice){arg, (size_t)(equals - arg)};
		*value = slice_from(equals + 1);
		return true;
	}
	*flag = slice_from(arg);
	*value = SLICE_ABSENT;
	if (argv[*at + 1] && strncmp(argv[*at + 1], "--", 2) != 0)
		*value = slice_from(argv[++*at]);
	return true;
}

/* The setting of "--some-name"; CONF__COUNT: there is none. */
static enum conf_id find_flag(struct slice flag, bool *twin)
{
	char name[SETTING_MAX_NAME];
	struct slice rest = {flag.data + 2, flag.len - 2};

	if (rest.len >= sizeof(name) || memchr(rest.data, '_', rest.len))
		return CONF__COUNT;
	for (size_t i = 0; i < rest.len; i++)
		name[i] = (char)(rest.data[i] == '-' ? '_' : rest.data[i]);
	return setting_find((struct slice){name, rest.len}, twin);
}

static bool take_flag(struct conf *conf, struct slice flag, struct slice value, struct errbuf *err)
{
	bool twin;
	enum conf_id id = find_flag(flag, &twin);

	if (id == CONF__COUNT) {
		refuse_name(flag, SETTING_AS_FLAG, err);
		return false;
	}
	if (take(conf, id, twin, value, (struct conf_origin){.source = CONF_FROM_FLAG}, err))
		return true;
	err_prefix(err, "%.*s", (int)flag.len, flag.data);
	return false;
}

static bool take_file(struct flags *flags, struct slice value, struct errbuf *err)
{
	if (flags->file || value.len == 0) {
		err_set(err, "--config: %s", value.len ? "given twice" : "no file given");
		return false;
	}
	flags->file = value.data;
	return true;
}

/* Walks over the arguments. With conf NULL only --config and the actions are looked at, else only the settings: the
 * flags are the strongest source and come last, but one of them says where the file is. */
static void read_flags(struct conf *conf, struct flags *flags, char **argv, struct faults *faults)
{
	struct errbuf err;

	for (int at = argv[0] != NULL; argv[at]; at++) {
		struct slice flag, value;
		bool good;

		if (find_action(argv[at], &flags->action)) {
			if (flags->action == CONF_HELP || flags->action == CONF_VERSION)
				return;
			continue;
		}
		good = cut_flag(argv, &at, &flag, &value, &err);
		if (!conf) {
			if (good && slice_equal(flag, SLICE_OF("--config")) && !take_file(flags, value, &err))
				faults_add(faults, FIT_NEVER, &err);
		} else if (!good || (!slice_equal(flag, SLICE_OF("--config")) && !take_flag(conf, flag, value, &err))) {
			faults_add(faults, FIT_NEVER, &err);
		}
	}
}

/* ---- defaults, and what must fit together ---- */

static bool take_default(struct conf *conf, enum conf_id id, struct errbuf *err)
{
	const char *fallback = setting_at(id)->fallback;
	struct conf_origin origin = {.source = CONF_FROM_DEFAULT};

	if (id == CONF_ID_socket)
		origin.text = conf_default_socket(conf->envp, geteuid() == 0, err);
	else if (id == CONF_ID_store)
		origin.text = conf_default_store(conf->envp, geteuid() == 0, err);
	else if (!fallback)
		return true;
	else
		origin.text = copy_text(slice_from(fallback), err);
	return origin.text && take_value(conf, id, origin, err);
}

static void fill_in(struct conf *conf, struct faults *faults)
{
	struct errbuf err;

	for (enum conf_id id = 0; id < CONF__COUNT; id++) {
		struct conf_origin *origin = &conf->origin[id];

		if (origin->refused)
			continue;
		if (origin->twin && !read_twin(conf, id, &err)) {
			origin->refused = true;
			conf_blame(conf, id, &err);
			faults_add(faults, FIT_NEVER, &err);
		} else if (!origin->text && !take_default(conf, id, &err)) {
			origin->refused = true;
			faults_add(faults, FIT_NEVER, &err);
		}
	}
}

/* The store must give up on an op before the engine answers its request: else the engine would have to say that it does not
 * know what the store may say a moment later. */
static void check_together(const struct conf *conf, struct faults *faults)
{
	const struct conf_origin *store = &conf->origin[CONF_ID_store_timeout];
	const struct conf_origin *request = &conf->origin[CONF_ID_request_timeout];
	size_t line = store->line > 0 ? store->line : request->line;
	struct errbuf err;

	if (store->refused || request->refused || conf->store_timeout_ms < conf->request_timeout_ms)
		return;
	err_set(&err, "store_timeout (%s) must be shorter than request_timeout (%s)", store->text, request->text);
	if (line > 0)
		err_prefix(&err, "%s:%zu", conf->file, line);
	faults_add(faults, FIT_NEVER, &err);
}

static bool find_file(struct conf *conf, const char *flag, struct errbuf *err)
{
	const char *path = flag ? flag : env_get(conf->envp, "CLAIMD_CONFIG");

	if (!path)
		return true;
	if (path[0] == 0) {
		err_set(err, "CLAIMD_CONFIG: no value: give one, or leave it out");
		return false;
	}
	conf->file = copy_text(slice_from(path), err);
	return conf->file != NULL;
}

enum conf_action conf_load(struct conf *conf, char **argv, char **envp, struct faults *faults)
{
	struct flags flags = {.action = CONF_RUN};
	struct errbuf err;

	*conf = (struct conf){.envp = envp, .ready_fd = -1};
	faults->count = 0;
	faults->lasting = false;
	read_flags(NULL, &flags, argv, faults);
	if (flags.action == CONF_HELP || flags.action == CONF_VERSION)
		return flags.action;
	if (!find_file(conf, flags.file, &err))
		faults_add(faults, FIT_NEVER, &err);
	else if (conf->file)
		read_conf_file(conf, faults);
	read_environment(conf, faults);
	read_flags(conf, &flags, argv, faults);
	fill_in(conf, faults);
	check_together(conf, faults);
	return flags.action;
}

void conf_release(struct conf *conf)
{
	for (enum conf_id id = 0; id < CONF__COUNT; id++) {
		mem_free(conf->origin[id].text);
		mem_free(conf->origin[id].twin);
	}
	mem_free(conf->file);
	*conf = (struct conf){.ready_fd = -1};
}
