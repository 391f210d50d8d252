/*
 * The corpora of specs and session files: each valid one is accepted and comes back from its own
 * JSON; each invalid one gives exactly the errors, at the places, that its .expected names.
 */
#include "kit.h"
#include "paths.h"

#include "base/buf.h"
#include "base/io.h"
#include "spec/cpsession.h"
#include "spec/spec.h"

#include <dirent.h>
#include <sys/mman.h>

static struct err_list errs;

/* Reads a text and appends its JSON; one for each kind of file. */
typedef int reread_fn(const char *path, const char *text, size_t len, struct buf *json);

/* path, or text if path is NULL */
static int reread_spec(const char *path, const char *text, size_t len, struct buf *json)
{
	struct spec s;
	int rc;

	memset(&errs, 0, sizeof(errs));
	spec_init(&s);
	rc = path ? spec_load(path, &s, &errs) : spec_parse(text, len, "again", &s, &errs);
	rc = rc ? rc : spec_check(&s, &errs);
	if (rc == 0)
		spec_to_json(&s, json);
	spec_fini(&s);
	return rc;
}

static int reread_session(const char *path, const char *text, size_t len, struct buf *json)
{
	struct cpsession s;
	int rc;

	memset(&errs, 0, sizeof(errs));
	cpsession_init(&s);
	rc =
	    path ? cpsession_load(path, &s, &errs) : cpsession_parse(text, len, "again", &s, &errs);
	if (rc == 0)
		cpsession_to_json(&s, json);
	cpsession_fini(&s);
	return rc;
}

static void print_errors(const char *name)
{
	char text[1536];

	for (size_t i = 0; i < errs.nr; i++) {
		err_format(&errs.item[i], text, sizeof(text));
		print_error("%s: %s\n", name, text);
	}
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t len = strlen(name), tail = strlen(suffix);

	return len > tail && strcmp(name + len - tail, suffix) == 0;
}

/* Calls check for each file of the folder with that suffix; the number of them. */
static size_t each(const char *folder, const char *suffix, reread_fn *reread,
		   void (*check)(const char *path, reread_fn *reread))
{
	char path[1024];
	DIR *dir = opendir(folder);
	size_t nr = 0;

	assert_non_null(dir);
	for (struct dirent *d = readdir(dir); d; d = readdir(dir)) {
		if (!has_suffix(d->d_name, suffix))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, d->d_name);
		check(path, reread);
		nr++;
	}
	closedir(dir);
	return nr;
}

static void check_valid(const char *path, reread_fn *reread)
{
	struct buf once, twice;

	buf_init(&once, 1 << 20);
	buf_init(&twice, 1 << 20);
	if (reread(path, NULL, 0, &once) != 0) {
		print_errors(path);
		fail_msg("%s is refused", path);
	}
	assert_int_equal(errs.nr, 0);
	assert_int_equal(reread(NULL, buf_str(&once), once.len, &twice), 0);
	assert_string_equal(buf_str(&once), buf_str(&twice));
	buf_fini(&once);
	buf_fini(&twice);
}

/* "LINE:COLUMN: part of the message" against one error. */
static void check_error(const char *path, const char *line, const struct err *e)
{
	char place[32];
	size_t len;

	snprintf(place, sizeof(place), "%u:%u: ", e->line, e->column);
	len = strlen(place);
	if (strncmp(line, place, len) != 0 || !strstr(e->msg, line + len)) {
		print_errors(path);
		fail_msg("%s: expected \"%s\"", path, line);
	}
	assert_string_equal(e->source, path);
}

