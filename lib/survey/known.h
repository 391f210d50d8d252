/*
 * Files that were identified, and are mapped again: on a machine that compiles, the same ones many
 * times a second. What their path leads to is compared, and nothing of it is read. Not for two
 * threads; like survey_identify, it may block forever.
 */
#ifndef SURVEY_KNOWN_H
#define SURVEY_KNOWN_H

#include "base/dict.h"
#include "survey/identify.h"

enum { SURVEY_KNOWN_MAX = 8192 }; /* then all are forgotten */

struct survey_known {
	struct dict files; /* struct file */
};

void survey_known_init(struct survey_known *k);
void survey_known_fini(struct survey_known *k);

/* As survey_identify. True: the path leads to the file, which is as it was the last time. */
bool survey_known_identify(struct survey_known *k, struct survey_mounts *mounts,
			   const struct survey_identify_question *q,
			   struct survey_identify_answer *out);

#endif
