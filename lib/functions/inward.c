#include "functions/inward.h"

#include "base/mem.h"
#include "base/order.h"
#include "elf/file.h"
#include "functions/list.h"
#include "functions/x86.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

enum { MAX_CODE_BYTES = 512 << 20, MAX_TARGETS = 1 << 22 };

struct reading {
	const struct elf_file *f;
	const struct functions_symbol *symbols;
	size_t nr_symbols;
	struct functions_inward *out;
};

/* The first symbol behind an address. */
static size_t find_behind(const struct reading *r, uint64_t address)
{
	return ORDER_FIRST(i, r->nr_symbols, r->symbols[i].address > address);
}

static int add(struct reading *r, uint64_t target)
{
	size_t i = find_behind(r, target);
	uint64_t *to;

	if (i && r->symbols[i - 1].address == target)
		return 0; /* a tail call */
	if (r->out->nr == MAX_TARGETS) {
		r->out->is_whole = false;
		return 0;
	}
	to = MEM_ADD(r->out->target, r->out->nr, r->out->room);
	if (!to)
		return -ENOMEM;
	*to = target;
	return 0;
}

static bool is_jump(const struct functions_x86 *i)
{
	return i->kind == FUNCTIONS_X86_JUMP || i->kind == FUNCTIONS_X86_BRANCH ||
	       i->kind == FUNCTIONS_X86_LOOP;
}

/* What lies between two symbols. Data among code is skipped byte by byte: what it seems to jump to
 * is one place more at which none is probed. */
static int read_region(struct reading *r, uint64_t start, uint64_t end, const uint8_t *code)
{
	struct functions_x86 i;
	int rc = 0;

	for (uint64_t at = start; at < end && rc == 0;) {
		if (!functions_x86_decode(code + (at - start), end - at, &i)) {
			at++;
			continue;
		}
		if (is_jump(&i)) {
			uint64_t target = at + (uint64_t)i.target;

			rc = target < start || target >= end ? add(r, target) : 0;
		}
		at += i.len;
	}
	return rc;
}

static int read_section(struct reading *r, const struct elf_section *s)
{
	uint64_t end = s->address + s->size;
	int rc = 0;

	for (uint64_t at = s->address, next; at < end && rc == 0; at = next) {
		size_t i = find_behind(r, at);

		next =
		    i < r->nr_symbols && r->symbols[i].address < end ? r->symbols[i].address : end;
		rc = read_region(r, at, next, s->data + (at - s->address));
	}
	return rc;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int functions_inward_load(const struct elf_file *f, const struct functions_symbol *symbols,
			  size_t nr, struct functions_inward *out)
{
	struct functions_inward in = {.is_whole =
					  elf_file_machine(f) == EM_X86_64 && elf_file_is_64(f)};
	struct reading r = {f, symbols, nr, &in};
	uint64_t bytes = 0;
	struct elf_section s;
	int rc = 0;

	for (size_t i = 0; i < elf_file_nr_sections(f) && in.is_whole && rc == 0; i++) {
		if (!elf_file_section(f, i, &s) || !(s.flags & SHF_EXECINSTR) || !s.is_held)
			continue;
		bytes += s.size;
		in.is_whole = bytes <= MAX_CODE_BYTES && s.size <= UINT64_MAX - s.address &&
			      elf_file_load(f, &s);
		if (in.is_whole)
			rc = read_section(&r, &s);
	}
	if (rc) {
		functions_inward_fini(&in);
		return rc;
	}
	if (in.nr)
		qsort(in.target, in.nr, sizeof(*in.target), by_value);
	*out = in;
	return 0;
}

void functions_inward_fini(struct functions_inward *in)
{
	mem_free(in->target);
	*in = (struct functions_inward){.target = NULL};
}

bool functions_inward_has(const struct functions_inward *in, uint64_t start, uint64_t end)
{
	size_t first = ORDER_FIRST(i, in->nr, in->target[i] > start);

	return first < in->nr && in->target[first] < end;
}
