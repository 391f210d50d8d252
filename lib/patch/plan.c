/*
 * Proved is:
 * - The whole function is understood, so all its direct branches are seen; none leads into the
 *   bytes. A branch to the begin is a loop whose turns would be counted as calls: refused. (A
 *   recursive call is none.)
 * - An indirect jump may lead to any block of the function, by a table. It is accepted only if (1)
 *   it goes through a slot of the linker's table: into another file; or (2) the function begins
 *   with endbr64, and the jump is not exempt from leading to one: there is none behind the begin;
 *   or (3) the stack is deeper there than anywhere in the bytes: by the unwind table each address
 *   has one depth, so a jump from there to here would not have the right one.
 * - Behind an instruction that does not go on is only padding: other code could be a landing pad.
 *   Those of exceptions else stand behind a call, so not in the bytes, which end with the first.
 */
#include "patch/plan.h"

#include "patch/decode.h"

#include <string.h>

const char *patch_refusal_text(enum patch_refusal refusal)
{
	static const char *const texts[PATCH_NR_REFUSALS] = {
	    [PATCH_ACCEPTED] = "accepted",
	    [PATCH_TOO_SHORT] = "shorter than a jump",
	    [PATCH_NOT_UNDERSTOOD] = "has an instruction that is not understood",
	    [PATCH_LOOPS] = "a loop leads to its begin",
	    [PATCH_IS_ENTERED] = "a branch leads into its first instructions",
	    [PATCH_MAY_BE_ENTERED] = "an indirect jump may lead into its first instructions",
	    [PATCH_NOT_MOVABLE] = "begins with an instruction that cannot be moved",
	    [PATCH_HAS_CALL] = "begins with an indirect call",
	    [PATCH_IS_SPLIT] = "other code follows its first instructions at once",
	};

	return (unsigned)refusal < PATCH_NR_REFUSALS ? texts[refusal] : "";
}

static uint64_t address_of(const struct patch_function *f, size_t at)
{
	return f->code.address + at;
}

/* --- which bytes */

/* call target, which linkers may have lengthened by a prefix; call *slot(%rip). Others have no room
 * for a call of the trampoline. */
static bool is_redirectable(const struct patch_instruction *i)
{
	return i->relative_at && i->len <= PATCH_SITE_BYTES &&
	       (i->flow == PATCH_CALLS || i->flow == PATCH_CALLS_INDIRECT);
}

static void redirect(const struct patch_function *f, size_t at, const struct patch_instruction *i,
		     struct patch_plan *p)
{
	p->address = address_of(f, at);
	p->len = i->len;
	p->moved_len = 0;
	p->span.to = p->address + i->len;
	memcpy(p->old, f->code.bytes + at, i->len);
}

/* Whether the bytes from there to the end are padding, in the function or behind it. */
static bool is_padding(const struct patch_function *f, size_t at, size_t end)
{
	const size_t len = f->code.len + f->padding_len;
	struct patch_instruction i;

	while (at < end && patch_decode(f->code.bytes + at, len - at, &i) && i.is_nop)
		at += i.len;
	return at >= end;
}

static void move(const struct patch_function *f, size_t from, size_t at, struct patch_plan *p)
{
	const size_t covered = at > from + PATCH_JUMP_BYTES ? at - from : PATCH_JUMP_BYTES;

	p->address = address_of(f, from);
	p->len = PATCH_JUMP_BYTES;
	p->moved_len = (uint8_t)(at - from);
	p->span.to = p->address + covered;
	memcpy(p->old, f->code.bytes + from, covered);
}

/* What the instructions up to there mean for the next one. */
struct begin {
	size_t from, at;
	bool is_fixed, branches, ends;
};

static enum patch_refusal add(const struct patch_function *f, struct begin *b,
			      const struct patch_instruction *i, struct patch_plan *p)
{
	/* Behind a branch it is not executed each time. */
	if (is_redirectable(i) && !b->branches)
		redirect(f, b->at, i, p);
	else if (i->flow == PATCH_CALLS || i->flow == PATCH_CALLS_INDIRECT)
		return PATCH_HAS_CALL;
	b->is_fixed |= i->is_fixed || i->is_endbr;
	b->branches |= i->flow == PATCH_BRANCHES;
	b->ends = patch_ends(i);
	b->at += i->len;
	return PATCH_ACCEPTED;
}

