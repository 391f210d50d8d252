/*
 * Jitdumps made by hand: an address that holds one function after another, moves, the other byte
 * order, files that are cut, that lie, that grow, and lines of both kinds of writers.
 */
#include "kit.h"

#include "base/buf.h"
#include "symbol/jitdump.h"

#include <byteswap.h>
#include <elf.h>
#include <stdlib.h>

enum { LOAD, MOVE, LINES, CLOSE, UNWINDING, HEADER = 40, MAX = 1 << 20 };

/* A file that is written, and how it is read. */
struct made {
	struct buf b;
	bool is_swapped;
	uint64_t nr_left, nr_read; /* bytes that may be paid for; readings */
	int rc;                    /* of readings */
};

static struct made made;
static struct jitdump dump;

static void put_16_32(uint32_t v)
{
	v = made.is_swapped ? bswap_32(v) : v;
	buf_add(&made.b, &v, sizeof(v));
}

static void put_64(uint64_t v)
{
	v = made.is_swapped ? bswap_64(v) : v;
	buf_add(&made.b, &v, sizeof(v));
}

static void put_header(uint32_t version, uint64_t flags)
{
	const uint32_t words[] = {0x4a695444, version, HEADER, EM_X86_64, 0, 77};

	for (size_t i = 0; i < NR(words); i++)
		put_16_32(words[i]);
	put_64(1);
	put_64(flags);
}

static void put_prefix(uint32_t kind, size_t size, uint64_t time)
{
	put_16_32(kind);
	put_16_32((uint32_t)size);
	put_64(time);
}

/* Its code is its name again. */
static void put_load(uint64_t time, uint64_t address, uint64_t size, const char *name)
{
	const size_t len = strlen(name);

	put_prefix(LOAD, 56 + len + 1 + size, time);
	put_64(0);
	put_64(address);
	put_64(address);
	put_64(size);
	put_64(0);
	buf_add(&made.b, name, len + 1);
	for (uint64_t i = 0; i < size; i++)
		buf_add(&made.b, len ? &name[i % len] : "", 1);
}

static void put_move(uint64_t time, uint64_t from, uint64_t to, uint64_t size)
{
	put_prefix(MOVE, 64, time);
	put_64(0);
	put_64(to);
	put_64(from);
	put_64(to);
	put_64(size);
	put_64(0);
}

struct line {
	uint64_t address;
	uint32_t number;
	const char *file;
};

static void put_lines(uint64_t address, const struct line *line, size_t nr)
{
	size_t size = 32;

	for (size_t i = 0; i < nr; i++)
		size += 16 + strlen(line[i].file) + 1;
	put_prefix(LINES, size, 1);
	put_64(address);
	put_64(nr);
	for (size_t i = 0; i < nr; i++) {
		put_64(line[i].address);
		put_16_32(line[i].number);
		put_16_32(0);
		buf_add(&made.b, line[i].file, strlen(line[i].file) + 1);
	}
}

/* Of both sections, whatever is said of their sizes. */
static void put_table(uint64_t size, uint64_t header, size_t bytes)
{
	put_prefix(UNWINDING, 40 + bytes, 1);
	put_64(size);
	put_64(header);
	put_64(0);
	buf_fill(&made.b, 't', bytes);
}

static int read_made(void *arg, uint64_t offset, size_t len, void *out)
{
	struct made *m = arg;

	assert_true(offset <= m->b.len && len <= m->b.len - offset);
	m->nr_read++;
	if (m->rc)
		return m->rc;
	memcpy(out, m->b.data + offset, len);
	return 0;
}

static bool pay(void *arg, uint64_t bytes)
{
	struct made *m = arg;

	if (bytes > m->nr_left)
		return false;
	m->nr_left -= bytes;
	return true;
}

static const struct jitdump_source source = {read_made, pay, &made};

static int read_all(void)
{
	return jitdump_read(&dump, &source, made.b.len);
}

HOOK(before_each)
{
	made = (struct made){.nr_left = UINT64_MAX};
	buf_init(&made.b, MAX);
}

HOOK(after_each)
{
	buf_fini(&made.b);
	jitdump_fini(&dump);
}

