#include "wire/functions.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "base/sum.h"
#include "wire/functions_memory.h"
#include "wire/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define READ(word)         __atomic_load_n(&(word), __ATOMIC_RELAXED)
#define READ_ACQUIRE(word) __atomic_load_n(&(word), __ATOMIC_ACQUIRE)

/* Where the parts are. The header says it to the program; we do not read it there. */
#define PAGES(bytes) (((uint64_t)(bytes) + 4095) & ~UINT64_C(4095))
static const uint64_t OBJECTS = 4096,
		      PLACES = OBJECTS +
			       PAGES(FUNCTIONS_MEMORY_OBJECTS * sizeof(struct functions_object)),
		      ADDRESSES = PLACES + PAGES(FUNCTIONS_MEMORY_PLACES * sizeof(uint64_t)),
		      UNTIMED = ADDRESSES + PAGES(FUNCTIONS_MEMORY_MAX * sizeof(uint64_t)),
		      SLOTS = UNTIMED + PAGES(FUNCTIONS_MEMORY_MAX);
/* Of a slot. */
static const uint64_t ROWS = 4096,
		      OCTAVES = ROWS + PAGES(FUNCTIONS_MEMORY_MAX * sizeof(struct functions_row)),
		      CHUNKS =
			  OCTAVES + PAGES(FUNCTIONS_MEMORY_MAX * sizeof(struct functions_octaves)),
		      FRAMES =
			  CHUNKS + PAGES(FUNCTIONS_MEMORY_CHUNKS * sizeof(struct functions_chunk)),
		      SLOT_BYTES =
			  FRAMES + PAGES(FUNCTIONS_MEMORY_DEPTH * sizeof(struct functions_frame));

_Static_assert(sizeof(struct functions_header) <= 4096 && sizeof(struct functions_slot) <= 4096,
	       "heads");
_Static_assert(sizeof(struct functions_row) == 64 && sizeof(struct functions_octaves) == 160 &&
		   sizeof(struct functions_chunk) == 128 && sizeof(struct functions_frame) == 64 &&
		   sizeof(struct functions_object) == 512 &&
		   sizeof(struct functions_wanted_file) == 512,
	       "the layout is that of the agent");
_Static_assert(WIRE_FUNCTIONS_BUCKETS == FUNCTIONS_MEMORY_OCTAVES * FUNCTIONS_MEMORY_OCTAVE &&
		   (int)WIRE_FUNCTIONS_PATH == (int)FUNCTIONS_MEMORY_PATH &&
		   (int)WIRE_FUNCTIONS_MOVED == (int)FUNCTIONS_MEMORY_MOVED &&
		   sizeof(struct functions_wanted_place) == 64 &&
		   sizeof(struct functions_wanted_site) == 32,
	       "buckets and paths");

enum { MAX_LOOKS = 1 << 15, IS_EMPTY = 1, IS_WRITTEN = 2, STATE_BITS = 2 };

/* What is known of the memory's pages, in one reading. */
struct wire_functions_pages {
	uint32_t nr_looks;
	bool is_short;    /* there were more pages to look at than are looked at */
	uint64_t state[]; /* STATE_BITS of each page; 0: not looked at */
};

struct wire_functions {
	struct functions_header *header; /* mapped */
	uint64_t bytes, slot_bytes, factor;
	int file;
	struct wire_functions_pages *pages; /* borrowed; NULL: nothing is being read */
	bool has_times;
};

void wire_functions_configure(struct wire_functions_config *config, bool has_times)
{
	enum { SPAN_NS = 2000000 };
	struct wire_clocks from, to;

	*config = (struct wire_functions_config){.wants = has_times ? FUNCTIONS_MEMORY_TIMES : 0,
						 .factor = UINT64_C(1) << 32,
						 .wanted = -1};
	if (!has_times || !wire_counter(&root_live))
		return;
	wire_clocks_now(&from);
	do
		wire_clocks_now(&to);
	while (to.ns - from.ns < SPAN_NS);
	if (to.cycles <= from.cycles)
		return;
	config->wants |= FUNCTIONS_MEMORY_CYCLES;
	config->factor =
	    (uint64_t)(((unsigned __int128)(to.ns - from.ns) << 32) / (to.cycles - from.cycles));
}

