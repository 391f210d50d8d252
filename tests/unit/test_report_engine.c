/*
 * The engine: sessions made by chance (the same in each run) of several traces, tasks that are
 * forked, exec and map anew, with stacks in the kernel and in programs, and what must come of them:
 * summed sample by sample, with mappings and names of tasks as the test knows them. With one thread
 * and with several, with more stacks than are remembered, filtered, damaged, without memory.
 */
#include "kit.h"
#include "test_processes.h"
#include "test_report.h"

#include "base/dict.h"
#include "elf/finder.h"
#include "profile/filter.h"
#include "profile/samples.h"
#include "report/branches.h"
#include "report/engine.h"
#include "report/flat.h"
#include "report/rows.h"
#include "report/stacks.h"
#include "report/tree.h"
#include "symbol/symbols.h"

enum {
	NR_EVENTS = 4,
	NR_TRACES = 4,
	NR_ITERATIONS = 2,
	NR_FILES = NR_TRACES * NR_ITERATIONS,
	MAX_DEPTH = 6,
	MAX_BYTES = 256 << 20,
	NR_KERNEL = 64,
	START_NS = 1000000,
	SPAN_NS = 1000,
	SLICE_NS = 70,
};
static const uint64_t kernel = 0xffffffff81000000;

/* The events: with stacks; with stacks, periods, and in a group; addresses alone; branches. */
enum { CLOCK, CYCLES, FAULTS, BRANCHES };
static uint8_t attrs[NR_EVENTS][ATTR_BYTES];
static struct trace_event events[NR_EVENTS] = {
    {.id = 5 << 11 | 1, .group = "software", .name = "cpu_clock", .rate = 1000},
    {.id = 5 << 11 | 2, .group = "fixed", .name = "cycles", .frequency = 99},
    {.id = 5 << 11 | 3, .group = "software", .name = "page_faults", .rate = 500},
    {.id = 5 << 11 | 4, .group = "arch", .name = "branches", .rate = 1},
};
static const struct trace_id ids[] = {{.id = 100, .event = CLOCK},
				      {.id = 200, .event = CYCLES},
				      {.id = 300, .event = FAULTS},
				      {.id = 400, .event = BRANCHES}};

HOOK(before_all)
{
	enum { ALL = S_IDENTIFIER | S_TID | S_TIME };
	static const struct attr of[NR_EVENTS] = {
	    {.period = 1000,
	     .sample_type = ALL | S_STREAM_ID | S_CALLCHAIN,
	     .bits = ATTR_SAMPLE_ID_ALL | ATTR_INHERIT},
	    {.period = 99,
	     .sample_type = ALL | S_PERIOD | S_READ | S_CALLCHAIN,
	     .read_format = F_GROUP | F_ID,
	     .bits = ATTR_SAMPLE_ID_ALL | ATTR_FREQ},
	    {.period = 500, .sample_type = ALL | S_IP, .bits = ATTR_SAMPLE_ID_ALL},
	    {.period = 1, .sample_type = ALL | S_BRANCH_STACK, .bits = ATTR_SAMPLE_ID_ALL},
	};

	for (size_t i = 0; i < NR_EVENTS; i++) {
		attr_bytes(&of[i], attrs[i]);
		events[i].kind = EVENT_COUNT;
		events[i].state = READING_OK;
		events[i].label = events[i].name;
		events[i].attr = attrs[i];
		events[i].attr_bytes = ATTR_BYTES;
	}
}

/* Who was there: 7 has /bin/one, and maps /bin/two over a part of it; 8 is its child, and goes on
 * as /bin/three; 7 has another thread; of 9 nothing is known. */
enum { REMAP_NS = START_NS + 300, FORK_NS = START_NS + 100, EXEC_NS = START_NS + 600 };
static const struct step steps[] = {
    {.op = EXEC, .time_ns = 10, .pid = 7, .tid = 7, .text = "one"},
    {.op = MAP,
     .time_ns = 11,
     .pid = 7,
     .tid = 7,
     .start = 0x10000,
     .end = 0x20000,
     .text = "/bin/one",
     .build_id = 1},
    {.op = FORK, .time_ns = 20, .pid = 7, .tid = 70, .ppid = 7, .ptid = 7},
    {.op = COMM, .time_ns = 21, .pid = 7, .tid = 70, .text = "a \"thread\", of\n7"},
    {.op = FORK, .time_ns = FORK_NS, .pid = 8, .tid = 8, .ppid = 7, .ptid = 7},
    {.op = MAP,
     .time_ns = REMAP_NS,
     .pid = 7,
     .tid = 7,
     .start = 0x14000,
     .end = 0x18000,
     .offset = 0x1000,
     .text = "/bin/two",
     .build_id = 2},
    {.op = EXEC, .time_ns = EXEC_NS, .pid = 8, .tid = 8, .text = "three"},
    {.op = MAP,
     .time_ns = EXEC_NS,
     .pid = 8,
     .tid = 8,
     .start = 0x10000,
     .end = 0x20000,
     .offset = 0x3000,
     .text = "/bin/three",
     .build_id = 3},
};

struct known_mapping {
	const char *path;
	uint64_t offset;
};

/* What the test knows of an address. */
static struct known_mapping mapping_of(uint32_t pid, uint64_t address, uint64_t time_ns)
{
	static const struct known_mapping one = {"/bin/one", 0}, two = {"/bin/two", 0x1000},
					  three = {"/bin/three", 0x3000}, none = {NULL, 0};

	if (pid == 8 && time_ns >= FORK_NS)
		return time_ns >= EXEC_NS ? three : one;
	if (pid != 7)
		return none;
	return time_ns >= REMAP_NS && address >= 0x14000 && address < 0x18000 ? two : one;
}

static const char *comm_of(uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	if (pid == 8 && time_ns >= FORK_NS)
		return time_ns >= EXEC_NS ? "three" : "one";
	if (pid == 7)
		return tid == 70 ? "a \"thread\", of?7" : "one";
	return pid == 0 ? "swapper" : "[unknown]";
}

/* All of them: numbered before a run, during which numbers are not asked for. */
static const char *const comms[] = {"",      "one",     "a \"thread\", of?7",
				    "three", "swapper", "[unknown]"};

/* A sample, by the addresses that are looked up, or the branches as pairs of them. */
struct sample {
	uint32_t file, event, pid, tid;
	uint64_t time_ns, weight;
	uint64_t address[MAX_DEPTH];
	uint32_t nr, nr_kernel;
	uint8_t branch[MAX_DEPTH / 2], cycles[MAX_DEPTH / 2];
};

static uint32_t iteration_of(uint32_t file)
{
	return file / NR_TRACES;
}

static uint32_t cpu_of(uint32_t file)
{
	return 3 + file % NR_TRACES;
}

/* spread: of the programs' addresses; with few of them the same stacks come again. */
static struct sample random_sample(uint64_t *random, uint32_t spread)
{
	static const uint32_t tasks[][2] = {{7, 7}, {7, 70}, {8, 8}, {9, 9}, {0, 0}};
	const uint32_t *task = tasks[test_random(random, 5)];
	struct sample s = {.file = test_random(random, NR_FILES),
			   .event = test_random(random, NR_EVENTS),
			   .pid = task[0],
			   .tid = task[1],
			   .time_ns = START_NS + test_random(random, SPAN_NS)};

	s.nr = s.event == FAULTS     ? 1
	       : s.event == BRANCHES ? 2 * test_random(random, 1 + MAX_DEPTH / 2)
				     : test_random(random, 1 + MAX_DEPTH);
	s.nr_kernel = s.pid ? test_random(random, s.nr + 1) : s.nr;
	if (s.event == BRANCHES)
		s.nr_kernel = 0;
	s.weight = s.event == CLOCK    ? 1000
		   : s.event == CYCLES ? 1 + test_random(random, 1000)
		   : s.event == FAULTS ? 500
				       : 1;
	for (uint32_t i = 0; i < s.nr; i++) {
		bool in_kernel =
		    s.event == BRANCHES ? test_random(random, 3) == 0 : i < s.nr_kernel;

		s.address[i] = in_kernel ? kernel + 16 * test_random(random, NR_KERNEL) + 3
					 : 0x10000 + 0x10000 / spread * test_random(random, spread);
		s.branch[i / 2] = (uint8_t)(REPORT_PREDICTED + test_random(random, 3));
		s.cycles[i / 2] = (uint8_t)test_random(random, 100);
	}
	return s;
}

