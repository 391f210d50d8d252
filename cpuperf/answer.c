/*
 * The answer after a command: cpuperf_print reads the session that was just written. Recording
 * links no code that reports.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/privilege.h"
#include "program.h"
#include "rights.h"
#include "spec/cpsession.h"
#include "target/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Beside this program, in an install and in a build tree alike. */
static int find_printer(char path[PATH_MAX])
{
	static const char name[] = "_print";
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - sizeof(name));

	if (len <= 0)
		return len ? -errno : -ENOENT;
	memcpy(path + len, name, sizeof(name));
	return 0;
}

static void become_printer(const char *printer, char *session, char *format, int fd)
{
	char quiet[] = "--quiet", top[] = "--top=10", no_pager[] = "--no-pager";
	char json[] = "--log-format=json";
	char *argv[] = {(char *)printer,
			session,
			format,
			quiet,
			top,
			no_pager,
			log_is_json() ? json : NULL,
			NULL};

	privilege_drop();
	if (dup2(fd, STDOUT_FILENO) >= 0)
		execve(printer, argv, rights_environment());
	_exit(EXIT_NOT_FOUND);
}

/* Its exit status, or -errno. */
static int run_printer(const char *printer, char *session, char *format, int fd)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		become_printer(printer, session, format, fd);
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status))
		return EXIT_FAILED;
	return WEXITSTATUS(status) == EXIT_NOT_FOUND ? -ENOENT : WEXITSTATUS(status);
}

static void print_place(const struct answer *a)
{
	BUF_AUTO(quoted, 8 * PATH_MAX);
	BUF_AUTO(shown, 8 * PATH_MAX);

	target_command_add_quoted(&quoted, a->folder ? a->folder : "./" CPSESSION_FOLDER);
	buf_shown(&shown, buf_str(&quoted), quoted.len);
	dprintf(STDERR_FILENO, "\nSaved in %s%s%s. More: cpuperf_print%s%s%s (--help)\n",
		buf_str(&shown), a->why ? ", because " : "", a->why ? a->why : "",
		a->is_last ? "" : " ", a->is_last ? "" : buf_str(&shown),
		a->has_samples ? " --report=tree" : "");
}

bool print_answer(const struct answer *a)
{
	char printer[PATH_MAX] = "cpuperf_print", option[PATH_MAX + 16], format[64];
	struct err e = {0};
	int rc = find_printer(printer);

	snprintf(option, sizeof(option), "--session=%s", a->session);
	snprintf(format, sizeof(format), "--output-format=%s", a->format);
	rc = rc ? rc : run_printer(printer, option, format, a->fd);
	if (rc < 0) {
		err_set_at(&e, rc, printer, 0, 0, "cannot be executed: the answer is not printed");
		log_err(LOG_WARNING, &e);
	}
	if (a->is_saved)
		print_place(a);
	return rc == 0;
}
