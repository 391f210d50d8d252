/*
 * Gathers a trace in one reused buffer, and writes it with one write. Frames that all traces of a
 * session share are encoded once and copied. Must not know where the numbers come from, nor the
 * meaning of an event.
 */
#include "base/crc32c.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "trace/fields.h"
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
	buf_init(&w->common.bytes, TRACE_FRAME_MAX_BYTES);
	buf_init(&w->own.bytes, TRACE_FRAME_MAX_BYTES);
	return w;
}

void trace_writer_free(struct trace_writer *w)
{
	if (!w)
		return;
	buf_fini(&w->common.bytes);
	buf_fini(&w->own.bytes);
	mem_free(w);
}

static void put_le32(struct buf *b, size_t at, uint32_t v)
{
	v = htole32(v);
	memcpy(b->data + at, &v, sizeof(v));
}

/* Opens a frame; its offset is for frame_end. */
static size_t frame_begin(struct trace_frames *f)
{
	size_t at = f->bytes.len;

	buf_fill(&f->bytes, 0, TRACE_FRAME_HEADER_BYTES);
	return at;
}

static void frame_end(struct trace_frames *f, size_t at, enum trace_frame_kind kind)
{
	size_t length = f->bytes.len - at - TRACE_FRAME_HEADER_BYTES;
	uint8_t *header;

	f->nr++;
	buf_fill(&f->bytes, 0, -length % 8);
	if (buf_error(&f->bytes))
		return;
	header = (uint8_t *)f->bytes.data + at;
	trace_frame_header(header, (uint16_t)kind, 0,
			   &(struct iovec){header + TRACE_FRAME_HEADER_BYTES, length}, 1);
}

/* A frame whose payload is one structure. */
static void add_frame(struct trace_frames *f, enum trace_frame_kind kind, const void *from)
{
	size_t at = frame_begin(f);

	trace_encode(&f->bytes, trace_frame_fields[kind], from);
	frame_end(f, at, kind);
}

/* An item with its own length, as later versions may have longer ones. */
static void add_item(struct buf *b, const struct trace_field *fields, const void *v)
{
	size_t at = b->len;

	buf_le32(b, 0); /* the number of bytes that follow, once known */
	trace_encode(b, fields, v);
	if (!buf_error(b))
		put_le32(b, at, (uint32_t)(b->len - at - 4));
}

int trace_writer_set_common(struct trace_writer *w, const struct trace_info *info,
			    const struct trace_event *events, size_t nr_events)
{
	struct buf *b = &w->common.bytes;
	size_t at;

	buf_reset(b);
	w->common.nr = 0;
	add_frame(&w->common, TRACE_FRAME_INFO, info);
	at = frame_begin(&w->common);
	if (nr_events > TRACE_MAX_EVENTS)
		trace_buf_fail(b, -EFBIG);
	buf_le32(b, (uint32_t)nr_events);
	buf_le32(b, 0);
	for (size_t i = 0; i < nr_events && !buf_error(b); i++)
		add_item(b, trace_event_fields, &events[i]);
	frame_end(&w->common, at, TRACE_FRAME_EVENTS);
	return buf_error(b);
}

static void add_header(struct buf *b, const struct trace_head *head)
{
	struct trace_header_bytes h = {
	    .byte_order = htole32(TRACE_BYTE_ORDER),
	    .version = htole16(TRACE_VERSION),
	    .header_bytes = htole16(TRACE_HEADER_BYTES),
	    .iteration = htole32(head->iteration),
	    .trace = htole32(head->trace),
	    .cpu = htole32(head->cpu),
	    .nr_traces = htole32(head->nr_traces),
	};

	memcpy(h.magic, TRACE_MAGIC, sizeof(h.magic));
	memcpy(h.session_id, head->session_id, sizeof(h.session_id));
	memcpy(h.boot_id, head->boot_id, sizeof(h.boot_id));
	memcpy(h.host, head->host, strnlen(head->host, sizeof(h.host)));
	memcpy(h.machine, head->machine, strnlen(head->machine, sizeof(h.machine)));
	h.crc = htole32(crc32c(0, &h, offsetof(struct trace_header_bytes, crc)));
	buf_add(b, &h, sizeof(h));
}

