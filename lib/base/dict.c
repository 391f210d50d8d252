/*
 * A hash table of record numbers with open addressing, at most half full. Probes at most MAX_PROBES
 * slots, whatever the keys.
 */
#include "base/dict.h"

#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { FIRST_SLOTS = 256, MAX_PROBES = 64 };

struct dict_slot {
	uint32_t hash, number; /* + 1; 0: free */
};

void dict_init(struct dict *d, size_t item_bytes, size_t key_bytes, size_t max)
{
	*d = (struct dict){.item_bytes = item_bytes, .key_bytes = key_bytes, .max = max};
}

void dict_init_texts(struct dict *d, size_t item_bytes, size_t max, size_t max_bytes)
{
	dict_init(d, item_bytes, 0, max);
	arena_init(&d->texts, max_bytes);
}

void dict_fini(struct dict *d)
{
	mem_free(d->items);
	mem_free(d->slots);
	arena_fini(&d->texts);
	d->items = NULL;
	d->slots = NULL;
	d->nr = d->room = d->nr_slots = d->last = 0;
}

/* Compares a key of len bytes, or a text without its NUL. */
static bool is_same(const struct dict *d, uint32_t number, const void *key, size_t len)
{
	const void *item = dict_at(d, number);
	const char *text;

	if (d->key_bytes)
		return memcmp(item, key, len) == 0;
	text = *(const char *const *)item;
	return strncmp(text, key, len) == 0 && !text[len];
}

static uint32_t find(const struct dict *d, uint32_t hash, const void *key, size_t len)
{
	for (size_t i = 0; i < MAX_PROBES && i < d->nr_slots; i++) {
		const struct dict_slot *s = &d->slots[(hash + i) & (d->nr_slots - 1)];

		if (!s->number)
			break;
		if (s->hash == hash && is_same(d, s->number - 1, key, len))
			return s->number - 1;
	}
	return DICT_NONE;
}

uint32_t dict_find(const struct dict *d, const void *key)
{
	size_t len = d->key_bytes ? d->key_bytes : strlen(key);

	return d->nr ? find(d, hash_bytes(0, key, len), key, len) : DICT_NONE;
}

static void put(struct dict_slot *slots, size_t nr, struct dict_slot slot)
{
	for (size_t i = 0; i < MAX_PROBES; i++) {
		struct dict_slot *s = &slots[(slot.hash + i) & (nr - 1)];

		if (s->number)
			continue;
		*s = slot;
		return;
	}
}

/* Ensures room for one more slot and record. */
static int grow(struct dict *d)
{
	size_t nr = d->nr_slots ? 2 * d->nr_slots : FIRST_SLOTS;
	struct dict_slot *slots;
	void *items = mem_grow(d->items, d->nr, &d->room, d->item_bytes);

	if (!items)
		return -ENOMEM;
	d->items = items;
	if (2 * (d->nr + 1) <= d->nr_slots)
		return 0;
	slots = mem_calloc(nr, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < d->nr_slots; i++)
		if (d->slots[i].number)
			put(slots, nr, d->slots[i]);
	mem_free(d->slots);
	d->slots = slots;
	d->nr_slots = nr;
	return 0;
}

static uint32_t add(struct dict *d, const void *key, size_t len)
{
	uint32_t hash, number;
	const char *text = NULL;
	char *item;

	if (d->nr && is_same(d, d->last, key, len)) /* keys repeat in runs */
		return d->last;
	hash = hash_bytes(0, key, len);
	number = find(d, hash, key, len);
	if (number != DICT_NONE)
		return d->last = number;
	if (d->nr >= d->max || d->nr >= DICT_MAX || grow(d))
		return DICT_NONE;
	if (!d->key_bytes && !(text = arena_strndup(&d->texts, key, len)))
		return DICT_NONE;
	number = d->last = (uint32_t)d->nr++;
	item = memset(dict_at(d, number), 0, d->item_bytes);
	memcpy(item, text ? (const void *)&text : key, text ? sizeof(text) : len);
	put(d->slots, d->nr_slots, (struct dict_slot){hash, number + 1});
	return number;
}

uint32_t dict_add(struct dict *d, const void *key)
{
	return add(d, key, d->key_bytes ? d->key_bytes : strlen(key));
}

uint32_t dict_add_text(struct dict *d, const char *text, size_t len)
{
	return add(d, text, strnlen(text, len));
}

void *dict_pointers(const struct dict *d)
{
	void **all = mem_calloc(d->nr + 1, sizeof(*all));

	for (size_t i = 0; all && i < d->nr; i++)
		all[i] = dict_at(d, (uint32_t)i);
	return all;
}
