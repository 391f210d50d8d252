/*
 * Source lines and inlined functions of programs that are made for it: labels in the code say which
 * addresses are asked, their lines are known. And DWARF that is damaged, packed, or elsewhere.
 */
#include "kit.h"
#include "test_symbols.h"

#include "elf/dwarf.h"
#include "symbol/room.h"

#include <endian.h>
#include <inttypes.h>

static const char source[] = "#define HERE(name) __asm__ volatile(#name \": nop\")\n" /* 1 */
			     "#define INLINE static inline __attribute__((always_inline))\n"
			     "INLINE void deepest(void)\n" /* 3 */
			     "{\n"
			     "	HERE(at_deepest);\n" /* 5 */
			     "}\n"
			     "INLINE void middle(void)\n" /* 7 */
			     "{\n"
			     "	HERE(at_middle);\n"
			     "	deepest();\n" /* 10 */
			     "}\n"
			     "__attribute__((noinline)) void outer(void)\n" /* 12 */
			     "{\n"
			     "	HERE(at_outer);\n"
			     "	{ int block = 1; middle(); } HERE(at_end);\n" /* 15 */
			     "}\n"
			     "__attribute__((noinline, section(\".text.cold\"))) void cold(void)\n"
			     "{\n"
			     "	HERE(at_cold);\n" /* 19 */
			     "}\n"
			     "int main(void) { outer(); cold(); return 0; }\n";

struct place {
	const char *function;
	uint32_t line;
};

static const struct {
	const char *label;
	struct place place[4];
} expected[] = {
    {"at_deepest", {{"deepest", 5}, {"middle", 10}, {"outer", 15}}},
    {"at_middle", {{"middle", 9}, {"outer", 15}}},
    {"at_outer", {{"outer", 14}}},
    {"at_end", {{"outer", 15}}}, /* right behind what was inlined */
    {"at_cold", {{"cold", 19}}},
};

static bool compile(const struct test_world *w, const char *cc, const char *flags)
{
	tree_put(&w->tree, "/p.c", source, sizeof(source) - 1);
	return test_shell(w,
			  "%s -w -o p -x c p.c %s -Wl,--build-id=0x0123456789abcdef && "
			  "nm p | grep ' at_' >labels",
			  cc, flags);
}

static uint64_t label(const struct test_world *w, const char *name)
{
	char command[4096], text[64] = "";
	FILE *p;

	snprintf(command, sizeof(command), "cd '%s' && awk '$3 == \"%s\" {print $1}' labels",
		 w->tree.dir, name);
	p = popen(command, "r");
	assert_non_null(p);
	assert_non_null(fgets(text, sizeof(text), p));
	pclose(p);
	return strtoull(text, NULL, 16);
}

/* Asks for each label in q, of which there is a file with code. */
static void check_lines(struct test_world *w, const char *program, bool has_lines,
			bool with_inlined)
{
	char path[4096];
	struct profile_object o = test_object(w, program, 0, path);
	struct elf_file *f = test_open_elf(path);
	struct profile_mapping m;

	test_mapping(&o, &m);
	for (size_t i = 0; i < 2 * NR(expected); i++) { /* again, from what is kept */
		const struct place *p = expected[i / 2].place;
		uint64_t at = m.start + test_offset(f, label(w, expected[i / 2].label));
		struct symbol_line line[SYMBOL_MAX_LINES];
		size_t nr = symbols_lines(w->symbols, &m, at, 1, line, SYMBOL_MAX_LINES), want = 0;

		while (want < 4 && p[want].function)
			want++;
		assert_int_equal(nr, with_inlined && has_lines ? want : 1);
		assert_ptr_equal(line[nr - 1].function, symbols_user(w->symbols, &m, at, 1));
		assert_string_equal(line[nr - 1].function->name, p[want - 1].function);
		assert_false(line[nr - 1].function->is_inlined);
		for (size_t k = 0; k < nr; k++) {
			assert_int_equal(line[k].line, has_lines ? p[k].line : 0);
			assert_true((line[k].file != NULL) == has_lines);
			assert_true(!has_lines || strstr(line[k].file, "/p.c"));
			if (k == nr - 1)
				break;
			assert_string_equal(line[k].function->name, p[k].function);
			assert_true(line[k].function->is_inlined && line[k].function->is_known);
			assert_string_equal(line[k].function->object, program);
		}
		/* without room the function itself comes first */
		assert_int_equal(symbols_lines(w->symbols, &m, at, 1, line, 1), 1);
		assert_string_equal(line[0].function->name, p[want - 1].function);
		assert_int_equal(symbols_lines(w->symbols, &m, at, 1, line, 0), 0);
	}
	elf_file_close(f);
}

