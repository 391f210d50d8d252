/*
 * PHP: which builds are known, functions read from memory that is made here as PHP has it, and what
 * they are called.
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

enum { GLOBALS = 0x5000, LOOP = 0x2000, LOOP_BYTES = 0x800, SPACE = 77 };

static const struct interpreters_symbol all[] = {{GLOBALS, 1800}, {LOOP, LOOP_BYTES}};

/* A file that has the bytes as .rodata, and nothing else. */
static struct elf_file *make_file(struct buf *b, uint16_t machine, const char *texts, size_t len)
{
	static const char names[] = "\0.rodata\0.shstrtab";
	const Elf64_Ehdr head = {
	    .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	    .e_type = ET_DYN,
	    .e_machine = machine,
	    .e_version = EV_CURRENT,
	    .e_ehsize = sizeof(Elf64_Ehdr),
	    .e_phentsize = sizeof(Elf64_Phdr),
	    .e_shentsize = sizeof(Elf64_Shdr),
	    .e_shnum = 3,
	    .e_shstrndx = 2,
	    .e_shoff = sizeof(Elf64_Ehdr)};
	const uint64_t at = sizeof(head) + 3 * sizeof(Elf64_Shdr);
	const Elf64_Shdr sections[] = {
	    {.sh_type = SHT_NULL},
	    {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = at, .sh_size = len},
	    {.sh_name = 9, .sh_type = SHT_STRTAB, .sh_offset = at + len, .sh_size = sizeof(names)}};
	struct elf_file *f = NULL;
	struct err e = {0};

	buf_init(b, 1 << 16);
	buf_add(b, &head, sizeof(head));
	buf_add(b, sections, sizeof(sections));
	buf_add(b, texts, len);
	buf_add(b, names, sizeof(names));
	assert_int_equal(elf_file_open_mem(b->data, b->len, false, "php", &f, &e), 0);
	return f;
}

static bool read_texts(const char *texts, size_t len, struct bpf_interpreted_process *out)
{
	struct elf_file *f;
	struct buf b;
	bool is;

	f = make_file(&b, EM_X86_64, texts, len);
	is = interpreters_php.read(f, all, out);
	elf_file_close(f);
	buf_fini(&b);
	return is;
}

#define TEXTS(t) t, sizeof(t)

TEST(builds_are_known_by_what_they_want_of_modules)
{
	static const struct {
		const char *texts;
		size_t len;
		bool is;
		uint16_t lines;
	} cases[] = {
	    {TEXTS("API20190902,NTS"), true, 144},
	    {TEXTS("x\0API20220829,NTS"), true, 160},
	    {TEXTS("API420240924,NTS\0API\0API20240924,NTS\0y"), true, 176},
	    {TEXTS("API20220829,TS"), false},
	    {TEXTS("API20220829,NTS,debug"), false},
	    {TEXTS("API20210902,NTS"), false}, /* 8.1 */
	    {TEXTS("API420220829,NTS"), false},
	    {"API20220829,NTS", 15, false},
	    {TEXTS(""), false},
	    {TEXTS("API"), false},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct bpf_interpreted_process is = {.state = 0};

		assert_int_equal(read_texts(cases[i].texts, cases[i].len, &is), cases[i].is);
		if (!cases[i].is)
			continue;
		assert_int_equal(is.php.at.array_lines, cases[i].lines);
		assert_int_equal(is.php.globals, GLOBALS);
		assert_int_equal(is.loop_begin, LOOP);
		assert_int_equal(is.loop_end, LOOP + LOOP_BYTES);
	}
}

TEST(without_its_symbols_it_is_none)
{
	static const char texts[] = "API20220829,NTS";
	struct bpf_interpreted_process is = {.state = 0};
	struct buf b;
	struct elf_file *f = make_file(&b, EM_X86_64, texts, sizeof(texts));

	for (size_t i = 0; i < NR(all); i++) {
		struct interpreters_symbol found[NR(all)];

		memcpy(found, all, sizeof(found));
		found[i].value = 0;
		assert_false(interpreters_php.read(f, found, &is));
	}
	elf_file_close(f);
	buf_fini(&b);
}

