/*
 * A table with typed columns, written cell by cell: as text, CSV or NDJSON, from the same calls.
 *
 *	grid_row(g), grid_share(g, &self), grid_count(g, nr), grid_text(g, name);
 *
 * Cells are appended from left to right; missing cells at the end of a row are empty. Errors (no
 * memory, too large, a cell that does not fit its column) are sticky: append, then call grid_error
 * once. Text is copied. Not thread-safe.
 */
#ifndef SCREEN_GRID_H
#define SCREEN_GRID_H

#include "estimate/interval.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct grid;

enum grid_form { GRID_PEOPLE, GRID_CSV, GRID_NDJSON };

enum {
	GRID_MAX_COLUMNS = 96,
	GRID_MAX_BYTES = 1 << 30, /* of text, and of cells, before grid_write */
};

/* As text | for programs. Percent, shares and changes are passed as parts of 1 and written as
 * percent. */
enum grid_kind {
	GRID_TEXT,    /* the text, "?" for control characters | the text */
	GRID_COUNT,   /* 1,234,567 | 1234567 */
	GRID_INTEGER, /* -1,234 | -1234 */
	GRID_NUMBER,  /* 1234, of a process, a line …: it is no amount | 1234 */
	GRID_CPU,     /* its number; UINT32_MAX: "all" | the same */
	GRID_AMOUNT,  /* with prefix and the column's unit: 1.235 M, 20.50 ms | 1234567 */
	GRID_REAL,    /* four digits, and the column's unit | nine decimals */
	GRID_PERCENT, /* 69.80, with the column's unit | six decimals */
	GRID_SHARE, /* 69.80 % ± 0.91, ≥ 70.2 %, ≤ 12 % | three fields: NAME, NAME_low, NAME_high */
	GRID_ESTIMATE, /* 20.50 ms ± 1.3 %, 84 us to 4 ms | three fields, as above */
	GRID_CHANGE,   /* +1.23, with the column's unit; coloured if certain | +/- six decimals */
	GRID_SHIFT,    /* +1.23 ± 0.45, likewise; of percentages the unit is "pp" | two fields:
			  NAME, NAME_half */
	GRID_ADDRESS,  /* 0x401136 | the same, in JSON a string */
	GRID_FLAG,     /* yes, or nothing | true, false */
	GRID_NR_KINDS
};

enum grid_audience { GRID_ALL = 0, GRID_ONLY_PEOPLE, GRID_ONLY_MACHINES };

/* Cells of a column that this form does not have are appended like others, and omitted. */
struct grid_column {
	const char *name;   /* in CSV and JSON; without characters that need quoting there */
	const char *header; /* as text; NULL: the name */
	const char *unit;   /* as of screen_human ("ns", "%", …); NULL: none */
	enum grid_kind kind;
	enum grid_audience audience;
	/* Text: 1 leaves first if the table is too wide (grid_options.fit), and so on; 0: it stays,
	 * like the first column. */
	unsigned leaves;
};

struct grid_options {
	enum grid_form form;
	unsigned width; /* text: columns of the terminal; 0: no limit */
	/* text: columns that may leave do until it is no wider, of long texts the beginning; 0:
	 * none does */
	unsigned fit;
	/* text: bold header; certain changes in red (more) and green (less); without columns of
	 * changes, shares by their size */
	bool has_color;
	bool is_markdown;   /* text: as a table of GitHub-flavoured Markdown */
	const char *report; /* JSON: first field, "report", of each row; NULL: none. Borrowed. */
	/* CSV, JSON: field "session" of each row, before the columns; NULL: none. Borrowed. */
	const char *session;
	/* The same before it: "host", and "rank" (UINT32_MAX: none). NULL: none. Borrowed. */
	const char *host;
	uint32_t rank;
	bool is_continued; /* CSV: an earlier grid wrote the header */
};

/* At most GRID_MAX_COLUMNS columns, borrowed. NULL without memory. */
struct grid *grid_new(const struct grid_column *columns, size_t nr,
		      const struct grid_options *options);
void grid_free(struct grid *g); /* NULL is fine */

/* Appends the columns that the form has, as JSON: [["self","share"],["live","estimate","B"]], each
 * a name, a kind and, if there is one, a unit. */
void grid_describe(const struct grid_column *columns, size_t nr, enum grid_form form,
		   struct buf *out);

/* The same for documents: [{"name":"self","kind":"share","unit":"%","low":"self_low",
 * "high":"self_high"}], with the names of the fields that have the interval. */
void grid_describe_fields(const struct grid_column *columns, size_t nr, enum grid_form form,
			  struct buf *out);

/* Begins the next row. */
void grid_row(struct grid *g);
/* The next cell of the row; it must fit its column's kind. */
void grid_text(struct grid *g, const char *s);
/* Text is indented by two blanks for each level of depth (at most 40). */
void grid_tree(struct grid *g, unsigned depth, const char *s);
/* GRID_COUNT, GRID_NUMBER, GRID_CPU, GRID_AMOUNT, GRID_ADDRESS */
void grid_count(struct grid *g, uint64_t n);
void grid_integer(struct grid *g, int64_t n);
void grid_real(struct grid *g, double x);       /* n/a unless finite */
void grid_percent(struct grid *g, double part); /* of 1; n/a unless finite */
void grid_share(struct grid *g, const struct interval *share);
/* An amount of which that share was estimated: total × share. */
void grid_estimate(struct grid *g, double total, const struct interval *share);
void grid_change(struct grid *g, double change, bool is_certain); /* a part of 1 */
/* With half of its interval; 0: not known. */
void grid_shift(struct grid *g, double change, double half, bool is_certain);
void grid_flag(struct grid *g, bool is_set);
/* A cell of any kind: empty (null); as text na is "n/a", and unknown "-". */
void grid_none(struct grid *g);
/* As grid_none, but people read the word, borrowed. */
void grid_word(struct grid *g, const char *word);
void grid_na(struct grid *g);
void grid_unknown(struct grid *g);
/* Text only: a line of its own between rows, broken between words where it is wider than
 * screen_columns, but in Markdown. */
void grid_line(struct grid *g, const char *text);

/* 0, -ENOMEM, -EFBIG, or -EINVAL (a cell that does not fit its column). */
int grid_error(const struct grid *g);

/*
 * Moves all rows to *out; text and CSV the first time with the header, even without rows. In text,
 * columns are as wide as their widest cell; if the table is written in pieces, they only grow. If a
 * line is wider than the terminal, the widest columns of text are cut with "…", but not below 16
 * columns; below 16, but not below 8, if columns may leave and that is not enough. Lines do not end
 * in blanks. Returns grid_error.
 */
int grid_write(struct grid *g, struct buf *out);

#endif
