/*
 * Shared by the files of this export: packets, and the field numbers of their messages.
 */
#ifndef CPUPERF_PRINT_EXPORTS_PERFETTO_PERFETTO_H
#define CPUPERF_PRINT_EXPORTS_PERFETTO_PERFETTO_H

#include "base/buf.h"
#include "export/proto.h"
#include "exports/lanes.h"

/* From the public definitions (protos/perfetto/trace) */
enum { TRACE_PACKET = 1 };
enum perfetto_packet {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACE_CONFIG = 33,
	PACKET_SYSTEM_INFO = 45,
	PACKET_TIMESTAMP_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_PERF_SAMPLE = 66,
	PACKET_FIRST_ON_SEQUENCE = 87,
	PACKET_TRACE_UUID = 89,
};
enum { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };
enum { CLOCK_ID_REALTIME = 1, CLOCK_ID_MONOTONIC = 3, CLOCK_ID_BOOTTIME = 6 };
enum { TRACK_UUID = 1, TRACK_NAME, TRACK_PROCESS, TRACK_THREAD, TRACK_PARENT, TRACK_COUNTER = 8 };

/* Sequences of packets of a lane; each has its own interned data. */
enum {
	SEQUENCE_FACTS = 1,
	SEQUENCE_COUNTERS,
	SEQUENCE_REGIONS,
	SEQUENCE_SAMPLES, /* the first event's; those of the others follow */
};

/* What is written of a lane, and where to. */
struct perfetto_out {
	struct export_lane *lane;
	struct buf *text;      /* borrowed */
	uint32_t nr_sequences; /* of the lanes before */
};

/* PERFETTO_PACKET(out, sequence, flags, time_ns) { … }: a packet whose fields the block writes, as
 * of PROTO_MESSAGE. time_ns: of the lane's machine; 0: without a time. */
#define PERFETTO_PACKET(out, sequence, flags, time_ns)                                             \
	PROTO_SCOPE((out)->text, perfetto_begin(out, sequence, flags, time_ns), __LINE__)
/* Returns the position to pass to proto_end. */
size_t perfetto_begin(const struct perfetto_out *out, uint32_t sequence, unsigned flags,
		      uint64_t time_ns);
/* A 64-bit id computed from the lane and these numbers, never 0. */
uint64_t perfetto_uuid(const struct perfetto_out *out, uint64_t kind, uint64_t a, uint64_t b);
enum {
	UUID_PROCESS = 1,
	UUID_THREAD,
	UUID_COLUMN,
	UUID_COUNTER,
	UUID_NOTES,
	UUID_REGION_VALUE,
	UUID_LANE
};
/* Writes the lane as the parent of a track that would have none, if there are several. */
void perfetto_put_parent(const struct perfetto_out *out);

/* Writes counts, misc and metrics over time, each on its own track. 0 or -errno with *e. */
int perfetto_put_counters(const struct perfetto_out *out, struct err *e);

/* Writes the regions of threads, whose tracks are described. 0 or -errno with *e. */
int perfetto_put_regions(const struct perfetto_out *out, struct err *e);

/* Functions, mappings and stacks of samples, interned for each sequence. */
struct perfetto_interned;
struct report_stacks;
struct perfetto_interned *perfetto_interned_new(const struct report_stacks *stacks,
						uint32_t nr_sequences);
void perfetto_interned_free(struct perfetto_interned *in); /* NULL is fine */
/* Writes the stack's entries that the sequence does not contain yet into the open packet. 0 or
 * -ENOMEM. */
int perfetto_intern(struct perfetto_interned *in, uint32_t sequence, uint32_t stack, struct buf *b);

#endif
