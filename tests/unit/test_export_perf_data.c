/*
 * What stands around the records of a perf.data file: a small reader goes from the head to each
 * section, and finds there what was said, and nothing of what was not.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/cursor.h"
#include "base/perf_abi.h"
#include "export/perf_data.h"

#include <time.h>

enum { DATA_BYTES = 4096, SECTION_BYTES = 16, NR_BITS = 64 };

static struct buf out;
static uint8_t head[PERF_DATA_HEAD_BYTES];

HOOK(before_each)
{
	buf_init(&out, 1 << 20);
}

HOOK(after_each)
{
	buf_fini(&out);
}

/* Bytes of the file, which has nothing before the tail. */
static struct cursor at(uint64_t offset, uint64_t size)
{
	struct cursor c;

	assert_true(offset >= PERF_DATA_HEAD_BYTES + DATA_BYTES);
	offset -= PERF_DATA_HEAD_BYTES + DATA_BYTES;
	assert_true(offset <= out.len && size <= out.len - offset);
	cursor_init(&c, out.data + offset, size);
	return c;
}

static struct cursor head_at(size_t place)
{
	struct cursor c;

	cursor_init(&c, head, sizeof(head));
	cursor_skip(&c, place);
	return c;
}

/* Of a feature; false if there is none. Their table lies right behind the records. */
static bool feature(unsigned number, struct cursor *c)
{
	struct cursor bits = head_at(72), table;
	uint64_t set = cursor_le64(&bits), before = set & ((UINT64_C(1) << number) - 1);

	if (!(set >> number & 1))
		return false;
	table = at(PERF_DATA_HEAD_BYTES + DATA_BYTES +
		       (uint64_t)__builtin_popcountll(before) * SECTION_BYTES,
		   SECTION_BYTES);
	before = cursor_le64(&table);
	*c = at(before, cursor_le64(&table));
	return true;
}

static void expect_text(struct cursor *c, const char *s)
{
	uint32_t room = cursor_le32(c);
	const char *p = (const char *)cursor_bytes(c, room);

	assert_true(room % 64 == 0 && room > strlen(s));
	assert_non_null(p);
	assert_string_equal(p, s);
}

static void write_tail(const struct perf_data_tail *t)
{
	struct perf_data_tail tail = *t;

	tail.data_bytes = DATA_BYTES;
	buf_reset(&out);
	assert_int_equal(perf_data_tail(&out, &tail, head), 0);
}

TEST(heads)
{
	const struct perf_data_tail t = {.nr_events = 0};
	struct cursor c;

	perf_data_head_init(head);
	assert_memory_equal(head, "PERFILE2", 8);
	c = head_at(8);
	assert_int_equal(cursor_le64(&c), 104);
	assert_int_equal(cursor_le64(&c), PERF_DATA_MAX_ATTR_BYTES + SECTION_BYTES);
	c = head_at(40);
	assert_int_equal(cursor_le64(&c), 104);
	assert_int_equal(cursor_le64(&c), 0); /* of a file that is not whole */
	write_tail(&t);
	c = head_at(48);
	assert_int_equal(cursor_le64(&c), DATA_BYTES);
	c = head_at(72);
	assert_int_equal(cursor_le64(&c), UINT64_C(1) << 23); /* the clock's resolution alone */
}

TEST(texts)
{
	static const char *const command[] = {"a", "b c"};
	char exact[65]; /* without its NUL it fills a room */
	const struct perf_data_tail t = {.host = "box",
					 .release = "6.1.0",
					 .version = "cpuperf 1",
					 .machine = exact,
					 .cpu_model = "",
					 .nr_cpus = 8,
					 .nr_online = 4,
					 .command = command,
					 .nr_command = 2,
					 .first_ns = 5,
					 .last_ns = 9,
					 .monotonic_ns = 7,
					 .realtime_ns = 1000007,
					 .has_branches = true};
	struct cursor c;

	memset(exact, 'x', sizeof(exact) - 1);
	exact[sizeof(exact) - 1] = '\0';
	write_tail(&t);
	assert_true(feature(3, &c));
	expect_text(&c, "box");
	assert_int_equal(c.left, 0);
	assert_true(feature(4, &c));
	expect_text(&c, "6.1.0");
	assert_true(feature(5, &c));
	expect_text(&c, "cpuperf 1");
	assert_true(feature(6, &c));
	expect_text(&c, exact);
	assert_true(feature(7, &c));
	assert_int_equal(cursor_le32(&c), 8);
	assert_int_equal(cursor_le32(&c), 4);
	assert_false(feature(8, &c)); /* no model is said */
	assert_true(feature(11, &c));
	assert_int_equal(cursor_le32(&c), 2);
	expect_text(&c, "a");
	expect_text(&c, "b c");
	assert_true(feature(15, &c) && c.left == 0);
	assert_true(feature(21, &c));
	assert_int_equal(cursor_le64(&c), 5);
	assert_int_equal(cursor_le64(&c), 9);
	assert_true(feature(29, &c));
	assert_int_equal(cursor_le32(&c), 1);
	assert_int_equal(cursor_le32(&c), 1); /* CLOCK_MONOTONIC */
	assert_int_equal(cursor_le64(&c), 1000007);
	assert_int_equal(cursor_le64(&c), 7);
	for (unsigned number = 0; number < NR_BITS; number++)
		assert_int_equal(feature(number, &c), UINT64_C(0x20a088f8) >> number & 1);
}

