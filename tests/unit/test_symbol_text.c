/*
 * Symbols told as text: kallsyms, against this machine's too; what came and went in the kernel;
 * maps of code made at run time, and whose they must be.
 */
#include "base/buf.h"
#include "kit.h"
#include "test_symbols.h"

#include "symbol/text_symbols.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define KALLSYMS                                                                                   \
	"ffffffff81000000 T _stext\n"                                                              \
	"ffffffff81000000 T _text\n"                                                               \
	"ffffffff81000000 t a_local\n"                                                             \
	"ffffffff81000100 t first\n"                                                               \
	"ffffffff81000200 W weak\n"                                                                \
	"ffffffff81000300 D data\n"                                                                \
	"ffffffff81000400 T third\n"                                                               \
	"ffffffff81000440 T __two\nffffffff81000440 T zwei\n"                                      \
	"ffffffff81000460 T __ia32_sys_pause\nffffffff81000460 T __x64_sys_pause\n"                \
	"0000000000000000 A percpu\n"                                                              \
	"ffffffffc0000000 t nft_do\t[nf_tables]\n"                                                 \
	"ffffffffc0000080 t nft_end\t[nf_tables]\n"                                                \
	"ffffffffa0000000 t bpf_prog_1_x\t[bpf]\n"                                                 \
	"not a line\n\nffffffff81000500\nffffffff81000500 T\nffffffff81000500 T \n"                \
	"12345678123456789 T long\n"                                                               \
	"ffffffff81000480 T \x1b[31mred"

static void check_kernel(struct test_world *w)
{
	static const struct {
		uint64_t address;
		const char *name, *object;
	} cases[] = {
	    {0xffffffff81000000, "_stext", "[kernel]"}, /* global, then by the alphabet */
	    {0xffffffff810000ff, "_stext", "[kernel]"},
	    {0xffffffff81000100, "first", "[kernel]"},
	    {0xffffffff810001ff, "first", "[kernel]"},
	    {0xffffffff81000200, "weak", "[kernel]"},
	    {0xffffffff81000300, "[unknown]", "[kernel]"}, /* data */
	    {0xffffffff81000400, "third", "[kernel]"},
	    {0xffffffff81000440, "zwei", "[kernel]"}, /* "__two" has bars before it */
	    {0xffffffff81000460, "__x64_sys_pause", "[kernel]"},
	    {0xffffffff81000480, "?[31mred", "[kernel]"},
	    {0xffffffff81040480, "[unknown]", "[kernel]"}, /* too far behind any */
	    {0xffffffffc0000010, "nft_do", "[nf_tables]"},
	    {0xffffffffc0000090, "nft_end", "[nf_tables]"},
	    {0xffffffffa0000004, "bpf_prog_1_x", "[bpf]"},
	    {0xffffffff80ffffff, "[unknown]", "[kernel]"},
	    {0, "[unknown]", "[kernel]"},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		const struct symbol_function *fn = symbols_kernel(w->symbols, cases[i].address, 1);

		assert_string_equal(fn->name, cases[i].name);
		assert_string_equal(fn->object, cases[i].object);
		assert_int_equal(fn->is_known, strcmp(fn->name, "[unknown]") != 0);
		assert_true(fn->is_kernel);
		assert_ptr_equal(fn, symbols_kernel(w->symbols, cases[i].address, 1));
	}
	assert_int_equal(w->nr_problems, 0);
}

HOOK(before_each)
{
	test_world_setup();
}

HOOK(after_each)
{
	test_world_teardown();
}

