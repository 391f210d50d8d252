/*
 * The only file of the room that uses zstd. A payload is packed in pieces, as it lies in a ring,
 * into one zstd frame; and unpacked into a buffer of the declared size, which bounds a zip bomb.
 * Must not know what is packed.
 */
#include "trace/pack.h"

#include "base/cursor.h"
#include "base/mem.h"
#include "trace/format.h"
#include "trace/frame.h"
#include "trace/unzip.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#define ZSTD_STATIC_LINKING_ONLY /* for contexts on our heap */
#include <zstd.h>

enum { HEAD_BYTES = TRACE_FRAME_HEADER_BYTES + TRACE_PACKED_HEAD_BYTES };

static void *heap_alloc(void *opaque, size_t size)
{
	(void)opaque;
	return mem_alloc(size);
}

static void heap_free(void *opaque, void *p)
{
	(void)opaque;
	mem_free(p);
}

static const ZSTD_customMem heap = {heap_alloc, heap_free, NULL};

struct trace_packer *trace_packer_new(int level)
{
	struct trace_packer *p = mem_zalloc(sizeof(*p));

	if (!p)
		return NULL;
	p->is_sparing = level == 0;
	if (level == 0)
		level = 1; /* higher levels gain a tenth for three times the time */
	buf_init(&p->out, TRACE_FRAME_MAX_BYTES);
	p->ctx = ZSTD_createCCtx_advanced(heap);
	if (p->ctx && !ZSTD_isError(ZSTD_CCtx_setParameter(p->ctx, ZSTD_c_compressionLevel, level)))
		return p;
	trace_packer_free(p);
	return NULL;
}

void trace_packer_free(struct trace_packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->ctx);
	buf_fini(&p->out);
	mem_free(p);
}

bool trace_packer_takes(const struct trace_packer *p, uint16_t kind)
{
	if (kind == TRACE_FRAME_STACKS || kind == TRACE_FRAME_PLACES)
		return true;
	return !p->is_sparing && (kind == TRACE_FRAME_RECORDS || kind == TRACE_FRAME_READINGS ||
				  kind == TRACE_FRAME_KALLSYMS);
}

/* False: there is no room, or zstd failed. */
static bool compress(ZSTD_CCtx *ctx, ZSTD_outBuffer *out, const struct iovec *piece, bool is_last)
{
	ZSTD_inBuffer in = {piece->iov_base, piece->iov_len, 0};
	size_t left;

	do {
		left = ZSTD_compressStream2(ctx, out, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left) || (left && out->pos == out->size))
			return false;
	} while (is_last ? left : in.pos < in.size);
	return true;
}

/* One zstd frame in room bytes at to; its length, or 0. */
static size_t pack(ZSTD_CCtx *ctx, void *to, size_t room, const struct iovec *piece, size_t nr,
		   size_t len)
{
	ZSTD_outBuffer out = {to, room, 0};

	ZSTD_CCtx_reset(ctx, ZSTD_reset_session_only);
	/* a known size allows small tables for small frames */
	ZSTD_CCtx_setPledgedSrcSize(ctx, len);
	for (size_t i = 0; i < nr; i++)
		if (!compress(ctx, &out, &piece[i], i == nr - 1))
			return 0;
	return out.pos;
}

bool trace_packer_add(struct trace_packer *p, uint16_t kind, const struct iovec *piece, size_t nr)
{
	size_t len = 0, room, packed;
	uint32_t stored;
	uint8_t *at;

	for (size_t i = 0; i < nr; i++)
		len += piece[i].iov_len;
	/* small enough that, with padding, the frame is smaller than the plain one */
	room = len > TRACE_PACKED_HEAD_BYTES + 8 ? len - TRACE_PACKED_HEAD_BYTES - 8 : 0;
	stored = htole32((uint32_t)len);
	at = room ? buf_reserve(&p->out, HEAD_BYTES + room + 8) : NULL;
	packed = at ? pack(p->ctx, at + HEAD_BYTES, room, piece, nr, len) : 0;
	if (!packed)
		return false;
	packed += TRACE_PACKED_HEAD_BYTES;
	memcpy(at + TRACE_FRAME_HEADER_BYTES, &stored, sizeof(stored));
	trace_frame_header(at, kind, TRACE_FRAME_PACKED,
			   &(struct iovec){at + TRACE_FRAME_HEADER_BYTES, packed}, 1);
	p->out.len += TRACE_FRAME_HEADER_BYTES + packed;
	buf_fill(&p->out, 0, -packed % 8);
	return true;
}

void trace_unpacker_fini(struct trace_unpacker *u)
{
	ZSTD_freeDCtx(u->ctx);
	mem_free(u->data);
	*u = (struct trace_unpacker){0};
}

bool trace_unpacked_length(const uint8_t *payload, uint32_t length, uint32_t *out)
{
	struct cursor c;
	uint32_t stored;

	cursor_init(&c, payload, length);
	stored = cursor_le32(&c);
	if (!cursor_ok(&c) || trace_frame_total_bytes(stored) > TRACE_FRAME_MAX_BYTES)
		return false;
	*out = stored;
	return true;
}

int trace_unpack(struct trace_unpacker *u, const uint8_t *payload, uint32_t length,
		 uint32_t unpacked_length)
{
	const uint8_t *packed = payload + TRACE_PACKED_HEAD_BYTES;
	size_t len = length - TRACE_PACKED_HEAD_BYTES;
	struct cursor c;

	/* Exactly one zstd frame. The library would also accept several, skippable ones, and those
	 * of legacy versions, whose code is not hardened. */
	cursor_init(&c, packed, len);
	if (cursor_le32(&c) != ZSTD_MAGICNUMBER || ZSTD_findFrameCompressedSize(packed, len) != len)
		return -EINVAL;
	if (!u->ctx)
		u->ctx = ZSTD_createDCtx_advanced(heap);
	if (!u->ctx)
		return -ENOMEM;
	if (unpacked_length > u->cap || !u->data) {
		uint8_t *p = mem_resize(u->data, unpacked_length ? unpacked_length : 1);

		if (!p)
			return -ENOMEM;
		u->data = p;
		u->cap = unpacked_length;
	}
	if (ZSTD_decompressDCtx(u->ctx, u->data, unpacked_length, packed, len) != unpacked_length)
		return -EINVAL;
	return 0;
}

struct trace_unzip {
	ZSTD_DStream *stream; /* owned */
	bool is_damaged;
};

struct trace_unzip *trace_unzip_new(void)
{
	struct trace_unzip *u = mem_zalloc(sizeof(*u));

	if (!u)
		return NULL;
	u->stream = ZSTD_createDStream_advanced(heap);
	if (u->stream)
		return u;
	mem_free(u);
	return NULL;
}

void trace_unzip_free(struct trace_unzip *u)
{
	if (!u)
		return;
	ZSTD_freeDStream(u->stream);
	mem_free(u);
}

long trace_unzip_some(struct trace_unzip *u, const void **in, size_t *in_len, void *out,
		      size_t room)
{
	ZSTD_inBuffer from = {*in, *in_len, 0};
	ZSTD_outBuffer to = {out, room, 0};
	size_t rc;

	if (u->is_damaged)
		return -EINVAL;
	rc = ZSTD_decompressStream(u->stream, &to, &from);
	u->is_damaged = ZSTD_isError(rc);
	if (u->is_damaged)
		return -EINVAL;
	*in = (const char *)*in + from.pos;
	*in_len -= from.pos;
	return (long)to.pos;
}