static const char *name_at(uint64_t address, uint64_t time)
{
	const struct jitdump_place *p = jitdump_find(&dump, address, time);

	return !p                           ? ""
	       : p->code == JITDUMP_NO_CODE ? "-"
					    : jitdump_name(&dump, &dump.codes[p->code]);
}

/* The byte of the file that is the code at an address. */
static char byte_at(uint64_t address, uint64_t time)
{
	const struct jitdump_place *p = jitdump_find(&dump, address, time);
	const struct jitdump_code *c = &dump.codes[p->code];
	const uint64_t offset = c->offset + (address + p->offset - c->start);

	assert_ptr_equal(jitdump_code_at(&dump, offset), c);
	return made.b.data[offset];
}

/* What is at an address is what was loaded there last, before then. */
static void check_reuse(void)
{
	put_header(1, 0);
	put_load(100, 0x1000, 0x10, "first");
	put_load(200, 0x2000, 0x20, "other");
	put_load(300, 0x1008, 0x10, "second");
	put_load(400, 0x1000, 0x10, "");
	put_load(500, 0x1000, 0x08, "third");
	assert_int_equal(read_all(), 0);
	assert_null(dump.fault);
	assert_int_equal(dump.machine, EM_X86_64);
	assert_int_equal(dump.next, made.b.len);
	assert_string_equal(name_at(0x1000, 99), "");
	assert_string_equal(name_at(0x1000, 100), "first");
	assert_string_equal(name_at(0x100f, 299), "first");
	assert_string_equal(name_at(0x1010, 299), "");
	assert_string_equal(name_at(0x1007, 300), "first");
	assert_string_equal(name_at(0x1008, 300), "second");
	assert_string_equal(name_at(0x1017, UINT64_MAX), "second");
	assert_string_equal(name_at(0x1000, 450), "-"); /* without a name */
	assert_string_equal(name_at(0x1007, 500), "third");
	assert_string_equal(name_at(0x1008, 500), "-");
	assert_string_equal(name_at(0x201f, 500), "other");
	assert_string_equal(name_at(0x2020, 500), "");
	assert_int_equal(jitdump_nr_until(&dump, 299), 2);
	assert_int_equal(jitdump_nr_until(&dump, 300), 3);
	assert_int_equal(byte_at(0x1009, 250), "first"[9 % 5]);
	assert_int_equal(byte_at(0x1009, 350), "second"[1]);
	assert_null(jitdump_code_at(&dump, 0));
	assert_null(jitdump_code_at(&dump, made.b.len));
}

TEST(reuse)
{
	check_reuse();
}

TEST(other_order)
{
	made.is_swapped = true;
	check_reuse();
	assert_true(dump.is_swapped);
}

/* Records may be late: threads write them. */
TEST(out_of_order)
{
	put_header(1, 0);
	put_load(300, 0x1000, 0x10, "later");
	put_load(100, 0x1000, 0x10, "sooner");
	assert_int_equal(read_all(), 0);
	assert_string_equal(name_at(0x1000, 299), "sooner");
	assert_string_equal(name_at(0x1000, 300), "later");
	assert_string_equal(name_at(0x1000, UINT64_MAX), "later");
}

/* What was arranged before a late one is counted differently now. */
TEST(late)
{
	put_header(1, 0);
	put_load(300, 0x1000, 0x10, "later");
	assert_int_equal(read_all(), 0);
	put_load(400, 0x1000, 0x10, "last");
	assert_int_equal(read_all(), 0);
	assert_int_equal(dump.nr_late, 0);
	put_load(100, 0x2000, 0x10, "sooner");
	assert_int_equal(read_all(), 0);
	assert_int_equal(dump.nr_late, 1);
	assert_int_equal(jitdump_nr_until(&dump, 300), 2);
}

TEST(moves)
{
	put_header(1, 0);
	put_load(100, 0x1000, 0x10, "moved");
	put_move(200, 0x1000, 0x1008, 0x10); /* over a part of itself */
	put_move(300, 0x1008, 0x5000, 0x10);
	put_move(400, 0x7000, 0x8000, 0x10); /* of nothing */
	assert_int_equal(read_all(), 0);
	assert_string_equal(name_at(0x1001, 199), "moved");
	assert_string_equal(name_at(0x1001, 200), "-");
	assert_string_equal(name_at(0x1009, 200), "moved");
	assert_string_equal(name_at(0x1009, 300), "-");
	assert_string_equal(name_at(0x5001, 299), "");
	assert_string_equal(name_at(0x5001, 300), "moved");
	assert_string_equal(name_at(0x8000, 400), "-");
	for (unsigned i = 0; i < 0x10; i++)
		assert_int_equal(byte_at(0x5000 + i, 300), "moved"[i % 5]);
	assert_int_equal(dump.nr_bad, 0);
}

