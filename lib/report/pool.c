/*
 * A row for each key and stack; stacks are a tree of frames. Rows are read by stack, and added up
 * where a sink cannot distinguish them: it sees each stack few times.
 */
#include "report/pool.h"

#include "base/dict.h"
#include "base/mem.h"
#include "base/order.h"
#include "report/fold.h"
#include "report/stacks.h"

#include <errno.h>

struct row {
	uint32_t key, stack; /* the dict's key */
	struct report_weight weight;
};

struct report_pool {
	struct report_sink sink;
	struct report_stacks *stacks; /* owned */
	struct dict keys;             /* struct report_key */
	struct dict rows;             /* struct row */
	size_t max_bytes;
	bool is_sorted;
};

/* Of the places that are used; what has room for more is not counted. */
size_t report_pool_bytes(const struct report_pool *k)
{
	return report_stacks_nr(k->stacks) * (sizeof(struct report_stack_node) + sizeof(uint64_t)) +
	       k->keys.nr * sizeof(struct report_key) + k->rows.nr * sizeof(struct row);
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct report_pool *k = arg;
	uint32_t of[2] = {dict_add(&k->keys, &e->key)};
	struct row *row;
	int rc = report_stacks_add(k->stacks, e->frames, e->nr_frames, &of[1]);

	if (rc || of[0] == DICT_NONE)
		return -ENOMEM;
	row = dict_get(&k->rows, of);
	if (!row)
		return -ENOMEM;
	report_weight_add(&row->weight, &e->weight);
	k->is_sorted = false;
	return report_stacks_is_full(k->stacks) || report_pool_bytes(k) > k->max_bytes ? -ENOSPC
										       : 0;
}

struct report_pool *report_pool_new(const struct report_sink *like, size_t max_bytes)
{
	struct report_pool *k = mem_zalloc(sizeof(*k));

	if (!k)
		return NULL;
	k->max_bytes = max_bytes;
	k->sink = (struct report_sink){.parts = report_pool_parts(like),
				       .slice_ns = like->slice_ns,
				       .takes_maxima = true,
				       .ignores_frames = like->ignores_frames,
				       .entry = add_entry,
				       .arg = k};
	dict_init(&k->keys, sizeof(struct report_key), sizeof(struct report_key), DICT_MAX);
	dict_init(&k->rows, sizeof(struct row), DICT_KEY(struct row, stack), DICT_MAX);
	k->stacks = report_stacks_new();
	if (k->stacks)
		return k;
	report_pool_free(k);
	return NULL;
}

void report_pool_free(struct report_pool *k)
{
	if (!k)
		return;
	report_stacks_free(k->stacks);
	dict_fini(&k->keys);
	dict_fini(&k->rows);
	mem_free(k);
}

const struct report_sink *report_pool_sink(struct report_pool *k)
{
	return &k->sink;
}

/* The sampled function first, with those into which it was inlined; then its callers. */
static size_t read_frames(const struct report_pool *k, uint32_t stack, bool with_callers,
			  struct report_frame *frames)
{
	bool is_over = false;
	size_t nr = 0;

	for (; stack != REPORT_NO_STACK && nr < REPORT_MAX_FRAMES && !is_over; nr++) {
		const struct report_stack_node *n = report_stacks_at(k->stacks, stack);

		frames[nr] = n->frame;
		is_over = !with_callers && !n->frame.is_inlined;
		stack = n->parent;
	}
	return nr;
}

static void mask(struct report_key *key, unsigned parts)
{
	const struct {
		unsigned part;
		uint32_t *at[2];
	} fields[] = {{REPORT_BY_PID, {&key->pid, NULL}},
		      {REPORT_BY_TID, {&key->tid, &key->thread}},
		      {REPORT_BY_COMM, {&key->comm, NULL}},
		      {REPORT_BY_SESSION, {&key->session, NULL}},
		      {REPORT_BY_STATE, {&key->state, NULL}}};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		for (size_t n = 0; n < 2 && fields[i].at[n] && !(parts & fields[i].part); n++)
			*fields[i].at[n] = 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return order_u64(x->stack, y->stack) ?: order_u64(x->key, y->key);
}

