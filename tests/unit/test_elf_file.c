/*
 * Segments and sections of small files made by hand, of programs of the compiler, and of both with
 * damage: nothing outside of the file is touched (the sanitizers see to that).
 */
#include "kit.h"
#include "test_elf.h"
#include "test_symbols.h"

#include "base/mem.h"
#include "elf/file.h"
#include "elf/reader.h"
#include "elf/unpack.h"

#include <elf.h>
#include <lzma.h>

/* A file of 64 bits: segments, then bytes. */
static void make(struct buf *out, const Elf64_Phdr *phdr, size_t nr, size_t nr_bytes)
{
	buf_init(out, 1 << 20);
	test_elf_header(out, 64, nr);
	buf_add(out, phdr, nr * sizeof(*phdr));
	buf_fill(out, 'x', nr_bytes);
	assert_int_equal(buf_error(out), 0);
}

HOOK(before_each)
{
	test_world_setup();
}

HOOK(after_each)
{
	test_world_teardown();
}

TEST(addresses)
{
	/* code that begins in the page in which data ends, as linkers make it */
	static const Elf64_Phdr phdr[] = {
	    {.p_type = PT_LOAD,
	     .p_flags = PF_R,
	     .p_offset = 0,
	     .p_vaddr = 0x400000,
	     .p_filesz = 0x1800,
	     .p_align = 0x1000},
	    {.p_type = PT_LOAD,
	     .p_flags = PF_R | PF_X,
	     .p_offset = 0x1800,
	     .p_vaddr = 0x401800 + 0x1000,
	     .p_filesz = 0x800,
	     .p_align = 0x1000},
	    {.p_type = PT_LOAD,
	     .p_flags = PF_R | PF_W,
	     .p_offset = 0x2400,
	     .p_vaddr = 0x500400,
	     .p_filesz = 0x100,
	     .p_align = 0x1000},
	};
	static const struct {
		uint64_t offset, address; /* 0: nothing is mapped from there */
	} cases[] = {
	    {0, 0x400000},      {0x17ff, 0x4017ff}, {0x1800, 0x402800},
	    {0x1fff, 0x402fff}, {0x2000, 0x500000}, {0x2400, 0x500400},
	    {0x24ff, 0x5004ff}, {0x2500, 0},        {UINT64_MAX, 0},
	};
	/* where mappings begin: code's in a page of what is before it */
	static const struct {
		uint64_t offset;
		bool is_code;
		uint64_t address;
	} begins[] = {
	    {0, false, 0x400000},     {0x1000, true, 0x402000}, {0x1000, false, 0x401000},
	    {0x1c00, true, 0x402c00}, {0, true, 0x400000},      {0x2000, false, 0x500000},
	    {0x3000, true, 0},
	};
	struct elf_file *f;
	struct buf b;
	size_t len;

	make(&b, phdr, NR(phdr), 0x3000);
	assert_int_equal(elf_file_open_mem(b.data, b.len, false, "made", &f, NULL), 0);
	assert_string_equal(elf_file_name(f), "made");
	assert_true(elf_file_is_64(f));
	assert_int_equal(elf_file_machine(f), EM_X86_64);
	assert_int_equal(elf_file_build_id(f)->len, 0);
	assert_int_equal(elf_file_nr_sections(f), 0);
	for (size_t i = 0; i < NR(cases); i++) {
		uint64_t address = 0;

		assert_int_equal(elf_file_address(f, cases[i].offset, &address),
				 cases[i].address != 0);
		assert_int_equal(address, cases[i].address);
	}
	for (size_t i = 0; i < NR(begins); i++) {
		uint64_t address = 0;

		assert_int_equal(
		    elf_file_mapping_address(f, begins[i].offset, begins[i].is_code, &address),
		    begins[i].address != 0);
		assert_int_equal(address, begins[i].address);
	}
	assert_int_equal(elf_file_nr_segments(f), NR(phdr));
	for (size_t i = 0; i < NR(phdr); i++) {
		struct elf_segment seg;

		elf_file_segment(f, i, &seg);
		assert_int_equal(seg.offset, phdr[i].p_offset);
		assert_int_equal(seg.address, phdr[i].p_vaddr);
		assert_int_equal(seg.file_bytes, phdr[i].p_filesz);
		assert_int_equal(seg.is_code, (phdr[i].p_flags & PF_X) != 0);
		assert_int_equal(seg.is_writable, (phdr[i].p_flags & PF_W) != 0);
	}
	assert_ptr_equal(elf_file_bytes(f, 0x402900, SIZE_MAX, &len), (uint8_t *)b.data + 0x1900);
	assert_int_equal(len, 0x700);
	assert_non_null(elf_file_bytes(f, 0x402900, 0x780, &len));
	assert_int_equal(len, 0x700);
	assert_non_null(elf_file_bytes(f, 0x402900, 0x10, &len));
	assert_int_equal(len, 0x10);
	assert_null(elf_file_bytes(f, 0x403000, SIZE_MAX, &len));
	assert_null(elf_file_bytes(f, 0x3fffff, SIZE_MAX, &len));
	elf_file_close(f);
	buf_fini(&b);
}

