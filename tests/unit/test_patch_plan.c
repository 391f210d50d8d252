/*
 * Which functions are accepted, and for which bytes; each reason of refusal; branches from
 * elsewhere.
 */
#include "kit.h"

#include "patch/move.h"
#include "patch/plan.h"

#define AT    0x401000ull
#define SLOTS 0x402000ull

enum { MAX_LEN = 40 };

#define B(...) {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static const struct {
	const char *what;
	uint8_t bytes[MAX_LEN];
	size_t len;
	size_t padding;
	enum patch_refusal refusal;
	uint8_t at, replaced, moved; /* if it is accepted */
} functions[] = {
    {"push; mov; sub; ret", B(0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 8, 0xc3), 0, 0, 0, 5, 8},
    {"mov of 5 bytes; ret", B(0xb8, 1, 0, 0, 0, 0xc3), 0, 0, 0, 5, 5},
    {"endbr64; mov; ret", B(0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 1, 0, 0, 0, 0xc3), 0, 0, 4, 5, 5},
    {"endbr64 twice", B(0xf3, 0x0f, 0x1e, 0xfa, 0xf3, 0x0f, 0x1e, 0xfa, 0x90, 0xc3), 0,
     PATCH_NOT_MOVABLE},
    {"nothing", {0}, 0, 16, PATCH_TOO_SHORT},
    {"ret, nothing behind", B(0xc3), 0, PATCH_TOO_SHORT},
    {"ret, 3 bytes of padding", B(0xc3, 0xcc, 0xcc, 0xcc), 0, PATCH_TOO_SHORT},
    {"mov; ret; padding behind", B(0x89, 0xf8, 0xc3, 0x66, 0x90), 2, 0, 0, 5, 3},
    {"mov; ret; other code behind", B(0x89, 0xf8, 0xc3, 0x89, 0xf8), 2, PATCH_IS_SPLIT},
    {"mov; ret; padding inside", B(0x89, 0xf8, 0xc3, 0x0f, 0x1f, 0), 0, 0, 0, 5, 3},
    {"mov; ret; more of it", B(0x89, 0xf8, 0xc3, 0x31, 0xc0, 0xc3), 0, PATCH_IS_SPLIT},
    {"it goes on into what is behind", B(0x89, 0xf8, 0x90, 0x90, 0x90), 3, PATCH_TOO_SHORT},
    {"an unknown instruction later", B(0xb8, 1, 0, 0, 0, 0xfa, 0xc3), 0, PATCH_NOT_UNDERSTOOD},
    {"and at once", B(0xfa, 0xc3, 0xc3, 0xc3, 0xc3), 0, PATCH_NOT_UNDERSTOOD},
    {"one that is truncated", B(0xb8, 1, 0, 0, 0, 0x48), 0, PATCH_NOT_UNDERSTOOD},
    {"syscall", B(0x0f, 0x05, 0x89, 0xc7, 0x90, 0xc3), 0, PATCH_NOT_MOVABLE},
    {"jrcxz", B(0xe3, 4, 0x89, 0xc7, 0x90, 0xc3, 0x90, 0xc3), 0, PATCH_NOT_MOVABLE},
    {"je over it", B(0x85, 0xff, 0x74, 2, 0x31, 0xc0, 0xc3), 0, 0, 0, 5, 6},
    {"je into it", B(0x74, 2, 0x31, 0xc0, 0x31, 0xc9, 0xc3), 0, PATCH_IS_ENTERED},
    {"a loop to the begin", B(0xff, 0xcf, 0x83, 0xff, 1, 0x75, 0xf9, 0xc3), 0, PATCH_LOOPS},
    {"a loop into it", B(0x31, 0xc0, 0xff, 0xcf, 0x90, 0x75, 0xfb, 0xc3), 0, PATCH_IS_ENTERED},
    {"a loop behind it", B(0xb8, 1, 0, 0, 0, 0xff, 0xcf, 0x75, 0xfc, 0xc3), 0, 0, 0, 5, 5},
    {"a loop to endbr64", B(0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 1, 0, 0, 0, 0x75, 0xf5, 0xc3), 0,
     PATCH_LOOPS},
    {"recursion", B(0xb8, 1, 0, 0, 0, 0xe8, 0xf6, 0xff, 0xff, 0xff, 0xc3), 0, 0, 0, 5, 5},
    {"a call into it", B(0xb8, 1, 0, 0, 0, 0xe8, 0xf8, 0xff, 0xff, 0xff, 0xc3), 0,
     PATCH_IS_ENTERED},
    {"sub; call", B(0x48, 0x83, 0xec, 8, 0xe8, 0, 1, 0, 0, 0xc3), 0, 0, 4, 5, 0},
    {"sub; call by a slot", B(0x48, 0x83, 0xec, 8, 0xff, 0x15, 0, 1, 0, 0, 0xc3), 0, 0, 4, 6, 0},
    {"call at once", B(0xe8, 0, 1, 0, 0, 0xc3), 0, 0, 0, 5, 0},
    {"call not each time", B(0x74, 5, 0xe8, 0, 1, 0, 0, 0xc3), 0, PATCH_HAS_CALL},
    {"a loop to what is before the call", B(0x90, 0x90, 0xe8, 0, 1, 0, 0, 0x75, 0xf8, 0xc3), 0,
     PATCH_IS_ENTERED},
    {"call *%rax", B(0x53, 0xff, 0xd0, 0x5b, 0x90, 0xc3), 0, PATCH_HAS_CALL},
    {"jmp *%rax", B(0xb8, 1, 0, 0, 0, 0xff, 0xe0), 0, PATCH_MAY_BE_ENTERED},
    {"jmp by a slot of the linker", B(0xb8, 1, 0, 0, 0, 0xff, 0x25, 0xf5, 0x0f, 0, 0), 0, 0, 0, 5,
     5},
    {"jmp by the word behind the slots", B(0xb8, 1, 0, 0, 0, 0xff, 0x25, 0x05, 0x10, 0, 0), 0,
     PATCH_MAY_BE_ENTERED},
    {"endbr64 and jmp *%rax", B(0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 1, 0, 0, 0, 0xff, 0xe0), 0, 0, 4, 5,
     5},
    {"endbr64 and notrack jmp *%rax", B(0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 1, 0, 0, 0, 0x3e, 0xff, 0xe0),
     0, PATCH_MAY_BE_ENTERED},
};

