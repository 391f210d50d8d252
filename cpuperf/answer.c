/*
 * The answer after a command: cpuperf_print reads the session that was just written. Recording
 * links no code that reports.
 *
 * What to type next is chosen there, by a table of what was found (cpuperf_print/next.c), and
 * comes back by a pipe. With --rows on a terminal it has the lines that remain beside its own. A
 * session without an answer prints its functions so before the summary, where a person waits for
 * them (recorder_shows_functions).
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/privilege.h"
#include "base/self.h"
#include "parts.h"
#include "program.h"
#include "rights.h"
#include "screen/number.h"
#include "spec/cpsession.h"
#include "target/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_NEXT_BYTES = 1024, MAX_VERSION_BYTES = 256 };

/* Beside this program, in an install and in a build tree alike. */
int find_printer(char path[PATH_MAX])
{
	static const char name[] = "_print";
	int rc = self_path(path);
	const size_t len = strlen(path);

	if (rc || len + sizeof(name) > PATH_MAX)
		return rc ?: -ENAMETOOLONG;
	memcpy(path + len, name, sizeof(name));
	return 0;
}

/* The user's, the version of this program, which must be that of cpuperf_print, and the descriptor
 * for what to print next, if there is one: in memory of its own. */
static char **make_environment(int next)
{
	static char version[] = "CPUPERF_ASKED_BY=" CPUPERF_VERSION, variable[32];
	char **from = rights_environment(), **to;
	size_t nr = 0;

	while (from && from[nr])
		nr++;
	to = mem_calloc(nr + 3, sizeof(*to));
	if (!to)
		return from;
	if (nr)
		memcpy(to, from, nr * sizeof(*to));
	to[nr++] = version;
	snprintf(variable, sizeof(variable), "CPUPERF_NEXT=%d", next);
	if (next >= 0)
		to[nr] = variable;
	return to;
}

/* With capabilities to drop: a copy of this process drops them. */
static pid_t fork_printer(const char *printer, char *const *argv, int fd, int next,
			  char **environment)
{
	pid_t pid = fork();

	if (pid)
		return pid < 0 ? -errno : pid;
	privilege_drop();
	if (dup2(fd, STDOUT_FILENO) >= 0 && (next < 0 || fcntl(next, F_SETFD, 0) == 0))
		execve(printer, argv, environment);
	_exit(EXIT_NOT_FOUND);
}

/* Copies no memory, of which this process has much when the session has ended. */
static pid_t spawn_printer(const char *printer, char *const *argv, int fd, int next,
			   char **environment)
{
	posix_spawn_file_actions_t files;
	pid_t pid = 0;
	int rc = posix_spawn_file_actions_init(&files);

	if (rc)
		return -rc;
	rc = posix_spawn_file_actions_adddup2(&files, fd, STDOUT_FILENO);
	if (rc == 0 && next >= 0)
		rc = posix_spawn_file_actions_adddup2(&files, next, next);
	if (rc == 0)
		rc = posix_spawn(&pid, printer, &files, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&files);
	return rc ? -rc : pid;
}

/* As ask_printer; returns its pid, or -errno. */
static pid_t start_printer(const char *printer, char *const *options, int fd, int next)
{
	char **environment = make_environment(next); /* before: malloc may be locked after it */
	char json[] = "--log-format=json", *argv[PRINTER_MAX_OPTIONS + 3] = {(char *)printer};
	size_t nr = 1;
	pid_t pid;

	while (*options && nr <= PRINTER_MAX_OPTIONS)
		argv[nr++] = *options++;
	if (log_is_json())
		argv[nr] = json;
	fflush(NULL);
	pid = (privilege_is_held() ? fork_printer : spawn_printer)(printer, argv, fd, next,
								   environment);
	if (environment != rights_environment())
		mem_free(environment);
	return pid;
}

static int wait_for_printer(pid_t pid)
{
	int status = 0;

	if (pid < 0)
		return pid;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status))
		return EXIT_FAILED;
	return WEXITSTATUS(status) == EXIT_NOT_FOUND ? -ENOENT : WEXITSTATUS(status);
}

int ask_printer(const char *printer, char *const *options, int fd, int next)
{
	return wait_for_printer(start_printer(printer, options, fd, next));
}

/* It may be of another installation. */
static int check_version(const char *option, const char *printer, struct err *e)
{
	static const char own[] = "cpuperf_print " CPUPERF_VERSION ", ";
	char text[MAX_VERSION_BYTES] = "", ask[] = "--version";
	char *const options[] = {ask, NULL};
	IO_AUTO_FD int fd = memfd_create("cpuperf-version", MFD_CLOEXEC);
	int rc = fd < 0 ? -errno : ask_printer(printer, options, fd, -1);

	if (rc < 0)
		return err_set(e, rc, "%scpuperf_print cannot be executed: %s", option,
			       strerror(-rc));
	if (rc)
		return err_set(e, -EIO, "%scpuperf_print --version ends with status %d", option,
			       rc);
	(void)io_pread_full(fd, text, sizeof(text) - 1, 0);
	text[strcspn(text, "\n")] = '\0';
	if (strncmp(text, own, sizeof(own) - 1) == 0)
		return 0;
	err_set(e, -EPROTO, "%scpuperf_print is of another version than cpuperf %s: %.64s", option,
		CPUPERF_VERSION, text);
	err_hint(e, "install the package %s %s whole", parts[PART_PRINTER].package,
		 CPUPERF_VERSION);
	return -EPROTO;
}

