/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Adds samples up by stack, in tables in shared memory: one for each CPU and event. A table is used
 * by one CPU, and only by one program, which is not interrupted by itself: no locks.
 */
#include <stdbool.h>

#include <linux/bpf.h>
#include <linux/errno.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "base/place.h"
#include "bpf/aggregate_shared.h"

enum {
	WORDS = BPF_AGGREGATE_STACK_WORDS,
	LINE = BPF_AGGREGATE_LINE_WORDS,
	MAX_PROBES = 32, /* of slots */
	LINE_SUMS = BPF_AGGREGATE_LINE_SUMS,
	NO_PLACE = -1, /* the sample is in no row */
};

/* Start and number of execs, by which programs that ran in the same task differ. */
struct task_struct___started {
	unsigned long long start_boottime, self_exec_id;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set when it is loaded */
	__type(key, __u32);
	__type(value, union bpf_aggregate_line);
} lines SEC(".maps");

/* By CPU, or by event and CPU: the number of its table, from 1; 0: none. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the number of CPUs, set when it is loaded */
	__type(key, __u32);
	__type(value, __u32);
} tables SEC(".maps");

struct stack {
	__u64 kernel[WORDS], user[WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack);
} stacks SEC(".maps");

const volatile __u32 max_stack; /* addresses of both sides */
const volatile __u32 nr_lines;  /* of a table */
const volatile __u32 nr_slots;  /* of them; a power of two */

static union bpf_aggregate_line *line_at(__u32 i)
{
	return bpf_map_lookup_elem(&lines, &i);
}

static __u64 mix_all(__u64 hash, const __u64 *words, __u32 nr)
{
	for (__u32 i = 0; i < WORDS && i < nr; i++)
		hash = hash_mix(hash, words[i]);
	return hash_mix(hash, nr);
}

/* What tells samples apart beside their stack. A program that is started anew has other mappings,
 * and a process with the number of an old one another start. */
static __u64 mix_task(__u64 id)
{
	struct task_struct___started *t = (void *)bpf_get_current_task();
	__u64 comm[2] = {0, 0};

	bpf_get_current_comm(comm, sizeof(comm));
	id = hash_mix(hash_mix(hash_mix(1, id), comm[0]), comm[1]);
	id = hash_mix(id, BPF_CORE_READ(t, start_boottime));
	return hash_mix(id, BPF_CORE_READ(t, self_exec_id));
}

/* Words of one side of the stack; negative: it cannot be read. */
static __s64 read_side(void *ctx, __u64 *words, __u64 flags)
{
	__s64 len = bpf_get_stack(ctx, words, WORDS * sizeof(*words), flags);

	if (len == -EFAULT) /* there is none */
		return 0;
	return len < 0 ? -1 : (__s64)((__u64)len / sizeof(*words));
}

static bool copy(__u32 at, const __u64 *words, __u32 nr)
{
	for (__u32 i = 0; i < WORDS / LINE && i * LINE < nr; i++) {
		union bpf_aggregate_line *to = line_at(at + i);

		if (!to)
			return false;
#pragma unroll
		for (int k = 0; k < LINE; k++)
			to->words[k] = words[i * LINE + k];
	}
	return true;
}

static __u32 lines_of(__u32 nr_words)
{
	return (nr_words + LINE - 1) / LINE;
}

/* Copies the stack behind the slots of the table that begins at base. */
static bool put_stack(__u32 base, struct bpf_aggregate_head *head, struct bpf_aggregate_slot *slot,
		      const struct stack *st)
{
	__u32 kernel = lines_of(slot->nr_kernel), wanted = kernel + lines_of(slot->nr_user);
	__u32 at = base + 1 + nr_slots + head->nr_lines;

	if (head->nr_lines + wanted > nr_lines - 1 - nr_slots)
		return false;
	slot->line = head->nr_lines;
	head->nr_lines += wanted;
	return copy(at, st->kernel, slot->nr_kernel) && copy(at + kernel, st->user, slot->nr_user);
}

/* The slot of that hash, or a free one; NULL: there is none near. */
static struct bpf_aggregate_slot *find_slot(__u32 base, __u64 hash)
{
	for (__u32 i = 0; i < MAX_PROBES; i++) {
		union bpf_aggregate_line *l =
		    line_at(base + 1 + (((__u32)hash + i) & (nr_slots - 1)));

		if (!l)
			return NULL;
		if (l->slot.hash == hash || !l->slot.hash)
			return &l->slot;
	}
	return NULL;
}

