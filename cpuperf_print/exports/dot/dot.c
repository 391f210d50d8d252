/*
 * Who called whom as a graph for Graphviz (dot -Tsvg): a digraph for each event. Nodes are
 * functions with their own and their total share, edges calls with theirs; what is below
 * --min-percent, or beyond --top, is omitted.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "exports/exports.h"
#include "exports/lines.h"
#include "numbers.h"
#include "report/calls.h"
#include "report/functions.h"
#include "reports/reports.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

/* For people who look at a picture: as many nodes as can be read. */
enum { TOP = 80 };
static const double min_percent = 0.5;

struct dot {
	struct job *j;
	struct report_calls *calls;
	struct report_stats stats;
	bool *is_shown; /* owned; by function, of the current event */
};

/* A quoted string of dot. */
static void add_text(struct buf *b, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_addc(b, '\\');
		buf_addc(b, *s);
	}
}

static double percent(const struct dot *d, uint32_t event, const struct report_weight *w)
{
	return 100 * reports_share(&d->stats, event, w).share;
}

static void put_node(const struct dot *d, const struct report_flat_row *row)
{
	const uint32_t event = row->column[REPORT_EVENT];
	const struct report_function *f =
	    report_functions_at(d->j->inputs->functions, row->column[REPORT_FUNCTION]);
	const double self = percent(d, event, &row->self), total = percent(d, event, &row->total);
	struct buf *b = &d->j->output->text;

	buf_printf(b, "  f%" PRIu32 " [label=\"", f->number);
	add_text(b, f->name);
	buf_printf(b, "\\n%s %% of %s %%\", tooltip=\"", DECIMAL(self, 2), DECIMAL(total, 2));
	add_text(b, *f->object ? f->object : f->name);
	/* 8 to 24 points by what it does itself, from white to red */
	buf_printf(b, "\", fontsize=%s, fillcolor=\"0.04 %s 1.0\"];\n",
		   DECIMAL(8 + 16 * sqrt(self / 100), 1),
		   DECIMAL(0.05 + 0.6 * sqrt(self / 100), 3));
}

static void put_calls(const struct dot *d, const struct report_flat_row *row, double min)
{
	const uint32_t event = row->column[REPORT_EVENT];
	struct buf *b = &d->j->output->text;
	const struct report_call *c;
	size_t nr;

	c = report_calls_from(d->calls, event, row->column[REPORT_FUNCTION], &nr);
	for (size_t i = 0; i < nr; i++) {
		const double share = percent(d, event, &c[i].weight);

		if (share >= 100 * min && d->is_shown[c[i].callee])
			buf_printf(
			    b, "  f%" PRIu32 " -> f%" PRIu32 " [label=\" %s %%\", penwidth=%s];\n",
			    c[i].caller, c[i].callee, DECIMAL(share, 2),
			    DECIMAL(0.5 + share / 25, 2));
	}
}

static void put_heading(const struct dot *d, uint32_t event)
{
	struct buf *b = &d->j->output->text;
	BUF_AUTO(title, EXPORT_TITLE_BYTES);

	export_title(d->j, &d->stats, event, &title);
	buf_adds(b, "digraph \"");
	add_text(b, job_event(d->j, event)->label);
	buf_adds(b, "\" {\n  label=\"");
	add_text(b, buf_str(&title));
	buf_adds(b,
		 "\";\n  labelloc=t;\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n"
		 "  edge [fontname=\"sans-serif\", fontsize=8];\n");
}

/* The rows of one event. Returns how many. */
static size_t put_event(const struct dot *d, const struct report_flat_row *rows, size_t nr)
{
	const uint32_t event = rows[0].column[REPORT_EVENT];
	const struct selection *s = d->j->selection;
	const double min = (s->min_percent >= 0 ? s->min_percent : min_percent) / 100;
	const uint64_t top = s->top == UINT64_MAX ? TOP : s->top ?: UINT64_MAX;
	size_t end = 0, nr_shown = 0;

	for (; end < nr && rows[end].column[REPORT_EVENT] == event; end++) {
		bool is_shown =
		    end < top && reports_share(&d->stats, event, &rows[end].total).share >= min;

		nr_shown += is_shown;
		d->is_shown[rows[end].column[REPORT_FUNCTION]] = is_shown;
	}
	put_heading(d, event);
	for (size_t i = 0; i < nr_shown; i++)
		put_node(d, &rows[i]);
	for (size_t i = 0; i < nr_shown; i++)
		put_calls(d, &rows[i], min);
	buf_adds(&d->j->output->text, "}\n");
	return end;
}

static int put_all(struct dot *d, struct err *e)
{
	const struct report_flat_row *rows;
	size_t nr;
	int rc = report_calls_finish(d->calls);

	d->is_shown = mem_calloc(report_functions_nr(d->j->inputs->functions) + 1, sizeof(bool));
	if (rc || !d->is_shown)
		return err_set(e, -ENOMEM, "out of memory");
	rows = report_calls_rows(d->calls, &nr);
	for (size_t i = 0; i < nr && rc == 0;) {
		i += put_event(d, rows + i, nr - i);
		rc = output_flush(d->j->output, e);
	}
	return rc;
}

int export_dot(struct job *j, struct err *e)
{
	struct dot d = {.j = j, .calls = report_calls_new(j->inputs->functions)};
	int rc = (d.calls ? 0 : err_set(e, -ENOMEM, "out of memory")) ?:
		 samples_read(j, j->first, j->nr, report_calls_sink(d.calls), &d.stats, e) ?:
		 put_all(&d, e);

	report_calls_free(d.calls);
	report_stats_fini(&d.stats);
	mem_free(d.is_shown);
	return rc;
}
