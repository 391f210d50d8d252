// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Which calls an event means, for ended.bpf.h: the terms of all events that have the function are a
 * list, and one loop evaluates it. A term compares a word with a range (the duration, a value that
 * was taken, or whether a text is like a pattern) and says which term behind it is next.
 *
 * The text of an argument is compared when the call begins, as the function may change it; if it is
 * not in memory then, when the call ends, as values.bpf.h says.
 */
#ifndef BPF_WHEN_BPF_H
#define BPF_WHEN_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set when it is loaded, as in the others */
	__type(key, __u32);
	__type(value, struct bpf_hits_when);
} whens SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_hits_pattern);
} patterns SEC(".maps");

/* Whether the text there is like it: 0 or 1; -1: it cannot be read. */
static __attribute__((noinline)) int compare_text(__u32 pattern, __u64 from)
{
	__u64 word[BPF_HITS_TEXT_WORDS] = {0}, different = 0;
	__u32 at = pattern - 1;
	struct bpf_hits_pattern *p = bpf_map_lookup_elem(&patterns, &at);

	if (!p || !from)
		return 0;
	if (bpf_probe_read_user_str(word, sizeof(word), (void *)from) < 0)
		return -1;
	for (int i = 0; i < BPF_HITS_TEXT_WORDS; i++)
		different |= (word[i] ^ p->word[i]) & p->mask[i];
	return !different;
}

/* What bpf_loop passes on. */
struct meeting {
	struct bpf_hits_when *when;
	struct bpf_hits_open_values *open; /* NULL: there are none */
	__u64 wall;
	__u64 met;   /* a bit for each event */
	__u32 depth; /* of the call */
	__u32 next;  /* the term that decides next */
};

static bool is_in(const struct bpf_hits_range *range, __u64 word)
{
	return word - range->low <= range->span;
}

static bool was_compared(__u64 texts, __u32 term)
{
	return texts >> (BPF_HITS_MAX_TERMS + term) & 1;
}

/* An argument's text, while it is as it was passed. */
static long compare_next(__u64 i, struct meeting *w)
{
	__u32 number = i & (BPF_HITS_MAX_TERMS - 1), at = w->depth & (BPF_HITS_DEPTH - 1);
	struct bpf_hits_term *t = &w->when->term[number];
	int is_like;

	if (i >= w->when->nr)
		return 1;
	if (!t->pattern || t->is_result || !w->open)
		return 0;
	is_like = compare_text(t->pattern, w->open->word[open_slot(at, t->field)]);
	if (is_like >= 0)
		w->open->texts[at] |= ((1ULL << BPF_HITS_MAX_TERMS) | is_like) << number;
	return 0;
}

/* After the arguments were taken of the call, whose return will be seen. */
static __attribute__((noinline)) void compare_texts(struct bpf_hits_open_values *open, __u32 when,
						    __u32 depth)
{
	__u32 number = when - 1;
	struct meeting w = {.open = open, .depth = depth};

	w.when = bpf_map_lookup_elem(&whens, &number);
	if (!w.when || !w.when->nr_patterns || !open)
		return;
	open->texts[depth & (BPF_HITS_DEPTH - 1)] = 0;
	bpf_loop(BPF_HITS_MAX_TERMS, compare_next, &w, 0);
}

/* A value that could not be read is in no range. */
static bool holds(const struct meeting *w, const struct bpf_hits_term *t, __u32 number)
{
	__u32 at = w->depth & (BPF_HITS_DEPTH - 1), field = t->field & (BPF_HITS_MAX_FIELDS - 1);
	__u64 word, texts;

	if (t->field >= BPF_HITS_MAX_FIELDS)
		return is_in(&t->range, w->wall);
	if (!w->open || w->open->unread[at] >> field & 1)
		return false;
	word = w->open->word[open_slot(at, field)];
	if (!t->pattern)
		return is_in(&t->range, word);
	texts = w->open->texts[at];
	if (was_compared(texts, number))
		return is_in(&t->range, texts >> number & 1);
	return is_in(&t->range, compare_text(t->pattern, word)); /* -1 is in none */
}

static long meet_next(__u64 i, struct meeting *w)
{
	__u32 number = i & (BPF_HITS_MAX_TERMS - 1);
	struct bpf_hits_term *t = &w->when->term[number];

	if (i >= w->when->nr)
		return 1;
	if (i < w->next)
		return 0;
	w->next = holds(w, t, number) ? t->next[1] : t->next[0];
	if (w->next & BPF_HITS_MEANT)
		w->met |= 1ULL << (t->event & (BPF_HITS_NR_SLOTS - 1));
	w->next &= ~BPF_HITS_MEANT;
	return 0;
}

/* The events that mean the call, which has ended: a bit for each. */
static __attribute__((noinline)) __u64 find_met(struct bpf_hits_open_values *open, __u32 when,
						__u32 depth, __u64 wall)
{
	__u32 number = when - 1;
	struct meeting w = {.open = open, .wall = wall, .depth = depth};

	w.when = bpf_map_lookup_elem(&whens, &number);
	if (w.when)
		bpf_loop(BPF_HITS_MAX_TERMS, meet_next, &w, 0);
	return w.met;
}

#endif
