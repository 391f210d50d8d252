/*
 * Functions by name are found as events of the group function find theirs. What is not wanted of
 * them is removed: by name, then, file by file, by the source that DWARF names.
 */
#include "experiments/causal_scope.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"
#include "elf/sources.h"
#include "event/function.h"
#include "event/usdt_files.h"
#include "functions/list.h"
#include "functions/pattern.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ITEMS = 64 };

struct item {
	char text[PATH_MAX]; /* without ! and @ */
	bool is_excluded, is_source;
	struct functions_pattern pattern; /* of a name */
};

struct scope {
	const char *text;
	struct item *item; /* owned */
	size_t nr;
	struct event_functions found;
	bool *has_source; /* owned; by place: one of those that are asked for */
	bool *is_out;     /* owned; by place: excluded */
	/* while sources of a file's places are found */
	size_t nr_of_file;
	const struct functions_place **order; /* owned; of the file, by address */
	size_t nr_known;
};

/* --- the text */

static int refuse(const struct scope *s, const char *what, struct err *e)
{
	err_set(e, -EINVAL, "--causal=%s: %s", s->text, what);
	err_hint(e, "as --causal='parse*,libz*:*,@src/*.c,!main'");
	return -EINVAL;
}

static int parse_item(struct scope *s, const char *text, size_t len, struct err *e)
{
	struct item *item = &s->item[s->nr];

	*item = (struct item){.is_excluded = len && *text == '!'};
	text += item->is_excluded;
	len -= item->is_excluded;
	item->is_source = len && *text == '@';
	text += item->is_source;
	len -= item->is_source;
	if (!len || len >= sizeof(item->text))
		return refuse(s, "names no functions", e);
	memcpy(item->text, text, len);
	if (!item->is_source && functions_pattern_parse(item->text, &item->pattern))
		return refuse(s, "is not [OBJECT:]GLOB", e);
	s->nr++;
	return 0;
}

static int parse(struct scope *s, struct err *e)
{
	int rc = 0;

	s->item = mem_calloc(MAX_ITEMS, sizeof(*s->item));
	if (!s->item)
		return err_set(e, -ENOMEM, "out of memory");
	for (const char *at = s->text; *at && rc == 0;) {
		const size_t len = strcspn(at, ",");

		rc = s->nr < MAX_ITEMS ? parse_item(s, at, len, e)
				       : refuse(s, "has more than 64 parts", e);
		at += len + (at[len] == ',');
	}
	return rc;
}

/* --- by name */

static int add_all(struct scope *s, const struct event_functions *f)
{
	for (size_t i = 0; i < f->nr; i++) {
		struct functions_place *to = MEM_ADD(s->found.place, s->found.nr, s->found.room);

		if (!to)
			return -ENOMEM;
		*to = f->place[i];
	}
	return 0;
}

static int find_named(struct scope *s, const struct catalogue *c, const char *glob, struct err *e)
{
	struct event_functions f = {.nr = 0};
	int rc = event_functions_find(c, glob, &f, e);

	rc = rc ?: add_all(s, &f);
	mem_free(f.place);
	return rc == -ENOMEM ? err_set(e, rc, "out of memory") : rc;
}

static int find_all(struct scope *s, const struct catalogue *c, struct err *e)
{
	bool has_names = false;
	int rc = 0;

	for (size_t i = 0; i < s->nr && rc == 0; i++) {
		const struct item *item = &s->item[i];

		if (item->is_source || item->is_excluded)
			continue;
		has_names = true;
		rc = find_named(s, c, item->text, e);
	}
	return rc ?: has_names ? 0 : find_named(s, c, "*", e);
}

static bool is_named(const struct item *item, const struct functions_place *p)
{
	return !item->is_source &&
	       (!*item->pattern.object || functions_pattern_has_file(&item->pattern, p->path)) &&
	       functions_pattern_has_name(&item->pattern, p->name);
}

/* --- by source */

static bool is_of_source(const struct item *item, const char *path)
{
	return item->is_source &&
	       fnmatch(item->text, strchr(item->text, '/') ? path : str_base_name(path), 0) == 0;
}

