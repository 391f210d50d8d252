/*
 * Functions and lines of code that an interpreter interprets, at addresses of profile/codes.h.
 */
#ifndef SYMBOL_CODES_H
#define SYMBOL_CODES_H

#include "symbol/symbols.h"

struct profile_code;
struct profile_processes;
struct symbol_functions;

/* The function at such an address; never NULL, as symbols_user. */
const struct symbol_function *symbol_codes_function(struct symbol_functions *f,
						    const struct profile_processes *p,
						    uint64_t address);
/* A function of JavaScript that is no code with a number: the same one as that of such code with
 * that name, file and first line. */
const struct symbol_function *symbol_codes_script(struct symbol_functions *f, const char *name,
						  const char *file, uint32_t first_line);
/* Its function, file and line. */
void symbol_codes_line(struct symbol_functions *f, const struct profile_processes *p,
		       uint64_t address, struct symbol_line *out);
/* The line of an instruction by the code's table; 0: it has none. */
uint32_t symbol_codes_line_at(const struct profile_code *code, int32_t instruction);

#endif