/* What the bytes end with. */
static enum patch_refusal finish(const struct patch_function *f, const struct begin *b,
				 struct patch_plan *p)
{
	const size_t end = b->from + PATCH_JUMP_BYTES;

	if (b->is_fixed)
		return PATCH_NOT_MOVABLE;
	if (b->at < end && (!b->ends || f->code.len + f->padding_len < end))
		return PATCH_TOO_SHORT;
	if (!is_padding(f, b->at, end))
		return PATCH_IS_SPLIT;
	move(f, b->from, b->at, p);
	return PATCH_ACCEPTED;
}

static enum patch_refusal choose_bytes(const struct patch_function *f, struct patch_plan *p)
{
	const struct patch_code *code = &f->code;
	struct begin b = {0};
	struct patch_instruction i;
	enum patch_refusal refusal = PATCH_ACCEPTED;

	if (patch_decode(code->bytes, code->len, &i) && i.is_endbr)
		b.from = b.at = i.len;
	p->span.from = address_of(f, b.from);
	while (b.at < b.from + PATCH_JUMP_BYTES && b.at < code->len && !b.ends && !p->len) {
		if (!patch_decode(code->bytes + b.at, code->len - b.at, &i))
			return PATCH_NOT_UNDERSTOOD;
		refusal = add(f, &b, &i, p);
		if (refusal != PATCH_ACCEPTED)
			return refusal;
	}
	return p->len ? PATCH_ACCEPTED : finish(f, &b, p);
}

/* --- who enters them */

static bool leaves_by_slot(const struct patch_function *f, size_t at,
			   const struct patch_instruction *i)
{
	uint64_t slot = address_of(f, at + i->len) + (uint64_t)(int64_t)i->relative;

	return i->relative_at && slot >= f->slots && slot < f->slots_end;
}

/* Whether the stack is deeper at the jump than at each instruction of the span. */
static bool is_deeper(const struct patch_function *f, size_t at, const struct patch_plan *p)
{
	struct patch_instruction i;
	int64_t there, least, most;

	if (!f->depth || !f->depth(f->arg, address_of(f, at), &there, &most))
		return false;
	for (size_t k = 0; k < f->code.len && address_of(f, k) < p->span.to; k += i.len)
		if (!patch_decode(f->code.bytes + k, f->code.len - k, &i) ||
		    !f->depth(f->arg, address_of(f, k), &least, &most) || most >= there)
			return false;
	return true;
}

static enum patch_refusal check_direct(const struct patch_function *f, size_t at,
				       const struct patch_instruction *i,
				       const struct patch_plan *p)
{
	uint64_t target = address_of(f, at + i->len) + (uint64_t)(int64_t)i->relative;

	if (target > p->span.from && target < p->span.to)
		return PATCH_IS_ENTERED;
	if (i->flow != PATCH_CALLS && target >= f->code.address && target <= p->span.from)
		return PATCH_LOOPS;
	return PATCH_ACCEPTED;
}

/* All code of the function, which is decoded from its begin on. */
static enum patch_refusal check_all(const struct patch_function *f, const struct patch_plan *p)
{
	const bool is_marked = p->span.from > f->code.address; /* with endbr64 */
	struct patch_instruction i;
	enum patch_refusal refusal = PATCH_ACCEPTED;

	for (size_t at = 0; at < f->code.len && refusal == PATCH_ACCEPTED; at += i.len) {
		if (!patch_decode(f->code.bytes + at, f->code.len - at, &i))
			return PATCH_NOT_UNDERSTOOD;
		if (patch_has_target(&i))
			refusal = check_direct(f, at, &i, p);
		else if (i.flow == PATCH_JUMPS_INDIRECT && !leaves_by_slot(f, at, &i) &&
			 !(is_marked && !i.is_notrack) && !is_deeper(f, at, p))
			refusal = PATCH_MAY_BE_ENTERED;
	}
	return refusal;
}

enum patch_refusal patch_plan(const struct patch_function *f, struct patch_plan *out)
{
	struct patch_plan p = {0};
	enum patch_refusal refusal = choose_bytes(f, &p);

	if (refusal == PATCH_ACCEPTED)
		refusal = check_all(f, &p);
	if (refusal == PATCH_ACCEPTED)
		*out = p;
	return refusal;
}
