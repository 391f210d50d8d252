/* Looks at blocked threads: what /proc says of them, and of this program itself. */
#include "kit.h"
#include "tree.h"

#include "base/clock.h"
#include "base/perf_abi.h"
#include "base/root.h"
#include "session/seen.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct seen_wait got[8];
static size_t nr_got;

static void add(void *arg, const struct seen_wait *w)
{
	(void)arg;
	if (nr_got < NR(got))
		got[nr_got] = *w;
	nr_got++;
}

static struct seen *make(const struct root *root)
{
	static struct seen s;

	s = (struct seen){.root = root, .is_on = true, .stack_bytes = 1024};
	nr_got = 0;
	return &s;
}

struct waiter {
	int fds[2];
	atomic_int tid;
};

static void *wait_for_byte(void *arg)
{
	struct waiter *w = arg;
	char byte;

	atomic_store(&w->tid, (int)syscall(SYS_gettid));
	return read(w->fds[0], &byte, 1) == 1 ? w : NULL;
}

/* A thread that reads a pipe is seen once with its stack, and then without, until it ran. */
TEST(pipe)
{
	struct waiter w = {.tid = 0};
	struct seen *s = make(&root_live);
	uint64_t now_ns = clock_monotonic_ns();
	uint32_t tid;
	pthread_t thread;
	void *rc;

	assert_int_equal(pipe(w.fds), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_byte, &w), 0);
	while (!(tid = (uint32_t)atomic_load(&w.tid)))
		usleep(1000);
	seen_add(s, tid);
	for (int i = 0; i < 5000 && !nr_got; i++, now_ns += 2000000000) {
		seen_look(s, now_ns, add, NULL);
		usleep(1000);
	}
	assert_int_equal(nr_got, 1);
	assert_int_equal(got[0].tid, tid);
	assert_int_equal(got[0].pid, getpid());
	assert_int_equal(got[0].reason, TRACE_REASON_PIPE);
	assert_true(got[0].has_stack && got[0].stack_bytes >= 64);
	assert_int_equal(got[0].regs_abi, PERF_SAMPLE_REGS_ABI_64);
	assert_true(got[0].delay.running_ns > 0 && got[0].time_ns < got[0].delay.time_ns);

	seen_look(s, now_ns, add, NULL);
	assert_int_equal(nr_got, 2);
	assert_true(!got[1].has_stack && !got[1].reason && !got[1].stack_bytes);
	seen_renew(s);
	seen_look(s, now_ns, add, NULL);
	assert_int_equal(nr_got, 3);
	assert_true(got[2].has_stack && got[2].reason == TRACE_REASON_PIPE);

	assert_int_equal(write(w.fds[1], "x", 1), 1);
	assert_int_equal(pthread_join(thread, &rc), 0);
	assert_ptr_equal(rc, &w);
	seen_look(s, now_ns + 4000000000, add, NULL); /* it is not there any more */
	assert_int_equal(nr_got, 3);
	close(w.fds[0]);
	close(w.fds[1]);
}

/* The system call that a thread is in is read(). */
static bool is_in_read(uint32_t tid)
{
	char path[64], line[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", tid);
	f = fopen(path, "r");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);
	return line[0] >= '0' && line[0] <= '9' && strtol(line, NULL, 10) == SYS_read;
}

