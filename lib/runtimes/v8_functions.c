/*
 * Where the lines of a large source end, as of a bundle, is kept from one begin to the next: it
 * never changes and V8 does not move what is so large. Where it is and how long is read again.
 */
#include "runtimes/v8_functions.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/order.h"
#include "interpreters/v8.h"
#include "proc/memory.h"
#include "trace/trace.h"

#include <string.h>

enum {
	OBJECT_BYTES = 128,
	TEXT_BYTES = 48,
	FUNCTION_BYTES = 64,
	SCOPE_BYTES = 48,
	SCRIPT_BYTES = 96,
	WORD = 8,

	KIND = 7, /* of a text; 0: characters */
	CONS = 1,
	EXTERNAL = 2,
	SLICED = 3,
	THIN = 5,
	ONE_BYTE = 8,
	UNCACHED = 16,
	MAX_PARTS = 24,
	MAX_DEPTH = 8,
	MAX_LENGTH = 1 << 29,
	MAX_STEPS = 4, /* to the characters of a source */

	SCOPE_TYPE = 15,
	SCOPE_RECEIVER = 1 << 7,
	SCOPE_SAVED = 1 << 10,
	SCOPE_NAME = 3 << 12,
	SCOPE_INFERRED = 1 << 14,
	SCOPE_MODULE = 5,
	SCOPE_FIRST = 3,
	SCOPE_MAX = 1 << 16,
	SCOPE_NR_WORDS = 8,

	CHUNK_BYTES = 1 << 16,
	MIN_KEPT_BYTES = 1 << 18, /* V8 moves what is below half of it */
	MAX_SOURCE_BYTES = 8 << 20,
	MAX_ALL_SOURCE_BYTES = 32 << 20, /* of which half are left at a begin */
	MAX_FIRST_BYTES = 32 * 8192,     /* the kernel's program reads, for a first line */
	MAX_FUNCTIONS = 1 << 13,
	MAX_SOURCES = 1 << 10,
	MAX_TEXT_BYTES = 16 << 20,
};

struct characters {
	uint64_t at; /* 0: nowhere that is known */
	uint32_t width, length;
};
/* Of characters. nr: lines that end within them. */
struct ends {
	struct characters of; /* the key */
	const uint32_t *item; /* positions; NULL: not known */
	uint32_t nr;
	bool is_read;
};
_Static_assert(DICT_KEY(struct ends, of) == 2 * sizeof(uint64_t), "a key has no holes");

/* Of a script. */
struct source {
	uint64_t script; /* the key */
	struct characters is;
	const uint32_t *ends; /* NULL: not known */
	uint32_t nr_ends;
	uint32_t first; /* line of its begin, from 0 */
	bool is_read;
};

void v8_functions_fini(struct v8_functions *f)
{
	dict_fini(&f->functions);
	dict_fini(&f->sources);
	dict_fini(&f->ends_of);
	arena_fini(&f->texts);
	arena_fini(&f->ends_texts);
	mem_free(f->ends);
	mem_free(f->chunk);
}

void v8_functions_forget(struct v8_functions *f)
{
	dict_fini(&f->ends_of);
	arena_fini(&f->ends_texts);
	arena_init(&f->ends_texts, MAX_TEXT_BYTES);
	dict_init(&f->ends_of, sizeof(struct ends), DICT_KEY(struct ends, of), MAX_SOURCES);
	f->nr_bytes = 0;
}

void v8_functions_begin(struct v8_functions *f)
{
	remote_forget(&f->pages);
	dict_fini(&f->functions);
	dict_fini(&f->sources);
	arena_fini(&f->texts);
	arena_init(&f->texts, MAX_TEXT_BYTES);
	dict_init(&f->functions, sizeof(struct v8_function), DICT_KEY(struct v8_function, address),
		  MAX_FUNCTIONS);
	dict_init(&f->sources, sizeof(struct source), DICT_KEY(struct source, script), MAX_SOURCES);
	if (f->nr_bytes > MAX_ALL_SOURCE_BYTES / 2)
		v8_functions_forget(f);
}

/* --- objects */

static uint64_t word(const uint8_t *object, size_t at)
{
	uint64_t v = 0;

	if (at <= OBJECT_BYTES - sizeof(v))
		memcpy(&v, object + at, sizeof(v));
	return v;
}

