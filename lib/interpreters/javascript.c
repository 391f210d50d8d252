/*
 * V8: symbols of its own, meant for debuggers after a crash, say where it has what. So no version
 * is known here. Only scopes are not said whole: versions that have the position of a function
 * before its variables, and those that do not, are told apart by where the variables begin.
 */
#include "interpreters/language.h"

#include "base/array.h"
#include "elf/file.h"
#include "interpreters/judge.h"
#include "interpreters/v8.h"
#include "trace/trace.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
	TAG = 1, /* of pointers */
	WORD = 8,
	MOST_FUNCTION_TYPES = 17, /* that follow each other, where the last is not said */
	MOST_INLINE = 75,         /* names of variables in a scope; more are in a table */
	SOURCE_AT = 8,            /* in a script, where that is not said */
	MAX_OFFSET = 120,
};

/* Symbols and what they say, but for what they begin with. Versions differ in names; where there
 * are two, the last one is right. */
#define FIELDS(X)                                                                                  \
	X("class_Map__instance_type__uint16_t", map_type)                                          \
	X("class_JSFunction__shared__SharedFunctionInfo", function_shared)                         \
	X("type_JSFunction__JS_FUNCTION_TYPE", function_type)                                      \
	X("FirstJSFunctionType", function_type)                                                    \
	X("LastJSFunctionType", last_function_type)                                                \
	X("FirstContextType", context_type)                                                        \
	X("LastContextType", last_context_type)                                                    \
	X("class_SharedFunctionInfo__name_or_scope_info__Object", shared_name)                     \
	X("class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_", shared_name)             \
	X("class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_", shared_name)   \
	X("class_SharedFunctionInfo__script_or_debug_info__HeapObject", shared_script)             \
	X("class_SharedFunctionInfo__script__Tagged_HeapObject_", shared_script)                   \
	X("class_SharedFunctionInfo__raw_script__Tagged_Object_", shared_script)                   \
	X("class_SharedFunctionInfo__flags__int", shared_flags)                                    \
	X("type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", shared_type)                       \
	X("type_ScopeInfo__SCOPE_INFO_TYPE", scope_type)                                           \
	X("scopeinfo_idx_first_vars", scope_variables)                                             \
	X("class_Script__name__Object", script_name)                                               \
	X("class_Script__source__Object", script_source)                                           \
	X("class_Script__line_ends__Object", script_number)                                        \
	X("type_Script__SCRIPT_TYPE", script_type)                                                 \
	X("class_String__length__int32_t", text_length)                                            \
	X("class_SeqOneByteString__chars__char", text_chars)                                       \
	X("class_ConsString__first__String", cons_first)                                           \
	X("class_ConsString__second__String", cons_second)                                         \
	X("class_SlicedString__parent__String", sliced_parent)                                     \
	X("class_SlicedString__offset__SMI", sliced_offset)                                        \
	X("class_ThinString__actual__String", thin_actual)                                         \
	X("class_ExternalString__resource__Object", external_data)                                 \
	X("FirstNonstringType", first_type)

/* What the kernel's program relies on. */
#define FACTS(X)                                                                                   \
	X("off_fp_function", -16)                                                                  \
	X("off_fp_context", -8)                                                                    \
	X("HeapObjectTag", TAG)                                                                    \
	X("SmiValueShift", 1)                                                                      \
	X("SmiShiftSize", 31)                                                                      \
	X("StringRepresentationMask", 7)                                                           \
	X("SeqStringTag", 0)                                                                       \
	X("ConsStringTag", 1)                                                                      \
	X("ExternalStringTag", 2)                                                                  \
	X("SlicedStringTag", 3)                                                                    \
	X("ThinStringTag", 5)                                                                      \
	X("OneByteStringTag", 8)                                                                   \
	X("JSFunctionRegister", 7)                                                                 \
	X("scopeinfo_idx_ncontextlocals", 2)

/* Of code that is optimised: types, and what the reader of it relies on. All of them, or it is not
 * read. */
#define OPTIMISED_TYPES(X)                                                                         \
	X("type_InstructionStream__INSTRUCTION_STREAM_TYPE", stream_type)                          \
	X("type_Code__CODE_TYPE", code_type)                                                       \
	X("type_FixedArray__FIXED_ARRAY_TYPE", array_type)                                         \
	X("type_ByteArray__BYTE_ARRAY_TYPE", bytes_type)                                           \
	X("type_WeakFixedArray__WEAK_FIXED_ARRAY_TYPE", weak_type)
