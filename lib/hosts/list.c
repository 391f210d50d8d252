/*
 * Finds the parts of a job. The folder may come from anybody.
 */
#include "hosts/list.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct reading {
	int dirfd;
	const char *path;
	struct hosts_list list;
	size_t room;
	bool is_job; /* some folder has HOSTS_FILE */
	struct err *e;
};

static int set_failed(const char *folder, const char *why, struct hosts_part *p)
{
	p->status = HOSTS_FAILED;
	p->is_unread = true;
	snprintf(p->host, sizeof(p->host), "%s", folder);
	snprintf(p->reason, sizeof(p->reason), HOSTS_FILE ": %.480s", why);
	return 1;
}

static bool has_file(int fd, const char *name)
{
	struct stat st;

	return sys()->fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int find_any(const char *name, void *arg)
{
	(void)arg;
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* 1: the folder is a part, or was to be one: a session without HOSTS_FILE, or empty. 0: it is none.
 */
static int read_part(const char *folder, struct reading *r, struct hosts_part *p)
{
	IO_AUTO_FD int fd = sys()->openat(r->dirfd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	char path[PATH_MAX];
	struct err e = {0};
	int rc;

	if (fd < 0)
		return 0;
	hosts_part_init(p);
	if (!has_file(fd, HOSTS_FILE)) {
		if (has_file(fd, CPSESSION_FOLDER_MANIFEST))
			return set_failed(folder, "it is missing", p);
		return io_each_name(fd, find_any, NULL) == 0
			   ? set_failed(folder, "it is missing: the folder is empty", p)
			   : 0;
	}
	r->is_job = true;
	snprintf(path, sizeof(path), "%s/%s", r->path, folder);
	rc = hosts_part_read(fd, path, p, &e);
	if (rc == -ENOMEM)
		return err_set(r->e, rc, "out of memory");
	return rc == 0 ? 1 : set_failed(folder, e.msg, p);
}

static int add(const char *folder, void *arg)
{
	struct reading *r = arg;
	struct hosts_entry *entry;
	struct hosts_part part;
	int rc;

	if (*folder == '.')
		return 0;
	rc = read_part(folder, r, &part);
	if (rc <= 0)
		return rc;
	if (r->list.nr == HOSTS_MAX_PARTS)
		return err_set_at(r->e, -E2BIG, r->path, 0, 0, "is a job of more than %d parts",
				  HOSTS_MAX_PARTS);
	entry = MEM_ADD(r->list.entry, r->list.nr, r->room);
	if (!entry)
		return err_set(r->e, -ENOMEM, "out of memory");
	snprintf(entry->folder, sizeof(entry->folder), "%s", folder);
	entry->part = part;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct hosts_entry *x = a, *y = b;

	/* HOSTS_ABSENT is the least */
	return strverscmp(x->part.host, y->part.host)
		   ?: (x->part.rank > y->part.rank) - (x->part.rank < y->part.rank)
		   ?: strcmp(x->folder, y->folder);
}

int hosts_list_read(int dirfd, const char *path, struct hosts_list *out, struct err *e)
{
	struct err own = {0};
	struct reading r = {.dirfd = dirfd, .path = path, .e = e ? e : &own};
	int rc = io_each_name(dirfd, add, &r);

	if (rc) {
		hosts_list_fini(&r.list);
		return err_set_at(r.e, rc, path, 0, 0, "cannot be read: %s", strerror(-rc));
	}
	if (!r.is_job)
		hosts_list_fini(&r.list);
	order_sort(r.list.entry, r.list.nr, sizeof(*r.list.entry), compare);
	*out = r.list;
	return 0;
}

void hosts_list_fini(struct hosts_list *l)
{
	mem_free(l->entry);
	*l = (struct hosts_list){.nr = 0};
}
