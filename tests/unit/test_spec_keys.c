/*
 * The table of keys against what is made from it, and against the reader.
 */
#include "kit.h"
#include "paths.h"

#include "base/buf.h"
#include "base/io.h"
#include "spec/cpsession.h"
#include "spec/keys.h"
#include "spec/spec.h"

#include <inttypes.h>

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

TEST(schemas_are_up_to_date)
{
	check_schema(KEY_SPEC, SOURCE_DIR "/schemas/cpspec.schema.json");
	check_schema(KEY_SESSION, SOURCE_DIR "/schemas/cpsession.schema.json");
}

TEST(rows_are_whole)
{
	for (size_t i = 0; i < key_nr_rows; i++) {
		const struct key_row *row = &key_rows[i];

		assert_ptr_equal(key_find(row->level, row->name), row);
		assert_true(row->description[0] != '\0');
		/* an option for each scalar of the spec but flags, and each list of names */
		assert_int_equal(
		    row->metavar != NULL,
		    (row->level == KEY_SPEC || row->level == KEY_REGIONS ||
		     row->level == KEY_FUNCTIONS) &&
			row->type != KEY_EVENTS && row->type != KEY_DEFAULTS &&
			row->type != KEY_METRICS && row->type != KEY_BOOL &&
			(row->type != KEY_OBJECT || row->option_key || row->inner == KEY_RETAIN));
		assert_int_equal(row->words != NULL,
				 row->type == KEY_FLAGS || row->type == KEY_WORD);
		assert_int_equal(row->item != NULL,
				 row->type == KEY_FLAGS || row->type == KEY_CHOICE ||
				     row->type == KEY_LIST || row->type == KEY_OBJECTS);
		assert_int_equal(row->form != NULL, row->type == KEY_WORD);
		if (row->words || row->type == KEY_BOOL || row->type == KEY_DEFAULTS ||
		    row->type == KEY_OBJECT)
			continue;
		assert_true(row->max > 0 && row->max >= row->min && row->max <= INT64_MAX);
		assert_true(!row->step || (row->min % row->step == 0 && row->max % row->step == 0));
	}
	assert_null(key_find(KEY_SPEC, "rate"));
	assert_null(key_find(KEY_EVENT, "duration"));
	assert_null(key_find(KEY_SESSION, ""));
}

TEST(defaults)
{
	struct cpsession session;
	struct spec s;

	spec_init(&s);
	assert_string_equal(s.config_name, "");
	assert_string_equal(s.model_name, "default");
	assert_int_equal(s.nr_events, 0);
	assert_int_equal(s.buffer_size_in_mb, 16);
	assert_int_equal(s.duration_ns, 10000000000);
	assert_int_equal(s.num_iterations, 1);
	assert_string_equal(s.compression, "none");
	assert_int_equal(key_default(key_find(KEY_EVENT, "frequency")), 0);
	assert_string_equal(s.output_path_prefix, "/tmp/cpuperf");
	assert_string_equal(s.session_result_spec_path, "/tmp/cpuperf.cpsession");
	spec_fini(&s);
	cpsession_init(&session);
	assert_int_equal(session.num_iterations, 0);
	assert_int_equal(session.num_traces, 0);
	assert_string_equal(session.output_path_prefix, "");
	assert_string_equal(session.session_id, "");
	cpsession_fini(&session);
}

static void add_sample(struct buf *out, const struct key_row *row, bool is_other);

/* A rate and a frequency exclude each other; a rate is written always. Lists are of misc events.
 * Runs exclude a time, and so does a flight recorder: see TEST(flight_recorder). */
