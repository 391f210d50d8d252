/*
 * Of CPython: what the program in the kernel and the recorder share.
 */
#ifndef BPF_INTERPRETED_PYTHON_H
#define BPF_INTERPRETED_PYTHON_H

#include <linux/types.h>

/* Where an interpreter has what is read. Offsets in bytes. */
struct bpf_python_offsets {
	__u16 runtime_interpreters; /* the first interpreter, from _PyRuntime */
	__u16 interpreter_next, interpreter_threads;
	__u16 thread_next, thread_number, thread_frames;
	/* Of what thread_frames points to; NOWHERE: to the innermost frame. */
	__u16 frames_current, frames_previous;
	__u16 frame_code, frame_previous, frame_bytes;
	/* How far the frame has come: a pointer into the instructions of the code; else a number
	 * that, shifted right so far, is the number of an instruction. The other is NOWHERE. */
	__u16 frame_instruction, frame_reached, reached_shift;
	/* What says that the interpreter was entered: a flag of the frame, or another frame around
	 * it, which has this owner or a higher one. At least one of the offsets is NOWHERE; both:
	 * native code calls the interpreter for each frame. */
	__u16 frame_entry, frame_owner, owner_shim;
	__u16 code_first_line, code_file, code_name, code_instructions, code_bytes;
	__u16 code_lines, line_table; /* enum trace_line_table */
	__u16 object_type;
	__u16 text_hash, text_length, text_state, text_ascii, text_other; /* of str */
	__u16 bytes_length, bytes_data;
};
enum { BPF_PYTHON_NOWHERE = 65535 };

struct bpf_python {
	__u64 runtime;   /* the address of _PyRuntime */
	__u64 code_type; /* that of PyCode_Type, by which code is recognised */
	struct bpf_python_offsets at;
};

/* Code, and what tells it from other code that had its address, or will have it. */
enum { BPF_PYTHON_OBJECT_BYTES = 256 }; /* of it are read, at most */
struct bpf_python_place {
	__u64 space, address, hash; /* hash: of its name; 0: it could not be read */
	__u32 process;
};

static inline __u64 bpf_python_word(const __u8 *object, __u16 at)
{
	return *(const __u64 *)(const void *)(object + (at & (BPF_PYTHON_OBJECT_BYTES - 8)));
}

/* Of the state of a str: how it is interned in 2 bits, the width in 3, is compact, is ASCII. Width
 * 0: it is none. */
static inline __u32 bpf_python_width(__u32 state)
{
	__u32 width = state >> 2 & 7;

	return width == 1 || width == 2 || width == 4 ? width : 0;
}
static inline __u32 bpf_python_is_ascii(__u32 state)
{
	return state >> 6 & 1;
}
enum { BPF_PYTHON_MAX_LENGTH = 1 << 24 }; /* of a str, in characters */

/* The number of code. Both sides must come to the same one. */
static inline __u64 bpf_python_number(const struct bpf_python_place *o, const __u8 *bytes,
				      const struct bpf_python_offsets *at)
{
	enum { SIZE_AT = 16 }; /* of an object: how many instructions it has */
	__u64 h = bpf_interpreted_mix(o->space ^ o->process, o->address);

	h = bpf_interpreted_mix(h, o->hash);
	h = bpf_interpreted_mix(h, bpf_python_word(bytes, at->code_name));
	h = bpf_interpreted_mix(h, bpf_python_word(bytes, at->code_file));
	h = bpf_interpreted_mix(h, bpf_python_word(bytes, at->code_lines));
	h = bpf_interpreted_mix(h, bpf_python_word(bytes, at->code_first_line & ~7));
	return bpf_interpreted_mix(h, bpf_python_word(bytes, SIZE_AT));
}

#endif
