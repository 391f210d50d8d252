/*
 * Loading the program of files.bpf.c, and reading its records.
 */
#include "bpf/files.h"

#include "base/err.h"
#include "base/mem.h"

#include <errno.h>

#include "base/io.h"
#include "base/privilege.h"
#include "base/sys.h"
#include "bpf/loading.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "bpf/generated/files.h"

enum { NR_AT_A_TIME = 1024 };

struct files {
	struct files_bpf *programs; /* owned */
	struct bpf_files_file records[NR_AT_A_TIME];
};

static int load(struct files *f, unsigned major)
{
	int rc = loading_open(&files_programs, &f->programs);
	struct files_bpf *p = f->programs;

	if (rc)
		return rc;
	p->rodata->major = major;
	return loading_load(p->skeleton) ?: loading_attach(p->skeleton);
}

int files_open(unsigned major, struct files **out, struct err *e)
{
	struct files *f = mem_zalloc(sizeof(*f));
	int rc;

	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	loading_begin();
	rc = load(f, major);
	if (rc)
		rc = loading_refuse(rc, e);
	loading_end();
	if (rc)
		files_close(f);
	else
		*out = f;
	return rc;
}

void files_close(struct files *f)
{
	if (!f)
		return;
	loading_close(f->programs);
	mem_free(f);
}

/* The kernel returns whole records, and -EAGAIN where a long way had none. */
static int read_all(struct files *f, int fd, files_fn *fn, void *arg)
{
	size_t len = 0;
	ssize_t n;
	int rc = 0;

	do {
		n = sys()->read(fd, (char *)f->records + len, sizeof(f->records) - len);
		len += n > 0 ? (size_t)n : 0;
		for (size_t i = 0; i < len / sizeof(f->records[0]) && rc == 0; i++)
			rc = fn(&f->records[i], arg);
		memmove(f->records, (char *)f->records + len - len % sizeof(f->records[0]),
			len % sizeof(f->records[0]));
		len %= sizeof(f->records[0]);
	} while (rc == 0 && (n > 0 || n == -EAGAIN || n == -EINTR));
	return rc ? rc : n < 0 ? (int)n : len ? -EIO : 0;
}

int files_read(struct files *f, files_fn *fn, void *arg)
{
	int fd, rc;

	privilege_raise();
	fd = bpf_iter_create(bpf_link__fd(f->programs->links.visit));
	privilege_lower();
	if (fd < 0)
		return fd;
	rc = read_all(f, fd, fn, arg);
	io_close(&fd);
	return rc;
}
