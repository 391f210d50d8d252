/*
 * The samples of a session's traces, read where they lie: each once, with its event, its time and
 * its weight; traces that are packed, damaged, of another session; several at once.
 */
#include "kit.h"
#include "profile/iterator.h"
#include "test_record.h"
#include "test_trace.h"

#include "base/place.h"
#include "profile/records.h"
#include "profile/samples.h"
#include "trace/file.h"
#include "trace/interpreted.h"

#include <inttypes.h>
#include <pthread.h>

enum { NR_TRACES = 4, NR_SAMPLES = 3000, MAX_BYTES = 64 << 20 };

/* Two that are sampled, and differ in layout; one is by frequency. */
static uint8_t attrs[2][ATTR_BYTES];
static struct trace_event events[] = {
    {.id = 1, .kind = EVENT_COUNT, .rate = 1000, .state = READING_OK, .attr = attrs[0]},
    {.id = 2, .kind = EVENT_COUNT, .frequency = 99, .state = READING_OK, .attr = attrs[1]},
};
static size_t nr_events = NR(events); /* in the traces */
static const struct trace_id ids[] = {{.id = 900, .event = 0},
				      {.id = 100, .event = 1},
				      {.id = 500, .event = 7},
				      {.id = 600, .event = 0, .attr = 3}};

HOOK(before_all)
{
	const struct attr plain = {.period = 1000,
				   .sample_type = S_IDENTIFIER | S_IP | S_TID | S_TIME,
				   .bits = ATTR_SAMPLE_ID_ALL};
	const struct attr wide = {.period = 99,
				  .sample_type =
				      S_IDENTIFIER | S_TID | S_CPU | S_PERIOD | S_CALLCHAIN,
				  .bits = ATTR_SAMPLE_ID_ALL | ATTR_FREQ};

	attr_bytes(&plain, attrs[0]);
	attr_bytes(&wide, attrs[1]);
	for (size_t i = 0; i < NR(events); i++) {
		events[i].attr_bytes = ATTR_BYTES;
		events[i].group = events[i].name = events[i].label = events[i].unit = "x";
	}
}

static void add_plain(struct buf *b, uint64_t id, uint32_t pid, uint64_t time_ns)
{
	size_t at = record_begin(b, PERF_RECORD_SAMPLE, 2);

	buf_le64(b, id);
	buf_le64(b, 0x1000 + pid);
	record_id(b, pid, pid, time_ns);
	record_end(b, at);
}

static void add_wide(struct buf *b, uint32_t pid, uint64_t period)
{
	size_t at = record_begin(b, PERF_RECORD_SAMPLE, 2);

	buf_le64(b, 100);
	buf_le32(b, pid);
	buf_le32(b, pid);
	buf_le32(b, 40 + pid % 3);
	buf_le32(b, 0);
	buf_le64(b, period);
	buf_le64(b, 2);
	buf_le64(b, 0x10);
	buf_le64(b, 0x20);
	record_end(b, at);
}

static void add_lost(struct buf *b)
{
	size_t at = record_begin(b, PERF_RECORD_LOST, 0);

	buf_le64(b, 900);
	buf_le64(b, 5);
	record_id(b, 1, 1, 7777);
	buf_le64(b, 900);
	record_end(b, at);
}

/* Samples of both events by turns, others between them. */
static void add_many(struct buf *b)
{
	for (uint32_t i = 0; i < NR_SAMPLES; i++) {
		if (i % 2)
			add_wide(b, i, i % 4 == 1 ? 0 : i);
		else
			add_plain(b, 900, i, 1000 - i % 7);
		if (i % 50 == 0)
			add_lost(b);
	}
}

static const struct trace_head heads[NR_TRACES] = {
    {.trace = 0, .nr_traces = 2},
    {.trace = 1, .cpu = 1, .nr_traces = 2},
    {.iteration = 1, .trace = 0, .nr_traces = 2},
    {.iteration = 1, .trace = 1, .cpu = 1, .nr_traces = 2},
};

struct scene {
	struct folder folder;
	struct trace_writer *w;
	struct trace_packer *packer;
};

static void scene_init(struct scene *s)
{
	folder_init(&s->folder);
	s->w = trace_writer_new();
	s->packer = trace_packer_new(1);
	assert_true(s->w && s->packer);
}

static void scene_fini(struct scene *s)
{
	trace_writer_free(s->w);
	trace_packer_free(s->packer);
	folder_fini(&s->folder);
}

/* Trace i, grown in its file; packed or not. */
static void write_trace_of(struct scene *s, size_t i, bool is_packed, const struct buf *records,
			   const struct trace_id *list, size_t nr_ids)
{
	static const struct trace_info info = {.tool = "t"};
	const struct trace_totals totals = {.start_ns = 1, .end_ns = 9};
	const struct trace_span span = {.part = {records->data, ""}, .len = {records->len, 0}};
	struct trace_file *f;
	struct err e = {0};
	char name[64];

	snprintf(name, sizeof(name), "s.%u.%u.cpuperf", heads[i].iteration, heads[i].trace);
	assert_int_equal(trace_writer_set_common(s->w, &info, events, nr_events), 0);
	assert_int_equal(trace_writer_begin(s->w, &heads[i]), 0);
	if (nr_ids)
		trace_writer_ids(s->w, list, nr_ids);
	assert_int_equal(
	    trace_file_create(s->w, s->folder.fd, name, name, is_packed ? s->packer : NULL, &f, &e),
	    0);
	/* what is no ring of samples is not taken for one */
	assert_int_equal(trace_file_records(f, TRACE_RING_SIDE_BAND, 0, &span, &e), 0);
	assert_int_equal(trace_file_records(f, TRACE_RING_SAMPLES, 0, &span, &e), 0);
	trace_writer_more(s->w);
	assert_int_equal(trace_file_finish(f, s->w, &totals, &e), 0);
}

static void write_trace(struct scene *s, size_t i, bool is_packed, const struct buf *records,
			size_t nr_ids)
{
	write_trace_of(s, i, is_packed, records, ids, nr_ids);
}

