/*
 * The file that --output-file names.
 */
#ifndef CPUPERF_PRINT_OUT_FILE_H
#define CPUPERF_PRINT_OUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct err;

/*
 * A descriptor to write what becomes path when it is whole: a file of mode 0600, which takes the
 * name in out_file_close. Until then, and if that never happens, what is there stays as it is.
 * Links are not followed, and another user's file is not replaced. Nor are sessions: the files that
 * are read (inputs), whatever is the session file of any session and whatever begins as a trace
 * does. All that is refused here already.
 * What is no file is written to as it stands: a terminal, /dev/null, a FIFO of this user or root,
 * and a descriptor by its name (/dev/stdout).
 * -errno with *e set. One at a time.
 */
int out_file_open(const char *path, const char *const *inputs, size_t nr, struct err *e);
/* Closes it; a file takes its name, on the disk, if it is whole. 0 or -errno with *e. */
int out_file_close(int fd, const char *path, bool is_whole, struct err *e);

#endif
