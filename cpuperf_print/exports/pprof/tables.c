/*
 * Messages are written in order of first use; readers load all before they resolve ids.
 */
#include "exports/pprof/tables.h"

#include "base/mem.h"
#include "export/proto.h"
#include "profile/processes.h"

#include <errno.h>
#include <string.h>

const struct pprof_fields pprof_fields = {
    .string = PPROF_STRING,
    .function = PPROF_FUNCTION,
    .location = PPROF_LOCATION,
    .mapping = PPROF_MAPPING,
    .function_id = 1,
    .function_name = 2,
    .function_system_name = 3,
    .function_file = 4,
    .location_id = 1,
    .location_mapping = 2,
    .location_address = 3,
    .location_line = 4,
    .mapping_id = 1,
    .mapping_start = 2,
    .mapping_limit = 3,
    .mapping_file = 5,
    .mapping_build_id = 6,
    .mapping_has_functions = 7,
    .mapping_has_files = 8,
    .mapping_has_lines = 9,
    .mapping_has_inlined = 10,
};
enum { LINE_FUNCTION = 1, LINE_NUMBER };

enum {
	RANGE_BITS = 32, /* bits of a file's addresses; larger ones get no mapping */
	PAGE_BYTES = 4096,
	MAX_LOCATIONS = 1 << 23, /* beyond, a location is a function without an address */
	MAX_TEXT_BYTES = 1 << 30,
	MAX_OUT_BYTES = 64 << 20,
};

struct pprof_function {
	const struct report_function *function;
	const char *file; /* its source file; NULL: unknown; the end of the key */
	uint64_t id;      /* 0: not written yet */
};

/* Numbers of texts. */
struct pprof_content {
	uint64_t name, system_name, file;
};

/* A frame and those into which it is inlined. */
struct pprof_place {
	const struct report_function *function;
	const char *file;
	const struct profile_object *object;
	uint64_t address;
	uint32_t line;
	uint32_t outer;    /* the place that it is inlined into, plus 1; the end of the key */
	uint32_t location; /* its id; 0: none yet */
};

/* A file, shared by all sessions; the key is its path and build-id. */
struct pprof_mapping {
	const char *path;                                           /* in paths; NULL: the kernel */
	uint8_t build_id_len, build_id[PROFILE_MAX_BUILD_ID_BYTES]; /* the end of the key */
	const struct profile_object *object;                        /* NULL: the kernel */
	uint64_t low, high; /* range of the addresses seen */
	uint64_t nr_samples;
	bool is_known, has_files, has_lines;
};

void pprof_tables_init(struct pprof_tables *t, const struct pprof_fields *fields)
{
	*t = (struct pprof_tables){.fields = fields};
	buf_init(&t->out, MAX_OUT_BYTES);
	dict_init_texts(&t->texts, sizeof(const char *), DICT_MAX, MAX_TEXT_BYTES);
	dict_init(&t->functions, sizeof(struct pprof_function),
		  DICT_KEY(struct pprof_function, file), DICT_MAX);
	dict_init(&t->contents, sizeof(struct pprof_content), sizeof(struct pprof_content),
		  DICT_MAX);
	dict_init_texts(&t->paths, sizeof(const char *), DICT_MAX, MAX_TEXT_BYTES);
	dict_init(&t->mappings, sizeof(struct pprof_mapping),
		  DICT_KEY(struct pprof_mapping, build_id), DICT_MAX);
	dict_init(&t->places, sizeof(struct pprof_place), DICT_KEY(struct pprof_place, outer),
		  DICT_MAX);
	pprof_text(t, ""); /* index 0 */
}

void pprof_tables_fini(struct pprof_tables *t)
{
	buf_fini(&t->out);
	dict_fini(&t->texts);
	dict_fini(&t->functions);
	dict_fini(&t->contents);
	dict_fini(&t->paths);
	dict_fini(&t->mappings);
	dict_fini(&t->places);
	mem_free(t->mapping_of);
}

/* Records the error. Returns 0, the id of a failure. */
static uint64_t fail(struct pprof_tables *t, int error)
{
	if (!t->error)
		t->error = error;
	return 0;
}

