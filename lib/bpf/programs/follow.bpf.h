// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Which tasks are measured: all; processes and what they create; or those that are in a control
 * group. For programs that store a value of their own with each task: they define FOLLOW_TASK, its
 * type, which has a member struct bpf_follow follow, and struct task_struct, and then include this.
 *
 * A target of processes: they are marked before the programs are attached, and their threads and
 * children when they are created or found by an iterator. A task has a value if it is measured, so
 * programs see that at once. With a control group all tasks have one, since each may move into it.
 */
#ifndef BPF_FOLLOW_BPF_H
#define BPF_FOLLOW_BPF_H

#include "bpf/follow_shared.h"

struct kernfs_node {
	__u64 id;
} __attribute__((preserve_access_index));

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[1];
} __attribute__((preserve_access_index));

struct cgroup___before_6_1 {
	__u64 ancestor_ids[1];
} __attribute__((preserve_access_index));

struct css_set {
	struct cgroup *dfl_cgrp;
} __attribute__((preserve_access_index));

struct task_struct___follow {
	struct css_set *cgroups;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, FOLLOW_TASK);
} tasks SEC(".maps");

const volatile bool has_target, has_children;
const volatile bool is_followed; /* each of its tasks has a value: a command's, from its start */
const volatile __u64 cgroup_id;  /* of version 2; has_target is false; 0: none */

static __u64 ancestor_id(struct cgroup *g, __u32 level)
{
	struct cgroup___before_6_1 *old = (void *)g;
	struct cgroup *ancestor;
	__u64 id = 0;

	if (bpf_core_field_exists(g->ancestors)) {
		bpf_probe_read_kernel(&ancestor, sizeof(ancestor), &g->ancestors[level]);
		return BPF_CORE_READ(ancestor, kn, id);
	}
	bpf_probe_read_kernel(&id, sizeof(id), &old->ancestor_ids[level]);
	return id;
}

/* The group is on the way from the root to the task's. */
static __attribute__((noinline)) bool is_in_cgroup(struct css_set *set)
{
	enum { MAX_DEPTH = 64 };
	struct cgroup *g = BPF_CORE_READ(set, dfl_cgrp);
	int level = BPF_CORE_READ(g, level);

	for (int i = 0; i < MAX_DEPTH && i <= level; i++)
		if (ancestor_id(g, i) == cgroup_id)
			return true;
	return false;
}

static struct css_set *groups_of(struct task_struct *t)
{
	return ((struct task_struct___follow *)t)->cgroups;
}

/* Whether the task is in the group now, if that is the target. True: that has changed. A task that
 * is moved, or whose group gets another controller, has another set of groups. */
static __always_inline bool follow_groups(struct task_struct *t, struct bpf_follow *f)
{
	struct css_set *set;
	__u32 before = f->is_member;

	if (!cgroup_id)
		return false;
	set = groups_of(t);
	if (f->groups == (__u64)set)
		return false;
	f->groups = (__u64)set;
	f->is_member = is_in_cgroup(set);
	return f->is_member != before;
}

/* NULL: it is not measured, or not yet. */
static FOLLOW_TASK *find(struct task_struct *t)
{
	return bpf_task_storage_get(&tasks, t, 0, 0);
}

static FOLLOW_TASK *make(struct task_struct *t)
{
	return bpf_task_storage_get(&tasks, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __u32 membership(struct task_struct *t)
{
	FOLLOW_TASK *s = find(t);

	return s ? s->follow.is_member : 0;
}

/* As what a task is to be measured that is new, or was there before: like its parent, or like its
 * process. 0: not at all. */
static __u32 inherited(struct task_struct *from)
{
	if (!has_target)
		return !cgroup_id;
	return membership(from) ?: is_followed ? 0 : membership(from->group_leader);
}

static FOLLOW_TASK *make_like(struct task_struct *t, struct task_struct *from)
{
	__u32 is_member = inherited(from);
	FOLLOW_TASK *s = is_member || cgroup_id ? make(t) : NULL;

	if (s) {
		s->follow.is_member = is_member;
		s->follow.looked_ns = cgroup_id ? bpf_ktime_get_ns() : 0;
		follow_groups(t, &s->follow);
	}
	return s;
}

SEC("?cpuperf_trace/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	if (!has_target || has_children || parent->tgid == child->tgid)
		make_like(child, parent);
	return 0;
}

/* A command is measured from here on. */
SEC("?cpuperf_trace/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *t)
{
	FOLLOW_TASK *s = find(t);

	if (s && s->follow.is_member)
		s->follow.is_member = 1;
	return 0;
}

#endif
