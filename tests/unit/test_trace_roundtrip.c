/*
 * What is written is read, all of it and equal; what is too large is refused; what a later version
 * adds is passed over; no text of a trace can steer a terminal.
 */
#include "kit.h"
#include "test_trace.h"

#include "base/array.h"
#include "base/cause.h"
#include "base/mem.h"
#include "base/str.h"

static struct trace_frame next_of_kind(struct trace_reader *r, uint16_t kind)
{
	struct trace_frame f = {0};
	struct err e = {0};

	assert_int_equal(trace_reader_next(r, &f, &e), 1);
	assert_int_equal(f.kind, kind);
	assert_int_equal(f.offset % 8, 0);
	return f;
}

static void check_head(const struct trace_head *h)
{
	assert_memory_equal(h->session_id, sample_head.session_id, 16);
	assert_memory_equal(h->boot_id, sample_head.boot_id, 16);
	assert_int_equal(h->iteration, 3);
	assert_int_equal(h->trace, 1);
	assert_int_equal(h->cpu, 5);
	assert_int_equal(h->nr_traces, 2);
	assert_string_equal(h->host, "box");
	assert_string_equal(h->machine, "x86_64");
}

static void check_info(const struct trace_frame *f)
{
	struct trace_info_owned i;

	assert_int_equal(trace_decode_info(f, &i), 0);
	assert_string_equal(i.info.tool, sample_info.tool);
	assert_string_equal(i.info.kernel, sample_info.kernel);
	assert_string_equal(i.info.cpu_model, sample_info.cpu_model);
	assert_string_equal(i.info.config_name, sample_info.config_name);
	assert_string_equal(i.info.model_name, sample_info.model_name);
	assert_string_equal(i.info.spec_json, sample_info.spec_json);
	assert_int_equal(i.info.duration_ns, sample_info.duration_ns);
	assert_int_equal(i.info.num_iterations, sample_info.num_iterations);
	assert_int_equal(i.info.user_hz, sample_info.user_hz);
	assert_int_equal(i.info.page_bytes, sample_info.page_bytes);
	trace_info_fini(&i);
}

static void check_event(const struct trace_event *a, const struct trace_event *b)
{
	assert_int_equal(a->id, b->id);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->scope, b->scope);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->rate, b->rate);
	assert_int_equal(a->state, b->state);
	assert_int_equal(a->perf_group, b->perf_group);
	assert_string_equal(a->group, b->group);
	assert_string_equal(a->name, b->name);
	assert_string_equal(a->label, b->label);
	assert_string_equal(a->unit, b->unit);
	assert_string_equal(a->description, b->description);
	assert_string_equal(a->source, b->source);
	assert_string_equal(a->reason, b->reason);
	assert_int_equal(a->attr_bytes, b->attr_bytes);
	assert_true(a->scale == b->scale);
	assert_int_equal(a->frequency, b->frequency);
	assert_string_equal(a->format, b->format);
	if (a->attr_bytes)
		assert_memory_equal(a->attr, b->attr, a->attr_bytes);
}

static void check_events(const struct trace_frame *f)
{
	struct trace_events events;

	assert_int_equal(trace_decode_events(f, &events), 0);
	assert_int_equal(events.nr, NR(sample_events));
	for (size_t i = 0; i < events.nr; i++)
		check_event(&events.item[i], &sample_events[i]);
	trace_events_fini(&events);
	assert_null(events.item);
}

static void check_readings(const struct trace_frame *f, enum trace_boundary want,
			   const struct reading *readings, size_t want_nr)
{
	enum trace_boundary boundary;
	struct reading r;
	size_t nr;

	assert_int_equal(trace_decode_readings(f, &boundary, &nr), 0);
	assert_int_equal(boundary, want);
	assert_int_equal(nr, want_nr);
	for (size_t i = 0; i < nr; i++) {
		trace_decode_reading(f, i, &r);
		assert_memory_equal(&r, &readings[i], sizeof(r));
		assert_int_equal(trace_reading_offset(f, i), f->offset + 16 + 16 + 56 * i);
	}
}

static void check_ids(const struct trace_frame *f, const struct trace_id *want, size_t nr)
{
	struct trace_ids ids;

	assert_int_equal(trace_decode_ids(f, &ids), 0);
	assert_int_equal(ids.nr, nr);
	if (nr)
		assert_memory_equal(ids.item, want, nr * sizeof(*want));
	trace_ids_fini(&ids);
	assert_null(ids.item);
}

/* A power of two up to 1024, and none where the session never divides. */
TEST(divisors)
{
	static const uint32_t valid[] = {1, 2, 1024}, wrong[] = {0, 3, 2048, UINT32_MAX};
	struct trace_frame f = {.kind = TRACE_FRAME_DIVISOR, .length = 8};
	uint32_t found = 77;

	for (size_t i = 0; i < ARRAY_NR(wrong); i++) {
		const uint32_t payload[] = {htole32(wrong[i]), 0};

		f.payload = (const uint8_t *)payload;
		assert_int_equal(trace_decode_divisor(&f, &found), -EINVAL);
		assert_int_equal(found, 77);
	}
	for (size_t i = 0; i < ARRAY_NR(valid); i++) {
		const uint32_t payload[] = {htole32(valid[i]), 0};

		f.payload = (const uint8_t *)payload;
		assert_int_equal(trace_decode_divisor(&f, &found), 0);
		assert_int_equal(found, valid[i]);
	}
	f.payload = (const uint8_t *)(const uint32_t[2]){htole32(1), 0};
	f.length = 7;
	assert_int_equal(trace_decode_divisor(&f, &found), -EINVAL);
}

TEST(thing_clocks)
{
	static const uint8_t payload[40] = {3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0,
					    0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0,
					    0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0};
	struct trace_frame f = {.kind = TRACE_FRAME_THING_CLOCK, .length = 40, .payload = payload};
	struct trace_thing_clock c = {0};
	uint8_t wrong[40];

	assert_int_equal(trace_decode_thing_clock(&f, &c), 0);
	assert_int_equal(c.event, 3);
	assert_int_equal(c.instance, 2);
	assert_int_equal(c.flags, TRACE_THING_CLOCK_IS_ARRIVAL);
	assert_int_equal(c.clock_ns, 256);
	assert_int_equal(c.before_ns, 7);
	assert_int_equal(c.after_ns, 9);
	f.length = 39;
	assert_int_equal(trace_decode_thing_clock(&f, &c), -EINVAL);
	f.length = 40;
	memcpy(wrong, payload, sizeof(wrong));
	wrong[24] = 10; /* before is after */
	f.payload = wrong;
	assert_int_equal(trace_decode_thing_clock(&f, &c), -EINVAL);
}

static void check_sampling(const struct trace_frame *f, const struct trace_sampling *want)
{
	struct trace_sampling s;

	assert_int_equal(trace_decode_sampling(f, &s), 0);
	assert_int_equal(s.ring_bytes, want->ring_bytes);
	assert_int_equal(s.max_rate_start, want->max_rate_start);
	assert_int_equal(s.max_rate_end, want->max_rate_end);
	assert_int_equal(s.idle_ns, want->idle_ns);
	assert_int_equal(s.lost, want->lost);
	assert_int_equal(s.ticks, want->ticks);
	assert_int_equal(s.ticks_missed, want->ticks_missed);
	assert_int_equal(s.nr, want->nr);
	if (s.nr)
		assert_memory_equal(s.item, want->item, s.nr * sizeof(*s.item));
	trace_sampling_fini(&s);
	assert_null(s.item);
}

static void check_records(const struct trace_frame *f, enum trace_ring want_ring, uint32_t want_cpu,
			  const void *want, size_t want_len)
{
	enum trace_ring ring;
	const uint8_t *records;
	uint32_t cpu;
	size_t len;

	assert_int_equal(trace_decode_records(f, &ring, &cpu, &records, &len), 0);
	assert_int_equal(ring, want_ring);
	assert_int_equal(cpu, want_cpu);
	assert_int_equal(len, want_len);
	assert_memory_equal(records, want, want_len);
	assert_int_equal(trace_record_offset(f, 0), f->offset + 24);
	assert_int_equal(trace_record_offset(f, 8), f->offset + 32);
}

