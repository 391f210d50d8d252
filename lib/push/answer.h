/*
 * What a receiver's answer means. Answers are hostile.
 */
#ifndef PUSH_ANSWER_H
#define PUSH_ANSWER_H

#include "push/target.h"

#include <stddef.h>
#include <stdint.h>

enum push_outcome {
	PUSH_SENT,
	PUSH_REFUSED, /* would be refused again */
	PUSH_FAILED,  /* may succeed later */
	PUSH_NR_OUTCOMES
};

enum { PUSH_WHY_BYTES = 256, PUSH_TYPE_BYTES = 64 };

struct push_answer {
	long status;                /* of HTTP; 0: there was no answer, and why says why */
	uint64_t retry_after_s;     /* 0: not said */
	char type[PUSH_TYPE_BYTES]; /* Content-Type; "": none */
	const char *body;           /* borrowed */
	size_t body_bytes;
	char why[PUSH_WHY_BYTES]; /* safe to show */
};

/* Judges an answer; sets why unless it is PUSH_SENT. */
enum push_outcome push_answer_judge(enum push_protocol protocol, struct push_answer *a);

/* Reads ExportProfilesServiceResponse: how many profiles were rejected, and the message, which is
 * borrowed. -EINVAL: it is none. */
int push_answer_rejected(const void *data, size_t len, int64_t *rejected, const char **message,
			 size_t *message_bytes);

#endif
