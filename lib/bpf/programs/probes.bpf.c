// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Counts the hits of probes in programs (uprobes), per event and CPU, and sends every nth to a perf
 * event, with the program's registers. The breakpoints are in all processes that map the file; only
 * hits of tasks that are measured count.
 *
 * Not for one event a perf event of its own that counts: each would have a breakpoint handler of
 * its own for each CPU, and all of them would run at each hit.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/probes_shared.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct task_struct {
	int pid, tgid;
	struct task_struct *group_leader;
} __attribute__((preserve_access_index));

#define FOLLOW_TASK struct bpf_probes_task
#include "bpf/programs/follow.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* a place for each event and CPU, set when it is loaded */
	__type(key, __u32);
	__type(value, struct bpf_probes_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1); /* as counts */
	__type(key, __u32);
	__type(value, __u32);
} outputs SEC(".maps");

const volatile __u32 nr_cpus;
const volatile __u64 rates[BPF_PROBES_NR_SLOTS]; /* hits per sample; 0: not sampled */
const volatile bool has_cpus;
const volatile __u64 measured_cpus[BPF_PROBES_MAX_CPUS / 64];
/* Events that are disabled, by slot. */
__u8 is_off[BPF_PROBES_NR_SLOTS];

/* Threads that were there before are recognised by their process, and get a value at their first
 * hit. */
static bool is_measured(void)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct bpf_probes_task *s;

	if (!has_target && !cgroup_id)
		return true;
	s = find(t);
	if (!s)
		s = make_like(t, t);
	if (!s)
		return false;
	follow_groups(t, &s->follow);
	return s->follow.is_member == 1;
}

SEC("kprobe")
int on_hit(struct pt_regs *ctx)
{
	__u32 slot = bpf_get_attach_cookie(ctx) & (BPF_PROBES_NR_SLOTS - 1);
	__u32 cpu = bpf_get_smp_processor_id(), at = slot * nr_cpus + cpu;
	struct bpf_probes_counts *c;
	__u64 nr;

	if (is_off[slot] || !is_measured())
		return 0;
	if (has_cpus && (cpu >= BPF_PROBES_MAX_CPUS || !(measured_cpus[cpu / 64] >> cpu % 64 & 1)))
		return 0;
	c = bpf_map_lookup_elem(&counts, &at);
	if (!c)
		return 0;
	/* another task may be hit before this one has finished, on the same CPU */
	nr = __sync_fetch_and_add(&c->hits, 1) + 1;
	if (rates[slot] && nr % rates[slot] == 0 &&
	    bpf_perf_event_output(ctx, &outputs, at, &nr, sizeof(nr)))
		__sync_fetch_and_add(&c->lost, 1);
	return 0;
}