static void check_kallsyms(const struct trace_frame *f, const char *want)
{
	const char *text;
	size_t len;

	assert_int_equal(trace_decode_kallsyms(f, &text, &len), 0);
	assert_int_equal(len, strlen(want));
	assert_memory_equal(text, want, len);
}

static void check_note(const struct trace_frame *f)
{
	struct trace_note note;
	char text[64];

	assert_int_equal(trace_decode_note(f, &note, text, sizeof(text)), 0);
	assert_int_equal(note.time_ns, sample_note.time_ns);
	assert_string_equal(note.text, sample_note.text);
	assert_int_equal(trace_decode_note(f, &note, text, 4), 0);
	assert_string_equal(note.text, "CPU");
	assert_int_equal(trace_decode_note(f, &note, text, strlen(sample_note.text)), 0);
	assert_int_equal(strlen(note.text), strlen(sample_note.text) - 1);
	assert_int_equal(trace_decode_note(f, &note, text, 0), -EINVAL);
}

static void check_end(const struct trace_frame *f)
{
	struct trace_totals t;

	assert_int_equal(trace_decode_end(f, &t), 0);
	assert_int_equal(t.start_ns, sample_totals.start_ns);
	assert_int_equal(t.end_ns, sample_totals.end_ns);
	assert_int_equal(t.nr_frames, SAMPLE_NR_FRAMES - 1);
	assert_int_equal(t.nr_readings, 7);
	assert_int_equal(t.lost, 8);
	assert_int_equal(t.throttled, 9);
	assert_int_equal(t.bytes, f->offset);
	assert_true(t.is_cut);
	assert_false(t.is_short);
	assert_int_equal(t.cause, CAUSE_TIME);
}

static void check_sample(struct trace_reader *r)
{
	struct trace_frame f;
	struct clock_triple clocks;

	check_head(trace_reader_head(r));
	f = next_of_kind(r, TRACE_FRAME_INFO);
	check_info(&f);
	f = next_of_kind(r, TRACE_FRAME_EVENTS);
	check_events(&f);
	f = next_of_kind(r, TRACE_FRAME_CLOCKS);
	assert_int_equal(trace_decode_clocks(&f, &clocks), 0);
	assert_memory_equal(&clocks, &sample_clocks, sizeof(clocks));
	f = next_of_kind(r, TRACE_FRAME_IDS);
	check_ids(&f, &sample_id, 1);
	f = next_of_kind(r, TRACE_FRAME_READINGS);
	check_readings(&f, TRACE_START, sample_start, NR(sample_start));
	f = next_of_kind(r, TRACE_FRAME_RECORDS);
	check_records(&f, TRACE_RING_SAMPLES, 5, sample_record, sizeof(sample_record));
	f = next_of_kind(r, TRACE_FRAME_READINGS);
	check_readings(&f, TRACE_TICK, &sample_tick, 1);
	f = next_of_kind(r, TRACE_FRAME_NOTE);
	check_note(&f);
	f = next_of_kind(r, TRACE_FRAME_READINGS);
	check_readings(&f, TRACE_END, sample_end, NR(sample_end));
	f = next_of_kind(r, TRACE_FRAME_SAMPLING);
	check_sampling(&f, &sample_sampling);
	f = next_of_kind(r, TRACE_FRAME_KALLSYMS);
	check_kallsyms(&f, sample_kallsyms);
	assert_false(trace_reader_is_whole(r));
	f = next_of_kind(r, TRACE_FRAME_END);
	check_end(&f);
	assert_int_equal(trace_reader_next(r, &f, NULL), 0);
	assert_int_equal(trace_reader_next(r, &f, NULL), 0);
	assert_true(trace_reader_is_whole(r));
}

TEST(memory)
{
	struct trace_reader *r;
	struct buf b;

	sample_bytes(&b);
	assert_int_equal(b.len % 8, 0);
	r = open_bytes(&b);
	check_sample(r);
	trace_reader_close(r);
	buf_fini(&b);
}

TEST(file)
{
	struct trace_writer *w = trace_writer_new();
	struct trace_reader *r;
	struct err e = {0};
	struct folder f;

	folder_init(&f);
	for (int again = 0; again < 3; again++) { /* the writer and the name are used again */
		assert_int_equal(sample_gather(w), 0);
		assert_int_equal(trace_writer_commit(w, f.fd, "t", "t", &sample_totals, &e), 0);
		assert_int_equal(trace_reader_open(f.fd, "t", &r, &e), 0);
		check_sample(r);
		trace_reader_close(r);
	}
	assert_int_equal(folder_entries(&f, false), 1);
	trace_writer_free(w);
	folder_fini(&f);
}

/* Each flag of the end, and its cause, comes back alone. */
TEST(causes)
{
	static const struct trace_totals cases[] = {{.cause = CAUSE_END},
						    {.is_cut = true},
						    {.is_cut = true, .cause = CAUSE_RUN},
						    {.cause = 77}};
	struct trace_writer *w = trace_writer_new();
	struct trace_frame frame;
	struct trace_reader *r;
	struct trace_totals t;
	struct err e = {0};
	struct folder f;

	folder_init(&f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(trace_writer_begin(w, &sample_head), 0);
		assert_int_equal(trace_writer_commit(w, f.fd, "t", "t", &cases[i], &e), 0);
		assert_int_equal(trace_reader_open(f.fd, "t", &r, &e), 0);
		frame = next_of_kind(r, TRACE_FRAME_END);
		assert_int_equal(trace_decode_end(&frame, &t), 0);
		assert_int_equal(t.is_cut, cases[i].is_cut);
		assert_false(t.is_short);
		assert_int_equal(t.cause, cases[i].cause);
		trace_reader_close(r);
	}
	assert_string_equal(cause_name(CAUSE_END), "end");
	assert_string_equal(cause_name(77), "unknown");
	trace_writer_free(w);
	folder_fini(&f);
}

/* Frames larger than the reader's first read, and a trace without common frames. */
TEST(large)
{
	enum { NR_READINGS = 5000 };
	struct reading *readings = test_calloc(NR_READINGS, sizeof(*readings));
	struct trace_writer *w = trace_writer_new();
	struct trace_reader *r;
	struct trace_frame frame;
	struct err e = {0};
	struct folder f;

	folder_init(&f);
	for (size_t i = 0; i < NR_READINGS; i++)
		readings[i] = (struct reading){.event = (uint32_t)i, .raw = i * i};
	assert_int_equal(trace_writer_begin(w, &sample_head), 0);
	for (int boundary = 0; boundary < 2; boundary++)
		trace_writer_readings(w, (enum trace_boundary)boundary, readings, NR_READINGS);
	assert_int_equal(trace_writer_commit(w, f.fd, "t", "t", &sample_totals, &e), 0);
	assert_int_equal(trace_reader_open(f.fd, "t", &r, &e), 0);
	for (int boundary = 0; boundary < 2; boundary++) {
		frame = next_of_kind(r, TRACE_FRAME_READINGS);
		check_readings(&frame, (enum trace_boundary)boundary, readings, NR_READINGS);
	}
	next_of_kind(r, TRACE_FRAME_END);
	assert_int_equal(trace_reader_next(r, &frame, &e), 0);
	assert_true(trace_reader_is_whole(r));
	trace_reader_close(r);
	trace_writer_free(w);
	test_free(readings);
	folder_fini(&f);
}

