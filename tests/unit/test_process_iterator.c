/*
 * Processes read by the iterator in the kernel, beside the same processes read from /proc: those of
 * a tree that works, with threads that come and go, and all of the machine. Skips where programs
 * cannot be loaded.
 */
#include "kit.h"
#include "test_process.h"

#include "base/sys.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum {
	NR_CHILDREN = 6,
	NR_THREADS = 5,
	BYTES = 3 << 20,
	COUNTERS = BIT(PROCESS_CPU_TIME) | BIT(PROCESS_READ_BYTES) | BIT(PROCESS_WRITE_BYTES) |
		   BIT(PROCESS_MINOR_FAULTS) | BIT(PROCESS_MAJOR_FAULTS) | BIT(PROCESS_FAULTS) |
		   BIT(PROCESS_RUN_DELAY),
};

/* Reads by the iterator. The words are those of start. */
static void *start_kernel(const char *const *words, uint32_t wanted)
{
	void *s = start(&root_live, words, wanted);
	struct err why = {0};

	if (source->use_kernel(s, &why)) {
		source->close(s);
		SKIP("%s", why.msg);
	}
	return s;
}

/* ---- a tree of processes */

static void *work(void *unused)
{
	char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t at = 0; p != MAP_FAILED && at < BYTES; at += 4096)
		p[at] = 1;
	if (p != MAP_FAILED)
		munmap(p, BYTES);
	return unused;
}

static void *work_on(void *unused)
{
	for (;;)
		work(unused);
	return unused;
}

/* Threads that stay and threads that come and go; memory of its own; a file that is written. */
static void work_for_ever(int i)
{
	char path[] = "/tmp/cpuperf-test.XXXXXX", *p;
	int fd = mkostemp(path, O_CLOEXEC);
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	unlink(path);
	p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(p, 1, BYTES);
	for (int t = 0; t < i; t++)
		pthread_create(&thread, NULL, work_on, NULL);
	for (;;) {
		work(NULL);
		if (i % 2 && pthread_create(&thread, NULL, work, NULL) == 0)
			pthread_join(thread, NULL);
		(void)!pwrite(fd, p, 8192, 0);
	}
}

static pid_t children[NR_CHILDREN];

static void start_tree(void)
{
	for (int i = 0; i < NR_CHILDREN; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0)
			work_for_ever(i < NR_THREADS ? i : 0);
	}
}

static void signal_tree(int signal)
{
	for (int i = 0; i < NR_CHILDREN; i++)
		assert_int_equal(kill(children[i], signal), 0);
}

static void end_tree(void)
{
	signal_tree(SIGKILL);
	for (int i = 0; i < NR_CHILDREN; i++)
		assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
}

static void rest_ms(long ms)
{
	const struct timespec t = {.tv_nsec = ms * 1000000};

	nanosleep(&t, NULL);
}

/* Its state in /proc/PID/task, of all its threads. */
static bool is_stopped(pid_t pid)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "! grep -L '^State:.T' /proc/%d/task/*/status | grep -q .", pid);
	return system(command) == 0;
}

static void stop_tree(void)
{
	signal_tree(SIGSTOP);
	for (int i = 0; i < NR_CHILDREN; i++)
		while (!is_stopped(children[i]))
			rest_ms(1);
}

/* ---- beside /proc */

static void expect_between(const void *before, const void *s, const void *after, unsigned pid,
			   uint32_t fields)
{
	for (unsigned f = 0; f < PROCESS_NR_FIELDS; f++) {
		uint64_t low, high, v;

		if (!(fields & BIT(f)))
			continue;
		low = value(before, pid, f);
		high = value(after, pid, f);
		v = value(s, pid, f);
		if (low > v || v > high)
			fail_msg("field %u of %u: %" PRIu64 " <= %" PRIu64 " <= %" PRIu64, f, pid,
				 low, v, high);
	}
}

/* Of a process whose threads end, the delay depends on who read them last. */
static uint32_t same_counters(int i)
{
	return i % 2 ? COUNTERS & ~BIT(PROCESS_RUN_DELAY) : COUNTERS;
}

/* While they work, each counter lies between two readings of /proc; when they stand still, all is
 * the same. */
