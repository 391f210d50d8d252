/*
 * A child process that reads what may block forever: processes whose locks others hold, and mapped
 * files on a network or FUSE file system. A blocked reader can be neither interrupted nor killed; a
 * thread of ours would hold the session's locks and descriptors until then. The child has neither.
 * It reports what it reads next; if it is silent for too long, it is abandoned, and a new child
 * continues behind that.
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
	SURVEY_LOOKER_MAX_CHILDREN = 12,       /* abandoned, in all; the later half is careful */
	SURVEY_LOOKER_PATIENCE_MS = 2000,      /* of silence */
	SURVEY_LOOKER_RECORDS_BYTES = 1 << 16, /* in one message */
};

struct survey_looker_config {
	const struct root *root; /* of /proc */
	uint32_t max_tasks;      /* as struct survey_config's */
	unsigned patience_ms;    /* 0: SURVEY_LOOKER_PATIENCE_MS */
	int (*records)(const void *records, size_t len, void *arg); /* as struct survey_config's */
	void *arg;
	const atomic_bool *stop; /* NULL, or checked often */
};

struct survey_looker {
	struct survey_looker_config config;
	struct child child;
	struct survey_at at; /* what it reads */
	bool is_surveyed;    /* the survey is over, complete or not */
	struct survey_at after;
	bool has_after;
	struct survey_key skipped[SURVEY_LOOKER_MAX_CHILDREN];
	size_t nr_skipped;
	unsigned nr_abandoned;                               /* children */
	struct survey_at silent[SURVEY_LOOKER_MAX_CHILDREN]; /* what did not answer */
	struct survey_looker_message *message;               /* owned; the last one */
};

/* 0 or -ENOMEM; then nothing is owned. */
int survey_looker_init(struct survey_looker *l, const struct survey_looker_config *config);
/* Ends the child, or abandons it. */
void survey_looker_fini(struct survey_looker *l);

/* Surveys tasks and mappings. 0; -ECANCELED: stopped; -errno: no child can be started, or what
 * records returned; then *out is untouched. Counts and note are those of the last child. */
int survey_looker_survey(struct survey_looker *l, struct survey_result *out);
/* Asks for one build-id. 0; -ETIMEDOUT: the file does not answer: do not ask for it again;
 * -ECANCELED; -errno as above. */
int survey_looker_ask(struct survey_looker *l, const struct survey_identify_question *q,
		      struct survey_identify_answer *out);
/* Appends in words what did not answer, from number from on; nothing if all did. Returns how many
 * did not answer in all. */
unsigned survey_looker_note(const struct survey_looker *l, unsigned from, struct buf *note);

#endif
