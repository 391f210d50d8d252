/*
 * What V8 has inlined where: its objects are the test's own, in this process. What contradicts
 * itself says nothing, and whatever the memory has, reading it ends.
 */
#include "kit.h"

#include "base/clock.h"
#include "interpreters/v8.h"
#include "runtimes/v8_scopes.h"
#include "trace/scopes.h"

#include <endian.h>
#include <string.h>
#include <unistd.h>

enum {
	TEXT = 8, /* of bytes */
	SHARED = 200,
	SCOPE,
	SCRIPT,
	CODE,
	DATA,
	LITERALS,
	POSITIONS,
	INLININGS,
	WRAPPER,
	BESIDE,
	NR_TYPES = 11,
	NR_LAYOUTS = 5, /* the last one wraps the function that was compiled */
	NR_FUNCTIONS = 3,
	CODE_BYTES = 100,
	NR_MUTANTS = 4000,
};

struct map {
	uint64_t words[2]; /* the type at 12 */
};
struct text {
	uint64_t map;
	uint32_t hash, length;
	char chars[80];
};
struct bytes {
	uint64_t map, length;
	uint8_t data[48];
};
struct array {
	uint64_t map, length, item[10];
};
/* All objects of the heap. Functions: outer has all of the source, middle and leaf a part. */
static struct heap {
	struct map map[NR_TYPES];
	struct text source, file, name[NR_FUNCTIONS];
	uint64_t script[12];
	uint64_t scope[NR_FUNCTIONS][16], shared[NR_FUNCTIONS][8];
	struct array data, literals;
	struct bytes inlinings, positions;
	uint64_t wrapper[2], stream[2], beside[1];
	uint64_t code[8];
} heap, whole;

static struct bpf_javascript at = {.map_type = 11,
				   .shared_name = 16,
				   .shared_script = 32,
				   .shared_flags = 48,
				   .shared_type = SHARED,
				   .scope_type = SCOPE,
				   .scope_variables = 3,
				   .scope_most = 75,
				   .script_source = 8,
				   .script_name = 16,
				   .script_line = 24,
				   .script_type = SCRIPT,
				   .text_length = 12,
				   .text_chars = 16,
				   .cons_first = 16,
				   .cons_second = 24,
				   .sliced_parent = 16,
				   .sliced_offset = 24,
				   .thin_actual = 16,
				   .external_data = 24,
				   .first_type = 128,
				   .code_type = CODE,
				   .beside_type = BESIDE,
				   .data_type = DATA,
				   .literals_type = LITERALS,
				   .positions_type = POSITIONS,
				   .inlinings_type = INLININGS};
static const struct v8_layout *layout;
static struct v8_code code;
static struct v8_scopes *scopes;
static struct v8_scopes_found found;
static struct trace_scope chain[TRACE_SCOPES_MAX_DEPTH];

/* outer at 0, middle in line 3, leaf in line 5. */
static const char source[] = "function outer\n{\nfunction middle\n{\nfunction leaf\n}}}\n";
static const struct {
	const char *name;
	uint32_t begin, end;
} functions[NR_FUNCTIONS] = {{"outer", 0, 53}, {"middle", 17, 52}, {"leaf", 35, 51}};

static uint64_t tagged(const void *object)
{
	return (uint64_t)(uintptr_t)object + 1;
}

static uint64_t number(uint64_t n)
{
	return n << 32;
}

static uint64_t map_of(int type)
{
	const size_t i = type == TEXT ? 0 : (size_t)(type - SHARED + 1);
	const uint16_t value = (uint16_t)type;

	memcpy((char *)&heap.map[i] + 12, &value, sizeof(value));
	heap.map[i].words[0] = tagged(&heap.map[i]);
	return tagged(&heap.map[i]);
}

static void make_text(struct text *t, const char *chars)
{
	t->map = map_of(TEXT);
	t->length = (uint32_t)strlen(chars);
	memcpy(t->chars, chars, t->length);
}

static void make_function(size_t i)
{
	uint64_t *scope = heap.scope[i], *shared = heap.shared[i];

	make_text(&heap.name[i], functions[i].name);
	scope[0] = map_of(SCOPE);
	scope[1] = number(1 << 12);
	scope[4] = tagged(&heap.name[i]);
	scope[6] = number(functions[i].begin);
	scope[7] = number(functions[i].end);
	shared[0] = map_of(SHARED);
	shared[2] = tagged(scope);
	shared[4] = tagged(heap.script);
}

