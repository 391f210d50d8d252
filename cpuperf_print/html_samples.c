/*
 * The samples of the page: counted by stack, group and slice of time while they are read, and
 * written as few characters.
 */
#include "base/err.h"
#include "base/mem.h"
#include "export/digits.h"
#include "html.h"
#include "report/functions.h"
#include "report/lines.h"
#include "report/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	NR_SLICES = 400, /* at most, if all goes well */
	MIN_SLICES = 100,
	MAX_COUNTS = 2 << 20,          /* in memory */
	MAX_BYTES = 4 << 20,           /* of tree, cells and names in the page */
	MAX_ENCODED_BYTES = 512 << 20, /* before it is known that they are too many */
	MAX_THREADS = 4096,            /* told apart; then by name */
};

/* --- reading --------------------------------------------------------------------------------- */

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

static uint32_t clamp(const struct html *h, uint64_t slice, unsigned doubled)
{
	uint32_t min = h->min_slice >> doubled, max = h->max_slice >> doubled;

	return slice < min ? min : slice > max ? max : (uint32_t)slice;
}

static int take(void *arg, const struct report_sample *s, size_t nr)
{
	struct html *h = arg;
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++) {
		unsigned side = s[i].key.session >= h->j->nr_sessions ? HTML_BEFORE : HTML_NOW;
		uint32_t group;

		rc = find_group(h, side, &s[i].key, &group);
		if (rc == 0)
			rc = report_slices_add(h->slices, s[i].stack, group,
					       clamp(h, s[i].key.slice, 0), s[i].weight);
		if (rc == 0 && h->nr_sides > 1)
			rc = html_change_take(h, &s[i], side);
	}
	return rc;
}

