/*
 * The table of keys against what is made from it, and against the reader.
 */
#include "base/buf.h"
#include "base/io.h"
#include "spec/cpsession.h"
#include "spec/keys.h"
#include "spec/spec.h"

#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

static void check_schema(enum key_level root, const char *path)
{
	struct buf made, kept;

	buf_init(&made, 1 << 20);
	buf_init(&kept, 1 << 20);
	keys_to_schema(root, &made);
	assert_int_equal(buf_error(&made), 0);
	assert_int_equal(io_load(AT_FDCWD, path, &kept), 0);
	assert_string_equal(buf_str(&made), buf_str(&kept));
	buf_fini(&made);
	buf_fini(&kept);
}

static void test_schemas_are_up_to_date(void **state)
{
	(void)state;
	check_schema(KEY_SPEC, SOURCE_DIR "/schemas/cpspec.schema.json");
	check_schema(KEY_SESSION, SOURCE_DIR "/schemas/cpsession.schema.json");
}

static void test_rows_are_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < nr_key_rows; i++) {
		const struct key_row *row = &key_rows[i];

		assert_ptr_equal(key_find(row->level, row->name), row);
		assert_true(row->description[0] != '\0');
		assert_true(row->max >= row->min && row->max <= INT64_MAX);
		assert_true(row->type == KEY_FLAGS ? row->words != NULL : row->max > 0);
		/* an option for each scalar of the spec, and for nothing else */
		assert_int_equal(row->metavar != NULL,
				 row->level == KEY_SPEC && row->type != KEY_EVENTS);
	}
	assert_null(key_find(KEY_SPEC, "rate"));
	assert_null(key_find(KEY_EVENT, "duration"));
	assert_null(key_find(KEY_SESSION, ""));
}

static void test_defaults(void **state)
{
	struct cpsession session;
	struct spec s;

	(void)state;
	spec_init(&s);
	assert_string_equal(s.config_name, "");
	assert_string_equal(s.model_name, "default");
	assert_int_equal(s.nr_events, 0);
	assert_int_equal(s.buffer_size_in_mb, 16);
	assert_int_equal(s.duration_ns, 10000000000);
	assert_int_equal(s.num_iterations, 1);
	assert_string_equal(s.output_path_prefix, "/tmp/cpuperf");
	assert_string_equal(s.session_result_spec_path, "/tmp/cpuperf.cpsession");
	spec_fini(&s);
	cpsession_init(&session);
	assert_int_equal(session.num_iterations, 0);
	assert_int_equal(session.num_traces, 0);
	assert_string_equal(session.output_path_prefix, "");
	cpsession_fini(&session);
}

static void add_sample(struct buf *out, const struct key_row *row, bool is_other);

/* An object with one value for each row of the level. */
static void add_object(struct buf *out, enum key_level level, bool is_other)
{
	const char *separator = "{";

	for (size_t i = 0; i < nr_key_rows; i++) {
		if (key_rows[i].level != level)
			continue;
		buf_printf(out, "%s\"%s\":", separator, key_rows[i].name);
		add_sample(out, &key_rows[i], is_other);
		separator = ",";
	}
	buf_addc(out, '}');
}

static void add_sample(struct buf *out, const struct key_row *row, bool is_other)
{
	switch (row->type) {
	case KEY_STRING:
	case KEY_NAME:
		buf_printf(out, "\"%s%d\"", row->name, is_other);
		break;
	case KEY_INTEGER:
	case KEY_SECONDS:
		buf_printf(out, "%" PRIu64, is_other ? row->max : row->min + 1);
		break;
	case KEY_FLAGS:
		buf_printf(out, "[\"os\",\"%s\"]", row->words[is_other ? 2 : 4]);
		break;
	case KEY_EVENTS:
		buf_addc(out, '[');
		add_object(out, KEY_EVENT, is_other);
		buf_addc(out, ']');
		break;
	}
}

/* A text with every key of the table comes back from the model as it went in. */
static void test_every_key_is_read_and_written(void **state)
{
	struct err_list errs = {.nr = 0};
	struct cpsession session;
	struct buf text, json;
	struct spec s;

	(void)state;
	buf_init(&text, 1 << 16);
	buf_init(&json, 1 << 16);
	spec_init(&s);
	cpsession_init(&session);
	for (int is_other = 0; is_other < 2; is_other++) {
		buf_reset(&text);
		buf_reset(&json);
		add_object(&text, KEY_SPEC, is_other);
		assert_int_equal(spec_parse(buf_str(&text), text.len, "t", &s, &errs), 0);
		spec_to_json(&s, &json);
		assert_string_equal(buf_str(&json), buf_str(&text));

		buf_reset(&text);
		buf_reset(&json);
		add_object(&text, KEY_SESSION, is_other);
		assert_int_equal(cpsession_parse(buf_str(&text), text.len, "t", &session, &errs),
				 0);
		cpsession_to_json(&session, &json);
		buf_addc(&text, '\n');
		assert_string_equal(buf_str(&json), buf_str(&text));
	}
	spec_fini(&s);
	cpsession_fini(&session);
	buf_fini(&text);
	buf_fini(&json);
}

static void test_man(void **state)
{
	struct buf out;

	(void)state;
	buf_init(&out, 1 << 16);
	keys_to_man(&out);
	assert_int_equal(buf_error(&out), 0);
	for (size_t i = 0; i < nr_key_rows; i++)
		assert_non_null(strstr(buf_str(&out), key_rows[i].name));
	assert_non_null(strstr(buf_str(&out), ".TP\n.B duration\n(integer, 0 to 31536000, seconds, "
					      "default 10)\n.br\n"));
	assert_non_null(strstr(buf_str(&out), "cpuperf \\-\\-list\\-events"));
	for (const char *p = strstr(buf_str(&out), "\n."); p; p = strstr(p + 1, "\n."))
		assert_non_null(strchr("TBSb", p[2])); /* no text became a request */
	buf_fini(&out);
}

static void test_flag_names(void **state)
{
	(void)state;
	assert_string_equal(spec_flag_name(SPEC_OS), "os");
	assert_string_equal(spec_flag_name(SPEC_USER), "user");
	assert_string_equal(spec_flag_name(SPEC_PC), "pc");
	assert_string_equal(spec_flag_name(SPEC_LAST_BRANCH), "last_branch");
	assert_string_equal(spec_flag_name(SPEC_TIMEBASE), "timebase");
	assert_string_equal(spec_flag_name(0), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_schemas_are_up_to_date),
	    cmocka_unit_test(test_rows_are_whole),
	    cmocka_unit_test(test_defaults),
	    cmocka_unit_test(test_every_key_is_read_and_written),
	    cmocka_unit_test(test_man),
	    cmocka_unit_test(test_flag_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
