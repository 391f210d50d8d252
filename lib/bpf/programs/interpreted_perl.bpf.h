/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The walk over the contexts of Perl, from the innermost stack of them on. Calls of subs and texts
 * that are evaluated are frames; other contexts, as those of loops, belong to the frame around
 * them. Where a statement begins is the control op (COP), which has its file and its line: the
 * interpreter's own for the innermost frame, and that of a context for what is around it.
 */
#ifndef READ_ASLEEP
enum {
	PERL_MAX_STEPS = 8 * BPF_INTERPRETED_MAX_FRAMES, /* contexts, and stacks of them */
	PERL_MAX_CONTEXTS = 1 << 24,                     /* of a stack */
	PERL_MAX_CHUNKS = 16,                            /* of a file's name */
	/* Of those of a stack: a walk of 1 ms would be too long for the machine, and for its
	 * sample. */
	PERL_MAX_CHUNKS_OF_STACK = 2 * BPF_INTERPRETED_MAX_FRAMES,
	PERL_MAX_NAME_BYTES = 4096,
	PERL_MAX_KEY = 1024,
	PERL_PAGE_BYTES = 4096,
	PERL_MAX_LOOPS = 255, /* of a frame */
	/* A thread's structure in glibc: 32 values, each behind a number, and then the addresses of
	 * further parts with as many. */
	PERL_VALUES_AT = 0x310,
	PERL_VALUES = 32,
	PERL_VALUE_BYTES = 16,
	PERL_OP_TYPE_MASK = 511,
	PERL_OBJECT_TYPE_MASK = 255,
	PERL_FILE_PREFIX = 2, /* "_<", before the name of a file where it is that of a glob */
	PERL_NUMBERED = 5,    /* "(eval 12)": what is before the number */
	/* That are read of stacks, of objects, of names, of bodies and of ops. */
	PERL_STACK_BYTES = 48,
	PERL_HEAD_BYTES = 24,
	PERL_KEY_BYTES = 8,
	PERL_CODE_BYTES = 96,
	PERL_GLOB_BYTES = 48,
	PERL_HASH_BYTES = 32,
	PERL_NAMES_BYTES = 32, /* of a hash */
	PERL_OP_BYTES = 40,
	PERL_COP_BYTES = 56,
};
#define PERL_NUMBERED_WORD 0x206c61766528ull /* "(eval " */
#define PERL_NUMBERED_MASK 0xffffffffffffull
#define PERL_LOW_BITS      0x0101010101010101ull
#define PERL_HIGH_BITS     0x8080808080808080ull

static __u64 perl_word(const __u8 *object, __u16 at)
{
	return *(const __u64 *)(object + (at & (PERL_OBJECT_BYTES - 8)));
}

static __u32 perl_half(const __u8 *object, __u16 at)
{
	return *(const __u32 *)(object + (at & (PERL_OBJECT_BYTES - 4)));
}

/* A loop was begun in the frame of that number, or in the one that comes next. */
static void perl_add_loop(struct interpreter_walk *k, __u32 nr)
{
	struct bpf_interpreted_frame *f = &k->stack->frame[nr & (BPF_INTERPRETED_MAX_FRAMES - 1)];

	if (nr >= k->stack->nr)
		k->w->perl.nr_loops++;
	else if (f->flags & BPF_INTERPRETED_ENTRY)
		f->flags += BPF_INTERPRETED_FURTHER_ENTRY;
	else
		f->flags = BPF_INTERPRETED_ENTRY;
}
#endif

/* --- texts */

/* Reads the first bytes of an object's body into the work. False: the object has another type. */
static bool perl_load_body(struct interpreter_walk *k, __u64 object, __u32 type, __u32 bytes)
{
	const struct bpf_perl_offsets *at = &k->p->perl.at;
	struct perl_work *w = &k->w->perl;

	if (!object || !load(k, w->object, PERL_HEAD_BYTES, object))
		return false;
	w->flags = perl_half(w->object, at->object_flags);
	w->array = perl_word(w->object, at->object_array);
	w->at = perl_word(w->object, at->object_body);
	return (w->flags & PERL_OBJECT_TYPE_MASK) == type &&
	       load(k, w->object, bytes & (PERL_OBJECT_BYTES - 1), w->at);
}

/* One step of a search for the zero byte at the end of the file's name, as far as the page goes.
 * What it says is added to its number. */
