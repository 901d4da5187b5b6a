/* settings.c - see settings.h. */
#include "settings.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];
char conf_path[96], other_path[96];
struct conf conf;
struct errbuf err;
struct faults faults;
static char name_of_program[] = "claimd";
char *args[SETTINGS_MAX], *envp[SETTINGS_MAX];

void settings_setup(void)
{
	strcpy(folder, "/tmp/check_settings.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(conf_path, sizeof(conf_path), "%s/conf", folder);
	snprintf(other_path, sizeof(other_path), "%s/other", folder);
	memset(args, 0, sizeof(args));
	memset(envp, 0, sizeof(envp));
	args[0] = name_of_program;
	memset(&conf, 0, sizeof(conf));
}

void settings_teardown(void)
{
	conf_release(&conf);
	unlink(conf_path);
	unlink(other_path);
	rmdir(folder);
}

void settings_add(char **list, const char *text)
{
	size_t n = 0;

	while (list[n])
		n++;
	ck_assert_uint_lt(n, SETTINGS_MAX - 1);
	list[n] = (char *)(uintptr_t)text;
}

void settings_write_bytes(const char *path, const char *data, size_t len)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(data, 1, len, file), len);
	ck_assert_int_eq(fclose(file), 0);
}

void settings_write(const char *path, const char *text)
{
	settings_write_bytes(path, text, strlen(text));
}

enum conf_action settings_load(void)
{
	conf_release(&conf);
	return conf_load(&conf, args, envp, &faults);
}

void expect_run(void)
{
	enum conf_action action = settings_load();

	ck_assert_msg(faults.count == 0, "refused: %s", faults.at[0].text);
	ck_assert_int_eq(action, CONF_RUN);
}

void expect_bad(const char *part)
{
	settings_load();
	ck_assert_msg(faults.count > 0, "not refused, but it should say: %s", part);
	ck_assert(faults.lasting);
	for (size_t i = 0; i < faults.count; i++)
		if (strstr(faults.at[i].text, part))
			return;
	ck_abort_msg("\"%s\" has no \"%s\" in it", faults.at[0].text, part);
}

void expect_bad_file(const char *text, size_t len, const char *part)
{
	char want[240];

	settings_write_bytes(conf_path, text, len);
	snprintf(want, sizeof(want), "%s%s", conf_path, part);
	memset(args + 1, 0, sizeof(args) - sizeof(args[0]));
	settings_add(args, "--config");
	settings_add(args, conf_path);
	settings_load();
	ck_assert_msg(faults.count == 1, "%zu faults, but it should say: %s", faults.count, part);
	ck_assert_str_eq(faults.at[0].text, want);
}
