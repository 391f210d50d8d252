/*
 * Which functions are compared by name: objects with and without names, of the same bytes and of
 * others, on any number of sides; the kernel; what was merged; no memory.
 */
#include "kit.h"
#include "test_report.h"

#include "report/comparable.h"

struct fact {
	const char *name, *id;
	unsigned names;
};

/* What is added, and what functions of "app" become: one with a name, and one without. */
static const struct {
	struct fact facts[4];
	const char *named, *nameless;
	enum report_comparable_why why;
} cases[] = {
    {{{"app", "1", 2}, {"app", "1", 2}}, "f", "g", REPORT_COMPARABLE},
    {{{"app", "1", 2}}, "f", "g", REPORT_COMPARABLE},
    {{{"app", "1", 0}}, "f", "g", REPORT_COMPARABLE},
    {{{"app", "1", 2}, {"lib", "2", 0}}, "f", "g", REPORT_COMPARABLE},
    /* the program was built anew: names as before, addresses not */
    {{{"app", "1", 2}, {"app", "2", 2}}, "f", "[unknown] (app)", REPORT_COMPARABLE},
    {{{"app", "1", 2}, {"app", "12", 2}}, "f", "[unknown] (app)", REPORT_COMPARABLE},
    {{{"app", "", 2}, {"app", "", 2}}, "f", "[unknown] (app)", REPORT_COMPARABLE},
    /* and the old one is gone */
    {{{"app", "1", 0}, {"app", "2", 2}}, "[all of app]", "[all of app]", REPORT_NAMES_DIFFER},
    {{{"app", "1", 2}, {"app", "2", 0}}, "[all of app]", "[all of app]", REPORT_NAMES_DIFFER},
    {{{"app", "1", 1}, {"app", "1", 2}}, "[all of app]", "[all of app]", REPORT_NAMES_DIFFER},
    {{{"app", "1", 2}, {"lib", "1", 1}, {"app", "1", 2}, {"app", "2", 0}},
     "[all of app]",
     "[all of app]",
     REPORT_NAMES_DIFFER},
    /* stripped: addresses are those of the same bytes, or mean nothing */
    {{{"app", "1", 0}, {"app", "1", 0}}, "f", "g", REPORT_COMPARABLE},
    {{{"app", "1", 0}, {"app", "2", 0}}, "[all of app]", "[all of app]", REPORT_BYTES_DIFFER},
    {{{"app", "", 0}, {"app", "", 0}}, "[all of app]", "[all of app]", REPORT_BYTES_DIFFER},
};

static int add(struct report_comparable *c, const struct fact *facts, size_t nr)
{
	int rc = 0;

	for (size_t i = 0; i < nr && facts[i].name && rc == 0; i++)
		rc = report_comparable_add(
		    c, &(struct report_object_facts){facts[i].name, facts[i].id,
						     strlen(facts[i].id), facts[i].names});
	return rc;
}

static const struct report_function *make(struct report_functions *f, const char *name,
					  const char *object, bool is_known, bool is_kernel)
{
	const struct symbol_function s = {.name = name,
					  .linkage_name = name,
					  .object = object,
					  .is_known = is_known,
					  .is_kernel = is_kernel};

	return report_functions_get(f, &s);
}

TEST(by_case)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct report_functions *f = report_functions_new(&test_no_rules);
		struct report_comparable *c = report_comparable_new(f);
		const struct report_function *named = make(f, "f", "app", true, false),
					     *nameless = make(f, "g", "app", false, false),
					     *other = make(f, "f", "other", false, false), *got;

		assert_int_equal(add(c, cases[i].facts, 4), 0);
		assert_int_equal(report_comparable_why(c, 0), cases[i].why);
		assert_string_equal(report_comparable_name(c, 0), "app");
		assert_int_equal(report_comparable_nr_whole(c), cases[i].why != REPORT_COMPARABLE);
		got = report_comparable_function(c, named);
		assert_string_equal(got->name, cases[i].named);
		assert_string_equal(got->object, "app");
		got = report_comparable_function(c, nameless);
		assert_string_equal(got->name, cases[i].nameless);
		assert_ptr_equal(report_comparable_function(c, nameless), got);
		assert_ptr_equal(report_comparable_function(c, other), other);
		report_comparable_free(c);
		report_functions_free(f);
	}
}

/* Modules have objects of their own, but names only together. */
TEST(the_kernel)
{
	static const struct fact facts[] = {{"[kernel]", "k", 0}, {"[kernel]", "k", 1}};
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_comparable *c = report_comparable_new(f);
	const struct report_function *module = make(f, "tcp", "[tcp]", true, true), *got;

	assert_ptr_equal(report_comparable_function(c, module), module);
	assert_int_equal(add(c, facts, 2), 0);
	got = report_comparable_function(c, module);
	assert_string_equal(got->name, "[all of [kernel]]");
	assert_string_equal(got->object, "[kernel]");
	report_comparable_free(c);
	report_functions_free(f);
}

/* A function whose name was merged is still one of its object, unless it is of several. */
TEST(merged)
{
	static const struct fact facts[] = {{"app", "1", 0}, {"app", "2", 2}};
	struct report_rules rules = {.nr_merge = 0};
	struct err e = {0};
	struct report_functions *f;
	struct report_comparable *c;
	struct report_frame frames[2];

	assert_int_equal(report_rules_add_merge(&rules, "s/^(both)_.*/\\1/", &e), 0);
	f = report_functions_new(&rules);
	c = report_comparable_new(f);
	frames[0] = (struct report_frame){.function = make(f, "both_a", "app", true, false)};
	frames[1] = (struct report_frame){.function = make(f, "both_b", "lib", true, false)};
	report_functions_merge(frames, 2);
	assert_string_equal(frames[0].function->name, "both");
	assert_int_equal(add(c, facts, 2), 0);
	assert_string_equal(report_comparable_function(c, frames[0].function)->name,
			    "[all of app]");
	assert_ptr_equal(report_comparable_function(c, frames[1].function), frames[1].function);
	report_comparable_free(c);
	report_functions_free(f);
	report_rules_fini(&rules);
}

static int use(void *arg)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_comparable *c = f ? report_comparable_new(f) : NULL;
	const struct report_function *fn = f ? make(f, "f", "app", true, false) : NULL;
	int rc = c && fn ? add(c, arg, 4) : -ENOMEM;

	if (rc == 0 && !report_comparable_function(c, fn))
		rc = -ENOMEM;
	report_comparable_free(c);
	report_functions_free(f);
	return rc;
}

TEST(everything_fails_once)
{
	struct fact facts[4];

	memcpy(facts, cases[10].facts, sizeof(facts));
	inject_every(use, facts, 5, 0);
}