static long perl_search_end(__u32 i, struct interpreter_walk *k)
{
	struct perl_text *text = &k->w->perl.text[BPF_PERL_FILE];
	const __u64 from = text->data + text->length, left = -from & (PERL_PAGE_BYTES - 1);
	__u8 *bytes = k->w->text;
	__u32 nr = TEXT_BYTES;
	__u64 word;

	if (k->w->perl.nr_chunks++ >= PERL_MAX_CHUNKS_OF_STACK)
		return 1;
	__builtin_memset(bytes, 0, TEXT_BYTES);
	if (left && left < TEXT_BYTES)
		nr = left & (TEXT_BYTES - 1);
	if (nr == TEXT_BYTES ? !load(k, bytes, TEXT_BYTES, from)
			     : !load(k, bytes, nr & (TEXT_BYTES - 1), from))
		return 1;
	if (!i)
		k->w->perl.begin = *(const __u64 *)bytes;
	for (__u32 n = 0; n < TEXT_BYTES; n += 8) {
		word = *(const __u64 *)(bytes + n);
		if (!((word - PERL_LOW_BITS) & ~word & PERL_HIGH_BITS)) {
			text->number = bpf_interpreted_mix(text->number, word);
			continue;
		}
		for (; word & 0xff; word >>= 8, n++)
			text->number = bpf_interpreted_mix(text->number, word & 0xff);
		k->w->perl.is_found = n < nr;
		text->length += n < nr ? n : nr;
		return k->w->perl.is_found;
	}
	text->length += TEXT_BYTES;
	return 0;
}

/* Sets the text of a name (HEK), whose number is its hash and its length: it is then in the work in
 * place of an object. */
static bool perl_find_name(const struct interpreter_walk *k, __u64 name, struct perl_text *out)
{
	const struct bpf_perl_offsets *at = &k->p->perl.at;
	__u8 *object = k->w->perl.object;
	__u32 length;

	if (!name || !load(k, object, PERL_KEY_BYTES, name))
		return false;
	length = perl_half(object, at->key_length);
	if (length > PERL_MAX_NAME_BYTES)
		return false;
	out->data = name + at->key_text;
	out->length = length;
	out->number = (__u64)length << 32 | perl_half(object, at->key_hash);
	return true;
}

/* Sets the text of a file: without threads it is the name of a glob. Texts that are evaluated have
 * numbers, without which they are told apart by their lines. */
static bool perl_find_file(struct interpreter_walk *k, __u64 file)
{
	const struct bpf_perl_offsets *at = &k->p->perl.at;
	struct perl_work *w = &k->w->perl;
	struct perl_text *text = &w->text[BPF_PERL_FILE];

	if (!file)
		return true;
	w->is_found = false;
	w->begin = 0;
	if (k->p->perl.key) {
		text->data = file;
		bpf_loop(PERL_MAX_CHUNKS, perl_search_end, k, 0);
	} else if (perl_load_body(k, file, at->type_glob, PERL_GLOB_BYTES) &&
		   perl_find_name(k, perl_word(w->object, at->glob_name), text) &&
		   text->length >= PERL_FILE_PREFIX) {
		text->data += PERL_FILE_PREFIX;
		text->length -= PERL_FILE_PREFIX;
		load(k, &w->begin, sizeof(w->begin), text->data);
		w->is_found = true;
	}
	if (text->length > PERL_NUMBERED && (w->begin & PERL_NUMBERED_MASK) == PERL_NUMBERED_WORD)
		text->length = text->number = PERL_NUMBERED;
	return w->is_found;
}

/* Sets the text of a package's name: the first of the names that its hash has. The frame before
 * often has the same one. */
static bool perl_find_package(struct interpreter_walk *k, __u64 package)
{
	const struct bpf_perl_offsets *at = &k->p->perl.at;
	struct perl_work *w = &k->w->perl;
	struct perl_text *text = &w->text[BPF_PERL_PACKAGE];
	__u64 names, name;

	if (package && package == w->package) {
		*text = w->of_package;
		return true;
	}
	if (!perl_load_body(k, package, at->type_hash, PERL_HASH_BYTES) ||
	    !(w->flags >> (at->flag_names & 31) & 1))
		return false;
	names = at->hash_names == BPF_PERL_NOWHERE
		    ? w->array + (perl_word(w->object, at->hash_most) + 1) * 8
		    : w->at + at->hash_names;
	if (!load(k, w->object, PERL_NAMES_BYTES, names))
		return false;
	name = perl_word(w->object, at->names_first);
	if (perl_half(w->object, at->names_nr) && !load(k, &name, sizeof(name), name))
		return false;
	if (!perl_find_name(k, name, text))
		return false;
	w->package = package;
	w->of_package = *text;
	return true;
}

/* Sets the texts of a sub's names, and where it begins. What has lost its name has none; one of a
 * block has no package. */
