/*
 * The jitdumps of a session. A JIT compiler maps its dump, which says that the process wrote it:
 * markers list which process has mapped which dump. Like maps, dumps may be anybody's files. One
 * that is still written is read on where the last reading ended.
 */
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/root.h"
#include "base/str.h"
#include "elf/finder.h"
#include "elf/reader.h"
#include "proc/proc.h"
#include "profile/processes.h"
#include "symbol/jitdump.h"
#include "symbol/room.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct symbol_dump {
	uint32_t object, pid; /* that mapped it */
	struct elf_reader_file file;
	struct jitdump dump;
	struct jitdump_source source;
	struct elf_reader *reader;
	_Atomic(bool) is_read;
	bool has_time; /* it can be compared with that of samples */
	bool is_refused, has_reported;
	char path[PATH_MAX];
};

/* Odd, and more than a session has records. */
enum { LATE = 0x40000001 };

struct symbol_marker {
	uint32_t process, dump;
};

void symbol_dumps_init(struct symbol_dumps *d, const struct symbols_config *config,
		       struct symbol_functions *functions)
{
	*d = (struct symbol_dumps){.config = config, .functions = functions};
	pthread_mutex_init(&d->lock, NULL);
}

void symbol_dumps_fini(struct symbol_dumps *d)
{
	for (size_t i = 0; i < d->nr; i++) {
		jitdump_fini(&d->item[i]->dump);
		mem_free(d->item[i]);
	}
	mem_free(d->item);
	mem_free(d->marker);
	pthread_mutex_destroy(&d->lock);
}

/* --- reading --- */

static int read_bytes(void *arg, uint64_t offset, size_t len, void *out)
{
	struct symbol_dump *dump = arg;

	return elf_reader_read(dump->reader, &dump->file, offset, len, out);
}

static bool pay(void *arg, uint64_t bytes)
{
	struct symbol_dump *dump = arg;

	return elf_reader_pay(dump->reader, &dump->file, bytes);
}

/* The file that the process mapped, not one that has its name now. */
static bool is_other(const struct symbol_dumps *d, const struct symbol_dump *dump)
{
	const struct profile_object *o = profile_object(d->config->processes, dump->object);
	const struct stat *st = &dump->file.st;

	return o->inode && d->config->is_same_boot && !*elf_finder_sysroot(d->config->finder) &&
	       st->st_ino != o->inode;
}

/* Its process may write more of it. */
static bool is_written(const struct symbol_dumps *d, const struct symbol_dump *dump)
{
	return d->config->is_same_boot && proc_is_there(PROC(&root_live, dump->pid));
}

/* Sets e to what is wrong with the dump; left empty if nothing is. */
static void find_fault(const struct symbol_dumps *d, const struct symbol_dump *dump, int rc,
		       struct err *e)
{
	const struct jitdump *j = &dump->dump;
	const bool is_cut = j->next < (uint64_t)dump->file.st.st_size;

	if (j->fault && !j->is_open)
		err_set_at(e, -EINVAL, dump->path, 0, 0, "not used: it %s", j->fault);
	else if (j->fault)
		err_set_at(e, -EINVAL, dump->path, 0, 0, "used up to byte %" PRIu64 ": it %s",
			   j->next, j->fault);
	else if (rc == -EOVERFLOW)
		err_set_at(e, rc, dump->path, 0, 0,
			   "used up to byte %" PRIu64 ": it has more functions than are read",
			   j->next);
	else if (rc)
		elf_reader_explain(rc, dump->path, e);
	else if (!dump->file.st.st_size && !is_written(d, dump))
		err_set_at(e, -EINVAL, dump->path, 0, 0, "is empty: it names nothing");
	else if (j->nr_bad)
		err_set_at(e, -EINVAL, dump->path, 0, 0, "%" PRIu64 " %s skipped: invalid",
			   j->nr_bad, str_plural(j->nr_bad, "record", "records"));
	else if (is_cut && !is_written(d, dump))
		err_set_at(e, -EINVAL, dump->path, 0, 0,
			   "truncated: used up to byte %" PRIu64 " of %" PRIu64, j->next,
			   (uint64_t)dump->file.st.st_size);
	else if (!dump->has_time && j->nr_places) {
		err_set_at(e, -EINVAL, dump->path, 0, 0,
			   "its times are of another clock than those of samples: where an "
			   "address had several functions, it is named by the last one");
		err_hint(e, "%s",
			 j->is_arch_time ? "have the JIT compiler write CLOCK_MONOTONIC"
					 : "record with perf record -k mono");
	}
}

