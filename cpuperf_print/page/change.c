/*
 * Functions whose self share changed beyond chance since the sessions of --diff, computed as for
 * the report diff.
 */
#include "base/cause.h"
#include "base/err.h"
#include "base/mem.h"
#include "page/page.h"
#include "report/diff.h"
#include "report/functions.h"
#include "report/stacks.h"
#include "reports/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 16, WAS = 0, IS = 1 /* the sides of a diff */ };

static size_t first_of(const struct page *h, unsigned side)
{
	return side == PAGE_NOW ? h->j->first : h->j->inputs->nr;
}

/* The two sides of an event are adjacent groups. */
int page_change_take(struct page *h, const struct report_sample *s, unsigned side)
{
	const struct report_stack_node *leaf = report_stacks_at(h->stacks, s->stack);
	uint32_t replicate =
	    h->by_iteration ? s->key.iteration : s->key.session - (uint32_t)first_of(h, side);

	return s->stack == REPORT_NO_STACK
		   ? 0
		   : report_slices_add(h->leaves, leaf->frame.function->number,
				       2 * s->key.event + (side == PAGE_NOW ? IS : WAS), replicate,
				       s->samples, s->weight, (double)s->weight * (double)s->unit);
}

/* Adds the functions of a session, by which objects without a file are compared. */
static int add_names(struct page *h, size_t session, unsigned side)
{
	size_t nr, nr_rows = 0;
	const struct report_slice *c = report_slices_counts(h->leaves, &nr);
	MEM_AUTO struct report_flat_row *rows = mem_calloc(nr + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		size_t of = first_of(h, side) + (h->by_iteration ? 0 : c[i].slice);

		if (c[i].group % 2 != (side == PAGE_NOW ? IS : WAS) || of != session)
			continue;
		rows[nr_rows].column[REPORT_FUNCTION] = c[i].stack;
		rows[nr_rows++].column[REPORT_SESSION] = (uint32_t)session;
	}
	return diff_names_add(h->comparable, h->j, session, rows, nr_rows);
}

static int compare_names(struct page *h)
{
	int rc = 0;

	h->comparable = report_comparable_new(h->j->inputs->functions);
	if (!h->comparable)
		return -ENOMEM;
	for (size_t i = 0; i < h->j->nr && rc == 0; i++)
		rc = add_names(h, h->j->first + i, PAGE_NOW);
	for (size_t i = 0; i < h->j->inputs->nr_diff && rc == 0; i++)
		rc = add_names(h, h->j->inputs->nr + i, PAGE_BEFORE);
	if (rc == 0)
		diff_names_report(h->comparable, h->j);
	for (size_t i = 0; i < report_comparable_nr(h->comparable) && rc == 0; i++)
		if (report_comparable_why(h->comparable, i) != REPORT_COMPARABLE)
			page_note(h, PAGE_WARNING,
				  "%s is compared as a whole: its functions have other names, or "
				  "none, on the other side.",
				  report_comparable_name(h->comparable, i));
	return rc;
}

static int add_counts(struct page *h, struct diff *d, uint32_t event)
{
	size_t nr;
	const struct report_slice *c = report_slices_counts(h->leaves, &nr);
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++) {
		const struct report_function *f;
		unsigned side = c[i].group % 2;
		char key[KEY_BYTES];

		if (c[i].group / 2 != event)
			continue;
		f = report_comparable_function(
		    h->comparable, report_functions_at(h->j->inputs->functions, c[i].stack));
		if (!f)
			return -ENOMEM;
		snprintf(key, sizeof(key), "%" PRIu32, f->number);
		rc = diff_add(d, side, c[i].slice, key, c[i].weight, c[i].samples, c[i].squares)
			 ?: diff_total(d, side, c[i].slice, c[i].weight, 0);
	}
	return rc;
}