static bool is_left_out(const struct key_row *row, bool is_other)
{
	if (strcmp(row->name, "duration") == 0 || strcmp(row->name, "num_iterations") == 0)
		return is_other && row->level == KEY_SPEC;
	if (strcmp(row->name, "flight_recorder") == 0 ||
	    strcmp(row->name, "max_frequency") == 0 || /* of waits: in the corpus */
	    strcmp(row->name, "longer_than") == 0 ||   /* of function: as well */
	    strcmp(row->name, "when") == 0 ||
	    (row->level == KEY_EVENT && strcmp(row->name, "every") == 0)) /* of misc: as well */
		return true;
	if (strcmp(row->name, "runs") == 0)
		return !is_other;
	if (strcmp(row->name, "windows") == 0) /* of test_spec_windows */
		return true;
	if (strcmp(row->name, "delay") == 0)
		return is_other;
	if (strcmp(row->name, "wait_children") == 0)
		return is_other;
	if (strcmp(row->name, "attach") == 0) /* into processes */
		return !is_other;
	if (row->level == KEY_TARGET) /* a command excludes processes; a group is in test_lists */
		return row->type == KEY_LIST &&
		       (strcmp(row->name, "command") == 0
			    ? is_other
			    : !is_other || strcmp(row->name, "cgroups") == 0);
	return row->type == KEY_CHOICE || row->type == KEY_BOOL || row->type == KEY_DEFAULTS ||
	       (strcmp(row->name, "frequency") == 0 && !is_other);
}

static uint64_t sample_number(const struct key_row *row, bool is_other)
{
	if (strcmp(row->name, "rate") == 0)
		return is_other ? 0 : 1;
	return is_other ? row->max : row->min + (row->step ? row->step : 1);
}

/* Words in the table's order; the flags are those that other keys need, and one more. */
static void add_words(struct buf *out, const struct key_row *row, bool is_other)
{
	if (strcmp(row->name, "flags") != 0)
		buf_printf(out, "[\"%s\",\"%s\"]", row->words[is_other], row->words[2 + is_other]);
	else if (is_other)
		buf_adds(out, "[\"os\",\"pc\",\"last_branch\",\"user_stack\"]");
	else
		buf_adds(out, "[\"os\",\"last_branch\",\"timebase\",\"user_stack\"]");
}

/* An object with one value for each row of the level. */
static void add_object(struct buf *out, enum key_level level, bool is_other)
{
	const char *separator = "{";

	for (size_t i = 0; i < key_nr_rows; i++) {
		if (key_rows[i].level != level || is_left_out(&key_rows[i], is_other))
			continue;
		buf_printf(out, "%s\"%s\":", separator, key_rows[i].name);
		add_sample(out, &key_rows[i], is_other);
		separator = ",";
	}
	buf_addc(out, '}');
}

/* Not the first, which is the default, but for one that is alone. */
static const char *other_word(const struct key_row *row, bool is_other)
{
	if (!row->words[1] || strcmp(row->name, "manifest") == 0) /* strict: without retain */
		return row->words[0];
	return row->words[is_other && row->words[2] ? 2 : 1];
}

static void add_sample(struct buf *out, const struct key_row *row, bool is_other)
{
	switch (row->type) {
	case KEY_STRING:
	case KEY_NAME:
		if (strcmp(row->name, "expr") == 0) /* of the event, by its label */
			buf_printf(out, "\"%d * {label%d}\"", is_other, is_other);
		else
			buf_printf(out, "\"%s%d%s\"", row->name, is_other,
				   row->suffix ? row->suffix : "");
		break;
	case KEY_REAL:
		buf_adds(out, is_other ? "1.25e-3" : "-7");
		break;
	case KEY_INTEGER:
	case KEY_SECONDS:
	case KEY_PERCENT:
		buf_printf(out, "%" PRIu64, sample_number(row, is_other));
		break;
	case KEY_WORD:
		buf_printf(out, "\"%s\"", other_word(row, is_other));
		break;
	case KEY_HEX:
		buf_addc(out, '"');
		buf_fill(out, is_other ? 'f' : '0', row->max);
		buf_addc(out, '"');
		break;
	case KEY_FLAGS:
		add_words(out, row, is_other);
		break;
	case KEY_LIST:
		buf_adds(out, row->has_numbers ? "[1,4194304]" : "[\"a b\",\"\"]");
		break;
	case KEY_OBJECT:
		add_object(out, row->inner, is_other);
		break;
	case KEY_BOOL:
		buf_adds(out, strcmp(row->default_text, "true") == 0 ? "false" : "true");
		break;
	case KEY_CHOICE:   /* test_lists */
	case KEY_DEFAULTS: /* test_sampling_defaults */
		break;
	case KEY_EVENTS:
		buf_addc(out, '[');
		add_object(out, KEY_EVENT, is_other);
		buf_addc(out, ']');
		break;
	case KEY_METRICS:
		buf_addc(out, '[');
		add_object(out, KEY_METRIC, is_other);
		buf_addc(out, ']');
		break;
	case KEY_OBJECTS:
		buf_addc(out, '[');
		add_object(out, row->inner, is_other);
		buf_addc(out, ']');
		break;
	}
}

