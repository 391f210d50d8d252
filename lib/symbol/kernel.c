/*
 * Kernel addresses: first symbols that existed for a time (BPF programs, trampolines), then the
 * recorded kallsyms, of which only the parts are read that have an address which is asked for.
 */
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "profile/processes.h"
#include "symbol/room.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 256 }; /* back over symbols of other times at the same address */

static int by_start(const void *a, const void *b)
{
	const struct profile_ksymbol *x = *(const struct profile_ksymbol *const *)a;
	const struct profile_ksymbol *y = *(const struct profile_ksymbol *const *)b;

	return order_u64(x->start, y->start) ?: order_u64(x->from_ns, y->from_ns);
}

static int load_passing(struct symbol_kernel *k, const struct profile_processes *p)
{
	size_t nr = p ? profile_nr_ksymbols(p) : 0;
	uint64_t last = 0;

	if (!nr)
		return 0;
	k->passing = mem_calloc(nr, sizeof(*k->passing));
	k->passing_last = mem_calloc(nr, sizeof(*k->passing_last));
	if (!k->passing || !k->passing_last)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		k->passing[i] = profile_ksymbol(p, i);
	qsort(k->passing, nr, sizeof(*k->passing), by_start);
	for (size_t i = 0; i < nr; i++) {
		const struct profile_ksymbol *s = k->passing[i];
		uint64_t more = s->len ? s->len - 1 : 0;
		uint64_t stop = more < UINT64_MAX - s->start ? s->start + more : UINT64_MAX;

		if (stop > last)
			last = stop;
		k->passing_last[i] = last;
	}
	k->nr_passing = nr;
	return 0;
}

int symbol_kernel_renew(struct symbol_kernel *k, const struct profile_processes *p)
{
	mem_free(k->passing);
	mem_free(k->passing_last);
	k->passing = NULL;
	k->passing_last = NULL;
	k->nr_passing = 0;
	return load_passing(k, p);
}

static void report_hidden(const struct symbols_config *config, const char *path)
{
	struct err e = {0};

	if (path) {
		err_set_at(&e, -EACCES, path, 0, 0,
			   "cannot name kernel functions: all its addresses are 0");
		err_hint(&e, "copy /proc/kallsyms as root");
	} else {
		err_set(&e, -EACCES,
			"kernel functions have no names: the kernel hid its addresses from the "
			"recorder");
		err_hint(&e, "record as root, or with sysctl kernel.kptr_restrict=0");
	}
	if (config->problem)
		config->problem(config->arg, &e);
}

/* --- kallsyms ---------------------------------------------------------------------------------
 */

static int by_address(const void *a, const void *b)
{
	const struct profile_symbol_part *x = *(const struct profile_symbol_part *const *)a;
	const struct profile_symbol_part *y = *(const struct profile_symbol_part *const *)b;

	return order_u64(x->first, y->first) ?: order_u64(x->offset, y->offset);
}

static void free_groups(struct symbol_kernel *k)
{
	for (size_t i = 0; i < k->nr_groups; i++) {
		symbol_text_fini(&k->group[i].symbols);
		buf_fini(&k->group[i].text);
	}
	mem_free(k->group);
	mem_free((void *)k->part);
	k->group = NULL;
	k->part = NULL;
	k->nr_groups = 0;
}

static int sort_parts(struct symbol_kernel *k, const struct profile_processes *p, size_t nr)
{
	free_groups(k); /* of an attempt without memory */
	k->part = mem_calloc(nr, sizeof(*k->part));
	k->group = mem_calloc(nr + 1, sizeof(*k->group));
	if (!k->part || !k->group)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		k->part[i] = profile_symbol_part(p, i);
	qsort(k->part, nr, sizeof(*k->part), by_address);
	return 0;
}

/* Parts that overlap are one group. Each also has the text whose range is not known. */
static void group_parts(struct symbol_kernel *k, size_t nr)
{
	uint64_t last = 0;

	k->group[0] = (struct symbol_kernel_group){.end = UINT64_MAX, .part = k->part};
	k->nr_groups = 1;
	for (size_t i = 0; i < nr; i++) {
		struct symbol_kernel_group *g = &k->group[k->nr_groups - 1];

		if (i && k->part[i]->first > last) {
			g->end = k->part[i]->first;
			g = &k->group[k->nr_groups++];
			*g = (struct symbol_kernel_group){
			    .first = k->part[i]->first, .end = UINT64_MAX, .part = &k->part[i]};
		}
		g->nr_parts++;
		last = k->part[i]->last > last ? k->part[i]->last : last;
	}
	for (size_t i = 0; i < k->nr_groups; i++)
		buf_init(&k->group[i].text, SYMBOL_TEXT_MAX_BYTES);
}

static int add_text(void *to, const char *text, size_t len)
{
	buf_add(to, text, len);
	return buf_error(to) == -ENOMEM ? -ENOMEM : 0;
}

static int load_group(struct symbol_kernel *k, struct symbol_kernel_group *g)
{
	const struct buf *text = g->nr_parts ? &g->text : &k->kallsyms;
	int rc = 0;

	buf_reset(&g->text); /* of an attempt without memory */
	if (g->nr_parts)
		rc = add_text(&g->text, buf_str(&k->kallsyms), k->kallsyms.len);
	for (size_t i = 0; i < g->nr_parts && rc == 0; i++)
		rc = profile_symbol_text(k->session, g->part[i], add_text, &g->text);
	if (g->end != UINT64_MAX) /* its last symbol ends where the next group begins */
		buf_printf(&g->text, "%" PRIx64 " ? [end]\n", g->end);
	if (rc || buf_error(&g->text) == -ENOMEM)
		return -ENOMEM;
	return symbol_text_parse_kallsyms(buf_str(text), text->len, &g->symbols);
}