void trace_writer_features(struct trace_writer *w, uint32_t incompatible)
{
	enum { AT = offsetof(struct trace_header_bytes, crc) };

	put_le32(&w->own.bytes, offsetof(struct trace_header_bytes, incompatible), incompatible);
	put_le32(&w->own.bytes, AT, crc32c(0, w->own.bytes.data, AT));
}

void trace_writer_more(struct trace_writer *w)
{
	buf_reset(&w->own.bytes);
	w->own.nr = 0;
	w->has_header = false;
	w->nr_readings = 0;
}

void trace_writer_iteration(struct trace_writer *w, uint32_t iteration)
{
	trace_writer_more(w);
	add_frame(&w->own, TRACE_FRAME_ITERATION, &(struct trace_part){.iteration = iteration});
}

void trace_writer_common(struct trace_writer *w)
{
	trace_buf_fail(&w->own.bytes, buf_error(&w->common.bytes));
	buf_add(&w->own.bytes, w->common.bytes.data, w->common.bytes.len);
	w->own.nr += w->common.nr;
}

int trace_writer_begin(struct trace_writer *w, const struct trace_head *head)
{
	trace_writer_more(w);
	w->has_header = true;
	add_header(&w->own.bytes, head);
	trace_writer_common(w);
	return buf_error(&w->own.bytes);
}

void trace_writer_clocks(struct trace_writer *w, const struct clock_triple *clocks)
{
	add_frame(&w->own, TRACE_FRAME_CLOCKS, clocks);
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
	struct buf *b = &w->own.bytes;
	size_t at = frame_begin(&w->own);

	buf_le32(b, boundary);
	buf_le32(b, TRACE_READING_BYTES);
	buf_le32(b, (uint32_t)nr);
	buf_le32(b, 0);
	for (size_t i = 0; i < nr && !buf_error(b); i++)
		add_reading(b, &readings[i]);
	frame_end(&w->own, at, TRACE_FRAME_READINGS);
	w->nr_readings += nr;
}

void trace_writer_note(struct trace_writer *w, const struct trace_note *note)
{
	add_frame(&w->own, TRACE_FRAME_NOTE, note);
}

void trace_writer_where(struct trace_writer *w, const struct trace_where *place)
{
	add_frame(&w->own, TRACE_FRAME_WHERE, place);
}

void trace_writer_window(struct trace_writer *w, const struct trace_window *window)
{
	add_frame(&w->own, TRACE_FRAME_WINDOW, window);
}

void trace_writer_histogram(struct trace_writer *w, const struct trace_histogram *h)
{
	size_t at = frame_begin(&w->own);

	trace_encode(&w->own.bytes, trace_histogram_fields, h);
	trace_encode_list(&w->own.bytes, &trace_bucket_list, h->bucket, h->nr);
	frame_end(&w->own, at, TRACE_FRAME_HISTOGRAM);
}

void trace_writer_function(struct trace_writer *w, const struct trace_function *f)
{
	size_t at = frame_begin(&w->own);

	trace_encode(&w->own.bytes, trace_function_fields, f);
	trace_encode_list(&w->own.bytes, &trace_bucket_list, f->bucket, f->nr);
	frame_end(&w->own, at, TRACE_FRAME_FUNCTION);
}

void trace_writer_value(struct trace_writer *w, const struct trace_value *v)
{
	add_frame(&w->own, TRACE_FRAME_VALUE, v);
}

void trace_writer_switch(struct trace_writer *w, const struct trace_switch *s)
{
	add_frame(&w->own, TRACE_FRAME_SWITCH, s);
}

void trace_writer_mark_name(struct trace_writer *w, const struct trace_mark_name *name)
{
	add_frame(&w->own, TRACE_FRAME_MARK_NAME, name);
}

