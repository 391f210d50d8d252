/*
 * Tables of mounts: first that of our namespace. Opens nothing but the tables.
 */
#include "survey/mounts.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "base/sys.h"
#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

enum {
	MAX_TABLE_BYTES = 16 << 20,
	MAX_ARENA_BYTES = 32 << 20,
	MAX_FIELDS = 64,
	LOAD_EVERY_NS = 1000000000,
	/* fields of a line, after the ids of the mount and its parent */
	DEVICE_FIELD = 2,
	ROOT_FIELD,
	POINT_FIELD,
	OPTIONS_FIELD,
};

/* File systems on local disks or in memory. Unknown types may be network file systems. */
static const char *const local_types[] = {
    "aufs",    "bcachefs", "btrfs",    "cramfs",   "devtmpfs", "erofs",     "exfat",
    "ext2",    "ext3",     "ext4",     "f2fs",     "gfs2",     "hugetlbfs", "iso9660",
    "jffs2",   "jfs",      "minix",    "msdos",    "nilfs2",   "ntfs3",     "ocfs2",
    "overlay", "ramfs",    "reiserfs", "romfs",    "rootfs",   "squashfs",  "tmpfs",
    "ubifs",   "udf",      "vfat",     "virtiofs", "xfs",      "zfs",       "zonefs",
};

/* The commonest of them by statfs; identify.c depends on some types. */
static const struct {
	uint64_t magic;
	const char *type;
} local_magics[] = {
    {BTRFS_SUPER_MAGIC, "btrfs"}, {EXT4_SUPER_MAGIC, "ext4"},         {F2FS_SUPER_MAGIC, "f2fs"},
    {TMPFS_MAGIC, "tmpfs"},       {OVERLAYFS_SUPER_MAGIC, "overlay"}, {XFS_SUPER_MAGIC, "xfs"},
};

struct field {
	const char *at;
	size_t len;
};

static bool is_local(const char *type)
{
	return ARRAY_ANY(x, local_types, ARRAY_NR(local_types), strcmp(type, *x) == 0);
}

static size_t split(const char *line, const char *end, struct field fields[MAX_FIELDS])
{
	size_t nr = 0;

	while (line < end && nr < MAX_FIELDS) {
		const char *stop = memchr(line, ' ', (size_t)(end - line));

		stop = stop ? stop : end;
		fields[nr++] = (struct field){line, (size_t)(stop - line)};
		line = stop + 1;
	}
	return nr;
}

/* The type follows the "-" that ends the optional fields. */
static const struct field *find_type(const struct field *fields, size_t nr)
{
	for (size_t i = OPTIONS_FIELD + 1; i + 1 < nr; i++)
		if (fields[i].len == 1 && fields[i].at[0] == '-')
			return &fields[i + 1];
	return NULL;
}

