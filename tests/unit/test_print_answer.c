/* The answer as a document: what finds room in it. */
#include "kit.h"

#include "answer.h"
#include "conclusion.h"
#include "options.h"

#include <errno.h>
#include <string.h>

static const struct conclusion none;
static const struct options of_session = {.sessions = {.item = {"a b"}, .nr = 1}};

static void fill(struct answer *a, const char *name, bool is_table, size_t nr, size_t bytes)
{
	struct answer_list *l = answer_add(a, name, is_table);

	for (size_t i = 0; i < nr; i++) {
		buf_addc(&l->lines, '"');
		buf_fill(&l->lines, 'x', bytes);
		buf_adds(&l->lines, "\"\n");
	}
	if (is_table)
		buf_adds(&l->columns, "[1]");
}

TEST(whole)
{
	struct answer *a = answer_new();
	BUF_AUTO(out, 1 << 20);

	buf_adds(&a->facts, ",\"host\":\"h\"");
	fill(a, "flat", true, 2, 1);
	fill(a, "totals", false, 1, 2);
	answer_put(a, &none, &of_session, true, &out);
	assert_string_equal(
	    strstr(buf_str(&out), ",\"conclusion\""),
	    ",\"conclusion\":null,\"host\":\"h\",\n\"tables\":[\n"
	    "{\"report\":\"flat\",\"columns\":[1],\"rows\":[\n\"x\",\n\"x\"],"
	    "\"left_out\":0}],\n"
	    "\"totals\":{\"rows\":[\n\"xx\"],\"left_out\":0},\n"
	    "\"next\":[[\"cpuperf_print\",\"--session=a b\",\"--report=tree\"]]}\n");
	answer_free(a);
}

/* Each list has its first rows, however long the others are; a row that finds no room ends its own
 * list alone. */
TEST(limit)
{
	static const struct {
		size_t nr, bytes;
	} cases[] = {{100, 60}, {100, 700}, {3, 5000}, {1000, 1}};

	for (size_t i = 0; i < NR(cases); i++) {
		struct answer *a = answer_new();
		BUF_AUTO(out, 1 << 20);

		fill(a, "flat", true, cases[i].nr, cases[i].bytes);
		fill(a, "totals", false, 3, 30);
		fill(a, "notes", false, cases[i].nr, cases[i].bytes);
		answer_put(a, &none, &of_session, true, &out);
		assert_in_range(out.len, 200, ANSWER_MAX_BYTES);
		assert_non_null(strstr(buf_str(&out), "\"totals\":{\"rows\":[\n\"xxx"));
		assert_int_equal(a->list[1].nr_shown, 3);
		assert_true(a->list[0].nr_shown < cases[i].nr);
		if (cases[i].bytes < 1000) {
			assert_true(a->list[0].nr_shown > 1);
			assert_true(out.len + cases[i].bytes + 300 > ANSWER_MAX_BYTES);
		}
		answer_free(a);
	}
}

/* Rows that were lost are no whole answer. */
TEST(failed_list)
{
	struct answer *a = answer_new();
	BUF_AUTO(out, 1 << 20);

	fill(a, "flat", true, 2, 17 << 20);
	answer_put(a, &none, &of_session, true, &out);
	assert_int_equal(buf_error(&out), -EFBIG);
	answer_free(a);
}

TEST(nothing_next)
{
	struct answer *a = answer_new();
	BUF_AUTO(out, 1 << 20);

	answer_put(a, &none, &of_session, false, &out);
	assert_non_null(strstr(buf_str(&out), "\n\"next\":[]}\n"));
	answer_free(a);
}
