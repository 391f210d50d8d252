/*
 * The agent that measures a program's heap from within (libcpuperf-agent.so, preloaded): the state
 * that its files share.
 *
 * It is a guest. It uses memory of its own (mmap) and what the recorder shares with it
 * (wire/heap_memory.h), never the heap; it preserves errno; it writes nothing; what it cannot do it
 * counts. Its entry points are heap functions of the program (hooks.c), so any of them may be
 * called in any thread, before constructors and after destructors, in signal handlers, while locks
 * of the dynamic loader are held, and again from within itself: `is_busy` is set around all that
 * could.
 *
 * After fork the child's memory is a copy, but its view of the recorder's memory is the parent's.
 * So a word in a page of MADV_WIPEONFORK says whether the connection is this process's: each call
 * reads it first. A child connects when it first has something to write.
 *
 * Files of the room: hooks.c and new.c (the allocator), wrappers.c (the table of resources),
 * stack.c and tree.c (call paths), blocks.c, sums.c, lives.c (what is added up), connect.c (the
 * recorder), exec.c and environment.c (programs that are executed), filters.c, limits.c, vfork.c
 * (what programs do that could harm).
 *
 * A new system call of the agent needs a row in filters.c: what a filter forbids is a bit of
 * `agent.forbidden`, which each place asks that makes such a call (agent_may).
 */
#ifndef AGENT_HEAP_AGENT_H
#define AGENT_HEAP_AGENT_H

#include "agent/late/entries.h"
#include "wire/heap_memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AGENT_RARE __attribute__((noinline, cold))
/* What a child that only ends runs: in one place, as each page of text costs it a fault. */
#define AGENT_OF_ENDS __attribute__((noinline, section(".text.ends")))
/* What programs call: of i386 some have stacks that are aligned to 4 bytes alone. */
#if defined(__i386__)
#define AGENT_ALIGNS __attribute__((force_align_arg_pointer))
#else
#define AGENT_ALIGNS
#endif
#define AGENT_LIKELY(x)   __builtin_expect(!!(x), 1)
#define AGENT_UNLIKELY(x) __builtin_expect(!!(x), 0)

struct agent_thread;

/* What a thread has at hand. In static thread-local storage, so it is small. */
struct agent_local {
	int64_t left;        /* bytes until the next sample */
	uint32_t generation; /* of the connection that the rest is of; 0: of none */
	uint16_t is_busy;
	uint16_t is_ended; /* what it still allocates is not measured */
	struct heap_thread *slot;
	struct heap_class *classes; /* of the slot; NULL: it has none yet */
	struct agent_thread *own;
	/* The address that the last allocation returned; 0: freed since. Its complement: a search
	 * for pointers does not see it. */
	uint64_t last;
	uint64_t random;
	/* The stack of its handlers; and what its handler has had in its place since then. */
	struct agent_alternate {
		uint64_t begin, bytes; /* bytes 0: none is known */
	} alternate[2];
	struct agent_times *times; /* NULL: it is not sampled by timers */
	uint32_t blocks_ours;      /* the program blocked our signal, as it believes */
	uint32_t may_be_child;     /* the thread called vfork since it was last known */
	/* Change of what is live that the header's sum misses, and how large it may become. */
	int64_t live, live_step;
	uint64_t of_operators; /* calls of C++'s operators, of an allocator's own */
	uint32_t level;        /* by which left was drawn */
	uint32_t nr_samples;   /* that are not in what samples have cost yet */
	int32_t nr_kept;       /* more exact blocks that are live: the same */
};

/* As is_busy: the agent itself asks the recorder, by functions that have hooks; or it is in the
 * handler of its timers. */
enum { AGENT_ASKS = 1 << 8, AGENT_SAMPLES = 1 << 9 };

extern __thread struct agent_local agent_local;

/* A child by clone that got thread-local memory which the C library did not make: what is in it has
 * no address, not even errno. Sandboxes make such children for one system call. On other machines
 * than x86-64 that memory is as good as another thread's. */
