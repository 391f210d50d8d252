#include "proc/proc.h"

#include "base/buf.h"
#include "base/root.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int proc_name(const struct proc *p, const char *name, char *out, size_t size)
{
	char process[16] = "self", thread[32] = "";
	int len;

	if (!p->is_self)
		snprintf(process, sizeof(process), "%" PRIu32, p->pid);
	if (p->tid)
		snprintf(thread, sizeof(thread), "/task/%" PRIu32, p->tid);
	len = snprintf(out, size, "%s%s%s%s", process, thread, *name ? "/" : "", name);
	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : len;
}

static int below_root(const struct proc *p, const char *name, char out[PATH_MAX])
{
	static const char folder[] = "/proc/";
	const size_t before = sizeof(folder) - 1;
	int len;

	memcpy(out, folder, before);
	len = proc_name(p, name, out + before, PATH_MAX - before);
	return len < 0 ? len : (int)before + len;
}

int proc_path(const struct proc *p, const char *name, char *out, size_t size)
{
	char path[PATH_MAX];
	int len = below_root(p, name, path);

	if (len >= 0)
		len = snprintf(out, size, "%s%s", p->root->dir, path);
	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : len;
}

void proc_map_file(uint64_t start, uint64_t end, char name[PROC_NAME_BYTES])
{
	snprintf(name, PROC_NAME_BYTES, "map_files/%" PRIx64 "-%" PRIx64, start, end);
}

/* The result of a function of base/root.h. */
#define IN_ROOT(p, name, fn, ...)                                                                  \
	({                                                                                         \
		char path[PATH_MAX];                                                               \
		int rc = below_root(p, name, path);                                                \
		rc < 0 ? rc : fn((p)->root, path, ##__VA_ARGS__);                                  \
	})

int proc_open(const struct proc *p, const char *name)
{
	return IN_ROOT(p, name, root_open);
}

int proc_load(const struct proc *p, const char *name, struct buf *out)
{
	return IN_ROOT(p, name, root_load, out);
}

int proc_load_line(const struct proc *p, const char *name, char *line, size_t size)
{
	return IN_ROOT(p, name, root_load_line, line, size);
}

int proc_load_text(const struct proc *p, const char *name, char *out, size_t size)
{
	return IN_ROOT(p, name, root_load_text, out, size);
}

int proc_each_name(const struct proc *p, const char *folder, int (*fn)(const char *name, void *arg),
		   void *arg)
{
	return IN_ROOT(p, folder, root_each, fn, arg);
}

ssize_t proc_read_link(const struct proc *p, const char *name, char *out, size_t size)
{
	char path[PATH_MAX];
	ssize_t len = proc_path(p, name, path, sizeof(path));

	if (len >= 0 && (len = readlink(path, out, size - 1)) < 0)
		len = -errno;
	if (len >= 0)
		out[len] = '\0';
	return len;
}

int proc_find(const struct proc *p, const char *name, struct stat *out)
{
	char path[PATH_MAX];
	int rc = proc_path(p, name, path, sizeof(path));

	return rc < 0 ? rc : sys()->fstatat(AT_FDCWD, path, out, 0);
}

bool proc_is_there(const struct proc *p)
{
	struct stat st;

	return proc_find(p, "", &st) != -ENOENT;
}

void proc_add_name(const struct proc *p, struct buf *out)
{
	char comm[64] = "";

	(void)proc_load_line(p, "comm", comm, sizeof(comm));
	buf_printf(out, "%" PRIu32 " (%s)", p->tid ? p->tid : p->pid, comm);
}
