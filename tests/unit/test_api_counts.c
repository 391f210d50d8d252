/*
 * Counters of a program's own: exact counts of this thread and of no other, of a process, of a CPU;
 * and what misuse returns.
 */
#include "kit.h"

#include "cpuperf/cpuperf.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { PAGE = 4096, MAX_PAGES = 300, NOBODY = 65534 };
/* Of the thread sanitizer's memory about that of the library. */
#ifdef __SANITIZE_THREAD__
enum { SHADOW = 4 };
#else
enum { SHADOW = 0 };
#endif
static const char *const FAULTS = "page_faults,task_clock";

static char *memory;
static struct cpuperf_error e = CPUPERF_ERROR_INIT;

/* Twice, so that what a sanitizer keeps beside each page is there. */
__attribute__((no_sanitize_thread)) static void touch(char *at, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		((volatile char *)at)[i * PAGE] = 1;
}

static void drop(void)
{
	assert_int_equal(madvise(memory, MAX_PAGES * PAGE, MADV_DONTNEED), 0);
}

HOOK(before_all)
{
	memory = mmap(NULL, MAX_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	assert_true(memory != MAP_FAILED);
	assert_int_equal(madvise(memory, MAX_PAGES * PAGE, MADV_NOHUGEPAGE), 0);
	touch(memory, MAX_PAGES);
}

HOOK(before_each)
{
	drop();
}

static struct cpuperf_counts *open_counts(const char *events, enum cpuperf_scope scope, int id)
{
	struct cpuperf_counts *c = NULL;

	if (cpuperf_counts_open(&c, events, scope, id, &e))
		fail_msg("%s", e.text);
	assert_string_equal(e.text, "");
	return c;
}

static uint64_t faults(struct cpuperf_counts *c)
{
	struct cpuperf_value v;

	assert_int_equal(cpuperf_counts_read(c, &v, 1, &e), 0);
	assert_true(v.has_value);
	/* the kernel's own account, where this user may not count in the kernel */
	assert_true(!strcmp(v.state, "ok") || (!strcmp(v.state, "usage") && geteuid() != 0));
	assert_true(v.value == (double)v.raw && v.share == 1);
	return v.raw;
}

TEST(exact)
{
	struct cpuperf_counts *c = open_counts(FAULTS, CPUPERF_THREAD, 0);
	struct cpuperf_value v[2];
	uint64_t before;

	assert_int_equal(cpuperf_counts_nr(c), 2);
	assert_string_equal(cpuperf_counts_event(c, 0)->label, "page_faults");
	assert_string_equal(cpuperf_counts_event(c, 1)->unit, "ns");
	assert_true(cpuperf_counts_event(c, 1)->works);
	assert_null(cpuperf_counts_event(c, 2));
	assert_int_equal(faults(c), 0);
	touch(memory, 10); /* not started */
	assert_int_equal(faults(c), 0);
	assert_int_equal(cpuperf_counts_start(c, &e), 0);
	touch(memory + 10 * PAGE, 100);
	assert_int_equal(cpuperf_counts_stop(c, &e), 0);
	touch(memory + 110 * PAGE, 20);
	assert_int_equal(faults(c), 100);
	assert_int_equal(cpuperf_counts_start(c, &e), 0);
	before = faults(c);
	touch(memory + 130 * PAGE, 7);
	assert_in_range(faults(c) - before, 7, 7 + SHADOW);
	assert_int_equal(before, 100);
	assert_int_equal(cpuperf_counts_reset(c, &e), 0);
	assert_int_equal(faults(c), 0);
	touch(memory + 137 * PAGE, 3);
	assert_int_equal(cpuperf_counts_read(c, v, 2, &e), 0);
	assert_int_equal(v[0].raw, 3);
	assert_int_equal(v[0].own, 0);
	assert_true(v[1].raw > 0 && v[1].enabled_ns >= v[1].raw / 2);
	assert_int_equal(v[1].size, sizeof(v[1]));
	cpuperf_counts_close(c);
}

struct helper {
	pthread_barrier_t barrier;
	char *at;
	size_t nr;
	struct cpuperf_counts *reads; /* NULL: it touches */
	uint64_t read;
};

static void *help(void *arg)
{
	struct helper *h = arg;

	pthread_barrier_wait(&h->barrier);
	if (h->reads)
		h->read = faults(h->reads);
	else
		touch(h->at, h->nr);
	pthread_barrier_wait(&h->barrier);
	return NULL;
}

static pthread_t start_helper(struct helper *h)
{
	pthread_t thread;

	pthread_barrier_init(&h->barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, help, h), 0);
	return thread;
}

