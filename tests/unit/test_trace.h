/*
 * What the tests of trace/ share: one sample trace that has every kind of frame, a folder to
 * write in, and a few lines to build frames by hand. Only for tests.
 */
#ifndef TEST_TRACE_H
#define TEST_TRACE_H

#include "kit.h"

#include "base/buf.h"
#include "base/crc32c.h"
#include "base/err.h"
#include "base/io.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "trace/writer.h"

#include <dirent.h>
#include <sys/stat.h>

static const struct trace_head sample_head = {
    .session_id = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    .boot_id = {0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd,
		0xfe, 0xff},
    .iteration = 3,
    .trace = 1,
    .cpu = 5,
    .nr_traces = 2,
    .host = "box",
    .machine = "x86_64",
};

static const struct trace_info sample_info = {
    .tool = "cpuperf 0.1.0",
    .kernel = "6.1.0",
    .cpu_model = "A CPU",
    .config_name = "golden",
    .model_name = "",
    .spec_json = "{\"duration\":1}",
    .duration_ns = 1000000000,
    .num_iterations = 4,
    .user_hz = 100,
    .page_bytes = 4096,
};

static const unsigned char sample_attr[16] = {1, 0, 0, 0, 16};

static const struct trace_event sample_events[] = {
    {
	.id = 2 << 11 | 1,
	.kind = EVENT_COUNT,
	.scope = EVENT_SCOPE_CPU,
	.flags = 3,
	.rate = 0,
	.state = READING_OK,
	.perf_group = 0,
	.group = "fixed",
	.name = "instructions_retired",
	.label = "inst",
	.unit = "",
	.description = "Instructions",
	.source = "PERF_COUNT_HW_INSTRUCTIONS",
	.reason = "",
	.attr = sample_attr,
	.attr_bytes = sizeof(sample_attr),
	.frequency = 4000,
	.format = "",
    },
    {
	.id = 4 << 11 | 7,
	.kind = EVENT_SHARE,
	.scope = EVENT_SCOPE_CPU,
	.state = READING_OK,
	.perf_group = UINT32_MAX,
	.group = "misc",
	.name = "cpu_user",
	.label = "cpu_user",
	.unit = "%",
	.description = "User time",
	.source = "/proc/stat",
	.reason = "",
	.format = "",
    },
    {
	.id = 1 << 11 | 4,
	.kind = EVENT_COUNT,
	.scope = EVENT_SCOPE_CPU,
	.rate = 1000,
	.state = READING_NOT_SUPPORTED,
	.perf_group = UINT32_MAX,
	.group = "arch",
	.name = "llc_misses",
	.label = "llc_misses",
	.unit = "",
	.description = "Cache misses",
	.source = "PERF_COUNT_HW_CACHE_MISSES",
	.reason = "no PMU",
	.scale = 64,
	.format = "",
    },
    {
	.id = 6 << 11 | 1,
	.kind = EVENT_COUNT,
	.scope = EVENT_SCOPE_CPU,
	.flags = 3,
	.rate = 1,
	.state = READING_OK,
	.perf_group = 1,
	.group = "tracepoint",
	.name = "sched:sched_switch",
	.label = "switch",
	.unit = "",
	.description = "",
	.source = "",
	.reason = "",
	.format = "\tfield:int next_pid;\toffset:56;\tsize:4;\tsigned:1;\n",
    },
};

static const struct reading sample_start[] = {
    {.event = 0, .state = 1, .time_ns = 2000, .raw = 100, .enabled_ns = 50, .running_ns = 25},
    {.event = 1, .instance = 9, .state = 1, .time_ns = 2100, .raw = 10, .base = 1000},
    {.event = 2, .state = 3, .time_ns = 2100},
};
static const struct reading sample_end[] = {
    {.event = 0, .state = 1, .time_ns = 3000, .raw = 400, .enabled_ns = 150, .running_ns = 75},
    {.event = 1, .instance = 9, .state = 2, .time_ns = 3100, .raw = 30, .base = 1200},
    {.event = 2, .state = 3, .time_ns = 3100},
};

static const struct reading sample_tick = {
    .event = 1, .instance = 9, .state = 1, .time_ns = 2300, .raw = 15, .base = 1050};

/* PERF_RECORD_SAMPLE with IP, TID, TIME and PERIOD: 9, in user mode, 40 bytes. */
static const unsigned char sample_record[40] = {
    9,    0, 0, 0,    2, 0, 40, 0, /* header */
    0,    0, 0, 0x40, 0, 0, 0,  0, /* ip */
    7,    0, 0, 0,    8, 0, 0,  0, /* pid, tid */
    0x98, 8, 0, 0,    0, 0, 0,  0, /* time */
    0xe8, 3, 0, 0,    0, 0, 0,  0, /* period */
};
static const struct trace_id sample_id = {
    .id = 77, .event = 0, .instance = 1, .attr = 2, .group = 3};
static const struct trace_sampled sample_sampled = {.event = 0,
						    .instance = 1,
						    .samples = 2,
						    .idle = 3,
						    .weight = 4,
						    .lost = UINT64_MAX,
						    .throttled = 6,
						    .unthrottled = 7};
static const struct trace_sampling sample_sampling = {.ring_bytes = 65536,
						      .max_rate_start = 50000,
						      .max_rate_end = 25000,
						      .idle_ns = 40,
						      .lost = 8,
						      .ticks = 9,
						      .ticks_missed = 10,
						      .item = &sample_sampled,
						      .nr = 1};
static const char sample_kallsyms[] = "ffffffff81000000 T _text\n";

