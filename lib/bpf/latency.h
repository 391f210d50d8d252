/*
 * How long system calls, requests to disks, interrupts and waits for a CPU take, measured by
 * programs in the kernel: log-linear histograms. Only this room sees libbpf.
 *
 * The table of histograms has a fixed size: what finds no room is in the histogram of others.
 * Buckets are log-linear, 16 to a power of two. Start times of system calls and of waits for a CPU
 * are stored in the task; interrupts and requests are of the machine, also with a target.
 * kernel/latency.h subtracts two readings and adds up the CPUs.
 */
#ifndef BPF_LATENCY_H
#define BPF_LATENCY_H

#include "bpf/follow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cpuset;
struct err;
struct latency;

enum latency_kind {
	LATENCY_RUN_QUEUE,
	LATENCY_BLOCK,
	LATENCY_IRQ,
	LATENCY_SOFTIRQ,
	LATENCY_SYSCALL
};

enum {
	LATENCY_MAX_EVENTS = 64,
	LATENCY_MAX_SYSCALLS = 512, /* numbers from 0 */
	/* Below 2^BITS ns each ns has a bucket, then each power of two has 2^BITS. */
	LATENCY_BITS = 4,
	LATENCY_NR_BUCKETS = 624, /* the last one has also what is longer, from 2^42 ns */
	LATENCY_NAME_BYTES = 16,
};

struct latency_event {
	enum latency_kind kind;
	uint32_t syscall; /* its number */
};

struct latency_config {
	const struct latency_event *events; /* different ones; at most LATENCY_MAX_EVENTS */
	size_t nr_events;
	/* Of system calls and of waits for a CPU: */
	struct follow_config follow;
	const struct cpuset *cpus; /* what ends on other CPUs is not measured; NULL: all are */
};

/* Loads the programs that the events need. 0 or -errno with *e: -EPERM: not permitted; -ENOTSUP:
 * this kernel, or this build, cannot do it; -ENOMEM. One thread. */
int latency_open(const struct latency_config *config, struct latency **out, struct err *e);
void latency_close(struct latency *l); /* NULL is fine */
/* A process of the target, which exists already, or has ended, or is a thread. 0 or -errno. */
int latency_add_process(struct latency *l, pid_t process);
/* Attaches the programs, once. 0 or -errno with *e. */
int latency_start(struct latency *l, struct err *e);

/* Enables or disables an event: what ends while it is disabled is not measured. All are enabled at
 * first. */
void latency_switch(struct latency *l, size_t event, bool is_enabled);
/* How many of the event ended on the CPU up to now. Any thread. */
uint64_t latency_count(const struct latency *l, size_t event, uint32_t cpu);

/* A histogram with everything since the start, of a CPU or of all. */
struct latency_row {
	size_t event;
	uint32_t part, cpu; /* part: of LATENCY_BLOCK 0: before it was issued, 1: in the device */
	uint64_t id;        /* LATENCY_OTHERS, or: */
	/* a process; major << 28 | minor << 8 | operation of a request; the number of an interrupt
	 */
	char name[LATENCY_NAME_BYTES]; /* of process, disk, or handler; "" */
	uint64_t sum_ns, max_ns;       /* max_ns may be of another in the last bucket */
	const uint64_t *buckets;       /* LATENCY_NR_BUCKETS; borrowed during the call */
};
#define LATENCY_OTHERS UINT64_MAX /* of those for which there was no room */
/* Calls fn for each histogram that is not empty, in any order. 0, what fn returned first, or
 * -errno. */
int latency_read(struct latency *l, int (*fn)(const struct latency_row *row, void *arg), void *arg);
/* Frees the room of a histogram that will not grow any more. */
void latency_forget(struct latency *l, const struct latency_row *row);

#endif
