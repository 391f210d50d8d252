/*
 * Opens the bytes of a file with libdw, after checking what they unpack to.
 */
#include "elf/dwarf.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Limits on unpacked bytes: per packed byte, and in addition. Debug sections shrink to a third, a
 * few of them to a twentieth. */
enum { MAX_RATIO = 64, MAX_MORE_BYTES = 1 << 20, MAX_SECTIONS = 1 << 18 };

struct packed {
	size_t nr;       /* sections */
	uint64_t stored; /* their bytes */
	uint64_t bytes;  /* unpacked, as declared */
};

/* The debug sections that libdw needs for our queries; the rest is not read. */
static const char *const wanted[] = {
    "info", "types", "abbrev",   "line",   "line_str",
    "str",  "addr",  "rnglists", "ranges", "str_offsets",
};

/* The section begins with "ZLIB" and the unpacked size, big-endian. */
static uint64_t gnu_bytes(Elf_Scn *section)
{
	const Elf_Data *data = elf_rawdata(section, NULL);
	uint64_t v;

	if (!data || !data->d_buf || data->d_size < 12)
		return 0;
	memcpy(&v, (const char *)data->d_buf + 4, sizeof(v));
	return be64toh(v);
}

/* As libelf sees the file, because libelf unpacks it. */
static bool count_packed(Elf *elf, struct packed *out)
{
	struct packed p = {0};
	Elf_Scn *section = NULL;
	size_t names = 0, nr = 0;
	GElf_Shdr shdr;
	GElf_Chdr chdr;

	elf_getshdrstrndx(elf, &names);
	while ((section = elf_nextscn(elf, section))) {
		const char *name;
		uint64_t bytes = 0;

		if (!gelf_getshdr(section, &shdr) || nr++ == MAX_SECTIONS)
			return false;
		name = elf_strptr(elf, names, shdr.sh_name);
		if (shdr.sh_flags & SHF_COMPRESSED)
			bytes = gelf_getchdr(section, &chdr) ? chdr.ch_size : 0;
		else if (name && strncmp(name, ".zdebug", 7) == 0)
			bytes = gnu_bytes(section);
		else
			continue;
		p.nr++;
		if (__builtin_add_overflow(p.bytes, bytes, &p.bytes) ||
		    __builtin_add_overflow(p.stored, shdr.sh_size, &p.stored))
			return false;
	}
	*out = p;
	return true;
}

static bool is_wanted(const char *name)
{
	size_t i = 0;

	if (strncmp(name, ".debug_", 7) == 0)
		name += 7;
	else if (strncmp(name, ".zdebug_", 8) == 0)
		name += 8;
	else
		return false;
	while (i < sizeof(wanted) / sizeof(wanted[0]) && strcmp(wanted[i], name) != 0)
		i++;
	return i < sizeof(wanted) / sizeof(wanted[0]);
}

static Elf *open_bytes(const void *data, size_t len)
{
	elf_version(EV_CURRENT);
	return elf_memory((char *)(uintptr_t)data, len);
}

/* Charges what the sections declare to unpack to. *nr: how many they are. */
static int pay_packed(const struct elf_file *f, Elf *elf, size_t *nr)
{
	struct packed packed;

	if (!elf || !count_packed(elf, &packed))
		return -ENODATA;
	*nr = packed.nr;
	if (packed.stored > UINT64_MAX / MAX_RATIO - MAX_MORE_BYTES ||
	    packed.bytes > packed.stored * MAX_RATIO + MAX_MORE_BYTES)
		return -EFBIG;
	return !packed.nr || elf_file_pay(f, packed.bytes + packed.stored) ? 0 : -ENOMEM;
}

static int open_elf(const struct elf_file *f, struct elf_dwarf *d)
{
	size_t len;
	const uint8_t *data = elf_file_data(f, &len);
	struct elf_section s;
	size_t nr_packed;
	int rc;

	for (size_t i = 0; i < elf_file_nr_sections(f); i++)
		if (elf_file_section(f, i, &s) && s.is_held && s.size && is_wanted(s.name) &&
		    !elf_file_load(f, &s))
			return -ENOMEM;
	d->elf = open_bytes(data, len);
	rc = pay_packed(f, d->elf, &nr_packed);
	if (rc || !nr_packed)
		return rc;

	/* libelf writes into the headers when it unpacks: use a copy. */
	d->copy = elf_file_copy(f, &d->copy_len);
	if (!d->copy)
		return -ENOMEM;
	elf_end(d->elf);
	d->elf = open_bytes(d->copy, d->copy_len);
	return d->elf ? 0 : -ENODATA;
}

/* rc: of what was done before. */
static int begin_dwarf(int rc, struct elf_dwarf *d, struct elf_dwarf *out)
{
	if (rc == 0)
		d->dwarf = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
	if (!d->dwarf) {
		elf_dwarf_close(d);
		return rc ? rc : -ENODATA;
	}
	*out = *d;
	return 0;
}

int elf_dwarf_open(const struct elf_file *f, struct elf_dwarf *out)
{
	struct elf_dwarf d = {0};
	int rc = open_elf(f, &d);

	return begin_dwarf(rc, &d, out);
}

int elf_dwarf_open_copy(const struct elf_file *payer, void *copy, size_t len, struct elf_dwarf *out)
{
	struct elf_dwarf d = {.elf = open_bytes(copy, len), .copy = copy, .copy_len = len};
	size_t nr_packed;
	int rc = pay_packed(payer, d.elf, &nr_packed);

	return begin_dwarf(rc, &d, out);
}

void elf_dwarf_close(struct elf_dwarf *d)
{
	if (d->dwarf)
		dwarf_end(d->dwarf);
	if (d->elf)
		elf_end(d->elf);
	if (d->copy)
		munmap(d->copy, d->copy_len);
	*d = (struct elf_dwarf){0};
}

/* libelf has unpacked the section, and may have kept its old name. */
const uint8_t *elf_dwarf_section(const struct elf_dwarf *d, const char *what, size_t *len)
{
	Elf_Scn *section = NULL;
	size_t names = 0;
	GElf_Shdr shdr;

	elf_getshdrstrndx(d->elf, &names);
	while ((section = elf_nextscn(d->elf, section))) {
		const char *name =
		    gelf_getshdr(section, &shdr) ? elf_strptr(d->elf, names, shdr.sh_name) : NULL;
		const Elf_Data *data;

		if (!name ||
		    (strncmp(name, ".debug_", 7) != 0 && strncmp(name, ".zdebug_", 8) != 0) ||
		    strcmp(strchr(name, '_') + 1, what) != 0)
			continue;
		data = elf_rawdata(section, NULL);
		*len = data ? data->d_size : 0;
		return data ? data->d_buf : NULL;
	}
	return NULL;
}

bool elf_dwarf_needs(const struct elf_file *f, struct elf_build_id *out)
{
	struct elf_section s;
	size_t name;

	if (!elf_file_find_section(f, ".gnu_debugaltlink", &s))
		return false;
	elf_file_load(f, &s);
	*out = (struct elf_build_id){0};
	name = s.data ? strnlen((const char *)s.data, s.size) + 1 : 0;
	if (s.data && name < s.size && s.size - name <= ELF_MAX_BUILD_ID_BYTES) {
		out->len = (uint8_t)(s.size - name);
		memcpy(out->bytes, s.data + name, out->len);
	}
	return true;
}
