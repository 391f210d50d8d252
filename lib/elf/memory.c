/*
 * Memory limits. A limit that cannot be read is ignored.
 */
#include "elf/memory.h"

#include "base/buf.h"
#include "base/root.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MAX_CGROUP_BYTES = 64 << 10 };

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* group: the cgroup's path; modified. */
static uint64_t limit_of_group(const struct root *root, const char *folder, char *group,
			       const char *file)
{
	uint64_t bytes = UINT64_MAX, limit;
	char path[PATH_MAX];

	for (;;) {
		char *slash = strrchr(group, '/');

		if (slash && !slash[1])
			*slash = '\0';
		snprintf(path, sizeof(path), "%s%s/%s", folder, group, file);
		if (root_load_u64(root, path, &limit) == 0)
			bytes = least(bytes, limit);
		if (!*group || !slash)
			return bytes;
		*slash = '\0';
	}
}

/* A line of /proc/self/cgroup: "0::/group", or "4:cpu,memory:/group" of cgroup v1. */
static uint64_t limit_of_line(const struct root *root, char *line)
{
	char *controllers = strchr(line, ':'),
	     *group = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!group)
		return UINT64_MAX;
	*group++ = '\0';
	if (!controllers[1])
		return limit_of_group(root, "/sys/fs/cgroup", group, "memory.max");
	if (!strstr(controllers, "memory"))
		return UINT64_MAX;
	return limit_of_group(root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
}

uint64_t elf_memory_bytes(const struct root *root)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
	struct rlimit space;
	BUF_AUTO(text, MAX_CGROUP_BYTES);
	char *next;

	if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
		bytes = least(bytes, space.rlim_cur);
	if (root_load(root, "/proc/self/cgroup", &text) == 0 && buf_error(&text) == 0 && text.len) {
		next = text.data;
		for (char *line; (line = strsep(&next, "\n"));)
			bytes = least(bytes, limit_of_line(root, line));
	}
	return bytes;
}