void trace_writer_marks(struct trace_writer *w, const struct trace_marks *m)
{
	size_t at = frame_begin(&w->own);

	trace_encode(&w->own.bytes, trace_marks_fields, m);
	trace_marks_encode(&w->own.bytes, m->mark, m->nr);
	frame_end(&w->own, at, TRACE_FRAME_MARKS);
}

void trace_writer_target(struct trace_writer *w, const struct trace_target *t)
{
	add_frame(&w->own, TRACE_FRAME_TARGET, t);
}

void trace_writer_memory(struct trace_writer *w, const struct mapping_map *m)
{
	struct buf *b = &w->own.bytes;
	size_t at = frame_begin(&w->own);

	trace_encode(b, trace_memory_fields, m);
	if (m->nr > TRACE_MAX_ITEMS)
		trace_buf_fail(b, -EFBIG);
	buf_le32(b, (uint32_t)m->nr);
	buf_le32(b, 0);
	for (size_t i = 0; i < m->nr && !buf_error(b); i++)
		add_item(b, trace_mapping_fields, &m->row[i]);
	frame_end(&w->own, at, TRACE_FRAME_MEMORY);
}

void trace_writer_cmdline(struct trace_writer *w, const struct trace_cmdline *c)
{
	add_frame(&w->own, TRACE_FRAME_CMDLINE, c);
}

void trace_writer_build_id(struct trace_writer *w, const struct trace_build_id *id)
{
	add_frame(&w->own, TRACE_FRAME_BUILD_ID, id);
}

void trace_writer_code(struct trace_writer *w, const struct trace_code *code)
{
	add_frame(&w->own, TRACE_FRAME_CODE, code);
}

void trace_writer_compiled(struct trace_writer *w, const struct trace_compiled *c)
{
	add_frame(&w->own, TRACE_FRAME_COMPILED, c);
}

void trace_writer_ids(struct trace_writer *w, const struct trace_id *ids, size_t nr)
{
	size_t at = frame_begin(&w->own);

	trace_encode_list(&w->own.bytes, &trace_id_list, ids, nr);
	frame_end(&w->own, at, TRACE_FRAME_IDS);
}

void trace_writer_sampling(struct trace_writer *w, const struct trace_sampling *s)
{
	size_t at = frame_begin(&w->own);

	trace_encode(&w->own.bytes, trace_sampling_fields, s);
	trace_encode_list(&w->own.bytes, &trace_sampled_list, s->item, s->nr);
	frame_end(&w->own, at, TRACE_FRAME_SAMPLING);
	if (s->held.wanted_ns)
		add_frame(&w->own, TRACE_FRAME_HELD, &s->held);
	if (s->divisor)
		add_frame(&w->own, TRACE_FRAME_DIVISOR, s);
}

void trace_writer_thing_clock(struct trace_writer *w, const struct trace_thing_clock *clock)
{
	add_frame(&w->own, TRACE_FRAME_THING_CLOCK, clock);
}

static void add_things(struct trace_writer *w, const struct trace_things *t, size_t from, size_t to)
{
	struct buf *b = &w->own.bytes;
	size_t at = frame_begin(&w->own);

	buf_le32(b, (uint32_t)t->nr_events);
	buf_le32(b, (uint32_t)(to - from));
	for (size_t i = 0; i < t->nr_events; i++)
		buf_le32(b, t->events[i]);
	for (size_t i = from; i < to && !buf_error(b); i++) {
		/* longer names, which the kernel does not have, are truncated */
		size_t len = strnlen(t->item[i].name, TRACE_MAX_NAME_BYTES);

		buf_le32(b, t->item[i].number);
		buf_le16(b, (uint16_t)len);
		buf_add(b, t->item[i].name, len);
	}
	frame_end(&w->own, at, TRACE_FRAME_THINGS);
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
	struct buf *b = &w->own.bytes;
	size_t at = frame_begin(&w->own);

	if (len % 8)
		trace_buf_fail(b, -EINVAL);
	buf_le32(b, ring);
	buf_le32(b, cpu);
	buf_add(b, records, len);
	frame_end(&w->own, at, TRACE_FRAME_RECORDS);
}

