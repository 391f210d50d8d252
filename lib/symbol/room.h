/*
 * Shared within the room: the sources of symbols that symbols.c uses.
 */
#ifndef SYMBOL_ROOM_H
#define SYMBOL_ROOM_H

#include "base/buf.h"
#include "elf/frame_table.h"
#include "symbol/elf_symbols.h"
#include "symbol/functions.h"
#include "symbol/symbols.h"
#include "symbol/text_symbols.h"

#include <pthread.h>

struct elf_rights;
struct jitdump_code;
struct profile_object;
struct profile_ksymbol;
struct profile_process;

/* The kinds of spaces of function keys; each object and process has its own. */
enum symbol_space {
	SPACE_OBJECT,
	SPACE_PROCESS,
	SPACE_INLINED,
	SPACE_KERNEL,
	SPACE_CODE,
	SPACE_COMPILED
};

static inline uint64_t symbol_space(enum symbol_space kind, uint32_t number)
{
	return (uint64_t)kind << 32 | number;
}

/* A mapped file and its symbols. */
struct symbol_object {
	const struct elf_file *code, *debug; /* borrowed; NULL: not found */
	struct symbol_elf symbols;
	_Atomic(struct symbol_elf *) variables; /* owned; NULL: not asked for */
	struct elf_frame_table frames;
	bool is_go; /* the code has the table of functions of Go, and with it lines */
	/* without code: the pages that the code's mapping would have, from the debug file */
	uint64_t code_start, code_end;
};

/* NULL: no memory. */
struct symbol_object *symbol_object_new(const struct symbols_config *config,
					const struct profile_object *object);
void symbol_object_free(struct symbol_object *o);
/* Loads them; not thread-safe. NULL: no memory. */
const struct symbol_elf *symbol_object_load_variables(struct symbol_object *o);
/* The address in the file. False: unknown; then *out is the file offset. */
bool symbol_object_address(const struct symbol_object *o, const struct profile_mapping *m,
			   uint64_t address, uint64_t *out);
/* The file that has source lines; NULL: none can have. */
const struct elf_file *symbol_object_lines_file(const struct symbol_object *o);
/* The function at an address in the file. */
bool symbol_object_extent(const struct symbol_object *o, uint64_t address, uint64_t *start,
			  uint64_t *end);
/* The function with this name; NULL: the object has none. */
const struct symbol_function *symbol_object_named(struct symbol_object *o,
						  struct symbol_functions *f,
						  const struct profile_object *object,
						  uint64_t address, uint64_t *start);
const struct symbol_function *symbol_object_function(struct symbol_object *o,
						     struct symbol_functions *f,
						     const struct profile_mapping *m,
						     uint64_t address);

/* The kernel: kallsyms, and symbols that existed for a time. What the session has packed in parts
 * that do not overlap is read part by part: few reports ask for more than some. */
struct symbol_kernel {
	struct buf kallsyms;
	const char *path; /* of the file with kallsyms, borrowed; NULL: they were recorded */
	const struct profile_session *session; /* borrowed; NULL: there are no parts */
	struct symbol_kernel_group {
		uint64_t first, end;
		const struct profile_symbol_part *const *part; /* borrowed, nr_parts of them */
		size_t nr_parts;
		struct buf text; /* their text, once it is loaded */
		struct symbol_text symbols;
		_Atomic(bool) is_loaded;
	} * group; /* owned; sorted */
	size_t nr_groups;
	const struct profile_symbol_part **part; /* owned; sorted by address */
	pthread_mutex_t lock;                    /* to load a group */
	const struct profile_ksymbol **passing;  /* owned; sorted by start, then time */
	uint64_t *passing_last; /* owned; the highest end address so far, per symbol */
	size_t nr_passing;
};

/* Makes it empty: kernel symbols are loaded by the first query. */
void symbol_kernel_init(struct symbol_kernel *k);
int symbol_kernel_load(struct symbol_kernel *k, const struct symbols_config *config);
/* Where the entry is that covers an address, and its number there; NULL: none. Once loaded. */
const struct symbol_text *symbol_kernel_find(struct symbol_kernel *k, uint64_t address,
					     size_t *entry);
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

/* Nothing that was made at run time is used: the session was recorded elsewhere, and no folder is
 * said. */
