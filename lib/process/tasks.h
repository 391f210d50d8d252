/*
 * A reader of processes by an iterator in the kernel. Private to process.c.
 */
#ifndef PROCESS_TASKS_H
#define PROCESS_TASKS_H

#include "process/reader.h"

struct err;

/* The fields that an iterator can read. */
uint32_t process_tasks_fields(void);

/* In place of .open of process_tasks_reader. The caller's numbers must be those of root's /proc. 0,
 * or -errno with *e. */
int process_tasks_open(const struct root *root, uint32_t wanted, void **state, struct err *e);
/* The wanted fields that the iterator reads now: none from the reading on at which it fails. */
uint32_t process_tasks_by(const void *state);

/* Each reading begins with .list. */
extern const struct process_reader process_tasks_reader;

#endif
