/*
 * Tries candidates in turn, each compared with what was recorded: the path, processes that have it
 * mapped, the debug folders, servers, and what the recording has of it. All answers are cached,
 * also negative ones.
 */
#include "elf/finder.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "base/sys.h"
#include "elf/debuginfod.h"
#include "elf/reader.h"
#include "proc/proc.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

enum {
	NR_BUCKETS = 1024,
	MAX_ENTRIES = 1 << 20,
	MAX_LIVING = 8, /* processes that are asked for a file */
	PROC_PATH_BYTES = 40,
};

#define DEBUG_DIR "/usr/lib/debug"

/* Who has a name: a file, or the recording. */
struct namer {
	struct elf_rights rights;
	char root[PROC_PATH_BYTES]; /* of the process in which the file is; "": it is here */
};

/* A request and its answers; files are owned. */
struct entry {
	struct entry *next;
	struct elf_wanted wanted; /* path owned; "" for requests by build-id only */
	struct namer by;
	bool has_code, has_debug; /* answered */
	struct elf_file *code, *debug;
	bool is_debug_own; /* debug == code */
};

struct elf_finder {
	struct elf_finder_config config;
	struct elf_reader *reader;
	struct elf_reader *own; /* owned, unless one was configured */
	pthread_mutex_t lock;
	struct elf_living *living;
	struct elf_debuginfod *debuginfod; /* owned; NULL: not opened */
	bool has_tried_debuginfod, has_reported_debuginfod;
	bool has_reported_rights;
	size_t nr_entries;
	struct entry *bucket[NR_BUCKETS];
};

static void report(const struct elf_finder *f, const struct err *e)
{
	if (f->config.problem && e->code)
		f->config.problem(f->config.arg, e);
}

struct elf_reader *elf_finder_reader(const struct elf_finder *f)
{
	return f->reader;
}

static const char *sysroot(const struct elf_finder *f)
{
	return f->config.sysroot ? f->config.sysroot : "";
}

const char *elf_finder_sysroot(const struct elf_finder *f)
{
	return sysroot(f);
}

struct elf_rights elf_finder_rights(const struct elf_finder *f, struct elf_rights of_namer)
{
	return elf_rights_of_both(f->config.rights, of_namer);
}

struct elf_reader_file elf_finder_named(const struct elf_finder *f, const char *path,
					struct elf_rights of_namer)
{
	const size_t len = strlen(sysroot(f));

	return (struct elf_reader_file){
	    .path = path,
	    .rights = elf_finder_rights(f, of_namer),
	    .root_len = strncmp(path, sysroot(f), len) == 0 && path[len] == '/' ? len : 0,
	};
}

/* NULL: the recording. */
static struct namer namer_of(const struct elf_file *by)
{
	struct namer n = {.root = ""};
	size_t len = by ? elf_file_root_len(by) : 0;

	if (by)
		n.rights = elf_file_rights(by);
	if (len && len < sizeof(n.root))
		memcpy(n.root, elf_file_name(by), len);
	return n;
}

/* In which its paths begin. */
static const char *root_of(const struct elf_finder *f, const struct namer *by)
{
	return *by->root ? by->root : sysroot(f);
}

static struct elf_reader_file place_of(const struct elf_finder *f, const char *path,
				       const struct namer *by)
{
	struct elf_reader_file place = elf_finder_named(f, path, by->rights);
	const size_t len = strlen(by->root);

	if (len && strncmp(path, by->root, len) == 0) {
		place.root_len = len;
		place.is_own_root = place.is_elsewhere = true;
	}
	return place;
}

static int open_named(const struct elf_finder *f, const char *path, const struct namer *by,
		      struct elf_file **out, struct stat *st, struct err *e)
{
	const struct elf_reader_file place = place_of(f, path, by);

	return elf_file_open_as(f->reader, &place, out, st, e);
}

/* --- the file at the recorded path --- */

static void hex(const struct elf_build_id *id, char out[2 * ELF_MAX_BUILD_ID_BYTES + 1])
{
	*out = '\0';
	for (size_t i = 0; i < id->len; i++)
		snprintf(out + 2 * i, 3, "%02x", id->bytes[i]);
}

