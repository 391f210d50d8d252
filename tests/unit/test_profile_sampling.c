/*
 * A session that samples, in a folder of its own: two traces and a common file. Rows say what is
 * done to it, what can still be read, and what must be said of it.
 */
#include "kit.h"
#include "profile/iterator.h"
#include "test_record.h"

#include "profile/records.h"
#include "trace/writer.h"

#include <sys/stat.h>

enum { NR_TRACES = 2, NR_SAMPLES = 5, MAX_BYTES = 1 << 16, MS = 1000000 };

static struct root folder; /* of one scene */
static int folder_fd;
static uint8_t attr[ATTR_BYTES];

static struct trace_event events[] = {
    {.id = 5 << 11 | 1,
     .kind = EVENT_COUNT,
     .rate = 1000,
     .state = READING_OK,
     .group = "software",
     .name = "cpu_clock",
     .label = "cpu_clock",
     .unit = "ns",
     .attr = attr,
     .attr_bytes = ATTR_BYTES},
    {.id = 4 << 11 | 2,
     .kind = EVENT_VALUE,
     .state = READING_OK,
     .group = "misc",
     .name = "memory_used",
     .label = "memory_used",
     .unit = "B"},
};
static uint64_t rate = 1000; /* of the first event */

HOOK(before_all)
{
	attr_bytes(&(struct attr){.period = 1000,
				  .sample_type = S_TID | S_TIME,
				  .bits = ATTR_SAMPLE_ID_ALL},
		   attr);
}

static struct trace_writer *begin(uint8_t session, uint32_t iteration, uint32_t trace)
{
	static const struct trace_info info = {.tool = "t", .kernel = "k", .config_name = "c"};
	struct trace_head head = {.iteration = iteration, .trace = trace, .nr_traces = NR_TRACES};
	struct trace_writer *w = trace_writer_new();

	memset(head.session_id, session, sizeof(head.session_id));
	events[0].rate = rate;
	assert_non_null(w);
	assert_int_equal(trace_writer_set_common(w, &info, events, 2), 0);
	assert_int_equal(trace_writer_begin(w, &head), 0);
	return w;
}

static void end(struct trace_writer *w, const char *name)
{
	const struct trace_totals totals = {.start_ns = 100, .end_ns = 900};
	struct err e = {0};

	if (trace_writer_commit(w, folder_fd, name, name, &totals, &e))
		fail_msg("%s: %s", name, e.msg);
	trace_writer_free(w);
}

/* Samples at 200 ms, 300 ms …, the last two of them the wrong way round. */
static void add_samples(struct trace_writer *w, uint32_t trace)
{
	struct buf b;

	buf_init(&b, MAX_BYTES);
	for (uint32_t i = 0; i < NR_SAMPLES; i++) {
		uint32_t place = i < NR_SAMPLES - 2 ? i : 2 * NR_SAMPLES - 3 - i;
		size_t at = record_begin(&b, PERF_RECORD_SAMPLE, 2);

		record_id(&b, trace, place, (200 + 100 * (uint64_t)place) * MS);
		record_end(&b, at);
	}
	trace_writer_records(w, TRACE_RING_SAMPLES, trace, b.data, b.len);
	buf_fini(&b);
}

static void write_trace(uint8_t session, uint32_t trace)
{
	const struct trace_id id = {.id = 7, .event = 0}, other = {.id = 8, .event = 1};
	const struct trace_sampled sampled = {.event = 0, .samples = NR_SAMPLES, .lost = 3};
	const struct trace_sampling sampling = {.ring_bytes = 4096, .item = &sampled, .nr = 1};
	struct reading r[2] = {{.event = 0, .state = READING_OK, .time_ns = 150 * MS, .raw = 10},
			       {.event = 1, .state = READING_OK, .time_ns = 350 * MS, .raw = 77}};
	struct trace_writer *w = begin(session, 0, trace);
	char name[64];

	snprintf(name, sizeof(name), "s.0.%u.cpuperf", trace);
	trace_writer_ids(w, &other, 1);
	trace_writer_ids(w, &id, 1); /* the last of them holds */
	trace_writer_readings(w, TRACE_START, r, 1);
	add_samples(w, trace);
	trace_writer_readings(w, TRACE_TICK, &r[1], 1);
	r[0].raw = 5010, r[0].time_ns = 890 * MS;
	trace_writer_readings(w, TRACE_END, r, 1);
	trace_writer_sampling(w, &(struct trace_sampling){.item = &sampled, .nr = 1});
	trace_writer_sampling(w, &sampling);
	end(w, name);
}

