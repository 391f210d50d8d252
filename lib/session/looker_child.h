/*
 * The child's side of looker.h, and what both say to one another. Private to them and their tests.
 */
#ifndef SESSION_LOOKER_CHILD_H
#define SESSION_LOOKER_CHILD_H

#include "session/looker.h"

enum looker_kind {
	LOOKER_AT = 1,  /* about to look there */
	LOOKER_RECORDS, /* whole ones */
	LOOKER_RESULT,  /* the survey ends so */
	LOOKER_FAILED,  /* or so */
	LOOKER_ANSWER,
};

struct looker_message {
	uint32_t kind; /* enum looker_kind */
	int32_t error; /* of LOOKER_FAILED: -errno */
	union {
		struct survey_at at;
		struct survey_result result;
		struct identify_answer answer;
		uint8_t records[LOOKER_RECORDS_BYTES];
	};
};
/* Before the union. */
enum { LOOKER_HEAD_BYTES = 8 };

/* Makes the process harmless, looks, and answers until the other side has gone. Does not return. */
_Noreturn void looker_child(const struct looker *l, int fd, pid_t parent);

#endif
