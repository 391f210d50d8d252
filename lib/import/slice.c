/*
 * The records of a slice as frames: runs of consecutive records of a ring, in place in the window.
 * Records between them (perf's own; tasks and mappings) are skipped.
 */
#include "import/internal.h"

#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>

enum {
	FRAME_HEAD_BYTES = 8,
	OFFSET_BYTES = 24, /* of a frame in a file: its header, its head */
	COPIES_BYTES = 1 << 20,
	WORD_BYTES = 8,
};

/* The sample that is being divided among the events of its group. */
struct dividing {
	struct import_reads reads;
	uint64_t at;   /* the next of its counts */
	uint8_t *base; /* owned; the sample but for its period; NULL: there are no groups */
	size_t base_bytes;
	bool is_whole; /* none of its counts is known so far, and it was not written */
};

struct slice {
	struct import *im;
	struct import_walk walk;
	void *frames; /* owned */
	uint64_t start, before;
	bool has_failed;
	uint8_t *copies; /* owned; records that are completed; NULL: they are as they should be */
	struct dict counts;    /* struct import_count: the last of each */
	struct dividing group; /* in work */
};

static void close_slice(void *arg)
{
	struct slice *s = arg;

	import_walk_fini(&s->walk);
	mem_free(s->frames);
	mem_free(s->copies);
	mem_free(s->group.base);
	dict_fini(&s->counts);
	mem_free(s);
}

/* What is needed to change records. */
static bool make_copies(struct slice *s, const struct import_slice *of)
{
	const struct import *im = s->im;
	bool is_made = true;

	if (im->is_timeless || im->deferred.nr || im->has_reads) {
		s->copies = mem_alloc(COPIES_BYTES + 2 * (1 << 16));
		is_made = s->copies != NULL;
	}
	if (im->has_reads) {
		s->group.base = mem_alloc(2 * (1 << 16));
		is_made &= s->group.base != NULL;
	}
	dict_init(&s->counts, sizeof(struct import_count), DICT_KEY(struct import_count, tid),
		  IMPORT_MAX_COUNTS);
	for (size_t i = 0; i < of->nr_starts && is_made; i++) {
		const struct import_count *from = &im->starts[of->first_start + i];
		struct import_count *c = dict_get(&s->counts, from);

		is_made = c != NULL;
		if (c)
			c->value = from->value;
	}
	return is_made;
}

void *import_slice_new(struct import *im, const struct import_slice *s, void *frames)
{
	struct slice *slice = mem_zalloc(sizeof(*slice));

	if (!slice)
		return NULL;
	slice->im = im;
	slice->start = s->start;
	slice->before = s->before;
	slice->walk = (struct import_walk){
	    .fd = s->fd, .is_big = im->facts.is_big_endian, .at = s->start, .end = s->end};
	if (!make_copies(slice, s)) {
		close_slice(slice);
		return NULL;
	}
	slice->frames = frames;
	return slice;
}

static bool is_of_ring(struct slice *s, const struct import_record *r)
{
	if (r->type >= IMPORT_USER_TYPES || r->size % 8 || import_is_side_band(r->type))
		return false;
	return !s->walk.is_big || import_swap(s->im, r);
}

static void make_frame(const struct slice *s, uint8_t *p, uint64_t at, size_t len,
		       struct trace_frame *out)
{
	/* of a ring of samples without a CPU; the 8 bytes before the records were returned already
	 */
	const uint32_t head[2] = {htole32(TRACE_RING_SAMPLES), htole32(UINT32_MAX)};

	memcpy(p - FRAME_HEAD_BYTES, head, sizeof(head));
	*out = (struct trace_frame){.kind = TRACE_FRAME_RECORDS,
				    .offset = at >= OFFSET_BYTES ? at - OFFSET_BYTES : at,
				    .payload = p - FRAME_HEAD_BYTES,
				    .length = (uint32_t)(FRAME_HEAD_BYTES + len),
				    .is_packed = s->walk.fd != s->im->fd};
}

/* The index of the word before which the missing time is inserted; 0: the record has none. */
static size_t place_of_time(struct slice *s, const struct import_record *r)
{
	const struct import_event *ev = import_layout_of(s->im, r->p, r->size);
	size_t nr = r->size / WORD_BYTES;

	if (!ev)
		return 0;
	if (r->type == PERF_RECORD_SAMPLE)
		return 1 + ev->time_place.of_sample;
	return ev->layout.has_sample_id && nr >= ev->time_place.of_other
		   ? nr + 1 - ev->time_place.of_other
		   : 0;
}

/* Writes the record to p with its offset, all files one behind the other, as its time. Returns its
 * size; 0: it has no place for a time. */
static size_t put_timed(struct slice *s, const struct import_record *r, uint8_t *p)
{
	size_t at = place_of_time(s, r) * WORD_BYTES;
	const uint16_t size = htole16((uint16_t)(r->size + WORD_BYTES));
	const uint64_t time = htole64(s->before + r->at);

	if (!at || at > r->size || r->size + WORD_BYTES > PERF_ABI_MAX_RECORD_BYTES)
		return 0;
	memcpy(p, r->p, at);
	memcpy(p + at, &time, sizeof(time));
	memcpy(p + at + sizeof(time), r->p + at, r->size - at);
	memcpy(p + 6, &size, sizeof(size));
	return r->size + WORD_BYTES;
}