static struct functions_wanted_site make_site(const struct wire_functions_site *from)
{
	struct functions_wanted_site to = {.offset = from->offset,
					   .len = from->len,
					   .moved_len = from->moved_len,
					   .depth = from->depth};

	memcpy(to.old, from->old, sizeof(to.old));
	return to;
}

static size_t nr_places(const struct wire_functions_file *files, size_t nr)
{
	size_t sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += files[i].nr;
	return sum;
}

static void write_place(struct functions_wanted *head, struct functions_wanted_place *place,
			struct functions_wanted_site *end, const struct wire_functions_place *from)
{
	place[head->nr_places++] = (struct functions_wanted_place){.offset = from->offset,
								   .size = from->size,
								   .begin = make_site(&from->begin),
								   .first_exit = head->nr_exits,
								   .nr_exits = from->nr_exits};
	for (size_t i = 0; i < from->nr_exits; i++)
		end[head->nr_exits++] = make_site(&from->exit[i]);
}

static void write_wanted(void *at, const struct wire_functions_file *files, size_t nr)
{
	struct functions_wanted *head = at;
	struct functions_wanted_file *file = (void *)(head + 1);
	struct functions_wanted_place *place = (void *)(file + nr);
	struct functions_wanted_site *end = (void *)(place + nr_places(files, nr));

	head->magic = FUNCTIONS_MEMORY_MAGIC;
	head->nr_files = (uint32_t)nr;
	for (size_t i = 0; i < nr; i++) {
		file[i] = (struct functions_wanted_file){.inode = files[i].inode,
							 .major = files[i].major,
							 .minor = files[i].minor,
							 .first = head->nr_places,
							 .nr = files[i].nr};
		if (strlen(files[i].path) < sizeof(file[i].path))
			memcpy(file[i].path, files[i].path, strlen(files[i].path));
		for (size_t j = 0; j < files[i].nr; j++)
			write_place(head, place, end, &files[i].place[j]);
	}
}

int wire_functions_want(const struct wire_functions_file *files, size_t nr, int *fd)
{
	uint64_t bytes =
	    sizeof(struct functions_wanted) + nr * sizeof(struct functions_wanted_file);
	int file = -1, rc;
	void *to;

	bytes += nr_places(files, nr) * sizeof(struct functions_wanted_place);
	for (size_t i = 0; i < nr; i++)
		for (size_t j = 0; j < files[i].nr; j++)
			bytes += files[i].place[j].nr_exits * sizeof(struct functions_wanted_site);
	rc = wire_make_file("cpuperf-wanted", bytes, &file);
	if (rc)
		return rc;
	to = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (to == MAP_FAILED) {
		rc = -errno;
		close(file);
		return rc;
	}
	write_wanted(to, files, nr);
	munmap(to, bytes);
	*fd = file;
	return 0;
}

static void fill_header(const struct wire_functions *f, const struct wire_functions_config *config)
{
	*f->header = (struct functions_header){.magic = FUNCTIONS_MEMORY_MAGIC,
					       .version = FUNCTIONS_MEMORY_VERSION,
					       .bytes = f->bytes,
					       .wants = config->wants,
					       .nr_slots = FUNCTIONS_MEMORY_SLOTS,
					       .factor = config->factor,
					       .objects = OBJECTS,
					       .places = PLACES,
					       .addresses = ADDRESSES,
					       .slots = SLOTS,
					       .slot_bytes = f->slot_bytes,
					       .rows = ROWS,
					       .octaves = OCTAVES,
					       .chunks = CHUNKS,
					       .frames = FRAMES,
					       .untimed = UNTIMED,
					       .recorder = config->recorder};
}

