/*
 * Damage inside one file: reported place by place up to a limit, then counted. Must not depend on
 * the content.
 */
#ifndef PROFILE_FAULTS_H
#define PROFILE_FAULTS_H

#include "profile/session.h"

struct trace_frame;

/* Set name, problem, arg and is_growing; zero the rest. */
struct profile_faults {
	const char *name; /* of the file; borrowed */
	profile_problem_fn *problem;
	void *arg;
	bool is_growing; /* the session is in progress: what is not written yet (-ENODATA) is no
			    problem */
	size_t nr;       /* damaged places and invalid frames */
};

/* A profile_problem_fn; faults: struct profile_faults. */
void profile_faults_report(void *faults, bool is_loss, const struct err *e);
/* A damaged place, as described by trace_reader_next. */
void profile_faults_add(struct profile_faults *f, const struct err *e);
/* A frame that cannot be decoded. */
void profile_faults_add_frame(struct profile_faults *f, const struct trace_frame *frame);
/* Reports something missing or skipped; not counted. */
void profile_faults_lose(const struct profile_faults *f, int code, const char *what);
/* Reports "nr one" or "nr many", unless nr is 0; not counted. is_loss: as of profile_problem_fn. */
void profile_faults_count(const struct profile_faults *f, bool is_loss, uint64_t nr,
			  const char *one, const char *many);
/* Reports in one problem records that are invalid, and those of unknown events; not counted. */
void profile_faults_records(const struct profile_faults *f, uint64_t nr_invalid,
			    uint64_t nr_foreign);
/* Reports a file with a valid end that did not fit on the disk. */
void profile_faults_short(const struct profile_faults *f);
/* Call after the last frame. Reports how many faults were not listed, or that the end is missing.
 */
void profile_faults_end(const struct profile_faults *f, bool is_whole);

#endif
