/*
 * liblzma, with our heap and a limit; zlib and libzstd, whose output has a known length. libelf
 * unpacks sections only by the methods that were known when it was built.
 */
#include "elf/unpack.h"

#include "base/buf.h"
#include "base/mem.h"
#include "elf/layout.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <lzma.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum {
	STEP_BYTES = 256 << 10,
	MAX_MEMORY_BYTES = 128 << 20,
	/* Limits on unpacked bytes of a section: per packed byte, and in addition. Debug sections
	 * shrink to a third, a few of them to a twentieth. */
	MAX_RATIO = 64,
	MAX_MORE_BYTES = 1 << 20,
	GNU_HEADER_BYTES = 12, /* "ZLIB", and the unpacked size, big-endian */
};

#ifndef ELFCOMPRESS_ZSTD /* glibc 2.37 */
#define ELFCOMPRESS_ZSTD 2
#endif

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

/* Returns the unpacked size; 0: not such a header. */
static uint64_t decode_gnu(const uint8_t *data, size_t len, struct elf_packed *p)
{
	uint64_t size;

	if (len < GNU_HEADER_BYTES || memcmp(data, "ZLIB", 4) != 0)
		return 0;
	memcpy(&size, data + 4, sizeof(size));
	p->data = data + GNU_HEADER_BYTES;
	return be64toh(size);
}

/* Elf32_Chdr: type, size, alignment; Elf64_Chdr: type, reserved, size, alignment. */
static uint64_t decode_gabi(const uint8_t *data, size_t len, unsigned word, struct elf_packed *p)
{
	uint64_t type;

	if (len < 3 * (size_t)word)
		return 0;
	type = elf_load(data, 4);
	if (type != ELFCOMPRESS_ZLIB && type != ELFCOMPRESS_ZSTD)
		return 0;
	p->is_zstd = type == ELFCOMPRESS_ZSTD;
	p->data = data + 3 * (size_t)word;
	return elf_load(data + word, word);
}

bool elf_packed_decode(const uint8_t *data, size_t len, unsigned word, struct elf_packed *out)
{
	struct elf_packed p = {0};
	uint64_t size = word ? decode_gabi(data, len, word, &p) : decode_gnu(data, len, &p);

	if (!size)
		return false;
	p.len = len - (size_t)(p.data - data);
	if (p.len > SIZE_MAX / MAX_RATIO - MAX_MORE_BYTES ||
	    size > p.len * MAX_RATIO + MAX_MORE_BYTES)
		return false;
	p.unpacked_len = (size_t)size;
	*out = p;
	return true;
}

bool elf_unpack(const struct elf_packed *p, uint8_t *out)
{
	uLongf len = p->unpacked_len;

	if (p->is_zstd)
		return ZSTD_decompress(out, p->unpacked_len, p->data, p->len) == p->unpacked_len;
	return uncompress(out, &len, p->data, p->len) == Z_OK && len == p->unpacked_len;
}
