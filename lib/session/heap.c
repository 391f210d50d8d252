/*
 * From the memories of processes to counts and samples.
 */
#include "session/heap.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "base/str.h"
#include "base/sum.h"
#include "session/heap_pages.h"
#include "session/heap_reach.h"
#include "session/plan.h"
#include "wire/heap_memory.h"
#include "wire/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct session_heap_process {
	uint32_t pid;
	int pidfd;                /* owned; below 0: not supported */
	struct wire_heap *memory; /* owned */
	bool is_replaced;         /* by exec: a later process has its number */
	bool has_ended;           /* at the last reading */
	bool is_unread;           /* then, for want of memory */
	bool misses_pages;        /* at the last reading */
	struct wire_heap_sums sums;
	struct wire_heap_times times;
	struct wire_heap_stack *now, *before; /* owned; at the last two readings */
	size_t nr_now, nr_before, now_room, before_room;
	bool is_searched; /* now: it is not freed; under the session's lock */
	pthread_mutex_t lock;
	struct wire_heap_amount *unreachable; /* owned; at the last search; under this lock */
	size_t nr_unreachable;
	struct wire_heap_class classes[WIRE_HEAP_NR_CLASSES];
	struct wire_heap_class classes_before[WIRE_HEAP_NR_CLASSES];
};

static void free_process(struct session_heap_process *p)
{
	io_close(&p->pidfd);
	wire_heap_free(p->memory);
	mem_free(p->now);
	mem_free(p->before);
	mem_free(p->unreachable);
	mem_free(p);
}

static int kind_of(const struct session_heap *h, size_t event)
{
	const struct plan_event *p = &h->plan->events[event];

	return p->set == PLAN_NO_SET ? -1 : event_heap(&p->event);
}

static bool is_gone(const struct session_heap_process *p)
{
	struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};

	return p->pidfd < 0 ? kill((pid_t)p->pid, 0) && errno == ESRCH : poll(&fd, 1, 0) > 0;
}

/* Of the others: what was allocated. */
static const enum wire_heap_kind amounts[EVENT_HEAP_NR_KINDS] = {
    [EVENT_HEAP_ALLOCATED] = WIRE_HEAP_ALLOCATED,
    [EVENT_HEAP_ALLOCATIONS] = WIRE_HEAP_ALLOCATED,
    [EVENT_HEAP_FREED] = WIRE_HEAP_FREED,
    [EVENT_HEAP_LIVE] = WIRE_HEAP_LIVE,
    [EVENT_HEAP_PEAK] = WIRE_HEAP_PEAK,
    [EVENT_HEAP_MAX] = WIRE_HEAP_ALLOCATED,
    [EVENT_HEAP_TEMPORARY] = WIRE_HEAP_TEMPORARY,
    [EVENT_HEAP_LEAKED] = WIRE_HEAP_LIVE,
    [EVENT_HEAP_OVERHEAD] = WIRE_HEAP_OVERHEAD,
    [EVENT_HEAP_RESIDENT] = WIRE_HEAP_RESIDENT,
    [EVENT_HEAP_UNTOUCHED] = WIRE_HEAP_UNTOUCHED,
    [EVENT_HEAP_FD_OPENED] = WIRE_HEAP_ALLOCATED,
    [EVENT_HEAP_FD_LIVE] = WIRE_HEAP_LIVE,
    [EVENT_HEAP_FD_LEAKED] = WIRE_HEAP_LIVE,
    [EVENT_HEAP_THREAD_LIVE] = WIRE_HEAP_LIVE,
    [EVENT_HEAP_LIFETIME] = WIRE_HEAP_LIFE,
    [EVENT_HEAP_UNREACHABLE] = WIRE_HEAP_UNREACHABLE,
};

/* Of the others: memory. */
static const uint32_t resources[EVENT_HEAP_NR_KINDS] = {
    [EVENT_HEAP_FD_OPENED] = HEAP_RESOURCE_FD,
    [EVENT_HEAP_FD_LIVE] = HEAP_RESOURCE_FD,
    [EVENT_HEAP_FD_LEAKED] = HEAP_RESOURCE_FD,
    [EVENT_HEAP_IO_READ] = HEAP_RESOURCE_READ,
    [EVENT_HEAP_IO_READ_CALLS] = HEAP_RESOURCE_READ,
    [EVENT_HEAP_IO_WRITTEN] = HEAP_RESOURCE_WRITTEN,
    [EVENT_HEAP_IO_WRITE_CALLS] = HEAP_RESOURCE_WRITTEN,
    [EVENT_HEAP_THREAD_CREATED] = HEAP_RESOURCE_THREAD,
    [EVENT_HEAP_THREAD_LIVE] = HEAP_RESOURCE_THREAD,
    [EVENT_HEAP_EXCEPTION_THROWN] = HEAP_RESOURCE_THROWN,
    [EVENT_HEAP_EXCEPTION_CAUGHT] = HEAP_RESOURCE_CAUGHT,
    [EVENT_HEAP_CPU_TIME] = HEAP_RESOURCE_CPU_TIME,
    [EVENT_HEAP_REAL_TIME] = HEAP_RESOURCE_REAL_TIME,
};

static bool is_calls(int kind)
{
	return kind == EVENT_HEAP_IO_READ_CALLS || kind == EVENT_HEAP_IO_WRITE_CALLS;
}

/* In the unit of the kind; of lifetimes those of a class. */
static struct wire_heap_amount amount_of(const struct wire_heap_stack *s, int kind, uint32_t life)
{
	struct wire_heap_amount a = s->amount[amounts[kind] + (int)life];

	if (is_calls(kind))
		a.bytes = a.samples;
	return a;
}

