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

/* Those of which a process was found: the others cost the verifier nothing. */
const volatile __u32 languages;
#define HAS_LANGUAGE(name) (languages & 1u << BPF_INTERPRETED_##name)

enum {
	RETRY_NS = 20000000, /* a thread that the interpreter does not have, or not yet */
	WORK_BYTES = 256,
	SCRATCH_BYTES = 1280,
	TEXT_BYTES = 64,
	/* With the one at its end, of a text that a definition has. */
	TEXT_PARTS = BPF_INTERPRETED_NAME_BYTES / TEXT_BYTES,
	MAX_TEXTS = 4,
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

enum { PHP_FRAME_BYTES = 64 };
struct php_work {
	bool has_registers, is_in_loop, is_frame; /* is_frame: the loop's is the innermost */
	bool is_missing, is_found;
	__u64 opline;
	__u64 generator, delegate, outermost; /* of the last frame; the next; the last of these */
	struct bpf_php_function is, said;     /* said: with numbers of texts */
	__u8 frame[PHP_FRAME_BYTES], function[BPF_PHP_OBJECT_BYTES];
};

enum { RUBY_FRAME_BYTES = 128 };
struct ruby_work {
	bool is_missing, is_found;
	__u64 base, block; /* of the thread, and of its variables */
	__u64 innermost;
	__u64 handler, handler_before; /* of the instruction at pc, and of the one before */
	struct bpf_ruby_code is, said; /* said: with numbers of texts */
	/* The texts of the frame before, and what they say as numbers. */
	__u64 before[BPF_RUBY_NR_TEXTS], number[BPF_RUBY_NR_TEXTS];
	struct bpf_ruby_text text;
	__u8 frame[RUBY_FRAME_BYTES], object[BPF_RUBY_OBJECT_BYTES], body[BPF_RUBY_OBJECT_BYTES];
};

enum { PERL_OBJECT_BYTES = 128 };
struct perl_text {
	__u64 data, length, number; /* number: made of what it says */
};
struct perl_work {
	bool is_found, is_whole;
	/* is_unbegun: the frame that comes next has not begun with its first statement; is_at_call:
	 * the innermost one may not have; is_at_return: it may have ended. */
	bool is_at_call, is_at_return, is_unbegun;
	bool is_idle;    /* the thread does no op: native code that has called some goes on */
	bool is_pending; /* a loop was begun in the frame pending, if the next context says so */
	__u32 pending, nr_loops;  /* nr_loops: that were begun in the frame that comes next */
	__u64 catch, catch_frame; /* of evals: where they catch; 0: there was none */
	/* Of the stack: those that are left are inside; the innermost sub of them, -1: none. */
	__u64 contexts, previous;
	__s32 sub;
	__u32 left, kind, first_line, line;
	__u64 cop, start;       /* the statement that is done; the first one of a sub */
	__u64 code, cop_before; /* of the frame before */
	__u64 number;
	struct perl_text text[BPF_PERL_NR_TEXTS];
	__u64 begin;     /* of the file's name */
	__u32 nr_chunks; /* of files' names, that were read for the stack */
	__u64 package;   /* of the frame before; 0: none */
	struct perl_text of_package;
	/* Of an object: its flags, its array and where its body is. */
	__u32 flags, pad;
	__u64 array, at;
	__u8 context[PERL_OBJECT_BYTES] __attribute__((aligned(8)));
	__u8 object[PERL_OBJECT_BYTES] __attribute__((aligned(8)));
};

struct go_work {
	bool is_missing;
	__u32 nr;                                       /* labels */
	__u64 nr_map;                                   /* of a map, as it says itself */
	__u64 number;                                   /* of the set */
	__u64 labels;                                   /* the address of the set */
	struct bpf_go_text text[2 * BPF_GO_MAX_LABELS]; /* a key, and its value */
	__u8 content[BPF_GO_VALUE_BYTES] __attribute__((aligned(8)));
};

/* Two, since the kernel limits a value to 32 KiB. */
struct work {
	struct bpf_interpreted_code code;
	__u8 frame[WORK_BYTES / 2], object[WORK_BYTES]; /* for a walk */
	__u8 scratch[SCRATCH_BYTES] __attribute__((aligned(8)));
	struct php_work php;
	struct ruby_work ruby;
	struct perl_work perl;
	struct go_work go;
	__u32 bytes[MAX_TEXTS]; /* of the texts of a definition */
	__u8 text[TEXT_BYTES];  /* the head or the end of one */
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

struct task_struct;

struct interpreter_walk {
	struct task_struct *asleep; /* NULL: the running thread */
	struct work *w;
	struct bpf_interpreted_stack *stack;
	struct bpf_interpreted_process *p;
	__u64 frame, space;
	/* Of Python: the interpreter's own frame, in which it was entered (_PyCFrame). Of
	 * JavaScript: where the thread is in the frame. Of Ruby: where frames end. */
	__u64 calls;
	__u32 process, thread;
	bool is_later; /* not in the innermost of these */
};

/* Of the program, of which the kernel has them: at an offset in struct pt_regs. */
static __u64 read_register(const void *registers, __u16 at)
{
	__u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), registers + at);
	return value;
}

