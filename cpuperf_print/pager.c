/*
 * Runs the pager. PAGER is split at blanks; quotes are not interpreted.
 */
#include "pager.h"

#include "base/mem.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 16 };

static size_t cut(char *text, char *words[MAX_WORDS + 1])
{
	size_t nr = 0;
	char *rest = NULL;

	for (char *w = strtok_r(text, " \t", &rest); w && nr < MAX_WORDS;
	     w = strtok_r(NULL, " \t", &rest))
		words[nr++] = w;
	words[nr] = NULL;
	return nr;
}

/* fd becomes its standard input; signal dispositions are the default ones. */
static pid_t spawn(char *const words[], int fd, char *const env[])
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t all;
	pid_t pid = 0;
	int failed;

	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	failed = posix_spawnp(&pid, words[0], &actions, &attr, words, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return failed ? 0 : pid;
}

static pid_t try(const char *command, int fd)
{
	MEM_AUTO char *text = mem_strdup(command);
	char *words[MAX_WORDS + 1];

	return text && cut(text, words) ? spawn(words, fd, environ) : 0;
}

/* Defaults for less: exit if the output fits one screen, show colours, chop long lines. */
static pid_t choose(int fd)
{
	const char *wanted = getenv("PAGER");
	pid_t pid;

	if (wanted)
		return try(wanted, fd);
	setenv("LESS", "FRSX", 0);
	pid = try("less", fd);
	return pid ? pid : try("more", fd);
}

bool pager_start(struct pager *p)
{
	const char *wanted = getenv("PAGER");
	int fds[2];

	*p = (struct pager){.fd = -1};
	if ((wanted && (!*wanted || strcmp(wanted, "cat") == 0)) || pipe2(fds, O_CLOEXEC))
		return false;
	p->pid = choose(fds[0]);
	close(fds[0]);
	if (!p->pid) {
		close(fds[1]);
		return false;
	}
	p->fd = fds[1];
	return true;
}

void pager_end(struct pager *p)
{
	if (!p->pid)
		return;
	if (p->fd >= 0)
		close(p->fd);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*p = (struct pager){.fd = -1};
}
