/*
 * Any bytes as a function: nothing beyond them is read; each instruction that is understood is the
 * one that capstone sees, as far as it sees one; and what a plan moves means the same where it was
 * moved to. The first byte tells how many bytes of padding there are, and how far the trampoline
 * is.
 */
#include "../kit/same_code.h"

#include "patch/plan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { AT = 0x401000, MAX_PADDING = 16 };

static void require(int holds)
{
	if (!holds)
		abort();
}

static void check_code(struct same_code *same, const uint8_t *code, size_t len)
{
	struct patch_instruction i;

	for (size_t at = 0; at < len; at += i.len) {
		if (!patch_decode(code + at, len - at, &i))
			return;
		require(i.len && i.len <= len - at);
		require(!same_code_compare(same, &i, code + at, len - at, AT + at));
	}
}

static void check_plan(const struct same_code *same, const struct patch_function *f, bool is_far)
{
	const struct patch_counter counter = {.number = 1, .block = -8, .shared = AT};
	struct patch_span span;
	struct patch_trampoline t;
	struct patch_plan p;

	if (patch_plan(f, &p) != PATCH_ACCEPTED)
		return;
	span = p.span;
	patch_scan(&f->code, &span, 1);
	require(!span.is_entered);
	require(p.address >= AT && p.address + p.len <= AT + f->code.len + f->padding_len);
	if (patch_move(&p, &counter, is_far ? AT + 0x7f000000u : AT - 0x1000, &t) == 0)
		require(!same_code_plan(same, &p, &t));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct same_code same;
	struct patch_function f = {0};
	uint8_t *copy;

	if (!size)
		return 0;
	require(same.theirs || same_code_open(&same));
	f.padding_len = data[0] % MAX_PADDING;
	if (f.padding_len > size - 1)
		f.padding_len = size - 1;
	copy = malloc(size - 1 + !(size - 1));
	memcpy(copy, data + 1, size - 1);
	f.code = (struct patch_code){copy, size - 1 - f.padding_len, AT};
	check_code(&same, copy, f.code.len);
	check_plan(&same, &f, data[0] & 0x80);
	free(copy);
	return 0;
}
