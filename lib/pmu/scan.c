/*
 * Counting the records of a ring.
 */
#include "pmu/scan.h"

#include "base/order.h"
#include "base/perf_abi.h"
#include "base/wait_weight.h"

#include <stdlib.h>

enum {
	HEADER_BYTES = PERF_ABI_HEADER_BYTES,
	INTERPRETED_TIME_AT = HEADER_BYTES + 2 * PERF_ABI_WORD_BYTES, /* IDENTIFIER, TID, TIME */
};

/* In bytes from the start of the record; 0: samples do not have the field. */
static uint16_t place_of(const struct perf_event_attr *attr, enum perf_abi_field f)
{
	if (!perf_abi_has(attr->sample_type, f))
		return 0;
	return (uint16_t)(HEADER_BYTES +
			  PERF_ABI_WORD_BYTES * perf_abi_sample_place(attr->sample_type, f));
}

/* The first field of variable length; samples of waits have no READ. */
static uint16_t place_of_lists(const struct perf_event_attr *attr)
{
	return (uint16_t)(HEADER_BYTES +
			  PERF_ABI_WORD_BYTES *
			      perf_abi_sample_place(attr->sample_type, PERF_ABI_READ));
}

void pmu_scan_event_init(struct pmu_scan_event *e, const struct perf_event_attr *attr)
{
	bool is_wait = perf_abi_wait(attr->type, attr->config, attr->config1) >= 0;

	*e = (struct pmu_scan_event){.period = is_wait || attr->freq ? 0 : attr->sample_period,
				     .tid_at = place_of(attr, PERF_ABI_TID),
				     .time_at = place_of(attr, PERF_ABI_TIME),
				     .period_at = place_of(attr, PERF_ABI_PERIOD),
				     .raw_at = is_wait ? place_of_lists(attr) : 0,
				     .has_callchain = attr->sample_type & PERF_SAMPLE_CALLCHAIN,
				     .mean_ns = attr->sample_period,
				     .shares_data = perf_abi_shares_data(attr->type, attr->config)};
}

static struct perf_event_header header_at(const struct pmu_view *v, uint64_t at)
{
	uint64_t word = pmu_view_word(v, at);
	struct perf_event_header h;

	memcpy(&h, &word, sizeof(h));
	return h;
}

uint64_t pmu_record_bytes(const struct pmu_view *v, uint64_t at, uint64_t to)
{
	uint16_t size;

	if (to - at < HEADER_BYTES)
		return 0;
	size = header_at(v, at).size;
	return size < HEADER_BYTES || size % 8 || size > to - at ? 0 : size;
}

static int compare_ids(const void *a, const void *b)
{
	const struct pmu_scan_id *x = a, *y = b;

	return order_u64(x->id, y->id);
}

void pmu_scan_sort(struct pmu_scan *s)
{
	if (s->nr_ids)
		qsort(s->ids, s->nr_ids, sizeof(*s->ids), compare_ids);
}

/* NULL if no event has the id. */
static const struct pmu_scan_id *find(const struct pmu_scan *s, uint64_t id)
{
	const struct pmu_scan_id key = {.id = id};

	return s->nr_ids ? bsearch(&key, s->ids, s->nr_ids, sizeof(key), compare_ids) : NULL;
}

/* The only event that shares its data with other sessions, whose id its samples may have; NULL:
 * none, or several. */
static struct pmu_scan_event *find_sharing(const struct pmu_scan *s)
{
	struct pmu_scan_event *only = NULL;

	for (uint32_t i = 0; i < s->nr_events; i++) {
		if (s->events[i].shares_data && only)
			return NULL;
		if (s->events[i].shares_data)
			only = &s->events[i];
	}
	return only;
}

static bool is_interpreted(const struct pmu_scan *s, const struct pmu_view *v, uint64_t at)
{
	return s->interpreted_id && pmu_view_word(v, at + HEADER_BYTES) == s->interpreted_id;
}

static struct pmu_scan_event *event_of_sample(const struct pmu_scan *s, const struct pmu_view *v,
					      uint64_t at, uint16_t size)
{
	const struct pmu_scan_id *id;

	if (!s->has_identifier)
		return s->events;
	if (size < 2 * HEADER_BYTES || is_interpreted(s, v, at))
		return NULL;
	id = find(s, pmu_view_word(v, at + HEADER_BYTES));
	return id ? &s->events[id->event] : find_sharing(s);
}

/* 0 if the record is too short to have it. */
static uint64_t word_of(const struct pmu_view *v, uint64_t at, uint16_t size, uint16_t place)
{
	return place && place + sizeof(uint64_t) <= size ? pmu_view_word(v, at + place) : 0;
}

