/*
 * A folder that contains only one session.
 */
#ifndef SESSION_FOLDER_H
#define SESSION_FOLDER_H

#include <stdbool.h>

struct err;

/*
 * Makes the folder, mode 0700, for a new session. An existing one is renamed to path.old if
 * keeps_old, replacing that one; else its files are removed. Refused, with nothing changed, unless
 * all that would be removed or renamed is a session of this user that is not being recorded:
 * -EEXIST, -EBUSY. 0 or -errno with *e; *fd: the folder, -1 on failure.
 */
int session_folder_make(const char *path, bool keeps_old, int *fd, struct err *e);

#endif
