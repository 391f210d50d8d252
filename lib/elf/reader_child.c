/*
 * The child's side (base/child.h): answers questions.
 */
#include "elf/reader_child.h"

#include "base/io.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CHUNK_BYTES = 64 << 10,
	MAX_HOLE_BYTES = 1 << 20, /* in excess of the bytes that are no hole */
	MAX_EXTENTS = 1 << 16,    /* the rest counts as bytes */
};

static bool receive(int fd, void *out, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = read(fd, (char *)out + done, len - done);

		if (n <= 0 && !(n < 0 && errno == EINTR))
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

bool elf_reader_send(int fd, const void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = send(fd, (const char *)data + done, len - done, MSG_NOSIGNAL);

		if (n <= 0 && !(n < 0 && errno == EINTR))
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* Whether holes make up most of the range. False if the file system does not report holes. */
static bool is_hollow(int fd, uint64_t offset, uint64_t len)
{
	uint64_t end = offset + len, at = offset, holes = 0;

	for (int i = 0; i < MAX_EXTENTS && at < end; i++) {
		off_t data = lseek(fd, (off_t)at, SEEK_DATA), hole;
		uint64_t next = data < 0 || (uint64_t)data > end ? end : (uint64_t)data;

		if (data < 0 && errno != ENXIO)
			return false;
		holes += next - at;
		hole = next < end ? lseek(fd, (off_t)next, SEEK_HOLE) : -1;
		at = hole < 0 || (uint64_t)hole <= next ? end : (uint64_t)hole;
	}
	return holes > len - holes && holes - (len - holes) > MAX_HOLE_BYTES;
}

/* By the times of change, because inodes are not stable on all file systems. */
bool elf_reader_is_same(const struct stat *a, const struct stat *b, bool may_grow)
{
	if (may_grow)
		return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size <= b->st_size;
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int check_same(int fd, const struct elf_reader_question *q, const struct stat *st)
{
	struct stat now;
	int rc = sys()->fstatat(fd, "", &now, AT_EMPTY_PATH);

	return rc ?: elf_reader_is_same(st, &now, q->may_grow) ? 0 : -ESTALE;
}

/* Sends the answer and its bytes, then whether they are valid: the file could be read and did
 * not change. At once, if they are few: each message may wake the parent. */
static bool send_bytes(int to, int fd, const struct elf_reader_question *q,
		       const struct elf_reader_answer *a)
{
	static char out[sizeof(*a) + CHUNK_BYTES + sizeof(int)];
	size_t used = sizeof(*a);
	int rc = 0;

	memcpy(out, a, sizeof(*a));
	for (uint64_t done = 0; done < a->len; used = 0) {
		size_t len = a->len - done < CHUNK_BYTES ? (size_t)(a->len - done) : CHUNK_BYTES;
		ssize_t n = rc ? rc : io_pread_full(fd, out + used, len, q->offset + done);

		if (n < 0 || (size_t)n < len)
			rc = n < 0 ? (int)n : -ESTALE;
		if (rc)
			memset(out + used, 0, len);
		used += len;
		done += len;
		if (done == a->len) {
			rc = rc ?: check_same(fd, q, &a->st);
			memcpy(out + used, &rc, sizeof(rc));
			used += sizeof(rc);
		}
		if (!elf_reader_send(to, out, used))
			return false;
	}
	return true;
}

static int open_root(const struct elf_reader_question *q)
{
	char root[PATH_MAX];

	memcpy(root, q->path, q->root_len);
	root[q->root_len] = '\0';
	return sys()->openat(AT_FDCWD, root, O_PATH | O_DIRECTORY, 0);
}

/* own: of the folder that is not left, if it was opened before. */
static int open_named(const struct elf_reader_question *q, int own, struct stat *st)
{
	const int flags = q->refuses_links ? O_NOFOLLOW : 0;
	IO_AUTO_FD int root = q->root_len && !q->is_own_root ? open_root(q) : -1;
	const int dirfd = q->is_own_root ? own : root;
	int fd;

	if (!q->root_len)
		return q->rights.are_limited || q->is_of_kernel
			   ? io_open_regular(AT_FDCWD, q->path, flags, st)
			   : io_open_linked(AT_FDCWD, q->path, flags, st);
	fd = dirfd < 0 ? dirfd : io_open_regular_within(dirfd, q->path + q->root_len, flags, st);
	/* Linux before 5.6, or a sandbox that does not know it: only with one's own rights. */
	if ((fd == -ENOSYS || fd == -EPERM) && !q->rights.are_limited)
		fd = io_open_regular(AT_FDCWD, q->path, flags, st);
	return fd;
}

/* The descriptor or -errno in *fd. False: this process has not its rights any more. */
static bool open_with_rights(const struct elf_reader_question *q, struct stat *st, int *fd)
{
	IO_AUTO_FD int root = q->root_len && q->is_own_root ? open_root(q) : -1;

	*fd = elf_rights_take(q->rights);
	if (*fd)
		return true;
	*fd = open_named(q, root, st);
	return elf_rights_return() == 0;
}

/* None of a file of which little is there: who reads it is answered that. */
static uint64_t len_of_start(int fd, const struct elf_reader_question *q, uint64_t size)
{
	uint64_t len = size < q->len ? size : q->len;

	return len && is_hollow(fd, 0, len) ? 0 : len;
}

static bool answer(int to, const struct elf_reader_question *q)
{
	struct elf_reader_answer a = {.rc = 0};
	IO_AUTO_FD int fd = -1;
	uint64_t size;

	if (!open_with_rights(q, &a.st, &fd))
		return false;
	size = fd >= 0 && a.st.st_size > 0 ? (uint64_t)a.st.st_size : 0;
	if (fd < 0)
		a.rc = fd == -EISDIR ? -EINVAL : fd;
	else if (q->offset > size || q->held_len > size - q->offset)
		a.rc = -ESTALE;
	else if (q->held_len && is_hollow(fd, q->offset, q->held_len))
		a.rc = -EFBIG;
	if (a.rc == 0)
		a.len = q->is_start ? len_of_start(fd, q, size) : q->len;
	return !a.len ? elf_reader_send(to, &a, sizeof(a)) : send_bytes(to, fd, q, &a);
}

void elf_reader_serve(int fd, const void *none)
{
	static struct elf_reader_question q;

	(void)none;
	while (receive(fd, &q, sizeof(q)) && answer(fd, &q))
		;
}
