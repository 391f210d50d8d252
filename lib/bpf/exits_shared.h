/*
 * What the programs in the kernel and the program that loads them share.
 */
#ifndef BPF_EXITS_SHARED_H
#define BPF_EXITS_SHARED_H

#include <linux/types.h>

enum { BPF_EXITS_COMM_BYTES = 16, BPF_EXITS_MAX_COMMANDS = 1024 };

/* Sums over all threads of a process, until its parent has waited for it. */
struct bpf_exits_sums {
	__u64 cpu_ns, minor_faults, major_faults, read_bytes, write_bytes;
	__u64 delay_ns;   /* waiting for a CPU, threads until they ended */
	__u64 nr_runs;    /* of first threads; 0: the kernel does not account for waiting */
	__u64 peak_pages; /* of resident memory, as wait4 returns it; 0 of several processes */
	__u64 nr_partial; /* processes that had further threads, which waited after they ended */
};

struct bpf_exits_process {
	__u32 pid;
	__u32 is_whole; /* else it has ended, and may use more until it is gone */
	__u64 start_ns; /* CLOCK_MONOTONIC */
	char comm[BPF_EXITS_COMM_BYTES];
	struct bpf_exits_sums sums;
};

#endif