/* Whole, and in pieces of every size. */
TEST(kallsyms)
{
	static const char text[] = KALLSYMS;
	struct test_world *w = &world;

	for (size_t step = 1; step < sizeof(text); step = step * 3 + 1) {
		test_world_open(w, NULL, NULL);
		for (size_t at = 0; at < sizeof(text) - 1; at += step)
			assert_int_equal(symbols_add_kallsyms(w->symbols, text + at,
							      step < sizeof(text) - 1 - at
								  ? step
								  : sizeof(text) - 1 - at),
					 0);
		check_kernel(w);
		test_world_close(w);
	}
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

enum { NR_LINES = 3000, NR_MODULES = 7, MAX_PARTS = NR_LINES };

/* A kernel, whose lines are sorted, and modules, whose lines are not; some have the address of the
 * line before. */
static void make_kallsyms(struct buf *b, uint64_t *seed)
{
	uint64_t address = 0;

	for (int i = 0; i < NR_LINES; i++) {
		static const char types[] = "tTWtdt";
		bool is_core = i < NR_LINES * 3 / 4;
		uint64_t module = (uint64_t)i * NR_MODULES / NR_LINES;

		if (is_core)
			address += next_random(seed) % 8 ? next_random(seed) % 3000 : 0;
		else if (next_random(seed) % 8)
			address = 0x9000000 - (module << 20) + next_random(seed) % 60000;
		buf_printf(b, "ffffffff%08" PRIx64 " %c f%d", 0x81000000 + address,
			   types[next_random(seed) % 6], i);
		buf_printf(b, is_core ? "\n" : "\t[m%" PRIu64 "]\n", module);
	}
}

/* Cuts it between lines; returns the number of parts. */
static size_t make_parts(const char *text, struct profile_symbol_part *part, uint64_t *seed)
{
	size_t nr = 0;

	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		const uint64_t address = strtoull(line, NULL, 16);

		if (line == text || next_random(seed) % 40 == 0)
			part[nr++] = (struct profile_symbol_part){
			    .first = address, .last = address, .offset = (uint64_t)(line - text)};
		if (address < part[nr - 1].first)
			part[nr - 1].first = address;
		if (address > part[nr - 1].last)
			part[nr - 1].last = address;
	}
	return nr;
}

static void expect_same(struct symbols *a, struct symbols *b, uint64_t address)
{
	const struct symbol_function *x = symbols_kernel(a, address, 1),
				     *y = symbols_kernel(b, address, 1);
	uint64_t start[2] = {0}, end[2] = {0};

	assert_string_equal(x->name, y->name);
	assert_string_equal(x->object, y->object);
	assert_int_equal(symbols_kernel_extent(a, address, &start[0], &end[0]),
			 symbols_kernel_extent(b, address, &start[1], &end[1]));
	assert_true(start[0] == start[1] && end[0] == end[1]);
}

/* What is read part by part has the same names at each address as the whole, also beside text of
 * unknown range, and a question reads few parts. */
TEST(kallsyms_in_parts)
{
	static struct profile_symbol_part part[MAX_PARTS];
	static const char rest[] = "ffffffff81001001 T more\n";
	uint64_t seed = 17;

	for (int round = 0; round < 6; round++) {
		struct test_world whole = {.nr_problems = 0}, parts = {.processes = {.part = part}};
		BUF_AUTO(text, 1 << 20);

		make_kallsyms(&text, &seed);
		test_world_open(&whole, NULL, NULL);
		assert_int_equal(symbols_add_kallsyms(whole.symbols, buf_str(&text), text.len), 0);
		parts.processes.text = buf_str(&text);
		parts.processes.nr_parts = make_parts(buf_str(&text), part, &seed);
		assert_in_range(parts.processes.nr_parts, 30, 200);
		test_world_open(&parts, NULL,
				&(struct symbols_config){
				    .session = (const struct profile_session *)&parts.processes});
		if (round == 5) {
			symbols_add_kallsyms(parts.symbols, rest, sizeof(rest) - 1);
			symbols_add_kallsyms(whole.symbols, rest, sizeof(rest) - 1);
		}
		expect_same(whole.symbols, parts.symbols, 0xffffffff81000000 + 2000);
		assert_in_range(parts.processes.nr_read, 1, 3);
		for (const char *line = buf_str(&text); *line; line = strchr(line, '\n') + 1)
			for (int by = -1; by <= 1; by++)
				expect_same(whole.symbols, parts.symbols,
					    strtoull(line, NULL, 16) + (uint64_t)by);
		expect_same(whole.symbols, parts.symbols, 1);
		expect_same(whole.symbols, parts.symbols, UINT64_MAX);
		assert_int_equal(parts.processes.nr_read, parts.processes.nr_parts);
		test_world_close(&whole);
		test_world_close(&parts);
	}
}

