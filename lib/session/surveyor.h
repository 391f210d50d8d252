/*
 * The thread that adds to the common file what the kernel does not write into the rings: at the
 * start what runs already and the kernel's symbols (survey/), then, until the session ends, the
 * build-ids of files that are mapped.
 */
#ifndef SESSION_SURVEYOR_H
#define SESSION_SURVEYOR_H

#include "base/buf.h"
#include "session/mapped.h"
#include "survey/reader.h"
#include "survey/survey.h"

#include <pthread.h>
#include <stdatomic.h>

struct common;
struct notes;
struct plan;
struct trace_packer;

enum { SURVEYOR_NR_NOTES = 4 };

struct surveyor {
	const struct plan *plan; /* borrowed, like all above mapped */
	struct common *common;
	struct notes *notes;
	struct mapped mapped; /* the session's thread adds, ours asks */
	pthread_t thread;
	int nice; /* what the thread lowers itself to */
	bool is_running, is_reported;
	atomic_bool stop, is_surveyed;

	/* of the thread, until is_surveyed or its end */
	struct survey_result kernel, tasks;
	struct buf silent; /* what did not answer in the survey, in words */

	/* of the thread, until its end */
	struct survey_reader reader;
	struct survey_identify_question question;
	struct trace_packer *symbols; /* owned; NULL: no memory */
	unsigned nr_silent;
	struct buf late; /* what did not answer after the survey, in words */
};

/* 0 or -errno; then nothing is owned. */
int surveyor_init(struct surveyor *s, const struct plan *plan, struct common *common,
		  struct notes *notes);
void surveyor_fini(struct surveyor *s);

/* Starts the thread, which takes that niceness. 0 or -errno. */
int surveyor_start(struct surveyor *s, int nice);
/* The survey ends where it is; identifying goes on until surveyor_end. */
void surveyor_stop(struct surveyor *s);
/* Waits for the thread, and adds the notes that were not added. Nothing if it does not run. */
void surveyor_end(struct surveyor *s);

/* Adds the notes of the survey, once it is done. */
void surveyor_report(struct surveyor *s);
/* All that it has to note, after its end; each may be "". */
void surveyor_notes(const struct surveyor *s, const char *notes[SURVEYOR_NR_NOTES]);

#endif
