/*
 * The dashboard's model: the displayed iteration, rows for groups of CPUs, the history, and the
 * user's choices. Pure: its inputs are tables and keys, not terminals, time or files. One thread.
 *
 * Row numbers are fixed: 0 is the total, then the CPUs, then groups of CPUs. A cell's series in the
 * history is row × nr_columns + column.
 */
#ifndef DASHBOARD_MODEL_H
#define DASHBOARD_MODEL_H

#include "dashboard/history.h"
#include "dashboard/key.h"
#include "dashboard/processes.h"
#include "dashboard/thing_series.h"
#include "estimate/table.h"

enum model_view {
	MODEL_CPUS,
	MODEL_TOTAL,
	MODEL_PACKAGES,
	MODEL_NODES,
	MODEL_TYPES,
	MODEL_NR_VIEWS
};

/* The CPU of each trace. */
struct model_cpu {
	uint32_t cpu;
	int32_t package, node; /* negative: unknown */
	const char *type;      /* core type; NULL: unknown, or all alike */
};

/* The session; all borrowed for the model's life. */
struct model_facts {
	const char *name, *host, *cpu_model;
	uint64_t nr_iterations; /* 0: until stopped */
	uint64_t duration_ns;
	const struct table_column *events; /* columns of counts */
	size_t nr_events;
	struct metric_set metrics;    /* the spec's, then derived ones */
	const struct model_cpu *cpus; /* by trace */
	size_t nr_cpus;
	bool has_target;        /* a last trace, after those of the CPUs, is of all CPUs */
	size_t nr_machine_cpus; /* with those that are not measured; 0: unknown */
	struct processes_source processes;
	bool can_profile; /* Enter on a process requests it: model.wanted_pid */
	bool is_replay;
};

enum { MODEL_NAME_BYTES = 32, MODEL_NOTE_BYTES = 256, MODEL_MAX_NOTES = 100 };

/* Several CPUs shown as one row. */
struct model_group {
	char name[MODEL_NAME_BYTES];
	uint32_t *traces; /* owned */
	size_t nr, room;
};

/* A way to group the CPUs into rows. */
struct model_dimension {
	uint32_t first_row;
	size_t nr; /* 0: unknown on this machine */
	struct model_group *groups;
};

/* groups of 2, 4, 8 … CPUs, for screens with fewer lines than CPUs */
enum { MODEL_NR_FOLDS = 12, MODEL_NR_DIMENSIONS = MODEL_NR_VIEWS + MODEL_NR_FOLDS };

/* An iteration and what is computed from it. */
struct model_frame {
	struct table *table;
	struct cell *groups; /* of each group, nr_columns */
	uint32_t *row_of;    /* of each trace: its row in the table; UINT32_MAX: none */
	uint32_t *rows;      /* of a group: scratch */
	bool is_set;
};

enum model_overlay { MODEL_NO_OVERLAY, MODEL_HELP, MODEL_NOTES };

/* Positions on the screen: written by the painter, read for mouse clicks. */
enum { MODEL_MAX_SHOWN = 256 };
struct model_layout {
	unsigned title_y, rows_y, nr_lines; /* of the table; nr_lines: below the total */
	unsigned first_width;
	size_t nr_shown;               /* columns */
	size_t items_per_line;         /* of the machine's values */
	size_t shown[MODEL_MAX_SHOWN]; /* indices in model.columns */
	unsigned x[MODEL_MAX_SHOWN], width[MODEL_MAX_SHOWN];
};

/* The help, which may have more lines than the screen: written by the painter but for first. */
struct model_scroll {
	unsigned first, nr_shown, nr;
};
/* Whether the key scrolls it. */
bool model_scroll_key(struct model_scroll *s, const struct key *key);

/* How a table of things (disks, processes …) is shown: its keys while it has the focus. */
enum {
	MODEL_MAX_BLOCKS = 8,
	MODEL_FOCUS_TABLE = 0, /* kinds of things are counted from 1 */
	MODEL_FOCUS_MACHINE = MODEL_MAX_BLOCKS + 1,
	MODEL_FILTER_BYTES = 64
};
struct model_block {
	size_t column; /* of the kind: selected */
	size_t sort;   /* likewise; SIZE_MAX: the most active first */
	bool sorts_up, is_tree;
	bool has_details; /* owners and command lines */
	char filter[MODEL_FILTER_BYTES];
	size_t selected, first; /* lines: the selected one, the first that is shown */
	uint32_t number;        /* of the selected thing */
	bool is_moved;          /* the user has chosen a line, which is followed */
	/* Position on the screen, written by the painter; nr_lines 0: not shown. */
	unsigned x, y, width, nr_lines;
};

/* A text that is being typed. */
struct model_prompt {
	bool is_open;
	size_t block;
	char text[MODEL_FILTER_BYTES];
};

/* The page of a thing over time: a chart for each of its events. */
enum model_page_of { MODEL_NO_PAGE, MODEL_PAGE_ROW, MODEL_PAGE_THING, MODEL_PAGE_MACHINE };
struct model_page {
	enum model_page_of of;
	uint32_t row;    /* of the table */
	size_t block;    /* of a thing: its kind, from 1 */
	uint32_t number; /* of the thing */
	char name[MODEL_NOTE_BYTES];
	size_t first;        /* chart that is shown */
	size_t nr_shown, nr; /* charts; written by the painter */
};