static void write_all(struct scene *s)
{
	struct buf b;

	buf_init(&b, MAX_BYTES);
	add_many(&b);
	for (size_t i = 0; i < NR_TRACES; i++)
		write_trace(s, i, i % 2, &b, NR(ids));
	buf_fini(&b);
}

struct told {
	pthread_mutex_t lock;
	size_t nr_losses;
	char text[2048];
};

static void take_problem(void *arg, bool is_loss, const struct err *e)
{
	struct told *t = arg;
	size_t len;

	pthread_mutex_lock(&t->lock);
	len = strlen(t->text);
	t->nr_losses += is_loss;
	snprintf(t->text + len, sizeof(t->text) - len, "%s: %s\n", e->source, e->msg);
	pthread_mutex_unlock(&t->lock);
}

static int open_session(const struct scene *s, struct told *told, struct profile_session **out)
{
	char path[sizeof(s->folder.path) + 16];
	const struct profile_manifest m = {path, "s", 2, 2};

	*told = (struct told){.lock = PTHREAD_MUTEX_INITIALIZER};
	snprintf(path, sizeof(path), "%s/s.cpsession", s->folder.path);
	return profile_session_open(&m, take_problem, told, out, NULL);
}

/* Sample i of add_many, in the trace of a CPU. */
static void check_sample(const struct profile_sample *s, uint32_t i, uint32_t cpu)
{
	const struct trace_record *r = &s->record;
	bool is_wide = i % 2;

	assert_int_equal(r->kind, PERF_RECORD_SAMPLE);
	assert_int_equal(r->pid, i);
	assert_int_equal(s->cpu, is_wide ? 40 + i % 3 : cpu);
	assert_int_equal(s->id->id, is_wide ? 100 : 900);
	assert_int_equal(s->id->event, is_wide);
	assert_int_equal(trace_layout_is_sampled(s->layout), true);
	assert_int_equal(s->layout->is_freq, is_wide);
	/* the wide ones tell no time, and some no period */
	assert_int_equal(s->time_ns, 1000 - (i - is_wide) % 7);
	assert_int_equal(s->weight, !is_wide ? 1000 : i % 4 == 1 ? 1 : i);
	assert_int_equal(r->nr_callchain, is_wide ? 2 : 0);
	if (is_wide)
		assert_int_equal(trace_word(r->callchain, 1), 0x20);
	else
		assert_int_equal(r->ip, 0x1000 + i);
}

/* Of a file; how many, or -errno. */
static int read_file(const struct profile_session *session, size_t i, struct told *told,
		     bool is_checked)
{
	struct profile_samples *s = NULL;
	struct profile_sample sample;
	uint64_t bytes = 0;
	int rc = profile_samples_open(session, i, take_problem, told, &s), nr = 0;

	if (rc != 1) {
		assert_null(s);
		return rc;
	}
	if (is_checked)
		assert_int_equal(profile_samples_head(s)->cpu, heads[i].cpu);
	while ((rc = profile_samples_next(s, &sample)) == 1) {
		if (is_checked)
			check_sample(&sample, (uint32_t)nr, heads[i].cpu);
		assert_true(profile_samples_bytes(s) >= bytes);
		bytes = profile_samples_bytes(s);
		nr++;
	}
	if (rc == 0)
		assert_int_equal(profile_samples_next(s, &sample), 0);
	profile_samples_close(s);
	return rc ? rc : nr;
}

TEST(each_sample_once)
{
	struct profile_session *session;
	struct told told;
	struct scene s;

	scene_init(&s);
	write_all(&s);
	assert_int_equal(open_session(&s, &told, &session), 0);
	assert_int_equal(profile_session_nr_files(session), NR_TRACES);
	for (size_t i = 0; i < NR_TRACES; i++) {
		struct profile_trace_file f = profile_session_file(session, i);

		assert_int_equal(f.iteration, heads[i].iteration);
		assert_int_equal(f.trace, heads[i].trace);
		assert_int_equal(read_file(session, i, &told, true), NR_SAMPLES);
	}
	assert_string_equal(told.text, "");
	profile_session_close(session);
	scene_fini(&s);
}

enum { INTERPRETED_ID = 700 };

/* What a thread interpreted: one frame, of the code with that number. */
static void add_interpreted(struct buf *b, uint32_t pid, uint64_t time_ns, uint64_t code)
{
	size_t at = record_begin(b, PERF_RECORD_SAMPLE, 2);

	buf_le64(b, INTERPRETED_ID);
	record_id(b, pid, pid, time_ns);
	buf_le32(b, 60);
	buf_le32(b, TRACE_LANGUAGE_PYTHON);
	buf_le32(b, 1);
	buf_le32(b, 0);
	buf_le32(b, 0);
	buf_le64(b, 0x5000);
	buf_le64(b, 0x6000);
	buf_le64(b, code);
	buf_le32(b, 3);
	buf_le32(b, 1);
	buf_le32(b, 0);
	record_end(b, at);
}

/* 0: none. */
static uint64_t code_of(const struct profile_sample *s)
{
	return s->interpreted ? s->interpreted->frame[0].code : 0;
}

static const struct trace_id *with_interpreted(void)
{
	static struct trace_id list[NR(ids) + 1];

	memcpy(list, ids, sizeof(ids));
	list[NR(ids)] = (struct trace_id){.id = INTERPRETED_ID, .event = TRACE_INTERPRETED};
	return list;
}

