/*
 * Breadth first, as the loader does it: the libraries of an object are looked for in the folders of
 * its DT_RPATH and those of the objects that need it, of LD_LIBRARY_PATH, of its DT_RUNPATH, in the
 * cache, and in the default folders. The first file of the same machine is taken.
 */
#include "elf/objects.h"

#include "base/err.h"
#include "base/io.h"
#include "base/str.h"
#include "base/sys.h"
#include "elf/file.h"
#include "elf/ld_cache.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAX_OBJECTS = 1024,
	MAX_CACHED = 1 << 16,
	MAX_PATHS_BYTES = 16 << 20,
	MAX_DYNAMIC_BYTES = 1 << 20,
	MAX_INTERPRETERS = 4,
	MAX_LINE_BYTES = 256,
};

static const char *const default_folders[] = {
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
};

/* The walk from one program. */
struct walk {
	struct elf_objects *o;
	uint16_t machine; /* of the program */
	bool is_64;
	const char *rpath; /* of the program, which holds for all that have no runpath; or NULL */
	char program_origin[PATH_MAX], origin[PATH_MAX]; /* folders: of the program, of an object */
};

void elf_objects_init(struct elf_objects *o, struct elf_reader *reader)
{
	*o = (struct elf_objects){.reader = reader};
	arena_init(&o->paths, MAX_PATHS_BYTES);
	dict_init(&o->files, sizeof(struct elf_object), DICT_KEY(struct elf_object, inode),
		  MAX_CACHED);
}

void elf_objects_fini(struct elf_objects *o)
{
	dict_fini(&o->files);
	arena_fini(&o->paths);
}

int elf_objects_add(struct elf_objects *o, const char *path)
{
	struct elf_object key = {.path = NULL}, *found;
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	key.device = st.st_dev;
	key.inode = st.st_ino;
	found = dict_get(&o->files, &key);
	if (!found)
		return -ENOMEM;
	if (!found->path)
		found->path = arena_strdup(&o->paths, path);
	return found->path ? 0 : -ENOMEM;
}

struct cached {
	struct elf_objects *o;
	bool (*is_wanted)(const char *path, void *arg);
	void *arg;
};

static int add_cached(const char *name, const char *path, void *arg)
{
	const struct cached *c = arg;

	(void)name;
	return !c->is_wanted || c->is_wanted(path, c->arg) ? elf_objects_add(c->o, path) : 0;
}

int elf_objects_add_cache(struct elf_objects *o, bool (*is_wanted)(const char *path, void *arg),
			  void *arg)
{
	struct cached c = {o, is_wanted, arg};

	return o->cache ? elf_ld_cache_each(o->cache, o->cache_bytes, add_cached, &c) : 0;
}

/* --- one object's dynamic section */

/* NULL: outside, or endless. */
static const char *string_at(const struct elf_section *strings, uint64_t at)
{
	return strings->data && at < strings->size &&
		       memchr(strings->data + at, '\0', strings->size - at)
		   ? (const char *)strings->data + at
		   : NULL;
}

/* Calls fn for the text of each entry with one of the tags. */
static int each_text(const struct elf_file *f, uint64_t tag, int (*fn)(const char *text, void *arg),
		     void *arg)
{
	size_t word = elf_file_is_64(f) ? 8 : 4;
	struct elf_section dynamic, strings;
	int rc = 0;

	if (!elf_file_find_section(f, ".dynamic", &dynamic) || dynamic.size > MAX_DYNAMIC_BYTES ||
	    !elf_file_load(f, &dynamic) || !elf_file_section(f, dynamic.link, &strings) ||
	    !elf_file_load(f, &strings))
		return 0;
	for (size_t at = 0; at + 2 * word <= dynamic.size && rc == 0; at += 2 * word) {
		uint64_t kind = 0, value = 0;
		const char *text;

		memcpy(&kind, dynamic.data + at, word);
		memcpy(&value, dynamic.data + at + word, word);
		if (kind == DT_NULL)
			break;
		text = kind == tag ? string_at(&strings, value) : NULL;
		if (text)
			rc = fn(text, arg);
	}
	return rc;
}

