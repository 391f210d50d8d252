/*
 * Native stacks with what was interpreted put in the place of the function that interprets: each
 * frame of it is worth the functions up to the one that was entered.
 */
#include "kit.h"

#include "profile/processes_internal.h"
#include "report/stack.h"
#include "trace/interpreted.h"
#include "trace/trace.h"

enum { OWN = 0x4000, LOOP = 0x5000, LOOP_END = 0x6000, OWN_END = 0x7000, NATIVE = 0x9000 };
#define K 0xffffffff81000000

static struct profile_processes *processes;
static struct report_stack stack;

/* Codes 101 to 109 are known. */
HOOK(before_each)
{
	struct trace_code code = {.language = TRACE_LANGUAGE_PYTHON, .name = "f", .file = "f.py"};

	processes = profile_processes_new();
	assert_non_null(processes);
	for (code.number = 109; code.number > 100; code.number--)
		assert_int_equal(profile_codes_add(&processes->codes, &code), 0);
	profile_codes_sort(&processes->codes);
}

HOOK(after_each)
{
	profile_processes_free(processes);
}

/* A stack as words: 'n' a native function, 'i' one of the interpreter, 'L' the one that interprets,
 * 'k' the kernel's; digits
 * are interpreted code; frames are the same digits, with ! behind one that was entered, as often as
 * it was. */
static void make_native(const char *words, enum report_end end)
{
	stack.nr = stack.nr_kernel = 0;
	for (size_t i = 0; words[i]; i++) {
		stack.moved[stack.nr] = i > 0;
		stack.address[stack.nr++] = words[i] == 'L'   ? LOOP + 16 + i
					    : words[i] == 'i' ? OWN + i
					    : words[i] == 'k' ? K + i
							      : NATIVE + i;
		stack.nr_kernel += words[i] == 'k';
	}
	stack.end = end;
	stack.has_callers = true;
}

static void make_interpreted(const char *frames, struct trace_interpreted *out)
{
	memset(out, 0, sizeof(*out));
	out->loop_begin = LOOP;
	out->loop_end = LOOP_END;
	for (; *frames; frames++) {
		if (*frames == '!')
			out->frame[out->nr - 1].nr_entries++;
		else
			out->frame[out->nr++] = (struct trace_interpreted_frame){
			    .code = 100 + (uint64_t)(*frames - '0'), .instruction = 3};
	}
}

/* As make_native's words, with a digit for each frame of code. */
static void show(char *out)
{
	for (size_t i = 0; i < stack.nr; i++) {
		const uint64_t a = stack.address[i];
		const struct profile_code *c =
		    profile_is_code(a) ? profile_code_at(processes, a) : NULL;

		*out++ = profile_is_code(a)          ? c ? (char)('0' + c->number - 100) : '?'
			 : a >= LOOP && a < LOOP_END ? 'L'
			 : a >= OWN && a < OWN_END   ? 'i'
			 : a >= K                    ? 'k'
						     : 'n';
		if (c)
			assert_int_equal(profile_code_instruction(a), 3);
	}
	*out = '\0';
}