TEST(what_was_interpreted_belongs_to_the_sample_beside_it)
{
	enum { MS = 1000000 };
	static const uint64_t codes[] = {41, 0, 0, 0, 42, 0, 0};
	struct profile_session *session;
	struct profile_samples *r;
	struct profile_sample sample;
	struct told told;
	struct scene s;
	struct buf b;
	size_t nr = 0;

	scene_init(&s);
	buf_init(&b, MAX_BYTES);
	add_interpreted(&b, 5, 100 * MS + 3, 41);
	add_plain(&b, 900, 5, 100 * MS);
	add_plain(&b, 900, 6, 100 * MS + 9); /* another thread's */
	add_plain(&b, 900, 5, 100 * MS + 200000);
	add_plain(&b, 900, 5, 102 * MS); /* their records are missing */
	add_interpreted(&b, 5, 110 * MS, 42);
	add_plain(&b, 900, 5, 119 * MS);      /* kernels differ in which is earlier */
	add_interpreted(&b, 5, 120 * MS, 43); /* its sample is missing */
	add_plain(&b, 900, 5, 145 * MS);
	add_interpreted(&b, 5, 150 * MS, 44);
	add_lost(&b); /* the sample */
	add_plain(&b, 900, 5, 150 * MS + 9);
	write_trace_of(&s, 0, false, &b, with_interpreted(), NR(ids) + 1);
	assert_int_equal(open_session(&s, &told, &session), 0);
	assert_int_equal(profile_samples_open(session, 0, take_problem, &told, &r), 1);
	for (; profile_samples_next(r, &sample) == 1; nr++) {
		assert_true(nr < NR(codes));
		assert_int_equal(code_of(&sample), codes[nr]);
	}
	assert_int_equal(nr, NR(codes));
	assert_string_equal(told.text, ": no traces of iteration 1 (of 0-1)\n"
				       ": iteration 0 has no trace 1 (of 0-1)\n");
	profile_samples_close(r);
	profile_session_close(session);
	buf_fini(&b);
	scene_fini(&s);
}

enum { NR_FRAMES = 40, PER_FRAME = 500, NR_IN_FRAMES = NR_FRAMES * PER_FRAME };

static void add_by_turns(struct buf *b, uint32_t i)
{
	if (i % 2)
		add_wide(b, i, 10);
	else
		add_plain(b, 900, i, 1000 + i);
}

/* Frames of samples, of the only trace. */
static void write_frames(struct scene *s, uint32_t nr, void (*put)(struct buf *b, uint32_t i))
{
	static const struct trace_info info = {.tool = "t"};
	const struct trace_totals totals = {.start_ns = 1, .end_ns = 9};
	struct trace_file *f;
	struct err e = {0};
	struct buf b;

	buf_init(&b, MAX_BYTES);
	assert_int_equal(trace_writer_set_common(s->w, &info, events, nr_events), 0);
	assert_int_equal(trace_writer_begin(s->w, &heads[0]), 0);
	trace_writer_ids(s->w, ids, NR(ids));
	assert_int_equal(trace_file_create(s->w, s->folder.fd, "s.0.0.cpuperf", "x", NULL, &f, &e),
			 0);
	for (uint32_t i = 0; i < nr; i++) {
		struct trace_span span = {.len = {0}};

		put(&b, i);
		if (i % PER_FRAME < PER_FRAME - 1)
			continue;
		span.part[0] = b.data;
		span.len[0] = b.len;
		assert_int_equal(trace_file_records(f, TRACE_RING_SAMPLES, 0, &span, &e), 0);
		buf_reset(&b);
	}
	trace_writer_more(s->w);
	assert_int_equal(trace_file_finish(f, s->w, &totals, &e), 0);
	buf_fini(&b);
}

/* Reads one of `every`, which stands for `stands_for`; how many frames had samples. */
static unsigned read_thinned(const struct profile_session *session, struct told *told,
			     uint32_t every, uint32_t stands_for)
{
	uint64_t nr[2] = {0}, expected = NR_IN_FRAMES / stands_for / 2;
	bool has_frame[NR_FRAMES] = {0};
	struct profile_samples *s;
	struct profile_sample sample;
	uint32_t last = 0;
	unsigned nr_frames = 0;

	assert_int_equal(profile_samples_open(session, 0, take_problem, told, &s), 1);
	profile_samples_thin(s, every);
	while (profile_samples_next(s, &sample) == 1) {
		const uint32_t pid = sample.record.pid;

		assert_true(pid < NR_IN_FRAMES && (!last || pid > last));
		last = pid;
		assert_int_equal(sample.samples, 1);
		assert_int_equal(sample.weight, (pid % 2 ? 10 : 1000) * (uint64_t)stands_for);
		assert_int_equal(sample.unit, sample.weight);
		has_frame[pid / PER_FRAME] = true;
		nr[pid % 2]++;
	}
	assert_non_null(profile_samples_trace(s));
	profile_samples_close(s);
	assert_true(nr[0] + nr[1] >= 2 * expected * 9 / 10 &&
		    nr[0] + nr[1] <= 2 * expected + every);
	/* by chance, not always of the same event; the choice is the same in each run */
	for (size_t i = 0; i < 2; i++)
		assert_true(nr[i] > expected * 3 / 4 && nr[i] < expected * 5 / 4);
	for (size_t i = 0; i < NR_FRAMES; i++)
		nr_frames += has_frame[i];
	return nr_frames;
}

TEST(one_of_many_samples)
{
	struct profile_session *session;
	struct told told;
	struct scene s;

	scene_init(&s);
	write_frames(&s, NR_IN_FRAMES, add_by_turns);
	assert_int_equal(open_session(&s, &told, &session), 0);
	told.text[0] = '\0'; /* the other traces are missing */
	assert_int_equal(read_thinned(session, &told, 1, 1), NR_FRAMES);
	assert_int_equal(read_thinned(session, &told, 2, 2), NR_FRAMES);
	assert_int_equal(read_thinned(session, &told, 50, 50), NR_FRAMES);
	/* of four frames one, and of that one of 50 */
	assert_in_range(read_thinned(session, &told, 200, 200), NR_FRAMES / 4 - 1,
			NR_FRAMES / 4 + 1);
	assert_string_equal(told.text, "");
	assert_int_equal(profile_session_iteration_bytes(session, 0),
			 profile_session_bytes(session));
	assert_int_equal(profile_session_iteration_bytes(session, 1), 0);
	profile_session_close(session);
	scene_fini(&s);
}

