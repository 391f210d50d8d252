/*
 * What was there before the session: tasks, what they have mapped for execution, BPF programs, the
 * symbols of the kernel. Read from /proc while samples are taken already: a record's time is when
 * its process was read, but it tells what was before, too, back to the start of the session; what
 * changed meanwhile is told by the side-band, with its own times. It costs CPU of its own, so it
 * makes few system calls: six for a process and one for each of its executable mappings (before
 * Linux 6.11 a read per page of text), one for a mapped file (eight, where the kernel does not tell
 * its build-id).
 *
 * Threads: survey_run may run on one of its own; the callbacks are called there.
 */
#ifndef SESSION_SURVEY_H
#define SESSION_SURVEY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct root;

enum {
	SURVEY_PIECE_BYTES = 1 << 20, /* given to a callback at once, at most */
	SURVEY_MAX_TASKS = 1000000,   /* processes and threads */
	SURVEY_MAX_MAPPINGS = 65536,  /* of a process, executable */
};

struct survey_config {
	const struct root *root; /* of /proc */
	bool wants_kernel;       /* its code too: some event samples the kernel */
	uint32_t max_tasks;      /* 0: SURVEY_MAX_TASKS */
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
	char note[160];        /* what is missing and why, in words; "" */
};

/*
 * One survey. A process that goes away is passed over; what cannot be read is left out, and the
 * note says so; one that is stopped gives what it has. 0; -errno if /proc cannot be read or without
 * memory; or what a callback returned.
 */
int survey_run(const struct survey_config *c, struct survey_result *out);

#endif
