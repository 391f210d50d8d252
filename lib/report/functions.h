/*
 * Functions as they are reported: merged, hidden and selected by the user's rules, which are
 * applied once per function, not per sample. Also interns texts. Thread-safe unless noted.
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

/* Without rules: report_functions_shape applies them. NULL without memory. */
const struct report_function *report_functions_get(struct report_functions *f,
						   const struct symbol_function *symbol);
/* A function that is not a symbol: merge rules do not apply to its name, other rules do. */
const struct report_function *report_functions_named(struct report_functions *f, const char *name,
						     const char *object);
/* Compares names, then objects, as strcmp does. */
int report_function_compare(const struct report_function *a, const struct report_function *b);
/* Interns a text (a command, an object, a file): its number, from 0, dense. UINT32_MAX without
 * memory. */
uint32_t report_functions_text_number(struct report_functions *f, const char *text);

/* Numbers are below the count. */
const char *report_functions_text(const struct report_functions *f, uint32_t number);
const struct report_function *report_functions_at(const struct report_functions *f,
						  uint32_t number);
/* Must not be called while another thread adds. */
size_t report_functions_nr_texts(const struct report_functions *f);
size_t report_functions_nr(const struct report_functions *f);

/* Applies merge rules to the names of frames, once, and nothing else. */
void report_functions_merge(struct report_frame *frames, size_t nr);
/* Applies the rules to a stack in place, the sampled function first: merges names, removes hidden
 * frames, renames split ones, joins neighbours of a name that a merge rule made. *nr becomes the
 * number of frames; 0: the stack is not selected. 0 or -ENOMEM. */
int report_functions_shape(struct report_functions *f, struct report_frame *frames, size_t *nr);
/* Whether some of them depend on callers: then a stack begins otherwise than its sampled function
 * alone. */
bool report_functions_use_callers(const struct report_functions *f);

#endif
