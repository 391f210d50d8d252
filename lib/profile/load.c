/*
 * From frames to readings. An invalid frame is reported and skipped. Must not trust an index, a
 * number or an order from the file.
 */
#include "profile/load.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "profile/times.h"
#include "trace/record.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { NOTES_MAX_BYTES = 2 * PROFILE_MAX_NOTES * PROFILE_NOTE_BYTES };

/* True if the columns are the same; state, reason and perf group may differ. */
static bool are_same_events(const struct trace_events *all, const struct trace_events *others)
{
	if (all->nr != others->nr)
		return false;
	for (size_t i = 0; i < all->nr; i++) {
		const struct trace_event *a = &all->item[i], *b = &others->item[i];

		if (a->id != b->id || a->kind != b->kind || a->scope != b->scope ||
		    strcmp(a->group, b->group) != 0 || strcmp(a->name, b->name) != 0 ||
		    strcmp(a->label, b->label) != 0 || strcmp(a->unit, b->unit) != 0)
			return false;
	}
	return true;
}

static int load_events(struct profile_load *l, const struct trace_frame *f)
{
	struct trace_events events;
	int rc = trace_decode_events(f, &events);

	if (rc)
		return rc;
	if (!are_same_events(&events, l->session_events)) {
		trace_events_fini(&events);
		return -EPROTO;
	}
	trace_events_fini(&l->events);
	l->events = events;
	l->trace.events = events.item;
	return 0;
}

static int load_clocks(struct profile_load *l, const struct trace_frame *f)
{
	int rc = trace_decode_clocks(f, &l->trace.clocks);

	if (rc == 0)
		l->trace.has_clocks = true;
	return rc;
}

/* True for an event of this session, of a kind that this version can read. */
static bool is_known(const struct profile_load *l, const struct reading *r)
{
	uint32_t kind;

	if (r->event >= l->session_events->nr || r->instance >= PROFILE_MAX_PARTS)
		return false;
	kind = l->session_events->item[r->event].kind;
	return kind >= EVENT_COUNT && kind <= EVENT_SHARE;
}

static size_t nr_further(const struct profile_load *l)
{
	return l->session_events->nr * (PROFILE_MAX_PARTS - 1);
}

/* NULL without memory. */
static struct profile_pair *pair_of(struct profile_load *l, const struct reading *r)
{
	if (r->instance == 0)
		return &l->pairs[r->event];
	if (!l->further)
		l->further = mem_calloc(nr_further(l), sizeof(*l->further));
	if (!l->further)
		return NULL;
	l->trace.further = l->further;
	return &l->further[r->event * (PROFILE_MAX_PARTS - 1) + r->instance - 1];
}

static bool is_of_thing(const struct profile_load *l, const struct reading *r)
{
	return r->event < l->session_events->nr && reading_is_of_thing(r) &&
	       l->session_events->item[r->event].scope == EVENT_SCOPE_THINGS;
}

static int load_things(struct profile_load *l, const struct trace_frame *f)
{
	struct trace_things_owned owned;
	int rc = trace_decode_things(f, &owned);

	if (rc)
		return rc;
	rc = profile_things_name(&l->things, &owned.things);
	trace_things_fini(&owned);
	return rc;
}

void profile_pair_add(struct profile_pair *p, enum trace_boundary boundary, const struct reading *r,
		      uint64_t offset)
{
	if (boundary == TRACE_START && !p->has_start) {
		p->has_start = true;
		p->start = *r;
		p->start_offset = offset;
	} else if (boundary == TRACE_END ||
		   (boundary == TRACE_TICK && (!p->has_end || p->is_tick))) {
		p->has_end = true;
		p->is_tick = boundary == TRACE_TICK;
		p->end = *r;
		p->end_offset = offset;
	}
}

