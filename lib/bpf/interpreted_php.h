/*
 * What the program in the kernel and the recorder share, for PHP without threads.
 */
#ifndef BPF_INTERPRETED_PHP_H
#define BPF_INTERPRETED_PHP_H

#include <linux/types.h>

/* Where PHP has what is read. Offsets in bytes; those of arrays of opcodes, classes, strings and
 * generators begin with what they are of. */
struct bpf_php_offsets {
	__u16 api_year, api_day;              /* of the interface of modules: says the version */
	__u16 globals_frame, globals_bailout; /* of executor_globals */
	__u16 frame_opline, frame_result, frame_function, frame_this, frame_flags, frame_previous;
	__u16 frame_bytes;
	__u16 flag_entry, flag_generator; /* numbers of bits */
	__u16 function_type, type_internal, type_user, type_eval;
	__u16 function_name, function_class;
	__u16 array_nr, array_opcodes, array_file, array_lines; /* lines: the first, and the last */
	__u16 array_reserved, array_bytes;
	__u16 opcode_line, opcode_bytes;
	__u16 class_name;
	__u16 text_hash, text_length, text_data;
	__u16 generator_frame, generator_parent, generator_placeholder;
};

/* Of struct pt_regs: where the kernel has registers of the program. The loop that interprets has
 * its frame and its opcode in two of them. */
struct bpf_php_registers {
	__u16 frame, opline, instruction, stack;
};

struct bpf_php {
	__u64 globals; /* the address of executor_globals */
	struct bpf_php_offsets at;
	struct bpf_php_registers registers;
};

enum { BPF_PHP_OBJECT_BYTES = 512 }; /* of a function are read, at most */

static inline __u64 bpf_php_word(const __u8 *object, __u16 at)
{
	return *(const __u64 *)(const void *)(object + (at & (BPF_PHP_OBJECT_BYTES - 8)));
}

static inline __u8 bpf_php_type(const __u8 *object, const struct bpf_php_offsets *at)
{
	return object[at->function_type & (BPF_PHP_OBJECT_BYTES - 1)];
}

static inline __u32 bpf_php_is_internal(const __u8 *object, const struct bpf_php_offsets *at)
{
	return bpf_php_type(object, at) == at->type_internal;
}

static inline __u32 bpf_php_is_code(const __u8 *object, const struct bpf_php_offsets *at)
{
	const __u8 type = bpf_php_type(object, at);

	return type == at->type_user || type == at->type_eval;
}

enum { BPF_PHP_FILE, BPF_PHP_NAME, BPF_PHP_CLASS, BPF_PHP_NR_TEXTS };

/* What tells a function from others. By what is written: the texts are numbers of what they say,
 * and address is 0, so that it has one number at all its addresses. Where not all of that is in
 * memory: by where it is, and its strings, and its class. */
struct bpf_php_function {
	__u64 space, address;
	__u64 text[BPF_PHP_NR_TEXTS]; /* 0: it has none */
	__u64 lines;
	__u32 process, pad;
};

/* Sets what is said by where it is. */
static inline void bpf_php_set(const __u8 *object, const struct bpf_php_offsets *at,
			       struct bpf_php_function *f)
{
	const __u32 is_internal = bpf_php_is_internal(object, at);

	f->text[BPF_PHP_FILE] = is_internal ? 0 : bpf_php_word(object, at->array_file);
	f->text[BPF_PHP_NAME] = bpf_php_word(object, at->function_name);
	f->text[BPF_PHP_CLASS] = bpf_php_word(object, at->function_class);
	f->lines = is_internal ? 0 : bpf_php_word(object, at->array_lines);
}

/* The number of the function. Both sides must come to the same one. */
static inline __u64 bpf_php_number(const struct bpf_php_function *f)
{
	__u64 h = bpf_interpreted_mix(f->space ^ f->process, f->address);

	h = bpf_interpreted_mix(h, f->text[BPF_PHP_FILE]);
	h = bpf_interpreted_mix(h, f->text[BPF_PHP_NAME]);
	h = bpf_interpreted_mix(h, f->text[BPF_PHP_CLASS]);
	return bpf_interpreted_mix(h, f->lines);
}

#endif
