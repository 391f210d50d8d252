/*
 * The dashboard on a terminal: model, painter, keys and the signals of a terminal, for one thread
 * that calls stage_turn again and again. Knows nothing of where iterations come from.
 *
 * SIGTSTP, SIGCONT and SIGWINCH are taken by a descriptor, which needs them blocked in all threads:
 * stage_block does that, before any is started.
 */
#ifndef DASHBOARD_STAGE_H
#define DASHBOARD_STAGE_H

#include "dashboard/model.h"

#include <signal.h>

struct err;
struct stage;

struct stage_config {
	int fd; /* of the terminal */
	const struct model_facts *facts;
	const int *ends; /* signals that end it too, blocked like the others; 0 after the last */
};

/* Blocks what the stage takes (a signal that is ignored stays so); *old is to be set again. */
void stage_block(const int *ends, sigset_t *old);

/* -errno with *e. */
int stage_open(const struct stage_config *config, struct stage **out, struct err *e);
/* Gives the terminal back, as terminal_close. NULL is fine. */
bool stage_close(struct stage *s, unsigned wait_ms);

struct model *stage_model(struct stage *s);
/* What is shown is not what is to be shown. */
void stage_touch(struct stage *s);
void stage_set_read(struct stage *s, uint64_t nr);
/* It was asked to end: the screen says so. */
void stage_end(struct stage *s);
/* There is no terminal any more: nothing is shown, nothing comes from there. */
bool stage_is_gone(const struct stage *s);
/* Of the terminal: all that was written, and how often the screen was drawn. */
uint64_t stage_nr_bytes(const struct stage *s);
uint64_t stage_nr_drawn(const struct stage *s);

/*
 * Draws if that is due, waits for keys, signals, the terminal, wake_fd (-1: none) or so long, and
 * does what keys and signals ask for. True: quit was asked for. Is stopped in here by ^Z.
 */
bool stage_turn(struct stage *s, int wake_fd, int wait_ms);

#endif
