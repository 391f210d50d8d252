/*
 * The agent of experiments (libcpuperf-causal.so, preloaded): while a thread runs the chosen
 * function all others are slowed down, by the arithmetic of causal/debts.h.
 *
 * A perf event of each thread's CPU time sends a signal: what it interrupts says where the time
 * since the last one was spent, and the thread pays there what it owes, by sleeping in the handler.
 * Who wakes another thread pays before (hooks.c), and who was woken is spared what others paid.
 *
 * The rules of guests (agent/marks.h) hold, but for sleeping, which is its work; without the
 * recorder's memory it does nothing, and when the recorder has died nobody sleeps any more.
 *
 * Files: connect.c (the memory), find.c (where candidates are), points.c (coz's macros), clock.c
 * (samples, sleeping), hooks.c (what threads call to wait and to wake), streams.c (the same of
 * pipes and sockets), polls.c (waits for several of them), peers.c (who is at their other end),
 * calls.c (the same of system calls, and dlopen).
 */
#ifndef AGENT_CAUSAL_AGENT_H
#define AGENT_CAUSAL_AGENT_H

#include "causal/debts.h"
#include "wire/causal_memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define AGENT_EXPORTED __attribute__((visibility("default")))

/* In static thread-local storage. */
struct agent_thread {
	bool is_on;               /* it is sampled */
	bool is_first;            /* with it the first process ends */
	volatile uint8_t is_busy; /* its debt is being changed */
	bool has_timer, has_fd;
	int timer, fd;
	uint64_t cpu_ns;   /* of its last sample */
	uint64_t slept_ns; /* in all */
	struct causal_debt debt;
};

extern __thread struct agent_thread agent_thread;

struct agent_state {
	struct causal_memory *shared;                  /* NULL: there is no experiment */
	int signal;                                    /* 0: none is free */
	uint32_t is_late;                              /* an object may have been loaded */
	uint32_t nr_objects, nr_ranges, nr_candidates; /* as they were checked */
};

extern struct agent_state agent;

uint64_t agent_now(clockid_t clock);
/* The number of the candidate that has the address; CAUSAL_MEMORY_NONE. Async-signal-safe. */
uint32_t agent_find(uintptr_t address);
/* Looks at what is loaded now. Not in a signal handler. */
void agent_find_again(void);
/* The same at the next call of agent_pay: what dlopen was called for is not loaded yet. */
void agent_find_later(void);
static inline struct causal_memory_candidate *agent_candidates(void)
{
	return (void *)((char *)agent.shared +
			causal_memory_candidates_at(agent.nr_objects, agent.nr_ranges));
}
/* The recorder has died, or is gone: nothing is owed. */
static inline bool agent_is_over(void)
{
	return __atomic_load_n(&agent.shared->owner, __ATOMIC_RELAXED) & CAUSAL_MEMORY_DIED;
}

/* Takes the signal. In the constructor. */
void agent_clock_init(void);
/* Samples this thread, which has paid so much. */
void agent_clock_begin(uint64_t paid_ns);
/* In a child by fork: what sampled the thread is the parent's. */
void agent_clock_forget(void);
/* The thread ends: it pays. */
void agent_clock_end(void);
/* Adds up for how long the thread waited for a CPU. Once for each. */
void agent_clock_count_queued(void);
/* Sleeps for what the thread owes, before it wakes another one. */
void agent_pay(struct agent_thread *t);
/* What the thread was blocked since the time, in which it had slept so much in all. */
void agent_woken(struct agent_thread *t, uint64_t since_ns, uint64_t slept_ns);
/* For the recorder. */
void agent_publish(const struct agent_thread *t);
/* Whether others have paid more. */
static inline bool agent_owes(const struct agent_thread *t)
{
	return t->is_on && causal_debts_all(&agent.shared->all_ns) > t->debt.paid_ns;
}
/* Of a descriptor; both change errno. Whether a write there may wake another thread. */
bool agent_may_wake(int fd);
/* Whether the program itself makes it readable. */
bool agent_is_from_inside(int fd);
/* What stands behind a hook: the next definition of the name. Also called before there was a
 * constructor. */
void *agent_behind(void **at, const char *name);
#define AGENT_BEHIND(name) ((__typeof__(real_##name))agent_behind((void **)&real_##name, #name))
/* Finds what stands behind the hooks. */
void agent_hooks_init(void);
void agent_streams_init(void);
void agent_peers_init(void);
void agent_polls_init(void);
void agent_calls_init(void);

#endif
