/*
 * A thread that syncs files during measuring, in rounds: each covers all that was written since the
 * last one. A round starts at most once per period, and at once if that has passed. If files grow
 * all the time, a new iteration does not wait either if the previous one waited. Nothing is dropped
 * when a round takes long: the next one does more. Independent of files.
 *
 * What a round syncs, in this order: the files written since the last round, their folder, the
 * manifest (written beside, synced, renamed, folder synced). So all that the manifest lists is on
 * the disk, and measuring waits for the disk only at the very end.
 */
#ifndef SESSION_SYNCER_H
#define SESSION_SYNCER_H

#include "base/err.h"
#include "session/retain.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The work of a round. */
struct sync_work {
	uint64_t num_iterations;       /* of the session, the one in progress included */
	uint64_t nr_recorded;          /* iterations whose files are written */
	uint64_t first, end;           /* files of these numbers: first <= number < end */
	struct retain_removed removed; /* to be removed */
	bool is_last;                  /* the session has ended */
};
/* No file at all. */
#define SYNC_NOTHING .first = UINT64_MAX, .end = 0

struct syncer {
	uint64_t period_ns;
	bool is_steady; /* files grow all the time: a round in each period */
	int (*round)(void *arg, const struct sync_work *work, struct err *e);
	void *arg;

	/* under the lock */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool is_running, is_stopping, has_work, is_urgent;
	uint64_t urgent_ns; /* when is_urgent was last set */
	struct sync_work work;
	uint64_t slowest_ns; /* of the rounds since the last query */
	struct err error;    /* the first error of a round, which ends the thread */
};

/* Starts the thread; period_ns, is_steady, round and arg are set. 0 or -errno. */
int syncer_start(struct syncer *s);
/* Adds to the queued work. 0, or the error of a failed round, with *e from that round. */
int syncer_post(struct syncer *s, const struct sync_work *work, struct err *e);
/* The time of the slowest round since the last call. */
uint64_t syncer_slowest_ns(struct syncer *s);
/* Does a last round if there is work, and joins the thread. Returns as syncer_post. Does nothing if
 * it does not run. */
int syncer_stop(struct syncer *s, struct err *e);

#endif
