// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Calls of functions: counted at the entry, per event and CPU and per function; timed at the
 * return, by a stack of open calls that is stored with the task. The breakpoints are in all
 * processes that map the file; only calls of tasks that are measured count.
 *
 * A call is recognised by the address of its return address. What is below that of a call that
 * begins or returns has ended without a return that was seen: by longjmp, by an exception. The
 * kernel, which replaces the return addresses, forgets them by the same rule; where that would harm
 * a program that changes its stack (coroutines, signals), a call is counted, and its return address
 * stays.
 *
 * Numbers are added with atomic operations to memory that the recorder has mapped: another task may
 * be hit before this one has finished, on the same CPU. And the recorder reads them without
 * bpf(2), during which the kernel would skip programs of perf events.
 */
#include <stdbool.h>

#include <linux/bpf.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/bits_shared.h"
#include "bpf/hits_shared.h"
#include "bpf/kernel_functions.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct xol_area {
	unsigned long vaddr;
} __attribute__((preserve_access_index));

struct uprobes_state {
	struct xol_area *xol_area;
} __attribute__((preserve_access_index));

struct vm_area_struct {
	unsigned long vm_end;
} __attribute__((preserve_access_index));

struct mm_struct {
	struct uprobes_state uprobes_state;
} __attribute__((preserve_access_index));

struct task_struct {
	int pid, tgid;
	struct task_struct *group_leader;
	struct mm_struct *mm;
} __attribute__((preserve_access_index));

struct pt_regs {
	unsigned long ip, sp;
} __attribute__((preserve_access_index));

struct pt_regs___arm64 {
	unsigned long regs[31], pc;
} __attribute__((preserve_access_index));

#define FOLLOW_TASK struct bpf_hits_task
#include "bpf/programs/follow.bpf.h"
#include "bpf/programs/values.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* a place for each event and CPU, set when it is loaded */
	__type(key, __u32);
	__type(value, struct bpf_hits_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1); /* as counts */
	__type(key, __u32);
	__type(value, __u32);
} outputs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the functions, set when it is loaded */
	__type(key, __u32);
	__type(value, struct bpf_hits_place);
} places SEC(".maps");

/* For each function nr_blocks of them, which CPUs share. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_hits_sums);
} sums SEC(".maps");

/* For each function nr_buckets numbers of 32 bits, which begin again at 0. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 8); /* set when it is loaded */
} buckets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bpf_hits_returns);
} returns SEC(".maps");

const volatile bool has_returns; /* samples have them */
const volatile __u32 nr_cpus, nr_blocks, bits, nr_buckets;
const volatile __u64 rates[BPF_HITS_NR_SLOTS]; /* calls per sample; 0: not sampled */
const volatile bool has_cpus;
const volatile __u64 measured_cpus[BPF_HITS_MAX_CPUS / 64];
/* Events that are disabled: a bit for each. */
__u64 disabled;
/* Which breakpoints count: when they are set anew, for a time there are those of before, too. */
__u32 generation;

static bool is_on_measured_cpu(__u32 cpu)
{
	return !has_cpus || (cpu < BPF_HITS_MAX_CPUS && measured_cpus[cpu / 64] >> cpu % 64 & 1);
}

/* Threads that were there before are recognised by their process, and get a value at their first
 * hit. */
static struct bpf_hits_task *measured(struct task_struct *t)
{
	struct bpf_hits_task *s = find(t);

	if (!s)
		s = make_like(t, t);
	if (!s)
		return NULL;
	follow_groups(t, &s->follow);
	return s->follow.is_member == 1 ? s : NULL;
}

static struct bpf_hits_sums *sums_of(__u32 place)
{
	__u32 at = place * nr_blocks + bpf_get_smp_processor_id() % nr_blocks;

	return bpf_map_lookup_elem(&sums, &at);
}

static __attribute__((noinline)) long send(void *ctx, __u32 at)
{
	enum { HEAD = offsetof(struct bpf_hits_returns, open), ITEM = 16 };
	struct bpf_hits_returns *r = NULL;
	__u64 bytes, none[2] = {0};

	if (has_returns)
		r = bpf_task_storage_get(&returns, bpf_get_current_task_btf(), NULL, 0);
	if (!r)
		return bpf_perf_event_output(ctx, &outputs, at, none, sizeof(none));
	bytes = HEAD + ITEM * r->nr;
	if (bytes > sizeof(*r))
		bytes = sizeof(*r);
	return bpf_perf_event_output(ctx, &outputs, at, r, bytes);
}

