/*
 * A file as a set of traces: one for each slice, and the common one. The frames before their
 * records are written as by a recorder, and read in memory.
 */
#include "import/internal.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "trace/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_COLUMN = UINT32_MAX };
enum { MAX_INSTANCES = 256 }; /* of an event; each CPU or task is one */

/* Copies the gathered frames of w. */
static int read_bytes(const struct trace_writer *w, void **out, size_t *out_len)
{
	const void *bytes;
	size_t len;
	int rc = trace_writer_bytes(w, &bytes, &len);
	void *copy;

	if (rc)
		return rc;
	copy = mem_alloc(len ? len : 1);
	if (!copy)
		return -ENOMEM;
	if (len)
		memcpy(copy, bytes, len);
	mem_free(*out);
	*out = copy;
	*out_len = len;
	return 0;
}

static struct trace_head make_head(const struct import *im, uint32_t iteration, uint32_t trace)
{
	struct trace_head h = {.iteration = iteration,
			       .trace = trace,
			       .cpu = UINT32_MAX,
			       .nr_traces = (uint32_t)im->nr_slices};

	memcpy(h.session_id, im->session_id, sizeof(h.session_id));
	snprintf(h.host, sizeof(h.host), "%s", im->facts.host);
	snprintf(h.machine, sizeof(h.machine), "%s", im->facts.machine);
	return h;
}

/* cpu-clock and task-clock count nanoseconds. */
static bool is_clock(const struct trace_layout *l)
{
	return l->type == PERF_TYPE_SOFTWARE &&
	       (l->config == PERF_COUNT_SW_CPU_CLOCK || l->config == PERF_COUNT_SW_TASK_CLOCK);
}

static bool is_side_band_event(const struct import_event *ev)
{
	return ev->layout.type == PERF_TYPE_SOFTWARE && ev->layout.config == PERF_COUNT_SW_DUMMY &&
	       !ev->nr_samples;
}

/* The flags of a spec that would have asked for this. */
static uint32_t flags_of(const struct import *im, const struct import_event *ev)
{
	static const struct {
		uint64_t bits; /* of the attr's flags, or of its sample type */
		bool is_sample_type, is_flag_if_not;
		uint32_t flag;
	} rows[] = {
	    {PERF_ABI_ATTR_EXCLUDE_KERNEL, false, true, TRACE_EVENT_OS},
	    {PERF_ABI_ATTR_EXCLUDE_USER, false, true, TRACE_EVENT_USER},
	    {PERF_SAMPLE_IP, true, false, TRACE_EVENT_PC},
	    {PERF_SAMPLE_BRANCH_STACK, true, false, TRACE_EVENT_LAST_BRANCH},
	    {PERF_SAMPLE_CALLCHAIN, true, false, TRACE_EVENT_CALLCHAIN},
	    {PERF_SAMPLE_STACK_USER, true, false, TRACE_EVENT_USER_STACK},
	    {PERF_ABI_ATTR_PRECISE_IP, false, false, TRACE_EVENT_PRECISE},
	    {PERF_ABI_ATTR_PINNED, false, false, TRACE_EVENT_PINNED},
	    {PERF_ABI_ATTR_EXCLUDE_IDLE, false, false, TRACE_EVENT_NO_IDLE},
	};
	const uint64_t sample_type = im->events[ev->shape].layout.sample_type;
	uint64_t attr_flags;
	uint32_t flags = 0;

	memcpy(&attr_flags, ev->attr + PERF_ABI_ATTR_BITS_AT, sizeof(attr_flags));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t of = rows[i].is_sample_type ? sample_type : le64toh(attr_flags);

		if (!(of & rows[i].bits) == rows[i].is_flag_if_not)
			flags |= rows[i].flag;
	}
	return flags;
}

