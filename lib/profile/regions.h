/*
 * Regions: what a program says about itself through marks (cpuperf/mark.h). Those of a thread nest;
 * a *path* is a region with the regions around it. Made once from the marks of the common file,
 * then constant: a list of steps for each thread, in a few bytes each.
 *
 * - An end without a beginning is ignored, and counted: its beginning was lost or came before the
 *   session.
 * - What is open when the thread ends or its process execs is closed there; what is still open with
 *   the last record, at the thread's last mark. In a session without samples the recorder says when
 *   a process has ended, or a thread within a region, some ms later.
 * - Marks of several objects of a thread are in the order of their times. An end is of the
 * innermost region of the thread, whichever object began it.
 *
 * region_streams.h merges the objects' marks of each thread by time, trace/nesting.h says how they
 * nest, and region_log.h keeps steps in a few bytes each. Any thread of a report finds the path of
 * a sample by thread and time. region_calls.h reads the steps again as calls that a filter
 * selects, of which reports make sums (report/region_sums.h; of replicates
 * report/region_amounts.h) and exports slices.
 *
 * Labels of goroutines (pprof.Do of Go) are regions, too, without marks: each sample says which
 * set its goroutine had. A set is a path, a region "key=value" for each label, in an order that all
 * sets of the session say (region_labels.h). When it began and ended is not known, so these regions
 * have samples and no calls.
 */
#ifndef PROFILE_REGIONS_H
#define PROFILE_REGIONS_H

#include "profile/filter.h"
#include "profile/processes.h"
#include "trace/nesting.h"

enum {
	PROFILE_NO_REGION = 0,
	PROFILE_MAX_REGIONS = 1 << 16,
	PROFILE_MAX_REGION_DEPTH = NESTING_MAX
};
enum { PROFILE_MAX_REGION_COUNTS = 8, PROFILE_MAX_REGION_NOTES = 16 };

struct profile_region {
	uint32_t number;  /* from 1; PROFILE_NO_REGION: outside of all regions */
	uint32_t parent;  /* less than number, or PROFILE_NO_REGION */
	uint32_t depth;   /* 0: it has no parent */
	bool is_label;    /* of a goroutine */
	const char *name; /* safe to show */
};

struct profile_regions_stats {
	uint64_t nr_marks, nr_lost;
	uint64_t nr_unmatched; /* ends without a beginning */
	uint64_t nr_closed;    /* regions without an end of their own, whatever a filter selects */
	bool has_left_out;     /* because of a limit */
	bool has_unnamed;      /* the same of names: what has them is [unknown] */
	bool has_counts;       /* events counted in some region */
	/* What the recorder says of marks that it did not receive; safe to show. */
	const char *notes[PROFILE_MAX_REGION_NOTES];
	size_t nr_notes;
};

size_t profile_nr_regions(const struct profile_processes *p); /* with PROFILE_NO_REGION */
const struct profile_region *profile_region(const struct profile_processes *p, uint32_t number);
/* Those in which the header measures what marks themselves count: [marks] around [mark]. They are
 * no regions of the program: samples are of the region around them. */
#define PROFILE_REGION_TRIAL       "[marks]"
#define PROFILE_REGION_TRIAL_INNER "[mark]"
bool profile_region_is_trial_name(const char *name);
bool profile_region_is_trial(const struct profile_processes *p, uint32_t number);
/* Appends the names of the path from the outermost on: "request > parse"; "[none]". */
struct buf;
void profile_region_text(const struct profile_processes *p, uint32_t number, struct buf *out);
const struct profile_regions_stats *profile_regions_stats(const struct profile_processes *p);

/* The innermost path of the thread at that time. */
uint32_t profile_region_at(const struct profile_processes *p, uint32_t tid, uint64_t time_ns);
/* The same of a sample: of the labels that it has (profile_sample.labels; 0: none), if these are
 * known, and else by marks. */
uint32_t profile_region_of(const struct profile_processes *p, uint32_t tid, uint64_t time_ns,
			   uint64_t labels);
/* Whether some regions are labels. */
bool profile_has_labels(const struct profile_processes *p);
/* Whether the program paused the measuring of the thread or of its process. */
bool profile_is_paused(const struct profile_processes *p, uint32_t pid, uint32_t tid,
		       uint64_t time_ns);

/* Of each path by its number, whether it lies in a region (itself or one around it) with a name or
 * path that matches. NULL: no memory, or globs is empty: all do. Free it with mem_free. */
bool *profile_regions_within(const struct profile_processes *p, const struct profile_globs *globs);

#endif