struct model_baseline {
	bool is_set;
	uint32_t first, last;  /* iterations of it */
	struct spread *spread; /* owned; of each series */
};

struct model {
	struct model_facts facts;
	size_t nr_columns;
	struct model_dimension dimensions[MODEL_NR_DIMENSIONS];
	uint32_t nr_rows; /* of all kinds */
	struct model_frame frames[2], *shown, *spare;
	struct history history;
	struct thing_series series; /* of things; of the same iterations */
	struct processes processes;
	bool has_row_history; /* else only the total has one */
	struct model_baseline baseline;

	/* Per-CPU columns of the table, in display order, without those that are measured nowhere;
	 * owned. */
	size_t *columns;
	bool *is_listed;  /* owned; of each column: it is among them */
	unsigned *widths; /* width of each; never shrinks; owned */
	size_t nr_shown_columns;
	uint32_t *order; /* rows below the total, in display order; owned */
	size_t nr_order;

	enum model_view view;
	bool is_unfolded, is_counts, is_paused, shows_difference, has_chart;
	size_t selected_column;           /* index in columns */
	size_t selected_line, first_line; /* index in order; SIZE_MAX: the total */
	uint32_t selected_row;            /* follows its row when the order changes */
	size_t first_column;
	size_t sort_column; /* index in columns; SIZE_MAX: not sorted */
	bool sorts_up;
	size_t focus; /* MODEL_FOCUS_TABLE, the n-th kind of things, or MODEL_FOCUS_MACHINE */
	struct model_block blocks[MODEL_MAX_BLOCKS];
	size_t item; /* of the machine's values: the selected one, an event */
	struct model_prompt prompt;
	struct model_page page;
	uint32_t wanted_pid; /* the process to profile; 0: none. Reset by who does it */
	uint32_t profiled_pid;
	bool is_profiling; /* Escape ends it: wants_no_profile */
	bool wants_no_profile;
	enum model_overlay overlay;
	struct model_scroll help;
	struct model_layout layout;

	char message[MODEL_NOTE_BYTES]; /* shown until the next key */
	char notes[MODEL_MAX_NOTES][MODEL_NOTE_BYTES];
	uint64_t nr_notes,
	    nr_lost;        /* nr_lost: lost records. All are counted; the last notes are stored */
	uint64_t nr_missed; /* iterations that were skipped because drawing was too slow */
	uint64_t first_start_ns, last_end_ns; /* CLOCK_MONOTONIC; 0: none yet */
	uint32_t last_iteration;

	/* Replay: */
	uint32_t wanted; /* the iteration to show */
	bool is_playing;
};

/* 0, -ENOMEM or -EFBIG. */
int model_init(struct model *m, const struct model_facts *facts);
void model_fini(struct model *m);

/* Allocates a table of the right shape for model_add; free it with table_free. NULL if out of
 * memory. */
struct table *model_new_table(const struct model *m);
/* Adds an iteration to the history, and shows it unless paused. Computes the totals of *t and
 * exchanges it for another table of the same shape. */
void model_add(struct model *m, struct table **t);
/* Shows an iteration that is in the history or will be added later; exchanges *t likewise. */
void model_show(struct model *m, struct table **t);
/* Empties the history. */
void model_forget(struct model *m);
void model_note(struct model *m, const char *text);

enum model_action { MODEL_NOTHING, MODEL_QUIT, MODEL_SAVE, MODEL_REDRAW };
enum model_action model_key(struct model *m, const struct key *key);

/* Rebuilds the order of rows; folds CPUs into groups if that makes them fit into max_lines. */
void model_arrange(struct model *m, size_t max_lines);
/* The cell of a row; NULL: unknown. */
const struct cell *model_cell(const struct model *m, uint32_t row, size_t column);
const char *model_row_name(const struct model *m, uint32_t row, char text[MODEL_NAME_BYTES]);
const struct table_column *model_column(const struct model *m, size_t column);
size_t model_series(const struct model *m, uint32_t row, size_t column);

/* The displayed value of a cell: the rate of a count (of nanoseconds: percent), or with as_count
 * the count; a share in percent, a value, a metric. NaN: none. */
double model_number(const struct table_column *c, const struct cell *cell, bool as_count);

/* The cell of a thing with at most what it can use (table_limit): its readings are not of exactly
 * the time of the iteration. */
struct cell model_thing_cell(const struct model *m, size_t column, const struct cell *cell);
/* Whether an event is a value of the machine, which has no row and no thing. */
bool model_is_item(const struct model *m, size_t column);
/* The value of a thing in the i-th entry of the history; NaN: none. one: of m->series, or NULL. */
double model_thing_value(const struct model *m, const struct thing_series_one *one, size_t i);

/* Whether model_number returns a percentage. */
bool model_is_percent(const struct table_column *c, bool as_count);

/* The difference of the displayed cell from the baseline's mean: in points if both are percentages,
 * else in percent of that mean. */
struct model_difference {
	double amount; /* NaN: there is no baseline, or its mean is 0 */
	double factor; /* amount = factor × difference of two numbers; NaN likewise */
	bool is_points;
	enum { MODEL_UNKNOWN, MODEL_INSIDE, MODEL_BEYOND } spread;
};
struct model_difference model_difference(const struct model *m, uint32_t row, size_t column);

#endif
