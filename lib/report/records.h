/*
 * Every record of a session, one line or row each, in order of time; samples with their callers and
 * the recorded addresses. Names come from callbacks.
 */
#ifndef REPORT_RECORDS_H
#define REPORT_RECORDS_H

#include "profile/merged.h"
#include "profile/processes.h"

struct buf;
struct symbol_function;
struct unwinder;

/* Look-ups with the contracts of profile_lookup_… and symbols_… (names.h calls those). Results are
 * cached for the epoch of the process; for the kernel, until a record adds or removes a symbol. */
struct report_names {
	void (*task)(void *arg, uint32_t pid, uint32_t tid, uint64_t time_ns,
		     struct profile_task *out);
	uint32_t (*epoch)(void *arg, const struct profile_process *process, uint64_t time_ns);
	const struct symbol_function *(*user)(void *arg, const struct profile_process *process,
					      uint64_t address, uint64_t time_ns);
	const struct symbol_function *(*kernel)(void *arg, uint64_t address, uint64_t time_ns);
	void *arg;
};

/* TEXT: one line, and one for each caller. CSV, NDJSON: one row; fields that a kind of record does
 * not have are empty, or absent in NDJSON. */
enum report_records_form { REPORT_RECORDS_TEXT, REPORT_RECORDS_CSV, REPORT_RECORDS_NDJSON };

struct report_records_config {
	struct profile_session *session;
	const struct report_names *names;
	struct unwinder *unwinder; /* NULL: stack bytes are ignored */
	profile_problem_fn *problem;
	void *problem_arg;
	/* Whether a record is shown; NULL: all. Records of tasks are always read. */
	bool (*is_shown)(void *arg, const struct profile_merged_item *item,
			 const struct profile_task *task);
	enum report_records_form form;
	const char *session_shown; /* CSV, NDJSON: "session" of each row; NULL: none */
	bool has_header;           /* CSV: the header is already written */
	uint64_t max_shown;        /* stop reading after this many; 0: never */
	struct buf *out;
	int (*flush)(void *arg); /* empties out when it is large, but not at the end; 0 or -errno */
	void *arg;               /* for is_shown and flush */
};

/* 0; -ENOMEM; the result of flush. *nr_records: how many were read, shown or not. */
int report_records(const struct report_records_config *config, uint64_t *nr_records);

#endif
