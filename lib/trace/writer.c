/*
 * Gathers a trace in one reused buffer, and writes it with one write. Frames that all traces of a
 * session share are encoded once and copied. Must not know where the numbers come from, nor the
 * meaning of an event.
 */
#include "base/crc32c.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "trace/format.h"
#include "trace/frame.h"
#include "trace/internal.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

struct trace_writer *trace_writer_new(void)
{
	struct trace_writer *w = mem_zalloc(sizeof(*w));

	if (!w)
		return NULL;
	buf_init(&w->common, TRACE_FRAME_MAX_BYTES);
	buf_init(&w->bytes, TRACE_FRAME_MAX_BYTES);
	return w;
}

void trace_writer_free(struct trace_writer *w)
{
	if (!w)
		return;
	buf_fini(&w->common);
	buf_fini(&w->bytes);
	mem_free(w);
}

static void fail(struct buf *b, int code)
{
	if (!b->error)
		b->error = code;
}

static void put_le32(struct buf *b, size_t at, uint32_t v)
{
	v = htole32(v);
	memcpy(b->data + at, &v, sizeof(v));
}

/* Opens a frame; its offset in b is for frame_end. */
static size_t frame_begin(struct buf *b)
{
	size_t at = b->len;

	buf_fill(b, 0, TRACE_FRAME_HEADER_BYTES);
	return at;
}

static void frame_end(struct buf *b, size_t at, enum trace_frame_kind kind)
{
	size_t length = b->len - at - TRACE_FRAME_HEADER_BYTES;
	uint8_t *header;

	buf_fill(b, 0, -length % 8);
	if (buf_error(b))
		return;
	header = (uint8_t *)b->data + at;
	trace_frame_header(header, (uint16_t)kind, 0,
			   &(struct iovec){header + TRACE_FRAME_HEADER_BYTES, length}, 1);
}

static void add_string16(struct buf *b, const char *s)
{
	size_t len = s ? strlen(s) : 0;

	if (len > UINT16_MAX) {
		fail(b, -EFBIG);
		return;
	}
	buf_le16(b, (uint16_t)len);
	buf_add(b, s, len);
}

static void add_strings16(struct buf *b, const char *const *s, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		add_string16(b, s[i]);
}

static void add_string32(struct buf *b, const char *s, size_t max_bytes)
{
	size_t len = s ? strlen(s) : 0;

	if (len > max_bytes) {
		fail(b, -EFBIG);
		return;
	}
	buf_le32(b, (uint32_t)len);
	buf_add(b, s, len);
}

static void add_info(struct buf *b, const struct trace_info *info)
{
	const char *const strings[] = {info->tool, info->kernel, info->cpu_model, info->config_name,
				       info->model_name};
	size_t at = frame_begin(b);

	buf_le64(b, info->duration_ns);
	buf_le64(b, info->num_iterations);
	buf_le32(b, info->user_hz);
	buf_le32(b, info->page_bytes);
	add_strings16(b, strings, sizeof(strings) / sizeof(strings[0]));
	add_string32(b, info->spec_json, TRACE_MAX_SPEC_BYTES);
	frame_end(b, at, TRACE_FRAME_INFO);
}

/* IEEE 754 binary64, its bits as an integer. */
static void add_real(struct buf *b, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	buf_le64(b, bits);
}

static void add_event(struct buf *b, const struct trace_event *v)
{
	const char *const strings[] = {v->group,       v->name,   v->label, v->unit,
				       v->description, v->source, v->reason};
	size_t at = b->len;

	if (v->attr_bytes > TRACE_MAX_ATTR_BYTES)
		fail(b, -EFBIG);
	buf_le32(b, 0); /* the number of bytes that follow, once known */
	buf_le32(b, v->id);
	buf_le32(b, v->kind);
	buf_le32(b, v->scope);
	buf_le32(b, v->flags);
	buf_le64(b, v->rate);
	buf_le32(b, v->state);
	buf_le32(b, v->perf_group);
	buf_le32(b, v->attr_bytes);
	buf_add(b, v->attr, v->attr_bytes);
	add_strings16(b, strings, sizeof(strings) / sizeof(strings[0]));
	add_real(b, v->scale);
	buf_le64(b, v->frequency);
	add_string32(b, v->format, TRACE_MAX_FORMAT_BYTES);
	if (!buf_error(b))
		put_le32(b, at, (uint32_t)(b->len - at - 4));
}

