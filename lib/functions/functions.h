/*
 * Functions of programs that are measured call by call: which ones a pattern means, where a probe
 * is set in each, what a call then costs, and why some are left out. Files are hostile: what is
 * read of them is checked by elf/.
 */
#ifndef FUNCTIONS_FUNCTIONS_H
#define FUNCTIONS_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the kernel does at a breakpoint on an instruction, which decides what a hit costs. */
enum functions_entry {
	FUNCTIONS_NOP5,    /* x86-64: replaced by a call where the kernel can */
	FUNCTIONS_CHEAP,   /* emulated: push, another nop, a jump, a call; on arm64 also others */
	FUNCTIONS_STEPPED, /* executed out of line, by single-stepping */
};

/* How the end of a call is seen. */
enum functions_return {
	FUNCTIONS_RETURN_REPLACED, /* the return address is replaced (uretprobe) */
	FUNCTIONS_RETURN_NONE,     /* it is not: calls are counted, and have no times */
};

/* What the compiler has prepared: the agent in the program is called by that. */
enum functions_prepared {
	FUNCTIONS_PREPARED_NOT,
	FUNCTIONS_PREPARED_ENTRY, /* where it begins: calls are counted */
	FUNCTIONS_PREPARED_BOTH,  /* also where it ends: they have times */
};

struct functions_signature;

/* A function that is measured. Strings are owned by whoever made the list. */
struct functions_place {
	const char *path;       /* of the file, as it can be opened here */
	const char *name;       /* as in the table of symbols: mangled */
	const char *reason;     /* why it has no times: FUNCTIONS_RETURN_NONE; else NULL */
	uint64_t address, size; /* of the symbol, in the file */
	uint64_t offset;        /* of the instruction that is probed, in the file */
	const char *refused;    /* why it is not measured; NULL: it is. In events: always NULL */
	bool calls_nothing;     /* surely: nothing is thrown, or switched, while it runs */
	enum functions_entry entry;
	enum functions_return ret;
	enum functions_prepared prepared;
	const struct functions_signature
	    *signature; /* what of its calls is recorded; NULL: nothing */
};

/* What a hit at the entry, and one with its return, costs on this kind of machine: an estimate. */
uint64_t functions_hit_ns(const struct functions_place *p);
/* What a call costs that the agent measures by what the compiler has put there; 0: nothing is. */
uint64_t functions_prepared_ns(enum functions_prepared prepared);
/* The same of one whose instructions it replaces: where these see its ends, too. is_off: they do,
 * and the call is counted alone. */
uint64_t functions_patched_ns(bool is_timed, bool is_off);

#endif
