/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The walk over the frames of CRuby. A thread's context, which is that of the fiber that runs, is
 * in a variable of the thread, or, before Ruby 3.0, in one for all, which the thread has that may
 * run. It has the innermost frame; the others follow it in memory up to the end of the stack.
 *
 * Methods of C have frames, too, but no code: they are stepped over.
 */
#ifndef READ_ASLEEP
enum {
	RUBY_MAX_STEPS = 4 * BPF_INTERPRETED_MAX_FRAMES, /* frames, with those of C */
	RUBY_MAX_LOCALS = 16,                            /* words that a thread has in its block */
	RUBY_MAX_MODULE = 65536,
	RUBY_MAX_STACK_WORDS = 1 << 27,
	RUBY_BLOCK_AT = 8, /* behind a thread's base: where the addresses of its blocks are */
	RUBY_BLOCK_BYTES = 16,
	/* The index of positions: numbers of 7 bits for the first ones, each 9 in a word; then
	 * parts of 512 bits, which have how many were set before, the same of each word but for the
	 * first one in 9 bits, and the bits. It has been so since Ruby 2.6. */
	RUBY_FIRST_POSITIONS = 54,
	RUBY_FIRST_IN_WORD = 9,
	RUBY_FIRST_BITS = 7,
	RUBY_PARTS_AT = 48,
	RUBY_PART_BYTES = 80,
	RUBY_PART_POSITIONS = 512,
	RUBY_PART_RANKS_AT = 8,
	RUBY_PART_RANK_BITS = 9,
	RUBY_PART_BITS_AT = 16,
	RUBY_MAX_WORDS = 8, /* of an instruction with its operands */
	RUBY_MAX_HANDLER_BYTES = 4096,
	RUBY_MAX_LOOP_BYTES = 1 << 20,
	RUBY_STACK_WORDS = 128, /* that are looked at */
};