/* Its bytes: a mark before each part, return addresses one behind what is looked up. */
static void put_chain(struct buf *b, const struct sample *s)
{
	uint32_t nr_user = s->nr - s->nr_kernel;

	buf_le64(b, s->nr + (s->nr_kernel != 0) + (nr_user != 0));
	for (uint32_t i = 0; i < s->nr; i++) {
		if (i == 0 && s->nr_kernel)
			buf_le64(b, (uint64_t)-128);
		if (i == s->nr_kernel)
			buf_le64(b, (uint64_t)-512);
		buf_le64(b, s->address[i] + (i != 0 && i != s->nr_kernel));
	}
}

static void put_branches(struct buf *b, const struct sample *s)
{
	buf_le64(b, s->nr / 2);
	for (uint32_t i = 0; i < s->nr / 2; i++) {
		buf_le64(b, s->address[2 * i]);
		buf_le64(b, s->address[2 * i + 1]);
		buf_le64(b, (s->branch[i] == REPORT_MISPREDICTED) |
				(s->branch[i] == REPORT_PREDICTED) << 1 |
				(uint64_t)s->cycles[i] << 4);
	}
}

static uint64_t stream; /* of samples of the clock; 0: not known */

static void put_sample(struct buf *b, const struct sample *s)
{
	size_t at = record_begin(b, PERF_RECORD_SAMPLE,
				 s->nr_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);

	buf_le64(b, ids[s->event].id);
	if (s->event == FAULTS)
		buf_le64(b, s->address[0]);
	record_id(b, s->pid, s->tid, s->time_ns);
	if (s->event == CLOCK)
		buf_le64(b, stream);
	if (s->event == CYCLES) {
		buf_le64(b, s->weight);
		buf_le64(b, 2);
		for (uint64_t i = 0; i < 4; i++)
			buf_le64(b, 1000 + i);
	}
	if (s->event == CLOCK || s->event == CYCLES)
		put_chain(b, s);
	if (s->event == BRANCHES)
		put_branches(b, s);
	record_end(b, at);
}

static struct root folder;
static int folder_fd;

/* What each trace says of its samples: of CYCLES four in five came, of FAULTS all. */
static bool has_counts;
enum { NR_LOST = 3 };

static void put_counts(struct trace_writer *w)
{
	static const struct trace_sampled of[] = {
	    {.event = CYCLES, .samples = 100, .weight = 800000, .lost = 25, .throttled = 2},
	    {.event = FAULTS, .samples = 100, .weight = 50000}};
	static const struct trace_sampling sampling = {
	    .idle_ns = UINT64_MAX, .lost = NR_LOST, .item = of, .nr = NR(of)};
	struct reading r[] = {
	    {.event = CYCLES, .state = READING_OK, .time_ns = START_NS, .raw = 7},
	    {.event = FAULTS, .state = READING_OK, .time_ns = START_NS, .raw = 9},
	};

	trace_writer_readings(w, TRACE_START, r, NR(r));
	for (size_t i = 0; i < NR(r); i++) {
		r[i].time_ns += SPAN_NS;
		r[i].enabled_ns = r[i].running_ns = SPAN_NS;
		r[i].raw += i ? 50100 : 1000000;
	}
	trace_writer_readings(w, TRACE_END, r, NR(r));
	trace_writer_sampling(w, &sampling);
}

static void commit(const struct trace_head *head, const char *name, uint16_t ring,
		   const struct buf *records, const char *kallsyms)
{
	static const struct trace_info info = {.tool = "t"};
	const struct trace_totals totals = {.start_ns = START_NS, .end_ns = START_NS + SPAN_NS};
	struct trace_writer *w = trace_writer_new();
	struct err e = {0};

	assert_non_null(w);
	assert_int_equal(trace_writer_set_common(w, &info, events, NR_EVENTS), 0);
	assert_int_equal(trace_writer_begin(w, head), 0);
	if (ring == TRACE_RING_SAMPLES)
		trace_writer_ids(w, ids, NR(ids));
	if (kallsyms)
		trace_writer_kallsyms(w, kallsyms, strlen(kallsyms));
	trace_writer_records(w, ring, head->cpu, records->data, records->len);
	if (ring == TRACE_RING_SAMPLES && has_counts)
		put_counts(w);
	if (trace_writer_commit(w, folder_fd, name, name, &totals, &e))
		fail_msg("%s: %s", name, e.msg);
	trace_writer_free(w);
}

/* What the common file tells. */
static void write_common(const struct step *told, size_t nr)
{
	const struct trace_head head = {.iteration = TRACE_COMMON,
					.trace = TRACE_COMMON,
					.nr_traces = NR_TRACES,
					.machine = "x86_64"};
	struct tape t;
	struct buf records;

	tape_init(&t);
	buf_init(&records, MAX_BYTES);
	for (size_t i = 0; i < nr; i++) {
		tape_add(&t, &told[i]);
		if (i + 1 < nr && t.records[0].len < 1 << 19)
			continue;
		buf_add(&records, t.records[0].data + 8, t.records[0].len - 8);
		buf_reset(&t.records[0]);
		buf_fill(&t.records[0], 0, 8);
	}
	commit(&head, "s.common.cpuperf", TRACE_RING_SIDE_BAND, &records, NULL);
	buf_fini(&records);
	tape_fini(&t);
}

static void write_session_of(const struct step *told, size_t nr_told, const struct sample *samples,
			     size_t nr)
{
	folder = tree_make();
	folder_fd = open(folder.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder_fd >= 0);
	for (uint32_t file = 0; file < NR_FILES; file++) {
		const struct trace_head head = {.iteration = iteration_of(file),
						.trace = file % NR_TRACES,
						.cpu = cpu_of(file),
						.nr_traces = NR_TRACES,
						.machine = "x86_64"};
		char name[64];
		struct buf b;

		buf_init(&b, MAX_BYTES);
		for (size_t i = 0; i < nr; i++)
			if (samples[i].file == file)
				put_sample(&b, &samples[i]);
		snprintf(name, sizeof(name), "s.%u.%u.cpuperf", head.iteration, head.trace);
		commit(&head, name, TRACE_RING_SAMPLES, &b, NULL);
		buf_fini(&b);
	}
	write_common(told, nr_told);
}

static void write_session(const struct sample *samples, size_t nr)
{
	write_session_of(steps, NR(steps), samples, nr);
}

static void remove_session(void)
{
	close(folder_fd);
	tree_remove(&folder);
}

/* Sums by text. */
struct item {
	const char *text;
	struct report_weight weight;
};

struct bag {
	struct dict items; /* struct item */
};

static void bag_add(struct bag *b, const char *text, const struct report_weight *w)
{
	struct item *item;

	if (!b->items.nr)
		dict_init_texts(&b->items, sizeof(*item), DICT_MAX, 1 << 30);
	item = dict_get(&b->items, text);
	assert_non_null(item);
	report_weight_add(&item->weight, w);
}

static void bag_fini(struct bag *b)
{
	dict_fini(&b->items);
}

static void assert_same(const struct bag *got, const struct bag *want)
{
	for (uint32_t i = 0; i < got->items.nr; i++) {
		const struct item *a = dict_at(&got->items, i);
		const struct item *b = dict_at(&want->items, dict_find(&want->items, a->text));

		if (!b)
			fail_msg("too many: %s", a->text);
		if (a->weight.samples != b->weight.samples ||
		    a->weight.weight != b->weight.weight || a->weight.squares != b->weight.squares)
			fail_msg("%s: %llu samples, not %llu", a->text,
				 (unsigned long long)a->weight.samples,
				 (unsigned long long)b->weight.samples);
	}
	assert_int_equal(got->items.nr, want->items.nr);
}

/* A session opened for reading. */
struct world {
	struct report_input input;
	struct profile_processes *processes;
	struct report_functions *functions;
	atomic_int nr_in_problem;
	size_t nr_losses;
	/* what the sink does */
	struct bag *bag;
	struct report_stacks *stacks; /* of samples one by one */
	size_t nr_given, fail_at;
	bool has_failed;
	size_t nr_after; /* calls since then */
};

