/*
 * The report of all records: a session of two CPUs and a common file, and the lines it must become.
 */
#include "kit.h"
#include "test_record.h"

#include "base/buf.h"
#include "report/records.h"
#include "symbol/symbols.h"
#include "trace/writer.h"

#include <inttypes.h>

enum {
	NR_TRACES = 2,
	MAX_BYTES = 1 << 20,
	MAX_SHOWN_BYTES = 64 << 20,
	SECOND = 1000000000,
	START_NS = 10
};

static struct root folder;
static int folder_fd;
static uint8_t attrs[2][ATTR_BYTES];

static struct trace_event events[] = {
    {.id = 5 << 11 | 1,
     .kind = EVENT_COUNT,
     .rate = 1000,
     .state = READING_OK,
     .label = "cpu_clock",
     .attr = attrs[0],
     .attr_bytes = ATTR_BYTES},
    {.id = 6 << 11 | 1,
     .kind = EVENT_COUNT,
     .rate = 1,
     .state = READING_OK,
     .label = "switch",
     .attr = attrs[1],
     .attr_bytes = ATTR_BYTES,
     .format = "\tfield:int next_pid;\toffset:0;\tsize:4;\tsigned:1;\n"
	       "\tfield:char name[4];\toffset:4;\tsize:4;\tsigned:0;\n"},
    {.id = 4 << 11 | 2,
     .kind = EVENT_VALUE,
     .scope = EVENT_SCOPE_CPU,
     .state = READING_OK,
     .label = "memory_used"},
};

static const struct trace_id ids[] = {{.id = 100, .event = 0}, {.id = 200, .event = 1}};

HOOK(before_all)
{
	enum { COMMON = S_IDENTIFIER | S_TID | S_TIME };

	attr_bytes(&(struct attr){.period = 1000,
				  .sample_type = COMMON | S_CALLCHAIN,
				  .bits = ATTR_SAMPLE_ID_ALL},
		   attrs[0]);
	attr_bytes(&(struct attr){.period = 1,
				  .sample_type = COMMON | S_IP | S_RAW,
				  .bits = ATTR_SAMPLE_ID_ALL},
		   attrs[1]);
}

static struct trace_writer *begin(uint32_t iteration, uint32_t trace)
{
	static const struct trace_info info = {.tool = "t"};
	const struct trace_head head = {.iteration = iteration,
					.trace = trace,
					.cpu = 3 + trace,
					.nr_traces = NR_TRACES,
					.session_id = {1}};
	struct trace_writer *w = trace_writer_new();

	assert_non_null(w);
	assert_int_equal(trace_writer_set_common(w, &info, events, NR(events)), 0);
	assert_int_equal(trace_writer_begin(w, &head), 0);
	return w;
}

static void end(struct trace_writer *w, const char *name, uint64_t start_ns)
{
	const struct trace_totals totals = {.start_ns = start_ns, .end_ns = start_ns + SECOND};
	struct err e = {0};

	if (trace_writer_commit(w, folder_fd, name, name, &totals, &e))
		fail_msg("%s: %s", name, e.msg);
	trace_writer_free(w);
}

static size_t sample_begin(struct buf *b, uint64_t id, uint16_t misc, uint64_t time_ns)
{
	size_t at = record_begin(b, PERF_RECORD_SAMPLE, misc);

	buf_le64(b, id);
	(void)time_ns;
	return at;
}

static void add_chain(struct buf *b, uint16_t misc, uint64_t time_ns, const uint64_t *chain,
		      size_t nr)
{
	size_t at = sample_begin(b, 100, misc, time_ns);

	record_id(b, 7, 8, time_ns);
	buf_le64(b, nr);
	for (size_t i = 0; i < nr; i++)
		buf_le64(b, chain[i]);
	record_end(b, at);
}

/* A tracepoint's, in the kernel. */
static void add_switch(struct buf *b, uint64_t time_ns)
{
	size_t at = sample_begin(b, 200, PERF_RECORD_MISC_KERNEL, time_ns);

	buf_le64(b, 0xffffffff81000040);
	record_id(b, 7, 8, time_ns);
	buf_le32(b, 12);
	buf_le32(b, (uint32_t)-5);
	buf_add(b, "a\033b", 4);
	buf_fill(b, 0, 4);
	record_end(b, at);
}

static void add_words(struct buf *b, uint32_t kind, uint16_t misc, const uint64_t *words, size_t nr)
{
	size_t at = record_begin(b, kind, misc);

	for (size_t i = 0; i < nr; i++)
		buf_le64(b, words[i]);
	record_end(b, at);
}

#define PIDS(pid, tid) ((uint64_t)(tid) << 32 | (pid))

static void write_first(void)
{
	static const uint64_t chain[] = {
	    (uint64_t)-128, 0xffffffff81000040, 0xffffffff81000080, (uint64_t)-512, 0x1040, 0x2040};
	struct reading tick = {
	    .event = 2, .state = READING_OK, .time_ns = START_NS + 1500000, .raw = 77};
	struct trace_writer *w = begin(0, 0);
	struct buf b;

	buf_init(&b, MAX_BYTES);
	add_chain(&b, PERF_RECORD_MISC_KERNEL, START_NS + 1000000, chain, NR(chain));
	add_switch(&b, START_NS + 2000000);
	add_words(
	    &b, PERF_RECORD_LOST, 0,
	    (uint64_t[]){100, 12, PIDS(7, 8), START_NS + (uint64_t)12 * SECOND + 345678999, 100},
	    5);
	add_words(&b, PERF_RECORD_THROTTLE, 0,
		  (uint64_t[]){START_NS + (uint64_t)12 * SECOND + 345679000, 100, 0, PIDS(7, 8),
			       START_NS, 100},
		  6);
	trace_writer_ids(w, ids, NR(ids));
	trace_writer_readings(w, TRACE_TICK, &tick, 1);
	trace_writer_records(w, TRACE_RING_SAMPLES, 3, b.data, b.len);
	buf_fini(&b);
	end(w, "s.0.0.cpuperf", START_NS);
}

