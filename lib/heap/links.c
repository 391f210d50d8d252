#include "heap/links.h"

#include "base/clock.h"
#include "base/mem.h"
#include "wire/heap_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	WINDOW_BYTES = 512 << 10,
	MAX_RUNS = 1024, /* IOV_MAX */
	GAP_BYTES = 512, /* of memory between blocks: faster read than skipped */
	NR_WORDS = 128,  /* that are looked for at a time */
	HUGE_BYTES = 2 << 20,
	MAX_ITEMS = 1 << 28, /* 1 GiB; blocks beyond are not read */
	NOT_READ = 1u << 31, /* in the place of its record */
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
	size_t next; /* the first block without a record */
};

uint64_t heap_links_words(const struct heap_index *ix, size_t i)
{
	return heap_size(ix->block[i].size) & ~UINT64_C(7);
}

/* --- words to links */

static int add_item(struct heap_links *to, uint32_t value)
{
	uint32_t *item = MEM_ADD(to->item, to->nr, to->room);

	if (!item)
		return -ENOMEM;
	*item = value;
	return 0;
}

static int begin_record(struct reading *r, size_t block)
{
	struct heap_links *to = r->to;
	const bool is_read = to->at[block] != NOT_READ;

	to->at[block] = (uint32_t)to->nr;
	if (is_read)
		return add_item(to, HEAP_LINKS_IS_READ);
	return add_item(to, 0) ?: add_item(to, (uint32_t)block);
}

/* Those of all blocks up to this one. */
static int begin_records(struct reading *r, size_t block)
{
	int rc = 0;

	for (; r->next <= block && rc == 0; r->next++)
		rc = begin_record(r, r->next);
	return rc;
}

static int add_link(struct reading *r, size_t block, size_t target)
{
	int rc;

	if (target == r->ix->nr || target == block)
		return 0;
	rc = begin_records(r, block) ?: add_item(r->to, (uint32_t)target);
	if (rc == 0)
		r->to->item[r->to->at[block]]++;
	return rc;
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
		r->to->at[k] = NOT_READ;
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

	if (!r->ix->nr)
		return 0;
	for (size_t i = 0; i < r->ix->nr && rc == 0; i++) {
		if (heap_links_words(r->ix, i) <= HEAP_LINKS_SMALL && r->to->nr < MAX_ITEMS)
			rc = read_block(r, i);
		else
			r->to->at[i] = NOT_READ;
	}
	return rc ?: read_runs(r) ?: find_words(r) ?: begin_records(r, r->ix->nr - 1);
}

/* From numbers of blocks to records: what follows them looks at one place in memory for each. */
static void bind(struct heap_links *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		const uint32_t head = l->item[i], nr = head & HEAP_LINKS_NR;

		for (uint32_t k = 0; k < nr; k++, i++)
			l->item[i + 1] = l->at[l->item[i + 1]];
		i += !(head & HEAP_LINKS_IS_READ);
	}
}

/* Which records follow each other is random: with pages of 2 MiB that takes half the time. */
static int make_room(struct heap_links *l, size_t nr_blocks)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin, end;

	l->room = 2 * nr_blocks + 1;
	l->item = mem_calloc(l->room, sizeof(*l->item));
	l->at = mem_calloc(nr_blocks + 1, sizeof(*l->at));
	if (!l->item || !l->at)
		return -ENOMEM;
	begin = ((uintptr_t)l->item + page - 1) & ~(page - 1);
	end = (uintptr_t)(l->item + l->room) & ~(page - 1);
	if (end - begin >= HUGE_BYTES && end > begin)
		(void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
	return 0;
}

int heap_links_read(struct heap_links *l, const struct heap_index *ix, uint32_t pid,
		    uint64_t until_ns)
{
	struct reading *r = mem_zalloc(sizeof(*r));
	int rc = r ? make_room(l, ix->nr) : -ENOMEM;

	if (rc == 0) {
		*r = (struct reading){.to = l, .ix = ix, .pid = pid, .until_ns = until_ns};
		r->window = mem_calloc(1, WINDOW_BYTES);
		rc = r->window ? read_all(r) : -ENOMEM;
		mem_free(r->window);
	}
	if (rc == 0)
		bind(l);
	mem_free(r);
	return rc;
}

void heap_links_fini(struct heap_links *l)
{
	mem_free(l->item);
	mem_free(l->at);
	*l = (struct heap_links){0};
}