static void take_problem(void *arg, bool is_loss, const struct err *e)
{
	struct world *w = arg;

	(void)e;
	if (!w)
		return;
	assert_int_equal(atomic_fetch_add(&w->nr_in_problem, 1), 0);
	w->nr_losses += is_loss;
	w->nr_in_problem--;
}

static void pass_by(void *arg, const struct err *e)
{
	(void)arg;
	(void)e;
}

static void world_close(struct world *w)
{
	report_functions_free(w->functions);
	symbols_free(w->input.symbols);
	elf_finder_free(w->input.finder);
	profile_processes_free(w->processes);
	profile_session_close(w->input.session);
}

static int add_kallsyms(struct symbols *s)
{
	char text[NR_KERNEL * 64];
	size_t at = 0;

	for (unsigned i = 0; i < NR_KERNEL; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%llx t kernel_%u\n",
				       (unsigned long long)kernel + 16 * i, i);
	return symbols_add_kallsyms(s, text, at);
}

static int world_open(struct world *w, const struct report_rules *rules)
{
	static char path[512];
	const struct profile_manifest m = {path, "s", NR_ITERATIONS, NR_TRACES};
	const struct elf_finder_config finder = {.sysroot = folder.dir, .problem = pass_by};
	struct symbols_config symbols = {.problem = pass_by, .with_inlined = true};
	int rc;

	*w = (struct world){.input.start_ns = START_NS};
	snprintf(path, sizeof(path), "%s/s.cpsession", folder.dir);
	rc = profile_session_open(&m, take_problem, w, &w->input.session, NULL);
	if (rc == 0)
		rc = profile_processes_load(w->input.session, NULL, NULL, &w->processes);
	w->input.processes = symbols.processes = w->processes;
	if (rc == 0)
		rc = elf_finder_new(&finder, &w->input.finder);
	symbols.finder = w->input.finder;
	if (rc == 0)
		rc = symbols_new(&symbols, &w->input.symbols);
	if (rc == 0)
		rc = add_kallsyms(w->input.symbols);
	if (rc == 0)
		w->functions = report_functions_new(rules);
	return rc == 0 && !w->functions ? -ENOMEM : rc;
}

static int write_key(char *text, size_t room, const struct report_key *k, const char *comm)
{
	return snprintf(text, room, "%u %u %u %u %u %u %u %u %s:", k->event, k->session,
			k->iteration, k->cpu, k->pid, k->tid, k->branch, k->slice, comm);
}

static int write_frame(char *text, size_t room, const struct report_frame *f)
{
	return snprintf(text, room, " %s(%s)%s+%llx", f->function->name, f->function->object,
			f->object ? f->object->path : "", (unsigned long long)f->address);
}

/* Into the bag. */
static int take_entry(void *arg, const struct report_entry *e)
{
	struct world *w = arg;
	char text[2048];
	int at = write_key(text, sizeof(text), &e->key, w->bag ? comms[e->key.comm] : "");

	w->nr_after += w->has_failed;
	if (++w->nr_given == w->fail_at) {
		w->has_failed = true;
		return -EDOM;
	}
	if (!w->bag)
		return 0;
	for (size_t i = 0; i < e->nr_frames; i++)
		at += write_frame(text + at, sizeof(text) - (size_t)at, &e->frames[i]);
	bag_add(w->bag, text, &e->weight);
	return 0;
}

/* The same of samples one by one: their stacks are told by numbers. */
static int take_samples(void *arg, const struct report_sample *samples, size_t nr)
{
	struct world *w = arg;
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++) {
		const struct report_sample *s = &samples[i];
		struct report_frame frames[MAX_DEPTH];
		struct report_entry e = {
		    .key = s->key,
		    .weight = {1, s->weight, 1, (double)s->weight * (double)s->unit},
		    .frames = frames};

		for (uint32_t at = s->stack; at; at = report_stacks_at(w->stacks, at)->parent) {
			const struct report_stack_node *n = report_stacks_at(w->stacks, at);

			assert_true(n->parent < at);
			assert_int_equal(n->depth,
					 report_stacks_at(w->stacks, n->parent)->depth + 1);
			frames[e.nr_frames++] = n->frame;
		}
		assert_true(s->time_ns >= START_NS && s->time_ns < START_NS + SPAN_NS);
		if (s->key.slice)
			assert_int_equal(s->key.slice, (s->time_ns - START_NS) / SLICE_NS);
		rc = take_entry(arg, &e);
	}
	return rc;
}

static struct report_event_stats *event_stats; /* of the last run */
static struct report_stats last;
static atomic_uint cancel;

HOOK(after_each)
{
	report_stats_fini(&last);
}

static bool without_idle;

static int run(struct world *w, const struct profile_filter *filter, const struct report_sink *sink,
	       unsigned nr_threads, bool with_inlined, struct report_stats *stats)
{
	const struct report_run r = {.filter = filter,
				     .functions = w->functions,
				     .sink = sink,
				     .nr_threads = nr_threads,
				     .with_inlined = with_inlined,
				     .without_idle = without_idle,
				     .problem = take_problem,
				     .arg = w,
				     .cancel = &cancel};
	int rc;

	report_stats_fini(&last);
	rc = report_stats_init(stats, NR_EVENTS);
	rc = rc ? rc : report_engine_read(&r, &w->input, stats);
	last = *stats;
	event_stats = last.event;
	return rc;
}

/* What must come of the samples. */
static const struct profile_object *object_of(const struct world *w, const char *path)
{
	for (uint32_t i = 0; i < profile_nr_objects(w->processes); i++)
		if (strcmp(profile_object(w->processes, i)->path, path) == 0)
			return profile_object(w->processes, i);
	fail_msg("no object %s", path);
	return NULL;
}

static const struct symbol_function *function_at(const struct world *w, const struct sample *s,
						 uint64_t address)
{
	struct known_mapping known = mapping_of(s->pid, address, s->time_ns);
	struct profile_mapping m = {.start = 0x10000, .end = 0x20000, .pid = s->pid};

	if (address >= kernel)
		return symbols_kernel(w->input.symbols, address, s->time_ns);
	if (!known.path)
		return symbols_user(w->input.symbols, NULL, address, 1);
	m.object = object_of(w, known.path);
	m.start = strcmp(known.path, "/bin/two") == 0 ? 0x14000 : 0x10000;
	m.offset = known.offset;
	return symbols_user(w->input.symbols, &m, address, 1);
}

/* Where the code is, by the test's own knowledge. */
static struct report_frame frame_at(const struct world *w, const struct sample *s, unsigned parts,
				    uint64_t address)
{
	struct known_mapping known = mapping_of(s->pid, address, s->time_ns);
	struct report_frame f = {.function = NULL};

	if (!(parts & REPORT_BY_ADDRESS))
		return f;
	f.address = address;
	if (address >= kernel || !known.path || address < 0x10000 || address >= 0x20000)
		return f;
	f.object = object_of(w, known.path);
	f.address = address - (strcmp(known.path, "/bin/two") == 0 ? 0x14000 : 0x10000);
	f.address += known.offset;
	return f;
}

static void expect_entry(struct world *w, const struct sample *s, const struct report_key *key,
			 unsigned parts, const uint64_t *address, size_t nr, uint64_t weight,
			 struct bag *bag)
{
	const struct report_weight one = {1, weight, 1, (double)weight * (double)weight};
	char text[2048];
	int at = write_key(text, sizeof(text), key,
			   parts & REPORT_BY_COMM ? comm_of(s->pid, s->tid, s->time_ns) : "");

	if (!nr)
		at += snprintf(text + at, sizeof(text) - (size_t)at, " [no address]()+0");
	for (size_t i = 0; i < nr; i++) {
		const struct symbol_function *f = function_at(w, s, address[i]);
		const struct report_function function = {.name = f->name, .object = f->object};
		struct report_frame frame = frame_at(w, s, parts, address[i]);

		frame.function = &function;
		at += write_frame(text + at, sizeof(text) - (size_t)at, &frame);
	}
	bag_add(bag, text, &one);
}

typedef bool wanted_fn(const struct sample *s);

static uint32_t thread_of(const struct sample *s)
{
	return !s->pid ? TRACE_UNKNOWN : s->tid == 70 ? 2 : 1;
}

