/*
 * A look walks the list of loaders, and of each its classes, up to the first that is known: what is
 * behind it was there before. That one is compared with what was read of it, as another loader may
 * be at the place of one that was freed; after a collection of garbage, so are more.
 */
#include "runtimes/methods.h"

#include "base/clock.h"
#include "base/dict.h"
#include "base/hash.h"
#include "base/mem.h"
#include "runtimes/jvm.h"
#include "runtimes/remote.h"
#include "trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	MAX_LOADERS = 1 << 16,
	MAX_CLASSES = 1 << 18,
	MAX_METHODS = 1 << 16,       /* of a class */
	MAX_COMPARED = 64,           /* classes of a loader after a collection of garbage */
	MAX_BYTES = 16 << 20,        /* of what is passed; later classes have no names */
	CHANGE_BYTES = 100,          /* and its texts and data */
	MAX_LOOK_NS = 5000000,       /* CPU time for classes that are read */
	MAX_IN_VAIN_NS = 1000000000, /* the same, where none can be */
	LINKED = 2,                  /* states of classes */
	IN_ERROR = 6,                /* the last one */
};

struct class
{
	uint64_t klass;  /* the key */
	uint64_t loader; /* where it is */
	bool is_read, is_array;
	uint64_t from_ns;             /* since when its methods have names, or may have them */
	uint64_t name, methods, pool; /* where they are, */
	uint64_t hash;                /* of the name and the list of methods */
	uint64_t *method;             /* owned */
	uint32_t nr_methods;
};

struct loader {
	uint64_t address; /* the key */
	bool is_seen, is_replaced;
	bool is_known;     /* since an earlier look */
	bool has_survived; /* others were freed since */
};

struct methods {
	struct jvm jvm;
	struct remote pages;
	struct hotspot_shared *shared;
	struct dict loaders, classes;
	uint64_t began_ns, ended_ns; /* the last look */
	uint64_t collections;        /* before it */
	uint64_t version;            /* of Java */
	uint64_t bytes;              /* passed */
	bool has_looked, has_collected, has_freed;
	bool
	    has_gone; /* a loader, at the last look: what is at its place may be read at the next */
	struct trace_compiled change;
	uint8_t lines[LINES_MAX_BYTES];
};

static void init_dicts(struct methods *m)
{
	dict_init(&m->loaders, sizeof(struct loader), DICT_KEY(struct loader, address),
		  MAX_LOADERS);
	dict_init(&m->classes, sizeof(struct class), DICT_KEY(struct class, klass), MAX_CLASSES);
}

int methods_new(const struct jvm *jvm, struct hotspot_shared *shared, uint64_t since_ns,
		struct methods **out)
{
	struct methods *m = mem_zalloc(sizeof(*m));
	uint32_t version = 0;

	if (!m)
		return -ENOMEM;
	(void)jvm_load(jvm, jvm->at.field[VMSTRUCTS_VERSION].at, &version, sizeof(version));
	m->jvm = *jvm;
	m->pages.pid = jvm->pid;
	m->jvm.pages = &m->pages;
	m->shared = shared;
	m->ended_ns = since_ns;
	m->version = version;
	init_dicts(m);
	*out = m;
	return 0;
}

static void free_classes(struct dict *classes)
{
	for (uint32_t i = 0; i < classes->nr; i++)
		mem_free(((struct class *)dict_at(classes, i))->method);
	dict_fini(classes);
}

void methods_free(struct methods *m)
{
	if (!m)
		return;
	free_classes(&m->classes);
	dict_fini(&m->loaders);
	mem_free(m);
}

/* As it is now. */
static bool count_collections(const struct methods *m, uint64_t *out)
{
	struct jvm now = m->jvm;

	now.pages = NULL;
	return jvm_collections(&now, out);
}

/* --- reading a class */

/* Sets where its parts are, and the list of its methods. False: it is not linked yet, or what was
 * read is no class. */
