// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Reads all processes: an iterator visits each thread of the reader's PID namespace, by number, and
 * writes a record of each process, when it visits its first thread, and of each further thread. As
 * for /proc, the threads of a process are added up under signal_struct.stats_lock, as its readers
 * do it: again if a thread ended meanwhile.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/tasks_shared.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { IS_WQ_WORKER = 0x20, IS_KTHREAD = 0x200000 }; /* of task_struct.flags */
enum { FILES, ANONYMOUS, SWAPPED, SHMEM, NR_COUNTERS };
enum { MAX_TRIES = 4 }; /* of the sums */

struct list_head {
	struct list_head *next;
} __attribute__((preserve_access_index));

struct seqcount {
	unsigned int sequence;
} __attribute__((preserve_access_index));

struct seqcount_spinlock {
	struct seqcount seqcount;
} __attribute__((preserve_access_index));

struct seqlock {
	struct seqcount_spinlock seqcount;
} __attribute__((preserve_access_index));

struct task_io_accounting {
	__u64 read_bytes, write_bytes;
} __attribute__((preserve_access_index));

struct signal_struct {
	int nr_threads;
	struct list_head thread_head;
	struct seqlock stats_lock;
	unsigned long min_flt, maj_flt, maxrss;
	unsigned long inblock, oublock; /* of 512 bytes; ioac has those of children, too */
	unsigned long long sum_sched_runtime;
} __attribute__((preserve_access_index));

struct percpu_counter {
	__s64 count;
	__s32 *counters;
} __attribute__((preserve_access_index));

struct mm_struct {
	unsigned long hiwater_rss, total_vm;
	struct percpu_counter rss_stat[NR_COUNTERS];
} __attribute__((preserve_access_index));

/* Linux before 6.2 */
struct mm_struct___old {
	struct {
		struct {
			long counter;
		} count[NR_COUNTERS];
	} rss_stat;
} __attribute__((preserve_access_index));

struct sched_entity {
	__u64 sum_exec_runtime;
} __attribute__((preserve_access_index));

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
} __attribute__((preserve_access_index));

struct task_struct {
	int pid, tgid;
	unsigned int flags;
	__u64 start_time;
	struct task_struct *group_leader, *real_parent;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct mm_struct *mm;
	struct sched_entity se;
	struct sched_info sched_info;
	unsigned long min_flt, maj_flt;
	struct task_io_accounting ioac;
	struct list_head thread_node;
	char comm[BPF_TASKS_COMM_BYTES];
} __attribute__((preserve_access_index));

#include "bpf/programs/space.bpf.h"

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id, seq_num;
} __attribute__((preserve_access_index));

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));

struct bpf_array {
	void *pptrs[1];
} __attribute__((preserve_access_index));

/* Its value is not used, only where it is: how far the data of each CPU is from that of none. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} somewhere SEC(".maps");

const volatile bool has_memory, has_threads, has_io;
const volatile __u32 nr_cpus;

__u64 cpu_at[BPF_TASKS_MAX_CPUS];
bool has_cpus;
__u64 now_ns, now_nr; /* the time when the now_nr-th task was visited */

struct sums {
	__u64 cpu_ns, minor_faults, major_faults, read_bytes, write_bytes;
};

/* The verifier lets nobody calculate with a pointer to a map or its values, but a copy of it is a
 * number. */
static __u64 address(const void *of)
{
	const void *volatile pointer = of;
	__u64 number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), (const void *)&pointer);
	return number;
}

static void find_cpus(void)
{
	const __u32 first = 0;
	__u64 none_at = 0;

	bpf_probe_read_kernel(
	    &none_at, sizeof(none_at),
	    (const void *)(address(&somewhere) + bpf_core_field_offset(struct bpf_array, pptrs)));
	for (__u32 i = 0; i < nr_cpus && i < BPF_TASKS_MAX_CPUS; i++)
		cpu_at[i] = address(bpf_map_lookup_percpu_elem(&somewhere, &first, i)) - none_at;
	has_cpus = true;
}

/* ---- sums of a process */

