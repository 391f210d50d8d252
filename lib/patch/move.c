#include "patch/move.h"

#include "patch/decode.h"

#include <errno.h>
#include <string.h>

enum {
	COUNTER_BYTES = 8,
	WORD = 8,
	/* Where the parts of the code are that counts. */
	PUSHED_AX = 1,
	PUSHED_CX = 6,
	BLOCK_AT = 11,
	JRCXZ_END = 17,
	NUMBER_AT = 20,
	COUNTED_AT = 24,
	POPPED_CX = 25,
	POPPED_AX = 29,
	/* In the last one, where it calls: between the push and the pop. */
	MEET_PUSHED = 1,
	MEET_AT = 1 + 5 + 2,
	MEET_POPPED = 1 + 5 + 10 + 2 + 1,
	MAX_NUMBER = INT32_MAX / COUNTER_BYTES,
};

static const uint8_t counting[] = {
    0x50,                                     /* push %rax */
    0x9f,                                     /* lahf */
    0x0f, 0x90, 0xc0,                         /* seto %al */
    0x51,                                     /* push %rcx */
    0x64, 0x48, 0x8b, 0x0c, 0x25, 0, 0, 0, 0, /* mov %fs:block, %rcx */
    0xe3, 0,                                  /* jrcxz shared */
    0x48, 0xff, 0x81, 0,    0,    0, 0,       /* incq number*8(%rcx) */
    0x59,                                     /* pop %rcx */
    0x04, 0x7f,                               /* add $127, %al: the overflow flag */
    0x9e,                                     /* sahf */
    0x58,                                     /* pop %rax */
};
_Static_assert(sizeof(counting) == POPPED_AX, "the places of its parts");

/* Where parts of the code are that sees begins and ends, and what its instructions have pushed. */
enum {
	HOOK_NUMBER_AT = 8,
	HOOK_STACK_AT = 16,
	HOOK_MEET_AT = 22,
	HOOK_PUSHED = 4 * WORD,
};
static const uint8_t hook[] = {
    0x50,                                     /* push %rax */
    0x9f,                                     /* lahf */
    0x0f, 0x90, 0xc0,                         /* seto %al */
    0x51,                                     /* push %rcx */
    0x50,                                     /* push %rax */
    0x68, 0,    0,    0,    0,                /* push $number */
    0x48, 0x8d, 0x8c, 0x24, 0, 0, 0, 0,       /* lea stack(%rsp), %rcx */
    0x48, 0xb8, 0,    0,    0, 0, 0, 0, 0, 0, /* movabs $meet, %rax */
    0xff, 0xd0,                               /* call *%rax */
    0x59,                                     /* pop %rcx */
    0x58,                                     /* pop %rax */
    0x59,                                     /* pop %rcx */
    0x04, 0x7f,                               /* add $127, %al: the overflow flag */
    0x9e,                                     /* sahf */
    0x58,                                     /* pop %rax */
};
static const struct {
	uint8_t from, pushed;
} hook_pushes[] = {{1, WORD},      {6, 2 * WORD},  {7, 3 * WORD}, {12, HOOK_PUSHED},
		   {33, 3 * WORD}, {34, 2 * WORD}, {35, WORD},    {sizeof(hook), 0}};

struct writer {
	struct patch_trampoline *t;
	int rc;
};

static void put(struct writer *w, const void *bytes, size_t len)
{
	memcpy(w->t->code + w->t->len, bytes, len);
	w->t->len += (uint8_t)len;
}

/* The number that leads from the end of an instruction to the target. */
static int32_t reach(struct writer *w, uint64_t end, uint64_t target)
{
	int64_t by = (int64_t)(target - end);

	if (by != (int32_t)by)
		w->rc = -ERANGE;
	return (int32_t)by;
}

static uint64_t here(const struct writer *w)
{
	return w->t->address + w->t->len;
}

