/*
 * A counter for each event and metric, CPU and thing, in a process with an impossible pid. Viewers
 * hold a number until the next, so a rate is written at the start of its interval, a value when it
 * was read.
 */
#include "exports/series.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/json_writer.h"
#include "base/mem.h"
#include "screen/number.h"
#include "tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum {
	COUNTERS_PID = 4 << 20, /* PID_MAX_LIMIT: above all pids */
	NAME_BYTES = 4096,
};

int export_series_init(struct export_series *s, struct export_lane *lane, struct err *e)
{
	const struct input *o = job_input(&lane->j);

	*s = (struct export_series){.lane = lane,
				    .j = &lane->j,
				    .o = o,
				    .nr_notes = o->facts->nr_events + o->spec.metric_set.nr};
	buf_init(&s->name, NAME_BYTES);
	s->notes = mem_calloc(s->nr_notes + 1, sizeof(*s->notes));
	return s->notes ? 0 : err_set(e, -ENOMEM, "out of memory");
}

void export_series_fini(struct export_series *s)
{
	mem_free(s->notes);
	buf_fini(&s->name);
}

static void add_note(struct export_series *s, const struct counts_series_point *p)
{
	struct export_series_note *n = &s->notes[p->column];

	if (p->is_samples)
		return;
	if (!n->label)
		*n = (struct export_series_note){.label = p->of->label, .quality = {.running = 1}};
	cell_quality_add(&n->quality, p->cell);
	if (!cell_has_value(p->cell))
		n->reason = p->of->reason;
}

/* "instructions CPU 3", "read sda". */
static const char *name_of(struct export_series *s, const struct counts_series_point *p)
{
	buf_reset(&s->name);
	buf_adds(&s->name, p->of->label);
	if (p->is_samples)
		buf_adds(&s->name, " samples");
	if (p->thing)
		buf_printf(&s->name, " %s", p->thing->name);
	if (p->cpu != COUNTS_NO_CPU)
		buf_printf(&s->name, " CPU %" PRIu32, p->cpu);
	return buf_str(&s->name);
}

static void put_process(struct export_series *s)
{
	struct json_writer *out = s->out;

	if (s->has_counters)
		return;
	s->has_counters = true;
	buf_reset(&s->name);
	buf_printf(&s->name, "counters of %s", s->lane->name ?: s->o->facts->head.host);
	JSONW_OBJECT(out, NULL) {
		jsonw_text(out, "ph", "M");
		jsonw_text(out, "name", "process_name");
		jsonw_u64(out, "pid", export_lane_task(s->lane, COUNTERS_PID));
		JSONW_OBJECT(out, "args") {
			jsonw_text(out, "name", buf_str(&s->name));
		}
	}
}

static void put_counter(struct export_series *s, const struct counts_series_point *p, double value)
{
	struct json_writer *out = s->out;
	bool is_level = p->of->kind == EVENT_VALUE && !p->is_samples && !p->of->metric;
	uint64_t time_ns = is_level ? p->end_ns : p->start_ns;
	char text[COUNTS_SERIES_UNIT_BYTES];
	const char *unit = counts_series_unit(p, text);
	const uint64_t origin_ns = s->lane->name ? s->lane->origin_ns : p->origin_ns;

	JSONW_OBJECT(out, NULL) {
		jsonw_text(out, "ph", "C");
		jsonw_text(out, "name", name_of(s, p));
		jsonw_u64(out, "pid", export_lane_task(s->lane, COUNTERS_PID));
		jsonw_us(out, "ts", (int64_t)(export_lane_time(s->lane, time_ns) - origin_ns));
		JSONW_OBJECT(out, "args") {
			jsonw_key(out, *unit ? unit : "value");
			screen_metric(out->out, value);
		}
	}
}

/* Totals of events are the sums of the CPUs' counters. */
static int put_point(void *arg, const struct counts_series_point *p)
{
	struct export_series *s = arg;
	double value;

	if (p->is_total && !p->of->metric)
		return 0;
	s->j->output->nr_records++;
	add_note(s, p);
	if (!counts_series_value(p, &value))
		return 0;
	put_process(s);
	put_counter(s, p, value);
	return output_flush(s->j->output, s->e);
}

int export_series_put(struct export_series *s, struct json_writer *out, struct err *e)
{
	s->out = out;
	s->e = e;
	return tables_series(s->j, s->o, put_point, s, e);
}

static const char *why(const struct export_series_note *n)
{
	return n->reason && *n->reason ? n->reason : cell_state_name(n->quality.state);
}

/* Written only if some number is partial. */
static void put_partial(const struct export_series *s, struct json_writer *out)
{
	char text[NAME_BYTES], state[CELL_STATE_BYTES];
	bool is_open = false;

	for (size_t i = 0; i < s->nr_notes; i++) {
		const struct export_series_note *n = &s->notes[i];

		if (!cell_is_short(&n->quality.least))
			continue;
		if (!is_open)
			jsonw_array(out, "partial");
		is_open = true;
		snprintf(text, sizeof(text), "%s: %s", n->label,
			 cell_state_text(&n->quality.least, state));
		jsonw_text(out, NULL, text);
	}
	if (is_open)
		jsonw_end(out);
}

void export_series_put_notes(const struct export_series *s, struct json_writer *out)
{
	BUF_AUTO(b, NAME_BYTES);

	JSONW_ARRAY(out, "not_counted") {
		for (size_t i = 0; i < s->nr_notes; i++) {
			const struct export_series_note *n = &s->notes[i];

			if (!n->quality.nr_without)
				continue;
			buf_reset(&b);
			buf_printf(&b, "%s: %s in %" PRIu64 " of %" PRIu64 " readings", n->label,
				   why(n), n->quality.nr_without,
				   n->quality.nr_without + n->quality.nr_with);
			jsonw_text(out, NULL, buf_str(&b));
		}
	}
	JSONW_ARRAY(out, "estimated") {
		for (size_t i = 0; i < s->nr_notes; i++) {
			const struct export_series_note *n = &s->notes[i];

			if (!n->quality.nr_with || n->quality.running >= 1)
				continue;
			buf_reset(&b);
			buf_printf(&b, "%s: counted at least ", n->label);
			screen_running(&b, n->quality.running);
			buf_adds(&b, " of the time");
			jsonw_text(out, NULL, buf_str(&b));
		}
	}
	put_partial(s, out);
}
