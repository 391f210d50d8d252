// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * How long tasks wait: blocked, from the switch out to the wakeup, and for a CPU, from the wakeup
 * or the preemption to the switch in. Adds both up per CPU, and sends samples of them to perf
 * events. A wait counts on the CPU on which the task runs again; what lies before a reading is
 * added up by the iterator, on the task's last CPU. A sample is taken when the wait is over.
 *
 * Samples of an aggregated event are added up by stack, and only those that find no room are sent.
 *
 * What lies outside the time in which an event is enabled, or the task is in the control group that
 * is measured, is neither added up nor sampled.
 *
 * What lasts at a reading is read as if it ended there: where a sample is due, the iterator writes
 * it, and what follows is a wait of its own. Each ns is sampled with the same probability as if the
 * wait had not been divided.
 *
 * What is known of a task is stored with it (task storage): no table fills up, and a new task with
 * the number of an old one starts anew.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "base/wait_thinning.h"
#include "bpf/bits_shared.h"
#include "bpf/kernel_functions.h"
#include "bpf/programs/aggregate.bpf.h"
#include "bpf/waits_shared.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct sched_info {
	unsigned long long run_delay;
} __attribute__((preserve_access_index));

/* Of on_cpu, kernels have an int or a byte: what is unsigned is read as wide as it is there. */
struct task_struct {
	int pid, tgid;
	unsigned int __state, flags, on_cpu;
	int exit_state, wake_cpu;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct sched_info sched_info;
} __attribute__((preserve_access_index));

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id, seq_num;
} __attribute__((preserve_access_index));

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));

#define FOLLOW_TASK struct bpf_waits_task
#include "bpf/programs/follow.bpf.h"
#include "bpf/programs/interpreted.bpf.h"
#include "bpf/programs/interpreted_asleep.bpf.h"
#include "bpf/programs/lasting.bpf.h"
#include "bpf/programs/select.bpf.h"
#include "bpf/programs/space.bpf.h"

struct bpf_iter_task {
	__u64 opaque[3];
} __attribute__((aligned(8)));

/* A phase in which a task waits is its enum bpf_wait. */
enum { RUNS = BPF_NR_WAITS };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the number of CPUs, set when it is loaded */
	__type(key, __u32);
	__type(value, struct bpf_waits_sums);
} sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} off_cpu SEC(".maps"), run_queue SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* SLOTS, if wakers are stored */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct bpf_waker_slot)); /* less, with fewer pieces */
} wakers SEC(".maps");

/* The place of each register of a waker in struct pt_regs. */
const volatile __u16 reg_at[BPF_WAKER_REGS];
const volatile __u32 nr_regs, sp_reg;
const volatile __u64 reg_bits;
const volatile __u32 waker_pieces; /* of a waker's stack that a slot has room for */
const volatile bool has_wakers;
__u64 nr_wakers; /* stored so far */

/* The places in struct pt_regs of the number of a system call, of its arguments, and of what is
 * mode_64 in the bit MODE_BIT while a program of 64 bits runs. */
const volatile __u16 call_at, argument_at[3], mode_at;
const volatile __u32 mode_64;
const volatile __u32 futex_call; /* the number of futex(2); 0: futexes are not stored */

const volatile __u64 mean_ns[BPF_NR_WAITS];     /* between two samples; 0: none */
const volatile __u32 max_in_span[BPF_NR_WAITS]; /* samples of a CPU that are sent; 0: all */
const volatile bool counts_wakeups;
const volatile bool has_exit;      /* on_exit is attached */
const volatile bool has_iter_task; /* the kernel has the functions of that name */
const volatile bool is_added_up[BPF_NR_WAITS];
const volatile bool interprets, interprets_asleep;
const volatile bool asks; /* whether a process has an interpreter: then on_exit is loaded anew */
const volatile __u32 nr_cpus;                     /* tables: those of off-CPU time first */
const volatile __u32 weights[BPF_WAIT_STEPS + 1]; /* of bpf_wait_weight */

/* When each event was enabled, and disabled after that: CLOCK_MONOTONIC. */
__u64 enabled_ns[BPF_WAITS_NR_SUMS];
__u64 disabled_ns[BPF_WAITS_NR_SUMS];

/* log2(1 + i / 64), with 16 bits behind the point. */
static const __u32 log2_steps[65] = {
    0,     1466,  2909,  4331,  5732,  7112,  8473,  9814,  11136, 12440, 13727, 14996, 16248,
    17484, 18704, 19909, 21098, 22272, 23433, 24579, 25711, 26830, 27936, 29029, 30109, 31178,
    32234, 33279, 34312, 35334, 36346, 37346, 38336, 39316, 40286, 41246, 42196, 43137, 44068,
    44990, 45904, 46809, 47705, 48593, 49472, 50344, 51207, 52063, 52911, 53751, 54584, 55410,
    56229, 57040, 57845, 58643, 59434, 60219, 60997, 61769, 62534, 63294, 64047, 64794, 65536,
};