static void run_helper(struct helper *h)
{
	pthread_barrier_wait(&h->barrier);
	pthread_barrier_wait(&h->barrier);
}

/* Whether this user may count in the kernel. Else its own account stands for a count
 * (cpuperf/counts.h), which only this thread has. */
static bool need_kernel(const char *what)
{
	struct cpuperf_counts *c = open_counts(FAULTS, CPUPERF_THREAD, 0);
	struct cpuperf_value v;

	assert_int_equal(cpuperf_counts_read(c, &v, 1, &e), 0);
	cpuperf_counts_close(c);
	if (!strcmp(v.state, "ok"))
		return true;
	assert_true(geteuid() != 0);
	print_message("skip: %s: this user may not count in the kernel\n", what);
	return false;
}

/* Another thread's faults are not this one's; and it may read this one's. */
TEST(other_threads)
{
	struct cpuperf_counts *c;
	struct helper toucher = {.at = memory, .nr = 50}, reader;
	pthread_t one, two;

	if (!need_kernel("other threads"))
		return;
	c = open_counts(FAULTS, CPUPERF_THREAD, 0);
	reader = (struct helper){.reads = c};
	one = start_helper(&toucher);
	two = start_helper(&reader);

	assert_int_equal(cpuperf_counts_start(c, &e), 0);
	run_helper(&toucher);
	touch(memory + 50 * PAGE, 9);
	assert_int_equal(cpuperf_counts_stop(c, &e), 0);
	run_helper(&reader);
	assert_true(reader.read >= 9 && reader.read < 9 + 20); /* the barrier's own */
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	cpuperf_counts_close(c);
}

/* All threads of the process: those that are there, and those created later. */
TEST(process)
{
	struct helper early = {.at = memory, .nr = 100},
		      late = {.at = memory + 100 * PAGE, .nr = 150};
	pthread_t one = start_helper(&early), two;
	struct cpuperf_counts *c = open_counts(FAULTS, CPUPERF_PROCESS, 0);
	uint64_t before;

	assert_int_equal(cpuperf_counts_start(c, &e), 0);
	run_helper(&early);
	before = faults(c);
	assert_true(before >= 100 && before < 100 + 40);
	two = start_helper(&late);
	run_helper(&late);
	pthread_join(two, NULL);
	pthread_join(one, NULL);
	assert_true(faults(c) >= before + 150);
	cpuperf_counts_close(c);
}

static void burn(void)
{
	for (volatile unsigned i = 0; i < 3000000; i++)
		;
}