static inline bool agent_has_no_locals(void)
{
#if defined(__x86_64__)
	uint64_t self;

	__asm__ volatile("mov %%fs:0, %0" : "=r"(self));
	return AGENT_UNLIKELY(!self);
#else
	return false;
#endif
}

struct agent_state {
	uint32_t *alive; /* the generation of the connection; 0 after fork. NULL: no page yet */
	struct heap_header *shared; /* NULL: not connected */
	uint32_t generation;
	uint32_t number; /* of the recorder's socket */
	uint32_t is_off; /* there is nobody to connect to */
	uint32_t
	    attached;     /* the recorder's number, if it loaded the agent; 0: by the environment */
	bool is_beside;   /* it was: what it passes on to is not behind it, but beside it */
	bool is_detached; /* shared is a memory of before, which nobody measures */
	uint32_t is_locked; /* a thread connects */
	bool is_every;      /* all allocations are samples */
	bool has_blocks, has_stacks, has_peak, has_overhead, has_untouched, has_lives, has_pattern;
	bool has_paths;
	uint32_t wants; /* enum heap_want */
	int32_t pid;    /* that connected: a child by vfork has its memory, and another number */
	uint64_t rate;
	uint64_t page; /* bytes */
	struct heap_class *shared_classes;
	uint8_t *filter;      /* by hash of an address */
	uint32_t filter_mask; /* of its places */
	uint32_t level;       /* of samples now: heap_level_rate; 0 unless the rate adapts */
	bool is_adaptive;
	/* How live bytes are counted: all blocks by their usable size, or 0, by samples. */
	uint32_t is_live_counted; /* enum agent_count */
	/* enum agent_may, for which a system call is needed that the program forbade itself */
	uint32_t forbidden;
	uint64_t forbidden_ns;     /* since then */
	uint64_t text, text_bytes; /* of this library */
};

extern struct agent_state agent;

enum {
	AGENT_FILTER = 1 << 16,
	AGENT_FILTER_WIDE = 1 << 17, /* many may be tracked; each free reads it: from the caches */
	AGENT_FILTER_FULL = 255,     /* stays */
};

/* How many tracked blocks have the hash of that address. Where each one is tracked, all are full.
 */
static inline uint8_t *agent_filter(uint64_t address)
{
	/* blocks of a size lie at equal distances: those of each 16 MiB are moved by another one */
	const uint32_t shift = (uint32_t)(address >> 24) * 40503;

	return &agent
		    .filter[((uint32_t)(address >> 4 ^ address >> 17) + shift) & agent.filter_mask];
}

