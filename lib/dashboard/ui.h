/*
 * The dashboard on a terminal: model, painter, keys and the terminal's signals, for one thread that
 * calls dashboard_ui_turn in a loop.
 *
 * SIGTSTP, SIGCONT and SIGWINCH arrive through a descriptor, so they must be blocked in all
 * threads: call dashboard_ui_block before any thread starts.
 */
#ifndef DASHBOARD_UI_H
#define DASHBOARD_UI_H

#include "dashboard/model.h"
#include "dashboard/paint.h"

#include <signal.h>

struct err;
struct dashboard_ui;

/* Another screen than that of a tally. */
struct dashboard_ui_view {
	void (*paint)(void *arg, const struct paint_state *s, struct canvas *c);
	enum model_action (*key)(void *arg, const struct key *key);
	char *message; /* MODEL_NOTE_BYTES: shown until the next key */
	void *arg;
};

struct dashboard_ui_config {
	int fd;                               /* of the terminal */
	const struct model_facts *facts;      /* NULL: there is a view */
	const struct dashboard_ui_view *view; /* borrowed; NULL: a tally is shown */
	const int *ends; /* further signals that quit, blocked likewise; ends with 0 */
};

/* Blocks the signals that are received here (except ignored ones); restore *old later. */
void dashboard_ui_block(const int *ends, sigset_t *old);

/* -errno with *e. */
int dashboard_ui_open(const struct dashboard_ui_config *config, struct dashboard_ui **out,
		      struct err *e);
/* Restores the terminal, as terminal_close. NULL is fine. */
bool dashboard_ui_close(struct dashboard_ui *s, unsigned wait_ms);

/* Of a tally. */
struct model *dashboard_ui_model(struct dashboard_ui *s);
/* Leaves the terminal to another program, which reads its keys until it is taken back. */
void dashboard_ui_lend(struct dashboard_ui *s, bool is_lent);
/* Redraw at the next turn. */
void dashboard_ui_redraw(struct dashboard_ui *s);
void dashboard_ui_set_read(struct dashboard_ui *s, uint64_t nr);
/* Quit was requested: the screen shows it. */
void dashboard_ui_end(struct dashboard_ui *s);
/* True if the terminal is gone: nothing is shown or read any more. */
bool dashboard_ui_is_gone(const struct dashboard_ui *s);
/* Bytes written to the terminal, and screens drawn. */
uint64_t dashboard_ui_nr_bytes(const struct dashboard_ui *s);
uint64_t dashboard_ui_nr_drawn(const struct dashboard_ui *s);

/*
 * Draws if due; waits for keys, signals, the terminal, wake_fd (-1: none) or the timeout; handles
 * keys and signals. True if quit was requested. Stops the process on ^Z.
 */
bool dashboard_ui_turn(struct dashboard_ui *s, int wake_fd, int wait_ms);

#endif
