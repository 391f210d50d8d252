/*
 * Names of functions in programs that the compiler makes at test time, held against nm and objdump:
 * symbol tables, .gnu_debugdata, separate debug files, stubs, code without a name; damaged files.
 */
#include "kit.h"
#include "test_symbols.h"

#include "elf/reader.h"
#include "elf/vdso.h"

#include "symbol/elf_symbols.h"

#include <elf.h>
#include <pthread.h>

static const char source[] =
    "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
    "__attribute__((noinline)) static int hidden(int x) { return x * 3 + rand(); }\n"
    "__attribute__((noinline)) int shown(int x) { return hidden(x) + 1; }\n"
    "int other(int) __attribute__((alias(\"shown\")));\n"
    "int _shown(int) __attribute__((alias(\"shown\")));\n"
    "int __attribute__((weak, alias(\"shown\"))) a_weak(int);\n"
    "int ____inner(int x) { return x - 5; }\n"
    "int __GI_____inner(int) __attribute__((alias(\"____inner\")));\n"
    "static int one(int x) { return x + 1; }\n"
    "static int (*choose(void))(int) { return one; }\n"
    "int chosen(int) __attribute__((ifunc(\"choose\")));\n"
    "__asm__(\".text\\n.globl bare\\nbare: nop\\n nop\\n.word 0, 0\\nlabel: nop\\n ret\\n.globl "
    "after\\n"
    ".type after, %function\\nafter: ret\\n.size after, .-after\\n"
    "framed: .cfi_startproc\\n nop\\n.cfi_endproc\\nunframed: nop\\n"
    ".data\\ndatum: .word 0, 0\\n.text\");\n"
    "int main(int n, char **v) { char b[9]; memset(b, n, 9); puts(v[0]); return (int)(qsort != 0) "
    "+ "
    "shown(n) + b[3] + chosen(n); }\n";

static bool compile(const struct test_world *w, const char *flags, const char *out)
{
	tree_put(&w->tree, "/p.c", source, sizeof(source) - 1);
	return test_shell(w, "cc -w %s -o %s p.c", flags, out);
}

/* The next line "address type name" of nm, of a function; false at the end. */
static bool next_line(FILE *p, uint64_t *address, char *type, char name[512])
{
	char line[1024], *at;

	while (fgets(line, sizeof(line), p)) {
		*address = strtoull(line, &at, 16);
		if (at == line || strlen(at) < 4 || !strchr("tTwWi", at[1]))
			continue;
		*type = at[1];
		snprintf(name, 512, "%.*s", (int)strcspn(at + 3, "\n"), at + 3);
		return true;
	}
	return false;
}

/* Is the name one that nm has there, in what it printed? It may have a version behind it. */
static bool nm_has(const char *printed, uint64_t address, const char *name)
{
	FILE *p = fopen(printed, "r");
	bool has = false;
	uint64_t at;
	char type, found[512];

	assert_non_null(p);
	while (!has && next_line(p, &at, &type, found))
		has = at == address && strncmp(found, name, strlen(name)) == 0;
	fclose(p);
	return has;
}

static bool is_code(const struct elf_file *f, uint64_t address)
{
	struct elf_section s;

	for (size_t i = 0; i < elf_file_nr_sections(f); i++)
		if (elf_file_section(f, i, &s) && (s.flags & SHF_EXECINSTR) &&
		    address >= s.address && address - s.address < s.size)
			return true;
	return false;
}

/* Each function that nm tells has a name of nm's at its address; how many there are. */
static unsigned compare_nm(struct test_world *w, const char *program, const char *nm)
{
	char path[4096], printed[4096], name[512], type;
	struct profile_object o = test_object(w, program, 0, path);
	struct elf_file *f = test_open_elf(path);
	uint64_t address;
	unsigned nr = 0;
	FILE *p;

	snprintf(printed, sizeof(printed), "%s/printed", w->tree.dir);
	assert_true(test_shell(w, "(%s) >printed", nm));
	p = fopen(printed, "r");
	assert_non_null(p);
	while (next_line(p, &address, &type, name)) {
		const struct symbol_function *fn;

		if (!is_code(f, address))
			continue;
		nr++;
		fn = test_function(w, &o, f, address);
		if (strcmp(fn->linkage_name, name) == 0 ||
		    nm_has(printed, address, fn->linkage_name))
			continue;
		if (type == 'i' || strcmp(name, "label") == 0)
			continue;
		fail_msg("%s: %s at %llx, not %s", program, fn->name, (unsigned long long)address,
			 name);
	}
	fclose(p);
	elf_file_close(f);
	return nr;
}

HOOK(before_each)
{
	test_world_setup();
}

HOOK(after_each)
{
	test_world_teardown();
}

