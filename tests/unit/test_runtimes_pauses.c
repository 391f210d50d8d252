/*
 * Counters of pauses, in memory made as a machine's, and what is none.
 */
#include "kit.h"

#include "runtimes/jvm.h"

#include <string.h>
#include <unistd.h>

enum {
	ENTRY_BYTES = 80,
	NR_ENTRIES = 4,
	HEAD_BYTES = 32,
	BYTES = HEAD_BYTES + NR_ENTRIES * ENTRY_BYTES
};
enum { AT_NAME = 20, AT_VALUE = 56 };

static _Alignas(8) uint8_t memory[BYTES];
static void *start = memory, *end = memory + BYTES;
static struct jvm jvm;

static void put_u32(size_t at, uint32_t value)
{
	memcpy(memory + at, &value, sizeof(value));
}

static size_t entry(size_t i)
{
	return HEAD_BYTES + i * ENTRY_BYTES;
}

static void put(size_t i, const char *name, const char *text, uint64_t value)
{
	put_u32(entry(i), ENTRY_BYTES);
	put_u32(entry(i) + 4, AT_NAME);
	put_u32(entry(i) + 8, (uint32_t)strlen(text));
	put_u32(entry(i) + 16, AT_VALUE - 8 * (*text != 0));
	snprintf((char *)memory + entry(i) + AT_NAME, 32, "%s", name);
	if (*text)
		snprintf((char *)memory + entry(i) + AT_VALUE - 8, 32, "%s", text);
	else
		memcpy(memory + entry(i) + AT_VALUE, &value, sizeof(value));
}

HOOK(before_each)
{
	static const uint8_t head[] = {0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1};

	start = memory;
	end = memory + BYTES;
	memset(memory, 0, BYTES);
	memcpy(memory, head, sizeof(head));
	put_u32(24, HEAD_BYTES);
	put_u32(28, NR_ENTRIES);
	put(0, "sun.gc.collector.0.name", "Young", 0);
	snprintf((char *)memory + entry(0) + AT_VALUE - 8, 32, "G1 young collection pauses");
	put(1, "sun.gc.collector.0.invocations", "", 7);
	put(2, "sun.gc.collector.1.invocations", "", 2);
	put(3, "sun.gc.collector.2.invocations", "", 3);
	jvm = (struct jvm){.pid = (uint32_t)getpid()};
	jvm.at.field[VMSTRUCTS_COUNTERS] = (struct vmstructs_place){(uintptr_t)&start, 8};
	jvm.at.field[VMSTRUCTS_COUNTERS_END] = (struct vmstructs_place){(uintptr_t)&end, 8};
}

static uint64_t count(void)
{
	uint64_t n = 0;

	pauses_find(&jvm.pauses, &jvm);
	return jvm_unloadings(&jvm, &n) ? n : 0;
}

TEST(of_g1)
{
	const uint64_t before = count();

	assert_int_equal(before & 0xff, 5);
	assert_true(before > UINT32_MAX);                /* it is no count of all of them */
	put(1, "sun.gc.collector.0.invocations", "", 8); /* young */
	assert_true(count() == before);
	put(3, "sun.gc.collector.2.invocations", "", 4);
	assert_true(count() == before + 1);
}

/* The others of a machine must all be there; later they may be. */
TEST(missing)
{
	put(3, "sun.gc.collector.3.invocations", "", 3);
	assert_true(count() == 0);
	put(3, "sun.gc.collector.2.invocations", "", 3);
	assert_true(count() != 0);
}

TEST(of_another_machine)
{
	snprintf((char *)memory + entry(0) + AT_VALUE - 8, 32, "ZGC minor collection pauses");
	assert_true(count() == 0);
	snprintf((char *)memory + entry(0) + AT_VALUE - 8, 32, "Serial young collection pauses");
	assert_int_equal(count() & 0xff, 2);
}

TEST(hostile)
{
	static const struct {
		size_t at;
		uint32_t value;
	} rows[] = {{0, 0},
		    {4, 0},
		    {24, BYTES - 4},
		    {24, UINT32_MAX},
		    {28, UINT32_MAX},
		    {HEAD_BYTES, 4},
		    {HEAD_BYTES, UINT32_MAX},
		    {HEAD_BYTES + 4, UINT32_MAX},
		    {HEAD_BYTES + 16, BYTES - HEAD_BYTES - 2}};

	for (size_t i = 0; i < NR(rows); i++) {
		before_each();
		put_u32(rows[i].at, rows[i].value);
		if (rows[i].at == 28) /* the entries behind the last one end at once */
			assert_true(count() != 0);
		else
			assert_true(count() == 0);
	}
	before_each();
	end = (void *)((uintptr_t)memory - 8); /* before it begins */
	assert_true(count() == 0);
	end = (void *)((uintptr_t)memory + (UINT64_C(1) << 40));
	assert_true(count() == 0);
	start = NULL;
	assert_true(count() == 0);
}
