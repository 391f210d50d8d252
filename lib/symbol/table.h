/*
 * Stretches of code and their names, in order of address: made once, then asked by any number of
 * threads at once. Where several claim an address, the one that begins last has it, and of those
 * that begin there the better name. Knows nothing of where they come from: a name is a number that
 * means something to who added it.
 */
#ifndef SYMBOL_TABLE_H
#define SYMBOL_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_function;

struct symbol_entry {
	uint64_t start;
	uint32_t size;
	uint32_t name;
	uint16_t group;   /* for who added it */
	uint8_t source;   /* the same */
	uint8_t rank;     /* less is better */
	bool is_open;     /* size is not told: it is up to the next entry, at most .size. Inside of
			     one that tells its size it is a mere label */
	bool is_nameless; /* it has no name to show: where others end */
};

enum {
	SYMBOL_MAX_ENTRIES = 1 << 22,
	SYMBOL_ENTRY_COST = 96, /* bytes of memory for each, with all that is made of it */
};

struct symbol_span {
	uint64_t start, end;
	uint32_t entry;
};

struct symbol_table {
	struct symbol_entry *entry; /* owned */
	size_t nr, room;
	struct symbol_span *span; /* owned; in order, apart */
	size_t nr_spans;
	_Atomic(const struct symbol_function *) *function; /* owned; one for each entry, NULL at
							      first: the place for who asks */
};

/* Zero-initialise. */
void symbol_table_fini(struct symbol_table *t);
/* 0 or -ENOMEM; beyond the ceiling, and of size 0, they are passed over. */
int symbol_table_add(struct symbol_table *t, const struct symbol_entry *e);
/* < 0: a is the better name of two of the same rank and start. */
typedef int symbol_prefer_fn(const void *arg, const struct symbol_entry *a,
			     const struct symbol_entry *b);
/* Ends the adding; once. 0 or -ENOMEM. prefer NULL: what was added last. */
int symbol_table_seal(struct symbol_table *t, symbol_prefer_fn *prefer, const void *arg);
/* The number of the entry that covers the address; -1: none, or one without a name. */
ptrdiff_t symbol_table_find(const struct symbol_table *t, uint64_t address);

#endif
