/*
 * The functions of this very program and of those of the machine, as readelf has them; of a program
 * of Go without symbols; and who can throw.
 */
#include "kit.h"
#include "test_elf_pclntab.h"

#include "elf/file.h"
#include "elf/pclntab.h"
#include "elf/reader.h"
#include "functions/ends.h"
#include "functions/list.h"
#include "functions/pattern.h"

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

/* Hidden, so local in the program; clang leaves no name of a static one that has an alias. */
int list_of_this(int x);
__attribute__((noinline, used, visibility("hidden"))) int list_of_this(int x)
{
	return x + 1;
}
int list_by_another_name(int x) __attribute__((alias("list_of_this")));

struct open {
	struct elf_reader *reader;
	struct elf_file *file;
	struct functions_list list;
};

static bool open_list(struct open *o, const char *path)
{
	const struct elf_reader_config config = {.max_bytes = 0};
	struct err e = {0};
	struct stat st;

	assert_int_equal(elf_reader_new(&config, &o->reader), 0);
	if (elf_file_open(o->reader, path, &o->file, &st, &e)) {
		elf_reader_free(o->reader);
		return false;
	}
	assert_int_equal(functions_list_load(o->file, path, o->reader, &o->list), 0);
	return true;
}

static void close_list(struct open *o)
{
	functions_list_fini(&o->list);
	elf_file_close(o->file);
	elf_reader_free(o->reader);
}

struct seen {
	size_t nr, nr_refused;
	struct functions_place last;
	char name[256];
};

static int note(const struct functions_place *p, void *arg)
{
	struct seen *s = arg;

	s->nr++;
	s->nr_refused += p->refused != NULL;
	s->last = *p;
	snprintf(s->name, sizeof(s->name), "%s", p->name);
	return 0;
}

static struct seen look(struct functions_list *l, const char *glob)
{
	struct functions_pattern p;
	struct seen s = {.nr = 0};

	assert_int_equal(functions_pattern_parse(glob, &p), 0);
	assert_int_equal(functions_list_each(l, &p, note, &s), 0);
	return s;
}

/* Two names are one function, with the name that was asked for. */
TEST(own)
{
	struct open o;
	struct seen s;

	assert_true(open_list(&o, "/proc/self/exe"));
	assert_int_equal(o.list.names, FUNCTIONS_ALL);
	s = look(&o.list, "list_[bo][yf]*");
	assert_int_equal(s.nr, 1);
	assert_string_equal(s.name, "list_by_another_name"); /* it is for others to use */
	s = look(&o.list, "list_of_this");
	assert_string_equal(s.name, "list_of_this");
	assert_int_equal(s.last.ret, FUNCTIONS_RETURN_REPLACED);
	assert_true(s.last.calls_nothing);
	assert_null(s.last.refused);
	s = look(&o.list, "_start");
	assert_int_equal(s.nr, 1);
	assert_int_equal(s.nr_refused, 1);
	assert_int_equal(look(&o.list, "no_such_function").nr, 0);
	close_list(&o);
}

#if defined(__x86_64__)
/* A function, and code elsewhere that jumps into it, behind its begin. */
__asm__(".text\n"
	".globl list_entered\n.type list_entered,@function\n"
	"list_entered: mov %edi,%eax\n0: push %rax\npop %rax\nret\n"
	".size list_entered,.-list_entered\n"
	".type list_enters,@function\n"
	"list_enters: xor %eax,%eax\njmp 0b\n.size list_enters,.-list_enters\n"
	".globl list_alone\n.type list_alone,@function\n"
	"list_alone: mov %edi,%eax\npush %rax\npop %rax\nret\n"
	".size list_alone,.-list_alone\n");

TEST(entered)
{
	struct open o;
	struct seen s;

	assert_true(open_list(&o, "/proc/self/exe"));
	s = look(&o.list, "list_entered");
	assert_int_equal(s.nr, 1);
	assert_int_equal(s.last.entry, FUNCTIONS_STEPPED);
	s = look(&o.list, "list_alone");
	assert_int_equal(s.last.entry, FUNCTIONS_CHEAP);
	s = look(&o.list, "list_enters");
	assert_false(s.last.calls_nothing);
	close_list(&o);
}