TEST(kallsyms_file)
{
	static const char text[] = KALLSYMS, zeroed[] = "0000000000000000 T _text\n";
	static const char *const senseless[] = {"", "\n\n", "root:x:0:0:root:/root:/bin/sh\n",
						"ffffffff81000000\nffffffff81000000 T"};
	struct test_world *w = &world;
	char path[4096];
	struct err e = {0};

	snprintf(path, sizeof(path), "%s/kallsyms", w->tree.dir);
	test_world_open(w, NULL, NULL);
	assert_int_equal(symbols_load_kallsyms(w->symbols, path, &e), -ENOENT);
	assert_string_equal(e.source, path);
	for (size_t i = 0; i < NR(senseless); i++) {
		test_world_close(w);
		test_world_open(w, NULL, NULL);
		err_clear(&e);
		tree_put(&w->tree, "/kallsyms", senseless[i], strlen(senseless[i]));
		assert_int_equal(symbols_load_kallsyms(w->symbols, path, &e), -EINVAL);
		assert_string_equal(e.source, path);
		assert_int_equal(e.line, 1);
	}
	test_world_close(w);
	test_world_open(w, NULL, NULL);
	tree_put(&w->tree, "/kallsyms", zeroed, sizeof(zeroed) - 1);
	assert_int_equal(symbols_load_kallsyms(w->symbols, path, NULL), 0);
	assert_false(symbols_kernel(w->symbols, 0xffffffff81000000, 0)->is_known);
	assert_string_equal(w->last.source, path);
	assert_null(strstr(w->last.hint, "record as root"));
	test_world_close(w);
	test_world_open(w, NULL, NULL);
	tree_put(&w->tree, "/kallsyms", text, sizeof(text) - 1);
	assert_int_equal(symbols_load_kallsyms(w->symbols, path, NULL), 0);
	check_kernel(w);
}

TEST(no_kernel)
{
	static const char hidden[] = "0000000000000000 T _stext\n0000000000000000 T _text\n";
	struct test_world *w = &world;

	/* nothing was recorded: nothing to say about it */
	test_world_open(w, NULL, NULL);
	assert_string_equal(symbols_kernel(w->symbols, 0xffffffff81000000, 1)->name, "[unknown]");
	assert_int_equal(w->nr_problems, 0);
	test_world_close(w);
	test_world_open(w, NULL, NULL);
	assert_int_equal(symbols_add_kallsyms(w->symbols, hidden, sizeof(hidden) - 1), 0);
	for (int i = 0; i < 3; i++)
		assert_string_equal(symbols_kernel(w->symbols, 0xffffffff81000000, 1)->name,
				    "[unknown]");
	assert_int_equal(w->nr_problems, 1);
	assert_int_equal(w->last.code, -EACCES);
	assert_non_null(strstr(w->last.hint, "kptr_restrict"));
}

