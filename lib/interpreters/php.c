/*
 * PHP: the version of its interface for modules says where it has what (php.tsv). Builds with
 * threads do not export executor_globals, and have other offsets, as those for debugging.
 */
#include "interpreters/language.h"

#include "base/array.h"
#include "elf/file.h"
#include "trace/trace.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

struct php_version {
	unsigned major, minor;
	struct bpf_php_offsets at;
};
#include "interpreters/generated/php.h"

enum symbol { GLOBALS, LOOP };
static const char *const symbols[] = {[GLOBALS] = "executor_globals", [LOOP] = "execute_ex", NULL};

/* The loop keeps its frame and its opcode in r14 and r15, in x27 and x28. */
static const struct {
	uint16_t machine;
	struct bpf_php_registers at;
} registers[] = {{EM_X86_64, {.frame = 8, .opline = 0, .instruction = 128, .stack = 152}},
		 {EM_AARCH64, {.frame = 216, .opline = 224, .instruction = 256, .stack = 248}}};

static uint32_t read_number(const char *text, size_t digits)
{
	uint32_t n = 0;

	for (size_t i = 0; i < digits; i++)
		n = n * 10 + (uint32_t)(text[i] - '0') % 10;
	return n;
}

/* What each module must say, as "API20220829,NTS": without threads, and not for debugging. 0: the
 * file does not say it. */
static uint32_t read_interface(const struct elf_file *f)
{
	static const char begin[] = "API", end[] = ",NTS";
	enum { DIGITS = 8, BEGIN = sizeof(begin) - 1, BYTES = BEGIN + DIGITS + sizeof(end) };
	struct elf_section texts;
	const char *p, *last;

	if (!elf_file_load_section(f, ".rodata", &texts) || texts.size < BYTES)
		return 0;
	last = (const char *)texts.data + texts.size;
	for (p = (const char *)texts.data; p && last - p >= BYTES; p++) {
		p = memmem(p, (size_t)(last - p), begin, BEGIN);
		if (!p || last - p < BYTES)
			return 0;
		if (memcmp(p + BEGIN + DIGITS, end, sizeof(end)) == 0)
			return read_number(p + BEGIN, DIGITS);
	}
	return 0;
}

static bool read_file(const struct elf_file *f, const struct interpreters_symbol *found,
		      struct bpf_interpreted_process *out)
{
	const struct php_version *v = NULL;
	uint32_t interface;

	if (!found[GLOBALS].value || !found[LOOP].value)
		return false;
	interface = read_interface(f);
	v = ARRAY_FIND(it, php_versions, ARRAY_NR(php_versions),
		       it->at.api_year * 10000u + it->at.api_day == interface);
	if (!v)
		return false;
	out->php.at = v->at;
	out->php.globals = found[GLOBALS].value;
	for (size_t i = 0; i < ARRAY_NR(registers); i++)
		if (registers[i].machine == elf_file_machine(f))
			out->php.registers = registers[i].at;
	out->loop_begin = found[LOOP].value;
	out->loop_end = found[LOOP].value + found[LOOP].size;
	return true;
}

static void move(struct bpf_interpreted_process *p, uint64_t base)
{
	p->php.globals += base;
}

/* The name of the class is where lines would be, up to a zero byte: behind that is what tells a
 * class without a name from others. */
static void name_code(struct trace_code *code, uint8_t lines[BPF_INTERPRETED_LINES_BYTES])
{
	const int bytes = (int)code->lines_bytes;
	char name[2 * sizeof(code->name)] = "";

	(void)lines;
	snprintf(name, sizeof(name), "%.*s%s%s", bytes, bytes ? (const char *)code->lines : "",
		 bytes ? "::" : "", *code->name ? code->name : "<main>");
	memcpy(code->name, name, sizeof(code->name) - 1);
	if (!*code->file)
		snprintf(code->file, sizeof(code->file), "[php]");
	code->lines_bytes = 0;
	code->table = TRACE_LINES_OF_FRAMES;
}

const struct interpreters_language interpreters_php = {
    .number = BPF_INTERPRETED_PHP,
    .file = "php",
    .symbols = symbols,
    .read = read_file,
    .move = move,
    .name = name_code,
    .far = interpreters_php_far,
};