/* Lists of none and of many, every ring, and a common file: all of it comes back. */
TEST(lists)
{
	static const uint64_t words[3] = {1, 2, 3};
	static const struct trace_ids none;
	struct trace_head head = sample_head;
	struct trace_id *ids = test_calloc(TRACE_MAX_ITEMS, sizeof(*ids));
	struct trace_sampled *items = test_calloc(TRACE_MAX_ITEMS, sizeof(*items));
	struct trace_sampling sampling = {.ticks = 5, .item = items, .nr = TRACE_MAX_ITEMS};
	const struct trace_sampling empty = {.idle_ns = 6};
	struct trace_writer *w = trace_writer_new();
	struct trace_reader *r;
	struct trace_frame frame;
	struct folder f;

	folder_init(&f);
	for (uint32_t i = 0; i < TRACE_MAX_ITEMS; i++) {
		ids[i] = (struct trace_id){(uint64_t)i << 33, i, i + 1, i + 2, i + 3};
		items[i] =
		    (struct trace_sampled){i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7};
	}
	head.iteration = head.trace = TRACE_COMMON;
	assert_int_equal(trace_writer_begin(w, &head), 0);
	trace_writer_ids(w, none.item, 0);
	trace_writer_ids(w, ids, TRACE_MAX_ITEMS);
	trace_writer_sampling(w, &empty);
	trace_writer_sampling(w, &sampling);
	for (int ring = TRACE_RING_SAMPLES; ring <= TRACE_RING_MADE; ring++)
		trace_writer_records(w, (enum trace_ring)ring, UINT32_MAX, words, 8 * (size_t)ring);
	trace_writer_kallsyms(w, "", 0);
	assert_int_equal(trace_writer_commit(w, f.fd, "t", "t", &sample_totals, NULL), 0);
	assert_int_equal(trace_reader_open(f.fd, "t", &r, NULL), 0);
	assert_int_equal(trace_reader_head(r)->iteration, TRACE_COMMON);
	assert_int_equal(trace_reader_head(r)->trace, TRACE_COMMON);
	frame = next_of_kind(r, TRACE_FRAME_IDS);
	check_ids(&frame, NULL, 0);
	frame = next_of_kind(r, TRACE_FRAME_IDS);
	check_ids(&frame, ids, TRACE_MAX_ITEMS);
	frame = next_of_kind(r, TRACE_FRAME_SAMPLING);
	check_sampling(&frame, &empty);
	frame = next_of_kind(r, TRACE_FRAME_SAMPLING);
	check_sampling(&frame, &sampling);
	for (int ring = TRACE_RING_SAMPLES; ring <= TRACE_RING_MADE; ring++) {
		frame = next_of_kind(r, TRACE_FRAME_RECORDS);
		check_records(&frame, (enum trace_ring)ring, UINT32_MAX, words, 8 * (size_t)ring);
	}
	frame = next_of_kind(r, TRACE_FRAME_KALLSYMS);
	check_kallsyms(&frame, "");
	next_of_kind(r, TRACE_FRAME_END);
	assert_int_equal(trace_reader_next(r, &frame, NULL), 0);
	assert_true(trace_reader_is_whole(r));
	trace_reader_close(r);
	trace_writer_free(w);
	test_free(items);
	test_free(ids);
	folder_fini(&f);
}

static void check_things(const struct trace_frame *f, const struct trace_things *want)
{
	struct trace_things_owned owned;

	assert_int_equal(trace_decode_things(f, &owned), 0);
	assert_int_equal(owned.things.nr_events, want->nr_events);
	assert_memory_equal(owned.things.events, want->events, want->nr_events * sizeof(uint32_t));
	assert_int_equal(owned.things.nr, want->nr);
	for (size_t i = 0; i < want->nr; i++) {
		assert_int_equal(owned.things.item[i].number, want->item[i].number);
		assert_string_equal(owned.things.item[i].name, want->item[i].name);
	}
	trace_things_fini(&owned);
	assert_null(owned.store);
}

/* Things of one and of several events, more than a frame takes, names that are empty, as long as
 * they may be, and longer: those are cut. None of them: no frame. */
TEST(things)
{
	enum { NR_THINGS = TRACE_MAX_ITEMS + 1 };
	static const uint32_t events[] = {3, 0, UINT32_MAX};
	const struct trace_thing few[] = {{0, "sda"}, {UINT32_MAX, ""}, {2, "1234 b\xc3\xbcsh"}};
	struct trace_thing *many = test_calloc(NR_THINGS, sizeof(*many));
	char longest[TRACE_MAX_NAME_BYTES + 1], longer[TRACE_MAX_NAME_BYTES + 2];
	const struct trace_thing long_one[] = {{1, longest}}, too_long[] = {{1, longer}};
	const struct trace_things rows[] = {
	    {events, NR(events), few, NR(few)}, {events, 1, few, 0},
	    {events, 2, long_one, 1},           {events, 2, too_long, 1},
	    {events, 1, many, NR_THINGS},
	};
	const struct trace_things wanted[] = {
	    rows[0],
	    rows[2],
	    rows[2], /* cut */
	    {events, 1, many, TRACE_MAX_ITEMS},
	    {events, 1, many + TRACE_MAX_ITEMS, 1},
	};
	struct trace_writer *w = trace_writer_new();
	struct trace_frame frame;
	struct trace_reader *r;
	struct folder f;

	folder_init(&f);
	memset(longest, 'x', sizeof(longest) - 1);
	memset(longer, 'x', sizeof(longer) - 1);
	longest[sizeof(longest) - 1] = longer[sizeof(longer) - 1] = '\0';
	for (uint32_t i = 0; i < NR_THINGS; i++)
		many[i] = (struct trace_thing){i * 3, few[i % 3].name};
	assert_int_equal(trace_writer_begin(w, &sample_head), 0);
	for (size_t i = 0; i < NR(rows); i++)
		trace_writer_things(w, &rows[i]);
	assert_int_equal(trace_writer_commit(w, f.fd, "t", "t", &sample_totals, NULL), 0);
	assert_int_equal(trace_reader_open(f.fd, "t", &r, NULL), 0);
	for (size_t i = 0; i < NR(wanted); i++) {
		frame = next_of_kind(r, TRACE_FRAME_THINGS);
		check_things(&frame, &wanted[i]);
	}
	next_of_kind(r, TRACE_FRAME_END);
	assert_int_equal(trace_reader_next(r, &frame, NULL), 0);
	assert_true(trace_reader_is_whole(r));
	trace_reader_close(r);
	trace_writer_free(w);
	test_free(many);
	folder_fini(&f);
}

/* Events and info without any string are written, as "". */
TEST(no_strings)
{
	const struct trace_event event = {.id = 1};
	const struct trace_info info = {0};
	struct trace_writer *w = trace_writer_new();
	struct trace_events events;
	struct trace_info_owned i;
	struct trace_reader *r;
	struct trace_frame frame;
	struct err e = {0};
	struct folder f;

	folder_init(&f);
	assert_int_equal(trace_writer_set_common(w, &info, &event, 1), 0);
	assert_int_equal(trace_writer_begin(w, &sample_head), 0);
	assert_int_equal(trace_writer_commit(w, f.fd, "t", "t", &sample_totals, &e), 0);
	assert_int_equal(trace_reader_open(f.fd, "t", &r, &e), 0);
	frame = next_of_kind(r, TRACE_FRAME_INFO);
	assert_int_equal(trace_decode_info(&frame, &i), 0);
	assert_string_equal(i.info.spec_json, "");
	assert_string_equal(i.info.tool, "");
	trace_info_fini(&i);
	frame = next_of_kind(r, TRACE_FRAME_EVENTS);
	assert_int_equal(trace_decode_events(&frame, &events), 0);
	assert_int_equal(events.nr, 1);
	assert_string_equal(events.item[0].name, "");
	assert_string_equal(events.item[0].reason, "");
	assert_string_equal(events.item[0].format, "");
	trace_events_fini(&events);
	trace_reader_close(r);
	trace_writer_free(w);
	folder_fini(&f);
}

enum excess {
	STRING,
	SPEC,
	EVENTS,
	ATTR,
	FORMAT,
	NOTE,
	IDS,
	SAMPLED,
	RECORDS,
	NOTHING,
	NR_EXCESSES
};

