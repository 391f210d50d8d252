/*
 * Where specs are found: the current folder, CPUPERF_SPEC_PATH, the installed ones. Those lie at
 * a fixed place relative to the program, in an install and in a build tree alike.
 */
#include "base/buf.h"
#include "base/root.h"
#include "program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char suffix[] = ".cpspec";

enum { MAX_LIST_BYTES = 1 << 20 };

/* Calls fn for each folder that is searched, until one result is not 0; that one is returned. */
static int each_folder(int (*fn)(const char *folder, void *arg), void *arg)
{
	const char *path = getenv("CPUPERF_SPEC_PATH");
	char folder[PATH_MAX], program[PATH_MAX];
	ssize_t len;
	int rc = 0;

	while (path && *path && rc == 0) {
		size_t part = strcspn(path, ":");

		if (part && part < sizeof(folder)) {
			snprintf(folder, sizeof(folder), "%.*s", (int)part, path);
			rc = fn(folder, arg);
		}
		path += part + (path[part] == ':');
	}
	len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	if (rc || len <= 0)
		return rc;
	program[len] = '\0';
	*strrchr(program, '/') = '\0'; /* an absolute path has one */
	if (snprintf(folder, sizeof(folder), "%s/%s", program, CPUPERF_SPEC_DIR_FROM_BIN) >=
	    (int)sizeof(folder))
		return 0;
	return fn(realpath(folder, program) ? program : folder, arg);
}

/* Anything that can be read as one: not a folder of that name. */
static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

struct search {
	const char *name;
	char *found; /* PATH_MAX bytes */
};

static int search_folder(const char *folder, void *arg)
{
	struct search *s = arg;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", folder, s->name) >= (int)sizeof(path) ||
	    !is_file(path))
		return 0;
	memcpy(s->found, path, sizeof(path));
	return 1;
}

int find_spec(const char *name, char *found, struct err *e)
{
	struct search s = {.name = name, .found = found};

	if (!*name)
		return err_set(e, -EINVAL, "--spec-file: the name is empty");
	if (strlen(name) >= PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "--spec-file: the name is too long");
	if (strchr(name, '/') || is_file(name)) {
		snprintf(found, PATH_MAX, "%s", name);
		return 0;
	}
	if (each_folder(search_folder, &s))
		return 0;
	err_set(e, -ENOENT, "%s: no such spec, neither here nor where specs are looked for", name);
	err_hint(e, "--list-specs lists those that are found by name");
	return -ENOENT;
}

struct listing {
	struct buf out;
	const char *folder;
};

static int list_file(const char *name, void *arg)
{
	struct listing *l = arg;
	size_t len = strlen(name), tail = sizeof(suffix) - 1;

	if (len > tail && strcmp(name + len - tail, suffix) == 0)
		buf_printf(&l->out, "%-28s %s/%s\n", name, l->folder, name);
	return 0;
}

static int list_folder(const char *folder, void *arg)
{
	struct listing *l = arg;
	char resolved[PATH_MAX];

	l->folder = realpath(folder, resolved) ? resolved : folder;
	(void)root_each(&root_live, l->folder, list_file,
			l); /* a folder that is not there has none */
	return 0;
}

int list_specs(void)
{
	struct listing l = {0};
	int status;

	buf_init(&l.out, MAX_LIST_BYTES);
	each_folder(list_folder, &l);
	status = print_result(&l.out);
	buf_fini(&l.out);
	return status;
}
