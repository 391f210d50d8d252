/*
 * A meeting has a row of waits with one waker, which itself did not wait in between, and in which
 * no thread comes twice. Its last wait is where all of them are known.
 */
#include "causal/graph.h"

#include "base/dict.h"
#include "base/mem.h"
#include "base/order.h"

#include <errno.h>
#include <math.h>

enum { MAX_THREADS = 1 << 22, NONE = UINT32_MAX };

struct item {
	uint64_t time_ns, ns;
	uint64_t woken_ns;      /* if it then waited for a CPU; else 0 */
	uint32_t thread, other; /* numbers of the threads */
	uint32_t mark;
	uint8_t kind;
	bool is_end;     /* of the waits of its meeting */
	uint32_t before; /* of a meeting: the item before; NONE */
};

struct thread {
	uint32_t tid;
	bool has_own; /* it has events: not only others name it */
	/* while it is ordered */
	uint32_t last;    /* item of a wait, of any kind; NONE */
	uint32_t meeting; /* that it has ended and that may have more waits: its last item; NONE */
	uint64_t end_ns;  /* when it ended; 0: it has not; also while it is replayed */
	/* while it is replayed */
	double saved;
	uint32_t children, next; /* those that it made and did not wait for; NONE */
};

/* By whom waited at a meeting: as if he had come last, and as his waker alone allows. */
struct saved {
	double own, is;
};

struct causal_graph {
	struct item *items; /* owned */
	size_t nr, room;
	struct dict threads; /* struct thread by tid */
	struct saved *met;   /* owned; by item */
};

struct causal_graph *causal_new(void)
{
	struct causal_graph *g = mem_zalloc(sizeof(*g));

	if (g)
		dict_init(&g->threads, sizeof(struct thread), DICT_KEY(struct thread, tid),
			  MAX_THREADS);
	return g;
}

void causal_free(struct causal_graph *g)
{
	if (!g)
		return;
	mem_free(g->items);
	mem_free(g->met);
	dict_fini(&g->threads);
	mem_free(g);
}

static struct thread *thread_at(const struct causal_graph *g, uint32_t number)
{
	return dict_at(&g->threads, number);
}

static bool has_other(enum causal_kind kind)
{
	return kind == CAUSAL_WOKEN || kind == CAUSAL_MET || kind == CAUSAL_JOINED ||
	       kind == CAUSAL_MADE;
}

int causal_add(struct causal_graph *g, const struct causal_event *e)
{
	const uint32_t thread = dict_add(&g->threads, &e->thread);
	const uint32_t other = has_other(e->kind) ? dict_add(&g->threads, &e->other) : NONE;
	struct item *it;

	if (g->nr == CAUSAL_MAX_EVENTS)
		return -EFBIG;
	if (thread == DICT_NONE || (has_other(e->kind) && other == DICT_NONE))
		return -ENOMEM;
	it = MEM_ADD(g->items, g->nr, g->room);
	if (!it)
		return -ENOMEM;
	*it = (struct item){.time_ns = e->time_ns,
			    .ns = e->ns,
			    .thread = thread,
			    .other = other,
			    .mark = e->mark,
			    .kind = (uint8_t)e->kind,
			    .before = NONE};
	thread_at(g, thread)->has_own = true;
	return 0;
}

static bool is_blocked(enum causal_kind kind)
{
	return kind == CAUSAL_WOKEN || kind == CAUSAL_MET || kind == CAUSAL_JOINED ||
	       kind == CAUSAL_LATER || kind == CAUSAL_UNKNOWN;
}

/* At one time a thread has run before it makes another, ends before another is woken by that, and
 * waits for a CPU after it was woken. */
static int by_time(const void *a, const void *b)
{
	static const uint8_t order[] = {
	    [CAUSAL_RAN] = 0,    [CAUSAL_MADE] = 1,   [CAUSAL_WOKEN] = 2,
	    [CAUSAL_MET] = 2,    [CAUSAL_LATER] = 2,  [CAUSAL_ENDED] = 3,
	    [CAUSAL_JOINED] = 4, [CAUSAL_QUEUED] = 5, [CAUSAL_UNKNOWN] = 2,
	};
	const struct item *x = a, *y = b;

	return order_u64(x->time_ns, y->time_ns) ?: order_u64(order[x->kind], order[y->kind]) ?:
	       order_u64(x->thread, y->thread);
}

/* A wait is recorded when its thread runs again; it was woken before it waited for a CPU. Both are
 * recorded then, in any order. How long it waited for a CPU is by other clocks: what was woken by
 * an end was not woken before it. */
static void find_wakeups(struct causal_graph *g)
{
	enum { TOGETHER_NS = 50000 };

	for (uint32_t t = 0; t < g->threads.nr; t++) {
		thread_at(g, t)->last = NONE;
		thread_at(g, t)->end_ns = 0;
	}
	for (uint32_t i = 0; i < g->nr; i++) {
		struct item *it = &g->items[i], *before, *wait;
		struct thread *t = thread_at(g, it->thread);
		const uint64_t ns = it->kind == CAUSAL_QUEUED ? it->ns : 0;

		if (it->kind == CAUSAL_ENDED)
			t->end_ns = it->time_ns;
		if (!is_blocked(it->kind) && it->kind != CAUSAL_QUEUED)
			continue;
		before = t->last == NONE ? NULL : &g->items[t->last];
		t->last = i;
		if (!before || is_blocked(before->kind) == is_blocked(it->kind) ||
		    it->time_ns - before->time_ns > TOGETHER_NS)
			continue;
		wait = ns ? before : it;
		wait->woken_ns = wait->time_ns - (ns ?: before->ns);
		if (wait->kind == CAUSAL_JOINED &&
		    wait->woken_ns < thread_at(g, wait->other)->end_ns)
			wait->woken_ns = thread_at(g, wait->other)->end_ns;
		t->last = NONE;
	}
	for (uint32_t i = 0; i < g->nr; i++)
		g->items[i].time_ns = g->items[i].woken_ns ?: g->items[i].time_ns;
}

