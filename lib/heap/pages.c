#include "heap/pages.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/sum.h"
#include "heap/pattern.h"
#include "proc/proc.h"
#include "wire/heap_memory.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
	WINDOW = 1024,      /* pages that are read at once */
	MAX_READ = 1 << 26, /* pages of a process: hostile sizes take no longer than that */
	MAX_MAPS = 1 << 28,
};

/* Of an entry of pagemap. */
static const uint64_t IS_IN_MEMORY = UINT64_C(1) << 63, IS_IN_SWAP = UINT64_C(1) << 62;

struct pages {
	const struct heap_pages *what;
	struct wire_heap_stack *stacks;
	size_t nr_stacks;
	int fd;
	uint64_t page;                 /* bytes */
	uint64_t entry[WINDOW], first; /* what is read of pagemap */
	size_t nr_entries;
	uint64_t nr_read;                    /* pages so far */
	const struct wire_heap_block *block; /* by address */
	size_t nr_blocks;
	/* of the block that goes on from the page before: it is a sample already */
	bool was_resident, was_untouched;
};

static uint64_t begin_of(const struct pages *p, size_t i)
{
	return p->block[i].address;
}

/* Where the next one begins, if what the program wrote overlaps. */
static uint64_t end_of(const struct pages *p, size_t i)
{
	const struct wire_heap_block *b = &p->block[i];
	uint64_t end = b->address + heap_size(b->size) - (b->size & HEAP_PAGES ? 4095 : 0);

	return i + 1 < p->nr_blocks && end > begin_of(p, i + 1) ? begin_of(p, i + 1) : end;
}

static int compare(const void *a, const void *b)
{
	const struct wire_heap_block *x = a, *y = b;

	return order_u64(x->address, y->address);
}

/* What pagemap says of the page: *entry. 0 or -errno. */
static int read_entry(struct pages *p, uint64_t number, uint64_t *entry)
{
	ssize_t got;

	if (number - p->first >= p->nr_entries) {
		if (p->nr_read >= MAX_READ)
			return -EFBIG;
		p->nr_read += WINDOW;
		got = io_pread_full(p->fd, p->entry, sizeof(p->entry), number * sizeof(*p->entry));
		p->first = number;
		p->nr_entries = got > 0 ? (size_t)got / sizeof(*p->entry) : 0;
		if (!p->nr_entries)
			return got < 0 ? (int)got : -EIO;
	}
	*entry = p->entry[number - p->first];
	return 0;
}

static uint64_t overlap(const struct pages *p, size_t i, uint64_t from, uint64_t to)
{
	uint64_t begin = begin_of(p, i), end = end_of(p, i);

	begin = begin > from ? begin : from;
	end = end < to ? end : to;
	return end > begin ? end - begin : 0;
}

/* Bytes that those of a sample stand for. */
static uint64_t weigh(const struct pages *p, size_t i, uint64_t bytes)
{
	const uint64_t rate = p->what->rate;

	if (rate <= 1)
		return bytes;
	return bytes * heap_weigh(heap_size(p->block[i].size), rate).calls / HEAP_CALL;
}

static void add(struct pages *p, size_t i, enum wire_heap_kind kind, bool is_new, uint64_t bytes)
{
	struct wire_heap_amount *a;

	if (p->block[i].stack >= p->nr_stacks)
		return;
	a = &p->stacks[p->block[i].stack].amount[kind];
	a->samples += is_new;
	sum_add(&a->bytes, weigh(p, i, bytes));
}

/* Divides a page in memory among the blocks from i to end. */
static void divide(struct pages *p, size_t i, size_t end, uint64_t from)
{
	const uint64_t to = from + p->page;
	const bool is_whole = p->what->rate <= 1;
	uint64_t all = 0, before = 0;

	for (size_t k = i; k < end; k++)
		all += overlap(p, k, from, to);
	for (size_t k = i; k < end && all; k++) {
		uint64_t own = overlap(p, k, from, to);
		uint64_t until = before + own;

		if (own)
			add(p, k, WIRE_HEAP_RESIDENT, k > i || !p->was_resident,
			    is_whole ? p->page * until / all - p->page * before / all : own);
		before = until;
	}
}

