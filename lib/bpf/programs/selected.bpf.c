// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Selects the samples of a target's tasks from those of a CPU's event. Runs at each overflow of the
 * event: 0 drops the sample.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/follow_shared.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct pid;

struct task_struct {
	int pid, tgid;
	struct pid *thread_pid; /* NULL: it was waited for, and a sample would name nobody */
	struct task_struct *group_leader;
} __attribute__((preserve_access_index));

struct selected_task {
	struct bpf_follow follow;
};

#define FOLLOW_TASK struct selected_task
#include "bpf/programs/follow.bpf.h"
#include "bpf/programs/seed.bpf.h"
#include "bpf/programs/select.bpf.h"

SEC("perf_event")
int selected(void *ctx)
{
	if (!is_selected())
		return 0;
	bpf_tail_call(ctx, &next, 0);
	return 1;
}
