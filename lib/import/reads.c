/*
 * Samples that hold the counts of their event's group (perf record -e '{a,b}:S'). As in perf, each
 * event of the group gets such a sample, with what it counted since its last one as the period; the
 * sampled one keeps its own, since it also counts while nobody can be sampled (a clock: idle CPUs).
 * The pass over the file follows the counts and notes those at the start of each slice; slices make
 * the samples. Both walk through the counts alike. Source: deliver_sample_group in
 * tools/perf/util/session.c of Linux. Must not trust a count or an id.
 */
#include "import/internal.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>

enum { WORD = PERF_ABI_WORD_BYTES };

#define ATTR_FIELD(field)                                                                          \
	{                                                                                          \
		offsetof(struct perf_event_attr, field),                                           \
		    sizeof(((struct perf_event_attr *)0)->field)                                   \
	}

/* What the layout of samples depends on. */
static const struct {
	size_t at, len;
} of_layout[] = {
    ATTR_FIELD(sample_type),      ATTR_FIELD(read_format),       ATTR_FIELD(branch_sample_type),
    ATTR_FIELD(sample_regs_user), ATTR_FIELD(sample_stack_user), ATTR_FIELD(sample_regs_intr),
    ATTR_FIELD(sample_max_stack),
};

/* The newest records of a ring that is overwritten come first, so their counts fall. */
bool import_reads_are_in(const struct import_event *ev)
{
	const uint64_t format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	uint64_t flags;

	memcpy(&flags, ev->attr + PERF_ABI_ATTR_BITS_AT, sizeof(flags));
	return ev->has_layout && perf_abi_has(ev->layout.sample_type, PERF_ABI_READ) &&
	       (ev->layout.read_format & format) == format && trace_layout_has_id(&ev->layout) &&
	       !(le64toh(flags) & PERF_ABI_ATTR_WRITE_BACKWARD);
}

static bool is_alike(const struct trace_layout *a, const struct trace_layout *b)
{
	return a->sample_type == b->sample_type && a->read_format == b->read_format &&
	       a->branch_sample_type == b->branch_sample_type && a->user_regs == b->user_regs &&
	       a->intr_regs == b->intr_regs;
}

/* The id at the end of records other than samples. */
static bool has_like_ids(const struct trace_layout *a, const struct trace_layout *b)
{
	uint64_t fields = 0;

	for (size_t i = 0; i < PERF_ABI_NR_ID_FIELDS; i++)
		fields |= perf_abi_fields[perf_abi_id_fields[i]].asked;
	return a->has_sample_id == b->has_sample_id &&
	       !((a->sample_type ^ b->sample_type) & fields);
}

bool import_reads_decode(const struct import *im, const struct import_event *ev, const uint8_t *p,
			 size_t len, struct import_reads *out)
{
	const struct trace_layout *l = &ev->layout;
	const bool is_complete = perf_abi_has(l->sample_type, PERF_ABI_TIME) &&
				 perf_abi_has(l->sample_type, PERF_ABI_PERIOD);
	struct trace_record r;

	if (trace_record_decode(l, p, len, &r) || !is_alike(&im->events[ev->shape].layout, l) ||
	    (!is_complete && len > PERF_ABI_MAX_RECORD_BYTES - 2 * WORD))
		return false;
	*out = (struct import_reads){
	    .values = r.read_values,
	    .nr = r.nr_read < IMPORT_MAX_PARTS ? r.nr_read : IMPORT_MAX_PARTS,
	    .is_cut = r.nr_read > IMPORT_MAX_PARTS,
	    .stride = r.read_stride,
	    .event = (uint32_t)(ev - im->events),
	    /* an inherited event counts each task by itself */
	    .tid = l->is_inherited && r.has & TRACE_HAS_TID ? r.tid : 0,
	    .id = r.id,
	    .own_period = r.period     ? r.period
			  : l->is_freq ? 0
				       : l->period,
	    .period = r.period    ? r.period
		      : l->period ? l->period
				  : 1,
	};
	return true;
}

