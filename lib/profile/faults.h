/*
 * Damage inside one file: reported place by place up to a limit, then counted. Knows nothing of the
 * content.
 */
#ifndef PROFILE_FAULTS_H
#define PROFILE_FAULTS_H

#include "profile/session.h"

struct trace_frame;

/* Set name, problem and arg; the rest is 0. */
struct profile_faults {
	const char *name; /* of the file; borrowed */
	profile_problem_fn *problem;
	void *arg;
	size_t nr; /* damaged places and invalid frames */
};

/* A damaged place, as described by trace_reader_next. */
void profile_faults_add(struct profile_faults *f, const struct err *e);
/* A frame that cannot be decoded. */
void profile_faults_add_frame(struct profile_faults *f, const struct trace_frame *frame);
/* Something that is not there, or left out: not counted. */
void profile_faults_lose(const struct profile_faults *f, int code, const char *what);
/* After the last frame: how many more there were, or that the end is missing. */
/* The file ends as it should, but there was no room for all of it. */
void profile_faults_short(const struct profile_faults *f);
void profile_faults_end(const struct profile_faults *f, bool is_whole);

#endif
