/* Runs of frames, their times and sums; which are passed over. */
#include "kit.h"

#include "profile/samples.h"
#include "profile/times.h"

enum { NR_EVENTS = 3 };

static void add(struct profile_times *t, uint32_t event, uint64_t time_ns, uint64_t wait_ns)
{
	const struct trace_id id = {.event = event};
	const struct trace_layout layout = {.is_maximum = false};
	const struct profile_sample s = {.id = &id,
					 .layout = &layout,
					 .record = {.wait_ns = wait_ns},
					 .time_ns = time_ns,
					 .end_ns = time_ns,
					 .samples = 1,
					 .weight = 10};

	profile_times_add(t, &s);
}

/* A frame with a sample of event 1. */
static void add_frame(struct profile_times *t, uint64_t at, uint64_t time_ns)
{
	assert_true(profile_times_frame(t, at));
	add(t, 1, time_ns, 0);
}

TEST(runs)
{
	struct profile_times *t = profile_times_new(NR_EVENTS);
	const struct profile_times_run *run;

	assert_null(profile_times_other(t, 0, 0, 0));
	add_frame(t, 1000, 50);
	add(t, 2, 40, 0);
	add_frame(t, 2000, 70);
	profile_times_end(t, 3000);
	profile_times_end(t, 3500);
	add_frame(t, 4000, 90);
	profile_times_end(t, 5000);
	run = profile_times_other(t, 1000, 71, 80);
	assert_non_null(run);
	assert_int_equal(run->to, 3000);
	assert_int_equal(run->nr_frames, 2);
	assert_int_equal(profile_times_sums(t, run)[0].samples, 0);
	assert_int_equal(profile_times_sums(t, run)[1].samples, 2);
	assert_int_equal(profile_times_sums(t, run)[1].weight, 20);
	assert_int_equal(profile_times_sums(t, run)[2].samples, 1);
	run = profile_times_other(t, 4000, 71, 80);
	assert_non_null(run);
	assert_int_equal(run->to, 5000);
	assert_int_equal(profile_times_sums(t, run)[1].samples, 1);
	/* both ends belong to what is needed */
	assert_non_null(profile_times_other(t, 1000, 0, 39));
	assert_null(profile_times_other(t, 1000, 0, 40));
	assert_null(profile_times_other(t, 1000, 70, 100));
	assert_null(profile_times_other(t, 1000, 55, 56));
	/* where none begins */
	assert_null(profile_times_other(t, 2000, 0, 1));
	assert_null(profile_times_other(t, 3000, 0, 1));
	assert_null(profile_times_other(t, 5000, 0, 1));
	profile_times_free(t);
	profile_times_free(NULL);
}

/* A wait is there from its begin on. */
TEST(waits)
{
	struct profile_times *t = profile_times_new(NR_EVENTS);

	assert_true(profile_times_frame(t, 8));
	add(t, 0, 100, 60);
	profile_times_end(t, 16);
	assert_non_null(profile_times_other(t, 8, 0, 39));
	assert_null(profile_times_other(t, 8, 0, 40));
	assert_true(profile_times_frame(t, 16));
	add(t, 0, 100, UINT64_MAX);
	profile_times_end(t, 24);
	assert_null(profile_times_other(t, 16, 0, 0));
	profile_times_free(t);
}

/* What is more than a sum is always read. */
TEST(needed)
{
	const struct trace_id id = {.event = 0};
	const struct trace_layout layout = {.is_maximum = true};
	const struct profile_sample s = {.id = &id, .layout = &layout, .time_ns = 5, .end_ns = 5};
	struct profile_times *t = profile_times_new(NR_EVENTS);

	profile_times_need(t); /* there is none */
	add_frame(t, 8, 5);
	profile_times_need(t);
	profile_times_end(t, 16);
	profile_times_need(t);
	assert_true(profile_times_frame(t, 16));
	profile_times_add(t, &s);
	profile_times_end(t, 24);
	add_frame(t, 24, 5);
	profile_times_end(t, 32);
	assert_null(profile_times_other(t, 8, 9, 9));
	assert_null(profile_times_other(t, 16, 9, 9));
	assert_non_null(profile_times_other(t, 24, 9, 9));
	profile_times_free(t);
}

/* Long files have many runs, of many events at most so many. */
TEST(limits)
{
	enum { FRAME_BYTES = 64 << 10, NR_FRAMES = 40000 };
	struct profile_times *t = profile_times_new(NR_EVENTS);
	struct profile_times *wide = profile_times_new(4096);
	uint64_t nr = 0;

	for (uint64_t i = 0; i < NR_FRAMES; i++)
		add_frame(t, i * FRAME_BYTES, i);
	profile_times_end(t, (uint64_t)NR_FRAMES * FRAME_BYTES);
	assert_int_equal(t->nr, NR_FRAMES / 16);
	for (size_t i = 0; i < t->nr; i++) {
		assert_int_equal(t->run[i].nr_frames, 16);
		assert_int_equal(t->run[i].from, i << 20);
		assert_int_equal(t->run[i].to, (i + 1) << 20);
		nr += profile_times_sums(t, &t->run[i])[1].samples;
	}
	assert_int_equal(nr, NR_FRAMES);
	profile_times_free(t);
	for (nr = 0; nr < NR_FRAMES && profile_times_frame(wide, nr); nr++)
		profile_times_end(wide, nr + 1);
	assert_int_equal(nr, 256);
	profile_times_free(wide);
}
