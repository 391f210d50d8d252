/*
 * A rank of a parallel program that Slurm or MPI started, each under a cpuperf of its own: its
 * session is a part of the job's folder (hosts/part.h).
 *
 * A table of the variables of Slurm and MPI says whether this is one of several; then only the
 * name of the folder differs, and one rank prints.
 */
#ifndef CPUPERF_RANK_H
#define CPUPERF_RANK_H

#include "base/err.h"
#include "hosts/part.h"

#include <limits.h>
#include <stdbool.h>

/* A variable of the command's environment: a cpuperf within it is no rank's. */
#define RANK_MEASURED "CPUPERF_RANK_IS_MEASURED"

struct rank {
	struct hosts_part part;
	uint64_t nr_ranks;     /* 0: unknown */
	char job[PATH_MAX];    /* the job's folder */
	char folder[PATH_MAX]; /* of this rank, in it */
};

/* Whether this process is one of several ranks, by its environment: then fills *r but for the
 * folders. */
bool rank_find(struct rank *r);
/* Makes the job's folder, unless another rank did. output: its name; NULL: by the job. 0 or -errno
 * with *e. */
int rank_make_folder(struct rank *r, const char *output, struct err *e);
/* Writes host.json: of a session that has begun, and of one that ended with an exit status of
 * program.h. Warns if that fails. */
void rank_begin(struct rank *r);
void rank_end(struct rank *r, int status);

#endif