/* Once; later samples try again. */
static __attribute__((noinline)) void ask_for_code(struct interpreter_walk *k, __u64 number,
						   __u64 code)
{
	const struct bpf_interpreted_far far = {BPF_INTERPRETED_FAR, k->process, number, code,
						k->space};
	const __u32 asked = 0;

	if (bpf_ringbuf_output(&messages, (void *)&far, sizeof(far), 0) == 0)
		bpf_map_update_elem(&seen, &number, &asked, BPF_ANY);
}

/* Sends a definition. It has fewer lines_bytes than fit. */
static void send_code(const struct bpf_interpreted_code *c)
{
	const __u32 said = 1, bytes = c->lines_bytes & (BPF_INTERPRETED_LINES_BYTES - 1);

	if (bpf_ringbuf_output(&messages, (void *)c,
			       __builtin_offsetof(struct bpf_interpreted_code, lines) + bytes,
			       0) == 0)
		bpf_map_update_elem(&seen, &c->code, &said, BPF_ANY);
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

/* What the process is; NULL: no interpreter, or not known yet. */
static struct bpf_interpreted_process *process_of(struct task_struct___interpreted *task,
						  __u32 process, __u64 space)
{
	struct bpf_interpreted_process *p;

	if (!process || !space || BPF_CORE_READ(task, flags) & OF_KERNEL)
		return NULL;
	p = bpf_map_lookup_elem(&processes, &process);
	if (!p || p->space != space ||
	    (p->state != BPF_INTERPRETED_IS && bpf_ktime_get_ns() > p->until_ns)) {
		ask(task, process, space, p && p->space == space ? p->nr_asked : 0);
		return NULL;
	}
	return p->state == BPF_INTERPRETED_IS ? p : NULL;
}

/* Asks for the current process if it is not known. Not static, as read_interpreted. */
__attribute__((noinline)) __u32 is_interpreted(void)
{
	struct task_struct___interpreted *task = (void *)bpf_get_current_task();

	return process_of(task, bpf_get_current_pid_tgid() >> 32, (__u64)BPF_CORE_READ(task, mm)) !=
	       NULL;
}

#include "bpf/programs/interpreted_walk.bpf.h"

/* Fills this CPU's stack. Returns the number of frames. Not static, so that the verifier follows it
 * once, and not at each call. */
__attribute__((noinline)) __u32 read_interpreted(void)
{
	__u64 both = bpf_get_current_pid_tgid();
	struct task_struct___interpreted *task = (void *)bpf_get_current_task();
	struct interpreter_walk k = {.process = both >> 32,
				     .space = (__u64)BPF_CORE_READ(task, mm)};
	const __u32 zero = 0;

	k.p = process_of(task, k.process, k.space);
	k.w = bpf_map_lookup_elem(&works, &zero);
	k.stack = bpf_map_lookup_elem(&interpreted_stacks, &zero);
	return k.p && k.w && k.stack ? walk_out(&k, task, both) : 0;
}

static void interpret(void *ctx)
{
	const __u32 zero = 0, nr = read_interpreted();
	struct bpf_interpreted_stack *stack = bpf_map_lookup_elem(&interpreted_stacks, &zero);

	if (stack && nr && nr <= BPF_INTERPRETED_MAX_FRAMES)
		bpf_perf_event_output(ctx, &rings, BPF_F_CURRENT_CPU, stack,
				      __builtin_offsetof(struct bpf_interpreted_stack, frame) +
					  nr * sizeof(struct bpf_interpreted_frame) +
					  sizeof(__u32));
}

#endif
