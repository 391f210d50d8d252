/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The walk over the frames of V8, by frame pointers. Functions of JavaScript have native frames,
 * interpreted and compiled ones the same: below the frame pointer are the context and the function.
 * So each is written with the address at which the thread was in its frame, by which reports find
 * the native frame that it is.
 *
 * Frames of other kinds have a number in the place of the context; those of C++ have anything. What
 * is no context, or no function of a script, is no frame of JavaScript.
 *
 * The collector moves objects, so names are read here, while the thread stands still.
 */
#ifndef READ_ASLEEP

enum {
	JS_MAX_STEPS = 4096,
	JS_MAX_NEW = 16,        /* functions that are named at a sample; others are at the next */
	JS_MAX_STACK = 1 << 24, /* bytes between a frame and its caller's */
	JS_OBJECT_BYTES = 128,  /* of an object are read, at most */
	JS_TEXT_BYTES = 48,
	JS_FUNCTION_BYTES = 64,
	JS_SHARED_BYTES = 64,
	JS_SCOPE_BYTES = 48,
	JS_SCRIPT_BYTES = 96,

	/* The type of a text. */
	JS_KIND = 7, /* 0: characters */
	JS_CONS = 1,
	JS_EXTERNAL = 2,
	JS_SLICED = 3,
	JS_THIN = 5,
	JS_ONE_BYTE = 8,
	JS_UNCACHED = 16,
	JS_MAX_PARTS = 24, /* of a text are looked at */
	JS_MAX_DEPTH = 8,
	JS_MAX_LENGTH = 1 << 29,

	/* Flags of a scope. */
	JS_SCOPE_TYPE = 15,
	JS_SCOPE_RECEIVER = 1 << 7,
	JS_SCOPE_SAVED = 1 << 10, /* has a word of its class */
	JS_SCOPE_NAME = 3 << 12,
	JS_SCOPE_INFERRED = 1 << 14,
	JS_SCOPE_MODULE = 5, /* in versions that have the position first */
	JS_SCOPE_FIRST = 3,  /* scope_variables of those that have it not */
	JS_SCOPE_MAX = 1 << 16,

	JS_SAID = 1, /* in seen; above it: how often it was tried */
	JS_MAX_TRIES = 4,

	JS_CHUNK_BYTES = 8192,
	JS_MAX_CHUNKS = 32, /* of a source, up to where a function begins */
	JS_BLOCK_BYTES = 64,

	/* Of the code around where the thread is. */
	JS_CODE_BYTES = 64,
	JS_CODE_BEFORE = 24,
	JS_MAX_AHEAD = 24, /* from the entry of a function to JS_BEGIN */
	JS_MAX_BEHIND = 6, /* in it: then the frame is whole */
	JS_END_BYTES = 18, /* behind JS_END, up to the last ret */
};
#define JS_BEGIN_MASK 0x00ffffffffffffffull
#define JS_BEGIN      0x00505756e5894855ull /* push rbp; mov rbp, rsp; push rsi; push rdi; push rax */
#define JS_END        0x5de58b48u           /* mov rsp, rbp; pop rbp */

struct pt_regs {
	unsigned long bp, di, ip, sp;
} __attribute__((preserve_access_index));

/* A part of a text that is to be copied. length ~0: the whole. */
struct js_part {
	__u64 object;
	__u32 offset, length;
};

struct js_named {
	__u64 number, name, file, source;
	__u32 position, line; /* line: of the source's begin */
};

/* Between two steps. */
struct js_work {
	__u64 object; /* where the last one is that was read */
	/* of a text that is copied: to k->w->code.file_text + to */
	__u32 to, used, width, nr_parts, is_failed;
	struct js_part part[JS_MAX_DEPTH];
	/* of newlines that are counted */
	__u64 from, left; /* bytes */
	__u32 character, in_chunk, lines;
	/* of a function */
	__u64 function, number; /* the last one, and its number */
	__u64 begin, end;       /* of its text in the source, as small integers */
	__u64 frame[4], words[8];
	struct js_named is; /* the one that is read */
	/* Those that are not known yet. */
	__u32 nr_new;
	struct js_named new[JS_MAX_NEW];
};
_Static_assert(sizeof(struct js_work) <= SCRATCH_BYTES, "there is room");

static struct js_work *js_work_of(const struct interpreter_walk *k)
{
	return (void *)k->w->scratch;
}

static bool js_is_pointer(__u64 word)
{
	return (word & 3) == 1;
}