/* One thing beyond its ceiling; the error sticks until commit and goes with the next trace. */
TEST(too_large)
{
	enum { LEN = TRACE_MAX_SPEC_BYTES + 1 };
	struct trace_event *events = test_calloc(TRACE_MAX_EVENTS + 1, sizeof(*events));
	struct trace_id *ids = test_calloc(TRACE_MAX_ITEMS + 1, sizeof(*ids));
	struct trace_sampled *items = test_calloc(TRACE_MAX_ITEMS + 1, sizeof(*items));
	char *text = test_malloc(LEN + 1);
	struct folder f;

	folder_init(&f);
	memset(text, 'x', LEN);
	text[LEN] = '\0';
	for (enum excess x = 0; x < NR_EXCESSES; x++) {
		const char *long16 = text + LEN - 65536;
		struct trace_info info = {.tool = x == STRING ? long16 : long16 + 1,
					  .spec_json = x == SPEC ? text : text + 1};
		struct trace_note note = {.text = x == NOTE ? long16 : long16 + 1};
		const struct trace_sampling sampling = {.item = items,
							.nr = TRACE_MAX_ITEMS + (x == SAMPLED)};
		struct trace_writer *w = trace_writer_new();
		struct err e = {0};
		int rc, want = x == NOTHING ? 0 : x == RECORDS ? -EINVAL : -EFBIG;

		events[0].attr = text;
		events[0].attr_bytes = TRACE_MAX_ATTR_BYTES + (x == ATTR);
		events[0].format = text + LEN - TRACE_MAX_FORMAT_BYTES - (x == FORMAT);
		rc = trace_writer_set_common(w, &info, events, TRACE_MAX_EVENTS + (x == EVENTS));
		assert_int_equal(rc, x < NOTE ? want : 0);
		assert_int_equal(trace_writer_begin(w, &sample_head), rc);
		trace_writer_note(w, &note);
		trace_writer_ids(w, ids, TRACE_MAX_ITEMS + (x == IDS));
		trace_writer_sampling(w, &sampling);
		trace_writer_records(w, TRACE_RING_MADE, 0, text, x == RECORDS ? 12 : 16);
		rc = trace_writer_commit(w, f.fd, "t", "a/t", &sample_totals, &e);
		assert_int_equal(rc, want);
		assert_int_equal(e.code, want);
		assert_int_equal(folder_entries(&f, true), want == 0);
		assert_int_equal(trace_writer_commit(w, f.fd, "t", "a/t", &sample_totals, NULL),
				 -EINVAL);
		assert_int_equal(sample_begin(w), 0);
		assert_int_equal(trace_writer_commit(w, f.fd, "t", "t", &sample_totals, NULL), 0);
		assert_int_equal(folder_entries(&f, true), 1);
		trace_writer_free(w);
	}
	test_free(text);
	test_free(items);
	test_free(ids);
	test_free(events);
	folder_fini(&f);
}

/* A trace cannot grow without end. */
TEST(trace_ceiling)
{
	static const struct reading many[4096];
	struct trace_writer *w = trace_writer_new();
	struct err e = {0};
	struct folder f;

	folder_init(&f);
	assert_int_equal(trace_writer_begin(w, &sample_head), 0);
	for (int i = 0; i < 300; i++)
		trace_writer_readings(w, TRACE_START, many, NR(many));
	assert_int_equal(trace_writer_commit(w, f.fd, "t", "t", &sample_totals, &e), -EFBIG);
	assert_int_equal(folder_entries(&f, false), 0);
	trace_writer_free(w);
	folder_fini(&f);
}

/* Longer records and payloads, unknown kinds: of a later version, to be passed over. */
TEST(later_version)
{
	unsigned char readings[16 + 2 * 64] = {1, 0, 0, 0, 64, 0, 0, 0, 2};
	unsigned char clocks[40] = {7, [8] = 8, [16] = 9, [24] = 99};
	unsigned char event[8 + 4 + 100] = {1, [8] = 100, [12] = 42}; /* 50 bytes more */
	unsigned char ids[8 + 2 * 32 + 8] = {32, [4] = 2};
	unsigned char sampling[64 + 2 * 64 + 8] = {[56] = 64, [60] = 2};
	struct clock_triple t;
	enum trace_boundary boundary;
	struct trace_events events;
	struct trace_ids i;
	struct trace_sampling s;
	struct trace_reader *r;
	struct trace_frame f;
	struct reading reading;
	struct buf b;
	size_t nr;

	readings[16 + 64] = 77;
	ids[8 + 32] = 78;
	sampling[64 + 64] = 79;
	buf_init(&b, 4096);
	add_header_bytes(&b, TRACE_VERSION, 0, 256);
	add_frame(&b, 999, 0, "later", 5);
	add_frame(&b, TRACE_FRAME_READINGS, 0, readings, sizeof(readings));
	add_frame(&b, TRACE_FRAME_CLOCKS, 0, clocks, sizeof(clocks));
	add_frame(&b, TRACE_FRAME_EVENTS, 0, event, sizeof(event));
	add_frame(&b, TRACE_FRAME_IDS, 0, ids, sizeof(ids));
	add_frame(&b, TRACE_FRAME_SAMPLING, 0, sampling, sizeof(sampling));
	r = open_bytes(&b);
	f = next_of_kind(r, 999);
	assert_int_equal(f.length, 5);
	assert_memory_equal(f.payload, "later", 5);
	f = next_of_kind(r, TRACE_FRAME_READINGS);
	assert_int_equal(trace_decode_readings(&f, &boundary, &nr), 0);
	assert_int_equal(nr, 2);
	trace_decode_reading(&f, 1, &reading);
	assert_int_equal(reading.event, 77);
	assert_int_equal(trace_reading_offset(&f, 1), f.offset + 16 + 16 + 64);
	f = next_of_kind(r, TRACE_FRAME_CLOCKS);
	assert_int_equal(trace_decode_clocks(&f, &t), 0);
	assert_int_equal(t.realtime_ns, 9);
	f = next_of_kind(r, TRACE_FRAME_EVENTS);
	assert_int_equal(trace_decode_events(&f, &events), 0);
	assert_int_equal(events.item[0].id, 42);
	trace_events_fini(&events);
	f = next_of_kind(r, TRACE_FRAME_IDS);
	assert_int_equal(trace_decode_ids(&f, &i), 0);
	assert_int_equal(i.nr, 2);
	assert_int_equal(i.item[1].id, 78);
	trace_ids_fini(&i);
	f = next_of_kind(r, TRACE_FRAME_SAMPLING);
	assert_int_equal(trace_decode_sampling(&f, &s), 0);
	assert_int_equal(s.nr, 2);
	assert_int_equal(s.item[1].event, 79);
	trace_sampling_fini(&s);
	trace_reader_close(r);
	buf_fini(&b);
}

/* What is written is read; a long name of a type is cut between characters, and clean. */
TEST(place)
{
	static const struct trace_where places[] = {{0, 1, "cpu_core"}, {-1, -1, ""}, {36, 7, "x"}};
	static unsigned char payload[10 + 300] = {1, [4] = 2, [8] = 44, [9] = 1, '\033', 'a'};
	struct trace_frame f = {TRACE_FRAME_WHERE, 192, payload, sizeof(payload)};
	struct trace_writer *w = trace_writer_new();
	const struct trace_head head = {.nr_traces = 1};
	struct trace_where out;
	struct trace_reader *r;
	struct err e = {0};
	struct folder folder;

	memset(payload + 12, 0xc3, 298); /* halves of characters */
	assert_int_equal(trace_decode_where(&f, &out), 0);
	assert_int_equal(out.package, 1);
	assert_int_equal(out.node, 2);
	assert_int_equal(strlen(out.type), TRACE_TYPE_BYTES - 1);
	assert_memory_equal(out.type, "?a??", 4);
	folder_init(&folder);
	assert_int_equal(trace_writer_begin(w, &head), 0);
	for (size_t i = 0; i < NR(places); i++)
		trace_writer_where(w, &places[i]);
	assert_int_equal(trace_writer_commit(w, folder.fd, "t", "t", &sample_totals, &e), 0);
	assert_int_equal(trace_reader_open(folder.fd, "t", &r, &e), 0);
	for (size_t i = 0; i < NR(places); i++) {
		f = next_of_kind(r, TRACE_FRAME_WHERE);
		assert_int_equal(trace_decode_where(&f, &out), 0);
		assert_int_equal(out.package, places[i].package);
		assert_int_equal(out.node, places[i].node);
		assert_string_equal(out.type, places[i].type);
	}
	trace_reader_close(r);
	trace_writer_free(w);
	folder_fini(&folder);
}