#define OPTIMISED_FACTS(X)                                                                         \
	X("class_InstructionStream__instruction_start__uintptr_t", V8_STREAM_HEAD)                 \
	X("class_Code__deoptimization_data__FixedArray", V8_CODE_DATA)                             \
	X("class_Code__source_position_table__ByteArray", V8_CODE_POSITIONS)                       \
	X("class_FixedArrayBase__length__SMI", V8_ARRAY_LENGTH)                                    \
	X("class_FixedArray__data__uintptr_t", V8_ARRAY_HEAD)                                      \
	X("DeoptimizationDataInlinedFunctionCountIndex", V8_DATA_NR_INLINED)                       \
	X("DeoptimizationDataLiteralArrayIndex", V8_DATA_LITERALS)                                 \
	X("DeoptimizationDataSharedFunctionInfoIndex", V8_DATA_FUNCTION)                           \
	X("DeoptimizationDataInliningPositionsIndex", V8_DATA_INLININGS)

#define NAME(symbol, what)  "v8dbg_" symbol,
#define FIELD(symbol, what) offsetof(struct bpf_javascript, what),
#define VALUE(symbol, what) what,

static const size_t fields[] = {FIELDS(FIELD)};
static const int32_t facts[] = {FACTS(VALUE)};
static const size_t optimised_types[] = {OPTIMISED_TYPES(FIELD)};
static const int32_t optimised_facts[] = {OPTIMISED_FACTS(VALUE)};
enum {
	NR_OPTIMISED_TYPES = ARRAY_NR(optimised_types),
	NR_OPTIMISED_FACTS = ARRAY_NR(optimised_facts),
	NR_FIELDS = ARRAY_NR(fields),
	NR_FACTS = ARRAY_NR(facts),
	BYTECODE_ARRAY = NR_FIELDS + NR_FACTS, /* of a frame; said since Node.js 18 */
	FIRST_HANDLER,                         /* of bytecode; not in stripped files */
	LAST_HANDLER,
	OPTIMISED,
};
static const char *const symbols[] = {
    FIELDS(NAME) FACTS(NAME) NAME("off_fp_bytecode_array", ) "Builtins_WideHandler",
    "Builtins_AbortExtraWideHandler", OPTIMISED_TYPES(NAME) OPTIMISED_FACTS(NAME) NULL};

static bool read_value(const struct elf_file *f, const struct interpreters_symbol *s, int32_t *out)
{
	size_t len = 0;
	const uint8_t *p = s->value ? elf_file_bytes(f, s->value, sizeof(*out), &len) : NULL;

	if (!s->value)
		return false;
	*out = 0; /* not in the file: of memory that begins as zeroes */
	if (p && len >= sizeof(*out))
		memcpy(out, p, sizeof(*out));
	return true;
}

static uint16_t *field_at(struct bpf_javascript *j, size_t i)
{
	return (uint16_t *)(void *)((char *)j + fields[i]);
}

static void read_fields(const struct elf_file *f, const struct interpreters_symbol *found,
			struct bpf_javascript *j)
{
	int32_t value;

	for (size_t i = 0; i < NR_FIELDS; i++)
		if (read_value(f, &found[i], &value) && value >= 0 && value <= INT16_MAX)
			*field_at(j, i) = (uint16_t)value;
	if (!j->script_source)
		j->script_source = SOURCE_AT;
	if (!j->last_function_type)
		j->last_function_type = j->function_type + MOST_FUNCTION_TYPES - 1;
}

static bool are_as_expected(const struct elf_file *f, const struct interpreters_symbol *found,
			    const int32_t *expected, size_t nr)
{
	int32_t value;

	for (size_t i = 0; i < nr; i++)
		if (!read_value(f, &found[i], &value) || value != expected[i])
			return false;
	return true;
}

static void read_optimised(const struct elf_file *f, const struct interpreters_symbol *found,
			   struct bpf_javascript *j)
{
	int32_t value;

