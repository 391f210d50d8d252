/*
 * The bytes of a trace, as schemas/trace-format.md describes them: sizes, limits and layouts.
 * Integers are little-endian; every structure is laid out by hand and its size asserted. Only
 * trace/ and its tests include this. Must not know what the numbers mean.
 */
#ifndef TRACE_FORMAT_H
#define TRACE_FORMAT_H

#include <stdint.h>

#define TRACE_MAGIC                                                                                \
	"\x89"                                                                                     \
	"CPUPRF\n" /* 8 bytes: not text, and changed by a text-mode copy */

enum {
	TRACE_VERSION = 1,
	TRACE_BYTE_ORDER = 0x01020304,
	TRACE_HEADER_BYTES = 192,
	TRACE_FRAME_HEADER_BYTES = 16,
	TRACE_FRAME_SYNC = 0x4d524623,    /* "#FRM" */
	TRACE_FRAME_MAX_BYTES = 64 << 20, /* header and padding included */
	TRACE_HEADER_MAX_BYTES = 4096,    /* a later version may have a longer one */
	TRACE_READINGS_HEAD_BYTES = 16,
	TRACE_READING_BYTES = 56,
	TRACE_RECORDS_HEAD_BYTES = 8, /* a multiple of 8: records stay aligned in the file */
	TRACE_ADDED_BYTES = 24,
	TRACE_ID_BYTES = 24,
	TRACE_SAMPLED_BYTES = 56,
	TRACE_PACKED_HEAD_BYTES = 4,
	TRACE_EVENTS_HEAD_BYTES = 8,
	TRACE_EVENT_MIN_BYTES = 54, /* numbers, and seven empty strings, with its own length */
	TRACE_MAX_EVENTS = 4096,
	TRACE_THING_MIN_BYTES = 6, /* number, and an empty name */
	TRACE_MAX_NAME_BYTES = 4096,
	TRACE_MAX_SPEC_BYTES = 4 << 20,
	TRACE_MAX_ATTR_BYTES = 65536,
	TRACE_MAX_FORMAT_BYTES = 65536,
	TRACE_MAX_ITEMS = 65536, /* of an ids, a sampling or an index frame */
	TRACE_ITERATION_BYTES = 8,
	TRACE_INDEX_HEAD_BYTES = 8,
	TRACE_INDEX_ITEM_BYTES = 16,
	TRACE_BUCKET_BYTES = 16,
	TRACE_MARK_BYTES = 28,
	TRACE_MAPPING_MIN_BYTES = 62, /* with its own length, and an empty object */
	TRACE_RANGE_BYTES = 16,
};

/* Bits of the header's two feature words. A reader that does not know an incompatible bit must
 * refuse the file; it ignores unknown compatible bits. */
enum {
	TRACE_FEATURE_ZSTD = 1 << 0,    /* incompatible: frames may be packed */
	TRACE_FEATURE_SEGMENT = 1 << 1, /* incompatible: the file holds many iterations */
	TRACE_INCOMPATIBLE_KNOWN = TRACE_FEATURE_ZSTD | TRACE_FEATURE_SEGMENT,
	TRACE_COMPATIBLE_KNOWN = 0,
};

/* On disk; converted field by field. */
struct trace_header_bytes {
	uint8_t magic[8];
	uint32_t byte_order; /* TRACE_BYTE_ORDER: 04 03 02 01 in the file */
	uint16_t version;
	uint16_t header_bytes; /* TRACE_HEADER_BYTES; frames start there; the last 4 are the crc */
	uint32_t incompatible; /* feature bits */
	uint32_t compatible;
	uint8_t session_id[16]; /* random; the same in all traces of a session */
	uint8_t boot_id[16];    /* of the host's boot */
	uint32_t iteration;     /* from 0 */
	uint32_t trace;         /* from 0, without gaps */
	uint32_t cpu;
	uint32_t nr_traces;   /* of the session */
	uint8_t host[64];     /* node name, NUL-padded */
	uint8_t machine[16];  /* architecture as of uname, NUL-padded */
	uint8_t reserved[36]; /* 0 */
	uint32_t crc;         /* CRC-32C of the bytes before it */
};
_Static_assert(sizeof(struct trace_header_bytes) == TRACE_HEADER_BYTES, "trace header");

/* Flags of the end frame. */
enum { TRACE_END_IS_CUT = 1, TRACE_END_IS_SHORT = 2 };

/* Flags of a frame; each requires its feature bit. */
enum {
	/* payload: u32 length when unpacked, then one zstd frame; with TRACE_FEATURE_ZSTD */
	TRACE_FRAME_PACKED = 1 << 0,
};

struct trace_frame_bytes {
	uint32_t sync; /* TRACE_FRAME_SYNC */
	uint16_t kind;
	uint16_t flags;
	uint32_t length; /* of the payload; zero bytes up to a multiple of 8 follow it */
	uint32_t crc;    /* CRC-32C of kind, flags and length (8 bytes), then the payload */
};
_Static_assert(sizeof(struct trace_frame_bytes) == TRACE_FRAME_HEADER_BYTES, "trace frame header");

/* One reading of a TRACE_FRAME_READINGS frame. */
struct trace_reading_bytes {
	uint32_t event, instance, state;
	uint32_t flags;
	uint64_t time_ns, raw, enabled_ns, running_ns, base;
};
_Static_assert(sizeof(struct trace_reading_bytes) == TRACE_READING_BYTES, "trace reading");

/* The size of a frame in the file: header, payload, padding. */
static inline uint64_t trace_frame_total_bytes(uint32_t length)
{
	return TRACE_FRAME_HEADER_BYTES + (((uint64_t)length + 7) & ~(uint64_t)7);
}

#endif