TEST(cmdline)
{
	static const struct trace_cmdline written = {.pid = 7,
						     .flags = TRACE_CMDLINE_IS_CUT,
						     .from_ns = 11,
						     .to_ns = 12,
						     .text = "sh\0-c\0exit 7",
						     .len = 13};
	struct trace_writer *w = trace_writer_new();
	const struct trace_head head = {.nr_traces = 1};
	static unsigned char payload[28 + TRACE_CMDLINE_BYTES + 1] = {7};
	struct trace_frame f = {TRACE_FRAME_CMDLINE, 192, payload, 28};
	struct trace_cmdline out = {.pid = 99};
	struct trace_reader *r;
	struct err e = {0};
	struct folder folder;

	folder_init(&folder);
	assert_int_equal(trace_writer_begin(w, &head), 0);
	trace_writer_cmdline(w, &written);
	assert_int_equal(trace_writer_commit(w, folder.fd, "t", "t", &sample_totals, &e), 0);
	assert_int_equal(trace_reader_open(folder.fd, "t", &r, &e), 0);
	f = next_of_kind(r, TRACE_FRAME_CMDLINE);
	assert_int_equal(trace_decode_cmdline(&f, &out), 0);
	assert_memory_equal(&out, &written, offsetof(struct trace_cmdline, text));
	assert_int_equal(out.len, 13);
	assert_memory_equal(out.text, written.text, 13);
	trace_reader_close(r);
	/* without text, with too much, of negative duration */
	f = (struct trace_frame){TRACE_FRAME_CMDLINE, 192, payload, 28};
	assert_int_equal(trace_decode_cmdline(&f, &out), -EINVAL);
	payload[24] = 1;
	f.length = 29;
	assert_int_equal(trace_decode_cmdline(&f, &out), 0);
	payload[8] = 1;
	assert_int_equal(trace_decode_cmdline(&f, &out), -EINVAL);
	payload[8] = 0;
	payload[25] = TRACE_CMDLINE_BYTES >> 8;
	f.length = sizeof(payload);
	assert_int_equal(trace_decode_cmdline(&f, &out), -EINVAL);
	payload[24] = 0;
	assert_int_equal(trace_decode_cmdline(&f, &out), 0);
	trace_writer_free(w);
	folder_fini(&folder);
}

TEST(compiled)
{
	static const uint8_t data[] = {1, 2, 3, 4, 5}, scopes[] = {6, 7, 8};
	static const struct trace_compiled written = {.time_ns = 11,
						      .start = 1000,
						      .end = 1100,
						      .pid = 7,
						      .name = "A.a",
						      .kind = TRACE_COMPILED_METHOD,
						      .frame_bytes = 32,
						      .frame_from = 9,
						      .codes_bytes = 12,
						      .codes = 5000,
						      .first_line = 3,
						      .file = "A.java",
						      .data = data,
						      .data_bytes = sizeof(data),
						      .scopes = scopes,
						      .scopes_bytes = sizeof(scopes)},
					   invalid = {.time_ns = 11,
						      .start = 1000,
						      .end = 1000,
						      .pid = 7,
						      .name = "A.\033b"};
	struct trace_writer *w = trace_writer_new();
	const struct trace_head head = {.nr_traces = 1};
	struct trace_compiled out = {.pid = 99};
	struct trace_reader *r;
	struct trace_frame f;
	struct err e = {0};
	struct folder folder;

	folder_init(&folder);
	assert_int_equal(trace_writer_begin(w, &head), 0);
	trace_writer_compiled(w, &invalid);
	trace_writer_compiled(w, &written);
	assert_int_equal(trace_writer_commit(w, folder.fd, "t", "t", &sample_totals, &e), 0);
	assert_int_equal(trace_reader_open(folder.fd, "t", &r, &e), 0);
	f = next_of_kind(r, TRACE_FRAME_COMPILED);
	assert_int_equal(trace_decode_compiled(&f, &out), -EINVAL);
	assert_int_equal(out.pid, 99);
	f = next_of_kind(r, TRACE_FRAME_COMPILED);
	assert_int_equal(trace_decode_compiled(&f, &out), 0);
	assert_memory_equal(out.data, data, sizeof(data));
	out.data = written.data;
	assert_memory_equal(out.scopes, scopes, sizeof(scopes));
	out.scopes = written.scopes;
	assert_memory_equal(&out, &written, sizeof(out));
	f.length--;
	assert_int_equal(trace_decode_compiled(&f, &out), -EINVAL);
	/* earlier versions wrote no more than this; still earlier ones, than that */
	f.length -= 4 + sizeof(scopes) - 1;
	assert_int_equal(trace_decode_compiled(&f, &out), 0);
	assert_int_equal(out.data_bytes, sizeof(data));
	assert_int_equal(out.scopes_bytes, 0);
	f.length = 3 * 8 + 2 * 4 + 2 + strlen(written.name);
	assert_int_equal(trace_decode_compiled(&f, &out), 0);
	assert_string_equal(out.name, "A.a");
	assert_int_equal(out.kind, TRACE_COMPILED_UNKNOWN);
	assert_int_equal(out.data_bytes, 0);
	trace_reader_close(r);
	trace_writer_free(w);
	folder_fini(&folder);
}

/* What is written is read; a long command line is cut, and clean. */
TEST(target)
{
	static const struct trace_target written = {.flags = TRACE_TARGET_IS_COMMAND |
							     TRACE_TARGET_HAS_ENDED,
						    .pid = 7,
						    .status = 0x700,
						    .start_ns = 11,
						    .end_ns = 12,
						    .user_ns = 13,
						    .system_ns = 14,
						    .peak_bytes = 15,
						    .minor_faults = 16,
						    .major_faults = 17,
						    .read_blocks = 18,
						    .written_blocks = 19,
						    .voluntary_switches = 20,
						    .involuntary_switches = UINT64_MAX,
						    .tree_peak_bytes = 21,
						    .tree_peak_processes = 22,
						    .text = "sh -c 'exit 7'",
						    .nr_left = 23,
						    .left = "12 (sleep)",
						    .nr_hidden = 24,
						    .hidden = "13 (su)"};
	static unsigned char payload[106 + 600] = {[104] = 0x58, [105] = 2, [106] = '\033', 'a'};
	struct trace_frame f = {TRACE_FRAME_TARGET, 192, payload, sizeof(payload)};
	struct trace_writer *w = trace_writer_new();
	const struct trace_head head = {.nr_traces = 1};
	struct trace_target out;
	struct trace_reader *r;
	struct err e = {0};
	struct folder folder;

	memset(payload + 108, 'x', 598);
	assert_int_equal(trace_decode_target(&f, &out), 0);
	assert_int_equal(strlen(out.text), TRACE_TARGET_BYTES - 1);
	assert_memory_equal(out.text, "?ax", 3);
	folder_init(&folder);
	assert_int_equal(trace_writer_begin(w, &head), 0);
	trace_writer_target(w, &written);
	assert_int_equal(trace_writer_commit(w, folder.fd, "t", "t", &sample_totals, &e), 0);
	assert_int_equal(trace_reader_open(folder.fd, "t", &r, &e), 0);
	f = next_of_kind(r, TRACE_FRAME_TARGET);
	assert_int_equal(trace_decode_target(&f, &out), 0);
	assert_memory_equal(&out, &written, offsetof(struct trace_target, text));
	assert_string_equal(out.text, written.text);
	assert_int_equal(out.nr_left, written.nr_left);
	assert_string_equal(out.left, written.left);
	assert_int_equal(out.nr_hidden, written.nr_hidden);
	assert_string_equal(out.hidden, written.hidden);
	trace_reader_close(r);
	trace_writer_free(w);
	folder_fini(&folder);
}

