/*
 * The items of a frame, or of a part of it, are a run. It is sorted by itself, which is cheap
 * because it nearly is in order, and a heap merges the runs. A run borrows the bytes of its frame;
 * before the next frame is read, what still waits is copied, and counted: neither a frame nor false
 * times make memory grow without bound. Must not trust an id, an event, a time or a size from the
 * file.
 */
#include "profile/records.h"

#include "base/err.h"
#include "base/heap.h"
#include "base/order.h"
#include "profile/ids.h"
#include "trace/interpreted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	RUN_BYTES = 1 << 20,           /* of a run; records are shorter */
	MAX_HELD_BYTES = 64 << 20,     /* with more bytes waiting, the oldest items are returned */
	MAX_RECORD_BYTES = UINT16_MAX, /* their size has 16 bits */
	MAX_MOVES = 16, /* per item of a run, in insertion sort; beyond, the run is sorted */
	MAX_SPARES = 2, /* runs whose memory is reused */
};

/* A waiting item. */
struct waiting {
	uint64_t time_ns;
	uint64_t labels; /* of a sample: profile_item.labels */
	uint32_t at;     /* in its run: the byte offset, or the number of the reading */
};

/* Items from one place of a frame. */
struct run {
	uint64_t place; /* in the order of the file */
	enum profile_item_kind kind;
	enum trace_ring ring;
	uint32_t cpu;
	uint64_t offset,
	    step; /* where the run begins in the file, and the bytes that one of at counts */
	struct waiting *item;   /* owned */
	size_t next, nr, room;  /* for item */
	const uint8_t *bytes;   /* len of them: in the current frame, or own */
	size_t len, held_bytes; /* held: with all that belongs to the run */
	void *own;              /* owned */
	size_t own_bytes;
	bool is_borrowed;
};

struct profile_records {
	struct trace_reader *reader; /* owned */
	struct profile_records_config config;
	struct profile_ids ids;
	struct trace_layout side_band[2]; /* of the kernel's records, and of those made */

	/* The current frame, while parts of it are not read. */
	struct trace_frame frame;
	const uint8_t *records;
	size_t at, len; /* in its records or readings: bytes, or numbers */
	enum trace_ring ring;
	uint32_t cpu;
	bool has_text, at_end, has_reported;

	struct heap runs;     /* struct run, owned like all runs; by their oldest item */
	struct run *returned; /* of the item returned last, if that was its last; NULL */
	struct run *spare[MAX_SPARES];
	size_t nr_spares;
	size_t held_bytes; /* of all runs */
	uint64_t next_place;
	uint64_t newest_ns;                    /* the newest item read */
	uint64_t ring_newest_ns;               /* of the current ring and CPU */
	uint64_t last_ns;                      /* the last record's */
	uint64_t returned_ns;                  /* the newest item returned */
	struct trace_interpreted *interpreted; /* owned; the last one; NULL: there was none */
	bool has_interpreted;                  /* it belongs to no sample yet */
	struct profile_records_stats stats;
};

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
	if (!config->has_kallsyms)
		trace_reader_omit(reader, TRACE_FRAME_KALLSYMS);
	for (int is_made = 0; is_made < 2; is_made++)
		trace_layout_side_band(&r->side_band[is_made], is_made);
	rc = profile_ids_init(&r->ids, config->events, config->nr_events, config->ids,
			      config->nr_ids);
	if (rc)
		profile_records_close(r);
	else
		*out = r;
	return rc;
}

static void run_free(struct run *run)
{
	if (!run)
		return;
	mem_free(run->item);
	mem_free(run->own);
	mem_free(run);
}

/* Recycles a run. */
static void put_run(struct profile_records *r, struct run *run)
{
	if (!run)
		return;
	r->held_bytes -= run->held_bytes;
	if (r->nr_spares < MAX_SPARES)
		r->spare[r->nr_spares++] = run;
	else
		run_free(run);
}

static struct run *get_run(struct profile_records *r)
{
	struct run *run = r->nr_spares ? r->spare[--r->nr_spares] : mem_zalloc(sizeof(*run));

