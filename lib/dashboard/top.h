/*
 * The model of the screen of live functions: rows that others compute, in the order and with the
 * search that the user chose, and what the user asks for. Pure: its inputs are rows and keys. One
 * thread.
 */
#ifndef DASHBOARD_TOP_H
#define DASHBOARD_TOP_H

#include "dashboard/model.h"

enum { TOP_TEXT_BYTES = 64, TOP_NO_FUNCTION = -1 };

enum top_view { TOP_FUNCTIONS, TOP_COMMANDS, TOP_PROCESSES, TOP_THREADS, TOP_NR_VIEWS };
enum top_span { TOP_RECENT, TOP_ALL, TOP_NR_SPANS };

/* Of the samples of a span. */
struct top_share {
	bool is_known;
	double part, half; /* from 0 to 1; half: of the interval */
};

/* In the calls of a function: what calls it, itself, what it calls. */
enum top_kind { TOP_CALLER, TOP_SUBJECT, TOP_CALLEE };

struct top_row {
	const char *name, *object; /* object "": it has none */
	uint32_t number;           /* of the function, process …: names the row */
	enum top_kind kind;
	struct top_share self[TOP_NR_SPANS], total[TOP_NR_SPANS];
	uint64_t samples[TOP_NR_SPANS]; /* of self */
};

/* What the rows are to show. */
struct top_question {
	enum top_view view;
	uint32_t event;
	int64_t focus; /* the calls of this function; TOP_NO_FUNCTION: none, the view is shown */
	char filter[TOP_TEXT_BYTES]; /* as typed */
	uint64_t nr;                 /* differs from that of all earlier questions */
	uint64_t nr_filters;         /* the same of the filter alone */
};

/* What the top lines say. */
struct top_status {
	const char *name, *host, *event; /* borrowed */
	const char *rate;                /* "997 Hz" */
	size_t nr_events;
	double samples_per_s;
	uint64_t nr_samples, nr_lost, nr_dropped; /* dropped: beyond the limit of stacks */
	double recent_s, all_s;                   /* times that the rows show */
	double own_share, budget;                 /* of a CPU */
	double behind_s;                          /* measured, and not read */
	/* Iterations that ended, and of these read; 0: all are read, or will be. */
	uint32_t ended[TOP_NR_SPANS], read[TOP_NR_SPANS];
	uint32_t every; /* above 1: of so many samples one is read */
	bool is_over;   /* the session has ended */
};

enum top_prompt { TOP_NO_PROMPT, TOP_SEARCH, TOP_FILTER };

struct top {
	struct top_status status;
	struct top_question question;

	const struct top_row *rows; /* borrowed until the next top_show */
	size_t nr_rows;
	const struct top_row **order; /* owned: those that are shown, in their order */
	size_t nr_order, room;
	bool is_set; /* rows answer a question */

	enum top_span span; /* by which rows are sorted; the only one on a narrow screen */
	bool by_total, is_paused, has_help;
	struct model_scroll help;
	bool is_inner; /* opened by another screen: Escape leads back to it */
	char search[TOP_TEXT_BYTES];
	enum top_prompt prompt;
	char typed[TOP_TEXT_BYTES];
	size_t selected, first; /* in order */
	uint32_t selected_number;
	enum top_kind selected_kind;
	bool is_moved; /* the user has chosen a row, which is followed */

	/* The page of a function's code, in place of rows. */
	bool wants_page; /* requested, and not yet there: set text */
	bool has_page;
	const char *text; /* borrowed while has_page */
	size_t text_bytes, nr_text_lines, text_first;
	char page_name[MODEL_NOTE_BYTES];

	unsigned rows_y, nr_lines; /* positions, written by the painter */
	char message[MODEL_NOTE_BYTES];
};

/* NULL without memory. */
struct top *dashboard_top_new(void);
void dashboard_top_free(struct top *t); /* NULL is fine */

/* Shows these rows, which answer the question; 0 or -ENOMEM. */
int dashboard_top_show(struct top *t, const struct top_row *rows, size_t nr);
/* The selected row; NULL: there is none. */
const struct top_row *dashboard_top_selected(const struct top *t);
/* Shows a page of lines, borrowed until the page is closed: has_page. */
void dashboard_top_show_page(struct top *t, const char *name, const char *text, size_t len);
enum model_action dashboard_top_key(struct top *t, const struct key *key);

struct top_key_row {
	int code[4];             /* 0: no further one */
	const char *name, *help; /* NULL: described with the previous row */
	int command;             /* for top_key; so is by */
	long by;
};
/* Row i of the table of keys; NULL after the last. */
const struct top_key_row *dashboard_top_key_row(size_t i);
/* What the key does in this screen. */
const char *dashboard_top_key_help(const struct top *t, const struct top_key_row *row);
const char *dashboard_top_view_name(enum top_view view);

#endif
