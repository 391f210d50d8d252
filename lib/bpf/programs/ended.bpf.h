// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Events that count calls when they end, those whose duration, arguments and result the event
 * means, for hits.bpf.c. What a call lasted and returns is not known before, so the sample is of
 * its end: its registers and its stack are the caller's, and its data has the function, the
 * duration, and the arguments and the result that were taken.
 *
 * The data is made in memory of the task: on the CPU another task may be hit meanwhile.
 */
#ifndef BPF_ENDED_BPF_H
#define BPF_ENDED_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bpf_hits_ended);
} ended SEC(".maps");

static const char no_text[] = "NULL", not_readable[] = "[not readable]";
const volatile __u64 ended_events; /* a bit for each that counts calls when they end */

/* What bpf_loop passes on. */
struct ending {
	void *ctx;
	struct bpf_hits_ended *to;
	struct bpf_hits_capture *capture;
	struct bpf_hits_open_values *open;
	__u64 due, bytes;
	__u32 depth, cpu;
};

/* As it was when the call began, if that is stored. */
static void copy_text(char *to, __u64 number, __u64 from)
{
	__u32 at = number - 1;
	struct bpf_hits_value *v =
	    number & ~BPF_HITS_LATER ? bpf_map_lookup_elem(&values, &at) : NULL;
	__u32 kind;

	if (number & BPF_HITS_LATER)
		v = NULL;
	if (v && (v->kind == BPF_HITS_TEXT || v->kind == BPF_HITS_LONG_TEXT)) {
		bpf_probe_read_kernel(to, BPF_HITS_TEXT_BYTES, v->text);
		return;
	}
	kind = kind_of_text(to, from);
	if (kind == BPF_HITS_NULL)
		bpf_probe_read_kernel(to, sizeof(no_text), no_text);
	if (kind == BPF_HITS_UNREADABLE)
		bpf_probe_read_kernel(to, sizeof(not_readable), not_readable);
}

static long copy_field(__u64 i, struct ending *w)
{
	__u32 at = i & (BPF_HITS_MAX_FIELDS - 1), slot = open_slot(w->depth, at);
	struct bpf_hits_field *f = &w->capture->field[at];

	if (i >= w->capture->nr)
		return 1;
	w->to->word[at] = w->open->word[slot];
	if (f->type == BPF_HITS_STRING)
		copy_text(w->to->text[f->text & (BPF_HITS_MAX_FIELDS - 1)], w->open->number[slot],
			  w->open->word[slot]);
	return 0;
}

static long send_ended(__u64 i, struct ending *w)
{
	__u32 slot = bpf_log2(w->due & -w->due) & (BPF_HITS_NR_SLOTS - 1);
	__u32 at = slot * nr_cpus + w->cpu;
	struct bpf_hits_counts *c = bpf_map_lookup_elem(&counts, &at);
	__u64 nr, bytes = w->bytes;

	if (!w->due)
		return 1;
	w->due &= w->due - 1;
	if (!c)
		return 0;
	nr = __sync_fetch_and_add(&c->hits, 1) + 1;
	if (!rates[slot] || nr % rates[slot])
		return 0;
	if (bytes > sizeof(*w->to))
		bytes = sizeof(*w->to);
	if (!w->to || bpf_perf_event_output(w->ctx, &outputs, at, w->to, bytes))
		__sync_fetch_and_add(&c->lost, 1);
	return 0;
}

/* The events that mean the call of those that are due, if they were enabled when it began, too. */
static __attribute__((noinline)) void find_values(struct ending *w, struct task_struct *t,
						  struct bpf_hits_place *place, __u64 wall)
{
	__u32 number = place->capture - 1;

	w->capture = place->capture ? bpf_map_lookup_elem(&captures, &number) : NULL;
	w->open = w->capture ? bpf_task_storage_get(&open_values, t, NULL, 0) : NULL;
	if (w->open)
		w->due &= w->open->events[w->depth & (BPF_HITS_DEPTH - 1)];
	if (w->due)
		w->due &= find_met(w->open, place->when, w->depth, wall);
}

/* What is known of the call beside its duration. nr: of the task's calls that are still open. */
static __attribute__((noinline)) void describe_ended(struct ending *w, struct task_struct *t,
						     __u64 nr)
{
	enum { TEXTS = offsetof(struct bpf_hits_ended, text), ITEM = 16 };
	enum { OPEN = offsetof(struct bpf_hits_ended, returns.open) };
	struct bpf_hits_returns *r;

	w->bytes = TEXTS;
	if (w->open && w->capture && w->to) {
		bpf_loop(BPF_HITS_MAX_FIELDS, copy_field, w, 0);
		w->bytes += w->capture->nr_texts * BPF_HITS_TEXT_BYTES;
	}
	r = has_returns ? bpf_task_storage_get(&returns, t, NULL, 0) : NULL;
	if (!r || !w->to)
		return;
	look_at_returns(t, nr);
	bpf_probe_read_kernel(&w->to->returns, sizeof(*r), r);
	w->bytes = OPEN + ITEM * nr;
}

/* call: the place of the call that has ended, above nr that are open. */
static __attribute__((noinline)) void count_ended(void *ctx, struct bpf_hits_place *place,
						  struct bpf_hits_call *call, __u64 wall, __u64 nr)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct ending w = {.ctx = ctx,
			   .due = place->events & ended_events & ~disabled,
			   .depth = nr,
			   .cpu = bpf_get_smp_processor_id()};

	if (!w.due || !is_on_measured_cpu(w.cpu))
		return;
	find_values(&w, t, place, wall);
	if (!w.due)
		return;
	w.to = bpf_task_storage_get(&ended, t, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (w.to) {
		w.to->duration_ns = wall;
		w.to->address = call->address;
		describe_ended(&w, t, nr);
	}
	bpf_loop(BPF_HITS_OF_PLACE, send_ended, &w, 0);
}

#endif