/* The raw data begins with its length, in 32 bits, and then the ns of the wait. */
static uint64_t weight_of_wait(const struct pmu_scan_event *e, const struct pmu_view *v,
			       uint64_t at, uint16_t size)
{
	uint64_t place = e->raw_at, nr;

	if (e->has_callchain) {
		nr =
		    place + PERF_ABI_WORD_BYTES <= size ? pmu_view_word(v, at + place) : UINT16_MAX;
		place += PERF_ABI_WORD_BYTES * (1 + (nr < UINT16_MAX ? nr : UINT16_MAX));
	}
	if (place + 2 * PERF_ABI_WORD_BYTES > size)
		return 0;
	return wait_word_weight(pmu_view_word(v, at + place) >> 32 |
				    pmu_view_word(v, at + place + PERF_ABI_WORD_BYTES) << 32,
				e->mean_ns);
}

/* Its last words are TID, TIME and, where several events share the ring, IDENTIFIER. */
bool pmu_scan_switch(const struct pmu_scan *s, const struct pmu_view *v, uint64_t at,
		     struct pmu_scan_switch *out)
{
	struct perf_event_header h = header_at(v, at);
	uint16_t tail = s->has_identifier ? 24 : 16;
	uint64_t ids;

	if (h.type != PERF_RECORD_SWITCH || h.size < HEADER_BYTES + tail)
		return false;
	ids = pmu_view_word(v, at + h.size - tail);
	*out = (struct pmu_scan_switch){
	    .pid = (uint32_t)ids,
	    .tid = (uint32_t)(ids >> 32),
	    .time_ns = pmu_view_word(v, at + h.size - tail + PERF_ABI_WORD_BYTES),
	    .is_blocked = h.misc & PERF_RECORD_MISC_SWITCH_OUT &&
			  !(h.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)};
	return true;
}

static void note_switch(struct pmu_scan *s, const struct pmu_view *v, uint64_t at,
			const struct perf_event_header *h)
{
	struct pmu_scan_switch sw;

	if (s->tids && !(h->misc & PERF_RECORD_MISC_SWITCH_OUT) && pmu_scan_switch(s, v, at, &sw))
		s->tids->slot[sw.tid % PMU_SCAN_SLOTS] = sw.tid;
}

static void count_record(struct pmu_scan *s, const struct pmu_view *v, uint64_t at,
			 const struct perf_event_header *h)
{
	const struct pmu_scan_id *id;
	struct pmu_scan_event *e;
	uint64_t wait;

	s->records++;
	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		e = event_of_sample(s, v, at, h->size);
		wait = e && e->raw_at ? weight_of_wait(e, v, at, h->size) : 0;
		if (!e || (e->raw_at && !wait)) /* a thread that was seen blocked is no sample */
			break;
		e->samples++;
		e->idle += word_of(v, at, h->size, e->tid_at) == 0; /* the idle task's */
		e->weight += e->raw_at   ? wait
			     : e->period ? e->period
					 : word_of(v, at, h->size, e->period_at);
		break;
	case PERF_RECORD_SWITCH:
		note_switch(s, v, at, h);
		break;
	case PERF_RECORD_LOST: /* id, lost */
		s->lost += word_of(v, at, h->size, 16);
		break;
	case PERF_RECORD_LOST_SAMPLES: /* lost */
		s->lost += word_of(v, at, h->size, 8);
		break;
	case PERF_RECORD_THROTTLE: /* time, id, stream_id */
	case PERF_RECORD_UNTHROTTLE:
		id = find(s, word_of(v, at, h->size, 16));
		e = id ? &s->events[id->event] : NULL;
		if (e)
			*(h->type == PERF_RECORD_THROTTLE ? &e->throttled : &e->unthrottled) += 1;
		break;
	}
}

/* Records other than samples end with TID, TIME and, where several events share the ring,
 * IDENTIFIER. */
uint64_t pmu_scan_time_ns(const struct pmu_scan *s, const struct pmu_view *v, uint64_t at)
{
	struct perf_event_header h = header_at(v, at);
	const struct pmu_scan_event *e;
	uint16_t tail = s->has_identifier ? 16 : 8;

	if (h.type != PERF_RECORD_SAMPLE)
		return h.size < HEADER_BYTES + tail ? 0 : pmu_view_word(v, at + h.size - tail);
	if (h.size >= INTERPRETED_TIME_AT + PERF_ABI_WORD_BYTES && is_interpreted(s, v, at))
		return pmu_view_word(v, at + INTERPRETED_TIME_AT);
	e = event_of_sample(s, v, at, h.size);
	return e ? word_of(v, at, h.size, e->time_at) : 0;
}

uint64_t pmu_scan_count(struct pmu_scan *s, const struct pmu_view *v, uint64_t from, uint64_t to,
			uint64_t max_bytes)
{
	uint64_t at = from;

	while (at < to) {
		struct perf_event_header h;
		uint64_t bytes = pmu_record_bytes(v, at, to);

		if (!bytes) /* invalid: the rest is returned too, in pieces of max_bytes */
			return to - from > max_bytes ? at > from ? at : from + (max_bytes & ~7ull)
						     : to;
		if (at > from && at + bytes - from > max_bytes)
			break;
		h = header_at(v, at);
		count_record(s, v, at, &h);
		at += bytes;
	}
	return at;
}
