/*
 * Many things (disks, processes …) of an iteration, kind by kind, those that did most first: for
 * the text format and the dashboard. Knows nothing of what the things are.
 */
#ifndef SCREEN_THINGS_H
#define SCREEN_THINGS_H

#include "metric/table.h"

struct buf;

enum { SCREEN_KIND_MAX_COLUMNS = 32 };

/* The columns of one kind of things. */
struct screen_kind {
	const struct table *t;
	size_t name_len; /* of the kind, in its columns' names: "disk" in "disk_read_bytes" */
	size_t column[SCREEN_KIND_MAX_COLUMNS];
	size_t nr_columns;
};

/* A thing of the kind: its cells stand one behind the other. */
struct screen_thing {
	const struct table_thing *const *first;
	size_t nr;
	double weight;         /* of the first column */
	enum cell_state lacks; /* why its first number is missing; CELL_NONE: it is there */
};

struct screen_things {
	const struct table_thing **cells; /* owned */
	struct screen_thing *item;        /* owned; those that did most first, then by name; those
					     whose first number is missing last */
	size_t nr;
};

/* The next kind from column *i (0 at first) on, which moves past it. */
bool screen_kind_next(const struct table *t, size_t *i, struct screen_kind *out);
/* Without the kind, which heads the block; a label as it is. */
const char *screen_kind_heading(const struct screen_kind *k, size_t i);
/* How wide a column is. */
unsigned screen_kind_width(const struct screen_kind *k, size_t i);

/* 0 or -ENOMEM. */
int screen_things_find(const struct screen_kind *k, struct screen_things *out);
void screen_things_drop(struct screen_things *things);
/* Its number of the kind's i-th column, with its unit; nothing if it has none. */
void screen_thing_cell(const struct screen_kind *k, const struct screen_thing *thing, size_t i,
		       struct buf *out);

#endif