/* log2(1 + f / 2^31), with 16 bits behind the point: between two steps a line. */
static __u32 log2_of(__u32 f)
{
	__u32 step = f >> 25 & 63, rest = f >> 9 & 0xffff;
	__u32 low = log2_steps[step], high = log2_steps[step + 1];

	return low + ((high - low) * rest >> 16);
}

/* The nanoseconds from one sample to the next are distributed exponentially, so that each of them
 * is as likely to be sampled as any other: mean × ln(2^32 / r) for a random r of 32 bits. Not
 * static, so that the verifier follows it once, and not at each call. */
__attribute__((noinline)) __u64 draw(__u64 mean)
{
	__u32 r = bpf_get_prandom_u32() | 1;
	__u32 shift = (31 - bpf_log2(r)) & 31;
	__u64 log2;

	/* r = 2^(31 - shift) × (1 + f): the bits below the highest are f */
	log2 = ((__u64)(shift + 1) << 16) - log2_of(r << shift & 0x7fffffff);
	return (mean * log2 >> 16) * 45426 >> 16; /* × ln 2 */
}

static struct bpf_waits_sums *sums_of(__u32 cpu)
{
	return bpf_map_lookup_elem(&sums, &cpu);
}

/* When the task was moved into or out of the group: a thread with its process. The kernel reports a
 * move some time after it has changed the task's groups: what is not reported happened just now. */
static __u64 moved_ns(struct task_struct *t, struct bpf_waits_task *s, __u64 since, __u64 now)
{
	struct bpf_waits_task *leader = find(t->group_leader);
	__u64 ns = s->follow.moved_ns;
	bool is_reported;

	if (leader && leader->follow.moved_ns > ns)
		ns = leader->follow.moved_ns;
	is_reported = ns > s->follow.looked_ns && ns <= now;
	s->follow.looked_ns = now;
	if (!is_reported)
		return now;
	return ns < since ? since : ns;
}

/* How much of the wait is measured, from the time since until now. */
static __always_inline __u64 measured_ns(struct task_struct *t, struct bpf_waits_task *s,
					 __u32 phase, __u64 since, __u64 now)
{
	/* not by an index: Linux 6.1 loses the bounds of phase */
	bool is_queued = phase == BPF_WAIT_RUN_QUEUE;
	__u64 enabled = enabled_ns[is_queued ? BPF_WAIT_RUN_QUEUE : BPF_WAIT_OFF_CPU];
	__u64 disabled = disabled_ns[is_queued ? BPF_WAIT_RUN_QUEUE : BPF_WAIT_OFF_CPU];
	__u64 from = since, to = now;

	if (follow_groups(t, &s->follow)) {
		__u64 moved = moved_ns(t, s, since, now);

		if (s->follow.is_member)
			from = moved;
		else
			to = moved;
	} else if (cgroup_id && !s->follow.is_member) {
		return 0;
	}
	if (from < enabled)
		from = enabled;
	if (to > disabled)
		to = disabled;
	return to > from ? to - from : 0;
}

/* The numbers of the younger calls, which are those of all machines, also of 32 bits. */
enum { FUTEX_WAITV_CALL = 449, FUTEX_WAIT_CALL = 455, MODE_BIT = 0x10 };

/* What a task waits at. value: that word is to be another; ANY: no such call. */
#define ANY (~(__u64)0)
struct futex {
	__u64 address, value;
};

static __u64 read_argument(const char *regs, int i)
{
	__u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), regs + argument_at[i]);
	return value;
}

/* The first futex of those that futex_waitv(2) waits for. */
static void find_first(const char *regs, struct futex *out)
{
	__u64 waiter[2] = {0, 0}; /* of struct futex_waitv: the value, the address */

	bpf_probe_read_user(waiter, sizeof(waiter), (void *)read_argument(regs, 0));
	out->value = waiter[0];
	out->address = waiter[1];
}

static bool is_of_64_bits(const char *regs)
{
	__u32 mode = 0;

	bpf_probe_read_kernel(&mode, sizeof(mode), regs + mode_at);
	return (mode & MODE_BIT) == mode_64;
}

static void read_command(const char *regs, struct futex *out)
{
	enum { COMMAND = 127, WAIT = 0, WAIT_BITSET = 9 };
	const __u64 command = read_argument(regs, 1) & COMMAND;

	out->address = read_argument(regs, 0);
	if (command == WAIT || command == WAIT_BITSET)
		out->value = (__u32)read_argument(regs, 2);
}

/* The futex that the task waits at; its address 0: none. Also of a task that runs again, up to its
 * return to the program. Of a task that is not the current one, memory cannot be read. */
static struct futex futex_of(struct task_struct *t, bool is_current)
{
	const char *regs = (const char *)bpf_task_pt_regs(t);
	struct futex f = {0, ANY};
	__u32 call = 0;

