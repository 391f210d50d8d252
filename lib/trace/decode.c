/*
 * Decodes the payloads of frames into the structures of trace.h. Every length, count and string is
 * untrusted: it is read through a bounded cursor, with limits, and text is cleaned. Must not know
 * files, nor what the numbers mean.
 */
#include "base/arena.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "base/str.h"
#include "trace/fields.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "trace/record.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

static bool begin(struct trace_decoder *d, const struct trace_frame *f, uint32_t kind)
{
	*d = (struct trace_decoder){0};
	cursor_init(&d->c, f->payload, f->length);
	return f->kind == kind;
}

static int result(const struct trace_decoder *d)
{
	if (!cursor_ok(&d->c))
		return -EINVAL;
	return d->no_memory ? -ENOMEM : 0;
}

static struct arena *store_new(void)
{
	struct arena *a = mem_alloc(sizeof(*a));

	if (a)
		/* a short string is longer here than in its frame */
		arena_init(a, 2 * (size_t)TRACE_FRAME_MAX_BYTES);
	return a;
}

static void store_free(struct arena *a)
{
	if (a)
		arena_fini(a);
	mem_free(a);
}

/* Each item has a decoder of its own length, so that fields of a later version are skipped. */
static int decode_items(struct trace_decoder *d, const struct trace_field *fields, void *item,
			size_t size, size_t nr)
{
	int rc = result(d);

	for (size_t i = 0; i < nr && rc == 0; i++) {
		struct trace_decoder own = {.store = d->store};
		size_t len = cursor_le32(&d->c);
		const uint8_t *p = cursor_bytes(&d->c, len);

		if (!p)
			return -EINVAL;
		cursor_init(&own.c, p, len);
		trace_decode(&own, fields, (char *)item + i * size);
		rc = result(&own);
	}
	return rc;
}

int trace_decode_events(const struct trace_frame *f, struct trace_events *out)
{
	struct trace_event *item;
	struct trace_decoder d;
	size_t nr;
	int rc;

	if (!begin(&d, f, TRACE_FRAME_EVENTS))
		return -EINVAL;
	nr = cursor_le32(&d.c);
	cursor_skip(&d.c, TRACE_EVENTS_HEAD_BYTES - 4);
	if (nr > TRACE_MAX_EVENTS || nr * TRACE_EVENT_MIN_BYTES > d.c.left)
		return -EINVAL;
	d.store = store_new();
	item = d.store ? arena_calloc(d.store, nr, sizeof(*item)) : NULL;
	rc = item ? decode_items(&d, trace_event_fields, item, sizeof(*item), nr) : -ENOMEM;
	if (rc) {
		store_free(d.store);
		return rc;
	}
	*out = (struct trace_events){item, nr, d.store};
	return 0;
}

void trace_events_fini(struct trace_events *e)
{
	store_free(e->store);
	*e = (struct trace_events){0};
}

int trace_decode_info(const struct trace_frame *f, struct trace_info_owned *out)
{
	struct trace_info info = {0};
	struct trace_decoder d;
	int rc;

	if (!begin(&d, f, TRACE_FRAME_INFO))
		return -EINVAL;
	d.store = store_new();
	if (!d.store)
		return -ENOMEM;
	trace_decode(&d, trace_frame_fields[TRACE_FRAME_INFO], &info);
	rc = result(&d);
	if (rc) {
		store_free(d.store);
		return rc;
	}
	*out = (struct trace_info_owned){info, d.store};
	return 0;
}

void trace_info_fini(struct trace_info_owned *i)
{
	store_free(i->store);
	*i = (struct trace_info_owned){0};
}

static int decode_things(struct trace_decoder *d, size_t nr_events, size_t nr,
			 struct trace_things *out)
{
	uint32_t *events = arena_calloc(d->store, nr_events, sizeof(*events));
	struct trace_thing *item = arena_calloc(d->store, nr, sizeof(*item));