static void check_invalid(const char *path, reread_fn *reread)
{
	char expected_path[1024], *line, *rest;
	struct buf expected, json;
	size_t nr = 0;

	snprintf(expected_path, sizeof(expected_path), "%.*s.expected",
		 (int)(strrchr(path, '.') - path), path);
	buf_init(&expected, 1 << 16);
	buf_init(&json, 1 << 20);
	assert_int_equal(io_load(AT_FDCWD, expected_path, &expected), 0);
	if (reread(path, NULL, 0, &json) != -EINVAL)
		fail_msg("%s is accepted", path);
	for (line = strtok_r(expected.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		assert_true(nr < errs.nr);
		check_error(path, line, &errs.item[nr++]);
	}
	if (nr != errs.nr)
		print_errors(path);
	assert_int_equal(nr, errs.nr);
	assert_true(nr > 0);
	buf_fini(&expected);
	buf_fini(&json);
}

/* The model as JSON, directly and by way of the file for people. */
static void check_saved(const char *path, reread_fn *reread)
{
	struct buf direct, file, again;
	struct spec s;

	buf_init(&direct, 1 << 22);
	buf_init(&file, 1 << 22);
	buf_init(&again, 1 << 22);
	assert_int_equal(reread(path, NULL, 0, &direct), 0);
	spec_init(&s);
	assert_int_equal(spec_load(path, &s, &errs), 0);
	spec_to_file(&s, true, &file);
	spec_fini(&s);
	assert_int_equal(reread(NULL, buf_str(&file), file.len, &again), 0);
	assert_string_equal(buf_str(&direct), buf_str(&again));
	buf_fini(&again);
	buf_fini(&file);
	buf_fini(&direct);
}

TEST(saved_specs)
{
	assert_true(
	    each(SOURCE_DIR "/tests/data/specs/valid", ".cpspec", reread_spec, check_saved) > 10);
	assert_true(each(SOURCE_DIR "/specs", ".cpspec", reread_spec, check_saved) > 10);
}

TEST(saved_text)
{
	static const char text[] =
	    "{ \"events\": [ { \"group_name\": \"software\", \"event_name\": \"cpu_clock\", "
	    "\"frequency\": 99, \"flags\": [ \"user_stack\" ] }, { \"group_name\": \"misc\", "
	    "\"event_name\": \"m\", \"label\": \"x\" } ], \"duration\": 0.25, "
	    "\"output_path_prefix\": \"\" }";
	static const char events[] =
	    "  \"events\": [\n"
	    "    {\"group_name\":\"software\",\"event_name\":\"cpu_clock\",\"frequency\":99,"
	    "\"flags\":[\"user_stack\"],\"stack_bytes\":16384},\n"
	    "    {\"group_name\":\"misc\",\"event_name\":\"m\",\"label\":\"x\"}\n"
	    "  ]\n"
	    "}\n";
	static const char *const time[] = {"", "  \"duration\": 0.25,\n  \"num_iterations\": 1,\n"};
	char wanted[1024];
	struct buf file;
	struct spec s;

	spec_init(&s);
	buf_init(&file, 1 << 20);
	errs.nr = 0;
	assert_int_equal(spec_parse(text, strlen(text), "t", &s, &errs), 0);
	for (int has_time = 0; has_time < 2; has_time++) {
		buf_reset(&file);
		spec_to_file(&s, has_time, &file);
		snprintf(wanted, sizeof(wanted), "{\n%s  \"output_path_prefix\": \"\",\n%s",
			 time[has_time], events);
		assert_string_equal(buf_str(&file), wanted);
	}
	buf_fini(&file);
	spec_fini(&s);
}

TEST(valid_specs)
{
	assert_true(each(TEST_DATA_DIR "/specs/valid", ".cpspec", reread_spec, check_valid) >= 16);
	assert_true(each(SOURCE_DIR "/specs", ".cpspec", reread_spec, check_valid) >= 2);
}

/* What could be read stays, so that a caller finds further errors: sound events in front. */
TEST(readable_rest)
{
	static const char text[] =
	    "{\"events\":[{\"group_name\":\"a\",\"event_name\":\"1\","
	    "\"rate\":-1,\"label\":\"x\"},{\"group_name\":\"b\",\"event_name\":"
	    "\"2\"},{\"group_name\":\"c\"},{\"group_name\":\"d\","
	    "\"event_name\":\"4\",\"rate\":\"\"}]}";
	struct spec s;

	memset(&errs, 0, sizeof(errs));
	spec_init(&s);
	assert_int_equal(spec_parse(text, strlen(text), "t", &s, &errs), -EINVAL);
	assert_int_equal(errs.nr, 3);
	assert_int_equal(s.nr_events, 1);
	assert_int_equal(s.nr_broken, 2);
	assert_string_equal(s.events[0].group_name, "b");
	assert_null(s.events[0].label);
	assert_string_equal(s.events[1].group_name, "d");
	assert_string_equal(s.events[2].group_name, "a");
	spec_fini(&s);
}

TEST(invalid_specs)
{
	assert_true(each(TEST_DATA_DIR "/specs/invalid", ".cpspec", reread_spec, check_invalid) >=
		    135);
}

TEST(sessions)
{
	assert_true(each(TEST_DATA_DIR "/cpsessions/valid", ".cpsession", reread_session,
			 check_valid) >= 3);
	assert_true(each(TEST_DATA_DIR "/cpsessions/invalid", ".cpsession", reread_session,
			 check_invalid) >= 6);
}

/* The example of the document, to the letter. */
TEST(document_example)
{
	struct spec s;

	memset(&errs, 0, sizeof(errs));
	spec_init(&s);
	assert_int_equal(spec_load(TEST_DATA_DIR "/specs/valid/document.cpspec", &s, &errs), 0);
	assert_string_equal(s.config_name, "printer-test");
	assert_string_equal(s.model_name, "default");
	assert_int_equal(s.nr_events, 6);
	assert_string_equal(s.events[0].group_name, "fixed");
	assert_string_equal(s.events[0].event_name, "instructions_retired");
	assert_int_equal(s.events[0].rate, 10000);
	assert_int_equal(s.events[0].flags, SPEC_OS | SPEC_USER | SPEC_TIMEBASE);
	assert_int_equal(s.events[0].rate_pos.line, 8);
	assert_int_equal(s.events[0].rate_pos.column, 15);
	assert_string_equal(s.events[5].event_name, "memory_bytes_written");
	assert_int_equal(s.events[5].flags, SPEC_OS | SPEC_USER);
	assert_int_equal(s.events[5].rate_pos.line, 0);
	assert_null(s.events[5].label);
	assert_string_equal(spec_event_column(&s.events[5]), "memory_bytes_written");
	assert_int_equal(s.buffer_size_in_mb, 16);
	assert_int_equal(s.duration_ns, 10000000000);
	assert_int_equal(s.num_iterations, 1);
	assert_string_equal(s.output_path_prefix, "/tmp/cpuperf-test");
	assert_string_equal(s.session_result_spec_path, "/tmp/cpuperf-test.cpsession");
	assert_true(spec_is_sampling(&s));
	spec_fini(&s);
}

/* What the keys about samples become in the model. */
TEST(sampling_keys)
{
	static const struct {
		uint64_t rate, frequency, stack_bytes;
		unsigned flags, branch_filter;
		bool is_sampled;
	} want[] = {
	    {1, 0, 65528, 0x1fff, 0xff, true},
	    {0, 1, 0, SPEC_OS | SPEC_USER | SPEC_PC, 0, true},
	    {0, 1000000000, 8, SPEC_OS | SPEC_USER | SPEC_CALLCHAIN | SPEC_USER_STACK, 0, true},
	    {0, 0, 0, SPEC_OS | SPEC_USER | SPEC_PINNED | SPEC_NO_IDLE | SPEC_GUEST | SPEC_HOST, 0,
	     false},
	    {0, 0, 0, SPEC_OS | SPEC_USER, 0, false},
	};
	struct spec s;

	memset(&errs, 0, sizeof(errs));
	spec_init(&s);
	assert_int_equal(spec_load(TEST_DATA_DIR "/specs/valid/sampling.cpspec", &s, &errs), 0);
	assert_int_equal(s.nr_events, sizeof(want) / sizeof(want[0]));
	for (size_t i = 0; i < s.nr_events; i++) {
		assert_int_equal(s.events[i].rate, want[i].rate);
		assert_int_equal(s.events[i].frequency, want[i].frequency);
		assert_int_equal(s.events[i].stack_bytes, want[i].stack_bytes);
		assert_int_equal(s.events[i].flags, want[i].flags);
		assert_int_equal(s.events[i].branch_filter, want[i].branch_filter);
		assert_int_equal(spec_event_is_sampled(&s.events[i]), want[i].is_sampled);
	}
	assert_int_equal(s.events[0].stack_pos.line, 2);
	assert_int_equal(s.events[0].branch_pos.line, 2);
	assert_int_equal(s.events[1].frequency_pos.line, 3);
	assert_int_equal(s.events[1].stack_pos.line, 0);
	assert_string_equal(s.compression, "zstd:19");
	spec_fini(&s);
}

#define EVENT(keys)                                                                                \
	"{ \"events\": [ { \"group_name\": \"fixed\", \"event_name\": \"a\", " keys " } ] }"

/* A stack has a size of its own accord, unless it is unwound; without the flag there is none. */
TEST(default_stack)
{
	static const struct {
		const char *text;
		uint64_t stack_bytes;
	} cases[] = {
	    {EVENT("\"rate\": 1, \"flags\": [ \"user_stack\" ]"), 16384},
	    {EVENT("\"flags\": [ \"user_stack\" ], \"frequency\": 1, \"stack_bytes\": 64"), 64},
	    {EVENT("\"rate\": 1, \"flags\": [ \"callchain\" ]"), 0},
	    {EVENT("\"rate\": 1"), 0},
	    {EVENT("\"rate\": 1, \"flags\": [ \"callchain\", \"user_stack\" ], \"unwind\": true"),
	     0},
	    {EVENT("\"rate\": 1, \"flags\": [ \"callchain\", \"user_stack\" ], \"unwind\": true, "
		   "\"stack_bytes\": 16384"),
	     16384},
	};
	struct spec s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(&errs, 0, sizeof(errs));
		spec_init(&s);
		assert_int_equal(spec_parse(cases[i].text, strlen(cases[i].text), "t", &s, &errs),
				 0);
		assert_int_equal(s.events[0].stack_bytes, cases[i].stack_bytes);
		assert_true(spec_is_sampling(&s));
		spec_fini(&s);
	}
}

