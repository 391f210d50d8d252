/*
 * A page in the user's browser. Root by sudo is the user who called it: his browser has his screen,
 * and a file that is written for it is his.
 */
#ifndef SERVE_BROWSER_H
#define SERVE_BROWSER_H

#include <stdbool.h>

struct err;

/* Files are made and replaced as that user, until browser_end_user. Nothing, if it is not root by
 * sudo. */
void browser_begin_user(void);
void browser_end_user(void);
/* Of a file that could not be written as that user: where it can be. */
void browser_hint_user(struct err *e);
/* By the variables of the environment. */
bool browser_has_screen(void);
/* Starts the program that opens files, without a shell, and returns when it has ended, or goes on.
 * option: that asked for it, for messages. -errno with *e. */
int browser_open(const char *path, const char *option, struct err *e);

#endif
