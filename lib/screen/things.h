/*
 * Things (disks, processes …) of an iteration, kind by kind, the most active first: for the text
 * format and the dashboard.
 */
#ifndef SCREEN_THINGS_H
#define SCREEN_THINGS_H

#include "estimate/table.h"

struct buf;

enum { SCREEN_KIND_MAX_COLUMNS = 64 };

/* The columns of one kind of things. */
struct screen_kind {
	const struct table *t;
	const char *name; /* of the kind, as in its columns' names: "disk"; name_len bytes */
	size_t name_len;
	size_t column[SCREEN_KIND_MAX_COLUMNS];
	size_t nr_columns;
};

/* A thing of the kind; its cells are consecutive. */
struct screen_thing {
	const struct table_thing *const *first;
	size_t nr;
	double weight;           /* of the first column */
	enum cell_state missing; /* reason why its first number is missing, or CELL_NONE */
};

struct screen_things {
	const struct table_thing **cells; /* owned */
	struct screen_thing *item;        /* owned; the most active first, then by name; those
					     without a first number last */
	size_t nr;
};

/* The next kind from column *i (0 at first), which is advanced. False after the last. */
bool screen_kind_next(const struct table *t, size_t *i, struct screen_kind *out);
/* The column's name without the kind, or its label. */
const char *screen_kind_heading(const struct screen_kind *k, size_t i);
/* The width of a column. */
unsigned screen_kind_width(const struct screen_kind *k, size_t i);

/* 0 or -ENOMEM. */
int screen_things_find(const struct screen_kind *k, struct screen_things *out);
void screen_things_drop(struct screen_things *things);
/* Orders them by their number of the kind's i-th column: the largest first, or the smallest; those
 * without one last. */
void screen_things_sort(const struct screen_kind *k, struct screen_things *things, size_t i,
			bool is_up);
/* Its cell of the kind's i-th column; NULL: it has none. */
const struct cell *screen_thing_find(const struct screen_kind *k, const struct screen_thing *thing,
				     size_t i);
/* Appends its cell of the kind's i-th column, with unit; nothing if it has none. */
void screen_thing_cell(const struct screen_kind *k, const struct screen_thing *thing, size_t i,
		       struct buf *out);

#endif
