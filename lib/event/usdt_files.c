#include "event/usdt_files.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/root.h"
#include "elf/file.h"
#include "elf/objects.h"
#include "elf/reader.h"
#include "event/usdt.h"
#include "host/host.h"
#include "proc/list.h"
#include "proc/maps.h"
#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_MAPS_BYTES = 64 << 20, MAX_CACHE_BYTES = 64 << 20 };

typedef int file_fn(const struct elf_file *f, const char *path, void *arg);
typedef int walk_fn(const struct elf_file *f, const struct usdt_file *file, void *arg);

/* Marks the file at the path, if it is there, as that of a program. */
static void mark_program(struct elf_objects *o, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return;
	for (size_t i = 0; i < elf_objects_nr(o); i++) {
		struct elf_object *x = dict_at(&o->files, (uint32_t)i);

		x->is_program |= x->device == st.st_dev && x->inode == st.st_ino;
	}
}

/* --- the files of a command */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static int add_program(struct elf_objects *o, const char *name)
{
	const size_t first = elf_objects_nr(o);
	char path[PATH_MAX];
	int rc = realpath(name, path) ? elf_objects_add_program(o, path) : 0;

	if (elf_objects_nr(o) > first) /* of a script: its interpreter */
		mark_program(o, elf_objects_at(o, first)->path);
	return rc;
}

/* Looks the command up in PATH, as execvp does. */
static int add_command(struct elf_objects *o, const char *name)
{
	const char *folders = getenv("PATH");
	char path[PATH_MAX];

	if (strchr(name, '/'))
		return add_program(o, name);
	for (folders = folders ? folders : "/bin:/usr/bin";; folders++) {
		size_t len = strcspn(folders, ":");

		if (snprintf(path, sizeof(path), "%.*s%s%s", (int)len, folders, len ? "/" : "./",
			     name) < (int)sizeof(path) &&
		    is_program(path))
			return add_program(o, path);
		folders += len;
		if (!*folders)
			return 0;
	}
}

/* --- the files of processes */

static bool is_file(const char *path, uint64_t inode)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == inode;
}

/* Code of a file: from the process's own root, if the path leads elsewhere here. */
static int add_mapping(struct elf_objects *o, const struct proc *p, const struct proc_mapping *m)
{
	char name[PATH_MAX], inside[PATH_MAX + 64];
	static const char root[] = "root";
	const char *path = name + strlen(root);

	if (!(m->prot & PROC_MAPS_EXEC) || !m->name_len || *m->name != '/' ||
	    m->name_len >= PATH_MAX - strlen(root))
		return 0;
	snprintf(name, sizeof(name), "%s%.*s", root, (int)m->name_len, m->name);
	if (is_file(path, m->inode))
		return elf_objects_add(o, path);
	return proc_path(p, name, inside, sizeof(inside)) > 0 && is_file(inside, m->inode)
		   ? elf_objects_add(o, inside)
		   : 0;
}

static int add_process(const struct host *h, struct elf_objects *o, uint32_t pid)
{
	const struct proc *p = PROC(&h->root, pid);
	BUF_AUTO(maps, MAX_MAPS_BYTES);
	struct proc_mapping m;
	char exe[PATH_MAX];
	const char *at;
	int rc = 0;

	if (proc_load(p, "maps", &maps)) /* it has ended, or is another user's */
		return 0;
	at = buf_str(&maps);
	while (rc == 0 && proc_maps_next(&at, buf_str(&maps) + maps.len, &m))
		rc = add_mapping(o, p, &m);
	if (proc_path(p, "exe", exe, sizeof(exe)) > 0)
		mark_program(o, exe);
	return rc;
}

struct named {
	const struct host *host;
	struct elf_objects *o;
	const char *glob;
};

static int add_if_named(uint32_t pid, void *arg)
{
	const struct named *n = arg;
	char comm[64];

	if (proc_load_text(PROC(&n->host->root, pid), "comm", comm, sizeof(comm)) ||
	    fnmatch(n->glob, comm, 0) != 0)
		return 0;
	return add_process(n->host, n->o, pid);
}