	if (t->flags & KERNEL_THREAD || !futex_call ||
	    bpf_probe_read_kernel(&call, sizeof(call), regs + call_at))
		return f;
	if (call == futex_call) {
		read_command(regs, &f);
	} else if (call == FUTEX_WAIT_CALL && is_of_64_bits(regs)) {
		f.address = read_argument(regs, 0);
		f.value = read_argument(regs, 1);
	} else if (call == FUTEX_WAITV_CALL && is_current && is_of_64_bits(regs)) {
		find_first(regs, &f);
	}
	return f;
}

/* The current task waits at that futex: who owns it, if it is a lock that says so. A lock of glibc
 * waits for its word to be no longer 2, and has its owner 8 bytes behind that; the word of one with
 * priority inheritance, or of a robust one, is its owner. */
static __u32 owner_of(const struct futex *f)
{
	enum { OF_WORD = 0x3fffffff, CONTENDED = 2 };
	__u32 word[3] = {0, 0, 0};

	if (!f->address || bpf_probe_read_user(word, sizeof(word), (void *)f->address))
		return 0;
	return f->value == CONTENDED ? word[2] : word[0] & OF_WORD;
}

static void store_futex(struct bpf_waits_task *s, struct task_struct *t, bool is_current)
{
	struct futex f = {0, ANY};

	if (s->phase == BPF_WAIT_OFF_CPU)
		f = futex_of(t, is_current);
	s->futex = f.address;
	s->owner = is_current ? owner_of(&f) : 0;
}

/* Ends the phase in which the task waited, on a CPU whose runqueue is locked: adds up the part
 * since the last reading. A reading may do that at the same time, each for a part of its own. Only
 * its own CPU adds to a CPU's time in the run queue. */
static void end_phase(struct task_struct *t, struct bpf_waits_task *s, struct bpf_waits_sums *sum,
		      __u64 now)
{
	__u64 since = __sync_lock_test_and_set(&s->since, now);
	__u32 phase = s->phase & 1;
	__u64 ns = measured_ns(t, s, phase, since, now);

	if (!ns)
		return;
	s->waited[phase] += ns;
	if (phase == BPF_WAIT_RUN_QUEUE)
		sum->ns[phase] += ns;
	else
		__sync_fetch_and_add(&sum->ns[phase], ns);
}

/* False: the next sample lies in these ns. A reading may do it at the same time: then one of both
 * is as if it had not been, but left never falls below 0. */
static bool comes_nearer(struct bpf_waits_task *s, enum bpf_wait which, __u64 ns)
{
	__u64 left = *(volatile __u64 *)&s->left[which];

	if (!left) /* its first wait */
		left = draw(mean_ns[which]);
	if (ns < left)
		left -= ns;
	else
		ns = 0;
	*(volatile __u64 *)&s->left[which] = left;
	return ns;
}

/* 1: the next sample lies in the wait; 0: the wait brings it nearer. */
static __u64 is_due(struct bpf_waits_task *s, enum bpf_wait which)
{
	__u64 ns = s->waited[which];

	if (!mean_ns[which] || !ns)
		return 0;
	if (comes_nearer(s, which, ns)) {
		s->waited[which] = 0;
		return 0;
	}
	return 1;
}

static void count_wakeup(struct bpf_waits_task *s, struct bpf_waits_sums *sum, __u64 now)
{
	if (counts_wakeups && (!cgroup_id || s->follow.is_member) &&
	    now >= enabled_ns[BPF_WAITS_WAKEUPS] && now < disabled_ns[BPF_WAITS_WAKEUPS])
		__sync_fetch_and_add(&sum->wakeups, 1);
}

/* A kernel (6.18 of a virtual machine) was seen to run no program, and to report no switch, while
 * threads of its first process run: then who woke the task is not seen. The kernel's own sum of
 * waiting for CPUs, which it has updated when on_exit runs, says when it was. */
static bool is_unseen_wakeup(const struct bpf_waits_task *s)
{
	return has_exit && s->since && s->phase == BPF_WAIT_OFF_CPU;
}

static __u64 delay_of(struct task_struct *t)
{
	return bpf_core_field_exists(t->sched_info.run_delay) ? t->sched_info.run_delay : 0;
}

static void wake_late(struct task_struct *t, struct bpf_waits_task *s, struct bpf_waits_sums *sum,
		      __u64 now)
{
	__u64 queued = delay_of(t) - s->delay, woken = now - queued;

	if (queued > now || woken < s->since)
		woken = s->since;
	end_phase(t, s, sum, woken);
	s->phase = BPF_WAIT_RUN_QUEUE;
	count_wakeup(s, sum, woken);
}

/* The task runs from now on. */
static __always_inline void run(struct task_struct *t, struct bpf_waits_task *s,
				struct bpf_waits_sums *sum, __u64 now)
{
	if (s->since && s->phase < BPF_NR_WAITS)
		end_phase(t, s, sum, now);
	s->phase = RUNS;
	sum->due = is_due(s, BPF_WAIT_OFF_CPU) | is_due(s, BPF_WAIT_RUN_QUEUE);
}

