/*
 * Symbols that are told as text: /proc/kallsyms ("ffffffff81000000 T name\t[module]") and the maps
 * of code made at run time ("7f0000001000 2c name"). Every line is hostile; what makes no sense is
 * passed over. Opens nothing.
 */
#ifndef SYMBOL_TEXT_SYMBOLS_H
#define SYMBOL_TEXT_SYMBOLS_H

#include "symbol/table.h"

enum {
	TEXT_SYMBOLS_MAX_BYTES = 256 << 20,
	TEXT_SYMBOLS_MAX_GROUPS = 4096, /* modules */
	TEXT_SYMBOLS_MAX_NAME_BYTES = 4096,
	/* Kernel code without end is no longer: what comes behind the last function of a module is
	 * not it. */
	TEXT_SYMBOLS_MAX_KERNEL_BYTES = 256 << 10,
};

struct text_symbols {
	struct symbol_table table;
	const char *text; /* borrowed; .name of an entry is where its name is in it */
	size_t len;
	struct text_piece {
		uint32_t at, len;
	} * group; /* owned; modules by .group of an entry; the first is the kernel itself, empty */
	size_t nr_groups, groups_room;
	bool has_lines;     /* that make sense … */
	bool has_addresses; /* … with an address that is not 0 */
};

/* True if a line of /proc/kallsyms is in it. */
bool text_symbols_is_kallsyms(const char *text, size_t len);
/* text stays as long as *out. 0 or -ENOMEM. */
int text_symbols_parse_kallsyms(const char *text, size_t len, struct text_symbols *out);
/* Of several names for an address the last is right: the code was made anew. */
int text_symbols_parse_map(const char *text, size_t len, struct text_symbols *out);
void text_symbols_fini(struct text_symbols *s);
void text_symbols_name(const struct text_symbols *s, const struct symbol_entry *e,
		       char out[TEXT_SYMBOLS_MAX_NAME_BYTES]);

#endif
