/*
 * The samples of the page: counted by stack, group and slice of time while they are read.
 */
#include "samples.h"
#include "base/err.h"
#include "base/mem.h"
#include "counts/lines.h"
#include "page/html.h"
#include "report/functions.h"
#include "report/stacks.h"

#include <errno.h>
#include <string.h>

enum {
	NR_SLICES = 400,      /* at most, if all goes well */
	MAX_COUNTS = 2 << 20, /* in memory */
	MAX_THREADS = 4096,   /* told apart; then by name */
};

static bool is_thread(const void *arg, const void *key, uint32_t number)
{
	return memcmp(&((const struct html_thread *)arg)[number], key,
		      sizeof(struct html_thread)) == 0;
}

static bool is_group(const void *arg, const void *key, uint32_t number)
{
	return memcmp(&((const struct html_group *)arg)[number], key, sizeof(struct html_group)) ==
	       0;
}

static int add_thread(struct html *h, const struct html_thread *t, uint32_t hash, uint32_t *number)
{
	struct html_thread *list =
	    mem_grow(h->threads, h->nr_threads, &h->threads_room, sizeof(*list));

	if (!list)
		return -ENOMEM;
	h->threads = list;
	if (index_add(&h->thread_index, hash, (uint32_t)h->nr_threads))
		return -ENOMEM;
	list[h->nr_threads] = *t;
	*number = (uint32_t)h->nr_threads++;
	return 0;
}

/* Where there are too many, all of a name are one; where there are too many names, all are. */
static int find_thread(struct html *h, struct html_thread t, uint32_t *number)
{
	uint32_t hash;

	for (unsigned times = 1;; times++) {
		hash = index_hash(0, &t, sizeof(t));
		*number = index_find(&h->thread_index, hash, is_thread, h->threads, &t);
		if (*number != INDEX_NONE)
			return 0;
		if (times == 3 || h->nr_threads < times * MAX_THREADS)
			return add_thread(h, &t, hash, number);
		h->has_several = true;
		t.comm = times == 1 ? t.comm : h->others;
		t.pid = t.tid = HTML_SEVERAL;
	}
}

static int add_group(struct html *h, const struct html_group *g, uint32_t hash)
{
	struct html_group *list = mem_grow(h->groups, h->nr_groups, &h->groups_room, sizeof(*list));

	if (!list)
		return -ENOMEM;
	h->groups = list;
	if (index_add(&h->group_index, hash, (uint32_t)h->nr_groups))
		return -ENOMEM;
	list[h->nr_groups] = *g;
	h->last_group = (uint32_t)h->nr_groups++;
	return 0;
}

static bool is_of_thread(const struct html_thread *t, const struct report_key *k)
{
	return t->comm == k->comm && t->pid == k->pid && t->tid == k->tid;
}

/* Mostly that of the sample before. */
static int find_group(struct html *h, unsigned side, const struct report_key *k, uint32_t *number)
{
	const struct html_group *last = h->nr_groups ? &h->groups[h->last_group] : NULL;
	struct html_group g = {.side = side, .event = k->event};
	uint32_t hash;
	int rc = 0;

	if (!last || last->side != side || last->event != k->event ||
	    !is_of_thread(&h->threads[last->thread], k)) {
		rc = find_thread(h, (struct html_thread){k->comm, k->pid, k->tid}, &g.thread);
		hash = index_hash(0, &g, sizeof(g));
		*number = index_find(&h->group_index, hash, is_group, h->groups, &g);
		if (rc == 0 && *number == INDEX_NONE)
			rc = add_group(h, &g, hash);
		else if (rc == 0)
			h->last_group = *number;
	}
	*number = h->last_group;
	return rc;
}

uint32_t html_slice_within(const struct html *h, uint64_t slice, unsigned doubled)
{
	uint32_t min = h->min_slice >> doubled, max = h->max_slice >> doubled;

	return slice < min ? min : slice > max ? max : (uint32_t)slice;
}

