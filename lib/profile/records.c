/*
 * A heap puts the items of a file in the order of their time, as far as the window goes. What waits
 * in it is copied from the frame, a slice at a time, and counted: neither a frame nor times that
 * are lies make it grow. Must not trust an id, an event, a time or a size from the file.
 */
#include "profile/records.h"

#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	SLICE_BYTES = 1 << 20,     /* taken from a frame at once; a record is shorter */
	MAX_HELD_BYTES = 64 << 20, /* with more waiting, the oldest do not wait longer */
	MAX_HELD = 1 << 18,
	MAX_RECORD_BYTES = UINT16_MAX, /* their size is 16 bits */
};

/* Bytes that several items are in. */
struct slice {
	size_t nr_items, len;
	uint8_t bytes[];
};

/* An item that waits. */
struct waiting {
	uint64_t time_ns, place; /* place: in the order of the file */
	uint64_t offset;
	struct slice *slice;
	uint32_t at; /* in the slice */
	uint32_t cpu;
	enum trace_ring ring;
	enum profile_item_kind kind;
};

/* An id, by which it is found, and the layout of its records. */
struct known_id {
	uint64_t id;
	const struct trace_id *what;
	struct trace_layout layout;
	bool has_layout;
};

struct profile_records {
	struct trace_reader *reader; /* owned */
	struct profile_records_config config;
	struct known_id *ids; /* owned; ordered */
	size_t nr_ids;
	const struct trace_layout
	    *any;                    /* what ends records that are no samples is the same for all */
	struct trace_id made_id;     /* where the file's are lost */
	const struct known_id *only; /* NULL: records name theirs */
	struct trace_layout side_band;

	/* The frame at hand, if it holds what is not taken yet. */
	struct trace_frame frame;
	const uint8_t *records;
	size_t at, len; /* in its records or readings: bytes, or numbers */
	enum trace_ring ring;
	uint32_t cpu;
	bool has_text, at_end, has_told;

	struct waiting *heap; /* owned; the oldest first */
	size_t nr, room, held_bytes;
	uint64_t next_place;
	uint64_t newest_ns;      /* of all that was taken */
	uint64_t ring_newest_ns; /* of the ring and CPU at hand */
	uint64_t last_ns;        /* of the record taken last */
	uint64_t given_ns;       /* of the youngest item given */
	struct slice *given;     /* that the item given last is in */
	struct profile_records_stats stats;
};

/* What the events frame has for part nr of an event. */
static bool find_layout(const struct trace_event *e, uint32_t nr, struct trace_layout *out)
{
	const uint8_t *p = e->attr, *end = p + e->attr_bytes;
	uint32_t size;

	for (; end - p >= 8; p += size) {
		memcpy(&size, p + 4, sizeof(size)); /* struct perf_event_attr: type, size */
		if (size < 8 || size > (size_t)(end - p))
			return false;
		if (nr-- == 0)
			return trace_layout_init(out, p, size);
	}
	return false;
}

static struct known_id know(const struct profile_records *r, const struct trace_id *what)
{
	struct known_id k = {.id = what->id, .what = what};

	if (what->event < r->config.nr_events)
		k.has_layout = find_layout(&r->config.events[what->event], what->attr, &k.layout);
	return k;
}

static int compare_ids(const void *a, const void *b)
{
	const struct known_id *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static bool is_sampled(const struct known_id *k)
{
	return k->has_layout && trace_layout_is_sampled(&k->layout);
}

/* Without the ids there is still the one event that is sampled. */
static void make_id(struct profile_records *r)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->config.nr_events; i++) {
		struct known_id k = know(r, &(struct trace_id){.event = (uint32_t)i});

		if (!is_sampled(&k))
			continue;
		nr++;
		r->made_id.event = (uint32_t)i;
	}
	if (nr != 1)
		return;
	r->ids[0] = know(r, &r->made_id);
	r->nr_ids = 1;
	r->only = &r->ids[0];
}

static int know_ids(struct profile_records *r)
{
	size_t nr = r->config.nr_ids;

	trace_layout_side_band(&r->side_band);
	r->ids = mem_calloc(nr + 1, sizeof(*r->ids));
	if (!r->ids)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		r->ids[i] = know(r, &r->config.ids[i]);
	r->nr_ids = nr;
	qsort(r->ids, nr, sizeof(*r->ids), compare_ids);
	if (!nr)
		make_id(r);
	for (size_t i = 0; i < nr && !r->only; i++)
		if (is_sampled(&r->ids[i]) && !trace_layout_has_identifier(&r->ids[i].layout))
			r->only = &r->ids[i];
	for (size_t i = 0; i < r->nr_ids && !r->any; i++)
		if (is_sampled(&r->ids[i]))
			r->any = &r->ids[i].layout;
	return 0;
}

