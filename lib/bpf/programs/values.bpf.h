// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Arguments and results of calls, for hits.bpf.c: each value that a field has had has a number, by
 * which its sums are in memory that the recorder has mapped. What a call that is open began with is
 * stored with its task, so that the call's time is added to these values when it returns.
 *
 * A field has a limit of values: beyond it, numbers are counted by power of two, and texts as
 * others. Programs here may not wait, so a text that is not in memory when the call begins is read
 * when it returns: the function has used it, mostly.
 */
#ifndef BPF_VALUES_BPF_H
#define BPF_VALUES_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set when it is loaded, as in the others */
	__type(key, __u32);
	__type(value, struct bpf_hits_capture);
} captures SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct bpf_hits_value);
	__type(value, __u32);
} numbers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_hits_value);
} values SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_hits_value_sums);
} value_sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bpf_hits_open_values);
} open_values SEC(".maps");

const volatile __u32 max_values; /* 0: no values are taken */
__u32 nr_values;                 /* may be beyond the limit */
__u64 values_lost;               /* that found no room */

/* Adds the value. Its number, from 1; 0: there is no room. */
static __u32 add_number(struct bpf_hits_value *key)
{
	__u32 at, *known;

	if (nr_values >= max_values) /* it must not begin again */
		return 0;
	at = __sync_fetch_and_add(&nr_values, 1);
	if (at >= max_values || bpf_map_update_elem(&values, &at, key, BPF_ANY))
		return 0;
	at++;
	if (bpf_map_update_elem(&numbers, key, &at, BPF_NOEXIST) == 0)
		return at;
	known = bpf_map_lookup_elem(&numbers, key); /* another CPU was faster */
	return known ? *known : 0;
}

static __s64 range_of(__u64 n, bool is_signed)
{
	if (!n)
		return 0;
	if (is_signed && (__s64)n < 0)
		return -(__s64)(bpf_log2(-n) + 1);
	return bpf_log2(n) + 1;
}

/* The number of the value, or of what counts it: 0: there is no room. For what is beyond the limit
 * of a field there is a quarter of all. */
static __attribute__((noinline)) __u32 find_number(struct bpf_hits_value *key, __u32 *nr_exact,
						   __u32 type)
{
	__u64 n = *(__u64 *)key->text;
	__u32 *known = bpf_map_lookup_elem(&numbers, key);

	if (known)
		return *known;
	if (*nr_exact < BPF_HITS_MAX_EXACT && nr_values < max_values / 4 * 3) {
		__sync_fetch_and_add(nr_exact, 1);
		return add_number(key);
	}
	__builtin_memset(key->text, 0, sizeof(key->text));
	key->kind = BPF_HITS_OTHERS;
	if (type == BPF_HITS_UNSIGNED || type == BPF_HITS_SIGNED) {
		key->kind = BPF_HITS_RANGE;
		*(__s64 *)key->text = range_of(n, type == BPF_HITS_SIGNED);
	}
	known = bpf_map_lookup_elem(&numbers, key);
	return known ? *known : add_number(key);
}

/* What bpf_loop passes on. */
struct taking {
	void *ctx;
	struct bpf_hits_capture *capture;
	struct bpf_hits_open_values *open; /* NULL: the return is not seen */
	__u64 stack, wall;
	__u64 text;          /* that of an argument, to be read at the return; or 0 */
	__u32 number, depth; /* of the capture; of the call */
	bool is_return, is_counted;
};

static bool read_word(const struct taking *w, const struct bpf_hits_field *f, __u64 *out)
{
	if (w->text) {
		*out = w->text;
		return true;
	}
	if (f->where == BPF_HITS_STACK)
		return bpf_probe_read_user(out, sizeof(*out), (void *)(w->stack + f->offset)) == 0;
	return bpf_probe_read_kernel(out, sizeof(*out), w->ctx + f->offset) == 0;
}

static __u32 kind_of_text(char *to, __u64 from)
{
	long len;

	if (!from)
		return BPF_HITS_NULL;
	len = bpf_probe_read_user_str(to, BPF_HITS_TEXT_BYTES, (void *)from);
	if (len < 0)
		return BPF_HITS_UNREADABLE;
	return len == BPF_HITS_TEXT_BYTES ? BPF_HITS_LONG_TEXT : BPF_HITS_TEXT;
}

static __u32 open_slot(__u32 depth, __u32 field)
{
	__u32 slot = (depth & (BPF_HITS_DEPTH - 1)) * BPF_HITS_MAX_FIELDS +
		     (field & (BPF_HITS_MAX_FIELDS - 1));

	/* The compiler would drop the mask, without which Linux 6.1 knows no limit of it. */
	barrier_var(slot);
	return slot & (BPF_HITS_DEPTH * BPF_HITS_MAX_FIELDS - 1);
}

/* For the sample of the call, if it becomes one when it ends. */
static void note_word(const struct taking *w, __u32 field, __u64 v)
{
	if (w->open)
		w->open->word[open_slot(w->depth, field)] = v;
}