/* In the program, at an address that is mapped anew in between; then outside of both. */
static void write_second(void)
{
	static const uint64_t chain[] = {(uint64_t)-512, 0x1040}, guest[] = {(uint64_t)-2048, 9};
	struct trace_writer *w = begin(0, 1);
	struct buf b;

	buf_init(&b, MAX_BYTES);
	add_chain(&b, PERF_RECORD_MISC_USER, START_NS + 1200000, chain, 2);
	add_chain(&b, PERF_RECORD_MISC_USER, START_NS + 1300000, chain, 2);
	add_chain(&b, PERF_RECORD_MISC_USER, START_NS + 1700000, chain, 2);
	add_chain(&b, PERF_RECORD_MISC_GUEST_USER, START_NS + 1800000, guest, 2);
	add_words(&b, PERF_RECORD_SAMPLE, 0, (uint64_t[]){999, 1, 2}, 3);
	trace_writer_ids(w, ids, NR(ids));
	trace_writer_records(w, TRACE_RING_SAMPLES, 4, b.data, b.len);
	buf_fini(&b);
	end(w, "s.0.1.cpuperf", START_NS + 5);
}

/* A second iteration, in which one CPU has nothing. */
static void write_more(void)
{
	static const uint64_t chain[] = {(uint64_t)-512, 0x2040};
	struct trace_writer *w = begin(1, 1);
	struct buf b;

	end(w, "s.1.1.cpuperf", START_NS + (uint64_t)20 * SECOND);
	w = begin(1, 0);

	buf_init(&b, MAX_BYTES);
	add_chain(&b, PERF_RECORD_MISC_USER, START_NS + (uint64_t)20 * SECOND, chain, 2);
	trace_writer_ids(w, ids, NR(ids));
	trace_writer_records(w, TRACE_RING_SAMPLES, 3, b.data, b.len);
	buf_fini(&b);
	end(w, "s.1.0.cpuperf", START_NS + (uint64_t)20 * SECOND);
}

static void add_comm(struct buf *b, uint16_t misc, uint64_t time_ns, const char *name)
{
	size_t at = record_begin(b, PERF_RECORD_COMM, misc);

	buf_le32(b, 7);
	buf_le32(b, 8);
	record_name(b, name);
	record_id(b, 7, 8, time_ns);
	record_end(b, at);
}

static void add_mapping(struct buf *b, uint64_t time_ns)
{
	size_t at = record_begin(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);

	buf_le32(b, 7);
	buf_le32(b, 8);
	buf_le64(b, 0x1000);
	buf_le64(b, 0x800);
	buf_le64(b, 0x100);
	buf_le32(b, 4); /* bytes; fewer could be a device */
	buf_add(b, "\xab\xcd\xef\x12", 4);
	buf_fill(b, 0, 16);
	buf_le32(b, 5);
	buf_le32(b, 2);
	record_name(b, "/lib/x\n.so");
	record_id(b, 7, 8, time_ns);
	record_end(b, at);
}

static void add_ksymbol(struct buf *b, uint64_t time_ns)
{
	size_t at = record_begin(b, PERF_RECORD_KSYMBOL, 0);

	buf_le64(b, 0xffffffff81000040);
	buf_le32(b, 0x20);
	buf_le16(b, 1);
	buf_le16(b, 1);
	record_name(b, "bpf_prog");
	record_id(b, 0, 0, time_ns);
	record_end(b, at);
}

static void write_common(void)
{
	struct trace_writer *w = begin(TRACE_COMMON, TRACE_COMMON);
	struct buf b;

	buf_init(&b, MAX_BYTES);
	add_comm(&b, 0, 5, "before");
	trace_writer_records(w, TRACE_RING_MADE, UINT32_MAX, b.data, b.len);
	trace_writer_kallsyms(w, "f T x\n", 6);
	buf_reset(&b);
	add_comm(&b, PERF_RECORD_MISC_COMM_EXEC, START_NS + 500000, "prog");
	add_words(&b, PERF_RECORD_FORK, 0,
		  (uint64_t[]){PIDS(9, 7), PIDS(9, 7), START_NS + 1100000, PIDS(9, 9), START_NS},
		  5);
	add_mapping(&b, START_NS + 1600000);
	add_ksymbol(&b, START_NS + 1900000);
	add_words(&b, PERF_RECORD_BPF_EVENT, 0,
		  (uint64_t[]){1 | (uint64_t)33 << 32, 0, 0, START_NS + 1900000}, 4);
	add_words(&b, PERF_RECORD_EXIT, 0,
		  (uint64_t[]){PIDS(9, 7), PIDS(9, 7), START_NS + (uint64_t)20 * SECOND + 1,
			       PIDS(9, 9), START_NS},
		  5);
	trace_writer_records(w, TRACE_RING_SIDE_BAND, 1, b.data, b.len);
	buf_fini(&b);
	end(w, "s.common.cpuperf", START_NS);
}

static void make_session(void)
{
	folder = tree_make();
	folder_fd = open(folder.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder_fd >= 0);
	write_first();
	write_second();
	write_more();
	write_common();
}

static void remove_session(void)
{
	close(folder_fd);
	tree_remove(&folder);
}

/* Names by the address; of 0x1040 by the number of questions too: what is asked again shows. */
struct asked {
	size_t nr_user, nr_kernel;
};

static void find_task(void *arg, uint32_t pid, uint32_t tid, uint64_t time_ns,
		      struct profile_task *out)
{
	static const struct profile_process processes[] = {{.number = 0, .pid = 7}, {.number = 1}};
	static const struct profile_comm comms[] = {{.name = "prog"},
						    {.number = 1, .name = "[unknown]"}};
	int other = pid != 7 || tid != 8 || time_ns < START_NS;

	(void)arg;
	*out = (struct profile_task){&processes[other], &comms[other], other ? TRACE_UNKNOWN : 2};
}

static uint32_t find_epoch(void *arg, const struct profile_process *process, uint64_t time_ns)
{
	(void)arg;
	(void)process;
	return time_ns >= START_NS + 1600000;
}

static const struct symbol_function *find_user(void *arg, const struct profile_process *process,
					       uint64_t address, uint64_t time_ns)
{
	static const struct symbol_function old = {
	    .number = 9, .name = "old(int)", .object = "prog", .is_known = true};
	static const struct symbol_function new = {
	    .number = 1, .name = "new<\"a\">", .object = "x,y.so", .is_known = true};
	static const struct symbol_function none = {
	    .number = 300, .name = "[unknown] (prog+0x2000)", .object = "prog"};
	struct asked *a = arg;

	assert_int_equal(process->pid, 7);
	a->nr_user++;
	if (address != 0x1040)
		return &none;
	return time_ns < START_NS + 1600000 ? &old : &new;
}

