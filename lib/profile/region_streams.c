#include "profile/region_streams.h"

#include "base/heap.h"
#include "base/mem.h"
#include "base/order.h"

#include <errno.h>

enum { MAX_MARKS = 128 << 20, MAX_STREAMS = 1 << 20 };

/* The marks of a thread and object: steps with the kind of a mark, and its name. The key has no
 * padding. */
struct stream {
	uint32_t tid, pid, object; /* key */
	uint32_t number;
	bool has_lost;
	struct region_log log;
};

/* The thread or its program ended. */
struct region_end {
	uint64_t time_ns;
	uint32_t tid;
};

void region_streams_init(struct region_streams *s)
{
	*s = (struct region_streams){.nr_marks = 0};
	dict_init(&s->streams, sizeof(struct stream), DICT_KEY(struct stream, object), MAX_STREAMS);
}

void region_streams_fini(struct region_streams *s)
{
	for (uint32_t i = 0; i < s->streams.nr; i++)
		region_log_fini(&((struct stream *)dict_at(&s->streams, i))->log);
	dict_fini(&s->streams);
	mem_free(s->ends);
	s->ends = NULL;
	s->nr_ends = s->ends_room = 0;
}

size_t region_streams_nr(const struct region_streams *s)
{
	return s->streams.nr;
}

int region_streams_add(struct region_streams *s, const struct trace_marks *marks)
{
	const struct stream key = {.tid = marks->tid, .pid = marks->pid, .object = marks->object};
	uint32_t number = dict_add(&s->streams, &key);
	struct stream *stream = dict_at(&s->streams, number);
	int rc = 0;

	if (!stream)
		return s->streams.nr >= MAX_STREAMS ? -ENOSPC : -ENOMEM;
	stream->has_lost |= marks->lost != 0;
	if (s->nr_marks + marks->nr > MAX_MARKS)
		return -ENOSPC;
	stream->number = number;
	for (size_t i = 0; i < marks->nr && rc == 0; i++) {
		const struct trace_mark *m = &marks->mark[i];

		rc = region_log_add(&stream->log, &(struct region_step){.time_ns = m->time_ns,
									.value = (int64_t)m->value,
									.what = m->name,
									.depth = m->depth,
									.kind = m->kind});
	}
	s->nr_marks += marks->nr;
	return rc;
}

static int compare_ends(const void *a, const void *b)
{
	const struct region_end *x = a, *y = b;

	return order_u64(x->tid, y->tid) ?: order_u64(x->time_ns, y->time_ns);
}

int region_streams_add_ends(struct region_streams *s, const struct profile_gathered *g)
{
	for (size_t i = 0; i < g->nr_changes; i++) {
		const struct profile_change *c = &g->changes[i];
		struct region_end *end;

		if ((c->kind != PROFILE_EXIT && c->kind != PROFILE_EXEC) || c->is_made)
			continue;
		end = MEM_ADD(s->ends, s->nr_ends, s->ends_room);
		if (!end)
			return -ENOMEM;
		*end = (struct region_end){c->time_ns, c->tid};
	}
	order_sort(s->ends, s->nr_ends, sizeof(*s->ends), compare_ends);
	return 0;
}

/* --- reading --------------------------------------------------------------------------------- */

/* An end after which the object does not get so low again. */
struct low {
	size_t at; /* behind it in the log */
	int64_t depth;
};

/* The next mark of a stream of the thread. */
struct next_mark {
	const struct stream *stream;
	struct region_cursor cursor;
	struct region_step mark;
	size_t object;
	struct low *lows; /* owned; rising */
	size_t nr_lows, lows_room;
};

/* Those of one thread id. */
struct merge {
	struct region_streams *s;
	const struct region_streams_reader *reader;
	struct stream **streams;
	struct next_mark *next; /* owned, like objects; of each stream */
	struct nesting_object *objects;
	size_t nr;
	struct heap heap;
};

/* 0 or -ENOMEM. */
static int find_lows(struct next_mark *n)
{
	struct region_cursor cursor = {.log = &n->stream->log};
	struct region_step m;
	int64_t depth = 0;

	while (region_log_next(&cursor, &m)) {
		bool is_end = m.kind == TRACE_MARK_END;
		struct low *low;

		if (!is_end && m.kind != TRACE_MARK_BEGIN && m.kind != TRACE_MARK_BEGIN_NUMBER)
			continue;
		depth += nesting_deeper(depth, (uint16_t)m.depth) + !is_end;
		if (!is_end)
			continue;
		while (n->nr_lows && n->lows[n->nr_lows - 1].depth >= depth)
			n->nr_lows--;
		low = MEM_ADD(n->lows, n->nr_lows, n->lows_room);
		if (!low)
			return -ENOMEM;
		*low = (struct low){cursor.at, depth};
	}
	return 0;
}

