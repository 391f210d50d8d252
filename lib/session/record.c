/*
 * The traces of a session.
 */
#include "session/record.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "base/sys.h"
#include "event/model.h"
#include "host/topology.h"
#include "session/folder.h"
#include "session/paced.h"
#include "session/sampler.h"
#include "whole/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_SPEC_BYTES = 4 << 20, MAX_ATTRS_BYTES = 16 << 20 };

int recorder_init(struct recorder *r, const struct counters *counters, struct notes *notes,
		  const char *tool)
{
	int rc;

	*r = (struct recorder){.counters = counters, .notes = notes, .tool = tool};
	rc = sys()->getrandom(r->id, sizeof(r->id));
	if (rc < 0)
		return rc;
	r->scratch = mem_calloc(counters->plan->nr_parts, sizeof(*r->scratch));
	return r->scratch ? 0 : -ENOMEM;
}

void recorder_fini(struct recorder *r)
{
	recorder_close(r);
	mem_free(r->scratch);
	r->scratch = NULL;
}

/* Appends the attrs of an event's parts, then those of its unwound samples; attr.size is small. */
static uint32_t add_attrs(const struct counters *c, const struct plan_event *p, struct buf *out)
{
	size_t len = out->len;

	for (uint32_t k = 0; k < p->nr_parts; k++) {
		const struct perf_event_attr *a = c->attrs[p->first_part + k];

		if (a)
			buf_add(out, a, event_attr_bytes(a));
	}
	for (uint32_t k = 0; k < p->nr_parts; k++) {
		const struct perf_event_attr *a = c->attrs[p->first_part + k];
		struct perf_event_attr unwound;

		if (!a || !sampler_unwinds(p, a))
			continue;
		unwound = whole_record_attr(a);
		buf_add(out, &unwound, event_attr_bytes(a));
	}
	return (uint32_t)(out->len - len);
}

/* The flags of the spec that a trace stores as they are. */
enum { OF_SPEC = 2 * SPEC_HOST - 1 };
_Static_assert((int)TRACE_EVENT_OS == (int)SPEC_OS && (int)TRACE_EVENT_HOST == (int)SPEC_HOST &&
		   (int)TRACE_EVENT_TIMEBASE == (int)SPEC_TIMEBASE,
	       "a trace stores the flags of the spec");

/* Raw data of its samples is described: of a tracepoint, or of calls that have ended. */
static bool has_fields(const struct plan_event *p)
{
	return spec_event_is_sampled(p->asked) &&
	       (spec_event_is_of_ended(p->asked) || !event_is_function(&p->event));
}

void recorder_describe(const struct counters *c, size_t i, struct trace_event *out)
{
	const struct plan_event *p = &c->plan->events[i];
	const struct session_event *ev = &c->events[i];
	const struct event_row *row = p->event.row;

	*out = (struct trace_event){
	    .id = p->id,
	    .kind = row->kind,
	    .scope = row->scope,
	    .flags = (plan_flags(c->plan, p) & OF_SPEC) |
		     (p->asked->flags & SPEC_ADAPTIVE ? TRACE_EVENT_ADAPTIVE : 0) |
		     (plan_is_of_processes(c->plan, p) ? TRACE_EVENT_OF_PROCESSES : 0) |
		     (p->asked->is_aggregated ? TRACE_EVENT_AGGREGATED : 0) |
		     (c->plan->spec->max_own_cpu && spec_event_is_sampled(p->asked)
			  ? TRACE_EVENT_IS_DIVIDED
			  : 0) |
		     (uint32_t)row->total << TRACE_EVENT_TOTAL_SHIFT,
	    .rate = p->asked->rate,
	    .state = ev->support.state,
	    .perf_group = ev->perf_group,
	    .group = p->event.group->name,
	    .name = row->name,
	    .label = p->label,
	    .unit = row->unit,
	    .description = row->description,
	    .source = source_uses_way(&c->uses, i) ?: row->source,
	    .reason = ev->support.reason,
	    .scale = row->scale,
	    .frequency = p->asked->frequency,
	    .every_ns = source_uses_every_ns(&c->uses, i) ?: p->asked->every_ns,
	    .format = has_fields(p) ? row->format : NULL,
	};
}