int require_printer(const char *option, char path[PATH_MAX], struct err *e)
{
	int rc = find_printer(path) ?: access(path, X_OK) ? -errno : 0;

	if (rc == 0)
		return check_version(option, path, e);
	err_set(e, rc, "%scpuperf_print is not installed, or cannot be executed: %s", option,
		strerror(-rc));
	err_hint(e, "it is in the package %s", parts[PART_PRINTER].package);
	return rc;
}

/* What cpuperf_print proposes: options. Before it has, or without, those of the usual report. */
static void add_next(const struct answer *a, const char *next, struct buf *out)
{
	if (!a->has_samples && !a->has_calls)
		return;
	buf_addc(out, ' ');
	if (*next)
		buf_shown(out, next, strlen(next));
	else
		buf_adds(out, a->has_samples ? "--report=tree" : "--report=functions");
}

/* gap: before the command. */
static void add_place(const struct answer *a, const char *next, const char *gap, struct buf *out)
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
	buf_printf(out, "\nSaved in %s%s%s. More:%scpuperf_print%s%s", buf_str(&shown),
		   a->why ? ", because " : "", a->why ? a->why : "", gap, a->is_last ? "" : " ",
		   a->is_last ? "" : buf_str(&shown));
	add_next(a, next, out);
	buf_adds(out, " (--help)\n");
}

/* The most that cpuperf_print may propose stays in the pipe until it is read. */
static void read_next(int fds[2], char *out, size_t size)
{
	ssize_t len;

	io_close(&fds[1]);
	len = fds[0] >= 0 ? io_read_full(fds[0], out, size - 1) : 0;
	out[len > 0 ? len : 0] = '\0';
	io_close(&fds[0]);
}

static bool find_terminal(int fd, struct winsize *size)
{
	return isatty(fd) && ioctl(fd, TIOCGWINSZ, size) == 0 && size->ws_col;
}

/* The lines of the terminal for what cpuperf_print prints; 0: any number. What follows it is
 * printed on the same terminal, and the shell's prompt. */
static unsigned find_rows(const struct answer *a, struct buf *place)
{
	enum { PROMPT = 1, MIN_ROWS = 24, USUAL_ROWS = 24 };
	struct winsize size;
	unsigned after, rows;

	if (strcmp(a->format, "text") != 0 || !find_terminal(a->fd, &size))
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

/* has_gap: on a larger screen there is an empty line above. A command that does not fit beside the
 * name has a line of its own. */
static void put_place(const struct answer *a, const char *next, bool has_gap)
{
	BUF_AUTO(place, 32 * PATH_MAX);
	struct winsize size;

	add_place(a, next, " ", &place);
	if (!place.len)
		return;
	if (find_terminal(STDERR_FILENO, &size) &&
	    screen_rows(buf_str(&place) + 1, size.ws_col) > 1) {
		buf_reset(&place);
		add_place(a, next, "\n  ", &place);
	}
	dprintf(STDERR_FILENO, "%s", buf_str(&place) + !has_gap);
}

bool print_answer(const struct answer *a)
{
	char printer[PATH_MAX] = "cpuperf_print", option[PATH_MAX + 16], format[64];
	char quiet[] = "--quiet", top[32] = "--top=10", no_pager[] = "--no-pager", report[64];
	char *const options[] = {option, format, quiet, top, no_pager, a->report ? report : NULL,
				 NULL};
	const char usual_next[] = "--report=annotate --function=some_function";
	BUF_AUTO(place, 32 * PATH_MAX);
	char next[MAX_NEXT_BYTES] = "";
	int fds[2] = {-1, -1};
	struct err e = {0};
	unsigned rows;
	int rc = find_printer(printer);

	snprintf(option, sizeof(option), "--session=%s", a->session);
	snprintf(format, sizeof(format), "--output-format=%s", a->format);
	snprintf(report, sizeof(report), "--report=%s", a->report ? a->report : "");
	add_place(a, usual_next, " ", &place);
	rows = find_rows(a, &place);
	if (rows)
		snprintf(top, sizeof(top), "--rows=%u", rows);
	if (place.len && pipe2(fds, O_CLOEXEC))
		fds[0] = fds[1] = -1;
	rc = rc ? rc : start_printer(printer, options, a->fd, fds[1]);
	if (rc > 0 && a->meanwhile)
		a->meanwhile(a->arg);
	rc = wait_for_printer(rc);
	read_next(fds, next, sizeof(next));
	if (rc < 0) {
		err_set_at(&e, rc, printer, 0, 0, "cannot be executed: the answer is not printed");
		if (access(printer, F_OK))
			err_hint(&e, "%s is not installed: it is in the package %s",
				 parts[PART_PRINTER].name, parts[PART_PRINTER].package);
		log_err(LOG_WARNING, &e);
	}
	if (strcmp(a->format, OPTIONS_FORMAT_JSON) != 0) /* which has it in a field */
		put_place(a, next, buf_str(&place)[0] == '\n');
	return rc == 0;
}
