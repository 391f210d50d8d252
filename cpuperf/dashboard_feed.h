/*
 * Runs the dashboard of a session: decides whether it is wanted, feeds it, and prints the messages
 * that it displayed.
 */
#ifndef CPUPERF_DASHBOARD_FEED_H
#define CPUPERF_DASHBOARD_FEED_H

#include "base/arena.h"
#include "base/buf.h"
#include "dashboard/dashboard.h"
#include "live_functions.h"
#include "options.h"
#include "profile_process.h"
#include "session/session.h"

#include <stdbool.h>

struct dashboard_feed {
	struct dashboard *dashboard; /* NULL: not running */
	struct session *session;
	struct arena arena; /* what the dashboard borrows */
	struct buf notes;   /* lines, to be logged when the dashboard stops */
	bool holds_notes;
	bool has_functions; /* --top: they are shown instead */
	struct live_functions functions;
	struct profile_process profile;
};

/* -EINVAL with *e if --live or --top is impossible here. */
int dashboard_feed_check(const struct options *o, const struct plan *plan, struct err *e);
/* True with --live and --top; without them and --no-live, if standard output is a terminal in the
 * foreground, and the session is a text tally of several iterations that starts no command. */
bool dashboard_feed_is_wanted(const struct options *o, const struct plan *plan);
/* The time between two looks, if the answer replaces iterations; 0: the dashboard shows iterations,
 * or is not wanted. */
uint64_t dashboard_feed_look_ns(const struct options *o, const struct plan *plan, bool is_answered);
/* Starts the dashboard if it is wanted. t has the session's columns and outlives the dashboard. 0
 * or -errno with *e; without --live, a failure is only logged. */
int dashboard_feed_start(struct dashboard_feed *f, const struct options *o, struct session *s,
			 const struct table *t, uint64_t look_ns, struct err *e);
/* Once the session has its files. 0 or -errno with *e. */
int dashboard_feed_begin(struct dashboard_feed *f, struct err *e);
bool dashboard_feed_is_on(const struct dashboard_feed *f);
/* An iteration or a look. */
void dashboard_feed_iteration(struct dashboard_feed *f, const struct table *t);
void dashboard_feed_note(struct dashboard_feed *f, const char *text);
/* Restores the terminal and prints the messages held meanwhile. False: the terminal accepts no
 * output. */
bool dashboard_feed_stop(struct dashboard_feed *f);

#endif
