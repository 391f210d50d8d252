/*
 * Between two looks code may have come and gone. What is gone has its names until the last look
 * that saw it. New code has them from this look on, or, if no other was known at its place, from
 * the end of the look before. That other code was there in between, and is gone, is possible:
 * reports ask whether its function is that of the frame, where the sample says that.
 */
#include "runtimes/v8.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/root.h"
#include "interpreters/judge.h"
#include "interpreters/v8.h"
#include "proc/maps.h"
#include "proc/memory.h"
#include "proc/proc.h"
#include "runtimes/limits.h"
#include "runtimes/remote.h"
#include "runtimes/v8_code.h"
#include "runtimes/v8_scopes.h"
#include "trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_MAPS_BYTES = 4 << 20,
	MAX_LOOK_BYTES = 64 << 20, /* of code; what is beyond is not read */
	CHUNK_BYTES = 1 << 18,
	MAX_KNOWN = 1 << 16,
	MAX_STREAM_TYPES = 4,  /* maps of streams, of a process */
	MAX_REFUSED = 1 << 12, /* words of a look that were no such map */
	MAX_HEADS = 1 << 17,   /* of code, that are read in a look */
	STEP_BYTES = 32,       /* instructions begin at multiples of that */
	STREAM_BYTES = 16,     /* that are read of a stream */
	MAX_ADDRESS_BITS = 47,
	MAX_LOOK_NS = 50000000, /* CPU time of a look, to find code */
	HEAD_BYTES = 64,        /* of the program */
	PAGE_BYTES = 4096,
	NR_PAGES = 512, /* of which is asked at once */
};
static const uint64_t IS_IN_MEMORY = UINT64_C(3) << 62; /* or swapped: of an entry of pagemap */

struct v8_known {
	struct v8_code code; /* the key */
	uint64_t from_ns;    /* since when it has its names */
	bool is_passed, waits;
};

struct v8 {
	struct v8_shared *shared;
	uint32_t pid;
	struct bpf_javascript at;
	const struct v8_layout *layout;
	struct v8_found known; /* at the last look */
	struct remote pages;
	uint64_t map[MAX_STREAM_TYPES]; /* of this look */
	size_t nr_maps, nr_refused, nr_heads;
	uint64_t began_ns, ended_ns; /* the last look */
	uint64_t scopes_ns;          /* CPU time so far */
	uint64_t look_ns;            /* the same of this look */
	bool is_last;
	uint64_t base; /* where the program's file is, */
	uint8_t head[HEAD_BYTES];
};

bool v8_is_program(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strstr(slash ? slash : path, "node");
}

/* --- finding code */

/* Whether the word is the map of code. Few words are that are not. */
static bool is_stream_map(struct v8 *v, uint64_t word)
{
	uint16_t type = 0;

	if ((word & 3) != 1 || word >> MAX_ADDRESS_BITS)
		return false;
	if (ARRAY_ANY(m, v->map, v->nr_maps, *m == word))
		return true;
	if (v->nr_maps == MAX_STREAM_TYPES || v->nr_refused == MAX_REFUSED)
		return false;
	if (remote_copy(&v->pages, word + v->at.map_type, &type, sizeof(type)) &&
	    type == v->at.stream_type) {
		v->map[v->nr_maps++] = word;
		return true;
	}
	v->nr_refused++;
	return false;
}

static int add_code(struct v8 *v, const struct v8_code *c)
{
	struct v8_found *now = &v->shared->now;
	struct v8_known *to;

	if (now->nr == MAX_KNOWN)
		return 0;
	to = MEM_ADD(now->item, now->nr, now->room);
	if (!to)
		return -ENOMEM;
	*to = (struct v8_known){.code = *c};
	return 0;
}

/* Where a stream may begin, whose head ends at a step. */
static size_t first_stream(const struct v8_layout *l)
{
	return (STEP_BYTES - l->stream_head % STEP_BYTES) % STEP_BYTES;
}

