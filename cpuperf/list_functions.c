/*
 * --list-functions: what could be measured of a program's functions, what each would cost, and why
 * others are omitted. Nothing is executed.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "elf/demangle.h"
#include "event/catalogue.h"
#include "event/function.h"
#include "event/usdt_files.h"
#include "program.h"
#include "screen/field.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_LIST_BYTES = 256 << 20,
	MAX_REASONS = 64,
	MAX_NAMED = 8, /* of a reason */
	NAME_WIDTH = 40,
};

struct row {
	const struct functions_place *place;
	const char *name; /* in the source */
};

struct list_format;

struct listing {
	struct buf out;
	const struct list_format *format;
};

struct list_format {
	const char *name;
	bool has_header;
	/* All functions of one file. */
	void (*add)(struct listing *l, const struct functions_place *places, size_t nr);
};

static struct row row_of(const struct functions_place *p, char name[ELF_MAX_NAME_BYTES])
{
	elf_demangle(p->name, name);
	return (struct row){p, name};
}

/* --- fields */

SCREEN_TEXT(row, get_name, r->name)
SCREEN_TEXT(row, get_linkage_name, r->place->name)
SCREEN_TEXT(row, get_object, r->place->path)
SCREEN_NUMBER(row, get_address, true, r->place->address)
SCREEN_NUMBER(row, get_size, true, r->place->size)
SCREEN_TEXT(row, get_entry, r->place->refused ? "" : event_function_entry(r->place->entry))
SCREEN_NUMBER(row, get_offset, !r->place->refused, r->place->offset)
SCREEN_NUMBER(row, get_cost, !r->place->refused, functions_hit_ns(r->place))

static const char *get_measured(const void *p)
{
	const struct functions_place *place = ((const struct row *)p)->place;

	return place->refused                            ? "omitted"
	       : place->ret == FUNCTIONS_RETURN_REPLACED ? "calls and times"
							 : "calls";
}

SCREEN_TEXT(row, get_reason, r->place->refused ?: r->place->reason ?: "")

static const struct screen_field fields[] = {
    {"function", get_name, NULL}, {"linkage_name", get_linkage_name, NULL},
    {"object", get_object, NULL}, {"address", NULL, get_address},
    {"size", NULL, get_size},     {"measured", get_measured, NULL},
    {"reason", get_reason, NULL}, {"entry", get_entry, NULL},
    {"offset", NULL, get_offset}, {"hit_ns", NULL, get_cost},
};

static void add_csv(struct listing *l, const struct functions_place *places, size_t nr)
{
	char name[ELF_MAX_NAME_BYTES];

	for (size_t i = 0; i < nr; i++) {
		struct row row = row_of(&places[i], name);

		screen_write_csv(&l->out, fields, ARRAY_NR(fields), &row);
	}
}

static void add_ndjson(struct listing *l, const struct functions_place *places, size_t nr)
{
	char name[ELF_MAX_NAME_BYTES];

	for (size_t i = 0; i < nr; i++) {
		struct row row = row_of(&places[i], name);

		screen_write_json(&l->out, fields, ARRAY_NR(fields), &row);
	}
}

/* For scripts and completion. */
static void add_names(struct listing *l, const struct functions_place *places, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!places[i].refused)
			buf_printf(&l->out, "%s\n", places[i].name);
}

/* --- text */

static void add_line(struct listing *l, const struct functions_place *p)
{
	char name[ELF_MAX_NAME_BYTES];

	elf_demangle(p->name, name);
	buf_printf(&l->out, "%7.1f  %-5s  %-14s %8llu  ", (double)functions_hit_ns(p) / 1e3,
		   p->ret == FUNCTIONS_RETURN_REPLACED ? "yes" : "no",
		   event_function_entry(p->entry), (unsigned long long)p->size);
	buf_shown(&l->out, name, strlen(name));
	buf_addc(&l->out, '\n');
}

