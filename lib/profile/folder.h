/*
 * The files of a session by their names: <base>.<iteration>.<trace>.cpuperf; segments of many
 * iterations, <base>.s<number>.<trace>.cpuperf; and the common one, <base>.common.cpuperf. Reads
 * the folder once, opens nothing in it (segments.h reads segments). Its work is bounded by the
 * files that exist, whatever the manifest claims. Knows nothing of the content of a file.
 */
#ifndef PROFILE_FOLDER_H
#define PROFILE_FOLDER_H

#include "profile/session.h"

#include <limits.h>

struct profile_file {
	uint32_t iteration, trace; /* both TRACE_COMMON: the common file, which is in no list */
	uint32_t segment;          /* its number plus 1; 0: the iteration has its own file */
	uint32_t head_bytes;       /* for a segment: as in trace_part */
	uint64_t from, to;         /* to 0: the whole file */
};

struct profile_folder {
	struct profile_file *file; /* owned; sorted; those within the session's numbers first */
	size_t nr;                 /* files within the session's numbers */
	size_t nr_all;             /* including the strays after them */
	size_t cap;
	uint64_t nr_iterations, nr_traces; /* the manifest's, or as found */
	uint64_t nr_listed;                /* iterations of the manifest; 0: it does not say */
	uint64_t nr_removed;               /* the manifest's: earlier iterations are strays */
	size_t max_rows;
};

/* The files in the order of the folder, a segment as one file. dirfd stays the caller's. 0, -EFBIG,
 * -ENOMEM, -errno; then nothing is owned. */
int profile_folder_scan(int dirfd, const char *base, const struct profile_manifest *m,
			struct profile_folder *out);
/* 0, -EFBIG or -ENOMEM. */
int profile_folder_add(struct profile_folder *f, const struct profile_file *file);
/* Sorts the files, those of the session first. Strays are segments that were not read, and
 * duplicates of numbers. 0 or -ENOMEM. */
int profile_folder_order(struct profile_folder *f);
void profile_folder_fini(struct profile_folder *f);
/* Of a trace that is not there: -ENODATA if it may not be written yet, else -ENOENT. The manifest's
 * last iteration may not be written. Later ones are written while the folder is read: of a file
 * that was made meanwhile it may have the name, and not those of files before. */
int profile_folder_gap_code(const struct profile_folder *f, uint64_t iteration);
/* Reports what is missing, in a bounded number of lines. */
void profile_folder_report(const struct profile_folder *f, profile_problem_fn *problem, void *arg);

/* A kind of strays: how many, the first and the last. */
struct profile_strays {
	size_t nr, first, last;
};
/* Reports them in one line, if there are any. is_own: they have the id of this session. */
void profile_folder_report_strays(const struct profile_folder *f, const char *base,
				  const struct profile_strays *s, bool is_own,
				  profile_problem_fn *problem, void *arg);
void profile_file_name(const char *base, const struct profile_file *file, char name[NAME_MAX + 1]);

#endif