static uint32_t half(const uint8_t *object, size_t at)
{
	uint32_t v = 0;

	if (at <= OBJECT_BYTES - sizeof(v))
		memcpy(&v, object + at, sizeof(v));
	return v;
}

int v8_read(struct v8_functions *f, uint64_t pointer, void *to, size_t bytes)
{
	uint64_t map;
	uint16_t type;

	if (!v8_is_pointer(pointer) || bytes < sizeof(map) ||
	    !remote_copy(&f->pages, pointer - 1, to, bytes))
		return -1;
	memcpy(&map, to, sizeof(map));
	if (!v8_is_pointer(map) ||
	    !remote_copy(&f->pages, map + f->at->map_type, &type, sizeof(type)))
		return -1;
	return type;
}

/* --- texts */

struct part {
	uint64_t object;
	uint32_t offset, length; /* length UINT32_MAX: the whole */
};

struct text {
	struct part part[MAX_DEPTH];
	size_t nr;
	struct bpf_interpreted_text is;
	uint8_t bytes[BPF_INTERPRETED_NAME_BYTES];
};

static bool is_text(const struct v8_functions *f, int type)
{
	return type >= 0 && type < f->at->first_type;
}

static bool add_part(struct text *t, uint64_t object, uint32_t offset, uint32_t length)
{
	if (t->nr == MAX_DEPTH)
		return false;
	t->part[t->nr++] = (struct part){object, offset, length};
	return true;
}

/* One that is too long would be cut: it is none. */
static bool add_characters(struct v8_functions *f, struct text *t, uint64_t from, uint32_t width,
			   uint32_t length)
{
	const uint64_t bytes = (uint64_t)length * width;

	if (t->is.bytes && t->is.width != width)
		return false;
	t->is.width = width;
	if (t->is.bytes + bytes > sizeof(t->bytes) - 2 ||
	    !remote_copy(&f->pages, from, t->bytes + t->is.bytes, bytes))
		return false;
	t->is.bytes += (uint32_t)bytes;
	return true;
}

static bool copy_part(struct v8_functions *f, struct text *t, struct part p)
{
	uint8_t object[OBJECT_BYTES] = {0};
	const int type = v8_read(f, p.object, object, TEXT_BYTES);
	const uint32_t length = half(object, f->at->text_length);
	const uint32_t width = type & ONE_BYTE ? 1 : 2;

	if (p.length == UINT32_MAX)
		p.length = length;
	if (!is_text(f, type) || length > MAX_LENGTH || p.offset > length ||
	    p.length > length - p.offset)
		return false;
	switch (type & KIND) {
	case 0:
		return add_characters(f, t,
				      p.object - 1 + f->at->text_chars + (uint64_t)p.offset * width,
				      width, p.length);
	case CONS:
		return !p.offset && p.length == length &&
		       add_part(t, word(object, f->at->cons_second), 0, UINT32_MAX) &&
		       add_part(t, word(object, f->at->cons_first), 0, UINT32_MAX);
	case SLICED:
		return add_part(t, word(object, f->at->sliced_parent),
				p.offset + (uint32_t)(word(object, f->at->sliced_offset) >> 32),
				p.length);
	case THIN:
		return add_part(t, word(object, f->at->thin_actual), p.offset, p.length);
	default:
		return false;
	}
}

/* 0: it is empty. */
static bool copy_text(struct v8_functions *f, uint64_t pointer, char *to, size_t size)
{
	struct text t = {.is = {.width = 1}};
	size_t nr = 0;

	if (pointer)
		(void)add_part(&t, pointer, 0, UINT32_MAX);
	while (t.nr) {
		t.nr--;
		if (nr++ == MAX_PARTS || !copy_part(f, &t, t.part[t.nr]))
			return false;
	}
	interpreters_text(&t.is, t.bytes, to, size);
	return true;
}

/* 1: a text; 0: it is none, or empty: *pointer is 0; -1: it cannot be read. */
static int check_text(struct v8_functions *f, uint64_t *pointer)
{
	uint8_t object[OBJECT_BYTES] = {0};
	int type;

	if (v8_is_pointer(*pointer)) {
		type = v8_read(f, *pointer, object, TEXT_BYTES);
		if (type < 0)
			return -1;
		if (is_text(f, type) && half(object, f->at->text_length))
			return 1;
	}
	*pointer = 0;
	return 0;
}

