/*
 * Each mapping is a line as in /proc/PID/maps, then lines of fields:
 *
 *   562685c01000-562685c06000 r-xp 00002000 fe:00 247134                     /usr/bin/cat
 *   Size:                 20 kB
 *   Rss:                  20 kB
 *
 * The kernel writes a newline in a path as \012, so that no path looks like a line. Rows are found
 * by a text: a letter for the kind, then the object.
 */
#include "proc/smaps.h"

#include "base/array.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/sum.h"
#include "base/sys.h"
#include "proc/maps.h"
#include "proc/proc.h"

#include <errno.h>
#include <string.h>

enum { KEY_BYTES = 4096 };

struct row {
	const char *key;
	uint32_t nr;
	struct mapping_sums sums;
};

static const struct {
	const char *name;
	size_t offset;
} fields[] = {
    {"Size", offsetof(struct mapping_sums, size)},
    {"Rss", offsetof(struct mapping_sums, resident)},
    {"Pss", offsetof(struct mapping_sums, proportional)},
    {"Shared_Dirty", offsetof(struct mapping_sums, dirty)},
    {"Private_Dirty", offsetof(struct mapping_sums, dirty)},
    {"Swap", offsetof(struct mapping_sums, swapped)},
    {"AnonHugePages", offsetof(struct mapping_sums, huge)},
    {"ShmemPmdMapped", offsetof(struct mapping_sums, huge)},
    {"FilePmdMapped", offsetof(struct mapping_sums, huge)},
    {"Shared_Hugetlb", offsetof(struct mapping_sums, huge)},
    {"Private_Hugetlb", offsetof(struct mapping_sums, huge)},
};

/* The first that a name begins with counts. */
static const struct {
	const char *begin;
	enum mapping_kind kind;
} names[] = {
    {"[heap]", MAPPING_HEAP},
    {"[stack", MAPPING_STACK},
    {"[anon:", MAPPING_ANONYMOUS},
    {"[anon_shmem:", MAPPING_SHARED},
    {"[", MAPPING_KERNEL},
    {"/anon_hugepage", MAPPING_ANONYMOUS},
    {"/dev/zero (deleted)", MAPPING_SHARED},
    {"/memfd:", MAPPING_SHARED},
    {"/SYSV", MAPPING_SHARED},
    {"/dev/shm/", MAPPING_SHARED},
};

enum mapping_kind proc_smaps_kind(const struct proc_mapping *m)
{
	if (!m->name_len)
		return MAPPING_ANONYMOUS;
	for (size_t i = 0; i < ARRAY_NR(names); i++) {
		const size_t len = strlen(names[i].begin);

		if (m->name_len >= len && memcmp(m->name, names[i].begin, len) == 0)
			return names[i].kind;
	}
	if (m->prot & PROC_MAPS_EXEC)
		return MAPPING_TEXT;
	return !m->is_shared && m->prot & PROC_MAPS_WRITE ? MAPPING_DATA : MAPPING_FILE;
}

static uint32_t add_row(struct proc_smaps *s, enum mapping_kind kind, const char *object,
			size_t len)
{
	char key[KEY_BYTES];

	if (len > sizeof(key) - 1)
		len = sizeof(key) - 1;
	key[0] = (char)('a' + kind);
	memcpy(key + 1, object, len);
	return dict_add_text(&s->rows, key, 1 + len);
}

void proc_smaps_init(struct proc_smaps *s)
{
	dict_init_texts(&s->rows, sizeof(struct row), PROC_SMAPS_MAX_ROWS,
			PROC_SMAPS_MAX_TEXT_BYTES);
	for (int kind = 0; kind < MAPPING_NR_KINDS; kind++)
		(void)add_row(s, (enum mapping_kind)kind, "[others]", strlen("[others]"));
}

void proc_smaps_fini(struct proc_smaps *s)
{
	dict_fini(&s->rows);
}

static uint32_t find_row(struct proc_smaps *s, enum mapping_kind kind, const char *object,
			 size_t len)
{
	const uint32_t row = add_row(s, kind, object, len);

	return row != DICT_NONE ? row : add_row(s, kind, "[others]", strlen("[others]"));
}

