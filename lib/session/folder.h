/*
 * A folder that holds one session and nothing else.
 */
#ifndef SESSION_FOLDER_H
#define SESSION_FOLDER_H

#include <stdbool.h>

struct err;

/*
 * Makes the folder, of mode 0700, for a new session. One that is there is renamed to path.old if
 * keeps_old, in place of the one of that name; else its files are removed. Refused, with nothing
 * changed, unless all that is removed or renamed is a session of this user that is not being
 * recorded: -EEXIST, -EBUSY. 0 or -errno with *e.
 */
int session_folder_make(const char *path, bool keeps_old, struct err *e);

#endif
