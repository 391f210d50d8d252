/*
 * What was there before the session: tasks, what they have mapped for execution, BPF programs, the
 * symbols of the kernel. Read from /proc while samples are taken already: a record's time is when
 * its process was read, but it tells what was before, too, back to the start of the session; what
 * changed meanwhile is told by the side-band, with its own times. It costs CPU of its own, so it
 * makes few system calls: six for a process and one for each of its executable mappings (before
 * Linux 6.11 a read per page of text), one for a mapped file (eight, where the kernel does not tell
 * its build-id). What it looks at may never answer: see looker.h for who calls it.
 *
 * Threads: survey_run may run on one of its own; the callbacks are called there.
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
	SURVEY_PIECE_BYTES = 1 << 20, /* given to a callback at once, at most */
	SURVEY_MAX_TASKS = 1000000,   /* processes and threads */
	SURVEY_MAX_MAPPINGS = 65536,  /* of a process, executable */
	SURVEY_NOTE_BYTES = 400,
	SURVEY_NAME_BYTES = 16,
	SURVEY_PATH_SHOWN_BYTES = 256,
};

/* What is looked at, which may never answer: a process, whose lock another one may hold, or a file
 * that it has mapped. */
struct survey_at {
	uint32_t pid;
	char name[SURVEY_NAME_BYTES]; /* of the process; "": not yet known */
	bool is_file;                 /* then: */
	uint64_t address;             /* of the mapping */
	struct survey_key key;
	char path[SURVEY_PATH_SHOWN_BYTES]; /* what is longer loses its beginning */
};

struct survey_config {
	const struct root *root; /* of /proc */
	bool wants_kernel;       /* its code: some event samples the kernel. It comes first. */
	bool wants_tasks;
	/* An earlier survey did not come back from there: this one goes on behind it, and leaves
	 * out the files. NULL: from the beginning. */
	const struct survey_at *after;
	const struct survey_key *skipped;
	size_t nr_skipped;
	bool is_careful;    /* no mappings: names of tasks alone, for which nobody waits */
	uint32_t max_bytes; /* of records given at once; 0: SURVEY_PIECE_BYTES */
	/* Told before each such look, when all records of before are given; NULL. */
	void (*at)(const struct survey_at *at, void *arg);
	uint32_t max_tasks; /* 0: SURVEY_MAX_TASKS */
	/* Whole records as the side-band has them (FORK, COMM, MMAP2, KSYMBOL; each ends with TID
	 * and TIME): copied or written before it returns. Non-zero ends the survey. */
	int (*records)(const void *records, size_t len, void *arg);
	/* Whole lines; those of BPF programs only if the kernel does not tell these, so that there
	 * are no records of them. Non-zero ends the survey. */
	int (*kallsyms)(const char *text, size_t len, void *arg);
	/* NULL: they are read in each survey. Else they are kept for later ones, packed: see
	 * symbols.h, and each piece is given by packed. */
	bool (*pack)(const char *text, size_t len, const void **piece, size_t *piece_len,
		     void *arg);
	int (*packed)(const void *piece, size_t len, void *arg);
	void *arg;
	const atomic_bool *stop; /* NULL, or looked at between processes and between reads */
};

struct survey_result {
	uint64_t nr_processes, nr_threads; /* threads: with the first of each process */
	uint64_t nr_mappings;
	uint64_t nr_build_ids; /* files whose build-id was read */
	uint64_t nr_denied;    /* processes of which all or the mappings may not be read */
	bool has_kallsyms;     /* all of it was given; else what was given is its beginning */
	char note[SURVEY_NOTE_BYTES]; /* what is missing and why, in words; "" */
};

/*
 * One survey. A process that goes away is passed over; what cannot be read is left out, and the
 * note says so; one that is stopped gives what it has. 0; -errno if /proc cannot be read or without
 * memory; or what a callback returned.
 */
int survey_run(const struct survey_config *c, struct survey_result *out);

#endif
