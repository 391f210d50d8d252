/*
 * Stretches of code: which of several covers an address; sorting against the obvious way.
 */
#include "kit.h"

#include "symbol/table.h"

/* name is the number of the row; prefer takes the smaller. */
static int prefer_first(const void *arg, const struct symbol_entry *a, const struct symbol_entry *b)
{
	assert_ptr_equal(arg, &inject);
	return a->name < b->name ? -1 : a->name > b->name;
}

struct row {
	uint64_t start;
	uint32_t size;
	uint8_t rank;
	bool is_open, is_nameless;
};

struct ask {
	uint64_t address;
	int row; /* -1: none */
};

static void build(struct symbol_table *t, const struct row *rows, size_t nr,
		  symbol_prefer_fn *prefer)
{
	*t = (struct symbol_table){0};
	for (size_t i = 0; i < nr; i++) {
		const struct symbol_entry e = {.start = rows[i].start,
					       .size = rows[i].size,
					       .rank = rows[i].rank,
					       .is_open = rows[i].is_open,
					       .is_nameless = rows[i].is_nameless,
					       .name = (uint32_t)i};

		assert_int_equal(symbol_table_add(t, &e), 0);
	}
	assert_int_equal(symbol_table_seal(t, prefer, &inject), 0);
}

static int find(const struct symbol_table *t, uint64_t address)
{
	ptrdiff_t i = symbol_table_find(t, address);

	return i < 0 ? -1 : (int)t->entry[i].name;
}

TEST(cases)
{
	static const struct {
		const char *what;
		struct row row[6];
		struct ask ask[8];
	} cases[] = {
	    {"none", {{0}}, {{0, -1}, {5, -1}, {UINT64_MAX, -1}}},
	    {"one", {{16, 4}}, {{15, -1}, {16, 0}, {19, 0}, {20, -1}}},
	    {"a gap, and out of order",
	     {{32, 4}, {16, 4}},
	     {{16, 1}, {20, -1}, {31, -1}, {32, 0}, {35, 0}, {36, -1}}},
	    {"nested",
	     {{16, 32}, {24, 8}},
	     {{16, 0}, {23, 0}, {24, 1}, {31, 1}, {32, 0}, {48, -1}}},
	    {"crossed",
	     {{16, 16}, {24, 16}},
	     {{23, 0}, {24, 1}, {31, 1}, {32, 1}, {39, 1}, {40, -1}}},
	    {"one alone covers another, by a byte",
	     {{0, 6}, {4, 1}, {16, 4}},
	     {{3, 0}, {4, 1}, {5, 0}, {6, -1}, {16, 2}}},
	    {"three deep",
	     {{0, 100}, {10, 80}, {20, 10}},
	     {{9, 0}, {10, 1}, {20, 2}, {30, 1}, {89, 1}, {90, 0}, {100, -1}}},
	    {"size not told: up to the next",
	     {{16, 99, 0, true}, {24, 8}},
	     {{16, 0}, {23, 0}, {24, 1}, {32, -1}}},
	    {"size not told, the last: as far as it may", {{16, 9, 0, true}}, {{24, 0}, {25, -1}}},
	    {"a label within a function is no function",
	     {{16, 16}, {20, 12, 0, true}},
	     {{19, 0}, {20, 0}, {31, 0}, {32, -1}}},
	    {"a label at its end is one",
	     {{16, 16}, {32, 8, 0, true}},
	     {{31, 0}, {32, 1}, {39, 1}, {40, -1}}},
	    {"aliases: rank before order",
	     {{16, 4, 2}, {16, 4, 1}, {16, 4, 1}},
	     {{16, 1}, {19, 1}}},
	    {"the better alias has no size: the other's",
	     {{16, 8, 1}, {16, 99, 0, true}},
	     {{16, 1}, {23, 1}, {24, -1}}},
	    {"nameless ends others, and is none",
	     {{16, 99, 0, true}, {24, 8, 0, false, true}, {40, 4}},
	     {{23, 0}, {24, -1}, {31, -1}, {40, 2}}},
	    {"a name before a nameless one of better rank",
	     {{16, 8, 0, false, true}, {16, 8, 9}},
	     {{16, 1}}},
	    {"at the end of all addresses",
	     {{UINT64_MAX - 4, 100}, {UINT64_MAX - 2, 100}},
	     {{UINT64_MAX - 5, -1}, {UINT64_MAX - 4, 0}, {UINT64_MAX - 2, 1}, {UINT64_MAX, -1}}},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct symbol_table t;
		size_t nr = 0;

		while (nr < 6 && cases[i].row[nr].size)
			nr++;
		build(&t, cases[i].row, nr, prefer_first);
		for (size_t k = 0; k < 8 && (k == 0 || cases[i].ask[k].address); k++)
			if (find(&t, cases[i].ask[k].address) != cases[i].ask[k].row)
				fail_msg("%s: at %llu: %d", cases[i].what,
					 (unsigned long long)cases[i].ask[k].address,
					 find(&t, cases[i].ask[k].address));
		symbol_table_fini(&t);
	}
}

