/*
 * The dashboard of a session that is being measured: a thread of its own draws, the measuring
 * thread hands copies over and never waits for it. What comes while it has no time replaces what
 * it has not taken yet, and that is counted.
 */
#ifndef DASHBOARD_SHOW_H
#define DASHBOARD_SHOW_H

#include "dashboard/model.h"

struct err;
struct show;

struct show_config {
	int fd; /* of the terminal */
	const struct model_facts *facts;
	void (*quit)(void *arg); /* asked for; from the thread that draws; perhaps several times */
	void *arg;
};

/* Takes the terminal, and for the whole process SIGTSTP, SIGCONT and SIGWINCH: other threads are
 * to be started later. -errno with *e. */
int show_start(const struct show_config *config, struct show **out, struct err *e);
/* From one thread. */
void show_iteration(struct show *s, const struct table *t);
void show_note(struct show *s, const char *text);
/* Gives the terminal back, and waits for that a little. -ETIMEDOUT: it takes nothing, and whoever
 * writes to it would wait. -EBUSY: so does the thread, which keeps what it borrowed. NULL is fine.
 */
int show_stop(struct show *s);

#endif