static int refuse_changed(const struct elf_wanted *w, const struct elf_file *file, struct err *e)
{
	char recorded[2 * ELF_MAX_BUILD_ID_BYTES + 1], found[2 * ELF_MAX_BUILD_ID_BYTES + 1];

	hex(&w->build_id, recorded);
	hex(elf_file_build_id(file), found);
	err_set_at(e, -ESTALE, elf_file_name(file), 0, 0,
		   "is not the file that ran: its build-id is %s, the recorded one %s",
		   *found ? found : "not there", recorded);
	err_hint(e,
		 "copy the version that ran, or its debug file, to "
		 "DIR/.build-id/%.2s/%s.debug and use --debug-dir=DIR, or name a tree "
		 "that contains it with --sysroot=",
		 recorded, recorded + 2);
	return -ESTALE;
}

static uint64_t to_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

/* Verifies a file without a build-id by its inode and time of change. */
static int check_unverified(const struct elf_finder *f, const struct elf_wanted *w,
			    const struct elf_file *file, const struct stat *st, struct err *e)
{
	const uint64_t recorded_ns = f->config.recorded_ns;
	const bool has_inode = w->inode && !*sysroot(f);
	const bool is_there = w->major == major(st->st_dev) && w->minor == minor(st->st_dev);
	const bool is_replaced = (recorded_ns && to_ns(&st->st_mtim) > recorded_ns) ||
				 (has_inode && w->inode != st->st_ino);

	if (has_inode && is_there && !is_replaced && to_ns(&st->st_ctim) <= f->config.begun_ns)
		return 0;
	if (is_replaced)
		err_set_at(e, -ESTALE, w->path, 0, 0,
			   "is not the file that ran: it was replaced or changed since");
	else
		err_set_at(e, -ENODATA, w->path, 0, 0,
			   "is assumed to be the file that ran; there is no build-id to verify it");
	if (elf_file_build_id(file)->len)
		err_hint(e, "the file has one, but none was recorded");
	else
		err_hint(e, "link it with -Wl,--build-id");
	return is_replaced ? -ESTALE : 0;
}

static struct elf_file *open_start_of_path(const struct elf_finder *f, const struct elf_wanted *w,
					   size_t path_len, struct err *e)
{
	const struct namer by = namer_of(NULL);
	struct elf_file *file;
	char path[PATH_MAX];
	struct stat st;
	int len, rc;

	len = snprintf(path, sizeof(path), "%s%.*s", sysroot(f), (int)path_len, w->path);
	if (len < 0 || (size_t)len >= sizeof(path) || open_named(f, path, &by, &file, &st, e))
		return NULL;
	if (!w->build_id.len)
		rc = check_unverified(f, w, file, &st, e);
	else
		rc = elf_build_id_equal(&w->build_id, elf_file_build_id(file))
			 ? 0
			 : refuse_changed(w, file, e);
	if (rc == 0)
		return file;
	elf_file_close(file);
	return NULL;
}

/* The kernel marks the paths of removed files, and a file may have such a name. The build-id, or
 * the inode, shows which it is; the build-id also whether a removed file is back. Without one,
 * that a removed file is not there is no problem. */
static struct elf_file *open_at_path(const struct elf_finder *f, const struct elf_wanted *w,
				     struct err *e)
{
	static const char mark[] = " (deleted)";
	size_t path_len = strlen(w->path), mark_len = sizeof(mark) - 1;
	struct err first = {0};
	struct elf_file *file;

	if (path_len <= mark_len || strcmp(w->path + path_len - mark_len, mark) != 0)
		return open_start_of_path(f, w, path_len, e);
	file = open_start_of_path(f, w, path_len, &first);
	if (file)
		*e = first;
	return file || !w->build_id.len ? file : open_start_of_path(f, w, path_len - mark_len, e);
}

/* --- files by build-id --- */

/* Debug folder i: those configured, then that of the sysroot or of the namer's root, then that of
 * this machine. */
static bool debug_dir(const struct elf_finder *f, const struct namer *by, size_t i,
		      char out[PATH_MAX])
{
	size_t nr = f->config.nr_debug_dirs;
	int len;

	if (i < nr)
		len = snprintf(out, PATH_MAX, "%s", f->config.debug_dirs[i]);
	else
		len = snprintf(out, PATH_MAX, "%s" DEBUG_DIR, i == nr ? root_of(f, by) : "");
	return len >= 0 && len < PATH_MAX;
}

static size_t nr_debug_dirs(const struct elf_finder *f, const struct namer *by)
{
	return f->config.nr_debug_dirs + (*root_of(f, by) ? 2 : 1);
}

