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

/* The same of what reads code that is optimised. */
#define OPTIMISED_FACTS(X)                                                                         \
	X("class_FixedArrayBase__length__SMI", V8_ARRAY_LENGTH)                                    \
	X("class_FixedArray__data__uintptr_t", V8_ARRAY_HEAD)

/* Of code that is optimised: what of a layout a symbol says, and which layouts have it. It tells
 * them apart: others do not have it. */
#define LAYOUT_FACTS(X)                                                                            \
	X("class_Code__instruction_start__uintptr_t", stream_head, IN_16 | IN_18)                  \
	X("class_InstructionStream__instruction_start__uintptr_t", stream_head,                    \
	  IN_20 | IN_22 | IN_24)                                                                   \
	X("class_Code__instruction_start__Address", code_start, IN_22 | IN_24)                     \
	X("class_Code__instruction_stream__Tagged_InstructionStream_", code_beside, IN_22 | IN_24) \
	X("class_Code__instruction_size__int", code_length, IN_16 | IN_18 | IN_22 | IN_24)         \
	X("class_Code__flags__uint32_t", code_flags, IN_18 | IN_22 | IN_24)                        \
	X("CodeKindBaseline", baseline, IN_18 | IN_20 | IN_22 | IN_24)                             \
	X("class_Code__deoptimization_data__FixedArray", code_data, IN_20)                         \
	X("class_Code__source_position_table__ByteArray", code_positions, IN_16 | IN_20)           \
	X("DeoptimizationDataInlinedFunctionCountIndex", data_nr_inlined, IN_20 | IN_22 | IN_24)   \
	X("DeoptimizationDataLiteralArrayIndex", data_literals, IN_20 | IN_22 | IN_24)             \
	X("DeoptimizationDataSharedFunctionInfoIndex", data_function, IN_20 | IN_22)               \
	X("DeoptimizationDataWrappedSharedFunctionInfoIndex", data_function, IN_24)                \
	X("DeoptimizationDataInliningPositionsIndex", data_inlinings, IN_20 | IN_22 | IN_24)
enum { IN_16 = 1, IN_18 = 2, IN_20 = 4, IN_22 = 8, IN_24 = 16 };

/* Types of what it has. */
#define OPTIMISED_TYPES(X)                                                                         \
	X("type_InstructionStream__INSTRUCTION_STREAM_TYPE", STREAM)                               \
	X("type_Code__CODE_TYPE", CODE)                                                            \
	X("type_CodeDataContainer__CODE_DATA_CONTAINER_TYPE", CONTAINER)                           \
	X("type_FixedArray__FIXED_ARRAY_TYPE", ARRAY)                                              \
	X("type_TrustedFixedArray__TRUSTED_FIXED_ARRAY_TYPE", TRUSTED_ARRAY)                       \
	X("type_ProtectedFixedArray__PROTECTED_FIXED_ARRAY_TYPE", PROTECTED_ARRAY)                 \
	X("type_WeakFixedArray__WEAK_FIXED_ARRAY_TYPE", WEAK_ARRAY)                                \
	X("type_TrustedWeakFixedArray__TRUSTED_WEAK_FIXED_ARRAY_TYPE", TRUSTED_WEAK_ARRAY)         \
	X("type_ByteArray__BYTE_ARRAY_TYPE", BYTES)                                                \
	X("type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE", TRUSTED_BYTES)                         \
	X("type_SharedFunctionInfoWrapper__SHARED_FUNCTION_INFO_WRAPPER_TYPE", WRAPPER)
#define OPTIMISED_TYPE(symbol, what) what,
enum { OPTIMISED_TYPES(OPTIMISED_TYPE) NONE, NR_OPTIMISED_TYPES = NONE };

/* Where bpf_javascript has them. */
static const size_t type_fields[] = {offsetof(struct bpf_javascript, stream_type),
				     offsetof(struct bpf_javascript, code_type),
				     offsetof(struct bpf_javascript, beside_type),
				     offsetof(struct bpf_javascript, data_type),
				     offsetof(struct bpf_javascript, literals_type),
				     offsetof(struct bpf_javascript, positions_type),
				     offsetof(struct bpf_javascript, inlinings_type),
				     offsetof(struct bpf_javascript, wrapper_type)};

static const struct layout {
	uint32_t in;
	struct v8_layout is;
	uint8_t type[ARRAY_NR(type_fields)];
} layouts[] = {
    {IN_16,
     {0, 96, 16, 24, 32, 0, 40, 48, 11, 1, 2, 6, 7},
     {CODE, CODE, CONTAINER, ARRAY, ARRAY, BYTES, BYTES, NONE}},
    {IN_18,
     {0, 128, 16, 24, 32, 0, 40, 48, 11, 1, 2, 6, 7},
     {CODE, CODE, CONTAINER, ARRAY, WEAK_ARRAY, BYTES, BYTES, NONE}},
    {IN_20,
     {8, 16, 16, 24, 32, 40, 56, 48, 11, 1, 2, 6, 7},
     {STREAM, CODE, STREAM, ARRAY, WEAK_ARRAY, BYTES, BYTES, NONE}},
    {IN_22,
     {8, 32, 8, 16, 32, 40, 52, 48, 10, 1, 2, 6, 7},
     {STREAM, CODE, STREAM, TRUSTED_ARRAY, WEAK_ARRAY, TRUSTED_BYTES, BYTES, NONE}},
    {IN_24,
     {8, 32, 8, 16, 32, 40, 56, 52, 10, 1, 3, 7, 8},
     {STREAM, CODE, STREAM, PROTECTED_ARRAY, TRUSTED_WEAK_ARRAY, TRUSTED_BYTES, TRUSTED_BYTES,
      WRAPPER}},
};

