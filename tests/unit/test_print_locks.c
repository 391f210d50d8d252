/* What the holder of a lock is called. */
#include "kit.h"
#include "test_report.h"

#include "locks.h"
#include "trace/record.h"

TEST(holder)
{
	struct report_functions *functions = report_functions_new(&test_no_rules);
	struct report_lock lock = {.holder = {.tid = 7}};
	char text[LOCKS_NAME_BYTES];

	lock.holder.text = report_functions_text_number(functions, "update");
	assert_string_equal(locks_holder(functions, &lock, text), "update");
	lock.holder.has_namesake = true;
	assert_string_equal(locks_holder(functions, &lock, text), "update (tid 7)");
	lock.holder = (struct report_holder){
	    .tid = TRACE_UNKNOWN, .text = report_functions_text_number(functions, "main (3/4)")};
	assert_string_equal(locks_holder(functions, &lock, text), "main");
	report_functions_free(functions);
}
