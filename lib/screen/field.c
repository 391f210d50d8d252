/*
 * The fields of a cell in CSV and NDJSON, one row each, and the writers of both.
 */
#include "screen/field.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/cause.h"
#include "base/json_writer.h"
#include "estimate/table.h"
#include "screen/format.h"
#include "screen/number.h"

struct cell_row {
	const struct table *t;
	size_t row; /* nr_rows: a total */
	const struct table_column *column;
	const struct cell *cell;
	const struct sampled *sampled;   /* NULL if the session only counts */
	const struct table_thing *thing; /* NULL: the cell is a CPU's or the machine's */
	const struct screen_options *of; /* the session and its host, if they are written */
	char *state;                     /* CELL_STATE_BYTES for cell_state_text */
};

#define NUMBER(field, cond, expression) SCREEN_NUMBER(cell_row, field, cond, expression)
#define TEXT(field, expression)         SCREEN_TEXT(cell_row, field, expression)

static bool has_trace(const struct cell_row *r)
{
	return r->row < r->t->nr_rows;
}

/* Else it is all CPUs'. */
static bool is_of_cpu(const struct cell_row *r)
{
	return has_trace(r) && table_is_of_cpu(r->column) &&
	       r->t->row_cpu[r->row] != TABLE_ALL_CPUS;
}

static bool has_span(const struct cell_row *r)
{
	return cell_has_value(r->cell) && (r->column->kind != EVENT_VALUE || r->column->metric);
}

static bool has_samples(const struct cell_row *r)
{
	return r->sampled && r->sampled->claim != SAMPLED_NONE;
}

/* Readings between the boundaries. */
static bool is_read_between(const struct cell_row *r)
{
	return has_trace(r) && r->t->row_sampling && !r->cell->is_perf && !r->column->metric &&
	       r->t->row_sampling[r->row].ticks + r->t->row_sampling[r->row].ticks_missed > 0;
}

NUMBER(iteration, true, r->t->iteration)
NUMBER(trace, has_trace(r), r->t->row_trace[r->row])
NUMBER(cpu, is_of_cpu(r), r->t->row_cpu[r->row])
NUMBER(start_ns, true, r->t->start_ns)
NUMBER(end_ns, true, r->t->end_ns)
NUMBER(realtime_ns, r->t->realtime_ns != 0, r->t->realtime_ns)
NUMBER(raw, cell_has_value(r->cell) && !r->column->metric, r->cell->raw)
NUMBER(enabled_ns, r->cell->is_perf, r->cell->enabled_ns)
NUMBER(running_ns, r->cell->is_perf, r->cell->running_ns)
NUMBER(base, cell_has_value(r->cell) && r->column->kind == EVENT_SHARE, r->cell->base)
NUMBER(span_ns, has_span(r), r->cell->span_ns)
NUMBER(samples, has_samples(r), r->sampled->n.samples)
NUMBER(idle, has_samples(r), r->sampled->n.idle)
NUMBER(weight, has_samples(r), r->sampled->n.weight)
NUMBER(lost, has_samples(r) && r->sampled->n.lost != SAMPLED_UNKNOWN, r->sampled->n.lost)
NUMBER(throttled, has_samples(r), r->sampled->n.throttled)
NUMBER(expected,
       has_samples(r) && r->sampled->claim == SAMPLED_COMPARED && r->column->sampling.period,
       sampled_nr_expected(&r->column->sampling, r->sampled))
NUMBER(ticks, is_read_between(r), r->t->row_sampling[r->row].ticks)
NUMBER(ticks_missed, is_read_between(r), r->t->row_sampling[r->row].ticks_missed)
NUMBER(rank, r->of->rank != UINT32_MAX, r->of->rank)
TEXT(host, r->of->host)
TEXT(session, r->of->session)
TEXT(thing, r->thing ? r->thing->name : "")
TEXT(group, r->column->group)
TEXT(event, r->column->name)
TEXT(label, r->column->label)
TEXT(unit, r->column->unit)
TEXT(kind, table_kind_name(r->column))
TEXT(state, cell_state_text(r->cell, r->state))
TEXT(cause, cause_name(r->t->cause))

static const char *all(const void *p)
{
	(void)p;
	return "all";
}

static bool value(const void *p, struct buf *out)
{
	const struct cell_row *r = p;

	if (!cell_has_value(r->cell))
		return false;
	screen_number(out, r->column->kind, r->cell);
	return true;
}

static bool coverage(const void *p, struct buf *out)
{
	const struct cell_row *r = p;

	return r->sampled && screen_coverage(out, r->sampled);
}

static bool residual(const void *p, struct buf *out)
{
	const struct cell_row *r = p;

	if (!r->sampled || !r->sampled->has_residual)
		return false;
	screen_signed(out, r->sampled->residual, false);
	return true;
}

/* clang-format off */
#define CELL_FIELDS \
	{"host", .text = host}, \
	{"rank", .number = rank}, \
	{"session", .text = session}, \
	{"thing", .text = thing}, \
	{"iteration", .number = iteration}, \
	{"trace", .number = trace}, \
	{"cpu", .number = cpu, .text = all}, \
	{"start_ns", .number = start_ns}, \
	{"end_ns", .number = end_ns}, \
	{"realtime_ns", .number = realtime_ns}, \
	{"group", .text = group}, \
	{"event", .text = event}, \
	{"label", .text = label}, \
	{"kind", .text = kind}, \
	{"state", .text = state}, \
	{"value", .number = value}, \
	{"unit", .text = unit}, \
	{"raw", .number = raw}, \
	{"enabled_ns", .number = enabled_ns}, \
	{"running_ns", .number = running_ns}, \
	{"base", .number = base}, \
	{"span_ns", .number = span_ns},
