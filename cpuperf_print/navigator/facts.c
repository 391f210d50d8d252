/*
 * One object: sessions, events, and which reports apply.
 */
#include "navigator/facts.h"

#include "base/array.h"
#include "base/json_writer.h"
#include "base/str.h"
#include "locks.h"
#include "profile/about.h"
#include "profile/regions.h"
#include "registry.h"
#include "report/states.h"
#include "report/waker.h"
#include "reports/reports.h"
#include "title.h"
#include "trace/record.h"

#include <stdio.h>
#include <string.h>

enum { MAX_TITLE_BYTES = 4096 };

static bool is_sampled(const struct trace_event *e)
{
	return e->rate || e->frequency;
}

static void put_title(struct json_writer *json, const struct input *o)
{
	BUF_AUTO(title, MAX_TITLE_BYTES);
	struct profile_about about;

	(void)profile_about_read(&about, o->session, NULL, NULL); /* without times it has a name */
	title_put(o, &about, &title);
	profile_about_fini(&about);
	jsonw_text(json, "title", buf_str(&title));
}

static void put_sessions(struct json_writer *json, const struct inputs *in)
{
	JSONW_ARRAY(json, "sessions") {
		for (size_t i = 0; i < in->nr + in->nr_diff; i++) {
			const struct input *o = &in->item[i];

			JSONW_OBJECT(json, NULL) {
				jsonw_text(json, "path", o->path);
				jsonw_text(json, "name", input_name(o));
				put_title(json, o);
				jsonw_text(json, "host", o->facts->head.host);
				jsonw_u64(json, "iterations", o->facts->nr_iterations);
				jsonw_bool(json, "is_before", i >= in->nr);
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
				jsonw_bool(json, "is_sampled", is_sampled(e));
			}
		}
	}
}

static bool has_states(const struct inputs *in, enum report_state least)
{
	static const struct profile_filter all;

	return report_states_have(in->item[0].facts, &all, least);
}

bool facts_has_states(const struct inputs *in)
{
	return has_states(in, REPORT_NO_STATE);
}

static bool has_callers(const struct profile_facts *f)
{
	return ARRAY_ANY(x, f->events, f->nr_events,
			 x->flags & (TRACE_EVENT_CALLCHAIN | TRACE_EVENT_USER_STACK));
}

static bool is_any(const struct inputs *in)
{
	(void)in;
	return true;
}

static bool are_stacks(const struct inputs *in)
{
	return inputs_are_sampled(in) && has_callers(in->item[0].facts);
}

static bool are_waits(const struct inputs *in)
{
	return has_states(in, REPORT_ON_CPU);
}

static bool are_locks(const struct inputs *in)
{
	static const struct profile_filter all;

	return !locks_missing(in->item[0].facts, &all);
}

static bool are_experiments(const struct inputs *in)
{
	return in->nr == 1 && cpsession_is_causal(&in->item[0].manifest);
}

static int note_end(void *arg, const struct profile_trace *t)
{
	*(bool *)arg |= t->target && t->target->pid && t->target->end_ns > t->target->start_ns;
	return 0;
}

/* A command that ended, with who ended waits. */
static bool is_replayed(const struct inputs *in)
{
	const struct profile_facts *f = in->item[0].facts;
	struct profile_about about;
	bool has_ended = false;

	if (in->nr != 1 || !ARRAY_ANY(x, f->events, f->nr_events, report_has_waker(x)))
		return false;
	(void)profile_about_read(&about, in->item[0].session, note_end, &has_ended);
	profile_about_fini(&about);
	return has_ended;
}

static bool are_regions(const struct inputs *in)
{
	const struct input *o = &in->item[0];

	return o->facts->has_regions || (o->processes && profile_has_labels(o->processes));
}

static bool is_heap(const struct inputs *in)
{
	return reports_has_heap(in->item[0].facts);
}

static bool is_mapped(const struct inputs *in)
{
	return in->item[0].facts->has_memory;
}

