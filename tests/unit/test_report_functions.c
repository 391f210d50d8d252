/*
 * Functions as they are reported: each once, by the rules of the user; stacks shaped; many threads;
 * no memory.
 */
#include "kit.h"
#include "test_report.h"

#include <pthread.h>

enum { NR_MANY = 100000, NR_COLLIDING = 400000, NR_THREADS = 4, NR_SHARED = 2000 };

TEST(each_once)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	const struct report_function *a = test_function_of(f, "a", "x");
	const struct report_function *b = test_function_of(f, "a", "y");
	const struct report_function *n = report_functions_named(f, "[hidden]", "");
	char text[] = "a";

	assert_ptr_equal(test_function_of(f, text, "x"), a);
	text[0] = 'z'; /* names are ours */
	assert_string_equal(a->name, "a");
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(report_functions_named(f, "a", "y"), b);
	assert_ptr_equal(report_functions_named(f, "[hidden]", ""), n);
	assert_int_equal(report_functions_nr(f), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(report_functions_at(f, i)->number, i);
	assert_ptr_equal(report_functions_at(f, b->number), b);
	assert_string_equal(report_functions_text(f, b->object_number), "y");
	assert_true(a->is_known && a->is_wanted && !a->is_hidden);
	/* texts are those of objects too */
	assert_int_equal(report_functions_text_number(f, "y"), b->object_number);
	assert_int_not_equal(report_functions_text_number(f, "Y"), b->object_number);
	assert_string_equal(report_functions_text(f, report_functions_text_number(f, "Y")), "Y");
	report_functions_free(f);
	report_functions_free(NULL);
}

static const struct report_function *linked(struct report_functions *f, const char *name,
					    const char *linkage_name)
{
	const struct symbol_function s = {
	    .name = name, .linkage_name = linkage_name, .object = "x", .is_known = true};

	return report_functions_get(f, &s);
}

/* The first symbol's, as long as there are functions; of what is merged there is none. */
TEST(linkage_names)
{
	struct report_frame frame = {0};
	struct report_rules rules = {0};
	struct report_functions *f = report_functions_new(&test_no_rules);
	char text[] = "_Z1av";
	const struct report_function *a = linked(f, "a()", text);
	struct err e = {0};

	text[2] = '?';
	assert_string_equal(a->linkage_name, "_Z1av");
	assert_ptr_equal(linked(f, "a()", "_Z1bv"), a);
	assert_string_equal(a->linkage_name, "_Z1av");
	assert_ptr_equal(linked(f, "b", "b")->linkage_name, linked(f, "b", "b")->name);
	assert_string_equal(report_functions_named(f, "[hidden]", "")->linkage_name, "[hidden]");
	report_functions_free(f);

	assert_int_equal(report_rules_add_merge(&rules, "s/^a.*/all/", &e), 0);
	f = report_functions_new(&rules);
	frame.function = linked(f, "a()", "_Z1av");
	report_functions_merge(&frame, 1);
	assert_string_equal(frame.function->linkage_name, "all");
	report_functions_free(f);
	report_rules_fini(&rules);
}

static void add_rule(struct report_rules *r, const char *kind, const char *text)
{
	struct err e = {0};
	int rc = kind[0] == 'm'   ? report_rules_add_merge(r, text, &e)
		 : kind[0] == 's' ? report_rules_add_split(r, text, &e)
		 : kind[0] == 'h' ? report_rules_add_hide(r, text, &e)
				  : report_rules_add_only(r, text, &e);

	if (rc)
		fail_msg("%s: %s", text, e.msg);
}

