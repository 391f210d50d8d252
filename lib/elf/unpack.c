/*
 * liblzma, with our heap and a limit.
 */
#include "elf/unpack.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <lzma.h>

enum { STEP_BYTES = 256 << 10, MAX_MEMORY_BYTES = 128 << 20 };

static void *alloc(void *opaque, size_t nr, size_t size)
{
	size_t bytes;

	(void)opaque;
	return __builtin_mul_overflow(nr, size, &bytes) ? NULL : mem_alloc(bytes ? bytes : 1);
}

static void release(void *opaque, void *p)
{
	(void)opaque;
	mem_free(p);
}

static int code(lzma_ret rc)
{
	switch (rc) {
	case LZMA_OK:
	case LZMA_STREAM_END:
		return 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -EFBIG;
	default:
		return -EINVAL;
	}
}

static int unpack(lzma_stream *s, struct buf *out)
{
	lzma_ret rc = LZMA_OK;

	while (rc == LZMA_OK) {
		s->next_out = buf_reserve(out, STEP_BYTES);
		s->avail_out = STEP_BYTES;
		if (!s->next_out)
			return buf_error(out);
		rc = lzma_code(s, LZMA_FINISH);
		out->len += STEP_BYTES - s->avail_out;
	}
	return code(rc);
}

int elf_unpack_xz(const uint8_t *data, size_t len, size_t max_len, uint8_t **out, size_t *out_len)
{
	const lzma_allocator heap = {alloc, release, NULL};
	lzma_stream s = LZMA_STREAM_INIT;
	struct buf b;
	int rc;

	buf_init(&b, max_len + STEP_BYTES);
	s.allocator = &heap;
	s.next_in = data;
	s.avail_in = len;
	rc = code(lzma_stream_decoder(&s, MAX_MEMORY_BYTES, 0)) ?: unpack(&s, &b);
	lzma_end(&s);
	if (rc == 0 && b.len > max_len)
		rc = -EFBIG;
	if (rc) {
		buf_fini(&b);
		return rc;
	}
	*out = (uint8_t *)b.data;
	*out_len = b.len;
	return 0;
}