TEST(build_ids)
{
	static const uint8_t bytes[PERF_DATA_BUILD_ID_BYTES] = {1, 2, 3};
	const struct perf_data_build_id ids[] = {{true, 20, bytes, "[kernel.kallsyms]"},
						 {false, 3, bytes, "/bin/x"}};
	const struct perf_data_tail t = {.build_ids = ids, .nr_build_ids = 2};
	struct cursor c;

	write_tail(&t);
	assert_true(feature(2, &c));
	for (size_t i = 0; i < 2; i++) {
		const uint8_t *start = c.at;
		uint16_t size;

		assert_int_equal(cursor_le32(&c), 67);
		assert_int_equal(cursor_le16(&c), (i ? 2 : 1) | 1 << 15);
		size = cursor_le16(&c);
		assert_int_equal(cursor_le32(&c), UINT32_MAX);
		assert_memory_equal(cursor_bytes(&c, 20), bytes, ids[i].len);
		assert_int_equal(cursor_le32(&c), ids[i].len);
		assert_string_equal((const char *)cursor_bytes(&c, 64), ids[i].path);
		assert_ptr_equal(c.at, start + size);
	}
	assert_int_equal(c.left, 0);
}

static struct perf_data_event make_event(const char *name, const uint64_t *ids, size_t nr)
{
	struct perf_data_event e = {.name = name, .ids = ids, .nr_ids = nr};

	perf_data_attr_side_band(&e.attr);
	return e;
}

TEST(events)
{
	static const uint64_t ids[] = {11, 12, 13, 14};
	const struct perf_data_event list[] = {
	    make_event("one", ids, 3), make_event("none", ids, 0), make_event("two", ids + 3, 1)};
	const struct perf_data_group group = {1, 2};
	const struct perf_data_tail t = {
	    .events = list, .nr_events = 3, .groups = &group, .nr_groups = 1};
	struct cursor c, attrs, c2;

	write_tail(&t);
	assert_true(feature(12, &c));
	assert_int_equal(cursor_le32(&c), 3);
	assert_int_equal(cursor_le32(&c), PERF_DATA_MAX_ATTR_BYTES);
	attrs = head_at(24);
	attrs = at(cursor_le64(&(struct cursor){attrs.at, 8, false}),
		   3 * (PERF_DATA_MAX_ATTR_BYTES + SECTION_BYTES));
	for (size_t i = 0; i < 3; i++) {
		uint64_t from;

		assert_memory_equal(cursor_bytes(&c, PERF_DATA_MAX_ATTR_BYTES), list[i].attr.bytes,
				    PERF_DATA_MAX_ATTR_BYTES);
		assert_int_equal(cursor_le32(&c), list[i].nr_ids);
		expect_text(&c, list[i].name);
		assert_memory_equal(cursor_bytes(&attrs, PERF_DATA_MAX_ATTR_BYTES),
				    list[i].attr.bytes, PERF_DATA_MAX_ATTR_BYTES);
		from = cursor_le64(&attrs);
		c2 = at(from, cursor_le64(&attrs));
		assert_int_equal(c2.left, 8 * list[i].nr_ids);
		for (size_t k = 0; k < list[i].nr_ids; k++) {
			assert_int_equal(cursor_le64(&c), list[i].ids[k]);
			assert_int_equal(cursor_le64(&c2), list[i].ids[k]);
		}
	}
	assert_true(feature(17, &c));
	assert_int_equal(cursor_le32(&c), 1);
	expect_text(&c, "{anon_group}");
	assert_int_equal(cursor_le32(&c), 1);
	assert_int_equal(cursor_le32(&c), 2);
	assert_false(feature(1, &c));
}

