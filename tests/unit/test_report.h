/*
 * What the tests of reports share: functions by letters, entries by short texts, and chance that is
 * the same in each run. Only for tests.
 */
#ifndef TEST_REPORT_H
#define TEST_REPORT_H

#include "kit.h"

#include "report/functions.h"
#include "report/rules.h"
#include "symbol/symbols.h"

enum { TEST_MAX_FRAMES = 32 };

static const struct report_rules test_no_rules;

static inline const struct report_function *test_function_of(struct report_functions *f,
							     const char *name, const char *object)
{
	const struct symbol_function s = {
	    .name = name, .linkage_name = name, .object = object, .is_known = true};

	return report_functions_get(f, &s);
}

/* The function of a letter. */
static inline const struct report_function *test_letter(struct report_functions *f, char c)
{
	const char name[] = {c, '\0'};

	return test_function_of(f, name, "prog");
}

/* Frames from "cba": the sampled function first. How many, or 0 without memory. */
static inline size_t test_frames(struct report_functions *f, const char *letters,
				 struct report_frame *out)
{
	size_t nr = strlen(letters);

	for (size_t i = 0; i < nr; i++) {
		out[i] = (struct report_frame){.function = test_letter(f, letters[i])};
		if (!out[i].function)
			return 0;
	}
	return nr;
}

/* samples of 10 each. */
static inline int test_give(const struct report_sink *sink, struct report_functions *f,
			    const struct report_key *key, const char *letters, uint64_t samples)
{
	struct report_frame frames[TEST_MAX_FRAMES];
	const struct report_entry e = {
	    .key = *key,
	    .weight = {samples, 10 * samples, samples, 100.0 * (double)samples},
	    .frames = frames,
	    .nr_frames = test_frames(f, letters, frames)};

	return e.nr_frames ? sink->entry(sink->arg, &e) : -ENOMEM;
}

static inline uint32_t test_random(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*state >> 33) % below);
}

/* A stack of letters, the sampled one first: few letters, so that it recurs. */
static inline void test_random_stack(uint64_t *state, char letters[TEST_MAX_FRAMES])
{
	size_t nr = 1 + test_random(state, 9);

	for (size_t i = 0; i < nr; i++)
		letters[i] = (char)('a' + test_random(state, 1 + test_random(state, 8)));
	letters[nr] = '\0';
}

#endif
