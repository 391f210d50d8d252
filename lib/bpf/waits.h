/*
 * How long tasks wait, measured by programs in the kernel: blocked, from the switch out to the
 * wakeup, and for a CPU, from the wakeup or the preemption to the switch in. Sums per CPU, and
 * samples in the rings of perf events of type software:bpf_output. Only this room sees libbpf.
 *
 * Programs (programs/waits.bpf.c) store the state of each task in the task itself. Times enabled,
 * rings and hotplug work as for all events, because a perf event bpf_output is opened for each
 * event and CPU: the sums, in mapped memory, are read in place of its count. At each boundary an
 * iterator adds up the waits that last.
 *
 * A sample is sent to that perf event when the task runs again (bpf_perf_event_output): the kernel
 * adds callchain, registers and stack bytes of the task that waited. Its raw data has the length
 * of the wait, from which its weight follows (base/wait_weight.h); beyond max_frequency some are
 * left out by chance, and the others say so (base/wait_thinning.h). attr.config1 marks such events
 * for readers.
 *
 * A task that is switched out in futex(2) has the address in its value, and the owner if a lock is
 * there: both are in the sample (trace/futex.h). With the flag `waker` a program at sched_waking,
 * where the waker still runs, stores its callchain, registers and the innermost bytes of its stack
 * in one of 512 slots, if the wait is long enough to be sampled (trace/waker.h). Interrupts are
 * recognised by their entries in that stack, as preempt_count cannot be read on every kernel.
 */
#ifndef BPF_WAITS_H
#define BPF_WAITS_H

#include "bpf/selected.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct aggregate;
struct aggregate_config;
struct err;
struct interpreted;
struct waits;

enum waits_kind { WAITS_OFF_CPU, WAITS_RUN_QUEUE, WAITS_WAKEUPS, WAITS_NR };

/* A wait that lasts at a reading, and that a sample is due of. Lists are borrowed. */
struct waits_lasting {
	enum waits_kind kind;
	uint64_t time_ns, ns; /* CLOCK_MONOTONIC; of the wait, up to then, that had no sample */
	uint32_t pid, tid;    /* in this program's PID namespace */
	uint32_t cpu;         /* that it counts on */
	uint64_t futex;       /* the user address at which it waits; 0: none */
	uint32_t owner;       /* a thread, as its program says; 0: none */
	uint32_t nr_kernel, nr_user;
	const uint64_t *kernel, *user; /* addresses, innermost first */
	uint64_t regs_abi;             /* of the program: PERF_SAMPLE_REGS_ABI_…; 0: none */
	const uint64_t *regs;          /* 64 of them, by bit of perf_regs.h */
	const uint8_t *stack;          /* from the stack pointer on */
	uint32_t stack_bytes;
	/* What it interprets, as in bpf/interpreted_shared.h, without its tail; NULL: nothing. */
	const uint8_t *interpreted;
	uint32_t interpreted_bytes;
};
typedef void waits_fn(const struct waits_lasting *l, void *arg);

struct waits_config {
	/* per kind, in ns of waiting per sample, at most 2^42; 0: not sampled. Not of wakeups. */
	uint64_t mean_ns[WAITS_NR];
	/* Samples of a CPU per second: of more, one stands for several (base/wait_thinning.h). 0:
	 * any number. */
	uint64_t max_hz[WAITS_NR];
	/* Samples of the kind are added up, in tables of these CPUs: borrowed while it is opened.
	 */
	bool is_added_up[WAITS_NR];
	const struct aggregate_config *tables;
	uint32_t max_stack; /* addresses of stacks that are added up */
	bool has_wakers;    /* samples of off-CPU time have the stack of who woke the task, */
	uint32_t waker_stack_bytes; /* with so much of it, at most 16 KiB; at least 1 KiB */
	bool counts_wakeups;        /* else their sum is 0 */
	bool selects;               /* also the samples of a command from those of a CPU's event */
	struct follow_config follow;
	/* What samples that are sent have of interpreters, from interpreted_begin on; borrowed.
	 * NULL: nothing. */
	struct interpreted *interpreted;
	bool interprets_asleep; /* of waits that last, too: the verifier needs 0.2 s for it */
	/* Receives samples of waits that last; if one kind is sampled. */
	waits_fn *on_lasting;
	void *arg;
	bool has_callchain;   /* with the program's addresses, by its frame pointers */
	uint32_t stack_bytes; /* with so much of the program's stack, at most 24 KiB */
};

/* Loads the programs. 0 or -errno with *e: -EPERM: not permitted; -ENOTSUP: this kernel, or this
 * build, cannot do it; -ENOMEM. One thread. */
int waits_open(const struct waits_config *config, struct waits **out, struct err *e);
void waits_close(struct waits *w); /* NULL is fine */

/* The tables of a kind that is added up, a new object with each call. The programs fill them if
 * they are not held. 0 or -errno with *e. */
int waits_open_aggregate(struct waits *w, enum waits_kind kind,
			 const struct aggregate_config *config, struct aggregate **out,
			 struct err *e);

/* The descriptor of the program for PERF_EVENT_IOC_SET_BPF; borrowed. -1: it does not select. */
struct selected_program waits_selected(const struct waits *w);
/* A process of the target, which exists already, or has ended, or is a thread. 0 or -errno. */
int waits_add_process(struct waits *w, pid_t process);
/* Sends the samples of the CPU to this event of type software:bpf_output, in place of an older one.
 * Borrows fd until the event is closed. 0 or -errno. */
int waits_add_output(struct waits *w, enum waits_kind kind, uint32_t cpu, int fd);
/* Attaches the programs, once. 0 or -errno with *e. */
int waits_start(struct waits *w, struct err *e);

/* Enables or disables one event: what lies outside is neither added up nor sampled. A wait that is
 * disabled is settled. All are enabled at first. One thread, that of waits_settle. */
void waits_switch(struct waits *w, enum waits_kind kind, bool is_enabled);
/* Adds the waits that last up to now to the sums, and passes samples of them to on_lasting. What
 * lasts longer is a wait of its own. Takes about 1 us per task. One thread. 0 or -errno. */
int waits_settle(struct waits *w);
/* The sum on the CPU up to now: ns (of waits that last, up to waits_settle), or wakeups. Any
 * thread.
 */
uint64_t waits_sum(const struct waits *w, enum waits_kind kind, uint32_t cpu);

#endif
