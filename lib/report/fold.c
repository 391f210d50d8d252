/*
 * Open addressing over a list of entries; their frames in one block. Entries of one hash are taken
 * for one: of 64 bits two are not alike but by design, and who designs that misleads himself. Must
 * not know what becomes of them.
 */
#include "report/fold.h"

#include "base/mem.h"

#define XXH_INLINE_ALL
#include <string.h>
#include <xxhash.h>

enum {
	NR_ENTRIES = 1 << 15,
	NR_SLOTS = 2 * NR_ENTRIES,
	NR_FRAMES = 16 * NR_ENTRIES,
};
_Static_assert((int)NR_FRAMES >= (int)REPORT_MAX_FRAMES, "an empty table takes any stack");

struct entry {
	uint64_t hash;
	struct report_key key;
	uint32_t at, nr; /* its frames */
	struct report_weight weight;
};

struct report_fold {
	report_folded_fn *give;
	void *arg;
	size_t nr, nr_frames;
	uint32_t *slots; /* place of the entry + 1; 0: free */
	struct entry *entries;
	struct report_frame *frames;
};

struct report_fold *report_fold_new(report_folded_fn *empty, void *arg)
{
	struct report_fold *f = mem_zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->give = empty;
	f->arg = arg;
	f->slots = mem_calloc(NR_SLOTS, sizeof(*f->slots));
	f->entries = mem_alloc(NR_ENTRIES * sizeof(*f->entries));
	f->frames = mem_alloc(NR_FRAMES * sizeof(*f->frames));
	if (f->slots && f->entries && f->frames)
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
	mem_free(f->frames);
	mem_free(f);
}

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

/* The highest bit tells it from a function. */
static uint64_t mix_line(uint64_t h, const struct report_frame *frame)
{
	return mix(mix(h, frame->line | (uint64_t)1 << 63), (uintptr_t)frame->file);
}

static uint64_t hash_of(const struct report_key *key, const struct report_frame *frames, size_t nr)
{
	uint64_t h = XXH3_64bits(key, sizeof(*key));

	for (size_t i = 0; i < nr; i++) {
		h = mix(h, (uintptr_t)frames[i].function);
		if (frames[i].file || frames[i].line)
			h = mix_line(h, &frames[i]);
	}
	return h;
}

uint32_t report_fold_place(struct report_fold *f, const struct report_key *key,
			   const struct report_frame *frames, size_t nr_frames)
{
	uint64_t hash = hash_of(key, frames, nr_frames);
	size_t i = hash % NR_SLOTS;

	for (; f->slots[i]; i = (i + 1) % NR_SLOTS) {
		if (f->entries[f->slots[i] - 1].hash == hash)
			return f->slots[i] - 1;
	}
	if (f->nr == NR_ENTRIES || f->nr_frames + nr_frames > NR_FRAMES)
		return REPORT_FOLD_FULL;
	f->entries[f->nr] = (struct entry){
	    .hash = hash, .key = *key, .at = (uint32_t)f->nr_frames, .nr = (uint32_t)nr_frames};
	memcpy(f->frames + f->nr_frames, frames, nr_frames * sizeof(*frames));
	f->nr_frames += nr_frames;
	f->slots[i] = (uint32_t)++f->nr;
	return (uint32_t)f->nr - 1;
}

void report_fold_count(struct report_fold *f, uint32_t place, uint64_t weight)
{
	const struct report_weight one = {1, weight, (double)weight * (double)weight};

	report_weight_add(&f->entries[place].weight, &one);
}

int report_fold_empty(struct report_fold *f)
{
	int rc = 0;

	for (size_t i = 0; i < f->nr && rc == 0; i++) {
		const struct entry *e = &f->entries[i];
		const struct report_entry out = {.key = e->key,
						 .weight = e->weight,
						 .frames = f->frames + e->at,
						 .nr_frames = e->nr};

		rc = f->give(f->arg, &out);
	}
	memset(f->slots, 0, NR_SLOTS * sizeof(*f->slots));
	f->nr = f->nr_frames = 0;
	return rc;
}
