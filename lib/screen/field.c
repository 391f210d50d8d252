/*
 * What the machine formats say of a cell, one row per field. Knows nothing of the text format.
 */
#include "screen/field.h"

#include "base/buf.h"
#include "metric/table.h"
#include "screen/number.h"

struct cell_row {
	const struct table *t;
	size_t row;
	const struct table_column *column;
	const struct cell *cell;
	const struct sampled *sampled; /* NULL in a session that only counts */
};

/* A number that holds if cond does; r is the row. */
#define NUMBER(name, cond, expression)                                                             \
	static bool name(const void *p, struct buf *out)                                           \
	{                                                                                          \
		const struct cell_row *r = p;                                                      \
                                                                                                   \
		if (cond)                                                                          \
			buf_u64(out, expression);                                                  \
		return cond;                                                                       \
	}
#define TEXT(name, expression)                                                                     \
	static const char *name(const void *p)                                                     \
	{                                                                                          \
		const struct cell_row *r = p;                                                      \
                                                                                                   \
		return expression;                                                                 \
	}

static const char *kind_name(enum event_kind kind)
{
	return kind == EVENT_VALUE ? "value" : kind == EVENT_SHARE ? "share" : "count";
}

static bool is_told(const struct cell_row *r)
{
	return r->sampled->claim != SAMPLED_NONE;
}

NUMBER(iteration, true, r->t->iteration)
NUMBER(trace, true, r->t->row_trace[r->row])
NUMBER(cpu, true, r->t->row_cpu[r->row])
NUMBER(start_ns, true, r->t->start_ns)
NUMBER(end_ns, true, r->t->end_ns)
NUMBER(realtime_ns, r->t->realtime_ns != 0, r->t->realtime_ns)
NUMBER(raw, cell_has_value(r->cell), r->cell->raw)
NUMBER(enabled_ns, r->cell->is_perf, r->cell->enabled_ns)
NUMBER(running_ns, r->cell->is_perf, r->cell->running_ns)
NUMBER(base, cell_has_value(r->cell) && r->column->kind == EVENT_SHARE, r->cell->base)
NUMBER(span_ns, cell_has_value(r->cell) && r->column->kind != EVENT_VALUE, r->cell->span_ns)
NUMBER(samples, is_told(r), r->sampled->n.samples)
NUMBER(idle, is_told(r), r->sampled->n.idle)
NUMBER(weight, is_told(r), r->sampled->n.weight)
NUMBER(lost, is_told(r) && r->sampled->n.lost != SAMPLED_NOT_TOLD, r->sampled->n.lost)
NUMBER(throttled, is_told(r), r->sampled->n.throttled)
NUMBER(expected, r->sampled->claim == SAMPLED_COMPARED && r->column->sampling.period,
       sampled_nr_expected(&r->column->sampling, r->sampled))
TEXT(group, r->column->group)
TEXT(event, r->column->name)
TEXT(label, r->column->label)
TEXT(unit, r->column->unit)
TEXT(kind, kind_name(r->column->kind))
TEXT(state, cell_state_name(r->cell->state))

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

	return screen_coverage(out, r->sampled);
}

static bool residual(const void *p, struct buf *out)
{
	const struct cell_row *r = p;

	if (r->sampled->has_residual)
		screen_signed(out, r->sampled->residual, false);
	return r->sampled->has_residual;
}

const struct screen_field screen_cell_fields[] = {
    {"iteration", .number = iteration},
    {"trace", .number = trace},
    {"cpu", .number = cpu},
    {"start_ns", .number = start_ns},
    {"end_ns", .number = end_ns},
    {"realtime_ns", .number = realtime_ns},
    {"group", .text = group},
    {"event", .text = event},
    {"label", .text = label},
    {"kind", .text = kind},
    {"state", .text = state},
    {"value", .number = value},
    {"unit", .text = unit},
    {"raw", .number = raw},
    {"enabled_ns", .number = enabled_ns},
    {"running_ns", .number = running_ns},
    {"base", .number = base},
    {"span_ns", .number = span_ns},
    /* of a session that samples */
    {"samples", .number = samples},
    {"idle", .number = idle},
    {"weight", .number = weight},
    {"lost", .number = lost},
    {"throttled", .number = throttled},
    {"expected", .number = expected},
    {"coverage", .number = coverage},
    {"residual", .number = residual},
};

size_t screen_nr_cell_fields(const struct table *t)
{
	enum { NR = sizeof(screen_cell_fields) / sizeof(screen_cell_fields[0]), NR_OF_SAMPLES = 8 };

	return t->sampled ? NR : NR - NR_OF_SAMPLES;
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
		if (fields[i].text)
			buf_csv_field(out, fields[i].text(row));
		else
			fields[i].number(row, out);
	}
	buf_addc(out, '\n');
}

void screen_write_json(struct buf *out, const struct screen_field *fields, size_t nr,
		       const void *row)
{
	for (size_t i = 0; i < nr; i++) {
		buf_adds(out, i ? ",\"" : "{\"");
		buf_adds(out, fields[i].name);
		buf_adds(out, "\":");
		if (fields[i].text)
			buf_json_string(out, fields[i].text(row));
		else if (!fields[i].number(row, out))
			buf_adds(out, "null");
	}
	buf_adds(out, "}\n");
}

void screen_write_cells(const struct table *t, screen_write_fn *write, struct buf *out)
{
	size_t nr = screen_nr_cell_fields(t);

	for (size_t row = 0; row < t->nr_rows; row++)
		for (size_t i = 0; i < t->nr_columns; i++) {
			struct cell_row r = {t, row, &t->columns[i], table_cell(t, row, i),
					     table_sampled(t, row, i)};

			if (r.cell->state != CELL_NONE)
				write(out, screen_cell_fields, nr, &r);
		}
}
