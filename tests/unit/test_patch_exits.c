/*
 * Which functions have ends that can be seen, and by which bytes; each reason why not.
 */
#include "kit.h"

#include "patch/exits.h"
#include "patch/move.h"

#include <errno.h>

#define AT    0x401000ull
#define SLOTS 0x402000ull

enum { MAX_LEN = 40, MOST = 2 };

#define B(...) {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
/* What each function begins with: mov, which is replaced. */
#define BEGIN 0xb8, 1, 0, 0, 0

struct row {
	const char *what;
	uint8_t bytes[MAX_LEN];
	size_t len;
	size_t padding;
	const char *depths; /* words, by byte, at last the rest; '?': not known; 'r': by rbp */
	enum patch_leaving leaves;
	enum patch_untimed untimed;
	size_t nr; /* if it is accepted */
	uint8_t at[MOST], moved[MOST];
};

static const struct row rows[] = {
    {"ret; padding behind", B(BEGIN, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc), 4, "0", 0, 0, 1, {5}, {1}},
    {"ret; padding in it", B(BEGIN, 0xc3, 0x0f, 0x1f, 0x40, 0), 0, "0", 0, 0, 1, {5}, {1}},
    {"rep ret; padding", B(BEGIN, 0xf3, 0xc3, 0xcc, 0xcc, 0xcc), 3, "0", 0, 0, 1, {5}, {2}},
    {"ret $8; padding", B(BEGIN, 0xc2, 8, 0, 0x66, 0x90), 2, "0", 0, 0, 1, {5}, {3}},
    {"xor; xor; ret", B(BEGIN, 0x31, 0xc0, 0x31, 0xc9, 0xc3), 0, "0", 0, 0, 1, {5}, {5}},
    {"xor; ret; 2 bytes of padding",
     B(BEGIN, 0x31, 0xc0, 0xc3, 0x66, 0x90),
     2,
     "0",
     0,
     0,
     1,
     {5},
     {3}},
    {"mov; ret: what was moved is longer than a jump",
     B(BEGIN, 0x48, 0x8b, 5, 1, 0, 0, 0, 0xc3),
     0,
     "0",
     0,
     0,
     1,
     {5},
     {8}},
    {"xor; ret: not enough but for the begin", B(BEGIN, 0x31, 0xc0, 0xc3), 0, "0", 0,
     PATCH_IS_TOO_SHORT},
    {"ret amid the begin", B(0x31, 0xc0, 0xc3, 0x66, 0x90), 2, "0", 0, PATCH_IS_TOO_SHORT},
    {"call; xor; ret", B(BEGIN, 0xe8, 0, 1, 0, 0, 0x31, 0xc0, 0xc3), 0, "0", 0,
     PATCH_EXIT_IS_SHORT},
    {"syscall; nop; nop; ret", B(BEGIN, 0x0f, 5, 0x90, 0x90, 0xc3), 0, "0", 0, PATCH_EXIT_IS_SHORT},
    {"endbr64; ret", B(BEGIN, 0xf3, 0x0f, 0x1e, 0xfa, 0xc3), 0, "0", 0, PATCH_EXIT_IS_SHORT},
    {"padding of a branch's target is none of the next",
     B(BEGIN, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x31, 0xc0, 0xc3), 0, "0", 0, PATCH_EXIT_IS_SHORT},
    {"two returns",
     B(BEGIN, 0x74, 5, 0x31, 0xc0, 0x31, 0xc9, 0xc3, 0x31, 0xc0, 0x31, 0xc9, 0xc3),
     0,
     "0",
     0,
     0,
     2,
     {7, 12},
     {5, 5}},
    {"je to the begin of an end",
     B(BEGIN, 0x74, 0, 0x31, 0xc0, 0x31, 0xc9, 0xc3),
     0,
     "0",
     0,
     0,
     1,
     {7},
     {5}},
    {"je into it", B(BEGIN, 0x74, 2, 0x31, 0xc0, 0x31, 0xc9, 0xc3), 0, "0", 0,
     PATCH_EXIT_IS_ENTERED},
    {"je to the ret, which has padding",
     B(BEGIN, 0x74, 2, 0x31, 0xc0, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc),
     4,
     "0",
     0,
     0,
     1,
     {9},
     {1}},
    {"je into padding", B(BEGIN, 0x74, 2, 0x31, 0xc0, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x75, 0xfa), 0,
     "0", 0, PATCH_FALLS_THROUGH},
    {"je into padding, and more",
     B(BEGIN, 0x74, 3, 0x31, 0xc0, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x0f, 0x0b), 0, "0", 0,
     PATCH_EXIT_IS_ENTERED},
    {"jmp out", B(BEGIN, 0xe9, 0, 1, 0, 0), 0, "0", PATCH_LEAVES_FOR_GOOD, 0, 1, {5}, {5}},
    {"short jmp out; padding",
     B(BEGIN, 0xeb, 0x70, 0xcc, 0xcc, 0xcc),
     3,
     "0",
     PATCH_LEAVES_FOR_GOOD,
     0,
     1,
     {5},
     {2}},
    {"jmp out, who knows where", B(BEGIN, 0xe9, 0, 1, 0, 0), 0, "0", 0, PATCH_LEAVES_BY_BRANCH},
    {"jmp out, deeper", B(BEGIN, 0xe9, 0, 1, 0, 0), 0, "000001", PATCH_LEAVES_FOR_GOOD,
     PATCH_HAS_NO_DEPTH},
    {"jmp to what never returns", B(BEGIN, 0xe9, 0, 1, 0, 0), 0, "0", PATCH_LEAVES_NEVER,
     PATCH_NEVER_RETURNS},
    {"je to what never returns",
     B(BEGIN, 0x0f, 0x84, 0, 1, 0, 0, 0x31, 0xc0, 0x31, 0xc9, 0xc3),
     0,
     "0",
     PATCH_LEAVES_NEVER,
     0,
     1,
     {11},
     {5}},
    {"je out", B(BEGIN, 0x0f, 0x84, 0, 1, 0, 0, 0x31, 0xc0, 0x31, 0xc9, 0xc3), 0, "0",
     PATCH_LEAVES_FOR_GOOD, PATCH_LEAVES_BY_BRANCH},
    {"jmp by a slot", B(BEGIN, 0xff, 0x25, 0xf5, 0x0f, 0, 0), 0, "0", 0, 0, 1, {5}, {6}},
    {"jmp by a slot, deeper", B(BEGIN, 0xff, 0x25, 0xf5, 0x0f, 0, 0), 0, "000001", 0,
     PATCH_HAS_NO_DEPTH},
    {"endbr64 and jmp *%rax",
     B(0xf3, 0x0f, 0x1e, 0xfa, BEGIN, 0xff, 0xe0, 0xcc, 0xcc, 0xcc),
     3,
     "0",
     0,
     0,
     1,
     {9},
     {2}},
    {"endbr64, and another one",
     B(0xf3, 0x0f, 0x1e, 0xfa, BEGIN, 0xff, 0xe0, 0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x0b), 0, "0", 0,
     PATCH_LEAVES_INDIRECTLY},
    {"endbr64 and jmp *(%rsp)", B(0xf3, 0x0f, 0x1e, 0xfa, BEGIN, 0xff, 0x24, 0x24, 0xcc, 0xcc), 2,
     "0", 0, PATCH_LEAVES_INDIRECTLY},
    {"endbr64 and jmp *%rax, who knows how deep",
     B(0xf3, 0x0f, 0x1e, 0xfa, BEGIN, 0xff, 0xe0, 0xcc, 0xcc, 0xcc), 3, "?", 0,
     PATCH_LEAVES_INDIRECTLY},
    {"a table of jumps, deeper than the end",
     B(BEGIN, 0x50, 0x51, 0xff, 0xe0, 0x59, 0x58, 0x90, 0x90, 0xc3),
     0,
     "00000012221000",
     0,
     0,
     1,
     {9},
     {5}},
    {"a table of jumps, not deeper than the second pop",
     B(BEGIN, 0x50, 0x51, 0xff, 0xe0, 0x59, 0x58, 0x90, 0x90, 0xc3), 0, "00000012222000", 0,
     PATCH_EXIT_MAY_BE_ENTERED},
    {"a table of jumps, by rbp", B(BEGIN, 0x50, 0x51, 0xff, 0xe0, 0x59, 0x58, 0x90, 0x90, 0xc3), 0,
     "0000001r2r1000", 0, PATCH_EXIT_MAY_BE_ENTERED},
    {"a table of jumps, and padding that it may lead to",
     B(BEGIN, 0x50, 0x51, 0xff, 0xe0, 0x59, 0x58, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x0f, 0x0b), 0,
     "000000122210222222", 0, PATCH_EXIT_IS_SHORT},
    {"a table of jumps, and padding behind it",
     B(BEGIN, 0x50, 0x51, 0xff, 0xe0, 0x59, 0x58, 0xc3, 0x90, 0x90, 0x90, 0x90),
     4,
     "000000122210222222",
     0,
     0,
     1,
     {11},
     {1}},
    {"ret, who knows how deep", B(BEGIN, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc), 4, "?", 0,
     PATCH_HAS_NO_DEPTH},
    {"ret, by rbp", B(BEGIN, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc), 4, "r", 0, PATCH_HAS_NO_DEPTH},
    {"it begins deeper, as the linker's code does", B(BEGIN, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc), 4, "20",
     0, PATCH_HAS_NO_DEPTH},
    {"ret, deeper", B(BEGIN, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc), 4, "1", 0, PATCH_HAS_NO_DEPTH},
    {"a call at the end",
     B(BEGIN, 0x74, 5, 0x31, 0xc0, 0x31, 0xc9, 0xc3, 0xe8, 0, 1, 0, 0),
     0,
     "0",
     0,
     0,
     1,
     {7},
     {5}},
    {"no end", B(BEGIN, 0x0f, 0x0b), 0, "0", 0, PATCH_NEVER_RETURNS},
    {"it goes on", B(BEGIN, 0x74, 5, 0x31, 0xc0, 0x31, 0xc9, 0xc3, 0x31, 0xc0), 0, "0", 0,
     PATCH_FALLS_THROUGH},
    {"sub; call",
     B(0x48, 0x83, 0xec, 8, 0xe8, 0, 1, 0, 0, 0x48, 0x83, 0xc4, 8, 0xc3),
     0,
     "00001111111110",
     0,
     0,
     1,
     {9},
     {5}},
    {"sub; call, by rbp", B(0x48, 0x83, 0xec, 8, 0xe8, 0, 1, 0, 0, 0x48, 0x83, 0xc4, 8, 0xc3), 0,
     "0000r111111110", 0, PATCH_HAS_NO_DEPTH},
};

