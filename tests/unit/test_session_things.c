/*
 * Events of many things in a session: readings of each thing at both boundaries, their names,
 * things that come and go, in a /sys of our own.
 */
#include "kit.h"
#include "test_session.h"

#include "session/things.h"

#include <pthread.h>
#include <time.h>

#define READS  EV("misc", "disk_read_bytes")
#define WRITES EV("misc", "disk_write_bytes")
#define QUEUE  EV("misc", "disk_read_queue")

static struct rig rig;
static struct tape tape;

/* What the traces of one iteration say. */
struct told {
	unsigned nr_start, nr_end, nr_ticks;
	uint64_t start_raw[8], end_raw[8]; /* of event 0, by instance */
	uint32_t end_flags[8], end_state[8];
	char names[8][16];
	size_t nr_events; /* that number alike */
};

static void put_disk(const char *name, uint64_t read_sectors, uint64_t written_sectors)
{
	char path[128], text[256];

	snprintf(path, sizeof(path), "/sys/block/%s/device/model", name);
	tree_put(&rig.folder, path, "x\n", 2);
	snprintf(path, sizeof(path), "/sys/block/%s/stat", name);
	snprintf(text, sizeof(text), "1 0 %llu 2 3 0 %llu 4 0 5 6\n",
		 (unsigned long long)read_sectors, (unsigned long long)written_sectors);
	tree_put(&rig.folder, path, text, strlen(text));
	snprintf(path, sizeof(path), "/sys/block/%s/inflight", name);
	tree_put(&rig.folder, path, "       1        2\n", 18);
}

/* It appears whole: the thread at the timebase's pace may look at any time. */
static void show_disk(const char *name)
{
	char hidden[32], from[600], to[600];

	snprintf(hidden, sizeof(hidden), "../%s", name);
	put_disk(hidden, 7, 7);
	snprintf(from, sizeof(from), "%s/sys/%s", rig.folder.dir, name);
	snprintf(to, sizeof(to), "%s/sys/block/%s", rig.folder.dir, name);
	assert_int_equal(rename(from, to), 0);
}

static void drop_disk(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "/sys/block/%s", name);
	tree_drop(&rig.folder, path);
}

static void take_readings(struct told *t, const struct trace_frame *f)
{
	enum trace_boundary boundary;
	struct reading r;
	size_t nr;

	assert_int_equal(trace_decode_readings(f, &boundary, &nr), 0);
	for (size_t i = 0; i < nr; i++) {
		trace_decode_reading(f, i, &r);
		*(boundary == TRACE_START ? &t->nr_start
		  : boundary == TRACE_END ? &t->nr_end
					  : &t->nr_ticks) += 1;
		assert_true(r.instance < 8);
		if (r.event == 0 && boundary == TRACE_END) {
			t->end_flags[r.instance] = r.flags;
			t->end_state[r.instance] = r.state;
		}
		if (r.event == 0)
			(boundary == TRACE_START ? t->start_raw : t->end_raw)[r.instance] = r.raw;
	}
}

static void take_things(struct told *t, const struct trace_frame *f)
{
	struct trace_things_owned owned;

	assert_int_equal(trace_decode_things(f, &owned), 0);
	t->nr_events = owned.things.nr_events;
	for (size_t i = 0; i < owned.things.nr; i++)
		snprintf(t->names[owned.things.item[i].number], sizeof(t->names[0]), "%s",
			 owned.things.item[i].name);
	trace_things_fini(&owned);
}

static struct told load(const char *name)
{
	struct trace_reader *r;
	struct trace_frame f;
	struct told t = {0};
	struct err e = {0};
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", rig.folder.dir, name);
	if (trace_reader_open(AT_FDCWD, path, &r, &e))
		fail_msg("%s", e.msg);
	while (trace_reader_next(r, &f, &e) == 1) {
		if (f.kind == TRACE_FRAME_READINGS)
			take_readings(&t, &f);
		else if (f.kind == TRACE_FRAME_THINGS)
			take_things(&t, &f);
	}
	assert_true(trace_reader_is_whole(r));
	trace_reader_close(r);
	return t;
}

/* The folder gives its disks in any order. */
static unsigned number_of(const struct told *t, const char *name)
{
	for (unsigned i = 0; i < 8; i++)
		if (strcmp(t->names[i], name) == 0)
			return i;
	fail_msg("no %s", name);
	return 0;
}