/* Objects are shown, so they are cleaned; kinds of later versions remain. */
TEST(maps_of_memory)
{
	const struct mapping_row rows[] = {
	    {.kind = MAPPING_TEXT,
	     .nr = 2,
	     .sums = {1, 2, 3, 4, 5, UINT64_MAX},
	     .object = "/a\033b"},
	    {.kind = 77, .nr = UINT32_MAX, .object = ""},
	};
	const struct mapping_map map = {.flags = MAPPING_IS_BEGIN | MAPPING_IS_END,
					.nr_processes = 3,
					.nr_unread = 4,
					.time_ns = 5,
					.took_ns = 6,
					.row = rows,
					.nr = NR(rows)};
	struct trace_writer *w = trace_writer_new();
	const struct trace_head head = {.nr_traces = 1};
	struct trace_memory_owned out;
	struct trace_reader *r;
	struct trace_frame f;
	struct err e = {0};
	struct folder folder;

	folder_init(&folder);
	assert_int_equal(trace_writer_begin(w, &head), 0);
	trace_writer_memory(w, &map);
	assert_int_equal(trace_writer_commit(w, folder.fd, "t", "t", &sample_totals, &e), 0);
	assert_int_equal(trace_reader_open(folder.fd, "t", &r, &e), 0);
	f = next_of_kind(r, TRACE_FRAME_MEMORY);
	assert_int_equal(trace_decode_memory(&f, &out), 0);
	assert_int_equal(out.map.flags, map.flags);
	assert_int_equal(out.map.nr_processes, 3);
	assert_int_equal(out.map.nr_unread, 4);
	assert_int_equal(out.map.time_ns, 5);
	assert_int_equal(out.map.took_ns, 6);
	assert_int_equal(out.map.nr, NR(rows));
	for (size_t i = 0; i < NR(rows); i++) {
		assert_int_equal(out.map.row[i].kind, rows[i].kind);
		assert_int_equal(out.map.row[i].nr, rows[i].nr);
		assert_memory_equal(&out.map.row[i].sums, &rows[i].sums, sizeof(rows[i].sums));
	}
	assert_string_equal(out.map.row[0].object, "/a?b");
	assert_string_equal(out.map.row[1].object, "");
	trace_memory_fini(&out);
	trace_reader_close(r);
	trace_writer_free(w);
	folder_fini(&folder);
}

/* Payloads that a right checksum does not make right. */
TEST(malformed)
{
	static const struct {
		uint16_t kind;
		unsigned char payload[128];
		uint32_t len;
	} rows[] = {
	    {TRACE_FRAME_INFO, {0}, 0},
	    {TRACE_FRAME_INFO, {0}, 37},                          /* a byte short */
	    {TRACE_FRAME_INFO, {[24] = 5}, 38},                   /* a string beyond the end */
	    {TRACE_FRAME_INFO, {[34] = 1}, 38},                   /* a spec beyond the end */
	    {TRACE_FRAME_INFO, {[37] = 0xff}, 38},                /* beyond the ceiling */
	    {TRACE_FRAME_EVENTS, {0}, 7},                         /* no count */
	    {TRACE_FRAME_EVENTS, {1}, 8},                         /* no event */
	    {TRACE_FRAME_EVENTS, {1, [8] = 49}, 64},              /* an event a byte short */
	    {TRACE_FRAME_EVENTS, {1, [8] = 53}, 64},              /* longer than what follows */
	    {TRACE_FRAME_EVENTS, {0, 0, 0, 1}, 64},               /* 16 million events */
	    {TRACE_FRAME_EVENTS, {1, [8] = 52, [47] = 0x80}, 64}, /* attr of 2 GiB */
	    {TRACE_FRAME_EVENTS, {1, [8] = 61}, 73},              /* 3 bytes of a frequency */
	    {TRACE_FRAME_EVENTS, {1, [8] = 67}, 79},              /* 1 of a format's length */
	    {TRACE_FRAME_EVENTS, {1, [8] = 70, [78] = 1}, 82},    /* a format beyond the end */
	    {TRACE_FRAME_CLOCKS, {0}, 23},
	    {TRACE_FRAME_READINGS, {0}, 15},
	    {TRACE_FRAME_READINGS, {3, [4] = 56}, 16},             /* boundary */
	    {TRACE_FRAME_READINGS, {0, [4] = 48, [8] = 1}, 64},    /* short records */
	    {TRACE_FRAME_READINGS, {0, [4] = 56, [8] = 1}, 64},    /* a record short */
	    {TRACE_FRAME_READINGS, {0, [4] = 0, [8] = 9}, 16},     /* records of nothing */
	    {TRACE_FRAME_READINGS, {0, [7] = 0x80, [11] = 2}, 16}, /* 2^64 bytes */
	    {TRACE_FRAME_NOTE, {0}, 9},
	    {TRACE_FRAME_NOTE, {[8] = 1}, 10},
	    {TRACE_FRAME_END, {0}, 55},
	    {TRACE_FRAME_RECORDS, {0}, 7},
	    {TRACE_FRAME_RECORDS, {3}, 8},  /* whose? */
	    {TRACE_FRAME_RECORDS, {0}, 12}, /* half a word */
	    {TRACE_FRAME_IDS, {24}, 7},
	    {TRACE_FRAME_IDS, {23, [4] = 1}, 32},               /* short items */
	    {TRACE_FRAME_IDS, {24, [4] = 2}, 8 + 47},           /* an item a byte short */
	    {TRACE_FRAME_IDS, {0, [4] = 9}, 8},                 /* items of nothing */
	    {TRACE_FRAME_IDS, {[3] = 0x80, [7] = 0x80}, 8},     /* 2^62 bytes */
	    {TRACE_FRAME_IDS, {[2] = 1, [6] = 1}, 8},           /* 2^32 bytes */
	    {TRACE_FRAME_SAMPLING, {[56] = 56}, 63},            /* no count */
	    {TRACE_FRAME_SAMPLING, {[56] = 55, [60] = 1}, 120}, /* short items */
	    {TRACE_FRAME_SAMPLING, {[56] = 56, [60] = 1}, 119}, /* an item a byte short */
	    {TRACE_FRAME_THINGS, {1}, 7},                       /* no count */
	    {TRACE_FRAME_THINGS, {0, [4] = 1}, 64},             /* of no event */
	    {TRACE_FRAME_THINGS, {1}, 11},                      /* an event a byte short */
	    {TRACE_FRAME_THINGS, {1, [4] = 2}, 12 + 11},        /* a thing a byte short */
	    {TRACE_FRAME_THINGS, {1, [4] = 1, [16] = 1}, 18},   /* a name beyond the end */
	    {TRACE_FRAME_THINGS, {1, [4] = 2, [16] = 1}, 24},   /* the next one behind it, too */
	    {TRACE_FRAME_THINGS, {[3] = 0x40, [7] = 0x40}, 64}, /* 2^32 bytes of events */
	    {TRACE_FRAME_THINGS, {1, [4] = 255, [5] = 255, [6] = 255, [7] = 255}, 64},
	    {TRACE_FRAME_WHERE, {0}, 9},
	    {TRACE_FRAME_WHERE, {[8] = 1}, 10},
	    {TRACE_FRAME_TARGET, {0}, 105},                   /* a byte short */
	    {TRACE_FRAME_TARGET, {[104] = 1}, 106},           /* a text beyond the end */
	    {TRACE_FRAME_MEMORY, {0}, 39},                    /* no count */
	    {TRACE_FRAME_MEMORY, {[32] = 1}, 40},             /* no mapping */
	    {TRACE_FRAME_MEMORY, {[32] = 1, [40] = 57}, 102}, /* a mapping a byte short */
	    {TRACE_FRAME_MEMORY, {[32] = 1, [40] = 59}, 102}, /* longer than what follows */
	    {TRACE_FRAME_MEMORY, {[32] = 1, [40] = 58, [100] = 1}, 102}, /* so is its object */
	    {TRACE_FRAME_MEMORY, {[34] = 1, [35] = 1}, 128},             /* 16 million mappings */
	    {TRACE_FRAME_BUILD_ID, {0}, 48},                             /* of no bytes */
	    {TRACE_FRAME_BUILD_ID, {[40] = 21}, 69},                     /* of too many */
	    {TRACE_FRAME_BUILD_ID, {[40] = 20}, 67},                     /* no path */
	    {TRACE_FRAME_BUILD_ID, {[40] = 4, [48] = 2}, 53},            /* a path beyond the end */
	    {TRACE_FRAME_BUILD_ID, {[40] = 255, [43] = 255}, 64},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct trace_frame f = {rows[i].kind, 192, rows[i].payload, rows[i].len};
		struct trace_events events = {.nr = 1234};
		struct trace_info_owned info;
		struct clock_triple clocks;
		struct trace_totals totals;
		struct trace_note note;
		struct trace_ids ids = {.nr = 1234};
		struct trace_sampling sampling = {.nr = 1234};
		struct trace_things_owned things = {.things.nr = 1234};
		struct trace_where place = {.node = 1234};
		struct trace_target target = {.pid = 1234};
		struct trace_memory_owned memory = {.map.nr = 1234};
		struct trace_build_id id;
		enum trace_boundary boundary;
		enum trace_ring ring;
		const uint8_t *records;
		const char *kallsyms;
		uint32_t cpu;
		size_t nr = 1234;
		char text[8];

		assert_int_equal(trace_decode_info(&f, &info), -EINVAL);
		assert_int_equal(trace_decode_events(&f, &events), -EINVAL);
		assert_int_equal(trace_decode_clocks(&f, &clocks), -EINVAL);
		assert_int_equal(trace_decode_readings(&f, &boundary, &nr), -EINVAL);
		assert_int_equal(trace_decode_note(&f, &note, text, sizeof(text)), -EINVAL);
		assert_int_equal(trace_decode_where(&f, &place), -EINVAL);
		assert_int_equal(place.node, 1234);
		assert_int_equal(trace_decode_target(&f, &target), -EINVAL);
		assert_int_equal(target.pid, 1234);
		assert_int_equal(trace_decode_memory(&f, &memory), -EINVAL);
		assert_int_equal(memory.map.nr, 1234);
		assert_int_equal(trace_decode_end(&f, &totals), -EINVAL);
		assert_int_equal(trace_decode_records(&f, &ring, &cpu, &records, &nr), -EINVAL);
		assert_int_equal(trace_decode_ids(&f, &ids), -EINVAL);
		assert_int_equal(trace_decode_sampling(&f, &sampling), -EINVAL);
		assert_int_equal(trace_decode_things(&f, &things), -EINVAL);
		assert_int_equal(trace_decode_build_id(&f, &id), -EINVAL);
		assert_int_equal(trace_decode_kallsyms(&f, &kallsyms, &nr), -EINVAL);
		assert_int_equal(nr, 1234);
		assert_int_equal(ids.nr, 1234);
		assert_int_equal(sampling.nr, 1234);
		assert_int_equal(things.things.nr, 1234);
		assert_int_equal(events.nr, 1234);
	}
}

