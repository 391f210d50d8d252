/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The labels of the goroutine that a thread runs, as one frame: the number of the set. Which one
 * runs, the thread's own storage says; on the stack of the runtime it is the one for which the
 * runtime works, as Go's own profiler has it.
 *
 * A set never changes, but its memory may be used again: so its number is made of what the labels
 * say. Only constant texts, which need not be in memory, count by where they are.
 */
#ifndef READ_ASLEEP
_Static_assert(sizeof(struct bpf_go_label) * BPF_GO_MAX_LABELS < BPF_INTERPRETED_LINES_BYTES,
	       "a set of labels fits into a definition");
_Static_assert(BPF_GO_BUCKET_BYTES << BPF_GO_MAX_BUCKETS_LOG2 <= SCRATCH_BYTES, "a map fits");
#endif

/* Adds what a text says. 0: it is not in memory. */
static __u64 go_number_text(const struct interpreter_walk *k, const struct bpf_go_text *t, __u64 h)
{
	__u8 *content = k->w->go.content;

	if (bpf_go_is_constant(&k->p->go, t))
		return bpf_go_mix_constant(h, t, k->space);
	__builtin_memset(content, 0, BPF_GO_VALUE_BYTES);
	if (!load(k, content, t->bytes & (BPF_GO_VALUE_BYTES - 1), t->data))
		return 0;
	return bpf_go_mix_content(h, content, t->bytes);
}

/* Sets have no order: the numbers of labels are added up. */
static long go_add_text(__u32 i, const struct interpreter_walk *k)
{
	struct go_work *w = &k->w->go;
	const struct bpf_go_text *key, *value;
	__u64 h;

	if (i >= BPF_GO_MAX_LABELS || i >= w->nr)
		return 1;
	key = &w->text[2 * i];
	value = &w->text[2 * i + 1];
	if (!bpf_go_fits(0, key) || !bpf_go_fits(1, value))
		return 0;
	h = go_number_text(k, key, BPF_INTERPRETED_GO);
	h = h ? go_number_text(k, value, h) : 0;
	if (h)
		w->number += h;
	w->is_missing = !h;
	return w->is_missing;
}

/* Copies a text of the labels into the definition. */
static long go_define_text(__u32 i, const struct interpreter_walk *k)
{
	struct go_work *w = &k->w->go;
	const struct bpf_go_text *t;
	struct bpf_go_label *l;
	__u32 at = (i / 2) * sizeof(*l);

	if (i >= 2 * BPF_GO_MAX_LABELS || i >= 2 * w->nr ||
	    at > BPF_INTERPRETED_LINES_BYTES - sizeof(*l))
		return 1;
	l = (void *)(k->w->code.lines + at);
	t = &w->text[i];
	if (bpf_go_is_key(i)) {
		l->key_bytes = bpf_go_fits(i, t) ? t->bytes : 0; /* 0: left out */
		w->is_missing = !load(k, l->key, l->key_bytes & 63, t->data);
		return w->is_missing;
	}
	if (!bpf_go_fits(i, t))
		l->key_bytes = 0;
	l->value_bytes = bpf_go_fits(i, t) ? t->bytes : 0;
	w->is_missing = !load(k, l->value, l->value_bytes & (BPF_GO_VALUE_BYTES - 1), t->data);
	return w->is_missing;
}

/* Says once what the labels are. False: not all of them can be read. */
static bool go_define(const struct interpreter_walk *k)
{
	struct bpf_interpreted_code *c = &k->w->code;
	struct go_work *w = &k->w->go;

	c->message = BPF_INTERPRETED_CODE;
	c->language = BPF_INTERPRETED_GO;
	c->process = k->process;
	c->code = w->number;
	c->first_line = c->is_cut = c->line_table = 0;
	c->file.bytes = c->name.bytes = 0;
	c->file.width = c->name.width = BPF_INTERPRETED_UTF8;
	w->is_missing = false;
	bpf_loop(2 * BPF_GO_MAX_LABELS, go_define_text, (void *)k, 0);
	if (w->is_missing)
		return false;
	c->lines_bytes = w->nr * sizeof(struct bpf_go_label);
	send_code(c);
	return true;
}

/* --- sets */