static bool parse_device(const struct field *f, struct survey_mount *out)
{
	const char *p = f->at, *end = p + f->len;
	uint64_t major, minor;

	if (str_scan_u64(&p, end, &major) || p == end || *p++ != ':' ||
	    str_scan_u64(&p, end, &minor) || p != end || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	out->major = (uint32_t)major;
	out->minor = (uint32_t)minor;
	return true;
}

/* The kernel escapes space, tab, newline and backslash as octal, like \040. */
static const char *copy_path(struct survey_mounts *m, const struct field *f)
{
	char *copy = arena_strndup(&m->arena, f->at, f->len), *to = copy;

	for (const char *p = copy; copy && *p;) {
		bool is_escaped = p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' &&
				  p[2] <= '7' && p[3] >= '0' && p[3] <= '7';

		*to++ =
		    is_escaped ? (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0')) : *p;
		p += is_escaped ? 4 : 1;
	}
	if (copy)
		*to = '\0';
	return copy;
}

static const struct survey_mount *find(const struct survey_mounts *m, uint32_t major,
				       uint32_t minor)
{
	return ARRAY_FIND(x, m->item, m->nr, x->major == major && x->minor == minor);
}

/* Files of mounts that are not in the list count as unknown, and are not read. */
static void add(struct survey_mounts *m, const struct survey_mount *mount)
{
	struct survey_mount *added;

	if (m->nr == SURVEY_MAX_MOUNTS || !mount->root || !mount->point)
		return;
	added = MEM_ADD(m->item, m->nr, m->room);
	if (added)
		*added = *mount;
}

/* Mounts of other namespaces are only looked up by device. */
static bool is_known(const struct survey_mounts *m, const struct survey_mount *mount)
{
	return ARRAY_ANY(of, m->item, m->nr,
			 of->major == mount->major && of->minor == mount->minor &&
			     (!mount->is_own || (of->is_own && mount->point &&
						 strcmp(of->point, mount->point) == 0)));
}

static void add_line(struct survey_mounts *m, const char *line, const char *end, bool is_own)
{
	struct survey_mount mount = {.is_own = is_own};
	struct field fields[MAX_FIELDS];
	size_t nr = split(line, end, fields);
	const struct field *type = find_type(fields, nr);

	if (nr <= POINT_FIELD || !type || !parse_device(&fields[DEVICE_FIELD], &mount))
		return;
	snprintf(mount.type, sizeof(mount.type), "%.*s", (int)type->len, type->at);
	str_clean(mount.type, strlen(mount.type));
	mount.is_local = is_local(mount.type);
	mount.root = copy_path(m, &fields[ROOT_FIELD]);
	mount.point = copy_path(m, &fields[POINT_FIELD]);
	if (!is_known(m, &mount))
		add(m, &mount);
}

static int load(struct survey_mounts *m, const struct proc *process, bool is_own)
{
	BUF_AUTO(text, MAX_TABLE_BYTES);
	int rc;

	rc = proc_load(process, "mountinfo", &text);
	if (rc == 0) {
		const char *p = buf_str(&text), *end = p + text.len, *line, *stop;

		while ((line = str_next_line(&p, end, &stop)))
			add_line(m, line, stop, is_own);
	}
	return rc;
}

/* In a chroot the table does not list the file system of "/", whose mount point is outside. This
 * program runs from it, so that statfs adds no risk. */
static void add_root(struct survey_mounts *m)
{
	struct survey_mount mount = {.is_own = true, .is_local = true, .root = "/", .point = "/"};
	const char *path = m->root->dir[0] ? m->root->dir : "/";
	struct statfs fs;
	struct stat st;

	if (survey_mounts_cover(m, "/") || statfs(path, &fs) ||
	    sys()->fstatat(AT_FDCWD, path, &st, 0))
		return;
	for (size_t i = 0; i < ARRAY_NR(local_magics); i++) {
		if ((uint64_t)fs.f_type != local_magics[i].magic)
			continue;
		snprintf(mount.type, sizeof(mount.type), "%s", local_magics[i].type);
		mount.major = major(st.st_dev);
		mount.minor = minor(st.st_dev);
		add(m, &mount);
	}
}

static void load_own(struct survey_mounts *m)
{
	struct survey_mount mount = {.type = "tmpfs", .is_local = true, .root = "", .point = ""};
	bool is_first = !m->loaded_ns;
	struct stat st;

	m->loaded_ns = clock_monotonic_ns();
	(void)load(m, PROC_SELF(m->root), true);
	if (!is_first)
		return;
	add_root(m);

	/* Files from memfd_create(2) are on an internal mount that no table lists. */
	IO_AUTO_FD int fd = memfd_create("cpuperf", MFD_CLOEXEC);

	if (fd < 0 || sys()->fstatat(fd, "", &st, AT_EMPTY_PATH))
		return;
	mount.major = major(st.st_dev);
	mount.minor = minor(st.st_dev);
	add(m, &mount);
}

void survey_mounts_init(struct survey_mounts *m, const struct root *root)
{
	*m = (struct survey_mounts){.root = root};
	arena_init(&m->arena, MAX_ARENA_BYTES);
}

void survey_mounts_fini(struct survey_mounts *m)
{
	arena_fini(&m->arena);
	mem_free(m->item);
	m->item = NULL;
}

const struct survey_mount *survey_mounts_find(struct survey_mounts *m, uint32_t pid, uint32_t major,
					      uint32_t minor)
{
	const struct survey_mount *found = find(m, major, minor);

	if (!found && clock_monotonic_ns() - m->loaded_ns > LOAD_EVERY_NS) {
		load_own(m); /* mounted since then */
		found = find(m, major, minor);
	}
	if (!found && m->nr_tables < SURVEY_MAX_MOUNT_TABLES) {
		m->nr_tables += load(m, PROC(m->root, pid), false) ==
				0; /* or mounted only in the process's namespace */
		found = find(m, major, minor);
	}
	return found;
}

/* The length of point if it covers path, else 0. "/a" covers "/a" and "/a/b". */
static size_t covers(const char *point, const char *path)
{
	size_t len = strlen(point);

	if (len == 1)
		return 1;
	return strncmp(point, path, len) == 0 && (path[len] == '/' || !path[len]) ? len : 0;
}

const struct survey_mount *survey_mounts_cover(struct survey_mounts *m, const char *path)
{
	const struct survey_mount *best = NULL;
	size_t best_len = 1;

	if (!m->loaded_ns)
		load_own(m);
	for (size_t i = 0; i < m->nr; i++) {
		size_t len = m->item[i].is_own ? covers(m->item[i].point, path) : 0;

		/* a later mount hides earlier ones */
		if (len >= best_len) {
			best = &m->item[i];
			best_len = len;
		}
	}
	return best;
}