static const struct clock_triple sample_clocks = {1000, 2000, 1700000000000000000};
static const struct trace_note sample_note = {2500, "CPU 5 went away"};
static const struct trace_totals sample_totals = {
    .start_ns = 2000, .end_ns = 3100, .lost = 8, .throttled = 9, .is_cut = true};

enum { SAMPLE_NR_FRAMES = 12 };
static const uint16_t sample_kinds[SAMPLE_NR_FRAMES] = {
    TRACE_FRAME_INFO,     TRACE_FRAME_EVENTS,   TRACE_FRAME_CLOCKS,   TRACE_FRAME_IDS,
    TRACE_FRAME_READINGS, TRACE_FRAME_RECORDS,  TRACE_FRAME_READINGS, TRACE_FRAME_NOTE,
    TRACE_FRAME_READINGS, TRACE_FRAME_SAMPLING, TRACE_FRAME_KALLSYMS, TRACE_FRAME_END};

static inline int sample_begin(struct trace_writer *w)
{
	int rc = trace_writer_set_common(w, &sample_info, sample_events, NR(sample_events));

	return rc ? rc : trace_writer_begin(w, &sample_head);
}

/* The sample in three parts: up to the records, behind them up to the end of the iteration, and the
 * rest but the end frame. */
static inline int sample_gather_start(struct trace_writer *w)
{
	int rc = sample_begin(w);

	trace_writer_clocks(w, &sample_clocks);
	trace_writer_ids(w, &sample_id, 1);
	trace_writer_readings(w, TRACE_START, sample_start, NR(sample_start));
	return rc;
}

static inline void sample_gather_tick(struct trace_writer *w)
{
	trace_writer_readings(w, TRACE_TICK, &sample_tick, 1);
	trace_writer_note(w, &sample_note);
}

static inline void sample_gather_end(struct trace_writer *w)
{
	trace_writer_readings(w, TRACE_END, sample_end, NR(sample_end));
	trace_writer_sampling(w, &sample_sampling);
	trace_writer_kallsyms(w, sample_kallsyms, strlen(sample_kallsyms));
}

/* All of the sample but commit. */
static inline int sample_gather(struct trace_writer *w)
{
	int rc = sample_gather_start(w);

	trace_writer_records(w, TRACE_RING_SAMPLES, 5, sample_record, sizeof(sample_record));
	sample_gather_tick(w);
	sample_gather_end(w);
	return rc;
}

/* A folder of one test, emptied and removed by folder_fini. */
struct folder {
	char path[256];
	int fd;
};

static inline void folder_init(struct folder *f)
{
	const char *base = getenv("TMPDIR");

	snprintf(f->path, sizeof(f->path), "%s/test_trace.XXXXXX", base ? base : "/tmp");
	assert_non_null(mkdtemp(f->path));
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->fd >= 0);
}

/* Entries other than . and .., removed if asked. */
static inline size_t folder_entries(const struct folder *f, bool remove_them)
{
	DIR *d = opendir(f->path);
	size_t nr = 0;

	assert_non_null(d);
	for (struct dirent *entry; (entry = readdir(d));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		nr++;
		if (remove_them && unlinkat(f->fd, entry->d_name, 0))
			unlinkat(f->fd, entry->d_name, AT_REMOVEDIR);
	}
	closedir(d);
	return nr;
}

static inline void folder_fini(struct folder *f)
{
	folder_entries(f, true);
	close(f->fd);
	assert_int_equal(rmdir(f->path), 0);
}

static inline void write_file(const struct folder *f, const char *name, const void *data,
			      size_t len)
{
	int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(io_write_full(fd, data, len), 0);
	close(fd);
}

static inline void load_file(int dirfd, const char *name, struct buf *out)
{
	buf_init(out, 128 << 20);
	assert_int_equal(io_load(dirfd, name, out), 0);
}

/* The sample's bytes, through a file. */
static inline void sample_bytes(struct buf *out)
{
	struct trace_writer *w = trace_writer_new();
	struct err e = {0};
	struct folder f;

	folder_init(&f);
	assert_non_null(w);
	assert_int_equal(sample_gather(w), 0);
	assert_int_equal(trace_writer_commit(w, f.fd, "t", "t", &sample_totals, &e), 0);
	load_file(f.fd, "t", out);
	trace_writer_free(w);
	folder_fini(&f);
}

/* A right header, by hand; then frames follow. */
static inline void add_header_bytes(struct buf *b, uint16_t version, uint32_t incompatible,
				    uint16_t header_bytes)
{
	buf_add(b, TRACE_MAGIC, 8);
	buf_le32(b, TRACE_BYTE_ORDER);
	buf_le16(b, version);
	buf_le16(b, header_bytes);
	buf_le32(b, incompatible);
	buf_fill(b, 0, header_bytes - b->len - 4);
	buf_le32(b, crc32c(0, b->data, b->len));
}

static inline void add_frame(struct buf *b, uint16_t kind, uint16_t flags, const void *payload,
			     uint32_t len)
{
	size_t at = b->len;
	uint32_t crc;

	buf_le32(b, TRACE_FRAME_SYNC);
	buf_le16(b, kind);
	buf_le16(b, flags);
	buf_le32(b, len);
	crc = crc32c(crc32c(0, b->data + at + 4, 8), payload, len);
	buf_le32(b, crc);
	buf_add(b, payload, len);
	buf_fill(b, 0, (8 - len % 8) % 8);
}

static inline struct trace_reader *open_bytes(const struct buf *b)
{
	struct trace_reader *r = NULL;
	struct err e = {0};
	int rc = trace_reader_open_mem(b->data, b->len, "bytes", &r, &e);

	if (rc)
		print_error("%s\n", e.msg);
	assert_int_equal(rc, 0);
	return r;
}

#endif
