/*
 * One child, asked over a socket for a range of a path; it answers with the file's stat and the
 * bytes. It opens the file for each question, so an abandoned child loses nothing.
 */
#include "elf/reader.h"

#include "base/child.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/root.h"
#include "elf/memory.h"
#include "elf/reader_child.h"

#include <errno.h>
#include <lzma.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
	SHARE = 4,            /* a file may use 1/SHARE of what is left */
	STEP_BYTES = 1 << 20, /* per question: the longest answer to wait for */
	NS_PER_BYTE = 100,    /* of a slow disk: 10 MB/s */
	END_MS = 100,         /* for a child that does not block */
	CRC_TIMES = 3,        /* checksums of whole files may take this many times max_ns */
};

/* Per run. Waiting on a busy machine is not the file's fault: up to grace_ns of each answer is
 * charged to a separate budget. */
static const uint64_t max_bytes = (uint64_t)8 << 30, max_ns = 20 * (uint64_t)1000000000,
		      max_grace_ns = 60 * (uint64_t)1000000000, grace_ns = 100000000;

struct elf_reader {
	struct elf_reader_config config;
	pthread_mutex_t lock;
	uint64_t bytes, ns, grace_ns, crc_ns; /* what is left */
	uint64_t all_bytes, all_ns;
	struct child child;
	bool has_failed; /* no child can be started */
};

/* --- the parent's side: all called under the lock --- */

static int start(struct elf_reader *r)
{
	int rc;

	if (r->child.fd >= 0)
		return 0;
	if (r->has_failed)
		return -EAGAIN;
	rc = child_start(&r->child, SOCK_STREAM, "cpuperf-reader", elf_reader_serve, NULL);
	r->has_failed = rc == -EAGAIN || rc == -ENOMEM;
	return r->has_failed ? -EAGAIN : rc;
}

/* 1/SHARE of what would be left if the file had used nothing, minus what it has used. */
static uint64_t left(uint64_t all, uint64_t taken)
{
	uint64_t most = (all + taken) / SHARE;

	return most > taken ? most - taken : 0;
}

static uint64_t ns_left(const struct elf_reader *r, const struct elf_reader_file *f)
{
	return left(r->ns, f->ns) + f->credit_ns;
}

static bool spend(struct elf_reader *r, struct elf_reader_file *f, uint64_t ns)
{
	bool has_enough = ns < ns_left(r, f);
	uint64_t free_ns = ns < f->credit_ns ? ns : f->credit_ns;

	f->credit_ns -= free_ns;
	ns -= free_ns;
	if (ns > r->ns)
		ns = r->ns;
	r->ns -= ns;
	f->ns += ns;
	return has_enough;
}

/* 0; -ETIMEDOUT; -EPIPE: the child has exited. */
static int receive(struct elf_reader *r, void *out, uint64_t len, uint64_t until_ns)
{
	for (uint64_t done = 0; done < len;) {
		ssize_t n = recv(r->child.fd, (char *)out + done, len - done, MSG_DONTWAIT);
		uint64_t now_ns;
		struct pollfd p = {.fd = r->child.fd, .events = POLLIN};

		if (n > 0) {
			done += (uint64_t)n;
			continue;
		}
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return -EPIPE;
		now_ns = clock_monotonic_ns();
		if (now_ns >= until_ns)
			return -ETIMEDOUT;
		poll(&p, 1, (int)((until_ns - now_ns) / 1000000 + 1));
	}
	return 0;
}

static int receive_answer(struct elf_reader *r, const struct elf_reader_question *q,
			  struct elf_reader_answer *a, void *out, uint64_t until_ns)
{
	int rc = receive(r, a, sizeof(*a), until_ns), end = 0;

	if (rc || a->rc)
		return rc;
	if (a->len > q->len || (a->len < q->len && !q->is_start))
		return -EPIPE; /* it is not our child's any more */
	if (!a->len)
		return 0;
	rc = receive(r, out, a->len, until_ns) ?: receive(r, &end, sizeof(end), until_ns);
	if (!q->is_start)
		a->rc = end;
	else if (end)
		a->len = 0;
	return rc;
}