static void expect(struct world *w, const struct sample *samples, size_t nr, unsigned parts,
		   wanted_fn *is_wanted, struct bag *bag)
{
	for (size_t i = 0; i < nr; i++) {
		const struct sample *s = &samples[i];
		struct report_key key = {
		    .event = s->event,
		    .session = parts & REPORT_BY_SESSION ? w->input.number : 0,
		    .iteration = parts & REPORT_BY_ITERATION ? iteration_of(s->file) : 0,
		    .cpu = parts & REPORT_BY_CPU ? cpu_of(s->file) : 0,
		    .pid = parts & REPORT_BY_PID ? s->pid : 0,
		    .tid = parts & REPORT_BY_TID ? s->tid : 0,
		    .thread = parts & REPORT_BY_TID ? thread_of(s) : 0,
		    .slice = parts & REPORT_BY_SLICE && s->time_ns > START_NS
				 ? (uint32_t)((s->time_ns - START_NS) / SLICE_NS)
				 : 0};

		if (is_wanted && !is_wanted(s))
			continue;
		if (!(parts & REPORT_BY_BRANCH)) {
			uint32_t most = parts & REPORT_BY_STACK ? MAX_DEPTH : 1;

			expect_entry(w, s, &key, parts, s->address,
				     s->event == BRANCHES ? 0
				     : s->nr < most       ? s->nr
							  : most,
				     s->weight, bag);
			continue;
		}
		for (uint32_t b = 0; s->event == BRANCHES && b < s->nr / 2; b++) {
			key.branch = s->branch[b];
			expect_entry(w, s, &key, parts, &s->address[2 * b], 2, s->cycles[b], bag);
		}
	}
}

static struct sample *make_samples(uint64_t seed, size_t nr, uint32_t spread)
{
	struct sample *s = calloc(nr + 1, sizeof(*s));
	uint64_t random = seed;

	assert_non_null(s);
	for (size_t i = 0; i < nr; i++)
		s[i] = random_sample(&random, spread);
	return s;
}

static void compare_as(bool as_singles, const struct sample *samples, size_t nr, unsigned parts,
		       const struct profile_filter *filter, wanted_fn *is_wanted)
{
	static const struct profile_filter all;
	static const unsigned threads[] = {1, 4, 0};

	for (size_t i = as_singles ? 1 : 0; i < (as_singles ? 2 : NR(threads)); i++) {
		struct bag got = {.items.nr = 0}, want = {.items.nr = 0};
		struct report_stats stats;
		struct world w;
		struct report_sink sink = {.parts = parts, .slice_ns = SLICE_NS, .arg = &w};
		uint64_t taken = 0, left = 0, summed = 0;

		assert_int_equal(world_open(&w, &test_no_rules), 0);
		if (as_singles) {
			sink.stacks = w.stacks = report_stacks_new();
			sink.samples = take_samples;
		} else {
			sink.entry = take_entry;
		}
		for (uint32_t c = 0; c < NR(comms); c++)
			assert_int_equal(report_functions_text_number(w.functions, comms[c]), c);
		w.bag = &got;
		w.input.number = 5;
		assert_int_equal(run(&w, filter ? filter : &all, &sink, threads[i], false, &stats),
				 0);
		expect(&w, samples, nr, parts, is_wanted, &want);
		assert_same(&got, &want);
		assert_int_equal(w.nr_losses, 0);
		for (size_t e = 0; e < NR_EVENTS; e++) {
			taken += event_stats[e].counted.samples;
			left += event_stats[e].omitted.samples;
		}
		for (uint32_t k = 0; k < got.items.nr; k++)
			summed += ((struct item *)dict_at(&got.items, k))->weight.samples;
		assert_int_equal(taken, summed);
		if (!filter && !(parts & REPORT_BY_BRANCH)) {
			assert_int_equal(taken, nr);
			assert_int_equal(left, 0);
			assert_true(stats.bytes >= nr * 30);
		}
		bag_fini(&got);
		bag_fini(&want);
		report_stacks_free(w.stacks);
		world_close(&w);
	}
}

static void compare(const struct sample *samples, size_t nr, unsigned parts,
		    const struct profile_filter *filter, wanted_fn *is_wanted)
{
	compare_as(false, samples, nr, parts, filter, is_wanted);
	if (parts & REPORT_BY_STACK) /* by four threads */
		compare_as(true, samples, nr, parts, filter, is_wanted);
}

/* Few stacks, which come again; and more than any cache or table has. */
TEST(as_one_by_one)
{
	static const struct {
		size_t nr;
		uint32_t spread;
	} sizes[] = {{0, 1}, {1, 1}, {3000, 8}, {20000, 64}, {90000, 0x8000}};
	static const unsigned parts[] = {
	    0,
	    REPORT_BY_STACK,
	    REPORT_BY_STACK | REPORT_BY_PID | REPORT_BY_CPU | REPORT_BY_SESSION,
	    REPORT_BY_COMM | REPORT_BY_TID | REPORT_BY_ITERATION,
	    REPORT_BY_STACK | REPORT_BY_ADDRESS | REPORT_BY_SLICE,
	    REPORT_BY_BRANCH,
	};

	for (size_t i = 0; i < NR(sizes); i++) {
		struct sample *samples = make_samples(i + 1, sizes[i].nr, sizes[i].spread);

		write_session(samples, sizes[i].nr);
		if (sizes[i].nr > 50000)
			compare(samples, sizes[i].nr, parts[1], NULL, NULL);
		else
			STRIDE_EACH(k, NR(parts), sizes[i].nr < 20000 ? NR(parts) : 1)
				compare(samples, sizes[i].nr, parts[k], NULL, NULL);
		remove_session();
		free(samples);
	}
}

static bool is_7_or_9(const struct sample *s)
{
	return s->pid == 7 || s->pid == 9;
}

static bool is_8_or_70(const struct sample *s)
{
	return s->tid == 8 || s->tid == 70;
}

static bool is_named(const struct sample *s)
{
	const char *comm = comm_of(s->pid, s->tid, s->time_ns);

	return strcmp(comm, "three") == 0 || comm[0] == 'a';
}

static bool is_on_4(const struct sample *s)
{
	return cpu_of(s->file) == 4 || cpu_of(s->file) == 6;
}

static bool is_second(const struct sample *s)
{
	return iteration_of(s->file) == 1;
}

static bool is_between(const struct sample *s)
{
	return s->time_ns >= START_NS + 200 && s->time_ns < START_NS + 500;
}

static bool is_late(const struct sample *s)
{
	return s->time_ns >= START_NS + 1;
}

static bool is_software(const struct sample *s)
{
	return s->event == CLOCK || s->event == FAULTS;
}

static bool is_all_of_these(const struct sample *s)
{
	return is_software(s) && is_between(s) && is_on_4(s) && s->pid == 7;
}

static bool is_7(const struct sample *s)
{
	return s->pid == 7;
}

static bool is_none(const struct sample *s)
{
	(void)s;
	return false;
}

static const struct {
	struct profile_filter filter;
	wanted_fn *is_wanted;
} filters[] = {
    {{.pids = {.item = {{7, 7}, {9, 100}}, .nr = 2}}, is_7_or_9},
    {{.tids = {.item = {{8, 8}, {60, 70}}, .nr = 2}}, is_8_or_70},
    {{.comms = {.item = {"three", "a *"}, .nr = 2}}, is_named},
    {{.cpus = {.item = {{4, 4}, {6, 9}}, .nr = 2}}, is_on_4},
    {{.iterations = {.item = {{1, 1}}, .nr = 1}}, is_second},
    {{.from_ns = 200, .to_ns = 500}, is_between},
    {{.from_ns = 1}, is_late},
    {{.from_ns = (uint64_t)1 << 63}, is_none},
    {{.to_ns = UINT64_MAX, .from_ns = 1}, is_late},
    {{.events = {.item = {"software:*"}, .nr = 1}}, is_software},
    {{.events = {.item = {"nothing"}, .nr = 1}}, is_none},
    {{.events = {.item = {"software:*"}, .nr = 1},
      .from_ns = 200,
      .to_ns = 500,
      .cpus = {.item = {{4, 4}, {6, 9}}, .nr = 2},
      .pids = {.item = {{7, 7}}, .nr = 1}},
     is_all_of_these},
};

