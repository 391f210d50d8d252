#include "event/usdt_files.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/root.h"
#include "base/str.h"
#include "elf/file.h"
#include "elf/objects.h"
#include "elf/reader.h"
#include "event/usdt.h"
#include "host/host.h"

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

/* --- the files of a command */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static int add_program(struct elf_objects *o, const char *name)
{
	char path[PATH_MAX];

	return realpath(name, path) ? elf_objects_add_program(o, path) : 0;
}

/* As execvp. */
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

/* The field of a line of maps, from 0; fields are separated by single spaces up to the inode. */
static const char *field(const char *line, const char *stop, int number)
{
	for (; number && line; number--) {
		line = memchr(line, ' ', (size_t)(stop - line));
		line = line ? line + 1 : NULL;
	}
	return line;
}

static bool is_file(const char *path, uint64_t inode)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == inode;
}

/* Code of a file: from the process's own root, if the path leads elsewhere here. */
static int add_mapping(struct elf_objects *o, const char *pid, const char *line, const char *stop)
{
	const char *prot = field(line, stop, 1), *inode = field(line, stop, 4);
	const char *name = memchr(line, '/', (size_t)(stop - line));
	char path[PATH_MAX], inside[PATH_MAX + 64];
	uint64_t number;

	if (!prot || stop - prot < 3 || prot[2] != 'x' || !inode || !name ||
	    stop - name >= PATH_MAX || str_scan_u64(&inode, stop, &number))
		return 0;
	snprintf(path, sizeof(path), "%.*s", (int)(stop - name), name);
	snprintf(inside, sizeof(inside), "/proc/%s/root%s", pid, path);
	if (is_file(path, number))
		return elf_objects_add(o, path);
	return is_file(inside, number) ? elf_objects_add(o, inside) : 0;
}

static int add_process(const struct host *h, struct elf_objects *o, const char *pid)
{
	BUF_AUTO(maps, MAX_MAPS_BYTES);
	const char *at, *line, *stop;
	char path[64];
	int rc = 0;

	snprintf(path, sizeof(path), "/proc/%.20s/maps", pid);
	if (root_load(&h->root, path, &maps)) /* it has ended, or is another user's */
		return 0;
	at = buf_str(&maps);
	while (rc == 0 && (line = str_next_line(&at, buf_str(&maps) + maps.len, &stop)))
		rc = add_mapping(o, pid, line, stop);
	return rc;
}

struct named {
	const struct host *host;
	struct elf_objects *o;
	const char *glob;
};

static int add_if_named(const char *pid, void *arg)
{
	const struct named *n = arg;
	char path[64], comm[64];

	if (strspn(pid, "0123456789") != strlen(pid) || strlen(pid) > 20)
		return 0;
	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	if (root_load_text(&n->host->root, path, comm, sizeof(comm)) ||
	    fnmatch(n->glob, comm, 0) != 0)
		return 0;
	return add_process(n->host, n->o, pid);
}

static int add_target(const struct host *h, const struct event_objects *x, struct elf_objects *o)
{
	int rc = x->command ? add_command(o, x->command) : 0;

	for (size_t i = 0; i < x->nr_pids && rc == 0; i++)
		rc = add_process(h, o, x->pids[i]);
	for (size_t i = 0; i < x->nr_comms && rc == 0; i++) {
		struct named n = {.host = h, .o = o, .glob = x->comms[i]};

		rc = root_each(&h->root, "/proc", add_if_named, &n);
	}
	return rc == -ENOMEM ? rc : 0;
}

/* --- reading them */

static int read_file(struct elf_reader *reader, const char *path, file_fn *fn, void *arg)
{
	struct err unused = {0};
	struct elf_file *f;
	struct stat st;
	int rc;

	if (elf_file_open(reader, path, &f, &st, &unused))
		return 0;
	rc = fn(f, path, arg);
	elf_file_close(f);
	return rc;
}

int usdt_files_read(const char *path, file_fn *fn, void *arg)
{
	const struct elf_reader_config config = {.max_bytes = 0};
	struct elf_reader *reader;
	int rc = elf_reader_new(&config, &reader);

	if (rc)
		return rc;
	rc = read_file(reader, path, fn, arg);
	elf_reader_free(reader);
	return rc;
}

static int read_all(const struct host *h, const struct event_objects *objects,
		    struct elf_objects *o, file_fn *fn, void *arg)
{
	int rc = usdt_has_target(objects) ? add_target(h, objects, o) : elf_objects_add_cache(o);

	for (size_t i = 0; i < elf_objects_nr(o) && rc == 0; i++)
		rc = read_file(o->reader, elf_objects_at(o, i)->path, fn, arg);
	return rc;
}

bool usdt_has_target(const struct event_objects *objects)
{
	return objects && (objects->command || objects->nr_pids || objects->nr_comms);
}

int usdt_files_each(const struct host *h, const struct event_objects *objects, file_fn *fn,
		    void *arg)
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
	rc = read_all(h, objects, &o, fn, arg);
	elf_objects_fini(&o);
	elf_reader_free(reader);
	return rc;
}
