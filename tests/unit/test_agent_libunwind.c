/*
 * Call paths of the agent beside those of libunwind, in the same process and moment: where memory
 * is allocated, and where a signal interrupts the program, at any instruction.
 */
#include "agent/heap/agent.h"
#include "kit.h"
#include "tree.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

/* There are no hooks here. */
bool agent_hooks_are_first(void)
{
	return true;
}

void agent_hooks_count_live(bool is_wanted)
{
	agent.is_live_counted = is_wanted ? AGENT_COUNTS_BY_CHUNK : 0;
}

enum {
	NR_NODES = 1 << 20,
	NR_STACKS = 1 << 10,
	ARENA_BYTES = 1 << 20,
	HEAD_BYTES = 4096,
	MAX_PATH = 300
};

static struct agent_thread *own;

/* A recorder's memory, and the agent as if it had connected. */
static struct heap_header *begin(void)
{
	const uint64_t nodes = HEAD_BYTES, stacks = nodes + NR_NODES * sizeof(struct heap_node);
	const uint64_t arena = stacks + NR_STACKS * sizeof(struct heap_stack);
	struct heap_header *h = agent_pages(arena + ARENA_BYTES);

	assert_non_null(h);
	*h = (struct heap_header){.magic = HEAP_MAGIC,
				  .bytes = arena + ARENA_BYTES,
				  .mapped = arena + ARENA_BYTES,
				  .max_nodes = NR_NODES,
				  .max_stacks = NR_STACKS,
				  .nodes = nodes,
				  .stacks = stacks,
				  .arena = arena};
	agent.shared = h;
	assert_true(agent_tree_init() && agent_stack_init());
	own = agent_thread_new();
	assert_non_null(own);
	return h;
}

static void end(struct heap_header *h)
{
	agent_thread_free(own);
	agent.shared = NULL;
	munmap(h, h->bytes);
}

struct path {
	uint64_t pc[MAX_PATH]; /* the innermost first */
	uint32_t nr;
	bool is_whole;
};

static void read_ours(uint32_t node, struct path *out)
{
	const struct heap_node *nodes = agent_at(agent.shared->nodes);

	out->nr = 0;
	for (; node && nodes[node].parent != HEAP_ROOT && out->nr < MAX_PATH;
	     node = nodes[node].parent)
		out->pc[out->nr++] = nodes[node].pc;
}

static void read_theirs(unw_context_t *context, bool is_signal, struct path *out)
{
	unw_cursor_t cursor;
	unw_word_t pc;
	int rc = unw_init_local2(&cursor, context, is_signal ? UNW_INIT_SIGNAL_FRAME : 0);

	for (out->nr = 0; rc >= 0 && out->nr < MAX_PATH; rc = unw_step(&cursor)) {
		if (out->nr && rc == 0)
			break;
		if (unw_get_reg(&cursor, UNW_REG_IP, &pc) || !pc)
			break;
		out->pc[out->nr++] = pc;
	}
	out->is_whole = rc >= 0;
}

/* --- where memory is allocated */

static uint64_t random_state = 88172645463325252;
static unsigned nr_captures, budget;

static uint64_t next(void)
{
	uint64_t x = random_state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return random_state = x;
}

static __attribute__((noinline)) void capture(void)
{
	const struct agent_frame from = AGENT_HERE;
	struct path ours, theirs;
	unw_context_t context;
	uint32_t first = 0;

	read_ours(agent_capture(own, &from), &ours);
	unw_getcontext(&context);
	read_theirs(&context, false, &theirs);
	while (first < theirs.nr && theirs.pc[first] != from.pc) /* of this function */
		first++;
	assert_int_equal(ours.nr, theirs.nr - first);
	assert_int_equal(ours.pc[0] + 1, theirs.pc[first]);
	for (uint32_t i = 1; i < ours.nr; i++)
		assert_int_equal(ours.pc[i], theirs.pc[first + i]);
	nr_captures++;
}

static void walk(unsigned depth);

#define STEP(name, body)                                                                           \
	static __attribute__((noinline)) int name(unsigned depth)                                  \
	{                                                                                          \
		body walk(depth);                                                                  \
		__asm__ volatile("" : : : "memory");                                               \
		return 1;                                                                          \
	}
STEP(plain, )
STEP(large, volatile char room[3000]; room[depth % 3000] = 1; (void)room[0];)
STEP(aligned, _Alignas(64) volatile char room[64]; room[depth % 64] = 1; (void)room[0];)
STEP(moving, volatile char *room = __builtin_alloca(next() % 500 + 1); room[0] = 1;)

static int by_order(const void *a, const void *b)
{
	(void)b;
	walk(*(const unsigned *)a);
	return 0;
}

static __attribute__((noinline)) int by_library(unsigned depth)
{
	unsigned two[] = {depth, depth};

	qsort(two, 2, sizeof(*two), by_order);
	__asm__ volatile("" : : : "memory");
	return 1;
}

static volatile uint64_t sink;
static bool captures;

static void walk(unsigned depth)
{
	static int (*const steps[])(unsigned) = {plain, large, aligned, moving, by_library};

	for (unsigned calls = next() % 3 + (depth < 3); calls && budget; calls--) {
		budget--;
		if (captures && next() % 3 == 0)
			capture();
		sink += next() % 1000;
		if (depth < 40)
			(void)steps[next() % (sizeof(steps) / sizeof(*steps))](depth + 1);
	}
}

