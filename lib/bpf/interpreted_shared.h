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

/* The numbers of languages are those of enum trace_language; a mask has 1 << number. */
enum {
	BPF_INTERPRETED_PYTHON = 1,
	BPF_INTERPRETED_JAVASCRIPT = 2,
	BPF_INTERPRETED_PHP = 3,
	BPF_INTERPRETED_RUBY = 4,
	BPF_INTERPRETED_PERL = 5,
	BPF_INTERPRETED_GO = 6,
	BPF_INTERPRETED_NR = 7, /* languages, and 0 */
};

static inline __u64 bpf_interpreted_mix(__u64 h, __u64 word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

#include "bpf/interpreted_go.h"
#include "bpf/interpreted_javascript.h"
#include "bpf/interpreted_perl.h"
#include "bpf/interpreted_php.h"
#include "bpf/interpreted_python.h"
#include "bpf/interpreted_ruby.h"

enum {
	BPF_INTERPRETED_ASKED = 1, /* what the process is has been asked for */
	BPF_INTERPRETED_NONE = 2,  /* no interpreter that is known; asked again later */
	BPF_INTERPRETED_IS = 3,
};

struct bpf_interpreted_process {
	__u64 space;    /* of memory: a number that exec changes */
	__u64 until_ns; /* what is said holds until then; CLOCK_MONOTONIC */
	__u32 state;
	__u32 nr_asked; /* how often the process was asked for */
	__u32 language, pad;
	__u64 loop_begin, loop_end; /* the function that interprets */
	union {                     /* by language */
		struct bpf_php php;
		struct bpf_python python;
		struct bpf_javascript javascript;
		struct bpf_ruby ruby;
		struct bpf_perl perl;
		struct bpf_go go;
	};
};

/* The raw data of a record beside a sample: what the thread interpreted, the innermost first. */
enum {
	BPF_INTERPRETED_ENTRY = 1,           /* the interpreter was called here, by native code */
	BPF_INTERPRETED_FURTHER_ENTRY = 256, /* times how often it was once more, up to 255 */
};
struct bpf_interpreted_frame {
	__u64 code; /* the number of its code: of a definition */
	union {
		struct {
			__s32 instruction;
			__u32 flags;
		};
		__u64 at; /* of JavaScript: the address in its own native frame; 0: not known */
	};
};
struct bpf_interpreted_stack {
	__u32 language;
	__u32 nr; /* frames that follow */
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
enum { BPF_INTERPRETED_UTF8 = 8 }; /* in place of a width */
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
	__u32 language, pad;
	struct bpf_interpreted_text file, name;
	__u8 file_text[BPF_INTERPRETED_NAME_BYTES], name_text[BPF_INTERPRETED_NAME_BYTES];
	__u8 lines[BPF_INTERPRETED_LINES_BYTES];
};

#endif
