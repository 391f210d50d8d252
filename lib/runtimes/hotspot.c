/*
 * A look reads the maps of segments of all code heaps, which say where blocks begin, then the heads
 * of all blocks, many with a call. Names are read of blocks that are new.
 *
 * Between two looks code may have come and gone, so a name applies only where no other code can
 * have been. Code that is gone has its name until the last look that saw it. New code has it from
 * this look on: or from the look before on, if its place was free then, and nothing was freed
 * since, so that nothing else can have been there first. The machine frees code in collections of
 * garbage, which it counts, and (its sweeper, a collection in steps) much at once, so that what was
 * known is gone, too.
 */
#include "runtimes/hotspot.h"

#include "base/clock.h"
#include "base/dict.h"
#include "base/mem.h"
#include "base/order.h"
#include "runtimes/jvm.h"
#include "runtimes/limits.h"
#include "runtimes/methods.h"
#include "runtimes/points.h"
#include "runtimes/scopes.h"
#include "trace/trace.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
	MAX_HEAPS = 8,
	MAX_SHIFT = 16,
	MAX_SEGMENTS = 16 << 20,  /* of a heap */
	MAX_BLOCKS = 1 << 18,     /* that are looked at; what is beyond has no names */
	MAX_ALL_BLOCKS = 1 << 21, /* of all processes; 128 MiB */
	MAX_CODE_BYTES = 1 << 20, /* of a method; what is longer has no known calls */
	MAX_FRAME_WORDS = 1 << 16,
	MAX_ALL_SCOPES_BYTES = 1 << 28, /* that are read of a process, for what is inlined */
	MAX_POINTS = TRACE_COMPILED_BYTES / sizeof(uint32_t),
	HEAD_BYTES = 512, /* of a block, with all members that are read */
	NR_HEADS = 64,    /* that are read with one call */
	BLOB_NAME_BYTES = 64,
};

/* What a block says of its code. */
struct hotspot_code {
	uint64_t start, end; /* of instructions */
	uint64_t block, name, method;
	uint64_t id;      /* the end of the key */
	uint64_t from_ns; /* since when it has its name */
	bool is_method;
	bool waits; /* for a look that has time for what is inlined */
};
enum { KEY_BYTES = DICT_KEY(struct hotspot_code, id) };
_Static_assert(KEY_BYTES == 6 * sizeof(uint64_t), "a key has no holes");

struct heap {
	uint64_t low, high;   /* of its blocks */
	uint64_t map, nr_map; /* of segments: where they are, how many have a byte */
	uint32_t shift;       /* a segment has so many bytes, as a power of two */
};

struct hotspot {
	struct jvm jvm;
	struct hotspot_shared *shared;
	struct hotspot_codes known; /* at the last look */
	bool has_looked;
	uint64_t began_ns, ended_ns; /* the last look */
	uint64_t collections;        /* before it */
	bool frees;                  /* a method that was known was gone then */
	uint64_t block[NR_HEADS];    /* whose heads are asked for */
	size_t nr_blocks, nr_looked;
	uint8_t head[NR_HEADS][HEAD_BYTES];
	uint64_t low, high;      /* of all heaps, in which calls of Java lead */
	uint64_t call_stub;      /* where that of C++ returns to; 0: not known */
	struct methods *methods; /* owned; NULL: those that are interpreted are not read */
	struct scopes_of scopes; /* of the change */
	bool has_scopes;
	uint64_t scopes_bytes, scopes_ns; /* that were read, and CPU time, so far */
	uint64_t look_ns;                 /* the same of this look */
	struct trace_compiled change;     /* in the making */
};

/* --- reading */

/* As much of it as can be read, of a half, a quarter …: it may be at the end of a mapping. How
 * much. */
static size_t load_some(const struct hotspot *h, uint64_t address, void *to, size_t bytes)
{
	while (bytes && !jvm_load(&h->jvm, address, to, bytes))
		bytes /= 2;
	return bytes;
}

