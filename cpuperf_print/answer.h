/*
 * --output-format=json without a report: the answer of one session, as a document that a program
 * or an assistant reads whole (schemas/report.schema.json). What limits the command, what was
 * counted, the first rows of the reports that text has, what was not measured and why, and what to
 * print next. Rows that find no room are counted.
 *
 * Reports of text write their rows, the summary its facts (summary/answer.c), and lists get a row
 * each in turn until 4 KB are full. The sentence and what is next are those of text.
 */
#ifndef CPUPERF_PRINT_ANSWER_H
#define CPUPERF_PRINT_ANSWER_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct conclusion;
struct options;

/* All of it, unless names of files are longer than usual. */
enum { ANSWER_MAX_BYTES = 4096, ANSWER_MAX_LISTS = 8, ANSWER_ROWS = 10 };

struct answer_list {
	const char *name; /* borrowed */
	bool is_table;    /* of a report */
	struct buf lines; /* JSON, one a row */
	struct buf columns;
	size_t nr_shown, shown_bytes; /* of the lines */
};

struct answer {
	struct buf facts; /* fields, with a comma before each */
	struct answer_list list[ANSWER_MAX_LISTS];
	size_t nr;
};

/* NULL without memory. */
struct answer *answer_new(void);
void answer_free(struct answer *a); /* NULL is fine */
/* Begins a list, whose lines and columns the caller appends. There is room for those of an answer.
 */
struct answer_list *answer_add(struct answer *a, const char *name, bool is_table);
/* Appends the document; what found no memory is an error of out. has_next: there are reports of
 * samples. */
void answer_put(struct answer *a, const struct conclusion *c, const struct options *o,
		bool has_next, struct buf *out);

#endif
