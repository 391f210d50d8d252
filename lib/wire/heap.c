#include "wire/heap.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/sum.h"
#include "wire/heap_memory.h"
#include "wire/loadable.h"
#include "wire/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define READ(word)         __atomic_load_n(&(word), __ATOMIC_RELAXED)
#define READ_ACQUIRE(word) __atomic_load_n(&(word), __ATOMIC_ACQUIRE)

enum { MAX_EPOCHS = 1 << 16 };

/* Where the parts are. The header says it to the program; we do not read it there. */
#define PAGES(bytes) (((uint64_t)(bytes) + 4095) & ~UINT64_C(4095))
static const uint64_t THREADS = 4096,
		      CLASSES = THREADS + PAGES(HEAP_MAX_THREADS * sizeof(struct heap_thread)),
		      NODES = CLASSES + PAGES((HEAP_MAX_THREADS + 1) * sizeof(struct heap_class) *
					      HEAP_NR_CLASSES),
		      STACKS = NODES + PAGES(HEAP_MAX_NODES * sizeof(struct heap_node)),
		      SHARDS = STACKS + PAGES(HEAP_MAX_STACKS * sizeof(struct heap_stack)),
		      ARENA = SHARDS + PAGES(HEAP_NR_SHARDS * sizeof(struct heap_shard)),
		      BYTES = ARENA + (UINT64_C(1) << 30);

_Static_assert(sizeof(struct heap_header) <= 4096, "header");
_Static_assert(sizeof(struct heap_thread) == 64 && sizeof(struct heap_node) == 16 &&
		   sizeof(struct heap_stack) == 192 && sizeof(struct heap_block) == 12 &&
		   sizeof(struct heap_shard) == 32,
	       "the layout is that of the agent");
_Static_assert((int)WIRE_HEAP_NR_LIVES == (int)HEAP_NR_LIVES, "lifetimes");
_Static_assert((int)WIRE_HEAP_NR_CLASSES == (int)HEAP_NR_CLASSES, "classes");
_Static_assert((int)WIRE_HEAP_NR_MISSED == (int)HEAP_NR_MISSED &&
		   (int)WIRE_HEAP_MISSED_BYTES == (int)HEAP_MISSED_BYTES,
	       "what is missed");
_Static_assert((int)WIRE_HEAP_MAX_FRAMES == (int)HEAP_MAX_FRAMES, "frames");

struct epoch {
	uint32_t node;
	uint64_t begin_ns;
};

struct wire_heap {
	struct heap_header *header; /* mapped, like all below */
	const struct heap_thread *threads;
	const struct heap_node *nodes;
	const struct heap_stack *stacks;
	const struct heap_shard *shards;
	struct epoch *epochs; /* owned; by their numbers of nodes */
	size_t nr_epochs, epoch_room;
	uint64_t rate;        /* of the configuration */
	uint32_t readings;    /* as of the header */
	uint64_t interval_ns; /* of real time */
	bool has_types;       /* beside blocks */
	uint32_t nr_scanned;  /* nodes that were looked at for epochs, but for the first */
};

static void fill_header(struct heap_header *h, const struct wire_heap_config *config)
{
	*h = (struct heap_header){.magic = HEAP_MAGIC,
				  .version = HEAP_VERSION,
				  .bytes = BYTES,
				  .rate = config->rate,
				  .level = config->wants & HEAP_WANTS_ADAPTIVE ? HEAP_EXACT : 0,
				  .wants = config->wants,
				  .max_nodes = HEAP_MAX_NODES,
				  .max_stacks = HEAP_MAX_STACKS,
				  .max_threads = HEAP_MAX_THREADS,
				  .nr_filters = loadable_nr_filters(),
				  .threads = THREADS,
				  .classes = CLASSES,
				  .nodes = NODES,
				  .stacks = STACKS,
				  .shards = SHARDS,
				  .arena = ARENA,
				  .interval_ns = {config->interval_ns[0], config->interval_ns[1]}};
}