TEST(functions_and_refusals)
{
	for (size_t i = 0; i < NR(functions); i++) {
		const size_t padding = functions[i].padding;
		const struct patch_function f = {
		    .code = {functions[i].bytes,
			     functions[i].len - (functions[i].len ? padding : 0), AT},
		    .padding_len = padding,
		    .slots = SLOTS,
		    .slots_end = SLOTS + 16};
		struct patch_plan p = {0};
		enum patch_refusal refusal = patch_plan(&f, &p);

		if (refusal != functions[i].refusal)
			fail_msg("%s: %s", functions[i].what, patch_refusal_text(refusal));
		if (p.len != functions[i].replaced || p.moved_len != functions[i].moved ||
		    (p.len && p.address != AT + functions[i].at))
			fail_msg("%s: %u bytes at %lx, %u moved", functions[i].what, p.len,
				 (unsigned long)p.address, p.moved_len);
	}
}

/* --- by the depth of the stack */

/* push; push; push; jmp *%rax: deep. */
static const uint8_t deep[] = {0x55, 0x41, 0x57, 0x41, 0x56, 0xff, 0xe0};

struct depths {
	int64_t at_begin, at_jump;
	uint64_t unknown; /* an address; 0: none */
};

static bool depth(void *arg, uint64_t address, int64_t *least, int64_t *most)
{
	const struct depths *d = arg;

	*least = address == AT + 5 ? d->at_jump : d->at_begin + (int64_t)(address - AT);
	*most = *least;
	return address != d->unknown;
}

TEST(depths)
{
	static const struct {
		struct depths depths;
		enum patch_refusal refusal;
	} rows[] = {
	    {{0, 24, 0}, PATCH_ACCEPTED},
	    {{0, 4, 0}, PATCH_ACCEPTED},
	    {{0, 3, 0}, PATCH_MAY_BE_ENTERED}, /* as behind the second push */
	    {{0, 0, 0}, PATCH_MAY_BE_ENTERED},
	    {{0, 24, AT + 5}, PATCH_MAY_BE_ENTERED},
	    {{0, 24, AT + 3}, PATCH_MAY_BE_ENTERED},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct depths d = rows[i].depths;
		const struct patch_function f = {
		    .code = {deep, sizeof(deep), AT}, .depth = depth, .arg = &d};
		struct patch_plan p;

		if (patch_plan(&f, &p) != rows[i].refusal)
			fail_msg("row %zu", i);
	}
}

/* --- from elsewhere */

TEST(branches_of_other_code)
{
	/* je, call and jmp to AT + 2, AT + 20, AT + 40; ret */
	const uint8_t code[] = {0x0f, 0x84, 0xfc, 0xff, 0xff, 0xff, 0xe8,
				9,    0,    0,    0,    0xeb, 0x1b, 0xc3};
	struct patch_span spans[] = {{AT - 5, AT, false},       /* ends there */
				     {AT, AT + 5, false},       /* entered */
				     {AT + 20, AT + 25, false}, /* called at its begin */
				     {AT + 35, AT + 41, false}, /* at its last byte */
				     {AT + 41, AT + 46, false}};
	const bool wanted[] = {false, true, false, true, false};

	assert_true(patch_scan(&(struct patch_code){code, sizeof(code), AT}, spans, NR(spans)));
	for (size_t i = 0; i < NR(spans); i++)
		if (spans[i].is_entered != wanted[i])
			fail_msg("span %zu", i);
}

/* In what is not understood each byte may begin a branch. */
TEST(branches_of_unknown_code)
{
	const uint8_t code[] = {0xb8, 0xeb, 0x10, 0, 0, 0xfa};
	struct patch_span span = {AT + 0x11, AT + 0x16, false};

	assert_true(patch_scan(&(struct patch_code){code, 5, AT}, &span, 1));
	assert_false(span.is_entered);
	assert_false(patch_scan(&(struct patch_code){code, 6, AT}, &span, 1));
	assert_true(span.is_entered);
}

/* --- the trampoline */

TEST(out_of_reach)
{
	static const uint8_t code[] = {0xb8, 1, 0, 0, 0, 0xc3};
	static const struct {
		uint64_t address;
		uint32_t number;
		int rc;
	} rows[] = {
	    {AT + 0x7ffffff0, 1, -ERANGE}, /* the jump back, although the jump there reaches it */
	    {AT + 0x7fffff00, 1, 0},
	    {AT + 0x80000010ull, 1, -ERANGE},
	    {AT + 0x1000, UINT32_MAX, -ERANGE},
	};
	const struct patch_function f = {.code = {code, sizeof(code), AT}};
	struct patch_trampoline t;
	struct patch_plan p;

	assert_int_equal(patch_plan(&f, &p), PATCH_ACCEPTED);
	for (size_t i = 0; i < NR(rows); i++)
		if (patch_move(&p, &(struct patch_counter){.number = rows[i].number},
			       rows[i].address, &t) != rows[i].rc)
			fail_msg("row %zu", i);
}
