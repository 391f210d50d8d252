/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The stack of a task that waits, for a sample of a wait that lasts: the kernel's part, and that of
 * the program by its frame pointers, with its registers and a piece of its stack. It may be read
 * wrong if the task runs again meanwhile, which the caller checks.
 *
 * Memory of the program is read only where it is anonymous, or of a file system that only root can
 * mount: reading a mapped file could last as long as a hostile one likes.
 */
#ifndef BPF_LASTING_BPF_H
#define BPF_LASTING_BPF_H

#include "bpf/waits_shared.h"

enum { KERNEL_THREAD = 0x200000 }; /* PF_KTHREAD */

struct super_block {
	unsigned long s_magic;
} __attribute__((preserve_access_index));

struct inode {
	struct super_block *i_sb;
} __attribute__((preserve_access_index));

struct file {
	struct inode *f_inode;
} __attribute__((preserve_access_index));

struct vm_area_struct {
	unsigned long vm_start, vm_end;
	struct file *vm_file;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_waits_lasting);
} lasting SEC(".maps");

const volatile bool has_callchain;
const volatile __u32 stack_bytes;            /* at most BPF_LASTING_STACK; 0: none */
const volatile __u32 regs_bytes;             /* of the program's registers in struct pt_regs */
const volatile __u32 frame_reg, sp_reg_word; /* the words of two of them */

struct range {
	__u64 begin, end;
};

static long find_range(struct task_struct *t, struct vm_area_struct *vma, void *arg)
{
	struct range *r = arg;

	if (BPF_CORE_READ(vma, vm_file))
		return 0;
	r->begin = vma->vm_start;
	r->end = vma->vm_end;
	return 0;
}

struct span {
	__u64 begin, end;
	bool is_readable;
};

/* What only root can mount: ext2 to ext4, XFS, Btrfs, tmpfs. */
static bool is_local(unsigned long magic)
{
	return magic == 0xef53 || magic == 0x58465342 || magic == 0x9123683e || magic == 0x01021994;
}

static long look_at_vma(struct task_struct *t, struct vm_area_struct *vma, void *arg)
{
	struct span *s = arg;
	struct file *f = BPF_CORE_READ(vma, vm_file);

	s->is_readable = s->begin >= vma->vm_start && s->end <= vma->vm_end &&
			 (!f || is_local(BPF_CORE_READ(f, f_inode, i_sb, s_magic)));
	return 0;
}

/* What an interpreter has is also in its file's data. */
static __attribute__((noinline)) bool read_asleep(struct task_struct *t, void *to, __u32 bytes,
						  __u64 at)
{
	struct span s = {at, at + bytes, false};

	return !bpf_find_vma(t, at, look_at_vma, &s, 0) && s.is_readable &&
	       !bpf_copy_from_user_task(to, bytes, (void *)at, t, 0);
}

struct caller_walk {
	struct task_struct *t;
	const struct range *r;
	struct bpf_waits_lasting *to;
	__u64 at;
};

/* 1: there is no further caller. */
static long step(__u32 i, struct caller_walk *w)
{
	__u64 at = w->at, end = w->r->end, frame[2];

	if (at & 7 || at < w->r->begin || at >= end || end - at < sizeof(frame) ||
	    bpf_copy_from_user_task(frame, sizeof(frame), (void *)at, w->t, 0))
		return 1;
	w->to->user[w->to->nr_user++ & (BPF_LASTING_ADDRESSES - 1)] = frame[1];
	w->at = frame[0];
	return frame[0] <= at;
}

/* The callers of a program with frame pointers, as the kernel finds them. Not a loop: the verifier
 * follows each turn of one. */
static void walk(struct task_struct *t, const struct range *r, struct bpf_waits_lasting *to)
{
	struct caller_walk w = {t, r, to, to->regs[frame_reg & (BPF_LASTING_REGS - 1)]};

	bpf_loop(BPF_LASTING_ADDRESSES - 1, step, &w, 0);
}

static void copy_stack(struct task_struct *t, const struct range *r, __u64 sp,
		       struct bpf_waits_lasting *to)
{
	__u64 bytes = stack_bytes;

	if (sp < r->begin || sp >= r->end)
		return;
	if (bytes > r->end - sp)
		bytes = r->end - sp;
	if (bytes > BPF_LASTING_STACK)
		bytes = BPF_LASTING_STACK;
	bytes &= ~(__u64)7;
	if (!bpf_copy_from_user_task(to->stack, bytes, (void *)sp, t, 0))
		to->stack_bytes = bytes;
}

static void get_program(struct task_struct *t, struct bpf_waits_lasting *to)
{
	__u32 bytes = regs_bytes;
	struct range r = {0, 0};
	__u64 sp;

	if (bytes > sizeof(to->regs) ||
	    bpf_probe_read_kernel(to->regs, bytes, (void *)bpf_task_pt_regs(t)))
		return;
	to->has_regs = 1;
	sp = to->regs[sp_reg_word & (BPF_LASTING_REGS - 1)];
	if (bpf_find_vma(t, sp, find_range, &r, 0))
		return;
	if (has_callchain)
		walk(t, &r, to);
	if (stack_bytes)
		copy_stack(t, &r, sp, to);
}

/* to: with none yet. */
static void get_stacks(struct task_struct *t, struct bpf_waits_lasting *to)
{
	long n;

	n = bpf_get_task_stack(t, to->kernel, sizeof(to->kernel), 0);
	if (n > 0)
		to->nr_kernel = n / sizeof(to->kernel[0]);
	if (!(t->flags & KERNEL_THREAD))
		get_program(t, to);
}

/* 0, or an error if it has no room: then the task is visited again. */
static long write_lasting(struct seq_file *seq, struct bpf_waits_lasting *l, void *interpreted)
{
	__u32 frames = l->interpreted_bytes;
	__u32 kernel = l->nr_kernel * sizeof(l->kernel[0]);
	__u32 user = l->nr_user * sizeof(l->user[0]), stack = l->stack_bytes;

	if (kernel > sizeof(l->kernel) || user > sizeof(l->user) || stack > sizeof(l->stack) ||
	    frames > BPF_LASTING_INTERPRETED)
		return 0;
	return bpf_seq_write(seq, l, __builtin_offsetof(struct bpf_waits_lasting, kernel))
		   ?: bpf_seq_write(seq, l->kernel, kernel)
		   ?: bpf_seq_write(seq, l->user, user)
		   ?: bpf_seq_write(seq, l->stack, stack)
		   ?: bpf_seq_write(seq, interpreted, frames);
}

#endif