/* Names and numbers come back as names. */
TEST(lists)
{
	static const char *const cases[][2] = {
	    {"\"devices\":[\"sda\",\"nvme*\"]", "\"devices\":[\"sda\",\"nvme*\"]"},
	    {"\"pids\":[0,\"name:a b*\",18446744073709551615]", NULL},
	    {"\"pids\":[0,\"name:a b*\",4194304]", "\"pids\":[\"0\",\"name:a b*\",\"4194304\"]"},
	    {"\"cgroups\":[\"/a.slice/b\"]", "\"cgroups\":[\"/a.slice/b\"]"},
	    {"\"devices\":[1]", NULL},
	    {"\"pids\":[-1]", NULL},
	    {"\"pids\":[]", NULL},
	    {"\"pids\":7", NULL},
	    {"\"cgroups\":[\"\"]", NULL},
	    {"\"cgroups\":[\"a\\u0007\"]", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err_list errs = {.nr = 0};
		char text[512];
		struct buf json;
		struct spec s;
		int len =
		    snprintf(text, sizeof(text),
			     "{\"events\":[{\"group_name\":\"misc\",\"event_name\":\"x\",%s}]}",
			     cases[i][0]);

		spec_init(&s);
		buf_init(&json, 1 << 16);
		assert_int_equal(spec_parse(text, (size_t)len, "t", &s, &errs),
				 cases[i][1] ? 0 : -EINVAL);
		if (cases[i][1]) {
			spec_to_json(&s, &json);
			assert_non_null(strstr(buf_str(&json), cases[i][1]));
		}
		buf_fini(&json);
		spec_fini(&s);
	}
}

#define EVENT "{\"group_name\":\"misc\",\"event_name\":\"x\"}"

/* The forms of the key regions, and the one that is written. */
TEST(regions)
{
	static const struct {
		const char *text, *json, *file;
	} cases[] = {
	    {"true", "\"regions\":true", "\"regions\": true,"},
	    {"false", NULL, NULL},
	    {"{}", "\"regions\":true", "\"regions\": true,"},
	    {"{\"counts\":[\"a\",\"b:c\"]}", "\"regions\":{\"counts\":[\"a\",\"b:c\"],\"every\":1}",
	     "\"regions\": {\"counts\":[\"a\",\"b:c\"],\"every\":1},"},
	    {"{\"every\":7}", "\"regions\":{\"every\":7}", "\"regions\": {\"every\":7},"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err_list errs = {.nr = 0};
		char text[512];
		struct buf json, file;
		struct spec s;
		int len = snprintf(text, sizeof(text), "{\"regions\":%s,\"events\":[" EVENT "]}",
				   cases[i].text);

		spec_init(&s);
		buf_init(&json, 1 << 16);
		buf_init(&file, 1 << 16);
		assert_int_equal(spec_parse(text, (size_t)len, "t", &s, &errs), 0);
		assert_int_equal(s.regions.is_wanted, cases[i].json != NULL);
		if (!cases[i].json) /* what an option sets does not turn them on */
			assert_int_equal(
			    spec_override(&s, "region_counts_every", "7", "o", &errs.item[0]), 0);
		spec_to_json(&s, &json);
		spec_to_file(&s, false, &file);
		if (cases[i].json) {
			assert_non_null(strstr(buf_str(&json), cases[i].json));
			assert_non_null(strstr(buf_str(&file), cases[i].file));
		} else {
			assert_null(strstr(buf_str(&json), "regions"));
			assert_null(strstr(buf_str(&file), "regions"));
		}
		buf_fini(&file);
		buf_fini(&json);
		spec_fini(&s);
	}
}

TEST(regions_that_are_refused)
{
	static const char *const cases[][2] = {
	    {"1", "regions must be true, false or an object, not the number 1"},
	    {"{\"counts\":[]}", "counts is empty"},
	    {"{\"count\":[\"a\"]}", "unknown key \"count\""},
	    {"{\"every\":0}", "every must be an integer from 1 to 1000000, not the number 0"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err_list errs = {.nr = 0};
		char text[512];
		struct spec s;
		int len = snprintf(text, sizeof(text), "{\"events\":[" EVENT "],\"regions\":%s}",
				   cases[i][0]);

		spec_init(&s);
		assert_int_equal(spec_parse(text, (size_t)len, "t", &s, &errs), -EINVAL);
		assert_string_equal(errs.item[0].msg, cases[i][1]);
		spec_fini(&s);
	}
}

/* What each event has of the key sampling, wherever that stands. */
TEST(sampling_defaults)
{
	static const struct {
		const char *sampling, *event, *json;
	} cases[] = {
	    {"\"frequency\":99,\"flags\":[\"callchain\"]", "\"sampled\":true",
	     "\"rate\":0,\"frequency\":99,\"flags\":[\"os\",\"user\",\"callchain\"]}"},
	    {"\"frequency\":99,\"flags\":[\"callchain\"]", "\"rate\":5",
	     "\"rate\":5,\"flags\":[\"os\",\"user\",\"callchain\"]}"},
	    {"\"rate\":7,\"flags\":[\"callchain\"]", "\"frequency\":5",
	     "\"rate\":0,\"frequency\":5,\"flags\":[\"os\",\"user\",\"callchain\"]}"},
	    {"\"rate\":7,\"flags\":[\"user\",\"callchain\"]", "\"flags\":[\"timebase\"]",
	     "\"rate\":7,\"flags\":[\"os\",\"user\",\"timebase\"]}"},
	    {"\"rate\":7,\"flags\":[\"user\",\"user_stack\"]", "\"sampled\":true",
	     "\"rate\":7,\"flags\":[\"user\",\"user_stack\"],\"stack_bytes\":16384}"},
	    {"\"rate\":7,\"flags\":[\"user_stack\"],\"stack_bytes\":64", "\"sampled\":true",
	     "\"rate\":7,\"flags\":[\"os\",\"user\",\"user_stack\"],\"stack_bytes\":64}"},
	    {"\"rate\":7,\"flags\":[\"user_stack\"]", "\"sampled\":true,\"stack_bytes\":8",
	     "\"rate\":7,\"flags\":[\"os\",\"user\",\"user_stack\"],\"stack_bytes\":8}"},
	    {"\"flags\":[\"last_branch\"],\"branch_filter\":[\"call\"]", "\"rate\":5",
	     "\"flags\":[\"os\",\"user\",\"last_branch\"],\"branch_filter\":[\"call\"]}"},
	    /* counted: nothing */
	    {"\"rate\":7,\"flags\":[\"user\",\"callchain\"]", "\"flags\":[\"os\"]",
	     "\"rate\":0,\"flags\":[\"os\"]}"},
	    {"\"rate\":7,\"flags\":[\"user\",\"pc\"]", "\"sampled\":false",
	     "\"rate\":0,\"flags\":[\"os\",\"user\"]}"},
	};

	for (size_t i = 0; i < NR(cases); i++)
		for (int order = 0; order < 2; order++) {
			struct err_list errs = {.nr = 0};
			char text[512], events[256], sampling[256];
			struct buf json;
			struct spec s;
			int len;

			snprintf(events, sizeof(events),
				 "\"events\":[{\"group_name\":\"g\",\"event_name\":\"x\",%s}]",
				 cases[i].event);
			snprintf(sampling, sizeof(sampling), "\"sampling\":{%s}",
				 cases[i].sampling);
			len = snprintf(text, sizeof(text), "{%s,%s}", order ? events : sampling,
				       order ? sampling : events);
			spec_init(&s);
			buf_init(&json, 1 << 16);
			assert_int_equal(spec_parse(text, (size_t)len, "t", &s, &errs), 0);
			spec_to_json(&s, &json);
			assert_null(strstr(buf_str(&json), "sampl"));
			if (!strstr(buf_str(&json), cases[i].json))
				print_error("%s\n", buf_str(&json));
			assert_non_null(strstr(buf_str(&json), cases[i].json));
			buf_fini(&json);
			spec_fini(&s);
		}
}

/* What it excludes, and what of it is written. */
TEST(flight_recorder)
{
	static const struct {
		const char *keys, *json; /* json NULL: refused */
		const char *other;       /* what it excludes */
	} cases[] = {
	    {"\"flight_recorder\":{\"seconds\":10},",
	     "\"flight_recorder\":{\"seconds\":10,\"mib\":64,\"after\":0},"},
	    {"\"flight_recorder\":{\"seconds\":0.5,\"mib\":8},",
	     "\"flight_recorder\":{\"seconds\":0.5,\"mib\":8,\"after\":0},"},
	    {"\"flight_recorder\":{},", NULL},
	    {"\"flight_recorder\":{\"mib\":8},", NULL},
	    {"\"flight_recorder\":{\"seconds\":0},", NULL},
	    {"\"flight_recorder\":{\"seconds\":1},\"duration\":1,", NULL, "duration"},
	    {"\"flight_recorder\":{\"seconds\":1},\"num_iterations\":1,", NULL, "num_iterations"},
	    {"\"flight_recorder\":{\"seconds\":1},\"runs\":1,", NULL, "runs"},
	    {"\"flight_recorder\":{\"seconds\":1},\"windows\":\"realtime:1:1:3\",", NULL,
	     "windows"},
	    {"\"flight_recorder\":{\"seconds\":1},\"delay\":1,", NULL, "delay"},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct err_list errs = {.nr = 0};
		char text[512];
		struct buf json;
		struct spec s;
		int len = snprintf(text, sizeof(text),
				   "{%s\"events\":[{\"group_name\":\"g\",\"event_name\":\"x\"}]}",
				   cases[i].keys);

		spec_init(&s);
		buf_init(&json, 1 << 16);
		assert_int_equal(spec_parse(text, (size_t)len, "t", &s, &errs),
				 cases[i].json ? 0 : -EINVAL);
		if (cases[i].json) {
			spec_to_json(&s, &json);
			assert_non_null(strstr(buf_str(&json), cases[i].json));
			assert_null(strstr(buf_str(&json), "duration"));
		}
		if (cases[i].other) {
			char why[64];

			snprintf(why, sizeof(why), "%s and flight_recorder are mutually exclusive",
				 cases[i].other);
			assert_int_equal(errs.nr, 1);
			assert_string_equal(errs.item[0].msg, why);
		}
		buf_fini(&json);
		spec_fini(&s);
	}
}

/* Of what removes iterations it could not say so. */
TEST(strict_manifest)
{
	static const struct {
		const char *keys, *wrong;
	} cases[] = {
	    {"", NULL},
	    {",\"retain\":{\"iterations\":2}",
	     "a strict manifest cannot say which iterations were removed"},
	    {",\"flight_recorder\":{\"seconds\":2}",
	     "a strict manifest cannot say which iterations were removed"},
	};
	const char *events =
	    "\"events\":[{\"group_name\":\"software\",\"event_name\":\"cpu_clock\",\"rate\":9999}]";

	for (size_t i = 0; i < NR(cases); i++) {
		struct err_list errs = {.nr = 0};
		char text[512];
		struct spec s;
		int len = snprintf(text, sizeof(text), "{%s,\"manifest\":\"strict\"%s}", events,
				   cases[i].keys);

		spec_init(&s);
		assert_int_equal(spec_parse(text, (size_t)len, "t", &s, &errs),
				 cases[i].wrong ? -EINVAL : 0);
		assert_int_equal(errs.nr, !!cases[i].wrong);
		if (cases[i].wrong)
			assert_string_equal(errs.item[0].msg, cases[i].wrong);
		else
			assert_true(spec_has_strict_manifest(&s));
		spec_fini(&s);
	}
}

/* A text with every key of the table comes back from the model as it went in. */
TEST(every_key_is_read_and_written)
{
	struct err_list errs = {.nr = 0};
	struct cpsession session;
	struct buf text, json;
	struct spec s;

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

TEST(man)
{
	struct buf out;

	buf_init(&out, 1 << 16);
	keys_to_man(&out);
	assert_int_equal(buf_error(&out), 0);
	for (size_t i = 0; i < key_nr_rows; i++)
		assert_non_null(strstr(buf_str(&out), key_rows[i].name));
	assert_non_null(strstr(buf_str(&out), ".TP\n.B duration\n(number, 0 to 31536000, seconds, "
					      "default 10)\n.br\n"));
	assert_non_null(strstr(buf_str(&out), "cpuperf \\-\\-list\\-events"));
	assert_non_null(strstr(buf_str(&out),
			       ".B stack_bytes\n(integer, 8 to 65528, a multiple of 8, bytes; "
			       "groups: all but misc and gpu; sampling only)\n"));
	assert_non_null(strstr(buf_str(&out),
			       ".B compression\n(string, \"none\", \"zstd\" or \"zstd:1\" to "
			       "\"zstd:19\", default \"none\"; sampling only)\n"));
	assert_non_null(strstr(buf_str(&out),
			       ".B branch_filter\n(array of any, any_call, any_return, "
			       "indirect_call, indirect_jump, conditional, call and call_stack, "
			       "not empty; "));
	assert_non_null(strstr(buf_str(&out), ".B metrics\n(array)\n"));
	assert_non_null(strstr(buf_str(&out), ".B expr\n(string, not empty, required)\n"));
	assert_non_null(strstr(buf_str(&out), ".B warn_below\n(number)\n"));
	for (const char *p = strstr(buf_str(&out), "\n."); p; p = strstr(p + 1, "\n."))
		assert_non_null(strchr("TBSb", p[2])); /* no text became a request */
	buf_fini(&out);
}

TEST(flag_names)
{
	static const struct {
		enum spec_flag flag;
		const char *name;
	} flags[] = {
	    {SPEC_OS, "os"},
	    {SPEC_USER, "user"},
	    {SPEC_PC, "pc"},
	    {SPEC_LAST_BRANCH, "last_branch"},
	    {SPEC_TIMEBASE, "timebase"},
	    {SPEC_CALLCHAIN, "callchain"},
	    {SPEC_USER_STACK, "user_stack"},
	    {SPEC_PRECISE, "precise"},
	    {SPEC_PINNED, "pinned"},
	    {SPEC_NO_IDLE, "no_idle"},
	    {SPEC_GUEST, "guest"},
	    {SPEC_HOST, "host"},
	    {SPEC_WAKER, "waker"},
	    {SPEC_UNSAFE, "unsafe"},
	    {SPEC_ADAPTIVE, "adaptive"},
	    {SPEC_OPTIONAL, "optional"},
	    {0, "?"},
	    {SPEC_OPTIONAL << 1, "?"},
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		assert_string_equal(spec_flag_name(flags[i].flag), flags[i].name);
}

/* Each word of branch_filter sets the bit that its name says. */
TEST(branch_words)
{
	static const struct {
		enum spec_branch kind;
		const char *word;
	} kinds[] = {
	    {SPEC_BRANCH_ANY, "any"},
	    {SPEC_BRANCH_ANY_CALL, "any_call"},
	    {SPEC_BRANCH_ANY_RETURN, "any_return"},
	    {SPEC_BRANCH_INDIRECT_CALL, "indirect_call"},
	    {SPEC_BRANCH_INDIRECT_JUMP, "indirect_jump"},
	    {SPEC_BRANCH_CONDITIONAL, "conditional"},
	    {SPEC_BRANCH_CALL, "call"},
	    {SPEC_BRANCH_CALL_STACK, "call_stack"},
	};
	const struct key_row *row = key_find(KEY_EVENT, "branch_filter");

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		assert_int_equal(kinds[i].kind, 1u << i);
		assert_string_equal(row->words[i], kinds[i].word);
	}
	assert_null(row->words[sizeof(kinds) / sizeof(kinds[0])]);
}

TEST(zstd_levels)
{
	const struct key_row *row = key_find(KEY_SPEC, "compression");
	struct spec s;

	spec_init(&s);
	assert_int_equal(spec_zstd_level(&s), 0);
	s.compression = "zstd";
	assert_int_equal(spec_zstd_level(&s), 3);
	for (int level = 1; level <= 19; level++) {
		s.compression = row->words[1 + level];
		assert_int_equal(spec_zstd_level(&s), level);
	}
	assert_null(row->words[21]);
	spec_fini(&s);
}
