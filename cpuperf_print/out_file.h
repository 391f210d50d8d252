/*
 * The file that --output-file names.
 */
#ifndef CPUPERF_PRINT_OUT_FILE_H
#define CPUPERF_PRINT_OUT_FILE_H

struct err;

/*
 * Opens path for writing and empties it, as shell redirection does: the place is the user's own
 * choice, and links are followed. But what is being read is not destroyed: session, the session
 * file, and whatever begins as a trace does are refused with -EEXIST and stay as they are.
 * A descriptor, or -errno with *e set.
 */
int out_file_open(const char *path, const char *session, struct err *e);

#endif
