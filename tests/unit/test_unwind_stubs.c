/*
 * PLT stubs as linkers write them: how far the caller's return address is at each instruction. And
 * the stubs of programs that each linker makes here, in which every place has a caller.
 */
#include "kit.h"
#include "test_unwind.h"

#include "unwind/machine.h"
#include "unwind/object.h"

#include "elf/file.h"
#include "elf/reader.h"

#include <elf.h>

enum { NO = -1 };

/* An object file with these bytes in a section, of the class of the machine. */
struct made {
	Elf64_Ehdr header64;
	Elf32_Ehdr header32;
	Elf64_Shdr section64[3];
	Elf32_Shdr section32[3];
	char names[32];
	uint8_t code[64];
};

static struct elf_file *make_file(struct made *m, uint16_t machine, const char *name,
				  const uint8_t *code, size_t len)
{
	const bool is_64 = machine != EM_386;
	const uint64_t base = 0x1000;
	struct elf_file *f;

	*m = (struct made){.header64 = {.e_machine = machine, .e_type = ET_DYN}};
	memcpy(m->code, code, len);
	snprintf(m->names + 1, sizeof(m->names) - 1, "%s", name);
	memcpy(m->header64.e_ident, ELFMAG, SELFMAG);
	m->header64.e_ident[EI_DATA] = ELFDATA2LSB;
	m->header64.e_ident[EI_CLASS] = is_64 ? ELFCLASS64 : ELFCLASS32;
	m->section64[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
				       .sh_offset = offsetof(struct made, names),
				       .sh_size = sizeof(m->names)};
	m->section64[2] = (Elf64_Shdr){.sh_name = 1,
				       .sh_type = SHT_PROGBITS,
				       .sh_addr = base,
				       .sh_offset = offsetof(struct made, code),
				       .sh_size = len};
	if (is_64) {
		m->header64.e_shoff = offsetof(struct made, section64);
		m->header64.e_shentsize = sizeof(Elf64_Shdr);
		m->header64.e_shnum = 3;
		m->header64.e_shstrndx = 1;
	} else {
		Elf32_Ehdr *h = (Elf32_Ehdr *)(void *)m;

		h->e_shoff = offsetof(struct made, section32);
		h->e_shentsize = sizeof(Elf32_Shdr);
		h->e_shnum = 3;
		h->e_shstrndx = 1;
		for (size_t i = 1; i < 3; i++)
			m->section32[i] =
			    (Elf32_Shdr){.sh_name = m->section64[i].sh_name,
					 .sh_type = m->section64[i].sh_type,
					 .sh_addr = (uint32_t)m->section64[i].sh_addr,
					 .sh_offset = (uint32_t)m->section64[i].sh_offset,
					 .sh_size = (uint32_t)m->section64[i].sh_size};
	}
	assert_int_equal(elf_file_open_mem(m, sizeof(*m), false, "made", &f, NULL), 0);
	return f;
}

