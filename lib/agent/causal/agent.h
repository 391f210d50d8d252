/*
 * The agent of experiments (libcpuperf-causal.so, preloaded, or loaded later): while a thread runs
 * the chosen function all others are slowed down, by the arithmetic of causal/debts.h.
 *
 * A perf event of each thread's CPU time sends a signal: what it interrupts says where the time
 * since the last one was spent, and the thread pays there what it owes, by sleeping in the handler.
 * Who wakes another thread pays before (hooks.c), and who was woken is spared what others paid.
 *
 * The rules of guests (agent/marks.h) hold, but for sleeping, which is its work; without the
 * recorder's memory it does nothing, and when the recorder has died nobody sleeps any more.
 *
 * Sessions: one from the start of the program has number 0. In a process that runs already each is
 * odd while it lasts, and even numbers are between two. What a thread knows of another session than
 * the present one is void: it begins again where it next passes here (agent_here), owing nothing.
 *
 * Files: connect.c (the memory), attach.c (sessions of a process that runs already), find.c (where
 * candidates are), regions.c (which regions of marks a thread is in), points.c (coz's macros),
 * clock.c (samples, sleeping), sources.c (what sends the signals), hooks.c (what threads call to
 * wait and to wake), streams.c (the same of pipes and sockets), polls.c (waits for several of
 * them), peers.c (who is at their other end), calls.c (the same of system calls, and dlopen).
 */
#ifndef AGENT_CAUSAL_AGENT_H
#define AGENT_CAUSAL_AGENT_H

#include "agent/late/entries.h"
#include "causal/debts.h"
#include "causal/open.h"
#include "wire/causal_memory.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#define AGENT_EXPORTED __attribute__((visibility("default")))

/* What sends a thread its signal. */
struct agent_source {
	uint32_t tid;       /* 0: free */
	uint32_t fd, timer; /* 1 + its number; 0: none */
	int signal;
};

/* In static thread-local storage. */
struct agent_thread {
	uint32_t session;
	bool is_on;                  /* it is sampled */
	bool is_first;               /* with it the first process ends */
	volatile uint8_t is_busy;    /* its debt is being changed */
	struct agent_source *source; /* of is_on */
	uint32_t nr_signals;
	uint64_t cpu_ns;   /* of its last sample */
	uint64_t slept_ns; /* in all */
	struct causal_debt debt;
};

extern __thread struct agent_thread agent_thread;

struct agent_state {
	struct causal_memory *shared; /* NULL: there was no session */
	uint64_t room;                /* bytes that are mapped there */
	uint32_t session;
	bool is_beside;   /* it was loaded late (agent/late/entries.h) */
	int signal;       /* 0: none is free */
	uint32_t is_late; /* an object may have been loaded */
	/* as they were checked */
	uint32_t nr_objects, nr_ranges, nr_candidates, nr_regions, are_regions;
};

extern struct agent_state agent;

uint64_t agent_now(clockid_t clock);
/* The number of the candidate that has the address; CAUSAL_MEMORY_NONE. Async-signal-safe. */
uint32_t agent_find(uintptr_t address);
/* Looks at what is loaded now. errno stays as it is. Not in a signal handler. */
void agent_find_again(void);
/* The same at the next call of agent_pay: what dlopen was called for is not loaded yet. */
void agent_find_later(void);
/* In a child by fork: no other thread looks. */
void agent_find_forget(void);

/* For agent.nr_regions of this session. Before it begins. */
void agent_regions_init(void);
/* Looks at what is loaded now, as agent_find_again, which calls it. */
void agent_regions_find_again(void);
/* What this thread writes from now on counts, or, if it is older than the session, from when that
 * began on. */
void agent_regions_begin(const struct agent_thread *t, bool is_older);
/* The candidates whose regions are open on this thread, each once; how many. Async-signal-safe. */
uint32_t agent_regions_open(const struct agent_thread *t, uint32_t out[CAUSAL_OPEN_MAX]);
/* The thread has slept so much, or was spared it: counts it for each region that is open on it.
 * Async-signal-safe; only where is_busy is set. */
void agent_regions_paid(const struct agent_thread *t, uint64_t ns);

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

static inline bool agent_is_measuring(void)
{
	const uint32_t session = __atomic_load_n(&agent.session, __ATOMIC_RELAXED);

	return agent.shared && (!session || session & 1);
}

/* Whether a thread may begin to be sampled. */
static inline bool agent_may_begin(void)
{
	return agent_is_measuring() && !agent_is_over();
}

