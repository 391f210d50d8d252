/*
 * The samples of one measured CPU: its rings, their counts, and the trace that they are appended
 * to. Independent of time limits, other CPUs and, except for the file that is passed in, the
 * session's common file. One thread uses a sampler.
 *
 * A sample belongs to the iteration that contains its time. So a ring is divided at the time of
 * its CPU's readings, and what is later goes to the next trace: then count = samples × rate + a
 * signed residual, exactly, in each iteration.
 *
 * Layout of a sample: an event that is alone in its ring has TID, TIME and what its flags request;
 * several events add IDENTIFIER. Samples of a timebase contain the counts of its group (READ). The
 * trace stores the ids of each CPU's events and the attrs as they were opened.
 *
 * A sample may have an id that is no event's of ours: for one occurrence of a software event or
 * tracepoint, Linux (seen in 6.18) sets the id once for all samplers, other programs' included.
 * Such a sample belongs to the one event in the ring to which this can happen; if there are
 * several, it is counted as unknown.
 */
#ifndef SESSION_SAMPLER_H
#define SESSION_SAMPLER_H

#include "base/buf.h"
#include "pmu/ring.h"
#include "pmu/scan.h"
#include "session/cpu.h"
#include "trace/file.h"

struct dict;
struct err;
struct mapped;
struct seen;
struct common;
struct seen_wait;
struct source_use;
struct waits_lasting;
struct whole;
struct whole_sums;

/* An event that samples on this CPU. */
struct sampler_event {
	size_t part;                 /* index in the plan */
	uint64_t lost_before;        /* at the start of the iteration, as struct session_cpu's */
	struct aggregate *aggregate; /* borrowed; adds its samples up; NULL: nothing does */
	struct source_use *use;      /* borrowed; has added its samples up; NULL: there is none */
	bool is_maximum;             /* they do not add up: the largest one counts */
	const struct perf_event_attr *attr; /* borrowed */
	uint64_t id;                        /* of one of its perf events here */
};

struct sampler {
	struct session_cpu *cpu;       /* borrowed */
	const struct pmu_ops *pmu;     /* borrowed, from sampler_open on */
	const uint64_t *pack_until_ns; /* borrowed; frames are packed only before this time */
	struct pmu_ring ring, side_band;
	int *side_band_fds; /* owned; of each task, or one of the machine */
	size_t nr_side_band_fds;
	int owner_fds[2]; /* events that the rings of tasks are on */
	unsigned nr_owner_fds;
	bool has_interpreted;
	int interpreted_fd;         /* owned, then; writes what is interpreted */
	struct pmu_scan_tids *tids; /* borrowed; see struct pmu_scan; NULL: not wanted */
	struct whole *whole;        /* borrowed; unwinds; NULL: nothing is unwound */
	struct dict *names; /* borrowed; struct whole_name, of the iteration; NULL: not wanted */
	struct whole_sums *sums; /* owned; adds up what was unwound; NULL: nothing does */
	struct buf apart;        /* records that it has refused, until a frame is full */
	uint64_t apart_ns;       /* when the first of them came */
	struct seen *seen;       /* borrowed; receives switches; NULL: they are not wanted */
	uint64_t peeked;         /* up to here in the ring it has them */
	uint64_t span_ns;        /* of a flight recorder; 0: samples are written as they come */
	uint8_t *copy;           /* borrowed, with room for the ring; of a flight recorder */
	uint64_t after_ns;       /* of the iteration: also wanted of it, before the span */
	uint64_t begin_ns;       /* samples from then on are of the iteration */
	struct trace_held held;  /* of the iteration, set by sampler_cut */
	bool is_hung_up;         /* the CPU is offline: the rings get no more records */
	bool is_unrecorded;      /* the kernel refuses its records of tasks and mappings */

	struct sampler_event *events;  /* owned; room for each part of the plan */
	struct pmu_scan_event *counts; /* owned; the same order */
	struct trace_sampled *sampled; /* owned; totals per event, set by sampler_cut */
	struct trace_id *ids;          /* owned; the ids that records may contain */
	struct pmu_scan_id *scan_ids;  /* owned; those that samples contain */
	size_t nr_ids;
	struct pmu_scan scan;          /* the iteration's; its events are counts */
	struct aggregate_counts added; /* of the iteration, all events; set by sampler_cut */
	uint64_t side_band_lost;       /* records lost in the iteration */

