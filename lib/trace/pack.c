/*
 * The only file but unzip.c that uses zstd. A payload is packed in pieces, as it lies in a ring,
 * into one zstd frame; and unpacked into a buffer of the declared size, which bounds a zip bomb.
 * Must not know what is packed.
 */
#include "trace/pack.h"

#include "base/cursor.h"
#include "base/mem.h"
#include "trace/format.h"
#include "trace/frame.h"

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
	p->is_for_symbols = level == 0;
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
	ZSTD_CCtx_setPledgedSrcSize(ctx,
				    len); /* a known size allows small tables for small frames */
	for (size_t i = 0; i < nr; i++)
		if (!compress(ctx, &out, &piece[i], i == nr - 1))
			return 0;
	return out.pos;
}

static size_t pieces_length(const struct iovec *piece, size_t nr)
{
	size_t len = 0;

	for (size_t i = 0; i < nr; i++)
		len += piece[i].iov_len;
	return len;
}

bool trace_packer_add(struct trace_packer *p, uint16_t kind, const struct iovec *piece, size_t nr)
{
	size_t len = pieces_length(piece, nr), packed;
	/* small enough that, with padding, the frame is smaller than the plain one */
	size_t room = len > TRACE_PACKED_HEAD_BYTES + 8 ? len - TRACE_PACKED_HEAD_BYTES - 8 : 0;
	uint32_t stored = htole32((uint32_t)len);
	uint8_t *at = room ? buf_reserve(&p->out, HEAD_BYTES + room + 8) : NULL;

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

/* Allocates the output and the context. */
static int prepare(struct trace_unpacker *u, size_t len)
{
	uint8_t *p;

	if (!u->ctx)
		u->ctx = ZSTD_createDCtx_advanced(heap);
	if (!u->ctx)
		return -ENOMEM;
	if (len <= u->cap)
		return 0;
	p = mem_resize(u->data, len);
	if (!p)
		return -ENOMEM;
	u->data = p;
	u->cap = len;
	return 0;
}

/* Exactly one zstd frame. The library would also accept several, skippable ones, and those of
 * legacy versions, whose code is not hardened. */
static bool is_one_frame(const uint8_t *p, size_t len)
{
	struct cursor c;

	cursor_init(&c, p, len);
	return cursor_le32(&c) == ZSTD_MAGICNUMBER && ZSTD_findFrameCompressedSize(p, len) == len;
}

int trace_unpack(struct trace_unpacker *u, const uint8_t *payload, uint32_t length,
		 uint32_t unpacked_length)
{
	const uint8_t *packed = payload + TRACE_PACKED_HEAD_BYTES;
	size_t len = length - TRACE_PACKED_HEAD_BYTES;
	int rc;

	if (!is_one_frame(packed, len))
		return -EINVAL;
	rc = prepare(u, unpacked_length ? unpacked_length : 1);
	if (rc)
		return rc;
	if (ZSTD_decompressDCtx(u->ctx, u->data, unpacked_length, packed, len) != unpacked_length)
		return -EINVAL;
	return 0;
}
