/*
 * How far up stacks are needed: as far as one of the thread has come, where the bytes are the same.
 */
#include "kit.h"

#include "whole/bases.h"

enum { LEN = 512, SP = 0x7000, BASE = SP + 192, TID = 3 };

static struct whole_bases bases;
static uint8_t stack[LEN];

HOOK(before_each)
{
	bases = (struct whole_bases){0};
	for (size_t i = 0; i < LEN; i++)
		stack[i] = (uint8_t)(i * 7 + i / 256);
}

static struct whole_copy copy(uint32_t tid, uint64_t sp, size_t len)
{
	return (struct whole_copy){.stack = stack + (sp - SP), .len = len, .sp = sp, .tid = tid};
}

static size_t needed(uint32_t tid, uint64_t sp, size_t len)
{
	const struct whole_copy c = copy(tid, sp, len);

	return whole_bases_needed(&bases, &c);
}

static void add(size_t len, uint64_t address)
{
	const struct whole_copy c = copy(TID, SP, len);

	whole_bases_add(&bases, &c, address);
}

TEST(up_to_the_base)
{
	assert_int_equal(needed(TID, SP, LEN), LEN);
	add(LEN, BASE);
	assert_int_equal(needed(TID, SP, LEN), 192 + WHOLE_BASE_BYTES);
	assert_int_equal(needed(TID, SP + 128, LEN - 128), 64 + WHOLE_BASE_BYTES);
	assert_int_equal(needed(TID, SP, 192 + WHOLE_BASE_BYTES), 192 + WHOLE_BASE_BYTES);
}

TEST(of_others_all)
{
	add(LEN, BASE);
	assert_int_equal(needed(TID + 1, SP, LEN), LEN);
	for (uint32_t tid = 0; tid < 4 * WHOLE_BASES; tid++)
		if (tid != TID)
			assert_int_equal(needed(tid, SP, LEN), LEN);
}

/* As of an exec without random addresses. */
TEST(where_the_bytes_differ_all)
{
	for (size_t i = 0; i < WHOLE_BASE_BYTES; i += WHOLE_BASE_BYTES - 1) {
		add(LEN, BASE);
		stack[BASE - SP + i] ^= 1;
		assert_int_equal(needed(TID, SP, LEN), LEN);
		add(LEN, BASE);
		assert_int_equal(needed(TID, SP, LEN), 192 + WHOLE_BASE_BYTES);
	}
}

TEST(elsewhere_all)
{
	add(LEN, BASE);
	assert_int_equal(needed(TID, BASE, LEN - 192), LEN - 192); /* above it */
	assert_int_equal(needed(TID, BASE + 64, LEN - 256), LEN - 256);
	assert_int_equal(needed(TID, SP, 192), 192); /* it was not copied */
	assert_int_equal(needed(TID, SP, 191 + WHOLE_BASE_BYTES), 191 + WHOLE_BASE_BYTES);
	assert_int_equal(needed(TID, SP, 8), 8);
}

/* As of a coroutine whose stack is an array of main's. */
TEST(of_two_the_higher_one)
{
	add(LEN, BASE);
	add(LEN, BASE - 64);
	assert_int_equal(needed(TID, SP, LEN), 192 + WHOLE_BASE_BYTES);
	add(LEN, BASE + 64);
	assert_int_equal(needed(TID, SP, LEN), 256 + WHOLE_BASE_BYTES);
	stack[256] ^= 1; /* another program's */
	add(LEN, BASE);
	assert_int_equal(needed(TID, SP, LEN), 192 + WHOLE_BASE_BYTES);
}

/* A thread by turns on a stack of its own and on one within it, which was seen first: one stack
 * lacks frames, and none after it. */
TEST(by_turns_no_more_than_one_is_truncated)
{
	unsigned nr_truncated = 0;

	for (int i = 0; i < 10; i++) {
		add(LEN, BASE - 64);
		if (needed(TID, SP, LEN) == LEN) {
			add(LEN, BASE);
			continue;
		}
		nr_truncated++;
		whole_bases_refuse(&bases, TID);
	}
	assert_int_equal(nr_truncated, 1);
	assert_int_equal(needed(TID, SP, LEN), LEN);
}

/* Of another thread in its place. */
TEST(of_others_stacks_are_shortened)
{
	uint32_t other = TID + 1;

	add(LEN, BASE);
	whole_bases_refuse(&bases, TID + 1);
	assert_int_equal(needed(TID, SP, LEN), 192 + WHOLE_BASE_BYTES);
	whole_bases_refuse(&bases, TID);
	for (; needed(TID, SP, LEN) == LEN && other < 1000 * WHOLE_BASES; other++) {
		const struct whole_copy c = copy(other, SP, LEN);

		whole_bases_add(&bases, &c, BASE);
		assert_int_equal(needed(other, SP, LEN), 192 + WHOLE_BASE_BYTES);
		add(LEN, BASE);
	}
	assert_true(other < 1000 * WHOLE_BASES);
	add(LEN, BASE + 64); /* nothing is left of it */
	assert_int_equal(needed(TID, SP, LEN), 256 + WHOLE_BASE_BYTES);
}

/* What is not in the bytes is not known. */
TEST(bases_that_were_not_copied)
{
	add(191 + WHOLE_BASE_BYTES, BASE);
	add(LEN, SP);
	add(LEN, SP - 8);
	add(LEN, UINT64_MAX);
	add(0, BASE);
	assert_int_equal(needed(TID, SP, LEN), LEN);
}
