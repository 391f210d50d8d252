/*
 * A table of things (disks, processes …) as the user arranged it: its lines in order, filtered, or
 * as a tree of processes; and what its keys do.
 */
#ifndef DASHBOARD_BLOCK_H
#define DASHBOARD_BLOCK_H

#include "dashboard/model.h"
#include "screen/things.h"

struct block_line {
	const struct screen_thing *thing;
	uint32_t number; /* of the thing */
	unsigned depth;  /* in the tree */
	bool is_above;   /* of a tree with a filter: it does not match, but what is below it does */
};

struct block_lines {
	struct screen_kind kind;
	struct screen_things things;
	struct block_line *line; /* owned */
	size_t nr;
};

/* The n-th kind of things, from 1; false: there is none. */
bool block_find_kind(const struct model *m, size_t n, struct screen_kind *out);
/* The lines of the n-th kind. False: there is none, or no memory. */
bool block_lines_find(struct model *m, size_t n, struct block_lines *out);
void block_lines_drop(struct block_lines *l);
const char *block_line_name(const struct block_line *l);
/* The place of the selected line: it follows its thing. */
size_t block_selected(const struct model_block *b, const struct block_lines *l);
/* Whether the things are processes. */
bool block_is_of_processes(const struct screen_kind *k);

/* What is focused: MODEL_FOCUS_TABLE, a kind from 1 on, or MODEL_FOCUS_MACHINE. */
void block_move_focus(struct model *m, int by);
/* By so many lines. */
void block_move(struct model *m, size_t n, long by);
/* Selects the line at this place. */
void block_select(struct model *m, size_t n, size_t at);
void block_sort(struct model *m, size_t n);
void block_move_column(struct model *m, size_t n, long by);
void block_set_filter(struct model *m, size_t n, const char *text);
/* Users and command lines; the tree. */
void block_toggle_details(struct model *m, size_t n);
void block_toggle_tree(struct model *m, size_t n);
/* Opens the selected thing's page; false: there is none. */
bool block_open_page(struct model *m, size_t n);
/* The pid of the selected process; 0: it is none. */
uint32_t block_selected_pid(struct model *m, size_t n);

#endif
