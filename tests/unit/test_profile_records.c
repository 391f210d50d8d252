/*
 * The stream of a file's records, over frames made by hand in memory: their order, whose they are,
 * what is said of those that make no sense, and how little memory it takes.
 */
#include "kit.h"
#include "test_record.h"
#include "test_trace.h"

#include "profile/records.h"

#include <inttypes.h>

enum { MS = 1000000, MAX_ITEMS = 64, MAX_BYTES = 128 << 20 };

/* Two sampled events that differ in layout, one that is counted with the first, one of misc. */
static uint8_t attrs[4][ATTR_BYTES];
static struct trace_event events[] = {
    {.kind = EVENT_COUNT, .rate = 1000, .attr = attrs[0], .attr_bytes = 2 * ATTR_BYTES},
    {.kind = EVENT_COUNT, .rate = 2000, .attr = attrs[2], .attr_bytes = ATTR_BYTES},
    {.kind = EVENT_COUNT, .attr = attrs[3], .attr_bytes = ATTR_BYTES},
    {.kind = EVENT_VALUE},
};

static const struct trace_id ids[] = {
    {.id = 900, .event = 0, .attr = 1, .group = 0},
    {.id = 100, .event = 2, .group = 0},
    {.id = 500, .event = 1, .group = 1},
    {.id = 600, .event = 77, .group = 2},
    {.id = 700, .event = 0, .attr = 9, .group = 3},
};

HOOK(before_all)
{
	const struct attr wide = {.period = 1000,
				  .sample_type = S_IDENTIFIER | S_TID | S_TIME | S_PERIOD,
				  .bits = ATTR_SAMPLE_ID_ALL};
	const struct attr narrow = {.period = 2000,
				    .sample_type = S_IDENTIFIER | S_TID | S_TIME,
				    .bits = ATTR_SAMPLE_ID_ALL};

	memset(attrs, 0, sizeof(attrs));
	attr_bytes(&narrow, attrs[0]);
	attr_bytes(&wide, attrs[1]);
	attr_bytes(&narrow, attrs[2]);
	attr_bytes(&(struct attr){.sample_type = S_TIME}, attrs[3]);
}

struct told {
	size_t nr_losses, nr_notes;
	char text[2048];
};

static void take_problem(void *arg, bool is_loss, const struct err *e)
{
	struct told *t = arg;
	size_t len = strlen(t->text);

	*(is_loss ? &t->nr_losses : &t->nr_notes) += 1;
	snprintf(t->text + len, sizeof(t->text) - len, "%s: %s\n", e->source, e->msg);
}

static struct profile_records_config config_of(struct told *told)
{
	return (struct profile_records_config){
	    .events = events,
	    .nr_events = NR(events),
	    .ids = ids,
	    .nr_ids = NR(ids),
	    .window_ns = MS,
	    .faults = {.name = "file", .problem = take_problem, .arg = told},
	    .is_read_twice = true,
	};
}

static void file_begin(struct buf *b)
{
	buf_init(b, MAX_BYTES);
	add_header_bytes(b, TRACE_VERSION, 0, TRACE_HEADER_BYTES);
}

/* The records of one frame, for frame_end. */
static void frame_begin(struct buf *records, enum trace_ring ring, uint32_t cpu)
{
	buf_init(records, MAX_BYTES);
	buf_le32(records, ring);
	buf_le32(records, cpu);
}

static void frame_end(struct buf *b, struct buf *records)
{
	assert_int_equal(buf_error(records), 0);
	add_frame(b, TRACE_FRAME_RECORDS, 0, records->data, (uint32_t)records->len);
	buf_fini(records);
}

