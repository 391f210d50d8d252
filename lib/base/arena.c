/*
 * Chunks of memory, filled from the front.
 */
#include "base/arena.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK_BYTES = 8192, ALIGN = 16 };

struct arena_chunk {
	struct arena_chunk *next;
	size_t size, used; /* bytes of data */
	_Alignas(16) unsigned char data[];
};

void arena_init(struct arena *a, size_t max_bytes)
{
	*a = (struct arena){.max_bytes = max_bytes};
}

void arena_fini(struct arena *a)
{
	struct arena_chunk *c = a->chunk;

	while (c) {
		struct arena_chunk *next = c->next;

		mem_free(c);
		c = next;
	}
	a->chunk = NULL;
	a->used_bytes = 0;
}

static size_t aligned(size_t size)
{
	return (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

bool arena_has_room(const struct arena *a, size_t size)
{
	return size <= SIZE_MAX - ALIGN - sizeof(struct arena_chunk) &&
	       aligned(size) <= a->max_bytes - a->used_bytes;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_chunk *c = a->chunk;
	void *p;

	if (!arena_has_room(a, size))
		return NULL;
	size = aligned(size);
	if (!c || size > c->size - c->used) {
		size_t bytes = size < CHUNK_BYTES ? CHUNK_BYTES : size;

		c = mem_alloc(sizeof(*c) + bytes);
		if (!c)
			return NULL;
		*c = (struct arena_chunk){.next = a->chunk, .size = bytes};
		a->chunk = c;
	}
	p = c->data + c->used;
	c->used += size;
	a->used_bytes += size;
	return memset(p, 0, size);
}

void *arena_calloc(struct arena *a, size_t nr, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(nr, size, &bytes))
		return NULL;
	return arena_alloc(a, bytes);
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *p = len < SIZE_MAX ? arena_alloc(a, len + 1) : NULL;

	if (p)
		memcpy(p, s, len);
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	p = len < 0 ? NULL : arena_alloc(a, (size_t)len + 1);
	if (!p)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(p, (size_t)len + 1, fmt, ap);
	va_end(ap);
	return p;
}