/* As V8 has it: an offset, and an inlining from 0, -1 for none. */
static uint64_t position(uint32_t offset, int inlining)
{
	return (uint64_t)(offset + 1) << 1 | (uint64_t)(inlining + 1) << 31;
}

static void add_number(struct bytes *b, int64_t n)
{
	uint64_t v = (uint64_t)n << 1 ^ (n < 0 ? ~UINT64_C(0) : 0);
	size_t len = (size_t)(b->length >> 32);

	for (; v > 127; v >>= 7)
		b->data[len++] = (uint8_t)(v | 128);
	b->data[len++] = (uint8_t)v;
	b->length = number(len);
}

static void add_position(int64_t further, bool is_statement, uint64_t to, uint64_t *last)
{
	add_number(&heap.positions, is_statement ? further : -further - 1);
	add_number(&heap.positions, (int64_t)(to - *last));
	*last = to;
}

static void add_inlining(uint64_t at_position, uint32_t function)
{
	const size_t len = (size_t)(heap.inlinings.length >> 32);

	memcpy(heap.inlinings.data + len, &at_position, sizeof(at_position));
	memcpy(heap.inlinings.data + len + 8, &function, sizeof(function));
	heap.inlinings.length = number(len + 16);
}

static uint64_t begin_of_code(void)
{
	return (uint64_t)(uintptr_t)heap.code + layout->stream_head;
}

/* At 10 outer in line 2, at 20 leaf in line 5, which middle in line 4 calls, which outer in line 2
 * calls; at 50 middle in line 3; at 80 leaf, where its place is not known, from outer in line 1. */
static void make_code(void)
{
	uint64_t last = 0;

	heap.inlinings.map = map_of(INLININGS);
	heap.positions.map = map_of(POSITIONS);
	add_inlining(position(16, -1), 0);
	add_inlining(position(34, 0), 1);
	add_inlining(position(3, -1), 1);
	add_position(10, true, position(15, -1), &last);
	add_position(10, false, position(40, 1), &last);
	add_position(30, true, position(20, 0), &last);
	add_position(30, false, (uint64_t)3 << 31, &last);
	heap.literals = (struct array){map_of(LITERALS), number(2), {tagged(heap.shared[1])}};
	heap.literals.item[1] = tagged(heap.shared[2]);
	heap.data = (struct array){map_of(DATA), number(V8_DATA_NR), {0}};
	heap.data.item[layout->data_nr_inlined] = number(2);
	heap.data.item[layout->data_literals] = tagged(&heap.literals);
	heap.wrapper[0] = map_of(WRAPPER);
	heap.wrapper[1] = tagged(heap.shared[0]);
	heap.data.item[layout->data_function] =
	    at.wrapper_type ? tagged(heap.wrapper) : heap.wrapper[1];
	heap.data.item[layout->data_inlinings] = tagged(&heap.inlinings);
	code = (struct v8_code){.start = layout->code_start ? 4096 : begin_of_code(),
				.code = tagged(heap.code),
				.data = tagged(&heap.data),
				.positions = tagged(&heap.positions)};
	code.end = code.start + CODE_BYTES;
	heap.code[0] = map_of(CODE);
	heap.code[layout->code_data / 8] = code.data;
	heap.code[layout->code_positions / 8] = code.positions;
	if (layout->code_start)
		heap.code[layout->code_start / 8] = code.start;
}

/* As number says, from 1. */
static void make_heap(size_t version)
{
	memset(&heap, 0, sizeof(heap));
	memset(&found, 0, sizeof(found));
	at.layout = (uint16_t)version;
	at.wrapper_type = version == NR_LAYOUTS ? WRAPPER : 0;
	layout = interpreters_v8_layout(&at);
	assert_non_null(layout);
	make_text(&heap.source, source);
	make_text(&heap.file, "file:///a/b.mjs");
	heap.script[0] = map_of(SCRIPT);
	heap.script[1] = tagged(&heap.source);
	heap.script[2] = tagged(&heap.file);
	for (size_t i = 0; i < NR_FUNCTIONS; i++)
		make_function(i);
	make_code();
	whole = heap;
}