TEST(paths_of_calls)
{
	struct heap_header *h = begin();

	captures = true;
	for (int i = 0; i < 100; i++) {
		budget = 200;
		walk(0);
	}
	captures = false;
	assert_true(nr_captures > 1000);
	assert_int_equal(h->cut, 0);
	end(h);
}

/* --- stubs of a linker that writes no tables for them: by chance a signal comes there */

/* The first function that this one calls, by its first direct call; 0: another machine. */
static uint64_t callee(const uint8_t *function)
{
#if defined(__x86_64__)
	for (size_t i = 0; i < 64; i++) {
		int32_t by;

		if (function[i] != 0xe8)
			continue;
		memcpy(&by, function + i + 1, sizeof(by));
		return (uint64_t)((int64_t)(uintptr_t)function + (int64_t)i + 5 + by);
	}
#endif
	(void)function;
	return 0;
}

TEST(paths_from_stubs)
{
	static const char source[] = "int abs(int); int h(int x) { return abs(x) + abs(1 - x); }";
	struct heap_header *h = begin();
	struct root r = tree_make();
	struct agent_row row;
	char text[512];
	uint64_t stub;
	void *library;

	tree_put(&r, "/p.c", source, sizeof(source) - 1);
	snprintf(
	    text, sizeof(text),
	    "cd '%s' && cc -fuse-ld=lld -fno-builtin -O2 -fPIC -shared -o p.so p.c 2>/dev/null",
	    r.dir);
	if (system(text) != 0) {
		print_message("skip: stubs without tables: no lld\n");
	} else {
		snprintf(text, sizeof(text), "%s/p.so", r.dir);
		library = dlopen(text, RTLD_LAZY);
		assert_non_null(library);
		stub = callee(dlsym(library, "h"));
		row = agent_row_find(stub, true);
		if (stub) {
			assert_int_equal(row.kind, AGENT_ROW_SP);
			assert_int_equal(row.cfa, 1);
			assert_int_equal(row.ra, 1);
			assert_int_equal(row.fp, 0);
		}
		dlclose(library);
	}
	tree_remove(&r);
	end(h);
}

/* --- where a signal comes: nothing is asserted there */

static volatile unsigned nr_signals, nr_equal, nr_theirs_cut;
static struct path wrong_ours, wrong_theirs;
static volatile bool is_wrong;

/* Once: a handler may take longer than that, and the program has to get on between two signals. */
static void send_signal_soon(void)
{
	const struct itimerval once = {.it_value = {0, 200}};

	setitimer(ITIMER_REAL, &once, NULL);
}

static void on_signal(int number, siginfo_t *info, void *arg)
{
	static struct path ours, theirs;
	ucontext_t *context = arg;
	struct agent_frame at;
	uint64_t link = 0;
	bool is_same;

	(void)number;
	(void)info;
#if defined(__x86_64__)
	at.pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
	at.sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
	at.fp = (uint64_t)context->uc_mcontext.gregs[REG_RBP];
#else
	at.pc = context->uc_mcontext.pc;
	at.sp = context->uc_mcontext.sp;
	at.fp = context->uc_mcontext.regs[29];
	link = context->uc_mcontext.regs[30];
#endif
	read_ours(agent_capture_exact(own, &at, link), &ours);
	read_theirs((unw_context_t *)context, true, &theirs);
	nr_signals++;
	is_same = ours.nr >= theirs.nr && theirs.nr && ours.pc[0] - 1 == theirs.pc[0];
	for (uint32_t i = 1; i < theirs.nr && is_same; i++)
		is_same = ours.pc[i] == theirs.pc[i];
	if (is_same && ours.nr == theirs.nr) {
		nr_equal++;
	} else if (is_same && !theirs.is_whole) {
		nr_theirs_cut++;
	} else if (!is_wrong) {
		is_wrong = true;
		wrong_ours = ours;
		wrong_theirs = theirs;
	}
	send_signal_soon();
}

static void show(const char *whose, const struct path *p)
{
	printf("%s:", whose);
	for (uint32_t i = 0; i < p->nr; i++)
		printf(" %llx", (unsigned long long)p->pc[i]);
	printf("%s\n", p->is_whole ? "" : " cut");
}

/* The timer counts time, so that signals come also where the kernel begins a call. */
TEST(paths_where_signals_come)
{
	struct heap_header *h = begin();
	const struct itimerval never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct timespec now;
	char text[64];

	sigaction(SIGALRM, &action, NULL);
	send_signal_soon();
	for (unsigned i = 0; (nr_signals < 1500 || i < 100) && i < 1000000 && !is_wrong; i++) {
		budget = 200;
		walk(0);
		clock_gettime(CLOCK_MONOTONIC, &now);
		snprintf(text, sizeof(text), "%ld %f", now.tv_nsec, (double)now.tv_sec / 3);
		free(realloc(malloc(i % 5000), 100));
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%u signals, %u paths are equal, %u of libunwind end before\n", nr_signals, nr_equal,
	       nr_theirs_cut);
	if (is_wrong) {
		show("ours", &wrong_ours);
		show("libunwind", &wrong_theirs);
	}
	assert_false(is_wrong);
	assert_true(nr_equal > nr_signals / 2);
	end(h);
}
