/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Writes what the running thread interprets into the ring of the CPU, directly before a sample of
 * it.
 *
 * Memory of the program is read where it is, without a stop: the thread is interrupted, or has just
 * waited, so its own frames do not change. Anything may be there: each read may fail, and each loop
 * has a limit.
 *
 * Addresses of code are used again as soon as the code is freed. So code has a number that is made
 * of all that tells it from other code at the same place, its name's hash among them; and what it
 * is called is read at once, while the frame holds it.
 *
 * The maps but for works and interpreted_stacks are those of interpreted.bpf.c in all programs
 * (interpreted_share). Those two are each program's own, since one may interrupt another.
 */
#ifndef BPF_INTERPRETED_BPF_H
#define BPF_INTERPRETED_BPF_H

#include "bpf/interpreted_shared.h"

enum {
	MAX_THREADS = 4096,
	MAX_INTERPRETERS = 16,
	RETRY_NS = 20000000, /* a thread that the interpreter does not have, or not yet */
	FRAME_BYTES = 128,
	OF_KERNEL =
	    0x4010, /* PF_USER_WORKER, PF_IO_WORKER: has the memory of a thread, and its fsbase */
};

struct thread_struct {
	unsigned long fsbase;
} __attribute__((preserve_access_index));

struct task_struct___interpreted {
	struct thread_struct thread;
	void *mm;
	unsigned int flags;
	struct task_struct___interpreted *real_parent;
	int tgid;
} __attribute__((preserve_access_index));

struct thread {
	__u64 state, space; /* state 0: the interpreter has no such thread */
	__u64 until_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct bpf_interpreted_process);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u32);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} messages SEC(".maps");

/* Two, since the kernel limits a value to 32 KiB. */
struct work {
	struct bpf_interpreted_code code;
	__u8 frame[FRAME_BYTES], object[BPF_INTERPRETED_OBJECT_BYTES];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct work);
} works SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_interpreted_stack);
} interpreted_stacks SEC(".maps");

struct interpreter_walk {
	struct work *w;
	struct bpf_interpreted_stack *stack;
	struct bpf_interpreted_process *p;
	__u64 frame, space;
	__u64 calls; /* the interpreter's own frame, in which it was entered (_PyCFrame) */
	__u32 process;
	bool is_later; /* not in the innermost of these */
};

struct thread_search {
	struct bpf_interpreted_process *p;
	__u64 interpreter, state, number, found;
};

static bool load(void *to, __u32 bytes, __u64 at)
{
	return bpf_probe_read_user(to, bytes, (void *)at) == 0;
}

static __u64 word_of_frame(const __u8 *frame, __u16 at)
{
	return *(const __u64 *)(frame + (at & (FRAME_BYTES - 8)));
}

/* Copies a str. A long one keeps its end, which tells more of a path. */
static bool copy_text(const struct bpf_interpreted_process *p, __u64 at,
		      struct bpf_interpreted_text *out, __u8 *to)
{
	__u64 length, bytes, from;
	__u32 state, width, most;

	if (!load(&length, sizeof(length), at + p->at.text_length) ||
	    !load(&state, sizeof(state), at + p->at.text_state))
		return false;
	width = bpf_interpreted_width(state);
	if (!width || length > BPF_INTERPRETED_MAX_LENGTH)
		return false;
	from = at + (bpf_interpreted_is_ascii(state) ? p->at.text_ascii : p->at.text_other);
	bytes = length * width;
	most = (BPF_INTERPRETED_NAME_BYTES - 1) & ~3u;
	if (bytes > most) {
		from += bytes - most;
		bytes = most;
	}
	bytes &= BPF_INTERPRETED_NAME_BYTES - 1;
	out->bytes = bytes;
	out->width = width;
	return load(to, bytes, from);
}

