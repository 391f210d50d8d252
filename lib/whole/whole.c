/*
 * Blocks of records go through a queue for each CPU: put, then worked on by the thread, which
 * replaces a block's records, then taken. The lock is held while a record is copied or a base is
 * set, and not while anything is unwound. A block that the thread works on when whole_settle gives
 * up is copied as it was put, and the thread's result is dropped.
 */
#include "whole/whole.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/dict.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "base/thread.h"
#include "elf/file.h"
#include "elf/finder.h"
#include "elf/reader.h"
#include "elf/vdso.h"
#include "trace/record.h"
#include "trace/waker.h"
#include "unwind/machine.h"
#include "unwind/unwind.h"
#include "whole/bases.h"
#include "whole/record.h"
#include "whole/spaces.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

enum {
	BLOCK_BYTES = 256 << 10,
	MAX_IDS = 1 << 20,
	MAX_RECORDS_BYTES = 64 << 20, /* of tasks and mappings that wait for the thread */
	MAX_SPARE = 8,
	MAX_UNKNOWN_BYTES = 1024, /* of a waker's stack, in code that is not known */
};
#define TABLES_MAX_BYTES (UINT64_C(96) << 20)
#define TABLES_MAX_NS    UINT64_C(10000000000)
#define PAUSE_NS         UINT64_C(20000000)    /* between two questions whether all is known */
#define FORGET_NS        UINT64_C(10000000000) /* samples are younger */
#define RENEW_NS         UINT64_C(60000000000) /* at least between two readings of all tables */

/* Borrowed by the thread while it is worked on. */
struct block {
	struct block *next;
	struct buf records;         /* as they were put; once it is done, as they are taken */
	struct whole_counts counts; /* once it is done */
	bool is_done, is_worked_on;
	bool is_dropped; /* the thread frees it */
	uint64_t batch;  /* in which it was put */
};

struct queue {
	struct block *first, *last;
	bool is_open; /* the last one accepts more */
	size_t taken; /* bytes of the first one */
};

struct id {
	uint64_t id; /* the key */
	struct trace_layout layout;
	uint32_t stack_bytes; /* as asked: a copy with fewer may have been shortened */
	bool is_wanted, drops_bytes;
};

/* What was read of files, which cannot be given back in parts. */
struct tables {
	struct elf_reader *reader;
	struct elf_finder *finder;
	struct elf_living living;
	struct unwinder *unwinder;
};

struct whole {
	struct whole_config config;
	pthread_mutex_t lock;
	pthread_cond_t wake, done;
	pthread_t thread;
	bool is_running, is_ending;
	uint64_t batch; /* what was put in earlier ones can be unwound */
	uint8_t joint[PERF_ABI_MAX_RECORD_BYTES + 8]; /* a record that wraps */
	struct queue *queue;                          /* owned; per CPU */
	uint64_t bytes;                               /* in queues, as they were put */
	uint64_t nr_open;                             /* blocks that are not done */
	struct buf spare[MAX_SPARE];                  /* for blocks: their pages are there */
	size_t nr_spare;
	struct whole_bases bases;
	const struct unwind_machine *machine; /* NULL: not known */
	struct dict ids;                      /* struct id */
	struct buf made, side;                /* records of tasks and mappings */
	size_t side_ready;                    /* bytes of side, of all rings */
	bool has_lost;                        /* some of them */
	struct whole_counts counts;

	/* of the thread */
	struct whole_spaces *spaces;
	struct elf_file *vdso;
	struct tables *tables;
	struct whole_stack stack;
	struct trace_waker waker;
	struct buf with_waker; /* one record */
	struct buf records[2]; /* swapped with side and made */
	uint64_t forgotten_ns, renewed_ns;
	bool is_ready;
	bool is_losing; /* records that it has taken are not all */
};

static bool find_living(void *arg, const struct elf_wanted *wanted, size_t i,
			struct elf_mapped *out)
{
	const struct whole *w = arg;

	return i == 0 && whole_spaces_holder(w->spaces, wanted->path, wanted->inode, &out->pid,
					     &out->start, &out->end);
}

