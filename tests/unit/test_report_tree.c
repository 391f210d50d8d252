/*
 * The call tree, upright and inverted: shape, order, and sums against those made one by one.
 */
#include "kit.h"
#include "test_report.h"

#include "report/tree.h"

enum { NR_COLLIDING = 400000, NR_ENTRIES = 2000, MAX_TEXT = 4096 };

static struct report_tree *tree_of(bool is_inverted, unsigned parts)
{
	struct report_tree *t = report_tree_new(is_inverted, parts);

	assert_non_null(t);
	return t;
}

static void give(struct report_tree *t, struct report_functions *f, struct report_key key,
		 const char *letters, uint64_t samples)
{
	assert_int_equal(test_give(report_tree_sink(t), f, &key, letters, samples), 0);
}

/* "a 1/3(b 2/2 )": self/total in samples. */
static void write_list(const struct report_tree *t, uint32_t at, char text[MAX_TEXT])
{
	for (; at != REPORT_NO_NODE; at = report_tree_node(t, at)->next) {
		const struct report_node *n = report_tree_node(t, at);
		size_t len = strlen(text);

		assert_int_equal(n->total.weight, 10 * n->total.samples);
		snprintf(text + len, MAX_TEXT - len, "%s %d/%d%s",
			 n->function ? n->function->name : "*", (int)n->self.samples,
			 (int)n->total.samples, n->first_child == REPORT_NO_NODE ? " " : "(");
		if (n->first_child == REPORT_NO_NODE)
			continue;
		write_list(t, n->first_child, text);
		strcat(text, ")");
	}
}

static void assert_tree(const struct report_tree *t, const char *want)
{
	char text[MAX_TEXT] = "";

	write_list(t, report_tree_root(t), text);
	assert_string_equal(text, want);
}

static void give_some(struct report_tree *t, struct report_functions *f)
{
	give(t, f, (struct report_key){0}, "cba", 1);
	give(t, f, (struct report_key){0}, "ba", 2);
	give(t, f, (struct report_key){0}, "aaa", 4);
	give(t, f, (struct report_key){0}, "cba", 8);
	give(t, f, (struct report_key){0}, "bx", 16);
}

TEST(upright)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_tree *t = tree_of(false, 0);

	assert_int_equal(report_tree_sink(t)->parts, REPORT_BY_STACK);
	assert_int_equal(report_tree_root(t), REPORT_NO_NODE);
	give_some(t, f);
	assert_int_equal(report_tree_finish(t), 0);
	assert_tree(t, "* 0/31(x 0/16(b 16/16 )a 0/15(b 2/11(c 9/9 )a 0/4(a 4/4 )))");
	assert_int_equal(report_tree_nr(t), 8);
	report_tree_free(t);
	report_tree_free(NULL);
	report_functions_free(f);
}

TEST(inverted)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_tree *t = tree_of(true, 0);

	give_some(t, f);
	assert_int_equal(report_tree_finish(t), 0);
	assert_tree(t, "* 0/31(b 0/18(x 16/16 a 2/2 )c 0/9(b 0/9(a 9/9 ))a 0/4(a 0/4(a 4/4 )))");
	report_tree_free(t);
	report_functions_free(f);
}

/* Equal ones by name, however they came; many of them. */
TEST(order)
{
	static const char letters[] = "qwertyuiopasdfghjklzxcvbnm";
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_tree *t = tree_of(false, 0);
	char want[MAX_TEXT] = "* 0/26(";

	for (const char *p = letters; *p; p++)
		give(t, f, (struct report_key){0}, (char[]){*p, '\0'}, 1);
	assert_int_equal(report_tree_finish(t), 0);
	for (int c = 'a'; c <= 'z'; c++)
		snprintf(want + strlen(want), MAX_TEXT - strlen(want), "%c 1/1 ", c);
	strcat(want, ")");
	assert_tree(t, want);
	report_tree_free(t);
	report_functions_free(f);
}

/* A root of each event, and of each session, in their order. */
TEST(roots)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_tree *t = tree_of(false, REPORT_BY_SESSION);
	uint32_t at;

	assert_int_equal(report_tree_sink(t)->parts, REPORT_BY_STACK | REPORT_BY_SESSION);
	give(t, f, (struct report_key){.event = 2}, "a", 9);
	give(t, f, (struct report_key){.event = 0, .session = 1}, "a", 1);
	give(t, f, (struct report_key){.event = 1}, "a", 3);
	give(t, f, (struct report_key){.event = 2}, "a", 1);
	assert_int_equal(report_tree_finish(t), 0);
	assert_tree(t, "* 0/3(a 3/3 )* 0/10(a 10/10 )* 0/1(a 1/1 )");
	at = report_tree_root(t);
	assert_int_equal(report_tree_node(t, at)->event, 1);
	at = report_tree_node(t, report_tree_node(t, at)->next)->next;
	assert_int_equal(report_tree_node(t, at)->session, 1);
	assert_int_equal(report_tree_node(t, report_tree_node(t, at)->first_child)->parent, at);
	report_tree_free(t);
	report_functions_free(f);
}

