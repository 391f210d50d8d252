/*
 * What a writer has gathered, for those who put it into a file. Private to trace/.
 */
#ifndef TRACE_INTERNAL_H
#define TRACE_INTERNAL_H

#include "base/buf.h"
#include "trace/writer.h"

struct trace_writer {
	struct buf common; /* frames of every trace; its error sticks until they are set anew */
	struct buf bytes;  /* the trace at hand, from its first byte; or frames of one that grows */
	bool has_header;   /* a trace was begun */
	uint64_t nr_common_frames;
	uint64_t nr_frames, nr_readings; /* of what was gathered */
};

/* Whether what was gathered is good, and a trace from its header on, or (has_header false) frames
 * without one. 0 or -errno with *e set. */
int trace_writer_check(const struct trace_writer *w, bool has_header, const char *path,
		       struct err *e);
/* Sets the feature bits of the header that was gathered. */
void trace_writer_features(struct trace_writer *w, uint32_t incompatible);
/* Adds the index of a segment, which will be at that offset: its last bytes say so. */
void trace_writer_index(struct trace_writer *w, uint64_t offset, const struct trace_part *item,
			size_t nr);
/* Adds the end frame; all totals are the caller's. */
void trace_writer_end(struct trace_writer *w, const struct trace_totals *totals);

#endif