static __u32 ruby_count_bits(__u64 word)
{
	word -= word >> 1 & 0x5555555555555555ull;
	word = (word & 0x3333333333333333ull) + (word >> 2 & 0x3333333333333333ull);
	return ((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull >> 56;
}

/* What does an instruction, whose address it is, and what does the one before it, which has
 * operands behind it. False: there is none. */
static bool ruby_find_handlers(const struct interpreter_walk *k, __u64 pc, __u64 position)
{
	struct ruby_work *w = &k->w->ruby;
	const __u64 *word = (const void *)w->object;

	if (bpf_probe_read_user(w->object, (RUBY_MAX_WORDS + 1) * sizeof(*word),
				(void *)(pc - RUBY_MAX_WORDS * sizeof(*word))))
		return false;
	w->handler = word[RUBY_MAX_WORDS];
	w->handler_before = 0;
	for (__u32 i = 0; i < RUBY_MAX_WORDS; i++)
		if (RUBY_MAX_WORDS - i <= position &&
		    word[i] - w->handler + RUBY_MAX_LOOP_BYTES < 2 * RUBY_MAX_LOOP_BYTES)
			w->handler_before = word[i];
	return w->handler_before;
}

/* Whether the code at the address does one of these; sets is_found: not that before. */
static bool ruby_is_of_handler(struct ruby_work *w, __u64 at)
{
	const __u64 here = at - w->handler, before = at - w->handler_before;

	w->is_found = here < before;
	return here < RUBY_MAX_HANDLER_BYTES || before < RUBY_MAX_HANDLER_BYTES;
}

/* Whether the loop does the instruction at pc. Else it does the one before: pc is beyond it as soon
 * as it has begun, but for instructions that call no method. The loop is where the thread is, or
 * where what it calls returns to. */
static bool ruby_is_at(const struct interpreter_walk *k, __u64 pc, __u64 position)
{
	const void *registers = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	const __u64 *word = (const void *)k->w->scratch;
	struct ruby_work *w = &k->w->ruby;

	if (!ruby_find_handlers(k, pc, position))
		return false;
	if (ruby_is_of_handler(w, read_register(registers, k->p->ruby.instruction)))
		return w->is_found;
	if (bpf_probe_read_user(k->w->scratch, RUBY_STACK_WORDS * sizeof(*word),
				(void *)read_register(registers, k->p->ruby.stack)))
		return false;
	for (__u32 i = 0; i < RUBY_STACK_WORDS; i++)
		if (ruby_is_of_handler(w, word[i]))
			return w->is_found;
	return false;
}
#endif

/* --- code */

/* Sets text; a path may be in an array. */
static bool ruby_find_text(const struct interpreter_walk *k, __u64 address)
{
	const struct bpf_ruby_offsets *at = &k->p->ruby.at;
	__u8 *object = k->w->ruby.object;
	__u64 path;

	if (!load(k, object, BPF_RUBY_HEAD_BYTES, address))
		return false;
	path = bpf_ruby_path_of(object, at);
	if (path && !load(k, object, BPF_RUBY_HEAD_BYTES, path))
		return false;
	return bpf_ruby_find_text(object, path ? path : address, at, &k->w->ruby.text);
}

/* Frames after each other often have the same file. */
static long ruby_number_text(__u32 i, const struct interpreter_walk *k)
{
	struct ruby_work *w = &k->w->ruby;

	if (i >= BPF_RUBY_NR_TEXTS)
		return 1;
	if (w->is.text[i] != w->before[i]) {
		w->before[i] = w->is.text[i];
		w->number[i] = ruby_find_text(k, w->is.text[i])
				   ? number_text_ends(k, w->text.data, w->text.length)
				   : 0;
	}
	w->said.text[i] = w->number[i];
	w->is_missing = !w->number[i];
	return w->is_missing;
}

static long ruby_copy_text(__u32 i, const struct interpreter_walk *k)
{
	struct ruby_work *w = &k->w->ruby;

	if (i >= BPF_RUBY_NR_TEXTS)
		return 1;
	w->is_missing = !ruby_find_text(k, w->is.text[i]) ||
			!copy_text_part(k, i, w->text.data, w->text.length);
	return w->is_missing;
}

/* Says once what the code is called. False: not all of it can be read. */
static bool ruby_define(const struct interpreter_walk *k, __u64 number)
{
	struct bpf_interpreted_code *c = &k->w->code;
	struct ruby_work *w = &k->w->ruby;

	c->message = BPF_INTERPRETED_CODE;
	c->language = BPF_INTERPRETED_RUBY;
	c->process = k->process;
	c->code = number;
	c->first_line = w->is.line;
	c->is_cut = c->line_table = c->lines_bytes = 0;
	bpf_loop(BPF_RUBY_NR_TEXTS, ruby_copy_text, (void *)k, 0);
	if (w->is_missing)
		return false;
	c->file.width = c->name.width = BPF_INTERPRETED_UTF8;
	c->file.bytes = k->w->bytes[BPF_RUBY_FILE];
	c->name.bytes = k->w->bytes[BPF_RUBY_NAME];
	send_code(c);
	return true;
}

/* The number of the code whose object is at the address, and its body in the work; 0: there is
 * none. */
static __u64 ruby_number(struct interpreter_walk *k, __u64 object)
{
	const struct bpf_ruby_offsets *at = &k->p->ruby.at;
	struct ruby_work *w = &k->w->ruby;
	__u64 number;
	__u32 *is_said;

	if (!load(k, w->object, BPF_RUBY_HEAD_BYTES, object) || !bpf_ruby_is_code(w->object, at) ||
	    !load(k, w->body, at->body_bytes & (BPF_RUBY_OBJECT_BYTES - 1),
		  bpf_ruby_word(w->object, at->code_body)))
		return 0;
	w->is = (struct bpf_ruby_code){.space = k->space, .process = k->process};
	bpf_ruby_set(w->body, at, &w->is);
	w->said = w->is;
	w->is_missing = false;
	bpf_loop(BPF_RUBY_NR_TEXTS, ruby_number_text, k, 0);
	if (w->is_missing) {
		w->said = w->is;
		w->said.address = object;
	}
	number = bpf_ruby_number(&w->said);
	is_said = bpf_map_lookup_elem(&seen, &number);
	if (!(is_said && *is_said) && !ruby_define(k, number) && !is_said)
		ask_for_code(k, number, object);
	return number;
}

/* --- lines */

/* Which entry has a position, from 1 on; 0: it cannot be read. */
static __u32 ruby_find_entry(const struct interpreter_walk *k, __u64 index, __u64 position)
{
	__u64 word, part, ranks;
	__u32 rank, i;

	if (position < RUBY_FIRST_POSITIONS) {
		if (!load(k, &word, sizeof(word), index + position / RUBY_FIRST_IN_WORD * 8))
			return 0;
		return word >> position % RUBY_FIRST_IN_WORD * RUBY_FIRST_BITS &
		       ((1 << RUBY_FIRST_BITS) - 1);
	}
	position -= RUBY_FIRST_POSITIONS;
	part = index + RUBY_PARTS_AT + position / RUBY_PART_POSITIONS * RUBY_PART_BYTES;
	i = position % RUBY_PART_POSITIONS / 64;
	if (!load(k, &rank, sizeof(rank), part) ||
	    !load(k, &ranks, sizeof(ranks), part + RUBY_PART_RANKS_AT) ||
	    !load(k, &word, sizeof(word), part + RUBY_PART_BITS_AT + i * 8))
		return 0;
	if (i)
		rank += ranks >> (i - 1) * RUBY_PART_RANK_BITS & ((1 << RUBY_PART_RANK_BITS) - 1);
	return rank + ruby_count_bits(word << (63 - position % 64));
}

/* Of the frame in the work, whose code's body is there, too. 0: not known. */
static __u32 ruby_line(const struct interpreter_walk *k)
{
	const struct bpf_ruby_offsets *at = &k->p->ruby.at;
	const struct ruby_work *w = &k->w->ruby;
	const __u64 pc = bpf_ruby_word(w->frame, at->frame_pc);
	const __u64 nr = bpf_ruby_half(w->body, at->body_nr_entries);
	__u64 position = pc - bpf_ruby_word(w->body, at->body_instructions), entry = 1;
	__u32 line;

	if (!pc)
		return w->is.line;
	position >>= 3;
	if (position > bpf_ruby_half(w->body, at->body_words))
		return 0;
#ifdef READ_ASLEEP
	position -= position != 0;
#else
	position -= position && (k->frame != w->innermost || !ruby_is_at(k, pc, position));
#endif
	if (nr > 1)
		entry = ruby_find_entry(k, bpf_ruby_word(w->body, at->body_index), position);
	if (!entry || entry > nr ||
	    !load(k, &line, sizeof(line),
		  bpf_ruby_word(w->body, at->body_entries) + (entry - 1) * at->entry_bytes +
		      at->entry_line))
		return 0;
	return line;
}

/* --- frames */

/* Adds the frame in the work, if it is of code. The first word of its environment says what it is.
 * False: it cannot be read. */
static bool ruby_add_frame(struct interpreter_walk *k)
{
	const struct bpf_ruby_offsets *at = &k->p->ruby.at;
	struct bpf_interpreted_stack *s = k->stack;
	const __u8 *frame = k->w->ruby.frame;
	__u32 nr = s->nr & (BPF_INTERPRETED_MAX_FRAMES - 1);
	__u64 flags;

	if (!load(k, &flags, sizeof(flags), bpf_ruby_word(frame, at->frame_environment)))
		return false;
	if (flags >> (at->flag_c & 31) & 1)
		return true;
	s->frame[nr].code = ruby_number(k, bpf_ruby_word(frame, at->frame_code));
	if (!s->frame[nr].code)
		return false;
	s->frame[nr].instruction = ruby_line(k);
	s->frame[nr].flags = flags >> (at->flag_entry & 31) & 1 ? BPF_INTERPRETED_ENTRY : 0;
	s->nr = nr + 1;
	return true;
}

/* A frame that is pushed just now may not have its own words yet: it is as if it had not begun. */
static long ruby_step_out(__u32 i, struct interpreter_walk *k)
{
	const struct bpf_ruby_offsets *at = &k->p->ruby.at;
	struct bpf_interpreted_stack *s = k->stack;

	if (k->frame >= k->calls)
		return 1;
	if (s->nr >= BPF_INTERPRETED_MAX_FRAMES ||
	    !load(k, k->w->ruby.frame, at->frame_bytes & (RUBY_FRAME_BYTES - 1), k->frame) ||
	    (!ruby_add_frame(k) && i)) {
		s->is_partial = 1;
		return 1;
	}
	k->frame += at->frame_bytes;
	return 0;
}

/* Sets where frames begin and end: the outermost one stands for nothing. */
static bool ruby_find_frames(struct interpreter_walk *k, __u64 context)
{
	const struct bpf_ruby_offsets *at = &k->p->ruby.at;
	__u64 begin = 0, words = 0;

	if (!load(k, &begin, sizeof(begin), context + at->context_stack) ||
	    !load(k, &words, sizeof(words), context + at->context_words) ||
	    !load(k, &k->frame, sizeof(k->frame), context + at->context_frame))
		return false;
	k->calls = begin + words * 8 - at->frame_bytes;
	return words < RUBY_MAX_STACK_WORDS && k->frame > begin && k->frame <= k->calls;
}

/* Whether there is a context of the thread, which points back to it, and has frames. */
static bool ruby_is_context(struct interpreter_walk *k, __u64 context, __u64 base)
{
	const struct bpf_ruby_offsets *at = &k->p->ruby.at;
	__u64 thread = 0, back = 0, number = base;

	return context && load(k, &thread, sizeof(thread), context + at->context_thread) &&
	       load(k, &back, sizeof(back), thread + at->thread_context) && back == context &&
	       (at->thread_number == BPF_RUBY_NOWHERE ||
		load(k, &number, sizeof(number), thread + at->thread_number)) &&
	       number == base && ruby_find_frames(k, context);
}

/* Where variables of the thread are that Ruby has; 0: it has none. */
static __u64 ruby_find_block(const struct interpreter_walk *k, __u64 base)
{
	__u64 module = 1, blocks = 0, block = 0;

	if (k->p->ruby.module && !load(k, &module, sizeof(module), k->p->ruby.module))
		return 0;
	if (module >= RUBY_MAX_MODULE || !load(k, &blocks, sizeof(blocks), base + RUBY_BLOCK_AT) ||
	    !load(k, &block, sizeof(block), blocks + module * RUBY_BLOCK_BYTES))
		return 0;
	return block;
}

static long ruby_search_context(__u32 i, struct interpreter_walk *k)
{
	struct ruby_work *w = &k->w->ruby;
	__u64 context;

	if (i >= k->p->ruby.nr_locals ||
	    !load(k, &context, sizeof(context), w->block + k->p->ruby.local + i * 8))
		return 1;
	w->is_found = ruby_is_context(k, context, w->base);
	return w->is_found;
}

/* Sets where frames begin and end. False: Ruby does not run in the thread. */
static bool ruby_find_context(struct interpreter_walk *k, __u64 base)
{
	struct ruby_work *w = &k->w->ruby;
	__u64 context;

	if (k->p->ruby.context)
		return load(k, &context, sizeof(context), k->p->ruby.context) &&
		       ruby_is_context(k, context, base);
	w->base = base;
	w->block = ruby_find_block(k, base);
	w->is_found = false;
	if (w->block)
		bpf_loop(RUBY_MAX_LOCALS, ruby_search_context, k, 0);
	return w->is_found;
}

/* Fills k->stack. */
static void ruby_walk_out(struct interpreter_walk *k, struct task_struct___interpreted *task)
{
	struct ruby_work *w = &k->w->ruby;

	if (!ruby_find_context(k, BPF_CORE_READ(task, thread.fsbase)))
		return;
	w->innermost = k->frame;
	__builtin_memset(w->before, 0, sizeof(w->before));
	__builtin_memset(w->number, 0, sizeof(w->number));
	bpf_loop(RUBY_MAX_STEPS, ruby_step_out, k, 0);
	k->stack->is_partial |= k->frame < k->calls;
}
