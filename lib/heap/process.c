#include "heap/process.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sum.h"
#include "heap/counts.h"
#include "heap/heap.h"
#include "heap/kinds.h"
#include "heap/pages.h"
#include "wire/heap_memory.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>

void heap_process_free(struct heap_process *p)
{
	io_close(&p->pidfd);
	wire_heap_free(p->memory);
	mem_free(p->now);
	mem_free(p->before);
	mem_free(p->unreachable);
	mem_free(p->last_pages);
	mem_free(p);
}

bool heap_process_is_gone(const struct heap_process *p)
{
	struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};

	return p->pidfd < 0 ? kill((pid_t)p->pid, 0) && errno == ESRCH : poll(&fd, 1, 0) > 0;
}

bool heap_process_is_leaking(const struct heap_process *p)
{
	return p->has_ended && !p->is_replaced;
}

bool heap_process_has_kind(const struct heap_process *p, const struct wire_heap_stack *s, int kind)
{
	const struct heap_kind *k = heap_kind(kind);

	return s->resource == k->resource && (!k->is_leak || heap_process_is_leaking(p));
}

struct wire_heap_amount heap_process_amount(const struct wire_heap_stack *s, int kind,
					    uint32_t life)
{
	struct wire_heap_amount a = s->amount[heap_kind(kind)->from + (int)life];

	if (heap_kind(kind)->is_calls)
		a.bytes = a.samples;
	return a;
}

uint32_t heap_nr_lives(int kind)
{
	return kind == EVENT_HEAP_LIFETIME ? WIRE_HEAP_NR_LIVES : 1;
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

static void read_sums(struct heap_process *p)
{
	struct wire_heap_sums now;

	wire_heap_sums(p->memory, &now);
	p->sums = not_less(&now, &p->sums);
}

/* Of a process that has ended or been replaced: 0. */
static uint64_t cpu_ns_of(const struct heap_process *p, bool is_over)
{
	const clockid_t clock = (clockid_t)(~p->pid << 3 | 2); /* as linux/posix-timers.h has it */
	struct timespec t = {0};

	if (is_over || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void read_times(struct heap_process *p, bool is_over)
{
	const uint64_t now_ns = is_over ? 0 : clock_monotonic_ns();
	struct wire_heap_times times;

	wire_heap_times(p->memory, cpu_ns_of(p, is_over), now_ns, &times);
	p->times.cpu_ns = larger(p->times.cpu_ns, times.cpu_ns);
	p->times.real_ns = larger(p->times.real_ns, times.real_ns);
}

/* Those that last. */
static void add_waits(struct heap_process *p, bool is_over, uint64_t interval_ns)
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
static bool make_room(struct heap_process *p, size_t nr)
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

static void swap_readings(struct heap_process *p)
{
	struct wire_heap_stack *old = p->before;
	size_t old_room = p->before_room;

	p->before = p->now;
	p->nr_before = p->nr_now;
	p->before_room = p->now_room;
	p->now = old;
	p->now_room = old_room;
}

static struct wire_heap_amount at_most(const struct wire_heap_amount *a,
				       const struct wire_heap_amount *most)
{
	return (struct wire_heap_amount){smaller(a->samples, most->samples),
					 smaller(a->bytes, most->bytes)};
}

/* What was found by the last search and is live still. */
static void read_unreachable(struct heap_process *p)
{
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->nr_unreachable && i < p->nr_now; i++) {
		p->now[i].amount[WIRE_HEAP_UNREACHABLE] =
		    at_most(&p->unreachable[i], &p->now[i].amount[WIRE_HEAP_LIVE]);
	}
	pthread_mutex_unlock(&p->lock);
}

/* Of what is live still. A page that is divided may be more than what is live in it. */
static void add_paged(struct wire_heap_stack *s, const struct heap_paged *paged)
{
	const struct wire_heap_amount *live = &s->amount[WIRE_HEAP_LIVE];
	const struct wire_heap_amount untouched = at_most(&paged->untouched, live);
	struct wire_heap_amount *to = &s->amount[WIRE_HEAP_UNTOUCHED];

	if (!live->samples)
		return;
	s->amount[WIRE_HEAP_RESIDENT] = (struct wire_heap_amount){
	    smaller(paged->resident.samples, live->samples), paged->resident.bytes};
	sum_add(&to->samples, untouched.samples);
	sum_add(&to->bytes, untouched.bytes);
}

static void read_last_pages(struct heap_process *p)
{
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->nr_last_pages && i < p->nr_now; i++)
		add_paged(&p->now[i], &p->last_pages[i]);
	pthread_mutex_unlock(&p->lock);
}

/* Without memory all stays as it was, and is read later. pages: NULL: of none. */
static void read_process(struct heap_process *p, const struct heap_use *h, bool is_over,
			 const struct heap_pages *pages)
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
	p->misses_pages = pages && heap_read_pages(pages, p->pid, p->memory, p->now, p->nr_now) < 0;
	if (is_over)
		read_last_pages(p);
	for (size_t i = 0; i < p->nr_before; i++)
		keep_growing(&p->now[i], &p->before[i]);
	read_unreachable(p);
	memcpy(p->classes_before, p->classes, sizeof(p->classes));
	wire_heap_classes(p->memory, p->classes);
	read_sums(p);
}

