/*
 * Which processes are things of a session: by number, by name, as descendants of the target, or in
 * its control group; and what they are called. Private to process.c.
 */
#ifndef PROCESS_MEMBERS_H
#define PROCESS_MEMBERS_H

#include "process/state.h"

/* By number, in a list in their order; NULL: none has it. */
struct process *process_members_find(struct process *const *list, size_t nr, uint32_t pid);
/* In this reading or the one before. */
struct process *process_members_known(const struct process_state *s, uint32_t pid);

/* A process may become the first one of a run after it was listed. */
void process_members_mark_roots(struct process_state *s);
/* Whether it is of the target: a tree is looked at once, a group at each reading. */
void process_members_place(struct process_state *s, struct process *p);
/* Reads the name, and decides by it whether the process is chosen. A process that is chosen again
 * later is a new thing. */
void process_members_look(struct process_state *s, struct process *p);
/* The same, if the name may have changed. clock_ns: its CPU time; 0: not known. */
void process_members_look_if_due(struct process_state *s, struct process *p, uint64_t clock_ns);

#endif