HOOK(before_each)
{
	make_heap(1);
	scopes = v8_scopes_new();
	assert_non_null(scopes);
}

HOOK(after_each)
{
	v8_scopes_free(scopes);
}

static bool find(void)
{
	v8_scopes_begin(scopes, (uint32_t)getpid(), &at);
	return v8_scopes_find(scopes, &code, UINT64_MAX, &found);
}

/* "leaf:5 middle:4 outer:2" */
static const char *show(uint64_t distance)
{
	static char text[256];
	const size_t nr = trace_scopes_at(found.scopes, found.scopes_bytes, distance, chain);
	size_t len = 0;

	*text = '\0';
	for (size_t i = 0; i < nr; i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s:%u", i ? " " : "",
					chain[i].name, chain[i].line);
		assert_string_equal(chain[i].file, "/a/b.mjs");
	}
	return text;
}

static void check_inlined(void)
{
	static const struct {
		uint64_t distance;
		const char *shown;
	} cases[] = {{0, ""},
		     {9, ""},
		     {10, "outer:2"},
		     {19, "outer:2"},
		     {20, "leaf:5 middle:4 outer:2"},
		     {49, "leaf:5 middle:4 outer:2"},
		     {50, "middle:3 outer:2"},
		     {80, "leaf:0 outer:1"},
		     {99, "leaf:0 outer:1"},
		     {100, ""}};
	static const uint32_t lines[] = {1, 5, 3}; /* in the order in which they are met */
	struct trace_scope first;

	assert_true(find());
	assert_string_equal(found.name, "outer");
	assert_true(trace_scopes_first(found.scopes, found.scopes_bytes, &first));
	assert_string_equal(first.name, "outer");
	for (size_t i = 0; i < NR(cases); i++)
		assert_string_equal(show(cases[i].distance), cases[i].shown);
	(void)show(20);
	assert_int_equal(found.data_bytes, sizeof(lines));
	for (size_t i = 0; i < 3; i++) {
		uint32_t line;

		memcpy(&line, found.data + chain[i].function * sizeof(line), sizeof(line));
		assert_int_equal(le32toh(line), i == 2 ? 1 : i == 1 ? 3 : 5);
	}
}

TEST(what_is_inlined_is_found)
{
	for (size_t version = 1; version <= NR_LAYOUTS; version++) {
		make_heap(version);
		check_inlined();
		assert_in_range(layout->code_length, 8, V8_CODE_BYTES - 8);
		assert_in_range(layout->code_flags, 8, V8_CODE_BYTES - 8);
		assert_in_range(layout->data_inlinings, 1, V8_DATA_NR - 1);
	}
	at.layout = NR_LAYOUTS + 1;
	assert_null(interpreters_v8_layout(&at));
	at.layout = 0;
	assert_null(interpreters_v8_layout(&at));
}

/* Each makes one thing wrong. */
static void no_function(void)
{
	heap.data.item[layout->data_nr_inlined] = 0;
}
static void too_many_functions(void)
{
	heap.data.item[layout->data_nr_inlined] = number(3);
}
static void itself(void)
{
	const uint64_t p = position(20, 0);

	memcpy(heap.inlinings.data, &p, sizeof(p));
}
static void later(void)
{
	const uint64_t p = position(20, 2);

	memcpy(heap.inlinings.data + 16, &p, sizeof(p));
}
static void no_such_function(void)
{
	heap.inlinings.data[8] = 2;
}
static void half_an_inlining(void)
{
	heap.inlinings.length = number(40);
}
static void missing_inlining(void)
{
	heap.inlinings.length = number(32);
}
static void half_a_position(void)
{
	heap.positions.length -= number(1);
}
static void short_source(void)
{
	heap.source.length = 30;
}
static void longer_than_its_source(void)
{
	heap.source.length = 52;
}
static void behind_the_code(void)
{
	code.end = code.start + 79;
}
static void other_type(void)
{
	heap.shared[2][0] = map_of(SCOPE);
}
static void other_literals(void)
{
	heap.literals.map = map_of(DATA);
}
static void no_script(void)
{
	heap.shared[1][4] = tagged(heap.code);
}
static void other_code(void)
{
	heap.code[layout->code_data / 8] = tagged(&heap.literals);
}
static void elsewhere(void)
{
	heap.code[layout->code_start / 8] += layout->code_start ? 1 : 2; /* else its map */
}
static void other_data(void)
{
	heap.data.map = map_of(LITERALS);
}
static void other_positions(void)
{
	heap.positions.map = map_of(INLININGS);
}
static void other_inlinings(void)
{
	heap.inlinings.map = map_of(POSITIONS);
}
static void other_own(void)
{
	heap.data.item[layout->data_function] =
	    at.wrapper_type ? heap.wrapper[1] : tagged(heap.wrapper);
}