static long go_add_slot(__u32 i, const struct interpreter_walk *k)
{
	struct go_work *w = &k->w->go;
	const __u32 bucket = (i / BPF_GO_SLOTS) * BPF_GO_BUCKET_BYTES, slot = i % BPF_GO_SLOTS;
	const __u8 *from = k->w->scratch;

	if (bucket > SCRATCH_BYTES - BPF_GO_BUCKET_BYTES || w->nr >= BPF_GO_MAX_LABELS)
		return 1;
	from += bucket;
	if (from[slot] < BPF_GO_USED_SLOT)
		return 0;
	w->text[2 * w->nr] = *(const struct bpf_go_text *)(from + BPF_GO_BUCKET_KEYS +
							   slot * sizeof(struct bpf_go_text));
	w->text[2 * w->nr + 1] = *(const struct bpf_go_text *)(from + BPF_GO_BUCKET_VALUES +
							       slot * sizeof(struct bpf_go_text));
	w->nr++;
	return 0;
}

/* One that has more than these buckets, or that grows, has other labels than it says. */
static bool go_read_map(const struct interpreter_walk *k)
{
	struct go_work *w = &k->w->go;
	struct bpf_go_map map;
	__u32 bytes;

	if (!load(k, &map, sizeof(map), w->labels) || map.nr > BPF_GO_MAX_LABELS ||
	    map.buckets_log2 > BPF_GO_MAX_BUCKETS_LOG2)
		return false;
	bytes = BPF_GO_BUCKET_BYTES << map.buckets_log2;
	barrier_var(bytes); /* the verifier is shown its limit */
	bytes &= 2047;
	if (bytes > BPF_GO_BUCKET_BYTES << BPF_GO_MAX_BUCKETS_LOG2 ||
	    !load(k, k->w->scratch, bytes, map.buckets))
		return false;
	bpf_loop(BPF_GO_SLOTS << map.buckets_log2, go_add_slot, (void *)k, 0);
	return w->nr == map.nr;
}

static bool go_read_list(const struct interpreter_walk *k)
{
	struct go_work *w = &k->w->go;
	struct bpf_go_text list;

	if (!load(k, &list, sizeof(list), w->labels) || list.bytes > BPF_GO_MAX_LABELS ||
	    !load(k, w->text, list.bytes * BPF_GO_LABEL_BYTES, list.data))
		return false;
	w->nr = list.bytes;
	return true;
}

/* The set of the goroutine. False: it has none, or the thread is not one of Go. */
static bool go_find_labels(const struct interpreter_walk *k, struct task_struct___interpreted *task)
{
	const struct bpf_go *go = &k->p->go;
	const __u64 base = BPF_CORE_READ(task, thread.fsbase);
	__u64 g, m, runs, m_of_it, labels;

	if (!base || !load(k, &g, sizeof(g), base + go->tls) ||
	    !load(k, &m, sizeof(m), g + go->at.g_m) ||
	    !load(k, &runs, sizeof(runs), m + go->at.m_curg) || !runs ||
	    !load(k, &m_of_it, sizeof(m_of_it), runs + go->at.g_m) || m_of_it != m ||
	    !load(k, &labels, sizeof(labels), runs + go->at.g_labels) || !labels)
		return false;
	k->w->go.labels = labels;
	/* a map is behind a pointer of its own */
	return !go->at.is_map || load(k, &k->w->go.labels, sizeof(labels), labels);
}

/* Fills k->stack. */
static void go_walk_out(struct interpreter_walk *k, struct task_struct___interpreted *task)
{
	struct go_work *w = &k->w->go;
	__u32 *is_said;

	w->nr = 0;
	w->number = 0;
	w->is_missing = false;
	if (!go_find_labels(k, task) || !(k->p->go.at.is_map ? go_read_map(k) : go_read_list(k)) ||
	    !w->nr)
		return;
	bpf_loop(BPF_GO_MAX_LABELS, go_add_text, k, 0);
	if (w->is_missing || !w->number)
		return;
	is_said = bpf_map_lookup_elem(&seen, &w->number);
	if (!(is_said && *is_said) && !go_define(k) && !is_said)
		ask_for_code(k, w->number, w->labels);
	k->stack->frame[0].code = w->number;
	k->stack->frame[0].instruction = 0;
	k->stack->frame[0].flags = 0;
	k->stack->nr = 1;
}