static void add_events(struct buf *b, const struct trace_event *events, size_t nr)
{
	size_t at = frame_begin(b);

	if (nr > TRACE_MAX_EVENTS)
		fail(b, -EFBIG);
	buf_le32(b, (uint32_t)nr);
	buf_le32(b, 0);
	for (size_t i = 0; i < nr && !buf_error(b); i++)
		add_event(b, &events[i]);
	frame_end(b, at, TRACE_FRAME_EVENTS);
}

int trace_writer_set_common(struct trace_writer *w, const struct trace_info *info,
			    const struct trace_event *events, size_t nr_events)
{
	buf_reset(&w->common);
	add_info(&w->common, info);
	add_events(&w->common, events, nr_events);
	w->nr_common_frames = 2;
	return buf_error(&w->common);
}

/* A field of fixed size: cut or filled with NUL. */
static void add_field(struct buf *b, const char *s, size_t size)
{
	size_t len = strnlen(s, size);

	buf_add(b, s, len);
	buf_fill(b, 0, size - len);
}

static void add_header(struct buf *b, const struct trace_head *h)
{
	buf_add(b, TRACE_MAGIC, 8);
	buf_le32(b, TRACE_BYTE_ORDER);
	buf_le16(b, TRACE_VERSION);
	buf_le16(b, TRACE_HEADER_BYTES);
	buf_le32(b, 0); /* features */
	buf_le32(b, 0);
	buf_add(b, h->session_id, sizeof(h->session_id));
	buf_add(b, h->boot_id, sizeof(h->boot_id));
	buf_le32(b, h->iteration);
	buf_le32(b, h->trace);
	buf_le32(b, h->cpu);
	buf_le32(b, h->nr_traces);
	add_field(b, h->host, sizeof(((struct trace_header_bytes *)0)->host));
	add_field(b, h->machine, sizeof(((struct trace_header_bytes *)0)->machine));
	buf_fill(b, 0, offsetof(struct trace_header_bytes, crc) - b->len);
	if (!buf_error(b))
		buf_le32(b, crc32c(0, b->data, b->len));
}

void trace_writer_features(struct trace_writer *w, uint32_t incompatible)
{
	enum { AT = offsetof(struct trace_header_bytes, crc) };

	put_le32(&w->bytes, offsetof(struct trace_header_bytes, incompatible), incompatible);
	put_le32(&w->bytes, AT, crc32c(0, w->bytes.data, AT));
}

void trace_writer_more(struct trace_writer *w)
{
	buf_reset(&w->bytes);
	w->has_header = false;
	w->nr_frames = 0;
	w->nr_readings = 0;
}

void trace_writer_iteration(struct trace_writer *w, uint32_t iteration)
{
	size_t at;

	trace_writer_more(w);
	at = frame_begin(&w->bytes);
	buf_le32(&w->bytes, iteration);
	buf_le32(&w->bytes, 0);
	frame_end(&w->bytes, at, TRACE_FRAME_ITERATION);
	w->nr_frames++;
}

int trace_writer_begin(struct trace_writer *w, const struct trace_head *head)
{
	trace_writer_more(w);
	w->has_header = true;
	w->nr_frames = w->nr_common_frames;
	fail(&w->bytes, buf_error(&w->common));
	add_header(&w->bytes, head);
	buf_add(&w->bytes, w->common.data, w->common.len);
	return buf_error(&w->bytes);
}

