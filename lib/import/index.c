/*
 * All records of a file, once: what is told of the file among them, tasks and mappings, and the
 * slices in which the others are read again by several threads. A record is looked at by its
 * header, its id and its time. Must not keep anything of a sample.
 */
#include "import/internal.h"

#include "base/err.h"
#include "base/io.h"
#include "base/sys.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	HEADER_ATTR = 64,
	HEADER_BUILD_ID = 67,
	FINISHED_ROUND = 68,
	HEADER_FEATURE = 80,
	NR_KINDS = 22, /* of the kernel, that are known */
};

struct walking {
	struct import *im;
	struct import_walk walk;
	struct import_slice *slice; /* at hand; NULL: none */
	uint64_t slice_bytes;       /* when a slice is long enough */
	size_t max_slices;          /* of all: those of the file first */
	bool is_unpacked;
	uint64_t time_ns; /* of the record before, or 0 */
	uint64_t last_id; /* and whose it is */
	struct import_event *event;
	uint64_t nr_foreign, nr_senseless;
};

static bool begin_slice(struct walking *w, uint64_t at)
{
	struct import *im = w->im;

	if (im->nr_slices == w->max_slices)
		return false;
	w->slice = &im->slices[im->nr_slices++];
	*w->slice = (struct import_slice){
	    .start = at, .end = at, .is_unpacked = w->is_unpacked, .first_ns = UINT64_MAX};
	return true;
}

static void add_to_slice(struct walking *w, const struct import_record *r)
{
	bool is_long = w->slice && w->slice->end - w->slice->start >= w->slice_bytes;

	if (!w->slice || is_long)
		begin_slice(w, r->at); /* else the last one becomes longer */
	w->slice->end = r->at + r->size;
	w->slice->nr_records++;
}

static void note_time(struct walking *w, uint64_t time_ns)
{
	struct import_facts *f = &w->im->facts;

	if (!time_ns)
		return;
	w->time_ns = time_ns;
	f->has_times = true;
	if (time_ns < f->first_ns || !f->first_ns)
		f->first_ns = time_ns;
	if (time_ns >= f->last_ns)
		f->last_ns = time_ns;
	else if (f->last_ns - time_ns > w->im->disorder_ns)
		w->im->disorder_ns = f->last_ns - time_ns;
}

/* One after the other is of the same event, mostly. */
static struct import_event *event_of(struct walking *w, const struct import_record *r)
{
	const struct import_event *any = w->im->any;
	uint64_t id;

	if (!w->im->ids_are_sorted || !any || !any->id_place.is_there)
		return (struct import_event *)import_event_of(w->im, r->p, r->size);
	id = trace_record_word(&any->id_place, r->p, r->size);
	if (w->event && id == w->last_id)
		return w->event;
	w->event = (struct import_event *)import_event_of(w->im, r->p, r->size);
	w->last_id = id;
	return w->event;
}

static uint64_t time_of(const struct import_event *ev, const struct import_record *r)
{
	return ev ? trace_record_word(&ev->time_place, r->p, r->size) : 0;
}

static void take_sample(struct walking *w, const struct import_record *r)
{
	struct import_event *ev = event_of(w, r);
	uint64_t time_ns = time_of(ev, r);

	w->im->facts.nr_samples++;
	if (ev)
		ev->nr_samples++;
	else
		w->nr_foreign++;
	note_time(w, time_ns);
	add_to_slice(w, r);
	if (time_ns && time_ns < w->slice->first_ns)
		w->slice->first_ns = time_ns;
	if (time_ns > w->slice->last_ns)
		w->slice->last_ns = time_ns;
}

static int take_side_band(struct walking *w, const struct import_record *r)
{
	const struct import_event *ev = import_any_event(w->im);
	uint64_t time_ns = ev && ev->layout.has_sample_id ? time_of(ev, r) : 0;

	note_time(w, time_ns);
	return import_side_add(w->im, r->p, r->size, w->time_ns);
}

/* The second word of those that tell how many were lost. */
static uint64_t word_of(const struct import_record *r, size_t i)
{
	return r->size >= (i + 2) * 8 ? trace_word(r->p, i + 1) : 0;
}

static void count(struct walking *w, const struct import_record *r)
{
	struct import_facts *f = &w->im->facts;

	if (r->type == TRACE_RECORD_LOST) {
		w->slice->nr_lost += word_of(r, 1);
		f->nr_lost += word_of(r, 1);
	} else if (r->type == TRACE_RECORD_LOST_SAMPLES) {
		w->slice->nr_lost += word_of(r, 0);
		f->nr_lost_samples += word_of(r, 0);
	} else if (r->type == TRACE_RECORD_THROTTLE) {
		w->slice->nr_throttled++;
		f->nr_throttled++;
	}
}

