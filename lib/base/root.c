/*
 * The path root: kernel files of the live system or of a captured tree.
 */
#include "base/root.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FOLDER_BYTES = 64 << 10 };

const struct root root_live = {.dir = ""};

int root_init(struct root *r, const char *dir)
{
	if (strlen(dir) >= sizeof(r->dir))
		return -ENAMETOOLONG;
	snprintf(r->dir, sizeof(r->dir), "%s", dir);
	return 0;
}

static int full_path(const struct root *r, const char *path, char out[PATH_MAX])
{
	int len = snprintf(out, PATH_MAX, "%s%s", r->dir, path);

	return len < 0 || len >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int root_open(const struct root *r, const char *path)
{
	char full[PATH_MAX];
	int rc = full_path(r, path, full);

	return rc ? rc : sys()->openat(AT_FDCWD, full, O_RDONLY, 0);
}

int root_load(const struct root *r, const char *path, struct buf *out)
{
	char full[PATH_MAX];
	int rc = full_path(r, path, full);

	return rc ? rc : io_load(AT_FDCWD, full, out);
}

enum { MAX_TEXT_BYTES = 4096 };

/* The first bytes of the file, up to a NUL. How many, or -errno. */
static ssize_t load_start(const struct root *r, const char *path, char text[MAX_TEXT_BYTES])
{
	IO_AUTO_FD int fd = root_open(r, path);
	const ssize_t n = fd < 0 ? fd : io_read_full(fd, text, MAX_TEXT_BYTES);

	return n < 0 ? n : (ssize_t)strnlen(text, (size_t)n);
}

static int copy(const char *text, size_t len, char *out, size_t size)
{
	if (len >= size || len == MAX_TEXT_BYTES)
		return -EFBIG;
	memcpy(out, text, len);
	out[len] = '\0';
	return 0;
}

int root_load_line(const struct root *r, const char *path, char *line, size_t size)
{
	char text[MAX_TEXT_BYTES];
	const ssize_t n = load_start(r, path, text);
	const char *end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;

	return n < 0 ? (int)n : copy(text, end ? (size_t)(end - text) : (size_t)n, line, size);
}

int root_load_text(const struct root *r, const char *path, char *out, size_t size)
{
	char text[MAX_TEXT_BYTES];
	const ssize_t n = load_start(r, path, text);
	const bool has_end = n > 0 && n < MAX_TEXT_BYTES && text[n - 1] == '\n';

	return n < 0 ? (int)n : copy(text, (size_t)n - has_end, out, size);
}

int root_load_u64(const struct root *r, const char *path, uint64_t *out)
{
	char line[32];
	int rc = root_load_line(r, path, line, sizeof(line));

	return rc ? rc : str_parse_u64(line, out);
}

enum { FEW_BYTES = 2048, FEW = 64, ENTRY_BYTES = 512 }; /* the last: more than one has */

/* Entries of a folder, from getdents64. Few are here; more are in mappings, because a child of a
 * threaded process must not use libc's heap (child.h). */
struct entries {
	char *data; /* not few: mapped */
	size_t len, room;
	uint32_t *at; /* offsets of the names, sorted */
	size_t nr, at_bytes;
	char few[FEW_BYTES] __attribute__((aligned(8)));
	uint32_t at_few[FEW];
};

static void *map_bytes(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int make_room(struct entries *e)
{
	const bool is_few = e->data == e->few;
	const size_t room = is_few ? FOLDER_BYTES : 2 * e->room;
	void *p = room > UINT32_MAX ? NULL
		  : is_few          ? map_bytes(room)
				    : mremap(e->data, e->room, room, MREMAP_MAYMOVE);

	if (!p || p == MAP_FAILED)
		return -ENOMEM;
	if (is_few)
		memcpy(p, e->few, e->len);
	e->data = p;
	e->room = room;
	return 0;
}

static int read_entries(struct entries *e, int fd)
{
	ssize_t n = 1;

	e->data = e->few;
	e->room = sizeof(e->few);
	while (n > 0) {
		const size_t least = e->data == e->few ? ENTRY_BYTES : FOLDER_BYTES / 2;

		if (e->room - e->len < least && make_room(e))
			return -ENOMEM;
		n = getdents64(fd, e->data + e->len, e->room - e->len);
		e->len += n > 0 ? (size_t)n : 0;
	}
	return n < 0 ? -errno : 0;
}

static const char *name_at(const struct entries *e, size_t i)
{
	return e->data + e->at[i];
}

/* Sifts entry i of a max-heap of nr down. */
static void sink(const struct entries *e, size_t i, size_t nr)
{
	for (size_t k; (k = 2 * i + 1) < nr; i = k) {
		uint32_t at = e->at[i];

		k += k + 1 < nr && strcmp(name_at(e, k), name_at(e, k + 1)) < 0;
		if (strcmp(name_at(e, i), name_at(e, k)) >= 0)
			return;
		e->at[i] = e->at[k];
		e->at[k] = at;
	}
}

/* Heapsort, because qsort may use libc's heap. */
static void sort_entries(const struct entries *e)
{
	for (size_t i = e->nr / 2; i--;)
		sink(e, i, e->nr);
	for (size_t nr = e->nr; nr > 1;) {
		uint32_t last = e->at[--nr];

		e->at[nr] = e->at[0];
		e->at[0] = last;
		sink(e, 0, nr);
	}
}

static int list_entries(struct entries *e)
{
	size_t offset = offsetof(struct dirent64, d_name);

	for (size_t i = 0; i < e->len; i += ((struct dirent64 *)(e->data + i))->d_reclen)
		e->nr++;
	e->at_bytes = (e->nr + 1) * sizeof(*e->at);
	e->at = e->nr < FEW ? e->at_few : map_bytes(e->at_bytes);
	if (!e->at)
		return -ENOMEM;
	e->nr = 0;
	for (size_t i = 0; i < e->len; i += ((struct dirent64 *)(e->data + i))->d_reclen) {
		const char *name = e->data + i + offset;

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
			e->at[e->nr++] = (uint32_t)(i + offset);
	}
	sort_entries(e);
	return 0;
}

int root_each(const struct root *r, const char *path, int (*fn)(const char *name, void *arg),
	      void *arg)
{
	char full[PATH_MAX];
	struct entries e;
	int fd, rc = full_path(r, path, full);

	if (rc)
		return rc;
	fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	e.len = e.nr = 0;
	e.at = NULL;
	rc = read_entries(&e, fd);
	close(fd);
	if (rc == 0)
		rc = list_entries(&e);
	for (size_t i = 0; i < e.nr && rc == 0; i++)
		rc = fn(name_at(&e, i), arg);
	if (e.data != e.few)
		munmap(e.data, e.room);
	if (e.at && e.at != e.at_few)
		munmap(e.at, e.at_bytes);
	return rc;
}
