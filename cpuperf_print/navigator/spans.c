/*
 * The number of spans is bounded whatever the number of calls: by threads, depths and STEPS.
 */
#include "navigator/spans.h"

#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "exports/regions.h"
#include "navigator/threads.h"
#include "registry.h"
#include "report/functions.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 2000, MAX_SPANS = 4 << 20, NS_PER_MS = 1000000 };
static const uint32_t several = UINT32_MAX;

/* Calls of a thread at a depth that follow each other. */
struct span {
	uint64_t from_ns, to_ns; /* since the session's start */
	uint64_t nr;
	uint32_t thread, depth;
	uint32_t name; /* a text's number; several: of several */
};

struct spans {
	struct job *j;
	const struct input *o; /* that is read */
	struct dict threads;
	uint64_t least_ns;
	struct span *items; /* owned */
	size_t nr, room;
	size_t last[PROFILE_MAX_REGION_DEPTH]; /* of the thread, by depth: its index + 1, or 0 */
	uint32_t thread;                       /* that is read */
};

static uint64_t since(uint64_t ns, uint64_t start_ns)
{
	return ns > start_ns ? ns - start_ns : 0;
}

/* The thread's number, or DICT_NONE without memory. */
static uint32_t find_thread(struct spans *s, const struct profile_region_event *e, uint32_t depth)
{
	struct report_functions *f = s->j->inputs->functions;
	const struct report_entry entry = {
	    .key = {.session = (uint32_t)(s->o - s->j->inputs->item),
		    .pid = e->pid,
		    .tid = e->tid,
		    .thread = e->task->thread,
		    .slice = (uint32_t)(since(e->time_ns, s->o->start_ns) / NS_PER_MS),
		    .comm = report_functions_text_number(f, e->task->comm->name)},
	    .weight = {.weight = depth ? 0 : e->time_ns - e->begin_ns}};
	const uint32_t number =
	    entry.key.comm == UINT32_MAX ? DICT_NONE : threads_add(&s->threads, &entry);

	if (number != s->thread)
		memset(s->last, 0, sizeof(s->last));
	s->thread = number;
	return number;
}

static int add_call(void *arg, const struct profile_region_event *e)
{
	struct spans *s = arg;
	uint32_t depth, name;
	struct span *to;

	if (e->kind != PROFILE_REGION_END || profile_region_is_trial(s->o->processes, e->region))
		return 0;
	depth = profile_region(s->o->processes, e->region)->depth;
	name = report_functions_text_number(s->j->inputs->functions, e->name);
	if (depth >= PROFILE_MAX_REGION_DEPTH)
		return 0;
	if (name == UINT32_MAX || find_thread(s, e, depth) == DICT_NONE)
		return -ENOMEM;
	to = s->last[depth] ? &s->items[s->last[depth] - 1] : NULL;
	if (!to || since(e->time_ns, s->o->start_ns) - to->from_ns >= s->least_ns) {
		to = s->nr < MAX_SPANS ? MEM_ADD(s->items, s->nr, s->room) : NULL;
		if (!to)
			return s->nr < MAX_SPANS ? -ENOMEM : -EFBIG;
		*to = (struct span){.from_ns = since(e->begin_ns, s->o->start_ns),
				    .thread = s->thread,
				    .depth = depth,
				    .name = name};
		s->last[depth] = s->nr;
	}
	to->name = to->name == name ? name : several;
	to->to_ns = since(e->time_ns, s->o->start_ns);
	to->nr++;
	return 0;
}

static int compare(const void *a, const void *b, void *spans)
{
	const struct span *x = a, *y = b;
	const struct spans *s = spans;

	return threads_compare(&s->threads, x->thread, y->thread)
		   ?: order_u64(x->from_ns, y->from_ns) ?: order_u64(x->depth, y->depth);
}

static void put_span(const struct spans *s, struct grid *g, const struct span *span)
{
	const struct thread *t = dict_at(&s->threads, span->thread);
	const struct report_functions *f = s->j->inputs->functions;

	grid_row(g);
	threads_put_name(s->j, g, t);
	grid_count(g, span->from_ns);
	grid_count(g, span->to_ns);
	grid_count(g, span->depth);
	if (span->name == several)
		grid_none(g);
	else
		grid_text(g, report_functions_text(f, span->name));
	grid_count(g, span->nr);
}

static int put_all(struct spans *s, struct err *e)
{
	static const struct grid_column columns[] = {
	    THREADS_NAME_COLUMNS,
	    {"from_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"to_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"depth", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"region", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"calls", NULL, NULL, GRID_COUNT, GRID_ALL},
	};
	struct grid *g = reports_grid(s->j, columns, sizeof(columns) / sizeof(columns[0]));
	const uint64_t top = reports_top(s->j, UINT64_MAX);

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	if (s->nr)
		qsort_r(s->items, s->nr, sizeof(*s->items), compare, s);
	for (size_t i = 0; i < s->nr; i++)
		if (((const struct thread *)dict_at(&s->threads, s->items[i].thread))->rank < top)
			put_span(s, g, &s->items[i]);
	return reports_end(s->j, g, 0, e);
}

static int read_all(struct spans *s, struct err *e)
{
	uint64_t end_ns;
	int rc = threads_slice(s->j, STEPS, &s->least_ns, &end_ns);

	for (size_t i = s->j->first; i < s->j->first + s->j->nr && rc == 0; i++) {
		s->o = &s->j->inputs->item[i];
		s->thread = DICT_NONE;
		rc = export_regions(s->j, s->o, add_call, s, e);
	}
	return rc ?: threads_rank(&s->threads);
}

static int print(struct job *j, struct err *e)
{
	struct spans s = {.j = j};
	int rc;

	threads_init(&s.threads);
	rc = read_all(&s, e) ?: put_all(&s, e);
	if (rc == -EFBIG) {
		err_clear(e);
		err_set(e, rc, "too many threads with regions");
		err_hint(e, "select fewer: comm=, pid=, from=, to=");
	}
	dict_fini(&s.threads);
	mem_free(s.items);
	return rc;
}

const struct registry_row spans_row = {.name = "spans",
				       .kind = REGISTRY_VIEW,
				       .samples = REGISTRY_SAMPLES_IF_ANY,
				       .sessions = REGISTRY_LANES,
				       .print = print};
