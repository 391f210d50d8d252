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

/* Appends the text to the output, or writes it there. 0 or -errno with *e. */
int row_print(const struct row_run *r, const struct registry_row *row, struct err *e);

#endif
