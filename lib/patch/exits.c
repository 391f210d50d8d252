/*
 * Proved is:
 * - Each way out is known. A return is one. So is a direct jump to another function, as the caller
 *   of this says; one by a slot of the linker's table; and an indirect one, if it must lead to an
 *   endbr64, of which there is none behind the begin. Other indirect jumps stay in the function if
 *   the stack is deeper there than at its begin: another function would return to what is on it.
 *   Whatever else may leave refuses the function.
 * - At each end the stack is as it was at the begin, by the unwind table: so begin and end of a
 *   call have the same stack pointer, by which they find each other.
 * - No direct branch of the function leads behind the first byte of an end. No indirect one does,
 *   as the stack is deeper at each of those that stay than there.
 * - Padding is what nobody executes: NOPs and int3 behind what does not go on.
 */
#include "patch/exits.h"

#include "patch/decode.h"

#include <string.h>

const char *patch_untimed_text(enum patch_untimed untimed)
{
	static const char *const texts[PATCH_NR_UNTIMED] = {
	    [PATCH_TIMED] = "timed",
	    [PATCH_NEVER_RETURNS] = "it does not return",
	    [PATCH_HAS_MANY_EXITS] = "it returns in more than 64 places",
	    [PATCH_IS_TOO_SHORT] = "it is shorter than two jumps",
	    [PATCH_HAS_NO_DEPTH] =
		"the unwind table does not say where its stack is when it begins or returns",
	    [PATCH_EXIT_IS_SHORT] = "a return has no room for a jump",
	    [PATCH_EXIT_IS_ENTERED] = "a branch leads into the last instructions before a return",
	    [PATCH_EXIT_MAY_BE_ENTERED] =
		"an indirect jump may lead into the last instructions before a return",
	    [PATCH_LEAVES_INDIRECTLY] = "it may leave by an indirect jump",
	    [PATCH_LEAVES_BY_BRANCH] = "it leaves by a branch, or a part of it stands elsewhere",
	    [PATCH_FALLS_THROUGH] = "it goes on into what is behind it",
	};

	return (unsigned)untimed < PATCH_NR_UNTIMED ? texts[untimed] : "";
}

/* A walk over the instructions of a function. */
struct walk {
	const struct patch_function *f;
	struct patch_instruction i;
	size_t at; /* of the instruction */
	size_t
	    before[PATCH_JUMP_BYTES]; /* the last ones that may be moved with it, the next first */
	size_t nr_before;
	bool has_ended; /* only padding since something that does not go on */
	bool falls;     /* what came last goes on */
};

/* What the function does as a whole. */
struct ways {
	bool has_pads;      /* endbr64 behind its begin */
	bool has_inner;     /* indirect jumps that stay in it */
	int64_t shallowest; /* how deep the stack is at these, at least */
};

static uint64_t address_of(const struct walk *w)
{
	return w->f->code.address + w->at;
}

static uint64_t target_of(const struct walk *w)
{
	return address_of(w) + w->i.len + (uint64_t)(int64_t)w->i.relative;
}

static bool is_within(const struct patch_function *f, uint64_t address)
{
	return address >= f->code.address && address - f->code.address < f->code.len;
}

/* The next instruction. False: there is none. */
static bool step(struct walk *w)
{
	return w->at < w->f->code.len &&
	       patch_decode(w->f->code.bytes + w->at, w->f->code.len - w->at, &w->i);
}

/* What may be moved with the next one. */
static void pass(struct walk *w)
{
	const bool is_padding = w->has_ended && w->i.is_nop;

	w->has_ended = patch_ends(&w->i) || is_padding;
	if (!is_padding)
		w->falls =
		    !w->has_ended && w->i.flow != PATCH_CALLS && w->i.flow != PATCH_CALLS_INDIRECT;
	if (w->i.flow != PATCH_GOES_ON || w->i.is_fixed || w->i.is_endbr || is_padding) {
		w->nr_before = 0;
	} else {
		memmove(w->before + 1, w->before, sizeof(w->before) - sizeof(w->before[0]));
		w->before[0] = w->at;
		w->nr_before += w->nr_before < PATCH_JUMP_BYTES;
	}
	w->at += w->i.len;
}

/* --- which ways out there are */

static bool leaves_by_slot(const struct walk *w)
{
	return w->i.relative_at && target_of(w) >= w->f->slots && target_of(w) < w->f->slots_end;
}

static bool find_depth(const struct patch_function *f, uint64_t address, int64_t *least,
		       int64_t *most)
{
	return f->depth && f->depth(f->arg, address, least, most);
}