static bool are_latencies(const struct inputs *in)
{
	const struct profile_facts *f = in->item[0].facts;

	return ARRAY_ANY(x, f->events, f->nr_events, strcmp(x->group, "latency") == 0);
}

static bool are_functions(const struct inputs *in)
{
	return reports_has_functions(in->item[0].facts);
}

static bool is_diff(const struct inputs *in)
{
	return in->nr_diff > 0;
}

static bool are_jobs(const struct inputs *in)
{
	return in->nr_jobs > 0;
}

/* In the order in which they are made, also ahead. */
static const struct {
	struct facts_report report;
	bool (*applies)(const struct inputs *in);
} reports[] = {
    {{"flat", {{"top", "2000"}}, false, false}, inputs_are_sampled},
    {{"threads", {{"top", "2000"}}, true, true}, inputs_are_sampled},
    {{"tree", {{"min-percent", "0.05"}}, false, false}, are_stacks},
    {{"callers", {{"min-percent", "0.05"}}, false, false}, are_stacks},
    {{"calls", {{NULL, NULL}}, false, false}, are_stacks},
    {{"annotate", {{NULL, NULL}}, true, false}, inputs_are_sampled},
    {{"waits", {{"top", "2000"}}, true, true}, are_waits},
    {{"locks", {{"top", "2000"}}, false, true}, are_locks},
    {{"causal", {{NULL, NULL}}, false, true}, are_experiments},
    {{"regions", {{"top", "2000"}}, false, true}, are_regions},
    {{"heap", {{"top", "2000"}}, false, true}, is_heap},
    {{"sizes", {{"top", "2000"}}, false, true}, is_heap},
    {{"lifetimes", {{"top", "2000"}}, false, true}, is_heap},
    {{"memory", {{"top", "2000"}}, false, true}, is_mapped},
    {{"latency", {{"top", "2000"}}, false, true}, are_latencies},
    {{"functions", {{"top", "2000"}}, false, true}, are_functions},
    {{"diff", {{"top", "2000"}}, true, true}, is_diff},
    {{"hosts", {{"top", "2000"}}, false, true}, are_jobs},
    {{"summary", {{NULL, NULL}}, false, true}, is_any},
    {{"series", {{NULL, NULL}}, false, false}, is_any},
    {{"top-down", {{"top", "2000"}}, false, true}, is_any},
    /* the last: to know it takes longer */
    {{"what-if", {{"top", "2000"}}, false, true}, is_replayed},
};

const struct facts_report *facts_report(const struct inputs *in, size_t i)
{
	for (size_t k = 0; k < ARRAY_NR(reports); k++)
		if (reports[k].applies(in) && !i--)
			return &reports[k].report;
	return NULL;
}

static void put_reports(struct json_writer *json, const struct inputs *in)
{
	const struct facts_report *x;

	JSONW_ARRAY(json, "reports") {
		for (size_t i = 0; (x = facts_report(in, i)); i++)
			jsonw_text(json, NULL, x->name);
	}
	JSONW_OBJECT(json, "arguments") {
		for (size_t i = 0; (x = facts_report(in, i)); i++)
			JSONW_OBJECT(json, x->name) {
				for (const struct http_argument *a = x->argument; a->name; a++)
					jsonw_text(json, a->name, a->value);
			}
	}
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

void facts_put_inputs(struct json_writer *json, const struct inputs *in)
{
	put_sessions(json, in);
	put_events(json, in->item[0].facts);
}

void facts_put(const struct inputs *in, const struct buf *notes, struct buf *out)
{
	struct json_writer json;

	jsonw_init(&json, out, false);
	JSONW_OBJECT(&json, NULL) {
		jsonw_text(&json, "report", "session");
		jsonw_text(&json, "version", CPUPERF_VERSION);
		facts_put_inputs(&json, in);
		put_reports(&json, in);
		put_notes(&json, notes);
	}
	buf_addc(out, '\n');
}