/* Whether pages are what is looked at, rather than the pattern. */
static bool is_by_pages(const struct pages *p, size_t i)
{
	return p->what->has_untouched &&
	       (!p->what->has_pattern || heap_size(p->block[i].size) > HEAP_FILL_MAX);
}

/* A page, and the blocks in it from i to end. 1: it is in memory, 0 or -errno. */
static int look_at(struct pages *p, uint64_t number, size_t i, size_t end)
{
	const uint64_t from = number * p->page;
	uint64_t entry = 0;
	int rc = read_entry(p, number, &entry);

	if (rc)
		return rc;
	if (entry & IS_IN_MEMORY) {
		if (p->what->has_resident)
			divide(p, i, end, from);
		p->was_resident = true;
		return 1;
	}
	if (!(entry & IS_IN_SWAP) && is_by_pages(p, i) &&
	    overlap(p, i, from, from + p->page) == p->page) {
		add(p, i, WIRE_HEAP_UNTOUCHED, !p->was_untouched, p->page);
		p->was_untouched = true;
	}
	return 0;
}

/* The pages of all blocks. The blocks in a page are next to each other. */
static int look_at_all(struct pages *p)
{
	uint64_t number = 0;
	size_t i = 0, end = 0;
	int rc = 0;

	while (i < p->nr_blocks && rc >= 0) {
		const size_t first = i;

		if (number < begin_of(p, i) / p->page)
			number = begin_of(p, i) / p->page;
		end = end > i ? end : i;
		while (end < p->nr_blocks && begin_of(p, end) / p->page <= number)
			end++;
		rc = look_at(p, number, i, end);
		number++;
		while (i < end && end_of(p, i) <= number * p->page)
			i++;
		if (i != first) {
			p->was_untouched = false;
			p->was_resident = rc == 1 && i < end;
		}
	}
	return rc < 0 ? rc : 0;
}

static void add_unwritten(void *arg, size_t i, uint64_t bytes)
{
	add(arg, i, WIRE_HEAP_UNTOUCHED, true, bytes);
}

static int look_at_pattern(struct pages *p, uint32_t pid)
{
	const struct heap_pattern what = {
	    .pid = pid, .block = p->block, .nr = p->nr_blocks, .found = add_unwritten, .arg = p};

	return p->what->has_pattern ? heap_read_pattern(&what) : 0;
}

/* The program that connected has our memory mapped; exec takes it away. */
static int is_there(const struct heap_pages *what, uint32_t pid)
{
	BUF_AUTO(text, MAX_MAPS);
	int rc = proc_load(PROC(what->root, pid), "maps", &text) ?: buf_error(&text);

	if (rc == 0)
		rc = strstr(buf_str(&text), "/memfd:cpuperf-heap") != NULL;
	return rc == -ENOENT || rc == -ESRCH ? 0 : rc;
}

int heap_read_pages(const struct heap_pages *what, uint32_t pid, const struct wire_heap *memory,
		    struct wire_heap_stack *stacks, size_t nr_stacks)
{
	/* smaller ones have no whole page */
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE),
		       min = what->has_resident || what->has_pattern ? 0 : page;
	struct pages *p = mem_zalloc(sizeof(*p));
	struct wire_heap_block *blocks = NULL;
	int rc;

	if (!p)
		return -ENOMEM;
	*p = (struct pages){.what = what, .stacks = stacks, .nr_stacks = nr_stacks, .page = page};
	p->fd = proc_open(PROC(what->root, pid), "pagemap"); /* it stays that of this program */
	rc = is_there(what, pid);
	if (rc > 0 && p->fd < 0)
		rc = p->fd;
	if (rc > 0) {
		int missing = wire_heap_blocks(memory, min, &blocks, &p->nr_blocks);

		order_sort(blocks, p->nr_blocks, sizeof(*blocks), compare);
		p->block = blocks;
		rc = look_at_all(p) ?: look_at_pattern(p, pid) ?: missing ?: 1;
	}
	io_close(&p->fd);
	mem_free(blocks);
	mem_free(p);
	return rc;
}