/* As perf has them, and as V8 does. */
TEST(lines)
{
	static const struct {
		uint64_t shift, first;
	} cases[] = {{0, 0}, {0, 0x10}, {0x40, 0}, {0x40, 0x10}};

	for (size_t i = 0; i < NR(cases); i++) {
		const uint64_t at = 0x1000 + cases[i].shift;
		const struct line line[] = {{at + 0x20, 12, "\xff"},
					    {at + cases[i].first, 10, "a.js"},
					    {at + 0x18, 11, "\xff"},
					    {at + 0x18, 13, "b.js"},
					    {at + 0x30, (uint32_t)-1, "\xff"}};
		struct jitdump_lines l;

		put_header(1, 0);
		put_lines(0x9000, line, 2); /* of another address */
		put_load(1, 0x2000, 0x10, "none");
		put_lines(0x1000, line + 1, 4);
		put_load(2, 0x1000, 0x40, "some");
		put_load(3, 0x1000, 0x40, "again");
		assert_int_equal(read_all(), 0);
		assert_int_equal(dump.has_plain_lines, !cases[i].shift);
		assert_int_equal(dump.codes[0].lines_len, 0);
		assert_int_equal(dump.codes[2].lines_len, 0);
		assert_int_equal(jitdump_lines_read(&dump, &dump.codes[1], &source, &l), 0);
		assert_int_equal(l.nr, 4);
		assert_true(!jitdump_lines_find(&l, 0x0fff));
		assert_int_equal(jitdump_lines_find(&l, 0x1010)->line, 10);
		assert_string_equal(jitdump_lines_find(&l, 0x1017)->file, "a.js");
		assert_int_equal(jitdump_lines_find(&l, 0x1018)->line, 13);
		assert_string_equal(jitdump_lines_find(&l, 0x102f)->file, "b.js");
		assert_int_equal(jitdump_lines_find(&l, 0x103f)->line, 0);
		jitdump_lines_fini(&l);
		made.nr_left = 10;
		assert_int_equal(jitdump_lines_read(&dump, &dump.codes[1], &source, &l), -ENOMEM);
		made.nr_left = UINT64_MAX;
		jitdump_fini(&dump);
		buf_reset(&made.b);
	}
}

/* It is of the next function that is loaded; one that is empty or too long is none, one that lies
 * is a fault. */
TEST(tables)
{
	static const struct {
		uint64_t size, header;
		size_t bytes;
		uint64_t nr_bad;
		uint32_t len;
	} cases[] = {
	    {68, 20, 68, 0, 48},
	    {68, 20, 72, 0, 48},
	    {20, 20, 20, 0, 0},
	    {69, 20, 68, 1, 0},
	    {20, 21, 24, 1, 0},
	    {JITDUMP_MAX_TABLE_BYTES, 0, JITDUMP_MAX_TABLE_BYTES, 0, JITDUMP_MAX_TABLE_BYTES},
	    {JITDUMP_MAX_TABLE_BYTES + 1, 0, JITDUMP_MAX_TABLE_BYTES + 1, 0, 0},
	    {UINT64_MAX, 0, 8, 1, 0},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		put_header(1, 0);
		put_table(cases[i].size, cases[i].header, cases[i].bytes);
		put_load(2, 0x1000, 0x41, "has");
		put_load(3, 0x2000, 0x40, "none");
		assert_int_equal(read_all(), 0);
		assert_int_equal(dump.nr_codes, 2);
		assert_int_equal(dump.nr_bad, cases[i].nr_bad);
		assert_int_equal(dump.codes[0].table_len, cases[i].len);
		assert_int_equal(dump.codes[1].table_len, 0);
		assert_int_equal(jitdump_table_address(&dump.codes[0]), 0x1048);
		assert_int_equal(jitdump_table_address(&dump.codes[1]), 0x2040);
		if (cases[i].len)
			assert_int_equal(made.b.data[dump.codes[0].table_offset + cases[i].len - 1],
					 't');
		jitdump_fini(&dump);
		buf_reset(&made.b);
	}
}

