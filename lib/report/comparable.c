/*
 * A list of objects, found by the numbers of their names: what all sessions have in common.
 */
#include "report/comparable.h"

#include "base/index.h"
#include "base/mem.h"
#include "report/functions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ID_BYTES = 32, NAME_BYTES = 512 };

struct object {
	uint32_t name;
	uint8_t id[MAX_ID_BYTES];
	size_t id_len;
	unsigned names;
	bool has_other_names, has_other_bytes; /* than elsewhere */
};

struct report_comparable {
	struct report_functions *functions;
	uint32_t kernel; /* the number of its name */
	struct index index;
	struct object *objects;
	size_t nr, room;
};

struct report_comparable *report_comparable_new(struct report_functions *functions)
{
	struct report_comparable *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->functions = functions;
	c->kernel = report_functions_number(functions, "[kernel]");
	if (c->kernel != UINT32_MAX)
		return c;
	report_comparable_free(c);
	return NULL;
}

void report_comparable_free(struct report_comparable *c)
{
	if (!c)
		return;
	index_fini(&c->index);
	mem_free(c->objects);
	mem_free(c);
}

static bool is_object(const void *arg, const void *key, uint32_t number)
{
	const struct report_comparable *c = arg;

	return c->objects[number].name == *(const uint32_t *)key;
}

static struct object *find(const struct report_comparable *c, uint32_t name)
{
	uint32_t i = index_find(&c->index, index_hash(0, &name, sizeof(name)), is_object, c, &name);

	return i == INDEX_NONE ? NULL : &c->objects[i];
}

static int add(struct report_comparable *c, const struct object *o)
{
	struct object *list = mem_grow(c->objects, c->nr, &c->room, sizeof(*list));

	if (!list)
		return -ENOMEM;
	c->objects = list;
	list[c->nr] = *o;
	if (index_add(&c->index, index_hash(0, &o->name, sizeof(o->name)), (uint32_t)c->nr))
		return -ENOMEM;
	c->nr++;
	return 0;
}

static bool has_same_bytes(const struct object *a, const struct object *b)
{
	return a->id_len && a->id_len == b->id_len && memcmp(a->id, b->id, a->id_len) == 0;
}

int report_comparable_add(struct report_comparable *c, const struct report_object_facts *facts)
{
	struct object o = {.name = report_functions_number(c->functions, facts->name),
			   .names = facts->names},
		      *known;

	if (o.name == UINT32_MAX)
		return -ENOMEM;
	if (facts->bytes_id_len && facts->bytes_id_len <= sizeof(o.id)) {
		o.id_len = facts->bytes_id_len;
		memcpy(o.id, facts->bytes_id, o.id_len);
	}
	known = find(c, o.name);
	if (!known)
		return add(c, &o);
	known->has_other_names |= known->names != o.names;
	known->has_other_bytes |= !has_same_bytes(known, &o);
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
	const struct object *o = find(c, function->is_kernel ? c->kernel : function->home_number);
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
	return c->nr;
}

enum report_comparable_why report_comparable_why(const struct report_comparable *c, size_t i)
{
	return why(&c->objects[i]);
}

size_t report_comparable_nr_whole(const struct report_comparable *c)
{
	size_t nr = 0;

	for (size_t i = 0; i < c->nr; i++)
		nr += why(&c->objects[i]) != REPORT_COMPARABLE;
	return nr;
}

const char *report_comparable_name(const struct report_comparable *c, size_t i)
{
	return report_functions_text(c->functions, c->objects[i].name);
}