/* The names of those with the reason, the first ones. */
static void add_reason(struct listing *l, const struct functions_place *places, size_t nr,
		       const char *reason, bool is_refused)
{
	size_t count = 0;

	for (size_t i = 0; i < nr; i++) {
		const char *why = is_refused ? places[i].refused : places[i].reason;
		bool is_it = why && strcmp(why, reason) == 0 && (is_refused || !places[i].refused);

		count += is_it;
	}
	buf_printf(&l->out, "%s (%zu): %s:", is_refused ? "omitted" : "no times", count, reason);
	for (size_t i = 0, named = 0; i < nr && named < MAX_NAMED; i++) {
		const char *why = is_refused ? places[i].refused : places[i].reason;
		char name[ELF_MAX_NAME_BYTES];

		if (!why || strcmp(why, reason) != 0 || (!is_refused && places[i].refused))
			continue;
		elf_demangle(places[i].name, name);
		buf_adds(&l->out, named++ ? ", " : " ");
		buf_shown(&l->out, name, strlen(name));
	}
	buf_adds(&l->out, count > MAX_NAMED ? ", …\n" : "\n");
}

/* Each reason once. */
static void add_reasons(struct listing *l, const struct functions_place *places, size_t nr,
			bool is_refused)
{
	const char *seen[MAX_REASONS];
	size_t nr_seen = 0;

	for (size_t i = 0; i < nr && nr_seen < MAX_REASONS; i++) {
		const char *why = is_refused          ? places[i].refused
				  : places[i].refused ? NULL
						      : places[i].reason;

		if (!why || ARRAY_ANY(s, seen, nr_seen, strcmp(*s, why) == 0))
			continue;
		seen[nr_seen++] = why;
		add_reason(l, places, nr, why, is_refused);
	}
}

static void add_text(struct listing *l, const struct functions_place *places, size_t nr)
{
	size_t measured = 0;

	for (size_t i = 0; i < nr; i++)
		measured += !places[i].refused;
	buf_printf(&l->out, "%s%s: %zu function%s\n", l->out.len ? "\n" : "", places[0].path,
		   measured, measured == 1 ? "" : "s");
	if (measured)
		buf_adds(&l->out, "us/call  times  entry             bytes  function\n");
	for (size_t i = 0; i < nr; i++)
		if (!places[i].refused)
			add_line(l, &places[i]);
	add_reasons(l, places, nr, false);
	add_reasons(l, places, nr, true);
}

static const struct list_format formats[] = {
    {"text", false, add_text},
    {"csv", true, add_csv},
    {"ndjson", false, add_ndjson},
    {OPTIONS_FORMAT_NAMES, false, add_names},
};

/* --- the list */

static int by_name(const void *a, const void *b)
{
	const struct functions_place *x = a, *y = b;

	return strcmp(x->name, y->name) ?: (x->address > y->address) - (x->address < y->address);
}

static void add_files(struct listing *l, struct event_functions *f)
{
	for (size_t i = 0, nr; i < f->nr; i += nr) {
		for (nr = 1;
		     i + nr < f->nr && strcmp(f->place[i].path, f->place[i + nr].path) == 0;)
			nr++;
		qsort(&f->place[i], nr, sizeof(f->place[i]), by_name);
		l->format->add(l, &f->place[i], nr);
	}
}

static int list_found(struct listing *l, struct event_functions *f)
{
	int status;

	buf_init(&l->out, MAX_LIST_BYTES);
	if (l->format->has_header)
		screen_write_csv_header(&l->out, fields, ARRAY_NR(fields));
	add_files(l, f);
	status = print_result(&l->out);
	buf_fini(&l->out);
	return status;
}

int list_functions(const struct options *o, const struct catalogue *c)
{
	struct event_functions f = {.nr = 0};
	struct listing l = {.format = ARRAY_FIND(x, formats, ARRAY_NR(formats),
						 strcmp(x->name, o->output_format) == 0)};
	struct err e = {0};
	int status, rc;

	if (!usdt_has_target(c->objects) && !o->list_functions.value) {
		log_error("--list-functions requires a program: -- COMMAND, --pid, or =FILE:*");
		return EXIT_USAGE;
	}
	rc = event_functions_find(c, o->list_functions.value ?: "*", &f, &e);
	if (rc == -ENOMEM)
		err_set(&e, rc, "out of memory");
	if (rc)
		return fail(rc == -EINVAL ? EXIT_USAGE : EXIT_FAILED, &e);
	l.format = l.format ?: &formats[0];
	if (!o->list_functions.value && !f.is_of_program)
		log_warning(
		    "the program has no names (it is stripped): these are of its libraries");
	status = list_found(&l, &f);
	mem_free(f.place);
	return status;
}