	if (!events || !item)
		return -ENOMEM;
	for (size_t i = 0; i < nr_events; i++)
		events[i] = cursor_le32(&d->c);
	for (size_t i = 0; i < nr && cursor_ok(&d->c) && !d->no_memory; i++) {
		item[i].number = cursor_le32(&d->c);
		item[i].name = trace_decode_text(d, cursor_le16(&d->c), str_clean);
	}
	*out = (struct trace_things){events, nr_events, item, nr};
	return result(d);
}

int trace_decode_things(const struct trace_frame *f, struct trace_things_owned *out)
{
	struct trace_things things;
	size_t nr_events, nr;
	struct trace_decoder d;
	int rc;

	if (!begin(&d, f, TRACE_FRAME_THINGS))
		return -EINVAL;
	nr_events = cursor_le32(&d.c);
	nr = cursor_le32(&d.c);
	if (!nr_events || nr_events > TRACE_MAX_EVENTS || nr > TRACE_MAX_ITEMS ||
	    nr_events * 4 + nr * TRACE_THING_MIN_BYTES > d.c.left)
		return -EINVAL;
	d.store = store_new();
	rc = d.store ? decode_things(&d, nr_events, nr, &things) : -ENOMEM;
	if (rc) {
		store_free(d.store);
		return rc;
	}
	*out = (struct trace_things_owned){things, d.store};
	return 0;
}

void trace_things_fini(struct trace_things_owned *t)
{
	store_free(t->store);
	*t = (struct trace_things_owned){0};
}

/* A frame whose payload is one structure without texts of its own. */
static int decode_frame(const struct trace_frame *f, enum trace_frame_kind kind, void *out,
			size_t size)
{
	union {
		struct clock_triple clocks;
		struct trace_totals totals;
		struct trace_where place;
		struct trace_target target;
		struct trace_build_id build_id;
		struct trace_cmdline cmdline;
		struct trace_held held;
		struct trace_window window;
		struct trace_mark_name mark_name;
		struct trace_switch change;
		struct trace_code code;
		struct trace_compiled compiled;
		struct trace_sampling sampling;
	} v;
	struct trace_decoder d;

	if (!begin(&d, f, kind))
		return -EINVAL;
	memset(&v, 0, sizeof(v));
	trace_decode(&d, trace_frame_fields[kind], &v);
	if (!cursor_ok(&d.c))
		return -EINVAL;
	memcpy(out, &v, size);
	return 0;
}

int trace_decode_clocks(const struct trace_frame *f, struct clock_triple *out)
{
	return decode_frame(f, TRACE_FRAME_CLOCKS, out, sizeof(*out));
}

int trace_decode_end(const struct trace_frame *f, struct trace_totals *out)
{
	return decode_frame(f, TRACE_FRAME_END, out, sizeof(*out));
}

int trace_decode_where(const struct trace_frame *f, struct trace_where *out)
{
	return decode_frame(f, TRACE_FRAME_WHERE, out, sizeof(*out));
}

int trace_decode_target(const struct trace_frame *f, struct trace_target *out)
{
	return decode_frame(f, TRACE_FRAME_TARGET, out, sizeof(*out));
}

int trace_decode_held(const struct trace_frame *f, struct trace_held *out)
{
	struct trace_held held;
	int rc = decode_frame(f, TRACE_FRAME_HELD, &held, sizeof(held));

	if (rc || held.from_ns > held.to_ns)
		return -EINVAL;
	*out = held;
	return 0;
}

int trace_decode_window(const struct trace_frame *f, struct trace_window *out)
{
	return decode_frame(f, TRACE_FRAME_WINDOW, out, sizeof(*out));
}

int trace_decode_build_id(const struct trace_frame *f, struct trace_build_id *out)
{
	struct trace_build_id id;
	int rc = decode_frame(f, TRACE_FRAME_BUILD_ID, &id, sizeof(id));

	if (rc || !id.id_len || id.id_len > TRACE_MAX_BUILD_ID_BYTES)
		return -EINVAL;
	*out = id;
	return 0;
}

/* Whether they are what bytes has, in the file. */
static bool are_parts(const struct trace_file_parts *p)
{
	uint64_t end = 0, bytes = 0;

	for (size_t i = 0; i < p->nr; i++) {
		const struct range *r = &p->part[i];

		if (r->offset < end || r->offset > p->file_bytes ||
		    r->len > p->file_bytes - r->offset || r->len > p->len - bytes)
			return false;
		end = r->offset + r->len;
		bytes += r->len;
	}
	return p->nr && p->nr <= TRACE_MAX_FILE_PARTS && bytes == p->len;
}

