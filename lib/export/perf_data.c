/*
 * Features are rows of a table, in the order of their numbers: whether there is one, and its
 * writer. Offsets in the file are offsets in the buffer plus what precedes it.
 */
#include "export/perf_data.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/perf_abi.h"
#include "export/perf_tracing.h"

#include <endian.h>
#include <string.h>

enum {
	SECTION_BYTES = 16, /* struct perf_file_section */
	NAME_ALIGN = 64,
	CLOCK_MONOTONIC_NR = 1,
};

#define ATTR_AT(field) offsetof(struct perf_event_attr, field)

static void set32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static void set64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

bool perf_data_attr_init(struct perf_data_attr *a, const void *attr, size_t len,
			 uint64_t sample_type, uint64_t read_format)
{
	const uint8_t *p = attr;
	size_t size = len < sizeof(a->bytes) ? len : sizeof(a->bytes);
	uint64_t bits;

	if (len < PERF_ATTR_SIZE_VER0)
		return false;
	for (size_t i = size; i < len; i++)
		if (p[i])
			return false;
	*a = (struct perf_data_attr){{0}};
	memcpy(a->bytes, p, size);
	set32(a->bytes + ATTR_AT(size), sizeof(a->bytes));
	set64(a->bytes + ATTR_AT(sample_type), sample_type);
	set64(a->bytes + ATTR_AT(read_format), read_format);
	memcpy(&bits, a->bytes + PERF_ABI_ATTR_BITS_AT, sizeof(bits));
	set64(a->bytes + PERF_ABI_ATTR_BITS_AT, le64toh(bits) | PERF_ABI_ATTR_SAMPLE_ID_ALL);
	return true;
}

