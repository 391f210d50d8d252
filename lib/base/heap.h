/*
 * A heap of pointers: item[0] is before all others. Inline, so that is_before costs no call.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include "base/mem.h"

#include <errno.h>
#include <stdbool.h>

/* Zero-initialise; free item. What the pointers point to is the caller's. */
struct heap {
	void **item; /* owned */
	size_t nr, room;
};

typedef bool heap_before_fn(const void *a, const void *b);

/* 0 or -ENOMEM. */
static inline int heap_push(struct heap *h, void *item, heap_before_fn *is_before)
{
	size_t i = h->nr, above;

	if (!MEM_ADD(h->item, h->nr, h->room))
		return -ENOMEM;
	for (; i && is_before(item, h->item[above = (i - 1) / 2]); i = above)
		h->item[i] = h->item[above];
	h->item[i] = item;
	return 0;
}

/* Restores the order after item[0] has changed. */
static inline void heap_settle(struct heap *h, heap_before_fn *is_before)
{
	void *item = h->item[0];
	size_t i = 0, below;

	for (; (below = 2 * i + 1) < h->nr; i = below) {
		if (below + 1 < h->nr && is_before(h->item[below + 1], h->item[below]))
			below++;
		if (!is_before(h->item[below], item))
			break;
		h->item[i] = h->item[below];
	}
	h->item[i] = item;
}

/* Removes item[0]. */
static inline void heap_pop(struct heap *h, heap_before_fn *is_before)
{
	h->item[0] = h->item[--h->nr];
	if (h->nr)
		heap_settle(h, is_before);
}

#endif
