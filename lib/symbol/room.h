/*
 * Shared within the room: the sources of symbols that symbols.c uses.
 */
#ifndef SYMBOL_ROOM_H
#define SYMBOL_ROOM_H

#include "base/buf.h"
#include "symbol/elf_symbols.h"
#include "symbol/frame_start.h"
#include "symbol/functions.h"
#include "symbol/symbols.h"
#include "symbol/text_symbols.h"

struct profile_object;
struct profile_ksymbol;

/* The kinds of spaces of function keys; each object and process has its own. */
enum symbol_space { SPACE_OBJECT, SPACE_PROCESS, SPACE_INLINED, SPACE_KERNEL };

static inline uint64_t symbol_space(enum symbol_space kind, uint32_t number)
{
	return (uint64_t)kind << 32 | number;
}

/* A mapped file and its symbols. */
struct symbol_object {
	const struct elf_file *code, *debug; /* borrowed; NULL: not found */
	struct symbol_elf symbols;
	struct symbol_frame_table frames;
	/* without code: the pages that the code's mapping would have, from the debug file */
	uint64_t code_start, code_end;
};

/* NULL: no memory. */
struct symbol_object *symbol_object_new(const struct symbols_config *config,
					const struct profile_object *object);
void symbol_object_free(struct symbol_object *o);
/* The address in the file. False: unknown; then *out is the file offset. */
bool symbol_object_address(const struct symbol_object *o, const struct profile_mapping *m,
			   uint64_t address, uint64_t *out);
/* The function at an address in the file. */
bool symbol_object_extent(const struct symbol_object *o, uint64_t address, uint64_t *start,
			  uint64_t *end);
/* By its name alone; NULL: none has one there. */
const struct symbol_function *symbol_object_named(struct symbol_object *o,
						  struct symbol_functions *f,
						  const struct profile_object *object,
						  uint64_t address, uint64_t *start);
const struct symbol_function *symbol_object_function(struct symbol_object *o,
						     struct symbol_functions *f,
						     const struct profile_mapping *m,
						     uint64_t address);

/* The kernel: kallsyms, and symbols that existed for a time. */
struct symbol_kernel {
	struct buf kallsyms;
	const char *path; /* of the file with kallsyms, borrowed; NULL: they were recorded */
	struct symbol_text symbols;
	const struct profile_ksymbol **passing; /* owned; sorted by start, then time */
	uint64_t *passing_last; /* owned; the highest end address so far, per symbol */
	size_t nr_passing;
};

/* Zero-initialise, and buf_init kallsyms. The rest is loaded on the first query. */
int symbol_kernel_load(struct symbol_kernel *k, const struct symbols_config *config);
/* Once loaded: finds what was loaded into the kernel since. 0 or -ENOMEM. */
int symbol_kernel_renew(struct symbol_kernel *k, const struct profile_processes *p);
void symbol_kernel_fini(struct symbol_kernel *k);
const struct symbol_function *symbol_kernel_function(struct symbol_kernel *k,
						     struct symbol_functions *f, uint64_t address,
						     uint64_t time_ns);

/* Code generated at run time: /tmp/perf-PID.map, read on first use. */
enum { SYMBOL_JIT_BUCKETS = 1024 };
struct symbol_jit {
	pthread_mutex_t lock;
	bool has_reported_foreign; /* maps of another machine or boot: reported once */
	_Atomic(struct jit_process *) bucket[SYMBOL_JIT_BUCKETS];
};

void symbol_jit_init(struct symbol_jit *j);
void symbol_jit_fini(struct symbol_jit *j);
/* NULL: not in a map. */
const struct symbol_function *symbol_jit_function(struct symbol_jit *j,
						  const struct symbols_config *config,
						  struct symbol_functions *f, uint32_t pid,
						  uint64_t address);

/* Source lines, from DWARF. */
struct symbol_lines;
struct symbol_lines *symbol_lines_new(const struct symbols_config *config,
				      struct symbol_functions *functions); /* NULL: no memory */
void symbol_lines_free(struct symbol_lines *l);                            /* NULL is fine */
/* As symbols_lines. function: from the symbol table. */
size_t symbol_lines_find(struct symbol_lines *l, const struct profile_object *object,
			 const struct symbol_object *o, uint64_t address, bool with_inlined,
			 const struct symbol_function *function, struct symbol_line *out,
			 size_t max);

#endif