/* Stacks by letters, the sampled one first; what comes out: names, parted by blanks. */
static const struct {
	const char *rules[8]; /* merge, split, hide, only and their texts by turns */
	const char *stack, *want;
} shapes[] = {
    {{NULL}, "cba", "c b a"},
    {{NULL}, "aaa", "a a a"},
    {{"hide", "b"}, "cba", "c a"},
    {{"hide", "[bc]"}, "cba", "a"}, /* what it took is its caller's */
    {{"hide", "."}, "cba", "[hidden]"},
    {{"hide", "b"}, "cbabc", "c a c"},
    {{"only", "b"}, "cba", "c b a"},
    {{"only", "b"}, "ca", ""},
    {{"only", "b", "only", "c"}, "ca", "c a"},
    {{"only", "b", "hide", "b"}, "cba", "c a"}, /* hidden, but there */
    {{"hide", ".", "only", "c"}, "ba", ""},
    {{"split", "a>b/B"}, "cba", "c B a"},
    {{"split", "a>b/B"}, "cb", "c b"},
    {{"split", "a>b/B"}, "bca", "b c a"},                   /* not called by it */
    {{"split", "a>b/B", "split", "b>c/C"}, "cba", "C B a"}, /* each by what it was */
    {{"split", "a>b/B", "split", "B>c/C"}, "cba", "c B a"},
    {{"split", "a>b/1", "split", "a>b/2"}, "ba", "1 a"}, /* the first */
    {{"split", "x>b/1", "split", "a>b/2"}, "ba", "2 a"},
    {{"split", "a>a/A"}, "aaa", "A A a"},
    {{"split", "a>b/B", "hide", "c"}, "bca", "B a"}, /* hidden first */
    {{"merge", "s/[bc]/M/"}, "cba", "M a"},
    {{"merge", "s/[bc]/M/"}, "cab", "M a M"},
    {{"merge", "s/[bc]/M/"}, "ccbbaa", "M a a"}, /* true recursion stays */
    {{"merge", "s/b/a/"}, "aab", "a a"},         /* true recursion stays */
    {{"merge", "s/b/a/"}, "aca", "a c a"},
    {{"merge", "s/b/a/"}, "aac", "a a c"},
    {{"merge", "s/a/b/", "merge", "s/b/c/"}, "cxbxa", "c x c x b"}, /* each by one rule */
    {{"merge", "s/[bc]/M/", "hide", "a"}, "cab", "M"},
    {{"merge", "s/[bc]/M/", "hide", "M"}, "cab", "a"}, /* rules see the new name */
    {{"merge", "s/[bc]/M/", "only", "b"}, "cab", ""},
    {{"merge", "s/b/X/", "split", "a>X/Y"}, "cba", "c Y a"},
};

TEST(shape)
{
	for (size_t i = 0; i < NR(shapes); i++) {
		struct report_frame frames[TEST_MAX_FRAMES];
		struct report_rules rules = {0};
		struct report_functions *f;
		char got[256] = "";
		size_t nr;

		for (size_t k = 0; k < 8 && shapes[i].rules[k]; k += 2)
			add_rule(&rules, shapes[i].rules[k], shapes[i].rules[k + 1]);
		f = report_functions_new(&rules);
		nr = test_frames(f, shapes[i].stack, frames);
		assert_int_equal(report_functions_shape(f, frames, &nr), 0);
		for (size_t k = 0; k < nr; k++) {
			strcat(got, k ? " " : "");
			strcat(got, frames[k].function->name);
		}
		if (strcmp(got, shapes[i].want) != 0)
			fail_msg("%s %s: \"%s\" became \"%s\"", shapes[i].rules[0],
				 shapes[i].rules[1], shapes[i].stack, got);
		report_functions_free(f);
		report_rules_fini(&rules);
	}
}