TEST(filtered)
{
	enum { NR = 4000 };
	struct sample *samples = make_samples(77, NR, 32);

	write_session(samples, NR);
	STRIDE_EACH(i, NR(filters), 6)
		compare(samples, NR, REPORT_BY_STACK | REPORT_BY_COMM, &filters[i].filter,
			filters[i].is_wanted);
	remove_session();
	free(samples);
}

/* What the filter keeps out is counted as left, of the traces that are read at all. */
TEST(left_out)
{
	enum { NR = 2000 };
	struct sample *samples = make_samples(5, NR, 32);
	const struct profile_filter filter = {.pids = {.item = {{7, 7}}, .nr = 1}};
	struct report_stats stats;
	struct world w;
	const struct report_sink sink = {.parts = REPORT_BY_STACK, .entry = take_entry, .arg = &w};
	struct report_weight taken[NR_EVENTS] = {{0}}, left[NR_EVENTS] = {{0}};

	write_session(samples, NR);
	assert_int_equal(world_open(&w, &test_no_rules), 0);
	assert_int_equal(run(&w, &filter, &sink, 2, false, &stats), 0);
	for (size_t i = 0; i < NR; i++) {
		const double weight = (double)samples[i].weight;
		const struct report_weight one = {1, samples[i].weight, 1, weight * weight};

		report_weight_add(
		    samples[i].pid == 7 ? &taken[samples[i].event] : &left[samples[i].event], &one);
	}
	for (size_t i = 0; i < NR_EVENTS; i++) {
		assert_memory_equal(&event_stats[i].counted, &taken[i],
				    offsetof(struct report_weight, rows));
		assert_memory_equal(&event_stats[i].omitted, &left[i],
				    offsetof(struct report_weight, rows));
		assert_int_equal(event_stats[i].counted.rows.nr, taken[i].samples);
	}
	world_close(&w);
	remove_session();
	free(samples);
}

/* The idle task's samples are no entries, and apart from those that the filter keeps out. */
TEST(idle_apart)
{
	enum { NR = 2000 };
	struct sample *samples = make_samples(5, NR, 32);
	const struct profile_filter filter = {.pids = {.item = {{0, 0}, {7, 7}}, .nr = 2}};
	uint64_t taken[NR_EVENTS] = {0}, left[NR_EVENTS] = {0}, idle[NR_EVENTS] = {0};
	struct bag want = {.items.nr = 0}, got = {.items.nr = 0};
	struct report_stats stats;
	struct world w;
	const struct report_sink sink = {.parts = REPORT_BY_STACK, .entry = take_entry, .arg = &w};

	write_session(samples, NR);
	assert_int_equal(world_open(&w, &test_no_rules), 0);
	w.bag = &got;
	without_idle = true;
	assert_int_equal(run(&w, &filter, &sink, 2, false, &stats), 0);
	without_idle = false;
	expect(&w, samples, NR, REPORT_BY_STACK, is_7, &want);
	assert_same(&got, &want);
	for (size_t i = 0; i < NR; i++)
		*(is_7(&samples[i]) ? &taken[samples[i].event]
		  : !samples[i].pid ? &idle[samples[i].event]
				    : &left[samples[i].event]) += samples[i].weight;
	for (size_t i = 0; i < NR_EVENTS; i++) {
		assert_int_equal(event_stats[i].counted.weight, taken[i]);
		assert_int_equal(event_stats[i].omitted.weight, left[i]);
		assert_int_equal(event_stats[i].idle.weight, idle[i]);
		assert_true(idle[i] && taken[i] && left[i]);
	}
	bag_fini(&want);
	bag_fini(&got);
	world_close(&w);
	remove_session();
	free(samples);
}

/* Of a clock whose samples were selected from those of the CPUs. */
static void set_selected(bool is_selected)
{
	enum { CONFIG1_AT = 56 };
	const uint32_t type = is_selected ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE,
		       config1 = is_selected ? 0x63740000 : 0;

	memcpy(attrs[CLOCK], &type, sizeof(type));
	memcpy(attrs[CLOCK] + CONFIG1_AT, &config1, sizeof(config1));
}

/* Whether segments have all their places alike, but for so many changes: a row's first segment, and
 * its last, may have some. */
static bool is_without_gaps(const struct interval_segments *s, unsigned nr_changes)
{
	unsigned nr = 0;

	for (size_t i = 0; i < INTERVAL_SEGMENTS; i++)
		for (size_t k = 1; k < INTERVAL_PLACES; k++)
			nr += s->at[i][k] != s->at[i][k - 1];
	return nr <= nr_changes;
}

/* Two threads by turns on a CPU: where each has a clock of its own, all its samples follow each
 * other, without a gap; on the CPU's clock they do, and on one that they hand over. A sample that
 * is not selected has a place between the others; so has one of another event not. */
TEST(rows)
{
	enum { NR = 64 };
	struct sample samples[NR] = {{.file = 0}};
	const struct profile_filter filter = {.tids = {.item = {{7, 7}}, .nr = 1}};
	static const struct profile_filter everything;
	struct world w;
	const struct report_sink sink = {.entry = take_entry, .arg = &w};

	for (size_t i = 0; i < NR; i++)
		samples[i] = (struct sample){.event = i % 4 < 2 ? CLOCK : FAULTS,
					     .pid = 7,
					     .tid = i % 2 ? 70 : 7,
					     .time_ns = START_NS + i,
					     .weight = i % 4 < 2 ? 1000 : 500,
					     .address = {0x10010},
					     .nr = 1};
	for (int i = 0; i < 4; i++) {
		const bool has_own_clocks = i == 1;
		struct report_stats stats;

		set_selected(i == 2);
		stream = i == 3 ? 5 : 0;
		write_session(samples, NR);
		assert_int_equal(world_open(&w, &test_no_rules), 0);
		w.input.has_own_clocks = i > 0;
		assert_int_equal(run(&w, &filter, &sink, 1, false, &stats), 0);
		assert_int_equal(stats.event[CLOCK].counted.rows.nr, NR / 4);
		assert_int_equal(is_without_gaps(&stats.event[CLOCK].counted.rows, 2),
				 has_own_clocks);
		/* its events are the CPU's in any case */
		assert_false(is_without_gaps(&stats.event[FAULTS].counted.rows, 2));
		assert_int_equal(run(&w, &everything, &sink, 1, false, &stats), 0);
		for (int event = CLOCK; event <= FAULTS; event += FAULTS - CLOCK) {
			const struct interval_segments *all = &stats.event[event].counted.rows;

			assert_int_equal(all->nr, NR / 2);
			assert_true(is_without_gaps(all, has_own_clocks && event == CLOCK ? 4 : 2));
		}
		world_close(&w);
		remove_session();
	}
	set_selected(false);
	stream = 0;
}

/* Two CPUs whose clocks are in step, the second one a little later: they change between two threads
 * together, and so their segments add up. One sample of each is missing. */
TEST(rows_in_step)
{
	enum { NR = 64, STEP_NS = 1000, LATER_NS = 40, MISSING = 47 };
	struct sample samples[2 * NR] = {{.file = 0}};
	const struct profile_filter of_thread = {.tids = {.item = {{7, 7}}, .nr = 1}};
	struct profile_filter of_cpu = of_thread;
	struct interval_segments one;
	struct world w;
	const struct report_sink sink = {.entry = take_entry, .arg = &w};
	struct report_stats stats;
	size_t nr = 0;

	for (size_t i = 0; i < 2 * NR; i++)
		if (i / 2 != (i % 2 ? MISSING : MISSING / 2))
			samples[nr++] = (struct sample){
			    .file = i % 2,
			    .event = CLOCK,
			    .pid = 7,
			    .tid = i / 2 % 3 ? 70 : 7,
			    .time_ns = START_NS + STEP_NS * (1 + i / 2) + i % 2 * LATER_NS,
			    .weight = STEP_NS,
			    .address = {0x10010},
			    .nr = 1};
	write_session(samples, nr);
	assert_int_equal(world_open(&w, &test_no_rules), 0);
	of_cpu.cpus.item[0].first = of_cpu.cpus.item[0].last = cpu_of(0);
	of_cpu.cpus.nr = 1;
	assert_int_equal(run(&w, &of_cpu, &sink, 1, false, &stats), 0);
	one = stats.event[CLOCK].counted.rows;
	assert_int_equal(run(&w, &of_thread, &sink, 2, false, &stats), 0);
	assert_int_equal(stats.event[CLOCK].counted.rows.nr, 2 * one.nr);
	for (size_t i = 0; i < INTERVAL_SEGMENTS; i++)
		for (size_t k = 0; k < INTERVAL_PLACES; k++)
			assert_int_equal(stats.event[CLOCK].counted.rows.at[i][k],
					 2 * one.at[i][k]);
	world_close(&w);
	remove_session();
}