static const struct symbol_function *find_kernel(void *arg, uint64_t address, uint64_t time_ns)
{
	static const struct symbol_function functions[] = {
	    {.name = "schedule", .object = "[kernel]", .is_known = true},
	    {.number = 2, .name = "do_syscall_64", .object = "[kernel]", .is_known = true}};
	struct asked *a = arg;

	(void)time_ns;
	a->nr_kernel++;
	return &functions[address != 0xffffffff81000040];
}

static void take_problem(void *arg, bool is_loss, const struct err *e)
{
	(void)arg;
	(void)is_loss;
	if (!inject.error)
		assert_string_equal(e->msg, "1 record of unknown events");
}

struct shown {
	struct buf out, all;
	int failing; /* the flush that fails */
	enum report_records_form form;
	const char *session;
	bool has_header;
};

static int keep(void *arg)
{
	struct shown *s = arg;

	if (s->failing && !--s->failing)
		return -ENOSPC;
	buf_add(&s->all, s->out.data, s->out.len);
	buf_reset(&s->out);
	return 0;
}

enum { NR_DEEP = 140, DEEP = 1000, DEEP_AT = 0x10000, OTHER = 1 << 20 };

/* More addresses than are remembered, each once in the chains of two processes. */
static void write_deep(void)
{
	static uint64_t chain[DEEP];
	struct trace_writer *w;
	struct buf b;

	folder = tree_make();
	folder_fd = open(folder.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder_fd >= 0);
	w = begin(0, 0);
	buf_init(&b, NR_DEEP * 2 * (DEEP * 8 + 100));
	for (size_t i = 0; i < NR_DEEP * 2; i++) {
		for (size_t k = 0; k < DEEP; k++)
			chain[k] = DEEP_AT + 16 * (i / 2 * DEEP + k);
		add_chain(&b, PERF_RECORD_MISC_USER, START_NS + i, chain, DEEP);
		put_word((uint8_t *)b.data + b.len - 8 * DEEP - 24, PIDS(7 + i % 2, 8));
	}
	trace_writer_ids(w, ids, NR(ids));
	trace_writer_records(w, TRACE_RING_SAMPLES, 3, b.data, b.len);
	buf_fini(&b);
	end(w, "s.0.0.cpuperf", START_NS);
	w = begin(TRACE_COMMON, TRACE_COMMON);
	end(w, "s.common.cpuperf", START_NS);
}

static void task_of_pid(void *arg, uint32_t pid, uint32_t tid, uint64_t time_ns,
			struct profile_task *out)
{
	static const struct profile_process processes[] = {{.number = 0, .pid = 7},
							   {.number = OTHER, .pid = 8}};
	static const struct profile_comm comm = {.name = "deep"};

	(void)arg;
	(void)tid;
	(void)time_ns;
	*out = (struct profile_task){&processes[pid - 7], &comm, TRACE_UNKNOWN};
}

/* Of each 16 bytes and process the name is another one, of 6. */
static uint32_t deep_name(uint32_t process, uint64_t address)
{
	return 3 * process + (uint32_t)(address / 16 % 3);
}

static const struct symbol_function *find_deep(void *arg, const struct profile_process *process,
					       uint64_t address, uint64_t time_ns)
{
	static const struct symbol_function names[] = {
	    {.number = 0, .name = "f0"}, {.number = 1, .name = "f1"}, {.number = 2, .name = "f2"},
	    {.number = 3, .name = "f3"}, {.number = 4, .name = "f4"}, {.number = 5, .name = "f5"}};

	(void)arg;
	(void)time_ns;
	return &names[deep_name(process->number == OTHER, address)];
}

static bool only_cpu_4(void *arg, const struct profile_merged_item *item,
		       const struct profile_task *task)
{
	(void)arg;
	assert_non_null(task->comm);
	return item->item->cpu == 4;
}

static int open_session(struct profile_session **out)
{
	char path[sizeof(folder.dir) + 16];
	const struct profile_manifest m = {path, "/elsewhere/s", 0, 0};

	snprintf(path, sizeof(path), "%s/s.cpsession", folder.dir);
	return profile_session_open(&m, take_problem, NULL, out, NULL);
}

static int report(struct shown *shown, struct asked *asked, bool all, uint64_t *nr)
{
	const struct report_names names = {find_task, find_epoch, find_user, find_kernel, asked};
	struct report_records_config config = {
	    .names = &names,
	    .problem = take_problem,
	    .form = shown->form,
	    .session_shown = shown->session,
	    .has_header = shown->has_header,
	    .is_shown = all ? NULL : only_cpu_4,
	    .out = &shown->out,
	    .flush = keep,
	    .arg = shown,
	};
	int rc = open_session(&config.session);

	if (rc)
		return rc;
	rc = report_records(&config, nr);
	profile_session_close(config.session);
	return rc;
}

static const char want[] =
    /* clang-format off */
    "    -0.000000  CPU -    [unknown]       7/8             name before\n"
    "     0.000500  CPU 1    prog            7/8             exec prog\n"
    "     0.001000  CPU 3    prog            7/8             cpu_clock period 1000  ffffffff81000040 schedule ([kernel])\n"
    "                 ffffffff81000080 do_syscall_64 ([kernel])\n"
    "                 1040 old(int) (prog)\n"
    "                 2040 [unknown] (prog+0x2000)\n"
    "     0.001100  CPU 1    [unknown]       9/9             fork of 7/7\n"
    "     0.001200  CPU 4    prog            7/8             cpu_clock period 1000  1040 old(int) (prog)\n"
    "     0.001300  CPU 4    prog            7/8             cpu_clock period 1000  1040 old(int) (prog)\n"
    "     0.001500  CPU 3                                    memory_used reads 77\n"
    "     0.001600  CPU 1    prog            7/8             mmap 0x1000-0x1800 offset 0x100 r-xp build-id abcdef12 /lib/x?.so\n"
    "     0.001700  CPU 4    prog            7/8             cpu_clock period 1000  1040 new<\"a\"> (x,y.so)\n"
    "     0.001800  CPU 4    prog            7/8             cpu_clock period 1000  9 [outside]\n"
    "     0.001800  CPU 4    [unknown]       -/-             record of kind 9 (sample), bytes 32\n"
    "     0.001900  CPU 1    [unknown]       0/0             kernel symbol gone 0xffffffff81000040-0xffffffff81000060 bpf_prog\n"
    "     0.001900  CPU 1    [unknown]       0/0             BPF program 33 loaded\n"
    "     0.002000  CPU 3    prog            7/8             switch period 1 next_pid=-5 name=a?b  ffffffff81000040 schedule ([kernel])\n"
    "    12.345678  CPU 3    prog            7/8             lost 12 records\n"
    "    12.345679  CPU 3    prog            7/8             throttle cpu_clock\n"
    "    20.000000  CPU 3    prog            7/8             cpu_clock period 1000  2040 [unknown] (prog+0x2000)\n"
    "    20.000000  CPU 1    [unknown]       9/9             exit\n";
