/*
 * Looks at threads of the target that are blocked for long, where waits are found by records of
 * switches: what /proc and the thread's memory show its own user. Each long wait is seen with its
 * own stack and reason; later looks show that it still lasts. One thread uses it.
 *
 * Every 10 ms /proc/TID/syscall and the bytes of the stack become a record of off_cpu_time without
 * weight (TRACE_WAIT_IS_SEEN), whose registers are only those that /proc shows
 * (trace_record.is_seen).
 */
#ifndef SESSION_SEEN_H
#define SESSION_SEEN_H

#include "base/reading.h"
#include "trace/record.h"

struct root;

enum {
	SEEN_SLOTS = 1024,         /* a thread with the number of another replaces it */
	SEEN_PERIOD_NS = 10000000, /* between two calls of seen_look */
	SEEN_STACK_BYTES = 24 << 10,
	SEEN_NR_REGS = 64,
};

struct seen_thread {
	uint32_t pid, tid; /* tid 0: none */
	bool is_blocked;   /* by its last switch */
	uint64_t switch_ns, due_ns;
	uint64_t runs; /* times that it had run when its stack was read; 0: it was not */
};

struct seen {
	const struct root *root; /* borrowed */
	bool is_on;
	uint32_t stack_bytes; /* that are read of each */
	uint64_t due_ns;
	uint64_t since_ns; /* the last call of seen_renew, or 0 */
	size_t next;       /* slot */
	struct seen_thread slot[SEEN_SLOTS];
	uint8_t stack[SEEN_STACK_BYTES];
};

/* A thread that was blocked at time_ns. */
struct seen_wait {
	uint32_t pid, tid;
	uint64_t time_ns;
	enum trace_reason reason;
	bool has_stack; /* else it was seen in this wait before */
	uint64_t regs_abi;
	uint64_t regs[SEEN_NR_REGS]; /* by bit of perf_regs.h: those that are known */
	const uint8_t *stack;        /* borrowed; from the stack pointer on */
	uint32_t stack_bytes;
	struct reading delay; /* delays.h, at that time; without an event */
};
typedef void seen_fn(void *arg, const struct seen_wait *w);

/* This thread was switched in or out; blocked: out, and not preempted. Calls may be out of order.
 */
void seen_switch(struct seen *s, uint32_t pid, uint32_t tid, bool is_blocked, uint64_t time_ns);
/* It may be blocked since before the records of switches. */
void seen_add(struct seen *s, uint32_t tid);
/* The same of the threads of a process, and of its descendants. */
void seen_add_tree(struct seen *s, uint32_t pid);
/* After a gap without records: any thread may be blocked, and has its stack again. */
void seen_renew(struct seen *s);
/* Looks at those that are due, up to a limit. Takes about 20 us for each. */
void seen_look(struct seen *s, uint64_t now_ns, seen_fn *fn, void *arg);

#endif