/* CPUs of a session are in step; those of another, that began at another time, are not. */
TEST(rows_in_step_of_sessions)
{
	const struct profile_sample s = {.time_ns = START_NS + 3000, .weight = 1000};
	static const struct {
		uint32_t cpu, session;
		uint64_t start_ns;
	} of[] = {{0, 0, START_NS}, {1, 0, START_NS}, {0, 1, START_NS + 500}};
	struct report_place_in_row at[NR(of)] = {{0}};
	struct report_rows *rows = calloc(1, sizeof(*rows));

	assert_non_null(rows);
	for (size_t i = 0; i < NR(of); i++) {
		const struct report_row_key key = {.cpu = of[i].cpu, .session = of[i].session};

		report_rows_find(rows, &key, true, of[i].start_ns, &s, &at[i]);
	}
	assert_true(at[0].row == at[1].row && at[0].place == 3 && at[1].place == 3);
	assert_true(at[0].row != at[2].row);
	free(rows);
}

/* A range of time has the same segments whether samples before it were read or not. */
TEST(rows_of_a_range)
{
	enum { NR = 64, BEFORE = 7, STEP_NS = 20 };
	struct sample samples[NR] = {{.file = 0}};
	const struct profile_filter filter = {.tids = {.item = {{7, 7}}, .nr = 1},
					      .from_ns = BEFORE * STEP_NS / 2};
	struct interval_segments rows[2][NR_EVENTS];

	for (size_t i = 0; i < NR; i++)
		samples[i] = (struct sample){.event = i % 2 ? CLOCK : FAULTS,
					     .pid = 7,
					     .tid = i / 2 % 3 ? 70 : 7,
					     .time_ns = START_NS + STEP_NS / 2 * i + i % 5,
					     .weight = STEP_NS,
					     .address = {0x10010},
					     .nr = 1};
	events[CLOCK].unit = "ns";
	for (size_t i = 0; i < 2; i++) {
		struct world w;
		struct report_stats stats;
		const struct report_sink sink = {.entry = take_entry, .arg = &w};

		write_session(samples + i * BEFORE, NR - i * BEFORE);
		assert_int_equal(world_open(&w, &test_no_rules), 0);
		assert_int_equal(run(&w, &filter, &sink, 1, false, &stats), 0);
		for (size_t k = 0; k < NR_EVENTS; k++)
			rows[i][k] = stats.event[k].counted.rows;
		world_close(&w);
		remove_session();
	}
	events[CLOCK].unit = NULL;
	assert_true(rows[0][CLOCK].nr && rows[0][FAULTS].nr);
	assert_memory_equal(rows[0], rows[1], sizeof(rows[0]));
}

/* The expected samples are those of the files that are read, whatever is excluded from them. */
TEST(missing)
{
	static const struct {
		struct profile_filter filter;
		uint64_t nr_files;
	} cases[] = {
	    {{.events = {.nr = 0}}, NR_FILES},
	    {{.pids = {.item = {{7, 7}}, .nr = 1}}, NR_FILES},
	    {{.iterations = {.item = {{1, 1}}, .nr = 1}}, NR_TRACES},
	};
	struct sample *samples = make_samples(9, 100, 8);
	struct report_stats stats;
	struct world w;
	const struct report_sink sink = {.parts = REPORT_BY_STACK, .entry = take_entry, .arg = &w};

	for (int counts = 0; counts < 2; counts++) {
		has_counts = counts;
		write_session(samples, 100);
		assert_int_equal(world_open(&w, &test_no_rules), 0);
		for (size_t i = 0; i < NR(cases); i++) {
			const struct report_event_stats *cycles;
			uint64_t nr = counts ? cases[i].nr_files : 0;

			assert_int_equal(run(&w, &cases[i].filter, &sink, 3, false, &stats), 0);
			cycles = &stats.event[CYCLES];
			assert_int_equal(stats.nr_lost, nr * NR_LOST);
			assert_int_equal(cycles->is_short, counts);
			assert_int_equal(cycles->sampled.n.samples, nr * 100);
			assert_int_equal(cycles->sampled.n.throttled, nr * 2);
			assert_int_equal(cycles->sampled.received, nr * 800000);
			assert_int_equal(cycles->sampled.expected, nr * 1000000);
			assert_int_equal(event_stats[FAULTS].sampled.expected, nr * 50000);
			assert_int_equal(event_stats[FAULTS].sampled.received, nr * 50000);
			assert_false(event_stats[FAULTS].is_short);
			assert_false(event_stats[CLOCK].is_short);
		}
		world_close(&w);
		remove_session();
	}
	has_counts = false;
	free(samples);
}

/* Of samples whose innermost address is in no mapping; that of a lifetime is none of code. */
TEST(unmapped)
{
	static const struct {
		uint32_t pid;
		uint64_t address;
		uint64_t nr_unmapped;
	} rows[] = {{7, 0x10000, 0},
		    {7, 0x30000, 1},
		    {9, 0x10000, 1},
		    {7, PERF_ABI_LIVES, 0},
		    {9, PERF_ABI_LIVES + PERF_ABI_NR_LIVES - 1, 0},
		    {9, PERF_ABI_LIVES + PERF_ABI_NR_LIVES, 1}};
	static const struct profile_filter all;

	for (size_t i = 0; i < NR(rows); i++) {
		const struct sample sample = {.event = CLOCK,
					      .pid = rows[i].pid,
					      .tid = rows[i].pid,
					      .time_ns = START_NS,
					      .weight = 1000,
					      .address = {rows[i].address, 0x10010},
					      .nr = 2};
		struct report_stats stats;
		struct world w;
		const struct report_sink sink = {
		    .parts = REPORT_BY_STACK, .entry = take_entry, .arg = &w};

		write_session(&sample, 1);
		assert_int_equal(world_open(&w, &test_no_rules), 0);
		assert_int_equal(run(&w, &all, &sink, 1, false, &stats), 0);
		assert_int_equal(stats.nr_user, 1);
		assert_int_equal(stats.nr_unmapped, rows[i].nr_unmapped);
		world_close(&w);
		remove_session();
	}
}

/* --only leaves stacks out, and they are counted so. */
TEST(not_wanted)
{
	enum { NR = 3000 };
	struct sample *samples = make_samples(6, NR, 16);
	static const struct profile_filter all;
	struct report_rules rules = {0};
	struct report_stats stats;
	struct world w;
	const struct report_sink sink = {.parts = REPORT_BY_STACK, .entry = take_entry, .arg = &w};
	uint64_t want = 0, got = 0, left = 0;

	write_session(samples, NR);
	assert_int_equal(report_rules_add_only(&rules, "^kernel_[0-4]$", NULL), 0);
	assert_int_equal(world_open(&w, &rules), 0);
	assert_int_equal(run(&w, &all, &sink, 3, false, &stats), 0);
	for (size_t i = 0; i < NR; i++) {
		bool is_in = false;

		for (uint32_t k = 0; k < samples[i].nr && samples[i].event != BRANCHES; k++)
			is_in |=
			    samples[i].address[k] >= kernel && samples[i].address[k] < kernel + 80;
		want += is_in;
	}
	for (size_t i = 0; i < NR_EVENTS; i++) {
		got += event_stats[i].counted.samples;
		left += event_stats[i].omitted.samples;
	}
	assert_true(want > 0);
	assert_int_equal(got, want);
	assert_int_equal(left, NR - want);
	world_close(&w);
	report_rules_fini(&rules);
	remove_session();
	free(samples);
}