bool symbol_jit_is_foreign(const struct symbols_config *config);
/* With which it is opened: those of the owner of the process, while that runs. */
struct elf_rights symbol_jit_rights(const struct symbols_config *config, uint32_t pid);
/* Whether a file that names code of a process may be used. 0 or -errno with *e. */
struct stat;
int symbol_jit_check(const struct stat *st, const struct symbols_config *config, uint32_t pid,
		     const char *path, struct err *e);

/* Code generated at run time: jit-PID.dump, of which the process has a mapping that can be
 * executed. Read on first use. */
struct symbol_dump;
enum { SYMBOL_MAX_DUMPS = 4096 };
struct symbol_dumps {
	pthread_mutex_t lock;
	const struct symbols_config *config; /* borrowed */
	struct symbol_functions *functions;  /* borrowed */
	struct symbol_dump **item;           /* owned, with its elements */
	size_t nr, room;
	struct symbol_marker *marker; /* owned; by process */
	size_t nr_markers, markers_room;
	bool has_reported_foreign;
};

void symbol_dumps_init(struct symbol_dumps *d, const struct symbols_config *config,
		       struct symbol_functions *functions);
void symbol_dumps_fini(struct symbol_dumps *d);
/* Finds the dumps that processes have; those that are known are read on when they are next asked
 * for. 0 or -ENOMEM. */
int symbol_dumps_renew(struct symbol_dumps *d);
/* As symbols_epoch. */
uint32_t symbol_dumps_epoch(struct symbol_dumps *d, const struct profile_process *process,
			    uint64_t time_ns);

/* Code of a dump at an address and time. */
struct symbol_dumped {
	struct symbol_dump *dump;
	struct jitdump_code *code;
	uint64_t address; /* of the code as loaded */
};
/* False: no dump has a name for it. */
bool symbol_dumps_find(struct symbol_dumps *d, const struct profile_mapping *m, uint64_t address,
		       uint64_t time_ns, struct symbol_dumped *out);
/* Finds code by the number of the dump's object, and an offset in the dump. */
bool symbol_dumps_at(struct symbol_dumps *d, uint32_t object, uint64_t offset,
		     struct symbol_dumped *out);
/* What one piece of code finds at an address, at the time when it was loaded. */
bool symbol_dumps_beside(struct symbol_dumps *d, uint32_t object, const struct jitdump_code *code,
			 uint64_t address, struct symbol_dumped *out);
const struct symbol_function *symbol_dumped_function(struct symbol_dumps *d,
						     const struct symbol_dumped *at);
uint32_t symbol_dumped_object(const struct symbol_dumped *at); /* the number of the dump's */
uint64_t symbol_dumped_offset(const struct symbol_dumped *at); /* in its file */
void symbol_dumped_extent(const struct symbol_dumped *at, uint64_t *start, uint64_t *end);
uint16_t symbol_dumped_machine(const struct symbol_dumped *at);
/* With which files are opened that the dump names. False: the object is none. */
bool symbol_dumps_rights(struct symbol_dumps *d, uint32_t object, struct elf_rights *out);
/* The source line, without the function; false: not known. */
bool symbol_dumped_line(struct symbol_dumps *d, const struct symbol_dumped *at,
			struct symbol_line *out);
/* Its unwind table, of at->code->table_len bytes. NULL: it has none. */
const uint8_t *symbol_dumped_table(struct symbol_dumps *d, const struct symbol_dumped *at);
/* Reads up to len bytes of the code from its start on. How many. */
size_t symbol_dumped_read(struct symbol_dumps *d, const struct symbol_dumped *at, void *to,
			  size_t len);

/* Source lines, from DWARF, else from the table of functions of Go. */
struct symbol_lines;
struct symbol_lines *symbol_lines_new(const struct symbols_config *config,
				      struct symbol_functions *functions); /* NULL: no memory */
void symbol_lines_free(struct symbol_lines *l);                            /* NULL is fine */
/* As symbols_lines, of an object that may have lines. function: from the symbol table. */
size_t symbol_lines_find(struct symbol_lines *l, const struct profile_object *object,
			 const struct symbol_object *o, uint64_t address, bool with_inlined,
			 const struct symbol_function *function, struct symbol_line *out,
			 size_t max);
/* As symbols_rights, for the files in which lines were found so far. */
struct elf_rights symbol_lines_rights(struct symbol_lines *l, const struct profile_object *object,
				      const struct symbol_object *o);

#endif