static void check_wrongs(void)
{
	static void (*const wrongs[])(void) = {
	    no_function,      too_many_functions, itself,           later,
	    no_such_function, half_an_inlining,   missing_inlining, half_a_position,
	    short_source,     behind_the_code,    other_type,       other_literals,
	    no_script,        other_code,         elsewhere,        longer_than_its_source,
	    other_data,       other_positions,    other_inlinings,  other_own};
	const struct v8_code right = code;

	for (size_t i = 0; i < NR(wrongs); i++) {
		heap = whole;
		code = right;
		wrongs[i]();
		if (find())
			fail_msg("layout %u, wrong %zu", at.layout, i);
	}
	heap = whole;
	code = right;
	assert_true(find());
	assert_false(v8_scopes_find(scopes, &code, 0, &found));
}

TEST(what_contradicts_itself_says_nothing)
{
	for (size_t version = 1; version <= NR_LAYOUTS; version++) {
		make_heap(version);
		check_wrongs();
	}
}

static const char *show_again(void)
{
	assert_true(v8_scopes_find(scopes, &code, UINT64_MAX, &found));
	return show(20);
}

TEST(a_large_source_is_read_once_in_a_look)
{
	static struct {
		struct text head;
		char chars[1 << 18];
	} large;

	large.head = heap.source;
	large.head.length = 1 << 18;
	heap.script[1] = tagged(&large);
	assert_true(find());
	memset(large.head.chars, ' ', strlen(source));
	assert_string_equal(show_again(), "leaf:5 middle:4 outer:2");
	large.head.length++; /* not those characters any more */
	assert_string_equal(show_again(), "leaf:1 middle:1 outer:1");
	large.head.length--;
	assert_string_equal(show_again(), "leaf:5 middle:4 outer:2");
	assert_true(find());
	assert_string_equal(show(20), "leaf:1 middle:1 outer:1");
}

TEST(a_small_source_is_read_again)
{
	assert_true(find());
	memset(heap.source.chars, ' ', strlen(source));
	assert_string_equal(show_again(), "leaf:1 middle:1 outer:1");
}

TEST(a_line_is_known_within_the_function_only)
{
	const uint64_t p = position(2, 1) - position(15, -1); /* leaf, at outer's begin */

	heap.positions.length = number(3);
	heap.positions.data[0] = 20;
	heap.positions.length = 0;
	add_number(&heap.positions, 10);
	add_number(&heap.positions, (int64_t)position(15, -1));
	add_number(&heap.positions, 10);
	add_number(&heap.positions, (int64_t)p);
	assert_true(find());
	assert_string_equal(show(20), "leaf:0 middle:4 outer:2");
}

/* As most small functions are. */
TEST(code_in_which_nothing_is_inlined_has_lines)
{
	uint64_t last = 0;

	heap.data.item[layout->data_nr_inlined] = 0;
	heap.inlinings.length = heap.positions.length = 0;
	add_position(10, true, position(15, -1), &last);
	assert_true(find());
	assert_string_equal(show(9), "");
	assert_string_equal(show(10), "outer:2");
	add_position(10, true, position(40, 0), &last);
	assert_false(find());
	heap.positions.length = 0;
	assert_false(find());
}

/* --- code */

static void set_half(size_t offset, uint32_t value)
{
	memcpy((char *)heap.code + offset, &value, sizeof(value));
}

static uint64_t stream(void)
{
	return (uint64_t)(uintptr_t)(layout->stream_code ? heap.stream : heap.code);
}

/* Of TurboFan. */
static void make_stream(void)
{
	set_half(layout->code_length, CODE_BYTES);
	set_half(layout->code_flags, (layout->baseline + V8_OPTIMISED) | 0x7f0);
	heap.beside[0] = map_of(BESIDE);
	heap.code[layout->code_beside / 8] =
	    layout->stream_code ? tagged(heap.stream) : tagged(heap.beside);
	if (layout->code_start)
		heap.code[layout->code_start / 8] = stream() + layout->stream_head;
	whole = heap;
}

