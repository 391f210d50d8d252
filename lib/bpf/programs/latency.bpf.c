// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * How long system calls, requests to disks, interrupts and waits for a CPU take, as log-linear
 * histograms. What has ended is counted: a system call when it returns, a request when it is
 * complete, a wait when the task runs.
 *
 * Start times are stored with the task (task storage), per CPU, or per request in a table of fixed
 * size; the kernel stores since when a request exists. Histograms are in a table of fixed size:
 * what finds no room there is counted under the id of others, whose histograms are made before the
 * programs are attached.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/bits_shared.h"
#include "bpf/latency_shared.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct thread_info {
	unsigned long flags;
} __attribute__((preserve_access_index));

struct thread_info___x86 {
	unsigned int status;
} __attribute__((preserve_access_index));

struct task_struct {
	struct thread_info thread_info;
	int pid, tgid;
	unsigned int __state;
	struct task_struct *group_leader;
	char comm[16];
} __attribute__((preserve_access_index));

struct task_struct___before_5_14 {
	long state;
} __attribute__((preserve_access_index));

#define FOLLOW_TASK struct bpf_latency_task
#include "bpf/programs/follow.bpf.h"
#include "bpf/programs/seed.bpf.h"

struct irqaction {
	const char *name;
} __attribute__((preserve_access_index));

struct gendisk {
	int major, first_minor;
	char disk_name[32];
} __attribute__((preserve_access_index));

struct request_queue {
	struct gendisk *disk;
} __attribute__((preserve_access_index));

struct request {
	struct request_queue *q;
	unsigned int cmd_flags, __data_len;
	__u64 start_time_ns;
} __attribute__((preserve_access_index));

struct request___before_5_17 {
	struct gendisk *rq_disk;
} __attribute__((preserve_access_index));

/* All memory is allocated when it is made: the runqueue is locked where some are added. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set when it is loaded */
	__type(key, struct bpf_latency_key);
	__type(value, struct bpf_latency_histogram);
} histograms SEC(".maps");

/* Zeroes, and room for a name. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_latency_histogram);
} empty SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the number of CPUs, set when it is loaded */
	__type(key, __u32);
	__type(value, struct bpf_latency_counts);
} counts SEC(".maps");

/* When requests were issued, by address. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set when it is loaded */
	__type(key, __u64);
	__type(value, __u64);
} requests SEC(".maps");

/* The start times of what is interrupted by nothing of its kind: by number, 0 for irq. */
struct begins {
	__u64 irq;
	__u64 softirq[BPF_LATENCY_NR_SOFTIRQS];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct begins);
} begins SEC(".maps");

/* The slot of each kind and of each system call, from 1; 0: it is not measured. */
const volatile __u8 slot_of_kind[BPF_LATENCY_SYSCALL];
const volatile __u8 slot_of_syscall[BPF_LATENCY_NR_SYSCALLS];
/* Only what ends on these CPUs is measured. */
const volatile bool has_cpus;
const volatile __u64 measured_cpus[BPF_LATENCY_MAX_CPUS / 64];
/* Events that are disabled, by slot. */
__u8 is_off[BPF_LATENCY_NR_SLOTS];

static struct bpf_latency_histogram *histogram_of(struct bpf_latency_key *key)
{
	struct bpf_latency_histogram *h = bpf_map_lookup_elem(&histograms, key), *from;
	__u32 zero = 0;

	if (h)
		return h;
	from = bpf_map_lookup_elem(&empty, &zero);
	if (from)
		bpf_map_update_elem(&histograms, key, from, BPF_NOEXIST);
	h = bpf_map_lookup_elem(&histograms, key);
	if (h)
		return h;
	key->id = BPF_LATENCY_OTHERS;
	key->cpu = 0;
	return bpf_map_lookup_elem(&histograms, key);
}

static bool is_measured(__u32 slot)
{
	__u32 cpu = bpf_get_smp_processor_id();

	if (is_off[slot & (BPF_LATENCY_NR_SLOTS - 1)])
		return false;
	return !has_cpus || (cpu < BPF_LATENCY_MAX_CPUS && measured_cpus[cpu / 64] >> cpu % 64 & 1);
}