/* Writes what the kernel added up into the only trace, before and after records. */
static void write_stacks(struct scene *s, const struct buf *items, const struct buf *records)
{
	static const struct trace_info info = {.tool = "t"};
	const struct trace_totals totals = {.start_ns = 1, .end_ns = 9};
	const struct trace_span span = {.part = {records->data, ""}, .len = {records->len, 0}};
	struct trace_file *f;
	struct err e = {0};

	assert_int_equal(trace_writer_set_common(s->w, &info, events, nr_events), 0);
	assert_int_equal(trace_writer_begin(s->w, &heads[0]), 0);
	trace_writer_ids(s->w, ids, NR(ids));
	trace_writer_stacks(s->w, 3, items);
	assert_int_equal(
	    trace_file_create(s->w, s->folder.fd, "s.0.0.cpuperf", "x", s->packer, &f, &e), 0);
	assert_int_equal(trace_file_records(f, TRACE_RING_SAMPLES, 3, &span, &e), 0);
	trace_writer_more(s->w);
	trace_writer_stacks(s->w, 3, items);
	assert_int_equal(trace_file_append(f, s->w, &e), 0);
	assert_int_equal(trace_file_finish(f, s->w, &totals, &e), 0);
}

static void add_stack(struct buf *b, uint64_t samples, uint64_t weight, uint64_t end_ns,
		      uint32_t pid, uint64_t time_ns)
{
	const struct trace_added added = {samples, weight, end_ns};
	struct buf record;

	buf_init(&record, MAX_BYTES);
	add_plain(&record, 900, pid, time_ns);
	trace_add_stack(b, &added, record.data, record.len);
	assert_int_equal(buf_error(b), 0);
	buf_fini(&record);
}

/* Sums by pid, of all parts. */
struct added_up {
	uint64_t samples, weight, parts, first_ns, last_ns, unit;
};

static void add_up(const struct scene *scene, struct told *told, struct added_up *sums, size_t nr)
{
	struct profile_session *session;
	struct profile_samples *s;
	struct profile_sample sample;

	memset(sums, 0, nr * sizeof(*sums));
	assert_int_equal(open_session(scene, told, &session), 0);
	told->text[0] = '\0'; /* the other traces are missing */
	assert_int_equal(profile_samples_open(session, 0, take_problem, told, &s), 1);
	while (profile_samples_next(s, &sample) == 1) {
		struct added_up *to = &sums[sample.record.pid];

		assert_true(sample.record.pid < nr);
		assert_true(sample.samples && sample.end_ns >= sample.time_ns);
		assert_int_equal(sample.record.ip, 0x1000 + sample.record.pid);
		assert_int_equal(sample.id->id, 900);
		if (to->parts++ == 0)
			to->first_ns = sample.time_ns;
		assert_true(sample.time_ns >= to->first_ns);
		to->last_ns = sample.end_ns > to->last_ns ? sample.end_ns : to->last_ns;
		to->samples += sample.samples;
		to->weight += sample.weight;
		to->unit = sample.unit;
	}
	profile_samples_close(s);
	profile_session_close(session);
}

/* In parts, as many at most as a report's time has; each sample counts once. */
TEST(stacks)
{
	struct added_up sums[8];
	struct buf items, records;
	struct told told;
	struct scene s;

	scene_init(&s);
	buf_init(&items, MAX_BYTES);
	buf_init(&records, MAX_BYTES);
	add_stack(&items, 1, 1000, 50, 1, 50);
	add_stack(&items, 3, 3000, 90, 2, 60);
	add_stack(&items, 100001, 100001 * 1000 + 7, 1000000, 3, 10);
	add_stack(&items, TRACE_MAX_ADDED, TRACE_MAX_ADDED_WEIGHT, UINT64_MAX, 4, 0);
	add_stack(&items, 2, 2000, 3, 5, 9); /* it ends before it begins */
	add_plain(&records, 900, 6, 70);
	write_stacks(&s, &items, &records);
	add_up(&s, &told, sums, NR(sums));
	assert_string_equal(told.text, "");
	assert_int_equal(sums[1].samples, 2); /* the frame is there twice */
	assert_int_equal(sums[1].parts, 2);
	assert_int_equal(sums[1].weight, 2000);
	assert_int_equal(sums[1].first_ns, 50);
	assert_int_equal(sums[2].samples, 6);
	assert_int_equal(sums[2].parts, 6);
	assert_int_equal(sums[2].weight, 6000);
	assert_int_equal(sums[2].first_ns, 60);
	assert_int_equal(sums[2].last_ns, 80);
	assert_int_equal(sums[3].samples, 200002);
	assert_int_equal(sums[3].parts, 128);
	assert_int_equal(sums[3].weight, 2 * (100001 * 1000 + 7));
	assert_int_equal(sums[3].first_ns, 10);
	assert_int_equal(sums[3].last_ns, 1000000);
	assert_int_equal(sums[4].parts, 128);
	assert_int_equal(sums[4].samples, 2 * TRACE_MAX_ADDED);
	assert_int_equal(sums[5].samples, 4);
	assert_int_equal(sums[5].last_ns, 9);
	assert_int_equal(sums[6].samples, 1);
	assert_int_equal(sums[6].weight, 1000);
	buf_fini(&records);
	buf_fini(&items);
	scene_fini(&s);
}

/* As a whole: parts of the largest amount of a stack would be amounts that it never had. */
TEST(stacks_of_maxima)
{
	static const int maxima[] = {PERF_ABI_HEAP_MAX, PERF_ABI_HEAP_PATH_PEAK};
	enum { CONFIG1 = 56 };
	const struct attr heap = {.type = PERF_TYPE_SOFTWARE,
				  .config = PERF_COUNT_SW_DUMMY,
				  .period = 1,
				  .sample_type = S_IDENTIFIER | S_IP | S_TID | S_TIME,
				  .bits = ATTR_SAMPLE_ID_ALL};

	for (size_t i = 0; i < NR(maxima); i++) {
		struct added_up sums[8];
		struct buf items, records;
		struct told told;
		struct scene s;

		scene_init(&s);
		buf_init(&items, MAX_BYTES);
		buf_init(&records, MAX_BYTES);
		attr_bytes(&heap, attrs[0]);
		put_word(attrs[0] + CONFIG1, PERF_ABI_HEAP + (uint64_t)maxima[i]);
		add_stack(&items, 10, 100007, 90, 1, 50);
		write_stacks(&s, &items, &records);
		add_up(&s, &told, sums, NR(sums));
		assert_int_equal(sums[1].parts, 2); /* the frame is there twice */
		assert_int_equal(sums[1].samples, 20);
		assert_int_equal(sums[1].weight, 2 * 100007);
		assert_int_equal(sums[1].last_ns, 90);
		buf_fini(&records);
		buf_fini(&items);
		scene_fini(&s);
	}
	before_all();
}