static int take_text(const char *text, void *arg)
{
	*(const char **)arg = text;
	return 1;
}

static const char *find_text(const struct elf_file *f, uint64_t tag)
{
	const char *text = NULL;

	(void)each_text(f, tag, take_text, &text);
	return text;
}

/* --- where libraries are */

static bool is_of_machine(const struct walk *w, const char *path)
{
	struct err unused = {0};
	struct elf_file *f;
	struct stat st;
	bool is_same;

	if (stat(path, &st) || elf_file_open(w->o->reader, path, &f, &st, &unused))
		return false;
	is_same = elf_file_machine(f) == w->machine && elf_file_is_64(f) == w->is_64;
	elf_file_close(f);
	return is_same;
}

/* 1: found; 0: not there; -ENOMEM. */
static int try_file(const struct walk *w, const char *path)
{
	int rc = is_of_machine(w, path) ? elf_objects_add(w->o, path) : -ENOENT;

	return rc == 0 ? 1 : rc == -ENOENT ? 0 : rc;
}

/* A folder of a list, with $ORIGIN. */
static int try_folder(const struct walk *w, const char *origin, const char *folder, size_t len,
		      const char *name)
{
	static const char *const words[] = {"$ORIGIN", "${ORIGIN}"};
	char path[2 * PATH_MAX];
	size_t skip = 0;

	for (size_t i = 0; i < 2 && !skip; i++)
		if (len >= strlen(words[i]) && memcmp(folder, words[i], strlen(words[i])) == 0)
			skip = strlen(words[i]);
	if (!len || memchr(folder + skip, '$', len - skip)) /* $LIB, $PLATFORM */
		return 0;
	if (snprintf(path, sizeof(path), "%s%.*s/%s", skip ? origin : "", (int)(len - skip),
		     folder + skip, name) >= (int)sizeof(path))
		return 0;
	return try_file(w, path);
}

static int try_folders(const struct walk *w, const char *origin, const char *list,
		       const char *separators, const char *name)
{
	int rc = 0;

	for (size_t len; list && *list && rc == 0; list += len + (list[len] != '\0')) {
		len = strcspn(list, separators);
		rc = try_folder(w, origin, list, len, name);
	}
	return rc;
}

/* A library that an object needs. */
struct wanted {
	const struct walk *walk;
	const struct elf_file *by;
	const char *name;
};

static int try_cached(const char *name, const char *path, void *arg)
{
	const struct wanted *x = arg;

	return strcmp(name, x->name) == 0 ? try_file(x->walk, path) : 0;
}

static int try_defaults(const struct walk *w, const char *name)
{
	int rc = 0;

	for (size_t i = 0; i < sizeof(default_folders) / sizeof(default_folders[0]) && rc == 0; i++)
		rc = try_folder(w, "", default_folders[i], strlen(default_folders[i]), name);
	return rc;
}

/* A name of DT_NEEDED. */
static int add_library(const char *name, void *arg)
{
	struct wanted x = *(const struct wanted *)arg;
	const struct walk *w = x.walk;
	const char *runpath = find_text(x.by, DT_RUNPATH);
	int rc;

	x.name = name;
	if (strchr(name, '/'))
		return try_file(w, name) < 0 ? -ENOMEM : 0;
	rc = runpath ? 0
		     : try_folders(w, w->origin, find_text(x.by, DT_RPATH), ":", name)
			   ?: try_folders(w, w->program_origin, w->rpath, ":", name);
	rc = rc ?: try_folders(w, w->origin, w->o->library_path, ":;", name)
		      ?: try_folders(w, w->origin, runpath, ":", name);
	if (rc == 0 && w->o->cache)
		rc = elf_ld_cache_each(w->o->cache, w->o->cache_bytes, try_cached, &x);
	rc = rc ?: try_defaults(w, name);
	return rc < 0 ? rc : 0;
}

/* --- programs */

static void find_origin(const char *path, char origin[PATH_MAX])
{
	char *slash;

	if (!realpath(path, origin))
		origin[0] = '\0';
	slash = strrchr(origin, '/');
	if (slash)
		*slash = '\0';
}

