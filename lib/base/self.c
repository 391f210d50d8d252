#include "base/self.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int self_path(char path[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);
	int rc = len < 0 ? -errno : len == 0 ? -ENOENT : 0;

	path[rc ? 0 : len] = '\0';
	return rc;
}

int self_near(const char *from_bin, char path[PATH_MAX])
{
	char program[PATH_MAX], near[PATH_MAX];
	int rc = self_path(program);

	*path = '\0';
	if (rc)
		return rc;
	*strrchr(program, '/') = '\0'; /* the path is absolute, so it contains a slash */
	if (snprintf(near, sizeof(near), "%s/%s", program, from_bin) >= (int)sizeof(near))
		return -ENAMETOOLONG;
	if (!realpath(near, path))
		memcpy(path, near, strlen(near) + 1);
	return 0;
}
