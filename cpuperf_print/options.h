/*
 * The command line of cpuperf_print: rows of a table, read into a plain structure.
 * Knows nothing of sessions.
 */
#ifndef CPUPERF_PRINT_OPTIONS_H
#define CPUPERF_PRINT_OPTIONS_H

#include "base/opt_std.h"

/* Strings point into argv. */
struct options {
	struct opt_std std;
	const char *session, *output_format, *output_file;
};

extern const struct opt_table cpuperf_print_options;

#endif