HOOK(before_each)
{
	test_world_setup();
}

HOOK(after_each)
{
	test_world_teardown();
}

TEST(lines)
{
	static const struct {
		const char *cc, *flags;
	} cases[] = {
	    {"cc", "-O2 -gdwarf-5"},
	    {"cc", "-O2 -gdwarf-4"},
	    {"cc", "-O2 -gdwarf-5 -gz"},
	    {"cc", "-O2 -gdwarf-4 -gz=zlib-gnu"},
	    {"cc", "-O2 -gdwarf-5 -Wl,--compress-debug-sections=zstd"},
	    {"cc", "-O2 -gdwarf-4 -m32 -Wl,--compress-debug-sections=zstd"},
	    {"cc", "-O2 -g -static"},
	    {"cc", "-O2 -g -ffunction-sections"},
	    {"clang", "-O2 -gdwarf-5"},
	    {"clang", "-O2 -gdwarf-4"},
	    {"cc", "-O2 -gdwarf-5 -gsplit-dwarf"},
	    {"cc", "-O2 -gdwarf-4 -gsplit-dwarf"},
	    {"cc", "-O2 -gdwarf-5 -gsplit-dwarf -ffunction-sections"},
	    {"cc", "-O2 -gdwarf-5 -gsplit-dwarf -gz"},
	    {"cc", "-O2 -gdwarf-5 -gsplit-dwarf -fdebug-types-section"},
	    {"cc", "-O2 -gdwarf-5 -gsplit-dwarf -m32"},
	    {"clang", "-O2 -gdwarf-5 -gsplit-dwarf"},
	    {"clang", "-O2 -gdwarf-4 -gsplit-dwarf"},
	    {"aarch64-linux-gnu-gcc", "-O2 -g -gsplit-dwarf"},
	    {"aarch64-linux-gnu-gcc", "-O2 -g"},
	};
	struct test_world *w = &world;

	TEST_NEEDS(w, "nm");
	STRIDE_EACH(i, NR(cases), 9) {
		if (!compile(w, cases[i].cc, cases[i].flags)) {
			print_message("skip: no %s %s\n", cases[i].cc, cases[i].flags);
			continue;
		}
		for (int inlined = 0; inlined < 2; inlined++) {
			test_world_open(w, NULL, &(struct symbols_config){.with_inlined = inlined});
			check_lines(w, "p", true, inlined);
			assert_int_equal(w->nr_problems, 0);
			test_world_close(w);
		}
	}
}

TEST(elsewhere)
{
	static const struct {
		const char *make;
		bool has_lines;
		unsigned nr_problems;
	} cases[] = {
	    {"strip -g -o q p", false, 0},
	    {"strip -g -o q p && mkdir -p d/.build-id/01 && objcopy --only-keep-debug p "
	     "d/.build-id/01/23456789abcdef.debug",
	     true, 0},
	    {"rm -r d && strip -s -o q p && objcopy --only-keep-debug --compress-debug-sections p "
	     "q.debug && objcopy --add-gnu-debuglink=q.debug q",
	     true, 0},
	    {"strip -s -o q p && objcopy --only-keep-debug --compress-debug-sections=zlib-gnu p "
	     "q.debug && objcopy --add-gnu-debuglink=q.debug q",
	     true, 0},
	    {"strip -s -o q p && objcopy --only-keep-debug --compress-debug-sections=zstd p "
	     "q.debug && objcopy --add-gnu-debuglink=q.debug q",
	     true, 0},
	    {"objcopy --compress-debug-sections=zstd p q", true, 0},
	    /* a method that is not known */
	    {"at=$(readelf -SW q | sed -n 's/.* \\.debug_info *PROGBITS *[0-9a-f]* //p') && "
	     "printf '\\011' | dd of=q bs=1 seek=$((0x${at%% *})) conv=notrunc status=none",
	     false, 1},
	    /* what it shares with others is not there */
	    {"{ printf 'shared\\0'; printf '\\001\\002\\003\\004'; } >link && "
	     "objcopy --add-section .gnu_debugaltlink=link p q",
	     false, 1},
	    {"mkdir -p d/.build-id/01 && printf 'int g(void) { return 1; }' >g.c && "
	     "cc -g -shared -Wl,--build-id=0x01020304 -o d/.build-id/01/020304.debug g.c",
	     true, 0},
	    {"objcopy --compress-debug-sections=zstd d/.build-id/01/020304.debug && "
	     "objcopy --compress-debug-sections=zstd q",
	     true, 0},
	};
	struct test_world *w = &world;
	char dir[4096];
	const char *dirs[] = {dir};

	TEST_NEEDS(w, "nm");
	assert_true(compile(w, "cc", "-O2 -g"));
	snprintf(dir, sizeof(dir), "%s/d", w->tree.dir);
	for (size_t i = 0; i < NR(cases); i++) {
		assert_true(test_shell(w, "%s", cases[i].make));
		test_world_open(w,
				&(struct elf_finder_config){.debug_dirs = dirs, .nr_debug_dirs = 1},
				&(struct symbols_config){.with_inlined = true});
		check_lines(w, "q", cases[i].has_lines, true);
		assert_int_equal(w->nr_problems, cases[i].nr_problems);
		test_world_close(w);
	}
}

