/*
 * Text in columns. Cells are appended row by row; the rows are written when the width of each
 * column is known.
 *
 *	layout_row(l);
 *	layout_text(l, 0, name);
 *	buf_u64(&l->text, nr), layout_cell(l, 1);
 *
 * Column 0 is that of the rows' names. Columns are as wide as their widest cell; a wider cell,
 *where the width is fixed, moves the cells behind it as far as it must. Lines do not end in blanks.
 */
#ifndef SCREEN_LAYOUT_H
#define SCREEN_LAYOUT_H

#include "base/buf.h"

#include <stdbool.h>

enum {
	LAYOUT_MAX_WIDTH = 256, /* no column grows beyond */
	LAYOUT_MAX_BYTES = 1 << 30,
};

struct layout_column {
	unsigned width; /* set: the least; grows unless it is fixed */
	unsigned gap;   /* blanks before the column; not before column 0 */
	char separator; /* in place of the last of these blanks; 0: none */
	bool is_left;   /* aligned to the left */
	bool is_fixed;
	bool is_cut;    /* a wider cell is cut and ends in "…" */
	bool is_gone;   /* layout_write omits it; not column 0 */
	bool is_broken; /* behind a wider cell the row goes on in a line of its own */
};

enum { LAYOUT_NR_HEAT = 5 };
enum layout_look {
	LAYOUT_PLAIN,
	LAYOUT_RED,
	LAYOUT_GREEN,
	LAYOUT_BOLD,
	LAYOUT_HEAT, /* LAYOUT_NR_HEAT steps from low, which is plain, to high */
};

struct layout_piece;

struct layout {
	struct layout_column *columns; /* borrowed; widths may be changed before layout_write */
	size_t nr_columns;
	bool has_color;
	struct buf text;
	size_t start; /* in text, of the next cell */
	struct layout_piece *pieces;
	size_t nr_pieces, room;
	int error; /* 0 or -errno: sticky, like the text's */
};

void layout_init(struct layout *l, struct layout_column *columns, size_t nr);
void layout_fini(struct layout *l);
/* Removes all rows; the columns keep their widths. */
void layout_reset(struct layout *l);

void layout_row(struct layout *l);
/* Ends a cell: what was appended to text since the last one. Columns come in ascending order. */
void layout_cell(struct layout *l, size_t column);
/* Appends a cell of that text. */
void layout_text(struct layout *l, size_t column, const char *text);
/* Changes the look of the row that was just begun, or of the cell that was just ended. */
void layout_look(struct layout *l, enum layout_look look);
/* Likewise, as x among numbers up to max. */
void layout_heat(struct layout *l, double x, double max);
/* Likewise, as a share of samples (of 1): few functions have more than some percent. */
void layout_heat_share(struct layout *l, double share);
/* Ends a text two blanks behind the last cell of the row and behind column 0. */
void layout_tail(struct layout *l);
/* Ends a line of its own, as wide as it is. */
void layout_line(struct layout *l);

/* How many columns from from on fit beside column 0 into width (0: all), at least so many; those
 * that are gone need no room. Returns the end. */
size_t layout_fit(const struct layout *l, size_t from, unsigned width, size_t at_least);
/* Writes all rows with column 0 and [from, to). An error of the layout becomes one of *out. */
void layout_write(const struct layout *l, size_t from, size_t to, struct buf *out);
/* All rows as a table of GitHub-flavoured Markdown: the first is its header, cells of columns that
 * are aligned to the left are code. Lines of their own follow as a block of code. */
void layout_write_markdown(const struct layout *l, struct buf *out);
/* Appends text as a block of code, without its first and last newlines; nothing if that is empty.
 */
void layout_markdown_block(struct buf *out, const char *text, size_t len);
/* The same in blocks, one below the other, each with the columns that fit into width (0: all). */
void layout_write_blocks(const struct layout *l, unsigned width, struct buf *out);
/* 0, -ENOMEM or -EFBIG. */
int layout_error(const struct layout *l);

#endif
