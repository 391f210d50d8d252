/*
 * Whole reads and writes, and files that are made safely: no links followed,
 * owner-only, under their final name only when whole.
 */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct err;
struct iovec;

/* Reads until len bytes or the end of file; the number read or -errno. */
ssize_t io_read_full(int fd, void *buf, size_t len);
/* The same from a place in the file; where it was read stays. */
ssize_t io_pread_full(int fd, void *buf, size_t len, uint64_t at);
/* Writes all; 0 or -errno. */
int io_write_full(int fd, const void *buf, size_t len);
/* The same of pieces (some may be empty); changes them. */
int io_writev_full(int fd, struct iovec *piece, size_t nr);
/* Appends a whole regular file (or pipe, or /proc text) to *out, at most out's ceiling:
 * -EFBIG beyond it. A directory is -EISDIR. */
int io_load(int dirfd, const char *path, struct buf *out);
void io_close(int *fd); /* closes *fd if >= 0 and sets it to -1 */
void io_close_cleanup(int *fd);
#define IO_AUTO_FD __attribute__((cleanup(io_close_cleanup)))

/* A file without a name, to be read and written, of mode 0600, which goes when it is closed: in
 * TMPDIR, else /tmp. 0 or -errno with *e. */
int io_open_temporary(int *fd, struct err *e);

/*
 * The folder part of path, opened (close it), and a pointer to the name in path.
 * -errno with *e set: no such folder, not a folder, no name at the end.
 */
int io_open_folder(const char *path, int *dirfd, const char **name, struct err *e);

/*
 * io_write_atomic writes data as folder/name: a new file of mode 0600 named .name.tmp, then
 * renamed. The caller sees to it (by a lock) that nobody else writes this name. An existing file is
 * replaced only if it is a regular file (no link) of the effective user, and may_replace says so of
 * its content (it gets an fd open for reading; 1: yes, 0: no, -errno); may_replace NULL: the caller
 * knows that the name is its own. On failure nothing is left under either name. path is for the
 * message. io_check_replaceable asks the same beforehand: 0 if the name is free or may be replaced.
 */
typedef int io_may_replace_fn(int fd);
int io_check_replaceable(int dirfd, const char *name, const char *path,
			 io_may_replace_fn *may_replace, struct err *e);
int io_write_atomic(int dirfd, const char *name, const char *path, const void *data, size_t len,
		    io_may_replace_fn *may_replace, struct err *e);
/* For a file that grows under its name: creates it, of mode 0600, to be written to *fd. What is
 * there is removed first, where the same rule lets it be replaced (may_replace is not NULL here):
 * who reads it keeps it. On failure no file was made. */
int io_create(int dirfd, const char *name, const char *path, io_may_replace_fn *may_replace,
	      int *fd, struct err *e);

#endif