static const char text[] =
    "#include <algorithm>\n#include <string>\n#include <vector>\n"
    "template <class T> static T twist(const std::vector<T> &v, T x)\n"
    "{\n\tT s = 0;\n\tfor (auto y : v)\n\t\ts += y * x;\n\treturn s;\n}\n"
    "int main(int n, char **v)\n{\n\tstd::vector<long> p;\n"
    "\tfor (long i = 0; i < n + 9; i++)\n\t\tp.push_back(i ^ n);\n"
    "\tstd::sort(p.begin(), p.end(), [](long a, long b) { return (a & 7) < (b & 7); });\n"
    "\treturn (int)(twist(p, 3L) + (long)std::string(v[0]).size());\n}\n";

/* Every address of a program of C++, against addr2line: the line of the code there. */
TEST(every_address)
{
	struct test_world *w = &world;
	unsigned long long address = 0;
	unsigned nr = 0, nr_line;
	char path[4096], command[4096], row[4096];
	struct profile_object o;
	struct profile_mapping m;
	struct elf_file *f;
	FILE *p;

	TEST_NEEDS(w, "c++");
	TEST_NEEDS(w, "addr2line");
	tree_put(&w->tree, "/p.cc", text, sizeof(text) - 1);
	assert_true(test_shell(w, "c++ -O2 -g -o p p.cc"));
	o = test_object(w, "p", 0, path);
	f = test_open_elf(path);
	test_mapping(&o, &m);
	test_world_open(w, NULL, &(struct symbols_config){.with_inlined = true});
	snprintf(
	    command, sizeof(command),
	    "cd '%s' && objdump -d -j .text --no-show-raw-insn p | sed -n 's/^ *\\([0-9a-f]*\\):.*/"
	    "\\1/p' | addr2line -a -e p",
	    w->tree.dir);
	p = popen(command, "r");
	assert_non_null(p);
	while (fgets(row, sizeof(row), p)) {
		struct symbol_line line[SYMBOL_MAX_LINES];

		if (strncmp(row, "0x", 2) == 0)
			address = strtoull(row, NULL, 16);
		nr_line = strchr(row, ':') ? (unsigned)strtoul(strchr(row, ':') + 1, NULL, 10) : 0;
		if (row[0] == '?' || !nr_line)
			continue; /* a line is not known there */
		assert_true(symbols_lines(w->symbols, &m, m.start + test_offset(f, address), 1,
					  line, SYMBOL_MAX_LINES) >= 1);
		/* its name of the file is not always right (binutils 2.40: p.cc:229) */
		if (line[0].line != nr_line || !line[0].file)
			fail_msg("%llx: %s:%u, not %s", address, line[0].file, line[0].line, row);
		nr++;
	}
	pclose(p);
	assert_true(nr > 200);
	elf_file_close(f);
}

/* A program with its lines open. */
struct opened {
	char path[4096];
	struct profile_object object;
	struct profile_mapping mapping;
	struct elf_file *file;
};