/* A file system that does not answer is asked once: that uses up the file's time. */
static int ask_child(struct elf_reader *r, struct elf_reader_file *f,
		     const struct elf_reader_question *q, struct elf_reader_answer *a, void *out)
{
	uint64_t start_ns = clock_monotonic_ns(), most_ns = ns_left(r, f), ns;
	uint64_t free_ns = grace_ns < r->grace_ns ? grace_ns : r->grace_ns;
	int rc;

	if (most_ns == f->credit_ns)
		return -ETIMEDOUT;
	rc = start(r);
	if (rc)
		return rc;
	rc = elf_reader_send(r->child.fd, q, sizeof(*q))
		 ? receive_answer(r, q, a, out, start_ns + most_ns + free_ns)
		 : -EPIPE;
	ns = clock_monotonic_ns() - start_ns;
	free_ns = ns < free_ns ? ns : free_ns;
	r->grace_ns -= free_ns;
	if (!spend(r, f, ns - free_ns) && rc == 0)
		rc = -ETIMEDOUT;
	if (rc)
		child_end(&r->child, 1);
	return rc ? rc : a->rc;
}

/* start: NULL, or how many of the first len bytes were read; offset and held_len are 0. */
static int ask(struct elf_reader *r, struct elf_reader_file *f, uint64_t offset, uint64_t len,
	       uint64_t held_len, void *out, uint64_t *start)
{
	struct elf_reader_question q = {.offset = offset,
					.len = len,
					.held_len = held_len,
					.is_start = start != NULL,
					.refuses_links = f->refuses_links,
					.rights = f->rights,
					.root_len = f->root_len,
					.is_own_root = f->is_own_root,
					.is_of_kernel = f->is_of_kernel,
					.may_grow = f->may_grow};
	size_t path_len = strlen(f->path);
	struct elf_reader_answer a = {.rc = 0};
	int rc;

	if (path_len >= sizeof(q.path))
		return -ENAMETOOLONG;
	memcpy(q.path, f->path, path_len + 1);
	pthread_mutex_lock(&r->lock);
	f->credit_ns += len * NS_PER_BYTE;
	rc = ask_child(r, f, &q, &a, out);
	pthread_mutex_unlock(&r->lock);
	if (rc)
		return rc;
	if (f->is_known && !elf_reader_is_same(&f->st, &a.st, f->may_grow))
		return -ESTALE;
	if (!f->is_known)
		f->st = a.st;
	f->is_known = true;
	if (start)
		*start = a.len;
	return 0;
}

int elf_reader_new(const struct elf_reader_config *config, struct elf_reader **out)
{
	uint64_t memory = elf_memory_bytes(&root_live) / 2;
	struct elf_reader *r = mem_zalloc(sizeof(*r));

	if (!r)
		return -ENOMEM;
	*r = (struct elf_reader){
	    .config = *config,
	    .bytes = config->max_bytes    ? config->max_bytes
		     : memory < max_bytes ? memory
					  : max_bytes,
	    .ns = config->max_ns ? config->max_ns : max_ns,
	    .crc_ns = CRC_TIMES * (config->max_ns ? config->max_ns : max_ns),
	    .grace_ns = max_grace_ns,
	    .child = CHILD_NONE,
	};
	r->all_bytes = r->bytes;
	r->all_ns = r->ns;
	pthread_mutex_init(&r->lock, NULL);
	*out = r;
	return 0;
}

void elf_reader_free(struct elf_reader *r)
{
	if (!r)
		return;
	child_end(&r->child, END_MS);
	pthread_mutex_destroy(&r->lock);
	mem_free(r);
}

int elf_reader_look(struct elf_reader *r, struct elf_reader_file *f)
{
	return ask(r, f, 0, 0, 0, NULL, NULL);
}

int elf_reader_look_at(struct elf_reader *r, struct elf_reader_file *f, void *out, uint64_t len,
		       uint64_t *got)
{
	int rc = ask(r, f, 0, len, 0, out, got);

	if (rc == 0 && !elf_reader_pay(r, f, *got))
		*got = 0;
	return rc;
}

int elf_reader_read(struct elf_reader *r, struct elf_reader_file *f, uint64_t offset, uint64_t len,
		    void *out)
{
	int rc = elf_reader_pay(r, f, len) ? 0 : -ENOMEM;

	for (uint64_t at = 0; at < len && rc == 0; at += STEP_BYTES) {
		uint64_t step = len - at < STEP_BYTES ? len - at : STEP_BYTES;

		rc = ask(r, f, offset + at, step, at ? step : len, (char *)out + at, NULL);
	}
	return rc;
}