/* Of a pool that waits, each thread is seen with its stack soon, though one call sees few. */
TEST(pool)
{
	enum { NR_POOL = 40, NR_CALLS = 5 };
	struct waiter w[NR_POOL] = {0};
	pthread_t thread[NR_POOL];
	struct seen *s = make(&root_live);
	uint64_t now_ns = clock_monotonic_ns();

	assert_int_equal(pipe(w[0].fds), 0);
	for (size_t i = 0; i < NR_POOL; i++) {
		w[i].fds[0] = w[0].fds[0];
		assert_int_equal(pthread_create(&thread[i], NULL, wait_for_byte, &w[i]), 0);
	}
	for (size_t i = 0; i < NR_POOL; i++) {
		while (!is_in_read((uint32_t)atomic_load(&w[i].tid)))
			usleep(1000);
		seen_add(s, (uint32_t)atomic_load(&w[i].tid));
	}
	for (size_t i = 0; i < NR_CALLS; i++)
		seen_look(s, now_ns + i * SEEN_PERIOD_NS, add, NULL);
	assert_int_equal(nr_got, NR_POOL);
	for (size_t i = 0; i < NR_POOL; i++)
		assert_int_equal(write(w[0].fds[1], "x", 1), 1);
	for (size_t i = 0; i < NR_POOL; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	close(w[0].fds[0]);
	close(w[0].fds[1]);
}

/* After a gap, a thread that ran before it may be blocked. */
TEST(gap)
{
	struct seen *s = make(&root_live);

	seen_switch(s, 7, 77, false, 200);
	seen_renew(s);
	assert_true(s->slot[77].is_blocked && s->slot[77].pid == 7 && s->slot[77].tid == 77);
	assert_int_equal(s->slot[77].due_ns, 0);
}

/* The threads of a process and of its descendants; lists that are none, and circles, end. */
TEST(tree)
{
	static const uint32_t known[] = {70, 71, 80, 90};
	struct root root = tree_make();
	struct seen *s = make(&root);
	size_t nr = 0;

	tree_text(&root, "/proc/70/task/70/children", "80 ");
	tree_text(&root, "/proc/70/task/71/children", "x 1000000");
	tree_text(&root, "/proc/80/task/80/children", "90 4000 ");
	tree_text(&root, "/proc/90/task/90/children", "70 ");
	seen_add_tree(s, 70);
	for (size_t i = 0; i < SEEN_SLOTS; i++)
		nr += s->slot[i].tid != 0;
	assert_int_equal(nr, NR(known));
	for (size_t i = 0; i < NR(known); i++)
		assert_int_equal(s->slot[known[i]].tid, known[i]);
	tree_remove(&root);
}

/* Only those are looked at that were switched out and not preempted, last of all. */
TEST(switches)
{
	static const struct {
		bool is_blocked;
		uint64_t ns;
		bool is_looked_at;
	} cases[] = {{true, 100, true}, {false, 200, false}, {true, 150, false}, {true, 300, true}};
	struct seen *s = make(&root_live);

	for (size_t i = 0; i < NR(cases); i++) {
		const struct seen_thread *t = &s->slot[77];

		seen_switch(s, 7, 77, cases[i].is_blocked, cases[i].ns);
		assert_int_equal(t->is_blocked, cases[i].is_looked_at);
	}
	/* the slot of a thread is another's, if the numbers collide */
	seen_switch(s, 7, 77 + SEEN_SLOTS, true, 10);
	assert_int_equal(s->slot[77].tid, 77 + SEEN_SLOTS);
}

/* What is no wait, or no wait that can be described, is not reported. The memory is that of no
 * process. */
TEST(files)
{
	static const char *const lines[] = {
	    "running\n",
	    "",
	    "0\n",
	    "x y z\n",
	    "0 0x3 0x1 0x1 0x0 0x0 0x0 0xfff0 0x8048000\n", /* 32 bits */
	    "0 0x3 0x1 0x1 0x0 0x0 0x0 0x0 0x0\n",
	    "0 0x3 0x1 0x1 0x0 0x0 0x0 0x7fff00000000 0x555500000000\n",
	    "99999999999999999999 0xffffffffffffffffffff\n",
	};

	for (size_t i = 0; i < NR(lines); i++) {
		struct root root = tree_make();
		struct seen *s = make(&root);

		tree_text(&root, "/proc/4194999/schedstat", "10 20 30\n");
		tree_text(&root, "/proc/4194999/syscall", lines[i]);
		seen_add(s, 4194999);
		seen_look(s, 1, add, NULL);
		assert_int_equal(nr_got, 0);
		tree_remove(&root);
	}
}
