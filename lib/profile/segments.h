/*
 * Lists the iterations in the segments of a session. Opens segments, but reads no iteration.
 */
#ifndef PROFILE_SEGMENTS_H
#define PROFILE_SEGMENTS_H

#include "profile/folder.h"

/* Replaces each segment of this session in f by its iterations; other files are unchanged. id: the
 * session's, 32 hexadecimal digits; "": that of the first segment, unless the first iteration has
 * its own file: then no segment belongs to this session. 0, -EFBIG or -ENOMEM; what cannot be read
 * is reported. */
int profile_segments_list(struct profile_folder *f, int dirfd, const char *base, const char *id,
			  profile_problem_fn *problem, void *arg);
/* True if segments of other sessions have names of this session. */
bool profile_segments_are_others(const struct profile_folder *f);

#endif