/* flat's self weights and the tree's root sum to what was taken. */
TEST(reports_add_up)
{
	enum { NR = 10000 };

	for (uint64_t seed = 1; seed <= 3; seed++) {
		static const struct profile_filter all;
		struct sample *samples = make_samples(seed, NR, 40);
		uint64_t want[NR_EVENTS] = {0}, self[NR_EVENTS] = {0}, roots[NR_EVENTS] = {0};
		const struct report_flat_row *rows;
		struct report_stats stats;
		struct report_flat *flat;
		struct report_tree *tree;
		struct world w;
		size_t nr;

		write_session(samples, NR);
		for (size_t i = 0; i < NR; i++)
			want[samples[i].event] += samples[i].weight;
		assert_int_equal(world_open(&w, &test_no_rules), 0);
		flat = report_flat_new(w.functions, 1 << REPORT_FUNCTION | 1 << REPORT_COMM, true);
		assert_int_equal(run(&w, &all, report_flat_sink(flat), 4, false, &stats), 0);
		rows = report_flat_rows(flat, &nr);
		for (size_t i = 0; i < nr; i++)
			self[rows[i].column[REPORT_EVENT]] += rows[i].self.weight;
		tree = report_tree_new(seed % 2, 0);
		assert_int_equal(run(&w, &all, report_tree_sink(tree), 4, false, &stats), 0);
		assert_int_equal(report_tree_finish(tree), 0);
		for (uint32_t at = report_tree_root(tree); at != REPORT_NO_NODE;
		     at = report_tree_node(tree, at)->next)
			roots[report_tree_node(tree, at)->event] +=
			    report_tree_node(tree, at)->total.weight;
		assert_memory_equal(self, want, sizeof(want));
		assert_memory_equal(roots, want, sizeof(want));
		for (size_t i = 0; i < NR_EVENTS; i++)
			assert_int_equal(event_stats[i].counted.weight, want[i]);
		report_flat_free(flat);
		report_tree_free(tree);
		world_close(&w);
		remove_session();
		free(samples);
	}
}

/* The same address means something else after each of many mappings (of one process), or in each of
 * many processes: more of them than addresses are remembered. Which files they map, where. */
enum { NR_MEANINGS = 60000, NR_PATHS = 3, NR_OFFSETS = 5, MEANING_AT = 0x10000 };
static const char *const meaning_paths[NR_PATHS] = {"/bin/one", "/bin/two", "/bin/three"};

static void make_meanings(bool by_process, struct step *told, struct sample *samples,
			  uint64_t sums[NR_PATHS][NR_OFFSETS])
{
	uint64_t random = 1;

	for (uint32_t i = 0; i < NR_MEANINGS; i++) {
		uint32_t path = test_random(&random, NR_PATHS);
		uint32_t offset = test_random(&random, NR_OFFSETS);
		uint32_t pid = by_process ? 100 + i : 7;

		told[i] = (struct step){.op = MAP,
					.time_ns = START_NS + 2 * i,
					.pid = pid,
					.tid = pid,
					.start = MEANING_AT,
					.end = MEANING_AT + 0x10000,
					.offset = 0x1000 * offset,
					.text = meaning_paths[path],
					.build_id = (uint8_t)(1 + path)};
		samples[i] = (struct sample){.event = FAULTS,
					     .pid = pid,
					     .tid = pid,
					     .time_ns = START_NS + 2 * i + 1,
					     .address = {MEANING_AT + 0x10},
					     .nr = 1};
		sums[path][offset]++;
	}
}

static uint64_t samples_of(const struct world *w, const struct report_flat_row *rows, size_t nr,
			   uint32_t path, uint32_t offset)
{
	const struct profile_mapping m = {.start = MEANING_AT,
					  .end = MEANING_AT + 0x10000,
					  .offset = 0x1000 * offset,
					  .object = object_of(w, meaning_paths[path])};
	const char *name = symbols_user(w->input.symbols, &m, MEANING_AT + 0x10, 1)->name;

	for (size_t i = 0; i < nr; i++)
		if (strcmp(report_functions_at(w->functions, rows[i].column[REPORT_FUNCTION])->name,
			   name) == 0)
			return rows[i].self.samples;
	return 0;
}

TEST(many_meanings)
{
	struct step *told = calloc(NR_MEANINGS, sizeof(*told));
	struct sample *samples = calloc(NR_MEANINGS, sizeof(*samples));

	assert_true(told && samples);
	for (int by_process = 0; by_process < 2; by_process++) {
		static const struct profile_filter all;
		uint64_t sums[NR_PATHS][NR_OFFSETS] = {{0}};
		const struct report_flat_row *rows;
		struct report_stats stats;
		struct report_flat *flat;
		struct world w;
		size_t nr;

		make_meanings(by_process, told, samples, sums);
		write_session_of(told, NR_MEANINGS, samples, NR_MEANINGS);
		assert_int_equal(world_open(&w, &test_no_rules), 0);
		flat = report_flat_new(w.functions, 1 << REPORT_FUNCTION, false);
		assert_int_equal(run(&w, &all, report_flat_sink(flat), 1, false, &stats), 0);
		rows = report_flat_rows(flat, &nr);
		assert_int_equal(nr, NR_PATHS * NR_OFFSETS);
		for (uint32_t p = 0; p < NR_PATHS; p++)
			for (uint32_t o = 0; o < NR_OFFSETS; o++)
				assert_int_equal(samples_of(&w, rows, nr, p, o), sums[p][o]);
		report_flat_free(flat);
		world_close(&w);
		remove_session();
	}
	free(told);
	free(samples);
}

/* Puts a program with an inlined function where /bin/one is sought: its build-id is the one
 * recorded, and what is inlined takes pages. */
static bool make_program(void)
{
	static const char source[] = "static inline __attribute__((always_inline)) void in(void)\n"
				     "{ __asm__ volatile(\".skip 0x6000\"); }\n"
				     "void _start(void) { in(); }\n";
	char command[1024];

	tree_put(&folder, "/bin/one.c", source, strlen(source));
	snprintf(command, sizeof(command),
		 "cd '%s/bin' && cc -g -O1 -nostdlib -static -o one one.c "
		 "-Wl,--build-id=0x0101010101010101010101010101010101010101 2>log",
		 folder.dir);
	return system(command) == 0;
}

/* Branches are two functions each, also where inlined ones are asked for. */
TEST(branches_with_lines)
{
	enum { NR = 500 };
	static const struct profile_filter all;
	struct sample *samples = make_samples(9, NR, 16);
	struct report_branches *b;
	struct report_flat *flat;
	const struct report_branch_row *rows;
	struct report_stats stats;
	uint64_t got = 0, want = 0;
	struct world w;
	size_t nr;

	write_session(samples, NR);
	if (!make_program()) {
		remove_session();
		free(samples);
		SKIP("there is no compiler");
	}
	assert_int_equal(world_open(&w, &test_no_rules), 0);
	flat = report_flat_new(w.functions, 1 << REPORT_FUNCTION, true);
	assert_int_equal(run(&w, &all, report_flat_sink(flat), 2, true, &stats), 0);
	report_flat_free(flat);
	nr = 0;
	for (uint32_t i = 0; i < report_functions_nr(w.functions); i++)
		nr += strcmp(report_functions_at(w.functions, i)->name, "in") == 0;
	assert_int_equal(nr, 1); /* it is a frame */
	b = report_branches_new();
	assert_int_equal(run(&w, &all, report_branches_sink(b), 2, true, &stats), 0);
	rows = report_branches_rows(b, &nr);
	for (size_t i = 0; i < nr; i++)
		got += rows[i].nr;
	for (size_t i = 0; i < NR; i++)
		want += samples[i].event == BRANCHES ? samples[i].nr / 2 : 0;
	assert_int_equal(got, want);
	report_branches_free(b);
	world_close(&w);
	remove_session();
	free(samples);
}

/* What the sink returns ends the run, and it is asked no more. */
TEST(sink_fails)
{
	enum { NR = 60000 };
	struct sample *samples = make_samples(3, NR, 0x8000);
	static const size_t at[] = {1, 2, 5000, 15000};
	static const struct profile_filter all;

	write_session(samples, NR);
	STRIDE_EACH(i, NR(at), 2)
		for (unsigned threads = 1; threads <= 4; threads += 3) {
			struct report_stats stats;
			struct world w;
			const struct report_sink sink = {
			    .parts = REPORT_BY_STACK, .entry = take_entry, .arg = &w};

			assert_int_equal(world_open(&w, &test_no_rules), 0);
			w.fail_at = at[i];
			assert_int_equal(run(&w, &all, &sink, threads, false, &stats), -EDOM);
			assert_int_equal(w.nr_given, at[i]);
			assert_int_equal(w.nr_after, 0);
			world_close(&w);
		}
	remove_session();
	free(samples);
}

