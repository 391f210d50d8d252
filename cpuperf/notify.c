#include "notify.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { NS_PER_US = 1000 };

/* A path, or a name in the abstract namespace: "@name". */
static int connect_to(const char *name)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const struct sockaddr *address = (const void *)&to;
	size_t len = strlen(name);
	int fd;

	if ((*name != '/' && *name != '@') || len >= sizeof(to.sun_path))
		return -1;
	memcpy(to.sun_path, name, len);
	if (*name == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 &&
	    connect(fd, address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)))
		io_close(&fd);
	return fd;
}

/* Of this process, or of whichever reads it. */
static uint64_t read_watchdog(void)
{
	const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t period_us, of;

	if (!us || str_parse_u64(us, &period_us) || period_us > UINT64_MAX / NS_PER_US)
		return 0;
	if (pid && (str_parse_u64(pid, &of) || of != (uint64_t)getpid()))
		return 0;
	return period_us * NS_PER_US;
}

void notify_open(struct notify *n)
{
	const char *name = getenv("NOTIFY_SOCKET");

	n->fd = name ? connect_to(name) : -1;
	n->watchdog_ns = n->fd >= 0 ? read_watchdog() : 0;
}

void notify_close(struct notify *n)
{
	io_close(&n->fd);
}

void notify_send(const struct notify *n, const char *text)
{
	if (n->fd >= 0)
		(void)send(n->fd, text, strlen(text), MSG_NOSIGNAL);
}

void notify_reloading(const struct notify *n)
{
	char text[64];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		 clock_monotonic_ns() / NS_PER_US);
	notify_send(n, text);
}
