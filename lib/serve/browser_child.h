/*
 * The process that becomes the browser (browser.h), and whose it is.
 */
#ifndef SERVE_BROWSER_CHILD_H
#define SERVE_BROWSER_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* Its exit status, if no browser could be started. */
enum { BROWSER_NOT_FOUND = 127, BROWSER_NOT_THE_USER = 126 };

struct browser_user {
	uid_t uid;
	gid_t gid;
};

/* Who called sudo. False: this process is not root, or not by sudo. */
bool browser_user_find(struct browser_user *u);
/* Becomes the program that opens the file, of that user, apart from the terminal. */
_Noreturn void browser_child(const char *path);

#endif
