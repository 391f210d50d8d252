/*
 * The processes of a control group.
 */
#ifndef TARGET_CHILDREN_H
#define TARGET_CHILDREN_H

#include "proc/list.h"

/* Each process of a control group, and of those below it. folder: its descriptor. 0, or what fn
 * returned. */
int target_each_of_cgroup(int folder, proc_id_fn *fn, void *arg);

#endif
