/*
 * Samples of a slice of time are laid out within it, from its end to its beginning: those of a wait
 * end where it ended, and what of it has no room lies in the slices before. In which order others
 * were within a slice is not known: equal stacks are beside each other, so that frames are long.
 * Neighbours of the same callers are one box, also where less than a slice between them was not
 * sampled.
 */
#include "navigator/timeline.h"

#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "navigator/threads.h"
#include "registry.h"
#include "report/fold.h"
#include "report/functions.h"
#include "report/stacks.h"
#include "report/states.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NR_SLICES = 400, MAX_SHARES = 4 << 20, MAX_BOXES = 4 << 20 };

struct share {
	uint32_t thread, slice, stack, state; /* its key */
	uint64_t samples, count;
};

/* A frame from when to when, with those that it called. */
struct box {
	uint64_t from_ns, to_ns;
	uint64_t samples, count;
	uint32_t thread, stack, state;
};

/* What has no room yet. */
struct rest {
	uint64_t ns;
	uint64_t samples, count; /* of which no part had room */
	uint32_t stack, state;
};

struct timeline {
	struct job *j;
	uint64_t slice_ns, end_ns; /* end_ns: of the time shown */
	struct dict threads, shares;
	struct report_stacks *stacks; /* owned */
	uint32_t others;              /* the stack of what has no room */
	uint32_t *order;              /* owned; of a stack: after its callers, before their next */
	struct box *boxes;            /* owned */
	size_t nr_boxes, boxes_room;
	/* of the thread that is laid out */
	struct rest *rests; /* owned */
	size_t nr_rests, rests_room;
	uint32_t open[REPORT_MAX_FRAMES + 1]; /* by depth: the box of the last stack laid out */
	uint32_t nr_open;
};

static int add_entry(void *arg, const struct report_entry *e)
{
	struct timeline *l = arg;
	uint32_t key[] = {threads_add(&l->threads, e), e->key.slice, 0, e->key.state};
	struct share *share;

	if (key[0] == DICT_NONE || report_stacks_add(l->stacks, e->frames, e->nr_frames, &key[2]))
		return -ENOMEM;
	share = dict_get(&l->shares, key);
	if (!share)
		return l->shares.nr >= MAX_SHARES ? -EFBIG : -ENOMEM;
	share->samples += e->weight.samples;
	share->count += e->weight.weight;
	return 0;
}

/* The stack of what has no room. 0 or -ENOMEM. */
static int name_others(struct timeline *l)
{
	const struct report_frame frame = {
	    .function = report_functions_named(l->j->inputs->functions, "[other]", "")};

	return frame.function && report_stacks_add(l->stacks, &frame, 1, &l->others) == 0 ? 0
											  : -ENOMEM;
}

/* By caller; those of a caller by name, as their numbers are those of their arrival. */
static int compare_stacks(const void *a, const void *b, void *stacks)
{
	const struct report_stack_node *x = report_stacks_at(stacks, *(const uint32_t *)a),
				       *y = report_stacks_at(stacks, *(const uint32_t *)b);

	return order_u64(x->parent, y->parent)
		   ?: report_function_compare(x->frame.function, y->frame.function)
		   ?: order_u64(x->frame.line, y->frame.line);
}

/* Stacks as a walk of their tree meets them. Callers have lower numbers. 0 or -ENOMEM. */
static int order_stacks(struct timeline *l)
{
	const size_t nr = report_stacks_nr(l->stacks);
	MEM_AUTO uint32_t *size = mem_calloc(nr, sizeof(*size)),
			  *next = mem_calloc(nr, sizeof(*next)),
			  *sorted = mem_calloc(nr, sizeof(*sorted));

	l->order = mem_calloc(nr, sizeof(*l->order));
	if (!size || !next || !sorted || !l->order)
		return -ENOMEM;
	for (size_t i = nr; i-- > 1;) {
		sorted[i - 1] = (uint32_t)i;
		size[i]++;
		size[report_stacks_at(l->stacks, (uint32_t)i)->parent] += size[i];
	}
	qsort_r(sorted, nr - 1, sizeof(*sorted), compare_stacks, l->stacks);
	for (size_t i = 0; i + 1 < nr; i++) {
		const uint32_t parent = report_stacks_at(l->stacks, sorted[i])->parent;

		l->order[sorted[i]] = l->order[parent] + 1 + next[parent];
		next[parent] += size[sorted[i]];
	}
	return 0;
}