static void take_source(void *arg, size_t i, const char *path)
{
	struct scope *s = arg;
	const size_t place = (size_t)(s->order[i] - s->found.place);

	s->nr_known++;
	for (size_t k = 0; k < s->nr; k++)
		if (is_of_source(&s->item[k], path))
			*(s->item[k].is_excluded ? &s->is_out[place] : &s->has_source[place]) =
			    true;
}

static int by_address(const void *a, const void *b)
{
	const struct functions_place *const *x = a, *const *y = b;

	return order_u64((*x)->address, (*y)->address);
}

static int read_sources(const struct elf_file *f, const struct usdt_file *file, void *arg)
{
	struct scope *s = arg;
	MEM_AUTO uint64_t *address = mem_calloc(s->nr_of_file, sizeof(*address));
	struct functions_list list;
	int rc = address ? functions_list_load(f, file->path, file->reader, &list) : -ENOMEM;

	if (rc)
		return rc;
	for (size_t i = 0; i < s->nr_of_file; i++)
		address[i] = s->order[i]->address;
	elf_sources_find(list.debug ?: f, address, s->nr_of_file, take_source, s);
	functions_list_fini(&list);
	return 0;
}

/* Places of one file follow each other. */
static int find_sources(struct scope *s)
{
	int rc = 0;

	for (size_t first = 0; first < s->found.nr && rc == 0; first += s->nr_of_file) {
		const struct functions_place *place = &s->found.place[first];

		s->nr_of_file = 0;
		for (size_t i = first;
		     i < s->found.nr && strcmp(s->found.place[i].path, place->path) == 0; i++)
			s->order[s->nr_of_file++] = &s->found.place[i];
		order_sort(s->order, s->nr_of_file, sizeof(const void *), by_address);
		rc = usdt_files_walk_one(place->path, read_sources, s);
	}
	return rc;
}

/* --- what remains */

static int make_marks(struct scope *s)
{
	s->has_source = mem_calloc(s->found.nr + 1, sizeof(*s->has_source));
	s->is_out = mem_calloc(s->found.nr + 1, sizeof(*s->is_out));
	s->order = mem_calloc(s->found.nr + 1, sizeof(const void *));
	return s->has_source && s->is_out && s->order ? 0 : -ENOMEM;
}

static int refuse_none(const struct scope *s, struct err *e)
{
	const bool has_sources = ARRAY_ANY(x, s->item, s->nr, x->is_source);

	if (has_sources && !s->nr_known) {
		err_set(e, -ENOENT, "--causal=%s: the source files of the functions are not known",
			s->text);
		err_hint(e, "compile with -g, or install the debug package (Debian: NAME-dbgsym)");
	} else {
		err_set(e, -ENOENT, "--causal=%s: of %zu functions none remains", s->text,
			s->found.nr);
		err_hint(e, "cpuperf --list-functions lists all by name");
	}
	return e->code;
}

static int add_remaining(struct scope *s, int (*add)(void *arg, const struct functions_place *p),
			 void *arg, struct err *e)
{
	const bool needs_source = ARRAY_ANY(x, s->item, s->nr, x->is_source && !x->is_excluded);
	size_t nr = 0;
	int rc = 0;

	for (size_t i = 0; i < s->found.nr && rc == 0; i++) {
		const struct functions_place *p = &s->found.place[i];

		if (s->is_out[i] || (needs_source && !s->has_source[i]) ||
		    ARRAY_ANY(x, s->item, s->nr, x->is_excluded && is_named(x, p)))
			continue;
		nr++;
		rc = add(arg, p);
	}
	return rc ? err_set(e, rc, "--causal: %s", strerror(-rc)) : nr ? 0 : refuse_none(s, e);
}

int causal_scope_find(const char *text, const struct catalogue *c,
		      int (*add)(void *arg, const struct functions_place *p), void *arg,
		      struct err *e)
{
	struct scope s = {.text = text ?: "*"};
	int rc = parse(&s, e) ?: find_all(&s, c, e);

	if (rc == 0)
		rc = make_marks(&s);
	if (rc == 0 && ARRAY_ANY(x, s.item, s.nr, x->is_source))
		rc = find_sources(&s);
	rc = rc ? err_set(e, rc, "--causal=%s: %s", s.text, strerror(-rc))
		: add_remaining(&s, add, arg, e);
	mem_free(s.found.place);
	mem_free(s.has_source);
	mem_free(s.is_out);
	mem_free(s.order);
	mem_free(s.item);
	return rc;
}
