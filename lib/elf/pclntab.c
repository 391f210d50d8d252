/*
 * The table has a header, by whose magic number its layout is known, and behind it, from Go 1.16 on
 * at offsets in the header: names; for each unit of the compiler, which files it has; names of
 * files; tables of values; and the table of functions with their records. An address in it is
 * relative to that of the code, from Go 1.18 on. The code's own address is relocated in a program
 * that is loaded anywhere, and is only in the description of the program from Go 1.26 on.
 *
 * A record repeats its function's address: one that does not is none. Holes between sections of
 * code have such. Source: src/runtime/symtab.go, src/cmd/link/internal/ld/pcln.go of Go 1.15
 * to 1.27.
 */
#include "elf/pclntab_internal.h"

#include "base/array.h"
#include "elf/file.h"
#include "elf/layout.h"

#include <elf.h>

enum {
	HEADER_BYTES = 72, /* the longest */
	WORDS_AT = 8,      /* where the header's words begin */
	MAX_FUNCTIONS = 1 << 22,
	MAX_TRIED = 8,           /* what looks like a header */
	STEPS_PER_FUNCTION = 32, /* on average, to find its end; real programs have less than 10 */
};

static const struct elf_pclntab_layout layouts[] = {
    {.magic = 0xfffffffb, .word = 8},                  /* Go 1.2 */
    {.magic = 0xfffffffa, .word = 8, .first_part = 2}, /* 1.16 */
    {.magic = 0xfffffff0,
     .word = 4,
     .first_part = 3,
     .has_text = true,
     .nr_data = 39,
     .call_bytes = 20,
     .call_name = 12,
     .call_parent = 16,
     .calls = {304}}, /* 1.18 */
    {.magic = 0xfffffff1,
     .word = 4,
     .first_part = 3,
     .has_text = true,
     .nr_data = 43,
     .call_bytes = 16,
     .call_name = 4,
     .call_parent = 8,
     .calls = {344, 320}}, /* 1.20; in 1.27 the first */
};

static const struct {
	uint16_t machine;
	uint8_t quantum;
} machines[] = {{EM_X86_64, 1}, {EM_AARCH64, 4}};

static bool find_section(const struct elf_file *f, struct elf_section *out)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};

	return ARRAY_ANY(name, names, ARRAY_NR(names), elf_file_find_section(f, *name, out));
}

/* The section in which the linkers of others put it, among other things, if the program is loaded
 * anywhere. */
static bool find_merged(const struct elf_file *f, struct elf_section *out)
{
	return elf_file_find_section(f, ".go.buildinfo", out) &&
	       elf_file_find_section(f, ".data.rel.ro", out);
}

bool elf_pclntab_is_there(const struct elf_file *f)
{
	struct elf_section s;

	return find_section(f, &s) || find_merged(f, &s);
}

static uint64_t header_word(const struct elf_pclntab *t, unsigned i)
{
	return elf_load(t->all.data + WORDS_AT + 8 * i, 8);
}

/* Up to Go 1.15: the table of functions is behind the header, that of files behind it. */
static bool find_undivided(struct elf_pclntab *t)
{
	const struct elf_pclntab_part *all = &t->all;
	const size_t at = WORDS_AT + 8, bytes = t->functions.len;
	uint64_t files, nr;

	if (bytes > all->len - at || all->len - at - bytes < 4)
		return false;
	t->functions.data = all->data + at;
	files = elf_load(all->data + at + bytes, 4);
	if (files > all->len || all->len - files < 4)
		return false;
	nr = elf_load(all->data + files, 4);
	if (nr > (all->len - files) / 4)
		return false;
	t->units = (struct elf_pclntab_part){all->data + files, nr * 4};
	t->records = t->names = t->files = t->values = *all;
	return true;
}

