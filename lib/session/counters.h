/*
 * The opened events of a session: perf events on each CPU, and misc events.
 */
#ifndef SESSION_COUNTERS_H
#define SESSION_COUNTERS_H

#include "session/cpu.h"
#include "session/heap.h"
#include "session/latency.h"
#include "session/misc.h"
#include "session/probes.h"
#include "session/session.h"

struct counters {
	const struct plan *plan;        /* borrowed */
	struct perf_event_attr **attrs; /* owned, like each; per part of the plan, NULL: not perf */
	struct session_probe probe;
	struct session_event *events; /* owned; per event of the plan */
	struct session_cpu *cpus;     /* owned */
	uint32_t nr_cpus;
	bool *is_off; /* owned; per event of the plan: session_enable has disabled it */
	struct misc misc;
	struct waits *waits;                /* owned; NULL: not needed, or refused */
	struct event_support waits_support; /* why, then */
	waits_fn *on_lasting;               /* receives samples of waits; NULL: nothing does */
	void *arg;
	struct session_latency latency;
	struct session_probes probes;
	struct session_heap heap;
	struct aggregate **aggregates;          /* owned, like each; per part, or NULL */
	struct event_support aggregate_support; /* why not */
};

/* Memory only. 0 or -ENOMEM; also then counters_fini frees what is owned. */
int counters_init(struct counters *c, const struct plan *plan, const struct pmu_ops *pmu);
/* Closes what is open. Zeroes are fine. */
void counters_fini(struct counters *c);

/* Makes the attrs and opens the perf events on all CPUs, not yet counting. ring_bytes: of each
 * CPU's ring; 0: nothing is sampled. Events that cannot be opened are no error. 0 or -errno. */
int counters_open(struct counters *c, uint64_t ring_bytes);
void counters_close(struct counters *c);
/* Loads the programs that measure waits, if the plan has such events; once. 0; with waits_support
 * if that is not possible; -ENOMEM. */
int counters_open_waits(struct counters *c);
/* Sets the rates that the plan has now in the attrs; the events have them when they are opened
 * again. */
void counters_divide_rates(struct counters *c);
/* Opens the perf events again, on the plan's target as it is now. 0 or -errno. */
int counters_reopen(struct counters *c);
/* Has the programs in the kernel measure the events that are not off, or none. */
void counters_switch_programs(struct counters *c, bool is_paused);
/* Fills events: where each works, and the reason where it does not. */
void counters_sum_up(struct counters *c);

/* Whether the events of group sched work here: loads their programs, and unloads them. */
void counters_check_waits(struct event_support *out);

/* Descriptors reserved while events are opened, then released: files, folders and locks need some
 * later, and events may use up the limit. */
enum { SPARE_NR = 16 };
struct spare {
	int fd[SPARE_NR];
	int nr;
};
void spare_hold(struct spare *spare);
void spare_release(struct spare *spare);

#endif
