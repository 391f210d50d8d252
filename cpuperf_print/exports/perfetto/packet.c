#include "export/proto.h"
#include "exports/perfetto/perfetto.h"

uint64_t perfetto_uuid(uint64_t kind, uint64_t a, uint64_t b)
{
	const uint64_t words[] = {kind, a, b};
	uint64_t h = 0;

	for (size_t i = 0; i < 3; i++) {
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	return h ? h : 1; /* 0 is the default track */
}

size_t perfetto_begin(struct buf *b, uint32_t sequence, unsigned flags, uint64_t time_ns)
{
	size_t packet = proto_begin(b, TRACE_PACKET);

	if (time_ns)
		proto_uint(b, PACKET_TIMESTAMP, time_ns);
	proto_uint(b, PACKET_SEQUENCE, sequence);
	if (flags)
		proto_uint(b, PACKET_SEQUENCE_FLAGS, flags);
	return packet;
}