/* Nothing, if the format has no such field. */
static void put(struct pprof_tables *t, uint32_t field, uint64_t v)
{
	if (field)
		proto_uint(&t->out, field, v);
}

static void put_flag(struct pprof_tables *t, uint32_t field, bool v)
{
	if (field)
		proto_bool(&t->out, field, v);
}

static void put_attribute(struct pprof_tables *t, uint32_t field, uint64_t number)
{
	if (field && number)
		proto_packed(&t->out, field, &number, 1);
}

/* --- texts ----------------------------------------------------------------------------------- */

uint64_t pprof_text(struct pprof_tables *t, const char *text)
{
	size_t before = t->texts.nr;
	uint32_t number = dict_add(&t->texts, text);

	if (number == DICT_NONE)
		return fail(t, -ENOMEM);
	if (t->texts.nr > before)
		proto_text(&t->out, t->fields->string, text);
	return number;
}

/* --- functions ------------------------------------------------------------------------------- */

/* If both names are equal, readers demangle the name and strip what looks like arguments. */
static uint64_t system_name_of(struct pprof_tables *t, const struct report_function *f)
{
	if (strcmp(f->name, f->linkage_name) == 0 && strpbrk(f->name, "<>[]():"))
		return 0;
	return pprof_text(t, f->linkage_name);
}

static void put_function(struct pprof_tables *t, uint64_t id, const struct pprof_content *c)
{
	const struct pprof_fields *to = t->fields;

	PROTO_MESSAGE(&t->out, to->function) {
		put(t, to->function_id, id);
		put(t, to->function_name, c->name);
		if (c->system_name)
			put(t, to->function_system_name, c->system_name);
		if (c->file)
			put(t, to->function_file, c->file);
	}
}

/* Functions of several objects may have one content; with ids they are several. */
static uint64_t write_function(struct pprof_tables *t, uint32_t number, const char *file)
{
	const struct pprof_function *f = dict_at(&t->functions, number);
	const struct pprof_content c = {.name = pprof_text(t, f->function->name),
					.system_name = system_name_of(t, f->function),
					.file = file ? pprof_text(t, file) : 0};
	size_t before = t->contents.nr;
	uint64_t id = (uint64_t)number + 1;

	if (!t->fields->function_id) {
		number = dict_add(&t->contents, &c);
		id = (uint64_t)number + 1;
		if (number == DICT_NONE)
			return fail(t, -ENOMEM);
		if (t->contents.nr == before)
			return id;
	}
	put_function(t, id, &c);
	return id;
}

static uint64_t function_id(struct pprof_tables *t, const struct report_frame *frame)
{
	const struct pprof_function key = {.function = frame->function, .file = frame->file};
	uint32_t number = dict_add(&t->functions, &key);
	struct pprof_function *f = dict_at(&t->functions, number);

	if (!f)
		return fail(t, -ENOMEM);
	if (!f->id)
		f->id = write_function(t, number, frame->file);
	return f->id;
}

/* --- mappings -------------------------------------------------------------------------------- */

static struct pprof_mapping *mapping_at(const struct pprof_tables *t, uint32_t id)
{
	return dict_at(&t->mappings, id - 1);
}

static uint32_t find_mapping(struct pprof_tables *t, const struct profile_object *object)
{
	struct pprof_mapping key = {.path = NULL}, *m;
	uint32_t number, path;

	if (object) {
		path = dict_add(&t->paths, object->path);
		if (path == DICT_NONE)
			return (uint32_t)fail(t, -ENOMEM);
		key.path = dict_text(&t->paths, path);
		key.build_id_len = object->build_id_len;
		memcpy(key.build_id, object->build_id, object->build_id_len);
	}
	number = dict_add(&t->mappings, &key);
	m = dict_at(&t->mappings, number);
	if (!m)
		return (uint32_t)fail(t, -ENOMEM);
	if (!m->is_known) {
		m->is_known = true;
		m->object = object;
		m->low = UINT64_MAX;
	}
	return number + 1;
}

