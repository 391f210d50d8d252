/*
 * Facts of a session as lines of text.
 */
#include "exports/lines.h"

#include "base/array.h"
#include "base/err.h"
#include "base/str.h"
#include "estimate/running.h"
#include "numbers.h"
#include "region_notes.h"
#include "registry.h"
#include "samples.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LINE_BYTES = 16 << 10 };

int export_about_read(const struct input *input, profile_about_fn *each, void *arg,
		      struct profile_about *out, struct err *e)
{
	int rc = profile_about_read(out, input->session, each, arg);

	return rc ? err_set(e, rc, "traces cannot be read: %s", strerror(-rc)) : 0;
}

int export_about_job(const struct job *j, size_t i, struct profile_about *out, struct err *e)
{
	const struct input *input = &j->inputs->item[j->first + i];
	int rc;

	if (!j->pushed)
		return export_about_read(input, NULL, NULL, out, e);
	rc = profile_about_read_iteration(out, input->session, j->pushed->iteration);
	return rc ? err_set(e, rc, "traces cannot be read: %s", strerror(-rc)) : 0;
}

uint64_t export_period(const struct trace_event *event, const struct report_stats *stats,
		       uint32_t i)
{
	const struct report_weight *w = &stats->event[i].counted;

	if (!event->frequency && stats->divisor <= 1 && !(event->flags & TRACE_EVENT_ADAPTIVE))
		return event->rate;
	return w->samples ? w->weight / w->samples : 0;
}

uint64_t export_scale(const struct trace_event *event)
{
	bool is_whole =
	    event->scale >= 1 && event->scale <= 1e9 && event->scale == floor(event->scale);

	return is_whole ? (uint64_t)event->scale : 1;
}

bool export_is_sampled(const struct trace_event *event)
{
	struct sampled_event s =
	    sampled_event(event->group, event->name, event->rate, event->frequency, event->flags);

	return sampled_event_is_sampled(&s) && event->attr_bytes;
}

/* False if all events are sampled and there are no metrics. */
static bool has_counters(const struct input *o)
{
	return o->spec.metric_set.nr || !o->facts->is_sampling ||
	       ARRAY_ANY(ev, o->facts->events, o->facts->nr_events, !ev->rate && !ev->frequency);
}

bool export_has_counters(struct job *j, const struct input *o)
{
	if (!has_counters(o))
		return false;
	job_warn_ignored(j, REGISTRY_IGNORES_TASKS);
	return true;
}

uint32_t export_timebase(const struct job *j)
{
	uint32_t first = UINT32_MAX;

	for (uint32_t i = 0; i < job_input(j)->facts->nr_events; i++) {
		const struct trace_event *ev = job_event(j, i);

		if (!export_is_sampled(ev))
			continue;
		if (ev->flags & TRACE_EVENT_TIMEBASE)
			return i;
		first = first == UINT32_MAX ? i : first;
	}
	return first;
}

uint64_t export_amount(uint64_t weight, uint64_t scale)
{
	uint64_t shown;

	return __builtin_mul_overflow(weight, scale, &shown) || shown > INT64_MAX ? INT64_MAX
										  : shown;
}

void export_add_amount(const struct job *j, uint32_t event, uint64_t weight, struct buf *out)
{
	const struct trace_event *ev = job_event(j, event);

	buf_adds(out, HUMAN((double)weight * (double)export_scale(ev), ev->unit));
}

void export_title(const struct job *j, const struct report_stats *stats, uint32_t event,
		  struct buf *out)
{
	const struct report_weight *w = &stats->event[event].counted;

	buf_printf(out, "%s: %s %s, ", job_event(j, event)->label, COMMAS(w->samples),
		   str_plural(w->samples, "sample", "samples"));
	export_add_amount(j, event, w->weight, out);
}

const char *export_unit(const struct trace_event *event)
{
	bool is_raw = event->scale > 0 && event->scale != (double)export_scale(event);

	return is_raw ? "count" : strcmp(event->unit, "ns") == 0 ? "nanoseconds" : event->unit;
}

void export_type_name(const struct job *j, uint32_t event, const char *suffix,
		      char name[EXPORT_TYPE_BYTES])
{
	const char *label = job_event(j, event)->label;
	unsigned nr_same = 0;

	for (uint32_t i = 0; i < event; i++)
		nr_same += export_is_sampled(job_event(j, i)) &&
			   strcmp(job_event(j, i)->label, label) == 0;
	if (nr_same)
		snprintf(name, EXPORT_TYPE_BYTES, "%s#%u%s", label, nr_same + 1, suffix);
	else
		snprintf(name, EXPORT_TYPE_BYTES, "%s%s", label, suffix);
}

