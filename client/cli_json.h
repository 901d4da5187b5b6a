/* cli_json.h - documents for programs: "format":1 in each, the protocol's names, one a line. Their shapes are in claim(1). */
#ifndef CLAIM_CLI_JSON_H
#define CLAIM_CLI_JSON_H

#include <stdio.h>

#include <cjson/cJSON.h>

#include "cli.h"

/* First of all. */
void json_init(void);
/* {"format":1,"word":word}; word NULL: without it. */
cJSON *json_new(const char *word);
/* A field under its name: a number with all its digits, else a text; under name_base64 where it is no UTF-8. */
void json_put(cJSON *object, const char *name, struct slice value);
/* The same, and always a text. */
void json_put_text(cJSON *object, const char *name, struct slice value);
/* With all its digits. */
void json_put_number(cJSON *object, const char *name, int64_t n);
/* All fields of a reply, its body as "result". */
void json_put_reply(cJSON *object, const struct reply *reply);
/* Prints it as one line, and frees it. */
void json_print(FILE *out, cJSON *object);

/* Any answer. key: NULL when the verb has none. */
void show_json(FILE *out, const struct reply *reply, const char *key);
/* There was no answer. */
void show_json_error(int code, const char *key, const char *detail);

#endif