static bool perl_find_sub(struct interpreter_walk *k, __u64 code)
{
	const struct bpf_perl_offsets *at = &k->p->perl.at;
	struct perl_work *w = &k->w->perl;
	__u64 name, package;
	__u32 flags;

	if (!perl_load_body(k, code, at->type_code, PERL_CODE_BYTES) &&
	    ((w->flags & PERL_OBJECT_TYPE_MASK) != at->type_form ||
	     !load(k, w->object, PERL_CODE_BYTES, w->at)))
		return false;
	w->start = perl_word(w->object, at->code_start);
	name = perl_word(w->object, at->code_name);
	package = perl_word(w->object, at->code_package);
	flags = perl_half(w->object, at->code_flags);
	if (!(flags >> (at->flag_named & 31) & 1)) {
		if (!perl_load_body(k, name, at->type_glob, PERL_GLOB_BYTES))
			return true;
		package = perl_word(w->object, at->glob_package);
		name = perl_word(w->object, at->glob_name);
	} else if (flags >> (at->flag_lexical & 31) & 1) {
		package = 0;
	}
	if (perl_find_name(k, name, &w->text[BPF_PERL_NAME]))
		perl_find_package(k, package);
	return true;
}

/* --- code */

/* Reads an op into the work. Returns its type; 0: it cannot be read. */
static __u32 perl_load_op(struct interpreter_walk *k, __u64 op)
{
	struct perl_work *w = &k->w->perl;

	if (!op || !load(k, w->object, PERL_OP_BYTES, op))
		return 0;
	return perl_half(w->object, k->p->perl.at.op_type) & PERL_OP_TYPE_MASK;
}

static bool perl_is_statement(const struct interpreter_walk *k, __u32 type)
{
	return type && (type == k->p->perl.at.op_state || type == k->p->perl.at.op_debug);
}

/* The texts follow each other in a definition; that of the package is where lines are. */
_Static_assert(__builtin_offsetof(struct bpf_interpreted_code, lines) ==
		   __builtin_offsetof(struct bpf_interpreted_code, file_text) +
		       BPF_PERL_PACKAGE * BPF_INTERPRETED_NAME_BYTES,
	       "texts follow each other");
static long perl_copy_text(__u32 i, struct interpreter_walk *k)
{
	struct perl_work *w = &k->w->perl;

	if (i >= BPF_PERL_NR_TEXTS)
		return 1;
	w->is_found = copy_text_part(k, i, w->text[i].data, w->text[i].length);
	return !w->is_found;
}

/* Says once what the code is called. */
static void perl_define(struct interpreter_walk *k)
{
	struct bpf_interpreted_code *c = &k->w->code;
	struct perl_work *w = &k->w->perl;

	c->message = BPF_INTERPRETED_CODE;
	c->language = BPF_INTERPRETED_PERL;
	c->process = k->process;
	c->code = w->number;
	c->first_line = w->first_line;
	c->is_cut = 0;
	c->line_table = w->kind;
	bpf_loop(BPF_PERL_NR_TEXTS, perl_copy_text, k, 0);
	if (!w->is_found)
		return;
	c->file.width = c->name.width = BPF_INTERPRETED_UTF8;
	c->file.bytes = k->w->bytes[BPF_PERL_FILE];
	c->name.bytes = k->w->bytes[BPF_PERL_NAME];
	c->lines_bytes = k->w->bytes[BPF_PERL_PACKAGE];
	send_code(c);
}

/* Sets the number of the code, by its file, its names and where it begins, and the line of the
 * statement. A sub that calls itself is the one before. False: it cannot be read. */
static bool perl_number(struct interpreter_walk *k, __u64 code)
{
	const struct bpf_perl_offsets *at = &k->p->perl.at;
	struct perl_work *w = &k->w->perl;
	const bool is_again = code && code == w->code && w->cop == w->cop_before;
	__u32 *is_said;

	if (is_again && !w->is_unbegun)
		return true;
	w->code = code;
	__builtin_memset(w->text, 0, sizeof(w->text));
	w->first_line = w->line = w->start = 0;
	if (code && !perl_find_sub(k, code))
		return false;
	if (perl_is_statement(k, perl_load_op(k, w->start)))
		w->first_line = perl_half(w->object, at->cop_line);
	else
		w->start = 0;
	if (w->is_unbegun && w->start)
		w->cop = w->start;
	w->cop_before = w->cop;
	if (w->cop) {
		if (!load(k, w->object, PERL_COP_BYTES, w->cop))
			return false;
		w->line = perl_half(w->object, at->cop_line);
		if (!perl_find_file(k, perl_word(w->object, at->cop_file)))
			return false;
	}
	w->number = bpf_interpreted_mix(k->space ^ k->process, w->first_line * 4ull + w->kind);
	for (__u32 i = 0; i < BPF_PERL_NR_TEXTS; i++)
		w->number = bpf_interpreted_mix(w->number, w->text[i].number);
	is_said = bpf_map_lookup_elem(&seen, &w->number);
	if (!(is_said && *is_said))
		perl_define(k);
	return true;
}