static void begin(const char *events, uint64_t nr_iterations)
{
	rig_init(&rig, 2, "", events);
	rig_with_files(&rig);
	rig_with_proc(&rig);
	rig.spec.num_iterations = nr_iterations;
	tape = (struct tape){.nr_events = 0};
	put_disk("sda", 100, 200);
	put_disk("sdb", 1000, 2000);
}

/* Each disk by its name, before and after; nothing in the other trace. */
TEST(each)
{
	struct told t;

	begin(READS WRITES QUEUE, 1);
	assert_run(&tape, &rig);
	t = load("t.0.0.cpuperf");
	assert_int_equal(t.nr_start, 6);
	assert_int_equal(t.nr_end, 6);
	assert_int_equal(t.nr_events, 3);
	assert_int_equal(t.end_raw[number_of(&t, "sda")], 100 * 512);
	assert_int_equal(t.start_raw[number_of(&t, "sdb")], 1000 * 512);
	t = load("t.0.1.cpuperf");
	assert_int_equal(t.nr_start + t.nr_end, 0);
	rig_fini(&rig);
}

static int change_disks(struct tape *t, uint32_t iteration)
{
	(void)t;
	if (iteration == 0) {
		put_disk("sda", 150, 200);
		put_disk("sdc", 7, 7);
	} else if (iteration == 1) {
		drop_disk("sdb");
	}
	return 0;
}

/* A disk that comes has a number of its own; one that went has no end; the end of an iteration is
 * the start of the next. */
TEST(come_and_go)
{
	unsigned a, b, c;
	struct told t;

	begin(READS, 3);
	tape.each = change_disks;
	assert_run(&tape, &rig);
	t = load("t.1.0.cpuperf");
	assert_int_equal(t.nr_start, 2);
	assert_int_equal(t.nr_end, 3);
	a = number_of(&t, "sda");
	b = number_of(&t, "sdb");
	c = number_of(&t, "sdc");
	assert_int_equal(t.end_raw[a] - t.start_raw[a], 50 * 512);
	assert_int_equal(c, 2); /* the other two had theirs already */
	assert_int_equal(t.end_raw[c], 7 * 512);
	t = load("t.2.0.cpuperf");
	assert_int_equal(t.nr_start, 3);
	assert_int_equal(t.nr_end, 2);
	assert_int_equal(t.end_raw[b], 0);
	rig_fini(&rig);
}

static int hide_disk(struct tape *t, uint32_t iteration)
{
	(void)t;
	if (iteration == 0) {
		put_disk("sdc", 7, 7);
		tree_put(&rig.folder, "/sys/block/sdb/stat", "?\n", 2);
	} else if (iteration == 1) {
		put_disk("sdb", 1000, 2000);
	}
	return 0;
}

/* A reading without one at the start says whether the thing is new. */
TEST(old_and_new)
{
	struct told t;

	begin(READS, 4);
	tape.each = hide_disk;
	assert_run(&tape, &rig);
	t = load("t.1.0.cpuperf");
	assert_int_equal(t.nr_start, 2);
	assert_int_equal(t.nr_end, 3);
	assert_int_equal(t.end_state[number_of(&t, "sdb")], READING_FAILED);
	assert_int_equal(t.end_flags[number_of(&t, "sdb")], READING_OLD | READING_OF_THING);
	assert_int_equal(t.end_flags[number_of(&t, "sda")], READING_OLD);
	assert_int_equal(t.end_flags[number_of(&t, "sdc")], 0);
	t = load("t.2.0.cpuperf");
	assert_int_equal(t.nr_start, 3);
	assert_int_equal(t.nr_end, 3);
	assert_int_equal(t.end_state[number_of(&t, "sdb")], READING_OK);
	assert_int_equal(t.start_raw[number_of(&t, "sdb")], 0);
	assert_int_equal(t.end_flags[number_of(&t, "sdb")], READING_OLD);
	assert_int_equal(t.end_flags[number_of(&t, "sdc")], READING_OLD);
	rig_fini(&rig);
}

/* At the timebase's pace, with the names of what was found meanwhile. On a busy machine the thread
 * of that pace may not run within a short iteration. */
