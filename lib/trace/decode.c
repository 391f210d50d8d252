/*
 * Decodes the payloads of frames into the structures of trace.h. Every length, count and string is
 * untrusted: it is read through a bounded cursor, with limits, and text is cleaned. Must not know
 * files, nor what the numbers mean.
 */
#include "base/arena.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "base/str.h"
#include "trace/format.h"
#include "trace/reader.h"

#include <errno.h>
#include <string.h>

struct decoder {
	struct cursor c;
	struct arena *store;
	bool no_memory;
};

static bool decoder_init(struct decoder *d, const struct trace_frame *f, uint32_t kind)
{
	*d = (struct decoder){0};
	cursor_init(&d->c, f->payload, f->length);
	return f->kind == kind;
}

static int decoder_result(const struct decoder *d)
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

/* A copy of the next len bytes; NULL if there is nothing to copy. */
static char *copy_bytes(struct decoder *d, size_t len)
{
	const uint8_t *p = cursor_bytes(&d->c, len);
	char *s;

	if (!p || !len)
		return NULL;
	s = arena_strndup(d->store, (const char *)p, len);
	d->no_memory |= !s;
	return s;
}

static const char *decode_text(struct decoder *d, size_t len)
{
	char *s = copy_bytes(d, len);

	if (!s)
		return "";
	str_clean(s, len);
	return s;
}

static const char *decode_string16(struct decoder *d)
{
	return decode_text(d, cursor_le16(&d->c));
}

/* The length of a string32; longer than max_bytes is malformed. */
static uint32_t decode_length32(struct decoder *d, uint32_t max_bytes)
{
	uint32_t len = cursor_le32(&d->c);

	d->c.underflow |= len > max_bytes;
	return len;
}

/* Text that is made of lines. */
static const char *decode_lines(struct decoder *d, size_t len)
{
	char *s = copy_bytes(d, len);

	if (!s)
		return "";
	str_clean_lines(s, len);
	return s;
}

/* 0 (meaning 1) for a value that is no scale. */
static double decode_scale(struct decoder *d)
{
	uint64_t bits = cursor_le64(&d->c);
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x > 0 && x < 1e30 ? x : 0;
}

static void decode_event(struct decoder *d, struct trace_event *v)
{
	const char **strings[] = {&v->group,       &v->name,   &v->label, &v->unit,
				  &v->description, &v->source, &v->reason};

	v->id = cursor_le32(&d->c);
	v->kind = cursor_le32(&d->c);
	v->scope = cursor_le32(&d->c);
	v->flags = cursor_le32(&d->c);
	v->rate = cursor_le64(&d->c);
	v->state = cursor_le32(&d->c);
	v->perf_group = cursor_le32(&d->c);
	v->attr_bytes = cursor_le32(&d->c);
	d->c.underflow |= v->attr_bytes > TRACE_MAX_ATTR_BYTES;
	v->attr = copy_bytes(d, v->attr_bytes);
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		*strings[i] = decode_string16(d);
	v->scale = d->c.left ? decode_scale(d) : 0;
	v->frequency = d->c.left ? cursor_le64(&d->c) : 0;
	v->format = d->c.left ? decode_lines(d, decode_length32(d, TRACE_MAX_FORMAT_BYTES)) : "";
}

/* Each event has a decoder of its own length, so that fields of a later version are skipped. */
static int decode_events(struct decoder *d, struct trace_event *item, size_t nr)
{
	int rc = decoder_result(d);

	for (size_t i = 0; i < nr && rc == 0; i++) {
		struct decoder own = {.store = d->store};
		size_t len = cursor_le32(&d->c);
		const uint8_t *p = cursor_bytes(&d->c, len);

		if (!p)
			return -EINVAL;
		cursor_init(&own.c, p, len);
		decode_event(&own, &item[i]);
		rc = decoder_result(&own);
	}
	return rc;
}

