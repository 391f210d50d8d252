/*
 * Words, of which some name what the next one is.
 */
#include "live/filter.h"

#include "base/array.h"
#include "base/err.h"
#include "base/str.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	size_t offset;
} ranges[] = {{"pid", offsetof(struct live_filter, pids)},
	      {"tid", offsetof(struct live_filter, tids)},
	      {"cpu", offsetof(struct live_filter, cpus)}};

/* The next word, in word, ends at a blank, or at "=" and ":" after a name. False: there is none. */
static bool next_word(const char **at, char word[FILTER_MAX_BYTES], const char *ends)
{
	size_t len;

	*at += strspn(*at, ends);
	len = strcspn(*at, ends);
	if (!len || len >= FILTER_MAX_BYTES)
		return false;
	memcpy(word, *at, len);
	word[len] = '\0';
	*at += len;
	return true;
}

/* 1: the text at *at begins with a range; 0: it does not. */
static int parse_range(struct live_filter *f, const char **at, struct err *e)
{
	char word[FILTER_MAX_BYTES];

	for (size_t i = 0; i < ARRAY_NR(ranges); i++) {
		const char *value = *at + strlen(ranges[i].name);

		if (strncmp(*at, ranges[i].name, strlen(ranges[i].name)) != 0 ||
		    !strchr(" =:", *value) || !*value)
			continue;
		*at = value;
		if (!next_word(at, word, " =:"))
			return err_set_at(e, -EINVAL, ranges[i].name, 0, 0, "which number?");
		return profile_ranges_parse((struct profile_ranges *)((char *)f + ranges[i].offset),
					    ranges[i].name, word, e)
			   ?: 1;
	}
	return 0;
}

int live_filter_parse(struct live_filter *f, const char *text, struct err *e)
{
	int rc = 0;

	memset(f, 0, sizeof(*f));
	while (rc >= 0 && *(text += strspn(text, " "))) {
		size_t len = strlen(f->name);
		char word[FILTER_MAX_BYTES];

		rc = parse_range(f, &text, e);
		if (rc == 0 && next_word(&text, word, " ")) /* a name may have blanks */
			snprintf(f->name + len, sizeof(f->name) - len, "%s%s", len ? " " : "",
				 word);
	}
	return rc < 0 ? rc : 0;
}

bool live_filter_has(const struct live_filter *f, uint32_t pid, uint32_t tid, uint32_t cpu,
		     const char *name)
{
	return profile_ranges_has(&f->pids, pid) && profile_ranges_has(&f->tids, tid) &&
	       profile_ranges_has(&f->cpus, cpu) && (!*f->name || strcasestr(name, f->name));
}
