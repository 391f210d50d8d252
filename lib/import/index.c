/*
 * One pass over all records: descriptions of the file among them, tasks and mappings, and the
 * slices in which several threads read the others again. Of a record only its header, its id and
 * its time are read. Must not store anything of a sample.
 */
#include "import/internal.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "trace/unzip.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	HEADER_ATTR = 64,
	EVENT_TYPE = 65,
	HEADER_BUILD_ID = 67,
	EVENT_UPDATE = 78,
	HEADER_FEATURE = 80,
	COMPRESSED = 81,
	COMPRESSED2 = 83,
	OUT_BYTES = 1 << 20,
	NR_KINDS = 23, /* the kernel's, of known kinds */
};

struct walking {
	struct import *im;
	struct import_walk walk;
	const struct import_more *more; /* the file, if it is not the first */
	struct import_slice *slice;     /* the current one, the last; NULL: none */
	uint64_t slice_bytes;           /* when a slice is long enough */
	uint64_t before;                /* bytes that precede those of the file */
	bool is_unpacked;
	uint64_t time_ns; /* of the record before, or 0 */
	uint64_t last_ns; /* of the records of this file so far */
	uint64_t last_id; /* of this event */
	struct import_event *event;
	struct trace_unzip *unzip; /* owned; NULL until something is packed */
	uint8_t *out;              /* owned; OUT_BYTES */
	uint64_t packed_bytes;
	bool is_damaged; /* the packed records: the rest of them is skipped */
};

static int add_slice(struct walking *w, uint64_t at)
{
	struct import *im = w->im;

	w->slice = MEM_ADD(im->slices, im->nr_slices, im->slices_room);
	if (!w->slice)
		return -ENOMEM;
	*w->slice = (struct import_slice){.fd = w->walk.fd,
					  .start = at,
					  .end = at,
					  .before = w->before,
					  .first_start = im->nr_starts};
	return 0;
}

static int add_to_slice(struct walking *w, const struct import_record *r)
{
	const bool is_full = !w->slice || w->slice->end - w->slice->start >= w->slice_bytes;

	if (is_full && add_slice(w, r->at))
		return -ENOMEM;
	w->slice->end = r->at + r->size;
	w->slice->nr_records++;
	return 0;
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
	if (time_ns > f->last_ns)
		f->last_ns = time_ns;
	if (time_ns >= w->last_ns)
		w->last_ns = time_ns;
	else if (w->last_ns - time_ns > w->im->disorder_ns)
		w->im->disorder_ns = w->last_ns - time_ns;
}

/* Consecutive records usually have the same event. */
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

/* A sample for each event of its group. */
static int read_group(struct walking *w, const struct import_event *ev,
		      const struct import_record *r)
{
	struct import *im = w->im;
	struct import_reads reads;
	bool is_idle =
	    ev->task_place.is_there && !trace_record_word(&ev->task_place, r->p, r->size);
	int rc;

	if (!import_reads_decode(im, ev, r->p, r->size, &reads)) {
		im->has_reads = true; /* so that slices leave it out */
		im->nr_invalid++;
		return 0;
	}
	note_time(w, time_of(ev, r));
	rc = add_to_slice(w, r) ?: import_reads_note(im, im->nr_slices - 1, &reads, is_idle);
	if (rc == 0)
		w->slice->nr_starts = im->nr_starts - w->slice->first_start;
	return rc;
}

static int read_sample(struct walking *w, const struct import_record *r)
{
	struct import_event *ev = event_of(w, r);

	if (ev && ev->has_reads)
		return read_group(w, ev, r);
	w->im->facts.nr_samples++;
	if (ev) {
		uint64_t period = trace_record_word(&ev->period_place, r->p, r->size);
		bool is_idle = !trace_record_word(&ev->task_place, r->p, r->size);

		ev->nr_samples++;
		ev->nr_idle += ev->task_place.is_there && is_idle;
		ev->weight += period ? period : ev->layout.period ? ev->layout.period : 1;
	}
	note_time(w, time_of(ev, r));
	return add_to_slice(w, r);
}