/* Adds the wait to the meeting that its waker has open, or opens one. */
static void join_meeting(struct causal_graph *g, uint32_t i)
{
	struct item *it = &g->items[i];
	struct thread *waker = thread_at(g, it->other);
	uint32_t k = waker->meeting;

	while (k != NONE && g->items[k].thread != it->thread)
		k = g->items[k].before;
	if (waker->meeting != NONE && k == NONE) {
		g->items[waker->meeting].is_end = false;
		it->before = waker->meeting;
	}
	it->is_end = true;
	waker->meeting = i;
	thread_at(g, it->thread)->meeting = NONE;
}

static void find_meetings(struct causal_graph *g)
{
	for (uint32_t t = 0; t < g->threads.nr; t++)
		thread_at(g, t)->meeting = NONE;
	for (uint32_t i = 0; i < g->nr; i++) {
		struct item *it = &g->items[i];

		if (it->kind == CAUSAL_MET)
			join_meeting(g, i);
		else if (is_blocked(it->kind))
			thread_at(g, it->thread)->meeting = NONE;
	}
}

int causal_order(struct causal_graph *g)
{
	order_sort(g->items, g->nr, sizeof(*g->items), by_time);
	for (size_t i = 0; i < g->nr; i++) {
		struct item *it = &g->items[i];

		/* a program that was not measured answers as late as it did */
		if (is_blocked(it->kind) && it->other != NONE &&
		    (!thread_at(g, it->other)->has_own || it->other == it->thread))
			it->kind = CAUSAL_LATER;
	}
	find_wakeups(g);
	order_sort(g->items, g->nr, sizeof(*g->items), by_time);
	find_meetings(g);
	g->met = mem_calloc(g->nr ?: 1, sizeof(*g->met));
	return g->met ? 0 : -ENOMEM;
}

static double cut_of(const struct causal_cut *cut, uint32_t mark)
{
	return !cut->ran ? cut->ran_all : mark < cut->nr ? cut->ran[mark] : 0;
}

/* All go on when the last of them comes. What they have saved since stays. */
static void meet(struct causal_graph *g, uint32_t last)
{
	struct thread *waker = thread_at(g, g->items[last].other);
	double least = waker->saved;

	for (uint32_t i = last; i != NONE; i = g->items[i].before)
		least = fmin(least, g->met[i].own);
	for (uint32_t i = last; i != NONE; i = g->items[i].before)
		thread_at(g, g->items[i].thread)->saved += least - g->met[i].is;
	waker->saved = least;
}

static void begin(struct thread *t)
{
	t->saved = 0;
	t->end_ns = 0;
	t->children = NONE;
}

static void make(struct causal_graph *g, uint32_t number, struct thread *maker)
{
	struct thread *t = thread_at(g, number);

	begin(t);
	t->saved = maker->saved;
	t->next = maker->children;
	maker->children = number;
}

/* Of its children that have ended none ends later than that. */
static void join(const struct causal_graph *g, struct thread *t, uint64_t time_ns)
{
	uint32_t *at = &t->children;

	while (*at != NONE) {
		struct thread *child = thread_at(g, *at);

		if (!child->end_ns || child->end_ns > time_ns) {
			at = &child->next;
			continue;
		}
		t->saved = fmin(t->saved, (double)(time_ns - child->end_ns) + child->saved);
		*at = child->next;
	}
}

static void replay(struct causal_graph *g, uint32_t i, const struct causal_cut *cut)
{
	const struct item *it = &g->items[i];
	struct thread *t = thread_at(g, it->thread);
	struct thread *other = thread_at(g, it->other == NONE ? it->thread : it->other);
	const double ns = (double)it->ns;

	switch ((enum causal_kind)it->kind) {
	case CAUSAL_RAN:
		t->saved += ns * cut_of(cut, it->mark);
		break;
	case CAUSAL_QUEUED:
		t->saved += ns * cut->queued;
		break;
	case CAUSAL_LATER:
		t->saved += ns * cut->later;
		break;
	case CAUSAL_UNKNOWN:
		t->saved += ns * cut->unknown;
		break;
	case CAUSAL_MADE:
		make(g, it->thread, other);
		break;
	case CAUSAL_ENDED:
		t->end_ns = it->time_ns;
		break;
	case CAUSAL_JOINED:
		t->saved = fmin(t->saved + ns, other->saved);
		join(g, t, it->time_ns);
		break;
	case CAUSAL_WOKEN:
		t->saved = fmin(t->saved + ns, other->saved);
		break;
	case CAUSAL_MET:
		g->met[i].own = t->saved + ns;
		g->met[i].is = t->saved = fmin(t->saved + ns, other->saved);
		if (it->is_end)
			meet(g, i);
		break;
	}
}

double causal_saved(struct causal_graph *g, const struct causal_cut *cut, uint32_t thread)
{
	const struct thread *t;

	for (uint32_t i = 0; i < g->threads.nr; i++)
		begin(thread_at(g, i));
	for (uint32_t i = 0; i < g->nr; i++)
		replay(g, i, cut);
	t = dict_at(&g->threads, dict_find(&g->threads, &thread));
	return t ? t->saved : 0;
}
