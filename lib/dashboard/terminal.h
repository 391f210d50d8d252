/*
 * A terminal that shows a canvas: the only file that sees ncurses. What ncurses writes goes into
 * memory and from there to the terminal as far as it takes it, so that nothing here waits; only
 * what changed is sent. Colours (256, 16 or none) and keys are the terminal's own. One at a time
 * in a process, and of one thread; terminal_restore is for signal handlers.
 */
#ifndef DASHBOARD_TERMINAL_H
#define DASHBOARD_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct canvas;
struct err;
struct key;
struct terminal;

/* Takes over the terminal behind fd: another screen, keys as they are struck. The locale's
 * LC_CTYPE is set (its encoding says whether there is UTF-8). -errno with *e: it is no terminal, or
 * one that cannot do this. */
int terminal_open(int fd, struct terminal **out, struct err *e);
/* Gives it back as it was, and waits for that at most about so long; a terminal that is held (^S)
 * is let go then. False: it takes nothing, and is left as it is. NULL is fine. */
bool terminal_close(struct terminal *t, unsigned wait_ms);

bool terminal_is_utf8(const struct terminal *t);
void terminal_size(const struct terminal *t, unsigned *width, unsigned *height);
/* The size may have changed: asks for it anew. */
void terminal_resize(struct terminal *t);

/* The descriptor to wait for, and whether for writing too. */
int terminal_fd(const struct terminal *t);
bool terminal_is_behind(const struct terminal *t);
/* Writes what waits, as far as the terminal takes it. 0 or -errno: it is gone. */
int terminal_flush(struct terminal *t);
/* All that was ever written. */
uint64_t terminal_nr_bytes(const struct terminal *t);

/* Shows the canvas, which has the terminal's size; not while it is behind. */
void terminal_draw(struct terminal *t, const struct canvas *c);
/* The next draw sends all. */
void terminal_redraw(struct terminal *t);
/* 1: a key; 0: none now; -errno: the terminal is gone. */
int terminal_key(struct terminal *t, struct key *out);

/* Gives the terminal back for the time that the process is stopped, and takes it again. In the
 * background it cannot be taken: false. */
bool terminal_leave(struct terminal *t, unsigned wait_ms);
bool terminal_enter(struct terminal *t);
bool terminal_is_entered(const struct terminal *t);

/* For a process that is about to be ended by a signal. Async-signal-safe. */
void terminal_restore(void);

#endif
