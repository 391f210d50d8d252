/*
 * The file that --output-file names.
 */
#ifndef SCREEN_OUTPUT_FILE_H
#define SCREEN_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct err;

/*
 * Returns a descriptor for writing. The file has mode 0600 and appears as path in
 * output_file_close; until then an older file stays. Symbolic links, files of other users, inputs,
 * manifests and traces are refused here. A terminal, /dev/null, a FIFO of this user or root, and a
 * descriptor by its name (/dev/stdout) are written to directly. -errno with *e. One file at a time.
 */
int output_file_open(const char *path, const char *const *inputs, size_t nr, struct err *e);
/* Closes the descriptor. is_whole: the file is synced and appears under its name; else it is
 * removed. 0 or -errno with *e. */
int output_file_close(int fd, const char *path, bool is_whole, struct err *e);

#endif