/* "Rss:                  20 kB" */
static void add_field(struct row *row, const char *line, size_t len)
{
	const char *end = line + len, *p = memchr(line, ':', len);
	size_t name_len;
	uint64_t kib;

	if (!p)
		return;
	name_len = (size_t)(p - line);
	for (size_t i = 0; i < ARRAY_NR(fields); i++) {
		if (strlen(fields[i].name) != name_len ||
		    memcmp(line, fields[i].name, name_len) != 0)
			continue;
		for (p++; p != end && *p == ' '; p++)
			;
		if (str_scan_u64(&p, end, &kib) == 0)
			sum_add((uint64_t *)(void *)((char *)&row->sums + fields[i].offset),
				kib > UINT64_MAX >> 10 ? UINT64_MAX : kib << 10);
		return;
	}
}

void proc_smaps_add_line(struct proc_smaps_parser *p, const char *line, size_t len)
{
	struct proc_mapping m;
	struct row *row;

	if (proc_maps_parse(line, len, &m) == 0) {
		p->row = find_row(p->to, proc_smaps_kind(&m), m.name, m.name_len);
		row = dict_at(&p->to->rows, p->row);
		if (row)
			row->nr++;
		return;
	}
	row = dict_at(&p->to->rows, p->row);
	if (row)
		add_field(row, line, len);
}

struct lines {
	char text[PROC_SMAPS_LINE_BYTES];
	size_t len;
	bool is_skipping; /* up to the next newline */
};

/* Passes on whole lines, and moves what is left to the front. */
static void take_lines(struct lines *l, struct proc_smaps_parser *p)
{
	const char *at = l->text, *end = l->text + l->len, *stop;

	while ((stop = memchr(at, '\n', (size_t)(end - at)))) {
		if (!l->is_skipping)
			proc_smaps_add_line(p, at, (size_t)(stop - at));
		l->is_skipping = false;
		at = stop + 1;
	}
	l->len = (size_t)(end - at);
	memmove(l->text, at, l->len);
	if (l->len < sizeof(l->text))
		return;
	p->row = DICT_NONE; /* its fields are of no mapping that is known */
	l->is_skipping = true;
	l->len = 0;
}

static int read_lines(int fd, struct lines *l, struct proc_smaps_parser *p)
{
	ssize_t n;

	while ((n = sys()->read(fd, l->text + l->len, sizeof(l->text) - l->len)) > 0) {
		l->len += (size_t)n;
		take_lines(l, p);
	}
	return (int)n;
}

/* The file is of the memory that the process had when it was opened: once that is gone, it ends. */
static int read_all(int fd, struct proc_smaps *to)
{
	struct proc_smaps_parser p = {.to = to, .row = DICT_NONE};
	MEM_AUTO struct lines *l = mem_zalloc(sizeof(*l));
	int rc = l ? read_lines(fd, l, &p) : -ENOMEM;

	if (rc)
		return rc;
	return sys()->pread(fd, l->text, sizeof(l->text), 0) > 0 ? 0 : -ESRCH;
}

static void add_all(struct proc_smaps *to, const struct proc_smaps *from)
{
	for (uint32_t i = 0; i < from->rows.nr; i++) {
		const struct row *own = dict_at(&from->rows, i);
		struct row *sum =
		    dict_at(&to->rows, find_row(to, (enum mapping_kind)(own->key[0] - 'a'),
						own->key + 1, strlen(own->key + 1)));

		if (!sum)
			continue;
		sum->nr += own->nr;
		mapping_sums_add(&sum->sums, &own->sums);
	}
}

int proc_smaps_read(struct proc_smaps *s, const struct root *root, pid_t pid)
{
	struct proc_smaps own;
	IO_AUTO_FD int fd;
	int rc;

	fd = proc_open(PROC(root, (uint32_t)pid), "smaps");
	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	proc_smaps_init(&own);
	rc = read_all(fd, &own);
	if (rc == 0)
		add_all(s, &own);
	proc_smaps_fini(&own);
	return rc;
}

size_t proc_smaps_rows(const struct proc_smaps *s, struct mapping_row **out)
{
	struct mapping_row *rows = mem_calloc(s->rows.nr ? s->rows.nr : 1, sizeof(*rows));
	size_t nr = 0;

	for (uint32_t i = 0; rows && i < s->rows.nr; i++) {
		const struct row *r = dict_at(&s->rows, i);

		if (r->nr)
			rows[nr++] = (struct mapping_row){.kind = (uint32_t)(r->key[0] - 'a'),
							  .nr = r->nr,
							  .sums = r->sums,
							  .object = r->key + 1};
	}
	*out = rows;
	return nr;
}
