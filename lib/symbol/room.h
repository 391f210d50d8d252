/*
 * What the files of this room share: the sources that symbols.c asks one after the other.
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

/* The spaces of keys of functions (struct function_key): one for each object and each process. */
enum symbol_space { SPACE_OBJECT, SPACE_PROCESS, SPACE_INLINED, SPACE_KERNEL };

static inline uint64_t symbol_space(enum symbol_space kind, uint32_t number)
{
	return (uint64_t)kind << 32 | number;
}

/* A mapped file: its symbols, loaded once. */
struct symbol_object {
	const struct elf_file *code, *debug; /* borrowed; NULL: not found */
	struct symbols_elf symbols;
	struct frame_table frames;
	/* Without code: the pages that its mapping would have, as a debug file tells. */
	uint64_t code_start, code_end;
};

/* Never NULL, but without memory. */
struct symbol_object *symbol_object_new(const struct symbols_config *config,
					const struct profile_object *object);
void symbol_object_free(struct symbol_object *o);
/* The address as the file has it; false, and the place in the file, if there is no file that tells.
 */
bool symbol_object_address(const struct symbol_object *o, const struct profile_mapping *m,
			   uint64_t address, uint64_t *out);
const struct symbol_function *symbol_object_function(struct symbol_object *o, struct functions *f,
						     const struct profile_mapping *m,
						     uint64_t address);

/* The kernel: kallsyms, and what came and went. */
struct symbol_kernel {
	struct buf kallsyms;
	const char *path; /* of its file, borrowed; NULL: it was recorded */
	struct text_symbols symbols;
	const struct profile_ksymbol **passing; /* owned; by start, then by time */
	uint64_t *passing_last;                 /* owned; the last address of any up to there */
	size_t nr_passing;
};

/* Zero-initialise kallsyms by buf_init first; the rest is made when the first question comes. */
int symbol_kernel_load(struct symbol_kernel *k, const struct symbols_config *config);
void symbol_kernel_fini(struct symbol_kernel *k);
const struct symbol_function *symbol_kernel_function(struct symbol_kernel *k, struct functions *f,
						     uint64_t address, uint64_t time_ns);

/* Code made at run time: /tmp/perf-PID.map, each read when first asked for. */
enum { SYMBOL_JIT_BUCKETS = 1024 };
struct symbol_jit {
	pthread_mutex_t lock;
	bool has_told_foreign; /* maps of another machine, or boot */
	_Atomic(struct jit_process *) bucket[SYMBOL_JIT_BUCKETS];
};

void symbol_jit_init(struct symbol_jit *j);
void symbol_jit_fini(struct symbol_jit *j);
/* NULL: no map tells. */
const struct symbol_function *symbol_jit_function(struct symbol_jit *j,
						  const struct symbols_config *config,
						  struct functions *f, uint32_t pid,
						  uint64_t address);

/* Source lines of a mapped file, from DWARF. */
struct symbol_lines;
struct symbol_lines *symbol_lines_new(const struct symbols_config *config,
				      struct functions *functions); /* NULL: no memory */
void symbol_lines_free(struct symbol_lines *l);                     /* NULL is fine */
/* As symbols_lines; function is that of the symbol table. */
size_t symbol_lines_find(struct symbol_lines *l, const struct profile_object *object,
			 const struct symbol_object *o, uint64_t address,
			 const struct symbol_function *function, struct symbol_line *out,
			 size_t max);

#endif