/* The record with all that slices add, but a period. Returns its size. */
static size_t put_copy(struct slice *s, const struct import_record *r, uint8_t *p)
{
	size_t size = s->im->is_timeless ? put_timed(s, r, p) : import_put_complete(s->im, r, p);

	if (size)
		return size;
	memcpy(p, r->p, r->size);
	return r->size;
}

/* True: it is a sample of a group; put_part writes what becomes of it. */
static bool begin_group(struct slice *s, const struct import_record *r)
{
	const struct import_event *ev = s->im->has_reads && r->type == PERF_RECORD_SAMPLE
					    ? import_event_of(s->im, r->p, r->size)
					    : NULL;
	struct dividing *d = &s->group;

	if (!ev || !ev->has_reads)
		return false;
	d->at = 0;
	if (!import_reads_decode(s->im, ev, r->p, r->size, &d->reads)) {
		d->reads.nr = 0; /* no part of it is written; it was reported */
		return true;
	}
	d->is_whole = true;
	d->base_bytes = put_copy(s, r, d->base);
	if (d->base_bytes > PERF_ABI_MAX_RECORD_BYTES - WORD_BYTES) {
		memcpy(d->base, r->p, r->size);
		d->base_bytes = r->size;
	}
	return true;
}

/* Writes the next sample of the group. Returns its size; 0: none is left. */
static size_t put_part(struct slice *s, uint8_t *p)
{
	struct dividing *d = &s->group;

	while (d->at < d->reads.nr) {
		struct import_part part;
		struct import_count key, *c;
		uint64_t period;

		if (!import_reads_part(s->im, &d->reads, d->at++, &part))
			continue;
		d->is_whole = false;
		key = (struct import_count){.id = part.id, .tid = part.tid};
		c = dict_at(&s->counts, dict_find(&s->counts, &key));
		period = c ? import_reads_period(&c->value, &d->reads, &part) : 0;
		if (period)
			return import_reads_put(s->im, &d->reads, d->base, d->base_bytes, part.id,
						period, p);
	}
	if (!d->is_whole)
		return 0;
	d->is_whole = false;
	return import_reads_put(s->im, &d->reads, d->base, d->base_bytes, d->reads.id,
				d->reads.period, p);
}

static int fail(struct slice *s, int rc, struct err *e)
{
	s->has_failed = true;
	return err_set_at(e, rc == -ENODATA || rc == -EILSEQ ? -EIO : rc, s->im->path, 0, 0,
			  "cannot be read further: the file was replaced meanwhile");
}

/* Copies, as long as there is room for the longest. */
static int next_copies(struct slice *s, struct trace_frame *out, struct err *e)
{
	uint8_t *start = s->copies + FRAME_HEAD_BYTES, *p = start;
	uint64_t at = s->walk.at;
	struct import_record r;
	bool is_moved;
	size_t size;
	int rc = 1;

	while (p - start < COPIES_BYTES) {
		size = put_part(s, p);
		p += size;
		if (size)
			continue;
		rc = import_walk_peek(&s->walk, &r, &is_moved);
		if (rc != 1)
			break;
		import_walk_pass(&s->walk, &r);
		if (is_of_ring(s, &r) && !begin_group(s, &r))
			p += put_copy(s, &r, p);
	}
	if (p > start) {
		make_frame(s, start, at, (size_t)(p - start), out);
		out->is_packed = true; /* offsets are those of the file no more */
		return 1;
	}
	return rc == 0 || rc == -ENOMEM ? rc : fail(s, rc, e);
}

/* A run ends where the window must be moved. */
static int next(void *arg, struct trace_frame *out, struct err *e)
{
	struct slice *s = arg;
	struct import_record r;
	uint64_t start = 0;
	uint8_t *p = NULL;
	size_t len = 0;
	bool is_moved;
	int rc = 1;

	if (s->copies)
		return next_copies(s, out, e);
	for (;;) {
		if (p && !import_walk_has(&s->walk))
			break;
		rc = import_walk_peek(&s->walk, &r, &is_moved);
		if (rc != 1)
			break;
		if (!is_of_ring(s, &r)) {
			import_walk_pass(&s->walk, &r); /* it is looked at once: see import_swap */
			if (p)
				break;
			continue;
		}
		if (!p) {
			p = r.p;
			start = r.at;
		}
		len += r.size;
		import_walk_pass(&s->walk, &r);
	}
	if (p) {
		make_frame(s, p, start, len, out);
		return 1;
	}
	return rc == 0 || rc == -ENOMEM ? rc : fail(s, rc, e);
}

static uint64_t bytes(const void *arg)
{
	const struct slice *s = arg;

	return s->walk.at - s->start;
}

static bool is_whole(const void *arg)
{
	const struct slice *s = arg;

	return !s->has_failed;
}

const struct trace_feed import_slice_feed = {
    .next = next, .bytes = bytes, .is_whole = is_whole, .close = close_slice};
