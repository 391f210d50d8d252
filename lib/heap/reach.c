/*
 * The roots are registers, stacks from their pointer on, thread-local memory, and writable memory
 * that is not the allocator's. What they point to is reached, and searched in turn.
 */
#include "heap/reach.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/thread.h"
#include "heap/index.h"
#include "heap/links.h"
#include "heap/stop.h"
#include "proc/maps.h"
#include "proc/proc.h"
#include "wire/heap_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	WINDOW_BYTES = 256 << 10,
	AT_ONCE = 128,            /* blocks that are read at once */
	OWN_BYTES = 128 << 10,    /* the C library maps blocks of this size and more alone */
	CHECKED_BYTES = 64 << 10, /* of more, pages that are not there are not read */
	NR_ENTRIES = 512,
	CHECK_MASK = (1 << 14) - 1, /* blocks between two looks at the time */
	RED_ZONE = 128,
	TLS_BYTES = 64 << 10, /* on both sides of the thread pointer */
	MAX_MAPS = 1 << 28,
};

static const uint64_t IS_PRESENT = UINT64_C(3) << 62;

struct search {
	uint32_t pid;
	int pagemap;
	uint64_t page, until_ns;
	struct heap_index ix;    /* owned */
	struct heap_links links; /* owned */
	uint32_t *waiting;       /* owned; records of those that are reached and not searched yet */
	size_t nr_waiting, nr_listed, nr_reached;
	struct heap_stopped *thread; /* owned */
	size_t nr_threads;
	/* Words may be those of an allocator, of the end of a block: not of what is in it. */
	bool is_static;
	uint64_t *window; /* owned */
	int error;
};

/* The C library's lists of free memory have the addresses of what is before it, 16 bytes: the last
 * 8 may be those of the block before. */
static bool is_end_of(const struct search *s, size_t i, uint64_t address)
{
	uint64_t bytes = (heap_size(s->ix.block[i].size) + 8 + 15) & ~UINT64_C(15);

	return address == heap_index_begin(&s->ix, i) - 16 + (bytes < 32 ? 32 : bytes);
}

/* By its record. */
static void reach(struct search *s, uint32_t at)
{
	uint32_t *head = &s->links.item[at];

	if (*head & HEAP_LINKS_IS_REACHED)
		return;
	*head |= HEAP_LINKS_IS_REACHED;
	s->waiting[s->nr_waiting++] = at;
	s->nr_reached++;
}

static void look_at(struct search *s, uint64_t word)
{
	size_t i = heap_index_find(&s->ix, word);

	if (i < s->ix.nr && !(s->is_static && is_end_of(s, i, word)))
		reach(s, s->links.at[i]);
}

static void look_at_all(struct search *s, const uint64_t *word, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		look_at(s, word[i]);
}

/* --- memory of the program */

/* What cannot be read has no pointers. */
static void search_pages(struct search *s, uint64_t at, uint64_t end)
{
	while (at < end && !s->error) {
		uint64_t bytes = end - at < WINDOW_BYTES ? end - at : WINDOW_BYTES;
		struct iovec to = {s->window, bytes}, from = {(void *)(uintptr_t)at, bytes};
		ssize_t got = process_vm_readv((pid_t)s->pid, &to, 1, &from, 1, 0);

		if (got < 0 && errno != EFAULT) {
			s->error = -errno;
		} else if (got <= 0) {
			at = (at / s->page + 1) * s->page;
		} else {
			look_at_all(s, s->window, (size_t)got);
			at += (uint64_t)got & ~UINT64_C(7);
			at += (uint64_t)got & 7 ? 8 : 0;
		}
		if (clock_monotonic_ns() > s->until_ns)
			s->error = -ETIMEDOUT;
	}
}