static void report(struct symbol_dumps *d, struct symbol_dump *dump, const struct err *e)
{
	const bool is_foreign = symbol_jit_is_foreign(d->config);

	if (!e->code || dump->has_reported || (is_foreign && d->has_reported_foreign))
		return;
	dump->has_reported = true;
	d->has_reported_foreign |= is_foreign;
	if (d->config->problem)
		d->config->problem(d->config->arg, e);
}

/* Its size now, if it is the file that was read before. */
static int look(struct symbol_dump *dump)
{
	const struct stat before = dump->file.st;
	const bool was_known = dump->file.is_known;
	int rc;

	dump->file.is_known = false;
	rc = elf_reader_look(dump->reader, &dump->file);
	if (rc == 0 && was_known &&
	    (before.st_ino != dump->file.st.st_ino || before.st_dev != dump->file.st.st_dev ||
	     before.st_size > dump->file.st.st_size))
		rc = -ESTALE;
	return rc;
}

static void read_on(struct symbol_dumps *d, struct symbol_dump *dump)
{
	struct err e = {0};
	int rc = look(dump);

	if (rc == 0)
		rc = symbol_jit_check(&dump->file.st, d->config, dump->pid, dump->path, &e);
	if (rc == 0 && is_other(d, dump))
		rc = err_set_at(&e, -ESTALE, dump->path, 0, 0,
				"not used: it is another file than the process had mapped");
	dump->is_refused = rc != 0;
	if (rc == 0) {
		rc = jitdump_read(&dump->dump, &dump->source, (uint64_t)dump->file.st.st_size);
		dump->has_time = !dump->dump.is_arch_time && !d->config->has_other_clock;
		find_fault(d, dump, rc, &e);
	} else if (!e.code) {
		elf_reader_explain(rc, dump->path, &e);
	}
	report(d, dump, &e);
}

/* NULL: it is not used. */
static struct symbol_dump *get(struct symbol_dumps *d, uint32_t i)
{
	struct symbol_dump *dump = d->item[i];

	if (!atomic_load_explicit(&dump->is_read, memory_order_acquire)) {
		pthread_mutex_lock(&d->lock);
		if (!atomic_load_explicit(&dump->is_read, memory_order_relaxed))
			read_on(d, dump);
		atomic_store_explicit(&dump->is_read, true, memory_order_release);
		pthread_mutex_unlock(&d->lock);
	}
	return dump->is_refused ? NULL : dump;
}

/* --- markers --- */

/* PATH/jit-NUMBER.dump: the process's number, which may be that in another namespace. */
static bool is_dump(const struct profile_object *o)
{
	static const char begin[] = "jit-", end[] = ".dump";
	const char *name = strrchr(o->path, '/'), *digits;

	if (o->kind != PROFILE_OBJECT_FILE || !name || strncmp(name + 1, begin, strlen(begin)) != 0)
		return false;
	digits = name + strlen(begin) + 1;
	name = digits + strspn(digits, "0123456789");
	return name > digits && strcmp(name, end) == 0;
}

static bool find_dump(const struct symbol_dumps *d, uint32_t object, uint32_t *out)
{
	for (size_t i = 0; i < d->nr; i++)
		if (d->item[i]->object == object) {
			*out = (uint32_t)i;
			return true;
		}
	return false;
}

/* 0, also if its path is too long; -ENOMEM. */
static int add_dump(struct symbol_dumps *d, const struct profile_mapping *m, uint32_t *out)
{
	struct symbol_dump *dump = mem_zalloc(sizeof(*dump)), **item;
	int len;

	item = dump ? MEM_ADD(d->item, d->nr, d->room) : NULL;
	if (!item) {
		mem_free(dump);
		return -ENOMEM;
	}
	*item = dump;
	*out = (uint32_t)d->nr - 1;
	dump->object = m->object->number;
	dump->pid = m->pid;
	dump->reader = elf_finder_reader(d->config->finder);
	dump->source = (struct jitdump_source){read_bytes, pay, dump};
	len = snprintf(dump->path, sizeof(dump->path), "%s%s",
		       elf_finder_sysroot(d->config->finder), m->object->path);
	dump->file = elf_finder_named(d->config->finder, dump->path,
				      symbol_jit_rights(d->config, dump->pid));
	dump->file.refuses_links = dump->file.may_grow = true;
	if (len < 0 || (size_t)len >= sizeof(dump->path)) {
		dump->is_refused = true;
		atomic_store(&dump->is_read, true);
	}
	return 0;
}

