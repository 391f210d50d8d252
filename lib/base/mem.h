/*
 * The heap, behind a table of functions so that tests can make the nth allocation fail. All code
 * allocates here, also jansson.
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

/* Uninitialised / zeroed memory of size bytes, or NULL: no memory, also if size is 0. On NULL
 * mem_resize has not freed p. Thread-safe. */
void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);
/* nr * size zeroed bytes, or NULL, also when the product overflows. */
void *mem_calloc(size_t nr, size_t size);
void *mem_resize(void *p, size_t size);
/* Has the pages of memory that will be written there at once: a fault for each takes 1 us, in a
 * virtual machine up to 14. */
void mem_populate(void *p, size_t size);
/*
 * A list of items of size bytes with room for more than nr: the same list if *room allows, else
 * moved, with *room doubled as often as it must. NULL: no memory or overflow; list and *room are
 * unchanged.
 */
void *mem_grow(void *items, size_t nr, size_t *room, size_t size);
/*
 * Appends an uninitialised item to the list items of nr (both lvalues, nr and room size_t), which
 * may move. The item, or NULL: no memory or overflow; all are unchanged.
 */
#define MEM_ADD(items, nr, room)                                                                   \
	((__typeof__(items))mem_add(&(items), &(nr), &(room), sizeof(*(items))))
void *mem_add(void *items, size_t *nr, size_t *room, size_t size);
char *mem_strdup(const char *s);
void mem_free(void *p); /* NULL is fine */

/* For `__attribute__((cleanup(mem_cleanup))) char *p`. */
void mem_cleanup(void *pp);
#define MEM_AUTO __attribute__((cleanup(mem_cleanup)))

#endif
