#include "functions/criteria.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/order.h"
#include "elf/file.h"
#include "functions/functions.h"
#include "functions/list.h"
#include "functions/pattern.h"
#include "patch/decode.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum { MAX_CALLS = 1 << 24, NOT_A_CALLER = UINT32_MAX };

bool functions_criteria_are_set(const struct functions_criteria *c)
{
	return c->include.nr || c->exclude.nr || c->callers_of.nr || c->min_instructions ||
	       c->min_bytes || c->has_loop;
}

size_t functions_patterns_check(const struct functions_patterns *p)
{
	struct functions_pattern unused;
	size_t i = 0;

	while (i < p->nr && functions_pattern_parse(p->item[i], &unused) == 0)
		i++;
	return i;
}

/* --- names */

static bool is_meant(const struct functions_patterns *p, const char *path, const char *name)
{
	struct functions_pattern pattern;

	for (size_t i = 0; i < p->nr; i++)
		if (functions_pattern_parse(p->item[i], &pattern) == 0 &&
		    (!*pattern.object || functions_pattern_has_file(&pattern, path)) &&
		    functions_pattern_has_name(&pattern, name))
			return true;
	return false;
}

/* --- code */

struct step {
	size_t len; /* 0: not understood */
	bool leads; /* to the target: by a call, a branch or a jump */
	bool is_call;
	uint64_t target;
};

static struct step step_x86(const uint8_t *code, size_t len, uint64_t address)
{
	struct patch_instruction i;
	struct step s = {.len = patch_decode(code, len, &i)};

	if (s.len && patch_has_target(&i))
		s = (struct step){.len = s.len,
				  .leads = true,
				  .is_call = i.flow == PATCH_CALLS,
				  .target = address + s.len + (uint64_t)(int64_t)i.relative};
	return s;
}

static uint64_t sign_extended(uint32_t word, unsigned from, unsigned bits)
{
	const uint64_t field = word >> from & ((1u << bits) - 1), sign = UINT64_C(1) << (bits - 1);

	return ((field ^ sign) - sign) * 4;
}

static struct step step_arm64(const uint8_t *code, size_t len, uint64_t address)
{
	static const struct {
		uint32_t mask, is;
		uint8_t from, bits;
		bool is_call;
	} kinds[] = {
	    {0xfc000000, 0x94000000, 0, 26, true},  /* bl */
	    {0xfc000000, 0x14000000, 0, 26, false}, /* b */
	    {0xff000000, 0x54000000, 5, 19, false}, /* b.cond */
	    {0x7e000000, 0x34000000, 5, 19, false}, /* cbz, cbnz */
	    {0x7e000000, 0x36000000, 5, 14, false}, /* tbz, tbnz */
	};
	uint32_t word;

	if (len < sizeof(word))
		return (struct step){.len = 0};
	memcpy(&word, code, sizeof(word));
	for (size_t i = 0; i < ARRAY_NR(kinds); i++)
		if ((word & kinds[i].mask) == kinds[i].is)
			return (struct step){
			    .len = sizeof(word),
			    .leads = true,
			    .is_call = kinds[i].is_call,
			    .target = address + sign_extended(word, kinds[i].from, kinds[i].bits)};
	return (struct step){.len = sizeof(word)};
}

typedef struct step step_fn(const uint8_t *code, size_t len, uint64_t address);

static step_fn *find_steps(const struct elf_file *f)
{
	if (!elf_file_is_64(f))
		return NULL;
	return elf_file_machine(f) == EM_X86_64    ? step_x86
	       : elf_file_machine(f) == EM_AARCH64 ? step_arm64
						   : NULL;
}

/* What a function's code has; is_whole: all of it was understood. */
struct code {
	uint64_t instructions;
	bool has_loop, is_whole;
};

/* Passes where it leads out of itself. 0 or -ENOMEM. */
static int read_code(const struct functions_list *l, uint64_t address, uint64_t size,
		     struct code *out, int (*leads)(void *arg, uint64_t target), void *arg)
{
	step_fn *step = find_steps(l->code);
	const uint8_t *bytes;
	size_t len = 0, at = 0;
	int rc = 0;

	*out = (struct code){.instructions = 0};
	bytes = step ? elf_file_bytes(l->code, address, size, &len) : NULL;
	len = bytes && len > size ? (size_t)size : bytes ? len : 0;
	while (at < len && rc == 0) {
		const struct step s = step(bytes + at, len - at, address + at);

		if (!s.len)
			return 0;
		if (s.leads && s.target - address < size)
			out->has_loop |= !s.is_call && s.target <= address + at;
		else if (s.leads && leads)
			rc = leads(arg, s.target);
		out->instructions++;
		at += s.len;
	}
	out->is_whole = len && at == len;
	return rc;
}

/* --- who calls what */

