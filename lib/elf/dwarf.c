/*
 * Opens the bytes of a file with libdw. Of a file with compressed sections it gets an image of the
 * unpacked ones.
 */
#include "elf/dwarf.h"

#include "elf/dwarf_image.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* The debug sections that libdw needs for our queries; the rest is not read. */
static const char *const wanted[] = {
    ".debug_info", ".debug_types", ".debug_abbrev",   ".debug_line",   ".debug_line_str",
    ".debug_str",  ".debug_addr",  ".debug_rnglists", ".debug_ranges", ".debug_str_offsets",
};

static Elf *open_bytes(const void *data, size_t len)
{
	elf_version(EV_CURRENT);
	return elf_memory((char *)(uintptr_t)data, len);
}

/* Adds it to the image, too. */
static int load_section(const struct elf_file *f, struct elf_section *s, struct dwarf_image *m)
{
	const char *name = elf_section_name_in(s, wanted, sizeof(wanted) / sizeof(wanted[0]));

	if (!name || !s->is_held || !s->size)
		return 0;
	if (!elf_file_load(f, s))
		return s->is_damaged ? -EBADMSG : -ENOMEM;
	dwarf_image_add(m, name, &(struct dwarf_image_part){.data = s->data, .len = s->size});
	return 0;
}

/* Loads the sections, and says whether one of the file is packed: libelf would try to unpack it. */
static int load_sections(const struct elf_file *f, struct dwarf_image *m, bool *is_packed)
{
	struct elf_section s;
	int rc = 0;

	*is_packed = false;
	for (size_t i = 0; i < elf_file_nr_sections(f) && rc == 0; i++) {
		if (!elf_file_section(f, i, &s))
			continue;
		*is_packed |= s.is_packed;
		rc = load_section(f, &s, m);
	}
	return rc ?: m->nr ? 0 : -ENODATA;
}

static int begin_dwarf(struct elf_dwarf *d, struct elf_dwarf *out)
{
	d->dwarf = d->elf ? dwarf_begin_elf(d->elf, DWARF_C_READ, NULL) : NULL;
	if (!d->dwarf) {
		elf_dwarf_close(d);
		return -ENODATA;
	}
	*out = *d;
	return 0;
}

int elf_dwarf_open(const struct elf_file *f, struct elf_dwarf *out)
{
	struct dwarf_image m = {.names_len = 1};
	size_t len;
	const uint8_t *data = elf_file_data(f, &len);
	bool is_packed;
	int rc = load_sections(f, &m, &is_packed);

	if (rc || is_packed)
		return rc ?: dwarf_image_open(&m, f, NULL, out);
	return begin_dwarf(&(struct elf_dwarf){.elf = open_bytes(data, len)}, out);
}

int elf_dwarf_open_copy(void *copy, size_t len, struct elf_dwarf *out)
{
	return begin_dwarf(
	    &(struct elf_dwarf){.elf = open_bytes(copy, len), .copy = copy, .copy_len = len}, out);
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

		if (!name || strncmp(name, ".debug_", 7) != 0 || strcmp(name + 7, what) != 0)
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

int elf_dwarf_each_unit(const struct elf_file *f,
			int (*fn)(const struct elf_dwarf *d, Dwarf_Die *unit, void *arg), void *arg)
{
	struct elf_build_id shared;
	struct elf_dwarf d;
	Dwarf_Off at = 0, next;
	size_t header;
	int rc = 0;

	/* libdw would open a file that this one names */
	if (elf_dwarf_needs(f, &shared) || elf_dwarf_open(f, &d))
		return 0;
	for (; rc == 0 && dwarf_nextcu(d.dwarf, at, &next, &header, NULL, NULL, NULL) == 0;
	     at = next) {
		Dwarf_Die unit;

		if (dwarf_offdie(d.dwarf, at + header, &unit))
			rc = fn(&d, &unit, arg);
	}
	elf_dwarf_close(&d);
	return rc;
}
