/*
 * The flat report of several sessions, or of the hosts of a job, side by side.
 */
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/order.h"
#include "report/flat.h"
#include "report/functions.h"
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
	enum report_column by;      /* REPORT_SESSION or REPORT_HOST */
	const char **groups;        /* owned; the sessions or hosts */
	size_t nr;                  /* of groups */
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
	key.column[t->by] = 0;
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

/* The number of the row's session or host, in the order of columns. */
static size_t group_of(const struct side_by_side *t, const struct report_flat_row *row)
{
	const struct report_functions *f = t->j->inputs->functions;
	size_t i = 0;

	if (t->by == REPORT_SESSION)
		return row->column[REPORT_SESSION] - t->j->first;
	while (i + 1 < t->nr &&
	       strcmp(t->groups[i], report_functions_text(f, row->column[REPORT_HOST])) != 0)
		i++;
	return i;
}

static struct report_weight *all_of(struct side_by_side *t, const struct report_flat_row *row)
{
	return &t->all[row->column[REPORT_EVENT] * t->nr + group_of(t, row)];
}

static int gather(struct side_by_side *t, const struct report_flat_row *rows, size_t nr)
{
	size_t nr_events = job_input(t->j)->facts->nr_events;

	t->all = mem_calloc(nr_events * t->nr + 1, sizeof(*t->all));
	t->self = mem_calloc(nr * t->nr + 1, sizeof(*t->self));
	if (!t->all || !t->self)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		uint32_t line = find_line(t, &rows[i]);

		if (line == DICT_NONE)
			return -ENOMEM;
		line_at(t, line)->weight +=
		    t->j->selection->by_total ? rows[i].total.weight : rows[i].self.weight;
		t->self[line * t->nr + group_of(t, &rows[i])] = rows[i].self;
		report_weight_add(all_of(t, &rows[i]), &rows[i].self);
	}
	return 0;
}

static int make_names(struct side_by_side *t)
{
	t->names = mem_calloc(t->nr, sizeof(*t->names));
	for (size_t i = 0; i < t->nr && t->names; i++)
		if (t->by == REPORT_HOST)
			snprintf(t->names[i], NAME_BYTES, "%s", t->groups[i]);
		else
			snprintf(t->names[i], NAME_BYTES, "session %zu", i + 1);
	return t->names ? 0 : -ENOMEM;
}

static int make_grid(struct side_by_side *t)
{
	struct grid_column columns[GRID_MAX_COLUMNS];
	size_t nr = 0;

	for (size_t i = 0; i < t->nr; i++)
		columns[nr++] = (struct grid_column){.name = t->names[i], .kind = GRID_SHARE};
	nr += reports_add_columns(t->columns, columns + nr);
	t->g = reports_grid(t->j, columns, nr);
	return t->g ? 0 : -ENOMEM;
}

static void put_line(struct side_by_side *t, uint32_t number)
{
	const struct report_flat_row *row = line_at(t, number)->row;

	grid_row(t->g);
	for (size_t i = 0; i < t->nr; i++) {
		const struct report_weight *all = &t->all[row->column[REPORT_EVENT] * t->nr + i];
		struct interval share = reports_share_of(&t->self[number * t->nr + i], all);

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

/* The sessions, or the hosts, in their order. 0 or -ENOMEM. */
static int make_groups(struct side_by_side *t)
{
	const struct inputs *in = t->j->inputs;
	const size_t end = t->j->first + t->j->nr;

	t->groups = mem_calloc(t->j->nr + 1, sizeof(*t->groups));
	if (!t->groups)
		return -ENOMEM;
	for (size_t i = t->j->first; i < end;
	     i += t->by == REPORT_HOST ? parts_of_host(in, i, end) : 1)
		t->groups[t->nr++] =
		    t->by == REPORT_HOST ? input_host(&in->item[i]) : in->item[i].path;
	return 0;
}

bool reports_have_room(const struct job *j, bool by_host)
{
	enum { NAMES = 30, SHARE = 17, WITHOUT_TERMINAL = 16 };
	size_t nr = 0,
	       room = j->output->width ? (j->output->width - NAMES) / SHARE : WITHOUT_TERMINAL;

	if (!by_host) /* as many as may be named by options */
		return j->nr <= OPT_MAX_STRINGS;
	for (size_t i = j->first; i < j->first + j->nr; nr++)
		i += parts_of_host(j->inputs, i, j->first + j->nr);
	return j->output->width > NAMES && nr <= room;
}

int reports_side_by_side(struct job *j, unsigned columns, const struct report_stats *stats,
			 const struct report_flat_row *rows, size_t nr_rows, struct err *e)
{
	struct side_by_side t = {.j = j, .stats = stats};
	int rc;

	t.by = j->selection->by_host ? REPORT_HOST : REPORT_SESSION;
	t.columns = columns & ~(1u << t.by);
	dict_init(&t.lines, sizeof(struct line), DICT_KEY(struct line, file), DICT_MAX);
	rc = make_groups(&t) ?: gather(&t, rows, nr_rows);
	if (rc == 0)
		buf_addc(&j->output->text, '\n');
	for (size_t i = 0; i < t.nr && t.by == REPORT_SESSION && rc == 0; i++)
		buf_printf(&j->output->text, "session %zu: %s\n", i + 1, t.groups[i]);
	rc = rc ?: make_names(&t) ?: put_lines(&t, e);
	dict_fini(&t.lines);
	mem_free(t.groups);
	mem_free(t.self);
	mem_free(t.all);
	mem_free(t.names);
	grid_free(t.g);
	return rc == -ENOMEM ? err_set(e, rc, "out of memory") : rc;
}