TEST(registers_are_those_of_the_machine)
{
	static const struct {
		uint16_t machine, opline;
	} cases[] = {{EM_X86_64, 0}, {EM_AARCH64, 224}};
	static const char texts[] = "API20220829,NTS";

	for (size_t i = 0; i < NR(cases); i++) {
		struct bpf_interpreted_process is = {.state = 0};
		struct buf b;
		struct elf_file *f = make_file(&b, cases[i].machine, texts, sizeof(texts));

		assert_true(interpreters_php.read(f, all, &is));
		assert_int_equal(is.php.registers.opline, cases[i].opline);
		elf_file_close(f);
		buf_fini(&b);
	}
}

TEST(it_moves_with_its_file)
{
	struct bpf_interpreted_process is = {.php.globals = GLOBALS};

	interpreters_php.move(&is, 0x7f0000000000);
	assert_int_equal(is.php.globals, 0x7f0000000000 + GLOBALS);
}

/* --- functions in memory */

struct text {
	uint32_t references, kind;
	uint64_t hash, length;
	char data[400];
};

struct made {
	struct bpf_interpreted_process process;
	struct bpf_interpreted_far far;
	struct text name, file, class_name;
	uint8_t class_entry[32], function[256];
};

static void make_text(struct text *t, const char *data)
{
	t->length = strlen(data);
	memcpy(t->data, data, t->length);
}

static void set_word(uint8_t *object, uint16_t at, uint64_t word)
{
	memcpy(object + at, &word, sizeof(word));
}

/* By where it is, as the program in the kernel does. */
static uint64_t number_of(const struct made *m)
{
	struct bpf_php_function f = {
	    .space = SPACE, .process = (uint32_t)getpid(), .address = m->far.address};

	bpf_php_set(m->function, &m->process.php.at, &f);
	return bpf_php_number(&f);
}

static void make_function(struct made *m, uint8_t type, const char *class, const char *name,
			  const char *file)
{
	const struct bpf_php_offsets *at = &m->process.php.at;

	memset(m, 0, sizeof(*m));
	assert_true(read_texts(TEXTS("API20220829,NTS"), &m->process));
	make_text(&m->name, name);
	make_text(&m->file, file);
	make_text(&m->class_name, class);
	set_word(m->class_entry, at->class_name, (uintptr_t)&m->class_name);
	m->function[at->function_type] = type;
	set_word(m->function, at->function_name, *name ? (uintptr_t)&m->name : 0);
	set_word(m->function, at->function_class, *class ? (uintptr_t)m->class_entry : 0);
	set_word(m->function, at->array_file, (uintptr_t)&m->file);
	set_word(m->function, at->array_lines, UINT64_C(19) << 32 | 12);
	m->far = (struct bpf_interpreted_far){.message = BPF_INTERPRETED_FAR,
					      .process = (uint32_t)getpid(),
					      .address = (uintptr_t)m->function,
					      .space = SPACE};
	m->far.code = number_of(m);
}

static struct bpf_interpreted_code code;

static void assert_text(const struct bpf_interpreted_text *text, const uint8_t *data,
			const char *expected)
{
	assert_int_equal(text->width, BPF_INTERPRETED_UTF8);
	assert_int_equal(text->bytes, strlen(expected));
	assert_memory_equal(data, expected, text->bytes);
}

TEST(a_function_is_read)
{
	struct made m;

	make_function(&m, 2, "Work", "gamma", "/srv/w.php");
	assert_true(interpreters_php.far(&m.far, &m.process, &code));
	assert_int_equal(code.language, BPF_INTERPRETED_PHP);
	assert_int_equal(code.code, m.far.code);
	assert_int_equal(code.first_line, 12);
	assert_text(&code.name, code.name_text, "gamma");
	assert_text(&code.file, code.file_text, "/srv/w.php");
	assert_int_equal(code.lines_bytes, 4);
	assert_memory_equal(code.lines, "Work", 4);
}

TEST(long_texts_are_cut_where_they_say_least)
{
	char name[300], file[300];
	struct made m;

	memset(name, 'n', sizeof(name));
	memset(file, 'f', sizeof(file));
	name[0] = 'N';
	name[sizeof(name) - 1] = file[sizeof(file) - 1] = '\0';
	file[sizeof(file) - 2] = 'F';
	make_function(&m, 4, "", name, file);
	assert_true(interpreters_php.far(&m.far, &m.process, &code));
	assert_int_equal(code.name.bytes, 255);
	assert_int_equal(code.name_text[0], 'N');
	assert_int_equal(code.file.bytes, 255);
	assert_int_equal(code.file_text[254], 'F');
}

