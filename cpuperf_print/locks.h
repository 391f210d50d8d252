/*
 * What the locks of a session are called, and whether it has some.
 */
#ifndef CPUPERF_PRINT_LOCKS_H
#define CPUPERF_PRINT_LOCKS_H

#include "report/locks.h"
#include "symbol/symbols.h"

struct input;
struct profile_facts;
struct profile_filter;

enum { LOCKS_NAME_BYTES = SYMBOL_VARIABLE_BYTES };

/* Of the events that the filter has. NULL: their waits have locks; else why not, and what to do. */
const char *locks_missing(const struct profile_facts *f, const struct profile_filter *filter);
/* The object of the variable that the lock is in, whose name is in the text; "": it is in no file's
 * data. */
const char *locks_variable(const struct input *in, const struct report_lock *l,
			   char text[LOCKS_NAME_BYTES]);
/* Of a row with a holder its name, with its tid where another thread has that, too; of a waker
 * without its numbers. */
const char *locks_holder(const struct report_functions *functions, const struct report_lock *l,
			 char text[LOCKS_NAME_BYTES]);
bool locks_has_owner(const struct report_lock *l);
/* Wakers are recorded. */
bool locks_have_wakers(const struct profile_facts *f);

#endif
