/*
 * Calls zlib's deflate piece by piece, with memory from mem.h, straight into the buffer.
 */
#include "export/gzip.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <stdint.h>
#include <zlib.h>

enum {
	WINDOW_BITS = 15 + 16, /* 32 KB, in the format of gzip */
	MEMORY_LEVEL = 9,
	OUT_BYTES = 64 << 10,
	MAX_IN_BYTES = 1 << 30, /* of one call: zlib counts in unsigned int */
};

struct gzip {
	z_stream z;
};

static voidpf zlib_alloc(voidpf arg, uInt nr, uInt size)
{
	(void)arg;
	return mem_calloc(nr, size); /* zlib reads memory that it has not written */
}

static void zlib_release(voidpf arg, voidpf p)
{
	(void)arg;
	mem_free(p);
}

struct gzip *gzip_new(int level)
{
	struct gzip *g = mem_zalloc(sizeof(*g));

	if (!g)
		return NULL;
	g->z.zalloc = zlib_alloc;
	g->z.zfree = zlib_release;
	if (deflateInit2(&g->z, level, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
	    Z_OK) {
		mem_free(g);
		return NULL;
	}
	return g;
}

void gzip_free(struct gzip *g)
{
	if (!g)
		return;
	deflateEnd(&g->z);
	mem_free(g);
}

/* Until zlib has consumed all input and returned all output that it has. */
static int deflate_all(struct gzip *g, int flush, struct buf *out)
{
	do {
		g->z.next_out = buf_reserve(out, OUT_BYTES);
		if (!g->z.next_out)
			return buf_error(out);
		g->z.avail_out = OUT_BYTES;
		deflate(&g->z, flush); /* fails only if called wrongly */
		buf_use(out, OUT_BYTES - g->z.avail_out);
	} while (!g->z.avail_out);
	return 0;
}

int gzip_add(struct gzip *g, const void *data, size_t len, struct buf *out)
{
	const uint8_t *p = data;
	int rc = 0;

	while (len && rc == 0) {
		size_t part = len < MAX_IN_BYTES ? len : MAX_IN_BYTES;

		g->z.next_in = (z_const Bytef *)p;
		g->z.avail_in = (uInt)part;
		rc = deflate_all(g, Z_NO_FLUSH, out);
		p += part;
		len -= part;
	}
	return rc;
}

int gzip_end(struct gzip *g, struct buf *out)
{
	g->z.next_in = NULL;
	g->z.avail_in = 0;
	return deflate_all(g, Z_FINISH, out);
}

int gzip_unpack(const void *data, size_t len, struct buf *out)
{
	z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)data,
		      .avail_in = (uInt)len,
		      .zalloc = zlib_alloc,
		      .zfree = zlib_release};
	int rc = Z_OK;

	if (len > MAX_IN_BYTES)
		return -EINVAL;
	if (inflateInit2(&z, WINDOW_BITS) != Z_OK)
		return -ENOMEM;
	while (rc == Z_OK) {
		z.next_out = buf_reserve(out, OUT_BYTES);
		if (!z.next_out)
			break;
		z.avail_out = OUT_BYTES;
		rc = inflate(&z, Z_NO_FLUSH);
		buf_use(out, OUT_BYTES - z.avail_out);
	}
	inflateEnd(&z);
	return buf_error(out) ?: rc == Z_STREAM_END && !z.avail_in ? 0 : -EINVAL;
}