static bool js_is_number(__u64 word)
{
	return !(__u32)word;
}

static __u64 js_word(const __u8 *object, __u32 at)
{
	return *(const __u64 *)(object + (at & (JS_OBJECT_BYTES - 8)));
}

static __u32 js_half(const __u8 *object, __u32 at)
{
	return *(const __u32 *)(object + (at & (JS_OBJECT_BYTES - 4)));
}

/* Reads an object into this CPU's work, from where the collector moved it to, and stores where that
 * is. Returns its type; -1: it cannot be read. Not static, so that the verifier follows it once. */
__attribute__((noinline)) int js_read_object(__u64 pointer, __u32 bytes, __u32 map_type)
{
	const __u32 zero = 0;
	struct work *w = bpf_map_lookup_elem(&works, &zero);
	__u64 map, at = pointer - 1;
	__u16 type;

	bytes &= JS_OBJECT_BYTES - 1;
	if (!w || !js_is_pointer(pointer) || bpf_probe_read_user(w->object, bytes, (void *)at))
		return -1;
	map = *(const __u64 *)w->object;
	if (map && !(map & 3)) {
		at = map;
		if (bpf_probe_read_user(w->object, bytes, (void *)at))
			return -1;
		map = *(const __u64 *)w->object;
	}
	((struct js_work *)w->scratch)->object = at;
	if (!js_is_pointer(map) ||
	    bpf_probe_read_user(&type, sizeof(type), (void *)(map + (__u16)map_type)))
		return -1;
	return type;
}

static __s32 js_read(const struct interpreter_walk *k, __u64 pointer, __u32 bytes)
{
	return js_read_object(pointer, bytes, k->p->javascript.map_type);
}

/* --- texts */

static void js_add_part(struct js_work *t, __u64 object, __u32 offset, __u32 length)
{
	const __u32 nr = t->nr_parts;

	if (nr >= JS_MAX_DEPTH) {
		t->is_failed = 1;
		return;
	}
	t->part[nr & (JS_MAX_DEPTH - 1)] = (struct js_part){object, offset, length};
	t->nr_parts = nr + 1;
}

/* A text in one part that is too long keeps its end, which tells more of a path. */
static void js_copy_characters(struct interpreter_walk *k, __u64 from, __u32 width, __u32 length)
{
	struct js_work *t = js_work_of(k);
	const __u32 most = (BPF_INTERPRETED_NAME_BYTES - 2) / width;
	__u32 used = t->used & (BPF_INTERPRETED_NAME_BYTES - 1), bytes;

	if (used && t->width != width) {
		t->is_failed = 1;
		return;
	}
	if (length > most) {
		from += used ? 0 : (__u64)(length - most) * width;
		length = most;
	}
	bytes = length * width;
	if (used + bytes > BPF_INTERPRETED_NAME_BYTES - 2)
		bytes = BPF_INTERPRETED_NAME_BYTES - 2 - used;
	bytes &= BPF_INTERPRETED_NAME_BYTES - 1;
	t->width = width;
	t->used = used + bytes;
	used += t->to;
	barrier_var(used); /* as in js_pick */
	used &= 2 * BPF_INTERPRETED_NAME_BYTES - 1;
	if (bpf_probe_read_user(k->w->code.file_text + used, bytes, (void *)from))
		t->is_failed = 1;
}

static bool js_is_text(const struct interpreter_walk *k, __s32 type)
{
	return type >= 0 && type < k->p->javascript.first_type;
}

static long js_copy_next(__u32 i, struct interpreter_walk *k)
{
	const struct bpf_javascript *at = &k->p->javascript;
	struct js_work *t = js_work_of(k);
	const __u8 *object = k->w->object;
	struct js_part part;
	__u32 length, width;
	__s32 type;

	if (!t->nr_parts || t->is_failed)
		return 1;
	t->nr_parts--;
	part = t->part[t->nr_parts & (JS_MAX_DEPTH - 1)];
	type = js_read(k, part.object, JS_TEXT_BYTES);
	length = js_half(object, at->text_length);
	if (part.length == ~0u)
		part.length = length;
	if (!js_is_text(k, type) || length > JS_MAX_LENGTH || part.offset > length ||
	    part.length > length - part.offset) {
		t->is_failed = 1;
		return 1;
	}
	width = type & JS_ONE_BYTE ? 1 : 2;
	switch (type & JS_KIND) {
	case 0:
		js_copy_characters(k, t->object + at->text_chars + (__u64)part.offset * width,
				   width, part.length);
		break;
	case JS_CONS:
		js_add_part(t, js_word(object, at->cons_second), 0, ~0u);
		js_add_part(t, js_word(object, at->cons_first), 0, ~0u);
		if (part.offset || part.length != length)
			t->is_failed = 1;
		break;
	case JS_SLICED:
		js_add_part(t, js_word(object, at->sliced_parent),
			    part.offset + (__u32)(js_word(object, at->sliced_offset) >> 32),
			    part.length);
		break;
	case JS_THIN:
		js_add_part(t, js_word(object, at->thin_actual), part.offset, part.length);
		break;
	default:
		t->is_failed = 1;
	}
	return 0;
}

