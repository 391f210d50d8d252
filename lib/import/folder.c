/*
 * A folder of perf record: --threads writes "data", which is as a file, and for each ring the
 * records alone, as data.0, data.1 …; --kcore writes "data" and a folder with the kernel's symbols
 * as they were, and with its memory, which is not read. Source: perf_data__create_dir and
 * reader__read_event in tools/perf/util of Linux.
 */
#include "import/internal.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char first[] = "data", prefix[] = "data.";

/* Its number is one more than the highest so far. */
static int note_name(const char *name, void *arg)
{
	uint64_t *nr = arg, number;

	if (strncmp(name, prefix, strlen(prefix)) != 0 ||
	    str_parse_u64(name + strlen(prefix), &number))
		return 0;
	if (number >= IMPORT_MAX_FILES)
		return -EFBIG;
	if (number >= *nr)
		*nr = number + 1;
	return 0;
}

static int open_more(struct import *im, int dir, uint64_t nr, size_t *nr_missing)
{
	im->more = mem_calloc(nr + 1, sizeof(*im->more));
	if (!im->more)
		return -ENOMEM;
	for (uint64_t i = 0; i < nr; i++) {
		struct import_more *m = &im->more[im->nr_more];
		char name[32];
		struct stat st;

		snprintf(name, sizeof(name), "%s%" PRIu64, prefix, i);
		m->fd = io_open_linked(dir, name, 0, &st);
		if (m->fd < 0 && m->fd != -ENOENT)
			return m->fd;
		if (m->fd < 0) {
			++*nr_missing;
			continue;
		}
		im->facts.uid = io_writer_of_both(im->facts.uid, st.st_uid);
		m->number = (uint32_t)i;
		m->size = (uint64_t)st.st_size;
		im->nr_more++;
	}
	return 0;
}

/* Without them the kernel's functions are named as those of a file. */
static void open_kallsyms(struct import *im, int dir)
{
	IO_AUTO_FD int kcore =
	    sys()->openat(dir, "kcore_dir", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	struct stat st;

	im->kallsyms_fd = kcore < 0 ? -1 : io_open_linked(kcore, "kallsyms", 0, &st);
	if (im->kallsyms_fd >= 0)
		im->facts.uid = io_writer_of_both(im->facts.uid, st.st_uid);
}

int import_load_kallsyms(const struct import *im, struct buf *out)
{
	if (im->kallsyms_fd < 0)
		return -ENOENT;
	return lseek(im->kallsyms_fd, 0, SEEK_SET) < 0 ? -errno : io_load_fd(im->kallsyms_fd, out);
}

int import_folder_open_first(const char *path, struct stat *st)
{
	IO_AUTO_FD int dir = sys()->openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);

	return dir < 0 ? dir : io_open_linked(dir, first, 0, st);
}

int import_folder_open(struct import *im, struct stat *st)
{
	IO_AUTO_FD int dir = sys()->openat(AT_FDCWD, im->path, O_RDONLY | O_DIRECTORY, 0);
	size_t nr_missing = 0;
	uint64_t nr = 0;
	int rc;

	if (dir < 0)
		return dir;
	im->fd = io_open_linked(dir, first, 0, st);
	if (im->fd < 0)
		return im->fd == -ENOENT ? -ENODATA : im->fd;
	rc = io_each_name(dir, note_name, &nr) ?: open_more(im, dir, nr, &nr_missing);
	if (rc == 0 && nr_missing)
		import_report(im, true, "%zu of its files data.0 to data.%" PRIu64 " %s missing",
			      nr_missing, nr - 1, str_plural(nr_missing, "is", "are"));
	if (rc == 0)
		open_kallsyms(im, dir);
	return rc;
}

void import_folder_close(struct import *im)
{
	io_close(&im->kallsyms_fd);
	for (size_t i = 0; i < im->nr_more; i++)
		io_close(&im->more[i].fd);
	mem_free(im->more);
}
