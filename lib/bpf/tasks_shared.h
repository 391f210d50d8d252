/*
 * What the programs in the kernel and the program that loads them share.
 */
#ifndef BPF_TASKS_SHARED_H
#define BPF_TASKS_SHARED_H

#include <linux/types.h>

enum { BPF_TASKS_COMM_BYTES = 16, BPF_TASKS_MAX_CPUS = 8192 };

/* Flags of a process that was read. */
enum {
	BPF_TASKS_OF_KERNEL = 1, /* a thread of the kernel: comm is not all of its name */
	BPF_TASKS_TORN = 2,      /* threads ended meanwhile: the sums may have some twice, or not */
};

/* A thread. Numbers are those of the reader's PID namespace. */
struct bpf_tasks_thread {
	__u32 pid, process; /* equal: the first thread, which is part of bpf_tasks_process */
	__u64 cpu_ns, delay_ns;
};

/* A process. Sums are of all its threads, also of those that ended. */
struct bpf_tasks_process {
	struct bpf_tasks_thread first;
	__u32 parent; /* 0: not in this namespace */
	__u32 flags;
	__u32 nr_threads, nr_runs; /* the latter of the first thread */
	__u64 start_ns;            /* CLOCK_MONOTONIC, like the next */
	__u64 time_ns;             /* when it was read */
	__u64 cpu_ns, ended_ns;    /* the latter of the threads that ended */
	__u64 minor_faults, major_faults;
	__u64 read_bytes, write_bytes;
	__u64 vms_pages, rss_pages, shared_pages, peak_pages;
	char comm[BPF_TASKS_COMM_BYTES];
};

#endif
