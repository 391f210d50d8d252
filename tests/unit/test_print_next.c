/* What to print next: the row of the table that holds. */
#include "kit.h"

#include "base/buf.h"
#include "base/json_writer.h"
#include "conclusion.h"
#include "next.h"

#include <string.h>
#include <unistd.h>

static const double s = 1e9;

#define FOUR .all_ns = 4 * s, .nr_threads = 4

TEST(rows)
{
	static const struct {
		struct conclusion c;
		const char *expected;
	} list[] = {
	    {{0}, "--report=tree"},
	    {{FOUR, .blocked_ns = 3 * s, .idle_ns = 2.5 * s, .least_waits = 0.7, .reason = "futex"},
	     "--report=tree"},
	    {{FOUR, .blocked_ns = 3.6 * s, .idle_ns = 2 * s, .least_waits = 0.9, .reason = "futex"},
	     "--report=tree"},
	    {{FOUR, .blocked_ns = 3.6 * s, .idle_ns = 2 * s, .least_waits = 0.9, .reason = "child"},
	     "--report=tree"},
	    {{FOUR, .blocked_ns = 3.6 * s, .idle_ns = 2 * s, .least_waits = 0.9, .least_lock = 0.9,
	      .reason = "futex"},
	     "--report=locks"},
	    {{FOUR, .blocked_ns = 3 * s, .least_waits = 0.5, .least_lock = 0.27, .reason = "futex"},
	     "--report=locks"},
	    {{FOUR, .blocked_ns = 3 * s, .least_waits = 0.5, .least_lock = 0.26, .reason = "futex"},
	     "--report=tree"},
	    {{FOUR, .blocked_ns = 3 * s, .least_waits = 0.7, .reason = "futex"}, "--report=waits"},
	    {{FOUR, .blocked_ns = 3 * s, .least_waits = 0.6, .reason = "futex"}, "--report=tree"},
	    {{FOUR, .blocked_ns = 3 * s, .least_waits = 0.7, .reason = "disk"}, "--report=tree"},
	    {{FOUR, .blocked_ns = 3 * s, .used_ns = s, .wall_ns = s, .least_waits = 0.9,
	      .least_lock = 0.8, .least_used = 0.9, .holder = "update", .reason = "futex"},
	     "--report=locks"},
	    {{FOUR, .queue_ns = 2 * s, .nr_processes = 15}, "--report=waits"},
	    {{FOUR, .queue_ns = 2 * s, .nr_processes = 16},
	     "--report=flat --sort=cmdline,function"},
	    {{FOUR, .queue_ns = 1.9 * s}, "--report=tree"},
	    {{.least_faults = 0.2, .faults = "exc_page_fault"},
	     "--report=calls --function=exc_page_fault"},
	    {{.least_faults = 0.19, .faults = "exc_page_fault"}, "--report=tree"},
	    {{.least_hot = 0.5, .hot = "parse"}, "--report=annotate --function=parse"},
	    {{.least_hot = 0.49, .hot = "parse"}, "--report=tree"},
	    {{.least_hot = 0.9, .hot = "parse(int, char)"},
	     "--report=annotate --function='parse(int, char)'"},
	    {{.least_hot = 0.9, .hot = "operator[](int)"}, "--report=tree"},
	    {{.least_hot = 0.9, .hot = "main", .least_faults = 0.3, .faults = "do_page_fault"},
	     "--report=calls --function=do_page_fault"},
	};

	for (size_t i = 0; i < NR(list); i++) {
		BUF_AUTO(out, 1024);

		next_put(&list[i].c, &out);
		assert_string_equal(buf_str(&out), list[i].expected);
	}
}

/* Nothing is quoted: they are words already. */
TEST(words)
{
	static const struct {
		struct conclusion c;
		const char *expected;
	} list[] = {
	    {{0}, "[\"--report=tree\"]"},
	    {{FOUR, .queue_ns = 2 * s, .nr_processes = 16},
	     "[\"--report=flat\",\"--sort=cmdline,function\"]"},
	    {{.least_hot = 0.9, .hot = "parse(int, char)"},
	     "[\"--report=annotate\",\"--function=parse(int, char)\"]"},
	};

	for (size_t i = 0; i < NR(list); i++) {
		BUF_AUTO(out, 1024);
		struct json_writer json;

		jsonw_init(&json, &out, false);
		JSONW_ARRAY(&json, NULL)
			next_put_words(&list[i].c, &json);
		assert_string_equal(buf_str(&out), list[i].expected);
	}
}

/* Only where the variable has a descriptor. */
TEST(written)
{
	static const char expected[] = "--report=tree";
	const struct conclusion none = {0};
	char number[16], text[64] = "";
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	unsetenv(NEXT_VARIABLE);
	next_write(&none);
	setenv(NEXT_VARIABLE, "one", 1);
	next_write(&none);
	snprintf(number, sizeof(number), "%d", fds[1]);
	setenv(NEXT_VARIABLE, number, 1);
	next_write(&none);
	close(fds[1]);
	assert_int_equal(read(fds[0], text, sizeof(text)), strlen(expected));
	assert_string_equal(text, expected);
	close(fds[0]);
	unsetenv(NEXT_VARIABLE);
}