TEST(symtab)
{
	static const char *const flags[] = {"-O2", "-O0 -fno-pie -no-pie", "-O2 -static",
					    "-O1 -fuse-ld=gold -Wl,--build-id"};
	struct test_world *w = &world;

	TEST_NEEDS(w, "nm");
	for (size_t i = 0; i < NR(flags); i++) {
		if (!compile(w, flags[i], "p")) {
			print_message("skip: this compiler does not take %s\n", flags[i]);
			continue;
		}
		test_world_open(w, NULL, NULL);
		assert_true(compare_nm(w, "p", "nm p") >= 10);
		test_world_close(w);
	}
}

/* The address that nm has for a name. */
static uint64_t address_of(const struct test_world *w, const char *file, const char *name)
{
	char command[4096], text[64] = "";
	FILE *p;

	snprintf(command, sizeof(command), "cd '%s' && nm %s | awk '$3 == \"%s\" {print $1}'",
		 w->tree.dir, file, name);
	p = popen(command, "r");
	assert_non_null(p);
	assert_non_null(fgets(text, sizeof(text), p));
	pclose(p);
	return strtoull(text, NULL, 16);
}

/* Data, also what has no bytes in the file, by way of the mapping of other parts of it. */
TEST(variables)
{
	static const char program[] =
	    "static long table[4]; long set = 3; static _Thread_local int own; int main(int n, "
	    "char **v)"
	    "{ table[n & 3] = set; own = n; return (int)(table[1] + own + *v[0]); }\n";
	struct test_world *w = &world;
	char path[4096], text[SYMBOL_VARIABLE_BYTES];
	struct profile_object o;
	struct profile_mapping m;
	uint64_t table, set, code;

	TEST_NEEDS(w, "nm");
	tree_put(&w->tree, "/p.c", program, sizeof(program) - 1);
	assert_true(test_shell(w, "cc -O0 -Wl,--build-id -o p p.c && strip -o stripped p"));
	table = address_of(w, "p", "table");
	set = address_of(w, "p", "set");
	code = address_of(w, "p", "main");
	o = test_object(w, "p", 0, path);
	test_mapping(&o, &m);
	test_world_open(w, NULL, NULL);
	assert_true(symbols_variable(w->symbols, &m, m.start + table, text));
	assert_string_equal(text, "table");
	assert_true(symbols_variable(w->symbols, &m, m.start + table + 8, text));
	assert_string_equal(text, "table+0x8");
	assert_true(symbols_variable(w->symbols, &m, m.start + set, text));
	assert_string_equal(text, "set");
	assert_false(symbols_variable(w->symbols, &m, m.start + code, text));
	assert_false(symbols_variable(w->symbols, &m, m.start + table + (1 << 20), text));
	test_world_close(w);

	o = test_object(w, "stripped", 0, path);
	test_world_open(w, NULL, NULL);
	assert_true(symbols_variable(w->symbols, &m, m.start + table, text));
	assert_memory_equal(text, "[data]+0x", 9);
	m.object = NULL;
	assert_false(symbols_variable(w->symbols, &m, m.start + table, text));
}

/* As the kernel and the dynamic linker map the code, which tells where the data are. */
static void map_code(const struct profile_object *o, struct profile_mapping *m)
{
	const uint64_t within = 4096 - 1, base = 0x7f0000000000;
	struct elf_file *f = test_open_elf(o->path);
	struct elf_segment s = {0};

	for (size_t i = 0; i < elf_file_nr_segments(f) && !s.is_code; i++)
		elf_file_segment(f, i, &s);
	assert_true(s.is_code);
	*m = (struct profile_mapping){
	    .start = base + (s.address & ~within),
	    .end = base + ((s.address + s.file_bytes + within) & ~within),
	    .offset = s.offset & ~within,
	    .prot = PROT_READ | PROT_EXEC,
	    .object = o,
	};
	elf_file_close(f);
}

/* Linkers differ in whether segments share a page of the file. */
TEST(variables_by_linker)
{
	static const char *const linkers[] = {"", "-fuse-ld=lld", "-fuse-ld=gold"};
	static const char program[] =
	    "static char before[4096] = {1}, guilty[4096] = {1}, after[4096] = {1};\n"
	    "int main(int n, char **v) { return before[n] + guilty[n] + after[n] + **v; }\n";
	struct test_world *w = &world;

	TEST_NEEDS(w, "nm");
	tree_put(&w->tree, "/p.c", program, sizeof(program) - 1);
	for (size_t i = 0; i < NR(linkers); i++) {
		char path[4096], text[SYMBOL_VARIABLE_BYTES];
		const uint64_t base = 0x7f0000000000;
		struct profile_object o;
		struct profile_mapping m;

		if (!test_shell(w, "cc -O0 %s -Wl,--build-id -o p p.c", linkers[i])) {
			print_message("skip: no %s\n", linkers[i]);
			continue;
		}
		o = test_object(w, "p", 0, path);
		map_code(&o, &m);
		test_world_open(w, NULL, NULL);
		assert_true(
		    symbols_variable(w->symbols, &m, base + address_of(w, "p", "guilty"), text));
		assert_string_equal(text, "guilty");
		test_world_close(w);
	}
}