/* text 0: it is empty. False: it is no text, or one of too many parts. */
static __attribute__((noinline)) bool js_copy_text(struct interpreter_walk *k, __u64 text,
						   struct bpf_interpreted_text *out, __u32 to)
{
	struct js_work *t = js_work_of(k);

	*out = (struct bpf_interpreted_text){0, 1};
	if (!text)
		return true;

	t->to = to;
	t->used = t->nr_parts = t->is_failed = 0;
	t->width = 1;
	js_add_part(t, text, 0, ~0u);
	bpf_loop(JS_MAX_PARTS, js_copy_next, k, 0);
	out->bytes = t->used & (BPF_INTERPRETED_NAME_BYTES - 1);
	out->width = t->width;
	return !t->is_failed && !t->nr_parts;
}

/* --- lines */

/* How many bytes, or halves, of a word are 0. */
static __u32 js_count_zeros(__u64 word, __u32 width)
{
	const __u64 low = width == 1 ? 0x7f7f7f7f7f7f7f7full : 0x7fff7fff7fff7fffull;

	word = ~(((word & low) + low) | word | low);
	word >>= width * 8 - 1;
	return width == 1 ? (word * 0x0101010101010101ull) >> 56
			  : (word * 0x0001000100010001ull) >> 48;
}

static long js_count_block(__u32 i, struct interpreter_walk *k)
{
	struct js_work *t = js_work_of(k);
	const __u32 at = i * JS_BLOCK_BYTES & (JS_CHUNK_BYTES - JS_BLOCK_BYTES);
	const __u64 *words = (const void *)(k->w->code.lines + at);
	const __u64 newlines = t->character == 1 ? 0x0a0a0a0a0a0a0a0aull : 0x000a000a000a000aull;

	if (at >= t->in_chunk)
		return 1;
	for (__u32 n = 0; n < JS_BLOCK_BYTES / 8; n++) {
		const __u32 end = at + n * 8;
		__u64 word = words[n] ^ newlines;

		if (end >= t->in_chunk)
			break;
		if (t->in_chunk - end < 8)
			word |= ~0ull << (t->in_chunk - end) * 8;
		t->lines += js_count_zeros(word, t->character);
	}
	return 0;
}

static long js_count_chunk(__u32 i, struct interpreter_walk *k)
{
	struct js_work *t = js_work_of(k);
	__u64 bytes = t->left < JS_CHUNK_BYTES ? t->left : JS_CHUNK_BYTES;

	if (!bytes)
		return 1;
	bytes &= 2 * JS_CHUNK_BYTES - 1;
	if (bytes > JS_CHUNK_BYTES ||
	    bpf_probe_read_user(k->w->code.lines, bytes, (void *)t->from)) {
		t->is_failed = 1;
		return 1;
	}
	t->in_chunk = bytes;
	t->from += bytes;
	t->left -= bytes;
	bpf_loop(JS_CHUNK_BYTES / JS_BLOCK_BYTES, js_count_block, k, 0);
	return 0;
}

/* Where the characters of a source are, and their width; 0: they are not in one piece, or nowhere
 * that is known. */
static long js_find_source(__u32 i, struct interpreter_walk *k)
{
	const struct bpf_javascript *at = &k->p->javascript;
	const __u8 *object = k->w->object;
	struct js_work *t = js_work_of(k);
	const __s32 type = js_read(k, t->is.source, JS_TEXT_BYTES);

	t->character = 0;
	if (!js_is_text(k, type))
		return 1;
	t->character = type & JS_ONE_BYTE ? 1 : 2;
	switch (type & JS_KIND) {
	case 0:
		t->from = t->object + at->text_chars;
		t->left = js_half(object, at->text_length);
		return 1;
	case JS_EXTERNAL:
		if (!(type & JS_UNCACHED)) {
			t->from = js_word(object, at->external_data);
			t->left = js_half(object, at->text_length);
		}
		return 1;
	case JS_CONS: /* one that was made flat has all in its first part */
		t->is.source = js_word(object, at->cons_first);
		return 0;
	case JS_THIN:
		t->is.source = js_word(object, at->thin_actual);
		return 0;
	}
	return 1;
}