static void count(void *ctx, __u32 slot, __u32 cpu)
{
	__u32 at = slot * nr_cpus + cpu;
	struct bpf_hits_counts *c = bpf_map_lookup_elem(&counts, &at);
	__u64 nr;

	slot &= BPF_HITS_NR_SLOTS - 1;
	if (!c)
		return;
	nr = __sync_fetch_and_add(&c->hits, 1) + 1;
	if (rates[slot] && nr % rates[slot] == 0 && send(ctx, at))
		__sync_fetch_and_add(&c->lost, 1);
}

/* What bpf_loop passes on. */
struct walk {
	struct bpf_hits_task *s;
	void *ctx;
	__u64 events, stack, place, nr;
	__u32 cpu;
};

static long count_next(__u64 i, struct walk *w)
{
	if (!w->events)
		return 1;
	count(w->ctx, bpf_log2(w->events & -w->events), w->cpu);
	w->events &= w->events - 1;
	return 0;
}

static __always_inline void count_events(void *ctx, __u64 events, __u32 cpu)
{
	struct walk w = {.ctx = ctx, .events = events, .cpu = cpu};

	bpf_loop(BPF_HITS_OF_PLACE, count_next, &w, 0);
}

/* --- the stack of open calls ----------------------------------------------------------------- */

static __u64 trampoline_of(struct task_struct *t)
{
	struct xol_area *area = BPF_CORE_READ(t, mm, uprobes_state.xol_area);

	return bpf_core_field_exists(area->vaddr) ? BPF_CORE_READ(area, vaddr) : 0;
}

static __u64 return_address(void *ctx, __u64 stack)
{
	struct pt_regs___arm64 *arm64 = ctx;
	__u64 to = 0;

	if (bpf_core_field_exists(arm64->regs))
		return BPF_CORE_READ(arm64, regs[30]);
	bpf_probe_read_user(&to, sizeof(to), (void *)stack);
	return to;
}

static __u64 instruction(void *ctx)
{
	struct pt_regs___arm64 *arm64 = ctx;
	struct pt_regs *x86 = ctx;

	return bpf_core_field_exists(arm64->regs) ? BPF_CORE_READ(arm64, pc) : x86->ip;
}

/* Before a sample: which return addresses are replaced now. */
static __attribute__((noinline)) void look_at_returns(struct task_struct *t, __u64 nr)
{
	struct bpf_hits_returns *r = bpf_task_storage_get(&returns, t, NULL, 0);

	if (!r)
		return;
	r->nr = nr;
	r->trampoline = trampoline_of(t);
}

static __attribute__((noinline)) void note_return(struct pt_regs *ctx, __u64 stack, __u64 at)
{
	struct bpf_hits_returns *r = bpf_task_storage_get(&returns, bpf_get_current_task_btf(),
							  NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!r)
		return;
	at &= BPF_HITS_DEPTH - 1;
	r->open[at].stack = stack;
	r->open[at].address = return_address(ctx, stack);
}

/* The return address of the call at this address of the stack is the kernel's still: the call is
 * open. On arm64 it is known only of a call that begins there. */
static __attribute__((noinline)) bool is_replaced(void *ctx, __u64 stack, bool begins)
{
	struct pt_regs___arm64 *arm64 = ctx;
	__u64 to = 0, trampoline = trampoline_of(bpf_get_current_task_btf());

	if (!bpf_core_field_exists(arm64->regs))
		bpf_probe_read_user(&to, sizeof(to), (void *)stack);
	else if (begins)
		to = BPF_CORE_READ(arm64, regs[30]);
	return trampoline && to == trampoline;
}

static long compare_end(struct task_struct *t, struct vm_area_struct *area, __u64 *above)
{
	*above = area->vm_end > *above;
	return 0;
}

/* Both addresses are on one stack. */
static __attribute__((noinline)) bool is_same_stack(__u64 below, __u64 above)
{
	return bpf_find_vma(bpf_get_current_task_btf(), below, compare_end, &above, 0) == 0 &&
	       above == 1;
}

#include "bpf/programs/ended.bpf.h"

static struct bpf_hits_call *top(struct bpf_hits_task *s)
{
	return &s->call[(s->nr - 1) & (BPF_HITS_DEPTH - 1)];
}

static void leave_top(struct bpf_hits_task *s)
{
	struct bpf_hits_sums *x = sums_of(top(s)->place);

	if (x)
		__sync_fetch_and_add(&x->left, 1);
	s->nr--;
}

