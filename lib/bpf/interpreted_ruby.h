/*
 * Of CRuby: what the program in the kernel and the recorder share.
 */
#ifndef BPF_INTERPRETED_RUBY_H
#define BPF_INTERPRETED_RUBY_H

#include <linux/types.h>

/* Where Ruby has what is read. Offsets in bytes; those of code begin with its body, to which its
 * object points. */
struct bpf_ruby_offsets {
	__u16 context_stack, context_words, context_frame, context_thread;
	__u16 thread_context;
	__u16 thread_number; /* as pthread_self says; NOWHERE: each thread has its own context */
	__u16 frame_pc, frame_code, frame_environment, frame_bytes;
	__u16 flag_entry, flag_c; /* numbers of bits of the environment's first word */
	__u16 code_mask, code_type, text_type, array_type; /* in an object's first word */
	__u16 code_body;
	__u16 body_words, body_instructions, body_bytes;
	__u16 body_path, body_label, body_line, line_shift; /* line: the first one */
	__u16 body_entries, body_nr_entries, body_index;    /* of lines */
	__u16 entry_line, entry_bytes;
	__u16 flag_apart; /* the number of the bit: the bytes of a text are not in its object */
	__u16 text_length, text_data;
	__u16 own_length, own_shift, own_mask, own_data; /* of a text in whose object they are */
	__u16 flag_own, array_first; /* the bit: the elements of an array are in its object */
};
enum { BPF_RUBY_NOWHERE = 65535 };

struct bpf_ruby {
	__u64 context; /* where the address of the one that runs is; 0: each thread has it */
	/* Where the number is that the file has among those with variables of threads; 0: it is the
	 * program's, 1. */
	__u64 module;
	__u32 local, nr_locals;   /* which of its words may be the address of the context */
	__u16 instruction, stack; /* in struct pt_regs */
	__u32 pad;
	struct bpf_ruby_offsets at;
};

enum {
	BPF_RUBY_OBJECT_BYTES = 256, /* of code are read, at most */
	BPF_RUBY_HEAD_BYTES = 40,    /* that each object has */
	BPF_RUBY_TYPE_MASK = 31,
	BPF_RUBY_LAST_NIL = 8, /* nil is this number, or a lower one */
};

static inline __u64 bpf_ruby_word(const __u8 *object, __u16 at)
{
	return *(const __u64 *)(const void *)(object + (at & (BPF_RUBY_OBJECT_BYTES - 8)));
}

static inline __u32 bpf_ruby_half(const __u8 *object, __u16 at)
{
	return *(const __u32 *)(const void *)(object + (at & (BPF_RUBY_OBJECT_BYTES - 4)));
}

static inline __u32 bpf_ruby_is_code(const __u8 *object, const struct bpf_ruby_offsets *at)
{
	return (bpf_ruby_half(object, 0) & at->code_mask) == at->code_type;
}

enum { BPF_RUBY_FILE, BPF_RUBY_NAME, BPF_RUBY_NR_TEXTS };

/* What tells code from other code. By what is written: the texts are numbers of what they say, and
 * address is 0. Where not all of that is in memory: by where it is, and its texts. */
struct bpf_ruby_code {
	__u64 space, address;
	__u64 text[BPF_RUBY_NR_TEXTS];
	__u32 line, process;
};

/* Sets what is said by where it is. */
static inline void bpf_ruby_set(const __u8 *body, const struct bpf_ruby_offsets *at,
				struct bpf_ruby_code *c)
{
	c->text[BPF_RUBY_FILE] = bpf_ruby_word(body, at->body_path);
	c->text[BPF_RUBY_NAME] = bpf_ruby_word(body, at->body_label);
	c->line = bpf_ruby_half(body, at->body_line) >> (at->line_shift & 31);
}

/* The number of the code. Both sides must come to the same one. */
static inline __u64 bpf_ruby_number(const struct bpf_ruby_code *c)
{
	__u64 h = bpf_interpreted_mix(c->space ^ c->process, c->address);

	h = bpf_interpreted_mix(h, c->text[BPF_RUBY_FILE]);
	h = bpf_interpreted_mix(h, c->text[BPF_RUBY_NAME]);
	return bpf_interpreted_mix(h, c->line);
}

/* A path may be an array: what was written, and the whole path, which is nil where there is no
 * file. Returns the address of the text; 0: the object is no such array. */
static inline __u64 bpf_ruby_path_of(const __u8 *object, const struct bpf_ruby_offsets *at)
{
	const __u32 head = bpf_ruby_half(object, 0);
	const __u64 whole = bpf_ruby_word(object, at->array_first + 8);

	if ((head & BPF_RUBY_TYPE_MASK) != at->array_type || !(head >> (at->flag_own & 31) & 1))
		return 0;
	return whole & 7 || whole <= BPF_RUBY_LAST_NIL ? bpf_ruby_word(object, at->array_first)
						       : whole;
}

struct bpf_ruby_text {
	__u64 data, length;
};

/* 0: the object, which is at the address, is no text. */
static inline __u32 bpf_ruby_find_text(const __u8 *object, __u64 address,
				       const struct bpf_ruby_offsets *at, struct bpf_ruby_text *out)
{
	const __u32 head = bpf_ruby_half(object, 0);

	if (head >> (at->flag_apart & 31) & 1) {
		out->data = bpf_ruby_word(object, at->text_data);
		out->length = bpf_ruby_word(object, at->text_length);
	} else {
		out->data = address + at->own_data;
		out->length =
		    bpf_ruby_half(object, at->own_length) >> (at->own_shift & 31) & at->own_mask;
	}
	return (head & BPF_RUBY_TYPE_MASK) == at->text_type;
}

#endif
