#include "guests.h"

#include "base/log.h"
#include "parts.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each is read at a program's first mark of that kind, and costs others nothing. */
static const struct {
	const char *variable, *marks;
	const char *older; /* NULL, or what older versions read in its place */
} guests[] = {
    {"NVTX_INJECTION64_PATH", "NVTX", NULL},
    {"INTEL_LIBITTNOTIFY64", "ITT", NULL},
    {"OMP_TOOL_LIBRARIES", "OpenMP", NULL},
    {"KOKKOS_TOOLS_LIBS", "Kokkos", "KOKKOS_PROFILE_LIBRARY"},
};

/* The one that the user has set, and its value; NULL: none. */
static const char *find_own(size_t i, const char **value)
{
	*value = getenv(guests[i].variable);
	if (*value && **value)
		return guests[i].variable;
	*value = guests[i].older ? getenv(guests[i].older) : NULL;
	return *value && **value ? guests[i].older : NULL;
}

int guests_set_variables(int (*set)(void *arg, const char *name, const char *value, struct err *e),
			 void *arg, struct err *e)
{
	char path[PATH_MAX];
	int rc = 0;

	if (!part_find(PART_MARKS, path)) {
		log_info("marks of NVTX, ITT, OpenMP and Kokkos are not received: %s is not "
			 "installed: it is in "
			 "the package %s",
			 parts[PART_MARKS].name, parts[PART_MARKS].package);
		return 0;
	}
	rc = set(arg, "CPUPERF_MARKS_LIBRARY", path, e); /* bindings/ */
	for (size_t i = 0; i < sizeof(guests) / sizeof(*guests) && rc == 0; i++) {
		const char *value, *own = find_own(i, &value);

		if (own && !strstr(value, parts[PART_MARKS].name))
			log_warning("%s is set, to %s: marks of %s go there, not into this session",
				    own, value, guests[i].marks);
		else if (!own)
			rc = set(arg, guests[i].variable, path, e);
	}
	return rc;
}