/* attrs contains what the events' attr points to. */
static int describe_events(const struct counters *c, struct trace_event *out, struct buf *attrs)
{
	const char *at;

	for (size_t i = 0; i < c->plan->nr_events; i++) {
		recorder_describe(c, i, &out[i]);
		out[i].attr_bytes = add_attrs(c, &c->plan->events[i], attrs);
	}
	at = buf_str(attrs);
	for (size_t i = 0; i < c->plan->nr_events; at += out[i++].attr_bytes)
		out[i].attr = at;
	return buf_error(attrs);
}

static int set_common(const struct recorder *r, struct trace_writer *w, const char *spec_json)
{
	const struct plan *plan = r->counters->plan;
	const struct spec *spec = plan->spec;
	const struct host *host = plan->host;
	struct trace_info info = {
	    .tool = r->tool,
	    .kernel = host->kernel,
	    .cpu_model = host->cpu_model,
	    .config_name = spec->config_name,
	    .model_name = r->model_name,
	    .spec_json = spec_json,
	    .duration_ns = spec->duration_ns,
	    .num_iterations = spec->num_iterations,
	    .user_hz = host->user_hz,
	    .page_bytes = host->page_bytes,
	    .nr_cpus = cpuset_count(&host->online),
	};
	struct trace_event *events = mem_calloc(plan->nr_events, sizeof(*events));
	struct buf attrs;
	int rc = -ENOMEM;

	buf_init(&attrs, MAX_ATTRS_BYTES);
	if (events && describe_events(r->counters, events, &attrs) == 0)
		rc = trace_writer_set_common(w, &info, events, plan->nr_events);
	buf_fini(&attrs);
	mem_free(events);
	return rc;
}

static int fill_writer(const struct recorder *r, struct trace_writer *w)
{
	struct buf json;
	int rc;

	buf_init(&json, MAX_SPEC_BYTES);
	spec_to_json(r->counters->plan->spec, &json);
	rc = buf_error(&json);
	if (rc == 0)
		rc = set_common(r, w, buf_str(&json));
	buf_fini(&json);
	return rc;
}

int recorder_writer_new(const struct recorder *r, struct trace_writer **out, struct err *e)
{
	struct trace_writer *w = trace_writer_new();
	int rc = w ? fill_writer(r, w) : -ENOMEM;

	if (rc) {
		trace_writer_free(w);
		return err_set(e, rc, "the traces cannot be prepared: %s", strerror(-rc));
	}
	*out = w;
	return 0;
}

int recorder_renew(const struct recorder *r)
{
	return r->writer ? fill_writer(r, r->writer) : 0;
}

/* Nobody named the folder: another one will do. */
static void move(struct recorder *r, const struct err *why, struct session_output_config *config)
{
	config->folder = NULL;
	config->why_moved = r->moved_why;
	config->busy = why->code == -EBUSY ? r->folder : NULL;
	session_folder_explain(r->folder, why, r->moved_why, sizeof(r->moved_why));
}

/* Two sessions may begin at the same time: the second finds the first when it locks its files. */
static int open_files(struct recorder *r, struct session_output_config *config, struct err *e)
{
	struct err why = {0};
	int rc = session_output_open(config, &r->output, &why);

	if (rc == -EBUSY && r->folder && r->keeps_old_folder && !config->why_moved) {
		move(r, &why, config);
		return session_output_open(config, &r->output, e);
	}
	if (rc)
		*e = why;
	return rc;
}

static int open_output(struct recorder *r, struct err *e)
{
	const struct spec *spec = r->counters->plan->spec;
	IO_AUTO_FD int folder_fd = -1;
	IO_AUTO_FD int turn = r->folder ? session_folder_take_turn(r->folder) : -1;
	const char *moved_to;
	struct err why = {0};
	struct stat folder;
	int rc;
	struct session_output_config config = {.spec = spec,
					       .model_name = r->model_name,
					       .id = r->id,
					       .nr_traces = r->counters->nr_cpus,
					       .may_move_traces = spec_has_default_paths(spec),
					       .may_move_manifest =
						   spec_has_default_manifest(spec)};
	char *detected = r->model_name;

	if (*spec->model_name && strcmp(spec->model_name, "default") != 0)
		snprintf(detected, sizeof(r->model_name), "%s", spec->model_name);
	else if ((*spec->output_path_prefix || *spec->session_result_spec_path) &&
		 host_has_core_pmu(r->counters->plan->host, -1)) /* libpfm4 takes 2 ms to begin */
		event_model_detect(detected, sizeof(r->model_name));
	(void)turn; /* until the files are locked */
	if (r->folder) {
		rc = session_folder_make(r->folder, r->keeps_old_folder, &folder_fd, &why)
			 ?: sys()->fstatat(folder_fd, "", &folder, AT_EMPTY_PATH);
		config.folder = rc ? NULL : &folder;
		if (rc &&
		    (!r->keeps_old_folder || (rc != -EBUSY && !session_folder_is_foreign(rc)))) {
			err_set_at(&why, rc, r->folder, 0, 0, "%s", strerror(-rc));
			*e = why;
			return rc;
		}
		if (rc)
			move(r, &why, &config);
	}
	rc = open_files(r, &config, e);
	if (rc)
		return rc;
	moved_to = session_output_folder(r->output);
	snprintf(r->moved_to, sizeof(r->moved_to), "%s", moved_to ? moved_to : "");
	snprintf(r->manifest, sizeof(r->manifest), "%s", session_output_manifest_path(r->output));
	return 0;
}

