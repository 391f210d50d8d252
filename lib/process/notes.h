/*
 * Warnings about processes: what cannot be read, which are not there. Private to process.c.
 */
#ifndef PROCESS_NOTES_H
#define PROCESS_NOTES_H

#include "process/state.h"

/* What of the process's values is missing, if that is new. */
void process_notes_add(struct process_state *s, struct process *p);
/* A word of the choice that no process matches. */
void process_notes_add_absent(struct process_state *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The note of struct things_source. */
const char *process_notes_next(void *state);

#endif