int trace_decode_file_parts(const struct trace_frame *f, struct trace_file_parts *out)
{
	struct trace_file_parts p = {.nr = 0};
	struct trace_decoder d;
	void *part;
	int rc;

	if (!begin(&d, f, TRACE_FRAME_FILE_PARTS))
		return -EINVAL;
	trace_decode(&d, trace_file_parts_fields, &p);
	if (!cursor_ok(&d.c) || p.id_len > TRACE_MAX_BUILD_ID_BYTES)
		return -EINVAL;
	rc = trace_decode_list(&d.c, &trace_range_list, &part, &p.nr);
	if (rc)
		return rc;
	p.part = part;
	p.bytes = d.c.at;
	p.len = d.c.left;
	if (!are_parts(&p)) {
		mem_free(part);
		return -EINVAL;
	}
	*out = p;
	return 0;
}

void trace_file_parts_fini(struct trace_file_parts *p)
{
	mem_free((void *)p->part);
	*p = (struct trace_file_parts){.nr = 0};
}

int trace_decode_cmdline(const struct trace_frame *f, struct trace_cmdline *out)
{
	struct trace_cmdline c;
	int rc = decode_frame(f, TRACE_FRAME_CMDLINE, &c, sizeof(c));

	if (rc || !c.len || c.len > TRACE_CMDLINE_BYTES || c.from_ns > c.to_ns)
		return -EINVAL;
	*out = c;
	return 0;
}

int trace_decode_kallsyms(const struct trace_frame *f, const char **text, size_t *len)
{
	if (f->kind != TRACE_FRAME_KALLSYMS)
		return -EINVAL;
	*text = (const char *)f->payload;
	*len = f->length;
	return 0;
}

int trace_decode_symbol_range(const struct trace_frame *f, struct trace_symbol_range *out)
{
	struct trace_symbol_range r;
	int rc = decode_frame(f, TRACE_FRAME_RANGE, &r, sizeof(r));

	if (rc || r.first > r.last)
		return -EINVAL;
	*out = r;
	return 0;
}

int trace_decode_note(const struct trace_frame *f, struct trace_note *out, char *buf, size_t size)
{
	struct trace_decoder d;
	const char *text;
	uint64_t time_ns;
	size_t len;

	if (!begin(&d, f, TRACE_FRAME_NOTE) || !size)
		return -EINVAL;
	time_ns = cursor_le64(&d.c);
	text = cursor_string16(&d.c, &len);
	if (!cursor_ok(&d.c))
		return -EINVAL;
	trace_copy_clean(buf, size, text, len);
	*out = (struct trace_note){time_ns, buf};
	return 0;
}

int trace_decode_readings(const struct trace_frame *f, enum trace_boundary *boundary, size_t *nr)
{
	uint32_t at, record_bytes, n;
	struct trace_decoder d;

	if (!begin(&d, f, TRACE_FRAME_READINGS))
		return -EINVAL;
	at = cursor_le32(&d.c);
	record_bytes = cursor_le32(&d.c);
	n = cursor_le32(&d.c);
	cursor_skip(&d.c, 4);
	if (!cursor_ok(&d.c) || at > TRACE_TICK || record_bytes < TRACE_READING_BYTES ||
	    (uint64_t)record_bytes * n != d.c.left)
		return -EINVAL;
	*boundary = (enum trace_boundary)at;
	*nr = n;
	return 0;
}

/* The offset of reading i in the payload. */
static uint64_t reading_at(const struct trace_frame *f, size_t i)
{
	struct cursor c;

	cursor_init(&c, f->payload, f->length);
	cursor_skip(&c, 4);
	return TRACE_READINGS_HEAD_BYTES + (uint64_t)cursor_le32(&c) * i;
}

