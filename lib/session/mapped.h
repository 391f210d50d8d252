/*
 * The files that are mapped for execution during a session, whose build-ids the kernel's records do
 * not contain, and the processes that exec, whose command lines they do not contain either. The
 * session's thread adds the files that it finds in the side band, without waiting; another thread
 * queries the build-id of each file (identify.h), again when the file is mapped again, because it
 * may have changed.
 *
 * A file is identified by device, inode, generation and the time of the inode's last change. The
 * common file stores each build-id with the interval in which it is valid. Command lines are read
 * of processes that still run then, and whose end the side band has not told. The kernel could put
 * build-ids into its own records (attr.build_id), but then it would also mark the records of all
 * other listeners, and some of them cannot read that.
 *
 * Of files that their path does not lead to when they are read for this, the common file stores,
 * once and packed outside of its lock, the parts that name functions and unwind stacks
 * (survey/files.h, elf/parts.h). The folders of the other files are watched (survey/places.h): one
 * that is deleted or replaced is read while a process still has it mapped.
 */
#ifndef SESSION_MAPPED_H
#define SESSION_MAPPED_H

#include "base/dict.h"
#include "pmu/ring.h"
#include "survey/reader.h"

#include <pthread.h>

enum {
	MAPPED_MAX_FILES = 16384,
	MAPPED_MAX_TEXT_BYTES = 8 << 20,
	MAPPED_MAX_EXECS = 1024, /* not yet queried; a power of 2 */
};

struct mapped_exec {
	uint32_t pid; /* 0: it has ended */
	uint64_t time_ns;
};

/* What is to be queried now. */
struct mapped_due {
	uint32_t pid[SURVEY_READER_MAX_PIDS]; /* of processes that exec'd */
	size_t nr_pids;
	struct survey_identify_question file[SURVEY_READER_MAX_FILES];
	uint32_t number[SURVEY_READER_MAX_FILES]; /* of these, for mapped_answered */
	size_t nr_files;
};

struct mapped_file;

/* A process has mapped a file for execution from that path, which is valid during the call. */
typedef void mapped_fn(void *arg, uint32_t pid, const char *path);

struct mapped {
	pthread_mutex_t lock;
	mapped_fn *on_mapping; /* NULL: nobody listens */
	void *arg;
	pthread_cond_t wake;
	struct dict paths; /* const char * */
	struct dict files; /* struct mapped_file */
	/* the wanted files, as a heap: queue[0] is due first */
	uint32_t queue[MAPPED_MAX_FILES];
	uint32_t nr_queued;
	struct mapped_exec execs[MAPPED_MAX_EXECS]; /* number i is at i % MAPPED_MAX_EXECS */
	uint32_t first_exec, next_exec;
	bool is_ending, is_full, has_news;
	uint32_t nr_foreign; /* files on file systems that may never answer */
};

int mapped_init(struct mapped *m); /* 0 or -errno; then nothing is owned */
void mapped_fini(struct mapped *m);

/* Has each mapping of a file passed, under the lock, so that after this nobody else is called.
 * NULL: nobody. */
void mapped_listen(struct mapped *m, mapped_fn *fn, void *arg);

/* Adds the files of the complete records in the side band's ring, at … to. Only reads the ring: a
 * write to its records raises SIGBUS. */
void mapped_scan(struct mapped *m, const struct pmu_ring *ring, uint64_t at, uint64_t to);
/* Ends the wait of mapped_next, if something was added since: after the rings of all CPUs, so that
 * the processes of all of them are queried at once. */
void mapped_wake(struct mapped *m);
/* Adds the files of records in memory, and wakes. */
void mapped_add(struct mapped *m, const void *records, size_t len);
/* After this, mapped_next does not wait, and all files are due. */
void mapped_end(struct mapped *m);

/* Waits for what to query next, for a second at most: then there may be nothing. Processes are to
 * be queried first: many end soon. Those beyond MAPPED_MAX_EXECS are skipped. False: mapped_end was
 * called, and nothing is left. */
bool mapped_next(struct mapped *m, struct mapped_due *due);
bool mapped_is_ending(struct mapped *m);
/* Reports the result of a query. */
void mapped_answered(struct mapped *m, uint32_t number, const struct survey_identify_answer *a);

#endif
