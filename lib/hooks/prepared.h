/*
 * Whether the compiler has prepared a file for the agent of functions, and how. Files are hostile.
 *
 * Of a file, not of a function: a compiler also leaves functions as they are (the attribute
 * no_instrument_function). What was linked statically has no such calls that the agent could
 * answer.
 */
#ifndef HOOKS_PREPARED_H
#define HOOKS_PREPARED_H

#include <stdint.h>

struct elf_file;

enum hooks_prepared {
	HOOKS_PREPARED_CYG = 1 << 0,    /* -finstrument-functions */
	HOOKS_PREPARED_MCOUNT = 1 << 1, /* -pg */
	HOOKS_PREPARED_FENTRY = 1 << 2, /* -pg -mfentry */
	HOOKS_PREPARED_NOPS = 1 << 3,   /* -fpatchable-function-entry */
	HOOKS_PREPARED_XRAY = 1 << 4,   /* -fxray-instrument */
	/* Those that show ends of calls, too. */
	HOOKS_PREPARED_TIMES = HOOKS_PREPARED_CYG | HOOKS_PREPARED_XRAY,
};

/* A bit for each; 0: in no way. */
uint32_t hooks_prepared(const struct elf_file *f);
/* The compiler's options of the first bit, for people; "": of none. */
const char *hooks_prepared_by(uint32_t prepared);

#endif