static void free_tables(struct tables *t)
{
	if (!t)
		return;
	unwinder_free(t->unwinder);
	if (t->living.finder)
		elf_finder_remove_living(&t->living);
	elf_finder_free(t->finder);
	elf_reader_free(t->reader);
	mem_free(t);
}

static int open_tables(struct whole *w, struct tables *t)
{
	const struct elf_reader_config reader = {.max_bytes = TABLES_MAX_BYTES,
						 .max_ns = TABLES_MAX_NS};
	struct elf_finder_config finder = {0};
	struct unwinder_config unwinder = {
	    .maps = whole_spaces_maps(w->spaces), .machine = w->config.machine, .vdso = w->vdso};
	struct clock_triple now;
	int rc = elf_reader_new(&reader, &t->reader);

	clock_triple_now(&now);
	finder.begun_ns = now.realtime_ns;
	finder.reader = t->reader;
	rc = rc ?: elf_finder_new(&finder, &t->finder);
	if (rc)
		return rc;
	t->living = (struct elf_living){.finder = t->finder, .find = find_living, .arg = w};
	elf_finder_add_living(&t->living);
	unwinder.finder = t->finder;
	return unwinder_new(&unwinder, &t->unwinder);
}

static int make_tables(struct whole *w)
{
	struct tables *t = mem_zalloc(sizeof(*t));
	int rc = t ? open_tables(w, t) : -ENOMEM;

	if (rc) {
		free_tables(t);
		return rc;
	}
	free_tables(w->tables);
	w->tables = t;
	return 0;
}

int whole_new(const struct whole_config *config, struct whole **out)
{
	struct whole *w = mem_zalloc(sizeof(*w));
	int rc;

	if (!w)
		return -ENOMEM;
	w->config = *config;
	w->machine = unwind_machine_find(config->machine);
	dict_init(&w->ids, sizeof(struct id), DICT_KEY(struct id, id), MAX_IDS);
	buf_init(&w->with_waker, PERF_ABI_MAX_RECORD_BYTES);
	buf_init(&w->made, MAX_RECORDS_BYTES);
	buf_init(&w->side, MAX_RECORDS_BYTES);
	buf_init(&w->records[0], MAX_RECORDS_BYTES);
	buf_init(&w->records[1], MAX_RECORDS_BYTES);
	pthread_mutex_init(&w->lock, NULL);
	(void)thread_cond_init(&w->wake);
	(void)thread_cond_init(&w->done);
	w->queue = mem_calloc(config->nr_cpus, sizeof(*w->queue));
	w->spaces = whole_spaces_new();
	w->vdso = elf_vdso_open();
	rc = w->queue && w->spaces ? make_tables(w) : -ENOMEM;
	if (rc) {
		whole_free(w);
		return rc;
	}
	*out = w;
	return 0;
}

static void free_block(struct block *b)
{
	buf_fini(&b->records);
	mem_free(b);
}

static void free_queue(struct queue *q)
{
	while (q->first) {
		struct block *b = q->first;

		q->first = b->next;
		free_block(b);
	}
}

void whole_free(struct whole *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->is_ending = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	if (w->is_running)
		pthread_join(w->thread, NULL);
	for (uint32_t i = 0; w->queue && i < w->config.nr_cpus; i++)
		free_queue(&w->queue[i]);
	while (w->nr_spare)
		buf_fini(&w->spare[--w->nr_spare]);
	free_tables(w->tables);
	elf_file_close(w->vdso);
	whole_spaces_free(w->spaces);
	for (int i = 0; i < 2; i++)
		buf_fini(&w->records[i]);
	buf_fini(&w->with_waker);
	buf_fini(&w->made);
	buf_fini(&w->side);
	dict_fini(&w->ids);
	mem_free(w->queue);
	pthread_cond_destroy(&w->wake);
	pthread_cond_destroy(&w->done);
	pthread_mutex_destroy(&w->lock);
	mem_free(w);
}