void trace_writer_clocks(struct trace_writer *w, const struct clock_triple *clocks)
{
	size_t at = frame_begin(&w->bytes);

	buf_le64(&w->bytes, clocks->monotonic_ns);
	buf_le64(&w->bytes, clocks->boottime_ns);
	buf_le64(&w->bytes, clocks->realtime_ns);
	frame_end(&w->bytes, at, TRACE_FRAME_CLOCKS);
	w->nr_frames++;
}

static void add_reading(struct buf *b, const struct reading *r)
{
	const struct trace_reading_bytes bytes = {
	    .event = htole32(r->event),
	    .instance = htole32(r->instance),
	    .state = htole32(r->state),
	    .flags = htole32(r->flags),
	    .time_ns = htole64(r->time_ns),
	    .raw = htole64(r->raw),
	    .enabled_ns = htole64(r->enabled_ns),
	    .running_ns = htole64(r->running_ns),
	    .base = htole64(r->base),
	};

	buf_add(b, &bytes, sizeof(bytes));
}

void trace_writer_readings(struct trace_writer *w, enum trace_boundary boundary,
			   const struct reading *readings, size_t nr)
{
	size_t at = frame_begin(&w->bytes);

	buf_le32(&w->bytes, boundary);
	buf_le32(&w->bytes, TRACE_READING_BYTES);
	buf_le32(&w->bytes, (uint32_t)nr);
	buf_le32(&w->bytes, 0);
	for (size_t i = 0; i < nr && !buf_error(&w->bytes); i++)
		add_reading(&w->bytes, &readings[i]);
	frame_end(&w->bytes, at, TRACE_FRAME_READINGS);
	w->nr_frames++;
	w->nr_readings += nr;
}

/* The head of a list of items of equal length. */
static void add_list(struct buf *b, uint32_t item_bytes, size_t nr)
{
	if (nr > TRACE_MAX_ITEMS)
		fail(b, -EFBIG);
	buf_le32(b, item_bytes);
	buf_le32(b, (uint32_t)nr);
}

void trace_writer_note(struct trace_writer *w, const struct trace_note *note)
{
	size_t at = frame_begin(&w->bytes);

	buf_le64(&w->bytes, note->time_ns);
	add_string16(&w->bytes, note->text);
	frame_end(&w->bytes, at, TRACE_FRAME_NOTE);
	w->nr_frames++;
}

void trace_writer_where(struct trace_writer *w, const struct trace_where *place)
{
	size_t at = frame_begin(&w->bytes);

	buf_le32(&w->bytes, (uint32_t)place->package);
	buf_le32(&w->bytes, (uint32_t)place->node);
	add_string16(&w->bytes, place->type);
	frame_end(&w->bytes, at, TRACE_FRAME_WHERE);
	w->nr_frames++;
}

void trace_writer_target(struct trace_writer *w, const struct trace_target *t)
{
	const uint64_t numbers[] = {t->start_ns,
				    t->end_ns,
				    t->user_ns,
				    t->system_ns,
				    t->peak_bytes,
				    t->minor_faults,
				    t->major_faults,
				    t->read_blocks,
				    t->written_blocks,
				    t->voluntary_switches,
				    t->involuntary_switches};
	size_t at = frame_begin(&w->bytes);

	buf_le32(&w->bytes, t->flags);
	buf_le32(&w->bytes, t->pid);
	buf_le32(&w->bytes, t->status);
	buf_le32(&w->bytes, 0);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		buf_le64(&w->bytes, numbers[i]);
	add_string16(&w->bytes, t->text);
	frame_end(&w->bytes, at, TRACE_FRAME_TARGET);
	w->nr_frames++;
}

static void add_bytes32(struct buf *b, const void *bytes, uint32_t len)
{
	buf_le32(b, len);
	buf_add(b, bytes, len);
}

