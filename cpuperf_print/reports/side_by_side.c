/*
 * The flat report of several sessions, side by side.
 */
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "report/flat.h"
#include "reports/columns.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 40, NAME_BYTES = 32 };

/* A row of the table: rows of the sessions that differ in the session only. */
struct line {
	uint32_t column[REPORT_NR_COLUMNS], file; /* the key; without the session */
	const struct report_flat_row *row;        /* the first of them */
	uint64_t weight;                          /* of all */
};

struct side_by_side {
	struct job *j;
	unsigned columns;           /* without the session */
	struct dict lines;          /* struct line */
	struct report_weight *self; /* owned; nr_lines × nr */
	struct report_weight *all;  /* owned; of each event and session */
	char (*names)[NAME_BYTES];  /* owned; of the columns */
	const struct report_stats *stats;
	struct grid *g;
};

/* The number of the line, or DICT_NONE: out of memory. */
static uint32_t find_line(struct side_by_side *t, const struct report_flat_row *row)
{
	struct line key = {.file = row->file}, *line;
	uint32_t number;

	memcpy(key.column, row->column, sizeof(key.column));
	key.column[REPORT_SESSION] = 0;
	number = dict_add(&t->lines, &key);
	line = dict_at(&t->lines, number);
	if (line && !line->row)
		line->row = row;
	return number;
}

static struct line *line_at(const struct side_by_side *t, uint32_t number)
{
	return dict_at(&t->lines, number);
}

static struct report_weight *all_of(struct side_by_side *t, const struct report_flat_row *row)
{
	return &t->all[row->column[REPORT_EVENT] * t->j->nr + row->column[REPORT_SESSION] -
		       t->j->first];
}

static int gather(struct side_by_side *t, const struct report_flat_row *rows, size_t nr)
{
	size_t nr_events = job_input(t->j)->facts->nr_events;

	t->all = mem_calloc(nr_events * t->j->nr + 1, sizeof(*t->all));
	t->self = mem_calloc(nr * t->j->nr + 1, sizeof(*t->self));
	if (!t->all || !t->self)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		uint32_t line = find_line(t, &rows[i]);

		if (line == DICT_NONE)
			return -ENOMEM;
		line_at(t, line)->weight +=
		    t->j->selection->by_total ? rows[i].total.weight : rows[i].self.weight;
		t->self[line * t->j->nr + rows[i].column[REPORT_SESSION] - t->j->first] =
		    rows[i].self;
		report_weight_add(all_of(t, &rows[i]), &rows[i].self);
	}
	return 0;
}

static int make_names(struct side_by_side *t)
{
	t->names = mem_calloc(t->j->nr, sizeof(*t->names));
	for (size_t i = 0; i < t->j->nr && t->names; i++)
		snprintf(t->names[i], NAME_BYTES, "session %zu", i + 1);
	return t->names ? 0 : -ENOMEM;
}

static int make_grid(struct side_by_side *t)
{
	struct grid_column columns[GRID_MAX_COLUMNS];
	size_t nr = 0;

	for (size_t i = 0; i < t->j->nr; i++)
		columns[nr++] = (struct grid_column){.name = t->names[i], .kind = GRID_SHARE};
	nr += reports_add_columns(t->columns, columns + nr);
	t->g = reports_grid(t->j, columns, nr);
	return t->g ? 0 : -ENOMEM;
}

static void put_line(struct side_by_side *t, uint32_t number)
{
	const struct report_flat_row *row = line_at(t, number)->row;

	grid_row(t->g);
	for (size_t i = 0; i < t->j->nr; i++) {
		const struct report_weight *all = &t->all[row->column[REPORT_EVENT] * t->j->nr + i];
		struct interval share = reports_share_of(&t->self[number * t->j->nr + i], all);

		all->samples ? grid_share(t->g, &share) : grid_na(t->g);
	}
	reports_put_columns(t->j, t->columns, row, t->g);
}

static int compare(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return order_u64(x->row->column[REPORT_EVENT], y->row->column[REPORT_EVENT])
		   ?: order_u64(y->weight, x->weight)
		   ?: order_u64((uintptr_t)x->row, (uintptr_t)y->row);
}

static void put_heading(const struct side_by_side *t, uint32_t event)
{
	buf_printf(&t->j->output->text, "\n%s", job_event(t->j, event)->label);
	samples_add_missing(t->j, &t->j->output->text, "; ", t->stats, event);
	buf_addc(&t->j->output->text, '\n');
}

/* Sorts a copy: the other arrays are indexed by the number of the line. */
static int put_lines(struct side_by_side *t, struct err *e)
{
	uint64_t top = reports_top(t->j, TOP), rank = 0;
	struct line *sorted = mem_calloc(t->lines.nr + 1, sizeof(*sorted));
	int rc = sorted ? 0 : -ENOMEM;

	if (rc == 0 && t->lines.nr) {
		memcpy(sorted, t->lines.items, t->lines.nr * sizeof(*sorted));
		qsort(sorted, t->lines.nr, sizeof(*sorted), compare);
	}
	for (size_t i = 0; i < t->lines.nr && rc == 0; i++) {
		uint32_t event = sorted[i].row->column[REPORT_EVENT];

		if (i == 0 || event != sorted[i - 1].row->column[REPORT_EVENT]) {
			rank = 0;
			put_heading(t, event);
			rc = make_grid(t);
		}
		if (rc == 0 && rank++ < top)
			put_line(t, find_line(t, sorted[i].row));
		if (rc == 0 &&
		    (i + 1 == t->lines.nr || sorted[i + 1].row->column[REPORT_EVENT] != event)) {
			rc = reports_end(t->j, t->g, 0, e);
			t->g = NULL;
		}
	}
	mem_free(sorted);
	return rc;
}

int reports_side_by_side(struct job *j, unsigned columns, const struct report_stats *stats,
			 const struct report_flat_row *rows, size_t nr_rows, struct err *e)
{
	struct side_by_side t = {
	    .j = j, .columns = columns & ~(1u << REPORT_SESSION), .stats = stats};
	int rc;

	dict_init(&t.lines, sizeof(struct line), DICT_KEY(struct line, file), DICT_MAX);
	rc = gather(&t, rows, nr_rows);
	buf_addc(&j->output->text, '\n');
	for (size_t i = 0; i < j->nr; i++)
		buf_printf(&j->output->text, "session %zu: %s\n", i + 1,
			   j->inputs->item[j->first + i].path);
	rc = rc ?: make_names(&t) ?: put_lines(&t, e);
	dict_fini(&t.lines);
	mem_free(t.self);
	mem_free(t.all);
	mem_free(t.names);
	grid_free(t.g);
	return rc == -ENOMEM ? err_set(e, rc, "out of memory") : rc;
}
