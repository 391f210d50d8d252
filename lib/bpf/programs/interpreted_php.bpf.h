/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The walk over the frames of PHP without threads. executor_globals has the innermost one, of the
 * thread in whose stack the place for errors is (bailout); only first threads are read.
 *
 * A frame of code of PHP has its opcode, which has the line. While the loop runs, both are in
 * registers, and the frame's own opcode is that of the last call, or the one before.
 */
#ifndef READ_ASLEEP
enum {
	PHP_MAX_STACK_BYTES = 1 << 30, /* between the place for errors and the stack's end */
	PHP_MAX_DELEGATES = 16,        /* generators that are between two frames */
	PHP_MAX_RESERVED = 6,
};

static __u64 php_word(const __u8 *frame, __u16 at)
{
	return *(const __u64 *)(frame + (at & (PHP_FRAME_BYTES - 8)));
}

/* What registers say. False: PHP runs in another thread. */
static bool php_read_registers(struct interpreter_walk *k, __u64 bailout)
{
	const struct bpf_interpreted_process *p = k->p;
	const void *registers = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	struct php_work *w = &k->w->php;
	__u64 at = read_register(registers, p->php.registers.instruction);

	w->has_registers = true;
	w->is_in_loop = at >= p->loop_begin && at < p->loop_end;
	w->is_frame = read_register(registers, p->php.registers.frame) == k->frame;
	w->opline = read_register(registers, p->php.registers.opline);
	return !bailout ||
	       bailout - read_register(registers, p->php.registers.stack) < PHP_MAX_STACK_BYTES;
}

#endif

/* --- functions */

/* Has the text of a class be that of its name. */
static bool php_find_class(const struct interpreter_walk *k, struct bpf_php_function *f)
{
	__u64 *class = &f->text[BPF_PHP_CLASS];

	return !*class || load(k, class, sizeof(*class), *class + k->p->php.at.class_name);
}

/* What a string says, as a number: its hash, if it has one. 0: it is not in memory. */
static __u64 php_number_string(const struct interpreter_walk *k, __u64 string)
{
	const struct bpf_php_offsets *at = &k->p->php.at;
	__u64 hash, length;

	if (!load(k, &hash, sizeof(hash), string + at->text_hash))
		return 0;
	if (hash)
		return hash;
	if (!load(k, &length, sizeof(length), string + at->text_length))
		return 0;
	return number_text_ends(k, string + at->text_data, length);
}

static long php_number_text(__u32 i, const struct interpreter_walk *k)
{
	struct php_work *w = &k->w->php;

	if (i >= BPF_PHP_NR_TEXTS)
		return 1;
	if (w->said.text[i])
		w->said.text[i] = php_number_string(k, w->said.text[i]);
	else
		return 0;
	w->is_missing = !w->said.text[i];
	return w->is_missing;
}

static bool php_copy_string(const struct interpreter_walk *k, __u32 i, __u64 string)
{
	const struct bpf_php_offsets *at = &k->p->php.at;
	__u64 length;

	return load(k, &length, sizeof(length), string + at->text_length) &&
	       copy_text_part(k, i, string + at->text_data, length);
}

/* The texts follow each other in a definition; that of the class is where lines are. */
_Static_assert(__builtin_offsetof(struct bpf_interpreted_code, lines) ==
		   __builtin_offsetof(struct bpf_interpreted_code, file_text) +
		       BPF_PHP_CLASS * BPF_INTERPRETED_NAME_BYTES,
	       "texts follow each other");
static long php_copy_text(__u32 i, const struct interpreter_walk *k)
{
	struct php_work *w = &k->w->php;

	if (i >= BPF_PHP_NR_TEXTS)
		return 1;
	k->w->bytes[i] = 0;
	w->is_missing = w->is.text[i] && !php_copy_string(k, i, w->is.text[i]);
	return w->is_missing;
}