static bool gets_to(void *arg, size_t object, int64_t depth)
{
	const struct next_mark *n = &((struct merge *)arg)->next[object];
	size_t i = ORDER_FIRST(k, n->nr_lows, n->lows[k].at > n->cursor.at);

	return i < n->nr_lows && n->lows[i].depth <= depth;
}

static bool is_before(const void *a, const void *b)
{
	const struct next_mark *x = a, *y = b;

	return (order_u64(x->mark.time_ns, y->mark.time_ns)
		    ?: order_u64(x->stream->number, y->stream->number)) < 0;
}

/* Ends of the thread before the time. */
static int read_ends(const struct merge *m, size_t *at, uint64_t until_ns)
{
	const struct region_streams *s = m->s;
	int rc = 0;

	for (; rc == 0 && *at < s->nr_ends && s->ends[*at].tid == m->streams[0]->tid &&
	       s->ends[*at].time_ns < until_ns;
	     ++*at)
		rc = m->reader->end(m->reader->arg, s->ends[*at].time_ns);
	return rc;
}

static int read_next(struct merge *m, struct next_mark *next)
{
	const struct region_mark mark = {.step = next->mark,
					 .pid = next->stream->pid,
					 .depth = (uint16_t)next->mark.depth,
					 .object = next->object};
	int rc = m->reader->mark(m->reader->arg, &mark);

	if (region_log_next(&next->cursor, &next->mark))
		heap_settle(&m->heap, is_before);
	else
		heap_pop(&m->heap, is_before);
	return rc;
}

/* Reads the marks of all streams in order of time. */
static int read_marks(struct merge *m)
{
	const uint32_t tid = m->streams[0]->tid;
	size_t end = ORDER_FIRST(i, m->s->nr_ends, m->s->ends[i].tid >= tid);
	uint64_t last_ns = 0;
	int rc = 0;

	while (m->heap.nr && rc == 0) {
		struct next_mark *next = m->heap.item[0];

		last_ns = next->mark.time_ns;
		rc = read_ends(m, &end, last_ns) ?: read_next(m, next);
	}
	return rc ?: read_ends(m, &end, UINT64_MAX) ?: m->reader->end(
			       m->reader->arg, last_ns > m->s->end_ns ? last_ns : m->s->end_ns);
}

static int begin_streams(struct merge *m)
{
	int rc = 0;

	for (size_t i = 0; i < m->nr && rc == 0; i++) {
		struct next_mark *n = &m->next[i];

		m->objects[i].has_lost = m->streams[i]->has_lost;
		*n = (struct next_mark){
		    .stream = m->streams[i], .cursor = {.log = &m->streams[i]->log}, .object = i};
		if (m->nr > 1)
			rc = find_lows(n);
		if (rc == 0 && region_log_next(&n->cursor, &n->mark))
			rc = heap_push(&m->heap, n, is_before);
	}
	return rc;
}

static int read_thread(struct region_streams *s, const struct region_streams_reader *reader,
		       struct stream **streams, size_t nr)
{
	struct merge m = {.s = s,
			  .reader = reader,
			  .streams = streams,
			  .next = mem_calloc(nr, sizeof(*m.next)),
			  .objects = mem_calloc(nr, sizeof(*m.objects)),
			  .nr = nr};
	const struct nesting nest = {
	    .objects = m.objects, .nr_objects = nr, .gets_to = gets_to, .arg = &m};
	int rc = m.next && m.objects ? begin_streams(&m) : -ENOMEM;

	rc = rc ?: reader->begin(reader->arg, streams[0]->tid, &nest)
		 ?: read_marks(&m) ?: reader->done(reader->arg);
	for (size_t i = 0; i < nr; i++) {
		region_log_fini(&streams[i]->log);
		if (m.next)
			mem_free(m.next[i].lows);
	}
	mem_free(m.heap.item);
	mem_free(m.next);
	mem_free(m.objects);
	return rc;
}

static int compare_streams(const void *a, const void *b)
{
	const struct stream *x = *(struct stream *const *)a, *y = *(struct stream *const *)b;

	return order_u64(x->tid, y->tid) ?: order_u64(x->number, y->number);
}

int region_streams_read(struct region_streams *s, const struct region_streams_reader *reader)
{
	size_t nr = s->streams.nr, first = 0;
	struct stream **streams = mem_calloc(nr, sizeof(struct stream *));
	int rc = streams ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && rc == 0; i++)
		streams[i] = dict_at(&s->streams, (uint32_t)i);
	if (rc == 0)
		order_sort(streams, nr, sizeof(*streams), compare_streams);
	for (size_t i = 1; i <= nr && rc == 0; i++) {
		if (i < nr && streams[i]->tid == streams[first]->tid)
			continue;
		rc = read_thread(s, reader, &streams[first], i - first);
		first = i;
	}
	mem_free(streams);
	return rc;
}