/* Pages that were never touched stay so. */
static void search_present(struct search *s, uint64_t at, uint64_t end)
{
	uint64_t entry[NR_ENTRIES];

	while (at < end && !s->error) {
		uint64_t first = at / s->page, stop = (first + NR_ENTRIES) * s->page, run = at;
		ssize_t got =
		    io_pread_full(s->pagemap, entry, sizeof(entry), first * sizeof(*entry));

		stop = stop < end ? stop : end;
		for (uint64_t page = first; page * s->page < stop; page++) {
			bool is_known =
			    (page - first + 1) * sizeof(*entry) <= (uint64_t)(got > 0 ? got : 0);

			if (!is_known || entry[page - first] & IS_PRESENT)
				continue;
			search_pages(s, run, page * s->page);
			run = (page + 1) * s->page;
		}
		search_pages(s, run, stop);
		at = stop;
	}
}

/* Aligned words; of less than 8 bytes there is none. */
static void search_range(struct search *s, uint64_t at, uint64_t end)
{
	at = (at + 7) & ~UINT64_C(7);
	end &= ~UINT64_C(7);
	if (at >= end)
		return;
	if (end - at > CHECKED_BYTES && s->pagemap >= 0)
		search_present(s, at, end);
	else
		search_pages(s, at, end);
}

/* --- blocks that are reached */

/* Small ones, with one system call. */
static void search_small(struct search *s, const size_t *number, size_t nr, size_t bytes)
{
	struct iovec to = {s->window, bytes}, from[AT_ONCE];
	ssize_t got;

	for (size_t i = 0; i < nr; i++)
		from[i] = (struct iovec){(void *)(uintptr_t)heap_index_begin(&s->ix, number[i]),
					 heap_links_words(&s->ix, number[i])};
	got = process_vm_readv((pid_t)s->pid, &to, 1, from, nr, 0);
	if (got == (ssize_t)bytes) {
		look_at_all(s, s->window, bytes);
		return;
	}
	for (size_t i = 0; i < nr; i++)
		search_range(s, heap_index_begin(&s->ix, number[i]),
			     heap_index_end(&s->ix, number[i]));
}

/* Until so many blocks are there that have to be read: their number. */
static size_t follow(struct search *s, size_t unread[AT_ONCE])
{
	size_t nr = 0, done = 0;

	for (; s->nr_waiting && nr < AT_ONCE && !s->error; done++) {
		const uint32_t *record = &s->links.item[s->waiting[--s->nr_waiting]];

		for (uint32_t k = *record & HEAP_LINKS_NR; k; k--)
			reach(s, record[k]);
		if (!(*record & HEAP_LINKS_IS_READ))
			unread[nr++] = record[1];
		if (!(done & CHECK_MASK) && clock_monotonic_ns() > s->until_ns)
			s->error = -ETIMEDOUT;
	}
	return nr;
}

static void search_unread(struct search *s, const size_t *unread, size_t nr_unread)
{
	size_t small[AT_ONCE], nr = 0, bytes = 0;

	for (size_t k = 0; k < nr_unread; k++) {
		size_t i = unread[k];

		if (heap_links_words(&s->ix, i) > HEAP_LINKS_SMALL)
			search_range(s, heap_index_begin(&s->ix, i), heap_index_end(&s->ix, i));
		else if (heap_links_words(&s->ix, i))
			bytes += heap_links_words(&s->ix, small[nr++] = i);
	}
	if (nr)
		search_small(s, small, nr, bytes);
}

static void search_reached(struct search *s)
{
	size_t unread[AT_ONCE];

	s->is_static = false;
	while (s->nr_waiting && !s->error)
		search_unread(s, unread, follow(s, unread));
}

/* --- roots */

