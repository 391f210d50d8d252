/*
 * Code that interpreters ran in a session: its names and its lines.
 *
 * Among the addresses of a stack, a frame of such code is an address that no program has: it says
 * which code it is, and how far that had come. So whoever names addresses names it, too.
 */
#ifndef PROFILE_CODES_H
#define PROFILE_CODES_H

#include "trace/trace.h"

struct profile_processes;

struct profile_code {
	uint64_t number; /* trace_code.number */
	uint32_t pid, language, first_line, table;
	uint32_t owner;          /* trace_code.owner */
	const char *name, *file; /* safe to show */
	const uint8_t *lines;
	uint32_t lines_bytes;
};

/* Between the addresses of programs and those of the kernel. */
#define PROFILE_CODE_ADDRESSES (UINT64_C(1) << 62)
static inline bool profile_is_code(uint64_t address)
{
	return address >> 56 == PROFILE_CODE_ADDRESSES >> 56;
}

/* The address of a frame: the code of that number, known or not, at an instruction (-1: before the
 * first). language: enum trace_language. */
uint64_t profile_code_address(const struct profile_processes *p, uint32_t language, uint64_t number,
			      int32_t instruction);
/* The code at such an address; NULL: it is not known. */
const struct profile_code *profile_code_at(const struct profile_processes *p, uint64_t address);
/* The language of code that is not known. */
static inline uint32_t profile_code_language(uint64_t address)
{
	return (uint32_t)address;
}
static inline int32_t profile_code_instruction(uint64_t address)
{
	return (int32_t)((uint32_t)address - 1);
}

/* Of the table of codes. Zeroes are an empty one. */
struct profile_codes {
	struct profile_code *item; /* owned; by number once they are sorted */
	size_t nr, room;
	uint64_t bytes; /* of texts and lines, each owned */
};
/* Copies it. 0; -EFBIG: skipped; -ENOMEM. */
int profile_codes_add(struct profile_codes *c, const struct trace_code *code);
/* After the last one was added. */
void profile_codes_sort(struct profile_codes *c);
void profile_codes_fini(struct profile_codes *c);

#endif
