/*
 * The numbers of tasks in PID namespaces below this one, as /proc/PID/status lists them.
 */
#ifndef WIRE_TASKS_H
#define WIRE_TASKS_H

#include <stdbool.h>
#include <stdint.h>

struct root;

/* True if the process has another number in a PID namespace of its own. */
bool wire_is_nested(const struct root *root, uint32_t pid);
/* The number, here, of the thread of the process that has this number in its own PID namespace; 0:
 * there is none. */
uint32_t wire_find_thread(const struct root *root, uint32_t pid, uint32_t inner);

#endif