static bool depth(void *arg, uint64_t address, int64_t *least, int64_t *most)
{
	enum { WORD = 8 };
	const struct row *r = arg;
	const size_t at = address - AT, len = strlen(r->depths);
	const char c = r->depths[at < len ? at : len - 1];

	*least = c == 'r' ? WORD : (c - '0') * WORD;
	*most = c == 'r' ? INT64_MAX : *least;
	return c != '?';
}

static enum patch_leaving leaves(void *arg, uint64_t target)
{
	(void)target;
	return ((const struct row *)arg)->leaves;
}

static void check_row(const struct row *r)
{
	const struct patch_function f = {.code = {r->bytes, r->len - r->padding, AT},
					 .padding_len = r->padding,
					 .slots = SLOTS,
					 .slots_end = SLOTS + 16,
					 .depth = depth,
					 .leaves = leaves,
					 .arg = (void *)(uintptr_t)r};
	struct patch_plan begin, exits[PATCH_MAX_EXITS];
	enum patch_untimed untimed;
	size_t nr = 0;

	if (patch_plan(&f, &begin) != PATCH_ACCEPTED)
		fail_msg("%s: its begin is refused", r->what);
	untimed = patch_exits(&f, &begin, exits, &nr);
	if (untimed != r->untimed)
		fail_msg("%s: %s", r->what, patch_untimed_text(untimed));
	if (begin.kind != (untimed == PATCH_TIMED ? PATCH_BEGINS : PATCH_COUNTS) || nr != r->nr)
		fail_msg("%s: %zu ends", r->what, nr);
	for (size_t i = 0; i < nr; i++)
		if (exits[i].address != AT + r->at[i] || exits[i].moved_len != r->moved[i] ||
		    exits[i].len != PATCH_JUMP_BYTES || exits[i].kind != PATCH_ENDS ||
		    memcmp(exits[i].old, r->bytes + r->at[i], r->moved[i]) != 0)
			fail_msg("%s: %u bytes at %lx", r->what, exits[i].moved_len,
				 (unsigned long)exits[i].address);
	if (!begin.moved_len && nr)
		assert_int_equal(begin.depth, 8);
}

