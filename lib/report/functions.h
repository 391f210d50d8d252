/*
 * Functions as they are reported: names merged, hidden and wanted by rules of the user. Each rule
 * is applied once to each function, not to each sample. May be asked by several threads. Knows
 * nothing of samples.
 */
#ifndef REPORT_FUNCTIONS_H
#define REPORT_FUNCTIONS_H

#include "report/entry.h"

struct report_functions;
struct report_rules;
struct symbol_function;

/* rules: borrowed. NULL without memory. */
struct report_functions *report_functions_new(const struct report_rules *rules);
void report_functions_free(struct report_functions *f); /* NULL is fine */

/* NULL without memory. */
const struct report_function *report_functions_get(struct report_functions *f,
						   const struct symbol_function *symbol);
/* One that is no symbol: its name is not merged, but the other rules hold. */
const struct report_function *report_functions_named(struct report_functions *f, const char *name,
						     const char *object);
/* In the order of their names, then of their objects: as of strcmp. */
int report_function_compare(const struct report_function *a, const struct report_function *b);
/* The number of a text (a command), from 0, dense. UINT32_MAX without memory. */
uint32_t report_functions_text_number(struct report_functions *f, const char *text);

/* When no thread asks for more. Numbers are below the count. */
const char *report_functions_text(const struct report_functions *f, uint32_t number);
size_t report_functions_nr_texts(const struct report_functions *f);
size_t report_functions_nr(const struct report_functions *f);
const struct report_function *report_functions_at(const struct report_functions *f,
						  uint32_t number);

/*
 * Shapes a stack in place, the sampled function first: hidden frames go, split ones get their name,
 * merged neighbours become one. *nr is how many frames there are then, 0: the stack is not wanted.
 * 0 or -ENOMEM.
 */
int report_functions_shape(struct report_functions *f, struct report_frame *frames, size_t *nr);

#endif
