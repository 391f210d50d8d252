/*
 * The files of a session, opened for those who read frames: iterator.c, samples.c, merged.c,
 * processes.c. Private to them.
 */
#ifndef PROFILE_SESSION_INTERNAL_H
#define PROFILE_SESSION_INTERNAL_H

#include "profile/faults.h"
#include "profile/session.h"

#include <limits.h>

struct trace_reader;

/* Opens file i, whose name goes to name; f says who is told if that is not to be. 1; 0: it is not
 * the session's, or cannot be read; -ENOMEM. Takes only what does not change: for any thread. */
int profile_session_open_file(const struct profile_session *s, size_t i,
			      const struct profile_faults *f, char name[NAME_MAX + 1],
			      struct trace_reader **out);
/* Reports what is wrong with a file of that name (borrowed) to whom the session reports. */
struct profile_faults profile_session_faults(const struct profile_session *s, const char *name);
/* The common file, and who is told of what is wrong there (borrowed). As above. */
int profile_session_open_common(const struct profile_session *s, struct profile_faults *faults,
				struct trace_reader **out);
/* For profile_records_open of a trace. */
uint64_t profile_session_window_ns(const struct profile_session *s);

#endif
