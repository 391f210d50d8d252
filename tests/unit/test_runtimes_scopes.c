/*
 * Which methods are inlined where: the structures of a machine are the test's own, in this process.
 * What contradicts itself says nothing, and never a method that is not there.
 */
#include "kit.h"

#include "runtimes/jvm.h"
#include "runtimes/scopes.h"
#include "trace/scopes.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { NR_METHODS = 3, CODE_BYTES = 100, NR_PLACES = 6 };

struct symbol {
	uint16_t length;
	char text[14];
};
struct class
{
	const struct symbol *name;
};
struct pool {
	const struct class *holder;
	uint16_t file;
	int32_t length;
	const struct symbol *entry[5]; /* none, the file, methods */
};
struct constant {
	const struct pool *pool;
	uint32_t words;
	uint16_t flags, code_bytes, name;
	uint8_t behind[16]; /* bytecodes and the table of lines */
};
struct method {
	const struct constant *constant;
};
struct place {
	int32_t at, scope;
};
/* The head of the code's block, and what lies behind it or elsewhere. */
struct blob {
	int32_t size, data;
	const uint8_t *scopes, *beside, *mutable;
	int32_t places_at, scopes_at, dependencies_at, metadata_at, beside_bytes, mutable_bytes,
	    relocation_bytes;
	struct all {
		struct place places[NR_PLACES];
		uint8_t stream[24];
		const struct method *metadata[NR_METHODS];
	} all;
};

static const struct symbol class_name = {3, "p/C"}, file_name = {6, "C.java"},
			   names[NR_METHODS] = {{5, "outer"}, {6, "middle"}, {4, "leaf"}};
static const struct class class = {&class_name};
static const struct pool pool = {&class, 1, 5, {NULL, &file_name, &names[0], &names[1], &names[2]}};
static struct constant constants[NR_METHODS];
static struct method methods[NR_METHODS];
static struct blob blob;
static uint32_t version;
static struct jvm jvm;
static struct scopes *scopes;
static struct trace_scope found[TRACE_SCOPES_MAX_DEPTH];

#define PLACE(s, m)                                                                                \
	(struct vmstructs_place)                                                                   \
	{                                                                                          \
		offsetof(struct s, m), sizeof(((struct s *)0)->m)                                  \
	}

static const struct vmstructs offsets = {
    .field = {[VMSTRUCTS_VERSION] = {0, sizeof(version)},
	      [VMSTRUCTS_CLASS_NAME] = PLACE(class, name),
	      [VMSTRUCTS_POOL_HOLDER] = PLACE(pool, holder),
	      [VMSTRUCTS_POOL_FILE] = PLACE(pool, file),
	      [VMSTRUCTS_METHOD_CONST] = PLACE(method, constant),
	      [VMSTRUCTS_CONST_POOL] = PLACE(constant, pool),
	      [VMSTRUCTS_CONST_NAME] = PLACE(constant, name),
	      [VMSTRUCTS_CONST_SIZE] = PLACE(constant, words),
	      [VMSTRUCTS_CONST_FLAGS] = PLACE(constant, flags),
	      [VMSTRUCTS_CONST_CODE_SIZE] = PLACE(constant, code_bytes),
	      [VMSTRUCTS_SYMBOL_LENGTH] = PLACE(symbol, length),
	      [VMSTRUCTS_SYMBOL_BODY] = {offsetof(struct symbol, text), 1},
	      [VMSTRUCTS_BLOB_SIZE] = PLACE(blob, size),
	      [VMSTRUCTS_BLOB_END_OFFSET] = PLACE(blob, data),
	      [VMSTRUCTS_PLACE_AT] = PLACE(place, at),
	      [VMSTRUCTS_PLACE_SCOPE] = PLACE(place, scope),
	      [VMSTRUCTS_NMETHOD_PLACES] = PLACE(blob, places_at),
	      [VMSTRUCTS_NMETHOD_METADATA] = PLACE(blob, metadata_at)},
    .pool_bytes = offsetof(struct pool, entry),
    .method_bytes = sizeof(struct method),
    .const_bytes = offsetof(struct constant, behind),
    .place_bytes = sizeof(struct place)};

