/*
 * Samples of the time of threads, taken in the program: no perf event is needed.
 *
 * Each thread has a timer of the kernel for each event, which counts its CPU time: it never expires
 * while the thread waits. It sends a realtime signal that the program does not use, so that SIGPROF
 * and its timers stay the program's. What the program does with it is not done: the program only
 * believes so. If it sets a handler the timers get another signal; where there is none, the handler
 * is called by ours. The handler takes the stack; expirations that came in between,
 * as while the signal was blocked, count with it.
 *
 * Real time is CPU time, by a timer of its own, and waits, which no timer interrupts: the functions
 * that wait (waits.c) read the clock before and after, and a wait has as many samples as intervals
 * end in it. What is left, for want of a CPU or in a system call that no such function makes,
 * counts where the thread runs next.
 *
 * Before Linux 5.9, and on arm64, a timer may expire where a system call begins to wait, and end it
 * with EINTR, also one that SA_RESTART does not begin again. There the functions that wait block
 * the signal meanwhile.
 *
 * The handler runs on a stack of its own. The kernel looks at such a timer once a tick, so a
 * sample is what was seen once, of any weight (is_sampled_time). A wait that lasts is read by the
 * session.
 */
#ifndef AGENT_HEAP_TIMES_H
#define AGENT_HEAP_TIMES_H

#include "agent/heap/resource.h"

enum agent_time { AGENT_CPU_TIME, AGENT_REAL_TIME, AGENT_NR_TIMES };

/* --- times.c: of a connection that wants times */

/* The process: chooses a signal. */
void agent_times_init(void);
/* The thread begins, or ends; attached, and busy. */
void agent_times_begin(struct agent_local *t);
/* The thread was created at `from` and begins with that function: where it is if it ends before its
 * first sample. */
void agent_times_began(struct agent_frame from, uint64_t function);
/* is_measured: the process stays measured. */
void agent_times_end(struct agent_local *t, bool is_measured);

/* The signal; 0: there is none. */
int agent_times_signal(void);
/* The program is about to forbid itself what timers need: ends all, for good. */
void agent_times_stop(void);
/* The program sets or reads (NULL: does not) what the kernel does with it: that is only remembered,
 * and *old is what was. False: it has a handler for it, and the timers have another one now; the
 * program's call is to be made. */
bool agent_times_believe(const void *new, void *old);
/* The same for signal(2), which returns the handler before in *handler. */
bool agent_times_believe_handler(void **handler);

/* A call that may wait. */
struct agent_wait {
	struct agent_frame from;
	uint64_t behind;   /* the function that waits */
	uint64_t since_ns; /* 0: its time is not measured */
	uint32_t stack;    /* 1 + its number */
	bool blocks;       /* the signal, until it ends */
};

static inline bool agent_wants_times(void)
{
	return agent_may_want(HEAP_WANTS_TIMES);
}

/* behind: the function that waits; interrupts: a signal would end it. Both preserve errno. */
AGENT_RARE void agent_wait_begin(struct agent_wait *w, struct agent_frame from, uint64_t behind,
				 bool interrupts);
AGENT_RARE void agent_wait_end(const struct agent_wait *w);

/* --- signals.c */

struct agent_signals;

/* The set, or a copy of it in *to. */
const void *agent_signals_without(struct agent_signals *to, const void *set);
const void *agent_signals_with(struct agent_signals *to, const void *set);
/* After a change of the thread's mask by that set: *old becomes what the program believes. */
void agent_signals_masked(int how, const struct agent_signals *set, void *old);
/* The program blocks one, or no more. True: it is ours. */
bool agent_signals_held(int number, bool is_held);

#endif
