/*
 * Ruby: which builds are known and where they have the context, and code that is read from memory
 * which is made here as Ruby has it.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/err.h"
#include "elf/file.h"
#include "interpreters/language.h"
#include "trace/trace.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	VERSION = 0x1000, /* addresses in the file */
	LOOP = 0x2000,
	LOOP_BYTES = 0x800,
	CODE = 0x3000,
	CONTEXT = 0x5000,
	LOCAL = 16, /* in the block of a thread */
	MODULE = 0x6000,
	SPACE = 77,
};

/* As ruby.c asks for them. */
static const struct interpreters_symbol all[] = {
    {VERSION, 12}, {LOOP, LOOP_BYTES}, {CODE, 64}, {CONTEXT, 8}, {LOCAL, 8}};
enum { OF_VERSION, OF_LOOP, OF_CODE, OF_CONTEXT, OF_LOCAL };

/* What a file has. */
struct says {
	uint32_t version[3];
	Elf64_Rela moved[3];
	Elf64_Sym symbols[3];
	uint64_t local_bytes;
};

static const struct says usual = {
    .version = {3, 1, 0},
    .moved = {{.r_offset = 0x100, .r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE)},
	      {.r_offset = 0x200, .r_info = ELF64_R_INFO(2, R_X86_64_DTPMOD64)},
	      {.r_offset = MODULE, .r_info = ELF64_R_INFO(1, R_X86_64_DTPMOD64)}},
    .symbols = {{0}, {.st_shndx = 1}, {.st_shndx = SHN_UNDEF}},
    .local_bytes = 24};

static struct elf_file *make_file(struct buf *b, const struct says *says)
{
	static const char names[] = "\0.rela.dyn\0.dynsym\0.tbss\0.shstrtab";
	enum { NR = 5, SAYS = 0x400, NAMES = SAYS + sizeof(struct says) };
	const Elf64_Ehdr head = {
	    .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	    .e_type = ET_DYN,
	    .e_machine = EM_X86_64,
	    .e_version = EV_CURRENT,
	    .e_ehsize = sizeof(Elf64_Ehdr),
	    .e_phentsize = sizeof(Elf64_Phdr),
	    .e_phnum = 1,
	    .e_phoff = sizeof(Elf64_Ehdr),
	    .e_shentsize = sizeof(Elf64_Shdr),
	    .e_shnum = NR,
	    .e_shstrndx = NR - 1,
	    .e_shoff = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr)};
	const Elf64_Phdr loaded = {.p_type = PT_LOAD,
				   .p_flags = PF_R,
				   .p_offset = SAYS,
				   .p_vaddr = VERSION,
				   .p_filesz = sizeof(*says),
				   .p_memsz = sizeof(*says)};
	const Elf64_Shdr sections[NR] = {
	    {.sh_type = SHT_NULL},
	    {.sh_name = 1,
	     .sh_type = SHT_RELA,
	     .sh_offset = SAYS + offsetof(struct says, moved),
	     .sh_size = sizeof(says->moved)},
	    {.sh_name = 11,
	     .sh_type = SHT_DYNSYM,
	     .sh_offset = SAYS + offsetof(struct says, symbols),
	     .sh_size = sizeof(says->symbols)},
	    {.sh_name = 19,
	     .sh_type = SHT_NOBITS,
	     .sh_flags = SHF_ALLOC | SHF_WRITE | SHF_TLS,
	     .sh_addr = 0x9000,
	     .sh_offset = SAYS,
	     .sh_size = says->local_bytes},
	    {.sh_name = 25, .sh_type = SHT_STRTAB, .sh_offset = NAMES, .sh_size = sizeof(names)}};
	uint8_t image[NAMES + sizeof(names)] = {0};
	struct elf_file *f = NULL;
	struct err e = {0};

	memcpy(image, &head, sizeof(head));
	memcpy(image + sizeof(head), &loaded, sizeof(loaded));
	memcpy(image + sizeof(head) + sizeof(loaded), sections, sizeof(sections));
	memcpy(image + SAYS, says, sizeof(*says));
	memcpy(image + NAMES, names, sizeof(names));
	buf_init(b, 1 << 16);
	buf_add(b, image, sizeof(image));
	assert_int_equal(elf_file_open_mem(b->data, b->len, false, "ruby", &f, &e), 0);
	return f;
}

