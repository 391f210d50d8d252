/*
 * Reads the samples of a session with several threads, unwinds and symbolizes them, and passes
 * entries to the sink of a report.
 *
 *     common file -> profile/processes.h: who ran, what was mapped when (made once; constant)
 *     each trace  -> profile/samples.h  -> stack.h    -> names.h  -> fold.h     -> sink
 *                    as they stand in      addresses     of the      samples       (flat, tree …)
 *                    the file                            symbols     that agree    behind a lock
 *
 * A thread for each CPU, and none for a small session; what each does is in counter.h. Lookups are
 * cached: the previous stack of the same process; addresses by process and epoch (the number of the
 * process's mappings so far); places in files. A sink that needs single samples receives each with
 * the number of its stack (singles.h, stacks.h). Only report_records sorts (profile/merged.h).
 */
#ifndef REPORT_ENGINE_H
#define REPORT_ENGINE_H

#include "base/dict.h"
#include "estimate/sampled.h"
#include "profile/session.h"
#include "report/ends.h"
#include "report/entry.h"
#include "report/states.h"

#include <stdatomic.h>

struct elf_file;
struct elf_finder;
struct profile_processes;
struct profile_filter;
struct report_functions;
struct symbols;

/* One session; all borrowed. */
struct report_input {
	struct profile_session *session;
	const struct profile_processes *processes;
	struct symbols *symbols;
	struct elf_finder *finder;
	const struct elf_file *vdso; /* the recorder's; NULL: unknown */
	uint32_t number;             /* the session's number in keys */
	uint32_t host, rank;         /* in keys */
	bool has_own_clocks; /* events that tasks inherit sample each task by itself; false: unknown
			      */
	uint64_t start_ns;   /* the session's start, to which the filter's times are relative */
};

/* What was read for one event. */
/* What the samples of files lack of counts. */
struct report_rest {
	int64_t ns;      /* counts - weight */
	uint64_t weight; /* of those samples */
};

struct report_event_stats {
	struct report_weight counted; /* reported */
	struct report_weight omitted; /* filtered, or the stack is not selected */
	struct report_weight idle;    /* of the idle task, where the run leaves it out */
	/* Received and expected samples of the files read. */
	struct sampled sampled;
	bool is_of_last;             /* those of earlier iterations are not reported */
	bool has_value;              /* a value, as of memory, was counted: */
	double value;                /* in the last iteration; the largest one of the files */
	bool is_short;               /* sampled_is_short for some CPU and iteration */
	uint64_t unsampled_ns;       /* of the reported and the omitted: profile_sample.is_rest */
	struct report_rest lasting;  /* of waits: they are counted before they are sampled */
	struct report_rest excluded; /* of clocks whose samples exclude a mode, which they count */
};

struct report_stats {
	struct report_event_stats *event; /* owned: nr_events */
	size_t nr_events;
	struct dict programs; /* struct report_program; if the sink has REPORT_BY_STACK */
	/* User-mode samples, and those of them whose address lies in no mapping. */
	uint64_t nr_user, nr_unmapped;
	uint64_t nr_paused; /* omitted, since the program had paused the measuring */
	uint64_t nr_lost;   /* records that the rings report as lost */
	uint64_t held_ns; /* the longest before a snapshot of a flight recorder; 0: there is none */
	uint32_t divisor; /* the largest by which rates were divided in an iteration; 0: by none */
	uint64_t bytes;   /* bytes of the files */
};

/* Zeroes for so many events; 0 or -ENOMEM. */
int report_stats_init(struct report_stats *s, size_t nr_events);
void report_stats_fini(struct report_stats *s); /* zeroes are fine */

struct report_run {
	const struct profile_filter *filter;
	struct report_functions *functions;
	const struct report_sink *sink;
	unsigned nr_threads; /* 0: one per CPU */
	uint32_t every;      /* above 1: one of so many samples is read (profile_samples_thin) */
	bool with_inlined;   /* inlined functions are frames */
	bool with_native;    /* the frames of an interpreter itself, too: report/stack.h */
	bool without_idle;   /* samples of the idle task are no entries */
	bool with_wakers;    /* after the stack of a wait, that of its waker: report/waker.h */
	enum report_sum sum; /* events that are counted as one: report_states_event */
	enum report_root root;
	profile_problem_fn *problem; /* never called by two threads at once */
	void *arg;
	/* Called a few times a second by the calling thread; may be NULL. */
	void (*progress)(void *arg, uint64_t bytes);
	/* NULL, or what ends the reading with -ECANCELED when it is no longer 0. */
	const atomic_uint *cancel;
};

/* Adds one session to the report. 0, -ENOMEM, or what the sink returned. */
int report_engine_read(const struct report_run *run, const struct report_input *input,
		       struct report_stats *stats);

#endif
