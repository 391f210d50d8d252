/*
 * The connection to the recorder, once for each process image and each child by fork that has
 * something to write, and what a thread needs.
 *
 * A child by fork connects when it first has something to write (its time, where that is wanted),
 * or before a call that would make it impossible (agent_attach_now).
 */
#include "agent/heap/agent.h"
#include "agent/heap/times.h"

/* For the functions by which an object with marks connects; this file has no marks. */
#define CPUPERF_MARK_LATE
#include "cpuperf/mark.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

struct agent_state agent;
__thread struct agent_local agent_local;

__attribute__((used)) static const struct heap_stamp stamp = {HEAP_STAMP, HEAP_VERSION};

static pthread_key_t key;
static bool has_key;

void *agent_pages(size_t bytes)
{
	void *at;

	if (!agent_may(AGENT_MAY_MAP))
		return NULL;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | 0x4000 /* MAP_NORESERVE */, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

void agent_free_pages(void *pages, size_t bytes)
{
	if (agent_may(AGENT_MAY_UNMAP))
		(void)syscall(SYS_munmap, pages, bytes);
}

void agent_wait(uint32_t *word)
{
	for (int i = 0; i < 100 && __atomic_load_n(word, __ATOMIC_RELAXED); i++)
#if defined(__x86_64__) || defined(__i386__)
		__asm__ volatile("pause");
#else
		__asm__ volatile("yield");
#endif
	if (__atomic_load_n(word, __ATOMIC_RELAXED) && agent_may(AGENT_MAY_YIELD))
		(void)syscall(SYS_sched_yield);
}

/* --- the process */

static struct heap_header *connect_to(uint32_t number, bool *is_limited)
{
	const struct cpuperf_mark_hello hello = {
	    CPUPERF_MARK_MAGIC, CPUPERF_MARK_VERSION, CPUPERF_MARK_ASK_HEAP, HEAP_VERSION, 0, 0};
	int fds[1 + CPUPERF_MARK_MAX_COUNTS];
	struct heap_header *h = NULL;

	if (cpuperf_mark_ask(number, &hello, fds) < 0)
		return NULL;
	if (fds[0] >= 0)
		h = agent_map(fds[0], is_limited);
	for (int i = 0; fds[i] >= 0; i++)
		close(fds[i]);
	return h;
}

/* --- dumps */

enum { DUMP_STEP_NS = 500000, DUMP_STEPS = 4000 };

/* Waits until the recorder has made a whole reading after `before` (odd: one was in progress). */
static bool wait_for_reading(const struct heap_header *h, uint32_t before)
{
	const struct timespec step = {0, DUMP_STEP_NS};

	for (int i = 0; i < DUMP_STEPS; i++) {
		uint32_t now = __atomic_load_n(&h->readings, __ATOMIC_SEQ_CST);

		if ((int32_t)(now - before) >= 2 + (int32_t)(before & 1))
			return true;
		if (__atomic_load_n(&h->is_closed, __ATOMIC_ACQUIRE))
			return false;
		(void)syscall(SYS_nanosleep, &step, NULL);
	}
	return false;
}

static int ask(uint32_t what)
{
	const struct cpuperf_mark_hello hello = {
	    CPUPERF_MARK_MAGIC, CPUPERF_MARK_VERSION, what, 0, 0, 0};
	int fds[1 + CPUPERF_MARK_MAX_COUNTS];

	return cpuperf_mark_ask(agent.number, &hello, fds);
}

/* Asks the recorder for a search for pointers. It stops this thread, too, which may end the wait
 * for its answer; when the thread goes on the search is over. It searches words of 64 bits alone.
 */
static void ask_reach(void)
{
	if (agent.wants & HEAP_WANTS_REACH && sizeof(void *) == sizeof(uint64_t))
		(void)ask(CPUPERF_MARK_ASK_REACH);
}

static int dump(void)
{
	const struct heap_header *h = agent.shared;
	uint32_t before;

	ask_reach();
	before = __atomic_load_n(&h->readings, __ATOMIC_SEQ_CST);
	if (ask(CPUPERF_MARK_ASK_DUMP) < 0)
		return -1;
	return wait_for_reading(h, before) ? 0 : -1;
}

/* For cpuperf/heap.h. */
__attribute__((visibility("default"))) AGENT_ALIGNS int cpuperf_heap_agent_dump(void);

int cpuperf_heap_agent_dump(void)
{
	struct agent_local *t = &agent_local;
	int error = errno, rc = -1;

	if (t->is_busy || !agent_may(AGENT_MAY_CONNECT | AGENT_MAY_YIELD))
		return -1;
	t->is_busy = AGENT_ASKS;
	if (agent_attach(t))
		rc = dump();
	agent_leave(t);
	errno = error;
	return rc;
}

/* --- the end */

static void ask_last(void)
{
	if (agent.wants & HEAP_WANTS_LAST_PAGES)
		(void)ask(CPUPERF_MARK_ASK_PAGES);
	ask_reach();
}

/* Asks once: what runs later at the exit frees more, and hardly loses anything. Not in a child by
 * vfork, whose memory is its parent's. */
static AGENT_RARE void ask_at_end(void)
{
	static uint32_t generation;
	struct agent_local *t = &agent_local;
	int error = errno;

	if (t->is_busy || !agent_alive() || !agent_may(AGENT_MAY_CONNECT) ||
	    agent.pid != getpid() ||
	    __atomic_exchange_n(&generation, agent.generation, __ATOMIC_RELAXED) ==
		agent.generation)
		return;
	t->is_busy = AGENT_ASKS;
	if (t->is_ended ? agent_stay(t) : agent_attach(t))
		ask_last();
	agent_leave(t);
	errno = error;
}

AGENT_OF_ENDS void agent_ends(void)
{
	if (agent.wants & (HEAP_WANTS_REACH | HEAP_WANTS_LAST_PAGES))
		ask_at_end();
}

__attribute__((destructor)) static void end(void)
{
	agent_ends();
}

/* --- the connection */

/* A page that reads as 0 after fork. */
static bool make_alive(void)
{
	uint32_t *page;

	if (agent.alive)
		return true;
	page = agent_pages(4096);
	if (!page || madvise(page, 4096, 18 /* MADV_WIPEONFORK */))
		return false;
	agent.alive = page;
	return true;
}

static void set_wants(const struct heap_header *h)
{
	agent.rate = h->rate;
	agent.has_blocks = h->wants & HEAP_WANTS_BLOCKS;
	agent.has_stacks = h->wants & HEAP_WANTS_STACKS;
	agent.has_peak = h->wants & HEAP_WANTS_PEAK;
	agent.has_paths = h->wants & HEAP_WANTS_PATHS;
	agent.has_overhead = h->wants & HEAP_WANTS_OVERHEAD;
	agent.has_untouched = h->wants & HEAP_WANTS_UNTOUCHED;
	agent.has_lives = h->wants & HEAP_WANTS_LIVES;
	agent.has_pattern = h->wants & HEAP_WANTS_PATTERN;
	agent.wants = h->wants;
	agent.pid = getpid();
	agent.page = getauxval(AT_PAGESZ);
	agent.is_every = agent.rate == 1;
	agent.is_adaptive = h->wants & HEAP_WANTS_ADAPTIVE;
}

/* The recorder's number. A child by fork has its parent's, whatever the program did to its
 * environment. */
static uint32_t find_recorder(void)
{
	if (agent.attached)
		return agent.attached;
	if (agent.number || !environ)
		return agent.number;
	return cpuperf_mark_number(getenv("CPUPERF_HEAP"));
}

/* A child by fork that cannot connect says so in the header of its parent's memory, then unmaps
 * that. */
static struct heap_header *connect_anew(uint32_t number, bool *is_limited)
{
	struct heap_header *old = agent.is_detached ? NULL : agent.shared, *new;
	const uint64_t bytes = old ? agent_unmap_sums(old) : 0;

	new = connect_to(number, is_limited);
	if (!new &&old)
		(void)agent_missed(HEAP_MISS_CONNECT, "");
	if (old)
		munmap(old, bytes);
	agent.shared = agent.is_detached ? agent.shared : NULL;
	return new;
}

/* New pages are 0, and cost a fork nothing until they are written; without blocks they stay so. In
 * a child the pages of a wide filter are returned to the kernel, unless they are locked. */
static bool make_filter(void)
{
	const bool is_new = !agent.filter;
	const size_t bytes = agent.is_adaptive ? AGENT_FILTER_WIDE : AGENT_FILTER;

	if (is_new)
		agent.filter = agent_pages(AGENT_FILTER_WIDE);
	agent.filter_mask = (uint32_t)bytes - 1;
	if (agent.filter && agent.has_blocks && (agent.is_every || !is_new) &&
	    (!agent.is_adaptive || madvise(agent.filter, bytes, 4 /* MADV_DONTNEED */)))
		memset(agent.filter, agent.is_every ? AGENT_FILTER_FULL : 0, bytes);
	return agent.filter;
}

static bool connect_once(void)
{
	const uint32_t number = find_recorder();
	struct heap_header *new;
	bool is_limited = false;

	if (!number && !environ) /* the C library is not ready */
		return false;
	agent.is_off = 1;
	if (!number || !make_alive())
		return false;
	new = connect_anew(number, &is_limited);
	if (!new)
		return false;
	agent.is_detached = false;
	agent.shared = new;
	agent.number = number;
	if (is_limited)
		(void)agent_missed(HEAP_MISS_LIMIT, "");
	agent.shared_classes = (struct heap_class *)agent_at(agent.shared->classes) +
			       HEAP_NR_CLASSES * (size_t)agent.shared->max_threads;
	set_wants(agent.shared);
	if (!make_filter() || !agent_tree_init() || !agent_stack_init())
		return false;
	agent_blocks_init();
	agent_lives_init();
	agent_adapt_init();
	agent_sums_init();
	agent_types_init();
	if (agent.wants & HEAP_WANTS_IO && !agent.is_beside) /* nothing would undo it */
		agent_stdio_init();
	if (agent.wants & HEAP_WANTS_TIMES)
		agent_times_init();
	agent.is_off = 0;
	agent.generation++;
	__atomic_store_n(agent.alive, agent.generation, __ATOMIC_RELEASE);
	return true;
}

/* In a child by fork, a lock that another thread of the parent held is nobody's. */
static bool is_connected(void)
{
	static pid_t holder;
	bool is_there = agent_alive();

	if (is_there)
		return true;
	if (__atomic_load_n(&agent.is_off, __ATOMIC_ACQUIRE))
		return false;
	if (agent_needs() & agent.forbidden) {
		(void)agent_missed(HEAP_MISS_CHILDREN, "");
		agent.is_off = 1;
		return false;
	}
	if (agent.is_locked && holder != getpid())
		agent.is_locked = 0;
	if (__atomic_exchange_n(&agent.is_locked, 1, __ATOMIC_ACQUIRE))
		return false; /* another thread does: this call is not measured */
	holder = getpid();
	is_there = agent_alive() || connect_once();
	agent_unlock(&agent.is_locked);
	return is_there;
}

/* --- threads */

/* A slot for what the thread counts; beyond their number threads share the last one. */
static struct heap_thread *take_slot(void)
{
	struct heap_header *h = agent.shared;
	struct heap_thread *slots = agent_at(h->threads);
	uint32_t i = 0, is_free = 0;

	for (; i + 1 < h->max_threads; i++, is_free = 0)
		if (__atomic_compare_exchange_n(&slots[i].is_owned, &is_free, 1, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			break;
	slots[i].tid = agent_may(AGENT_MAY_ASK_TID) ? (uint32_t)syscall(SYS_gettid) : 0;
	while (h->nr_threads <= i) {
		uint32_t before = h->nr_threads;

		(void)__atomic_compare_exchange_n(&h->nr_threads, &before, i + 1, false,
						  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
	return &slots[i];
}

/* Threads that share a slot share the last row. */
static struct heap_class *classes_of(const struct heap_thread *slot)
{
	struct heap_thread *slots = agent_at(agent.shared->threads);
	struct heap_class *all = agent_at(agent.shared->classes);
	size_t i = (size_t)(slot - slots);

	return i + 1 < agent.shared->max_threads ? &all[i * HEAP_NR_CLASSES] : agent.shared_classes;
}

static void end_thread(void *arg)
{
	struct agent_local *t = &agent_local;
	struct agent_thread *own;
	bool is_measured;

	(void)arg;
	t->is_busy = 1;
	is_measured = agent_stay(t);
	agent_times_end(t, is_measured);
	if (is_measured) {
		agent_thread_ended();
		agent_live_flush(t);
		agent_adapt_flush(t);
		t->classes = agent.shared_classes; /* for what the thread still frees */
		__atomic_store_n(&t->slot->is_owned, 0, __ATOMIC_RELEASE);
	}
	own = t->own;
	agent_leave(t);
	t->is_busy = 1;
	if (own)
		agent_thread_free(own);
	t->own = NULL;
	t->generation = 0;
	t->is_ended = 1;
	t->is_busy = 0;
}

static uint64_t seed(void)
{
	uint64_t x = 0;

	if (!agent_may(AGENT_MAY_ASK_RANDOM))
		return ((uintptr_t)&agent_local ^ (uint64_t)agent.pid << 32) *
			   UINT64_C(0x9e3779b97f4a7c15) |
		       1;
	(void)syscall(SYS_getrandom, &x, sizeof(x), 1 /* GRND_NONBLOCK */);
	return x | 1;
}

bool agent_attach(struct agent_local *t)
{
	uint32_t alive = agent_alive();

	if (AGENT_LIKELY(alive && t->generation == alive))
		return agent_stay(t);
	if (t->is_ended || !is_connected())
		return false;
	t->own = t->own ? t->own : agent_thread_new();
	if (!t->own)
		return false;
	if (agent.attached) /* it may have set one before there were hooks */
		agent_stack_ask_alternate();
	alive = agent_alive();
	__atomic_store_n(agent_thread_is_inside(t->own), 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!alive || alive != agent_alive()) {
		__atomic_store_n(agent_thread_is_inside(t->own), 0, __ATOMIC_RELEASE);
		return false;
	}
	t->slot = take_slot();
	t->classes = classes_of(t->slot);
	t->random = seed(); /* so that a child by fork does not draw its parent's samples */
	t->last = 0;
	t->live = t->live_step = 0;
	t->nr_samples = 0;
	t->nr_kept = 0;
	if (has_key) /* else, or where that fails, its slot is not used again */
		(void)pthread_setspecific(key, t);
	t->left = agent_distance(t);
	__atomic_store_n(&t->generation, alive, __ATOMIC_RELEASE);
	if (agent.wants & HEAP_WANTS_TIMES)
		agent_times_begin(t);
	return agent_stay(t);
}

/* The number of threads that have ended and are inside: they still free. */
static uint32_t nr_ended_inside;

enum { ENDED = 1, ENDED_INSIDE };

static bool stay_ended(struct agent_local *t)
{
	__atomic_fetch_add(&nr_ended_inside, 1, __ATOMIC_SEQ_CST);
	if (agent_alive()) {
		t->is_ended = ENDED_INSIDE;
		return true;
	}
	__atomic_fetch_sub(&nr_ended_inside, 1, __ATOMIC_RELEASE);
	return false;
}

/* The order of both is that of agent_disconnect, by its barrier. */
bool agent_stay(struct agent_local *t)
{
	uint32_t *is_inside;

	if (t->is_ended)
		return stay_ended(t);
	if (!t->own || !t->generation)
		return false;
	is_inside = agent_thread_is_inside(t->own);
	__atomic_store_n(is_inside, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (AGENT_LIKELY(t->generation == agent_alive()))
		return true;
	__atomic_store_n(is_inside, 0, __ATOMIC_RELEASE);
	return false;
}

void agent_leave(struct agent_local *t)
{
	if (t->is_ended == ENDED_INSIDE) {
		t->is_ended = ENDED;
		__atomic_fetch_sub(&nr_ended_inside, 1, __ATOMIC_RELEASE);
	} else if (t->own) {
		__atomic_store_n(agent_thread_is_inside(t->own), 0, __ATOMIC_RELEASE);
	}
	t->is_busy = 0;
}

/* --- by request of a recorder, in a process that runs already */

int agent_connect(uint32_t number)
{
	uint32_t before = agent.attached;

	agent.attached = number;
	agent.is_off = 0;
	if (is_connected())
		return 0;
	agent.attached = before;
	return -ECONNREFUSED;
}

bool agent_is_measured(void)
{
	return !__atomic_load_n(&agent.shared->is_closed, __ATOMIC_ACQUIRE) &&
	       ask(CPUPERF_MARK_ASK_NOTHING) >= 0;
}

/* All CPUs pass a barrier. */
static void separate(void)
{
	enum { GLOBAL = 1, EXPEDITED = 8, REGISTER_EXPEDITED = 16 };

	if (syscall(SYS_membarrier, REGISTER_EXPEDITED, 0, 0) ||
	    syscall(SYS_membarrier, EXPEDITED, 0, 0))
		(void)syscall(SYS_membarrier, GLOBAL, 0, 0);
}

void agent_disconnect(void)
{
	if (!agent_alive())
		return;
	agent.is_off = 1;
	agent.is_detached = true;
	agent.attached = 0;
	__atomic_store_n(agent.alive, 0, __ATOMIC_SEQ_CST);
	separate();
}

/* Hooks read the header and the threads without being inside: these remain, as pages of our own. */
static void forget_memory(void)
{
	struct heap_header *h = agent.shared;
	uint64_t bytes;

	if (!h->mapped || h->mapped < h->nodes)
		return;
	bytes = agent_unmap_sums(h);
	(void)mmap(h, bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | 0x4000 /* MAP_NORESERVE */, -1, 0);
}

bool agent_is_quiet(void)
{
	/* not nanosleep: it would end that of the thread that the recorder has stopped */
	struct timespec step;

	if (!agent.is_detached)
		return true;
	for (int i = 0;
	     agent_threads_are_inside() || __atomic_load_n(&nr_ended_inside, __ATOMIC_ACQUIRE);
	     i++) {
		if (i == 100)
			return false;
		step = (struct timespec){0, 500000};
		(void)syscall(SYS_pselect6, 0, NULL, NULL, NULL, &step, NULL);
	}
	forget_memory();
	return true;
}

void agent_attach_now(void)
{
	struct agent_local *t = &agent_local;
	const int error = errno;

	if (t->is_busy || agent_alive() || agent.is_off)
		return;
	t->is_busy = 1;
	(void)agent_attach(t);
	agent_leave(t);
	errno = error;
}

/* glibc alone has it: without it, a child's time counts from its first allocation. */
extern int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void),
			     void *object) __attribute__((weak));

/* A child connects when there is something to write: where its time is wanted, at once. */
AGENT_OF_ENDS static void begin_child(void)
{
	if (agent.wants & HEAP_WANTS_TIMES)
		agent_attach_now();
}

__attribute__((constructor)) static void begin(void)
{
	int error = errno;

	has_key = pthread_key_create(&key, end_thread) == 0;
	if (__register_atfork)
		(void)__register_atfork(NULL, NULL, begin_child, NULL);
	agent_attach_now();
	errno = error;
}
