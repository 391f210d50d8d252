/*
 * What programs that measure tasks of a target store with each of them.
 */
#ifndef BPF_FOLLOW_SHARED_H
#define BPF_FOLLOW_SHARED_H

#include <linux/types.h>

enum { BPF_FOLLOW_STARTS = 2 };

/* All zero: not of the target, or not known yet. */
struct bpf_follow {
	__u32 is_member; /* STARTS: not before it has exec'd */
	__u32 zero;
	/* With a control group as target: */
	__u64 groups; /* the task's, when is_member was calculated; 0: it was not */
	/* CLOCK_MONOTONIC, when cgroup_attach_task last reported that the process was moved into or
	 * out of it; 0: never. */
	__u64 moved_ns;
	__u64 looked_ns; /* when is_member was last found to be another, or was new */
};

#endif
