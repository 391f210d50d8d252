/*
 * From the memories of processes to counts and samples: a test plays the agent.
 */
#include "kit.h"
#include "test_heap_agent.h"
#include "test_session.h"

#include "base/array.h"
#include "base/perf_abi.h"
#include "heap/heap.h"
#include "session/source_uses.h"

#include <sys/wait.h>

static struct rig rig;
static struct heap_use heap;
static const struct source_core core;
static pid_t command;

#define SAMPLED(name)    "{\"group_name\":\"heap\",\"event_name\":\"" name "\",\"rate\":1},"
#define WITH(name, more) "{\"group_name\":\"heap\",\"event_name\":\"" name "\"," more "},"

#define ADAPTIVE(name) WITH(name, "\"rate\":4096,\"flags\":[\"adaptive\"]")

static void open_heap(const char *events)
{
	rig_init(&rig, 1, "", events);
	command = getpid();
	rig.plan.target = (struct plan_target){.ids = &command, .nr_ids = 1, .is_command = true};
	heap = (struct heap_use){.use = {.source = &heap_source, .plan = &rig.plan, .core = &core}};
	assert_int_equal(heap_open(&heap.use, NULL), 0);
}

HOOK(after_each)
{
	heap_close(&heap.use);
	rig_fini(&rig);
}

static void connect_agent(struct agent *a)
{
	agent_connect(a, heap_socket(&heap.use));
	assert_non_null(a->header);
}

/* A stack of the innermost address pc, with so many samples and bytes, each freed or not. */
static struct heap_stack *add(struct agent *a, uint64_t pc, uint64_t samples, uint64_t bytes)
{
	uint32_t node = agent_node(a, HEAP_ROOT, 1000);
	struct heap_stack *s = agent_stack(a, agent_node(a, agent_node(a, node, 0x50), pc));

	s->samples = samples;
	s->bytes = bytes;
	return s;
}

static void free_all(struct heap_stack *s)
{
	s->freed_samples = s->samples;
	s->freed_bytes = s->bytes;
}

/* Reads at that time, and expects the samples of the event: their number and weight, over stacks.
 */
static void expect_samples(size_t event, uint64_t samples, uint64_t weight)
{
	struct source_at at = {0};
	struct aggregate_stack s;
	uint64_t nr = 0, sum = 0;

	while (heap_next(&heap.use, event, &at, &s)) {
		nr += s.samples;
		sum += s.weight;
	}
	assert_int_equal(nr, samples);
	assert_int_equal(sum, weight);
}

TEST(the_agent_is_told_what_the_events_need)
{
	static const struct {
		const char *events;
		uint64_t rate;
		uint32_t wants;
	} cases[] = {
	    {EV("heap", "allocated") EV("heap", "allocations") EV("heap", "max"), 0, 0},
	    {EV("heap", "live"), 1, HEAP_WANTS_BLOCKS},
	    {EV("heap", "peak"), 1, HEAP_WANTS_BLOCKS | HEAP_WANTS_PEAK},
	    {EV("heap", "path_peak"), 1, HEAP_WANTS_BLOCKS | HEAP_WANTS_STACKS | HEAP_WANTS_PATHS},
	    {EV("resource", "fd_live"), 0, HEAP_WANTS_FDS},
	    {EV("resource", "io_read") EV("resource", "io_write_calls"), 0, HEAP_WANTS_IO},
	    {EV("resource", "fd_opened") EV("heap", "live"), 1, HEAP_WANTS_BLOCKS | HEAP_WANTS_FDS},
	    {EV("heap", "overhead"), 1, HEAP_WANTS_OVERHEAD},
	    {EV("heap", "resident"), 1, HEAP_WANTS_BLOCKS | HEAP_WANTS_LAST_PAGES},
	    {EV("heap", "untouched"), 1,
	     HEAP_WANTS_BLOCKS | HEAP_WANTS_UNTOUCHED | HEAP_WANTS_LAST_PAGES},
	    {EV("heap", "lifetime"), 1, HEAP_WANTS_BLOCKS | HEAP_WANTS_LIVES},
	    {EV("heap", "unreachable"), 1, HEAP_WANTS_BLOCKS | HEAP_WANTS_REACH},
	    {WITH("allocated", "\"rate\":512"), 512, 0},
	    {WITH("allocated", "\"rate\":512,\"flags\":[\"callchain\"]"), 512, HEAP_WANTS_STACKS},
	    {WITH("leaked", "\"rate\":512,\"flags\":[\"pc\"]"), 512,
	     HEAP_WANTS_STACKS | HEAP_WANTS_BLOCKS},
	    {WITH("allocated", "\"rate\":512") EV("heap", "freed"), 512, HEAP_WANTS_BLOCKS},
	    {ADAPTIVE("allocated") EV("heap", "freed"), 4096,
	     HEAP_WANTS_BLOCKS | HEAP_WANTS_ADAPTIVE},
	    {ADAPTIVE("allocated") WITH("freed", "\"rate\":4096"), 4096, HEAP_WANTS_BLOCKS},
	    {WITH("allocated", "\"rate\":1,\"flags\":[\"adaptive\"]"), 1, 0},
	    /* what does not add up over rates */
	    {ADAPTIVE("path_peak"), 4096, HEAP_WANTS_BLOCKS | HEAP_WANTS_STACKS | HEAP_WANTS_PATHS},
	    {ADAPTIVE("allocated") EV("heap", "resident"), 4096,
	     HEAP_WANTS_BLOCKS | HEAP_WANTS_LAST_PAGES},
	};

	for (size_t i = 0; i < ARRAY_NR(cases); i++) {
		if (i) {
			heap_close(&heap.use);
			rig_fini(&rig);
		}
		open_heap(cases[i].events);
		assert_int_equal(heap.config.rate, cases[i].rate);
		assert_int_equal(heap.config.wants, cases[i].wants);
	}
}

