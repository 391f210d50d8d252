/*
 * What of a file is stored when it will not be found later, and what can be read of that: the same
 * names and unwind tables as of the file, and nothing else. Files and stored parts are hostile.
 */
#include "elf/parts.h"
#include "elf/reader.h"
#include "kit.h"
#include "stride.h"
#include "test_symbols.h"

#include <elf.h>
#include <fcntl.h>

enum { MAX_BYTES = 1 << 20 };

static const char *const stored[] = {".symtab",       ".strtab",   ".dynsym", ".dynstr",
				     ".eh_frame_hdr", ".eh_frame", ".sframe"};
static const char *const dropped[] = {".text", ".data", ".debug_info"};

HOOK(before_each)
{
	test_world_setup();
	assert_true(test_shell(
	    &world, "echo 'int x = 7; int burn(void) { return x; }"
		    " int main(void) { return burn(); }' >p.c && "
		    "cc -g -Wl,--build-id -o p p.c && objcopy --add-section .sframe=p.c p && "
		    "strip -s -o stripped p"));
}

HOOK(after_each)
{
	test_world_teardown();
}

static int open_in_world(const char *name)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", world.tree.dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* The bytes are to be freed. */
static struct elf_file_parts load(const char *name, const struct elf_parts *p)
{
	int fd = open_in_world(name);
	uint8_t *bytes = mem_alloc(p->bytes), *to = bytes;
	struct stat st;

	assert_non_null(bytes);
	assert_int_equal(fstat(fd, &st), 0);
	for (size_t i = 0; i < p->nr; to += p->part[i++].len)
		assert_int_equal(pread(fd, to, p->part[i].len, (off_t)p->part[i].offset),
				 p->part[i].len);
	close(fd);
	return (struct elf_file_parts){
	    .part = p->part, .nr = p->nr, .bytes = bytes, .file_bytes = (uint64_t)st.st_size};
}

static int find(const char *name, uint64_t max_bytes, struct elf_parts *out)
{
	int fd = open_in_world(name), rc = elf_parts_find(fd, max_bytes, out);

	close(fd);
	return rc;
}

static void expect_same(const struct elf_file *part, const struct elf_file *whole, const char *name)
{
	struct elf_section a = {0}, b = {0};

	print_message("%s\n", name);
	assert_int_equal(elf_file_load_section(part, name, &a),
			 elf_file_load_section(whole, name, &b));
	if (!b.data)
		return;
	assert_int_equal(a.size, b.size);
	assert_int_equal(a.address, b.address);
	assert_memory_equal(a.data, b.data, a.size);
}

static const struct elf_file *open_whole(const char *name, char path[4096])
{
	struct elf_wanted w = {.path = path};

	snprintf(path, 4096, "%s/%s", world.tree.dir, name);
	return elf_finder_code(world.finder, &w);
}

/* Where code is in the file, too; but not the code. */
TEST(same)
{
	static const char *const names[] = {"p", "stripped"};

	test_world_open(&world, NULL, NULL);
	for (size_t i = 0; i < NR(names); i++) {
		const struct elf_file *whole;
		struct elf_file_parts from;
		struct elf_section s;
		struct elf_parts parts;
		struct elf_file *f;
		uint64_t a, b;
		char path[4096];
		size_t len;

		whole = open_whole(names[i], path);
		assert_non_null(whole);
		assert_int_equal(find(names[i], MAX_BYTES, &parts), 0);
		from = load(names[i], &parts);
		assert_int_equal(
		    elf_file_open_parts(elf_finder_reader(world.finder), &from, "x", &f, NULL), 0);
		assert_true(elf_build_id_equal(elf_file_build_id(f), elf_file_build_id(whole)));
		for (size_t k = 0; k < NR(stored); k++)
			expect_same(f, whole, stored[k]);
		for (size_t k = 0; k < NR(dropped); k++) {
			assert_false(elf_file_load_section(f, dropped[k], &s));
			assert_false(elf_file_find_section(f, dropped[k], &s) && s.is_held);
		}
		assert_true(elf_file_find_section(whole, ".text", &s));
		assert_true(elf_file_address(f, s.offset, &a) && a == s.address);
		assert_true(elf_file_address(whole, s.offset, &b) && a == b);
		assert_null(elf_file_bytes(f, a, 8, &len));
		assert_int_equal(elf_file_rights(f).are_limited, geteuid() == 0);
		elf_file_close(f);
		mem_free((void *)from.bytes);
	}
}

