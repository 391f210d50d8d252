/*
 * Every record of a session, a line or a row each, in the order of time; with a sample who called,
 * by addresses that lie in the calls (stack.h). Knows nothing of where names come from: they are
 * asked for.
 */
#ifndef REPORT_RECORDS_H
#define REPORT_RECORDS_H

#include "profile/merged.h"
#include "profile/processes.h"

struct buf;
struct symbol_function;
struct unwinder;

/* What names are asked of; each as profile_lookup_… and symbols_… have it (names.h asks them). What
 * an address was called is remembered for the epoch of the process; of the kernel, until a record
 * says that a symbol came or went. */
struct report_names {
	void (*task)(void *arg, uint32_t pid, uint32_t tid, uint64_t time_ns,
		     struct profile_task *out);
	uint32_t (*epoch)(void *arg, const struct profile_process *process, uint64_t time_ns);
	const struct symbol_function *(*user)(void *arg, const struct profile_process *process,
					      uint64_t address, uint64_t time_ns);
	const struct symbol_function *(*kernel)(void *arg, uint64_t address, uint64_t time_ns);
	void *arg;
};

/* TEXT: a line each, and one for each caller. The others: a row each; what it says of one kind of
 * records alone is empty in those of other kinds, in NDJSON not there. */
enum report_records_form { REPORT_RECORDS_TEXT, REPORT_RECORDS_CSV, REPORT_RECORDS_NDJSON };

struct report_records_config {
	struct profile_session *session;
	const struct report_names *names;
	struct unwinder *unwinder; /* NULL: stack bytes are passed by */
	profile_problem_fn *problem;
	void *problem_arg;
	/* NULL: all. Else whether a record is shown; those that say who ran are seen all the same.
	 */
	bool (*is_shown)(void *arg, const struct profile_merged_item *item,
			 const struct profile_task *task);
	enum report_records_form form;
	const char *session_shown; /* CSV, NDJSON: "session" of each row; NULL: none */
	bool has_header;           /* CSV: it was written before */
	uint64_t max_shown;        /* after so many the rest is not read; 0: all */
	/* Called when much stands in out, which it empties, and not at the end. 0 or -errno. */
	struct buf *out;
	int (*flush)(void *arg);
	void *arg; /* of is_shown and flush */
};

/* 0; -ENOMEM; what flush says. *nr_records: how many were read, shown or not. */
int report_records(const struct report_records_config *config, uint64_t *nr_records);

#endif