/* In a complete iteration a tick must not replace a missing end reading. */
static void drop_ticks(const struct profile_load *l)
{
	for (size_t i = 0; i < l->session_events->nr; i++)
		if (l->pairs[i].is_tick)
			l->pairs[i].has_end = l->pairs[i].is_tick = false;
	for (size_t i = 0; l->trace.further && i < nr_further(l); i++)
		if (l->further[i].is_tick)
			l->further[i].has_end = l->further[i].is_tick = false;
}

static int load_readings(struct profile_load *l, const struct trace_frame *f)
{
	enum trace_boundary boundary;
	struct reading reading;
	size_t nr;
	int rc = trace_decode_readings(f, &boundary, &nr);

	for (size_t i = 0; rc == 0 && i < nr; i++) {
		uint64_t offset = trace_reading_offset(f, i);
		struct profile_pair *p;

		trace_decode_reading(f, i, &reading);
		if (reading.flags & READING_OF_THREAD)
			continue; /* see switches.c */
		if (is_of_thing(l, &reading)) {
			if (boundary != TRACE_TICK) /* records.h reads ticks */
				rc = profile_things_add(&l->things, boundary, &reading, offset);
			continue;
		}
		if (!is_known(l, &reading)) {
			l->nr_foreign_readings++;
			continue;
		}
		p = pair_of(l, &reading);
		if (!p)
			return -ENOMEM;
		profile_pair_add(p, boundary, &reading, offset);
	}
	return rc;
}

static int load_note(struct profile_load *l, const struct trace_frame *f)
{
	char text[PROFILE_NOTE_BYTES];
	struct trace_note note;
	const char *copy;
	int rc = trace_decode_note(f, &note, text, sizeof(text));

	if (rc)
		return rc;
	if (l->trace.nr_notes == PROFILE_MAX_NOTES) {
		l->notes_dropped = true;
		return 0;
	}
	copy = arena_strdup(&l->notes, note.text);
	if (!copy)
		return -ENOMEM;
	l->trace.notes[l->trace.nr_notes++] = copy;
	return 0;
}

static int load_where(struct profile_load *l, const struct trace_frame *f)
{
	return trace_decode_where(f, &l->trace.where);
}

static int load_target(struct profile_load *l, const struct trace_frame *f)
{
	int rc = trace_decode_target(f, &l->target);

	l->trace.target = rc ? NULL : &l->target;
	return rc;
}

static int load_memory(struct profile_load *l, const struct trace_frame *f)
{
	int rc = l->nr_memory < PROFILE_MAX_MEMORY
		     ? trace_decode_memory(f, &l->memory[l->nr_memory])
		     : -EINVAL;

	if (rc)
		return rc;
	l->maps[l->nr_memory] = l->memory[l->nr_memory].map;
	l->trace.memory = l->maps;
	l->trace.nr_memory = ++l->nr_memory;
	return 0;
}

static void free_memory(struct profile_load *l)
{
	while (l->nr_memory)
		trace_memory_fini(&l->memory[--l->nr_memory]);
}

static int load_window(struct profile_load *l, const struct trace_frame *f)
{
	int rc = trace_decode_window(f, &l->window);

	l->trace.window = rc ? NULL : &l->window;
	return rc;
}

static int add_histogram(struct profile_load *l, const struct trace_histogram *h)
{
	struct trace_histogram *to;

	if (h->event >= l->session_events->nr)
		return -EINVAL;
	if (l->nr_histograms + l->nr_sizes == PROFILE_MAX_HISTOGRAMS)
		return -EFBIG;
	to = strcmp(l->session_events->item[h->event].group, "heap") == 0
		 ? MEM_ADD(l->sizes, l->nr_sizes, l->size_room)
		 : MEM_ADD(l->histograms, l->nr_histograms, l->histogram_room);
	if (!to)
		return -ENOMEM;
	*to = *h;
	return 0;
}

static int load_histogram(struct profile_load *l, const struct trace_frame *f)
{
	struct trace_histogram h;
	int rc = trace_decode_histogram(f, &h);

	if (rc)
		return rc;
	rc = add_histogram(l, &h);
	if (rc)
		trace_histogram_fini(&h);
	l->histograms_dropped |= rc == -EFBIG;
	return rc == -EFBIG ? 0 : rc;
}

