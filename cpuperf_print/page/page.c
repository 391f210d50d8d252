/*
 * --output-format=html: one self-contained page that shows a session in a browser. web/ has its
 * code; its data are one JSON object:
 *
 * title, subtitle, tool, facts, warnings, notes: text
 * sides: "now", and with --diff "before"
 * start_ns, slice_ns, nr_slices: the time axis, since the session's start
 * events: label, unit, scale, samples of each side, period (0: not the same for all samples),
 * squares (of the weights of samples, for each of their sum), in_program (what allocates counts at
 * the program's function, by ranks) hosts: of a job, the names of its parts; ranks: of functions;
 * comms; threads: comm, pid, tid, number in the process, host (0: no job) of each; groups:
 * side, event, thread, region of each objects; names; functions: 2 × object + is_kernel of each
 * nr_nodes, with the root; tree: of each other node, in preorder: by how many levels it is above a
 *   child of the node before; its function
 * nr_cells; cells: of each node: number of groups; of each group: its number, number of slices; of
 *   each slice: 2 × distance from the one before + has_several, [samples - 2], [weight, if the
 * event has no period]
 * code: of the functions with the most samples of their own, if there is one session: event,
 *   function, object, samples, skid (a sentence), missing (why there are no instructions); lines
 * and instructions: rows with the keys of report annotate, or how many without samples are omitted
 * code_functions, code_sessions: how many
 * series, series_start_ns, series_span_ns: counts over time: label; of: the event; kind: machine,
 * cpu (its number), process or thing (its name); unit, per, note; least, mean, most; values, none
 * of processes. iterations: their starts regions: name, outer (the number of the one around it,
 * from 1; 0: none); tracks: comm, pid, tid, number, depth, slices: of each level their number; of
 * each: distance from the end of the one before, length, region (0: several), 2 × (calls - 1) +
 * has_closed; instants: of each: distance from the one before, name (of marks), how many there are
 * less 1, 0: no value, 1: [value], 2:
 *   [-value]
 * latencies: label, part, what ("": all); now and, with --diff, before: count, mean, max, quantiles
 *   (name, number, both ends of its interval), buckets: of each from, to, count; in ns
 * reports: of a page in a file: name, columns (name, kind, unit), rows of ndjson
 * certain: event, function, change and half of its interval, of each significant change
 *
 * Lists of numbers are text (export/digits.h). The size is bounded: slices widen, then small frames
 * merge, and a note states it.
 */
#include "page/page.h"
#include "base/err.h"
#include "base/mem.h"
#include "counts/lines.h"
#include "exports/exports.h"
#include "page/source.h"
#include "report/comparable.h"
#include "report/stacks.h"

#include <errno.h>
#include <string.h>

enum { MAX_DATA_BYTES = 64 << 20 };

static int init(struct page *h)
{
	buf_init(&h->data, MAX_DATA_BYTES);
	jsonw_init(&h->json, &h->data, false);
	for (int i = 0; i < 2; i++)
		buf_init(&h->notes[i], PAGE_NOTES_BYTES);
	h->facts = job_input(h->j)->facts;
	if (page_hosts_init(h))
		return -ENOMEM;
	dict_init(&h->threads, sizeof(struct page_thread), sizeof(struct page_thread), DICT_MAX);
	dict_init(&h->groups, sizeof(struct page_group), sizeof(struct page_group), DICT_MAX);
	h->nr_sides = h->j->inputs->nr_diff ? 2 : 1;
	h->has_samples = h->facts->is_sampling;
	h->by_iteration = h->j->inputs->nr == 1 && h->j->inputs->nr_diff == 1;
	h->stacks = report_stacks_new();
	return h->stacks ? profile_about_init(&h->about, h->facts->nr_events) : -ENOMEM;
}

