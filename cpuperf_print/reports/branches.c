/*
 * The report branches: source and target, how often, how well predicted.
 */
#include "report/branches.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>

enum { TOP = 40, LINE_BYTES = 1024 };

static const struct grid_column columns[] = {
    {"event", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"share", NULL, NULL, GRID_SHARE, GRID_ALL},
    {"branches", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"mispredicted", NULL, NULL, GRID_SHARE, GRID_ALL},
    {"cycles", "cycles each", NULL, GRID_REAL, GRID_ALL},
    {"from_object", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"from", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"to_object", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"to", NULL, NULL, GRID_TEXT, GRID_ALL},
};

/* The branches of one event: the whole of its shares. */
static uint64_t sum_of(const struct report_branch_row *rows, size_t nr, uint32_t event)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += rows[i].event == event ? rows[i].nr : 0;
	return sum;
}

static void put_row(const struct job *j, struct grid *g, const struct report_branch_row *row,
		    uint64_t sum)
{
	struct interval share = interval_count(row->nr, sum);
	uint64_t nr_judged = row->mispredicted + row->predicted;
	struct interval missed = interval_count(row->mispredicted, nr_judged);

	grid_row(g);
	grid_text(g, job_event(j, row->event)->label);
	grid_share(g, &share);
	grid_count(g, row->nr);
	nr_judged ? grid_share(g, &missed) : grid_na(g);
	row->cycles ? grid_real(g, (double)row->cycles / (double)row->nr) : grid_na(g);
	grid_text(g, row->from->object);
	grid_text(g, row->from->name);
	grid_text(g, row->to->object);
	grid_text(g, row->to->name);
}

static void put_heading(struct job *j, const struct report_stats *stats, uint32_t event,
			struct grid *g)
{
	BUF_AUTO(b, LINE_BYTES);

	buf_adds(&b, job_event(j, event)->label);
	samples_add_missing(j, &b, "; ", stats, event);
	grid_line(g, "");
	grid_line(g, buf_str(&b));
}

static void put_nothing(struct job *j, const struct report_stats *stats)
{
	reports_nothing(j, stats, "branches");
	if (j->output->form == GRID_PEOPLE)
		buf_adds(&j->output->text,
			 "They are recorded for events with the flag last_branch, on "
			 "hardware that supports it.\n");
}

static int put_rows(struct job *j, struct report_branches *branches,
		    const struct report_stats *stats, struct err *e)
{
	struct grid *g = reports_grid(j, columns, sizeof(columns) / sizeof(columns[0]));
	uint64_t top = reports_top(j, TOP), sum = 0, rank = 0;
	const struct report_branch_row *rows;
	double min = reports_min_share(j, 0);
	size_t nr;

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	rows = report_branches_rows(branches, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (i == 0 || rows[i].event != rows[i - 1].event) {
			sum = sum_of(rows, nr, rows[i].event);
			rank = 0;
			put_heading(j, stats, rows[i].event, g);
		}
		if (rank++ < top && (double)rows[i].nr >= min * (double)sum)
			put_row(j, g, &rows[i], sum);
	}
	if (!nr)
		put_nothing(j, stats);
	if (!nr && j->output->form == GRID_PEOPLE) {
		grid_free(g);
		return output_flush(j->output, e);
	}
	return reports_end(j, g, 0, e);
}

int reports_branches(struct job *j, struct err *e)
{
	struct report_branches *branches = report_branches_new();
	struct report_stats stats = {0};
	int rc = (branches ? 0 : err_set(e, -ENOMEM, "out of memory")) ?:
		 samples_read(j, j->first, j->nr, report_branches_sink(branches), &stats, e) ?:
		 put_rows(j, branches, &stats, e);

	report_branches_free(branches);
	report_stats_fini(&stats);
	return rc;
}