/* A member of a structure that was copied; false: it is beyond. */
static bool member(const struct hotspot *h, const uint8_t *structure, size_t bytes,
		   enum vmstructs_field f, uint64_t *out)
{
	const struct vmstructs_place *p = &h->jvm.at.field[f];

	if (!p->bytes || p->at + p->bytes > bytes)
		return false;
	*out = jvm_number(structure + p->at, p->bytes);
	return true;
}

/* --- names */

/* That of the machine itself: "Interpreter", "StubRoutines (1)". */
static bool name_blob(const struct hotspot *h, uint64_t name, char out[BLOB_NAME_BYTES])
{
	memset(out, 0, BLOB_NAME_BYTES);
	out[load_some(h, name, out, BLOB_NAME_BYTES - 1)] = '\0';
	return *out;
}

static bool is_method(const char *blob)
{
	return strcmp(blob, "nmethod") == 0 || strcmp(blob, "native nmethod") == 0;
}

/* --- blocks */

/* What the head says; *segments: of the block. False: it is free. */
static bool decode(const struct hotspot *h, uint64_t block, const uint8_t *head, size_t bytes,
		   struct hotspot_code *out, uint64_t *segments)
{
	const bool has_offsets = vmstructs_has(&h->jvm.at, VMSTRUCTS_BLOB_BEGIN_OFFSET);
	const uint64_t at = block + h->jvm.at.block_bytes;
	const uint8_t *blob = head + h->jvm.at.block_bytes;
	uint64_t used, begin, end;

	*out = (struct hotspot_code){.block = block};
	if (h->jvm.at.block_bytes >= bytes ||
	    !member(h, head, bytes, VMSTRUCTS_BLOCK_USED, &used) || !used ||
	    !member(h, head, bytes, VMSTRUCTS_BLOCK_LENGTH, segments))
		return false;
	bytes -= h->jvm.at.block_bytes;
	if (!member(h, blob, bytes,
		    has_offsets ? VMSTRUCTS_BLOB_BEGIN_OFFSET : VMSTRUCTS_BLOB_BEGIN, &begin) ||
	    !member(h, blob, bytes, has_offsets ? VMSTRUCTS_BLOB_END_OFFSET : VMSTRUCTS_BLOB_END,
		    &end) ||
	    !member(h, blob, bytes, VMSTRUCTS_BLOB_NAME, &out->name))
		return false;
	out->start = has_offsets ? at + begin : begin;
	out->end = has_offsets ? at + end : end;
	/* the machine's own code has none of these: they are what lies there */
	(void)member(h, blob, bytes,
		     vmstructs_has(&h->jvm.at, VMSTRUCTS_NMETHOD_METHOD)
			 ? VMSTRUCTS_NMETHOD_METHOD
			 : VMSTRUCTS_COMPILED_METHOD,
		     &out->method);
	(void)member(h, blob, bytes, VMSTRUCTS_NMETHOD_ID, &out->id);
	return true;
}

/* It lies in its block, and that in the heap. */
static bool is_valid(const struct hotspot_code *c, const struct heap *heap, uint64_t segments)
{
	return segments <= (heap->high - c->block) >> heap->shift && c->start > c->block &&
	       c->start < c->end && c->end <= c->block + (segments << heap->shift);
}

static int add_code(struct hotspot *h, const struct hotspot_code *c)
{
	struct hotspot_codes *now = &h->shared->now;
	struct hotspot_code *to = MEM_ADD(now->item, now->nr, now->room);

	if (!to)
		return -ENOMEM;
	*to = *c;
	return 0;
}

static size_t head_bytes(const struct heap *heap, uint64_t block)
{
	return heap->high - block < HEAD_BYTES ? (size_t)(heap->high - block) : HEAD_BYTES;
}

