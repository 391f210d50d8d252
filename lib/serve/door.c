/*
 * One thread, which sees what has come without reading it: that is for whoever answers.
 */
#include "serve/door.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { MAX_EVENTS = 64, AT_ONCE = 64, RETRY_MS = 100, LISTENER = 0, WAKE = 1, FIRST_GUEST = 2 };

/* A connection that waits. */
struct guest {
	int fd;          /* -1: its place is free */
	uint64_t number; /* the larger, the later */
	uint64_t since_ns;
	bool has_asked;
	struct sockaddr_storage from;
	socklen_t len;
};

struct door {
	struct door_config config;
	int fd, epoll, wake;
	pthread_t thread;
	atomic_bool is_ending;
	bool is_shut; /* nobody is accepted: there is no place */
	uint64_t nr_came;
	char *head; /* what has come of one, to be looked at */
	struct guest guests[DOOR_MAX_WAITING];
};

bool door_is_head(const char *bytes, size_t len)
{
	size_t at = 0;

	while (at < len && (bytes[at] == '\r' || bytes[at] == '\n'))
		at++;
	for (; at < len; at++) {
		if (bytes[at] != '\n')
			continue;
		if (at + 1 < len && bytes[at + 1] == '\n')
			return true;
		if (at + 2 < len && bytes[at + 1] == '\r' && bytes[at + 2] == '\n')
			return true;
	}
	return false;
}

static int watch(const struct door *d, int fd, uint32_t events, uint64_t number)
{
	struct epoll_event e = {.events = events, .data.u64 = number};

	return epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static void set_shut(struct door *d, bool is_shut)
{
	struct epoll_event e = {.events = is_shut ? 0 : EPOLLIN, .data.u64 = LISTENER};

	if (d->is_shut != is_shut && epoll_ctl(d->epoll, EPOLL_CTL_MOD, d->fd, &e) == 0)
		d->is_shut = is_shut;
}

/* --- those who wait -------------------------------------------------------------------------- */

static struct guest *find_number(struct door *d, uint64_t number)
{
	return ARRAY_FIND(g, d->guests, DOOR_MAX_WAITING, g->fd >= 0 && g->number == number);
}

static struct guest *find_place(struct door *d)
{
	return ARRAY_FIND(g, d->guests, DOOR_MAX_WAITING, g->fd < 0);
}

/* Who has waited longest, of those that have asked, or of those that have not. */
static struct guest *find_first(struct door *d, bool has_asked)
{
	struct guest *first = NULL;

	for (size_t i = 0; i < DOOR_MAX_WAITING; i++) {
		struct guest *g = &d->guests[i];

		if (g->fd >= 0 && g->has_asked == has_asked &&
		    (!first || g->number < first->number))
			first = g;
	}
	return first;
}

static void send_away(struct guest *g)
{
	io_close(&g->fd);
}

/* False: there is no room. Nothing more of it needs to be seen. */
static bool let_in(struct door *d, struct guest *g)
{
	(void)epoll_ctl(d->epoll, EPOLL_CTL_DEL, g->fd, NULL);
	if (!d->config.enter(d->config.arg, g->fd, (const struct sockaddr *)&g->from, g->len))
		return false;
	g->fd = -1;
	return true;
}

/* Nothing more will come of one that is over. */
static void look_at(struct door *d, struct guest *g, bool is_over)
{
	const ssize_t n = recv(g->fd, d->head, d->config.max_head_bytes, MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR) && !is_over)
		return;
	g->has_asked =
	    n > 0 && ((size_t)n == d->config.max_head_bytes || door_is_head(d->head, (size_t)n));
	if (g->has_asked)
		(void)let_in(d, g);
	else if (n <= 0 || is_over)
		send_away(g);
}

/* --- the thread ------------------------------------------------------------------------------ */

/* A place for one more; what has come of who must leave is looked at once more. NULL: all have
 * asked. */
static struct guest *make_place(struct door *d)
{
	struct guest *g = find_place(d), *first;