/* Says once what code is called. False: not all of it can be read. */
static bool define(struct interpreter_walk *k, __u64 number)
{
	const struct bpf_interpreted_process *p = k->p;
	struct bpf_interpreted_code *c = &k->w->code;
	const __u8 *object = k->w->object;
	const __u32 said = 1;
	__u64 lines = bpf_interpreted_word(object, p->at.code_lines), bytes;

	c->message = BPF_INTERPRETED_CODE;
	c->process = k->process;
	c->code = number;
	c->first_line =
	    *(const __u32 *)(object + (p->at.code_first_line & (BPF_INTERPRETED_OBJECT_BYTES - 4)));
	c->lines_bytes = c->is_cut = 0;
	c->line_table = p->at.line_table;
	if (!copy_text(p, bpf_interpreted_word(object, p->at.code_file), &c->file, c->file_text) ||
	    !copy_text(p, bpf_interpreted_word(object, p->at.code_name), &c->name, c->name_text) ||
	    !load(&bytes, sizeof(bytes), lines + p->at.bytes_length))
		return false;
	if (bytes > BPF_INTERPRETED_LINES_BYTES - 1) {
		bytes = BPF_INTERPRETED_LINES_BYTES - 1;
		c->is_cut = 1;
	}
	bytes &= BPF_INTERPRETED_LINES_BYTES - 1;
	if (!load(c->lines, bytes, lines + p->at.bytes_data))
		return false;
	c->lines_bytes = bytes;
	if (bpf_ringbuf_output(&messages, c,
			       __builtin_offsetof(struct bpf_interpreted_code, lines) + bytes,
			       0) == 0)
		bpf_map_update_elem(&seen, &number, &said, BPF_ANY);
	return true;
}

/* Once; later samples try again. */
static void ask_for_code(struct interpreter_walk *k, __u64 number, __u64 code)
{
	const struct bpf_interpreted_far far = {BPF_INTERPRETED_FAR, k->process, number, code,
						k->space};
	const __u32 asked = 0;

	if (bpf_ringbuf_output(&messages, (void *)&far, sizeof(far), 0) == 0)
		bpf_map_update_elem(&seen, &number, &asked, BPF_ANY);
}

/* The number of the code at an address; 0: there is none. */
static __u64 code_number(struct interpreter_walk *k, __u64 code)
{
	const struct bpf_interpreted_process *p = k->p;
	__u8 *object = k->w->object;
	struct bpf_interpreted_place place = {
	    .space = k->space, .address = code, .process = k->process};
	__u64 number;
	__u32 *is_said;
	__u32 bytes = p->at.code_bytes & (BPF_INTERPRETED_OBJECT_BYTES - 1);

	if (!load(object, bytes, code) ||
	    bpf_interpreted_word(object, p->at.object_type) != p->code_type)
		return 0;
	/* not in memory: then without, and from the recorder (interpreters/far.c), which must
	 * come to the same number */
	if (!load(&place.hash, sizeof(place.hash),
		  bpf_interpreted_word(object, p->at.code_name) + p->at.text_hash))
		place.hash = 0;
	number = bpf_interpreted_number(&place, object, &p->at);
	is_said = bpf_map_lookup_elem(&seen, &number);
	if (!(is_said && *is_said) && !define(k, number) && !is_said)
		ask_for_code(k, number, code);
	return number;
}

/* Goes on in the call around this one. False: it cannot be read. */
static bool leave_call(struct interpreter_walk *k)
{
	const struct bpf_interpreted_offsets *at = &k->p->at;

	k->is_later = true;
	k->frame = 0;
	return at->frames_current != BPF_INTERPRETED_NOWHERE &&
	       load(&k->calls, sizeof(k->calls), k->calls + at->frames_previous) && k->calls &&
	       load(&k->frame, sizeof(k->frame), k->calls + at->frames_current);
}

/* The interpreter links a call before it says which frame is its innermost: what stands there then
 * is what was on the stack. Such a call is as if it had not begun. */
static long give_up(struct interpreter_walk *k)
{
	if (!k->is_later && leave_call(k)) {
		k->stack->nr = 0;
		return 0;
	}
	k->stack->is_partial = 1;
	return 1;
}

/* A frame around those of one call, which stands for nothing else. */
static bool is_shim(const struct bpf_interpreted_process *p, const __u8 *frame)
{
	return p->at.frame_owner != BPF_INTERPRETED_NOWHERE &&
	       frame[p->at.frame_owner & (FRAME_BYTES - 1)] >= p->at.owner_shim;
}

static bool is_entry(const struct bpf_interpreted_process *p, const __u8 *frame)
{
	if (p->at.frame_entry == BPF_INTERPRETED_NOWHERE)
		return p->at.frame_owner == BPF_INTERPRETED_NOWHERE;
	return frame[p->at.frame_entry & (FRAME_BYTES - 1)];
}