static bool read_class(struct methods *m, struct class *c)
{
	uint64_t layout, state, nr = 0;
	char name[JVM_SYMBOL_BYTES];
	uint64_t *list;

	if (!jvm_follow(&m->jvm, c->klass, VMSTRUCTS_CLASS_LAYOUT, &layout))
		return false;
	c->is_array = (int32_t)layout < 0;
	if (!layout || c->is_array ||
	    !jvm_follow(&m->jvm, c->klass, VMSTRUCTS_CLASS_STATE, &state) || state < LINKED ||
	    state > IN_ERROR || !jvm_follow(&m->jvm, c->klass, VMSTRUCTS_CLASS_NAME, &c->name) ||
	    !jvm_follow(&m->jvm, c->klass, VMSTRUCTS_CLASS_METHODS, &c->methods) ||
	    !jvm_follow(&m->jvm, c->klass, VMSTRUCTS_CLASS_POOL, &c->pool) ||
	    !jvm_symbol(&m->jvm, c->name, name) ||
	    !jvm_follow(&m->jvm, c->methods, VMSTRUCTS_METHODS_LENGTH, &nr) || nr > MAX_METHODS)
		return false;
	list = mem_calloc(nr + !nr, sizeof(*list));
	if (!list || !jvm_load(&m->jvm, c->methods + m->jvm.at.field[VMSTRUCTS_METHODS_DATA].at,
			       list, nr * sizeof(*list))) {
		mem_free(list);
		return false;
	}
	c->hash =
	    hash_mix(hash_bytes(0, list, nr * sizeof(*list)), hash_bytes(0, name, strlen(name)));
	c->method = list;
	c->nr_methods = (uint32_t)nr;
	return true;
}

/* Whether what is at its place is the same class. */
static bool is_still(struct methods *m, const struct class *c)
{
	struct class now = {.klass = c->klass};
	bool is;

	if (!c->is_read) /* no name was passed */
		return true;
	is = read_class(m, &now) && now.name == c->name && now.methods == c->methods &&
	     now.pool == c->pool && now.nr_methods == c->nr_methods && now.hash == c->hash;
	mem_free(now.method);
	return is;
}

/* --- which classes there are */

static void walk_classes(struct methods *m, struct loader *l, uint64_t klass)
{
	const size_t max_compared = m->has_collected ? MAX_COMPARED : 1;

	for (size_t nr_known = 0; klass && nr_known < max_compared;) {
		const size_t nr = m->classes.nr;
		struct class *c = dict_get(&m->classes, &klass);

		if (!c || atomic_load(&m->shared->is_left))
			return;
		if (m->classes.nr > nr) {
			c->loader = l->address;
			c->from_ns = m->ended_ns;
		} else if (c->loader != l->address || !is_still(m, c)) {
			l->is_replaced = true;
			return;
		} else {
			nr_known++;
		}
		if (!jvm_follow(&m->jvm, klass, VMSTRUCTS_CLASS_NEXT, &klass))
			return;
	}
}

/* False: the list cannot be read to its end. */
static bool walk_loaders(struct methods *m)
{
	uint64_t at, klass;

	if (!jvm_load(&m->jvm, m->jvm.at.field[VMSTRUCTS_LOADERS].at, &at, sizeof(at)))
		return false;
	for (size_t i = 0; at && i < MAX_LOADERS; i++) {
		struct loader *l = dict_get(&m->loaders, &at);

		if (!l || l->is_seen || atomic_load(&m->shared->is_left))
			return false;
		l->is_seen = true;
		if (jvm_follow(&m->jvm, at, VMSTRUCTS_LOADER_CLASSES, &klass))
			walk_classes(m, l, klass);
		if (!jvm_follow(&m->jvm, at, VMSTRUCTS_LOADER_NEXT, &at))
			return false;
	}
	return !at;
}

/* --- what is gone */

static void pass(struct methods *m, uint64_t time_ns, hotspot_fn *fn, void *arg)
{
	m->change.pid = m->jvm.pid;
	m->change.time_ns = time_ns;
	fn(arg, &m->change);
}

static void pass_gone(struct methods *m, const struct class *c, hotspot_fn *fn, void *arg)
{
	if (!c->is_read)
		return;
	for (uint32_t i = 0; i < c->nr_methods; i++) {
		m->change = (struct trace_compiled){.start = c->method[i], .end = c->method[i] + 1};
		pass(m, c->from_ns > m->began_ns ? c->from_ns : m->began_ns, fn, arg);
	}
}

static bool is_gone(const struct loader *l)
{
	return !l->is_seen || l->is_replaced;
}

static void keep_loader(struct methods *m, const struct loader *l)
{
	struct loader *to = dict_get(&m->loaders, &l->address);

	if (!to)
		return;
	to->is_known = l->is_known;
	to->has_survived = l->has_survived || l->is_known;
}

