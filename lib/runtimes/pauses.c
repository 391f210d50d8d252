/*
 * Source: perfMemory.hpp, collectorCounters.cpp and those of OpenJDK 17 to 25 that make counters.
 * A collector without a row, such as ZGC, frees in each collection.
 */
#include "runtimes/pauses.h"

#include "base/array.h"
#include "base/mem.h"
#include "runtimes/jvm.h"

#include <string.h>

enum {
	MAGIC = 0xc0c0feca, /* of bytes in this order */
	MAX_BYTES = 1 << 20,
	MAX_ENTRIES = 1 << 14,
	MAX_ASKED = 64,
	TEXT_BYTES = 64,
	NR_COLLECTORS = 3,
};
#define BY_PAUSES (UINT64_C(1) << 63)

struct head {
	uint32_t magic;
	uint8_t order, major, minor, is_accessible;
	uint32_t used, overflow;
	uint64_t time;
	uint32_t first, nr; /* entries: where, how many */
};
struct entry {
	uint32_t bytes, name, nr; /* from its begin on; nr: of a vector */
	uint8_t type, flags, units, variability;
	uint32_t data; /* from its begin on */
};

/* The names of the first collector, which collects what is young; how many others there are. */
static const struct {
	const char *name;
	uint32_t nr_others;
} known[] = {{"G1 young collection pauses", 2},
	     {"Serial young collection pauses", 1},
	     {"Parallel young collection pauses", 1}};

/* Of collectors, by number. */
struct found {
	char young[TEXT_BYTES];
	size_t
	    invocations[NR_COLLECTORS]; /* where they are from the begin of all on; 0: not there */
};

/* At a place; "": it is beyond, or too long. */
static void copy_text(const uint8_t *bytes, size_t len, size_t at, char out[TEXT_BYTES])
{
	const size_t left = at < len ? len - at : 0;
	const size_t most = left < TEXT_BYTES ? left : TEXT_BYTES;
	const size_t n = strnlen((const char *)bytes + at * !!left, most);

	*out = '\0';
	if (n < most)
		memcpy(out, bytes + at, n + 1);
}

static void add_entry(const uint8_t *bytes, size_t len, size_t at, const struct entry *e,
		      struct found *out)
{
	static const char *const invocations[NR_COLLECTORS] = {"sun.gc.collector.0.invocations",
							       "sun.gc.collector.1.invocations",
							       "sun.gc.collector.2.invocations"};
	char name[TEXT_BYTES];

	copy_text(bytes, len, at + e->name, name);
	if (strcmp(name, "sun.gc.collector.0.name") == 0)
		copy_text(bytes, len, at + e->data, out->young);
	for (size_t i = 0; i < NR_COLLECTORS; i++)
		if (strcmp(name, invocations[i]) == 0 && !e->nr)
			out->invocations[i] = at + e->data;
}

static void find_all(const uint8_t *bytes, size_t len, struct found *out)
{
	struct head h;
	struct entry e;

	if (len < sizeof(h))
		return;
	memcpy(&h, bytes, sizeof(h));
	if (h.magic != MAGIC || h.order != 1)
		return;
	for (size_t i = 0, at = h.first; i < h.nr && i < MAX_ENTRIES; i++, at += e.bytes) {
		if (at > len || len - at < sizeof(e))
			return;
		memcpy(&e, bytes + at, sizeof(e));
		if (e.bytes < sizeof(e))
			return;
		add_entry(bytes, len, at, &e, out);
	}
}

/* All others must be there. */
static void use(struct pauses *p, uint64_t start, const struct found *f)
{
	for (size_t i = 0; i < ARRAY_NR(known); i++) {
		bool is_whole = strcmp(f->young, known[i].name) == 0;

		for (uint32_t n = 0; n < known[i].nr_others; n++) {
			p->counter[n] = start + f->invocations[n + 1];
			is_whole &= f->invocations[n + 1] != 0;
		}
		if (is_whole) {
			p->nr = known[i].nr_others;
			return;
		}
	}
}

void pauses_find(struct pauses *p, const struct jvm *m)
{
	const uint64_t start_at = m->at.field[VMSTRUCTS_COUNTERS].at,
		       end_at = m->at.field[VMSTRUCTS_COUNTERS_END].at;
	uint64_t start, end;
	struct found found = {.invocations = {0}};
	uint8_t *bytes;

	if (p->nr || p->nr_asked == MAX_ASKED || !vmstructs_has(&m->at, VMSTRUCTS_COUNTERS) ||
	    !vmstructs_has(&m->at, VMSTRUCTS_COUNTERS_END))
		return;
	p->nr_asked++;
	if (!jvm_load(m, start_at, &start, sizeof(start)) ||
	    !jvm_load(m, end_at, &end, sizeof(end)) || !start || end <= start ||
	    end - start > MAX_BYTES)
		return;
	bytes = mem_zalloc(end - start);
	if (bytes && jvm_load(m, start, bytes, end - start)) {
		find_all(bytes, end - start, &found);
		use(p, start, &found);
	}
	mem_free(bytes);
}

bool pauses_count(const struct pauses *p, const struct jvm *m, uint64_t *out)
{
	uint64_t sum = 0, one;

	for (uint32_t i = 0; i < p->nr; i++) {
		if (!jvm_load(m, p->counter[i], &one, sizeof(one)))
			return false;
		sum += one;
	}
	*out = sum | BY_PAUSES;
	return p->nr;
}
