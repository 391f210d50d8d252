/*
 * Which arguments of a function are recorded, and whether its result is: "handle(path:str,
 * size:u64)>int". Where an argument is follows from its place among the others, by the calling
 * convention of the machine: integers and pointers in registers, in their order, then on the stack.
 * "handle(...)" has what the file's debug information says.
 *
 * Arguments have names here, so that a signature is never taken for the parameters of a name in
 * C++: of ns::parse(int) these belong to the name.
 */
#ifndef FUNCTIONS_SIGNATURE_H
#define FUNCTIONS_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_parameters;
struct err;

enum {
	FUNCTIONS_MAX_VALUES = 8,
	FUNCTIONS_MAX_PARAMETERS = 24,
	FUNCTIONS_VALUE_NAME_BYTES = 40,
	FUNCTIONS_FLOATS_BYTES = 128,
};

/* What a call that is sampled when it ends has besides its values. */
#define FUNCTIONS_DURATION "duration_ns"

enum functions_kind {
	FUNCTIONS_UNSIGNED,
	FUNCTIONS_SIGNED,
	FUNCTIONS_POINTER,
	FUNCTIONS_TEXT,    /* a pointer to text that ends with a 0 */
	FUNCTIONS_SKIPPED, /* not recorded, as the user wants */
	FUNCTIONS_FLOAT,   /* in registers that programs of the kernel cannot read: not recorded */
};

enum functions_where { FUNCTIONS_REGISTER, FUNCTIONS_STACK, FUNCTIONS_RESULT };

struct functions_value {
	char name[FUNCTIONS_VALUE_NAME_BYTES]; /* "result" */
	enum functions_kind kind;
	uint32_t bytes; /* 1, 2, 4 or 8 */
	enum functions_where where;
	uint32_t
	    number; /* of the register, or of the word on the stack, among those of arguments */
};

struct functions_signature {
	struct functions_value value[FUNCTIONS_MAX_VALUES];
	size_t nr;
	bool is_of_file; /* "handle(...)": the file's debug information has them */
	/* Names of floating-point values, which are not recorded, each behind a space; as many as
	 * fit. */
	char floats[FUNCTIONS_FLOATS_BYTES];
};

/* Finds the signature at the end of a pattern. *len: of what is before it; without one that is all,
 * and out->nr is 0. 0; -EINVAL with *e. */
int functions_signature_parse(const char *text, size_t *len, struct functions_signature *out,
			      struct err *e);
/* Of what debug information says, up to the first argument whose place is not known. NULL, or why
 * nothing is recorded; constant. */
const char *functions_signature_make(const struct elf_parameters *p,
				     struct functions_signature *out);

/* Why values of these are not recorded: follows "is floating-point: ". The kernel stores the
 * registers of a task when it leaves the CPU, and a breakpoint is no such time: of 100,000 calls
 * with another value each, what was stored then was right 5 times. */
#define FUNCTIONS_NO_FLOATS                                                                        \
	"such values are in registers that programs of the kernel cannot read, and the agent in "  \
	"programs records none"
/* The signature has a floating-point value of this name, or result. */
bool functions_signature_has_float(const struct functions_signature *s, const char *name,
				   size_t len);

#endif
