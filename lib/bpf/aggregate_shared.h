/*
 * The memory that the program aggregate.bpf.c shares with the program that loads it: lines of 64
 * bytes. The table of a CPU is a head, slots, and lines with the words of stacks.
 */
#ifndef BPF_AGGREGATE_SHARED_H
#define BPF_AGGREGATE_SHARED_H

#include <linux/types.h>

enum {
	BPF_AGGREGATE_LINE_WORDS = 8,
	BPF_AGGREGATE_STACK_WORDS = 128, /* of the kernel, and of the user, at most */
	BPF_AGGREGATE_LINE_SUMS = 32,
};

struct bpf_aggregate_head {
	__u32 is_on;    /* set by the reader; else all samples go to the ring */
	__u32 is_busy;  /* the program uses the table */
	__u32 nr_lines; /* of stacks, in use */
	__u32 zero;
	__u64 nr_samples;
	__u64 nr_full;   /* samples that found no room: not in nr_samples, like the next */
	__u64 nr_failed; /* samples whose stack could not be read */
	__u64 unused[3];
};

/* Samples of the same thread, name, program and stack. */
struct bpf_aggregate_slot {
	__u64 hash; /* of all of that; 0: the slot is free */
	__u32 pid, tid;
	__u64 samples, weight;
	__u64 begin_ns, end_ns; /* first and last sample: CLOCK_MONOTONIC */
	__u32 line;             /* of the first words of its stack, after the slots */
	/* The kernel's words, then, in a line of their own, the user's: addresses, the innermost
	 * first, and marks (PERF_CONTEXT_...). */
	__u16 nr_kernel, nr_user;
	/* Of samples in rows (base/place.h): the places of up to PLACE_FEW; of more, the line of
	 * their sums, as above, + 1, or 0: there was no room. */
	__u64 places;
};

union bpf_aggregate_line {
	struct bpf_aggregate_head head;
	struct bpf_aggregate_slot slot;
	__u64 words[BPF_AGGREGATE_LINE_WORDS];
	__s16 sums[BPF_AGGREGATE_LINE_SUMS]; /* of places, PLACE_SUMS of them in lines */
};

#endif