struct call {
	uint32_t from, to; /* numbers of symbols that are the first of their addresses */
};

struct calls {
	const struct functions_list *l;
	struct call *call; /* owned */
	size_t nr, room;
	uint32_t *distance; /* owned; of each symbol; NOT_A_CALLER: none is known */
	bool *is_direct;    /* owned; of each symbol: it calls what is meant itself */
	uint32_t from;      /* whose code is read */
};

/* The first symbol of an address; NOT_A_CALLER: none begins there. */
static uint32_t find_symbol(const struct functions_list *l, uint64_t address)
{
	size_t i = ORDER_FIRST(k, l->nr, l->symbol[k].address >= address);

	return i < l->nr && l->symbol[i].address == address ? (uint32_t)i : NOT_A_CALLER;
}

static int add_call(void *arg, uint64_t target)
{
	struct calls *c = arg;
	const uint32_t to = find_symbol(c->l, target);
	struct call *call;

	if (to == NOT_A_CALLER || c->nr == MAX_CALLS)
		return 0;
	call = MEM_ADD(c->call, c->nr, c->room);
	if (!call)
		return -ENOMEM;
	*call = (struct call){c->from, to};
	return 0;
}

static int read_calls(struct calls *c)
{
	struct code unused;
	int rc = 0;

	for (size_t i = 0; i < c->l->nr && rc == 0; i++) {
		const struct functions_symbol *s = &c->l->symbol[i];

		c->from = find_symbol(c->l, s->address);
		if (c->from == i)
			rc = read_code(c->l, s->address, s->size, &unused, add_call, c);
	}
	return rc;
}

/* Each round is one call farther from what is called. */
static void find_callers(struct calls *c, const struct functions_criteria *of)
{
	bool is_more = true;

	for (size_t i = 0; i < c->l->nr; i++)
		c->distance[i] = NOT_A_CALLER;
	for (size_t i = 0; i < c->l->nr; i++)
		if (is_meant(&of->callers_of, c->l->path, c->l->symbol[i].name))
			c->distance[find_symbol(c->l, c->l->symbol[i].address)] = 0;
	for (size_t i = 0; i < c->nr; i++)
		c->is_direct[c->call[i].from] |= c->distance[c->call[i].to] == 0;
	for (uint32_t round = 1; is_more && (!of->depth || round <= of->depth); round++) {
		is_more = false;
		for (size_t i = 0; i < c->nr; i++)
			if (c->distance[c->call[i].to] == round - 1 &&
			    c->distance[c->call[i].from] == NOT_A_CALLER) {
				c->distance[c->call[i].from] = round;
				is_more = true;
			}
	}
}

/* What is called is no caller, unless it calls another one that is meant, or itself. */
static bool is_caller(const struct calls *c, uint64_t address)
{
	const uint32_t i = find_symbol(c->l, address);

	if (i == NOT_A_CALLER)
		return false;
	return c->distance[i] ? c->distance[i] != NOT_A_CALLER : c->is_direct[i];
}

/* --- the whole */

static const char *judge(const struct functions_criteria *c, const struct functions_list *l,
			 const struct calls *calls, const struct functions_place *p)
{
	struct code code = {.instructions = 0};

	if (c->include.nr && !is_meant(&c->include, l->path, p->name))
		return "no pattern of functions.include means it";
	if (is_meant(&c->exclude, l->path, p->name))
		return "a pattern of functions.exclude means it";
	if (p->size < c->min_bytes)
		return "it has fewer bytes than functions.min_size";
	if (c->callers_of.nr && !is_caller(calls, p->address))
		return "no direct call leads from it to what functions.callers_of means";
	if (c->min_instructions || c->has_loop)
		(void)read_code(l, p->address, p->size, &code, NULL, NULL);
	if (code.is_whole && code.instructions < c->min_instructions)
		return "it has fewer instructions than functions.min_instructions";
	return c->has_loop && code.is_whole && !code.has_loop ? "it has no loop (functions.loops)"
							      : NULL;
}

int functions_criteria_apply(const struct functions_criteria *c, const struct functions_list *l,
			     struct functions_place *places, size_t nr)
{
	struct calls calls = {.l = l};
	int rc = 0;

	if (c->callers_of.nr) {
		calls.distance = mem_calloc(l->nr + 1, sizeof(*calls.distance));
		calls.is_direct = mem_calloc(l->nr + 1, sizeof(*calls.is_direct));
		rc = calls.distance && calls.is_direct ? read_calls(&calls) : -ENOMEM;
		if (rc == 0)
			find_callers(&calls, c);
	}
	for (size_t i = 0; i < nr && rc == 0; i++)
		if (!places[i].refused)
			places[i].refused = judge(c, l, &calls, &places[i]);
	mem_free(calls.distance);
	mem_free(calls.is_direct);
	mem_free(calls.call);
	return rc;
}