/* A sample is of the layout of the event that was sampled. */
static bool fits(const struct import *im, const struct import_event *ev, uint32_t sampled)
{
	const struct trace_layout *l = &im->events[sampled].layout;

	return ev->has_layout && has_like_ids(&ev->layout, l) &&
	       is_alike(&im->events[ev->shape].layout, l);
}

bool import_reads_part(struct import *im, const struct import_reads *g, uint64_t i,
		       struct import_part *out)
{
	const uint8_t *value = g->values + i * g->stride * WORD;
	const struct import_id *id = import_find_id(im, trace_word(value, 1));

	if (!id || !fits(im, &im->events[id->event], g->event))
		return false;
	*out = (struct import_part){.id = id->id, .tid = g->tid, .event = id->event};
	out->value = trace_word(value, 0);
	return true;
}

/* An event that is not sampled itself takes the layout of the first that is sampled for it. */
static void set_shape(struct import *im, const struct import_reads *g, uint64_t i)
{
	const uint8_t *value = g->values + i * g->stride * WORD;
	const struct import_id *id = import_find_id(im, trace_word(value, 1));
	struct import_event *ev = id ? &im->events[id->event] : NULL;

	if (ev && ev->has_layout && !ev->is_of_reads && !ev->nr_samples &&
	    !trace_layout_is_sampled(&ev->layout) &&
	    has_like_ids(&ev->layout, &im->events[g->event].layout))
		ev->shape = g->event;
}

uint64_t import_reads_period(uint64_t *last, const struct import_reads *g,
			     const struct import_part *part)
{
	/* the counter of a task that got the number of an earlier one begins anew */
	uint64_t period = part->value < *last ? part->value : part->value - *last;

	*last = part->value;
	return period && g->own_period && part->event == g->event ? g->own_period : period;
}

/* The count so far; NULL: there is no room for it. The first in a slice is noted. 0 or -ENOMEM. */
static int find_count(struct import *im, size_t slice, const struct import_part *part,
		      struct import_count **out)
{
	struct import_count key = {.id = part->id, .tid = part->tid}, *c, *start;

	*out = NULL;
	c = dict_get(&im->counts, &key);
	if (!c && im->counts.nr < IMPORT_MAX_COUNTS)
		return -ENOMEM;
	im->counts_are_full |= !c || im->nr_starts == 2 * (size_t)IMPORT_MAX_COUNTS;
	if (im->counts_are_full && (!c || c->slice != slice + 1))
		return 0;
	*out = c;
	if (c->slice == slice + 1)
		return 0;
	start = MEM_ADD(im->starts, im->nr_starts, im->starts_room);
	if (!start)
		return -ENOMEM;
	c->slice = (uint32_t)slice + 1;
	*start = *c;
	return 0;
}

static void count(struct import_event *ev, uint64_t period, bool is_idle)
{
	ev->nr_samples++;
	ev->nr_idle += is_idle;
	ev->weight += period;
}

int import_reads_note(struct import *im, size_t slice, const struct import_reads *g, bool is_idle)
{
	bool has_part = false;

	im->has_reads = true;
	im->has_long_groups |= g->is_cut;
	im->events[g->event].is_of_reads = true;
	for (uint64_t i = 0; i < g->nr; i++) {
		struct import_part part;
		struct import_count *c;
		uint64_t period;

		set_shape(im, g, i);
		if (!import_reads_part(im, g, i, &part))
			continue;
		has_part = true;
		if (find_count(im, slice, &part, &c))
			return -ENOMEM;
		period = c ? import_reads_period(&c->value, g, &part) : 0;
		im->events[part.event].is_of_reads = true;
		if (period)
			count(&im->events[part.event], period, is_idle);
		im->facts.nr_samples += period != 0;
	}
	if (!has_part)
		count(&im->events[g->event], g->period, is_idle);
	im->facts.nr_samples += !has_part;
	return 0;
}