/* --- frames */

/* Adds the frame of code that does the statement. */
static bool perl_add_frame(struct interpreter_walk *k, __u64 code)
{
	struct bpf_interpreted_stack *s = k->stack;
	struct perl_work *w = &k->w->perl;
	__u32 nr = s->nr & (BPF_INTERPRETED_MAX_FRAMES - 1), loops = w->nr_loops;

	if (!perl_number(k, code))
		return false;
	s->frame[nr].code = w->number;
	s->frame[nr].instruction = w->line;
	if (loops > PERL_MAX_LOOPS)
		loops = PERL_MAX_LOOPS;
	s->frame[nr].flags =
	    loops ? BPF_INTERPRETED_ENTRY + (loops - 1) * BPF_INTERPRETED_FURTHER_ENTRY : 0;
	s->nr = nr + 1;
	w->nr_loops = 0;
	w->is_unbegun = false;
	return true;
}

/* Native code has begun a loop within the frame that comes next. In it, the first eval that has to
 * catch has begun another one, but for where that native code catches itself: the next context says
 * so. */
static void perl_begin_loop(struct interpreter_walk *k)
{
	struct perl_work *w = &k->w->perl;

	w->is_pending = w->catch != 0;
	w->pending = w->catch_frame;
	w->catch = 0;
	perl_add_loop(k, k->stack->nr);
}

/* What is evaluated is text, and a frame, or a block of the frame around it. */
static bool perl_leave_eval(struct interpreter_walk *k, __u8 type)
{
	const struct bpf_perl_offsets *at = &k->p->perl.at;
	const bool is_text = !(type >> (at->flag_block & 7) & 1);
	struct perl_work *w = &k->w->perl;
	const __u64 catch = perl_word(w->context, at->context_catch);

	if (w->catch && w->catch != catch)
		perl_add_loop(k, w->catch_frame);
	w->catch = catch;
	w->catch_frame = k->stack->nr;
	if (!is_text) {
		if (!perl_word(w->context, at->context_next))
			w->catch = 0;
		return true;
	}
	if (!perl_word(w->context, at->context_next))
		perl_begin_loop(k);
	w->kind = BPF_PERL_IS_TEXT;
	if (!perl_add_frame(k, 0))
		return false;
	w->cop = perl_word(w->context, at->context_cop);
	return true;
}

/* Whether the sub of the context runs. It is entered behind the number of contexts, and left before
 * it: its place has another one's, or nothing. Who has called it is then the frame that comes
 * next. */
static bool perl_is_within(struct interpreter_walk *k)
{
	struct perl_work *w = &k->w->perl;
	const bool is_entered = (__s32)w->left <= w->sub;

	if (is_entered && perl_word(w->context, k->p->perl.at.context_code))
		return true;
	if (is_entered || w->is_at_return)
		w->cop = perl_word(w->context, k->p->perl.at.context_cop);
	w->is_at_call = false;
	return false;
}

/* A sub that was called just now has not begun with its first statement. One that native code calls
 * often is among the contexts between the calls, too, as one that compares: it is no frame then. */
static bool perl_leave_sub(struct interpreter_walk *k, __u8 type)
{
	const struct bpf_perl_offsets *at = &k->p->perl.at;
	struct perl_work *w = &k->w->perl;
	const __u64 cop = perl_word(w->context, at->context_cop);
	bool is_unbegun;

	if (!perl_is_within(k))
		return true;
	is_unbegun = !k->stack->nr && (w->is_idle || w->cop == cop);
	if (!perl_word(w->context, at->context_next)) {
		if (is_unbegun) {
			w->cop = cop;
			return true;
		}
		perl_begin_loop(k);
	}
	if (type >> (at->flag_within & 7) & 1)
		return true;
	w->is_unbegun = is_unbegun && w->is_at_call;
	w->kind = BPF_PERL_IS_SUB;
	if (!perl_add_frame(k, perl_word(w->context, at->context_code)))
		return false;
	w->cop = cop;
	return true;
}

