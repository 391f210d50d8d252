/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The numbers of threads and processes in the PID namespace of the reader. For programs whose
 * struct task_struct has pid, tgid, group_leader and thread_pid: they define it, and then include
 * this.
 */
#ifndef BPF_SPACE_BPF_H
#define BPF_SPACE_BPF_H

enum { MAX_LEVEL = 32 }; /* of PID namespaces (MAX_PID_NS_LEVEL) */

struct pid_namespace;

struct upid {
	int nr;
	struct pid_namespace *ns;
} __attribute__((preserve_access_index));

struct pid {
	unsigned int level;
	struct upid numbers[1];
} __attribute__((preserve_access_index));

/* A PID namespace, by how deep it is, and where; and a number in it. */
struct space {
	__u32 level, nr;
	__u64 ns;
};

static struct space space; /* of the reader */

/* The number of pid in the namespace of out->level. pid is a copy: Linux 6.1 lets nobody calculate
 * with a pointer whose type it knows. */
static void get_number(const struct pid *pid, struct space *out)
{
	const char *at = (const char *)pid + bpf_core_field_offset(struct pid, numbers) +
			 out->level * bpf_core_type_size(struct upid);

	out->nr = 0;
	out->ns = 0;
	bpf_probe_read_kernel(&out->nr, sizeof(out->nr),
			      at + bpf_core_field_offset(struct upid, nr));
	bpf_probe_read_kernel(&out->ns, sizeof(out->ns),
			      at + bpf_core_field_offset(struct upid, ns));
}

static void find_space(void)
{
	struct task_struct *reader = bpf_get_current_task_btf();
	struct pid *pid = BPF_CORE_READ(reader, thread_pid);

	space.level = BPF_CORE_READ(pid, level);
	if (space.level > MAX_LEVEL)
		space.level = 0;
	if (space.level)
		get_number(pid, &space);
}

/* The number there; 0: it has none. */
static __u32 number_of(const struct pid *pid)
{
	struct space of = {.level = space.level};

	if (!pid || of.level > MAX_LEVEL || BPF_CORE_READ(pid, level) < of.level)
		return 0;
	get_number(pid, &of);
	return of.ns == space.ns ? of.nr : 0;
}

static __u32 number(struct task_struct *t)
{
	return space.level == 0 ? t->pid : number_of(BPF_CORE_READ(t, thread_pid));
}

/* Copies: when a pointer is loaded whose type it knows, the verifier searches all types, on each
 * way that leads there. */
static __u32 number_of_process(struct task_struct *t)
{
	return space.level == 0 ? t->tgid : number_of(BPF_CORE_READ(t, group_leader, thread_pid));
}

#endif