TEST(passing)
{
	static const char text[] = "ffffffffa0000000 t old\t[bpf]\nffffffffa0001000 t next\n";
	static const struct profile_ksymbol passing[] = {
	    {0xffffffffa0000100, 0x40, 50, UINT64_MAX, "bpf_prog_b"},
	    {0xffffffffa0000100, 0x80, 10, 50, "bpf_prog_a"},
	    {0xffffffffa0000000, 0x1000, 20, 60, "trampoline"},
	    {UINT64_MAX - 8, UINT64_MAX, 0, UINT64_MAX, "end"},
	};
	static const struct {
		uint64_t address, time;
		const char *name, *object;
	} cases[] = {
	    {0xffffffffa0000100, 5, "old", "[bpf]"},
	    {0xffffffffa0000100, 10, "bpf_prog_a", "[bpf]"},
	    {0xffffffffa000017f, 49, "bpf_prog_a", "[bpf]"},
	    {0xffffffffa0000180, 49, "trampoline", "[kernel]"},
	    {0xffffffffa0000100, 50, "bpf_prog_b", "[bpf]"},
	    {0xffffffffa0000140, 55, "trampoline", "[kernel]"},
	    {0xffffffffa0000140, 60, "old", "[bpf]"},
	    {0xffffffffa0000000, 19, "old", "[bpf]"},
	    {0xffffffffa0001000, 30, "next", "[kernel]"},
	    {UINT64_MAX, 30, "end", "[kernel]"},
	};
	struct test_world *w = &world;
	BUF_AUTO(taken, 4096);

	w->processes.ksymbol = passing;
	w->processes.nr_ksymbols = NR(passing);
	test_world_open(w, NULL, NULL);
	buf_adds(&taken, text);
	assert_int_equal(symbols_take_kallsyms(w->symbols, &taken), 0);
	assert_int_equal(taken.len, 0);
	for (size_t i = 0; i < NR(cases); i++) {
		const struct symbol_function *fn =
		    symbols_kernel(w->symbols, cases[i].address, cases[i].time);

		assert_string_equal(fn->name, cases[i].name);
		assert_string_equal(fn->object, cases[i].object);
	}
}

/* Each function of this kernel has at its address a name that kallsyms has there. */
TEST(live)
{
	struct test_world *w = &world;
	unsigned long long address;
	char line[1024], *at;
	unsigned nr = 0, first = UINT_MAX, last = 0;
	FILE *p = fopen("/proc/kallsyms", "re");

	if (!p || !fgets(line, sizeof(line), p) || strncmp(line, "0000000000000000 ", 17) == 0) {
		if (p)
			fclose(p);
		SKIP("this kernel does not show its symbols");
	}
	test_world_open(w, NULL, NULL);
	assert_int_equal(symbols_load_kallsyms(w->symbols, "/proc/kallsyms", NULL), 0);
	do {
		const struct symbol_function *fn;

		address = strtoull(line, &at, 16);
		if (!address || strlen(at) < 4 || !strchr("tTwW", at[1]) || strstr(at, "\t[bpf]") ||
		    strstr(at, "\t[__builtin__")) /* they come and go */
			continue;
		at[3 + strcspn(at + 3, "\t\n")] = '\0';
		fn = symbols_kernel(w->symbols, address, 1);
		/* all aliases are one: the best of those that follow each other here */
		assert_true(fn->is_known);
		first = fn->number < first ? fn->number : first;
		last = fn->number > last ? fn->number : last;
		nr += strcmp(fn->name, at + 3) == 0;
	} while (fgets(line, sizeof(line), p));
	fclose(p);
	assert_true(nr > 10000);
	/* and no name is there that has no line */
	assert_true(last - first + 1 >= nr && last - first + 1 <= nr + 8);
}

static const struct profile_object anon = {
    .kind = PROFILE_OBJECT_ANON, .path = "//anon", .name = "//anon", .shown_path = "//anon"};

#define MAP                                                                                        \
	"7f0000001000 40 first\n0x7f0000002000 0x10 with spaces in it\nsenseless\n7f0000003000 0 " \
	"empty\n7f0000001000 20 second\n7f0000001040 10 \x07loud\n7f0000004000 10\n7f0000005000 "  \
	"zz "                                                                                      \
	"bad\n7f0000006000 10 last"

static void check_map(struct test_world *w, uint32_t pid, bool is_known)
{
	static const struct {
		uint64_t address;
		const char *name; /* NULL: unknown */
	} cases[] = {
	    {0x7f0000001000, "second"}, /* the last, not the first by name */
	    {0x7f000000101f, "second"}, {0x7f0000001020, NULL},
	    {0x7f0000001040, "?loud"},  {0x7f0000002000, "with spaces in it"},
	    {0x7f0000003000, NULL},     {0x7f0000004000, NULL},
	    {0x7f0000005000, NULL},     {0x7f000000600f, "last"},
	    {0x7f0000006010, NULL},
	};
	const struct profile_mapping m = {
	    .start = 0x7f0000000000, .end = 0x7f0000010000, .pid = pid, .object = &anon};

	for (size_t i = 0; i < NR(cases); i++) {
		const struct symbol_function *fn =
		    symbols_user(w->symbols, &m, cases[i].address, 1);
		bool has_name = is_known && cases[i].name;

		assert_string_equal(fn->name, has_name ? cases[i].name : "[unknown]");
		assert_string_equal(fn->object, has_name ? "[JIT]" : "//anon");
		assert_int_equal(fn->is_known, has_name);
		assert_ptr_equal(fn, symbols_user(w->symbols, &m, cases[i].address, 1));
	}
}