/* The histogram, if its key is to be named; NULL: it is that of all others, or there is no room. */
static __attribute__((noinline)) struct bpf_latency_histogram *add(struct bpf_latency_key *key,
								   __u64 ns)
{
	struct bpf_latency_histogram *h = histogram_of(key);
	__u32 at = bpf_bucket(ns, BPF_LATENCY_BITS, BPF_LATENCY_NR_BUCKETS);

	if (!h || at >= BPF_LATENCY_NR_BUCKETS)
		return NULL;
	__sync_fetch_and_add(&h->bucket[at], 1);
	__sync_fetch_and_add(&h->sum_ns, ns);
	if (ns > h->max_ns)
		h->max_ns = ns; /* of two CPUs at once the smaller may win: readers expect that */
	return key->id == BPF_LATENCY_OTHERS ? NULL : h;
}

static void count(__u32 slot)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct bpf_latency_counts *c = bpf_map_lookup_elem(&counts, &cpu);

	if (c && slot < BPF_LATENCY_NR_SLOTS)
		__sync_fetch_and_add(&c->nr[slot], 1);
}

/* --- tasks ----------------------------------------------------------------------------------- */

/* Whether the task is in the control group, if one is measured. */
static __always_inline bool is_inside(struct task_struct *t, struct bpf_latency_task *s)
{
	follow_groups(t, &s->follow);
	return !cgroup_id || s->follow.is_member;
}

/* --- waits for a CPU ------------------------------------------------------------------------- */

static bool is_runnable(struct task_struct *t)
{
	struct task_struct___before_5_14 *old = (void *)t;

	if (bpf_core_field_exists(t->__state))
		return !t->__state;
	return !BPF_CORE_READ(old, state);
}

static void queue(struct task_struct *t)
{
	struct bpf_latency_task *s = find(t);

	if (s && s->follow.is_member != BPF_FOLLOW_STARTS)
		s->queued_ns = bpf_ktime_get_ns();
}

SEC("?cpuperf_trace/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *t)
{
	queue(t);
	return 0;
}

SEC("?cpuperf_trace/sched_wakeup_new")
int BPF_PROG(on_new, struct task_struct *t)
{
	queue(t);
	return 0;
}

SEC("?cpuperf_trace/sched_switch")
int BPF_PROG(on_switch, bool is_preempted, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_ns();
	struct bpf_latency_task *s;

	if (prev->pid && (s = find(prev)))
		s->queued_ns =
		    s->follow.is_member != BPF_FOLLOW_STARTS && (is_preempted || is_runnable(prev))
			? now
			: 0;
	if (next->pid && (s = find(next)) && s->queued_ns &&
	    is_measured(slot_of_kind[BPF_LATENCY_RUN_QUEUE] - 1) && is_inside(next, s)) {
		struct bpf_latency_key key = {.slot = slot_of_kind[BPF_LATENCY_RUN_QUEUE] - 1,
					      .cpu = bpf_get_smp_processor_id()};
		__u64 since = s->queued_ns;

		s->queued_ns = 0;
		add(&key, now > since ? now - since : 0);
		count(key.slot);
	}
	return 0;
}

/* --- system calls ---------------------------------------------------------------------------- */

/* Numbers of 32-bit programs mean other system calls. */
static bool is_compat(struct task_struct *t)
{
	struct thread_info___x86 *x86 = (void *)&t->thread_info;

	if (bpf_core_field_exists(x86->status))
		return BPF_CORE_READ(x86, status) & 2;        /* TS_COMPAT */
	return BPF_CORE_READ(t, thread_info.flags) >> 22 & 1; /* arm64: TIF_32BIT */
}

SEC("?cpuperf_trace/sys_enter")
int BPF_PROG(on_enter, void *regs, long number)
{
	struct bpf_latency_task *s;
	struct task_struct *t;
	__u32 slot;

	if ((unsigned long)number >= BPF_LATENCY_NR_SYSCALLS)
		return 0;
	slot = slot_of_syscall[number];
	if (!slot)
		return 0;
	t = bpf_get_current_task_btf();
	if (is_compat(t))
		return 0;
	s = has_target ? find(t) : make(t);
	if (!s || (has_target && s->follow.is_member != 1))
		return 0;
	s->syscall = slot - 1;
	s->entered_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("?cpuperf_trace/sys_exit")
int BPF_PROG(on_exit)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct bpf_latency_task *s = find(t);
	struct bpf_latency_key key = {.slot = 0};
	struct bpf_latency_histogram *h;

	if (!s || !s->entered_ns)
		return 0;
	if (!is_measured(s->syscall) || !is_inside(t, s)) {
		s->entered_ns = 0;
		return 0;
	}
	key.slot = s->syscall;
	key.id = t->tgid;
	h = add(&key, bpf_ktime_get_ns() - s->entered_ns);
	s->entered_ns = 0;
	if (h) /* what it execs has another */
		bpf_probe_read_kernel(h->name, sizeof(h->name), t->group_leader->comm);
	count(key.slot);
	return 0;
}

/* --- requests to disks ----------------------------------------------------------------------- */

static struct gendisk *disk_of(struct request *r)
{
	struct request___before_5_17 *old = (void *)r;

	if (bpf_core_field_exists(old->rq_disk))
		return BPF_CORE_READ(old, rq_disk);
	return BPF_CORE_READ(r, q, disk);
}

static void add_request(struct request *r, __u32 part, __u64 ns)
{
	struct gendisk *disk = disk_of(r);
	struct bpf_latency_key key = {.slot = slot_of_kind[BPF_LATENCY_BLOCK] - 1, .part = part};
	struct bpf_latency_histogram *h;

	key.id = r->cmd_flags & 0xff;
	if (disk)
		key.id |=
		    (__u64)(BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor))
		    << 8;
	h = add(&key, ns);
	if (h && disk && !h->name[0])
		bpf_probe_read_kernel_str(h->name, sizeof(h->name), disk->disk_name);
}