int profile_records_open(struct trace_reader *reader, const struct profile_records_config *config,
			 struct profile_records **out)
{
	struct profile_records *r = mem_zalloc(sizeof(*r));
	int rc;

	if (!r) {
		trace_reader_close(reader);
		return -ENOMEM;
	}
	r->reader = reader;
	r->config = *config;
	rc = know_ids(r);
	if (rc)
		profile_records_close(r);
	else
		*out = r;
	return rc;
}

static void put_slice(struct profile_records *r, struct slice *s)
{
	if (!s || --s->nr_items)
		return;
	r->held_bytes -= s->len;
	mem_free(s);
}

void profile_records_close(struct profile_records *r)
{
	if (!r)
		return;
	put_slice(r, r->given);
	for (size_t i = 0; i < r->nr; i++)
		put_slice(r, r->heap[i].slice);
	trace_reader_close(r->reader);
	mem_free(r->heap);
	mem_free(r->ids);
	mem_free(r);
}

static bool is_before(const struct waiting *a, const struct waiting *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->place < b->place;
}

static int make_room(struct profile_records *r)
{
	size_t room = r->room ? 2 * r->room : 256;
	struct waiting *heap;

	if (r->nr < r->room)
		return 0;
	heap = mem_resize(r->heap, room * sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	r->heap = heap;
	r->room = room;
	return 0;
}

static int push(struct profile_records *r, const struct waiting *w)
{
	size_t i = r->nr, above;
	int rc = make_room(r);

	if (rc)
		return rc;
	for (; i && is_before(w, &r->heap[(i - 1) / 2]); i = above) {
		above = (i - 1) / 2;
		r->heap[i] = r->heap[above];
	}
	r->heap[i] = *w;
	r->nr++;
	return 0;
}

static struct waiting pop(struct profile_records *r)
{
	struct waiting first = r->heap[0], last = r->heap[--r->nr];
	size_t i = 0, below;

	for (; (below = 2 * i + 1) < r->nr; i = below) {
		if (below + 1 < r->nr && is_before(&r->heap[below + 1], &r->heap[below]))
			below++;
		if (!is_before(&r->heap[below], &last))
			break;
		r->heap[i] = r->heap[below];
	}
	r->heap[i] = last;
	return first;
}

/* The oldest of what waits can be given: nothing older is to be expected, or no more may wait. */
static bool may_give(const struct profile_records *r)
{
	if (!r->nr)
		return false;
	return r->at_end || r->held_bytes >= MAX_HELD_BYTES || r->nr >= MAX_HELD ||
	       (r->newest_ns >= r->config.window_ns &&
		r->heap[0].time_ns <= r->newest_ns - r->config.window_ns);
}

static const struct known_id *find_id(const struct profile_records *r, uint64_t id)
{
	return bsearch(&(struct known_id){.id = id}, r->ids, r->nr_ids, sizeof(*r->ids),
		       compare_ids);
}

/* NULL: not known. *id: whose the record is, or NULL. */
static const struct trace_layout *find_record_layout(const struct profile_records *r,
						     enum trace_ring ring, const uint8_t *p,
						     size_t len, const struct trace_id **id)
{
	const struct known_id *k = r->only;
	uint32_t kind = 0;

	*id = NULL;
	if (ring != TRACE_RING_SAMPLES)
		return &r->side_band;
	trace_record_size(p, len, &kind);
	if (!k)
		k = find_id(r, trace_record_identifier(p, len));
	if (kind == TRACE_RECORD_SAMPLE && !(k && k->has_layout))
		return NULL;
	if (k)
		*id = k->what;
	return k && k->has_layout ? &k->layout : r->any;
}

/* Without its layout a record is as much as its header and its kind say. */
static int decode(const struct profile_records *r, enum trace_ring ring, const uint8_t *p,
		  size_t len, struct trace_record *out, const struct trace_id **id)
{
	static const struct trace_layout nothing;
	const struct trace_layout *l = find_record_layout(r, ring, p, len, id);
	int rc = trace_record_decode(l ? l : &nothing, p, len, out);

	return !l && out->len ? 0 : rc;
}

/* How far times go back in a ring; and what a record without a time has. */
static uint64_t note_time(struct profile_records *r, const struct trace_record *record)
{
	uint64_t ns = record->has & TRACE_HAS_TIME ? record->time_ns : r->last_ns;

	if (ns > r->ring_newest_ns)
		r->ring_newest_ns = ns;
	else if (r->ring_newest_ns - ns > r->stats.max_disorder_ns)
		r->stats.max_disorder_ns = r->ring_newest_ns - ns;
	r->last_ns = ns;
	return ns;
}

static int add(struct profile_records *r, struct waiting *w, struct slice *s)
{
	int rc;

	w->place = r->next_place++;
	w->slice = s;
	rc = push(r, w);
	if (rc)
		return rc;
	s->nr_items++;
	if (w->time_ns > r->newest_ns)
		r->newest_ns = w->time_ns;
	return 0;
}

/* Puts the record at s->bytes + at into the heap; *size is 0 if nothing more can be found there. */
static int add_record(struct profile_records *r, struct slice *s, size_t at, size_t *size)
{
	struct waiting w = {.kind = PROFILE_RECORD,
			    .at = (uint32_t)at,
			    .offset = trace_record_offset(&r->frame, r->at + at),
			    .ring = r->ring,
			    .cpu = r->cpu};
	const struct trace_id *id;
	struct trace_record record;
	int rc = decode(r, r->ring, s->bytes + at, s->len - at, &record, &id);

	*size = record.len;
	if (rc) {
		r->stats.nr_senseless++;
		return 0;
	}
	r->stats.nr_foreign += r->ring == TRACE_RING_SAMPLES && !id;
	w.time_ns = note_time(r, &record);
	return add(r, &w, s);
}

/* The last record may be cut by the end of the slice: it is the next one's first. */
static int add_records(struct profile_records *r, struct slice *s)
{
	bool is_last = r->len - r->at == s->len;
	size_t at = 0, size = 0;
	int rc = 0;

	for (; at < s->len && rc == 0; at += size) {
		if (!is_last && s->len - at <= MAX_RECORD_BYTES)
			break;
		rc = add_record(r, s, at, &size);
		if (!size)
			break;
	}
	r->at = at < s->len && !size ? r->len : r->at + at;
	return rc;
}

static struct slice *slice_new(struct profile_records *r, size_t len)
{
	struct slice *s = mem_alloc(sizeof(*s) + len);

	if (!s)
		return NULL;
	s->nr_items = 1; /* the caller's */
	s->len = len;
	r->held_bytes += len;
	return s;
}

static size_t part_of(size_t left, size_t most)
{
	return left < most ? left : most;
}

static int take_records(struct profile_records *r)
{
	size_t len = part_of(r->len - r->at, SLICE_BYTES);
	struct slice *s = slice_new(r, len);
	int rc;

	if (!s)
		return -ENOMEM;
	memcpy(s->bytes, r->records + r->at, len);
	rc = add_records(r, s);
	put_slice(r, s);
	return rc;
}

static int add_reading(struct profile_records *r, struct slice *s, size_t i)
{
	struct waiting w = {.kind = PROFILE_READING,
			    .at = (uint32_t)(i * sizeof(struct reading)),
			    .offset = trace_reading_offset(&r->frame, r->at + i),
			    .cpu = r->cpu};
	struct reading reading;

	trace_decode_reading(&r->frame, r->at + i, &reading);
	if (reading.event >= r->config.nr_events) {
		r->stats.nr_foreign++;
		return 0;
	}
	memcpy(s->bytes + w.at, &reading, sizeof(reading));
	w.time_ns = reading.time_ns;
	return add(r, &w, s);
}

static int take_readings(struct profile_records *r)
{
	size_t nr = part_of(r->len - r->at, SLICE_BYTES / sizeof(struct reading));
	struct slice *s = slice_new(r, nr * sizeof(struct reading));
	int rc = 0;

	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < nr && rc == 0; i++)
		rc = add_reading(r, s, i);
	r->at += nr;
	put_slice(r, s);
	return rc;
}

