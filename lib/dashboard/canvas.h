/*
 * A screen in memory: cells of one character and a style, painted from left to right and compared
 * with the one before. Knows nothing of terminals and of what is shown.
 *
 * What is outside is cut off. Text is UTF-8 from anywhere: what a terminal may obey, what is not
 * UTF-8 and what has no width of its own is "?" or left out; a wide character has two cells. A
 * canvas without UTF-8 has ASCII only.
 */
#ifndef DASHBOARD_CANVAS_H
#define DASHBOARD_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

struct buf;

enum { CANVAS_MAX_WIDTH = 1024, CANVAS_MAX_HEIGHT = 512 };

/* Each is a colour and an attribute of the terminal, of both or of none. */
enum canvas_style {
	CANVAS_PLAIN,
	CANVAS_DIM,
	CANVAS_BOLD,
	CANVAS_BAR,   /* the lines at the top and the bottom */
	CANVAS_TITLE, /* of columns */
	CANVAS_GOOD,
	CANVAS_WARN,
	CANVAS_BAD,
	CANVAS_CHART,
	CANVAS_HEAT, /* CANVAS_NR_HEAT steps from little to much */
	CANVAS_NR_HEAT = 5,
	CANVAS_NR_STYLES = CANVAS_HEAT + CANVAS_NR_HEAT,
	CANVAS_SELECTED = 0x80, /* with one of the others */
};

struct canvas_cell {
	char text[5];  /* one character; "": the second half of the one before */
	uint8_t style; /* enum canvas_style, perhaps with CANVAS_SELECTED */
	uint8_t zero[2];
};

struct canvas {
	unsigned width, height;
	bool is_utf8;
	struct canvas_cell *cells; /* owned; line by line */
};

/* Blank; as large as is asked for, or as is allowed. 0 or -ENOMEM. */
int canvas_init(struct canvas *c, unsigned width, unsigned height, bool is_utf8);
void canvas_fini(struct canvas *c);
void canvas_clear(struct canvas *c);

/* At most max columns of the text; how many it took. */
unsigned canvas_put(struct canvas *c, unsigned x, unsigned y, uint8_t style, const char *text,
		    unsigned max);
/* In a field: at its right or left end, blank elsewhere. What is too wide ends in "…". */
void canvas_right(struct canvas *c, unsigned x, unsigned y, unsigned width, uint8_t style,
		  const char *text);
void canvas_left(struct canvas *c, unsigned x, unsigned y, unsigned width, uint8_t style,
		 const char *text);
void canvas_fill(struct canvas *c, unsigned x, unsigned y, unsigned width, uint8_t style,
		 const char *character);

/* Columns that the text takes, as canvas_put counts. */
unsigned canvas_width(const char *text);
/* All lines as text, without blanks at their ends. */
void canvas_text(const struct canvas *c, struct buf *out);

#endif