/* clang-format on */

static void init(struct shown *s)
{
	*s = (struct shown){0};
	buf_init(&s->out, MAX_SHOWN_BYTES);
	buf_init(&s->all, MAX_SHOWN_BYTES);
}

static void fini(struct shown *s)
{
	buf_fini(&s->out);
	buf_fini(&s->all);
}

TEST(lines)
{
	struct asked asked = {0};
	struct shown shown;
	uint64_t nr = 0;

	make_session();
	init(&shown);
	assert_int_equal(report(&shown, &asked, true, &nr), 0);
	assert_int_equal(keep(&shown), 0);
	assert_string_equal(buf_str(&shown.all), want);
	assert_int_equal(nr, 18);
	/* once of each, and again what was mapped anew in between */
	assert_int_equal(asked.nr_user, 4);
	assert_int_equal(asked.nr_kernel, 3);
	fini(&shown);
	remove_session();
}

static const char want_csv[] =
    /* clang-format off */
    "time_ns,monotonic_ns,iteration,cpu,pid,tid,comm,kind,event,period,address,function,object,stack,branches,fields,data_address,physical_address,data_source,weight,stack_bytes,start,end,offset,rights,build_id,name,parent_pid,parent_tid,lost,bpf_id,instance,raw,base,enabled_ns,running_ns,bytes,counts,weight_2,weight_3,transaction,data_page_bytes,code_page_bytes,cgroup_id,aux_bytes,other_pid,other_tid,namespaces,flags,cookie,thread\n"
    "-5,5,,,7,8,[unknown],comm,,,,,,,,,,,,,,,,,,,before,,,,,,,,,,,,,,,,,,,,,,,,\n"
    "500000,500010,,1,7,8,prog,exec,,,,,,,,,,,,,,,,,,,prog,,,,,,,,,,,,,,,,,,,,,,,,2\n"
    "1000000,1000010,0,3,7,8,prog,sample,cpu_clock,1000,0xffffffff81000040,schedule,[kernel],\"0xffffffff81000040 schedule ([kernel]); 0xffffffff81000080 do_syscall_64 ([kernel]); 0x1040 old(int) (prog); 0x2040 [unknown] (prog+0x2000)\",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,2\n"
    "1100000,1100010,,1,9,9,[unknown],fork,,,,,,,,,,,,,,,,,,,,7,7,,,,,,,,,,,,,,,,,,,,,,\n"
    "1200000,1200010,0,4,7,8,prog,sample,cpu_clock,1000,0x1040,old(int),prog,\"0x1040 old(int) (prog)\",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,2\n"
    "1300000,1300010,0,4,7,8,prog,sample,cpu_clock,1000,0x1040,old(int),prog,\"0x1040 old(int) (prog)\",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,2\n"
    "1500000,1500010,0,3,,,,reading,memory_used,,,,,,,,,,,,,,,,,,,,,,,,77,,,,,,,,,,,,,,,,,,\n"
    "1600000,1600010,,1,7,8,prog,mmap,,,,,,,,,,,,,,0x1000,0x1800,0x100,r-xp,abcdef12,/lib/x?.so,,,,,,,,,,,,,,,,,,,,,,,,2\n"
    "1700000,1700010,0,4,7,8,prog,sample,cpu_clock,1000,0x1040,\"new<\"\"a\"\">\",\"x,y.so\",\"0x1040 new<\"\"a\"\"> (x,y.so)\",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,2\n"
    "1800000,1800010,0,4,7,8,prog,sample,cpu_clock,1000,0x9,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,2\n"
    "1800000,1800010,0,4,,,[unknown],sample,,,,,,,,,,,,,,,,,,,,,,,,,,,,,32,,,,,,,,,,,,,,\n"
    "1900000,1900010,,1,0,0,[unknown],ksymbol_gone,,,,,,,,,,,,,,0xffffffff81000040,0xffffffff81000060,,,,bpf_prog,,,,,,,,,,,,,,,,,,,,,,,,\n"
    "1900000,1900010,,1,0,0,[unknown],bpf_loaded,,,,,,,,,,,,,,,,,,,,,,,33,,,,,,,,,,,,,,,,,,,,\n"
    "2000000,2000010,0,3,7,8,prog,sample,switch,1,0xffffffff81000040,schedule,[kernel],\"0xffffffff81000040 schedule ([kernel])\",,next_pid=-5 name=a?b,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,2\n"
    "12345678999,12345679009,0,3,7,8,prog,lost,cpu_clock,,,,,,,,,,,,,,,,,,,,,12,,,,,,,,,,,,,,,,,,,,,2\n"
    "12345679000,12345679010,0,3,7,8,prog,throttle,cpu_clock,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,2\n"
    "20000000000,20000000010,1,3,7,8,prog,sample,cpu_clock,1000,0x2040,[unknown] (prog+0x2000),prog,\"0x2040 [unknown] (prog+0x2000)\",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,2\n"
    "20000000001,20000000011,,1,9,9,[unknown],exit,,,,,,,,,,,,,,,,,,,,7,7,,,,,,,,,,,,,,,,,,,,,,\n";
/* clang-format on */

