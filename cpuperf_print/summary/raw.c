/*
 * The raw format, in the original's layout: per trace a Time record, then a Count of each event
 * that counts, then a Value of each that does not. A tally trace has two readings of each event
 * where the original had one record: a count is their difference, unscaled; of a share it is what
 * the share is of (raw, not base). The offset is that of the second reading in the file. A trace
 * that samples has its records first; the counts at its end are what is left then.
 */
#include "summary/raw.h"

#include "base/digits.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <string.h>

struct raw *out_raw_new(const struct profile_facts *facts)
{
	struct raw *raw = mem_zalloc(sizeof(*raw));

	if (!raw)
		return NULL;
	raw->told = mem_calloc(facts->nr_events, sizeof(*raw->told));
	raw->last = mem_calloc(facts->nr_events, PROFILE_MAX_PARTS * sizeof(*raw->last));
	if (raw->told && raw->last)
		return raw;
	out_raw_free(raw);
	return NULL;
}

void out_raw_free(struct raw *raw)
{
	if (!raw)
		return;
	mem_free(raw->told);
	mem_free(raw->last);
	mem_free(raw);
}

void raw_line(struct print *p, uint64_t offset, const char *kind)
{
	char digits[DIGITS_ROOM];
	size_t nr = (size_t)(digits_hex(digits, offset) - digits);

	if (nr < 4)
		buf_fill(p->out, '0', 4 - nr);
	buf_add(p->out, digits, nr);
	buf_adds(p->out, ": ");
	buf_adds(p->out, kind);
	buf_adds(p->out, ": ");
}

void raw_event_line(struct print *p, uint64_t offset, const char *kind,
		    const struct trace_event *event)
{
	raw_line(p, offset, kind);
	buf_adds(p->out, event ? "Event 0x" : "Event unknown");
	if (event)
		buf_hex(p->out, event->id);
}

static void time_line(struct print *p, uint64_t offset, uint64_t time_ns)
{
	if (p->raw->has_time && p->raw->time_ns == time_ns)
		return;
	raw_line(p, offset, "Time");
	buf_u64(p->out, time_ns);
	buf_addc(p->out, '\n');
	p->raw->has_time = true;
	p->raw->time_ns = time_ns;
}

void raw_tell(struct print *p, uint32_t event, uint64_t amount)
{
	p->raw->told[event] += amount;
}

static struct raw_last *last_of(struct print *p, uint32_t event, uint32_t instance)
{
	return &p->raw->last[(size_t)event * PROFILE_MAX_PARTS + instance];
}

/* A residual may be below zero. */
static void count_line(struct print *p, uint64_t offset, uint32_t event, uint64_t count)
{
	raw_event_line(p, offset, "Count", &p->facts->events[event]);
	buf_adds(p->out, (int64_t)count < 0 ? ", -" : ", ");
	buf_u64(p->out, (int64_t)count < 0 ? -count : count);
	buf_addc(p->out, '\n');
}

void raw_count(struct print *p, uint64_t offset, uint32_t event, uint32_t instance, uint64_t raw)
{
	struct raw_last *last = last_of(p, event, instance);

	if (last->is_there) {
		raw_tell(p, event, raw - last->raw);
		count_line(p, offset, event, raw - last->raw);
	}
	*last = (struct raw_last){true, raw};
}

static void value_line(struct print *p, uint64_t offset, uint32_t event, uint64_t value)
{
	raw_event_line(p, offset, "Value", &p->facts->events[event]);
	buf_adds(p->out, ", ");
	buf_u64(p->out, value);
	buf_addc(p->out, '\n');
}

/* Counts go on from the start readings. */
static void begin_parts(struct print *p, uint32_t event, uint32_t first,
			const struct profile_pair *pairs, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		*last_of(p, event, first + i) =
		    (struct raw_last){pairs[i].has_start, pairs[i].start.raw};
}

static void begin_counts(struct print *p, const struct profile_trace *t)
{
	enum { FURTHER = PROFILE_MAX_PARTS - 1 };
	size_t nr = p->facts->nr_events;

	if (nr)
		memset(p->raw->told, 0, nr * sizeof(*p->raw->told));
	for (uint32_t i = 0; i < nr; i++) {
		begin_parts(p, i, 0, &t->pairs[i], 1);
		if (t->further)
			begin_parts(p, i, 1, &t->further[(size_t)i * FURTHER], FURTHER);
	}
}

void out_raw_head(struct print *p, const struct profile_trace *t)
{
	if (p->table->nr_rows == 1)
		buf_printf(p->out, "\nIteration %" PRIu32 "\n==============\n", t->head.iteration);
	buf_printf(p->out, "\nTrace %" PRIu32 "\n--------\n", t->head.trace);
	p->raw->has_time = false;
	begin_counts(p, t);
}

