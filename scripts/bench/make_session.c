/*
 * Makes a session of as many samples as asked for, for benches of what reads them: the files that
 * cpuperf would write, by the same code. The same arguments give the same bytes, on one machine
 * with the same build: what is mapped are this program itself and the libraries it runs with.
 *
 *   make_session [-n SAMPLES] [-i ITERATIONS] [-c CPUS] [-p PROCESSES] [-d LEAST-MOST] [-f PLACES]
 *                [-z LEVEL] [-s SEED] [-l SECONDS] PREFIX
 *
 * Writes PREFIX.<i>.<t>.cpuperf, PREFIX.common.cpuperf and PREFIX.cpsession. Samples are of
 * software:cpu_clock, every 100 us, with callchains. A chain is a place in a tree of calls that is
 * grown at random, LEAST to MOST deep, and some places are sampled far more often than others (half
 * of all samples are at a tenth of the PLACES). Processes have threads and names, come and go, and
 * map the files at addresses of their own. Every 4096th sample stands a little too late.
 *
 * With -l the session is in progress: for so many seconds its files grow as those of a recorder do,
 * in iterations of a second with 10,000 samples of each CPU, ten frames each; then it ends. What a
 * CPU samples is the same in each iteration, of later times. On a line of standard output stands
 * how late the last frame was written, in ms.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "elf/build_id.h"
#include "proc/maps.h"
#include "spec/cpsession.h"
#include "survey/record.h"
#include "trace/file.h"
#include "trace/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum {
	PERIOD_NS = 100000,
	START_NS = 1000000000,
	MAX_FILES = 16,
	MAX_DEPTH = 127, /* kernel.perf_event_max_stack */
	FRAME_BYTES = 256 << 10,
	FRAME_ROOM = 64 << 10,
	NR_SYMBOLS = 20000,
	SYMBOL_BYTES = 0x400,
	LINES_BYTES = 64 << 10,
	MAX_MADE_BYTES = 1 << 30,
	SPOTS = 8,          /* instructions of a place that are sampled */
	CHILD_EVERY = 5000, /* samples: a process that comes and goes */
	FRAMES = 10,        /* of an iteration of a session in progress */
	NS_PER_S = 1000000000
};
static const uint64_t kernel_text = 0xffffffff81000000;

static struct {
	uint64_t samples, iterations, cpus, processes, least, most, places, level, seed, live;
} args = {1000000, 1, 2, 20, 4, 20, 20000, 0, 1, 0};

/* What is mapped into each process. */
static struct file {
	struct proc_mapping mapping;
	struct elf_build_id id;
	char name[4096];
} files[MAX_FILES];
static size_t nr_files;

/* A place in the tree of calls: who called is above; -1: nobody. Each process has its files at
 * other addresses: address is that in the file. */
static struct place {
	int64_t above;
	uint64_t address;
	uint32_t file, depth;
	bool is_kernel;
} * places;

static char prefix_folder[4096];
static const char *prefix;
static int folder_fd;
static struct trace_writer *writer;
static struct trace_packer *packer;
static struct perf_event_attr attr;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "make_session: %s: %s\n", what, why);
	exit(1);
}

static void check(int rc, const char *what)
{
	if (rc)
		die(what, strerror(-rc));
}

