/*
 * A list of objects, with the numbers of their names as keys, which all sessions share.
 */
#include "report/comparable.h"

#include "base/dict.h"
#include "base/mem.h"
#include "report/functions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ID_BYTES = 32, NAME_BYTES = 512 };

struct object {
	uint32_t name; /* its key */
	uint8_t id[MAX_ID_BYTES];
	size_t id_len;
	unsigned names;
	bool has_other_names, has_other_bytes; /* than elsewhere */
};

struct report_comparable {
	struct report_functions *functions;
	uint32_t kernel;     /* the number of its name */
	struct dict objects; /* struct object */
};

struct report_comparable *report_comparable_new(struct report_functions *functions)
{
	struct report_comparable *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->functions = functions;
	dict_init(&c->objects, sizeof(struct object), sizeof(uint32_t), DICT_MAX);
	c->kernel = report_functions_text_number(functions, "[kernel]");
	if (c->kernel != UINT32_MAX)
		return c;
	report_comparable_free(c);
	return NULL;
}

void report_comparable_free(struct report_comparable *c)
{
	if (!c)
		return;
	dict_fini(&c->objects);
	mem_free(c);
}

static bool has_same_bytes(const struct object *a, const struct object *b)
{
	return a->id_len && a->id_len == b->id_len && memcmp(a->id, b->id, a->id_len) == 0;
}

int report_comparable_add(struct report_comparable *c, const struct report_object_facts *facts)
{
	struct object o = {.name = report_functions_text_number(c->functions, facts->name),
			   .names = facts->names},
		      *first;
	size_t nr = c->objects.nr;

	if (o.name == UINT32_MAX)
		return -ENOMEM;
	if (facts->bytes_id_len && facts->bytes_id_len <= sizeof(o.id)) {
		o.id_len = facts->bytes_id_len;
		memcpy(o.id, facts->bytes_id, o.id_len);
	}
	first = dict_get(&c->objects, &o.name);
	if (!first)
		return -ENOMEM;
	if (c->objects.nr > nr)
		*first = o;
	first->has_other_names |= first->names != o.names;
	first->has_other_bytes |= !has_same_bytes(first, &o);
	return 0;
}

static enum report_comparable_why why(const struct object *o)
{
	if (o->has_other_names)
		return REPORT_NAMES_DIFFER;
	return o->has_other_bytes && !o->names ? REPORT_BYTES_DIFFER : REPORT_COMPARABLE;
}

const struct report_function *report_comparable_function(struct report_comparable *c,
							 const struct report_function *function)
{
	uint32_t home = function->is_kernel ? c->kernel : function->object_number;
	const struct object *o = dict_at(&c->objects, dict_find(&c->objects, &home));
	char name[NAME_BYTES];
	const char *object;

	if (!o)
		return function;
	object = report_functions_text(c->functions, o->name);
	if (why(o) != REPORT_COMPARABLE)
		snprintf(name, sizeof(name), "[all of %.480s]", object);
	else if (o->has_other_bytes && !function->is_known)
		snprintf(name, sizeof(name), "[unknown] (%.480s)", object);
	else
		return function;
	return report_functions_named(c->functions, name, object);
}

size_t report_comparable_nr(const struct report_comparable *c)
{
	return c->objects.nr;
}

enum report_comparable_why report_comparable_why(const struct report_comparable *c, size_t i)
{
	return why(dict_at(&c->objects, (uint32_t)i));
}

size_t report_comparable_nr_whole(const struct report_comparable *c)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < c->objects.nr; i++)
		nr += why(dict_at(&c->objects, i)) != REPORT_COMPARABLE;
	return nr;
}

const char *report_comparable_name(const struct report_comparable *c, size_t i)
{
	const struct object *o = dict_at(&c->objects, (uint32_t)i);

	return report_functions_text(c->functions, o->name);
}
