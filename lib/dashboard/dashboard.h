/*
 * The dashboard of a running session. A thread draws; the measuring thread passes copies of tables
 * and never waits. If the drawing thread is too slow, the oldest queued iteration is dropped, and
 * counted.
 *
 *     measuring -> copies  -> model.h: rows,    -> paint.h: cells -> terminal.h
 *     thread       of tables  history, choices     of canvas.h       changed cells, as far
 *                             ^ keys, mouse                          as the tty takes them
 *                             ui.h polls signals and keys
 *
 * Tables of things are arranged (block.h) when they are painted and when a key needs them, since
 * each iteration has others; thing_series.h keeps their values over time. A part of the screen is
 * a canvas, too (canvas_part), so that painters need no columns of the whole.
 *
 * A profile of a process (Enter) is another session, which the program starts
 * (cpuperf/profile_process.h); it borrows the terminal (dashboard_ui_lend). The drawing thread
 * asks now and then how far it is (dashboard_profiler), so neither drawing nor measuring waits.
 * The replay of cpuperf_print runs the same ui.h in its only thread.
 */
#ifndef DASHBOARD_DASHBOARD_H
#define DASHBOARD_DASHBOARD_H

#include "dashboard/model.h"

struct err;
struct dashboard;

/* Profiles a process beside the session, when the user requests it. Called by the thread that
 * draws.
 */
enum dashboard_profile {
	DASHBOARD_PROFILE_RECORDING,
	DASHBOARD_PROFILE_READY, /* to be shown */
	DASHBOARD_PROFILE_SHOWN, /* it has the terminal */
	DASHBOARD_PROFILE_ENDED,
};
struct dashboard_profiler {
	int (*start)(void *arg, uint32_t pid, struct err *e); /* 0 or -errno with *e */
	/* How far it is; called a few times a second. With *e filled it has ended for that reason.
	 */
	enum dashboard_profile (*step)(void *arg, unsigned *left_s, struct err *e);
	int (*show)(void *arg, struct err *e); /* when the terminal is free */
	void (*stop)(void *arg);               /* at any time after start; within 2 s */
	void *arg;
};

struct dashboard_config {
	int fd; /* of the terminal */
	const struct model_facts *facts;
	void (*quit)(
	    void *arg); /* called on quit, from the drawing thread, possibly several times */
	void *arg;
	struct dashboard_profiler profiler; /* start NULL: there is none */
};

/* Takes over the terminal and, for the process, SIGTSTP, SIGCONT and SIGWINCH: call it before other
 * threads start. -errno with *e. */
int dashboard_start(const struct dashboard_config *config, struct dashboard **out, struct err *e);
/* Call these from one thread. */
void dashboard_iteration(struct dashboard *d, const struct table *t);
void dashboard_note(struct dashboard *d, const char *text);
/* Restores the terminal, within a short time. -ETIMEDOUT: the terminal accepts no output, so do not
 * write to it. -EBUSY: the thread is blocked too, and keeps what it borrowed. NULL is fine. */
int dashboard_stop(struct dashboard *d);

#endif
