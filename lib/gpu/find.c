/*
 * By links: only what is named as a device is asked for its type, since asking a file of a dead
 * network file system would block.
 */
#include "gpu/find.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/privilege.h"
#include "base/sys.h"
#include "bpf/files.h"
#include "proc/proc.h"
#include "process/reader.h"
#include "things/file_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PATH_BYTES = 64 };

static const struct process_reader *const reader = &process_proc_reader;

/* A process whose links were read. */
struct looked {
	uint32_t pid;
	uint32_t nr;       /* of its files, which stand in the order of processes */
	uint64_t clock_ns; /* its CPU time before; 0: unknown */
	int error;         /* why they could not be read */
	off_t nr_fds;      /* how many descriptors it had then; 0: unknown */
	unsigned age;      /* readings since in which it had run */
};

/* What a reading found. */
struct found {
	struct gpu_file *files; /* owned */
	size_t nr_files, files_room;
	struct looked *looked; /* owned; by links alone; by number, ascending */
	size_t nr_looked, looked_room;
};

struct gpu_find {
	struct file_cache cache; /* of /proc */
	void *proc;
	unsigned major;
	bool is_live;
	struct files *by_kernel; /* NULL: by links */
	struct found now, before;
	struct proc_ids processes, fds;
	bool is_full;
};

static int add_file(struct gpu_find *f, const struct gpu_file *file)
{
	struct gpu_file *new;

	if (f->now.nr_files == GPU_FIND_MAX) {
		f->is_full = true;
		return 0;
	}
	new = MEM_ADD(f->now.files, f->now.nr_files, f->now.files_room);
	if (!new)
		return -ENOMEM;
	*new = *file;
	return 0;
}

/* ---- by links */

static bool is_gone(int rc)
{
	return rc == -ENOENT || rc == -ESRCH;
}

static bool is_denied(int rc)
{
	return rc == -EACCES || rc == -EPERM;
}

/* "/dev/dri/renderD128", "/dev/dri/card0", wherever /dev is; without it, in another's mounts. */
static bool is_of_drm(const char *target)
{
	const char *at = strstr(target, "/dev/dri/");

	if (!at && strncmp(target, "/dri/", 5) != 0)
		return false;
	at = at ? at + strlen("/dev/dri/") : target + strlen("/dri/");
	return strncmp(at, "card", 4) == 0 || strncmp(at, "renderD", 7) == 0;
}

static bool may_be_device(int folder, const char *name)
{
	char target[PATH_BYTES];
	ssize_t n = readlinkat(folder, name, target, sizeof(target) - 1);

	if (n <= 0)
		return false;
	target[n] = '\0';
	return strncmp(target, "/dev/", 5) == 0 || is_of_drm(target);
}

/* One that is closed meanwhile is none. */
static int look_at_fd(struct gpu_find *f, int folder, uint32_t pid, uint32_t fd)
{
	char name[PATH_BYTES];
	struct stat st;
	int rc;

	snprintf(name, sizeof(name), "%" PRIu32, fd);
	if (!may_be_device(folder, name))
		return 0;
	rc = sys()->fstatat(folder, name, &st, 0);
	if (rc)
		return is_gone(rc) ? 0 : rc;
	if (!S_ISCHR(st.st_mode) || major(st.st_rdev) != f->major)
		return 0;
	return add_file(f, &(struct gpu_file){pid, pid, fd, minor(st.st_rdev), 0});
}

static int look_at_fds(struct gpu_find *f, uint32_t pid)
{
	char path[PATH_BYTES];
	IO_AUTO_FD int folder = -1;
	int rc;

	(void)proc_name(PROC(NULL, pid), "fd", path, sizeof(path));
	folder = sys()->openat(f->cache.dir, path, O_RDONLY | O_DIRECTORY, 0);
	rc = folder < 0 ? folder : proc_ids_load(&f->fds, folder);
	for (size_t i = 0; i < f->fds.nr && rc == 0; i++)
		rc = look_at_fd(f, folder, pid, f->fds.list[i]);
	return rc;
}

static int copy_files(struct gpu_find *f, size_t first, size_t nr)
{
	int rc = 0;

	for (size_t i = first; i < first + nr && rc == 0; i++)
		rc = add_file(f, &f->before.files[i]);
	return rc;
}

/* Since Linux 6.2; 0: unknown. */
static off_t count_fds(const struct gpu_find *f, uint32_t pid)
{
	char path[PATH_BYTES];
	struct stat st;

	(void)proc_name(PROC(NULL, pid), "fd", path, sizeof(path));
	return f->is_live && sys()->fstatat(f->cache.dir, path, &st, 0) == 0 ? st.st_size : 0;
}

/* True if its links need not be read again. now: its clock and descriptors of now. */
static bool is_same(const struct looked *was, const struct looked *now)
{
	enum { SELDOM = 8 };

	if (was->error && !is_denied(was->error))
		return false;
	if (now->clock_ns && now->clock_ns == was->clock_ns)
		return true;
	return !was->nr && !was->error && now->nr_fds && now->nr_fds == was->nr_fds &&
	       was->age + 1 < SELDOM;
}