/* One of C is shorter than code of PHP, has no file, and may be where memory ends. */
TEST(a_function_of_c_is_read_at_the_end_of_memory)
{
	const size_t page = (size_t)getpagesize();
	uint8_t *pages =
	    mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct made m;

	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
	make_function(&m, 1, "", "strlen", "");
	memcpy(pages + page - 136, m.function, 136);
	m.far.address = (uintptr_t)(pages + page - 136);
	m.far.code = number_of(&m);
	assert_true(interpreters_php.far(&m.far, &m.process, &code));
	assert_text(&code.name, code.name_text, "strlen");
	assert_int_equal(code.file.bytes, 0);
	assert_int_equal(code.first_line, 0);
	pages[page - 136] = 2;
	m.function[0] = 2;
	m.far.code = number_of(&m);
	assert_false(interpreters_php.far(&m.far, &m.process, &code));
	munmap(pages, 2 * page);
}

TEST(what_is_there_now_is_not_what_was_asked_for)
{
	struct made m;

	make_function(&m, 2, "Work", "gamma", "/srv/w.php");
	set_word(m.function, m.process.php.at.array_lines, UINT64_C(20) << 32 | 12);
	assert_false(interpreters_php.far(&m.far, &m.process, &code));
}

TEST(texts_that_are_nowhere_are_not_read)
{
	struct made m;
	const uint16_t fields[] = {8, 16, 152}; /* of PHP 8.2: name, class, file */

	for (size_t i = 0; i < NR(fields); i++) {
		make_function(&m, 2, "Work", "gamma", "/srv/w.php");
		set_word(m.function, fields[i], 4096);
		m.far.code = number_of(&m);
		assert_false(interpreters_php.far(&m.far, &m.process, &code));
	}
}

/* Each of these makes other code of it. */
TEST(numbers_differ)
{
	struct bpf_php_function f = {.space = 1, .address = 2, .text = {3, 4, 5}, .lines = 6};
	const uint64_t number = bpf_php_number(&f);
	__u64 *const fields[] = {&f.space,
				 &f.address,
				 &f.text[BPF_PHP_FILE],
				 &f.text[BPF_PHP_NAME],
				 &f.text[BPF_PHP_CLASS],
				 &f.lines};

	for (size_t i = 0; i < NR(fields); i++) {
		*fields[i] ^= 64;
		assert_int_not_equal(bpf_php_number(&f), number);
		*fields[i] ^= 64;
	}
	assert_int_equal(bpf_php_number(&f), number);
}

/* --- names */

TEST(functions_are_called_as_php_does)
{
	static const struct {
		const char *class, *name, *file, *shown, *shown_file;
		uint32_t class_bytes;
	} cases[] = {
	    {"", "f", "/a.php", "f", "/a.php", 0},
	    {"A\\Bxyz", "f", "/a.php", "A\\B::f", "/a.php", 3},
	    {"", "", "/a.php", "<main>", "/a.php", 0},
	    {"", "strlen", "", "strlen", "[php]", 0},
	    {"class@anonymous\0/a.php:3$0", "f", "/a.php", "class@anonymous::f", "/a.php", 26},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct trace_code c = {.lines = (const uint8_t *)cases[i].class,
				       .lines_bytes = cases[i].class_bytes};

		strcpy(c.name, cases[i].name);
		strcpy(c.file, cases[i].file);
		interpreters_php.name(&c, NULL);
		assert_string_equal(c.name, cases[i].shown);
		assert_string_equal(c.file, cases[i].shown_file);
		assert_int_equal(c.lines_bytes, 0);
		assert_int_equal(c.table, TRACE_LINES_OF_FRAMES);
	}
}

TEST(a_long_name_is_cut)
{
	uint8_t class[255];
	struct trace_code c = {.lines = class, .lines_bytes = sizeof(class)};

	memset(class, 'c', sizeof(class));
	memset(c.name, 'n', sizeof(c.name) - 1);
	interpreters_php.name(&c, NULL);
	assert_int_equal(strlen(c.name), sizeof(c.name) - 1);
	assert_int_equal(c.name[254], 'c');
}
