/*
 * The door of a server: a thread that accepts connections, and lets in those of which the head of a
 * request has come. The others wait; there is room for some, and whoever has waited longest without
 * having asked leaves it to who comes next. So connections that are opened and ask nothing, or
 * never end what they ask, delay nobody.
 */
#ifndef SERVE_DOOR_H
#define SERVE_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct door;

enum { DOOR_MAX_WAITING = 256, DOOR_MAX_WAIT_S = 10 };

/* Takes the connection, in the door's thread. False: there is no room now; it waits on. */
typedef bool door_enter_fn(void *arg, int fd, const struct sockaddr *from, socklen_t len);

struct door_config {
	size_t max_head_bytes; /* a longer head is let in, to be refused */
	door_enter_fn *enter;
	void *arg;
};

/* Of a socket that listens and does not block, which is the door's from success on. 0 or -errno. */
int door_open(const struct door_config *config, int fd, struct door **out);
/* There may be room again. From any thread. */
void door_has_room(struct door *d);
/* Who waits is sent away, and enter is not called any more when it returns. */
void door_stop(struct door *d);
void door_free(struct door *d); /* of one that is stopped; NULL is fine */

/* Whether the bytes have a whole head: up to an empty line, those before the first one aside. */
bool door_is_head(const char *bytes, size_t len);

#endif
