/*
 * Scalar keys from options, the checks over the whole spec, and durations that only options give.
 */
#include "kit.h"

#include "base/buf.h"
#include "spec/spec.h"

static char long_text[4096];

/* Names separated by commas, with the limits of the array; errors have a column. */
TEST(lists)
{
	static const struct {
		const char *value;
		int rc;
		size_t nr;
		const char *last;
		unsigned column;
	} cases[] = {
	    {"page_faults", 0, 1, "page_faults", 0},
	    {"page_faults,software:task_clock", 0, 2, "software:task_clock", 0},
	    {"cpu/event=1,umask=2/,b", 0, 2, "b", 0},
	    {"1,2,3,4,5,6,7,8", 0, 8, "8", 0},
	    {"1,2,3,4,5,6,7,8,9", -ERANGE, 0, NULL, 17},
	    {"", -EINVAL, 0, NULL, 1},
	    {"a,,b", -EINVAL, 0, NULL, 3},
	    {"a,", -EINVAL, 0, NULL, 3},
	    {"\303\244,b,\377", -EINVAL, 0, NULL, 5},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = {.code = 0};
		struct spec s;

		spec_init(&s);
		s.regions.counts_pos = (struct spec_pos){3, 4};
		assert_int_equal(spec_override(&s, "region_counts", cases[i].value, "--option", &e),
				 cases[i].rc);
		assert_int_equal(e.column, cases[i].column);
		assert_int_equal(s.regions.counts.nr, cases[i].nr);
		assert_int_equal(s.regions.counts_pos.line, cases[i].rc ? 3 : 0);
		if (cases[i].nr)
			assert_string_equal(s.regions.counts.item[cases[i].nr - 1], cases[i].last);
		spec_fini(&s);
	}
}