/* Code of two kinds that share a page: the second one's mapping begins in the first one's bytes. */
TEST(two_codes)
{
	static const Elf64_Phdr phdr[] = {
	    {.p_type = PT_LOAD,
	     .p_flags = PF_X,
	     .p_offset = 0x600,
	     .p_vaddr = 0x401600,
	     .p_filesz = 0xb00,
	     .p_align = 0x1000},
	    {.p_type = PT_LOAD,
	     .p_flags = PF_R | PF_X,
	     .p_offset = 0x1100,
	     .p_vaddr = 0x403100,
	     .p_filesz = 0x100,
	     .p_align = 0x1000},
	};
	struct elf_file *f;
	uint64_t address;
	struct buf b;

	make(&b, phdr, NR(phdr), 0x2000);
	assert_int_equal(elf_file_open_mem(b.data, b.len, false, "made", &f, NULL), 0);
	assert_true(elf_file_mapping_address(f, 0x1000, true, &address));
	assert_int_equal(address, 0x403000);
	assert_true(elf_file_mapping_address(f, 0, true, &address));
	assert_int_equal(address, 0x401000);
	elf_file_close(f);
	buf_fini(&b);
}

/* As objcopy and the compiler write it: a build-id in a section only, and numbers that the header
 * is too small for. */
TEST(sections)
{
	static const char names[] = "\0.note\0.names";
	static const char note[] = TEST_BUILD_ID;
	for (int is_extended = 0; is_extended < 2; is_extended++) {
		const Elf64_Shdr shdr[3] = {
		    {.sh_size = is_extended ? 3 : 0, .sh_link = is_extended ? 2 : 0},
		    {.sh_name = 1,
		     .sh_type = SHT_NOTE,
		     .sh_offset = sizeof(Elf64_Ehdr) + sizeof(shdr),
		     .sh_size = sizeof(note) - 1,
		     .sh_addralign = 4},
		    {.sh_name = 7,
		     .sh_type = SHT_STRTAB,
		     .sh_offset = sizeof(Elf64_Ehdr) + sizeof(shdr) + sizeof(note) - 1,
		     .sh_size = sizeof(names)},
		};
		const Elf64_Half nr = is_extended ? 0 : NR(shdr), bytes = sizeof(*shdr),
				 at = is_extended ? SHN_XINDEX : 2;
		const Elf64_Off offset = sizeof(Elf64_Ehdr);
		struct elf_section s;
		struct elf_file *f;
		struct buf b;

		make(&b, NULL, 0, 0);
		memcpy(b.data + offsetof(Elf64_Ehdr, e_shoff), &offset, sizeof(offset));
		memcpy(b.data + offsetof(Elf64_Ehdr, e_shentsize), &bytes, sizeof(bytes));
		memcpy(b.data + offsetof(Elf64_Ehdr, e_shnum), &nr, sizeof(nr));
		memcpy(b.data + offsetof(Elf64_Ehdr, e_shstrndx), &at, sizeof(at));
		buf_add(&b, shdr, sizeof(shdr));
		buf_add(&b, note, sizeof(note) - 1);
		buf_add(&b, names, sizeof(names));
		assert_int_equal(elf_file_open_mem(b.data, b.len, false, "made", &f, NULL), 0);
		assert_int_equal(elf_file_nr_sections(f), NR(shdr));
		assert_true(elf_file_find_section(f, ".note", &s));
		assert_int_equal(s.number, 1);
		assert_int_equal(elf_file_build_id(f)->len, 20);
		assert_memory_equal(elf_file_build_id(f)->bytes, TEST_ID20, 20);
		elf_file_close(f);
		buf_fini(&b);
	}
}