/* Never allocates: the runqueue is locked. */
SEC("cpuperf_trace/sched_switch")
int BPF_PROG(on_switch, bool is_preempted, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 cpu = bpf_get_smp_processor_id();
	struct bpf_waits_sums *sum = sums_of(cpu);
	struct bpf_waits_task *s;

	if (!sum)
		return 0;
	if (prev->pid && (s = find(prev))) {
		s->waited[BPF_WAIT_OFF_CPU] = s->waited[BPF_WAIT_RUN_QUEUE] = 0; /* not sampled */
		s->waker = 0;
		if (has_exit)
			s->delay = delay_of(prev);
		s->since = s->follow.is_member == BPF_FOLLOW_STARTS ? 0 : now;
		s->phase = is_preempted || !prev->__state ? BPF_WAIT_RUN_QUEUE : BPF_WAIT_OFF_CPU;
		store_futex(s, prev, true);
	}
	sum->due = 0;
	sum->pid = next->pid;
	if (next->pid && (s = find(next))) {
		if (is_unseen_wakeup(s))
			sum->due = 1;
		else
			run(next, s, sum, now);
	}
	return 0;
}

struct mm_struct___waker {
	unsigned long start_stack;
} __attribute__((preserve_access_index));

/* How many bytes of the stack have frames, at most: no frame is above the arguments of the program,
 * nor above the data of the thread, which C libraries place above its stack. */
static __u64 used_of(struct task_struct *t, __u64 sp)
{
	enum { CALL_BYTES = 64 }; /* what calls the outermost function */
	struct task_struct___interpreted *task = (void *)t;
	struct mm_struct___waker *mm = (void *)BPF_CORE_READ(task, mm);
	__u64 used = mm ? BPF_CORE_READ(mm, start_stack) - sp : 0, of_thread = ~(__u64)0;

	if (bpf_core_field_exists(task->thread.fsbase))
		of_thread = BPF_CORE_READ(task, thread.fsbase) - sp;
	used = used < of_thread ? used : of_thread;
	return used < ~(__u64)0 - CALL_BYTES ? used + CALL_BYTES : used;
}

/* Less than a piece. False: some of it is not in memory. */
static bool copy_rest(struct bpf_waits_waker *w, __u8 *to, __u64 sp, __u64 bytes)
{
	if (bytes >= BPF_WAKER_PIECE ||
	    bpf_probe_read_user(to, bytes & (BPF_WAKER_PIECE - 1), (void *)sp))
		return false;
	w->stack_bytes += bytes;
	return true;
}

/* The innermost bytes of the stack, at most left, up to a page that is not in memory. */
static void copy_stack_of(struct bpf_waits_waker *w, __u64 sp, __u64 left)
{
	w->stack_bytes = 0;
	for (__u32 i = 0; i < BPF_WAKER_PIECES && i < waker_pieces; i++) {
		__u8 *to = w->stack + i * BPF_WAKER_PIECE;

		if (left < BPF_WAKER_PIECE ||
		    bpf_probe_read_user(to, BPF_WAKER_PIECE, (void *)sp)) {
			if (!copy_rest(w, to, sp, left))
				copy_rest(w, to, sp, 4096 - (sp & 4095));
			return;
		}
		w->stack_bytes += BPF_WAKER_PIECE;
		left -= BPF_WAKER_PIECE;
		sp += BPF_WAKER_PIECE;
	}
}

/* For callers without frame pointers. Tables to unwind programs of 32 bits are not known. */
static void copy_user(struct bpf_waits_waker *w, struct task_struct *t)
{
	char *regs = (char *)bpf_task_pt_regs(t);
	__u64 sp;

	for (int i = 0; i < BPF_WAKER_REGS; i++)
		if ((__u32)i < nr_regs)
			bpf_probe_read_kernel(&w->regs[i], sizeof(w->regs[i]), regs + reg_at[i]);
	sp = w->regs[sp_reg & (BPF_WAKER_REGS - 1)];
	w->nr_regs = nr_regs;
	w->reg_bits = reg_bits;
	copy_stack_of(w, sp, is_of_64_bits(regs) ? used_of(t, sp) : 0);
}

/* Clears a slot, so that nothing of the waker before is sent: of its stack only what is copied. */
static __always_inline void clear(struct bpf_waits_waker *w)
{
	volatile __u64 *words = (volatile __u64 *)w;

	for (__u32 i = 0; i < BPF_WAKER_HEAD / sizeof(*words); i++)
		words[i] = 0;
}

/* The task that runs here wakes t, or was interrupted by what wakes it. Stored only if the wait
 * will be sampled; the wait ends a little later, with sched_wakeup. */
