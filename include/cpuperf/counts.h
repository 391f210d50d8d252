/*
 * libcpuperf: counters that a program starts, reads and stops: of this thread, a process, a CPU.
 *
 *	struct cpuperf_counts *c;
 *
 *	cpuperf_counts_open(&c, "page_faults,instructions_retired", CPUPERF_THREAD, 0, &e);
 *	cpuperf_counts_start(c, &e);
 *	function();
 *	cpuperf_counts_stop(c, &e);
 *	cpuperf_counts_read(c, values, 2, &e);
 */
#ifndef CPUPERF_COUNTS_H
#define CPUPERF_COUNTS_H

#include "cpuperf/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Open counters. One thread at a time may use them; it need not be the thread that opened them.
 * They count on when that thread sleeps or another one reads. A forked child does not have them:
 * there every call but close fails with -ECHILD. Their descriptors are closed by exec.
 */
struct cpuperf_counts;
struct cpuperf_spec;

/* Whom to count. id 0: the calling thread, or the process of the caller. */
enum cpuperf_scope {
	CPUPERF_THREAD = 1,  /* id: its tid */
	CPUPERF_PROCESS = 2, /* id: its pid; all its threads, also those that it creates later */
	CPUPERF_CPU = 3      /* id: its number, from 0; everything that runs there */
};

/* Flags of cpuperf_counts_open_spec. */
enum {
	CPUPERF_CHILDREN = 1 /* also the threads and processes created from now on */
};

/* The count of an event since it was opened or reset, while it was started. */
struct cpuperf_value {
	size_t size;   /* of what the library filled */
	int has_value; /* 0: there is no number, for the reason in state */
	/* "ok"; "scaled": it shared a counter with others, value is an estimate, share says of how
	 * much of the time it counted; "usage": read from getrusage(2) and the CPU clock, since
	 * this user may not open the event (task_clock, page_faults, minor_faults, major_faults and
	 * context_switches of this thread, while it reads them, or this process); "not counted": it
	 * never had a counter; "not supported", "no permission", "limit reached", "failed" */
	const char *state;
	double value; /* raw x enabled / running, in the event's unit */
	double share; /* running / enabled; 1: nothing is estimated */
	uint64_t raw; /* as counted */
	uint64_t enabled_ns, running_ns;
	uint64_t own; /* of raw per start and stop: what these calls themselves count, measured at
		       * the opening as the least of some; not subtracted */
};

/* Opens counters, not yet counting, of events as cpuperf_spec_add takes them. An event that cannot
 * be counted is no error: its values say so, cpuperf_counts_event has the reason; but if none can
 * be counted, it is. */
CPUPERF_PUBLIC int cpuperf_counts_open(struct cpuperf_counts **out, const char *events,
				       enum cpuperf_scope scope, int id, struct cpuperf_error *e);
/* The same with the events of a spec (their flags and labels too); its other keys are ignored. */
CPUPERF_PUBLIC int cpuperf_counts_open_spec(struct cpuperf_counts **out,
					    const struct cpuperf_spec *spec,
					    enum cpuperf_scope scope, int id, unsigned flags,
					    struct cpuperf_error *e);
/* Closes all descriptors. NULL is fine. */
CPUPERF_PUBLIC void cpuperf_counts_close(struct cpuperf_counts *c);

/* The number of events, and each of them; NULL: there is none with this number. */
CPUPERF_PUBLIC size_t cpuperf_counts_nr(const struct cpuperf_counts *c);
CPUPERF_PUBLIC const struct cpuperf_event *cpuperf_counts_event(const struct cpuperf_counts *c,
								size_t i);

/* Starts or stops all counters. Counts go on where they stopped. Started twice: no error. The last
 * step of start is the system call that starts, and the first of stop the one that stops. */
CPUPERF_EAGER int cpuperf_counts_start(struct cpuperf_counts *c, struct cpuperf_error *e);
CPUPERF_EAGER int cpuperf_counts_stop(struct cpuperf_counts *c, struct cpuperf_error *e);
/* Sets all counts to 0, started or not. */
CPUPERF_EAGER int cpuperf_counts_reset(struct cpuperf_counts *c, struct cpuperf_error *e);

/* cpuperf_counts_read for languages without inline functions: value i is at values + i * stride. */
CPUPERF_EAGER int cpuperf_counts_read_sized(struct cpuperf_counts *c, struct cpuperf_value *values,
					    size_t nr, size_t stride, struct cpuperf_error *e);
/* Reads the first nr counts, started or not: with one system call if the events are of one kind
 * (the kernel's own, or one CPU's), and of one thread; with none if these are a CPU's, of the
 * thread that opened them and reads them, started, and user mode may read the counters (x86; arm64
 * where /proc/sys/kernel/perf_user_access was 1). nr beyond the number of events: -ERANGE. */
CPUPERF_INLINE int cpuperf_counts_read(struct cpuperf_counts *c, struct cpuperf_value *values,
				       size_t nr, struct cpuperf_error *e)
{
	return cpuperf_counts_read_sized(c, values, nr, sizeof(*values), e);
}

#ifdef __cplusplus
}
#endif

#endif