static void write_common(uint8_t session, uint32_t iteration)
{
	static const char symbols[] = "ffffffff81000000 T _text\n";
	struct trace_writer *w = begin(session, iteration, iteration);
	struct buf b;
	size_t at;

	buf_init(&b, MAX_BYTES);
	at = record_begin(&b, PERF_RECORD_COMM, 0);
	buf_le64(&b, 1);
	record_name(&b, "init");
	record_id(&b, 1, 1, 120);
	record_end(&b, at);
	trace_writer_records(w, TRACE_RING_MADE, UINT32_MAX, b.data, b.len);
	trace_writer_kallsyms(w, symbols, sizeof(symbols) - 1);
	buf_fini(&b);
	end(w, "s.common.cpuperf");
}

static void make_session(void)
{
	folder = tree_make();
	folder_fd = open(folder.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder_fd >= 0);
	for (uint32_t t = 0; t < NR_TRACES; t++)
		write_trace(1, t);
	write_common(1, TRACE_COMMON);
}

static void remove_session(void)
{
	close(folder_fd);
	tree_remove(&folder);
}

/* Takes so many bytes off the end. */
static void cut(const char *name, off_t bytes)
{
	int fd = openat(folder_fd, name, O_WRONLY | O_CLOEXEC);
	off_t len = lseek(fd, 0, SEEK_END);

	assert_int_equal(ftruncate(fd, len - bytes), 0);
	close(fd);
}

static void nothing(void)
{
}

static void lose_common(void)
{
	assert_int_equal(unlinkat(folder_fd, "s.common.cpuperf", 0), 0);
}

static void common_of_another(void)
{
	write_common(2, TRACE_COMMON);
}

static void common_is_a_trace(void)
{
	write_common(1, 0);
}

static void common_is_a_folder(void)
{
	lose_common();
	assert_int_equal(mkdirat(folder_fd, "s.common.cpuperf", 0700), 0);
}

enum { END_FRAME_BYTES = 16 + 64 };

static void cut_common(void)
{
	cut("s.common.cpuperf", END_FRAME_BYTES);
}

/* As kill -9 leaves it: frames up to the end readings; or half of a frame more. */
static void kill_one(void)
{
	cut("s.0.1.cpuperf", END_FRAME_BYTES + 2 * (16 + 64 + 56));
}

/* Or up to the samples and a tick. */
static void kill_earlier(void)
{
	cut("s.0.1.cpuperf", END_FRAME_BYTES + 2 * (16 + 64 + 56) + 32 + 56);
}

static void tear_one(void)
{
	cut("s.0.1.cpuperf", END_FRAME_BYTES + (16 + 64 + 56) + 10);
}

/* One is damaged, in its first sampling frame; the other is cut. */
static void damage_and_kill(void)
{
	int fd = openat(folder_fd, "s.0.0.cpuperf", O_RDWR | O_CLOEXEC);
	off_t at = lseek(fd, 0, SEEK_END) - END_FRAME_BYTES - 2 * (16 + 64 + 56) + 40;
	char byte = 0;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
	kill_one();
}

/* What no session of ours writes. */
static void odd_names(void)
{
	static const char *const names[] = {"s.4294967295.4294967295.cpuperf",
					    "s.4294967295.0.cpuperf", "s.common.0.0.cpuperf",
					    "s.common.common.cpuperf"};

	for (size_t i = 0; i < NR(names); i++)
		assert_int_equal(linkat(folder_fd, "s.0.0.cpuperf", folder_fd, names[i], 0), 0);
}

/* The last trace is written anew by another session, after it was given. */
static bool replaces_last;

static void replace_last(void)
{
	replaces_last = true;
}

