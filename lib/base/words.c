/*
 * Words of a command line: a state per kind of quote.
 */
#include "base/words.h"

#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct splitter {
	const char *text, *at;
	char quote; /* '\'', '"', or 0: outside of quotes */
	bool is_in_word;
	char *end; /* of the words so far */
	char **words;
	size_t nr;
};

static bool is_quote(const struct splitter *s)
{
	return s->quote ? *s->at == s->quote : *s->at == '"' || *s->at == '\'';
}

static bool is_for_a_shell(const struct splitter *s)
{
	return s->quote != '\'' && strchr(s->quote ? "`$" : "|&;<>()`$", *s->at);
}

static void put(struct splitter *s, char c)
{
	if (!s->is_in_word)
		s->words[s->nr++] = s->end;
	s->is_in_word = true;
	*s->end++ = c;
}

static void end_word(struct splitter *s)
{
	if (s->is_in_word)
		*s->end++ = '\0';
	s->is_in_word = false;
}

/* The quote opens or closes; an empty word is one, too. */
static void turn_quote(struct splitter *s)
{
	if (!s->is_in_word) {
		put(s, 0);
		s->end--;
	}
	s->quote = s->quote ? 0 : *s->at;
}

/* Returns how many characters a backslash makes one, and puts it; 1: it stands for itself. */
static size_t take_backslash(struct splitter *s)
{
	const char next = s->at[1];

	if (!next || (s->quote == '"' && !strchr("\\\"`$\n", next))) {
		put(s, '\\');
		return 1;
	}
	if (next != '\n')
		put(s, next);
	return 2;
}

static int refuse(const struct splitter *s, struct err *e)
{
	err_set_at(e, -EINVAL, s->text, 0, (unsigned)(s->at - s->text) + 1,
		   "'%c' is for a shell, and the command is executed without one", *s->at);
	err_hint(e, "quote it, or name a shell: sh -c '...'");
	return e->code;
}

static int split(struct splitter *s, struct err *e)
{
	size_t used;

	for (s->at = s->text; *s->at; s->at += used) {
		used = 1;
		if (is_quote(s))
			turn_quote(s);
		else if (s->quote != '\'' && *s->at == '\\')
			used = take_backslash(s);
		else if (!s->quote && strchr(" \t\n", *s->at))
			end_word(s);
		else if (is_for_a_shell(s))
			return refuse(s, e);
		else
			put(s, *s->at);
	}
	end_word(s);
	if (s->quote)
		return err_set_at(e, -EINVAL, s->text, 0, 0, "the quote %c does not end", s->quote);
	return s->nr ? 0 : err_set(e, -EINVAL, "the command has no word");
}

int words_split(const char *text, char ***out, struct err *e)
{
	const size_t len = strlen(text), max_words = len / 2 + 2;
	struct splitter s = {.text = text};
	int rc;

	/* a word has a character and what divides it from the next one; each ends with a zero byte,
	 * in the place of the latter */
	s.words = mem_zalloc(max_words * sizeof(*s.words) + len + 2);
	if (!s.words)
		return err_set(e, -ENOMEM, "out of memory");
	s.end = (char *)(s.words + max_words);
	rc = split(&s, e);
	if (rc) {
		mem_free(s.words);
		return rc;
	}
	*out = s.words;
	return 0;
}
