/*
 * The options of both programs.
 */
#include "base/opt_std.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/str.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MAX_LEVEL = 100, MAX_HELP_BYTES = 1 << 20, HELP_WIDTH = 80 };

static int set_level(const struct opt_row *row, const char *value, void *target, int sign,
		     struct err *e)
{
	int *level = (int *)((char *)target + row->offset);
	uint64_t n = 1;

	if (value && (str_parse_u64(value, &n) || n > MAX_LEVEL))
		return err_set(e, -EINVAL, "--%s=%s: not a number from 0 to %d", row->name, value,
			       MAX_LEVEL);
	*level = sign * (int)n;
	return 0;
}

int opt_std_set_verbose(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	return set_level(row, value, target, -1, e);
}

int opt_std_set_quiet(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	return set_level(row, value, target, 1, e);
}

int opt_std_set_help(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	enum opt_std_help *help = (enum opt_std_help *)((char *)target + row->offset);

	if (value && strcmp(value, row->words) != 0) {
		err_set(e, -EINVAL, "--%s=%s: not %s", row->name, value, row->words);
		err_hint(e, "--help prints the usual options, --help=all all");
		return -EINVAL;
	}
	*help = value ? OPT_STD_HELP_ALL : OPT_STD_HELP_BRIEF;
	return 0;
}

int opt_std_set_log_format(const struct opt_row *row, const char *value, void *target,
			   struct err *e)
{
	bool is_json = strcmp(value, "json") == 0;

	(void)target;
	if (!is_json && strcmp(value, "text") != 0)
		return err_set(e, -EINVAL, "--%s=%s: not one of %s", row->name, value, row->words);
	log_set_json(is_json);
	return 0;
}

/* The last one counts, as in opt_parse. */
static bool requests_json(const struct opt_table *t, int argc, char *const *argv)
{
	static const char option[] = "--log-format";
	const size_t len = sizeof(option) - 1;
	char variable[OPT_MAX_ORIGIN];
	const char *value;

	snprintf(variable, sizeof(variable), "%sLOG_FORMAT", t->variables ? t->variables : "");
	value = t->variables ? secure_getenv(variable) : NULL;
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], option, len) == 0 && argv[i][len] == '=')
			value = argv[i] + len + 1;
		else if (strcmp(argv[i], option) == 0 && i + 1 < argc)
			value = argv[++i];
	return value && strcmp(value, "json") == 0;
}

void opt_std_prepare(const struct opt_table *t, int argc, char *const *argv)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* read-only, so that writing fails */
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	signal(SIGPIPE, SIG_IGN);
	log_open(t->program, LOG_INFO, STDERR_FILENO);
	log_set_json(requests_json(t, argc, argv));
}

/* Refuses another user's file: messages contain names of programs. */
static int open_log(const char *path, struct err *e)
{
	int fd = sys()->openat(AT_FDCWD, path,
			       O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat st;
	int rc = fd < 0 ? fd : sys()->fstatat(fd, "", &st, AT_EMPTY_PATH);

	if (rc == 0 && !S_ISCHR(st.st_mode) && st.st_uid != geteuid() && st.st_uid != 0)
		rc = -EPERM;
	if (rc == 0) {
		(void)fcntl(fd, F_SETFL, O_APPEND); /* O_NONBLOCK was for opening a FIFO */
		return fd;
	}
	err_set(e, rc, "--log-file=%s: cannot be opened: %s", path,
		rc == -ELOOP              ? "it is a symbolic link, which is not followed"
		: rc == -EPERM && fd >= 0 ? "it belongs to another user"
					  : strerror(-rc));
	io_close(&fd);
	return rc;
}

int opt_std_open_log(const struct opt_std *o, const char *program, struct err *e)
{
	int fd = o->log_file ? open_log(o->log_file, e) : STDERR_FILENO;

	if (fd < 0)
		return fd;
	log_open(program, o->min_level, fd);
	return 0;
}

unsigned opt_std_width_of(int fd)
{
	struct winsize size;

	return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

unsigned opt_std_terminal_width(void)
{
	return opt_std_width_of(STDOUT_FILENO);
}

bool opt_std_has_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

bool opt_std_has_color(void)
{
	const char *no = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && (!no || !*no);
}

int opt_std_answer(const struct opt_std *o, const struct opt_table *t, const char *version)
{
	unsigned width = opt_std_terminal_width();
	BUF_AUTO(out, MAX_HELP_BYTES);
	int rc;

	if (!o->help && !o->version)
		return 0;
	if (o->help == OPT_STD_HELP_BRIEF && t->nr_brief)
		opt_brief_help(t, &out);
	else if (o->help)
		opt_help(t, width ? width : HELP_WIDTH, &out);
	else
		buf_printf(&out, "%s %s\n", t->program, version);
	rc = buf_error(&out) ?: io_write_full(STDOUT_FILENO, buf_str(&out), out.len);
	if (rc == -EPIPE) /* the reader has read enough */
		rc = 0;
	if (rc)
		log_error("standard output: %s", strerror(-rc));
	return rc ? rc : 1;
}
