/*
 * Perl: which builds are known and where they have the interpreter, and what code is called.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/err.h"
#include "elf/file.h"
#include "interpreters/language.h"
#include "trace/trace.h"

#include <elf.h>

enum {
	REVISION = 0x1000, /* addresses in the file */
	VERSION = 0x1001,
	LOOP = 0x2000,
	LOOP_BYTES = 0x50,
	KEY = 0x3000,
	STACK = 0x4000,
	COP = 0x4008,
	OP = 0x4010,
};

/* As perl.c asks for them. */
static const struct interpreters_symbol all[] = {
    {REVISION, 1}, {VERSION, 1}, {LOOP, LOOP_BYTES}, {KEY, 4}, {STACK, 8}, {COP, 8}, {OP, 8}};
enum { OF_REVISION, OF_VERSION, OF_LOOP, OF_KEY, OF_STACK, OF_COP, OF_OP, OF_NONE };

static bool read_without(uint8_t revision, uint8_t version, size_t symbol, bool has_threads,
			 struct bpf_interpreted_process *out)
{
	const uint8_t says[] = {revision, version};
	const Elf64_Ehdr head = {
	    .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	    .e_type = ET_DYN,
	    .e_machine = EM_X86_64,
	    .e_version = EV_CURRENT,
	    .e_ehsize = sizeof(Elf64_Ehdr),
	    .e_phentsize = sizeof(Elf64_Phdr),
	    .e_phnum = 1,
	    .e_phoff = sizeof(Elf64_Ehdr)};
	const Elf64_Phdr loaded = {.p_type = PT_LOAD,
				   .p_flags = PF_R,
				   .p_offset = sizeof(head) + sizeof(loaded),
				   .p_vaddr = REVISION,
				   .p_filesz = sizeof(says),
				   .p_memsz = sizeof(says)};
	struct interpreters_symbol found[NR(all)];
	BUF_AUTO(b, 4096);
	struct elf_file *f;
	struct err e = {0};
	bool is;

	memcpy(found, all, sizeof(found));
	if (symbol < NR(all))
		found[symbol] = (struct interpreters_symbol){0};
	if (!has_threads)
		found[OF_KEY] = (struct interpreters_symbol){0};
	buf_add(&b, &head, sizeof(head));
	buf_add(&b, &loaded, sizeof(loaded));
	buf_add(&b, says, sizeof(says));
	assert_int_equal(elf_file_open_mem(b.data, b.len, false, "perl", &f, &e), 0);
	*out = (struct bpf_interpreted_process){.state = 0};
	is = interpreters_perl.read(f, found, out);
	elf_file_close(f);
	return is;
}

TEST(versions_are_known_by_their_numbers)
{
	static const struct {
		uint8_t revision, version;
		bool is;
		uint16_t op_call;
	} cases[] = {{5, 32, true, 184}, {5, 34, true, 184}, {5, 36, true, 184}, {5, 38, true, 187},
		     {5, 40, true, 187}, {5, 30, false, 0},  {5, 37, false, 0},  {5, 42, false, 0},
		     {7, 36, false, 0},  {0, 36, false, 0}};
	struct bpf_interpreted_process is;

	for (size_t i = 0; i < NR(cases); i++) {
		assert_int_equal(
		    read_without(cases[i].revision, cases[i].version, OF_NONE, true, &is),
		    cases[i].is);
		if (cases[i].is)
			assert_int_equal(is.perl.at.op_call, cases[i].op_call);
	}
}

TEST(each_thread_has_its_interpreter)
{
	struct bpf_interpreted_process is;

	assert_true(read_without(5, 36, OF_NONE, true, &is));
	assert_int_equal(is.perl.key, KEY);
	assert_int_equal(is.perl.stack, is.perl.at.interpreter_stack);
	assert_int_equal(is.perl.cop, is.perl.at.interpreter_cop);
	assert_int_equal(is.perl.op, is.perl.at.interpreter_op);
	assert_int_equal(is.loop_begin, LOOP);
	assert_int_equal(is.loop_end, LOOP + LOOP_BYTES);
	interpreters_perl.move(&is, 0x7f0000000000);
	assert_int_equal(is.perl.key, 0x7f0000000000 + KEY);
	assert_int_equal(is.perl.stack, is.perl.at.interpreter_stack);
}

TEST(without_threads_its_parts_are_variables)
{
	static const size_t needed[] = {OF_REVISION, OF_VERSION, OF_LOOP, OF_STACK, OF_COP, OF_OP};
	struct bpf_interpreted_process is;

	assert_true(read_without(5, 36, OF_NONE, false, &is));
	assert_int_equal(is.perl.key, 0);
	interpreters_perl.move(&is, 0x7f0000000000);
	assert_int_equal(is.perl.key, 0);
	assert_int_equal(is.perl.stack, 0x7f0000000000 + STACK);
	assert_int_equal(is.perl.cop, 0x7f0000000000 + COP);
	assert_int_equal(is.perl.op, 0x7f0000000000 + OP);
	for (size_t i = 0; i < NR(needed); i++)
		assert_false(read_without(5, 36, needed[i], false, &is));
}

