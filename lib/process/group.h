/*
 * The processes of a control group and of those below it, of either version. Private to process.c.
 */
#ifndef PROCESS_GROUP_H
#define PROCESS_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: none. */
struct process_group {
	uint32_t *list; /* owned; ascending */
	size_t nr, room;
};

void process_group_fini(struct process_group *g);
/* Lists them anew. folder: the group's, borrowed. A group below it that is removed meanwhile has
 * none; of a threaded one, processes whose first thread is in it. 0, or -errno: *g is empty then
 * (-EFBIG: more than there can be). */
int process_group_read(struct process_group *g, int folder);
bool process_group_has(const struct process_group *g, uint32_t pid);

#endif