/* Opens a frame; -EINVAL: it makes no sense. */
static int begin_records(struct profile_records *r, const struct trace_frame *f)
{
	enum trace_ring ring = r->ring;
	uint32_t cpu = r->cpu;
	int rc = trace_decode_records(f, &ring, &cpu, &r->records, &r->len);

	if (rc)
		return rc;
	if (ring != r->ring || cpu != r->cpu)
		r->ring_newest_ns = 0;
	r->ring = ring;
	r->cpu = cpu;
	return 0;
}

static int begin_readings(struct profile_records *r, const struct trace_frame *f)
{
	enum trace_boundary boundary;
	size_t nr;
	int rc = trace_decode_readings(f, &boundary, &nr);

	r->len = rc == 0 && boundary == TRACE_TICK ? nr : 0;
	return 0; /* who reads the boundaries says what is wrong */
}

static int begin_kallsyms(struct profile_records *r, const struct trace_frame *f)
{
	(void)f;
	r->has_text = true;
	return 0;
}

static const struct {
	int (*begin)(struct profile_records *r, const struct trace_frame *f);
	int (*take)(struct profile_records *r);
} frames[] = {
    [TRACE_FRAME_RECORDS] = {begin_records, take_records},
    [TRACE_FRAME_READINGS] = {begin_readings, take_readings},
    [TRACE_FRAME_KALLSYMS] = {begin_kallsyms, NULL},
};