/* NULL: without memory. */
static struct symbol_kernel_group *loaded_group(struct symbol_kernel *k, uint64_t address)
{
	const size_t next = ORDER_FIRST(i, k->nr_groups, k->group[i].first > address);
	struct symbol_kernel_group *g = &k->group[next - 1]; /* the first one begins at 0 */
	bool is_loaded;

	if (atomic_load_explicit(&g->is_loaded, memory_order_acquire))
		return g;
	pthread_mutex_lock(&k->lock);
	is_loaded =
	    atomic_load_explicit(&g->is_loaded, memory_order_relaxed) || load_group(k, g) == 0;
	atomic_store_explicit(&g->is_loaded, is_loaded, memory_order_release);
	pthread_mutex_unlock(&k->lock);
	return is_loaded ? g : NULL;
}

int symbol_kernel_load(struct symbol_kernel *k, const struct symbols_config *config)
{
	const bool has_parts = config->session && config->processes && !k->path;
	const size_t nr = has_parts ? profile_nr_symbol_parts(config->processes) : 0;
	struct symbol_kernel_group *all;
	int rc = symbol_kernel_renew(k, config->processes) ?: sort_parts(k, config->processes, nr);

	if (rc)
		return rc;
	k->session = config->session;
	group_parts(k, nr);
	if (nr)
		return 0;
	all = loaded_group(k, 0);
	if (all && all->symbols.has_lines && !all->symbols.has_addresses)
		report_hidden(config, k->path);
	return all ? 0 : -ENOMEM;
}

const struct symbol_text *symbol_kernel_find(struct symbol_kernel *k, uint64_t address,
					     size_t *entry)
{
	struct symbol_kernel_group *g = loaded_group(k, address);
	const ptrdiff_t i = g ? symbol_table_find(&g->symbols.table, address) : -1;

	*entry = (size_t)i;
	return i < 0 ? NULL : &g->symbols;
}

void symbol_kernel_init(struct symbol_kernel *k)
{
	buf_init(&k->kallsyms, SYMBOL_TEXT_MAX_BYTES);
	pthread_mutex_init(&k->lock, NULL);
}

void symbol_kernel_fini(struct symbol_kernel *k)
{
	free_groups(k);
	mem_free(k->passing);
	mem_free(k->passing_last);
	buf_fini(&k->kallsyms);
	pthread_mutex_destroy(&k->lock);
}

static const struct profile_ksymbol *find_passing(const struct symbol_kernel *k, uint64_t address,
						  uint64_t time_ns)
{
	/* the last that starts at or before the address */
	ptrdiff_t i =
	    (ptrdiff_t)ORDER_FIRST(at, k->nr_passing, k->passing[at]->start > address) - 1;

	for (int steps = 0; i >= 0 && steps < MAX_STEPS && k->passing_last[i] >= address;
	     i--, steps++) {
		const struct profile_ksymbol *s = k->passing[i];

		if (address - s->start < s->len && time_ns >= s->from_ns && time_ns < s->to_ns)
			return s;
	}
	return NULL;
}

static const struct symbol_function *passing_function(struct symbol_functions *f,
						      const struct profile_ksymbol *s)
{
	const struct symbol_function_key key = {
	    .space = symbol_space(SPACE_KERNEL, 1), .address = s->start, .linkage = s->name};
	bool is_bpf = strncmp(s->name, "bpf_", 4) == 0;
	const struct symbol_function draft = {
	    .name = s->name,
	    .object = is_bpf ? "[bpf]" : "[kernel]",
	    .object_path = is_bpf ? "[bpf]" : "[kernel]",
	    .is_known = true,
	    .is_kernel = true,
	};

	return symbol_functions_add_key(f, &draft, &key);
}

static const struct symbol_function *unknown_function(struct symbol_functions *f)
{
	static const struct symbol_function_key key = {.space = (uint64_t)SPACE_KERNEL << 32};
	static const struct symbol_function draft = {
	    .name = "[unknown]",
	    .object = "[kernel]",
	    .object_path = "[kernel]",
	    .is_kernel = true,
	};

	return symbol_functions_add_key(f, &draft, &key);
}

static const struct symbol_function *add_named(struct symbol_functions *f,
					       const struct symbol_text *s, size_t i)
{
	const struct symbol_entry *e = &s->table.entry[i];
	const struct symbol_text_piece *module = &s->group[e->group]; /* "[nf_tables]" */
	char name[SYMBOL_TEXT_MAX_NAME_BYTES];
	struct symbol_function draft = {
	    .name = name, .object = "[kernel]", .is_known = true, .is_kernel = true};

	if (module->len)
		draft.object = symbol_functions_text(f, s->text + module->at,
						     module->len < 256 ? module->len : 256);
	if (!draft.object)
		draft.object = "[unknown]";
	draft.object_path = draft.object;
	symbol_text_name(s, e, name);
	return symbol_functions_add(f, &draft, &s->table.function[i]);
}

const struct symbol_function *symbol_kernel_function(struct symbol_kernel *k,
						     struct symbol_functions *f, uint64_t address,
						     uint64_t time_ns)
{
	const struct profile_ksymbol *passing = find_passing(k, address, time_ns);
	const struct symbol_function *fn;
	const struct symbol_text *s;
	size_t i;

	if (passing)
		return passing_function(f, passing);
	s = symbol_kernel_find(k, address, &i);
	if (!s)
		return unknown_function(f);
	fn = atomic_load_explicit(&s->table.function[i], memory_order_acquire);
	return fn ? fn : add_named(f, s, i);
}
