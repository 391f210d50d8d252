/*
 * The child's side of looker.h, and what both say to one another. Private to them and their tests.
 */
#ifndef SURVEY_LOOKER_CHILD_H
#define SURVEY_LOOKER_CHILD_H

#include "survey/looker.h"

enum survey_looker_kind {
	SURVEY_LOOKER_AT = 1,  /* about to look there */
	SURVEY_LOOKER_RECORDS, /* whole ones */
	SURVEY_LOOKER_RESULT,  /* the survey ends so */
	SURVEY_LOOKER_FAILED,  /* or so */
	SURVEY_LOOKER_ANSWER,
};

struct survey_looker_message {
	uint32_t kind; /* enum survey_looker_kind */
	int32_t error; /* of SURVEY_LOOKER_FAILED: -errno */
	union {
		struct survey_at at;
		struct survey_result result;
		struct survey_identify_answer answer;
		uint8_t records[SURVEY_LOOKER_RECORDS_BYTES];
	};
};
/* Before the union. */
enum { SURVEY_LOOKER_HEAD_BYTES = 8 };

/* Looks, and answers until the other side has gone. looker: struct survey_looker. */
void survey_looker_child(int fd, const void *looker);

#endif