/* Symbols within the code of another one: at an instruction, and within one. */
__asm__(
    ".text\n"
    ".globl list_honest\n.type list_honest,@function\n"
    "list_honest: .cfi_startproc\npush %rbp\nmov $0x12345678,%eax\npop %rbp\nret\n.cfi_endproc\n"
    ".size list_honest,.-list_honest\n"
    ".type list_liar,@function\n.set list_liar,list_honest+2\n.size list_liar,4\n"
    ".type list_inner,@function\n.set list_inner,list_honest+6\n.size list_inner,2\n");

TEST(within)
{
	struct open o;
	struct seen s;

	assert_true(open_list(&o, "/proc/self/exe"));
	s = look(&o.list, "list_honest");
	assert_true(!s.last.refused && s.last.ret == FUNCTIONS_RETURN_REPLACED);
	s = look(&o.list, "list_inner");
	assert_true(s.nr == 1 && !s.last.refused && s.last.ret == FUNCTIONS_RETURN_NONE);
	s = look(&o.list, "list_liar");
	assert_int_equal(s.nr_refused, 1);
	assert_non_null(strstr(s.last.refused, "not where an instruction begins"));
	close_list(&o);
}
#endif

/* A stripped program of Go has the names that its runtime needs. */
TEST(go)
{
	char path[] = "/tmp/cpuperf-test.XXXXXX";
	int fd = mkstemp(path);
	struct go_file f;
	struct open o;
	struct seen s;

	go_make(&f, &go_versions[3]);
	assert_true(fd >= 0 && write(fd, f.bytes, sizeof(f.bytes)) == (ssize_t)sizeof(f.bytes));
	assert_true(open_list(&o, path));
	unlink(path);
	close(fd);
	assert_int_equal(o.list.names, FUNCTIONS_ALL);
	assert_int_equal(o.list.nr, NR(go_functions));
	assert_int_equal(look(&o.list, "main.*").nr, NR(go_functions));
	s = look(&o.list, "main.*Two");
	assert_int_equal(s.nr, 1);
	assert_string_equal(s.name, "main.(*T).Two");
	assert_int_equal(s.last.address, GO_BASE + GO_TEXT + 0x10);
	assert_int_equal(s.last.size, 0x30);
	close_list(&o);
}

static int stop(const struct functions_place *p, void *arg)
{
	(void)p;
	(*(int *)arg)++;
	return -EINTR;
}

TEST(stops)
{
	struct functions_pattern p = {.glob = "*"};
	int nr = 0;
	struct open o;

	assert_true(open_list(&o, "/proc/self/exe"));
	assert_int_equal(functions_list_each(&o.list, &p, stop, &nr), -EINTR);
	assert_int_equal(nr, 1);
	close_list(&o);
}

/* How many addresses have a function, as readelf says. */
static size_t count_by_readelf(const char *path, bool is_dynamic)
{
	char command[600], line[64] = "";
	FILE *p;

	snprintf(command, sizeof(command),
		 "readelf -W %s '%s' 2>/dev/null | awk '$4 == \"FUNC\" || $4 == \"IFUNC\" { if ($7 "
		 "!= \"UND\" && $7 != \"ABS\") print $2 }' | sort -u | wc -l",
		 is_dynamic ? "--dyn-syms" : "--syms", path);
	p = popen(command, "r");
	assert_non_null(p);
	assert_non_null(fgets(line, sizeof(line), p));
	pclose(p);
	return strtoul(line, NULL, 10);
}

TEST(machine)
{
	enum { MAX_FILES = 12, MAX_BYTES = 4 << 20 };
	size_t nr_files = 0;
	struct stat st;
	glob_t files;

	if (system("readelf --version >/dev/null 2>&1"))
		SKIP("readelf: it is not installed");
	assert_int_equal(glob("/usr/bin/*", 0, NULL, &files), 0);
	STRIDE_EACH(i, files.gl_pathc, MAX_FILES) {
		const char *path = files.gl_pathv[i];
		struct open o;
		struct seen s;

		if (stat(path, &st) || st.st_size > MAX_BYTES || !open_list(&o, path))
			continue;
		s = look(&o.list, "*");
		/* a debug package has more than the file, and so has Go's own table */
		if (!o.list.finder && !elf_pclntab_is_there(o.file) &&
		    o.list.names == FUNCTIONS_ALL)
			assert_int_equal(s.nr, count_by_readelf(path, false));
		if (o.list.names == FUNCTIONS_EXPORTED)
			assert_int_equal(s.nr, count_by_readelf(path, true));
		nr_files++;
		close_list(&o);
	}
	globfree(&files);
	assert_true(nr_files > 0);
}

