/*
 * Samples of a perf event that the kernel adds up by stack, in a table for each CPU. Only this room
 * sees libbpf.
 *
 * A table that is held adds nothing up: then its samples go to the ring of the event, as those do
 * that find no room in it. So no sample is lost or counted twice while a table is read.
 *
 * The kernel calls the program for each sample of the event (PERF_EVENT_IOC_SET_BPF; children
 * inherit it): 0 says that it is added up, 1 that the ring must have it. A table per CPU and event
 * is an array in shared memory: a hash table of slots, keyed by a hash of thread, name, exec and
 * stack, and the words of the stacks.
 *
 * Where the samples stood in the rows of their clocks is added up, too: base/place.h. Not
 * of waits: they are sampled by chance.
 *
 * All tables are held before the readings of a boundary: so the ring, which is divided by time,
 * decides which iteration a sample belongs to. Then they are read, written as stacks frames
 * (session/stacks.h) and emptied (sampler_resume). They are read without system calls: the kernel
 * skips programs of perf events while bpf(2) reads a map on that CPU, or another program of
 * kprobes or tracepoints runs there; such samples are missing, not lost.
 */
#ifndef BPF_AGGREGATE_H
#define BPF_AGGREGATE_H

#include "base/place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aggregate;
struct err;

enum {
	AGGREGATE_TABLE_BYTES = 2 << 20, /* of memory of the kernel, for each CPU */
	/* Addresses of the event's callchains, at most: with two marks, the kernel's default limit.
	 * Linux (seen in 6.18) cuts a callchain that is longer where the program reads it, and then
	 * writes a record of another size than its header has. */
	AGGREGATE_MAX_STACK = 125,
};

struct aggregate_config {
	const uint32_t *cpus; /* the numbers of those that have a table */
	uint32_t nr_cpus;
	/* The number of the row (base/place.h) that the clocks of all CPUs share, as they are in
	 * step; 0: each clock has a row of its own. */
	uint64_t in_step;
	bool has_own_clocks; /* the event is inherited, and has a clock for each task */
};

/* Loads the program; all tables are held. 0 or -errno with *e: -EPERM: not permitted; -ENOTSUP:
 * this kernel, or this build, cannot do it; -ENOMEM. One thread, as all below. */
int aggregate_open(const struct aggregate_config *config, struct aggregate **out, struct err *e);
void aggregate_close(struct aggregate *a); /* NULL is fine */

/* The descriptor of the program, for PERF_EVENT_IOC_SET_BPF. The event keeps the program alive. -1:
 * others add up (bpf/waits.h). */
int aggregate_program(const struct aggregate *a);

/* Table: the index of its CPU in the configuration. */
void aggregate_hold(struct aggregate *a, uint32_t table);
/* Empties a table that is held, and lets it add up. */
void aggregate_resume(struct aggregate *a, uint32_t table);

struct aggregate_stack {
	uint32_t pid, tid;
	uint64_t samples, weight; /* weight: the sum of their periods; of waits, of their weights */
	uint64_t unit; /* of a heap: what a sample stands for by chance; 0: each is certain */
	uint64_t begin_ns, end_ns; /* first and last: CLOCK_MONOTONIC */
	/* Addresses, the innermost first; borrowed until the table is resumed. */
	const uint64_t *kernel, *user;
	uint32_t nr_kernel, nr_user;
	/* What the innermost address of user is in place of code; NULL: it is code. */
	const char *name;
	/* Whether all samples counted in sums, as place_in_sums says. */
	bool has_places;
	int16_t sums[PLACE_SUMS];
};
/* The next stack of a table that is held: true, or false after the last. *at: 0 for the first. */
bool aggregate_next(const struct aggregate *a, uint32_t table, uint32_t *at,
		    struct aggregate_stack *out);

/* Since the table was resumed. The last two are in the ring. */
struct aggregate_counts {
	uint64_t samples; /* added up */
	uint64_t full;    /* that found no room */
	uint64_t failed;  /* whose stack could not be read */
};
struct aggregate_counts aggregate_counts(const struct aggregate *a, uint32_t table);

#endif
