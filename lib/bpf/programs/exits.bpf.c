// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What processes have used when they are gone. The kernel adds up a thread's times, faults and I/O
 * in its process (signal_struct) when the thread is released: when the task of the process itself
 * is freed, a while after it was waited for, the sums are whole. One that began before the last
 * reading is also sent when its last thread ends, with what that thread and the first have used so
 * far, so that it is not known an iteration late. Each process is sent to one of two
 * rings, by whether it began before the last reading. Those that came since then and find no room
 * are added up by command; of others, a part may have been read before, so they are only counted.
 * How long its threads waited for a CPU the kernel does not add up: each is added when it ends,
 * what it waits after that is missing, but for the first thread's.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/exits_shared.h"
#include "bpf/follow_shared.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

typedef struct {
	int counter;
} __attribute__((preserve_access_index)) atomic_t;

struct signal_struct {
	atomic_t live; /* threads that have not begun to end */
	unsigned long min_flt, maj_flt, maxrss;
	unsigned long inblock, oublock; /* of 512 bytes; ioac has those of children, too */
	unsigned long long sum_sched_runtime;
} __attribute__((preserve_access_index));

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
} __attribute__((preserve_access_index));

struct sched_entity {
	unsigned long long sum_exec_runtime;
} __attribute__((preserve_access_index));

struct task_io_accounting {
	unsigned long long read_bytes, write_bytes;
} __attribute__((preserve_access_index));

struct task_struct {
	int pid, tgid;
	unsigned long min_flt, maj_flt;
	struct sched_entity se;
	struct task_io_accounting ioac; /* may be missing */
	__u64 start_time;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct sched_info sched_info;
	char comm[BPF_EXITS_COMM_BYTES];
} __attribute__((preserve_access_index));

struct exits_task {
	struct bpf_follow follow;
};

#define FOLLOW_TASK struct exits_task
#include "bpf/programs/follow.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 128 << 10);
} recent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 512 << 10); /* each twice */
} older SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BPF_EXITS_MAX_COMMANDS);
	__type(key, char[BPF_EXITS_COMM_BYTES]);
	__type(value, struct bpf_exits_sums);
} commands SEC(".maps");

/* In the first thread of a process: what the other threads, which have ended, waited for a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} others SEC(".maps");

__u64 read_ns;     /* CLOCK_MONOTONIC of the last reading; 0: none */
__u64 nr_commands; /* in the map */
__u64 nr_lost;     /* processes that are in no ring and no sum */

/* A task that has ended remains in its control group until it is freed. */
static bool is_measured(struct task_struct *t)
{
	if (cgroup_id)
		return is_in_cgroup(groups_of(t));
	return !has_target || membership(t);
}

static void get_delay(struct task_struct *t, struct bpf_exits_sums *out)
{
	const __u64 *delay_ns = bpf_task_storage_get(&others, t, 0, 0);

	out->delay_ns = t->sched_info.run_delay + (delay_ns ? *delay_ns : 0);
	out->nr_runs = t->sched_info.pcount;
	out->nr_partial = delay_ns ? 1 : 0;
}

static void get_sums(struct task_struct *t, struct bpf_exits_sums *out)
{
	struct signal_struct *s = t->signal;

	get_delay(t, out);
	out->cpu_ns = s->sum_sched_runtime;
	out->minor_faults = s->min_flt;
	out->major_faults = s->maj_flt;
	out->peak_pages = s->maxrss;
	out->read_bytes = (__u64)s->inblock << 9;
	out->write_bytes = (__u64)s->oublock << 9;
}

/* What a thread has used that the kernel has not added to its process. */
static void add_own(struct task_struct *t, struct bpf_exits_sums *to)
{
	to->cpu_ns += t->se.sum_exec_runtime;
	to->minor_faults += t->min_flt;
	to->major_faults += t->maj_flt;
	if (!bpf_core_field_exists(t->ioac))
		return;
	to->read_bytes += t->ioac.read_bytes & ~511ULL;
	to->write_bytes += t->ioac.write_bytes & ~511ULL;
}

static void describe(struct task_struct *first, bool is_whole, struct bpf_exits_process *out)
{
	out->pid = first->pid;
	out->is_whole = is_whole;
	out->start_ns = first->start_time;
	bpf_probe_read_kernel_str(out->comm, sizeof(out->comm), first->comm);
	get_sums(first, &out->sums);
}

static void add_delay(struct task_struct *t, struct task_struct *first)
{
	__u64 *delay_ns = bpf_task_storage_get(&others, first, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (delay_ns)
		__sync_fetch_and_add(delay_ns, t->sched_info.run_delay);
}

/* Of the last thread of a process. Two that end at once may both be: what is sent later is more. */
static void send_ended(struct task_struct *t, struct task_struct *first)
{
	struct bpf_exits_process *out;

	if (first->start_time > read_ns)
		return;
	out = bpf_ringbuf_reserve(&older, sizeof(*out), 0);
	if (!out)
		return;
	describe(first, false, out);
	add_own(first, &out->sums);
	if (t->pid != t->tgid)
		add_own(t, &out->sums);
	bpf_ringbuf_submit(out, BPF_RB_NO_WAKEUP);
}

SEC("cpuperf_trace/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *t)
{
	struct task_struct *first = t->group_leader;

	if (!read_ns || !is_measured(first))
		return 0;
	if (t->pid != t->tgid)
		add_delay(t, first);
	if (t->signal->live.counter == 0)
		send_ended(t, first);
	return 0;
}

static void add_to_command(struct task_struct *t)
{
	static const struct bpf_exits_sums none;
	char comm[BPF_EXITS_COMM_BYTES] = {};
	struct bpf_exits_sums sums, *to;

	bpf_probe_read_kernel_str(comm, sizeof(comm), t->comm);
	to = bpf_map_lookup_elem(&commands, comm);
	if (!to) {
		if (bpf_map_update_elem(&commands, comm, &none, BPF_NOEXIST) == 0)
			__sync_fetch_and_add(&nr_commands, 1);
		to = bpf_map_lookup_elem(&commands, comm);
	}
	if (!to) {
		__sync_fetch_and_add(&nr_lost, 1);
		return;
	}
	get_sums(t, &sums);
	__sync_fetch_and_add(&to->cpu_ns, sums.cpu_ns);
	__sync_fetch_and_add(&to->minor_faults, sums.minor_faults);
	__sync_fetch_and_add(&to->major_faults, sums.major_faults);
	__sync_fetch_and_add(&to->read_bytes, sums.read_bytes);
	__sync_fetch_and_add(&to->write_bytes, sums.write_bytes);
	__sync_fetch_and_add(&to->delay_ns, sums.delay_ns);
	__sync_fetch_and_add(&to->nr_runs, sums.nr_runs);
	__sync_fetch_and_add(&to->nr_partial, sums.nr_partial);
}

SEC("cpuperf_trace/sched_process_free")
int BPF_PROG(on_free, struct task_struct *t)
{
	struct bpf_exits_process *out;
	bool is_older = t->start_time <= read_ns;

	if (t->pid != t->tgid || !read_ns || !is_measured(t))
		return 0;
	if (is_older)
		out = bpf_ringbuf_reserve(&older, sizeof(*out), 0);
	else
		out = bpf_ringbuf_reserve(&recent, sizeof(*out), 0);
	if (!out) {
		if (is_older)
			__sync_fetch_and_add(&nr_lost, 1);
		else
			add_to_command(t);
		return 0;
	}
	describe(t, true, out);
	bpf_ringbuf_submit(out, BPF_RB_NO_WAKEUP);
	return 0;
}
