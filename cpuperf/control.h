/*
 * Commands of another program, by perf's control protocol: enable [EVENT], disable [EVENT], evlist
 * [-F], snapshot, stop, ping, each ended by a newline or a NUL; the answer is "ack\n" and a NUL. A
 * command without an end is complete when no more can be read, as in perf.
 *
 * They are read in the session's thread, between readings (session_config.on_control), which an
 * epoll descriptor wakes. Each event then has a group of its own, so that disabling one stops no
 * other; groups of the timebase stay, and follow it. session_enable marks events as off, which
 * every later enabling respects (windows, CPUs that come back, runs).
 */
#ifndef CPUPERF_CONTROL_H
#define CPUPERF_CONTROL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct session;

enum { CONTROL_LINE_BYTES = 512 }; /* with a NUL; longer lines are refused */

struct control {
	int fd, ack_fd;   /* owned; -1: none */
	bool has_request; /* the iteration ends before more is read */
	char line[CONTROL_LINE_BYTES];
	size_t len;
	bool is_too_long; /* the line at hand: it is skipped */
	bool has_warned;  /* of an answer that was not read */
	/* Set by the caller after control_open: prints a line that was asked for, or a warning. */
	void (*on_message)(const char *text, bool is_answer, void *arg);
	void *arg;
	bool is_until_end; /* a stop ends the iteration as the end of the target does */
};

/* text: "fifo:CTL[,ACK]" or "fd:CTL[,ACK]"; NULL: no control. FIFOs are opened without following
 * links, and must belong to the caller or root. 0 or -errno with *e. */
int control_open(const char *text, struct control *out, struct err *e);
void control_close(struct control *c);
/* Reads what has come and carries it out; never blocks. 1: nobody can send any more. */
int control_read(struct control *c, struct session *s);

#endif
