/*
 * Symbols sorted by address. Thread-safe once sealed. Where several cover an address, the one with
 * the highest start applies, and of those the best name. Names are numbers that only the caller
 * interprets.
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
	uint16_t group; /* for the caller */
	uint8_t source; /* for the caller */
	uint8_t rank;   /* lower is better */
	bool is_open; /* unknown size: ends at the next entry, or after .size bytes. Dropped inside
			 an entry with a known size */
	bool is_nameless; /* has no name to show; only ends other entries */
};

enum {
	SYMBOL_MAX_ENTRIES = 1 << 22,
	SYMBOL_ENTRY_COST = 96, /* bytes of memory per entry, with all that is made of it */
};

struct symbol_span {
	uint64_t start, end;
	uint32_t entry;
};

struct symbol_table {
	struct symbol_entry *entry; /* owned */
	size_t nr, room;
	struct symbol_span *span; /* owned; sorted, not overlapping; NULL: they are the entries */
	size_t nr_spans;
	_Atomic(const struct symbol_function *)
	    *function; /* owned; per entry, NULL at first: a cache for the caller */
};

/* Zero-initialise. */
void symbol_table_fini(struct symbol_table *t);
/* Skips entries of size 0 and beyond the limit. 0 or -ENOMEM. */
int symbol_table_add(struct symbol_table *t, const struct symbol_entry *e);
/* < 0: a is the better name. Called for equal start and rank. */
typedef int symbol_prefer_fn(const void *arg, const struct symbol_entry *a,
			     const struct symbol_entry *b);
/* Orders aliases: fewer leading underscores, then alphabetically. */
int symbol_compare_names(const char *a, size_t a_len, const char *b, size_t b_len);
/* Sorts the entries; call once, after adding. prefer NULL: the last one added. 0 or -ENOMEM. */
int symbol_table_seal(struct symbol_table *t, symbol_prefer_fn *prefer, const void *arg);
/* The spans of a sealed table, nr_spans of them: sorted, not overlapping. */
struct symbol_span symbol_table_span(const struct symbol_table *t, size_t i);
/* The entry that covers the address; -1: none, or is_nameless. */
ptrdiff_t symbol_table_find(const struct symbol_table *t, uint64_t address);

#endif