/* The second word of records that report a number of lost ones. */
static uint64_t word_of(const struct import_record *r, size_t i)
{
	return r->size >= (i + 2) * 8 ? trace_word(r->p, i + 1) : 0;
}

/* The kernel's have a time: a PMU lost them. Those without a time are perf's, which reads at the
 * end how many found no room for each event: LOST records have reported these. */
static void count_lost_samples(struct walking *w, const struct import_record *r)
{
	struct import_event *ev = event_of(w, r);

	if (time_of(ev, r)) {
		w->slice->nr_lost += word_of(r, 0);
		w->im->facts.nr_lost_samples += word_of(r, 0);
	} else {
		w->im->has_lost = true;
	}
	if (ev) {
		ev->nr_lost += word_of(r, 0);
		ev->has_lost = true;
	}
}

static void count(struct walking *w, const struct import_record *r)
{
	struct import_facts *f = &w->im->facts;

	if (r->type == PERF_RECORD_LOST) {
		w->slice->nr_lost += word_of(r, 1);
		f->nr_lost += word_of(r, 1);
	} else if (r->type == PERF_RECORD_LOST_SAMPLES) {
		count_lost_samples(w, r);
	} else if (r->type == PERF_RECORD_THROTTLE) {
		const struct import_id *id = import_find_id(w->im, word_of(r, 1));

		if (id)
			w->im->events[id->event].nr_throttled++;
		f->nr_throttled++;
	}
}

static int read_of_kernel(struct walking *w, const struct import_record *r)
{
	const struct import_event *ev;

	if (r->size % 8 || (w->im->facts.is_big_endian && !import_swap(w->im, r))) {
		w->im->nr_invalid++;
		return 0;
	}
	if (r->type == PERF_RECORD_SAMPLE) {
		w->im->is_running = true;
		return read_sample(w, r);
	}
	ev = import_layout_of(w->im, r->p, r->size);
	note_time(w, ev && ev->layout.has_sample_id ? time_of(ev, r) : 0);
	if (import_is_short_mmap2(r))
		return import_side_add_short(w->im, r, w->time_ns);
	if (import_is_side_band(r->type))
		return import_side_add(w->im, r->p, r->size, w->time_ns, w->before + r->at);
	if (r->type == PERF_ABI_RECORD_CALLCHAIN_DEFERRED &&
	    import_add_deferred(w->im, r, w->walk.fd))
		return -ENOMEM;
	w->im->facts.nr_unknown += r->type >= NR_KINDS;
	if (add_to_slice(w, r))
		return -ENOMEM;
	count(w, r);
	return 0;
}

/* Either some event has times, or the file is timeless. */
static void find_times(struct import *im)
{
	import_ids_sort(im);
	im->is_timeless = im->any != NULL;
	for (size_t i = 0; i < im->nr_events; i++)
		im->is_timeless &= !im->events[i].time_place.is_there;
}

static int read_attr(struct walking *w, const struct import_record *r)
{
	struct import *im = w->im;
	struct import_bytes ids;
	uint32_t event = (uint32_t)im->nr_attrs, size;
	int rc = 0;

	if (r->size < 16)
		return 0;
	memcpy(&size, r->p + 8 + offsetof(struct perf_event_attr, size), sizeof(size));
	size = im->facts.is_big_endian ? be32toh(size) : le32toh(size);
	if (!size)
		size = IMPORT_ATTR_MIN_BYTES;
	if (size > r->size - 8)
		size = r->size - 8;
	if (im->nr_attrs++ >= im->nr_described)
		rc = import_add_event(im, r->p + 8, size, &event);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	ids = import_bytes(r->p + 8 + size, r->size - 8 - size, im->facts.is_big_endian);
	while (rc == 0 && ids.c.left >= 8)
		rc = import_add_id(im, import_u64(&ids), event);
	w->event = NULL;
	find_times(im);
	return rc;
}