static void note_file(struct functions_ends *ends, const char *path)
{
	struct open o;

	assert_true(open_list(&o, path));
	functions_ends_add(ends, o.file, path);
	close_list(&o);
}

/* This program is of C alone, and so is the C library; that of C++ throws. */
TEST(ends)
{
	struct functions_place calls = {.ret = FUNCTIONS_RETURN_REPLACED},
			       leaf = {.ret = FUNCTIONS_RETURN_REPLACED, .calls_nothing = true},
			       none = {.ret = FUNCTIONS_RETURN_NONE, .reason = "its own"};
	char reason[FUNCTIONS_ENDS_REASON_BYTES];
	struct functions_ends ends = {NULL};
	glob_t files, throwing;

	assert_int_equal(glob("/lib/*/libc.so.6", 0, NULL, &files), 0);
	note_file(&ends, files.gl_pathv[0]);
	functions_ends_reason(&ends, reason);
	assert_string_equal(reason, "");
	functions_ends_decide(&ends, reason, &calls);
	assert_int_equal(calls.ret, FUNCTIONS_RETURN_REPLACED);

	if (glob("/usr/lib/*/libstdc++.so.6", 0, NULL, &throwing)) {
		globfree(&files);
		SKIP("no libstdc++");
	}
	note_file(&ends, throwing.gl_pathv[0]);
	functions_ends_reason(&ends, reason);
	assert_non_null(strstr(reason, "libstdc++.so.6 can throw"));
	functions_ends_decide(&ends, reason, &calls);
	functions_ends_decide(&ends, reason, &leaf);
	functions_ends_decide(&ends, reason, &none);
	assert_int_equal(calls.ret, FUNCTIONS_RETURN_NONE);
	assert_ptr_equal(calls.reason, reason);
	assert_int_equal(leaf.ret, FUNCTIONS_RETURN_REPLACED);
	assert_string_equal(none.reason, "its own");

	ends.moves = "prog";
	functions_ends_reason(&ends, reason);
	functions_ends_decide(&ends, reason, &leaf);
	assert_int_equal(leaf.ret, FUNCTIONS_RETURN_NONE);
	globfree(&throwing);
	globfree(&files);
}

/* OpenSSL has stacks of its own for who starts its jobs, as its own program does. */
TEST(ends_of_jobs)
{
	static const char *const files[] = {"/usr/lib/*/libcrypto.so.3", "/usr/lib/*/libssl.so.3",
					    "/usr/bin/openssl"};
	struct functions_ends ends = {NULL};
	glob_t found[sizeof(files) / sizeof(*files)];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		assert_null(ends.switches);
		if (glob(files[i], 0, NULL, &found[i]))
			SKIP("OpenSSL: it is not installed");
		note_file(&ends, found[i].gl_pathv[0]);
	}
	assert_string_equal(ends.switches, "openssl");
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		globfree(&found[i]);
}

/* Each allocation fails in turn. */
TEST(memory)
{
	struct functions_list list;
	struct open o;
	bool is_done = false;

	assert_true(open_list(&o, "/proc/self/exe"));
	for (unsigned n = 1; !is_done; n++) {
		int rc;

		inject_mem(n);
		rc = functions_list_load(o.file, "/proc/self/exe", NULL, &list);
		is_done = !inject.fired;
		if (rc == 0)
			functions_list_fini(&list);
		else
			assert_int_equal(rc, -ENOMEM);
		assert_int_equal(inject.nr_live, 0);
		inject_stop();
		assert_int_equal(rc == 0, is_done);
		assert_true(n < 100);
	}
	close_list(&o);
}
