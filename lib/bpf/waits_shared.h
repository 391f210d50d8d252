/*
 * What the programs in the kernel and the program that loads them share.
 */
#ifndef BPF_WAITS_SHARED_H
#define BPF_WAITS_SHARED_H

#include "bpf/follow_shared.h"
#include "bpf/interpreted_shared.h"

#include <linux/types.h>

enum bpf_wait { BPF_WAIT_OFF_CPU, BPF_WAIT_RUN_QUEUE, BPF_NR_WAITS };

/* Events: the waits, and: */
enum { BPF_WAITS_WAKEUPS = BPF_NR_WAITS, BPF_WAITS_NR_SUMS };

/* What is known of a task that is measured. All zero: nothing yet. */
struct bpf_waits_task {
	__u64 since; /* in ns of CLOCK_MONOTONIC: its phase is added up until then; 0: not known */
	__u64
	    waited[BPF_NR_WAITS]; /* of its last wait, up to since, until it was sampled or read */
	__u64 waker;              /* who ended it: the number of a use of a slot; 0: not stored */
	__u64 left[BPF_NR_WAITS]; /* ns until the next sample; 0: not drawn yet */
	__u64 delay;              /* for CPUs in all, by the kernel, when it was switched out */
	__u64 futex;              /* the user address that it waits at; 0: another wait */
	__u32 owner;              /* of it when the wait began: a thread, if it is a lock; 0 */
	__u32 phase;              /* enum bpf_wait, or BPF_NR_WAITS: it runs */
	struct bpf_follow follow;
};

enum {
	BPF_WAITS_SPAN_BITS = 27, /* of ns: a span is 134 ms long */
};

struct bpf_waits_pace {
	__u32 span;
	__u16 nr, level; /* samples sent in this span; of base/wait_thinning.h */
};

/* Of one CPU; cumulative. A cache line, so that CPUs do not share one. */
struct bpf_waits_sums {
	__u64 ns[BPF_NR_WAITS];      /* of waits that have ended, without: */
	__u64 settled[BPF_NR_WAITS]; /* what was added up at readings */
	__u64 wakeups;
	__u32 due; /* the task that runs has a wait to be sampled */
	__s32 pid; /* the task that runs, if sched_switch reported it */
	struct bpf_waits_pace pace[BPF_NR_WAITS];
};

/* The raw data of a sample. 12 bytes: with the kernel's length before them two words. */
struct bpf_waits_sample {
	__u64 ns;      /* the wait that was hit; above it the level (base/wait_thinning.h) */
	__u32 version; /* 0 */
	/* Only of a wait at a futex: the version is BPF_WAITS_AT_FUTEX. */
	__u32 owner; /* its number as its program sees it, not checked; 0: none */
	__u64 futex;
	__u32 zero; /* 28 bytes: with the kernel's length four words */
} __attribute__((packed));

enum { BPF_WAITS_PLAIN_BYTES = 12, BPF_WAITS_AT_FUTEX = 3 };

enum {
	BPF_LASTING_REGS = 64,        /* of struct pt_regs; a power of 2 */
	BPF_LASTING_ADDRESSES = 128,  /* of each side; a power of 2 */
	BPF_LASTING_FRAMES = 256,     /* that are interpreted */
	BPF_LASTING_STACK = 24 << 10, /* so that all has room in the 32 KiB of an iterator */
	BPF_LASTING_INTERPRETED = sizeof(struct bpf_interpreted_stack), /* bytes, at most */
};

/* What the iterator writes of a task whose wait lasts, if a sample is due: the members up to
 * kernel, then as many of each list as there are. */
struct bpf_waits_lasting {
	__u64 time_ns;
	__u64 ns[BPF_NR_WAITS];   /* the part of the wait that was hit; 0: no sample is due */
	__u32 pid, tid;           /* in the reader's PID namespace */
	__u32 cpu;                /* that the wait counts on */
	__u32 nr_kernel, nr_user; /* addresses, innermost first; of the program without the first */
	__u32 has_regs;           /* it is no thread of the kernel */
	__u32 stack_bytes;
	__u32 owner;             /* as in bpf_waits_sample, like the next */
	__u32 interpreted_bytes; /* of a bpf_interpreted_stack, behind the lists; 0: none */
	__u32 pad;
	__u64 futex;                  /* of the wait that is blocked; 0: none */
	__u64 regs[BPF_LASTING_REGS]; /* as in struct pt_regs */
	__u64 kernel[BPF_LASTING_ADDRESSES];
	__u64 user[BPF_LASTING_ADDRESSES];
	__u8 stack[BPF_LASTING_STACK]; /* from the stack pointer on */
};

enum {
	BPF_WAKER_SLOTS = 512, /* for wakers of tasks that do not run yet; a power of 2 */
	BPF_WAKER_REGS = 16,
	BPF_WAKER_FUTEX = 15, /* the register's place that has the futex, */
	BPF_WAKER_AGO = 14,   /* and the ns from the waking to the sample */
	BPF_WAKER_KERNEL = 64,
	BPF_WAKER_USER = 120,
	BPF_WAKER_PIECE = 1024, /* of its stack, copied at once: as much as most sessions need */
	BPF_WAKER_PIECES = 16,  /* if stacks are unwound while they are recorded */
	BPF_WAKER_SHORT = 704,  /* bytes up to user */
	BPF_WAKER_HEAD = 1664,  /* bytes up to stack */
};

/* The raw data of a sample with its waker: SHORT if the waker has no user part, else HEAD and
 * stack_bytes. */
struct bpf_waits_waker {
	__u64 ns;      /* as in bpf_waits_sample */
	__u32 version; /* 1 */
	__u32 owner;   /* as in bpf_waits_sample */
	__u32 pid, tid;
	__u32 nr_kernel, nr_user; /* addresses, innermost first */
	char comm[16];
	__u32 nr_regs, stack_bytes;
	__u64 reg_bits; /* of perf_regs.h; the values are in their order */
	__u64 regs[BPF_WAKER_REGS];
	__u64 kernel[BPF_WAKER_KERNEL];
	__u64 user[BPF_WAKER_USER];
	/* from the stack pointer on; slots have room for as many pieces as the session needs */
	__u8 stack[BPF_WAKER_PIECES * BPF_WAKER_PIECE];
};

enum {
	BPF_WAIT_STEPS = 512, /* of a wait's weight, over: */
	BPF_WAIT_STEPS_OF_MEAN = 32,
};

/* wait_weight of base/wait_weight.h without floating point, for a mean of at most 2^42: a sample of
 * a wait of ns counts for that and steps[] × mean / 2^16, between two steps a line. */
static inline __u64 bpf_wait_weight(const volatile __u32 *steps, __u64 ns, __u64 mean)
{
	__u64 at, scaled, rest, low, high;

	if (ns >= mean * (BPF_WAIT_STEPS / BPF_WAIT_STEPS_OF_MEAN)) /* its sample is certain */
		return ns;
	scaled = ns * BPF_WAIT_STEPS_OF_MEAN;
	at = scaled / mean & (BPF_WAIT_STEPS - 1);
	rest = (scaled % mean << 12) / mean;
	low = steps[at];
	high = steps[at + 1];
	return ns + (mean * (low - ((low - high) * rest >> 12)) >> 16);
}

struct bpf_waker_slot {
	__u64 number; /* of its use */
	__u64 ns;     /* when it was, CLOCK_MONOTONIC */
	struct bpf_waits_waker waker;
};

#endif