SEC("?cpuperf_trace/sched_waking")
int BPF_PROG(on_waking, struct task_struct *t)
{
	enum { SLACK_NS = 20000 }; /* that may pass until sched_wakeup, at any rate */
	const __u64 slack = mean_ns[BPF_WAIT_OFF_CPU] / 16;
	struct task_struct *self = bpf_get_current_task_btf();
	struct bpf_waits_task *s = find(t);
	struct bpf_waker_slot *slot;
	struct bpf_waits_waker *w;
	__u64 now, number, waited;
	__u32 at;
	long n;

	if (!s || s->phase != BPF_WAIT_OFF_CPU || !s->since || (cgroup_id && !s->follow.is_member))
		return 0;
	if (!s->left[BPF_WAIT_OFF_CPU])
		s->left[BPF_WAIT_OFF_CPU] = draw(mean_ns[BPF_WAIT_OFF_CPU]);
	now = bpf_ktime_get_ns();
	waited = s->waited[BPF_WAIT_OFF_CPU] + now - s->since;
	if (waited + (slack > SLACK_NS ? slack : SLACK_NS) < s->left[BPF_WAIT_OFF_CPU])
		return 0;
	number = __sync_fetch_and_add(&nr_wakers, 1) + 1;
	at = number & (BPF_WAKER_SLOTS - 1);
	slot = bpf_map_lookup_elem(&wakers, &at);
	if (!slot)
		return 0;
	slot->number = 0;
	w = &slot->waker;
	clear(w);
	w->version = 1;
	w->pid = self->tgid;
	w->tid = self->pid;
	bpf_get_current_comm(w->comm, sizeof(w->comm));
	n = bpf_get_stack(ctx, w->kernel, sizeof(w->kernel), 0);
	w->nr_kernel = n > 0 ? n / sizeof(w->kernel[0]) : 0;
	if (!(self->flags & KERNEL_THREAD)) {
		n = bpf_get_stack(ctx, w->user, sizeof(w->user), BPF_F_USER_STACK);
		w->nr_user = n > 0 ? n / sizeof(w->user[0]) : 0;
		copy_user(w, self);
	}
	slot->ns = now;
	slot->number = number;
	s->waker = number;
	return 0;
}