int wire_functions_new(const struct wire_functions_config *config, struct wire_functions **out,
		       int *fd)
{
	struct wire_functions *f = mem_zalloc(sizeof(*f));
	void *at = MAP_FAILED;
	int file = -1, rc = f ? 0 : -ENOMEM;

	if (rc == 0) {
		f->has_times = config->wants & FUNCTIONS_MEMORY_TIMES;
		f->factor = config->factor;
		f->slot_bytes = f->has_times ? SLOT_BYTES : OCTAVES;
		f->bytes = SLOTS + FUNCTIONS_MEMORY_SLOTS * f->slot_bytes;
		rc = wire_make_file(WIRE_FUNCTIONS_FILE, f->bytes, &file);
	}
	if (rc == 0)
		at = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (rc == 0 && at == MAP_FAILED) {
		rc = -errno;
		close(file);
	}
	if (rc) {
		mem_free(f);
		return rc;
	}
	f->header = at;
	f->file = fcntl(file, F_DUPFD_CLOEXEC, 0);
	if (f->file < 0) {
		rc = -errno;
		close(file);
		wire_functions_free(f);
		return rc;
	}
	fill_header(f, config);
	*out = f;
	*fd = file;
	return 0;
}

bool wire_functions_end(struct wire_functions *f)
{
	__atomic_store_n(&f->header->is_closed, 1, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&f->header->is_placing, __ATOMIC_SEQ_CST);
}

void wire_functions_free(struct wire_functions *f)
{
	if (!f)
		return;
	(void)wire_functions_end(f);
	munmap(f->header, f->bytes);
	io_close(&f->file);
	mem_free(f);
}

static const void *at(const struct wire_functions *f, uint64_t offset)
{
	return (const char *)f->header + offset;
}

static size_t pages_bytes(uint64_t bytes)
{
	return sizeof(struct wire_functions_pages) + (bytes / 4096 * STATE_BITS / 64 + 1) * 8;
}

struct wire_functions_pages *wire_functions_pages_new(void)
{
	return mem_zalloc(pages_bytes(SLOTS + FUNCTIONS_MEMORY_SLOTS * SLOT_BYTES));
}

void wire_functions_look(struct wire_functions *f, struct wire_functions_pages *pages)
{
	memset(pages, 0, pages_bytes(f->bytes));
	f->pages = pages;
}

bool wire_functions_rest(struct wire_functions *f)
{
	bool is_whole = !f->pages->is_short;

	f->pages = NULL;
	return is_whole;
}

/* A page that the program has not written reads as zeros here, and remains none. No lock is taken
 * that the program could hold, as SEEK_DATA would. */
static uint64_t look_at(const struct wire_functions *f, uint64_t page)
{
	uint64_t word[4096 / sizeof(uint64_t)], any = 0;

	if (f->pages->nr_looks == MAX_LOOKS) {
		f->pages->is_short = true;
		return IS_EMPTY;
	}
	f->pages->nr_looks++;
	if (pread(f->file, word, sizeof(word), (off_t)(page * sizeof(word))) != sizeof(word))
		return IS_EMPTY;
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		any |= word[i];
	return any ? IS_WRITTEN : IS_EMPTY;
}

/* Whether there may be something else than 0 there. To read any other page of a mapping would make
 * it: of a program that says it has used all, gigabytes. */
static bool is_written(const struct wire_functions *f, const void *where)
{
	const uint64_t page = (uint64_t)((const char *)where - (const char *)f->header) / 4096;
	const unsigned shift = page % (64 / STATE_BITS) * STATE_BITS;
	uint64_t *state = &f->pages->state[page / (64 / STATE_BITS)];

	if (!(*state >> shift & (IS_EMPTY | IS_WRITTEN)))
		*state |= look_at(f, page) << shift;
	return *state >> shift & IS_WRITTEN;
}

uint32_t wire_functions_nr(const struct wire_functions *f)
{
	uint32_t nr = READ_ACQUIRE(f->header->nr_functions);

	return nr < FUNCTIONS_MEMORY_MAX ? nr : FUNCTIONS_MEMORY_MAX;
}

/* Number 0 is a function of the agent. */
uint64_t wire_functions_address(const struct wire_functions *f, uint32_t number)
{
	const uint64_t *addresses = at(f, ADDRESSES);

	return number && number < FUNCTIONS_MEMORY_MAX && is_written(f, &addresses[number])
		   ? READ_ACQUIRE(addresses[number])
		   : 0;
}