static const char want_json[] =
    /* clang-format off */
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":-5,\"monotonic_ns\":5,\"iteration\":null,\"cpu\":null,\"pid\":7,\"tid\":8,\"comm\":\"[unknown]\",\"kind\":\"comm\",\"event\":null,\"name\":\"before\"}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":500000,\"monotonic_ns\":500010,\"iteration\":null,\"cpu\":1,\"pid\":7,\"tid\":8,\"comm\":\"prog\",\"kind\":\"exec\",\"event\":null,\"name\":\"prog\",\"thread\":2}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":1000000,\"monotonic_ns\":1000010,\"iteration\":0,\"cpu\":3,\"pid\":7,\"tid\":8,\"comm\":\"prog\",\"kind\":\"sample\",\"event\":\"cpu_clock\",\"period\":1000,\"address\":\"0xffffffff81000040\",\"function\":\"schedule\",\"object\":\"[kernel]\",\"stack\":[{\"address\":\"0xffffffff81000040\",\"function\":\"schedule\",\"object\":\"[kernel]\"},{\"address\":\"0xffffffff81000080\",\"function\":\"do_syscall_64\",\"object\":\"[kernel]\"},{\"address\":\"0x1040\",\"function\":\"old(int)\",\"object\":\"prog\"},{\"address\":\"0x2040\",\"function\":\"[unknown] (prog+0x2000)\",\"object\":\"prog\"}],\"thread\":2}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":1100000,\"monotonic_ns\":1100010,\"iteration\":null,\"cpu\":1,\"pid\":9,\"tid\":9,\"comm\":\"[unknown]\",\"kind\":\"fork\",\"event\":null,\"parent_pid\":7,\"parent_tid\":7}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":1200000,\"monotonic_ns\":1200010,\"iteration\":0,\"cpu\":4,\"pid\":7,\"tid\":8,\"comm\":\"prog\",\"kind\":\"sample\",\"event\":\"cpu_clock\",\"period\":1000,\"address\":\"0x1040\",\"function\":\"old(int)\",\"object\":\"prog\",\"stack\":[{\"address\":\"0x1040\",\"function\":\"old(int)\",\"object\":\"prog\"}],\"thread\":2}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":1300000,\"monotonic_ns\":1300010,\"iteration\":0,\"cpu\":4,\"pid\":7,\"tid\":8,\"comm\":\"prog\",\"kind\":\"sample\",\"event\":\"cpu_clock\",\"period\":1000,\"address\":\"0x1040\",\"function\":\"old(int)\",\"object\":\"prog\",\"stack\":[{\"address\":\"0x1040\",\"function\":\"old(int)\",\"object\":\"prog\"}],\"thread\":2}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":1500000,\"monotonic_ns\":1500010,\"iteration\":0,\"cpu\":3,\"pid\":null,\"tid\":null,\"comm\":null,\"kind\":\"reading\",\"event\":\"memory_used\",\"raw\":77}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":1600000,\"monotonic_ns\":1600010,\"iteration\":null,\"cpu\":1,\"pid\":7,\"tid\":8,\"comm\":\"prog\",\"kind\":\"mmap\",\"event\":null,\"start\":\"0x1000\",\"end\":\"0x1800\",\"offset\":\"0x100\",\"rights\":\"r-xp\",\"build_id\":\"abcdef12\",\"name\":\"/lib/x?.so\",\"thread\":2}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":1700000,\"monotonic_ns\":1700010,\"iteration\":0,\"cpu\":4,\"pid\":7,\"tid\":8,\"comm\":\"prog\",\"kind\":\"sample\",\"event\":\"cpu_clock\",\"period\":1000,\"address\":\"0x1040\",\"function\":\"new<\\\"a\\\">\",\"object\":\"x,y.so\",\"stack\":[{\"address\":\"0x1040\",\"function\":\"new<\\\"a\\\">\",\"object\":\"x,y.so\"}],\"thread\":2}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":1800000,\"monotonic_ns\":1800010,\"iteration\":0,\"cpu\":4,\"pid\":7,\"tid\":8,\"comm\":\"prog\",\"kind\":\"sample\",\"event\":\"cpu_clock\",\"period\":1000,\"address\":\"0x9\",\"thread\":2}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":1800000,\"monotonic_ns\":1800010,\"iteration\":0,\"cpu\":4,\"pid\":null,\"tid\":null,\"comm\":\"[unknown]\",\"kind\":\"sample\",\"event\":null,\"bytes\":32}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":1900000,\"monotonic_ns\":1900010,\"iteration\":null,\"cpu\":1,\"pid\":0,\"tid\":0,\"comm\":\"[unknown]\",\"kind\":\"ksymbol_gone\",\"event\":null,\"start\":\"0xffffffff81000040\",\"end\":\"0xffffffff81000060\",\"name\":\"bpf_prog\"}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":1900000,\"monotonic_ns\":1900010,\"iteration\":null,\"cpu\":1,\"pid\":0,\"tid\":0,\"comm\":\"[unknown]\",\"kind\":\"bpf_loaded\",\"event\":null,\"bpf_id\":33}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":2000000,\"monotonic_ns\":2000010,\"iteration\":0,\"cpu\":3,\"pid\":7,\"tid\":8,\"comm\":\"prog\",\"kind\":\"sample\",\"event\":\"switch\",\"period\":1,\"address\":\"0xffffffff81000040\",\"function\":\"schedule\",\"object\":\"[kernel]\",\"stack\":[{\"address\":\"0xffffffff81000040\",\"function\":\"schedule\",\"object\":\"[kernel]\"}],\"fields\":{\"next_pid\":-5,\"name\":\"a?b\"},\"thread\":2}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":12345678999,\"monotonic_ns\":12345679009,\"iteration\":0,\"cpu\":3,\"pid\":7,\"tid\":8,\"comm\":\"prog\",\"kind\":\"lost\",\"event\":\"cpu_clock\",\"lost\":12,\"thread\":2}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":12345679000,\"monotonic_ns\":12345679010,\"iteration\":0,\"cpu\":3,\"pid\":7,\"tid\":8,\"comm\":\"prog\",\"kind\":\"throttle\",\"event\":\"cpu_clock\",\"thread\":2}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":20000000000,\"monotonic_ns\":20000000010,\"iteration\":1,\"cpu\":3,\"pid\":7,\"tid\":8,\"comm\":\"prog\",\"kind\":\"sample\",\"event\":\"cpu_clock\",\"period\":1000,\"address\":\"0x2040\",\"function\":\"[unknown] (prog+0x2000)\",\"object\":\"prog\",\"stack\":[{\"address\":\"0x2040\",\"function\":\"[unknown] (prog+0x2000)\",\"object\":\"prog\"}],\"thread\":2}\n"
    "{\"report\":\"records\",\"session\":\"a\\\"b\",\"time_ns\":20000000001,\"monotonic_ns\":20000000011,\"iteration\":null,\"cpu\":1,\"pid\":9,\"tid\":9,\"comm\":\"[unknown]\",\"kind\":\"exit\",\"event\":null,\"parent_pid\":7,\"parent_tid\":7}\n";