static long find_below(__u64 i, struct walk *w)
{
	if (!w->nr || w->s->call[(w->nr - 1) & (BPF_HITS_DEPTH - 1)].stack > w->stack)
		return 1;
	w->nr--;
	return 0;
}

static long leave_above(__u64 i, struct walk *w)
{
	if (w->s->nr <= w->nr)
		return 1;
	leave_top(w->s);
	return 0;
}

/* Removes calls that have ended: those below the address at which one begins. The first of them may
 * be open: if it is at that address, it has jumped here as its last act. Else the task has changed
 * its stack: false: the kernel, which has the same rule, would take that one as ended if this
 * return address were replaced, too, and then kill the program when it returns. */
static __attribute__((noinline)) bool leave_ended(struct bpf_hits_task *s, void *ctx, __u64 stack)
{
	struct walk w = {.s = s, .stack = stack, .nr = s->nr};
	__u64 is;

	bpf_loop(BPF_HITS_DEPTH, find_below, &w, 0);
	is = s->call[w.nr & (BPF_HITS_DEPTH - 1)].stack;
	if (is_replaced(ctx, is, is == stack)) {
		if (is != stack)
			return false;
		w.nr++;
	}
	bpf_loop(BPF_HITS_DEPTH, leave_above, &w, 0);
	return true;
}

/* There is room for the call, and nothing that is open is in danger if the return address of one
 * that begins here is replaced. */
static __always_inline bool may_push(struct bpf_hits_task *s, void *ctx, __u64 stack)
{
	enum { NEAR = 16 << 10 };
	__u64 last;

	if (!s->nr)
		return true;
	last = top(s)->stack;
	if (last <= stack)
		return leave_ended(s, ctx, stack) && s->nr < BPF_HITS_DEPTH;
	if (s->nr >= BPF_HITS_DEPTH)
		return false;
	return last - stack < NEAR || is_same_stack(stack, last);
}

/* What is open pays for this call, too. */
static void add_cost(struct bpf_hits_task *s, __u64 ns)
{
	if (s->nr)
		top(s)->cost_ns += ns;
}

/* False: the return will not be seen. */
static __always_inline bool push(struct bpf_hits_task *s, struct pt_regs *ctx,
				 struct bpf_hits_place *place, __u32 number,
				 struct bpf_hits_sums *x)
{
	__u64 stack = ctx->sp;
	struct bpf_hits_call *call;

	if (!may_push(s, ctx, stack)) {
		__sync_fetch_and_add(&x->skipped, 1);
		add_cost(s, place->entry_ns);
		return false;
	}
	s->nr++;
	call = top(s);
	call->stack = stack;
	call->off_ns = s->off_ns;
	call->child_ns = call->cost_ns = 0;
	call->place = number;
	call->address = instruction(ctx);
	if (has_returns)
		note_return(ctx, stack, s->nr - 1);
	call->start_ns = bpf_ktime_get_ns();
	return true;
}

/* Whether its return is to be seen. */
static __always_inline bool enter(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 number = cookie, cpu = bpf_get_smp_processor_id();
	struct bpf_hits_place *place = bpf_map_lookup_elem(&places, &number);
	struct task_struct *t = bpf_get_current_task_btf();
	struct bpf_hits_task *s;
	struct bpf_hits_sums *x;
	bool is_open;
	__u64 events;

	if (!place)
		return false;
	events = place->events & ~disabled;
	if (!place->is_own && (!events || cookie >> 32 != generation || !is_on_measured_cpu(cpu)))
		return false;
	s = measured(t);
	if (!s && place->is_own)
		s = make(t);
	x = sums_of(number);
	if (!s || !x)
		return false;
	if (has_returns)
		look_at_returns(t, s->nr);
	count_events(ctx, events & ~ended_events, cpu);
	__sync_fetch_and_add(&x->calls, 1);
	is_open = place->is_timed && push(s, ctx, place, number, x);
	if (!place->is_timed)
		add_cost(s, place->cost_ns);
	if (!max_values || !place->capture)
		return is_open;
	take_arguments(ctx, ctx->sp, place, events, s->nr - 1, is_open);
	if (is_open && s->nr)
		top(s)->start_ns = bpf_ktime_get_ns();
	return is_open;
}

/* The address at which the return address was, when it is used. */
static __u64 returned_from(struct pt_regs *ctx)
{
	struct pt_regs___arm64 *arm64 = (void *)ctx;

	return bpf_core_field_exists(arm64->regs) ? ctx->sp : ctx->sp - 8;
}