/* Of a session that has the source. */
static void assert_refused(const char *why)
{
	struct source_uses s = {.nr = 0};

	assert_int_equal(source_uses_init(&s, &rig.plan), 0);
	assert_int_equal(s.nr, 1);
	assert_int_equal(source_uses_open(&s, NULL), 0);
	assert_null(source_uses_socket(&s, "CPUPERF_HEAP"));
	assert_int_equal(s.of_event[0]->error, -ENOTSUP);
	assert_int_equal(s.of_event[0]->support.state, READING_NOT_SUPPORTED);
	assert_non_null(strstr(s.of_event[0]->support.reason, why));
	source_uses_fini(&s);
}

TEST(without_a_command_the_reason_is_said)
{
	rig_init(&rig, 1, "", EV("heap", "live"));
	assert_refused("a command that cpuperf starts");
	rig.plan.target.is_command = true;
	rig.plan.has_control = true;
	assert_refused("--control cannot disable");
	rig.plan.has_control = false;
	rig.plan.heap_refused = "ls is linked statically";
	assert_refused("ls is linked statically");
}

TEST(counts_are_those_of_all_processes)
{
	struct agent a, b;
	struct heap_stack *s;

	open_heap(EV("heap", "allocated") EV("heap", "allocations") EV("heap", "max") EV(
	    "heap", "live") EV("heap", "freed") EV("heap", "peak") EV("heap", "path_peak"));
	heap_read(&heap.use, 10);
	assert_false(heap_is_silent(&heap));
	connect_agent(&a);
	a.threads[0] = (struct heap_thread){.calls = 3, .bytes = 30, .max_bytes = 20};
	s = add(&a, 0x100, 2, 20);
	s->peak_samples = 1;
	s->peak_bytes = 15;
	s->own_peak_samples = 1;
	s->own_peak_bytes = 17;
	s = add(&a, 0x200, 1, 10);
	free_all(s);
	s->peak_samples = s->own_peak_samples = 1;
	s->peak_bytes = s->own_peak_bytes = 10;
	a.header->peak = 1000; /* to find the moment only */
	connect_agent(&b);     /* of the same process: as by exec */
	b.threads[0] = (struct heap_thread){.calls = 1, .bytes = 7, .max_bytes = 7};
	heap_read(&heap.use, 20);
	assert_int_equal(heap_count(&heap, 0), 37);
	assert_int_equal(heap_count(&heap, 1), 4);
	assert_int_equal(heap_count(&heap, 2), 20);
	assert_int_equal(heap_count(&heap, 3), 20);
	assert_int_equal(heap_count(&heap, 4), 10);
	assert_int_equal(heap_count(&heap, 5), 25);
	assert_int_equal(heap_count(&heap, 6), 17); /* the larger one */

	b.threads[0].bytes = 8;
	heap_look(&heap.use);
	assert_int_equal(heap_count(&heap, 0), 38);
	assert_int_equal(heap_count(&heap, 3), 0); /* it was replaced before */
	b.threads[0].bytes = 1;                    /* no sum becomes less */
	heap_look(&heap.use);
	assert_int_equal(heap_count(&heap, 0), 37);
	b.threads[0].bytes = 9;
	a.threads[0].bytes = 1000; /* it was replaced: nothing is read any more */
	heap_read(&heap.use, 30);  /* what is not live any more is not counted */
	assert_int_equal(heap_count(&heap, 0), 39);
	assert_int_equal(heap_count(&heap, 2), 20);
	assert_int_equal(heap_count(&heap, 3), 0);
	assert_int_equal(heap_count(&heap, 4), 10);
	assert_int_equal(heap_count(&heap, 5), 0);
	assert_int_equal(heap_count(&heap, 6), 17);
	agent_unmap(&a);
	agent_unmap(&b);
}

