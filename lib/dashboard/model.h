/*
 * What the dashboard shows: the iteration in hand, rows of several kinds made of its CPUs, what was
 * before, and what a person chose. Pure: takes tables and keys, knows nothing of terminals, time
 * and files. Of one thread.
 *
 * Rows have a number for good: 0 is the total, then come the CPUs, then groups of them. A cell's
 * series in the history is row × nr_columns + column.
 */
#ifndef DASHBOARD_MODEL_H
#define DASHBOARD_MODEL_H

#include "dashboard/history.h"
#include "dashboard/key.h"
#include "metric/table.h"

enum model_view {
	MODEL_CPUS,
	MODEL_TOTAL,
	MODEL_PACKAGES,
	MODEL_NODES,
	MODEL_TYPES,
	MODEL_NR_VIEWS
};

/* What is known of the CPU of each trace. */
struct model_cpu {
	uint32_t cpu;
	int32_t package, node; /* negative: not known */
	const char *type;      /* of its core; NULL: not known, or all are alike */
};

/* Of the session; all borrowed, and of the model's life. */
struct model_facts {
	const char *name, *host, *cpu_model;
	uint64_t nr_iterations, duration_ns;
	const struct table_column *events; /* columns of what is counted */
	size_t nr_events;
	struct metric_set metrics;    /* those of the spec, then derived ones */
	const struct model_cpu *cpus; /* by trace */
	size_t nr_cpus;
	bool is_replay;
};

enum { MODEL_NAME_BYTES = 32, MODEL_NOTE_BYTES = 256, MODEL_MAX_NOTES = 100 };

/* Several CPUs that are one row. */
struct model_group {
	char name[MODEL_NAME_BYTES];
	uint32_t *traces; /* owned */
	size_t nr, room;
};

/* A way to make rows of the CPUs. */
struct model_dimension {
	uint32_t first_row;
	size_t nr; /* 0: nothing is known of it */
	struct model_group *groups;
};

/* CPUs by 2, 4, 8 …: for screens on which they do not all have a line. */
enum { MODEL_NR_FOLDS = 12, MODEL_NR_DIMENSIONS = MODEL_NR_VIEWS + MODEL_NR_FOLDS };

/* An iteration with all that is made of it. */
struct model_frame {
	struct table *table;
	struct cell *groups; /* of each group, nr_columns */
	uint32_t *row_of;    /* of each trace: its row of the table; UINT32_MAX: it has none */
	bool is_set;
};

enum model_overlay { MODEL_NO_OVERLAY, MODEL_HELP, MODEL_NOTES };

/* Where things are on the screen: written by the painter, read when the mouse is clicked. */
enum { MODEL_MAX_SHOWN = 256 };
struct model_layout {
	unsigned title_y, rows_y, nr_lines; /* of the table; nr_lines: below the total */
	unsigned first_width;
	size_t nr_shown;               /* columns */
	size_t shown[MODEL_MAX_SHOWN]; /* their places in model.columns */
	unsigned x[MODEL_MAX_SHOWN], width[MODEL_MAX_SHOWN];
};

struct model_baseline {
	bool is_set;
	uint32_t first, last;  /* its iterations */
	struct spread *spread; /* owned; of each series */
};

struct model {
	struct model_facts facts;
	size_t nr_columns;
	struct model_dimension dimensions[MODEL_NR_DIMENSIONS];
	uint32_t nr_rows; /* of all kinds */
	struct model_frame frames[2], *shown, *spare;
	struct history history;
	bool has_row_history; /* else only the total has one */
	struct model_baseline baseline;

	size_t *columns;  /* of the table, by place: what is of CPUs; owned */
	unsigned *widths; /* of each: what the painter needed for it; only grows; owned */
	size_t nr_shown_columns;
	uint32_t *order; /* rows below the total, as they are shown; owned */
	size_t nr_order;

	enum model_view view;
	bool is_unfolded, is_counts, is_paused, shows_difference, has_chart;
	size_t selected_column;           /* in columns */
	size_t selected_line, first_line; /* in order; SIZE_MAX: the total's */
	uint32_t selected_row;            /* follows its row when the order changes */
	size_t first_column;
	size_t sort_column; /* in columns; SIZE_MAX: not sorted */
	bool sorts_up;
	enum model_overlay overlay;
	struct model_layout layout;

	char message[MODEL_NOTE_BYTES]; /* until the next key */
	char notes[MODEL_MAX_NOTES][MODEL_NOTE_BYTES];
	uint64_t nr_notes, nr_lost; /* nr_lost: records; all are counted, the last notes kept */
	uint64_t nr_missed;         /* iterations that came while the screen had no time */
	uint64_t first_start_ns, last_end_ns; /* CLOCK_MONOTONIC; 0: none came */
	uint32_t last_iteration;

	/* Replay: */
	uint32_t wanted; /* the iteration that should be shown */
	bool is_playing;
};

/* 0 or -ENOMEM, -EFBIG. */
int model_init(struct model *m, const struct model_facts *facts);
void model_fini(struct model *m);

/* A table that fits, for what comes; table_free it. NULL without memory. */
struct table *model_new_table(const struct model *m);
/* Takes an iteration into the history, and shows it unless paused. *t, whose totals are made
 * here, becomes another table that fits. */
void model_add(struct model *m, struct table **t);
/* Shows an iteration that is in the history, or is yet to come there. As above. */
void model_show(struct model *m, struct table **t);
/* Empties the history. */
void model_forget(struct model *m);
void model_note(struct model *m, const char *text);

enum model_action { MODEL_NOTHING, MODEL_QUIT, MODEL_SAVE, MODEL_REDRAW };
enum model_action model_key(struct model *m, const struct key *key);

/* Makes order anew: at most max_lines, if folding helps. */
void model_arrange(struct model *m, size_t max_lines);
/* The cell of a row; NULL: it is not known. */
const struct cell *model_cell(const struct model *m, uint32_t row, size_t column);
const char *model_row_name(const struct model *m, uint32_t row, char text[MODEL_NAME_BYTES]);
const struct table_column *model_column(const struct model *m, size_t column);
size_t model_series(const struct model *m, uint32_t row, size_t column);

/* What is shown of a cell: the rate of a count (of nanoseconds: percent), or as_count the count
 * itself; a share in percent, a value, a metric. NaN: it has no number. */
double model_number(const struct table_column *c, const struct cell *cell, bool as_count);

/* How the shown cell differs from the baseline. */
struct model_difference {
	double part; /* of the baseline's mean; NaN: it has none */
	enum { MODEL_UNKNOWN, MODEL_INSIDE, MODEL_BEYOND } spread;
};
struct model_difference model_difference(const struct model *m, uint32_t row, size_t column);

#endif