static void add_raw_stack(struct buf *b, uint64_t unit, uint32_t raw_len, uint32_t pid)
{
	const struct trace_added added = {4, 4000, 60};
	struct buf record;
	size_t at;

	buf_init(&record, MAX_BYTES);
	at = record_begin(&record, PERF_RECORD_SAMPLE, 2);
	buf_le64(&record, 900);
	buf_le64(&record, 0x1000 + pid);
	record_id(&record, pid, pid, 50);
	buf_le32(&record, raw_len);
	buf_le64(&record, unit);
	if (raw_len >= sizeof(unit))
		buf_le32(&record, 0);
	else
		buf_cut(&record, record.len - sizeof(unit) + raw_len);
	record_end(&record, at);
	trace_add_stack(b, &added, record.data, record.len);
	assert_int_equal(buf_error(b), 0);
	buf_fini(&record);
}

/* Of a program that adapts, samples of the heap say what they stand for; else it is the rate. */
TEST(stacks_of_several_rates)
{
	enum { CONFIG1 = 56, RATE = 4096 };
	static const struct {
		uint64_t period, sample_type;
		uint64_t unit[3];
	} cases[] = {{RATE, S_RAW, {0, 512, RATE}}, {1, S_RAW, {0, 0, 0}}};

	for (size_t i = 0; i < NR(cases); i++) {
		const struct attr heap = {.type = PERF_TYPE_SOFTWARE,
					  .config = PERF_COUNT_SW_DUMMY,
					  .period = cases[i].period,
					  .sample_type = S_IDENTIFIER | S_IP | S_TID | S_TIME |
							 cases[i].sample_type,
					  .bits = ATTR_SAMPLE_ID_ALL};
		struct added_up sums[8];
		struct buf items, records;
		struct told told;
		struct scene s;

		scene_init(&s);
		buf_init(&items, MAX_BYTES);
		buf_init(&records, MAX_BYTES);
		attr_bytes(&heap, attrs[0]);
		put_word(attrs[0] + CONFIG1, PERF_ABI_HEAP);
		add_raw_stack(&items, 0, 12, 1);
		add_raw_stack(&items, 512, 12, 2);
		add_raw_stack(&items, 512, 4, 3); /* too short */
		write_stacks(&s, &items, &records);
		add_up(&s, &told, sums, NR(sums));
		for (size_t k = 0; k < NR(cases[i].unit); k++) {
			assert_int_equal(sums[1 + k].samples, 8);
			assert_int_equal(sums[1 + k].weight, 8000);
			assert_int_equal(sums[1 + k].unit, cases[i].unit[k]);
		}
		buf_fini(&records);
		buf_fini(&items);
		scene_fini(&s);
	}
	before_all();
}

TEST(invalid_stacks)
{
	static const struct {
		uint64_t samples, weight;
	} invalid[] = {{0, 0}, {TRACE_MAX_ADDED + 1, 1}, {UINT64_MAX, UINT64_MAX}, {1, UINT64_MAX}};

	for (size_t i = 0; i < NR(invalid); i++) {
		struct added_up sums[8];
		struct buf items, records;
		struct told told;
		struct scene s;

		scene_init(&s);
		buf_init(&items, MAX_BYTES);
		buf_init(&records, MAX_BYTES);
		add_stack(&items, 1, 1000, 50, 1, 50);
		add_stack(&items, invalid[i].samples, invalid[i].weight, 60, 2, 60);
		add_stack(&items, 1, 1000, 70, 3, 70);
		write_stacks(&s, &items, &records);
		add_up(&s, &told, sums, NR(sums));
		assert_int_equal(sums[1].samples, 2);
		assert_int_equal(sums[2].samples, 0);
		assert_int_equal(sums[3].samples, 0); /* where it begins is not known */
		assert_string_equal(told.text, "s.0.0.cpuperf: 2 records are invalid: skipped\n");
		buf_fini(&records);
		buf_fini(&items);
		scene_fini(&s);
	}
}

/* The places of two stacks in each frame of the scene. */
static void write_placed(struct scene *s, const struct buf *places, bool is_before_others)
{
	static const struct trace_info info = {.tool = "t"};
	const struct trace_totals totals = {.start_ns = 1, .end_ns = 9};
	struct trace_file *f;
	struct err e = {0};
	struct buf items;

	buf_init(&items, MAX_BYTES);
	add_stack(&items, 100, 100000, 50, 1, 50);
	add_stack(&items, 2, 2000, 60, 2, 60);
	assert_int_equal(trace_writer_set_common(s->w, &info, events, nr_events), 0);
	assert_int_equal(trace_writer_begin(s->w, &heads[0]), 0);
	trace_writer_ids(s->w, ids, NR(ids));
	trace_writer_places(s->w, places);
	if (is_before_others) {
		struct buf none;

		buf_init(&none, MAX_BYTES);
		trace_writer_stacks(s->w, 3, &none);
	}
	trace_writer_stacks(s->w, 3, &items);
	assert_int_equal(
	    trace_file_create(s->w, s->folder.fd, "s.0.0.cpuperf", "x", s->packer, &f, &e), 0);
	assert_int_equal(trace_file_finish(f, s->w, &totals, &e), 0);
	buf_fini(&items);
}