/* Keeps what is not gone. Memory that is missing is as if it were gone. */
static void drop_gone(struct methods *m, hotspot_fn *fn, void *arg)
{
	struct dict loaders = m->loaders, classes = m->classes;

	m->has_freed = true;
	init_dicts(m);
	for (uint32_t i = 0; i < loaders.nr; i++) {
		const struct loader *l = dict_at(&loaders, i);

		if (!is_gone(l))
			keep_loader(m, l);
	}
	for (uint32_t i = 0; i < classes.nr; i++) {
		struct class *c = dict_at(&classes, i);
		struct class *to = dict_find(&m->loaders, &c->loader) != DICT_NONE
				       ? dict_get(&m->classes, &c->klass)
				       : NULL;

		if (to) {
			*to = *c;
			continue;
		}
		pass_gone(m, c, fn, arg);
		mem_free(c->method);
	}
	dict_fini(&loaders);
	dict_fini(&classes);
}

/* True: some loader is. Where the list was not read to its end, none is known to be. */
static bool find_gone(struct methods *m, bool is_whole, hotspot_fn *fn, void *arg)
{
	bool is_any = false;

	for (uint32_t i = 0; i < m->loaders.nr; i++) {
		struct loader *l = dict_at(&m->loaders, i);

		l->is_seen |= !is_whole;
		is_any |= is_gone(l);
	}
	if (is_any)
		drop_gone(m, fn, arg);
	for (uint32_t i = 0; i < m->loaders.nr; i++) {
		struct loader *l = dict_at(&m->loaders, i);

		l->is_seen = false;
		l->is_known = true;
	}
	return is_any;
}

/* --- names */

/* What methods of a class have in common. */
struct names {
	char class[JVM_SYMBOL_BYTES], file[JVM_SYMBOL_BYTES];
	uint64_t pool, nr_pool;
};

static bool load_entry(const struct methods *m, const struct names *n, uint64_t index,
		       char out[JVM_SYMBOL_BYTES])
{
	uint64_t symbol;

	return index < n->nr_pool &&
	       jvm_load(&m->jvm, n->pool + m->jvm.at.pool_bytes + index * sizeof(symbol), &symbol,
			sizeof(symbol)) &&
	       jvm_symbol(&m->jvm, symbol, out);
}

static bool find_names(const struct methods *m, const struct class *c, struct names *out)
{
	uint64_t file;

	out->pool = c->pool;
	*out->file = '\0';
	if (!jvm_symbol(&m->jvm, c->name, out->class) ||
	    !jvm_follow(&m->jvm, c->pool, VMSTRUCTS_POOL_LENGTH, &out->nr_pool) ||
	    !jvm_follow(&m->jvm, c->pool, VMSTRUCTS_POOL_FILE, &file))
		return false;
	jvm_spell(out->class);
	return !file || load_entry(m, out, file, out->file);
}

/* Sets the change but for its time. False: it cannot be read, or is none of the class. */
static bool find_method(struct methods *m, uint64_t method, const struct names *n)
{
	const struct vmstructs *at = &m->jvm.at;
	struct trace_compiled *to = &m->change;
	uint64_t constant, pool, index, codes_bytes, words;
	char name[JVM_SYMBOL_BYTES];

	if (!jvm_follow(&m->jvm, method, VMSTRUCTS_METHOD_CONST, &constant) ||
	    !jvm_follow(&m->jvm, constant, VMSTRUCTS_CONST_POOL, &pool) || pool != n->pool ||
	    !jvm_follow(&m->jvm, constant, VMSTRUCTS_CONST_NAME, &index) ||
	    !jvm_follow(&m->jvm, constant, VMSTRUCTS_CONST_SIZE, &words) ||
	    words > JVM_MAX_CONST_WORDS ||
	    !jvm_follow(&m->jvm, constant, VMSTRUCTS_CONST_CODE_SIZE, &codes_bytes) ||
	    !load_entry(m, n, index, name))
		return false;
	*to = (struct trace_compiled){.start = method,
				      .end = method + 1,
				      .kind = TRACE_COMPILED_INTERPRETED,
				      .codes = constant + at->const_bytes,
				      .codes_bytes = (uint32_t)codes_bytes};
	snprintf(to->name, sizeof(to->name), "%s.%s", n->class, name);
	snprintf(to->file, sizeof(to->file), "%s", n->file);
	if (jvm_method_lines(&m->jvm, method, m->version, m->lines, &to->data_bytes,
			     &to->first_line))
		to->data = m->lines;
	return true;
}

