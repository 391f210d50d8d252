/*
 * Which of the functions that a pattern means are measured: by name, by size, by what their code
 * is. Code is read as it is in the file, one instruction after the other; what is not understood
 * ends the reading of a function, and is no reason to omit it.
 */
#ifndef FUNCTIONS_CRITERIA_H
#define FUNCTIONS_CRITERIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct functions_list;
struct functions_place;

/* Patterns, as functions/pattern.h has them; borrowed. nr 0: none. */
struct functions_patterns {
	const char *const *item;
	size_t nr;
};

/* All of them have to hold. Zeroes: any function. */
struct functions_criteria {
	struct functions_patterns include, exclude; /* one of them matches; none does */
	uint64_t min_instructions, min_bytes;
	bool has_loop; /* it jumps back within itself */
	/* It calls a function that one of these means, by at most so many direct calls and jumps
	 * within its file; depth 0: by any number. */
	struct functions_patterns callers_of;
	uint64_t depth;
};

bool functions_criteria_are_set(const struct functions_criteria *c);
/* The number of the first pattern that is none, of include, exclude and callers_of; else nr. */
size_t functions_patterns_check(const struct functions_patterns *p);

/* Sets the reason of each place of the list's file that is not measured (refused). 0 or -ENOMEM. */
int functions_criteria_apply(const struct functions_criteria *c, const struct functions_list *l,
			     struct functions_place *places, size_t nr);

#endif
