/*
 * The memory begins where a part of the file ends, and has its bytes. Where the code is in the
 * file, the part before it says: segments follow each other, but linkers may leave a page between
 * their addresses for each.
 */
#include "survey/copies.h"

#include "base/array.h"
#include "base/io.h"
#include "base/sys.h"
#include "proc/maps.h"
#include "proc/proc.h"
#include "survey/ids.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

enum { PAGE_BYTES = 4096, MAX_GAPS = 4 };

static bool is_memory(const struct proc_mapping *m)
{
	static const char *const names[] = {"[anon:", "/anon_hugepage"};

	return !m->name_len ||
	       ARRAY_ANY(x, names, ARRAY_NR(names),
			 m->name_len >= strlen(*x) && !memcmp(m->name, *x, strlen(*x)));
}

static int open_of(const struct root *root, uint32_t pid, const char *name)
{
	char path[PATH_MAX];
	int rc = proc_path(PROC(root, pid), name, path, sizeof(path));

	return rc < 0 ? rc : sys()->openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
}

static bool has_bytes(int file, uint64_t offset, int memory, uint64_t address)
{
	char a[PAGE_BYTES], b[PAGE_BYTES];

	return io_pread_full(file, a, sizeof(a), offset) == sizeof(a) &&
	       io_pread_full(memory, b, sizeof(b), address) == sizeof(b) &&
	       memcmp(a, b, sizeof(a)) == 0;
}

/* Its first page, and one in the middle. */
static bool is_copy(int file, uint64_t offset, int memory, const struct proc_mapping *m)
{
	const uint64_t middle = (m->end - m->start) / 2 / PAGE_BYTES * PAGE_BYTES;

	return has_bytes(file, offset, memory, m->start) &&
	       has_bytes(file, offset + middle, memory, m->start + middle);
}

static bool find_offset(const struct root *root, uint32_t pid, const struct proc_mapping *of,
			const struct proc_mapping *m, uint64_t *out)
{
	IO_AUTO_FD int file = survey_maps_open(root, pid, of->start, of->end, of->inode);
	IO_AUTO_FD int memory = file < 0 ? -1 : open_of(root, pid, "mem");
	const uint64_t next = of->offset + (m->start - of->start);

	for (uint64_t gap = 0; memory >= 0 && gap < MAX_GAPS * PAGE_BYTES && gap <= next;
	     gap += PAGE_BYTES)
		if (is_copy(file, next - gap, memory, m)) {
			*out = next - gap;
			return true;
		}
	return false;
}

/* The file system answers, as far as is known. */
static bool may_read(struct survey_ids *ids, uint32_t pid, const struct proc_mapping *m)
{
	const struct survey_mount *mount =
	    survey_mounts_find(&ids->mounts, pid, m->major, m->minor);

	return mount && mount->is_local &&
	       !survey_device_is_silent(ids->silent, ids->nr_silent, m->major, m->minor);
}

bool survey_copy_find(struct survey_ids *ids, uint32_t pid, int maps_fd,
		      const struct proc_mapping *m, char name[SURVEY_PATH_BYTES],
		      struct proc_mapping *beside, uint64_t *offset)
{
	if (!is_memory(m) || !m->start || survey_maps_at(maps_fd, m->start - 1, name, beside) ||
	    beside->end != m->start || !beside->inode || beside->is_shared ||
	    !may_read(ids, pid, beside))
		return false;
	if (ids->before)
		ids->before(beside, ids->arg);
	return find_offset(ids->root, pid, beside, m, offset);
}
