#include "session/heap_links.h"

#include "base/clock.h"
#include "base/mem.h"
#include "wire/heap_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/uio.h>

enum {
	WINDOW_BYTES = 512 << 10,
	MAX_RUNS = 1024,     /* IOV_MAX */
	GAP_BYTES = 512,     /* of memory between blocks: faster read than skipped */
	NR_WORDS = 128,      /* that are looked for at a time */
	MAX_LINKS = 1 << 28, /* 1 GiB; blocks beyond are not read */
	NOT_READ = 1u << 31, /* of first */
};

/* Blocks that are read as one piece. */
struct run {
	size_t begin, end;
};

struct reading {
	struct heap_links *to;
	const struct heap_index *ix;
	uint32_t pid;
	uint64_t until_ns;
	char *window; /* owned */
	struct run run[MAX_RUNS];
	struct iovec from[MAX_RUNS];
	size_t nr_runs, bytes;
	uint64_t word[NR_WORDS];
	uint32_t block[NR_WORDS]; /* that has the word */
	size_t nr_words;
	size_t next; /* the first block whose links are not known yet */
};

uint64_t heap_links_words(const struct heap_index *ix, size_t i)
{
	return heap_size(ix->block[i].size) & ~UINT64_C(7);
}

/* --- words to links */

static void begin_links(struct reading *r, size_t block)
{
	uint32_t *first = r->to->first;

	for (; r->next <= block; r->next++)
		first[r->next] = (uint32_t)r->to->nr | (first[r->next] & NOT_READ);
}

static int add_link(struct reading *r, size_t block, size_t target)
{
	struct heap_links *to = r->to;
	uint32_t *item;

	begin_links(r, block);
	if (target == r->ix->nr || target == block)
		return 0;
	item = MEM_ADD(to->target, to->nr, to->room);
	if (!item)
		return -ENOMEM;
	*item = (uint32_t)target;
	return 0;
}

static int find_words(struct reading *r)
{
	int rc = 0;

	heap_index_fetch(r->ix, r->word, r->nr_words);
	for (size_t i = 0; i < r->nr_words && rc == 0; i++)
		rc = add_link(r, r->block[i], heap_index_find(r->ix, r->word[i]));
	r->nr_words = 0;
	return rc;
}

static int add_words(struct reading *r, size_t block, const uint64_t *word, size_t nr)
{
	const uint64_t low = r->ix->low, bytes = r->ix->high - low;
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++) {
		if (word[i] - low >= bytes)
			continue;
		r->word[r->nr_words] = word[i];
		r->block[r->nr_words++] = (uint32_t)block;
		if (r->nr_words == NR_WORDS)
			rc = find_words(r);
	}
	return rc;
}

/* --- memory to words */

static int add_run(struct reading *r, const struct run *run, const char *at)
{
	const uint64_t begin = heap_index_begin(r->ix, run->begin);
	int rc = 0;

	for (size_t i = run->begin; i < run->end && rc == 0; i++) {
		const char *word = at + (heap_index_begin(r->ix, i) - begin);

		rc = add_words(r, i, (const uint64_t *)(const void *)word,
			       heap_links_words(r->ix, i) / sizeof(uint64_t));
	}
	return rc;
}

static ssize_t read_memory(struct reading *r, const struct iovec *from, size_t nr, size_t bytes)
{
	struct iovec to = {r->window, bytes};

	return process_vm_readv((pid_t)r->pid, &to, 1, from, nr, 0);
}

/* What cannot be read as one piece is left to the search. */
static int read_alone(struct reading *r, size_t i)
{
	ssize_t got = read_memory(r, &r->from[i], 1, r->from[i].iov_len);

	if (got == (ssize_t)r->from[i].iov_len)
		return add_run(r, &r->run[i], r->window);
	for (size_t k = r->run[i].begin; k < r->run[i].end; k++)
		r->to->first[k] |= NOT_READ;
	return got < 0 && errno != EFAULT ? -errno : 0;
}

static int read_runs(struct reading *r)
{
	const bool is_all = read_memory(r, r->from, r->nr_runs, r->bytes) == (ssize_t)r->bytes;
	const char *at = r->window;
	int rc = 0;

	for (size_t i = 0; i < r->nr_runs && rc == 0; i++) {
		rc = is_all ? add_run(r, &r->run[i], at) : read_alone(r, i);
		at += r->from[i].iov_len;
	}
	r->nr_runs = r->bytes = 0;
	return rc == 0 && clock_monotonic_ns() > r->until_ns ? -ETIMEDOUT : rc;
}

/* The bytes by which the run grows with the block; 0: it is not near. */
static uint64_t growth(const struct reading *r, size_t i)
{
	const struct iovec *run = &r->from[r->nr_runs - 1];
	uint64_t run_end = (uintptr_t)run->iov_base + run->iov_len;
	uint64_t begin = heap_index_begin(r->ix, i), end = begin + heap_links_words(r->ix, i);

	if (r->run[r->nr_runs - 1].end != i || end <= run_end || begin > run_end + GAP_BYTES)
		return 0;
	return end - run_end;
}

static int read_block(struct reading *r, size_t i)
{
	const uint64_t bytes = heap_links_words(r->ix, i);
	uint64_t more = r->nr_runs ? growth(r, i) : 0;
	int rc = 0;

	if (!more && !bytes)
		return 0;
	if (more && r->bytes + more <= WINDOW_BYTES) {
		r->from[r->nr_runs - 1].iov_len += more;
		r->run[r->nr_runs - 1].end = i + 1;
		r->bytes += more;
		return 0;
	}
	if (r->nr_runs == MAX_RUNS || r->bytes + bytes > WINDOW_BYTES)
		rc = read_runs(r);
	r->from[r->nr_runs] = (struct iovec){(void *)(uintptr_t)heap_index_begin(r->ix, i), bytes};
	r->run[r->nr_runs++] = (struct run){i, i + 1};
	r->bytes += bytes;
	return rc;
}

static int read_all(struct reading *r)
{
	int rc = 0;

	for (size_t i = 0; i < r->ix->nr && rc == 0; i++) {
		if (heap_links_words(r->ix, i) <= HEAP_LINKS_SMALL && r->to->nr < MAX_LINKS)
			rc = read_block(r, i);
		else
			r->to->first[i] = NOT_READ;
	}
	rc = rc ?: read_runs(r) ?: find_words(r);
	begin_links(r, r->ix->nr);
	return rc;
}

int heap_links_read(struct heap_links *l, const struct heap_index *ix, uint32_t pid,
		    uint64_t until_ns)
{
	struct reading *r = mem_zalloc(sizeof(*r));
	int rc = -ENOMEM;

	l->first = mem_calloc(ix->nr + 1, sizeof(*l->first));
	if (r && l->first) {
		*r = (struct reading){.to = l, .ix = ix, .pid = pid, .until_ns = until_ns};
		r->window = mem_calloc(1, WINDOW_BYTES);
		rc = r->window ? read_all(r) : -ENOMEM;
		mem_free(r->window);
	}
	mem_free(r);
	return rc;
}

const uint32_t *heap_links_of(const struct heap_links *l, size_t i, size_t *nr)
{
	const uint32_t first = l->first[i];

	if (first & NOT_READ)
		return NULL;
	*nr = (l->first[i + 1] & ~NOT_READ) - first;
	return l->target + first;
}

void heap_links_fini(struct heap_links *l)
{
	mem_free(l->target);
	mem_free(l->first);
	*l = (struct heap_links){0};
}
