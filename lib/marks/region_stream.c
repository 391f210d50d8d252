#include "marks/region_stream.h"

#include "base/mem.h"
#include "base/order.h"
#include "trace/nesting.h"
#include "trace/trace.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOOK_NS = 1000000000, MAX_AHEAD = 4096 };

struct waiting_mark {
	struct wire_mark mark;
	uint32_t pid, tid, object;
	size_t number; /* in the order in which they came */
};

struct nested {
	struct nesting nest;
	struct nesting_object objects[REGION_STREAM_MAX_OBJECTS];
	uint32_t numbers[REGION_STREAM_MAX_OBJECTS];
	uint64_t last_ns;
	bool has_marks; /* since threads were looked for */
};

struct stream_thread {
	uint32_t pid, tid;     /* key */
	struct nested *nested; /* owned */
};

static bool is_begin(const struct wire_mark *m)
{
	return m->kind == TRACE_MARK_BEGIN || m->kind == TRACE_MARK_BEGIN_NUMBER;
}

static bool is_there(uint32_t pid, uint32_t tid)
{
	return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno != ESRCH;
}

static void init_threads(struct dict *threads)
{
	dict_init(threads, sizeof(struct stream_thread), DICT_KEY(struct stream_thread, tid),
		  REGION_STREAM_MAX_THREADS);
}

void region_stream_init(struct region_stream *s, region_stream_fn *each, void *arg)
{
	*s = (struct region_stream){.each = each, .arg = arg, .is_there = is_there};
	init_threads(&s->threads);
}

static void free_nested(struct nested *n)
{
	if (n)
		nesting_fini(&n->nest);
	mem_free(n);
}

void region_stream_fini(struct region_stream *s)
{
	if (!s->each)
		return;
	for (uint32_t i = 0; i < s->threads.nr; i++)
		free_nested(((struct stream_thread *)dict_at(&s->threads, i))->nested);
	dict_fini(&s->threads);
	mem_free(s->waiting);
	*s = (struct region_stream){.each = NULL};
}

void region_stream_add(struct region_stream *s, const struct wire_marks *m)
{
	for (size_t i = 0; i < m->nr; i++) {
		struct waiting_mark *w;

		if (s->nr == REGION_STREAM_MAX_WAITING)
			region_stream_pass(s, UINT64_MAX);
		w = MEM_ADD(s->waiting, s->nr, s->room);
		if (!w)
			return;
		*w = (struct waiting_mark){m->mark[i], m->pid, m->tid, m->object, s->nr};
		w->mark.counts = NULL; /* borrowed */
	}
}

static void end_to(struct region_stream *s, const struct stream_thread *t, size_t depth,
		   size_t keep, uint64_t time_ns)
{
	struct wire_mark m = {.time_ns = time_ns, .kind = TRACE_MARK_END};

	while (depth > keep) {
		m.depth = (uint16_t)--depth;
		s->each(s->arg, t->pid, t->tid, &m);
	}
}

static void end_thread(struct region_stream *s, struct stream_thread *t, uint64_t time_ns)
{
	end_to(s, t, t->nested->nest.nr, 0, time_ns);
	nesting_reset(&t->nested->nest);
}

/* Makes room: threads without open regions are forgotten, and those that are gone. Without memory
 * it stays full. */
static void forget(struct region_stream *s)
{
	struct dict left;

	init_threads(&left);
	for (uint32_t i = 0; i < s->threads.nr; i++) {
		struct stream_thread *t = dict_at(&s->threads, i), *copy = NULL;

		if (t->nested && t->nested->nest.nr && s->is_there(t->pid, t->tid))
			copy = dict_get(&left, t);
		if (copy) {
			copy->nested = t->nested;
			continue;
		}
		if (t->nested)
			end_thread(s, t, t->nested->last_ns);
		free_nested(t->nested);
	}
	dict_fini(&s->threads);
	s->threads = left;
}

/* Among the marks that wait: later ones are not known. */
static bool gets_to(void *arg, size_t object, int64_t depth)
{
	const struct region_stream *s = arg;
	const struct waiting_mark *now = &s->waiting[s->at];
	const struct nested *n = s->nested;
	int64_t at = n->objects[object].depth;

	for (size_t i = s->at + 1; i < s->nr && i - s->at <= MAX_AHEAD; i++) {
		const struct waiting_mark *w = &s->waiting[i];
		bool is_end = w->mark.kind == TRACE_MARK_END;

		if (w->pid != now->pid || w->tid != now->tid || w->object != n->numbers[object] ||
		    (!is_end && !is_begin(&w->mark)))
			continue;
		at += nesting_deeper(at, w->mark.depth) + !is_end;
		if (is_end && at <= depth)
			return true;
	}
	return false;
}

