/*
 * Native stacks with functions of JavaScript in the place of their own native frames, which are
 * found by the address at which the thread was in each.
 */
#include "kit.h"

#include "profile/processes_internal.h"
#include "report/stack.h"
#include "trace/interpreted.h"
#include "trace/trace.h"

enum { HANDLERS = 0x5000, HANDLERS_END = 0x6000, NATIVE = 0x9000 };
#define K 0xffffffff81000000

static struct profile_processes *processes;
static struct report_stack stack;

/* Codes 101 to 108 are known. */
HOOK(before_each)
{
	struct trace_code code = {
	    .language = TRACE_LANGUAGE_JAVASCRIPT, .name = "f", .file = "f.js"};

	processes = profile_processes_new();
	assert_non_null(processes);
	for (code.number = 108; code.number > 100; code.number--)
		assert_int_equal(profile_codes_add(&processes->codes, &code), 0);
	profile_codes_sort(&processes->codes);
}

HOOK(after_each)
{
	profile_processes_free(processes);
}

/* A letter is an address: 'h' of the interpreter, others below of files, A to M of code that was
 * made and has no name, N to Z of such that has one, but S of function 1, for which it is known
 * what is inlined; 'k' the kernel's. */
static uint64_t address_of(char letter)
{
	return letter == 'k' ? K : (letter == 'h' ? HANDLERS : NATIVE) + 16 * (uint64_t)letter;
}

static enum report_code code_at(void *arg, uint64_t address, uint64_t function)
{
	const char letter = (char)((address + 8 - NATIVE) / 16);
	const struct profile_code *c = function ? profile_code_at(processes, function) : NULL;

	assert_ptr_equal(arg, &stack);
	if (letter == 'S')
		return c && c->number == 101 ? REPORT_CODE_SCRIPT : REPORT_CODE_WITHOUT_NAME;
	return letter >= 'A' && letter <= 'M'   ? REPORT_CODE_WITHOUT_NAME
	       : letter >= 'N' && letter <= 'Z' ? REPORT_CODE_NAMED
						: REPORT_CODE_OF_FILE;
}

static void make_native(const char *letters, enum report_end end)
{
	stack.nr = stack.nr_kernel = 0;
	for (; *letters; letters++) {
		stack.moved[stack.nr] = stack.nr > stack.nr_kernel;
		stack.address[stack.nr] = address_of(*letters) - stack.moved[stack.nr];
		stack.nr++;
		stack.nr_kernel += *letters == 'k';
	}
	stack.end = end;
	stack.has_callers = true;
}

/* Two characters a frame: the letter where the thread is in it, or '.', and the number of its code;
 * '-': it is none of JavaScript. */
static void make_frames(const char *frames, struct trace_interpreted *out)
{
	memset(out, 0, sizeof(*out));
	out->language = TRACE_LANGUAGE_JAVASCRIPT;
	out->loop_begin = HANDLERS;
	out->loop_end = HANDLERS_END;
	for (; *frames; frames += 2)
		out->frame[out->nr++] = (struct trace_interpreted_frame){
		    .code = frames[1] == '-' ? 0 : 100 + (uint64_t)(frames[1] - '0'),
		    .at = frames[0] == '.' ? 0 : address_of(frames[0])};
}

/* The letters, with a digit for each function. */
static void show(char *out)
{
	for (size_t i = 0; i < stack.nr; i++) {
		const uint64_t a = stack.address[i], at = a + stack.moved[i];
		const struct profile_code *c =
		    profile_is_code(a) ? profile_code_at(processes, a) : NULL;

		*out++ = c                    ? (char)('0' + c->number - 100)
			 : profile_is_code(a) ? '?'
			 : at >= K            ? 'k'
			 : at < HANDLERS_END  ? 'h'
					      : (char)((at - NATIVE) / 16);
	}
	*out = '\0';
}