TEST(numbers)
{
	static const struct {
		const char *key, *value;
		int rc;
		size_t offset;
		uint64_t expected;
	} cases[] = {
	    {"duration", "10", 0, offsetof(struct spec, duration_ns), 10000000000},
	    {"duration", "0", 0, offsetof(struct spec, duration_ns), 0},
	    {"duration", "10ms", 0, offsetof(struct spec, duration_ns), 10000000},
	    {"duration", "0.5s", 0, offsetof(struct spec, duration_ns), 500000000},
	    {"duration", "2m", 0, offsetof(struct spec, duration_ns), 120000000000},
	    {"duration", "31536000", 0, offsetof(struct spec, duration_ns), 31536000000000000},
	    {"duration", "31536000.001", -ERANGE, 0, 0},
	    {"duration", "31536001s", -ERANGE, 0, 0},
	    {"duration", "99999999999999999999", -ERANGE, 0, 0},
	    {"duration", "-1", -EINVAL, 0, 0},
	    {"duration", "", -EINVAL, 0, 0},
	    {"duration", "1 s", -EINVAL, 0, 0},
	    {"duration", "ten", -EINVAL, 0, 0},
	    {"flush_interval", "1ms", 0, offsetof(struct spec, flush_interval_ns), 1000000},
	    {"flush_interval", "999us", -ERANGE, 0, 0},
	    {"flush_interval", "0", -ERANGE, 0, 0},
	    {"num_iterations", "1000000000", 0, offsetof(struct spec, num_iterations), 1000000000},
	    {"num_iterations", "1000000001", -ERANGE, 0, 0},
	    {"num_iterations", "0", 0, offsetof(struct spec, num_iterations), 0},
	    {"num_iterations", "1s", -EINVAL, 0, 0},
	    {"num_iterations", "+1", -EINVAL, 0, 0},
	    {"buffer_size_in_mb", "4096", 0, offsetof(struct spec, buffer_size_in_mb), 4096},
	    {"buffer_size_in_mb", "4097", -ERANGE, 0, 0},
	    {"events", "1", -EINVAL, 0, 0},
	    {"rate", "1", -EINVAL, 0, 0},
	    {"nonsense", "1", -EINVAL, 0, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = {.code = 0};
		struct spec s, before;
		uint64_t v;

		spec_init(&s);
		before = s;
		assert_int_equal(spec_override(&s, cases[i].key, cases[i].value, "--option", &e),
				 cases[i].rc);
		assert_int_equal(e.code, cases[i].rc);
		memcpy(&v, (char *)&s + cases[i].offset, sizeof(v));
		if (cases[i].rc == 0) {
			assert_int_equal(v, cases[i].expected);
		} else {
			assert_memory_equal(&s, &before, sizeof(s));
			assert_string_equal(e.source, "--option");
			assert_non_null(strstr(e.msg, cases[i].key));
		}
		spec_fini(&s);
	}
}

TEST(retain)
{
	static const struct {
		const char *value;
		int rc;
		struct spec_retain expected;
	} cases[] = {
	    {"iterations:1000", 0, {.iterations = 1000}},
	    {"seconds:1h", 0, {.span_ns = 3600000000000}},
	    {"bytes:65536", 0, {.bytes = 65536}},
	    {"bytes:1GiB,iterations:5,seconds:0.5", 0, {5, 500000000, 1 << 30}},
	    {"bytes:8388608TiB", -ERANGE, {0}},
	    {"bytes:99999999TiB", -ERANGE, {0}},
	    {"bytes:64KB", -EINVAL, {0}},
	    {"bytes:64k", -EINVAL, {0}},
	    {"bytes:1000", -ERANGE, {0}},
	    {"seconds:0", -ERANGE, {0}},
	    {"iterations:0", -ERANGE, {0}},
	    {"iterations:", -EINVAL, {0}},
	    {"iterations:1,iterations:2", -EINVAL, {0}},
	    {"iterations:1,", -EINVAL, {0}},
	    {"iterations", -EINVAL, {0}},
	    {"1000", -EINVAL, {0}},
	    {"", -EINVAL, {0}},
	    {"hours:3", -EINVAL, {0}},
	    {"a text that is longer than all the names of keys and any number behind it:1",
	     -EINVAL,
	     {0}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = {.code = 0};
		struct spec s;

		spec_init(&s);
		assert_int_equal(spec_override(&s, "retain", cases[i].value, "--retain", &e),
				 cases[i].rc);
		assert_memory_equal(&s.retain, &cases[i].expected, sizeof(s.retain));
		assert_int_equal(spec_has_retain(&s), cases[i].rc == 0);
		assert_string_equal(e.source, cases[i].rc ? "--retain" : "");
		spec_fini(&s);
	}
}

TEST(booleans)
{
	struct err e = {0};
	struct spec s;

	spec_init(&s);
	assert_int_equal(spec_override(&s, "regions", "true", "program", &e), 0);
	assert_true(s.regions.is_wanted);
	assert_int_equal(spec_override(&s, "regions", "false", "program", &e), 0);
	assert_false(s.regions.is_wanted);
	assert_int_equal(spec_override(&s, "regions", "yes", "program", &e), -EINVAL);
	assert_non_null(strstr(e.msg, "\"yes\" is not true or false"));
	assert_false(s.regions.is_wanted);
	spec_fini(&s);
}

TEST(strings)
{
	static const struct {
		const char *key, *value;
		int rc;
		size_t offset;
	} cases[] = {
	    {"config_name", "caf\xc3\xa9", 0, offsetof(struct spec, config_name)},
	    {"config_name", "", 0, offsetof(struct spec, config_name)},
	    {"config_name", "\xff", -EINVAL, 0},
	    {"model_name", "skl", 0, offsetof(struct spec, model_name)},
	    {"model_name", "", -ERANGE, 0},
	    {"output_path_prefix", "", 0, offsetof(struct spec, output_path_prefix)},
	    {"output_path_prefix", long_text, -ERANGE, 0},
	    {"output_path_prefix", long_text + sizeof(long_text) - 3800, 0,
	     offsetof(struct spec, output_path_prefix)},
	    {"session_result_spec_path", "/x.cpsession", 0,
	     offsetof(struct spec, session_result_spec_path)},
	    {"session_result_spec_path", "", 0, offsetof(struct spec, session_result_spec_path)},
	    {"session_result_spec_path", "/x", -EINVAL, 0},
	    {"session_result_spec_path", "cpsession", -EINVAL, 0},
	    {"session_result_spec_path", "/x.cpsession/", -EINVAL, 0},
	    {"compression", "none", 0, offsetof(struct spec, compression)},
	    {"compression", "zstd", 0, offsetof(struct spec, compression)},
	    {"compression", "zstd:19", 0, offsetof(struct spec, compression)},
	    {"compression", "zstd:20", -EINVAL, 0},
	    {"compression", "zstd:", -EINVAL, 0},
	    {"compression", "ZSTD", -EINVAL, 0},
	    {"compression", "", -EINVAL, 0},
	};

	memset(long_text, 'p', sizeof(long_text) - 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = {.code = 0};
		const char *v;
		struct spec s;

		spec_init(&s);
		assert_int_equal(spec_override(&s, cases[i].key, cases[i].value, "--option", &e),
				 cases[i].rc);
		memcpy(&v, (char *)&s + cases[i].offset, sizeof(v));
		if (cases[i].rc == 0)
			assert_string_equal(v, cases[i].value);
		else
			assert_non_null(strstr(e.msg, cases[i].key));
		spec_fini(&s);
	}
}

TEST(durations_in_json)
{
	static const struct {
		const char *value, *json;
	} cases[] = {
	    {"10", "\"duration\":10,"},      {"0", "\"duration\":0,"},
	    {"0.5s", "\"duration\":0.5,"},   {"10ms", "\"duration\":0.01,"},
	    {"1500ms", "\"duration\":1.5,"}, {"1ns", "\"duration\":0.000000001,"},
	    {"1000ms", "\"duration\":1,"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf json;
		struct spec s;

		buf_init(&json, 1 << 16);
		spec_init(&s);
		assert_int_equal(spec_override(&s, "duration", cases[i].value, "", NULL), 0);
		spec_to_json(&s, &json);
		assert_non_null(strstr(buf_str(&json), cases[i].json));
		spec_fini(&s);
		buf_fini(&json);
	}
}

/* Of the manifest's path the value that counts is judged: the option's. */
TEST(check_suffix)
{
	static const char text[] = "{ \"session_result_spec_path\": \"/t/x\", \"events\": [ { "
				   "\"group_name\": \"misc\", \"event_name\": \"m\" } ] }";
	struct err_list errs = {.nr = 0};
	struct spec s;

	spec_init(&s);
	assert_int_equal(spec_parse(text, strlen(text), "t", &s, &errs), 0);
	assert_int_equal(spec_check(&s, &errs), -EINVAL);
	assert_int_equal(errs.nr, 1);
	assert_non_null(strstr(errs.item[0].msg, "ending in .cpsession, not the string \"/t/x\""));
	assert_int_equal(errs.item[0].column, 31);
	errs.nr = 0;
	assert_int_equal(
	    spec_override(&s, "session_result_spec_path", "/t/x.cpsession", "--option", NULL), 0);
	assert_int_equal(spec_check(&s, &errs), 0);
	spec_fini(&s);
}

TEST(check)
{
	static const char text[] = "{ \"events\": [ { \"group_name\": \"misc\", "
				   "\"event_name\": \"m\" } ] }";
	struct err_list errs = {.nr = 0};
	struct spec s;

	spec_init(&s);
	assert_int_equal(spec_check(&s, &errs), -EINVAL);
	assert_int_equal(errs.nr, 1);
	assert_string_equal(errs.item[0].msg, "No events specified");
	errs.nr = 0;
	assert_int_equal(spec_parse(text, strlen(text), "t", &s, &errs), 0);
	assert_int_equal(spec_override(&s, "duration", "10ms", "--duration", NULL), 0);
	assert_int_equal(spec_check(&s, &errs), 0);
	assert_false(spec_is_sampling(&s));
	s.events[0].flags |= SPEC_TIMEBASE;
	assert_true(spec_is_sampling(&s));
	s.events[0].flags &= ~(unsigned)SPEC_TIMEBASE;
	s.events[0].frequency = 3;
	assert_true(spec_is_sampling(&s));
	s.events[0].frequency = 0;
	s.events[0].rate = 3;
	assert_true(spec_is_sampling(&s));
	assert_int_equal(spec_check(&s, &errs), -EINVAL);
	assert_non_null(strstr(errs.item[0].msg, "misc:m: a misc event cannot have a rate"));
	/* a failed parse leaves nothing of what was there */
	assert_int_equal(spec_parse("{", 1, "t", &s, &errs), -EINVAL);
	assert_int_equal(s.nr_events, 0);
	assert_int_equal(s.duration_ns, 10000000000);
	spec_fini(&s);
}

TEST(spelled_events)
{
	static const struct {
		const char *list;
		int rc; /* of the last event */
		unsigned nr, column;
		const char *name;
		uint64_t rate, frequency, every_ns, longer_ns;
		const char *when;
	} cases[] = {
	    {"a", 0, 1, 1, "a", 0, 0},
	    {"a,b:c@997Hz", 0, 2, 3, "b:c", 0, 997},
	    {"a@1hz", 0, 1, 1, "a", 0, 1},
	    {"a@10000", 0, 1, 1, "a", 10000, 0},
	    {"x:cpu/a=1,b=2/,c", 0, 2, 16, "c", 0, 0},
	    {"gpu:pm/a,gpu:pm/b@0.1s,c/d=1,e=2/,usdt:/f/g:h:i,gpu:pm/j", 0, 5, 49, "gpu:pm/j", 0,
	     0},
	    {"gpux:pm/a,b/", 0, 1, 1, "gpux:pm/a,b/", 0, 0},
	    {"x:cpu/a=1,b=2/@7", 0, 1, 1, "x:cpu/a=1,b=2/", 7, 0},
	    {"function:o<int, p<long, int> >@3,c", 0, 2, 34, "c", 0, 0},
	    {"function:operator<,function:operator->(int, x),c", 0, 3, 48, "c", 0, 0},
	    {"function:f(std::map<int, int>, int)", 0, 1, 1, "function:f(std::map<int, int>, int)",
	     0, 0},
	    {"function:f(a:int, b:long)>int@5", 0, 1, 1, "function:f(a:int, b:long)>int", 5, 0},
	    {"function:f(a:int, b:long)>int,c", 0, 2, 31, "c", 0, 0},
	    {"function:work@@VER_2", 0, 1, 1, "function:work@@VER_2", 0, 0},
	    {"function:work@@VER_2@7", 0, 1, 1, "function:work@@VER_2", 7, 0},
	    {"function:work@", -EINVAL, 0, 15, NULL, 0, 0, 0},
	    {"a@0.1s", 0, 1, 1, "a", 0, 0, 100000000},
	    {"a@1ms", 0, 1, 1, "a", 0, 0, 1000000},
	    {"a,b@2m", 0, 2, 3, "b", 0, 0, 120000000000},
	    {"a@1h", 0, 1, 1, "a", 0, 0, 3600000000000},
	    {"a@999us", -EINVAL, 0, 3, NULL, 0, 0, 0},
	    {"a@3601s", -EINVAL, 0, 3, NULL, 0, 0, 0},
	    {"a@0s", -EINVAL, 0, 3, NULL, 0, 0, 0},
	    {"a@s", -EINVAL, 0, 3, NULL, 0, 0, 0},
	    {"a@0.1", -EINVAL, 0, 3, NULL, 0, 0, 0},
	    {"function:f(a:int, b:str)>int@>10ms", 0, 1, 1, "function:f(a:int, b:str)>int", 1, 0, 0,
	     10000000},
	    {"function:f(a:int, b:str)>int@a<5 and return >= -1,b@7", 0, 2, 51, "b", 7, 0},
	    {"b,function:f(a:int, b:str)>int@a<5 and return >= -1", 0, 2, 3,
	     "function:f(a:int, b:str)>int", 1, 0, 0, 0, "a<5 and return >= -1"},
	    {"function:work@@VER_2@_a!=0", 0, 1, 1, "function:work@@VER_2", 1, 0, 0, 0, "_a!=0"},
	    {"function:o<int>@duration>1us", 0, 1, 1, "function:o<int>", 1, 0, 0, 0,
	     "duration>1us"},
	    {"function:f(a:int)@a>5x", -EINVAL, 0, 21, NULL},
	    {"b,function:f(a:int)@a>5 nor a<3", -EINVAL, 1, 25, NULL},
	    {"b,function:f(a:str)@a == \"x,@5)\" or a ~ 'y\",*',c", 0, 3, 48, "c", 0, 0},
	    {"function:f(a:str)@a == \"x,@5)\" or a ~ 'y\",(@b*'", 0, 1, 1, "function:f(a:str)", 1,
	     0, 0, 0, "a == \"x,@5)\" or a ~ 'y\",(@b*'"},
	    {"function:f(a:str)@a ~ 'x*'", 0, 1, 1, "function:f(a:str)", 1, 0, 0, 0, "a ~ 'x*'"},
	    {"function:f(a:str)@a == \"x,b", -EINVAL, 0, 24, NULL},
	    {"function:work'@7,b\",c", 0, 3, 21, "c", 0, 0},
	    {"function:f(a, cpu-clock", -EINVAL, 0, 11, NULL},
	    {"b,function:\xc3\xa4((a), cpu-clock@997Hz", -EINVAL, 1, 13, NULL},
	    {"b,function:f(a)(b,c", -EINVAL, 1, 16, NULL},
	    {"function:f(a", -EINVAL, 0, 11, NULL},
	    {"function:f(a, *", 0, 1, 1, "function:f(a, *", 0, 0},
	    {"function:f)(a),b", 0, 2, 16, "b", 0, 0},
	    {"function:f(a:int)@(a>5 and (a<7),b", -EINVAL, 0, 19, NULL},
	    {"function:f(a:str)@a == \"(,\",b", 0, 2, 29, "b", 0, 0},
	    {"usdt:f(a,b", 0, 2, 10, "b", 0, 0},
	    {"a@b>5", -EINVAL, 0, 3, NULL},
	    {"a@>1us,b", 0, 2, 8, "b", 0, 0, 0, 0},
	    {"a@>999ns", -EINVAL, 0, 3, NULL, 0, 0, 0},
	    {"a@>5", -EINVAL, 0, 3, NULL, 0, 0, 0},
	    {"a@>", -EINVAL, 0, 3, NULL, 0, 0, 0},
	    {"a@1.00000000000000000000000000000000000s", -EINVAL, 0, 3, NULL, 0, 0, 0},
	    {"\xc3\xa4,b", 0, 2, 3, "b", 0, 0},
	    {"", -EINVAL, 0, 1, NULL, 0, 0},
	    {"a,", -EINVAL, 1, 3, NULL, 0, 0},
	    {"a,,b", -EINVAL, 1, 3, NULL, 0, 0},
	    {"@5", -EINVAL, 0, 1, NULL, 0, 0},
	    {"a,b@", -EINVAL, 1, 5, NULL, 0, 0},
	    {"a@0", -EINVAL, 0, 3, NULL, 0, 0},
	    {"a@0Hz", -EINVAL, 0, 3, NULL, 0, 0},
	    {"a@Hz", -EINVAL, 0, 3, NULL, 0, 0},
	    {"a@5MHz", -EINVAL, 0, 3, NULL, 0, 0},
	    {"a@-5", -EINVAL, 0, 3, NULL, 0, 0},
	    {"a@99999999999999999999", -EINVAL, 0, 3, NULL, 0, 0},
	    {"a@1000000001Hz", -EINVAL, 0, 3, NULL, 0, 0},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct spec_spelled last = {0};
		struct err e = {0};
		unsigned nr = 0;
		size_t at = 0;
		int rc;

		while ((rc = spec_scan_event(cases[i].list, &at, "--event", &last, &e)) > 0)
			nr++;
		assert_int_equal(rc, cases[i].rc);
		assert_int_equal(nr, cases[i].nr);
		if (rc) {
			assert_string_equal(e.source, "--event");
			assert_int_equal(e.column, cases[i].column);
			continue;
		}
		assert_int_equal(last.len, strlen(cases[i].name));
		assert_memory_equal(last.name, cases[i].name, last.len);
		assert_int_equal(last.column, cases[i].column);
		assert_int_equal(last.rate, cases[i].rate);
		assert_int_equal(last.frequency, cases[i].frequency);
		assert_int_equal(last.every_ns, cases[i].every_ns);
		assert_int_equal(last.longer_ns, cases[i].longer_ns);
		assert_int_equal(last.when ? last.when_len : 0,
				 cases[i].when ? strlen(cases[i].when) : 0);
		if (cases[i].when)
			assert_memory_equal(last.when, cases[i].when, last.when_len);
	}
}

static struct spec *parsed(struct spec *s, const char *text)
{
	struct err_list errs = {.nr = 0};

	spec_init(s);
	assert_int_equal(spec_parse(text, strlen(text), "t", s, &errs), 0);
	return s;
}

#define PAIR                                                                                       \
	"{\"events\":[{\"group_name\":\"g\",\"event_name\":\"a\"},"                                \
	"{\"group_name\":\"g\",\"event_name\":\"a\",\"rate\":5,\"flags\":[\"user_stack\"]}]}"

/* An event is changed where it is; of a counted and a sampled one, that which is alike. */
TEST(named_events)
{
	struct err_list errs = {.nr = 0};
	struct spec s;

	parsed(&s, PAIR);
	assert_int_equal(spec_name_event(&s, "g", "a", 0, 99), 0);
	assert_int_equal(s.nr_events, 2);
	assert_int_equal(s.events[0].frequency, 0);
	assert_int_equal(s.events[1].frequency, 99);
	assert_int_equal(s.events[1].rate, 0);
	assert_true(s.events[1].flags & SPEC_USER_STACK);
	assert_false(s.events[1].flags & SPEC_PC);
	assert_int_equal(spec_name_event(&s, "h", "a", 7, 0), 0);
	assert_int_equal(s.nr_events, 3);
	assert_int_equal(s.events[2].rate, 7);
	assert_int_equal(s.events[2].flags, SPEC_OS | SPEC_USER | SPEC_PC);
	/* what was named before stays, and is named in another way only */
	assert_int_equal(spec_name_event(&s, "h", "a", 7, 0), -EEXIST);
	assert_int_equal(spec_name_event(&s, "h", "a", 0, 0), 0);
	assert_int_equal(s.nr_events, 4);
	assert_int_equal(s.events[2].rate, 7);
	assert_int_equal(s.events[3].rate, 0);
	assert_int_equal(s.events[3].flags, SPEC_OS | SPEC_USER);
	assert_int_equal(spec_check(&s, &errs), 0);
	spec_fini(&s);
}

/* Its pace is changed where it is named with one, and else stays. */
TEST(named_paces)
{
	struct err_list errs = {.nr = 0};
	struct spec s;

	parsed(&s, "{\"events\":[{\"group_name\":\"misc\",\"event_name\":\"a\",\"every\":7},"
		   "{\"group_name\":\"gpu\",\"event_name\":\"a\",\"every\":0.5}]}");
	assert_int_equal(s.events[0].every_ns, 7000000000);
	assert_int_equal(spec_name_misc(&s, "gpu", "a", 0), 0);
	assert_int_equal(spec_name_misc(&s, "misc", "a", 2000000), 0);
	assert_int_equal(spec_name_misc(&s, "misc", "a", 3000000), -EEXIST);
	assert_int_equal(spec_name_misc(&s, "misc", "b", 4000000), 0);
	assert_int_equal(s.nr_events, 3);
	assert_int_equal(s.events[0].every_ns, 2000000);
	assert_int_equal(s.events[1].every_ns, 500000000);
	assert_int_equal(s.events[2].every_ns, 4000000);
	assert_int_equal(spec_check(&s, &errs), 0);
	assert_false(spec_is_sampling(&s));
	spec_fini(&s);
}

static int name_longer(struct spec *s, const char *name, uint64_t longer_ns)
{
	return spec_name_ended(s, "function", name, &(struct spec_ended){.longer_ns = longer_ns});
}

static int name_when(struct spec *s, const char *name, const char *when)
{
	const struct spec_ended ended = {.when = when, .when_source = "o", .when_column = 7};

	return spec_name_ended(s, "function", name, &ended);
}

/* Another duration is another event; the spec's own takes that of the option. */
TEST(named_durations)
{
	struct err_list errs = {.nr = 0};
	struct spec s;

	parsed(&s, "{\"events\":[{\"group_name\":\"function\",\"event_name\":\"a\","
		   "\"longer_than\":7,\"flags\":[\"callchain\"]}]}");
	assert_int_equal(s.events[0].rate, 1);
	assert_int_equal(name_longer(&s, "a", 1000), 0);
	assert_int_equal(name_longer(&s, "a", 1000), -EEXIST);
	assert_int_equal(name_longer(&s, "a", 2000), 0);
	assert_int_equal(s.nr_events, 2);
	assert_int_equal(name_when(&s, "c", "return<0"), 0);
	assert_int_equal(name_when(&s, "c", "return<0"), -EEXIST);
	assert_int_equal(name_when(&s, "c", "return<1"), 0);
	assert_int_equal(s.nr_events, 4);
	assert_string_equal(s.events[2].when, "return<0");
	assert_string_equal(s.events[3].when, "return<1");
	assert_int_equal(spec_when_pos(&s.events[3], 6).line, 1);
	assert_int_equal(spec_when_pos(&s.events[3], 6).column, 13);
	assert_int_equal(spec_check(&s, &errs), 0);
	s.nr_events = 2;
	assert_int_equal(s.events[0].longer_ns, 1000);
	assert_true(s.events[0].flags & SPEC_CALLCHAIN);
	assert_int_equal(s.events[1].longer_ns, 2000);
	assert_int_equal(s.events[1].rate, 1);
	assert_int_equal(spec_name_event(&s, "function", "a", 0, 0), 0);
	assert_int_equal(s.events[2].longer_ns, 0);
	assert_int_equal(spec_check(&s, &errs), 0);
	spec_fini(&s);
}

/* The only one is counted, and nothing is left of its samples. */
/* A rate that an option names is the one that is wanted. */
TEST(a_named_rate_does_not_adapt)
{
	static const char text[] =
	    "{\"sampling\":{\"rate\":4096,\"flags\":[\"callchain\",\"adaptive\"]},\"events\":["
	    "{\"group_name\":\"heap\",\"event_name\":\"live\",\"sampled\":true},"
	    "{\"group_name\":\"heap\",\"event_name\":\"peak\",\"sampled\":true}]}";
	static struct err_list errs;
	struct spec s;

	spec_init(&s);
	assert_int_equal(spec_parse(text, strlen(text), "t", &s, &errs), 0);
	assert_int_equal(s.events[0].flags & SPEC_ADAPTIVE, SPEC_ADAPTIVE);
	assert_int_equal(spec_name_event(&s, "heap", "live", 4096, 0), 0);
	assert_int_equal(s.nr_events, 2);
	assert_int_equal(s.events[0].rate, 4096);
	assert_int_equal(s.events[0].flags & (SPEC_ADAPTIVE | SPEC_CALLCHAIN), SPEC_CALLCHAIN);
	assert_int_equal(s.events[1].flags & SPEC_ADAPTIVE, SPEC_ADAPTIVE);
	spec_fini(&s);
}

TEST(event_named_as_counted)
{
	struct err_list errs = {.nr = 0};
	struct spec s;

	parsed(&s, PAIR);
	s.events[0].event_name = "b";
	assert_int_equal(spec_name_event(&s, "g", "a", 0, 0), 0);
	assert_int_equal(s.events[1].flags, SPEC_OS | SPEC_USER);
	assert_int_equal(s.events[1].stack_bytes, 0);
	assert_int_equal(spec_check(&s, &errs), 0);
	spec_fini(&s);
}

TEST(too_many_named_events)
{
	static char names[SPEC_MAX_PERF_EVENTS + SPEC_MAX_MISC_EVENTS + 2][8];
	struct spec s;
	int rc = 0;

	spec_init(&s);
	for (size_t i = 0; i < NR(names) && rc == 0; i++) {
		snprintf(names[i], sizeof(names[i]), "n%zu", i);
		rc = spec_name_event(&s, "g", names[i], 0, 0);
	}
	assert_int_equal(rc, -E2BIG);
	assert_int_equal(s.nr_events, NR(names) - 1);
	spec_fini(&s);
}

TEST(sampled_clock)
{
	static const struct {
		const char *key, *value;
		int rc;
		uint64_t rate, frequency;
	} cases[] = {
	    {"frequency", "997", 0, 0, 997},       {"rate", "1000000", 0, 1000000, 0},
	    {"frequency", "0", -ERANGE, 0, 0},     {"rate", "0", -ERANGE, 0, 0},
	    {"frequency", "997Hz", -EINVAL, 0, 0}, {"rate", "", -EINVAL, 0, 0},
	};
	struct spec s;

	for (size_t i = 0; i < NR(cases); i++) {
		struct err e = {0};

		spec_init(&s);
		assert_int_equal(spec_sample_clock(&s, cases[i].key, cases[i].value, "--option",
						   "software", "cpu_clock", &e),
				 cases[i].rc);
		assert_int_equal(s.nr_events, cases[i].rc == 0);
		if (cases[i].rc)
			assert_string_equal(e.source, "--option");
		if (cases[i].rc == -ERANGE)
			assert_non_null(strstr(e.msg, "from 1 to"));
		if (cases[i].rc == 0)
			assert_true(s.events[0].rate == cases[i].rate &&
				    s.events[0].frequency == cases[i].frequency);
		spec_fini(&s);
	}
	/* cycles that are sampled are the clock; what is counted stays */
	parsed(&s, "{\"events\":[{\"group_name\":\"software\",\"event_name\":\"task_clock\"},"
		   "{\"group_name\":\"fixed\",\"event_name\":\"unhalted_core_cycles\","
		   "\"rate\":5}]}");
	assert_int_equal(spec_sample_clock(&s, "frequency", "9", "", "software", "cpu_clock", NULL),
			 0);
	assert_int_equal(s.nr_events, 2);
	assert_false(spec_event_is_sampled(&s.events[0]));
	assert_int_equal(s.events[1].frequency, 9);
	assert_int_equal(s.events[1].rate, 0);
	spec_fini(&s);
}

TEST(callgraphs)
{
	struct spec s;

	parsed(&s, PAIR);
	for (const struct spec_callgraph *how = spec_callgraphs; how->name; how++) {
		s.events[1].max_frequency = 7;
		spec_set_callgraph(&s, how);
		assert_int_equal(s.events[1].max_frequency, how->is_aggregated ? 0 : 7);
		assert_int_equal(s.events[0].flags, SPEC_OS | SPEC_USER);
		assert_int_equal(s.events[1].flags, SPEC_OS | SPEC_USER | how->flags);
		assert_int_equal(s.events[1].stack_bytes, how->stack_bytes);
		assert_int_equal(!how->stack_bytes,
				 how->is_unwound || !(how->flags & SPEC_USER_STACK));
		assert_int_equal(s.events[0].is_aggregated, false);
		assert_int_equal(s.events[1].is_aggregated, how->is_aggregated);
		assert_int_equal(s.events[1].is_unwound, how->is_unwound);
	}
	s.events[1].flags |= SPEC_TIMEBASE;
	for (const struct spec_callgraph *how = spec_callgraphs; how->name; how++) {
		spec_set_callgraph(&s, how);
		assert_false(s.events[1].is_aggregated);
	}
	s.events[1].flags = SPEC_OS | SPEC_USER;
	s.events[1].group_name = "heap"; /* has its stacks in one way */
	for (const struct spec_callgraph *how = spec_callgraphs; how->name; how++) {
		spec_set_callgraph(&s, how);
		assert_int_equal(s.events[1].flags, SPEC_OS | SPEC_USER | SPEC_CALLCHAIN);
		assert_int_equal(s.events[1].stack_bytes, 0);
		assert_false(s.events[1].is_aggregated);
	}
	spec_fini(&s);
}

/* Two events that differ in what is set stay two: the first one is changed. */
TEST(named_stay_different)
{
	struct err_list errs = {.nr = 0};
	struct spec s;

	parsed(&s, "{\"events\":[{\"group_name\":\"function\",\"event_name\":\"a\",\"rate\":5},"
		   "{\"group_name\":\"function\",\"event_name\":\"a\",\"rate\":7}]}");
	assert_int_equal(name_longer(&s, "a", 1000), 0);
	assert_int_equal(s.nr_events, 2);
	assert_int_equal(s.events[0].longer_ns, 1000);
	assert_int_equal(s.events[0].rate, 1);
	assert_int_equal(s.events[1].longer_ns, 0);
	assert_int_equal(s.events[1].rate, 7);
	assert_int_equal(spec_check(&s, &errs), 0);
	assert_int_equal(name_longer(&s, "a", 2000), 0);
	assert_int_equal(s.events[1].longer_ns, 2000);
	spec_fini(&s);
}

/* Keys of functions are options, too. */
TEST(functions)
{
	static const struct {
		const char *key, *value, *error;
	} wrong[] = {
	    {"functions_include", "a,,b",
	     "o:1:3: functions_include: the name of a pattern is missing"},
	    {"functions_min_size", "x", "o: min_size must be an integer"},
	    {"functions_depth", "1001", "o: depth must be an integer"},
	    {"functions_loops", "maybe", "o: loops: \"maybe\" is not true or false"},
	};
	struct err_list errs = {.nr = 0};
	struct spec s;

	parsed(&s, "{\"events\":[{\"group_name\":\"function\",\"event_name\":\"a\"}],"
		   "\"functions\":{\"exclude\":[\"x\"],\"min_size\":9}}");
	assert_int_equal(spec_override(&s, "functions_include", "a*,lib.so:b", "o", NULL), 0);
	assert_int_equal(spec_override(&s, "functions_loops", "true", "o", NULL), 0);
	assert_int_equal(spec_override(&s, "functions_depth", "3", "o", NULL), 0);
	assert_int_equal(s.functions.include.nr, 2);
	assert_string_equal(s.functions.include.item[1], "lib.so:b");
	assert_string_equal(s.functions.exclude.item[0], "x");
	assert_int_equal(s.functions.min_size, 9);
	assert_true(s.functions.has_loops && s.functions.depth == 3);
	assert_int_equal(spec_check(&s, &errs), -EINVAL);
	assert_non_null(strstr(errs.item[0].msg, "requires callers_of"));
	assert_int_equal(spec_override(&s, "functions_callers_of", "c", "o", NULL), 0);
	errs.nr = 0;
	assert_int_equal(spec_check(&s, &errs), 0);
	s.events[0].group_name = "software";
	assert_int_equal(spec_check(&s, &errs), -EINVAL);
	assert_non_null(strstr(errs.item[0].msg, "no event is one of the group function"));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		char text[512];
		struct err e = {0};

		assert_int_not_equal(spec_override(&s, wrong[i].key, wrong[i].value, "o", &e), 0);
		err_format(&e, text, sizeof(text));
		assert_non_null(strstr(text, strchr(wrong[i].error, ' ') + 1));
		assert_memory_equal(text, wrong[i].error, strcspn(wrong[i].error, " "));
	}
	spec_fini(&s);
}
