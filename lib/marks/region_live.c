#include "marks/region_live.h"

#include "base/mem.h"
#include "base/order.h"
#include "trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OTHERS, MAX_OPEN = 16 };

struct open_region {
	uint64_t begin_ns;
	uint64_t from_ns; /* its beginning, or the last reading */
	uint32_t row;
	bool is_inner; /* one of its name is around it */
};

/* Open regions of a thread; deeper ones are not added up. */
struct live_thread {
	uint32_t pid, tid; /* key */
	uint32_t nr;
	struct open_region open[MAX_OPEN];
};

static void init_threads(struct dict *threads)
{
	dict_init(threads, sizeof(struct live_thread), DICT_KEY(struct live_thread, tid),
		  REGION_LIVE_MAX_THREADS);
}

int region_live_init(struct region_live *l)
{
	*l = (struct region_live){.nr_rows = 1};
	pthread_mutex_init(&l->lock, NULL);
	snprintf(l->row[OTHERS].name, sizeof(l->row[OTHERS].name), "[others]");
	init_threads(&l->threads);
	l->row_of = mem_calloc(REGION_LIVE_MAX_NAMES + 1, sizeof(*l->row_of));
	return l->row_of ? 0 : -ENOMEM;
}

void region_live_fini(struct region_live *l)
{
	if (!l->nr_rows)
		return;
	pthread_mutex_destroy(&l->lock);
	dict_fini(&l->threads);
	mem_free(l->row_of);
	l->nr_rows = 0;
}

void region_live_name(struct region_live *l, uint32_t number, const char *text)
{
	pthread_mutex_lock(&l->lock);
	if (number <= REGION_LIVE_MAX_NAMES && l->nr_rows < REGION_LIVE_MAX_ROWS) {
		snprintf(l->row[l->nr_rows].name, sizeof(l->row[0].name), "%s", text);
		l->row_of[number] = (uint16_t)l->nr_rows++;
	}
	pthread_mutex_unlock(&l->lock);
}

static void begin(struct live_thread *t, const struct wire_mark *m, uint32_t row)
{
	struct open_region *o = &t->open[m->depth];

	*o = (struct open_region){.begin_ns = m->time_ns, .from_ns = m->time_ns, .row = row};
	for (uint32_t i = 0; i < m->depth; i++)
		o->is_inner |= t->open[i].row == row;
	t->nr = m->depth + 1u;
}

/* The time since the last reading; less than 0 if the end lies before that. */
static void add_time(struct region_live *l, const struct open_region *o, uint64_t to_ns)
{
	if (!o->is_inner)
		l->row[o->row].wall_ns += (int64_t)(to_ns - o->from_ns);
}

static void end(struct region_live *l, struct live_thread *t, uint64_t time_ns)
{
	const struct open_region *o = &t->open[--t->nr];

	add_time(l, o, time_ns);
	l->row[o->row].calls++;
	l->row[o->row].ended_ns += time_ns > o->begin_ns ? time_ns - o->begin_ns : 0;
}

void region_live_add(struct region_live *l, uint32_t pid, uint32_t tid, const struct wire_mark *m)
{
	const struct live_thread key = {.pid = pid, .tid = tid};
	bool is_end = m->kind == TRACE_MARK_END;
	struct live_thread *t;

	if ((!is_end && m->kind != TRACE_MARK_BEGIN && m->kind != TRACE_MARK_BEGIN_NUMBER) ||
	    m->depth >= MAX_OPEN)
		return;
	pthread_mutex_lock(&l->lock);
	t = dict_get(&l->threads, &key);
	if (t && !is_end && m->depth == t->nr)
		begin(t, m, m->name <= REGION_LIVE_MAX_NAMES ? l->row_of[m->name] : OTHERS);
	else if (t && is_end && m->depth + 1u == t->nr)
		end(l, t, m->time_ns);
	pthread_mutex_unlock(&l->lock);
}

static void add_open(struct region_live *l, uint64_t now_ns)
{
	for (uint32_t i = 0; i < l->threads.nr; i++) {
		struct live_thread *t = dict_at(&l->threads, i);

		for (uint32_t k = 0; k < t->nr; k++) {
			if (t->open[k].from_ns > now_ns)
				continue;
			add_time(l, &t->open[k], now_ns);
			t->open[k].from_ns = now_ns;
		}
	}
}

/* Makes room for other threads: those without open regions are forgotten. Without memory it stays
 * full. */
static void forget(struct region_live *l)
{
	struct dict left;

	if (l->threads.nr < REGION_LIVE_MAX_THREADS / 2)
		return;
	init_threads(&left);
	for (uint32_t i = 0; i < l->threads.nr; i++) {
		const struct live_thread *t = dict_at(&l->threads, i);
		struct live_thread *copy = t->nr ? dict_get(&left, t) : NULL;

		if (copy)
			*copy = *t;
	}
	dict_fini(&l->threads);
	l->threads = left;
}

static int compare(const void *a, const void *b)
{
	const struct region_live_row *x = *(const struct region_live_row *const *)a;
	const struct region_live_row *y = *(const struct region_live_row *const *)b;

	return x->wall_ns < y->wall_ns   ? 1
	       : x->wall_ns > y->wall_ns ? -1
					 : -order_u64(x->calls, y->calls);
}

static void put_rows(struct region_live *l, struct region_times_list *out)
{
	struct region_live_row *rows[REGION_LIVE_MAX_ROWS];
	size_t nr = 0;

	for (size_t i = 0; i < l->nr_rows; i++)
		if (l->row[i].calls || l->row[i].wall_ns > 0)
			rows[nr++] = &l->row[i];
	order_sort(rows, nr, sizeof(rows[0]), compare);
	for (; out->nr < nr && out->nr < REGION_TIMES_MAX; out->nr++) {
		const struct region_live_row *from = rows[out->nr];
		struct region_times *to = &out->row[out->nr];

		memcpy(to->name, from->name, sizeof(to->name));
		to->calls = from->calls;
		to->ended_ns = from->ended_ns;
		to->wall_ns = from->wall_ns > 0 ? (uint64_t)from->wall_ns : 0;
	}
	out->nr_more = (uint32_t)nr - out->nr;
}

void region_live_take(struct region_live *l, uint64_t now_ns, struct region_times_list *out)
{
	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&l->lock);
	add_open(l, now_ns);
	put_rows(l, out);
	for (size_t i = 0; i < l->nr_rows; i++) {
		struct region_live_row *row = &l->row[i];

		row->calls = row->ended_ns = 0;
		row->wall_ns = 0;
	}
	forget(l);
	pthread_mutex_unlock(&l->lock);
}