/* Reads the heads of the blocks that were collected. One that cannot be read is skipped. */
static int read_heads(struct hotspot *h, const struct heap *heap)
{
	struct iovec local[NR_HEADS], remote[NR_HEADS];
	const size_t nr = h->nr_blocks;
	size_t done = 0;
	int rc = 0;

	if (atomic_load(&h->shared->is_left))
		return -ECANCELED;
	h->nr_blocks = 0;
	for (size_t i = 0; i < nr; i++) {
		const size_t bytes = head_bytes(heap, h->block[i]);

		memset(h->head[i], 0, sizeof(h->head[i]));
		local[i] = (struct iovec){h->head[i], bytes};
		remote[i] = (struct iovec){(void *)(uintptr_t)h->block[i], bytes};
	}
	while (done < nr) { /* one that fails ends the call, which may have read a part of it */
		ssize_t n = process_vm_readv((pid_t)h->jvm.pid, local + done, nr - done,
					     remote + done, nr - done, 0);

		if (n < 0 && errno == ESRCH)
			return -ESRCH;
		if (n <= 0)
			done++;
		for (; n > 0 && done < nr; done++)
			n -= (ssize_t)local[done].iov_len;
	}
	for (size_t i = 0; i < nr && rc == 0; i++) {
		uint64_t segments;
		struct hotspot_code c;

		if (decode(h, h->block[i], h->head[i], local[i].iov_len, &c, &segments) &&
		    is_valid(&c, heap, segments))
			rc = add_code(h, &c);
	}
	return rc;
}

/* What other processes have is not taken from them, so that a process keeps what it has. */
static size_t most_blocks(const struct hotspot *h)
{
	const size_t most = h->known.room + MAX_ALL_BLOCKS - h->shared->nr_blocks;

	return most < MAX_BLOCKS ? most : MAX_BLOCKS;
}

/* The map has the distance of each segment to the begin of its block. */
static int read_heap(struct hotspot *h, const struct heap *heap)
{
	const size_t max_blocks = most_blocks(h);
	uint8_t *map = mem_grow(h->shared->map, heap->nr_map, &h->shared->map_room, 1);
	int rc = 0;

	if (!map)
		return -ENOMEM;
	h->shared->map = map;
	if (!jvm_load(&h->jvm, heap->map, map, heap->nr_map))
		return errno == ESRCH ? -ESRCH : 0;
	for (uint64_t i = 0; i < heap->nr_map && h->nr_looked < max_blocks && rc == 0; i++) {
		if (map[i])
			continue;
		h->nr_looked++;
		h->block[h->nr_blocks++] = heap->low + (i << heap->shift);
		if (h->nr_blocks == NR_HEADS)
			rc = read_heads(h, heap);
	}
	return rc ?: read_heads(h, heap);
}

static bool find_space(const struct hotspot *h, uint64_t space, uint64_t *low, uint64_t *high)
{
	return jvm_follow(&h->jvm, space, VMSTRUCTS_SPACE_LOW, low) &&
	       jvm_follow(&h->jvm, space, VMSTRUCTS_SPACE_HIGH, high) && *low < *high;
}

static bool find_heap(const struct hotspot *h, uint64_t at, struct heap *out)
{
	uint64_t shift, map_high;

	if (!jvm_follow(&h->jvm, at, VMSTRUCTS_HEAP_SHIFT, &shift) || shift > MAX_SHIFT ||
	    !find_space(h, at + h->jvm.at.field[VMSTRUCTS_HEAP_MEMORY].at, &out->low, &out->high) ||
	    !find_space(h, at + h->jvm.at.field[VMSTRUCTS_HEAP_SEGMENTS].at, &out->map, &map_high))
		return false;
	out->shift = (uint32_t)shift;
	out->nr_map = (out->high - out->low) >> shift;
	if (out->nr_map > map_high - out->map)
		out->nr_map = map_high - out->map;
	return out->nr_map && out->nr_map <= MAX_SEGMENTS;
}

