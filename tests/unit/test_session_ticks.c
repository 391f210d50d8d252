/*
 * Readings that wait for the files: in order, cut at a time, dropped and counted when there are too
 * many, and taken while others are added.
 */
#include "kit.h"

#include "session/ticks.h"

#include <pthread.h>
#include <stdatomic.h>

static struct reading at_ns(uint64_t time_ns)
{
	return (struct reading){.state = READING_OK, .time_ns = time_ns};
}

static void add(struct ticks *t, uint32_t trace, uint64_t from_ns, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct reading r = at_ns(from_ns + i);

		ticks_add(t, trace, &r, 1);
	}
}

static void assert_takes(struct ticks *t, uint32_t trace, uint64_t until_ns, uint64_t from_ns,
			 size_t nr)
{
	const struct reading *r;

	assert_int_equal(ticks_next(t, trace, until_ns, &r), nr);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(r[i].time_ns, from_ns + i);
}

/* Those after the cut stay, before those that come later. */
TEST(cut)
{
	struct ticks t;

	assert_int_equal(ticks_init(&t, 2, 0, TICKS_MAX), 0);
	assert_takes(&t, 0, UINT64_MAX, 0, 0);
	add(&t, 0, 10, 5);
	add(&t, 1, 100, 1);
	assert_takes(&t, 0, 12, 10, 3);
	assert_takes(&t, 0, 12, 13, 0);
	add(&t, 0, 15, 5);
	assert_takes(&t, 0, UINT64_MAX, 13, 2); /* of the last time */
	assert_takes(&t, 0, UINT64_MAX, 15, 5); /* what came since */
	assert_takes(&t, 0, UINT64_MAX, 0, 0);
	assert_takes(&t, 1, UINT64_MAX, 100, 1);
	ticks_fini(&t);
}

/* As many wait as there is room for; what is dropped is counted, with its cause. */
TEST(full)
{
	static struct reading many[TICKS_MAX];
	struct ticks_dropped dropped;
	struct ticks t;

	assert_int_equal(ticks_init(&t, 1, 0, TICKS_MAX), 0);
	for (size_t i = 0; i < TICKS_MAX; i++)
		many[i] = at_ns(1);
	ticks_add(&t, 0, many, TICKS_MAX);
	dropped = ticks_dropped(&t);
	assert_int_equal(dropped.full, 0);
	ticks_add(&t, 0, many, 3);
	dropped = ticks_dropped(&t);
	assert_int_equal(dropped.full, 3);
	assert_int_equal(dropped.no_memory, 0);
	assert_takes(&t, 0, 0, 0, 0);
	ticks_add(&t, 0, many, TICKS_MAX); /* the other list is empty again */
	assert_int_equal(ticks_dropped(&t).full, 3);
	ticks_fini(&t);
}

TEST(no_memory)
{
	const struct reading r = at_ns(1);
	struct ticks t;

	for (unsigned nth = 1; nth <= 2; nth++) {
		inject_mem(nth);
		assert_int_equal(ticks_init(&t, 1, 1, TICKS_MAX), -ENOMEM);
		inject_stop();
	}
	assert_int_equal(ticks_init(&t, 1, 1, TICKS_MAX), 0);
	inject_mem(1);
	ticks_add(&t, 0, &r, 1);
	inject_stop();
	assert_int_equal(ticks_dropped(&t).no_memory, 1);
	assert_int_equal(ticks_dropped(&t).full, 0);
	ticks_fini(&t);
}

enum { NR_BUSY = 200000 };

static void *add_many(void *arg)
{
	add(arg, 0, 1, NR_BUSY);
	return NULL;
}

/* Nothing is lost, twice, or out of order between two threads. */
TEST(two_threads)
{
	uint64_t next_ns = 1;
	pthread_t thread;
	struct ticks t;

	assert_int_equal(ticks_init(&t, 1, 0, TICKS_MAX), 0);
	assert_int_equal(pthread_create(&thread, NULL, add_many, &t), 0);
	while (next_ns <= NR_BUSY) {
		const struct reading *r;
		size_t nr = ticks_next(&t, 0, UINT64_MAX, &r);

		for (size_t i = 0; i < nr; i++)
			assert_int_equal(r[i].time_ns, next_ns++);
	}
	pthread_join(thread, NULL);
	assert_takes(&t, 0, UINT64_MAX, 0, 0);
	ticks_fini(&t);
}
