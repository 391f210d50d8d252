/*
 * Samples that are added up by thread and stack: as many as there are, whose weights add up,
 * between the first and the last one; and what cannot be added up is refused, not lost.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/dict.h"
#include "base/perf_abi.h"
#include "whole/sums.h"

enum { ID = 7, OTHER_ID = 8, MAX_BYTES = 4096 };
#define ROW UINT64_C(0x123456789abcdef1)

static struct whole_sums *sums;
static struct perf_event_attr attr;
static struct dict names;

HOOK(before_each)
{
	attr = (struct perf_event_attr){
	    .size = sizeof(attr),
	    .sample_period = 10,
	    .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			   PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
	};
	dict_init(&names, sizeof(struct whole_name), DICT_KEY(struct whole_name, tid), 100);
	sums = whole_sums_new(MAX_BYTES, &names);
	assert_non_null(sums);
	assert_int_equal(whole_sums_add_id(sums, ID, &attr, 0), 0);
}

HOOK(after_each)
{
	whole_sums_free(sums);
	dict_fini(&names);
}

/* As a record of that many words, for the event with that id. */
static bool add(uint64_t id, uint32_t tid, uint64_t time_ns, uint64_t period, uint64_t caller)
{
	const uint64_t word[] = {PERF_RECORD_SAMPLE | (uint64_t)80 << 48,
				 id,
				 0x100,
				 1 | (uint64_t)tid << 32,
				 time_ns,
				 period,
				 3,
				 PERF_CONTEXT_USER,
				 0x100,
				 caller};

	return whole_sums_add(sums, word, sizeof(word));
}

static void expect(uint32_t *at, uint64_t samples, uint64_t weight, uint64_t begin_ns,
		   uint64_t end_ns, uint64_t caller)
{
	struct whole_sum sum;
	uint64_t word[10];

	assert_true(whole_sums_next(sums, at, &sum));
	assert_int_equal(sum.samples, samples);
	assert_int_equal(sum.weight, weight);
	assert_int_equal(sum.end_ns, end_ns);
	assert_int_equal(sum.size, sizeof(word));
	memcpy(word, sum.record, sizeof(word));
	assert_int_equal(word[4], begin_ns);
	assert_int_equal(word[9], caller);
}

static void expect_end(uint32_t at)
{
	struct whole_sum sum;

	assert_false(whole_sums_next(sums, &at, &sum));
}

/* They come in no order: the thread that unwinds gives back blocks of several. */
TEST(by_thread_and_stack)
{
	uint32_t at = 0;

	assert_true(add(ID, 1, 50, 10, 0x200));
	assert_true(add(ID, 1, 70, 20, 0x200));
	assert_true(add(ID, 1, 40, 5, 0x200));
	assert_true(add(ID, 2, 60, 10, 0x200));
	assert_true(add(ID, 1, 65, 10, 0x201));
	expect(&at, 3, 35, 40, 70, 0x200);
	expect(&at, 1, 10, 60, 60, 0x200);
	expect(&at, 1, 10, 65, 65, 0x201);
	expect_end(at);
	whole_sums_reset(sums);
	expect_end(0);
	assert_true(add(ID, 1, 80, 10, 0x200));
	at = 0;
	expect(&at, 1, 10, 80, 80, 0x200);
	expect_end(at);
}

/* Where samples of these places of a row count. */
static void count_places(int16_t expected[PLACE_SUMS], const uint64_t *place, size_t nr)
{
	memset(expected, 0, PLACE_SUMS * sizeof(*expected));
	for (size_t i = 0; i < nr; i++) {
		const unsigned char to = place_in_sums(ROW, place[i]);

		expected[to & (PLACE_MINUS - 1)] += to & PLACE_MINUS ? -1 : 1;
	}
}

/* Each where it stands in the row, by its time, in whatever order they come; also those of a word,
 * and those after it. */
TEST(places)
{
	static const uint64_t place[] = {10, 11, 12, 14, 13, 20, 19, 30, 31, 32, 33, 500};

	assert_int_equal(whole_sums_add_id(sums, OTHER_ID, &attr, ROW), 0);
	for (size_t nr = 1; nr <= NR(place); nr++) {
		int16_t expected[PLACE_SUMS];
		struct whole_sum sum;
		uint32_t at = 0;

		for (size_t i = 0; i < nr; i++) {
			const uint64_t late_ns = i % 3 ? 20 : 0;

			assert_true(add(OTHER_ID, 1, place[i] * 100 - 10 + late_ns, 100, 0x200));
		}
		assert_true(add(ID, 1, 50, 10, 0x201));
		count_places(expected, place, nr);
		assert_true(whole_sums_next(sums, &at, &sum));
		assert_int_equal(sum.samples, nr);
		assert_true(sum.has_places);
		assert_memory_equal(sum.places, expected, sizeof(expected));
		assert_true(whole_sums_next(sums, &at, &sum));
		assert_false(sum.has_places); /* its event has no row */
		whole_sums_reset(sums);
	}
}

