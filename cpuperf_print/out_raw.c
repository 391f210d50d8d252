/*
 * The raw format, in the original's layout: per trace a Time record, then a Count of each event
 * that counts, then a Value of each that does not. A tally trace has two readings of each event
 * where the original had one record: a count is their difference, unscaled; of a share it is what
 * the share is of (raw, not base). The offset is that of the second reading in the file.
 */
#include "output.h"

#include <inttypes.h>

static void head(struct print *p, const struct profile_trace *t)
{
	if (p->table->nr_rows == 1)
		buf_printf(&p->out, "\nIteration %" PRIu32 "\n==============\n", t->head.iteration);
	buf_printf(&p->out, "\nTrace %" PRIu32 "\n--------\n", t->head.trace);
}

/* The time of the first number; what was not measured has none. */
static void time_record(struct print *p, const struct profile_trace *t)
{
	size_t row = p->table->nr_rows - 1;

	for (size_t i = 0; i < p->facts->nr_events; i++) {
		const struct profile_pair *pair = &t->pairs[i];

		if (!cell_has_value(table_cell(p->table, row, i)))
			continue;
		buf_printf(&p->out, "%04" PRIx64 ": Time: %" PRIu64 "\n", pair->end_offset,
			   pair->end.time_ns);
		return;
	}
}

static void records(struct print *p, const struct profile_trace *t, bool of_values)
{
	size_t row = p->table->nr_rows - 1;

	for (size_t i = 0; i < p->facts->nr_events; i++) {
		const struct cell *c = table_cell(p->table, row, i);

		if ((p->table->columns[i].kind == EVENT_VALUE) != of_values || !cell_has_value(c))
			continue;
		buf_printf(&p->out, "%04" PRIx64 ": %s: Event 0x%" PRIx32 ", %" PRIu64 "\n",
			   t->pairs[i].end_offset, of_values ? "Value" : "Count",
			   p->facts->events[i].id, c->raw);
	}
}

void out_raw_trace(struct print *p, const struct profile_trace *t)
{
	head(p, t);
	time_record(p, t);
	records(p, t, false);
	records(p, t, true);
}

void out_raw_end(struct print *p)
{
	buf_addc(&p->out, '\n');
}
