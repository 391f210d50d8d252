/*
 * The iterations in the segments of a session. Opens segments; knows nothing of the content of an
 * iteration.
 */
#ifndef PROFILE_SEGMENTS_H
#define PROFILE_SEGMENTS_H

#include "profile/folder.h"

/* Replaces each segment of this session in f by its iterations; the others stay as they are. id: of
 * the session, 32 hexadecimal digits; "": that of the first segment, unless the first iteration has
 * a file of its own: then no segment is of this session. 0, -EFBIG or -ENOMEM; what cannot be read
 * is reported. */
int profile_segments_list(struct profile_folder *f, int dirfd, const char *base, const char *id,
			  profile_problem_fn *problem, void *arg);
/* Some of the session's names are other sessions' segments. */
bool profile_segments_are_others(const struct profile_folder *f);

#endif