static void put_word(uint8_t *p, uint64_t sample_type, enum perf_abi_field f, uint64_t v)
{
	size_t at = IMPORT_HEADER_BYTES + WORD * (size_t)perf_abi_sample_place(sample_type, f);

	v = htole64(v);
	if (perf_abi_has(sample_type, f))
		memcpy(p + at, &v, sizeof(v));
}

size_t import_reads_put(const struct import *im, const struct import_reads *g, const uint8_t *base,
			size_t len, uint64_t id, uint64_t period, uint8_t *out)
{
	uint64_t type = im->events[g->event].layout.sample_type;
	size_t before, added;
	uint16_t size;

	type |= im->is_timeless ? PERF_SAMPLE_TIME : 0;
	before = IMPORT_HEADER_BYTES + WORD * (size_t)perf_abi_sample_place(type, PERF_ABI_PERIOD);
	added = perf_abi_has(type, PERF_ABI_PERIOD) ? 0 : WORD;
	memcpy(out, base, before);
	memcpy(out + before + added, base + before, len - before);
	len += added;
	size = htole16((uint16_t)len);
	memcpy(out + 6, &size, sizeof(size));
	put_word(out, type | PERF_SAMPLE_PERIOD, PERF_ABI_PERIOD, period);
	put_word(out, type, PERF_ABI_IDENTIFIER, id);
	put_word(out, type, PERF_ABI_ID, id);
	return len;
}

static uint64_t attr_word(const struct import_event *ev, size_t at)
{
	uint64_t v;

	memcpy(&v, ev->attr + at, sizeof(v));
	return le64toh(v);
}

static void set_attr_word(struct import_event *ev, size_t at, uint64_t v)
{
	v = htole64(v);
	memcpy(ev->attr + at, &v, sizeof(v));
}

static void take_layout(struct import_event *ev, const struct import_event *from)
{
	for (size_t i = 0; i < sizeof(of_layout) / sizeof(of_layout[0]); i++)
		memcpy(ev->attr + of_layout[i].at, from->attr + of_layout[i].at, of_layout[i].len);
	if (from->attr_bytes > ev->attr_bytes) {
		const uint32_t size = htole32(from->attr_bytes);

		ev->attr_bytes = from->attr_bytes;
		memcpy(ev->attr + offsetof(struct perf_event_attr, size), &size, sizeof(size));
	}
}

/* It is sampled when the other is: as often, or with each period of that one. */
static void take_rate(struct import_event *ev, const struct import_event *from)
{
	const size_t period_at = offsetof(struct perf_event_attr, sample_period);
	uint64_t flags = attr_word(ev, PERF_ABI_ATTR_BITS_AT) & ~PERF_ABI_ATTR_FREQ;
	uint64_t period = 1;

	if (from->layout.is_freq) {
		flags |= PERF_ABI_ATTR_FREQ;
		period = attr_word(from, period_at);
	}
	set_attr_word(ev, period_at, period);
	set_attr_word(ev, PERF_ABI_ATTR_BITS_AT, flags);
}

void import_reads_set_attrs(struct import *im)
{
	const size_t type_at = offsetof(struct perf_event_attr, sample_type);

	for (size_t i = 0; i < im->nr_events; i++) {
		struct import_event *ev = &im->events[i];

		if (!ev->is_of_reads)
			continue;
		if (ev->shape != i)
			take_layout(ev, &im->events[ev->shape]);
		if (!trace_layout_is_sampled(&ev->layout))
			take_rate(ev, &im->events[ev->shape]);
		set_attr_word(ev, type_at, attr_word(ev, type_at) | PERF_SAMPLE_PERIOD);
		/* periods no longer depend on the task */
		set_attr_word(ev, PERF_ABI_ATTR_BITS_AT,
			      attr_word(ev, PERF_ABI_ATTR_BITS_AT) & ~PERF_ABI_ATTR_INHERIT);
	}
}
