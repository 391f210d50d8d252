/*
 * Names of code that a runtime compiled, among those of maps: the recorder knows when it was where.
 */
#include "kit.h"
#include "test_symbols.h"

#include "trace/scopes.h"

static const struct profile_object anon = {
    .kind = PROFILE_OBJECT_ANON, .path = "//anon", .name = "//anon", .shown_path = "//anon"};
static const struct profile_process process = {.pid = 77};

HOOK(before_each)
{
	test_world_setup();
}

HOOK(after_each)
{
	test_world_teardown();
}

TEST(before_maps)
{
	static const char map[] = "1000 100 ofMap\n3000 100 late\n";
	static const struct profile_compiled changes[] = {{10, 0x1000, 0x1080, 77, 0, "A.first"},
							  {20, 0x1000, 0x1080, 77, 1, ""},
							  {30, 0x1000, 0x1100, 77, 2, "A.second"},
							  {5, 0x2000, 0x2080, 77, 3, "A.first"},
							  {40, 0, UINT64_MAX, 77, 4, ""}};
	static const struct {
		uint64_t address, time_ns;
		const char *name; /* NULL: none */
	} rows[] = {{0x1000, 9, "ofMap"},     {0x1000, 10, "A.first"}, {0x107f, 19, "A.first"},
		    {0x1080, 19, "ofMap"},    {0x1000, 20, NULL},      {0x1080, 20, "ofMap"},
		    {0x1080, 30, "A.second"}, {0x3000, 30, "late"},    {0x4000, 30, NULL},
		    {0x1000, 40, "ofMap"},    {0x2000, 40, NULL}};
	const struct profile_mapping m = {.start = 0, .end = 0x10000, .pid = 77, .object = &anon};
	struct test_world *w = &world;

	w->processes.compiled = changes;
	w->processes.nr_compiled = NR(changes);
	tree_put(&w->tree, "/perf-77.map", map, sizeof(map) - 1);
	test_world_open(w, NULL, &(struct symbols_config){.jit_folder = w->tree.dir});
	for (size_t i = 0; i < NR(rows); i++) {
		const struct symbol_function *fn =
		    symbols_user(w->symbols, &m, rows[i].address, rows[i].time_ns);

		assert_string_equal(fn->name, rows[i].name ? rows[i].name : "[unknown]");
		assert_string_equal(fn->object, rows[i].name ? "[JIT]" : "//anon");
		assert_int_equal(fn->is_known, rows[i].name != NULL);
	}
	/* moved, it is the same function */
	assert_ptr_equal(symbols_user(w->symbols, &m, 0x1000, 10),
			 symbols_user(w->symbols, &m, 0x2000, 10));
	/* caches by address ask again */
	assert_int_not_equal(symbols_epoch(w->symbols, &process, 19),
			     symbols_epoch(w->symbols, &process, 20));
	assert_int_equal(symbols_epoch(w->symbols, NULL, 19), 0);
}

/* What is inlined, with lines, whether it is asked for or not; more than there is room for is not
 * known. Names are safe to show. */
TEST(inlined)
{
	const struct profile_mapping m = {.start = 0, .end = 0x10000, .pid = 77, .object = &anon};
	struct profile_compiled code = {10, 0x1000, 0x1080, 77, 0, "A.first"};
	struct trace_scopes table = {.all = {.len = 0}};
	struct test_world *w = &world;
	struct symbol_line line[3];
	uint32_t outer, other;

	trace_scopes_begin(&table);
	outer = trace_scopes_add(&table, trace_scopes_function(&table, "A.first", "A.java"), 5, 0);
	other = trace_scopes_function(&table, "B\033.b", "");
	trace_scopes_range(&table, 0x10, trace_scopes_add(&table, other, 7, outer));
	trace_scopes_range(&table, 0x20, 0);
	trace_scopes_range(&table, 0x30, outer);
	assert_true(trace_scopes_end(&table, &code.scopes, &code.scopes_bytes));
	w->processes.compiled = &code;
	w->processes.nr_compiled = 1;
	test_world_open(w, NULL, &(struct symbols_config){.jit_folder = w->tree.dir});
	assert_true(symbols_has_scopes(w->symbols, &m, 0x1000, 10));
	assert_false(symbols_has_scopes(w->symbols, &m, 0x1000, 9));
	assert_false(symbols_has_scopes(w->symbols, NULL, 0x1000, 10));
	assert_int_equal(symbols_lines(w->symbols, &m, 0x100f, 10, line, 3), 2);
	assert_string_equal(line[0].function->name, "B?.b");
	assert_string_equal(line[0].function->object, "[JIT]");
	assert_int_equal(line[0].line, 7);
	assert_null(line[0].file);
	assert_true(line[0].is_of_runtime);
	assert_ptr_equal(line[1].function, symbols_user(w->symbols, &m, 0x100f, 10));
	assert_int_equal(line[1].line, 5);
	assert_string_equal(line[1].file, "A.java");
	assert_int_equal(symbols_lines(w->symbols, &m, 0x1010, 10, line, 3), 1);
	assert_string_equal(line[0].function->name, "A.first");
	assert_int_equal(line[0].line, 0);
	assert_int_equal(symbols_lines(w->symbols, &m, 0x1020, 10, line, 3), 1);
	assert_int_equal(line[0].line, 5);
	assert_int_equal(symbols_lines(w->symbols, &m, 0x1000, 10, line, 1), 1);
	assert_string_equal(line[0].function->name, "A.first");
	assert_int_equal(line[0].line, 0);
	trace_scopes_fini(&table);
}