static void fini(struct page *h)
{
	counts_lines_free(h->lines);
	for (size_t i = 0; i < h->nr_beside; i++)
		counts_lines_free(h->beside[i].lines);
	mem_free(h->beside);
	page_regions_free(h->regions);
	report_outline_fini(&h->outline);
	report_slices_free(h->slices);
	report_slices_free(h->leaves);
	report_stacks_free(h->stacks);
	for (int i = 0; i < PAGE_NR_SIDES; i++) {
		report_stats_fini(&h->stats[i]);
		latencies_fini(&h->latencies[i]);
	}
	report_comparable_free(h->comparable);
	mem_free(h->certain);
	dict_fini(&h->hosts);
	mem_free(h->host_of);
	dict_fini(&h->threads);
	dict_fini(&h->groups);
	profile_about_fini(&h->about);
	for (int i = 0; i < 2; i++)
		buf_fini(&h->notes[i]);
	buf_fini(&h->data);
}

static int read_all(struct page *h, struct err *e)
{
	return page_series_read(h, e) ?:
	       page_series_read_beside(h, e) ?:
	       page_regions_read(h, e) ?:
	       page_samples_read(h, e) ?:
	       page_latency_read(h, e) ?:
	       page_head_read(h, e);
}

static int put_data(struct page *h, struct err *e)
{
	JSONW_OBJECT(&h->json, NULL) {
		int rc = page_samples_put(h, e) ?: page_code_put(h, e) ?: page_series_put(h, e) ?: page_regions_put(h, e) ?: page_latency_put(h, e);

		if (rc)
			return rc;
		page_hosts_put(h);
		page_head_put(h);
		/* behind all else: they change how states are added up */
		rc = page_experiments_put(h, e) ?: (h->is_data ? 0 : page_reports_put(h, e));
		if (rc)
			return rc;
	}
	if (buf_error(&h->notes[0]) || buf_error(&h->notes[1]))
		return err_set(e, -EFBIG, "too many notes for the page");
	return page_flush(h, e);
}

static int put_all(struct page *h, struct err *e)
{
	struct buf *out = &h->j->output->text;
	int rc;

	if (h->is_data)
		return put_data(h, e);
	buf_add(out, html_head, html_head_len);
	buf_add(out, html_policy, html_policy_len);
	buf_add(out, html_middle, html_middle_len);
	rc = put_data(h, e);
	buf_add(out, html_tail, html_tail_len);
	return rc ?: output_flush(h->j->output, e);
}

static int print(struct page *h, struct job *j, struct err *e)
{
	int rc;

	h->j = j;
	rc = init(h) ?: read_all(h, e) ?: put_all(h, e);
	if (rc && !e->code)
		err_set(e, rc, "the page cannot be written: %s", strerror(-rc));
	return rc;
}

/* Of sessions that measured different things, the page is that of the first with samples, or of the
 * first one; the others' counts are beside. */
static int print_unlike(struct page *h, const struct job *all, struct err *e)
{
	size_t base = all->first;
	struct inputs one = *all->inputs;
	struct job j = *all;

	for (size_t i = all->first; i < all->first + all->nr; i++)
		if (one.item[i].facts->is_sampling) {
			base = i;
			break;
		}
	h->all = all;
	h->base = base;
	one.item += base;
	one.nr = 1;
	j.inputs = &one;
	j.first = 0;
	j.nr = 1;
	return print(h, &j, e);
}

static int export_page(struct job *j, bool is_data, struct err *e)
{
	struct page *h = mem_zalloc(sizeof(*h));
	int rc;

	if (!h)
		return err_set(e, -ENOMEM, "out of memory");
	h->is_data = is_data;
	rc = j->nr > 1 && !inputs_are_alike(j->inputs) ? print_unlike(h, j, e) : print(h, j, e);
	fini(h);
	mem_free(h);
	return rc;
}

int export_html(struct job *j, struct err *e)
{
	return export_page(j, false, e);
}

int export_html_data(struct job *j, struct err *e)
{
	return export_page(j, true, e);
}
