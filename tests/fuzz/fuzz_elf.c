/*
 * Any bytes as an ELF file: segments, sections, symbols, stubs, where code begins, probes, and what
 * libdw is given of it. Nothing outside of the file is touched; what is found makes sense.
 */
#include "elf/dwarf.h"
#include "elf/probes.h"
#include "symbol/room.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void check_sections(const struct elf_file *f, const uint8_t *data, size_t size)
{
	struct elf_section s;

	for (size_t i = 0; i < elf_file_nr_sections(f); i++) {
		uint64_t sum = 0;

		require(elf_file_section(f, i, &s));
		if (!elf_file_load(f, &s))
			continue;
		for (uint64_t k = 0; k < s.size; k++)
			sum += s.data[k];
		require(sum <= s.size * UINT8_MAX); /* all of it may be read */
		require(s.is_packed ||
			(s.data >= data && s.size <= size && s.data + s.size <= data + size));
	}
}

static void check_addresses(const struct elf_file *f, const uint8_t *data, size_t size)
{
	for (uint64_t offset = 0; offset < size; offset += size / 64 + 1) {
		uint64_t address;
		const uint8_t *p;
		size_t len = 0;

		if (!elf_file_address(f, offset, &address))
			continue;
		p = elf_file_bytes(f, address, SIZE_MAX, &len);
		require(!p || (p >= data && len > 0 && len <= size && p + len <= data + size));
	}
}

static void check_symbols(const struct elf_file *f)
{
	char name[SYMBOL_ELF_MAX_NAME_BYTES];
	struct symbol_elf s;

	require(symbol_elf_load(f, f, &s) == 0);
	for (size_t i = 0; i < s.table.nr_spans; i++) {
		const struct symbol_span *span = &s.table.span[i];

		require(span->start < span->end && span->entry < s.table.nr);
		require(i == 0 || s.table.span[i - 1].end <= span->start);
		symbol_elf_name(&s, &s.table.entry[span->entry], name);
	}
	symbol_elf_fini(&s);
}

static void check_frames(const struct elf_file *f)
{
	struct symbol_frame_table t;

	symbol_frame_table_init(&t, f);
	for (uint64_t at = 0; at < 0x4000; at += 256) {
		uint64_t start;

		require(!symbol_frame_table_find(&t, at, &start) || start <= at);
	}
}

/* libdw's own parser is not what is tried here: only what it may be given. */
static void check_dwarf(const struct elf_file *f)
{
	struct elf_build_id id;
	struct elf_dwarf d;

	require(!elf_dwarf_needs(f, &id) || id.len <= ELF_MAX_BUILD_ID_BYTES);
	if (elf_dwarf_open(f, &d) == 0)
		elf_dwarf_close(&d);
}

static int check_probe(const struct elf_probe *p, void *arg)
{
	size_t size = *(const size_t *)arg;

	require(p->provider[0] && p->name[0] && p->offset < size && p->semaphore < size);
	require(memchr(p->arguments, '\0', sizeof(p->arguments)) != NULL);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *f;

	if (elf_file_open_mem(data, size, false, "fuzzed", &f, NULL))
		return 0;
	check_sections(f, data, size);
	check_addresses(f, data, size);
	check_symbols(f);
	check_frames(f);
	check_dwarf(f);
	require(elf_probes_each(f, check_probe, &size) == 0);
	require(elf_probes_in_notes(f, data, size, size, check_probe, &size) == 0);
	elf_file_close(f);
	return 0;
}