TEST(merged_functions)
{
	struct report_rules rules = {0};
	struct report_functions *f;

	add_rule(&rules, "merge", "s/^(work)_.*/\\1/");
	add_rule(&rules, "merge", "s/^work$/other/"); /* not of what the first rule made */
	/* whichever comes first, and by itself or by the rule */
	for (int order = 0; order < 2; order++) {
		const struct report_function *work;
		struct report_frame frames[4];

		f = report_functions_new(&rules);
		work = order ? test_function_of(f, "work", "x") : NULL;
		frames[0] = (struct report_frame){.function = test_function_of(f, "work_a", "x")};
		frames[1] = (struct report_frame){.function = test_function_of(f, "work_b", "x")};
		frames[2] = (struct report_frame){.function = test_function_of(f, "work_b", "y")};
		frames[3] = (struct report_frame){.function = test_function_of(f, "work", "x")};
		report_functions_merge(frames, 4);
		report_functions_merge(frames, 4);
		assert_string_equal(frames[0].function->name, "work");
		assert_string_equal(frames[0].function->object, "x");
		assert_ptr_equal(frames[1].function, frames[0].function);
		assert_ptr_equal(test_function_of(f, "work", "x"), frames[0].function);
		assert_true(!work || work == frames[0].function);
		assert_string_equal(frames[2].function->object, "y");
		assert_string_equal(frames[3].function->name, "other");
		report_functions_free(f);
	}
	report_rules_fini(&rules);
}

TEST(merged_objects)
{
	const struct report_rules rules = {.merge_object = true};
	struct report_functions *f = report_functions_new(&rules);
	struct report_frame frames[] = {{test_function_of(f, "a", "libx"), NULL, 0},
					{test_function_of(f, "b", "libx"), NULL, 0},
					{test_function_of(f, "c", "prog"), NULL, 0},
					{test_function_of(f, "d", "libx"), NULL, 0}};
	size_t nr = 4;

	assert_int_equal(report_functions_shape(f, frames, &nr), 0);
	assert_int_equal(nr, 3);
	assert_string_equal(frames[0].function->name, "libx");
	assert_string_equal(frames[0].function->object, "libx");
	assert_string_equal(frames[1].function->name, "prog");
	assert_ptr_equal(frames[2].function, frames[0].function);
	report_functions_free(f);
}

/* A name that a split gave, and then a function that has it: the same, whichever came first. */
TEST(split_and_function)
{
	for (int order = 0; order < 2; order++) {
		struct report_rules rules = {0};
		struct report_functions *f;
		const struct report_function *b;

		add_rule(&rules, "split", "a>x/b");
		add_rule(&rules, "hide", "^b$");
		add_rule(&rules, "only", "^a$");
		f = report_functions_new(&rules);
		if (order)
			report_functions_named(f, "b", "prog");
		b = test_letter(f, 'b');
		assert_true(b->is_hidden);
		assert_false(b->is_wanted);
		assert_ptr_equal(report_functions_named(f, "b", "prog"), b);
		/* a stack without an address has no such function */
		assert_false(report_functions_named(f, "[no address]", "")->is_wanted);
		report_functions_free(f);
		report_rules_fini(&rules);
	}
}

TEST(many)
{
	static const struct report_function *all[NR_MANY];
	struct report_functions *f = report_functions_new(&test_no_rules);
	char name[32], object[32];

	for (uint32_t i = 0; i < NR_MANY; i++) {
		snprintf(name, sizeof(name), "f%u", i / 3);
		snprintf(object, sizeof(object), "o%u", i % 3);
		all[i] = test_function_of(f, name, object);
		assert_int_equal(all[i]->number, i);
	}
	for (uint32_t i = 0; i < NR_MANY; i++) {
		snprintf(name, sizeof(name), "f%u", i / 3);
		snprintf(object, sizeof(object), "o%u", i % 3);
		assert_ptr_equal(test_function_of(f, name, object), all[i]);
		assert_ptr_equal(report_functions_at(f, i), all[i]);
		assert_string_equal(all[i]->name, name);
	}
	assert_int_equal(report_functions_nr(f), NR_MANY);
	report_functions_free(f);
}

