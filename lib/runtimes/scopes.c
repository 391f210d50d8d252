/*
 * Each PcDesc of the code leads to a scope: its sender's, a method (by its place in a table of
 * pointers) and the bytecode. A sender is written before what it calls, so offsets of senders
 * descend. Source: debugInfoRec.cpp, scopeDesc.cpp and nmethod.hpp of OpenJDK.
 */
#include "runtimes/scopes.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/dict.h"
#include "base/mem.h"
#include "runtimes/lines.h"
#include "runtimes/remote.h"
#include "trace/scopes.h"
#include "trace/trace.h"

#include <string.h>

enum {
	MAX_PLACES = 1 << 15, /* of a method; what has more has no scopes */
	MAX_SCOPE_BYTES = 1 << 20,
	MAX_METHODS = 1 << 16,
	MAX_SCOPES = 1 << 16,
	MAX_TEXT_BYTES = 16 << 20, /* of all methods of a look */
	PLACES_AT_ONCE = 64,       /* between two looks at the time */
	NO_SCOPE = 0,
	BCI_OF_ENTRY = -1, /* what 0 stands for */
	NONE = UINT32_MAX,
};

/* A method of this look. */
struct method {
	uint64_t address; /* the key */
	bool is_known;
	const char *name, *file;
	const uint8_t *lines; /* NULL: it has none */
	uint32_t lines_bytes, first_line;
	uint32_t of, number; /* the code of that number has it as that function */
};

/* A scope that was read, by where it is, and by what it says. */
struct read_scope {
	uint32_t at; /* the key */
	uint32_t number;
};
struct scope {
	uint32_t method, line, caller; /* the key */
	uint32_t number;
};

struct part {
	uint8_t *bytes; /* owned */
	size_t len, room;
};

struct scopes {
	struct jvm jvm;
	struct remote pages; /* of methods */
	uint32_t version;    /* of Java */
	struct dict methods, read, scopes;
	struct arena texts;
	struct part places, stream, pointers; /* of the code */
	uint64_t method;
	uint32_t of;    /* the code is the one of this number in the look */
	size_t nr_read; /* bytes of it */
	struct trace_scopes out;
};

struct scopes *scopes_new(void)
{
	struct scopes *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	dict_init(&s->methods, sizeof(struct method), DICT_KEY(struct method, address),
		  MAX_METHODS);
	dict_init(&s->read, sizeof(struct read_scope), DICT_KEY(struct read_scope, at), MAX_SCOPES);
	dict_init(&s->scopes, sizeof(struct scope), DICT_KEY(struct scope, caller), MAX_SCOPES);
	arena_init(&s->texts, MAX_TEXT_BYTES);
	return s;
}

void scopes_free(struct scopes *s)
{
	if (!s)
		return;
	dict_fini(&s->methods);
	dict_fini(&s->read);
	dict_fini(&s->scopes);
	arena_fini(&s->texts);
	mem_free(s->places.bytes);
	mem_free(s->stream.bytes);
	mem_free(s->pointers.bytes);
	trace_scopes_fini(&s->out);
	mem_free(s);
}

void scopes_begin(struct scopes *s, const struct jvm *jvm)
{
	s->jvm = *jvm;
	s->jvm.pages = &s->pages;
	s->pages.pid = jvm->pid;
	remote_forget(&s->pages);
	dict_fini(&s->methods);
	arena_fini(&s->texts);
	arena_init(&s->texts, MAX_TEXT_BYTES);
	s->version = s->of = 0;
	(void)jvm_load(jvm, jvm->at.field[VMSTRUCTS_VERSION].at, &s->version, sizeof(s->version));
}

/* --- where it is */

/* Members of a block that were copied. */
struct head {
	const struct jvm *jvm;
	const uint8_t *blob;
	size_t bytes;
	bool is_whole;
};

static uint64_t member(struct head *h, enum vmstructs_field f)
{
	const struct vmstructs_place *p = &h->jvm->at.field[f];

	if (!p->bytes || p->at + p->bytes > h->bytes) {
		h->is_whole = false;
		return 0;
	}
	return jvm_number(h->blob + p->at, p->bytes);
}

/* Up to Java 22: all is in the block. */
static void place_in_block(struct head *h, uint64_t at, struct scopes_of *out)
{
	out->places = at + member(h, VMSTRUCTS_NMETHOD_PLACES);
	out->places_end = at + member(h, VMSTRUCTS_NMETHOD_DEPENDENCIES);
	out->scopes = member(h, VMSTRUCTS_COMPILED_SCOPES);
	out->scopes_end = out->places;
	out->methods = at + member(h, VMSTRUCTS_NMETHOD_METADATA);
	out->methods_end = out->scopes;
}

