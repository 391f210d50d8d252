/*
 * Disks: the block devices, which of them are chosen, and the parsers of their files. listed.c
 * lists and reads them.
 */
#include "collect/disk.h"

#include "base/str.h"
#include "base/sys.h"
#include "things/listed.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)DISK_NR_FIELDS <= (int)THINGS_MAX_FIELDS, "fields of a disk");

#define BIT(f) (1u << (f))

enum { SECTOR_BYTES = 512, MS = 1000000 };

/*
 * stat: reads, merged, sectors, ms; writes, merged, sectors, ms; in flight, ms busy, ms weighted;
 * from 4.18 discards, merged, sectors, ms; from 5.5 flushes, ms.
 *
 *   258710    35632  9880362   112587  1782896  1186255 60740712   274688        0   196268 …
 */
enum { NR_REQUIRED = 11 };
static const struct column {
	unsigned index;
	enum disk_field field;
	uint64_t scale;
} columns[] = {
    {0, DISK_READ_OPS, 1},   {2, DISK_READ_BYTES, SECTOR_BYTES},     {3, DISK_READ_TIME, MS},
    {4, DISK_WRITE_OPS, 1},  {6, DISK_WRITE_BYTES, SECTOR_BYTES},    {7, DISK_WRITE_TIME, MS},
    {9, DISK_BUSY_TIME, MS}, {13, DISK_DISCARD_BYTES, SECTOR_BYTES},
};
enum { NR_COLUMNS = sizeof(columns) / sizeof(columns[0]) };

/* The next number of a line of numbers and spaces; -ENOENT at its end. */
static int scan_number(const char **p, const char *end, uint64_t *out)
{
	int rc;

	while (*p != end && **p == ' ')
		++*p;
	if (*p == end || **p == '\n')
		return -ENOENT;
	rc = str_scan_u64(p, end, out);
	if (rc == 0 && *p != end && **p != ' ' && **p != '\n')
		rc = -EINVAL;
	return rc;
}

int disk_parse_stat(const char *text, size_t len, uint64_t *values, uint32_t *has)
{
	const struct column *c = columns;
	const char *end = text + len;
	uint64_t value;
	unsigned i;
	int rc = 0;

	for (i = 0; c != columns + NR_COLUMNS; i++) {
		rc = scan_number(&text, end, &value);
		if (rc)
			break;
		if (i != c->index)
			continue;
		if (__builtin_mul_overflow(value, c->scale, &values[c->field]))
			return -ERANGE;
		*has |= BIT(c->field);
		c++;
	}
	return rc == -ENOENT ? (i < NR_REQUIRED ? -EINVAL : 0) : rc;
}

/* "       0        1\n" */
int disk_parse_inflight(const char *text, size_t len, uint64_t *values, uint32_t *has)
{
	const char *end = text + len;
	int rc = scan_number(&text, end, &values[DISK_READ_QUEUE])
		     ?: scan_number(&text, end, &values[DISK_WRITE_QUEUE]);

	if (rc)
		return rc == -ENOENT ? -EINVAL : rc;
	*has |= BIT(DISK_READ_QUEUE) | BIT(DISK_WRITE_QUEUE);
	return 0;
}

static const struct things_file files[] = {
    {
	.name = "stat",
	.fields = BIT(DISK_READ_BYTES) | BIT(DISK_WRITE_BYTES) | BIT(DISK_READ_OPS) |
		  BIT(DISK_WRITE_OPS) | BIT(DISK_READ_TIME) | BIT(DISK_WRITE_TIME) |
		  BIT(DISK_BUSY_TIME) | BIT(DISK_DISCARD_BYTES),
	.without = "discards are counted since Linux 4.18",
	.parse = disk_parse_stat,
    },
    {
	.name = "inflight",
	.fields = BIT(DISK_READ_QUEUE) | BIT(DISK_WRITE_QUEUE),
	.without = "the kernel does not report requests in flight here",
	.parse = disk_parse_inflight,
    },
};
/* The kernel prints 32 bits of times in ms: one request in flight wraps them after 50 days. */
static const struct things_kind kind = {
    .name = "disk",
    .files = files,
    .nr_files = sizeof(files) / sizeof(files[0]),
    .wrapping = BIT(DISK_READ_TIME) | BIT(DISK_WRITE_TIME) | BIT(DISK_BUSY_TIME),
    .wrap = (UINT64_C(1) << 32) * MS,
};

static bool exists(const struct root *root, const char *name, const char *file)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "/sys/block/%s/%s", name, file);
	fd = root_open(root, path);
	if (fd >= 0)
		sys()->close(fd);
	return fd >= 0;
}

/* By default physical disks. The device of a multipath NVMe disk is its subsystem, which has no
 * transport; controllers have one. */
static bool is_chosen(const struct listed *l, const char *name)
{
	const struct root *root = &l->things.root;

	if (l->choice.nr)
		return things_match(&l->choice, name);
	return exists(root, name, "device") &&
	       (!exists(root, name, "device/subsysnqn") || exists(root, name, "device/transport"));
}

static int disk_open(const struct root *root, const struct things_choice *choice, uint32_t wanted,
		     void **state, struct err *e)
{
	const struct listed draft = {.choice = *choice,
				     .folder = choice->nr ? "/sys/class/block" : "/sys/block",
				     .is_chosen = is_chosen};
	int rc = listed_open(&draft, &kind, root, wanted, "disks", state, e);
	struct listed *l = rc ? NULL : *state;

	if (l && !choice->nr && !l->things.nr)
		things_add_note(&l->things,
				"there is no physical disk; name other disks in devices");
	return rc;
}

const struct things_source collect_disk_source = {
    .name = "disk",
    .open = disk_open,
    .close = listed_close,
    .read = listed_read,
    .nr = things_nr,
    .get = things_get,
    .note = things_note,
};
