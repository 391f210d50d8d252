/*
 * Functions have ranks; the innermost one of the highest rank is chosen.
 */
#include "report/own.h"

#include "base/array.h"
#include "base/str.h"
#include "report/ends.h"

#include <string.h>

enum { OTHER, OF_KERNEL, OF_LIBRARY, OF_PROGRAM = REPORT_OWN_OF_PROGRAM, OF_SCRIPT };

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

/* What programs and libraries call in place of malloc: it allocates for others only. */
static bool is_allocator(const char *name)
{
	static const char *const names[] = {
	    "xmalloc",    "xcalloc",       "xrealloc",         "xzalloc",       "xstrdup",
	    "xstrndup",   "xmemdup",       "g_malloc",         "g_realloc",     "g_try_",
	    "g_slice_a",  "g_strdup",      "g_strndup",        "PyMem_",        "_PyMem_",
	    "PyObject_M", "_PyObject_M",   "PyObject_Realloc", "sqlite3Malloc", "sqlite3MemMalloc",
	    "sqlite3Db",  "CRYPTO_malloc", "CRYPTO_realloc",   "CRYPTO_zalloc", "Perl_safesys",
	    "av_malloc",  "talloc_",       "_talloc",          "ruby_xmalloc",  "ruby_xcalloc"};

	return str_begins_with_any(name, names, ARRAY_NR(names));
}

/* What programs call in place of the C library's functions: it waits for others only. */
static bool is_waiter(const char *name)
{
	static const char *const names[] = {
	    "uv_cond_wait",         "uv_cond_timedwait", "uv_sem_wait",       "uv_mutex_lock",
	    "uv_rwlock_",           "uv_barrier_wait",   "g_cond_wait",       "g_mutex_lock",
	    "os::PlatformMonitor:", "Monitor::wait",     "PosixSemaphore::",  "os::PlatformEvent::",
	    "Parker::park",         "os::naked_",        "QWaitCondition::w", "QMutex::lock"};

	return str_begins_with_any(name, names, ARRAY_NR(names));
}

/* What C++ programs are made with; of templates, code in the program's own file. */
static bool is_of_language(const struct report_function *f)
{
	static const char *const objects[] = {"libstdc++.so", "libc++.so", "libc++abi.so"};
	static const char *const names[] = {"std::", "void std::", "__gnu_cxx::", "operator new",
					    "operator delete"};

	return str_begins_with_any(f->object, objects, ARRAY_NR(objects)) ||
	       str_begins_with_any(f->name, names, ARRAY_NR(names)) || is_allocator(f->name) ||
	       is_waiter(f->name);
}

unsigned report_own_rank(const struct report_function *f)
{
	if (f->is_script)
		return OF_SCRIPT;
	if (f->is_kernel)
		return is_wakeup(f->name) ? OTHER : OF_KERNEL;
	if ((*f->object == '[' && strcmp(f->object, "[JIT]") != 0) ||
	    report_start_of(f->name, f->object, true) == REPORT_START_YES)
		return OTHER;
	if (!report_is_library(f->object) && !is_of_language(f))
		return OF_PROGRAM;
	return f->is_known && !is_end(f->name) ? OF_LIBRARY : OTHER;
}

size_t report_own_frame(const struct report_frame *frames, size_t nr, bool outermost_first)
{
	unsigned highest = OTHER;
	size_t own = outermost_first && nr ? nr - 1 : 0;

	for (size_t i = 0; i < nr && highest < OF_SCRIPT; i++) {
		size_t at = outermost_first ? nr - 1 - i : i;
		unsigned rank = report_own_rank(frames[at].function);

		if (rank <= highest)
			continue;
		highest = rank;
		own = at;
	}
	return own;
}