/* The time that was asked for, else that of all that was read; since the session's start. */
static void find_time(const struct html *h, uint64_t *start_ns, uint64_t *end_ns)
{
	const struct report_filter *f = &h->j->filter;

	*start_ns = report_lines_start_ns(h->lines);
	*end_ns = *start_ns + report_lines_span_ns(h->lines);
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

	find_time(h, &start_ns, &end_ns);
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
	h->others = report_functions_number(h->j->functions, "[others]");
	h->slices = report_slices_new(MAX_COUNTS);
	h->leaves = report_slices_new(MAX_COUNTS);
	if (!h->slices || !h->leaves || h->others == UINT32_MAX)
		return -ENOMEM;
	rc = job_read_samples(h->j, h->first, h->nr, &sink, &h->stats[HTML_NOW], e);
	if (rc == 0 && h->nr_sides > 1)
		rc = job_read_samples(h->j, h->j->nr_sessions, h->j->nr_diff, &sink,
				      &h->stats[HTML_BEFORE], e);
	return rc == 0 && h->nr_sides > 1 ? html_change_compare(h) : rc;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Functions by their numbers in the page. */
struct numbers {
	uint32_t *function; /* by the report's numbers, nr_all of them; UINT32_MAX: not there */
	const struct report_function **functions; /* by the page's */
	size_t nr_functions, nr_all;
};

struct encoded {
	struct buf tree, cells;
	uint32_t first; /* slice */
	uint64_t nr_slices;
	uint64_t *period; /* of each event; 0: samples have different ones */
	size_t names_len; /* of functions */
};

/* Uses of functions, those of most nodes first: they get the shortest numbers. */
struct use {
	const struct report_function *function;
	uint32_t nr;
};

static int compare_uses(const void *pa, const void *pb)
{
	const struct use *a = pa, *b = pb;

	if (a->nr != b->nr)
		return a->nr > b->nr ? -1 : 1;
	return a->nr ? report_function_compare(a->function, b->function) : 0;
}

/* Merged nodes have a function that is none. */
static int name_merged(struct html *h)
{
	const struct report_function *merged =
	    report_functions_named(h->j->functions, "[merged]", "");

	for (size_t i = 0; merged && i < h->outline.nr; i++)
		if (!h->outline.nodes[i].function)
			h->outline.nodes[i].function = merged;
	return merged ? 0 : -ENOMEM;
}

static int number_functions(struct html *h, struct numbers *n)
{
	size_t nr = report_functions_nr(h->j->functions);
	MEM_AUTO struct use *uses = mem_calloc(nr + 1, sizeof(*uses));

	n->function = mem_calloc(nr + 1, sizeof(*n->function));
	n->functions = mem_calloc(nr + 1, sizeof(*n->functions));
	if (!uses || !n->function || !n->functions)
		return -ENOMEM;
	for (size_t i = 0; i < h->outline.nr; i++) {
		const struct report_function *f = h->outline.nodes[i].function;

		uses[f->number].function = f;
		uses[f->number].nr++;
	}
	qsort(uses, nr, sizeof(*uses), compare_uses);
	n->nr_all = nr;
	memset(n->function, 0xff, nr * sizeof(*n->function));
	for (size_t i = 0; i < nr && uses[i].nr; i++) {
		n->functions[i] = uses[i].function;
		n->function[uses[i].function->number] = (uint32_t)n->nr_functions++;
	}
	return 0;
}

static void numbers_fini(struct numbers *n)
{
	mem_free(n->function);
	mem_free(n->functions);
}

static uint32_t event_of(const struct html *h, const struct report_slice *c)
{
	return h->groups[c->group].event;
}

/* The period of an event, if each of its samples has the same. */
static int find_periods(struct html *h, struct encoded *to)
{
	MEM_AUTO bool *is_other = mem_calloc(h->facts->nr_events + 1, sizeof(*is_other));

	to->period = mem_calloc(h->facts->nr_events + 1, sizeof(*to->period));
	if (!is_other || !to->period)
		return -ENOMEM;
	for (size_t i = 0; i < h->outline.nr_counts; i++) {
		const struct report_slice *c = &h->outline.counts[i];
		uint64_t *period = &to->period[event_of(h, c)];

		*period = *period ? *period : c->weight / c->samples;
		is_other[event_of(h, c)] |= *period * c->samples != c->weight;
	}
	for (size_t i = 0; i < h->facts->nr_events; i++)
		to->period[i] = is_other[i] ? 0 : to->period[i];
	return 0;
}

/* Those of the time, and of samples outside. */
static void find_slices(struct html *h, struct encoded *to)
{
	const unsigned doubled = h->slices ? report_slices_doubled(h->slices) : 0;
	const uint64_t slice_ns = h->slice_ns << doubled;
	uint64_t start_ns, end_ns, first, end;

	find_time(h, &start_ns, &end_ns);
	first = clamp(h, start_ns / slice_ns, doubled);
	end = clamp(h, end_ns / slice_ns + (end_ns % slice_ns != 0), doubled);
	for (size_t i = 0; i < h->outline.nr_counts; i++) {
		uint32_t slice = h->outline.counts[i].slice;

		first = slice < first ? slice : first;
		end = slice >= end ? slice + 1 : end;
	}
	to->first = (uint32_t)first;
	to->nr_slices = end > first ? end - first : 1;
}

/* Of one node and group. Returns where the next begin. */
static size_t encode_run(struct html *h, struct encoded *to, size_t i, size_t end)
{
	const struct report_slice *c = h->outline.counts;
	size_t last = i;
	uint32_t before = to->first;

	while (last < end && c[last].group == c[i].group)
		last++;
	digits_add(&to->cells, c[i].group);
	digits_add(&to->cells, last - i);
	for (; i < last; i++) {
		digits_add(&to->cells, 2 * (uint64_t)(c[i].slice - before) + (c[i].samples > 1));
		if (c[i].samples > 1)
			digits_add(&to->cells, c[i].samples - 2);
		if (!to->period[event_of(h, &c[i])])
			digits_add(&to->cells, c[i].weight);
		before = c[i].slice;
	}
	return last;
}

static size_t count_runs(const struct html *h, size_t i, size_t end)
{
	size_t nr = 0;

	for (; i < end; i++)
		nr += i + 1 == end || h->outline.counts[i + 1].group != h->outline.counts[i].group;
	return nr;
}

static void encode_cells(struct html *h, struct encoded *to)
{
	digits_add(&to->cells, 0); /* of the root */
	for (size_t i = 0; i < h->outline.nr; i++) {
		const struct report_outline_node *n = &h->outline.nodes[i];
		size_t at = n[0].first_count, end = n[1].first_count;

		digits_add(&to->cells, count_runs(h, at, end));
		while (at < end)
			at = encode_run(h, to, at, end);
	}
}

static void encode_tree(struct html *h, const struct numbers *n, struct encoded *to)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < h->outline.nr; i++) {
		const struct report_outline_node *node = &h->outline.nodes[i];

		digits_add(&to->tree, depth + 1 - node->depth);
		digits_add(&to->tree, n->function[node->function->number]);
		depth = node->depth;
	}
}

static int encode(struct html *h, struct numbers *n, struct encoded *to)
{
	int rc = name_merged(h);

	if (rc == 0 && h->nr_sides > 1)
		rc = html_change_name(h);
	if (rc == 0)
		rc = number_functions(h, n);
	if (rc == 0)
		rc = find_periods(h, to);
	if (rc)
		return rc;
	find_slices(h, to);
	for (size_t i = 0; i < n->nr_functions; i++)
		to->names_len += strlen(n->functions[i]->name);
	encode_tree(h, n, to);
	encode_cells(h, to);
	rc = buf_error(&to->tree);
	return rc ? rc : buf_error(&to->cells);
}

