/*
 * Names of processes from their command lines.
 */
#include "commands.h"

#include "base/array.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* A part of the command line, which ends at a blank. */
struct word {
	const char *at;
	size_t len;
};

/* False: there is none. */
static bool next_word(const char **at, struct word *out)
{
	*at += strspn(*at, " ");
	out->at = *at;
	out->len = strcspn(*at, " ");
	*at += out->len;
	return out->len;
}

static struct word without_folder(struct word w)
{
	for (size_t i = w.len; i-- > 0;)
		if (w.at[i] == '/' && i + 1 < w.len)
			return (struct word){w.at + i + 1, w.len - i - 1};
	return w;
}

static bool is_word(struct word w, const char *text)
{
	return w.len == strlen(text) && memcmp(w.at, text, w.len) == 0;
}

/* A script of a shell has other characters. */
static bool is_path(struct word w)
{
	for (size_t i = 0; i < w.len; i++)
		if (!isalnum((unsigned char)w.at[i]) && !strchr("/._+-@~", w.at[i]))
			return false;
	return true;
}

/* With a suffix of letters that is not that of what compilers and linkers write. */
static bool is_source(struct word w)
{
	static const char *const written[] = {"o", "a", "so", "d", "lo"};
	const struct word name = without_folder(w);
	size_t dot = name.len;
	struct word suffix;

	while (dot && name.at[dot - 1] != '.')
		dot--;
	suffix = (struct word){name.at + dot, name.len - dot};
	if (dot < 2 || !suffix.len || suffix.len > 4 || *w.at == '-' || !is_path(w) ||
	    (w.len > 5 && memcmp(w.at, "/tmp/", 5) == 0))
		return false;
	for (size_t i = 0; i < suffix.len; i++)
		if (!isalpha((unsigned char)suffix.at[i]) && suffix.at[i] != '+')
			return false;
	return !ARRAY_ANY(x, written, ARRAY_NR(written), is_word(suffix, *x));
}

static struct word find_source(const char *at)
{
	struct word w, before = {"", 0};

	for (; next_word(&at, &w); before = w)
		if (is_source(w) && !is_word(before, "-o"))
			return without_folder(w);
	return (struct word){"", 0};
}

void commands_label(const char *cmdline, bool with_file, char out[COMMANDS_LABEL_BYTES])
{
	struct word program, source = {"", 0};

	if (!next_word(&cmdline, &program))
		program = (struct word){"[unknown]", strlen("[unknown]")};
	program = without_folder(program);
	if (with_file)
		source = find_source(cmdline);
	snprintf(out, COMMANDS_LABEL_BYTES, "%.*s%s%.*s", (int)program.len, program.at,
		 source.len ? " " : "", (int)source.len, source.at);
}