static __s32 instruction_of(const struct bpf_interpreted_process *p, const __u8 *frame, __u64 code)
{
	if (p->at.frame_reached != BPF_INTERPRETED_NOWHERE)
		return *(const __s32 *)(frame + (p->at.frame_reached & (FRAME_BYTES - 4))) >>
		       (p->at.reached_shift & 31);
	return (__s64)(word_of_frame(frame, p->at.frame_instruction) - code -
		       p->at.code_instructions) >>
	       1;
}

/* Goes on with the frame that called, after that by which native code called the interpreter. */
static long leave_entry(struct interpreter_walk *k, __u64 previous)
{
	const bool is_later = k->is_later;

	k->frame = previous;
	if (k->p->at.frames_current == BPF_INTERPRETED_NOWHERE)
		return 0;
	if (leave_call(k) && k->frame == previous)
		return 0;
	if (is_later) {
		k->stack->is_partial = 1;
		return 1;
	}
	k->stack->nr = 0;
	return 0;
}

static long step_out(__u32 i, struct interpreter_walk *k)
{
	const struct bpf_interpreted_process *p = k->p;
	struct bpf_interpreted_stack *s = k->stack;
	const __u8 *frame = k->w->frame;
	__u32 nr = s->nr & (BPF_INTERPRETED_MAX_FRAMES - 1);
	__u64 code;

	if (!k->frame)
		return 1;
	if (s->nr >= BPF_INTERPRETED_MAX_FRAMES) {
		s->is_partial = 1;
		return 1;
	}
	if (!load(k->w->frame, p->at.frame_bytes & (FRAME_BYTES - 1), k->frame))
		return give_up(k);
	if (is_shim(p, frame)) {
		if (s->nr)
			s->frame[(nr - 1) & (BPF_INTERPRETED_MAX_FRAMES - 1)].flags =
			    BPF_INTERPRETED_ENTRY;
		return leave_entry(k, word_of_frame(frame, p->at.frame_previous));
	}
	code = word_of_frame(frame, p->at.frame_code) & ~7ull;
	s->frame[nr].code = code_number(k, code);
	if (!s->frame[nr].code)
		return give_up(k);
	s->frame[nr].instruction = instruction_of(p, frame, code);
	s->frame[nr].flags = is_entry(p, frame) ? BPF_INTERPRETED_ENTRY : 0;
	s->nr = nr + 1;
	k->frame = word_of_frame(frame, p->at.frame_previous);
	return s->frame[nr].flags ? leave_entry(k, k->frame) : 0;
}

static long search_thread(__u32 i, struct thread_search *s)
{
	__u64 number;

	if (!s->state || !load(&number, sizeof(number), s->state + s->p->at.thread_number))
		return 1;
	if (number == s->number) {
		s->found = s->state;
		return 1;
	}
	return !load(&s->state, sizeof(s->state), s->state + s->p->at.thread_next);
}

static long search_interpreter(__u32 i, struct thread_search *s)
{
	const struct bpf_interpreted_offsets *at = &s->p->at;

	if (!s->interpreter ||
	    !load(&s->state, sizeof(s->state), s->interpreter + at->interpreter_threads))
		return 1;
	bpf_loop(MAX_THREADS, search_thread, s, 0);
	if (s->found)
		return 1;
	return !load(&s->interpreter, sizeof(s->interpreter),
		     s->interpreter + at->interpreter_next);
}

static __u64 find_thread(struct bpf_interpreted_process *p, __u64 number)
{
	struct thread_search s = {.p = p, .number = number};

	if (load(&s.interpreter, sizeof(s.interpreter), p->runtime + p->at.runtime_interpreters))
		bpf_loop(MAX_INTERPRETERS, search_interpreter, &s, 0);
	return s.found;
}

/* The state of the running thread, which knows itself by the number that pthread_self returns. */
static __u64 state_of(struct bpf_interpreted_process *p, __u32 tid, __u64 space)
{
	struct task_struct___interpreted *task = (void *)bpf_get_current_task();
	__u64 number = BPF_CORE_READ(task, thread.fsbase), now_number = 0;
	struct thread *t = bpf_map_lookup_elem(&threads, &tid);
	struct thread fresh = {.space = space};

	if (t && t->space == space) {
		if (!t->state && bpf_ktime_get_ns() < t->until_ns)
			return 0;
		if (t->state &&
		    load(&now_number, sizeof(now_number), t->state + p->at.thread_number) &&
		    now_number == number)
			return t->state;
	}
	fresh.state = find_thread(p, number);
	fresh.until_ns = bpf_ktime_get_ns() + RETRY_NS;
	bpf_map_update_elem(&threads, &tid, &fresh, BPF_ANY);
	return fresh.state;
}

