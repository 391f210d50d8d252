#include "kit.h"

static struct kit_test *first, **last = &first, *hooks;
static const char *file; /* whose tests run, without .c */

void kit_add(struct kit_test *test)
{
	*last = test;
	last = &test->next;
}

void kit_add_hook(struct kit_test *hook)
{
	hook->next = hooks;
	hooks = hook;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_chosen(const struct kit_test *test)
{
	const char *name = base_name(test->file);
	size_t len = strlen(file);

	return strncmp(name, file, len) == 0 && strcmp(name + len, ".c") == 0;
}

static void run_hook(const char *name)
{
	for (const struct kit_test *h = hooks; h; h = h->next)
		if (is_chosen(h) && strcmp(h->name, name) == 0)
			h->body();
}

static void run_one(void **state)
{
	const struct kit_test *test = *state;

	test->body();
}

static int run_before_each(void **state)
{
	(void)state;
	run_hook("before_each");
	return 0;
}

static int run_after_each(void **state)
{
	(void)state;
	run_hook("after_each");
	return 0;
}

static int run_before_all(void **state)
{
	(void)state;
	run_hook("before_all");
	return 0;
}

static int run_after_all(void **state)
{
	(void)state;
	run_hook("after_all");
	return 0;
}

int kit_run(const char *program)
{
	struct CMUnitTest *tests;
	size_t nr = 0;
	int rc;

	file = base_name(program);
	for (struct kit_test *t = first; t; t = t->next)
		nr += is_chosen(t);
	if (!nr) {
		puts("skip: no test of this file is for this machine");
		return 77;
	}
	tests = calloc(nr, sizeof(*tests));
	if (!tests)
		return 1;
	nr = 0;
	for (struct kit_test *t = first; t; t = t->next)
		if (is_chosen(t))
			tests[nr++] = (struct CMUnitTest){t->name, run_one, run_before_each,
							  run_after_each, t};
	rc = _cmocka_run_group_tests("tests", tests, nr, run_before_all, run_after_all);
	free(tests);
	return rc;
}
