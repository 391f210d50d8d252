/*
 * From an address to its function, by symbol tables of ELF files, PLT stubs, .gnu_debugdata,
 * separate debug files, the table of Go's runtime, the vdso, the recorded kernel symbols, jitdumps
 * and JIT maps. Answers are cached. Thread-safe.
 */
#ifndef SYMBOL_SYMBOLS_H
#define SYMBOL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct elf_file;
struct elf_finder;
struct elf_rights;
struct err;
struct profile_compiled;
struct profile_mapping;
struct profile_process;
struct profile_processes;
struct profile_session;
struct symbols;

/* A function, or code without a symbol. The same function is always the same pointer, valid as long
 * as the symbols. */
struct symbol_function {
	uint32_t number;  /* consecutive, from 0 */
	const char *name; /* demangled. Without a symbol: "[unknown] (libfoo.so+0x1234)", with the
			     start of the code by the unwind table, else the address itself. This
			     and the texts below are sanitised */
	const char *linkage_name; /* as in the symbol table; same as name if not mangled */
	const char *object; /* "libc.so.6", "[kernel]", "[nf_tables]", "[vdso]", "[JIT]", "[bpf]" */
	const char *object_path;
	bool is_known, is_kernel, is_inlined;
	bool is_script; /* interpreted, and not of the interpreter's own library */
};

struct profile_object;

struct symbol_line;

struct symbols_config {
	struct elf_finder *finder;                 /* borrowed */
	const struct profile_processes *processes; /* borrowed */
	/* Borrowed: what the parts of the kernel's symbols are read from that processes left. NULL:
	 * they have no names. */
	const struct profile_session *session;
	bool with_inlined;    /* symbols_lines returns inlined functions */
	bool has_other_clock; /* times are not CLOCK_MONOTONIC */
	bool is_same_boot;    /* the trace was recorded since this machine's last boot */
	const struct elf_file
	    *vdso; /* the recorder's, borrowed: the reader's own if of the same boot; NULL: none */
	/* Folder of perf-PID.map; NULL: /tmp below the finder's sysroot, or, if is_same_boot, /tmp.
	 * Ignores files not owned by root or the effective user (with another name, too) or the
	 * process's owner, and, if is_same_boot, those older than the boot. */
	const char *jit_folder;
	void (*problem)(void *arg,
			const struct err *problem); /* NULL, or receives each problem once; may be
						       called by several threads */
	void *arg;
};

int symbols_new(const struct symbols_config *config, struct symbols **out);
void symbols_free(struct symbols *s); /* NULL is fine */

/* After the processes grew (profile/growth.h): finds what they have now, reads JIT maps again, and
 * what was added to jitdumps. Not during a query. 0 or -ENOMEM. */
int symbols_renew(struct symbols *s);

/* Adds text of /proc/kallsyms, in pieces of any size, before the first query. Skips invalid lines.
 * 0 or -ENOMEM. */
int symbols_add_kallsyms(struct symbols *s, const char *text, size_t len);

/* As symbols_add_kallsyms with all of the text, without a copy: the buffer is empty afterwards. */
int symbols_take_kallsyms(struct symbols *s, struct buf *text);

/* Reads kallsyms from a file instead; path is borrowed. 0 or -errno with *e; -EINVAL: no valid
 * line. */
int symbols_load_kallsyms(struct symbols *s, const char *path, struct err *e);

/* Never NULL: without memory, the function "[out of memory]". */
const struct symbol_function *symbols_kernel(struct symbols *s, uint64_t address, uint64_t time_ns);
/* Where the function at an address begins and ends, by the recorded kallsyms. False: it is in none.
 */
bool symbols_kernel_extent(struct symbols *s, uint64_t address, uint64_t *start, uint64_t *end);
/* mapping NULL: the address is not mapped; all such are one function "[unknown]". The time decides
 * what code that was made at run time was there. */
const struct symbol_function *symbols_user(struct symbols *s, const struct profile_mapping *mapping,
					   uint64_t address, uint64_t time_ns);
/* Code that an interpreter interpreted, at an address of profile/codes.h: its function, file and
 * line; and the rights of who named the file. False: the address is no such one. */
bool symbols_interpreted_line(struct symbols *s, uint64_t address, struct symbol_line *out);
struct elf_rights symbols_interpreted_rights(struct symbols *s, uint64_t address);
/* While this is the same, and so are the mappings of a process, so is what its addresses mean. It
 * grows with time. */
uint32_t symbols_epoch(struct symbols *s, const struct profile_process *process, uint64_t time_ns);

/* How many of an object's functions have names. */
enum symbol_names {
	SYMBOL_NAMES_NOT_ASKED, /* none was looked up yet */
	SYMBOL_NAMES_NONE,      /* no file, or no symbols */
	SYMBOL_NAMES_EXPORTED,  /* only functions that other files can call */
	SYMBOL_NAMES_ALL,
};
/* object: number of a file or the vdso. */
enum symbol_names symbols_names_of(const struct symbols *s, uint32_t object);
/* Names of the object were asked for, and neither its file nor its debug file was found. */
bool symbols_is_missing(const struct symbols *s, uint32_t object);