static int add_needed(struct walk *w, const char *path)
{
	struct err unused = {0};
	struct wanted x = {.walk = w};
	struct elf_file *f;
	struct stat st;
	int rc;

	if (elf_file_open(w->o->reader, path, &f, &st, &unused))
		return 0;
	find_origin(path, w->origin);
	x.by = f;
	rc = each_text(f, DT_NEEDED, add_library, &x);
	elf_file_close(f);
	return rc;
}

/* PT_INTERP is in a section of its own. */
static int add_loader(struct elf_objects *o, const struct elf_file *f)
{
	struct elf_section s;

	if (!elf_file_load_section(f, ".interp", &s) || !s.size || s.size > PATH_MAX ||
	    s.data[s.size - 1])
		return 0;
	return elf_objects_add(o, (const char *)s.data);
}

static int add_elf(struct elf_objects *o, const char *path, const struct elf_file *f)
{
	struct walk w = {.o = o,
			 .machine = elf_file_machine(f),
			 .is_64 = elf_file_is_64(f),
			 .rpath = find_text(f, DT_RUNPATH) ? NULL : find_text(f, DT_RPATH)};
	size_t first = o->files.nr;
	int rc = elf_objects_add(o, path) ?: add_loader(o, f);

	find_origin(path, w.program_origin);
	/* what is added on the way is walked too */
	for (size_t i = first; i < o->files.nr && i < first + MAX_OBJECTS && rc == 0; i++)
		rc = add_needed(&w, elf_objects_at(o, i)->path);
	return rc;
}

/* Looks a name up in PATH, as env does. *out stays if it is not there. */
static bool find_in_folders(const char *name, char out[PATH_MAX])
{
	const char *folders = getenv("PATH") ?: "/bin:/usr/bin";
	char path[PATH_MAX];
	struct stat st;

	for (size_t len;; folders += len + 1) {
		len = strcspn(folders, ":");
		if (len &&
		    snprintf(path, sizeof(path), "%.*s/%s", (int)len, folders, name) < PATH_MAX &&
		    stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0) {
			memcpy(out, path, PATH_MAX);
			return true;
		}
		if (!folders[len])
			return false;
	}
}

/* Of "/usr/bin/env -S A=1 python3 -u" the program is what env starts: behind options and
 * variables. */
static bool skip_env(char *words, char out[PATH_MAX])
{
	char *rest = NULL, *word = strtok_r(words, " \t", &rest);

	if (!word || strcmp(str_base_name(word), "env") != 0)
		return false;
	while ((word = strtok_r(NULL, " \t", &rest)) && (*word == '-' || strchr(word, '=')))
		;
	if (!word || strlen(word) >= PATH_MAX)
		return false;
	if (!strchr(word, '/'))
		return find_in_folders(word, out);
	snprintf(out, PATH_MAX, "%s", word);
	return true;
}

/* The program that runs the script, from its first line. False: it is none. */
static bool find_interpreter(const char *path, char out[PATH_MAX])
{
	IO_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char line[MAX_LINE_BYTES];
	const char *word;
	ssize_t n = fd < 0 ? -1 : io_pread_full(fd, line, sizeof(line) - 1, 0);

	if (n < 3 || memcmp(line, "#!", 2) != 0)
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	word = line + 2 + strspn(line + 2, " \t");
	snprintf(out, PATH_MAX, "%.*s", (int)strcspn(word, " \t"), word);
	return skip_env(line + 2, out) || out[0] == '/';
}

int elf_objects_add_program(struct elf_objects *o, const char *path)
{
	char next[PATH_MAX], last[PATH_MAX];
	struct err unused = {0};
	struct elf_file *f;
	struct stat st;
	int rc;

	for (int i = 0; i < MAX_INTERPRETERS && find_interpreter(path, next); i++) {
		memcpy(last, next, sizeof(last));
		path = last;
	}
	if (stat(path, &st) || !S_ISREG(st.st_mode) ||
	    elf_file_open(o->reader, path, &f, &st, &unused))
		return 0;
	rc = add_elf(o, path, f);
	elf_file_close(f);
	return rc;
}
