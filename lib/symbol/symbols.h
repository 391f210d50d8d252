/*
 * From an address to the name of its function: a chain of sources (symbol tables of ELF files, PLT
 * stubs, .gnu_debugdata, separate debug files, the vdso, the kernel as recorded, JIT maps). What
 * has been asked for once is kept. Any number of threads may ask at once. Knows nothing of samples
 * and reports.
 */
#ifndef SYMBOL_SYMBOLS_H
#define SYMBOL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct elf_finder;
struct err;
struct profile_mapping;
struct profile_processes;
struct symbols;

/* A function, or a stretch of code without a name. The same function is always the same pointer,
 * valid as long as the symbols are. */
struct symbol_function {
	uint32_t number; /* from 0, dense: the place in tables of others */
	const char
	    *name; /* demangled, safe to show. Unknown: "[unknown] (libfoo.so+0x1234)": where its
		    * code begins, as far as the unwind table tells, else the address itself */
	const char
	    *linkage_name;  /* as in the symbol table, safe to show; name if it is not mangled */
	const char *object; /* "libc.so.6", "[kernel]", "[nf_tables]", "[vdso]", "[JIT]", "[bpf]";
			       safe to show */
	const char *object_path; /* safe to show */
	bool is_known, is_kernel, is_inlined;
};

struct symbols_config {
	struct elf_finder *finder;                 /* borrowed */
	const struct profile_processes *processes; /* borrowed */
	bool with_inlined;                         /* symbols_lines tells inlined functions */
	bool is_same_boot;           /* the trace is of this machine since its last boot */
	const struct elf_file *vdso; /* the recorder's, borrowed: the reader's own if it is of the
					same boot; NULL: not known */
	/* Of perf-PID.map; NULL: /tmp under the finder's sysroot, or, of a trace of the same boot
	 * only, /tmp. Files of others than the process's owner or root are not taken, nor those of
	 * the same boot's processes that are older than the boot. */
	const char *jit_folder;
	void (*problem)(
	    void *arg,
	    const struct err *problem); /* told once of each; locked by the caller of it */
	void *arg;
};

int symbols_new(const struct symbols_config *config, struct symbols **out);
void symbols_free(struct symbols *s); /* NULL is fine */

/* Text of /proc/kallsyms, in pieces of any size, before the first question. 0 or -ENOMEM. Lines
 * that make no sense are passed over. */
int symbols_add_kallsyms(struct symbols *s, const char *text, size_t len);

/* The same from a file, in place of what was recorded; path is borrowed. 0 or -errno, with *e;
 * -EINVAL: no line of it makes sense. */
int symbols_load_kallsyms(struct symbols *s, const char *path, struct err *e);

/* Never NULL, but without memory: then all is one function "[out of memory]". */
const struct symbol_function *symbols_kernel(struct symbols *s, uint64_t address, uint64_t time_ns);
/* mapping NULL: nothing is known of the address ("[unknown] (0x1234)" is one function for all). */
const struct symbol_function *symbols_user(struct symbols *s, const struct profile_mapping *mapping,
					   uint64_t address);

/* How many of an object's functions have names. */
enum symbol_names {
	SYMBOL_NAMES_NOT_ASKED, /* of none of its functions, so far */
	SYMBOL_NAMES_NONE,      /* its file is not there, or has none */
	SYMBOL_NAMES_EXPORTED,  /* what other files may call, and not what is for itself */
	SYMBOL_NAMES_ALL,
};
/* Of a file, or the vdso; object is its number. */
enum symbol_names symbols_names_of(const struct symbols *s, uint32_t object);

/* Where an address is in the source. */
struct symbol_line {
	const struct symbol_function
	    *function;    /* inlined ones first, the function of the symbol table last */
	const char *file; /* safe to show; NULL: not known */
	uint32_t line;    /* 0: not known */
};
enum { SYMBOL_MAX_LINES = 32 };
/* The functions that are inlined there, the innermost first, and the function itself; at least 1,
 * at most max. From DWARF, by libdw: slow, remembered. */
size_t symbols_lines(struct symbols *s, const struct profile_mapping *mapping, uint64_t address,
		     struct symbol_line *out, size_t max);

#endif
