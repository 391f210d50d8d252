#include "heap/pattern.h"

#include "base/mem.h"
#include "wire/heap_memory.h"

#include <errno.h>
#include <sys/uio.h>

enum {
	WINDOW_BYTES = 512 << 10,
	AT_ONCE = 128,      /* blocks that are read at once */
	SMALL_BYTES = 4096, /* of such blocks */
	WORD = sizeof(uint64_t),
};
_Static_assert(AT_ONCE *SMALL_BYTES <= WINDOW_BYTES, "small blocks fit");

/* Bytes of a process: hostile sizes take no longer than that. */
static const uint64_t MAX_BYTES = UINT64_C(1) << 36;

struct reading {
	const struct heap_pattern *what;
	uint64_t *window; /* owned */
	uint64_t left;
	size_t batch[AT_ONCE]; /* numbers of blocks */
	size_t nr_batch;
};

static uint64_t words_of(const struct wire_heap_block *b)
{
	return heap_size(b->size) / WORD;
}

/* 0, also where memory cannot be read, which has no pattern; or -errno. */
static int error_of(ssize_t got)
{
	return got >= 0 || errno == EFAULT || errno == ESRCH ? 0 : -errno;
}

static int read_large(struct reading *r, size_t i)
{
	const struct wire_heap_block *b = &r->what->block[i];
	uint64_t at = b->address, left = words_of(b) * WORD, sum = 0;
	int rc = 0;

	while (left) {
		uint64_t bytes = left < WINDOW_BYTES ? left : WINDOW_BYTES;
		struct iovec to = {r->window, bytes}, from = {(void *)(uintptr_t)at, bytes};
		ssize_t got = process_vm_readv((pid_t)r->what->pid, &to, 1, &from, 1, 0);

		rc = error_of(got);
		if (got <= 0)
			break;
		sum += heap_unwritten(r->window, (uint64_t)got / WORD, at);
		at += (uint64_t)got;
		left -= (uint64_t)got;
		if (got % WORD)
			break;
	}
	if (sum)
		r->what->found(r->what->arg, i, sum);
	return rc;
}

/* With one system call; each alone where some memory is not there. */
static int read_batch(struct reading *r)
{
	const struct wire_heap_block *block = r->what->block;
	struct iovec to = {r->window, 0}, from[AT_ONCE];
	const uint64_t *at = r->window;
	ssize_t got;
	int rc = 0;

	for (size_t i = 0; i < r->nr_batch; i++) {
		const struct wire_heap_block *b = &block[r->batch[i]];

		from[i] = (struct iovec){(void *)(uintptr_t)b->address, words_of(b) * WORD};
		to.iov_len += from[i].iov_len;
	}
	got = process_vm_readv((pid_t)r->what->pid, &to, 1, from, r->nr_batch, 0);
	for (size_t i = 0; i < r->nr_batch && rc == 0; i++) {
		uint64_t nr = words_of(&block[r->batch[i]]), sum;

		if (got != (ssize_t)to.iov_len) {
			rc = error_of(got) ?: read_large(r, r->batch[i]);
			continue;
		}
		sum = heap_unwritten(at, nr, block[r->batch[i]].address);
		at += nr;
		if (sum)
			r->what->found(r->what->arg, r->batch[i], sum);
	}
	r->nr_batch = 0;
	return rc;
}

static int read_block(struct reading *r, size_t i)
{
	const struct wire_heap_block *b = &r->what->block[i];
	const uint64_t bytes = heap_size(b->size);

	if (!b->is_filled || bytes > HEAP_FILL_MAX || !words_of(b))
		return 0;
	if (bytes > r->left)
		return -EFBIG;
	r->left -= bytes;
	if (bytes > SMALL_BYTES)
		return read_large(r, i);
	r->batch[r->nr_batch++] = i;
	return r->nr_batch == AT_ONCE ? read_batch(r) : 0;
}

int heap_read_pattern(const struct heap_pattern *what)
{
	struct reading r = {.what = what, .left = MAX_BYTES, .window = mem_calloc(1, WINDOW_BYTES)};
	int rc = r.window ? 0 : -ENOMEM;

	for (size_t i = 0; i < what->nr && rc == 0; i++)
		rc = read_block(&r, i);
	if (rc == 0 && r.nr_batch)
		rc = read_batch(&r);
	mem_free(r.window);
	return rc;
}
