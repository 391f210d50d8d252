/*
 * The search for specs: the current folder, CPUPERF_SPEC_PATH, the installed specs. The latter are
 * at a fixed place relative to the program, in an install and in a build tree.
 *
 * A spec that is named without a slash is read from the current folder only if nobody but the
 * caller and root can have written it, judged by the open file. If no spec has exactly its name,
 * .cpspec is appended; "-" is standard input.
 */
#include "base/buf.h"
#include "base/draft.h"
#include "base/io.h"
#include "base/log.h"
#include "base/root.h"
#include "base/self.h"
#include "base/str.h"
#include "base/sys.h"
#include "parts.h"
#include "program.h"
#include "spec/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char suffix[] = SPEC_SUFFIX;

int each_spec_folder(int (*fn)(const char *folder, void *arg), void *arg)
{
	const char *path = secure_getenv("CPUPERF_SPEC_PATH");
	char folder[PATH_MAX];
	int rc = 0;

	while (path && *path && rc == 0) {
		size_t part = strcspn(path, ":");

		if (part && part < sizeof(folder)) {
			snprintf(folder, sizeof(folder), "%.*s", (int)part, path);
			rc = fn(folder, arg);
		}
		path += part + (path[part] == ':');
	}
	return rc || self_near(CPUPERF_SPEC_DIR_FROM_BIN, folder) ? rc : fn(folder, arg);
}

static bool has_suffix(const char *name)
{
	const size_t len = strlen(name);

	return len >= strlen(suffix) && strcmp(name + len - strlen(suffix), suffix) == 0;
}

/* A program may have the name of a spec: "heap" stands for heap.cpspec. A regular file. */
static bool is_program(int fd)
{
	enum { HEAD_BYTES = 512 };
	char head[HEAD_BYTES];
	const ssize_t len = pread(fd, head, sizeof(head), 0);

	return len > 0 && (memchr(head, '\0', (size_t)len) || (len > 1 && !memcmp(head, "#!", 2)));
}

static bool is_program_at(const char *path)
{
	struct stat st;
	IO_AUTO_FD int fd = io_open_regular(AT_FDCWD, path, 0, &st);

	return fd >= 0 && is_program(fd);
}

struct search {
	const char *name;
	char *found; /* PATH_MAX bytes */
};

static int search_folder(const char *folder, void *arg)
{
	struct search *s = arg;
	char path[PATH_MAX];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/%s", folder, s->name) >= (int)sizeof(path) ||
	    stat(path, &st) || S_ISDIR(st.st_mode) || (!has_suffix(s->name) && is_program_at(path)))
		return 0;
	memcpy(s->found, path, sizeof(path));
	return 1;
}

/* Why an untrusted user may have written the file, or NULL. A group of the user's own is
 * trusted. */
static const char *mistrust(const struct stat *st)
{
	bool is_own_group = st->st_gid == getegid() || st->st_gid == 0;

	if (st->st_uid != geteuid() && st->st_uid != 0)
		return "it belongs to another user";
	if (st->st_mode & S_IWOTH)
		return "every user can write to it";
	if (st->st_mode & S_IWGRP && !is_own_group)
		return "a group can write to it";
	return NULL;
}

const char *mistrust_spec(int fd)
{
	const char *why;
	struct stat st;

	if (sys()->fstatat(fd, "", &st, AT_EMPTY_PATH))
		return "it cannot be examined";
	why = mistrust(&st);
	return why || !(st.st_mode & S_IWGRP) ? why : "a group can write to it";
}

/* The link is examined separately from the file. This is no race that matters: whoever can replace
 * the link can also move a trusted file to this name. */
static int check_here(const char *name, const struct stat *file, struct err *e)
{
	const char *why = mistrust(file);
	struct stat link;
	int rc = sys()->fstatat(AT_FDCWD, name, &link, AT_SYMLINK_NOFOLLOW);

	if (rc)
		return err_set_at(e, rc, name, 0, 0, "cannot be read: %s", strerror(-rc));
	if (S_ISLNK(link.st_mode) && link.st_uid != geteuid() && link.st_uid != 0)
		why = "it is a symbolic link owned by another user";
	if (!why)
		return 0;
	err_set_at(e, -EPERM, name, 0, 0, "not read from the current folder: %s", why);
	err_hint(e, "to measure it anyway: --spec-file=./%s", name);
	return -EPERM;
}

/* In a shared folder, anybody can leave a spec with a well-known name. Checks the opened file.
 * -ENOENT without *e: there is none, or a program in its place. */
