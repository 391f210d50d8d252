/*
 * The gathered bytes of a writer, for the code that writes them to a file. Private to trace/.
 */
#ifndef TRACE_INTERNAL_H
#define TRACE_INTERNAL_H

#include "base/buf.h"
#include "trace/writer.h"

struct trace_frames {
	struct buf bytes; /* its error sticks until it is reset */
	uint64_t nr;
};

struct trace_writer {
	struct trace_frames common; /* of every trace */
	struct trace_frames own; /* the current trace, from its first byte; or frames to append */
	bool has_header;         /* own: a trace was begun */
	uint64_t nr_readings;    /* own */
};

/* Whether the gathered bytes are valid, and a trace from its header on, or (has_header false)
 * frames without one. 0 or -errno with *e set. */
int trace_writer_check(const struct trace_writer *w, bool has_header, const char *path,
		       struct err *e);
/* Sets the feature bits of the gathered header. */
void trace_writer_features(struct trace_writer *w, uint32_t incompatible);
/* Adds the index of a segment. Its last bytes are its own offset in the file. */
void trace_writer_index(struct trace_writer *w, uint64_t offset, const struct trace_part *item,
			size_t nr);
/* Adds the end frame; the caller sets all totals. */
void trace_writer_end(struct trace_writer *w, const struct trace_totals *totals);

#endif
