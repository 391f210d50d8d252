/*
 * The opened events of a session: perf events on each CPU, and what sources measure.
 */
#ifndef SESSION_COUNTERS_H
#define SESSION_COUNTERS_H

#include "session/cpu.h"
#include "session/session.h"
#include "session/source_uses.h"

struct counters {
	const struct plan *plan;        /* borrowed */
	struct perf_event_attr **attrs; /* owned, like each; per part of the plan, NULL: not perf */
	struct kernel_probe probe;
	struct session_event *events; /* owned; per event of the plan */
	struct session_cpu *cpus;     /* owned */
	uint32_t nr_cpus;
	bool *is_off; /* owned; per event of the plan: session_enable has disabled it */
	struct selected *selected; /* owned; NULL: not needed, refused, or a source has it */
	bool has_tried_selected;   /* to load it */
	struct interpreters *interpreters; /* owned; NULL: not needed, or refused */
	struct source_uses uses;
	struct aggregate **aggregates;          /* owned, like each; per part, or NULL */
	struct event_support aggregate_support; /* why not */
};

/* Memory only. 0 or -ENOMEM; also then counters_fini frees what is owned. */
int counters_init(struct counters *c, const struct plan *plan, const struct pmu_ops *pmu);
/* Closes events and programs in the kernel; what is known of them remains. */
void counters_release(struct counters *c);
/* Closes what is open. Zeroes are fine. */
void counters_fini(struct counters *c);

/* Before sources (uses) are opened, if something is sampled: loads what reads what interpreters
 * interpret at samples. Without it interpreters are shown as they are. */
void counters_open_interpreters(struct counters *c);
/* Of the records of all sampled events on a busy CPU; very much, where it is not known. */
double counters_bytes_per_second(const struct plan *plan);
/* With open sources (uses): makes the attrs and opens the perf events on all CPUs, not yet
 * counting. ring_bytes: of each CPU's ring; 0: nothing is sampled. Events that cannot be opened are
 * no error. 0 or -errno. */
int counters_open(struct counters *c, uint64_t ring_bytes);
void counters_close(struct counters *c);
/* Sets the rates that the plan has now in the attrs; the events have them when they are opened
 * again. */
void counters_divide_rates(struct counters *c);
/* Opens the perf events again, on the plan's target as it is now. 0 or -errno. */
int counters_reopen(struct counters *c);
/* Has the programs in the kernel measure the events that are not off, or none. */
void counters_switch_programs(struct counters *c, bool is_paused);
/* Fills events: where each works, and the reason where it does not. */
void counters_sum_up(struct counters *c);

/* Of the events that no perf event carries: copies their last readings for the CPU into
 * out[nr_parts]. False if /proc does not list the CPU: it is offline. */
bool counters_get_values(const struct counters *c, uint32_t trace, uint32_t cpu,
			 struct reading *out);
/* Drops the CPU's own readings from out: they start again with its perf events. */
void counters_drop_values(const struct counters *c, struct reading *out);

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
