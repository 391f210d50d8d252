/*
 * The function of an inlining, and where it was inlined, are in lists of the code. An inlining is
 * listed behind the one that it is in: so chains end, at the function that was compiled.
 */
#include "runtimes/v8_scopes.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/dict.h"
#include "base/mem.h"
#include "runtimes/v8_functions.h"
#include "trace/scopes.h"
#include "trace/trace.h"

#include <string.h>

enum {
	MAX_FUNCTIONS = 1 << 12, /* that are inlined in one */
	MAX_INLININGS = 1 << 14,
	MAX_POSITION_BYTES = 1 << 20,
	MAX_LITERALS = 1 << 20,
	MAX_SCOPES = 1 << 16,
	MAX_CODE_BYTES = 1 << 24,
	INLINING_BYTES = 16,
	POSITIONS_AT_ONCE = 64, /* between two looks at the time */
	OWN = -1,               /* no inlining */
	NO_SCOPE = 0,
	NONE = UINT32_MAX,

	/* of a position */
	IS_EXTERNAL = 1,
	OFFSET_SHIFT = 1,
	OFFSET_BITS = 30,
	INLINING_SHIFT = 31,
	INLINING_BITS = 16,
};

struct scope {
	int64_t inlining; /* the key */
	uint64_t line;
	uint32_t number;
};
_Static_assert(DICT_KEY(struct scope, line) == 2 * sizeof(uint64_t), "a key has no holes");

struct v8_scopes {
	struct v8_functions functions;
	struct dict scopes;
	uint64_t own;       /* the function */
	uint64_t *function; /* owned; those that are inlined */
	size_t nr_functions, room;
	uint8_t *inlinings, *positions; /* owned */
	size_t nr_inlinings, inlinings_room, len, positions_room;
	struct trace_scopes out[2];
	struct buf lines[2]; /* first ones, of functions */
	size_t nr_lines;
	char name[TRACE_CODE_NAME_BYTES], file[TRACE_CODE_FILE_BYTES];
};

struct v8_scopes *v8_scopes_new(void)
{
	struct v8_scopes *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	dict_init(&s->scopes, sizeof(struct scope), DICT_KEY(struct scope, line), MAX_SCOPES);
	for (size_t i = 0; i < 2; i++)
		buf_init(&s->lines[i], MAX_FUNCTIONS * sizeof(uint32_t));
	return s;
}

void v8_scopes_free(struct v8_scopes *s)
{
	if (!s)
		return;
	v8_functions_fini(&s->functions);
	dict_fini(&s->scopes);
	mem_free(s->function);
	mem_free(s->inlinings);
	mem_free(s->positions);
	for (size_t i = 0; i < 2; i++) {
		trace_scopes_fini(&s->out[i]);
		buf_fini(&s->lines[i]);
	}
	mem_free(s);
}

/* --- what the code has */

/* How many items an array has. False: it is none of that type. */
static bool find_length(struct v8_scopes *s, uint64_t array, int type, size_t *out)
{
	uint64_t head[V8_ARRAY_HEAD / sizeof(uint64_t)];

	if (v8_read(&s->functions, array, head, sizeof(head)) != type || !v8_is_number(head[1]))
		return false;
	*out = (size_t)(head[1] >> 32);
	return true;
}

static bool copy_items(struct v8_scopes *s, uint64_t array, void *to, size_t bytes)
{
	return !bytes || remote_copy(&s->functions.pages, array - 1 + V8_ARRAY_HEAD, to, bytes);
}

static bool load_bytes(struct v8_scopes *s, uint64_t array, int type, size_t max, uint8_t **to,
		       size_t *len, size_t *room)
{
	uint8_t *bytes;

	if (!find_length(s, array, type, len) || *len > max)
		return false;
	bytes = mem_grow(*to, *len + 1, room, 1);
	if (!bytes)
		return false;
	*to = bytes;
	return copy_items(s, array, bytes, *len);
}

static bool load_functions(struct v8_scopes *s, uint64_t literals, uint64_t nr)
{
	uint64_t *to;
	size_t nr_literals;

	if (!v8_is_number(nr) || nr >> 32 > MAX_FUNCTIONS ||
	    !find_length(s, literals, s->functions.at->literals_type, &nr_literals) ||
	    nr_literals < nr >> 32 || nr_literals > MAX_LITERALS)
		return false;
	s->nr_functions = (size_t)(nr >> 32);
	to = mem_grow(s->function, s->nr_functions + 1, &s->room, sizeof(*to));
	if (!to)
		return false;
	s->function = to;
	return copy_items(s, literals, to, s->nr_functions * sizeof(*to));
}