/* Without a taste, what was added last is right. */
TEST(last_wins)
{
	static const struct row rows[] = {{16, 4}, {16, 8}, {0, 4}, {16, 6}};
	struct symbol_table t;

	build(&t, rows, NR(rows), NULL);
	assert_int_equal(find(&t, 16), 3);
	assert_int_equal(find(&t, 21), 3);
	assert_int_equal(find(&t, 22), -1);
	symbol_table_fini(&t);
}

/* What begins at the last address has no size, and no span. */
TEST(no_room)
{
	static const struct row rows[] = {{16, 4}, {UINT64_MAX, 8}};
	struct symbol_table t;

	build(&t, rows, NR(rows), NULL);
	assert_int_equal(t.nr_spans, 1);
	assert_int_equal(symbol_table_span(&t, 0).end, 20);
	assert_int_equal(find(&t, 19), 0);
	assert_int_equal(find(&t, UINT64_MAX), -1);
	symbol_table_fini(&t);
}

static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static bool is_alias(const struct row *rows, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (rows[k].start == rows[i].start)
			return true;
	return false;
}

/* The one that begins last of those that cover it; of aliases the first is there. */
static int find_slowly(const struct row *rows, size_t nr, uint64_t address)
{
	int best = -1;

	for (size_t i = 0; i < nr; i++)
		if (address >= rows[i].start && address - rows[i].start < rows[i].size &&
		    (best < 0 || rows[i].start > rows[best].start) && !is_alias(rows, i))
			best = (int)i;
	return best;
}

TEST(random)
{
	enum { NR = 300 };
	struct row rows[NR];
	uint64_t seed = 88172645463325252u;

	for (int round = 0; round < 60; round++) {
		/* narrow, so that much overlaps; and wide, so that all digits count */
		unsigned bits = round % 2 ? 10 : 63;
		uint64_t base = round % 2 ? 0xffffffff81000000u : 0;
		struct symbol_table t;

		for (size_t i = 0; i < NR; i++)
			rows[i] = (struct row){.start = base + (next(&seed) >> (64 - bits)),
					       .size = (uint32_t)(next(&seed) % 60 + 1)};
		build(&t, rows, NR, prefer_first);
		assert_true(round % 2 ? t.span != NULL : !t.span); /* only where it overlaps */
		for (size_t i = 1; t.span && i < t.nr_spans; i++)
			assert_true(t.span[i - 1].start < t.span[i - 1].end &&
				    t.span[i - 1].end <= t.span[i].start);
		for (size_t i = 0; i < 4 * NR; i++) {
			uint64_t at = rows[i % NR].start + next(&seed) % 64;
			int fast = find(&t, at), slow = find_slowly(rows, NR, at);

			assert_int_equal(fast, slow);
		}
		symbol_table_fini(&t);
	}
}

static int build_one(void *arg)
{
	struct symbol_table t = {0};
	int rc = 0;

	(void)arg;
	for (uint32_t i = 0; i < 200 && rc == 0; i++)
		rc = symbol_table_add(&t,
				      &(struct symbol_entry){.start = (200 - i) * 16, .size = 16});
	if (rc == 0)
		rc = symbol_table_seal(&t, NULL, NULL);
	symbol_table_fini(&t);
	return rc;
}

TEST(without_memory)
{
	inject_every(build_one, NULL, 5, 0);
}