/* The line of the position; 0: its source is nowhere that is known, or too far from its begin; -1:
 * it cannot be read now. */
static __attribute__((noinline)) int js_line_of(struct interpreter_walk *k)
{
	struct js_work *t = js_work_of(k);

	t->from = t->left = t->is_failed = t->lines = 0;
	t->character = 0;
	bpf_loop(4, js_find_source, k, 0);
	if (!t->from)
		return t->character ? 0 : -1;
	if (t->is.position > t->left)
		return -1;
	t->left = (__u64)t->is.position * t->character;
	bpf_loop(JS_MAX_CHUNKS, js_count_chunk, k, 0);
	if (t->is_failed)
		return -1;
	return t->left ? 0 : (t->lines + t->is.line + 1) & 0x7fffffff;
}

/* --- functions */

/* The collector may be at work: a later sample finds more. */
static bool js_tries_again(__u64 number)
{
	const __u32 *said = bpf_map_lookup_elem(&seen, &number);
	const __u32 tries = said && *said > JS_SAID ? *said + 1 : JS_SAID + 1;

	bpf_map_update_elem(&seen, &number, &tries, BPF_ANY);
	return tries < JS_SAID + JS_MAX_TRIES;
}

/* Says once what a function is called, if all of it can be read. */
static long js_define_next(__u32 i, struct interpreter_walk *k)
{
	struct bpf_interpreted_code *c = &k->w->code;
	struct js_work *t = js_work_of(k);
	int line;

	if (i >= t->nr_new)
		return 1;
	t->is = t->new[i & (JS_MAX_NEW - 1)];
	c->message = BPF_INTERPRETED_CODE;
	c->process = k->process;
	c->code = t->is.number;
	c->language = BPF_INTERPRETED_JAVASCRIPT;
	c->lines_bytes = c->is_cut = c->line_table = c->pad = 0;
	/* in this order: each may use the room of what comes later */
	line = js_line_of(k);
	if (line < 0 && js_tries_again(t->is.number))
		return 0;
	c->first_line = line < 0 ? 0 : line;
	if (js_copy_text(k, t->is.file, &c->file, 0) &&
	    js_copy_text(k, t->is.name, &c->name, BPF_INTERPRETED_NAME_BYTES))
		send_code(c);
	return 0;
}

/* The hash of a text; 0: it has none yet. */
static __u32 js_hash_of(struct interpreter_walk *k, __u64 text)
{
	__u32 hash;

	if (!js_is_text(k, js_read(k, text, JS_TEXT_BYTES)))
		return 0;
	hash = js_half(k->w->object, k->p->javascript.text_hash);
	return hash & 1 ? 0 : hash;
}

/* 1: a text; 0: it is none, or empty, in place of which *text is 0; -1: it cannot be read. */
static int js_check_text(struct interpreter_walk *k, __u64 *text)
{
	__s32 type;

	if (js_is_pointer(*text)) {
		type = js_read(k, *text, JS_TEXT_BYTES);
		if (type < 0)
			return -1;
		if (js_is_text(k, type) && js_half(k->w->object, k->p->javascript.text_length))
			return 1;
	}
	*text = 0;
	return 0;
}

static __u64 js_pick(const __u64 words[8], __u32 i)
{
	barrier_var(i); /* the compiler knows what the verifier does not */
	return words[i & 7];
}

/* "this" is on the stack, or in the context. */
static bool js_has_receiver(__u32 flags)
{
	const __u32 where = flags / JS_SCOPE_RECEIVER & 3;

	return where == 1 || where == 2;
}

