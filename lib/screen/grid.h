/*
 * A table of any report: typed columns, rows of cells, one after the other; as text for people, as
 * CSV or as JSON lines, from the same calls, so that these cannot differ. Knows nothing of what
 * the columns mean.
 *
 *	grid_row(g), grid_share(g, &self), grid_count(g, nr), grid_text(g, name);
 *
 * Cells are appended from left to right; a row that ends early is empty from there. What goes wrong
 * (no memory, too large, a cell of another kind than its column) sticks: append freely, then ask
 * grid_error once. Text is copied. Of one thread.
 */
#ifndef SCREEN_GRID_H
#define SCREEN_GRID_H

#include "metric/share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct grid;

enum grid_form { GRID_PEOPLE, GRID_CSV, GRID_NDJSON };

enum {
	GRID_MAX_COLUMNS = 64,
	GRID_MAX_BYTES =
	    1 << 30, /* of text that waits for grid_write; so many bytes of cells too */
};

/* People see | machines read. Percent, shares and changes are given as parts of 1 and written as
 * percent. */
enum grid_kind {
	GRID_TEXT,    /* as it is, "?" for what a terminal may obey | the text */
	GRID_COUNT,   /* 1,234,567 | 1234567 */
	GRID_AMOUNT,  /* with prefix and the column's unit: 1.235 M, 20.50 ms | 1234567 */
	GRID_REAL,    /* four digits, and the column's unit | nine decimals */
	GRID_PERCENT, /* 69.80, with the column's unit | six decimals */
	GRID_SHARE,   /* 69.80 % ± 0.91 | three fields: NAME, NAME_low, NAME_high */
	GRID_CHANGE,  /* +1.23, with the column's unit; coloured if certain | +/- six decimals */
	GRID_SHIFT,   /* +1.23 ± 0.45, likewise | two fields: NAME, NAME_half */
	GRID_ADDRESS, /* 0x401136 | the same, in JSON a string */
	GRID_FLAG,    /* yes, or nothing | true, false */
	GRID_NR_KINDS
};

enum grid_audience { GRID_ALL = 0, GRID_ONLY_PEOPLE, GRID_ONLY_MACHINES };

/* Cells of a column that is not for this form are appended like others, and left out. */
struct grid_column {
	const char *name;   /* for machines: of CSV and JSON; no character that these must quote */
	const char *header; /* for people; NULL: the name */
	const char *unit;   /* as of screen_human ("ns", "%", …); NULL: none */
	enum grid_kind kind;
	enum grid_audience audience;
};

struct grid_options {
	enum grid_form form;
	unsigned width; /* people: columns of the terminal, 0: no limit */
	bool has_color; /* people: a bold header; changes in red (more) and green (less) */
	const char
	    *report; /* JSON: the first field, "report", of each row; NULL: none. Borrowed. */
	/* Machines: before the columns, "session" of each row; NULL: none. Borrowed. */
	const char *session;
	bool is_continued; /* CSV: the header was written by the grid before this one */
};

/* At most GRID_MAX_COLUMNS, which are borrowed, and stay. NULL without memory. */
struct grid *grid_new(const struct grid_column *columns, size_t nr,
		      const struct grid_options *options);
void grid_free(struct grid *g); /* NULL is fine */

/* Begins the next row. */
void grid_row(struct grid *g);
/* The next cell of the row, of its column's kind. */
void grid_text(struct grid *g, const char *s);
/* People see it moved to the right by two blanks for each of depth (at most 40). */
void grid_tree(struct grid *g, unsigned depth, const char *s);
void grid_count(struct grid *g, uint64_t n);    /* GRID_COUNT, GRID_AMOUNT, GRID_ADDRESS */
void grid_real(struct grid *g, double x);       /* what is not finite is n/a */
void grid_percent(struct grid *g, double part); /* of 1; what is not finite is n/a */
void grid_share(struct grid *g, const struct share_interval *share);
void grid_change(struct grid *g, double change, bool is_certain); /* a part of 1 */
/* With the half of its interval; 0: that is not known. */
void grid_shift(struct grid *g, double change, double half, bool is_certain);
void grid_flag(struct grid *g, bool is_set);
/* Cells of any kind: nothing (null), and for people "n/a". */
void grid_none(struct grid *g);
void grid_na(struct grid *g);
/* For people, a line of its own between rows ("" too), as wide as it is; machines do not get it. */
void grid_line(struct grid *g, const char *text);

/* 0, -ENOMEM, -EFBIG, or -EINVAL (a cell that its column does not take). */
int grid_error(const struct grid *g);

/*
 * Appends what there is to *out and forgets it; the first time with the header, for people and in
 * CSV, even without rows. For people the columns are as wide as their widest cell; when written in
 * pieces they only grow. Where a line is wider than the terminal the last column of text is cut
 * with "…", but not below 16 columns. Lines do not end in blanks. Returns grid_error.
 */
int grid_write(struct grid *g, struct buf *out);

#endif