TEST(as_proc)
{
	void *s = start_kernel(NULL, ALL_FIELDS), *before, *after;

	start_tree();
	for (int round = 0; round < 20; round++) {
		rest_ms(10);
		before = start(&root_live, NULL, COUNTERS);
		after = start(&root_live, NULL, COUNTERS);
		read_all(before);
		read_all(s);
		read_all(after);
		for (int i = 0; i < NR_CHILDREN; i++)
			expect_between(before, s, after, (unsigned)children[i], same_counters(i));
		source->close(before);
		source->close(after);
	}
	stop_tree();
	read_all(s);
	before = start(&root_live, NULL, ALL_FIELDS);
	read_all(before);
	for (int i = 0; i < NR_CHILDREN; i++) {
		struct things_one ours = get(s, (unsigned)children[i]),
				  other = get(before, (unsigned)children[i]);

		assert_int_equal(ours.has, other.has);
		assert_string_equal(ours.name, other.name);
		expect_between(before, s, before, (unsigned)children[i],
			       ours.has & (~COUNTERS | same_counters(i)));
		assert_true(ours.values[PROCESS_THREADS] > (unsigned)i % NR_THREADS);
	}
	source->close(before);
	source->close(s);
	end_tree();
}

/* The same processes, with the same names: those of the kernel have longer ones. Others begin, end
 * and exec between the two readings, and more of them where this process has no CPU there. */
TEST(same_names)
{
	enum { TRIES = 50 };
	void *s = start_kernel(NULL, BIT(PROCESS_RSS) | BIT(PROCESS_PEAK_RSS)),
	     *files = start(&root_live, NULL, BIT(PROCESS_RSS) | BIT(PROCESS_PEAK_RSS));
	size_t nr_same = 0, nr_all = 1;

	for (int i = 0; i < TRIES && 10 * nr_same < 8 * nr_all; i++) {
		read_all(s);
		read_all(files);
		nr_same = 0;
		nr_all = source->nr(s);
		for (size_t k = 0; k < nr_all; k++) {
			struct things_one ours, other;

			source->get(s, k, &ours);
			if (!find(files, (unsigned)strtoul(ours.name, NULL, 10), &other))
				continue;
			nr_same += strcmp(ours.name, other.name) == 0 && ours.has == other.has;
		}
		print_message("%zu of %zu\n", nr_same, nr_all);
		assert_true(nr_all > 2);
	}
	assert_true(10 * nr_same >= 8 * nr_all);
	source->close(s);
	source->close(files);
}

/* ---- processes that come and go */

static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* It is there without memory until it is waited for. */
TEST(zombie)
{
	void *s = start_kernel(NULL, BIT(PROCESS_RSS) | BIT(PROCESS_VMS) | BIT(PROCESS_CPU_TIME));
	pid_t child = start_sleeper();
	siginfo_t info;
	uint64_t cpu;

	read_all(s);
	assert_true(value(s, (unsigned)child, PROCESS_RSS) > 0);
	cpu = value(s, (unsigned)child, PROCESS_CPU_TIME);
	kill(child, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	read_all(s);
	assert_int_equal(value(s, (unsigned)child, PROCESS_RSS), 0);
	assert_int_equal(value(s, (unsigned)child, PROCESS_VMS), 0);
	assert_true(value(s, (unsigned)child, PROCESS_CPU_TIME) >= cpu);
	end_child(child);
	read_all(s);
	assert_false(find(s, (unsigned)child, &(struct things_one){0}));
	source->close(s);
}

TEST(reused)
{
	void *s = start_kernel(NULL, BIT(PROCESS_CPU_TIME) | BIT(PROCESS_RUN_DELAY));
	pid_t child = start_sleeper(), again;
	uint32_t number;

	read_all(s);
	number = get(s, (unsigned)child).number;
	end_child(child);
	again = start_as(child);
	if (again < 0) {
		source->close(s);
		SKIP("clone3 with a chosen number is not permitted");
	}
	read_all(s);
	assert_true(get(s, (unsigned)again).number > number);
	end_child(again);
	source->close(s);
}

/* Children that end at once, while all are read. */
static void *make_children(void *is_over)
{
	while (!__atomic_load_n((bool *)is_over, __ATOMIC_RELAXED)) {
		pid_t child = vfork();

		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	return NULL;
}

static uint64_t seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec;
}

/* Those that stay have their rows, and no number is there twice. A slow machine has fewer rounds.
 */
TEST(storm)
{
	void *s = start_kernel(NULL, ALL_FIELDS);
	pid_t child = start_sleeper();
	bool is_over = false;
	uint64_t began = seconds();
	uint32_t number = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, make_children, &is_over), 0);
	for (int round = 0; round < 200 && (round < 10 || seconds() - began < 20); round++) {
		unsigned last = 0;

		read_all(s);
		for (size_t i = 0; i < source->nr(s); i++) {
			struct things_one t;
			unsigned pid;

			source->get(s, i, &t);
			if (t.is_rest)
				continue;
			pid = (unsigned)strtoul(t.name, NULL, 10);
			assert_true(pid > last);
			last = pid;
		}
		assert_true(value(s, (unsigned)getpid(), PROCESS_CPU_TIME) > 0);
		if (round)
			assert_int_equal(get(s, (unsigned)child).number, number);
		number = get(s, (unsigned)child).number;
	}
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	end_child(child);
	source->close(s);
}