/* A record without a name ends it, too. */
TEST(table_of_no_function)
{
	put_header(1, 0);
	put_table(68, 20, 68);
	put_load(2, 0x1000, 0x10, "");
	put_load(3, 0x2000, 0x10, "next");
	made.nr_left = UINT64_MAX;
	assert_int_equal(read_all(), 0);
	assert_int_equal(dump.nr_codes, 1);
	assert_int_equal(dump.codes[0].table_len, 0);
}

/* As V8 writes a name that it has freed: the first words are of the allocator. */
TEST(freed_names)
{
	static const char name[] = "JS:*hot /folder/of/some/hot.js:1:17";
	static const struct {
		size_t at; /* a byte of the first name that is changed further */
		bool is_known;
	} cases[] = {{0, true}, {15, true}, {16, false}, {21, false}, {22, false}};
	const struct line line[] = {{0x1040, 10, "/folder/of/some/hot.js"},
				    {0x1050, 11, "/folder/of/some/hot.js"}};
	const size_t first = HEADER + 32 + 16, entry = 16 + strlen(line[0].file) + 1;

	for (size_t i = 0; i < NR(cases); i++) {
		struct jitdump_lines l;

		put_header(1, 0);
		put_lines(0x1000, line, 2);
		put_load(2, 0x1000, 0x40, name);
		memcpy(made.b.data + first, "^o\2\0\0\0\0\0\1\2\3\4\5\6\7\10", 16);
		memcpy(made.b.data + first + entry, made.b.data + first, 16);
		made.b.data[first + cases[i].at] ^= 0x20;
		assert_int_equal(read_all(), 0);
		assert_int_equal(jitdump_lines_read(&dump, &dump.codes[0], &source, &l), 0);
		assert_int_equal(l.nr, cases[i].is_known ? 2 : 0);
		if (cases[i].is_known) {
			assert_string_equal(jitdump_lines_find(&l, 0x100f)->file, line[0].file);
			assert_int_equal(jitdump_lines_find(&l, 0x1010)->line, 11);
		}
		jitdump_lines_fini(&l);
		jitdump_fini(&dump);
		buf_reset(&made.b);
	}
}

/* V8 of Node 18: entries after the first name the same file, and the function's name has no column.
 */
TEST(freed_name_of_all)
{
	static const char *const files[] = {"/n/a.js", "/folder/of/some/hot.js"};

	for (size_t i = 0; i < 4 * NR(files); i++) {
		const char *file = files[i % NR(files)];
		const bool is_other = i >= 2 * NR(files); /* one entry has a name of its own */
		const struct line line[] = {{0x1040, 10, file},
					    {0x1050, 11, "\xff"},
					    {0x1060, 12, is_other ? "x" : "\xff"}};
		const size_t first = HEADER + 32 + 16;
		char name[64];
		struct jitdump_lines l;

		snprintf(name, sizeof(name), "LazyCompile:*hot %s:1", file);
		put_header(1, 0);
		put_lines(0x1000, line, 3);
		if (i / NR(files) % 2) { /* padded */
			buf_fill(&made.b, '\0', 3);
			made.b.data[HEADER + 4] += 3;
		}
		put_load(2, 0x1000, 0x40, name);
		memcpy(made.b.data + first, "^o\2\0\1\0\1", 7);
		assert_int_equal(read_all(), 0);
		assert_int_equal(jitdump_lines_read(&dump, &dump.codes[0], &source, &l), 0);
		assert_int_equal(l.nr, is_other ? 0 : 3);
		if (l.nr) {
			assert_string_equal(jitdump_lines_find(&l, 0x100f)->file, file);
			assert_string_equal(jitdump_lines_find(&l, 0x1020)->file, file);
			assert_int_equal(jitdump_lines_find(&l, 0x1020)->line, 12);
		}
		jitdump_lines_fini(&l);
		jitdump_fini(&dump);
		buf_reset(&made.b);
	}
}

