/*
 * Sends what waits, the oldest first.
 *
 * It runs in a child of a session (cpuperf/pushing.h), as measuring waits for no receiver. It
 * sends under a lock of the folder, and knows no formats: a file of the spool has a request with
 * everything but URL and secret. When to try next is a file there, with the reason, so that all
 * programs wait for a receiver that fails, and a run need not sleep. A profile has the same id in
 * each try. libcurl is loaded by dlopen once something is to be sent.
 */
#ifndef PUSH_SENDER_H
#define PUSH_SENDER_H

#include "push/answer.h"
#include "push/spool.h"

#include <signal.h>

struct push_http;

struct push_sender {
	struct push_spool *spool;
	struct push_http *http;
	enum push_protocol protocol;
	struct push_counts *counts;
	uint64_t wait_ns; /* for the receiver, at most, but not less than a second */
	/* Set by a signal handler: what is in progress is broken off. NULL: none does; with it,
	 * requests have their usual time, and the wait is only that for the next try. */
	const volatile sig_atomic_t *is_over;
	/* Of the last request that was not accepted, or before, if it is too early to try again;
	 * "": all were. */
	char why[PUSH_WHY_BYTES];
};

/* Tries until all is sent, a request fails that cannot be repeated within the wait, or the time is
 * over; at once, if the time of the last try permits it. What is broken off has failed. Returns at
 * once if another process sends. 0 or -errno: the spool cannot be read. */
int push_sender_run(struct push_sender *s);

/* How long to wait after so many failures in a row: doubled each time, up to 5 minutes, and less by
 * chance, up to half of it; not shorter than the receiver says, if that is at most an hour. random:
 * any number. */
uint64_t push_sender_delay_ns(uint64_t failures, uint64_t retry_after_s, uint64_t random);

#endif
