/*
 * Code of jitdumps by process, address and time: which dump is used, which is refused and what is
 * said of it, beside a map, and as it grows.
 */
#include "kit.h"

#include "test_symbols.h"

#include <elf.h>
#include <sys/stat.h>

enum { OBJECT, DUMP, OTHER, NR_OBJECTS, HEADER = 40, AT = 0x1000 };

/* Beyond those of any machine. */
#define PID 4000000000U

static char path[4096];
static struct profile_object objects[NR_OBJECTS];
static struct profile_mapping mappings[2];
static const struct profile_process process = {.number = 3, .pid = PID};

static size_t put_header(char *to, uint64_t flags)
{
	const uint32_t words[] = {0x4a695444, 1, HEADER, EM_X86_64, 0, PID, 1, 0};

	memcpy(to, words, sizeof(words));
	memcpy(to + sizeof(words), &flags, sizeof(flags));
	return HEADER;
}

/* Each has the address AT, and 16 bytes of code: its name. */
static size_t put_load(char *to, uint64_t time, const char *name)
{
	const size_t len = strlen(name) + 1;
	const uint32_t prefix[] = {0, (uint32_t)(56 + len + 16)};
	const uint64_t words[] = {time, 0, AT, AT, 16, 0};

	memcpy(to, prefix, sizeof(prefix));
	memcpy(to + 8, words, sizeof(words));
	memcpy(to + 56, name, len);
	memset(to + 56 + len, *name, 16);
	return prefix[1];
}

static char made[1024];
static size_t make(uint64_t flags)
{
	size_t len = put_header(made, flags);

	len += put_load(made + len, 100, "first");
	return len + put_load(made + len, 200, "second");
}

static void open_with(const struct symbols_config *config, const struct elf_finder_config *finder)
{
	struct test_world *w = &world;

	objects[OBJECT] = (struct profile_object){.number = OBJECT,
						  .kind = PROFILE_OBJECT_ANON,
						  .path = "//anon",
						  .name = "//anon",
						  .shown_path = "//anon"};
	objects[DUMP] = (struct profile_object){
	    .number = DUMP, .kind = PROFILE_OBJECT_FILE, .path = path, .name = "", .inode = 0};
	objects[OTHER] = (struct profile_object){
	    .number = OTHER, .kind = PROFILE_OBJECT_FILE, .path = "/bin/true", .name = "true"};
	mappings[0] = (struct profile_mapping){
	    .start = 0, .end = 0x10000, .pid = PID, .object = &objects[OBJECT]};
	mappings[1] = (struct profile_mapping){
	    .start = 0x20000, .end = 0x21000, .pid = PID, .object = &objects[DUMP]};
	w->processes.nr_objects = NR_OBJECTS;
	w->processes.object = objects;
	w->processes.mapping = mappings;
	w->processes.nr_mappings = NR(mappings);
	w->processes.process = &process;
	if (!*path || !config)
		snprintf(path, sizeof(path), "%s/jit-77.dump", w->tree.dir);
	test_world_open(w, finder, config);
}

static const struct symbols_config here = {.is_same_boot = true};

static const char *name_of(uint32_t pid, uint64_t address, uint64_t time)
{
	struct profile_mapping m = mappings[0];

	m.pid = pid;
	return symbols_user(world.symbols, &m, address, time)->name;
}

static void put_dump(size_t len)
{
	tree_put(&world.tree, "/jit-77.dump", made, len);
	snprintf(path, sizeof(path), "%s/jit-77.dump", world.tree.dir);
}