TEST(ends_and_refusals)
{
	for (size_t i = 0; i < NR(rows); i++)
		check_row(&rows[i]);
}

TEST(too_many)
{
	enum { RET_BYTES = 5 };
	static const struct row flat = {.depths = "0"};
	uint8_t code[5 + (PATCH_MAX_EXITS + 1) * RET_BYTES] = {BEGIN};
	struct patch_plan begin, exits[PATCH_MAX_EXITS];

	for (size_t at = 5; at < sizeof(code); at++)
		code[at] = at % RET_BYTES ? 0xcc : 0xc3;
	for (size_t more = 0; more < 2; more++) {
		const struct patch_function f = {
		    .code = {code, sizeof(code) - (more ? 0 : RET_BYTES), AT},
		    .depth = depth,
		    .arg = (void *)(uintptr_t)&flat};
		size_t nr = 0;

		assert_int_equal(patch_plan(&f, &begin), PATCH_ACCEPTED);
		assert_int_equal(patch_exits(&f, &begin, exits, &nr),
				 more ? PATCH_HAS_MANY_EXITS : PATCH_TIMED);
		assert_int_equal(nr, more ? 0 : PATCH_MAX_EXITS);
	}
}

/* An end is what leaves: a plan of other bytes is none. */
TEST(what_goes_on_is_no_end)
{
	struct patch_plan p = {.address = AT,
			       .len = 5,
			       .moved_len = 5,
			       .kind = PATCH_ENDS,
			       .old = {0x31, 0xc0, 0x31, 0xc9, 0x90}};
	const struct patch_counter counter = {.number = 1, .meet = 1};
	struct patch_trampoline t;

	assert_int_equal(patch_move(&p, &counter, AT + 4096, &t), -EINVAL);
	p.old[4] = 0xc3;
	assert_int_equal(patch_move(&p, &counter, AT + 4096, &t), 0);
}
