/*
 * Reads files of numbers repeatedly through the same descriptor.
 */
#include "collect/value_file.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "base/sys.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct value_file {
	int fd;       /* -1: not open */
	bool is_gone; /* was open */
	int status;   /* of the last read: 0 or -errno */
	uint64_t time_ns, raw;
};

/* Not a format of printf: the path is data of a row. */
static int open_file(const struct value_files *v, uint32_t cpu)
{
	const char *mark = strstr(v->source, "%u");
	char path[PATH_MAX];
	int len = mark ? snprintf(path, sizeof(path), "%.*s%u%s", (int)(mark - v->source),
				  v->source, cpu, mark + 2)
		       : snprintf(path, sizeof(path), "%s", v->source);

	return len < 0 || len >= PATH_MAX ? -ENAMETOOLONG : root_open(v->root, path);
}

/* 0; -ENOENT if all files are missing; else the first error but a missing file. */
static int open_files(struct value_files *v)
{
	int rc = -ENOENT;

	for (uint32_t i = 0; i < v->nr; i++) {
		struct value_file *f = &v->files[i];
		int fd = open_file(v, i);

		f->fd = fd < 0 ? -1 : fd;
		f->status = fd < 0 ? fd : -ENODATA; /* until it is read */
		if (fd >= 0)
			rc = 0;
		else if (fd != -ENOENT && fd != -ENODEV)
			return fd;
	}
	return rc;
}

int value_files_open(const struct root *root, const char *source, uint16_t field, uint32_t nr_cpus,
		     struct value_files *out)
{
	struct value_files v = {
	    .root = root, .source = source, .field = field, .nr = nr_cpus ? nr_cpus : 1};
	int rc;

	v.files = mem_calloc(v.nr, sizeof(*v.files));
	if (!v.files)
		return -ENOMEM;
	for (uint32_t i = 0; i < v.nr; i++)
		v.files[i].fd = -1;
	rc = open_files(&v);
	if (rc)
		value_files_close(&v);
	else
		*out = v;
	return rc;
}

void value_files_close(struct value_files *v)
{
	for (uint32_t i = 0; i < v->nr; i++)
		io_close(&v->files[i].fd);
	mem_free(v->files);
	*v = (struct value_files){0};
}

/* "45000" or "-5000" alone. Negative numbers are the bits of an int64_t. */
static int parse_value(const char *p, const char *end, uint64_t *out)
{
	bool is_negative = p < end && *p == '-';
	uint64_t value;
	int rc;

	p += is_negative;
	rc = str_scan_u64(&p, end, &value);
	if (rc || p != end)
		return rc ? rc : -EINVAL;
	if (is_negative && value > (uint64_t)INT64_MAX + 1)
		return -ERANGE;
	*out = is_negative ? 0 - value : value;
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The number-th of the line, "12.07 " with two digits: 1207. */
static int parse_field(const char *p, const char *end, uint16_t field, uint64_t *out)
{
	unsigned digits = field >> 8;
	uint64_t value;
	int rc;

	for (unsigned number = field & 0xff; --number;) {
		while (p < end && !is_blank(*p))
			p++;
		while (p < end && is_blank(*p))
			p++;
	}
	rc = str_scan_u64(&p, end, &value);
	if (rc || (digits && (p == end || *p++ != '.')))
		return rc ?: -EINVAL;
	for (; digits; digits--, p++) {
		if (p == end || *p < '0' || *p > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (unsigned)(*p - '0'), &value))
			return -ERANGE;
	}
	if (p < end && !is_blank(*p))
		return -EINVAL;
	*out = value;
	return 0;
}

static int read_value(int fd, uint16_t field, uint64_t *out)
{
	char text[128];
	const size_t room = field ? sizeof(text) : 32;
	ssize_t n;

	do
		n = sys()->pread(fd, text, room, 0);
	while (n == -EINTR);
	if (n < 0)
		return (int)n;
	if ((size_t)n == room)
		return -EINVAL; /* possibly truncated */
	if (n && text[n - 1] == '\n')
		n--;
	return field ? parse_field(text, text + n, field, out) : parse_value(text, text + n, out);
}

static void read_file(const struct value_files *v, uint32_t cpu, struct value_file *f)
{
	if (f->is_gone) {
		int fd = open_file(v, cpu);

		f->is_gone = fd < 0;
		f->fd = fd < 0 ? -1 : fd;
	}
	if (f->fd < 0)
		return;
	f->status = read_value(f->fd, v->field, &f->raw);
	f->time_ns = clock_monotonic_ns();
	/* sysfs: the file was removed; the descriptor stays dead even if it is made again */
	f->is_gone = f->status == -ENODEV;
	if (f->is_gone)
		io_close(&f->fd);
}

void value_files_read(struct value_files *v)
{
	for (uint32_t i = 0; i < v->nr; i++)
		read_file(v, i, &v->files[i]);
}

int value_files_status(const struct value_files *v)
{
	return v->nr ? v->files[0].status : -ENODATA;
}

void value_files_get(const struct value_files *v, uint32_t cpu, struct reading *out)
{
	const struct value_file *f = cpu < v->nr ? &v->files[cpu] : NULL;
	bool ok = f && f->status == 0;

	out->state = ok ? READING_OK : READING_FAILED;
	out->time_ns = f ? f->time_ns : 0;
	out->raw = ok ? f->raw : 0;
	out->base = 0;
}
