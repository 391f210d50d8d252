/*
 * Radix sort: takes milliseconds for a large program, in any initial order. A sweep then makes
 * spans that do not overlap.
 */
#include "symbol/table.h"

#include "base/mem.h"
#include "base/order.h"

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
	p = MEM_ADD(t->entry, t->nr, t->room);
	if (!p)
		return -ENOMEM;
	*p = *e;
	return 0;
}

/* A stable pass by the digit of start at bit shift. */
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

/* The bits in which starts differ; 0 if they are sorted. */
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

static size_t underscores(const char *name, size_t len)
{
	size_t n = 0;

	while (n < len && name[n] == '_')
		n++;
	return n;
}

int symbol_compare_names(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return order_u64(underscores(a, a_len), underscores(b, b_len))
		   ?: memcmp(a, b, a_len < b_len ? a_len : b_len)
		   ?: order_u64(a_len, b_len);
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

/* One entry per start. An entry without a size gets that of the others. */
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
		/* e is the better entry */
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
	uint64_t sized_end = 0; /* of the sized entries so far */
	size_t nr = 0;

	for (size_t i = 0; i < t->nr; i++) {
		struct symbol_entry e = t->entry[i];

		if (e.size > UINT64_MAX - e.start)
			e.size = (uint32_t)(UINT64_MAX - e.start);
		if (e.is_open && e.start < sized_end)
			continue;
		if (!e.is_open && e.start + e.size > sized_end)
			sized_end = e.start + e.size;
		if (e.is_open && i + 1 < t->nr && t->entry[i + 1].start - e.start < e.size)
			e.size = (uint32_t)(t->entry[i + 1].start - e.start);
		t->entry[nr++] = e;
	}
	t->nr = nr;
}

struct sweep {
	struct symbol_table *t;
	uint32_t *open; /* stack of entries that have not ended */
	size_t nr_open;
	uint64_t at;
};

/* Adds the spans between s->at and to. */
static void advance(struct sweep *s, uint64_t to)
{
	struct symbol_table *t = s->t;

	while (s->nr_open && s->at < to) {
		uint32_t i = s->open[s->nr_open - 1];
		uint64_t end = t->entry[i].start + t->entry[i].size;
		uint64_t stop = end < to ? end : to;
		struct symbol_span *last = t->nr_spans ? &t->span[t->nr_spans - 1] : NULL;

		if (stop > s->at) {
			if (last && last->entry == i && last->end == s->at)
				last->end = stop;
			else
				t->span[t->nr_spans++] = (struct symbol_span){s->at, stop, i};
			s->at = stop;
		}
		if (end <= s->at)
			s->nr_open--;
	}
	s->at = to;
}

/* No entry covers a part of another one, and the last one has room. */
static bool are_apart(const struct symbol_table *t)
{
	for (size_t i = 1; i < t->nr; i++)
		if (t->entry[i].start - t->entry[i - 1].start < t->entry[i - 1].size)
			return false;
	return t->entry[t->nr - 1].size;
}

struct symbol_span symbol_table_span(const struct symbol_table *t, size_t i)
{
	const struct symbol_entry *e = &t->entry[i];

	return t->span ? t->span[i]
		       : (struct symbol_span){e->start, e->start + e->size, (uint32_t)i};
}

/* Each entry begins one span and ends at most one. */
static int make_spans(struct symbol_table *t)
{
	struct sweep s = {.t = t, .open = mem_alloc(t->nr * sizeof(*s.open))};
	struct symbol_span *span = mem_alloc(2 * t->nr * sizeof(*span)), *fit;

	if (!s.open || !span) {
		mem_free(s.open);
		mem_free(span);
		return -ENOMEM;
	}
	t->span = span;
	t->nr_spans = 0;
	for (size_t i = 0; i < t->nr; i++) {
		advance(&s, t->entry[i].start);
		s.open[s.nr_open++] = (uint32_t)i;
	}
	advance(&s, UINT64_MAX);
	mem_free(s.open);
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
	if (!t->function)
		return -ENOMEM;
	t->nr_spans = t->nr;
	return are_apart(t) ? 0 : make_spans(t);
}

ptrdiff_t symbol_table_find(const struct symbol_table *t, uint64_t address)
{
	/* how many spans start at or before the address */
	const size_t nr = ORDER_FIRST(i, t->nr_spans, symbol_table_span(t, i).start > address);
	struct symbol_span last;

	if (!nr)
		return -1;
	last = symbol_table_span(t, nr - 1);
	return address < last.end && !t->entry[last.entry].is_nameless ? (ptrdiff_t)last.entry : -1;
}