static bool has_bytes(const struct elf_file *f, const char *name)
{
	struct elf_section s;

	return elf_file_find_section(f, name, &s) && s.is_held && s.size;
}

/* A debug file has no code. */
static bool has_code(const struct elf_file *f)
{
	struct elf_section s;

	for (size_t i = 0; i < elf_file_nr_sections(f); i++)
		if (elf_file_section(f, i, &s) && (s.flags & SHF_EXECINSTR) && s.is_held && s.size)
			return true;
	return false;
}

static bool has_dwarf(const struct elf_file *f)
{
	return has_bytes(f, ".debug_info");
}

static bool has_symbols(const struct elf_file *f)
{
	return has_bytes(f, ".symtab") || has_dwarf(f);
}

typedef bool accept_fn(const struct elf_file *f);

static void report_rights(struct elf_finder *f, const struct elf_reader_file *place, struct err *e)
{
	if (f->has_reported_rights)
		return;
	err_hint(e, "root reads it as user %" PRIu32 ", whose file or folder leads to it",
		 place->rights.uid);
	report(f, e);
	f->has_reported_rights = true;
}

static struct elf_file *open_checked(struct elf_finder *f, const struct elf_reader_file *place,
				     const struct elf_build_id *id, accept_fn *accept)
{
	struct err e = {0};
	struct elf_file *file;
	struct stat st;
	int rc = elf_file_open_as(f->reader, place, &file, &st, &e);

	if (rc == -EACCES && place->rights.are_limited)
		report_rights(f, place, &e);
	if (rc)
		return NULL;
	if (elf_build_id_equal(id, elf_file_build_id(file)) && accept(file))
		return file;
	elf_file_close(file);
	return NULL;
}

/* Links in it lead where its owner wants. */
static struct elf_rights rights_of_folder(const char *folder)
{
	struct elf_rights rights = {.are_limited = false};
	struct stat st;

	if (sys()->fstatat(AT_FDCWD, folder, &st, 0) == 0)
		rights = elf_rights_of(&st);
	return rights;
}

static struct elf_file *open_in_dirs(struct elf_finder *f, const struct namer *by,
				     const struct elf_build_id *id, const char *suffix,
				     accept_fn *accept)
{
	char dir[PATH_MAX], path[PATH_MAX], name[2 * ELF_MAX_BUILD_ID_BYTES + 1];
	struct elf_reader_file place;
	struct elf_file *file = NULL;

	if (id->len < 2)
		return NULL;
	hex(id, name);
	for (size_t i = 0; i < nr_debug_dirs(f, by) && !file; i++) {
		int len;

		if (!debug_dir(f, by, i, dir))
			continue;
		len = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s%s", dir, name, name + 2,
			       suffix);
		if (len < 0 || (size_t)len >= sizeof(path))
			continue;
		place = place_of(f, path, by);
		if (!place.is_own_root)
			place.rights = elf_rights_of_both(place.rights, rights_of_folder(dir));
		file = open_checked(f, &place, id, accept);
	}
	return file;
}

/* --- files that are still mapped --- */

void elf_finder_add_living(struct elf_living *l)
{
	pthread_mutex_lock(&l->finder->lock);
	l->next = l->finder->living;
	l->finder->living = l;
	pthread_mutex_unlock(&l->finder->lock);
}

void elf_finder_remove_living(struct elf_living *l)
{
	struct elf_living **at;

	if (!l->finder)
		return;
	pthread_mutex_lock(&l->finder->lock);
	for (at = &l->finder->living; *at && *at != l; at = &(*at)->next)
		;
	if (*at)
		*at = l->next;
	pthread_mutex_unlock(&l->finder->lock);
}