/* clang-format on */

/* The same records; the name of the session may be anything. */
TEST(rows)
{
	static const struct {
		enum report_records_form form;
		const char *session;
		bool has_header;
		const char *want;
	} cases[] = {
	    {REPORT_RECORDS_CSV, NULL, false, want_csv},
	    {REPORT_RECORDS_CSV, NULL, true, want_csv},
	    {REPORT_RECORDS_NDJSON, "a\"b", false, want_json},
	};

	make_session();
	for (size_t i = 0; i < NR(cases); i++) {
		const char *text = cases[i].want;
		struct asked asked = {0};
		struct shown shown;
		uint64_t nr = 0;

		init(&shown);
		shown.form = cases[i].form;
		shown.session = cases[i].session;
		shown.has_header = cases[i].has_header;
		assert_int_equal(report(&shown, &asked, true, &nr), 0);
		assert_int_equal(keep(&shown), 0);
		if (cases[i].has_header)
			text = strchr(text, '\n') + 1;
		assert_string_equal(buf_str(&shown.all), text);
		assert_int_equal(nr, 18);
		fini(&shown);
	}
	remove_session();
}

/* Of several sessions: before all else. */
TEST(session_in_rows)
{
	struct asked asked = {0};
	struct shown shown;
	uint64_t nr = 0;

	make_session();
	init(&shown);
	shown.form = REPORT_RECORDS_CSV;
	shown.session = "a,\"b";
	assert_int_equal(report(&shown, &asked, true, &nr), 0);
	assert_int_equal(keep(&shown), 0);
	assert_memory_equal(buf_str(&shown.all), "session,time_ns,", 16);
	assert_non_null(
	    strstr(buf_str(&shown.all), "\n\"a,\"\"b\",500000,500010,,1,7,8,prog,exec,,"));
	fini(&shown);
	remove_session();
}

/* What only hardware says: branches, data, weights. */
static void write_hardware(void)
{
	static const uint64_t words[] = {
	    0x1234, /* data address */
	    5,      /* period */
	    2,      /* branches */
	    0x1040,
	    0x2040,
	    1 | 7 << 4, /* mispredicted, cycles 7 */
	    0xffffffff81000040,
	    0x1040,
	    2,         /* predicted */
	    99,        /* weight */
	    0x5080021, /* data source */
	    0xabc000,  /* physical address */
	};
	struct trace_writer *w;
	struct buf b;
	size_t at;

	folder = tree_make();
	folder_fd = open(folder.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder_fd >= 0);
	w = begin(0, 0);
	buf_init(&b, MAX_BYTES);
	at = sample_begin(&b, 100, PERF_RECORD_MISC_USER, START_NS);
	buf_le64(&b, 0x1040);
	record_id(&b, 7, 8, START_NS);
	for (size_t i = 0; i < NR(words); i++)
		buf_le64(&b, words[i]);
	record_end(&b, at);
	trace_writer_ids(w, ids, NR(ids));
	trace_writer_records(w, TRACE_RING_SAMPLES, 3, b.data, b.len);
	buf_fini(&b);
	end(w, "s.0.0.cpuperf", START_NS);
	w = begin(TRACE_COMMON, TRACE_COMMON);
	end(w, "s.common.cpuperf", START_NS);
}

TEST(hardware)
{
	static const char *const want_rows[] = {
	    [REPORT_RECORDS_CSV] =
		"\n0,10,0,3,7,8,prog,sample,cpu_clock,5,0x1040,old(int),prog,\"0x1040 old(int) "
		"(prog)\",\"0x1040 old(int) (prog) -> 0x2040 [unknown] (prog+0x2000), "
		"mispredicted, "
		"cycles 7; 0xffffffff81000040 schedule ([kernel]) -> 0x1040 old(int) (prog)\",,"
		"0x1234,0xabc000,0x5080021,99,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,2\n",
	    [REPORT_RECORDS_NDJSON] =
		",\"branches\":[{\"from\":{\"address\":\"0x1040\",\"function\":\"old(int)\","
		"\"object\":\"prog\"},\"to\":{\"address\":\"0x2040\",\"function\":\"[unknown] "
		"(prog+0x2000)\",\"object\":\"prog\"},\"mispredicted\":true,\"cycles\":7},"
		"{\"from\":{\"address\":\"0xffffffff81000040\",\"function\":\"schedule\","
		"\"object\":\"[kernel]\"},\"to\":{\"address\":\"0x1040\",\"function\":\"old(int)\","
		"\"object\":\"prog\"},\"mispredicted\":false}],\"data_address\":\"0x1234\","
		"\"physical_address\":\"0xabc000\",\"data_source\":\"0x5080021\",\"weight\":99,"
		"\"thread\":2}\n",
	};
	uint8_t saved[ATTR_BYTES];

	memcpy(saved, attrs[0], sizeof(saved));
	attr_bytes(&(struct attr){.period = 5,
				  .sample_type = S_IDENTIFIER | S_IP | S_TID | S_TIME | S_ADDR |
						 S_PERIOD | S_BRANCH_STACK | S_WEIGHT | S_DATA_SRC |
						 S_PHYS_ADDR,
				  .bits = ATTR_SAMPLE_ID_ALL},
		   attrs[0]);
	write_hardware();
	for (enum report_records_form form = REPORT_RECORDS_CSV; form <= REPORT_RECORDS_NDJSON;
	     form++) {
		struct asked asked = {0};
		struct shown shown;
		uint64_t nr = 0;

		init(&shown);
		shown.form = form;
		assert_int_equal(report(&shown, &asked, true, &nr), 0);
		assert_int_equal(keep(&shown), 0);
		if (!strstr(buf_str(&shown.all), want_rows[form]))
			fail_msg("%s is not in %s", want_rows[form], buf_str(&shown.all));
		fini(&shown);
	}
	memcpy(attrs[0], saved, sizeof(saved));
	remove_session();
}

