#include "bpf/kernel_types.h"

#include "base/root.h"
#include "base/sys.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

enum { CHUNK = 16384, MAX_NAME = 256 };

/* The strings, each with its end, begin after the header: [*at, *end) of the file. */
static int find_strings(int fd, uint64_t *at, uint64_t *end)
{
	struct btf_header h;
	ssize_t n = sys()->pread(fd, &h, sizeof(h), 0);

	if (n < 0)
		return (int)n;
	if (n != sizeof(h) || h.magic != BTF_MAGIC || h.hdr_len < sizeof(h))
		return -EINVAL;
	*at = (uint64_t)h.hdr_len + h.str_off;
	*end = *at + h.str_len;
	return 0;
}

/* The first string is empty, so that an end stands before each name. What may be the beginning of
 * the name at the end of a chunk is read again. */
static int search(int fd, uint64_t at, uint64_t end, const char *pattern, size_t length)
{
	char chunk[CHUNK];

	while (end - at >= length) {
		const size_t left = end - at < sizeof(chunk) ? end - at : sizeof(chunk);
		const ssize_t n = sys()->pread(fd, chunk, left, (off_t)at);

		if (n < 0)
			return (int)n;
		if ((size_t)n < length)
			return -EINVAL; /* shorter than its header says */
		if (memmem(chunk, (size_t)n, pattern, length))
			return 1;
		at += (size_t)n - length + 1;
	}
	return 0;
}

int kernel_types_have_name(const struct root *root, const char *name)
{
	const size_t length = strlen(name);
	char pattern[MAX_NAME + 1] = ""; /* between two ends */
	uint64_t at = 0, end = 0;
	int fd, rc;

	if (length >= MAX_NAME)
		return -EINVAL;
	snprintf(pattern + 1, sizeof(pattern) - 1, "%s", name);
	fd = root_open(root, "/sys/kernel/btf/vmlinux");
	if (fd < 0)
		return fd;
	rc = find_strings(fd, &at, &end) ?: search(fd, at, end, pattern, length + 2);
	sys()->close(fd);
	return rc;
}
