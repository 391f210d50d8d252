/*
 * Tells a service manager how the session goes, by systemd's protocol (sd_notify(3)): that
 * measuring has begun, that it goes on, and that it ends. Without NOTIFY_SOCKET in the environment
 * all of this does nothing. A manager that does not read loses messages; nobody waits for it.
 */
#ifndef CPUPERF_NOTIFY_H
#define CPUPERF_NOTIFY_H

#include <stdint.h>

struct notify {
	int fd; /* -1: there is no manager */
	/* How often it wants to hear that measuring goes on; 0: never. */
	uint64_t watchdog_ns;
};

void notify_open(struct notify *n);
void notify_close(struct notify *n);
/* text: assignments, a line each: "READY=1". */
void notify_send(const struct notify *n, const char *text);
/* Measuring pauses, until READY=1. */
void notify_reloading(const struct notify *n);

#endif