static int read_build_id(struct walking *w, const struct import_record *r)
{
	return import_add_build_id(w->im, r->misc, r->p + 8, r->size - 8);
}

static int read_feature(struct walking *w, const struct import_record *r)
{
	struct import_bytes b = import_bytes(r->p + 8, r->size - 8, w->im->facts.is_big_endian);
	uint64_t number = import_u64(&b);

	w->event = NULL;
	return number < 256 && cursor_ok(&b.c)
		   ? import_feature(w->im, (unsigned)number, b.c.at, b.c.left)
		   : 0;
}

/* Names of events in a pipe, by perf before Linux 3.9. */
static int read_event_type(struct walking *w, const struct import_record *r)
{
	struct import *im = w->im;
	struct import_bytes b = import_bytes(r->p + 8, r->size - 8, im->facts.is_big_endian);
	uint64_t config = import_u64(&b);

	for (size_t i = 0; i < im->nr_events && cursor_ok(&b.c); i++)
		if (im->events[i].layout.config == config && !im->events[i].name)
			im->events[i].name = import_text(im, (const char *)b.c.at, b.c.left);
	return 0;
}

/* Later additions to an event: its unit, its scale, its name. */
static int read_event_update(struct walking *w, const struct import_record *r)
{
	enum { UNIT, SCALE, NAME };
	struct import *im = w->im;
	const struct import_id *id;
	struct import_bytes b = import_bytes(r->p + 8, r->size - 8, im->facts.is_big_endian);
	struct import_event *ev;
	uint64_t kind, bits;
	const char *text;
	double scale;

	kind = import_u64(&b);
	id = import_find_id(im, import_u64(&b));
	if (!cursor_ok(&b.c) || !id || kind > NAME)
		return 0;
	ev = &im->events[id->event];
	if (kind == SCALE) { /* IEEE 754 binary64 */
		bits = import_u64(&b);
		memcpy(&scale, &bits, sizeof(scale));
		ev->scale = isfinite(scale) && scale > 0 ? scale : ev->scale;
		return 0;
	}
	text = import_text(im, (const char *)b.c.at, b.c.left);
	*(kind == UNIT ? &ev->unit : &ev->name) = text;
	return 0;
}

/* After the record, not in it. */
static int read_tracing(struct walking *w, const struct import_record *r)
{
	uint64_t len = import_walk_payload(&w->walk, r);
	uint8_t *data;
	ssize_t got;

	if (!len || len > IMPORT_MAX_FEATURE_BYTES)
		return 0;
	data = mem_alloc((size_t)len);
	if (!data)
		return -ENOMEM;
	got = io_pread_full(w->walk.fd, data, (size_t)len, r->at + r->size);
	if (got > 0)
		import_tracing(w->im, data, (size_t)got);
	mem_free(data);
	return 0;
}

static int start_unpacking(struct walking *w)
{
	struct err e = {0};
	int rc;

	if (w->unzip)
		return 0;
	w->im->facts.is_packed = true;
	w->unzip = trace_unzip_new();
	if (!w->out)
		w->out = mem_alloc(OUT_BYTES);
	if (!w->out || !w->unzip)
		return -ENOMEM;
	rc = w->im->temp_fd < 0 ? io_open_temporary(&w->im->temp_fd, &e) : 0;
	if (rc)
		w->im->problem(w->im->arg, true, &e);
	return rc;
}

static int damaged(struct walking *w, const struct import_record *r, const char *how)
{
	w->is_damaged = true;
	import_report(w->im, true,
		      "the packed records at offset %" PRIu64 " %s: the rest is skipped", r->at,
		      how);
	return 0;
}

