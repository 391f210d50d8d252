/*
 * What the programs in the kernel and the program that loads them share.
 */
#ifndef BPF_PROBES_SHARED_H
#define BPF_PROBES_SHARED_H

#include "bpf/follow_shared.h"

#include <linux/types.h>

enum { BPF_PROBES_NR_SLOTS = 64, BPF_PROBES_MAX_CPUS = 8192 };

struct bpf_probes_task {
	struct bpf_follow follow;
};

/* Of one event on one CPU; cumulative. A cache line, so that CPUs do not share one. */
struct bpf_probes_counts {
	__u64 hits;
	__u64 lost; /* samples that found no place to be sent to */
	__u64 unused[6];
};

#endif