/* The function that was compiled, by what the code has of it. */
static bool load_own(struct v8_scopes *s, uint64_t pointer)
{
	const int wrapper = s->functions.at->wrapper_type;
	uint64_t object[(V8_WRAPPED + sizeof(uint64_t)) / sizeof(uint64_t)];

	s->own = pointer;
	if (!wrapper)
		return true;
	if (v8_read(&s->functions, pointer, object, sizeof(object)) != wrapper)
		return false;
	s->own = object[V8_WRAPPED / sizeof(*object)];
	return true;
}

static bool load(struct v8_scopes *s, const struct v8_code *code)
{
	const struct bpf_javascript *at = s->functions.at;
	const struct v8_layout *l = interpreters_v8_layout(at);
	uint64_t data[V8_DATA_NR];
	size_t nr, bytes;

	if (!find_length(s, code->data, at->data_type, &nr) || nr < V8_DATA_NR ||
	    !copy_items(s, code->data, data, sizeof(data)) ||
	    !load_functions(s, data[l->data_literals], data[l->data_nr_inlined]) ||
	    !load_bytes(s, data[l->data_inlinings], at->inlinings_type,
			MAX_INLININGS * INLINING_BYTES, &s->inlinings, &bytes,
			&s->inlinings_room) ||
	    !load_bytes(s, code->positions, at->positions_type, MAX_POSITION_BYTES, &s->positions,
			&s->len, &s->positions_room) ||
	    !load_own(s, data[l->data_function]))
		return false;
	s->nr_inlinings = bytes / INLINING_BYTES;
	return s->len && bytes % INLINING_BYTES == 0;
}

/* --- scopes */

struct position {
	bool has_offset;
	uint32_t offset;
	int64_t inlining; /* OWN, or its number */
};

static struct position position_of(uint64_t word)
{
	const uint32_t offset = (uint32_t)(word >> OFFSET_SHIFT) & ((1u << OFFSET_BITS) - 1);
	const uint32_t inlining = (uint32_t)(word >> INLINING_SHIFT) & ((1u << INLINING_BITS) - 1);

	return (struct position){.has_offset = offset && !(word & IS_EXTERNAL),
				 .offset = offset - 1,
				 .inlining = (int64_t)inlining - 1};
}

/* The position at which it was inlined, in what is listed before it. */
static bool find_inlining(const struct v8_scopes *s, int64_t inlining, struct position *at,
			  uint64_t *function)
{
	uint64_t word;
	uint32_t number;

	if ((uint64_t)inlining >= s->nr_inlinings)
		return false;
	memcpy(&word, s->inlinings + inlining * INLINING_BYTES, sizeof(word));
	memcpy(&number, s->inlinings + inlining * INLINING_BYTES + sizeof(word), sizeof(number));
	*at = position_of(word);
	if (number >= s->nr_functions || at->inlining >= inlining)
		return false;
	*function = s->function[number];
	return true;
}

static bool function_number(struct v8_scopes *s, size_t pass, struct v8_function *f, uint32_t *out)
{
	if (!f->number) {
		if (s->nr_lines == MAX_FUNCTIONS)
			return false;
		f->number = trace_scopes_function(&s->out[pass], f->name, f->file) + 1;
		buf_le32(&s->lines[pass], f->first_line);
		s->nr_lines++;
	}
	*out = f->number - 1;
	return true;
}

/* A function at a position. NONE: it cannot be read. */
static uint32_t add_scope(struct v8_scopes *s, size_t pass, uint64_t function,
			  const struct position *at, uint32_t caller)
{
	struct v8_function *f = v8_function_get(&s->functions, function);
	struct scope *to;
	uint32_t line = 0, number;

	if (!f || (at->has_offset && !v8_function_line(&s->functions, f, at->offset, &line)) ||
	    !function_number(s, pass, f, &number))
		return NONE;
	to = dict_get(&s->scopes, (const uint64_t[]){(uint64_t)at->inlining, line});
	if (!to)
		return NONE;
	if (!to->number)
		to->number = trace_scopes_add(&s->out[pass], number, line, caller);
	return to->number;
}