static int read_heaps(struct hotspot *h)
{
	uint64_t list, nr, data, at[MAX_HEAPS];
	int rc = 0;

	h->shared->now.nr = h->nr_looked = h->nr_blocks = 0;
	if (!jvm_load(&h->jvm, h->jvm.at.field[VMSTRUCTS_HEAPS].at, &list, sizeof(list)))
		return -ESRCH;
	/* the machine is about to make them */
	if (!jvm_follow(&h->jvm, list, VMSTRUCTS_LIST_LEN, &nr) || nr > MAX_HEAPS ||
	    !jvm_follow(&h->jvm, list, VMSTRUCTS_LIST_DATA, &data) ||
	    !jvm_load(&h->jvm, data, at, nr * sizeof(*at)))
		return 0;
	for (uint64_t i = 0; i < nr && rc == 0; i++) {
		struct heap heap;

		if (!find_heap(h, at[i], &heap))
			continue;
		h->low = heap.low < h->low ? heap.low : h->low;
		h->high = heap.high > h->high ? heap.high : h->high;
		rc = read_heap(h, &heap);
	}
	return rc;
}

/* --- what has changed */

static int compare(const void *a, const void *b)
{
	const struct hotspot_code *x = a, *y = b;

	return order_u64(x->start, y->start) ?: order_u64(x->block, y->block);
}

/* Sorts, and drops what overlaps: of two blocks, one is no more. */
static void arrange(struct hotspot_codes *c)
{
	size_t nr = 0;

	order_sort(c->item, c->nr, sizeof(*c->item), compare);
	for (size_t i = 0; i < c->nr; i++)
		if (!nr || c->item[nr - 1].end <= c->item[i].start)
			c->item[nr++] = c->item[i];
	c->nr = nr;
}

static bool is_same(const struct hotspot_code *a, const struct hotspot_code *b)
{
	return memcmp(a, b, KEY_BYTES) == 0;
}

/* The first that ends behind an address; c->nr: none. */
static size_t first_behind(const struct hotspot_codes *c, uint64_t address)
{
	return ORDER_FIRST(i, c->nr, c->item[i].end > address);
}

static bool has(const struct hotspot_codes *c, const struct hotspot_code *code)
{
	const size_t i = first_behind(c, code->start);

	return i < c->nr && is_same(&c->item[i], code);
}

static bool overlaps(const struct hotspot_codes *c, const struct hotspot_code *code)
{
	const size_t i = first_behind(c, code->start);

	return i < c->nr && c->item[i].start < code->end;
}

/* Whether the block says the same as before; then the size of its frames is known, too, and where
 * its scopes are. */
static bool is_still(struct hotspot *h, const struct hotspot_code *c)
{
	uint8_t head[HEAD_BYTES] = {0};
	const size_t bytes = load_some(h, c->block, head, HEAD_BYTES);
	const uint8_t *blob = head + h->jvm.at.block_bytes;
	uint64_t segments, words, from;
	struct hotspot_code now;

	if (!decode(h, c->block, head, bytes, &now, &segments) || !is_same(&now, c))
		return false;
	if (member(h, blob, bytes - h->jvm.at.block_bytes, VMSTRUCTS_BLOB_FRAME_SIZE, &words) &&
	    words <= MAX_FRAME_WORDS &&
	    member(h, blob, bytes - h->jvm.at.block_bytes, VMSTRUCTS_BLOB_FRAME_COMPLETE, &from)) {
		h->change.frame_bytes = (uint32_t)words * sizeof(uint64_t);
		h->change.frame_from = from < c->end - c->start ? (uint32_t)from : 0;
	}
	h->has_scopes = scopes_place(&h->jvm, c->block + h->jvm.at.block_bytes, blob,
				     bytes - h->jvm.at.block_bytes, &h->scopes);
	return true;
}

/* --- shapes: how frames lead to their callers */

