/*
 * A child process that reads what may block forever: processes whose locks are held, and mapped
 * files on network or FUSE file systems. A blocked reader can be neither interrupted nor killed,
 * and a thread would hold the session's locks and descriptors until then; the child has neither. It
 * reports what it is about to read: in the survey by messages, of a question by a number in memory
 * that both have, which wakes nobody. If that is the same for too long it is abandoned, and a new
 * child continues after that. While it has a CPU, or waits for one, ten times as long is not too
 * long.
 *
 * Not thread-safe.
 *
 * The time is two seconds.
 */
#ifndef SURVEY_READER_H
#define SURVEY_READER_H

#include "base/child.h"
#include "survey/identify.h"
#include "survey/survey.h"

struct buf;
struct survey_reader_files;
struct survey_reader_message;
struct survey_reader_question;
struct trace_file_parts;

enum {
	SURVEY_READER_MAX_CHILDREN =
	    12, /* abandoned ones; in the later half, surveys skip mappings */
	SURVEY_READER_PATIENCE_MS = 2000,      /* the longest silence */
	SURVEY_READER_RECORDS_BYTES = 1 << 16, /* per message */
	SURVEY_READER_MAX_PIDS = 256,          /* asked for at once */
	SURVEY_READER_MAX_FILES = 16,          /* the same */
};

struct survey_reader_config {
	const struct root *root; /* of /proc */
	bool has_no_tasks;       /* only files and command lines will be asked for */
	uint32_t max_tasks;      /* as struct survey_config's, like these: */
	const uint32_t *pids;
	size_t nr_pids;
	bool has_no_ids;
	unsigned patience_ms; /* 0: SURVEY_READER_PATIENCE_MS */
	uint64_t until_ns;    /* 0, or CLOCK_MONOTONIC, after which all are silent */
	int (*records)(const void *records, size_t len, void *arg); /* as struct survey_config's */
	/* The same, of several processes at once; may be NULL. */
	int (*cmdlines)(const struct survey_cmdline *const *list, size_t nr, void *arg);
	/* NULL, or receives the parts of each file that is to be stored (files.h), borrowed. As
	 * records. */
	int (*file)(const struct trace_file_parts *parts, void *arg);
	void *arg;
	const atomic_bool *stop; /* NULL, or polled */
};

struct survey_reader {
	struct survey_reader_config config;
	struct child child;
	struct survey_at at; /* what the child is reading */
	bool is_surveyed;    /* the survey is over, complete or not */
	struct survey_at after;
	bool has_after;
	struct survey_key skipped[SURVEY_READER_MAX_CHILDREN];
	size_t nr_skipped;
	unsigned nr_abandoned;                               /* child processes */
	struct survey_at silent[SURVEY_READER_MAX_CHILDREN]; /* what did not answer */
	struct survey_reader_message *message;               /* owned; the last one received */
	struct survey_reader_question *question;             /* owned; the last one asked */
	struct survey_reader_files *files;                   /* owned */
	/* owned, shared with the child: of the question, how many files or processes it has begun
	 * to read */
	atomic_uint *nr_begun;
};

/* 0 or -ENOMEM, with nothing owned. */
int survey_reader_init(struct survey_reader *r, const struct survey_reader_config *config);
/* Kills the child: nothing more is asked, and survey_reader_fini, which must follow, waits less. */
void survey_reader_stop(const struct survey_reader *r);
/* Ends or abandons the child. */
void survey_reader_fini(struct survey_reader *r);

/* Surveys tasks and mappings. 0; -ECANCELED: stopped; -errno: no child could be started, or the
 * result of records; then *out is untouched. Counts and note are those of the last child. */
int survey_reader_survey(struct survey_reader *r, struct survey_result *out);
/* Asks for the build-ids of up to SURVEY_READER_MAX_FILES files, in one message. Those that do not
 * answer, or were not asked for because of an error, are SURVEY_IDENTIFY_SILENT. 0; -ECANCELED or
 * -errno as above; -EBUSY: too many did not answer; -ETIMEDOUT: config.until_ns is over. */
int survey_reader_ask(struct survey_reader *r, const struct survey_identify_question *q, size_t nr,
		      struct survey_identify_answer *out);
/* Asks for the command lines of up to SURVEY_READER_MAX_PIDS processes, in one message, which
 * config.cmdlines receives; of those that have none, or do not answer, nothing. As
 * survey_reader_ask. */
int survey_reader_ask_cmdlines(struct survey_reader *r, const uint32_t *pid, size_t nr);
/* Receives files that were deleted or replaced since; does not wait. Then, with is_last, looks at
 * all once more. As survey_reader_ask; -ETIMEDOUT also if they do not answer. */
int survey_reader_look(struct survey_reader *r, bool is_last);
/* Appends a description of what did not answer, from number from on; nothing if all did. Returns
 * the number of all that did not answer. */
unsigned survey_reader_note(const struct survey_reader *r, unsigned from, struct buf *note);
/* How many files were not stored for lack of room. */
unsigned survey_reader_left_out(const struct survey_reader *r);

#endif