TEST(jit)
{
	static const char text[] = MAP;
	struct test_world *w = &world;
	const struct symbols_config config = {.jit_folder = w->tree.dir};

	tree_put(&w->tree, "/perf-77.map", text, sizeof(text) - 1);
	test_world_open(w, NULL, &config);
	check_map(w, 77, true);
	check_map(w, 78, false);
	check_map(w, 77 + 1024, false);
	assert_int_equal(w->nr_problems, 0);
}

/* Maps that somebody else may have put there are not taken, and that is said once. */
TEST(jit_refused)
{
	static const struct {
		const char *make;
		unsigned nr_problems;
		bool wants_root;
	} cases[] = {
	    {"ln -s real perf-77.map", 1, false},
	    {"ln real perf-77.map && chown 12345 real", 1, true},
	    {"mkfifo perf-77.map", 1, false},
	    {"mkdir perf-77.map", 1, false},
	    {"cp real perf-77.map && touch -d 1990-01-01 perf-77.map", 1, false}, /* before boot */
	    {":", 0, false},
	};
	static const char text[] = MAP;
	struct test_world *w = &world;
	const struct symbols_config config = {.jit_folder = w->tree.dir, .is_same_boot = true};

	for (size_t i = 0; i < NR(cases); i++) {
		if (cases[i].wants_root && geteuid() != 0) {
			print_message("skip: only root gives files away\n");
			continue;
		}
		tree_put(&w->tree, "/real", text, sizeof(text) - 1);
		assert_true(test_shell(w, "%s", cases[i].make));
		test_world_open(w, NULL, &config);
		check_map(w, 77, false);
		assert_int_equal(w->nr_problems, cases[i].nr_problems);
		test_world_close(w);
		assert_true(test_shell(w, "rm -rf perf-77.map real"));
	}
}

/* What is in /tmp is of this machine's processes, and there is no word of what is not there. */
TEST(jit_of_others)
{
	static const char text[] = MAP;
	struct test_world *w = &world;
	char root[4096], path[2][64];

	for (uint32_t i = 0; i < 2; i++) { /* beyond the pids of any machine */
		FILE *f;

		snprintf(path[i], sizeof(path[i]), "/tmp/perf-%u.map", 4000000000U + i);
		f = fopen(path[i], "w");
		assert_non_null(f);
		fputs(text, f);
		fclose(f);
	}
	test_world_open(w, NULL, NULL);
	check_map(w, 3999999999, false);
	assert_int_equal(w->nr_problems, 0);
	check_map(w, 4000000000, false);
	check_map(w, 4000000001, false);
	assert_int_equal(w->nr_problems, 1);
	assert_string_equal(w->last.source, path[0]);
	test_world_close(w);
	test_world_open(w, NULL, &(struct symbols_config){.is_same_boot = true});
	check_map(w, 4000000000, true);
	test_world_close(w);
	/* as the hint has it */
	tree_put(&w->tree, "/tmp/perf-77.map", text, sizeof(text) - 1);
	snprintf(root, sizeof(root), "%s", w->tree.dir);
	test_world_open(w, &(struct elf_finder_config){.sysroot = root}, NULL);
	check_map(w, 77, true);
	test_world_close(w);
	unlink(path[0]);
	unlink(path[1]);
}

