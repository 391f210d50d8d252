/*
 * Opens the files of a session for the readers of frames: iterator.c, samples.c, merged.c,
 * processes.c. Private to them.
 */
#ifndef PROFILE_SESSION_INTERNAL_H
#define PROFILE_SESSION_INTERNAL_H

#include "profile/faults.h"
#include "profile/session.h"

#include <limits.h>

struct profile_load;
struct profile_records;
struct profile_times;
struct trace_reader;

/* Opens file i and copies its name to name; reports a failure to f. 1; 0: not the session's, or
 * unreadable; -ENOMEM. Thread-safe: reads only constant data. */
int profile_session_open_file(const struct profile_session *s, size_t i,
			      const struct profile_faults *f, char name[NAME_MAX + 1],
			      struct trace_reader **out);
/* For problems of the file of that name (borrowed): reported to the session's function. */
struct profile_faults profile_session_faults(const struct profile_session *s, const char *name);
/* Opens the common file; f (borrowed) receives its problems. Returns as above. */
int profile_session_open_common(const struct profile_session *s, struct profile_faults *faults,
				struct trace_reader **out);
/* Opens the records of file i, whose other frames were loaded; problems go to the same function.
 * Returns as above. */
int profile_session_records(const struct profile_session *s, size_t i, const struct profile_load *l,
			    struct profile_records **out);
/* Where the times of file i are kept (NULL: not known yet). NULL: they are not kept. */
struct profile_times **profile_session_times(const struct profile_session *s, size_t i);

#endif
