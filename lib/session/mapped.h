/*
 * The files that were mapped for execution during a session: their build-ids are wanted, and the
 * kernel's records do not tell them. The session's thread notes what it finds in the side-band, and
 * waits for nothing; another one asks for each file (identify.h), and again when it was mapped
 * again, for it may have changed in between.
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

/* Looks at whole records of the side-band's ring, at … to. Takes from mappings the mark of a
 * build-id that the kernel left there for another listener. */
void mapped_take(struct mapped *m, struct pmu_ring *ring, uint64_t at, uint64_t to);
/* From now on nobody waits, and what is due later is due at once. */
void mapped_end(struct mapped *m);

/* The next file to ask for, and its number; waits for one. False: it ends, and there is none. */
bool mapped_next(struct mapped *m, struct survey_identify_question *q, uint32_t *number);
bool mapped_is_ending(struct mapped *m);
/* What became of the question. is_last: the file is not to be asked for again. */
void mapped_answered(struct mapped *m, uint32_t number, enum survey_identify_state state,
		     bool is_last);

#endif