/* Asks for what the process is. Until the answer comes, one that was forked is as its parent: what
 * is read is checked as ever. */
static void ask(struct task_struct___interpreted *task, __u32 process, __u64 space, __u32 nr_asked)
{
	const struct bpf_interpreted_who who = {BPF_INTERPRETED_WHO, process, space, nr_asked, 0};
	struct bpf_interpreted_process asked = {.state = BPF_INTERPRETED_ASKED};
	const struct bpf_interpreted_process *parent;
	__u32 id = BPF_CORE_READ(task, real_parent, tgid);

	if (bpf_ringbuf_output(&messages, (void *)&who, sizeof(who), BPF_RB_FORCE_WAKEUP))
		return;
	parent = nr_asked ? NULL : bpf_map_lookup_elem(&processes, &id);
	if (parent)
		asked = *parent;
	asked.space = space;
	asked.nr_asked = nr_asked;
	asked.until_ns = bpf_ktime_get_ns() + 1000000000;
	bpf_map_update_elem(&processes, &process, &asked, BPF_ANY);
}

/* The innermost one. */
static bool find_frame(struct interpreter_walk *k, __u64 state)
{
	const struct bpf_interpreted_offsets *at = &k->p->at;

	if (!load(&k->calls, sizeof(k->calls), state + at->thread_frames))
		return false;
	k->frame = k->calls;
	return at->frames_current == BPF_INTERPRETED_NOWHERE ||
	       load(&k->frame, sizeof(k->frame), k->calls + at->frames_current);
}

/* Fills this CPU's stack. Returns its bytes; 0: nothing is interpreted. Not static, so that the
 * verifier follows it once, and not at each call. */
__attribute__((noinline)) __u32 read_interpreted(void)
{
	__u64 both = bpf_get_current_pid_tgid(), space, state;
	__u32 process = both >> 32, tid = both, zero = 0, bytes;
	struct task_struct___interpreted *task = (void *)bpf_get_current_task();
	struct bpf_interpreted_process *p;
	struct interpreter_walk k = {.process = process};

	space = (__u64)BPF_CORE_READ(task, mm);
	if (!process || !space || BPF_CORE_READ(task, flags) & OF_KERNEL)
		return 0;
	p = bpf_map_lookup_elem(&processes, &process);
	if (!p || p->space != space ||
	    (p->state != BPF_INTERPRETED_IS && bpf_ktime_get_ns() > p->until_ns)) {
		ask(task, process, space, p && p->space == space ? p->nr_asked : 0);
		return 0;
	}
	if (p->state != BPF_INTERPRETED_IS)
		return 0;
	k.p = p;
	k.space = space;
	k.w = bpf_map_lookup_elem(&works, &zero);
	k.stack = bpf_map_lookup_elem(&interpreted_stacks, &zero);
	state = state_of(p, tid, space);
	if (!k.w || !k.stack || !state || !find_frame(&k, state))
		return 0;
	k.stack->kind = BPF_INTERPRETED_PYTHON;
	k.stack->nr = k.stack->is_partial = k.stack->pad = 0;
	k.stack->loop_begin = p->loop_begin;
	k.stack->loop_end = p->loop_end;
	bpf_loop(BPF_INTERPRETED_MAX_FRAMES, step_out, &k, 0);
	bytes = k.stack->nr;
	if (!bytes || bytes > BPF_INTERPRETED_MAX_FRAMES)
		return 0;
	return __builtin_offsetof(struct bpf_interpreted_stack, frame) +
	       bytes * sizeof(struct bpf_interpreted_frame) + sizeof(__u32);
}

static void interpret(void *ctx)
{
	const __u32 zero = 0, bytes = read_interpreted();
	struct bpf_interpreted_stack *stack = bpf_map_lookup_elem(&interpreted_stacks, &zero);

	if (stack && bytes && bytes <= sizeof(*stack))
		bpf_perf_event_output(ctx, &rings, BPF_F_CURRENT_CPU, stack, bytes);
}

#endif
