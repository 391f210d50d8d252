// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Marks the tasks that were there before: a thread that executes a program takes the place of its
 * process, which then has only the value of the thread. Programs include this after follow.bpf.h.
 */
#ifndef BPF_SEED_BPF_H
#define BPF_SEED_BPF_H

struct bpf_iter__task {
	struct task_struct *task;
} __attribute__((preserve_access_index));

SEC("?cpuperf_iter/task")
int seed(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;

	if (t && t->pid && !find(t))
		make_like(t, t);
	return 0;
}

#endif
