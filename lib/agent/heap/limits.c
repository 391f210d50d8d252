/*
 * The recorder's memory, as far as the program's limit of its address space (RLIMIT_AS) leaves room
 * for it: 1.3 GB of addresses without a limit, of which few are used; else an eighth of the limit.
 * Then there are holes behind the first nodes and the first stacks, and the arena ends early.
 * mlockall makes all of it resident: before it, the memory is made as small, too. Programs of 32
 * bits have as little as with a limit of NARROW: their addresses are few.
 *
 * What is mapped already is unmapped when the program sets such a limit.
 */
#include "agent/heap/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	OF_ADDRESSES = 9,   /* RLIMIT_AS */
	OF_LOCKED = 8,      /* RLIMIT_MEMLOCK */
	OF_FILES = 7,       /* RLIMIT_NOFILE */
	LOCKED = 256 << 20, /* where all memory is locked: as if this were the limit */
	SHARE = 8,          /* the agent takes one of so many bytes */
	WORD = sizeof(void *),
	NOT_OVER = 0x100000, /* MAP_FIXED_NOREPLACE; before Linux 4.17 the address is only a hint */
	NR_TRIES = 8,
	NR_PARTS = 3,
};

static const uint64_t NARROW = UINT64_C(2) << 30;

struct part {
	uint64_t begin, end;
};

static uint64_t page_bytes(void)
{
	return getauxval(AT_PAGESZ);
}

static uint64_t down(uint64_t at)
{
	return at & ~(page_bytes() - 1);
}

static uint64_t up(uint64_t at)
{
	return down(at + page_bytes() - 1);
}

static uint64_t not_less(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The parts of the memory that stay mapped; two holes lie between. */
static void find_parts(const struct heap_header *h, uint64_t end, struct part out[NR_PARTS])
{
	const uint64_t nodes = h->nodes + h->max_nodes * sizeof(struct heap_node);
	const uint64_t stacks = h->stacks + h->max_stacks * sizeof(struct heap_stack);

	out[0] = (struct part){0, up(nodes)};
	out[1] = (struct part){not_less(down(h->stacks), out[0].end), up(stacks)};
	out[2] = (struct part){not_less(down(h->shards), out[1].end), up(end)};
}

/* How much of each there is room for within so many bytes. */
static void limit_to(struct heap_header *h, uint64_t share, uint64_t *arena_bytes)
{
	const uint64_t nodes = share / 16 / sizeof(struct heap_node);
	const uint64_t stacks = share / 8 / sizeof(struct heap_stack);
	const uint64_t arena = share / 8 * (h->wants & HEAP_WANTS_LIVES ? 3 : 4);

	if (nodes < h->max_nodes)
		h->max_nodes = (uint32_t)nodes;
	if (stacks < h->max_stacks)
		h->max_stacks = (uint32_t)stacks;
	if (arena < *arena_bytes)
		*arena_bytes = arena & ~(uint64_t)(HEAP_BUCKET_BYTES - 1);
}

/* Whether the agent's bytes are too large a share of the limit. */
static bool is_short(uint64_t limit, uint64_t bytes)
{
	return limit / SHARE < bytes + bytes / 2;
}

/* --- in a process that is limited already */

static bool map_at(char *base, const struct part *part, int fd)
{
	const size_t bytes = part->end - part->begin;
	char *wanted = base + part->begin, *at;

	if (part->end <= part->begin)
		return true;
	at = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | NOT_OVER, fd,
		  (off_t)part->begin);
	if (at != MAP_FAILED && at != wanted)
		(void)munmap(at, bytes);
	return at == wanted;
}

static void unmap_parts(char *base, const struct part *part, int nr)
{
	for (int i = 0; i < nr; i++)
		if (part[i].end > part[i].begin)
			(void)munmap(base + part[i].begin, part[i].end - part[i].begin);
}

