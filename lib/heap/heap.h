/*
 * The events of the group heap: processes of the target connect to a wire, and add up what they
 * allocate in a memory of their own, which is read here at boundaries.
 *
 * Counts are cumulative over all processes so far, but for those of values. Samples are what was
 * added to each stack since the boundary before, or, of values, what there is now.
 *
 * Threads: one uses a heap; the wire's thread adds processes.
 *
 * An event is carried by a dummy perf event of the command's tasks, alone in its group and on no
 * CPU in particular (PLAN_ANY_CPU), with or without a rate. That gives ids, a layout and a trace,
 * and needs no rights. Its reading is the sum over all processes; its samples are written as
 * stacks that were added up.
 *
 * A stack has the addresses of one epoch, in which they meant the same code. Its sample has a time
 * at which they were mapped: the end of the epoch, or when the process's last stack was added, as
 * exec may have changed the mappings since. With rate 1 a sample is exact, else its unit is the
 * rate, as that of waits (profile/samples.c).
 */
#ifndef HEAP_HEAP_H
#define HEAP_HEAP_H

#include "bpf/aggregate.h"
#include "heap/missed.h"
#include "plan/source.h"
#include "trace/trace.h"
#include "wire/heap.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire;

enum {
	HEAP_MAX_PROCESSES = 4096, /* that run, or ended since the boundary before */
	HEAP_FOLD_AT = 256,        /* added since */
	HEAP_NOTE_BYTES = 240,
};

/* Where types of exceptions have addresses, beyond those of programs: so many bytes each. */
#define HEAP_TYPES (UINT64_C(1) << 56)
enum { HEAP_TYPE_STEP = 4096 };

extern const struct source heap_source;
/* Of the source. */
int heap_check(const struct plan *plan, const struct plan_event *p, struct spec_pos *pos,
	       struct err *e);

struct heap_process;

/* What is there by size. */
enum {
	HEAP_CALLS,
	HEAP_BYTES,
	HEAP_SQUARES, /* by how much bytes vary, as heap_square has it */
	HEAP_LIVE_CALLS,
	HEAP_LIVE_BYTES,
	HEAP_LIVE_SQUARES,
	HEAP_NR_SIZES
};

enum {
	HEAP_LARGEST_PEAK = EVENT_HEAP_NR_KINDS, /* of one process: that of the peak's time */
	HEAP_CPU_SAMPLED,                        /* ns that samples of times stand for */
	HEAP_REAL_SAMPLED,
	HEAP_NR_COUNTS
};

/* Of processes that are gone. */
struct heap_ended {
	uint64_t counts[HEAP_NR_COUNTS];
	struct wire_heap_sums lost; /* what was not measured */
};

struct heap_use {
	struct source_use use;
	struct wire *wire; /* owned */
	struct wire_heap_config config;
	struct heap_process **processes; /* owned, like each */
	size_t nr, room;
	uint64_t counts[HEAP_NR_COUNTS]; /* at the last boundary, or look */
	/* at the last two boundaries */
	uint64_t times_at[HEAP_NR_COUNTS], counts_before[HEAP_NR_COUNTS];
	struct heap_ended ended;                 /* before this iteration */
	struct heap_ended ended_now;             /* in it, as far as they are forgotten */
	struct wire_heap_sums lost, lost_before; /* what was not measured */
	bool has_samples; /* else processes that have ended are added up early */
	uint32_t nr_readings;
	uint64_t start_ns;         /* of the session: the first reading */
	uint64_t begin_ns, end_ns; /* of the iteration */
	bool had_process, has_resident;
	/* since the last notes: processes whose pages could not be read; that ended without a
	 * search for pointers */
	uint32_t nr_unread, nr_unsearched, nr_guessed, nr_bypassed, nr_gone;
	/* Processes in which not each allocation is recorded any more, how long it was in the
	 * first, and the rate of the coarsest; since the last notes. */
	uint32_t nr_thinned;
	uint64_t exact_samples, exact_ns, thin_rate;
	bool had_heap;  /* a process whose malloc is the agent's */
	bool has_pages; /* a process that had not ended, at the last reading */
	uint64_t pcs[1 + WIRE_HEAP_MAX_FRAMES];
	struct trace_histogram sizes[HEAP_NR_SIZES];
	struct trace_bucket size_buckets[HEAP_NR_SIZES][WIRE_HEAP_NR_CLASSES];
	char type[WIRE_HEAP_TYPE_BYTES];

	pthread_mutex_t lock;        /* of what the wire's thread adds: */
	struct heap_process **added; /* owned, like each */
	size_t nr_added, added_room;
	size_t nr_all;       /* with those above */
	uint32_t nr_refused; /* since the last notes: there was no room */
	uint32_t nr_old;     /* since then: their agents are of another version */
	bool had_old;
	uint32_t nr_hiding; /* since then: their exceptions are not seen */
	/* since then: searches for pointers that took too long, and how far they came */
	uint32_t nr_cut;
	uint64_t cut_blocks, cut_searched;
	struct heap_missed_all missed;
	struct heap_ended folded;
	bool has_folded; /* some process */
};

/* Of the source. Those that ended before the reading before are forgotten. */
int heap_open(struct source_use *u, struct err *e);
void heap_close(struct source_use *u);
void heap_read(struct source_use *u, uint64_t now_ns);
void heap_look(struct source_use *u);
const char *heap_socket(const struct source_use *u);
bool heap_next(struct source_use *u, size_t event, struct source_at *at,
	       struct aggregate_stack *out);
/* The sampled allocations of the iteration that ended with the last reading by size, and the live
 * ones at its end: a histogram of each of the parts calls, bytes, squares (by how much bytes vary
 * by chance, in 1024 square bytes), live_calls, live_bytes and live_squares (of which the last
 * three are missing if no blocks are tracked). A bucket, which is a power of two's first, has all
 * sizes up to the next power of two; its count is the amount. */
size_t heap_sizes(struct source_use *u, bool is_look, const struct trace_histogram **out);

/* Of the event of the plan, by the last reading or look. */
uint64_t heap_count(const struct heap_use *h, size_t event);
/* No process has connected, though the first iteration is over. */
bool heap_is_silent(const struct heap_use *h);
/* Whether there is a count of the event: not of a heap that no process has, or that none shows to
 * the agent, nor of pages of processes that have ended. */
bool heap_has_count(const struct heap_use *h, size_t event);

enum { HEAP_NR_OWN_NOTES = 19, HEAP_NR_NOTES = HEAP_NR_OWN_NOTES + HEAP_NR_MISSES };
/* What was not measured in the iteration, in words; "": nothing. */
void heap_notes(struct heap_use *h, char notes[HEAP_NR_NOTES][HEAP_NOTE_BYTES]);

#endif
