/* help.c - see help.h. */
#include "help.h"

static const char *kind_text(enum option_kind kind)
{
	switch (kind) {
	case KIND_DURATION:
		return "TIME";
	case KIND_TTL:
		return "TIME|never";
	case KIND_INTEGER:
		return "N";
	case KIND_FLAG:
		return "1";
	case KIND_CHOICE:
		return "WORD";
	case KIND_BYTES:
		break;
	}
	return "TEXT";
}

static void write_verb(struct writer *w, const struct verb_info *info)
{
	static const char *const operand[] = {[OPERAND_NONE] = "",
					      [OPERAND_KEY] = " KEY",
					      [OPERAND_MAYBE_KEY] = " [KEY]",
					      [OPERAND_MAYBE_WORD] = " [VERB]"};

	writer_slice(w, info->name);
	writer_text(w, operand[info->operand]);
	writer_text(w, "\n    ");
	writer_text(w, info->help);
	writer_char(w, '\n');
}

static void write_options(struct writer *w, uint32_t options)
{
	for (int i = 0; i < OPT__COUNT; i++) {
		const struct option_info *info = option_info((enum option)i);

		if ((options & (UINT32_C(1) << i)) == 0 && i != OPT_TAG)
			continue;
		writer_text(w, "    ");
		writer_slice(w, info->name);
		writer_char(w, '=');
		writer_text(w, kind_text(info->kind));
		writer_text(w, "  ");
		writer_text(w, info->help);
		writer_char(w, '\n');
	}
}

void help_write(struct writer *w, enum verb verb)
{
	if (verb != VERB__COUNT) {
		write_verb(w, verb_info(verb));
		write_options(w, verb_info(verb)->options);
		return;
	}
	for (int i = 0; i < VERB__COUNT; i++)
		write_verb(w, verb_info((enum verb)i));
}
