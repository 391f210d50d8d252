/*
 * xdg-open knows the user's browser; it may itself become it.
 */
#include "serve/browser.h"

#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "serve/browser_child.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIES = 100, PAUSE_MS = 20 };

void browser_begin_user(void)
{
	struct browser_user u;

	if (browser_user_find(&u) && (setgroups(0, NULL) || setegid(u.gid) || seteuid(u.uid)))
		log_warning("--open: the page will not be that of user %u: %s", (unsigned)u.uid,
			    strerror(errno));
}

void browser_end_user(void)
{
	struct browser_user u;

	if (browser_user_find(&u) && (seteuid(0) || setegid(0)))
		log_warning("--open: root's rights are not back: %s", strerror(errno));
}

void browser_hint_user(struct err *e)
{
	struct browser_user u;

	if (browser_user_find(&u))
		err_hint(e,
			 "the page is for the browser of user %u, who called sudo: name a file "
			 "where they may write, as --output-format=html "
			 "--output-file=/tmp/cpuperf.html",
			 (unsigned)u.uid);
}

static void name_place(const char *variable, const char *prefix, const char *folder,
		       const char *name)
{
	char value[PATH_MAX];
	const size_t len = strlen(prefix);

	snprintf(value, sizeof(value), "%s%s%s", prefix, folder, name);
	if (access(value + len, F_OK) == 0)
		setenv(variable, value, 1);
}

/* Sudo leaves the way to the screen of X, but not that to the user's session. */
static void take_environment(const struct browser_user *u)
{
	const struct passwd *p = getpwuid(u->uid);
	char folder[64];

	snprintf(folder, sizeof(folder), "/run/user/%u", (unsigned)u->uid);
	if (p) {
		setenv("HOME", p->pw_dir, 1);
		setenv("USER", p->pw_name, 1);
		setenv("LOGNAME", p->pw_name, 1);
	}
	name_place("XDG_RUNTIME_DIR", "", folder, "");
	name_place("DBUS_SESSION_BUS_ADDRESS", "unix:path=", folder, "/bus");
	if (!getenv("WAYLAND_DISPLAY"))
		name_place("WAYLAND_DISPLAY", "", folder, "/wayland-0");
}

static int refuse(const char *option, const char *path, struct err *e, const char *why)
{
	err_set(e, -ENOENT, "%s: %s", option, why);
	err_hint(e, "the page is %s: open it in a browser", path);
	return -ENOENT;
}

static int refuse_end(const char *option, const char *path, struct err *e, int status)
{
	const bool has_exited = WIFEXITED(status);
	const int number = has_exited ? WEXITSTATUS(status) : WTERMSIG(status);
	char why[64];

	if (has_exited && number == BROWSER_NOT_FOUND)
		return refuse(option, path, e, "neither xdg-open nor a browser is found");
	if (has_exited && number == BROWSER_NOT_THE_USER)
		return refuse(option, path, e, "nothing can run as the user who called sudo");
	snprintf(why, sizeof(why), "no browser opened it: %s %d",
		 has_exited ? "exit status" : "ended by signal", number);
	return refuse(option, path, e, why);
}

/* What ends at once has failed, or has passed the page on; what goes on is the browser: false. */
static bool wait_for(pid_t pid, int *status)
{
	for (int i = 0; i < TRIES; i++) {
		pid_t ended = waitpid(pid, status, WNOHANG);

		if (ended == pid)
			return true;
		(void)poll(NULL, 0, PAUSE_MS);
	}
	return false;
}

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

bool browser_has_screen(void)
{
	static const char *const ways[] = {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"};

	return ARRAY_ANY(x, ways, ARRAY_NR(ways), is_set(*x));
}

int browser_open(const char *path, const char *option, struct err *e)
{
	char whole[PATH_MAX];
	struct browser_user u;
	int status = 0;
	pid_t pid;

	if (!realpath(path, whole))
		return err_set_at(e, -errno, path, 0, 0, "cannot be opened: %s", strerror(errno));
	if (browser_user_find(&u))
		take_environment(&u);
	if (!browser_has_screen())
		return refuse(option, whole, e,
			      "there is no screen: DISPLAY and WAYLAND_DISPLAY are not set");
	pid = fork();
	if (pid == 0)
		browser_child(whole);
	if (pid < 0)
		return err_set(e, -errno, "%s: no process can be made: %s", option,
			       strerror(errno));
	if (wait_for(pid, &status) && status)
		return refuse_end(option, whole, e, status);
	log_info("opened %s", whole);
	return 0;
}
