/*
 * The symbols of the kernel that perf.data was recorded on, which it does not hold: those of the
 * kernel that runs here, if it is the same one, or of its debug file. Where there are none, the
 * modules still have names.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/root.h"
#include "base/str.h"
#include "elf/build_id.h"
#include "elf/finder.h"
#include "import/import.h"
#include "perf_data.h"
#include "symbol/elf_symbols.h"
#include "symbol/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
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
	struct buf notes;
	bool is_same;

	buf_init(&notes, MAX_NOTES_BYTES);
	is_same = root_load(&root_live, "/sys/kernel/notes", &notes) == 0 &&
		  elf_build_id_in_notes((const uint8_t *)notes.data, notes.len, 4, &here) &&
		  elf_build_id_equal(&here, there);
	buf_fini(&notes);
	return is_same;
}

/* Written on a machine of this name and kernel, after its last boot. */
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

/* Of the symbol in text as /proc/kallsyms has it; 0: it is not there, or hidden. */
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

static void *read_kallsyms(void *arg)
{
	struct job *j = arg;

	if (root_load(&root_live, "/proc/kallsyms", &j->kallsyms))
		buf_reset(&j->kallsyms);
	return NULL;
}

void perf_data_read_ahead(void *arg, const struct import_facts *f)
{
	struct job *j = arg;

	if (j->is_reading_kallsyms || j->has_read_kallsyms || !j->wants_names ||
	    j->options->kallsyms || !is_kernel_here(f))
		return;
	j->is_reading_kallsyms = pthread_create(&j->kallsyms_reader, NULL, read_kallsyms, j) == 0;
}

void perf_data_end_reading(struct job *j)
{
	if (!j->is_reading_kallsyms)
		return;
	pthread_join(j->kallsyms_reader, NULL);
	j->is_reading_kallsyms = false;
	j->has_read_kallsyms = true;
}

static const struct buf *load_kallsyms(struct job *j)
{
	perf_data_end_reading(j);
	if (!j->has_read_kallsyms)
		read_kallsyms(j);
	j->has_read_kallsyms = true;
	return &j->kallsyms;
}

/* Where the kernel is loaded is another place after each boot, if it says where. */
static bool is_in_place(const struct import_facts *f, const struct buf *kallsyms)
{
	return f->kernel_address && address_of(kallsyms, f->kernel_symbol) == f->kernel_address;
}

bool perf_data_is_same_boot(struct job *j, const struct opened *o)
{
	const struct import_facts *f = import_facts(o->import);

	return is_of_this_boot(f) && is_kernel_here(f) && is_in_place(f, load_kallsyms(j));
}

static void tell_nameless(struct job *j, const struct opened *o, const char *why)
{
	struct err e = {0};

	err_set_at(&e, -ENOENT, o->path, 0, 0, "functions of the kernel have no names: %s", why);
	err_hint(&e, "--kallsyms=FILE takes a copy of /proc/kallsyms of that machine, made before "
		     "it was booted again; --debug-dir=DIR a vmlinux under DIR/.build-id");
	job_problem(j, false, &e);
}

/* Modules are elsewhere after each boot, and are left out; the kernel's own are moved together. */
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

/* How far the kernel was from where its file has it. False: the file does not tell. */
static bool find_move(const struct import_facts *f, const struct elf_symbols *s, uint64_t *by)
{
	char name[ELF_SYMBOLS_MAX_NAME_BYTES];

	for (size_t i = 0; i < s->table.nr && *f->kernel_symbol; i++) {
		elf_symbols_name(s, &s->table.entry[i], name);
		if (strcmp(name, f->kernel_symbol) != 0)
			continue;
		*by = f->kernel_address - s->table.entry[i].start;
		return true;
	}
	return false;
}

static void add_table(struct buf *out, const struct elf_symbols *s, uint64_t by)
{
	char name[ELF_SYMBOLS_MAX_NAME_BYTES];

	for (size_t i = 0; i < s->table.nr; i++) {
		elf_symbols_name(s, &s->table.entry[i], name);
		if (!*name || strchr(name, '\n'))
			continue;
		buf_hex(out, s->table.entry[i].start + by);
		buf_adds(out, " t ");
		buf_adds(out, name);
		buf_addc(out, '\n');
	}
}

/* 1: they are added; 0: there is no such file, or it does not say where it was; -ENOMEM. */
static int add_debug_file(struct job *j, const struct import_facts *f, struct buf *out)
{
	struct elf_build_id id = build_id_of(f);
	const struct elf_file *file = id.len ? elf_finder_by_id(j->finder, &id) : NULL;
	struct elf_symbols s;
	uint64_t by;
	bool is_told;

	if (!file)
		return 0;
	if (elf_symbols_load(file, file, &s))
		return -ENOMEM;
	is_told = find_move(f, &s, &by);
	if (is_told)
		add_table(out, &s, by);
	elf_symbols_fini(&s);
	return is_told;
}

/* Each from its start to its end, behind which nothing is known. */
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

/* What is known of the kernel but its very symbols of that boot. */
static int make_text(struct job *j, struct opened *o, struct buf *out)
{
	const struct import_facts *f = import_facts(o->import);
	const struct buf *kallsyms;
	uint64_t here;
	int rc = add_debug_file(j, f, out);

	if (rc < 0)
		return rc;
	add_modules(out, f);
	if (rc)
		return buf_error(out);
	if (!is_kernel_here(f)) {
		tell_nameless(j, o, "it is not the kernel that runs here");
		return buf_error(out);
	}
	kallsyms = load_kallsyms(j);
	here = address_of(kallsyms, f->kernel_symbol);
	if (here && f->kernel_address && f->kernel_build_id_len)
		add_moved(out, kallsyms, f->kernel_address - here);
	else
		tell_nameless(j, o, "this kernel hides its addresses, or where it was is not told");
	return buf_error(out);
}

int perf_data_add_kernel(struct job *j, struct opened *o)
{
	const struct import_facts *f = import_facts(o->import);
	const struct buf *kallsyms;
	struct buf text;
	int rc;

	if (!f->kernel_address && !f->kernel_build_id_len && !f->nr_modules)
		return 0; /* nothing of the kernel was recorded */
	kallsyms = is_kernel_here(f) ? load_kallsyms(j) : NULL;
	if (kallsyms && is_in_place(f, kallsyms))
		return symbols_add_kallsyms(o->symbols, buf_str(kallsyms), kallsyms->len);
	buf_init(&text, MAX_TEXT_BYTES);
	rc = make_text(j, o, &text);
	if (rc == 0)
		rc = symbols_add_kallsyms(o->symbols, buf_str(&text), text.len);
	buf_fini(&text);
	return rc;
}