/* The innermost scope of a position. NONE: it is invalid. */
static uint32_t find_scope(struct v8_scopes *s, size_t pass, struct position at)
{
	struct position chain[TRACE_SCOPES_MAX_DEPTH];
	uint64_t function[TRACE_SCOPES_MAX_DEPTH];
	uint32_t number = NO_SCOPE;
	size_t nr = 0;

	for (; at.inlining != OWN; nr++) {
		if (nr == TRACE_SCOPES_MAX_DEPTH - 1)
			return NONE;
		chain[nr] = at;
		if (!find_inlining(s, chain[nr].inlining, &at, &function[nr]))
			return NONE;
	}
	chain[nr] = at;
	function[nr++] = s->own;
	while (nr-- && number != NONE)
		number = add_scope(s, pass, function[nr], &chain[nr], number);
	return number;
}

/* --- ranges */

struct bytes {
	const uint8_t *p, *end;
};

/* Seven bits a byte, the lowest first; the lowest of all is the sign. */
static bool read_number(struct bytes *b, int64_t *out)
{
	uint64_t v = 0;

	for (unsigned shift = 0; b->p < b->end && shift < 64; shift += 7) {
		const uint8_t byte = *b->p++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		*out = (int64_t)(v >> 1 ^ (0 - (v & 1)));
		return true;
	}
	return false;
}

static bool is_late(size_t nr_done, uint64_t until_ns)
{
	return nr_done % POSITIONS_AT_ONCE == 0 && clock_thread_cpu_ns() >= until_ns;
}

static void add_range(struct v8_scopes *s, size_t pass, uint64_t from, uint64_t to, uint32_t scope)
{
	if (to > from)
		trace_scopes_range(&s->out[pass], (uint32_t)to, scope);
}

/* Each position: so many bytes of code further, less 1 and negated where no statement begins; and
 * how much more the position is. */
static bool add_ranges(struct v8_scopes *s, size_t pass, uint64_t bytes, uint64_t until_ns)
{
	struct bytes b = {s->positions, s->positions + s->len};
	uint64_t at = 0, position = 0;
	uint32_t scope = NO_SCOPE;

	for (size_t i = 0; b.p < b.end; i++) {
		int64_t further, more;

		if (is_late(i, until_ns) || !read_number(&b, &further) || !read_number(&b, &more))
			return false;
		further = further < 0 ? -(further + 1) : further;
		if ((uint64_t)further > bytes - at)
			return false;
		add_range(s, pass, at, at + (uint64_t)further, scope);
		at += (uint64_t)further;
		position += (uint64_t)more;
		scope = find_scope(s, pass, position_of(position));
		if (scope == NONE)
			return false;
	}
	add_range(s, pass, at, bytes, scope);
	return true;
}

/* Function 0 is the one that was compiled. */
static bool read_pass(struct v8_scopes *s, size_t pass, const struct v8_code *code,
		      uint64_t until_ns, const uint8_t **out, uint32_t *out_bytes)
{
	struct v8_function *own;
	uint32_t number;

	v8_functions_begin(&s->functions);
	dict_fini(&s->scopes);
	trace_scopes_begin(&s->out[pass]);
	buf_reset(&s->lines[pass]);
	s->nr_lines = 0;
	if (code->end - code->start > MAX_CODE_BYTES || !load(s, code))
		return false;
	own = v8_function_get(&s->functions, s->own);
	if (!own || !function_number(s, pass, own, &number))
		return false;
	memcpy(s->name, own->name, strlen(own->name) + 1);
	memcpy(s->file, own->file, strlen(own->file) + 1);
	return add_ranges(s, pass, code->end - code->start, until_ns) &&
	       trace_scopes_end(&s->out[pass], out, out_bytes) && !buf_error(&s->lines[pass]);
}

void v8_scopes_begin(struct v8_scopes *s, uint32_t pid, const struct bpf_javascript *at)
{
	s->functions.pages.pid = pid;
	s->functions.at = at;
	v8_functions_forget(&s->functions);
}

bool v8_scopes_find(struct v8_scopes *s, const struct v8_code *code, uint64_t until_ns,
		    struct v8_scopes_found *out)
{
	const uint8_t *again;
	uint32_t bytes;

	if (!read_pass(s, 0, code, until_ns, &out->scopes, &out->scopes_bytes) ||
	    !read_pass(s, 1, code, until_ns, &again, &bytes) || bytes != out->scopes_bytes ||
	    memcmp(again, out->scopes, bytes) != 0 || s->lines[0].len != s->lines[1].len ||
	    memcmp(s->lines[0].data, s->lines[1].data, s->lines[0].len) != 0)
		return false;
	remote_forget(&s->functions.pages);
	if (!v8_code_is_still(&s->functions.pages, s->functions.at, code))
		return false;
	out->name = s->name;
	out->file = s->file;
	out->data = (const uint8_t *)s->lines[0].data;
	out->data_bytes = (uint32_t)s->lines[0].len;
	return true;
}