/* The numbers in test_malformed are one byte beyond what is right. */
TEST(least)
{
	static const unsigned char events[8 + 54] = {1, [8] = 50};
	static const unsigned char info[38], records[8] = {2};
	static const unsigned char ids[8 + 2 * 24] = {24, [4] = 2};
	static const unsigned char sampling[64 + 56] = {[56] = 56, [60] = 1};
	struct trace_frame f = {TRACE_FRAME_EVENTS, 192, events, sizeof(events)};
	struct trace_info_owned i;
	struct trace_events e;
	struct trace_ids d;
	struct trace_sampling s;

	assert_int_equal(trace_decode_events(&f, &e), 0);
	trace_events_fini(&e);
	f = (struct trace_frame){TRACE_FRAME_INFO, 192, info, sizeof(info)};
	assert_int_equal(trace_decode_info(&f, &i), 0);
	trace_info_fini(&i);
	f = (struct trace_frame){TRACE_FRAME_RECORDS, 192, records, sizeof(records)};
	check_records(&f, TRACE_RING_MADE, 0, "", 0);
	f = (struct trace_frame){TRACE_FRAME_IDS, 192, ids, sizeof(ids)};
	assert_int_equal(trace_decode_ids(&f, &d), 0);
	trace_ids_fini(&d);
	f = (struct trace_frame){TRACE_FRAME_SAMPLING, 192, sampling, sizeof(sampling)};
	assert_int_equal(trace_decode_sampling(&f, &s), 0);
	trace_sampling_fini(&s);
}

static void *no_alloc(size_t size)
{
	(void)size;
	return NULL;
}

/* Ceilings hold although all the bytes are there, and before any memory is asked for. */
TEST(event_ceilings)
{
	static const struct {
		uint32_t nr, nr_there, attr_bytes;
		int want, want_without_memory;
	} rows[] = {
	    {TRACE_MAX_EVENTS, TRACE_MAX_EVENTS, 0, 0, -ENOMEM},
	    {TRACE_MAX_EVENTS + 1, TRACE_MAX_EVENTS + 1, 0, -EINVAL, -EINVAL},
	    {TRACE_MAX_EVENTS, 1, 0, -EINVAL, -EINVAL},
	    {1, 1, TRACE_MAX_ATTR_BYTES, 0, -ENOMEM},
	    {1, 1, TRACE_MAX_ATTR_BYTES + 1, -EINVAL, -ENOMEM},
	};
	const struct mem_ops none = {.alloc = no_alloc};

	for (size_t i = 0; i < NR(rows); i++) {
		struct trace_events events;
		struct trace_frame f;
		struct buf b;

		buf_init(&b, 1 << 20);
		buf_le32(&b, rows[i].nr);
		buf_le32(&b, 0);
		for (uint32_t k = 0; k < rows[i].nr_there; k++) {
			buf_le32(&b, 50 + rows[i].attr_bytes);
			buf_fill(&b, 0, 32);
			buf_le32(&b, rows[i].attr_bytes);
			buf_fill(&b, 0, rows[i].attr_bytes + 14);
		}
		f = (struct trace_frame){TRACE_FRAME_EVENTS, 192, (uint8_t *)b.data,
					 (uint32_t)b.len};
		assert_int_equal(trace_decode_events(&f, &events), rows[i].want);
		if (rows[i].want == 0)
			trace_events_fini(&events);
		mem_set_ops(&none);
		assert_int_equal(trace_decode_events(&f, &events), rows[i].want_without_memory);
		mem_set_ops(NULL);
		buf_fini(&b);
	}
}

/* The spec, too, has a ceiling although all of it is there. */
TEST(spec_ceiling)
{
	for (uint32_t beyond = 0; beyond < 2; beyond++) {
		struct trace_info_owned i;
		struct trace_frame f;
		struct buf b;

		buf_init(&b, 2 * TRACE_MAX_SPEC_BYTES);
		buf_fill(&b, 0, 34);
		buf_le32(&b, TRACE_MAX_SPEC_BYTES + beyond);
		buf_fill(&b, ' ', TRACE_MAX_SPEC_BYTES + beyond);
		f = (struct trace_frame){TRACE_FRAME_INFO, 192, (uint8_t *)b.data, (uint32_t)b.len};
		assert_int_equal(trace_decode_info(&f, &i), beyond ? -EINVAL : 0);
		if (!beyond)
			trace_info_fini(&i);
		buf_fini(&b);
	}
}

/* And the format of a tracepoint. */
TEST(format_ceiling)
{
	for (uint32_t beyond = 0; beyond < 2; beyond++) {
		uint32_t len = TRACE_MAX_FORMAT_BYTES + beyond;
		struct trace_events e;
		struct trace_frame f;
		struct buf b;

		buf_init(&b, 1 << 20);
		buf_le32(&b, 1);
		buf_le32(&b, 0);
		buf_le32(&b, 70 + len);
		buf_fill(&b, 0, 66); /* up to the format's length */
		buf_le32(&b, len);
		buf_fill(&b, '\n', len);
		f = (struct trace_frame){TRACE_FRAME_EVENTS, 192, (uint8_t *)b.data,
					 (uint32_t)b.len};
		assert_int_equal(trace_decode_events(&f, &e), beyond ? -EINVAL : 0);
		if (!beyond) {
			assert_int_equal(strlen(e.item[0].format), len);
			trace_events_fini(&e);
		}
		buf_fini(&b);
	}
}