/* at: of the chunk, which is so long; end: of the mapping. */
static int find_in_chunk(struct v8 *v, uint64_t at, size_t len, uint64_t end)
{
	const uint8_t *chunk = v->shared->chunk;
	const size_t code = v->layout->stream_code / sizeof(uint64_t);
	int rc = 0;

	for (size_t i = first_stream(v->layout); i + STREAM_BYTES <= len && rc == 0;
	     i += STEP_BYTES) {
		uint64_t word[STREAM_BYTES / sizeof(uint64_t)];
		struct v8_code c;

		memcpy(word, chunk + i, sizeof(word));
		if (!is_stream_map(v, word[0]) || v->nr_heads == MAX_HEADS)
			continue;
		v->nr_heads++;
		if (v8_code_read(&v->pages, &v->at, at + i, code ? word[code] : at + i + 1, end,
				 &c))
			rc = add_code(v, &c);
	}
	return rc;
}

static bool is_code(const struct proc_mapping *m)
{
	return m->prot & PROC_MAPS_EXEC && m->prot & PROC_MAPS_READ && !m->inode && !m->name_len;
}

/* A look, as far as it goes. */
struct search {
	struct v8 *v;
	int pagemap;   /* -1: none */
	uint64_t left; /* bytes */
	uint64_t until_ns;
	bool is_over;
};

static int find_in_pages(struct search *s, uint64_t begin, uint64_t end, uint64_t end_of_mapping)
{
	struct v8 *v = s->v;
	int rc = 0;

	for (uint64_t at = begin; at < end && rc == 0; at += CHUNK_BYTES) {
		const size_t len = end - at < CHUNK_BYTES ? (size_t)(end - at) : CHUNK_BYTES;

		s->is_over |= len > s->left || clock_thread_cpu_ns() >= s->until_ns;
		if (s->is_over)
			return 0;
		s->left -= len;
		if (proc_memory_read(v->pid, at, v->shared->chunk, len))
			rc = find_in_chunk(v, at, len, end_of_mapping);
		else if (errno == ESRCH)
			return -ESRCH;
	}
	return rc;
}

/* Of so many pages, which of them were ever written; all, where that is not said. */
static void load_pages(const struct search *s, uint64_t at, size_t nr, uint64_t *entry)
{
	const size_t bytes = nr * sizeof(*entry);

	if (io_pread_full(s->pagemap, entry, bytes, at / PAGE_BYTES * sizeof(*entry)) !=
	    (ssize_t)bytes)
		memset(entry, 0xff, bytes);
}

/* Pages that were never touched stay so: V8 has reserved half a gigabyte. */
static int find_in_mapping(struct search *s, const struct proc_mapping *m)
{
	uint64_t entry[NR_PAGES];
	int rc = 0;

	for (uint64_t at = m->start; at < m->end && rc == 0 && !s->is_over;
	     at += NR_PAGES * PAGE_BYTES) {
		const uint64_t left = (m->end - at) / PAGE_BYTES;
		const size_t nr = left < NR_PAGES ? (size_t)left : NR_PAGES;
		size_t end;

		s->is_over |= clock_thread_cpu_ns() >= s->until_ns;
		load_pages(s, at, nr, entry);
		for (size_t i = 0; i < nr && rc == 0 && !s->is_over; i = end) {
			const bool is_in_memory = entry[i] & IS_IN_MEMORY;

			end = i + 1;
			while (end < nr && !(entry[end] & IS_IN_MEMORY) == !is_in_memory)
				end++;
			if (is_in_memory)
				rc = find_in_pages(s, at + i * PAGE_BYTES, at + end * PAGE_BYTES,
						   m->end);
		}
	}
	return rc;
}

static int compare(const void *a, const void *b)
{
	const struct v8_known *x = a, *y = b;

	return order_u64(x->code.start, y->code.start);
}

/* Sorts, and drops what overlaps: a header may be in the rest of another code. */
static void arrange(struct v8_found *f)
{
	size_t nr = 0;

	order_sort(f->item, f->nr, sizeof(*f->item), compare);
	for (size_t i = 0; i < f->nr; i++)
		if (!nr || f->item[nr - 1].code.end <= f->item[i].code.start)
			f->item[nr++] = f->item[i];
	f->nr = nr;
}