/* A sample without a period is at no place, and so the places of the others say nothing. */
TEST(without_a_period)
{
	struct whole_sum sum;
	uint32_t at = 0;

	assert_int_equal(whole_sums_add_id(sums, OTHER_ID, &attr, ROW), 0);
	assert_true(add(OTHER_ID, 1, 100, 100, 0x200));
	assert_true(add(OTHER_ID, 1, 200, 0, 0x200));
	assert_true(add(OTHER_ID, 1, 300, 100, 0x200));
	assert_true(whole_sums_next(sums, &at, &sum));
	assert_int_equal(sum.samples, 3);
	assert_false(sum.has_places);
}

/* A thread with a new name, or a new program: what was before has another. */
static void rename_at(uint32_t tid, uint64_t time_ns)
{
	struct whole_name *name = dict_get(&names, &tid);

	assert_non_null(name);
	name->from_ns = time_ns;
}

TEST(renamed)
{
	uint32_t at = 0;

	assert_true(add(ID, 1, 50, 10, 0x200));
	assert_true(add(ID, 2, 50, 10, 0x200));
	rename_at(1, 55);
	assert_false(add(ID, 1, 54, 10, 0x200));
	assert_true(add(ID, 1, 55, 10, 0x200));
	assert_true(add(ID, 1, 60, 10, 0x200));
	assert_true(add(ID, 2, 60, 10, 0x200));
	rename_at(1, 65);
	assert_false(add(ID, 1, 60, 10, 0x200));
	assert_true(add(ID, 1, 70, 10, 0x200));
	expect(&at, 1, 10, 50, 50, 0x200);
	expect(&at, 2, 20, 50, 60, 0x200);
	expect(&at, 2, 20, 55, 60, 0x200);
	expect(&at, 1, 10, 70, 70, 0x200);
	expect_end(at);
}

/* An event whose samples have no period has that of its attr. */
TEST(period_of_the_event)
{
	const uint64_t word[] = {PERF_RECORD_SAMPLE | (uint64_t)48 << 48, OTHER_ID, 1, 5, 1, 0x100};
	struct whole_sum sum;
	uint32_t at = 0;

	attr.sample_type &= ~(uint64_t)(PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD);
	assert_int_equal(whole_sums_add_id(sums, OTHER_ID, &attr, 0), 0);
	assert_true(whole_sums_add(sums, word, sizeof(word)));
	assert_true(whole_sums_add(sums, word, sizeof(word)));
	assert_true(whole_sums_next(sums, &at, &sum));
	assert_int_equal(sum.samples, 2);
	assert_int_equal(sum.weight, 20);
}

TEST(others_are_refused)
{
	uint64_t word[] = {PERF_RECORD_SAMPLE | (uint64_t)80 << 48, ID, 0x100, 1, 5, 1, 3, 1, 2, 3};

	assert_false(add(OTHER_ID, 1, 50, 10, 0x200));
	word[0] = PERF_RECORD_THROTTLE | (uint64_t)80 << 48;
	assert_false(whole_sums_add(sums, word, sizeof(word)));
	word[0] = PERF_RECORD_SAMPLE | (uint64_t)80 << 48;
	word[6] = 4; /* more addresses than there are */
	assert_false(whole_sums_add(sums, word, sizeof(word)));
	word[6] = 2; /* fewer */
	assert_false(whole_sums_add(sums, word, sizeof(word)));
	for (size_t len = 0; len < sizeof(word); len += 8)
		assert_false(whole_sums_add(sums, word, len));
	expect_end(0);
}

/* With its bytes, which a reader unwinds. */
TEST(bytes_are_refused)
{
	uint64_t word[] = {PERF_RECORD_SAMPLE | (uint64_t)96 << 48,
			   OTHER_ID,
			   1,
			   5,
			   1,
			   PERF_CONTEXT_USER,
			   PERF_SAMPLE_REGS_ABI_NONE,
			   16,
			   1,
			   2,
			   8,
			   0};

	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			   PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	assert_int_equal(whole_sums_add_id(sums, OTHER_ID, &attr, 0), 0);
	word[0] = PERF_RECORD_SAMPLE | (uint64_t)88 << 48;
	assert_false(whole_sums_add(sums, word, 88));
	word[7] = 0; /* of a thread of the kernel */
	word[0] = PERF_RECORD_SAMPLE | (uint64_t)64 << 48;
	assert_true(whole_sums_add(sums, word, 64));
}

TEST(no_room)
{
	uint64_t nr = 0, samples = 0;
	struct whole_sum sum;
	uint32_t at = 0;

	for (uint64_t i = 0; i < 100; i++)
		nr += add(ID, 1, 50 + i, 10, 0x200 + i);
	assert_int_equal(nr, MAX_BYTES / 80);
	assert_true(add(ID, 1, 999, 10, 0x200)); /* it is there */
	while (whole_sums_next(sums, &at, &sum))
		samples += sum.samples;
	assert_int_equal(samples, nr + 1);
}
