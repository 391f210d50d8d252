/*
 * Maps of several iterations, at three moments.
 */
#include "kit.h"

#include "base/array.h"
#include "memory_maps.h"

#define MIB ((uint64_t)1 << 20)

static struct mapping_row row(uint32_t kind, const char *object, uint64_t mib)
{
	return (struct mapping_row){.kind = kind,
				    .nr = 1,
				    .object = object,
				    .sums = {.size = 2 * mib * MIB, .resident = mib * MIB}};
}

static void add(struct memory_maps *m, uint64_t time_ns, const struct mapping_row *rows, size_t nr)
{
	const struct mapping_map map = {.time_ns = time_ns, .row = rows, .nr = nr};
	const struct profile_trace t = {.memory = &map, .nr_memory = 1};

	assert_int_equal(memory_maps_add(m, &t), 0);
}

static const struct memory_maps_row *find(const struct memory_maps *m, const char *object)
{
	for (uint32_t i = 0; i < m->rows.nr; i++) {
		const struct memory_maps_row *r = dict_at(&m->rows, i);

		if (strcmp(r->object, object) == 0)
			return r;
	}
	fail_msg("no row of %s", object);
	return NULL;
}

TEST(the_first_the_largest_and_the_last)
{
	const struct mapping_row one[] = {row(MAPPING_HEAP, "[heap]", 1)},
				 more[] = {row(MAPPING_HEAP, "[heap]", 5),
					   row(MAPPING_ANONYMOUS, "", 3)},
				 last[] = {row(MAPPING_ANONYMOUS, "", 4)};
	const struct memory_maps_row *r;
	struct memory_maps m;

	memory_maps_init(&m);
	assert_int_equal(memory_maps_add(&m, &(struct profile_trace){.nr_memory = 0}), 0);
	assert_false(m.has_map);
	add(&m, 10, one, 1);
	assert_true(m.has_map);
	assert_int_equal(m.map[MEMORY_END].time_ns, 10);
	add(&m, 20, more, 2);
	add(&m, 30, last, 1);
	assert_int_equal(m.map[MEMORY_BEGIN].time_ns, 10);
	assert_int_equal(m.map[MEMORY_PEAK].time_ns, 20);
	assert_int_equal(m.map[MEMORY_END].time_ns, 30);
	assert_int_equal(m.rows.nr, 2);
	memory_maps_end(&m);
	r = find(&m, "[heap]");
	assert_int_equal(r->at[MEMORY_BEGIN].sums.resident, MIB);
	assert_int_equal(r->at[MEMORY_PEAK].sums.size, 10 * MIB);
	assert_int_equal(r->at[MEMORY_END].nr, 0);
	assert_int_equal(r->at[MEMORY_END].sums.resident, 0);
	r = find(&m, "");
	assert_int_equal(r->at[MEMORY_BEGIN].nr, 0);
	assert_int_equal(r->at[MEMORY_PEAK].sums.resident, 3 * MIB);
	assert_int_equal(r->at[MEMORY_END].sums.resident, 4 * MIB);
	assert_int_equal(m.all[MEMORY_PEAK].sums.resident, 8 * MIB);
	assert_int_equal(m.all[MEMORY_END].sums.resident, 4 * MIB);
	memory_maps_fini(&m);
}

/* One object may be of several kinds; kinds of later versions are one. */
TEST(rows_by_kind_and_object)
{
	const struct mapping_row rows[] = {row(MAPPING_TEXT, "/a", 1), row(MAPPING_DATA, "/a", 2),
					   row(MAPPING_NR_KINDS, "/a", 3), row(77, "/a", 4),
					   row(MAPPING_TEXT, "/a", 5)};
	static const uint64_t sums[] = {6, 2, 7};
	struct memory_maps m;

	memory_maps_init(&m);
	add(&m, 10, rows, ARRAY_NR(rows));
	assert_int_equal(m.rows.nr, ARRAY_NR(sums));
	for (uint32_t i = 0; i < ARRAY_NR(sums); i++) {
		const struct memory_maps_row *r = dict_at(&m.rows, i);

		assert_string_equal(r->object, "/a");
		assert_true(r->kind <= MAPPING_NR_KINDS);
		assert_int_equal(r->at[MEMORY_PEAK].sums.resident, sums[i] * MIB);
	}
	memory_maps_fini(&m);
}
