/*
 * Functions have ranks; the innermost one of the highest rank is chosen.
 */
#include "report/own.h"

#include "base/array.h"
#include "base/str.h"
#include "report/ends.h"

#include <string.h>

enum rank { OTHER, OF_KERNEL, OF_LIBRARY, OF_PROGRAM };

static bool is_wakeup(const char *name)
{
	static const char *const wakeups[] = {
	    "try_to_wake_up",  "wake_up_",       "__wake_up",        "default_wake_function",
	    "autoremove_wake", "pollwake",       "ep_poll_callback", "ep_autoremove_wake",
	    "woken_wake",      "complete",       "swake_up",         "__complete",
	    "rcuwait_wake",    "signal_wake_up", "__send_signal",    "send_signal_locked"};

	return str_begins_with_any(name, wakeups, ARRAY_NR(wakeups));
}

/* What a program runs in the C library when main has returned, or to end itself. */
static bool is_end(const char *name)
{
	static const char *const ends[] = {"exit",       "_exit",     "_Exit",
					   "__GI__exit", "__GI_exit", "__run_exit_handlers"};

	return ARRAY_ANY(x, ends, ARRAY_NR(ends), strcmp(name, *x) == 0);
}

static enum rank rank_of(const struct report_function *f)
{
	if (f->is_kernel)
		return is_wakeup(f->name) ? OTHER : OF_KERNEL;
	if ((*f->object == '[' && strcmp(f->object, "[JIT]") != 0) ||
	    report_start_of(f->name, f->object, true) == REPORT_START_YES)
		return OTHER;
	if (!report_is_library(f->object))
		return OF_PROGRAM;
	return f->is_known && !is_end(f->name) ? OF_LIBRARY : OTHER;
}

size_t report_own_frame(const struct report_frame *frames, size_t nr, bool outermost_first)
{
	enum rank highest = OTHER;
	size_t own = outermost_first && nr ? nr - 1 : 0;

	for (size_t i = 0; i < nr && highest < OF_PROGRAM; i++) {
		size_t at = outermost_first ? nr - 1 - i : i;
		enum rank rank = rank_of(frames[at].function);

		if (rank <= highest)
			continue;
		highest = rank;
		own = at;
	}
	return own;
}