/* splitmix64 */
static uint64_t random_of(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint64_t below(uint64_t *state, uint64_t n)
{
	return n ? random_of(state) % n : 0;
}

static void take_file(const char *line, size_t len)
{
	struct file *f = &files[nr_files];
	int fd;

	if (nr_files == MAX_FILES || proc_maps_parse(line, len, &f->mapping) ||
	    !(f->mapping.prot & PROC_MAPS_EXEC) || !f->mapping.inode)
		return;
	snprintf(f->name, sizeof(f->name), "%.*s", (int)f->mapping.name_len, f->mapping.name);
	f->mapping.name = f->name;
	fd = open(f->name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (elf_build_id_read(fd, &f->id))
		f->id.len = 0;
	close(fd);
	/* where it would be without randomising, so that two runs agree */
	f->mapping.end -= f->mapping.start;
	f->mapping.start = 0x7f0000000000 + ((uint64_t)nr_files << 32) + f->mapping.offset;
	f->mapping.end += f->mapping.start;
	nr_files++;
}

static void find_files(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	if (!maps)
		die("/proc/self/maps", strerror(errno));
	while ((len = getline(&line, &room, maps)) > 0)
		take_file(line, (size_t)len - 1);
	free(line);
	fclose(maps);
	if (!nr_files)
		die("/proc/self/maps", "no file is mapped");
}

static uint64_t slide(uint32_t pid)
{
	return (uint64_t)pid << 12;
}

/* Callers are among those made before, the nearer the likelier; the kernel is called last. */
static void grow_place(uint64_t *state, uint64_t i)
{
	struct place *p = &places[i];
	const struct place *above = NULL;

	p->above = i ? (int64_t)below(state, i) : -1;
	if (i && below(state, 4))
		p->above = (int64_t)(i - 1 - below(state, i < 8 ? i : 8));
	if (p->above >= 0)
		above = &places[p->above];
	if (above && above->depth >= args.most) {
		p->above = -1;
		above = NULL;
	}
	p->depth = above ? above->depth + 1 : 1;
	p->file = (uint32_t)below(state, nr_files);
	p->is_kernel = above && (above->is_kernel || (p->depth > 2 && !below(state, 24)));
	p->address = p->is_kernel
			 ? kernel_text + below(state, NR_SYMBOLS) * SYMBOL_BYTES
			 : below(state, files[p->file].mapping.end - files[p->file].mapping.start);
	p->address = (p->address & ~(uint64_t)63) + 16;
}

static void grow_places(void)
{
	uint64_t state = args.seed;

	places = calloc(args.places, sizeof(*places));
	if (!places)
		die("places", strerror(ENOMEM));
	for (uint64_t i = 0; i < args.places; i++)
		grow_place(&state, i);
}

/* One that is deep enough, mostly among the first of a shuffled list. */
static const struct place *choose_place(uint64_t *state)
{
	for (int tries = 0;; tries++) {
		uint64_t r = random_of(state) >> 11;
		double u = (double)r / 9007199254740992.0;
		uint64_t rank = (uint64_t)(u * u * u * (double)args.places);
		const struct place *p = &places[rank * 7919 % args.places];

		if (p->depth >= args.least || tries == 100)
			return p;
	}
}

static uint64_t address_of(const struct place *p, uint32_t pid)
{
	return p->is_kernel ? p->address : files[p->file].mapping.start + slide(pid) + p->address;
}

/* Newest first; a mark where the kernel's part begins, and where the program's does. */
static size_t make_chain(const struct place *p, uint32_t pid, uint64_t spot, uint64_t *out)
{
	size_t nr = 0;
	bool is_kernel = p->is_kernel;

	out[nr++] = is_kernel ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER;
	for (;; p = &places[p->above], spot = 4) {
		if (is_kernel && !p->is_kernel) {
			out[nr++] = PERF_CONTEXT_USER;
			is_kernel = false;
		}
		out[nr++] = address_of(p, pid) + spot;
		if (p->above < 0)
			return nr;
	}
}

static uint32_t pid_of(uint64_t process)
{
	return 1000 + 16 * (uint32_t)process;
}

static void add_sample(struct buf *out, uint64_t *state, uint64_t time_ns)
{
	uint64_t chain[MAX_DEPTH + 3], at = out->len;
	uint32_t pid = pid_of(below(state, below(state, 2) ? args.processes : 4));
	uint32_t tid = pid + (uint32_t)below(state, 3);
	const struct place *p = choose_place(state);
	size_t nr;

	if (pid >= pid_of(args.processes))
		pid = tid = pid_of(0);
	nr = make_chain(p, pid, below(state, SPOTS) * 4, chain);
	buf_le32(out, PERF_RECORD_SAMPLE);
	buf_le16(out, p->is_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
	buf_le16(out, (uint16_t)(8 + 16 + 8 + 8 * nr));
	buf_le32(out, pid);
	buf_le32(out, tid);
	buf_le64(out, time_ns);
	buf_le64(out, nr);
	for (size_t i = 0; i < nr; i++)
		buf_le64(out, chain[i]);
	if (buf_error(out) || out->len - at > UINT16_MAX)
		die("a frame", "too long");
}

static void file_name(char out[64], const char *what)
{
	snprintf(out, 64, "%s.%s.cpuperf", prefix, what);
}

static void fill_head(struct trace_head *head)
{
	struct utsname u;

	memset(head->session_id, 7, sizeof(head->session_id));
	memcpy(head->session_id, &args.seed, sizeof(args.seed));
	uname(&u);
	snprintf(head->host, sizeof(head->host), "synthetic");
	snprintf(head->machine, sizeof(head->machine), "%.16s", u.machine);
	head->nr_traces = (uint32_t)args.cpus;
}

static struct trace_file *create(const struct trace_head *head, const char *what)
{
	struct trace_file *f;
	struct err e = {0};
	char name[64];

	file_name(name, what);
	check(trace_writer_begin(writer, head), name);
	if (trace_file_create(writer, folder_fd, name, name, packer, &f, &e))
		die(name, e.msg);
	trace_writer_more(writer);
	return f;
}

static void put_records(struct trace_file *f, uint32_t cpu, struct buf *records)
{
	const struct trace_span span = {.part = {records->data}, .len = {records->len}};
	struct err e = {0};

	if (trace_file_records(f, TRACE_RING_SAMPLES, cpu, &span, &e))
		die(e.source, e.msg);
	buf_reset(records);
}

static void append(struct trace_file *f)
{
	struct err e = {0};

	if (trace_file_append(f, writer, &e))
		die(e.source, e.msg);
}

static void finish(struct trace_file *f, uint64_t start_ns, uint64_t end_ns)
{
	const struct trace_totals totals = {.start_ns = start_ns, .end_ns = end_ns};
	struct err e = {0};

	if (trace_file_finish(f, writer, &totals, &e))
		die(e.source, e.msg);
}

/* In order, but for one in 4096, which changes places with the one before. */
static void put_samples(struct trace_file *f, uint32_t cpu, uint64_t *state, uint64_t first_ns,
			uint64_t nr)
{
	struct buf records;

	buf_init(&records, FRAME_BYTES + FRAME_ROOM);
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t late = i % 4096 == 4095 ? 1 : i % 4096 == 4094 && i + 1 < nr ? 2 : 0;
		uint64_t place = late == 1 ? i - 1 : late == 2 ? i + 1 : i;

		add_sample(&records, state, first_ns + place * PERIOD_NS + place % 977);
		if (records.len >= FRAME_BYTES)
			put_records(f, cpu, &records);
	}
	if (records.len)
		put_records(f, cpu, &records);
	buf_fini(&records);
}

static void put_readings(enum trace_boundary boundary, uint64_t time_ns)
{
	const struct reading r = {.state = READING_OK,
				  .time_ns = time_ns,
				  .raw = time_ns,
				  .enabled_ns = time_ns,
				  .running_ns = time_ns};

	trace_writer_readings(writer, boundary, &r, 1);
}

static struct trace_file *begin_trace(uint32_t iteration, uint32_t trace, uint64_t start_ns)
{
	const struct trace_id id = {.id = 100 + trace};
	struct trace_head head = {.iteration = iteration, .trace = trace, .cpu = trace};
	struct trace_file *f;
	char what[32];

	fill_head(&head);
	snprintf(what, sizeof(what), "%u.%u", iteration, trace);
	f = create(&head, what);
	trace_writer_ids(writer, &id, 1);
	put_readings(TRACE_START, start_ns);
	append(f);
	return f;
}

static void end_trace(struct trace_file *f, uint64_t start_ns, uint64_t end_ns, uint64_t nr)
{
	const struct trace_sampled sampled = {.samples = nr, .weight = nr * PERIOD_NS};
	const struct trace_sampling sampling = {
	    .ring_bytes = 1 << 24, .idle_ns = 0, .item = &sampled, .nr = 1};

	trace_writer_more(writer);
	put_readings(TRACE_END, end_ns);
	trace_writer_sampling(writer, &sampling);
	finish(f, start_ns, end_ns);
}

static void make_trace(uint32_t iteration, uint32_t trace, uint64_t start_ns, uint64_t end_ns,
		       uint64_t nr)
{
	uint64_t state = args.seed + ((uint64_t)iteration << 32) + trace + 1;
	struct trace_file *f = begin_trace(iteration, trace, start_ns);

	put_samples(f, trace, &state, start_ns + trace * 31, nr);
	end_trace(f, start_ns, end_ns, nr);
}

/* What a record made by survey_record.h says besides. */
static void set_head(struct buf *b, size_t at, uint32_t kind, uint16_t misc)
{
	memcpy(b->data + at, &kind, sizeof(kind));
	memcpy(b->data + at + 4, &misc, sizeof(misc));
}

static void map_files(struct buf *b, const struct survey_task *t)
{
	for (size_t i = 0; i < nr_files; i++) {
		struct proc_mapping m = files[i].mapping;

		m.start += slide(t->pid);
		m.end += slide(t->pid);
		m.name_len = strlen(m.name);
		survey_record_mmap2(b, t, &m, &files[i].id);
	}
}

static void add_comm(struct buf *b, const struct survey_task *t, const char *what, uint64_t nr)
{
	char name[32];

	snprintf(name, sizeof(name), "%s-%" PRIu64, what, nr);
	survey_record_comm(b, t, name, strlen(name));
}

/* Those that were there at the start, with two threads more. */
static void add_processes(struct buf *b)
{
	for (uint64_t i = 0; i < args.processes; i++) {
		uint32_t pid = pid_of(i);

		for (uint32_t k = 0; k < 3; k++) {
			const struct survey_task t = {pid, pid + k, START_NS / 2};

			survey_record_fork(b, &t, k ? pid : 1, k ? pid : 1);
			add_comm(b, &t, k ? "thread" : "worker", k ? k : i);
			if (!k)
				map_files(b, &t);
		}
	}
}

/* One that comes, becomes another program, and goes. */
static void add_child(struct buf *b, uint64_t i, uint64_t time_ns)
{
	struct survey_task t = {2000000 + (uint32_t)i, 2000000 + (uint32_t)i, time_ns};
	size_t at;

	survey_record_fork(b, &t, pid_of(0), pid_of(0));
	t.time_ns += PERIOD_NS;
	at = b->len;
	add_comm(b, &t, "child", i);
	set_head(b, at, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	map_files(b, &t);
	t.time_ns += 100 * PERIOD_NS;
	at = b->len;
	survey_record_fork(b, &t, pid_of(0), pid_of(0));
	set_head(b, at, PERF_RECORD_EXIT, 0);
}

/* In lines of /proc/kallsyms, some pieces of them. */
static void add_symbols(struct trace_file *f)
{
	struct buf text;

	buf_init(&text, LINES_BYTES + 256);
	for (uint64_t i = 0; i < NR_SYMBOLS; i++) {
		buf_printf(&text, "%016" PRIx64 " %c kernel_function_%" PRIu64 "\n",
			   kernel_text + i * SYMBOL_BYTES, i % 3 ? 't' : 'T', i);
		if (text.len < LINES_BYTES && i + 1 < NR_SYMBOLS)
			continue;
		trace_writer_kallsyms(writer, text.data, text.len);
		append(f);
		buf_reset(&text);
	}
	buf_fini(&text);
}

static struct trace_file *begin_common(void)
{
	struct trace_head head = {
	    .iteration = TRACE_COMMON, .trace = TRACE_COMMON, .cpu = UINT32_MAX};
	struct trace_file *f;
	struct buf b;

	fill_head(&head);
	f = create(&head, "common");
	buf_init(&b, MAX_MADE_BYTES);
	add_processes(&b);
	trace_writer_records(writer, TRACE_RING_MADE, UINT32_MAX, b.data, b.len);
	append(f);
	add_symbols(f);
	buf_fini(&b);
	return f;
}

static void make_common(uint64_t end_ns)
{
	uint64_t nr_children = args.samples / CHILD_EVERY;
	struct trace_file *f = begin_common();
	struct buf b;

	buf_init(&b, MAX_MADE_BYTES);
	for (uint64_t i = 0; i < nr_children; i++) {
		buf_reset(&b);
		add_child(&b, i, START_NS + i * ((end_ns - START_NS) / nr_children));
		trace_writer_records(writer, TRACE_RING_SIDE_BAND, (uint32_t)(i % args.cpus),
				     b.data, b.len);
		append(f);
	}
	finish(f, START_NS, end_ns);
	buf_fini(&b);
}

static void set_common(uint64_t lasts_ns)
{
	struct utsname u;
	char spec[512];
	const struct trace_event event = {
	    .id = 5 << 11 | 1,
	    .kind = EVENT_COUNT,
	    .scope = EVENT_SCOPE_CPU,
	    .flags = 32,
	    .rate = PERIOD_NS,
	    .state = READING_OK,
	    .group = "software",
	    .name = "cpu_clock",
	    .label = "cpu_clock",
	    .unit = "ns",
	    .source = "PERF_COUNT_SW_CPU_CLOCK",
	    .attr = &attr,
	    .attr_bytes = sizeof(attr),
	};
	struct trace_info info = {.tool = "make_session",
				  .cpu_model = "none",
				  .config_name = "synthetic",
				  .spec_json = spec,
				  .duration_ns = lasts_ns,
				  .num_iterations = args.iterations,
				  .user_hz = 100,
				  .page_bytes = 4096};

	attr = (struct perf_event_attr){
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attr),
	    .sample_period = PERIOD_NS,
	    .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
	    .sample_id_all = 1,
	};
	uname(&u);
	info.kernel = u.release;
	snprintf(spec, sizeof(spec),
		 "{\"config_name\":\"synthetic\",\"events\":[{\"group_name\":\"software\","
		 "\"event_name\":\"cpu_clock\",\"rate\":%d,\"flags\":[\"callchain\"]}]}",
		 PERIOD_NS);
	check(trace_writer_set_common(writer, &info, &event, 1), "events");
}

static void make_manifest(const char *path, uint64_t nr_iterations, bool is_recording)
{
	char id[2 * sizeof(((struct trace_head *)0)->session_id) + 1];
	struct trace_head head = {0};
	struct cpsession s;
	struct buf text;
	FILE *f;

	fill_head(&head);
	for (size_t i = 0; i < sizeof(head.session_id); i++)
		snprintf(id + 2 * i, 3, "%02x", head.session_id[i]);
	cpsession_init(&s);
	s.config_name = "synthetic";
	s.num_iterations = nr_iterations;
	s.session_id = id;
	s.state = is_recording ? CPSESSION_RECORDING : "";
	s.num_traces = args.cpus;
	s.output_path_prefix = prefix;
	buf_init(&text, 65536);
	cpsession_to_json(&s, &text);
	f = fopen(path, "we");
	if (!f || fputs(buf_str(&text), f) < 0 || fclose(f))
		die(path, strerror(errno));
	buf_fini(&text);
	cpsession_fini(&s);
}

static void make_session(const char *path)
{
	uint64_t each = args.samples / args.cpus / args.iterations, start_ns = START_NS;
	uint64_t lasts_ns = (each + 1) * PERIOD_NS;
	char manifest[4200];

	set_common(lasts_ns);
	for (uint32_t i = 0; i < args.iterations; i++, start_ns += lasts_ns)
		for (uint32_t t = 0; t < args.cpus; t++)
			make_trace(i, t, start_ns, start_ns + lasts_ns, each);
	make_common(start_ns);
	snprintf(manifest, sizeof(manifest), "%s.cpsession", path);
	make_manifest(manifest, args.iterations, false);
}

/* --- a session in progress ----------------------------------------------------------------------
 */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void wait_until(uint64_t at_ns)
{
	const struct timespec t = {(time_t)(at_ns / NS_PER_S), (long)(at_ns % NS_PER_S)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* The frames of a trace, and its file. */
static struct growing {
	struct buf frame[FRAMES];
	struct trace_file *file;
} * growing;

/* With times from 0 on. */
static void make_frames(void)
{
	growing = calloc(args.cpus, sizeof(*growing));
	if (!growing)
		die("frames", strerror(ENOMEM));
	for (uint32_t t = 0; t < args.cpus; t++) {
		uint64_t state = args.seed + t + 1;
		uint64_t each = NS_PER_S / PERIOD_NS / FRAMES;

		for (uint64_t i = 0; i < FRAMES * each; i++) {
			struct buf *b = &growing[t].frame[i / each];

			if (!b->max_bytes)
				buf_init(b, 1 << 20);
			add_sample(b, &state, i * PERIOD_NS + t * 31);
		}
	}
}

/* The time stands behind header and task. */
static void move_frame(struct buf *b, uint64_t by_ns)
{
	enum { TIME_AT = 16, SIZE_AT = 6 };
	uint64_t time_ns;
	uint16_t size;

	for (size_t at = 0; at < b->len; at += size) {
		memcpy(&time_ns, b->data + at + TIME_AT, sizeof(time_ns));
		time_ns += by_ns;
		memcpy(b->data + at + TIME_AT, &time_ns, sizeof(time_ns));
		memcpy(&size, b->data + at + SIZE_AT, sizeof(size));
	}
}

static void put_frame(uint32_t t, struct buf *b)
{
	const struct trace_span span = {.part = {b->data}, .len = {b->len}};
	struct err e = {0};

	if (trace_file_records(growing[t].file, TRACE_RING_SAMPLES, t, &span, &e))
		die(e.source, e.msg);
}

/* Of all CPUs; returns how late the last frame was. */
static uint64_t grow_iteration(uint32_t iteration, uint64_t start_ns, uint64_t by_ns)
{
	uint64_t late_ns = 0;

	for (uint32_t t = 0; t < args.cpus; t++)
		growing[t].file = begin_trace(iteration, t, start_ns);
	for (size_t k = 0; k < FRAMES; k++) {
		uint64_t due_ns = start_ns + (k + 1) * NS_PER_S / FRAMES;

		wait_until(due_ns);
		for (uint32_t t = 0; t < args.cpus; t++) {
			move_frame(&growing[t].frame[k], by_ns);
			put_frame(t, &growing[t].frame[k]);
		}
		late_ns = now_ns() - due_ns;
	}
	for (uint32_t t = 0; t < args.cpus; t++)
		end_trace(growing[t].file, start_ns, start_ns + NS_PER_S, NS_PER_S / PERIOD_NS);
	return late_ns;
}

static void run_session(const char *path)
{
	const uint64_t first_ns = now_ns();
	struct trace_file *common;
	char manifest[4200], lock[4300];
	int fd;

	snprintf(manifest, sizeof(manifest), "%s.cpsession", path);
	snprintf(lock, sizeof(lock), "%s" CPSESSION_LOCK, manifest);
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX))
		die(lock, strerror(errno));
	set_common(NS_PER_S);
	make_frames();
	common = begin_common();
	make_manifest(manifest, 0, true);
	for (uint32_t i = 0; i < args.live; i++) {
		const uint64_t start_ns = first_ns + (1 + (uint64_t)i) * NS_PER_S;
		const uint64_t late_ns = grow_iteration(i, start_ns, i ? NS_PER_S : start_ns);

		printf("%" PRIu64 "\n", late_ns / 1000000);
		fflush(stdout);
		make_manifest(manifest, i + 1, true);
	}
	finish(common, first_ns, now_ns());
	make_manifest(manifest, args.live, false);
	unlink(lock);
	close(fd);
}

static uint64_t number(const char *text, uint64_t least, uint64_t most)
{
	char *end;
	uint64_t v = strtoull(text, &end, 10);

	if (*end || end == text || v < least || v > most)
		die(text, "no such number");
	return v;
}

static void depths(char *text)
{
	char *dash = strchr(text, '-');

	if (!dash)
		die(text, "not LEAST-MOST");
	*dash = '\0';
	args.least = number(text, 1, MAX_DEPTH);
	args.most = number(dash + 1, args.least, MAX_DEPTH);
}

static void take_option(int option)
{
	static const struct {
		char option;
		uint64_t *to, least, most;
	} rows[] = {
	    {'n', &args.samples, 1, 1ull << 40}, {'i', &args.iterations, 1, 10000},
	    {'c', &args.cpus, 1, 4096},          {'p', &args.processes, 1, 60000},
	    {'f', &args.places, 1, 1 << 24},     {'z', &args.level, 0, 19},
	    {'s', &args.seed, 0, UINT64_MAX},    {'l', &args.live, 0, 100000},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].option == option)
			*rows[i].to = number(optarg, rows[i].least, rows[i].most);
	if (option == 'd')
		depths(optarg);
	if (option == '?')
		exit(2);
}

int main(int argc, char **argv)
{
	const char *slash;
	int option;

	while ((option = getopt(argc, argv, "n:i:c:p:d:f:z:s:l:")) != -1)
		take_option(option);
	if (optind != argc - 1)
		die("usage", "make_session [OPTIONS] PREFIX");
	slash = strrchr(argv[optind], '/');
	snprintf(prefix_folder, sizeof(prefix_folder), "%.*s",
		 slash ? (int)(slash - argv[optind] + 1) : 1, slash ? argv[optind] : ".");
	prefix = slash ? slash + 1 : argv[optind];
	folder_fd = open(prefix_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder_fd < 0)
		die(prefix_folder, strerror(errno));
	writer = trace_writer_new();
	packer = args.level ? trace_packer_new((int)args.level) : NULL;
	find_files();
	grow_places();
	if (args.live)
		run_session(argv[optind]);
	else
		make_session(argv[optind]);
	trace_packer_free(packer);
	trace_writer_free(writer);
	free(places);
	return 0;
}
