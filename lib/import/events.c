/*
 * The events of a file: their attrs in our byte order, their ids, and names for those without one.
 * Must not know where in the file they were.
 */
#include "import/internal.h"

#include "base/mem.h"
#include "base/order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* attr.size is 0 in files of perf that knew the first version only. */
static int read_attr(const struct import *im, struct import_event *ev, const uint8_t *attr,
		     size_t len)
{
	enum { SIZE_AT = offsetof(struct perf_event_attr, size) };
	uint32_t size;

	if (len < IMPORT_ATTR_MIN_BYTES)
		return -EINVAL;
	memcpy(&size, attr + SIZE_AT, sizeof(size));
	size = im->facts.is_big_endian ? be32toh(size) : le32toh(size);
	if (!size)
		size = IMPORT_ATTR_MIN_BYTES;
	if (size > len)
		size = (uint32_t)len;
	if (size > IMPORT_ATTR_BYTES)
		size = IMPORT_ATTR_BYTES;
	if (size < IMPORT_ATTR_MIN_BYTES)
		return -EINVAL;
	ev->attr_bytes = size & ~7u;
	memcpy(ev->attr, attr, ev->attr_bytes);
	if (im->facts.is_big_endian)
		import_swap_attr(ev->attr, ev->attr_bytes);
	size = htole32(ev->attr_bytes); /* readers stay within what is stored */
	memcpy(ev->attr + SIZE_AT, &size, sizeof(size));
	return 0;
}

int import_add_event(struct import *im, const void *attr, size_t len, uint32_t *event)
{
	struct import_event ev = {.leader = (uint32_t)im->nr_events,
				  .shape = (uint32_t)im->nr_events};
	void *grown;
	int rc;

	if (im->nr_events == IMPORT_MAX_EVENTS)
		return -EFBIG;
	rc = read_attr(im, &ev, attr, len);
	if (rc)
		return rc;
	grown = mem_grow(im->events, im->nr_events, &im->events_room, sizeof(*im->events));
	if (!grown)
		return -ENOMEM;
	im->events = grown;
	ev.has_layout = trace_layout_init(&ev.layout, ev.attr, ev.attr_bytes);
	if (ev.has_layout) {
		trace_layout_id_place(&ev.layout, &ev.id_place);
		trace_layout_place(&ev.layout, PERF_ABI_TIME, &ev.time_place);
		trace_layout_place(&ev.layout, PERF_ABI_TID, &ev.task_place);
		trace_layout_place(&ev.layout, PERF_ABI_PERIOD, &ev.period_place);
	}
	ev.has_reads = import_reads_are_in(&ev);
	im->has_groups |= ev.has_reads;
	*event = (uint32_t)im->nr_events;
	im->events[im->nr_events++] = ev;
	im->ids_are_sorted = false;
	return 0;
}

int import_add_id(struct import *im, uint64_t id, uint32_t event)
{
	uint32_t place = 0;
	void *grown;

	/* slices divide samples as the pass over the file did */
	if (im->has_groups && im->facts.nr_samples)
		return 0;
	if (im->nr_ids == IMPORT_MAX_IDS) {
		im->has_skipped_ids = true;
		return 0;
	}
	grown = mem_grow(im->ids, im->nr_ids, &im->ids_room, sizeof(*im->ids));
	if (!grown)
		return -ENOMEM;
	im->ids = grown;
	if (im->nr_ids && im->ids[im->nr_ids - 1].event == event)
		place = im->ids[im->nr_ids - 1].place + 1;
	im->ids[im->nr_ids++] = (struct import_id){id, event, place};
	im->ids_are_sorted = false;
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	const struct import_id *x = a, *y = b;

	return order_u64(x->id, y->id) ?: order_u64(x->event, y->event);
}

/* An id that both the attr and its description list counts once. */
void import_ids_sort(struct import *im)
{
	size_t nr = 0;

	if (im->ids_are_sorted)
		return;
	if (im->nr_ids)
		qsort(im->ids, im->nr_ids, sizeof(*im->ids), compare_ids);
	for (size_t i = 0; i < im->nr_ids; i++)
		if (!nr || im->ids[nr - 1].id != im->ids[i].id)
			im->ids[nr++] = im->ids[i];
	im->nr_ids = nr;
	im->any = NULL;
	im->made = (struct import_event){.has_layout = false};
	for (size_t i = 0; i < im->nr_events; i++) {
		const struct import_event *ev = &im->events[i];
		bool has_build_id = im->made.layout.has_build_id;

		if (!ev->has_layout)
			continue;
		if (!im->made.has_layout)
			im->made = *ev;
		im->made.layout.has_build_id = has_build_id || ev->layout.has_build_id;
		if (!im->any && trace_layout_is_sampled(&ev->layout))
			im->any = ev;
	}
	im->ids_are_sorted = true;
}

static int compare_id(const void *key, const void *item)
{
	const uint64_t *id = key;
	const struct import_id *x = item;

	return *id < x->id ? -1 : *id > x->id;
}

const struct import_id *import_find_id(struct import *im, uint64_t id)
{
	import_ids_sort(im);
	return im->nr_ids ? bsearch(&id, im->ids, im->nr_ids, sizeof(*im->ids), compare_id) : NULL;
}

/* perf places the ids of all events alike. */
const struct import_event *import_event_of(struct import *im, const uint8_t *p, size_t len)
{
	const struct import_id *id;

	import_ids_sort(im);
	if (!im->any || !im->any->id_place.is_there)
		return im->any;
	id = import_find_id(im, trace_record_word(&im->any->id_place, p, len));
	if (id && id->event < im->nr_events && im->events[id->event].has_layout)
		return &im->events[id->event];
	return im->nr_events == 1 ? im->any : NULL;
}

const struct import_event *import_layout_of(struct import *im, const uint8_t *p, size_t len)
{
	const struct import_event *ev = NULL;
	uint32_t kind = 0;

	import_ids_sort(im);
	trace_record_size(p, len, &kind);
	if (kind == PERF_RECORD_SAMPLE || (im->any && im->any->layout.has_sample_id))
		ev = import_event_of(im, p, len);
	return ev ? ev : im->made.has_layout ? &im->made : NULL;
}

/* As perf calls them. */
static const char *const hardware[] = {"cycles",
				       "instructions",
				       "cache-references",
				       "cache-misses",
				       "branches",
				       "branch-misses",
				       "bus-cycles",
				       "stalled-cycles-frontend",
				       "stalled-cycles-backend",
				       "ref-cycles"};
static const char *const software[] = {
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};

void import_name_events(struct import *im)
{
	const uint64_t nr_hardware = sizeof(hardware) / sizeof(hardware[0]);
	const uint64_t nr_software = sizeof(software) / sizeof(software[0]);

	for (size_t i = 0; i < im->nr_events; i++) {
		struct import_event *ev = &im->events[i];
		const struct trace_layout *l = &ev->layout;

		if (ev->name && *ev->name)
			continue;
		if (ev->has_layout && l->type == PERF_TYPE_HARDWARE &&
		    (l->config & UINT32_MAX) < nr_hardware)
			ev->name = hardware[l->config & UINT32_MAX];
		else if (ev->has_layout && l->type == PERF_TYPE_SOFTWARE && l->config < nr_software)
			ev->name = software[l->config];
		else
			ev->name = arena_printf(&im->arena, "type%" PRIu32 ":r%" PRIx64, l->type,
						l->config);
		if (!ev->name)
			ev->name = "event";
	}
}
