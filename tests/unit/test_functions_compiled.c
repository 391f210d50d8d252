/*
 * Which functions of this very program are prepared: written as compilers prepare them, and never
 * called.
 */
#include "kit.h"

#include "elf/file.h"
#include "elf/reader.h"
#include "functions/compiled.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)

/* NAME: its code, of LENGTH bytes at least. */
#define FUNCTION(name, code)                                                                       \
	__asm__(".pushsection .text\n"                                                             \
		".globl " #name "\n"                                                               \
		".type " #name ", @function\n"                                                     \
		".p2align 4\n" #name ":\n" code "\nret\n"                                          \
		".size " #name ", . - " #name "\n"                                                 \
		".popsection\n");                                                                  \
	extern const char name[];

FUNCTION(compiled_stub, "push %rbp\n mov %rsp, %rbp\n call mcount@PLT\n pop %rbp")
FUNCTION(compiled_word, "endbr64\n call *__fentry__@GOTPCREL(%rip)")
FUNCTION(compiled_both, "push %rbx\n sub $128, %rsp\n call __cyg_profile_func_enter@PLT\n"
			"call __cyg_profile_func_exit@PLT\n add $128, %rsp\n pop %rbx")
FUNCTION(compiled_other, "push %rbx\n call getpid@PLT\n call *getppid@GOTPCREL(%rip)\n pop %rbx")
FUNCTION(compiled_nops, "endbr64\n .byte 0x90, 0x90, 0x90, 0x90, 0x90")
FUNCTION(compiled_nop, ".byte 0x0f, 0x1f, 0x44, 0, 0")
FUNCTION(compiled_long, ".byte 0x66, 0x90, 0x0f, 0x1f, 0x40, 0")
FUNCTION(compiled_few, ".byte 0x90, 0x90, 0x90, 0x90\n push %rbx\n pop %rbx")
FUNCTION(compiled_sled, ".byte 0xeb, 0x09, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0")
FUNCTION(compiled_jump, "jmp .+11\n .byte 0x48, 0x89, 0xc0, 0x48, 0x89, 0xc0, 0x48, 0x89, 0xc0")
/* a call of the hook's stub, of which the function does not have the last byte */
FUNCTION(compiled_cut, "push %rbx\n call mcount@PLT")
__asm__(".pushsection __patchable_function_entries, \"aw\"\n .quad 0\n .popsection\n"
	".pushsection xray_instr_map, \"a\"\n .quad 0\n .popsection\n");

struct open {
	struct elf_reader *reader;
	struct elf_file *file;
	struct functions_compiled compiled;
};

static void open_self(struct open *o)
{
	const struct elf_reader_config config = {.max_bytes = 0};
	struct err e = {0};
	struct stat st;

	assert_int_equal(elf_reader_new(&config, &o->reader), 0);
	assert_int_equal(elf_file_open(o->reader, "/proc/self/exe", &o->file, &st, &e), 0);
	assert_int_equal(functions_compiled_load(o->file, &o->compiled), 0);
}

static void close_self(struct open *o)
{
	functions_compiled_fini(&o->compiled);
	elf_file_close(o->file);
	elf_reader_free(o->reader);
}

/* Its address in the file, whose first byte is at address 0 or is the first one mapped. */
static uint64_t address_of(const char *at)
{
	extern const char __executable_start[];
	struct elf_segment first;
	struct open o;

	open_self(&o);
	elf_file_segment(o.file, 0, &first);
	close_self(&o);
	return (uint64_t)(at - __executable_start) + first.address - first.offset;
}

TEST(own)
{
	const struct {
		const char *at;
		uint64_t size;
		enum functions_prepared is;
	} cases[] = {
	    {compiled_stub, 11, FUNCTIONS_PREPARED_ENTRY},
	    {compiled_word, 11, FUNCTIONS_PREPARED_ENTRY},
	    {compiled_both, 27, FUNCTIONS_PREPARED_BOTH},
	    {compiled_other, 14, FUNCTIONS_PREPARED_NOT},
	    {compiled_nops, 10, FUNCTIONS_PREPARED_ENTRY},
	    {compiled_nop, 6, FUNCTIONS_PREPARED_ENTRY},
	    {compiled_long, 7, FUNCTIONS_PREPARED_ENTRY},
	    {compiled_few, 7, FUNCTIONS_PREPARED_NOT},
	    {compiled_sled, 12, FUNCTIONS_PREPARED_BOTH},
	    {compiled_jump, 12, FUNCTIONS_PREPARED_NOT},
	    {compiled_cut, 6, FUNCTIONS_PREPARED_ENTRY},
	    {compiled_cut, 5, FUNCTIONS_PREPARED_NOT},
	    {compiled_nop, 4, FUNCTIONS_PREPARED_NOT},
	    {compiled_sled, 5, FUNCTIONS_PREPARED_NOT},
	    {compiled_nop, 0, FUNCTIONS_PREPARED_NOT},
	};
	struct open o;

	open_self(&o);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (functions_compiled_of(&o.compiled, o.file, address_of(cases[i].at),
					  cases[i].size) != cases[i].is)
			fail_msg("case %zu", i);
	assert_int_equal(functions_compiled_of(&o.compiled, o.file, UINT64_MAX - 4, UINT64_MAX),
			 FUNCTIONS_PREPARED_NOT);
	close_self(&o);
}

#endif

/* Of any damaged file: no crash; and what is found are places. */
TEST(damaged)
{
	struct stat st;
	FILE *f = fopen("/proc/self/exe", "re");
	size_t len = 0;
	uint8_t *bytes;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	len = fread(bytes, 1, (size_t)st.st_size, f);
	assert_int_equal(len, st.st_size);
	fclose(f);
	for (int i = 0; i < 200; i++) {
		struct functions_compiled c;
		struct elf_file *file;
		struct err e = {0};
		/* headers of sections are at the end */
		size_t at = len - 1 - (size_t)(i * 37) % 2048;
		uint8_t was = bytes[at];

		bytes[at] = (uint8_t)(was ^ (1 << i % 8));
		if (elf_file_open_mem(bytes, len, false, "damaged", &file, &e) == 0) {
			assert_int_equal(functions_compiled_load(file, &c), 0);
			for (size_t k = 1; k < c.nr; k++)
				assert_true(c.hook[k - 1].address <= c.hook[k].address);
			functions_compiled_fini(&c);
			elf_file_close(file);
		}
		bytes[at] = was;
	}
	free(bytes);
}
