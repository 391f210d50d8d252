/*
 * Lists a folder of /proc repeatedly through one descriptor. Uses getdents64, since readdir would
 * allocate for each folder. base/sys.h has no such call; to make it fail, tests pass a file.
 */
#include "proc/ids.h"

#include "base/mem.h"
#include "base/order.h"
#include "proc/list.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { ENTRIES_BYTES = 32768 }; /* 1,000 processes a call */

void proc_ids_fini(struct proc_ids *ids)
{
	mem_free(ids->list);
	mem_free(ids->entries);
	*ids = (struct proc_ids){0};
}

static int grow(struct proc_ids *ids)
{
	size_t cap = ids->cap ? 2 * ids->cap : 64;
	uint32_t *list;

	if (ids->nr == PROC_IDS_MAX)
		return -EFBIG;
	list = mem_resize(ids->list, cap * sizeof(*list));
	if (!list)
		return -ENOMEM;
	ids->list = list;
	ids->cap = cap;
	return 0;
}

static int add_entries(struct proc_ids *ids, size_t len)
{
	int rc = 0;

	for (size_t at = 0; at < len && rc == 0;) {
		const struct dirent64 *d = (const void *)((const char *)ids->entries + at);
		uint32_t id;

		at += d->d_reclen;
		if (!proc_parse_id(d->d_name, &id))
			continue;
		if (ids->nr == ids->cap)
			rc = grow(ids);
		if (rc == 0)
			ids->list[ids->nr++] = id;
	}
	return rc;
}

static int add_all(struct proc_ids *ids, int fd)
{
	ssize_t n;
	int rc = 0;

	if (!ids->entries)
		ids->entries = mem_alloc(ENTRIES_BYTES);
	if (!ids->entries)
		return -ENOMEM;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	while (rc == 0 && (n = getdents64(fd, ids->entries, ENTRIES_BYTES)) != 0)
		rc = n < 0 ? -errno : add_entries(ids, (size_t)n);
	return rc;
}

/* /proc lists processes in order, but threads in the order of their creation; other file systems
 * have their own order. */
static void sort(struct proc_ids *ids)
{
	size_t i, nr = 0;

	for (i = 1; i < ids->nr && ids->list[i - 1] < ids->list[i];)
		i++;
	if (i >= ids->nr)
		return;
	qsort(ids->list, ids->nr, sizeof(*ids->list), order_ids);
	for (i = 0; i < ids->nr; i++)
		if (!nr || ids->list[nr - 1] != ids->list[i])
			ids->list[nr++] = ids->list[i];
	ids->nr = nr;
}

int proc_ids_load(struct proc_ids *ids, int fd)
{
	int rc;

	ids->nr = 0;
	rc = add_all(ids, fd);
	if (rc)
		ids->nr = 0;
	sort(ids);
	return rc;
}