/* The id of the frame's mapping, extended to its address; 0: the frame is in none. */
static uint32_t mapping_of(struct pprof_tables *t, const struct report_frame *frame)
{
	bool is_kernel =
	    !frame->object && frame->function && frame->function->is_kernel && frame->address;
	struct pprof_mapping *m;
	uint32_t id;

	if (!is_kernel && (!frame->object || frame->address >> RANGE_BITS))
		return 0;
	id = find_mapping(t, frame->object);
	if (!id)
		return 0;
	m = mapping_at(t, id);
	m->low = frame->address < m->low ? frame->address : m->low;
	m->high = frame->address > m->high ? frame->address : m->high;
	m->has_files |= frame->file != NULL;
	m->has_lines |= frame->line != 0;
	return id;
}

static uint64_t range_start(const struct pprof_tables *t, uint32_t id)
{
	return mapping_at(t, id)->object ? (uint64_t)id << RANGE_BITS : 0;
}

static uint64_t build_id_text(struct pprof_tables *t, const struct profile_object *object)
{
	BUF_AUTO(hex, 2 * PROFILE_MAX_BUILD_ID_BYTES);

	if (!object || !object->build_id_len)
		return 0;
	buf_hex_bytes(&hex, object->build_id, object->build_id_len);
	return buf_error(&hex) ? fail(t, buf_error(&hex)) : pprof_text(t, buf_str(&hex));
}

/* Marks names as resolved: a reader that resolves them again would use other files. */
static void put_mapping(struct pprof_tables *t, uint32_t id, bool has_inlined)
{
	const struct pprof_mapping *m = mapping_at(t, id);
	const struct profile_object *o = m->object;
	uint64_t start = range_start(t, id), page = PAGE_BYTES - 1, last = start + (m->high | page);
	uint64_t file = pprof_text(t, o ? o->shown_path : "[kernel.kallsyms]");
	uint64_t build_id = t->fields->mapping_build_id ? build_id_text(t, o) : 0;
	uint64_t attribute =
	    t->attributes.mapping ? t->attributes.mapping(t->attributes.arg, o) : 0;
	const struct pprof_fields *to = t->fields;

	PROTO_MESSAGE(&t->out, to->mapping) {
		put(t, to->mapping_id, id);
		put(t, to->mapping_start, o ? start : m->low & ~page);
		put(t, to->mapping_limit, last + (last != UINT64_MAX));
		put(t, to->mapping_file, file);
		if (build_id)
			put(t, to->mapping_build_id, build_id);
		put_attribute(t, to->mapping_attributes, attribute);
		put_flag(t, to->mapping_has_functions, true);
		put_flag(t, to->mapping_has_files, m->has_files);
		put_flag(t, to->mapping_has_lines, m->has_lines);
		put_flag(t, to->mapping_has_inlined, has_inlined && o);
	}
}

/* Prefers programs over libraries. */
static bool is_rather_main(const struct pprof_mapping *a, const struct pprof_mapping *b)
{
	bool is_program =
	    a->object && a->object->kind == PROFILE_OBJECT_FILE && !strstr(a->object->name, ".so");
	bool b_is_program =
	    b->object && b->object->kind == PROFILE_OBJECT_FILE && !strstr(b->object->name, ".so");

	if (is_program != b_is_program)
		return is_program;
	return a->nr_samples > b->nr_samples;
}

/* Readers treat the first mapping as the main binary. */
void pprof_put_mappings(struct pprof_tables *t, bool has_inlined, bool in_order)
{
	uint32_t main = 1;

	for (uint32_t id = 2; id <= t->mappings.nr && !in_order; id++)
		if (is_rather_main(mapping_at(t, id), mapping_at(t, main)))
			main = id;
	if (t->mappings.nr)
		put_mapping(t, main, has_inlined);
	for (uint32_t id = 1; id <= t->mappings.nr; id++)
		if (id != main)
			put_mapping(t, id, has_inlined);
}

/* --- locations ------------------------------------------------------------------------------- */

/* The key of a location. */
struct place {
	const struct report_frame *frames;
	size_t nr;
};

