/*
 * How often functions are called, by which one of them may be chosen as a progress point: which
 * ones are too dear to be counted any longer, and in which order they come into question.
 * Arithmetic alone.
 */
#ifndef CAUSAL_CALLED_H
#define CAUSAL_CALLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct causal_called {
	const char *name; /* borrowed */
	uint64_t calls;
	double rate;      /* of these, in a second */
	uint64_t cost_ns; /* of counting a call */
	bool is_out;      /* it is not counted any more */
};

/* Sets is_out of the dearest ones, until counting the others has cost at most that much. Returns
 * how many that are. */
size_t causal_called_leave_out(struct causal_called *f, size_t nr, uint64_t most_ns);
/* Sorts them: those that are called most first; then those that are out, the cheapest first; last
 * those whose rate is less than the least. Returns how many are before these. */
size_t causal_called_sort(struct causal_called *f, size_t nr, double least);

#endif
