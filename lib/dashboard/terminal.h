/*
 * A terminal that shows a canvas; the only file that uses ncurses. The output of ncurses is
 * buffered in memory and sent as far as the terminal accepts it, so no function blocks; only
 * changes are sent. Colours (256, 16 or none) and keys are the terminal's own. One per process, one
 * thread; terminal_restore is for signal handlers.
 *
 * Why so: ncurses writes to a file in memory, since its writes would block on a terminal that
 * accepts no output. The terminal is reopened non-blocking, as the inherited description is shared
 * with the shell.
 */
#ifndef DASHBOARD_TERMINAL_H
#define DASHBOARD_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

struct canvas;
struct err;
struct key;
struct terminal;

/* Takes over the terminal of fd: alternate screen, unbuffered keys. Sets LC_CTYPE of the locale
 * (its encoding decides whether UTF-8 is written). -errno with *e if it is no terminal, or cannot
 * do this.
 */
int terminal_open(int fd, struct terminal **out, struct err *e);
/* Restores the terminal, waiting at most about this long; a terminal held by ^S is released then.
 * False if it accepts no output: its screen stays as it is. NULL is fine. */
bool terminal_close(struct terminal *t, unsigned wait_ms);

bool terminal_is_utf8(const struct terminal *t);
void terminal_size(const struct terminal *t, unsigned *width, unsigned *height);
/* Reads the size again. */
void terminal_resize(struct terminal *t);

/* The descriptor to poll, and whether for writing too. */
int terminal_fd(const struct terminal *t);
bool terminal_is_behind(const struct terminal *t);
/* Sends pending output as far as the terminal accepts it. 0, or -errno if the terminal is gone. */
int terminal_flush(struct terminal *t);
/* Bytes written so far. */
uint64_t terminal_nr_bytes(const struct terminal *t);

/* Shows the canvas, which has the terminal's size; does nothing while output is pending. */
void terminal_draw(struct terminal *t, const struct canvas *c);
/* The next draw sends everything. */
void terminal_redraw(struct terminal *t);
/* 1: a key; 0: none; -errno: the terminal is gone. */
int terminal_key(struct terminal *t, struct key *out);

/* Restores the terminal while the process is stopped, and enters it again; false if the process
 * is in the background. */
bool terminal_leave(struct terminal *t, unsigned wait_ms);
bool terminal_enter(struct terminal *t);
bool terminal_is_entered(const struct terminal *t);

/* For a handler of a fatal signal. Async-signal-safe. */
void terminal_restore(void);

/* The mode of a terminal that is lent to another process, which shows a canvas there. */
struct terminal_lent {
	int fd;
	bool has_mode; /* else it is no terminal */
	struct termios mode;
};
void terminal_lend(int fd, struct terminal_lent *out);
/* Restores it after a process that was killed, and could not do so itself. */
void terminal_take_back(const struct terminal_lent *lent);

#endif