static bool is_same_file(const struct proc *p, const char *name, const char *ours)
{
	struct stat x, y;

	return proc_find(p, name, &x) == 0 && sys()->fstatat(AT_FDCWD, ours, &y, 0) == 0 &&
	       x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Paths mean the same to the process as here. */
static bool has_our_root(uint32_t pid)
{
	const struct proc *p = PROC(&root_live, pid);

	return is_same_file(p, "root", "/") && is_same_file(p, "ns/mnt", "/proc/self/ns/mnt");
}

/* Place i in which a process has a file. False: there are no more. */
static bool mapped_path(const struct elf_wanted *w, const struct elf_mapped *m, size_t i,
			char out[PATH_MAX], size_t *root_len)
{
	const struct proc *p = PROC(&root_live, m->pid);
	char name[PATH_MAX] = "exe"; /* the last, for others than root */

	*root_len = 0;
	if (i > 2)
		return false;
	if (i == 0) { /* first, as it says where the file is */
		*root_len = (size_t)proc_path(p, "root", out, PATH_MAX);
		if (snprintf(name, sizeof(name), "root%s", w->path) >= (int)sizeof(name))
			return false;
	} else if (i == 1) {
		proc_map_file(m->start, m->end, name);
	}
	return proc_path(p, name, out, PATH_MAX) > 0;
}

/* Verifies by the build-id, or else by the inode; e then says what is assumed. */
static bool is_mapped_file(const struct elf_finder *f, const struct elf_wanted *w,
			   const struct elf_file *file, const struct stat *st, struct err *e)
{
	if (w->build_id.len)
		return elf_build_id_equal(&w->build_id, elf_file_build_id(file));
	return w->inode && check_unverified(f, w, file, st, e) == 0;
}

static struct elf_file *open_of_process(const struct elf_finder *f, const struct elf_wanted *w,
					const struct elf_mapped *m, struct err *e)
{
	const bool is_elsewhere = !has_our_root(m->pid);
	struct elf_file *file;
	struct err own;
	char path[PATH_MAX];
	size_t root_len;
	struct stat st;

	for (size_t i = 0; mapped_path(w, m, i, path, &root_len); i++) {
		const struct elf_reader_file where = {.path = path,
						      .root_len = root_len,
						      .rights = f->config.rights,
						      .is_of_kernel = !root_len,
						      .is_elsewhere = is_elsewhere};

		if (elf_file_open_as(f->reader, &where, &file, &st, NULL))
			continue;
		own = (struct err){0};
		if (is_mapped_file(f, w, file, &st, &own)) {
			*e = own;
			return file;
		}
		elf_file_close(file);
	}
	return NULL;
}

static struct elf_file *open_mapped(const struct elf_finder *f, const struct elf_wanted *w,
				    struct err *e)
{
	struct elf_file *file = NULL;
	struct elf_mapped m;

	for (const struct elf_living *l = f->living; l && !file && !*sysroot(f); l = l->next)
		for (size_t i = 0; i < MAX_LIVING && !file && l->find(l->arg, w, i, &m); i++)
			file = open_of_process(f, w, &m, e);
	return file;
}

/* --- parts of files that the recording has --- */

/* The copy in the session: by build-id, or, if the file has none, by path and inode. */
static struct elf_file *open_stored(const struct elf_finder *f, const struct elf_wanted *w)
{
	struct elf_file *file = NULL;
	struct elf_file_parts parts;

	for (const struct elf_living *l = f->living; l && !file; l = l->next) {
		if (!l->find_stored || !l->find_stored(l->arg, w, &parts) ||
		    elf_file_open_parts(f->reader, &parts, w->path, &file, NULL))
			continue;
		if (!w->build_id.len || elf_build_id_equal(&w->build_id, elf_file_build_id(file)))
			break;
		elf_file_close(file);
		file = NULL;
	}
	if (file)
		log_verbose(1, "%s: names are those that the session stored", w->path);
	return file;
}

static bool may_ask(struct elf_finder *f, const struct elf_build_id *id)
{
	struct err e = {0};

	if (!f->config.use_debuginfod || id->len < 2)
		return false;
	if (!f->has_tried_debuginfod && elf_debuginfod_open(&f->debuginfod, &e))
		report(f, &e);
	f->has_tried_debuginfod = true;
	return f->debuginfod;
}

static void report_servers(struct elf_finder *f, int rc)
{
	struct err e = {0};

	if (!rc || rc == -ENOENT || f->has_reported_debuginfod)
		return;
	err_set(&e, rc, "debuginfod: servers cannot be asked: %s", strerror(-rc));
	err_hint(&e, "check DEBUGINFOD_URLS and the connection to the server");
	report(f, &e);
	f->has_reported_debuginfod = true; /* later files would fail alike */
}

/* Who runs this chose the servers, but the folder may be in another user's home. */
struct elf_reader_file elf_finder_copy(const char *path)
{
	struct elf_reader_file copy = {.path = path};
	char folder[PATH_MAX];
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (slash && (size_t)(slash - path) < sizeof(folder)) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		copy.rights = rights_of_folder(folder);
	}
	return copy;
}

