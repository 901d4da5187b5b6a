/*
 * cli_stats.c - the metrics: as they come, as a table, or as JSON. Called by cli.c.
 *
 * The daemon gives the text format of Prometheus: a name, labels in braces, a value, a line. Lines that are none of
 * that are left out.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_ask.h"
#include "cli_json.h"
#include "cli_show.h"

struct sample {
	struct slice name, labels, value; /* labels: what stands in the braces */
};

/* Takes one line off *text. False: there is none. */
static bool next_line(struct slice *text, struct slice *line)
{
	const char *end = text->len > 0 ? memchr(text->data, '\n', text->len) : NULL;
	if (!end)
		return false;
	*line = (struct slice){text->data, (size_t)(end - text->data)};
	text->data = end + 1;
	text->len -= line->len + 1;
	return true;
}

static bool sample_read(struct slice line, struct sample *sample)
{
	size_t name = 0, value = line.len;
	while (name < line.len && line.data[name] != '{' && line.data[name] != ' ')
		name++;
	while (value > 0 && line.data[value - 1] != ' ')
		value--;
	if (name == 0 || value <= name || value == line.len || *line.data == '#')
		return false;
	*sample = (struct sample){.name = {line.data, name}, .value = {line.data + value, line.len - value}};
	if (line.data[name] == '{' && value - name >= 3)
		sample->labels = (struct slice){line.data + name + 1, value - name - 3};
	return true;
}

/* For people: the buckets of a histogram are left out, its count and sum are not. */
static bool is_bucket(struct slice name)
{
	static const char end[] = "_bucket";
	size_t n = sizeof(end) - 1;
	return name.len > n && memcmp(name.data + name.len - n, end, n) == 0;
}

static void show_samples(FILE *out, struct slice text)
{
	struct slice line, rest = text;
	struct sample sample;
	size_t width = 0;
	while (next_line(&rest, &line))
		if (sample_read(line, &sample) && !is_bucket(sample.name) && line.len - sample.value.len > width)
			width = line.len - sample.value.len;
	while (next_line(&text, &line)) {
		if (!sample_read(line, &sample) || is_bucket(sample.name))
			continue;
		show_fitted(out, (struct slice){line.data, line.len - sample.value.len}, width + 1);
		show_text(out, sample.value);
		putc('\n', out);
	}
}

/* a="b",c="d" to {"a":"b","c":"d"}. */
static void put_labels(cJSON *object, struct slice labels)
{
	size_t at = 0;
	while (at < labels.len) {
		char name[64], value[256];
		struct writer n, v;
		writer_init(&n, name, sizeof(name) - 1);
		writer_init(&v, value, sizeof(value));
		while (at < labels.len && labels.data[at] != '=')
			writer_char(&n, labels.data[at++]);
		for (at += 2; at < labels.len && labels.data[at] != '"'; at++) {
			at += labels.data[at] == '\\' && at + 1 < labels.len;
			writer_char(&v, labels.data[at]);
		}
		at += 2;
		name[n.len] = '\0';
		json_put_text(object, name, writer_done(&v));
	}
}

static void put_value(cJSON *object, struct slice value)
{
	char text[64], *end;
	snprintf(text, sizeof(text), "%.*s", (int)value.len, value.data);
	/* JSON has no infinity. */
	if (isfinite(strtod(text, &end)) && !*end)
		cJSON_AddRawToObject(object, "value", text);
	else
		json_put_text(object, "value", value);
}

static void show_samples_json(struct slice text)
{
	cJSON *object = json_new("OK"), *metrics = cJSON_AddArrayToObject(object, "metrics");
	struct slice line;
	struct sample sample;
	while (next_line(&text, &line)) {
		if (!sample_read(line, &sample))
			continue;
		cJSON *metric = cJSON_CreateObject();
		json_put_text(metric, "name", sample.name);
		put_labels(cJSON_AddObjectToObject(metric, "labels"), sample.labels);
		put_value(metric, sample.value);
		cJSON_AddItemToArray(metrics, metric);
	}
	json_print(stdout, object);
}

int cli_stats(struct cli *cli, const struct args *args)
{
	int code = claim_call(cli->conn, "STATS", 5, NULL, 0);
	if (code != CLAIM_OK)
		return cli_answered(cli, args, code);
	struct slice text;
	text.data = claim_body(cli->conn, &text.len);
	if (arg_given(args, ARG_PROMETHEUS))
		fwrite(text.data, 1, text.len, stdout);
	else if (cli->json)
		show_samples_json(text);
	else
		show_samples(stdout, text);
	return CLI_OK;
}
