/*
 * Which tasks programs in the kernel measure: all, if it is all zero.
 */
#ifndef BPF_FOLLOW_H
#define BPF_FOLLOW_H

#include <stdbool.h>

struct follow_config {
	bool has_target;   /* only processes that are added, and the threads they have and create */
	bool has_children; /* and the processes that they create */
	bool is_command;   /* these are measured from their exec on */
	bool has_cgroup;   /* in place of all that: tasks in a control group, or one below it */
	int cgroup;        /* its folder; borrowed while the programs are loaded */
};

#endif