/* The limit is that of the unpacked bytes. */
TEST(unpack)
{
	enum { LEN = 1000 };
	static uint8_t plain[LEN], packed[LEN];
	uint8_t *out;
	size_t len = 0;

	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, plain, LEN, packed,
						 &len, sizeof(packed)),
			 LZMA_OK);
	for (size_t max = LEN - 1; max <= LEN; max++) {
		size_t out_len = 0;
		int rc = elf_unpack_xz(packed, len, max, &out, &out_len);

		assert_int_equal(rc, max < LEN ? -EFBIG : 0);
		if (rc == 0) {
			assert_int_equal(out_len, LEN);
			assert_memory_equal(out, plain, LEN);
			mem_free(out);
		}
	}
	assert_int_equal(elf_unpack_xz(packed, len - 1, LEN, &out, &len), -EINVAL);
}

/* Each is refused, or has nothing that is not in the file. */
TEST(senseless)
{
	static const Elf64_Phdr phdr[] = {
	    {.p_type = PT_LOAD, .p_offset = UINT64_MAX - 4, .p_filesz = 100},
	    {.p_type = PT_LOAD, .p_offset = 100, .p_filesz = UINT64_MAX, .p_vaddr = 5},
	    {.p_type = PT_LOAD, .p_offset = 0, .p_filesz = 200, .p_vaddr = UINT64_MAX - 50},
	    {.p_type = PT_LOAD, .p_align = UINT64_MAX, .p_filesz = 1, .p_vaddr = 1 << 20},
	    {.p_type = PT_NOTE, .p_offset = UINT64_MAX, .p_filesz = UINT64_MAX},
	    {.p_type = PT_NOTE, .p_offset = 10, .p_filesz = UINT64_MAX, .p_align = 3},
	};
	struct elf_file *f;
	uint64_t address;
	struct buf b;
	size_t len;

	make(&b, phdr, NR(phdr), 100);
	assert_int_equal(elf_file_open_mem(b.data, b.len, false, "made", &f, NULL), 0);
	assert_non_null(elf_file_bytes(f, 5, SIZE_MAX, &len));
	assert_int_equal(len, b.len - 100);
	assert_null(elf_file_bytes(f, UINT64_MAX - 50, SIZE_MAX, &len));
	assert_null(elf_file_bytes(f, 0, SIZE_MAX, &len));
	assert_false(elf_file_address(f, UINT64_MAX - 4, &address));
	elf_file_close(f);
	buf_fini(&b);
}

TEST(refused)
{
	static const struct {
		size_t at, len;
		const char *bytes;
	} cases[] = {
	    {0, 1, "x"},      /* magic */
	    {4, 1, "\3"},     /* class */
	    {4, 1, "\0"},     /* class */
	    {5, 1, "\2"},     /* big-endian */
	    {54, 1, "\77"},   /* size of a program header */
	    {56, 2, "\1\1"},  /* 257 of them */
	    {56, 2, "\377"},  /* more than the file has */
	    {32, 2, "\0\77"}, /* elsewhere */
	};
	static const Elf64_Phdr phdr[1] = {{.p_type = PT_LOAD}};

	for (size_t i = 0; i <= NR(cases); i++) {
		struct err e = {0};
		struct elf_file *f = NULL;
		struct buf b;

		make(&b, phdr, 1, 0);
		if (i < NR(cases))
			memcpy(b.data + cases[i].at, cases[i].bytes, cases[i].len);
		assert_int_equal(elf_file_open_mem(b.data, b.len, false, "made", &f, &e),
				 i < NR(cases) ? -EINVAL : 0);
		assert_true((f == NULL) == (e.code == -EINVAL));
		elf_file_close(f);
		buf_fini(&b);
	}
}

TEST(no_files)
{
	static const char *const paths[] = {"/dev/null", "/proc/self/status", "/"};
	struct elf_file *f = NULL;
	struct elf_reader *reader;
	struct stat st;

	assert_int_equal(elf_reader_new(&(struct elf_reader_config){0}, &reader), 0);
	for (size_t i = 0; i < NR(paths); i++) {
		struct err e = {0};

		assert_int_equal(elf_file_open(reader, paths[i], &f, &st, &e), -EINVAL);
		assert_non_null(strstr(e.source, paths[i]));
	}
	elf_reader_free(reader);
}