/* By thread, the last slice first. Every other slice is in the opposite order: so what ends one can
 * begin the one beside it. */
static int compare_shares(const void *a, const void *b, void *timeline)
{
	const struct share *x = a, *y = b;
	const struct timeline *l = timeline;
	int rc =
	    threads_compare(&l->threads, x->thread, y->thread) ?: order_u64(y->slice, x->slice);
	int within =
	    order_u64(l->order[x->stack], l->order[y->stack]) ?: order_u64(x->state, y->state);

	if (rc)
		return rc;
	return x->slice % 2 ? within : -within;
}

/* --- boxes ----------------------------------------------------------------------------------- */

/* A piece of time of a stack; to_ns: where the last one began, or before. 0, -ENOMEM or -EFBIG. */
static int put_piece(struct timeline *l, const struct box *piece)
{
	const struct report_stack_node *n = report_stacks_at(l->stacks, piece->stack);
	uint32_t depth = n->depth, same = 0;
	uint32_t path[REPORT_MAX_FRAMES + 1];

	for (uint32_t at = piece->stack, i = depth; i-- > 0;) {
		path[i] = at;
		at = report_stacks_at(l->stacks, at)->parent;
	}
	for (; same < depth && same < l->nr_open; same++) {
		struct box *b = &l->boxes[l->open[same]];

		if (b->stack != path[same] || b->state != piece->state ||
		    b->from_ns - piece->to_ns >= l->slice_ns)
			break;
		b->from_ns = piece->from_ns;
		b->samples += piece->samples;
		b->count += piece->count;
	}
	for (; same < depth; same++) {
		struct box *b = MEM_ADD(l->boxes, l->nr_boxes, l->boxes_room);

		if (!b)
			return -ENOMEM;
		if (l->nr_boxes > MAX_BOXES)
			return -EFBIG;
		*b = *piece;
		b->stack = path[same];
		l->open[same] = (uint32_t)(b - l->boxes);
	}
	l->nr_open = depth;
	return 0;
}

/* Lays out as much as has room between left_ns and *at_ns, from there back; the rest is kept. */
static int put_rest(struct timeline *l, struct box *piece, uint64_t ns, uint64_t left_ns,
		    uint64_t *at_ns)
{
	const uint64_t room = *at_ns - left_ns, width = ns < room ? ns : room;
	struct rest *rest;
	int rc = 0;

	if (width) {
		piece->to_ns = *at_ns;
		piece->from_ns = *at_ns -= width;
		rc = put_piece(l, piece);
	}
	if (rc || ns == width)
		return rc;
	rest = MEM_ADD(l->rests, l->nr_rests, l->rests_room);
	if (!rest)
		return -ENOMEM;
	*rest = (struct rest){ns - width, width ? 0 : piece->samples, width ? 0 : piece->count,
			      piece->stack, piece->state};
	return 0;
}

/* What later slices left, then its own. What is no time shares the slice. */
static int put_slice(struct timeline *l, uint32_t thread, uint64_t slice,
		     const struct share *shares, size_t nr)
{
	const struct thread *t = dict_at(&l->threads, thread);
	const bool is_time = strcmp(job_event(l->j, t->event)->unit, "ns") == 0;
	const size_t nr_rests = l->nr_rests;
	const uint64_t from_ns = l->j->selection->filter.from_ns, begin_ns = slice * l->slice_ns;
	const uint64_t left_ns = begin_ns > from_ns ? begin_ns : from_ns;
	uint64_t at_ns = begin_ns + l->slice_ns;
	double sum = 0;
	int rc = 0;

	at_ns = at_ns < l->end_ns ? at_ns : l->end_ns;
	at_ns = at_ns > left_ns ? at_ns : left_ns;
	for (size_t i = 0; i < nr; i++)
		sum += (double)shares[i].count;
	for (size_t i = 0; i < nr_rests && rc == 0; i++) {
		const struct rest r = l->rests[i];
		struct box piece = {.thread = thread,
				    .stack = r.stack,
				    .state = r.state,
				    .samples = r.samples,
				    .count = r.count};

		rc = put_rest(l, &piece, r.ns, left_ns, &at_ns);
	}
	for (size_t i = 0; i < nr && rc == 0; i++) {
		const struct share *s = &shares[i];
		struct box piece = {.thread = thread,
				    .stack = s->stack,
				    .state = s->state,
				    .samples = s->samples,
				    .count = s->count};
		const double part = sum > 0 ? (double)s->count / sum : 0;

		rc = put_rest(l, &piece,
			      is_time ? s->count : (uint64_t)(part * (double)l->slice_ns) + 1,
			      left_ns, &at_ns);
	}
	l->nr_rests -= nr_rests;
	if (l->nr_rests)
		memmove(l->rests, l->rests + nr_rests, l->nr_rests * sizeof(*l->rests));
	return rc;
}

