/*
 * Sorted by radix: the symbols of a large program in a few milliseconds, in time that no order of
 * theirs can make longer. Then one sweep makes spans of them that do not overlap.
 */
#include "symbol/table.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>

enum { DIGIT_BITS = 11, NR_DIGITS = 1 << DIGIT_BITS };

void symbol_table_fini(struct symbol_table *t)
{
	mem_free(t->entry);
	mem_free(t->span);
	mem_free((void *)t->function);
	*t = (struct symbol_table){0};
}

int symbol_table_add(struct symbol_table *t, const struct symbol_entry *e)
{
	struct symbol_entry *p;

	if (t->nr == SYMBOL_MAX_ENTRIES || !e->size)
		return 0;
	p = mem_grow(t->entry, t->nr, &t->room, sizeof(*p));
	if (!p)
		return -ENOMEM;
	t->entry = p;
	p[t->nr++] = *e;
	return 0;
}

/* One pass: stable, by the digit of start that begins at shift. */
static void pass(const struct symbol_entry *from, struct symbol_entry *to, size_t nr,
		 unsigned shift)
{
	uint32_t at[NR_DIGITS] = {0}, sum = 0;

	for (size_t i = 0; i < nr; i++)
		at[from[i].start >> shift & (NR_DIGITS - 1)]++;
	for (size_t d = 0; d < NR_DIGITS; d++) {
		uint32_t n = at[d];

		at[d] = sum;
		sum += n;
	}
	for (size_t i = 0; i < nr; i++)
		to[at[from[i].start >> shift & (NR_DIGITS - 1)]++] = from[i];
}

/* The bits in which any two differ; 0 if they are in order. */
static uint64_t differing(const struct symbol_entry *e, size_t nr)
{
	bool is_sorted = true;
	uint64_t bits = 0;

	for (size_t i = 1; i < nr; i++) {
		is_sorted = is_sorted && e[i - 1].start <= e[i].start;
		bits |= e[i].start ^ e[0].start;
	}
	return is_sorted ? 0 : bits;
}

static int sort(struct symbol_table *t)
{
	uint64_t bits = differing(t->entry, t->nr);
	struct symbol_entry *other;

	if (!bits)
		return 0;
	other = mem_alloc(t->nr * sizeof(*other));
	if (!other)
		return -ENOMEM;
	for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
		struct symbol_entry *from = t->entry;

		if (!(bits >> shift & (NR_DIGITS - 1)))
			continue;
		pass(from, other, t->nr, shift);
		t->entry = other;
		other = from;
	}
	t->room = t->nr;
	mem_free(other);
	return 0;
}

static bool is_better(const struct symbol_entry *a, const struct symbol_entry *b,
		      symbol_prefer_fn *prefer, const void *arg)
{
	if (a->is_nameless != b->is_nameless)
		return b->is_nameless;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return !prefer || prefer(arg, a, b) < 0;
}

/* One for each start. What does not tell its size has that of the others there. */
static void merge(struct symbol_table *t, symbol_prefer_fn *prefer, const void *arg)
{
	size_t nr = 0;

	for (size_t i = 0; i < t->nr; i++) {
		struct symbol_entry *last = nr ? &t->entry[nr - 1] : NULL, e = t->entry[i];

		if (!last || last->start != e.start) {
			t->entry[nr++] = e;
			continue;
		}
		if (!is_better(&e, last, prefer, arg)) {
			struct symbol_entry swap = e;

			e = *last;
			*last = swap;
		}
		/* e is the better one, *last the other */
		if (e.is_open && !last->is_open) {
			e.size = last->size;
			e.is_open = false;
		}
		*last = e;
	}
	t->nr = nr;
}

/* Drop labels inside sized symbols; end the others at the next symbol. */
static void close_open(struct symbol_table *t)
{
	uint64_t told = 0; /* up to there */
	size_t nr = 0;

	for (size_t i = 0; i < t->nr; i++) {
		struct symbol_entry e = t->entry[i];

		if (e.size > UINT64_MAX - e.start)
			e.size = (uint32_t)(UINT64_MAX - e.start);
		if (e.is_open && e.start < told)
			continue;
		if (!e.is_open && e.start + e.size > told)
			told = e.start + e.size;
		if (e.is_open && i + 1 < t->nr && t->entry[i + 1].start - e.start < e.size)
			e.size = (uint32_t)(t->entry[i + 1].start - e.start);
		t->entry[nr++] = e;
	}
	t->nr = nr;
}

struct sweep {
	struct symbol_table *t;
	uint32_t *open; /* entries that began and did not end, the last on top */
	size_t nr_open;
	uint64_t at;
};

static void put(struct symbol_table *t, uint64_t start, uint64_t end, uint32_t entry)
{
	struct symbol_span *last = t->nr_spans ? &t->span[t->nr_spans - 1] : NULL;

	if (last && last->entry == entry && last->end == start)
		last->end = end;
	else
		t->span[t->nr_spans++] = (struct symbol_span){start, end, entry};
}

static void advance(struct sweep *s, uint64_t to)
{
	while (s->nr_open && s->at < to) {
		uint32_t i = s->open[s->nr_open - 1];
		uint64_t end = s->t->entry[i].start + s->t->entry[i].size;
		uint64_t stop = end < to ? end : to;

		if (stop > s->at) {
			put(s->t, s->at, stop, i);
			s->at = stop;
		}
		if (end <= s->at)
			s->nr_open--;
	}
	s->at = to;
}

static void sweep(struct symbol_table *t, uint32_t *open)
{
	struct sweep s = {.t = t, .open = open};

	for (size_t i = 0; i < t->nr; i++) {
		advance(&s, t->entry[i].start);
		s.open[s.nr_open++] = (uint32_t)i;
	}
	advance(&s, UINT64_MAX);
}

/* Each entry begins one span, and ends one at most. */
static int make_spans(struct symbol_table *t)
{
	uint32_t *open = mem_alloc(t->nr * sizeof(*open));
	struct symbol_span *span = mem_alloc(2 * t->nr * sizeof(*span)), *fit;

	if (!open || !span) {
		mem_free(open);
		mem_free(span);
		return -ENOMEM;
	}
	t->span = span;
	sweep(t, open);
	mem_free(open);
	fit = mem_resize(span, t->nr_spans * sizeof(*span));
	if (fit)
		t->span = fit;
	return 0;
}

int symbol_table_seal(struct symbol_table *t, symbol_prefer_fn *prefer, const void *arg)
{
	int rc;

	if (!t->nr)
		return 0;
	rc = sort(t);
	if (rc)
		return rc;
	merge(t, prefer, arg);
	close_open(t);
	t->function = mem_calloc(t->nr, sizeof(*t->function));
	return t->function ? make_spans(t) : -ENOMEM;
}

ptrdiff_t symbol_table_find(const struct symbol_table *t, uint64_t address)
{
	size_t low = 0, n = t->nr_spans;

	/* the last span that does not begin behind the address */
	while (n) {
		size_t half = n / 2;

		if (t->span[low + half].start <= address) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	if (!low || address >= t->span[low - 1].end || t->entry[t->span[low - 1].entry].is_nameless)
		return -1;
	return (ptrdiff_t)t->span[low - 1].entry;
}
