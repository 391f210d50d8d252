/*
 * All functions, each with a permanent number and address. Added under a lock, read without one.
 */
#ifndef SYMBOL_FUNCTIONS_H
#define SYMBOL_FUNCTIONS_H

#include "base/arena.h"
#include "symbol/symbols.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	SYMBOL_FUNCTIONS_CHUNK = 1024,
	SYMBOL_FUNCTIONS_MAX_CHUNKS = 4096,
	SYMBOL_FUNCTIONS_NR_BUCKETS = 1 << 16,
	SYMBOL_FUNCTIONS_NR_TEXT_BUCKETS = 1 << 12,
};

/* Identifies a function that is in no symbol table. */
struct symbol_function_key {
	uint64_t space;      /* symbol_space(): of the address or name */
	uint64_t address;    /* or, if linkage is set, any discriminator */
	const char *linkage; /* NULL: identified by its address */
};

struct symbol_function_node;
struct symbol_function_text;
struct symbol_functions {
	pthread_mutex_t lock;
	struct arena arena;
	_Atomic(size_t) nr;
	_Atomic(struct symbol_function *) chunk[SYMBOL_FUNCTIONS_MAX_CHUNKS];
	_Atomic(struct symbol_function_node *) bucket[SYMBOL_FUNCTIONS_NR_BUCKETS];
	struct symbol_function_text *text[SYMBOL_FUNCTIONS_NR_TEXT_BUCKETS]; /* under the lock */
};

/* *f is zeroed: most of it is never touched. 0 or -ENOMEM. Function 0 is "[out of memory]". */
int symbol_functions_init(struct symbol_functions *f);
void symbol_functions_fini(struct symbol_functions *f);

/* Adds a copy of *draft with a new number. Borrows object and object_path as long as *f; copies and
 * sanitises name and linkage_name (NULL: the same as name). slot: NULL, or set to the function,
 * unless it was set already. Never NULL: function 0 without memory or beyond the limit. */
const struct symbol_function *symbol_functions_add(struct symbol_functions *f,
						   const struct symbol_function *draft,
						   _Atomic(const struct symbol_function *) *slot);
/* The same for functions with a key. find: NULL if there is none; add_key: returns the existing
 * one. */
const struct symbol_function *symbol_functions_find(struct symbol_functions *f,
						    const struct symbol_function_key *key);
const struct symbol_function *symbol_functions_add_key(struct symbol_functions *f,
						       const struct symbol_function *draft,
						       const struct symbol_function_key *key);
/* A sanitised copy, shared by equal texts; NULL: no memory. */
const char *symbol_functions_text(struct symbol_functions *f, const char *text, size_t len);
const struct symbol_function *symbol_functions_get(const struct symbol_functions *f,
						   uint32_t number);

#endif