static bool is_of_things(const struct print *p, uint32_t event)
{
	return p->facts->events[event].scope == EVENT_SCOPE_THINGS;
}

/* Of one of many things: its number, its name if that is known by then, and what the kernel said.
 */
static void thing_line(struct print *p, uint64_t offset, const struct reading *r, const char *name)
{
	raw_event_line(p, offset, "Thing", &p->facts->events[r->event]);
	buf_printf(p->out, ", %" PRIu32 "%s%s, ", r->instance, *name ? " " : "", name);
	if (r->state == READING_OK)
		buf_u64(p->out, r->raw);
	else
		buf_adds(p->out, cell_state_name(cell_state_of_reading(r->state)));
	buf_addc(p->out, '\n');
}

static void things(struct print *p, const struct profile_trace *t)
{
	for (size_t k = 0; k < t->nr_things; k++) {
		const struct profile_thing *thing = &t->things[k];

		if (!thing->pair.has_end)
			continue;
		time_line(p, thing->pair.end_offset, thing->pair.end.time_ns);
		thing_line(p, thing->pair.end_offset, &thing->pair.end, thing->name);
	}
}

static void reading(struct print *p, uint64_t offset, const struct reading *r)
{
	bool holds = r->state == READING_OK || r->state == READING_OFFLINE;

	if (is_of_things(p, r->event) && reading_is_of_thing(r))
		thing_line(p, offset, r, "");
	else if (!holds || r->instance >= PROFILE_MAX_PARTS)
		return;
	else if (p->facts->events[r->event].kind == EVENT_VALUE)
		value_line(p, offset, r->event, r->raw);
	else
		raw_count(p, offset, r->event, r->instance, r->raw);
}

static void symbols(struct raw *raw, const struct profile_item *item)
{
	const char *at = item->text, *end = at + item->text_len, *stop;

	if (!raw->nr_symbols)
		raw->symbols_offset = item->offset;
	while (str_next_line(&at, end, &stop))
		raw->nr_symbols++;
}

void out_raw_item(struct print *p, const struct profile_trace *t, const struct profile_item *item)
{
	if (item->kind == PROFILE_KALLSYMS) {
		symbols(p->raw, item);
		return;
	}
	time_line(p, item->offset, item->time_ns);
	if (item->kind == PROFILE_READING)
		reading(p, item->offset, &item->reading);
	else
		raw_record(p, t, item);
}

/* A line of its own at the end; a last tick had its line already. */
static bool ends_here(const struct print *p, const struct profile_trace *t, uint32_t event)
{
	size_t row = p->table->nr_rows - 1;

	return cell_has_value(table_cell(p->table, row, event)) && !is_of_things(p, event) &&
	       !t->pairs[event].is_tick;
}

/* The time of the latest of the numbers: samples go on until then. What was not measured has none.
 */
static void end_time(struct print *p, const struct profile_trace *t)
{
	const struct profile_pair *first = NULL;
	uint64_t latest_ns = 0;

	for (uint32_t i = 0; i < p->facts->nr_events; i++) {
		const struct profile_pair *pair = &t->pairs[i];

		if (!ends_here(p, t, i))
			continue;
		first = first ? first : pair;
		if (p->facts->is_sampling && pair->end.time_ns > latest_ns)
			latest_ns = pair->end.time_ns;
	}
	if (first)
		time_line(p, first->end_offset, latest_ns ? latest_ns : first->end.time_ns);
}

static void records(struct print *p, const struct profile_trace *t, bool of_values)
{
	size_t row = p->table->nr_rows - 1;

	for (uint32_t i = 0; i < p->facts->nr_events; i++) {
		const struct cell *c = table_cell(p->table, row, i);
		uint64_t offset = t->pairs[i].end_offset;

		if ((p->table->columns[i].kind == EVENT_VALUE) != of_values || !ends_here(p, t, i))
			continue;
		if (of_values)
			value_line(p, offset, i, c->raw);
		else
			count_line(p, offset, i, c->raw - p->raw->told[i]);
	}
}

void out_raw_trace(struct print *p, const struct profile_trace *t)
{
	end_time(p, t);
	records(p, t, false);
	records(p, t, true);
	things(p, t);
}

void out_raw_common(struct print *p)
{
	buf_adds(p->out, "\nCommon\n--------\n");
	p->raw->has_time = false;
}

void out_raw_end(struct print *p)
{
	if (p->raw->nr_symbols) {
		raw_line(p, p->raw->symbols_offset, "Kallsyms");
		buf_printf(p->out, "%" PRIu64 " lines of kernel symbols\n", p->raw->nr_symbols);
	}
	buf_addc(p->out, '\n');
}