	if (!run)
		return NULL;
	run->place = r->next_place++;
	run->ring = r->ring;
	run->cpu = r->cpu;
	run->next = run->nr = run->len = run->held_bytes = 0;
	run->is_borrowed = false;
	return run;
}

void profile_records_close(struct profile_records *r)
{
	if (!r)
		return;
	run_free(r->returned);
	while (r->runs.nr)
		run_free(r->runs.item[--r->runs.nr]);
	while (r->nr_spares)
		run_free(r->spare[--r->nr_spares]);
	trace_reader_close(r->reader);
	mem_free(r->runs.item);
	mem_free(r->interpreted);
	profile_ids_fini(&r->ids);
	mem_free(r);
}

static uint64_t oldest_ns(const struct run *run)
{
	return run->item[run->next].time_ns;
}

static bool is_before(const void *a, const void *b)
{
	const struct run *x = a, *y = b;
	uint64_t x_ns = oldest_ns(x), y_ns = oldest_ns(y);

	return x_ns != y_ns ? x_ns < y_ns : x->place < y->place;
}

/* Removes the oldest item; its run is valid until the next call. */
static const struct waiting *pop(struct profile_records *r)
{
	struct run *first = r->runs.item[0];
	const struct waiting *w = &first->item[first->next++];

	if (first->next < first->nr) {
		heap_settle(&r->runs, is_before);
		return w;
	}
	r->returned = first;
	heap_pop(&r->runs, is_before);
	return w;
}

/* The oldest item can be returned: nothing older is expected, or no more may wait. */
static bool may_return(const struct profile_records *r)
{
	if (!r->runs.nr)
		return false;
	return r->at_end || r->held_bytes >= MAX_HELD_BYTES ||
	       (r->newest_ns >= r->config.window_ns &&
		oldest_ns(r->runs.item[0]) <= r->newest_ns - r->config.window_ns);
}

/* NULL: unknown. *id: the record's event, or NULL. */
static const struct trace_layout *find_record_layout(struct profile_records *r,
						     enum trace_ring ring, const uint8_t *p,
						     size_t len, const struct trace_id **id)
{
	const struct profile_known_id *k;
	uint32_t kind = 0;

	*id = NULL;
	if (ring != TRACE_RING_SAMPLES)
		return &r->side_band[ring == TRACE_RING_MADE];
	trace_record_size(p, len, &kind);
	k = profile_ids_of_record(&r->ids, p, len);
	if (!k && kind == PERF_RECORD_SAMPLE)
		k = r->ids.sharing;
	if (kind == PERF_RECORD_SAMPLE && !(k && k->has_layout)) {
		*id = k && k->what->event == TRACE_INTERPRETED ? k->what : NULL;
		return NULL;
	}
	if (k)
		*id = k->what;
	return k && k->has_layout ? &k->layout : r->ids.any;
}

/* Decodes a record into out->record, and finds its event. Without a layout only its header and its
 * kind are decoded. */
static int decode(struct profile_records *r, enum trace_ring ring, const uint8_t *p, size_t len,
		  struct profile_item *out)
{
	static const struct trace_layout nothing;
	int rc;

	out->layout = find_record_layout(r, ring, p, len, &out->id);
	rc = trace_record_decode(out->layout ? out->layout : &nothing, p, len, &out->record);
	return !out->layout && out->record.len ? 0 : rc;
}

/* Notes how far times go back in a ring. A record without a time gets the previous one's. */
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

static int compare_waiting(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	return order_u64(x->time_ns, y->time_ns) ?: order_u64(x->at, y->at);
}

/* Moves the last item to its sorted position; returns how far. */
static size_t settle(struct run *run)
{
	struct waiting last = run->item[run->nr - 1];
	size_t i = run->nr - 1;

	while (i && run->item[i - 1].time_ns > last.time_ns)
		i--;
	memmove(&run->item[i + 1], &run->item[i], (run->nr - 1 - i) * sizeof(last));
	run->item[i] = last;
	return run->nr - 1 - i;
}

struct filling {
	struct run *run;
	size_t nr_moves;
	bool is_unordered; /* insertion was abandoned: sort it at the end */
};