/* An opcode and 4 bytes that lead to the target. */
static void put_near(struct writer *w, const uint8_t *opcode, size_t len, uint64_t target)
{
	int32_t by;

	put(w, opcode, len);
	by = reach(w, here(w) + sizeof(by), target);
	put(w, &by, sizeof(by));
}

static void put_jump(struct writer *w, uint64_t target)
{
	put_near(w, (const uint8_t[]){0xe9}, 1, target);
}

/* --- counting */

static void put_counting(struct writer *w, const struct patch_counter *c)
{
	const int32_t number = (int32_t)(c->number * COUNTER_BYTES);

	if (c->number > MAX_NUMBER)
		w->rc = -ERANGE;
	put(w, counting, sizeof(counting));
	memcpy(w->t->code + BLOCK_AT, &c->block, sizeof(c->block));
	memcpy(w->t->code + NUMBER_AT, &number, sizeof(number));
}

static void put_shared(struct writer *w, const struct patch_counter *c)
{
	const uint64_t counter = c->shared + (uint64_t)c->number * COUNTER_BYTES;

	put(w, (const uint8_t[]){0x48, 0xb9}, 2); /* movabs $counter, %rcx */
	put(w, &counter, sizeof(counter));
	put(w, (const uint8_t[]){0xf0, 0x48, 0xff, 0x01}, 4); /* lock incq (%rcx) */
}

static void put_meet(struct writer *w, const struct patch_counter *c)
{
	put(w, (const uint8_t[]){0x50, 0xb9}, 2); /* push %rax; mov $number, %ecx */
	put(w, &c->number, sizeof(c->number));
	put(w, (const uint8_t[]){0x48, 0xb8}, 2); /* movabs $meet, %rax */
	put(w, &c->meet, sizeof(c->meet));
	put(w, (const uint8_t[]){0xff, 0xd0, 0x58}, 3); /* call *%rax; pop %rax */
}

/* Where a thread without a block goes. */
static void put_last(struct writer *w, const struct patch_counter *c)
{
	struct patch_trampoline *t = w->t;

	t->shared_at = t->len;
	t->is_met = c->meet;
	t->code[JRCXZ_END - 1] = (uint8_t)(t->len - JRCXZ_END);
	if (t->is_met)
		put_meet(w, c);
	else
		put_shared(w, c);
	put(w, (const uint8_t[]){0xeb, (uint8_t)(COUNTED_AT - (t->len + 2))}, 2);
}

/* --- begins and ends */

/* The pushes of a redirected call are above it, too. */
static void put_hook(struct writer *w, const struct patch_plan *p, const struct patch_counter *c)
{
	const int32_t call = p->moved_len ? 0 : WORD,
		      stack = HOOK_PUSHED + call + p->depth - PATCH_STACK_LESS;
	uint8_t *at = w->t->code + w->t->len;

	if (c->number > MAX_NUMBER)
		w->rc = -ERANGE;
	w->t->hook_at = w->t->len;
	put(w, hook, sizeof(hook));
	memcpy(at + HOOK_NUMBER_AT, &c->number, sizeof(c->number));
	memcpy(at + HOOK_STACK_AT, &stack, sizeof(stack));
	memcpy(at + HOOK_MEET_AT, &c->meet, sizeof(c->meet));
}

/* --- moved instructions */

/* Branches are written in their long form; its target is where it was. */
static void put_branch(struct writer *w, const uint8_t *bytes, const struct patch_instruction *i,
		       uint64_t target)
{
	const uint8_t opcode = bytes[i->relative_at - 1];

	if (i->flow == PATCH_JUMPS)
		put_jump(w, target);
	else /* of both forms the lower half is the condition */
		put_near(w, (const uint8_t[]){0x0f, (uint8_t)(0x80 | (opcode & 0x0f))}, 2, target);
}

