/*
 * The records of several files in one order: iterations of several traces, and a common file that
 * spans them; what is missing, and what happens without memory.
 */
#include "kit.h"
#include "test_record.h"

#include "profile/merged.h"
#include "trace/writer.h"

#include <inttypes.h>

enum { MAX_BYTES = 1 << 16, MAX_FILES = 6, MAX_ITEMS = 24 };

static struct root folder; /* of one scene */
static int folder_fd;
static uint8_t attr[ATTR_BYTES];

HOOK(before_all)
{
	attr_bytes(&(struct attr){.period = 1000,
				  .sample_type = S_TID | S_TIME,
				  .bits = ATTR_SAMPLE_ID_ALL},
		   attr);
}

/* Files by their names, what times their records have (up to the first 0), and which must come out:
 * times of all, and the tens of the pids, which are the place of their file in the list. */
static const struct scene {
	const char *name;
	struct {
		uint32_t iteration, trace; /* iteration TRACE_COMMON: the common file */
		uint64_t times[6];
	} files[MAX_FILES];
	uint64_t out[MAX_ITEMS], start_ns;
	uint32_t files_out[MAX_ITEMS];
	size_t nr_losses;
} scenes[] = {
    {"one", {{0, 0, {1, 2, 3}}}, {1, 2, 3}, 100, {0, 0, 0}, 1},
    {"two", {{0, 0, {1, 4, 5}}, {0, 1, {2, 3, 6}}}, {1, 2, 3, 4, 5, 6}, 100, {0, 1, 1, 0, 0, 1}, 1},
    {"of one time",
     {{0, 0, {1, 1, 2}}, {0, 1, {1, 2}}, {TRACE_COMMON, 0, {1, 2}}},
     {1, 1, 1, 1, 2, 2, 2},
     100,
     {2, 0, 0, 1, 2, 0, 1},
     0},
    {"one is empty",
     {{0, 0, {0}}, {0, 1, {2, 3}}, {TRACE_COMMON, 0, {1}}},
     {1, 2, 3},
     100,
     {2, 1, 1},
     0},
    {"iterations, and the common file over them",
     {{0, 0, {10, 30}},
      {0, 1, {20}},
      {1, 0, {50, 70}},
      {1, 1, {60}},
      {TRACE_COMMON, 0, {5, 25, 40, 65, 90}}},
     {5, 10, 20, 25, 30, 40, 50, 60, 65, 70, 90},
     100,
     {4, 0, 1, 4, 0, 4, 2, 3, 4, 2, 4},
     0},
    {"an iteration without records",
     {{0, 0, {10}}, {1, 0, {0}}, {2, 0, {30}}, {TRACE_COMMON, 0, {20, 40}}},
     {10, 20, 30, 40},
     100,
     {0, 3, 2, 3},
     0},
    {"only the common file has records",
     {{0, 0, {0}}, {TRACE_COMMON, 0, {20, 40}}},
     {20, 40},
     100,
     {1, 1},
     0},
    {"nothing", {{0, 0, {0}}, {TRACE_COMMON, 0, {0}}}, {0}, 100, {0}, 0},
    {"five",
     {{0, 0, {5, 10}}, {0, 1, {4, 9}}, {0, 2, {3, 8}}, {0, 3, {2, 7}}, {0, 4, {1, 6}}},
     {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
     100,
     {4, 3, 2, 1, 0, 4, 3, 2, 1, 0},
     1},
};

static bool is_there(const struct scene *c, size_t i)
{
	return i == 0 || c->files[i].iteration || c->files[i].trace;
}

static void add_records(struct trace_writer *w, const struct scene *c, size_t i)
{
	bool is_common = c->files[i].iteration == TRACE_COMMON;
	struct buf b;

	buf_init(&b, MAX_BYTES);
	for (const uint64_t *ns = c->files[i].times; *ns; ns++) {
		size_t at = record_begin(&b, is_common ? PERF_RECORD_COMM : PERF_RECORD_SAMPLE, 0);

		if (is_common) {
			buf_le64(&b, i);
			record_name(&b, "comm");
		}
		record_id(&b, (uint32_t)i, (uint32_t)i, *ns);
		record_end(&b, at);
	}
	if (b.len)
		trace_writer_records(w, is_common ? TRACE_RING_SIDE_BAND : TRACE_RING_SAMPLES, 0,
				     b.data, b.len);
	buf_fini(&b);
}

static void write_trace(const struct scene *c, size_t i)
{
	static const struct trace_info info = {.tool = "t"};
	static const struct trace_id id = {.id = 7};
	const struct trace_event event = {.kind = EVENT_COUNT,
					  .rate = 1000,
					  .state = READING_OK,
					  .attr = attr,
					  .attr_bytes = ATTR_BYTES};
	uint32_t iteration = c->files[i].iteration;
	bool is_common = iteration == TRACE_COMMON;
	const struct trace_head head = {.iteration = iteration,
					.trace = is_common ? iteration : c->files[i].trace,
					.session_id = {1}};
	const struct trace_totals totals = {.start_ns = 100 + i, .end_ns = 900};
	struct trace_writer *w = trace_writer_new();
	struct err e = {0};
	char name[64] = "s.common.cpuperf";

	assert_non_null(w);
	assert_int_equal(trace_writer_set_common(w, &info, &event, 1), 0);
	assert_int_equal(trace_writer_begin(w, &head), 0);
	trace_writer_ids(w, &id, 1);
	if (is_common)
		trace_writer_kallsyms(w, "0 T x\n", 6);
	add_records(w, c, i);
	if (!is_common)
		snprintf(name, sizeof(name), "s.%u.%u.cpuperf", iteration, head.trace);
	if (trace_writer_commit(w, folder_fd, name, name, &totals, &e))
		fail_msg("%s: %s", name, e.msg);
	trace_writer_free(w);
}

static void make_session(const struct scene *c)
{
	folder = tree_make();
	folder_fd = open(folder.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder_fd >= 0);
	for (size_t i = 0; i < MAX_FILES && is_there(c, i); i++)
		write_trace(c, i);
}

static void remove_session(void)
{
	close(folder_fd);
	tree_remove(&folder);
}

struct told {
	size_t nr_losses;
	char text[1024];
};

static void take_problem(void *arg, bool is_loss, const struct err *e)
{
	struct told *t = arg;
	size_t len = strlen(t->text);

	t->nr_losses += is_loss;
	snprintf(t->text + len, sizeof(t->text) - len, "%s: %s\n", e->source, e->msg);
}

static int open_session(struct told *told, struct profile_session **out)
{
	char path[sizeof(folder.dir) + 16];
	const struct profile_manifest m = {path, "/elsewhere/s", 0, 0};

	snprintf(path, sizeof(path), "%s/s.cpsession", folder.dir);
	return profile_session_open(&m, take_problem, told, out, NULL);
}

static void check_item(const struct scene *c, size_t nr, const struct profile_merged_item *m)
{
	uint32_t file = m->item->record.pid;

	if (nr >= MAX_ITEMS || m->item->kind != PROFILE_RECORD || m->item->time_ns != c->out[nr] ||
	    file != c->files_out[nr])
		fail_msg("%s: item %zu at %" PRIu64 " of file %u", c->name, nr, m->item->time_ns,
			 file);
	if (c->files[file].iteration == TRACE_COMMON)
		assert_null(m->trace);
	else
		assert_int_equal(m->trace->head.trace, c->files[file].trace);
}

TEST(all_in_order)
{
	for (size_t i = 0; i < NR(scenes); i++) {
		const struct scene *c = &scenes[i];
		struct told told = {0};
		struct profile_session *s;
		struct profile_merged *m;
		struct profile_merged_item item;
		size_t nr = 0;
		int rc;

		make_session(c);
		assert_int_equal(open_session(&told, &s), 0);
		assert_int_equal(profile_merged_open(s, take_problem, &told, &m), 0);
		assert_int_equal(profile_merged_start_ns(m), c->start_ns);
		while ((rc = profile_merged_next(m, &item)) == 1)
			check_item(c, nr++, &item);
		assert_int_equal(rc, 0);
		assert_int_equal(profile_merged_next(m, &item), 0);
		if (c->out[nr] || told.nr_losses != c->nr_losses)
			fail_msg("%s: %zu items, %zu losses\n%s", c->name, nr, told.nr_losses,
				 told.text);
		profile_merged_close(m);
		profile_session_close(s);
		remove_session();
	}
}

/* A file that cannot be read is reported once and skipped. */
TEST(one_is_lost)
{
	const struct scene *c = &scenes[4];
	struct told told = {0};
	struct profile_session *s;
	struct profile_merged *m;
	struct profile_merged_item item;
	size_t nr = 0;

	make_session(c);
	assert_int_equal(open_session(&told, &s), 0);
	assert_int_equal(unlinkat(folder_fd, "s.0.0.cpuperf", 0), 0);
	assert_int_equal(unlinkat(folder_fd, "s.1.1.cpuperf", 0), 0);
	assert_int_equal(profile_merged_open(s, take_problem, &told, &m), 0);
	assert_int_equal(profile_merged_start_ns(m), 101);
	for (; profile_merged_next(m, &item) == 1; nr++)
		assert_true(item.item->record.pid != 0 && item.item->record.pid != 3);
	assert_int_equal(nr, 8);
	assert_int_equal(told.nr_losses, 2);
	assert_non_null(strstr(told.text, "s.0.0.cpuperf: cannot be read"));
	assert_non_null(strstr(told.text, "s.1.1.cpuperf: cannot be read"));
	profile_merged_close(m);
	profile_session_close(s);
	remove_session();
}

static int read_all(void *arg)
{
	struct told told = {0};
	struct profile_session *s;
	struct profile_merged *m;
	struct profile_merged_item item;
	int rc = open_session(&told, &s);

	(void)arg;
	if (rc)
		return rc;
	rc = profile_merged_open(s, take_problem, &told, &m);
	if (rc == 0) {
		while ((rc = profile_merged_next(m, &item)) == 1)
			;
		profile_merged_close(m);
	}
	profile_session_close(s);
	assert_null(strstr(told.text, "memory"));
	return rc;
}

TEST(everything_fails_once)
{
	make_session(&scenes[4]);
	inject_every(read_all, NULL, 30, 15);
	remove_session();
}
