/*
 * Symbols in text form: /proc/kallsyms ("ffffffff81000000 T name\t[module]") and maps of generated
 * code ("7f0000001000 2c name"). The text is hostile; skips invalid lines.
 */
#ifndef SYMBOL_TEXT_SYMBOLS_H
#define SYMBOL_TEXT_SYMBOLS_H

#include "symbol/table.h"

enum {
	SYMBOL_TEXT_MAX_BYTES = 256 << 20,
	SYMBOL_TEXT_MAX_GROUPS = 4096, /* modules */
	SYMBOL_TEXT_MAX_NAME_BYTES = 4096,
	/* The longest kernel function: bounds the last one of a module, whose size is unknown. */
	SYMBOL_TEXT_MAX_KERNEL_BYTES = 256 << 10,
};

struct symbol_text {
	struct symbol_table table;
	const char *text; /* borrowed; an entry's .name is an offset in it */
	size_t len;
	struct symbol_text_piece {
		uint32_t at, len;
	} * group; /* owned; modules, by an entry's .group; the first is the kernel, with length 0
		    */
	size_t nr_groups, groups_room;
	bool has_lines;     /* valid ones … */
	bool has_addresses; /* … of which some have an address other than 0 */
};

/* Whether it contains a valid line of /proc/kallsyms. */
bool symbol_text_is_kallsyms(const char *text, size_t len);
/* Borrows text. 0 or -ENOMEM. */
int symbol_text_parse_kallsyms(const char *text, size_t len, struct symbol_text *out);
/* The same for a map. The last name of an address applies: the code was regenerated. */
int symbol_text_parse_map(const char *text, size_t len, struct symbol_text *out);
void symbol_text_fini(struct symbol_text *s);
void symbol_text_name(const struct symbol_text *s, const struct symbol_entry *e,
		      char out[SYMBOL_TEXT_MAX_NAME_BYTES]);

#endif
