/*
 * A reader, for the code that finds the iterations of a segment. Private to trace/.
 */
#ifndef TRACE_READER_INTERNAL_H
#define TRACE_READER_INTERNAL_H

#include "trace/pack.h"
#include "trace/reader.h"

struct trace_reader {
	char *name;        /* owned; for messages */
	int fd;            /* -1: in memory */
	uint64_t size, at; /* size: where reading ends */
	uint64_t header_bytes;
	const uint8_t *window; /* the bytes in memory: window_bytes from window_at */
	uint64_t window_at;
	size_t window_bytes;
	uint8_t *memory; /* owned; of the window of a file */
	size_t memory_bytes;
	size_t read_ahead; /* bytes that are read at least */
	struct trace_unpacker unpacker;
	uint16_t known_flags;  /* of frames, in this file */
	uint64_t omitted;      /* a bit for each kind of trace_reader_omit */
	uint64_t wasted_bytes; /* checksummed or unpacked for what was not a frame */
	uint64_t nr_frames, nr_readings;
	bool end_agrees, damaged, is_short;
	struct trace_head head;
	const struct trace_feed
	    *feed; /* of the frames after those in memory; NULL: there are none */
	void *feed_arg;
	bool is_segment, has_part, is_in_head; /* is_in_head: the part itself is still to come */
	struct trace_part part;                /* the selected one */
	uint64_t file_bytes;
};

/* *out points to len bytes at at, which must lie within the file's size; valid until the next view.
 * 0; -ENODATA: the file became shorter; -errno. */
int trace_reader_view(struct trace_reader *r, uint64_t at, size_t len, const uint8_t **out);
/* 1: *out is the frame at at, which ends at *end; 0: there is none, because of *why; -errno. */
int trace_reader_check(struct trace_reader *r, uint64_t at, struct trace_frame *out, uint64_t *end,
		       const char **why);
/* The frame starts an iteration, whose number is stored. */
bool trace_begins_iteration(const struct trace_frame *f, uint32_t *iteration);

#endif
