/*
 * An iteration into its traces.
 */
#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "event/model.h"
#include "session/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_SPEC_BYTES = 4 << 20, MAX_ATTRS_BYTES = 16 << 20 };

/* The attrs of an event's parts, one behind the other; attr.size is a small number. */
static uint32_t add_attrs(const struct session *s, size_t i, struct buf *out)
{
	const struct plan_event *p = &s->plan->events[i];
	size_t len = out->len;

	for (uint32_t k = 0; k < p->nr_parts; k++) {
		const struct perf_event_attr *a = s->attrs[p->first_part + k];

		if (a)
			buf_add(out, a, event_attr_bytes(a));
	}
	return (uint32_t)(out->len - len);
}

_Static_assert((int)TRACE_EVENT_OS == (int)SPEC_OS && (int)TRACE_EVENT_HOST == (int)SPEC_HOST &&
		   (int)TRACE_EVENT_TIMEBASE == (int)SPEC_TIMEBASE,
	       "a trace stores the flags of the spec");

static void describe_event(const struct session *s, size_t i, struct trace_event *out)
{
	const struct plan_event *p = &s->plan->events[i];
	const struct session_event *ev = &s->events[i];
	const struct event_row *row = p->event.row;

	*out = (struct trace_event){
	    .id = p->id,
	    .kind = row->kind,
	    .scope = row->scope,
	    .flags = p->asked->flags,
	    .rate = p->asked->rate,
	    .state = ev->support.state,
	    .perf_group = ev->perf_group,
	    .group = p->event.group->name,
	    .name = row->name,
	    .label = p->label,
	    .unit = row->unit,
	    .description = row->description,
	    .source = row->source,
	    .reason = ev->support.reason,
	    .scale = row->scale,
	    .frequency = p->asked->frequency,
	    .format = spec_event_is_sampled(p->asked) ? row->format : NULL,
	};
}

/* attrs holds what the events' attr points to. */
static int describe_events(const struct session *s, struct trace_event *out, struct buf *attrs)
{
	const char *at;

	for (size_t i = 0; i < s->plan->nr_events; i++) {
		describe_event(s, i, &out[i]);
		out[i].attr_bytes = add_attrs(s, i, attrs);
	}
	at = buf_str(attrs);
	for (size_t i = 0; i < s->plan->nr_events; at += out[i++].attr_bytes)
		out[i].attr = at;
	return buf_error(attrs);
}

static int set_common(const struct session *s, struct trace_writer *w, const char *spec_json)
{
	const struct spec *spec = s->plan->spec;
	const struct host *host = s->plan->host;
	struct trace_info info = {
	    .tool = s->config.tool,
	    .kernel = host->kernel,
	    .cpu_model = host->cpu_model,
	    .config_name = spec->config_name,
	    .model_name = s->model_name,
	    .spec_json = spec_json,
	    .duration_ns = spec->duration_ns,
	    .num_iterations = spec->num_iterations,
	    .user_hz = host->user_hz,
	    .page_bytes = host->page_bytes,
	};
	struct trace_event *events = mem_calloc(s->plan->nr_events, sizeof(*events));
	struct buf attrs;
	int rc = -ENOMEM;

	buf_init(&attrs, MAX_ATTRS_BYTES);
	if (events && describe_events(s, events, &attrs) == 0)
		rc = trace_writer_set_common(w, &info, events, s->plan->nr_events);
	buf_fini(&attrs);
	mem_free(events);
	return rc;
}

static int fill_writer(const struct session *s, struct trace_writer *w)
{
	struct buf json;
	int rc;

	buf_init(&json, MAX_SPEC_BYTES);
	spec_to_json(s->plan->spec, &json);
	rc = buf_error(&json);
	if (rc == 0)
		rc = set_common(s, w, buf_str(&json));
	buf_fini(&json);
	return rc;
}

int session_writer_new(const struct session *s, struct trace_writer **out, struct err *e)
{
	struct trace_writer *w = trace_writer_new();
	int rc = w ? fill_writer(s, w) : -ENOMEM;

	if (rc) {
		trace_writer_free(w);
		return err_set(e, rc, "the traces cannot be prepared: %s", strerror(-rc));
	}
	*out = w;
	return 0;
}

static int find_places(struct session *s, struct err *e)
{
	s->places = mem_calloc(s->nr_cpus, sizeof(*s->places));
	if (!s->places || host_places(s->plan->host, &s->plan->cpus, s->places))
		return err_set(e, -ENOMEM, "out of memory");
	return 0;
}

static void add_place(const struct session *s, uint32_t trace)
{
	const struct host_place *from = &s->places[trace];
	struct trace_where place = {.package = from->package, .node = from->node};

	snprintf(place.type, sizeof(place.type), "%s", from->type ? from->type : "");
	trace_writer_where(s->writer, &place);
}

static int open_output(struct session *s, struct err *e)
{
	const struct spec *spec = s->plan->spec;
	struct session_output_config config = {.spec = spec,
					       .model_name = s->model_name,
					       .id = s->id,
					       .nr_traces = s->nr_cpus,
					       .may_move = spec_has_default_paths(spec)};
	char *detected = s->model_name;

	if (*spec->model_name && strcmp(spec->model_name, "default") != 0)
		snprintf(detected, sizeof(s->model_name), "%s", spec->model_name);
	else if (*spec->output_path_prefix || *spec->session_result_spec_path)
		model_detect(detected, sizeof(s->model_name));
	return session_output_open(&config, &s->output, e);
}

