/*
 * Waits at futexes, added up by futex: a lock of the program, or what its threads wait at for each
 * other. Each wait stands for as many as its sample does.
 *
 * counter.h makes each wait in futex(2) an entry of its own (REPORT_BY_FUTEX), which is added up
 * here; cpuperf_print/locks.h names the locks for the report and the page.
 */
#ifndef REPORT_LOCKS_H
#define REPORT_LOCKS_H

#include "report/entry.h"

struct report_functions;
struct report_locks;

/* Who is the cause of most of the waiting: the thread that owned the lock when waits began, of a
 * kind of lock that says who that is; if none is known, who ended them. */
struct report_holder {
	uint32_t text;     /* the number of its name: of a waker as of report_waker_make */
	uint32_t tid;      /* TRACE_UNKNOWN: a waker */
	bool has_namesake; /* another thread of its process has its name */
	struct report_weight weight; /* waited because of it */
};

struct report_lock {
	uint32_t process; /* its number: profile_process.number */
	uint32_t pid;
	uint64_t futex;    /* the address in the process */
	uint64_t time_ns;  /* of a wait */
	const char *kind;  /* "mutex", "condition" … by the functions that wait; "futex" */
	uint32_t function; /* of the program, in which most of it is waited */
	struct report_weight weight; /* of the time */
	double waits;                /* that ended */
	uint64_t max_ns;             /* of one wait */
	uint32_t threads;            /* that waited */
	struct report_holder holder; /* weight.samples 0: not known */
};

/* Of the thread that owned a lock: its time on a CPU or waiting for one, and all that is sampled.
 */
struct report_holder_task {
	struct report_weight used, all;
};

/* functions: borrowed. NULL without memory. */
struct report_locks *report_locks_new(const struct report_functions *functions, bool with_wakers);
void report_locks_free(struct report_locks *l); /* NULL is fine */
const struct report_sink *report_locks_sink(const struct report_locks *l);
/* All rows, the one with most time first. Borrowed, until the next call. NULL without memory. */
const struct report_lock *report_locks_rows(struct report_locks *l, size_t *nr);

/* What the thread did that holds the row's lock, if it is known as the owner. Has no samples in
 * runs that do not add up states. */
void report_locks_holder_task(const struct report_locks *l, const struct report_lock *row,
			      struct report_holder_task *out);
/* The waits at futexes whose address was not recorded: of programs of 32 bits, or added up by the
 * kernel. */
const struct report_weight *report_locks_unknown(const struct report_locks *l);

/* The kind of what a blocked thread waits for, by the innermost function of the C library that says
 * it: "mutex", "condition" … "": none does. */
const char *report_lock_kind(const struct report_frame *frames, size_t nr);
/* Whether what waits there is held by one thread or several: "mutex", "rwlock". */
bool report_lock_is_held(const struct report_lock *l);

#endif
