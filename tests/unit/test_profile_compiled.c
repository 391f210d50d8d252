/*
 * Code that runtimes compile: by process, address and time, also when more is added.
 */
#include "kit.h"

#include "profile/compiled.h"
#include "profile/processes_internal.h"
#include "trace/trace.h"

#include <errno.h>
#include <string.h>

static struct profile_processes all;

static void add(uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t end, const char *name)
{
	struct trace_compiled c = {.time_ns = time_ns, .start = start, .end = end, .pid = pid};

	snprintf(c.name, sizeof(c.name), "%s", name);
	assert_int_equal(profile_compiled_add(&all.compiled, &all.codes, &c), 0);
}

static const char *name_at(uint32_t pid, uint64_t address, uint64_t time_ns)
{
	const struct profile_compiled *c = profile_compiled_find(&all, pid, address, time_ns);

	return c ? c->name : "-";
}

HOOK(after_each)
{
	profile_compiled_fini(&all.compiled);
	profile_codes_fini(&all.codes);
}

TEST(by_time)
{
	static const struct {
		uint32_t pid;
		uint64_t address, time_ns;
		const char *name;
	} rows[] = {
	    {7, 100, 10, "A.a"},  {7, 149, 19, "A.a"}, {7, 150, 10, "-"},
	    {7, 99, 10, "-"},     {7, 100, 9, "-"},    {7, 100, 20, ""},
	    {7, 120, 29, ""},     {7, 120, 30, "B.b"}, {7, 120, UINT64_MAX, "B.b"},
	    {7, 100, 40, ""},     {7, 1100, 5, "C.c"}, {7, 1100, 0, "C.c"},
	    {8, 100, 100, "D.d"}, {8, 1100, 100, "-"}, {9, 100, 100, "-"},
	    {6, 100, 100, "-"},
	};

	add(8, 1, 100, 150, "D.d");
	add(7, 30, 110, 160, "B.b"); /* written before what it replaces */
	add(7, 10, 100, 150, "A.a");
	add(7, 20, 100, 150, "");
	add(7, 0, 1000, 1200, "C.c");
	assert_int_equal(profile_compiled_make(&all.compiled), 0);
	for (size_t i = 0; i < NR(rows); i++)
		assert_string_equal(name_at(rows[i].pid, rows[i].address, rows[i].time_ns),
				    rows[i].name);
}

/* Of two at one time the later frame is true. */
TEST(by_order)
{
	add(7, 10, 100, 150, "A.a");
	add(7, 10, 100, 150, "");
	add(7, 10, 200, 250, "");
	add(7, 10, 200, 250, "B.b");
	assert_int_equal(profile_compiled_make(&all.compiled), 0);
	assert_string_equal(name_at(7, 100, 10), "");
	assert_string_equal(name_at(7, 200, 10), "B.b");
}

TEST(grows)
{
	uint32_t before, other;

	assert_int_equal(profile_compiled_make(&all.compiled), 0);
	assert_string_equal(name_at(7, 100, 10), "-");
	assert_int_equal(profile_compiled_epoch(&all, 7, 10), 0);
	add(7, 10, 100, 150, "A.a");
	add(8, 10, 100, 150, "D.d");
	assert_int_equal(profile_compiled_make(&all.compiled), 0);
	before = profile_compiled_epoch(&all, 7, 15);
	other = profile_compiled_epoch(&all, 8, 15);
	assert_int_equal(profile_compiled_epoch(&all, 7, 11), before);
	assert_int_not_equal(profile_compiled_epoch(&all, 7, 9), before);
	add(7, 12, 100, 150, ""); /* what was asked before may have another answer */
	assert_int_equal(profile_compiled_make(&all.compiled), 0);
	assert_int_not_equal(profile_compiled_epoch(&all, 7, 11), before);
	assert_int_equal(profile_compiled_epoch(&all, 8, 15), other);
	assert_string_equal(name_at(7, 100, 11), "A.a");
	assert_string_equal(name_at(7, 100, 12), "");
}

/* What a machine interprets is one of the codes, with lines of its own bytes; points of code are
 * kept with its name. */
TEST(interpreted)
{
	static const uint8_t bytes[] = {1, 0, 0, 0, 9, 0, 0, 0};
	struct trace_compiled c = {.time_ns = 10,
				   .start = 0x7000,
				   .end = 0x7001,
				   .pid = 7,
				   .name = "A.a",
				   .kind = TRACE_COMPILED_INTERPRETED,
				   .codes = 0x9000,
				   .codes_bytes = 5,
				   .first_line = 3,
				   .file = "A.java",
				   .data = bytes,
				   .data_bytes = sizeof(bytes)};
	const struct profile_compiled *found;
	const struct profile_code *code;

	assert_int_equal(profile_compiled_add(&all.compiled, &all.codes, &c), 0);
	c.start = 100;
	c.end = 150;
	c.kind = TRACE_COMPILED_METHOD;
	c.scopes = bytes + 1;
	c.scopes_bytes = 3;
	assert_int_equal(profile_compiled_add(&all.compiled, &all.codes, &c), 0);
	add(8, 1, 100, 150, "D.d");
	profile_codes_sort(&all.codes);
	assert_int_equal(profile_compiled_make(&all.compiled), 0);
	found = profile_compiled_find(&all, 7, 0x7000, 10);
	assert_int_equal(found->kind, TRACE_COMPILED_INTERPRETED);
	assert_int_equal(found->nr_points, 0);
	code =
	    profile_code_at(&all, profile_code_address(&all, TRACE_LANGUAGE_JAVA, found->code, 4));
	assert_string_equal(code->name, "A.a");
	assert_string_equal(code->file, "A.java");
	assert_int_equal(code->first_line, 3);
	assert_int_equal(code->lines_bytes, sizeof(bytes));
	found = profile_compiled_find(&all, 7, 100, 10);
	assert_int_equal(found->nr_points, 2);
	assert_memory_equal(found->points, bytes, sizeof(bytes));
	assert_int_equal(found->scopes_bytes, 3);
	assert_memory_equal(found->scopes, bytes + 1, 3);
	assert_true(found->scopes != bytes + 1); /* it is copied */
	assert_true(profile_compiled_has_frames(&all, 7));
	assert_false(profile_compiled_has_frames(&all, 8));
	assert_int_equal(all.codes.nr, 1);
}

/* What is beyond the limit may end a name, so that none applies from its time on. */
TEST(full)
{
	const struct trace_compiled more = {
	    .time_ns = 20, .start = 1, .end = 2, .pid = 8, .name = "a name that is too long here"};
	uint32_t before;

	arena_init(&all.compiled.names, 16);
	add(7, 10, 100, 150, "A.a");
	assert_int_equal(profile_compiled_make(&all.compiled), 0);
	assert_string_equal(name_at(7, 100, 20), "A.a");
	before = profile_compiled_epoch(&all, 7, 20);
	assert_int_equal(profile_compiled_add(&all.compiled, &all.codes, &more), -EFBIG);
	assert_int_equal(profile_compiled_make(&all.compiled), 0);
	assert_string_equal(name_at(7, 100, 19), "A.a");
	assert_string_equal(name_at(7, 100, 20), "-");
	assert_int_not_equal(profile_compiled_epoch(&all, 7, 20), before);
}
