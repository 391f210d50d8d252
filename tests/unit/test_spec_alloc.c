/*
 * Every allocation made to fail in turn, jansson's included: reading and writing a spec ends with
 * -ENOMEM, a message, and nothing left behind (the leak check of the sanitizer sees to that).
 */
#include "kit.h"
#include "paths.h"

#include "base/buf.h"
#include "base/mem.h"
#include "spec/cpsession.h"
#include "spec/spec.h"

static size_t nr_allocations, fail_at; /* counted from 1; fail_at 0: none fails */
static bool fail_after;                /* the later ones fail too */

static bool must_fail(void)
{
	nr_allocations++;
	return fail_at && (nr_allocations == fail_at || (fail_after && nr_allocations > fail_at));
}

static void *counted_alloc(size_t size)
{
	return must_fail() ? NULL : malloc(size);
}

static void *counted_resize(void *p, size_t size)
{
	return must_fail() ? NULL : realloc(p, size);
}

static const struct mem_ops counted_ops = {counted_alloc, counted_resize, free};

static int load_and_write(const char *path, struct err_list *errs)
{
	struct buf json;
	struct spec s;
	int rc;

	buf_init(&json, 1 << 20);
	spec_init(&s);
	rc = spec_load(path, &s, errs);
	if (rc == 0) {
		spec_to_json(&s, &json);
		rc = buf_error(&json);
	} else {
		assert_true(errs->nr > 0);
		assert_true(rc == -EINVAL || s.nr_events == 0);
	}
	spec_fini(&s);
	buf_fini(&json);
	return rc;
}

static int parse_session(const char *text, struct err_list *errs)
{
	struct cpsession s;
	int rc;

	cpsession_init(&s);
	rc = cpsession_parse(text, strlen(text), "t", &s, errs);
	assert_true(rc == 0 || errs->nr > 0);
	cpsession_fini(&s);
	return rc;
}

enum { MOST_FAILURES = 200 };

/* Fails allocation after allocation; how many there are. */
static size_t fail_each(int (*run)(const char *arg, struct err_list *errs), const char *arg,
			int expected)
{
	struct err_list errs = {.nr = 0};
	size_t nr;

	mem_set_ops(&counted_ops);
	fail_at = nr_allocations = 0;
	assert_int_equal(run(arg, &errs), expected);
	nr = nr_allocations;
	STRIDE_EACH(i, nr, MOST_FAILURES) {
		struct err_list why = {.nr = 0};

		fail_at = i + 1;
		nr_allocations = 0;
		assert_int_equal(run(arg, &why), -ENOMEM);
	}
	mem_set_ops(NULL);
	return nr;
}

TEST(each_allocation)
{
	static const struct {
		int (*run)(const char *arg, struct err_list *errs);
		const char *arg;
		int rc;
		size_t least;
	} cases[] = {
	    {load_and_write, TEST_DATA_DIR "/specs/valid/document.cpspec", 0, 60},
	    {load_and_write, TEST_DATA_DIR "/specs/valid/escapes.cpspec", 0, 20},
	    {load_and_write, TEST_DATA_DIR "/specs/valid/most-events.cpspec", 0, 1000},
	    {load_and_write, TEST_DATA_DIR "/specs/valid/metrics.cpspec", 0, 60},
	    {load_and_write, TEST_DATA_DIR "/specs/invalid/schema-many-errors.cpspec", -EINVAL, 60},
	    {load_and_write, TEST_DATA_DIR "/specs/invalid/rule-metric-operands.cpspec", -EINVAL,
	     60},
	    {load_and_write, TEST_DATA_DIR "/specs/invalid/syntax-number-too-big.cpspec", -EINVAL,
	     8},
	    {parse_session, "{\"config_name\":\"exactly15bytes!\",\"num_traces\":3}", 0, 8},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int after = 0; after < 2; after++) {
			fail_after = after;
			assert_true(fail_each(cases[i].run, cases[i].arg, cases[i].rc) >=
				    cases[i].least);
		}
}

/* jansson's token buffer grows at 16, 32, 64 … bytes: a failure at any of these edges, in strings,
 * words and numbers, must neither abort nor read behind it. */
TEST(token_edges)
{
	static const char *const forms[] = {"{\"a\":\"%s\"}", "{\"%s\":1}", "{\"a\":%s}", "[%s 1"};
	static const char fills[] = "x1";
	char token[72], text[100];

	fail_after = true;
	for (size_t f = 0; f < 4; f++)
		for (size_t k = 0; k < 2; k++)
			for (size_t len = 1; len < sizeof(token); len++) {
				const char *at = strstr(forms[f], "%s");

				memset(token, fills[k], len);
				snprintf(text, sizeof(text), "%.*s%.*s%s", (int)(at - forms[f]),
					 forms[f], (int)len, token, at + 2);
				fail_each(parse_session, text, -EINVAL);
			}
}