struct walk {
	__u64 at, end;
	struct sums *sums;
};

static void add_task(const struct task_struct *t, struct sums *to)
{
	to->cpu_ns += BPF_CORE_READ(t, se.sum_exec_runtime);
	to->minor_faults += BPF_CORE_READ(t, min_flt);
	to->major_faults += BPF_CORE_READ(t, maj_flt);
	if (has_io && bpf_core_field_exists(t->ioac.read_bytes)) {
		to->read_bytes += BPF_CORE_READ(t, ioac.read_bytes);
		to->write_bytes += BPF_CORE_READ(t, ioac.write_bytes);
	}
}

/* The same for a task whose type the verifier trusts: its fields are read directly. */
static void add_first(struct task_struct *t, struct sums *to)
{
	to->cpu_ns += t->se.sum_exec_runtime;
	to->minor_faults += t->min_flt;
	to->major_faults += t->maj_flt;
	if (has_io && bpf_core_field_exists(t->ioac.read_bytes)) {
		to->read_bytes += t->ioac.read_bytes;
		to->write_bytes += t->ioac.write_bytes;
	}
}

static long visit_thread(__u32 i, void *arg)
{
	struct walk *w = arg;
	const struct list_head *at = (const void *)w->at;

	(void)i;
	if (w->at == w->end)
		return 1;
	add_task((const void *)(w->at - bpf_core_field_offset(struct task_struct, thread_node)),
		 w->sums);
	w->at = (__u64)BPF_CORE_READ(at, next);
	return 0;
}

static __u32 sequence(struct signal_struct *s)
{
	if (bpf_core_field_exists(s->stats_lock.seqcount.seqcount.sequence))
		return s->stats_lock.seqcount.seqcount.sequence;
	return 0;
}

static void add_threads(struct task_struct *t, struct signal_struct *s, struct sums *to)
{
	struct walk w = {.sums = to};
	int nr = s->nr_threads;

	if (nr == 1) {
		add_first(t, to);
		return;
	}
	w.at = (__u64)s->thread_head.next;
	w.end = (__u64)&s->thread_head;
	bpf_loop(nr + 1, visit_thread, &w, 0);
}

/* False: it may have changed meanwhile. */
static bool get_sums(struct task_struct *t, struct signal_struct *s, struct sums *to,
		     __u64 *ended_ns)
{
	__u32 before = sequence(s);

	*ended_ns = s->sum_sched_runtime;
	to->cpu_ns = *ended_ns;
	to->minor_faults = s->min_flt;
	to->major_faults = s->maj_flt;
	to->read_bytes = to->write_bytes = 0;
	if (has_io && bpf_core_field_exists(t->ioac.read_bytes)) {
		to->read_bytes = (__u64)s->inblock << 9;
		to->write_bytes = (__u64)s->oublock << 9;
	}
	add_threads(t, s, to);
	return !(before & 1) && sequence(s) == before && s->sum_sched_runtime == *ended_ns;
}

/* ---- memory */

/* The kernel adds up the CPUs for /proc, too (6.17 and later). The counters of a process are made
 * in one piece. */
static __u64 positive(__s64 n)
{
	return n > 0 ? n : 0;
}

static void count_pages(struct mm_struct *mm, __u64 *files, __u64 *rss)
{
	__s64 nr[NR_COUNTERS];
	__s32 part[NR_COUNTERS];

	nr[FILES] = mm->rss_stat[FILES].count;
	nr[ANONYMOUS] = mm->rss_stat[ANONYMOUS].count;
	nr[SHMEM] = mm->rss_stat[SHMEM].count;
	for (__u32 i = 0; i < nr_cpus && i < BPF_TASKS_MAX_CPUS; i++) {
		const char *at = (const char *)mm->rss_stat[0].counters + cpu_at[i];

		if (bpf_probe_read_kernel(part, sizeof(part), at))
			break;
		nr[FILES] += part[FILES];
		nr[ANONYMOUS] += part[ANONYMOUS];
		nr[SHMEM] += part[SHMEM];
	}
	*files = positive(nr[FILES]) + positive(nr[SHMEM]);
	*rss = *files + positive(nr[ANONYMOUS]);
}

