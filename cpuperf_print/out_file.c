/*
 * Opens the file that is printed to. Knows nothing of what is printed.
 */
#include "out_file.h"

#include "base/err.h"
#include "base/io.h"
#include "base/sys.h"
#include "spec/cpsession.h"
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static int refuse(const char *path, const char *what, struct err *e)
{
	err_set_at(e, -EEXIST, path, 0, 0, "is %s: it is left as it is", what);
	err_hint(e, "give --output-file another name");
	return -EEXIST;
}

static bool is_same(const char *path, const struct stat *st)
{
	struct stat other;

	return sys()->fstatat(AT_FDCWD, path, &other, 0) == 0 && other.st_dev == st->st_dev &&
	       other.st_ino == st->st_ino;
}

/* What we may not read is no trace that we print. */
static bool is_trace(const char *path)
{
	IO_AUTO_FD int fd = sys()->openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);

	return fd >= 0 && trace_is_trace(fd) == 1;
}

/* Of any session, whatever it is called: of one that is not being printed too. */
static bool is_manifest(const char *path)
{
	static struct err_list errs; /* too large for a stack */
	struct cpsession s;
	bool is;

	cpsession_init(&s);
	errs.nr = errs.dropped = 0;
	is = cpsession_load(path, &s, &errs) == 0 && *s.output_path_prefix;
	cpsession_fini(&s);
	return is;
}

static bool is_read(const char *const *inputs, size_t nr, const struct stat *st)
{
	for (size_t i = 0; i < nr; i++)
		if (is_same(inputs[i], st))
			return true;
	return false;
}

/* Not O_TRUNC, which asks nobody. What is no regular file (a terminal, a pipe) has no content to
 * lose, and reading from it would take what is another's. */
static int prepare(int fd, const char *path, const char *const *inputs, size_t nr, struct err *e)
{
	struct stat st;

	if (sys()->fstatat(fd, "", &st, AT_EMPTY_PATH) || !S_ISREG(st.st_mode))
		return 0;
	if (is_manifest(path))
		return refuse(path, "a session file", e);
	if (is_read(inputs, nr, &st))
		return refuse(path, "a file that is read", e);
	if (is_trace(path))
		return refuse(path, "a trace of cpuperf", e);
	if (ftruncate(fd, 0) == 0)
		return 0;
	return err_set_at(e, -errno, path, 0, 0, "cannot be emptied: %s", strerror(errno));
}

int out_file_open(const char *path, const char *const *inputs, size_t nr, struct err *e)
{
	int rc, fd = sys()->openat(AT_FDCWD, path, O_WRONLY | O_CREAT, 0666);

	if (fd < 0)
		return err_set_at(e, fd, path, 0, 0, "cannot be opened: %s", strerror(-fd));
	rc = prepare(fd, path, inputs, nr, e);
	if (rc) {
		io_close(&fd);
		return rc;
	}
	return fd;
}
