/*
 * Two direct-mapped caches of symbols, by address in a process and by place in a file (whichever
 * process maps it), and what the report makes of each symbol, by its number.
 */
#include "report/resolver.h"

#include "base/mem.h"
#include "profile/compiled.h"
#include "profile/processes.h"
#include "report/functions.h"
#include "symbol/symbols.h"

#include <string.h>

enum {
	MIN_SLOTS = 1 << 11,
	MAX_SLOTS = 1 << 16,
	NO_PROCESS = UINT32_MAX,
	NO_NUMBER = UINT32_MAX,
};

/* A symbol as the report sees it. function: NULL until it is asked for. */
struct resolved {
	const struct report_function *function;
	enum report_start start;
	bool is_switch;
};

/* The symbol at an address in one epoch of one process, or at an offset (where) in a file (whose).
 */
struct slot {
	uint64_t where;
	uint32_t whose, epoch;
	uint32_t number; /* of the symbol, + 1; 0: free */
};

/* Direct-mapped. Doubles, and forgets, after as many misses as it has slots. */
struct cache {
	struct slot *slots; /* owned */
	size_t nr, nr_misses;
};

struct report_resolver {
	struct report_resolver_config config;
	struct cache addresses, places;
	struct resolved *of_symbol; /* owned; by the number of the symbol */
	size_t nr_of_symbol;
};

struct report_resolver *report_resolver_new(const struct report_resolver_config *config)
{
	struct report_resolver *r = mem_zalloc(sizeof(*r));

	if (r)
		r->config = *config;
	return r;
}

void report_resolver_free(struct report_resolver *r)
{
	if (!r)
		return;
	mem_free(r->addresses.slots);
	mem_free(r->places.slots);
	mem_free(r->of_symbol);
	mem_free(r);
}

static bool grow(struct cache *c)
{
	size_t nr = c->nr ? 2 * c->nr : MIN_SLOTS;
	struct slot *slots = mem_calloc(nr, sizeof(*slots));

	if (slots) {
		mem_free(c->slots);
		*c = (struct cache){slots, nr, 0};
	}
	return c->slots;
}

/* The slot for a key; *is_hit: it holds the key. NULL without memory. */
static struct slot *find_slot(struct cache *c, const struct slot *key, bool *is_hit)
{
	uint64_t h = key->where ^ ((uint64_t)key->whose << 32 | key->epoch) * 0xc2b2ae3d27d4eb4fu;
	struct slot *s;

	if (!c->nr || (c->nr_misses >= c->nr && c->nr < MAX_SLOTS))
		if (!grow(c))
			return NULL;
	s = &c->slots[(h * 0x9e3779b97f4a7c15u >> 32) & (c->nr - 1)];
	*is_hit =
	    s->number && s->where == key->where && s->whose == key->whose && s->epoch == key->epoch;
	c->nr_misses += !*is_hit;
	return s;
}

/* The number of a symbol that of_symbol has. NO_NUMBER: no memory. Takes the lock of the report's
 * functions once per symbol. */
static uint32_t resolve(struct report_resolver *r, const struct symbol_function *s)
{
	size_t room = ((size_t)s->number + 1024) * 2;
	struct resolved *is;

	if (s->number >= r->nr_of_symbol) {
		struct resolved *list = mem_resize(r->of_symbol, room * sizeof(*list));

		if (!list)
			return NO_NUMBER;
		memset(list + r->nr_of_symbol, 0, (room - r->nr_of_symbol) * sizeof(*list));
		r->of_symbol = list;
		r->nr_of_symbol = room;
	}
	is = &r->of_symbol[s->number];
	if (!is->function)
		*is = (struct resolved){report_functions_get(r->config.functions, s),
					report_start_of(s->name, s->object, s->is_known),
					report_is_switch(s->name, s->object)};
	return is->function ? s->number : NO_NUMBER;
}

static const struct resolved *resolved(const struct report_resolver *r, uint32_t number)
{
	static const struct resolved none;

	return number == NO_NUMBER ? &none : &r->of_symbol[number];
}

static const struct profile_mapping *
find_mapping(struct report_resolver *r, const struct report_place *place, uint64_t address)
{
	return profile_lookup_code(r->config.lookup, place->process, address, place->time_ns);
}

