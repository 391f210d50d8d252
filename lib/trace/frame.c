/*
 * Length and checksum of a frame, in whatever buffers its payload is. Must not know what frames are
 * for, nor copy a payload.
 */
#include "trace/frame.h"

#include "base/crc32c.h"

#include <endian.h>
#include <string.h>

void trace_frame_header(uint8_t out[TRACE_FRAME_HEADER_BYTES], uint16_t kind, uint16_t flags,
			const struct iovec *piece, size_t nr)
{
	struct trace_frame_bytes h = {
	    .sync = htole32(TRACE_FRAME_SYNC), .kind = htole16(kind), .flags = htole16(flags)};
	size_t length = 0;
	uint32_t crc;

	for (size_t i = 0; i < nr; i++)
		length += piece[i].iov_len;
	h.length = htole32((uint32_t)length);
	crc = crc32c(0, &h.kind, sizeof(h.kind) + sizeof(h.flags) + sizeof(h.length));
	for (size_t i = 0; i < nr; i++)
		crc = crc32c(crc, piece[i].iov_base, piece[i].iov_len);
	h.crc = htole32(crc);
	memcpy(out, &h, sizeof(h));
}