int whole_add_id(struct whole *w, uint64_t id, const struct perf_event_attr *attr, bool drops_bytes)
{
	struct id *known;

	pthread_mutex_lock(&w->lock);
	known = dict_get(&w->ids, &id);
	if (known) {
		known->is_wanted = trace_layout_init(&known->layout, attr, attr->size);
		known->stack_bytes = attr->sample_stack_user;
		known->drops_bytes = drops_bytes;
	}
	pthread_mutex_unlock(&w->lock);
	return known ? 0 : -ENOMEM;
}

void whole_add_side(struct whole *w, const void *const part[2], const size_t len[2])
{
	pthread_mutex_lock(&w->lock);
	buf_add(&w->side, part[0], len[0]);
	buf_add(&w->side, part[1], len[1]);
	w->has_lost |= buf_error(&w->side) != 0;
	pthread_mutex_unlock(&w->lock);
}

void whole_add_made(struct whole *w, const void *records, size_t len)
{
	pthread_mutex_lock(&w->lock);
	buf_add(&w->made, records, len);
	w->has_lost |= buf_error(&w->made) != 0;
	pthread_mutex_unlock(&w->lock);
}

/* ---- the thread that empties the rings */

/* Under the lock, as is all that has to do with ids: they may be added. */
static const struct id *id_of(const struct whole *w, const uint8_t *p, size_t size, uint32_t kind)
{
	uint64_t id;
	const struct id *known;

	if (kind != PERF_RECORD_SAMPLE || size < 16)
		return NULL;
	id = trace_word(p + 8, 0);
	known = dict_at(&w->ids, dict_find(&w->ids, &id));
	return known && known->is_wanted ? known : NULL;
}

/* To touch new pages costs as much as to copy into them. */
static void set_records(struct whole *w, struct buf *records)
{
	if (w->nr_spare)
		*records = w->spare[--w->nr_spare];
	else
		buf_init(records, 2 * BLOCK_BYTES + PERF_ABI_MAX_RECORD_BYTES);
}

static void spare_records(struct whole *w, struct buf *records)
{
	if (w->nr_spare == MAX_SPARE) {
		buf_fini(records);
		return;
	}
	buf_reset(records);
	w->spare[w->nr_spare++] = *records;
}

static struct block *new_block(struct whole *w, struct queue *q)
{
	struct block *b = mem_zalloc(sizeof(*b));

	if (!b)
		return NULL;
	set_records(w, &b->records);
	if (q->last)
		q->last->next = b;
	else
		q->first = b;
	q->last = b;
	q->is_open = true;
	b->batch = w->batch;
	w->nr_open++;
	return b;
}

static bool copy_of(const struct whole *w, const struct trace_layout *l,
		    const struct trace_record *r, struct whole_copy *out)
{
	*out = (struct whole_copy){.stack = r->stack, .len = r->stack_len, .tid = r->tid};
	return unwind_machine_sp(w->machine, l, r, &out->sp);
}

static size_t needed_of(const struct whole *w, const struct trace_layout *l,
			const struct trace_record *r)
{
	struct whole_copy c;

	return copy_of(w, l, r, &c) ? whole_bases_needed(&w->bases, &c) : r->stack_len;
}

/* Copies a record, of its stack only what there is, and is needed. */
static bool put_record(struct whole *w, struct queue *q, const uint8_t *p, size_t size,
		       uint32_t kind)
{
	const struct id *id = id_of(w, p, size, kind);
	struct block *b = q->is_open ? q->last : NULL;
	struct trace_record r;
	size_t before;

	if (!b || b->records.len > BLOCK_BYTES)
		b = new_block(w, q);
	if (!b)
		return false;
	before = b->records.len;
	if (id && trace_record_decode(&id->layout, p, size, &r) == 0)
		whole_record_add_short(&b->records, &r, needed_of(w, &id->layout, &r));
	else
		buf_add(&b->records, p, size);
	if (buf_error(&b->records)) {
		b->records.error = 0; /* what it has is whole */
		buf_cut(&b->records, before);
		return false;
	}
	w->bytes += b->records.len - before;
	return true;
}

