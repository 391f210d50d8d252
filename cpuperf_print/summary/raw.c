/*
 * The raw format, in the original's layout: per trace a Time record, then a Count for each event
 * that counts, then a Value for each other event. A tally trace has two readings of each event
 * where the original had one record: the count is their difference, unscaled; for a share, of its
 * part and of its base. The offset is that of the second reading in the file. A trace with
 * samples has its records first; the counts at its end are the rest.
 */
#include "summary/raw.h"

#include "base/cause.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int begin(struct summary *s)
{
	const size_t nr = s->facts->nr_events;

	s->raw = mem_zalloc(sizeof(*s->raw));
	if (!s->raw)
		return -ENOMEM;
	s->raw->printed = mem_calloc(nr, sizeof(*s->raw->printed));
	s->raw->last = mem_calloc(nr, PROFILE_MAX_PARTS * sizeof(*s->raw->last));
	return s->raw->printed && s->raw->last ? 0 : -ENOMEM;
}

void summary_raw_free(struct raw_state *raw)
{
	if (!raw)
		return;
	mem_free(raw->printed);
	mem_free(raw->last);
	mem_free(raw);
}

static void value_line(struct summary *s, uint64_t offset, uint32_t event, uint64_t value)
{
	raw_event_line(s, offset, "Value", &s->facts->events[event]);
	buf_adds(s->out, ", ");
	buf_u64(s->out, value);
	buf_addc(s->out, '\n');
}

/* Counts continue from the start readings; in perf.data, which has none, from 0: they begin when
 * the event is opened. */
static void begin_parts(struct summary *s, uint32_t event, uint32_t first,
			const struct profile_pair *pairs, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		*raw_last(s, event, first + i) =
		    (struct raw_last){pairs[i].has_start || s->input->import,
				      {pairs[i].start.raw, pairs[i].start.base}};
}

static void begin_counts(struct summary *s, const struct profile_trace *t)
{
	enum { FURTHER = PROFILE_MAX_PARTS - 1 };
	size_t nr = s->facts->nr_events;

	if (nr)
		memset(s->raw->printed, 0, nr * sizeof(*s->raw->printed));
	for (uint32_t i = 0; i < nr; i++) {
		begin_parts(s, i, 0, &t->pairs[i], 1);
		if (t->further)
			begin_parts(s, i, 1, &t->further[(size_t)i * FURTHER], FURTHER);
	}
}

static void put_window(struct summary *s, const struct trace_window *w)
{
	buf_printf(s->out, "Not measured before it: %" PRIu64 " ns\n", w->gap_ns);
	if (w->window != TRACE_NO_WINDOW)
		buf_printf(s->out,
			   "Window %" PRIu32 ", cycle %" PRIu64 ": %" PRIu64
			   " ns on its clock, begun %" PRIu64 " ns late, ended %" PRIu64
			   " ns late\n",
			   w->window, w->cycle, w->clock_ns, w->start_late_ns, w->end_late_ns);
}

static void put_head(struct summary *s, const struct profile_trace *t)
{
	if (s->table->nr_rows == 1) {
		buf_printf(s->out, "\nIteration %" PRIu32, t->head.iteration);
		if (t->cause)
			buf_printf(s->out, " (%s)", cause_name(t->cause));
		buf_adds(s->out, "\n==============\n");
		if (t->window)
			put_window(s, t->window);
	}
	buf_printf(s->out, "\nTrace %" PRIu32 "\n--------\n", t->head.trace);
	if (t->sampling && t->sampling->divisor > 1)
		buf_printf(s->out, "Rates divided by %" PRIu32 "\n", t->sampling->divisor);
	s->raw->has_time = false;
	begin_counts(s, t);
}

static bool is_of_things(const struct summary *s, uint32_t event)
{
	return s->facts->events[event].scope == EVENT_SCOPE_THINGS;
}

/* A thing: its number, its name ("": not known yet) and its value or state. */
static void thing_line(struct summary *s, uint64_t offset, const struct reading *r,
		       const char *name)
{
	raw_event_line(s, offset, "Thing", &s->facts->events[r->event]);
	buf_printf(s->out, ", %" PRIu32 "%s%s, ", r->instance, *name ? " " : "", name);
	if (r->state == READING_OK)
		buf_u64(s->out, r->raw);
	else
		buf_adds(s->out, cell_state_name(cell_state_of_reading(r->state)));
	buf_addc(s->out, '\n');
}

static void things(struct summary *s, const struct profile_trace *t)
{
	for (size_t k = 0; k < t->nr_things; k++) {
		const struct profile_thing *thing = &t->things[k];

		if (!thing->pair.has_end)
			continue;
		raw_time_line(s, thing->pair.end_offset, thing->pair.end.time_ns);
		thing_line(s, thing->pair.end_offset, &thing->pair.end, thing->name);
	}
}

