/*
 * The file that --output-file names.
 */
#ifndef CPUPERF_PRINT_OUT_FILE_H
#define CPUPERF_PRINT_OUT_FILE_H

#include <stddef.h>

struct err;

/*
 * Opens path for writing and empties it, as shell redirection does: the place is the user's own
 * choice, and links are followed. But sessions are not destroyed: the files that are read (inputs),
 * whatever is the session file of any session and whatever begins as a trace does are refused with
 * -EEXIST and stay as they are.
 * A descriptor, or -errno with *e set.
 */
int out_file_open(const char *path, const char *const *inputs, size_t nr, struct err *e);

#endif
