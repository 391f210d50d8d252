#include "kit.h"

static struct kit_test *first, **last = &first;

__attribute__((weak)) void before_all(void)
{
}

__attribute__((weak)) void after_all(void)
{
}

__attribute__((weak)) void before_each(void)
{
}

__attribute__((weak)) void after_each(void)
{
}

void kit_add(struct kit_test *test)
{
	*last = test;
	last = &test->next;
}

static void run_one(void **state)
{
	const struct kit_test *test = *state;

	test->body();
}

static int run_before_each(void **state)
{
	(void)state;
	before_each();
	return 0;
}

static int run_after_each(void **state)
{
	(void)state;
	after_each();
	return 0;
}

static int run_before_all(void **state)
{
	(void)state;
	before_all();
	return 0;
}

static int run_after_all(void **state)
{
	(void)state;
	after_all();
	return 0;
}

int kit_run(void)
{
	struct CMUnitTest *tests;
	size_t nr = 0;
	int rc;

	for (struct kit_test *t = first; t; t = t->next)
		nr++;
	if (!nr) {
		puts("skip: no test of this file is for this machine");
		return 77;
	}
	tests = calloc(nr, sizeof(*tests));
	if (!tests)
		return 1;
	nr = 0;
	for (struct kit_test *t = first; t; t = t->next)
		tests[nr++] =
		    (struct CMUnitTest){t->name, run_one, run_before_each, run_after_each, t};
	rc = _cmocka_run_group_tests("tests", tests, nr, run_before_all, run_after_all);
	free(tests);
	return rc;
}
