/*
 * A locked name.
 */
#include "session/place.h"

#include "base/err.h"
#include "base/io.h"

#include <errno.h>
#include <stdio.h>

int place_open(struct place *p, const char *path, const char *lock_suffix, struct err *e)
{
	char lock_name[NAME_MAX + 16], lock_path[PATH_MAX + 16];
	int rc;

	*p = PLACE_NONE;
	p->path = path;
	if (!*path)
		return 0;
	rc = io_open_folder(path, &p->dirfd, &p->name, e);
	if (rc)
		return rc;
	if (snprintf(lock_name, sizeof(lock_name), "%s%s", p->name, lock_suffix) > NAME_MAX)
		return err_set(e, -ENAMETOOLONG, "%s: the name is too long", path);
	snprintf(lock_path, sizeof(lock_path), "%s%s", path, lock_suffix);
	return lock_acquire(&p->lock, p->dirfd, lock_name, lock_path, e);
}

void place_close(struct place *p)
{
	lock_release(&p->lock);
	io_close(&p->dirfd);
}
