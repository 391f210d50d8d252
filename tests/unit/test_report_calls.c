/*
 * Who called whom, each call once in a stack; and branches. Against sums made one by one.
 */
#include "kit.h"
#include "test_report.h"

#include "report/branches.h"
#include "report/calls.h"

enum { NR_ENTRIES = 2000, NR_LETTERS = 26 };

static void give(struct report_calls *c, struct report_functions *f, uint32_t event,
		 const char *letters, uint64_t samples)
{
	const struct report_key key = {.event = event};

	assert_int_equal(test_give(report_calls_sink(c), f, &key, letters, samples), 0);
}

/* "b 2, c 1": those on the other side. */
static void write_calls(struct report_functions *f, const struct report_call *c, size_t nr,
			bool is_callee, char *text)
{
	*text = '\0';
	for (size_t i = 0; i < nr; i++) {
		uint32_t other = is_callee ? c[i].callee : c[i].caller;

		assert_int_equal(c[i].weight.weight, 10 * c[i].weight.samples);
		sprintf(text + strlen(text), "%s%s %d", i ? ", " : "",
			report_functions_at(f, other)->name, (int)c[i].weight.samples);
	}
}

static void assert_calls(struct report_calls *c, struct report_functions *f, uint32_t event,
			 char letter, const char *callers, const char *callees)
{
	uint32_t number = test_letter(f, letter)->number;
	char text[512];
	size_t nr;
	const struct report_call *call = report_calls_to(c, event, number, &nr);

	write_calls(f, call, nr, false, text);
	assert_string_equal(text, callers);
	call = report_calls_from(c, event, number, &nr);
	write_calls(f, call, nr, true, text);
	assert_string_equal(text, callees);
}

TEST(table)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_calls *c = report_calls_new(f);
	const struct report_flat_row *rows;
	static const char want[] = "abdcd";
	size_t nr;

	assert_int_equal(report_calls_sink(c)->parts, REPORT_BY_STACK);
	give(c, f, 0, "cba", 1);
	give(c, f, 0, "ba", 2);
	give(c, f, 0, "aaaa", 4); /* a calls itself: once */
	give(c, f, 0, "baba", 8); /* a to b and b to a, each once */
	give(c, f, 0, "da", 2);
	give(c, f, 0, "d", 16);
	give(c, f, 1, "da", 32);
	assert_int_equal(report_calls_finish(c), 0);
	assert_calls(c, f, 0, 'a', "b 8, a 4", "b 11, a 4, d 2");
	assert_calls(c, f, 0, 'b', "a 11", "a 8, c 1");
	assert_calls(c, f, 0, 'c', "b 1", "");
	assert_calls(c, f, 0, 'd', "a 2", "");
	assert_calls(c, f, 1, 'a', "", "d 32");
	assert_calls(c, f, 1, 'd', "a 32", "");
	assert_calls(c, f, 1, 'b', "", "");
	assert_calls(c, f, 2, 'a', "", "");
	assert_calls(c, f, 0, 'x', "", ""); /* made after the report */
	/* by event, total, self */
	rows = report_calls_rows(c, &nr);
	assert_int_equal(nr, 6);
	assert_string_equal(report_functions_at(f, rows[0].column[REPORT_FUNCTION])->name, "d");
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(
		    report_functions_at(f, rows[i + 1].column[REPORT_FUNCTION])->name[0],
		    want[i] == 'd' ? 'c' : want[i]);
	assert_int_equal(rows[0].total.samples, 18);
	assert_int_equal(rows[1].total.samples, 17);
	assert_int_equal(rows[1].self.samples, 4);
	/* of event 1 both have all, d has it itself */
	assert_int_equal(rows[4].column[REPORT_EVENT], 1);
	assert_string_equal(report_functions_at(f, rows[4].column[REPORT_FUNCTION])->name, "d");
	report_calls_free(c);
	report_calls_free(NULL);
	report_functions_free(f);
}

/* Equal ones by name, as they did not come. */
TEST(order)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_calls *c = report_calls_new(f);

	give(c, f, 0, "zmz", 1);
	give(c, f, 0, "ymy", 1);
	give(c, f, 0, "xmx", 1);
	assert_int_equal(report_calls_finish(c), 0);
	assert_calls(c, f, 0, 'm', "x 1, y 1, z 1", "x 1, y 1, z 1");
	report_calls_free(c);
	report_functions_free(f);
}

TEST(nothing)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_calls *c = report_calls_new(f);
	size_t nr;

	assert_int_equal(report_calls_finish(c), 0);
	assert_non_null(report_calls_rows(c, &nr));
	assert_int_equal(nr, 0);
	report_calls_from(c, 0, 0, &nr);
	assert_int_equal(nr, 0);
	report_calls_free(c);
	report_functions_free(f);
}