static inline void agent_filter_change(uint64_t address, int by)
{
	uint8_t *place = agent_filter(address), old = *place;

	while (old != AGENT_FILTER_FULL &&
	       !__atomic_compare_exchange_n(place, &old, (uint8_t)(old + by), true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static inline void agent_filter_add(uint64_t address)
{
	agent_filter_change(address, 1);
}

static inline void agent_filter_remove(uint64_t address)
{
	agent_filter_change(address, -1);
}

static inline uint32_t agent_alive(void)
{
	return agent.alive ? __atomic_load_n(agent.alive, __ATOMIC_ACQUIRE) : 0;
}

/* What the agent does by system calls that the program need not make itself. */
enum agent_may {
	AGENT_MAY_MAP = 1 << 0,
	AGENT_MAY_UNMAP = 1 << 1,
	AGENT_MAY_PROBE = 1 << 2, /* whether a page is there */
	AGENT_MAY_ASK_TID = 1 << 3,
	AGENT_MAY_ASK_PID = 1 << 4,
	AGENT_MAY_ASK_PAGES = 1 << 5, /* whether they are in memory */
	AGENT_MAY_ASK_RANDOM = 1 << 6,
	AGENT_MAY_READ_CLOCK = 1 << 7,
	AGENT_MAY_YIELD = 1 << 8,    /* wait */
	AGENT_MAY_TIME = 1 << 9,     /* threads */
	AGENT_MAY_CONNECT = 1 << 10, /* and all else that it does in each process */
	AGENT_MAY_START = 1 << 11,   /* what it does beside that in programs that are executed */
};

/* False: for one of these the program, or a thread of it, would be killed. */
static inline bool agent_may(uint32_t what)
{
	return AGENT_LIKELY(!(agent.forbidden & what));
}

/* The system calls that a process of this connection needs. */
static inline uint32_t agent_needs(void)
{
	return AGENT_MAY_CONNECT | (agent.wants & HEAP_WANTS_TIMES ? AGENT_MAY_TIME : 0);
}

/* As agent_pages made them (agent/late/entries.h). */
void agent_free_pages(void *pages, size_t bytes);

/* CLOCK_MONOTONIC; not 0. */
uint64_t agent_now(void);

/* While another thread holds the word. */
void agent_wait(uint32_t *word);

/* Of glibc 2.32 and later: not 0 until the process first makes a thread. */
extern char __libc_single_threaded __attribute__((weak));

/* Then no operation need be atomic: a handler of a signal does not come here while the thread is
 * busy. */
static inline bool agent_is_alone(void)
{
	return &__libc_single_threaded && __libc_single_threaded;
}

/* False: another thread holds it. */
static inline bool agent_lock_at_once(uint32_t *word)
{
	if (agent_is_alone()) {
		*(volatile uint32_t *)word = 1;
		return true;
	}
	return AGENT_LIKELY(!__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE));
}

static inline void agent_lock(uint32_t *word)
{
	while (!agent_lock_at_once(word))
		agent_wait(word);
}

static inline void agent_unlock(uint32_t *word)
{
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

/* The sum. */
static inline uint64_t agent_add(uint64_t *to, uint64_t n)
{
	if (!agent_is_alone())
		return __atomic_add_fetch(to, n, __ATOMIC_RELAXED);
	__atomic_store_n(to, *to + n, __ATOMIC_RELAXED);
	return *to;
}

/* A word that this thread alone writes, and the recorder may read at any time: plain writes of 32
 * bits would be two. */
static inline void agent_set(uint64_t *word, uint64_t value)
{
#if defined(__i386__)
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
#else
	*word = value;
#endif
}

static inline void agent_plus(uint64_t *word, uint64_t n)
{
	agent_set(word, *word + n);
}

/* The same where a handler of a signal may come between, which adds, too: in one instruction. */
static inline void agent_plus_at_once(uint64_t *word, uint64_t n)
{
#if defined(__i386__)
	uint64_t old = *word; /* in two parts, and if these do not match, read again below */
	bool is_done;

	do {
		const uint64_t new = old + n;

		__asm__ volatile("cmpxchg8b %0"
				 : "+m"(*word), "+A"(old), "=@ccz"(is_done)
				 : "b"((uint32_t) new), "c"((uint32_t)(new >> 32)));
	} while (AGENT_UNLIKELY(!is_done));
#else
	*word += n;
#endif
}

static inline void agent_count(uint64_t *counter)
{
	agent_add(counter, 1);
}

static inline void *agent_at(uint64_t offset)
{
	return (char *)agent.shared + offset;
}

/* --- connect.c */

/* Connects the process if it is not, and prepares the thread, which is busy, and inside until it
 * leaves: so long the recorder's memory stays. False: nothing is measured. */
bool agent_attach(struct agent_local *t);
/* The same, of a thread that was attached. False: to another memory, or none. */
bool agent_stay(struct agent_local *t);
/* No more inside, or busy. */
void agent_leave(struct agent_local *t);

/* Connects a process that is not yet, and attaches the thread: before the program makes that
 * impossible (filters of system calls, other users and namespaces, limits), or the process is one
 * whose memory another is about to share. */
void agent_attach_now(void);

/* Connects to another recorder than that of the environment. 0 or -errno. */
int agent_connect(uint32_t number);
void agent_disconnect(void);
/* Whether the recorder is there to which it is connected. */
bool agent_is_measured(void);
/* After agent_disconnect: no thread is inside, and the memory is returned. */
bool agent_is_quiet(void);
/* The process ends, by a call that runs no destructors. */
void agent_ends(void);

/* --- limits.c: of the address space */

/* Maps the recorder's memory, or as much of it as there is room for. NULL: none. *is_limited: the
 * program's limit leaves room for less. */
struct heap_header *agent_map(int fd, bool *is_limited);
/* All but the header and the threads, of which the bytes are returned. */
uint64_t agent_unmap_sums(struct heap_header *h);
/* The program is about to limit itself (of: a resource of setrlimit). */
void agent_limiting(int pid, int of, const void *limit);
/* The same, where struct rlimit has words of 32 bits. */
void agent_limiting_32(int pid, int of, const void *limit);

/* The program is about to lock all of its memory. */
void agent_locking(void);

/* --- filters.c: of system calls (seccomp) */

/* The program is about to install one: sets what is forbidden then, and returns what was before. */
uint32_t agent_filtering(bool is_strict, const void *program);
/* The same for a program that is about to forbid itself the counter of cycles (PR_SET_TSC), by
 * which clocks are read. */
uint32_t agent_clock_stopping(void);
/* The program did not do it: what was forbidden before is again all that is. */
void agent_not_filtering(uint32_t before);

/* --- syscall.c: the function behind, in a process that runs already */

void agent_syscall_find(void);

/* --- missed.c: what the recorder is to say. Safe after vfork, and in a child by fork that is not
 * connected: what it says is its parent's. */

/* name: of a program, or "". NULL: nobody listens. */
struct heap_missed *agent_missed(enum heap_miss why, const char *name);
/* Takes one back that did not happen. NULL is fine. */
void agent_not_missed(struct heap_missed *m);

/* --- find.c */

/* The program's function of that name, behind this library. NULL: it has none. */
void *agent_find(const char *name);
/* Whether the program's functions of both names are there, in one object. */
bool agent_are_of_one_object(const char *one, const char *other);

/* --- sums.c */

/* Adds what the thread has not added yet to what is live. */
AGENT_RARE AGENT_ALIGNS void agent_live_flush(struct agent_local *t);

static inline bool agent_is_step(const struct agent_local *t)
{
	const uint64_t step = (uint64_t)t->live_step;

	return AGENT_UNLIKELY((uint64_t)t->live + step > 2 * step);
}

/* --- hooks.c */

/* The place from which a hook was called. */
struct agent_frame {
	uint64_t pc, sp, fp; /* pc: the return address */
};

/* An allocation that is a sample, or of a thread that is not attached. True: it is in what is live,
 * with the bytes that were requested. */
__attribute__((noinline)) AGENT_ALIGNS bool agent_slow_allocated(void *p, size_t bytes, size_t kept,
								 struct agent_frame from);
/* All of a block has contents. */
#define AGENT_KEEPS_ALL SIZE_MAX
/* Call before a block is freed. */
AGENT_ALIGNS void agent_freed(void *p);
/* Finds what they pass on to, once. */
void agent_hooks_find(void);
/* Whether the program's calls of malloc reach this library. */
bool agent_hooks_are_first(void);
/* Begins or ends to count what is live: not if malloc has no malloc_usable_size beside it. */
void agent_hooks_count_live(bool is_wanted);

/* --- wrappers.c: the same */
void agent_wrappers_find(void);

/* Allocations of the thread so far. */
static inline uint64_t agent_calls(void)
{
	const struct agent_local *t = &agent_local;

	return t->generation && t->generation == agent_alive() ? t->slot->calls : 0;
}

/* An allocation that is a sample, or of a thread that is not attached. */
static inline void agent_count_call(struct heap_thread *slot, uint64_t bytes)
{
	agent_plus_at_once(&slot->calls, 1);
	agent_plus_at_once(&slot->bytes, bytes);
	if (AGENT_UNLIKELY(bytes > slot->max_bytes))
		agent_set(&slot->max_bytes, bytes);
}

#define AGENT_HERE                                                                                 \
	((struct agent_frame){                                                                     \
	    .pc = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)),           \
	    .sp = (uintptr_t)__builtin_dwarf_cfa(),                                                \
	    .fp = *(const uintptr_t *)__builtin_frame_address(0)})

enum agent_count {
	AGENT_COUNTS_BY_FUNCTION = 1,
	AGENT_COUNTS_BY_CHUNK, /* the same, as glibc has it before a block */
};

AGENT_RARE AGENT_ALIGNS uint64_t agent_usable(void *p, bool is_freed);

enum { AGENT_CHUNK_IS_MAPPED = 2, AGENT_CHUNK_FLAGS = 7 };

/* 0: not known. */
static inline uint64_t agent_chunk_bytes(const void *p)
{
	const size_t head = ((const size_t *)p)[-1];

	return head & AGENT_CHUNK_IS_MAPPED ? 0
					    : (head & ~(size_t)AGENT_CHUNK_FLAGS) - sizeof(head);
}

/* A block of that many bytes is there, or is about to go: sign is 1 or -1. */
static inline void agent_count_live(void *p, int64_t sign)
{
	struct agent_local *t = &agent_local;
	uint64_t bytes = 0;

	if (!agent.is_live_counted)
		return;
	if (AGENT_LIKELY(agent.is_live_counted == AGENT_COUNTS_BY_CHUNK))
		bytes = agent_chunk_bytes(p);
	t->live += sign * (int64_t)(AGENT_LIKELY(bytes) ? bytes : agent_usable(p, sign < 0));
	if (agent_is_step(t))
		agent_live_flush(t);
}

/* For the body of a hook, as AGENT_HERE. kept: so many bytes from the start of p have contents. */
#define AGENT_ALLOCATED(p, bytes_, kept)                                                           \
	do {                                                                                       \
		struct agent_local *t_ = &agent_local;                                             \
		uint64_t n_ = (bytes_);                                                            \
		uint32_t alive_ = agent_alive();                                                   \
		bool is_slow_;                                                                     \
                                                                                                   \
		if (AGENT_LIKELY(t_->generation == alive_ && alive_)) {                            \
			agent_count_call(t_->slot, n_);                                            \
			t_->last = 0;                                                              \
			t_->left -= (int64_t)(n_ + !n_);                                           \
			is_slow_ = t_->left < 0;                                                   \
		} else {                                                                           \
			is_slow_ = !agent.is_off;                                                  \
		}                                                                                  \
		if (AGENT_LIKELY(!is_slow_) || !agent_slow_allocated((p), n_, (kept), AGENT_HERE)) \
			agent_count_live((p), 1);                                                  \
	} while (0)

/* --- stack.c */

/* The program gave this thread a stack for handlers, or none, which 0 bytes mean. */
void agent_stack_alternate(uint64_t begin, uint64_t bytes);
/* The same for a stack that the thread had before: asks the kernel for it. */
void agent_stack_ask_alternate(void);

/* The node of the call path; 0: none. Within is_busy. */
uint32_t agent_capture(struct agent_thread *own, const struct agent_frame *from);
/* The same of a place that a signal interrupted, which is no call: link is the register with the
 * return address, where the machine has one. */
uint32_t agent_capture_exact(struct agent_thread *own, const struct agent_frame *at, uint64_t link);
/* Of the objects that were loaded at that time some are gone: their addresses may mean something
 * else. */
void agent_stack_epoch(uint64_t since_ns);
/* Forgets all, for a new connection. 0: no memory. */
bool agent_stack_init(void);
struct agent_thread *agent_thread_new(void);
uint32_t *agent_thread_is_inside(struct agent_thread *own);
bool agent_threads_are_inside(void);
void agent_thread_free(struct agent_thread *own);

/* Whether the page can be read. False also if that cannot be asked. */
bool agent_is_page(uint64_t address);
/* While that can be asked still: finds the stack of this thread. */
void agent_stack_settle(void);
/* Whether the kernel could read there, or that cannot be asked. */
bool agent_is_readable(const void *from, size_t bytes);
bool agent_is_readable_text(const char *text);

/* --- tree.c */

bool agent_tree_init(void);
/* The root of an epoch. 0: no room. */
uint32_t agent_tree_root(uint64_t begin_ns);
/* The node of a call from pc below its caller's. 0: no room. */
uint32_t agent_tree_child(uint32_t parent, uint64_t pc);
/* There is room for so many. Those that there are remain. */
void agent_tree_limit(uint32_t max_nodes, uint32_t max_stacks);
/* The number of the node's stack + 1, of several that of the thread; 0: no room. */
uint32_t agent_tree_stack(uint32_t node);
/* The same at a level of sampling; if the stack has a coarser level already, at that. */
uint32_t agent_tree_stack_at(uint32_t node, uint32_t level);
/* Makes parts, if there is much room. Under the stack's lock. */
AGENT_RARE void agent_tree_divide(struct heap_stack *s);

/* --- blocks.c */

struct agent_block {
	uint32_t stack; /* 1 + its number; 0: there is no such block */
	uint32_t size;
	uint64_t born; /* by agent_life_now; 0: not known */
	bool is_filled;
	bool is_exact; /* of level HEAP_EXACT; of one that was taken from the table */
};

/* Called when a new connection begins. */
void agent_blocks_init(void);
/* *old: what stood at that address (its end was missed). False: no room. */
bool agent_blocks_add(uint64_t address, struct agent_block block, struct agent_block *old);
struct agent_block agent_blocks_remove(uint64_t address);
/* The arena has so many bytes. What is used remains. */
void agent_blocks_limit(uint64_t bytes);
/* The offset of so many zeroed bytes of the arena, for good; 0: no room. */
uint64_t agent_blocks_take(uint64_t bytes);

/* --- sums.c */

/* Bytes to the next sample: exponential, so that samples are independent of each other. */
int64_t agent_distance(struct agent_local *t);
/* Whether an allocation that is a sample by the thread's level is one by a coarser level, too,
 * which becomes the thread's. */
bool agent_is_sample_at(struct agent_local *t, uint64_t bytes, uint32_t level);

static inline uint32_t agent_stack_level(const struct heap_stack *s)
{
	return __atomic_load_n(&s->parts, __ATOMIC_RELAXED) >> HEAP_LEVEL_SHIFT;
}

static inline bool agent_stack_has_parts(const struct heap_stack *s)
{
	return s->parts & ((1 << HEAP_LEVEL_SHIFT) - 1);
}

static inline uint32_t agent_level(void)
{
	return __atomic_load_n(&agent.level, __ATOMIC_RELAXED);
}

/* Whether the number of a stack is that of one in which nothing is left to chance beside others. */
static inline bool agent_is_exact(uint32_t stack)
{
	const struct heap_stack *stacks = agent_at(agent.shared->stacks);

	return agent_stack_level(&stacks[stack - 1]) == HEAP_EXACT;
}

/* Called when a new connection begins. */
void agent_sums_init(void);
void agent_sums_allocated(struct agent_block block, uint64_t overhead);
struct agent_end {
	bool is_temporary;
	uint64_t untouched; /* bytes of its pages that were never touched */
	uint64_t lived_ns;  /* with block.born */
};
void agent_sums_freed(struct agent_block block, const struct agent_end *end);

/* --- adapt.c: how rare samples are */

/* Called when a new connection begins. */
void agent_adapt_init(void);
/* The thread's samples, and live blocks, are added to the process's, which may lead to another
 * level. */
AGENT_RARE AGENT_ALIGNS void agent_adapt_flush(struct agent_local *t);

enum { AGENT_ADAPT_STEP = 256 };

/* A sample was taken, or kept exact blocks more are live. */
static inline void agent_adapt_count(struct agent_local *t, uint32_t samples, int32_t kept)
{
	t->nr_samples += samples;
	t->nr_kept += kept;
	if (AGENT_UNLIKELY(t->nr_samples >= AGENT_ADAPT_STEP || t->nr_kept <= -AGENT_ADAPT_STEP))
		agent_adapt_flush(t);
}

/* --- lives.c: how long blocks live */

/* Called when a new connection begins. */
void agent_lives_init(void);
/* The time now, in AGENT_BORN_BITS bits, never 0. */
uint64_t agent_life_now(void);
uint64_t agent_life_ns(uint64_t born);
/* CLOCK_MONOTONIC within some microseconds, at half the cost. */
uint64_t agent_near_now(void);

/* What a block has room for beside its stack and in a word of its own. */
enum { AGENT_BORN_BITS = 42 };

/* --- pages.c */

/* Bytes of the block's whole pages that are not in memory. */
uint64_t agent_untouched(uint64_t address, uint32_t packed_size);

/* --- pattern.c */

/* Fills a block but for what has contents. False: it is none that is filled. */
bool agent_fill(uint64_t address, uint64_t bytes, uint64_t kept);
/* Bytes of the block, which was filled, that were not written since. */
uint64_t agent_unwritten(uint64_t address, uint64_t bytes);

/* --- rows.c */

enum agent_row_kind {
	AGENT_ROW_SP = 1,  /* the CFA is the stack pointer plus cfa */
	AGENT_ROW_FP,      /* the CFA is the frame pointer plus cfa */
	AGENT_ROW_HARD,    /* apply the rules */
	AGENT_ROW_POINTER, /* no table: by the frame pointer */
	AGENT_ROW_END,     /* the outermost function */
};

/* How to step from a place to its caller: in words of the machine. */
struct agent_row {
	uint8_t kind;
	uint32_t cfa;
	uint32_t ra; /* the return address is at the CFA minus this */
	uint32_t fp; /* so is the caller's frame pointer; 0: it is unchanged */
};

struct agent_row agent_row_find(uint64_t pc, bool is_exact);
/* Steps by the rules; sp to hi: the readable stack; link: see agent_capture_exact; 0: not known.
 * False: the end, or it cannot. */
bool agent_row_apply(struct agent_frame *f, uint64_t link, bool *is_exact, uint64_t hi,
		     bool *is_end);
bool agent_rows_init(void);
void agent_rows_forget(void);

/* --- environment.c: of programs that are executed. Safe after vfork. */

/* Bytes of a copy without what loads the agent and connects it. 0: nothing of that is in it. */
size_t agent_environment_bytes(char *const *environment);
/* Makes that copy, whose strings are in part the original's. Others' entries of LD_PRELOAD stay as
 * they are; the variable goes if it has none. */
char *const *agent_environment_copy(char *const *environment, void *to);
/* The same of a copy with what loads and connects it, or, in a program of the machine's other kind
 * (LOADABLE_OTHER), the other agent. 0: all of that is in it, or it is not known. */
size_t agent_environment_bytes_with(char *const *environment, bool is_other);
char *const *agent_environment_copy_with(char *const *environment, void *to, bool is_other);
/* Whether the other agent is installed. */
bool agent_environment_has_other(void);
/* Stores the variables that loaded the agent into this program. */
void agent_environment_keep(char *const *environment);
/* Behind it: in a program of 32 bits. The C library starts a shell by itself (system, popen), with
 * the environment as it is. Where the shell is of the other kind, that names the other agent. */
void agent_environment_settle(char *const *environment);
/* Whether the agent could be loaded with it, and where it is not in it by what is kept: it is there
 * to be read, and no sanitizer is preloaded. */
enum heap_miss agent_environment_judge(char *const *environment, bool is_other);
bool agent_environment_is_readable(char *const *environment);

#endif