void wire_functions_leave_out(struct wire_functions *f, uint32_t number, bool is_out)
{
	uint64_t *places = (void *)((char *)f->header + PLACES);
	uint8_t *untimed = (uint8_t *)f->header + UNTIMED;
	const uint64_t *addresses = at(f, ADDRESSES);
	const uint64_t address = number && number < FUNCTIONS_MEMORY_MAX
				     ? READ_ACQUIRE(addresses[number])
				     : 0,
		       key = address << FUNCTIONS_MEMORY_NUMBER_BITS,
		       word = key | (is_out ? (uint32_t)FUNCTIONS_MEMORY_OUT : number);
	uint32_t at = functions_memory_place(address);

	if (address) /* of another function nobody reads it */
		__atomic_store_n(&untimed[number], is_out, __ATOMIC_RELAXED);
	for (uint32_t i = 0; address && i < FUNCTIONS_MEMORY_PLACES; i++) {
		uint64_t found = READ(places[at]);

		if (!found)
			break;
		if (found >> FUNCTIONS_MEMORY_NUMBER_BITS == address) {
			__atomic_store_n(&places[at], word, __ATOMIC_RELAXED);
			break;
		}
		at = (at + 1) % FUNCTIONS_MEMORY_PLACES;
	}
}

static uint64_t to_ns(const struct wire_functions *f, uint64_t time)
{
	unsigned __int128 ns = (unsigned __int128)time * f->factor >> 32;

	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

static void add_buckets(const struct wire_functions *f, const void *slot, uint32_t number,
			uint64_t *bucket)
{
	const struct functions_octaves *octaves = (const void *)((const char *)slot + OCTAVES);
	const struct functions_chunk *chunks = (const void *)((const char *)slot + CHUNKS);

	for (unsigned i = 0; i < FUNCTIONS_MEMORY_OCTAVES; i++) {
		const uint32_t *word = &octaves[number].chunk[i];
		uint32_t chunk = is_written(f, word) ? READ_ACQUIRE(*word) : 0;

		if (!chunk || chunk > FUNCTIONS_MEMORY_CHUNKS || !is_written(f, &chunks[chunk - 1]))
			continue;
		for (unsigned j = 0; j < FUNCTIONS_MEMORY_OCTAVE; j++)
			sum_add(&bucket[i * FUNCTIONS_MEMORY_OCTAVE + j],
				READ(chunks[chunk - 1].bucket[j]));
	}
}

static uint64_t nr_ended(const uint64_t *bucket)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < WIRE_FUNCTIONS_BUCKETS; i++)
		sum_add(&nr, bucket[i]);
	return nr;
}

static uint32_t nr_slots(const struct wire_functions *f)
{
	uint32_t nr = READ(f->header->nr_mapped);

	return nr < FUNCTIONS_MEMORY_SLOTS ? nr : FUNCTIONS_MEMORY_SLOTS;
}

static bool is_used(const struct wire_functions *f, const struct functions_slot *slot)
{
	return is_written(f, slot) && READ(slot->owner);
}

/* The first one from there on that a thread has taken; else their number. They are taken in turn,
 * but for the last one, which all share; the others are not looked at. */
static uint32_t next_used(const struct wire_functions *f, uint32_t i)
{
	const uint32_t nr = nr_slots(f);
	const struct functions_slot *slot = at(f, SLOTS + i * f->slot_bytes);

	if (i >= nr || is_used(f, slot))
		return i;
	slot = at(f, SLOTS + (nr - 1) * f->slot_bytes);
	return i < nr - 1 && is_used(f, slot) ? nr - 1 : nr;
}

/* The agent has tried 16 calls. */
static uint64_t cost_of(const struct wire_functions *f, uint64_t ended, uint64_t inner)
{
	uint64_t cost[2] = {READ(f->header->inner), READ(f->header->outer)};
	unsigned __int128 time =
	    (unsigned __int128)cost[0] * ended / 16 + (unsigned __int128)cost[1] * inner / 16;

	return to_ns(f, time > UINT64_MAX ? UINT64_MAX : (uint64_t)time);
}

