/*
 * Instructions that matter to who moves code, and what is refused. All that compilers write is
 * compared with capstone: test_patch_text.c.
 */
#include "kit.h"

#include "patch/decode.h"

#define B(...) {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static const struct {
	const char *what;
	uint8_t bytes[PATCH_MAX_INSTRUCTION + 1];
	size_t len;
	struct patch_instruction wanted;
} known[] = {
    {"push %rbp", B(0x55), {.len = 1}},
    {"endbr64", B(0xf3, 0x0f, 0x1e, 0xfa), {.len = 4, .is_endbr = true}},
    {"rdsspq %rax", B(0xf3, 0x48, 0x0f, 0x1e, 0xc8), {.len = 5}},
    {"mov $1, %ax", B(0x66, 0xb8, 1, 0), {.len = 4}},
    {"movabs", B(0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8), {.len = 10}},
    {"data16 of a wide one", B(0x66, 0x48, 0xc7, 0xc0, 1, 2, 3, 4), {.len = 8}},
    {"cmpw $1, (%rax)", B(0x66, 0x81, 0x38, 1, 0), {.len = 5}},
    {"test $1, %eax", B(0xf7, 0xc0, 1, 0, 0, 0), {.len = 6}},
    {"not %eax", B(0xf7, 0xd0), {.len = 2}},
    {"mov 5(%rip), %eax", B(0x8b, 0x05, 5, 0, 0, 0), {.len = 6, .relative_at = 2, .relative = 5}},
    {"cmpl $7, -2(%rip)",
     B(0x83, 0x3d, 0xfe, 0xff, 0xff, 0xff, 7),
     {.len = 7, .relative_at = 2, .relative = -2}},
    {"mov of an absolute address", B(0x8b, 0x04, 0x25, 5, 0, 0, 0), {.len = 7}},
    {"mov 8(%rsp), %eax", B(0x8b, 0x44, 0x24, 8), {.len = 4}},
    {"mov 5(%eip), %eax",
     B(0x67, 0x8b, 0x05, 5, 0, 0, 0),
     {.len = 7, .relative_at = 3, .relative = 5, .is_fixed = true}},
    {"vaddps 5(%rip)",
     B(0xc5, 0xf8, 0x58, 0x05, 5, 0, 0, 0),
     {.len = 8, .relative_at = 4, .relative = 5}},
    {"vpshufd $1, (%rax), %xmm0", B(0xc5, 0xf9, 0x70, 0x00, 1), {.len = 5}},
    {"vpternlogd $1, %zmm", B(0x62, 0xf3, 0x75, 0x48, 0x25, 0xc0, 1), {.len = 7}},
    {"vpermi2d %zmm", B(0x62, 0xf2, 0x75, 0x48, 0x76, 0xc0), {.len = 6}},
    {"je 16", B(0x74, 0x10), {.len = 2, .relative_at = 1, .relative = 16, .flow = PATCH_BRANCHES}},
    {"jne -5",
     B(0x0f, 0x85, 0xfb, 0xff, 0xff, 0xff),
     {.len = 6, .relative_at = 2, .relative = -5, .flow = PATCH_BRANCHES}},
    {"jrcxz",
     B(0xe3, 0x80),
     {.len = 2, .relative_at = 1, .relative = -128, .flow = PATCH_BRANCHES, .is_fixed = true}},
    {"jmp", B(0xeb, 1), {.len = 2, .relative_at = 1, .relative = 1, .flow = PATCH_JUMPS}},
    {"bnd jmp",
     B(0xf2, 0xe9, 1, 0, 0, 0),
     {.len = 6, .relative_at = 2, .relative = 1, .flow = PATCH_JUMPS}},
    {"call",
     B(0xe8, 1, 0, 0, 0),
     {.len = 5, .relative_at = 1, .relative = 1, .flow = PATCH_CALLS, .is_fixed = true}},
    {"addr32 call",
     B(0x67, 0xe8, 1, 0, 0, 0),
     {.len = 6, .relative_at = 2, .relative = 1, .flow = PATCH_CALLS, .is_fixed = true}},
    {"data16 rex.W call",
     B(0x66, 0x66, 0x48, 0xe8, 1, 0, 0, 0),
     {.len = 8, .relative_at = 4, .relative = 1, .flow = PATCH_CALLS, .is_fixed = true}},
    {"call *%rax", B(0xff, 0xd0), {.len = 2, .flow = PATCH_CALLS_INDIRECT, .is_fixed = true}},
    {"jmp *%rax", B(0xff, 0xe0), {.len = 2, .flow = PATCH_JUMPS_INDIRECT}},
    {"notrack jmp *%rax",
     B(0x3e, 0xff, 0xe0),
     {.len = 3, .flow = PATCH_JUMPS_INDIRECT, .is_notrack = true}},
    {"rep ret", B(0xf3, 0xc3), {.len = 2, .flow = PATCH_RETURNS}},
    {"ret 8", B(0xc2, 8, 0), {.len = 3, .flow = PATCH_RETURNS}},
    {"ud2", B(0x0f, 0x0b), {.len = 2, .flow = PATCH_STOPS, .is_fixed = true}},
    {"hlt", B(0xf4), {.len = 1, .flow = PATCH_STOPS, .is_fixed = true}},
    {"int3", B(0xcc), {.len = 1, .is_nop = true, .is_fixed = true}},
    {"syscall", B(0x0f, 0x05), {.len = 2, .is_fixed = true}},
    {"nop", B(0x90), {.len = 1, .is_nop = true}},
    {"pause", B(0xf3, 0x90), {.len = 2}},
    {"xchg %r8, %rax", B(0x49, 0x90), {.len = 2}},
    {"nopw", B(0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0), {.len = 10, .is_nop = true}},
    {"the longest",
     B(0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0),
     {.len = 15, .is_nop = true}},
};

