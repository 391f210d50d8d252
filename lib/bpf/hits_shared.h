/*
 * What the programs of hits.bpf.c and the program that loads them share.
 */
#ifndef BPF_HITS_SHARED_H
#define BPF_HITS_SHARED_H

#include "bpf/follow_shared.h"

#include <linux/types.h>

enum {
	BPF_HITS_NR_SLOTS = 64, /* events of a session: the bits of a place's mask */
	BPF_HITS_OF_PLACE = 8,  /* events that one function may belong to */
	BPF_HITS_MAX_CPUS = 8192,
	/* Calls of a task that are open: the kernel replaces no more return addresses. */
	BPF_HITS_DEPTH = 64,
	/* Histograms are log-linear; with fewer bits where there are many functions. The last
	 * bucket also has what is longer. */
	BPF_HITS_MAX_LOG2 = 42,
	BPF_HITS_MAX_BITS = 4,
};
#define BPF_HITS_NR_BUCKETS(bits) ((BPF_HITS_MAX_LOG2 - (bits) + 1U) << (bits))

/* A function, by its number. */
struct bpf_hits_place {
	__u64 events;   /* a bit for each that has it */
	__u32 is_timed; /* its returns are seen */
	__u32 is_own;   /* the recorder's, by which the cost of a call is measured */
	/* What a call costs, and what of it lies between its two readings of the clock: ns. */
	__u32 cost_ns, inside_ns;
	__u32 entry_ns; /* what one costs whose return is not seen */
	__u32 zero;
};

/* Of the function's calls on some CPUs; cumulative. A cache line. */
struct bpf_hits_sums {
	__u64 calls; /* that began */
	__u64 wall_ns, self_ns, cpu_ns, cost_ns;
	__u64 max_ns;
	__u64 skipped; /* calls without times: too many were open, or the stack was another */
	__u64 left;    /* calls without times: something above them on the stack has ended */
};

/* A call that is open. */
struct bpf_hits_call {
	__u64 stack; /* the address of the stack at the entry */
	__u64 start_ns;
	__u64 off_ns;   /* the task's, at the entry */
	__u64 child_ns; /* in functions that it called */
	__u64 cost_ns;  /* of measuring these */
	__u64 place;
};

/* All zero: nothing yet. */
struct bpf_hits_task {
	struct bpf_follow follow;
	__u64 off_ns;       /* off the CPU, while calls were open */
	__u64 off_since_ns; /* 0: it is on one */
	__u64 nr;           /* of calls */
	struct bpf_hits_call call[BPF_HITS_DEPTH];
};

/* Of one event on one CPU; cumulative. A cache line, so that CPUs do not share one. */
struct bpf_hits_counts {
	__u64 hits;
	__u64 lost; /* samples that found no place to be sent to */
	__u64 unused[6];
};

#endif
