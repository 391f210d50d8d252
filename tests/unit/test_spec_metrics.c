/*
 * The key metrics: which event an operand means, what the model holds, and what is read back from
 * the spec in a trace. Errors and their places are in tests/data/specs.
 */
#include "kit.h"
#include "paths.h"

#include "base/buf.h"
#include "spec/spec.h"

static struct err_list errs;

static int parse(const char *text, struct spec *s)
{
	memset(&errs, 0, sizeof(errs));
	return spec_parse(text, strlen(text), "t", s, &errs);
}

static void load(const char *name, struct spec *s)
{
	char path[512];

	snprintf(path, sizeof(path), TEST_DATA_DIR "/specs/valid/%s", name);
	memset(&errs, 0, sizeof(errs));
	assert_int_equal(spec_load(path, s, &errs), 0);
}

TEST(operands)
{
	static const struct {
		const char *name, *unit;
		size_t operand[2];
	} want[] = {{"ipc", "", {0, 1}},
		    {"user share", "%", {2, 1}},
		    {"kHz", "kHz", {1}},
		    {"käse", "", {3, 3}},
		    {"all of it", "", {4}},
		    {"not of programs", "", {1}}, /* one without a label before others */
		    {"no clock", "", {6}}};       /* a label before all */
	struct spec s;

	spec_init(&s);
	load("metrics.cpspec", &s);
	assert_int_equal(s.nr_metrics, NR(want));
	assert_int_equal(s.metric_set.nr, NR(want));
	for (size_t i = 0; i < NR(want); i++) {
		const struct metric *m = &s.metric_set.item[i];
		const struct expr_step *operand;
		size_t nr = 0;

		assert_string_equal(m->name, want[i].name);
		assert_string_equal(m->unit, want[i].unit);
		for (size_t k = 0; (operand = metric_operand(m, &k)); nr++)
			assert_int_equal(operand->operand, want[i].operand[nr]);
		assert_true(nr == 1 + (want[i].operand[1] != 0));
	}
	spec_fini(&s);
}

TEST(limits)
{
	struct spec s;

	spec_init(&s);
	load("metrics.cpspec", &s);
	assert_string_equal(s.metric_set.item[0].warn_below.text, "0.5");
	assert_true(s.metric_set.item[0].warn_below.value == 0.5);
	assert_true(s.metric_set.item[0].warn_above.value == 4);
	assert_null(s.metric_set.item[1].warn_below.text);
	assert_null(s.metric_set.item[1].warn_above.text);
	assert_string_equal(s.metric_set.item[2].warn_above.text, "-1.50e+2");
	assert_true(s.metric_set.item[2].warn_above.value == -150);
	spec_fini(&s);
}

#define SPEC(metrics)                                                                              \
	"{\"events\":[{\"group_name\":\"fixed\",\"event_name\":\"cycles\"},"                       \
	"{\"group_name\":\"fixed\",\"event_name\":\"refs\",\"label\":\"reference cycles\"}],"      \
	"\"metrics\":[" metrics "]}"
#define METRIC(expr) "{\"name\":\"m\",\"expr\":\"" expr "\"}"

TEST(hints)
{
	static const struct {
		const char *text, *hint;
	} rows[] = {
	    {SPEC(METRIC("{cycle}")), "did you mean {cycles}?"},
	    {SPEC(METRIC("{fixed:cycle}")), "did you mean {fixed:cycles}?"},
	    {SPEC(METRIC("{Fixed:Cycles}")), "did you mean {fixed:cycles}?"},
	    {SPEC(METRIC("{fixed:refx}")), "did you mean {fixed:refs}?"},
	    {SPEC(METRIC("{reference}")), "did you mean {reference cycles}?"},
	    {SPEC(METRIC("{something else}")), "an event of this spec"},
	    {SPEC(METRIC("cycles")), "{cycles}"},
	    {SPEC(METRIC("1")), "in braces"},
	    {SPEC("{\"nam\":1,\"name\":\"m\",\"expr\":\"{cycles}\"}"), "\"name\""},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct spec s;

		spec_init(&s);
		assert_int_equal(parse(rows[i].text, &s), -EINVAL);
		assert_int_equal(errs.nr, 1);
		if (!strstr(errs.item[0].hint, rows[i].hint))
			fail_msg("%s: %s", rows[i].text, errs.item[0].hint);
		spec_fini(&s);
	}
}

/* Those with errors are in neither list; the others are in both. */
TEST(readable_rest)
{
	struct spec s;

	spec_init(&s);
	assert_int_equal(parse(SPEC("{\"name\":\"a\"},{\"name\":\"b\",\"expr\":\"{refs\"},"
				    "{\"name\":\"c\",\"expr\":\"{cycles}\"}"),
			       &s),
			 -EINVAL);
	assert_int_equal(errs.nr, 2);
	assert_int_equal(s.nr_metrics, 1);
	assert_int_equal(s.metric_set.nr, 1);
	assert_string_equal(s.metrics[0].name, "c");
	assert_string_equal(s.metric_set.item[0].name, "c");
	assert_int_equal(
	    parse("{\"events\":[{\"group_name\":\"g\",\"event_name\":\"bad\",\"rate\":-1},"
		  "{\"group_name\":\"g\",\"event_name\":\"good\"}],\"metrics\":["
		  "{\"name\":\"a\",\"expr\":\"{bad}\"},{\"name\":\"b\",\"expr\":\"{good}\"}]}",
		  &s),
	    -EINVAL);
	assert_int_equal(errs.nr, 1); /* of the event */
	assert_int_equal(s.metric_set.nr, 1);
	assert_string_equal(s.metric_set.item[0].name, "b");
	spec_fini(&s);
}

