/*
 * Many small objects that are freed together, up to a limit.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;
struct arena {
	struct arena_chunk *chunk;
	size_t used_bytes;
	size_t max_bytes;
};

/* Allocates nothing yet. max_bytes: of all objects. */
void arena_init(struct arena *a, size_t max_bytes);
void arena_fini(struct arena *a);
/* Declares an empty arena that is freed at the end of its scope: `ARENA_AUTO(arena, 1 << 20);` */
#define ARENA_AUTO(name, limit)                                                                    \
	__attribute__((cleanup(arena_fini))) struct arena name = {.max_bytes = (limit)}

/* Whether the limit allows one more object of that size. */
bool arena_has_room(const struct arena *a, size_t size);
/* Zeroed, aligned to 16 bytes; NULL beyond the limit or without memory. */
void *arena_alloc(struct arena *a, size_t size);
void *arena_calloc(struct arena *a, size_t nr, size_t size);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t len);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
