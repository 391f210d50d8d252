/*
 * What reports add up: samples with the same key and stack, as one entry. Independent of where
 * samples come from and of how reports show them.
 */
#ifndef REPORT_ENTRY_H
#define REPORT_ENTRY_H

#include "estimate/share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function by the name under which it is reported; see functions.h. The same name in the same
 * object is always the same pointer. */
struct report_function {
	uint32_t number;          /* from 0, dense */
	uint32_t object_number;   /* of the object's name, likewise */
	uint32_t home_number;     /* of that in which it is, where its own name is merged away;
				   * UINT32_MAX: in several */
	const char *name;         /* safe to show, like the others */
	const char *linkage_name; /* of the first symbol of that name; name itself if it is not
				   * mangled, or no symbol */
	const char *object;
	bool is_kernel, is_known;
	bool is_hidden; /* has no frame of its own: its samples count for its caller */
	bool is_merged; /* named by a rule of the user: adjacent frames of it become one */
	bool is_wanted; /* matches --only, or there is none */
};

/* One frame of a stack. */
struct report_frame {
	const struct report_function *function;
	const char *file; /* of the source; NULL: not known or not asked for */
	uint32_t line;
	bool is_inlined; /* at the same place into the next frame */
	/* With REPORT_BY_ADDRESS: where the code is. In a file its offset there, else (the kernel,
	 * code made at run time) the address itself. */
	const struct profile_object *object; /* NULL: in no file, or not asked for */
	uint64_t address;                    /* 0: not asked for */
};

static inline bool report_frame_is_same(const struct report_frame *a, const struct report_frame *b)
{
	return a->function == b->function && a->line == b->line && a->file == b->file &&
	       a->address == b->address && a->object == b->object;
}

/* Parts of the key that a report needs: bits. The others are 0 in all entries. */
enum report_part {
	REPORT_BY_ITERATION = 1 << 0,
	REPORT_BY_CPU = 1 << 1,
	REPORT_BY_PID = 1 << 2,
	REPORT_BY_TID = 1 << 3,
	REPORT_BY_COMM = 1 << 4,
	REPORT_BY_SESSION = 1 << 5,
	REPORT_BY_LINE = 1 << 6,  /* file and line of each frame */
	REPORT_BY_STACK = 1 << 7, /* the callers; else a stack is the sampled function alone */
	/* Entries are the branches that samples hold: frames are from and to, samples their
	 * number, weight the sum of their cycles. */
	REPORT_BY_BRANCH = 1 << 8,
	REPORT_BY_ADDRESS = 1 << 9, /* object and address of each frame */
	REPORT_BY_SLICE = 1 << 10,  /* the slice of time */
};

enum report_branch {
	REPORT_NO_BRANCH = 0,
	REPORT_PREDICTED,
	REPORT_MISPREDICTED,
	REPORT_PREDICTION_UNKNOWN,
};

struct report_key {
	uint32_t event; /* place among the session's events */
	uint32_t session, iteration, cpu, pid, tid;
	uint32_t comm;   /* number of its text: report_functions_text */
	uint32_t branch; /* enum report_branch */
	uint32_t slice;  /* of the sink's slice_ns, since the session's start; before it: 0 */
};

/* Samples, the sum of their periods, the sum of the squares of these, and when they were taken. */
struct report_weight {
	uint64_t samples, weight;
	double squares;
	struct share_blocks blocks;
};

/* Adds one sample; at: its time since the session's beginning, in shortest blocks. */
static inline void report_weight_count(struct report_weight *to, uint64_t weight, uint64_t at)
{
	to->samples++;
	to->weight += weight;
	to->squares += (double)weight * (double)weight;
	share_blocks_count(&to->blocks, at);
}

static inline void report_weight_add(struct report_weight *to, const struct report_weight *w)
{
	to->samples += w->samples;
	to->weight += w->weight;
	to->squares += w->squares;
	share_blocks_add(&to->blocks, &w->blocks);
}

/* Borrowed until the callee returns. */
struct report_entry {
	struct report_key key;
	struct report_weight weight;
	const struct report_frame *frames; /* the sampled function first; at least one */
	size_t nr_frames;
};

/* A sample by itself. */
struct report_sample {
	struct report_key key;
	uint64_t time_ns; /* CLOCK_MONOTONIC of the recorded machine */
	uint64_t weight;  /* its period, or 1 if that is not known */
	uint32_t stack;   /* of the sink's stacks */
};

/* Receives what is read, from one thread at a time. 0 or -errno, which ends the reading. One of
 * entry and samples is set. */
struct report_sink {
	unsigned parts;    /* enum report_part */
	uint64_t slice_ns; /* of REPORT_BY_SLICE; not 0 then */
	int (*entry)(void *arg, const struct report_entry *e);
	/* Samples one by one, many per call, borrowed. Those of one file (a CPU and iteration) come
	 * in the order of the file, which is that of time except for tens of microseconds; files
	 * are interleaved. */
	int (*samples)(void *arg, const struct report_sample *samples, size_t nr);
	struct report_stacks *stacks; /* borrowed; for samples */
	void *arg;
};

#endif