static void open_program(const struct test_world *w, const char *name, uint32_t number,
			 struct opened *out)
{
	out->object = test_object(w, name, number, out->path);
	out->file = test_open_elf(out->path);
	test_mapping(&out->object, &out->mapping);
}

static size_t chain(struct test_world *w, const struct opened *p, uint64_t address,
		    struct symbol_line *out)
{
	return symbols_lines(w->symbols, &p->mapping,
			     p->mapping.start + test_offset(p->file, address), 0, out,
			     SYMBOL_MAX_LINES);
}

/* The same program, whose entries are in its file or in others: of each address the same functions,
 * files and lines. */
static void expect_same(struct test_world *w)
{
	struct opened whole, split;
	struct elf_section code;
	unsigned nr_inlined = 0;

	open_program(w, "p", 0, &whole);
	open_program(w, "q", 1, &split);
	assert_true(elf_file_find_section(whole.file, ".text", &code));
	for (uint64_t at = code.address; at < code.address + code.size; at++) {
		struct symbol_line a[SYMBOL_MAX_LINES], b[SYMBOL_MAX_LINES];
		size_t nr = chain(w, &whole, at, a);

		if (chain(w, &split, at, b) != nr)
			fail_msg("%" PRIx64 ": not %zu deep in %s", at, nr, split.path);
		for (size_t i = 0; i < nr; i++) {
			if (a[i].function->is_known)
				assert_string_equal(a[i].function->name, b[i].function->name);
			assert_true(a[i].function->is_known == b[i].function->is_known);
			assert_int_equal(a[i].line, b[i].line);
			assert_true(!a[i].file == !b[i].file);
			if (a[i].file)
				assert_string_equal(a[i].file, b[i].file);
			nr_inlined += a[i].function->is_inlined;
		}
	}
	assert_true(nr_inlined > 1000);
	assert_int_equal(w->nr_problems, 0);
	elf_file_close(whole.file);
	elf_file_close(split.file);
}

/* One of the methods by which sections are compressed, for all of the files. */
static void expect_same_compressed(struct test_world *w, const char *files)
{
	static const char *const methods[] = {"zlib", "zlib-gnu", "zstd"};

	STRIDE_EACH(i, NR(methods), 1) {
		assert_true(test_shell(w,
				       "for f in %s; do objcopy --decompress-debug-sections $f && "
				       "objcopy --compress-debug-sections=%s $f; done",
				       files, methods[i]));
		test_world_open(w, NULL, &(struct symbols_config){.with_inlined = true});
		expect_same(w);
		test_world_close(w);
	}
}

/* The files of units as one package. GNU's program cannot make one of DWARF 5. */
static void expect_same_packaged(struct test_world *w, const char *flags)
{
	static const char *const makers[] = {"dwp", "llvm-dwp"};
	const bool is_old = strstr(flags, "-gdwarf-4") != NULL;

	for (size_t i = is_old ? 0 : 1; i < NR(makers); i++) {
		if (!test_shell(w,
				"rm -rf whole q.dwp && mkdir whole && cp *.dwo whole/ && "
				"timeout 20 %s -e q -o q.dwp && rm *.dwo",
				makers[i])) {
			print_message("skip: package of %s: no %s\n", flags, makers[i]);
			continue;
		}
		test_world_open(w, NULL, &(struct symbols_config){.with_inlined = true});
		expect_same(w);
		test_world_close(w);
		expect_same_compressed(w, "q.dwp");
		assert_true(test_shell(w, "rm q.dwp && mv whole/*.dwo ."));
	}
}