/* Returns the bytes of the whole records that were put. */
static size_t put_records(struct whole *w, struct queue *q, const uint8_t *p, size_t len)
{
	size_t at = 0, size;
	uint32_t kind;

	while (at < len && (size = trace_record_size(p + at, len - at, &kind)) != 0 &&
	       put_record(w, q, p + at, size, kind))
		at += size;
	return at;
}

/* The record of which left bytes are at the end of the first part, and the others in the second
 * one. */
static size_t put_wrapped(struct whole *w, struct queue *q, const uint8_t *p, size_t left,
			  const uint8_t *behind, size_t len)
{
	size_t more = sizeof(w->joint) - left < len ? sizeof(w->joint) - left : len, size;
	uint32_t kind;

	memcpy(w->joint, p, left);
	memcpy(w->joint + left, behind, more);
	size = trace_record_size(w->joint, left + more, &kind);
	return size > left && put_record(w, q, w->joint, size, kind) ? size : 0;
}

size_t whole_put(struct whole *w, uint32_t cpu, const void *const part[2], const size_t len[2])
{
	struct queue *q = &w->queue[cpu];
	const uint8_t *first = part[0], *second = part[1];
	size_t put = 0, left;
	bool has_room;

	pthread_mutex_lock(&w->lock);
	has_room = w->is_running && w->bytes + len[0] + len[1] <= w->config.max_bytes;
	w->counts.refused += w->is_running && !has_room;
	if (has_room)
		put = put_records(w, q, first, len[0]);
	left = len[0] - put;
	if (has_room && len[1] && left && left < sizeof(w->joint))
		put += put_wrapped(w, q, first + put, left, second, len[1]);
	if (has_room && len[1] && put >= len[0])
		put += put_records(w, q, second + (put - len[0]), len[0] + len[1] - put);
	pthread_mutex_unlock(&w->lock);
	return put;
}

