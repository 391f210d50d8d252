#include "elf/prologues.h"

#include "elf/file.h"
#include "elf/frame_table.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
	MAX_LOOKED_AT = 1024,
	MIN_FUNCTIONS = 4, /* of fewer nothing follows: those of the C library's start */
	MIN_BYTES = 64,    /* shorter ones may need no frame */
	HEAD_BYTES = 40,
	/* percent; compilers defer the frame of some functions until it is needed */
	MANY = 60,
	FEW = 15,
};

/* push %rbp, and soon mov %rsp,%rbp, of which there are two encodings. */
static bool begins_x86(const uint8_t *p, size_t len)
{
	bool has_pushed = false;

	for (size_t i = 0; i + 3 <= len; i++) {
		has_pushed |= p[i] == 0x55;
		if (has_pushed && p[i] == 0x48 &&
		    ((p[i + 1] == 0x89 && p[i + 2] == 0xe5) ||
		     (p[i + 1] == 0x8b && p[i + 2] == 0xec)))
			return true;
	}
	return false;
}

/* stp x29, x30, [sp, …], and soon mov x29, sp or add x29, sp, #n. */
static bool begins_arm64(const uint8_t *p, size_t len)
{
	bool has_stored = false;

	for (size_t i = 0; i + 4 <= len; i += 4) {
		uint32_t w;

		memcpy(&w, p + i, sizeof(w));
		has_stored |= (w & 0xfe407fff) == 0xa8007bfd;
		if (has_stored && (w & 0xff8003ff) == 0x910003fd)
			return true;
	}
	return false;
}

static const struct machine {
	uint16_t machine;
	bool (*begins)(const uint8_t *p, size_t len);
} machines[] = {{EM_X86_64, begins_x86}, {EM_AARCH64, begins_arm64}};

static void look(const struct elf_file *f, const struct machine *m, struct elf_prologues *out)
{
	struct elf_frame_table t;
	uint32_t step;

	elf_frame_table_init(&t, f);
	step = t.entry ? t.nr / MAX_LOOKED_AT + 1 : 1;
	for (uint32_t i = 0; t.entry && i < t.nr; i += step) {
		uint64_t start;
		uint32_t code_len;
		size_t len;
		const uint8_t *p;

		elf_frame_table_at(&t, i, &start, &code_len);
		if (code_len < MIN_BYTES || code_len == UINT32_MAX)
			continue;
		p = elf_file_bytes(f, start, HEAD_BYTES, &len);
		if (!p)
			continue;
		out->nr_looked_at++;
		out->nr_with_pointer += m->begins(p, len);
	}
}

enum elf_pointers elf_prologues_count(const struct elf_file *f, struct elf_prologues *out)
{
	uint32_t percent;

	*out = (struct elf_prologues){0};
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]) && elf_file_is_64(f); i++)
		if (machines[i].machine == elf_file_machine(f))
			look(f, &machines[i], out);
	if (out->nr_looked_at < MIN_FUNCTIONS)
		return ELF_POINTERS_UNKNOWN;
	percent = out->nr_with_pointer * 100 / out->nr_looked_at;
	return percent >= MANY ? ELF_POINTERS_ALL
	       : percent < FEW ? ELF_POINTERS_NONE
			       : ELF_POINTERS_SOME;
}