static const struct scene {
	const char *name;
	void (*act)(void);
	size_t nr_records[NR_TRACES], nr_common;
	bool is_cut, has_sampling;
	size_t nr_losses;
	const char *said; /* NULL: nothing */
} scenes[] = {
    {"whole", nothing, {6, 6}, 2, false, true, 0, NULL},
    {"no common file",
     lose_common,
     {6, 6},
     0,
     false,
     true,
     1,
     "s.common.cpuperf: cannot be read: No such file or directory: without it there are only "
     "addresses"},
    {"another's common file",
     common_of_another,
     {6, 6},
     0,
     false,
     true,
     1,
     "s.common.cpuperf: a trace of another session: ignored: without it "
     "there are only addresses"},
    {"a trace as common file",
     common_is_a_trace,
     {6, 6},
     0,
     false,
     true,
     1,
     "s.common.cpuperf: its header names another iteration or trace: "
     "ignored: without it"},
    {"a folder as common file",
     common_is_a_folder,
     {6, 6},
     0,
     false,
     true,
     1,
     "s.common.cpuperf: is not a cpuperf trace"},
    {"common file cut",
     cut_common,
     {6, 6},
     2,
     false,
     true,
     1,
     "s.common.cpuperf: truncated: its end is missing: \n"},
    {"killed",
     kill_one,
     {6, 6},
     2,
     true,
     false,
     1,
     "s.0.1.cpuperf: truncated: its end is missing: \n"},
    {"killed earlier",
     kill_earlier,
     {6, 6},
     2,
     true,
     false,
     1,
     "s.0.1.cpuperf: truncated: its end is missing: \n"},
    {"torn", tear_one, {6, 6}, 2, true, false, 1, "s.0.1.cpuperf: damaged at offset"},
    {"damaged and killed",
     damage_and_kill,
     {6, 6},
     2,
     true,
     false,
     2,
     "s.0.1.cpuperf: truncated: its end is missing: \n"},
    {"odd names", odd_names, {6, 6}, 2, false, true, 0, NULL},
    {"replaced meanwhile",
     replace_last,
     {6, 0},
     2,
     false,
     true,
     1,
     "s.0.1.cpuperf: a trace of another session: ignored"},
};

struct told {
	size_t nr_losses, nr_notes;
	char text[2048];
};

static void take_problem(void *arg, bool is_loss, const struct err *e)
{
	struct told *t = arg;
	size_t len = strlen(t->text);

	*(is_loss ? &t->nr_losses : &t->nr_notes) += 1;
	snprintf(t->text + len, sizeof(t->text) - len, "%s: %s: %s\n", e->source, e->msg, e->hint);
}

static int open_session(struct told *told, struct profile_session **out)
{
	char path[sizeof(folder.dir) + 16];
	const struct profile_manifest m = {path, "/elsewhere/s", 1, NR_TRACES};

	snprintf(path, sizeof(path), "%s/s.cpsession", folder.dir);
	return profile_session_open(&m, take_problem, told, out, NULL);
}

/* Of a trace: samples and a tick, in the order of their times. *nr: how many. */
static int read_records(struct profile_iterator *it, const struct profile_trace *t, size_t *nr)
{
	uint32_t trace = t->head.trace;
	struct profile_records *r;
	struct profile_item item;
	uint64_t last_ns = 0;
	int rc = profile_iterator_records(it, &r);

	for (*nr = 0; rc == 1; last_ns = item.time_ns) {
		rc = profile_records_next(r, &item);
		if (rc != 1) {
			profile_records_close(r);
			return rc;
		}
		assert_true(item.time_ns > last_ns);
		if (item.kind == PROFILE_READING)
			assert_int_equal(item.reading.raw, 77);
		else
			assert_true(item.record.pid == trace && item.id == &t->ids[0] &&
				    item.cpu == trace);
		++*nr;
	}
	return rc;
}

static int read_common(struct profile_session *s, size_t *nr)
{
	struct profile_records *r;
	struct profile_item item;
	int rc = profile_session_common(s, true, &r);

	*nr = 0;
	if (rc != 1)
		return rc;
	while ((rc = profile_records_next(r, &item)) == 1) {
		assert_true(item.kind == PROFILE_KALLSYMS ? item.text_len == 25
							  : !strcmp(item.record.name, "init"));
		++*nr;
	}
	profile_records_close(r);
	return rc;
}

static unsigned nr_ticks_as_end;