/* Maps the memory of the recorder with that number, in place of that of the session before. */
bool agent_connect(uint32_t number);
/* Of a session that is over: it is returned, and pages of our own say that nothing is owed. */
void agent_disconnect(void);
/* Whether this process is the first one of the session, which may execute other programs. */
bool agent_is_first_process(void);

/* Takes the signal that is free, and that the fewest threads block: so many, by its number. False:
 * none is free. */
bool agent_clock_take(const uint32_t *nr_blocking);
/* Its action is as before, or as the program has set it meanwhile. */
void agent_clock_give_back(void);
/* Samples this thread, which has paid so much. */
void agent_clock_begin(uint64_t paid_ns);
/* A thread is in the handler. */
bool agent_clock_is_inside(void);
/* In a child by fork: none is. */
void agent_clock_forget(void);
/* The thread has another session. */
void agent_clock_renew(struct agent_thread *t);
/* This thread, if it is sampled; NULL: it is not. */
static inline struct agent_thread *agent_here(void)
{
	struct agent_thread *t = &agent_thread;

	if (__builtin_expect(t->session != __atomic_load_n(&agent.session, __ATOMIC_RELAXED), 0))
		agent_clock_renew(t);
	return t->is_on ? t : NULL;
}
/* The thread ends: it pays, and is no longer sampled. For how long it waited for a CPU is added up.
 */
void agent_clock_end(void);
/* The process ends: the same of all threads that still are. */
void agent_clock_end_all(void);
/* Sleeps for what this thread owes, before it wakes another one. */
void agent_pay(void);
/* What the thread was blocked since the time, in which it had slept so much in all. */
void agent_woken(struct agent_thread *t, uint64_t since_ns, uint64_t slept_ns);
/* For the recorder. */
void agent_publish(const struct agent_thread *t);
/* Whether others have paid more than this thread. */
static inline bool agent_owes(void)
{
	const struct agent_thread *t = agent_here();

	return t && causal_debts_all(&agent.shared->all_ns) > t->debt.paid_ns;
}
/* Of a descriptor; both change errno. Whether a write there may wake another thread. */
bool agent_may_wake(int fd);
/* Whether the program itself makes it readable. */
bool agent_is_from_inside(int fd);
enum {
	AGENT_SOURCES = 1 << 13,
	AGENT_SIGNALS = 256, /* of an event, that may be pending: twice as many */
	AGENT_COOKIE = 0x43415355,
};

/* Has a thread of this process receive signals. NULL: it cannot, or the session is over. */
struct agent_source *agent_source_open(pid_t tid, uint32_t session);
/* Of all threads that do not block the signal: each begins where it next passes here. blocked: by
 * the one that calls this, which blocks all meanwhile. */
void agent_sources_open(uint64_t blocked);
/* NULL: nothing sends that thread signals. */
struct agent_source *agent_source_find(pid_t tid);
/* Below AGENT_SOURCES. */
uint32_t agent_source_number(const struct agent_source *s);
/* AGENT_SIGNALS more. Async-signal-safe. */
void agent_source_allow(const struct agent_source *s);
/* The thread of the next one that sends signals, from *at on, which moves behind it; 0: there is
 * none.
 */
uint32_t agent_source_next(uint32_t *at);
/* Closes what is this thread's, if it still is. The same. */
void agent_source_leave(struct agent_source *s);
/* Closes all, and gives the signal back, unless one is pending, or a thread changes its own. */
void agent_sources_close(void);
/* In a child by fork: all are the parent's. */
void agent_sources_forget(void);
/* Takes a signal, of a process whose threads may block some, and looks how many may be pending. */
void agent_sources_take_signal(void);

/* Files, without the C library's functions, in which a thread may be cancelled, and which may have
 * hooks. */
static inline int agent_file_open(int dir, const char *path, int flags)
{
	return (int)syscall(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC | flags);
}

static inline long agent_file_read(int fd, void *to, size_t bytes)
{
	return syscall(SYS_read, fd, to, bytes);
}

static inline void agent_file_close(int fd)
{
	(void)syscall(SYS_close, fd);
}

/* What stands behind a hook: the next definition of the name, or that which the program has. Also
 * called before there was a constructor. */
void *agent_behind(void **at, const char *name);
#define AGENT_BEHIND(name) ((__typeof__(real_##name))agent_behind((void **)&real_##name, #name))
/* Finds what stands behind the hooks. */
void agent_hooks_init(void);
void agent_streams_init(void);
void agent_peers_init(void);
void agent_polls_init(void);
void agent_calls_init(void);

#endif