static bool read_without(const struct says *says, size_t symbol,
			 struct bpf_interpreted_process *out)
{
	struct interpreters_symbol found[NR(all)];
	struct elf_file *f;
	struct buf b;
	bool is;

	memcpy(found, all, sizeof(found));
	if (symbol < NR(all))
		found[symbol] = (struct interpreters_symbol){0};
	f = make_file(&b, says);
	*out = (struct bpf_interpreted_process){.state = 0};
	is = interpreters_ruby.read(f, found, out);
	elf_file_close(f);
	buf_fini(&b);
	return is;
}

TEST(versions_are_known_by_their_numbers)
{
	static const struct {
		uint32_t major, minor;
		bool is;
		uint16_t frame_bytes;
	} cases[] = {{2, 7, true, 56}, {3, 0, true, 56},  {3, 1, true, 64},
		     {3, 2, true, 64}, {3, 3, true, 56},  {1, 8, false, 0},
		     {2, 6, false, 0}, {3, 99, false, 0}, {99, 1, false, 0}};

	for (size_t i = 0; i < NR(cases); i++) {
		struct bpf_interpreted_process is;
		struct says says = usual;

		says.version[0] = cases[i].major;
		says.version[1] = cases[i].minor;
		assert_int_equal(read_without(&says, NR(all), &is), cases[i].is);
		if (cases[i].is)
			assert_int_equal(is.ruby.at.frame_bytes, cases[i].frame_bytes);
	}
}

TEST(each_thread_has_its_context)
{
	struct bpf_interpreted_process is;

	assert_true(read_without(&usual, NR(all), &is));
	assert_int_equal(is.ruby.context, 0);
	assert_int_equal(is.ruby.module, MODULE);
	assert_int_equal(is.ruby.local, LOCAL);
	assert_int_equal(is.ruby.nr_locals, 1);
	assert_int_equal(is.loop_begin, LOOP);
	assert_int_equal(is.loop_end, LOOP + LOOP_BYTES);
}

TEST(before_3_0_one_context_is_for_all)
{
	struct bpf_interpreted_process is;
	struct says says = usual;

	says.version[0] = 2;
	says.version[1] = 7;
	assert_true(read_without(&says, OF_LOCAL, &is));
	assert_int_equal(is.ruby.context, CONTEXT);
	assert_int_equal(is.ruby.module, 0);
	assert_false(read_without(&says, OF_CONTEXT, &is));
}

TEST(a_program_has_no_number_of_its_own)
{
	struct bpf_interpreted_process is;
	struct says says = usual;

	says.moved[2].r_info = ELF64_R_INFO(9, R_X86_64_DTPMOD64); /* no such symbol */
	assert_true(read_without(&says, NR(all), &is));
	assert_int_equal(is.ruby.module, 0);
	says.moved[2].r_info = ELF64_R_INFO(0, R_X86_64_DTPMOD64);
	assert_true(read_without(&says, NR(all), &is));
	assert_int_equal(is.ruby.module, MODULE);
}

/* All variables of threads are tried. */
TEST(a_stripped_library_is_known)
{
	static const struct {
		uint64_t bytes;
		uint32_t nr;
	} cases[] = {{24, 3}, {8, 1}, {1 << 20, 16}};
	struct bpf_interpreted_process is;
	struct says says = usual;

	for (size_t i = 0; i < NR(cases); i++) {
		says.local_bytes = cases[i].bytes;
		assert_true(read_without(&says, OF_LOCAL, &is));
		assert_int_equal(is.ruby.local, 0);
		assert_int_equal(is.ruby.nr_locals, cases[i].nr);
	}
	says.local_bytes = 0;
	assert_false(read_without(&says, OF_LOCAL, &is));
	assert_true(read_without(&usual, OF_LOOP, &is));
	assert_int_equal(is.loop_begin, CODE);
	assert_int_equal(is.loop_end, CODE);
}

TEST(without_its_version_it_is_none)
{
	struct bpf_interpreted_process is;

	assert_false(read_without(&usual, OF_VERSION, &is));
}

