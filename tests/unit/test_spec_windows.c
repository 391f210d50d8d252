/*
 * The text of the key windows.
 */
#include "kit.h"
#include "spec/spec.h"

#include <errno.h>

static int windows_of(const char *text, struct spec_window *out, struct err *e)
{
	struct spec s;
	int nr;

	spec_init(&s);
	s.windows = text;
	nr = spec_windows(&s, out, e);
	spec_fini(&s);
	return nr;
}

TEST(windows_are_read)
{
	struct spec_window w[SPEC_MAX_WINDOWS];
	struct err e = {0};

	assert_int_equal(windows_of("", w, &e), 0);
	assert_int_equal(windows_of("realtime:10:1:5,process_cputime:0:20ms:1000000", w, &e), 2);
	assert_int_equal(w[0].clock, SPEC_REALTIME);
	assert_int_equal(w[0].delay_ns, 10000000000);
	assert_int_equal(w[0].capture_ns, 1000000000);
	assert_int_equal(w[0].cycles, 5);
	assert_int_equal(w[1].clock, SPEC_PROCESS_CPUTIME);
	assert_int_equal(w[1].delay_ns, 0);
	assert_int_equal(w[1].capture_ns, 20000000);
	assert_int_equal(w[1].cycles, 1000000);
}

TEST(windows_are_refused)
{
	static const char *const texts[] = {
	    ",",
	    "realtime",
	    "realtime:1:1",
	    "realtime:1:1:1:1",
	    "realtime:1:1:1,",
	    "clock:1:1:1",
	    ":1:1:1",
	    "realtime:-1:1:1",
	    "realtime:1:0:1",
	    "realtime:1:999us:1",
	    "realtime:1:1:0",
	    "realtime:1:1:1000001",
	    "realtime:31536001:1:1",
	    "realtime:1:1:00000000000000000000000000000000000000000000000001",
	};
	struct spec_window w[SPEC_MAX_WINDOWS];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct err e = {0};

		assert_int_equal(windows_of(texts[i], w, &e), -EINVAL);
		assert_true(e.msg[0] && e.hint[0]);
	}
}
