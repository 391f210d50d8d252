/*
 * The thread that adds what the rings do not contain to the common file: at the start the kernel's
 * symbols and the existing tasks (survey/), those of the target first, and no others unless they
 * may have woken it; then, until the session ends, the build-ids of mapped files.
 *
 * The kernel's symbols (kallsyms) are stored packed, in parts of 128 KiB, each behind the range of
 * its addresses, so that a report unpacks only the parts that have an address which it asks for
 * (symbol/kernel.c).
 */
#ifndef SESSION_SURVEYOR_H
#define SESSION_SURVEYOR_H

#include "base/buf.h"
#include "session/mapped.h"
#include "survey/cmdline.h"
#include "survey/reader.h"
#include "survey/survey.h"

#include <pthread.h>
#include <stdatomic.h>

struct common;
struct notes;
struct plan;
struct trace_packer;
struct whole;

enum { SURVEYOR_NR_NOTES = 4 };

struct surveyor {
	const struct plan *plan; /* borrowed, like all above mapped */
	struct common *common;
	struct notes *notes;
	struct whole *whole;  /* gets what the survey finds; may be NULL */
	struct mapped mapped; /* the session's thread adds, this one, too, and queries */
	pthread_t thread;
	int nice; /* the thread's niceness */
	bool is_running, is_reported;
	atomic_bool stop, is_surveyed;

	/* owned by the thread until is_surveyed or its end */
	struct survey_result kernel, target, tasks;
	struct buf silent; /* text: what did not answer in the survey */

	/* owned by the thread until its end */
	struct survey_reader reader;
	bool has_reader;
	struct mapped_due due;
	struct trace_packer *symbols, *files; /* owned; NULL: no memory */
	unsigned nr_silent;
	struct buf late; /* text: what did not answer after the survey */
};

/* *s is zeroed, and large: much of it is never touched. 0 or -errno; then nothing is owned. */
int surveyor_init(struct surveyor *s, const struct plan *plan, struct common *common,
		  struct notes *notes);
void surveyor_fini(struct surveyor *s);

/* Stores the BPF programs that are loaded now, as those of a run are. Any thread. */
void surveyor_add_programs(struct surveyor *s);
/* Stores the threads and mappings of a process that runs, for sessions without the kernel's
 * records. Any thread. */
void surveyor_add_process(struct surveyor *s, uint32_t pid);
/* Stores the command line of the process that the session starts next, if it starts one. */
void surveyor_add_command(const struct surveyor *s);
/* Starts the thread with that niceness. 0 or -errno. */
int surveyor_start(struct surveyor *s, int nice);
/* Ends the survey where it is; identifying continues until surveyor_end. */
void surveyor_stop(struct surveyor *s);
/* Waits for the thread, and adds the remaining notes. Does nothing if it does not run. */
void surveyor_end(struct surveyor *s);

/* Whether the common file has all that the survey found; so it has where there is none. */
bool surveyor_is_done(const struct surveyor *s);
/* Adds the survey's notes once it is complete. */
void surveyor_report(struct surveyor *s);
/* All notes, after its end; each may be "". */
void surveyor_notes(const struct surveyor *s, const char *notes[SURVEYOR_NR_NOTES]);

#endif