/* Makes room for nr boxes before the first boxes of a thread: 1 ns each, which nobody sees but who
 * adds up. False: they are that short. */
static bool make_room(struct timeline *l, size_t first_box, uint64_t from_ns, size_t nr)
{
	for (size_t i = first_box; i < l->nr_boxes; i++)
		if (l->boxes[i].from_ns == from_ns && l->boxes[i].to_ns - from_ns <= nr)
			return false;
	for (size_t i = first_box; i < l->nr_boxes; i++)
		if (l->boxes[i].from_ns == from_ns)
			l->boxes[i].from_ns += nr;
	return true;
}

/* Samples of waits that began before the time shown, where others have all the room: a box for each
 * state, at the beginning, so that the boxes have all samples. */
static int put_others(struct timeline *l, uint32_t thread, uint32_t stack, size_t first_box)
{
	const uint64_t from_ns = l->j->selection->filter.from_ns;
	struct box others[REPORT_NR_STATES];
	size_t nr = 0;

	for (uint32_t state = 0; state < REPORT_NR_STATES; state++) {
		struct box *other = &others[nr];

		*other = (struct box){.from_ns = from_ns + nr,
				      .to_ns = from_ns + nr + 1,
				      .thread = thread,
				      .stack = stack,
				      .state = state};
		for (size_t i = 0; i < l->nr_rests; i++)
			if (l->rests[i].state == state) {
				other->samples += l->rests[i].samples;
				other->count += l->rests[i].count;
			}
		nr += other->samples != 0;
	}
	if (!nr || !make_room(l, first_box, from_ns, nr))
		return 0;
	for (size_t i = 0; i < nr; i++) {
		struct box *to = MEM_ADD(l->boxes, l->nr_boxes, l->boxes_room);

		if (!to)
			return -ENOMEM;
		*to = others[i];
	}
	return 0;
}

/* Its slices, the last one first; those between them where something is left. */
static int put_thread(struct timeline *l, const struct share *shares, size_t nr)
{
	const uint64_t first = l->j->selection->filter.from_ns / l->slice_ns;
	const size_t first_box = l->nr_boxes;
	uint64_t slice = nr ? shares[0].slice : 0;
	int rc = 0;

	l->nr_rests = l->nr_open = 0;
	for (size_t i = 0, end; rc == 0 && (i < nr || l->nr_rests); i = end) {
		if (!l->nr_rests)
			slice = shares[i].slice;
		for (end = i; end < nr && shares[end].slice == slice;)
			end++;
		rc = put_slice(l, shares[0].thread, slice, shares + i, end - i);
		if (slice-- <= first)
			break;
	}
	return rc ?: put_others(l, shares[0].thread, l->others, first_box);
}

static int put_threads(struct timeline *l)
{
	const uint64_t top = reports_top(l->j, UINT64_MAX);
	struct share *shares = l->shares.items;
	int rc = 0;

	if (l->shares.nr)
		qsort_r(shares, l->shares.nr, sizeof(*shares), compare_shares, l);
	for (size_t i = 0, end; i < l->shares.nr && rc == 0; i = end) {
		const struct thread *t = dict_at(&l->threads, shares[i].thread);

		for (end = i; end < l->shares.nr && shares[end].thread == shares[i].thread;)
			end++;
		if (t->rank < top)
			rc = put_thread(l, shares + i, end - i);
	}
	return rc;
}