void trace_add_stack(struct buf *items, const struct trace_added *added, const void *record,
		     size_t len)
{
	if (len % 8)
		trace_buf_fail(items, -EINVAL);
	buf_le64(items, added->samples);
	buf_le64(items, added->weight);
	buf_le64(items, added->end_ns);
	buf_add(items, record, len);
}

void trace_writer_stacks(struct trace_writer *w, uint32_t cpu, const struct buf *items)
{
	size_t at = frame_begin(&w->own);

	if (buf_error(items))
		trace_buf_fail(&w->own.bytes, buf_error(items));
	buf_le32(&w->own.bytes, cpu);
	buf_le32(&w->own.bytes, 0);
	buf_add(&w->own.bytes, items->data, items->len);
	frame_end(&w->own, at, TRACE_FRAME_STACKS);
}

void trace_writer_places(struct trace_writer *w, const struct buf *items)
{
	size_t at = frame_begin(&w->own);

	if (buf_error(items))
		trace_buf_fail(&w->own.bytes, buf_error(items));
	buf_add(&w->own.bytes, items->data, items->len);
	frame_end(&w->own, at, TRACE_FRAME_PLACES);
}

void trace_writer_kallsyms(struct trace_writer *w, const char *text, size_t len)
{
	size_t at = frame_begin(&w->own);

	buf_add(&w->own.bytes, text, len);
	frame_end(&w->own, at, TRACE_FRAME_KALLSYMS);
}

void trace_writer_end(struct trace_writer *w, const struct trace_totals *totals)
{
	add_frame(&w->own, TRACE_FRAME_END, totals);
}

void trace_writer_index(struct trace_writer *w, uint64_t offset, const struct trace_part *item,
			size_t nr)
{
	size_t at = frame_begin(&w->own);

	trace_encode_list(&w->own.bytes, &trace_index_list, item, nr);
	buf_le64(&w->own.bytes, offset);
	frame_end(&w->own, at, TRACE_FRAME_INDEX);
}

void trace_writer_whole(struct trace_writer *w, const struct trace_totals *totals)
{
	struct trace_totals t = *totals;

	t.nr_frames = w->own.nr;
	t.nr_readings = w->nr_readings;
	t.bytes = w->own.bytes.len;
	trace_writer_end(w, &t);
}

int trace_writer_bytes(const struct trace_writer *w, const void **bytes, size_t *len)
{
	*bytes = w->own.bytes.data;
	*len = w->own.bytes.len;
	return buf_error(&w->own.bytes);
}

int trace_writer_check(const struct trace_writer *w, bool has_header, const char *path,
		       struct err *e)
{
	int rc = buf_error(&w->own.bytes);

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
	rc = trace_writer_check(w, true, path, e)
		 ?: io_write_atomic(dirfd, name, path, w->own.bytes.data, w->own.bytes.len,
				    trace_is_trace, e);
	trace_writer_more(w);
	return rc;
}

int trace_is_of_session(int fd, const uint8_t id[16])
{
	struct trace_header_bytes h;
	ssize_t n = io_read_full(fd, &h, sizeof(h));

	if (n < 0)
		return (int)n;
	return n == sizeof(h) && memcmp(h.magic, TRACE_MAGIC, sizeof(h.magic)) == 0 &&
	       memcmp(h.session_id, id, sizeof(h.session_id)) == 0;
}

int trace_is_trace(int fd)
{
	char magic[8];
	ssize_t n = io_read_full(fd, magic, sizeof(magic));

	if (n < 0)
		return (int)n;
	return n == sizeof(magic) && memcmp(magic, TRACE_MAGIC, sizeof(magic)) == 0;
}
