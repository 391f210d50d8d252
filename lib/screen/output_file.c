/*
 * The output file: a draft without a name until it is complete.
 */
#include "screen/output_file.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/draft.h"
#include "base/err.h"
#include "base/sys.h"
#include "spec/cpsession.h"
#include "spec/spec.h"
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static struct draft draft = DRAFT_NONE; /* one per process: the signal handler removes it */

static int refuse(const char *path, int rc, struct err *e, const char *what)
{
	err_set_at(e, rc, path, 0, 0, "%s: not overwritten", what);
	err_hint(e, "choose another name for --output-file");
	return rc;
}

static int cannot_open(const char *path, int rc, struct err *e)
{
	return err_set_at(e, rc, path, 0, 0, "cannot be opened: %s", strerror(-rc));
}

/* True for the manifest of any session, under any name. */
static bool is_manifest(int fd)
{
	static struct err_list errs; /* too large for a stack */
	struct cpsession s;
	BUF_AUTO(text, SPEC_MAX_TEXT_BYTES);
	bool is;

	errs.nr = errs.dropped = 0;
	cpsession_init(&s);
	is = io_load_fd(fd, &text) == 0 &&
	     cpsession_parse(buf_str(&text), text.len, "", &s, &errs) == 0 && *s.output_path_prefix;
	cpsession_fini(&s);
	return is;
}

/* Why the file must not be replaced, or NULL. */
static const char *what_is(int fd)
{
	if (trace_is_trace(fd) == 1)
		return "is a cpuperf trace";
	return lseek(fd, 0, SEEK_SET) == 0 && is_manifest(fd) ? "is a session file" : NULL;
}

/* An io_may_replace_fn; called again when the output is complete. */
static int is_replaceable(int fd)
{
	return !what_is(fd);
}

static bool is_read(const char *const *inputs, size_t nr, const struct stat *st)
{
	struct stat other;

	return ARRAY_ANY(x, inputs, nr,
			 sys()->fstatat(AT_FDCWD, *x, &other, 0) == 0 &&
			     other.st_dev == st->st_dev && other.st_ino == st->st_ino);
}

/* Refuses a file that must not be replaced. */
static int check_file(const char *path, const struct stat *st, const char *const *inputs, size_t nr,
		      struct err *e)
{
	IO_AUTO_FD int fd = -1;
	const char *what;

	if (st->st_uid != geteuid())
		return refuse(path, -EPERM, e, "belongs to another user");
	fd = sys()->openat(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return cannot_open(path, fd, e);
	what = what_is(fd);
	if (!what && is_read(inputs, nr, st))
		what = "is an input file";
	return what ? refuse(path, -EEXIST, e, what) : 0;
}

/* Removes the draft when a signal ends the process. Ignored signals stay ignored (nohup). */
static void on_signal(int number)
{
	draft_forget(&draft);
	raise(number); /* delivered when this handler, which runs once, returns */
}

static void catch_signals(void)
{
	static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND}, old;

	for (size_t i = 0; i < ARRAY_NR(ends); i++)
		if (sigaction(ends[i], &action, &old) == 0 && old.sa_handler == SIG_IGN)
			sigaction(ends[i], &old, NULL);
}

static int open_draft(const char *path, struct err *e)
{
	catch_signals();
	return draft_open(&draft, path, e) ?: draft.fd;
}

/* The owner of a FIFO reads what is written to it. */
static bool is_for_us(const struct stat *st)
{
	return S_ISCHR(st->st_mode) ||
	       (S_ISFIFO(st->st_mode) && (st->st_uid == geteuid() || st->st_uid == 0));
}

/* A FIFO, a terminal or /dev/null. */
static int open_in_place(const char *path, const struct stat *st, struct err *e)
{
	struct stat now;
	int fd, rc;

	if (!is_for_us(st))
		return refuse(path, -EPERM, e,
			      S_ISFIFO(st->st_mode) ? "is a FIFO of another user"
						    : "is not a file, terminal or pipe");
	fd = sys()->openat(AT_FDCWD, path, O_WRONLY | O_NOFOLLOW | O_NOCTTY, 0);
	if (fd < 0)
		return cannot_open(path, fd, e);
	rc = sys()->fstatat(fd, "", &now, AT_EMPTY_PATH);
	if (rc == 0 && now.st_dev == st->st_dev && now.st_ino == st->st_ino)
		return fd;
	io_close(&fd);
	return refuse(path, rc ? rc : -ESTALE, e, "was replaced meanwhile");
}

/* A descriptor that the shell opened for the user. */
static int open_named(const char *path, int named, struct err *e)
{
	int fd = fcntl(named, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	return fd < 0 ? cannot_open(path, -errno, e) : fd;
}

int output_file_open(const char *path, const char *const *inputs, size_t nr, struct err *e)
{
	int named = io_named_descriptor(path), rc;
	struct stat st;

	if (named >= 0)
		return open_named(path, named, e);
	rc = sys()->fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW);
	if (rc == -ENOENT)
		return open_draft(path, e);
	if (rc)
		return cannot_open(path, rc, e);
	if (S_ISDIR(st.st_mode))
		return cannot_open(path, -EISDIR, e);
	if (S_ISLNK(st.st_mode))
		return refuse(path, -ELOOP, e, "is a symbolic link, which is not followed");
	if (!S_ISREG(st.st_mode))
		return open_in_place(path, &st, e);
	return check_file(path, &st, inputs, nr, e) ?: open_draft(path, e);
}

/* Some file systems report a full disk only on close. */
static int close_in_place(int fd, const char *path, struct err *e)
{
	int rc = sys()->close(fd);

	return rc && rc != -EINTR
		   ? err_set_at(e, rc, path, 0, 0, "cannot be written: %s", strerror(-rc))
		   : 0;
}

int output_file_close(int fd, const char *path, bool is_whole, struct err *e)
{
	if (fd != draft.fd)
		return close_in_place(fd, path, e);
	if (is_whole)
		return draft_publish(&draft, is_replaceable, e);
	draft_drop(&draft);
	return 0;
}