/* --- lines ----------------------------------------------------------------------------------- */

/* The current line, and its destination. */
struct line {
	struct buf text;
	export_line_fn *put;
	void *arg;
};

static void put_line(struct line *l)
{
	if (l->text.len)
		l->put(l->arg, buf_str(&l->text));
	buf_reset(&l->text);
}

static void add_part(struct line *l, const char *before, const char *text)
{
	if (!text || !*text)
		return;
	buf_adds(&l->text, before);
	buf_adds(&l->text, text);
}

static void put_session(struct line *l, const struct input *o)
{
	const struct trace_head *head = &o->facts->head;
	const struct trace_info *info = o->facts->info;

	buf_printf(&l->text, "session %s", o->path);
	add_part(l, ": ", o->config_name);
	put_line(l);
	buf_printf(&l->text, "host %s", *head->host ? head->host : "not known");
	add_part(l, ", ", head->machine);
	if (info) {
		add_part(l, ", ", info->cpu_model);
		add_part(l, ", Linux ", info->kernel);
		add_part(l, "; recorded by ", info->tool);
	}
	put_line(l);
}

static void put_samples(struct line *l, const struct job *j, const struct report_stats *stats,
			uint32_t i)
{
	const struct trace_event *event = job_event(j, i);
	const struct report_event_stats *s = &stats->event[i];
	uint64_t nr;

	if (!export_is_sampled(event))
		return;
	nr = samples_nr(s, &s->counted);
	buf_printf(&l->text, "%s: %s %s", event->label, COMMAS(nr),
		   str_plural(nr, "sample", "samples"));
	if (samples_nr(s, &s->omitted))
		buf_printf(&l->text, "; %s more are omitted", COMMAS(samples_nr(s, &s->omitted)));
	samples_add_missing(j, &l->text, "; ", stats, i);
	put_line(l);
}

static void put_notes(struct line *l, const struct profile_about *about)
{
	const char *note;

	for (size_t at = 0; (note = profile_about_note(about, &at));) {
		buf_printf(&l->text, "note: %s", note);
		put_line(l);
	}
	if (buf_error(&about->notes))
		buf_adds(&l->text, "note: there are more notes than shown here");
	put_line(l);
}

void export_session_lines(const struct job *j, size_t session, const struct profile_about *about,
			  export_line_fn *line, void *arg)
{
	const struct input *o = &j->inputs->item[session];
	struct line l = {.put = line, .arg = arg};

	buf_init(&l.text, MAX_LINE_BYTES);
	put_session(&l, o);
	for (size_t i = 0; i < o->facts->nr_events; i++) {
		const struct trace_event *ev = &o->facts->events[i];
		const struct profile_ran *r = &about->ran[i];

		if (ev->state != READING_OK)
			buf_printf(&l.text, "%s: not measured: %s", ev->label,
				   ev->reason && *ev->reason ? ev->reason
							     : reading_state_name(ev->state));
		put_line(&l);
		if (r->running_ns < r->enabled_ns)
			buf_printf(
			    &l.text,
			    "%s: multiplexed: it was counted %s %% of the time, and sampled "
			    "in that time only",
			    ev->label,
			    DECIMAL(100 * ((double)r->running_ns / (double)r->enabled_ns), 1));
		put_line(&l);
	}
	put_notes(&l, about);
	buf_fini(&l.text);
}

void export_samples_lines(const struct job *j, const struct report_stats *stats,
			  export_line_fn *line, void *arg)
{
	struct line l = {.put = line, .arg = arg};

	buf_init(&l.text, MAX_LINE_BYTES);
	for (uint32_t i = 0; i < stats->nr_events; i++)
		put_samples(&l, j, stats, i);
	samples_stack_lines(j, stats, line, arg);
	buf_fini(&l.text);
}

void export_loss_lines(const struct job *j, export_line_fn *line, void *arg)
{
	const struct buf *losses = &j->output->problems.losses;

	for (size_t at = 0; at < losses->len; at += strlen(losses->data + at) + 1)
		line(arg, losses->data + at);
}

void export_unread_lines(const struct job *j, export_line_fn *line, void *arg)
{
	if (!j->is_followed)
		export_loss_lines(j, line, arg);
	region_notes(j, line, arg);
}
