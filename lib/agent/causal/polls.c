/*
 * Waits for several descriptors at once: event loops. Such a wait is ended by whoever made one of
 * them readable. If that was the program itself (peers.c), the thread is spared what was paid
 * meanwhile. Of those that poll and select return, each must be of the program, as it is not known
 * which one was the first; epoll returns the first one first. It does so by the program's own
 * number for it, so a table has the descriptor of each: what stands in it of one that has been
 * closed is never asked for, or was written anew.
 *
 * Not known, so from outside: waits until there is room to write, descriptors of more than 65535,
 * epoll within epoll or in poll, timers, and what is waited for by io_uring or by system calls of
 * the program's own code.
 */
#include "agent/causal/agent.h"

#include <errno.h>
#include <stddef.h>

enum {
	READABLE =
	    0x1 | 0x2 | 0x8 | 0x10 | 0x40 | 0x80 | 0x2000, /* IN PRI ERR HUP RDNORM … RDHUP */
	MAX_FD = 1 << 16,
	NR_WATCHES = 1 << 13,
	MAX_TRIES = 8,
	ADD = 1, /* EPOLL_CTL_ADD */
	DELETE = 2,
	CHANGE = 3,
};

struct polled {
	int fd;
	int16_t events, returned;
};

struct event {
	uint32_t events;
	uint64_t data;
}
#if defined(__x86_64__)
__attribute__((packed))
#endif
;

/* --- what is watched by epoll */

struct watch {
	uint64_t owner; /* the epoll's descriptor, plus 1, and that which it watches; or 0, or: */
	uint64_t data;
};
static const uint64_t taken = 1;

static struct watch watches[NR_WATCHES];
static uint16_t last[MAX_FD]; /* by descriptor: its watch, plus 1 */

static uint64_t owner_of(int epoll, int fd)
{
	return (uint64_t)((uint32_t)epoll + 1) << 32 | (uint32_t)fd;
}

static struct watch *watch_at(int epoll, uint64_t data, uint32_t try)
{
	const uint64_t mixed = (data ^ (uint64_t)(uint32_t)epoll << 48) * 0x9e3779b97f4a7c15u;

	return &watches[((uint32_t)(mixed >> 48) + try) % NR_WATCHES];
}