/* The innermost one, and of several names that for other files; read once, within the budget. */
TEST(variables_once)
{
	static const char program[] =
	    "__asm__(\".data\\n.globl outer, best\\n.type outer, %object\\n.size outer, 16\\n"
	    ".type inner, %object\\n.size inner, 8\\n.type best, %object\\n.size best, 8\\n"
	    "outer: .quad 0\\ninner:\\nbest: .quad 0\\n.text\");\n"
	    "int main(void) { return 0; }\n";
	struct test_world *w = &world;
	const struct elf_reader_config reader = {test_problem, w, .max_bytes = 4 << 20};
	struct elf_finder_config config = {.reader = NULL};
	char path[4096], text[SYMBOL_VARIABLE_BYTES];
	const struct elf_file *code;
	struct elf_wanted wanted;
	struct profile_object o;
	struct profile_mapping m;
	uint64_t outer;

	TEST_NEEDS(w, "nm");
	tree_put(&w->tree, "/p.c", program, sizeof(program) - 1);
	assert_true(test_shell(w, "cc -O0 -Wl,--build-id -o p p.c"));
	outer = address_of(w, "p", "outer");
	o = test_object(w, "p", 0, path);
	test_mapping(&o, &m);
	assert_int_equal(elf_reader_new(&reader, &config.reader), 0);
	test_world_open(w, &config, NULL);
	for (int i = 0; i < 1000; i++) {
		assert_true(symbols_variable(w->symbols, &m, m.start + outer + 8, text));
		assert_string_equal(text, "best");
	}
	assert_true(symbols_variable(w->symbols, &m, m.start + outer + 4, text));
	assert_string_equal(text, "outer+0x4");
	assert_int_equal(w->nr_problems, 0);

	wanted = (struct elf_wanted){.path = path, .build_id.len = o.build_id_len};
	memcpy(wanted.build_id.bytes, o.build_id, o.build_id_len);
	code = elf_finder_code(w->finder, &wanted);
	assert_non_null(code);
	assert_false(elf_file_spend(code, UINT64_MAX));
	assert_false(symbols_variable(w->symbols, &m, m.start + outer + 8, text));
	assert_int_equal(w->nr_problems, 1);
	test_world_close(w);
	elf_reader_free(config.reader);
}

TEST(choice)
{
	static const struct {
		const char *symbol;
		int at;
		const char *name;
	} cases[] = {
	    {"__GI_____inner", 0, "____inner"}, /* "__GI_" is glibc's own */
	    {"shown", 0, "other"}, /* of three global ones by the alphabet, "_shown" last */
	    {"shown", 1, "other"},
	    {"hidden", 0, "hidden"},
	    {"choose", 0, "choose"}, /* not "chosen", which is what it chooses */
	    {"bare", 0, "bare"},     /* without a size: … */
	    {"bare", 1, "bare"},
	    {"label", 1, "label"}, /* … up to the next label */
	    {"after", 0, "after"},
	    {"main", 5, "main"},
	};
	struct test_world *w = &world;
	char path[4096];
	struct profile_object o;
	struct elf_file *f;

	TEST_NEEDS(w, "nm");
	assert_true(compile(w, "-O2 -g", "p"));
	o = test_object(w, "p", 0, path);
	f = test_open_elf(path);
	test_world_open(w, NULL, NULL);
	for (size_t i = 0; i < NR(cases); i++) {
		uint64_t at = address_of(w, "p", cases[i].symbol) + (uint64_t)cases[i].at;
		const struct symbol_function *fn = test_function(w, &o, f, at);

		assert_string_equal(fn->name, cases[i].name);
		assert_string_equal(fn->object, "p");
		assert_string_equal(fn->object_path, path);
		assert_true(fn->is_known && !fn->is_kernel && !fn->is_inlined);
		assert_ptr_equal(fn, test_function(w, &o, f, at));
	}
	/* data have symbols too */
	assert_false(test_function(w, &o, f, address_of(w, "p", "datum"))->is_known);
	elf_file_close(f);
}