/* ---- in a PID namespace */

enum { NO_RIGHTS = 77 };

/* In a namespace of its own, where it is number 1: it sees itself and its child, and no others. */
static int read_inside(unsigned first)
{
	void *s;
	struct err why = {0};
	pid_t child;

	if (getpid() != 1 || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", "/proc", "proc", 0, NULL))
		return NO_RIGHTS;
	child = fork();
	if (child == 0)
		for (;;)
			pause();
	s = start(&root_live, NULL, BIT(PROCESS_CPU_TIME) | BIT(PROCESS_RUN_DELAY));
	if (source->use_kernel(s, &why))
		return NO_RIGHTS;
	read_all(s);
	if (source->nr(s) != 2 || !find(s, 1, &(struct things_one){0}) ||
	    !find(s, (unsigned)child, &(struct things_one){0}) ||
	    (first > 100 && find(s, first, &(struct things_one){0})))
		return 1;
	source->close(s);
	return 0;
}

static int read_in_namespace(unsigned first)
{
	int status;
	pid_t inside;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS))
		return NO_RIGHTS;
	inside = fork();
	if (inside == 0)
		_exit(read_inside(first));
	return waitpid(inside, &status, 0) == inside && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

TEST(namespace)
{
	unsigned first = (unsigned)getpid();
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(read_in_namespace(first));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_RIGHTS)
		SKIP("a PID namespace of our own is not permitted");
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The first process of a namespace has another number outside; its child, which it created, is in
 * its tree there. */
static pid_t start_inside(int *wakes)
{
	int fd[2];
	pid_t child;

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWPID) == 0 && fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			fork();
		}
		(void)!write(fd[1], "", 1);
		for (;;)
			pause();
	}
	close(fd[1]);
	*wakes = fd[0];
	return child;
}

/* Three processes: the one of the tree, and two in a namespace below. */
TEST(tree)
{
	char byte;
	int fd;
	pid_t child = start_inside(&fd);
	const pid_t *ids = &child;
	const size_t nr = 1;
	const struct things_tree tree = {&ids, &nr, true};
	const struct things_choice choice = {.tree = &tree};
	struct err e = {0}, why = {0};
	size_t nr_found = 0;
	void *s;

	assert_int_equal(
	    source->open(&root_live, &choice, BIT(PROCESS_CPU_TIME) | BIT(PROCESS_RSS), &s, &e), 0);
	if (source->use_kernel(s, &why)) {
		source->close(s);
		end_child(child);
		SKIP("%s", why.msg);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(read(fd, &byte, 1), 1);
	read_all(s);
	nr_found = source->nr(s);
	assert_true(find(s, (unsigned)child, &(struct things_one){0}));
	source->close(s);
	end_child(child);
	close(fd);
	assert_int_equal(nr_found, 3 + 1); /* and the rest */
}

/* ---- without the iterator */

static bool is_failing;

/* Files of /proc are read in smaller pieces. */
static ssize_t read_failing(int fd, void *buf, size_t len)
{
	return is_failing && len > 32768 ? -EIO : sys_kernel_ops.read(fd, buf, len);
}

/* From the reading on at which it fails /proc is read: no row is lost, no counter goes back. */
TEST(fails)
{
	static struct sys_ops ops;
	void *s = start_kernel(NULL, ALL_FIELDS), *before;
	struct things_one was[NR_CHILDREN];
	uint64_t delay_ns[NR_CHILDREN];
	const char *note;

	start_tree();
	for (int round = 0; round < 20; round++) { /* threads end that were read */
		rest_ms(5);
		read_all(s);
	}
	assert_string_equal(source->way(s, PROCESS_CPU_TIME), "BPF: iterator over tasks");
	assert_null(source->way(s, PROCESS_FDS));
	for (int i = 0; i < NR_CHILDREN; i++) {
		was[i] = get(s, (unsigned)children[i]);
		delay_ns[i] = was[i].values[PROCESS_RUN_DELAY];
	}
	while ((note = source->note(s)))
		assert_null(strstr(note, "iterator"));
	before = start(&root_live, NULL, COUNTERS);
	read_all(before);
	ops = sys_kernel_ops;
	ops.read = read_failing;
	sys_set_ops(&ops);
	is_failing = true;
	for (int round = 0; round < 3; round++) {
		read_all(s);
		for (int i = 0; i < NR_CHILDREN; i++) {
			struct things_one now = get(s, (unsigned)children[i]);

			assert_int_equal(now.number, was[i].number);
			assert_string_equal(now.name, was[i].name);
			assert_int_equal(now.has, ALL_FIELDS);
			assert_true(now.nr_missed >= was[i].nr_missed);
			assert_true(now.values[PROCESS_RUN_DELAY] >= delay_ns[i]);
			expect_between(before, s, s, (unsigned)children[i], same_counters(i));
		}
		is_failing = round > 0; /* it is not tried again */
	}
	assert_null(source->way(s, PROCESS_CPU_TIME));
	do
		note = source->note(s);
	while (note && !strstr(note, "the iterator over tasks fails"));
	assert_non_null(note);
	sys_set_ops(NULL);
	is_failing = false;
	source->close(before);
	source->close(s);
	end_tree();
}

/* Threads wait for one CPU, and end when they are told to; the process is idle then. */
struct waiters {
	pid_t child;
	int done[2],
	    end[2]; /* a byte of each thread, and of the process when it has none; to each */
	pthread_barrier_t all;
};

enum { NR_WAITERS = 3 };

static void *wait_for_turn(void *arg)
{
	struct waiters *w = arg;
	struct timespec t;
	char byte;

	pthread_barrier_wait(&w->all);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_nsec < 50000000);
	(void)!write(w->done[1], "", 1);
	(void)!read(w->end[0], &byte, 1);
	return NULL;
}