/* Counted on the CPU on which the task will run. */
SEC("cpuperf_trace/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *t)
{
	struct bpf_waits_task *s = find(t);
	struct bpf_waits_sums *sum;
	__u64 now;

	if (!s || s->phase != BPF_WAIT_OFF_CPU || !s->since)
		return 0;
	sum = sums_of(t->wake_cpu);
	if (!sum)
		return 0;
	now = bpf_ktime_get_ns();
	end_phase(t, s, sum, now);
	s->phase = BPF_WAIT_RUN_QUEUE;
	count_wakeup(s, sum, now);
	return 0;
}

SEC("cpuperf_trace/sched_wakeup_new")
int BPF_PROG(on_new, struct task_struct *t)
{
	struct bpf_waits_task *s = find(t);

	if (s) {
		s->since = bpf_ktime_get_ns();
		s->phase = BPF_WAIT_RUN_QUEUE;
	}
	return 0;
}

/* False: the waker was not stored, or its slot is in use again. */
static bool send_waker(void *ctx, const struct bpf_waits_task *s, __u64 ns, void *to)
{
	__u32 at = s->waker & (BPF_WAKER_SLOTS - 1);
	struct bpf_waker_slot *slot = s->waker ? bpf_map_lookup_elem(&wakers, &at) : NULL;
	__u64 bytes;

	if (!slot || slot->number != s->waker)
		return false;
	bytes = slot->waker.stack_bytes;
	__asm__ volatile("" : "+r"(bytes)); /* the verifier knows the bounds of what is compared */
	if (bytes > waker_pieces * BPF_WAKER_PIECE)
		return false;
	slot->waker.ns = ns;
	slot->waker.owner = s->owner;
	slot->waker.regs[BPF_WAKER_FUTEX] = s->futex;
	slot->waker.regs[BPF_WAKER_AGO] = bpf_ktime_get_ns() - slot->ns;
	if (slot->waker.nr_user)
		bpf_perf_event_output(ctx, to, BPF_F_CURRENT_CPU, &slot->waker,
				      BPF_WAKER_HEAD + bytes);
	else
		bpf_perf_event_output(ctx, to, BPF_F_CURRENT_CPU, &slot->waker, BPF_WAKER_SHORT);
	return true;
}

/* True: its table has it. Not inlined: it is large, and used for both kinds. */
static __attribute__((noinline)) bool add_up(void *ctx, __u32 which, __u64 ns, __u64 mean)
{
	return aggregate_add(ctx, which * nr_cpus + bpf_get_smp_processor_id(),
			     bpf_wait_weight(weights, ns, mean), NO_PLACE);
}

/* Of the samples that are due, some are sent, chosen at random. The level follows from what was
 * sent before, so it does not depend on the sample that is decided. False: it is not sent. */
static bool thin(struct bpf_waits_sums *sum, enum bpf_wait which, __u64 *word)
{
	struct bpf_waits_pace *p = &sum->pace[which];
	__u32 max = max_in_span[which], span = bpf_ktime_get_ns() >> BPF_WAITS_SPAN_BITS,
	      passed = span - p->span, level = p->level & 15;

	if (!max)
		return true;
	if (passed) {
		if (p->nr < max / 2 || passed > 1)
			level = level > passed ? level - passed : 0;
		p->nr = 0;
		p->span = span;
	} else if (p->nr >= max && level < WAIT_MAX_LEVEL) {
		level++;
		p->nr = max / 2;
	}
	p->level = level;
	if ((bpf_get_prandom_u32() & ((1u << WAIT_KEPT_BITS) - 1)) >=
	    wait_kept(*word, mean_ns[which], level))
		return false;
	p->nr++;
	*word |= (__u64)level << WAIT_NS_BITS;
	return true;
}

/* The task that has been switched to runs again: here its stack is that of the wait. is_plain: a
 * constant; samples are neither added up nor interpreted. */
static __always_inline void sample_wait(void *ctx, struct bpf_waits_task *s,
					struct bpf_waits_sums *sum, enum bpf_wait which, void *to,
					bool is_plain)
{
	struct bpf_waits_sample out = {.version = 0};
	__u64 ns;

	if (!mean_ns[which])
		return;
	ns = __sync_lock_test_and_set(&s->waited[which], 0); /* a reading may take it */
	if (!ns)
		return;
	s->left[which] = draw(mean_ns[which]);
	if (!is_plain && is_added_up[which] && add_up(ctx, which, ns, mean_ns[which]))
		return;
	if (!thin(sum, which, &ns))
		return;
	if (!is_plain && interprets)
		interpret(ctx);
	else if (asks)
		is_interpreted();
	out.ns = ns;
	if (has_wakers && which == BPF_WAIT_OFF_CPU && send_waker(ctx, s, ns, to))
		return;
	if (which == BPF_WAIT_OFF_CPU && s->futex) {
		out.version = BPF_WAITS_AT_FUTEX;
		out.owner = s->owner;
		out.futex = s->futex;
		bpf_perf_event_output(ctx, to, BPF_F_CURRENT_CPU, &out, sizeof(out));
		return;
	}
	bpf_perf_event_output(ctx, to, BPF_F_CURRENT_CPU, &out, BPF_WAITS_PLAIN_BYTES);
}

static __attribute__((noinline)) void sample(void *ctx, struct bpf_waits_task *s,
					     struct bpf_waits_sums *sum, enum bpf_wait which,
					     void *to)
{
	sample_wait(ctx, s, sum, which, to, false);
}

static __attribute__((noinline)) void sample_plain(void *ctx, struct bpf_waits_task *s,
						   struct bpf_waits_sums *sum, enum bpf_wait which,
						   void *to)
{
	sample_wait(ctx, s, sum, which, to, true);
}

/* Also finds a task to which no sched_switch was reported: see is_unseen_wakeup. */
static __always_inline int end_wait(void *ctx, bool is_plain)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct bpf_waits_sums *sum = sums_of(bpf_get_smp_processor_id());
	struct bpf_waits_task *s;
	__u64 now;

	if (!sum || (!sum->due && sum->pid == t->pid))
		return 0;
	s = t->pid ? find(t) : NULL;
	if (s && (sum->pid != t->pid || s->phase == BPF_WAIT_OFF_CPU)) {
		now = bpf_ktime_get_ns();
		if (is_unseen_wakeup(s))
			wake_late(t, s, sum, now);
		run(t, s, sum, now);
	}
	if (s && sum->due && s->phase == RUNS && is_plain) {
		sample_plain(ctx, s, sum, BPF_WAIT_OFF_CPU, &off_cpu);
		sample_plain(ctx, s, sum, BPF_WAIT_RUN_QUEUE, &run_queue);
	} else if (s && sum->due && s->phase == RUNS) {
		sample(ctx, s, sum, BPF_WAIT_OFF_CPU, &off_cpu);
		sample(ctx, s, sum, BPF_WAIT_RUN_QUEUE, &run_queue);
	}
	sum->due = 0;
	sum->pid = t->pid;
	return 0;
}

SEC("?cpuperf_trace/sched_exit_tp")
int BPF_PROG(on_exit, bool is_switch)
{
	return end_wait(ctx, false);
}

/* The same without what adds up and interprets, which the verifier reads in vain for a session that
 * does neither. */
SEC("?cpuperf_trace/sched_exit_tp")
int BPF_PROG(on_plain_exit, bool is_switch)
{
	return end_wait(ctx, true);
}

/* Selects the samples of the target's tasks from those of a CPU's event, as selected.bpf.c does,
 * which a session of waits need not load beside this. */
SEC("?perf_event")
int selected(void *ctx)
{
	if (!is_selected())
		return 0;
	if (asks)
		is_interpreted();
	bpf_tail_call(ctx, &next, 0);
	return 1;
}

/* Adds up the part of a wait that has lasted since then, and stores its ns, which nobody else adds
 * up. False: the wait has ended, or there is none. */
