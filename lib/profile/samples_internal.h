/*
 * What samples.c asks of session.c. Private to them.
 */
#ifndef PROFILE_SAMPLES_INTERNAL_H
#define PROFILE_SAMPLES_INTERNAL_H

#include "profile/faults.h"
#include "profile/samples.h"

#include <limits.h>

struct trace_reader;

/* Opens file i, whose name goes to name; f says who is told if that is not to be. 1; 0: it is not
 * the session's, or cannot be read; -ENOMEM. Takes only what does not change: for any thread. */
int profile_session_open_file(const struct profile_session *s, size_t i,
			      const struct profile_faults *f, char name[NAME_MAX + 1],
			      struct trace_reader **out);

#endif
