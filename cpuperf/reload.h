/*
 * What follows a session whose spec is read again (SIGHUP): shared by main.c, which reads it, and
 * what measures.
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
