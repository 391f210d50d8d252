/*
 * Perl: its version says where it has what (perl.tsv). Each thread has an interpreter, which it
 * has by a key of pthreads; builds without threads have one, whose parts are variables. Builds for
 * debugging have the same offsets; those with numbers of 16 bytes have the package of a glob
 * elsewhere, and subs without one.
 */
#include "interpreters/language.h"

#include "base/array.h"
#include "base/str.h"
#include "elf/file.h"
#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

struct perl_version {
	unsigned major, minor;
	struct bpf_perl_offsets at;
};
#include "interpreters/generated/perl.h"

enum symbol { REVISION, VERSION, LOOP, KEY, STACK, COP, OP };
static const char *const symbols[] = {[REVISION] = "PL_revision",
				      [VERSION] = "PL_version",
				      [LOOP] = "Perl_runops_standard",
				      [KEY] = "PL_thr_key",
				      [STACK] = "PL_curstackinfo",
				      [COP] = "PL_curcop",
				      [OP] = "PL_op",
				      NULL};

/* A variable of one byte; 0: the file does not say it. */
static uint8_t read_byte(const struct elf_file *f, const struct interpreters_symbol *s)
{
	size_t len = 0;
	const uint8_t *p = s->value ? elf_file_bytes(f, s->value, 1, &len) : NULL;

	return p && len ? *p : 0;
}

static bool read_file(const struct elf_file *f, const struct interpreters_symbol *found,
		      struct bpf_interpreted_process *out)
{
	const unsigned revision = read_byte(f, &found[REVISION]),
		       version = read_byte(f, &found[VERSION]);
	const struct perl_version *v = ARRAY_FIND(it, perl_versions, ARRAY_NR(perl_versions),
						  it->major == revision && it->minor == version);

	if (!v || !found[LOOP].value)
		return false;
	out->perl = (struct bpf_perl){.at = v->at};
	if (found[KEY].value) {
		out->perl.key = found[KEY].value;
		out->perl.stack = v->at.interpreter_stack;
		out->perl.cop = v->at.interpreter_cop;
		out->perl.op = v->at.interpreter_op;
	} else {
		out->perl.stack = found[STACK].value;
		out->perl.cop = found[COP].value;
		out->perl.op = found[OP].value;
	}
	out->loop_begin = found[LOOP].value;
	out->loop_end = found[LOOP].value + found[LOOP].size;
	return out->perl.stack && out->perl.cop && out->perl.op;
}

static void move(struct bpf_interpreted_process *p, uint64_t base)
{
	if (p->perl.key) {
		p->perl.key += base;
	} else {
		p->perl.stack += base;
		p->perl.cop += base;
		p->perl.op += base;
	}
}

/* Perl has names as Latin-1 where that has all their characters. */
static void add_text(const char *text, size_t len, char *to, size_t size)
{
	size_t at = strlen(to);

	len = interpreters_whole(text, len);
	if (str_is_utf8(text, len)) {
		snprintf(to + at, size - at, "%.*s", (int)len, text);
		return;
	}
	for (size_t i = 0; i < len && text[i] && at + 2 < size; i++)
		at += interpreters_add_utf8(to + at, (uint8_t)text[i]);
	to[at] = '\0';
}

/* As Perl's own traces call it. The name of the package is where lines would be; what the code is,
 * in place of their table. A text that is evaluated has a number in place of a file. */
static void name_code(struct trace_code *code, uint8_t lines[BPF_INTERPRETED_LINES_BYTES])
{
	static const char *const others[] = {[BPF_PERL_IS_SUB] = "__ANON__",
					     [BPF_PERL_IS_TEXT] = "(require)",
					     [BPF_PERL_IS_PROGRAM] = "<main>"};
	const uint32_t kind = code->table < ARRAY_NR(others) ? code->table : BPF_PERL_IS_SUB;
	const bool is_text = strcmp(code->file, "(eval") == 0;
	char name[4 * sizeof(code->name)] = "";

	(void)lines;
	if (code->lines_bytes) {
		add_text((const char *)code->lines, code->lines_bytes, name, sizeof(name));
		add_text("::", 2, name, sizeof(name));
	}
	if (*code->name)
		add_text(code->name, strlen(code->name), name, sizeof(name));
	else
		add_text(others[kind], strlen(others[kind]), name, sizeof(name));
	if (kind == BPF_PERL_IS_TEXT && is_text)
		snprintf(name, sizeof(name), "(eval)");
	if (is_text || !*code->file)
		snprintf(code->file, sizeof(code->file), is_text ? "(eval)" : "[perl]");
	snprintf(code->name, sizeof(code->name), "%.*s",
		 (int)str_whole(name, sizeof(code->name) - 1), name);
	code->lines_bytes = 0;
	code->table = TRACE_LINES_OF_FRAMES;
}

const struct interpreters_language interpreters_perl = {
    .number = BPF_INTERPRETED_PERL,
    .file = "perl",
    .symbols = symbols,
    .read = read_file,
    .move = move,
    .name = name_code,
};
