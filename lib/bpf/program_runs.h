/*
 * How long each program in the kernel (BPF) runs, and how often. The kernel adds that up while it
 * is asked to: sysctl kernel.bpf_stats_enabled, or a descriptor of BPF_ENABLE_STATS (Linux 5.8), of
 * whoever. Each run takes two readings of a clock more then.
 */
#ifndef BPF_PROGRAM_RUNS_H
#define BPF_PROGRAM_RUNS_H

#include <stdint.h>

struct err;

/* A program, and its sums since it was loaded. */
struct program_runs {
	uint32_t id;   /* not used again until 2^31 others were loaded */
	char name[17]; /* as it was loaded: not safe to show; "": it has none */
	uint64_t run_ns, nr_runs;
};

/* Makes the kernel add up until *fd is closed. 0, or -errno with *e: -EPERM: CAP_SYS_ADMIN is
 * missing; -ENOTSUP: this kernel, or this build, cannot do it. */
int program_runs_open(int *fd, struct err *e);
/* Passes the programs that are loaded, by id, ascending. fn: 0 to go on, or -errno, which is
 * returned. 0 or -errno. */
typedef int program_runs_fn(void *arg, const struct program_runs *p);
int program_runs_each(program_runs_fn *fn, void *arg);

#endif
