// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Writes what a thread interprets beside each of its samples: runs at each overflow of an event,
 * before the kernel writes the sample, and lets it write.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/programs/interpreted.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("perf_event")
int interpreted(void *ctx)
{
	interpret(ctx);
	return 1;
}