static int take(void *arg, const struct report_sample *s, size_t nr)
{
	struct html *h = arg;
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++) {
		unsigned side = s[i].key.session >= h->j->inputs->nr ? HTML_BEFORE : HTML_NOW;
		uint32_t group;

		rc = find_group(h, side, &s[i].key, &group);
		if (rc == 0)
			rc =
			    report_slices_add(h->slices, s[i].stack, group,
					      html_slice_within(h, s[i].key.slice, 0), s[i].weight);
		if (rc == 0 && h->nr_sides > 1)
			rc = html_change_take(h, &s[i], side);
	}
	return rc;
}

void html_time_shown(const struct html *h, uint64_t *start_ns, uint64_t *end_ns)
{
	const struct profile_filter *f = &h->j->selection->filter;

	*start_ns = counts_lines_start_ns(h->lines);
	*end_ns = *start_ns + counts_lines_span_ns(h->lines);
	*start_ns = f->from_ns && f->from_ns < *end_ns ? f->from_ns : *start_ns;
	*end_ns = f->to_ns > *start_ns && f->to_ns < *end_ns ? f->to_ns : *end_ns;
}

/* A round number, of which some hundreds make the time. Samples that are far outside, as damaged
 * files have them, are in the first slice or the last. */
static void choose_slices(struct html *h)
{
	static const uint64_t steps[] = {1, 2, 5};
	uint64_t start_ns, end_ns, ten = 1, first;
	unsigned i = 0;

	html_time_shown(h, &start_ns, &end_ns);
	while (steps[i] * ten * NR_SLICES < end_ns - start_ns && ten < UINT64_MAX / 10000) {
		i = (i + 1) % 3;
		ten *= i ? 1 : 10;
	}
	h->slice_ns = steps[i] * ten;
	first = start_ns / h->slice_ns;
	first = first < UINT32_MAX / 2 ? first : UINT32_MAX / 2;
	h->min_slice = first > NR_SLICES ? (uint32_t)first - NR_SLICES : 0;
	h->max_slice = (uint32_t)first + 2 * NR_SLICES;
}

static int read_sides(struct html *h, const struct report_sink *sink, struct err *e)
{
	int rc = samples_read(h->j, h->j->first, h->j->nr, sink, &h->stats[HTML_NOW], e);

	if (rc == 0 && h->nr_sides > 1)
		rc = samples_read(h->j, h->j->inputs->nr, h->j->inputs->nr_diff, sink,
				  &h->stats[HTML_BEFORE], e);
	if (rc != -EFBIG)
		return rc;
	err_clear(e);
	err_set(e, rc, "there are too many stacks of too many threads for a page");
	err_hint(e, "leave some out: --comm=, --pid=, --cpu=, --from=, --to=");
	return rc;
}

int html_samples_read(struct html *h, struct err *e)
{
	struct report_sink sink = {.parts = REPORT_BY_STACK | REPORT_BY_PID | REPORT_BY_TID |
					    REPORT_BY_COMM | REPORT_BY_SESSION | REPORT_BY_SLICE,
				   .samples = take,
				   .stacks = h->stacks,
				   .arg = h};
	int rc = 0;

	choose_slices(h);
	if (!h->has_samples)
		return 0;
	sink.slice_ns = h->slice_ns;
	sink.parts |= h->by_iteration ? REPORT_BY_ITERATION : 0;
	h->others = report_functions_text_number(h->j->inputs->functions, "[others]");
	h->slices = report_slices_new(MAX_COUNTS);
	h->leaves = report_slices_new(MAX_COUNTS);
	if (!h->slices || !h->leaves || h->others == UINT32_MAX)
		return -ENOMEM;
	rc = read_sides(h, &sink, e);
	return rc == 0 && h->nr_sides > 1 ? html_change_compare(h) : rc;
}
