/*
 * Processes with those that they have made, as they are now: not those whose maker has ended.
 */
#ifndef PROC_FAMILY_H
#define PROC_FAMILY_H

#include <stddef.h>
#include <stdint.h>

struct root;

struct proc_family {
	uint32_t *pid; /* owned; each once */
	size_t nr, room;
};

void proc_family_fini(struct proc_family *f);
/* Adds a process, unless it is there. 0 or -ENOMEM. */
int proc_family_add(struct proc_family *f, uint32_t pid);
/* Adds what these have made, and what that has. Where the kernel does not list children there are
 * none. 0 or -ENOMEM. */
int proc_family_grow(struct proc_family *f, const struct root *root);

#endif
