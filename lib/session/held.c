/*
 * A child process removes the folder: it sees the end of this process on its socket, also after
 * SIGKILL.
 */
#include "session/held.h"

#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum { ENTRIES_BYTES = 32 << 10, END_MS = 1000, TRIES = 50, PAUSE_MS = 10 };

/* In the child: without the heap (base/child.h), hence without readdir. Folders are not made in
 * it. */
static void remove_folder(const char *path)
{
	static _Alignas(struct dirent64) char entries[ENTRIES_BYTES];
	int dirfd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	/* A recorder that was started on the folder may write, and rename what it has written,
	 * until it has ended. */
	for (int tries = 0; rmdir(path) && dirfd >= 0 && tries < TRIES;) {
		ssize_t len =
		    lseek(dirfd, 0, SEEK_SET) ? 0 : getdents64(dirfd, entries, sizeof(entries));
		bool is_progress = false;

		for (ssize_t at = 0; at < len;) {
			const struct dirent64 *d = (const void *)(entries + at);

			is_progress |= unlinkat(dirfd, d->d_name, 0) == 0;
			at += d->d_reclen;
		}
		if (is_progress)
			continue;
		tries++;
		(void)poll(NULL, 0, PAUSE_MS);
	}
}

/* The byte says that the end of the parent, which SIGIO reports too, no longer ends this process.
 */
static void remove_at_end(int fd, const void *arg)
{
	const char ready = 1;
	char byte;

	(void)signal(SIGIO, SIG_IGN);
	setsid(); /* kill(1) of the process group is not for this process */
	if (write(fd, &ready, 1) != 1)
		return;
	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
	remove_folder(arg);
}

static bool is_in_memory(const char *path)
{
	struct statfs fs;

	return *path == '/' && statfs(path, &fs) == 0 &&
	       (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

/* Names a new folder there, and makes it once there is a process that will remove it. */
static int make(struct held *h, const char *place)
{
	char random[IO_RANDOM_NAME_BYTES], ready;
	int rc = io_random_name(random);

	if (rc == 0 &&
	    snprintf(h->path, sizeof(h->path), "%s/%s", place, random + 1) >= (int)sizeof(h->path))
		rc = -ENAMETOOLONG;
	rc = rc ?: child_start(&h->remover, SOCK_STREAM, "cpuperf-held", remove_at_end, h->path);
	if (rc)
		return rc;
	if (read(h->remover.fd, &ready, 1) != 1)
		rc = -ECHILD;
	else if (mkdir(h->path, 0700))
		rc = -errno;
	if (rc)
		child_end(&h->remover, END_MS);
	return rc;
}

static void note_room(struct held *h)
{
	struct statfs fs;

	if (statfs(h->path, &fs) == 0)
		h->least_blocks = fs.f_bavail / 2;
}

int held_open_in(const char *place, struct held *h, struct err *e)
{
	int rc;

	*h = HELD_NONE;
	rc = make(h, place);
	if (rc == 0)
		note_room(h);
	else
		*h->path = '\0';
	return rc ? err_set_at(e, rc, place, 0, 0, "no folder can be made there: %s", strerror(-rc))
		  : 0;
}

int held_open(struct held *h, struct err *e)
{
	const char *const places[] = {secure_getenv("XDG_RUNTIME_DIR"), "/dev/shm"};
	int rc = -ENOENT;

	*h = HELD_NONE;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && rc; i++)
		if (places[i] && is_in_memory(places[i]))
			rc = make(h, places[i]);
	if (rc) {
		*h->path = '\0';
		return err_set(e, rc, "the session cannot be held in memory: %s",
			       rc == -ENOENT
				   ? "neither $XDG_RUNTIME_DIR nor /dev/shm is a folder in "
				     "memory (tmpfs)"
				   : strerror(-rc));
	}
	note_room(h);
	return 0;
}

bool held_is_full(const struct held *h)
{
	struct statfs fs;

	return *h->path && statfs(h->path, &fs) == 0 && fs.f_bavail < h->least_blocks;
}

uint64_t held_room_bytes(const struct held *h)
{
	struct statfs fs;

	return *h->path && statfs(h->path, &fs) == 0 ? h->least_blocks * (uint64_t)fs.f_bsize : 0;
}

void held_close(struct held *h)
{
	char byte;

	if (h->remover.fd >= 0 && shutdown(h->remover.fd, SHUT_WR) == 0)
		while (read(h->remover.fd, &byte, 1) < 0 && errno == EINTR)
			;
	child_end(&h->remover, END_MS);
	*h = HELD_NONE;
}
