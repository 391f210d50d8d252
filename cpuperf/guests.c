#include "guests.h"

#include "base/log.h"
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

bool guests_find(const char *from_bin, char path[PATH_MAX])
{
	char program[PATH_MAX], near[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (len <= 0)
		return false;
	program[len] = '\0';
	*strrchr(program, '/') = '\0'; /* the path is absolute, so it contains a slash */
	return snprintf(near, sizeof(near), "%s/%s", program, from_bin) < (int)sizeof(near) &&
	       realpath(near, path);
}

int guests_set_variables(struct target_command *c, struct err *e)
{
	char path[PATH_MAX];
	int rc = 0;

	if (!guests_find(CPUPERF_MARKS_FROM_BIN, path)) {
		log_info("marks of NVTX and ITT are not received: libcpuperf_marks.so is not "
			 "installed");
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
