/*
 * What the files of the sampling share: sampling.c opens, starts and empties; sampling_record.c
 * ends an iteration.
 */
#ifndef SESSION_SAMPLING_INTERNAL_H
#define SESSION_SAMPLING_INTERNAL_H

#include "session/sampling.h"

#include "plan/notes.h"
#include "session/common.h"
#include "session/counters.h"
#include "session/delays.h"
#include "session/paced.h"
#include "session/record.h"
#include "session/sampler.h"
#include "session/seen.h"
#include "session/surveyor.h"
#include "values/idle.h"
#include "whole/whole.h"

#include <poll.h>

enum {
	SAMPLING_PACK_NS = 100000000, /* per emptying of the rings */
};

struct sampling {
	struct sampling_config config;
	const struct plan *plan; /* borrowed, like counters, recorder and notes */
	const struct counters *counters;
	struct recorder *recorder;
	struct notes *notes;
	uint32_t nr_cpus;
	struct sampler *samplers;       /* owned, like all below; per CPU */
	struct trace_sampling *results; /* per CPU */
	struct pollfd *fds;             /* the session's stop, then two per CPU */
	uint8_t *copy;                  /* of a flight recorder: room for one CPU's ring */
	uint64_t touched_bytes;         /* of the copy, at its end */
	struct trace_packer *packer;    /* NULL: samples are not packed */
	struct trace_packer *stacks;    /* then packs those that are added up; NULL: not yet */
	struct common common;
	struct whole *whole;              /* NULL: nothing is unwound */
	struct buf unwound;               /* records on their way to a file */
	struct whole_counts whole_before; /* up to the last boundary */
	struct dict names;                /* struct whole_name: those of the iteration */
	struct idle idle;
	struct paced *paced; /* borrowed */
	struct surveyor surveyor;
	struct runtimes *runtimes; /* NULL: nothing is read of them */
	struct delays delays;
	struct seen seen;
	uint64_t boundary_ns; /* the last one */
	uint64_t ring_bytes, max_rate;
	uint64_t closed_bytes; /* of closed traces */
	struct err error;      /* of this thread's files; sticks */
	uint64_t started_ns, drain_due_ns, progress_due_ns;
	uint64_t pause_ns;      /* between two emptyings of the rings */
	uint64_t pack_until_ns; /* limits packing: a high level of zstd must not delay the rings */
	int nice;               /* this thread's niceness before it was raised */
	bool is_raised;
	bool is_common_full;
};

/* When the CPU's samplers were read at the boundary: there its samples are divided. Without
 * samplers, the boundary. */
uint64_t sampling_cut_ns(const struct sampling *g, uint32_t trace);
/* For how long each CPU was idle since the last call, into the results. */
void sampling_read_idle(struct sampling *g);
/* Makes the kernel allocate what the copy of the fullest ring needs, before that ring is paused. */
void sampling_touch_copy(struct sampling *g);

/* Whether what is due later is done at a wakeup that comes before it, which saves one. The rings
 * are emptied at each; the rest is written at most four times in a pause, and the progress, which
 * is shown each second, comes at most an eighth of one too early. */
bool sampling_is_early_flush(const struct sampling *g, uint64_t now_ns);
bool sampling_is_early_progress(const struct sampling *g, uint64_t now_ns);

/* These write what was gathered. 0 or -errno with *e. */
int sampling_write_ticks(struct sampling *g, uint32_t trace, uint64_t until_ns, struct err *e);
int sampling_write_delays(struct sampling *g, struct err *e);
/* Writes what was unwound up to now. 0 or -errno with *e. */
int sampling_write_unwound(struct sampling *g, uint32_t trace, struct err *e);
/* Errors stick in g->error. */
void sampling_drain_side_band(struct sampling *g, uint32_t trace);

#endif