static int find_all(struct v8 *v)
{
	struct search s = {
	    .v = v, .left = MAX_LOOK_BYTES, .until_ns = clock_thread_cpu_ns() + MAX_LOOK_NS};
	BUF_AUTO(maps, MAX_MAPS_BYTES);
	struct proc_mapping m;
	const char *at;
	int rc = 0;

	v->shared->now.nr = v->nr_maps = v->nr_refused = v->nr_heads = 0;
	remote_forget(&v->pages);
	if (!v->shared->chunk)
		v->shared->chunk = mem_zalloc(CHUNK_BYTES);
	if (!v->shared->chunk)
		return -ENOMEM;
	if (proc_load(PROC(&root_live, v->pid), "maps", &maps) || buf_error(&maps) || !maps.len)
		return -ESRCH;
	at = buf_str(&maps);
	s.pagemap = sysconf(_SC_PAGESIZE) == PAGE_BYTES
			? proc_open(PROC(&root_live, v->pid), "pagemap")
			: -1;
	while (rc == 0 && proc_maps_next(&at, maps.data + maps.len, &m))
		if (is_code(&m))
			rc = find_in_mapping(&s, &m);
	io_close(&s.pagemap);
	arrange(&v->shared->now);
	return rc;
}

/* --- what has changed */

/* The first that ends behind an address; f->nr: none. */
static size_t first_behind(const struct v8_found *f, uint64_t address)
{
	return ORDER_FIRST(i, f->nr, f->item[i].code.end > address);
}

static struct v8_known *find_same(const struct v8_found *f, const struct v8_code *c)
{
	const size_t i = first_behind(f, c->start);

	return i < f->nr && memcmp(&f->item[i].code, c, sizeof(*c)) == 0 ? &f->item[i] : NULL;
}

static bool overlaps(const struct v8_found *f, const struct v8_code *c)
{
	const size_t i = first_behind(f, c->start);

	return i < f->nr && f->item[i].code.start < c->end;
}

static void pass_gone(struct v8 *v, v8_fn *fn, void *arg)
{
	for (size_t i = 0; i < v->known.nr; i++) {
		const struct v8_known *k = &v->known.item[i];

		if (!k->is_passed || find_same(&v->shared->now, &k->code))
			continue;
		fn(arg, &(const struct trace_compiled){
			    .pid = v->pid,
			    .kind = TRACE_COMPILED_SCRIPT,
			    .time_ns = k->from_ns > v->began_ns ? k->from_ns : v->began_ns,
			    .start = k->code.start,
			    .end = k->code.end});
	}
}

static bool has_time(const struct v8 *v)
{
	return v->scopes_ns < LIMITS_ALL_SCOPES_NS &&
	       v->look_ns < (v->is_last ? LIMITS_LAST_SCOPES_NS : LIMITS_LOOK_SCOPES_NS);
}

static void pass_found(const struct v8 *v, const struct v8_known *k,
		       const struct v8_scopes_found *f, v8_fn *fn, void *arg)
{
	struct trace_compiled change = {.pid = v->pid,
					.kind = TRACE_COMPILED_SCRIPT,
					.time_ns = k->from_ns,
					.start = k->code.start,
					.end = k->code.end,
					.data = f->data,
					.data_bytes = f->data_bytes,
					.scopes = f->scopes,
					.scopes_bytes = f->scopes_bytes};

	snprintf(change.name, sizeof(change.name), "%s", f->name);
	fn(arg, &change);
}

/* Reads what is inlined, if there is time; else at a later look. True: it was passed. */
static bool pass_scopes(struct v8 *v, struct v8_known *k, v8_fn *fn, void *arg)
{
	const uint64_t began_ns = clock_thread_cpu_ns();
	struct v8_scopes_found f;

	k->waits = v->scopes_ns < LIMITS_ALL_SCOPES_NS;
	if (!has_time(v))
		return false;
	k->waits = false;
	k->is_passed = v8_scopes_find(v->shared->scopes, &k->code, began_ns + LIMITS_SCOPES_NS, &f);
	if (k->is_passed)
		pass_found(v, k, &f, fn, arg);
	v->scopes_ns += clock_thread_cpu_ns() - began_ns;
	v->look_ns += clock_thread_cpu_ns() - began_ns;
	return k->is_passed;
}

