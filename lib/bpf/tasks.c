/*
 * Loading the program of tasks.bpf.c, and reading its records.
 */
#include "bpf/tasks.h"

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

#include "bpf/generated/tasks.h"

enum { TEXT_BYTES = 1 << 16 }; /* the kernel returns at most half of it at a time */

struct tasks {
	struct tasks_bpf *programs; /* owned */
	size_t len;                 /* of text */
	_Alignas(8) char text[TEXT_BYTES];
};

static int load(struct tasks *t, const struct tasks_config *c)
{
	int rc = loading_open(&tasks_programs, &t->programs);
	struct tasks_bpf *p = t->programs;
	int nr_cpus = libbpf_num_possible_cpus();

	if (rc)
		return rc;
	if (nr_cpus < 0)
		return nr_cpus;
	if (c->has_memory && nr_cpus > BPF_TASKS_MAX_CPUS)
		return -E2BIG;
	p->rodata->has_memory = c->has_memory;
	p->rodata->has_threads = c->has_threads;
	p->rodata->has_io = c->has_io;
	p->rodata->nr_cpus = (__u32)nr_cpus;
	return loading_load(p->skeleton) ?: loading_attach(p->skeleton);
}

int tasks_open(const struct tasks_config *config, struct tasks **out, struct err *e)
{
	struct tasks *t = mem_zalloc(sizeof(*t));
	int rc;

	if (!t)
		return err_set(e, -ENOMEM, "out of memory");
	loading_begin();
	rc = load(t, config);
	if (rc)
		rc = loading_refuse(rc, e);
	loading_end();
	if (rc)
		tasks_close(t);
	else
		*out = t;
	return rc;
}

void tasks_close(struct tasks *t)
{
	if (!t)
		return;
	loading_close(t->programs);
	mem_free(t);
}

/* The bytes of the record at text, which has len; 0: not all of it is there. */
static size_t record_bytes(const char *text, size_t len)
{
	const struct bpf_tasks_thread *r = (const void *)text;
	size_t bytes = sizeof(*r);

	if (len >= sizeof(*r) && r->pid == r->process)
		bytes = sizeof(struct bpf_tasks_process);
	return len < bytes ? 0 : bytes;
}

/* Passes whole records, and keeps the rest. */
static int pass(struct tasks *t, tasks_fn *fn, void *arg)
{
	size_t at = 0, bytes;
	int rc = 0;

	while (rc == 0 && (bytes = record_bytes(t->text + at, t->len - at))) {
		const void *r = t->text + at;
		bool is_process = bytes == sizeof(struct bpf_tasks_process);

		rc = fn(is_process ? r : NULL, is_process ? NULL : r, arg);
		at += bytes;
	}
	t->len -= at;
	memmove(t->text, t->text + at, t->len);
	return rc;
}

static int read_all(struct tasks *t, int fd, tasks_fn *fn, void *arg)
{
	ssize_t n;
	int rc = 0;

	t->len = 0;
	do {
		n = sys()->read(fd, t->text + t->len, sizeof(t->text) - t->len);
		if (n > 0) {
			t->len += (size_t)n;
			rc = pass(t, fn, arg);
		}
	} while (rc == 0 && (n > 0 || n == -EAGAIN || n == -EINTR));
	return rc ? rc : n < 0 ? (int)n : t->len ? -EIO : 0;
}

int tasks_read(struct tasks *t, tasks_fn *fn, void *arg)
{
	int fd, rc;

	privilege_raise();
	fd = bpf_iter_create(bpf_link__fd(t->programs->links.visit));
	privilege_lower();
	if (fd < 0)
		return fd;
	rc = read_all(t, fd, fn, arg);
	io_close(&fd);
	return rc;
}