/* Another process, with what it creates from then on, and without. */
TEST(children)
{
	if (!need_kernel("children"))
		return;
	for (unsigned flags = 0; flags <= CPUPERF_CHILDREN; flags++) {
		struct cpuperf_spec *spec;
		struct cpuperf_counts *c;
		pid_t pid;

		assert_int_equal(cpuperf_spec_new(&spec, &e), 0);
		assert_int_equal(cpuperf_spec_add(spec, "page_faults", &e), 0);
		assert_int_equal(
		    cpuperf_counts_open_spec(&c, spec, CPUPERF_PROCESS, getpid(), flags, &e), 0);
		assert_int_equal(cpuperf_counts_start(c, &e), 0);
		pid = fork();
		if (pid == 0) {
			touch(memory, 200);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		if (flags)
			assert_true(faults(c) >= 200);
		else
			assert_true(faults(c) < 200);
		cpuperf_counts_close(c);
		cpuperf_spec_free(spec);
	}
}

/* A command, as the man page says: the child waits until it is counted. */
TEST(command)
{
	struct cpuperf_counts *c = NULL;
	struct cpuperf_spec *spec = NULL;
	struct cpuperf_value v;
	int go[2], status;
	char byte = 0;
	pid_t pid;

	if (!need_kernel("a command"))
		return;
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		(void)!read(go[0], &byte, 1);
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	assert_int_equal(cpuperf_spec_new(&spec, &e), 0);
	assert_int_equal(cpuperf_spec_add(spec, FAULTS, &e), 0);
	assert_int_equal(
	    cpuperf_counts_open_spec(&c, spec, CPUPERF_PROCESS, pid, CPUPERF_CHILDREN, &e), 0);
	assert_int_equal(cpuperf_counts_start(c, &e), 0);
	assert_int_equal(write(go[1], &byte, 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(cpuperf_counts_read(c, &v, 1, &e), 0);
	assert_string_equal(v.state, "ok");
	assert_true(v.raw > 20);
	cpuperf_counts_close(c);
	cpuperf_spec_free(spec);
	close(go[0]);
	close(go[1]);
}

TEST(cpu)
{
	struct cpuperf_counts *c;
	int rc = cpuperf_counts_open(&c, "cpu_clock", CPUPERF_CPU, 0, &e);
	uint64_t first;

	if (rc == -EACCES) {
		print_message("skip: cpu: %s\n", e.text);
		return;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(cpuperf_counts_start(c, &e), 0);
	first = faults(c);
	burn();
	assert_true(faults(c) > first);
	cpuperf_counts_close(c);
}

/* What a forked child has is its parent's; its own works. */
TEST(forked)
{
	struct cpuperf_counts *c = open_counts(FAULTS, CPUPERF_THREAD, 0), *own;
	struct cpuperf_value v;
	pid_t pid;
	int status;

	assert_int_equal(cpuperf_counts_start(c, &e), 0);
	pid = fork();
	if (pid == 0) {
		int bad = cpuperf_counts_read(c, &v, 1, &e) != -ECHILD || !*e.hint;

		bad += cpuperf_counts_start(c, NULL) != -ECHILD;
		cpuperf_counts_close(c);
		own = open_counts(FAULTS, CPUPERF_THREAD, 0);
		bad += cpuperf_counts_start(own, &e) != 0;
		touch(memory, 5);
		bad += faults(own) < 5;
		cpuperf_counts_close(own);
		_exit(bad);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(faults(c) > 100000, 0);
	cpuperf_counts_close(c);
}

/* An event that cannot be counted here says why; the others are counted. */
TEST(not_countable)
{
	struct cpuperf_counts *c =
	    open_counts("page_faults,misc:memory_used,run_queue_time", CPUPERF_THREAD, 0);
	struct cpuperf_value v[3];

	assert_int_equal(cpuperf_counts_read(c, v, 3, &e), 0);
	assert_true(v[0].has_value);
	for (size_t i = 1; i < 3; i++) {
		assert_false(v[i].has_value);
		assert_string_equal(v[i].state, "not supported");
		assert_false(cpuperf_counts_event(c, i)->works);
		assert_string_equal(cpuperf_counts_event(c, i)->reason,
				    "the kernel has no counter for it");
		assert_non_null(strstr(cpuperf_counts_event(c, i)->hint, "session"));
	}
	cpuperf_counts_close(c);
	assert_int_equal(cpuperf_counts_open(&c, "misc:memory_used", CPUPERF_THREAD, 0, &e),
			 -ENOTSUP);
	assert_null(c);
	assert_non_null(strstr(e.text, "none of the 1 event(s) can be counted: memory_used: "));
}

TEST(refused)
{
	static const struct {
		const char *events;
		enum cpuperf_scope scope;
		int id, code;
		const char *text;
	} cases[] = {
	    {"page_faultz", CPUPERF_THREAD, 0, -ENOENT, "page_faults"},
	    {"", CPUPERF_THREAD, 0, -EINVAL, "error"},
	    {"page_faults,cpu_clock@997Hz", CPUPERF_THREAD, 0, -EINVAL, "take no samples"},
	    {"page_faults", CPUPERF_THREAD, -2, -EINVAL, "id: not valid"},
	    {"page_faults", CPUPERF_THREAD, 0x3fffffff, -ESRCH, "there is no thread"},
	    {"page_faults", CPUPERF_PROCESS, 0x3fffffff, -ESRCH, "there is no process"},
	    {"page_faults", CPUPERF_CPU, 4000, -ENODEV, "CPU 4000 is not online"},
	    {"page_faults", (enum cpuperf_scope)9, 0, -EINVAL, "scope: not valid: 9"},
	    {NULL, CPUPERF_THREAD, 0, -EINVAL, "NULL"},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct cpuperf_counts *c = (void *)memory;
		int rc = cpuperf_counts_open(&c, cases[i].events, cases[i].scope, cases[i].id, &e);

		if (rc != cases[i].code || !strstr(e.text, cases[i].text))
			fail_msg("%zu: %d %s", i, rc, e.text);
		assert_int_equal(e.code, rc);
		assert_null(c);
		assert_int_equal(
		    cpuperf_counts_open(&c, cases[i].events, cases[i].scope, cases[i].id, NULL),
		    rc);
	}
}

TEST(misuse)
{
	struct cpuperf_counts *c = open_counts(FAULTS, CPUPERF_THREAD, 0), *none;
	struct cpuperf_value v[3];
	struct cpuperf_error unset = {0};

	assert_int_equal(cpuperf_counts_start(NULL, &e), -EINVAL);
	assert_int_equal(cpuperf_counts_stop(NULL, NULL), -EINVAL);
	assert_int_equal(cpuperf_counts_reset(NULL, &unset), -EINVAL);
	assert_string_equal(unset.text, ""); /* its size was not set */
	assert_int_equal(cpuperf_counts_read(NULL, v, 1, &e), -EINVAL);
	assert_int_equal(cpuperf_counts_nr(NULL), 0);
	assert_null(cpuperf_counts_event(NULL, 0));
	assert_int_equal(cpuperf_counts_open(NULL, FAULTS, CPUPERF_THREAD, 0, &e), -EINVAL);
	assert_int_equal(cpuperf_counts_open_spec(&none, NULL, CPUPERF_THREAD, 0, 0, &e), -EINVAL);
	assert_int_equal(cpuperf_counts_stop(c, &e), 0); /* never started */
	assert_int_equal(cpuperf_counts_start(c, &e), 0);
	assert_int_equal(cpuperf_counts_start(c, &e), 0);
	touch(memory, 4);
	assert_int_equal(cpuperf_counts_stop(c, &e), 0);
	assert_int_equal(cpuperf_counts_stop(c, &e), 0);
	assert_int_equal(faults(c), 4);
	assert_int_equal(cpuperf_counts_read(c, v, 3, &e), -ERANGE);
	assert_int_equal(cpuperf_counts_read(c, NULL, 1, &e), -ERANGE);
	assert_int_equal(cpuperf_counts_read_sized(c, v, 1, 1, &e), -ERANGE);
	assert_int_equal(cpuperf_counts_read(c, NULL, 0, &e), 0);
	assert_int_equal(faults(c), 4); /* errors left it usable */
	cpuperf_counts_close(c);
	cpuperf_counts_close(NULL);
	cpuperf_spec_free(NULL);
}

struct hammer {
	struct cpuperf_counts *counts;
	unsigned nr_busy, nr_wrong;
};

static void *hammer(void *arg)
{
	struct hammer *h = arg;
	struct cpuperf_value v;

	for (unsigned i = 0; i < 20000; i++) {
		int rc = cpuperf_counts_read(h->counts, &v, 1, NULL);

		h->nr_busy += rc == -EBUSY;
		h->nr_wrong += rc && rc != -EBUSY;
	}
	return NULL;
}

/* Two threads at once: each call works, or is refused; the counters remain whole. */
TEST(two_threads_at_once)
{
	struct cpuperf_counts *c = open_counts(FAULTS, CPUPERF_THREAD, 0);
	struct hammer here = {.counts = c}, there = {.counts = c};
	pthread_t thread;

	assert_int_equal(cpuperf_counts_start(c, &e), 0);
	for (unsigned i = 0; i < 100 && !here.nr_busy && !there.nr_busy; i++) {
		assert_int_equal(pthread_create(&thread, NULL, hammer, &there), 0);
		hammer(&here);
		pthread_join(thread, NULL);
	}
	assert_true(here.nr_busy || there.nr_busy);
	assert_int_equal(here.nr_wrong + there.nr_wrong, 0);
	assert_int_equal(cpuperf_counts_stop(c, &e), 0);
	cpuperf_counts_close(c);
}

/* A program that was built with a shorter struct gets that much, and nothing beyond. */
TEST(older_program)
{
	struct cpuperf_counts *c = open_counts(FAULTS, CPUPERF_THREAD, 0);
	struct cpuperf_value v[2];
	size_t shorter = offsetof(struct cpuperf_value, enabled_ns);

	memset(v, 0x55, sizeof(v));
	assert_int_equal(cpuperf_counts_read_sized(c, v, 2, shorter, &e), 0);
	assert_int_equal(v[0].size, shorter);
	assert_int_equal(((struct cpuperf_value *)((char *)v + shorter))->size, shorter);
	assert_int_equal(((unsigned char *)v)[2 * shorter], 0x55);
	cpuperf_counts_close(c);
}

/* Without descriptors: the reason, nothing leaked, and it works when there are some again. */
TEST(no_descriptors)
{
	struct rlimit old, few;
	struct cpuperf_counts *c = NULL;
	unsigned nr_refused = 0, nr_partly = 0;

	if (!need_kernel("no descriptors"))
		return;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (unsigned nr = 3; nr < 20; nr++) {
		int rc;

		few = (struct rlimit){nr, old.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		rc = cpuperf_counts_open(&c, FAULTS, CPUPERF_THREAD, 0, &e);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
		nr_refused += rc == -EMFILE;
		if (rc && rc != -EMFILE)
			fail_msg("%d %s", rc, e.text);
		if (rc == 0 && !cpuperf_counts_event(c, 1)->works) {
			nr_partly++;
			assert_non_null(cpuperf_counts_event(c, 1)->hint);
		}
		cpuperf_counts_close(c);
	}
	assert_true(nr_refused && nr_partly);
	c = open_counts(FAULTS, CPUPERF_THREAD, 0);
	cpuperf_counts_close(c);
}

static void *read_elsewhere(void *arg)
{
	struct cpuperf_value v = {.size = 0};

	assert_int_equal(cpuperf_counts_read(arg, &v, 1, NULL), 0);
	return (void *)(intptr_t)v.has_value;
}

/* What this user may not open is read from getrusage, and said so: a user of his own process in the
 * kernel, at least. */
static void count_usage(enum cpuperf_scope scope)
{
	struct cpuperf_counts *c = open_counts("context_switches,task_clock", scope, 0);
	struct timespec rest = {.tv_nsec = 1000000};
	struct cpuperf_value v[2];
	pthread_t thread;
	void *has_value;
	const char *reason = cpuperf_counts_event(c, 0)->reason;

	assert_non_null(reason);
	assert_non_null(strstr(reason, "getrusage"));
	struct rusage before, after;

	nanosleep(&rest, NULL); /* not started */
	getrusage(RUSAGE_SELF, &before);
	assert_int_equal(cpuperf_counts_start(c, &e), 0);
	for (int i = 0; i < 5; i++)
		nanosleep(&rest, NULL);
	assert_int_equal(cpuperf_counts_read(c, v, 2, &e), 0);
	assert_true(v[0].raw >= 5);
	assert_int_equal(cpuperf_counts_stop(c, &e), 0);
	getrusage(RUSAGE_SELF, &after);
	nanosleep(&rest, NULL);
	assert_int_equal(cpuperf_counts_read(c, v, 2, &e), 0);
	assert_string_equal(v[0].state, "usage");
	assert_true(v[0].has_value && v[0].share == 1 && v[0].enabled_ns > 5000000);
	assert_in_range(v[0].raw, 5,
			after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw);
	assert_true(v[1].has_value && v[1].raw > 0);
	assert_int_equal(pthread_create(&thread, NULL, read_elsewhere, c), 0);
	assert_int_equal(pthread_join(thread, &has_value), 0);
	assert_int_equal(!has_value, scope == CPUPERF_THREAD);
	assert_int_equal(cpuperf_counts_reset(c, &e), 0);
	assert_int_equal(cpuperf_counts_read(c, v, 2, &e), 0);
	assert_int_equal(v[0].raw, 0);
	cpuperf_counts_close(c);
}

static bool may_all_count(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int first;

	assert_non_null(f);
	first = fgetc(f);
	fclose(f);
	return first == '-' || first == '0';
}

static void open_as_nobody(void)
{
	struct cpuperf_counts *c = NULL;
	int rc;

	assert_int_equal(setresgid(NOBODY, NOBODY, NOBODY), 0);
	assert_int_equal(setresuid(NOBODY, NOBODY, NOBODY), 0);
	rc = cpuperf_counts_open(&c, "page_faults", CPUPERF_CPU, 0, &e);
	if (rc != -EACCES || !strstr(e.hint, "perf_event_paranoid"))
		fail_msg("%d %s", rc, e.text);
	rc = cpuperf_counts_open(&c, "page_faults", CPUPERF_PROCESS, 1, &e);
	if (rc != -EACCES)
		fail_msg("%d %s", rc, e.text);
	count_usage(CPUPERF_THREAD);
	count_usage(CPUPERF_PROCESS);
}

TEST(no_rights)
{
	pid_t pid;
	int status;

	if (geteuid() != 0) {
		print_message("skip: no_rights: not root\n");
		return;
	}
	if (may_all_count()) {
		print_message("skip: no_rights: everybody may count CPUs here\n");
		return;
	}
	pid = fork();
	if (pid == 0) {
		open_as_nobody();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int open_and_close(void *arg)
{
	struct cpuperf_counts *c = NULL;
	int rc = cpuperf_counts_open(&c, arg, CPUPERF_THREAD, 0, &e);

	assert_true(rc == 0 || c == NULL);
	cpuperf_counts_close(c);
	return rc == -ENOTSUP ? 0 : rc; /* files that cannot be read hide that there are events */
}

/* Each allocation that fails is an error, and leaks nothing. */
TEST(out_of_memory)
{
	inject_every(open_and_close, (void *)FAULTS, 10, 5);
}