static int add(struct filling *f, uint64_t time_ns, size_t at, uint64_t labels)
{
	struct run *run = f->run;
	struct waiting *item = MEM_ADD(run->item, run->nr, run->room);

	if (!item)
		return -ENOMEM;
	*item = (struct waiting){time_ns, labels, (uint32_t)at};
	if (run->nr == 1 || item[-1].time_ns <= time_ns || f->is_unordered)
		return 0;
	f->nr_moves += settle(run);
	f->is_unordered = f->nr_moves / MAX_MOVES > run->nr;
	return 0;
}

static size_t run_bytes(const struct run *run)
{
	return sizeof(*run) + run->room * sizeof(*run->item) + run->len;
}

/* Adds a complete run to the heap. */
static int close_run(struct profile_records *r, struct filling *f)
{
	struct run *run = f->run;

	if (f->is_unordered)
		qsort(run->item, run->nr, sizeof(*run->item), compare_waiting);
	if (!run->nr) {
		put_run(r, run);
		return 0;
	}
	if (heap_push(&r->runs, run, is_before)) {
		put_run(r, run);
		return -ENOMEM;
	}
	run->held_bytes = run_bytes(run);
	r->held_bytes += run->held_bytes;
	if (run->item[run->nr - 1].time_ns > r->newest_ns)
		r->newest_ns = run->item[run->nr - 1].time_ns;
	return 0;
}

/* The record is part of the sample that follows. */
static void keep_interpreted(struct profile_records *r, const uint8_t *p, size_t len)
{
	if (!r->interpreted)
		r->interpreted = mem_zalloc(sizeof(*r->interpreted));
	r->has_interpreted =
	    r->interpreted && trace_interpreted_decode(p, len, r->interpreted) == 0;
}

static uint64_t take_labels(struct profile_records *r, const struct trace_record *record,
			    uint64_t time_ns)
{
	if (record->kind != PERF_RECORD_SAMPLE || !r->has_interpreted ||
	    !trace_interpreted_is_of(r->interpreted, record->pid, record->tid, time_ns))
		return 0;
	r->has_interpreted = false;
	return trace_interpreted_labels(r->interpreted);
}

/* Adds the record at this offset of the run; *size is 0 if no record can follow. */
static int add_record(struct profile_records *r, struct filling *f, size_t at, size_t *size)
{
	struct profile_item item;
	int rc = decode(r, r->ring, f->run->bytes + at, f->run->len - at, &item);
	uint64_t time_ns;

	*size = item.record.len;
	if (rc) {
		r->stats.nr_senseless++;
		return 0;
	}
	if (item.id && item.id->event == TRACE_INTERPRETED) {
		keep_interpreted(r, f->run->bytes + at, item.record.len);
		return 0;
	}
	r->stats.nr_foreign += r->ring == TRACE_RING_SAMPLES && !item.id;
	if (item.record.kind == PERF_RECORD_LOST) /* the sample of the last one may be among them */
		r->has_interpreted = false;
	time_ns = note_time(r, &item.record);
	return add(f, time_ns, at, take_labels(r, &item.record, time_ns));
}

/* The end of the run may split the last record: the next run begins with it. */
static int add_records(struct profile_records *r, struct filling *f)
{
	size_t len = f->run->len, at = 0, size = 0;
	bool is_last = r->len - r->at == len;
	int rc = 0;

	for (; at < len && rc == 0; at += size) {
		if (!is_last && len - at <= MAX_RECORD_BYTES)
			break;
		rc = add_record(r, f, at, &size);
		if (!size)
			break;
	}
	r->at = at < len && !size ? r->len : r->at + at;
	return rc;
}

static size_t part_of(size_t left, size_t most)
{
	return left < most ? left : most;
}

static int read_records(struct profile_records *r)
{
	struct filling f = {.run = get_run(r)};
	int rc;

	if (!f.run)
		return -ENOMEM;
	f.run->kind = PROFILE_RECORD;
	f.run->offset = trace_record_offset(&r->frame, r->at);
	f.run->step = !r->frame.is_packed;
	f.run->bytes = r->records + r->at;
	f.run->len = part_of(r->len - r->at, RUN_BYTES);
	f.run->is_borrowed = true;
	rc = add_records(r, &f);
	if (rc == 0)
		return close_run(r, &f);
	put_run(r, f.run);
	return rc;
}