	struct trace_file *file; /* owned; NULL: nothing is saved */
	struct buf kept;         /* records of the next iteration */
	struct buf lasting;      /* records of samples of waits that last, made here */
	size_t lasting_at;       /* up to here they have been moved */
	uint64_t lasting_full;   /* of the iteration: such samples that found no room */
	uint64_t samples, lost;  /* in previous iterations */
};

/* Memory only. 0 or -ENOMEM. */
int sampler_init(struct sampler *s, struct session_cpu *cpu, const uint64_t *pack_until_ns);
void sampler_fini(struct sampler *s);

/*
 * Maps the ring that all sampling events of the CPU (open, not yet counting) write into, and the
 * side band's ring. 0; -errno: nothing is open then. Without a sampling event on this CPU there is
 * neither. The ring of a flight recorder is overwritten, and read only by sampler_cut: set copy
 * before.
 */
int sampler_open(struct sampler *s, const struct kernel_probe *p, uint64_t ring_bytes);
void sampler_close(struct sampler *s);
/* Enables the side band first: a task must be recorded before its samples. */
void sampler_enable(const struct sampler *s);

/* Moves the ring's records to the file; not those of a flight recorder. 0 or -errno with *e. */
int sampler_drain(struct sampler *s, struct err *e);
/* The same for the side band, into common (NULL: drops them); adds mapped files to mapped. */
int sampler_drain_side_band(struct sampler *s, struct trace_file *common, struct mapped *mapped,
			    struct err *e);

/* Whether samples of an event with this attr are unwound. */
bool sampler_unwinds(const struct plan_event *p, const struct perf_event_attr *attr);
/* Writes the records of samples that were unwound up to now. scratch: empty, with a limit of
 * TRACE_FILE_RECORDS_BYTES. 0 or -errno with *e. */
int sampler_write_unwound(struct sampler *s, struct buf *scratch, struct err *e);

/* Writes the records of samples that were not added up and wait for more of them: before anything
 * later is written into the file. A reader sorts by time only within a window, so that they wait
 * half a second at most. 0 or -errno with *e; then, what fits. */
int sampler_write_apart(struct sampler *s, struct err *e);

/* Makes a sample of a wait that lasts, if one of the events is of that kind. It is written, and
 * counted, like those of the ring. */
void sampler_add_lasting(struct sampler *s, const struct waits_lasting *wait);

/* The event whose samples sampler_add_seen makes: of blocked time, with registers and stack. NULL:
 * there is none. */
const struct perf_event_attr *sampler_seen_attr(const struct sampler *s);
/* Adds a record of a thread that was seen blocked, written like those of the ring. */
void sampler_add_seen(struct sampler *s, const struct seen_wait *w);
/* Passes the switches in the ring to seen, and leaves them there. */
void sampler_peek(struct sampler *s);

/*
 * Ends an iteration at the time of the CPU's end readings: earlier records go to the file if
 * is_wanted, later ones are kept for the next iteration. A flight recorder writes those of its
 * span, without the records about its own pauses. Sums up the totals of samples. 0 or -errno
 * with *e.
 */
int sampler_cut(struct sampler *s, uint64_t cut_ns, bool is_wanted, struct err *e);
/* The same for a flight recorder that writes no samples: they may be of a later snapshot. */
void sampler_skip(struct sampler *s, uint64_t cut_ns);
/* Of the ring of a flight recorder; 0 without one. */
uint64_t sampler_held_bytes(const struct sampler *s);
/* Sends all samples to the ring from now on: before the CPU's end readings, so that it is divided
 * exactly there. Until sampler_resume. */
void sampler_hold(struct sampler *s);
/* Samples of one of its events are added up. */
bool sampler_adds_up(const struct sampler *s);
/* Writes the samples that were added up in the iteration to the file; w: for its frames. Call it
 * after sampler_cut. 0 or -errno with *e. */
int sampler_write_stacks(struct sampler *s, struct trace_writer *w, struct common *common,
			 struct err *e);
/* The same of those that were added up since they were unwound. */
int sampler_write_sums(struct sampler *s, struct trace_writer *w, struct err *e);
/* Forgets the samples that were added up, and adds up again. */
void sampler_resume(struct sampler *s);
/* Starts the next iteration, with a file or without: kept samples come first. */
int sampler_begin(struct sampler *s, struct trace_file *file, struct err *e);

/* Samples and lost records, of all iterations up to now. */
uint64_t sampler_samples(const struct sampler *s);
uint64_t sampler_lost(const struct sampler *s);

#endif
