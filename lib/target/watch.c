/*
 * Waiting by poll: on a pidfd of each process, or on the events file of a cgroup. Kernels
 * before 5.3 have no pidfd: there the number is asked for with a signal that is not sent, ten times
 * a second.
 */
#include "target/watch.h"

#include "base/mem.h"
#include "base/sys.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { PERIOD_MS = 100 };

struct target_watch {
	struct pollfd
	    *fds;    /* owned; of each process or the cgroup, and last the one that ends it */
	pid_t *pids; /* owned; those without a pidfd, else 0 */
	size_t nr;
	bool is_cgroup, has_thread;
	char cgroup_events[256]; /* as last read */
	pthread_t thread;
	void (*on_end)(void *arg);
	void *arg;
	atomic_bool has_begun; /* a cgroup had a process */
	atomic_bool has_ended;
};

static struct target_watch *new_watch(size_t nr)
{
	struct target_watch *w = mem_zalloc(sizeof(*w));

	if (!w)
		return NULL;
	w->fds = mem_calloc(nr + 1, sizeof(*w->fds));
	w->pids = mem_calloc(nr, sizeof(*w->pids));
	if (!w->fds || !w->pids) {
		mem_free(w->fds);
		mem_free(w->pids);
		mem_free(w);
		return NULL;
	}
	for (; w->nr < nr; w->nr++)
		w->fds[w->nr].fd = -1;
	w->fds[nr] = (struct pollfd){.fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN};
	return w;
}

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

static int watch_process(struct target_watch *w, size_t i, pid_t pid, struct err *e)
{
	int fd = sys()->pidfd_open(pid);

	w->fds[i] = (struct pollfd){.fd = fd, .events = POLLIN};
	if (fd >= 0)
		return 0;
	if (fd == -EINVAL || fd == -ENOENT) /* newer kernels: ENOENT */
		return err_set(e, -EINVAL, "%d is a thread: use the number of its process", pid);
	if (fd == -ENOSYS)
		w->pids[i] = pid;
	return fd == -ENOSYS || fd == -ESRCH /* it has ended */
		   ? 0
		   : err_set(e, fd, "process %d cannot be followed: %s", pid, strerror(-fd));
}

int target_watch_new(const pid_t *pids, size_t nr, struct target_watch **out, struct err *e)
{
	struct target_watch *w = new_watch(nr);
	bool is_any_left = false;
	int rc = 0;

	if (!w)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < nr && rc == 0; i++) {
		rc = watch_process(w, i, pids[i], e);
		if (w->pids[i] && is_gone(w->pids[i]))
			w->pids[i] = 0;
		is_any_left |= w->pids[i] || w->fds[i].fd >= 0;
	}
	if (rc == 0 && !is_any_left)
		rc = err_set(e, -ESRCH, nr == 1 ? "the process has ended" : "all have ended");
	if (rc) {
		target_watch_free(w);
		return rc;
	}
	*out = w;
	return 0;
}

/* True if the last process has left, or the cgroup was removed. */
static bool has_cgroup_ended(struct target_watch *w)
{
	char text[sizeof(w->cgroup_events)];
	ssize_t len = pread(w->fds[0].fd, text, sizeof(text) - 1, 0);

	if (len < 0)
		return true;
	text[len] = '\0';
	/* as before, after a change: processes came and went before it was read */
	if (strstr(text, "populated 1") ||
	    (w->fds[0].revents && strcmp(text, w->cgroup_events) == 0))
		atomic_store(&w->has_begun, true);
	memcpy(w->cgroup_events, text, sizeof(text));
	return w->has_begun && strstr(text, "populated 0");
}

int target_watch_new_cgroup(int fd, struct target_watch **out, struct err *e)
{
	struct target_watch *w = new_watch(1);

	if (!w)
		return err_set(e, -ENOMEM, "out of memory");
	w->is_cgroup = true;
	w->fds[0] = (struct pollfd){.fd = openat(fd, "cgroup.events", O_RDONLY | O_CLOEXEC),
				    .events = POLLPRI};
	if (w->fds[0].fd < 0) {
		int rc = -errno;

		target_watch_free(w);
		return rc == -ENOENT
			   ? rc
			   : err_set(e, rc, "cgroup.events cannot be read: %s", strerror(-rc));
	}
	(void)has_cgroup_ended(w); /* reads whether there is a process */
	*out = w;
	return 0;
}

static bool have_all_ended(struct target_watch *w)
{
	bool is_any_left = false;

	if (w->is_cgroup)
		return has_cgroup_ended(w);
	for (size_t i = 0; i < w->nr; i++) {
		if (w->pids[i] && is_gone(w->pids[i]))
			w->pids[i] = 0;
		if (w->fds[i].fd >= 0 && w->fds[i].revents) {
			close(w->fds[i].fd);
			w->fds[i].fd = -1;
		}
		is_any_left |= w->pids[i] || w->fds[i].fd >= 0;
	}
	return !is_any_left;
}

static void *wait_for_end(void *arg)
{
	struct target_watch *w = arg;
	bool is_polled = false;

	for (size_t i = 0; i < w->nr; i++)
		is_polled |= w->pids[i] != 0;
	while (!have_all_ended(w)) {
		if (poll(w->fds, w->nr + 1, is_polled ? PERIOD_MS : -1) < 0 && errno != EINTR)
			return NULL;
		if (w->fds[w->nr].revents)
			return NULL;
	}
	atomic_store(&w->has_ended, true);
	w->on_end(w->arg);
	return NULL;
}

int target_watch_start(struct target_watch *w, void (*on_end)(void *arg), void *arg, struct err *e)
{
	int rc;

	w->on_end = on_end;
	w->arg = arg;
	rc = thread_start_blocked(&w->thread, wait_for_end, w);
	w->has_thread = rc == 0;
	return rc ? err_set(e, rc, "no thread can wait for the end: %s", strerror(-rc)) : 0;
}

bool target_watch_has_ended(const struct target_watch *w)
{
	return atomic_load(&w->has_ended);
}

bool target_watch_has_begun(const struct target_watch *w)
{
	return !w->is_cgroup || atomic_load(&w->has_begun);
}

void target_watch_free(struct target_watch *w)
{
	uint64_t one = 1;

	if (!w)
		return;
	if (w->has_thread && write(w->fds[w->nr].fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(w->thread, NULL);
	for (size_t i = 0; i <= w->nr; i++)
		if (w->fds[i].fd >= 0)
			close(w->fds[i].fd);
	mem_free(w->fds);
	mem_free(w->pids);
	mem_free(w);
}
