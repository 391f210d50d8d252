/*
 * Unpacks a stream of zstd into the caller's buffer. Must not know what comes out.
 */
#include "trace/unzip.h"

#include "base/mem.h"

#include <errno.h>
#include <stdbool.h>
#define ZSTD_STATIC_LINKING_ONLY /* for contexts on our heap */
#include <zstd.h>

struct trace_unzip {
	ZSTD_DStream *stream; /* owned */
	bool is_damaged;
};

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

struct trace_unzip *trace_unzip_new(void)
{
	struct trace_unzip *u = mem_zalloc(sizeof(*u));

	if (!u)
		return NULL;
	u->stream = ZSTD_createDStream_advanced((ZSTD_customMem){heap_alloc, heap_free, NULL});
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