static void make_event(const struct import *im, uint32_t i, struct trace_event *out)
{
	/* by enum perf_type_id */
	static const char *const groups[] = {"hardware", "software", "tracepoint",
					     "cache",    "raw",      "breakpoint"};
	const struct import_event *ev = &im->events[i];
	const struct trace_layout *l = &ev->layout;
	uint64_t period, flags;

	memcpy(&period, ev->attr + offsetof(struct perf_event_attr, sample_period), sizeof(period));
	period = le64toh(period);
	memcpy(&flags, ev->attr + PERF_ABI_ATTR_BITS_AT, sizeof(flags));
	*out = (struct trace_event){
	    .id = i,
	    .kind = EVENT_COUNT,
	    .scope = EVENT_SCOPE_CPU,
	    .flags = flags_of(im, ev),
	    .state = READING_OK,
	    .perf_group = ev->leader,
	    .group = l->type < sizeof(groups) / sizeof(groups[0]) ? groups[l->type] : "pmu",
	    .name = ev->name,
	    .label = ev->name,
	    .unit = is_clock(l) ? "ns" /* perf shows ms */
		    : ev->unit  ? ev->unit
				: "",
	    .source = "perf.data",
	    .attr = ev->attr,
	    .attr_bytes = ev->attr_bytes,
	    .scale = is_clock(l) ? 0 : ev->scale,
	    .format = ev->format,
	};
	if (le64toh(flags) & PERF_ABI_ATTR_FREQ)
		out->frequency = period;
	else
		out->rate = period;
}

static int set_common(struct import *im, struct trace_writer *w)
{
	struct trace_event *events = mem_calloc(im->nr_columns + 1, sizeof(*events));
	struct trace_info info;
	char tool[128];
	int rc;

	if (!events)
		return -ENOMEM;
	for (uint32_t i = 0; i < im->nr_events; i++)
		if (im->events[i].column != NO_COLUMN)
			make_event(im, i, &events[im->events[i].column]);
	snprintf(tool, sizeof(tool), "perf %.100s", im->facts.perf_version);
	info = (struct trace_info){.tool = tool,
				   .kernel = im->facts.kernel,
				   .cpu_model = im->facts.cpu_model,
				   .config_name = im->facts.command};
	rc = trace_writer_set_common(w, &info, events, im->nr_columns);
	mem_free(events);
	return rc;
}

static int compare_ids(const void *a, const void *b)
{
	const struct trace_id *x = a, *y = b;

	return order_u64(x->group, y->group) ?: order_u64(x->event, y->event);
}

/* An event's ids are those of its CPUs, or tasks; a group's are those of the same place. */
static int put_ids(const struct import *im, struct trace_writer *w)
{
	struct trace_id *ids = mem_calloc(im->nr_ids + im->nr_events, sizeof(*ids));
	const struct import_event *first = im->events;
	size_t nr = 0;
	bool is_only; /* all samples belong to the only event, whatever their ids are */

	if (!ids)
		return -ENOMEM;
	while (first->column != 0)
		first++;
	is_only =
	    im->nr_columns == 1 && first->has_layout && trace_layout_is_sampled(&first->layout);
	for (; nr < im->nr_ids && !is_only; nr++) {
		const struct import_id *id = &im->ids[nr];

		ids[nr] = (struct trace_id){
		    .id = id->id,
		    .event = im->events[id->event].column,
		    .instance = id->place % MAX_INSTANCES,
		    .group = im->events[id->event].leader + id->place * (uint32_t)im->nr_events,
		};
	}
	for (uint32_t i = 0; i < im->nr_columns && !im->nr_ids && im->nr_columns > 1; i++, nr = i)
		ids[i] = (struct trace_id){.event = i, .group = i};
	qsort(ids, nr, sizeof(*ids), compare_ids);
	trace_writer_ids(w, ids, nr);
	mem_free(ids);
	return 0;
}