/* Scopes as Java 17 writes them: sender, method, bytecode + 1, and what is not read. outer calls
 * middle at 2, which calls leaf at 1; at 5 outer calls leaf. */
static const uint8_t stream[24] = {0,             /* 0 is none */
				   0,  1, 3, 99,  /* 1: outer at 2 */
				   1,  2, 2, 99,  /* 5: middle at 1 */
				   5,  3, 4, 99,  /* 9: leaf at 3 */
				   0,  1, 6, 99,  /* 13: outer at 5 */
				   13, 3, 0, 99}; /* 17: leaf at its entry */
/* The first is before the code, the last behind it. */
static const struct place places[NR_PLACES] = {{-1, 0}, {10, 9},  {20, 17},
					       {30, 0}, {40, 13}, {0x7fffffff, 0}};

/* Java up to 22, up to 24, and later; scopes before places. */
enum layout { IN_BLOCK, BESIDE, MUTABLE, SCOPES_FIRST, NR_LAYOUTS };

static void place(enum layout layout)
{
	struct vmstructs_place *const field = jvm.at.field;
	const int32_t places_at = offsetof(struct blob, all.places),
		      stream_at = offsetof(struct blob, all.stream),
		      metadata_at = offsetof(struct blob, all.metadata);
	const uint8_t *const base = (const uint8_t *)&blob;

	jvm.at = offsets;
	field[VMSTRUCTS_VERSION].at = (uint64_t)(uintptr_t)&version;
	blob.size = sizeof(blob);
	blob.data = metadata_at;
	if (layout == IN_BLOCK) { /* scopes would be before places */
		field[VMSTRUCTS_COMPILED_SCOPES] = PLACE(blob, scopes);
		field[VMSTRUCTS_NMETHOD_DEPENDENCIES] = PLACE(blob, dependencies_at);
		return;
	}
	field[VMSTRUCTS_NMETHOD_BESIDE] = PLACE(blob, beside);
	field[VMSTRUCTS_NMETHOD_BESIDE_BYTES] = PLACE(blob, beside_bytes);
	field[VMSTRUCTS_NMETHOD_SCOPES] = PLACE(blob, scopes_at);
	blob.beside = base + places_at - 8;
	blob.places_at = 8;
	blob.scopes_at = 8 + stream_at - places_at;
	blob.beside_bytes = blob.scopes_at + (int32_t)sizeof(stream);
	blob.metadata_at = 0;
	if (layout >= MUTABLE) {
		field[VMSTRUCTS_BLOB_MUTABLE] = PLACE(blob, mutable);
		field[VMSTRUCTS_BLOB_MUTABLE_BYTES] = PLACE(blob, mutable_bytes);
		field[VMSTRUCTS_BLOB_RELOCATION_BYTES] = PLACE(blob, relocation_bytes);
		blob.mutable = base + metadata_at - 16;
		blob.relocation_bytes = 16;
		blob.mutable_bytes = 16 + (int32_t)sizeof(blob.all.metadata);
	}
}

/* In the block: methods, scopes, places. */
static struct {
	struct blob head;
	const struct method *metadata[NR_METHODS];
	uint8_t stream[24];
	struct place places[NR_PLACES], other;
	uint64_t pad;
} block;

static void place_in_block(void)
{
	place(IN_BLOCK);
	block.head = blob;
	block.other = (struct place){3, 9};
	memcpy(block.metadata, blob.all.metadata, sizeof(block.metadata));
	memcpy(block.stream, blob.all.stream, sizeof(block.stream));
	memcpy(block.places, blob.all.places, sizeof(block.places));
	block.head.metadata_at = (int32_t)((char *)block.metadata - (char *)&block);
	block.head.scopes = block.stream;
	block.head.places_at = (int32_t)((char *)block.places - (char *)&block);
	block.head.dependencies_at = block.head.places_at + (int32_t)sizeof(block.places);
}