/* Words between the stack pointer and the caller's at each byte of the code; NO: not known. */
TEST(shapes)
{
	static const struct {
		const char *what, *section, *machine;
		uint8_t len;
		uint8_t code[48];
		int8_t words[48];
	} cases[] = {
	    {"lld, GNU's: the shared code, then a stub",
	     ".plt",
	     "x86_64",
	     32,
	     {0xff, 0x35, 1, 2, 3, 4, 0xff, 0x25, 1, 2, 3, 4,    0x0f, 0x1f, 0x40, 0,
	      0xff, 0x25, 1, 2, 3, 4, 0x68, 0,    0, 0, 0, 0xe9, 1,    2,    3,    4},
	     {2, NO, NO, NO, NO, NO, 3, NO, NO, NO, NO, NO, 3,  NO, NO, NO,
	      1, NO, NO, NO, NO, NO, 1, NO, NO, NO, NO, 2,  NO, NO, NO, NO}},
	    {"with IBT: a stub that pushes, one that jumps",
	     ".plt",
	     "x86_64",
	     32,
	     {0xf3, 0x0f, 0x1e, 0xfa, 0x68, 1,    0,    0, 0, 0xf2, 0xe9, 1,    2,    3,    4, 0x90,
	      0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 1, 2, 3,    4,    0x0f, 0x1f, 0x44, 0, 0},
	     {1, NO, NO, NO, 1, NO, NO, NO, NO, 2,  NO, NO, NO, NO, NO, 2,
	      1, NO, NO, NO, 1, NO, NO, NO, NO, NO, NO, 1,  NO, NO, NO, NO}},
	    {"of slots that are bound at the start",
	     ".plt.got",
	     "x86_64",
	     16,
	     {0xff, 0x25, 1, 2, 3, 4, 0x66, 0x90, 0xff, 0x25, 1, 2, 3, 4, 0x66, 0x90},
	     {1, NO, NO, NO, NO, NO, 1, NO, 1, NO, NO, NO, NO, NO, 1, NO}},
	    {"mold",
	     ".plt",
	     "x86_64",
	     48,
	     {0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x53, 0xff, 0x35, 1,    2,    3,    4,
	      0xff, 0x25, 1,    2,    3,    4,    0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
	      0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xf3, 0x0f, 0x1e, 0xfa,
	      0x41, 0xbb, 7,    0,    0,    0,    0xff, 0x25, 1,    2,    3,    4},
	     {1, NO, NO, NO, 1,  NO, 2,  NO, NO, NO, NO, NO, 3,  NO, NO, NO,
	      1, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
	      1, NO, NO, NO, 1,  NO, NO, NO, NO, NO, 1,  NO, NO, NO, NO, NO}},
	    {"lld, of a program for any address",
	     ".plt",
	     "i686",
	     32,
	     {0xff, 0xb3, 1, 2, 3, 4, 0xff, 0xa3, 1, 2, 3, 4,    0x90, 0x90, 0x90, 0x90,
	      0xff, 0xa3, 1, 2, 3, 4, 0x68, 0,    0, 0, 0, 0xe9, 1,    2,    3,    4},
	     {2, NO, NO, NO, NO, NO, 3, NO, NO, NO, NO, NO, 3,  3,  3,  3,
	      1, NO, NO, NO, NO, NO, 1, NO, NO, NO, NO, 2,  NO, NO, NO, NO}},
	    {"mold",
	     ".plt",
	     "i686",
	     32,
	     {0xf3, 0x0f, 0x1e, 0xfb, 0x51, 0x8d, 0x8b, 1,    2,    3,    4,
	      0xff, 0x31, 0xff, 0x61, 4,    0xf3, 0x0f, 0x1e, 0xfb, 0xb9, 8,
	      0,    0,    0,    0xff, 0xa3, 1,    2,    3,    4,    0xcc},
	     {1, NO, NO, NO, 1, 2,  NO, NO, NO, NO, NO, 2,  NO, 3,  NO, NO,
	      1, NO, NO, NO, 1, NO, NO, NO, NO, 1,  NO, NO, NO, NO, NO, 1}},
	    {"code that is not known, and truncated code",
	     ".plt",
	     "x86_64",
	     18,
	     {0x4c, 0x8b, 0x1d, 1, 2, 3, 4, 0xe8, 1, 2, 3, 4, 0xeb, 0xf0, 0xcc, 0xcc, 0xff, 0x35},
	     {1, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, 2, NO}},
	    {"crti and crtn",
	     ".init",
	     "x86_64",
	     17,
	     {0x48, 0x83, 0xec, 8, 0x85, 0xc0, 0x74, 2, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3},
	     {NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}},
	    {"crti and crtn",
	     ".init",
	     "x86_64",
	     15,
	     {0x48, 0x83, 0xec, 8, 0x85, 0xc0, 0x74, 2, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3},
	     {1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1}},
	    {"crti and crtn",
	     ".fini",
	     "x86_64",
	     13,
	     {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 8, 0x48, 0x83, 0xc4, 8, 0xc3},
	     {1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 1}},
	    {"crti and crtn, truncated",
	     ".fini",
	     "x86_64",
	     8,
	     {0x48, 0x83, 0xec, 8, 0x48, 0x83, 0xc4, 8},
	     {NO, NO, NO, NO, NO, NO, NO, NO}},
	    {"crti of another machine",
	     ".init",
	     "i686",
	     9,
	     {0x48, 0x83, 0xec, 8, 0x48, 0x83, 0xc4, 8, 0xc3},
	     {NO, NO, NO, NO, NO, NO, NO, NO, NO}},
	    {"another section",
	     ".text",
	     "x86_64",
	     6,
	     {0xff, 0x25, 1, 2, 3, 4},
	     {NO, NO, NO, NO, NO, NO}},
	};
	static struct made made;

	for (size_t i = 0; i < NR(cases); i++) {
		const struct unwind_machine *m = unwind_machine_find(cases[i].machine);
		struct elf_file *f =
		    make_file(&made, m->elf_machine, cases[i].section, cases[i].code, cases[i].len);
		struct unwind_object *o = unwind_object_open(f);

		for (size_t at = 0; at < cases[i].len; at++) {
			struct cfi_rules r;
			int words = NO;

			if (unwind_object_rules(o, m->cfi, 0x1000 + at, &r)) {
				words = (int)r.cfa.plus / m->cfi->word_bytes;
				assert_int_equal(r.cfa.off, m->cfi->sp);
				assert_int_equal(r.reg[m->cfi->ra].kind, CFI_RULE_SAVED);
				assert_int_equal(r.reg[m->cfi->ra].off, -m->cfi->word_bytes);
			}
			if (words != cases[i].words[at])
				fail_msg("%s, %s: %d at %zu", cases[i].machine, cases[i].what,
					 words, at);
		}
		unwind_object_close(o);
		elf_file_close(f);
	}
}