void trace_decode_reading(const struct trace_frame *f, size_t i, struct reading *out)
{
	struct trace_reading_bytes r = {0};
	uint64_t at = reading_at(f, i);

	if (at <= f->length && sizeof(r) <= f->length - at)
		memcpy(&r, f->payload + at, sizeof(r));
	*out = (struct reading){
	    .event = le32toh(r.event),
	    .instance = le32toh(r.instance),
	    .state = le32toh(r.state),
	    .flags = le32toh(r.flags),
	    .time_ns = le64toh(r.time_ns),
	    .raw = le64toh(r.raw),
	    .enabled_ns = le64toh(r.enabled_ns),
	    .running_ns = le64toh(r.running_ns),
	    .base = le64toh(r.base),
	};
}

uint64_t trace_reading_offset(const struct trace_frame *f, size_t i)
{
	return f->is_packed ? f->offset : f->offset + TRACE_FRAME_HEADER_BYTES + reading_at(f, i);
}

int trace_decode_records(const struct trace_frame *f, enum trace_ring *ring, uint32_t *cpu,
			 const uint8_t **records, size_t *len)
{
	uint32_t of_ring, of_cpu;
	struct trace_decoder d;

	if (!begin(&d, f, TRACE_FRAME_RECORDS))
		return -EINVAL;
	of_ring = cursor_le32(&d.c);
	of_cpu = cursor_le32(&d.c);
	if (!cursor_ok(&d.c) || of_ring > TRACE_RING_MADE || d.c.left % 8)
		return -EINVAL;
	*ring = (enum trace_ring)of_ring;
	*cpu = of_cpu;
	*records = d.c.at;
	*len = d.c.left;
	return 0;
}

int trace_decode_stacks(const struct trace_frame *f, uint32_t *cpu, const uint8_t **items,
			size_t *len)
{
	struct trace_decoder d;
	uint32_t of_cpu;

	if (!begin(&d, f, TRACE_FRAME_STACKS))
		return -EINVAL;
	of_cpu = cursor_le32(&d.c);
	cursor_le32(&d.c); /* reserved */
	if (!cursor_ok(&d.c) || d.c.left % 8)
		return -EINVAL;
	*cpu = of_cpu;
	*items = d.c.at;
	*len = d.c.left;
	return 0;
}

int trace_decode_places(const struct trace_frame *f, const uint8_t **items, size_t *len)
{
	struct trace_decoder d;

	if (!begin(&d, f, TRACE_FRAME_PLACES))
		return -EINVAL;
	*items = d.c.at;
	*len = d.c.left;
	return 0;
}

size_t trace_next_stack(const uint8_t *p, size_t len, struct trace_added *out)
{
	struct cursor c;

	cursor_init(&c, p, len);
	out->samples = cursor_le64(&c);
	out->weight = cursor_le64(&c);
	out->end_ns = cursor_le64(&c);
	if (!cursor_ok(&c) || !out->samples || out->samples > TRACE_MAX_ADDED ||
	    out->weight > TRACE_MAX_ADDED_WEIGHT)
		return 0;
	return TRACE_ADDED_BYTES;
}

uint64_t trace_record_offset(const struct trace_frame *f, size_t at)
{
	if (f->is_packed)
		return f->offset;
	return f->offset + TRACE_FRAME_HEADER_BYTES + TRACE_RECORDS_HEAD_BYTES + at;
}

int trace_decode_ids(const struct trace_frame *f, struct trace_ids *out)
{
	struct trace_decoder d;
	void *item;
	size_t nr;
	int rc = begin(&d, f, TRACE_FRAME_IDS) ? trace_decode_list(&d.c, &trace_id_list, &item, &nr)
					       : -EINVAL;

	if (rc == 0)
		*out = (struct trace_ids){item, nr};
	return rc;
}

void trace_ids_fini(struct trace_ids *ids)
{
	mem_free(ids->item);
	*ids = (struct trace_ids){0};
}

static bool are_in_order(const struct trace_bucket *bucket, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (bucket[i].number >= TRACE_HISTOGRAM_BUCKETS ||
		    (i && bucket[i].number <= bucket[i - 1].number))
			return false;
	return true;
}

