/*
 * The public interface as a program uses it: what it returns of a session whose numbers are known,
 * of one with a trace missing, and of one that it records and reads back.
 */
#include "kit.h"

#include "base/buf.h"
#include "cpuperf/cpuperf.h"
#include "trace/writer.h"

#include <inttypes.h>

enum { OPS, SAMPLED, MEMORY, NOT, NR_EVENTS, MAX_BYTES = 1 << 20 };

static const struct trace_event events[NR_EVENTS] = {
    [OPS] = {.kind = EVENT_COUNT,
	     .scope = EVENT_SCOPE_CPU,
	     .state = READING_OK,
	     .group = "arch",
	     .name = "ops",
	     .label = "ops",
	     .unit = "operations"},
    [SAMPLED] = {.kind = EVENT_COUNT,
		 .scope = EVENT_SCOPE_CPU,
		 .state = READING_OK,
		 .group = "arch",
		 .name = "sampled",
		 .label = "mine",
		 .unit = "",
		 .rate = 1000},
    [MEMORY] = {.kind = EVENT_VALUE,
		.scope = EVENT_SCOPE_SYSTEM,
		.state = READING_OK,
		.group = "misc",
		.name = "memory",
		.label = "memory",
		.unit = "B",
		.scale = 4},
    [NOT] = {.kind = EVENT_COUNT,
	     .scope = EVENT_SCOPE_CPU,
	     .state = READING_NO_PERMISSION,
	     .group = "arch",
	     .name = "not",
	     .label = "not",
	     .unit = "",
	     .reason = "you may not"},
};

static const char *spec_json = "{\"events\":[{\"group_name\":\"arch\",\"event_name\":\"ops\"},"
			       "{\"group_name\":\"arch\",\"event_name\":\"sampled\",\"rate\":1000},"
			       "{\"group_name\":\"misc\",\"event_name\":\"memory\"},"
			       "{\"group_name\":\"arch\",\"event_name\":\"not\"}],"
			       "\"metrics\":[{\"name\":\"half\",\"expr\":\"{ops} / 2\"}]}";

static struct root folder;
static char manifest[sizeof(folder.dir) + 16];

static struct reading reading(uint32_t event, uint64_t ns, uint64_t raw, uint64_t on_ns,
			      uint64_t run_ns)
{
	return (struct reading){.event = event,
				.state = READING_OK,
				.time_ns = ns,
				.raw = raw,
				.enabled_ns = on_ns,
				.running_ns = run_ns};
}

/* CPU 5 and CPU 7, which goes offline in iteration 0, and cannot be read in iteration 1. */
static void write_trace(int dirfd, uint32_t iteration, uint32_t trace)
{
	const struct trace_info info = {.tool = "t", .spec_json = spec_json};
	const struct trace_head head = {.iteration = iteration,
					.trace = trace,
					.cpu = trace ? 7 : 5,
					.nr_traces = 2,
					.session_id = {1}};
	uint64_t from_ns = 1000 + 100 * iteration;
	const struct trace_totals totals = {.start_ns = from_ns, .end_ns = from_ns + 100};
	const struct trace_sampled sampled[] = {
	    {.event = SAMPLED, .samples = 4, .weight = 4000, .lost = 1},
	    {.event = SAMPLED, .samples = 2, .weight = 2000}};
	const struct reading start[] = {reading(OPS, from_ns, 10, 0, 0),
					reading(SAMPLED, from_ns, 0, 0, 0)};
	struct reading end[] = {reading(OPS, from_ns + 90, 30 + trace, 100, 50),
				reading(SAMPLED, from_ns + 90, trace ? 2500 : 5000, 100, 100),
				reading(MEMORY, from_ns + 90, 7, 0, 0)};
	struct trace_writer *w = trace_writer_new();
	char name[64];

	end[OPS].state = !trace ? READING_OK : iteration ? READING_FAILED : READING_OFFLINE;
	assert_int_equal(trace_writer_set_common(w, &info, events, NR_EVENTS), 0);
	assert_int_equal(trace_writer_begin(w, &head), 0);
	trace_writer_readings(w, TRACE_START, start, 2);
	trace_writer_readings(w, TRACE_END, end, trace ? 2 : 3);
	trace_writer_sampling(w, &(struct trace_sampling){.idle_ns = UINT64_MAX,
							  .lost = sampled[trace].lost,
							  .item = &sampled[trace],
							  .nr = 1});
	snprintf(name, sizeof(name), "s.%u.%u.cpuperf", iteration, trace);
	assert_int_equal(trace_writer_commit(w, dirfd, name, name, &totals, NULL), 0);
	trace_writer_free(w);
}