TEST(it_moves_with_its_file)
{
	struct bpf_interpreted_process is = {.ruby.context = CONTEXT, .ruby.module = MODULE};

	interpreters_ruby.move(&is, 0x7f0000000000);
	assert_int_equal(is.ruby.context, 0x7f0000000000 + CONTEXT);
	assert_int_equal(is.ruby.module, 0x7f0000000000 + MODULE);
	is.ruby.context = is.ruby.module = 0;
	interpreters_ruby.move(&is, 0x7f0000000000);
	assert_int_equal(is.ruby.context, 0);
	assert_int_equal(is.ruby.module, 0);
}

/* --- code in memory */

struct object {
	uint64_t word[5];
};

struct made {
	struct bpf_interpreted_process process;
	struct bpf_interpreted_far far;
	struct object code, path, whole, both, label;
	uint64_t body[32];
};

enum { APART = 1 << 13, TEXT = 5, ARRAY = 7, NIL = 8, OWN = 1 << 13, LENGTH_SHIFT = 14 };

static void make_text(struct object *o, const char *text)
{
	*o = (struct object){{TEXT | APART, 0, strlen(text), (uintptr_t)text}};
}

static void set_body(struct made *m, uint16_t at, uint64_t word)
{
	m->body[at / 8] = word;
}

static uint64_t number_of(const struct made *m)
{
	struct bpf_ruby_code c = {
	    .space = SPACE, .process = (uint32_t)getpid(), .address = m->far.address};

	bpf_ruby_set((const uint8_t *)m->body, &m->process.ruby.at, &c);
	return bpf_ruby_number(&c);
}

static void make_code(struct made *m, const char *path, const char *label)
{
	const struct bpf_ruby_offsets *at = &m->process.ruby.at;

	memset(m, 0, sizeof(*m));
	assert_true(read_without(&usual, NR(all), &m->process));
	make_text(&m->path, path);
	make_text(&m->label, label);
	m->code = (struct object){{at->code_type | 1 << 11, 0, (uintptr_t)m->body}};
	set_body(m, at->body_path, (uintptr_t)&m->path);
	set_body(m, at->body_label, (uintptr_t)&m->label);
	set_body(m, at->body_line, 12 << at->line_shift | 1);
	m->far = (struct bpf_interpreted_far){.message = BPF_INTERPRETED_FAR,
					      .process = (uint32_t)getpid(),
					      .address = (uintptr_t)&m->code,
					      .space = SPACE};
	m->far.code = number_of(m);
}

/* The path is an array of two. */
static void set_both(struct made *m, uint64_t head, uint64_t path, uint64_t whole)
{
	m->both = (struct object){{head, 0, path, whole}};
	set_body(m, m->process.ruby.at.body_path, (uintptr_t)&m->both);
	m->far.code = number_of(m);
}

static struct bpf_interpreted_code code;

static bool read_code(const struct made *m)
{
	memset(&code, 0, sizeof(code));
	return interpreters_ruby.far(&m->far, &m->process, &code);
}

static void assert_text(const struct bpf_interpreted_text *text, const uint8_t *data,
			const char *expected)
{
	assert_int_equal(text->width, BPF_INTERPRETED_UTF8);
	assert_int_equal(text->bytes, strlen(expected));
	assert_memory_equal(data, expected, text->bytes);
}

TEST(code_is_read)
{
	struct made m;

	make_code(&m, "/srv/w.rb", "block in gamma");
	assert_true(read_code(&m));
	assert_int_equal(code.language, BPF_INTERPRETED_RUBY);
	assert_int_equal(code.code, m.far.code);
	assert_int_equal(code.first_line, 12);
	assert_int_equal(code.lines_bytes, 0);
	assert_text(&code.name, code.name_text, "block in gamma");
	assert_text(&code.file, code.file_text, "/srv/w.rb");
}

TEST(a_short_text_is_in_its_object)
{
	struct made m;

	make_code(&m, "/srv/w.rb", "");
	m.label = (struct object){{TEXT | 8 << LENGTH_SHIFT, 0}};
	memcpy(&m.label.word[2], "gammaray, more", 14);
	assert_true(read_code(&m));
	assert_text(&code.name, code.name_text, "gammaray");
}

