/*
 * The input of reports: samples with the same key and stack, as one entry. Independent of the
 * source of samples and of the reports.
 */
#ifndef REPORT_ENTRY_H
#define REPORT_ENTRY_H

#include "estimate/interval.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function by the name under which it is reported; see functions.h. The same name in the same
 * object is always the same pointer. */
struct report_function {
	uint32_t number;          /* from 0, dense */
	uint32_t object_number;   /* of the object's name, also from 0, dense */
	const char *name;         /* safe to show, like the others */
	const char *linkage_name; /* of the first symbol with that name; name itself if it is not
				     mangled or not a symbol */
	const char *object;
	bool is_kernel, is_known;
	bool is_script; /* as of a symbol */
	bool is_hidden; /* has no frame: its samples count for its caller */
	bool is_wanted; /* matches --only, or --only is not used */
};

/* One frame of a stack. */
struct report_frame {
	const struct report_function *function;
	const char *file; /* source file; NULL: unknown or not requested */
	uint32_t line;
	bool is_inlined; /* into the next frame */
	bool is_merged;  /* named by a merge rule */
	/* With REPORT_BY_ADDRESS, the place of the code: its offset in the file, or the address
	 * itself (the kernel, code made at run time). */
	const struct profile_object *object; /* NULL: not in a file, or not requested */
	uint64_t address;                    /* 0: not requested */
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
	REPORT_BY_TID = 1 << 3, /* and the thread's number */
	REPORT_BY_COMM = 1 << 4,
	REPORT_BY_SESSION = 1 << 5,
	REPORT_BY_LINE = 1 << 6,  /* file and line of each frame */
	REPORT_BY_STACK = 1 << 7, /* callers; else a stack is only the sampled function */
	/* Entries are the branches in samples: frames are source and target, samples their number,
	 * weight the sum of their cycles. */
	REPORT_BY_BRANCH = 1 << 8,
	REPORT_BY_ADDRESS = 1 << 9, /* object and address of each frame */
	REPORT_BY_SLICE = 1 << 10,  /* the slice of time */
	REPORT_BY_CMDLINE = 1 << 11,
	/* Of runs that add up states (report/states.h), or with REPORT_BY_FUTEX. */
	REPORT_BY_STATE = 1 << 12,
	REPORT_BY_REASON = 1 << 13, /* with REPORT_BY_STACK; not of single samples */
	/* and its function; of single samples in their stacks, and report_sample.waker */
	REPORT_BY_WAKER = 1 << 14,
	REPORT_BY_REGION = 1 << 15, /* the innermost one, with those around it */
	REPORT_BY_HOST = 1 << 16,   /* and the rank */
	/* Each wait at a futex is an entry of its own, with wait; of runs that add up states or
	 * not. Not of single samples. */
	REPORT_BY_FUTEX = 1 << 17,
};

/* The outermost frame of each stack, in place of nothing; only with REPORT_BY_STACK. */
enum report_root {
	REPORT_NO_ROOT,
	REPORT_ROOT_PROCESS, /* "name (pid)", with the name of its main thread */
	REPORT_ROOT_THREAD,  /* "name (pid/tid #number)" */
	REPORT_ROOT_COMM,
	REPORT_ROOT_CMDLINE,
	REPORT_ROOT_STATE,  /* of runs that add up states; none for events without a state */
	REPORT_ROOT_HOST,   /* on which it ran */
	REPORT_ROOT_RANK,   /* "rank 3"; none where there is none */
	REPORT_ROOT_REGION, /* the regions around the sample, a frame each; "[none]" */
	REPORT_NR_ROOTS
};

enum report_branch {
	REPORT_NO_BRANCH = 0,
	REPORT_PREDICTED,
	REPORT_MISPREDICTED,
	REPORT_PREDICTION_UNKNOWN,
};

struct report_key {
	uint32_t event; /* index in the session's events */
	uint32_t session, iteration;
	uint32_t cpu, pid, tid; /* TRACE_UNKNOWN */
	uint32_t thread;        /* the tid's number in the process; TRACE_UNKNOWN */
	uint32_t comm;          /* number of its text: report_functions_text */
	uint32_t cmdline;       /* the same */
	uint32_t branch;        /* enum report_branch */
	uint32_t state;         /* enum report_state */
	uint32_t reason;        /* number of its text, as comm; of a sample: enum trace_reason */
	uint32_t waker;         /* the same, of its name; and of its function */
	uint32_t waker_function;
	uint32_t region; /* number of the text of its path, as comm */
	uint32_t host;   /* number of its text, as comm */
	uint32_t rank;   /* in a parallel program; TRACE_UNKNOWN */
	uint32_t slice;  /* in slice_ns since the session's start; 0 before it */
	uint64_t wait;   /* with REPORT_BY_FUTEX: private to the counter */
};