/* One after the other they are one stream: records begin in one and end in the next. */
static int unpack(struct walking *w, const struct import_record *r, const void *in, size_t len)
{
	struct import *im = w->im;
	uint64_t most;
	char how[128];
	size_t before;
	long got;
	int rc;

	if (w->is_unpacked)
		return 0;
	w->packed_bytes += len;
	if (w->is_damaged)
		return 0;
	rc = start_unpacking(w);
	if (rc)
		return rc;
	/* they are written to the disk before they are read: 9 MB could become 9 GB */
	most = IMPORT_MIN_UNPACK_BYTES + IMPORT_MAX_UNPACK_FACTOR * w->packed_bytes;
	do {
		before = len;
		got = trace_unzip_some(w->unzip, &in, &len, w->out, OUT_BYTES);
		if (got < 0)
			return damaged(w, r, "are damaged");
		if (im->temp_bytes + (uint64_t)got > most) {
			snprintf(how, sizeof(how),
				 "and before it are %" PRIu64
				 " bytes, and unpack to more than %" PRIu64,
				 w->packed_bytes, most);
			return damaged(w, r, how);
		}
		rc = io_write_full(im->temp_fd, w->out, (size_t)got);
		im->temp_bytes += (uint64_t)got;
	} while (rc == 0 && (got == OUT_BYTES || (len && (got || len != before))));
	return rc;
}

static int read_compressed(struct walking *w, const struct import_record *r)
{
	return unpack(w, r, r->p + 8, r->size - 8);
}

/* It has the number of packed bytes, and padding to whole words. */
static int read_compressed_2(struct walking *w, const struct import_record *r)
{
	struct import_bytes b = import_bytes(r->p + 8, r->size - 8, w->im->facts.is_big_endian);
	uint64_t len;

	len = import_u64(&b);
	if (!cursor_ok(&b.c) || len > b.c.left)
		len = b.c.left;
	return unpack(w, r, b.c.at, (size_t)len);
}

static int (*const readers[])(struct walking *w, const struct import_record *r) = {
    [HEADER_ATTR] = read_attr,
    [EVENT_TYPE] = read_event_type,
    [IMPORT_TRACING_DATA] = read_tracing,
    [HEADER_BUILD_ID] = read_build_id,
    [EVENT_UPDATE] = read_event_update,
    [HEADER_FEATURE] = read_feature,
    [COMPRESSED] = read_compressed,
    [COMPRESSED2] = read_compressed_2,
};

/* All records up to the end, or to where none is. */
static int walk(struct walking *w)
{
	struct import_record r;
	bool is_moved;
	int rc;

	while ((rc = import_walk_peek(&w->walk, &r, &is_moved)) == 1) {
		w->im->facts.nr_records++;
		if (r.type < IMPORT_USER_TYPES)
			rc = read_of_kernel(w, &r);
		else if (r.type < sizeof(readers) / sizeof(readers[0]) && readers[r.type])
			rc = readers[r.type](w, &r);
		else
			rc = 0;
		if (rc)
			return rc;
		import_walk_pass(&w->walk, &r);
	}
	if (rc == -ENODATA || rc == -EILSEQ) {
		char of[32] = "";

		if (w->more)
			snprintf(of, sizeof(of), " of data.%" PRIu32, w->more->number);
		import_truncated(
		    w->im, "%s at offset %" PRIu64 "%s: the rest of the file is skipped",
		    rc == -ENODATA ? "truncated record" : "no record begins", w->walk.at, of);
		rc = 0;
	}
	return rc;
}