TEST(split)
{
	static const struct {
		const char *cxx, *flags;
	} cases[] = {
	    {"c++", "-gdwarf-5"},     {"c++", "-gdwarf-4"},     {"c++", "-g -fdebug-types-section"},
	    {"clang++", "-gdwarf-5"}, {"clang++", "-gdwarf-4"}, {"c++", "-g -ffunction-sections"},
	};
	/* in packages before the unit that is asked for */
	static const char other[] = "int other(int x) { return x * 7; }\n";
	struct test_world *w = &world;

	TEST_NEEDS(w, "c++");
	tree_put(&w->tree, "/o.cc", other, sizeof(other) - 1);
	tree_put(&w->tree, "/p.cc", text, sizeof(text) - 1);
	STRIDE_EACH(i, NR(cases), 2) {
		if (!test_shell(w,
				"rm -f *.dwo && %s -O2 %s -o p o.cc p.cc && "
				"%s -O2 %s -gsplit-dwarf -o q o.cc p.cc && ls *.dwo && "
				"for f in p q; do objcopy -O binary -j .text $f $f.text; done && "
				"cmp p.text q.text",
				cases[i].cxx, cases[i].flags, cases[i].cxx, cases[i].flags)) {
			print_message("skip: no %s %s\n", cases[i].cxx, cases[i].flags);
			continue;
		}
		test_world_open(w, NULL, &(struct symbols_config){.with_inlined = true});
		expect_same(w);
		test_world_close(w);
		expect_same_packaged(w, cases[i].flags);
		expect_same_compressed(w, "q *.dwo");
	}
}

/* A file of a unit is found where it was compiled, beside the program, and in debug folders; one of
 * another build is not it. The lines themselves are in the program. */
TEST(split_places)
{
	/* GNU's program for packages reads DWARF 4 */
#define OLD                                                                                        \
	"cc -O2 -gdwarf-4 -gsplit-dwarf -w -Wl,--build-id=0x0123456789abcdef -o p p.c && "         \
	"nm p | grep ' at_' >labels && "
#define OTHER                                                                                      \
	"echo 'int other;' >o.c && cc -gdwarf-4 -gsplit-dwarf -c o.c && timeout 20 dwp o.dwo -o "  \
	"p.dwp"
	static const struct {
		const char *make;
		bool is_found;
	} cases[] = {
	    {"true", true},
	    {"mkdir away && mv p *.dwo away && mv away p", true}, /* p: a folder */
	    {"mkdir d && mv p.dwo d", true},
	    {"mkdir o && cc -O2 -g -gsplit-dwarf -w -c -o o/p.o p.c && "
	     "cc -Wl,--build-id=0x0123456789abcdef -o p o/p.o && nm p | grep ' at_' >labels && "
	     "rm p.dwo && mv o/p.dwo . && rm -r o",
	     true},
	    {"mkdir o && cc -O2 -g -gsplit-dwarf -w -c -o o/p.o p.c && "
	     "cc -Wl,--build-id=0x0123456789abcdef -o p o/p.o && nm p | grep ' at_' >labels && "
	     "mkdir away && mv p o away && mv away p",
	     true},
	    {OLD "timeout 20 dwp -e p -o p.dwp && rm p*.dwo", true},
	    {OLD "timeout 20 dwp -e p -o p.dwp && rm p*.dwo && mkdir d && mv p.dwp d", true},
	    {OLD
	     "objcopy --only-keep-debug p p.debug && timeout 20 dwp -e p -o p.dwp && rm p*.dwo && "
	     "objcopy --strip-debug --add-gnu-debuglink=p.debug p",
	     true},
	    {OLD "mkdir .debug && objcopy --only-keep-debug p .debug/p.debug && "
		 "timeout 20 dwp -e p -o .debug/p.debug.dwp && rm p*.dwo && "
		 "objcopy --strip-debug --add-gnu-debuglink=.debug/p.debug p",
	     true},
	    /* of another build, but there are its own files */
	    {OLD OTHER, true},
	    {OLD OTHER " && rm p*.dwo", false},
	    {": >p.dwp && rm p.dwo", false},
	    {"mkfifo p.dwp", true},
	    {": >p.dwo", false},
	    {"echo 'int other;' >o.c && cc -g -gsplit-dwarf -c o.c && mv o.dwo p.dwo", false},
	    {"rm p.dwo && mkfifo p.dwo", false},
	    {"rm p.dwo && mkdir p.dwo", false},
	};
	struct test_world *w = &world;
	char dir[4096], at[4096];
	const char *dirs[] = {dir};

	snprintf(dir, sizeof(dir), "%s/d", w->tree.dir);
	STRIDE_EACH(i, NR(cases), 6) {
		bool is_moved = strstr(cases[i].make, "away") != NULL;
		struct symbol_line line[SYMBOL_MAX_LINES];
		struct opened p;

		assert_true(test_shell(w, "rm -rf p p.debug *.dwo *.dwp d .debug"));
		assert_true(compile(w, "cc", "-O2 -g -gsplit-dwarf"));
		if (!test_shell(w, "%s", cases[i].make)) {
			assert_non_null(strstr(cases[i].make, "dwp -"));
			print_message("skip: %s: no dwp\n", cases[i].make);
			continue;
		}
		test_world_open(w,
				&(struct elf_finder_config){.debug_dirs = dirs, .nr_debug_dirs = 1},
				&(struct symbols_config){.with_inlined = true});
		snprintf(at, sizeof(at), "p%s", is_moved ? "/p" : "");
		open_program(w, at, 0, &p);
		assert_int_equal(chain(w, &p, label(w, "at_deepest"), line),
				 cases[i].is_found ? 3 : 1);
		assert_int_equal(line[0].line, 5);
		assert_int_equal(chain(w, &p, label(w, "at_cold"), line), 1);
		assert_int_equal(w->nr_problems, cases[i].is_found ? 0 : 1);
		if (w->nr_problems)
			assert_non_null(strstr(w->last.msg, "inlined functions"));
		test_world_close(w);
		elf_file_close(p.file);
	}
}