static bool perl_load_stack(struct interpreter_walk *k)
{
	const struct bpf_perl_offsets *at = &k->p->perl.at;
	struct perl_work *w = &k->w->perl;
	__s32 index, most;

	if (!load(k, w->object, PERL_STACK_BYTES, k->frame))
		return false;
	w->contexts = perl_word(w->object, at->stack_contexts);
	w->previous = perl_word(w->object, at->stack_previous);
	w->sub = perl_half(w->object, at->stack_sub);
	index = perl_half(w->object, at->stack_index);
	most = perl_half(w->object, at->stack_most);
	w->left = (__u32)(index + 1);
	return index >= -1 && index <= most && most < PERL_MAX_CONTEXTS && w->contexts;
}

/* Goes on with the stack of contexts before; the program itself is outside of the last one. */
static long perl_leave_stack(struct interpreter_walk *k)
{
	struct perl_work *w = &k->w->perl;

	if (w->is_pending)
		perl_add_loop(k, w->pending);
	w->is_pending = w->is_idle = false;
	k->frame = w->previous;
	if (k->frame)
		return !perl_load_stack(k);
	perl_add_loop(k, k->stack->nr);
	w->kind = BPF_PERL_IS_PROGRAM;
	w->is_whole = perl_add_frame(k, 0);
	return 1;
}

static long perl_step_out(__u32 i, struct interpreter_walk *k)
{
	const struct bpf_perl_offsets *at = &k->p->perl.at;
	struct perl_work *w = &k->w->perl;
	bool is_catch;
	__u32 kind;
	__u8 type;

	if (k->stack->nr >= BPF_INTERPRETED_MAX_FRAMES)
		return 1;
	if (!w->left)
		return perl_leave_stack(k);
	w->left--;
	if (!load(k, w->context, at->context_bytes & (PERL_OBJECT_BYTES - 1),
		  w->contexts + (__u64)w->left * at->context_bytes))
		return 1;
	type = w->context[at->context_type & (PERL_OBJECT_BYTES - 1)];
	kind = type & at->type_mask;
	if (w->is_pending) {
		is_catch = kind == at->type_eval && type >> (at->flag_block & 7) & 1 &&
			   !perl_word(w->context, at->context_next);
		if (!is_catch)
			perl_add_loop(k, w->pending);
		w->is_pending = false;
	}
	if (kind == at->type_sub || kind == at->type_format)
		return !perl_leave_sub(k, type);
	if (kind == at->type_eval)
		return !perl_leave_eval(k, type);
	if (kind == at->type_sort && (k->stack->nr || !w->is_idle))
		perl_begin_loop(k);
	return 0;
}

/* The interpreter of the thread; 0: it has none. */
static __u64 perl_find_interpreter(const struct interpreter_walk *k, __u64 thread)
{
	__u64 values = thread + PERL_VALUES_AT, interpreter = 0;
	__u32 key = 0;

	if (!load(k, &key, sizeof(key), k->p->perl.key) || key >= PERL_MAX_KEY)
		return 0;
	if (key >= PERL_VALUES) {
		values += PERL_VALUES * PERL_VALUE_BYTES + key / PERL_VALUES * 8;
		if (!load(k, &values, sizeof(values), values) || !values)
			return 0;
	}
	values += key % PERL_VALUES * PERL_VALUE_BYTES + 8;
	return load(k, &interpreter, sizeof(interpreter), values) ? interpreter : 0;
}

/* Fills k->stack. The op that begins a statement is its control op. */
static void perl_walk_out(struct interpreter_walk *k, struct task_struct___interpreted *task,
			  __u32 tid)
{
	const struct bpf_perl *p = &k->p->perl;
	struct perl_work *w = &k->w->perl;
	__u64 base = 0, op = 0;
	__u32 type;

	if (p->key)
		base = perl_find_interpreter(k, BPF_CORE_READ(task, thread.fsbase));
	if (p->key ? !base : tid != k->process)
		return;
	if (!load(k, &k->frame, sizeof(k->frame), base + p->stack) || !k->frame ||
	    !load(k, &w->cop, sizeof(w->cop), base + p->cop) ||
	    !load(k, &op, sizeof(op), base + p->op) || !perl_load_stack(k))
		return;
	type = perl_load_op(k, op);
	if (perl_is_statement(k, type))
		w->cop = op;
	w->is_idle = !op;
	w->is_at_call = type && (type == p->at.op_call || type == p->at.op_goto);
	w->is_at_return = type && (type == p->at.op_return || type == p->at.op_leave);
	w->is_unbegun = w->is_pending = w->is_whole = false;
	w->catch = w->catch_frame = w->pending = w->nr_loops = w->code = w->package = 0;
	w->nr_chunks = 0;
	bpf_loop(PERL_MAX_STEPS, perl_step_out, k, 0);
	k->stack->is_partial = !w->is_whole;
}