void heap_process_read(const struct heap_use *h, struct heap_process *p,
		       const struct heap_pages *pages)
{
	bool is_over = p->is_replaced || heap_process_is_gone(p);

	read_process(p, h, is_over, is_over ? NULL : pages);
	if (!is_over && h->use.core->add_process)
		h->use.core->add_process(h->use.core->sampling, p->pid);
	p->has_ended = is_over && !p->is_unread;
	if (p->has_ended)
		wire_heap_end(p->memory);
}

void heap_process_look(const struct heap_process *p, uint64_t counts[HEAP_NR_COUNTS])
{
	const uint32_t nr = wire_heap_nr_stacks(p->memory);
	struct wire_heap_sums sums;
	struct wire_heap_times times;
	struct wire_heap_stack s;

	wire_heap_sums(p->memory, &sums);
	sums = not_less(&sums, &p->sums);
	heap_counts_add_sums(counts, &sums);
	wire_heap_times(p->memory, cpu_ns_of(p, false), clock_monotonic_ns(), &times);
	heap_counts_add_times(counts, &times);
	for (uint32_t i = 0; i < nr || i < p->nr_now; i++) {
		wire_heap_stack(p->memory, i, &s);
		if (i < p->nr_now) {
			keep_growing(&s, &p->now[i]);
			/* that of the boundary */
			s.amount[WIRE_HEAP_RESIDENT] = p->now[i].amount[WIRE_HEAP_RESIDENT];
			s.amount[WIRE_HEAP_UNREACHABLE] = p->now[i].amount[WIRE_HEAP_UNREACHABLE];
		}
		heap_counts_add_stack(counts, p, &s);
	}
}

void heap_process_keep_unreachable(void *arg, struct wire_heap_amount *unreachable, size_t nr)
{
	struct heap_process *p = arg;

	pthread_mutex_lock(&p->lock);
	mem_free(p->unreachable);
	p->unreachable = unreachable;
	p->nr_unreachable = nr;
	pthread_mutex_unlock(&p->lock);
}

static void keep_paged(struct heap_process *p, struct heap_paged *paged, size_t nr)
{
	pthread_mutex_lock(&p->lock);
	mem_free(p->last_pages);
	p->last_pages = paged;
	p->nr_last_pages = nr;
	pthread_mutex_unlock(&p->lock);
}

void heap_process_keep_pages(struct heap_process *p, const struct heap_pages *pages)
{
	const size_t nr = wire_heap_nr_stacks(p->memory);
	struct wire_heap_stack *stacks = mem_calloc(nr + 1, sizeof(*stacks));
	struct heap_paged *paged = mem_calloc(nr + 1, sizeof(*paged));

	if (!stacks || !paged || heap_read_pages(pages, p->pid, p->memory, stacks, nr) <= 0) {
		mem_free(stacks);
		mem_free(paged);
		return;
	}
	for (size_t i = 0; i < nr; i++)
		paged[i] = (struct heap_paged){stacks[i].amount[WIRE_HEAP_RESIDENT],
					       stacks[i].amount[WIRE_HEAP_UNTOUCHED]};
	mem_free(stacks);
	keep_paged(p, paged, nr);
}

bool heap_process_has_last_pages(struct heap_process *p)
{
	bool has_any;

	pthread_mutex_lock(&p->lock);
	has_any = p->last_pages;
	pthread_mutex_unlock(&p->lock);
	return has_any;
}