/* All that lines may be asked of a file of any bytes. */
static void ask_damaged(struct test_world *w, const uint8_t *data, size_t len)
{
	const struct symbols_config config = {.with_inlined = true};
	static const struct symbol_function function = {.name = "f"};
	static const struct profile_object o = {.name = "damaged", .shown_path = "damaged"};
	struct symbol_line line[SYMBOL_MAX_LINES];
	struct symbol_object object = {0};
	struct symbol_lines *l;
	static struct symbol_functions functions;
	struct elf_file *f;

	(void)w;
	if (elf_file_open_mem(data, len, false, "damaged", &f, NULL))
		return;
	memset(&functions, 0, sizeof(functions));
	object.code = object.debug = f;
	assert_int_equal(symbol_functions_init(&functions), 0);
	l = symbol_lines_new(&config, &functions);
	assert_non_null(l);
	for (uint64_t at = 0x1000; at < 0x1400; at += 8)
		assert_true(symbol_lines_find(l, &o, &object, at, true, &function, line, 32) >= 1);
	symbol_lines_free(l);
	symbol_functions_fini(&functions);
	elf_file_close(f);
}

TEST(damaged)
{
	static const char *const sections[] = {".debug_info", ".debug_abbrev", ".debug_line",
					       ".debug_rnglists"};
	static const char *const flags[] = {"-O2 -gdwarf-5", "-O2 -gdwarf-5 -gz"};
	struct test_world *w = &world;

	for (size_t k = 0; k < NR(flags); k++) {
		char path[4096];
		struct elf_file *f;
		const uint8_t *data;
		uint8_t *bad;
		size_t len;

		assert_true(compile(w, "cc", flags[k]));
		snprintf(path, sizeof(path), "%s/p", w->tree.dir);
		f = test_open_elf(path);
		data = elf_file_data(f, &len);
		STRIDE_EACH(cut, len / 64, 20)
			ask_damaged(w, data, (cut + 1) * 64 < len ? (cut + 1) * 64 : len - 1);
		bad = malloc(len + 1);
		assert_non_null(bad);
		STRIDE_EACH(round, 400, 25) {
			uint64_t seed = 11 + round * 0x9e3779b97f4a7c15;
			struct elf_section s;

			memcpy(bad, data, len);
			for (int i = 0; i < 6; i++) {
				seed = seed * 6364136223846793005u + 1442695040888963407u;
				if (elf_file_find_section(f, sections[(seed >> 50) % 4], &s))
					bad[s.offset + (seed >> 33) % s.size] =
					    (uint8_t)(seed >> 20);
			}
			ask_damaged(w, bad, len);
		}
		free(bad);
		elf_file_close(f);
	}
}

/* Writes such a file, and asks for all lines. */
static void ask_split(struct test_world *w, const char *name, const uint8_t *data, size_t len)
{
	struct symbol_line line[SYMBOL_MAX_LINES];
	struct opened p;

	tree_put(&w->tree, name, data, len);
	test_world_open(w, NULL, &(struct symbols_config){.with_inlined = true});
	open_program(w, "p", 0, &p);
	for (size_t i = 0; i < NR(expected); i++)
		assert_true(chain(w, &p, label(w, expected[i].label), line) >= 1);
	elf_file_close(p.file);
	test_world_close(w);
}

