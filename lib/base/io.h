/*
 * Whole reads and writes, and files that are made safely: no links followed,
 * owner-only, under their final name only when whole.
 */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct err;
struct iovec;
struct stat;

/* Reads until len bytes or the end of file; the number read or -errno. */
ssize_t io_read_full(int fd, void *buf, size_t len);
/* The same from a place in the file; where it was read stays. */
ssize_t io_pread_full(int fd, void *buf, size_t len, uint64_t at);
/* Writes all; 0 or -errno. */
int io_write_full(int fd, const void *buf, size_t len);
int io_pwrite_full(int fd, const void *buf, size_t len, uint64_t at); /* at a place in the file */
/* The same of pieces (some may be empty); changes them. */
int io_writev_full(int fd, struct iovec *piece, size_t nr);
/* Appends a whole regular file (or pipe, or /proc text) to *out, at most out's ceiling:
 * -EFBIG beyond it. A directory is -EISDIR. */
int io_load(int dirfd, const char *path, struct buf *out);
int io_load_fd(int fd, struct buf *out); /* the same of what is open */
void io_close(int *fd);                  /* closes *fd if >= 0 and sets it to -1 */
void io_close_cleanup(int *fd);
#define IO_AUTO_FD __attribute__((cleanup(io_close_cleanup)))

/*
 * Opens a file that a person named, for reading. What is no regular file (a FIFO, a device) is
 * refused, and neither waited for nor touched: -EISDIR, -EINVAL. Of the descriptor that is returned
 * *st tells. flags: 0, or O_NOFOLLOW: a link is -ELOOP.
 */
int io_open_regular(int dirfd, const char *path, int flags, struct stat *st);
/* The descriptor that path is a name of (/dev/stdin, /dev/fd/N …), or -1: who gave it to this
 * program chose what is behind it. */
int io_named_descriptor(const char *path);
/* A regular file as above, or what a named descriptor has behind it, whatever that is. -errno with
 * *e, which names the path. */
int io_open_input(const char *path, struct err *e);

/* What was written to a file, or to the names in a folder, is on the disk when this returns 0. What
 * has no disk behind it (a pipe, a terminal) is 0 too. */
int io_sync(int fd);

/* A name in any folder that nobody can guess: for a file that gets its own later. */
enum { IO_RANDOM_NAME_BYTES = sizeof(".cpuperf-0123456789abcdef") };
int io_random_name(char name[IO_RANDOM_NAME_BYTES]);

/* A file without a name, to be read and written, of mode 0600, which goes when it is closed: in
 * TMPDIR, else /tmp. 0 or -errno with *e. */
int io_open_temporary(int *fd, struct err *e);

/*
 * The folder part of path, opened (close it), and a pointer to the name in path.
 * -errno with *e set: no such folder, not a folder, no name at the end.
 */
int io_open_folder(const char *path, int *dirfd, const char **name, struct err *e);

/* Calls fn for each name in the folder (. and .. too), in no order. 0; what fn returned other than
 * 0, which ends the walk; -errno. dirfd stays the caller's. */
int io_each_name(int dirfd, int (*fn)(const char *name, void *arg), void *arg);

/*
 * io_write_atomic writes data as folder/name: a new file of mode 0600 named .name.tmp (by a random
 * name, where a stranger has that one), then renamed. The caller sees to it (by a lock) that nobody
 * else writes this name. An existing file is replaced only if it is a regular file (no link) of the
 * effective user, and may_replace says so of its content (it gets an fd open for reading; 1: yes,
 * 0: no, -errno); may_replace NULL: the caller knows that the name is its own. On failure nothing
 * is left under either name. path is for the message. io_check_replaceable asks the same
 * beforehand: 0 if the name is free or may be replaced.
 */
typedef int io_may_replace_fn(int fd);
int io_check_replaceable(int dirfd, const char *name, const char *path,
			 io_may_replace_fn *may_replace, struct err *e);
int io_write_atomic(int dirfd, const char *name, const char *path, const void *data, size_t len,
		    io_may_replace_fn *may_replace, struct err *e);
/* Its first half: the file under the other name, which goes to temporary, for io_publish.
 * is_durable: its content is on the disk. On failure nothing is left. */
int io_write_temporary(int dirfd, const char *name, const char *path, const void *data, size_t len,
		       bool is_durable, char temporary[NAME_MAX + 1], struct err *e);
/* Gives folder/temporary, a whole file, the name, by the same rule. On failure it is left. */
int io_publish(int dirfd, const char *temporary, const char *name, const char *path,
	       io_may_replace_fn *may_replace, struct err *e);
/* Whether that is what these functions return where the name has something that is not replaced, or
 * that came between. */
bool io_is_taken(int rc);
/* For a file that grows under its name: creates it, of mode 0600, to be written to *fd. What is
 * there is removed first, where the same rule lets it be replaced (may_replace is not NULL here):
 * who reads it keeps it. On failure no file was made. */
int io_create(int dirfd, const char *name, const char *path, io_may_replace_fn *may_replace,
	      int *fd, struct err *e);

#endif