static void reading(struct summary *s, uint64_t offset, const struct reading *r)
{
	bool holds = r->state == READING_OK || r->state == READING_OFFLINE;

	if (is_of_things(s, r->event) && reading_is_of_thing(r))
		thing_line(s, offset, r, "");
	else if (!holds || r->instance >= PROFILE_MAX_PARTS)
		return;
	else if (s->facts->events[r->event].kind == EVENT_VALUE)
		value_line(s, offset, r->event, r->raw);
	else
		raw_count(s, offset, r->event, r->instance, &(struct raw_amount){r->raw, r->base});
}

static void symbols(struct raw_state *raw, const struct profile_item *item)
{
	const char *at = item->text, *end = at + item->text_len, *stop;

	if (!raw->nr_symbols)
		raw->symbols_offset = item->offset;
	while (str_next_line(&at, end, &stop))
		raw->nr_symbols++;
}

/* The arguments, with spaces between them. */
static void cmdline(struct summary *s, const struct profile_item *item)
{
	const struct trace_cmdline *c = &item->cmdline;
	char text[TRACE_CMDLINE_BYTES];
	size_t len = c->len < sizeof(text) ? c->len : sizeof(text);

	memcpy(text, c->text, len);
	while (len && !text[len - 1])
		len--;
	for (size_t i = 0; i < len; i++)
		text[i] = text[i] ? text[i] : ' ';
	raw_line(s, item->offset, "Cmdline");
	buf_printf(s->out, "pid %" PRIu32 ", ", c->pid);
	buf_shown(s->out, text, len);
	buf_adds(s->out, c->flags & TRACE_CMDLINE_IS_CUT ? ", cut\n" : "\n");
}

static void put_item(struct summary *s, const struct profile_trace *t,
		     const struct profile_item *item)
{
	if (item->kind == PROFILE_KALLSYMS) {
		symbols(s->raw, item);
		return;
	}
	if (item->kind == PROFILE_CMDLINE) {
		cmdline(s, item);
		return;
	}
	raw_time_line(s, item->offset, item->time_ns);
	if (item->kind == PROFILE_READING)
		reading(s, item->offset, &item->reading);
	else
		raw_record(s, t, item);
}

/* True if the event has a line at the end: its last tick was not printed as a record. */
static bool ends_here(const struct summary *s, const struct profile_trace *t, uint32_t event)
{
	size_t row = s->table->nr_rows - 1;

	return cell_has_value(table_cell(s->table, row, event)) && !is_of_things(s, event) &&
	       !t->pairs[event].is_tick;
}

/* The Time record of the end: with samples, the latest time of all numbers. */
static void end_time(struct summary *s, const struct profile_trace *t)
{
	const struct profile_pair *first = NULL;
	uint64_t latest_ns = 0;

	for (uint32_t i = 0; i < s->facts->nr_events; i++) {
		const struct profile_pair *pair = &t->pairs[i];

		if (!ends_here(s, t, i))
			continue;
		first = first ? first : pair;
		if (s->facts->is_sampling && pair->end.time_ns > latest_ns)
			latest_ns = pair->end.time_ns;
	}
	if (first)
		raw_time_line(s, first->end_offset, latest_ns ? latest_ns : first->end.time_ns);
}

static void records(struct summary *s, const struct profile_trace *t, bool of_values)
{
	size_t row = s->table->nr_rows - 1;

	for (uint32_t i = 0; i < s->facts->nr_events; i++) {
		const struct cell *c = table_cell(s->table, row, i);
		struct raw_amount all = {c->raw, c->base},
				  rest = raw_less(&all, &s->raw->printed[i]);
		uint64_t offset = t->pairs[i].end_offset;

		if ((s->table->columns[i].kind == EVENT_VALUE) != of_values || !ends_here(s, t, i))
			continue;
		if (of_values)
			value_line(s, offset, i, c->raw);
		else
			raw_count_line(s, offset, i, &rest);
	}
}

static void put_trace(struct summary *s, const struct profile_trace *t)
{
	end_time(s, t);
	records(s, t, false);
	records(s, t, true);
	things(s, t);
}

static void put_common(struct summary *s)
{
	buf_adds(s->out, "\nCommon\n--------\n");
	s->raw->has_time = false;
}

static void put_end(struct summary *s)
{
	if (s->raw->nr_symbols) {
		raw_line(s, s->raw->symbols_offset, "Kallsyms");
		buf_printf(s->out, "%" PRIu64 " lines of kernel symbols\n", s->raw->nr_symbols);
	}
	buf_addc(s->out, '\n');
}

const struct summary_format summary_raw = {
    .begin = begin,
    .head = put_head,
    .trace = put_trace,
    .common = put_common,
    .item = put_item,
    .end = put_end,
};
