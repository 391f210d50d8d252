/*
 * The arithmetic of samples: those received against those expected by the count. The live table and
 * cpuperf_print share it. Independent of where numbers come from and of how they are shown.
 *
 * Why compare: the kernel counts records that found no room in a ring, and reports that it
 * throttles, but not how many samples that cost; at high rates it drops samples silently. Idle
 * CPUs are apart, since a sampling clock does not run there.
 */
#ifndef ESTIMATE_SAMPLED_H
#define ESTIMATE_SAMPLED_H

#include "estimate/cell.h"

#include <stdbool.h>
#include <stdint.h>

/* The spec's flags that exclude samples, with the values that traces store. */
enum sampled_flag {
	SAMPLED_OS = 1u << 0,
	SAMPLED_USER = 1u << 1,
	SAMPLED_NO_IDLE = 1u << 9,
	SAMPLED_GUEST = 1u << 10,
	SAMPLED_HOST = 1u << 11,
};

/* How an event is sampled; all zero: not at all. */
struct sampled_event {
	uint64_t period;    /* a sample per so many occurrences; 0: by frequency */
	uint64_t frequency; /* in Hz: each sample has a period of its own */
	bool is_clock;      /* it counts time in ns, and may skip samples on an idle CPU */
	bool is_partial;    /* its samples exclude a mode that its count includes */
	bool is_wait;       /* its samples are random, and follow the count */
};

/* flags: enum sampled_flag among others. */
struct sampled_event sampled_event(const char *group, const char *name, uint64_t rate,
				   uint64_t frequency, unsigned flags);
bool sampled_event_is_sampled(const struct sampled_event *ev);

#define SAMPLED_UNKNOWN UINT64_MAX

/* Sample counts of an event, as traces store them. */
struct sampled_counts {
	uint64_t samples; /* taken */
	uint64_t idle;    /* of them: of the idle task */
	uint64_t weight;  /* the sum of their periods */
	uint64_t lost;    /* SAMPLED_UNKNOWN: the kernel does not count them by event */
	uint64_t throttled;
};
/* Sums saturate at UINT64_MAX; lost is unknown if one part is. */
void sampled_counts_add(struct sampled_counts *to, const struct sampled_counts *n);

/* What can be claimed about the expected samples; the strongest first. */
enum sampled_claim {
	SAMPLED_NONE = 0, /* the trace has no sample counts */
	SAMPLED_COMPARED, /* received, expected and slack are valid */
	SAMPLED_IDLE,     /* a clock on an idle CPU, which may skip samples */
	SAMPLED_SHORT,    /* a clock, too short for /proc/stat, which counts in 10 ms */
	SAMPLED_PARTIAL,  /* sampled_event.is_partial */
	SAMPLED_LASTING,  /* waits: how many samples they have does not follow from their sum */
	SAMPLED_NO_COUNT, /* there is no count to compare with */
	SAMPLED_HELD,     /* a flight recorder: its samples are of a part of the count's time */
};

struct sampled {
	enum sampled_claim claim;
	struct sampled_counts n;
	bool has_residual;
	int64_t residual;            /* raw count - weight, saturated */
	uint64_t received, expected; /* weights, if compared; else 0 */
	uint64_t slack;              /* the possible error of expected */
	unsigned idle_percent;       /* of a clock's time; rounded down; 0 if unknown */
};

/*
 * One event on one CPU over an iteration. c: its cell, of which the unscaled fields are read;
 * idle_ns: the CPU's idle time by /proc/stat, UINT64_MAX: unknown.
 * - expected is the raw count in whole periods; for a clock, the time in which it ran and the CPU
 * was not idle (a throttled clock does not count). received is the weight; for a clock, without
 * samples of the idle task. No more than the residual is missing.
 * - nothing is claimed for a clock with less than 5 % or less than 50 ms of time that is not idle.
 */
void sampled_make(const struct sampled_event *ev, const struct sampled_counts *n,
		  const struct cell *c, uint64_t idle_ns, struct sampled *out);
/* The samples are a flight recorder's: nothing is claimed, and the count is not theirs. */
void sampled_hold(struct sampled *s);
/* Adds s to a total over CPUs or iterations (all zero at first). The total has the strongest claim;
 * received and expected sum compared numbers only. */
void sampled_total(struct sampled *total, const struct sampled *s);

/* received / expected, at most 1; negative: no claim. */
double sampled_coverage(const struct sampled *s);
/* Expected samples; 0 if the period is not fixed or nothing is claimed. */
uint64_t sampled_nr_expected(const struct sampled_event *ev, const struct sampled *s);
/* Missing samples; by the mean period if it is not fixed. */
uint64_t sampled_nr_missing(const struct sampled_event *ev, const struct sampled *s);
/* One CPU: more than 1 %, more than 2 samples and more than the slack are missing. */
bool sampled_is_short(const struct sampled_event *ev, const struct sampled *s);

#endif