int trace_decode_events(const struct trace_frame *f, struct trace_events *out)
{
	struct trace_event *item;
	struct decoder d;
	size_t nr;
	int rc;

	if (!decoder_init(&d, f, TRACE_FRAME_EVENTS))
		return -EINVAL;
	nr = cursor_le32(&d.c);
	cursor_skip(&d.c, TRACE_EVENTS_HEAD_BYTES - 4);
	if (nr > TRACE_MAX_EVENTS || nr * TRACE_EVENT_MIN_BYTES > d.c.left)
		return -EINVAL;
	d.store = store_new();
	item = d.store ? arena_calloc(d.store, nr, sizeof(*item)) : NULL;
	rc = item ? decode_events(&d, item, nr) : -ENOMEM;
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

static void decode_info(struct decoder *d, struct trace_info *i)
{
	const char **strings[] = {&i->tool, &i->kernel, &i->cpu_model, &i->config_name,
				  &i->model_name};

	i->duration_ns = cursor_le64(&d->c);
	i->num_iterations = cursor_le64(&d->c);
	i->user_hz = cursor_le32(&d->c);
	i->page_bytes = cursor_le32(&d->c);
	for (size_t k = 0; k < sizeof(strings) / sizeof(strings[0]); k++)
		*strings[k] = decode_string16(d);
	i->spec_json = decode_text(d, decode_length32(d, TRACE_MAX_SPEC_BYTES));
}

int trace_decode_info(const struct trace_frame *f, struct trace_info_owned *out)
{
	struct trace_info info;
	struct decoder d;
	int rc;

	if (!decoder_init(&d, f, TRACE_FRAME_INFO))
		return -EINVAL;
	d.store = store_new();
	if (!d.store)
		return -ENOMEM;
	decode_info(&d, &info);
	rc = decoder_result(&d);
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

static int decode_things(struct decoder *d, size_t nr_events, size_t nr, struct trace_things *out)
{
	uint32_t *events = arena_calloc(d->store, nr_events, sizeof(*events));
	struct trace_thing *item = arena_calloc(d->store, nr, sizeof(*item));

	if (!events || !item)
		return -ENOMEM;
	for (size_t i = 0; i < nr_events; i++)
		events[i] = cursor_le32(&d->c);
	for (size_t i = 0; i < nr && cursor_ok(&d->c) && !d->no_memory; i++) {
		item[i].number = cursor_le32(&d->c);
		item[i].name = decode_string16(d);
	}
	*out = (struct trace_things){events, nr_events, item, nr};
	return decoder_result(d);
}

int trace_decode_things(const struct trace_frame *f, struct trace_things_owned *out)
{
	struct trace_things things;
	size_t nr_events, nr;
	struct decoder d;
	int rc;

	if (!decoder_init(&d, f, TRACE_FRAME_THINGS))
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

int trace_decode_clocks(const struct trace_frame *f, struct clock_triple *out)
{
	struct clock_triple t;
	struct decoder d;

	if (!decoder_init(&d, f, TRACE_FRAME_CLOCKS))
		return -EINVAL;
	t.monotonic_ns = cursor_le64(&d.c);
	t.boottime_ns = cursor_le64(&d.c);
	t.realtime_ns = cursor_le64(&d.c);
	if (!cursor_ok(&d.c))
		return -EINVAL;
	*out = t;
	return 0;
}

int trace_decode_end(const struct trace_frame *f, struct trace_totals *out)
{
	struct trace_totals t;
	struct decoder d;
	uint64_t flags;

	if (!decoder_init(&d, f, TRACE_FRAME_END))
		return -EINVAL;
	t.start_ns = cursor_le64(&d.c);
	t.end_ns = cursor_le64(&d.c);
	t.nr_frames = cursor_le64(&d.c);
	t.nr_readings = cursor_le64(&d.c);
	t.lost = cursor_le64(&d.c);
	t.throttled = cursor_le64(&d.c);
	t.bytes = cursor_le64(&d.c);
	flags = d.c.left ? cursor_le64(&d.c) : 0;
	t.is_cut = flags & TRACE_END_IS_CUT;
	t.is_short = flags & TRACE_END_IS_SHORT;
	if (!cursor_ok(&d.c))
		return -EINVAL;
	*out = t;
	return 0;
}

/* Cleans after the cut, which may have split a character. */
static void copy_clean(char *to, size_t size, const char *text, size_t len)
{
	if (len > size - 1)
		len = size - 1;
	memcpy(to, text, len);
	to[len] = '\0';
	str_clean(to, len);
}

int trace_decode_where(const struct trace_frame *f, struct trace_where *out)
{
	int32_t package, node;
	struct decoder d;
	const char *type;
	size_t len;

	if (!decoder_init(&d, f, TRACE_FRAME_WHERE))
		return -EINVAL;
	package = (int32_t)cursor_le32(&d.c);
	node = (int32_t)cursor_le32(&d.c);
	type = cursor_string16(&d.c, &len);
	if (!cursor_ok(&d.c))
		return -EINVAL;
	*out = (struct trace_where){.package = package, .node = node};
	copy_clean(out->type, sizeof(out->type), type, len);
	return 0;
}

int trace_decode_target(const struct trace_frame *f, struct trace_target *out)
{
	struct trace_target t = {0};
	uint64_t *numbers[] = {&t.start_ns,
			       &t.end_ns,
			       &t.user_ns,
			       &t.system_ns,
			       &t.peak_bytes,
			       &t.minor_faults,
			       &t.major_faults,
			       &t.read_blocks,
			       &t.written_blocks,
			       &t.voluntary_switches,
			       &t.involuntary_switches};
	struct decoder d;
	const char *text;
	size_t len;

	if (!decoder_init(&d, f, TRACE_FRAME_TARGET))
		return -EINVAL;
	t.flags = cursor_le32(&d.c);
	t.pid = cursor_le32(&d.c);
	t.status = cursor_le32(&d.c);
	cursor_le32(&d.c);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		*numbers[i] = cursor_le64(&d.c);
	text = cursor_string16(&d.c, &len);
	if (!cursor_ok(&d.c))
		return -EINVAL;
	copy_clean(t.text, sizeof(t.text), text, len);
	*out = t;
	return 0;
}

int trace_decode_note(const struct trace_frame *f, struct trace_note *out, char *buf, size_t size)
{
	struct decoder d;
	const char *text;
	uint64_t time_ns;
	size_t len;

	if (!decoder_init(&d, f, TRACE_FRAME_NOTE) || !size)
		return -EINVAL;
	time_ns = cursor_le64(&d.c);
	text = cursor_string16(&d.c, &len);
	if (!cursor_ok(&d.c))
		return -EINVAL;
	copy_clean(buf, size, text, len);
	*out = (struct trace_note){time_ns, buf};
	return 0;
}

struct readings_head {
	uint32_t boundary, record_bytes, nr;
};

static void decode_readings_head(struct cursor *c, struct readings_head *h)
{
	h->boundary = cursor_le32(c);
	h->record_bytes = cursor_le32(c);
	h->nr = cursor_le32(c);
	cursor_skip(c, 4);
}

int trace_decode_readings(const struct trace_frame *f, enum trace_boundary *boundary, size_t *nr)
{
	struct readings_head h;
	struct decoder d;

	if (!decoder_init(&d, f, TRACE_FRAME_READINGS))
		return -EINVAL;
	decode_readings_head(&d.c, &h);
	if (!cursor_ok(&d.c) || h.boundary > TRACE_TICK || h.record_bytes < TRACE_READING_BYTES ||
	    (uint64_t)h.record_bytes * h.nr != d.c.left)
		return -EINVAL;
	*boundary = (enum trace_boundary)h.boundary;
	*nr = h.nr;
	return 0;
}

/* The offset of reading i in the payload. */
static uint64_t reading_at(const struct trace_frame *f, size_t i)
{
	struct readings_head h;
	struct cursor c;

	cursor_init(&c, f->payload, f->length);
	decode_readings_head(&c, &h);
	return TRACE_READINGS_HEAD_BYTES + (uint64_t)h.record_bytes * i;
}

void trace_decode_reading(const struct trace_frame *f, size_t i, struct reading *out)
{
	struct cursor c;

	cursor_init(&c, f->payload, f->length);
	cursor_skip(&c, (size_t)reading_at(f, i));
	out->event = cursor_le32(&c);
	out->instance = cursor_le32(&c);
	out->state = cursor_le32(&c);
	out->flags = cursor_le32(&c);
	out->time_ns = cursor_le64(&c);
	out->raw = cursor_le64(&c);
	out->enabled_ns = cursor_le64(&c);
	out->running_ns = cursor_le64(&c);
	out->base = cursor_le64(&c);
}

uint64_t trace_reading_offset(const struct trace_frame *f, size_t i)
{
	return f->is_packed ? f->offset : f->offset + TRACE_FRAME_HEADER_BYTES + reading_at(f, i);
}