static const struct {
	const char *native, *frames, *merged;
	bool has_no_callers, is_partial;
	enum report_end end, merged_end;
} cases[] = {
    /* one call of the interpreter */
    {"nLnn", "12!", "n12nn", .end = REPORT_END_WHOLE, .merged_end = REPORT_END_WHOLE},
    {"Lnn", "12!", "12nn", .end = REPORT_END_WHOLE, .merged_end = REPORT_END_WHOLE},
    /* native code calls it again */
    {"nLnLnn", "1!23!", "n1n23nn", .end = REPORT_END_WHOLE, .merged_end = REPORT_END_WHOLE},
    {"nLLn", "1!2!", "n12n", .end = REPORT_END_WHOLE, .merged_end = REPORT_END_WHOLE},
    /* and so again within one frame: it stands for them all */
    {"nLnLn", "12!!", "n12nn", .end = REPORT_END_WHOLE, .merged_end = REPORT_END_WHOLE},
    {"nLnLnLn", "1!!2!", "n1nn2n", .end = REPORT_END_WHOLE, .merged_end = REPORT_END_WHOLE},
    /* it was just called: the function has no frame yet */
    {"LnLn", "12!", "n12n", .end = REPORT_END_WHOLE, .merged_end = REPORT_END_WHOLE},
    /* the kernel's part stays where it is */
    {"kknLn", "1!", "kkn1n", .end = REPORT_END_WHOLE, .merged_end = REPORT_END_WHOLE},
    /* without frame pointers: only the first address is sure */
    {"nnn", "12!3!", "n123", .end = REPORT_END_POINTERS, .merged_end = REPORT_END_WHOLE},
    {"nnLn", "12!3!", "nn123", .end = REPORT_END_POINTERS, .merged_end = REPORT_END_WHOLE},
    {"L", "12!3!", "123", .end = REPORT_END_POINTERS, .merged_end = REPORT_END_WHOLE},
    {"kk", "12!", "kk12", .end = REPORT_END_POINTERS, .merged_end = REPORT_END_WHOLE},
    /* more native frames than entries: what is between them is not known */
    {"nLnLnLnLn", "1!", "n1", .end = REPORT_END_WHOLE, .merged_end = REPORT_END_WHOLE},
    /* the outermost frames could not be read */
    {"nLn", "12", "n12", .is_partial = true, .end = REPORT_END_POINTERS,
     .merged_end = REPORT_END_POINTERS},
    /* code that is not known has its place */
    {"nLn", "10!", "n1?n", .end = REPORT_END_WHOLE, .merged_end = REPORT_END_WHOLE},
    /* only the sampled function is asked for */
    {"L", "12!", "1", .has_no_callers = true, .end = REPORT_END_POINTERS,
     .merged_end = REPORT_END_POINTERS},
    {"n", "12!", "n", .has_no_callers = true, .end = REPORT_END_POINTERS,
     .merged_end = REPORT_END_WHOLE},
    {"k", "12!", "k", .has_no_callers = true, .end = REPORT_END_POINTERS,
     .merged_end = REPORT_END_POINTERS},
};

TEST(each_frame_stands_for_its_functions)
{
	static struct trace_interpreted interpreted;
	char shown[REPORT_MAX_DEPTH + 1];

	for (size_t i = 0; i < NR(cases); i++) {
		make_native(cases[i].native, cases[i].end);
		make_interpreted(cases[i].frames, &interpreted);
		interpreted.is_partial = cases[i].is_partial;
		report_stack_merge(processes, &interpreted, NULL, !cases[i].has_no_callers, &stack);
		show(shown);
		assert_string_equal(shown, cases[i].merged);
		assert_int_equal(stack.end, cases[i].merged_end);
	}
}

TEST(a_deep_stack_is_cut_at_the_limit)
{
	static struct trace_interpreted interpreted;

	make_native("nL", REPORT_END_WHOLE);
	make_interpreted("", &interpreted);
	interpreted.nr = TRACE_INTERPRETED_MAX_FRAMES;
	for (size_t i = 0; i < interpreted.nr; i++)
		interpreted.frame[i].code = 101;
	interpreted.frame[interpreted.nr - 1].nr_entries = 1;
	report_stack_merge(processes, &interpreted, NULL, true, &stack);
	assert_int_equal(stack.nr, REPORT_MAX_DEPTH);
	assert_int_equal(stack.end, REPORT_END_DEPTH);
}

static const struct {
	const char *native, *frames, *merged;
	enum report_end end;
} own_cases[] = {
    {"iiLii", "12!", "12ii", REPORT_END_WHOLE},    /* what called the first one stays */
    {"niLiiLi", "1!2!", "n12i", REPORT_END_WHOLE}, /* so does what another library does */
    {"kiLi", "1!", "k1i", REPORT_END_WHOLE},
    {"iLiLiLi", "1!!!", "1i", REPORT_END_WHOLE}, /* it calls itself for that function */
    {"iLLi", "1!", "1i", REPORT_END_WHOLE},      /* just called: it has no frame of its own yet */
    {"ii", "12!", "12", REPORT_END_POINTERS},
    {"iinL", "1!", "n1", REPORT_END_POINTERS},
    {"i", "", "i", REPORT_END_POINTERS}, /* nothing was interpreted */
};

TEST(what_the_interpreter_does_is_the_functions_that_it_interprets)
{
	static const struct profile_mapping own = {.start = OWN, .end = OWN_END};
	static struct trace_interpreted interpreted;
	char shown[REPORT_MAX_DEPTH + 1];

	for (size_t i = 0; i < NR(own_cases); i++) {
		make_native(own_cases[i].native, own_cases[i].end);
		make_interpreted(own_cases[i].frames, &interpreted);
		report_stack_merge(processes, &interpreted, &own, true, &stack);
		show(shown);
		assert_string_equal(shown, own_cases[i].merged);
	}
}