static int add_marker(struct symbol_dumps *d, const struct profile_mapping *m)
{
	const struct profile_process *process =
	    is_dump(m->object) ? profile_process_of(d->config->processes, m) : NULL;
	struct symbol_marker *marker;
	uint32_t dump;
	int rc = 0;

	if (!process)
		return 0;
	if (!find_dump(d, m->object->number, &dump)) {
		if (d->nr == SYMBOL_MAX_DUMPS)
			return 0;
		rc = add_dump(d, m, &dump);
	}
	marker = rc ? NULL : MEM_ADD(d->marker, d->nr_markers, d->markers_room);
	if (!marker)
		return -ENOMEM;
	*marker = (struct symbol_marker){process->number, dump};
	return 0;
}

static int by_process(const void *x, const void *y)
{
	const struct symbol_marker *a = x, *b = y;

	return order_u64(a->process, b->process) ?: order_u64(a->dump, b->dump);
}

/* A process may map its dump several times. */
static void drop_doubles(struct symbol_dumps *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->nr_markers; i++)
		if (!kept || by_process(&d->marker[kept - 1], &d->marker[i]))
			d->marker[kept++] = d->marker[i];
	d->nr_markers = kept;
}

int symbol_dumps_renew(struct symbol_dumps *d)
{
	const struct profile_processes *p = d->config->processes;
	bool has_any = false;
	int rc = 0;

	d->nr_markers = 0;
	for (size_t i = 0; i < d->nr; i++)
		atomic_store(&d->item[i]->is_read, d->item[i]->is_refused);
	if (!p || !d->config->finder)
		return 0;
	for (uint32_t i = 0; i < profile_nr_objects(p) && !has_any; i++)
		has_any = is_dump(profile_object(p, i));
	for (size_t i = 0; has_any && i < profile_nr_mappings(p) && rc == 0; i++)
		rc = add_marker(d, profile_mapping(p, i));
	order_sort(d->marker, d->nr_markers, sizeof(*d->marker), by_process);
	drop_doubles(d);
	return rc;
}

/* The first marker of a process, or nr_markers. */
static size_t first_marker(const struct symbol_dumps *d, const struct profile_process *process)
{
	return ORDER_FIRST(i, d->nr_markers, d->marker[i].process >= process->number);
}

/* --- answers --- */

static uint64_t time_in(const struct symbol_dump *dump, uint64_t time_ns)
{
	return dump->has_time ? time_ns : UINT64_MAX;
}

uint32_t symbol_dumps_epoch(struct symbol_dumps *d, const struct profile_process *process,
			    uint64_t time_ns)
{
	uint32_t epoch = 0;

	if (!d->nr_markers)
		return 0;
	for (; process; process = profile_forked_from(d->config->processes, process))
		for (size_t i = first_marker(d, process);
		     i < d->nr_markers && d->marker[i].process == process->number; i++) {
			struct symbol_dump *dump = get(d, d->marker[i].dump);

			if (dump && dump->has_time)
				/* after a late record the same number has another meaning */
				epoch += jitdump_nr_until(&dump->dump, time_ns) +
					 dump->dump.nr_late * LATE;
		}
	return epoch;
}

static bool set_dumped(struct symbol_dump *dump, const struct jitdump_place *place,
		       uint64_t address, struct symbol_dumped *out)
{
	struct jitdump_code *code;

	if (!place || place->code == JITDUMP_NO_CODE)
		return false;
	code = &dump->dump.codes[place->code];
	*out = (struct symbol_dumped){dump, code, address + place->offset};
	/* what a move says may be more than was loaded */
	return out->address - code->start < code->size;
}

bool symbol_dumps_find(struct symbol_dumps *d, const struct profile_mapping *m, uint64_t address,
		       uint64_t time_ns, struct symbol_dumped *out)
{
	const struct profile_process *process =
	    d->nr_markers ? profile_process_of(d->config->processes, m) : NULL;
	const struct jitdump_place *last = NULL;
	struct symbol_dump *of_last = NULL;

	if (!process)
		return false;
	for (size_t i = first_marker(d, process);
	     i < d->nr_markers && d->marker[i].process == process->number; i++) {
		struct symbol_dump *dump = get(d, d->marker[i].dump);
		const struct jitdump_place *place =
		    dump ? jitdump_find(&dump->dump, address, time_in(dump, time_ns)) : NULL;

		if (place && (!last || place->time_ns >= last->time_ns)) {
			last = place;
			of_last = dump;
		}
	}
	return set_dumped(of_last, last, address, out);
}

bool symbol_dumps_at(struct symbol_dumps *d, uint32_t object, uint64_t offset,
		     struct symbol_dumped *out)
{
	uint32_t i;
	struct symbol_dump *dump = find_dump(d, object, &i) ? get(d, i) : NULL;
	struct jitdump_code *code = dump ? jitdump_code_at(&dump->dump, offset) : NULL;