TEST(attrs)
{
	uint8_t attr[136] = {1, 0, 0, 0, 136};
	struct perf_data_attr a;
	struct cursor c;

	assert_false(perf_data_attr_init(&a, attr, 63, 0, 0));
	attr[130] = 1; /* younger than readers */
	assert_false(perf_data_attr_init(&a, attr, sizeof(attr), 0, 0));
	assert_true(perf_data_attr_init(&a, attr, 128, 0, 0));
	attr[130] = 0;
	attr[127] = 9;
	assert_true(perf_data_attr_init(&a, attr, sizeof(attr), 0x10007, 0xf));
	cursor_init(&c, a.bytes, sizeof(a.bytes));
	assert_int_equal(cursor_le32(&c), 1);
	assert_int_equal(cursor_le32(&c), PERF_DATA_MAX_ATTR_BYTES);
	cursor_skip(&c, 16);
	assert_int_equal(cursor_le64(&c), 0x10007);
	assert_int_equal(cursor_le64(&c), 0xf);
	assert_int_equal(cursor_le64(&c), 1 << 18);
	assert_int_equal(a.bytes[127], 9);
	attr[64] = 7;
	assert_true(perf_data_attr_init(&a, attr, 64, 0, 0));
	assert_int_equal(a.bytes[64], 0);
}

/* It counts nothing, and its times are those of CLOCK_MONOTONIC. */
TEST(side_band)
{
	struct perf_data_attr a;
	struct perf_event_attr attr;

	_Static_assert(sizeof(attr) >= sizeof(a.bytes), "all fields are known");
	perf_data_attr_side_band(&a);
	memset(&attr, 0, sizeof(attr));
	memcpy(&attr, a.bytes, sizeof(a.bytes));
	assert_int_equal(attr.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(attr.config, PERF_COUNT_SW_DUMMY);
	assert_int_equal(attr.size, PERF_DATA_MAX_ATTR_BYTES);
	assert_true(attr.use_clockid && attr.clockid == CLOCK_MONOTONIC);
	assert_true(attr.mmap && attr.mmap2 && attr.comm && attr.comm_exec && attr.task);
	assert_true(attr.sample_id_all);
}

/* Each tracepoint once. */
TEST(tracepoints)
{
	const struct perf_data_event list[] = {
	    {.name = "clock"},
	    {.name = "a",
	     .tracepoint = "sched:sched_switch",
	     .format = "format A",
	     .tracepoint_id = 7},
	    {.name = "b", .tracepoint = "irq:softirq", .format = "format B", .tracepoint_id = 8},
	    {.name = "c",
	     .tracepoint = "sched:sched_switch",
	     .format = "format A",
	     .tracepoint_id = 7},
	};
	const struct perf_data_tail t = {.events = list, .nr_events = 4};
	struct cursor c;

	write_tail(&t);
	assert_true(feature(1, &c));
	assert_memory_equal(cursor_bytes(&c, 14), "\x17\x08\x44tracing0.6", 14);
	assert_int_equal(cursor_u8(&c), 0);
	assert_int_equal(cursor_u8(&c), 8);
	assert_int_equal(cursor_le32(&c), 4096);
	assert_string_equal((const char *)cursor_bytes(&c, 12), "header_page");
	cursor_skip(&c, cursor_le64(&c));
	assert_string_equal((const char *)cursor_bytes(&c, 13), "header_event");
	assert_int_equal(cursor_le64(&c), 0);
	assert_int_equal(cursor_le32(&c), 0);
	assert_int_equal(cursor_le32(&c), 2);
	assert_string_equal((const char *)cursor_bytes(&c, 6), "sched");
	assert_int_equal(cursor_le32(&c), 1);
	assert_int_equal(cursor_le64(&c), 8);
	assert_memory_equal(cursor_bytes(&c, 8), "format A", 8);
	assert_string_equal((const char *)cursor_bytes(&c, 4), "irq");
	cursor_skip(&c, 4 + 8 + 8);
	assert_int_equal(c.left, 4 + 4 + 8);
}

TEST(no_memory)
{
	const struct perf_data_tail t = {.host = "box", .nr_cpus = 1, .realtime_ns = 1};
	struct buf none;

	for (size_t max = 0; max < 300; max += 7) {
		buf_init(&none, max);
		assert_int_equal(perf_data_tail(&none, &t, head), max < 172 ? -EFBIG : 0);
		buf_fini(&none);
	}
}
