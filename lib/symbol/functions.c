/*
 * Chunks of functions and chains of keys. Published entries are complete and never change.
 */
#include "symbol/functions.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

struct symbol_function_node {
	struct symbol_function_node *next;
	struct symbol_function_key key;
	const struct symbol_function *function;
};

struct symbol_function_text {
	struct symbol_function_text *next;
	const char *raw, *text; /* raw: as passed; text: sanitised */
};

static const size_t max_bytes = (size_t)2 << 30; /* for names and keys */

static const struct symbol_function *publish(struct symbol_functions *f,
					     const struct symbol_function *fn)
{
	size_t nr = atomic_load_explicit(&f->nr, memory_order_relaxed);
	size_t c = nr / SYMBOL_FUNCTIONS_CHUNK;
	struct symbol_function *chunk, *p;

	if (c == SYMBOL_FUNCTIONS_MAX_CHUNKS)
		return NULL;
	chunk = atomic_load_explicit(&f->chunk[c], memory_order_relaxed);
	if (!chunk) {
		chunk = mem_calloc(SYMBOL_FUNCTIONS_CHUNK, sizeof(*chunk));
		if (!chunk)
			return NULL;
		atomic_store_explicit(&f->chunk[c], chunk, memory_order_release);
	}
	p = &chunk[nr % SYMBOL_FUNCTIONS_CHUNK];
	*p = *fn;
	p->number = (uint32_t)nr;
	atomic_store_explicit(&f->nr, nr + 1, memory_order_release);
	return p;
}

static char *clean(struct symbol_functions *f, const char *text)
{
	char *p = arena_strdup(&f->arena, text);

	if (p)
		str_disarm(p);
	return p;
}

static const struct symbol_function *add(struct symbol_functions *f,
					 const struct symbol_function *draft)
{
	const struct symbol_function *made;
	struct symbol_function fn = *draft;

	fn.name = clean(f, draft->name);
	fn.linkage_name = fn.name;
	if (fn.name && draft->linkage_name && strcmp(draft->name, draft->linkage_name) != 0)
		fn.linkage_name = clean(f, draft->linkage_name);
	made = fn.name && fn.linkage_name ? publish(f, &fn) : NULL;
	return made ? made : symbol_functions_get(f, 0);
}

int symbol_functions_init(struct symbol_functions *f)
{
	static const struct symbol_function none = {
	    .name = "[out of memory]",
	    .linkage_name = "[out of memory]",
	    .object = "[unknown]",
	    .object_path = "[unknown]",
	};

	pthread_mutex_init(&f->lock, NULL);
	arena_init(&f->arena, max_bytes);
	if (publish(f, &none))
		return 0;
	symbol_functions_fini(f);
	return -ENOMEM;
}

void symbol_functions_fini(struct symbol_functions *f)
{
	for (size_t i = 0; i < SYMBOL_FUNCTIONS_MAX_CHUNKS; i++)
		mem_free(f->chunk[i]);
	arena_fini(&f->arena);
	pthread_mutex_destroy(&f->lock);
}

const struct symbol_function *symbol_functions_add(struct symbol_functions *f,
						   const struct symbol_function *draft,
						   _Atomic(const struct symbol_function *) *slot)
{
	const struct symbol_function *fn;

	pthread_mutex_lock(&f->lock);
	fn = slot ? atomic_load_explicit(slot, memory_order_relaxed) : NULL;
	if (!fn) {
		fn = add(f, draft);
		if (slot)
			atomic_store_explicit(slot, fn, memory_order_release);
	}
	pthread_mutex_unlock(&f->lock);
	return fn;
}

static size_t hash(const struct symbol_function_key *k)
{
	uint64_t h = (k->space * 0x9e3779b97f4a7c15u) ^ k->address;

	h *= 0xff51afd7ed558ccdu;
	for (const char *p = k->linkage; p && *p; p++)
		h = (h ^ (uint8_t)*p) * 1099511628211u;
	return (size_t)(h ^ h >> 32) % SYMBOL_FUNCTIONS_NR_BUCKETS;
}

static bool is_same(const struct symbol_function_key *a, const struct symbol_function_key *b)
{
	return a->space == b->space && a->address == b->address && !a->linkage == !b->linkage &&
	       (!a->linkage || strcmp(a->linkage, b->linkage) == 0);
}

const struct symbol_function *symbol_functions_find(struct symbol_functions *f,
						    const struct symbol_function_key *key)
{
	const struct symbol_function_node *n =
	    atomic_load_explicit(&f->bucket[hash(key)], memory_order_acquire);

	while (n && !is_same(&n->key, key))
		n = n->next;
	return n ? n->function : NULL;
}

/* Under the lock. NULL: no memory. */
static const struct symbol_function *add_node(struct symbol_functions *f,
					      const struct symbol_function *draft,
					      const struct symbol_function_key *key)
{
	_Atomic(struct symbol_function_node *) *head = &f->bucket[hash(key)];
	struct symbol_function_node *n = arena_alloc(&f->arena, sizeof(*n));

	if (!n)
		return NULL;
	n->key = *key;
	if (key->linkage && !(n->key.linkage = arena_strdup(&f->arena, key->linkage)))
		return NULL;
	n->function = add(f, draft);
	n->next = atomic_load_explicit(head, memory_order_relaxed);
	atomic_store_explicit(head, n, memory_order_release);
	return n->function;
}

const struct symbol_function *symbol_functions_add_key(struct symbol_functions *f,
						       const struct symbol_function *draft,
						       const struct symbol_function_key *key)
{
	const struct symbol_function *fn = symbol_functions_find(f, key);

	if (fn)
		return fn;
	pthread_mutex_lock(&f->lock);
	fn = symbol_functions_find(f, key);
	if (!fn)
		fn = add_node(f, draft, key);
	pthread_mutex_unlock(&f->lock);
	return fn ? fn : symbol_functions_get(f, 0);
}

/* Under the lock. */
static const char *add_text(struct symbol_functions *f, const char *text, size_t len, size_t bucket)
{
	struct symbol_function_text *t = arena_alloc(&f->arena, sizeof(*t));

	if (!t)
		return NULL;
	t->raw = arena_strndup(&f->arena, text, len);
	t->text = t->raw ? clean(f, t->raw) : NULL;
	if (!t->text)
		return NULL;
	t->next = f->text[bucket];
	f->text[bucket] = t;
	return t->text;
}

const char *symbol_functions_text(struct symbol_functions *f, const char *text, size_t len)
{
	size_t bucket = hash_bytes(0, text, len) % SYMBOL_FUNCTIONS_NR_TEXT_BUCKETS;
	const struct symbol_function_text *t;
	const char *found;

	pthread_mutex_lock(&f->lock);
	t = f->text[bucket];
	while (t && !(strncmp(t->raw, text, len) == 0 && !t->raw[len]))
		t = t->next;
	found = t ? t->text : add_text(f, text, len, bucket);
	pthread_mutex_unlock(&f->lock);
	return found;
}

const struct symbol_function *symbol_functions_get(const struct symbol_functions *f,
						   uint32_t number)
{
	const struct symbol_function *chunk =
	    atomic_load_explicit(&f->chunk[number / SYMBOL_FUNCTIONS_CHUNK], memory_order_acquire);

	return &chunk[number % SYMBOL_FUNCTIONS_CHUNK];
}