/* How many names a file has: what a difference of two sessions depends on. */
TEST(names)
{
	static const struct {
		const char *make;
		enum symbol_names names;
	} cases[] = {
	    {"cc -shared -o p q.c", SYMBOL_NAMES_ALL},
	    {"strip -s p", SYMBOL_NAMES_EXPORTED},
	    {"cc -shared -s -fvisibility=hidden -nostdlib -o p q.c", SYMBOL_NAMES_NONE},
	};
	struct test_world *w = &world;

	assert_true(test_shell(w, "echo 'int f(void) { return 1; }' >q.c"));
	for (size_t i = 0; i < NR(cases); i++) {
		struct profile_object o;
		struct profile_mapping m;
		char path[4096];

		assert_true(test_shell(w, "%s", cases[i].make));
		o = test_object(w, "p", 1, path);
		test_world_open(w, NULL, NULL);
		assert_int_equal(symbols_names_of(w->symbols, 1), SYMBOL_NAMES_NOT_ASKED);
		symbols_user(w->symbols, test_mapping(&o, &m), m.start + 0x1000, 1);
		assert_int_equal(symbols_names_of(w->symbols, 1), cases[i].names);
		test_world_close(w);
	}
}

/* Every stub that objdump names has the same name here. */
static unsigned compare_stubs(struct test_world *w, const char *program, const char *objdump)
{
	char path[4096], command[4096], line[1024], name[512], *at;
	struct profile_object o = test_object(w, program, 0, path);
	struct elf_file *f = test_open_elf(path);
	unsigned long long address;
	unsigned nr = 0;
	FILE *p;

	snprintf(command, sizeof(command), "cd '%s' && %s -d %s | grep '@plt>:$'", w->tree.dir,
		 objdump, program);
	p = popen(command, "r");
	assert_non_null(p);
	while (fgets(line, sizeof(line), p)) {
		const struct symbol_function *fn;

		address = strtoull(line, &at, 16);
		assert_memory_equal(at, " <", 2);
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 2, ">"), at + 2);
		fn = test_function(w, &o, f, address);
		/* objdump has the address of what chooses */
		if (strncmp(name, "*ABS*", 5) == 0)
			snprintf(name, sizeof(name), "chosen@plt");
		assert_string_equal(fn->name, name);
		assert_ptr_equal(test_function(w, &o, f, address + 4), fn);
		nr++;
	}
	pclose(p);
	elf_file_close(f);
	return nr;
}

TEST(stubs)
{
	static const struct {
		const char *cc, *flags, *objdump;
		unsigned at_least;
	} cases[] = {
	    {"cc", "-O0", "objdump", 4},
	    {"cc", "-O0 -Wl,-z,lazy -fno-pie -no-pie", "objdump", 4},
	    {"cc", "-O0 -fcf-protection=full -Wl,-z,ibtplt", "objdump", 4},
	    {"cc", "-O0 -fuse-ld=lld", "objdump", 0}, /* objdump tells none of these */
	    {"aarch64-linux-gnu-gcc", "-O0", "aarch64-linux-gnu-objdump", 4},
	    {"aarch64-linux-gnu-gcc", "-O0 -mbranch-protection=standard -Wl,-z,force-bti",
	     "aarch64-linux-gnu-objdump", 4},
	};
	struct test_world *w = &world;

	TEST_NEEDS(w, "objdump");
	for (size_t i = 0; i < NR(cases); i++) {
		unsigned nr;

		tree_put(&w->tree, "/p.c", source, sizeof(source) - 1);
		if (!test_shell(w, "%s -w %s -o p p.c && command -v %s >/dev/null", cases[i].cc,
				cases[i].flags, cases[i].objdump)) {
			print_message("skip: no %s %s\n", cases[i].cc, cases[i].flags);
			continue;
		}
		test_world_open(w, NULL, NULL);
		nr = compare_stubs(w, "p", cases[i].objdump);
		if (nr < cases[i].at_least)
			fail_msg("%s %s: %u stubs", cases[i].cc, cases[i].flags, nr);
		test_world_close(w);
	}
}

/* Stubs of a static program, of which objdump knows no name: 8 bytes each. */
TEST(static_stubs)
{
	static const char text[] =
	    "#include <stdio.h>\n#include <string.h>\n"
	    "int main(int n, char **v) { puts(v[0]); return (int)strlen(v[n - 1]); }\n";
	struct test_world *w = &world;
	struct elf_section plt, slots;
	char path[4096];
	struct profile_object o;
	struct elf_file *f;

	tree_put(&w->tree, "/p.c", text, sizeof(text) - 1);
	if (!test_shell(w, "cc -O1 -static -o p p.c"))
		SKIP("no static programs can be made here");
	o = test_object(w, "p", 0, path);
	f = test_open_elf(path);
	test_world_open(w, NULL, NULL);
	if (elf_file_machine(f) == EM_X86_64) {
		const struct symbol_function *last = NULL;
		unsigned nr = 0, nr_strlen = 0;

		assert_true(elf_file_find_section(f, ".plt", &plt));
		assert_true(elf_file_find_section(f, ".rela.plt", &slots));
		for (uint64_t at = 0; at < plt.size; at++) {
			const struct symbol_function *fn =
			    test_function(w, &o, f, plt.address + at);

			assert_non_null(strstr(fn->name, "@plt"));
			nr += fn != last;
			nr_strlen += fn != last && strcmp(fn->name, "strlen@plt") == 0;
			last = fn;
		}
		assert_int_equal(nr, slots.size / sizeof(Elf64_Rela));
		assert_int_equal(nr_strlen, 1);
	}
	elf_file_close(f);
}