static uint32_t nr_lives(int kind)
{
	return kind == EVENT_HEAP_LIFETIME ? WIRE_HEAP_NR_LIVES : 1;
}

static bool is_leaking(const struct session_heap_process *p)
{
	return p->has_ended && !p->is_replaced;
}

/* Whether the stack's amounts are of that kind. */
static bool has_kind(const struct session_heap_process *p, const struct wire_heap_stack *s,
		     int kind)
{
	bool is_leak = kind == EVENT_HEAP_LEAKED || kind == EVENT_HEAP_FD_LEAKED;

	return s->resource == resources[kind] && (!is_leak || is_leaking(p));
}

static void add_count(uint64_t *to, int kind, uint64_t amount)
{
	if (kind == EVENT_HEAP_PEAK_TIME) /* see add_peak */
		return;
	if (kind != EVENT_HEAP_MAX)
		sum_add(to, amount);
	else if (amount > *to)
		*to = amount;
}

/* What is not the sum of its stacks. */
static bool is_of_process(int kind)
{
	return kind == EVENT_HEAP_ALLOCATED || kind == EVENT_HEAP_ALLOCATIONS ||
	       kind == EVENT_HEAP_PEAK || kind == EVENT_HEAP_MAX || kind == EVENT_HEAP_PEAK_TIME ||
	       kind == EVENT_HEAP_CPU_TIME || kind == EVENT_HEAP_REAL_TIME;
}

/* The time is that of the largest one. */
static void add_peak(uint64_t counts[SESSION_HEAP_NR_COUNTS], uint64_t bytes, uint64_t ns)
{
	if (bytes <= counts[SESSION_HEAP_LARGEST_PEAK])
		return;
	counts[SESSION_HEAP_LARGEST_PEAK] = bytes;
	counts[EVENT_HEAP_PEAK_TIME] = ns;
}

/* For those that look at what is there now. */
static void forget_live(uint64_t counts[SESSION_HEAP_NR_COUNTS])
{
	counts[EVENT_HEAP_LIVE] = counts[EVENT_HEAP_PEAK] = counts[EVENT_HEAP_PEAK_TIME] = 0;
	counts[EVENT_HEAP_FD_LIVE] = counts[EVENT_HEAP_THREAD_LIVE] = 0;
	counts[EVENT_HEAP_UNREACHABLE] = 0;
	counts[SESSION_HEAP_LARGEST_PEAK] = 0;
}

static void add_sums(uint64_t counts[SESSION_HEAP_NR_COUNTS], const struct wire_heap_sums *sums)
{
	add_count(&counts[EVENT_HEAP_ALLOCATED], EVENT_HEAP_ALLOCATED, sums->bytes);
	add_count(&counts[EVENT_HEAP_ALLOCATIONS], EVENT_HEAP_ALLOCATIONS, sums->calls);
	add_count(&counts[EVENT_HEAP_PEAK], EVENT_HEAP_PEAK, sums->peak);
	add_count(&counts[EVENT_HEAP_MAX], EVENT_HEAP_MAX, sums->max_bytes);
	add_peak(counts, sums->peak, sums->peak_ns);
}

static void add_times(uint64_t counts[SESSION_HEAP_NR_COUNTS], const struct wire_heap_times *times)
{
	sum_add(&counts[EVENT_HEAP_CPU_TIME], times->cpu_ns);
	sum_add(&counts[EVENT_HEAP_REAL_TIME], times->real_ns);
}

static void add_stack(uint64_t counts[SESSION_HEAP_NR_COUNTS], const struct session_heap_process *p,
		      const struct wire_heap_stack *s)
{
	for (int kind = 0; kind < EVENT_HEAP_NR_KINDS; kind++)
		for (uint32_t life = 0; life < nr_lives(kind); life++)
			if (!is_of_process(kind) && has_kind(p, s, kind))
				sum_add(&counts[kind], amount_of(s, kind, life).bytes);
	for (uint32_t i = 0; i < 2; i++)
		if (s->resource == HEAP_RESOURCE_CPU_TIME + i)
			sum_add(&counts[SESSION_HEAP_CPU_SAMPLED + i],
				s->amount[WIRE_HEAP_ALLOCATED].bytes);
}

/* All that the process did, by its last reading. */
static void add_process_counts(uint64_t counts[SESSION_HEAP_NR_COUNTS],
			       const struct session_heap_process *p)
{
	add_sums(counts, &p->sums);
	add_times(counts, &p->times);
	for (size_t i = 0; i < p->nr_now; i++)
		add_stack(counts, p, &p->now[i]);
}

static void add_lost(struct wire_heap_sums *to, const struct wire_heap_sums *n)
{
	sum_add(&to->no_node, n->no_node);
	sum_add(&to->no_block, n->no_block);
	sum_add(&to->nested, n->nested);
	sum_add(&to->invalid, n->invalid);
	sum_add(&to->deep, n->deep);
	sum_add(&to->unknown, n->unknown);
}

