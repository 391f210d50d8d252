/*
 * --top: the functions of a session, live. cpuperf_print shows them, as a process of its own that
 * reads the session's files; measuring does nothing for it.
 *
 * It starts when the files exist, as cpuperf_print --live, with a low priority and no rights; its
 * end (q) ends the session.
 */
#ifndef CPUPERF_LIVE_FUNCTIONS_H
#define CPUPERF_LIVE_FUNCTIONS_H

#include "dashboard/terminal.h"
#include "options.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

struct err;
struct plan;
struct session;
struct spec;

/* -errno with *e if --top is impossible with these options, or here. */
int live_functions_check(const struct options *o, const struct plan *plan, struct err *e);
/* Before the events are chosen: sets o->top if functions are shown without the option, as nobody
 * has set an end; and, if nothing says what --top samples, the clock with callers.
 */
void live_functions_choose(struct options *o, const struct spec *spec);
/* Whether a session that --top asks for is held in memory: nothing says where its files go. */
bool live_functions_hold(const struct options *o, const struct spec *spec);
/* Sets how much of a held session remains in memory, unless the user has set that. */
struct held;
void live_functions_limit(struct spec *spec, const struct held *held);
/* The times of a session that shows them: iterations short enough to be seen as they end. */
void live_functions_settle(struct options *o, struct spec *spec, bool has_times);

/* Zero-initialise. */
struct live_functions {
	pid_t pid; /* 0: none runs */
	int status;
	pthread_t waiter;
	struct session *session;
	struct terminal_lent terminal;
};

/* Shows the session of the manifest; its end ends the session. 0 or -errno with *e. */
int live_functions_start(struct live_functions *l, struct session *s, const char *manifest,
			 struct err *e);
/* Ends the screen, and restores the terminal if it did not. */
void live_functions_stop(struct live_functions *l);

#endif
