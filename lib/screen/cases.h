/*
 * What was compared as test cases, for CI: those that fail, and what is to be read of the others.
 * The formats are rows of a table.
 */
#ifndef SCREEN_CASES_H
#define SCREEN_CASES_H

#include "base/buf.h"

#include <stddef.h>

struct cases_format;

/* JUnit's XML; workflow commands of GitHub, which shows them beside a pull request. */
extern const struct cases_format cases_junit, cases_github;

/* Errors of memory are sticky in text. */
struct cases {
	const struct cases_format *format;
	struct buf text;
	size_t nr, nr_failed;
};

/* One of them. All text is made safe. */
struct cases_item {
	const char *class, *name;
	const char *failure; /* why it failed, in words; NULL: it did not */
	const char *says;    /* what was found; NULL: nothing to be read */
};

void cases_init(struct cases *c, const struct cases_format *format);
void cases_fini(struct cases *c);
void cases_add(struct cases *c, const struct cases_item *item);
/* All of them, as the suite of that name. */
void cases_write(const struct cases *c, const char *suite, struct buf *out);

#endif