/* Behind the places is something else. */
static void place_scopes_first(void)
{
	place_in_block();
	place(SCOPES_FIRST);
	block.head.beside = block.stream;
	block.head.scopes_at = 0;
	block.head.places_at = (int32_t)((uint8_t *)block.places - block.stream);
	block.head.beside_bytes =
	    block.head.places_at + (int32_t)(sizeof(block.places) + sizeof(block.other) + 4);
	block.head.mutable = (uint8_t *)block.metadata - 16;
	block.head.relocation_bytes = 16;
	block.head.mutable_bytes = 16 + (int32_t)sizeof(block.metadata);
}

/* Lines 10, 20 and 30, and from the third bytecode on the next ones. */
HOOK(before_each)
{
	static const uint8_t behind[] = {0, 0, 0, 0, 0, 0, 0xff, 0, 0, 2 << 3 | 1, 0};

	memset(&blob, 0, sizeof(blob));
	version = 17;
	for (size_t i = 0; i < NR_METHODS; i++) {
		constants[i] = (struct constant){.pool = &pool,
						 .words = sizeof(struct constant) / 8,
						 .flags = 1,
						 .code_bytes = 6,
						 .name = (uint16_t)(2 + i)};
		memcpy(constants[i].behind, behind, sizeof(behind));
		constants[i].behind[8] = (uint8_t)(20 + 20 * i);
		methods[i].constant = &constants[i];
		blob.all.metadata[i] = &methods[i];
	}
	memcpy(blob.all.stream, stream, sizeof(stream));
	memcpy(blob.all.places, places, sizeof(places));
	jvm = (struct jvm){.pid = (uint32_t)getpid()};
	place(BESIDE);
	scopes = scopes_new();
	assert_non_null(scopes);
}

HOOK(after_each)
{
	scopes_free(scopes);
}

/* What is at a distance: "" nothing; "none": there are no scopes. */
static const char *read_at(const void *head, uint64_t distance)
{
	struct scopes_of of = {.method = (uint64_t)(uintptr_t)&methods[0],
			       .code_bytes = CODE_BYTES};
	static char text[4096];
	const uint8_t *bytes;
	uint32_t len;
	size_t at = 0, nr;

	scopes_begin(scopes, &jvm);
	if (!scopes_place(&jvm, (uint64_t)(uintptr_t)head, head, sizeof(struct blob), &of) ||
	    !scopes_find(scopes, &of, UINT64_MAX, &bytes, &len))
		return "none";
	nr = trace_scopes_at(bytes, len, distance, found);
	*text = '\0';
	for (size_t i = 0; i < nr; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s:%s:%u", i ? " < " : "",
				       found[i].name, found[i].file, found[i].line);
	return text;
}

static const struct {
	uint64_t distance;
	const char *text;
} rows[] = {
    {0, "p.C.leaf:C.java:31 < p.C.middle:C.java:20 < p.C.outer:C.java:11"},
    {10, "p.C.leaf:C.java:31 < p.C.middle:C.java:20 < p.C.outer:C.java:11"},
    {11, "p.C.leaf:C.java:30 < p.C.outer:C.java:11"},
    {20, "p.C.leaf:C.java:30 < p.C.outer:C.java:11"},
    {30, ""},
    {31, "p.C.outer:C.java:11"},
    {40, "p.C.outer:C.java:11"},
    {41, ""},
};