TEST(code_has_the_name_of_a_trace)
{
	static const struct {
		const char *package, *name, *file;
		uint32_t kind;
		const char *is, *in;
	} cases[] = {
	    {"main", "f", "a.pl", BPF_PERL_IS_SUB, "main::f", "a.pl"},
	    {"A::B", "__ANON__", "a.pl", BPF_PERL_IS_SUB, "A::B::__ANON__", "a.pl"},
	    {"", "f", "a.pl", BPF_PERL_IS_SUB, "f", "a.pl"},
	    {"", "", "a.pl", BPF_PERL_IS_SUB, "__ANON__", "a.pl"},
	    {"", "", "a.pl", BPF_PERL_IS_PROGRAM, "<main>", "a.pl"},
	    {"", "", "A.pm", BPF_PERL_IS_TEXT, "(require)", "A.pm"},
	    {"", "", "(eval", BPF_PERL_IS_TEXT, "(eval)", "(eval)"},
	    {"main", "f", "(eval", BPF_PERL_IS_SUB, "main::f", "(eval)"},
	    {"main", "f", "", BPF_PERL_IS_SUB, "main::f", "[perl]"},
	    {"main", "f", "a.pl", 77, "main::f", "a.pl"},
	    {"\xe4", "\xe4z", "a.pl", BPF_PERL_IS_SUB, "\xc3\xa4::\xc3\xa4z", "a.pl"},
	    {"main", "\xc3\xa4", "a.pl", BPF_PERL_IS_SUB, "main::\xc3\xa4", "a.pl"},
	};
	static struct trace_code code;

	for (size_t i = 0; i < NR(cases); i++) {
		code = (struct trace_code){.table = cases[i].kind,
					   .lines = (const uint8_t *)cases[i].package,
					   .lines_bytes = (uint32_t)strlen(cases[i].package)};
		snprintf(code.name, sizeof(code.name), "%s", cases[i].name);
		snprintf(code.file, sizeof(code.file), "%s", cases[i].file);
		interpreters_perl.name(&code, NULL);
		assert_string_equal(code.name, cases[i].is);
		assert_string_equal(code.file, cases[i].in);
		assert_int_equal(code.table, TRACE_LINES_OF_FRAMES);
		assert_int_equal(code.lines_bytes, 0);
	}
}

/* Each byte of Latin-1 may become two: what does not fit is cut, at a whole character. */
TEST(long_names_are_cut)
{
	static struct trace_code code;
	static uint8_t package[255];

	memset(package, 0xe4, sizeof(package));
	code = (struct trace_code){.lines = package, .lines_bytes = sizeof(package)};
	memset(code.name, 0xe4, sizeof(code.name) - 1);
	interpreters_perl.name(&code, NULL);
	assert_int_equal(strlen(code.name), sizeof(code.name) - 2);
	assert_memory_equal(code.name + sizeof(code.name) - 4, "\xc3\xa4", 3);
}

/* The programs of the kernel cut after 255 bytes: of UTF-8 that may be within a character. */
TEST(what_was_cut_ends_with_a_whole_character)
{
	static const struct {
		const char *end, *is;
	} cases[] = {
	    {"\xc3", ""},
	    {"\xe2\x82", ""},
	    {"\xf0\x9f\x99", ""},
	    {"\xc3\xa4", "\xc3\xa4"},
	    {"a", "a"},
	    {"\xe2\x82\xac", "\xe2\x82\xac"},
	    /* of Latin-1: no UTF-8 would be so before it */
	    {"\xe4\xc3", "\xc3\xa4\xc3\x83"},
	    {"\xc3\xa4z\xff", "\xc3\x83\xc2\xa4z\xc3\xbf"},
	};
	static struct trace_code code;
	static char package[256], is[512];

	for (size_t i = 0; i < NR(cases); i++) {
		const size_t len = strlen(cases[i].end);

		memset(package, 'p', sizeof(package));
		memcpy(package + 255 - len, cases[i].end, len);
		snprintf(is, sizeof(is), "%.*s%s::f", (int)(255 - len), package, cases[i].is);
		code = (struct trace_code){
		    .name = "f", .lines = (const uint8_t *)package, .lines_bytes = 255};
		interpreters_perl.name(&code, NULL);
		assert_in_range(strlen(code.name), 253, 255);
		assert_memory_equal(code.name, is, strlen(code.name));
		code = (struct trace_code){.table = BPF_PERL_IS_SUB};
		snprintf(code.name, sizeof(code.name), "%.255s", package);
		interpreters_perl.name(&code, NULL);
		assert_in_range(strlen(code.name), 252, 255);
		assert_memory_equal(code.name, is, strlen(code.name));
	}
	assert_int_equal(interpreters_whole("\xc3", 1), 1);
}