char *elf_finder_source(struct elf_finder *f, const struct elf_build_id *id, const char *source)
{
	char *path = NULL;

	if (*source != '/')
		return NULL;
	pthread_mutex_lock(&f->lock);
	if (may_ask(f, id))
		report_servers(f, elf_debuginfod_find_source(f->debuginfod, id, source, &path));
	pthread_mutex_unlock(&f->lock);
	return path;
}

static struct elf_file *ask_servers(struct elf_finder *f, const struct elf_build_id *id,
				    enum elf_debuginfod_what what, accept_fn *accept)
{
	struct elf_reader_file place;
	struct elf_file *file;
	char *path;
	int rc;

	if (!may_ask(f, id))
		return NULL;
	rc = elf_debuginfod_find(f->debuginfod, id, what, &path);
	report_servers(f, rc);
	if (rc)
		return NULL;
	place = elf_finder_copy(path);
	file = open_checked(f, &place, id, accept);
	free(path); /* allocated by libdebuginfod */
	return file;
}

static struct elf_file *find_code(struct elf_finder *f, const struct elf_wanted *w,
				  const struct namer *by)
{
	struct err e = {0};
	struct elf_file *file = NULL;

	if (w->path[0] == '/' && w->path[1] != '/')
		file = open_at_path(f, w, &e);
	if (!file)
		file = open_mapped(f, w, &e);
	if (!file)
		file = open_in_dirs(f, by, &w->build_id, "", has_code);
	if (!file)
		file = open_in_dirs(f, by, &w->build_id, ".debug", has_code);
	if (!file)
		file = ask_servers(f, &w->build_id, ELF_DEBUGINFOD_CODE, has_code);
	if (!file)
		file = open_stored(f, w);
	/* a file found elsewhere needs no warning */
	if (!file || e.code == -ENODATA)
		report(f, &e);
	return file;
}

/* --- files by .gnu_debuglink: a name, padding to 4 bytes, the CRC-32 of the file --- */

struct link {
	char name[NAME_MAX + 1];
	uint32_t crc;
};

