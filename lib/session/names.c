/*
 * Names in a folder.
 */
#include "session/names.h"

#include "base/str.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool scan_number(const char **p, uint64_t below, uint64_t *out)
{
	return str_scan_u64(p, *p + strlen(*p), out) == 0 && *out < below;
}

/* As the session writes it: numbers without padding. The first ones are removed in both forms. */
static bool is_of(const struct names *n, const char *name)
{
	size_t len = strlen(n->base);
	const char *p = name + len + 1;
	char again[NAME_MAX + 1];
	uint64_t number, trace;
	bool is_segment;

	if (strncmp(name, n->base, len) != 0 || name[len] != '.')
		return false;
	if (strcmp(p, "common.cpuperf") == 0)
		return true;
	is_segment = *p == 's';
	p += is_segment;
	if (!scan_number(&p, n->nr_iterations, &number) || *p++ != '.' ||
	    !scan_number(&p, n->nr_traces, &trace) || (is_segment != n->is_segmented && number))
		return false;
	snprintf(again, sizeof(again), "%s.%s%" PRIu64 ".%" PRIu64 ".cpuperf", n->base,
		 is_segment ? "s" : "", number, trace);
	return strcmp(name, again) == 0;
}

static int find(const struct names *n, DIR *dir, names_check_fn *check, void *arg)
{
	int rc = 0;

	while (rc == 0) {
		struct dirent *d;

		errno = 0;
		d = readdir(dir);
		if (!d)
			return -errno;
		if (is_of(n, d->d_name))
			rc = check(arg, d->d_name);
	}
	return rc;
}

int names_find(const struct names *n, int dirfd, names_check_fn *check, void *arg)
{
	int fd = sys()->openat(dirfd, ".", O_RDONLY | O_DIRECTORY, 0), rc;
	DIR *dir;

	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		sys()->close(fd);
		return -ENOMEM;
	}
	rc = find(n, dir, check, arg);
	closedir(dir);
	return rc;
}