/* Allocates the run's own memory. */
static int make_own(struct run *run, size_t len)
{
	void *own = run->own;

	if (len <= run->own_bytes)
		return 0;
	own = mem_resize(own, len);
	if (!own)
		return -ENOMEM;
	run->own = own;
	run->own_bytes = len;
	return 0;
}

static int read_readings(struct profile_records *r)
{
	size_t nr = part_of(r->len - r->at, RUN_BYTES / sizeof(struct reading));
	struct filling f = {.run = get_run(r)};
	int rc;

	if (!f.run)
		return -ENOMEM;
	f.run->kind = PROFILE_READING;
	f.run->offset = trace_reading_offset(&r->frame, r->at);
	f.run->step = trace_reading_offset(&r->frame, r->at + 1) - f.run->offset;
	f.run->len = nr * sizeof(struct reading);
	rc = make_own(f.run, f.run->len);
	for (size_t i = 0; i < nr && rc == 0; i++) {
		struct reading *reading = (struct reading *)f.run->own + i;

		trace_decode_reading(&r->frame, r->at + i, reading);
		if (reading->event < r->config.nr_events)
			rc = add(&f, reading->time_ns, i, 0);
		else
			r->stats.nr_foreign++;
	}
	r->at += nr;
	if (rc == 0)
		return close_run(r, &f);
	put_run(r, f.run);
	return rc;
}

/* Copies waiting records out of the current frame. */
static int copy_run(struct profile_records *r, struct run *run)
{
	size_t first = run->len;

	for (size_t i = run->next; i < run->nr; i++)
		first = part_of(run->item[i].at, first);
	if (make_own(run, run->len - first))
		return -ENOMEM;
	memcpy(run->own, run->bytes + first, run->len - first);
	for (size_t i = run->next; i < run->nr; i++)
		run->item[i].at -= (uint32_t)first;
	run->bytes = run->own;
	run->len -= first;
	run->offset += first * run->step;
	run->is_borrowed = false;
	r->held_bytes -= run->held_bytes;
	run->held_bytes = run_bytes(run);
	r->held_bytes += run->held_bytes;
	return 0;
}

/* Opens a frame; -EINVAL: invalid. */
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
	return 0; /* the reader of boundaries reports problems */
}

static int begin_kallsyms(struct profile_records *r, const struct trace_frame *f)
{
	(void)f;
	r->has_text = r->config.has_kallsyms;
	return 0;
}

static int begin_cmdline(struct profile_records *r, const struct trace_frame *f)
{
	struct trace_cmdline c;
	int rc = trace_decode_cmdline(f, &c);

	r->has_text = rc == 0;
	return rc;
}

static const struct {
	int (*begin)(struct profile_records *r, const struct trace_frame *f);
	int (*read)(struct profile_records *r);
} frames[] = {
    [TRACE_FRAME_RECORDS] = {begin_records, read_records},
    [TRACE_FRAME_READINGS] = {begin_readings, read_readings},
    [TRACE_FRAME_KALLSYMS] = {begin_kallsyms, NULL},
    [TRACE_FRAME_CMDLINE] = {begin_cmdline, NULL},
};

static void begin_frame(struct profile_records *r)
{
	const struct trace_frame *f = &r->frame;

	if (f->kind < sizeof(frames) / sizeof(frames[0]) && frames[f->kind].begin &&
	    frames[f->kind].begin(r, f))
		profile_faults_add_frame(&r->config.faults, f);
}

static void report(struct profile_records *r)
{
	const struct profile_faults *f = &r->config.faults;

	if (r->has_reported)
		return;
	r->has_reported = true;
	profile_faults_end(f, r->config.is_read_twice || trace_reader_is_whole(r->reader));
	profile_faults_records(f, r->stats.nr_senseless, r->stats.nr_foreign);
	profile_faults_count(
	    f, false, r->stats.nr_late,
	    r->config.late ?: "record came too late in the file: it is out of order",
	    r->config.late ?: "records came too late in the file: they are out of order");
}