int trace_decode_histogram(const struct trace_frame *f, struct trace_histogram *out)
{
	struct trace_decoder d;
	void *item;
	int rc;

	if (!begin(&d, f, TRACE_FRAME_HISTOGRAM))
		return -EINVAL;
	*out = (struct trace_histogram){.bits = 0};
	trace_decode(&d, trace_histogram_fields, out);
	rc = trace_decode_list(&d.c, &trace_bucket_list, &item, &out->nr);
	if (rc)
		return rc;
	out->bucket = item;
	if (out->bits == TRACE_HISTOGRAM_BITS && are_in_order(out->bucket, out->nr))
		return 0;
	trace_histogram_fini(out);
	return -EINVAL;
}

/* One without a name, or with other buckets, is invalid. */
int trace_decode_function(const struct trace_frame *f, struct trace_function_owned *out)
{
	struct trace_function_owned v = {.store = store_new()};
	struct trace_decoder d;
	void *item;
	int rc;

	if (!v.store)
		return -ENOMEM;
	rc = begin(&d, f, TRACE_FRAME_FUNCTION) ? 0 : -EINVAL;
	if (rc == 0) {
		d.store = v.store;
		trace_decode(&d, trace_function_fields, &v.function);
		rc = result(&d);
	}
	rc = rc ?: trace_decode_list(&d.c, &trace_bucket_list, &item, &v.function.nr);
	if (rc == 0)
		v.function.bucket = item;
	if (rc == 0 && (v.function.bits != TRACE_HISTOGRAM_BITS || !*v.function.name ||
			!are_in_order(v.function.bucket, v.function.nr)))
		rc = -EINVAL;
	if (rc)
		trace_function_fini(&v);
	else
		*out = v;
	return rc;
}

void trace_function_fini(struct trace_function_owned *f)
{
	mem_free((void *)f->function.bucket);
	store_free(f->store);
	*f = (struct trace_function_owned){.store = NULL};
}

int trace_decode_value(const struct trace_frame *f, struct trace_value_owned *out)
{
	struct trace_value_owned v = {.store = store_new()};
	struct trace_decoder d;
	int rc;

	if (!v.store)
		return -ENOMEM;
	rc = begin(&d, f, TRACE_FRAME_VALUE) ? 0 : -EINVAL;
	if (rc == 0) {
		d.store = v.store;
		trace_decode(&d, trace_frame_fields[TRACE_FRAME_VALUE], &v.value);
		rc = result(&d);
	}
	if (rc == 0 && (!*v.value.name || !*v.value.field_name ||
			v.value.kind >= TRACE_VALUE_NR_KINDS || v.value.type > TRACE_VALUE_STRING))
		rc = -EINVAL;
	if (rc)
		trace_value_fini(&v);
	else
		*out = v;
	return rc;
}

void trace_value_fini(struct trace_value_owned *v)
{
	store_free(v->store);
	*v = (struct trace_value_owned){.store = NULL};
}

int trace_decode_switch(const struct trace_frame *f, struct trace_switch *out)
{
	return decode_frame(f, TRACE_FRAME_SWITCH, out, sizeof(*out));
}

int trace_decode_mark_name(const struct trace_frame *f, struct trace_mark_name *out)
{
	struct trace_mark_name n;
	int rc = decode_frame(f, TRACE_FRAME_MARK_NAME, &n, sizeof(n));

	if (rc || !n.number || !n.text[0])
		return -EINVAL;
	str_disarm(n.text);
	*out = n;
	return 0;
}

int trace_decode_code(const struct trace_frame *f, struct trace_code *out)
{
	struct trace_code c;
	int rc = decode_frame(f, TRACE_FRAME_CODE, &c, sizeof(c));

	if (rc || !c.number)
		return -EINVAL;
	str_disarm(c.name);
	str_disarm(c.file);
	*out = c;
	return 0;
}

int trace_decode_compiled(const struct trace_frame *f, struct trace_compiled *out)
{
	struct trace_compiled c;
	int rc = decode_frame(f, TRACE_FRAME_COMPILED, &c, sizeof(c));

	if (rc || c.start >= c.end)
		return -EINVAL;
	str_disarm(c.name);
	str_disarm(c.file);
	*out = c;
	return 0;
}

