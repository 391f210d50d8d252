/*
 * From mapped bytes to libdw, with a look at what it would take.
 */
#include "elf/dwarf.h"

#include "base/mem.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

/* All sections, unpacked, for each byte of the file, and beyond that. Debug sections of compilers
 * pack to a third, a few of them to a twentieth. */
enum { MAX_RATIO = 64, MAX_MORE_BYTES = 64 << 20 };
static const uint64_t max_bytes = (uint64_t)4 << 30;

struct packed {
	size_t nr;      /* sections */
	uint64_t bytes; /* that they say they unpack to */
};

static bool is_gnu_packed(Elf *elf, size_t names, const GElf_Shdr *shdr)
{
	const char *name = elf_strptr(elf, names, shdr->sh_name);

	return name && strncmp(name, ".zdebug", 7) == 0;
}

/* "ZLIB", and the size of what is unpacked, big-endian. */
static uint64_t gnu_bytes(Elf_Scn *section)
{
	const Elf_Data *data = elf_rawdata(section, NULL);
	uint64_t v;

	if (!data || !data->d_buf || data->d_size < 12)
		return 0;
	memcpy(&v, (const char *)data->d_buf + 4, sizeof(v));
	return be64toh(v);
}

/* libelf's view of the file, not ours: it is libelf that will act on it. */
static bool look_at(Elf *elf, struct packed *out)
{
	struct packed p = {0};
	Elf_Scn *section = NULL;
	size_t names = 0;
	GElf_Shdr shdr;
	GElf_Chdr chdr;

	elf_getshdrstrndx(elf, &names);
	while ((section = elf_nextscn(elf, section))) {
		uint64_t bytes = 0;

		if (!gelf_getshdr(section, &shdr))
			return false;
		if (shdr.sh_flags & SHF_COMPRESSED)
			bytes = gelf_getchdr(section, &chdr) ? chdr.ch_size : 0;
		else if (is_gnu_packed(elf, names, &shdr))
			bytes = gnu_bytes(section);
		else
			continue;
		p.nr++;
		if (__builtin_add_overflow(p.bytes, bytes, &p.bytes))
			return false;
	}
	*out = p;
	return true;
}

static bool is_within_limits(const struct packed *p, size_t len)
{
	uint64_t most = (uint64_t)len * MAX_RATIO + MAX_MORE_BYTES;

	return p->bytes <= (most < max_bytes ? most : max_bytes);
}

static Elf *open_bytes(const void *data, size_t len)
{
	elf_version(EV_CURRENT);
	return elf_memory((char *)(uintptr_t)data, len);
}

/* Unpacking, libelf writes into the headers: then into those of a copy. */
static int open_elf(const struct elf_file *f, struct elf_dwarf *d)
{
	size_t len;
	const uint8_t *data = elf_file_data(f, &len);
	struct packed packed;

	d->elf = open_bytes(data, len);
	if (!d->elf || !look_at(d->elf, &packed))
		return -ENODATA;
	if (!is_within_limits(&packed, len))
		return -EFBIG;
	if (!packed.nr)
		return 0;
	elf_end(d->elf);
	d->elf = NULL;
	d->copy = mem_alloc(len);
	if (!d->copy)
		return -ENOMEM;
	d->elf = open_bytes(memcpy(d->copy, data, len), len);
	return d->elf ? 0 : -ENODATA;
}

int elf_dwarf_open(const struct elf_file *f, struct elf_dwarf *out)
{
	struct elf_dwarf d = {0};
	int rc = open_elf(f, &d);

	if (rc == 0)
		d.dwarf = dwarf_begin_elf(d.elf, DWARF_C_READ, NULL);
	if (!d.dwarf) {
		elf_dwarf_close(&d);
		return rc ? rc : -ENODATA;
	}
	*out = d;
	return 0;
}

void elf_dwarf_close(struct elf_dwarf *d)
{
	if (d->dwarf)
		dwarf_end(d->dwarf);
	if (d->elf)
		elf_end(d->elf);
	mem_free(d->copy);
	*d = (struct elf_dwarf){0};
}

bool elf_dwarf_needs(const struct elf_file *f, struct elf_build_id *out)
{
	struct elf_section s;
	size_t name;

	if (!elf_file_find_section(f, ".gnu_debugaltlink", &s))
		return false;
	*out = (struct elf_build_id){0};
	name = s.data ? strnlen((const char *)s.data, s.size) + 1 : 0;
	if (s.data && name < s.size && s.size - name <= ELF_MAX_BUILD_ID_BYTES) {
		out->len = (uint8_t)(s.size - name);
		memcpy(out->bytes, s.data + name, out->len);
	}
	return true;
}
