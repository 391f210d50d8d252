/*
 * What --versus and --sweep print: a table, with words before and behind it, in an output format.
 * The formats are rows of a table.
 */
#ifndef CPUPERF_COMPARISON_H
#define CPUPERF_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct cases;
struct err;
struct grid_column;
struct grid_options;
struct json_writer;

struct comparison {
	const char *name; /* of the document, and of its rows */
	const void *of;   /* the argument of all */
	const struct grid_column *columns;
	size_t nr_columns;
	/* Fills rows of these columns and writes them. 0 or -errno. */
	int (*put_table)(const void *of, const struct grid_options *how, struct buf *out);
	/* Sentences for people: what was found; how it is to be read. */
	void (*put_head)(const void *of, struct buf *out);
	void (*put_notes)(const void *of, struct buf *out);
	/* A picture of characters in so many columns. NULL: there is none. */
	void (*put_plot)(const void *of, unsigned width, struct buf *out);
	/* Fields of the document before and behind the rows; the head is its conclusion. */
	void (*put_facts)(const void *of, struct json_writer *json);
	void (*put_rest)(const void *of, struct json_writer *json);
	void (*add_cases)(const void *of, struct cases *cases);
};

/* Whether there is such a format; csv and the like, which list_events has too, included. */
bool comparison_has_format(const char *format);
/* Whether only comparisons have it. */
bool comparison_is_only_format(const char *format);
/* What a format has of recordings of both sides: none; the report of their differences behind it;
 * the rows of that in it; a page of both in place of it. */
enum comparison_recording {
	COMPARISON_NO_RECORDING,
	COMPARISON_REPORT,
	COMPARISON_ROWS,
	COMPARISON_PAGE,
};
enum comparison_recording comparison_recording(const char *format);
/* Whether the format says nothing without a limit (--fail-over). */
bool comparison_needs_limit(const char *format);
/* Whether its output is of test cases. */
bool comparison_is_of_cases(const char *format);
/* The names of those that only comparisons have, for the options. */
#define COMPARISON_FORMATS "markdown html junit github"
/* width: of the terminal, 0: none. 0 or -errno. */
int comparison_write(const struct comparison *c, const char *format, unsigned width,
		     struct buf *out);

#endif