/* The place of the first frame; DICT_NONE: not found, or no memory. */
static uint32_t find_place(struct pprof_tables *t, const struct place *p, bool may_add)
{
	struct pprof_place key = {.outer = 0};
	uint32_t number = 0;

	for (size_t i = p->nr; i-- && number != DICT_NONE; key.outer = number + 1) {
		key.function = p->frames[i].function;
		key.file = p->frames[i].file;
		key.object = p->frames[i].object;
		key.address = p->frames[i].address;
		key.line = p->frames[i].line;
		number = may_add ? dict_add(&t->places, &key) : dict_find(&t->places, &key);
	}
	return number;
}

static void put_lines(struct pprof_tables *t, const struct place *p, const uint64_t *functions)
{
	for (size_t i = 0; i < p->nr; i++) {
		PROTO_MESSAGE(&t->out, t->fields->location_line) {
			proto_uint(&t->out, LINE_FUNCTION, functions[i]);
			if (p->frames[i].line)
				proto_uint(&t->out, LINE_NUMBER, p->frames[i].line);
		}
	}
}

static void put_location(struct pprof_tables *t, uint32_t mapping, uint64_t id,
			 const struct place *p)
{
	uint64_t functions[PPROF_MAX_INLINED];
	uint64_t address = p->frames[0].address;
	uint64_t attribute =
	    t->attributes.location ? t->attributes.location(t->attributes.arg, &p->frames[0]) : 0;
	const struct pprof_fields *to = t->fields;

	for (size_t i = 0; i < p->nr; i++)
		functions[i] = function_id(t, &p->frames[i]);
	PROTO_MESSAGE(&t->out, to->location) {
		put(t, to->location_id, id);
		if (mapping)
			put(t, to->location_mapping, mapping);
		if (address)
			put(t, to->location_address,
			    mapping ? range_start(t, mapping) + address : address);
		put_lines(t, p, functions);
		put_attribute(t, to->location_attributes, attribute);
	}
}

static uint64_t add_location(struct pprof_tables *t, uint32_t place, const struct place *p)
{
	uint32_t *list =
	    mem_grow(t->mapping_of, t->nr_locations, &t->locations_room, sizeof(*list));
	struct pprof_place *first = dict_at(&t->places, place);
	uint32_t mapping;

	if (!list)
		return fail(t, -ENOMEM);
	t->mapping_of = list;
	mapping = mapping_of(t, &p->frames[0]);
	list[t->nr_locations] = mapping;
	first->location = (uint32_t)++t->nr_locations;
	put_location(t, mapping, t->nr_locations, p);
	return t->nr_locations;
}

/* 0: there are too many, or no memory. */
static uint64_t find_location(struct pprof_tables *t, const struct place *p)
{
	bool may_add = t->nr_locations < MAX_LOCATIONS || !p->frames[0].address;
	uint32_t number = find_place(t, p, may_add);
	const struct pprof_place *place = dict_at(&t->places, number);

	if (place && place->location)
		return place->location;
	if (!may_add)
		return 0;
	return place ? add_location(t, number, p) : fail(t, -ENOMEM);
}

/* Replaces an object by that of the first session with the same file. */
static uint64_t find_common(struct pprof_tables *t, const struct place *p)
{
	struct report_frame frames[PPROF_MAX_INLINED] = {p->frames[0]};
	const struct place common = {frames, p->nr};
	uint32_t mapping = p->frames[0].object ? find_mapping(t, p->frames[0].object) : 0;

	for (size_t i = 0; i < p->nr; i++) {
		frames[i] = p->frames[i];
		if (mapping)
			frames[i].object = mapping_at(t, mapping)->object;
	}
	return find_location(t, &common);
}

uint64_t pprof_location(struct pprof_tables *t, const struct report_frame *frames, size_t nr)
{
	const struct place p = {frames, nr};
	uint64_t id = t->has_several ? find_common(t, &p) : find_location(t, &p);
	struct report_frame bare;
	const struct place function = {&bare, 1};

	if (id || t->error)
		return id;
	bare = (struct report_frame){.function = frames[nr - 1].function};
	t->is_full = true;
	return find_location(t, &function);
}

void pprof_count(struct pprof_tables *t, uint64_t location, uint64_t samples)
{
	uint32_t mapping = location ? t->mapping_of[location - 1] : 0;

	if (mapping)
		mapping_at(t, mapping)->nr_samples += samples;
}