/* The name of a function, and begin and end of its text, by its scope. False: it is none. */
static __attribute__((noinline)) bool js_read_scope(struct interpreter_walk *k, __u64 scope)
{
	const struct bpf_javascript *at = &k->p->javascript;
	const __u64 *head = (const void *)k->w->object;
	const bool is_early = at->scope_variables > JS_SCOPE_FIRST;
	struct js_work *t = js_work_of(k);
	__u32 flags, nr, next;
	int has_name;

	if (js_read(k, scope, JS_SCOPE_BYTES) != at->scope_type || !js_is_number(head[3]))
		return false;
	flags = js_is_number(head[1]) ? head[1] >> 32 : head[1];
	nr = head[3] >> 32;
	t->begin = head[4];
	t->end = head[5];
	if (nr > JS_SCOPE_MAX)
		return false;
	next = 1 + at->scope_variables + nr + (nr < at->scope_most ? nr : 1) +
	       (is_early && (flags & JS_SCOPE_TYPE) == JS_SCOPE_MODULE) +
	       !!(flags & JS_SCOPE_SAVED) + (at->scope_receiver && js_has_receiver(flags));
	if (bpf_probe_read_user(t->words, sizeof(t->words), (void *)(t->object + next * 8ull)))
		return false;
	next = 0;
	t->is.name = 0;
	if (flags & JS_SCOPE_NAME) {
		t->is.name = t->words[0];
		next = 2;
	}
	if (!is_early) {
		const __u32 i = next + !!(flags & JS_SCOPE_INFERRED);

		t->begin = js_pick(t->words, i);
		t->end = js_pick(t->words, i + 1);
	}
	has_name = js_check_text(k, &t->is.name);
	if (!has_name && flags & JS_SCOPE_INFERRED) {
		t->is.name = js_pick(t->words, next);
		has_name = js_check_text(k, &t->is.name);
	}
	return has_name >= 0 && js_is_number(t->begin) && js_is_number(t->end) &&
	       t->begin <= t->end && (__s64)t->begin >= 0;
}

static bool js_read_script(struct interpreter_walk *k, __u64 script, __u64 *number)
{
	const struct bpf_javascript *at = &k->p->javascript;
	const __u8 *object = k->w->object;
	struct js_work *t = js_work_of(k);

	if (js_read(k, script, JS_SCRIPT_BYTES) != at->script_type)
		return false;
	t->is.source = js_word(object, at->script_source);
	t->is.file = js_word(object, at->script_name);
	t->is.line = js_word(object, at->script_line) >> 32;
	*number = js_word(object, at->script_number);
	return js_is_number(*number) && *number;
}

/* The number of a function of a script; 0: it is none. */
static __attribute__((noinline)) __u64 js_number_of(struct interpreter_walk *k, __u64 function)
{
	const struct bpf_javascript *at = &k->p->javascript;
	struct bpf_javascript_identity is = {
	    .space = k->space, .process = k->process, .thread = k->thread};
	const __u8 *object = k->w->object;
	struct js_work *t = js_work_of(k);
	__u64 scope, script, number;
	const __u32 *is_said;
	__s32 type;

	if (function == t->function) /* it called itself */
		return t->number;
	t->function = function;
	t->number = 0;
	type = js_read(k, function, JS_FUNCTION_BYTES);
	if (type < at->function_type || type > at->last_function_type ||
	    js_read(k, js_word(object, at->function_shared), JS_SHARED_BYTES) != at->shared_type)
		return 0;
	scope = js_word(object, at->shared_name);
	script = js_word(object, at->shared_script);
	is.kind = js_half(object, at->shared_flags) & 31;
	if (!js_read_scope(k, scope) || !js_read_script(k, script, &is.script) ||
	    js_check_text(k, &t->is.file) < 0)
		return 0;
	is.position = t->begin | t->end >> 32;
	is.hashes = (__u64)js_hash_of(k, t->is.name) << 32 | js_hash_of(k, t->is.file);
	number = bpf_javascript_number(&is);
	is_said = bpf_map_lookup_elem(&seen, &number);
	t->number = t->is.number = number;
	t->is.position = t->begin >> 32;
	if (!(is_said && *is_said == JS_SAID) && t->nr_new < JS_MAX_NEW)
		t->new[t->nr_new++ & (JS_MAX_NEW - 1)] = t->is;
	return number;
}

/* --- the walk */

static bool js_is_context(struct interpreter_walk *k, __u64 word)
{
	const struct bpf_javascript *at = &k->p->javascript;
	const __s32 type = js_read(k, word, 8);

	return type >= at->context_type && type <= at->last_context_type;
}

