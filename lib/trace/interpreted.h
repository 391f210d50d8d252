/*
 * What a thread interpreted at a sample: a record of its own, directly before that of the sample in
 * the ring of the CPU. A sample of the id TRACE_INTERPRETED, in a layout that is always the same:
 * IDENTIFIER, TID, TIME, RAW. The raw data is that of bpf/interpreted_shared.h.
 *
 * The sample to which it belongs is the thread's next one, if it follows at once: a sample may be
 * lost, or its record.
 */
#ifndef TRACE_INTERPRETED_H
#define TRACE_INTERPRETED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TRACE_INTERPRETED_MAX_FRAMES = 1024,
	/* between the record and its sample, which an interrupt may come between, or the host of a
	 * virtual machine */
	TRACE_INTERPRETED_MAX_NS = 20000000,
};

struct trace_interpreted_frame {
	uint64_t code;       /* trace_code.number; 0: not known */
	int32_t instruction; /* in units of the line table; may be -1: before the first one */
	uint32_t nr_entries; /* how often native code called the interpreter here; mostly 0 or 1 */
	/* Of JavaScript, in place of both: the address in its native frame; 0: not known. Its
	 * code is 0 where the frame is of something else. */
	uint64_t at;
};

struct trace_interpreted {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t language;             /* enum trace_language */
	bool is_partial;               /* the outermost frames are missing */
	uint64_t loop_begin, loop_end; /* of the native function that interprets */
	size_t nr;
	struct trace_interpreted_frame
	    frame[TRACE_INTERPRETED_MAX_FRAMES]; /* the innermost first */
};

/* The record at p, of len bytes. 0 or -EINVAL: *out is then not valid. */
int trace_interpreted_decode(const uint8_t *p, size_t len, struct trace_interpreted *out);

/* Whether it belongs to a sample, if there was no other one of the thread between them. */
bool trace_interpreted_is_of(const struct trace_interpreted *i, uint32_t pid, uint32_t tid,
			     uint64_t time_ns);
/* The number of the labels that the thread's goroutine had: a record of Go has nothing else. 0: it
 * is none. */
uint64_t trace_interpreted_labels(const struct trace_interpreted *i);

#endif
