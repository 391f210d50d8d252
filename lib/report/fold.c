/*
 * Open addressing over a list of entries; their addresses in one block. Must not know what an
 * address means.
 */
#include "report/fold.h"

#include "base/mem.h"

#define XXH_INLINE_ALL
#include <string.h>
#include <xxhash.h>

enum {
	NR_ENTRIES = 1 << 15,
	NR_SLOTS = 2 * NR_ENTRIES,
	NR_WORDS = 1 << 20, /* of addresses: 32 an entry */
};

struct entry {
	uint64_t hash;
	struct report_fold_key key;
	uint32_t at; /* of its addresses */
	struct report_weight weight;
	uint64_t time_ns;
	const void *process;
};

struct report_fold {
	report_folded_fn *empty;
	void *arg;
	size_t nr, nr_words;
	uint32_t *slots; /* place of the entry + 1; 0: free */
	struct entry *entries;
	uint64_t *words;
};

_Static_assert(sizeof(struct report_fold_key) == 13 * sizeof(uint32_t), "compared as bytes");

struct report_fold *report_fold_new(report_folded_fn *empty, void *arg)
{
	struct report_fold *f = mem_zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->empty = empty;
	f->arg = arg;
	f->slots = mem_calloc(NR_SLOTS, sizeof(*f->slots));
	f->entries = mem_alloc(NR_ENTRIES * sizeof(*f->entries));
	f->words = mem_alloc(NR_WORDS * sizeof(*f->words));
	if (f->slots && f->entries && f->words)
		return f;
	report_fold_free(f);
	return NULL;
}

void report_fold_free(struct report_fold *f)
{
	if (!f)
		return;
	mem_free(f->slots);
	mem_free(f->entries);
	mem_free(f->words);
	mem_free(f);
}

static bool is_same(const struct report_fold *f, const struct entry *e, uint64_t hash,
		    const struct report_fold_key *key, const uint64_t *addresses)
{
	return e->hash == hash && memcmp(&e->key, key, sizeof(*key)) == 0 &&
	       (!key->nr_addresses ||
		memcmp(&f->words[e->at], addresses, key->nr_addresses * sizeof(*addresses)) == 0);
}

static uint64_t hash_of(const struct report_fold_key *key, const uint64_t *addresses)
{
	return XXH3_64bits_withSeed(addresses, key->nr_addresses * sizeof(*addresses),
				    XXH3_64bits(key, sizeof(*key)));
}

/* Its slot, or the free one where it belongs. */
static uint32_t *find_slot(struct report_fold *f, uint64_t hash, const struct report_fold_key *key,
			   const uint64_t *addresses)
{
	size_t i = hash % NR_SLOTS;

	while (f->slots[i] && !is_same(f, &f->entries[f->slots[i] - 1], hash, key, addresses))
		i = (i + 1) % NR_SLOTS;
	return &f->slots[i];
}

static struct entry *add_entry(struct report_fold *f, uint32_t *slot, uint64_t hash,
			       const struct report_fold_key *key, const uint64_t *addresses)
{
	struct entry *e = &f->entries[f->nr++];

	*e = (struct entry){.hash = hash, .key = *key, .at = (uint32_t)f->nr_words};
	memcpy(f->words + f->nr_words, addresses, key->nr_addresses * sizeof(*addresses));
	f->nr_words += key->nr_addresses;
	*slot = (uint32_t)f->nr;
	return e;
}

int report_fold_add(struct report_fold *f, const struct report_fold_key *key,
		    const uint64_t *addresses, uint64_t weight, uint64_t time_ns,
		    const void *process)
{
	uint64_t hash = hash_of(key, addresses);
	struct report_weight w = {1, weight, (double)weight * (double)weight};
	struct entry *e;
	uint32_t *slot;
	int rc = 0;

	if (f->nr == NR_ENTRIES || f->nr_words + key->nr_addresses > NR_WORDS)
		rc = report_fold_flush(f);
	slot = find_slot(f, hash, key, addresses);
	e = *slot ? &f->entries[*slot - 1] : add_entry(f, slot, hash, key, addresses);
	e->time_ns = time_ns;
	e->process = process;
	report_weight_add(&e->weight, &w);
	return rc;
}

static struct report_folded folded(const struct report_fold *f, const struct entry *e)
{
	return (struct report_folded){.key = e->key,
				      .addresses = f->words + e->at,
				      .weight = e->weight,
				      .time_ns = e->time_ns,
				      .process = e->process};
}

int report_fold_flush(struct report_fold *f)
{
	int rc = 0;

	for (size_t i = 0; i < f->nr && rc == 0; i++) {
		struct report_folded out = folded(f, &f->entries[i]);

		rc = f->empty(f->arg, &out);
	}
	memset(f->slots, 0, NR_SLOTS * sizeof(*f->slots));
	f->nr = f->nr_words = 0;
	return rc;
}