/* What a sink sees of a key: many keys are one. */
struct seen {
	uint32_t number; /* of the masked key */
	bool is_wanted;
};

/* A reading. */
struct reader {
	const struct report_pool *k;
	const struct report_sink *sink;
	const struct report_pool_choice *choice;
	struct dict masked;          /* struct report_key */
	struct seen *seen;           /* owned; by key */
	struct report_frame *frames; /* owned; of the stack */
	uint32_t stack;              /* of frames */
	size_t nr_frames;
};

static int reader_init(struct reader *r)
{
	const struct report_pool *k = r->k;

	dict_init(&r->masked, sizeof(struct report_key), sizeof(struct report_key), DICT_MAX);
	r->frames = mem_calloc(REPORT_MAX_FRAMES, sizeof(*r->frames));
	r->seen = mem_calloc(k->keys.nr + 1, sizeof(*r->seen));
	if (!r->frames || !r->seen)
		return -ENOMEM;
	for (uint32_t i = 0; i < k->keys.nr; i++) {
		struct report_key key = *(const struct report_key *)dict_at(&k->keys, i);

		r->seen[i].is_wanted = r->choice->is_wanted(r->choice->arg, &key);
		mask(&key, r->sink->parts);
		r->seen[i].number = dict_add(&r->masked, &key);
		if (r->seen[i].number == DICT_NONE)
			return -ENOMEM;
	}
	return 0;
}

static void reader_fini(struct reader *r)
{
	dict_fini(&r->masked);
	mem_free(r->frames);
	mem_free(r->seen);
}

/* Row b is the same as row a for the sink. */
static bool is_same(const struct reader *r, const struct row *a, const struct row *b)
{
	const struct seen *x = &r->seen[a->key], *y = &r->seen[b->key];

	return a->stack == b->stack && x->number == y->number && x->is_wanted == y->is_wanted &&
	       a->weight.is_maximum == b->weight.is_maximum;
}

static int pass(struct reader *r, const struct row *row, const struct report_weight *weight)
{
	const struct seen *seen = &r->seen[row->key];
	struct report_entry e = {.weight = *weight, .frames = r->frames};

	if (weight->is_maximum && !r->sink->takes_maxima)
		return 0;
	e.key = *(const struct report_key *)dict_at(&r->masked, seen->number);
	r->choice->count(r->choice->arg, &e.key, weight, seen->is_wanted);
	if (!seen->is_wanted || !r->sink->entry)
		return 0;
	if (r->stack != row->stack) {
		r->nr_frames =
		    read_frames(r->k, row->stack, r->sink->parts & REPORT_BY_STACK, r->frames);
		r->stack = row->stack;
	}
	e.nr_frames = r->nr_frames;
	return r->sink->entry(r->sink->arg, &e);
}

int report_pool_read(struct report_pool *k, const struct report_sink *sink,
		     const struct report_pool_choice *choice)
{
	struct reader r = {.k = k, .sink = sink, .choice = choice};
	struct row *rows = k->rows.items;
	int rc = reader_init(&r);

	if (!k->is_sorted)
		order_sort(rows, k->rows.nr, sizeof(*rows), compare_rows);
	k->is_sorted = true; /* numbers of rows are not used again */
	for (size_t i = 0, next; i < k->rows.nr && rc == 0; i = next) {
		struct report_weight weight = rows[i].weight;

		for (next = i + 1; next < k->rows.nr && is_same(&r, &rows[i], &rows[next]); next++)
			report_weight_add(&weight, &rows[next].weight);
		rc = pass(&r, &rows[i], &weight);
	}
	reader_fini(&r);
	return rc;
}