/* A wait at a futex. */
struct report_wait {
	uint64_t futex;   /* in the memory of the process */
	uint64_t ns;      /* how long it was, of the times that are selected */
	uint64_t time_ns; /* when it ended */
	uint32_t process; /* profile_process.number */
	/* Another thread of the process, of which the number stood in the futex when it began: the
	 * owner if it is a lock that has one, or any value of the program. TRACE_UNKNOWN: none. */
	uint32_t owner;
	uint32_t owner_comm; /* its name: the number of its text */
	bool lasts;          /* it had not ended */
};

/* Samples, and the sum of their weights. Of those that were taken by chance: their number, the sum
 * of the squares of their weights, and how they follow each other. */
struct report_weight {
	uint64_t samples, weight;
	uint64_t random;
	double squares;
	struct interval_segments rows;
	uint64_t unit;   /* where those of one event differ (a heap's): the largest; else 0 */
	bool is_maximum; /* the weight is the largest one, not their sum */
};

/* A sample, or several of one stack. */
struct report_count {
	uint64_t samples, weight;
	/* How much of the weight an independent sample stands for: the weight of one, or less if it
	 * was not left to chance that so much was sampled; 0: nothing was. */
	uint64_t unit;
	/* One that a clock took after the one before: of which row, and its place there. Row 0: it
	 * was taken by itself. */
	uint64_t row, place;
	/* Of samples that were added up: PLACE_SUMS sums of their places, and of how many samples.
	 * NULL: as row says. */
	const int16_t *places;
	uint64_t nr_places;
	bool has_units;  /* others of the event have other units, of which some are 0 */
	bool is_maximum; /* as of struct report_weight */
};

static inline void report_weight_raise(struct report_weight *to, uint64_t weight, bool is_maximum)
{
	to->is_maximum |= is_maximum;
	if (!is_maximum)
		to->weight += weight;
	else if (weight > to->weight)
		to->weight = weight;
}

static inline void report_weight_count(struct report_weight *to, const struct report_count *c)
{
	to->samples += c->samples;
	report_weight_raise(to, c->weight, c->is_maximum);
	if (!c->unit)
		return;
	to->random += c->samples;
	to->squares += (double)c->weight * (double)c->unit;
	if (c->has_units && c->unit > to->unit)
		to->unit = c->unit;
	if (c->places)
		interval_segments_add_sums(&to->rows, c->nr_places, c->places);
	else if (c->row)
		interval_segments_count(&to->rows, c->row, c->place);
}

static inline void report_weight_add(struct report_weight *to, const struct report_weight *w)
{
	to->samples += w->samples;
	report_weight_raise(to, w->weight, w->is_maximum);
	to->random += w->random;
	to->squares += w->squares;
	to->unit = w->unit > to->unit ? w->unit : to->unit;
	interval_segments_add(&to->rows, &w->rows);
}

/* Borrowed until the callee returns. */
struct report_entry {
	struct report_key key;
	struct report_weight weight;
	const struct report_frame *frames; /* the sampled function first; at least one */
	size_t nr_frames;
	const struct report_wait *wait; /* with REPORT_BY_FUTEX; NULL: it is of other samples */
};

/* A single sample, or several that the kernel added up. */
struct report_sample {
	struct report_key key;
	uint64_t time_ns; /* CLOCK_MONOTONIC of the recorded machine */
	uint64_t samples;
	uint64_t weight; /* its period, or 1 if unknown; the sum */
	uint64_t unit;   /* as of struct report_count */
	uint32_t stack;  /* its number in the sink's stacks */
	uint32_t region; /* around it: profile_region_of */
	bool is_made;    /* by records of switches: profile_sample.is_rest */
	/* Of a wait whose waker is known (REPORT_BY_WAKER): the thread that ended it;
	 * TRACE_UNKNOWN: an interrupt did. Its frames follow the stack's, as report/waker.h says.
	 */
	bool has_waker;
	uint32_t waker;
};

/* How many samples it is of: of what is made, of none. */
static inline uint64_t report_sample_nr(const struct report_sample *s)
{
	return s->is_made ? 0 : s->samples;
}

/* Receives entries or samples, from one thread at a time. 0 or -errno, which ends the reading. One
 * of entry and samples is set. */
struct report_sink {
	unsigned parts;    /* enum report_part */
	uint64_t slice_ns; /* with REPORT_BY_SLICE: not 0 */
	/* It adds up by report_weight_add alone, so that it may have events of which the largest
	 * sample counts. Others get none of them. */
	bool takes_maxima;
	/* Without REPORT_BY_STACK: it does not read the frames of entries. Functions are not looked
	 * up then, nor is counted what has none (report_stats.nr_user, nr_unmapped), but where
	 * rules need them. */
	bool ignores_frames;
	/* NULL, as samples: only where stacks end is counted. Functions are not looked up then. */
	int (*entry)(void *arg, const struct report_entry *e);
	/* Receives single samples, many per call, borrowed. Those of one file (a CPU and iteration)
	 * are in file order, which is that of time except for tens of microseconds; files are
	 * interleaved. */
	int (*samples)(void *arg, const struct report_sample *samples, size_t nr);
	struct report_stacks *stacks; /* borrowed; for samples */
	void *arg;
};

#endif
