/*
 * Complete reads and writes, and safe creation of files: no links are followed, only the owner has
 * access, and the final name is given to complete files only.
 *
 * Input that a user names is a regular file or a descriptor (/dev/stdin, /dev/fd/N: a shell's
 * pipe), by io_open_input: other FIFOs and devices are refused without opening them.
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
/* The same at a file offset. */
ssize_t io_pread_full(int fd, void *buf, size_t len, uint64_t at);
/* Writes everything. 0 or -errno. */
int io_write_full(int fd, const void *buf, size_t len);
int io_pwrite_full(int fd, const void *buf, size_t len, uint64_t at); /* at a file offset */
/* The same for several pieces, some of which may be empty; modifies them. */
int io_writev_full(int fd, struct iovec *piece, size_t nr);
/* Appends a whole file, pipe or /proc text to *out. -EFBIG: longer than out's limit; -EISDIR. */
int io_load(int dirfd, const char *path, struct buf *out);
int io_load_fd(int fd, struct buf *out); /* the same for a descriptor */
void io_close(int *fd);                  /* if >= 0; sets it to -1 */
void io_close_cleanup(int *fd);
#define IO_AUTO_FD __attribute__((cleanup(io_close_cleanup)))

/*
 * Opens a regular file for reading, named by a person; *st: of the opened file. Anything else is
 * refused without opening it or waiting for it: -EISDIR; -EINVAL (a FIFO, a device). flags: 0 or
 * O_NOFOLLOW, with which a link is -ELOOP.
 */
int io_open_regular(int dirfd, const char *path, int flags, struct stat *st);
/* The same of a path that others may have written, so that root is led to no file by somebody who
 * may not read it: -ELOOP: the path is another user's link to a file that is not that user's;
 * -EMLINK: the file has other names, not everybody may read it, and who can write the folder is
 * not its owner. */
int io_open_linked(int dirfd, const char *path, int flags, struct stat *st);
enum { IO_NOBODY = 65534 };
/* The user who may have written a file: its owner, or IO_NOBODY if everybody may write it. */
uint32_t io_writer(const struct stat *st);
/* The user to whom something belongs that two users wrote: the other one if one is root, else
 * IO_NOBODY. */
uint32_t io_writer_of_both(uint32_t uid, uint32_t other);
/* What rc of these functions means. */
const char *io_reason(int rc);
/* The same of a path in a folder that is not left, as if it were /: also links lead to places in
 * it. -ENOSYS: Linux before 5.6. */
int io_open_regular_within(int dirfd, const char *path, int flags, struct stat *st);
/* The descriptor that path denotes (/dev/stdin, /dev/fd/N …), or -1. Such a file may be of any
 * type: the parent of this program chose it. */
int io_named_descriptor(const char *path);
/* Opens a regular file as above, or duplicates the descriptor that path denotes. -errno with *e,
 * which names the path. */
int io_open_input(const char *path, struct err *e);
/* The same of a path that others may have written: io_open_linked. */
int io_open_linked_input(const char *path, struct err *e);

/* Syncs a file or a folder. 0 or -errno; 0 too if that is not supported (a pipe, a terminal). */
int io_sync(int fd);

/* An unpredictable name, for a file that is renamed later. */
enum { IO_RANDOM_NAME_BYTES = sizeof(".cpuperf-0123456789abcdef") };
int io_random_name(char name[IO_RANDOM_NAME_BYTES]);

/* An unnamed file for reading and writing, mode 0600, in TMPDIR or /tmp. 0 or -errno with *e. */
int io_open_temporary(int *fd, struct err *e);

/*
 * Opens the folder of path; *name: its last part, in path. -errno with *e: no such folder, not a
 * folder, or path ends in a slash.
 */
int io_open_folder(const char *path, int *dirfd, const char **name, struct err *e);

/* Reads and writes return -EAGAIN instead of waiting: of all who share the open file. */
void io_set_nonblocking(int fd);

/* Calls fn for each name in the folder, also . and .., in no order, until it returns non-zero.
 * That, 0, or -errno. Does not close dirfd. */
int io_each_name(int dirfd, int (*fn)(const char *name, void *arg), void *arg);

/*
 * io_write_atomic writes data to a new file .name.tmp of mode 0600 (or a random name, if another
 * user's file has that), then renames it to folder/name. The caller must ensure, by a lock, that
 * nobody else writes this name. An existing file is replaced only if it is a regular file of the
 * effective user, and may_replace(fd open for reading) returns 1 (0: no; -errno); may_replace NULL:
 * replace it unconditionally. On failure neither name remains. path is for messages.
 * io_check_replaceable checks beforehand: 0 if the name is free or may be replaced.
 */
typedef int io_may_replace_fn(int fd);
int io_check_replaceable(int dirfd, const char *name, const char *path,
			 io_may_replace_fn *may_replace, struct err *e);
int io_write_atomic(int dirfd, const char *name, const char *path, const void *data, size_t len,
		    io_may_replace_fn *may_replace, struct err *e);
/* The first half of io_write_atomic: writes the temporary file, and its name to temporary, for
 * io_publish. is_durable: also syncs it. On failure nothing remains. */
int io_write_temporary(int dirfd, const char *name, const char *path, const void *data, size_t len,
		       bool is_durable, char temporary[NAME_MAX + 1], struct err *e);
/* The second half: renames the complete file folder/temporary to name by the same rule. On failure
 * it remains. */
int io_publish(int dirfd, const char *temporary, const char *name, const char *path,
	       io_may_replace_fn *may_replace, struct err *e);
/* Whether rc is what these functions return when the name is taken by something that is not
 * replaced. */
bool io_is_taken(int rc);
/* Creates a file of mode 0600 that grows under its final name, open for writing as *fd. First
 * removes an existing file, if the same rule permits (may_replace is not NULL); its readers keep
 * it. On failure nothing was created. */
int io_create(int dirfd, const char *name, const char *path, io_may_replace_fn *may_replace,
	      int *fd, struct err *e);

#endif
