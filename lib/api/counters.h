/*
 * The counters of a plan, opened for tasks or for a CPU: groups that are started, stopped and read
 * at once. Knows nothing of what a program is told about them.
 *
 * They use plans and groups, but no session: opening is what costs; to start is an ioctl per
 * group, to read one read(2). They are started and stopped a few times while they are opened, so
 * that later calls have no page faults; the header binds these calls early (noplt).
 */
#ifndef API_COUNTERS_H
#define API_COUNTERS_H

#include "api/usage.h"
#include "base/err.h"
#include "plan/plan.h"
#include "pmu/user.h"

struct perf_event_attr;

/* A part of the plan: its counts, added up over the tasks. */
struct api_counter {
	struct perf_event_attr *attr; /* owned; NULL: the part is not opened */
	uint64_t raw, enabled_ns, running_ns;
	bool has_failed; /* a task's counter, or the CPU's, could not be read */
	/* Instead of counters: read from getrusage(2), while it is on. */
	bool is_usage, is_on;
	struct api_counter_usage {
		uint64_t raw, ns;
	} sum, since; /* sum: until it was switched off; since: when it was switched on */
};

/* The caller's storage; zeroes are closed. */
struct api_counters {
	const struct plan *plan; /* borrowed; its target is set */
	const struct pmu_ops *pmu;
	int cpu;                  /* -1: any, of the plan's target */
	struct pmu_group *groups; /* owned */
	struct pmu_user *users;   /* owned; per group; NULL: read(2) reads them */
	bool is_own_thread;
	const void *reader;            /* of the thread that opened them */
	enum api_usage_of usage;       /* of whom, where events cannot be opened */
	struct api_counter *parts;     /* owned; per part of the plan */
	struct event_support *support; /* owned; per event: whether it is open, or why not */
	size_t nr_groups, group_room;
};

/* What is opened. */
struct api_counters_use {
	bool is_inherited;     /* by what the tasks create */
	bool stays_in_process; /* by their threads only */
	bool is_own_thread;    /* the calling thread, and nothing else */
	enum api_usage_of usage;
};

/* Opens the events, disabled. Events that cannot be opened are no error. 0 or -ENOMEM; then, too,
 * api_counters_close frees what is owned. */
int api_counters_open(struct api_counters *c, const struct api_counters_use *use);
void api_counters_close(struct api_counters *c);

/* 0 or -errno. */
int api_counters_switch(struct api_counters *c, bool is_enabled);
/* Reads all groups into parts. */
void api_counters_read(struct api_counters *c);

#endif