static int add_function(struct profile_load *l, const struct trace_function_owned *f)
{
	struct trace_function_owned *to;

	if (f->function.event >= l->session_events->nr)
		return -EINVAL;
	if (l->nr_functions == PROFILE_MAX_FUNCTIONS)
		return -EFBIG;
	to = MEM_ADD(l->functions, l->nr_functions, l->function_room);
	if (!to)
		return -ENOMEM;
	*to = *f;
	return 0;
}

static int load_function(struct profile_load *l, const struct trace_frame *f)
{
	struct trace_function_owned v;
	int rc = trace_decode_function(f, &v);

	if (rc)
		return rc;
	rc = add_function(l, &v);
	if (rc)
		trace_function_fini(&v);
	l->functions_dropped |= rc == -EFBIG;
	return rc == -EFBIG ? 0 : rc;
}

static int add_value(struct profile_load *l, const struct trace_value_owned *v)
{
	struct trace_value_owned *to;

	if (v->value.event >= l->session_events->nr)
		return -EINVAL;
	if (l->nr_values == PROFILE_MAX_VALUES)
		return -EFBIG;
	to = MEM_ADD(l->values, l->nr_values, l->value_room);
	if (!to)
		return -ENOMEM;
	*to = *v;
	return 0;
}

static int load_value(struct profile_load *l, const struct trace_frame *f)
{
	struct trace_value_owned v;
	int rc = trace_decode_value(f, &v);

	if (rc)
		return rc;
	rc = add_value(l, &v);
	if (rc)
		trace_value_fini(&v);
	l->values_dropped |= rc == -EFBIG;
	return rc == -EFBIG ? 0 : rc;
}

static void free_functions(struct profile_load *l)
{
	while (l->nr_values)
		trace_value_fini(&l->values[--l->nr_values]);
	while (l->nr_functions)
		trace_function_fini(&l->functions[--l->nr_functions]);
}

static void free_histograms(struct profile_load *l)
{
	while (l->nr_histograms)
		trace_histogram_fini(&l->histograms[--l->nr_histograms]);
	while (l->nr_sizes)
		trace_histogram_fini(&l->sizes[--l->nr_sizes]);
}

static int load_end(struct profile_load *l, const struct trace_frame *f)
{
	struct trace_totals totals;
	int rc = trace_decode_end(f, &totals);

	if (rc)
		return rc;
	l->trace.start_ns = totals.start_ns;
	l->trace.end_ns = totals.end_ns;
	l->trace.is_cut = totals.is_cut;
	l->trace.cause = totals.cause;
	l->has_totals = true;
	return 0;
}

static int load_ids(struct profile_load *l, const struct trace_frame *f)
{
	struct trace_ids ids;
	int rc = trace_decode_ids(f, &ids);

	if (rc)
		return rc;
	trace_ids_fini(&l->ids);
	l->ids = ids;
	l->trace.ids = ids.item;
	l->trace.nr_ids = ids.nr;
	return 0;
}

static int load_sampling(struct profile_load *l, const struct trace_frame *f)
{
	struct trace_sampling sampling;
	int rc = trace_decode_sampling(f, &sampling);

	if (rc)
		return rc;
	sampling.held = l->sampling.held;
	sampling.divisor = l->sampling.divisor;
	trace_sampling_fini(&l->sampling);
	l->sampling = sampling;
	l->trace.sampling = &l->sampling;
	return 0;
}

static int load_held(struct profile_load *l, const struct trace_frame *f)
{
	return trace_decode_held(f, &l->sampling.held);
}

static int load_divisor(struct profile_load *l, const struct trace_frame *f)
{
	return trace_decode_divisor(f, &l->sampling.divisor);
}