TEST(understood)
{
	for (size_t i = 0; i < NR(known); i++) {
		const struct patch_instruction *w = &known[i].wanted;
		struct patch_instruction g;

		if (patch_decode(known[i].bytes, known[i].len, &g) != w->len)
			fail_msg("%s: its length", known[i].what);
		if (g.flow != w->flow || g.relative_at != w->relative_at ||
		    g.relative != w->relative)
			fail_msg("%s: where it leads", known[i].what);
		if (g.is_endbr != w->is_endbr || g.is_nop != w->is_nop ||
		    g.is_fixed != w->is_fixed || g.is_notrack != w->is_notrack)
			fail_msg("%s: its kind", known[i].what);
	}
}

/* Nothing is decided by a part of an instruction, whatever stands behind it. */
TEST(truncated)
{
	for (size_t i = 0; i < NR(known); i++)
		for (size_t len = 0; len < known[i].len; len++) {
			struct patch_instruction g;
			uint8_t *copy = malloc(len + 1);
			size_t decoded;

			memcpy(copy, known[i].bytes, len);
			decoded = patch_decode(copy, len, &g);
			if (decoded > len || (decoded && known[i].bytes[0] != 0x66))
				fail_msg("%s: %zu bytes of it", known[i].what, len);
			free(copy);
		}
}

static const struct {
	const char *what;
	uint8_t bytes[PATCH_MAX_INSTRUCTION + 1];
	size_t len;
} refused[] = {
    {"jmp of 16 bits, for some makers", B(0x66, 0xe9, 1, 0, 0, 0)},
    {"je of 16 bits", B(0x66, 0x0f, 0x84, 1, 0, 0, 0)},
    {"ret of 16 bits", B(0x66, 0xc3)},
    {"data16 rep push $1, of 16 bits or of 32", B(0x66, 0xf3, 0x68, 1, 0, 0, 0)},
    {"repne data16 mov $1, %ax", B(0xf2, 0x66, 0xb8, 1, 0, 0, 0)},
    {"push %es", B(0x06)},
    {"in", B(0xe4, 1)},
    {"cli", B(0xfa)},
    {"lcall", B(0xff, 0x18)},
    {"xbegin", B(0xc7, 0xf8, 1, 0, 0, 0)},
    {"XOP", B(0x8f, 0xe8, 0x60, 0xa2, 0xc0, 0x10)},
    {"jmpe", B(0x0f, 0xb8, 0xc0)},
    {"rex before a prefix", B(0x48, 0x66, 0x89, 0xc0)},
    {"rex twice", B(0x48, 0x48, 0x89, 0xc0)},
    {"lock before VEX", B(0xf0, 0xc5, 0xf8, 0x58, 0xc0)},
    {"VEX of an unknown map", B(0xc4, 0xe4, 0x79, 0x18, 0xc0)},
    {"EVEX of half precision", B(0x62, 0xf5, 0x74, 0x48, 0x58, 0xc0)},
    {"ud0", B(0x0f, 0xff, 0xc0)},
    {"movabs by 32 bits", B(0x67, 0xa1, 1, 2, 3, 4, 0, 0, 0, 0)},
    {"16 bytes",
     B(0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0)},
};

TEST(not_understood)
{
	for (size_t i = 0; i < NR(refused); i++) {
		struct patch_instruction g;

		if (patch_decode(refused[i].bytes, refused[i].len, &g))
			fail_msg("%s is accepted", refused[i].what);
	}
}