static void js_add(struct interpreter_walk *k, __u64 number, __u64 at)
{
	struct bpf_interpreted_stack *s = k->stack;
	const __u32 nr = s->nr & (BPF_INTERPRETED_MAX_FRAMES - 1);

	if (s->nr >= BPF_INTERPRETED_MAX_FRAMES) {
		s->is_partial = 1;
		return;
	}
	s->frame[nr].code = number;
	s->frame[nr].at = at;
	s->nr = nr + 1;
}

/* k->frame is a frame pointer, k->calls where the thread is in that frame. A frame that is none of
 * JavaScript is added, as 0, behind one that is. */
static long js_step_out(__u32 i, struct interpreter_walk *k)
{
	struct js_work *t = js_work_of(k);
	__u64 number = 0, frame = k->frame;

	/* the function, the context, the caller's frame, and where that goes on */
	if (frame & 7 || bpf_probe_read_user(t->frame, sizeof(t->frame), (void *)(frame - 16)))
		return 1;
	if (js_is_pointer(t->frame[0]) && js_is_context(k, t->frame[1]))
		number = js_number_of(k, t->frame[0]);
	if (number || k->is_later)
		js_add(k, number, k->calls);
	k->is_later = number;
	k->frame = t->frame[2];
	k->calls = t->frame[3];
	return k->stack->is_partial || k->frame <= frame || k->frame - frame > JS_MAX_STACK;
}

static bool js_is_compiled(const struct interpreter_walk *k, __u64 at)
{
	return at < k->p->javascript.text_begin || at >= k->p->javascript.text_end;
}

/* Whether the thread has left the frame of the function that it returns from. */
static bool js_has_left(const __u8 *code)
{
	for (__u32 behind = 0; behind <= JS_END_BYTES; behind++) {
		const __u8 *end = code + JS_CODE_BEFORE - behind;

		if (*(const __u32 *)(end - 4) == JS_END)
			return !behind || *end == 0x48; /* cmp, then two ways to return */
	}
	return false;
}

/* How far JS_BEGIN is ahead; JS_MAX_AHEAD + 1: it is not. */
static int js_find_begin(const __u8 *code)
{
	for (int ahead = -JS_MAX_BEHIND; ahead <= JS_MAX_AHEAD; ahead++)
		if ((*(const __u64 *)(code + JS_CODE_BEFORE + ahead) & JS_BEGIN_MASK) == JS_BEGIN)
			return ahead;
	return JS_MAX_AHEAD + 1;
}

/* Where compiled code is entered and left, the frame pointer is the caller's, or the frame not yet
 * whole. Then the function that is entered is in a register; of the one that is left nothing is
 * known. */
static __attribute__((noinline)) void js_begin_compiled(struct interpreter_walk *k, __u64 function,
							__u64 stack)
{
	const __u8 *code = k->w->object;
	__u64 back[2] = {0};
	int ahead;

	if (bpf_probe_read_user(k->w->object, JS_CODE_BYTES, (void *)(k->calls - JS_CODE_BEFORE)))
		return;
	ahead = js_find_begin(code);
	if (ahead <= JS_MAX_AHEAD && ahead != -JS_MAX_BEHIND) {
		if (ahead < -1) {
			if (bpf_probe_read_user(back, sizeof(back), (void *)k->frame))
				return;
			k->frame = back[0];
		} else if (bpf_probe_read_user(&back[1], sizeof(back[1]),
					       (void *)(ahead < 0 ? stack + 8 : stack))) {
			return;
		}
		js_add(k, js_number_of(k, function), k->calls);
		k->is_later = true;
	} else if (js_has_left(code)) {
		bpf_probe_read_user(&back[1], sizeof(back[1]), (void *)stack);
	} else {
		return;
	}
	k->calls = back[1];
}

static void javascript_walk_out(struct interpreter_walk *k, __u32 tid)
{
	const struct pt_regs *regs = (void *)bpf_task_pt_regs((void *)bpf_get_current_task_btf());
	struct js_work *t = js_work_of(k);
	const __u64 at = regs->ip, stack = regs->sp, function = regs->di;

	k->frame = regs->bp;
	k->calls = at;
	k->thread = tid;
	t->function = t->nr_new = 0;
	if (js_is_compiled(k, at))
		js_begin_compiled(k, function, stack);
	else if (at < k->p->loop_begin || at >= k->p->loop_end)
		k->calls = 0; /* in a function that may have no frame */
	bpf_loop(JS_MAX_STEPS, js_step_out, k, 0);
	if (t->nr_new)
		bpf_loop(JS_MAX_NEW, js_define_next, k, 0);
}

#endif