/* Other kinds (the session's info, records, those of a newer cpuperf) are skipped. */
static int (*const loaders[])(struct profile_load *l, const struct trace_frame *f) = {
    [TRACE_FRAME_EVENTS] = load_events,
    [TRACE_FRAME_CLOCKS] = load_clocks,
    [TRACE_FRAME_READINGS] = load_readings,
    [TRACE_FRAME_NOTE] = load_note,
    [TRACE_FRAME_END] = load_end,
    [TRACE_FRAME_IDS] = load_ids,
    [TRACE_FRAME_SAMPLING] = load_sampling,
    [TRACE_FRAME_THINGS] = load_things,
    [TRACE_FRAME_WHERE] = load_where,
    [TRACE_FRAME_TARGET] = load_target,
    [TRACE_FRAME_HELD] = load_held,
    [TRACE_FRAME_WINDOW] = load_window,
    [TRACE_FRAME_HISTOGRAM] = load_histogram,
    [TRACE_FRAME_FUNCTION] = load_function,
    [TRACE_FRAME_VALUE] = load_value,
    [TRACE_FRAME_DIVISOR] = load_divisor,
    [TRACE_FRAME_MEMORY] = load_memory,
};

int profile_load_frame(struct profile_load *l, const struct trace_frame *f)
{
	if (f->kind < sizeof(loaders) / sizeof(loaders[0]) && loaders[f->kind])
		return loaders[f->kind](l, f);
	return 0;
}

static int load_frame(struct profile_load *l, const struct trace_frame *f)
{
	int rc = profile_load_frame(l, f);

	if (rc != -EINVAL)
		return rc;
	profile_faults_add_frame(&l->faults, f);
	return 0;
}

/* Loads all frames and reports damage. 0, -EPROTO (another session's), -ENOMEM. */
static int load_all(struct profile_load *l, struct trace_reader *r)
{
	struct trace_frame f;
	int rc;

	for (;;) {
		struct err e = {0};

		while (profile_times_pass(l->times, r, UINT64_MAX, UINT64_MAX))
			; /* samples that were read before say nothing new */
		rc = trace_reader_next(r, &f, &e);
		if (rc == 1)
			rc = load_frame(l, &f);
		else if (rc == 0 || rc == -ENOMEM)
			return rc;
		else
			profile_faults_add(&l->faults, &e);
		if (rc && rc != -EILSEQ)
			return rc == -ENOMEM || rc == -EPROTO ? rc : 0;
	}
}

/* Without an end frame the times are those of the readings. */
static void find_times(struct profile_load *l)
{
	for (size_t i = 0; i < l->session_events->nr; i++) {
		const struct profile_pair *p = &l->pairs[i];

		if (p->has_start && (!l->trace.start_ns || p->start.time_ns < l->trace.start_ns))
			l->trace.start_ns = p->start.time_ns;
		if (p->has_end && p->end.time_ns > l->trace.end_ns)
			l->trace.end_ns = p->end.time_ns;
	}
}

static void report(struct profile_load *l, bool is_whole)
{
	profile_faults_end(&l->faults, is_whole);
	if (l->things.is_full)
		profile_faults_lose(&l->faults, -EFBIG,
				    "has more things than can be stored: the rest is skipped");
	if (l->notes_dropped)
		profile_faults_lose(&l->faults, -EFBIG,
				    "has more notes than can be stored: the rest is skipped");
	if (l->histograms_dropped)
		profile_faults_lose(&l->faults, -EFBIG,
				    "has more histograms than can be stored: the rest is skipped");
	if (l->functions_dropped)
		profile_faults_lose(&l->faults, -EFBIG,
				    "has more functions than can be stored: the rest is skipped");
	if (l->values_dropped)
		profile_faults_lose(
		    &l->faults, -EFBIG,
		    "has more values of calls than can be stored: the rest is skipped");
	profile_faults_count(&l->faults, true, l->nr_foreign_readings,
			     "reading of unknown events: ignored",
			     "readings of unknown events: ignored");
}