int recorder_open(struct recorder *r, struct err *e)
{
	const struct plan *plan = r->counters->plan;
	int rc = open_output(r, e);

	if (rc || !session_output_has_traces(r->output))
		return rc;
	rc = recorder_writer_new(r, &r->writer, e);
	if (rc || plan->is_sampling)
		return rc;
	r->places = mem_calloc(r->counters->nr_cpus, sizeof(*r->places));
	if (!r->places || host_places(plan->host, &plan->cpus, r->places))
		return err_set(e, -ENOMEM, "out of memory");
	return 0;
}

int recorder_begin(struct recorder *r, struct err *e)
{
	int rc = session_output_begin(r->output, e);

	if (rc == 0 && *r->moved_why) { /* the program prints it where it prints the folder */
		if (r->notes->on_note)
			r->notes->on_note(session_output_moved(r->output), true, r->notes->arg);
	} else if (rc == 0 && session_output_moved(r->output)) {
		notes_add_essential(r->notes, 0, "%s", session_output_moved(r->output));
	}
	return rc;
}

void recorder_close(struct recorder *r)
{
	session_output_close(r->output);
	r->output = NULL;
	trace_writer_free(r->writer);
	r->writer = NULL;
	mem_free(r->places);
	r->places = NULL;
}

void recorder_add_readings(const struct recorder *r, struct trace_writer *w,
			   enum trace_boundary boundary, const struct reading *readings)
{
	size_t nr = 0;

	for (size_t k = 0; k < r->counters->plan->nr_parts; k++) {
		uint32_t state = readings[k].state;

		if (state == READING_OK || (boundary == TRACE_END && state != READING_NONE))
			r->scratch[nr++] = readings[k];
	}
	trace_writer_readings(w, boundary, r->scratch, nr);
}

void recorder_add_things(struct trace_writer *w, enum trace_boundary boundary,
			 const struct session_things *things)
{
	if (things->nr_readings)
		trace_writer_readings(w, boundary, things->readings, things->nr_readings);
}

void recorder_add_histograms(struct trace_writer *w, const struct session_iteration *it)
{
	for (size_t i = 0; i < it->nr_functions; i++)
		trace_writer_function(w, &it->functions[i]);
	for (size_t i = 0; i < it->nr_values; i++)
		trace_writer_value(w, &it->values[i]);
	for (size_t i = 0; i < it->nr_histograms; i++)
		trace_writer_histogram(w, &it->histograms[i]);
}

struct trace_head recorder_head(const struct recorder *r, uint32_t iteration, uint32_t trace,
				uint32_t cpu)
{
	const struct host *host = r->counters->plan->host;
	struct trace_head head = {
	    .iteration = iteration, .trace = trace, .cpu = cpu, .nr_traces = r->counters->nr_cpus};

	memcpy(head.session_id, r->id, sizeof(r->id));
	memcpy(head.boot_id, host->boot_id, sizeof(host->boot_id));
	snprintf(head.host, sizeof(head.host), "%s", host->node);
	snprintf(head.machine, sizeof(head.machine), "%s", host->machine);
	return head;
}

int recorder_go_on_without(struct recorder *r, int rc, const struct err *why, struct err *e)
{
	if (!io_is_taken(rc)) {
		if (rc && e)
			*e = *why;
		return rc;
	}
	if (!r->nr_left_out++)
		r->left_out = *why;
	notes_add(r->notes, 0, "%s; the session goes on without this file", why->msg);
	return 0;
}