/* True: there was any. */
static bool pass_new(struct v8 *v, uint64_t ended_ns, v8_fn *fn, void *arg)
{
	struct v8_found *now = &v->shared->now;
	bool is_any = false;

	v->look_ns = 0;
	v8_scopes_begin(v->shared->scopes, v->pid, &v->at);
	for (size_t i = 0; i < now->nr; i++) {
		struct v8_known *k = &now->item[i];
		const struct v8_known *was = find_same(&v->known, &k->code);

		if (was)
			*k = *was;
		else
			k->from_ns = overlaps(&v->known, &k->code) ? ended_ns : v->ended_ns;
		if (!was || k->waits)
			is_any |= pass_scopes(v, k, fn, arg);
	}
	return is_any;
}

/* After exec its addresses would be those of another program. */
static bool is_same_program(const struct v8 *v)
{
	uint8_t head[HEAD_BYTES];

	return proc_memory_read(v->pid, v->base, head, sizeof(head)) &&
	       memcmp(head, v->head, sizeof(head)) == 0;
}

static int keep(struct v8 *v)
{
	const struct v8_found *now = &v->shared->now;
	struct v8_known *item = mem_grow(v->known.item, now->nr, &v->known.room, sizeof(*item));

	if (!item)
		return -ENOMEM;
	v->known.item = item;
	if (now->nr)
		memcpy(item, now->item, now->nr * sizeof(*item));
	v->known.nr = now->nr;
	return 0;
}

int v8_look(struct v8 *v, bool is_last, v8_fn *fn, void *arg, bool *has_changed)
{
	const uint64_t began_ns = clock_monotonic_ns();
	uint64_t ended_ns;
	int rc = find_all(v);

	if (rc == 0 && !is_same_program(v))
		rc = -ESRCH;
	if (rc)
		return rc;
	ended_ns = clock_monotonic_ns();
	v->is_last = is_last;
	pass_gone(v, fn, arg);
	*has_changed = pass_new(v, ended_ns, fn, arg);
	rc = keep(v);
	v->began_ns = began_ns;
	v->ended_ns = ended_ns;
	return rc;
}

void v8_leave(struct v8 *v, v8_fn *fn, void *arg)
{
	const struct trace_compiled gone = {
	    .time_ns = clock_monotonic_ns(), .end = UINT64_MAX, .pid = v->pid};

	fn(arg, &gone);
}

/* --- a process */

/* Where the first file that is called so is mapped. */
static bool find_program(struct v8 *v)
{
	BUF_AUTO(maps, MAX_MAPS_BYTES);
	struct proc_mapping m;
	const char *at;

	if (proc_load(PROC(&root_live, v->pid), "maps", &maps) || buf_error(&maps) || !maps.len)
		return false;
	at = buf_str(&maps);
	while (proc_maps_next(&at, maps.data + maps.len, &m)) {
		char name[PROC_NAME_BYTES];

		snprintf(name, sizeof(name), "%.*s", (int)m.name_len, m.name);
		v->base = m.start;
		if (m.inode && !m.offset && v8_is_program(name))
			return proc_memory_read(v->pid, v->base, v->head, sizeof(v->head));
	}
	return false;
}

static int make_shared(struct v8_shared *s)
{
	if (!s->scopes)
		s->scopes = v8_scopes_new();
	return !s->scopes ? -ENOMEM : s->judge ? 0 : interpreters_judge_new(&s->judge);
}

int v8_open(struct v8_shared *shared, uint32_t pid, uint64_t since_ns, struct v8 **out)
{
	struct v8 *v = mem_zalloc(sizeof(*v));
	int rc = v ? 0 : -ENOMEM;

	if (rc)
		return rc;
	v->shared = shared;
	v->pid = v->pages.pid = pid;
	v->ended_ns = since_ns;
	rc = find_program(v) ? make_shared(shared) : -ENXIO;
	if (rc == 0 && !interpreters_v8_find(shared->judge, pid, &v->at))
		rc = -ENXIO;
	v->layout = interpreters_v8_layout(&v->at);
	if (rc)
		v8_close(v);
	else
		*out = v;
	return rc;
}

void v8_close(struct v8 *v)
{
	if (!v)
		return;
	mem_free(v->known.item);
	mem_free(v);
}

void v8_shared_fini(struct v8_shared *s)
{
	interpreters_judge_free(s->judge);
	v8_scopes_free(s->scopes);
	mem_free(s->now.item);
	mem_free(s->chunk);
}