static bool are_valid(const struct trace_marks *m)
{
	for (size_t i = 0; i < m->nr; i++)
		if (!m->mark[i].kind || m->mark[i].kind >= TRACE_NR_MARK_KINDS ||
		    (i && m->mark[i].time_ns < m->mark[i - 1].time_ns))
			return false;
	return true;
}

int trace_decode_marks(const struct trace_frame *f, struct trace_marks *out)
{
	struct trace_marks m = {.pid = 0};
	bool is_long = f->kind == TRACE_FRAME_LONG_MARKS;
	struct trace_decoder d;
	void *item;
	int rc;

	if (!begin(&d, f, is_long ? TRACE_FRAME_LONG_MARKS : TRACE_FRAME_MARKS))
		return -EINVAL;
	trace_decode(&d, trace_marks_fields, &m);
	rc = is_long ? trace_decode_list(&d.c, &trace_mark_list, &item, &m.nr)
		     : trace_marks_decode(&d.c, (struct trace_mark **)&item, &m.nr);
	if (rc)
		return rc;
	m.mark = item;
	if (are_valid(&m)) {
		*out = m;
		return 0;
	}
	trace_marks_fini(&m);
	return -EINVAL;
}

void trace_marks_fini(struct trace_marks *m)
{
	mem_free((void *)m->mark);
	m->mark = NULL;
	m->nr = 0;
}

void trace_histogram_fini(struct trace_histogram *h)
{
	mem_free((void *)h->bucket);
	h->bucket = NULL;
	h->nr = 0;
}

int trace_decode_sampling(const struct trace_frame *f, struct trace_sampling *out)
{
	struct trace_sampling s = {0};
	struct trace_decoder d;
	void *item;
	int rc;

	if (!begin(&d, f, TRACE_FRAME_SAMPLING))
		return -EINVAL;
	trace_decode(&d, trace_sampling_fields, &s);
	rc = trace_decode_list(&d.c, &trace_sampled_list, &item, &s.nr);
	if (rc)
		return rc;
	s.item = item;
	*out = s;
	return 0;
}

int trace_decode_memory(const struct trace_frame *f, struct trace_memory_owned *out)
{
	struct mapping_map m = {.flags = 0};
	struct mapping_row *row;
	struct trace_decoder d;
	int rc;

	if (!begin(&d, f, TRACE_FRAME_MEMORY))
		return -EINVAL;
	trace_decode(&d, trace_memory_fields, &m);
	m.nr = cursor_le32(&d.c);
	cursor_skip(&d.c, 4);
	if (m.nr > TRACE_MAX_ITEMS || m.nr * TRACE_MAPPING_MIN_BYTES > d.c.left)
		return -EINVAL;
	d.store = store_new();
	row = d.store ? arena_calloc(d.store, m.nr, sizeof(*row)) : NULL;
	rc = row ? decode_items(&d, trace_mapping_fields, row, sizeof(*row), m.nr) : -ENOMEM;
	if (rc) {
		store_free(d.store);
		return rc;
	}
	m.row = row;
	*out = (struct trace_memory_owned){m, d.store};
	return 0;
}

void trace_memory_fini(struct trace_memory_owned *m)
{
	store_free(m->store);
	*m = (struct trace_memory_owned){0};
}

int trace_decode_thing_clock(const struct trace_frame *f, struct trace_thing_clock *out)
{
	struct trace_thing_clock c;
	int rc = decode_frame(f, TRACE_FRAME_THING_CLOCK, &c, sizeof(c));

	if (rc || c.before_ns > c.after_ns)
		return -EINVAL;
	*out = c;
	return 0;
}

int trace_decode_divisor(const struct trace_frame *f, uint32_t *out)
{
	struct trace_sampling s = {0};
	int rc = decode_frame(f, TRACE_FRAME_DIVISOR, &s, sizeof(s));

	if (rc || !s.divisor || s.divisor > TRACE_MAX_DIVISOR || s.divisor & (s.divisor - 1))
		return -EINVAL;
	*out = s.divisor;
	return 0;
}

void trace_sampling_fini(struct trace_sampling *s)
{
	mem_free((void *)s->item);
	*s = (struct trace_sampling){0};
}