/* was: of the reading before, whose files begin at first; NULL: it was not there. */
static int look_at_process(struct gpu_find *f, uint32_t pid, const struct looked *was, size_t first)
{
	struct looked now = {.pid = pid, .clock_ns = reader->clock(f->proc, pid)};
	size_t nr_before = f->now.nr_files;
	struct looked *looked;
	int rc;

	if (!was || now.clock_ns != was->clock_ns)
		now.nr_fds = count_fds(f, pid);
	else
		now.nr_fds = was->nr_fds;
	if (was && is_same(was, &now)) {
		now.error = was->error;
		now.age = was->age + (now.clock_ns != was->clock_ns);
		rc = copy_files(f, first, was->nr);
	} else {
		now.error = rc = look_at_fds(f, pid);
	}
	if (rc == -ENOMEM)
		return rc;
	if (is_gone(rc)) {
		f->now.nr_files = nr_before;
		return 0;
	}
	now.nr = (uint32_t)(f->now.nr_files - nr_before);
	looked = MEM_ADD(f->now.looked, f->now.nr_looked, f->now.looked_room);
	if (!looked)
		return -ENOMEM;
	*looked = now;
	return 0;
}

static int read_links(struct gpu_find *f)
{
	size_t at = 0, first = 0;
	int rc = reader->list(f->proc, &f->processes);

	for (size_t i = 0; i < f->processes.nr && rc == 0; i++) {
		uint32_t pid = f->processes.list[i];
		const struct looked *was = NULL;

		while (at < f->before.nr_looked && f->before.looked[at].pid < pid)
			first += f->before.looked[at++].nr;
		if (at < f->before.nr_looked && f->before.looked[at].pid == pid)
			was = &f->before.looked[at];
		rc = look_at_process(f, pid, was, first);
	}
	return rc;
}

/* ---- by the iterator */

static int add_record(const struct bpf_files_file *file, void *arg)
{
	const struct gpu_file new = {file->pid, file->process, file->fd, file->minor, file->file};

	return add_file(arg, &new);
}

int gpu_find_use_kernel(struct gpu_find *f, struct err *why)
{
	if (f->by_kernel)
		return 0;
	if (!f->is_live || !reader->clock(f->proc, reader->self(f->proc)))
		return err_set(why, -ENOTSUP, "/proc belongs to another PID namespace or machine");
	if (privilege_is_held())
		return err_set(why, -EPERM, "processes of others are read by the user's rights");
	return files_open(f->major, &f->by_kernel, why);
}

bool gpu_find_is_by_kernel(const struct gpu_find *f)
{
	return f->by_kernel != NULL;
}

/* ---- both */

int gpu_find_read(struct gpu_find *f)
{
	struct found last = f->before;
	int rc;

	f->before = f->now;
	f->now = last;
	f->now.nr_files = f->now.nr_looked = 0;
	f->is_full = false;
	rc = f->by_kernel ? files_read(f->by_kernel, add_record, f) : read_links(f);
	if (rc && rc != -ENOMEM && f->by_kernel) { /* from now on by links */
		files_close(f->by_kernel);
		f->by_kernel = NULL;
		f->now.nr_files = 0;
		rc = read_links(f);
	}
	if (rc)
		f->now.nr_files = f->now.nr_looked = 0;
	return rc;
}

const struct gpu_file *gpu_find_list(const struct gpu_find *f, size_t *nr)
{
	*nr = f->now.nr_files;
	return f->now.files;
}

size_t gpu_find_nr_denied(const struct gpu_find *f)
{
	size_t nr = 0;

	for (size_t i = 0; i < f->now.nr_looked; i++)
		nr += is_denied(f->now.looked[i].error);
	return nr;
}

size_t gpu_find_nr_failed(const struct gpu_find *f, int *error)
{
	size_t nr = 0;

	for (size_t i = 0; i < f->now.nr_looked; i++) {
		int rc = f->now.looked[i].error;

		if (!rc || is_denied(rc))
			continue;
		*error = rc;
		nr++;
	}
	return nr;
}

bool gpu_find_is_full(const struct gpu_find *f)
{
	return f->is_full;
}

ssize_t gpu_find_load(const struct gpu_find *f, const struct gpu_file *file, char *text,
		      size_t size)
{
	char name[32], path[PATH_BYTES];

	snprintf(name, sizeof(name), "fdinfo/%" PRIu32, file->fd);
	(void)proc_name(PROC(NULL, file->pid), name, path, sizeof(path));
	return file_cache_read(&f->cache, -1, path, text, size);
}

int gpu_find_open(const struct root *root, void *proc, unsigned major, struct gpu_find **out)
{
	struct gpu_find *f = mem_zalloc(sizeof(*f));
	int rc = f ? file_cache_init(&f->cache, root, "/proc") : -ENOMEM;

	if (rc) {
		mem_free(f);
		return rc;
	}
	f->proc = proc;
	f->major = major;
	f->is_live = !root->dir[0];
	*out = f;
	return 0;
}

static void free_found(struct found *f)
{
	mem_free(f->files);
	mem_free(f->looked);
}

void gpu_find_close(struct gpu_find *f)
{
	if (!f)
		return;
	files_close(f->by_kernel);
	file_cache_fini(&f->cache);
	proc_ids_fini(&f->processes);
	proc_ids_fini(&f->fds);
	free_found(&f->now);
	free_found(&f->before);
	mem_free(f);
}
