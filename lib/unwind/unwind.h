/*
 * Unwinds the user stack of a sample, from its registers and stack bytes (user_stack), by the
 * unwind tables of the programs (.eh_frame, .debug_frame), for any known machine on any host. The
 * finder provides the files. Samples and tables are hostile: steps and bytes are bounded. One
 * unwinder per thread.
 */
#ifndef UNWIND_UNWIND_H
#define UNWIND_UNWIND_H

#include "unwind/mapping.h"

#include <stddef.h>

struct elf_file;
struct elf_finder;
struct trace_layout;
struct trace_record;
struct unwinder;

/* How frames of code of HotSpot lead to their callers (unwind/shape.h). */
enum unwind_shape_kind {
	UNWIND_SHAPE_NONE,
	UNWIND_SHAPE_METHOD,
	UNWIND_SHAPE_INTERPRETER,
	UNWIND_SHAPE_STUB,
};
enum unwind_point {
	UNWIND_POINT_RETURN,  /* a call returns here */
	UNWIND_POINT_WHOLE,   /* from here on the frame is whole (before frame_from it may lack its
				 frame pointer), */
	UNWIND_POINT_POINTER, /* or its frame pointer and the return address, */
	UNWIND_POINT_ADDRESS, /* or the return address alone */
};
struct unwind_shape {
	enum unwind_shape_kind kind;
	uint64_t start;        /* of the code */
	uint32_t frame_bytes;  /* with the return address; 0: not known */
	uint32_t frame_from;   /* how far from the start on instructions have the frame */
	const uint8_t *points; /* borrowed: in ascending order, each a u32: how far from the start,
				  times 4, and enum unwind_point */
	uint32_t nr_points;
};

/* Code that was made at run time, which no file has. */
struct unwind_made {
	const char *name;     /* of its function */
	uint64_t address;     /* as loaded, of what was looked up */
	const uint8_t *table; /* .eh_frame, borrowed until the next one; NULL: none */
	size_t table_len;
	uint64_t table_address; /* as loaded */
	struct unwind_shape shape;
};

/* Finds code that was made at run time. False: there is none. */
typedef bool unwind_find_made_fn(void *arg, const struct unwind_mapping *mapping, uint64_t address,
				 uint64_t time_ns, struct unwind_made *out);

/* Finds the method that a frame of the interpreter, whose code is in the mapping, points to, if it
 * has a bytecode at bcp (of a native method: any). *address: what stands for it in a stack. False:
 * there is none. */
typedef bool unwind_find_method_fn(void *arg, const struct unwind_mapping *mapping, uint64_t method,
				   uint64_t bcp, uint64_t time_ns, uint64_t *address);

struct unwinder_config {
	struct elf_finder *finder;   /* borrowed */
	struct unwind_maps maps;     /* of the same thread */
	const char *machine;         /* of the recorder: "x86_64", "aarch64" */
	const struct elf_file *vdso; /* borrowed: the recorder's vdso, or the reader's own if of the
					same boot; NULL: none */
	unwind_find_made_fn *find_made;     /* NULL: none is known */
	unwind_find_method_fn *find_method; /* NULL: none is known */
	bool keeps_interpreter; /* of an interpreted method the interpreter's address is returned */
	void *arg;
};

enum unwind_end {
	UNWIND_WHOLE,      /* the outermost function was reached */
	UNWIND_NO_REGS,    /* the sample has no registers or stack, as for a kernel
			      thread */
	UNWIND_TRUNCATED,  /* the stack continues beyond the recorded bytes, and beyond the
			      functions with frame pointers behind them */
	UNWIND_NO_TABLE,   /* no unwind table, and no frame pointer that leads to a caller */
	UNWIND_INVALID,    /* no progress toward the stack's start, or outside the stack */
	UNWIND_MAX,        /* more frames than fit */
	UNWIND_NO_POINTER, /* a function needs its frame pointer, which /proc did not show */
	UNWIND_UNPROVEN,   /* code of HotSpot, whose caller is not certain */
};
const char *unwind_end_name(enum unwind_end end); /* "truncated" … */

/* 0; -ENOTSUP: unknown machine; -ENOMEM. */
int unwinder_new(const struct unwinder_config *config, struct unwinder **out);
void unwinder_free(struct unwinder *u); /* NULL is fine */

/*
 * process: as the maps know it. The user part of the callchain: the sampled address, then return
 * addresses (look names up at address - 1). Exact addresses are marked in exact (bit i % 64 of word
 * i / 64; zeroed first; may be NULL): the sampled address, that of a frame that a signal
 * interrupted, the return address of a handler, and what stands for an interpreted method. Where
 * the bytes end, the sample's callchain by frame pointers, if it has one, completes the stack as
 * far as the tables say that functions keep theirs. Returns the number of addresses; *end: why it
 * ended.
 */
size_t unwind_user(struct unwinder *u, const void *process, uint64_t time_ns,
		   const struct trace_layout *layout, const struct trace_record *sample,
		   uint64_t *out, size_t max, uint64_t *exact, enum unwind_end *end);

/* Whether a chain by frame pointers is accidental: the last stack came to code of HotSpot, or to a
 * function without a table whose caller's frame pointer it is. */
bool unwinder_refutes_chain(const struct unwinder *u);

/* The stack pointer of the outermost function of the last stack, above which nothing is needed.
 * False: not known, as of a stack that did not come to it. */
bool unwinder_base(const struct unwinder *u, uint64_t *address);

/*
 * For samples with a callchain by frame pointers and a short piece of stack. Returns the return
 * addresses that are missing between the first and second address of the callchain, by the unwind
 * tables: that of the sampled function, if it has no frame (or not yet, or no more), and those of
 * callers without frames, up to the frame with which the callchain continues, or to the end of the
 * piece. Insert them after the first address. Frames are recognized by their place on the stack,
 * not by address, so recursion is preserved. 0: none are missing, or there is no table. *is_whole:
 * the outermost function was reached before the callchain's frame; then the callchain after its
 * first address is accidental, as in programs that use the frame pointer register for other data.
 */
size_t unwind_to_chain(struct unwinder *u, const void *process, uint64_t time_ns,
		       const struct trace_layout *layout, const struct trace_record *sample,
		       uint64_t *out, size_t max, bool *is_whole);

#endif