/* Code made at run time is named by process and time, code of a file by its offset. */
static uint32_t find_user(struct report_resolver *r, const struct report_place *place,
			  uint64_t address)
{
	const struct profile_mapping *m = find_mapping(r, place, address);
	struct slot key, *s;
	bool is_hit;

	if (!m || m->object->kind != PROFILE_OBJECT_FILE)
		return resolve(r, symbols_user(r->config.symbols, m, address, place->time_ns));
	key = (struct slot){.where = address - m->start + m->offset, .whose = m->object->number};
	s = find_slot(&r->places, &key, &is_hit);
	if (!s)
		return NO_NUMBER;
	if (!is_hit) {
		key.number =
		    resolve(r, symbols_user(r->config.symbols, m, address, place->time_ns)) + 1;
		*s = key;
	}
	return s->number - 1;
}

static uint32_t find_symbol(struct report_resolver *r, const struct report_place *place,
			    bool is_kernel, uint64_t address)
{
	struct slot key = {.where = address,
			   .whose = is_kernel ? NO_PROCESS : place->number,
			   .epoch = is_kernel ? place->kernel_epoch : place->epoch};
	bool is_hit;
	struct slot *s = find_slot(&r->addresses, &key, &is_hit);

	if (!s)
		return NO_NUMBER;
	if (!is_hit) {
		key.number = 1 + (is_kernel ? resolve(r, symbols_kernel(r->config.symbols, address,
									place->time_ns))
					    : find_user(r, place, address));
		*s = key;
	}
	return s->number - 1;
}

uint32_t report_resolver_epoch(struct report_resolver *r, const struct profile_process *process,
			       uint64_t time_ns)
{
	return profile_lookup_epoch(r->config.lookup, process, time_ns) +
	       symbols_epoch(r->config.symbols, process, time_ns);
}

enum report_start report_resolver_start(struct report_resolver *r, const struct report_place *place,
					uint64_t address)
{
	return resolved(r, find_symbol(r, place, false, address))->start;
}

bool report_resolver_is_switch(struct report_resolver *r, const struct report_place *place,
			       uint64_t address)
{
	return resolved(r, find_symbol(r, place, true, address))->is_switch;
}

/* A runtime's own stacks have what it inlined, so those of its code have it always. */
static bool has_scopes(struct report_resolver *r, const struct report_place *place,
		       uint64_t address)
{
	const struct profile_mapping *m;

	if (!place->process || !profile_compiled_has_any(profile_lookup_processes(r->config.lookup),
							 place->process->pid))
		return false;
	m = find_mapping(r, place, address);
	return m && m->object->kind != PROFILE_OBJECT_FILE &&
	       symbols_has_scopes(r->config.symbols, m, address, place->time_ns);
}

bool report_resolver_is_script(struct report_resolver *r, const struct report_place *place,
			       uint64_t address)
{
	const struct profile_mapping *m = find_mapping(r, place, address);

	return m && symbols_is_script(r->config.symbols, m, address, place->time_ns);
}

static size_t find_lines(struct report_resolver *r, const struct report_place *place,
			 uint64_t address, struct report_frame *out)
{
	struct symbol_line lines[REPORT_MAX_INLINED];
	size_t nr = symbols_lines(r->config.symbols, find_mapping(r, place, address), address,
				  place->time_ns, lines, REPORT_MAX_INLINED);
	size_t first = r->config.with_inlined || !nr || lines[0].is_of_runtime ? 0 : nr - 1;

	for (size_t i = first; i < nr; i++) {
		const struct symbol_line *l = &lines[i];

		out[i - first] = (struct report_frame){
		    .function = resolved(r, resolve(r, l->function))->function,
		    .file = r->config.with_lines ? l->file : NULL,
		    .line = r->config.with_lines ? l->line : 0,
		    .is_inlined = i + 1 < nr,
		};
		if (!out[i - first].function)
			return 0;
	}
	return nr - first;
}

size_t report_resolver_frames(struct report_resolver *r, const struct report_place *place,
			      bool is_kernel, uint64_t address, struct report_frame *out)
{
	const struct profile_object *object = NULL;
	uint64_t offset = address;
	size_t nr;

	if (!is_kernel &&
	    (r->config.with_inlined || r->config.with_lines || has_scopes(r, place, address))) {
		nr = find_lines(r, place, address, out);
	} else {
		*out = (struct report_frame){
		    .function = resolved(r, find_symbol(r, place, is_kernel, address))->function};
		nr = out->function != NULL;
	}
	if (!r->config.with_addresses)
		return nr;
	if (!is_kernel)
		object = symbols_place(r->config.symbols, find_mapping(r, place, address), address,
				       place->time_ns, &offset);
	for (size_t i = 0; i < nr; i++) { /* inlined ones have the same place */
		out[i].object = object;
		out[i].address = offset;
	}
	return nr;
}
