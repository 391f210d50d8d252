/*
 * Prints one report or export of the inputs.
 */
#ifndef CPUPERF_PRINT_ROW_H
#define CPUPERF_PRINT_ROW_H

#include "inputs.h"
#include "output.h"
#include "selection.h"

struct registry_row;

/* Borrowed. */
struct row_run {
	struct inputs *inputs;
	const struct selection *selection;
	struct output *output;
	bool is_default, is_brief; /* as of struct job */
};

/* If all inputs sample waits, and the selection names no columns: each state has rows of its own in
 * a comparison, or after a brief summary, and is the first level of formats that say so. row: what
 * alone is printed; NULL: several are. */
void row_choose_states(struct selection *s, const struct inputs *in, const struct registry_row *row,
		       const struct registry_row *format, bool is_brief);

/* If what the selection names is in no session, and what is printed is empty. */
void row_warn_of_iterations(const struct selection *s, const struct inputs *in);

/* Appends the text to the output, or writes it there. 0 or -errno with *e. */
int row_print(const struct row_run *r, const struct registry_row *row, struct err *e);

#endif
