// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Selects the samples of a target's tasks from those of a CPU's event, at each of its overflows.
 * For programs that have included follow.bpf.h, and whose struct task_struct has thread_pid.
 */
#ifndef BPF_SELECT_BPF_H
#define BPF_SELECT_BPF_H

/* What goes on with the samples that are selected; empty: nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} next SEC(".maps");

static __always_inline bool is_selected(void)
{
	struct task_struct *t = bpf_get_current_task_btf();

	/* no pointer whose type the verifier knows: see bpf/loading.h */
	return BPF_CORE_READ(t, thread_pid) && membership(t) == 1;
}

#endif