/* Says once what the function is called. False: not all of it can be read. */
static bool php_define(const struct interpreter_walk *k, __u64 number)
{
	struct bpf_interpreted_code *c = &k->w->code;
	struct php_work *w = &k->w->php;

	c->message = BPF_INTERPRETED_CODE;
	c->language = BPF_INTERPRETED_PHP;
	c->process = k->process;
	c->code = number;
	c->first_line = w->is.lines;
	c->is_cut = c->line_table = 0;
	w->is_missing = false;
	if (!php_find_class(k, &w->is))
		return false;
	bpf_loop(BPF_PHP_NR_TEXTS, php_copy_text, (void *)k, 0);
	if (w->is_missing)
		return false;
	c->file.width = c->name.width = BPF_INTERPRETED_UTF8;
	c->file.bytes = k->w->bytes[BPF_PHP_FILE];
	c->name.bytes = k->w->bytes[BPF_PHP_NAME];
	c->lines_bytes = k->w->bytes[BPF_PHP_CLASS];
	send_code(c);
	return true;
}

/* Reads the function into the work; one of C is shorter. */
static bool php_load_function(const struct interpreter_walk *k, __u64 function)
{
	const struct bpf_php_offsets *at = &k->p->php.at;
	__u8 *object = k->w->php.function;

	if (load(k, object, at->array_bytes & (BPF_PHP_OBJECT_BYTES - 1), function))
		return bpf_php_is_internal(object, at) || bpf_php_is_code(object, at);
	return load(k, object, (at->function_class + 8) & (BPF_PHP_OBJECT_BYTES - 1), function) &&
	       bpf_php_is_internal(object, at);
}

/* The number of the function at an address; 0: there is none. */
static __u64 php_number(struct interpreter_walk *k, __u64 function)
{
	struct php_work *w = &k->w->php;
	__u64 number;
	__u32 *is_said;

	if (!php_load_function(k, function))
		return 0;
	w->is = (struct bpf_php_function){.space = k->space, .process = k->process};
	bpf_php_set(w->function, &k->p->php.at, &w->is);
	w->said = w->is;
	w->is_missing = !php_find_class(k, &w->said);
	if (!w->is_missing)
		bpf_loop(BPF_PHP_NR_TEXTS, php_number_text, k, 0);
	if (w->is_missing) {
		w->said = w->is;
		w->said.address = function;
	}
	number = bpf_php_number(&w->said);
	is_said = bpf_map_lookup_elem(&seen, &number);
	if (!(is_said && *is_said) && !php_define(k, number) && !is_said)
		ask_for_code(k, number, function);
	return number;
}

/* --- lines */

static bool php_is_compiled(const struct interpreter_walk *k)
{
	__u64 any = 0;

	for (__u32 i = 0; i < PHP_MAX_RESERVED; i++)
		any |= bpf_php_word(k->w->php.function, k->p->php.at.array_reserved + 8 * i);
	return any;
}

static bool php_has_opcode(const struct interpreter_walk *k, __u64 opline)
{
	const struct bpf_php_offsets *at = &k->p->php.at;
	const __u8 *object = k->w->php.function;
	const __u64 first = bpf_php_word(object, at->array_opcodes);
	const __u32 nr = *(const __u32 *)(object + (at->array_nr & (BPF_PHP_OBJECT_BYTES - 4)));

	return opline >= first && opline - first < (__u64)nr * at->opcode_bytes;
}

/* The opcode of the innermost function is in the register if the loop's frame is; else in memory,
 * as it was at the last call. A function that may be compiled has it there only where it calls. */
static __u64 php_opline(const struct interpreter_walk *k)
{
	const struct php_work *w = &k->w->php;
	const bool is_innermost = !k->stack->nr && w->has_registers;

	if (is_innermost && !w->is_in_loop && php_is_compiled(k))
		return 0;
	return is_innermost && w->is_frame && php_has_opcode(k, w->opline)
		   ? w->opline
		   : php_word(k->w->php.frame, k->p->php.at.frame_opline);
}

/* 0: not known. */
static __u32 php_line(struct interpreter_walk *k)
{
	const __u64 opline = php_opline(k);
	__u32 line;

	if (!php_has_opcode(k, opline) ||
	    !load(k, &line, sizeof(line), opline + k->p->php.at.opcode_line))
		return 0;
	return line;
}

/* --- frames */

/* One step of a search inwards for the generator that the last frame's delegates to. */
static long php_search_delegate(__u32 i, const struct interpreter_walk *k)
{
	struct php_work *w = &k->w->php;
	__u64 parent;

	if (!load(k, &parent, sizeof(parent), w->delegate + k->p->php.at.generator_parent))
		return 1;
	w->is_found = parent == w->generator;
	if (!w->is_found)
		w->delegate = parent;
	return w->is_found || !parent;
}