/* Reads the next frame, or more of the current one. 0 or -ENOMEM. */
static int read_more(struct profile_records *r)
{
	struct err e = {0};
	int rc = 0;

	if (r->at < r->len)
		return frames[r->frame.kind].read(r);
	for (size_t i = 0; i < r->runs.nr && rc == 0; i++) {
		struct run *run = r->runs.item[i];

		rc = run->is_borrowed ? copy_run(r, run) : 0;
	}
	if (rc)
		return rc;
	r->at = r->len = 0;
	rc = trace_reader_next(r->reader, &r->frame, &e);
	if (rc == 1)
		begin_frame(r);
	else if (rc == -ENOMEM)
		return rc;
	else if (rc && (rc != -EILSEQ || !r->config.is_read_twice))
		profile_faults_add(&r->config.faults, &e);
	r->at_end = rc != 1 && rc != -EILSEQ;
	return 0;
}

static void return_text(struct profile_records *r, struct profile_item *out)
{
	bool is_cmdline = r->frame.kind == TRACE_FRAME_CMDLINE;

	*out = (struct profile_item){.kind = is_cmdline ? PROFILE_CMDLINE : PROFILE_KALLSYMS,
				     .offset = r->frame.offset,
				     .cpu = UINT32_MAX};
	if (is_cmdline)
		trace_decode_cmdline(&r->frame, &out->cmdline);
	else
		trace_decode_kallsyms(&r->frame, &out->text, &out->text_len);
	r->has_text = false;
}

static void return_item(struct profile_records *r, struct profile_item *out)
{
	const struct run *run = r->runs.item[0];
	const struct waiting *w = pop(r);

	out->kind = run->kind;
	out->time_ns = w->time_ns;
	out->labels = w->labels;
	out->offset = run->offset + w->at * run->step;
	out->ring = run->ring;
	out->cpu = run->cpu;
	out->id = NULL;
	out->layout = NULL;
	if (run->kind == PROFILE_READING)
		out->reading = ((const struct reading *)run->own)[w->at];
	else
		(void)decode(r, run->ring, run->bytes + w->at, run->len - w->at, out);
	if (run->kind == PROFILE_RECORD && out->record.has & TRACE_HAS_CPU)
		out->cpu = out->record.cpu;
	*(run->kind == PROFILE_READING ? &r->stats.nr_readings : &r->stats.nr_records) += 1;
	r->stats.nr_late += out->time_ns < r->returned_ns;
	if (out->time_ns > r->returned_ns)
		r->returned_ns = out->time_ns;
}

int profile_records_next(struct profile_records *r, struct profile_item *out)
{
	put_run(r, r->returned);
	r->returned = NULL;
	for (;;) {
		int rc;

		if (may_return(r)) {
			return_item(r, out);
			return 1;
		}
		if (r->has_text) {
			return_text(r, out);
			return 1;
		}
		if (r->at_end) {
			report(r);
			return 0;
		}
		rc = read_more(r);
		if (rc)
			return rc;
	}
}

const struct profile_records_stats *profile_records_stats(const struct profile_records *r)
{
	return &r->stats;
}

bool profile_records_are_intact(const struct profile_records *r)
{
	const struct profile_records_stats *n = &r->stats;

	return trace_reader_is_whole(r->reader) && !r->config.faults.nr && !n->nr_late &&
	       !n->nr_senseless && !n->nr_foreign;
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

const struct trace_id *profile_counted(const struct trace_id *ids, size_t nr_ids,
				       const struct profile_item *item, uint64_t i)
{
	const struct trace_record *r = &item->record;
	uint64_t format = item->layout->read_format, id;
	bool is_group = format & PERF_FORMAT_GROUP;
	const struct trace_id *member = item->id;
	size_t at = i * r->read_stride + 1;

	if (item->id && is_group && nr_ids)
		member = profile_member(ids, nr_ids, item->id, i);
	if (!(format & PERF_FORMAT_ID))
		return member;
	if (!is_group) /* the times precede the id */
		at = r->read_stride - 1 - !!(format & PERF_FORMAT_LOST);
	id = trace_word(r->read_values, at);
	for (size_t k = 0; k < nr_ids && !(member && member->id == id); k++)
		if (ids[k].id == id)
			member = &ids[k];
	return member;
}
