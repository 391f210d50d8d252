/*
 * Sorts the events of tasks by tid and time, and divides them into lives.
 */
#include "trace/lives.h"

#include "base/mem.h"
#include "base/order.h"
#include "trace/record.h"

#include <errno.h>

enum { NONE = UINT32_MAX };

struct trace_life_event {
	uint64_t time_ns;
	uint32_t pid, tid, ppid, ptid;
	uint32_t place; /* in the order of the file */
	uint16_t kind;  /* PERF_RECORD_… */
	bool is_made, is_exec;
};

struct trace_life {
	uint64_t from_ns, to_ns;
	uint64_t first_ns; /* of the first event */
	uint64_t born_ns;  /* when ppid and ptid were its parent's */
	uint32_t pid, tid, ppid, ptid;
	bool has_parent, is_needed;
};

void trace_lives_fini(struct trace_lives *l)
{
	mem_free(l->events);
	mem_free(l->lives);
	*l = (struct trace_lives){0};
}

int trace_lives_add(struct trace_lives *l, const struct trace_record *r, bool is_made)
{
	struct trace_life_event *e;

	if ((r->kind != PERF_RECORD_FORK && r->kind != PERF_RECORD_EXIT &&
	     r->kind != PERF_RECORD_COMM) ||
	    r->tid == TRACE_UNKNOWN)
		return 0;
	e = MEM_ADD(l->events, l->nr_events, l->events_room);
	if (!e)
		return -ENOMEM;
	*e = (struct trace_life_event){
	    .time_ns = r->time_ns,
	    .pid = r->pid,
	    .tid = r->tid,
	    .ppid = r->ppid,
	    .ptid = r->ptid,
	    .place = (uint32_t)l->nr_events,
	    .kind = (uint16_t)r->kind,
	    .is_made = is_made,
	    .is_exec = r->kind == PERF_RECORD_COMM && r->misc & PERF_RECORD_MISC_COMM_EXEC,
	};
	return 0;
}

static int compare_events(const void *a, const void *b)
{
	const struct trace_life_event *x = a, *y = b;

	return order_u64(x->tid, y->tid) ?: order_u64(x->time_ns, y->time_ns)
					 ?: order_u64(x->place, y->place);
}

static void set_parent(struct trace_life *life, const struct trace_life_event *e)
{
	life->ppid = e->ppid;
	life->ptid = e->ptid;
	life->born_ns = e->time_ns;
	life->has_parent = true;
}

/* The life that the event belongs to. NULL: no memory. */
static struct trace_life *life_of(struct trace_lives *l, const struct trace_life_event *e)
{
	struct trace_life *life = l->nr ? &l->lives[l->nr - 1] : NULL;
	bool is_begin = e->kind == PERF_RECORD_FORK && !e->is_made;

	if (life && life->tid == e->tid && !is_begin)
		return life;
	if (life && life->tid == e->tid && life->to_ns > e->time_ns)
		life->to_ns = e->time_ns;
	life = MEM_ADD(l->lives, l->nr, l->room);
	if (life)
		*life = (struct trace_life){.from_ns = is_begin ? e->time_ns : 0,
					    .to_ns = UINT64_MAX,
					    .first_ns = e->time_ns,
					    .pid = e->pid,
					    .tid = e->tid};
	return life;
}

static int make_lives(struct trace_lives *l)
{
	for (size_t i = 0; i < l->nr_events; i++) {
		const struct trace_life_event *e = &l->events[i];
		struct trace_life *life = life_of(l, e);

		if (!life)
			return -ENOMEM;
		if (e->kind == PERF_RECORD_FORK && !life->has_parent)
			set_parent(life, e);
		if (e->kind == PERF_RECORD_EXIT)
			life->to_ns = e->time_ns;
		/* a thread that calls exec continues as the main thread, which has ended; and the
		 * FORK of a new task may be lost */
		else if (e->kind == PERF_RECORD_COMM && !e->is_made)
			life->to_ns = UINT64_MAX;
	}
	return 0;
}

/* An exec ends the other threads of the process; one that called it has no EXIT. */
static void end_by_exec(const struct trace_lives *l, struct trace_life *life)
{
	const struct trace_life_event *e = l->events;
	size_t i;

	if (life->tid == life->pid || life->to_ns != UINT64_MAX)
		return;
	i = ORDER_FIRST(k, l->nr_events,
			(order_u64(e[k].tid, life->pid) ?: order_u64(e[k].time_ns, life->from_ns)) >
			    0);
	for (; i < l->nr_events && e[i].tid == life->pid; i++) {
		if (e[i].kind == PERF_RECORD_FORK && !e[i].is_made)
			return;
		if (e[i].is_exec) {
			life->to_ns = e[i].time_ns;
			return;
		}
	}
}

/* The last life of the tid that began until then, or NONE. */
static uint32_t find(const struct trace_lives *l, uint32_t tid, uint64_t time_ns)
{
	const struct trace_life *life = l->lives;
	size_t next = ORDER_FIRST(
	    i, l->nr, (order_u64(life[i].tid, tid) ?: order_u64(life[i].from_ns, time_ns)) > 0);

	return next && life[next - 1].tid == tid ? (uint32_t)next - 1 : NONE;
}

struct work {
	struct trace_lives *lives;
	uint32_t *item; /* owned; lives whose origins are still to be marked */
	size_t nr;
};

static void need(struct work *w, uint32_t number)
{
	if (number == NONE || w->lives->lives[number].is_needed)
		return;
	w->lives->lives[number].is_needed = true;
	w->item[w->nr++] = number;
}

static bool is_in(const struct trace_life *life, const struct trace_period *p, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (life->from_ns <= p[i].to_ns && life->to_ns >= p[i].from_ns)
			return true;
	return false;
}

static void need_origins(struct work *w, const struct trace_life *life)
{
	need(w, find(w->lives, life->pid, life->first_ns));
	/* a parent began before, so that a task whose tid is that of its parent's is not its own */
	if (!life->has_parent || !life->born_ns)
		return;
	need(w, find(w->lives, life->ppid, life->born_ns - 1));
	need(w, find(w->lives, life->ptid, life->born_ns - 1));
}

int trace_lives_decide(struct trace_lives *l, const struct trace_period *periods, size_t nr)
{
	struct work w = {.lives = l};
	int rc;

	order_sort(l->events, l->nr_events, sizeof(*l->events), compare_events);
	rc = make_lives(l);
	if (rc)
		return rc;
	w.item = mem_calloc(l->nr + 1, sizeof(*w.item));
	if (!w.item)
		return -ENOMEM;
	for (size_t i = 0; i < l->nr; i++) {
		end_by_exec(l, &l->lives[i]);
		if (is_in(&l->lives[i], periods, nr))
			need(&w, (uint32_t)i);
	}
	while (w.nr)
		need_origins(&w, &l->lives[w.item[--w.nr]]);
	mem_free(w.item);
	return 0;
}

bool trace_lives_needs_process(const struct trace_lives *l, uint32_t pid, uint64_t time_ns)
{
	uint32_t number = find(l, pid, time_ns);

	return number == NONE || l->lives[number].is_needed;
}

bool trace_lives_needs(const struct trace_lives *l, const struct trace_record *r)
{
	switch (r->kind) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_COMM:
		return trace_lives_needs_process(l, r->tid, r->time_ns);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return trace_lives_needs_process(l, r->pid, r->time_ns);
	default:
		return true;
	}
}