int wire_heap_new(const struct wire_heap_config *config, struct wire_heap **out, int *fd)
{
	struct wire_heap *h = mem_zalloc(sizeof(*h));
	char *base = MAP_FAILED;
	int file = -1, rc = h ? wire_make_file("cpuperf-heap", BYTES, &file) : -ENOMEM;

	if (rc == 0)
		base = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (rc == 0 && base == MAP_FAILED) {
		rc = -errno;
		close(file);
	}
	if (rc) {
		mem_free(h);
		return rc;
	}
	h->header = (struct heap_header *)base;
	h->threads = (struct heap_thread *)(base + THREADS);
	h->nodes = (struct heap_node *)(base + NODES);
	h->stacks = (struct heap_stack *)(base + STACKS);
	h->shards = (struct heap_shard *)(base + SHARDS);
	h->rate = config->rate;
	h->interval_ns = config->interval_ns[1] ? config->interval_ns[1] : UINT64_MAX;
	h->has_types = config->wants & HEAP_WANTS_EXCEPTIONS;
	fill_header(h->header, config);
	*out = h;
	*fd = file;
	return 0;
}

void wire_heap_free(struct wire_heap *h)
{
	if (!h)
		return;
	__atomic_store_n(&h->header->is_closed, 1, __ATOMIC_RELEASE);
	munmap(h->header, BYTES);
	mem_free(h->epochs);
	mem_free(h);
}

void wire_heap_end(struct wire_heap *h)
{
	/* without it, the memory is returned with the rest */
	if (!h->has_types)
		(void)madvise((char *)h->header + SHARDS, BYTES - SHARDS, MADV_REMOVE);
}

static void count_reading(struct wire_heap *h)
{
	h->readings++;
	__atomic_store_n(&h->header->readings, h->readings, __ATOMIC_SEQ_CST);
}

void wire_heap_begin_reading(struct wire_heap *h)
{
	count_reading(h);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void wire_heap_end_reading(struct wire_heap *h)
{
	count_reading(h);
}

/* What its stacks had then. */
static uint64_t peak_of_stacks(const struct wire_heap *h)
{
	const uint32_t nr = READ(h->header->peak) ? wire_heap_nr_stacks(h) : 0;
	struct wire_heap_stack s;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < nr; i++) {
		wire_heap_stack(h, i, &s);
		if (s.resource == HEAP_RESOURCE_NONE)
			sum_add(&sum, s.amount[WIRE_HEAP_PEAK].bytes);
	}
	return sum;
}

/* Never more than what was asked for, whatever the program writes. */
static uint64_t rate_of(const struct wire_heap *h, uint32_t level)
{
	const uint64_t rate = heap_level_rate(level, h->rate);

	return rate < h->rate ? rate : h->rate;
}

void wire_heap_sums(const struct wire_heap *h, struct wire_heap_sums *out)
{
	const struct heap_header *m = h->header;

	*out = (struct wire_heap_sums){.live = READ(m->live),
				       .peak = peak_of_stacks(h),
				       .peak_ns = READ(m->peak_ns),
				       .counted_peak = READ(m->peak),
				       .is_bypassed = READ(m->is_bypassed) != 0,
				       .is_counted = READ(m->is_counted) != 0,
				       .rate = rate_of(h, READ_ACQUIRE(m->level)),
				       .exact_samples = READ(m->exact_samples),
				       .exact_ns = READ(m->exact_ns),
				       .no_node = READ(m->no_node),
				       .no_block = READ(m->no_block),
				       .nested = READ(m->nested),
				       .unknown = READ(m->unknown),
				       .cut = READ(m->cut),
				       .deep = READ(m->deep),
				       .invalid = READ(m->invalid)};
	for (size_t i = 0; i < HEAP_MAX_THREADS; i++) {
		const struct heap_thread *t = &h->threads[i];
		uint64_t max_bytes = READ(t->max_bytes);

		sum_add(&out->calls, READ(t->calls));
		sum_add(&out->bytes, READ(t->bytes));
		sum_add(&out->frees, READ(t->frees));
		out->max_bytes = max_bytes > out->max_bytes ? max_bytes : out->max_bytes;
	}
}