/* This very program, as readelf sees it. */
TEST(own)
{
	struct elf_file *f = test_open_elf("/proc/self/exe");
	char hex[2 * ELF_MAX_BUILD_ID_BYTES + 1], want[256];
	const struct elf_build_id *id = elf_file_build_id(f);
	struct elf_section s, text;
	uint64_t address;

	if (!test_own_build_id(want, sizeof(want))) {
		elf_file_close(f);
		SKIP("there is no readelf");
	}
	for (size_t i = 0; i < id->len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->bytes[i]);
	assert_string_equal(id->len ? hex : "", want);
	assert_true(elf_file_find_section(f, ".text", &text));
	assert_true(text.flags & SHF_EXECINSTR);
	assert_true(text.is_held && elf_file_load(f, &text));
	assert_non_null(text.data);
	assert_true(elf_file_address(f, text.offset + 5, &address));
	assert_int_equal(address, text.address + 5);
	assert_true(elf_file_find_section(f, ".bss", &s));
	assert_true(!s.is_held && !elf_file_load(f, &s));
	assert_null(s.data);
	memset(&s, 7, sizeof(s));
	assert_false(elf_file_find_section(f, ".tex", &s));
	assert_int_equal(s.number, 0x07070707);
	assert_false(elf_file_section(f, elf_file_nr_sections(f), &s));
	elf_file_close(f);
}

/* Everything that a file may be asked. */
static void ask_all(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1); /* so that a byte too far is seen */
	struct elf_section s;
	struct elf_file *f;
	uint64_t address, sum = 0;
	size_t n;

	assert_non_null(copy);
	memcpy(copy, data, len);
	if (elf_file_open_mem(copy, len, false, "damaged", &f, NULL) == 0) {
		for (size_t i = 0; i < elf_file_nr_sections(f); i++) {
			assert_true(elf_file_section(f, i, &s));
			sum += strlen(s.name);
			elf_file_load(f, &s);
			for (uint64_t k = 0; s.data && k < s.size; k += s.size / 7 + 1)
				sum += s.data[k];
		}
		for (uint64_t offset = 0; offset < len + 8192; offset += 512)
			if (elf_file_address(f, offset, &address)) {
				const uint8_t *p = elf_file_bytes(f, address, SIZE_MAX, &n);

				sum += p ? p[0] + p[n - 1] : 0;
			}
		elf_file_close(f);
	}
	free(copy);
	assert_true(sum != 1);
}

TEST(damaged)
{
	struct test_world *w = &world;
	struct elf_file *f;
	char path[4096];
	uint64_t seed = 1;
	const uint8_t *data;
	uint8_t *bad;
	size_t len;

	TEST_NEEDS(w, "cc");
	assert_true(
	    test_shell(w, "echo 'int f(void) { return 1; }' >a.c && cc -shared -o a.so a.c"));
	snprintf(path, sizeof(path), "%s/a.so", w->tree.dir);
	f = test_open_elf(path);
	data = elf_file_data(f, &len);
	assert_true(len > 4096);
	if (!len) /* for the analyzer, to which an assertion is none */
		return;
	for (size_t cut = 0; cut < len; cut += 64)
		ask_all(data, cut);
	bad = malloc(len + 1);
	assert_non_null(bad);
	for (int round = 0; round < 3000; round++) {
		memcpy(bad, data, len);
		/* the header, and then any byte: of section headers, which are last, too */
		for (int i = 0; i < 4; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			bad[(seed >> 33) % (i == 0   ? 64
					    : i == 1 ? 1000
						     : len)] = (uint8_t)(seed >> 20);
			bad[len - 1 - (seed >> 40) % 2000] = (uint8_t)(seed >> 24);
		}
		ask_all(bad, len);
	}
	free(bad);
	elf_file_close(f);
}

static int open_one(void *arg)
{
	struct elf_file *f;
	struct err e = {0};
	struct stat st;
	int rc = elf_file_open(arg, "/proc/self/exe", &f, &st, &e);

	assert_int_equal(e.code, rc);
	assert_true(rc != -ENOMEM || strcmp(e.source, "/proc/self/exe") == 0);
	if (rc == 0)
		elf_file_close(f);
	return rc;
}

TEST(failures)
{
	struct elf_reader *reader;

	assert_int_equal(elf_reader_new(&(struct elf_reader_config){0}, &reader), 0);
	assert_int_equal(open_one(reader), 0); /* from now on its child is there, and a socket */
	inject_every(open_one, reader, 4, 0);
	elf_reader_free(reader);
}