	if (!code)
		return false;
	*out = (struct symbol_dumped){dump, code, code->start + (offset - code->offset)};
	return true;
}

bool symbol_dumps_beside(struct symbol_dumps *d, uint32_t object, const struct jitdump_code *code,
			 uint64_t address, struct symbol_dumped *out)
{
	uint32_t i;
	struct symbol_dump *dump = find_dump(d, object, &i) ? get(d, i) : NULL;

	if (!dump)
		return false;
	if (address - code->start < code->size) {
		*out = (struct symbol_dumped){dump, (struct jitdump_code *)code, address};
		return true;
	}
	return set_dumped(dump, jitdump_find(&dump->dump, address, code->time_ns), address, out);
}

const struct symbol_function *symbol_dumped_function(struct symbol_dumps *d,
						     const struct symbol_dumped *at)
{
	const struct symbol_function draft = {
	    .name = jitdump_name(&at->dump->dump, at->code),
	    .object = "[JIT]",
	    .object_path = "[JIT]",
	    .is_known = true,
	};
	const struct symbol_function *fn =
	    atomic_load_explicit(&at->code->function, memory_order_acquire);

	return fn ? fn : symbol_functions_add(d->functions, &draft, &at->code->function);
}

uint32_t symbol_dumped_object(const struct symbol_dumped *at)
{
	return at->dump->object;
}

uint64_t symbol_dumped_offset(const struct symbol_dumped *at)
{
	return at->code->offset + (at->address - at->code->start);
}

bool symbol_dumps_rights(struct symbol_dumps *d, uint32_t object, struct elf_rights *out)
{
	uint32_t i;
	const struct symbol_dump *dump = find_dump(d, object, &i) ? get(d, i) : NULL;

	if (!dump)
		return false;
	*out = elf_rights_of_both(dump->file.rights, elf_rights_of(&dump->file.st));
	return true;
}

void symbol_dumped_extent(const struct symbol_dumped *at, uint64_t *start, uint64_t *end)
{
	*start = at->code->start;
	*end = at->code->start + at->code->size;
}

uint16_t symbol_dumped_machine(const struct symbol_dumped *at)
{
	return at->dump->dump.machine;
}

/* Under the lock. NULL: there are none, or no memory. */
static const struct jitdump_lines *get_lines(const struct symbol_dumped *at)
{
	struct jitdump_lines *l = at->code->lines;

	if (l || !at->code->lines_len)
		return l;
	l = mem_zalloc(sizeof(*l));
	if (!l)
		return NULL;
	/* what cannot be read has no lines */
	jitdump_lines_read(&at->dump->dump, at->code, &at->dump->source, l);
	at->code->lines = l;
	return l;
}

bool symbol_dumped_line(struct symbol_dumps *d, const struct symbol_dumped *at,
			struct symbol_line *out)
{
	const struct jitdump_lines *l;
	const struct jitdump_line *line;

	pthread_mutex_lock(&d->lock);
	l = get_lines(at);
	pthread_mutex_unlock(&d->lock);
	line = l ? jitdump_lines_find(l, at->address) : NULL;
	if (!line || !line->file)
		return false;
	out->file = symbol_functions_text(d->functions, line->file, strlen(line->file));
	out->line = out->file ? line->line : 0;
	return out->file;
}

/* Under the lock. NULL: it cannot be read. */
static uint8_t *read_table(const struct symbol_dumped *at)
{
	const struct jitdump_code *c = at->code;
	uint8_t *table = mem_alloc(c->table_len);

	if (table && read_bytes(at->dump, c->table_offset, c->table_len, table) == 0)
		return table;
	mem_free(table);
	return NULL;
}

const uint8_t *symbol_dumped_table(struct symbol_dumps *d, const struct symbol_dumped *at)
{
	struct jitdump_code *c = at->code;
	uint8_t *table = atomic_load_explicit(&c->table, memory_order_acquire);

	if (table || !c->table_len)
		return table;
	pthread_mutex_lock(&d->lock);
	table = atomic_load_explicit(&c->table, memory_order_relaxed);
	if (!table) {
		table = read_table(at);
		atomic_store_explicit(&c->table, table, memory_order_release);
	}
	pthread_mutex_unlock(&d->lock);
	return table;
}

size_t symbol_dumped_read(struct symbol_dumps *d, const struct symbol_dumped *at, void *to,
			  size_t len)
{
	const size_t most = at->code->size < len ? (size_t)at->code->size : len;
	int rc;

	pthread_mutex_lock(&d->lock);
	rc = read_bytes(at->dump, at->code->offset, most, to);
	pthread_mutex_unlock(&d->lock);
	return rc ? 0 : most;
}
