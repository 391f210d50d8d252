/*
 * Any bytes as /proc/PID/maps, as its smaps, as /proc/PID/stat and as an ELF file with a build-id.
 * What is understood of a line makes sense and, written again, is understood as the same; a
 * build-id is bytes of the file.
 */
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "collect/proc_maps.h"
#include "collect/proc_smaps.h"
#include "collect/proc_task.h"
#include "elf/build_id.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static int is_same(const struct proc_mapping *a, const struct proc_mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->inode == b->inode && a->major == b->major && a->minor == b->minor &&
	       a->prot == b->prot && a->is_shared == b->is_shared && b->name_len == 0;
}

static void check_line(const char *line, size_t len)
{
	struct proc_mapping m, again;
	char text[128];
	int n, rc = proc_maps_parse(line, len, &m);

	require(rc == 0 || rc == -EINVAL);
	if (rc)
		return;
	require(m.start < m.end && m.prot < 8 && m.name + m.name_len == line + len);
	require(m.name_len == 0 || *m.name != ' ');
	n = snprintf(text, sizeof(text),
		     "%" PRIx64 "-%" PRIx64 " %c%c%c%c %" PRIx64 " %x:%x %" PRIu64, m.start, m.end,
		     m.prot & PROC_MAPS_READ ? 'r' : '-', m.prot & PROC_MAPS_WRITE ? 'w' : '-',
		     m.prot & PROC_MAPS_EXEC ? 'x' : '-', m.is_shared ? 's' : 'p', m.offset,
		     m.major, m.minor, m.inode);
	require(proc_maps_parse(text, (size_t)n, &again) == 0 && is_same(&m, &again));
}

static void check_maps(const char *text, size_t len)
{
	const char *end = text + len, *line, *stop;

	while ((line = str_next_line(&text, end, &stop)))
		check_line(line, (size_t)(stop - line));
}

/* Each mapping is in one row. */
static void check_smaps(const char *text, size_t len)
{
	const char *end = text + len, *line, *stop;
	MEM_AUTO struct mapping_row *rows = NULL;
	struct proc_smaps s;
	struct proc_smaps_parser p = {.to = &s, .row = DICT_NONE};
	struct proc_mapping m;
	size_t nr_mappings = 0, nr;

	proc_smaps_init(&s);
	while ((line = str_next_line(&text, end, &stop))) {
		proc_smaps_add_line(&p, line, (size_t)(stop - line));
		nr_mappings += proc_maps_parse(line, (size_t)(stop - line), &m) == 0;
	}
	nr = proc_smaps_rows(&s, &rows);
	for (size_t i = 0; i < nr; i++) {
		require(rows[i].kind < MAPPING_NR_KINDS && rows[i].nr <= nr_mappings);
		nr_mappings -= rows[i].nr;
	}
	require(!nr_mappings);
	proc_smaps_fini(&s);
}

static void check_task(const char *text, size_t len)
{
	struct proc_task t;

	if (proc_task_parse(text, len, &t) == 0)
		require(t.name > text && t.name[-1] == '(' && t.name[t.name_len] == ')' &&
			t.name + t.name_len < text + len);
}

static void check_elf(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct elf_build_id id = {0};
	int rc;

	if (fd < 0)
		fd = memfd_create("elf", MFD_CLOEXEC);
	require(fd >= 0 && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	require(io_write_full(fd, data, size) == 0);
	rc = elf_build_id_read(fd, &id);
	require(rc == 0 || rc == -EINVAL || rc == -ENODATA);
	require((rc == 0) == (id.len > 0) && id.len <= ELF_MAX_BUILD_ID_BYTES);
	require(rc || memmem(data, size, id.bytes, id.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_maps((const char *)data, size);
	check_smaps((const char *)data, size);
	check_task((const char *)data, size);
	check_elf(data, size);
	return 0;
}