static void add_point(void *arg, size_t distance, enum trace_compiled_point point)
{
	struct hotspot *h = arg;
	struct hotspot_shared *s = h->shared;
	const uint32_t word = htole32((uint32_t)distance << 2 | point);
	uint8_t *to =
	    h->change.data_bytes / sizeof(word) < MAX_POINTS
		? mem_grow(s->points, h->change.data_bytes + sizeof(word), &s->points_room, 1)
		: NULL;

	if (!to)
		return;
	s->points = to;
	memcpy(to + h->change.data_bytes, &word, sizeof(word));
	h->change.data_bytes += sizeof(word);
}

static void find_points(struct hotspot *h, const struct hotspot_code *c)
{
	struct hotspot_shared *s = h->shared;
	const size_t bytes = c->end - c->start;
	uint8_t *code = bytes <= MAX_CODE_BYTES ? mem_grow(s->code, bytes, &s->code_room, 1) : NULL;
	const struct points_of of = {.start = c->start,
				     .low = h->low,
				     .high = h->high,
				     .frame_bytes = h->change.frame_bytes,
				     .frame_from = h->change.frame_from};

	if (!code)
		return;
	s->code = code;
	if (jvm_load(&h->jvm, c->start, code, bytes))
		points_find(&of, code, bytes, add_point, h);
}

/* The stub by which C++ calls Java is known by where these calls return to. */
static void find_call_stub(struct hotspot *h, const struct hotspot_code *c)
{
	if (h->call_stub >= c->start && h->call_stub < c->end)
		add_point(h, h->call_stub - c->start, TRACE_POINT_RETURN);
}

static bool has_scopes_room(const struct hotspot *h)
{
	return h->scopes_bytes <= MAX_ALL_SCOPES_BYTES && h->scopes_ns <= LIMITS_ALL_SCOPES_NS;
}

static bool has_time(const struct hotspot *h)
{
	const uint64_t most_ns = h->shared->is_last ? LIMITS_LAST_SCOPES_NS : LIMITS_LOOK_SCOPES_NS;

	return h->look_ns < (h->shared->scopes_ns ?: most_ns);
}

/* What is inlined. */
static void find_scopes(struct hotspot *h, struct hotspot_code *c)
{
	struct trace_compiled *to = &h->change;
	uint64_t began_ns, took_ns;

	h->scopes.method = c->method;
	h->scopes.code_bytes = (uint32_t)(c->end - c->start);
	c->waits = h->has_scopes && h->shared->scopes && vmstructs_has_scopes(&h->jvm.at) &&
		   has_scopes_room(h);
	if (!c->waits || !has_time(h))
		return;
	c->waits = false;
	began_ns = clock_thread_cpu_ns();
	if (!scopes_find(h->shared->scopes, &h->scopes, began_ns + LIMITS_SCOPES_NS, &to->scopes,
			 &to->scopes_bytes))
		to->scopes_bytes = 0;
	took_ns = clock_thread_cpu_ns() - began_ns;
	h->scopes_bytes += scopes_nr_read(h->shared->scopes);
	h->scopes_ns += took_ns;
	h->look_ns += took_ns;
}

/* The block says the same as before, and where its scopes are. The machine frees what it keeps
 * beside the code before the code. */
static bool is_still_whole(struct hotspot *h, const struct hotspot_code *c)
{
	const struct scopes_of was = h->scopes;

	return is_still(h, c) && memcmp(&was, &h->scopes, offsetof(struct scopes_of, method)) == 0;
}

static void find_shape(struct hotspot *h, struct hotspot_code *c)
{
	struct trace_compiled *to = &h->change;

	if (c->is_method) {
		to->kind = TRACE_COMPILED_METHOD;
		find_points(h, c);
		find_scopes(h, c);
	} else {
		to->kind = strcmp(to->name, "Interpreter") == 0 ? TRACE_COMPILED_INTERPRETER
								: TRACE_COMPILED_STUB;
		find_call_stub(h, c);
	}
	to->data = h->shared->points;
}

