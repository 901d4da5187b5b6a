/*
 * words.c - the tables made from words.def, and finding a name in them.
 *
 * Called by the parser, the formatter, dispatch, HELP and the command. The tables are constant; a name that is not
 * there is answered with the enum's __COUNT (or WORD_NONE), never with a guess.
 */
#include "proto.h"

/* As SLICE_OF, where the language wants a constant. */
/* clang-format off */
#define NAME(literal) {"" literal, sizeof(literal) - 1}
/* clang-format on */

static const struct verb_info verbs[VERB__COUNT] = {
#define VERB(id, options, operand, body, help) {NAME(#id), options, OPERAND_##operand, VERB_##body, help},
#define VERB_BODY true
#define VERB_NO_BODY false
#include "words.def"
#undef VERB_BODY
#undef VERB_NO_BODY
};

static const struct option_info options[OPT__COUNT] = {
#define OPTION(id, name, kind, limit, help) {NAME(name), KIND_##kind, limit, help},
#include "words.def"
};

static const struct {
	struct slice name;
	enum option option;
} choices[CHOICE__COUNT] = {
#define CHOICE(option, id, name) {NAME(name), OPT_##option},
#include "words.def"
};

static const struct slice words[WORD__COUNT] = {
    NAME(""),
#define WORD(id) NAME(#id),
#include "words.def"
};

static const struct {
	struct slice name, retry;
	const char *meaning;
} errors[ERR__COUNT] = {
    {NAME("none"), NAME("no"), "nothing went wrong"},
#define ERROR(id, name, retry, meaning) {NAME(name), NAME(retry), meaning},
#include "words.def"
};

/* The bits of verb_info.options and request.given. */
_Static_assert(OPT__COUNT <= 32, "an option for each bit of a uint32_t");

const struct verb_info *verb_info(enum verb verb)
{
	return &verbs[verb];
}

const struct option_info *option_info(enum option option)
{
	return &options[option];
}

struct slice word_name(enum word word)
{
	return words[word];
}

struct slice choice_name(enum choice choice)
{
	return choices[choice].name;
}

enum option choice_option(enum choice choice)
{
	return choices[choice].option;
}

struct slice err_name(enum err err)
{
	return errors[err].name;
}

struct slice err_retry(enum err err)
{
	return errors[err].retry;
}

const char *err_meaning(enum err err)
{
	return errors[err].meaning;
}

enum verb verb_find(struct slice name)
{
	enum verb verb = 0;

	while (verb < VERB__COUNT && !slice_equal_nocase(verbs[verb].name, name))
		verb++;
	return verb;
}

enum word word_find(struct slice name)
{
	for (enum word word = WORD_NONE + 1; word < WORD__COUNT; word++)
		if (slice_equal_nocase(words[word], name))
			return word;
	return WORD_NONE;
}

enum err err_find(struct slice name)
{
	enum err err = ERR_NONE + 1;

	while (err < ERR__COUNT && !slice_equal_nocase(errors[err].name, name))
		err++;
	return err;
}
