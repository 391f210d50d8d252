/*
 * The code of a function: its instructions with source lines, inlined functions and the names of
 * what they call. Sampled addresses are looked up in it: each has exactly one row, also one that
 * is not the start of an instruction.
 *
 * Sums are those of the function, since the sink counts samples by address (report/addresses.h). A
 * line's rows are those that it has innermost; a function that was inlined is a group of lines of
 * its own. What is called through a slot of the GOT is named by the slot's relocation
 * (symbol/elf_plt.c); of arm64 code slots.h follows registers to the slot, until a branch or the
 * target of a jump.
 */
#ifndef ANNOTATE_CODE_H
#define ANNOTATE_CODE_H

#include "annotate/decode.h"
#include "base/arena.h"

struct annotate_kernel;
struct profile_object;
struct symbols;

enum {
	ANNOTATE_NO_SAMPLE = UINT32_MAX,
	ANNOTATE_MAX_CODE_BYTES = 1 << 20, /* of a function; the rest is not decoded */
};

/* A place in the source. */
struct annotate_line {
	const char *file; /* sanitised; NULL: not known */
	uint32_t line;    /* 0: not known */
};

struct annotate_row {
	uint64_t address;
	uint32_t sample;  /* number of the sampled address; ANNOTATE_NO_SAMPLE: none */
	uint32_t nr_from; /* jumps within the function that lead here */
	enum annotate_flow flow;
	bool has_target, is_inside; /* inside: the target, of the function */
	uint64_t target;
	const char
	    *text; /* the instruction, with the name of what it calls; NULL: none begins here */
	const char *inlined;      /* the innermost inlined function; NULL: none */
	struct annotate_line at;  /* in that, else in the function itself */
	struct annotate_line own; /* in the function itself: where it was inlined, else the same */
};

/* Zero-initialise. */
struct annotate_code {
	struct annotate_row *row; /* owned, with the texts; by address in each function */
	size_t nr, room;
	struct arena texts;
	struct annotate_decoder *decoder; /* owned */
	uint16_t machine;                 /* of the decoder */
};

struct annotate_wanted {
	struct symbols *symbols; /* borrowed, like what follows */
	const struct profile_object
	    *object; /* NULL: code without a file, of which addresses are known */
	const struct annotate_kernel *kernel; /* without an object: its code; NULL: none is known */
	const uint64_t *address; /* offsets in the object's file, or addresses; ascending */
	size_t nr;
	uint32_t first; /* number of the first address */
};

/* Adds the rows of the functions that have these addresses. *e: why there are no instructions, if
 * there are none. 0 or -ENOMEM. */
int annotate_code_add(struct annotate_code *c, const struct annotate_wanted *w, struct err *e);
/* Removes all rows. */
void annotate_code_reset(struct annotate_code *c);
void annotate_code_fini(struct annotate_code *c);

#endif
