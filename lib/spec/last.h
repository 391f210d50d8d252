/*
 * The path of the caller's last session, which cpuperf_print reads if none is named:
 * $XDG_STATE_HOME/cpuperf/last, or ~/.local/state/cpuperf/last. ~ is $HOME, but the user's own home
 * if that is another user's.
 */
#ifndef SPEC_LAST_H
#define SPEC_LAST_H

#include <limits.h>

/* The folder of the file, made if need be. 0 or -errno, as last_write; path is set all the same, ""
 * if there is none. */
int last_folder(char path[PATH_MAX]);
/* path: of the manifest. Only folders and files of the effective user are used or made, mode 0700
 * and 0600; links below them are not followed. 0 or -errno; the old text remains then. */
int last_write(const char *path);
/* 0, -ENOENT if there is none, or -errno. */
int last_read(char path[PATH_MAX]);

#endif