static void encoded_init(struct encoded *to)
{
	*to = (struct encoded){.first = 0};
	buf_init(&to->tree, MAX_ENCODED_BYTES);
	buf_init(&to->cells, MAX_ENCODED_BYTES);
}

static void encoded_fini(struct encoded *to)
{
	buf_fini(&to->tree);
	buf_fini(&to->cells);
	mem_free(to->period);
}

/* What the user calls small. */
static uint64_t least_samples(const struct html *h)
{
	double share = h->j->min_percent > 0 ? h->j->min_percent / 100 : 0;
	uint64_t all = 0;

	for (size_t i = 0; i < h->stats[HTML_NOW].nr_events; i++)
		all += h->stats[HTML_NOW].event[i].taken.samples;
	return (uint64_t)(share * (double)all);
}

/* Coarser until it fits: time first, then small stacks. */
static int make(struct html *h, struct numbers *n, struct encoded *to, uint64_t *min_samples)
{
	for (;;) {
		int rc = report_outline_make(h->stacks, h->slices, *min_samples, &h->outline);

		encoded_init(to);
		*n = (struct numbers){.nr_functions = 0};
		if (rc == 0)
			rc = encode(h, n, to);
		if (rc || to->tree.len + to->cells.len + to->names_len <= MAX_BYTES)
			return rc;
		if (to->nr_slices >= 2 * (uint64_t)MIN_SLICES && to->cells.len > MAX_BYTES / 2)
			rc = report_slices_double(h->slices);
		else
			*min_samples = *min_samples < 2 ? 2 : 2 * *min_samples;
		report_outline_fini(&h->outline);
		h->outline = (struct report_outline){.nr = 0};
		numbers_fini(n);
		encoded_fini(to);
		if (rc)
			return rc;
	}
}

static void say_coarser(struct html *h, uint64_t min_samples)
{
	if (report_slices_doubled(h->slices))
		html_note(h, HTML_NOTE,
			  "There is too much for a page: slices of time are %u times as long as "
			  "they would be.",
			  1u << report_slices_doubled(h->slices));
	if (h->outline.nr_merged)
		html_note(h, HTML_NOTE,
			  "%zu frames of fewer than %" PRIu64
			  " samples are merged into [merged], in their callers: totals of small "
			  "functions are too low.",
			  h->outline.nr_merged, min_samples);
	if (report_stacks_is_full(h->stacks))
		html_note(h, HTML_WARNING, "There are too many stacks: some are cut.");
	if (h->has_several)
		html_note(h, HTML_NOTE,
			  "There are too many threads: some are told apart by name only.");
}

static void put_buf(struct html *h, const char *key, const struct buf *b)
{
	export_json_next(&h->json, key);
	buf_addc(&h->data, '"');
	buf_add(&h->data, b->data, b->len);
	buf_addc(&h->data, '"');
}

static void put_count(struct html *h, const char *key, uint64_t n)
{
	export_json_u64(&h->json, key, n);
}

/* A table of the report's texts that are used: numbers in the order of first use. */
struct texts {
	uint32_t *number; /* by the report's; UINT32_MAX: not yet */
	uint32_t nr;
};

static uint32_t text_number(struct html *h, struct texts *t, uint32_t text)
{
	if (t->number[text] == UINT32_MAX) {
		t->number[text] = t->nr++;
		export_json_text(&h->json, NULL, report_functions_text(h->j->functions, text));
	}
	return t->number[text];
}

static int texts_init(struct html *h, struct texts *t)
{
	size_t nr = report_functions_nr_texts(h->j->functions);

	*t = (struct texts){.nr = 0};
	t->number = mem_alloc((nr + 1) * sizeof(*t->number));
	if (!t->number)
		return -ENOMEM;
	memset(t->number, 0xff, (nr + 1) * sizeof(*t->number));
	return 0;
}

static int put_threads(struct html *h)
{
	struct texts comms;
	struct buf list;
	int rc = texts_init(h, &comms);

	if (rc)
		return rc;
	buf_init(&list, MAX_ENCODED_BYTES);
	export_json_array(&h->json, "comms");
	for (size_t i = 0; i < h->nr_threads; i++) {
		digits_add(&list, text_number(h, &comms, h->threads[i].comm));
		digits_add(&list, h->threads[i].pid);
		digits_add(&list, h->threads[i].tid);
	}
	export_json_end(&h->json);
	put_buf(h, "threads", &list);
	buf_reset(&list);
	for (size_t i = 0; i < h->nr_groups; i++) {
		digits_add(&list, h->groups[i].side);
		digits_add(&list, h->groups[i].event);
		digits_add(&list, h->groups[i].thread);
	}
	put_buf(h, "groups", &list);
	rc = buf_error(&list);
	buf_fini(&list);
	mem_free(comms.number);
	return rc;
}