static bool is_unchanged(const struct methods *m, uint64_t collections)
{
	uint64_t now;

	return count_collections(m, &now) && now == collections;
}

/* Reads it twice: whether it can be read as a whole, before anything is passed. */
static bool can_be_read(struct methods *m, const struct class *c, const struct names *n)
{
	for (uint32_t i = 0; i < c->nr_methods; i++)
		if (!find_method(m, c->method[i], n))
			return false;
	return true;
}

static bool name_class(struct methods *m, struct class *c, uint64_t collections, hotspot_fn *fn,
		       void *arg)
{
	struct class now = {.klass = c->klass, .loader = c->loader, .from_ns = c->from_ns};
	struct names n;

	remote_forget(&m->pages);
	if (!read_class(m, &now)) {
		c->is_array = now.is_array;
		return false;
	}
	if (!find_names(m, &now, &n) || !can_be_read(m, &now, &n) ||
	    !is_unchanged(m, collections)) {
		mem_free(now.method);
		return false;
	}
	now.is_read = true;
	*c = now;
	for (uint32_t i = 0; i < c->nr_methods && m->bytes < MAX_BYTES; i++)
		if (find_method(m, c->method[i], &n)) { /* of the same pages, mostly */
			m->bytes += CHANGE_BYTES + strlen(m->change.name) + strlen(m->change.file) +
				    m->change.data_bytes;
			pass(m, c->from_ns, fn, arg);
		}
	return true;
}

/* What was freed since may have been where a class is that was not read. */
static void begin_later(struct methods *m)
{
	const uint64_t now_ns = clock_monotonic_ns();

	for (uint32_t i = 0; i < m->classes.nr; i++) {
		struct class *c = dict_at(&m->classes, i);

		if (!c->is_read)
			c->from_ns = now_ns;
	}
}

/* Some at each look, so that looks at code are not late: first those that are new, which may soon
 * be freed. True: any was named. */
static bool name_classes(struct methods *m, uint32_t nr_before, uint64_t collections,
			 hotspot_fn *fn, void *arg)
{
	const uint64_t began_ns = clock_thread_cpu_ns();
	const uint32_t nr = (uint32_t)m->classes.nr;
	bool is_any = false, is_over = false;

	for (uint32_t i = 0; i < nr && m->bytes < MAX_BYTES && !is_over; i++) {
		struct class *c = dict_at(&m->classes, (nr_before + i) % nr);

		if (!c->is_read && !c->is_array)
			is_any |= name_class(m, c, collections, fn, arg);
		is_over = atomic_load(&m->shared->is_left) ||
			  (!m->shared->is_last && clock_thread_cpu_ns() - began_ns >
						      (is_any ? MAX_LOOK_NS : MAX_IN_VAIN_NS));
	}
	if (is_any)
		m->shared->once_ns += clock_thread_cpu_ns() - began_ns;
	return is_any;
}

int methods_look(struct methods *m, hotspot_fn *fn, void *arg, bool *has_changed)
{
	const uint64_t began_ns = clock_monotonic_ns();
	uint32_t nr_before;
	uint64_t collections;
	bool is_whole, has_gone, frees;

	if (!count_collections(m, &collections))
		return 0;
	m->has_collected = m->has_looked && collections != m->collections;
	remote_forget(&m->pages);
	nr_before = (uint32_t)m->classes.nr;
	is_whole = walk_loaders(m) && is_unchanged(m, collections);
	has_gone = find_gone(m, is_whole, fn, arg);
	frees = m->has_collected || has_gone || m->has_gone;
	*has_changed |= has_gone;
	if (frees)
		begin_later(m);
	if (is_whole)
		*has_changed |= name_classes(m, nr_before, collections, fn, arg);
	m->has_gone = has_gone;
	if (!is_whole || atomic_load(&m->shared->is_left))
		return 0;
	m->has_looked = true;
	m->began_ns = began_ns;
	m->ended_ns = clock_monotonic_ns();
	m->collections = collections;
	return 0;
}

void methods_leave(struct methods *m, hotspot_fn *fn, void *arg)
{
	for (uint32_t i = 0; i < m->classes.nr; i++) {
		const struct class *c = dict_at(&m->classes, i);
		const struct loader *l = dict_at(&m->loaders, dict_find(&m->loaders, &c->loader));

		if (m->has_freed && !(l && l->has_survived))
			pass_gone(m, c, fn, arg);
	}
}