static int cancel_soon(void *arg, const struct report_entry *e)
{
	struct world *w = arg;

	cancel = ++w->nr_given == w->fail_at;
	w->nr_after += w->has_failed;
	w->has_failed |= cancel;
	assert_int_equal(e->key.event < NR_EVENTS, true);
	return 0;
}

/* Canceled, it ends: before the first sample, or while entries are passed. */
TEST(canceled)
{
	enum { NR = 60000 };
	struct sample *samples = make_samples(3, NR, 0x8000);
	static const struct profile_filter all;

	write_session(samples, NR);
	for (unsigned threads = 1; threads <= 4; threads += 3)
		for (size_t at = 0; at <= 5000; at += 2500) {
			struct report_stats stats;
			struct world w;
			const struct report_sink sink = {
			    .parts = REPORT_BY_STACK, .entry = cancel_soon, .arg = &w};

			assert_int_equal(world_open(&w, &test_no_rules), 0);
			w.fail_at = at;
			cancel = !at;
			assert_int_equal(run(&w, &all, &sink, threads, false, &stats), -ECANCELED);
			assert_int_equal(w.nr_given, at);
			assert_int_equal(w.nr_after, 0);
			world_close(&w);
			cancel = 0;
		}
	remove_session();
	free(samples);
}

static int take_frameless(void *arg, const struct report_entry *e)
{
	struct world *w = arg;

	assert_int_equal(e->nr_frames, 1);
	w->nr_given += !strcmp(e->frames[0].function->name, "[any]");
	return 0;
}

/* Of sinks that ignore frames functions are not looked up, unless rules select by them. */
TEST(frames_ignored)
{
	enum { NR = 3000 };
	struct sample *samples = make_samples(6, NR, 16);
	static const struct profile_filter all;
	struct report_rules rules = {0};
	uint64_t counted[2] = {0};

	write_session(samples, NR);
	assert_int_equal(report_rules_add_only(&rules, "^kernel_[0-4]$", NULL), 0);
	for (int with_rules = 0; with_rules < 2; with_rules++) {
		struct report_stats stats;
		struct world w;
		const struct report_sink sink = {.parts = REPORT_BY_PID,
						 .ignores_frames = true,
						 .entry = take_frameless,
						 .arg = &w};

		assert_int_equal(world_open(&w, with_rules ? &rules : &test_no_rules), 0);
		assert_int_equal(run(&w, &all, &sink, 3, false, &stats), 0);
		assert_int_equal(w.nr_given == 0, with_rules);
		for (size_t i = 0; i < NR_EVENTS; i++)
			counted[with_rules] += event_stats[i].counted.samples;
		world_close(&w);
	}
	assert_int_equal(counted[0], NR);
	assert_in_range(counted[1], 1, NR - 1);
	report_rules_fini(&rules);
	remove_session();
	free(samples);
}

/* Times that are kept change nothing but what is read. */
TEST(times_are_kept)
{
	enum { NR = 60000 };
	const struct profile_filter part = {.from_ns = SPAN_NS / 4, .to_ns = SPAN_NS / 2};
	static const struct profile_filter all;
	struct sample *samples = make_samples(8, NR, 64);
	struct report_weight first[NR_EVENTS][2];
	struct report_stats stats;
	struct world w;
	const struct report_sink sink = {.parts = REPORT_BY_STACK, .entry = take_entry, .arg = &w};

	for (size_t i = 0; i < NR; i++) /* each file has times of its own */
		samples[i].time_ns =
		    START_NS + SPAN_NS / NR_FILES * samples[i].file + i % (SPAN_NS / NR_FILES);
	write_session(samples, NR);
	assert_int_equal(world_open(&w, &test_no_rules), 0);
	for (int pass = 0; pass < 3; pass++) {
		uint64_t bytes;

		assert_int_equal(run(&w, &part, &sink, 2, false, &stats), 0);
		bytes = stats.bytes;
		assert_true(bytes > 0);
		for (size_t i = 0; i < NR_EVENTS; i++) {
			const struct report_weight now[] = {event_stats[i].counted,
							    event_stats[i].omitted};

			for (size_t k = 0; k < 2; k++) {
				if (!pass)
					first[i][k] = now[k];
				assert_int_equal(now[k].samples, first[i][k].samples);
				assert_int_equal(now[k].weight, first[i][k].weight);
			}
			assert_true(now[0].samples > 0 && now[1].samples > now[0].samples);
		}
		if (!pass) {
			assert_int_equal(profile_session_keep_times(w.input.session), 0);
			assert_int_equal(run(&w, &all, &sink, 2, false, &stats), 0);
		}
	}
	world_close(&w);
	remove_session();
	free(samples);
}

/* Damage is told, and what is behind and beside it is counted. */
TEST(damaged)
{
	enum { NR = 4000 };
	struct sample *samples = make_samples(4, NR, 16);
	static const struct profile_filter all;
	uint64_t whole = 0, got;
	struct report_stats stats;
	struct world w;
	const struct report_sink sink = {.parts = 0, .entry = take_entry, .arg = &w};

	write_session(samples, NR);
	for (size_t i = 0; i < NR; i++)
		whole += samples[i].file > 2;
	for (unsigned threads = 1; threads <= 4; threads += 3) {
		int fd;

		assert_int_equal(world_open(&w, &test_no_rules), 0);
		if (threads == 1) { /* once, after the session was opened */
			for (int i = 0; i < 2; i++) {
				fd = openat(folder_fd, i ? "s.0.1.cpuperf" : "s.0.0.cpuperf",
					    O_RDWR | O_CLOEXEC);
				assert_int_equal(pwrite(fd, "\xff\xff\xff\xff", 4, 9000), 4);
				close(fd);
			}
			assert_int_equal(unlinkat(folder_fd, "s.0.2.cpuperf", 0), 0);
		}
		assert_int_equal(run(&w, &all, &sink, threads, false, &stats), 0);
		assert_true(w.nr_losses >= 3);
		got = 0;
		for (size_t i = 0; i < NR_EVENTS; i++)
			got += event_stats[i].counted.samples;
		assert_true(got >= whole && got < NR);
		world_close(&w);
	}
	remove_session();
	free(samples);
}

enum { BY_TWO = 1, AS_SINGLES = 2 };

static int open_and_run(int how)
{
	static const struct profile_filter all;
	struct report_stats stats;
	struct world w;
	struct report_sink sink = {
	    .parts = REPORT_BY_STACK | REPORT_BY_COMM, .entry = take_entry, .arg = &w};
	int rc = world_open(&w, &test_no_rules);

	if (rc == 0 && how & AS_SINGLES) {
		sink.samples = take_samples;
		sink.stacks = w.stacks = report_stacks_new();
		rc = w.stacks ? 0 : -ENOMEM;
	}
	if (rc == 0)
		rc = run(&w, &all, &sink, how & BY_TWO ? 2 : 1, false, &stats);
	report_stats_fini(&last);
	report_stacks_free(w.stacks);
	world_close(&w);
	return rc;
}

/* Every 8th allocation fails in two of four ways: nothing leaks, and nothing else goes wrong. */
TEST(no_memory)
{
	const unsigned step = (unsigned)stride_by(8, 1);
	struct sample *samples = make_samples(8, 60, 8);

	has_counts = true;
	write_session(samples, 60);
	has_counts = false;
	STRIDE_EACH(how, 4, 2) {
		unsigned n = 1 + (unsigned)(stride_from(step) + how * 2) % step, nr_failed = 0;

		for (inject.fired = true; inject.fired; n += step) {
			int rc;

			inject_mem(n);
			rc = open_and_run((int)how);
			inject_stop();
			assert_int_equal(inject.nr_live, 0);
			assert_true(rc == 0 || (inject.fired && rc == -ENOMEM));
			nr_failed += rc != 0;
		}
		assert_true(n > 60 && nr_failed * step > 50);
	}
	remove_session();
	free(samples);
}