#define SAMPLE_FIELDS \
	{"samples", .number = samples}, \
	{"idle", .number = idle}, \
	{"weight", .number = weight}, \
	{"lost", .number = lost}, \
	{"throttled", .number = throttled}, \
	{"expected", .number = expected}, \
	{"coverage", .number = coverage}, \
	{"residual", .number = residual}, \
	{"ticks", .number = ticks}, \
	{"ticks_missed", .number = ticks_missed},
/* clang-format on */

/* The first two are written with parts of a job, the third with several sessions, the next with
 * things. */
static const struct screen_field counted_fields[] = {CELL_FIELDS{"cause", .text = cause}};
static const struct screen_field sampled_fields[] = {
    CELL_FIELDS SAMPLE_FIELDS{"cause", .text = cause}};

const struct screen_field *screen_cell_fields(const struct table *t, const struct screen_options *o,
					      size_t *nr)
{
	bool has_samples = t->sampled || o->session;
	/* skip the host and rank; also the session and the thing */
	size_t first = o->host ? 0 : o->session ? 2 : 4;

	for (size_t i = 0; i < t->nr_events && first == 4; i++)
		first -= t->columns[i].scope == EVENT_SCOPE_THINGS;
	*nr = (has_samples ? ARRAY_NR(sampled_fields) : ARRAY_NR(counted_fields)) - first;
	return (has_samples ? sampled_fields : counted_fields) + first;
}

void screen_write_csv_header(struct buf *out, const struct screen_field *fields, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		buf_adds(out, i ? "," : "");
		buf_adds(out, fields[i].name);
	}
	buf_addc(out, '\n');
}

void screen_write_csv(struct buf *out, const struct screen_field *fields, size_t nr,
		      const void *row)
{
	for (size_t i = 0; i < nr; i++) {
		buf_adds(out, i ? "," : "");
		if ((!fields[i].number || !fields[i].number(row, out)) && fields[i].text)
			buf_csv_field(out, fields[i].text(row));
	}
	buf_addc(out, '\n');
}

void screen_write_json(struct buf *out, const struct screen_field *fields, size_t nr,
		       const void *row)
{
	struct json_writer j;

	jsonw_init(&j, out, false);
	jsonw_object(&j, NULL);
	for (size_t i = 0; i < nr; i++) {
		jsonw_key(&j, fields[i].name);
		if (fields[i].number && fields[i].number(row, out))
			continue;
		if (fields[i].text)
			buf_json_string(out, fields[i].text(row));
		else
			buf_adds(out, "null");
	}
	jsonw_end(&j);
	buf_addc(out, '\n');
}

static void write_cell(struct cell_row r, screen_write_fn *write, struct buf *out)
{
	size_t nr;
	const struct screen_field *fields = screen_cell_fields(r.t, r.of, &nr);
	char state[CELL_STATE_BYTES];

	r.state = state;
	if (r.cell->state != CELL_NONE)
		write(out, fields, nr, &r);
}

/* Things are the machine's, like the cell of row 0 that is their sum. */
static void write_things(const struct table *t, const struct screen_options *o,
			 screen_write_fn *write, struct buf *out)
{
	static const struct sampled none;

	for (size_t k = 0; k < t->nr_things; k++) {
		const struct table_thing *thing = &t->things[k];

		write_cell((struct cell_row){t, 0, &t->columns[thing->column], &thing->cell, &none,
					     thing, o},
			   write, out);
	}
}

void screen_write_cells(const struct table *t, const struct screen_options *o,
			screen_write_fn *write, struct buf *out)
{
	for (size_t row = 0; row < t->nr_rows; row++)
		for (size_t i = 0; i < t->nr_columns; i++)
			if (!table_is_in_total(t, row, i))
				write_cell((struct cell_row){t, row, &t->columns[i],
							     table_cell(t, row, i),
							     table_sampled(t, row, i), NULL, o},
					   write, out);
	for (size_t i = 0; i < t->nr_columns; i++)
		if (table_has_total(t, i))
			write_cell((struct cell_row){t, t->nr_rows, &t->columns[i], &t->totals[i],
						     t->sampled ? &t->sampled_totals[i] : NULL,
						     NULL, o},
				   write, out);
	write_things(t, o, write, out);
}

void screen_write_gap(const struct table *t, const struct screen_gap *gap,
		      const struct screen_options *o, screen_write_fn *write, struct buf *out)
{
	static const struct table_column column = {.group = "cpuperf",
						   .name = "iterations_not_printed",
						   .label = "iterations_not_printed",
						   .unit = "iterations",
						   .kind = EVENT_COUNT};
	static const struct sampled none;
	uint64_t nr = (uint64_t)gap->last - gap->first + 1;
	const struct cell cell = {.state = CELL_OK,
				  .count = nr,
				  .value = (double)nr,
				  .raw = nr,
				  .span_ns = gap->end_ns - gap->start_ns};
	struct table at = *t; /* a shallow copy with other times */

	at.iteration = gap->first;
	at.cause = UINT32_MAX; /* unknown: each has its own */
	at.start_ns = gap->start_ns;
	at.end_ns = gap->end_ns;
	at.realtime_ns = gap->realtime_ns;
	write_cell((struct cell_row){&at, at.nr_rows, &column, &cell, &none, NULL, o}, write, out);
}