/* So many objects of one name that some have the same hash: they are told apart all the same. */
TEST(same_hashes)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	char object[32];

	for (uint32_t i = 0; i < NR_COLLIDING; i++) {
		snprintf(object, sizeof(object), "o%u", i);
		assert_int_equal(test_function_of(f, "f", object)->number, i);
	}
	report_functions_free(f);
}

struct asker {
	pthread_t thread;
	struct report_functions *functions;
	unsigned number;
	const struct report_function *got[NR_SHARED];
	uint32_t texts[NR_SHARED];
};

static void *ask(void *arg)
{
	struct asker *a = arg;

	for (unsigned i = 0; i < NR_SHARED; i++) {
		unsigned which = a->number % 2 ? NR_SHARED - 1 - i : i;
		struct report_frame frames[2];
		size_t nr = 2;
		char name[32];

		snprintf(name, sizeof(name), "f%u", which);
		a->got[which] = test_function_of(a->functions, name, "x");
		a->texts[which] = report_functions_text_number(a->functions, name);
		frames[0] = frames[1] = (struct report_frame){.function = a->got[which]};
		if (report_functions_shape(a->functions, frames, &nr) || nr != 2)
			a->got[which] = NULL;
	}
	return NULL;
}

TEST(threads)
{
	static struct asker asker[NR_THREADS];
	struct report_rules rules = {0};
	struct report_functions *f;

	add_rule(&rules, "split", "f.*7$>f.*7$/seven");
	f = report_functions_new(&rules);
	for (unsigned i = 0; i < NR_THREADS; i++) {
		asker[i].functions = f;
		asker[i].number = i;
		assert_int_equal(pthread_create(&asker[i].thread, NULL, ask, &asker[i]), 0);
	}
	for (unsigned i = 0; i < NR_THREADS; i++)
		pthread_join(asker[i].thread, NULL);
	for (unsigned k = 0; k < NR_SHARED; k++)
		for (unsigned i = 0; i < NR_THREADS; i++) {
			assert_non_null(asker[i].got[k]);
			assert_ptr_equal(asker[i].got[k], asker[0].got[k]);
			assert_int_equal(asker[i].texts[k], asker[0].texts[k]);
		}
	assert_int_equal(report_functions_nr(f), NR_SHARED + 1);
	report_functions_free(f);
	report_rules_fini(&rules);
}

static int use(void *arg)
{
	const struct report_rules *rules = arg;
	struct report_functions *f = report_functions_new(rules);
	struct report_frame frames[TEST_MAX_FRAMES];
	size_t nr;
	int rc;

	if (!f)
		return -ENOMEM;
	nr = test_frames(f, "dcba", frames);
	rc = nr ? report_functions_shape(f, frames, &nr) : -ENOMEM;
	if (rc == 0)
		assert_int_equal(nr, 3);
	if (rc == 0) {
		nr = test_frames(f, "hh", frames);
		rc = nr ? report_functions_shape(f, frames, &nr) : -ENOMEM;
	}
	if (rc == 0)
		assert_string_equal(frames[0].function->name, "[hidden]");
	for (char c = 'a'; rc == 0 && c <= 'z'; c++)
		rc = test_letter(f, c) ? 0 : -ENOMEM;
	for (int i = 0; i < 400 && rc == 0; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d", i);
		rc = report_functions_text_number(f, name) == UINT32_MAX ? -ENOMEM : 0;
	}
	/* what could not be had before can be had later */
	inject.countdown = 0;
	assert_non_null(test_letter(f, 'e'));
	assert_ptr_equal(test_letter(f, 'e'), test_letter(f, 'e'));
	report_functions_free(f);
	return rc;
}

TEST(everything_fails_once)
{
	struct report_rules rules = {0};

	add_rule(&rules, "merge", "s/d/D/");
	add_rule(&rules, "split", "b>c/C");
	add_rule(&rules, "hide", "[ah]");
	inject_every(use, &rules, 10, 0);
	report_rules_fini(&rules);
}