static void start_waiters(struct waiters *w)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(pipe2(w->done, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(pipe2(w->end, O_CLOEXEC), 0);
	assert_int_equal(pthread_barrier_init(&w->all, NULL, NR_WAITERS), 0);
	w->child = fork();
	assert_true(w->child >= 0);
	if (w->child == 0) {
		pthread_t threads[NR_WAITERS];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!sched_setaffinity(0, sizeof(one), &one);
		for (int i = 0; i < NR_WAITERS; i++)
			pthread_create(&threads[i], NULL, wait_for_turn, w);
		for (int i = 0; i < NR_WAITERS; i++)
			pthread_join(threads[i], NULL);
		(void)!write(w->done[1], "", 1);
		for (;;)
			pause();
	}
}

static void read_until(void *s, const struct waiters *w, int nr_done)
{
	char byte;

	for (int nr = 0; nr < nr_done; nr += read(w->done[0], &byte, 1) == 1) {
		rest_ms(1);
		read_all(s);
	}
	read_all(s);
}

static void end_waiters(struct waiters *w)
{
	end_child(w->child);
	for (int i = 0; i < 2; i++) {
		close(w->done[i]);
		close(w->end[i]);
	}
	pthread_barrier_destroy(&w->all);
}

/* /proc has nothing of what they waited. */
TEST(fails_after_threads)
{
	static struct sys_ops ops;
	void *s = start_kernel(NULL, BIT(PROCESS_RUN_DELAY));
	struct waiters w;
	uint64_t delay_ns;

	start_waiters(&w);
	read_until(s, &w, NR_WAITERS);
	assert_int_equal(write(w.end[1], "...", NR_WAITERS), NR_WAITERS);
	read_until(s, &w, 1);
	delay_ns = value(s, (unsigned)w.child, PROCESS_RUN_DELAY);
	print_message("%" PRIu64 " ns\n", delay_ns);
	assert_true(delay_ns > 10000000);
	assert_true(get(s, (unsigned)w.child).nr_missed >= NR_WAITERS);
	ops = sys_kernel_ops;
	ops.read = read_failing;
	sys_set_ops(&ops);
	is_failing = true;
	read_all(s);
	sys_set_ops(NULL);
	is_failing = false;
	assert_true(value(s, (unsigned)w.child, PROCESS_RUN_DELAY) >= delay_ns);
	assert_true(get(s, (unsigned)w.child).nr_missed >= NR_WAITERS);
	source->close(s);
	end_waiters(&w);
}

/* What /proc is better at, or what is no live machine, is read there. */
TEST(not_used)
{
	static const char *const self[] = {"0", NULL};
	static const struct root captured = {.dir = "/."};
	void *s = start(&root_live, self, ALL_FIELDS);
	struct err why = {0};

	assert_int_equal(source->use_kernel(s, &why), -EINVAL);
	read_all(s);
	source->close(s);
	s = start(&captured, NULL, ALL_FIELDS);
	assert_int_equal(source->use_kernel(s, &why), -ENOTSUP);
	source->close(s);
	s = start(&root_live, NULL, BIT(PROCESS_FDS));
	assert_int_equal(source->use_kernel(s, &why), -ENODATA);
	source->close(s);
}
