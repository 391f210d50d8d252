/*
 * Stacks in the order of a walk: against a tree that is made the simple way, and what is small is
 * merged without losing a sample.
 */
#include "kit.h"
#include "test_report.h"

#include "report/outline.h"
#include "report/stacks.h"

enum { MAX_TEXT = 1 << 21 };

struct world {
	struct report_functions *functions;
	struct report_stacks *stacks;
	struct report_slices *slices;
};

static void world_init(struct world *w)
{
	w->functions = report_functions_new(&test_no_rules);
	w->stacks = report_stacks_new();
	w->slices = report_slices_new(1 << 20);
}

static void world_fini(struct world *w)
{
	report_slices_free(w->slices);
	report_stacks_free(w->stacks);
	report_functions_free(w->functions);
}

/* letters: the sampled function first. */
static void add(struct world *w, const char *letters, uint32_t group, uint32_t slice,
		uint64_t samples)
{
	struct report_frame frames[TEST_MAX_FRAMES];
	size_t nr = test_frames(w->functions, letters, frames);
	uint32_t stack;

	assert_int_equal(report_stacks_add(w->stacks, frames, nr, &stack), 0);
	while (samples--)
		assert_int_equal(report_slices_add(w->slices, stack, group, slice, 1, 10, 100), 0);
}

/* "a(0:1x3 b(1:0x2))": a with 3 samples of group 0 in slice 1, which called b with 2. */
static const char *text_of(const struct report_outline *o)
{
	static char text[MAX_TEXT];
	size_t len = 0;
	uint32_t depth = 0;

	for (size_t i = 0; i < o->nr; i++) {
		const struct report_outline_node *n = &o->nodes[i];

		assert_true(n->depth >= 1 && n->depth <= depth + 1);
		for (; depth >= n->depth; depth--)
			text[len++] = ')';
		len += (size_t)snprintf(text + len, MAX_TEXT - len, " %s(",
					n->function ? n->function->name : "*");
		depth = n->depth;
		for (size_t c = n[0].first_count; c < n[1].first_count; c++) {
			const struct report_slice *s = &o->counts[c];

			assert_int_equal(s->weight, 10 * s->samples);
			len += (size_t)snprintf(text + len, MAX_TEXT - len, "%u:%ux%u ", s->group,
						s->slice, (unsigned)s->samples);
		}
	}
	for (; depth; depth--)
		text[len++] = ')';
	text[len] = '\0';
	assert_int_equal(o->nr_counts, o->nr ? o->nodes[o->nr].first_count : 0);
	return text;
}

static void expect(const struct world *w, uint64_t min_samples, size_t nr_merged, const char *text)
{
	struct report_outline o;

	assert_int_equal(report_outline_make(w->stacks, w->slices, min_samples, &o), 0);
	assert_string_equal(text_of(&o), text);
	assert_int_equal(o.nr_merged, nr_merged);
	report_outline_fini(&o);
}

TEST(order)
{
	struct world w;

	world_init(&w);
	expect(&w, 0, 0, "");
	add(&w, "a", 0, 3, 1);
	add(&w, "ba", 1, 2, 2);
	add(&w, "ca", 0, 5, 3);
	add(&w, "ca", 0, 4, 1);
	add(&w, "ca", 1, 1, 1);
	add(&w, "d", 0, 0, 9);
	add(&w, "aca", 0, 0, 1);
	add(&w, "ed", 0, 0, 2);
	add(&w, "fd", 0, 0, 2);
	expect(
	    &w, 0, 0,
	    " d(0:0x9  e(0:0x2 ) f(0:0x2 )) a(0:3x1  c(0:4x1 0:5x3 1:1x1  a(0:0x1 )) b(1:2x2 ))");
	world_fini(&w);
}

TEST(merged)
{
	struct world w;

	world_init(&w);
	add(&w, "a", 0, 0, 5);
	add(&w, "ba", 0, 0, 1);
	add(&w, "cba", 0, 0, 1);
	add(&w, "dcba", 1, 7, 1);
	add(&w, "ea", 0, 0, 1);
	add(&w, "fa", 0, 1, 3);
	add(&w, "g", 0, 2, 2);
	expect(&w, 1, 0, " a(0:0x5  b(0:0x1  c(0:0x1  d(1:7x1 ))) f(0:1x3 ) e(0:0x1 )) g(0:2x2 )");
	expect(&w, 2, 2, " a(0:0x5  b(0:0x1  c(0:0x1  *(1:7x1 ))) f(0:1x3 ) *(0:0x1 )) g(0:2x2 )");
	expect(&w, 3, 4, " a(0:0x5  b(0:0x1  *(0:0x1 1:7x1 )) f(0:1x3 ) *(0:0x1 )) *(0:2x2 )");
	expect(&w, 4, 6, " a(0:0x5  *(0:0x3 0:1x3 1:7x1 )) *(0:2x2 )");
	expect(&w, 100, 7, " *(0:0x8 0:1x3 0:2x2 1:7x1 )");
	world_fini(&w);
}

/* A merged frame is sorted by the sum of what it replaces. */
TEST(merged_order)
{
	struct world w;

	world_init(&w);
	add(&w, "a", 0, 0, 3);
	add(&w, "b", 0, 0, 2);
	add(&w, "c", 0, 0, 2);
	expect(&w, 3, 2, " *(0:0x4 ) a(0:0x3 )");
	world_fini(&w);
}

/* Of random stacks all samples are there, however many are merged; only large frames are. */
TEST(nothing_lost)
{
	uint64_t random = 1;
	struct world w;
	char letters[TEST_MAX_FRAMES];

	world_init(&w);
	for (unsigned i = 0; i < 5000; i++) {
		test_random_stack(&random, letters);
		add(&w, letters, test_random(&random, 4), test_random(&random, 50), 1);
	}
	for (uint64_t min = 0; min < 3000; min = 2 * min + 1) {
		uint64_t of_group[4] = {0}, all = 0;
		struct report_outline o;

		assert_int_equal(report_outline_make(w.stacks, w.slices, min, &o), 0);
		text_of(&o);
		for (size_t i = 0; i < o.nr_counts; i++) {
			all += o.counts[i].samples;
			of_group[o.counts[i].group] += o.counts[i].samples;
		}
		assert_int_equal(all, 5000);
		for (unsigned g = 0; g < 4; g++)
			assert_true(of_group[g] > 1000 && of_group[g] < 1500);
		assert_true((min > 1) == (o.nr_merged > 0));
		report_outline_fini(&o);
	}
	world_fini(&w);
}

TEST(no_memory)
{
	struct world w;
	unsigned n = 0;

	world_init(&w);
	add(&w, "cba", 0, 0, 3);
	add(&w, "da", 0, 0, 1);
	do {
		struct report_outline o = {.nr = 77};
		int rc;

		inject_mem(++n);
		rc = report_outline_make(w.stacks, w.slices, 2, &o);
		assert_int_equal(rc, inject.fired ? -ENOMEM : 0);
		if (rc == 0)
			report_outline_fini(&o);
		else
			assert_int_equal(o.nr, 77);
		inject_stop();
		assert_int_equal(inject.nr_live, 0);
	} while (inject.fired);
	assert_true(n > 4);
	world_fini(&w);
}