/* A path of which all was freed is that of the name, if it is as long. */
TEST(short_freed_names)
{
	static const char *const files[] = {"/n/a.js", "/n/b/a.js"};

	for (size_t i = 0; i < NR(files); i++) {
		const struct line line[] = {{0x1040, 10, files[0]}, {0x1050, 11, files[0]}};
		const size_t first = HEADER + 32 + 16, entry = 16 + strlen(files[0]) + 1;
		char name[64];
		struct jitdump_lines l;

		snprintf(name, sizeof(name), "JS:*hot %s:1:17", files[i]);
		put_header(1, 0);
		put_lines(0x1000, line, 2);
		put_load(2, 0x1000, 0x40, name);
		memcpy(made.b.data + first, "^o\2\0\1\0\1", 7);
		memcpy(made.b.data + first + entry, made.b.data + first, 7);
		assert_int_equal(read_all(), 0);
		assert_int_equal(jitdump_lines_read(&dump, &dump.codes[0], &source, &l), 0);
		assert_int_equal(l.nr, i ? 0 : 2);
		if (l.nr)
			assert_string_equal(jitdump_lines_find(&l, 0x100f)->file, files[0]);
		jitdump_lines_fini(&l);
		jitdump_fini(&dump);
		buf_reset(&made.b);
	}
}

/* What is written later is read from where the last reading ended. */
TEST(grows)
{
	uint64_t whole[4], nr;

	put_header(1, 0);
	for (unsigned i = 0; i < 4; i++) {
		put_load(100 * (i + 1), 0x1000, 0x10, &"abcd"[i]);
		whole[i] = made.b.len;
	}
	for (uint64_t size = 0; size <= made.b.len; size++) {
		for (nr = 0; nr < 4 && whole[nr] <= size;)
			nr++;
		assert_int_equal(jitdump_read(&dump, &source, size), 0);
		assert_null(dump.fault);
		assert_int_equal(dump.nr_codes, nr);
		assert_int_equal(dump.next, nr ? whole[nr - 1] : size < HEADER ? 0 : HEADER);
		assert_string_equal(name_at(0x1000, UINT64_MAX), nr ? &"abcd"[nr - 1] : "");
	}
	nr = made.nr_read;
	assert_int_equal(read_all(), 0);
	assert_int_equal(made.nr_read, nr); /* nothing is new */
}

static void set_32(size_t at, uint32_t v)
{
	memcpy(made.b.data + at, &v, sizeof(v));
}

/* Of each: what is read, and what is said. */
TEST(lies)
{
	static const struct {
		size_t at;
		uint32_t value;
		const char *fault;
		uint64_t nr_bad;
		size_t nr_codes;
	} cases[] = {
	    {0, 0x12345678, "is not a jitdump", 0, 0},
	    {4, 2, "has a version of the format that is not known", 0, 0},
	    {8, 39, "has an invalid header", 0, 0},
	    {8, 0xffffffff, NULL, 0, 0}, /* beyond the end */
	    {HEADER + 4, 15, "has a record of an invalid size", 0, 0},
	    {HEADER + 4, 0, "has a record of an invalid size", 0, 0},
	    {HEADER + 4, 0xffffffff, NULL, 0, 0},                      /* it may be on its way */
	    {HEADER + 4, 16, "has a record of an invalid size", 1, 0}, /* too short */
	    {HEADER + 40, 0x11, NULL, 1, 1},                           /* code beyond the record */
	    {HEADER + 40, 0, NULL, 1, 1},                              /* none */
	    {HEADER + 44, 0xffffffff, NULL, 1, 1},                     /* beyond all addresses */
	    {HEADER, 4, NULL, 1, 1},  /* a part longer than the table */
	    {HEADER, 99, NULL, 0, 1}, /* newer than this */
	    {HEADER, 1, NULL, 1, 1},  /* a move of no bytes */
	    {HEADER, 2, NULL, 1, 1},  /* lines without end */
	};

	for (size_t i = 0; i < NR(cases); i++) {
		put_header(1, 0);
		put_load(100, 0x1000, 0x10, "first");
		put_load(200, 0x2000, 0x10, "second");
		set_32(cases[i].at, cases[i].value);
		assert_int_equal(read_all(), 0);
		if (cases[i].fault)
			assert_string_equal(dump.fault, cases[i].fault);
		else
			assert_null(dump.fault);
		assert_int_equal(dump.nr_codes, cases[i].nr_codes);
		assert_int_equal(dump.nr_bad, cases[i].nr_bad);
		jitdump_fini(&dump);
		buf_reset(&made.b);
	}
}

