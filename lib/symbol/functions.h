/*
 * The functions there are, each with a number and a place that never move: added under a lock,
 * read by any thread without one. Knows nothing of addresses.
 */
#ifndef SYMBOL_FUNCTIONS_H
#define SYMBOL_FUNCTIONS_H

#include "base/arena.h"
#include "symbol/symbols.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	FUNCTIONS_CHUNK = 1024,
	FUNCTIONS_MAX_CHUNKS = 4096,
	FUNCTIONS_NR_BUCKETS = 1 << 16,
	FUNCTIONS_NR_TEXT_BUCKETS = 1 << 12,
};

/* What a function is found by where no symbol table has a place for it. */
struct function_key {
	uint64_t space;      /* whose address or name it is */
	uint64_t address;    /* with a name: anything that goes with it */
	const char *linkage; /* NULL: found by its address */
};

struct function_node;
struct function_text;
struct functions {
	pthread_mutex_t lock;
	struct arena arena;
	_Atomic(size_t) nr;
	_Atomic(struct symbol_function *) chunk[FUNCTIONS_MAX_CHUNKS];
	_Atomic(struct function_node *) bucket[FUNCTIONS_NR_BUCKETS];
	struct function_text *text[FUNCTIONS_NR_TEXT_BUCKETS]; /* under the lock */
};

/* Its first function, number 0, is "[out of memory]". -ENOMEM. */
int functions_init(struct functions *f);
void functions_fini(struct functions *f);

/* Copies *draft, whose number is not looked at, with object and object_path borrowed as long as
 * *f lives. name is shown; linkage_name NULL: the name. Both are cleaned. Never NULL: number 0
 * without memory or beyond the ceiling. slot, if not NULL: where who asks looks first; it is
 * filled under the lock, once. */
const struct symbol_function *functions_add(struct functions *f,
					    const struct symbol_function *draft,
					    _Atomic(const struct symbol_function *) *slot);
/* The same for what is found by a key. */
const struct symbol_function *functions_find(struct functions *f, const struct function_key *key);
const struct symbol_function *functions_add_key(struct functions *f,
						const struct symbol_function *draft,
						const struct function_key *key);
/* A copy that is cleaned, once for each text; NULL without memory. */
const char *functions_text(struct functions *f, const char *text, size_t len);
const struct symbol_function *functions_get(const struct functions *f, uint32_t number);

#endif