static int put_functions(struct html *h, const struct numbers *n, struct err *e)
{
	struct texts objects;
	struct buf list;
	int rc = texts_init(h, &objects);

	if (rc)
		return rc;
	buf_init(&list, MAX_ENCODED_BYTES);
	export_json_array(&h->json, "objects");
	for (size_t i = 0; i < n->nr_functions; i++)
		digits_add(&list,
			   2 * (uint64_t)text_number(h, &objects, n->functions[i]->object_number) +
			       n->functions[i]->is_kernel);
	export_json_end(&h->json);
	put_buf(h, "functions", &list);
	export_json_array(&h->json, "names");
	for (size_t i = 0; i < n->nr_functions && rc == 0; i++) {
		export_json_text(&h->json, NULL, n->functions[i]->name);
		rc = html_flush(h, e);
	}
	export_json_end(&h->json);
	rc = rc ? rc : buf_error(&list);
	buf_fini(&list);
	mem_free(objects.number);
	return rc;
}

static uint64_t samples_of(const struct html *h, unsigned side, uint32_t event)
{
	return h->stats[side].event ? h->stats[side].event[event].taken.samples : 0;
}

static void put_event(struct html *h, const struct encoded *from, uint32_t i)
{
	const struct trace_event *ev = &h->facts->events[i];

	export_json_object(&h->json, NULL);
	export_json_text(&h->json, "label", ev->label);
	export_json_text(&h->json, "unit", ev->unit);
	html_real(h, "scale", ev->scale > 0 ? ev->scale : 1, 17);
	put_count(h, "period", from->period ? from->period[i] : 0);
	export_json_array(&h->json, "samples");
	for (unsigned side = 0; side < h->nr_sides; side++) {
		export_json_u64(&h->json, NULL, samples_of(h, side, i));
	}
	export_json_end(&h->json);
	export_json_end(&h->json);
}

static void put_events(struct html *h, const struct encoded *from)
{
	export_json_array(&h->json, "events");
	for (uint32_t i = 0; i < h->facts->nr_events; i++) {
		put_event(h, from, i);
	}
	export_json_end(&h->json);
}

static void put_time(struct html *h, const struct encoded *from)
{
	uint64_t slice_ns = h->slice_ns << (h->slices ? report_slices_doubled(h->slices) : 0);

	put_count(h, "start_ns", from->first * slice_ns);
	put_count(h, "slice_ns", slice_ns);
	put_count(h, "nr_slices", from->nr_slices);
}

static int put_samples(struct html *h, struct numbers *n, struct encoded *from, struct err *e)
{
	int rc;

	put_time(h, from);
	put_events(h, from);
	rc = put_threads(h);
	if (rc == 0)
		rc = put_functions(h, n, e);
	if (rc == 0 && h->nr_sides > 1)
		html_change_put(h, n->function, n->nr_all);
	put_count(h, "nr_nodes", h->outline.nr + 1);
	put_count(h, "nr_cells", h->outline.nr_counts);
	put_buf(h, "tree", &from->tree);
	put_buf(h, "cells", &from->cells);
	return rc ? rc : html_flush(h, e);
}

/* A session that only counts has an empty tree. */
static int put_none(struct html *h)
{
	struct encoded none;

	encoded_init(&none);
	digits_add(&none.cells, 0);
	find_slices(h, &none);
	put_time(h, &none);
	put_events(h, &none);
	put_count(h, "nr_nodes", 1);
	put_count(h, "nr_cells", 0);
	buf_adds(&h->data, ",\"comms\":[],\"threads\":\"\",\"groups\":\"\",\"objects\":[],"
			   "\"functions\":\"\",\"names\":[],\"tree\":\"\",\"cells\":\"A\"");
	encoded_fini(&none);
	return 0;
}

int html_samples_put(struct html *h, struct err *e)
{
	uint64_t min_samples;
	struct numbers n;
	struct encoded made;
	int rc;

	if (!h->has_samples)
		return put_none(h);
	min_samples = least_samples(h);
	rc = make(h, &n, &made, &min_samples);
	if (rc == 0) {
		say_coarser(h, min_samples);
		rc = put_samples(h, &n, &made, e);
	}
	numbers_fini(&n);
	encoded_fini(&made);
	return rc;
}