TEST(inlined)
{
	for (enum layout layout = IN_BLOCK; layout < NR_LAYOUTS; layout++) {
		const bool is_block = layout == IN_BLOCK || layout == SCOPES_FIRST;

		if (layout == IN_BLOCK)
			place_in_block();
		else if (layout == SCOPES_FIRST)
			place_scopes_first();
		else
			place(layout);
		for (size_t i = 0; i < NR(rows); i++)
			assert_string_equal(
			    read_at(is_block ? (void *)&block : (void *)&blob, rows[i].distance),
			    rows[i].text);
	}
}

/* Members of a PcDesc lie within it. */
TEST(has)
{
	struct vmstructs l = {.method_bytes = 8, .const_bytes = 8, .place_bytes = 16};

	for (size_t i = 0; i < VMSTRUCTS_NR_FIELDS; i++)
		l.field[i] = (struct vmstructs_place){12, 4};
	assert_true(vmstructs_has_scopes(&l));
	l.place_bytes = 15;
	assert_false(vmstructs_has_scopes(&l));
	l.place_bytes = 1 << 20;
	assert_false(vmstructs_has_scopes(&l));
	l.place_bytes = 16;
	l.field[VMSTRUCTS_PLACE_SCOPE].bytes = 0;
	assert_false(vmstructs_has_scopes(&l));
}

/* From 20 on no byte of a number is 0. */
TEST(without_zeroes)
{
	version = 21;
	for (size_t i = 1; i < sizeof(stream); i++)
		blob.all.stream[i]++;
	for (size_t i = 0; i < NR_METHODS; i++)
		for (size_t k = 7; k < 9; k++)
			constants[i].behind[k]++;
	assert_string_equal(read_at(&blob, 0), rows[0].text);
	version = 17;
	assert_string_equal(read_at(&blob, 0), "none");
}

/* A method without lines, or whose file is not known, has its name. */
TEST(without_lines)
{
	constants[2].flags = 0;
	constants[1].words = 1;
	assert_string_equal(read_at(&blob, 0),
			    "p.C.leaf:C.java:0 < p.C.middle:C.java:0 < p.C.outer:C.java:11");
}

/* A change, and all of the code is not known. */
TEST(contradictions)
{
	static const struct {
		const char *what;
		size_t at;
		uint8_t value;
	} wrong[] = {
#define STREAM(i) offsetof(struct blob, all.stream) + (i)
	    {"a sender that is not before it", STREAM(9), 9},
	    {"a sender behind it", STREAM(9), 13},
	    {"no method", STREAM(10), 0},
	    {"a method beyond", STREAM(10), NR_METHODS + 1},
	    {"another method was compiled", STREAM(2), 2},
	    {"places that descend", offsetof(struct blob, all.places[2].at), 9},
	    {"a place before the code", offsetof(struct blob, all.places[1].at) + 3, 0x80},
	    {"a place twice", offsetof(struct blob, all.places[2].at), 10},
	    {"a scope beyond", offsetof(struct blob, all.places[1].scope), 24},
	    {"places without an end", offsetof(struct blob, scopes_at), 0},
	    {"scopes without an end", offsetof(struct blob, beside_bytes), 1},
	    {"places far away", offsetof(struct blob, places_at) + 3, 0x70},
	    {"too many places", offsetof(struct blob, scopes_at) + 2, 0x10},
	    {"a method that is none", offsetof(struct blob, all.metadata[2]) + 5, 0xff},
	};

	for (size_t i = 0; i < NR(wrong); i++) {
		const struct blob was = blob;

		((uint8_t *)&blob)[wrong[i].at] = wrong[i].value;
		if (strcmp(read_at(&blob, 0), "none") != 0)
			fail_msg("%s", wrong[i].what);
		blob = was;
	}
	assert_string_equal(read_at(&blob, 0), rows[0].text);
}

/* A version whose tables lack a member; a head that ends before it. */
TEST(not_said)
{
	struct scopes_of of;

	assert_true(scopes_place(&jvm, 0, (const uint8_t *)&blob, sizeof(blob), &of));
	assert_false(scopes_place(&jvm, 0, (const uint8_t *)&blob, 16, &of));
	jvm.at.field[VMSTRUCTS_NMETHOD_SCOPES].bytes = 0;
	assert_string_equal(read_at(&blob, 0), "none");
}