/* From 23 on what does not change is elsewhere, in either order; from 25 on methods are, too. */
static void place_beside(struct head *h, uint64_t at, struct scopes_of *out)
{
	const uint64_t beside = member(h, VMSTRUCTS_NMETHOD_BESIDE),
		       end = beside + member(h, VMSTRUCTS_NMETHOD_BESIDE_BYTES);

	out->places = beside + member(h, VMSTRUCTS_NMETHOD_PLACES);
	out->scopes = beside + member(h, VMSTRUCTS_NMETHOD_SCOPES);
	out->places_end = out->scopes > out->places ? out->scopes : end;
	out->scopes_end = out->scopes > out->places ? end : out->places;
	if (vmstructs_has(&h->jvm->at, VMSTRUCTS_BLOB_MUTABLE)) {
		out->methods =
		    member(h, VMSTRUCTS_BLOB_MUTABLE) + member(h, VMSTRUCTS_BLOB_RELOCATION_BYTES);
		out->methods_end =
		    member(h, VMSTRUCTS_BLOB_MUTABLE) + member(h, VMSTRUCTS_BLOB_MUTABLE_BYTES);
	} else {
		out->methods = at + member(h, VMSTRUCTS_BLOB_END_OFFSET) +
			       member(h, VMSTRUCTS_NMETHOD_METADATA);
		out->methods_end = at + member(h, VMSTRUCTS_BLOB_SIZE);
	}
}

bool scopes_place(const struct jvm *jvm, uint64_t at, const uint8_t *blob, size_t bytes,
		  struct scopes_of *out)
{
	struct head h = {.jvm = jvm, .blob = blob, .bytes = bytes, .is_whole = true};

	if (vmstructs_has(&jvm->at, VMSTRUCTS_COMPILED_SCOPES))
		place_in_block(&h, at, out);
	else
		place_beside(&h, at, out);
	return h.is_whole;
}

/* --- methods */

static bool read_lines(struct scopes *s, struct method *m)
{
	uint8_t pairs[LINES_MAX_BYTES];

	if (!jvm_method_lines(&s->jvm, m->address, s->version, pairs, &m->lines_bytes,
			      &m->first_line))
		return true; /* it has none */
	m->lines = (const uint8_t *)arena_strndup(&s->texts, (const char *)pairs, m->lines_bytes);
	return m->lines;
}

/* False: it is none. */
static bool read_method(struct scopes *s, struct method *m)
{
	char name[TRACE_COMPILED_NAME_BYTES], file[JVM_SYMBOL_BYTES];

	if (!jvm_method_name(&s->jvm, m->address, name, sizeof(name)) ||
	    !jvm_method_file(&s->jvm, m->address, file))
		return false;
	m->name = arena_strdup(&s->texts, name);
	m->file = arena_strdup(&s->texts, file);
	return m->name && m->file && read_lines(s, m);
}

/* The number of its record; NONE: it cannot be read. */
static uint32_t find_method(struct scopes *s, uint64_t address)
{
	const size_t nr = s->methods.nr;
	const uint32_t number = dict_add(&s->methods, &address);
	struct method *m = dict_at(&s->methods, number);

	if (m && s->methods.nr > nr)
		m->is_known = read_method(s, m);
	return m && m->is_known ? number : NONE;
}

/* --- scopes */

struct said {
	uint32_t sender; /* where it is; 0: none */
	uint32_t method, line;
};

/* False: what is there is no scope, or one of a method that cannot be read. */
static bool read_scope(struct scopes *s, uint32_t at, struct said *out)
{
	struct lines_numbers n = {.has_zeroes = lines_have_zeroes(s->version)};
	uint32_t sender, place, bci;
	const struct method *m;
	uint64_t address;

	if (at >= s->stream.len)
		return false;
	n.p = s->stream.bytes + at;
	n.end = s->stream.bytes + s->stream.len;
	if (!lines_number(&n, &sender) || !lines_number(&n, &place) || !lines_number(&n, &bci) ||
	    sender >= at || !place || place > s->pointers.len / sizeof(address))
		return false;
	address = jvm_number(s->pointers.bytes + (place - 1) * sizeof(address), sizeof(address));
	if (!sender && address != s->method)
		return false;
	out->sender = sender;
	out->method = find_method(s, address);
	if (out->method == NONE)
		return false;
	m = dict_at(&s->methods, out->method);
	out->line = m->lines ? lines_at(m->lines, m->lines_bytes, m->first_line,
					(int64_t)bci + BCI_OF_ENTRY)
			     : 0;
	return true;
}

