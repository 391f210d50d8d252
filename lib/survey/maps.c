/*
 * The ioctl PROCMAP_QUERY.
 */
#include "survey/maps.h"

#include "base/sys.h"
#include "elf/build_id.h"
#include "proc/maps.h"
#include "proc/proc.h"
#include "survey/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>

/* struct procmap_query; older headers do not have it. */
struct query {
	uint64_t size, flags, address;
	uint64_t start, end, vma_flags, page_bytes, offset, inode;
	uint32_t major, minor, name_bytes, build_id_bytes;
	uint64_t name, build_id; /* addresses of the buffers */
};
_Static_assert(sizeof(struct query) == 104, "struct procmap_query");

#define QUERY _IOWR('f', 17, struct query) /* PROCMAP_QUERY */

/* Of vma_flags. The bits of protection are those of prot. */
enum { VMA_SHARED = 8, VMA_PROT = PROC_MAPS_READ | PROC_MAPS_WRITE | PROC_MAPS_EXEC };
/* Of flags: executable mappings only; the one at the address, or else the next. */
enum { EXECUTABLE = PROC_MAPS_EXEC, OR_NEXT = 16 };

static int ask(int fd, uint64_t flags, uint64_t address, struct query *q)
{
	q->size = sizeof(*q);
	q->flags = flags;
	q->address = address;
	return survey_ops()->ioctl(fd, QUERY, q);
}

/* The one at the address, or by the flags after it. */
static int find(int fd, uint64_t flags, uint64_t address, char name[SURVEY_PATH_BYTES],
		struct proc_mapping *out)
{
	struct query q = {.name_bytes = SURVEY_PATH_BYTES, .name = (uintptr_t)name};
	int rc = ask(fd, flags, address, &q);

	if (rc)
		return rc;
	if (q.end <= address || q.end <= q.start)
		return -EINVAL; /* never from Linux; ensures that the walk ends */
	*out = (struct proc_mapping){
	    .start = q.start,
	    .end = q.end,
	    .offset = q.offset,
	    .inode = q.inode,
	    .major = q.major,
	    .minor = q.minor,
	    .prot = q.vma_flags & VMA_PROT,
	    .is_shared = q.vma_flags & VMA_SHARED,
	    .name = name,
	    .name_len = q.name_bytes ? strnlen(name, SURVEY_PATH_BYTES) : 0,
	};
	return 0;
}

int survey_maps_next(int fd, uint64_t from, char name[SURVEY_PATH_BYTES], struct proc_mapping *out)
{
	return find(fd, EXECUTABLE | OR_NEXT, from, name, out);
}

int survey_maps_at(int fd, uint64_t address, char name[SURVEY_PATH_BYTES], struct proc_mapping *out)
{
	return find(fd, 0, address, name, out);
}

int survey_maps_build_id(int fd, const struct proc_mapping *m, struct elf_build_id *out)
{
	struct elf_build_id id;
	struct query q = {.build_id_bytes = sizeof(id.bytes), .build_id = (uintptr_t)id.bytes};
	int rc = ask(fd, 0, m->start, &q);

	if (rc)
		return rc;
	if (q.start != m->start || q.inode != m->inode || q.major != m->major ||
	    q.minor != m->minor)
		return -ESTALE; /* another mapping took its place */
	if (!q.build_id_bytes || q.build_id_bytes > sizeof(id.bytes))
		return -ENODATA;
	id.len = (uint8_t)q.build_id_bytes;
	*out = id;
	return 0;
}

/* A link that shows a file which the process uses. */
static int open_shown(const struct proc *p, const char *name, uint64_t inode)
{
	char path[PATH_MAX];
	struct stat st;
	int rc = proc_find(p, name, &st); /* without opening: that may have effects on a device */

	if (rc)
		return rc;
	if (!S_ISREG(st.st_mode) || (inode && st.st_ino != inode))
		return -EINVAL;
	rc = proc_path(p, name, path, sizeof(path));
	return rc < 0 ? rc : sys()->openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
}

int survey_maps_open(const struct root *root, uint32_t pid, uint64_t start, uint64_t end,
		     uint64_t inode)
{
	const struct proc *p = PROC(root, pid);
	char name[PROC_NAME_BYTES];
	int fd, program;

	proc_map_file(start, end, name);
	fd = open_shown(p, name, inode);
	if (fd >= 0 || !inode)
		return fd;
	program = open_shown(p, "exe", inode);
	return program >= 0 ? program : fd;
}