/* As mold writes them: a number is loaded before the jump. */
TEST(numbered_stub)
{
	static const char text[] =
	    "__asm__(\".section .iplt,\\\"ax\\\",@progbits\\n.balign 16\\nendbr64\\n\"\n"
	    "\"mov $7, %r11d\\njmp *strlen@GOTPCREL(%rip)\\n.text\\n\");\n"
	    "int f(void) { return 1; }\n";
	struct test_world *w = &world;
	struct profile_object o;
	struct elf_section plt;
	char path[4096];
	struct elf_file *f;

	tree_put(&w->tree, "/p.c", text, sizeof(text) - 1);
	if (!test_shell(w, "cc -m64 -shared -fPIC -s -o p p.c"))
		SKIP("no programs for x86-64 can be made here");
	o = test_object(w, "p", 0, path);
	f = test_open_elf(path);
	test_world_open(w, NULL, NULL);
	assert_true(elf_file_find_section(f, ".plt", &plt));
	assert_string_equal(test_function(w, &o, f, plt.address + plt.size - 16)->name,
			    "strlen@plt");
	elf_file_close(f);
}

/* arm64: its functions have their names, and its marks of code and data are none. */
TEST(arm64)
{
	struct test_world *w = &world;
	char path[4096];
	struct profile_object o;
	struct elf_file *f;

	TEST_NEEDS(w, "aarch64-linux-gnu-gcc");
	tree_put(&w->tree, "/p.c", source, sizeof(source) - 1);
	assert_true(test_shell(w, "aarch64-linux-gnu-gcc -w -O2 -o p p.c"));
	test_world_open(w, NULL, NULL);
	assert_true(compare_nm(w, "p", "aarch64-linux-gnu-nm p | grep -v ' [$]'") >= 8);
	o = test_object(w, "p", 0, path);
	f = test_open_elf(path);
	assert_string_equal(test_function(w, &o, f, address_of(w, "p", "bare") + 9)->name, "bare");
	elf_file_close(f);
}

/* A program whose symbols are elsewhere: the same names as before. */
TEST(elsewhere)
{
	static const struct {
		const char *what, *make;
		unsigned at_least;
	} cases[] = {
	    {".dynsym alone", "strip -s -o q p && nm -D --defined-only p >nm.txt", 5},
	    {".gnu_debugdata",
	     "nm p >nm.txt && nm -D --defined-only p | awk '{print $3}' | sort >dyn && "
	     "nm p | awk '$2 ~ /[tT]/ {print $3}' | sort >all && comm -13 dyn all >keep && "
	     "objcopy -S --remove-section .comment --keep-symbols=keep p mini && "
	     "strip -s -o q p && xz -k mini && objcopy --add-section .gnu_debugdata=mini.xz q",
	     10},
	    {"build-id",
	     "nm p >nm.txt && strip -s -o q p && mkdir -p d/.build-id/01 && "
	     "objcopy --only-keep-debug p d/.build-id/01/23456789abcdef.debug",
	     10},
	    {"debuglink",
	     "nm p >nm.txt && rm -r d && objcopy --only-keep-debug p q.debug && "
	     "strip -s -o q p && objcopy --add-gnu-debuglink=q.debug q",
	     10},
	};
	struct test_world *w = &world;
	char dir[4096];
	const char *dirs[] = {dir};

	TEST_NEEDS(w, "xz");
	snprintf(dir, sizeof(dir), "%s/d", w->tree.dir);
	for (size_t i = 0; i < NR(cases); i++) {
		unsigned nr;

		assert_true(compile(w, "-g -O2 -rdynamic -Wl,--build-id=0x0123456789abcdef", "p"));
		if (!test_shell(w, "%s", cases[i].make))
			fail_msg("%s", cases[i].what);
		test_world_open(
		    w, &(struct elf_finder_config){.debug_dirs = dirs, .nr_debug_dirs = 1}, NULL);
		nr = compare_nm(w, "q", "cat nm.txt");
		if (nr < cases[i].at_least)
			fail_msg("%s: %u symbols", cases[i].what, nr);
		assert_int_equal(w->nr_problems, 0);
		test_world_close(w);
	}
}