static __always_inline bool settle(struct task_struct *t, struct bpf_waits_task *s, __u64 since,
				   __u64 now, __u64 *ns)
{
	struct bpf_waits_sums *sum = sums_of(t->wake_cpu);
	__u32 phase = s->phase, is_waiting = phase < BPF_NR_WAITS;

	*ns = 0;
	__asm__ volatile("" : "+r"(phase)); /* Linux 6.1 loses the bounds that the compiler knows */
	if (!is_waiting || !since || since >= now || !sum ||
	    __sync_val_compare_and_swap(&s->since, since, now) != since)
		return false;
	*ns = measured_ns(t, s, phase & 1, since, now);
	__sync_fetch_and_add(&sum->settled[phase & 1], *ns);
	return true;
}

/* The sample may lack it if the wait ends at the same time. */
static void divide(struct task_struct *t, __u64 now)
{
	struct bpf_waits_task *s = find(t);
	__u32 phase;
	__u64 ns;

	if (!s || s->follow.is_member == is_in_cgroup(groups_of(t)))
		return;
	s->follow.moved_ns = now;
	phase = s->phase;
	if (settle(t, s, s->since, now, &ns))
		__sync_fetch_and_add(&s->waited[phase & 1], ns);
}

static int (*const iter_task_new)(struct bpf_iter_task *it, struct task_struct *t,
				  unsigned int flags) = KERNEL_FUNCTION(KERNEL_ITER_TASK_NEW);
static struct task_struct *(*const iter_task_next)(struct bpf_iter_task *it) =
    KERNEL_FUNCTION(KERNEL_ITER_TASK_NEXT);
static void (*const iter_task_destroy)(struct bpf_iter_task *it) =
    KERNEL_FUNCTION(KERNEL_ITER_TASK_DESTROY);

/* A process, or a thread alone, has been moved. Before Linux 6.7 other threads of it are divided
 * when their wait ends or is read, by when the process was moved at last. */
SEC("?cpuperf_trace/cgroup_attach_task")
int BPF_PROG(on_move, void *group, const char *path, struct task_struct *t, bool is_process)
{
	enum { THREADS_OF_PROCESS = 2 }; /* BPF_TASK_ITER_PROC_THREADS */
	__u64 now = bpf_ktime_get_ns();
	struct task_struct *thread;
	struct bpf_iter_task it;

	if (!is_process || !has_iter_task) {
		divide(t, now);
		return 0;
	}
	iter_task_new(&it, t, THREADS_OF_PROCESS);
	while ((thread = iter_task_next(&it)))
		divide(thread, now);
	iter_task_destroy(&it);
	return 0;
}

/* A task whose wait may last; NULL: it has none, or was found now. */
static struct bpf_waits_task *visit(struct task_struct *t)
{
	struct bpf_waits_task *s;

	if (!t->pid || t->exit_state)
		return NULL;
	s = find(t) ?: make_like(t, t);
	if (!s || s->follow.is_member == BPF_FOLLOW_STARTS || s->since)
		return s && s->since ? s : NULL;
	s->phase = t->on_cpu ? RUNS : t->__state ? BPF_WAIT_OFF_CPU : BPF_WAIT_RUN_QUEUE;
	store_futex(s, t, false);
	s->delay = delay_of(t);
	s->since = bpf_ktime_get_ns();
	return NULL;
}

/* A reading: adds up the waits that last, and finds the tasks that were there before. */
SEC("?cpuperf_iter/task")
int read_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct bpf_waits_task *s = t ? visit(t) : NULL;
	__u64 ns;

	if (s)
		settle(t, s, s->since, bpf_ktime_get_ns(), &ns);
	return 0;
}

__u64 nr_waiting; /* tasks that count_waiting met */

/* Of a command, whose tasks are all known: whether there is anything to be sampled. */
SEC("?cpuperf_iter/task")
int count_waiting(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct bpf_waits_task *s = t && !t->exit_state ? find(t) : NULL;

	if (s && s->since && s->follow.is_member != BPF_FOLLOW_STARTS && s->phase < BPF_NR_WAITS)
		nr_waiting++;
	return 0;
}

/* Whether the next sample lies in what waited before, and in the ns that it has lasted since. */
static bool comes(struct bpf_waits_task *s, enum bpf_wait which, __u64 ns)
{
	ns += s->waited[which];
	if (!mean_ns[which] || !ns)
		return false;
	if (!s->left[which])
		s->left[which] = draw(mean_ns[which]);
	return ns >= s->left[which];
}

/* What of the wait is not sampled yet, if a sample is due, else 0. ns: the last part. */
static __u64 take_due(struct bpf_waits_task *s, enum bpf_wait which, __u64 ns)
{
	ns += __sync_lock_test_and_set(&s->waited[which], 0);
	return mean_ns[which] && ns && !comes_nearer(s, which, ns) ? ns : 0;
}

