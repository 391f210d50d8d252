/*
 * The files that are mapped for execution during a session, whose build-ids the kernel's records do
 * not contain. The session's thread adds the files that it finds in the side band, without waiting;
 * another thread queries the build-id of each file (identify.h), again when the file is mapped
 * again, because it may have changed.
 */
#ifndef SESSION_MAPPED_H
#define SESSION_MAPPED_H

#include "base/dict.h"
#include "pmu/ring.h"
#include "survey/identify.h"

#include <pthread.h>

enum {
	MAPPED_MAX_FILES = 16384,
	MAPPED_MAX_TEXT_BYTES = 8 << 20,
};

struct mapped_file;

struct mapped {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct dict paths; /* const char * */
	struct dict files; /* struct mapped_file */
	/* the wanted files, as a heap: queue[0] is due first */
	uint32_t queue[MAPPED_MAX_FILES];
	uint32_t nr_queued;
	bool is_ending, is_full;
	uint32_t nr_foreign; /* files on file systems that may never answer */
};

int mapped_init(struct mapped *m); /* 0 or -errno; then nothing is owned */
void mapped_fini(struct mapped *m);

/* Adds the files of the complete records in the side band's ring, at … to. Only reads the ring: a
 * write to its records raises SIGBUS. */
void mapped_scan(struct mapped *m, const struct pmu_ring *ring, uint64_t at, uint64_t to);
/* After this, mapped_next does not wait, and all files are due. */
void mapped_end(struct mapped *m);

/* Waits for the next file to query. False: mapped_end was called, and no file is left. */
bool mapped_next(struct mapped *m, struct survey_identify_question *q, uint32_t *number);
bool mapped_is_ending(struct mapped *m);
/* Reports the result of a query. is_last: do not query the file again. */
void mapped_answered(struct mapped *m, uint32_t number, enum survey_identify_state state,
		     bool is_last);

#endif
