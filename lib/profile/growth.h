/*
 * The tables of a session in progress (profile/processes.h), renewed as its common file grows: what
 * was read is not read again, and tasks that ended before a time are dropped. So a renewal costs as
 * much as the tasks that are left, the names known so far and what is new. One thread.
 *
 * The screen of live functions opens the session anew at each look, as it has further files;
 * symbols, functions and files stay.
 */
#ifndef PROFILE_GROWTH_H
#define PROFILE_GROWTH_H

#include "profile/processes.h"

struct profile_growth;
struct profile_session;

struct profile_growth *profile_growth_new(void);    /* NULL without memory */
void profile_growth_free(struct profile_growth *g); /* NULL is fine */
/* Reads what the common file has more than last time, and makes *out anew, which belongs to g and
 * stays in place; what was borrowed of the tables is invalid, but objects, comms and command lines
 * are not. Tasks that ended before unused_ns are dropped, unless others have their mappings. 1: all
 * was read from the beginning (the first time; with marks of programs; another file), and *out is
 * another one; 0; -ENOMEM or the result of kallsyms: g is as before the first time. session and
 * kallsyms: as profile_processes_load; the text in pieces, some of it perhaps later. */
int profile_growth_read(struct profile_growth *g, struct profile_session *session,
			uint64_t unused_ns, profile_kallsyms_fn *kallsyms, void *arg,
			struct profile_processes **out);

#endif