TEST(as_one_by_one)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		static uint64_t sum[2][NR_LETTERS][NR_LETTERS];
		struct report_functions *f = report_functions_new(&test_no_rules);
		struct report_calls *c = report_calls_new(f);
		uint64_t random = seed;
		size_t nr;

		memset(sum, 0, sizeof(sum));
		for (int i = 0; i < NR_ENTRIES; i++) {
			bool seen[NR_LETTERS][NR_LETTERS] = {{false}};
			uint64_t n = test_random(&random, 5);
			uint32_t event = test_random(&random, 2);
			char l[TEST_MAX_FRAMES];

			test_random_stack(&random, l);
			give(c, f, event, l, n);
			for (size_t k = 0; l[k] && l[k + 1]; k++) {
				bool *is_seen = &seen[l[k + 1] - 'a'][l[k] - 'a'];

				sum[event][l[k + 1] - 'a'][l[k] - 'a'] += *is_seen ? 0 : n;
				*is_seen = true;
			}
		}
		assert_int_equal(report_calls_finish(c), 0);
		for (uint32_t event = 0; event < 2; event++)
			for (int a = 'a'; a <= 'h'; a++) {
				uint32_t number = test_letter(f, (char)a)->number;
				const struct report_call *call =
				    report_calls_from(c, event, number, &nr);

				for (size_t i = 0; i < nr; i++) {
					char b = report_functions_at(f, call[i].callee)->name[0];
					uint64_t *left = &sum[event][a - 'a'][b - 'a'];

					assert_int_equal(call[i].weight.samples, *left);
					*left = 0;
				}
			}
		for (size_t i = 0; i < sizeof(sum) / sizeof(uint64_t); i++)
			assert_int_equal(((uint64_t *)sum)[i], 0);
		report_calls_free(c);
		report_functions_free(f);
	}
}

TEST(no_memory)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	unsigned n = 0;

	assert_int_equal(test_frames(f, "abcdefgh", (struct report_frame[8]){{0}}), 8);
	do {
		struct report_calls *c;
		uint64_t random = 3;
		int rc;

		inject_mem(++n);
		c = report_calls_new(f);
		rc = c ? 0 : -ENOMEM;
		for (int i = 0; i < 300 && rc == 0; i++) {
			char letters[TEST_MAX_FRAMES];

			test_random_stack(&random, letters);
			rc =
			    test_give(report_calls_sink(c), f, &(struct report_key){0}, letters, 1);
		}
		if (rc == 0)
			rc = report_calls_finish(c);
		report_calls_free(c);
		inject_stop();
		assert_int_equal(inject.nr_live, 0);
		assert_true(rc == (inject.fired ? -ENOMEM : 0));
	} while (inject.fired);
	assert_true(n > 8);
	report_functions_free(f);
}

static int give_branch(struct report_branches *b, struct report_functions *f, uint32_t event,
		       const char *letters, enum report_branch kind, uint64_t nr, uint64_t cycles)
{
	struct report_frame frames[TEST_MAX_FRAMES];
	const struct report_entry e = {.key = {.event = event, .branch = kind},
				       .weight = {.samples = nr, .weight = cycles},
				       .frames = frames,
				       .nr_frames = test_frames(f, letters, frames)};
	const struct report_sink *sink = report_branches_sink(b);

	return sink->entry(sink->arg, &e);
}

TEST(branches)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_branches *b = report_branches_new();
	const struct report_branch_row *rows;
	/* event, from, to, nr, mispredicted, predicted, cycles */
	static const uint64_t want[][7] = {{0, 'b', 'a', 9, 0, 9, 0}, {0, 'a', 'b', 7, 1, 2, 33},
					   {0, 'a', 'a', 3, 0, 0, 0}, {0, 'a', 'c', 3, 3, 0, 0},
					   {0, 'c', 'a', 3, 0, 0, 0}, {1, 'a', 'b', 1, 0, 1, 5}};
	size_t nr;

	assert_int_equal(report_branches_sink(b)->parts, REPORT_BY_BRANCH);
	report_branches_rows(b, &nr);
	assert_int_equal(nr, 0);
	give_branch(b, f, 1, "ab", REPORT_PREDICTED, 1, 5);
	give_branch(b, f, 0, "ca", REPORT_PREDICTION_UNKNOWN, 3, 0);
	give_branch(b, f, 0, "ac", REPORT_MISPREDICTED, 3, 0);
	give_branch(b, f, 0, "ab", REPORT_MISPREDICTED, 1, 30);
	give_branch(b, f, 0, "aa", REPORT_PREDICTION_UNKNOWN, 3, 0);
	give_branch(b, f, 0, "ab", REPORT_PREDICTED, 2, 3);
	give_branch(b, f, 0, "ab", REPORT_PREDICTION_UNKNOWN, 4, 0);
	give_branch(b, f, 0, "ba", REPORT_PREDICTED, 9, 0);
	rows = report_branches_rows(b, &nr);
	assert_int_equal(nr, NR(want));
	for (size_t i = 0; i < nr; i++) {
		const uint64_t got[] = {rows[i].event,
					(uint64_t)rows[i].from->name[0],
					(uint64_t)rows[i].to->name[0],
					rows[i].nr,
					rows[i].mispredicted,
					rows[i].predicted,
					rows[i].cycles};

		assert_memory_equal(got, want[i], sizeof(got));
	}
	report_branches_free(b);
	report_branches_free(NULL);
	report_functions_free(f);
}

TEST(branches_without_memory)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	unsigned n = 0;

	assert_int_equal(test_frames(f, "abcdefgh", (struct report_frame[8]){{0}}), 8);
	do {
		struct report_branches *b;
		int rc;

		inject_mem(++n);
		b = report_branches_new();
		rc = b ? 0 : -ENOMEM;
		for (int i = 0; i < 64 && rc == 0; i++)
			rc = give_branch(b, f, (uint32_t)i / 16,
					 (char[]){'a' + i / 4 % 4, 'a' + i % 4, 0},
					 REPORT_PREDICTED, 1, 1);
		report_branches_free(b);
		inject_stop();
		assert_int_equal(inject.nr_live, 0);
		assert_true(rc == (inject.fired ? -ENOMEM : 0));
	} while (inject.fired);
	assert_true(n > 3);
	report_functions_free(f);
}
