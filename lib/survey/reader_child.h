/*
 * The child's side of reader.h, and their messages. Private to reader.c, reader_child.c and tests.
 */
#ifndef SURVEY_READER_CHILD_H
#define SURVEY_READER_CHILD_H

#include "survey/cmdline.h"
#include "survey/reader.h"

enum survey_reader_kind {
	SURVEY_READER_AT = 1,  /* about to read this */
	SURVEY_READER_RECORDS, /* complete ones */
	SURVEY_READER_RESULT,  /* the survey succeeded */
	SURVEY_READER_FAILED,  /* the survey failed */
	SURVEY_READER_ANSWER,
	SURVEY_READER_CMDLINE, /* of a process of the survey, or the answer */
};

struct survey_reader_message {
	uint32_t kind; /* enum survey_reader_kind */
	int32_t error; /* of SURVEY_READER_FAILED: -errno */
	union {
		struct survey_at at;
		struct survey_result result;
		struct survey_identify_answer answer;
		struct survey_cmdline cmdline;
		uint8_t records[SURVEY_READER_RECORDS_BYTES];
	};
};
/* Bytes before the union. */
enum { SURVEY_READER_HEAD_BYTES = 8 };

/* Surveys unless reader->is_surveyed, then answers questions until the parent closes the socket.
 * reader: a struct survey_reader. */
void survey_reader_child(int fd, const void *reader);

#endif