void trace_writer_build_id(struct trace_writer *w, const struct trace_build_id *id)
{
	struct buf *b = &w->bytes;
	size_t at = frame_begin(b);

	buf_le32(b, id->major);
	buf_le32(b, id->minor);
	buf_le64(b, id->inode);
	buf_le64(b, id->inode_generation);
	buf_le64(b, id->from_ns);
	buf_le64(b, id->to_ns);
	add_bytes32(b, id->id, id->id_len);
	add_bytes32(b, id->path, id->path_len);
	frame_end(b, at, TRACE_FRAME_BUILD_ID);
	w->nr_frames++;
}

void trace_writer_ids(struct trace_writer *w, const struct trace_id *ids, size_t nr)
{
	struct buf *b = &w->bytes;
	size_t at = frame_begin(b);

	add_list(b, TRACE_ID_BYTES, nr);
	for (size_t i = 0; i < nr && !buf_error(b); i++) {
		buf_le64(b, ids[i].id);
		buf_le32(b, ids[i].event);
		buf_le32(b, ids[i].instance);
		buf_le32(b, ids[i].attr);
		buf_le32(b, ids[i].group);
	}
	frame_end(b, at, TRACE_FRAME_IDS);
	w->nr_frames++;
}

static void add_sampled(struct buf *b, const struct trace_sampled *s)
{
	buf_le32(b, s->event);
	buf_le32(b, s->instance);
	buf_le64(b, s->samples);
	buf_le64(b, s->idle);
	buf_le64(b, s->weight);
	buf_le64(b, s->lost);
	buf_le64(b, s->throttled);
	buf_le64(b, s->unthrottled);
}

void trace_writer_sampling(struct trace_writer *w, const struct trace_sampling *s)
{
	struct buf *b = &w->bytes;
	size_t at = frame_begin(b);

	buf_le64(b, s->ring_bytes);
	buf_le64(b, s->max_rate_start);
	buf_le64(b, s->max_rate_end);
	buf_le64(b, s->idle_ns);
	buf_le64(b, s->lost);
	buf_le64(b, s->ticks);
	buf_le64(b, s->ticks_missed);
	add_list(b, TRACE_SAMPLED_BYTES, s->nr);
	for (size_t i = 0; i < s->nr && !buf_error(b); i++)
		add_sampled(b, &s->item[i]);
	frame_end(b, at, TRACE_FRAME_SAMPLING);
	w->nr_frames++;
}

/* Longer names, which the kernel does not have, are cut. */
static void add_thing(struct buf *b, const struct trace_thing *t)
{
	size_t len = strnlen(t->name, TRACE_MAX_NAME_BYTES);

	buf_le32(b, t->number);
	buf_le16(b, (uint16_t)len);
	buf_add(b, t->name, len);
}

static void add_things(struct trace_writer *w, const struct trace_things *t, size_t from, size_t to)
{
	struct buf *b = &w->bytes;
	size_t at = frame_begin(b);

	buf_le32(b, (uint32_t)t->nr_events);
	buf_le32(b, (uint32_t)(to - from));
	for (size_t i = 0; i < t->nr_events; i++)
		buf_le32(b, t->events[i]);
	for (size_t i = from; i < to && !buf_error(b); i++)
		add_thing(b, &t->item[i]);
	frame_end(b, at, TRACE_FRAME_THINGS);
	w->nr_frames++;
}

void trace_writer_things(struct trace_writer *w, const struct trace_things *t)
{
	for (size_t from = 0, to; from < t->nr; from = to) {
		to = t->nr - from < TRACE_MAX_ITEMS ? t->nr : from + TRACE_MAX_ITEMS;
		add_things(w, t, from, to);
	}
}