TEST(a_path_is_the_whole_one_if_there_is_a_file)
{
	struct made m;

	make_code(&m, "w.rb", "f");
	make_text(&m.whole, "/srv/w.rb");
	set_both(&m, ARRAY | OWN, (uintptr_t)&m.path, (uintptr_t)&m.whole);
	assert_true(read_code(&m));
	assert_text(&code.file, code.file_text, "/srv/w.rb");
	set_both(&m, ARRAY | OWN, (uintptr_t)&m.path, NIL);
	assert_true(read_code(&m));
	assert_text(&code.file, code.file_text, "w.rb");
	set_both(&m, ARRAY, (uintptr_t)&m.path, (uintptr_t)&m.whole); /* elsewhere */
	assert_false(read_code(&m));
	set_both(&m, ARRAY | OWN, (uintptr_t)&m.both, NIL);
	assert_false(read_code(&m));
}

TEST(long_texts_are_cut_where_they_say_least)
{
	char label[300], path[300];
	struct made m;

	memset(label, 'n', sizeof(label));
	memset(path, 'f', sizeof(path));
	label[0] = 'N';
	label[sizeof(label) - 1] = path[sizeof(path) - 1] = '\0';
	path[sizeof(path) - 2] = 'F';
	make_code(&m, path, label);
	assert_true(read_code(&m));
	assert_int_equal(code.name.bytes, 255);
	assert_int_equal(code.name_text[0], 'N');
	assert_int_equal(code.file.bytes, 255);
	assert_int_equal(code.file_text[254], 'F');
}

TEST(what_is_there_now_is_not_what_was_asked_for)
{
	struct made m;

	make_code(&m, "/srv/w.rb", "f");
	set_body(&m, m.process.ruby.at.body_line, 13 << 1 | 1);
	assert_false(read_code(&m));
	make_code(&m, "/srv/w.rb", "f");
	m.code.word[0] = TEXT;
	assert_false(read_code(&m));
}

TEST(texts_that_are_nowhere_are_not_read)
{
	struct made m;

	make_code(&m, "/srv/w.rb", "f");
	m.path.word[3] = 4096;
	assert_false(read_code(&m));
	make_code(&m, "/srv/w.rb", "f");
	set_body(&m, m.process.ruby.at.body_label, 4096);
	m.far.code = number_of(&m);
	assert_false(read_code(&m));
	make_code(&m, "/srv/w.rb", "f");
	m.far.address = 4096;
	assert_false(read_code(&m));
}

/* Each of these makes other code of it. */
TEST(numbers_differ)
{
	struct bpf_ruby_code c = {.space = 1, .address = 2, .text = {3, 4}, .line = 5};
	const uint64_t number = bpf_ruby_number(&c);
	__u64 *const fields[] = {&c.space, &c.address, &c.text[BPF_RUBY_FILE],
				 &c.text[BPF_RUBY_NAME]};

	for (size_t i = 0; i < NR(fields); i++) {
		*fields[i] ^= 64;
		assert_int_not_equal(bpf_ruby_number(&c), number);
		*fields[i] ^= 64;
	}
	c.line++;
	assert_int_not_equal(bpf_ruby_number(&c), number);
}

TEST(lines_are_those_of_frames)
{
	struct trace_code c = {.name = "f", .file = "/a.rb"};

	interpreters_ruby.name(&c, NULL);
	assert_int_equal(c.table, TRACE_LINES_OF_FRAMES);
	assert_string_equal(c.name, "f");
}

TEST(negative_lines_are_none)
{
	struct trace_code first = {.first_line = 7}, whole = {.first_line = (uint32_t)-9},
			  short_one = {.first_line = (uint32_t)-9 >> 1};

	interpreters_ruby.name(&first, NULL);
	assert_int_equal(first.first_line, 7);
	interpreters_ruby.name(&whole, NULL);
	assert_int_equal(whole.first_line, 0);
	interpreters_ruby.name(&short_one, NULL);
	assert_int_equal(short_one.first_line, 0);
}