static void begin_frame(struct profile_records *r, const struct trace_frame *f)
{
	r->at = r->len = 0;
	r->frame = *f;
	if (f->kind < sizeof(frames) / sizeof(frames[0]) && frames[f->kind].begin &&
	    frames[f->kind].begin(r, f))
		profile_faults_add_frame(&r->config.faults, f);
}

static void tell(const struct profile_records *r, bool is_loss, uint64_t nr, const char *what)
{
	struct err e = {0};

	if (!nr)
		return;
	err_set_at(&e, -EINVAL, r->config.faults.name, 0, 0, "%" PRIu64 " %s", nr, what);
	r->config.faults.problem(r->config.faults.arg, is_loss, &e);
}

static void tell_all(struct profile_records *r)
{
	if (r->has_told)
		return;
	r->has_told = true;
	profile_faults_end(&r->config.faults,
			   r->config.is_read_twice || trace_reader_is_whole(r->reader));
	tell(r, true, r->stats.nr_senseless, "records make no sense: left out");
	tell(r, true, r->stats.nr_foreign, "records of unknown events");
	tell(r, false, r->stats.nr_late, "records stand too late in the file: out of order");
}

/* The next frame, or what is left of the one at hand. 0 or -ENOMEM. */
static int take(struct profile_records *r)
{
	struct trace_frame f;
	struct err e = {0};
	int rc;

	if (r->at < r->len)
		return frames[r->frame.kind].take(r);
	rc = trace_reader_next(r->reader, &f, &e);
	if (rc == 1)
		begin_frame(r, &f);
	else if (rc == -ENOMEM)
		return rc;
	else if (rc && (rc != -EILSEQ || !r->config.is_read_twice))
		profile_faults_add(&r->config.faults, &e);
	r->at_end = rc != 1 && rc != -EILSEQ;
	return 0;
}

static void give_kallsyms(struct profile_records *r, struct profile_item *out)
{
	*out = (struct profile_item){
	    .kind = PROFILE_KALLSYMS, .offset = r->frame.offset, .cpu = UINT32_MAX};
	trace_decode_kallsyms(&r->frame, &out->text, &out->text_len);
	r->has_text = false;
}

static void give(struct profile_records *r, struct profile_item *out)
{
	struct waiting w = pop(r);
	const uint8_t *p = w.slice->bytes + w.at;

	*out = (struct profile_item){
	    .kind = w.kind, .time_ns = w.time_ns, .offset = w.offset, .ring = w.ring, .cpu = w.cpu};
	if (w.kind == PROFILE_READING)
		memcpy(&out->reading, p, sizeof(out->reading));
	else
		(void)decode(r, w.ring, p, w.slice->len - w.at, &out->record, &out->id);
	*(w.kind == PROFILE_READING ? &r->stats.nr_readings : &r->stats.nr_records) += 1;
	r->stats.nr_late += w.time_ns < r->given_ns;
	if (w.time_ns > r->given_ns)
		r->given_ns = w.time_ns;
	r->given = w.slice;
}

int profile_records_next(struct profile_records *r, struct profile_item *out)
{
	put_slice(r, r->given);
	r->given = NULL;
	for (;;) {
		int rc;

		if (may_give(r)) {
			give(r, out);
			return 1;
		}
		if (r->has_text) {
			give_kallsyms(r, out);
			return 1;
		}
		if (r->at_end) {
			tell_all(r);
			return 0;
		}
		rc = take(r);
		if (rc)
			return rc;
	}
}

const struct profile_records_stats *profile_records_stats(const struct profile_records *r)
{
	return &r->stats;
}

const struct trace_id *profile_member(const struct trace_id *ids, size_t nr_ids,
				      const struct trace_id *id, uint64_t i)
{
	const struct trace_id *first = id;

	if (!nr_ids || id < ids || id >= ids + nr_ids)
		return NULL;
	while (first > ids && first[-1].group == id->group)
		first--;
	if (i >= (uint64_t)(ids + nr_ids - first) || first[i].group != id->group)
		return NULL;
	return &first[i];
}