/* A program's sums never become less; one that makes them do so gains nothing. */
static void keep_growing(struct wire_heap_stack *now, const struct wire_heap_stack *before)
{
	for (int kind = 0; kind < WIRE_HEAP_NR_CUMULATIVE; kind++) {
		struct wire_heap_amount *a = &now->amount[kind];
		const struct wire_heap_amount *b = &before->amount[kind];

		a->samples = a->samples > b->samples ? a->samples : b->samples;
		a->bytes = a->bytes > b->bytes ? a->bytes : b->bytes;
	}
	if (now->max_bytes < before->max_bytes)
		now->max_bytes = before->max_bytes;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct wire_heap_sums not_less(const struct wire_heap_sums *now,
				      const struct wire_heap_sums *before)
{
	struct wire_heap_sums s = *now;

	s.bytes = larger(s.bytes, before->bytes);
	s.calls = larger(s.calls, before->calls);
	s.max_bytes = larger(s.max_bytes, before->max_bytes);
	return s;
}

static void read_sums(struct session_heap_process *p)
{
	struct wire_heap_sums now;

	wire_heap_sums(p->memory, &now);
	p->sums = not_less(&now, &p->sums);
}

/* Of a process that has ended or been replaced: 0. */
static uint64_t cpu_ns_of(const struct session_heap_process *p, bool is_over)
{
	const clockid_t clock = (clockid_t)(~p->pid << 3 | 2); /* as linux/posix-timers.h has it */
	struct timespec t = {0};

	if (is_over || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void read_times(struct session_heap_process *p, bool is_over)
{
	const uint64_t now_ns = is_over ? 0 : clock_monotonic_ns();
	struct wire_heap_times times;

	wire_heap_times(p->memory, cpu_ns_of(p, is_over), now_ns, &times);
	p->times.cpu_ns = larger(p->times.cpu_ns, times.cpu_ns);
	p->times.real_ns = larger(p->times.real_ns, times.real_ns);
}

/* Those that last. */
static void add_waits(struct session_heap_process *p, bool is_over, uint64_t interval_ns)
{
	const uint64_t now_ns = is_over ? 0 : clock_monotonic_ns();
	struct wire_heap_wait wait;

	for (uint32_t i = 0; wire_heap_wait(p->memory, &i, now_ns, &wait);) {
		struct wire_heap_amount *a;

		if (wait.stack >= p->nr_now)
			continue;
		a = &p->now[wait.stack].amount[WIRE_HEAP_ALLOCATED];
		sum_add(&a->samples, wait.ns / interval_ns);
		sum_add(&a->bytes, wait.ns / interval_ns * interval_ns);
	}
}

/* Room for the stacks in the older of both readings, which is replaced. */
static bool make_room(struct session_heap_process *p, size_t nr)
{
	struct wire_heap_stack *grown = p->before;

	if (nr > p->before_room)
		grown = mem_resize(p->before, (nr + nr / 2) * sizeof(*grown));
	if (!grown && nr)
		return false;
	p->before_room = nr > p->before_room ? nr + nr / 2 : p->before_room;
	p->before = grown;
	return true;
}

static void swap_readings(struct session_heap_process *p)
{
	struct wire_heap_stack *old = p->before;
	size_t old_room = p->before_room;

	p->before = p->now;
	p->nr_before = p->nr_now;
	p->before_room = p->now_room;
	p->now = old;
	p->now_room = old_room;
}

/* What was found by the last search and is live still. */
static void read_unreachable(struct session_heap_process *p)
{
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->nr_unreachable && i < p->nr_now; i++) {
		const struct wire_heap_amount *live = &p->now[i].amount[WIRE_HEAP_LIVE];
		const struct wire_heap_amount *found = &p->unreachable[i];

		p->now[i].amount[WIRE_HEAP_UNREACHABLE] = (struct wire_heap_amount){
		    smaller(found->samples, live->samples), smaller(found->bytes, live->bytes)};
	}
	pthread_mutex_unlock(&p->lock);
}

/* Without memory all stays as it was, and is read later. pages: NULL: of none. */
static void read_process(struct session_heap_process *p, const struct session_heap *h, bool is_over,
			 const struct session_heap_pages *pages)
{
	uint32_t nr = wire_heap_nr_stacks(p->memory);

	nr = nr > p->nr_now ? nr : (uint32_t)p->nr_now;
	p->is_unread = !make_room(p, nr);
	if (p->is_unread)
		return;
	swap_readings(p);
	p->nr_now = nr;
	for (uint32_t i = 0; i < nr; i++)
		wire_heap_stack(p->memory, i, &p->now[i]);
	if (h->config.interval_ns[1])
		add_waits(p, is_over, h->config.interval_ns[1]);
	if (h->config.wants & HEAP_WANTS_TIMES)
		read_times(p, is_over);
	p->misses_pages =
	    pages && session_heap_read_pages(pages, p->pid, p->memory, p->now, p->nr_now) < 0;
	for (size_t i = 0; i < p->nr_before; i++)
		keep_growing(&p->now[i], &p->before[i]);
	read_unreachable(p);
	memcpy(p->classes_before, p->classes, sizeof(p->classes));
	wire_heap_classes(p->memory, p->classes);
	read_sums(p);
}

/* The end is looked for first: nothing is written after it. */
static void read_one(const struct session_heap *h, struct session_heap_process *p,
		     const struct session_heap_pages *pages)
{
	bool is_over = p->is_replaced || is_gone(p);

	read_process(p, h, is_over, is_over ? NULL : pages);
	if (!is_over && h->unrecorded)
		h->unrecorded(h->unrecorded_arg, p->pid);
	p->has_ended = is_over && !p->is_unread;
	if (p->has_ended)
		wire_heap_end(p->memory);
}

/* --- processes that come and go */

/* Adds what processes did that have ended, and frees them. Returns the number of the others. */
static size_t end_processes(struct session_heap_process **processes, size_t nr_processes,
			    struct session_heap_ended *to)
{
	size_t nr = 0;

	for (size_t i = 0; i < nr_processes; i++) {
		struct session_heap_process *p = processes[i];

		if (!p->has_ended || p->is_searched) {
			processes[nr++] = p;
			continue;
		}
		add_process_counts(to->counts, p);
		add_lost(&to->lost, &p->sums);
		free_process(p);
	}
	return nr;
}

static void add_ended(struct session_heap_ended *to, const struct session_heap_ended *from)
{
	for (int kind = 0; kind < EVENT_HEAP_NR_KINDS; kind++)
		add_count(&to->counts[kind], kind, from->counts[kind]);
	sum_add(&to->counts[SESSION_HEAP_CPU_SAMPLED], from->counts[SESSION_HEAP_CPU_SAMPLED]);
	sum_add(&to->counts[SESSION_HEAP_REAL_SAMPLED], from->counts[SESSION_HEAP_REAL_SAMPLED]);
	add_peak(to->counts, from->counts[SESSION_HEAP_LARGEST_PEAK],
		 from->counts[EVENT_HEAP_PEAK_TIME]);
	add_lost(&to->lost, &from->lost);
}

/* A process that calls exec connects again, with a memory for its new program. */
static void replace(struct session_heap_process *const *processes, size_t nr, uint32_t pid)
{
	for (size_t i = 0; i < nr; i++)
		processes[i]->is_replaced |= processes[i]->pid == pid;
}

/* Of a session without samples nothing but the sums of a process is of use when it has ended. */
static void fold_added(struct session_heap *h)
{
	size_t nr;

	for (size_t i = 0; i < h->nr_added; i++)
		read_one(h, h->added[i], NULL);
	nr = end_processes(h->added, h->nr_added, &h->folded);
	h->has_folded |= nr < h->nr_added;
	h->nr_all -= h->nr_added - nr;
	h->nr_added = nr;
}

/* Not one that the target started, if these are not measured. */
static bool is_wanted(const struct plan_target *t, uint32_t pid)
{
	bool is_chosen = !t->is_process_only;

	for (size_t i = 0; i < t->nr_ids && !is_chosen; i++)
		is_chosen = t->ids[i] == (pid_t)pid;
	return is_chosen;
}

/* Called by the wire's thread. */
static bool on_heap(void *arg, uint32_t pid, int pidfd, struct wire_heap *memory)
{
	struct session_heap *h = arg;
	struct session_heap_process *p, **place = NULL;

	if (!is_wanted(&h->plan->target, pid))
		return false;
	p = mem_zalloc(sizeof(*p));
	pthread_mutex_lock(&h->lock);
	replace(h->added, h->nr_added, pid);
	if (!h->has_samples && h->nr_added >= SESSION_HEAP_FOLD_AT)
		fold_added(h);
	if (p && h->nr_all < SESSION_HEAP_MAX_PROCESSES)
		place = MEM_ADD(h->added, h->nr_added, h->added_room);
	h->nr_all += place != NULL;
	h->nr_refused += place == NULL;
	if (place) {
		*p = (struct session_heap_process){.pid = pid,
						   .pidfd = pidfd,
						   .memory = memory,
						   .lock = PTHREAD_MUTEX_INITIALIZER};
		*place = p;
	}
	pthread_mutex_unlock(&h->lock);
	if (!place)
		mem_free(p);
	else if (h->unrecorded)
		h->unrecorded(h->unrecorded_arg, pid);
	return place;
}

/* Of a process that connected: others have nothing to dump. Called by the wire's thread. */
static bool on_dump(void *arg, uint32_t pid)
{
	const struct session_heap *h = arg;

	(void)pid;
	return h->dump && h->dump(h->dump_arg);
}

static struct session_heap_process *find_process(struct session_heap_process *const *processes,
						 size_t nr, uint32_t pid)
{
	for (size_t i = 0; i < nr; i++)
		if (processes[i]->pid == pid && !processes[i]->is_replaced)
			return processes[i];
	return NULL;
}

static void keep_unreachable(void *arg, struct wire_heap_amount *unreachable, size_t nr)
{
	struct session_heap_process *p = arg;

	pthread_mutex_lock(&p->lock);
	mem_free(p->unreachable);
	p->unreachable = unreachable;
	p->nr_unreachable = nr;
	pthread_mutex_unlock(&p->lock);
}

/* The lock is not held meanwhile. Called by the wire's thread. */
static bool on_reach(void *arg, uint32_t pid)
{
	struct session_heap *h = arg;
	struct session_heap_process *p;
	struct session_heap_reach what = {
	    .root = &h->plan->host->root, .pid = pid, .keep = keep_unreachable};
	int rc;

	pthread_mutex_lock(&h->lock);
	p = find_process(h->added, h->nr_added, pid) ?: find_process(h->processes, h->nr, pid);
	if (p) {
		p->is_searched = true;
		what.memory = p->memory;
		what.arg = p;
	}
	pthread_mutex_unlock(&h->lock);
	if (!p)
		return false;
	rc = session_heap_reach(&what);
	pthread_mutex_lock(&h->lock);
	p->is_searched = false;
	pthread_mutex_unlock(&h->lock);
	return rc == 0;
}

static void take_one(struct session_heap *h, struct session_heap_process *added)
{
	struct session_heap_process **place;

	replace(h->processes, h->nr, added->pid);
	place = MEM_ADD(h->processes, h->nr, h->room);
	if (place) {
		*place = added;
		return;
	}
	free_process(added);
	h->nr_refused++;
	h->nr_all--;
}

/* folded: receives what was added up early. */
static void take_added(struct session_heap *h, struct session_heap_ended *folded)
{
	pthread_mutex_lock(&h->lock);
	h->had_process |= h->nr_added != 0 || h->has_folded;
	for (size_t i = 0; i < h->nr_added; i++)
		take_one(h, h->added[i]);
	h->nr_added = 0;
	add_ended(folded, &h->folded);
	h->folded = (struct session_heap_ended){0};
	pthread_mutex_unlock(&h->lock);
}

static void end_taken(struct session_heap *h, struct session_heap_ended *to)
{
	size_t nr;

	pthread_mutex_lock(&h->lock);
	nr = end_processes(h->processes, h->nr, to);
	h->nr_all -= h->nr - nr;
	h->nr = nr;
	pthread_mutex_unlock(&h->lock);
}

/* Those of the iteration that is over: what was live then is so no more. */
static void forget_ended(struct session_heap *h)
{
	end_taken(h, &h->ended_now);
	forget_live(h->ended_now.counts);
	add_ended(&h->ended, &h->ended_now);
	h->ended_now = (struct session_heap_ended){0};
}

/* --- readings */

static void begin_counts(struct session_heap *h)
{
	struct session_heap_ended all = h->ended;

	add_ended(&all, &h->ended_now);
	memcpy(h->counts, all.counts, sizeof(h->counts));
	h->lost = all.lost;
}

static bool misses_search(const struct session_heap *h, const struct session_heap_process *p)
{
	return h->config.wants & HEAP_WANTS_REACH && is_leaking(p) && !p->unreachable;
}

void session_heap_read(struct session_heap *h, uint64_t now_ns)
{
	struct session_heap_pages pages = {.rate = h->config.rate,
					   .has_resident = h->has_resident,
					   .has_untouched = h->config.wants & HEAP_WANTS_UNTOUCHED,
					   .has_pattern = h->config.wants & HEAP_WANTS_PATTERN};
	const bool wants_pages = pages.has_resident || pages.has_untouched;

	if (!h->wire)
		return;
	pages.root = &h->plan->host->root;
	if (h->has_samples) /* of these the stacks were read since */
		forget_ended(h);
	take_added(h, &h->ended_now);
	h->lost_before = h->lost;
	memcpy(h->counts_before, h->times_at, sizeof(h->counts_before));
	begin_counts(h);
	for (size_t i = 0; i < h->nr; i++) {
		wire_heap_begin_reading(h->processes[i]->memory);
		read_one(h, h->processes[i], wants_pages ? &pages : NULL);
		wire_heap_end_reading(h->processes[i]->memory);
		h->nr_unread += h->processes[i]->misses_pages;
		h->nr_unsearched += misses_search(h, h->processes[i]);
		add_process_counts(h->counts, h->processes[i]);
		add_lost(&h->lost, &h->processes[i]->sums);
	}
	memcpy(h->times_at, h->counts, sizeof(h->times_at));
	if (!h->has_samples)
		forget_ended(h);
	h->start_ns = h->nr_readings++ ? h->start_ns : now_ns;
	h->begin_ns = h->end_ns ? h->end_ns : now_ns;
	h->end_ns = now_ns;
}

static void look_at(const struct session_heap_process *p, uint64_t counts[SESSION_HEAP_NR_COUNTS])
{
	const uint32_t nr = wire_heap_nr_stacks(p->memory);
	struct wire_heap_sums sums;
	struct wire_heap_times times;
	struct wire_heap_stack s;

	wire_heap_sums(p->memory, &sums);
	sums = not_less(&sums, &p->sums);
	add_sums(counts, &sums);
	wire_heap_times(p->memory, cpu_ns_of(p, false), clock_monotonic_ns(), &times);
	add_times(counts, &times);
	for (uint32_t i = 0; i < nr || i < p->nr_now; i++) {
		wire_heap_stack(p->memory, i, &s);
		if (i < p->nr_now) {
			keep_growing(&s, &p->now[i]);
			/* that of the boundary */
			s.amount[WIRE_HEAP_RESIDENT] = p->now[i].amount[WIRE_HEAP_RESIDENT];
			s.amount[WIRE_HEAP_UNREACHABLE] = p->now[i].amount[WIRE_HEAP_UNREACHABLE];
		}
		add_stack(counts, p, &s);
	}
}

/* Of a process that ended in the iteration before. */
static void add_past(uint64_t counts[SESSION_HEAP_NR_COUNTS], const struct session_heap_process *p)
{
	struct session_heap_ended past = {.counts = {0}};

	add_process_counts(past.counts, p);
	forget_live(past.counts);
	for (int kind = 0; kind < EVENT_HEAP_NR_KINDS; kind++)
		add_count(&counts[kind], kind, past.counts[kind]);
}

/* Those that have ended since the last reading are read for good, if nothing needs their stacks. */
static void look_at_ends(struct session_heap *h)
{
	for (size_t i = 0; i < h->nr; i++)
		if (!h->processes[i]->has_ended && is_gone(h->processes[i]))
			read_one(h, h->processes[i], NULL);
	end_taken(h, &h->ended_now);
}

void session_heap_look(struct session_heap *h)
{
	const struct wire_heap_sums lost = h->lost;

	if (!h->wire)
		return;
	take_added(h, &h->ended_now);
	if (!h->has_samples)
		look_at_ends(h);
	begin_counts(h);
	h->lost = lost;
	for (size_t i = 0; i < h->nr; i++)
		if (h->processes[i]->has_ended)
			add_past(h->counts, h->processes[i]);
		else
			look_at(h->processes[i], h->counts);
}

/* --- */

/* What the agent has to do for each kind. */
static const uint32_t wants[EVENT_HEAP_NR_KINDS] = {
    [EVENT_HEAP_FREED] = HEAP_WANTS_BLOCKS,
    [EVENT_HEAP_LIVE] = HEAP_WANTS_BLOCKS,
    [EVENT_HEAP_PEAK] = HEAP_WANTS_BLOCKS | HEAP_WANTS_PEAK,
    [EVENT_HEAP_TEMPORARY] = HEAP_WANTS_BLOCKS,
    [EVENT_HEAP_LEAKED] = HEAP_WANTS_BLOCKS,
    [EVENT_HEAP_OVERHEAD] = HEAP_WANTS_OVERHEAD,
    [EVENT_HEAP_RESIDENT] = HEAP_WANTS_BLOCKS,
    [EVENT_HEAP_UNTOUCHED] = HEAP_WANTS_BLOCKS | HEAP_WANTS_UNTOUCHED,
    [EVENT_HEAP_PEAK_TIME] = HEAP_WANTS_BLOCKS | HEAP_WANTS_PEAK,
    [EVENT_HEAP_FD_OPENED] = HEAP_WANTS_FDS,
    [EVENT_HEAP_FD_LIVE] = HEAP_WANTS_FDS,
    [EVENT_HEAP_FD_LEAKED] = HEAP_WANTS_FDS,
    [EVENT_HEAP_IO_READ] = HEAP_WANTS_IO,
    [EVENT_HEAP_IO_READ_CALLS] = HEAP_WANTS_IO,
    [EVENT_HEAP_IO_WRITTEN] = HEAP_WANTS_IO,
    [EVENT_HEAP_IO_WRITE_CALLS] = HEAP_WANTS_IO,
    [EVENT_HEAP_THREAD_CREATED] = HEAP_WANTS_THREADS,
    [EVENT_HEAP_THREAD_LIVE] = HEAP_WANTS_THREADS,
    [EVENT_HEAP_EXCEPTION_THROWN] = HEAP_WANTS_EXCEPTIONS,
    [EVENT_HEAP_EXCEPTION_CAUGHT] = HEAP_WANTS_EXCEPTIONS,
    [EVENT_HEAP_LIFETIME] = HEAP_WANTS_BLOCKS | HEAP_WANTS_LIVES,
    [EVENT_HEAP_UNREACHABLE] = HEAP_WANTS_BLOCKS | HEAP_WANTS_REACH,
    [EVENT_HEAP_CPU_TIME] = HEAP_WANTS_TIMES,
    [EVENT_HEAP_REAL_TIME] = HEAP_WANTS_TIMES,
};

enum {
	OF_MEMORY = HEAP_WANTS_BLOCKS | HEAP_WANTS_PEAK | HEAP_WANTS_OVERHEAD |
		    HEAP_WANTS_UNTOUCHED | HEAP_WANTS_LIVES | HEAP_WANTS_REACH
};

/* Beside samples the event may be counted. */
static void set_interval(uint64_t *interval_ns, const struct spec_event *asked)
{
	if (spec_event_is_sampled(asked))
		*interval_ns = plan_interval_ns(asked);
}

/* False: there are no such events. Without a rate, each allocation is tracked for what threads do
 * not add up. */
static bool configure(struct session_heap *h, struct wire_heap_config *out)
{
	bool has_events = false;

	*out = (struct wire_heap_config){.rate = 0};
	for (size_t i = 0; i < h->plan->nr_events; i++) {
		const struct spec_event *asked = h->plan->events[i].asked;
		int kind = kind_of(h, i);

		if (kind < 0)
			continue;
		has_events = true;
		out->wants |= wants[kind];
		if (kind == EVENT_HEAP_UNTOUCHED && spec_has_pattern(h->plan->spec))
			out->wants |= HEAP_WANTS_PATTERN;
		h->has_resident |= kind == EVENT_HEAP_RESIDENT;
		h->has_samples |= spec_event_is_sampled(asked);
		if (kind == EVENT_HEAP_CPU_TIME || kind == EVENT_HEAP_REAL_TIME)
			set_interval(&out->interval_ns[kind == EVENT_HEAP_REAL_TIME], asked);
		if (!resources[kind])
			out->rate = asked->rate ? asked->rate : out->rate;
		if (spec_event_is_sampled(asked) && asked->flags & (SPEC_CALLCHAIN | SPEC_PC))
			out->wants |= HEAP_WANTS_STACKS;
	}
	if (out->wants & OF_MEMORY && !out->rate)
		out->rate = 1;
	return has_events;
}

static int refuse(struct session_heap *h, const char *reason)
{
	h->support = (struct event_support){.state = READING_NOT_SUPPORTED};
	snprintf(h->support.reason, sizeof(h->support.reason), "%.255s", reason);
	return 0;
}

/* The agent may be loaded into processes of other users. */
static bool may_connect(void *arg, uint32_t pid)
{
	const struct plan_target *t = &((const struct session_heap *)arg)->plan->target;

	return t->has_agent && ARRAY_ANY(id, t->agents, t->nr_agents, (uint32_t)*id == pid);
}

int session_heap_open(struct session_heap *h, const struct plan *plan)
{
	struct wire_config config = {.arg = h,
				     .heap = &h->config,
				     .heap_added = on_heap,
				     .heap_dump = on_dump,
				     .heap_reach = on_reach,
				     .may_connect = may_connect};
	struct err e = {0};
	int rc;

	if (h->wire || h->support.state)
		return 0;
	h->plan = plan;
	if (!configure(h, &h->config))
		return 0;
	if (!plan->target.is_command && !plan->target.has_agent)
		return refuse(h,
			      "the heap is measured by an agent in a command that cpuperf starts, "
			      "or in a process that runs, with --attach");
	if (h->config.wants & HEAP_WANTS_REACH && plan->target.has_agent)
		return refuse(
		    h, "unreachable needs all allocations since a program's start: it cannot "
		       "be measured with --attach");
	if (plan->has_control)
		return refuse(h, "--control cannot disable the agent: use --windows or --delay");
	if (plan->heap_refused)
		return refuse(h, plan->heap_refused);
	pthread_mutex_init(&h->lock, NULL);
	rc = wire_open(&config, &h->wire, &e);
	if (rc == 0 && wire_start(h->wire)) {
		wire_free(h->wire);
		h->wire = NULL;
		rc = err_set(&e, -EAGAIN, "no thread can receive what programs allocate");
	}
	if (rc == -ENOMEM)
		return rc;
	return rc ? refuse(h, e.msg) : 0;
}

const char *session_heap_name(const struct session_heap *h)
{
	return h->wire ? wire_name(h->wire) : NULL;
}

void session_heap_fini(struct session_heap *h)
{
	wire_free(h->wire); /* its thread has ended */
	for (size_t i = 0; i < h->nr_added; i++)
		free_process(h->added[i]);
	for (size_t i = 0; i < h->nr; i++)
		free_process(h->processes[i]);
	mem_free(h->added);
	mem_free(h->processes);
	*h = (struct session_heap){0};
}

static uint64_t growth(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

uint64_t session_heap_count(const struct session_heap *h, size_t event)
{
	int kind = kind_of(h, event);

	if (kind == EVENT_HEAP_PEAK_TIME)
		return growth(h->counts[kind], h->start_ns);
	return kind < 0 ? 0 : h->counts[kind];
}

bool session_heap_is_silent(const struct session_heap *h)
{
	return h->nr_readings > 1 && !h->had_process;
}

static struct wire_heap_amount sample_of(const struct session_heap_process *p, int kind,
					 uint32_t stack, uint32_t life)
{
	const enum wire_heap_kind from = amounts[kind];
	struct wire_heap_amount a = amount_of(&p->now[stack], kind, life), before;

	if (!has_kind(p, &p->now[stack], kind))
		return (struct wire_heap_amount){0, 0};
	if (kind == EVENT_HEAP_MAX)
		return (struct wire_heap_amount){a.samples != 0, p->now[stack].max_bytes};
	if (from < WIRE_HEAP_NR_CUMULATIVE && stack < p->nr_before) {
		before = amount_of(&p->before[stack], kind, life);
		a.samples -= before.samples;
		a.bytes -= before.bytes;
	}
	if (a.bytes && !a.samples) /* read while it was written: counted before */
		a.samples = 1;
	return a;
}

static uint64_t within(uint64_t ns, uint64_t begin_ns, uint64_t end_ns)
{
	return ns < begin_ns ? begin_ns : ns < end_ns ? ns : end_ns;
}

/* The addresses are those that functions return to: the innermost one is that of the call. */
static void find_callers(struct session_heap *h, const struct session_heap_process *p,
			 uint32_t stack, struct aggregate_stack *out)
{
	struct wire_heap_epoch epoch = {.at_ns = h->begin_ns};
	uint64_t *pcs = h->pcs + 1;
	int nr = wire_heap_callers(p->memory, p->now[stack].node, pcs, &epoch);

	if (nr > 0 && p->now[stack].resource) {
		pcs++;
		nr--;
	}
	if (nr > 0 && wire_heap_type(p->memory, pcs[0], h->type)) {
		pcs[0] = SESSION_HEAP_TYPES + (pcs[0] & ~HEAP_TYPE) * SESSION_HEAP_TYPE_STEP;
		pcs[1] -= nr > 1 && pcs[1];
		out->name = h->type;
	} else if (nr > 0) {
		pcs[0] -= pcs[0] != 0;
	}
	out->user = pcs;
	out->nr_user = nr > 0 ? (uint32_t)nr : 0;
	out->begin_ns = out->end_ns = within(epoch.at_ns, h->begin_ns, h->end_ns);
}

/* A frame below the place of the allocation. */
static void add_life(struct session_heap *h, uint32_t life, struct aggregate_stack *out)
{
	h->pcs[0] = PERF_ABI_LIVES + life;
	out->user = h->pcs;
	out->nr_user++;
}

bool session_heap_next(struct session_heap *h, size_t event, struct session_heap_at *at,
		       struct aggregate_stack *out)
{
	int kind = kind_of(h, event);

	for (; kind >= 0 && at->process < h->nr; at->process++, at->stack = 0) {
		const struct session_heap_process *p = h->processes[at->process];

		while (at->stack < p->nr_now && !p->is_unread) {
			uint32_t stack = at->stack, life = at->life;
			struct wire_heap_amount a = sample_of(p, kind, stack, life);

			at->life = life + 1 < nr_lives(kind) ? life + 1 : 0;
			at->stack += !at->life;
			if (!a.samples)
				continue;
			*out = (struct aggregate_stack){
			    .pid = p->pid, .tid = p->pid, .samples = a.samples, .weight = a.bytes};
			find_callers(h, p, stack, out);
			if (kind == EVENT_HEAP_LIFETIME)
				add_life(h, life, out);
			return true;
		}
	}
	return false;
}

static uint64_t calls_of(const struct session_heap *h, uint64_t weighted)
{
	return h->config.rate > 1 ? (weighted + HEAP_CALL / 2) / HEAP_CALL : weighted;
}

static uint64_t live_of(uint64_t all, uint64_t freed)
{
	return all > freed ? all - freed : 0;
}

/* What the processes did in the iteration, and what is live at its end. */
static void add_sizes(const struct session_heap *h, size_t i, uint64_t to[SESSION_HEAP_NR_SIZES])
{
	for (size_t k = 0; k < h->nr; k++) {
		const struct session_heap_process *p = h->processes[k];
		const struct wire_heap_class *now = &p->classes[i], *before = &p->classes_before[i];

		if (p->is_unread)
			continue;
		sum_add(&to[SESSION_HEAP_CALLS], growth(now->calls, before->calls));
		sum_add(&to[SESSION_HEAP_BYTES], growth(now->bytes, before->bytes));
		sum_add(&to[SESSION_HEAP_LIVE_CALLS], live_of(now->calls, now->freed_calls));
		sum_add(&to[SESSION_HEAP_LIVE_BYTES], live_of(now->bytes, now->freed_bytes));
	}
	to[SESSION_HEAP_CALLS] = calls_of(h, to[SESSION_HEAP_CALLS]);
	to[SESSION_HEAP_LIVE_CALLS] = calls_of(h, to[SESSION_HEAP_LIVE_CALLS]);
}

/* The first event of memory that is sampled. */
static size_t sampled_event(const struct session_heap *h)
{
	size_t i = 0;

	while (i < h->plan->nr_events &&
	       (kind_of(h, i) < 0 || resources[kind_of(h, i)] || !h->plan->events[i].asked->rate))
		i++;
	return i;
}

/* The bucket of sizes from 2^(i - 1) on. */
static uint32_t bucket_of(size_t i)
{
	const uint32_t bits = TRACE_HISTOGRAM_BITS;

	if (i <= bits + 1)
		return i ? 1u << (i - 1) : 0;
	return (uint32_t)(i - bits) << bits;
}

size_t session_heap_sizes(struct session_heap *h, struct trace_histogram out[SESSION_HEAP_NR_SIZES])
{
	static const char *const parts[SESSION_HEAP_NR_SIZES] = {"calls", "bytes", "live_calls",
								 "live_bytes"};
	const bool has_blocks = h->config.wants & HEAP_WANTS_BLOCKS;
	const size_t event = h->wire && h->has_samples ? sampled_event(h) : SIZE_MAX;
	size_t nr = has_blocks ? SESSION_HEAP_NR_SIZES : SESSION_HEAP_LIVE_CALLS;

	if (event >= (h->plan ? h->plan->nr_events : 0))
		return 0;
	for (size_t k = 0; k < nr; k++) {
		out[k] = (struct trace_histogram){.event = (uint32_t)event,
						  .bits = TRACE_HISTOGRAM_BITS,
						  .bucket = h->size_buckets[k]};
		snprintf(out[k].part, sizeof(out[k].part), "%s", parts[k]);
	}
	for (size_t i = 0; i < WIRE_HEAP_NR_CLASSES; i++) {
		uint64_t of[SESSION_HEAP_NR_SIZES] = {0};

		add_sizes(h, i, of);
		for (size_t k = 0; k < nr; k++) {
			if (!of[k])
				continue;
			h->size_buckets[k][out[k].nr++] =
			    (struct trace_bucket){bucket_of(i), of[k]};
			sum_add(&out[k].sum_ns, of[k]);
		}
	}
	return nr;
}

/* Samples that were expected by the clocks; 0: few. */
static uint64_t missing(const struct session_heap *h, int kind, int sampled, uint64_t interval_ns)
{
	enum { FEW = 10, PART = 20 };
	uint64_t ns = growth(h->times_at[kind], h->counts_before[kind]);
	uint64_t less_ns = growth(ns, growth(h->times_at[sampled], h->counts_before[sampled]));
	uint64_t nr = interval_ns ? less_ns / interval_ns : 0;

	return nr > FEW && less_ns > ns / PART ? nr : 0;
}

void session_heap_notes(struct session_heap *h,
			char notes[SESSION_HEAP_NR_NOTES][SESSION_HEAP_NOTE_BYTES])
{
	const struct {
		uint64_t nr;
		const char *text;
	} rows[SESSION_HEAP_NR_NOTES] = {
	    {growth(h->lost.no_node, h->lost_before.no_node),
	     "samples of the heap have no stack: there was no room for more stacks"},
	    {growth(h->lost.no_block, h->lost_before.no_block),
	     "allocations found no room in the table of blocks: they count as live"},
	    {growth(h->lost.nested, h->lost_before.nested),
	     "calls within the agent, as of signal handlers, were not measured"},
	    {growth(h->lost.invalid, h->lost_before.invalid),
	     "allocations have an address that is not tracked: they count as live"},
	    {growth(h->lost.deep, h->lost_before.deep),
	     "stacks of the heap are deeper than the agent follows: outermost callers are missing"},
	    {h->plan->target.has_agent ? growth(h->lost.unknown, h->lost_before.unknown) : 0,
	     "frees were of blocks of before the agent was attached: they are in no number"},
	    {missing(h, EVENT_HEAP_CPU_TIME, SESSION_HEAP_CPU_SAMPLED, h->config.interval_ns[0]),
	     "samples of cpu_time are missing: threads ran for less than a tick of the kernel at a "
	     "time, blocked the signal, or were not created by pthread_create"},
	    {missing(h, EVENT_HEAP_REAL_TIME, SESSION_HEAP_REAL_SAMPLED, h->config.interval_ns[1]),
	     "samples of real_time are missing: threads waited in no function of libc that is "
	     "known, or ran as those that cpu_time misses"},
	    {h->nr_refused,
	     "processes have a heap that was not measured: there were too many in an iteration"},
	    {h->nr_unsearched, "processes ended without a search for pointers to their blocks: by "
			       "a signal or abort, traced, or after "
			       "more than 10 s; unreachable misses them"},
	    {h->nr_unread,
	     "processes have pages that could not be read: resident and untouched miss them"},
	    {session_heap_is_silent(h),
	     "command, but no process of it loaded libcpuperf-agent.so: no heap was measured"},
	};

	pthread_mutex_lock(&h->lock);
	h->nr_refused = 0;
	pthread_mutex_unlock(&h->lock);
	h->nr_unread = h->nr_unsearched = 0;
	for (size_t i = 0; i < SESSION_HEAP_NR_NOTES; i++) {
		notes[i][0] = '\0';
		if (rows[i].nr && h->wire)
			snprintf(notes[i], SESSION_HEAP_NOTE_BYTES, "%" PRIu64 " %s", rows[i].nr,
				 rows[i].text);
	}
}