static int add_certain(struct page *h, uint32_t event, const struct diff_result *r)
{
	for (size_t i = 0; i < r->nr_rows && r->rows[i].is_significant; i++) {
		struct page_certain *list =
		    mem_grow(h->certain, h->nr_certain, &h->certain_room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		h->certain = list;
		list[h->nr_certain++] =
		    (struct page_certain){.event = event,
					  .function = (uint32_t)strtoul(r->rows[i].key, NULL, 10),
					  .change = r->rows[i].difference,
					  .half = r->rows[i].half};
	}
	return 0;
}

/* Runs of a command are independent, as sessions are; other iterations are not. */
static int look_for_runs(struct page *h)
{
	struct diff_replicate *of[2] = {NULL};
	int rc = 0;

	for (unsigned side = 0; side < 2 && h->by_iteration && rc == 0; side++)
		rc = diff_replicates_load(h->j, side == IS ? h->j->first : h->j->inputs->nr, 1,
					  true, &of[side]);
	h->compares_runs =
	    rc == 0 && h->by_iteration && of[WAS]->cause == CAUSE_RUN && of[IS]->cause == CAUSE_RUN;
	mem_free(of[WAS]);
	mem_free(of[IS]);
	return rc;
}

static const char *replicates_name(const struct page *h)
{
	return h->compares_runs ? "runs" : h->by_iteration ? "iterations" : "sessions";
}

static void note_result(struct page *h, uint32_t event, const struct diff_result *r)
{
	const char *label = job_event(h->j, event)->label, *what = replicates_name(h);

	if (!r->is_testable)
		page_note(h, PAGE_WARNING,
			  "%s: significance needs two %s with samples on each side.", label, what);
	else
		page_note(h, PAGE_NOTE,
			  "%s: %zu of %zu functions changed significantly, from %zu %s now and "
			  "%zu before%s.",
			  label, r->nr_significant, r->nr_rows, r->side[IS].nr_replicates, what,
			  r->side[WAS].nr_replicates,
			  h->by_iteration && !h->compares_runs
			      ? "; they do not show what varies from run to run"
			      : "");
}

static int compare_event(struct page *h, uint32_t event)
{
	const size_t by_session[] = {h->j->inputs->nr_diff, h->j->nr};
	struct diff_options options = {.basis = DIFF_SHARES,
				       .are_iterations = h->by_iteration && !h->compares_runs};
	struct diff_result result;
	struct diff *d;
	int rc;

	for (unsigned side = 0; side < 2; side++)
		options.nr_replicates[side] =
		    h->by_iteration
			? h->j->inputs->item[side == IS ? h->j->first : h->j->inputs->nr]
			      .facts->nr_iterations
			: by_session[side];
	rc = diff_new(&options, &d);
	if (rc)
		return rc;
	rc = add_counts(h, d, event) ?: diff_finish(d, &result);
	if (rc == 0 && result.nr_rows) {
		note_result(h, event, &result);
		rc = add_certain(h, event, &result);
	}
	diff_free(d);
	return rc;
}

int page_change_compare(struct page *h)
{
	int rc = compare_names(h) ?: look_for_runs(h);

	if (rc == 0 && report_slices_doubled(h->leaves)) { /* replicates became one */
		page_note(h, PAGE_WARNING, "Too many functions in too many %s to test for changes.",
			  replicates_name(h));
		return 0;
	}
	for (uint32_t i = 0; i < h->facts->nr_events && rc == 0; i++)
		rc = compare_event(h, i);
	return rc;
}

int page_change_name(struct page *h)
{
	for (size_t i = 0; i < h->outline.nr; i++) {
		struct report_outline_node *n = &h->outline.nodes[i];

		n->function = report_comparable_function(h->comparable, n->function);
		if (!n->function)
			return -ENOMEM;
	}
	return 0;
}

void page_change_put(struct page *h, const uint32_t *numbers, size_t nr)
{
	JSONW_ARRAY(&h->json, "certain") {
		for (size_t i = 0; i < h->nr_certain; i++) {
			const struct page_certain *c = &h->certain[i];

			if (c->function >= nr || numbers[c->function] == UINT32_MAX)
				continue; /* is merged in the page */
			JSONW_ARRAY(&h->json, NULL) {
				jsonw_u64(&h->json, NULL, c->event);
				jsonw_u64(&h->json, NULL, numbers[c->function]);
				page_real(h, NULL, c->change, 6);
				page_real(h, NULL, c->half, 6);
			}
		}
	}
}