	while (!g && (first = find_first(d, false))) {
		look_at(d, first, true);
		g = find_place(d);
	}
	return g;
}

static void accept_some(struct door *d)
{
	for (int i = 0; i < AT_ONCE; i++) {
		struct guest *g = make_place(d);
		struct guest came = {.len = sizeof(came.from)};

		if (!g) {
			set_shut(d, true);
			return;
		}
		came.fd = accept4(d->fd, (struct sockaddr *)&came.from, &came.len,
				  SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (came.fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
			set_shut(d, true); /* for a moment */
		if (came.fd < 0)
			return;
		came.number = FIRST_GUEST + d->nr_came++;
		came.since_ns = clock_monotonic_ns();
		*g = came;
		if (watch(d, g->fd, EPOLLIN | EPOLLRDHUP | EPOLLET, g->number))
			send_away(g);
	}
}

static void let_in_all(struct door *d)
{
	struct guest *g;

	while ((g = find_first(d, true)) && let_in(d, g))
		;
}

/* Sends away who has waited too long without having asked. Returns for how long to wait at most, in
 * ms; -1: without limit. */
static int tidy(struct door *d)
{
	const uint64_t now = clock_monotonic_ns(), longest = (uint64_t)DOOR_MAX_WAIT_S * 1000000000;
	struct guest *g;

	while ((g = find_first(d, false)) && now - g->since_ns >= longest)
		send_away(g);
	if (d->is_shut)
		return RETRY_MS;
	return g ? (int)((g->since_ns + longest - now) / 1000000) + 1 : -1;
}

static void take_event(struct door *d, const struct epoll_event *e)
{
	struct guest *g = find_number(d, e->data.u64);
	eventfd_t ignored;

	if (e->data.u64 == WAKE)
		(void)eventfd_read(d->wake, &ignored);
	else if (e->data.u64 == LISTENER)
		accept_some(d);
	else if (g)
		look_at(d, g, e->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR));
}

static void *keep(void *arg)
{
	struct door *d = arg;
	struct epoll_event events[MAX_EVENTS];

	while (!atomic_load(&d->is_ending)) {
		const int nr = epoll_wait(d->epoll, events, MAX_EVENTS, tidy(d));

		set_shut(d, false);
		for (int i = 0; i < nr; i++)
			take_event(d, &events[i]);
		let_in_all(d);
	}
	return NULL;
}

static int begin(struct door *d)
{
	int rc;

	d->epoll = epoll_create1(EPOLL_CLOEXEC);
	d->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (d->epoll < 0 || d->wake < 0)
		return -errno;
	d->head = mem_alloc(d->config.max_head_bytes);
	if (!d->head)
		return -ENOMEM;
	rc = watch(d, d->fd, EPOLLIN, LISTENER) ?: watch(d, d->wake, EPOLLIN, WAKE);
	return rc ?: thread_start_blocked(&d->thread, keep, d);
}

void door_free(struct door *d)
{
	if (!d)
		return;
	io_close(&d->epoll);
	io_close(&d->wake);
	mem_free(d->head);
	mem_free(d);
}

int door_open(const struct door_config *config, int fd, struct door **out)
{
	struct door *d = mem_zalloc(sizeof(*d));
	int rc;

	if (!d)
		return -ENOMEM;
	d->config = *config;
	d->fd = fd;
	for (size_t i = 0; i < DOOR_MAX_WAITING; i++)
		d->guests[i].fd = -1;
	*out = d; /* before enter may be called */
	rc = begin(d);
	if (rc) {
		*out = NULL;
		door_free(d);
	}
	return rc;
}

void door_has_room(struct door *d)
{
	(void)eventfd_write(d->wake, 1);
}

void door_stop(struct door *d)
{
	atomic_store(&d->is_ending, true);
	door_has_room(d);
	pthread_join(d->thread, NULL);
	io_close(&d->fd);
	for (size_t i = 0; i < DOOR_MAX_WAITING; i++)
		io_close(&d->guests[i].fd);
}
