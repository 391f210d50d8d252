/*
 * Source lines and inlined functions, from DWARF, and where that has none from the table that Go's
 * runtime has. One lock, because libdw is not thread-safe. Caches all answers.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "elf/demangle.h"
#include "elf/dwarf.h"
#include "elf/finder.h"
#include "elf/pclntab.h"
#include "profile/processes.h"
#include "symbol/dwarf_units.h"
#include "symbol/room.h"
#include "symbol/word.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
	NR_BUCKETS = 1 << 14,
	MAX_ANSWERS = 1 << 21,
	/* A row of a line table takes about 100 bytes, and is encoded in 1 byte or more, usually
	 * 2. */
	MAX_LINE_PROGRAM_BYTES = 32 << 20,
	LINE_PROGRAM_COST = 50,
};

static const size_t max_answers_bytes = (size_t)1 << 30;

struct dwarf_file {
	struct dwarf_file *next;  /* of the bucket */
	struct dwarf_file *older; /* of all */
	const struct profile_object *object;
	bool is_usable;
	struct elf_rights rights;       /* of debug and shared */
	struct elf_dwarf dwarf, shared; /* shared: the file in .gnu_debugaltlink */
	struct symbol_units units;
	bool has_asked_go; /* whether go is usable */
	bool is_go;
	struct elf_pclntab go;
};

struct answer {
	struct answer *next;
	const struct profile_object *object;
	uint64_t address;
	bool with_inlined;
	size_t nr;
	struct symbol_line line[];
};

struct symbol_lines {
	const struct symbols_config *config;
	struct symbol_functions *functions;
	pthread_mutex_t lock;
	struct dwarf_file *file[NR_BUCKETS]; /* hashed by object */
	struct dwarf_file *newest;           /* owned, as all older ones */
	struct arena arena;                  /* of answers */
	size_t nr_answers;
	struct answer *answer[NR_BUCKETS];
};

struct symbol_lines *symbol_lines_new(const struct symbols_config *config,
				      struct symbol_functions *functions)
{
	struct symbol_lines *l = mem_zalloc(sizeof(*l));

	if (!l)
		return NULL;
	l->config = config;
	l->functions = functions;
	pthread_mutex_init(&l->lock, NULL);
	arena_init(&l->arena, max_answers_bytes);
	return l;
}

void symbol_lines_free(struct symbol_lines *l)
{
	if (!l)
		return;
	for (struct dwarf_file *d = l->newest, *older; d; d = older) {
		older = d->older;
		symbol_units_fini(&d->units);
		elf_dwarf_close(&d->dwarf);
		elf_dwarf_close(&d->shared);
		mem_free(d);
	}
	arena_fini(&l->arena);
	pthread_mutex_destroy(&l->lock);
	mem_free(l);
}

/* libdw would search for the file, and open whatever path debug contains. */
static bool open_shared(const struct symbol_lines *l, const struct elf_file *debug,
			struct dwarf_file *d)
{
	const struct elf_file *shared;
	struct elf_build_id id;
	struct err e = {0};

	if (!elf_dwarf_needs(debug, &id))
		return true;
	shared = id.len ? elf_finder_by_id(l->config->finder, &id, debug) : NULL;
	if (shared && elf_dwarf_open(shared, &d->shared) == 0) {
		dwarf_setalt(d->dwarf.dwarf, d->shared.dwarf);
		d->rights = elf_rights_of_both(d->rights, elf_file_rights(shared));
		return true;
	}
	err_set_at(&e, -ENOENT, elf_file_name(debug), 0, 0,
		   "has no source lines: they are in a shared debug file that is missing");
	err_hint(&e, "install it with the debug files of the same package, or name its folder with "
		     "--debug-dir");
	if (l->config->problem)
		l->config->problem(l->config->arg, &e);
	return false;
}

static void report_damage(const struct symbol_lines *l, const struct elf_file *f)
{
	struct err e = {0};

	err_set_at(&e, -EBADMSG, elf_file_name(f), 0, 0,
		   "has no source lines: a compressed debug section is damaged, or of an unknown "
		   "method");
	err_hint(&e, "compress it with zlib or zstd (objcopy --compress-debug-sections=zlib)");
	if (l->config->problem)
		l->config->problem(l->config->arg, &e);
}

static bool open_dwarf(const struct symbol_lines *l, const struct elf_file *f,
		       struct elf_dwarf *out)
{
	uint64_t start_ns = clock_thread_cpu_ns();
	int rc = elf_dwarf_open(f, out);

	if (rc == -EBADMSG)
		report_damage(l, f);
	return elf_file_spend(f, clock_thread_cpu_ns() - start_ns) && rc == 0;
}

