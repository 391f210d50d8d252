/*
 * The side of browser.c that becomes the browser.
 */
#include "serve/browser_child.h"

#include "base/array.h"
#include "base/str.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

bool browser_user_find(struct browser_user *u)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	uint64_t user, group;

	if (getuid() != 0 || !uid || !gid || str_parse_u64(uid, &user) ||
	    str_parse_u64(gid, &group) || !user || user >= UINT32_MAX || group >= UINT32_MAX)
		return false;
	*u = (struct browser_user){(uid_t)user, (gid_t)group};
	return true;
}

static bool become(const struct browser_user *u)
{
	const struct passwd *p = getpwuid(u->uid);

	return !((p ? initgroups(p->pw_name, u->gid) : setgroups(0, NULL)) ||
		 setresgid(u->gid, u->gid, u->gid) || setresuid(u->uid, u->uid, u->uid));
}

/* The first of those that are there. */
static void execute(const char *path)
{
	const char *named = getenv("BROWSER");
	const char *const words[][3] = {{"xdg-open", path, NULL},
					{"gio", "open", path},
					{named && *named ? named : "x-www-browser", path, NULL},
					{"sensible-browser", path, NULL}};

	for (size_t i = 0; i < ARRAY_NR(words); i++)
		(void)execlp(words[i][0], words[i][0], words[i][1], words[i][2], (char *)NULL);
}

_Noreturn void browser_child(const char *path)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct browser_user u;
	sigset_t none;

	setsid(); /* Ctrl-C in the terminal is not for the browser */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (dup2(null, fd) < 0)
			_exit(BROWSER_NOT_FOUND);
	if (browser_user_find(&u) && !become(&u))
		_exit(BROWSER_NOT_THE_USER);
	execute(path);
	_exit(BROWSER_NOT_FOUND);
}
