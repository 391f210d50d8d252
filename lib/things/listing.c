/*
 * Lists folders with getdents64.
 */
#include "things/listing.h"

#include "base/io.h"
#include "base/root.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
	STEP_BYTES = 32768,
	ENTRY_BYTES = sizeof(struct dirent64), /* at most */
	MAX_BYTES = 16 << 20,
};

int listing_open(struct listing *l, const struct root *root, const char *path)
{
	int fd = root_open(root, path);

	if (fd < 0)
		return fd;
	l->fd = fd;
	buf_init(&l->names, MAX_BYTES);
	buf_init(&l->next, MAX_BYTES);
	buf_init(&l->entries, STEP_BYTES);
	return 0;
}

void listing_close(struct listing *l)
{
	io_close(&l->fd);
	buf_fini(&l->names);
	buf_fini(&l->next);
	buf_fini(&l->entries);
}

/* lseek and getdents64 are not in base/sys.h; root_each calls them directly too. */
static int load(struct listing *l)
{
	char *entries;
	ssize_t n;

	buf_reset(&l->next);
	buf_reset(&l->entries);
	entries = buf_reserve(&l->entries, STEP_BYTES);
	if (!entries)
		return buf_error(&l->entries);
	if (lseek(l->fd, 0, SEEK_SET) < 0)
		return -errno;
	do {
		n = getdents64(l->fd, entries, STEP_BYTES);
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(entries + at);

			at += d->d_reclen;
			/* names only: the kernel does not clear the gaps between entries */
			if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
				buf_add(&l->next, d->d_name, strlen(d->d_name) + 1);
		}
		/* with room for another entry, it was the last call */
	} while (n > STEP_BYTES - ENTRY_BYTES);
	return n < 0 ? -errno : buf_error(&l->next);
}

int listing_look(struct listing *l)
{
	struct buf last = l->names;
	int rc = load(l);

	if (rc)
		return rc;
	l->names = l->next;
	l->next = last;
	return last.len != l->names.len ||
	       (last.len && memcmp(last.data, l->names.data, last.len) != 0);
}

const char *listing_each(const struct listing *l, size_t *at)
{
	const char *name;

	if (*at == l->names.len)
		return NULL;
	name = l->names.data + *at;
	*at += strlen(name) + 1;
	return name;
}