void perf_data_attr_side_band(struct perf_data_attr *a)
{
	*a = (struct perf_data_attr){{0}};
	set32(a->bytes, PERF_TYPE_SOFTWARE);
	set32(a->bytes + ATTR_AT(size), sizeof(a->bytes));
	set64(a->bytes + ATTR_AT(config), PERF_COUNT_SW_DUMMY);
	set64(a->bytes + ATTR_AT(sample_type), PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						   PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
	set64(a->bytes + PERF_ABI_ATTR_BITS_AT,
	      PERF_ABI_ATTR_MMAP | PERF_ABI_ATTR_COMM | PERF_ABI_ATTR_TASK |
		  PERF_ABI_ATTR_SAMPLE_ID_ALL | PERF_ABI_ATTR_MMAP2 | PERF_ABI_ATTR_COMM_EXEC |
		  PERF_ABI_ATTR_USE_CLOCKID | PERF_ABI_ATTR_KSYMBOL | PERF_ABI_ATTR_BPF_EVENT |
		  PERF_ABI_ATTR_BUILD_ID);
	set32(a->bytes + ATTR_AT(clockid), CLOCK_MONOTONIC_NR);
}

/* Length and text, padded with NULs. */
static void put_string(struct buf *b, const char *s)
{
	size_t len = strlen(s), room = (len + NAME_ALIGN) & ~(size_t)(NAME_ALIGN - 1);

	buf_le32(b, (uint32_t)room);
	buf_add(b, s, len);
	buf_fill(b, '\0', room - len);
}

static bool has_tracepoints(const struct perf_data_tail *t)
{
	return ARRAY_ANY(ev, t->events, t->nr_events, ev->tracepoint);
}

static void put_tracepoints(struct buf *b, const struct perf_data_tail *t)
{
	perf_tracing_add(b, t->events, t->nr_events, t->page_bytes);
}

static bool has_build_ids(const struct perf_data_tail *t)
{
	return t->nr_build_ids;
}

/* struct perf_record_header_build_id */
static void put_build_id(struct buf *b, const struct perf_data_build_id *id)
{
	enum { HEADER_BUILD_ID = 67, MISC_SIZE = 1 << 15 };
	enum { MAX_PATH_BYTES = 4096 };
	size_t path_len = strnlen(id->path, MAX_PATH_BYTES);
	size_t room = (path_len + NAME_ALIGN) & ~(size_t)(NAME_ALIGN - 1);
	uint8_t bytes[24] = {0};

	memcpy(bytes, id->bytes, id->len);
	bytes[PERF_DATA_BUILD_ID_BYTES] = id->len;
	buf_le32(b, HEADER_BUILD_ID);
	buf_le16(b, (id->is_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER) | MISC_SIZE);
	buf_le16(b, (uint16_t)(8 + 4 + sizeof(bytes) + room));
	buf_le32(b, UINT32_MAX); /* the host, not a guest */
	buf_add(b, bytes, sizeof(bytes));
	buf_add(b, id->path, path_len);
	buf_fill(b, '\0', room - path_len);
}

static void put_build_ids(struct buf *b, const struct perf_data_tail *t)
{
	for (size_t i = 0; i < t->nr_build_ids; i++)
		put_build_id(b, &t->build_ids[i]);
}

static bool has_cpus(const struct perf_data_tail *t)
{
	return t->nr_cpus;
}

static void put_cpus(struct buf *b, const struct perf_data_tail *t)
{
	buf_le32(b, t->nr_cpus);
	buf_le32(b, t->nr_online);
}

static bool has_command(const struct perf_data_tail *t)
{
	return t->nr_command;
}

static void put_command(struct buf *b, const struct perf_data_tail *t)
{
	buf_le32(b, (uint32_t)t->nr_command);
	for (size_t i = 0; i < t->nr_command; i++)
		put_string(b, t->command[i]);
}

static bool has_events(const struct perf_data_tail *t)
{
	return t->nr_events;
}

static void put_ids(struct buf *b, const struct perf_data_event *e)
{
	for (size_t i = 0; i < e->nr_ids; i++)
		buf_le64(b, e->ids[i]);
}

static void put_events(struct buf *b, const struct perf_data_tail *t)
{
	buf_le32(b, (uint32_t)t->nr_events);
	buf_le32(b, PERF_DATA_MAX_ATTR_BYTES);
	for (size_t i = 0; i < t->nr_events; i++) {
		const struct perf_data_event *e = &t->events[i];

		buf_add(b, e->attr.bytes, sizeof(e->attr.bytes));
		buf_le32(b, (uint32_t)e->nr_ids);
		put_string(b, e->name);
		put_ids(b, e);
	}
}

static bool has_branches(const struct perf_data_tail *t)
{
	return t->has_branches;
}

static bool has_groups(const struct perf_data_tail *t)
{
	return t->nr_groups;
}

static void put_groups(struct buf *b, const struct perf_data_tail *t)
{
	buf_le32(b, (uint32_t)t->nr_groups);
	for (size_t i = 0; i < t->nr_groups; i++) {
		put_string(b, "{anon_group}");
		buf_le32(b, t->groups[i].leader);
		buf_le32(b, t->groups[i].nr);
	}
}

static bool has_times(const struct perf_data_tail *t)
{
	return t->last_ns;
}

static void put_times(struct buf *b, const struct perf_data_tail *t)
{
	buf_le64(b, t->first_ns);
	buf_le64(b, t->last_ns);
}

/* The resolution of the clock, in ns. */
static void put_clock(struct buf *b, const struct perf_data_tail *t)
{
	(void)t;
	buf_le64(b, 1);
}

static bool has_clock_data(const struct perf_data_tail *t)
{
	return t->realtime_ns;
}

static void put_clock_data(struct buf *b, const struct perf_data_tail *t)
{
	buf_le32(b, 1); /* version */
	buf_le32(b, CLOCK_MONOTONIC_NR);
	buf_le64(b, t->realtime_ns);
	buf_le64(b, t->monotonic_ns);
}

/* HEADER_… of tools/perf/util/header.h, in their order. */
static const struct {
	unsigned number;
	size_t text; /* a string: its offset in the tail; it is absent if it is empty */
	bool (*has)(const struct perf_data_tail *t);                /* NULL: always */
	void (*put)(struct buf *b, const struct perf_data_tail *t); /* NULL: no content */
} features[] = {
    {1, .has = has_tracepoints, .put = put_tracepoints},
    {2, .has = has_build_ids, .put = put_build_ids},
    {3, .text = offsetof(struct perf_data_tail, host)},
    {4, .text = offsetof(struct perf_data_tail, release)},
    {5, .text = offsetof(struct perf_data_tail, version)},
    {6, .text = offsetof(struct perf_data_tail, machine)},
    {7, .has = has_cpus, .put = put_cpus},
    {8, .text = offsetof(struct perf_data_tail, cpu_model)},
    {11, .has = has_command, .put = put_command},
    {12, .has = has_events, .put = put_events},
    {15, .has = has_branches},
    {17, .has = has_groups, .put = put_groups},
    {21, .has = has_times, .put = put_times},
    {23, .put = put_clock},
    {29, .has = has_clock_data, .put = put_clock_data},
};

enum { NR_FEATURES = ARRAY_NR(features) };

/* NULL: the feature is not a string. */
static const char *text_of(const struct perf_data_tail *t, size_t i)
{
	const char *const *text = (const void *)((const char *)t + features[i].text);

	return !features[i].text ? NULL : *text ? *text : "";
}

/* The file offset of the buffer's end. */
static uint64_t place(const struct buf *b, const struct perf_data_tail *t)
{
	return PERF_DATA_HEAD_BYTES + t->data_bytes + b->len;
}

/* A section for each feature, then their contents. Returns the bits of the features. */
static uint64_t put_features(struct buf *b, const struct perf_data_tail *t)
{
	uint64_t bits = 0;
	size_t at = 0;

	for (size_t i = 0; i < NR_FEATURES; i++) {
		const char *text = text_of(t, i);

		if (text ? *text != '\0' : !features[i].has || features[i].has(t))
			bits |= UINT64_C(1) << features[i].number;
	}
	buf_fill(b, '\0', (size_t)__builtin_popcountll(bits) * SECTION_BYTES);
	for (size_t i = 0; i < NR_FEATURES; i++) {
		uint64_t from = place(b, t);

		if (!(bits >> features[i].number & 1))
			continue;
		if (features[i].text)
			put_string(b, text_of(t, i));
		else if (features[i].put)
			features[i].put(b, t);
		if (!buf_error(b)) {
			set64((uint8_t *)b->data + at, from);
			set64((uint8_t *)b->data + at + 8, place(b, t) - from);
		}
		at += SECTION_BYTES;
	}
	return bits;
}

/* struct perf_file_header */
enum {
	HEAD_SIZE_AT = 8,
	HEAD_ATTR_SIZE_AT = 16,
	HEAD_ATTRS_AT = 24,
	HEAD_DATA_AT = 40,
	HEAD_FEATURES_AT = 72,
};

void perf_data_head_init(uint8_t head[PERF_DATA_HEAD_BYTES])
{
	const uint64_t magic = 0x32454c4946524550; /* "PERFILE2" */

	memset(head, 0, PERF_DATA_HEAD_BYTES);
	set64(head, magic);
	set64(head + HEAD_SIZE_AT, PERF_DATA_HEAD_BYTES);
	set64(head + HEAD_ATTR_SIZE_AT, PERF_DATA_MAX_ATTR_BYTES + SECTION_BYTES);
	set64(head + HEAD_DATA_AT, PERF_DATA_HEAD_BYTES);
}

int perf_data_tail(struct buf *out, const struct perf_data_tail *t,
		   uint8_t head[PERF_DATA_HEAD_BYTES])
{
	uint64_t ids_at, attrs_at;

	perf_data_head_init(head);
	set64(head + HEAD_DATA_AT + 8, t->data_bytes);
	set64(head + HEAD_FEATURES_AT, put_features(out, t));
	ids_at = place(out, t);
	for (size_t i = 0; i < t->nr_events; i++)
		put_ids(out, &t->events[i]);
	attrs_at = place(out, t);
	for (size_t i = 0; i < t->nr_events; i++) { /* struct perf_file_attr */
		const struct perf_data_event *e = &t->events[i];

		buf_add(out, e->attr.bytes, sizeof(e->attr.bytes));
		buf_le64(out, ids_at);
		buf_le64(out, e->nr_ids * sizeof(*e->ids));
		ids_at += e->nr_ids * sizeof(*e->ids);
	}
	set64(head + HEAD_ATTRS_AT, attrs_at);
	set64(head + HEAD_ATTRS_AT + 8, place(out, t) - attrs_at);
	return buf_error(out);
}
