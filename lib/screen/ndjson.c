/*
 * NDJSON: an object per cell, and at the end one per column.
 */
#include "base/buf.h"
#include "screen/field.h"
#include "screen/number.h"
#include "screen/state.h"

void screen_ndjson_iteration(struct screen_state *s, const struct table *t, struct buf *out)
{
	screen_write_cells(t, &s->options, screen_write_json, out);
}

void screen_ndjson_gap(struct screen_state *s, const struct table *t, const struct screen_gap *gap,
		       struct buf *out)
{
	screen_write_gap(t, gap, &s->options, screen_write_json, out);
}

/* The summary of one column. */
struct summary_row {
	const struct table_column *column;
	const struct column_summary *sum;
	uint64_t nr_iterations, nr_cut;
	const struct screen_options *of; /* the session and its host, if they are written */
	const char *partial;             /* screen_partial; "" */
};

/* The cells of a column without a number. */
static uint64_t nr_without_number(const struct column_summary *sum)
{
	uint64_t nr = 0;

	for (enum cell_state s = CELL_NONE + 1; s < CELL_NR_STATES; s++)
		if (!cell_has_value(&(struct cell){.state = s}))
			nr += sum->nr_cells[s];
	return nr;
}

static bool is_sampled(const struct summary_row *r)
{
	return r->sum->sampled.claim != SAMPLED_NONE;
}

#define NUMBER(field, cond, expression) SCREEN_NUMBER(summary_row, field, cond, expression)
#define TEXT(field, expression)         SCREEN_TEXT(summary_row, field, expression)

NUMBER(rank, r->of->rank != UINT32_MAX, r->of->rank)
TEXT(host, r->of->host)
TEXT(session, r->of->session)
TEXT(group, r->column->group)
TEXT(event, r->column->name)
TEXT(label, r->column->label)
TEXT(unit, r->column->unit)
TEXT(reason, r->column->reason ? r->column->reason : r->partial)

static bool summary(const void *p, struct buf *out)
{
	(void)p;
	buf_adds(out, "true");
	return true;
}

NUMBER(iterations, true, r->nr_iterations)
NUMBER(cut, true, r->nr_cut)
NUMBER(multiplexed_cells, true, r->sum->nr_multiplexed)
NUMBER(cells_without_number, true, nr_without_number(r->sum))
NUMBER(samples, is_sampled(r), r->sum->sampled.n.samples)
NUMBER(lost, is_sampled(r) && r->sum->sampled.n.lost != SAMPLED_UNKNOWN, r->sum->sampled.n.lost)

static bool total(const void *p, struct buf *out)
{
	const struct summary_row *r = p;
	bool holds = r->sum->spread.nr && r->column->kind == EVENT_COUNT;

	if (holds && r->sum->max.is_real)
		screen_real(out, r->sum->real_sum);
	else if (holds)
		screen_wide(out, r->sum->sum, false);
	return holds;
}

static bool mean(const void *p, struct buf *out)
{
	const struct summary_row *r = p;

	if (!r->sum->spread.nr)
		return false;
	if (r->column->kind == EVENT_SHARE)
		screen_decimal(out, r->sum->spread.mean, 4);
	else if (r->column->metric)
		screen_metric(out, r->sum->spread.mean);
	else if (r->sum->max.is_real)
		screen_real(out, r->sum->spread.mean);
	else
		screen_quotient(out, r->sum->sum - r->sum->cut, r->sum->spread.nr);
	return true;
}

static bool deviation(const void *p, struct buf *out)
{
	const struct summary_row *r = p;
	double x = spread_deviation(&r->sum->spread);

	if (r->sum->spread.nr < 2)
		return false;
	if (r->column->metric)
		screen_metric(out, x);
	else if (r->sum->max.is_real && r->column->kind != EVENT_SHARE)
		screen_real(out, x);
	else
		screen_decimal(out, x, 4);
	return true;
}

static bool bound(const struct summary_row *r, const struct cell *c, struct buf *out)
{
	if (!r->sum->spread.nr)
		return false;
	screen_number(out, r->column->kind, c);
	return true;
}

static bool minimum(const void *p, struct buf *out)
{
	const struct summary_row *r = p;

	return bound(r, &r->sum->min, out);
}

static bool maximum(const void *p, struct buf *out)
{
	const struct summary_row *r = p;

	return bound(r, &r->sum->max, out);
}

static bool min_running(const void *p, struct buf *out)
{
	const struct summary_row *r = p;

	screen_decimal(out, r->sum->min_running, 4);
	return true;
}

static bool coverage(const void *p, struct buf *out)
{
	const struct summary_row *r = p;

	return screen_coverage(out, &r->sum->sampled);
}

static const struct screen_field fields[] = {
    {"host", .text = host}, /* of the parts of a job */
    {"rank", .number = rank},
    {"session", .text = session}, /* with several sessions */
    {"summary", .number = summary},
    {"iterations", .number = iterations},
    {"cut", .number = cut},
    {"group", .text = group},
    {"event", .text = event},
    {"label", .text = label},
    {"unit", .text = unit},
    {"total", .number = total},
    {"mean", .number = mean},
    {"deviation", .number = deviation},
    {"min", .number = minimum},
    {"max", .number = maximum},
    {"min_running", .number = min_running},
    {"multiplexed_cells", .number = multiplexed_cells},
    {"cells_without_number", .number = cells_without_number},
    {"reason", .text = reason},
    /* with samples */
    {"samples", .number = samples},
    {"lost", .number = lost},
    {"coverage", .number = coverage},
};
enum { NR_FIELDS = sizeof(fields) / sizeof(fields[0]), NR_OF_SAMPLES = 3 };

void screen_ndjson_summary(struct screen_state *s, const struct table *t,
			   const struct table_summary *sum, struct buf *out)
{
	const struct screen_options *o = &s->options;
	size_t first = o->host      ? 0
		       : o->session ? 2
				    : 3,
	       nr = (t->sampled || o->session ? NR_FIELDS : NR_FIELDS - NR_OF_SAMPLES) - first;

	for (size_t i = 0; i < sum->nr_columns; i++) {
		struct summary_row r = {&t->columns[i], &sum->column[i], sum->nr_iterations,
					sum->nr_cut, o};

		buf_reset(&s->scratch);
		screen_partial(&s->scratch, &sum->column[i]);
		r.partial = buf_str(&s->scratch);
		screen_write_json(out, fields + first, nr, &r);
	}
}