/* Of each stack the sum of its places, or NO_PLACES; no other part has any. */
enum { NO_PLACES = 1 << 20 };
static void read_placed(const struct scene *scene, struct told *told, int sum[2])
{
	struct profile_session *session;
	struct profile_samples *s;
	struct profile_sample sample;
	uint32_t pid = 0;

	sum[0] = sum[1] = NO_PLACES;
	assert_int_equal(open_session(scene, told, &session), 0);
	told->text[0] = '\0'; /* the other traces are missing */
	assert_int_equal(profile_samples_open(session, 0, take_problem, told, &s), 1);
	while (profile_samples_next(s, &sample) == 1) {
		const bool is_first = sample.record.pid != pid;

		pid = sample.record.pid;
		assert_in_range(pid, 1, 2);
		assert_true(is_first || !sample.places);
		if (!sample.places)
			continue;
		assert_int_equal(sample.nr_places, pid == 1 ? 100 : 2);
		sum[pid - 1] = 0;
		for (int i = 0; i < PLACE_SUMS; i++)
			sum[pid - 1] += sample.places[i];
	}
	profile_samples_close(s);
	profile_session_close(session);
}

/* Those of all samples of a stack, with its first part; sums of more samples than there are count
 * for nothing, and those of another frame are not the stacks'. */
TEST(places)
{
	static const char one[] = "s.0.0.cpuperf: 1 record is invalid: skipped\n";
	static const struct {
		int16_t first, second;
		bool is_of_other;
		int expected[2];
		const char *told;
	} cases[] = {
	    {100, -2, false, {100, -2}, ""},
	    {-99, 1, false, {-99, 1}, ""},
	    {101, 2, false, {NO_PLACES, 2}, one},
	    {300, 0, false, {NO_PLACES, 0}, one},
	    {1, 3, false, {1, NO_PLACES}, one},
	    {NO_PLACES >> 8, 1, false, {NO_PLACES, 1}, one},
	    {100, -2, true, {NO_PLACES, NO_PLACES}, ""},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		int16_t sums[2][PLACE_SUMS] = {{cases[i].first}, {cases[i].second}};
		struct buf places;
		struct told told;
		struct scene s;
		int sum[2];

		scene_init(&s);
		buf_init(&places, MAX_BYTES);
		trace_add_places(&places, sums[0]);
		trace_add_places(&places, sums[1]);
		write_placed(&s, &places, cases[i].is_of_other);
		read_placed(&s, &told, sum);
		assert_memory_equal(sum, cases[i].expected, sizeof(sum));
		assert_string_equal(told.text, cases[i].told);
		buf_fini(&places);
		scene_fini(&s);
	}
}

/* What is invalid ends the items of the frame; its stacks count. */
TEST(invalid_places)
{
	static const uint8_t invalid[] = {253, 0, 0, 0};
	struct added_up sums[8];
	struct buf places;
	struct told told;
	struct scene s;
	int sum[2];

	scene_init(&s);
	buf_init(&places, MAX_BYTES);
	buf_add(&places, invalid, sizeof(invalid));
	write_placed(&s, &places, false);
	read_placed(&s, &told, sum);
	assert_int_equal(sum[0], NO_PLACES);
	assert_int_equal(sum[1], NO_PLACES);
	assert_string_equal(told.text, "s.0.0.cpuperf: 1 record is invalid: skipped\n");
	add_up(&s, &told, sums, NR(sums));
	assert_int_equal(sums[1].samples, 100);
	assert_int_equal(sums[2].samples, 2);
	buf_fini(&places);
	scene_fini(&s);
}

/* The same as records.h tells of them. */
TEST(as_the_records_say)
{
	struct profile_session *session;
	struct profile_records *r;
	struct profile_iterator *it;
	struct profile_trace t;
	struct profile_item item;
	struct told told;
	struct scene s;
	uint64_t weight[2] = {0}, nr[2] = {0};
	size_t i = 0;

	scene_init(&s);
	write_all(&s);
	assert_int_equal(open_session(&s, &told, &session), 0);
	it = profile_iterator_new(session);
	for (; profile_iterator_next(it, &t) == 1; i++) {
		struct profile_samples *samples;
		struct profile_sample sample;

		assert_int_equal(profile_iterator_records(it, &r), 1);
		while (profile_records_next(r, &item) == 1)
			if (item.record.kind == PERF_RECORD_SAMPLE) {
				nr[0]++;
				weight[0] += item.record.period ? item.record.period : 1;
			}
		profile_records_close(r);
		assert_int_equal(profile_samples_open(session, i, take_problem, &told, &samples),
				 1);
		while (profile_samples_next(samples, &sample) == 1) {
			nr[1]++;
			weight[1] += sample.weight;
		}
		profile_samples_close(samples);
	}
	assert_int_equal(nr[0], NR_TRACES * NR_SAMPLES);
	assert_int_equal(nr[0], nr[1]);
	assert_int_equal(weight[0], weight[1]);
	profile_iterator_free(it);
	profile_session_close(session);
	scene_fini(&s);
}

/* Samples whose event is not known, that are cut short, or have a size that cannot be. */
static void put_unknown(struct buf *b)
{
	add_plain(b, 900, 1, 1);
	add_plain(b, 4711, 2, 2);
	add_plain(b, 500, 2, 2);
	add_plain(b, 600, 2, 2);
	add_plain(b, 900, 3, 3);
}

static void put_short(struct buf *b)
{
	size_t at;

	add_plain(b, 900, 1, 1);
	at = record_begin(b, PERF_RECORD_SAMPLE, 2);
	buf_le64(b, 900);
	record_end(b, at);
	add_plain(b, 900, 2, 2);
}

static void put_broken(struct buf *b)
{
	add_plain(b, 900, 1, 1);
	buf_fill(b, 0, 8);
	add_plain(b, 900, 2, 2);
}

static void put_good(struct buf *b)
{
	for (uint32_t i = 0; i < 5; i++)
		add_plain(b, 900, i, i);
}

static void leave(struct scene *s)
{
	(void)s;
}

