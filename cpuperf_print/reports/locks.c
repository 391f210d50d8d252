/*
 * The report locks: a row for each futex at which threads waited. A lock is named by the variable
 * that it is in, if a file has that.
 */
#include "locks.h"
#include "base/array.h"
#include "base/err.h"
#include "base/str.h"
#include "numbers.h"
#include "report/functions.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TOP = 40 };

struct report {
	struct job *j;
	struct report_locks *locks; /* owned */
	struct report_stats stats;
	const struct report_lock *rows;
	size_t nr;
	bool has_processes; /* more than one */
};

/* ---- rows */

static struct grid *make_grid(const struct report *r)
{
	const struct grid_column columns[] = {
	    {"lock", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"address", NULL, NULL, GRID_ADDRESS, GRID_ONLY_MACHINES},
	    {"object", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"pid", NULL, NULL, GRID_NUMBER, r->has_processes ? GRID_ALL : GRID_ONLY_MACHINES},
	    {"kind", NULL, NULL, GRID_TEXT, GRID_ALL, .leaves = 3},
	    {"waits", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"time", NULL, "ns", GRID_ESTIMATE, GRID_ALL},
	    {"mean", NULL, "ns", GRID_AMOUNT, GRID_ALL, .leaves = 2},
	    {"max", NULL, "ns", GRID_AMOUNT, GRID_ALL, .leaves = 1},
	    {"threads", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"held by", NULL, NULL, GRID_TEXT, GRID_ONLY_PEOPLE},
	    {"holder", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"holder_tid", NULL, NULL, GRID_NUMBER, GRID_ONLY_MACHINES},
	    {"holder_is", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"holder_share", NULL, NULL, GRID_SHARE, GRID_ONLY_MACHINES},
	    {"samples", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
	    {"function", NULL, NULL, GRID_TEXT, GRID_ALL},
	};

	return reports_grid(r->j, columns, ARRAY_NR(columns));
}

/* For people in one cell, "update 98 %"; a waker is none that held it. */
static void put_holder(const struct report *r, struct grid *g, const struct report_lock *l)
{
	const struct report_holder *h = &l->holder;
	const bool is_owner = locks_has_owner(l);
	struct interval share;
	char name[LOCKS_NAME_BYTES], text[LOCKS_NAME_BYTES + 32];

	if (!h->weight.samples) {
		for (int i = 0; i < 5; i++)
			grid_none(g);
		return;
	}
	share = reports_share_of(&h->weight, &l->weight);
	snprintf(text, sizeof(text), "%s%s %s %%", is_owner ? "" : "woken by ",
		 locks_holder(r->j->inputs->functions, l, name), DECIMAL(100 * share.share, 0));
	grid_text(g, text);
	grid_text(g, report_functions_text(r->j->inputs->functions, h->text));
	is_owner ? grid_count(g, h->tid) : grid_none(g);
	grid_text(g, is_owner ? "owner" : "waker");
	grid_share(g, &share);
}

static void put_row(const struct report *r, struct grid *g, const struct report_lock *l)
{
	const struct interval time = reports_estimate(&l->weight, 0);
	const uint64_t waits = (uint64_t)(l->waits + 0.5);
	char name[LOCKS_NAME_BYTES];
	const char *object = locks_variable(job_input(r->j), l, name);

	if (!*name && r->j->output->form == GRID_PEOPLE)
		snprintf(name, sizeof(name), "0x%" PRIx64, l->futex);
	grid_row(g);
	grid_text(g, name);
	grid_count(g, l->futex);
	grid_text(g, object);
	grid_count(g, l->pid);
	grid_text(g, l->kind);
	grid_count(g, waits);
	grid_estimate(g, 1, &time);
	l->waits > 0 ? grid_count(g, (uint64_t)((double)l->weight.weight / l->waits + 0.5))
		     : grid_none(g);
	grid_count(g, l->max_ns);
	grid_count(g, l->threads);
	put_holder(r, g, l);
	grid_count(g, l->weight.samples);
	grid_text(g, report_functions_at(r->j->inputs->functions, l->function)->name);
}

static int put_rows(const struct report *r, struct err *e)
{
	const uint64_t top = reports_top(r->j, TOP);
	struct reports_rest rest = {.nr = 0};
	struct grid *g = make_grid(r);

	for (size_t i = 0; g && i < r->nr; i++) {
		const struct report_lock *l = &r->rows[i];

		if (i < top)
			put_row(r, g, l);
		else
			reports_rest_add(&rest, &l->weight, true, false);
	}
	if (g)
		reports_rest_put(r->j, &rest, NULL, g);
	return reports_end(r->j, g, g ? 0 : -ENOMEM, e);
}

static void put_heading(const struct report *r)
{
	uint64_t all_ns = 0, samples = 0;
	double waits = 0;

	for (size_t i = 0; i < r->nr; i++) {
		all_ns += r->rows[i].weight.weight;
		samples += r->rows[i].weight.samples;
		waits += r->rows[i].waits;
	}
	buf_printf(&r->j->output->text, "\n%s %s at %s %s, %s: %s %s\n",
		   COMMAS((uint64_t)(waits + 0.5)), str_plural(waits == 1, "wait", "waits"),
		   COMMAS(r->nr), str_plural(r->nr, "futex", "futexes"),
		   HUMAN((double)all_ns, "ns"), COMMAS(samples),
		   str_plural(samples, "sample", "samples"));
}

/* ---- what is missing */

static const char *missing(const struct job *j)
{
	return locks_missing(job_input(j)->facts, &j->selection->filter);
}

static void say_missing(struct report *r)
{
	const char *why = missing(r->j);
	struct err e = {.code = 0};

	if (!why) {
		reports_nothing(r->j, &r->stats,
				report_locks_unknown(r->locks)->samples ? "known lock"
									: "wait for a lock");
		return;
	}
	if (r->j->output->form == GRID_PEOPLE) {
		buf_printf(&r->j->output->text, "\nNo locks: %s\n", why);
		return;
	}
	err_set(&e, -ENODATA, "--report=locks: %s", why);
	problems_add(&r->j->output->problems, false, &e);
}

/* Waits whose lock was not recorded are no rows. */
static void say_unknown(struct report *r)
{
	const struct report_weight *unknown = report_locks_unknown(r->locks);
	struct err e = {.code = 0};

	if (!unknown->samples || missing(r->j))
		return;
	err_set(&e, -ENODATA,
		"--report=locks: the locks of %" PRIu64 " %s at futexes are not known",
		unknown->samples, str_plural(unknown->samples, "wait", "waits"));
	err_hint(&e, "%s",
		 "programs of 32 bits, waits that had begun before the session, by "
		 "futex_waitv(2), and samples that the kernel added up (aggregate) have none");
	problems_add(&r->j->output->problems, false, &e);
}

static bool are_of_processes(const struct report *r)
{
	return ARRAY_ANY(l, r->rows, r->nr, l->pid != r->rows[0].pid);
}

static int read_locks(struct report *r, struct err *e)
{
	int rc = 0;

	r->locks =
	    report_locks_new(r->j->inputs->functions, locks_have_wakers(job_input(r->j)->facts));
	if (r->locks)
		rc = samples_read(r->j, r->j->first, r->j->nr, report_locks_sink(r->locks),
				  &r->stats, e);
	if (rc == 0 && r->locks)
		r->rows = report_locks_rows(r->locks, &r->nr);
	return rc || r->rows ? rc : err_set(e, -ENOMEM, "out of memory");
}

int reports_locks(struct job *j, struct err *e)
{
	struct report r = {.j = j};
	const bool is_text = j->output->form == GRID_PEOPLE;
	int rc = read_locks(&r, e);

	r.has_processes = are_of_processes(&r);
	if (rc == 0 && !r.nr)
		say_missing(&r);
	if (rc == 0)
		say_unknown(&r);
	if (rc == 0 && r.nr && is_text)
		put_heading(&r);
	if (rc == 0 && (r.nr || !is_text))
		rc = put_rows(&r, e);
	else if (rc == 0)
		rc = output_flush(j->output, e);
	report_stats_fini(&r.stats);
	report_locks_free(r.locks);
	return rc;
}
