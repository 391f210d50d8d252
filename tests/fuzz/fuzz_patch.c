/*
 * Any bytes as a function: nothing beyond them is read; each instruction that is understood is the
 * one that capstone sees, as far as it sees one; and what a plan moves means the same where it was
 * moved to, also at ends. The first byte tells how many bytes of padding there are, how far the
 * trampoline is, how deep the stack is, and where what leaves the function leads to.
 */
#include "../kit/same_code.h"

#include "patch/exits.h"

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

static void check_one(const struct same_code *same, const struct patch_function *f,
		      const struct patch_plan *p, bool is_far)
{
	const struct patch_counter counter = {.number = 1, .block = -8, .shared = AT, .meet = AT};
	struct patch_span span = p->span;
	struct patch_trampoline t;

	patch_scan(&f->code, &span, 1);
	require(!span.is_entered);
	require(p->address >= AT && p->address + p->len <= AT + f->code.len + f->padding_len);
	if (patch_move(p, &counter, is_far ? AT + 0x7f000000u : AT - 0x1000, &t) == 0)
		require(!same_code_plan(same, p, &t));
}

/* Each instruction that returns is the last one of an end. */
static void check_returns(const struct patch_function *f, const struct patch_plan *exits, size_t nr)
{
	struct patch_instruction i;
	size_t k = 0;

	for (size_t at = 0; at < f->code.len; at += i.len) {
		require(patch_decode(f->code.bytes + at, f->code.len - at, &i) != 0);
		if (i.flow != PATCH_RETURNS)
			continue;
		while (k < nr && exits[k].address + exits[k].moved_len < AT + at + i.len)
			k++;
		require(k < nr && exits[k].address + exits[k].moved_len == AT + at + i.len);
	}
}

static void check_plan(const struct same_code *same, const struct patch_function *f, bool is_far)
{
	struct patch_plan p, exits[PATCH_MAX_EXITS];
	uint64_t behind;
	size_t nr = 0;

	if (patch_plan(f, &p) != PATCH_ACCEPTED)
		return;
	check_one(same, f, &p, is_far);
	if (patch_exits(f, &p, exits, &nr) != PATCH_TIMED)
		return;
	check_one(same, f, &p, is_far);
	check_returns(f, exits, nr);
	behind = p.span.to;
	for (size_t i = 0; i < nr; i++) {
		require(exits[i].span.from >= behind);
		behind = exits[i].span.to;
		check_one(same, f, &exits[i], is_far);
	}
}

/* Of what the first byte says. */
static bool find_depth(void *arg, uint64_t address, int64_t *least, int64_t *most)
{
	const struct patch_function *f = arg;
	const uint8_t first = f->code.bytes[-1];

	*least = *most = first & 0x40 ? (f->code.bytes[address - AT] & 3) * 8 : 0;
	return true;
}

static enum patch_leaving find_leaving(void *arg, uint64_t target)
{
	const struct patch_function *f = arg;

	(void)target;
	return (enum patch_leaving)((f->code.bytes[-1] >> 4 & 3) % 3);
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
	copy = malloc(size);
	memcpy(copy, data, size);
	f.code = (struct patch_code){copy + 1, size - 1 - f.padding_len, AT};
	f.depth = find_depth;
	f.leaves = find_leaving;
	f.arg = &f;
	check_code(&same, copy + 1, f.code.len);
	check_plan(&same, &f, data[0] & 0x80);
	free(copy);
	return 0;
}