static bool decode_link(const struct elf_file *code, struct link *out)
{
	struct elf_section s;
	const uint8_t *p;
	size_t len;

	if (!elf_file_load_section(code, ".gnu_debuglink", &s))
		return false;
	len = strnlen((const char *)s.data, s.size);
	if (!len || len > NAME_MAX || ((len + 4) & ~(size_t)3) + 4 > s.size ||
	    memchr(s.data, '/', len))
		return false;
	p = s.data + ((len + 4) & ~(size_t)3);
	memcpy(out->name, s.data, len);
	out->name[len] = '\0';
	out->crc =
	    (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	return true;
}

/* Candidate i: in the program's folder, in .debug there, then below each debug folder. */
static bool link_path(const struct elf_finder *f, const struct namer *by, size_t i,
		      const char *path, const struct link *link, char out[PATH_MAX])
{
	int folder_len = (int)(strrchr(path, '/') - path), len;
	char dir[PATH_MAX];

	if (i < 2)
		len = snprintf(out, PATH_MAX, "%s%.*s/%s%s", root_of(f, by), folder_len, path,
			       i ? ".debug/" : "", link->name);
	else if (debug_dir(f, by, i - 2, dir))
		len = snprintf(out, PATH_MAX, "%s%.*s/%s", dir, folder_len, path, link->name);
	else
		return false;
	return len >= 0 && len < PATH_MAX;
}

static struct elf_file *open_by_link(struct elf_finder *f, const struct elf_wanted *w,
				     const struct elf_file *code)
{
	const struct elf_build_id *id = elf_file_build_id(code), *found;
	const struct namer by = namer_of(code);
	struct elf_file *file;
	char path[PATH_MAX];
	struct err e = {0};
	struct link link;
	struct stat st;
	uint32_t crc;

	if (!strchr(w->path, '/') || !decode_link(code, &link))
		return NULL;
	for (size_t i = 0; i < nr_debug_dirs(f, &by) + 2; i++) {
		if (!link_path(f, &by, i, w->path, &link, path) ||
		    open_named(f, path, &by, &file, &st, NULL))
			continue;
		found = elf_file_build_id(file);
		if ((!id->len || !found->len || elf_build_id_equal(id, found)) &&
		    has_symbols(file) && elf_file_crc32(file, &crc) && crc == link.crc)
			return file;
		elf_file_close(file);
		err_set_at(&e, -ESTALE, path, 0, 0,
			   "is not the debug file of %s: it belongs to another version", w->path);
	}
	report(f, &e);
	return NULL;
}

/* --- files of split units, which are where they were compiled, or were copied beside the program
 * or into a debug folder --- */

/* Place i; "": there is none. False: there are no more. */
static bool split_path(const struct elf_finder *f, const struct elf_wanted_split *w,
		       const struct namer *by, size_t i, char out[PATH_MAX])
{
	const char *beside = elf_file_name(w->by);
	int beside_len = (int)(str_base_name(beside) - beside), len = 0;
	bool is_absolute = *w->name == '/';
	char dir[PATH_MAX];

	if (i == 0 && is_absolute)
		len = snprintf(out, PATH_MAX, "%s%s", root_of(f, by), w->name);
	else if (i == 0 && w->folder)
		len = snprintf(out, PATH_MAX, "%s%s/%s", root_of(f, by), w->folder, w->name);
	else if (i == 1 && !is_absolute)
		len = snprintf(out, PATH_MAX, "%.*s%s", beside_len, beside, w->name);
	else if (i == 2)
		len = snprintf(out, PATH_MAX, "%.*s%s", beside_len, beside, str_base_name(w->name));
	else if (i > 2 && i - 3 < nr_debug_dirs(f, by) && debug_dir(f, by, i - 3, dir))
		len = snprintf(out, PATH_MAX, "%s/%s", dir, str_base_name(w->name));
	if (len <= 0 || len >= PATH_MAX)
		*out = '\0';
	return i < 3 + nr_debug_dirs(f, by);
}

bool elf_finder_split(struct elf_finder *f, const struct elf_wanted_split *w, size_t i,
		      struct elf_file **out)
{
	const struct namer by = namer_of(w->by);
	char path[PATH_MAX];
	struct stat st;

	*out = NULL;
	if (!split_path(f, w, &by, i, path))
		return false;
	if (*path && open_named(f, path, &by, out, &st, NULL))
		*out = NULL;
	return true;
}

bool elf_finder_package(struct elf_finder *f, const struct elf_file *program, size_t i,
			struct elf_file **out)
{
	const char *name = elf_file_name(program);
	const struct namer by = namer_of(program);
	char path[PATH_MAX] = "", dir[PATH_MAX];
	struct stat st;
	int len = 0;

	*out = NULL;
	if (i > nr_debug_dirs(f, &by))
		return false;
	if (i == 0)
		len = snprintf(path, PATH_MAX, "%s.dwp", name);
	else if (debug_dir(f, &by, i - 1, dir))
		len = snprintf(path, PATH_MAX, "%s/%s.dwp", dir, str_base_name(name));
	if (len > 0 && len < PATH_MAX && open_named(f, path, &by, out, &st, NULL))
		*out = NULL;
	return true;
}

static const struct elf_file *get_code(struct elf_finder *f, struct entry *en)
{
	if (!en->has_code)
		en->code = find_code(f, &en->wanted, &en->by);
	en->has_code = true;
	return en->code;
}

static struct elf_file *find_debug(struct elf_finder *f, struct entry *en)
{
	const struct elf_file *code = get_code(f, en);
	const struct elf_build_id *id =
	    en->wanted.build_id.len || !code ? &en->wanted.build_id : elf_file_build_id(code);
	const struct namer by = code ? namer_of(code) : en->by;
	struct elf_file *file = NULL;

	if (code && has_dwarf(code))
		goto own;
	file = open_in_dirs(f, &by, id, ".debug", has_symbols);
	if (!file && code)
		file = open_by_link(f, &en->wanted, code);
	if (!file)
		file = ask_servers(f, id, ELF_DEBUGINFOD_DEBUG, has_symbols);
	if (file || !code || !has_symbols(code))
		return file;
own:
	en->is_debug_own = true;
	return en->code;
}

static const struct elf_file *get_debug(struct elf_finder *f, struct entry *en)
{
	if (!en->has_debug)
		en->debug = find_debug(f, en);
	en->has_debug = true;
	return en->debug;
}

/* --- the cache --- */

static bool is_same(const struct elf_wanted *a, const struct elf_wanted *b)
{
	return strcmp(a->path, b->path) == 0 && elf_build_id_equal(&a->build_id, &b->build_id) &&
	       a->major == b->major && a->minor == b->minor && a->inode == b->inode;
}

static bool is_same_namer(const struct namer *a, const struct namer *b)
{
	return a->rights.are_limited == b->rights.are_limited && a->rights.uid == b->rights.uid &&
	       strcmp(a->root, b->root) == 0;
}

/* Finds or adds the entry. NULL: no memory. */
static struct entry *get(struct elf_finder *f, const struct elf_wanted *w, const struct namer *by)
{
	uint32_t hash =
	    hash_bytes(hash_bytes(0, w->path, strlen(w->path)), w->build_id.bytes, w->build_id.len);
	struct entry **head = &f->bucket[hash % NR_BUCKETS], *en = *head;
	char *path;

	while (en && !(is_same(&en->wanted, w) && is_same_namer(&en->by, by)))
		en = en->next;
	if (en || f->nr_entries == MAX_ENTRIES)
		return en;
	en = mem_zalloc(sizeof(*en));
	path = en ? mem_strdup(w->path) : NULL;
	if (!path) {
		mem_free(en);
		return NULL;
	}
	en->wanted = *w;
	en->wanted.path = path;
	en->by = *by;
	en->next = *head;
	*head = en;
	f->nr_entries++;
	return en;
}

typedef const struct elf_file *get_fn(struct elf_finder *f, struct entry *en);

static const struct elf_file *ask(struct elf_finder *f, const struct elf_wanted *w,
				  const struct elf_file *by, get_fn *answer)
{
	const struct namer namer = namer_of(by);
	const struct elf_file *file;
	struct entry *en;

	if (w->build_id.len > ELF_MAX_BUILD_ID_BYTES)
		return NULL;
	pthread_mutex_lock(&f->lock);
	en = get(f, w, &namer);
	file = en ? answer(f, en) : NULL;
	pthread_mutex_unlock(&f->lock);
	return file;
}

const struct elf_file *elf_finder_code(struct elf_finder *f, const struct elf_wanted *w)
{
	return ask(f, w, NULL, get_code);
}

const struct elf_file *elf_finder_debug(struct elf_finder *f, const struct elf_wanted *w)
{
	return ask(f, w, NULL, get_debug);
}

const struct elf_file *elf_finder_by_id(struct elf_finder *f, const struct elf_build_id *id,
					const struct elf_file *by)
{
	return ask(f, &(struct elf_wanted){.path = "", .build_id = *id}, by, get_debug);
}

static int check_folder(const char *option, const char *path, struct err *e)
{
	struct stat st;
	int rc = sys()->fstatat(AT_FDCWD, path, &st, 0);

	if (rc == 0 && !S_ISDIR(st.st_mode))
		rc = -ENOTDIR;
	return rc ? err_set(e, rc, "%s=%s: cannot be used: %s", option, path, strerror(-rc)) : 0;
}

int elf_finder_check(const struct elf_finder_config *config, struct err *e)
{
	int rc =
	    config->sysroot && *config->sysroot ? check_folder("--sysroot", config->sysroot, e) : 0;

	for (size_t i = 0; i < config->nr_debug_dirs && rc == 0; i++)
		rc = check_folder("--debug-dir", config->debug_dirs[i], e);
	return rc;
}

int elf_finder_new(const struct elf_finder_config *config, struct elf_finder **out)
{
	const struct elf_reader_config reader = {.problem = config->problem, .arg = config->arg};
	struct elf_finder *f = mem_zalloc(sizeof(*f));
	int rc = 0;

	if (!f)
		return -ENOMEM;
	f->config = *config;
	f->reader = config->reader;
	if (!f->reader)
		rc = elf_reader_new(&reader, &f->own);
	if (rc) {
		mem_free(f);
		return rc;
	}
	if (f->own)
		f->reader = f->own;
	pthread_mutex_init(&f->lock, NULL);
	*out = f;
	return 0;
}

void elf_finder_free(struct elf_finder *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < NR_BUCKETS; i++)
		for (struct entry *en = f->bucket[i], *next; en; en = next) {
			next = en->next;
			if (!en->is_debug_own)
				elf_file_close(en->debug);
			elf_file_close(en->code);
			mem_free((char *)(uintptr_t)en->wanted.path);
			mem_free(en);
		}
	elf_debuginfod_close(f->debuginfod);
	elf_reader_free(f->own);
	pthread_mutex_destroy(&f->lock);
	mem_free(f);
}