/* The same with each part of the file missing, and with random bytes in these sections. */
static void damage_split(struct test_world *w, const char *name, const char *const *sections,
			 size_t nr_sections)
{
	char path[4096];
	struct elf_file *f;
	uint8_t *good, *bad;
	const uint8_t *data;
	size_t len;

	snprintf(path, sizeof(path), "%s%s", w->tree.dir, name);
	f = test_open_elf(path);
	for (size_t i = 0; i < elf_file_nr_sections(f); i++) {
		struct elf_section s;

		if (elf_file_section(f, i, &s))
			elf_file_load(f, &s);
	}
	data = elf_file_data(f, &len);
	good = malloc(len);
	bad = malloc(len);
	assert_true(good && bad);
	memcpy(good, data, len);
	STRIDE_EACH(cut, len / 256, 8)
		ask_split(w, name, good, (cut + 1) * 256 < len ? (cut + 1) * 256 : len - 1);
	STRIDE_EACH(round, 100, 10) {
		uint64_t seed = 5 + round * 0x9e3779b97f4a7c15;
		struct elf_section s;

		memcpy(bad, good, len);
		for (int i = 0; i < 3; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			if (elf_file_find_section(f, sections[(seed >> 50) % nr_sections], &s))
				bad[s.offset + (seed >> 33) % s.size] = (uint8_t)(seed >> 20);
		}
		ask_split(w, name, bad, len);
	}
	free(good);
	free(bad);
	elf_file_close(f);
}

TEST(split_damaged)
{
	static const char *const sections[] = {".debug_info.dwo", ".debug_abbrev.dwo",
					       ".debug_str_offsets.dwo", ".debug_rnglists.dwo"};
	static const char *const packaged[] = {".debug_cu_index", ".debug_cu_index",
					       ".debug_info.dwo", ".debug_str_offsets.dwo"};
	struct test_world *w = &world;

	assert_true(compile(w, "cc", "-O2 -gdwarf-5 -gsplit-dwarf"));
	damage_split(w, "/p.dwo", sections, NR(sections));
	assert_true(compile(w, "cc", "-O2 -gdwarf-4 -gsplit-dwarf"));
	if (!test_shell(w, "timeout 20 dwp -e p -o p.dwp && rm p*.dwo"))
		SKIP("no dwp for packages of split units");
	damage_split(w, "/p.dwp", packaged, NR(packaged));
}

static void expect_refused(const uint8_t *data, size_t len)
{
	struct elf_dwarf dwarf;
	struct elf_file *f;

	assert_int_equal(elf_file_open_mem(data, len, false, "bomb", &f, NULL), 0);
	assert_int_equal(elf_dwarf_open(f, &dwarf), -EBADMSG);
	elf_file_close(f);
}

/* A section that says that it unpacks to more than all memory is not unpacked. */
TEST(bomb)
{
	const uint32_t methods[] = {htole32(1), htole32(2)}; /* zlib, zstd */
	struct test_world *w = &world;
	char path[4096];
	struct elf_section s;
	struct elf_file *f;
	const uint8_t *data;
	uint8_t *bad;
	size_t len;

	assert_true(compile(w, "cc", "-O2 -gdwarf-5 -gz"));
	snprintf(path, sizeof(path), "%s/p", w->tree.dir);
	f = test_open_elf(path);
	data = elf_file_data(f, &len);
	bad = malloc(len + 1);
	assert_non_null(bad);
	assert_true(elf_file_find_section(f, ".debug_info", &s));
	memcpy(bad, data, len);
	for (size_t i = 0; i < NR(methods); i++) {
		memcpy(bad + s.offset, &methods[i], 4);
		memcpy(bad + s.offset + 8, &(uint64_t){htole64(1 << 30)}, 8); /* ch_size */
		expect_refused(bad, len);
		memset(bad + s.offset + 8, 0x7f, 6);
		expect_refused(bad, len);
		memset(bad + s.offset + 8, 0xff, 8);
		expect_refused(bad, len);
		memset(bad + s.offset + 8, 0, 8); /* packed, to nothing */
		expect_refused(bad, len);
		memcpy(bad + s.offset + 8, &(uint64_t){htole64(4096)}, 8);
		expect_refused(bad, len);
	}
	free(bad);
	elf_file_close(f);
}
