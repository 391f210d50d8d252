/*
 * Kernel addresses: first symbols that existed for a time (BPF programs, trampolines), then the
 * recorded kallsyms.
 */
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "profile/processes.h"
#include "symbol/room.h"

#include <errno.h>
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

int symbol_kernel_load(struct symbol_kernel *k, const struct symbols_config *config)
{
	int rc = load_passing(k, config->processes);

	if (rc == 0)
		rc =
		    symbol_text_parse_kallsyms(buf_str(&k->kallsyms), k->kallsyms.len, &k->symbols);
	if (rc == 0 && k->symbols.has_lines && !k->symbols.has_addresses)
		report_hidden(config, k->path);
	return rc;
}

void symbol_kernel_fini(struct symbol_kernel *k)
{
	symbol_text_fini(&k->symbols);
	mem_free(k->passing);
	mem_free(k->passing_last);
	buf_fini(&k->kallsyms);
}

static const struct profile_ksymbol *find_passing(const struct symbol_kernel *k, uint64_t address,
						  uint64_t time_ns)
{
	size_t low = 0, n = k->nr_passing;
	ptrdiff_t i;

	while (n) { /* low: the number of those that start at or before the address */
		size_t half = n / 2;

		if (k->passing[low + half]->start <= address) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	i = (ptrdiff_t)low - 1;
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

static const struct symbol_function *add_named(struct symbol_kernel *k, struct symbol_functions *f,
					       size_t i)
{
	const struct symbol_entry *e = &k->symbols.table.entry[i];
	const struct symbol_text_piece *module = &k->symbols.group[e->group]; /* "[nf_tables]" */
	char name[SYMBOL_TEXT_MAX_NAME_BYTES];
	struct symbol_function draft = {
	    .name = name, .object = "[kernel]", .is_known = true, .is_kernel = true};

	if (module->len)
		draft.object = symbol_functions_text(f, k->symbols.text + module->at,
						     module->len < 256 ? module->len : 256);
	if (!draft.object)
		draft.object = "[unknown]";
	draft.object_path = draft.object;
	symbol_text_name(&k->symbols, e, name);
	return symbol_functions_add(f, &draft, &k->symbols.table.function[i]);
}

const struct symbol_function *symbol_kernel_function(struct symbol_kernel *k,
						     struct symbol_functions *f, uint64_t address,
						     uint64_t time_ns)
{
	const struct profile_ksymbol *passing = find_passing(k, address, time_ns);
	const struct symbol_function *fn;
	ptrdiff_t i;

	if (passing)
		return passing_function(f, passing);
	i = symbol_table_find(&k->symbols.table, address);
	if (i < 0)
		return unknown_function(f);
	fn = atomic_load_explicit(&k->symbols.table.function[i], memory_order_acquire);
	return fn ? fn : add_named(k, f, (size_t)i);
}
