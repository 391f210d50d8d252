/*
 * The events as a program lists them.
 */
#include "kit.h"

#include "cpuperf/cpuperf.h"

static struct cpuperf_error e = CPUPERF_ERROR_INIT;

TEST(all)
{
	struct cpuperf_events *events = NULL;
	const struct cpuperf_event *ev;

	assert_int_equal(cpuperf_events_open(&events, NULL, &e), 0);
	assert_string_equal(e.text, "");
	assert_true(cpuperf_events_nr(events) > 100);
	ev = cpuperf_events_find(events, "page_faults");
	assert_string_equal(ev->group, "software");
	assert_true(ev->size == sizeof(*ev) && ev->kind == CPUPERF_COUNT && *ev->description);
	assert_ptr_equal(cpuperf_events_find(events, "software:page_faults"), ev);
	assert_true(ev->works || ev->reason);
	assert_string_equal(cpuperf_events_find(events, "misc:memory_used")->unit, "B");
	assert_null(cpuperf_events_find(events, "no_such_event"));
	assert_null(cpuperf_events_find(events, NULL));
	assert_null(cpuperf_events_at(events, cpuperf_events_nr(events)));
	for (size_t i = 0; i < 50; i++) {
		ev = cpuperf_events_at(events, i);
		assert_true(ev->group && ev->name && (ev->works || ev->reason));
	}
	cpuperf_events_close(events);
}

TEST(chosen)
{
	static const struct {
		const char *pattern;
		size_t least, most;
	} cases[] = {{"software:*", 8, 40}, {"page_faults*", 1, 5}, {"nothing:*", 0, 0}};

	for (size_t i = 0; i < NR(cases); i++) {
		struct cpuperf_events *events = NULL;

		assert_int_equal(cpuperf_events_open(&events, cases[i].pattern, NULL), 0);
		if (cpuperf_events_nr(events) < cases[i].least ||
		    cpuperf_events_nr(events) > cases[i].most)
			fail_msg("%s: %zu", cases[i].pattern, cpuperf_events_nr(events));
		cpuperf_events_close(events);
	}
	assert_int_equal(cpuperf_events_open(NULL, NULL, &e), -EINVAL);
	assert_int_equal(cpuperf_events_nr(NULL), 0);
	assert_null(cpuperf_events_at(NULL, 0));
	assert_null(cpuperf_events_find(NULL, "page_faults"));
	cpuperf_events_close(NULL);
}