static bool read_before(uint64_t bytes, struct v8_code *out)
{
	static struct remote pages;
	bool is_read;

	pages.pid = (uint32_t)getpid();
	remote_forget(&pages);
	is_read = v8_code_read(&pages, &at, stream(), tagged(heap.code),
			       stream() + layout->stream_head + bytes, out);
	assert_true(!is_read || v8_code_is_still(&pages, &at, out));
	return is_read;
}

static void of_maglev(void)
{
	set_half(layout->code_flags, layout->baseline + V8_OPTIMISED - 1);
}
static void of_the_baseline(void)
{
	set_half(layout->code_flags, layout->baseline);
}
static void no_length(void)
{
	set_half(layout->code_length, 0);
}
static void too_long(void)
{
	set_half(layout->code_length, CODE_BYTES + 1);
}
static void endless(void)
{
	set_half(layout->code_length, UINT32_MAX);
}
static void nothing_beside(void)
{
	heap.code[layout->code_beside / 8] = tagged(heap.script);
}
static void other_kind_of_data(void)
{
	heap.data.map = map_of(LITERALS);
}
static void no_code(void)
{
	heap.code[0] = map_of(SCRIPT);
}
static void no_map(void)
{
	heap.code[0] = 0;
}

static void check_code(void)
{
	static void (*const wrongs[])(void) = {of_maglev, of_the_baseline, no_length,
					       too_long,  endless,         nothing_beside,
					       no_code,   no_map,          other_kind_of_data};
	struct v8_code is;

	assert_true(read_before(CODE_BYTES, &is));
	assert_int_equal(is.start, stream() + layout->stream_head);
	assert_int_equal(is.end - is.start, CODE_BYTES);
	assert_int_equal(is.code, tagged(heap.code));
	assert_int_equal(is.data, tagged(&heap.data));
	assert_int_equal(is.positions, tagged(&heap.positions));
	assert_false(read_before(CODE_BYTES - 1, &is));
	assert_false(read_before(0, &is));
	assert_false(read_before((uint64_t)-16, &is));
	for (size_t i = 0; i < NR(wrongs); i++) {
		heap = whole;
		wrongs[i]();
		if (read_before(CODE_BYTES, &is))
			fail_msg("layout %u, wrong %zu", at.layout, i);
	}
}

TEST(code_is_what_is_optimised_and_says_so_of_itself)
{
	for (size_t version = 1; version <= NR_LAYOUTS; version++) {
		make_heap(version);
		make_stream();
		check_code();
		if (!layout->code_start)
			continue;
		heap = whole;
		heap.code[layout->code_start / 8]++;
		assert_false(read_before(CODE_BYTES, &(struct v8_code){0}));
	}
}

static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* A word becomes another of the heap, or a byte anything. */
static void mutate(uint64_t *seed)
{
	uint64_t *words = (uint64_t *)(void *)&heap;
	const size_t nr = sizeof(heap) / sizeof(*words);

	if (next(seed) % 2)
		words[next(seed) % nr] = words[next(seed) % nr];
	else
		((uint8_t *)&heap)[next(seed) % sizeof(heap)] = (uint8_t)next(seed);
}

TEST(any_memory_is_read_to_an_end)
{
	uint64_t seed = 88172645463325252;
	size_t nr_found = 0;

	for (size_t i = 0; i < NR_MUTANTS; i++) {
		if (i % (NR_MUTANTS / NR_LAYOUTS) == 0)
			make_heap(1 + i / (NR_MUTANTS / NR_LAYOUTS));
		heap = whole;
		for (size_t n = 1 + i % 4; n; n--)
			mutate(&seed);
		if (!find())
			continue;
		nr_found++;
		for (uint64_t d = 0; d <= CODE_BYTES; d++) {
			const size_t nr =
			    trace_scopes_at(found.scopes, found.scopes_bytes, d, chain);

			assert_true(nr < TRACE_SCOPES_MAX_DEPTH);
			if (nr)
				assert_int_equal(chain[nr - 1].function, 0);
		}
	}
	assert_true(nr_found > NR_MUTANTS / 10 && nr_found < NR_MUTANTS);
}