/* --- sources */

/* False: it is none, or cannot be read. */
static bool find_characters(struct v8_functions *f, uint64_t text, struct characters *out)
{
	for (size_t i = 0; i < MAX_STEPS; i++) {
		uint8_t object[OBJECT_BYTES] = {0};
		const int type = v8_read(f, text, object, TEXT_BYTES);

		if (!is_text(f, type))
			return false;
		*out = (struct characters){.width = type & ONE_BYTE ? 1 : 2,
					   .length = half(object, f->at->text_length)};
		switch (type & KIND) {
		case 0:
			out->at = text - 1 + f->at->text_chars;
			return true;
		case EXTERNAL:
			if (!(type & UNCACHED))
				out->at = word(object, f->at->external_data);
			return true;
		case CONS: /* one that was made flat has all in its first part */
			text = word(object, f->at->cons_first);
			break;
		case THIN:
			text = word(object, f->at->thin_actual);
			break;
		default:
			return true;
		}
	}
	return true;
}

static bool add_ends(struct v8_functions *f, const uint8_t *bytes, size_t len, uint32_t width,
		     uint32_t position, size_t *nr)
{
	for (size_t i = 0; i + width <= len; i += width, position++) {
		uint32_t *to;

		if (bytes[i] != '\n' || (width == 2 && bytes[i + 1]))
			continue;
		to = mem_grow(f->ends, *nr + 1, &f->room, sizeof(*to));
		if (!to)
			return false;
		f->ends = to;
		to[(*nr)++] = position;
	}
	return true;
}

static void read_ends(struct v8_functions *f, struct ends *to)
{
	const struct characters *c = &to->of;
	const size_t bytes = (size_t)c->length * c->width;
	size_t nr = 0;
	uint32_t *ends;

	to->item = NULL;
	if (c->length > MAX_SOURCE_BYTES || bytes > MAX_SOURCE_BYTES ||
	    f->nr_bytes + bytes > MAX_ALL_SOURCE_BYTES)
		return;
	f->nr_bytes += bytes;
	if (!f->chunk)
		f->chunk = mem_zalloc(CHUNK_BYTES);
	for (size_t at = 0; at < bytes; at += CHUNK_BYTES) {
		const size_t n = bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES;

		if (!f->chunk || !proc_memory_read(f->pages.pid, c->at + at, f->chunk, n) ||
		    !add_ends(f, f->chunk, n, c->width, (uint32_t)(at / c->width), &nr))
			return;
	}
	ends = arena_alloc(&f->ends_texts, (nr + 1) * sizeof(*ends));
	if (!ends)
		return;
	if (nr)
		memcpy(ends, f->ends, nr * sizeof(*ends));
	to->item = ends;
	to->nr = (uint32_t)nr;
}

static void find_ends(struct v8_functions *f, struct source *s)
{
	struct ends *e = s->is.at ? dict_get(&f->ends_of, &s->is) : NULL;

	if (!e)
		return;
	if (!e->is_read)
		read_ends(f, e);
	e->is_read = s->is.length >= MIN_KEPT_BYTES;
	s->ends = e->item;
	s->nr_ends = e->nr;
}

/* NULL: it is none. */
static struct source *find_source(struct v8_functions *f, uint64_t script, uint64_t text,
				  uint32_t first)
{
	struct source *s = dict_get(&f->sources, &script);

	if (!s || s->is_read)
		return s;
	s->is_read = true;
	s->first = first;
	if (find_characters(f, text, &s->is))
		find_ends(f, s);
	else
		s->is.width = 0;
	return s;
}

/* The line, from 1, of a position. */
static uint32_t line_at(const struct source *s, uint32_t position)
{
	const size_t nr = ORDER_FIRST(i, s->nr_ends, s->ends[i] >= position);

	return ((uint32_t)nr + s->first + 1) & INT32_MAX;
}

bool v8_function_line(struct v8_functions *f, const struct v8_function *of, uint32_t position,
		      uint32_t *line)
{
	const struct source *s = dict_at(&f->sources, dict_find(&f->sources, &of->script));

	*line = 0;
	if (!s || !s->is.width || position > s->is.length)
		return false;
	if (s->ends && position >= of->begin && position <= of->end)
		*line = line_at(s, position);
	return true;
}

