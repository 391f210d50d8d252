/*
 * A survey of what exists when a session begins: tasks, their executable mappings, BPF programs,
 * kernel symbols. Samples are taken meanwhile. A record has the time at which its process was read,
 * and applies from the start of the session; the side-band reports later changes. The survey makes
 * few system calls: nine per process, one per executable mapping (before Linux 6.11 one per page of
 * text), one per mapped file (eight if the kernel does not report its build-id). Files and
 * processes may never answer: reader.h runs the survey in a child process.
 *
 * Threads: callbacks are called on the thread of survey_run.
 */
#ifndef SURVEY_SURVEY_H
#define SURVEY_SURVEY_H

#include "survey/ids.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_build_id;
struct root;
struct survey_cmdline;
struct survey_identify_question;

enum {
	SURVEY_PIECE_BYTES = 1 << 20, /* passed to a callback at once */
	SURVEY_MAX_TASKS = 1000000,   /* processes and threads */
	SURVEY_MAX_MAPPINGS = 65536,  /* executable ones of a process */
	SURVEY_NOTE_BYTES = 400,
	SURVEY_NAME_BYTES = 16,
	SURVEY_PATH_SHOWN_BYTES = 256,
};

/* What the survey reads next and may block on: a process, whose lock may be held, or a mapped
 * file. */
struct survey_at {
	uint32_t pid;
	char name[SURVEY_NAME_BYTES]; /* of the process; "": not yet read */
	bool is_file;                 /* the rest is set only if so */
	uint64_t address;             /* of the mapping */
	struct survey_key key;
	char path[SURVEY_PATH_SHOWN_BYTES]; /* a longer path loses its start */
};

struct survey_config {
	const struct root *root; /* of /proc */
	bool wants_kernel;       /* symbols and BPF programs, before the tasks */
	bool wants_programs;     /* BPF programs alone */
	bool wants_tasks;
	/* Borrowed: only these processes, in ascending order. None: all. */
	const uint32_t *pids;
	size_t nr_pids;
	bool has_no_ids; /* nothing is asked of files, which may not answer */
	/* Where an earlier survey blocked: continue after it, skipping these files. NULL: start at
	 * the beginning. */
	const struct survey_at *after;
	const struct survey_key *skipped;
	size_t nr_skipped;
	bool is_careful;    /* read nothing that may block: names of tasks, no mappings */
	uint32_t max_bytes; /* of records, per call of records; 0: SURVEY_PIECE_BYTES */
	/* NULL, or called before each read that may block, after all earlier records were
	 * passed. */
	void (*at)(const struct survey_at *at, void *arg);
	/* NULL, or called for each mapped program and library, after at; id: its build-id, or
	 * empty. */
	void (*file)(const struct survey_identify_question *q, const struct elf_build_id *id,
		     void *arg);
	uint32_t max_tasks; /* 0: SURVEY_MAX_TASKS */
	/* Passes complete records in the side-band's format (FORK, COMM, MMAP2, KSYMBOL; each ends
	 * with TID and TIME), valid during the call. Non-zero ends the survey. */
	int (*records)(const void *records, size_t len, void *arg);
	/* NULL, or receives the command line of each process that has one. Non-zero ends the
	 * survey. */
	int (*cmdline)(const struct survey_cmdline *c, void *arg);
	/* Passes complete lines. Those of BPF programs are included only if there are no records of
	 * them. Non-zero ends the survey. */
	int (*kallsyms)(const char *text, size_t len, void *arg);
	/* Packs a piece of kallsyms for the cache (symbols.h); packed is called with each piece.
	 * NULL: no cache. */
	bool (*pack)(const char *text, size_t len, const void **piece, size_t *piece_len,
		     void *arg);
	int (*packed)(const void *piece, size_t len, void *arg);
	void *arg;
	const atomic_bool *stop; /* NULL, or polled between processes and between reads */
};

struct survey_result {
	uint64_t nr_processes, nr_threads; /* threads include the main threads */
	uint64_t nr_mappings;
	uint64_t nr_build_ids;        /* files with a build-id */
	uint64_t nr_denied;           /* processes that could not be read, or their mappings */
	bool has_kallsyms;            /* complete; else only the beginning was passed */
	char note[SURVEY_NOTE_BYTES]; /* what is missing and why; or "" */
};

/*
 * Runs one survey. Skips processes that end meanwhile; skips and notes what cannot be read; if
 * stopped, returns what it has. 0; -errno if /proc cannot be read or memory is out; or the result
 * of a callback.
 */
int survey_run(const struct survey_config *c, struct survey_result *out);

#endif