void trace_writer_records(struct trace_writer *w, enum trace_ring ring, uint32_t cpu,
			  const void *records, size_t len)
{
	struct buf *b = &w->bytes;
	size_t at = frame_begin(b);

	if (len % 8)
		fail(b, -EINVAL);
	buf_le32(b, ring);
	buf_le32(b, cpu);
	buf_add(b, records, len);
	frame_end(b, at, TRACE_FRAME_RECORDS);
	w->nr_frames++;
}

void trace_writer_kallsyms(struct trace_writer *w, const char *text, size_t len)
{
	size_t at = frame_begin(&w->bytes);

	buf_add(&w->bytes, text, len);
	frame_end(&w->bytes, at, TRACE_FRAME_KALLSYMS);
	w->nr_frames++;
}

void trace_writer_end(struct trace_writer *w, const struct trace_totals *totals)
{
	struct buf *b = &w->bytes;
	size_t at = frame_begin(b);

	buf_le64(b, totals->start_ns);
	buf_le64(b, totals->end_ns);
	buf_le64(b, totals->nr_frames);
	buf_le64(b, totals->nr_readings);
	buf_le64(b, totals->lost);
	buf_le64(b, totals->throttled);
	buf_le64(b, totals->bytes);
	buf_le64(b, (totals->is_cut ? TRACE_END_IS_CUT : 0) |
			(totals->is_short ? TRACE_END_IS_SHORT : 0));
	frame_end(b, at, TRACE_FRAME_END);
}

void trace_writer_index(struct trace_writer *w, uint64_t offset, const struct trace_part *item,
			size_t nr)
{
	struct buf *b = &w->bytes;
	size_t at = frame_begin(b);

	add_list(b, TRACE_INDEX_ITEM_BYTES, nr);
	for (size_t i = 0; i < nr && !buf_error(b); i++) {
		buf_le32(b, item[i].iteration);
		buf_le32(b, 0);
		buf_le64(b, item[i].from);
	}
	buf_le64(b, offset);
	frame_end(b, at, TRACE_FRAME_INDEX);
	w->nr_frames++;
}

void trace_writer_common(struct trace_writer *w)
{
	fail(&w->bytes, buf_error(&w->common));
	buf_add(&w->bytes, w->common.data, w->common.len);
	w->nr_frames += w->nr_common_frames;
}

void trace_writer_whole(struct trace_writer *w, const struct trace_totals *totals)
{
	struct trace_totals t = *totals;

	t.nr_frames = w->nr_frames;
	t.nr_readings = w->nr_readings;
	t.bytes = w->bytes.len;
	trace_writer_end(w, &t);
}

int trace_writer_bytes(const struct trace_writer *w, const void **bytes, size_t *len)
{
	*bytes = w->bytes.data;
	*len = w->bytes.len;
	return buf_error(&w->bytes);
}

int trace_writer_check(const struct trace_writer *w, bool has_header, const char *path,
		       struct err *e)
{
	int rc = buf_error(&w->bytes);

	if (w->has_header != has_header)
		return err_set_at(e, -EINVAL, path, 0, 0,
				  has_header ? "no trace was begun"
					     : "what was begun is another trace");
	if (rc)
		err_set_at(e, rc, path, 0, 0, "the trace cannot be built: %s", strerror(-rc));
	return rc;
}

int trace_writer_commit(struct trace_writer *w, int dirfd, const char *name, const char *path,
			const struct trace_totals *totals, struct err *e)
{
	int rc;

	trace_writer_whole(w, totals);
	rc = trace_writer_check(w, true, path, e);
	if (rc == 0)
		rc = io_write_atomic(dirfd, name, path, w->bytes.data, w->bytes.len, trace_is_trace,
				     e);
	trace_writer_more(w);
	return rc;
}

int trace_is_trace(int fd)
{
	char magic[8];
	ssize_t n = io_read_full(fd, magic, sizeof(magic));

	if (n < 0)
		return (int)n;
	return n == sizeof(magic) && memcmp(magic, TRACE_MAGIC, sizeof(magic)) == 0;
}
