/*
 * Three direct-mapped caches: frames by address in a process, by place in a file (whichever process
 * maps it), and the report's functions by the numbers of symbols.
 */
#include "report/resolver.h"

#include "base/mem.h"
#include "profile/processes.h"
#include "report/functions.h"
#include "symbol/symbols.h"

#include <string.h>

enum {
	NR_ADDRESSES = 1 << 16,
	NR_PLACES = 1 << 15,
	NO_PROCESS = UINT32_MAX,
};

struct resolved {
	const struct report_function *function;
	enum report_start start;
};

/* The function at an address in one epoch of one process. */
struct resolved_address {
	uint64_t address;
	uint32_t process, epoch;
	struct resolved is;
};

/* The function at an offset in a file. */
struct resolved_place {
	const struct profile_object *object;
	uint64_t offset;
	struct resolved is;
};

struct report_resolver {
	struct report_resolver_config config;
	struct resolved_address addresses[NR_ADDRESSES];
	struct resolved_place places[NR_PLACES];
	const struct report_function **of_symbol; /* owned; by the number of the symbol */
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
	mem_free(r->of_symbol);
	mem_free(r);
}

/* The report's function of a symbol, cached to avoid the lock. NULL: no memory. */
static const struct report_function *reported(struct report_resolver *r,
					      const struct symbol_function *s)
{
	size_t room = ((size_t)s->number + 1024) * 2;

	if (s->number >= r->nr_of_symbol) {
		const struct report_function **list =
		    mem_resize(r->of_symbol, room * sizeof(*list));

		if (!list)
			return NULL;
		memset(list + r->nr_of_symbol, 0, (room - r->nr_of_symbol) * sizeof(*list));
		r->of_symbol = list;
		r->nr_of_symbol = room;
	}
	if (!r->of_symbol[s->number])
		r->of_symbol[s->number] = report_functions_get(r->config.functions, s);
	return r->of_symbol[s->number];
}

static const struct profile_mapping *
find_mapping(struct report_resolver *r, const struct report_place *place, uint64_t address)
{
	return profile_lookup_mapping(r->config.lookup, place->process, address, place->time_ns);
}

static size_t slot_of(uint64_t a, uint64_t b, size_t nr)
{
	uint64_t h = (a ^ b * 0xc2b2ae3d27d4eb4fu) * 0x9e3779b97f4a7c15u;

	return (h >> 32) & (nr - 1);
}

static struct resolved resolve(struct report_resolver *r, const struct symbol_function *s)
{
	return (struct resolved){reported(r, s), report_start_of(s->name, s->object, s->is_known)};
}

/* Code made at run time is named by process and time, code of a file by its offset. */
static struct resolved find_user(struct report_resolver *r, const struct report_place *place,
				 uint64_t address)
{
	const struct profile_mapping *m = find_mapping(r, place, address);
	struct resolved_place *k;
	uint64_t offset;

	if (!m || m->object->kind != PROFILE_OBJECT_FILE)
		return resolve(r, symbols_user(r->config.symbols, m, address));
	offset = address - m->start + m->offset;
	k = &r->places[slot_of(offset, m->object->number, NR_PLACES)];
	if (k->object != m->object || k->offset != offset)
		*k = (struct resolved_place){
		    m->object, offset, resolve(r, symbols_user(r->config.symbols, m, address))};
	return k->is;
}

static const struct resolved *find_function(struct report_resolver *r,
					    const struct report_place *place, bool is_kernel,
					    uint64_t address)
{
	uint32_t process = is_kernel ? NO_PROCESS : place->number;
	uint32_t epoch = is_kernel ? place->kernel_epoch : place->epoch;
	struct resolved_address *k =
	    &r->addresses[slot_of(address, (uint64_t)process << 32 | epoch, NR_ADDRESSES)];

	if (k->is.function && k->address == address && k->process == process && k->epoch == epoch)
		return &k->is;
	*k = (struct resolved_address){
	    address, process, epoch,
	    is_kernel ? resolve(r, symbols_kernel(r->config.symbols, address, place->time_ns))
		      : find_user(r, place, address)};
	return &k->is;
}

enum report_start report_resolver_start(struct report_resolver *r, const struct report_place *place,
					uint64_t address)
{
	return find_function(r, place, false, address)->start;
}

static size_t find_lines(struct report_resolver *r, const struct report_place *place,
			 uint64_t address, struct report_frame *out)
{
	struct symbol_line lines[REPORT_MAX_INLINED];
	size_t nr = symbols_lines(r->config.symbols, find_mapping(r, place, address), address,
				  lines, REPORT_MAX_INLINED);
	size_t first = r->config.with_inlined || !nr ? 0 : nr - 1;

	for (size_t i = first; i < nr; i++) {
		const struct symbol_line *l = &lines[i];

		out[i - first] = (struct report_frame){
		    .function = reported(r, l->function),
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
	const struct profile_mapping *m;
	bool is_in_file;
	size_t nr;

	if ((r->config.with_inlined || r->config.with_lines) && !is_kernel) {
		nr = find_lines(r, place, address, out);
	} else {
		*out = (struct report_frame){
		    .function = find_function(r, place, is_kernel, address)->function};
		nr = out->function != NULL;
	}
	if (!r->config.with_addresses)
		return nr;
	m = is_kernel ? NULL : find_mapping(r, place, address);
	is_in_file = m && m->object->kind != PROFILE_OBJECT_ANON;
	for (size_t i = 0; i < nr; i++) { /* inlined ones have the same place */
		out[i].object = is_in_file ? m->object : NULL;
		out[i].address = is_in_file ? address - m->start + m->offset : address;
	}
	return nr;
}
