/*
 * The program's own function of a stack, in both orders.
 */
#include "test_report.h"

#include "base/array.h"
#include "base/err.h"
#include "report/own.h"

enum { MAX = 5 };

static const struct {
	const char *frames[MAX]; /* innermost first: "name object" */
	size_t want;
} cases[] = {
    {{"schedule_hrtimeout [kernel]", "__poll libc.so.6", "serve prog", "main prog"}, 2},
    {{"f libc.so.6", "f libthing.so.1", "main prog"}, 1},
    {{"f [kernel]", "f [vdso]", "work [JIT]", "main prog"}, 2},
    {{"f [kernel]", "__poll libpthread-2.31.so", "g libc-2.31.so"}, 1},
    {{"f [kernel]", "pthread_cond_wait libc.so.6", "uv_cond_wait prog", "worker prog"}, 3},
    {{"f [kernel]", "?unknown libc.so.6"}, 0},
    {{"f [kernel]", "[unknown] [unknown]"}, 0},
    {{"[unknown] [unknown]", "_start prog"}, 0},
    /* it ends: main has returned, or a thread has */
    {{"try_to_wake_up [kernel]", "zap_other_threads [kernel]", "_exit libc.so.6",
      "__run_exit_handlers libc.so.6", "_start prog"},
     1},
    {{"complete_all [kernel]", "mm_release [kernel]", "exit libc.so.6", "start_thread libc.so.6"},
     1},
    {{"complete_all [kernel]"}, 0},
    /* a script, whatever of the interpreter it calls */
    {{"f [kernel]", "take libpython3.so", "$serve a.py", "$main a.py", "_start prog"}, 2},
    {{"f [kernel]", "take python3", "get queue.py", "$work a.py", "_start prog"}, 3},
};

static struct report_frame frame_of(struct report_functions *f, const char *text)
{
	char name[64];
	const char *object = strchr(text, ' ') + 1;
	const bool is_script = *text == '$';
	struct symbol_function s = {.name = name,
				    .linkage_name = name,
				    .object = object,
				    .is_known = *text != '?',
				    .is_script = is_script,
				    .is_kernel = strcmp(object, "[kernel]") == 0};

	snprintf(name, sizeof(name), "%.*s", (int)(object - text) - 1, text);
	return (struct report_frame){.function = report_functions_get(f, &s)};
}

TEST(chooses)
{
	for (size_t i = 0; i < ARRAY_NR(cases); i++) {
		struct report_functions *f = report_functions_new(&test_no_rules);
		struct report_frame inner[MAX], outer[MAX];
		size_t nr = 0;

		while (nr < MAX && cases[i].frames[nr])
			nr++;
		for (size_t k = 0; k < nr; k++)
			inner[k] = outer[nr - 1 - k] = frame_of(f, cases[i].frames[k]);
		assert_int_equal(report_own_frame(inner, nr, false), cases[i].want);
		assert_int_equal(report_own_frame(outer, nr, true), nr - 1 - cases[i].want);
		report_functions_free(f);
	}
	assert_int_equal(report_own_frame(NULL, 0, false), 0);
	assert_int_equal(report_own_frame(NULL, 0, true), 0);
}

/* A function whose name a rule gave is in its object, as before. */
TEST(merged)
{
	struct report_rules rules = {0};
	struct report_functions *f;
	struct report_frame frames[3];
	struct err e = {0};

	assert_int_equal(report_rules_add_merge(&rules, "s/foo/baz/", &e), 0);
	f = report_functions_new(&rules);
	frames[0] = frame_of(f, "malloc libc.so.6");
	frames[1] = frame_of(f, "foo prog");
	frames[2] = frame_of(f, "main prog");
	report_functions_merge(frames, 3);
	assert_string_equal(frames[1].function->name, "baz");
	assert_int_equal(report_own_frame(frames, 3, false), 1);
	report_functions_free(f);
	report_rules_fini(&rules);
}
