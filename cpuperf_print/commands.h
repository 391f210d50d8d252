/*
 * How a process is called where many are counted: by its program, and by the file that it works on.
 */
#ifndef CPUPERF_PRINT_COMMANDS_H
#define CPUPERF_PRINT_COMMANDS_H

#include <stdbool.h>

enum { COMMANDS_LABEL_BYTES = 80 };

/* Of a command line, its arguments joined by blanks: "cc1plus parser.cc", or without the file. A
 * file is the first argument with the name of a source or script: no option, nothing that is
 * written (-o), no object or library. Long names are cut. */
void commands_label(const char *cmdline, bool with_file, char out[COMMANDS_LABEL_BYTES]);

#endif