static int add_crc32(struct elf_reader *r, struct elf_reader_file *f, uint64_t until_ns, void *step,
		     uint32_t *crc)
{
	int rc = elf_reader_look(r, f);
	uint64_t size = rc == 0 && f->st.st_size > 0 ? (uint64_t)f->st.st_size : 0;

	if (rc == 0)
		rc = ask(r, f, 0, 0, size, NULL, NULL); /* check for holes first */
	for (uint64_t at = 0; at < size && rc == 0; at += STEP_BYTES) {
		size_t len = size - at < STEP_BYTES ? (size_t)(size - at) : STEP_BYTES;

		rc = ask(r, f, at, len, len, step, NULL);
		if (rc == 0)
			*crc = lzma_crc32(step, len, *crc);
		if (rc == 0 && at + len < size && clock_monotonic_ns() > until_ns)
			rc = -ETIMEDOUT;
	}
	return rc;
}

int elf_reader_crc32(struct elf_reader *r, struct elf_reader_file *f, uint32_t *out)
{
	uint64_t start_ns = clock_monotonic_ns(), until_ns, ns;
	void *step = mem_alloc(STEP_BYTES);
	uint32_t crc = 0;
	int rc;

	/* Limited separately, because the credit for the file's size is not. */
	pthread_mutex_lock(&r->lock);
	until_ns = start_ns + r->crc_ns / 2;
	pthread_mutex_unlock(&r->lock);
	rc = step ? add_crc32(r, f, until_ns, step, &crc) : -ENOMEM;
	mem_free(step);
	ns = clock_monotonic_ns() - start_ns;
	pthread_mutex_lock(&r->lock);
	r->crc_ns -= ns < r->crc_ns ? ns : r->crc_ns;
	pthread_mutex_unlock(&r->lock);
	if (rc == 0)
		*out = crc;
	return rc;
}

bool elf_reader_pay(struct elf_reader *r, struct elf_reader_file *f, uint64_t bytes)
{
	bool is_paid;

	pthread_mutex_lock(&r->lock);
	is_paid = bytes <= left(r->bytes, f->bytes);
	if (is_paid) {
		r->bytes -= bytes;
		f->bytes += bytes;
	}
	pthread_mutex_unlock(&r->lock);
	return is_paid;
}

bool elf_reader_spend(struct elf_reader *r, struct elf_reader_file *f, uint64_t ns)
{
	bool has_enough;

	pthread_mutex_lock(&r->lock);
	has_enough = spend(r, f, ns);
	pthread_mutex_unlock(&r->lock);
	return has_enough;
}

uint64_t elf_reader_bytes_left(struct elf_reader *r, const struct elf_reader_file *f)
{
	uint64_t bytes;

	pthread_mutex_lock(&r->lock);
	bytes = left(r->bytes, f->bytes);
	pthread_mutex_unlock(&r->lock);
	return bytes;
}

bool elf_reader_is_low(struct elf_reader *r)
{
	bool is_low;

	pthread_mutex_lock(&r->lock);
	is_low = r->bytes < r->all_bytes / 2 || r->ns < r->all_ns / 2;
	pthread_mutex_unlock(&r->lock);
	return is_low;
}

void elf_reader_explain(int rc, const char *path, struct err *e)
{
	switch (rc) {
	case -ETIMEDOUT:
		err_set_at(e, rc, path, 0, 0, "skipped: reading it takes too long");
		err_hint(e, "its file system does not answer, or the file is made to keep readers "
			    "busy; a copy below --sysroot=DIR or --debug-dir=DIR is used instead");
		break;
	case -EFBIG:
		err_set_at(e, rc, path, 0, 0,
			   "skipped: most of the data it claims to hold is a hole in the file");
		break;
	case -ENOMEM:
		err_set_at(e, rc, path, 0, 0,
			   "skipped: it needs more than a quarter of the memory left for such "
			   "files");
		break;
	case -ESTALE:
		err_set_at(e, rc, path, 0, 0, "skipped: it changed while it was read");
		err_hint(e, "print again");
		break;
	default:
		err_set_at(e, rc, path, 0, 0, "cannot be read: %s",
			   rc == -EINVAL ? "not a regular file" : io_reason(rc));
	}
}

void elf_reader_report(struct elf_reader *r, int rc, const char *path)
{
	struct err e = {0};

	elf_reader_explain(rc, path, &e);
	pthread_mutex_lock(&r->lock);
	if (r->config.problem)
		r->config.problem(r->config.arg, &e);
	pthread_mutex_unlock(&r->lock);
}