static void flip(struct scene *s)
{
	int fd = openat(s->folder.fd, "s.0.0.cpuperf", O_RDWR | O_CLOEXEC);
	off_t at = lseek(fd, 0, SEEK_END) - 16 - 64 - 20; /* in the records */
	char byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void cut(struct scene *s)
{
	int fd = openat(s->folder.fd, "s.0.0.cpuperf", O_RDWR | O_CLOEXEC);

	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - 16 - 64), 0);
	close(fd);
}

static void lose(struct scene *s)
{
	assert_int_equal(unlinkat(s->folder.fd, "s.0.0.cpuperf", 0), 0);
}

/* Another trace under its name. */
static void swap(struct scene *s)
{
	lose(s);
	assert_int_equal(linkat(s->folder.fd, "s.0.1.cpuperf", s->folder.fd, "s.0.0.cpuperf", 0),
			 0);
}

/* The event is called otherwise. */
static void rename_event(struct scene *s)
{
	struct buf b;

	buf_init(&b, MAX_BYTES);
	put_good(&b);
	events[0].name = "other";
	write_trace(s, 0, false, &b, NR(ids));
	events[0].name = "x";
	buf_fini(&b);
}

static const struct {
	const char *name;
	void (*put)(struct buf *b);
	void (*act)(struct scene *s); /* after the session was opened */
	size_t nr_ids;
	int nr;
	const char *said;
} bad[] = {
    {"good", put_good, leave, NR(ids), 5, ""},
    {"unknown", put_unknown, leave, NR(ids), 2, "s.0.0.cpuperf: 3 records of unknown events\n"},
    {"short", put_short, leave, NR(ids), 2, "s.0.0.cpuperf: 1 record is invalid: skipped\n"},
    {"broken", put_broken, leave, NR(ids), 1, "s.0.0.cpuperf: 1 record is invalid: skipped\n"},
    {"no ids of two events", put_good, leave, 0, 0, "s.0.0.cpuperf: 5 records of unknown events\n"},
    {"damaged", put_good, flip, NR(ids), 0, "checksum or padding is wrong; 224 bytes skipped\n"},
    {"cut", put_good, cut, NR(ids), 5, "s.0.0.cpuperf: truncated: its end is missing\n"},
    {"lost", put_good, lose, NR(ids), 0,
     "s.0.0.cpuperf: cannot be read: No such file or directory\n"},
    {"another trace", put_good, swap, NR(ids), 0,
     "s.0.0.cpuperf: its header names another iteration or trace: "
     "ignored\n"},
    {"other events", put_good, rename_event, NR(ids), 0,
     "s.0.0.cpuperf: its events are not those of the session: ignored\n"},
};

TEST(what_is_bad_is_told)
{
	for (size_t i = 0; i < NR(bad); i++) {
		struct profile_session *session;
		struct told told;
		struct scene s;
		struct buf b;
		int nr;

		scene_init(&s);
		write_all(&s);
		buf_init(&b, MAX_BYTES);
		bad[i].put(&b);
		write_trace(&s, 0, false, &b, bad[i].nr_ids);
		assert_int_equal(open_session(&s, &told, &session), 0);
		bad[i].act(&s);
		nr = read_file(session, 0, &told, false);
		if (nr != bad[i].nr || !strstr(told.text, bad[i].said) ||
		    !*told.text != !*bad[i].said)
			fail_msg("%s: %d samples, %s", bad[i].name, nr, told.text);
		buf_fini(&b);
		profile_session_close(session);
		scene_fini(&s);
	}
}

/* Alone in its ring: records do not name their event; with the ids, and where they are lost. */
TEST(one_event_alone)
{
	const struct attr alone = {
	    .period = 1000, .sample_type = S_IP | S_TID | S_TIME, .bits = ATTR_SAMPLE_ID_ALL};
	const size_t nr_ids[] = {1, 0};
	struct profile_session *session;
	struct told told;
	struct scene s;
	struct buf b;

	buf_init(&b, MAX_BYTES);
	attr_bytes(&alone, attrs[0]);
	nr_events = 1;
	for (uint32_t i = 0; i < 5; i++) {
		size_t at = record_begin(&b, PERF_RECORD_SAMPLE, 2);

		buf_le64(&b, 0x1000);
		record_id(&b, i, i, i);
		record_end(&b, at);
	}
	for (size_t i = 0; i < NR(nr_ids); i++) {
		scene_init(&s);
		write_trace(&s, 0, false, &b, nr_ids[i]);
		assert_int_equal(open_session(&s, &told, &session), 0);
		told.text[0] = '\0'; /* of the traces that are missing */
		assert_int_equal(read_file(session, 0, &told, false), 5);
		assert_string_equal(told.text, "");
		profile_session_close(session);
		scene_fini(&s);
	}
	nr_events = NR(events);
	before_all();
	buf_fini(&b);
}

/* Two threads, each a file at a time. */
struct reader {
	const struct profile_session *session;
	struct told *told;
	size_t first;
	int nr;
};

static void *read_half(void *arg)
{
	struct reader *r = arg;

	for (size_t i = r->first; i < NR_TRACES; i += 2)
		for (int times = 0; times < 20; times++)
			r->nr += read_file(r->session, i, r->told, true);
	return NULL;
}

TEST(two_threads_read)
{
	struct profile_session *session;
	struct reader readers[2];
	pthread_t threads[2];
	struct told told;
	struct scene s;

	scene_init(&s);
	write_all(&s);
	assert_int_equal(open_session(&s, &told, &session), 0);
	for (size_t i = 0; i < 2; i++) {
		readers[i] = (struct reader){session, &told, i, 0};
		assert_int_equal(pthread_create(&threads[i], NULL, read_half, &readers[i]), 0);
	}
	for (size_t i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(readers[i].nr, 20 * NR_TRACES / 2 * NR_SAMPLES);
	}
	assert_string_equal(told.text, "");
	profile_session_close(session);
	scene_fini(&s);
}

/* Times: NR_TIMED samples in frames, one each ns, and what is between two of them is needed. */
enum { NR_TIMED = 200 * PER_FRAME, FIRST_NS = 1000, FROM_NS = 60000, TO_NS = 61000 };

