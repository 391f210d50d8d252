/*
 * The functions of a file, from its table of symbols, or its debug file's, or that of Go's runtime;
 * without these, those that it exports. Several names at one address are one function. Files are
 * hostile.
 */
#ifndef FUNCTIONS_LIST_H
#define FUNCTIONS_LIST_H

#include "functions/compiled.h"
#include "functions/functions.h"
#include "functions/inward.h"
#include "functions/starts.h"

struct elf_file;
struct elf_finder;
struct elf_reader;
struct functions_pattern;

struct functions_symbol {
	uint64_t address, size;
	const char *name; /* borrowed from the file; visible characters */
	uint8_t rank;     /* lower is better */
	bool is_chooser;  /* of an IFUNC: it selects the function that is called */
};

/* Which functions have names. */
enum functions_names { FUNCTIONS_NO_NAMES, FUNCTIONS_EXPORTED, FUNCTIONS_ALL };

struct functions_list {
	struct functions_symbol *symbol; /* owned; by address, then rank */
	size_t nr, room;
	struct functions_symbol *cold; /* owned; parts elsewhere, by name */
	size_t nr_cold, cold_room;
	struct functions_inward inward;
	struct functions_starts starts;
	bool has_inward; /* these two were read: when the first function asked for it */
	enum functions_names names;
	const struct elf_file *code; /* borrowed */
	const char *path;            /* borrowed */
	bool is_go;
	struct functions_compiled compiled;
	struct elf_file *unpacked;    /* owned; of .gnu_debugdata; NULL: none */
	struct elf_finder *finder;    /* owned; has the debug file; NULL: none */
	const struct elf_file *debug; /* borrowed from it; NULL: none */
};

/* code was opened from path by the reader; all must outlive *out. 0 or -ENOMEM. */
int functions_list_load(const struct elf_file *code, const char *path, struct elf_reader *reader,
			struct functions_list *out);
void functions_list_fini(struct functions_list *l);

/* Calls fn for each function of which one name matches, with that name, by address; also for those
 * that are refused. How its end is seen is not decided: ret and reason are those of the function
 * alone (functions/ends.h). Strings are borrowed from the list, or constant. Stops at the first
 * non-zero result and returns it; else 0 or -ENOMEM. */
int functions_list_each(struct functions_list *l, const struct functions_pattern *p,
			int (*fn)(const struct functions_place *place, void *arg), void *arg);

/* At how many places the compiler has put functions that match into others. */
size_t functions_list_inlined(const struct functions_list *l, const struct functions_pattern *p);

#endif
