/*
 * Any bytes as an ELF file: segments, sections, symbols, stubs, where code begins, functions of Go,
 * probes, and what libdw is given of it. Nothing outside of the file is touched; what is found
 * makes sense. What is stored of it (elf/parts.h) is as in the file, and what can be read there,
 * too.
 */
#include "elf/build_id.h"
#include "elf/dwarf.h"
#include "elf/parts.h"
#include "elf/pclntab.h"
#include "elf/probes.h"
#include "elf/reader.h"
#include "symbol/room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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
		const struct symbol_span span = symbol_table_span(&s.table, i);

		require(span.start < span.end && span.entry < s.table.nr);
		require(i == 0 || symbol_table_span(&s.table, i - 1).end <= span.start);
		symbol_elf_name(&s, &s.table.entry[span.entry], name);
	}
	symbol_elf_fini(&s);
}

static void check_frames(const struct elf_file *f)
{
	struct elf_frame_table t;

	elf_frame_table_init(&t, f);
	for (uint64_t at = 0; at < 0x4000; at += 256) {
		uint64_t start;

		require(!elf_frame_table_find(&t, at, &start) || start <= at);
	}
}

/* The functions of Go are in order, and what is found at them is text of the file. */
static void check_go(const struct elf_file *f)
{
	struct elf_pclntab_line line[ELF_PCLNTAB_MAX_LINES];
	struct elf_pclntab_function fn;
	struct elf_pclntab t;
	size_t nr_chars = 0;
	uint64_t end = 0;

	if (!elf_pclntab_open(f, &t))
		return;
	elf_pclntab_find_calls(&t);
	for (size_t i = 0; i < t.nr; i++) {
		size_t nr;

		if (!elf_pclntab_function(&t, i, &fn))
			continue;
		require(fn.start >= end && fn.start < fn.end && fn.name < t.names.len);
		end = fn.end;
		nr = elf_pclntab_lines(&t, fn.start + (fn.end - fn.start) / 2, true, line);
		require(nr <= ELF_PCLNTAB_MAX_LINES);
		for (size_t k = 0; k < nr; k++) {
			require(!line[k].function == (k == nr - 1));
			nr_chars += line[k].function ? strlen(line[k].function) : 0;
			nr_chars += line[k].file ? strlen(line[k].file) : 0;
		}
	}
	require(nr_chars <= t.all.len * t.nr * ELF_PCLNTAB_MAX_LINES * 2);
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

static int put_into_memory(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzzed", MFD_CLOEXEC);
	require(fd >= 0 && ftruncate(fd, (off_t)size) == 0 &&
		pwrite(fd, data, size, 0) == (ssize_t)size);
	return fd;
}

/* bytes: room for all. */
static void copy_parts(const struct elf_parts *p, const uint8_t *data, size_t size, uint8_t *bytes)
{
	uint64_t end = 0;

	for (size_t i = 0; i < p->nr; i++) {
		const struct range *r = &p->part[i];

		require(r->offset >= end && r->offset <= size && r->len <= size - r->offset);
		memcpy(bytes, data + r->offset, r->len);
		bytes += r->len;
		end = r->offset + r->len;
	}
}

static void check_same(const struct elf_file *part, const struct elf_file *whole)
{
	struct elf_section a, b;

	require(elf_file_nr_sections(part) <= elf_file_nr_sections(whole));
	for (size_t i = 0; i < elf_file_nr_sections(part); i++) {
		require(elf_file_section(part, i, &a) && elf_file_section(whole, i, &b));
		if (elf_file_load(part, &a))
			require(elf_file_load(whole, &b) && a.size == b.size &&
				memcmp(a.data, b.data, a.size) == 0);
	}
}

static void check_parts(const struct elf_file *whole, const uint8_t *data, size_t size,
			uint64_t max_bytes)
{
	struct elf_file_parts from;
	struct elf_reader *reader;
	struct elf_parts parts;
	struct elf_file *f;
	uint8_t *bytes;

	if (elf_parts_find(put_into_memory(data, size), max_bytes, &parts))
		return;
	require(parts.nr && parts.nr <= ELF_MAX_PARTS && parts.bytes <= max_bytes &&
		parts.file_bytes == size);
	bytes = malloc(parts.bytes);
	require(bytes != NULL);
	require(elf_reader_new(&(struct elf_reader_config){.max_bytes = 1 << 30}, &reader) == 0);
	copy_parts(&parts, data, size, bytes);
	from = (struct elf_file_parts){parts.part, parts.nr, bytes, size};
	if (elf_file_open_parts(reader, &from, "stored", &f, NULL) == 0) {
		check_same(f, whole);
		check_symbols(f);
		check_frames(f);
		check_dwarf(f);
		elf_file_close(f);
	}
	elf_reader_free(reader);
	free(bytes);
}

/* A build-id is bytes of the file. */
static void check_build_id(const uint8_t *data, size_t size)
{
	struct elf_build_id id = {0};
	int rc = elf_build_id_read(put_into_memory(data, size), &id);

	require(rc == 0 || rc == -EINVAL || rc == -ENODATA);
	require((rc == 0) == (id.len > 0) && id.len <= ELF_MAX_BUILD_ID_BYTES);
	require(rc || memmem(data, size, id.bytes, id.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *f;

	check_build_id(data, size);
	if (elf_file_open_mem(data, size, false, "fuzzed", &f, NULL))
		return 0;
	check_sections(f, data, size);
	check_addresses(f, data, size);
	check_symbols(f);
	check_frames(f);
	check_go(f);
	check_dwarf(f);
	require(elf_probes_each(f, check_probe, &size) == 0);
	require(elf_probes_in_notes(f, data, size, size, check_probe, &size) == 0);
	check_parts(f, data, size, size);
	check_parts(f, data, size, size / 2);
	elf_file_close(f);
	return 0;
}
