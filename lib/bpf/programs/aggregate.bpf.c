// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Adds up the samples of a perf event by stack, in a table of the CPU. Runs at each overflow of the
 * event: returns 0 where the sample was added up, and 1 where the kernel must write it to the ring,
 * because the table is full or is being read. The kernel never runs two programs of perf events on
 * a CPU at a time.
 */
#include "bpf/programs/aggregate.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Its registers before this field differ between machines. */
struct bpf_perf_event_data {
	__u64 sample_period;
} __attribute__((preserve_access_index));

SEC("perf_event")
int aggregate(struct bpf_perf_event_data *ctx)
{
	return !aggregate_add(ctx, bpf_get_smp_processor_id(), ctx->sample_period);
}
