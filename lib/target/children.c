/*
 * /proc/PID/task/TID/children.
 */
#include "target/children.h"

#include "base/buf.h"
#include "base/root.h"
#include "base/str.h"

#include <limits.h>
#include <stdio.h>

enum { MAX_LIST_BYTES = 16 << 20 };

int target_each_pid(const char *text, size_t len, target_pid_fn *fn, void *arg)
{
	const char *p = text, *end = text + len;
	uint64_t pid;
	int rc = 0;

	for (; p < end && rc == 0; p++)
		if (str_scan_u64(&p, end, &pid) == 0 && pid && pid <= INT_MAX)
			rc = fn((pid_t)pid, arg);
	return rc;
}

int target_each_child(const struct root *root, const char *process, const char *thread,
		      target_pid_fn *fn, void *arg)
{
	BUF_AUTO(text, MAX_LIST_BYTES);
	char path[600];
	int rc;

	snprintf(path, sizeof(path), "/proc/%s/task/%s/children", process, thread);
	rc = root_load(root, path, &text);
	return rc ? rc : target_each_pid(buf_str(&text), text.len, fn, arg);
}
