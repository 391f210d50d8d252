/*
 * Records with unique keys, numbered from 0 in the order of addition. They are contiguous, so an
 * addition may move them. Records cannot be removed.
 *
 * A record begins with its key: bytes, compared as they are, so without padding; or a pointer to a
 * text, compared as text and copied when added.
 *
 * Not thread-safe; several threads may find and read records while none is added.
 */
#ifndef BASE_DICT_H
#define BASE_DICT_H

#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

enum { DICT_MAX = 64 << 20, DICT_NONE = UINT32_MAX };

struct dict {
	void *items; /* owned; the records */
	size_t nr;
	/* private */
	size_t room, item_bytes, key_bytes, max;
	struct dict_slot *slots; /* owned */
	size_t nr_slots;
	uint32_t last; /* of the last dict_add */
	struct arena texts;
};

/* The size of the key that ends with this member. */
#define DICT_KEY(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* Records of item_bytes with a key of key_bytes; at most max (up to DICT_MAX). Allocates nothing
 * yet. */
void dict_init(struct dict *d, size_t item_bytes, size_t key_bytes, size_t max);
/* Records of item_bytes that begin with a const char *. max_bytes: of all texts. */
void dict_init_texts(struct dict *d, size_t item_bytes, size_t max, size_t max_bytes);
/* Frees all records; the dict can be used again. A zeroed one is allowed. */
void dict_fini(struct dict *d);

/* The number of the record with this key, or DICT_NONE. key: the bytes, or the text itself; must
 * not point into the dict. */
uint32_t dict_find(const struct dict *d, const void *key);
/* The same, or adds a record that is zero after its key. DICT_NONE: no memory, or at the limit.
 * With colliding keys the time is bounded, but a key may be added twice. */
uint32_t dict_add(struct dict *d, const void *key);
/* The same for a text of at most len bytes. */
uint32_t dict_add_text(struct dict *d, const char *text, size_t len);

/* The record with this number, which is below nr; NULL for DICT_NONE. */
static inline void *dict_at(const struct dict *d, uint32_t number)
{
	return number == DICT_NONE ? NULL : (char *)d->items + number * d->item_bytes;
}

/* dict_add and dict_at. */
static inline void *dict_get(struct dict *d, const void *key)
{
	return dict_at(d, dict_add(d, key));
}

/* Pointers to all records by number, to be sorted; the caller frees the array (mem_free). They are
 * valid until the next record is added. NULL: no memory. */
void *dict_pointers(const struct dict *d);

/* The text of a record, valid until dict_fini. */
static inline const char *dict_text(const struct dict *d, uint32_t number)
{
	return *(const char *const *)dict_at(d, number);
}

#endif
