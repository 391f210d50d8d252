/*
 * What the segments of a session hold: which iterations, and where. Opens them; knows nothing of
 * what is in an iteration.
 */
#ifndef PROFILE_SEGMENTS_H
#define PROFILE_SEGMENTS_H

#include "profile/folder.h"

/* Puts, in place of each segment of this session that f lists, the iterations that it holds; the
 * others stay as they are. id: of the session, 32 hexadecimal digits; "": it is the one of the
 * first segment, unless the first iteration has a file of its own: then none is of this session. 0,
 * -EFBIG or -ENOMEM; what cannot be read is reported. */
int profile_segments_list(struct profile_folder *f, int dirfd, const char *base, const char *id,
			  profile_problem_fn *problem, void *arg);
/* Some of the session's names are other sessions' segments. */
bool profile_segments_are_others(const struct profile_folder *f);

#endif