/* The program is gone, its debug file is there: what was mapped as a whole is known. */
TEST(debug_alone)
{
	struct test_world *w = &world;
	char dir[4096], path[4096];
	const char *dirs[] = {dir};
	struct profile_mapping m = {.start = 0x7f0000000000, .offset = 0x1000};
	struct profile_object o;
	uint64_t main_at;

	TEST_NEEDS(w, "nm");
	assert_true(compile(w, "-O2 -Wl,--build-id=0x0123456789abcdef -Wl,-z,separate-code", "p"));
	main_at = address_of(w, "p", "main");
	o = test_object(w, "p", 0, path);
	assert_true(test_shell(w, "mkdir -p d/.build-id/01 && objcopy --only-keep-debug p "
				  "d/.build-id/01/23456789abcdef.debug && rm p"));
	snprintf(dir, sizeof(dir), "%s/d", w->tree.dir);
	test_world_open(w, &(struct elf_finder_config){.debug_dirs = dirs, .nr_debug_dirs = 1},
			NULL);
	m.object = &o;
	m.end = m.start + 0x1000;
	assert_string_equal(symbols_user(w->symbols, &m, m.start + main_at - 0x1000, 1)->name,
			    "main");
	/* a part of it may be any part */
	m.end = m.start + 0x2000;
	assert_string_equal(symbols_user(w->symbols, &m, m.start + 0x123, 1)->name,
			    "[unknown] (p+0x1123)");
	assert_int_equal(w->nr_problems, 1);
}

/* Code without a name begins where its unwind table says. */
TEST(unknown)
{
	struct test_world *w = &world;
	const struct symbol_function *fn, *far;
	char path[4096], want[128];
	struct profile_object o;
	struct profile_mapping m;
	struct elf_file *f;
	uint64_t at, bare, unframed;

	TEST_NEEDS(w, "nm");
	assert_true(compile(w, "-O2 -fasynchronous-unwind-tables", "p"));
	at = address_of(w, "p", "hidden");
	bare = address_of(w, "p", "bare") + 1;
	unframed = address_of(w, "p", "unframed");
	assert_true(test_shell(w, "strip -s p"));
	o = test_object(w, "p", 0, path);
	f = test_open_elf(path);
	test_world_open(w, NULL, NULL);
	fn = test_function(w, &o, f, at + 3);
	snprintf(want, sizeof(want), "[unknown] (p+0x%llx)", (unsigned long long)at);
	assert_string_equal(fn->name, want);
	assert_string_equal(fn->linkage_name, want);
	assert_false(fn->is_known);
	assert_ptr_equal(fn, test_function(w, &o, f, at));
	/* code that no table tells of does not belong to what is before it */
	snprintf(want, sizeof(want), "[unknown] (p+0x%llx)", (unsigned long long)bare);
	assert_string_equal(test_function(w, &o, f, bare)->name, want);
	snprintf(want, sizeof(want), "[unknown] (p+0x%llx)", (unsigned long long)unframed);
	assert_string_equal(test_function(w, &o, f, unframed)->name, want);
	/* outside of the file: by the address */
	test_mapping(&o, &m);
	far = symbols_user(w->symbols, &m, m.start + 0x500000, 1);
	assert_string_equal(far->name, "[unknown] (p+0x500000)");
	assert_string_equal(symbols_user(w->symbols, NULL, at, 1)->name, "[unknown]");
	assert_ptr_equal(symbols_user(w->symbols, NULL, at, 1),
			 symbols_user(w->symbols, NULL, 5, 1));
	elf_file_close(f);
}

TEST(changed)
{
	struct test_world *w = &world;
	char path[4096];
	struct profile_mapping m;
	struct profile_object o;

	assert_true(compile(w, "-O2 -Wl,--build-id=0x0123456789abcdef", "p"));
	o = test_object(w, "p", 0, path);
	assert_true(compile(w, "-O2 -Wl,--build-id=0x1123456789abcdef", "p"));
	test_world_open(w, NULL, NULL);
	test_mapping(&o, &m);
	assert_string_equal(symbols_user(w->symbols, &m, m.start + 0x1100, 1)->name,
			    "[unknown] (p+0x1100)");
	symbols_user(w->symbols, &m, m.start + 0x1200, 1);
	assert_int_equal(w->nr_problems, 1);
	assert_int_equal(w->last.code, -ESTALE);
}

