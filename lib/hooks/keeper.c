#include "hooks/keeper.h"

#include "base/buf.h"
#include "base/root.h"
#include "proc/family.h"
#include "proc/list.h"
#include "proc/proc.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	MAX_ENVIRONMENT = 4 << 20,
	MAX_LOOKS = 16, /* for children that were made meanwhile */
	END_MS = 1000,
	PLACING_NS = 1000000000,
};

/* --- which processes */

struct search {
	struct proc_family *to;
	const char *variable;
};

/* As it was executed: whatever the program does to its variables. */
static int add_if_it_has(uint32_t pid, void *arg)
{
	const struct search *s = arg;
	BUF_AUTO(text, MAX_ENVIRONMENT);

	if (proc_load(PROC(&root_live, pid), "environ", &text) || !text.len ||
	    !memmem(text.data, text.len, s->variable, strlen(s->variable) + 1))
		return 0;
	return proc_family_add(s->to, pid);
}

void hooks_keeper_find(const char *variable, struct proc_family *out)
{
	struct search s = {out, variable};

	(void)proc_each(&root_live, add_if_it_has, &s);
	(void)proc_family_grow(out, &root_live);
}

/* --- the child */

/* The number of processes that were changed. */
static size_t put_back(const struct hooks_kept *k)
{
	struct proc_family now = {.nr = 0};
	size_t nr = 0;

	hooks_keeper_find(k->variable, &now);
	for (size_t i = 0; i < now.nr; i++) {
		struct hooks_undone found = {0};

		(void)hooks_undo_left(&k->what, (pid_t)now.pid[i], PLACING_NS, &found);
		nr += found.nr != 0;
	}
	proc_family_fini(&now);
	return nr;
}

/* The byte says that the end of the parent, which SIGIO reports too, no longer ends this process.
 */
static void keep(int fd, const void *arg)
{
	const char ready = 1;
	char byte;

	(void)signal(SIGIO, SIG_IGN);
	setsid();
	if (write(fd, &ready, 1) != 1)
		return;
	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
	for (int i = 0; i < MAX_LOOKS && put_back(arg); i++)
		;
}

int hooks_keeper_start(const struct hooks_kept *kept, struct child *out)
{
	char ready;
	ssize_t nr = 0;
	int rc = child_start(out, SOCK_STREAM, "cpuperf-keeper", keep, kept);

	while (rc == 0 && (nr = read(out->fd, &ready, 1)) < 0 && errno == EINTR)
		;
	if (rc == 0 && nr != 1) {
		child_end(out, END_MS);
		rc = -ECHILD;
	}
	return rc;
}