static void put_moved(struct writer *w, const uint8_t *bytes, const struct patch_instruction *i,
		      uint64_t address)
{
	const uint64_t target = address + i->len + (uint64_t)(int64_t)i->relative;
	uint8_t at = w->t->len;
	int32_t by;

	if (patch_has_target(i)) {
		put_branch(w, bytes, i, target);
		return;
	}
	put(w, bytes, i->len);
	if (!i->relative_at)
		return;
	by = reach(w, here(w), target);
	memcpy(w->t->code + at + i->relative_at, &by, sizeof(by));
}

static void add_moved(struct patch_trampoline *t, size_t from)
{
	t->moved[t->nr_moved].from = (uint8_t)from;
	t->moved[t->nr_moved].to = t->len;
}

static void put_all(struct writer *w, const struct patch_plan *p, const struct patch_counter *c)
{
	struct patch_trampoline *t = w->t;
	struct patch_instruction i = {0};
	size_t at = 0;

	while (at < p->moved_len && t->nr_moved < PATCH_MAX_MOVED &&
	       patch_decode(p->old + at, p->moved_len - at, &i)) {
		if (p->kind == PATCH_ENDS && at + i.len == p->moved_len)
			put_hook(w, p, c);
		add_moved(t, at);
		t->nr_moved++;
		put_moved(w, p->old + at, &i, p->address + at);
		at += i.len;
	}
	if (at != p->moved_len || (p->kind == PATCH_ENDS && !patch_ends(&i)))
		w->rc = -EINVAL; /* it is no plan */
	add_moved(t, at);
	if (!patch_ends(&i))
		put_jump(w, p->address + at);
}

/* --- a call that is redirected */

static void put_callee(struct writer *w, const struct patch_plan *p)
{
	struct patch_instruction i;
	uint64_t target;

	if (!patch_decode(p->old, p->len, &i) || i.len != p->len || !i.relative_at) {
		w->rc = -EINVAL;
		return;
	}
	target = p->address + i.len + (uint64_t)(int64_t)i.relative;
	add_moved(w->t, 0);
	if (i.flow == PATCH_CALLS)
		put_jump(w, target);
	else
		put_near(w, (const uint8_t[]){0xff, 0x25}, 2, target); /* jmp *slot(%rip) */
}

/* jmp trampoline; call trampoline, of the length of the old one */
static void make_replacement(struct writer *w, const struct patch_plan *p)
{
	uint8_t *to = w->t->replacement;
	const int32_t by = reach(w, p->address + p->len, w->t->address);

	to[0] = 0x67; /* without effect */
	to[p->len - PATCH_JUMP_BYTES] = p->moved_len ? 0xe9 : 0xe8;
	memcpy(to + p->len - sizeof(by), &by, sizeof(by));
}

int patch_move(const struct patch_plan *plan, const struct patch_counter *counter, uint64_t address,
	       struct patch_trampoline *out)
{
	struct patch_trampoline t = {.address = address, .kind = plan->kind};
	struct writer w = {.t = &t};

	if (plan->kind == PATCH_COUNTS)
		put_counting(&w, counter);
	else if (plan->kind == PATCH_BEGINS)
		put_hook(&w, plan, counter);
	if (plan->moved_len)
		put_all(&w, plan, counter);
	else
		put_callee(&w, plan);
	if (plan->kind == PATCH_COUNTS)
		put_last(&w, counter);
	make_replacement(&w, plan);
	if (w.rc == 0)
		*out = t;
	return w.rc;
}

/* --- what was written */

uint64_t patch_leads_to(const struct patch_plan *plan, const uint8_t bytes[PATCH_SITE_BYTES])
{
	const uint8_t opcode = plan->moved_len ? 0xe9 : 0xe8;
	int32_t by;

	if (plan->len < PATCH_JUMP_BYTES || plan->len > PATCH_SITE_BYTES ||
	    bytes[plan->len - PATCH_JUMP_BYTES] != opcode)
		return 0;
	memcpy(&by, bytes + plan->len - sizeof(by), sizeof(by));
	return plan->address + plan->len + (uint64_t)(int64_t)by;
}