/* Replaced while it ran, by the same or by another: the build-id tells. */
TEST(deleted)
{
	struct test_world *w = &world;
	char path[4096], other[4096];
	struct profile_object o;
	struct elf_file *f;
	struct stat st;
	uint64_t at;

	TEST_NEEDS(w, "nm");
	assert_true(compile(w, "-O2 -Wl,--build-id=0x0123456789abcdef", "p"));
	at = address_of(w, "p", "main");
	o = test_object(w, "p", 0, path);
	f = test_open_elf(path);
	snprintf(path + strlen(path), 20, " (deleted)");
	test_world_open(w, NULL, NULL);
	assert_string_equal(test_function(w, &o, f, at)->name, "main");
	test_world_close(w);
	o.build_id[0] ^= 1;
	test_world_open(w, NULL, NULL);
	assert_non_null(strstr(test_function(w, &o, f, at)->name, "[unknown]"));
	assert_int_equal(w->nr_problems, 1);
	assert_int_equal(w->last.code, -ESTALE);
	test_world_close(w);
	/* a file that really has this name */
	o.build_id[0] ^= 1;
	snprintf(other, sizeof(other), "%.*s", (int)(strlen(path) - strlen(" (deleted)")), path);
	assert_int_equal(rename(other, path), 0);
	test_world_open(w, NULL, NULL);
	assert_string_equal(test_function(w, &o, f, at)->name, "main");
	test_world_close(w);
	assert_int_equal(rename(path, other), 0);
	/* nothing can tell */
	o.build_id_len = 0;
	test_world_open(w, NULL, NULL);
	assert_non_null(strstr(test_function(w, &o, f, at)->name, "[unknown]"));
	test_world_close(w);
	/* no build-id: the inode shows that it is a file of this name, or was another */
	o.kind = PROFILE_OBJECT_DELETED;
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(stat(path, &st), 0);
	for (unsigned i = 0; i < 2; i++) {
		o.inode = st.st_ino + i;
		test_world_open(w, NULL, NULL);
		assert_non_null(
		    strstr(test_function(w, &o, f, at)->name, i ? "[unknown]" : "main"));
		assert_int_equal(w->nr_problems, !i);
		test_world_close(w);
	}
	test_world_open(w, NULL, NULL);
	elf_file_close(f);
}

TEST(cplusplus)
{
	static const char text[] =
	    "#include <vector>\nnamespace box { template <class T> struct Pile { std::vector<T> "
	    "v;\n"
	    "__attribute__((noinline)) T sum(T from) const { for (T x : v) from += x; return from; "
	    "} "
	    "}; }\ntemplate <int N> __attribute__((noinline)) int turn(int n) { asm(\"\"); return "
	    "turn<N - 1>(n) ^ N; }\ntemplate <> int turn<0>(int n) { return n; }\n"
	    "int main(int n, char **) { box::Pile<long> p; p.v.push_back(turn<12>(n)); return "
	    "(int)p.sum(n); }\n";
	struct test_world *w = &world;
	char path[4096];
	const struct symbol_function *fn;
	struct profile_object o;
	struct elf_file *f;

	TEST_NEEDS(w, "c++");
	tree_put(&w->tree, "/p.cc", text, sizeof(text) - 1);
	assert_true(test_shell(w, "c++ -O2 -o p p.cc"));
	o = test_object(w, "p", 0, path);
	f = test_open_elf(path);
	test_world_open(w, NULL, NULL);
	fn = test_function(w, &o, f, address_of(w, "p", "_ZNK3box4PileIlE3sumEl"));
	assert_string_equal(fn->name, "box::Pile<long>::sum(long) const");
	assert_string_equal(fn->linkage_name, "_ZNK3box4PileIlE3sumEl");
	assert_true(compare_nm(w, "p", "nm p") > 12); /* each turn, whatever a compiler leaves */
	elf_file_close(f);
}

TEST(vdso)
{
	static const struct {
		bool has_vdso;
		uint64_t end;
		bool is_known;
	} cases[] = {
	    {true, 0x7f0000100000, true},
	    {false, 0x7f0000100000, false},
	    {true, 0xf0100000, false}, /* that of a program of 32 bits is another */
	};
	const struct profile_object o = {.kind = PROFILE_OBJECT_VDSO,
					 .path = "[vdso]",
					 .name = "[vdso]",
					 .shown_path = "[vdso]"};
	struct elf_file *own = elf_vdso_open();
	struct test_world *w = &world;
	unsigned nr_known = 0;

	if (!own)
		SKIP("there is none");
	for (size_t i = 0; i < NR(cases); i++) {
		struct profile_mapping m = {
		    .start = cases[i].end - 0x100000, .end = cases[i].end, .object = &o};

		test_world_open(w, NULL,
				&(struct symbols_config){.vdso = cases[i].has_vdso ? own : NULL});
		nr_known = 0;
		for (uint64_t at = 0; at < 0x2000; at += 4) {
			const struct symbol_function *fn =
			    symbols_user(w->symbols, &m, m.start + at, 1);

			assert_string_equal(fn->object, "[vdso]");
			nr_known += strstr(fn->name, "clock_gettime") != NULL;
		}
		assert_true((nr_known > 4) == cases[i].is_known);
		test_world_close(w);
	}
	elf_file_close(own);
}

struct asker {
	struct test_world *w;
	const struct profile_object *object;
	const struct symbol_function *got[4096];
};

static void *ask_all(void *arg)
{
	struct asker *a = arg;
	struct profile_mapping m;

	test_mapping(a->object, &m);
	for (size_t i = 0; i < NR(a->got); i++)
		a->got[i] = symbols_user(a->w->symbols, &m, m.start + i * 4, 1);
	return NULL;
}