bool wire_heap_missed(const struct wire_heap *h, size_t i, struct wire_heap_missed *out)
{
	const struct heap_missed *m = &h->header->missed[i];

	*out = (struct wire_heap_missed){.why = READ_ACQUIRE(m->why), .nr = READ(m->nr)};
	if (READ_ACQUIRE(m->state) != 2 || !out->why || out->why >= HEAP_NR_MISSES)
		return false;
	for (size_t k = 0; k + 1 < sizeof(out->name); k++) {
		char c = READ(m->name[k]);

		if (!c)
			break;
		out->name[k] = (char)(c > ' ' && c < 127 ? c : '?');
	}
	return true;
}

static uint64_t since(uint64_t begin_ns, uint64_t now_ns)
{
	return begin_ns && begin_ns < now_ns ? now_ns - begin_ns : 0;
}

void wire_heap_times(const struct wire_heap *h, uint64_t cpu_ns, uint64_t now_ns,
		     struct wire_heap_times *out)
{
	const struct heap_header *m = h->header;
	const uint32_t nr = READ_ACQUIRE(m->nr_threads);
	const uint64_t end_ns = now_ns ? now_ns : READ(m->seen_ns);
	const uint64_t seen_ns = READ(m->cpu_ns), ran_ns = since(READ(m->cpu_base_ns), cpu_ns);

	*out = (struct wire_heap_times){ran_ns > seen_ns ? ran_ns : seen_ns, READ(m->real_ns)};
	for (uint32_t i = 0; i < nr && i < HEAP_MAX_THREADS; i++)
		sum_add(&out->real_ns, since(READ(h->threads[i].since_ns), end_ns));
}

bool wire_heap_wait(const struct wire_heap *h, uint32_t *i, uint64_t now_ns,
		    struct wire_heap_wait *out)
{
	const uint32_t nr = READ_ACQUIRE(h->header->nr_threads);
	const uint64_t end_ns = now_ns ? now_ns : READ(h->header->seen_ns);

	for (; *i < nr && *i < HEAP_MAX_THREADS; ++*i) {
		const struct heap_thread *t = &h->threads[*i];
		uint32_t waits = READ_ACQUIRE(t->waits);

		*out = (struct wire_heap_wait){waits - 1, since(READ(t->wait_since_ns), end_ns)};
		if (waits && READ(t->since_ns) && out->ns >= h->interval_ns) {
			++*i;
			return true;
		}
	}
	return false;
}

static void add_classes(const struct wire_heap *h, size_t row, struct wire_heap_class *out)
{
	const struct heap_class *from =
	    (const struct heap_class *)((const char *)h->header + CLASSES) + row * HEAP_NR_CLASSES;

	for (size_t i = 0; i < HEAP_NR_CLASSES; i++) {
		sum_add(&out[i].freed_calls, READ(from[i].freed_calls));
		sum_add(&out[i].freed_bytes, READ(from[i].freed_bytes));
		sum_add(&out[i].freed_squares, READ(from[i].freed_squares));
		sum_add(&out[i].calls, READ(from[i].calls));
		sum_add(&out[i].bytes, READ(from[i].bytes));
		sum_add(&out[i].squares, READ(from[i].squares));
	}
}

void wire_heap_classes(const struct wire_heap *h, struct wire_heap_class out[WIRE_HEAP_NR_CLASSES])
{
	uint32_t nr = READ_ACQUIRE(h->header->nr_threads);

	memset(out, 0, WIRE_HEAP_NR_CLASSES * sizeof(*out));
	for (uint32_t i = 0; i < nr && i < HEAP_MAX_THREADS; i++)
		add_classes(h, i, out);
	add_classes(h, HEAP_MAX_THREADS, out);
}