TEST(samples_are_what_was_added_since_the_reading_before)
{
	struct agent a;
	struct heap_stack *s;

	open_heap(SAMPLED("allocated") SAMPLED("freed") SAMPLED("live") SAMPLED("leaked"));
	heap_read(&heap.use, 10);
	connect_agent(&a);
	s = add(&a, 0x100, 2, 20);
	heap_read(&heap.use, 20);
	expect_samples(0, 2, 20);
	expect_samples(1, 0, 0);
	expect_samples(2, 2, 20);
	expect_samples(3, 0, 0);

	s->samples = 5;
	s->bytes = 60;
	s->freed_samples = 1;
	s->freed_bytes = 15;
	heap_read(&heap.use, 30);
	expect_samples(0, 3, 40);
	expect_samples(1, 1, 15);
	expect_samples(2, 4, 45);

	s->samples = 1; /* a program that lies */
	s->bytes = 1;
	heap_read(&heap.use, 40);
	expect_samples(0, 0, 0);
	assert_int_equal(heap_count(&heap, 0), 0); /* of threads */
	agent_unmap(&a);
}

TEST(a_sample_has_its_callers_and_a_time_at_which_they_were_mapped)
{
	struct source_at at = {0};
	struct aggregate_stack s;
	struct agent a;

	open_heap(SAMPLED("allocated"));
	heap_read(&heap.use, 2000);
	connect_agent(&a);
	add(&a, 0x100, 1, 7);
	a.header->stacks_ns = 2500;
	heap_read(&heap.use, 3000);
	assert_true(heap_next(&heap.use, 0, &at, &s));
	assert_int_equal(s.pid, getpid());
	assert_int_equal(s.tid, getpid());
	assert_int_equal(s.begin_ns, 2500);
	assert_int_equal(s.end_ns, 2500);
	assert_int_equal(s.nr_kernel, 0);
	assert_int_equal(s.nr_user, 2);
	assert_int_equal(s.user[0], 0xff); /* the call */
	assert_int_equal(s.user[1], 0x50);
	assert_false(heap_next(&heap.use, 0, &at, &s));

	a.stacks[0].samples++;
	a.stacks[0].bytes += 7;
	heap_read(&heap.use, 4000);
	at = (struct source_at){0};
	assert_true(heap_next(&heap.use, 0, &at, &s));
	assert_int_equal(s.begin_ns, 3000); /* within the iteration */
	agent_unmap(&a);
}