static void add_place(const struct recorder *r, uint32_t trace)
{
	const struct host_place *from = &r->places[trace];
	struct trace_where place = {.package = from->package, .node = from->node};

	snprintf(place.type, sizeof(place.type), "%s", from->type ? from->type : "");
	trace_writer_where(r->writer, &place);
}

/* What was read between the two boundaries; the first trace names its things. */
static void add_ticks(struct recorder *r, uint32_t trace, const struct session_iteration *it)
{
	struct paced *p = r->paced;
	const struct reading *readings;
	size_t nr;

	if (!p || (!paced_is_running(p) && !paced_has_samples(p)))
		return;
	if (trace == 0) {
		session_things_write(it->things_start, &r->counters->uses, r->writer, UINT64_MAX);
		ticks_write_names(&p->ticks, &r->counters->uses, r->writer, p->boundary_ns);
	}
	while ((nr = ticks_next(&p->ticks, trace, p->boundary_ns, &readings)))
		trace_writer_readings(r->writer, TRACE_TICK, readings, nr);
	if (trace > 0)
		return;
	(void)paced_write_clocks(p, r->writer, UINT64_MAX);
	while ((nr = ticks_next(&p->samples, 0, p->boundary_ns, &readings)))
		trace_writer_readings(r->writer, TRACE_TICK, readings, nr);
}

void recorder_add_target(struct trace_writer *w, const struct session_iteration *it)
{
	if (!it->target)
		return;
	trace_writer_target(w, it->target);
	for (size_t i = 0; i < it->nr_memory; i++)
		trace_writer_memory(w, &it->memory[i]);
}

static int write_trace(struct recorder *r, const struct session_iteration *it, uint32_t trace,
		       struct err *e)
{
	struct trace_head head = recorder_head(r, it->iteration, trace, it->traces[trace].cpu);
	struct trace_totals totals = {.start_ns = it->start_ns,
				      .end_ns = it->end_ns,
				      .is_cut = it->is_cut,
				      .cause = it->cause};
	int rc = session_output_begin_trace(r->output, r->writer, &head, e);

	if (rc)
		return rc;
	trace_writer_clocks(r->writer, &it->clocks);
	if (it->traces[trace].cpu != PLAN_ANY_CPU)
		add_place(r, trace);
	recorder_add_readings(r, r->writer, TRACE_START, it->traces[trace].start);
	if (trace == 0)
		recorder_add_things(r->writer, TRACE_START, it->things_start);
	add_ticks(r, trace, it);
	recorder_add_readings(r, r->writer, TRACE_END, it->traces[trace].end);
	if (trace == 0) {
		recorder_add_things(r->writer, TRACE_END, it->things_end);
		session_things_write(it->things_end, &r->counters->uses, r->writer, UINT64_MAX);
		recorder_add_histograms(r->writer, it);
	}
	if (it->window && trace == 0)
		trace_writer_window(r->writer, it->window);
	if (it->traces[trace].cpu == PLAN_ANY_CPU)
		recorder_add_target(r->writer, it);
	notes_write(r->notes, trace, r->writer);
	return session_output_trace(r->output, r->writer, it->iteration, trace, &totals, e);
}

int recorder_write(struct recorder *r, const struct session_iteration *it, struct err *e)
{
	int rc = 0;

	if (r->paced)
		paced_note_missing(r->paced, it->iteration, r->notes);
	for (uint32_t t = 0; r->writer && t < it->nr_traces && rc == 0; t++) {
		struct err why = {0};

		rc = write_trace(r, it, t, &why);
		rc = recorder_go_on_without(r, rc, &why, e);
	}
	if (r->paced)
		paced_next_iteration(r->paced);
	return rc;
}

int recorder_finish(struct recorder *r, struct err *e)
{
	struct err why = {0};
	int rc = session_output_finish(r->output, r->writer, &why);

	rc = recorder_go_on_without(r, rc, &why, e);
	if (rc || !r->nr_left_out)
		return rc;
	err_set(e, r->left_out.code,
		"%" PRIu64 " file(s) of the session are missing; the first: %s", r->nr_left_out,
		r->left_out.msg);
	err_hint(e, "%s", r->left_out.hint);
	return r->left_out.code;
}
