/*
 * The sessions of a job, or several others, beside each other in one file: each is a lane, with
 * tasks of its own, and all have one axis of time, CLOCK_REALTIME of who started the job; of no job
 * their own, and of those of one boot that of the first.
 *
 * A format that has sessions beside each other (REGISTRY_LANES) reads one after the other, each
 * with its names. Some accept sessions of no job (takes_any; export_lane_read_clock); an html page
 * has the counts of such sessions beside its own (page_beside). The viewers of Perfetto and chrome
 * know one machine, so a lane's tasks have numbers of their own in the file. Where a format
 * demands another order (chrome's arrays, the lines of a family), what comes later waits on the
 * disk (chrome/later.h, openmetrics/points.h).
 */
#ifndef CPUPERF_PRINT_EXPORTS_LANES_H
#define CPUPERF_PRINT_EXPORTS_LANES_H

#include "job.h"

struct err;

/* Formats number tasks for the whole file: those of a lane are its own numbers and so much for each
 * lane, which fits 31 bits. Linux has no larger numbers. */
enum { EXPORT_LANE_PIDS = 10000000, EXPORT_MAX_LANES = INT32_MAX / EXPORT_LANE_PIDS - 1 };

struct export_lane {
	struct job j;     /* of its session alone */
	const char *name; /* "n1", "n1 rank 3", borrowed; NULL: the only one, with its own times */
	uint32_t number;  /* from 1; 0: the only one */
	struct parts_clock clock; /* of a job; else zero */
	uint64_t origin_ns;       /* of a job: when it began, by the starter's clock; else 0 */
};

/* Calls each with each session of the job, one after the other, while its names are loaded; a
 * result other than 0 ends it. 0 or -errno with *e. */
typedef int export_lane_fn(void *arg, struct export_lane *lane, struct err *e);
int export_lanes(struct job *j, export_lane_fn *each, void *arg, struct err *e);
/* parts_clock_read of input i of the job. Sessions of one boot have the same clock, that of the
 * first of them: what lies between them is exact, whatever became of the time of day. */
int export_lane_read_clock(const struct job *j, size_t i, struct parts_clock *out, struct err *e);
/* -E2BIG with *e if lanes are more than numbers of tasks allow. */
int export_lanes_check_tasks(const struct job *j, struct err *e);

/* In the file: a time of CLOCK_MONOTONIC of the lane's machine, and a pid or tid. Of a job a task
 * that is not known has a number, too. */
static inline uint64_t export_lane_time(const struct export_lane *l, uint64_t monotonic_ns)
{
	return monotonic_ns + (uint64_t)l->clock.to_starter_ns;
}
static inline uint32_t export_lane_task(const struct export_lane *l, uint32_t id)
{
	const uint32_t last = EXPORT_LANE_PIDS - 1;

	return l->number ? l->number * EXPORT_LANE_PIDS + (id < last ? id : last) : id;
}

/* The name of a process or a track of its own: "n1: mix" in a job. Cut if it is too long. */
enum { EXPORT_LANE_NAME_BYTES = 4096 };
const char *export_lane_name(const struct export_lane *l, const char *of,
			     char text[EXPORT_LANE_NAME_BYTES]);
/* How far the lane's times can be compared with those of others, in words. Of a job. */
const char *export_lane_clock(const struct export_lane *l, char text[EXPORT_LANE_NAME_BYTES]);

#endif
