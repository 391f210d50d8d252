/*
 * Opening perf.data, and the symbols of its kernel: those of this one, if it is the same.
 */
#include "perf_data.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "elf/build_id.h"
#include "import/import.h"
#include "symbol/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum { MAX_NOTES_BYTES = 64 << 10 };

int perf_data_open(struct job *j, struct opened *o, struct err *e)
{
	int rc = import_open(o->path, job_problem, j, &o->import, e);

	if (rc)
		return rc;
	rc = profile_session_open_set(import_set(o->import), job_problem, j, &o->session, e);
	if (rc)
		return rc;
	o->facts = profile_session_facts(o->session);
	o->config_name = mem_strdup(import_facts(o->import)->command);
	return o->config_name ? 0 : err_set(e, -ENOMEM, "out of memory");
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
	struct elf_build_id there = {.len = (uint8_t)f->kernel_build_id_len};

	memcpy(there.bytes, f->kernel_build_id, sizeof(there.bytes));
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

/* Once: the kernel takes its time over it. */
static const struct buf *load_kallsyms(struct job *j)
{
	if (!j->has_read_kallsyms && root_load(&root_live, "/proc/kallsyms", &j->kallsyms))
		buf_reset(&j->kallsyms);
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
		     "it was booted again");
	job_problem(j, false, &e);
}

int perf_data_add_kernel(struct job *j, struct opened *o)
{
	const struct import_facts *f = import_facts(o->import);
	const struct buf *kallsyms;

	if (!f->kernel_address && !f->kernel_build_id_len)
		return 0; /* nothing of the kernel was recorded */
	if (!is_kernel_here(f)) {
		tell_nameless(j, o, "it is not the kernel that runs here");
		return 0;
	}
	kallsyms = load_kallsyms(j);
	if (is_in_place(f, kallsyms))
		return symbols_add_kallsyms(o->symbols, buf_str(kallsyms), kallsyms->len);
	if (!address_of(kallsyms, f->kernel_symbol))
		tell_nameless(j, o, "this kernel hides its addresses");
	else
		tell_nameless(j, o, "it was booted again since, and is at another place");
	return 0;
}