/* A sample of the event with id 500; pid tells it from others. */
static void add_sample(struct buf *b, uint64_t time_ns, uint32_t pid)
{
	size_t at = record_begin(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

	buf_le64(b, 500);
	record_id(b, pid, pid, time_ns);
	record_end(b, at);
}

/* Of the side-band. */
static void add_comm(struct buf *b, uint64_t time_ns, const char *name)
{
	size_t at = record_begin(b, PERF_RECORD_COMM, 0);

	buf_le32(b, 7);
	buf_le32(b, 7);
	record_name(b, name);
	record_id(b, 7, 7, time_ns);
	record_end(b, at);
}

static void add_readings(struct buf *b, enum trace_boundary boundary, const struct reading *r,
			 size_t nr)
{
	struct buf p;

	buf_init(&p, MAX_BYTES);
	buf_le32(&p, boundary);
	buf_le32(&p, TRACE_READING_BYTES);
	buf_le32(&p, (uint32_t)nr);
	buf_le32(&p, 0);
	for (size_t i = 0; i < nr; i++) {
		const uint64_t words[] = {r[i].event | (uint64_t)r[i].instance << 32,
					  r[i].state,
					  r[i].time_ns,
					  r[i].raw,
					  0,
					  0,
					  0};

		for (size_t k = 0; k < NR(words); k++)
			buf_le64(&p, words[k]);
	}
	add_frame(b, TRACE_FRAME_READINGS, 0, p.data, (uint32_t)p.len);
	buf_fini(&p);
}

static struct profile_records *open_records(const struct buf *b,
					    const struct profile_records_config *config)
{
	struct profile_records *r = NULL;

	assert_int_equal(profile_records_open(open_bytes(b), config, &r), 0);
	return r;
}

/* The order of the items: frames of samples by their times, and what must come out. */
static const struct order {
	const char *name;
	uint64_t window_ns;
	struct {
		uint32_t cpu;
		uint64_t times[5]; /* up to the first 0 */
	} frames[4];
	uint64_t out[MAX_ITEMS / 4];
	uint64_t nr_late, max_disorder_ns;
} orders[] = {
    {"in order", MS, {{0, {1, 2, 3}}, {0, {4, 5}}}, {1, 2, 3, 4, 5}, 0, 0},
    {"in a frame", MS, {{0, {5, 4, 3, 2, 1}}}, {1, 2, 3, 4, 5}, 0, 4},
    {"a little back", MS, {{0, {10, 30, 20, 40, 35}}}, {10, 20, 30, 35, 40}, 0, 10},
    {"over frames", MS, {{0, {10, 40}}, {0, {30, 20}}}, {10, 20, 30, 40}, 0, 20},
    {"over two frames",
     MS,
     {{0, {10, MS}}, {0, {20, MS + 1}}, {0, {30, 5 * MS}}},
     {10, 20, 30, MS, MS + 1, 5 * MS},
     0,
     MS - 20},
    {"at the edge of the window", MS, {{0, {10, MS + 10}}, {0, {9}}}, {10, 9, MS + 10}, 1, MS + 1},
    {"within the window", MS, {{0, {10, MS + 9}}, {0, {9}}}, {9, 10, MS + 9}, 0, MS},
    {"no window", 0, {{0, {10, 5, 20}}, {0, {15}}}, {5, 10, 20, 15}, 1, 5},
    {"CPUs by turns",
     1000 * MS,
     {{0, {1, 100 * MS, 200 * MS}}, {1, {2, 150 * MS, 250 * MS}}, {0, {300 * MS}}},
     {1, 2, 100 * MS, 150 * MS, 200 * MS, 250 * MS, 300 * MS},
     0,
     0},
    {"far ahead",
     MS,
     {{0, {10, UINT64_MAX, 30}}, {0, {20}}},
     {10, 30, 20, UINT64_MAX},
     1,
     UINT64_MAX - 20},
};

static void make_order(struct buf *b, const struct order *o)
{
	file_begin(b);
	for (size_t f = 0; f < NR(o->frames); f++) {
		struct buf records;

		frame_begin(&records, TRACE_RING_SAMPLES, o->frames[f].cpu);
		for (size_t i = 0; i < NR(o->frames[f].times) && o->frames[f].times[i]; i++)
			add_sample(&records, o->frames[f].times[i], 1);
		frame_end(b, &records);
	}
}

TEST(records_are_put_in_order)
{
	for (size_t i = 0; i < NR(orders); i++) {
		const struct order *o = &orders[i];
		struct told told = {0};
		struct profile_records_config config = config_of(&told);
		const struct profile_records_stats *stats;
		struct profile_records *r;
		struct profile_item item;
		struct buf b;
		size_t nr = 0;

		make_order(&b, o);
		config.window_ns = o->window_ns;
		r = open_records(&b, &config);
		while (profile_records_next(r, &item) == 1) {
			if (item.kind != PROFILE_RECORD || item.time_ns != o->out[nr] ||
			    item.record.time_ns != item.time_ns || item.id != &ids[2])
				fail_msg("%s: item %zu at %" PRIu64, o->name, nr, item.time_ns);
			nr++;
		}
		stats = profile_records_stats(r);
		if (nr != stats->nr_records || o->out[nr] || stats->nr_late != o->nr_late ||
		    stats->max_disorder_ns != o->max_disorder_ns || told.nr_losses ||
		    told.nr_notes != (o->nr_late > 0))
			fail_msg("%s: %zu items, %" PRIu64 " late, disorder %" PRIu64 "\n%s",
				 o->name, nr, stats->nr_late, stats->max_disorder_ns, told.text);
		profile_records_close(r);
		buf_fini(&b);
	}
}

/* Of one time, and across slices of a frame: as in the file, at their place there. */
TEST(same_time_stays)
{
	enum { NR_SAMPLES = 100000 };
	struct told told = {0};
	const struct profile_records_config config = config_of(&told);
	struct profile_records *r;
	struct profile_item item;
	struct buf b, records;
	uint32_t nr = 0;
	size_t at;

	file_begin(&b);
	at = b.len + TRACE_FRAME_HEADER_BYTES;
	frame_begin(&records, TRACE_RING_SAMPLES, 3);
	for (uint32_t i = 0; i < NR_SAMPLES; i++)
		add_sample(&records, 5, i);
	frame_end(&b, &records);
	r = open_records(&b, &config);
	while (profile_records_next(r, &item) == 1) {
		assert_int_equal(item.record.pid, nr);
		assert_int_equal(item.offset, at + 8 + (size_t)nr * 32);
		assert_memory_equal(item.record.bytes, b.data + item.offset, 32);
		assert_int_equal(item.cpu, 3);
		nr++;
	}
	assert_int_equal(nr, NR_SAMPLES);
	assert_int_equal(told.nr_losses + told.nr_notes, 0);
	profile_records_close(r);
	buf_fini(&b);
}

/* A record of a shuffled file: where it is there, and its place in the file. */
struct placed {
	uint64_t time_ns, offset;
	uint32_t place;
};

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Times of a file: of record i of n, with a number at random. What is far out of order, and much of
 * one time; window_ns is as far as any goes back. */
static uint64_t backwards(uint64_t i, uint64_t n, uint64_t random)
{
	(void)random;
	return n - i;
}

static uint64_t at_random(uint64_t i, uint64_t n, uint64_t random)
{
	(void)i;
	return random % n;
}

static uint64_t of_few_times(uint64_t i, uint64_t n, uint64_t random)
{
	(void)i;
	(void)n;
	return random % 7;
}

static uint64_t a_little_back(uint64_t i, uint64_t n, uint64_t random)
{
	(void)n;
	return 100 + 10 * i - random % 100;
}

static uint64_t by_turns(uint64_t i, uint64_t n, uint64_t random)
{
	(void)n;
	return i / 500 / 2 * 500 + i % 500 + random % 3;
}

static const struct shuffle {
	const char *name;
	uint64_t (*time)(uint64_t i, uint64_t n, uint64_t random);
	uint64_t window_ns;
} shuffles[] = {
    {"backwards", backwards, UINT64_MAX},
    {"at random", at_random, UINT64_MAX},
    {"of few times", of_few_times, UINT64_MAX},
    {"a little back", a_little_back, 100},
    {"by turns", by_turns, 600},
    {"by turns, no end", by_turns, UINT64_MAX},
};

enum { SHUFFLED = 6000, SHUFFLED_IN_FRAME = 700 };

static void make_shuffled(struct buf *b, const struct shuffle *f, struct placed *out)
{
	uint64_t random = 1;
	struct buf records;

	file_begin(b);
	for (uint32_t i = 0; i < SHUFFLED; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		if (i % SHUFFLED_IN_FRAME == 0)
			frame_begin(&records, TRACE_RING_SAMPLES, 0);
		out[i] = (struct placed){1 + f->time(i, SHUFFLED, random >> 33),
					 b->len + TRACE_FRAME_HEADER_BYTES + records.len, i};
		add_sample(&records, out[i].time_ns, i);
		if (i % SHUFFLED_IN_FRAME == SHUFFLED_IN_FRAME - 1 || i == SHUFFLED - 1)
			frame_end(b, &records);
	}
	qsort(out, SHUFFLED, sizeof(*out), compare_placed);
}

/* As a sort would have it, whatever the order in the file; each with its own bytes. */
TEST(shuffled_files)
{
	static struct placed placed[SHUFFLED];

	for (size_t k = 0; k < NR(shuffles); k++) {
		struct told told = {0};
		struct profile_records_config config = config_of(&told);
		struct profile_records *r;
		struct profile_item item;
		struct buf b;
		size_t nr = 0;

		make_shuffled(&b, &shuffles[k], placed);
		config.window_ns = shuffles[k].window_ns;
		r = open_records(&b, &config);
		for (; profile_records_next(r, &item) == 1; nr++)
			if (nr == SHUFFLED || item.time_ns != placed[nr].time_ns ||
			    item.record.pid != placed[nr].place ||
			    item.offset != placed[nr].offset ||
			    memcmp(item.record.bytes, b.data + item.offset, item.record.len) != 0)
				fail_msg("%s: item %zu", shuffles[k].name, nr);
		assert_int_equal(nr, SHUFFLED);
		assert_int_equal(told.nr_losses + told.nr_notes, 0);
		profile_records_close(r);
		buf_fini(&b);
	}
}

static void put_record(struct buf *b, uint32_t kind, const uint64_t *words, size_t nr)
{
	size_t at = record_begin(b, kind, 0);

	for (size_t i = 0; i < nr; i++)
		buf_le64(b, words[i]);
	record_end(b, at);
}

/* Whose record it is, and with which layout it was read. */
TEST(ids_are_found)
{
	static const struct {
		uint32_t kind;
		uint64_t words[8];
		size_t nr;
		const struct trace_id *id;
		uint64_t time_ns, period;
		bool is_foreign;
	} rows[] = {
	    {PERF_RECORD_SAMPLE, {500, 1, 10}, 3, &ids[2], 10, 2000, false},
	    {PERF_RECORD_SAMPLE, {900, 1, 20, 77}, 4, &ids[0], 20, 77, false},
	    {PERF_RECORD_SAMPLE, {501, 1, 30}, 3, NULL, 20, 0, true}, /* the time before it */
	    {PERF_RECORD_SAMPLE, {600, 1, 30}, 3, NULL, 20, 0, true}, /* no such event */
	    {PERF_RECORD_SAMPLE, {700, 1, 30}, 3, NULL, 20, 0, true}, /* no such attr */
	    {PERF_RECORD_LOST, {900, 5, 1, 40, 900}, 5, &ids[0], 40, 0, false},
	    {PERF_RECORD_LOST, {901, 5, 1, 50, 901}, 5, NULL, 50, 0, true},
	    {PERF_RECORD_THROTTLE, {60, 700, 0, 1, 60, 700}, 6, &ids[4], 60, 0, false},
	    {PERF_RECORD_LOST, {700, 5, 1, 70, 700}, 5, &ids[4], 70, 0, false},
	    {99, {1, 2, 500}, 3, &ids[2], 70, 0, false},
	};
	struct told told = {0};
	const struct profile_records_config config = config_of(&told);
	struct profile_records *r;
	struct profile_item item;
	struct buf b, records;
	uint64_t nr_foreign = 0;

	file_begin(&b);
	frame_begin(&records, TRACE_RING_SAMPLES, 0);
	for (size_t i = 0; i < NR(rows); i++)
		put_record(&records, rows[i].kind, rows[i].words, rows[i].nr);
	frame_end(&b, &records);
	r = open_records(&b, &config);
	for (size_t i = 0; i < NR(rows); i++) {
		assert_int_equal(profile_records_next(r, &item), 1);
		if (item.id != rows[i].id || item.time_ns != rows[i].time_ns ||
		    item.record.period != rows[i].period || item.record.kind != rows[i].kind ||
		    item.record.len != 8 + 8 * rows[i].nr)
			fail_msg("row %zu", i);
		nr_foreign += rows[i].is_foreign;
	}
	assert_int_equal(profile_records_next(r, &item), 0);
	assert_int_equal(profile_records_next(r, &item), 0);
	assert_int_equal(profile_records_stats(r)->nr_foreign, nr_foreign);
	assert_int_equal(told.nr_losses, 1);
	assert_string_equal(told.text, "file: 4 records of unknown events\n");
	profile_records_close(r);
	buf_fini(&b);
}

/* Linux may give a sample of a software event the id of another session's event. */
TEST(ids_of_strangers)
{
	static const struct {
		uint64_t config[2];
		size_t want; /* which event the sample is of; 2: not known */
	} cases[] = {{{0, 2}, 1}, {{2, 1}, 0}, {{2, 3}, 2}, {{0, 1}, 2}};
	static const struct trace_id own[] = {{.id = 5, .event = 0}, {.id = 6, .event = 1}};

	for (size_t i = 0; i < NR(cases); i++) {
		uint8_t own_attrs[2][ATTR_BYTES] = {0};
		struct trace_event two[2] = {{.rate = 1}, {.rate = 1}};
		struct told told = {0};
		struct profile_records_config config = config_of(&told);
		struct profile_records *r;
		struct profile_item item;
		struct buf b, records;

		for (size_t k = 0; k < 2; k++) {
			const struct attr a = {.type = 1,
					       .config = cases[i].config[k],
					       .period = 100,
					       .sample_type = S_IDENTIFIER | S_TID | S_TIME,
					       .bits = ATTR_SAMPLE_ID_ALL};

			attr_bytes(&a, own_attrs[k]);
			two[k].attr = own_attrs[k];
			two[k].attr_bytes = ATTR_BYTES;
		}
		config.events = two;
		config.nr_events = 2;
		config.ids = own;
		config.nr_ids = 2;
		file_begin(&b);
		frame_begin(&records, TRACE_RING_SAMPLES, 0);
		put_record(&records, PERF_RECORD_SAMPLE, (const uint64_t[]){999, 1, 30}, 3);
		frame_end(&b, &records);
		r = open_records(&b, &config);
		assert_int_equal(profile_records_next(r, &item), 1);
		assert_ptr_equal(item.id, cases[i].want < 2 ? &own[cases[i].want] : NULL);
		assert_int_equal(profile_records_next(r, &item), 0);
		profile_records_close(r);
		buf_fini(&b);
	}
}

/* One event that is sampled, whose records do not say so. */
TEST(one_event_alone)
{
	static uint8_t plain[ATTR_BYTES];
	struct trace_event alone[] = {{.attr = attrs[3], .attr_bytes = ATTR_BYTES},
				      {.attr = plain, .attr_bytes = ATTR_BYTES}};
	const struct trace_id with_id[] = {{.id = 5, .event = 0}, {.id = 4, .event = 1}};
	struct told told = {0};
	struct profile_records_config config = config_of(&told);

	attr_bytes(
	    &(struct attr){.period = 10, .sample_type = S_TID | S_TIME, .bits = ATTR_SAMPLE_ID_ALL},
	    plain);
	config.events = alone;
	config.nr_events = 2;
	for (int has_ids = 0; has_ids < 2; has_ids++) {
		struct profile_records *r;
		struct profile_item item;
		struct buf b, records;

		config.ids = has_ids ? with_id : NULL;
		config.nr_ids = has_ids ? 2 : 0;
		file_begin(&b);
		frame_begin(&records, TRACE_RING_SAMPLES, 0);
		put_record(&records, PERF_RECORD_SAMPLE, (uint64_t[]){8, 30}, 2);
		put_record(&records, PERF_RECORD_LOST, (uint64_t[]){4, 5, 8, 20}, 4);
		frame_end(&b, &records);
		r = open_records(&b, &config);
		assert_int_equal(profile_records_next(r, &item), 1);
		assert_int_equal(item.record.lost, 5);
		assert_int_equal(item.time_ns, 20);
		assert_int_equal(item.id->event, 1);
		assert_int_equal(profile_records_next(r, &item), 1);
		assert_int_equal(item.record.pid, 8);
		assert_int_equal(item.time_ns, 30);
		assert_int_equal(item.id->event, 1);
		assert_true(item.id == &with_id[1] || !has_ids);
		assert_int_equal(profile_records_next(r, &item), 0);
		profile_records_close(r);
		buf_fini(&b);
	}
	assert_int_equal(told.nr_losses + told.nr_notes, 0);
}

/* Several events and no ids: what is said without them. */
TEST(lost_ids)
{
	struct told told = {0};
	struct profile_records_config config = config_of(&told);
	struct profile_records *r;
	struct profile_item item;
	struct buf b, records;

	config.ids = NULL;
	config.nr_ids = 0;
	file_begin(&b);
	frame_begin(&records, TRACE_RING_SAMPLES, 0);
	add_sample(&records, 5, 1);
	frame_end(&b, &records);
	r = open_records(&b, &config);
	assert_int_equal(profile_records_next(r, &item), 1);
	assert_null(item.id);
	assert_int_equal(item.record.kind, PERF_RECORD_SAMPLE);
	assert_int_equal(item.record.len, 32);
	assert_int_equal(profile_records_next(r, &item), 0);
	assert_string_equal(told.text, "file: 1 record of unknown events\n");
	profile_records_close(r);
	buf_fini(&b);
}

/* Attrs whose own sizes are no truth: of one that is whole the layout is known, of others not. */
TEST(attrs_that_lie)
{
	static const struct {
		uint32_t bytes, first_size, of; /* there are; the first says; which is asked for */
		bool is_known;
	} rows[] = {
	    {2 * ATTR_BYTES, ATTR_BYTES, 0, true},
	    {2 * ATTR_BYTES, ATTR_BYTES, 1, true},
	    {2 * ATTR_BYTES, ATTR_BYTES, 2, false},
	    {2 * ATTR_BYTES, 0, 1, false},
	    {2 * ATTR_BYTES, 7, 1, false},
	    {2 * ATTR_BYTES, UINT32_MAX, 1, false},
	    {ATTR_BYTES - 1, ATTR_BYTES, 0, false},
	    {7, ATTR_BYTES, 0, false},
	    {0, 0, 0, false},
	    {ATTR_BYTES + 8, ATTR_BYTES, 1, false},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct trace_event event = {.attr_bytes = rows[i].bytes};
		const struct trace_id id = {.id = 500, .attr = rows[i].of};
		uint8_t all[2 * ATTR_BYTES], *copy = rows[i].bytes ? malloc(rows[i].bytes) : NULL;
		struct told told = {0};
		struct profile_records_config config = config_of(&told);
		struct profile_records *r;
		struct profile_item item;
		struct buf b, records;

		memcpy(all, attrs[2], ATTR_BYTES);
		memcpy(all + ATTR_BYTES, attrs[2], ATTR_BYTES);
		memcpy(all + 4, &rows[i].first_size, 4);
		if (copy)
			memcpy(copy, all, rows[i].bytes);
		event.attr = copy;
		config.events = &event;
		config.nr_events = 1;
		config.ids = &id;
		config.nr_ids = 1;
		file_begin(&b);
		frame_begin(&records, TRACE_RING_SAMPLES, 0);
		add_sample(&records, 5, 1);
		frame_end(&b, &records);
		r = open_records(&b, &config);
		assert_int_equal(profile_records_next(r, &item), 1);
		if (!item.id == rows[i].is_known)
			fail_msg("row %zu", i);
		profile_records_close(r);
		buf_fini(&b);
		free(copy);
	}
}

/* Readings of another thread stand behind the records of the same time. */
TEST(ticks_join)
{
	static const struct reading ticks[] = {
	    {.event = 3, .state = READING_OK, .time_ns = 15, .raw = 1},
	    {.event = 3, .instance = UINT32_MAX, .state = READING_OK, .time_ns = 25, .raw = 2},
	    {.event = 4, .state = READING_OK, .time_ns = 26},
	    {.event = UINT32_MAX, .state = READING_OK, .time_ns = 26},
	};
	static const uint64_t out[] = {10, 15, 20, 25, 30};
	struct told told = {0};
	const struct profile_records_config config = config_of(&told);
	struct profile_records *r;
	struct profile_item item;
	struct buf b, records;
	size_t nr = 0, at;

	file_begin(&b);
	frame_begin(&records, TRACE_RING_SAMPLES, 0);
	for (uint64_t t = 10; t <= 30; t += 10)
		add_sample(&records, t, 1);
	frame_end(&b, &records);
	add_readings(&b, TRACE_START, ticks, 1);
	at = b.len + TRACE_FRAME_HEADER_BYTES + TRACE_READINGS_HEAD_BYTES;
	add_readings(&b, TRACE_TICK, ticks, NR(ticks));
	add_readings(&b, TRACE_END, ticks, 1);
	r = open_records(&b, &config);
	for (; profile_records_next(r, &item) == 1; nr++) {
		assert_int_equal(item.time_ns, out[nr]);
		assert_int_equal(item.kind, nr % 2 ? PROFILE_READING : PROFILE_RECORD);
		if (item.kind == PROFILE_RECORD)
			continue;
		assert_int_equal(item.reading.raw, nr / 2 + 1);
		assert_int_equal(item.reading.instance, nr / 2 ? UINT32_MAX : 0);
		assert_int_equal(item.offset, at + nr / 2 * TRACE_READING_BYTES);
	}
	assert_int_equal(nr, NR(out));
	assert_int_equal(profile_records_stats(r)->nr_readings, 2);
	assert_int_equal(profile_records_stats(r)->max_disorder_ns, 0);
	assert_string_equal(told.text, "file: 2 records of unknown events\n");
	profile_records_close(r);
	buf_fini(&b);
}

/* As the common file: several rings, made records, symbols; nobody else reads it. */
TEST(common_file)
{
	static const char symbols[] = "ffffffff81000000 T _text\n";
	struct told told = {0};
	struct profile_records_config config = config_of(&told);
	const char *names[] = {"made", "first", "second"};
	struct profile_records *r;
	struct profile_item item;
	struct buf b, records;
	bool has_symbols = false;
	size_t nr = 0;

	file_begin(&b);
	frame_begin(&records, TRACE_RING_SIDE_BAND, 1);
	add_comm(&records, 300 * MS, "second");
	frame_end(&b, &records);
	frame_begin(&records, TRACE_RING_MADE, UINT32_MAX);
	add_comm(&records, 100 * MS, "made");
	frame_end(&b, &records);
	add_frame(&b, TRACE_FRAME_KALLSYMS, 0, symbols, sizeof(symbols) - 1);
	frame_begin(&records, TRACE_RING_SIDE_BAND, 0);
	add_comm(&records, 200 * MS, "first");
	frame_end(&b, &records);
	config.events = NULL;
	config.ids = NULL;
	config.nr_events = config.nr_ids = 0;
	config.window_ns = PROFILE_WINDOW_BY_TURNS_NS;
	config.is_read_twice = false;
	r = open_records(&b, &config);
	while (profile_records_next(r, &item) == 1) /* no kernel symbols unless they are wanted */
		assert_int_equal(item.kind, PROFILE_RECORD);
	profile_records_close(r);
	told.text[0] = '\0';
	config.has_kallsyms = true;
	r = open_records(&b, &config);
	while (profile_records_next(r, &item) == 1) {
		if (item.kind == PROFILE_KALLSYMS) {
			assert_int_equal(item.text_len, sizeof(symbols) - 1);
			assert_memory_equal(item.text, symbols, item.text_len);
			has_symbols = true;
			continue;
		}
		assert_string_equal(item.record.name, nr < NR(names) ? names[nr] : "");
		assert_int_equal(item.ring, nr ? TRACE_RING_SIDE_BAND : TRACE_RING_MADE);
		assert_int_equal(item.cpu, nr ? nr - 1 : UINT32_MAX);
		assert_null(item.id);
		nr++;
	}
	assert_true(nr == 3 && has_symbols);
	assert_int_equal(profile_records_stats(r)->max_disorder_ns, 0);
	assert_string_equal(told.text, "file: truncated: its end is missing\n");
	profile_records_close(r);
	buf_fini(&b);
}

/* A frame of records: what is wrong there costs what is wrong, no more. */
TEST(nonsense_is_left_out)
{
	struct told told = {0};
	const struct profile_records_config config = config_of(&told);
	struct profile_records *r;
	struct profile_item item;
	struct buf b, records;
	uint32_t pid = 0;

	file_begin(&b);
	frame_begin(&records, TRACE_RING_SAMPLES, 0);
	add_sample(&records, 1, 1);
	put_record(&records, PERF_RECORD_SAMPLE, (uint64_t[]){500, 1}, 2); /* no time */
	put_record(&records, PERF_RECORD_COMM, (uint64_t[]){1, UINT64_MAX, 1, 1, 500}, 5);
	add_sample(&records, 2, 2);
	buf_fill(&records, 0, 64); /* size 0: nothing more can be found here */
	add_sample(&records, 2, 99);
	frame_end(&b, &records);
	add_frame(&b, TRACE_FRAME_RECORDS, 0, "\x09\0\0\0\0\0\0\0", 8); /* no such ring */
	frame_begin(&records, TRACE_RING_SAMPLES, 0);
	add_sample(&records, 3, 3);
	record_end(&records, records.len - 16); /* cut: the last words are no record */
	frame_end(&b, &records);
	frame_begin(&records, TRACE_RING_SAMPLES, 0);
	add_sample(&records, 4, 4);
	records.len -= 8;
	frame_end(&b, &records);
	frame_begin(&records, TRACE_RING_SAMPLES, 0);
	add_sample(&records, 5, 4);
	frame_end(&b, &records);
	r = open_records(&b, &config);
	while (profile_records_next(r, &item) == 1)
		assert_int_equal(item.record.pid, ++pid);
	assert_int_equal(pid, 4);
	assert_int_equal(profile_records_stats(r)->nr_senseless, 4);
	assert_int_equal(told.nr_losses, 2);
	assert_non_null(strstr(told.text, "(kind 7) cannot be decoded: skipped"));
	assert_non_null(strstr(told.text, "file: 4 records are invalid: skipped\n"));
	profile_records_close(r);
	buf_fini(&b);
}

/* A damaged place is told by whoever reads the file first. */
TEST(damage_is_told_once)
{
	for (int twice = 0; twice < 2; twice++) {
		enum { FRAME_BYTES = TRACE_FRAME_HEADER_BYTES + 8 + 32 };
		struct told told = {0};
		struct profile_records_config config = config_of(&told);
		struct profile_records *r;
		struct profile_item item;
		struct buf b, records;
		uint32_t pid = 0;

		file_begin(&b);
		for (uint32_t i = 0; i < 3; i++) {
			frame_begin(&records, TRACE_RING_SAMPLES, 0);
			add_sample(&records, i, i);
			frame_end(&b, &records);
		}
		b.data[b.len - FRAME_BYTES - 1] ^= 1; /* in the second frame */
		config.is_read_twice = twice;
		r = open_records(&b, &config);
		for (; profile_records_next(r, &item) == 1; pid += 2)
			assert_int_equal(item.record.pid, pid);
		assert_int_equal(pid, 4);
		assert_int_equal(told.nr_losses, !twice);
		assert_true(twice || strstr(told.text, "damaged at offset"));
		profile_records_close(r);
		buf_fini(&b);
	}
}

TEST(much_damage_is_few_lines)
{
	enum { NR_PAIRS = 20 };
	struct told told = {0};
	struct profile_records_config config = config_of(&told);
	struct profile_records *r;
	struct profile_item item;
	struct buf b, records;
	size_t nr = 0;

	file_begin(&b);
	for (uint32_t i = 0; i < NR_PAIRS; i++) {
		add_frame(&b, TRACE_FRAME_RECORDS, 0, "\x09\0\0\0\0\0\0\0", 8);
		frame_begin(&records, TRACE_RING_SAMPLES, 0);
		add_sample(&records, i, i);
		frame_end(&b, &records);
	}
	config.is_read_twice = false;
	r = open_records(&b, &config);
	while (profile_records_next(r, &item) == 1)
		nr++;
	assert_int_equal(nr, NR_PAIRS);
	assert_in_range(told.nr_losses, 2, 10);
	assert_non_null(strstr(told.text, "file: 12 more damaged places\n"));
	profile_records_close(r);
	buf_fini(&b);
}

/* More ticks in a frame than are taken at once. */
TEST(many_ticks)
{
	enum { NR_TICKS = 50000 };
	struct reading *ticks = calloc(NR_TICKS, sizeof(*ticks));
	struct told told = {0};
	const struct profile_records_config config = config_of(&told);
	struct profile_records *r;
	struct profile_item item;
	struct buf b;
	uint64_t nr = 0;

	assert_non_null(ticks);
	for (uint32_t i = 0; i < NR_TICKS; i++)
		ticks[i] = (struct reading){
		    .event = 3, .state = READING_OK, .time_ns = 100 * (uint64_t)i, .raw = i};
	file_begin(&b);
	add_readings(&b, TRACE_TICK, ticks, NR_TICKS);
	r = open_records(&b, &config);
	for (; profile_records_next(r, &item) == 1; nr++)
		assert_int_equal(item.reading.raw, nr);
	assert_int_equal(nr, NR_TICKS);
	profile_records_close(r);
	buf_fini(&b);
	free(ticks);
}

/* What is allocated at one time, in bytes. */
static struct {
	size_t now, peak;
} memory;

static void *count_alloc(size_t size)
{
	size_t *p = malloc(size + 16);

	assert_non_null(p);
	*p = size;
	memory.now += size;
	if (memory.now > memory.peak)
		memory.peak = memory.now;
	return (char *)p + 16;
}

static void count_release(void *p)
{
	size_t *start = (size_t *)(void *)((char *)p - 16);

	memory.now -= *start;
	free(start);
}

static void *count_resize(void *old, size_t size)
{
	void *p = count_alloc(size);
	size_t old_size;

	if (!old)
		return p;
	memcpy(&old_size, (char *)old - 16, sizeof(old_size));
	memcpy(p, old, old_size < size ? old_size : size);
	count_release(old);
	return p;
}

/* Reads all, in order; how many items there were, and the most memory that was in use. */
static size_t read_counting(const struct buf *b, uint64_t window_ns, size_t *peak_bytes)
{
	static const struct mem_ops ops = {count_alloc, count_resize, count_release};
	struct told told = {0};
	struct profile_records_config config = config_of(&told);
	struct profile_records *r;
	struct profile_item item;
	size_t nr = 0;

	memory.now = memory.peak = 0;
	mem_set_ops(&ops);
	config.window_ns = window_ns;
	r = open_records(b, &config);
	while (profile_records_next(r, &item) == 1)
		nr++;
	assert_int_equal(told.nr_losses + told.nr_notes, 0);
	profile_records_close(r);
	mem_set_ops(NULL);
	assert_int_equal(memory.now, 0);
	*peak_bytes = memory.peak;
	return nr;
}

/* Times that let nothing go, of the smallest records and of large ones. */
TEST(memory_is_bounded)
{
	enum { NR_SMALL = 1 << 20, NR_LARGE = 1600, LARGE_BYTES = 60000 };
	struct buf b, records;
	size_t peak_bytes;

	file_begin(&b);
	frame_begin(&records, TRACE_RING_SAMPLES, 0);
	for (int i = 0; i < NR_SMALL; i++)
		put_record(&records, PERF_RECORD_SWITCH, (uint64_t[]){1, 5, 500}, 3);
	frame_end(&b, &records);
	assert_int_equal(read_counting(&b, UINT64_MAX, &peak_bytes), NR_SMALL);
	assert_in_range(peak_bytes, 1 << 20, 64 << 20);
	buf_fini(&b);

	file_begin(&b);
	for (int k = 0; k < 2; k++) {
		frame_begin(&records, TRACE_RING_SIDE_BAND, 0);
		for (int i = k * NR_LARGE / 2; i < (k + 1) * NR_LARGE / 2; i++) {
			size_t at = record_begin(&records, PERF_RECORD_COMM, 0);

			buf_fill(&records, 0, LARGE_BYTES);
			record_id(&records, 1, 1, (uint64_t)(i ^ 1) * 1000); /* by twos */
			record_end(&records, at);
		}
		frame_end(&b, &records);
	}
	assert_int_equal(read_counting(&b, UINT64_MAX, &peak_bytes), NR_LARGE);
	assert_in_range(peak_bytes, 1 << 20, 70 << 20);
	/* with a window that lets them go only a slice or two wait */
	assert_int_equal(read_counting(&b, 2000, &peak_bytes), NR_LARGE);
	assert_in_range(peak_bytes, 1 << 16, 4 << 20);
	buf_fini(&b);
}

enum { NR_FRAMES = 3, NR_IN_FRAME = 3000, NR_ITEMS = NR_FRAMES * (NR_IN_FRAME + 1) };

static int read_all(void *arg)
{
	size_t nr = 0;
	struct told told = {0};
	const struct profile_records_config config = config_of(&told);
	const struct folder *f = arg;
	struct trace_reader *reader;
	struct profile_records *r;
	struct profile_item item;
	int rc = trace_reader_open(f->fd, "t", &reader, NULL);

	if (rc)
		return rc;
	rc = profile_records_open(reader, &config, &r);
	if (rc)
		return rc;
	while ((rc = profile_records_next(r, &item)) == 1)
		nr++;
	profile_records_close(r);
	assert_true(rc || nr == NR_ITEMS || (inject.error && told.nr_losses));
	return rc;
}

TEST(without_memory)
{
	static const struct reading tick = {.event = 3, .state = READING_OK, .time_ns = 15};
	struct buf b, records;
	struct folder f;

	folder_init(&f);
	file_begin(&b);
	for (uint32_t i = 0; i < NR_FRAMES; i++) {
		frame_begin(&records, TRACE_RING_SAMPLES, 0);
		for (uint32_t k = 0; k < NR_IN_FRAME; k++)
			add_sample(&records, k, k);
		frame_end(&b, &records);
		add_readings(&b, TRACE_TICK, &tick, 1);
	}
	write_file(&f, "t", b.data, b.len);
	inject_every(read_all, &f, 10, 4);
	buf_fini(&b);
	folder_fini(&f);
}

TEST(members_of_groups)
{
	static const struct trace_id list[] = {{.event = 0, .group = 4}, {.event = 1, .group = 4},
					       {.event = 2, .group = 4}, {.event = 3, .group = 1},
					       {.event = 4, .group = 2}, {.event = 5, .group = 2}};
	static const struct {
		size_t of;
		uint64_t i;
		int found; /* -1: none */
	} rows[] = {{0, 0, 0}, {0, 2, 2},  {0, 3, -1},          {2, 0, 0},
		    {2, 1, 1}, {3, 0, 3},  {3, 1, -1},          {4, 1, 5},
		    {5, 0, 4}, {5, 2, -1}, {0, UINT64_MAX, -1}, {5, 1ull << 61, -1}};
	static const struct trace_id other;

	for (size_t i = 0; i < NR(rows); i++) {
		const struct trace_id *found =
		    profile_member(list, NR(list), &list[rows[i].of], rows[i].i);

		if (found != (rows[i].found < 0 ? NULL : &list[rows[i].found]))
			fail_msg("row %zu", i);
	}
	assert_null(profile_member(list, NR(list), &other, 0));
	assert_null(profile_member(NULL, 0, &other, 0));
}

/* Counts in a sample: by their ids if it has them, wherever the id is among the words; else by
 * their place in the group. */
TEST(counted_events)
{
	enum { ENABLED = 1, RUNNING = 2, ID = 4, GROUP = 8, LOST = 16 };
	static const struct trace_id list[] = {{.id = 70, .event = 0, .group = 4},
					       {.id = 71, .event = 1, .group = 4},
					       {.id = 72, .event = 2, .group = 5}};
	static const struct {
		uint64_t format;
		unsigned stride;
		uint64_t words[8];
		uint64_t i;
		int found; /* -1: none */
	} rows[] = {
	    {ENABLED | RUNNING, 3, {5, 6, 7}, 0, 0},
	    {ENABLED | RUNNING | ID, 4, {5, 6, 7, 72}, 0, 2},
	    {ENABLED | RUNNING | ID | LOST, 5, {5, 6, 7, 72, 71}, 0, 2},
	    {ID, 2, {5, 71}, 0, 1},
	    {GROUP, 1, {5, 6}, 1, 1},
	    {GROUP | ID, 2, {5, 71, 6, 72}, 0, 1},
	    {GROUP | ID, 2, {5, 71, 6, 72}, 1, 2},
	    {GROUP | ID | LOST, 3, {5, 71, 72, 6, 72, 71}, 1, 2},
	    {GROUP, 1, {5, 6, 7}, 2, -1},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		const struct trace_layout layout = {.read_format = rows[i].format};
		const struct profile_item item = {
		    .id = &list[0],
		    .layout = &layout,
		    .record = {.read_stride = rows[i].stride,
			       .read_values = (const uint8_t *)rows[i].words}};
		const struct trace_id *found = profile_counted(list, NR(list), &item, rows[i].i);

		if (found != (rows[i].found < 0 ? NULL : &list[rows[i].found]))
			fail_msg("row %zu", i);
	}
}