TEST(names)
{
	const struct symbol_function *fn;
	const struct profile_object *object;
	struct symbol_code code;
	struct symbol_line line;
	uint64_t offset, start;
	char bytes[32];

	put_dump(make(0));
	open_with(&here, NULL);
	assert_string_equal(name_of(PID, AT, 99), "[unknown]");
	assert_string_equal(name_of(PID, AT, 100), "first");
	assert_string_equal(name_of(PID, AT + 15, 199), "first");
	assert_string_equal(name_of(PID, AT + 15, 200), "second");
	assert_string_equal(name_of(PID, AT + 16, 200), "[unknown]");
	assert_string_equal(name_of(PID + 1, AT, 200), "[unknown]");
	fn = symbols_user(world.symbols, mappings, AT, 150);
	assert_ptr_equal(fn, symbols_user(world.symbols, mappings, AT + 1, 160));
	assert_string_equal(fn->object, "[JIT]");
	assert_true(fn->is_known);
	for (uint64_t time = 99, nr = 0; time <= 200; time++) {
		nr += time == 100 || time == 200;
		assert_int_equal(symbols_epoch(world.symbols, &process, time), nr);
	}
	/* where its bytes are */
	object = symbols_place(world.symbols, mappings, AT + 2, 250, &offset);
	assert_ptr_equal(object, &objects[DUMP]);
	assert_int_equal(made[offset], 's');
	assert_true(symbols_code(world.symbols, object, offset, &code));
	assert_int_equal(code.start, AT);
	assert_int_equal(code.end, AT + 16);
	assert_int_equal(code.address, AT + 2);
	assert_int_equal(code.machine, EM_X86_64);
	assert_int_equal(symbols_code_read(world.symbols, &code, bytes, sizeof(bytes)), 16);
	assert_memory_equal(bytes, "ssssssssssssssss", 16);
	assert_int_equal(symbols_code_read(world.symbols, &code, bytes, 3), 3);
	assert_string_equal(symbols_code_function(world.symbols, &code, AT, &start)->name,
			    "second");
	assert_int_equal(start, AT);
	assert_null(symbols_code_function(world.symbols, &code, AT + 16, &start));
	assert_int_equal(symbols_lines(world.symbols, mappings, AT, 100, &line, 1), 1);
	assert_ptr_equal(line.function, fn);
	assert_null(line.file);
	object = symbols_place(world.symbols, mappings, AT, 99, &offset);
	assert_null(object);
	assert_int_equal(offset, AT);
	assert_int_equal(world.nr_problems, 0);
}

/* The dump where it covers, else the map. */
TEST(beside_a_map)
{
	static const char map[] = "1000 20 mapped\n";
	const struct symbols_config config = {.is_same_boot = true, .jit_folder = world.tree.dir};

	put_dump(make(0));
	tree_put(&world.tree, "/perf-4000000000.map", map, sizeof(map) - 1);
	open_with(&config, NULL);
	assert_string_equal(name_of(PID, AT, 99), "mapped");
	assert_string_equal(name_of(PID, AT, 100), "first");
	assert_string_equal(name_of(PID, AT + 16, 100), "mapped");
}

TEST(other_clocks)
{
	struct symbols_config config = here;

	for (unsigned is_arch = 0; is_arch < 2; is_arch++) {
		put_dump(make(is_arch));
		config.has_other_clock = !is_arch;
		open_with(&config, NULL);
		assert_string_equal(name_of(PID, AT, 1), "second");
		assert_string_equal(name_of(PID, AT, 100), "second");
		assert_int_equal(symbols_epoch(world.symbols, &process, 1000), 0);
		assert_int_equal(world.nr_problems, 1);
		assert_non_null(strstr(world.last.msg, "another clock"));
		test_world_close(&world);
	}
}

/* Which files are not used, and that it is said once. */
TEST(refused)
{
	static const struct {
		const char *make, *said;
		bool wants_root;
		const char *name;
	} cases[] = {
	    {"ln -s real jit-77.dump", "link", false, "[unknown]"},
	    {"ln real jit-77.dump && chown 12345 real", "belongs to user", true, "[unknown]"},
	    {"ln real jit-77.dump", "another name", false, "[unknown]"},
	    {"mkfifo jit-77.dump", "not a regular file", false, "[unknown]"},
	    {"mkdir jit-77.dump", "not a regular file", false, "[unknown]"},
	    {"cp real jit-77.dump && touch -d 1990-01-01 jit-77.dump", "older", false, "[unknown]"},
	    {"true", "No such file", false, "[unknown]"},
	    {"printf something >jit-77.dump && truncate -s 100 jit-77.dump", "not a jitdump", false,
	     "[unknown]"},
	    {"head -c 150 real >jit-77.dump", "truncated", false, "first"},
	    {"cp real jit-77.dump", NULL, false, "second"},
	};
	const size_t len = make(0);

	for (size_t i = 0; i < NR(cases); i++) {
		if (cases[i].wants_root && geteuid() != 0) {
			print_message("skip: only root gives files away\n");
			continue;
		}
		put_dump(len);
		assert_true(test_shell(&world, "mv jit-77.dump real && %s", cases[i].make));
		/* no such process, so nobody writes it any more */
		open_with(&here, NULL);
		for (unsigned again = 0; again < 2; again++) {
			name_of(PID, AT, 150);
			assert_int_equal(symbols_renew(world.symbols), 0);
		}
		assert_string_equal(name_of(PID, AT, 250), cases[i].name);
		assert_int_equal(world.nr_problems, cases[i].said != NULL);
		if (cases[i].said)
			assert_non_null(strstr(world.last.msg, cases[i].said));
		test_world_close(&world);
		assert_true(test_shell(&world, "rm -rf jit-77.dump real"));
	}
}