/* The innermost function of a sample is how long it lived; see PERF_ABI_LIVES. */
TEST(lifetimes_are_functions)
{
	static const struct {
		size_t life;
		uint64_t samples, weight;
	} all[] = {{0, 1, 10}, {7, 2, 25}};
	struct source_at at = {0};
	struct heap_life *lives;
	struct aggregate_stack s;
	struct heap_stack *of;
	struct agent a;

	open_heap(SAMPLED("lifetime"));
	assert_int_equal(heap.config.wants, HEAP_WANTS_BLOCKS | HEAP_WANTS_LIVES);
	heap_read(&heap.use, 10);
	connect_agent(&a);
	lives = (struct heap_life *)((char *)a.header + a.header->arena);
	of = add(&a, 0x100, 4, 50);
	of->freed_samples = 3;
	of->freed_bytes = 35;
	of->lives = a.header->arena;
	lives[0] = (struct heap_life){.samples = all[0].samples, .bytes = all[0].weight};
	lives[7] = (struct heap_life){.samples = all[1].samples, .bytes = all[1].weight};
	heap_read(&heap.use, 20);
	assert_int_equal(heap_count(&heap, 0), 35);
	expect_samples(0, 3, 35);
	for (size_t i = 0; i < ARRAY_NR(all); i++) {
		assert_true(heap_next(&heap.use, 0, &at, &s));
		assert_null(s.name);
		assert_int_equal(s.samples, all[i].samples);
		assert_int_equal(s.weight, all[i].weight);
		assert_int_equal(s.nr_user, 3);
		assert_int_equal(s.user[0], PERF_ABI_LIVES + all[i].life);
		assert_int_equal(s.user[1], 0xff);
		assert_int_equal(s.user[2], 0x50);
	}
	assert_false(heap_next(&heap.use, 0, &at, &s));

	lives[0].samples++;
	lives[0].bytes += 5;
	of->freed_samples++;
	of->freed_bytes += 5;
	heap_read(&heap.use, 30);
	at = (struct source_at){0};
	assert_true(heap_next(&heap.use, 0, &at, &s));
	assert_int_equal(s.weight, 5);
	assert_int_equal(heap_count(&heap, 0), 40);
	agent_unmap(&a);
}