TEST(ticks)
{
	struct told t = {0};

	for (uint64_t ms = 50; ms <= 12800 && t.nr_ticks == 0; ms *= 2) {
		begin("{\"group_name\":\"software\",\"event_name\":\"cpu_clock\",\"rate\":1000000,"
		      "\"flags\":[\"timebase\"]}," READS,
		      1);
		rig.spec.duration_ns = ms * 1000000;
		assert_run(&tape, &rig);
		t = load("t.0.0.cpuperf");
		assert_int_equal(t.nr_end, 3); /* the clock, and two disks */
		(void)number_of(&t, "sdb");
		rig_fini(&rig);
	}
	assert_true(t.nr_ticks > 0);
	assert_int_equal(t.nr_ticks % 2, 0);
}

/* A disk that comes between a boundary and the writing of what was before it: when the session
 * looks at /proc/stat for the second time. */
static struct {
	pthread_t session;
	unsigned nr_looks;
	atomic_uint nr_reads; /* of that disk, at the timebase's pace */
} late;

static bool is_file(int fd, const char *pattern)
{
	char link[64], path[512] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, path, sizeof(path) - 1) > 0 && fnmatch(pattern, path, 0) == 0;
}

static ssize_t late_pread(int fd, void *buf, size_t len, off_t at)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	if (!pthread_equal(pthread_self(), late.session)) {
		if (is_file(fd, "*/sdc/stat"))
			atomic_fetch_add(&late.nr_reads, 1);
	} else if (at == 0 && is_file(fd, "*/proc/stat") && ++late.nr_looks == 2) {
		show_disk("sdc");
		while (atomic_load(&late.nr_reads) < 2)
			nanosleep(&moment, NULL);
	}
	return sys_kernel_ops.pread(fd, buf, len, at);
}

/* A note is whole, for a person and in the trace: what to do stands at its end. */
TEST(long_note)
{
	char events[2048], name[1001] = "", text[4096];
	bool is_there = false;
	struct trace_reader *r;
	struct trace_frame f;
	struct err e = {0};

	memset(name, 'x', sizeof(name) - 1);
	snprintf(events, sizeof(events),
		 "{\"group_name\":\"misc\",\"event_name\":\"disk_read_bytes\",\"devices\":[\"sda\","
		 "\"%s\"]},",
		 name);
	begin(events, 1);
	tree_put(&rig.folder, "/sys/class/block/sda/stat", "?\n", 2);
	assert_run(&tape, &rig);
	assert_some_note(&tape, "there is no disk \"xxx*x\": it is read once it appears");
	snprintf(text, sizeof(text), "%s/t.0.0.cpuperf", rig.folder.dir);
	assert_int_equal(trace_reader_open(AT_FDCWD, text, &r, &e), 0);
	while (trace_reader_next(r, &f, &e) == 1) {
		struct trace_note note;

		if (f.kind != TRACE_FRAME_NOTE)
			continue;
		assert_int_equal(trace_decode_note(&f, &note, text, sizeof(text)), 0);
		is_there |= strstr(text, "it is read once it appears") && strstr(text, name);
	}
	trace_reader_close(r);
	assert_true(is_there);
	rig_fini(&rig);
}

static int drop_late(struct tape *t, uint32_t iteration)
{
	(void)t;
	if (iteration == 0)
		drop_disk("sdc");
	return 0;
}

/* Its readings are of the iteration that follows, and so is its name. */
TEST(late_name)
{
	struct sys_ops ops = sys_kernel_ops;
	struct told t;

	begin("{\"group_name\":\"software\",\"event_name\":\"cpu_clock\",\"rate\":1000000,"
	      "\"flags\":[\"timebase\"]}," READS,
	      2);
	rig.spec.duration_ns = 100000000;
	tape.each = drop_late;
	rig_put_stat(&rig, "cpu 1 2 3 4 5 6 7 8 0 0\n");
	late.session = pthread_self();
	ops.pread = late_pread;
	sys_set_ops(&ops);
	assert_run(&tape, &rig);
	sys_set_ops(NULL);
	assert_int_equal(late.nr_looks, 3);
	t = load("t.0.0.cpuperf");
	assert_string_equal(t.names[2], "");
	t = load("t.1.0.cpuperf");
	assert_string_equal(t.names[2], "sdc");
	rig_fini(&rig);
}
