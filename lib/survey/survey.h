/*
 * A survey of what exists when a session begins: tasks, their executable mappings, BPF programs,
 * the kernel's symbols. It runs while samples are already taken. A record has the time at which its
 * process was read, and holds back to the start of the session; later changes come from the
 * side-band, with their own times. A survey makes few system calls: six per process, one per
 * executable mapping (before Linux 6.11 one read per page of text), one per mapped file (eight
 * where the kernel does not report its build-id). A file or a process may never answer: looker.h
 * runs the survey where that does no harm.
 *
 * Threads: survey_run may run on a thread of its own; the callbacks are called there.
 */
#ifndef SURVEY_SURVEY_H
#define SURVEY_SURVEY_H

#include "survey/ids.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct root;

enum {
	SURVEY_PIECE_BYTES = 1 << 20, /* passed to a callback at once, at most */
	SURVEY_MAX_TASKS = 1000000,   /* processes and threads */
	SURVEY_MAX_MAPPINGS = 65536,  /* of a process, executable */
	SURVEY_NOTE_BYTES = 400,
	SURVEY_NAME_BYTES = 16,
	SURVEY_PATH_SHOWN_BYTES = 256,
};

/* What the survey reads next, and may never return from: a process, whose lock another may hold, or
 * a file that it has mapped. */
struct survey_at {
	uint32_t pid;
	char name[SURVEY_NAME_BYTES]; /* of the process; "": not known yet */
	bool is_file;                 /* then: */
	uint64_t address;             /* of the mapping */
	struct survey_key key;
	char path[SURVEY_PATH_SHOWN_BYTES]; /* a longer path loses its beginning */
};

struct survey_config {
	const struct root *root; /* of /proc */
	bool wants_kernel;       /* symbols and BPF programs; surveyed first */
	bool wants_tasks;
	/* An earlier survey did not return from there: continue behind it, and skip these files.
	 * NULL: from the beginning. */
	const struct survey_at *after;
	const struct survey_key *skipped;
	size_t nr_skipped;
	bool is_careful;    /* names of tasks, no mappings: nothing that may block */
	uint32_t max_bytes; /* of records passed at once; 0: SURVEY_PIECE_BYTES */
	/* Called before each read that may block, after all earlier records were passed; NULL. */
	void (*at)(const struct survey_at *at, void *arg);
	uint32_t max_tasks; /* 0: SURVEY_MAX_TASKS */
	/* Whole records in the side-band's format (FORK, COMM, MMAP2, KSYMBOL; each ends with TID
	 * and TIME), valid during the call. Non-zero ends the survey. */
	int (*records)(const void *records, size_t len, void *arg);
	/* Whole lines; those of BPF programs only if the kernel cannot list the programs, so that
	 * there are no records of them. Non-zero ends the survey. */
	int (*kallsyms)(const char *text, size_t len, void *arg);
	/* Packs a piece of kallsyms for the cache (symbols.h); packed is called with each piece.
	 * NULL: no cache, each survey reads kallsyms. */
	bool (*pack)(const char *text, size_t len, const void **piece, size_t *piece_len,
		     void *arg);
	int (*packed)(const void *piece, size_t len, void *arg);
	void *arg;
	const atomic_bool *stop; /* NULL, or checked between processes and between reads */
};

struct survey_result {
	uint64_t nr_processes, nr_threads; /* threads: with the first of each process */
	uint64_t nr_mappings;
	uint64_t nr_build_ids;        /* files whose build-id was read */
	uint64_t nr_denied;           /* processes of which all or the mappings may not be read */
	bool has_kallsyms;            /* all of it was passed; else only its beginning */
	char note[SURVEY_NOTE_BYTES]; /* what is missing and why; "" if nothing */
};

/*
 * Runs one survey. Processes that end meanwhile are skipped; what cannot be read is skipped and
 * noted; a stopped survey returns what it has. 0; -errno if /proc cannot be read or memory is out;
 * or what a callback returned.
 */
int survey_run(const struct survey_config *c, struct survey_result *out);

#endif
