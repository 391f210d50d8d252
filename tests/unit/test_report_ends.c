/*
 * Which functions a stack may end with, and what is counted.
 */
#include "kit.h"

#include "report/ends.h"

TEST(starts)
{
	static const struct {
		const char *name, *object;
		bool is_known;
		enum report_start start;
	} cases[] = {
	    {"_start", "prog", true, REPORT_START_YES},
	    {"__libc_start_call_main", "libc.so.6", true, REPORT_START_YES},
	    {"__libc_start_main_impl", "libc.so.6", true, REPORT_START_YES},
	    {"__libc_start_main", "libc-2.31.so", true, REPORT_START_YES},
	    {"start_thread", "libpthread-2.31.so", true, REPORT_START_YES},
	    {"clone3", "libc.so.6", true, REPORT_START_YES},
	    {"__GI___clone3", "libc.so.6", true, REPORT_START_YES},
	    {"runtime.goexit.abi0", "server", true, REPORT_START_YES},
	    {"start", "prog", true, REPORT_START_NO},
	    {"main", "prog", true, REPORT_START_NO},
	    {"qsort_r", "libc.so.6", true, REPORT_START_NO},
	    {"[unknown] (libc.so.6+0x1234)", "libc.so.6", false, REPORT_START_LIBRARY},
	    {"[unknown] (ld-linux-x86-64.so.2+0x1)", "ld-linux-x86-64.so.2", false,
	     REPORT_START_LIBRARY},
	    {"[unknown] (libcc.so+0x1)", "libcc.so", false, REPORT_START_NAMELESS},
	    {"[unknown] (prog+0x1234)", "prog", false, REPORT_START_NAMELESS},
	    {"[unknown]", "[unknown]", false, REPORT_START_ABOVE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (report_start_of(cases[i].name, cases[i].object, cases[i].is_known) !=
		    cases[i].start)
			fail_msg("%s", cases[i].name);
}

TEST(sums)
{
	struct report_program p = {.comm = 1};

	for (int end = 0; end < REPORT_NR_ENDS; end++) {
		assert_true(*report_end_name((enum report_end)end));
		p.nr[end] = 1u << end;
	}
	assert_int_equal(report_program_all(&p), (1u << REPORT_NR_ENDS) - 1);
	assert_int_equal(report_program_incomplete(&p), (1u << REPORT_NR_ENDS) - 2);
}