static void issue(struct request *r)
{
	__u64 now = bpf_ktime_get_ns(), key = (__u64)r;

	bpf_map_update_elem(&requests, &key, &now, BPF_ANY);
}

SEC("?cpuperf_trace/block_rq_issue")
int BPF_PROG(on_issue, struct request *r)
{
	issue(r);
	return 0;
}

/* Linux before 5.11. */
SEC("?cpuperf_trace/block_rq_issue")
int BPF_PROG(on_issue_of_queue, void *q, struct request *r)
{
	issue(r);
	return 0;
}

/* A request is complete when all of its bytes are. */
SEC("?cpuperf_trace/block_rq_complete")
int BPF_PROG(on_complete, struct request *r, int error, unsigned int bytes)
{
	__u64 now = bpf_ktime_get_ns(), key = (__u64)r, issued, start;
	__u64 *found;

	if (bytes < r->__data_len)
		return 0;
	found = bpf_map_lookup_elem(&requests, &key);
	if (!found)
		return 0;
	issued = *found;
	bpf_map_delete_elem(&requests, &key);
	if (!is_measured(slot_of_kind[BPF_LATENCY_BLOCK] - 1))
		return 0;
	start = r->start_time_ns;
	if (start)
		add_request(r, 0, issued > start ? issued - start : 0);
	add_request(r, 1, now - issued);
	count(slot_of_kind[BPF_LATENCY_BLOCK] - 1);
	return 0;
}

/* --- interrupts ------------------------------------------------------------------------------ */

static struct begins *begins_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&begins, &zero);
}

static struct bpf_latency_histogram *add_interrupt(__u32 kind, __u64 id, __u64 *begin)
{
	struct bpf_latency_key key = {
	    .slot = slot_of_kind[kind] - 1, .cpu = bpf_get_smp_processor_id(), .id = id};
	struct bpf_latency_histogram *h;
	__u64 since = *begin;

	*begin = 0;
	if (!since || !is_measured(key.slot))
		return NULL;
	h = add(&key, bpf_ktime_get_ns() - since);
	count(key.slot);
	return h;
}

SEC("?cpuperf_trace/irq_handler_entry")
int BPF_PROG(on_irq)
{
	struct begins *b = begins_here();

	if (b)
		b->irq = bpf_ktime_get_ns();
	return 0;
}

SEC("?cpuperf_trace/irq_handler_exit")
int BPF_PROG(on_irq_end, int irq, struct irqaction *action)
{
	struct begins *b = begins_here();
	struct bpf_latency_histogram *h;

	if (!b)
		return 0;
	h = add_interrupt(BPF_LATENCY_IRQ, irq, &b->irq);
	if (h && !h->name[0])
		bpf_probe_read_kernel_str(h->name, sizeof(h->name), action->name);
	return 0;
}

/* The mask is for the verifier: there are fewer. */
static __u64 *softirq_begin(unsigned int number)
{
	struct begins *b = begins_here();

	return b ? &b->softirq[number & (BPF_LATENCY_NR_SOFTIRQS - 1)] : NULL;
}

SEC("?cpuperf_trace/softirq_entry")
int BPF_PROG(on_softirq, unsigned int number)
{
	__u64 *begin = softirq_begin(number);

	if (begin)
		*begin = bpf_ktime_get_ns();
	return 0;
}

SEC("?cpuperf_trace/softirq_exit")
int BPF_PROG(on_softirq_end, unsigned int number)
{
	__u64 *begin = softirq_begin(number);

	if (begin)
		add_interrupt(BPF_LATENCY_SOFTIRQ, number, begin);
	return 0;
}
