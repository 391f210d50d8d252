/*
 * The stacks and counts of the page in few characters: functions by number, tree and cells as
 * described in page.c; coarsened until they fit.
 */
#include "page/encode.h"
#include "base/mem.h"
#include "base/order.h"
#include "export/digits.h"
#include "report/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MIN_SLICES = 100,
	MAX_BYTES = 4 << 20, /* of tree, cells and names in the page */
};

/* Functions by number of nodes: the most frequent get the shortest numbers. */
struct use {
	const struct report_function *function;
	uint32_t nr;
};

static int compare_uses(const void *pa, const void *pb)
{
	const struct use *a = pa, *b = pb;

	return order_u64(b->nr, a->nr)
		   ?: (a->nr ? report_function_compare(a->function, b->function) : 0);
}

/* Gives merged nodes the function "[merged]". */
static int name_merged(struct page *h)
{
	const struct report_function *merged =
	    report_functions_named(h->j->inputs->functions, "[merged]", "");

	for (size_t i = 0; merged && i < h->outline.nr; i++)
		if (!h->outline.nodes[i].function)
			h->outline.nodes[i].function = merged;
	return merged ? 0 : -ENOMEM;
}

static int number_functions(struct page *h, struct page_numbers *n)
{
	size_t nr = report_functions_nr(h->j->inputs->functions);
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

void page_numbers_fini(struct page_numbers *n)
{
	mem_free(n->function);
	mem_free(n->functions);
}

static uint32_t event_of(const struct page *h, const struct report_slice *c)
{
	const struct page_group *g = dict_at(&h->groups, c->group);

	return g->event;
}

/* What the squares of weights are for each of their sum: what varies by chance. */
static void find_squares(struct page *h, struct page_encoded *to, double *weights)
{
	for (size_t i = 0; i < h->outline.nr_counts; i++) {
		const struct report_slice *c = &h->outline.counts[i];

		to->squares[event_of(h, c)] += c->squares;
		weights[event_of(h, c)] += (double)c->weight;
	}
	for (size_t i = 0; i < h->facts->nr_events; i++)
		to->squares[i] /= weights[i] > 0 ? weights[i] : 1;
}

/* The period of an event, if each of its samples has the same. */
static int find_periods(struct page *h, struct page_encoded *to)
{
	MEM_AUTO bool *is_other = mem_calloc(h->facts->nr_events + 1, sizeof(*is_other));
	MEM_AUTO double *weights = mem_calloc(h->facts->nr_events + 1, sizeof(*weights));

	to->period = mem_calloc(h->facts->nr_events + 1, sizeof(*to->period));
	to->squares = mem_calloc(h->facts->nr_events + 1, sizeof(*to->squares));
	if (!is_other || !weights || !to->period || !to->squares)
		return -ENOMEM;
	find_squares(h, to, weights);
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

void page_encode_slices(struct page *h, struct page_encoded *to)
{
	const unsigned doubled = h->slices ? report_slices_doubled(h->slices) : 0;
	const uint64_t slice_ns = h->slice_ns << doubled;
	uint64_t start_ns, end_ns, first, end;

	page_time_shown(h, &start_ns, &end_ns);
	first = page_slice_within(h, start_ns / slice_ns, doubled);
	end = page_slice_within(h, end_ns / slice_ns + (end_ns % slice_ns != 0), doubled);
	for (size_t i = 0; i < h->outline.nr_counts; i++) {
		uint32_t slice = h->outline.counts[i].slice;

		first = slice < first ? slice : first;
		end = slice >= end ? slice + 1 : end;
	}
	to->first = (uint32_t)first;
	to->nr_slices = end > first ? end - first : 1;
}

/* Adds the counts of one node and group. Returns the place of the next. */
static size_t encode_run(struct page *h, struct page_encoded *to, size_t i, size_t end)
{
	const struct report_slice *c = h->outline.counts;
	size_t last = i;
	uint32_t before = to->first;

	while (last < end && c[last].group == c[i].group)
		last++;
	export_digits_add(&to->cells, c[i].group);
	export_digits_add(&to->cells, last - i);
	for (; i < last; i++) {
		export_digits_add(&to->cells,
				  2 * (uint64_t)(c[i].slice - before) + (c[i].samples > 1));
		if (c[i].samples > 1)
			export_digits_add(&to->cells, c[i].samples - 2);
		if (!to->period[event_of(h, &c[i])])
			export_digits_add(&to->cells, c[i].weight);
		before = c[i].slice;
	}
	return last;
}

static size_t count_runs(const struct page *h, size_t i, size_t end)
{
	size_t nr = 0;

	for (; i < end; i++)
		nr += i + 1 == end || h->outline.counts[i + 1].group != h->outline.counts[i].group;
	return nr;
}

static void encode_cells(struct page *h, struct page_encoded *to)
{
	export_digits_add(&to->cells, 0); /* of the root */
	for (size_t i = 0; i < h->outline.nr; i++) {
		const struct report_outline_node *n = &h->outline.nodes[i];
		size_t at = n[0].first_count, end = n[1].first_count;

		export_digits_add(&to->cells, count_runs(h, at, end));
		while (at < end)
			at = encode_run(h, to, at, end);
	}
}

static void encode_tree(struct page *h, const struct page_numbers *n, struct page_encoded *to)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < h->outline.nr; i++) {
		const struct report_outline_node *node = &h->outline.nodes[i];

		export_digits_add(&to->tree, depth + 1 - node->depth);
		export_digits_add(&to->tree, n->function[node->function->number]);
		depth = node->depth;
	}
}

static int encode(struct page *h, struct page_numbers *n, struct page_encoded *to)
{
	int rc = name_merged(h) ?:
		 (h->nr_sides > 1 ? page_change_name(h) : 0) ?:
		 number_functions(h, n) ?:
		 find_periods(h, to);

	if (rc)
		return rc;
	page_encode_slices(h, to);
	for (size_t i = 0; i < n->nr_functions; i++)
		to->names_len += strlen(n->functions[i]->name);
	encode_tree(h, n, to);
	encode_cells(h, to);
	return buf_error(&to->tree) ?: buf_error(&to->cells);
}

void page_encoded_init(struct page_encoded *to)
{
	*to = (struct page_encoded){.first = 0};
	buf_init(&to->tree, PAGE_MAX_ENCODED_BYTES);
	buf_init(&to->cells, PAGE_MAX_ENCODED_BYTES);
}

void page_encoded_fini(struct page_encoded *to)
{
	buf_fini(&to->tree);
	buf_fini(&to->cells);
	mem_free(to->period);
	mem_free(to->squares);
}

int page_encode(struct page *h, struct page_numbers *n, struct page_encoded *to,
		uint64_t *min_samples)
{
	for (;;) {
		int rc = report_outline_make(h->stacks, h->slices, *min_samples, &h->outline);

		page_encoded_init(to);
		*n = (struct page_numbers){.nr_functions = 0};
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
		page_numbers_fini(n);
		page_encoded_fini(to);
		if (rc)
			return rc;
	}
}
