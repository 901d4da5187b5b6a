/*
 * settings.h - arguments, an environment and two files for check_conf.c and check_setting.c, in a folder of the test's own.
 */
#ifndef CLAIMD_TESTS_SETTINGS_H
#define CLAIMD_TESTS_SETTINGS_H

#include "../server/conf.h"

#define SETTINGS_MAX 32

/* For the test to fill and look at. The lists end with NULL; args[0] is there. */
extern char *args[SETTINGS_MAX], *envp[SETTINGS_MAX];
extern char conf_path[96], other_path[96];
extern struct conf conf;
extern struct errbuf err;
extern struct faults faults;

void settings_setup(void);
void settings_teardown(void);
void settings_add(char **list, const char *text);
void settings_write_bytes(const char *path, const char *data, size_t len);
void settings_write(const char *path, const char *text);
/* conf_load on what there is. */
enum conf_action settings_load(void);

void expect_run(void);
/* Refused, and one of the messages has `part` in it. */
void expect_bad(const char *part);
/* The same for a configuration file; `part` is what follows the file's name. */
void expect_bad_file(const char *text, size_t len, const char *part);

#endif
