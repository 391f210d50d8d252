#include "bpf/btf_types.h"

#include "base/mem.h"
#include "base/root.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/types.h>

#define PATH "/sys/kernel/btf/vmlinux"

enum { CHUNK = 16384, MAX_NAME = 256, MAX_BYTES = 256 << 20 };

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

/* As the kernel keeps them (Linux 6.16): what may shrink would end the process. */
static bool map(int fd, struct btf_types *out)
{
	struct statfs fs;
	void *p;

	if (fstatfs(fd, &fs) || fs.f_type != SYSFS_MAGIC)
		return false;
	p = mmap(NULL, out->len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	out->data = p;
	out->is_mapped = true;
	return true;
}

static int load(int fd, struct btf_types *out)
{
	uint8_t *p = mem_alloc(out->len);
	ssize_t n = 1;
	size_t at = 0;

	if (!p)
		return -ENOMEM;
	while (at < out->len && n > 0) {
		n = sys()->pread(fd, p + at, out->len - at, (off_t)at);
		at += n > 0 ? (size_t)n : 0;
	}
	if (n < 0 || at < out->len) {
		mem_free(p);
		return n < 0 ? (int)n : -EINVAL;
	}
	out->data = p;
	return 0;
}

int btf_types_open(const struct root *root, struct btf_types *out)
{
	struct btf_types t = {.data = NULL};
	struct stat st;
	int fd = root_open(root, PATH), rc;

	if (fd < 0)
		return fd;
	rc = sys()->fstatat(fd, "", &st, AT_EMPTY_PATH);
	if (rc == 0 && (st.st_size <= 0 || st.st_size > MAX_BYTES))
		rc = -EINVAL;
	t.len = (size_t)st.st_size;
	if (rc == 0 && !map(fd, &t))
		rc = load(fd, &t);
	sys()->close(fd);
	if (rc == 0)
		*out = t;
	return rc;
}

void btf_types_close(struct btf_types *t)
{
	if (t->is_mapped)
		munmap((void *)t->data, t->len);
	else
		mem_free((void *)t->data);
	*t = (struct btf_types){.data = NULL};
}

static int search_mapped(const struct btf_types *t, const char *pattern, size_t length)
{
	struct btf_header h;

	if (t->len < sizeof(h))
		return -EINVAL;
	memcpy(&h, t->data, sizeof(h));
	if (h.magic != BTF_MAGIC || h.hdr_len < sizeof(h) ||
	    (uint64_t)h.hdr_len + h.str_off + h.str_len > t->len)
		return -EINVAL;
	return memmem((const char *)t->data + h.hdr_len + h.str_off, h.str_len, pattern, length) !=
	       NULL;
}

/* Reads no more than is searched where the types cannot be mapped. */
static int search_file(int fd, const char *pattern, size_t length)
{
	struct btf_types mapped = {.data = NULL};
	uint64_t at = 0, end = 0;
	struct stat st;
	int rc = sys()->fstatat(fd, "", &st, AT_EMPTY_PATH);

	if (rc == 0 && st.st_size > 0 && st.st_size <= MAX_BYTES)
		mapped.len = (size_t)st.st_size;
	if (!mapped.len || !map(fd, &mapped))
		return find_strings(fd, &at, &end) ?: search(fd, at, end, pattern, length);
	rc = search_mapped(&mapped, pattern, length);
	btf_types_close(&mapped);
	return rc;
}

int btf_types_have_name(const struct root *root, const char *name)
{
	const size_t length = strlen(name);
	char pattern[MAX_NAME + 1] = ""; /* between two ends */
	int fd, rc;

	if (length >= MAX_NAME)
		return -EINVAL;
	snprintf(pattern + 1, sizeof(pattern) - 1, "%s", name);
	fd = root_open(root, PATH);
	if (fd < 0)
		return fd;
	rc = search_file(fd, pattern, length + 2);
	sys()->close(fd);
	return rc;
}