/* Totals of each event are in the first trace: perf has none by CPU. */
static int put_sampling(const struct import *im, size_t i, struct trace_writer *w)
{
	const struct import_slice *s = &im->slices[i];
	struct trace_sampling sampling = {.idle_ns = UINT64_MAX, .lost = s->nr_lost};
	struct trace_sampled *items = mem_calloc(im->nr_events + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (uint32_t k = 0; k < im->nr_events && i == 0; k++) {
		const struct import_event *ev = &im->events[k];

		if (ev->column == NO_COLUMN)
			continue;
		items[sampling.nr++] =
		    (struct trace_sampled){.event = ev->column,
					   .samples = ev->nr_samples,
					   .idle = ev->nr_idle,
					   .weight = ev->weight,
					   .lost = ev->has_lost ? ev->nr_lost : UINT64_MAX,
					   .throttled = ev->nr_throttled};
	}
	sampling.item = items;
	trace_writer_sampling(w, &sampling);
	mem_free(items);
	return 0;
}

/* The first has the shared frames, before its own. */
static int make_frames(struct import *im, size_t i, void **out, size_t *len)
{
	struct trace_writer *w = trace_writer_new();
	int rc = w ? 0 : -ENOMEM;

	if (rc == 0 && i == 0)
		rc = set_common(im, w);
	if (rc == 0 && i == 0)
		trace_writer_common(w);
	rc = rc ?: put_ids(im, w) ?: put_sampling(im, i, w);
	if (rc == 0) {
		trace_writer_whole(w, &(struct trace_totals){.start_ns = im->facts.first_ns,
							     .end_ns = im->facts.last_ns,
							     .is_cut = im->facts.is_truncated});
		rc = read_bytes(w, out, len);
	}
	trace_writer_free(w);
	return rc;
}

static int open_slice(struct import *im, size_t i, struct trace_reader **out)
{
	const struct trace_head head = make_head(im, 0, (uint32_t)i);
	void *frames = NULL, *slice;
	size_t len = 0;
	int rc = make_frames(im, i, &frames, &len);

	if (rc)
		return rc;
	slice = import_slice_new(im, &im->slices[i], frames);
	if (!slice) {
		mem_free(frames);
		return -ENOMEM;
	}
	return trace_reader_open_feed(&head, frames, len, &import_slice_feed, slice, im->path, out);
}

static int next_none(void *arg, struct trace_frame *out, struct err *e)
{
	(void)arg;
	(void)out;
	(void)e;
	return 0;
}

static uint64_t no_bytes(const void *arg)
{
	(void)arg;
	return 0;
}

static bool is_whole(const void *arg)
{
	(void)arg;
	return true;
}

static void close_none(void *arg)
{
	(void)arg;
}

static int open_trace(const void *arg, size_t number, struct trace_reader **out, struct err *e)
{
	static const struct trace_feed nothing = {next_none, no_bytes, is_whole, close_none};
	struct import *im = (struct import *)arg;
	const struct trace_head head = make_head(im, TRACE_COMMON, TRACE_COMMON);
	int rc;

	if (number < im->nr_slices)
		rc = open_slice(im, number, out);
	else
		rc = trace_reader_open_feed(&head, im->common.data, im->common.len, &nothing, NULL,
					    im->path, out);
	return rc ? err_set_at(e, rc, im->path, 0, 0, "cannot be read: %s", strerror(-rc)) : 0;
}

int import_append_frames(struct import *im, struct trace_writer *w)
{
	const void *bytes;
	size_t len;
	int rc = trace_writer_bytes(w, &bytes, &len);

	if (rc == 0)
		buf_add(&im->common, bytes, len);
	trace_writer_more(w);
	return rc ? rc : buf_error(&im->common);
}

/* perf's side-band event is skipped, unless there is no other. */
void import_number_columns(struct import *im)
{
	bool has_other = false;

	for (size_t i = 0; i < im->nr_events; i++)
		has_other |= !is_side_band_event(&im->events[i]);
	for (size_t i = 0; i < im->nr_events; i++)
		im->events[i].column = has_other && is_side_band_event(&im->events[i])
					   ? NO_COLUMN
					   : (uint32_t)im->nr_columns++;
}

int import_make_set(struct import *im)
{
	struct trace_writer *w = trace_writer_new();
	int rc;

	import_ids_sort(im); /* from here on threads read it */
	import_reads_set_attrs(im);
	for (size_t i = 0; i < im->nr_events; i++) {
		/* as slices return records: with times, and with complete callchains */
		uint8_t *attr = im->events[i].attr;
		uint64_t flags;

		if (im->is_timeless)
			attr[offsetof(struct perf_event_attr, sample_type)] |= PERF_SAMPLE_TIME;
		memcpy(&flags, attr + PERF_ABI_ATTR_BITS_AT, sizeof(flags));
		flags &= htole64(~PERF_ABI_ATTR_DEFERRED);
		memcpy(attr + PERF_ABI_ATTR_BITS_AT, &flags, sizeof(flags));
	}
	rc = w ? set_common(im, w) : -ENOMEM;
	if (rc == 0) {
		trace_writer_common(w);
		rc = import_append_frames(im, w);
	}
	if (rc == 0)
		rc = import_side_put(im, w);
	trace_writer_free(w);
	if (rc)
		return rc;
	im->set = (struct trace_set){
	    .name = im->path,
	    .nr = im->nr_slices,
	    .bytes = im->all_bytes,
	    .window_ns = im->disorder_ns + 1,
	    .open = open_trace,
	    .arg = im,
	};
	return 0;
}