/* Several threads, at the same time, get the same functions. */
TEST(threads)
{
	enum { NR = 4 };
	struct test_world *w = &world;
	struct asker *a = calloc(NR, sizeof(*a));
	pthread_t thread[NR];
	char path[4096];
	struct profile_object o;

	assert_non_null(a);
	assert_true(compile(w, "-O2", "p"));
	o = test_object(w, "p", 0, path);
	test_world_open(w, NULL, NULL);
	for (int i = 0; i < NR; i++) {
		a[i].w = w;
		a[i].object = &o;
		assert_int_equal(pthread_create(&thread[i], NULL, ask_all, &a[i]), 0);
	}
	for (int i = 0; i < NR; i++)
		pthread_join(thread[i], NULL);
	for (int i = 1; i < NR; i++)
		assert_memory_equal(a[i].got, a[0].got, sizeof(a->got));
	for (size_t i = 0; i < NR(a->got); i++)
		for (size_t k = 0; k < i; k++)
			assert_int_equal(a->got[i] == a->got[k],
					 strcmp(a->got[i]->name, a->got[k]->name) == 0);
	free(a);
}

static void load_damaged(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	char name[SYMBOL_ELF_MAX_NAME_BYTES];
	struct symbol_elf s;
	struct elf_file *f;

	assert_non_null(copy);
	memcpy(copy, data, len);
	if (elf_file_open_mem(copy, len, false, "damaged", &f, NULL) == 0) {
		assert_int_equal(symbol_elf_load(f, f, &s), 0);
		for (size_t i = 0; i < s.table.nr; i++)
			symbol_elf_name(&s, &s.table.entry[i], name);
		for (size_t i = 0; i < s.slots.nr; i++)
			symbol_elf_slot_name(&s, s.slots.slot[i].address, name);
		symbol_elf_fini(&s);
		elf_file_close(f);
	}
	free(copy);
}

TEST(damaged)
{
	struct test_world *w = &world;
	char path[4096];
	struct elf_section table, text, plt;
	struct elf_file *f;
	const uint8_t *data;
	uint8_t *bad;
	size_t len;

	assert_true(compile(w, "-O0", "p"));
	snprintf(path, sizeof(path), "%s/p", w->tree.dir);
	f = test_open_elf(path);
	data = elf_file_data(f, &len);
	assert_true(elf_file_find_section(f, ".symtab", &table));
	assert_true(elf_file_find_section(f, ".strtab", &text));
	assert_true(elf_file_find_section(f, ".plt", &plt) ||
		    elf_file_find_section(f, ".rela.dyn", &plt));
	STRIDE_EACH(cut, len / 64 + 1, 20)
		load_damaged(data, cut * 64 < len ? cut * 64 : len - 1);
	bad = malloc(len + 1);
	assert_non_null(bad);
	STRIDE_EACH(round, 1500, 50) {
		uint64_t seed = 7 + round * 0x9e3779b97f4a7c15;
		const struct {
			uint64_t at, len;
		} places[] = {{table.offset, table.size},
			      {text.offset, text.size},
			      {plt.offset, plt.size},
			      {len - 2000, 2000},
			      {0, 64}};

		memcpy(bad, data, len);
		for (size_t i = 0; i < NR(places); i++)
			for (size_t k = 0; k < (round % 4) * 3; k++) {
				seed = seed * 6364136223846793005u + 1442695040888963407u;
				if (i < 4 || round % 16 == 0)
					bad[places[i].at + (seed >> 33) % places[i].len] =
					    (uint8_t)(seed >> 24);
			}
		load_damaged(bad, len);
	}
	free(bad);
	elf_file_close(f);
}

struct loaded {
	const struct profile_processes *processes;
	const struct profile_object *object;
};

static int load_one(void *arg)
{
	const struct loaded *l = arg;
	struct elf_finder *finder;
	struct symbols *s;
	struct profile_mapping m;
	int rc = elf_finder_new(&(struct elf_finder_config){0}, &finder);

	if (rc)
		return rc;
	rc = symbols_new(&(struct symbols_config){.finder = finder, .processes = l->processes}, &s);
	if (rc == 0) {
		test_mapping(l->object, &m);
		/* "[out of memory]", or what it is */
		for (uint64_t at = 0x1000; at < 0x1400; at += 16) {
			const struct symbol_function *fn = symbols_user(s, &m, m.start + at, 1);

			assert_non_null(fn->name);
			assert_non_null(fn->object);
		}
		symbols_free(s);
	}
	elf_finder_free(finder);
	return rc;
}

TEST(failures)
{
	struct test_world *w = &world;
	char path[4096];
	struct profile_object o;
	struct loaded l = {.processes = &w->processes, .object = &o};

	assert_true(compile(w, "-O2", "p"));
	o = test_object(w, "p", 0, path);
	inject_every(load_one, &l, 10, 0); /* all calls are the child's: test_elf_finder.c */
}
