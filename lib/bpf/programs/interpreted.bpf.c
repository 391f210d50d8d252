// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Writes what a thread interprets beside each of its samples: runs at each overflow of an event,
 * before the kernel writes the sample, and lets it write. The walk over frames takes the verifier
 * 10 ms for each language, and few programs have an interpreter: it is a program of its own, loaded
 * when one is found. The other one asks, for events that no program selects from (waits.bpf.c).
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/programs/interpreted.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1); /* empty: no process has an interpreter yet */
	__type(key, __u32);
	__type(value, __u32);
} walks SEC(".maps");

SEC("?perf_event")
int interpreted(void *ctx)
{
	if (is_interpreted())
		bpf_tail_call(ctx, &walks, 0);
	return 1;
}

SEC("?perf_event")
int interpreted_walk(void *ctx)
{
	interpret(ctx);
	return 1;
}