/* The file that was mapped, which has its inode. */
TEST(inode)
{
	struct stat st;

	put_dump(make(0));
	assert_int_equal(stat(path, &st), 0);
	for (unsigned is_other = 0; is_other < 2; is_other++) {
		open_with(&here, NULL);
		objects[DUMP].inode = st.st_ino + is_other;
		assert_string_equal(name_of(PID, AT, 250), is_other ? "[unknown]" : "second");
		assert_int_equal(world.nr_problems, is_other);
		test_world_close(&world);
	}
}

/* Of another machine: only below a root that somebody named. */
TEST(elsewhere)
{
	const struct symbols_config config = {.is_same_boot = false};
	char root[4096];

	put_dump(make(0));
	open_with(&config, NULL);
	assert_string_equal(name_of(PID, AT, 250), "[unknown]");
	assert_int_equal(world.nr_problems, 1);
	test_world_close(&world);
	snprintf(root, sizeof(root), "%s", world.tree.dir);
	snprintf(path, sizeof(path), "/jit-77.dump");
	open_with(&config, &(struct elf_finder_config){.sysroot = root});
	objects[DUMP].inode = 1;
	assert_string_equal(name_of(PID, AT, 250), "second");
	assert_int_equal(world.nr_problems, 0);
}

TEST(other_names)
{
	static const char *const names[] = {"jit-.dump",  "jit-7x.dump",  "jit-7.dumped",
					    "Jit-7.dump", "jit-7.dump.1", "a-jit-7.dump"};

	put_dump(make(0));
	for (size_t i = 0; i < NR(names); i++) {
		put_dump(make(0));
		assert_true(test_shell(&world, "mv jit-77.dump %s", names[i]));
		snprintf(path, sizeof(path), "%s/%s", world.tree.dir, names[i]);
		open_with(&here, NULL);
		assert_string_equal(name_of(PID, AT, 250), "[unknown]");
		test_world_close(&world);
	}
}

/* What was not there at one look is at the next; what was there stays the same. */
TEST(grows)
{
	const struct symbol_function *first;
	const size_t len = make(0), part = len - 10;

	put_dump(part);
	open_with(&here, NULL);
	first = symbols_user(world.symbols, mappings, AT, 100);
	assert_string_equal(first->name, "first");
	assert_string_equal(name_of(PID, AT, 250), "first");
	assert_true(test_shell(&world, "cp jit-77.dump kept"));
	tree_put(&world.tree, "/rest", made + part, len - part);
	assert_true(test_shell(&world, "cat rest >>jit-77.dump"));
	assert_string_equal(name_of(PID, AT, 250), "first");
	assert_int_equal(symbols_renew(world.symbols), 0);
	assert_string_equal(name_of(PID, AT, 250), "second");
	assert_ptr_equal(symbols_user(world.symbols, mappings, AT, 100), first);
	assert_int_equal(symbols_epoch(world.symbols, &process, 250), 2);
}

static int ask_one(void *arg)
{
	struct test_world *w = arg;
	const struct symbols_config config = {
	    .processes = &w->processes, .finder = w->finder, .is_same_boot = true};
	struct symbols *s;
	int rc = symbols_new(&config, &s);

	if (rc)
		return rc;
	assert_non_null(symbols_user(s, mappings, AT, 250)->name);
	symbols_free(s);
	return 0;
}

TEST(failures)
{
	put_dump(make(0));
	open_with(&here, NULL);
	name_of(PID, AT, 250); /* the reader has a child from then on */
	inject_every(ask_one, &world, 10, 0);
}

HOOK(before_each)
{
	test_world_setup();
	*path = '\0';
}

HOOK(after_each)
{
	test_world_teardown();
}