TEST(hints)
{
	static const struct {
		const char *text, *hint;
	} cases[] = {
	    {"{ \"event\": [] }", "did you mean \"events\"?"},
	    {"{ \"rate\": 1 }", "\"rate\" is a key of an event"},
	    {"{ \"events\": [ { \"duration\": 1 } ] }", "\"duration\" is a key of the whole spec"},
	    {"{ \"events\": [ { \"flags\": [ \"time_base\" ] } ] }", "did you mean \"timebase\"?"},
	    {"{ \"events\": [ { \"flags\": [ \"zzzzzzz\" ] } ] }",
	     "the flags are os, user, pc, last_branch, timebase, callchain, user_stack, precise, "
	     "pinned, no_idle, guest, host, waker, unsafe, adaptive and optional"},
	    {"{ \"events\": [ { \"flags\": [ \"call_chain\" ] } ] }",
	     "did you mean \"callchain\"?"},
	    {"{ \"events\": [ { \"branch_filter\": [ \"zzzzzzz\" ] } ] }",
	     "the branch kinds are any, any_call, any_return, indirect_call, indirect_jump, "
	     "conditional, call and call_stack"},
	    {"{ \"events\": [ { \"branch_filter\": [] } ] }", "remove the key"},
	    {EVENT("\"rate\": 1, \"frequency\": 1"), "remove one"},
	    {EVENT("\"rate\": 1, \"stack_bytes\": 8"), "add \"user_stack\" to the flags"},
	    {EVENT("\"rate\": 1, \"branch_filter\": [ \"any\" ]"),
	     "add \"last_branch\" to the flags"},
	    {EVENT("\"flags\": [ \"callchain\" ]"),
	     "add \"rate\", the number of events between samples, or "
	     "\"frequency\", the number of samples per second"},
	    {"{ \"events\": [ { \"group_name\": \"misc\", \"event_name\": \"m\", \"flags\": [ "
	     "\"guest\" ] } ] }",
	     "misc events accept only the flags os and user"},
	    {"{ \"duration\": 5e-1 }", "at most nine decimals, without an exponent"},
	    {"{ \"duration\": 1", "missing at the end"},
	};
	struct spec s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool found = false;

		memset(&errs, 0, sizeof(errs));
		spec_init(&s);
		assert_int_equal(spec_parse(cases[i].text, strlen(cases[i].text), "t", &s, &errs),
				 -EINVAL);
		for (size_t k = 0; k < errs.nr; k++)
			found |= strstr(errs.item[k].hint, cases[i].hint) != NULL;
		if (!found)
			print_errors(cases[i].text);
		assert_true(found);
		spec_fini(&s);
	}
}

TEST(files_that_cannot_be_read)
{
	char large[40];
	const struct {
		const char *path;
		int rc;
		const char *part;
	} cases[] = {
	    {TEST_DATA_DIR "/specs/valid/no-such-file", -ENOENT, "No such file"},
	    {TEST_DATA_DIR "/specs", -EISDIR, "Is a directory"},
	    {"/dev/zero", -EINVAL, "not a regular file"},
	    {large, -EFBIG, "larger than 4 MiB"},
	};
	IO_AUTO_FD int fd = memfd_create("large", MFD_CLOEXEC);
	struct spec s;

	assert_int_equal(ftruncate(fd, SPEC_MAX_TEXT_BYTES + 1), 0);
	snprintf(large, sizeof(large), "/dev/fd/%d", fd);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(&errs, 0, sizeof(errs));
		spec_init(&s);
		assert_int_equal(spec_load(cases[i].path, &s, &errs), cases[i].rc);
		assert_int_equal(errs.nr, 1);
		assert_int_equal(errs.item[0].code, cases[i].rc);
		assert_non_null(strstr(errs.item[0].msg, cases[i].part));
		assert_string_equal(errs.item[0].source, cases[i].path);
		spec_fini(&s);
	}
}
