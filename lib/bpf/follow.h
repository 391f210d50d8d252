/*
 * Which tasks programs in the kernel measure: all, if it is all zero.
 *
 * Each program that measures tasks includes programs/follow.bpf.h, with a value of its own for
 * each task. Of a control group all tasks have a value, which has the address of the task's set of
 * groups (css_set): only where that has changed is the task's place in the hierarchy looked up.
 * The tracepoint cgroup_attach_task divides waits at a move; a reading that sees the other groups
 * before the kernel reports the move divides them there.
 *
 * For each event the programs' memory has the span of time in which it is enabled (waits_switch),
 * to which waits are cut; a latency counts if its event is enabled when it ends.
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