static bool replace(struct watch *w, uint64_t before, uint64_t owner, uint64_t data)
{
	if (!__atomic_compare_exchange_n(&w->owner, &before, taken, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&w->data, data, __ATOMIC_RELAXED);
	__atomic_store_n(&w->owner, owner, __ATOMIC_RELEASE);
	return true;
}

static void forget(int epoll, int fd)
{
	const uint16_t number = __atomic_load_n(&last[fd], __ATOMIC_RELAXED);

	if (number)
		(void)replace(&watches[number - 1], owner_of(epoll, fd), 0, 0);
}

/* Free, of the same number, or the last of those that are looked at. */
static void watch(int epoll, int fd, uint64_t data)
{
	for (uint32_t i = 0; i < MAX_TRIES; i++) {
		struct watch *w = watch_at(epoll, data, i);
		const uint64_t owner = __atomic_load_n(&w->owner, __ATOMIC_ACQUIRE);
		const bool is_same = owner >> 32 == (uint32_t)epoll + 1 &&
				     __atomic_load_n(&w->data, __ATOMIC_RELAXED) == data;

		if ((owner && !is_same && i + 1 < MAX_TRIES) ||
		    !replace(w, owner, owner_of(epoll, fd), data))
			continue;
		__atomic_store_n(&last[fd], (uint16_t)(w - watches + 1), __ATOMIC_RELAXED);
		return;
	}
}

/* -1: not known. */
static int find_watched(int epoll, uint64_t data)
{
	for (uint32_t i = 0; i < MAX_TRIES; i++) {
		const struct watch *w = watch_at(epoll, data, i);
		const uint64_t owner = __atomic_load_n(&w->owner, __ATOMIC_ACQUIRE);

		if (owner >> 32 == (uint32_t)epoll + 1 &&
		    __atomic_load_n(&w->data, __ATOMIC_ACQUIRE) == data &&
		    __atomic_load_n(&w->owner, __ATOMIC_RELAXED) == owner)
			return (int)(uint32_t)owner;
	}
	return -1;
}

static int (*real_epoll_ctl)(int epoll, int what, int fd, void *event);
AGENT_EXPORTED int epoll_ctl(int epoll, int what, int fd, void *event);
AGENT_EXPORTED int epoll_ctl(int epoll, int what, int fd, void *event)
{
	const int r = AGENT_BEHIND(epoll_ctl)(epoll, what, fd, event);

	if (r || !agent.shared || fd < 0 || fd >= MAX_FD)
		return r;
	forget(epoll, fd);
	if (event && (what == ADD || what == CHANGE))
		watch(epoll, fd, ((const struct event *)event)->data);
	return r;
}

/* --- who ended a wait */

static bool is_poll_from_inside(const struct polled *list, unsigned long nr)
{
	bool is_any = false;

	for (unsigned long i = 0; i < nr; i++) {
		if (list[i].fd < 0 || !(list[i].returned & READABLE))
			continue;
		if (!agent_is_from_inside(list[i].fd))
			return false;
		is_any = true;
	}
	return is_any;
}

/* Of a set of select; NULL: it has none. */
static bool is_set_from_inside(const void *set, int nr, bool *is_any)
{
	enum { BITS = 8 * sizeof(unsigned long) };
	const unsigned long *word = set;

	for (int fd = 0; set && fd < nr; fd++) {
		if (!(word[fd / BITS] >> fd % BITS & 1))
			continue;
		if (!agent_is_from_inside(fd))
			return false;
		*is_any = true;
	}
	return true;
}

static bool is_select_from_inside(int nr, const void *reads, const void *others)
{
	bool is_any = false;

	return is_set_from_inside(reads, nr, &is_any) && is_set_from_inside(others, nr, &is_any) &&
	       is_any;
}

static bool is_epoll_from_inside(int epoll, const struct event *first)
{
	const int fd = first->events & READABLE ? find_watched(epoll, first->data) : -1;

	return fd >= 0 && agent_is_from_inside(fd);
}

/* name, parameters, arguments, whether the wait was ended from inside */
#define POLLS(X)                                                                                   \
	X(poll, (void *list, unsigned long nr, int timeout), (list, nr, timeout),                  \
	  is_poll_from_inside(list, nr))                                                           \
	X(ppoll, (void *list, unsigned long nr, const void *timeout, const void *mask),            \
	  (list, nr, timeout, mask), is_poll_from_inside(list, nr))                                \
	X(__poll_chk, (void *list, unsigned long nr, int timeout, size_t bytes),                   \
	  (list, nr, timeout, bytes), is_poll_from_inside(list, nr))                               \
	X(__ppoll_chk,                                                                             \
	  (void *list, unsigned long nr, const void *timeout, const void *mask, size_t bytes),     \
	  (list, nr, timeout, mask, bytes), is_poll_from_inside(list, nr))                         \
	X(select, (int nr, void *reads, void *writes, void *others, void *timeout),                \
	  (nr, reads, writes, others, timeout), is_select_from_inside(nr, reads, others))          \
	X(pselect,                                                                                 \
	  (int nr, void *reads, void *writes, void *others, const void *timeout,                   \
	   const void *mask),                                                                      \
	  (nr, reads, writes, others, timeout, mask), is_select_from_inside(nr, reads, others))    \
	X(epoll_wait, (int epoll, void *events, int nr, int timeout),                              \
	  (epoll, events, nr, timeout), is_epoll_from_inside(epoll, events))                       \
	X(epoll_pwait, (int epoll, void *events, int nr, int timeout, const void *mask),           \
	  (epoll, events, nr, timeout, mask), is_epoll_from_inside(epoll, events))                 \
	X(epoll_pwait2, (int epoll, void *events, int nr, const void *timeout, const void *mask),  \
	  (epoll, events, nr, timeout, mask), is_epoll_from_inside(epoll, events))

#define DEFINE_POLL(name, parameters, arguments, is_inside)                                        \
	static int(*real_##name) parameters;                                                       \
	AGENT_EXPORTED int name parameters;                                                        \
	AGENT_EXPORTED int name parameters                                                         \
	{                                                                                          \
		struct agent_thread *t = agent_here();                                             \
		const uint64_t slept = t ? t->slept_ns : 0,                                        \
			       since = t ? agent_now(CLOCK_MONOTONIC) : 0;                         \
		int r, error;                                                                      \
                                                                                                   \
		if (!AGENT_BEHIND(name)) { /* an older C library */                                \
			errno = ENOSYS;                                                            \
			return -1;                                                                 \
		}                                                                                  \
		r = AGENT_BEHIND(name) arguments;                                                  \
		error = errno;                                                                     \
		if (r > 0 && t && agent_owes() && (is_inside))                                     \
			agent_woken(t, since, slept);                                              \
		errno = error;                                                                     \
		return r;                                                                          \
	}

POLLS(DEFINE_POLL)

#define FIND_ONE(name, parameters, arguments, is_inside) (void)AGENT_BEHIND(name);

void agent_polls_init(void)
{
	POLLS(FIND_ONE)
	(void)AGENT_BEHIND(epoll_ctl);
}