/* Symbols come first; a table without its names is not stored. */
TEST(limits)
{
	struct elf_parts all, parts = {.nr = 77};
	uint64_t with_symbols = 0;
	bool has_tables = true;

	assert_int_equal(find("p", MAX_BYTES, &all), 0);
	assert_int_equal(find("p", all.bytes - 1, &parts), 0);
	assert_in_range(parts.bytes, 1, all.bytes - 1);
	for (uint64_t max = all.bytes; max; max -= max > 64 ? 64 : max) {
		struct elf_file_parts from;
		struct elf_section s;
		struct elf_file *f;
		int rc = find("p", max, &parts);

		if (rc) {
			assert_int_equal(rc, -EFBIG);
			continue;
		}
		assert_in_range(parts.bytes, 1, max);
		from = load("p", &parts);
		test_world_open(&world, NULL, NULL);
		assert_int_equal(
		    elf_file_open_parts(elf_finder_reader(world.finder), &from, "x", &f, NULL), 0);
		assert_int_equal(elf_file_load_section(f, ".symtab", &s),
				 elf_file_load_section(f, ".strtab", &s));
		if (elf_file_load_section(f, ".symtab", &s)) {
			with_symbols = max;
			has_tables = elf_file_load_section(f, ".eh_frame", &s);
		}
		elf_file_close(f);
		test_world_close(&world);
		mem_free((void *)from.bytes);
	}
	assert_true(with_symbols && !has_tables); /* there is just room for them */
	assert_int_equal(find("p", 63, &parts), -EFBIG);
}

static void put(const char *name, const void *data, size_t len)
{
	tree_put(&world.tree, name, data, len);
}

TEST(no_elf)
{
	struct elf_parts parts = {.nr = 77};
	int fd;

	put("/empty", "", 0);
	put("/script", "#!/bin/sh\n", 10);
	assert_int_equal(find("empty", MAX_BYTES, &parts), -EINVAL);
	assert_int_equal(find("script", MAX_BYTES, &parts), -EINVAL);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_parts_find(fd, MAX_BYTES, &parts), -EINVAL);
	close(fd);
	assert_int_equal(parts.nr, 77);
}

static void check_valid(const struct elf_parts *p, uint64_t file_bytes)
{
	uint64_t end = 0, bytes = 0;

	assert_in_range(p->nr, 1, ELF_MAX_PARTS);
	for (size_t i = 0; i < p->nr; i++) {
		assert_true(p->part[i].len && (!i || p->part[i].offset > end));
		end = p->part[i].offset + p->part[i].len;
		bytes += p->part[i].len;
	}
	assert_true(end <= file_bytes && bytes == p->bytes && bytes <= MAX_BYTES);
}

/* Each byte of the headers changed, and the file cut anywhere. */
TEST(damaged)
{
	struct buf whole;
	struct elf_parts parts;
	uint64_t sections;
	int fd = open_in_world("p");

	buf_init(&whole, 1 << 24);
	assert_int_equal(io_load_fd(fd, &whole), 0);
	close(fd);
	memcpy(&sections, whole.data + offsetof(Elf64_Ehdr, e_shoff), sizeof(sections));
	STRIDE_EACH(at, whole.len, 300) {
		const size_t len = at < 1024 || at >= sections ? whole.len : at;
		const char was = whole.data[at];

		whole.data[at] = len < whole.len ? was : (char)~was;
		put("/damaged", whole.data, len);
		whole.data[at] = was;
		if (find("damaged", MAX_BYTES, &parts) == 0)
			check_valid(&parts, len);
	}
	buf_fini(&whole);
}

static int find_p(void *arg)
{
	int rc = find("p", MAX_BYTES, arg);

	return rc;
}