static struct dwarf_file *get_file(struct symbol_lines *l, const struct profile_object *object,
				   const struct symbol_object *o)
{
	struct dwarf_file **head = &l->file[object->number % NR_BUCKETS], *d = *head;

	while (d && d->object != object)
		d = d->next;
	if (d)
		return d;
	d = mem_zalloc(sizeof(*d));
	if (!d)
		return NULL;
	d->object = object;
	d->rights = elf_file_rights(symbol_object_lines_file(o));
	d->is_usable =
	    o->debug && open_dwarf(l, o->debug, &d->dwarf) && open_shared(l, o->debug, d) &&
	    symbol_units_load(
		&(struct symbol_splits){
		    .config = l->config, .debug = o->debug, .code = o->code, .dwarf = &d->dwarf},
		&d->units) == 0;
	d->next = *head;
	*head = d;
	d->older = l->newest;
	l->newest = d;
	return d;
}

/* The state of one query. */
struct question {
	struct symbol_lines *l;
	const struct profile_object *object;
	struct dwarf_file *file;
	uint64_t address;
	bool with_inlined;
	struct symbol_unit *u;
	Dwarf_Die unit;
	struct symbol_line *out;
	size_t nr, max;
};

/* A relative name (cc src/x.c) is of the folder in which the unit was compiled. */
static const char *file_name(struct question *q, const char *name)
{
	Dwarf_Attribute attr;
	const char *folder;
	char path[PATH_MAX];

	if (!name)
		return NULL;
	folder =
	    name[0] == '/' ? NULL : dwarf_formstring(dwarf_attr(&q->unit, DW_AT_comp_dir, &attr));
	if (folder && folder[0] == '/' &&
	    snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path))
		name = path;
	return symbol_functions_text(q->l->functions, name, strnlen(name, PATH_MAX));
}

/* The source line of the address. */
static void set_line(struct question *q, struct symbol_line *out)
{
	Dwarf_Line *line = dwarf_getsrc_die(&q->unit, q->address);
	int number;

	if (!line)
		return;
	out->file = file_name(q, dwarf_linesrc(line, NULL, NULL));
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		out->line = (uint32_t)number;
}

/* The source line of the call, which is in the enclosing function. */
static void set_call(struct question *q, Dwarf_Die *inlined, struct symbol_line *out)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word v;
	size_t nr;

	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attr), &v) == 0 &&
	    dwarf_getsrcfiles(&q->unit, &files, &nr) == 0 && v < nr)
		out->file = file_name(q, dwarf_filesrc(files, v, NULL, NULL));
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attr), &v) == 0 &&
	    v <= UINT32_MAX)
		out->line = (uint32_t)v;
}

static const char *linkage_name(Dwarf_Die *die)
{
	static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
	Dwarf_Attribute attr;
	const char *name = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !name; i++)
		name = dwarf_formstring(dwarf_attr_integrate(die, names[i], &attr));
	return name;
}

static const struct symbol_function *inlined_function(struct question *q, const char *linkage)
{
	const struct symbol_function_key key = {
	    .space = symbol_space(SPACE_INLINED, q->object->number),
	    .linkage = linkage ? linkage : "[unknown]",
	};
	const struct symbol_function *fn = symbol_functions_find(q->l->functions, &key);
	char name[ELF_MAX_NAME_BYTES];
	const struct symbol_function draft = {
	    .name = name,
	    .linkage_name = key.linkage,
	    .object = q->object->name,
	    .object_path = q->object->shown_path,
	    .is_known = linkage != NULL,
	    .is_inlined = true,
	};

	if (fn)
		return fn;
	elf_demangle(key.linkage, name);
	return symbol_functions_add_key(q->l->functions, &draft, &key);
}

/* From the innermost inlined function to function, each with its line. */
static void unroll(struct question *q, Dwarf_Die *inlined, size_t nr,
		   const struct symbol_function *function)
{
	struct symbol_line line = {0};

	set_line(q, &line);
	while (nr-- && q->nr + 1 < q->max) {
		line.function = inlined_function(q, linkage_name(&inlined[nr]));
		q->out[q->nr++] = line;
		line = (struct symbol_line){0};
		set_call(q, &inlined[nr], &line);
	}
	line.function = function;
	q->out[q->nr++] = line;
}

/* Charges for the unit's line table, which dwarf_getsrc_die builds. */
static bool pay_lines(const struct question *q, Dwarf_Die *unit, const struct elf_file *payer)
{
	Dwarf_Attribute attr;
	const uint8_t *lines;
	Dwarf_Word at;
	size_t len;

	lines = elf_dwarf_section(&q->file->dwarf, "line", &len);
	if (!lines || dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attr), &at) != 0)
		return true; /* no line table */
	return at < len && len - at >= 4 && word_32(lines + at) <= MAX_LINE_PROGRAM_BYTES &&
	       elf_file_pay(payer, (uint64_t)word_32(lines + at) * LINE_PROGRAM_COST);
}

static bool find_unit(struct question *q, const struct elf_file *payer)
{
	if (!q->file || !q->file->is_usable)
		return false;
	q->u = symbol_units_find(&q->file->units, q->address, &q->unit);
	if (!q->u)
		return false;
	if (!q->u->is_paid)
		q->u->has_lines = pay_lines(q, &q->unit, payer);
	q->u->is_paid = true;
	return q->u->has_lines;
}

/* --- the table of Go's runtime --- */