static struct stream_thread *find_thread(struct region_stream *s, uint32_t pid, uint32_t tid)
{
	const struct stream_thread key = {.pid = pid, .tid = tid};
	struct stream_thread *t;

	if (s->threads.nr == REGION_STREAM_MAX_THREADS && !s->has_forgotten &&
	    dict_find(&s->threads, &key) == DICT_NONE) {
		forget(s);
		s->has_forgotten = s->threads.nr > REGION_STREAM_MAX_THREADS / 2;
	}
	t = dict_get(&s->threads, &key);
	if (t && !t->nested)
		t->nested = mem_zalloc(sizeof(*t->nested));
	return t && t->nested ? t : NULL;
}

static size_t find_object(struct nested *n, uint32_t number)
{
	size_t i = 0;

	n->nest.objects = n->objects;
	while (i < n->nest.nr_objects && n->numbers[i] != number)
		i++;
	if (i == REGION_STREAM_MAX_OBJECTS)
		return i - 1;
	if (i == n->nest.nr_objects)
		n->numbers[n->nest.nr_objects++] = number;
	return i;
}

static void pass_mark(struct region_stream *s, const struct waiting_mark *w)
{
	struct stream_thread *t = find_thread(s, w->pid, w->tid);
	struct nesting *n = t ? &t->nested->nest : NULL;
	size_t object = t ? find_object(t->nested, w->object) : 0, depth = n ? n->nr : 0;
	struct wire_mark m = w->mark;
	struct nesting_end end;

	if (!t)
		return;
	s->nested = t->nested;
	n->gets_to = gets_to;
	n->arg = s;
	t->nested->has_marks = true;
	t->nested->last_ns = m.time_ns;
	switch (m.kind) {
	case TRACE_MARK_BEGIN:
	case TRACE_MARK_BEGIN_NUMBER:
		end_to(s, t, depth, nesting_begin(n, object, m.depth), m.time_ns);
		m.depth = (uint16_t)n->nr;
		if (nesting_push(n, object) == 0)
			s->each(s->arg, t->pid, t->tid, &m);
		break;
	case TRACE_MARK_END:
		end = nesting_end(n, object, m.depth);
		end_to(s, t, depth, end.keep, m.time_ns);
		break;
	case TRACE_MARK_THREAD_END:
		end_thread(s, t, m.time_ns);
		break;
	default:
		s->each(s->arg, t->pid, t->tid, &m);
	}
}

static int compare(const void *a, const void *b)
{
	const struct waiting_mark *x = a, *y = b;

	return order_u64(x->mark.time_ns, y->mark.time_ns) ?: order_u64(x->number, y->number);
}

/* Of threads that wrote nothing, whether they are still there. */
static void look(struct region_stream *s)
{
	for (uint32_t i = 0; i < s->threads.nr; i++) {
		struct stream_thread *t = dict_at(&s->threads, i);

		if (!t->nested)
			continue;
		if (t->nested->nest.nr && !t->nested->has_marks && !s->is_there(t->pid, t->tid))
			end_thread(s, t, t->nested->last_ns);
		t->nested->has_marks = false;
	}
}

void region_stream_pass(struct region_stream *s, uint64_t until_ns)
{
	size_t nr;

	s->has_forgotten = false;
	order_sort(s->waiting, s->nr, sizeof(*s->waiting), compare);
	nr = ORDER_FIRST(i, s->nr, s->waiting[i].mark.time_ns > until_ns);
	for (s->at = 0; s->at < nr; s->at++)
		pass_mark(s, &s->waiting[s->at]);
	s->nr -= nr;
	if (s->nr)
		memmove(s->waiting, s->waiting + nr, s->nr * sizeof(*s->waiting));
	for (size_t i = 0; i < s->nr; i++)
		s->waiting[i].number = i;
	if (until_ns != UINT64_MAX && until_ns - s->looked_ns >= LOOK_NS) {
		look(s);
		s->looked_ns = until_ns;
	}
}