static void count_place(__u32 base, __u32 line, __u32 place)
{
	union bpf_aggregate_line *to =
	    line_at(base + 1 + nr_slots + line + (place & (PLACE_MINUS - 1)) / LINE_SUMS);

	if (to)
		to->sums[place & (LINE_SUMS - 1)] += place & PLACE_MINUS ? -1 : 1;
}

/* Moves the places from the slot to sums behind the stacks, if there is room. */
static void make_sums(__u32 base, struct bpf_aggregate_head *head, struct bpf_aggregate_slot *slot)
{
	const __u32 line = head->nr_lines, wanted = PLACE_SUMS / LINE_SUMS;
	const __u64 places = slot->places;

	slot->places = 0;
	if (line + wanted > nr_lines - 1 - nr_slots)
		return;
	for (__u32 i = 0; i < wanted; i++) {
		union bpf_aggregate_line *l = line_at(base + 1 + nr_slots + line + i);

		if (!l)
			return;
#pragma unroll
		for (int k = 0; k < LINE; k++)
			l->words[k] = 0;
	}
	head->nr_lines += wanted;
	for (__u32 i = 0; i < PLACE_FEW; i++)
		count_place(base, line, places >> 8 * i & 0xff);
	slot->places = line + 1;
}

/* Of the next sample of the slot. */
static void add_place(__u32 base, struct bpf_aggregate_head *head, struct bpf_aggregate_slot *slot,
		      __u32 place)
{
	if (slot->samples < PLACE_FEW) {
		slot->places |= (__u64)(place & 0xff) << 8 * slot->samples;
		return;
	}
	if (slot->samples == PLACE_FEW)
		make_sums(base, head, slot);
	if (slot->places)
		count_place(base, slot->places - 1, place);
}

/* True: added up. */
static bool add(void *ctx, __u32 base, struct bpf_aggregate_head *head, __u64 weight, int place)
{
	__u64 id = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns(), hash;
	__u32 zero = 0;
	struct stack *st = bpf_map_lookup_elem(&stacks, &zero);
	struct bpf_aggregate_slot *slot;
	__s64 nr_kernel, nr_user;

	if (!st)
		return false;
	nr_kernel = read_side(ctx, st->kernel, 0);
	nr_user = read_side(ctx, st->user, BPF_F_USER_STACK);
	if (nr_kernel < 0 || nr_user < 0) {
		head->nr_failed++;
		return false;
	}
	if (nr_kernel > max_stack) /* as the kernel cuts a callchain */
		nr_kernel = max_stack;
	if (nr_user > max_stack - nr_kernel)
		nr_user = max_stack - nr_kernel;
	hash = mix_all(mix_task(id), st->kernel, nr_kernel);
	hash = mix_all(hash, st->user, nr_user) | 1;
	slot = find_slot(base, hash);
	if (slot && !slot->hash) {
		slot->nr_kernel = nr_kernel;
		slot->nr_user = nr_user;
		slot->samples = slot->weight = slot->places = 0;
		slot->begin_ns = now;
		slot->pid = id >> 32;
		slot->tid = id;
		if (put_stack(base, head, slot, st))
			slot->hash = hash;
	}
	if (!slot || !slot->hash) {
		head->nr_full++;
		return false;
	}
	if (place != NO_PLACE)
		add_place(base, head, slot, place);
	head->nr_samples++;
	slot->samples++;
	slot->weight += weight;
	slot->end_ns = now;
	return true;
}

/* Adds a sample of the current task up, in the table with that key in tables. place: of
 * place_in_sums, or NO_PLACE. True: added up; false: it belongs in the ring, because there is no
 * table, or it is full or being read. */
static bool aggregate_add(void *ctx, __u32 key, __u64 weight, int place)
{
	__u32 *table = bpf_map_lookup_elem(&tables, &key);
	union bpf_aggregate_line *l;
	bool is_added = false;
	__u32 base;

	if (!table || !*table)
		return false;
	base = (*table - 1) * nr_lines;
	l = line_at(base);
	if (!l)
		return false;
	/* before is_on is read: the reader clears that, and then waits for this */
	__sync_lock_test_and_set(&l->head.is_busy, 1);
	if (*(volatile __u32 *)&l->head.is_on)
		is_added = add(ctx, base, &l->head, weight, place);
	__sync_lock_test_and_set(&l->head.is_busy, 0);
	return is_added;
}