/* Between the frame of a generator that runs, and those that delegate to it, stands a placeholder
 * in the outermost of these. Goes on with the next one outwards; they are chained inwards only. */
static long php_leave_delegate(struct interpreter_walk *k)
{
	const struct bpf_php_offsets *at = &k->p->php.at;
	struct php_work *w = &k->w->php;

	w->delegate = w->outermost;
	if (w->generator == w->outermost) {
		w->outermost = 0;
		return !load(k, &k->frame, sizeof(k->frame),
			     w->delegate + at->generator_placeholder + at->frame_previous);
	}
	w->is_found = false;
	bpf_loop(PHP_MAX_DELEGATES, php_search_delegate, k, 0);
	if (w->is_found)
		return !load(k, &k->frame, sizeof(k->frame), w->delegate + at->generator_frame);
	k->stack->is_partial = 1;
	return 1;
}

/* A frame without a function. */
static long php_step_over(struct interpreter_walk *k)
{
	const struct bpf_php_offsets *at = &k->p->php.at;
	__u64 object = php_word(k->w->php.frame, at->frame_this);

	if (k->w->php.generator && object + at->generator_placeholder == k->frame) {
		k->w->php.outermost = object;
		return php_leave_delegate(k);
	}
	k->frame = php_word(k->w->php.frame, at->frame_previous);
	return 0;
}

static long php_step_out(__u32 i, struct interpreter_walk *k)
{
	const struct bpf_php_offsets *at = &k->p->php.at;
	struct bpf_interpreted_stack *s = k->stack;
	__u8 *frame = k->w->php.frame;
	__u32 nr = s->nr & (BPF_INTERPRETED_MAX_FRAMES - 1), flags;
	__u64 function;
	bool is_internal, is_entry;

	if (!k->frame)
		return 1;
	if (s->nr >= BPF_INTERPRETED_MAX_FRAMES ||
	    !load(k, frame, at->frame_bytes & (PHP_FRAME_BYTES - 1), k->frame)) {
		s->is_partial = 1;
		return 1;
	}
	function = php_word(frame, at->frame_function);
	if (!function)
		return php_step_over(k);
	s->frame[nr].code = php_number(k, function);
	if (!s->frame[nr].code) {
		s->is_partial = 1;
		return 1;
	}
	is_internal = bpf_php_is_internal(k->w->php.function, at);
	flags = *(const __u32 *)(frame + (at->frame_flags & (PHP_FRAME_BYTES - 4)));
	s->frame[nr].instruction = is_internal ? 0 : php_line(k);
	/* a generator that has delegated does not run */
	is_entry = !is_internal && !k->w->php.outermost && flags >> (at->flag_entry & 31) & 1;
	s->frame[nr].flags = is_entry ? BPF_INTERPRETED_ENTRY : 0;
	s->nr = nr + 1;
	k->w->php.generator =
	    flags >> (at->flag_generator & 31) & 1 ? php_word(frame, at->frame_result) : 0;
	k->frame = php_word(frame, at->frame_previous);
	return k->w->php.generator && k->w->php.outermost ? php_leave_delegate(k) : 0;
}

/* Whether PHP runs in this thread. */
static bool php_is_there(struct interpreter_walk *k, __u64 bailout)
{
#ifdef READ_ASLEEP
	return true;
#else
	return php_read_registers(k, bailout);
#endif
}

/* Fills k->stack. */
static void php_walk_out(struct interpreter_walk *k, __u32 tid)
{
	const struct bpf_interpreted_process *p = k->p;
	__u64 bailout = 0;

	k->w->php.has_registers = k->w->php.is_in_loop = k->w->php.is_frame = false;
	k->w->php.generator = k->w->php.outermost = 0;
	if (tid != k->process ||
	    !load(k, &bailout, sizeof(bailout), p->php.globals + p->php.at.globals_bailout) ||
	    !load(k, &k->frame, sizeof(k->frame), p->php.globals + p->php.at.globals_frame) ||
	    !php_is_there(k, bailout))
		return;
	bpf_loop(BPF_INTERPRETED_MAX_FRAMES, php_step_out, k, 0);
}
