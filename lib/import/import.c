/*
 * Opens a perf.data file and reads its description.
 */
#include "import/internal.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

void import_report(struct import *im, bool is_loss, const char *fmt, ...)
{
	struct err e = {0};
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set_at(&e, -EINVAL, im->path, 0, 0, "%s", text);
	im->problem(im->arg, is_loss, &e);
}

void import_truncated(struct import *im, const char *fmt, ...)
{
	va_list ap;

	if (im->facts.is_truncated)
		return;
	im->facts.is_truncated = true;
	va_start(ap, fmt);
	vsnprintf(im->truncated, sizeof(im->truncated), fmt, ap);
	va_end(ap);
}

const char *import_text(struct import *im, const char *text, size_t len)
{
	char *copy = arena_strndup(
	    &im->arena, text,
	    strnlen(text, len < IMPORT_MAX_STRING_BYTES ? len : IMPORT_MAX_STRING_BYTES));

	if (!copy)
		return "";
	str_clean(copy, strlen(copy));
	return copy;
}

static struct import *import_new(const char *path)
{
	struct import *im = mem_zalloc(sizeof(*im));

	if (!im)
		return NULL;
	im->fd = im->temp_fd = im->kallsyms_fd = -1;
	arena_init(&im->arena, IMPORT_MAX_TEXT_BYTES);
	dict_init_texts(&im->build_ids, sizeof(struct import_build_id), IMPORT_MAX_BUILD_IDS,
			IMPORT_MAX_TEXT_BYTES);
	dict_init(&im->deferred, sizeof(struct import_deferred),
		  DICT_KEY(struct import_deferred, tid), IMPORT_MAX_DEFERRED);
	dict_init(&im->counts, sizeof(struct import_count), DICT_KEY(struct import_count, tid),
		  IMPORT_MAX_COUNTS);
	buf_init(&im->side_made, (size_t)IMPORT_MAX_SIDE_BYTES + (1 << 20));
	buf_init(&im->side_recorded, (size_t)IMPORT_MAX_SIDE_BYTES + (1 << 20));
	buf_init(&im->common, 2 * (size_t)IMPORT_MAX_SIDE_BYTES + ((size_t)512 << 20));
	im->path = arena_strdup(&im->arena, path);
	im->facts = (struct import_facts){.path = im->path,
					  .host = "",
					  .machine = "",
					  .kernel = "",
					  .perf_version = "",
					  .cpu_model = "",
					  .cpu_id = "",
					  .command = "",
					  .kernel_symbol = ""};
	if (im->path)
		return im;
	import_close(im);
	return NULL;
}

void import_close(struct import *im)
{
	if (!im)
		return;
	io_close(&im->fd);
	io_close(&im->temp_fd);
	import_folder_close(im);
	arena_fini(&im->arena);
	buf_fini(&im->side_made);
	buf_fini(&im->side_recorded);
	buf_fini(&im->common);
	dict_fini(&im->build_ids);
	dict_fini(&im->deferred);
	dict_fini(&im->counts);
	mem_free(im->starts);
	mem_free(im->event_facts);
	mem_free(im->modules);
	mem_free(im->kernel_ids);
	mem_free(im->events);
	mem_free(im->slices);
	mem_free(im->ids);
	mem_free(im);
}

/* The content of a pipe is copied to a file without a name first: it is read more than once. */
static int copy_input(struct import *im, struct err *e)
{
	enum { PART_BYTES = 256 << 10 };
	IO_AUTO_FD int from = im->fd;
	uint8_t *part = mem_alloc(PART_BYTES);
	ssize_t got = part ? 1 : -ENOMEM;
	int rc;

	im->fd = -1;
	rc = io_open_temporary(&im->fd, e);
	while (rc == 0 && got > 0 && im->size < IMPORT_MAX_PIPE_BYTES) {
		got = io_read_full(from, part, PART_BYTES);
		if (got > 0)
			rc = io_write_full(im->fd, part, (size_t)got);
		im->size += got > 0 ? (uint64_t)got : 0;
	}
	mem_free(part);
	rc = rc ? rc : (int)got;
	if (rc > 0)
		rc = -EFBIG;
	return rc ? err_set_at(e, rc, im->path, 0, 0, "cannot be copied: %s", strerror(-rc)) : 0;
}

static int open_path(struct import *im, bool is_input, struct stat *st)
{
	int rc;

	if (!is_input) {
		im->fd = io_open_linked(AT_FDCWD, im->path, 0, st);
		if (im->fd == -EISDIR)
			return import_folder_open(im, st);
		return im->fd < 0 ? im->fd : 0;
	}
	im->fd = sys()->openat(AT_FDCWD, "/dev/stdin", O_RDONLY | O_NOCTTY, 0);
	rc = im->fd < 0 ? im->fd : sys()->fstatat(im->fd, "", st, AT_EMPTY_PATH);
	return rc || S_ISREG(st->st_mode) || S_ISFIFO(st->st_mode) ? rc : -EINVAL;
}