void profile_load_begin(struct profile_load *l, const struct trace_head *head, const char *name)
{
	arena_fini(&l->notes);
	arena_init(&l->notes, NOTES_MAX_BYTES);
	trace_events_fini(&l->events);
	trace_ids_fini(&l->ids);
	trace_sampling_fini(&l->sampling);
	profile_things_reset(&l->things);
	free_histograms(l);
	free_functions(l);
	free_memory(l);
	if (l->session_events->nr)
		memset(l->pairs, 0, l->session_events->nr * sizeof(*l->pairs));
	if (l->trace.further)
		memset(l->further, 0, nr_further(l) * sizeof(*l->further));
	l->trace = (struct profile_trace){.where = {.package = -1, .node = -1},
					  .name = name,
					  .head = *head,
					  .events = l->session_events->item,
					  .pairs = l->pairs};
	l->has_totals = l->notes_dropped = l->histograms_dropped = l->functions_dropped = false;
	l->values_dropped = false;
	l->nr_foreign_readings = 0;
	l->faults.name = name;
	l->faults.nr = 0;
}

static void set_task_times(struct profile_load *l)
{
	for (size_t i = 0; i < l->session_events->nr; i++) {
		const struct trace_event *e = &l->session_events->item[i];
		struct profile_pair *p = &l->pairs[i];
		struct trace_layout layout;

		if (!e->attr_bytes || !trace_layout_init(&layout, e->attr, e->attr_bytes) ||
		    !layout.is_inherited)
			continue;
		reading_set_times(&p->start, &p->end,
				  l->trace.head.cpu == TRACE_ANY_CPU  ? READING_TIMES_OF_ANY_CPU
				  : layout.type == PERF_TYPE_SOFTWARE ? READING_TIMES_OF_KERNEL
								      : READING_TIMES_OF_TASKS);
	}
}

int profile_load_end(struct profile_load *l)
{
	int rc = profile_things_join(&l->things);

	if (rc)
		return rc;
	l->trace.things = l->things.item;
	l->trace.nr_things = l->things.nr;
	l->trace.histograms = l->histograms;
	l->trace.nr_histograms = l->nr_histograms;
	l->trace.sizes = l->sizes;
	l->trace.nr_sizes = l->nr_sizes;
	l->trace.functions = l->functions;
	l->trace.nr_functions = l->nr_functions;
	l->trace.values = l->values;
	l->trace.nr_values = l->nr_values;
	set_task_times(l);
	if (l->has_totals) {
		drop_ticks(l);
	} else {
		find_times(l);
		l->trace.is_cut = l->ids.nr; /* it grew until the session was killed */
	}
	return 0;
}

int profile_load_trace(struct profile_load *l, struct trace_reader *r, const char *name)
{
	int rc;

	profile_load_begin(l, trace_reader_head(r), name);
	rc = load_all(l, r);
	if (rc == -EPROTO)
		profile_faults_lose(&l->faults, rc,
				    "its events are not those of the session: ignored");
	if (rc == 0)
		rc = profile_load_end(l);
	if (rc)
		return rc == -EPROTO ? 0 : rc;
	if (trace_reader_is_short(r))
		profile_faults_short(&l->faults);
	report(l, trace_reader_is_whole(r));
	return 1;
}

int profile_load_init(struct profile_load *l, const struct trace_events *session_events,
		      const struct profile_faults *faults)
{
	struct profile_pair *pairs = mem_calloc(session_events->nr, sizeof(*pairs));

	if (!pairs)
		return -ENOMEM;
	*l = (struct profile_load){
	    .session_events = session_events,
	    .faults = *faults,
	    .pairs = pairs,
	};
	profile_things_init(&l->things);
	arena_init(&l->notes, NOTES_MAX_BYTES);
	return 0;
}

void profile_load_fini(struct profile_load *l)
{
	arena_fini(&l->notes);
	trace_events_fini(&l->events);
	trace_ids_fini(&l->ids);
	trace_sampling_fini(&l->sampling);
	profile_things_fini(&l->things);
	free_histograms(l);
	free_functions(l);
	free_memory(l);
	mem_free(l->histograms);
	mem_free(l->sizes);
	mem_free(l->functions);
	mem_free(l->values);
	mem_free(l->pairs);
	mem_free(l->further);
}