/* What is between blocks, but not in them: these have to be reached. */
static void search_between(struct search *s, uint64_t at, uint64_t end)
{
	size_t i = heap_index_after(&s->ix, at);

	if (i && heap_index_end(&s->ix, i - 1) > at)
		at = heap_index_end(&s->ix, i - 1);
	for (; i < s->ix.nr && heap_index_begin(&s->ix, i) < end; i++) {
		search_range(s, at, heap_index_begin(&s->ix, i));
		at = heap_index_end(&s->ix, i);
	}
	search_range(s, at, end);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A stack, from its pointer up to the next block, or the end of the one that it is in. The lowest
 * pointer within the mapping: what is below is of calls that are over. 0: no stack is there. */
static uint64_t search_stacks(struct search *s, const struct proc_mapping *m)
{
	uint64_t lowest = 0;

	s->is_static = false;
	for (size_t k = 0; k < s->nr_threads; k++) {
		uint64_t sp = s->thread[k].sp;
		size_t i;

		if (sp < m->start || sp >= m->end)
			continue;
		i = heap_index_find(&s->ix, sp);
		if (i < s->ix.nr) {
			search_range(s, larger(sp - RED_ZONE, heap_index_begin(&s->ix, i)),
				     heap_index_end(&s->ix, i));
			continue;
		}
		lowest = lowest ? smaller(lowest, sp) : sp;
		i = heap_index_after(&s->ix, sp);
		search_range(s, larger(sp - RED_ZONE, m->start),
			     i < s->ix.nr ? smaller(heap_index_begin(&s->ix, i), m->end) : m->end);
	}
	return lowest;
}

/* On a thread's stack it is above the frames: what is below the pointer is of calls that are over.
 */
static void search_tls(struct search *s, const struct proc_mapping *m)
{
	s->is_static = true;
	for (size_t k = 0; k < s->nr_threads; k++) {
		uint64_t tls = s->thread[k].tls, sp = s->thread[k].sp;
		uint64_t from = larger(tls - smaller(tls, TLS_BYTES), m->start);

		if (tls >= m->start && tls < m->end)
			search_between(s, sp > from && sp < tls ? sp : from,
				       smaller(tls + TLS_BYTES, m->end));
	}
}

static bool is_own(const struct search *s, size_t i)
{
	return heap_size(s->ix.block[i].size) >= OWN_BYTES;
}

/* Small blocks are in memory that is the allocator's up to the mapping's end; a large one is alone
 * in its pages. */
static void search_static(struct search *s, const struct proc_mapping *m, uint64_t at)
{
	size_t i = heap_index_after(&s->ix, at - 1);

	s->is_static = true;
	if (i && heap_index_end(&s->ix, i - 1) > at)
		at = heap_index_end(&s->ix, i - 1);
	for (; i < s->ix.nr && heap_index_begin(&s->ix, i) < m->end; i++) {
		search_range(s, at, heap_index_begin(&s->ix, i) / s->page * s->page);
		if (!is_own(s, i))
			return;
		at = (heap_index_end(&s->ix, i) + s->page - 1) / s->page * s->page;
	}
	search_range(s, at, m->end);
}

static bool has_name(const struct proc_mapping *m, const char *name)
{
	return m->name_len >= strlen(name) && strncmp(m->name, name, strlen(name)) == 0;
}

static bool is_root(const struct proc_mapping *m)
{
	const bool is_relro = m->inode && !m->is_shared && !(m->prot & PROC_MAPS_EXEC);

	return m->prot & PROC_MAPS_READ && (m->prot & PROC_MAPS_WRITE || is_relro) &&
	       !has_name(m, "/memfd:cpuperf-heap") && !has_name(m, "[v");
}

static void search_mapping(struct search *s, const struct proc_mapping *m)
{
	uint64_t stack;

	if (!is_root(m))
		return;
	stack = search_stacks(s, m);
	search_tls(s, m);
	/* a mapping with a stack may have more above, behind a block */
	if (!stack && !has_name(m, "[heap]"))
		search_static(s, m, m->start);
	else if (stack && heap_index_after(&s->ix, stack) < s->ix.nr &&
		 heap_index_begin(&s->ix, heap_index_after(&s->ix, stack)) < m->end)
		search_static(s, m, heap_index_begin(&s->ix, heap_index_after(&s->ix, stack)));
}

static int search_roots(struct search *s, const char *maps, const char *end)
{
	struct proc_mapping m;

	for (size_t k = 0; k < s->nr_threads; k++)
		look_at_all(s, s->thread[k].word, s->thread[k].nr_words * sizeof(uint64_t));
	while (!s->error && proc_maps_next(&maps, end, &m))
		search_mapping(s, &m);
	return s->error;
}

/* --- */

static int list_blocks(struct search *s, const struct wire_heap *memory)
{
	struct wire_heap_block *block;
	size_t nr;
	int rc = wire_heap_blocks(memory, 0, &block, &nr);

	if (rc) {
		mem_free(block);
		return rc;
	}
	s->nr_listed = nr;
	rc = heap_index_make(&s->ix, block, nr, s->until_ns);
	s->waiting = mem_calloc(s->ix.nr + 1, sizeof(*s->waiting));
	s->window = mem_calloc(1, larger(WINDOW_BYTES, (uint64_t)AT_ONCE * HEAP_LINKS_SMALL));
	return rc ?: s->waiting && s->window ? 0 : -ENOMEM;
}

static int pass_on(const struct search *s, const struct heap_reach *what)
{
	const size_t nr = wire_heap_nr_stacks(what->memory);
	struct wire_heap_amount *a = mem_calloc(nr + 1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	for (size_t i = 0; i < s->ix.nr; i++) {
		if (s->links.item[s->links.at[i]] & HEAP_LINKS_IS_REACHED ||
		    s->ix.block[i].stack >= nr)
			continue;
		a[s->ix.block[i].stack].samples++;
		sum_add(&a[s->ix.block[i].stack].bytes, heap_size(s->ix.block[i].size));
	}
	what->keep(what->arg, a, nr);
	return 0;
}

static int search_stopped(struct search *s, const struct root *root, const struct wire_heap *memory)
{
	BUF_AUTO(maps, MAX_MAPS);
	const struct proc *p = PROC(root, s->pid);
	int rc;

	rc = list_blocks(s, memory) ?: proc_load(p, "maps", &maps) ?: buf_error(&maps);
	if (rc)
		return rc;
	s->pagemap = proc_open(p, "pagemap");
	rc = heap_links_read(&s->links, &s->ix, s->pid, s->until_ns)
		 ?: search_roots(s, buf_str(&maps), buf_str(&maps) + maps.len);
	if (rc == 0)
		search_reached(s);
	io_close(&s->pagemap);
	return rc ? rc : s->error;
}

static int search(const struct heap_reach *what)
{
	struct search s = {.pid = what->pid,
			   .pagemap = -1,
			   .page = (uint64_t)sysconf(_SC_PAGESIZE),
			   .until_ns = clock_monotonic_ns() + what->limit_ns};
	int rc = heap_stop(what->root, what->pid, &s.thread, &s.nr_threads);

	if (rc)
		return rc;
	rc = search_stopped(&s, what->root, what->memory) ?: pass_on(&s, what);
	*what->searched = (struct heap_searched){s.nr_listed, s.nr_reached - s.nr_waiting};
	heap_stop_release(s.thread, s.nr_threads);
	heap_index_fini(&s.ix);
	heap_links_fini(&s.links);
	mem_free(s.waiting);
	mem_free(s.window);
	return rc;
}

struct request {
	const struct heap_reach *what;
	int rc;
};

static void *run(void *arg)
{
	struct request *r = arg;

	r->rc = search(r->what);
	return NULL;
}

/* In a thread of its own: when that ends, the kernel lets go whatever it still traces. */
int heap_reach(const struct heap_reach *what)
{
	struct request r = {.what = what};
	pthread_t thread;
	int rc = thread_start_blocked(&thread, run, &r);

	if (rc)
		return rc;
	pthread_join(thread, NULL);
	return r.rc;
}
