/*
 * The events of the group heap: processes of the target connect to a wire, and add up what they
 * allocate in a memory of their own, which is read here at boundaries.
 *
 * Counts are cumulative over all processes so far, but for those of values. Samples are what was
 * added to each stack since the boundary before, or, of values, what there is now.
 *
 * Threads: one uses a heap; the wire's thread adds processes.
 */
#ifndef SESSION_HEAP_H
#define SESSION_HEAP_H

#include "bpf/aggregate.h"
#include "event/event.h"
#include "session/heap_missed.h"
#include "trace/trace.h"
#include "wire/heap.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct plan;
struct wire;

enum {
	SESSION_HEAP_MAX_PROCESSES = 4096, /* that run, or ended since the boundary before */
	SESSION_HEAP_FOLD_AT = 256,        /* added since */
	SESSION_HEAP_NOTE_BYTES = 240,
};

/* Where types of exceptions have addresses, beyond those of programs: so many bytes each. */
#define SESSION_HEAP_TYPES (UINT64_C(1) << 56)
enum { SESSION_HEAP_TYPE_STEP = 4096 };

struct session_heap_process;

/* What is there by size. */
enum {
	SESSION_HEAP_CALLS,
	SESSION_HEAP_BYTES,
	SESSION_HEAP_LIVE_CALLS,
	SESSION_HEAP_LIVE_BYTES,
	SESSION_HEAP_NR_SIZES
};

enum {
	SESSION_HEAP_LARGEST_PEAK =
	    EVENT_HEAP_NR_KINDS,  /* of one process: that of the peak's time */
	SESSION_HEAP_CPU_SAMPLED, /* ns that samples of times stand for */
	SESSION_HEAP_REAL_SAMPLED,
	SESSION_HEAP_NR_COUNTS
};

/* Of processes that are gone. */
struct session_heap_ended {
	uint64_t counts[SESSION_HEAP_NR_COUNTS];
	struct wire_heap_sums lost; /* what was not measured */
};

struct session_heap {
	/* Ends the iteration, as a process wishes; called by the wire's thread. False: none is
	 * ended on request. */
	bool (*dump)(void *arg);
	void *dump_arg;
	/* Where the kernel refuses its records of tasks and mappings: a process has connected, and
	 * waits; or it still runs at a boundary. Called by both threads. NULL: there are records.
	 */
	void (*unrecorded)(void *arg, uint32_t pid);
	void *unrecorded_arg;
	const struct plan *plan;      /* borrowed */
	struct wire *wire;            /* owned; NULL: not needed, or refused */
	struct event_support support; /* why, then */
	struct wire_heap_config config;
	struct session_heap_process **processes; /* owned, like each */
	size_t nr, room;
	uint64_t counts[SESSION_HEAP_NR_COUNTS]; /* at the last boundary, or look */
	/* at the last two boundaries */
	uint64_t times_at[SESSION_HEAP_NR_COUNTS], counts_before[SESSION_HEAP_NR_COUNTS];
	struct session_heap_ended ended;         /* before this iteration */
	struct session_heap_ended ended_now;     /* in it, as far as they are forgotten */
	struct wire_heap_sums lost, lost_before; /* what was not measured */
	bool has_samples; /* else processes that have ended are added up early */
	uint32_t nr_readings;
	uint64_t start_ns;         /* of the session: the first reading */
	uint64_t begin_ns, end_ns; /* of the iteration */
	bool had_process, has_resident;
	/* since the last notes: processes whose pages could not be read; that ended without a
	 * search for pointers */
	uint32_t nr_unread, nr_unsearched, nr_guessed, nr_bypassed, nr_gone;
	bool had_heap;  /* a process whose malloc is the agent's */
	bool has_pages; /* a process that had not ended, at the last reading */
	uint64_t pcs[1 + WIRE_HEAP_MAX_FRAMES];
	struct trace_bucket size_buckets[SESSION_HEAP_NR_SIZES][WIRE_HEAP_NR_CLASSES];
	char type[WIRE_HEAP_TYPE_BYTES];

	pthread_mutex_t lock;                /* of what the wire's thread adds: */
	struct session_heap_process **added; /* owned, like each */
	size_t nr_added, added_room;
	size_t nr_all;       /* with those above */
	uint32_t nr_refused; /* since the last notes: there was no room */
	uint32_t nr_hiding;  /* since then: their exceptions are not seen */
	/* since then: searches for pointers that took too long, and how far they came */
	uint32_t nr_cut;
	uint64_t cut_blocks, cut_searched;
	struct session_heap_missed missed;
	struct session_heap_ended folded;
	bool has_folded; /* some process */
};

/* Zeroes are fine. */
void session_heap_fini(struct session_heap *h);
/* Opens the wire if the plan has such events, once. 0, also if they are refused, or -ENOMEM. */
int session_heap_open(struct session_heap *h, const struct plan *plan);
/* The value of CPUPERF_HEAP; NULL: no heap is measured. */
const char *session_heap_name(const struct session_heap *h);
/* Reads all processes. Those that ended before the call before are forgotten. */
void session_heap_read(struct session_heap *h, uint64_t now_ns);
/* Renews the counts alone, between two readings. */
void session_heap_look(struct session_heap *h);
/* Of the event of the plan, by the last reading or look. */
uint64_t session_heap_count(const struct session_heap *h, size_t event);

struct session_heap_at {
	size_t process;
	uint32_t stack;
	uint32_t life; /* its class, of lifetimes */
};
/* The next stack of the event's samples in the iteration that ended with the last reading; *at: all
 * zero for the first. True, or false after the last. Its callers are borrowed until the next call.
 */
bool session_heap_next(struct session_heap *h, size_t event, struct session_heap_at *at,
		       struct aggregate_stack *out);

/* The sampled allocations of the iteration that ended with the last reading by size, and the live
 * ones at its end: a histogram of each of the parts calls, bytes, live_calls and live_bytes (of
 * which the last two are missing if no blocks are tracked). A bucket, which is a power of two's
 * first, has all sizes up to the next power of two; its count is the amount. Returns their number;
 * buckets are borrowed until the next call. */
size_t session_heap_sizes(struct session_heap *h,
			  struct trace_histogram out[SESSION_HEAP_NR_SIZES]);

/* No process has connected, though the first iteration is over. */
bool session_heap_is_silent(const struct session_heap *h);
/* Whether there is a count of the event: not of a heap that no process has, or that none shows to
 * the agent, nor of pages of processes that have ended. */
bool session_heap_has_count(const struct session_heap *h, size_t event);

enum {
	SESSION_HEAP_NR_OWN_NOTES = 17,
	SESSION_HEAP_NR_NOTES = SESSION_HEAP_NR_OWN_NOTES + HEAP_NR_MISSES
};
/* What was not measured in the iteration, in words; "": nothing. */
void session_heap_notes(struct session_heap *h,
			char notes[SESSION_HEAP_NR_NOTES][SESSION_HEAP_NOTE_BYTES]);

#endif
