/*
 * An allocator as Hoard is one: each thread has a heap of its own, of superblocks by size, and what it
 * frees of another's goes back to that one. Heaps come from the allocator's own operator new, as late as
 * in the first call of a thread, malloc_usable_size included.
 */
#include <errno.h>
#include <new>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

namespace {
enum { CLASSES = 12, SUPERBLOCK = 1 << 16, LEAST = 16 };

struct heap;
struct block {
	heap *owner; /* null: a mapping of its own */
	size_t bytes;
	block *next;
	void *from; /* of a mapping; before an aligned block: what it is in */
};

struct heap {
	pthread_mutex_t lock;
	block *freed[CLASSES];
};

heap first = {PTHREAD_MUTEX_INITIALIZER, {}};
__thread heap *own;
__thread bool is_making;

void *map(size_t bytes)
{
	void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return at == MAP_FAILED ? nullptr : at;
}

heap *own_heap()
{
	if (own || is_making)
		return own ? own : &first;
	is_making = true;
	own = new (std::nothrow) heap{PTHREAD_MUTEX_INITIALIZER, {}};
	is_making = false;
	return own ? own : &first;
}

unsigned class_of(size_t bytes)
{
	unsigned c = 0;
	while ((size_t)LEAST << c < bytes)
		c++;
	return c;
}

void fill(heap *h, unsigned c)
{
	const size_t each = sizeof(block) + ((size_t)LEAST << c);
	char *at = (char *)map(SUPERBLOCK);
	for (size_t i = 0; at && (i + 1) * each <= SUPERBLOCK; i++) {
		block *b = (block *)(at + i * each);
		*b = block{h, (size_t)LEAST << c, h->freed[c], nullptr};
		h->freed[c] = b;
	}
}

block *large(size_t bytes)
{
	block *b = bytes > SIZE_MAX / 2 ? nullptr : (block *)map(sizeof(block) + bytes);
	if (b)
		*b = block{nullptr, bytes, nullptr, b};
	return b;
}

void *allocate(size_t bytes)
{
	const unsigned c = bytes <= (size_t)LEAST << (CLASSES - 1) ? class_of(bytes) : CLASSES;
	heap *h = own_heap();
	block *b;
	if (c == CLASSES) {
		b = large(bytes);
	} else {
		pthread_mutex_lock(&h->lock);
		if (!h->freed[c])
			fill(h, c);
		b = h->freed[c];
		if (b)
			h->freed[c] = b->next;
		pthread_mutex_unlock(&h->lock);
	}
	if (!b)
		errno = ENOMEM;
	return b ? b + 1 : nullptr;
}

block *block_of(void *p)
{
	block *b = (block *)p - 1;
	return b->owner || b->from == b ? b : (block *)b->from;
}

void release(void *p)
{
	block *b = p ? block_of(p) : nullptr;
	if (!b)
		return;
	if (!b->owner) {
		munmap(b, sizeof(block) + b->bytes);
		return;
	}
	const unsigned c = class_of(b->bytes);
	pthread_mutex_lock(&b->owner->lock);
	b->next = b->owner->freed[c];
	b->owner->freed[c] = b;
	pthread_mutex_unlock(&b->owner->lock);
}

/* Alignment of 16 is that of all. */
void *aligned(size_t to, size_t bytes)
{
	char *p = (char *)allocate(to <= 16 ? bytes : bytes + to + sizeof(block));
	if (!p || to <= 16 || (uintptr_t)p % to == 0)
		return p;
	char *at = (char *)(((uintptr_t)p + sizeof(block) + to - 1) & ~(to - 1));
	((block *)at)[-1] = block{nullptr, 0, nullptr, block_of(p)};
	return at;
}
} // namespace

extern "C" {
void *malloc(size_t bytes) { return allocate(bytes); }
void free(void *p) { release(p); }
size_t malloc_usable_size(void *p)
{
	(void)own_heap();
	if (!p)
		return 0;
	block *b = block_of(p);
	return (size_t)((char *)(b + 1) + b->bytes - (char *)p);
}
void *calloc(size_t nr, size_t each)
{
	size_t bytes;
	if (__builtin_mul_overflow(nr, each, &bytes)) {
		errno = ENOMEM;
		return nullptr;
	}
	void *p = allocate(bytes);
	return p ? memset(p, 0, bytes) : p;
}
void *realloc(void *old, size_t bytes)
{
	if (old && !bytes) {
		release(old);
		return nullptr;
	}
	void *p = allocate(bytes);
	if (p && old) {
		const size_t had = malloc_usable_size(old);
		memcpy(p, old, had < bytes ? had : bytes);
		release(old);
	}
	return p;
}
void *memalign(size_t to, size_t bytes) { return aligned(to, bytes); }
void *aligned_alloc(size_t to, size_t bytes) { return aligned(to, bytes); }
void *valloc(size_t bytes) { return aligned(4096, bytes); }
int posix_memalign(void **out, size_t to, size_t bytes)
{
	void *p = aligned(to, bytes);
	if (p)
		*out = p;
	return p ? 0 : ENOMEM;
}
}

static void *made(size_t bytes, size_t to)
{
	void *p = aligned(to, bytes);
	if (!p)
		throw std::bad_alloc();
	return p;
}
void *operator new(size_t n) { return made(n, 16); }
void *operator new[](size_t n) { return made(n, 16); }
void *operator new(size_t n, const std::nothrow_t &) noexcept { return allocate(n); }
void *operator new[](size_t n, const std::nothrow_t &) noexcept { return allocate(n); }
void *operator new(size_t n, std::align_val_t to) { return made(n, (size_t)to); }
void *operator new[](size_t n, std::align_val_t to) { return made(n, (size_t)to); }
void operator delete(void *p) noexcept { release(p); }
void operator delete[](void *p) noexcept { release(p); }
void operator delete(void *p, size_t) noexcept { release(p); }
void operator delete[](void *p, size_t) noexcept { release(p); }
void operator delete(void *p, std::align_val_t) noexcept { release(p); }
void operator delete[](void *p, std::align_val_t) noexcept { release(p); }