/* Each part ends where the next one begins. */
static bool find_divided(struct elf_pclntab *t)
{
	struct elf_pclntab_part *const parts[] = {&t->names, &t->units, &t->files, &t->values,
						  &t->records};

	for (size_t i = 0; i < ARRAY_NR(parts); i++) {
		const unsigned word = t->layout->first_part + (unsigned)i;
		const uint64_t from = header_word(t, word);
		const uint64_t to = i + 1 < ARRAY_NR(parts) ? header_word(t, word + 1) : t->all.len;

		if (from < HEADER_BYTES - 8 || from > to || to > t->all.len)
			return false;
		*parts[i] = (struct elf_pclntab_part){t->all.data + from, to - from};
	}
	t->functions.data = t->records.data;
	return t->functions.len <= t->records.len;
}

static bool find_parts(struct elf_pclntab *t)
{
	const uint64_t nr = header_word(t, 0);

	if (!nr || nr > MAX_FUNCTIONS)
		return false;
	t->nr = nr;
	t->functions.len = (2 * nr + 1) * t->layout->word;
	return t->layout->first_part ? find_divided(t) : find_undivided(t);
}

static bool find_text(struct elf_pclntab *t)
{
	uint64_t module;

	if (!t->layout->has_text ||
	    (elf_pclntab_word(t->file, t->address + WORDS_AT + 16, &t->text) && t->text))
		return true;
	module = elf_pclntab_module(t, true);
	return module && elf_pclntab_word(t->file, module + ELF_PCLNTAB_MODULE_TEXT, &t->text);
}

static bool is_code(const struct elf_file *f, uint64_t start, uint64_t end)
{
	struct elf_section s;

	for (size_t i = 0; i < elf_file_nr_sections(f); i++)
		if (elf_file_section(f, i, &s) && (s.flags & SHF_EXECINSTR) && start >= s.address &&
		    start - s.address < s.size && end >= start && end - s.address <= s.size)
			return true;
	return false;
}

static bool are_in_order(const struct elf_pclntab *t)
{
	for (size_t i = 0; i < t->nr; i++)
		if (elf_pclntab_start(t, i) > elf_pclntab_start(t, i + 1))
			return false;
	return is_code(t->file, elf_pclntab_start(t, 0), elf_pclntab_start(t, t->nr));
}

/* What the first 8 bytes have is as Go's linker writes it for the machine. */
static bool find_layout(struct elf_pclntab *t)
{
	const struct elf_pclntab_part *all = &t->all;
	const uint16_t machine = elf_file_machine(t->file);

	if (all->len < HEADER_BYTES || !elf_file_is_64(t->file))
		return false;
	t->layout = ARRAY_FIND(l, layouts, ARRAY_NR(layouts), l->magic == elf_load(all->data, 4));
	t->quantum = all->data[6];
	return t->layout && all->data[4] == 0 && all->data[5] == 0 && all->data[7] == 8 &&
	       ARRAY_ANY(m, machines, ARRAY_NR(machines),
			 m->machine == machine && m->quantum == t->quantum);
}

/* The table that begins at an offset of a section, and ends within it. */
static bool open_at(const struct elf_file *f, const struct elf_section *s, uint64_t at,
		    struct elf_pclntab *out)
{
	struct elf_pclntab t = {
	    .file = f, .address = s->address + at, .all = {s->data + at, s->size - at}};

	if (!find_layout(&t) || !find_parts(&t) || !find_text(&t) || !are_in_order(&t))
		return false;
	*out = t;
	return true;
}

static bool open_merged(const struct elf_file *f, struct elf_pclntab *out)
{
	struct elf_pclntab t = {.file = f};
	size_t nr_tried = 0;
	struct elf_section s;

	if (!find_merged(f, &s) || !elf_file_load(f, &s))
		return false;
	for (uint64_t at = 0; at + HEADER_BYTES <= s.size && nr_tried < MAX_TRIED; at += 8) {
		t.all = (struct elf_pclntab_part){s.data + at, s.size - at};
		if (!find_layout(&t))
			continue;
		if (open_at(f, &s, at, out))
			return true;
		nr_tried++;
	}
	return false;
}