/* Methods are read again at the next look, and once in a look. */
TEST(looks)
{
	static const struct symbol other = {5, "other"};
	static struct pool changed;
	struct scopes_of of = {.method = (uint64_t)(uintptr_t)&methods[0],
			       .code_bytes = CODE_BYTES};
	const uint8_t *bytes;
	uint32_t len;

	changed = pool;
	changed.entry[4] = &other;
	assert_string_equal(read_at(&blob, 20), rows[3].text);
	assert_true(scopes_nr_read(scopes) >= sizeof(places) + sizeof(stream));
	constants[2].pool = &changed;
	assert_true(scopes_place(&jvm, 0, (const uint8_t *)&blob, sizeof(blob), &of));
	of.methods = (uint64_t)(uintptr_t)blob.all.metadata;
	of.methods_end = of.methods + sizeof(blob.all.metadata);
	assert_true(scopes_find(scopes, &of, UINT64_MAX, &bytes, &len));
	assert_int_equal(trace_scopes_at(bytes, len, 20, found), 2);
	assert_string_equal(found[0].name, "p.C.leaf");
	assert_false(scopes_find(scopes, &of, 0, &bytes, &len)); /* it has no time */
	assert_string_equal(read_at(&blob, 20), "p.C.other:C.java:30 < p.C.outer:C.java:11");
}

/* Callers without an end, and more than are shown. */
TEST(deep)
{
	static struct {
		struct blob head;
		struct place places[3];
		uint8_t stream[3 * 40 + 1];
	} long_one;
	struct blob *const h = &long_one.head;

	for (size_t deep = TRACE_SCOPES_MAX_DEPTH; deep <= TRACE_SCOPES_MAX_DEPTH + 1; deep++) {
		*h = blob;
		for (size_t i = 0; i < 40; i++) {
			uint8_t *const s = &long_one.stream[1 + 3 * i];

			s[0] = i ? (uint8_t)(1 + 3 * (i - 1)) : 0;
			s[1] = 1;
			s[2] = 1;
		}
		long_one.places[0] = (struct place){-1, 0};
		long_one.places[1] = (struct place){10, (int32_t)(1 + 3 * (deep - 1))};
		long_one.places[2] = (struct place){0x7fffffff, 0};
		h->beside = (uint8_t *)long_one.places;
		h->places_at = 0;
		h->scopes_at = sizeof(long_one.places);
		h->beside_bytes = h->scopes_at + (int32_t)sizeof(long_one.stream);
		if (deep > TRACE_SCOPES_MAX_DEPTH)
			assert_string_equal(read_at(h, 0), "none");
		else
			assert_string_equal(strrchr(read_at(h, 0), '<'), "< p.C.outer:C.java:10");
	}
}

/* Whatever stands there: what is named is a method, and the last one is that which was compiled. */
TEST(hostile)
{
	uint32_t seed = 1;

	for (size_t i = 0; i < 5000; i++) {
		const struct blob was = blob;
		const size_t from = i % 2 ? offsetof(struct blob, all) : 0;
		const char *text;

		for (size_t k = 0; k < 1 + i % 3; k++) {
			seed = seed * 1103515245 + 12345;
			((uint8_t *)&blob)[from + (seed >> 8) % (sizeof(blob) - from)] =
			    (uint8_t)(seed >> 16 & (i % 4 ? 31 : 255));
		}
		text = read_at(&blob, i % CODE_BYTES);
		if (*text && strcmp(text, "none") != 0) {
			const char *last = strrchr(text, '<');

			assert_int_equal(strncmp(last ? last + 2 : text, "p.C.outer:", 10), 0);
		}
		blob = was;
	}
}
