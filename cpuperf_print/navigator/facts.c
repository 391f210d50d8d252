/*
 * One object: sessions, events, and which reports apply.
 */
#include "navigator/facts.h"

#include "base/array.h"
#include "base/json_writer.h"
#include "base/str.h"
#include "registry.h"
#include "report/states.h"
#include "reports/reports.h"
#include "trace/record.h"

#include <stdio.h>
#include <string.h>

static bool is_sampled(const struct trace_event *e)
{
	return e->rate || e->frequency;
}

static void put_sessions(struct json_writer *json, const struct inputs *in)
{
	JSONW_ARRAY(json, "sessions") {
		for (size_t i = 0; i < in->nr + in->nr_diff; i++) {
			const struct input *o = &in->item[i];

			JSONW_OBJECT(json, NULL) {
				jsonw_text(json, "path", o->path);
				jsonw_text(json, "name", input_name(o));
				jsonw_text(json, "host", o->facts->head.host);
				jsonw_u64(json, "iterations", o->facts->nr_iterations);
				jsonw_raw(json, "is_before", i < in->nr ? "false" : "true");
			}
		}
	}
}

static void put_events(struct json_writer *json, const struct profile_facts *f)
{
	char number[32];

	JSONW_ARRAY(json, "events") {
		for (size_t i = 0; i < f->nr_events; i++) {
			const struct trace_event *e = &f->events[i];

			snprintf(number, sizeof(number), "%.17g", e->scale > 0 ? e->scale : 1);
			JSONW_OBJECT(json, NULL) {
				jsonw_text(json, "label", e->label);
				jsonw_text(json, "group", e->group);
				jsonw_text(json, "unit", e->unit);
				jsonw_raw(json, "scale", number);
				jsonw_raw(json, "is_sampled", is_sampled(e) ? "true" : "false");
			}
		}
	}
}

/* Beyond that one. */
static bool has_states(const struct profile_facts *f, enum report_state least)
{
	static const struct profile_filter all;

	for (uint32_t i = 0; i < f->nr_events; i++)
		if (report_states_of(f, &all, i) > least)
			return true;
	return false;
}

bool facts_has_states(const struct inputs *in)
{
	return has_states(in->item[0].facts, REPORT_NO_STATE);
}

static bool has_callers(const struct profile_facts *f)
{
	return ARRAY_ANY(x, f->events, f->nr_events,
			 x->flags & (TRACE_EVENT_CALLCHAIN | TRACE_EVENT_USER_STACK));
}

enum { MAX_REPORTS = 32 };

/* Returns how many. */
static size_t list_reports(const struct inputs *in, const char *names[MAX_REPORTS])
{
	const struct profile_facts *f = in->item[0].facts;
	const struct {
		const char *name;
		bool applies;
	} reports[] = {
	    {"flat", inputs_are_sampled(in)},
	    {"threads", inputs_are_sampled(in)},
	    {"tree", inputs_are_sampled(in) && has_callers(f)},
	    {"callers", inputs_are_sampled(in) && has_callers(f)},
	    {"calls", inputs_are_sampled(in) && has_callers(f)},
	    {"annotate", inputs_are_sampled(in)},
	    {"lanes", facts_has_states(in)},
	    {"timeline", inputs_are_sampled(in) && has_callers(f)},
	    {"waits", has_states(f, REPORT_ON_CPU)},
	    {"regions", f->has_regions},
	    {"spans", f->has_regions},
	    {"heap", reports_has_heap(f)},
	    {"sizes", reports_has_heap(f)},
	    {"lifetimes", reports_has_heap(f)},
	    {"latency", ARRAY_ANY(x, f->events, f->nr_events, strcmp(x->group, "latency") == 0)},
	    {"diff", in->nr_diff > 0},
	    {"hosts", in->nr_jobs > 0},
	    {"summary", true},
	    {"series", true},
	    {"top-down", true},
	};
	size_t nr = 0;

	_Static_assert(ARRAY_NR(reports) <= MAX_REPORTS, "they have room");
	for (size_t i = 0; i < ARRAY_NR(reports); i++)
		if (reports[i].applies)
			names[nr++] = reports[i].name;
	return nr;
}

static void put_reports(struct json_writer *json, const struct inputs *in)
{
	const char *names[MAX_REPORTS];
	const size_t nr = list_reports(in, names);

	JSONW_ARRAY(json, "reports") {
		for (size_t i = 0; i < nr; i++)
			jsonw_text(json, NULL, names[i]);
	}
}

bool facts_has_report(const struct inputs *in, const char *name)
{
	const char *names[MAX_REPORTS];
	const size_t nr = list_reports(in, names);

	return ARRAY_ANY(x, names, nr, strcmp(*x, name) == 0);
}

static void put_notes(struct json_writer *json, const struct buf *notes)
{
	const char *at = buf_str(notes), *end = at + notes->len, *line, *stop;
	BUF_AUTO(text, 8192);

	JSONW_ARRAY(json, "notes") {
		while ((line = str_next_line(&at, end, &stop))) {
			buf_reset(&text);
			buf_add(&text, line, (size_t)(stop - line));
			jsonw_text(json, NULL, buf_str(&text));
		}
	}
}

void facts_put(const struct inputs *in, const struct buf *notes, struct buf *out)
{
	struct json_writer json;

	jsonw_init(&json, out, false);
	JSONW_OBJECT(&json, NULL) {
		jsonw_text(&json, "report", "session");
		jsonw_text(&json, "version", CPUPERF_VERSION);
		put_sessions(&json, in);
		put_events(&json, in->item[0].facts);
		put_reports(&json, in);
		put_notes(&json, notes);
	}
	buf_addc(out, '\n');
}
