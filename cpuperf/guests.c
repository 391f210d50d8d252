#include "guests.h"

#include "base/log.h"
#include "parts.h"
#include "target/command.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each is read at a program's first mark of that kind, and costs others nothing. */
static const struct {
	const char *variable, *marks;
} guests[] = {
    {"NVTX_INJECTION64_PATH", "NVTX"},
    {"INTEL_LIBITTNOTIFY64", "ITT"},
};

int guests_set_variables(struct target_command *c, struct err *e)
{
	char path[PATH_MAX];
	int rc = 0;

	if (!part_find(PART_MARKS, path)) {
		log_info("marks of NVTX and ITT are not received: %s is not installed: it is in "
			 "the package %s",
			 parts[PART_MARKS].name, parts[PART_MARKS].package);
		return 0;
	}
	rc = target_command_set_variable(c, "CPUPERF_MARKS_LIBRARY", path, e); /* bindings/ */
	for (size_t i = 0; i < sizeof(guests) / sizeof(*guests) && rc == 0; i++) {
		const char *own = getenv(guests[i].variable);

		if (own && *own)
			log_warning("%s is set, to %s: marks of %s go there, not into this session",
				    guests[i].variable, own, guests[i].marks);
		else
			rc = target_command_set_variable(c, guests[i].variable, path, e);
	}
	return rc;
}
