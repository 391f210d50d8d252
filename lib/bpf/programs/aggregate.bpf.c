// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Adds up the samples of a perf event by stack, in a table of the CPU. Runs at each overflow of the
 * event: returns 0 where the sample was added up, and 1 where the kernel must write it to the ring,
 * because the table is full or is being read. The kernel never runs two programs of perf events on
 * a CPU at a time.
 *
 * The order of samples is lost with that, of which ± follows. So each sample also counts at its
 * place in the row of its clock, as cpuperf_print counts samples of a ring (report/rows.h).
 */
#include "bpf/programs/aggregate.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { NR_ROWS = 256 };

/* Its registers before this field differ between machines. */
struct bpf_perf_event_data {
	__u64 sample_period;
} __attribute__((preserve_access_index));

/* What the kernel passes in place of that. */
struct perf_event {
	__u64 id;
} __attribute__((preserve_access_index));
struct bpf_perf_event_data_kern {
	struct perf_event *event;
} __attribute__((preserve_access_index));

/* Of the last sample of a clock. */
struct row {
	__u64 clock;
	__u64 number; /* 0: there is none */
	__u64 place, time_ns;
};

/* One of another clock in its place ends a row. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_ROWS);
	__type(key, __u32);
	__type(value, struct row);
} rows SEC(".maps");

const volatile __u64 in_step;        /* the row of the clocks of all CPUs; 0: they are not */
const volatile __u32 has_own_clocks; /* tasks inherit the event: it has one for each */

/* The kernel exchanges the events of two tasks where one follows the other, so a row is that of
 * the event, not of the task. */
static __u64 clock_of(struct bpf_perf_event_data *ctx)
{
	const struct bpf_perf_event_data_kern *kernel = (void *)ctx;

	return has_own_clocks ? BPF_CORE_READ(kernel, event, id) : 0;
}

/* The place of a sample, which is the next of its clock. */
static int find_place(struct bpf_perf_event_data *ctx, __u32 cpu, __u64 period)
{
	const __u64 clock = clock_of(ctx), now = bpf_ktime_get_ns();
	__u32 key = clock % NR_ROWS;
	struct row *row = bpf_map_lookup_elem(&rows, &key);

	if (!row)
		return NO_PLACE;
	if (!row->number || row->clock != clock) {
		row->clock = clock;
		row->number =
		    in_step ? in_step : hash_mix(hash_mix(hash_mix(1, clock), now), cpu) | 1;
		row->place = row->time_ns = 0;
	}
	if (in_step && period)
		row->place += (now - row->time_ns + period / 2) / period;
	else
		row->place++;
	row->time_ns = now;
	return place_in_sums(row->number, row->place);
}

SEC("perf_event")
int aggregate(struct bpf_perf_event_data *ctx)
{
	const __u32 cpu = bpf_get_smp_processor_id();
	const __u64 period = ctx->sample_period;
	/* also of samples that go to the ring: they stand between others */
	const int place = find_place(ctx, cpu, period);

	return !aggregate_add(ctx, cpu, period, place);
}