static void write_unknown(uint32_t kind)
{
	struct trace_writer *w;
	struct buf b;

	folder = tree_make();
	folder_fd = open(folder.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder_fd >= 0);
	w = begin(0, 0);
	buf_init(&b, MAX_BYTES);
	add_words(&b, kind, 0, (uint64_t[]){1}, 1);
	trace_writer_records(w, TRACE_RING_SAMPLES, 3, b.data, b.len);
	buf_fini(&b);
	end(w, "s.0.0.cpuperf", START_NS);
	w = begin(TRACE_COMMON, TRACE_COMMON);
	end(w, "s.common.cpuperf", START_NS);
}

/* Without the frame of ids no layout is known: of such records only the kind is decoded. */
TEST(records_without_layout)
{
	static const uint32_t kinds[] = {PERF_RECORD_COMM, PERF_RECORD_MMAP2, PERF_RECORD_KSYMBOL,
					 PERF_RECORD_CGROUP};

	for (size_t i = 0; i < NR(kinds); i++) {
		write_unknown(kinds[i]);
		for (enum report_records_form form = 0; form <= REPORT_RECORDS_NDJSON; form++) {
			struct asked asked = {0};
			struct shown shown;
			uint64_t nr = 0;

			init(&shown);
			shown.form = form;
			assert_int_equal(report(&shown, &asked, true, &nr), 0);
			assert_int_equal(nr, 1);
			fini(&shown);
		}
		remove_session();
	}
}

/* Records of tasks that the session above does not have; the time is their last word. */
static const struct {
	uint32_t kind;
	uint16_t misc;
	uint64_t words[10];
	size_t nr;
	const char *text, *row;
} of_tasks[] = {
    {PERF_RECORD_COMM,
     0,
     {PIDS(7, 8), 'x', PIDS(7, 8), 0},
     4,
     " name x",
     "comm\",\"event\":null,\"name\":\"x\""},
    {PERF_RECORD_FORK,
     0,
     {PIDS(7, 7), PIDS(9, 8), 0, PIDS(7, 8), 0},
     5,
     " thread of 7/8",
     "thread\",\"event\":null,\"parent_pid\":7,\"parent_tid\":8"},
    {PERF_RECORD_FORK,
     0,
     {PIDS(9, 7), PIDS(9, 7), 0, PIDS(9, 9), 0},
     5,
     " fork of 7/7",
     "fork\",\"event\":null,\"parent_pid\":7,\"parent_tid\":7"},
    {PERF_RECORD_MMAP2,
     0,
     {PIDS(7, 8), 0x1000, 0x800, 0x100, PIDS(8, 1), 99, 1, PIDS(3, 1), 'x', PIDS(7, 8)},
     10,
     " mmap 0x1000-0x1800 offset 0x100 rw-s x",
     "\"start\":\"0x1000\",\"end\":\"0x1800\",\"offset\":\"0x100\",\"rights\":\"rw-s\",\"name\":"
     "\"x\""},
    {PERF_RECORD_MMAP,
     0,
     {PIDS(7, 8), 0x1000, 0x800, 0x100, 'x', PIDS(7, 8)},
     6,
     " mmap 0x1000-0x1800 offset 0x100 x",
     "\"offset\":\"0x100\",\"name\":\"x\""},
    {PERF_RECORD_LOST_SAMPLES,
     0,
     {18, PIDS(7, 8)},
     2,
     " lost 18 samples",
     "lost_samples\",\"event\":null,\"lost\":18"},
    {PERF_RECORD_KSYMBOL,
     0,
     {0x1000, 0x800 | 1ull << 32, 'x', PIDS(7, 8)},
     4,
     " kernel symbol 0x1000-0x1800 x",
     "ksymbol\",\"event\":null,\"start\":\"0x1000\",\"end\":\"0x1800\",\"name\":\"x\""},
    {PERF_RECORD_BPF_EVENT,
     0,
     {2 | 33ull << 32, 0, PIDS(7, 8)},
     3,
     " BPF program 33 unloaded",
     "bpf_unloaded\",\"event\":null,\"bpf_id\":33"},
    {PERF_RECORD_BPF_EVENT,
     0,
     {3 | 33ull << 32, 0, PIDS(7, 8)},
     3,
     " BPF program 33\n",
     "bpf\",\"event\":null,\"bpf_id\":33"},
    {PERF_RECORD_AUX,
     0,
     {4096, 64, PERF_AUX_FLAG_TRUNCATED, PIDS(7, 8)},
     4,
     " aux offset 0x1000 bytes 64 truncated",
     "aux\",\"event\":null,\"offset\":\"0x1000\",\"aux_bytes\":64,\"flags\":\"truncated\""},
    {PERF_RECORD_ITRACE_START,
     0,
     {PIDS(7, 8), PIDS(7, 8)},
     2,
     " instruction trace begins",
     "itrace_start\""},
    {PERF_RECORD_SWITCH, 0, {PIDS(7, 8)}, 1, " switch in\n", "switch_in\""},
    {PERF_RECORD_SWITCH,
     PERF_RECORD_MISC_SWITCH_OUT,
     {PIDS(7, 8)},
     1,
     " switch out\n",
     "switch_out\""},
    {PERF_RECORD_SWITCH,
     PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
     {PIDS(7, 8)},
     1,
     " switch out preempted\n",
     "switch_out_preempted\""},
    {PERF_RECORD_SWITCH_CPU_WIDE,
     0,
     {PIDS(9, -1), PIDS(7, 8)},
     2,
     " switch in from 9/-\n",
     "switch_in\",\"event\":null,\"other_pid\":9,\"other_tid\":null"},
    {PERF_RECORD_SWITCH_CPU_WIDE,
     PERF_RECORD_MISC_SWITCH_OUT,
     {PIDS(9, 10), PIDS(7, 8)},
     2,
     " switch out to 9/10\n",
     "switch_out\",\"event\":null,\"other_pid\":9,\"other_tid\":10"},
    {PERF_RECORD_SWITCH_CPU_WIDE,
     PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
     {PIDS(9, 10), PIDS(7, 8)},
     2,
     " switch out preempted to 9/10\n",
     "switch_out_preempted\",\"event\":null,\"other_pid\":9"},
    {PERF_RECORD_NAMESPACES,
     0,
     {PIDS(7, 8), 1, 4, 5, PIDS(7, 8)},
     5,
     " namespaces net=4:5",
     "\"namespaces\":\"net=4:5\""},
    {PERF_RECORD_CGROUP,
     0,
     {77, 'x', PIDS(7, 8)},
     3,
     " cgroup 77 x",
     "cgroup\",\"event\":null,\"name\":\"x\",\"cgroup_id\":77"},
    {PERF_RECORD_TEXT_POKE,
     0,
     {0x1000, 4ull << 16, PIDS(7, 8)},
     3,
     " kernel code changed 0x1000-0x1004",
     "text_poke\",\"event\":null,\"start\":\"0x1000\",\"end\":\"0x1004\""},
    {PERF_ABI_RECORD_CALLCHAIN_DEFERRED,
     0,
     {0xabc, 1, 5, PIDS(7, 8)},
     4,
     " deferred callchain, cookie 0xabc",
     "callchain_deferred\",\"event\":null,\"cookie\":\"0xabc\""},
};