static void report_all(const struct walking *w)
{
	if (w->im->any && !w->im->any->id_place.is_there && w->im->nr_events > 1)
		import_report(
		    w->im, true,
		    "its samples do not name their event, one of %zu: all are counted for "
		    "%s",
		    w->im->nr_events, w->im->any->name);
	if (w->im->has_skipped_ids)
		import_report(w->im, true,
			      "has more than %d ids: samples of the others are skipped",
			      IMPORT_MAX_IDS);
	if (w->im->has_skipped_side_band)
		import_report(w->im, true,
			      "has more than %d MiB of records of tasks and mappings: the others "
			      "are skipped",
			      IMPORT_MAX_SIDE_BYTES >> 20);
	if (w->im->deferred_is_full)
		import_report(w->im, true,
			      "has more than %d deferred callchains: the others are skipped",
			      IMPORT_MAX_DEFERRED);
	if (w->im->counts_are_full)
		import_report(w->im, true,
			      "has the counts of groups of more than %d events and tasks: samples "
			      "of the others are skipped",
			      IMPORT_MAX_COUNTS);
	if (w->im->has_long_groups)
		import_report(w->im, true,
			      "has groups of more than %d events: samples of the others are "
			      "skipped",
			      IMPORT_MAX_PARTS);
}

/* Walks through bytes of a file, as if they followed those before. All files have the slices of
 * one, but at least one each. */
static int walk_part(struct walking *w, int fd, struct import_section part)
{
	const uint64_t nr = (IMPORT_MAX_SLICES - 1) / (1 + w->im->nr_more);
	uint64_t bytes = part.size / (nr ? nr : 1) + 1;

	w->slice = NULL;
	w->slice_bytes = bytes > IMPORT_SLICE_BYTES ? bytes : IMPORT_SLICE_BYTES;
	w->time_ns = w->last_ns = 0;
	w->walk.fd = fd;
	w->walk.at = part.offset;
	w->walk.end = part.offset + part.size;
	w->walk.window_at = w->walk.window_bytes = 0;
	return walk(w);
}

/* Then through what was packed in it: each file is a stream of its own. */
static int walk_file(struct walking *w, int fd, struct import_section data)
{
	struct import *im = w->im;
	struct import_section unpacked = {im->temp_bytes, 0};
	int rc = walk_part(w, fd, data);

	trace_unzip_free(w->unzip);
	w->unzip = NULL;
	w->is_damaged = false;
	unpacked.size = im->temp_bytes - unpacked.offset;
	w->before += data.offset + data.size;
	if (rc == 0 && unpacked.size) {
		w->before -= unpacked.offset;
		w->is_unpacked = true;
		rc = walk_part(w, im->temp_fd, unpacked);
		w->is_unpacked = false;
		w->before += unpacked.offset + unpacked.size;
	}
	return rc;
}

static int walk_files(struct walking *w)
{
	struct import *im = w->im;
	int rc = walk_file(w, im->fd, im->data);

	for (size_t i = 0; i < im->nr_more && rc == 0; i++) {
		w->more = &im->more[i];
		rc = walk_file(w, w->more->fd, (struct import_section){0, w->more->size});
	}
	return rc;
}

int import_index(struct import *im, struct err *e)
{
	struct walking w = {.im = im, .walk.is_big = im->facts.is_big_endian};
	int rc;

	im->facts.first_ns = im->facts.last_ns = 0; /* as the records have it */
	find_times(im);
	rc = walk_files(&w);
	if (rc == 0 && !im->nr_slices) /* a session has a trace at least */
		rc = add_slice(&w, w.walk.at);
	im->all_bytes = w.before - im->data.offset;
	import_walk_fini(&w.walk);
	mem_free(w.out);
	if (rc)
		return err_set_at(e, rc, im->path, 0, 0, "cannot be read: %s", strerror(-rc));
	for (size_t i = 0; i < im->nr_events && im->has_lost; i++)
		/* perf writes no number for an event that lost nothing */
		im->events[i].has_lost |=
		    im->events[i].has_layout && im->events[i].layout.read_format & PERF_FORMAT_LOST;
	import_name_events(im);
	if (im->is_timeless) {
		im->facts.first_ns = im->data.offset;
		im->facts.last_ns = im->data.offset + im->all_bytes;
		if (im->facts.nr_samples)
			import_report(im, false,
				      "its samples have no times: their offsets in the file "
				      "replace them");
	}
	report_all(&w);
	return 0;
}