static uint32_t function_of(struct scopes *s, uint32_t method)
{
	struct method *m = dict_at(&s->methods, method);

	if (m->of != s->of) {
		m->of = s->of;
		m->number = trace_scopes_function(&s->out, m->name, m->file);
	}
	return m->number;
}

/* The number of the scope of that method and line with that caller. NONE: no memory. */
static uint32_t add_scope(struct scopes *s, const struct said *said, uint32_t caller)
{
	const uint32_t key[] = {said->method, said->line, caller};
	struct scope *to = dict_get(&s->scopes, key);

	if (!to)
		return NONE;
	if (!to->number)
		to->number =
		    trace_scopes_add(&s->out, function_of(s, said->method), said->line, caller);
	return to->number;
}

static uint32_t find_read(const struct scopes *s, uint32_t at)
{
	const struct read_scope *r = dict_at(&s->read, dict_find(&s->read, &at));

	return r ? r->number : NO_SCOPE;
}

/* The scope that is there, with its callers; NO_SCOPE for 0. NONE: it is invalid. */
static uint32_t find_scope(struct scopes *s, uint32_t at)
{
	struct said said[TRACE_SCOPES_MAX_DEPTH];
	uint32_t places[TRACE_SCOPES_MAX_DEPTH], number;
	size_t nr = 0;

	while (at && !(number = find_read(s, at))) {
		if (nr == TRACE_SCOPES_MAX_DEPTH || !read_scope(s, at, &said[nr]))
			return NONE;
		places[nr] = at;
		at = said[nr++].sender;
	}
	number = at ? number : NO_SCOPE;
	while (nr--) {
		struct read_scope *r;

		number = add_scope(s, &said[nr], number);
		r = number == NONE ? NULL : dict_get(&s->read, &places[nr]);
		if (!r)
			return NONE;
		r->number = number;
	}
	return number;
}

/* --- the code */

static bool load_part(struct scopes *s, struct part *p, uint64_t at, uint64_t end, size_t max)
{
	uint8_t *bytes = at < end && end - at <= max
			     ? mem_grow(p->bytes, (size_t)(end - at), &p->room, 1)
			     : NULL;
	struct jvm now = s->jvm;

	if (!bytes)
		return false;
	p->bytes = bytes;
	p->len = (size_t)(end - at);
	s->nr_read += p->len;
	now.pages = NULL;
	return jvm_load(&now, at, p->bytes, p->len);
}

static uint32_t place_member(const struct scopes *s, size_t i, enum vmstructs_field f)
{
	const struct vmstructs_place *p = &s->jvm.at.field[f];

	return (uint32_t)jvm_number(s->places.bytes + i * s->jvm.at.place_bytes + p->at, p->bytes);
}

static bool is_late(size_t nr_done, uint64_t until_ns)
{
	return nr_done % PLACES_AT_ONCE == 0 && clock_thread_cpu_ns() >= until_ns;
}

/* Places ascend; the first is before the code, and the last behind it. What follows that one is
 * something else. */
static bool add_ranges(struct scopes *s, uint32_t code_bytes, uint64_t until_ns)
{
	const size_t nr = s->places.len / s->jvm.at.place_bytes;
	int64_t last = -1;

	for (size_t i = 0; i < nr; i++) {
		const int32_t at = (int32_t)place_member(s, i, VMSTRUCTS_PLACE_AT);
		uint32_t scope;

		if (is_late(i, until_ns))
			return false;
		if (at < 0 && i == 0)
			continue;
		if (at < 0 || (uint32_t)at > code_bytes)
			break;
		scope = find_scope(s, place_member(s, i, VMSTRUCTS_PLACE_SCOPE));
		if (at <= last || scope == NONE)
			return false;
		trace_scopes_range(&s->out, (uint32_t)at + 1, scope);
		last = at;
	}
	return last >= 0;
}

bool scopes_find(struct scopes *s, const struct scopes_of *of, uint64_t until_ns,
		 const uint8_t **out, uint32_t *out_bytes)
{
	dict_fini(&s->read);
	dict_fini(&s->scopes);
	s->nr_read = 0;
	trace_scopes_begin(&s->out);
	s->of++;
	s->method = of->method;
	return load_part(s, &s->places, of->places, of->places_end,
			 MAX_PLACES * s->jvm.at.place_bytes) &&
	       load_part(s, &s->stream, of->scopes, of->scopes_end, MAX_SCOPE_BYTES) &&
	       load_part(s, &s->pointers, of->methods, of->methods_end,
			 MAX_METHODS * sizeof(uint64_t)) &&
	       add_ranges(s, of->code_bytes, until_ns) && trace_scopes_end(&s->out, out, out_bytes);
}

size_t scopes_nr_read(const struct scopes *s)
{
	return s->nr_read;
}
