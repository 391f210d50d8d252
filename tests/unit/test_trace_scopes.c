/*
 * Inlined functions of compiled code: what is written is read again, and what is no such table says
 * nothing, whatever its bytes are.
 */
#include "kit.h"

#include "trace/scopes.h"

#include <endian.h>
#include <string.h>

enum { MAX = TRACE_SCOPES_MAX_DEPTH };

static struct trace_scopes table;
static struct trace_scope found[MAX];

HOOK(before_each)
{
	trace_scopes_begin(&table);
}

HOOK(after_all)
{
	trace_scopes_fini(&table);
}

/* a calls b and, in another line, c, which calls b; then it is not known; then it is a alone. */
static void write_table(void)
{
	const uint32_t a = trace_scopes_function(&table, "A.a", "A.java"),
		       b = trace_scopes_function(&table, "B.b", ""),
		       c = trace_scopes_function(&table, "C.c", "C.java");
	const uint32_t a5 = trace_scopes_add(&table, a, 5, 0),
		       b1 = trace_scopes_add(&table, b, 1, a5),
		       a6 = trace_scopes_add(&table, a, 6, 0),
		       c2 = trace_scopes_add(&table, c, 2, a6),
		       b3 = trace_scopes_add(&table, b, 3, c2);

	trace_scopes_range(&table, 10, b1);
	trace_scopes_range(&table, 20, b3);
	trace_scopes_range(&table, 30, b3);
	trace_scopes_range(&table, 31, 0);
	trace_scopes_range(&table, 40, a5);
}

/* "A.a:5 < …": the innermost first. */
static const char *text_at(const uint8_t *bytes, size_t len, uint64_t distance)
{
	static char text[256];
	const size_t nr = trace_scopes_at(bytes, len, distance, found);
	size_t at = 0;

	*text = '\0';
	for (size_t i = 0; i < nr; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s:%s:%u", i ? " < " : "",
				       found[i].name, found[i].file, found[i].line);
	return text;
}

TEST(written)
{
	static const struct {
		uint64_t distance;
		const char *text;
	} rows[] = {
	    {0, "B.b::1 < A.a:A.java:5"},
	    {9, "B.b::1 < A.a:A.java:5"},
	    {10, "B.b::3 < C.c:C.java:2 < A.a:A.java:6"},
	    {29, "B.b::3 < C.c:C.java:2 < A.a:A.java:6"},
	    {30, ""},
	    {31, "A.a:A.java:5"},
	    {39, "A.a:A.java:5"},
	    {40, ""},
	    {UINT64_MAX, ""},
	};
	const uint8_t *bytes;
	uint32_t len;

	write_table();
	assert_true(trace_scopes_end(&table, &bytes, &len));
	for (size_t i = 0; i < NR(rows); i++)
		assert_string_equal(text_at(bytes, len, rows[i].distance), rows[i].text);
	assert_int_equal(le32toh(*(const uint32_t *)bytes), 4); /* two of one scope are one */
}

TEST(empty)
{
	const uint8_t *bytes;
	uint32_t len;

	assert_true(trace_scopes_end(&table, &bytes, &len));
	assert_int_equal(trace_scopes_at(bytes, len, 0, found), 0);
	assert_int_equal(trace_scopes_at(NULL, 0, 0, found), 0);
}

/* A limit is one of all; the next table is whole. */
TEST(too_long)
{
	char name[4096];
	const uint8_t *bytes;
	uint32_t len;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < TRACE_SCOPES_BYTES / sizeof(name); i++)
		(void)trace_scopes_function(&table, name, "");
	assert_false(trace_scopes_end(&table, &bytes, &len));
	trace_scopes_begin(&table);
	write_table();
	assert_true(trace_scopes_end(&table, &bytes, &len));
	assert_string_equal(text_at(bytes, len, 35), "A.a:A.java:5");
}

/* As many callers as fit; one more, and nothing is said. */
TEST(depth)
{
	for (size_t deep = MAX; deep <= MAX + 1; deep++) {
		const uint8_t *bytes;
		uint32_t len, scope = 0;

		trace_scopes_begin(&table);
		(void)trace_scopes_function(&table, "A.a", "");
		for (size_t i = 0; i < deep; i++)
			scope = trace_scopes_add(&table, 0, (uint32_t)i + 1, scope);
		trace_scopes_range(&table, 8, scope);
		assert_true(trace_scopes_end(&table, &bytes, &len));
		assert_int_equal(trace_scopes_at(bytes, len, 0, found), deep > MAX ? 0 : deep);
		if (deep > MAX)
			continue;
		assert_int_equal(found[0].line, MAX);
		assert_int_equal(found[MAX - 1].line, 1);
	}
}

/* Each word is what it cannot be. */
TEST(invalid)
{
	enum { HEAD = 3, RANGES = 4 * 2, SCOPES = 5 * 3 };
	static const struct {
		size_t word;
		uint32_t value;
	} rows[] = {
	    {0, 0xffffffff},
	    {1, 0xffffffff},
	    {2, 0xffffffff},
	    {0, 0x20000000},
	    {1, 0x15555556},
	    {HEAD + 1, 6},                                /* a scope that is none */
	    {HEAD + RANGES + 3, 3},                       /* a function */
	    {HEAD + RANGES + 3 + 2, 2},                   /* a caller of itself, */
	    {HEAD + RANGES + 3 + 2, 5},                   /* of a later one */
	    {HEAD + RANGES + SCOPES + 2, 0x7fffffff},     /* a name */
	    {HEAD + RANGES + SCOPES + 2 + 1, 0x7fffffff}, /* a file */
	};
	uint32_t words[128];
	const uint8_t *bytes;
	uint32_t len;

	write_table();
	assert_true(trace_scopes_end(&table, &bytes, &len));
	assert_true(len <= sizeof(words));
	for (size_t i = 0; i < NR(rows); i++) {
		memcpy(words, bytes, len);
		words[rows[i].word] = htole32(rows[i].value);
		if (trace_scopes_at((const uint8_t *)words, len, 0, found))
			fail_msg("row %zu", i);
	}
	memcpy(words, bytes, len);
	((char *)words)[len - 1] = 'x'; /* the last text has no end */
	assert_int_equal(trace_scopes_at((const uint8_t *)words, len, 0, found), 0);
}

/* Bytes of it changed, and it cut anywhere: names are texts within it, or there are none. */
TEST(hostile)
{
	uint8_t copy[512];
	const uint8_t *bytes;
	uint32_t len, seed = 1;

	write_table();
	assert_true(trace_scopes_end(&table, &bytes, &len));
	assert_true(len <= sizeof(copy));
	for (size_t i = 0; i < 20000; i++) {
		const size_t left = i % 4 ? len : i % len;
		size_t nr;

		memcpy(copy, bytes, len);
		for (size_t k = 0; k < i % 5; k++) {
			seed = seed * 1103515245 + 12345;
			copy[(seed >> 8) % len] = (uint8_t)(seed >> 16);
		}
		nr = trace_scopes_at(copy, left, i % 50, found);
		assert_true(nr <= MAX);
		for (size_t k = 0; k < nr; k++) {
			const char *const end = (const char *)copy + left;

			assert_true(found[k].name >= (const char *)copy && found[k].name < end);
			assert_true(found[k].name + strlen(found[k].name) < end);
			assert_true(found[k].file + strlen(found[k].file) < end);
		}
	}
}