/* A process that runs may have made it: its owner is known. */
TEST(jit_of_owner)
{
	static const char text[] = MAP;
	struct test_world *w = &world;
	char name[64];
	pid_t pid;

	if (geteuid() != 0)
		SKIP("only root is somebody else");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) /* a failing test leaves nothing behind; setuid would forget that */
		_exit(setuid(12345) || prctl(PR_SET_PDEATHSIG, SIGKILL) || pause());
	snprintf(name, sizeof(name), "/perf-%d.map", (int)pid);
	tree_put(&w->tree, name, text, sizeof(text) - 1);
	assert_true(test_shell(w, "chmod 755 . && chown 12345 .%s", name));
	for (int i = 0; i < 6000; i++) { /* until it is that user */
		struct stat st;
		char proc[64];

		snprintf(proc, sizeof(proc), "/proc/%d", (int)pid);
		assert_int_equal(stat(proc, &st), 0);
		if (st.st_uid == 12345)
			break;
		usleep(10000);
	}
	for (int is_same = 0; is_same < 2; is_same++) {
		const struct symbols_config config = {.jit_folder = w->tree.dir,
						      .is_same_boot = is_same};

		test_world_open(w, NULL, &config);
		check_map(w, (uint32_t)pid, is_same);
		test_world_close(w);
	}
	/* one of root's (put there by who can write the folder) is read as that user could */
	for (int may_read = 0; may_read < 2; may_read++) {
		assert_true(test_shell(w, "chown 0 .%s && chmod %s .%s", name,
				       may_read ? "644" : "600", name));
		test_world_open(
		    w, NULL,
		    &(struct symbols_config){.jit_folder = w->tree.dir, .is_same_boot = true});
		check_map(w, (uint32_t)pid, may_read);
		test_world_close(w);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void parse_both(const char *text, size_t len)
{
	char *copy = malloc(len ? len : 1), name[SYMBOL_TEXT_MAX_NAME_BYTES];
	struct symbol_text s[2];

	assert_non_null(copy);
	memcpy(copy, text, len);
	assert_int_equal(symbol_text_parse_kallsyms(copy, len, &s[0]), 0);
	assert_int_equal(symbol_text_parse_map(copy, len, &s[1]), 0);
	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < s[k].table.nr; i++) {
			symbol_text_name(&s[k], &s[k].table.entry[i], name);
			assert_true(s[k].table.entry[i].group < s[k].nr_groups);
		}
		symbol_text_fini(&s[k]);
	}
	free(copy);
}

TEST(damaged)
{
	static const char text[] = KALLSYMS MAP;
	char bad[sizeof(text)];
	uint64_t seed = 3;

	for (size_t cut = 0; cut < sizeof(text); cut++)
		parse_both(text, cut);
	for (int round = 0; round < 2000; round++) {
		memcpy(bad, text, sizeof(text));
		for (int i = 0; i < 8; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			bad[(seed >> 33) % sizeof(bad)] = "\n\t ]0fT\xff"[seed >> 20 & 7];
		}
		parse_both(bad, sizeof(bad) - 1);
	}
}

static int ask_one(void *arg)
{
	static const char text[] = KALLSYMS;
	struct test_world *w = arg;
	const struct symbols_config config = {.processes = &w->processes,
					      .jit_folder = w->tree.dir};
	const struct profile_mapping m = {
	    .start = 0x7f0000000000, .end = 0x7f0000010000, .pid = 77, .object = &anon};
	struct symbols *s;
	int rc = symbols_new(&config, &s);

	if (rc)
		return rc;
	rc = symbols_add_kallsyms(s, text, sizeof(text) - 1);
	if (rc == 0) {
		assert_non_null(symbols_kernel(s, 0xffffffff81000100, 1)->name);
		assert_non_null(symbols_kernel(s, 0xffffffffc0000000, 1)->name);
		assert_non_null(symbols_user(s, &m, 0x7f0000001000, 1)->name);
		assert_non_null(symbols_user(s, &m, 0x7f0000001020, 1)->name);
	}
	symbols_free(s);
	return rc;
}

TEST(failures)
{
	static const char text[] = MAP;
	struct test_world *w = &world;

	tree_put(&w->tree, "/perf-77.map", text, sizeof(text) - 1);
	inject_every(ask_one, w, 10, 0); /* all calls are the child's: test_elf_finder.c */
}
