/*
 * What follows a session whose spec is read again (SIGHUP): shared by main.c, which reads it, and
 * what measures.
 *
 * The thread that measures reads the spec after an iteration, from options to plan, into a further
 * struct wanted (wanted.h). Only if it is valid, and another spec, the session ends and one by it
 * follows in the same process; the old one stays until the new one has begun, and the server of
 * metrics stays open. A session never changes its spec, as its files describe themselves.
 */
#ifndef CPUPERF_RELOAD_H
#define CPUPERF_RELOAD_H

#include <stdbool.h>

struct serve;

struct reload {
	/* Reads the spec. True: it is valid and another, so the session shall end, and one by it
	 * follows. */
	bool (*read)(void *arg);
	void *arg;
	bool is_followed;    /* it was so */
	bool is_first;       /* no session was measured before */
	bool has_begun;      /* measuring has */
	struct serve *serve; /* owned: one listens for all sessions; NULL: none does yet */
};

#endif