double wire_functions_price(const struct wire_functions *f)
{
	enum { MOST_NS = 100000 };
	const double ns = (double)to_ns(f, READ(f->header->outer)) / 16;

	return ns < MOST_NS ? ns : MOST_NS;
}

void wire_functions_add(const struct wire_functions *f, uint32_t number,
			struct wire_functions_sum *sum, uint64_t bucket[WIRE_FUNCTIONS_BUCKETS])
{
	uint64_t ended = bucket ? nr_ended(bucket) : 0, wall = 0, self = 0, inner = 0, wall_ns,
		 cost_ns;
	const uint32_t nr = nr_slots(f);

	for (uint32_t i = next_used(f, 0); number < FUNCTIONS_MEMORY_MAX && i < nr;
	     i = next_used(f, i + 1)) {
		const struct functions_slot *slot = at(f, SLOTS + i * f->slot_bytes);
		const struct functions_row *row =
		    (const struct functions_row *)(const void *)((const char *)slot + ROWS) +
		    number;
		uint64_t max_ns, calls;

		if (!is_written(f, row))
			continue;
		/* Before what begins it, the call that ended is read, and never the other way. */
		sum_add(&wall, READ(row->wall));
		sum_add(&self, READ(row->self));
		sum_add(&inner, READ(row->inner));
		max_ns = to_ns(f, READ(row->max));
		if (f->has_times && bucket)
			add_buckets(f, slot, number, bucket);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		calls = READ(row->calls);
		sum_add(&sum->calls, calls);
		sum->max_ns = max_ns > sum->max_ns ? max_ns : sum->max_ns;
	}
	wall_ns = to_ns(f, wall);
	sum_add(&sum->wall_ns, wall_ns);
	sum_add(&sum->self_ns, to_ns(f, self));
	if (!bucket)
		return;
	/* of calls that do next to nothing, the cost that was tried may be some more */
	cost_ns = cost_of(f, nr_ended(bucket) - ended, inner);
	sum_add(&sum->cost_ns, cost_ns < wall_ns ? cost_ns : wall_ns);
}

bool wire_functions_object(const struct wire_functions *f, uint64_t address,
			   struct wire_functions_object *out)
{
	const struct functions_object *objects = at(f, OBJECTS);
	uint32_t nr = READ(f->header->nr_objects);

	for (uint32_t i = 0; i < nr && i < FUNCTIONS_MEMORY_OBJECTS; i++) {
		const struct functions_object *o = &objects[i];
		struct wire_functions_object copy;

		if (!is_written(f, o))
			continue;
		copy = (struct wire_functions_object){.end = READ_ACQUIRE(o->end),
						      .start = READ(o->start),
						      .offset = READ(o->offset),
						      .inode = READ(o->inode),
						      .major = READ(o->major),
						      .minor = READ(o->minor)};
		if (address < copy.start || address >= copy.end)
			continue;
		memcpy(copy.path, o->path, sizeof(copy.path));
		copy.path[sizeof(copy.path) - 1] = '\0';
		str_disarm(copy.path);
		if (copy.path[0] != '/')
			return false;
		*out = copy;
		return true;
	}
	return false;
}

void wire_functions_limits(const struct wire_functions *f, struct wire_functions_limits *out)
{
	const struct functions_header *h = f->header;
	const uint32_t nr = nr_slots(f);

	*out = (struct wire_functions_limits){.missed = READ(h->missed),
					      .joined = READ(h->nr_joined),
					      .patched = READ(h->nr_patched),
					      .unpatched = READ(h->nr_unpatched),
					      .placed = READ(h->nr_placed),
					      .unplaced = READ(h->nr_unplaced),
					      .timed = READ(h->nr_timed),
					      .half = READ(h->nr_half)};
	out->unplaced_error = (int)(READ(h->unplaced_error) & 0xfff);
	for (uint32_t i = next_used(f, 0); i < nr; i = next_used(f, i + 1)) {
		const struct functions_slot *slot = at(f, SLOTS + i * f->slot_bytes);

		sum_add(&out->untimed, READ(slot->deep));
		sum_add(&out->untimed, READ(slot->cut));
		sum_add(&out->untimed, READ(slot->full));
	}
}