/* The return address is in its register until the shared code stores it. */
TEST(shapes_arm64)
{
	static const uint32_t code[] = {
	    0xa9bf7bf0, 0xf00000f0, 0xf947fe11, 0x913fe210, 0xd61f0220, 0xd503201f,
	    0xd503201f, 0xd503201f, 0x90000110, 0xf9400211, 0x91000210, 0xd61f0220, /* a stub */
	};
	const struct cfi_machine *m = unwind_machine_find("aarch64")->cfi;
	static struct made made;
	struct elf_file *f =
	    make_file(&made, EM_AARCH64, ".plt", (const uint8_t *)code, sizeof(code));
	struct unwind_object *o = unwind_object_open(f);

	for (size_t i = 0; i < NR(code); i++) {
		const bool is_stored = i > 0 && i < 5; /* behind are nops that never run */
		struct cfi_rules r;
		struct cfi_row row;

		assert_true(unwind_object_rules(o, m, 0x1000 + 4 * i, &r));
		cfi_rules_row(&r, m, &row);
		assert_int_equal(row.kind, CFI_ROW_PLAIN);
		assert_int_equal(row.cfa_reg, m->sp);
		assert_int_equal(row.cfa_off, is_stored ? 16 : 0);
		assert_int_equal(row.ra_reg, is_stored ? CFI_NO_REG : m->lr);
		assert_int_equal(row.ra_off, is_stored ? -8 : 0);
	}
	unwind_object_close(o);
	elf_file_close(f);
}

static struct elf_file *open_in(struct elf_reader *reader, const struct root *r, const char *name)
{
	char path[512];
	struct elf_file *f;
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", r->dir, name);
	assert_int_equal(elf_file_open(reader, path, &f, &st, NULL), 0);
	return f;
}

/* The start of each stub, where calls arrive, has its caller on top of the stack, or in the
 * register.
 */
static unsigned check_stubs(const struct elf_file *f, const struct cfi_machine *m,
			    const char *section)
{
	struct unwind_object *o = unwind_object_open(f);
	struct elf_section s;
	unsigned nr = 0;

	/* the first 32 bytes are shared code, which is entered by stubs */
	for (uint64_t at = strcmp(section, ".plt") == 0 ? 32 : 0;
	     elf_file_find_section(f, section, &s) && at < s.size; at += 16, nr++) {
		struct cfi_rules r;

		assert_true(unwind_object_rules(o, m, s.address + at, &r));
		assert_int_equal(r.cfa.plus, m->lr == CFI_NO_REG ? m->word_bytes : 0);
	}
	unwind_object_close(o);
	return nr;
}

TEST(linkers)
{
	static const char source[] = "int f(int), g(int); int h(int x) { return f(x) + g(x); }";
	static const struct {
		const char *cc, *machine;
	} cases[] = {
	    {"cc -m64 -fuse-ld=lld", "x86_64"},
	    {"cc -m64 -fuse-ld=lld -Wl,-z,ibtplt", "x86_64"},
	    {"cc -m64 -fuse-ld=mold", "x86_64"},
	    {"cc -m64 -fuse-ld=bfd -Wl,--no-ld-generated-unwind-info", "x86_64"},
	    {"cc -m32 -fuse-ld=lld", "i686"},
	    {"aarch64-linux-gnu-gcc", "aarch64"},
	    {"aarch64-linux-gnu-gcc -fuse-ld=lld", "aarch64"},
	};
	struct root r = tree_make();
	struct elf_reader *reader;
	char command[1024];

	tree_put(&r, "/p.c", source, sizeof(source) - 1);
	assert_int_equal(elf_reader_new(&(struct elf_reader_config){0}, &reader), 0);
	for (size_t i = 0; i < NR(cases); i++) {
		const struct cfi_machine *m = unwind_machine_find(cases[i].machine)->cfi;
		struct elf_file *f;

		snprintf(
		    command, sizeof(command),
		    "cd '%s' && rm -f p && %s -O2 -fPIC -shared -nostdlib -o p p.c 2>/dev/null",
		    r.dir, cases[i].cc);
		if (system(command) != 0) {
			print_message("skip: no %s\n", cases[i].cc);
			continue;
		}
		f = open_in(reader, &r, "p");
		assert_true(check_stubs(f, m, ".plt") + check_stubs(f, m, ".plt.sec") >= 1);
		elf_file_close(f);
	}
	elf_reader_free(reader);
	tree_remove(&r);
}
