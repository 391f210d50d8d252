/*
 * CRuby: its version says where it has what (ruby.tsv). Builds for debugging have other offsets:
 * a context that is found there does not point back to itself, and is none.
 */
#include "interpreters/language.h"

#include "base/array.h"
#include "elf/file.h"
#include "trace/trace.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

struct ruby_version {
	unsigned major, minor;
	struct bpf_ruby_offsets at;
};
#include "interpreters/generated/ruby.h"

enum symbol {
	VERSION, /* three numbers */
	LOOP,
	CODE,    /* any function */
	CONTEXT, /* before 3.0: of all threads */
	LOCAL,   /* else: of each one */
};
static const char *const symbols[] = {
    [VERSION] = "ruby_api_version", [LOOP] = "rb_vm_exec",
    [CODE] = "ruby_run_node",       [CONTEXT] = "ruby_current_execution_context_ptr",
    [LOCAL] = "ruby_current_ec",    NULL};

enum {
	INSTRUCTION_AT = 128, /* in struct pt_regs of x86-64 */
	STACK_AT = 152,
	MAX_LOCALS = 16,
	WORD = 8,
	MAX_RELOCATIONS = 1 << 20,
	MAX_LINE = (1 << 30) - 1, /* up to Ruby 3.1 they have 31 bits */
};

static const struct ruby_version *read_version(const struct elf_file *f,
					       const struct interpreters_symbol *s)
{
	uint32_t version[2];
	size_t len = 0;
	const uint8_t *p = s->value ? elf_file_bytes(f, s->value, sizeof(version), &len) : NULL;

	if (!p || len < sizeof(version))
		return NULL;
	memcpy(version, p, sizeof(version));
	return ARRAY_FIND(v, ruby_versions, ARRAY_NR(ruby_versions),
			  v->major == version[0] && v->minor == version[1]);
}

/* Whether the linker puts the file's own number there. */
static bool is_module(const Elf64_Rela *r, const struct elf_section *symbols_of)
{
	const uint64_t symbol = ELF64_R_SYM(r->r_info);
	Elf64_Sym s;

	if (ELF64_R_TYPE(r->r_info) != R_X86_64_DTPMOD64)
		return false;
	if (!symbol)
		return true;
	if (symbol >= symbols_of->size / sizeof(s))
		return false;
	memcpy(&s, symbols_of->data + symbol * sizeof(s), sizeof(s));
	return s.st_shndx != SHN_UNDEF;
}

/* 0: nowhere, as in a program, whose number is known. */
static uint64_t find_module(const struct elf_file *f)
{
	struct elf_section table, symbols_of;
	size_t nr;
	Elf64_Rela r;

	if (!elf_file_load_section(f, ".rela.dyn", &table) ||
	    !elf_file_load_section(f, ".dynsym", &symbols_of))
		return 0;
	nr = table.size / sizeof(r);
	for (size_t i = 0; i < nr && i < MAX_RELOCATIONS; i++) {
		memcpy(&r, table.data + i * sizeof(r), sizeof(r));
		if (is_module(&r, &symbols_of))
			return r.r_offset;
	}
	return 0;
}

/* A stripped library does not say which of the few variables it is: the kernel's program tries
 * them. */
static void find_locals(const struct elf_file *f, const struct interpreters_symbol *local,
			struct bpf_ruby *out)
{
	struct elf_section s;
	uint64_t begin = UINT64_MAX, end = 0;

	out->local = (uint32_t)local->value;
	out->nr_locals = local->size != 0;
	if (local->size)
		return;
	for (size_t i = 0; i < elf_file_nr_sections(f); i++) {
		if (!elf_file_section(f, i, &s) || !(s.flags & SHF_TLS))
			continue;
		if (s.address < begin)
			begin = s.address;
		if (s.address + s.size > end)
			end = s.address + s.size;
	}
	if (end > begin)
		out->nr_locals = (uint32_t)((end - begin) / WORD);
	if (out->nr_locals > MAX_LOCALS)
		out->nr_locals = MAX_LOCALS;
}

/* Where the loop has no name, and cannot be told from the rest of the file, its range is empty. */
static bool read_file(const struct elf_file *f, const struct interpreters_symbol *found,
		      struct bpf_interpreted_process *out)
{
	const struct ruby_version *v = read_version(f, &found[VERSION]);
	const struct interpreters_symbol *loop = &found[found[LOOP].value ? LOOP : CODE];

	if (!v || !loop->value)
		return false;
	out->ruby =
	    (struct bpf_ruby){.at = v->at, .instruction = INSTRUCTION_AT, .stack = STACK_AT};
	if (v->at.thread_number == BPF_RUBY_NOWHERE) {
		out->ruby.module = find_module(f);
		find_locals(f, &found[LOCAL], &out->ruby);
	} else {
		out->ruby.context = found[CONTEXT].value;
	}
	out->loop_begin = out->loop_end = loop->value;
	if (found[LOOP].value)
		out->loop_end += loop->size;
	return out->ruby.context || out->ruby.nr_locals;
}

static void move(struct bpf_interpreted_process *p, uint64_t base)
{
	if (p->ruby.context)
		p->ruby.context += base;
	if (p->ruby.module)
		p->ruby.module += base;
}

/* What a template makes may begin before its first line: at no line. */
static void name_code(struct trace_code *code, uint8_t lines[BPF_INTERPRETED_LINES_BYTES])
{
	(void)lines;
	code->table = TRACE_LINES_OF_FRAMES;
	if (code->first_line > MAX_LINE)
		code->first_line = 0;
}

const struct interpreters_language interpreters_ruby = {
    .number = BPF_INTERPRETED_RUBY,
    .file = "ruby",
    .symbols = symbols,
    .has_local = true,
    .read = read_file,
    .move = move,
    .name = name_code,
    .far = interpreters_ruby_far,
};