static void clear(struct hotspot *h)
{
	h->change = (struct trace_compiled){.pid = h->jvm.pid};
}

/* Sets the name of the change. False: it cannot be read now. */
static bool find_name(struct hotspot *h, struct hotspot_code *c)
{
	char blob[BLOB_NAME_BYTES];

	if (!name_blob(h, c->name, blob))
		return false;
	clear(h);
	c->is_method = is_method(blob);
	if (c->is_method) {
		if (!jvm_method_name(&h->jvm, c->method, h->change.name, sizeof(h->change.name)))
			return false;
	} else {
		snprintf(h->change.name, sizeof(h->change.name), "%s", blob);
	}
	if (!is_still(h, c))
		return false;
	find_shape(h, c);
	return !c->is_method || is_still_whole(h, c);
}

static void pass(struct hotspot *h, const struct hotspot_code *c, uint64_t time_ns, hotspot_fn *fn,
		 void *arg)
{
	h->change.time_ns = time_ns;
	h->change.start = c->start;
	h->change.end = c->end;
	fn(arg, &h->change);
}

/* True: there was any method; the machine's own buffers come and go. */
static bool pass_gone(struct hotspot *h, hotspot_fn *fn, void *arg)
{
	bool is_any = false;

	clear(h);
	for (size_t i = 0; i < h->known.nr; i++) {
		const struct hotspot_code *c = &h->known.item[i];

		if (has(&h->shared->now, c))
			continue;
		pass(h, c, c->from_ns > h->began_ns ? c->from_ns : h->began_ns, fn, arg);
		is_any |= c->is_method;
	}
	return is_any;
}

/* Without memory nothing is said of what is inlined. */
static void begin_scopes(struct hotspot *h)
{
	if (!h->shared->scopes)
		h->shared->scopes = scopes_new();
	h->look_ns = 0;
	if (h->shared->scopes)
		scopes_begin(h->shared->scopes, &h->jvm);
}

/* Of code that has its name. True: it is passed again. */
static bool pass_scopes(struct hotspot *h, struct hotspot_code *c, hotspot_fn *fn, void *arg)
{
	if (!c->waits || !has_time(h))
		return false;
	c->waits = false;
	if (!has_scopes_room(h) || !find_name(h, c) || !h->change.scopes_bytes)
		return false;
	pass(h, c, c->from_ns, fn, arg);
	return true;
}

/* True: there was any. What has no name yet is new at the next look, too. frees: other code may
 * have been there before. */
static bool pass_new(struct hotspot *h, uint64_t ended_ns, bool frees, hotspot_fn *fn, void *arg)
{
	const uint64_t began_ns = clock_thread_cpu_ns();
	struct hotspot_codes *now = &h->shared->now;
	bool is_any = false;
	size_t nr = 0;

	begin_scopes(h);
	for (size_t i = 0; i < now->nr && !atomic_load(&h->shared->is_left); i++) {
		struct hotspot_code c = now->item[i];
		const size_t at = first_behind(&h->known, c.start);

		if (at < h->known.nr && is_same(&h->known.item[at], &c)) {
			c = h->known.item[at];
			is_any |= pass_scopes(h, &c, fn, arg);
		} else {
			if (!find_name(h, &c))
				continue;
			c.from_ns = frees || overlaps(&h->known, &c) ? ended_ns : h->ended_ns;
			pass(h, &c, c.from_ns, fn, arg);
			is_any = true;
		}
		now->item[nr++] = c;
	}
	now->nr = nr;
	if (is_any)
		h->shared->once_ns += clock_thread_cpu_ns() - began_ns;
	return is_any;
}

/* After exec its addresses would be those of another program. */
static bool is_same_program(const struct hotspot *h)
{
	uint8_t head[sizeof(h->jvm.at.head)];

	return jvm_load(&h->jvm, h->jvm.at.base, head, sizeof(head)) &&
	       memcmp(head, h->jvm.at.head, sizeof(head)) == 0;
}

