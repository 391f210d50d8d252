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

/* 0 drops the sample. */
static __always_inline int select_sample(void *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();

	if (!BPF_CORE_READ(t, thread_pid) || /* not a typed pointer: see bpf/loading.h */
	    membership(t) != 1)
		return 0;
	bpf_tail_call(ctx, &next, 0);
	return 1;
}

#endif
