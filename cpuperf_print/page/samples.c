/*
 * Counts the samples of the page by stack, group and slice of time.
 */
#include "samples.h"
#include "base/err.h"
#include "base/mem.h"
#include "counts/lines.h"
#include "page/page.h"
#include "profile/processes.h"
#include "report/functions.h"
#include "report/stacks.h"
#include "trace/record.h"

#include <errno.h>
#include <string.h>

enum {
	NR_SLICES = 400,      /* at most, unless later times follow */
	MAX_COUNTS = 2 << 20, /* in memory */
	MAX_THREADS = 4096,   /* by pid and tid; then by name */
};

/* With too many threads, those of one name are merged; with too many names, all are. */
static uint32_t find_thread(struct page *h, struct page_thread t)
{
	uint32_t number;

	for (unsigned times = 1;; times++) {
		number = dict_find(&h->threads, &t);
		if (number != DICT_NONE)
			return number;
		if (times == 3 || h->threads.nr < times * MAX_THREADS)
			return dict_add(&h->threads, &t);
		h->has_several = true;
		t.comm = times == 1 ? t.comm : h->others;
		t.pid = t.tid = PAGE_SEVERAL;
		t.thread = 0;
	}
}

static uint32_t thread_of(const struct report_key *k)
{
	return k->thread == TRACE_UNKNOWN ? 0 : k->thread;
}

static bool is_of_thread(const struct page *h, const struct page_thread *t,
			 const struct report_key *k)
{
	return t->comm == k->comm && t->pid == k->pid && t->tid == k->tid &&
	       t->thread == thread_of(k) && t->host == page_host(h, k->session);
}

/* Usually the previous sample's group. DICT_NONE: no memory. */
static uint32_t find_group(struct page *h, unsigned side, const struct report_key *k)
{
	const struct page_group *last = dict_at(&h->groups, h->last_group);
	struct page_group g = {.side = side,
			       .event = k->event,
			       .region =
				   h->has_regions ? page_regions_find(h->regions, k->region) : 0};

	if (last && last->side == side && last->event == k->event && last->region == g.region &&
	    is_of_thread(h, dict_at(&h->threads, last->thread), k))
		return h->last_group;
	g.thread = find_thread(h, (struct page_thread){k->comm, k->pid, k->tid, thread_of(k),
						       page_host(h, k->session)});
	h->last_group = g.thread == DICT_NONE ? DICT_NONE : dict_add(&h->groups, &g);
	return h->last_group;
}

uint32_t page_slice_within(const struct page *h, uint64_t slice, unsigned doubled)
{
	uint32_t min = h->min_slice >> doubled, max = h->max_slice >> doubled;

	return slice < min ? min : slice > max ? max : (uint32_t)slice;
}

static int add_samples(void *arg, const struct report_sample *s, size_t nr)
{
	struct page *h = arg;
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++) {
		unsigned side = s[i].key.session >= h->j->inputs->nr ? PAGE_BEFORE : PAGE_NOW;
		uint32_t group = find_group(h, side, &s[i].key);

		rc = group == DICT_NONE
			 ? -ENOMEM
			 : report_slices_add(h->slices, s[i].stack, group,
					     page_slice_within(h, s[i].key.slice, 0), s[i].samples,
					     s[i].weight, (double)s[i].weight * (double)s[i].unit);
		if (rc == 0 && h->nr_sides > 1)
			rc = page_change_take(h, &s[i], side);
	}
	return rc;
}

void page_time_shown(const struct page *h, uint64_t *start_ns, uint64_t *end_ns)
{
	const struct profile_filter *f = &h->j->selection->filter;

	*start_ns = counts_lines_start_ns(h->lines);
	*end_ns = *start_ns + counts_lines_span_ns(h->lines);
	*start_ns = f->from_ns && f->from_ns < *end_ns ? f->from_ns : *start_ns;
	*end_ns = f->to_ns > *start_ns && f->to_ns < *end_ns ? f->to_ns : *end_ns;
}

/* Chooses a round slice such that at most NR_SLICES cover the time shown. */
static void choose_slices(struct page *h)
{
	uint64_t start_ns, end_ns, first;

	page_time_shown(h, &start_ns, &end_ns);
	h->slice_ns = report_slices_round(end_ns - start_ns, NR_SLICES);
	first = start_ns / h->slice_ns;
	first = first < UINT32_MAX / 2 ? first : UINT32_MAX / 2;
	h->min_slice = first > NR_SLICES ? (uint32_t)first - NR_SLICES : 0;
	h->max_slice = (uint32_t)first + 2 * NR_SLICES;
}

static int read_sides(struct page *h, const struct report_sink *sink, struct err *e)
{
	int rc = samples_read(h->j, h->j->first, h->j->nr, sink, &h->stats[PAGE_NOW], e);

	if (rc == 0 && h->nr_sides > 1)
		rc = samples_read(h->j, h->j->inputs->nr, h->j->inputs->nr_diff, sink,
				  &h->stats[PAGE_BEFORE], e);
	if (rc != -EFBIG)
		return rc;
	err_clear(e);
	err_set(e, rc, "too many stacks of too many threads for a page");
	err_hint(e, "select fewer: --comm=, --pid=, --cpu=, --from=, --to=");
	return rc;
}

int page_samples_read(struct page *h, struct err *e)
{
	struct report_sink sink = {.parts = REPORT_BY_STACK | REPORT_BY_PID | REPORT_BY_TID |
					    REPORT_BY_COMM | REPORT_BY_SESSION | REPORT_BY_SLICE,
				   .samples = add_samples,
				   .stacks = h->stacks,
				   .arg = h};
	int rc = 0;

	choose_slices(h);
	if (!h->has_samples)
		return 0;
	sink.slice_ns = h->slice_ns;
	sink.parts |= h->has_regions ? REPORT_BY_REGION : 0;
	sink.parts |= h->by_iteration ? REPORT_BY_ITERATION : 0;
	h->others = report_functions_text_number(h->j->inputs->functions, "[others]");
	h->slices = report_slices_new(MAX_COUNTS);
	h->leaves = report_slices_new(MAX_COUNTS);
	h->last_group = DICT_NONE;
	if (!h->slices || !h->leaves || h->others == UINT32_MAX)
		return -ENOMEM;
	rc = read_sides(h, &sink, e) ?: page_hosts_name_processes(h);
	return rc == 0 && h->nr_sides > 1 ? page_change_compare(h) : rc;
}