static bool is_marked(const struct patch_function *f)
{
	struct patch_instruction first;

	return patch_decode(f->code.bytes, f->code.len, &first) && first.is_endbr;
}

/* Whether the indirect jump leads to an endbr64 of another function. */
static bool leads_to_pad(const struct walk *w, const struct ways *ways)
{
	return is_marked(w->f) && !w->i.is_notrack && !ways->has_pads;
}

/* A word on the stack, where the code that sees the end pushes what it saves. */
static bool is_by_stack(const struct walk *w)
{
	enum { MEMORY_BY_SIB = 4, SP = 4, REGISTER = 3 };

	return w->i.modrm >> 6 != REGISTER && (w->i.modrm & 7) == MEMORY_BY_SIB &&
	       (w->f->code.bytes[w->at + w->i.opcode_at + 2] & 7) == SP;
}

enum way { STAYS, LEAVES, UNKNOWN };

static enum way judge_indirect(const struct walk *w, const struct ways *ways)
{
	int64_t least, most;

	if (leaves_by_slot(w))
		return LEAVES;
	if (!find_depth(w->f, address_of(w), &least, &most))
		return UNKNOWN;
	if (least > 0)
		return STAYS;
	return leads_to_pad(w, ways) && !is_by_stack(w) ? LEAVES : UNKNOWN;
}

static enum way judge_direct(const struct walk *w)
{
	enum patch_leaving leaving;

	if (is_within(w->f, target_of(w)))
		return STAYS;
	leaving = w->f->leaves ? w->f->leaves(w->f->arg, target_of(w)) : PATCH_LEAVES_UNKNOWN;
	if (leaving == PATCH_LEAVES_NEVER)
		return STAYS;
	return leaving == PATCH_LEAVES_FOR_GOOD && w->i.flow == PATCH_JUMPS ? LEAVES : UNKNOWN;
}

static enum way judge(const struct walk *w, const struct ways *ways)
{
	switch (w->i.flow) {
	case PATCH_RETURNS:
		return LEAVES;
	case PATCH_JUMPS:
	case PATCH_BRANCHES:
		return judge_direct(w);
	case PATCH_JUMPS_INDIRECT:
		return judge_indirect(w, ways);
	default:
		return STAYS;
	}
}

/* Of an indirect jump that stays. */
static void note_inner(const struct walk *w, struct ways *ways)
{
	int64_t least, most;

	if (!find_depth(w->f, address_of(w), &least, &most))
		return;
	ways->shallowest = !ways->has_inner || least < ways->shallowest ? least : ways->shallowest;
	ways->has_inner = true;
}

/* False: not all of it is understood. */
static bool look_for_pads(const struct patch_function *f, struct ways *ways)
{
	struct walk w = {.f = f};

	for (; step(&w); pass(&w))
		ways->has_pads |= w.i.is_endbr && w.at;
	return w.at == f->code.len;
}

static enum patch_untimed look_at_ways(const struct patch_function *f, struct ways *ways)
{
	struct walk w = {.f = f};

	if (!look_for_pads(f, ways))
		return PATCH_LEAVES_INDIRECTLY;
	for (; step(&w); pass(&w)) {
		enum way way = judge(&w, ways);

		if (way == UNKNOWN)
			return w.i.flow == PATCH_JUMPS_INDIRECT ? PATCH_LEAVES_INDIRECTLY
								: PATCH_LEAVES_BY_BRANCH;
		if (way == STAYS && w.i.flow == PATCH_JUMPS_INDIRECT)
			note_inner(&w, ways);
	}
	return w.falls ? PATCH_FALLS_THROUGH : PATCH_TIMED;
}

/* --- the bytes of an end */

/* Whether no indirect jump of the function leads there. */
static bool is_apart(const struct patch_function *f, const struct ways *ways, size_t at)
{
	int64_t least, most;

	return !ways->has_inner ||
	       (find_depth(f, f->code.address + at, &least, &most) && most < ways->shallowest);
}

/* How many bytes of padding are there, up to those that a jump needs. */
static size_t padding_at(const struct patch_function *f, const struct ways *ways, size_t from)
{
	const size_t len = f->code.len + f->padding_len;
	struct patch_instruction i;
	size_t at = from;

	while (at - from < PATCH_JUMP_BYTES && at < len &&
	       (at >= f->code.len || is_apart(f, ways, at)) &&
	       patch_decode(f->code.bytes + at, len - at, &i) && i.is_nop)
		at += i.len;
	return at - from;
}

