/*
 * Records found by key, each key once. Records are numbered from 0 in the order in which they were
 * added, and stand one after the other: adding one may move them all. None is removed.
 *
 * A record begins with its key. That is a number of bytes, compared as they are, so they must have
 * no padding; or a pointer to a text, which is compared as text and copied when added.
 *
 * Not thread-safe, but records may be found and read by several threads while none is added.
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
	uint32_t last; /* found by dict_add */
	struct arena texts;
};

/* Bytes of the key of a struct whose last member in the key is this one. */
#define DICT_KEY(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* Records of item_bytes, found by their first key_bytes; at most max (up to DICT_MAX). Uses no
 * memory until a record is added. */
void dict_init(struct dict *d, size_t item_bytes, size_t key_bytes, size_t max);
/* Records of item_bytes that begin with a const char *; max_bytes: of all texts. */
void dict_init_texts(struct dict *d, size_t item_bytes, size_t max, size_t max_bytes);
/* Removes all records and frees their memory; others may be added then. Zeroed is fine. */
void dict_fini(struct dict *d);

/* The number of the record with this key, or DICT_NONE. key: the bytes, or the text itself; it
 * does not point into the dict. */
uint32_t dict_find(const struct dict *d, const void *key);
/* The same, adding a record that is zero behind its key if there is none. DICT_NONE: without memory
 * or at a ceiling. Keys made to collide cost bounded time, but may be added more than once. */
uint32_t dict_add(struct dict *d, const void *key);
/* The same for a text that ends after len bytes at the latest. */
uint32_t dict_add_text(struct dict *d, const char *text, size_t len);

/* The record of a number below nr; NULL for DICT_NONE. */
static inline void *dict_at(const struct dict *d, uint32_t number)
{
	return number == DICT_NONE ? NULL : (char *)d->items + number * d->item_bytes;
}

/* The record itself: dict_add and dict_at in one. */
static inline void *dict_get(struct dict *d, const void *key)
{
	return dict_at(d, dict_add(d, key));
}

/* The text of a record, which stays where it is until dict_fini. */
static inline const char *dict_text(const struct dict *d, uint32_t number)
{
	return *(const char *const *)dict_at(d, number);
}

#endif
