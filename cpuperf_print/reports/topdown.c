/*
 * The report top-down: how well the CPUs ran, from the counts.
 */
#include "counts/topdown.h"

#include "base/err.h"
#include "reports/reports.h"
#include "screen/number.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { NUMBER_WIDTH = 10, CELL_BYTES = 512 };

static const struct grid_column columns[] = {
    {"metric", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"part", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"value", NULL, NULL, GRID_REAL, GRID_ONLY_MACHINES},
    {"shown", "     total", NULL, GRID_TEXT, GRID_ONLY_PEOPLE},
    {"unit", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"mean", NULL, NULL, GRID_REAL, GRID_ONLY_MACHINES},
    {"deviation", NULL, NULL, GRID_REAL, GRID_ONLY_MACHINES},
    {"iterations", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
    {"spread", "per iteration", NULL, GRID_TEXT, GRID_ONLY_PEOPLE},
    {"running", NULL, NULL, GRID_REAL, GRID_ONLY_MACHINES},
    {"state", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"limit", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"formula", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"what", "", NULL, GRID_TEXT, GRID_ALL},
};

/* A row that is being printed; b is scratch. */
struct shown {
	struct job *j;
	struct grid *g;
	struct buf b;
};

static void put_name(struct shown *s, const struct counts_topdown_value *v)
{
	buf_reset(&s->b);
	buf_adds(&s->b, v->row->name);
	if (s->j->output->form == GRID_PEOPLE && *v->part)
		buf_printf(&s->b, ", %s", v->part);
	grid_text(s->g, buf_str(&s->b));
	grid_text(s->g, v->part);
}

static void put_total(struct shown *s, const struct counts_topdown_value *v)
{
	char text[CELL_BYTES];
	bool has_value = cell_has_value(&v->total);
	unsigned width;

	has_value ? grid_real(s->g, v->total.value) : grid_none(s->g);
	buf_reset(&s->b);
	if (has_value)
		screen_metric_human(&s->b, v->total.value, v->row->unit);
	else
		buf_adds(&s->b, "n/a");
	width = screen_width(buf_str(&s->b));
	snprintf(text, sizeof(text), "%*s%s",
		 width < NUMBER_WIDTH ? (int)(NUMBER_WIDTH - width) : 0, "", buf_str(&s->b));
	grid_text(s->g, text);
	grid_text(s->g, v->row->unit);
}

static void put_spread(struct shown *s, const struct counts_topdown_value *v)
{
	bool has_value = cell_has_value(&v->total), has_spread = has_value && v->spread.nr > 1;

	buf_reset(&s->b);
	has_value ? grid_real(s->g, v->spread.mean) : grid_none(s->g);
	has_spread ? grid_real(s->g, spread_deviation(&v->spread)) : grid_none(s->g);
	grid_count(s->g, v->spread.nr);
	if (has_spread) {
		screen_metric_text(&s->b, v->spread.mean);
		buf_adds(&s->b, " ± ");
		screen_metric_text(&s->b, spread_deviation(&v->spread));
	}
	grid_text(s->g, buf_str(&s->b));
}

static void put_state(struct shown *s, const struct counts_topdown_value *v)
{
	bool has_value = cell_has_value(&v->total);
	char state[CELL_STATE_BYTES];

	has_value ? grid_real(s->g, v->running) : grid_none(s->g);
	grid_text(s->g, cell_state_text(&v->total, state));
	grid_text(s->g, has_value ? screen_limit_name(v->total.limit) : "");
	grid_text(s->g, v->row->expr);
}

/* The description, or in text why there is no value; then caveats. */
static void put_what(struct shown *s, const struct counts_topdown_value *v)
{
	struct buf *b = &s->b;

	buf_reset(b);
	if (cell_has_value(&v->total) || s->j->output->form != GRID_PEOPLE)
		buf_adds(b, v->row->what);
	else if (v->of.reason)
		table_reason(&v->of, b);
	else
		buf_adds(b, "an event was not counted");
	if (cell_has_value(&v->total) && v->running < 1 && s->j->output->form == GRID_PEOPLE) {
		buf_adds(b, "; estimated: counted ");
		screen_running(b, v->running);
		buf_adds(b, " of the time");
	}
	grid_text(s->g, buf_str(b));
	if (!v->hint || !cell_has_value(&v->total))
		return;
	buf_reset(b);
	buf_printf(b, "  %s: %s", screen_limit_name(v->total.limit), v->hint);
	grid_line(s->g, buf_str(b));
}

static void put_value(struct shown *s, const struct counts_topdown_value *v)
{
	grid_row(s->g);
	put_name(s, v);
	put_total(s, v);
	put_spread(s, v);
	put_state(s, v);
	put_what(s, v);
}

/* Rows of the same spec follow one another: each spec is named once. */
static void put_needs(struct job *j)
{
	const char *last = "";

	if (j->output->form != GRID_PEOPLE)
		return;
	buf_adds(&j->output->text,
		 "\nNothing can be derived from the events of this session. Specs that "
		 "measure what is needed:\n");
	for (size_t i = 0; i < counts_formula_nr_rows(); i++) {
		const struct counts_formula_row *row = counts_formula_row(i);

		if (!row->spec)
			continue;
		if (strcmp(row->spec, last) != 0)
			buf_printf(&j->output->text, "%s%s.cpspec:", *last ? "\n  " : "  ",
				   row->spec);
		else
			buf_addc(&j->output->text, ',');
		buf_printf(&j->output->text, " %s", row->name);
		last = row->spec;
	}
	buf_addc(&j->output->text, '\n');
}

static int put_values(struct job *j, const struct counts_topdown *t, struct err *e)
{
	struct shown s = {.j = j,
			  .g = reports_grid(j, columns, sizeof(columns) / sizeof(columns[0]))};
	const size_t start = j->output->text.len;
	int rc;

	if (!s.g)
		return err_set(e, -ENOMEM, "out of memory");
	if (!counts_topdown_nr(t))
		put_needs(j);
	else if (j->output->form == GRID_PEOPLE)
		buf_addc(&j->output->text, '\n');
	buf_init(&s.b, CELL_BYTES);
	for (size_t i = 0; i < counts_topdown_nr(t); i++)
		put_value(&s, counts_topdown_at(t, i));
	buf_fini(&s.b);
	if (j->output->form == GRID_PEOPLE && !counts_topdown_nr(t)) {
		grid_free(s.g);
		return output_flush(j->output, e);
	}
	rc = reports_end(j, s.g, 0, e);
	/* a terminal cuts them */
	if (rc == 0 && j->output->form == GRID_PEOPLE && !j->output->width)
		reports_wrap(j, start);
	return rc;
}

int reports_topdown(struct job *j, struct err *e)
{
	struct counts_topdown *t;
	int rc = counts_topdown_read(job_input(j)->session, &j->selection->filter, &t, e);

	if (rc)
		return rc;
	rc = put_values(j, t, e);
	counts_topdown_free(t);
	return rc;
}
