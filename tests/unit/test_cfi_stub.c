/*
 * PLT stubs of which no section says that they are: found by their code alone, and nothing else is.
 * test_unwind_stubs.c has more shapes, of those in sections.
 */
#include "kit.h"

#include "cfi/stub.h"

enum { NO = -1 };

/* Words between the stack pointer and the caller's at each byte of the code; NO: not a stub. */
TEST(x86)
{
	static const struct {
		const char *what;
		const struct cfi_machine *machine;
		uint8_t len;
		uint8_t code[32];
		int8_t words[32];
	} cases[] = {
	    {"the shared code, then a stub",
	     &cfi_machine_x86_64,
	     32,
	     {0xff, 0x35, 1, 2, 3, 4, 0xff, 0x25, 1, 2, 3, 4,    0x0f, 0x1f, 0x40, 0,
	      0xff, 0x25, 1, 2, 3, 4, 0x68, 0,    0, 0, 0, 0xe9, 1,    2,    3,    4},
	     {2, NO, NO, NO, NO, NO, 3, NO, NO, NO, NO, NO, NO, NO, NO, NO,
	      1, NO, NO, NO, NO, NO, 1, NO, NO, NO, NO, 2,  NO, NO, NO, NO}},
	    {"with IBT",
	     &cfi_machine_x86_64,
	     32,
	     {0xf3, 0x0f, 0x1e, 0xfa, 0x68, 1,    0,    0, 0, 0xf2, 0xe9, 1,    2,    3,    4, 0x90,
	      0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 1, 2, 3,    4,    0x0f, 0x1f, 0x44, 0, 0},
	     {1, NO, NO, NO, 1, NO, NO, NO, NO, 2,  NO, NO, NO, NO, NO, NO,
	      1, NO, NO, NO, 1, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}},
	    {"mold's",
	     &cfi_machine_i386,
	     32,
	     {0xf3, 0x0f, 0x1e, 0xfb, 0x51, 0x8d, 0x8b, 1,    2,    3,    4,
	      0xff, 0x31, 0xff, 0x61, 4,    0xf3, 0x0f, 0x1e, 0xfb, 0xb9, 8,
	      0,    0,    0,    0xff, 0xa3, 1,    2,    3,    4,    0xcc},
	     {1, NO, NO, NO, 1, 2,  NO, NO, NO, NO, NO, 2,  NO, 3,  NO, NO,
	      1, NO, NO, NO, 1, NO, NO, NO, NO, 1,  NO, NO, NO, NO, NO, NO}},
	    {"what jumps nowhere, and what jumps in the next block",
	     &cfi_machine_x86_64,
	     22,
	     {0x68, 1,    0,    0,    0,    0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
	      0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x25, 1,    2,    3,    4},
	     {NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO,
	      NO, NO, NO, NO, NO, 1,  NO, NO, NO, NO, NO}},
	    {"a function that calls, then jumps",
	     &cfi_machine_x86_64,
	     16,
	     {0x55, 0xe8, 1, 2, 3, 4, 0x5d, 0xff, 0x25, 1, 2, 3, 4, 0x90, 0x90, 0x90},
	     {NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}},
	    {"a jump that is truncated",
	     &cfi_machine_x86_64,
	     8,
	     {0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 1, 2},
	     {NO, NO, NO, NO, NO, NO, NO, NO}},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		const struct cfi_machine *m = cases[i].machine;
		const struct cfi_code code = {cases[i].code, cases[i].len};

		for (size_t at = 0; at <= cases[i].len; at++) {
			const int expected = at < cases[i].len ? cases[i].words[at] : NO;
			struct cfi_rules r;
			int words = NO;

			if (cfi_stub_find(&code, m, at, &r))
				words = (int)r.cfa.plus / m->word_bytes;
			if (words != expected)
				fail_msg("%s: %d at %zu", cases[i].what, words, at);
		}
	}
}

/* How far the stack pointer is below the caller's; NO: not a stub. */
TEST(arm64)
{
	static const struct {
		const char *what;
		uint32_t code[8];
		int8_t bytes[8];
	} cases[] = {
	    {"the shared code",
	     {0xa9bf7bf0, 0xf00000f0, 0xf947fe11, 0x913fe210, 0xd61f0220, 0xd503201f, 0xd503201f,
	      0},
	     {0, 16, 16, 16, 16, NO, NO, NO}},
	    {"stubs, one with a landing pad",
	     {0x90000110, 0xf9400211, 0x91000210, 0xd61f0220, 0xd503245f, 0x90000110, 0xf9400211,
	      0xd61f0220},
	     {0, 0, 0, 0, 0, 0, 0, 0}},
	    {"a function that makes a frame, then jumps; a jump through another register",
	     {0xa9bf7bfd, 0x910003fd, 0x90000110, 0xa8c17bfd, 0xd61f0200, 0xd503201f, 0x90000110,
	      0xf9400211},
	     {NO, NO, NO, NO, NO, NO, NO, NO}},
	};
	const struct cfi_machine *m = &cfi_machine_aarch64;

	for (size_t i = 0; i < NR(cases); i++) {
		uint8_t bytes[sizeof(cases[i].code)];
		const struct cfi_code code = {bytes, sizeof(bytes)};

		for (size_t at = 0; at < sizeof(bytes); at++)
			bytes[at] = (uint8_t)(cases[i].code[at / 4] >> at % 4 * 8);
		for (size_t at = 0; at < NR(cases[i].code); at++) {
			struct cfi_rules r;
			int found = NO;

			if (cfi_stub_find(&code, m, 4 * at, &r)) {
				found = (int)r.cfa.plus;
				assert_int_equal(r.reg[m->ra].kind,
						 found ? CFI_RULE_SAVED : CFI_RULE_UNSAID);
			}
			if (found != cases[i].bytes[at])
				fail_msg("%s: %d at %zu", cases[i].what, found, at);
		}
	}
}