/* Below all that is mapped so far there is much room. */
static char *map_parts(const struct part part[NR_PARTS], uint64_t bytes, int fd)
{
	char *base = mmap(NULL, page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int nr;

	if (base == MAP_FAILED)
		return NULL;
	(void)munmap(base, page_bytes());
	for (int i = 0; i < NR_TRIES && (uintptr_t)base > up(bytes); i++) {
		base -= up(bytes);
		for (nr = 0; nr < NR_PARTS && map_at(base, &part[nr], fd); nr++)
			;
		if (nr == NR_PARTS)
			return base;
		unmap_parts(base, part, nr);
	}
	return NULL;
}

static struct heap_header *map_limited(struct heap_header *head, uint64_t limit, int fd)
{
	uint64_t arena_bytes = head->bytes - head->arena;
	struct part parts[NR_PARTS];
	struct heap_header *h;

	limit_to(head, limit / SHARE, &arena_bytes);
	find_parts(head, head->arena + arena_bytes, parts);
	h = (struct heap_header *)map_parts(parts, parts[NR_PARTS - 1].end, fd);
	if (!h)
		return NULL;
	h->max_nodes = head->max_nodes;
	h->max_stacks = head->max_stacks;
	h->mapped = head->arena + arena_bytes;
	return h;
}

static struct heap_header *map_all(const struct heap_header *head, int fd)
{
	struct heap_header *h = MAP_FAILED;
	uint64_t bytes;

	for (bytes = head->bytes; h == MAP_FAILED && bytes > head->arena;) {
		h = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (h == MAP_FAILED)
			bytes = head->arena + (bytes - head->arena) / 2;
	}
	if (h == MAP_FAILED)
		return NULL;
	h->mapped = bytes;
	return h;
}

static uint64_t own_limit(int of)
{
	uint64_t limit[2] = {UINT64_MAX, UINT64_MAX};

	(void)syscall(SYS_prlimit64, 0, of, NULL, limit);
	return limit[0];
}

/* Else a core dump of the program would contain all of the memory, also what was never used. */
static struct heap_header *out_of_dumps(struct heap_header *h)
{
	if (h)
		(void)madvise(h, h->mapped,
			      16 /* MADV_DONTDUMP; fails for the holes, after all else is done */);
	return h;
}

struct heap_header *agent_map(int fd, bool *is_limited)
{
	const uint64_t limit = own_limit(OF_ADDRESSES);
	const uint64_t most = WORD == 4 && limit > NARROW ? NARROW : limit;
	struct heap_header head, *h;
	struct stat st;

	if (fstat(fd, &st) || !(fcntl(fd, 1034 /* F_GET_SEALS */) & 2 /* F_SEAL_SHRINK */) ||
	    pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    head.magic != HEAP_MAGIC || head.version != HEAP_VERSION ||
	    head.bytes != (uint64_t)st.st_size || head.arena > head.bytes)
		return NULL;
	h = out_of_dumps(is_short(most, head.bytes) ? map_limited(&head, most, fd)
						    : map_all(&head, fd));
	*is_limited = h && h->mapped < h->bytes && most == limit;
	return h;
}

uint64_t agent_unmap_sums(struct heap_header *h)
{
	struct part parts[NR_PARTS];

	find_parts(h, h->mapped, parts);
	parts[0].begin = up(h->nodes);
	unmap_parts((char *)h, parts, NR_PARTS);
	return parts[0].begin;
}

/* --- a process that limits itself */

/* Unmaps what is not needed, before the limit holds. */
static void shrink(uint64_t limit)
{
	struct heap_header *h = agent.shared, lesser = *h;
	struct part before[NR_PARTS], after[NR_PARTS];
	uint64_t arena_bytes = h->mapped - h->arena;

	find_parts(h, h->mapped, before);
	limit_to(&lesser, limit / SHARE, &arena_bytes);
	agent_tree_limit(lesser.max_nodes, lesser.max_stacks);
	agent_blocks_limit(arena_bytes);
	find_parts(h, h->mapped, after);
	for (int i = 0; i < NR_PARTS; i++) {
		uint64_t until = before[i].end;

		/* a page may be of two parts */
		if (i + 1 < NR_PARTS && after[i + 1].begin < until)
			until = after[i + 1].begin;
		if (after[i].end < until)
			(void)munmap((char *)h + after[i].end, until - after[i].end);
	}
	(void)agent_missed(HEAP_MISS_LIMIT, "");
}

/* Not in a child by vfork. */
static bool is_ours(void)
{
	return agent_may(AGENT_MAY_ASK_PID) && getpid() == agent.pid;
}

static void keep_within(uint64_t limit)
{
	struct agent_local *t = &agent_local;

	t->is_busy = 1;
	if (agent_alive() && is_ours() && is_short(limit, agent.shared->bytes) && agent_attach(t))
		shrink(limit);
	agent_leave(t);
}

static bool is_limiting(int pid, int of, const void *limit, size_t bytes)
{
	if (of == OF_ADDRESSES || of == OF_FILES)
		agent_attach_now();
	return of == OF_ADDRESSES && limit && !agent_local.is_busy && agent_may(AGENT_MAY_UNMAP) &&
	       (!pid || pid == agent.pid) && agent_is_readable(limit, bytes);
}

void agent_limiting(int pid, int of, const void *limit)
{
	const int error = errno;

	if (is_limiting(pid, of, limit, 2 * sizeof(uint64_t)))
		keep_within(*(const uint64_t *)limit);
	errno = error;
}

void agent_limiting_32(int pid, int of, const void *limit)
{
	const int error = errno;

	if (is_limiting(pid, of, limit, 2 * sizeof(uint32_t)) &&
	    *(const uint32_t *)limit != UINT32_MAX) /* no limit */
		keep_within(*(const uint32_t *)limit);
	errno = error;
}

void agent_locking(void)
{
	const int error = errno;
	uint64_t most = LOCKED;

	agent_attach_now();
	if (agent_local.is_busy || !agent_may(AGENT_MAY_UNMAP | AGENT_MAY_CONNECT))
		return;
	if (geteuid() != 0 && own_limit(OF_LOCKED) < most)
		most = own_limit(OF_LOCKED);
	keep_within(most);
	errno = error;
}