/* The counter of a trampoline: its number and block, and what it calls, are in its code. */
static struct patch_counter counter_of(const uint8_t *code, uint8_t shared_at)
{
	struct patch_counter c = {.meet = 1};
	int32_t number;

	memcpy(&c.block, code + BLOCK_AT, sizeof(c.block));
	memcpy(&number, code + NUMBER_AT, sizeof(number));
	c.number = (uint32_t)number / COUNTER_BYTES;
	if (shared_at)
		memcpy(&c.meet, code + shared_at + MEET_AT, sizeof(c.meet));
	return c;
}

static struct patch_counter hook_of(const uint8_t *hook_code)
{
	struct patch_counter c = {.number = 0};

	memcpy(&c.number, hook_code + HOOK_NUMBER_AT, sizeof(c.number));
	memcpy(&c.meet, hook_code + HOOK_MEET_AT, sizeof(c.meet));
	return c;
}

bool patch_is_moved(const struct patch_plan *plan, const uint8_t bytes[PATCH_SITE_BYTES],
		    const uint8_t code[PATCH_TRAMPOLINE_BYTES], uint64_t address)
{
	struct patch_counter c = {.number = 0};
	struct patch_trampoline t;

	if (plan->kind == PATCH_COUNTS)
		c = counter_of(code, 0);
	if (patch_move(plan, &c, address, &t))
		return false;
	c = plan->kind == PATCH_COUNTS ? counter_of(code, t.shared_at) : hook_of(code + t.hook_at);
	return c.meet && patch_move(plan, &c, address, &t) == 0 &&
	       memcmp(t.code, code, t.len) == 0 && memcmp(t.replacement, bytes, plan->len) == 0;
}

/* --- addresses */

static uint8_t pushed_in_hook(uint64_t at)
{
	uint8_t pushed = 0;

	for (size_t k = 0; k < sizeof(hook_pushes) / sizeof(hook_pushes[0]); k++)
		if (hook_pushes[k].from <= at)
			pushed = hook_pushes[k].pushed;
	return pushed;
}

/* By the code that counts, or sees begins and ends. */
static uint8_t pushed_at(const struct patch_trampoline *t, uint64_t at)
{
	if (t->kind != PATCH_COUNTS)
		return at < t->hook_at ? 0 : pushed_in_hook(at - t->hook_at);
	if (at >= t->shared_at)
		return t->is_met && at - t->shared_at >= MEET_PUSHED &&
			       at - t->shared_at < MEET_POPPED
			   ? 3 * WORD
			   : 2 * WORD;
	if (at < PUSHED_AX || at >= POPPED_AX)
		return 0;
	return at < PUSHED_CX || at >= POPPED_CX ? WORD : 2 * WORD;
}

uint64_t patch_original(const struct patch_plan *plan, const struct patch_trampoline *t,
			uint64_t address, uint8_t *pushed)
{
	const uint64_t at = address - t->address;
	uint8_t from = 0;

	if (at >= t->len)
		return 0;
	*pushed = pushed_at(t, at);
	if (!plan->moved_len) {
		*pushed += WORD;
		return plan->address + plan->len;
	}
	for (size_t k = 0; k <= t->nr_moved && *pushed == 0; k++)
		if (t->moved[k].to <= at)
			from = t->moved[k].from;
	/* until the last instruction has been executed */
	if (t->kind == PATCH_ENDS && at >= t->hook_at)
		from = t->moved[t->nr_moved - 1].from;
	return plan->address + from;
}

uint64_t patch_moved_to(const struct patch_plan *plan, const struct patch_trampoline *t,
			uint64_t address)
{
	const uint64_t at = address - plan->address;

	for (size_t k = 1; k < t->nr_moved && at < plan->len; k++)
		if (t->moved[k].from == at)
			return t->address + t->moved[k].to;
	return address;
}
