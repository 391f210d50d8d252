/*
 * Symbols of the kernel that a perf.data file was recorded on. Without any, its modules still have
 * names.
 */
#include "perf_kernel.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/root.h"
#include "base/str.h"
#include "base/thread.h"
#include "elf/build_id.h"
#include "elf/finder.h"
#include "import/import.h"
#include "problems.h"
#include "symbol/elf_symbols.h"
#include "symbol/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum { MAX_NOTES_BYTES = 64 << 10, MAX_TEXT_BYTES = 256 << 20 };

static struct elf_build_id build_id_of(const struct import_facts *f)
{
	struct elf_build_id id = {.len = (uint8_t)f->kernel_build_id_len};

	memcpy(id.bytes, f->kernel_build_id, sizeof(id.bytes));
	return id;
}

static bool is_build_id_here(const struct elf_build_id *there)
{
	struct elf_build_id here;
	BUF_AUTO(notes, MAX_NOTES_BYTES);

	return root_load(&root_live, "/sys/kernel/notes", &notes) == 0 &&
	       elf_build_id_in_notes((const uint8_t *)notes.data, notes.len, 4, &here) &&
	       elf_build_id_equal(&here, there);
}

/* True if the file was written since this machine booted, on a host of the same name and kernel. */
static bool is_of_this_boot(const struct import_facts *f)
{
	struct clock_triple now;
	struct utsname uts;

	clock_triple_now(&now);
	return uname(&uts) == 0 && strcmp(uts.nodename, f->host) == 0 &&
	       strcmp(uts.release, f->kernel) == 0 &&
	       f->modified_ns > now.realtime_ns - now.boottime_ns;
}

static bool is_kernel_here(const struct import_facts *f)
{
	struct elf_build_id there = build_id_of(f);

	return there.len ? is_build_id_here(&there) : is_of_this_boot(f);
}

/* The address of a symbol in kallsyms; 0 if it is missing or hidden. */
static uint64_t address_of(const struct buf *kallsyms, const char *name)
{
	const char *at = buf_str(kallsyms), *end = at + kallsyms->len, *line, *stop;
	size_t len = strlen(name);

	while (len && (line = str_next_line(&at, end, &stop))) {
		const char *space = memchr(line, ' ', (size_t)(stop - line));

		if (space && stop - space == (ptrdiff_t)len + 3 && !memcmp(space + 3, name, len))
			return strtoull(line, NULL, 16);
	}
	return 0;
}

void perf_kernel_init(struct perf_kernel *k)
{
	*k = (struct perf_kernel){.is_reading = false};
	buf_init(&k->kallsyms, MAX_TEXT_BYTES);
}

static void end_reading(struct perf_kernel *k)
{
	if (k->is_reading)
		pthread_join(k->reader, NULL);
	k->has_read |= k->is_reading;
	k->is_reading = false;
}

void perf_kernel_fini(struct perf_kernel *k)
{
	end_reading(k);
	buf_fini(&k->kallsyms);
}

static void *read_kallsyms(void *kernel)
{
	struct perf_kernel *k = kernel;

	if (root_load(&root_live, "/proc/kallsyms", &k->kallsyms))
		buf_reset(&k->kallsyms);
	return NULL;
}

void perf_kernel_read_ahead(struct perf_kernel *k, const struct import_facts *f)
{
	if (!k->is_reading && !k->has_read && is_kernel_here(f))
		k->is_reading = thread_start(&k->reader, read_kallsyms, k) == 0;
}

static const struct buf *load_kallsyms(struct perf_kernel *k)
{
	end_reading(k);
	if (!k->has_read)
		read_kallsyms(k);
	k->has_read = true;
	return &k->kallsyms;
}

/* The load address changes with each boot. False also if it is hidden. */
static bool is_in_place(const struct import_facts *f, const struct buf *kallsyms)
{
	return f->kernel_address && address_of(kallsyms, f->kernel_symbol) == f->kernel_address;
}

bool perf_kernel_is_same_boot(struct perf_kernel *k, const struct import_facts *f)
{
	return is_of_this_boot(f) && is_kernel_here(f) && is_in_place(f, load_kallsyms(k));
}

static void report_nameless(struct problems *problems, const char *path, const char *why)
{
	struct err e = {0};

	err_set_at(&e, -ENOENT, path, 0, 0, "kernel functions have no names: %s", why);
	err_hint(&e,
		 "use --kallsyms=FILE with a copy of that machine's /proc/kallsyms, made before "
		 "its next boot, or --debug-dir=DIR with a vmlinux under DIR/.build-id");
	problems_add(problems, false, &e);
}