static bool is_exact(const struct patch_function *f, uint64_t address, int64_t *depth)
{
	int64_t most;

	return find_depth(f, address, depth, &most) && *depth == most;
}

static void set_plan(const struct patch_function *f, size_t from, size_t end, struct patch_plan *p)
{
	const size_t covered =
	    end > from + PATCH_JUMP_BYTES ? end - from : (size_t)PATCH_JUMP_BYTES;

	*p = (struct patch_plan){.address = f->code.address + from,
				 .len = PATCH_JUMP_BYTES,
				 .moved_len = (uint8_t)(end - from),
				 .kind = PATCH_ENDS};
	p->span = (struct patch_span){p->address, p->address + covered, false};
	memcpy(p->old, f->code.bytes + from, covered);
}

static enum patch_untimed plan_exit(const struct walk *w, const struct ways *ways,
				    struct patch_plan *out)
{
	const size_t end = w->at + w->i.len, padding = padding_at(w->f, ways, end);
	size_t from = w->at, moved = 0;
	int64_t depth;

	if (!is_exact(w->f, address_of(w), &depth) || depth)
		return PATCH_HAS_NO_DEPTH;
	for (; end - from + padding < PATCH_JUMP_BYTES; from = w->before[moved++]) {
		if (moved == w->nr_before)
			return PATCH_EXIT_IS_SHORT;
		if (!is_apart(w->f, ways, from))
			return PATCH_EXIT_MAY_BE_ENTERED;
	}
	set_plan(w->f, from, end, out);
	return PATCH_TIMED;
}

/* --- the whole */

/* By direct branches and calls of the function itself. */
static bool is_entered(const struct patch_function *f, const struct patch_plan *exits, size_t nr)
{
	struct walk w = {.f = f};

	for (; step(&w); pass(&w))
		for (size_t k = 0; k < nr && patch_has_target(&w.i); k++)
			if (target_of(&w) > exits[k].span.from && target_of(&w) < exits[k].span.to)
				return true;
	return false;
}

static enum patch_untimed plan_all(const struct patch_function *f, const struct ways *ways,
				   struct patch_plan *exits, size_t *nr)
{
	struct walk w = {.f = f};
	enum patch_untimed untimed = PATCH_TIMED;

	for (; step(&w) && untimed == PATCH_TIMED; pass(&w)) {
		if (judge(&w, ways) != LEAVES)
			continue;
		if (*nr == PATCH_MAX_EXITS)
			return PATCH_HAS_MANY_EXITS;
		untimed = plan_exit(&w, ways, &exits[(*nr)++]);
	}
	if (untimed == PATCH_TIMED && !*nr)
		return PATCH_NEVER_RETURNS;
	return untimed;
}

/* Where a call is redirected the stack is not that of the function's begin, which is that of its
 * ends. */
static bool find_begin(const struct patch_function *f, const struct patch_plan *begin,
		       uint8_t *depth)
{
	const uint64_t at = begin->moved_len ? f->code.address : begin->address;
	int64_t first, there;

	if (!is_exact(f, f->code.address, &first) || first || !is_exact(f, at, &there) ||
	    there < 0 || there > UINT8_MAX)
		return false;
	*depth = (uint8_t)there;
	return true;
}

enum patch_untimed patch_exits(const struct patch_function *f, struct patch_plan *begin,
			       struct patch_plan exits[PATCH_MAX_EXITS], size_t *nr)
{
	struct ways ways = {.has_inner = false};
	enum patch_untimed untimed = look_at_ways(f, &ways);
	size_t found = 0;
	uint8_t depth = 0;

	if (untimed == PATCH_TIMED && !find_begin(f, begin, &depth))
		untimed = PATCH_HAS_NO_DEPTH;
	if (untimed == PATCH_TIMED)
		untimed = plan_all(f, &ways, exits, &found);
	for (size_t k = 0; k < found && untimed == PATCH_TIMED; k++)
		if (exits[k].span.from < begin->span.to ||
		    (k && exits[k].span.from < exits[k - 1].span.to))
			untimed = PATCH_IS_TOO_SHORT;
	if (untimed == PATCH_TIMED && is_entered(f, exits, found))
		untimed = PATCH_EXIT_IS_ENTERED;
	if (untimed != PATCH_TIMED)
		return untimed;
	begin->kind = PATCH_BEGINS;
	begin->depth = depth;
	*nr = found;
	return PATCH_TIMED;
}