static const struct {
	const char *native, *frames, *placed;
	bool with_native, has_no_callers;
	enum report_end end; /* 0: whole */
} cases[] = {
    {"Abc", "A1b-", "1bc"},
    {"aBcDe", "B1c-D2e-", "a1c2e"},
    {"kkAb", "A1", "kk1b"},
    /* the interpreter's part is the function's, and its entry is replaced */
    {"hab", "a1", "1b"},
    {"hab", "a1", "h1b", .with_native = true},
    {"hah", "a1", "1h"},
    /* a dump or a map says more, and so does a frame of code that is not known */
    {"NAb", "N1A2", "N2b"},
    {"AB", "A9B2", "A2"},
    /* what is inlined is known, of that function */
    {"Sb", "S1b-", "Sb"},
    {"aSb", "S1b-", "aSb"},
    {"Sb", "S2b-", "2b"},
    {"Sb", "S9b-", "Sb"},
    {"aScd", ".1c-", "aScd"},
    {"aScd", ".2c-", "a2cd"},
    /* one that was just called hides its caller's frame */
    {"Acd", "A1B2c-", "12cd"},
    {"aCd", "A1B2C3", "a123d", .end = REPORT_END_POINTERS},
    /* where the thread is in it is not known: a function without a frame was called */
    {"abc", ".1b-", "a1bc"},
    {"aBcd", ".1c-", "a1cd"},
    {"abcd", ".1c-", "ab1cd"},
    {"aNcd", ".1c-", "aN1cd"},
    {"aBcd", ".9c-", "aBcd"},
    /* what is nowhere in a whole stack is not of it */
    {"abc", "A1B2", "abc"},
    {"Abc", "A1B2", "1bc"},
    {"hbc", "B2", "hbc"},
    /* a stack that ends early goes on */
    {"a", ".1B2", "a12", .end = REPORT_END_POINTERS},
    {"h", "a1B2", "12", .end = REPORT_END_POINTERS},
    {"", "A1", "1", .end = REPORT_END_POINTERS},
    /* each address is met once */
    {"AAb", "A1A1b-", "11b"},
    {"AbA", "A1A2", "1b2"},
    /* only the sampled function is asked for */
    {"hab", "a1", "1", .has_no_callers = true},
    {"aBc", ".1", "a", .has_no_callers = true, .end = REPORT_END_POINTERS},
    {"k", "A1", "k", .has_no_callers = true},
};

TEST(each_function_is_in_its_place)
{
	static struct trace_interpreted interpreted;
	char shown[REPORT_MAX_DEPTH + 1];

	for (size_t i = 0; i < NR(cases); i++) {
		const enum report_end end = cases[i].end ? cases[i].end : REPORT_END_WHOLE;
		const struct report_placing placing = {.processes = processes,
						       .with_native = cases[i].with_native,
						       .code = code_at,
						       .arg = &stack};

		make_native(cases[i].native, end);
		make_frames(cases[i].frames, &interpreted);
		report_stack_place(&placing, &interpreted, !cases[i].has_no_callers, &stack);
		show(shown);
		assert_string_equal(shown, cases[i].placed);
		assert_int_equal(stack.end, end);
	}
}

TEST(a_deep_stack_is_cut_at_the_limit)
{
	static struct trace_interpreted interpreted;
	const struct report_placing placing = {
	    .processes = processes, .code = code_at, .arg = &stack};

	make_native("", REPORT_END_POINTERS);
	make_frames("", &interpreted);
	for (; stack.nr < REPORT_MAX_DEPTH; stack.nr++) {
		stack.address[stack.nr] = address_of('a');
		stack.moved[stack.nr] = 0;
	}
	for (; interpreted.nr < TRACE_INTERPRETED_MAX_FRAMES; interpreted.nr++)
		interpreted.frame[interpreted.nr] = (struct trace_interpreted_frame){.code = 101};
	report_stack_place(&placing, &interpreted, true, &stack);
	assert_int_equal(stack.nr, REPORT_MAX_DEPTH);
	assert_int_equal(stack.end, REPORT_END_DEPTH);
}
