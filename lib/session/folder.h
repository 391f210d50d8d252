/*
 * A folder that contains only one session.
 *
 * It is the default without a spec file (./cpuperf.session), and what --output names; mode 0700.
 * An older session's folder is renamed to `.old` (the default) or emptied (--output), but only if
 * each entry in it is a regular file of the caller with a session's name, and no session is
 * recording there. Else a session that --output names is refused. While another session uses the
 * default folder, the next free of ./cpuperf.session.2 to .99 is taken. Sessions that begin at
 * once wait for each other until their files are locked, by flock(2) of the folder above, at most
 * a second. cpuperf_print accepts a folder as a session.
 */
#ifndef SESSION_FOLDER_H
#define SESSION_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct err;

/*
 * Makes the folder, mode 0700, for a new session. An existing one is renamed to path.old if
 * keeps_old, replacing that one; else its files are removed. Refused, with nothing changed, unless
 * all that would be removed or renamed is a session, or a job (hosts/part.h), of this user that is
 * not being recorded:
 * -EEXIST, -EBUSY, -EPERM (another user's). 0 or -errno with *e; *fd: the folder, -1 on failure.
 */
int session_folder_make(const char *path, bool keeps_old, int *fd, struct err *e);

/* Whether session_folder_make, without keeps_old, could make it now: 0 or -errno with *e. Changes
 * nothing. */
int session_folder_check(const char *path, struct err *e);

/* Whether session_folder_make failed because of another user's folder, or of one in which this user
 * may not write. */
bool session_folder_is_foreign(int rc);
/* Why, for a person: "./s belongs to alice". e: what session_folder_make returned for path. */
void session_folder_explain(const char *path, const struct err *e, char *why, size_t size);

/* True if there is no room for a short session in the file system of the folder, which need not
 * exist, also not when session_folder_make has removed what it replaces; false where that cannot be
 * tried. */
bool session_folder_is_full(const char *path, bool keeps_old);

/* Of sessions that begin in the folder above at the same time, one makes its folder after the
 * other: call it before session_folder_make, and close the descriptor when the session's files are
 * locked. -1: there is no such folder, or another holds it for longer than a session takes. */
int session_folder_take_turn(const char *path);

/*
 * Makes the first folder of path.2, path.3, … that can be made so, or replaced: for a session
 * beside another that still runs. *beside: of the folder. 0 or -errno with *e; *fd as above.
 */
int session_folder_make_beside(const char *path, char beside[PATH_MAX], int *fd, struct err *e);

/*
 * Makes a folder that only this user can enter: cpuperf.session beside the user's last session
 * (spec/last.h), where the one before becomes .old; a new one with a random name if that cannot be
 * used, in /tmp without a home. *path: of the folder. 0 or -errno with *e; *fd as above.
 */
int session_folder_make_private(char path[PATH_MAX], int *fd, struct err *e);

#endif
