/*
 * The functions whose calls are counted as resources: one table. Each is passed on to what stands
 * behind it. What the C library calls for itself does not come here.
 *
 * They are declared here, as no header does: those with optional arguments pass on all that there
 * may be.
 *
 * Resources are stacks of the same memory as the heap's, each with the number of its resource as
 * innermost address: one memory and one reader serve both, and malloc's hooks do nothing for it. A
 * row has the signature, what is done before the call and after it; resources.c adds up.
 */
#include "agent/heap/waits.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define HOOK __attribute__((visibility("default"))) AGENT_ALIGNS

struct stream;
struct folder;

/* struct mmsghdr */
struct message {
	uintptr_t header[7];
	uint32_t bytes;
};

/* stack_t */
struct alternate {
	const char *begin;
	int flags;
	size_t bytes;
};

/* --- what is done before a call, and after it */

#define NOTHING ((void)0)

enum { DUPFD = 0, DUPFD_CLOEXEC = 1030, RANGE_CLOEXEC = 4, SS_DISABLED = 2 };

#define IS_DUP(command) ((command) == DUPFD || (command) == DUPFD_CLOEXEC)

/* fd: below 0: none */
#define OPENED(fd)                                                                                 \
	do {                                                                                       \
		int fd_ = (fd);                                                                    \
                                                                                                   \
		if (fd_ >= 0 && AGENT_UNLIKELY(agent_may_want(HEAP_WANTS_FDS)))                    \
			agent_fd_opened(fd_, AGENT_HERE);                                          \
	} while (0)

#define OPENED_PAIR(result, fds)                                                                   \
	do {                                                                                       \
		if ((result) == 0) {                                                               \
			OPENED((fds)[0]);                                                          \
			OPENED((fds)[1]);                                                          \
		}                                                                                  \
	} while (0)

#define OPENED_BY(of, number)                                                                      \
	do {                                                                                       \
		if ((of) && AGENT_UNLIKELY(agent_may_want(HEAP_WANTS_FDS)))                        \
			OPENED(real.number(of));                                                   \
	} while (0)

#define CLOSING(first, last) agent_fd_closing((uint32_t)(first), (uint32_t)(last))

#define CLOSING_OF(of, number)                                                                     \
	do {                                                                                       \
		int fd_ = (of) && agent_alive() ? real.number(of) : -1;                            \
                                                                                                   \
		CLOSING(fd_, fd_);                                                                 \
	} while (0)

#define CLOSING_RANGE(first, last, flags)                                                          \
	do {                                                                                       \
		if (!((flags)&RANGE_CLOEXEC))                                                      \
			CLOSING(first, last);                                                      \
	} while (0)

/* bytes: below 0: the call failed, and moved none */
#define MOVED(of, bytes)                                                                           \
	do {                                                                                       \
		if (AGENT_UNLIKELY(agent_may_want(HEAP_WANTS_IO))) {                               \
			long bytes_ = (bytes);                                                     \
                                                                                                   \
			agent_moved((of), bytes_ > 0 ? (uint64_t)bytes_ : 0, AGENT_HERE);          \
		}                                                                                  \
	} while (0)

#define READ_BYTES(bytes)    MOVED(HEAP_RESOURCE_READ, bytes)
#define WRITTEN_BYTES(bytes) MOVED(HEAP_RESOURCE_WRITTEN, bytes)
#define MOVED_BYTES(bytes)                                                                         \
	do {                                                                                       \
		READ_BYTES(bytes);                                                                 \
		WRITTEN_BYTES(bytes);                                                              \
	} while (0)

/* struct rlimit has words of 64 bits, or of 32 in a 32-bit program. */
#define LIMITING(pid, of, limit)                                                                   \
	do {                                                                                       \
		if (sizeof(long) == sizeof(uint64_t))                                              \
			agent_limiting((pid), (of), (limit));                                      \
		else                                                                               \
			agent_limiting_32((pid), (of), (limit));                                   \
	} while (0)

/* Remembers the thread's alternate signal stack, which agent_capture may have to walk. */
#define HAS_ALTERNATE(result, stack)                                                               \
	do {                                                                                       \
		if ((result) == 0 && (stack))                                                      \
			agent_stack_alternate((uintptr_t)(stack)->begin,                           \
					      (stack)->flags &SS_DISABLED ? 0 : (stack)->bytes);   \
	} while (0)

