#include "export/proto.h"
#include "exports/perfetto/perfetto.h"

uint64_t perfetto_uuid(const struct perfetto_out *out, uint64_t kind, uint64_t a, uint64_t b)
{
	const uint64_t words[] = {kind | (uint64_t)out->lane->number << 32, a, b};
	uint64_t h = 0;

	for (size_t i = 0; i < 3; i++) {
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	return h ? h : 1; /* 0 is the default track */
}

size_t perfetto_begin(const struct perfetto_out *out, uint32_t sequence, unsigned flags,
		      uint64_t time_ns)
{
	struct buf *b = out->text;
	size_t packet = proto_begin(b, TRACE_PACKET);

	if (time_ns)
		proto_uint(b, PACKET_TIMESTAMP, export_lane_time(out->lane, time_ns));
	proto_uint(b, PACKET_SEQUENCE, out->nr_sequences + sequence);
	if (flags)
		proto_uint(b, PACKET_SEQUENCE_FLAGS, flags);
	return packet;
}

void perfetto_put_parent(const struct perfetto_out *out)
{
	if (out->lane->name)
		proto_uint(out->text, TRACK_PARENT, perfetto_uuid(out, UUID_LANE, 0, 0));
}
