/*
 * The command line of a process. Reading it takes the lock of the process's memory, and may block
 * forever: call it in a process that can be abandoned (reader.h).
 */
#ifndef SURVEY_CMDLINE_H
#define SURVEY_CMDLINE_H

#include "trace/trace.h"

#include <stddef.h>
#include <stdint.h>

struct root;

struct survey_cmdline {
	uint32_t pid, flags;     /* enum trace_cmdline_flag */
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC, before and after the reading */
	uint32_t len;            /* 0: none was read */
	char text[TRACE_CMDLINE_BYTES];
};

/* The bytes that are in use. */
static inline size_t survey_cmdline_bytes(const struct survey_cmdline *c)
{
	return offsetof(struct survey_cmdline, text) + c->len;
}

/* With what is behind it up to the next one, where several are in one message. */
static inline size_t survey_cmdline_step(const struct survey_cmdline *c)
{
	return (survey_cmdline_bytes(c) + 7) / 8 * 8;
}

/* out->len is 0 if the process has ended, execs now, has no arguments, or may not be read. */
void survey_cmdline_read(const struct root *root, uint32_t pid, struct survey_cmdline *out);

#endif