bool elf_pclntab_open(const struct elf_file *f, struct elf_pclntab *out)
{
	struct elf_section s;

	if (!find_section(f, &s))
		return open_merged(f, out);
	return elf_file_load(f, &s) && open_at(f, &s, 0, out);
}

uint64_t elf_pclntab_start(const struct elf_pclntab *t, size_t i)
{
	const unsigned word = t->layout->word;

	return t->text + elf_load(t->functions.data + 2 * i * word, word);
}

const uint8_t *elf_pclntab_record(const struct elf_pclntab *t, size_t i, size_t *left)
{
	const unsigned word = t->layout->word;
	const uint8_t *pair = t->functions.data + 2 * i * word;
	const uint64_t at = elf_load(pair + word, word);

	if (at > t->records.len || t->records.len - at < word + ELF_PCLNTAB_UNIT + 4)
		return NULL;
	*left = t->records.len - at;
	return elf_load(t->records.data + at, word) == elf_load(pair, word) ? t->records.data + at
									    : NULL;
}

/* --- tables of values: pairs of a difference of the value, and a length of code --- */

void elf_pclntab_values_begin(const struct elf_pclntab *t, uint32_t table,
			      struct elf_pclntab_values *out)
{
	const uint8_t *data = t->values.data;
	const size_t len = t->values.len;

	/* offset 0: there is no table */
	*out = (struct elf_pclntab_values){.at = data + (table && table < len ? table : len),
					   .end = data + len,
					   .quantum = t->quantum,
					   .value = -1};
}

static bool read_varint(struct elf_pclntab_values *v, uint32_t *out)
{
	uint32_t n = 0;

	for (unsigned shift = 0; v->at < v->end && shift < 32; shift += 7) {
		const uint8_t byte = *v->at++;

		n |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*out = n;
			return true;
		}
	}
	return false;
}

bool elf_pclntab_values_next(struct elf_pclntab_values *v)
{
	uint32_t change, length;

	/* no change, but in the first pair, ends the table */
	if (!read_varint(v, &change) || (!change && v->is_begun) || !read_varint(v, &length) ||
	    !length)
		return false;
	v->is_begun = true;
	v->value = (int32_t)((uint32_t)v->value + (change >> 1 ^ (0 - (change & 1))));
	v->until += (uint64_t)length * v->quantum;
	return true;
}

/* --- functions --- */

/* Each table of a function ends where that ends. 0: not known. */
static uint64_t find_length(struct elf_pclntab *t, const uint8_t *record)
{
	const size_t max = t->nr * STEPS_PER_FUNCTION;
	struct elf_pclntab_values v;

	elf_pclntab_values_begin(
	    t, (uint32_t)elf_load(record + t->layout->word + ELF_PCLNTAB_STACK, 4), &v);
	while (t->nr_steps < max && elf_pclntab_values_next(&v))
		t->nr_steps++;
	return t->nr_steps < max ? v.until : 0;
}

bool elf_pclntab_function(struct elf_pclntab *t, size_t i, struct elf_pclntab_function *out)
{
	const uint64_t start = elf_pclntab_start(t, i), next = elf_pclntab_start(t, i + 1);
	size_t left;
	const uint8_t *record = elf_pclntab_record(t, i, &left);
	uint64_t name, length;

	if (!record || start == next)
		return false;
	name = elf_load(record + t->layout->word + ELF_PCLNTAB_NAME, 4);
	if (name >= t->names.len || !t->names.data[name])
		return false;
	length = find_length(t, record);
	*out = (struct elf_pclntab_function){.start = start, .end = next, .name = (uint32_t)name};
	if (length && length <= next - start) {
		out->is_exact = true;
		out->end = start + length;
	}
	return true;
}
