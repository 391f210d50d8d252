/*
 * The heap behind a table of functions.
 */
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct mem_ops libc_ops = {malloc, realloc, free};
static const struct mem_ops *ops = &libc_ops;

void mem_set_ops(const struct mem_ops *o)
{
	ops = o ? o : &libc_ops;
}

void *mem_alloc(size_t size)
{
	return ops->alloc(size ? size : 1);
}

void mem_populate(void *p, size_t size)
{
	enum { MADV_POPULATE_WRITE_ = 23 }; /* Linux 5.14; before, it fails */
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t begin = ((uintptr_t)p + page - 1) & ~(page - 1),
			end = ((uintptr_t)p + size) & ~(page - 1);

	if (begin < end)
		(void)madvise((void *)begin, end - begin, MADV_POPULATE_WRITE_);
}

/* calloc does not touch what the kernel has just zeroed: large tables are mostly empty. */
void *mem_zalloc(size_t size)
{
	void *p;

	if (ops == &libc_ops)
		return calloc(1, size ? size : 1);
	p = mem_alloc(size);
	if (p)
		memset(p, 0, size);
	return p;
}

void *mem_calloc(size_t nr, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(nr, size, &bytes))
		return NULL;
	return mem_zalloc(bytes);
}

void *mem_resize(void *p, size_t size)
{
	return ops->resize(p, size ? size : 1);
}

void *mem_grow(void *items, size_t nr, size_t *room, size_t size)
{
	size_t more = *room ? *room : 32;
	size_t bytes;
	void *grown;

	if (nr < *room)
		return items;
	do { /* once, unless room is asked for several items at a time */
		if (__builtin_mul_overflow(more, 2, &more))
			return NULL;
	} while (more <= nr);
	if (__builtin_mul_overflow(more, size, &bytes))
		return NULL;
	grown = mem_resize(items, bytes);
	if (grown)
		*room = more;
	return grown;
}

void *mem_add(void *items, size_t *nr, size_t *room, size_t size)
{
	char *grown;

	memcpy(&grown, items, sizeof(grown));
	grown = mem_grow(grown, *nr, room, size);
	if (!grown)
		return NULL;
	memcpy(items, &grown, sizeof(grown));
	return grown + (*nr)++ * size;
}

char *mem_strdup(const char *s)
{
	size_t size = strlen(s) + 1;
	char *p = mem_alloc(size);

	return p ? memcpy(p, s, size) : NULL;
}

void mem_free(void *p)
{
	if (p)
		ops->release(p);
}

void mem_cleanup(void *pp)
{
	void *p;

	memcpy(&p, pp, sizeof(p)); /* pp is a T **: read it without aliasing */
	mem_free(p);
}