static int take_of_kernel(struct walking *w, const struct import_record *r)
{
	if (r->size % 8) {
		w->nr_senseless++;
		return 0;
	}
	if (w->im->facts.is_big_endian && !import_swap(w->im, r)) {
		w->nr_senseless++;
		return 0;
	}
	if (r->type == TRACE_RECORD_SAMPLE) {
		take_sample(w, r);
		return 0;
	}
	if (import_is_side_band(r->type))
		return take_side_band(w, r);
	w->im->facts.nr_unknown += r->type >= NR_KINDS;
	add_to_slice(w, r);
	count(w, r);
	return 0;
}

/* How many bytes of an attr's record are the attr: what it says itself. */
static uint32_t attr_bytes(const struct import *im, const struct import_record *r)
{
	uint32_t size;

	memcpy(&size, r->p + 12, sizeof(size));
	size = im->facts.is_big_endian ? be32toh(size) : le32toh(size);
	if (!size)
		size = IMPORT_ATTR_MIN_BYTES;
	return size > r->size - 8 ? r->size - 8 : size;
}

static int take_attr(struct walking *w, const struct import_record *r)
{
	struct import *im = w->im;
	struct import_bytes ids;
	uint32_t event, size;
	int rc;

	if (r->size < 16)
		return 0;
	size = attr_bytes(im, r);
	rc = import_add_event(im, r->p + 8, size, &event);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	import_bytes_init(&ids, r->p + 8 + size, r->size - 8 - size, im->facts.is_big_endian);
	while (rc == 0 && ids.c.left >= 8)
		rc = import_add_id(im, import_u64(&ids), event);
	w->event = NULL;
	return rc;
}

static int take_build_id(struct walking *w, const struct import_record *r)
{
	return import_add_build_id(w->im, r->misc, r->p + 8, r->size - 8);
}

static int take_feature(struct walking *w, const struct import_record *r)
{
	struct import_bytes b;
	uint64_t number;

	import_bytes_init(&b, r->p + 8, r->size - 8, w->im->facts.is_big_endian);
	number = import_u64(&b);
	w->event = NULL;
	return number < 256 && cursor_ok(&b.c)
		   ? import_feature(w->im, (unsigned)number, b.c.at, b.c.left)
		   : 0;
}

static int (*const takes[])(struct walking *w, const struct import_record *r) = {
    [HEADER_ATTR] = take_attr,
    [HEADER_BUILD_ID] = take_build_id,
    [HEADER_FEATURE] = take_feature,
};

static int take(struct walking *w, const struct import_record *r)
{
	w->im->facts.nr_records++;
	if (r->type < IMPORT_USER_TYPES)
		return take_of_kernel(w, r);
	if (r->type < sizeof(takes) / sizeof(takes[0]) && takes[r->type])
		return takes[r->type](w, r);
	return 0;
}

/* All records up to the end, or to where none is. */
static int walk(struct walking *w)
{
	struct import_record r;
	bool is_moved;
	int rc;

	while ((rc = import_walk_peek(&w->walk, &r, &is_moved)) == 1) {
		rc = take(w, &r);
		if (rc)
			return rc;
		import_walk_pass(&w->walk, &r);
	}
	if (rc == -ENODATA || rc == -EILSEQ) {
		import_tell(w->im, true, "%s at offset %" PRIu64 ": what is behind it is left out",
			    rc == -ENODATA ? "a record is cut" : "no record begins", w->walk.at);
		w->im->facts.is_cut = true;
		rc = 0;
	}
	return rc;
}

static void tell(const struct walking *w)
{
	if (w->nr_senseless)
		import_tell(w->im, true, "%" PRIu64 " records make no sense: left out",
			    w->nr_senseless);
	if (w->im->ids_are_left_out)
		import_tell(w->im, true, "has more than %d ids: samples of the others are left out",
			    IMPORT_MAX_IDS);
}

static uint64_t slice_bytes(uint64_t all)
{
	uint64_t part = all / (IMPORT_MAX_SLICES - 1) + 1;

	return part > IMPORT_SLICE_BYTES ? part : IMPORT_SLICE_BYTES;
}

int import_index(struct import *im, struct err *e)
{
	struct walking w = {
	    .im = im, .max_slices = IMPORT_MAX_SLICES, .slice_bytes = slice_bytes(im->data.size)};
	int rc;

	w.walk = (struct import_walk){.fd = im->fd,
				      .is_big = im->facts.is_big_endian,
				      .at = im->data.offset,
				      .end = im->data.offset + im->data.size};
	im->facts.first_ns = im->facts.last_ns = 0; /* as the records have it */
	rc = walk(&w);
	import_walk_fini(&w.walk);
	if (rc)
		return err_set_at(e, rc, im->path, 0, 0, "cannot be read: %s", strerror(-rc));
	tell(&w);
	return 0;
}