static bool open_go(struct dwarf_file *d, const struct symbol_object *o)
{
	if (!d->has_asked_go && elf_pclntab_open(o->code, &d->go)) {
		d->is_go = true;
		elf_pclntab_find_calls(&d->go);
		d->rights = elf_rights_of_both(d->rights, elf_file_rights(o->code));
	}
	d->has_asked_go = true;
	return d->is_go;
}

/* False: it has no answer. */
static bool ask_go(struct question *q, const struct symbol_object *o,
		   const struct symbol_function *function)
{
	_Static_assert((int)ELF_PCLNTAB_MAX_LINES <= (int)SYMBOL_MAX_LINES, "the last is not lost");
	const uint64_t start_ns = clock_thread_cpu_ns();
	struct elf_pclntab_line line[ELF_PCLNTAB_MAX_LINES];
	size_t nr = 0;

	if (o->is_go && q->file && elf_file_spend(o->code, 0) && open_go(q->file, o))
		nr = elf_pclntab_lines(&q->file->go, q->address, q->with_inlined, line);
	if (o->is_go)
		elf_file_spend(o->code, clock_thread_cpu_ns() - start_ns);
	for (size_t i = 0; i < nr && q->nr < q->max; i++) {
		const char *file = line[i].file;

		q->out[q->nr++] = (struct symbol_line){
		    .function = line[i].function ? inlined_function(q, line[i].function) : function,
		    .file =
			file ? symbol_functions_text(q->l->functions, file, strlen(file)) : NULL,
		    .line = line[i].line};
	}
	return nr;
}

static void ask(struct question *q, const struct symbol_object *o,
		const struct symbol_function *function)
{
	Dwarf_Die inlined[SYMBOL_MAX_LINES];
	size_t nr = 0;

	if (q->file)
		symbol_units_begin(&q->file->units);
	if (!find_unit(q, o->debug)) {
		if (!ask_go(q, o, function))
			q->out[q->nr++] = (struct symbol_line){.function = function};
	} else {
		if (q->with_inlined)
			nr = symbol_units_inlined(&q->file->units, q->u, &q->unit, q->address,
						  inlined, SYMBOL_MAX_LINES);
		unroll(q, inlined, nr, function);
	}
	if (q->file && q->file->is_usable)
		symbol_units_end(&q->file->units);
}

static size_t bucket(const struct profile_object *object, uint64_t address)
{
	uint64_t h = (address + object->number) * 0x9e3779b97f4a7c15u;

	return (size_t)(h >> 40) % NR_BUCKETS;
}

static void store(struct symbol_lines *l, const struct question *q)
{
	struct answer **head = &l->answer[bucket(q->object, q->address)], *a;

	if (l->nr_answers == MAX_ANSWERS)
		return;
	a = arena_alloc(&l->arena, sizeof(*a) + q->nr * sizeof(a->line[0]));
	if (!a)
		return;
	a->object = q->object;
	a->address = q->address;
	a->with_inlined = q->with_inlined;
	a->nr = q->nr;
	memcpy(a->line, q->out, q->nr * sizeof(a->line[0]));
	a->next = *head;
	*head = a;
	l->nr_answers++;
}

static const struct answer *find_answer(const struct symbol_lines *l,
					const struct profile_object *object, uint64_t address,
					bool with_inlined)
{
	const struct answer *a = l->answer[bucket(object, address)];

	while (a &&
	       (a->object != object || a->address != address || a->with_inlined != with_inlined))
		a = a->next;
	return a;
}

size_t symbol_lines_find(struct symbol_lines *l, const struct profile_object *object,
			 const struct symbol_object *o, uint64_t address, bool with_inlined,
			 const struct symbol_function *function, struct symbol_line *out,
			 size_t max)
{
	struct symbol_line line[SYMBOL_MAX_LINES];
	struct question q = {.l = l,
			     .object = object,
			     .address = address,
			     .with_inlined = with_inlined,
			     .out = line,
			     .max = SYMBOL_MAX_LINES};
	const struct symbol_line *lines = line;
	const struct answer *a;
	size_t nr, n;

	pthread_mutex_lock(&l->lock);
	a = find_answer(l, object, address, with_inlined);
	if (a) {
		lines = a->line;
		nr = a->nr;
	} else {
		q.file = get_file(l, object, o);
		ask(&q, o, function);
		store(l, &q);
		nr = q.nr;
	}
	/* If they do not fit, skip the innermost ones. */
	n = nr < max ? nr : max;
	memcpy(out, lines + (nr - n), n * sizeof(*out));
	pthread_mutex_unlock(&l->lock);
	return n;
}

struct elf_rights symbol_lines_rights(struct symbol_lines *l, const struct profile_object *object,
				      const struct symbol_object *o)
{
	struct elf_rights rights = elf_file_rights(symbol_object_lines_file(o));
	const struct dwarf_file *d;

	pthread_mutex_lock(&l->lock);
	d = get_file(l, object, o);
	if (d)
		rights = elf_rights_of_both(d->rights, d->units.splits.rights);
	pthread_mutex_unlock(&l->lock);
	return rights;
}
