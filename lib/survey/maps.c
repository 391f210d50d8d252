/*
 * The ioctl, and what its answer means. Must not know what becomes of a mapping.
 */
#include "survey/maps.h"

#include "collect/proc_maps.h"
#include "elf/build_id.h"
#include "survey/ops.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

/* struct procmap_query, which older headers do not have. */
struct query {
	uint64_t size, flags, address;
	uint64_t start, end, vma_flags, page_bytes, offset, inode;
	uint32_t major, minor, name_bytes, build_id_bytes;
	uint64_t name, build_id; /* where to put them */
};
_Static_assert(sizeof(struct query) == 104, "struct procmap_query");

#define QUERY _IOWR('f', 17, struct query) /* PROCMAP_QUERY */

/* Of vma_flags: those of protection are numbered as in prot. */
enum { VMA_SHARED = 8, VMA_PROT = PROC_MAPS_READ | PROC_MAPS_WRITE | PROC_MAPS_EXEC };
/* Of flags: the mapping is executable; it holds the address, or is the next. */
enum { EXECUTABLE = PROC_MAPS_EXEC, OR_NEXT = 16 };

static int ask(int fd, uint64_t flags, uint64_t address, struct query *q)
{
	q->size = sizeof(*q);
	q->flags = flags;
	q->address = address;
	return survey_ops()->ioctl(fd, QUERY, q);
}

int survey_maps_next(int fd, uint64_t from, char name[SURVEY_PATH_BYTES], struct proc_mapping *out)
{
	struct query q = {.name_bytes = SURVEY_PATH_BYTES, .name = (uintptr_t)name};
	int rc = ask(fd, EXECUTABLE | OR_NEXT, from, &q);

	if (rc)
		return rc;
	if (q.end <= from || q.end <= q.start)
		return -EINVAL; /* no kernel says so, and there must be an end */
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

int survey_maps_build_id(int fd, const struct proc_mapping *m, struct elf_build_id *out)
{
	struct elf_build_id id;
	struct query q = {.build_id_bytes = sizeof(id.bytes), .build_id = (uintptr_t)id.bytes};
	int rc = ask(fd, 0, m->start, &q);

	if (rc)
		return rc;
	if (q.start != m->start || q.inode != m->inode || q.major != m->major ||
	    q.minor != m->minor)
		return -ESTALE; /* another mapping has its place now */
	if (!q.build_id_bytes || q.build_id_bytes > sizeof(id.bytes))
		return -ENODATA;
	id.len = (uint8_t)q.build_id_bytes;
	*out = id;
	return 0;
}
