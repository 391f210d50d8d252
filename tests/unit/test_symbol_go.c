/*
 * A program of Go without symbols and DWARF: functions, lines and inlined calls by the table of its
 * runtime, for reports and for annotated code.
 */
#include "kit.h"
#include "test_elf_pclntab.h"
#include "test_symbols.h"

enum { TINY = GO_TEXT + 0x10 + 0x19 }; /* offset in the file: inlined into what is inlined */

static const struct {
	const char *function, *file;
	uint32_t line;
} expected[] = {{"main.tiny", "/src/b.go", 3},
		{"main.small", "/src/b.go", 8},
		{"main.(*T).Two", "/src/a.go", 21}};

HOOK(before_each)
{
	test_world_setup();
}

HOOK(after_each)
{
	test_world_teardown();
}

/* The program of that version, as a file of the test. */
static struct profile_object make_program(size_t version, char path[4096])
{
	struct go_file f;

	go_make(&f, &go_versions[version]);
	tree_put(&world.tree, "/go", f.bytes, sizeof(f.bytes));
	return test_object(&world, "go", 0, path);
}

static void expect_lines(const struct symbol_line *line, size_t nr)
{
	const size_t first = NR(expected) - nr;

	for (size_t i = 0; i < nr; i++) {
		assert_string_equal(line[i].function->name, expected[first + i].function);
		assert_int_equal(line[i].function->is_inlined, i + 1 < nr);
		assert_true(line[i].function->is_known);
		assert_string_equal(line[i].file, expected[first + i].file);
		assert_int_equal(line[i].line, expected[first + i].line);
	}
}

TEST(lines)
{
	for (size_t i = 0; i < NR(go_versions); i++) {
		const struct symbols_config config = {.with_inlined = true};
		const size_t nr = go_versions[i].calls_at ? NR(expected) : 1;
		struct symbol_line line[SYMBOL_MAX_LINES];
		struct profile_object o;
		struct profile_mapping m;
		char path[4096];

		print_message("Go %s\n", go_versions[i].name);
		o = make_program(i, path);
		test_mapping(&o, &m);
		test_world_open(&world, NULL, &config);
		for (unsigned again = 0; again < 2; again++) {
			assert_int_equal(symbols_lines(world.symbols, &m, m.start + TINY, 1, line,
						       SYMBOL_MAX_LINES),
					 nr);
			assert_string_equal(line[nr - 1].function->name, "main.(*T).Two");
			if (nr > 1)
				expect_lines(line, nr);
			else
				assert_int_equal(line[0].line, 3);
		}
		/* without room the function itself comes first */
		assert_int_equal(symbols_lines(world.symbols, &m, m.start + TINY, 1, line, 1), 1);
		assert_string_equal(line[0].function->name, "main.(*T).Two");
		assert_int_equal(symbols_names_of(world.symbols, 0), SYMBOL_NAMES_ALL);
		test_world_close(&world);
	}
}

/* Where inlined functions are not asked for, a line is that of the address. */
TEST(without_inlined)
{
	struct symbol_line line[SYMBOL_MAX_LINES];
	struct profile_mapping m;
	char path[4096];
	struct profile_object o = make_program(3, path);

	test_mapping(&o, &m);
	test_world_open(&world, NULL, NULL);
	assert_int_equal(
	    symbols_lines(world.symbols, &m, m.start + TINY, 1, line, SYMBOL_MAX_LINES), 1);
	assert_string_equal(line[0].function->name, "main.(*T).Two");
	assert_string_equal(line[0].file, "/src/b.go");
	assert_int_equal(line[0].line, 3);
}

TEST(code)
{
	struct symbol_line line[SYMBOL_MAX_LINES];
	struct symbol_code code;
	char path[4096];
	struct profile_object o = make_program(3, path);

	test_world_open(&world, NULL, NULL);
	assert_true(symbols_code(world.symbols, &o, TINY, &code));
	assert_int_equal(code.start, GO_BASE + GO_TEXT + 0x10);
	assert_int_equal(code.end, code.start + 0x30);
	assert_int_equal(
	    symbols_code_lines(world.symbols, &code, code.address, line, SYMBOL_MAX_LINES),
	    NR(expected));
	expect_lines(line, NR(expected));
	/* of who wrote the program: its source is opened as that user */
	assert_false(symbols_rights(world.symbols, &o).are_limited && geteuid() != 0);
}