/* Counts the value that the field has now. Its number; 0: there is none. */
static __attribute__((noinline)) __u64 take_value(struct taking *w, struct bpf_hits_field *f,
						  __u32 at)
{
	struct bpf_hits_value key = {.capture = w->number, .field = at};
	struct bpf_hits_value_sums *x;
	__u64 v = 0;
	__u32 number, i;

	if (!read_word(w, f, &v)) {
		note_word(w, at, 0);
		if (w->open)
			w->open->unread[w->depth & (BPF_HITS_DEPTH - 1)] |= 1ULL << at;
		key.kind = BPF_HITS_UNREADABLE;
	} else if (f->type == BPF_HITS_STRING) {
		note_word(w, at, v);
		key.kind = kind_of_text(key.text, v);
		if (key.kind == BPF_HITS_UNREADABLE && w->open && !w->is_return)
			return v | BPF_HITS_LATER;
		v = 0;
	} else {
		v <<= f->shift & 63;
		v = f->type == BPF_HITS_SIGNED ? (__u64)((__s64)v >> (f->shift & 63))
					       : v >> (f->shift & 63);
		*(__u64 *)key.text = v;
		note_word(w, at, v);
	}
	if (!w->is_counted)
		return 0;
	number = find_number(&key, &w->capture->nr_exact[at & (BPF_HITS_MAX_FIELDS - 1)], f->type);
	i = number - 1;
	x = number ? bpf_map_lookup_elem(&value_sums, &i) : NULL;
	if (!x) {
		__sync_fetch_and_add(&values_lost, 1);
		return 0;
	}
	__sync_fetch_and_add(&x->calls, 1);
	__sync_fetch_and_add(&x->sum, v);
	return number;
}

static void add_wall(__u32 number, __u64 wall)
{
	__u32 i = number - 1;
	struct bpf_hits_value_sums *x = number ? bpf_map_lookup_elem(&value_sums, &i) : NULL;

	if (!x)
		return;
	__sync_fetch_and_add(&x->timed, 1);
	__sync_fetch_and_add(&x->wall_ns, wall);
	if (wall > x->max_ns)
		x->max_ns = wall;
}

static long take_next(__u64 i, struct taking *w)
{
	__u32 at = i & (BPF_HITS_MAX_FIELDS - 1);
	__u64 number = 0;
	__u32 slot = open_slot(w->depth, at);
	struct bpf_hits_field *f = &w->capture->field[at];
	bool is_result = f->where == BPF_HITS_RESULT;

	if (i >= w->capture->nr)
		return 1;
	if (w->is_return && !is_result && w->open)
		number = w->open->number[slot];
	w->text = number & BPF_HITS_LATER ? number & ~BPF_HITS_LATER : 0;
	if (is_result == w->is_return || w->text)
		number = take_value(w, f, at);
	if (w->is_return)
		add_wall(number, w->wall);
	else if (w->open)
		w->open->number[slot] = number;
	return 0;
}

#include "bpf/programs/when.bpf.h"

/* is_open: the return of the call, which is the last that is open, will be seen. */
static __always_inline void take_arguments(void *ctx, __u64 stack, struct bpf_hits_place *place,
					   __u64 events, __u32 depth, bool is_open)
{
	struct taking w = {
	    .ctx = ctx, .stack = stack, .number = place->capture - 1, .depth = depth};

	w.capture = bpf_map_lookup_elem(&captures, &w.number);
	if (!w.capture)
		return;
	if (!(w.capture->wanted & events))
		events = 0;
	w.is_counted = w.capture->events & events;
	if (is_open)
		w.open = bpf_task_storage_get(&open_values, bpf_get_current_task_btf(), NULL,
					      BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (w.open) {
		w.open->events[depth & (BPF_HITS_DEPTH - 1)] = events;
		w.open->unread[depth & (BPF_HITS_DEPTH - 1)] = 0;
	}
	if (!events)
		return;
	bpf_loop(BPF_HITS_MAX_FIELDS, take_next, &w, 0);
	if (place->when && w.open)
		compare_texts(w.open, place->when, depth);
}

static __always_inline void take_result(void *ctx, __u32 capture, __u32 depth, __u64 wall)
{
	struct taking w = {
	    .ctx = ctx, .number = capture - 1, .depth = depth, .wall = wall, .is_return = true};
	__u64 events;

	w.capture = bpf_map_lookup_elem(&captures, &w.number);
	if (!w.capture)
		return;
	w.open = bpf_task_storage_get(&open_values, bpf_get_current_task_btf(), NULL, 0);
	if (!w.open)
		return;
	events = w.open->events[depth & (BPF_HITS_DEPTH - 1)];
	w.is_counted = w.capture->events & events;
	if (events)
		bpf_loop(BPF_HITS_MAX_FIELDS, take_next, &w, 0);
}

#endif
