/*
 * Control groups: which are chosen, and where they are. things/cgroup_text.c parses their files;
 * things.c lists and reads them.
 */
#include "things/cgroup.h"

#include "base/array.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "things/cgroup_text.h"
#include "things/things.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)CGROUP_NR_FIELDS <= (int)THINGS_MAX_FIELDS, "fields of a group");

#define BIT(f)    (1u << (f))
#define MOUNTINFO "/proc/self/mountinfo"

enum { MAX_MOUNTINFO_BYTES = 16 << 20 };

static const struct things_file files[] = {
    {
	.name = "cpu.stat",
	.fields = BIT(CGROUP_CPU_USAGE) | BIT(CGROUP_CPU_THROTTLED),
	.without = "throttling needs the controller cpu in the parent's "
		   "cgroup.subtree_control",
	.parse = cgroup_parse_cpu,
    },
    {
	.name = "memory.current",
	.fields = BIT(CGROUP_MEMORY_CURRENT),
	.without = "it needs the controller memory in the parent's cgroup.subtree_control",
	.parse = cgroup_parse_memory,
    },
    {
	.name = "io.stat",
	.fields = BIT(CGROUP_IO_READ_BYTES) | BIT(CGROUP_IO_WRITE_BYTES),
	.without = "it needs the controller io in the parent's cgroup.subtree_control",
	.parse = cgroup_parse_io,
    },
};
static const struct things_kind kind = {
    .name = "cgroup", .files = files, .nr_files = ARRAY_NR(files)};

/* A chosen group, whether it exists or not. */
struct path {
	char *name; /* owned; "/" or "/a/b" */
	bool is_noted;
};

struct cgroups {
	struct things things;
	char mount[PATH_MAX];
	struct path *paths; /* owned */
	size_t nr_paths;
};

/* False if a part is "..", which could lead out of the hierarchy. */
static bool is_inside(const char *path)
{
	for (; *path; path += *path == '/') {
		size_t len = strcspn(path, "/");

		if (len == 2 && strncmp(path, "..", 2) == 0)
			return false;
		path += len;
	}
	return true;
}

/* "a/b/" becomes "/a/b". */
static char *clean(const char *word)
{
	size_t len;
	char *name;

	while (*word == '/')
		word++;
	len = strlen(word);
	while (len && word[len - 1] == '/')
		len--;
	name = mem_alloc(len + 2);
	if (!name)
		return NULL;
	name[0] = '/';
	memcpy(name + 1, word, len);
	name[len + 1] = '\0';
	return name;
}

static int add_path(struct cgroups *c, const char *word, struct err *e)
{
	char *name;

	if (!*word || strlen(word) >= PATH_MAX || !is_inside(word)) {
		err_set(e, -EINVAL, "\"%s\" cannot be the path of a cgroup", word);
		err_hint(e, "write it as in /proc/PID/cgroup, from the root: \"/user.slice\"");
		return -EINVAL;
	}
	name = clean(word);
	if (!name)
		return err_set(e, -ENOMEM, "cgroups: out of memory");
	c->paths[c->nr_paths++].name = name;
	return 0;
}

static int add_paths(struct cgroups *c, const struct things_choice *choice, struct err *e)
{
	c->paths = mem_calloc(choice->nr ? choice->nr : 1, sizeof(*c->paths));
	if (!c->paths)
		return err_set(e, -ENOMEM, "cgroups: out of memory");
	if (!choice->nr)
		return add_path(c, "/", e);
	return ARRAY_RUN(i, choice->nr, add_path(c, choice->words[i], e));
}

static int find_mount(struct cgroups *c, struct err *e)
{
	BUF_AUTO(text, MAX_MOUNTINFO_BYTES);
	int rc = root_load(&c->things.root, MOUNTINFO, &text);

	if (rc)
		err_set(e, rc, "cgroups: " MOUNTINFO " cannot be read: %s", strerror(-rc));
	else
		rc = cgroup_find_mount(buf_str(&text), text.len, c->mount, sizeof(c->mount));
	if (rc == -ENOENT) {
		err_set(e, rc, "cgroups: no hierarchy of version 2 is mounted");
		err_hint(e, "mount one, \"mount -t cgroup2 none /mnt\", or boot with "
			    "systemd.unified_cgroup_hierarchy=1");
	}
	return rc;
}

static void cgroup_close(void *state)
{
	struct cgroups *c = state;

	for (size_t i = 0; i < c->nr_paths; i++)
		mem_free(c->paths[i].name);
	mem_free(c->paths);
	things_fini(&c->things);
	mem_free(c);
}

static int cgroup_open(const struct root *root, const struct things_choice *choice, uint32_t wanted,
		       void **state, struct err *e)
{
	struct cgroups *c = mem_zalloc(sizeof(*c));
	int rc;

	if (!c)
		return err_set(e, -ENOMEM, "cgroups: out of memory");
	things_init(&c->things, &kind, root, wanted);
	rc = add_paths(c, choice, e) ?: find_mount(c, e);
	if (rc)
		cgroup_close(c);
	else
		*state = c;
	return rc;
}

static void note_group(struct cgroups *c, const struct path *p, const char *folder, int error)
{
	IO_AUTO_FD int fd = root_open(&c->things.root, folder);
	const struct things_file *file = files;

	while (file < files + kind.nr_files && !(file->fields & c->things.wanted))
		file++;
	if (fd >= 0 && error == -ENOENT)
		things_add_note(
		    &c->things, "cgroup %s: it has none of the requested files: %s", p->name,
		    strcmp(p->name, "/") == 0      ? "the root of the hierarchy does not have them"
		    : file < files + kind.nr_files ? file->without
						   : "");
	else
		things_add_note(&c->things, "cgroup %s: it does not exist: %s", p->name,
				strerror(-error));
}

static int open_group(struct cgroups *c, struct path *p, struct thing **out)
{
	char folder[PATH_MAX];
	int len = snprintf(folder, sizeof(folder), "%s%s", c->mount, p->name);
	int rc = len < PATH_MAX ? things_open(&c->things, folder, p->name, out) : -ENAMETOOLONG;

	if (rc && !p->is_noted)
		note_group(c, p, folder, rc);
	p->is_noted = rc != 0;
	return rc;
}

/* A group that is gone is opened again at once: it may have been created again. */
static int read_group(struct cgroups *c, struct path *p)
{
	struct thing *thing = things_find(&c->things, p->name, strlen(p->name));
	int rc;

	if (thing) {
		rc = things_read(&c->things, thing);
		if (rc != -ENODEV)
			return rc;
		things_drop(&c->things, thing);
	}
	rc = open_group(c, p, &thing) ?: things_read(&c->things, thing);
	return rc == -ENOMEM ? rc : 0;
}

static int cgroup_read(void *state)
{
	struct cgroups *c = state;
	int rc = 0;

	for (size_t i = 0; i < c->nr_paths && rc == 0; i++)
		rc = read_group(c, &c->paths[i]);
	return things_done(&c->things, rc);
}

const struct things_source cgroup_source = {
    .name = "cgroup",
    .open = cgroup_open,
    .close = cgroup_close,
    .read = cgroup_read,
    .nr = things_nr,
    .get = things_get,
    .note = things_note,
};