static int open_here(const char *name, struct err *e)
{
	struct stat st;
	int fd = io_open_regular(AT_FDCWD, name, 0, &st), rc;

	if (fd == -ENOENT || fd == -EISDIR)
		return -ENOENT;
	if (fd < 0)
		return err_set_at(e, fd, name, 0, 0, "cannot be read: %s",
				  fd == -EINVAL ? "it is not a regular file" : strerror(-fd));
	rc = !has_suffix(name) && is_program(fd) ? -ENOENT : check_here(name, &st, e);
	if (rc)
		io_close(&fd);
	return rc ? rc : fd;
}

/* -ENOENT without *e: there is none of exactly this name. */
static int open_exact(const char *name, char *found, struct err *e)
{
	struct search s = {.name = name, .found = found};
	struct stat st;
	int fd;

	if (snprintf(found, PATH_MAX, "%s", name) >= PATH_MAX)
		return -ENOENT;
	if (strchr(name, '/'))
		return sys()->fstatat(AT_FDCWD, name, &st, 0) == -ENOENT ? -ENOENT
									 : io_open_input(name, e);
	fd = open_here(name, e);
	if (fd != -ENOENT)
		return fd;
	return each_spec_folder(search_folder, &s) ? io_open_input(found, e) : -ENOENT;
}

/* The spec whose name is nearest. */
struct near {
	const char *name;
	char best[NAME_MAX + 1];
	size_t distance;
};

static int offer_name(const char *file, void *arg)
{
	struct near *near = arg;
	char name[NAME_MAX + 1];
	const char *best = NULL;

	if (!has_suffix(file))
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)(strlen(file) - strlen(suffix)), file);
	best = *near->best ? near->best : NULL;
	str_nearest_offer(near->name, name, &best, &near->distance);
	if (best == name)
		memcpy(near->best, name, sizeof(name));
	return 0;
}

static int offer_folder(const char *folder, void *arg)
{
	(void)root_each(&root_live, folder, offer_name, arg);
	return 0;
}

int open_spec(const char *name, char *found, struct err *e)
{
	struct near near = {.name = name};
	char full[PATH_MAX];
	int fd;

	if (!*name)
		return err_set(e, -EINVAL, "--spec-file: the name is empty");
	if (strlen(name) >= PATH_MAX - sizeof(suffix))
		return err_set(e, -ENAMETOOLONG, "--spec-file: the name is too long");
	if (strcmp(name, "-") == 0) {
		snprintf(found, PATH_MAX, "standard input");
		return io_open_input("/dev/stdin", e);
	}
	fd = open_exact(name, found, e);
	if (fd != -ENOENT || e->code)
		return fd;
	snprintf(full, sizeof(full), "%s%s", name, suffix);
	fd = open_exact(full, found, e);
	if (fd >= 0 && !strchr(name, '/') && is_program_at(name))
		log_info("%s in the current folder is a program: the spec is %s", name, found);
	if (fd != -ENOENT || e->code)
		return fd;
	if (strchr(name, '/'))
		return io_open_input(name, e);
	err_set(e, -ENOENT, "%s: no such spec in the current folder or the spec path", name);
	each_spec_folder(offer_folder, &near);
	if (!part_find(PART_SPECS, full))
		err_hint(e, "%s is not installed: it is in the package %s", parts[PART_SPECS].name,
			 parts[PART_SPECS].package);
	else if (is_program_at(name))
		err_hint(e, "the file in the current folder is a program");
	else if (*near.best)
		err_hint(e,
			 "did you mean %s? (--list-specs lists all; those of cpuperf are in the "
			 "package %s)",
			 near.best, parts[PART_SPECS].package);
	else
		err_hint(e,
			 "--list-specs lists the specs that can be found by name; those of cpuperf "
			 "are in the package %s",
			 parts[PART_SPECS].package);
	return -ENOENT;
}

/* An io_may_replace_fn: an empty file or a spec, and nothing that would be missed. */
static int is_spec(int fd)
{
	ERR_AUTO_LIST *errs = err_list_new();
	struct spec s;
	struct stat st;
	int rc = errs ? sys()->fstatat(fd, "", &st, AT_EMPTY_PATH) : -ENOMEM;

	if (rc || !st.st_size)
		return rc ? rc : 1;
	spec_init(&s);
	rc = spec_load_fd(fd, "", &s, errs);
	spec_fini(&s);
	return rc == 0;
}

int save_spec(const char *path, const struct buf *text, struct err *e)
{
	struct draft d = DRAFT_NONE;
	int rc = buf_error(text);

	if (rc)
		return err_set_at(e, rc, path, 0, 0, "%s", strerror(-rc));
	rc = draft_open(&d, path, e);
	if (rc)
		return rc;
	rc = io_write_full(d.fd, buf_str(text), text->len);
	if (rc == 0)
		return draft_publish(&d, is_spec, e);
	draft_drop(&d);
	return err_set_at(e, rc, path, 0, 0, "cannot be written: %s", strerror(-rc));
}
