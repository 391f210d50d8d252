/*
 * The names of a session's files: <base>.<iteration>.<trace>.cpuperf; for segments, which hold many
 * iterations, <base>.s<number>.<trace>.cpuperf; and <base>.common.cpuperf. base is the last part of
 * the session's prefix. Numbers have no leading zeros.
 */
#ifndef TRACE_NAME_H
#define TRACE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_name {
	uint32_t number; /* of the iteration, or of the segment */
	uint32_t trace;  /* TRACE_COMMON: the common file, whatever the other fields are */
	bool is_segment;
};

/* base may be a path: then so is the name. False if it does not fit into size bytes. */
bool trace_name_format(const char *base, const struct trace_name *n, char *out, size_t size);
/* False if it is not the name of a trace of that base. */
bool trace_name_parse(const char *base, const char *name, struct trace_name *out);

#endif