/* A source line. */
struct symbol_line {
	const struct symbol_function
	    *function;    /* inlined functions first, the function of the symbol table last */
	const char *file; /* sanitised; NULL: unknown */
	uint32_t line;    /* 0: unknown */
	/* Inlined, or what it is inlined into, as the runtime that compiled it shows its stacks. */
	bool is_of_runtime;
};
enum { SYMBOL_MAX_LINES = 32 };
/* The functions inlined at the address, innermost first, then the function itself: 1 to max. From
 * DWARF, or what Go's runtime has; slow, cached. Or as a runtime has compiled it, whether inlined
 * functions are asked for or not. */
size_t symbols_lines(struct symbols *s, const struct profile_mapping *mapping, uint64_t address,
		     uint64_t time_ns, struct symbol_line *out, size_t max);
/* Whether it is code in which V8 has inlined what is known, and no dump or map names it. */
bool symbols_is_script(struct symbols *s, const struct profile_mapping *mapping, uint64_t address,
		       uint64_t time_ns);
/* Whether it says what is inlined there because a runtime does. */
bool symbols_has_scopes(struct symbols *s, const struct profile_mapping *mapping, uint64_t address,
			uint64_t time_ns);
/* The variable at an address of a process that has this mapping, which may be another part of the
 * same file: "lock", "lock+0x8", "[data]+0x40" without a name. Sanitised. False: the address is not
 * in the file's data. */
enum { SYMBOL_VARIABLE_BYTES = 256 };
bool symbols_variable(struct symbols *s, const struct profile_mapping *mapping, uint64_t address,
		      char out[SYMBOL_VARIABLE_BYTES]);

/* Code that was made at run time. */
struct symbol_made {
	const struct symbol_function *function;
	uint64_t address;     /* as loaded, of what was looked up */
	const uint8_t *table; /* its unwind table (.eh_frame), borrowed; NULL: none */
	size_t table_len;
	uint64_t table_address;                  /* as loaded */
	const struct profile_compiled *compiled; /* borrowed: as the recorder read it; NULL: not */
};
/* False: the address is in no such code that has a name. */
bool symbols_made(struct symbols *s, const struct profile_mapping *mapping, uint64_t address,
		  uint64_t time_ns, struct symbol_made *out);
/* The method that is described at an address of the process, which a machine interprets, if it has
 * a bytecode at bcp, or is native. *address: that of a frame of it (profile/codes.h). False: none
 * is known there. */
bool symbols_method(struct symbols *s, uint32_t pid, uint64_t method, uint64_t bcp,
		    uint64_t time_ns, uint64_t *address);
/* The object and the offset in its file that have the code at an address: the mapping's, or those
 * of a jitdump. NULL: no file has it; then *offset is the address. */
const struct profile_object *symbols_place(struct symbols *s, const struct profile_mapping *mapping,
					   uint64_t address, uint64_t time_ns, uint64_t *offset);

/* Code of a mapped file, of the vdso, or of a jitdump. */
struct jitdump_code;
struct symbol_code {
	const struct profile_object *object; /* borrowed, like what follows */
	const struct elf_file *file;         /* NULL: a jitdump */
	const struct jitdump_code *jit;      /* of a jitdump: which code */
	uint16_t machine;                    /* EM_… */
	uint64_t start, end;                 /* the function: addresses in the file, or as loaded */
	uint64_t address;                    /* in it */
};
/* The function at an offset in the object's file, by its symbols, else by its unwind table; or the
 * code in a jitdump. False: no such file, or no such function. */
bool symbols_code(struct symbols *s, const struct profile_object *object, uint64_t offset,
		  struct symbol_code *out);
/* Whether both are of the same function. */
static inline bool symbol_code_is_same(const struct symbol_code *a, const struct symbol_code *b)
{
	return a->start == b->start && a->jit == b->jit;
}
/* Reads up to max bytes of a jitdump's code. How many. */
size_t symbols_code_read(struct symbols *s, const struct symbol_code *code, void *to, size_t max);
/* What symbols_lines returns, with inlined functions, at an address of the code. */
size_t symbols_code_lines(struct symbols *s, const struct symbol_code *code, uint64_t address,
			  struct symbol_line *out, size_t max);
/* With which source files are opened that the object's lines name: of whoever wrote its debug
 * information. Ask after the lines. object NULL: none, as of the kernel. */
struct elf_rights symbols_rights(struct symbols *s, const struct profile_object *object);
/* The named function at an address beside the code (in its file, or in memory when it was loaded),
 * and its start. NULL: none. */
const struct symbol_function *symbols_code_function(struct symbols *s,
						    const struct symbol_code *code,
						    uint64_t address, uint64_t *start);
/* What a word of the object's file, at an address in it, points to once it is loaded, by its
 * relocation: sanitised, valid as long as the symbols. NULL: none is known. */
const char *symbols_code_slot(struct symbols *s, const struct profile_object *object,
			      uint64_t address);

#endif
