/*
 * --open: the page that was written, in the user's browser. Root by sudo is the user who called it:
 * his browser has his screen, and the file is his.
 */
#ifndef CPUPERF_PRINT_BROWSER_H
#define CPUPERF_PRINT_BROWSER_H

struct err;

/* Files are made and replaced as that user, until browser_end_user. Nothing, if it is not root by
 * sudo. */
void browser_begin_user(void);
void browser_end_user(void);
/* Of a file that could not be written as that user: where it can be. */
void browser_hint_user(struct err *e);
/* Starts the program that opens files, without a shell, and returns when it has ended, or goes on.
 * -errno with *e. */
int browser_open(const char *path, struct err *e);

#endif