TEST(what_is_live_at_the_end_of_a_process_has_leaked)
{
	pid_t child;
	int status;

	open_heap(SAMPLED("leaked") SAMPLED("live") SAMPLED("allocated"));
	heap_read(&heap.use, 10);
	child = fork();
	if (child == 0) {
		struct agent a;

		agent_connect(&a, heap_socket(&heap.use));
		add(&a, 0x100, 2, 20);
		free_all(add(&a, 0x200, 1, 10));
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	heap_read(&heap.use, 20);
	assert_int_equal(heap_count(&heap, 0), 20);
	expect_samples(0, 2, 20);
	expect_samples(1, 2, 20);
	expect_samples(2, 3, 30);
	heap_look(&heap.use);
	assert_int_equal(heap_count(&heap, 0), 20);
	assert_int_equal(heap_count(&heap, 1), 0);
	heap_read(&heap.use, 30); /* it is forgotten, its leak stays counted */
	assert_int_equal(heap_count(&heap, 0), 20);
	assert_int_equal(heap_count(&heap, 1), 0);
	expect_samples(0, 0, 0);
	expect_samples(1, 0, 0);
}

/* A child that allocates 20 bytes, and frees none. */
static void run_child(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct agent a;

		agent_connect(&a, heap_socket(&heap.use));
		if (!a.header)
			_exit(1);
		a.threads[0] = (struct heap_thread){.calls = 2, .bytes = 20, .max_bytes = 12};
		add(&a, 0x100, 2, 20);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

TEST(without_samples_processes_that_ended_take_no_room)
{
	enum { NR = HEAP_FOLD_AT + 44 };

	open_heap(EV("heap", "allocated") EV("heap", "live") EV("heap", "leaked")
		      EV("heap", "max"));
	heap_read(&heap.use, 10);
	for (int i = 0; i < NR; i++)
		run_child();
	assert_true(heap.nr_added <= 44 + 1);
	heap_look(&heap.use);
	assert_int_equal(heap.nr, 0);
	assert_int_equal(heap.nr_all, 0);
	assert_int_equal(heap_count(&heap, 0), 20 * NR);
	assert_int_equal(heap_count(&heap, 1), 20 * NR);
	heap_read(&heap.use, 20);
	for (int i = 0; i < 4; i++)
		assert_int_equal(heap_count(&heap, i), i == 3 ? 12 : 20 * NR);
	run_child();
	heap_look(&heap.use);
	assert_int_equal(heap_count(&heap, 0), 20 * NR + 20);
	assert_int_equal(heap_count(&heap, 1), 20); /* of this iteration */
	heap_read(&heap.use, 30);
	assert_int_equal(heap_count(&heap, 0), 20 * NR + 20);
	assert_int_equal(heap_count(&heap, 1), 20);
	heap_read(&heap.use, 40);
	assert_int_equal(heap_count(&heap, 1), 0);
	assert_int_equal(heap_count(&heap, 2), 20 * NR + 20);
}

/* Blocks of the test's own memory, by the pagemap of the test. */
TEST(pages_of_live_blocks_are_read_at_each_boundary)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	char notes[HEAP_NR_NOTES][HEAP_NOTE_BYTES];
	struct agent a, b;
	struct heap_stack *s;
	char *at;

	open_heap(SAMPLED("resident") SAMPLED("untouched"));
	heap_read(&heap.use, 10);
	connect_agent(&a);
	at = mmap(NULL, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	memset(at, 1, 5 * page);
	s = add(&a, 0x100, 3, 18 * page);
	s->freed_samples = 2;
	s->freed_bytes = 2 * page;
	s->untouched_samples = 1;
	s->untouched = page;
	agent_block(&a, (uintptr_t)at, 0, 16 * page);
	heap_read(&heap.use, 20);
	expect_samples(0, 1, 5 * page);
	expect_samples(1, 2, 12 * page);
	assert_int_equal(heap_count(&heap, 0), 5 * page);
	assert_int_equal(heap_count(&heap, 1), 12 * page);

	memset(at + 5 * page, 1, page); /* it was counted: that stays */
	heap_read(&heap.use, 30);
	expect_samples(0, 1, 6 * page);
	expect_samples(1, 0, 0);
	heap_notes(&heap, notes);
	for (size_t i = 0; i < HEAP_NR_NOTES; i++)
		assert_string_equal(notes[i], "");

	agent_block(&a, (uint64_t)1 << 47, 0, page); /* where no pages are */
	heap_read(&heap.use, 40);
	heap_notes(&heap, notes);
	assert_non_null(strstr(notes[HEAP_NR_OWN_NOTES - 2], "could not be read"));
	connect_agent(&b); /* another program */
	heap_read(&heap.use, 50);
	heap_read(&heap.use, 60);
	assert_int_equal(heap_count(&heap, 0), 0);
	assert_int_equal(heap_count(&heap, 1), 12 * page);
	munmap(at, 16 * page);
	agent_unmap(&a);
	agent_unmap(&b);
}

/* Ends by itself, if it asks; otherwise as by a signal. */
static void end_with_pages(bool asks)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	pid_t child = fork();
	struct heap_stack *s;
	struct agent a;
	int status;
	char *at;

	if (child == 0) {
		agent_connect(&a, heap_socket(&heap.use));
		at = mmap(NULL, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
		if (!a.header || at == MAP_FAILED)
			_exit(1);
		memset(at, 1, 5 * page);
		s = add(&a, 0x100, 2, 17 * page);
		s->freed_samples = s->untouched_samples = 1;
		s->freed_bytes = s->untouched = page;
		agent_block(&a, (uintptr_t)at, 0, 16 * page);
		if (asks)
			agent_ask(heap_socket(&heap.use), CPUPERF_MARK_ASK_PAGES);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

TEST(pages_of_a_process_that_ended_are_those_of_its_end)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	char notes[HEAP_NR_NOTES][HEAP_NOTE_BYTES];

	open_heap(SAMPLED("resident") SAMPLED("untouched"));
	heap_read(&heap.use, 10);
	end_with_pages(true);
	heap_read(&heap.use, 20);
	expect_samples(0, 1, 5 * page);
	expect_samples(1, 2, 12 * page);
	assert_int_equal(heap_count(&heap, 0), 5 * page);
	assert_int_equal(heap_count(&heap, 1), 12 * page);
	heap_notes(&heap, notes);
	assert_string_equal(notes[HEAP_NR_OWN_NOTES - 3], "");
	end_with_pages(false);
	heap_read(&heap.use, 30); /* what was there is so no more */
	expect_samples(0, 0, 0);
	expect_samples(1, 1, page);
	assert_int_equal(heap_count(&heap, 0), 0);
	assert_int_equal(heap_count(&heap, 1), 13 * page);
	assert_false(heap_has_count(&heap, 0));
	heap_notes(&heap, notes);
	assert_non_null(strstr(notes[HEAP_NR_OWN_NOTES - 3], "without a look at the pages"));
}

/* The time of a peak is that of the counted one, whatever samples saw; without one it is not known.
 */
TEST(a_peak_that_no_sample_saw)
{
	struct agent a;

	open_heap(EV("heap", "peak_time") WITH("peak", "\"rate\":4096"));
	heap_read(&heap.use, 10);
	connect_agent(&a);
	heap_read(&heap.use, 20);
	assert_false(heap_has_count(&heap, 0));
	a.header->peak = 100;
	a.header->peak_ns = heap.start_ns + 7;
	heap_read(&heap.use, 30);
	assert_true(heap_has_count(&heap, 0));
	assert_int_equal(heap_count(&heap, 0), 7);
	agent_unmap(&a);
}

TEST(what_is_replaced_by_exec_has_not_leaked)
{
	struct agent a, b;

	open_heap(SAMPLED("leaked"));
	heap_read(&heap.use, 10);
	connect_agent(&a);
	add(&a, 0x100, 2, 20);
	connect_agent(&b);
	heap_read(&heap.use, 20);
	expect_samples(0, 0, 0);
	heap_read(&heap.use, 30);
	assert_int_equal(heap_count(&heap, 0), 0);
	agent_unmap(&a);
	agent_unmap(&b);
}

/* What the program says of what it executed: once, and names are anybody's. */
TEST(what_is_not_measured)
{
	char notes[HEAP_NR_NOTES][HEAP_NOTE_BYTES];
	const char *note = notes[HEAP_NR_OWN_NOTES + HEAP_MISS_STATIC];
	struct heap_missed *m;
	struct agent a;

	open_heap(SAMPLED("allocated"));
	connect_agent(&a);
	m = a.header->missed;
	m[0] = (struct heap_missed){2, 3, HEAP_MISS_STATIC, "busybox"};
	m[1] = (struct heap_missed){2, 1, HEAP_MISS_STATIC, "a\nb\033"};
	m[2] = (struct heap_missed){1, 9, HEAP_MISS_STATIC, "half"};
	m[3] = (struct heap_missed){2, 9, HEAP_NR_MISSES, "beyond"};
	m[4] = (struct heap_missed){2, 2, HEAP_MISS_CHILDREN, ""};
	m[5] = (struct heap_missed){2, 1, HEAP_MISS_LIMIT, ""};
	memset(m[1].name + 4, 'x', sizeof(m[1].name) - 4); /* it does not end */
	heap_read(&heap.use, 10);
	heap_notes(&heap, notes);
	assert_non_null(strstr(note, "(busybox, a?b?xxxxxxxxxxxxxxxxxxxx; 4): they are linked"));
	assert_non_null(strstr(notes[HEAP_NR_OWN_NOTES + HEAP_MISS_CHILDREN],
			       "child processes are not measured (2): "));
	assert_string_equal(notes[HEAP_NR_OWN_NOTES + HEAP_MISS_LIMIT], "");
	heap_read(&heap.use, 20);
	heap_notes(&heap, notes);
	assert_string_equal(note, "");

	m[0].nr++;
	a.header->no_block = 1; /* for want of room */
	heap_read(&heap.use, 30);
	heap_notes(&heap, notes);
	assert_non_null(strstr(note, "(busybox; 1)"));
	assert_non_null(strstr(notes[HEAP_NR_OWN_NOTES + HEAP_MISS_LIMIT], "RLIMIT_AS"));
	agent_unmap(&a);
}

TEST(losses_are_said_once)
{
	char notes[HEAP_NR_NOTES][HEAP_NOTE_BYTES];
	struct agent a;

	open_heap(SAMPLED("allocated"));
	heap_read(&heap.use, 10);
	heap_notes(&heap, notes);
	assert_string_equal(notes[HEAP_NR_OWN_NOTES - 1], "");
	heap_read(&heap.use, 20);
	assert_true(heap_is_silent(&heap));
	heap_notes(&heap, notes);
	assert_non_null(strstr(notes[HEAP_NR_OWN_NOTES - 1], "no process of it loaded"));

	assert_int_equal(
	    agent_ask_as(heap_socket(&heap.use), CPUPERF_MARK_ASK_HEAP, HEAP_VERSION - 1), -1);
	heap_notes(&heap, notes);
	assert_non_null(strstr(notes[9], "agent of another version"));
	assert_string_equal(notes[HEAP_NR_OWN_NOTES - 1], "");
	heap_notes(&heap, notes);
	assert_string_equal(notes[9], "");

	connect_agent(&a);
	a.header->no_node = 17;
	heap_read(&heap.use, 30);
	assert_false(heap_is_silent(&heap));
	heap_notes(&heap, notes);
	assert_non_null(strstr(notes[0], "17 samples of the heap have no stack"));
	assert_string_equal(notes[1], "");
	heap_read(&heap.use, 40);
	heap_notes(&heap, notes);
	assert_string_equal(notes[0], "");
	agent_unmap(&a);
}

/* Each stack says what a sample stands for; the note, once, since when and how rarely it is one. */
TEST(a_program_that_adapts_has_several_rates)
{
	char notes[HEAP_NR_NOTES][HEAP_NOTE_BYTES];
	struct source_at at = {0};
	uint32_t nr_notes = 0;
	struct aggregate_stack s;
	struct agent a;

	open_heap(ADAPTIVE("allocated"));
	heap_read(&heap.use, 10);
	connect_agent(&a);
	assert_int_equal(a.header->level, HEAP_EXACT);
	add(&a, 0x100, 3, 30)->parts = HEAP_EXACT << HEAP_LEVEL_SHIFT;
	heap_read(&heap.use, 20);
	assert_true(heap_next(&heap.use, 0, &at, &s));
	assert_int_equal(s.unit, 0);
	heap_notes(&heap, notes);
	for (size_t i = 0; i < HEAP_NR_NOTES; i++)
		assert_string_equal(notes[i], "");

	a.header->exact_samples = 12345;
	a.header->exact_ns = 6000000;
	a.header->level = 12; /* 2 KiB */
	add(&a, 0x100, 2, 4096)->parts = 12 << HEAP_LEVEL_SHIFT;
	heap_read(&heap.use, 30);
	at = (struct source_at){0};
	assert_true(heap_next(&heap.use, 0, &at, &s));
	assert_int_equal(s.unit, 2048);
	assert_int_equal(s.weight, 4096);
	assert_false(heap_next(&heap.use, 0, &at, &s));
	for (int i = 0; i < 2; i++) {
		heap_notes(&heap, notes);
		for (size_t k = 0; k < HEAP_NR_NOTES; k++)
			if (*notes[k]) {
				assert_non_null(strstr(notes[k], "12345 in 6 ms"));
				assert_non_null(strstr(notes[k], "per 2 KiB"));
				nr_notes++;
			}
		heap_read(&heap.use, 40);
	}
	assert_int_equal(nr_notes, 1);
	agent_unmap(&a);
}

/* By how much bytes vary is beside them; what is exact does not. */
TEST(sizes_say_what_is_left_to_chance)
{
	const struct trace_histogram *sizes;
	struct heap_class *classes;
	struct agent a;

	open_heap(ADAPTIVE("live"));
	heap_read(&heap.use, 10);
	connect_agent(&a);
	classes = (struct heap_class *)((char *)a.header + a.header->classes);
	a.header->nr_threads = 1;
	classes[3] = (struct heap_class){.calls = 5 * HEAP_CALL, .bytes = 25};
	classes[7] = (struct heap_class){.calls = 40 * HEAP_CALL,
					 .bytes = 4096,
					 .squares = 16000,
					 .freed_calls = 20 * HEAP_CALL,
					 .freed_bytes = 2000,
					 .freed_squares = 9000};
	heap_read(&heap.use, 20);
	assert_int_equal(heap_sizes(&heap.use, false, &sizes), HEAP_NR_SIZES);
	assert_string_equal(sizes[HEAP_SQUARES].part, "squares");
	assert_string_equal(sizes[HEAP_LIVE_SQUARES].part, "live_squares");
	assert_int_equal(sizes[HEAP_CALLS].nr, 2);
	assert_int_equal(sizes[HEAP_CALLS].bucket[0].count, 5);
	assert_int_equal(sizes[HEAP_SQUARES].nr, 1);
	assert_int_equal(sizes[HEAP_SQUARES].bucket[0].count, 16000);
	assert_int_equal(sizes[HEAP_LIVE_BYTES].bucket[1].count, 2096);
	assert_int_equal(sizes[HEAP_LIVE_SQUARES].bucket[0].count, 7000);
	agent_unmap(&a);
}