static void check_last_trace(const struct scene *c, const struct profile_trace *t)
{
	assert_string_equal(t->name, "s.0.1.cpuperf");
	assert_int_equal(t->is_cut, c->is_cut);
	assert_int_equal(t->nr_ids, 1);
	assert_int_equal(t->ids[0].id, 7);
	assert_true(t->pairs[0].has_start && t->pairs[0].start.raw == 10);
	assert_false(t->pairs[1].has_start);
	/* a tick is no boundary, but the best there is of a session that was killed */
	assert_int_equal(t->pairs[1].has_end, t->pairs[1].is_tick);
	assert_true(!t->pairs[1].has_end || (c->is_cut && t->pairs[1].end.raw == 77));
	nr_ticks_as_end += t->pairs[1].is_tick;
	assert_non_null(t->sampling);
	assert_int_equal(t->sampling->item[0].samples, NR_SAMPLES);
	assert_int_equal(t->sampling->item[0].lost, c->has_sampling ? 3 : UINT64_MAX);
	if (c->has_sampling)
		return;
	/* totals that were not written are counted */
	assert_int_equal(t->sampling->item[0].weight, NR_SAMPLES * rate);
	assert_int_equal(t->sampling->item[0].idle, 1); /* of thread 0 */
	assert_int_equal(t->end_ns, (c->act == kill_earlier ? 600 : 890) * MS);
}

static void read_scene(const struct scene *c, struct told *told)
{
	struct profile_session *s;
	struct profile_iterator *it;
	struct profile_trace t;
	size_t nr, nr_traces = 0;

	assert_int_equal(open_session(told, &s), 0);
	assert_true(profile_session_facts(s)->is_sampling);
	it = profile_iterator_new(s);
	for (; profile_iterator_next(it, &t) == 1; nr_traces++) {
		if (nr_traces == 1)
			check_last_trace(c, &t);
		if (nr_traces == 1 && replaces_last)
			write_trace(2, 1);
		assert_int_equal(read_records(it, &t, &nr), 0);
		if (nr != c->nr_records[nr_traces])
			fail_msg("%s: %zu records of trace %zu", c->name, nr, nr_traces);
	}
	profile_iterator_free(it);
	assert_int_equal(nr_traces, NR_TRACES);
	assert_int_equal(read_common(s, &nr), 0);
	if (nr != c->nr_common)
		fail_msg("%s: %zu records in common", c->name, nr);
	profile_session_close(s);
}

TEST(scenes_are_told)
{
	for (size_t i = 0; i < NR(scenes); i++) {
		struct told told = {0};

		make_session();
		replaces_last = false;
		scenes[i].act();
		read_scene(&scenes[i], &told);
		if (told.nr_losses != scenes[i].nr_losses || told.nr_notes ||
		    (scenes[i].said && !strstr(told.text, scenes[i].said)))
			fail_msg("%s: %zu losses\n%s", scenes[i].name, told.nr_losses, told.text);
		remove_session();
	}
	replaces_last = false;
	assert_true(nr_ticks_as_end > 0);
}

/* Without a rate nothing is sampled; a common file that lies there is no stray. */
TEST(tally)
{
	struct told told = {0};
	struct profile_session *s;
	struct profile_iterator *it;
	struct profile_trace t;

	rate = 0;
	make_session();
	assert_int_equal(open_session(&told, &s), 0);
	assert_false(profile_session_facts(s)->is_sampling);
	it = profile_iterator_new(s);
	while (profile_iterator_next(it, &t) == 1)
		;
	profile_iterator_free(it);
	profile_session_close(s);
	assert_int_equal(told.nr_losses + told.nr_notes, 0);
	remove_session();
	rate = 1000;
}

static int read_all(void *arg)
{
	struct told told = {0};
	struct profile_session *s;
	struct profile_iterator *it;
	struct profile_trace t;
	size_t nr;
	int rc = open_session(&told, &s);

	(void)arg;
	if (rc)
		return rc;
	it = profile_iterator_new(s);
	while ((rc = profile_iterator_next(it, &t)) == 1) {
		rc = read_records(it, &t, &nr);
		if (rc)
			break;
	}
	profile_iterator_free(it);
	if (rc == 0)
		rc = read_common(s, &nr);
	profile_session_close(s);
	assert_null(strstr(told.text, "memory")); /* that is no problem of a file */
	return rc;
}

TEST(everything_fails_once)
{
	make_session();
	inject_every(read_all, NULL, 20, 10);
	remove_session();
}