TEST(failures)
{
	struct elf_parts parts;

	inject_every(find_p, &parts, 1, 0);
}

/* Stored parts that nobody could have stored. */
TEST(hostile)
{
	static const struct range wrong[][2] = {
	    {{0, 64}, {63, 8}},   /* overlap */
	    {{64, 8}, {0, 64}},   /* descend */
	    {{0, 64}, {4096, 1}}, /* beyond the end */
	    {{0, 64}, {100, UINT64_MAX}}, {{0, 64}, {UINT64_MAX, 2}},
	};
	static uint8_t bytes[4096];
	struct elf_file_parts p = {.bytes = bytes, .file_bytes = 4096, .nr = 2};
	struct elf_reader *r;
	struct elf_file *f;
	struct err e = {0};

	assert_int_equal(elf_reader_new(&(struct elf_reader_config){.max_bytes = 1024}, &r), 0);
	for (size_t i = 0; i < NR(wrong); i++) {
		p.part = wrong[i];
		assert_int_equal(elf_file_open_parts(r, &p, "x", &f, &e), -EINVAL);
		assert_string_equal(e.msg, "the stored parts of it are invalid"); /* not decoded */
		err_clear(&e);
	}
	p.part = &(struct range){0, 300}; /* more than a quarter of the budget */
	p.nr = 1;
	assert_int_equal(elf_file_open_parts(r, &p, "x", &f, &e), -ENOMEM);
	p.part = &(struct range){0, 100}; /* no ELF file */
	assert_int_equal(elf_file_open_parts(r, &p, "x", &f, &e), -EINVAL);
	p.nr = 0;
	assert_int_equal(elf_file_open_parts(r, &p, "x", &f, &e), -EINVAL);
	p.nr = 1;
	p.file_bytes = UINT64_MAX;
	assert_int_equal(elf_file_open_parts(r, &p, "x", &f, &e), -EINVAL);
	elf_reader_free(r);
}

struct source {
	struct elf_file_parts parts;
	const char *path; /* of which it has them */
	struct elf_living living;
};

static bool find_none(void *arg, const struct elf_wanted *w, size_t i, struct elf_mapped *out)
{
	(void)arg;
	(void)w;
	(void)i;
	(void)out;
	return false;
}

static bool find_source(void *arg, const struct elf_wanted *w, struct elf_file_parts *out)
{
	const struct source *s = arg;

	if (strcmp(w->path, s->path) != 0)
		return false;
	*out = s->parts;
	return true;
}

/* Only of a file that is found nowhere else, and only with its build-id. */
TEST(finder)
{
	struct test_world *w = &world;
	struct profile_object o;
	struct source s = {.living = {.find = find_none, .find_stored = find_source, .arg = &s}};
	struct elf_wanted e;
	struct elf_parts parts;
	const struct elf_file *f;
	struct elf_section text;
	char path[4096];

	assert_int_equal(find("p", MAX_BYTES, &parts), 0);
	s.parts = load("p", &parts);
	o = test_object(w, "p", 0, path);
	s.path = path;
	for (int i = 0; i < 3; i++) {
		const bool is_there = i == 0, is_another = i == 2;

		e = (struct elf_wanted){.path = path, .build_id.len = o.build_id_len};
		memcpy(e.build_id.bytes, o.build_id, sizeof(e.build_id.bytes));
		e.build_id.bytes[0] ^= (uint8_t)is_another;
		test_world_open(w, NULL, NULL);
		s.living.finder = w->finder;
		elf_finder_add_living(&s.living);
		f = elf_finder_code(w->finder, &e);
		assert_int_equal(f != NULL, !is_another);
		if (f)
			assert_int_equal(elf_file_load_section(f, ".text", &text), is_there);
		assert_ptr_equal(elf_finder_debug(w->finder, &e), f);
		assert_int_equal(w->nr_problems, is_another);
		elf_finder_remove_living(&s.living);
		test_world_close(w);
		if (is_there)
			assert_true(test_shell(w, "rm p"));
	}
	mem_free((void *)s.parts.bytes);
}
