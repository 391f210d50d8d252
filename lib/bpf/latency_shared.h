/*
 * What the programs of latency.bpf.c and the program that loads them share.
 */
#ifndef BPF_LATENCY_SHARED_H
#define BPF_LATENCY_SHARED_H

#include "bpf/follow_shared.h"

#include <linux/types.h>

/* Kinds of events; of BPF_LATENCY_SYSCALL there is one for each system call. */
enum bpf_latency_kind {
	BPF_LATENCY_RUN_QUEUE,
	BPF_LATENCY_BLOCK,
	BPF_LATENCY_IRQ,
	BPF_LATENCY_SOFTIRQ,
	BPF_LATENCY_SYSCALL,
};

enum {
	/* Log-linear: below 2^BITS each ns has a bucket, then each power of two has 2^BITS. */
	BPF_LATENCY_BITS = 4,
	BPF_LATENCY_MAX_LOG2 = 42, /* the last bucket also has what is longer */
	BPF_LATENCY_NR_BUCKETS = (BPF_LATENCY_MAX_LOG2 - BPF_LATENCY_BITS + 1) << BPF_LATENCY_BITS,
	BPF_LATENCY_NR_SLOTS = 64,     /* events of a session */
	BPF_LATENCY_NR_SYSCALLS = 512, /* numbers from 0 */
	BPF_LATENCY_NR_SOFTIRQS = 16,
	BPF_LATENCY_MAX_CPUS = 8192,
};

/* What a histogram is of. Processes and disks have one for all CPUs; interrupts and the run queue
 * have one per CPU, so that CPUs share no memory. */
struct bpf_latency_key {
	__u16 slot;
	__u16 part; /* of block: the request was 0: queued, 1: in the device */
	__u32 cpu;
	__u64 id; /* process; block: device << 8 | operation; irq, softirq: its number */
};
#define BPF_LATENCY_OTHERS (~(__u64)0) /* the id of what finds no room */

/* Cumulative. */
struct bpf_latency_histogram {
	char name[16]; /* process: its command; block: disk; irq: its first handler */
	__u64 sum_ns, max_ns;
	__u64 bucket[BPF_LATENCY_NR_BUCKETS];
};

/* What is known of a task. All zero: nothing yet. */
struct bpf_latency_task {
	__u64 entered_ns; /* its system call; 0: none that is measured */
	__u64 queued_ns;  /* since when it waits for a CPU; 0: it does not, or it is not known */
	__u32 syscall;    /* slot */
	__u32 zero;
	struct bpf_follow follow;
};

/* Of one CPU; cumulative. Of each slot, how many were added to histograms. */
struct bpf_latency_counts {
	__u64 nr[BPF_LATENCY_NR_SLOTS];
};

#endif
