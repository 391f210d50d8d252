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
#include "screen/number.h"
#include "spec/cpsession.h"
#include "target/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Beside this program, in an install and in a build tree alike. */
int find_printer(char path[PATH_MAX])
{
	static const char name[] = "_print";
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - sizeof(name));

	if (len <= 0)
		return len ? -errno : -ENOENT;
	memcpy(path + len, name, sizeof(name));
	return 0;
}

static void become_printer(const char *printer, char *const *options, int fd)
{
	char json[] = "--log-format=json", *argv[PRINTER_MAX_OPTIONS + 3] = {(char *)printer};
	size_t nr = 1;

	while (*options && nr <= PRINTER_MAX_OPTIONS)
		argv[nr++] = *options++;
	if (log_is_json())
		argv[nr] = json;
	privilege_drop();
	if (dup2(fd, STDOUT_FILENO) >= 0)
		execve(printer, argv, rights_environment());
	_exit(EXIT_NOT_FOUND);
}

int ask_printer(const char *printer, char *const *options, int fd)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		become_printer(printer, options, fd);
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status))
		return EXIT_FAILED;
	return WEXITSTATUS(status) == EXIT_NOT_FOUND ? -ENOENT : WEXITSTATUS(status);
}

static void add_place(const struct answer *a, struct buf *out)
{
	BUF_AUTO(quoted, 8 * PATH_MAX);
	BUF_AUTO(shown, 8 * PATH_MAX);

	if (!a->is_saved && !a->full)
		return;
	buf_shell_word(&quoted, a->full ? a->full : a->folder ? a->folder : "./" CPSESSION_FOLDER);
	buf_shown(&shown, buf_str(&quoted), quoted.len);
	if (a->full) {
		buf_printf(out,
			   "\nNot saved in %s: %s. The session was held in memory, and is gone\n",
			   buf_str(&shown), strerror(ENOSPC));
		return;
	}
	buf_printf(out, "\nSaved in %s%s%s. More: cpuperf_print%s%s%s (--help)\n", buf_str(&shown),
		   a->why ? ", because " : "", a->why ? a->why : "", a->is_last ? "" : " ",
		   a->is_last ? "" : buf_str(&shown), a->has_samples ? " --report=tree" : "");
}

/* The lines of the terminal for what cpuperf_print prints; 0: any number. What follows it is
 * printed on the same terminal, and the shell's prompt. */
static unsigned find_rows(const struct answer *a, struct buf *place)
{
	enum { PROMPT = 1, MIN_ROWS = 24, USUAL_ROWS = 24 };
	struct winsize size;
	unsigned after, rows;

	if (strcmp(a->format, "text") != 0 || !isatty(a->fd) || ioctl(a->fd, TIOCGWINSZ, &size) ||
	    !size.ws_col)
		return 0;
	after =
	    PROMPT + screen_rows(buf_str(place), size.ws_col) + screen_rows(a->after, size.ws_col);
	rows = size.ws_row > MIN_ROWS ? size.ws_row : MIN_ROWS;
	rows = rows > after ? rows - after : 1;
	if (rows >= USUAL_ROWS || !place->len)
		return rows;
	memmove(place->data, place->data + 1, place->len); /* without the empty line */
	place->len--;
	return rows + 1;
}

bool print_answer(const struct answer *a)
{
	char printer[PATH_MAX] = "cpuperf_print", option[PATH_MAX + 16], format[64];
	char quiet[] = "--quiet", top[32] = "--top=10", no_pager[] = "--no-pager", report[64];
	char *const options[] = {option, format, quiet, top, no_pager, a->report ? report : NULL,
				 NULL};
	BUF_AUTO(place, 32 * PATH_MAX);
	struct err e = {0};
	unsigned rows;
	int rc = find_printer(printer);

	snprintf(option, sizeof(option), "--session=%s", a->session);
	snprintf(format, sizeof(format), "--output-format=%s", a->format);
	snprintf(report, sizeof(report), "--report=%s", a->report ? a->report : "");
	add_place(a, &place);
	rows = find_rows(a, &place);
	if (rows)
		snprintf(top, sizeof(top), "--rows=%u", rows);
	rc = rc ? rc : ask_printer(printer, options, a->fd);
	if (rc < 0) {
		err_set_at(&e, rc, printer, 0, 0, "cannot be executed: the answer is not printed");
		log_err(LOG_WARNING, &e);
	}
	dprintf(STDERR_FILENO, "%s", buf_str(&place));
	return rc == 0;
}