/* Shifts the symbols of the kernel itself; those of modules, which move one by one, are skipped. */
static void add_moved(struct buf *out, const struct buf *kallsyms, uint64_t by)
{
	const char *at = buf_str(kallsyms), *end = at + kallsyms->len, *line, *stop;

	while ((line = str_next_line(&at, end, &stop))) {
		const char *space = memchr(line, ' ', (size_t)(stop - line));

		if (!space || memchr(line, '[', (size_t)(stop - line)))
			continue;
		buf_hex(out, strtoull(line, NULL, 16) + by);
		buf_add(out, space, (size_t)(stop - space));
		buf_addc(out, '\n');
	}
}

/* Sets *by to the distance from the addresses in the file; false if the reference symbol is
 * missing.
 */
static bool find_move(const struct import_facts *f, const struct symbol_elf *s, uint64_t *by)
{
	char name[SYMBOL_ELF_MAX_NAME_BYTES];

	for (size_t i = 0; i < s->table.nr && *f->kernel_symbol; i++) {
		symbol_elf_name(s, &s->table.entry[i], name);
		if (strcmp(name, f->kernel_symbol) != 0)
			continue;
		*by = f->kernel_address - s->table.entry[i].start;
		return true;
	}
	return false;
}

static void add_table(struct buf *out, const struct symbol_elf *s, uint64_t by)
{
	char name[SYMBOL_ELF_MAX_NAME_BYTES];

	for (size_t i = 0; i < s->table.nr; i++) {
		symbol_elf_name(s, &s->table.entry[i], name);
		if (!*name || strchr(name, '\n'))
			continue;
		buf_hex(out, s->table.entry[i].start + by);
		buf_adds(out, " t ");
		buf_adds(out, name);
		buf_addc(out, '\n');
	}
}

/* 1: added; 0: no file, or its load address is unknown; -ENOMEM. */
static int add_debug_file(struct elf_finder *finder, const struct import_facts *f, struct buf *out)
{
	struct elf_build_id id = build_id_of(f);
	const struct elf_file *file = id.len ? elf_finder_by_id(finder, &id, NULL) : NULL;
	struct symbol_elf s;
	uint64_t by;
	bool is_told;

	if (!file)
		return 0;
	if (symbol_elf_load(file, file, &s))
		return -ENOMEM;
	is_told = find_move(f, &s, &by);
	if (is_told)
		add_table(out, &s, by);
	symbol_elf_fini(&s);
	return is_told;
}

/* One symbol per module, and an unknown one at its end. */
static void add_modules(struct buf *out, const struct import_facts *f)
{
	for (size_t i = 0; i < f->nr_modules; i++) {
		const struct import_module *m = &f->modules[i];

		buf_hex(out, m->start);
		buf_printf(out, " t [unknown]\t%s\n", m->name);
		buf_hex(out, m->start + m->len);
		buf_adds(out, " t [unknown]\n");
	}
}

int perf_kernel_add_symbols(struct perf_kernel *k, const struct import *im, const char *path,
			    struct elf_finder *finder, struct symbols *symbols,
			    struct problems *problems)
{
	const struct import_facts *f = import_facts(im);
	BUF_AUTO(own, MAX_TEXT_BYTES);
	const struct buf *kallsyms;
	BUF_AUTO(text, MAX_TEXT_BYTES);
	uint64_t here;
	int rc;

	if (!f->kernel_address && !f->kernel_build_id_len && !f->nr_modules)
		return 0; /* nothing of the kernel was recorded */
	if (import_load_kallsyms(im, &own) == 0 && is_in_place(f, &own))
		return symbols_add_kallsyms(symbols, buf_str(&own), own.len);
	kallsyms = is_kernel_here(f) ? load_kallsyms(k) : NULL;
	if (kallsyms && is_in_place(f, kallsyms))
		return symbols_add_kallsyms(symbols, buf_str(kallsyms), kallsyms->len);
	rc = add_debug_file(finder, f, &text);
	add_modules(&text, f);
	if (rc == 0 && !kallsyms) {
		report_nameless(problems, path, "the kernel running here is another one");
	} else if (rc == 0) {
		here = address_of(kallsyms, f->kernel_symbol);
		if (here && f->kernel_address && f->kernel_build_id_len)
			add_moved(&text, kallsyms, f->kernel_address - here);
		else
			report_nameless(problems, path,
					"this kernel hides its addresses, or the file lacks the "
					"load address");
	}
	if (rc >= 0)
		rc = buf_error(&text);
	return rc ?: symbols_add_kallsyms(symbols, buf_str(&text), text.len);
}