static int add_target(const struct host *h, const struct event_objects *x, struct elf_objects *o)
{
	int rc = x->command ? add_command(o, x->command) : 0;
	uint32_t pid;

	for (size_t i = 0; i < x->nr_pids && rc == 0; i++)
		if (proc_parse_id(x->pids[i], &pid))
			rc = add_process(h, o, pid);
	for (size_t i = 0; i < x->nr_comms && rc == 0; i++) {
		struct named n = {.host = h, .o = o, .glob = x->comms[i]};

		rc = proc_each(&h->root, add_if_named, &n);
	}
	return rc == -ENOMEM ? rc : 0;
}

/* --- reading them */

static int read_file(struct elf_reader *reader, const struct elf_object *object, walk_fn *fn,
		     void *arg)
{
	const struct usdt_file file = {object->path, reader, object->is_program};
	struct err unused = {0};
	struct elf_file *f;
	struct stat st;
	int rc;

	if (elf_file_open(reader, object->path, &f, &st, &unused))
		return 0;
	rc = fn(f, &file, arg);
	elf_file_close(f);
	return rc;
}

int usdt_files_walk_one(const char *path, walk_fn *fn, void *arg)
{
	const struct elf_reader_config config = {.max_bytes = 0};
	const struct elf_object object = {.path = path};
	struct elf_reader *reader;
	int rc = elf_reader_new(&config, &reader);

	if (rc)
		return rc;
	rc = read_file(reader, &object, fn, arg);
	elf_reader_free(reader);
	return rc;
}

/* Those of a target, or of the loader's cache: all, or whose paths are wanted. */
struct files {
	const struct event_objects *objects;
	bool (*is_wanted)(const char *path, void *arg);
	void *arg;
};

static int read_all(const struct host *h, const struct files *which, struct elf_objects *o,
		    walk_fn *fn, void *arg)
{
	int rc = usdt_has_target(which->objects)
		     ? add_target(h, which->objects, o)
		     : elf_objects_add_cache(o, which->is_wanted, which->arg);

	for (size_t i = 0; i < elf_objects_nr(o) && rc == 0; i++)
		rc = read_file(o->reader, elf_objects_at(o, i), fn, arg);
	return rc;
}

bool usdt_has_target(const struct event_objects *objects)
{
	return objects && (objects->command || objects->nr_pids || objects->nr_comms);
}

static int walk(const struct host *h, const struct files *which, walk_fn *fn, void *arg)
{
	const struct elf_reader_config config = {.max_bytes = 0};
	struct elf_reader *reader;
	struct elf_objects o;
	BUF_AUTO(cache, MAX_CACHE_BYTES);
	int rc = elf_reader_new(&config, &reader);

	if (rc)
		return rc;
	elf_objects_init(&o, reader);
	o.library_path = getenv("LD_LIBRARY_PATH");
	if (root_load(&h->root, "/etc/ld.so.cache", &cache) == 0) {
		o.cache = (const uint8_t *)cache.data;
		o.cache_bytes = cache.len;
	}
	rc = read_all(h, which, &o, fn, arg);
	elf_objects_fini(&o);
	elf_reader_free(reader);
	return rc;
}

int usdt_files_walk(const struct host *h, const struct event_objects *objects, walk_fn *fn,
		    void *arg)
{
	const struct files all = {.objects = objects};

	return walk(h, &all, fn, arg);
}

int usdt_files_walk_installed(const struct host *h, bool (*is_wanted)(const char *path, void *arg),
			      walk_fn *fn, void *arg)
{
	const struct files wanted = {.is_wanted = is_wanted, .arg = arg};

	return walk(h, &wanted, fn, arg);
}

/* Who needs no more than the path. */
struct plain {
	file_fn *fn;
	void *arg;
};

static int call_plain(const struct elf_file *f, const struct usdt_file *file, void *arg)
{
	const struct plain *p = arg;

	return p->fn(f, file->path, p->arg);
}

int usdt_files_each(const struct host *h, const struct event_objects *objects, file_fn *fn,
		    void *arg)
{
	struct plain p = {fn, arg};

	return usdt_files_walk(h, objects, call_plain, &p);
}

int usdt_files_read(const char *path, file_fn *fn, void *arg)
{
	struct plain p = {fn, arg};

	return usdt_files_walk_one(path, call_plain, &p);
}
