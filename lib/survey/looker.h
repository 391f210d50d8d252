/*
 * A process that looks at what may never answer: at processes, whose locks others hold, and at the
 * files that they have mapped, which may be of a network or of a program (FUSE). Who waits for
 * such a file can not be interrupted, nor killed; a thread of ours would keep the session's locks
 * and descriptors for ever. So a child does it that has neither. It tells what it is about to look
 * at; if nothing comes for too long it is given up, and another one goes on behind that.
 *
 * A looker is used by one thread.
 */
#ifndef SURVEY_LOOKER_H
#define SURVEY_LOOKER_H

#include "base/child.h"
#include "survey/identify.h"
#include "survey/survey.h"

struct buf;
struct survey_looker_message;

enum {
	SURVEY_LOOKER_MAX_CHILDREN = 12,  /* that are given up, in all; the last ones are careful */
	SURVEY_LOOKER_PATIENCE_MS = 2000, /* without a word */
	SURVEY_LOOKER_RECORDS_BYTES = 1 << 16, /* told at once */
};

struct survey_looker_config {
	const struct root *root; /* of /proc */
	uint32_t max_tasks;      /* as struct survey_config's */
	unsigned patience_ms;    /* 0: SURVEY_LOOKER_PATIENCE_MS */
	int (*records)(const void *records, size_t len, void *arg); /* as struct survey_config's */
	void *arg;
	const atomic_bool *stop; /* NULL, or looked at often */
};

struct survey_looker {
	struct survey_looker_config config;
	struct child child;
	struct survey_at at; /* what it looks at */
	bool is_surveyed;    /* all, or as far as it will ever be */
	struct survey_at after;
	bool has_after;
	struct survey_key skipped[SURVEY_LOOKER_MAX_CHILDREN];
	size_t nr_skipped;
	unsigned nr_given_up;                              /* children */
	struct survey_at told[SURVEY_LOOKER_MAX_CHILDREN]; /* what did not answer */
	struct survey_looker_message *message;             /* owned; the last one */
};

/* 0 or -ENOMEM; then nothing is owned. */
int survey_looker_init(struct survey_looker *l, const struct survey_looker_config *config);
/* Ends the child, or leaves it to itself. */
void survey_looker_fini(struct survey_looker *l);

/* The tasks and mappings that there are. 0; -ECANCELED: stopped; -errno: no child can be had, or
 * what records returned; then *out is untouched. Its counts and note are of the last child. */
int survey_looker_survey(struct survey_looker *l, struct survey_result *out);
/* 0; -ETIMEDOUT: it does not answer, and is not to be asked again; -ECANCELED; -errno as above. */
int survey_looker_ask(struct survey_looker *l, const struct survey_identify_question *q,
		      struct survey_identify_answer *out);
/* Adds what did not answer, from that one on, in words; nothing if all did. How many in all. */
unsigned survey_looker_note(const struct survey_looker *l, unsigned from, struct buf *note);

#endif
