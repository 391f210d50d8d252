/*
 * What the program in the kernel and the program that loads it share.
 */
#ifndef BPF_INTERPRETED_SHARED_H
#define BPF_INTERPRETED_SHARED_H

#include <linux/types.h>

enum {
	BPF_INTERPRETED_MAX_FRAMES = 1024,   /* of a stack; a power of two */
	BPF_INTERPRETED_NAME_BYTES = 256,    /* of a text; the same */
	BPF_INTERPRETED_LINES_BYTES = 16384, /* of a table of lines; the same */
};

/* Where an interpreter of CPython has what is read. Offsets in bytes. */
enum { BPF_INTERPRETED_NOWHERE = 65535 };
struct bpf_interpreted_offsets {
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

enum {
	BPF_INTERPRETED_ASKED = 1, /* what the process is has been asked for */
	BPF_INTERPRETED_NONE = 2,  /* no interpreter that is known; asked again later */
	BPF_INTERPRETED_IS = 3,
};

struct bpf_interpreted_process {
	__u64 space;                /* of memory: a number that exec changes */
	__u64 until_ns;             /* what is said holds until then; CLOCK_MONOTONIC */
	__u64 runtime;              /* the address of _PyRuntime */
	__u64 code_type;            /* that of PyCode_Type, by which code is recognised */
	__u64 loop_begin, loop_end; /* the function that interprets */
	__u32 state;
	__u32 nr_asked; /* how often the process was asked for */
	struct bpf_interpreted_offsets at;
};

/* The raw data of a record beside a sample: what the thread interpreted, the innermost first. */
enum {
	BPF_INTERPRETED_ENTRY = 1, /* the interpreter was called here, by native code */
};
struct bpf_interpreted_frame {
	__u64 code; /* the number of its code: of a definition */
	__s32 instruction;
	__u32 flags;
};
enum { BPF_INTERPRETED_PYTHON = 1, BPF_INTERPRETED_VERSION = 1 };
struct bpf_interpreted_stack {
	__u32 kind; /* of interpreter */
	__u32 nr;   /* frames that follow */
	__u32 is_partial;
	__u32 pad;
	__u64 loop_begin, loop_end;
	struct bpf_interpreted_frame frame[BPF_INTERPRETED_MAX_FRAMES];
	__u32 tail; /* the kernel wants (length + 4) in multiples of 8 */
};

/* Messages. */
enum { BPF_INTERPRETED_WHO = 1, BPF_INTERPRETED_CODE = 2, BPF_INTERPRETED_FAR = 3 };
struct bpf_interpreted_who {
	__u32 message, process;
	__u64 space;
	__u32 nr_asked, pad;
};
/* Code whose name is in a page that is not in memory: the recorder may read it. */
struct bpf_interpreted_far {
	__u32 message, process;
	__u64 code, address, space;
};
struct bpf_interpreted_text {
	__u32 bytes;
	__u32 width; /* of a character, in bytes; 1: Latin-1 */
};
struct bpf_interpreted_code {
	__u32 message, process;
	__u64 code;
	__u32 first_line, lines_bytes;
	__u32 is_cut; /* the table of lines */
	__u32 line_table;
	struct bpf_interpreted_text file, name;
	__u8 file_text[BPF_INTERPRETED_NAME_BYTES], name_text[BPF_INTERPRETED_NAME_BYTES];
	__u8 lines[BPF_INTERPRETED_LINES_BYTES];
};

/* Code, and what tells it from other code that had its address, or will have it. */
enum { BPF_INTERPRETED_OBJECT_BYTES = 256 }; /* of it are read, at most */
struct bpf_interpreted_place {
	__u64 space, address, hash; /* hash: of its name; 0: it could not be read */
	__u32 process;
};

static inline __u64 bpf_interpreted_word(const __u8 *object, __u16 at)
{
	return *(const __u64 *)(const void *)(object + (at & (BPF_INTERPRETED_OBJECT_BYTES - 8)));
}

static inline __u64 bpf_interpreted_mix(__u64 h, __u64 word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* Of the state of a str: how it is interned in 2 bits, the width in 3, is compact, is ASCII. Width
 * 0: it is none. */
static inline __u32 bpf_interpreted_width(__u32 state)
{
	__u32 width = state >> 2 & 7;

	return width == 1 || width == 2 || width == 4 ? width : 0;
}
static inline __u32 bpf_interpreted_is_ascii(__u32 state)
{
	return state >> 6 & 1;
}
enum { BPF_INTERPRETED_MAX_LENGTH = 1 << 24 }; /* of a str, in characters */

/* The number of code. Both sides must come to the same one. */
static inline __u64 bpf_interpreted_number(const struct bpf_interpreted_place *o, const __u8 *bytes,
					   const struct bpf_interpreted_offsets *at)
{
	enum { SIZE_AT = 16 }; /* of an object: how many instructions it has */
	__u64 h = bpf_interpreted_mix(o->space ^ o->process, o->address);

	h = bpf_interpreted_mix(h, o->hash);
	h = bpf_interpreted_mix(h, bpf_interpreted_word(bytes, at->code_name));
	h = bpf_interpreted_mix(h, bpf_interpreted_word(bytes, at->code_file));
	h = bpf_interpreted_mix(h, bpf_interpreted_word(bytes, at->code_lines));
	h = bpf_interpreted_mix(h, bpf_interpreted_word(bytes, at->code_first_line & ~7));
	return bpf_interpreted_mix(h, bpf_interpreted_word(bytes, SIZE_AT));
}

#endif