uint32_t wire_heap_nr_stacks(const struct wire_heap *h)
{
	uint32_t nr = READ_ACQUIRE(h->header->nr_stacks);

	return nr < HEAP_MAX_STACKS ? nr : HEAP_MAX_STACKS;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Some of all, which is not more. */
static struct wire_heap_amount part_of(const struct wire_heap_amount *all, uint64_t samples,
				       uint64_t bytes)
{
	samples = least(samples, all->samples);
	return (struct wire_heap_amount){samples, samples ? least(bytes, all->bytes) : 0};
}

static uint32_t resource_of(const struct wire_heap *h, uint32_t node)
{
	const struct heap_node *n = node < HEAP_MAX_NODES ? &h->nodes[node] : h->nodes;
	uint64_t pc = READ(n->pc);

	return pc < HEAP_NR_RESOURCES && READ(n->parent) != HEAP_ROOT ? (uint32_t)pc
								      : HEAP_RESOURCE_NONE;
}

/* NULL: there are none. */
static const struct heap_life *lives_of(const struct wire_heap *h, uint64_t at)
{
	const bool is_there = at >= ARENA && at % sizeof(uint64_t) == 0 &&
			      at <= BYTES - HEAP_NR_LIVES * sizeof(struct heap_life);

	return is_there ? (const struct heap_life *)((const char *)h->header + at) : NULL;
}

/* Together at most what was freed. */
static void read_lives(const struct heap_life *lives, const struct wire_heap_amount *freed,
		       struct wire_heap_amount out[HEAP_NR_LIVES])
{
	struct wire_heap_amount left = *freed;

	for (size_t i = 0; i < HEAP_NR_LIVES; i++) {
		out[i] = lives ? part_of(&left, READ(lives[i].samples), READ(lives[i].bytes))
			       : (struct wire_heap_amount){0, 0};
		left.samples -= out[i].samples;
		left.bytes -= out[i].bytes;
	}
}

void wire_heap_stack(const struct wire_heap *h, uint32_t i, struct wire_heap_stack *out)
{
	const struct heap_stack *s = &h->stacks[i];
	const uint64_t moment = READ(h->header->moment);
	struct wire_heap_amount *a = out->amount;
	struct wire_heap_amount *all = &a[WIRE_HEAP_ALLOCATED];

	/* what was freed before what was allocated: a program that runs adds to both */
	uint64_t freed = READ(s->freed_samples), freed_bytes = READ(s->freed_bytes);
	uint64_t temporary = READ(s->temporary_samples), brief_bytes = READ(s->temporary_bytes);
	uint64_t untouched = READ(s->untouched_samples), untouched_bytes = READ(s->untouched);
	const struct heap_life *lives = lives_of(h, READ(s->lives));

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	out->node = READ(s->node);
	out->resource = resource_of(h, out->node);
	out->rate = rate_of(h, READ(s->parts) >> HEAP_LEVEL_SHIFT);
	out->max_bytes = READ(s->max_bytes);
	all->samples = READ(s->samples);
	all->bytes = all->samples ? READ(s->bytes) : 0;
	a[WIRE_HEAP_FREED] = part_of(all, freed, freed_bytes);
	a[WIRE_HEAP_TEMPORARY] = part_of(&a[WIRE_HEAP_FREED], temporary, brief_bytes);
	a[WIRE_HEAP_OVERHEAD] =
	    (struct wire_heap_amount){all->samples, all->samples ? READ(s->overhead) : 0};
	a[WIRE_HEAP_UNTOUCHED] = part_of(&a[WIRE_HEAP_FREED], untouched, untouched_bytes);
	a[WIRE_HEAP_RESIDENT] = a[WIRE_HEAP_UNREACHABLE] = (struct wire_heap_amount){0, 0};
	read_lives(lives, &a[WIRE_HEAP_FREED], &a[WIRE_HEAP_LIFE]);
	a[WIRE_HEAP_LIVE] = part_of(all, all->samples - a[WIRE_HEAP_FREED].samples,
				    all->bytes - a[WIRE_HEAP_FREED].bytes);
	a[WIRE_HEAP_PEAK] = READ(s->moment) == moment
				? part_of(all, READ(s->peak_samples), READ(s->peak_bytes))
				: a[WIRE_HEAP_LIVE];
	a[WIRE_HEAP_OWN_PEAK] = part_of(all, READ(s->own_peak_samples), READ(s->own_peak_bytes));
}

/* --- blocks */

enum { MAX_BLOCKS = (1 << 30) / sizeof(struct heap_block) }; /* as many as the arena has room for */

struct blocks {
	const struct wire_heap *heap;
	uint64_t min_bytes;
	struct wire_heap_block *block; /* owned by the caller */
	size_t nr, room;
};

static int add_block(struct blocks *to, uint32_t shard, const struct heap_block *from)
{
	uint32_t word = READ(from->stack), stack = word & ((1u << HEAP_STACK_BITS) - 1);
	uint32_t size = READ(from->size), key = READ(from->key);
	struct wire_heap_block *block;

	if (!stack || stack > HEAP_MAX_STACKS || heap_size(size) < to->min_bytes ||
	    heap_is_fd(heap_address(shard, key)))
		return 0;
	block = to->nr < MAX_BLOCKS ? MEM_ADD(to->block, to->nr, to->room) : NULL;
	if (!block)
		return -ENOMEM;
	*block = (struct wire_heap_block){.address = heap_address(shard, key),
					  .stack = stack - 1,
					  .is_filled = (word & HEAP_FILLED) != 0,
					  .size = size};
	return 0;
}

static int add_bucket(struct blocks *to, uint32_t shard, uint32_t number)
{
	const char *base = (const char *)to->heap->header;
	const struct heap_bucket *b;
	int rc = 0;

	if (!number || number > (BYTES - ARENA) / sizeof(*b))
		return 0;
	b = (const struct heap_bucket *)(base + ARENA) + (number - 1);
	for (uint32_t i = 0; i < HEAP_BUCKET_BLOCKS && rc == 0; i++)
		rc = add_block(to, shard, &b->block[i]);
	return rc;
}

/* A bucket of several entries has them in a row. */
static int add_shard(struct blocks *to, uint32_t shard)
{
	const struct heap_shard *s = &to->heap->shards[shard];
	const uint32_t depth = READ(s->depth), *directory;
	const uint64_t at = READ(s->directory);
	uint32_t before = 0;
	int rc = 0;

	if (!depth)
		return add_bucket(to, shard, READ(s->bucket));
	if (depth > HEAP_MAX_DEPTH || at % sizeof(*directory) || at < ARENA || at > BYTES ||
	    BYTES - at < sizeof(*directory) << depth)
		return 0;
	directory = (const uint32_t *)((const char *)to->heap->header + at);
	for (uint32_t i = 0; i < 1u << depth && rc == 0; i++) {
		uint32_t number = READ(directory[i]);

		if (number != before)
			rc = add_bucket(to, shard, number);
		before = number;
	}
	return rc;
}

enum { MAX_TRIES = 4 };

int wire_heap_blocks(const struct wire_heap *h, uint64_t min_bytes, struct wire_heap_block **out,
		     size_t *nr)
{
	struct blocks to = {.heap = h, .min_bytes = min_bytes};
	int rc = 0;

	for (uint32_t i = 0; i < HEAP_NR_SHARDS && rc == 0; i++) {
		const struct heap_shard *s = &h->shards[i];
		const size_t before = to.nr;
		uint32_t changes;

		for (int try = 0; try < MAX_TRIES && rc == 0; try++) {
			changes = READ_ACQUIRE(s->changes);
			to.nr = before;
			rc = add_shard(&to, i);
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			if (!(changes & 1) && READ(s->changes) == changes)
				break;
		}
	}
	*out = to.block;
	*nr = to.nr;
	return rc;
}

/* Epochs are few, and their nodes are never changed. */
static void scan_epochs(struct wire_heap *h)
{
	uint32_t nr = READ_ACQUIRE(h->header->nr_nodes);

	nr = nr < HEAP_MAX_NODES ? nr : HEAP_MAX_NODES;
	for (; h->nr_scanned + 1 < nr && h->nr_epochs < MAX_EPOCHS; h->nr_scanned++) {
		const struct heap_node *n = &h->nodes[h->nr_scanned + 1];
		uint32_t parent = READ_ACQUIRE(n->parent);
		uint64_t pc = READ(n->pc);
		struct epoch *e;

		if (!parent && !pc) /* not written yet */
			return;
		if (parent != HEAP_ROOT)
			continue;
		e = MEM_ADD(h->epochs, h->nr_epochs, h->epoch_room);
		if (!e)
			return;
		*e = (struct epoch){h->nr_scanned + 1, pc};
	}
}

static void find_epoch(struct wire_heap *h, uint32_t node, uint64_t begin_ns,
		       struct wire_heap_epoch *out)
{
	size_t i = 0;

	scan_epochs(h);
	while (i < h->nr_epochs && h->epochs[i].node <= node)
		i++;
	*out = (struct wire_heap_epoch){.begin_ns = begin_ns};
	if (i < h->nr_epochs && h->epochs[i].begin_ns > begin_ns) {
		out->end_ns = h->epochs[i].begin_ns;
		out->at_ns = out->end_ns - 1;
	} else {
		out->at_ns = READ(h->header->stacks_ns);
	}
	if (out->at_ns < begin_ns)
		out->at_ns = begin_ns;
}

/* The agent unwinds so many callers anew below as many that it knows. */
enum { MAX_DEPTH = 2 * HEAP_MAX_FRAMES };

int wire_heap_callers(struct wire_heap *h, uint32_t node, uint64_t pcs[WIRE_HEAP_MAX_FRAMES],
		      struct wire_heap_epoch *epoch)
{
	int nr = 0, left = MAX_DEPTH;

	if (!node)
		*epoch = (struct wire_heap_epoch){.at_ns = READ(h->header->stacks_ns)};
	while (node && node < HEAP_MAX_NODES) {
		uint32_t parent = READ_ACQUIRE(h->nodes[node].parent);
		uint64_t pc = READ(h->nodes[node].pc);

		if (parent == HEAP_ROOT) {
			find_epoch(h, node, pc, epoch);
			return nr;
		}
		if (parent >= node || !left--) /* a caller is older */
			break;
		if (nr < WIRE_HEAP_MAX_FRAMES) /* of a deeper one, the innermost */
			pcs[nr++] = pc;
		node = parent;
	}
	return node || nr ? -EINVAL : 0;
}

static bool is_of_name(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_' || c == '.' || c == '$';
}

bool wire_heap_type(const struct wire_heap *h, uint64_t pc, char name[WIRE_HEAP_TYPE_BYTES])
{
	const uint64_t number = pc & ~HEAP_TYPE;
	const char *from = (const char *)h->header + ARENA + number * HEAP_NAME_BYTES;
	size_t len = 0;

	if (!(pc & HEAP_TYPE) || number >= (BYTES - ARENA) / HEAP_NAME_BYTES)
		return false;
	for (; len + 1 < HEAP_NAME_BYTES; len++) {
		name[len] = READ(from[len]);
		if (!is_of_name(name[len]))
			break;
	}
	return len && len + 1 < HEAP_NAME_BYTES && !name[len];
}