static void make_session(void)
{
	int fd;

	folder = tree_make();
	snprintf(manifest, sizeof(manifest), "%s/s.cpsession", folder.dir);
	tree_text(
	    &folder, "/s.cpsession",
	    "{\"num_iterations\":2,\"num_traces\":2,\"output_path_prefix\":\"/elsewhere/s\"}");
	fd = open(folder.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (uint32_t i = 0; i < 4; i++)
		write_trace(fd, i / 2, i % 2);
	close(fd);
}

static void show_cell(struct buf *b, const struct cpuperf_cell *c)
{
	buf_printf(b, " %s", *c->state ? c->state : "-");
	if (c->has_value)
		buf_printf(b, " = %g of %" PRIu64 ", %" PRIu64 "/%" PRIu64 " in %" PRIu64, c->value,
			   c->raw, c->running_ns, c->enabled_ns, c->span_ns);
	if (c->samples || c->lost || c->residual || c->coverage >= 0)
		buf_printf(b, ", %" PRIu64 " samples - %" PRIu64 " + %" PRId64 " cover %g",
			   c->samples, c->lost, c->residual, c->coverage);
	buf_addc(b, '\n');
}

struct shown {
	struct buf text;
	int nr, stop_after; /* 0: never */
};

static int show(const struct cpuperf_iteration *it, void *arg)
{
	struct shown *s = arg;

	buf_printf(&s->text, "%u: %" PRIu64 "-%" PRIu64 "\n", it->number, it->start_ns, it->end_ns);
	for (size_t i = 0; i < it->nr_events; i++) {
		const struct cpuperf_event *e = cpuperf_iteration_event(it, i);

		if (it->number == 0)
			buf_printf(&s->text, " %s:%s %s [%s] %d%s%s\n", e->group, e->name, e->label,
				   e->unit, e->kind, e->reason ? " " : "",
				   e->reason ? e->reason : "");
		for (size_t row = 0; row < it->nr_cpus; row++) {
			buf_printf(&s->text, "  cpu%u", cpuperf_iteration_cpu(it, row));
			show_cell(&s->text, cpuperf_iteration_cell(it, i, row));
		}
		buf_printf(&s->text, "  all");
		show_cell(&s->text, cpuperf_iteration_total(it, i));
	}
	return ++s->nr == s->stop_after;
}

/* By hand: OPS ran half of the time; of 5 periods on CPU 5, 4 are in samples. */
static const char first[] =
    "0: 1000-1100\n"
    " arch:ops ops [operations] 1\n"
    "  cpu5 ok = 40 of 20, 50/100 in 90\n"
    "  cpu7 offline = 42 of 21, 50/100 in 90\n"
    "  all offline = 82 of 41, 100/200 in 90\n"
    " arch:sampled mine [] 1\n"
    "  cpu5 ok = 5000 of 5000, 100/100 in 90, 4 samples - 1 + 1000 cover 0.8\n"
    "  cpu7 ok = 2500 of 2500, 100/100 in 90, 2 samples - 0 + 500 cover 1\n"
    "  all ok = 7500 of 7500, 200/200 in 90, 6 samples - 1 + 1500 cover "
    "0.857143\n"
    " misc:memory memory [B] 2\n"
    "  cpu5 ok = 28 of 7, 0/0 in 0\n"
    "  cpu7 -\n"
    "  all ok = 28 of 7, 0/0 in 0\n"
    " arch:not not [] 1 you may not\n"
    "  cpu5 no permission\n"
    "  cpu7 no permission\n"
    "  all no permission\n"
    " metric:half half [] 4\n"
    "  cpu5 ok = 20 of 0, 50/100 in 90\n"
    "  cpu7 offline = 21 of 0, 50/100 in 90\n"
    "  all offline = 41 of 0, 100/200 in 90\n";
static const char second[] = "1: 1100-1200\n"
			     "  cpu5 ok = 40 of 20, 50/100 in 90\n"
			     "  cpu7 failed\n"
			     "  all partial = 40 of 20, 50/100 in 90\n";

static int read_into(struct shown *s, struct cpuperf_error *e)
{
	buf_reset(&s->text);
	s->nr = 0;
	return cpuperf_read(manifest, show, s, e);
}

TEST(read)
{
	struct shown s = {.nr = 0};
	struct cpuperf_error e = CPUPERF_ERROR_INIT;

	make_session();
	buf_init(&s.text, MAX_BYTES);
	assert_int_equal(read_into(&s, &e), 0);
	assert_string_equal(e.text, "");
	assert_int_equal(s.nr, 2);
	if (strncmp(buf_str(&s.text), first, sizeof(first) - 1) != 0)
		fail_msg("%s", buf_str(&s.text));
	if (strncmp(buf_str(&s.text) + sizeof(first) - 1, second, sizeof(second) - 1) != 0)
		fail_msg("%s", buf_str(&s.text));
	/* the client ends the reading */
	s.stop_after = 1;
	assert_int_equal(read_into(&s, &e), 0);
	assert_int_equal(s.nr, 1);
	assert_string_equal(buf_str(&s.text), first);
	assert_int_equal(cpuperf_read(manifest, NULL, NULL, NULL), 0);
	buf_fini(&s.text);
	tree_remove(&folder);
}

/* What is missing is an error, after all that is there was passed. */
TEST(read_damaged)
{
	struct shown s = {.nr = 0};
	struct cpuperf_error e = CPUPERF_ERROR_INIT;

	make_session();
	buf_init(&s.text, MAX_BYTES);
	tree_drop(&folder, "/s.0.1.cpuperf");
	assert_int_equal(read_into(&s, &e), -EBADMSG);
	assert_int_equal(s.nr, 2);
	if (!strstr(e.text, "iteration 0 has no trace 1"))
		fail_msg("%s", e.text);
	assert_non_null(strstr(buf_str(&s.text), "  all ok = 40 of 20, 50/100 in 90\n"));
	tree_remove(&folder);

	spec_json = "{\"metrics\":[{\"name\":\"half\",\"expr\":\"{ops} /\"}]}";
	make_session();
	assert_int_equal(read_into(&s, &e), -EBADMSG);
	assert_int_equal(s.nr, 2);
	assert_true(*e.text);
	assert_null(strstr(buf_str(&s.text), "metric:"));
	tree_drop(&folder, "/s.cpsession");
	assert_int_equal(read_into(&s, &e), -ENOENT);
	assert_int_equal(s.nr, 0);
	assert_non_null(strstr(e.text, "s.cpsession"));
	buf_fini(&s.text);
	tree_remove(&folder);
}

static void put_spec(const char *events_and_metrics)
{
	struct buf b;

	folder = tree_make();
	snprintf(manifest, sizeof(manifest), "%s/s.cpsession", folder.dir);
	buf_init(&b, MAX_BYTES);
	buf_printf(&b,
		   "{%s,\"duration\":0.01,\"num_iterations\":3,\"output_path_prefix\":\"%s/s\","
		   "\"session_result_spec_path\":\"%s\"}",
		   events_and_metrics, folder.dir, manifest);
	tree_text(&folder, "/s.cpspec", buf_str(&b));
	buf_fini(&b);
}

static int record_into(struct shown *s, struct cpuperf_error *e)
{
	char path[sizeof(folder.dir) + 16];

	snprintf(path, sizeof(path), "%s/s.cpspec", folder.dir);
	buf_reset(&s->text);
	s->nr = 0;
	return cpuperf_record(path, show, s, e);
}

static const char *const recorded[] = {
    "\"events\":[{\"group_name\":\"software\",\"event_name\":\"cpu_clock\"},"
    "{\"group_name\":\"software\",\"event_name\":\"page_faults\",\"label\":\"mine\"},"
    "{\"group_name\":\"misc\",\"event_name\":\"cpu_user\"},"
    "{\"group_name\":\"misc\",\"event_name\":\"memory_used\"},"
    "{\"group_name\":\"misc\",\"event_name\":\"process_cpu_time\"}],"
    "\"metrics\":[{\"name\":\"half\",\"expr\":\"{memory_used} / 2\"}]",
    "\"events\":[{\"group_name\":\"software\",\"event_name\":\"cpu_clock\",\"rate\":1000000},"
    "{\"group_name\":\"misc\",\"event_name\":\"cpu_user\"}]",
};

/* What is passed while a session runs, its files say too. */
TEST(record)
{
	struct shown live = {.nr = 0}, stored = {.nr = 0};
	struct cpuperf_error e = CPUPERF_ERROR_INIT;

	buf_init(&live.text, MAX_BYTES);
	buf_init(&stored.text, MAX_BYTES);
	for (size_t i = 0; i < NR(recorded); i++) {
		put_spec(recorded[i]);
		live.stop_after = 0;
		assert_int_equal(record_into(&live, &e), 0);
		assert_string_equal(e.text, "");
		assert_int_equal(live.nr, 3);
		assert_non_null(strstr(buf_str(&live.text), " ok = "));
		assert_int_equal(read_into(&stored, &e), 0);
		assert_string_equal(buf_str(&stored.text), buf_str(&live.text));
		/* the client ends the recording */
		live.stop_after = 2;
		assert_int_equal(record_into(&live, &e), 0);
		assert_int_equal(live.nr, 2);
		assert_int_equal(read_into(&stored, &e), 0);
		assert_string_equal(buf_str(&stored.text), buf_str(&live.text));
		tree_remove(&folder);
	}
	buf_fini(&live.text);
	buf_fini(&stored.text);
}

#ifdef __x86_64__
#define FOREIGN "arm_n1"
#else
#define FOREIGN "skl"
#endif

/* A spec for another CPU model is refused, and one with errors; nothing is measured. */
TEST(record_refused)
{
	static const struct {
		const char *keys, *text;
		int code;
	} cases[] = {
	    {"\"events\":[{\"group_name\":\"misc\",\"event_name\":\"none\"}]", "none", -ENOENT},
	    {"\"events\":[{\"group_name\":\"misc\",\"event_name\":\"forks\"}],"
	     "\"model_name\":\"" FOREIGN "\"",
	     "this is for the CPU model " FOREIGN, -ENOTSUP},
	};
	struct shown s = {.nr = 0};
	struct cpuperf_error e = CPUPERF_ERROR_INIT;

	buf_init(&s.text, MAX_BYTES);
	for (size_t i = 0; i < NR(cases); i++) {
		put_spec(cases[i].keys);
		assert_int_equal(record_into(&s, &e), cases[i].code);
		assert_non_null(strstr(e.text, cases[i].text));
		assert_int_equal(s.nr, 0);
		tree_remove(&folder);
	}
	buf_fini(&s.text);
}
