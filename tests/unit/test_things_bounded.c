/*
 * Work with a limit of time: done, too slow, refused meanwhile, left behind.
 */
#include "kit.h"

#include "things/bounded.h"

#include <stdatomic.h>

#define SECOND UINT64_C(1000000000)

struct work {
	atomic_bool is_held, is_begun;
	atomic_int nr_done, nr_released;
};

static void work(void *arg)
{
	struct work *w = arg;

	w->is_begun = true;
	while (w->is_held)
		usleep(500);
	w->nr_done++;
}

static void release(void *arg)
{
	struct work *w = arg;

	w->nr_released++;
}

TEST(done)
{
	struct work w = {0};
	struct bounded *b;

	assert_int_equal(bounded_new(work, release, &w, &b), 0);
	assert_false(bounded_is_busy(b));
	for (int i = 1; i < 100; i++) {
		assert_int_equal(bounded_run(b, 100 * SECOND), 0);
		assert_int_equal(w.nr_done, i);
		assert_false(bounded_is_busy(b));
	}
	assert_int_equal(w.nr_released, 0);
	bounded_close(b);
	assert_int_equal(w.nr_released, 1);
}

TEST(too_slow)
{
	struct work w = {.is_held = true};
	struct bounded *b;

	assert_int_equal(bounded_new(work, release, &w, &b), 0);
	assert_int_equal(bounded_run(b, SECOND / 100), -ETIMEDOUT);
	assert_true(bounded_is_busy(b));
	assert_int_equal(bounded_run(b, 100 * SECOND), -EBUSY);
	w.is_held = false;
	while (bounded_is_busy(b))
		usleep(500);
	assert_int_equal(w.nr_done, 1);
	assert_int_equal(bounded_run(b, 100 * SECOND), 0);
	assert_int_equal(w.nr_done, 2);
	bounded_close(b);
	assert_int_equal(w.nr_released, 1);
}

TEST(left_behind)
{
	struct work w = {.is_held = true};
	struct bounded *b;

	inject_mem(0);
	assert_int_equal(bounded_new(work, release, &w, &b), 0);
	assert_int_equal(bounded_run(b, 0), -ETIMEDOUT);
	while (!w.is_begun)
		usleep(500);
	bounded_close(b);
	assert_int_equal(w.nr_released, 0);
	w.is_held = false;
	while (!w.nr_released || inject.nr_live)
		usleep(500);
	assert_int_equal(w.nr_done, 1);
	inject_stop();
}

/* Closed before the thread has begun: the work may be done or not, what it has is released. */
TEST(left_at_once)
{
	enum { NR = 200, WAIT_MS = 20000 };
	struct work w = {0};

	inject_mem(0);
	for (int i = 0; i < NR; i++) {
		struct bounded *b;

		assert_int_equal(bounded_new(work, release, &w, &b), 0);
		(void)bounded_run(b, 0);
		bounded_close(b);
	}
	for (int i = 0; i < WAIT_MS && (w.nr_released < NR || inject.nr_live); i++)
		usleep(1000);
	assert_int_equal(w.nr_released, NR);
	assert_int_equal(inject.nr_live, 0);
	inject_stop();
}

static int start(void *arg)
{
	struct work w = {0};
	struct bounded *b;
	int rc = bounded_new(work, release, &w, &b);

	(void)arg;
	assert_int_equal(w.nr_released, 0);
	if (rc)
		return rc;
	bounded_close(b);
	assert_int_equal(w.nr_released, 1);
	return 0;
}

TEST(no_memory)
{
	inject_every(start, NULL, 1, 0);
}
