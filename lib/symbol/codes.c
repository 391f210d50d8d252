/*
 * Tables of lines are the program's memory: they may be anything, and end anywhere. Source:
 * Objects/locations.md and codeobject.c of CPython.
 */
#include "symbol/codes.h"

#include "base/array.h"
#include "profile/codes.h"
#include "symbol/functions.h"
#include "symbol/room.h"

#include <stdio.h>
#include <string.h>

/* --- lines */

enum {
	LOCATION_ONE_LINE_0 = 10, /* to 12: the line is so many lines further, less this */
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
	FIRST_BYTE = 0x80, /* of each location */
	VARINT_MORE = 0x40,
	VARINT_BITS = 6,
	INSTRUCTION_BYTES = 2, /* by which tables of 3.10 and before count */
	RANGE_NO_LINE = -128,
};

/* A number of six bits a byte, the lowest first, with its sign as the lowest bit. */
static int64_t read_signed(const uint8_t *p, uint32_t len)
{
	uint64_t v = 0;
	unsigned shift = 0;

	for (uint32_t i = 0; i < len && shift < 36; i++, shift += VARINT_BITS) {
		v |= (uint64_t)(p[i] & (VARINT_MORE - 1)) << shift;
		if (!(p[i] & VARINT_MORE))
			break;
	}
	return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

static int64_t lines_further(unsigned kind, const uint8_t *p, uint32_t len)
{
	if (kind == LOCATION_LONG || kind == LOCATION_NO_COLUMNS)
		return read_signed(p, len);
	return kind >= LOCATION_ONE_LINE_0 && kind < LOCATION_NO_COLUMNS
		   ? (int64_t)kind - LOCATION_ONE_LINE_0
		   : 0;
}

static uint32_t line_or_none(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t line_of_locations(const struct profile_code *c, int32_t instruction)
{
	const uint8_t *p = c->lines;
	int64_t line = c->first_line, covered = 0;

	for (uint32_t i = 0; i < c->lines_bytes;) {
		const unsigned kind = p[i] >> 3 & 15;

		covered += (p[i] & 7) + 1;
		i++;
		line += lines_further(kind, p + i, c->lines_bytes - i);
		if (instruction < covered)
			return kind == LOCATION_NONE ? 0 : line_or_none(line);
		while (i < c->lines_bytes && !(p[i] & FIRST_BYTE))
			i++;
	}
	return 0;
}

/* Each pair of bytes: so many bytes of instructions later the line is so many further. */
static uint32_t line_of_bytes(const struct profile_code *c, int64_t at)
{
	int64_t line = c->first_line, covered = 0;

	for (uint32_t i = 0; i + 1 < c->lines_bytes; i += 2) {
		covered += c->lines[i];
		if (covered > at)
			break;
		line += (int8_t)c->lines[i + 1];
	}
	return line_or_none(line);
}

static uint32_t line_of_steps(const struct profile_code *c, int32_t instruction)
{
	return line_of_bytes(c, (int64_t)instruction * INSTRUCTION_BYTES);
}

static uint32_t line_of_single_bytes(const struct profile_code *c, int32_t instruction)
{
	return line_of_bytes(c, instruction);
}

/* Each pair: the line is so many further, for so many bytes of instructions. */
static uint32_t line_of_ranges(const struct profile_code *c, int32_t instruction)
{
	const int64_t at = (int64_t)instruction * INSTRUCTION_BYTES;
	int64_t line = c->first_line, covered = 0;

	for (uint32_t i = 0; i + 1 < c->lines_bytes; i += 2) {
		const int8_t further = (int8_t)c->lines[i + 1];

		covered += c->lines[i];
		if (further != RANGE_NO_LINE)
			line += further;
		if (at < covered)
			return further == RANGE_NO_LINE ? 0 : line_or_none(line);
	}
	return 0;
}

static uint32_t line_of_frame(const struct profile_code *c, int32_t instruction)
{
	(void)c;
	return line_or_none(instruction);
}

static const struct {
	enum trace_line_table table;
	uint32_t (*line_at)(const struct profile_code *c, int32_t instruction);
} tables[] = {{TRACE_LINES_LOCATIONS, line_of_locations},
	      {TRACE_LINES_STEPS, line_of_steps},
	      {TRACE_LINES_RANGES, line_of_ranges},
	      {TRACE_LINES_OF_FRAMES, line_of_frame},
	      {TRACE_LINES_BYTES, line_of_single_bytes}};

uint32_t symbol_codes_line_at(const struct profile_code *code, int32_t instruction)
{
	if (instruction < 0)
		return code->first_line;
	for (size_t i = 0; i < ARRAY_NR(tables); i++)
		if (tables[i].table == code->table)
			return tables[i].line_at(code, instruction);
	return 0;
}

/* --- functions */

static const struct symbol_function *find_unknown(struct symbol_functions *f, uint32_t language)
{
	const char *name = trace_language_name(language);
	char unknown[64], object[64];
	const struct symbol_function_key key = {.space = (uint64_t)SPACE_CODE << 32,
						.linkage = object};
	const struct symbol_function *fn;
	struct symbol_function draft = {.name = unknown};

	snprintf(unknown, sizeof(unknown), "[unknown] (%s)", name);
	snprintf(object, sizeof(object), "[%s]", name);
	fn = symbol_functions_find(f, &key);
	if (fn)
		return fn;
	draft.object = draft.object_path = symbol_functions_text(f, object, strlen(object));
	return draft.object ? symbol_functions_add_key(f, &draft, &key)
			    : symbol_functions_get(f, 0);
}

static const char *name_of_file(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* What is installed with an interpreter, and packages beside it. */
static bool is_of_library(const struct profile_code *c)
{
	static const struct {
		enum trace_language language;
		const char *begins, *has; /* NULL: no matter */
	} rows[] = {{TRACE_LANGUAGE_PYTHON, NULL, "/lib/python"},
		    {TRACE_LANGUAGE_PYTHON, "<frozen ", NULL}, /* in the interpreter's file */
		    {TRACE_LANGUAGE_JAVASCRIPT, "node:", NULL},
		    {TRACE_LANGUAGE_JAVASCRIPT, NULL, "/node_modules/"},
		    {TRACE_LANGUAGE_PHP, "[php]", NULL},       /* of C */
		    {TRACE_LANGUAGE_RUBY, "<internal:", NULL}, /* the same */
		    {TRACE_LANGUAGE_RUBY, NULL, "/lib/ruby/"},
		    {TRACE_LANGUAGE_RUBY, NULL, "/gems/"},
		    {TRACE_LANGUAGE_PERL, NULL, "/perl5/"},
		    {TRACE_LANGUAGE_PERL, NULL, "/perl/5."},
		    {TRACE_LANGUAGE_PERL, NULL, "/perl-base/"}};

	return ARRAY_ANY(r, rows, ARRAY_NR(rows),
			 r->language == c->language &&
			     (!r->begins || strncmp(c->file, r->begins, strlen(r->begins)) == 0) &&
			     (!r->has || strstr(c->file, r->has)));
}

/* The same function is made as code again by each process, and by each exec of its text. */
static const struct symbol_function *find(struct symbol_functions *f, const struct profile_code *c)
{
	char linkage[TRACE_CODE_NAME_BYTES + TRACE_CODE_FILE_BYTES + 16];
	const struct symbol_function_key key = {
	    .space = (uint64_t)SPACE_CODE << 32, .address = c->first_line, .linkage = linkage};
	struct symbol_function draft = {
	    .name = c->name, .is_known = true, .is_script = !is_of_library(c)};
	const struct symbol_function *fn;

	snprintf(linkage, sizeof(linkage), "%s\n%s", c->file, c->name);
	fn = symbol_functions_find(f, &key);
	if (fn)
		return fn;
	draft.object_path = symbol_functions_text(f, c->file, strlen(c->file));
	draft.object =
	    symbol_functions_text(f, name_of_file(c->file), strlen(name_of_file(c->file)));
	if (!draft.object || !draft.object_path)
		return symbol_functions_get(f, 0);
	return symbol_functions_add_key(f, &draft, &key);
}

const struct symbol_function *symbol_codes_function(struct symbol_functions *f,
						    const struct profile_processes *p,
						    uint64_t address)
{
	const struct profile_code *c = profile_code_at(p, address);

	if (c && *c->name)
		return find(f, c);
	return find_unknown(f, c ? c->language : profile_code_language(address));
}

const struct symbol_function *symbol_codes_script(struct symbol_functions *f, const char *name,
						  const char *file, uint32_t first_line)
{
	const struct profile_code code = {.language = TRACE_LANGUAGE_JAVASCRIPT,
					  .name = symbol_functions_text(f, name, strlen(name)),
					  .file = file,
					  .first_line = first_line};

	return code.name && *name ? find(f, &code) : symbol_functions_get(f, 0);
}

void symbol_codes_line(struct symbol_functions *f, const struct profile_processes *p,
		       uint64_t address, struct symbol_line *out)
{
	const struct profile_code *c = profile_code_at(p, address);

	*out = (struct symbol_line){.function = symbol_codes_function(f, p, address)};
	if (!c)
		return;
	out->line = symbol_codes_line_at(c, profile_code_instruction(address));
	if (out->line)
		out->file = symbol_functions_text(f, c->file, strlen(c->file));
}