TEST(same_name)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	const struct report_frame frames[] = {{test_function_of(f, "f", "y"), NULL, 0},
					      {test_function_of(f, "f", "x"), NULL, 0}};
	struct report_tree *t = tree_of(false, 0);
	uint32_t first;

	for (size_t i = 0; i < 2; i++) {
		const struct report_entry e = {
		    .weight = {1, 10, 100}, .frames = &frames[i], .nr_frames = 1};

		assert_int_equal(report_tree_sink(t)->entry(report_tree_sink(t)->arg, &e), 0);
	}
	assert_int_equal(report_tree_finish(t), 0);
	first = report_tree_node(t, report_tree_root(t))->first_child;
	assert_ptr_equal(report_tree_node(t, first)->function, frames[1].function);
	report_tree_free(t);
	report_functions_free(f);
}

/* What was given, to be summed one by one. */
struct given {
	char letters[NR_ENTRIES][TEST_MAX_FRAMES];
	uint64_t samples[NR_ENTRIES];
	uint32_t event[NR_ENTRIES];
};

/* The way from the root down to a node, outermost first (or, inverted, the sampled one). */
static void way_to(const struct report_tree *t, uint32_t at, char way[TEST_MAX_FRAMES])
{
	char back[TEST_MAX_FRAMES];
	size_t nr = 0;

	for (; report_tree_node(t, at)->function; at = report_tree_node(t, at)->parent)
		back[nr++] = report_tree_node(t, at)->function->name[0];
	for (size_t i = 0; i < nr; i++)
		way[i] = back[nr - 1 - i];
	way[nr] = '\0';
}

static bool begins(const char *letters, const char *way, bool is_inverted)
{
	size_t nr = strlen(letters), len = strlen(way);

	if (len > nr)
		return false;
	for (size_t i = 0; i < len; i++)
		if (way[i] != letters[is_inverted ? i : nr - 1 - i])
			return false;
	return true;
}

static void check_node(const struct report_tree *t, uint32_t at, const struct given *g,
		       bool is_inverted)
{
	const struct report_node *n = report_tree_node(t, at);
	uint64_t total = 0, self = 0, children = 0;
	char way[TEST_MAX_FRAMES];

	way_to(t, at, way);
	for (size_t i = 0; i < NR_ENTRIES; i++) {
		if (g->event[i] != n->event || !begins(g->letters[i], way, is_inverted))
			continue;
		total += g->samples[i];
		self += strlen(way) == strlen(g->letters[i]) ? g->samples[i] : 0;
	}
	assert_int_equal(n->total.samples, total);
	assert_int_equal(n->self.samples, self);
	for (uint32_t c = n->first_child; c != REPORT_NO_NODE; c = report_tree_node(t, c)->next) {
		const struct report_node *child = report_tree_node(t, c);

		children += child->total.weight;
		assert_int_equal(child->parent, at);
		if (child->next != REPORT_NO_NODE)
			assert_true(child->total.weight >=
				    report_tree_node(t, child->next)->total.weight);
	}
	assert_int_equal(n->total.weight, n->self.weight + children);
}

TEST(as_one_by_one)
{
	static struct given g;

	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct report_functions *f = report_functions_new(&test_no_rules);
		struct report_tree *t = tree_of(seed % 2, 0);
		uint64_t random = seed;

		for (int i = 0; i < NR_ENTRIES; i++) {
			g.event[i] = test_random(&random, 2);
			g.samples[i] = test_random(&random, 5);
			test_random_stack(&random, g.letters[i]);
			give(t, f, (struct report_key){.event = g.event[i]}, g.letters[i],
			     g.samples[i]);
		}
		assert_int_equal(report_tree_finish(t), 0);
		for (uint32_t at = 0; at < report_tree_nr(t); at++)
			check_node(t, at, &g, seed % 2);
		report_tree_free(t);
		report_functions_free(f);
	}
}

/* So many callers of one function that some of its nodes have the same hash. */
TEST(same_hashes)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_tree *t = tree_of(false, 0);

	for (uint32_t i = 0; i < NR_COLLIDING; i++) {
		char name[16];
		struct report_frame frames[2] = {{test_letter(f, 'a'), NULL, 0}};
		const struct report_entry e = {
		    .weight = {1, 1, 1}, .frames = frames, .nr_frames = 2};

		snprintf(name, sizeof(name), "%u", i);
		frames[1].function = test_function_of(f, name, "x");
		assert_int_equal(report_tree_sink(t)->entry(report_tree_sink(t)->arg, &e), 0);
	}
	assert_int_equal(report_tree_nr(t), 1 + 2 * NR_COLLIDING);
	report_tree_free(t);
	report_functions_free(f);
}

TEST(no_memory)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	unsigned n = 0;

	assert_int_equal(test_frames(f, "abcdefgh", (struct report_frame[8]){{0}}), 8);
	do {
		struct report_tree *t;
		uint64_t random = 3;
		int rc;

		inject_mem(++n);
		t = report_tree_new(false, 0);
		rc = t ? 0 : -ENOMEM;
		for (int i = 0; i < 300 && rc == 0; i++) {
			char letters[TEST_MAX_FRAMES];

			test_random_stack(&random, letters);
			rc = test_give(report_tree_sink(t), f, &(struct report_key){0}, letters, 1);
		}
		if (rc == 0)
			rc = report_tree_finish(t);
		report_tree_free(t);
		inject_stop();
		assert_int_equal(inject.nr_live, 0);
		assert_true(rc == (inject.fired ? -ENOMEM : 0));
	} while (inject.fired);
	assert_true(n > 6);
	report_functions_free(f);
}
