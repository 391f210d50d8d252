/*
 * The child's side of reader.h, and their messages. Private to reader.c, reader_child.c and tests.
 */
#ifndef SURVEY_READER_CHILD_H
#define SURVEY_READER_CHILD_H

#include "base/buf.h"
#include "survey/cmdline.h"
#include "survey/files.h"
#include "survey/reader.h"

#include <stddef.h>

enum survey_reader_kind {
	SURVEY_READER_AT = 1,   /* about to read this */
	SURVEY_READER_RECORDS,  /* complete ones */
	SURVEY_READER_RESULT,   /* the survey succeeded */
	SURVEY_READER_FAILED,   /* the survey failed */
	SURVEY_READER_ANSWERS,  /* to the question for files: one behind the other */
	SURVEY_READER_CMDLINE,  /* of a process of the survey */
	SURVEY_READER_FILE,     /* a file that is to be stored; bytes follow */
	SURVEY_READER_BYTES,    /* of its parts, in order; none: it cannot be read further */
	SURVEY_READER_LOOKED,   /* at all files once more; the answer, without content */
	SURVEY_READER_CMDLINES, /* the answer, or a part of it: one behind the other */
};

enum survey_reader_asked {
	SURVEY_READER_ASK_FILES = 1, /* bytes: struct survey_identify_question, up to the path's
					end, each from a multiple of 8 on */
	SURVEY_READER_ASK_PIDS,      /* bytes: pids; their command lines are wanted */
	SURVEY_READER_ASK_LOOK,      /* at all files once more */
};

enum {
	SURVEY_READER_FILE_BYTES = sizeof(struct survey_identify_question),
	SURVEY_READER_ASKED_BYTES = SURVEY_READER_MAX_FILES * SURVEY_READER_FILE_BYTES,
};

/* What the parent sends. */
struct survey_reader_question {
	uint32_t kind; /* enum survey_reader_asked */
	uint32_t nr;   /* of files or pids */
	uint8_t bytes[SURVEY_READER_ASKED_BYTES];
};

/* With no parts: there is no room for it. */
struct survey_reader_file {
	struct elf_build_id id;
	struct elf_parts parts;
	struct survey_identify_question what;
};

/* What the parent has of files, which each new child begins with. */
struct survey_reader_files {
	struct survey_files stored;
	struct survey_reader_file arriving;
	uint64_t nr_left; /* bytes that have not come; 0: none is arriving */
	struct buf bytes;
};

struct survey_reader_message {
	uint32_t kind; /* enum survey_reader_kind */
	union {
		int32_t error;    /* of SURVEY_READER_FAILED: -errno */
		uint32_t nr_left; /* of SURVEY_READER_CMDLINES: processes that come later */
	};
	union {
		struct survey_at at;
		struct survey_result result;
		struct survey_identify_answer answers[SURVEY_READER_MAX_FILES];
		struct survey_cmdline cmdline;
		struct survey_reader_file file;
		uint8_t bytes[SURVEY_READER_RECORDS_BYTES];
		uint8_t records[SURVEY_READER_RECORDS_BYTES];
	};
};
/* Bytes before the union, and before a question's bytes. */
enum { SURVEY_READER_HEAD_BYTES = 8 };

/* The bytes of a question for a file, and with those up to the next one. */
static inline size_t survey_reader_file_bytes(size_t path_len)
{
	return offsetof(struct survey_identify_question, path) + path_len + 1;
}

static inline size_t survey_reader_file_step(size_t path_len)
{
	return (survey_reader_file_bytes(path_len) + 7) / 8 * 8;
}

/* Surveys unless reader->is_surveyed, then answers questions until the parent closes the socket.
 * reader: a struct survey_reader. */
void survey_reader_child(int fd, const void *reader);

#endif