static long leave_below(__u64 i, struct walk *w)
{
	if (!w->s->nr || top(w->s)->stack >= w->stack)
		return 1;
	leave_top(w->s);
	return 0;
}

static long find_at(__u64 i, struct walk *w)
{
	struct bpf_hits_call *c;

	if (!w->nr)
		return 1;
	c = &w->s->call[(w->nr - 1) & (BPF_HITS_DEPTH - 1)];
	if (c->stack != w->stack)
		w->nr = 0;
	else if (c->place != w->place)
		w->nr--;
	else
		return 1;
	return 0;
}

/* The number of the call, from 1, that returns; 0: it was not pushed. Mostly it is the last one. */
static __always_inline __u64 find_call(struct bpf_hits_task *s, __u32 number, __u64 stack)
{
	struct walk w = {.s = s, .stack = stack, .place = number};

	if (top(s)->stack == stack && top(s)->place == number)
		return s->nr;
	bpf_loop(BPF_HITS_DEPTH, leave_below, &w, 0);
	w.nr = s->nr;
	bpf_loop(BPF_HITS_DEPTH, find_at, &w, 0);
	return w.nr;
}

static void add_time(__u32 number, __u64 ns)
{
	__u32 *bucket = bpf_map_lookup_elem(&buckets, &number);
	__u32 at = bpf_bucket(ns, bits, nr_buckets);

	if (bucket && at < nr_buckets)
		__sync_fetch_and_add(bucket + at, 1);
}

static __always_inline void leave(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns(), nr, wall, off;
	__u32 number = bpf_get_attach_cookie(ctx);
	struct bpf_hits_place *place = bpf_map_lookup_elem(&places, &number);
	struct bpf_hits_task *s = find(bpf_get_current_task_btf());
	struct bpf_hits_sums *x = sums_of(number);
	struct bpf_hits_call *c;

	if (!place || !s || !s->nr || !x)
		return;
	nr = find_call(s, number, returned_from(ctx));
	if (!nr)
		return;
	s->nr = nr;
	c = top(s);
	wall = now - c->start_ns;
	off = s->off_ns - c->off_ns;
	s->nr--;
	add_cost(s, c->cost_ns + place->cost_ns);
	if (s->nr)
		top(s)->child_ns += wall;
	__sync_fetch_and_add(&x->wall_ns, wall);
	__sync_fetch_and_add(&x->self_ns, wall > c->child_ns ? wall - c->child_ns : 0);
	__sync_fetch_and_add(&x->cpu_ns, wall > off ? wall - off : 0);
	__sync_fetch_and_add(&x->cost_ns, c->cost_ns + place->inside_ns);
	if (wall > x->max_ns)
		x->max_ns = wall; /* of two tasks at once the smaller may win */
	add_time(number, wall);
	if (max_values && place->capture)
		take_result(ctx, place->capture, s->nr, wall);
	if (place->events & ended_events)
		count_ended(ctx, place, c, wall, s->nr);
}

static bool (*const session_is_return)(void) = KERNEL_FUNCTION(KERNEL_SESSION_IS_RETURN);

/* 1: the return is not wanted, so the kernel does not replace the return address. */
SEC("?cpuperf_session")
int on_session(struct pt_regs *ctx)
{
	if (!session_is_return())
		return !enter(ctx);
	leave(ctx);
	return 0;
}

SEC("?kprobe")
int on_entry(struct pt_regs *ctx)
{
	enter(ctx);
	return 0;
}

SEC("?kprobe")
int on_return(struct pt_regs *ctx)
{
	leave(ctx);
	return 0;
}

/* --- what happens to tasks ------------------------------------------------------------------- */

SEC("?cpuperf_trace/sched_switch")
int BPF_PROG(on_switch, bool is_preempted, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_ns();
	struct bpf_hits_task *s;

	if (prev->pid && (s = find(prev)) && s->nr)
		s->off_since_ns = now;
	if (next->pid && (s = find(next)) && s->off_since_ns) {
		s->off_ns += now - s->off_since_ns;
		s->off_since_ns = 0;
	}
	return 0;
}

/* The new program has another stack. */
SEC("?cpuperf_trace/sched_process_exec")
int BPF_PROG(on_new_program, struct task_struct *t)
{
	struct walk w = {.s = find(t)};

	if (w.s)
		bpf_loop(BPF_HITS_DEPTH, leave_above, &w, 0);
	return 0;
}