/* Samples are drawn once they are written: before, the task may be visited again. */
static void finish(struct bpf_waits_task *s, enum bpf_wait which, __u64 ns, bool is_written)
{
	if (ns && is_written)
		s->left[which] = draw(mean_ns[which]);
	else if (ns)
		__sync_fetch_and_add(&s->waited[which], ns);
}

/* Of the iterator, beside which others of these programs run while it sleeps. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct work);
} lasting_work SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_interpreted_stack);
} lasting_interpreted SEC(".maps");

/* What the task is, so that it is known when its wait is read. */
static struct bpf_interpreted_process *get_acquainted(struct task_struct *t, __u64 *space)
{
	struct task_struct___interpreted *task = (void *)t;

	*space = (__u64)BPF_CORE_READ(task, mm);
	return process_of(task, t->tgid, *space);
}

/* What it interprets, in the stack of the iterator. */
static __always_inline void interpret_asleep(struct task_struct *t, struct bpf_waits_lasting *l)
{
	struct interpreter_walk k = {.asleep = t, .process = t->tgid};
	const __u32 zero = 0;
	__u32 nr;

	k.p = get_acquainted(t, &k.space);
	k.w = bpf_map_lookup_elem(&lasting_work, &zero);
	k.stack = bpf_map_lookup_elem(&lasting_interpreted, &zero);
	nr = k.p && k.w && k.stack ? walk_out_asleep(&k, (void *)t, t->pid) : 0;
	if (!nr)
		return;
	if (nr > BPF_LASTING_FRAMES) {
		k.stack->nr = nr = BPF_LASTING_FRAMES;
		k.stack->is_partial = 1;
	}
	l->interpreted_bytes = __builtin_offsetof(struct bpf_interpreted_stack, frame) +
			       nr * sizeof(struct bpf_interpreted_frame);
}

static void (*const rcu_read_lock)(void) = KERNEL_FUNCTION(KERNEL_RCU_READ_LOCK);
static void (*const rcu_read_unlock)(void) = KERNEL_FUNCTION(KERNEL_RCU_READ_UNLOCK);

/* The same, with samples. May sleep, to read the memory of programs. The stack is taken first: a
 * wait that ends meanwhile is not divided, and is sampled where it ended. */
SEC("?cpuperf_iter.s/task")
int sample_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct seq_file *seq = ctx->meta->seq; /* once: see number_of_process */
	struct bpf_waits_task *s;
	struct bpf_waits_lasting *l;
	struct bpf_interpreted_stack *interpreted;
	__u64 now = 0, since = 0, lasts, ns;
	__u32 zero = 0, phase;
	bool is_settled, is_written;

	if (ctx->meta->seq_num == 0)
		find_space();
	l = bpf_map_lookup_elem(&lasting, &zero);
	interpreted = bpf_map_lookup_elem(&lasting_interpreted, &zero);
	if (!t || !l || !interpreted)
		return 0;
	rcu_read_lock(); /* for its group leader */
	s = visit(t);
	if (interprets_asleep && !s && find(t))
		get_acquainted(t, &ns);
	if (s) {
		since = *(volatile __u64 *)&s->since;
		now = bpf_ktime_get_ns();
	}
	rcu_read_unlock();
	if (!s || since >= now)
		return 0;
	phase = s->phase;
	lasts = now - since;
	l->nr_kernel = l->nr_user = l->stack_bytes = l->has_regs = l->interpreted_bytes = 0;
	if (comes(s, BPF_WAIT_OFF_CPU, phase == BPF_WAIT_OFF_CPU ? lasts : 0) ||
	    comes(s, BPF_WAIT_RUN_QUEUE, phase == BPF_WAIT_RUN_QUEUE ? lasts : 0)) {
		get_stacks(t, l);
		if (interprets_asleep)
			interpret_asleep(t, l);
	}
	rcu_read_lock();
	phase = s->phase;
	is_settled = settle(t, s, since, now, &ns);
	rcu_read_unlock();
	if (!is_settled)
		return 0;
	l->ns[BPF_WAIT_OFF_CPU] = take_due(s, BPF_WAIT_OFF_CPU, phase == BPF_WAIT_OFF_CPU ? ns : 0);
	l->ns[BPF_WAIT_RUN_QUEUE] =
	    take_due(s, BPF_WAIT_RUN_QUEUE, phase == BPF_WAIT_RUN_QUEUE ? ns : 0);
	if (!l->ns[BPF_WAIT_OFF_CPU] && !l->ns[BPF_WAIT_RUN_QUEUE])
		return 0;
	l->time_ns = now;
	l->pid = number_of_process(t);
	l->tid = number(t);
	l->cpu = t->wake_cpu;
	l->futex = s->futex;
	l->owner = s->owner;
	is_written = !write_lasting(seq, l, interpreted);
	finish(s, BPF_WAIT_OFF_CPU, l->ns[BPF_WAIT_OFF_CPU], is_written);
	finish(s, BPF_WAIT_RUN_QUEUE, l->ns[BPF_WAIT_RUN_QUEUE], is_written);
	return 0;
}