static int open_file(struct import *im, struct err *e)
{
	bool is_input = strcmp(im->path, "-") == 0;
	struct stat st;
	int rc;

	rc = open_path(im, is_input, &st);
	if (rc == -EINVAL || rc == -EISDIR) {
		err_set_at(e, -EINVAL, im->path, 0, 0,
			   "is not a perf.data file: not a regular file");
		err_hint(e, "--perf-data=- reads a pipe");
		return -EINVAL;
	}
	if (rc == -EFBIG)
		return err_set_at(e, rc, im->path, 0, 0, "has more than %d files",
				  IMPORT_MAX_FILES);
	if (rc == -ENODATA) {
		err_set_at(e, -ENOENT, im->path, 0, 0,
			   "is a folder without a file named data: not of perf record");
		err_hint(e, "--session=FOLDER reads a cpuperf session");
		return -ENOENT;
	}
	if (rc < 0)
		return err_set_at(e, rc, im->path, 0, 0, "cannot be read: %s", io_reason(rc));
	im->facts.uid =
	    io_writer_of_both(im->facts.uid, S_ISREG(st.st_mode) ? st.st_uid : geteuid());
	if (st.st_mtim.tv_sec > 0)
		im->facts.modified_ns = (uint64_t)st.st_mtim.tv_sec * UINT64_C(1000000000);
	if (S_ISFIFO(st.st_mode))
		return copy_input(im, e);
	im->size = (uint64_t)st.st_size;
	return 0;
}

/* The same file always has the same id: its first and last bytes, and the size of all. */
static int make_session_id(struct import *im)
{
	enum { PART_BYTES = 64 << 10 };
	uint8_t *part = mem_alloc(2 * PART_BYTES);
	uint64_t last = im->size > PART_BYTES ? im->size - PART_BYTES : 0, all = im->size;
	ssize_t got, more;
	size_t len;

	if (!part)
		return -ENOMEM;
	got = io_pread_full(im->fd, part, PART_BYTES, 0);
	len = got > 0 ? (size_t)got : 0;
	more = io_pread_full(im->fd, part + len, PART_BYTES, last);
	len += more > 0 ? (size_t)more : 0;
	for (size_t i = 0; i < im->nr_more; i++)
		all += im->more[i].size;
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t hash = hash_bytes(i + (uint32_t)all, part, len);

		memcpy(im->session_id + 4 * (size_t)i, &hash, sizeof(hash));
	}
	mem_free(part);
	return 0;
}

static int make_facts(struct import *im)
{
	im->event_facts = mem_calloc(im->nr_events + 1, sizeof(*im->event_facts));
	if (!im->event_facts)
		return -ENOMEM;
	for (size_t i = 0; i < im->nr_events; i++) {
		const struct import_event *ev = &im->events[i];
		uint64_t n;

		memcpy(&n, ev->attr + offsetof(struct perf_event_attr, sample_period), sizeof(n));
		if (ev->column >= im->nr_columns)
			continue;
		im->event_facts[ev->column] = (struct import_event_facts){
		    .name = ev->name,
		    .period = ev->layout.is_freq ? 0 : le64toh(n),
		    .frequency = ev->layout.is_freq ? le64toh(n) : 0,
		    .nr_samples = ev->nr_samples,
		    .nr_throttled = ev->nr_throttled,
		    .nr_lost = ev->has_lost ? ev->nr_lost : UINT64_MAX,
		};
	}
	im->facts.events = im->event_facts;
	im->facts.nr_events = im->nr_columns;
	return 0;
}

/* A killed perf did not write its machine: assume this one. Stacks are unwound by it. */
static void guess_machine(struct import *im)
{
	struct utsname uts;

	if (*im->facts.machine || im->facts.is_big_endian || uname(&uts))
		return;
	im->facts.machine = import_text(im, uts.machine, sizeof(uts.machine));
	import_report(im, false,
		      "does not name the machine that recorded it: assuming one like this, %s",
		      im->facts.machine);
}

/* One error for the whole file. */
static void report_damage(struct import *im)
{
	char invalid[64] = "";

	if (im->nr_invalid)
		snprintf(invalid, sizeof(invalid), "%s%" PRIu64 " %s",
			 im->facts.is_truncated ? "; " : "", im->nr_invalid,
			 str_plural(im->nr_invalid, "record is invalid: skipped",
				    "records are invalid: skipped"));
	if (im->facts.is_truncated || im->nr_invalid)
		import_report(im, true, "%s%s", im->truncated, invalid);
}

static int load(struct import *im, import_known_fn *known, struct err *e)
{
	int rc = open_file(im, e) ?: import_header_load(im, e);

	if (rc == 0 && known)
		known(im->arg, &im->facts);
	if (rc == 0)
		rc = import_index(im, e);
	if (rc)
		return rc;
	if (!im->nr_events)
		return err_set_at(e, -EINVAL, im->path, 0, 0, "describes no event%s%s",
				  im->facts.is_truncated ? ": " : "", im->truncated);
	report_damage(im);
	guess_machine(im);
	import_number_columns(im);
	rc = make_session_id(im) ?: make_facts(im) ?: import_make_set(im);
	return rc ? err_set_at(e, rc, im->path, 0, 0, "cannot be read: %s", strerror(-rc)) : 0;
}

int import_open(const char *path, import_problem_fn *problem, import_known_fn *known, void *arg,
		struct import **out, struct err *e)
{
	struct import *im = import_new(path);
	int rc;

	if (!im)
		return err_set_at(e, -ENOMEM, path, 0, 0, "cannot be read: out of memory");
	im->problem = problem;
	im->arg = arg;
	rc = load(im, known, e);
	if (rc)
		import_close(im);
	else
		*out = im;
	return rc;
}

const struct import_facts *import_facts(const struct import *im)
{
	return &im->facts;
}

const struct trace_set *import_set(const struct import *im)
{
	return &im->set;
}

bool import_is_perf_data(const char *path)
{
	struct stat st;
	IO_AUTO_FD int fd = io_open_linked(AT_FDCWD, path, 0, &st);
	uint8_t magic[8];

	if (fd == -EISDIR)
		fd = import_folder_open_first(path, &st);
	return fd >= 0 && io_pread_full(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       import_is_magic(magic);
}