static void add_timed(struct buf *b, uint32_t i)
{
	add_plain(b, 900, i, FIRST_NS + i);
}

/* One of them is of no known event. */
static void add_one_foreign(struct buf *b, uint32_t i)
{
	add_plain(b, i == 100 ? 4711 : 900, i, FIRST_NS + i);
}

static void add_one_broken(struct buf *b, uint32_t i)
{
	if (i == PER_FRAME - 1)
		buf_fill(b, 0, 8);
	else
		add_timed(b, i);
}

static void add_one_without_time(struct buf *b, uint32_t i)
{
	i == 100 ? add_wide(b, i, 1000) : add_timed(b, i);
}

struct read {
	uint64_t returned, omitted, needed; /* samples */
	uint64_t end_ns;                    /* what follows them is read */
};

static void omit(void *arg, uint32_t event, uint64_t samples, uint64_t weight)
{
	struct read *r = arg;

	assert_int_equal(event, 0);
	assert_int_equal(weight, 1000 * samples);
	r->omitted += samples;
}

static struct read read_between(const struct profile_session *session, struct told *told)
{
	struct read r = {0};
	struct profile_samples *s;
	struct profile_sample sample;
	const struct profile_trace *trace;

	told->text[0] = '\0';
	assert_int_equal(profile_samples_open(session, 0, take_problem, told, &s), 1);
	profile_samples_within(s, FROM_NS, TO_NS, omit, &r);
	while (profile_samples_next(s, &sample) == 1) {
		r.returned++;
		r.needed += sample.time_ns >= FROM_NS && sample.time_ns <= TO_NS;
	}
	trace = profile_samples_trace(s);
	assert_non_null(trace);
	r.end_ns = trace->end_ns;
	profile_samples_close(s);
	return r;
}

/* What is not needed is read once, whether it is kept or not. */
TEST(times)
{
	static const struct {
		const char *name;
		void (*put)(struct buf *b, uint32_t i);
		void (*act)(struct scene *s);
		uint64_t nr, least, most; /* samples; those that are returned again */
		const char *said;
	} cases[] = {
	    {"all sums", add_timed, leave, NR_TIMED, TO_NS - FROM_NS + 1, NR_TIMED / 3, ""},
	    /* what is told is told each time */
	    {"foreign", add_one_foreign, leave, NR_TIMED - 1, NR_TIMED / 3, NR_TIMED * 2 / 3,
	     "s.0.0.cpuperf: 1 record of unknown events\n"},
	    {"broken", add_one_broken, leave, NR_TIMED - 1, NR_TIMED / 3, NR_TIMED * 2 / 3,
	     "s.0.0.cpuperf: 1 record is invalid: skipped\n"},
	    {"without a time", add_one_without_time, leave, NR_TIMED, NR_TIMED, NR_TIMED, ""},
	    {"cut", add_timed, cut, NR_TIMED, TO_NS - FROM_NS + 1, NR_TIMED / 3,
	     "s.0.0.cpuperf: truncated: its end is missing\n"},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct profile_session *session;
		struct told told;
		struct scene s;

		scene_init(&s);
		write_frames(&s, NR_TIMED, cases[i].put);
		cases[i].act(&s);
		assert_int_equal(open_session(&s, &told, &session), 0);
		for (int pass = 0; pass < 5; pass++) {
			const bool is_known = pass > 2;
			struct read r = read_between(session, &told);

			if (r.returned + r.omitted != cases[i].nr ||
			    r.needed != TO_NS - FROM_NS + 1 ||
			    strcmp(told.text, cases[i].said) != 0 ||
			    (is_known ? r.returned < cases[i].least || r.returned > cases[i].most
				      : r.omitted != 0))
				fail_msg("%s, pass %d: %d returned, %d omitted, %d needed, %s",
					 cases[i].name, pass, (int)r.returned, (int)r.omitted,
					 (int)r.needed, told.text);
			assert_int_equal(r.end_ns, cases[i].act == cut ? 0 : 9);
			if (pass == 1)
				assert_int_equal(profile_session_keep_times(session), 0);
		}
		profile_session_close(session);
		scene_fini(&s);
	}
}

/* Of a damaged file all is read each time. */
TEST(times_of_damaged)
{
	struct profile_session *session;
	struct told told;
	struct scene s;
	struct read r = {0};

	scene_init(&s);
	write_frames(&s, NR_TIMED, add_timed);
	flip(&s);
	assert_int_equal(open_session(&s, &told, &session), 0);
	assert_int_equal(profile_session_keep_times(session), 0);
	for (int pass = 0; pass < 2; pass++) {
		r = read_between(session, &told);
		assert_int_equal(r.returned, NR_TIMED - PER_FRAME);
		assert_non_null(strstr(told.text, "checksum or padding is wrong"));
	}
	profile_session_close(session);
	scene_fini(&s);
}

/* What is opened and read while calls fail: a file that cannot be read is told. */
struct attempt {
	const struct profile_session *session;
};

static int try_all(void *arg)
{
	const struct attempt *a = arg;
	struct told told = {.lock = PTHREAD_MUTEX_INITIALIZER};
	int rc = 0;

	for (size_t i = 0; i < 2 && rc >= 0; i++) {
		rc = read_file(a->session, i, &told, false);
		assert_true(rc < 0 || rc == NR_SAMPLES || told.nr_losses);
	}
	if (rc >= 0 && told.nr_losses)
		return inject.error;
	return rc < 0 ? rc : 0;
}

TEST(without_memory_or_files)
{
	struct attempt a;
	struct profile_session *session;
	struct told told;
	struct scene s;

	scene_init(&s);
	write_all(&s);
	assert_int_equal(open_session(&s, &told, &session), 0);
	a.session = session;
	inject_every(try_all, &a, 10, 5);
	assert_int_equal(profile_session_keep_times(session), 0);
	inject_every(try_all, &a, 10, 5);
	profile_session_close(session);
	scene_fini(&s);
}