static void get_memory(struct task_struct *t, struct bpf_tasks_process *out)
{
	struct mm_struct *mm = t->mm;
	struct mm_struct___old *old = (void *)mm;

	if (t->flags & IS_KTHREAD)
		return;
	if (!mm) { /* it has ended: as wait4 returns it */
		out->peak_pages = t->signal->maxrss;
		return;
	}
	if (bpf_core_field_exists(mm->rss_stat[0].counters)) {
		count_pages(mm, &out->shared_pages, &out->rss_pages);
	} else {
		out->shared_pages = positive(BPF_CORE_READ(old, rss_stat.count[FILES].counter)) +
				    positive(BPF_CORE_READ(old, rss_stat.count[SHMEM].counter));
		out->rss_pages = out->shared_pages +
				 positive(BPF_CORE_READ(old, rss_stat.count[ANONYMOUS].counter));
	}
	out->vms_pages = mm->total_vm;
	out->peak_pages = mm->hiwater_rss;
	if (out->peak_pages < out->rss_pages)
		out->peak_pages = out->rss_pages;
	if (t->mm != mm) /* it has just ended: this may be anything */
		out->vms_pages = out->rss_pages = out->shared_pages = out->peak_pages = 0;
}

/* ---- records */

static void write_thread(struct seq_file *seq, struct task_struct *t)
{
	struct bpf_tasks_thread out = {};

	out.pid = number(t);
	out.process = number_of_process(t);
	out.cpu_ns = t->se.sum_exec_runtime;
	out.delay_ns = t->sched_info.run_delay;
	if (out.pid && out.process)
		bpf_seq_write(seq, &out, sizeof(out));
}

static void write_process(struct seq_file *seq, struct task_struct *t)
{
	struct bpf_tasks_process out = {};
	struct signal_struct *signal = t->signal;
	bool is_stable = false;
	struct sums sums;

	out.first.pid = out.first.process = number(t);
	out.first.cpu_ns = t->se.sum_exec_runtime;
	out.first.delay_ns = t->sched_info.run_delay;
	out.parent = number_of_process(t->real_parent);
	if (t->flags & (IS_KTHREAD | IS_WQ_WORKER))
		out.flags |= BPF_TASKS_OF_KERNEL;
	out.nr_threads = signal->nr_threads;
	out.nr_runs = t->sched_info.pcount;
	out.start_ns = t->start_time;
	out.time_ns = now_ns;
	for (int i = 0; i < MAX_TRIES && !is_stable; i++)
		is_stable = get_sums(t, signal, &sums, &out.ended_ns);
	out.cpu_ns = sums.cpu_ns;
	out.minor_faults = sums.minor_faults;
	out.major_faults = sums.major_faults;
	out.read_bytes = sums.read_bytes;
	out.write_bytes = sums.write_bytes;
	if (has_memory)
		get_memory(t, &out);
	__builtin_memcpy(out.comm, t->comm, sizeof(out.comm));
	if (!t->thread_pid) /* released meanwhile: it is in its own sums */
		return;
	if (!is_stable)
		out.flags |= BPF_TASKS_TORN;
	if (out.first.pid)
		bpf_seq_write(seq, &out, sizeof(out));
}

SEC("cpuperf_iter/task")
int visit(struct bpf_iter__task *ctx)
{
	enum { NR_OF_A_TIME = 16 }; /* some microseconds */
	struct task_struct *t = ctx->task;
	__u64 nr = ctx->meta->seq_num;

	if (!t)
		return 0;
	if (nr == 0) {
		find_space();
		if (has_memory && !has_cpus)
			find_cpus();
	}
	if (nr == 0 || nr - now_nr >= NR_OF_A_TIME) {
		now_nr = nr;
		now_ns = bpf_ktime_get_ns();
	}
	if (t->pid != t->tgid) {
		if (has_threads)
			write_thread(ctx->meta->seq, t);
		return 0;
	}
	write_process(ctx->meta->seq, t);
	return 0;
}
