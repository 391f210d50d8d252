/*
 * The heap, behind a table of functions so that tests can make every nth
 * allocation fail. Everything of ours allocates here; jansson is pointed here too.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

struct mem_ops {
	void *(*alloc)(size_t size);
	void *(*resize)(void *p, size_t size);
	void (*release)(void *p);
};

/* Replaces the table (tests only, before threads start); NULL restores malloc. */
void mem_set_ops(const struct mem_ops *ops);

/* Uninitialised / zeroed memory of size (> 0) bytes, or NULL. Thread-safe. */
void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);
/* nr * size zeroed bytes, or NULL, also when the product overflows. */
void *mem_calloc(size_t nr, size_t size);
void *mem_resize(void *p, size_t size);
/*
 * Items of size bytes with room for one more than nr: the list itself while *room allows,
 * else moved to twice the room, which *room then says. NULL without memory or when the
 * product overflows; the list and *room then stay as they were.
 */
void *mem_grow(void *items, size_t nr, size_t *room, size_t size);
char *mem_strdup(const char *s);
void mem_free(void *p); /* NULL is fine */

/* For `__attribute__((cleanup(mem_cleanup))) char *p`. */
void mem_cleanup(void *pp);
#define MEM_AUTO __attribute__((cleanup(mem_cleanup)))

#endif
