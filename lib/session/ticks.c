/*
 * Two lists per trace: one is filled, the other is written. They are swapped when the latter is
 * empty.
 */
#include "session/ticks.h"

#include "base/mem.h"

#include <errno.h>

struct list {
	struct reading *item; /* owned */
	size_t nr, room;
};

struct ticks_trace {
	struct list filled;  /* under the lock */
	struct list written; /* used only by the writing thread */
	size_t at;           /* in written: the next to return */
};

int ticks_init(struct ticks *t, uint32_t nr_traces, uint32_t nr_sets, size_t max)
{
	int rc;

	*t = (struct ticks){.nr_traces = nr_traces, .max = max};
	rc = pthread_mutex_init(&t->lock, NULL);
	if (rc) /* impossible with Linux mutexes */
		return -rc;
	session_things_init(&t->found);
	t->traces = mem_calloc(nr_traces, sizeof(*t->traces));
	t->from = mem_calloc(nr_sets + 1, sizeof(*t->from));
	if (t->traces && t->from)
		return 0;
	ticks_fini(t);
	return -ENOMEM;
}

void ticks_fini(struct ticks *t)
{
	if (!t->nr_traces)
		return;
	for (uint32_t i = 0; t->traces && i < t->nr_traces; i++) {
		mem_free(t->traces[i].filled.item);
		mem_free(t->traces[i].written.item);
	}
	mem_free(t->traces);
	mem_free(t->from);
	session_things_fini(&t->found);
	pthread_mutex_destroy(&t->lock);
	*t = (struct ticks){.nr_traces = 0};
}

static void lock(struct ticks *t)
{
	pthread_mutex_lock(&t->lock);
}

static void unlock(struct ticks *t)
{
	pthread_mutex_unlock(&t->lock);
}

void ticks_add(struct ticks *t, uint32_t trace, const struct reading *readings, size_t nr)
{
	struct list *l = &t->traces[trace].filled;
	size_t i = 0;

	lock(t);
	for (; i < nr && l->nr < t->max; i++) {
		struct reading *r = MEM_ADD(l->item, l->nr, l->room);

		if (!r)
			break;
		*r = readings[i];
	}
	*(l->nr < t->max ? &t->dropped.no_memory : &t->dropped.full) += nr - i;
	unlock(t);
}

void ticks_add_names(struct ticks *t, const struct session_things *things)
{
	lock(t);
	session_things_new(&t->found, things, t->from);
	unlock(t);
}

void ticks_skip_names(struct ticks *t, const struct session_things *things)
{
	lock(t);
	session_things_new(NULL, things, t->from);
	unlock(t);
}

/* Swaps the lists if the one that is written is empty. */
static void swap(struct ticks *t, struct ticks_trace *trace)
{
	struct list empty = trace->written;

	if (trace->at < trace->written.nr)
		return;
	empty.nr = trace->at = 0;
	lock(t);
	trace->written = trace->filled;
	trace->filled = empty;
	unlock(t);
}

size_t ticks_next(struct ticks *t, uint32_t trace, uint64_t until_ns, const struct reading **out)
{
	struct ticks_trace *k = &t->traces[trace];
	size_t from;

	swap(t, k);
	from = k->at;
	while (k->at < k->written.nr && k->written.item[k->at].time_ns <= until_ns)
		k->at++;
	*out = from ? k->written.item + from : k->written.item; /* which may be NULL */
	return k->at - from;
}

bool ticks_write_names(struct ticks *t, const struct source_uses *uses, struct trace_writer *w,
		       uint64_t until_ns)
{
	bool is_any;

	lock(t);
	is_any = session_things_write(&t->found, uses, w, until_ns);
	session_things_drop(&t->found, until_ns);
	unlock(t);
	return is_any;
}

struct ticks_dropped ticks_dropped(struct ticks *t)
{
	struct ticks_dropped dropped;

	lock(t);
	dropped = t->dropped;
	unlock(t);
	return dropped;
}

void ticks_drop(struct ticks *t)
{
	lock(t);
	t->dropped.no_memory++;
	unlock(t);
}