void whole_go(struct whole *w)
{
	pthread_mutex_lock(&w->lock);
	for (uint32_t i = 0; i < w->config.nr_cpus; i++)
		w->queue[i].is_open = false;
	w->side_ready = w->side.len;
	w->batch++;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

/* Under the lock: moves whole records of the first block. False: no more of it fits, or it is not
 * done. */
static bool take_from(struct whole *w, struct queue *q, struct buf *out)
{
	struct block *b = q->first;
	const uint8_t *p;
	size_t left, size, len = 0;
	uint32_t kind;

	if (!b || !b->is_done)
		return false;
	p = (const uint8_t *)b->records.data + q->taken;
	left = b->records.len - q->taken;
	while ((size = trace_record_size(p + len, left - len, &kind)) != 0 &&
	       out->len + len + size <= out->max_bytes)
		len += size;
	if (len)
		buf_add(out, p, len);
	q->taken += len;
	if (size)
		return false;
	q->first = b->next;
	if (!q->first)
		q->last = NULL;
	q->taken = 0;
	spare_records(w, &b->records);
	mem_free(b);
	return true;
}

bool whole_take(struct whole *w, uint32_t cpu, struct buf *out)
{
	pthread_mutex_lock(&w->lock);
	while (!buf_error(out) && take_from(w, &w->queue[cpu], out))
		continue;
	pthread_mutex_unlock(&w->lock);
	return out->len;
}

/* Under the lock. */
static void finish_block(struct whole *w, struct block *b, size_t put_bytes)
{
	b->is_done = true;
	w->bytes -= put_bytes;
	w->nr_open--;
	w->counts.unwound += b->counts.unwound;
	w->counts.kept += b->counts.kept;
	w->counts.unknown += b->counts.unknown;
	w->counts.without_stack += b->counts.without_stack;
}

/* Under the lock: the thread goes on with its block, and then frees it. *b becomes one with the
 * same records. */
static bool drop_block(struct queue *q, struct block **b, struct block *before)
{
	struct block *old = *b, *copy = mem_zalloc(sizeof(*copy));

	if (!copy)
		return false;
	buf_init(&copy->records, old->records.max_bytes);
	buf_add(&copy->records, old->records.data, old->records.len);
	copy->next = old->next;
	if (before)
		before->next = copy;
	else
		q->first = copy;
	if (q->last == old)
		q->last = copy;
	old->is_dropped = true;
	*b = copy;
	return true;
}

static uint64_t count_samples(const struct whole *w, const struct block *b)
{
	const uint8_t *p = (const uint8_t *)b->records.data;
	uint64_t nr = 0;
	uint32_t kind;
	size_t size;

	for (size_t at = 0; at < b->records.len; at += size) {
		size = trace_record_size(p + at, b->records.len - at, &kind);
		if (!size)
			break;
		nr += id_of(w, p + at, size, kind) != NULL;
	}
	return nr;
}

static void give_up(struct whole *w, struct queue *q)
{
	struct block *before = NULL;

	q->is_open = false;
	for (struct block *b = q->first; b; before = b, b = b->next) {
		if (b->is_done)
			continue;
		if (b->is_worked_on && !drop_block(q, &b, before))
			continue;
		b->counts = (struct whole_counts){.kept = count_samples(w, b)};
		w->counts.late += b->counts.kept;
		finish_block(w, b, b->records.len);
	}
}

void whole_settle(struct whole *w, uint64_t until_ns)
{
	whole_go(w);
	pthread_mutex_lock(&w->lock);
	while (w->is_running && w->nr_open &&
	       thread_cond_wait(&w->done, &w->lock, until_ns) != -ETIMEDOUT)
		continue;
	for (uint32_t i = 0; w->nr_open && i < w->config.nr_cpus; i++)
		give_up(w, &w->queue[i]);
	pthread_mutex_unlock(&w->lock);
}

struct whole_counts whole_counts(struct whole *w)
{
	struct whole_counts c;

	pthread_mutex_lock(&w->lock);
	c = w->counts;
	pthread_mutex_unlock(&w->lock);
	return c;
}

/* ---- the thread that unwinds */

/* Under the lock. NULL: nothing is to be done. */
static struct block *next_block(struct whole *w)
{
	for (uint32_t i = 0; i < w->config.nr_cpus; i++) {
		struct queue *q = &w->queue[i];

		for (struct block *b = q->first; b; b = b->next)
			if (!b->is_done && !b->is_worked_on && b->batch < w->batch)
				return b;
	}
	return NULL;
}

/* Under the lock: takes the records of tasks and mappings that came before the last whole_go: of
 * later ones, not all rings are there. */
static void take_records(struct whole *w)
{
	struct buf side = w->side, made = w->made;

	w->side = w->records[0];
	w->made = w->records[1];
	w->records[0] = side;
	w->records[1] = made;
	if (side.len > w->side_ready) {
		buf_add(&w->side, side.data + w->side_ready, side.len - w->side_ready);
		buf_cut(&w->records[0], w->side_ready);
	}
	w->side_ready = 0;
	w->is_losing = w->has_lost;
	w->has_lost = false;
}

static void apply_records(struct whole *w)
{
	whole_spaces_add(w->spaces, w->records[0].data, w->records[0].len, false);
	whole_spaces_add(w->spaces, w->records[1].data, w->records[1].len, true);
	whole_spaces_apply(w->spaces);
	if (w->is_losing)
		whole_spaces_lose(w->spaces);
	buf_reset(&w->records[0]);
	buf_reset(&w->records[1]);
}

/* Of the next stacks of the thread nothing above where this one ended is copied. */
static void set_base(struct whole *w, const struct id *id, const struct trace_record *r,
		     enum unwind_end end)
{
	struct whole_copy c;
	uint64_t address;

	if (!copy_of(w, &id->layout, r, &c))
		return;
	pthread_mutex_lock(&w->lock);
	if (unwinder_base(w->tables->unwinder, &address))
		whole_bases_add(&w->bases, &c, address);
	else if (end == UNWIND_TRUNCATED && r->stack_len < id->stack_bytes)
		whole_bases_refuse(&w->bases, r->tid);
	pthread_mutex_unlock(&w->lock);
}

/* Of the others a reader may find more, by what it knows of code made at run time. */
static const enum whole_end ends[] = {
    [UNWIND_WHOLE] = WHOLE_END_START,
    [UNWIND_NO_REGS] = 0,
    [UNWIND_TRUNCATED] = WHOLE_END_BYTES,
    [UNWIND_NO_TABLE] = 0,
    [UNWIND_INVALID] = WHOLE_END_INVALID,
    [UNWIND_MAX] = 0,
    [UNWIND_NO_POINTER] = 0,
    [UNWIND_UNPROVEN] = 0,
};

/* Sets the stack of a sample of that process. */
static enum unwind_end unwind(struct whole *w, const struct whole_life *process, uint64_t time_ns,
			      const struct trace_layout *l, const struct trace_record *r)
{
	enum unwind_end end = UNWIND_NO_REGS;

	w->stack.nr = process ? unwind_user(w->tables->unwinder, process, time_ns, l, r,
					    w->stack.address, WHOLE_MAX_DEPTH, w->stack.exact, &end)
			      : 0;
	w->stack.end = ends[end];
	w->stack.refutes_chain = process && unwinder_refutes_chain(w->tables->unwinder);
	return end;
}

/* Where it is not whole, a reader compares it with the callchain by frame pointers. */
static bool replace_waker(struct whole *w, const struct trace_record *r)
{
	const struct trace_record *waker = &w->waker.record;
	const struct whole_life *process = whole_spaces_find(w->spaces, waker->pid, waker->time_ns);

	if (!process && waker->stack_len > MAX_UNKNOWN_BYTES) {
		whole_record_add_short_waker(&w->with_waker, r, MAX_UNKNOWN_BYTES);
		return true;
	}
	return process &&
	       unwind(w, process, waker->time_ns, &w->waker.layout, waker) == UNWIND_WHOLE &&
	       whole_record_add_waker(&w->with_waker, r, &w->stack);
}

/* Unwinds the stack of the waker of a wait. The record moves then. */
static void unwind_waker(struct whole *w, const struct id *id, const uint8_t **p, size_t *size)
{
	struct trace_record r;

	buf_reset(&w->with_waker);
	if (!id->layout.has_waker || trace_record_decode(&id->layout, *p, *size, &r) ||
	    !trace_waker_decode(&id->layout, &r, &w->waker) || !w->waker.record.stack_len ||
	    !replace_waker(w, &r) || buf_error(&w->with_waker))
		return;
	*p = (const uint8_t *)w->with_waker.data;
	*size = w->with_waker.len;
}

/* Appends the sample without its bytes. False: it keeps them. */
static bool unwind_sample(struct whole *w, const struct id *id, const uint8_t *p, size_t size,
			  struct buf *out, struct whole_counts *counts)
{
	const struct whole_life *process;
	struct trace_record r;
	enum unwind_end end;

	if (trace_record_decode(&id->layout, p, size, &r))
		return false;
	counts->without_stack += !r.stack_len;
	process = r.stack_len ? whole_spaces_find(w->spaces, r.pid, r.time_ns) : NULL;
	counts->unknown += r.stack_len && !process;
	end = unwind(w, process, r.time_ns, &id->layout, &r);
	if (process)
		set_base(w, id, &r, end);
	return (w->stack.end || (id->drops_bytes && r.stack_len)) &&
	       whole_record_add(out, &id->layout, &r, &w->stack);
}

static bool find_id(struct whole *w, const uint8_t *p, size_t size, uint32_t kind, struct id *out)
{
	const struct id *id;

	pthread_mutex_lock(&w->lock);
	id = id_of(w, p, size, kind);
	if (id)
		*out = *id;
	pthread_mutex_unlock(&w->lock);
	return id;
}

/* The records of the block, as they are taken. */
static void work_on(struct whole *w, const struct block *b, struct buf *out,
		    struct whole_counts *counts)
{
	const uint8_t *p = (const uint8_t *)b->records.data;
	struct id id = {.id = 0};
	const uint8_t *sample;
	size_t size, len;
	uint32_t kind;

	for (size_t at = 0; at < b->records.len; at += size) {
		size = trace_record_size(p + at, b->records.len - at, &kind);
		if (!size)
			break;
		if (!find_id(w, p + at, size, kind, &id)) {
			buf_add(out, p + at, size);
			continue;
		}
		sample = p + at;
		len = size;
		unwind_waker(w, &id, &sample, &len);
		if (unwind_sample(w, &id, sample, len, out, counts)) {
			counts->unwound++;
			continue;
		}
		counts->kept++;
		buf_add(out, sample, len);
	}
}

/* Under the lock, which it leaves meanwhile. */
static void process_block(struct whole *w, struct block *b)
{
	struct whole_counts counts = {0};
	struct buf out;

	b->is_worked_on = true;
	set_records(w, &out);
	take_records(w);
	pthread_mutex_unlock(&w->lock);
	apply_records(w);
	work_on(w, b, &out, &counts);
	pthread_mutex_lock(&w->lock);
	b->is_worked_on = false;
	if (b->is_dropped) {
		spare_records(w, &out);
		free_block(b);
		return;
	}
	if (!buf_error(&out)) { /* else it keeps what it has */
		size_t put_bytes = b->records.len;

		spare_records(w, &b->records);
		b->records = out;
		b->counts = counts;
		finish_block(w, b, put_bytes);
		return;
	}
	spare_records(w, &out);
	b->counts.kept = counts.unwound + counts.kept;
	finish_block(w, b, b->records.len);
}

/* Until what ran before is known, samples of it would have to keep their bytes. */
static bool is_ready(struct whole *w)
{
	if (!w->is_ready)
		w->is_ready = !w->config.is_ready || w->config.is_ready(w->config.arg);
	return w->is_ready;
}

/* A session may last for days, in which ever more files are mapped. Objects have other numbers
 * then, by which tables are known. */
static bool renew(struct whole *w, uint64_t now_ns)
{
	const bool is_low = elf_reader_is_low(w->tables->reader) || whole_spaces_is_low(w->spaces);

	if (!is_low || now_ns < w->renewed_ns + RENEW_NS)
		return false;
	w->renewed_ns = now_ns;
	if (make_tables(w) == 0) /* else they stay as they are */
		whole_spaces_renew(w->spaces);
	return true;
}

/* Under the lock, which it leaves meanwhile. False: it is not due. */
static bool forget(struct whole *w)
{
	const uint64_t now_ns = clock_monotonic_ns(), keep_ns = FORGET_NS + w->config.keep_ns;
	bool is_renewed;

	if (now_ns < w->forgotten_ns + FORGET_NS)
		return false;
	w->forgotten_ns = now_ns;
	if (w->is_ready) /* a flight recorder may have no samples for days */
		take_records(w);
	pthread_mutex_unlock(&w->lock);
	apply_records(w);
	if (now_ns > keep_ns)
		whole_spaces_forget(w->spaces, now_ns - keep_ns);
	is_renewed = renew(w, now_ns);
	pthread_mutex_lock(&w->lock);
	w->counts.renewed += is_renewed;
	return true;
}

static void *run(void *arg)
{
	struct whole *w = arg;

	(void)setpriority(PRIO_PROCESS, 0, w->config.nice);
	w->forgotten_ns = clock_monotonic_ns();
	pthread_mutex_lock(&w->lock);
	while (!w->is_ending) {
		struct block *b = is_ready(w) ? next_block(w) : NULL;

		if (b) {
			process_block(w, b);
			continue;
		}
		w->counts.unwind_ns = clock_thread_cpu_ns();
		if (!w->nr_open)
			pthread_cond_broadcast(&w->done);
		if (forget(w))
			continue;
		(void)thread_cond_wait(&w->wake, &w->lock,
				       w->is_ready ? UINT64_MAX : clock_monotonic_ns() + PAUSE_NS);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int whole_start(struct whole *w)
{
	int rc = thread_start_blocked(&w->thread, run, w);

	w->is_running = rc == 0;
	return rc;
}
