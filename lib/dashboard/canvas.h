/*
 * A screen in memory: cells of one character and a style, painted from left to right and compared
 * with the previous screen.
 *
 * Painting outside is clipped. Text is UTF-8 from any source: control characters, invalid UTF-8 and
 * characters of no width become "?" or are dropped; a wide character fills two cells. A canvas
 * without UTF-8 holds ASCII only.
 */
#ifndef DASHBOARD_CANVAS_H
#define DASHBOARD_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

struct buf;

enum { CANVAS_MAX_WIDTH = 1024, CANVAS_MAX_HEIGHT = 512 };

/* Each style is a colour, an attribute of the terminal, both, or neither. */
enum canvas_style {
	CANVAS_PLAIN,
	CANVAS_DIM,
	CANVAS_BOLD,
	CANVAS_BAR,   /* the top and bottom lines */
	CANVAS_TITLE, /* of columns */
	CANVAS_GOOD,
	CANVAS_WARN,
	CANVAS_BAD,
	CANVAS_CHART,
	CANVAS_HEAT, /* CANVAS_NR_HEAT steps from low to high */
	CANVAS_NR_HEAT = 5,
	CANVAS_NR_STYLES = CANVAS_HEAT + CANVAS_NR_HEAT,
	CANVAS_SELECTED = 0x80, /* combined with one of the others */
};

struct canvas_cell {
	char text[5];  /* one character; "": the second half of a wide one */
	uint8_t style; /* enum canvas_style, optionally with CANVAS_SELECTED */
	uint8_t zero[2];
};

struct canvas {
	unsigned width, height;
	unsigned x, y;  /* of a part: its place on the screen */
	unsigned pitch; /* cells from one line to the next */
	bool is_utf8;
	struct canvas_cell *cells; /* owned, but by a part; line by line */
};

/* Makes a blank canvas of the size, up to the maximum. 0 or -ENOMEM. */
int canvas_init(struct canvas *c, unsigned width, unsigned height, bool is_utf8);
void canvas_fini(struct canvas *c);
void canvas_clear(struct canvas *c);
/* The part of a canvas at x, y, clipped to it: a canvas that borrows its cells. */
struct canvas canvas_part(const struct canvas *c, unsigned x, unsigned y, unsigned width,
			  unsigned height);

/* Paints at most max columns of the text; returns the columns used. */
unsigned canvas_put(struct canvas *c, unsigned x, unsigned y, uint8_t style, const char *text,
		    unsigned max);
/* Paints into a field, aligned right or left and padded with blanks. Text that is too wide is cut
 * and ends in "…". */
void canvas_right(struct canvas *c, unsigned x, unsigned y, unsigned width, uint8_t style,
		  const char *text);
void canvas_left(struct canvas *c, unsigned x, unsigned y, unsigned width, uint8_t style,
		 const char *text);
void canvas_fill(struct canvas *c, unsigned x, unsigned y, unsigned width, uint8_t style,
		 const char *character);

/* Columns that the text would use. */
unsigned canvas_width(const char *text);
/* Appends all lines as text, without trailing blanks. */
void canvas_text(const struct canvas *c, struct buf *out);

#endif
