/*
 * Notes of probes: three addresses, then provider, name and arguments, each with its NUL.
 */
#include "elf/probes.h"

#include "base/cursor.h"

#include <elf.h>
#include <string.h>

enum {
	NOTE_TYPE = 3,
	NOTE_ALIGN = 4,
	MAX_SECTION_BYTES = 16 << 20,
	MAX_PROBES = 1 << 16, /* of a file */
};

/* --- the instruction */

static bool begins_with(const uint8_t *code, size_t len, const char *bytes, size_t nr)
{
	return len >= nr && memcmp(code, bytes, nr) == 0;
}

/* 66 90, and 0f 1f with an operand, behind prefixes. */
static bool is_long_nop(const uint8_t *code, size_t len)
{
	size_t at = 0;

	while (at < len && (code[at] == 0x66 || code[at] == 0x2e))
		at++;
	return (at && begins_with(code + at, len - at, "\x90", 1)) ||
	       begins_with(code + at, len - at, "\x0f\x1f", 2);
}

static enum elf_probe_code classify_x86(const struct elf_file *f, const uint8_t *code, size_t len)
{
	if (begins_with(code, len, "\x90", 1))
		return ELF_PROBE_NOP;
	if (elf_file_is_64(f) && begins_with(code, len, "\x0f\x1f\x44\0\0", 5))
		return ELF_PROBE_NOP5;
	return is_long_nop(code, len) ? ELF_PROBE_LONG_NOP : ELF_PROBE_OTHER;
}

static enum elf_probe_code classify(const struct elf_file *f, uint64_t address)
{
	enum { MAX_BYTES = 15 };
	size_t len = 0;
	const uint8_t *code = elf_file_bytes(f, address, MAX_BYTES, &len);

	if (!code)
		return ELF_PROBE_OTHER;
	switch (elf_file_machine(f)) {
	case EM_X86_64:
	case EM_386:
		return classify_x86(f, code, len);
	case EM_AARCH64:
		return begins_with(code, len, "\x1f\x20\x03\xd5", 4) ? ELF_PROBE_NOP
								     : ELF_PROBE_OTHER;
	default:
		return ELF_PROBE_OTHER;
	}
}

/* --- the note */

/* Copies the next string, if it fits. False: its NUL is missing. */
static bool next_string(struct cursor *c, char *out, size_t size)
{
	const uint8_t *end = c->left ? memchr(c->at, '\0', c->left) : NULL;
	size_t len = end ? (size_t)(end - c->at) + 1 : 0;

	if (!end)
		return false;
	out[0] = '\0';
	if (len <= size)
		memcpy(out, c->at, len);
	cursor_skip(c, len);
	return true;
}

static bool is_printable(const char *s, const char *refused)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~' || strchr(refused, *s))
			return false;
	return true;
}

static bool is_name(const char *s)
{
	return *s && is_printable(s, " :,@/");
}

/* The place in the file of an address in a segment of that kind. */
static bool find_place(const struct elf_file *f, uint64_t address, bool is_code, uint64_t *offset)
{
	struct elf_segment s;

	for (size_t i = 0; i < elf_file_nr_segments(f); i++) {
		elf_file_segment(f, i, &s);
		if (address < s.address || address - s.address >= s.file_bytes ||
		    (is_code ? !s.is_code : !s.is_writable))
			continue;
		*offset = s.offset + (address - s.address);
		return true;
	}
	return false;
}

static uint64_t next_word(const struct elf_file *f, struct cursor *c)
{
	return elf_file_is_64(f) ? cursor_le64(c) : cursor_le32(c);
}

static uint64_t moved(const struct elf_file *f, uint64_t address, uint64_t by)
{
	return elf_file_is_64(f) ? address + by : (uint32_t)(address + by);
}

/* prelink moves code, but not what notes say: their own address of the base shows how far. False:
 * the note describes no probe of the file. */
static bool decode(const struct elf_file *f, struct cursor c, uint64_t base, struct elf_probe *out)
{
	uint64_t address = next_word(f, &c), noted_base = next_word(f, &c);
	uint64_t semaphore = next_word(f, &c), by = base ? base - noted_base : 0;

	memset(out, 0, sizeof(*out));
	if (!cursor_ok(&c) || !next_string(&c, out->provider, sizeof(out->provider)) ||
	    !next_string(&c, out->name, sizeof(out->name)) || !is_name(out->provider) ||
	    !is_name(out->name))
		return false;
	if (!next_string(&c, out->arguments, sizeof(out->arguments)) ||
	    !is_printable(out->arguments, ""))
		out->arguments[0] = '\0';
	out->address = moved(f, address, by);
	if (!find_place(f, out->address, true, &out->offset))
		return false;
	if (semaphore && !find_place(f, moved(f, semaphore, by), false, &out->semaphore))
		return false;
	out->code = classify(f, out->address);
	return true;
}

int elf_probes_in_notes(const struct elf_file *f, const uint8_t *notes, size_t len, uint64_t base,
			int (*fn)(const struct elf_probe *p, void *arg), void *arg)
{
	static const char owner[] = "stapsdt";
	struct cursor c;
	int rc = 0;

	cursor_init(&c, notes, len);
	for (int nr = 0; nr < MAX_PROBES && rc == 0 && c.left; nr++) {
		uint32_t name_len = cursor_le32(&c), desc_len = cursor_le32(&c);
		uint32_t type = cursor_le32(&c);
		const uint8_t *name = cursor_bytes(&c, name_len), *desc;
		struct elf_probe probe;
		struct cursor body;

		cursor_skip(&c, -name_len % NOTE_ALIGN);
		desc = cursor_bytes(&c, desc_len);
		if (!cursor_ok(&c))
			break;
		/* the last one may lack its padding */
		cursor_skip(&c, -desc_len % NOTE_ALIGN < c.left ? -desc_len % NOTE_ALIGN : c.left);
		if (type != NOTE_TYPE || name_len != sizeof(owner) ||
		    memcmp(name, owner, sizeof(owner)) != 0)
			continue;
		cursor_init(&body, desc, desc_len);
		if (decode(f, body, base, &probe))
			rc = fn(&probe, arg);
	}
	return rc;
}

int elf_probes_each(const struct elf_file *f, int (*fn)(const struct elf_probe *p, void *arg),
		    void *arg)
{
	struct elf_section notes, base = {.address = 0};

	if (!elf_file_find_section(f, ".note.stapsdt", &notes) || notes.type != SHT_NOTE ||
	    notes.size > MAX_SECTION_BYTES || !elf_file_load(f, &notes))
		return 0;
	(void)elf_file_find_section(f, ".stapsdt.base", &base);
	return elf_probes_in_notes(f, notes.data, notes.size, base.address, fn, arg);
}
