/*
 * Decodes the payloads of frames that sampling writes. Items of a list are as long as the file
 * says, which may be longer than those known here. Must not look into a record, nor know what the
 * numbers mean.
 */
#include "base/cursor.h"
#include "base/mem.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "trace/record.h"

#include <errno.h>

static bool begin(struct cursor *c, const struct trace_frame *f, uint32_t kind)
{
	cursor_init(c, f->payload, f->length);
	return f->kind == kind;
}

int trace_decode_records(const struct trace_frame *f, enum trace_ring *ring, uint32_t *cpu,
			 const uint8_t **records, size_t *len)
{
	uint32_t of_ring, of_cpu;
	struct cursor c;

	if (!begin(&c, f, TRACE_FRAME_RECORDS))
		return -EINVAL;
	of_ring = cursor_le32(&c);
	of_cpu = cursor_le32(&c);
	if (!cursor_ok(&c) || of_ring > TRACE_RING_MADE || c.left % 8)
		return -EINVAL;
	*ring = (enum trace_ring)of_ring;
	*cpu = of_cpu;
	*records = c.at;
	*len = c.left;
	return 0;
}

uint64_t trace_record_offset(const struct trace_frame *f, size_t at)
{
	if (f->is_packed)
		return f->offset;
	return f->offset + TRACE_FRAME_HEADER_BYTES + TRACE_RECORDS_HEAD_BYTES + at;
}

struct list {
	struct cursor items;
	size_t item_bytes, nr;
};

/* False: malformed. */
static bool decode_list(struct cursor *c, size_t least_bytes, struct list *out)
{
	out->item_bytes = cursor_le32(c);
	out->nr = cursor_le32(c);
	out->items = *c;
	return cursor_ok(c) && out->item_bytes >= least_bytes && out->nr <= TRACE_MAX_ITEMS &&
	       (uint64_t)out->item_bytes * out->nr <= c->left;
}

/* A cursor over the next item. */
static struct cursor next_item(struct list *l)
{
	struct cursor c;

	cursor_init(&c, cursor_bytes(&l->items, l->item_bytes), l->item_bytes);
	return c;
}

static void decode_id(struct cursor c, struct trace_id *out)
{
	out->id = cursor_le64(&c);
	out->event = cursor_le32(&c);
	out->instance = cursor_le32(&c);
	out->attr = cursor_le32(&c);
	out->group = cursor_le32(&c);
}

int trace_decode_ids(const struct trace_frame *f, struct trace_ids *out)
{
	struct trace_id *item;
	struct cursor c;
	struct list l;

	if (!begin(&c, f, TRACE_FRAME_IDS) || !decode_list(&c, TRACE_ID_BYTES, &l))
		return -EINVAL;
	item = mem_calloc(l.nr, sizeof(*item));
	if (!item)
		return -ENOMEM;
	for (size_t i = 0; i < l.nr; i++)
		decode_id(next_item(&l), &item[i]);
	*out = (struct trace_ids){item, l.nr};
	return 0;
}

void trace_ids_fini(struct trace_ids *ids)
{
	mem_free(ids->item);
	*ids = (struct trace_ids){0};
}

static void decode_sampled(struct cursor c, struct trace_sampled *out)
{
	out->event = cursor_le32(&c);
	out->instance = cursor_le32(&c);
	out->samples = cursor_le64(&c);
	out->idle = cursor_le64(&c);
	out->weight = cursor_le64(&c);
	out->lost = cursor_le64(&c);
	out->throttled = cursor_le64(&c);
	out->unthrottled = cursor_le64(&c);
}

static void decode_sampling_head(struct cursor *c, struct trace_sampling *out)
{
	out->ring_bytes = cursor_le64(c);
	out->max_rate_start = cursor_le64(c);
	out->max_rate_end = cursor_le64(c);
	out->idle_ns = cursor_le64(c);
	out->lost = cursor_le64(c);
	out->ticks = cursor_le64(c);
	out->ticks_missed = cursor_le64(c);
}

int trace_decode_sampling(const struct trace_frame *f, struct trace_sampling *out)
{
	struct trace_sampling s = {0};
	struct trace_sampled *item;
	struct cursor c;
	struct list l;

	if (!begin(&c, f, TRACE_FRAME_SAMPLING))
		return -EINVAL;
	decode_sampling_head(&c, &s);
	if (!decode_list(&c, TRACE_SAMPLED_BYTES, &l))
		return -EINVAL;
	item = mem_calloc(l.nr, sizeof(*item));
	if (!item)
		return -ENOMEM;
	for (size_t i = 0; i < l.nr; i++)
		decode_sampled(next_item(&l), &item[i]);
	s.item = item;
	s.nr = l.nr;
	*out = s;
	return 0;
}

void trace_sampling_fini(struct trace_sampling *s)
{
	mem_free((void *)s->item);
	*s = (struct trace_sampling){0};
}

int trace_decode_kallsyms(const struct trace_frame *f, const char **text, size_t *len)
{
	if (f->kind != TRACE_FRAME_KALLSYMS)
		return -EINVAL;
	*text = (const char *)f->payload;
	*len = f->length;
	return 0;
}

static const void *decode_bytes32(struct cursor *c, uint32_t *len)
{
	*len = cursor_le32(c);
	return cursor_bytes(c, *len);
}

int trace_decode_build_id(const struct trace_frame *f, struct trace_build_id *out)
{
	struct trace_build_id id;
	struct cursor c;

	if (!begin(&c, f, TRACE_FRAME_BUILD_ID))
		return -EINVAL;
	id.major = cursor_le32(&c);
	id.minor = cursor_le32(&c);
	id.inode = cursor_le64(&c);
	id.inode_generation = cursor_le64(&c);
	id.from_ns = cursor_le64(&c);
	id.to_ns = cursor_le64(&c);
	id.id = decode_bytes32(&c, &id.id_len);
	id.path = decode_bytes32(&c, &id.path_len);
	if (!cursor_ok(&c) || !id.id_len || id.id_len > TRACE_MAX_BUILD_ID_BYTES)
		return -EINVAL;
	*out = id;
	return 0;
}
