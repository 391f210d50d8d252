#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

const char *library_load(const char *name, const struct library_function *functions, size_t nr)
{
	/* NODELETE: the libraries that it loads hold memory, which would be reported as leaked */
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	for (size_t i = 0; i < nr; i++) {
		void *function = handle ? dlsym(handle, functions[i].name) : NULL;

		if (!function) {
			const char *why = dlerror();

			return why ? why : name;
		}
		/* POSIX permits converting it to a function pointer; ISO C does not */
		memcpy(functions[i].at, &function, sizeof(function));
	}
	return NULL;
}