/* stack_: of the thread that is created; 0: it is not counted */
#define CREATING(kind, function, arg)                                                              \
	uint32_t stack_ = 0;                                                                       \
                                                                                                   \
	if (AGENT_UNLIKELY(agent_may_want(HEAP_WANTS_THREADS | HEAP_WANTS_TIMES))) {               \
		union agent_start start_ = {.kind = (function)};                                   \
                                                                                                   \
		stack_ = agent_thread_creating(&start_, &(arg), IS_##kind, AGENT_HERE);            \
		(function) = start_.kind;                                                          \
	}
#define CREATED(result, arg)                                                                       \
	do {                                                                                       \
		if (stack_)                                                                        \
			agent_thread_created(stack_, (arg), (result) == 0);                        \
	} while (0)

enum { IS_posix, IS_c11 };

enum { SET_SECCOMP = 22, FILTER_MODE = 2, SET_TSC = 26, NO_TSC = 2 };

static uint32_t before_prctl(int option, unsigned long a, unsigned long b)
{
	if (option == SET_SECCOMP)
		return agent_filtering(a != FILTER_MODE, (const void *)b);
	return option == SET_TSC && a == NO_TSC ? agent_clock_stopping() : agent.forbidden;
}

#define FORBIDDING(option, a, b) const uint32_t before_ = before_prctl(option, a, b)
#define FORBIDDEN(result)                                                                          \
	do {                                                                                       \
		if ((result) != 0 && before_ != agent.forbidden)                                   \
			agent_not_filtering(before_);                                              \
	} while (0)

static long sum_of(const struct message *messages, int nr)
{
	long sum = 0;

	for (int i = 0; i < nr; i++)
		sum += messages[i].bytes;
	return sum;
}

/* --- the result's type, the name, parameters, arguments, what is done before, and after with the
 * result r */

#define EACH(X)                                                                                    \
	/* what creates a thread */                                                                \
	X(int, pthread_create,                                                                     \
	  (unsigned long *id, const void *attributes, void *(*function)(void *), void *arg),       \
	  (id, attributes, function, arg), CREATING(posix, function, arg), CREATED(r, arg))        \
	X(int, thrd_create, (unsigned long *id, int (*function)(void *), void *arg),               \
	  (id, function, arg), CREATING(c11, function, arg), CREATED(r, arg))                      \
	/* what it forbids itself, and all that it starts */                                       \
	BOTH(X, int, prctl, __prctl_time64,                                                        \
	     (int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d),     \
	     (option, a, b, c, d), FORBIDDING(option, a, b), FORBIDDEN(r))                         \
	/* how many addresses it may have */                                                       \
	X(int, setrlimit, (int of, const void *limit), (of, limit), LIMITING(0, of, limit),        \
	  NOTHING)                                                                                 \
	X(int, setrlimit64, (int of, const void *limit), (of, limit),                              \
	  agent_limiting(0, of, limit), NOTHING)                                                   \
	X(int, prlimit, (int pid, int of, const void *limit, void *old), (pid, of, limit, old),    \
	  LIMITING(pid, of, limit), NOTHING)                                                       \
	X(int, prlimit64, (int pid, int of, const void *limit, void *old), (pid, of, limit, old),  \
	  agent_limiting(pid, of, limit), NOTHING)                                                 \
	X(int, mlockall, (int flags), (flags), agent_locking(), NOTHING)                           \
	/* as whom, and from where, it could connect */                                            \
	X(int, setuid, (unsigned int user), (user), agent_attach_now(), NOTHING)                   \
	X(int, seteuid, (unsigned int user), (user), agent_attach_now(), NOTHING)                  \
	X(int, setreuid, (unsigned int real_user, unsigned int user), (real_user, user),           \
	  agent_attach_now(), NOTHING)                                                             \
	X(int, setresuid, (unsigned int real_user, unsigned int user, unsigned int saved),         \
	  (real_user, user, saved), agent_attach_now(), NOTHING)                                   \
	X(int, unshare, (int flags), (flags), agent_attach_now(), NOTHING)                         \
	X(int, setns, (int fd, int kind), (fd, kind), agent_attach_now(), NOTHING)                 \
	/* the stack of its handlers */                                                            \
	X(int, sigaltstack, (const struct alternate *new, struct alternate *old), (new, old),      \
	  NOTHING, HAS_ALTERNATE(r, new))                                                          \
	/* what opens a descriptor */                                                              \
	X(int, open, (const char *path, int flags, unsigned int mode), (path, flags, mode),        \
	  NOTHING, OPENED(r))                                                                      \
	X(int, open64, (const char *path, int flags, unsigned int mode), (path, flags, mode),      \
	  NOTHING, OPENED(r))                                                                      \
	X(int, openat, (int dir, const char *path, int flags, unsigned int mode),                  \
	  (dir, path, flags, mode), NOTHING, OPENED(r))                                            \
	X(int, openat64, (int dir, const char *path, int flags, unsigned int mode),                \
	  (dir, path, flags, mode), NOTHING, OPENED(r))                                            \
	X(int, __open_2, (const char *path, int flags), (path, flags), NOTHING, OPENED(r))         \
	X(int, __open64_2, (const char *path, int flags), (path, flags), NOTHING, OPENED(r))       \
	X(int, __openat_2, (int dir, const char *path, int flags), (dir, path, flags), NOTHING,    \
	  OPENED(r))                                                                               \
	X(int, __openat64_2, (int dir, const char *path, int flags), (dir, path, flags), NOTHING,  \
	  OPENED(r))                                                                               \
	X(int, creat, (const char *path, unsigned int mode), (path, mode), NOTHING, OPENED(r))     \
	X(int, creat64, (const char *path, unsigned int mode), (path, mode), NOTHING, OPENED(r))   \
	X(int, mkstemp, (char *path), (path), NOTHING, OPENED(r))                                  \
	X(int, mkstemp64, (char *path), (path), NOTHING, OPENED(r))                                \
	X(int, mkostemp, (char *path, int flags), (path, flags), NOTHING, OPENED(r))               \
	X(int, mkostemp64, (char *path, int flags), (path, flags), NOTHING, OPENED(r))             \
	X(int, mkstemps, (char *path, int len), (path, len), NOTHING, OPENED(r))                   \
	X(int, mkstemps64, (char *path, int len), (path, len), NOTHING, OPENED(r))                 \
	X(int, mkostemps, (char *path, int len, int flags), (path, len, flags), NOTHING,           \
	  OPENED(r))                                                                               \
	X(int, mkostemps64, (char *path, int len, int flags), (path, len, flags), NOTHING,         \
	  OPENED(r))                                                                               \
	X(int, dup, (int from), (from), NOTHING, OPENED(r))                                        \
	X(int, socket, (int domain, int type, int protocol), (domain, type, protocol), NOTHING,    \
	  OPENED(r))                                                                               \
	X(int, accept, (int from, void *address, void *len), (from, address, len), WAITS_IN_VAIN,  \
	  WAITED OPENED(r))                                                                        \
	X(int, accept4, (int from, void *address, void *len, int flags),                           \
	  (from, address, len, flags), WAITS_IN_VAIN, WAITED OPENED(r))                            \
	X(int, epoll_create, (int size), (size), NOTHING, OPENED(r))                               \
	X(int, epoll_create1, (int flags), (flags), NOTHING, OPENED(r))                            \
	X(int, eventfd, (unsigned int value, int flags), (value, flags), NOTHING, OPENED(r))       \
	X(int, timerfd_create, (int clock, int flags), (clock, flags), NOTHING, OPENED(r))         \
	X(int, signalfd, (int from, const void *signals, int flags), (from, signals, flags),       \
	  WITHOUT_OURS(signals), OPENED(r))                                                        \
	X(int, inotify_init, (void), (), NOTHING, OPENED(r))                                       \
	X(int, inotify_init1, (int flags), (flags), NOTHING, OPENED(r))                            \
	X(int, fanotify_init, (unsigned int flags, unsigned int of_events), (flags, of_events),    \
	  NOTHING, OPENED(r))                                                                      \
	X(int, memfd_create, (const char *name, unsigned int flags), (name, flags), NOTHING,       \
	  OPENED(r))                                                                               \
	X(int, pidfd_open, (int pid, unsigned int flags), (pid, flags), NOTHING, OPENED(r))        \
	X(int, posix_openpt, (int flags), (flags), NOTHING, OPENED(r))                             \
	X(int, shm_open, (const char *name, int flags, unsigned int mode), (name, flags, mode),    \
	  NOTHING, OPENED(r))                                                                      \
	X(int, dup2, (int from, int to), (from, to), NOTHING, OPENED(from == to ? -1 : r))         \
	X(int, dup3, (int from, int to, int flags), (from, to, flags), NOTHING, OPENED(r))         \
	BOTH(X, int, fcntl, __fcntl_time64, (int fd, int command, long argument),                  \
	     (fd, command, argument), NOTHING, OPENED(IS_DUP(command) ? r : -1))                   \
	X(int, fcntl64, (int fd, int command, long argument), (fd, command, argument), NOTHING,    \
	  OPENED(IS_DUP(command) ? r : -1))                                                        \
	X(int, pipe, (int *fds), (fds), NOTHING, OPENED_PAIR(r, fds))                              \
	X(int, pipe2, (int *fds, int flags), (fds, flags), NOTHING, OPENED_PAIR(r, fds))           \
	X(int, socketpair, (int domain, int type, int protocol, int *fds),                         \
	  (domain, type, protocol, fds), NOTHING, OPENED_PAIR(r, fds))                             \
	X(struct stream *, fopen, (const char *path, const char *mode), (path, mode), NOTHING,     \
	  OPENED_BY(r, fileno))                                                                    \
	X(struct stream *, fopen64, (const char *path, const char *mode), (path, mode), NOTHING,   \
	  OPENED_BY(r, fileno))                                                                    \
	X(struct stream *, popen, (const char *command, const char *mode), (command, mode),        \
	  NOTHING, OPENED_BY(r, fileno))                                                           \
	X(struct stream *, tmpfile, (void), (), NOTHING, OPENED_BY(r, fileno))                     \
	X(struct stream *, tmpfile64, (void), (), NOTHING, OPENED_BY(r, fileno))                   \
	X(struct folder *, opendir, (const char *path), (path), NOTHING, OPENED_BY(r, dirfd))      \
	X(struct stream *, freopen, (const char *path, const char *mode, struct stream *of),       \
	  (path, mode, of), CLOSING_OF(of, fileno), OPENED_BY(r, fileno))                          \
	X(struct stream *, freopen64, (const char *path, const char *mode, struct stream *of),     \
	  (path, mode, of), CLOSING_OF(of, fileno), OPENED_BY(r, fileno))                          \
	/* what closes one */                                                                      \
	X(int, close, (int fd), (fd), CLOSING(fd, fd), NOTHING)                                    \
	X(int, close_range, (unsigned int first, unsigned int last, int flags),                    \
	  (first, last, flags), CLOSING_RANGE(first, last, flags), NOTHING)                        \
	X(int, fclose, (struct stream * of), (of), CLOSING_OF(of, fileno), NOTHING)                \
	X(int, pclose, (struct stream * of), (of), CLOSING_OF(of, fileno), NOTHING)                \
	X(int, closedir, (struct folder * of), (of), CLOSING_OF(of, dirfd), NOTHING)               \
	/* what reads */                                                                           \
	X(long, read, (int fd, void *to, size_t bytes), (fd, to, bytes), WAITS_IN_VAIN,            \
	  WAITED READ_BYTES(r))                                                                    \
	X(long, __read_chk, (int fd, void *to, size_t bytes, size_t room), (fd, to, bytes, room),  \
	  WAITS_IN_VAIN, WAITED READ_BYTES(r))                                                     \
	X(long, pread, (int fd, void *to, size_t bytes, long at), (fd, to, bytes, at),             \
	  WAITS_IN_VAIN, WAITED READ_BYTES(r))                                                     \
	X(long, pread64, (int fd, void *to, size_t bytes, int64_t at), (fd, to, bytes, at),        \
	  WAITS_IN_VAIN, WAITED READ_BYTES(r))                                                     \
	X(long, __pread_chk, (int fd, void *to, size_t bytes, long at, size_t room),               \
	  (fd, to, bytes, at, room), WAITS_IN_VAIN, WAITED READ_BYTES(r))                          \
	X(long, __pread64_chk, (int fd, void *to, size_t bytes, int64_t at, size_t room),          \
	  (fd, to, bytes, at, room), WAITS_IN_VAIN, WAITED READ_BYTES(r))                          \
	X(long, readv, (int fd, const void *parts, int nr), (fd, parts, nr), WAITS_IN_VAIN,        \
	  WAITED READ_BYTES(r))                                                                    \
	X(long, preadv, (int fd, const void *parts, int nr, long at), (fd, parts, nr, at),         \
	  WAITS_IN_VAIN, WAITED READ_BYTES(r))                                                     \
	X(long, preadv64, (int fd, const void *parts, int nr, int64_t at), (fd, parts, nr, at),    \
	  WAITS_IN_VAIN, WAITED READ_BYTES(r))                                                     \
	X(long, preadv2, (int fd, const void *parts, int nr, long at, int flags),                  \
	  (fd, parts, nr, at, flags), WAITS_IN_VAIN, WAITED READ_BYTES(r))                         \
	X(long, preadv64v2, (int fd, const void *parts, int nr, int64_t at, int flags),            \
	  (fd, parts, nr, at, flags), WAITS_IN_VAIN, WAITED READ_BYTES(r))                         \
	X(long, recv, (int fd, void *to, size_t bytes, int flags), (fd, to, bytes, flags),         \
	  WAITS_IN_VAIN, WAITED READ_BYTES(r))                                                     \
	X(long, __recv_chk, (int fd, void *to, size_t bytes, size_t room, int flags),              \
	  (fd, to, bytes, room, flags), WAITS_IN_VAIN, WAITED READ_BYTES(r))                       \
	X(long, recvfrom, (int fd, void *to, size_t bytes, int flags, void *address, void *len),   \
	  (fd, to, bytes, flags, address, len), WAITS_IN_VAIN, WAITED READ_BYTES(r))               \
	X(long, __recvfrom_chk,                                                                    \
	  (int fd, void *to, size_t bytes, size_t room, int flags, void *address, void *len),      \
	  (fd, to, bytes, room, flags, address, len), WAITS_IN_VAIN, WAITED READ_BYTES(r))         \
	BOTH(X, long, recvmsg, __recvmsg64, (int fd, void *message, int flags),                    \
	     (fd, message, flags), WAITS_IN_VAIN, WAITED READ_BYTES(r))                            \
	BOTH(X, int, recvmmsg, __recvmmsg64,                                                       \
	     (int fd, struct message *messages, unsigned int nr, int flags, void *timeout),        \
	     (fd, messages, nr, flags, timeout), WAITS_IN_VAIN,                                    \
	     WAITED READ_BYTES(sum_of(messages, r)))                                               \
	/* what writes */                                                                          \
	X(long, write, (int fd, const void *from, size_t bytes), (fd, from, bytes), WAITS_IN_VAIN, \
	  WAITED WRITTEN_BYTES(r))                                                                 \
	X(long, pwrite, (int fd, const void *from, size_t bytes, long at), (fd, from, bytes, at),  \
	  WAITS_IN_VAIN, WAITED WRITTEN_BYTES(r))                                                  \
	X(long, pwrite64, (int fd, const void *from, size_t bytes, int64_t at),                    \
	  (fd, from, bytes, at), WAITS_IN_VAIN, WAITED WRITTEN_BYTES(r))                           \
	X(long, writev, (int fd, const void *parts, int nr), (fd, parts, nr), WAITS_IN_VAIN,       \
	  WAITED WRITTEN_BYTES(r))                                                                 \
	X(long, pwritev, (int fd, const void *parts, int nr, long at), (fd, parts, nr, at),        \
	  WAITS_IN_VAIN, WAITED WRITTEN_BYTES(r))                                                  \
	X(long, pwritev64, (int fd, const void *parts, int nr, int64_t at), (fd, parts, nr, at),   \
	  WAITS_IN_VAIN, WAITED WRITTEN_BYTES(r))                                                  \
	X(long, pwritev2, (int fd, const void *parts, int nr, long at, int flags),                 \
	  (fd, parts, nr, at, flags), WAITS_IN_VAIN, WAITED WRITTEN_BYTES(r))                      \
	X(long, pwritev64v2, (int fd, const void *parts, int nr, int64_t at, int flags),           \
	  (fd, parts, nr, at, flags), WAITS_IN_VAIN, WAITED WRITTEN_BYTES(r))                      \
	X(long, send, (int fd, const void *from, size_t bytes, int flags),                         \
	  (fd, from, bytes, flags), WAITS_IN_VAIN, WAITED WRITTEN_BYTES(r))                        \
	X(long, sendto,                                                                            \
	  (int fd, const void *from, size_t bytes, int flags, const void *address,                 \
	   unsigned int len),                                                                      \
	  (fd, from, bytes, flags, address, len), WAITS_IN_VAIN, WAITED WRITTEN_BYTES(r))          \
	BOTH(X, long, sendmsg, __sendmsg64, (int fd, const void *message, int flags),              \
	     (fd, message, flags), WAITS_IN_VAIN, WAITED WRITTEN_BYTES(r))                         \
	BOTH(X, int, sendmmsg, __sendmmsg64,                                                       \
	     (int fd, struct message *messages, unsigned int nr, int flags),                       \
	     (fd, messages, nr, flags), WAITS_IN_VAIN, WAITED WRITTEN_BYTES(sum_of(messages, r)))  \
	/* what does both */                                                                       \
	X(long, sendfile, (int to, int from, void *at, size_t bytes), (to, from, at, bytes),       \
	  WAITS_IN_VAIN, WAITED MOVED_BYTES(r))                                                    \
	X(long, sendfile64, (int to, int from, void *at, size_t bytes), (to, from, at, bytes),     \
	  WAITS_IN_VAIN, WAITED MOVED_BYTES(r))                                                    \
	X(long, splice,                                                                            \
	  (int from, void *from_at, int to, void *to_at, size_t bytes, unsigned int flags),        \
	  (from, from_at, to, to_at, bytes, flags), WAITS_IN_VAIN, WAITED MOVED_BYTES(r))          \
	X(long, copy_file_range,                                                                   \
	  (int from, void *from_at, int to, void *to_at, size_t bytes, unsigned int flags),        \
	  (from, from_at, to, to_at, bytes, flags), WAITS_IN_VAIN, WAITED MOVED_BYTES(r))

/* Those that are only called, and one without a result. */
#define EACH_OTHER(X)                                                                              \
	X(int, fileno, (struct stream *))                                                          \
	X(int, dirfd, (struct folder *))                                                           \
	X(void, closefrom, (int))                                                                  \
	X(void, _exit, (int))                                                                      \
	X(void, _Exit, (int))                                                                      \
	X(void, quick_exit, (int))

static struct {
#define FIELD(type, name, parameters, ...) type(*name) parameters;
	EACH_WAIT(FIELD)
	EACH_TRY(FIELD)
	EACH(FIELD)
	EACH_OTHER(FIELD)
	bool is_found;
} real;

#define FIND(type, name, ...)                                                                      \
	found = agent_find(#name);                                                                 \
	if (found)                                                                                 \
		memcpy(&real.name, &found, sizeof(found));

/* Begin and end of this library's code, defined by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

/* In advance, as the dynamic loader has locks. */
__attribute__((constructor)) AGENT_RARE void agent_wrappers_find(void)
{
	void *found;

	agent.text = (uintptr_t)__ehdr_start;
	agent.text_bytes = (uint64_t)(etext - __ehdr_start);
	EACH_TRY(FIND)
	EACH_WAIT(FIND)
	EACH(FIND)
	EACH_OTHER(FIND)
	real.is_found = true;
}

/* Constructors of other libraries may run before ours. */
#define REAL(name) ((AGENT_LIKELY(real.is_found) ? (void)0 : agent_wrappers_find()), real.name)

/* Called in place of a function that this C library does not have. */
static AGENT_RARE long fail(void)
{
	errno = ENOSYS;
	return -1;
}

#define FAILED(type) ((type) _Generic((type)0, int : fail(), long : fail(), default : 0))

#define WRAP(type, name, parameters, arguments, before, after)                                     \
	HOOK type name parameters;                                                                 \
	type name parameters                                                                       \
	{                                                                                          \
		type(*behind) parameters = REAL(name);                                             \
		type r;                                                                            \
                                                                                                   \
		if (AGENT_UNLIKELY(!behind))                                                       \
			return FAILED(type);                                                       \
		if (agent_has_no_locals())                                                         \
			return behind arguments;                                                   \
		before;                                                                            \
		r = behind arguments;                                                              \
		after;                                                                             \
		return r;                                                                          \
	}
EACH(WRAP)
EACH_WAIT(WRAP)

HOOK void closefrom(int first);
void closefrom(int first)
{
	void (*behind)(int) = REAL(closefrom);

	if (!agent_has_no_locals())
		CLOSING(first > 0 ? first : 0, UINT32_MAX);
	if (behind)
		behind(first);
}

/* Functions that end the process without running destructors. */
#define WRAP_END(name)                                                                             \
	HOOK AGENT_OF_ENDS __attribute__((noreturn)) void name(int status);                        \
	void name(int status)                                                                      \
	{                                                                                          \
		void (*behind)(int) = REAL(name);                                                  \
                                                                                                   \
		if (!agent_has_no_locals())                                                        \
			agent_ends();                                                              \
		if (behind)                                                                        \
			behind(status);                                                            \
		__builtin_trap();                                                                  \
	}
WRAP_END(_exit)
WRAP_END(_Exit)
WRAP_END(quick_exit)