	if (!are_as_expected(f, found + NR_OPTIMISED_TYPES, optimised_facts, NR_OPTIMISED_FACTS))
		return;
	for (size_t i = 0; i < NR_OPTIMISED_TYPES; i++)
		if (read_value(f, &found[i], &value) && value > 0 && value <= INT16_MAX)
			*(uint16_t *)(void *)((char *)j + optimised_types[i]) = (uint16_t)value;
}

static bool is_whole(struct bpf_javascript *j)
{
	for (size_t i = 0; i < NR_FIELDS; i++)
		if (!*field_at(j, i))
			return false;
	return true;
}

/* What is beside what the symbols say. */
static void derive_fields(struct bpf_javascript *j, bool is_later)
{
	j->map_type -= TAG;
	j->script_line = j->script_name + WORD;
	j->script_number += WORD;
	j->text_hash = j->text_length - WORD / 2;
	j->external_data += WORD;
	j->scope_most = is_later ? MOST_INLINE : UINT16_MAX;
	j->scope_receiver = !is_later;
}

static void find_code(const struct elf_file *f, struct bpf_javascript *j)
{
	struct elf_segment s;

	for (size_t i = 0; i < elf_file_nr_segments(f); i++) {
		elf_file_segment(f, i, &s);
		if (!s.is_code)
			continue;
		if (!j->text_begin)
			j->text_begin = s.address;
		j->text_end = s.address + s.file_bytes;
	}
}

static bool read_file(const struct elf_file *f, const struct interpreters_symbol *found,
		      struct bpf_interpreted_process *out)
{
	struct bpf_javascript *j = &out->javascript;

	if (!are_as_expected(f, found + NR_FIELDS, facts, NR_FACTS))
		return false;
	*j = (struct bpf_javascript){.text_begin = 0};
	read_fields(f, found, j);
	if (!is_whole(j))
		return false;
	derive_fields(j, found[BYTECODE_ARRAY].value);
	read_optimised(f, found + OPTIMISED, j);
	find_code(f, j);
	if (found[FIRST_HANDLER].value && found[LAST_HANDLER].value > found[FIRST_HANDLER].value) {
		out->loop_begin = found[FIRST_HANDLER].value;
		out->loop_end = found[LAST_HANDLER].value + found[LAST_HANDLER].size;
	}
	return true;
}

static void move(struct bpf_interpreted_process *p, uint64_t base)
{
	p->javascript.text_begin += base;
	p->javascript.text_end += base;
}

static int digit_of(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* "%20". */
static bool read_escaped(const char *p, char *out)
{
	const int high = *p == '%' ? digit_of(p[1]) : -1, low = high < 0 ? -1 : digit_of(p[2]);

	if (low < 0 || (!high && !low))
		return false;
	*out = (char)(high << 4 | low);
	return true;
}

/* The file of a module is a URL. */
static void read_url(char *file)
{
	static const char scheme[] = "file://";
	const char *from = file + sizeof(scheme) - 1;
	char *to = file;

	if (strncmp(file, scheme, sizeof(scheme) - 1) != 0)
		return;
	for (; *from; to++) {
		if (read_escaped(from, to))
			from += 3;
		else
			*to = *from++;
	}
	*to = '\0';
}

/* As V8 itself and its profiler write what has none. */
static void name(struct trace_code *code, uint8_t lines[BPF_INTERPRETED_LINES_BYTES])
{
	(void)lines;
	if (!*code->name)
		snprintf(code->name, sizeof(code->name), "(anonymous)");
	if (!*code->file)
		snprintf(code->file, sizeof(code->file), "<anonymous>");
	read_url(code->file);
}

bool interpreters_v8_find(struct interpreters_judge *j, uint32_t pid, struct bpf_javascript *out)
{
	struct bpf_interpreted_process is = {0};

	(void)interpreters_judge_process(j, pid, false, &is);
	if (is.state != BPF_INTERPRETED_IS || is.language != BPF_INTERPRETED_JAVASCRIPT)
		return false;
	*out = is.javascript;
	return out->stream_type && out->code_type && out->array_type && out->bytes_type &&
	       out->weak_type;
}

void interpreters_v8_name(struct trace_code *code)
{
	name(code, NULL);
}

const struct interpreters_language interpreters_javascript = {
    .number = BPF_INTERPRETED_JAVASCRIPT,
    .file = "node",
    .symbols = symbols,
    .has_local = true,
    .read = read_file,
    .move = move,
    .name = name,
};
