/*
 * The files that are mapped for execution during a session. The kernel's records lack their
 * build-ids. The session's thread adds the files that it finds in the side-band, without waiting;
 * another thread asks for the build-id of each file (identify.h), and asks again when the file is
 * mapped again, because it may have changed.
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
	/* the files that are wanted, as a heap: the one that is due first is queue[0] */
	uint32_t queue[MAPPED_MAX_FILES];
	uint32_t nr_queued;
	bool is_ending, is_full;
	uint32_t nr_foreign; /* files on file systems that may never answer */
};

int mapped_init(struct mapped *m); /* 0 or -errno; then nothing is owned */
void mapped_fini(struct mapped *m);

/* Adds the files of the whole records in the side-band's ring, at … to. Only reads the ring: a
 * write to its records raises SIGBUS. */
void mapped_scan(struct mapped *m, const struct pmu_ring *ring, uint64_t at, uint64_t to);
/* From now on mapped_next does not wait, and all files are due. */
void mapped_end(struct mapped *m);

/* The next file to ask for, and its number; waits for one. False: it ends, and there is none. */
bool mapped_next(struct mapped *m, struct survey_identify_question *q, uint32_t *number);
bool mapped_is_ending(struct mapped *m);
/* What became of the question. is_last: the file is not to be asked for again. */
void mapped_answered(struct mapped *m, uint32_t number, enum survey_identify_state state,
		     bool is_last);

#endif
