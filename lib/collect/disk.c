/*
 * Disks: the block devices, which of them are chosen, and the parsers of their files. things.c
 * lists and reads them.
 */
#include "collect/disk.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/sys.h"
#include "collect/listing.h"
#include "collect/things.h"

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

struct disks {
	struct things things;
	struct collect_choice choice;
	const char *folder;
	struct listing listing;
	bool must_look; /* for new disks, even if the listing has not changed */
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
static bool is_chosen(const struct disks *d, const char *name)
{
	const struct root *root = &d->things.root;

	if (d->choice.nr)
		return things_match(&d->choice, name);
	return exists(root, name, "device") &&
	       (!exists(root, name, "device/subsysnqn") || exists(root, name, "device/transport"));
}

/* -ENOENT: its files are removed already, or not made yet: the kernel makes the entry first. */
static int find_or_add(struct disks *d, const char *name)
{
	char folder[PATH_MAX];
	struct thing *thing;

	if (things_find(&d->things, name, strlen(name)) || !is_chosen(d, name))
		return 0;
	snprintf(folder, sizeof(folder), "%s/%s", d->folder, name);
	return things_open(&d->things, folder, name, &thing);
}

static int find_all(struct disks *d)
{
	int rc = listing_look(&d->listing);
	bool is_late = false;
	const char *name;
	size_t at = 0;

	if (rc < 0)
		return rc;
	if (rc == 0 && !d->must_look)
		return 0;
	d->must_look = true; /* if this fails halfway */
	things_begin(&d->things);
	while ((name = listing_each(&d->listing, &at))) {
		rc = find_or_add(d, name);
		if (rc == -ENOMEM)
			return rc;
		is_late |= rc == -ENOENT;
	}
	things_end(&d->things);
	d->must_look = is_late;
	return 0;
}

static void disk_close(void *state)
{
	struct disks *d = state;

	listing_close(&d->listing);
	things_fini(&d->things);
	mem_free(d);
}

static int find_first(struct disks *d, struct err *e)
{
	int rc = listing_open(&d->listing, &d->things.root, d->folder) ?: find_all(d);

	if (rc)
		return err_set(e, rc, "disks: %s cannot be read: %s", d->folder, strerror(-rc));
	things_note_unmatched(&d->things, &d->choice);
	if (!d->choice.nr && !d->things.nr)
		things_add_note(&d->things,
				"there is no physical disk; name other disks in devices");
	return 0;
}

static int disk_open(const struct root *root, const struct collect_choice *choice, uint32_t wanted,
		     void **state, struct err *e)
{
	struct disks *d = mem_zalloc(sizeof(*d));
	int rc;

	if (!d)
		return err_set(e, -ENOMEM, "disks: out of memory");
	things_init(&d->things, &kind, root, wanted);
	d->listing.fd = -1;
	d->choice = *choice;
	d->folder = choice->nr ? "/sys/class/block" : "/sys/block";
	rc = things_check_words(&d->things, choice, e) ?: find_first(d, e);
	if (rc)
		disk_close(d);
	else
		*state = d;
	return rc;
}

static int read_all(struct disks *d)
{
	for (size_t i = d->things.nr; i-- > 0;) {
		struct thing *thing = &d->things.list[i];
		int rc = things_read(&d->things, thing);

		if (rc != -ENODEV && rc != 0)
			return rc;
		if (rc == 0)
			continue;
		things_drop(&d->things, thing);
		d->must_look = true;
	}
	return 0;
}

static int disk_read(void *state)
{
	struct disks *d = state;
	int rc = find_all(d);

	return things_done(&d->things, rc ? rc : read_all(d));
}

const struct collect_many_source collect_disk_source = {
    .name = "disk",
    .open = disk_open,
    .close = disk_close,
    .read = disk_read,
    .nr = things_nr,
    .get = things_get,
    .note = things_note,
};