/* --- functions */

static bool has_receiver(uint32_t flags)
{
	const uint32_t where = flags / SCOPE_RECEIVER & 3;

	return where == 1 || where == 2;
}

struct named {
	uint64_t name, begin, end;
};

/* As js_read_scope. */
static bool read_scope(struct v8_functions *f, uint64_t scope, struct named *out)
{
	const struct bpf_javascript *at = f->at;
	const bool is_early = at->scope_variables > SCOPE_FIRST;
	uint64_t head[SCOPE_BYTES / WORD], words[SCOPE_NR_WORDS];
	uint32_t flags, nr, next;
	int has_name;

	if (v8_read(f, scope, head, sizeof(head)) != at->scope_type || !v8_is_number(head[3]))
		return false;
	flags = (uint32_t)head[1] ? (uint32_t)head[1] : (uint32_t)(head[1] >> 32);
	nr = (uint32_t)(head[3] >> 32);
	*out = (struct named){.begin = head[4], .end = head[5]};
	if (nr > SCOPE_MAX)
		return false;
	next = 1 + at->scope_variables + nr + (nr < at->scope_most ? nr : 1) +
	       (is_early && (flags & SCOPE_TYPE) == SCOPE_MODULE) + !!(flags & SCOPE_SAVED) +
	       (at->scope_receiver && has_receiver(flags));
	if (!remote_copy(&f->pages, scope - 1 + (uint64_t)next * WORD, words, sizeof(words)))
		return false;
	next = 0;
	if (flags & SCOPE_NAME) {
		out->name = words[0];
		next = 2;
	}
	if (!is_early) {
		const uint32_t i = next + !!(flags & SCOPE_INFERRED);

		out->begin = words[i];
		out->end = words[i + 1];
	}
	has_name = check_text(f, &out->name);
	if (!has_name && flags & SCOPE_INFERRED) {
		out->name = words[next];
		has_name = check_text(f, &out->name);
	}
	return has_name >= 0 && v8_is_number(out->begin) && v8_is_number(out->end) &&
	       out->begin <= out->end;
}

static bool keep_texts(struct v8_functions *f, struct v8_function *to, uint64_t name, uint64_t file)
{
	struct trace_code code;

	if (!copy_text(f, name, code.name, sizeof(code.name)) || check_text(f, &file) < 0 ||
	    !copy_text(f, file, code.file, sizeof(code.file)))
		return false;
	interpreters_v8_name(&code);
	to->file = arena_strdup(&f->texts, code.file);
	to->name = to->file ? arena_strdup(&f->texts, code.name) : NULL;
	return to->name;
}

static void read_function(struct v8_functions *f, struct v8_function *to)
{
	const struct bpf_javascript *at = f->at;
	uint8_t shared[OBJECT_BYTES] = {0}, script[OBJECT_BYTES] = {0};
	const struct source *s;
	struct named is;

	if (v8_read(f, to->address, shared, FUNCTION_BYTES) != at->shared_type ||
	    !read_scope(f, word(shared, at->shared_name), &is))
		return;
	to->script = word(shared, at->shared_script);
	if (v8_read(f, to->script, script, SCRIPT_BYTES) != at->script_type)
		return;
	to->begin = (uint32_t)(is.begin >> 32);
	to->end = (uint32_t)(is.end >> 32);
	s = find_source(f, to->script, word(script, at->script_source),
			(uint32_t)(word(script, at->script_line) >> 32));
	if (!s || !s->is.width || to->end > s->is.length)
		return;
	if (s->ends && (uint64_t)to->begin * s->is.width <= MAX_FIRST_BYTES)
		to->first_line = line_at(s, to->begin);
	(void)keep_texts(f, to, is.name, word(script, at->script_name));
}

struct v8_function *v8_function_get(struct v8_functions *f, uint64_t pointer)
{
	const size_t nr = f->functions.nr;
	struct v8_function *to = dict_get(&f->functions, &pointer);

	if (to && f->functions.nr > nr)
		read_function(f, to);
	return to && to->name ? to : NULL;
}