/* Lists, too, and before memory is asked for. */
TEST(item_ceilings)
{
	static const struct {
		uint16_t kind;
		uint32_t head_bytes, item_bytes;
	} rows[] = {{TRACE_FRAME_IDS, 0, 24}, {TRACE_FRAME_SAMPLING, 56, 56}};
	const struct mem_ops none = {.alloc = no_alloc};

	for (size_t i = 0; i < NR(rows); i++)
		for (uint32_t beyond = 0; beyond < 2; beyond++) {
			uint32_t nr = TRACE_MAX_ITEMS + beyond;
			struct trace_sampling s;
			struct trace_ids ids;
			struct trace_frame f;
			struct buf b;
			int rc;

			buf_init(&b, 8 << 20);
			buf_fill(&b, 0, rows[i].head_bytes);
			buf_le32(&b, rows[i].item_bytes);
			buf_le32(&b, nr);
			buf_fill(&b, 0, (size_t)nr * rows[i].item_bytes);
			f = (struct trace_frame){rows[i].kind, 192, (uint8_t *)b.data,
						 (uint32_t)b.len};
			mem_set_ops(&none);
			rc = i ? trace_decode_sampling(&f, &s) : trace_decode_ids(&f, &ids);
			mem_set_ops(NULL);
			assert_int_equal(rc, beyond ? -EINVAL : -ENOMEM);
			buf_fini(&b);
		}
}

/* A list of things, too: of events and of names, and both before memory is asked for. */
TEST(things_ceilings)
{
	static const struct {
		uint32_t nr_events, nr, short_by;
		int want; /* without memory */
	} rows[] = {
	    {1, 0, 0, -ENOMEM},
	    {TRACE_MAX_EVENTS, TRACE_MAX_ITEMS, 0, -ENOMEM},
	    {0, 1, 0, -EINVAL},
	    {TRACE_MAX_EVENTS + 1, 1, 0, -EINVAL},
	    {1, TRACE_MAX_ITEMS + 1, 0, -EINVAL},
	    {1, TRACE_MAX_ITEMS, 1, -EINVAL},
	    {TRACE_MAX_EVENTS, 0, 1, -EINVAL},
	};
	const struct mem_ops none = {.alloc = no_alloc};

	for (size_t i = 0; i < NR(rows); i++) {
		struct trace_things_owned owned = {.store = (void *)&none};
		struct trace_frame f;
		struct buf b;

		buf_init(&b, 1 << 20);
		buf_le32(&b, rows[i].nr_events);
		buf_le32(&b, rows[i].nr);
		buf_fill(&b, 0, 4 * (size_t)rows[i].nr_events + 6 * (size_t)rows[i].nr);
		f = (struct trace_frame){TRACE_FRAME_THINGS, 192, (uint8_t *)b.data,
					 (uint32_t)b.len - rows[i].short_by};
		mem_set_ops(&none);
		assert_int_equal(trace_decode_things(&f, &owned), rows[i].want);
		mem_set_ops(NULL);
		assert_ptr_equal(owned.store, &none);
		if (rows[i].want != -ENOMEM) {
			buf_fini(&b);
			continue;
		}
		assert_int_equal(trace_decode_things(&f, &owned), 0);
		assert_int_equal(owned.things.nr_events, rows[i].nr_events);
		assert_int_equal(owned.things.nr, rows[i].nr);
		trace_things_fini(&owned);
		buf_fini(&b);
	}
}

TEST(text)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
	    {"plain ~", "plain ~"},
	    {"\x1b[31mred\x07", "?[31mred?"},
	    {"a\tb\r\nc", "a b  c"},
	    {"\x7f", "?"},
	    {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
	    {"\xe2\x82\xac \xf0\x9f\x90\xa7", "\xe2\x82\xac \xf0\x9f\x90\xa7"},
	    {"\xc2\x9b"
	     "31m",
	     "??31m"}, /* CSI in 8 bits */
	    {"\xc2\xa0", "\xc2\xa0"},
	    {"\xe2\x82", "??"},
	    {"\xff\xfe\x80", "???"},
	    {"\xc0\xaf", "??"},
	    {"\xed\xa0\x80", "???"}, /* a surrogate */
	    {"\xe2\x1b[m", "??[m"},
	};
	char nul[3] = {'a', 0, 'b'}, lines[] = "\ta;\n\x1b[2J\r\n\xff";

	for (size_t i = 0; i < NR(rows); i++) {
		char text[32];

		snprintf(text, sizeof(text), "%s", rows[i].text);
		str_clean(text, strlen(text));
		assert_string_equal(text, rows[i].want);
	}
	str_clean(nul, sizeof(nul));
	assert_memory_equal(nul, "a?b", 3);
	nul[1] = 0;
	str_clean_lines(nul, sizeof(nul));
	assert_memory_equal(nul, "a?b", 3);
	str_clean_lines(lines, strlen(lines));
	assert_string_equal(lines, "\ta;\n?[2J \n?");
}

/* Text is cleaned wherever it comes in. */
TEST(text_everywhere)
{
	const char *bad = "\x1b[2J";
	const struct trace_info info = {bad, bad, bad, bad, bad, bad};
	const struct trace_event event = {.group = bad,
					  .name = bad,
					  .label = bad,
					  .unit = bad,
					  .description = bad,
					  .source = bad,
					  .reason = bad,
					  .format = bad};
	const struct trace_note note = {1, bad};
	const uint32_t of_event_0 = 0;
	const struct trace_things things = {&of_event_0, 1, &(struct trace_thing){7, bad}, 1};
	struct trace_things_owned owned;
	struct trace_head head = {.host = "\x1b[2J", .machine = "\x1b[2J"};
	struct trace_writer *w = trace_writer_new();
	struct trace_reader *r;
	struct trace_events events;
	struct trace_info_owned i;
	struct trace_frame frame;
	struct trace_note n;
	struct err e = {0};
	struct folder f;
	char text[16];

	folder_init(&f);
	assert_int_equal(trace_writer_set_common(w, &info, &event, 1), 0);
	assert_int_equal(trace_writer_begin(w, &head), 0);
	trace_writer_note(w, &note);
	trace_writer_things(w, &things);
	assert_int_equal(trace_writer_commit(w, f.fd, "t", "t", &sample_totals, &e), 0);
	assert_int_equal(trace_reader_open(f.fd, "t", &r, &e), 0);
	assert_string_equal(trace_reader_head(r)->host, "?[2J");
	assert_string_equal(trace_reader_head(r)->machine, "?[2J");
	frame = next_of_kind(r, TRACE_FRAME_INFO);
	assert_int_equal(trace_decode_info(&frame, &i), 0);
	const char *const of_info[] = {i.info.tool,        i.info.kernel,     i.info.cpu_model,
				       i.info.config_name, i.info.model_name, i.info.spec_json};
	for (size_t k = 0; k < NR(of_info); k++)
		assert_string_equal(of_info[k], "?[2J");
	trace_info_fini(&i);
	frame = next_of_kind(r, TRACE_FRAME_EVENTS);
	assert_int_equal(trace_decode_events(&frame, &events), 0);
	const struct trace_event *v = events.item;
	const char *const of_event[] = {v->group,       v->name,   v->label,  v->unit,
					v->description, v->source, v->reason, v->format};
	for (size_t k = 0; k < NR(of_event); k++)
		assert_string_equal(of_event[k], "?[2J");
	trace_events_fini(&events);
	frame = next_of_kind(r, TRACE_FRAME_NOTE);
	assert_int_equal(trace_decode_note(&frame, &n, text, sizeof(text)), 0);
	assert_string_equal(n.text, "?[2J");
	frame = next_of_kind(r, TRACE_FRAME_THINGS);
	assert_int_equal(trace_decode_things(&frame, &owned), 0);
	assert_string_equal(owned.things.item[0].name, "?[2J");
	trace_things_fini(&owned);
	trace_reader_close(r);
	trace_writer_free(w);
	folder_fini(&f);
}