#define NAME(symbol, what)            "v8dbg_" symbol,
#define FIELD(symbol, what)           offsetof(struct bpf_javascript, what),
#define VALUE(symbol, what)           what,
#define LAYOUT_NAME(symbol, what, in) NAME(symbol, what)
#define LAYOUT_FACT(symbol, what, in) {offsetof(struct v8_layout, what), in},

static const size_t fields[] = {FIELDS(FIELD)};
static const int32_t facts[] = {FACTS(VALUE)};
static const int32_t optimised_facts[] = {OPTIMISED_FACTS(VALUE)};
static const struct layout_fact {
	size_t field;
	uint32_t in;
} layout_facts[] = {LAYOUT_FACTS(LAYOUT_FACT)};
enum {
	NR_OPTIMISED_FACTS = ARRAY_NR(optimised_facts),
	NR_LAYOUT_FACTS = ARRAY_NR(layout_facts),
	NR_FIELDS = ARRAY_NR(fields),
	NR_FACTS = ARRAY_NR(facts),
	BYTECODE_ARRAY = NR_FIELDS + NR_FACTS, /* of a frame; said since Node.js 18 */
	FIRST_HANDLER,                         /* of bytecode; not in stripped files */
	LAST_HANDLER,
	OPTIMISED,
};
static const char *const symbols[] = {
    FIELDS(NAME) FACTS(NAME) NAME("off_fp_bytecode_array", ) "Builtins_WideHandler",
    "Builtins_AbortExtraWideHandler",
    OPTIMISED_TYPES(NAME) OPTIMISED_FACTS(NAME) LAYOUT_FACTS(LAYOUT_NAME) NULL};
_Static_assert(ARRAY_NR(symbols) <= INTERPRETERS_MAX_SYMBOLS, "there is room for all");

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

/* Whether the symbols are those of that layout. */
static bool is_layout(const struct elf_file *f, const struct interpreters_symbol *found,
		      const struct layout *l)
{
	for (size_t i = 0; i < NR_LAYOUT_FACTS; i++) {
		const struct layout_fact *fact = &layout_facts[i];
		int32_t value;
		uint16_t expected;

		if (!(fact->in & l->in)) {
			if (found[i].value)
				return false;
			continue;
		}
		memcpy(&expected, (const char *)&l->is + fact->field, sizeof(expected));
		if (!read_value(f, &found[i], &value) || value != expected)
			return false;
	}
	return true;
}

static uint16_t *type_at(struct bpf_javascript *j, size_t i)
{
	return (uint16_t *)(void *)((char *)j + type_fields[i]);
}

/* False: one that is needed is not said. */
static bool set_types(struct bpf_javascript *j, const struct layout *l,
		      const uint16_t type[NR_OPTIMISED_TYPES + 1])
{
	for (size_t i = 0; i < ARRAY_NR(type_fields); i++) {
		*type_at(j, i) = type[l->type[i]];
		if (l->type[i] != NONE && !*type_at(j, i))
			return false;
	}
	return true;
}

static void read_optimised(const struct elf_file *f, const struct interpreters_symbol *found,
			   struct bpf_javascript *j)
{
	const struct interpreters_symbol *of_facts = found + NR_OPTIMISED_TYPES;
	const struct interpreters_symbol *of_layouts = of_facts + NR_OPTIMISED_FACTS;
	uint16_t type[NR_OPTIMISED_TYPES + 1] = {0};
	int32_t value;

	if (!are_as_expected(f, of_facts, optimised_facts, NR_OPTIMISED_FACTS))
		return;
	for (size_t i = 0; i < NR_OPTIMISED_TYPES; i++)
		if (read_value(f, &found[i], &value) && value > 0 && value <= INT16_MAX)
			type[i] = (uint16_t)value;
	for (size_t i = 0; i < ARRAY_NR(layouts); i++)
		if (is_layout(f, of_layouts, &layouts[i]) && set_types(j, &layouts[i], type))
			j->layout = (uint16_t)(i + 1);
}

const struct v8_layout *interpreters_v8_layout(const struct bpf_javascript *j)
{
	return j->layout && j->layout <= ARRAY_NR(layouts) ? &layouts[j->layout - 1].is : NULL;
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
	return interpreters_v8_layout(out);
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