TEST(arch_time)
{
	put_header(1, 1);
	put_load(100, 0x1000, 0x10, "first");
	assert_int_equal(read_all(), 0);
	assert_true(dump.is_arch_time);
	assert_string_equal(name_at(0x1000, UINT64_MAX), "first");
}

/* A name beyond the limit is cut; the code is where it is. */
TEST(long_names)
{
	char name[JITDUMP_MAX_NAME_BYTES + 1];

	memset(name, 'x', sizeof(name));
	memcpy(name, "first", 5);
	put_header(1, 0);
	for (size_t cut = 0; cut < 2; cut++) {
		name[sizeof(name) - 1 - cut] = '\0';
		put_load(1, 0x1000 * (cut + 1), 0x10, name);
	}
	assert_int_equal(read_all(), 0);
	assert_int_equal(dump.nr_bad, 0);
	assert_string_equal(name_at(0x1000, 1), name);
	assert_int_equal(byte_at(0x1000, 1), 'f');
	assert_int_equal(byte_at(0x1001, 1), 'i');
	assert_string_equal(name_at(0x2000, 1), name);
	assert_int_equal(byte_at(0x2000, 1), 'f');
}

/* What a damaged record is about is not known any more: no samples are of what was there before. */
TEST(damaged_records_hide)
{
	size_t at;

	put_header(1, 0);
	put_load(100, 0x1000, 0x10, "first");
	at = made.b.len;
	put_load(200, 0x1000, 0x10, "second");
	set_32(at + 40, 0x1000); /* more code than the record has */
	at = made.b.len;
	put_load(300, 0x3000, 0x10, "third");
	put_move(400, 0x3000, 0x4000, 0x10);
	set_32(made.b.len - 64 + 40, 0xffffffff);
	set_32(made.b.len - 64 + 44, 0xffffffff); /* to beyond all addresses */
	assert_int_equal(read_all(), 0);
	assert_int_equal(dump.nr_bad, 2);
	assert_string_equal(name_at(0x1000, 199), "first");
	assert_string_equal(name_at(0x1000, 200), "-");
	assert_string_equal(name_at(0x3000, 399), "third");
	assert_string_equal(name_at(0x3000, 400), "-");
}

/* Code that is larger than the window is passed over. */
TEST(large)
{
	put_header(1, 0);
	put_load(1, 0x100000, 300000, "large");
	put_load(2, 0x10, 0x10, "behind");
	assert_int_equal(read_all(), 0);
	assert_string_equal(name_at(0x18, 2), "behind");
	assert_true(made.nr_read <= 4);
}

TEST(budget)
{
	put_header(1, 0);
	for (uint64_t i = 0; i < 100; i++)
		put_load(i, 0x1000 + 0x10 * i, 0x10, "f");
	made.nr_left = 10000;
	assert_int_equal(read_all(), -EOVERFLOW);
	assert_true(dump.nr_codes > 5 && dump.nr_codes < 100);
	assert_string_equal(name_at(0x1000, 0), "f");
	jitdump_fini(&dump);
	made.rc = -EIO;
	assert_int_equal(read_all(), -EIO);
	assert_int_equal(dump.nr_codes, 0);
}

static int read_one(void *arg)
{
	struct jitdump d = {.next = 0};
	struct jitdump_lines l;
	int rc = jitdump_read(&d, arg, made.b.len);

	if (rc == 0) {
		rc = jitdump_lines_read(&d, &d.codes[0], arg, &l);
		if (rc == 0)
			jitdump_lines_fini(&l);
	}
	jitdump_fini(&d);
	return rc;
}

TEST(failures)
{
	const struct line line = {0x1000, 1, "a"};
	struct jitdump_source s = source;

	put_header(1, 0);
	put_lines(0x1000, &line, 1);
	put_load(1, 0x1000, 0x10, "first");
	put_move(2, 0x1000, 0x2000, 0x10);
	inject_every(read_one, &s, 5, 0);
}