/* So that what is found can be kept. */
static int make_room(struct hotspot *h)
{
	struct hotspot_codes *known = &h->known;
	const size_t nr = h->shared->now.nr;
	struct hotspot_code *item;

	if (nr <= known->room)
		return 0;
	item = mem_resize(known->item, nr * sizeof(*item));
	if (!item)
		return -ENOMEM;
	h->shared->nr_blocks += nr - known->room;
	known->item = item;
	known->room = nr;
	return 0;
}

static void keep(struct hotspot *h)
{
	const struct hotspot_codes *now = &h->shared->now;

	if (now->nr)
		memcpy(h->known.item, now->item, now->nr * sizeof(*now->item));
	h->known.nr = now->nr;
}

int hotspot_look(struct hotspot *h, hotspot_fn *fn, void *arg, bool *has_changed)
{
	const uint64_t began_ns = clock_monotonic_ns();
	uint64_t ended_ns, before = 0, after = 0;
	bool is_counted = jvm_collections(&h->jvm, &before), frees;
	int rc;

	h->low = UINT64_MAX;
	h->high = h->call_stub = 0;
	(void)jvm_load(&h->jvm, h->jvm.at.field[VMSTRUCTS_CALL_STUB_RETURN].at, &h->call_stub,
		       sizeof(h->call_stub));
	rc = read_heaps(h);

	if (rc == 0 && !is_same_program(h))
		rc = -ESRCH;
	arrange(&h->shared->now);
	rc = rc ?: make_room(h);
	if (rc)
		return rc;
	is_counted = is_counted && jvm_collections(&h->jvm, &after);
	ended_ns = clock_monotonic_ns();
	h->frees = pass_gone(h, fn, arg);
	frees = h->has_looked && (h->frees || !is_counted || after != h->collections);
	*has_changed = pass_new(h, ended_ns, frees, fn, arg) || h->frees;
	h->has_looked = true;
	keep(h);
	h->began_ns = began_ns;
	h->ended_ns = ended_ns;
	h->collections = before;
	return h->methods ? methods_look(h->methods, fn, arg, has_changed) : 0;
}

void hotspot_leave(struct hotspot *h, hotspot_fn *fn, void *arg)
{
	const struct trace_compiled gone = {.time_ns =
						h->frees ? h->ended_ns : clock_monotonic_ns(),
					    .end = UINT64_MAX,
					    .pid = h->jvm.pid};

	if (h->methods)
		methods_leave(h->methods, fn, arg);
	fn(arg, &gone);
}

/* --- a process */

int hotspot_open(struct hotspot_shared *shared, uint32_t pid, uint64_t since_ns,
		 struct hotspot **out)
{
	struct vmstructs at;
	int rc = vmstructs_find(pid, &at);
	struct hotspot *h = rc ? NULL : mem_zalloc(sizeof(*h));

	if (rc || !h)
		return rc ?: -ENOMEM;
	h->shared = shared;
	h->jvm.pid = pid;
	h->jvm.at = at;
	h->ended_ns = since_ns;
	rc = shared->wants_methods && vmstructs_has_methods(&at)
		 ? methods_new(&h->jvm, shared, since_ns, &h->methods)
		 : 0;
	if (rc) {
		mem_free(h);
		return rc;
	}
	*out = h;
	return 0;
}

void hotspot_close(struct hotspot *h)
{
	if (!h)
		return;
	h->shared->nr_blocks -= h->known.room;
	mem_free(h->known.item);
	methods_free(h->methods);
	mem_free(h);
}

void hotspot_shared_fini(struct hotspot_shared *s)
{
	mem_free(s->now.item);
	mem_free(s->map);
	mem_free(s->code);
	mem_free(s->points);
	scopes_free(s->scopes);
}
