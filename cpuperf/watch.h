/*
 * The dashboard in place of the tables that are printed iteration by iteration: whether there is
 * to be one, what it is told, and what is said when it is over.
 */
#ifndef CPUPERF_WATCH_H
#define CPUPERF_WATCH_H

#include "base/arena.h"
#include "base/buf.h"
#include "dashboard/dashboard.h"
#include "options.h"
#include "session/session.h"

#include <stdbool.h>

struct watch {
	struct dashboard *show; /* NULL: there is none */
	struct session *session;
	struct arena arena; /* of what the dashboard borrows */
	const struct model_cpu *cpus;
	struct buf notes; /* said while the screen had the terminal; lines */
	bool holds_notes;
};

/* -EINVAL with *e if --live is impossible here. */
int watch_check(const struct options *o, const struct plan *plan, struct err *e);
/* --live, or without options: a person sees standard output, and there are iterations to watch. */
bool watch_is_wanted(const struct options *o, const struct plan *plan);
/* Starts the dashboard if it is wanted. t has the session's columns and outlives the dashboard. 0,
 * or -errno with *e if --live fails; without --live a failure only means that there is none. */
int watch_start(struct watch *w, const struct options *o, struct session *s, const struct table *t,
		struct err *e);
bool watch_is_on(const struct watch *w);
void watch_iteration(struct watch *w, const struct table *t);
void watch_note(struct watch *w, const char *text);
/* Restores the terminal and prints the messages held meanwhile. False: the terminal accepts no
 * output. */
bool watch_stop(struct watch *w);

#endif
