#include "event/libpfm.h"

#include "base/array.h"
#include "base/library.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

static const char library[] = "libpfm.so.4";
static struct libpfm loaded;
static bool is_loaded;

static bool load(void)
{
	const struct library_function functions[] = {
#define PLACE(name) {"pfm_" #name, &loaded.name},
	    LIBPFM_FUNCTIONS(PLACE)};

	return !library_load(library, functions, ARRAY_NR(functions));
}

/* Enables the tables of other CPUs. libpfm4 reads the environment once; the variable is removed
 * again so that child processes do not inherit it. */
static void start(void)
{
	static const char inactive[] = "LIBPFM_ENCODE_INACTIVE";
	bool was_set = getenv(inactive) != NULL;

	if (!load())
		return;
	is_loaded = true;
	setenv(inactive, "1", 0);
	(void)loaded.initialize(); /* libpfm4 without a table for this CPU is not an error */
	if (!was_set)
		unsetenv(inactive);
}

const struct libpfm *libpfm(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, start);
	return is_loaded ? &loaded : NULL;
}