static void write_of_task(size_t i)
{
	struct trace_writer *w = begin(TRACE_COMMON, TRACE_COMMON);
	uint64_t words[NR(of_tasks[0].words) + 1];
	struct buf b;

	folder = tree_make();
	folder_fd = open(folder.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder_fd >= 0);
	memcpy(words, of_tasks[i].words, sizeof(of_tasks[i].words));
	words[of_tasks[i].nr] = START_NS;
	buf_init(&b, MAX_BYTES);
	add_words(&b, of_tasks[i].kind, of_tasks[i].misc, words, of_tasks[i].nr + 1);
	trace_writer_records(w, TRACE_RING_SIDE_BAND, 1, b.data, b.len);
	buf_fini(&b);
	end(w, "s.common.cpuperf", START_NS);
	end(begin(0, 0), "s.0.0.cpuperf", START_NS);
}

TEST(each_kind)
{
	for (size_t i = 0; i < NR(of_tasks); i++) {
		write_of_task(i);
		for (int is_row = 0; is_row < 2; is_row++) {
			const char *part = is_row ? of_tasks[i].row : of_tasks[i].text;
			struct asked asked = {0};
			struct shown shown;
			uint64_t nr = 0;

			init(&shown);
			shown.form = is_row ? REPORT_RECORDS_NDJSON : REPORT_RECORDS_TEXT;
			assert_int_equal(report(&shown, &asked, true, &nr), 0);
			assert_int_equal(keep(&shown), 0);
			if (!strstr(buf_str(&shown.all), part))
				fail_msg("%s is not in %s", part, buf_str(&shown.all));
			fini(&shown);
		}
		remove_session();
	}
}

/* Records that are not printed still define mappings. */
TEST(some_lines)
{
	struct asked asked = {0};
	struct shown shown;
	uint64_t nr = 0;
	size_t nr_lines = 0;

	make_session();
	init(&shown);
	assert_int_equal(report(&shown, &asked, false, &nr), 0);
	for (const char *p = buf_str(&shown.out); (p = strchr(p, '\n')); p++)
		nr_lines++;
	assert_int_equal(nr_lines, 5);
	assert_non_null(strstr(buf_str(&shown.out), "1040 old(int) (prog)\n"));
	assert_non_null(strstr(buf_str(&shown.out), "1040 new<\"a\"> (x,y.so)\n"));
	assert_int_equal(nr, 18);
	fini(&shown);
	remove_session();
}

/* "f3" behind each address, in the order of the chains. */
static void check_deep(const char *text)
{
	for (size_t i = 0; i < NR_DEEP * 2; i++)
		for (size_t k = 0; k < DEEP; k++) {
			uint64_t address = DEEP_AT + 16 * (i / 2 * DEEP + k) - (k > 0);
			char place[48];

			snprintf(place, sizeof(place), " %" PRIx64 " f%u\n", address + (k > 0),
				 deep_name(i % 2, address));
			text = strchr(text, '\n') + 1;
			if (strncmp(text - strlen(place), place, strlen(place)) != 0)
				fail_msg("not%s", place);
		}
	assert_string_equal(text, "");
}

/* What is remembered is of that address and that process. */
TEST(names_are_of_their_place)
{
	const struct report_names names = {task_of_pid, find_epoch, find_deep, NULL, NULL};
	struct shown shown;
	struct report_records_config config = {
	    .names = &names,
	    .problem = take_problem,
	    .out = &shown.out,
	    .flush = keep,
	    .arg = &shown,
	};
	uint64_t nr = 0;

	write_deep();
	init(&shown);
	assert_int_equal(open_session(&config.session), 0);
	assert_int_equal(report_records(&config, &nr), 0);
	profile_session_close(config.session);
	assert_int_equal(nr, NR_DEEP * 2);
	assert_true(shown.all.len > 0); /* it was flushed in between */
	assert_int_equal(keep(&shown), 0);
	check_deep(buf_str(&shown.all));
	fini(&shown);
	remove_session();
}

/* What flush says ends the report. */
TEST(flush_fails)
{
	const struct report_names names = {task_of_pid, find_epoch, find_deep, NULL, NULL};
	struct shown shown;
	struct report_records_config config = {
	    .names = &names,
	    .problem = take_problem,
	    .out = &shown.out,
	    .flush = keep,
	    .arg = &shown,
	};
	uint64_t nr = 0;

	write_deep();
	for (int failing = 1; failing < 4; failing++) {
		init(&shown);
		shown.failing = failing;
		assert_int_equal(open_session(&config.session), 0);
		assert_int_equal(report_records(&config, &nr), -ENOSPC);
		profile_session_close(config.session);
		assert_int_equal(nr, 0);
		assert_int_equal(shown.all.len > 0, failing > 1);
		fini(&shown);
	}
	remove_session();
}

static int report_all(void *arg)
{
	struct asked asked = {0};
	struct shown shown;
	uint64_t nr;
	int rc;

	init(&shown);
	shown.form = *(enum report_records_form *)arg;
	rc = report(&shown, &asked, true, &nr);
	fini(&shown);
	return rc;
}

TEST(everything_fails_once)
{
	make_session();
	for (enum report_records_form form = 0; form <= REPORT_RECORDS_NDJSON; form++)
		inject_every(report_all, &form, 30, 10);
	remove_session();
}
