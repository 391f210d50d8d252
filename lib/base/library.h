/*
 * Libraries that are loaded when something needs them: a start does not wait for them, and who
 * never needs one need not have it. They remain loaded.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stddef.h>

/* What to do where one cannot be loaded. */
#ifdef CPUPERF_STATIC
#define LIBRARY_HINT(name) "use a cpuperf that is not the static one: it loads " name
#else
#define LIBRARY_HINT(name) "install " name
#endif

struct library_function {
	const char *name;
	void *at; /* a pointer to a function of that type, which is set */
};

/* Sets all of them, in any thread, but two must not set the same at once. NULL; else why not, as
 * the loader says it, until the thread's next call of it: then some may be set. */
const char *library_load(const char *name, const struct library_function *functions, size_t nr);

#endif