/* --- rows ------------------------------------------------------------------------------------ */

static int compare_boxes(const void *a, const void *b, void *timeline)
{
	const struct box *x = a, *y = b;
	const struct timeline *l = timeline;

	return threads_compare(&l->threads, x->thread, y->thread)
		   ?: order_u64(x->from_ns, y->from_ns)
		   ?: order_u64(report_stacks_at(l->stacks, x->stack)->depth,
				report_stacks_at(l->stacks, y->stack)->depth);
}

static void put_box(const struct timeline *l, struct grid *g, const struct box *b)
{
	const struct report_stack_node *n = report_stacks_at(l->stacks, b->stack);

	grid_row(g);
	threads_put(l->j, g, dict_at(&l->threads, b->thread));
	grid_count(g, b->from_ns);
	grid_count(g, b->to_ns);
	grid_count(g, l->slice_ns);
	grid_text(g, report_state_names[b->state]);
	grid_count(g, n->depth - 1);
	grid_text(g, n->frame.function->name);
	grid_text(g, n->frame.function->object);
	grid_count(g, b->samples);
	grid_count(g, b->count);
}

static int put_all(struct timeline *l, struct err *e)
{
	static const struct grid_column columns[] = {
	    THREADS_COLUMNS,
	    {"from_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"to_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"slice_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"state", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"depth", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"function", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"object", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"samples", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"count", NULL, NULL, GRID_COUNT, GRID_ALL},
	};
	struct grid *g = reports_grid(l->j, columns, sizeof(columns) / sizeof(columns[0]));
	const double least = l->j->selection->min_percent / 100 * NR_SLICES * (double)l->slice_ns;

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	if (l->nr_boxes)
		qsort_r(l->boxes, l->nr_boxes, sizeof(*l->boxes), compare_boxes, l);
	for (size_t i = 0; i < l->nr_boxes; i++)
		if ((double)(l->boxes[i].to_ns - l->boxes[i].from_ns) >= least)
			put_box(l, g, &l->boxes[i]);
	return reports_end(l->j, g, 0, e);
}

static int print(struct job *j, struct err *e)
{
	struct timeline l = {.j = j, .stacks = report_stacks_new()};
	struct report_sink sink = {.parts = threads_parts | REPORT_BY_STATE | REPORT_BY_SLICE |
					    REPORT_BY_STACK,
				   .entry = add_entry,
				   .arg = &l};
	struct report_stats stats = {.nr_events = 0};
	int rc = l.stacks ? threads_slice(j, NR_SLICES, &l.slice_ns, &l.end_ns) : -ENOMEM;

	threads_init(&l.threads);
	dict_init(&l.shares, sizeof(struct share), DICT_KEY(struct share, state), MAX_SHARES);
	sink.slice_ns = l.slice_ns;
	rc = rc ?: samples_read(j, j->first, j->nr, &sink, &stats, e) ?: threads_rank(&l.threads)
		?: name_others(&l) ?: order_stacks(&l) ?: put_threads(&l) ?: put_all(&l, e);
	if (rc == -EFBIG) {
		err_clear(e);
		err_set(e, rc, "too many stacks over time");
		err_hint(e, "select fewer: top=, comm=, pid=, from=, to=");
	}
	report_stats_fini(&stats);
	report_stacks_free(l.stacks);
	dict_fini(&l.threads);
	dict_fini(&l.shares);
	mem_free(l.order);
	mem_free(l.boxes);
	mem_free(l.rests);
	return rc;
}

/* Of all sessions at once, as exports. */
const struct registry_row timeline_row = {.name = "timeline",
					  .kind = REGISTRY_VIEW,
					  .samples = REGISTRY_SAMPLES,
					  .sessions = REGISTRY_LANES,
					  .adds_states = true,
					  .print = print};
const struct registry_row timeline_stateless_row = {.name = "timeline",
						    .kind = REGISTRY_VIEW,
						    .samples = REGISTRY_SAMPLES,
						    .sessions = REGISTRY_LANES,
						    .print = print};