/* Whatever refuses the session comes before session_output_begin: then the older one stays. */
int session_record_open(struct session *s, struct err *e)
{
	int rc = open_output(s, e);

	if (rc == 0 && session_output_has_traces(s->output))
		rc = session_writer_new(s, &s->writer, e);
	if (rc == 0 && s->writer && !s->sampling)
		rc = find_places(s, e);
	if (rc == 0 && s->sampling)
		rc = sampling_prepare_files(s->sampling, e);
	return rc;
}

int session_record_begin(struct session *s, struct err *e)
{
	int rc = session_output_begin(s->output, e);

	if (rc == 0 && session_output_moved(s->output))
		session_note(s, 0, "%s", session_output_moved(s->output));
	return rc == 0 && s->sampling ? sampling_open_files(s->sampling, e) : rc;
}

void session_record_close(struct session *s)
{
	if (s->sampling)
		sampling_close_files(s->sampling);
	session_output_close(s->output);
	s->output = NULL;
	trace_writer_free(s->writer);
	s->writer = NULL;
	mem_free(s->places);
	s->places = NULL;
}

/* What a trace keeps of a boundary: of the start the numbers, of the end also why there is none. */
void session_add_readings(const struct session *s, struct trace_writer *w,
			  enum trace_boundary boundary, const struct reading *readings)
{
	size_t nr = 0;

	for (size_t k = 0; k < s->plan->nr_parts; k++) {
		uint32_t state = readings[k].state;

		if (state == READING_OK || (boundary == TRACE_END && state != READING_NONE))
			s->scratch[nr++] = readings[k];
	}
	trace_writer_readings(w, boundary, s->scratch, nr);
}

void session_add_things(struct trace_writer *w, enum trace_boundary boundary,
			const struct session_things *t)
{
	if (t->nr_readings)
		trace_writer_readings(w, boundary, t->readings, t->nr_readings);
}

void session_make_head(const struct session *s, uint32_t iteration, uint32_t trace, uint32_t cpu,
		       struct trace_head *out)
{
	const struct host *host = s->plan->host;

	*out = (struct trace_head){
	    .iteration = iteration, .trace = trace, .cpu = cpu, .nr_traces = s->nr_cpus};
	memcpy(out->session_id, s->id, sizeof(s->id));
	memcpy(out->boot_id, host->boot_id, sizeof(host->boot_id));
	snprintf(out->host, sizeof(out->host), "%s", host->node);
	snprintf(out->machine, sizeof(out->machine), "%s", host->machine);
}

void session_add_notes(const struct session *s, struct trace_writer *w, uint32_t trace)
{
	for (size_t i = 0; i < s->nr_notes; i++)
		if (s->notes[i].trace == trace)
			trace_writer_note(w, &(struct trace_note){.time_ns = s->notes[i].time_ns,
								  .text = s->notes[i].text});
}

int session_go_on_without(struct session *s, int rc, const struct err *why, struct err *e)
{
	if (!io_is_taken(rc)) {
		if (rc && e)
			*e = *why;
		return rc;
	}
	if (!s->nr_left_out++)
		s->left_out = *why;
	session_note(s, 0, "%s; the session goes on without this file", why->msg);
	return 0;
}

static int record_trace(struct session *s, const struct session_iteration *it, uint32_t trace,
			struct err *e)
{
	struct trace_totals totals = {
	    .start_ns = it->start_ns, .end_ns = it->end_ns, .is_cut = it->is_cut};
	struct trace_head head;
	int rc;

	session_make_head(s, it->iteration, trace, it->traces[trace].cpu, &head);
	rc = session_output_begin_trace(s->output, s->writer, &head, e);
	if (rc)
		return rc;
	trace_writer_clocks(s->writer, &it->clocks);
	add_place(s, trace);
	session_add_readings(s, s->writer, TRACE_START, it->traces[trace].start);
	session_add_readings(s, s->writer, TRACE_END, it->traces[trace].end);
	if (trace == 0) {
		session_add_things(s->writer, TRACE_START, it->things_start);
		session_add_things(s->writer, TRACE_END, it->things_end);
		session_things_write(it->things_end, s, s->writer, UINT64_MAX);
	}
	session_add_notes(s, s->writer, trace);
	return session_output_trace(s->output, s->writer, it->iteration, trace, &totals, e);
}

int session_record_finish(struct session *s, struct err *e)
{
	int rc = s->sampling ? sampling_finish(s->sampling, e) : 0;
	struct err why = {0};

	if (rc)
		return rc;
	rc = session_output_finish(s->output, s->writer, &why);
	return session_go_on_without(s, rc, &why, e);
}

int session_record(struct session *s, const struct session_iteration *it, struct err *e)
{
	int rc = s->sampling ? sampling_record(s->sampling, it, e) : 0;

	for (uint32_t t = 0; !s->sampling && s->writer && t < it->nr_traces && rc == 0; t++) {
		struct err why = {0};

		rc = record_trace(s, it, t, &why);
		rc = session_go_on_without(s, rc, &why, e);
	}
	if (rc == 0)
		session_output_recorded(s->output, it->iteration);
	return rc;
}
