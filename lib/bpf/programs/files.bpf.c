// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Finds open files of devices: an iterator visits each descriptor of the reader's PID namespace, by
 * task and number. Threads that share the descriptors of their process, as nearly all do, are
 * visited by the kernel once, with their process.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/files_shared.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { MINOR_BITS = 20, TYPE_MASK = 0170000, CHARACTERS = 0020000 }; /* of dev_t; of modes */

const volatile __u32 major;

struct inode {
	unsigned short i_mode;
	__u32 i_rdev;
} __attribute__((preserve_access_index));

struct file {
	struct inode *f_inode;
} __attribute__((preserve_access_index));

struct task_struct {
	int pid, tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
} __attribute__((preserve_access_index));

#include "bpf/programs/space.bpf.h"

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id, seq_num;
} __attribute__((preserve_access_index));

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
} __attribute__((preserve_access_index));

static __u64 secret; /* so that no address leaves the kernel */

SEC("cpuperf_iter/task_file")
int visit(struct bpf_iter__task_file *ctx)
{
	struct bpf_files_file out = {};
	struct task_struct *t = ctx->task;
	struct file *file = ctx->file;
	struct inode *inode;

	if (ctx->meta->seq_num == 0) {
		find_space();
		if (!secret)
			secret = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
	}
	if (!t || !file)
		return 0;
	inode = file->f_inode;
	if (!inode || (inode->i_mode & TYPE_MASK) != CHARACTERS ||
	    inode->i_rdev >> MINOR_BITS != major)
		return 0;
	out.pid = number(t);
	out.process = number_of_process(t);
	out.fd = ctx->fd;
	out.minor = inode->i_rdev & ((1u << MINOR_BITS) - 1);
	/* a copy: the verifier lets nobody calculate with a pointer */
	bpf_probe_read_kernel(&out.file, sizeof(out.file), &file);
	out.file ^= secret;
	if (out.pid && out.process)
		bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}