/* Through the JSON of a trace and back: the same expressions, with the same numbers. */
TEST(stored)
{
	struct spec s, back;
	struct buf json;
	struct err e = {0};

	spec_init(&s);
	spec_init(&back);
	buf_init(&json, 1 << 20);
	load("metrics.cpspec", &s);
	assert_int_equal(spec_override(&s, "duration", "20ms", "--duration", &e), 0);
	s.session_result_spec_path = "/of/an/older/version"; /* which no spec may name any more */
	spec_to_json(&s, &json);
	assert_non_null(strstr(buf_str(&json), "\"duration\":0.02,"));
	assert_int_equal(parse(buf_str(&json), &back), 0);
	memset(&errs, 0, sizeof(errs));
	assert_int_equal(spec_parse_stored(buf_str(&json), s.nr_events, &back, &errs), 0);
	assert_int_equal(errs.nr, 0);
	assert_int_equal(back.duration_ns, 20000000);
	assert_int_equal(back.metric_set.nr, s.metric_set.nr);
	for (size_t i = 0; i < s.metric_set.nr; i++) {
		const struct metric *a = &s.metric_set.item[i], *b = &back.metric_set.item[i];

		assert_string_equal(a->name, b->name);
		assert_int_equal(a->expr.nr_steps, b->expr.nr_steps);
		for (size_t k = 0; k < a->expr.nr_steps; k++) {
			assert_int_equal(a->expr.steps[k].op, b->expr.steps[k].op);
			assert_true(a->expr.steps[k].number == b->expr.steps[k].number);
			assert_int_equal(a->expr.steps[k].operand, b->expr.steps[k].operand);
		}
	}
	assert_true(back.metric_set.item[2].warn_above.value == -150);
	buf_fini(&json);
	spec_fini(&back);
	spec_fini(&s);
}

TEST(stored_texts)
{
	static const struct {
		const char *text;
		int rc;
		size_t nr;
		const char *part;
		size_t nr_words; /* of the command that was measured */
	} rows[] = {
	    {"", 0, 0, ""},
	    {"{\"duration\":1}", 0, 0, ""},
	    {"this is no JSON", 0, 0, ""},
	    {SPEC(METRIC("{cycles}")), 0, 1, ""},
	    /* of a later version */
	    {"{\"new\":1,\"events\":[{\"group_name\":\"g\",\"event_name\":\"n\",\"more\":[]},"
	     "{\"group_name\":\"g\",\"event_name\":\"o\"}],"
	     "\"metrics\":[{\"name\":\"m\",\"expr\":\"{n}\",\"colour\":\"red\"}]}",
	     0, 1, ""},
	    {SPEC(METRIC("sqrt({cycles})")), -EINVAL, 0, "unknown word \"sqrt\""},
	    {SPEC(METRIC("{cycles}")) "x", -EINVAL, 0, "syntax error"},
	    {"{\"events\":[{\"group_name\":\"g\",\"event_name\":\"n\"}],"
	     "\"metrics\":[{\"name\":\"m\",\"expr\":\"{n}\"}]}",
	     -EINVAL, 0, "it has 1 events and the trace has 2"},
	    {"{\"metrics\":[{\"name\":\"m\",\"expr\":\"{n}\"}]}", -EINVAL, 0, "No events"},
	    /* without metrics their operands do not matter */
	    {"{\"events\":[{\"group_name\":\"g\",\"event_name\":\"n\"}],"
	     "\"target\":{\"command\":[\"a\",\"b c\"]}}",
	     0, 0, "", 2},
	    {"{\"target\":{\"command\":[\"a\"]}}", -EINVAL, 0, "No events"},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct spec s;
		int rc;

		memset(&errs, 0, sizeof(errs));
		spec_init(&s);
		rc = spec_parse_stored(rows[i].text, 2, &s, &errs);
		if (rc != rows[i].rc || s.metric_set.nr != rows[i].nr)
			fail_msg("row %zu: %d, %s", i, rc, errs.item[0].msg);
		assert_int_equal(s.nr_metrics, rows[i].nr);
		assert_int_equal(s.target.command.nr, rows[i].nr_words);
		assert_int_equal(errs.nr != 0, rc != 0);
		if (!strstr(errs.item[0].msg, rows[i].part))
			fail_msg("row %zu: %s", i, errs.item[0].msg);
		assert_string_equal(errs.item[0].source, rc ? "the spec in the trace" : "");
		spec_fini(&s);
	}
}

static int parse_stored(void *arg)
{
	struct spec s;
	int rc;

	(void)arg;
	memset(&errs, 0, sizeof(errs));
	spec_init(&s);
	rc = spec_parse_stored(SPEC(METRIC("1.5 * {cycles}")), 2, &s, &errs);
	assert_int_equal(s.metric_set.nr, rc == 0);
	spec_fini(&s);
	return rc;
}

TEST(without_memory)
{
	inject_every(parse_stored, NULL, 20, 0);
}
