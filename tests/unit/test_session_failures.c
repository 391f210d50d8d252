/*
 * Every allocation, every system call on files and every perf call fails once, over a whole
 * session: it ends with an error in words, or its readings say so; every file that is there is
 * whole; nothing is left open, and the next session works.
 */
#include "kit.h"
#include "test_session.h"

#include "base/child.h"

enum { NR_CPUS = 2, NR_ITERATIONS = 2 };

static struct tape tape;
static struct rig rig;
static size_t nr_fds;

#define COUNTED SOFTWARE_2 HARDWARE_3 MISC EV("misc", "memory_used")

/* A session that counts; one that samples: its survey of /proc runs on a thread of its own; and one
 * that removes its first iteration. */
static const struct {
	const char *events;
	unsigned has_common; /* a file more */
	unsigned retained;   /* iterations; 0: all */
} modes[] = {
    {COUNTED, 0},
    {"{\"group_name\":\"software\",\"event_name\":\"cpu_clock\",\"rate\":1000000,"
     "\"flags\":[\"timebase\"]},{\"group_name\":\"software\",\"event_name\":\"page_faults\","
     "\"rate\":10}," EV("software", "context_switches") MISC,
     1},
    {COUNTED, 0, 1},
};
static enum { COUNTS, SAMPLES, RETAINS } mode;

/* One process, so that the survey has something to do, and little. */
static void put_small_proc(void)
{
	static const struct {
		const char *path, *text;
	} files[] = {
	    {"/proc/stat", "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n"
			   "cpu1 1 2 3 4 5 6 7 8 0 0\nctxt 99\n"},
	    {"/proc/kallsyms", "ffffffff81000000 T _text\n"},
	    {"/proc/7/stat", "7 (small) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 4096 1\n"},
	    {"/proc/7/maps", "00400000-00401000 r-xp 00000000 08:01 12 /bin/small\n"},
	};

	rig_with_proc(&rig);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		tree_put(&rig.folder, files[i].path, files[i].text, strlen(files[i].text));
}

static unsigned nr_files(void)
{
	unsigned retained = modes[mode].retained;

	return NR_CPUS * (retained ? retained : NR_ITERATIONS) + modes[mode].has_common;
}

/* From plan to close, as a program does it. */
static int whole_session(struct err *e)
{
	static struct err_list errs;
	int rc;

	errs = (struct err_list){0};
	tape = (struct tape){.nr_iterations = 0};
	rc = rig_plan(&rig, NR_CPUS, &errs);
	if (rc) {
		*e = errs.item[0];
		return rc;
	}
	rc = tape_run(&tape, &rig, e);
	plan_fini(&rig.plan);
	return rc;
}

static void begin(void)
{
	rig_init(&rig, NR_CPUS, "", modes[mode].events);
	rig_with_files(&rig);
	if (modes[mode].has_common)
		put_small_proc();
	fake.samples_per_read = 5;
	rig.spec.num_iterations = NR_ITERATIONS;
	rig.spec.retain.iterations = modes[mode].retained;
	plan_fini(&rig.plan);
	rig.plan.nr_cpus = NR_CPUS;
	nr_fds = inject_open_fds();
}

static unsigned nr_not_ok(void)
{
	unsigned nr = 0;

	for (uint32_t i = 0; i < tape.nr_iterations; i++)
		for (unsigned cpu = 0; cpu < NR_CPUS; cpu++)
			for (size_t k = 0; k < tape.nr_events; k++)
				nr += tape.it[i].end[cpu][k].state > READING_OK ||
				      tape.it[i].start[cpu][k].state > READING_OK;
	return nr;
}

static void empty_folder(void)
{
	DIR *d = opendir(rig.folder.dir);

	for (struct dirent *f; (f = readdir(d));)
		if (f->d_type == DT_REG)
			assert_int_equal(unlinkat(dirfd(d), f->d_name, 0), 0);
	closedir(d);
}

/* May only be a lock, empty, that its holder could not take or remove: it hinders nobody. */
static void check_strays(void)
{
	DIR *d = opendir(rig.folder.dir);

	for (struct dirent *f; (f = readdir(d));) {
		struct stat st;

		if (f->d_type != DT_REG || !fnmatch("t.*.cpuperf", f->d_name, 0) ||
		    !strcmp(f->d_name, "s.cpsession"))
			continue;
		if (fnmatch("*.lock", f->d_name, 0) || fstatat(dirfd(d), f->d_name, &st, 0) ||
		    st.st_size)
			fail_msg("%s is left", f->d_name);
	}
	closedir(d);
}

/* After a session in which something failed, and the one after it. */
static void check_after(int rc, const struct err *e)
{
	struct err again = {0};
	struct leavings l;

	assert_int_equal(inject_open_fds(), nr_fds);
	assert_int_equal(fake.nr_live, 0);
	traces_may_be_cut = rc && modes[mode].has_common;
	l = check_files(&rig);
	traces_may_be_cut = false;
	check_strays();
	if (rc) {
		assert_true(e->msg[0]);
		assert_int_equal(e->code, rc);
	} else {
		assert_int_equal(tape.nr_iterations, NR_ITERATIONS);
		/* one that cannot be opened is not removed */
		assert_true(l.nr_traces == nr_files() ||
			    (modes[mode].retained && l.nr_traces == nr_files() + 1));
		assert_int_equal(l.num_iterations, NR_ITERATIONS);
	}
	if (whole_session(&again))
		fail_msg("the next session fails: %s", again.msg);
	assert_files(&rig, nr_files(), NR_ITERATIONS);
	empty_folder();
}

/* A session for each failure: every 8th in a run. */
static unsigned step(void)
{
	return (unsigned)stride_by(8, 1);
}

static void fail_every_allocation(void)
{
	const unsigned by = step();
	unsigned n, nr_harmless = 0;

	begin();
	inject.fired = true;
	for (n = 1 + (unsigned)stride_from(by); inject.fired; n += by) {
		struct err e = {0};
		bool fired;
		int rc;

		inject_mem(n);
		rc = whole_session(&e);
		fired = inject.fired;
		assert_int_equal(inject.nr_live, 0);
		inject_stop();
		assert_true(rc == 0 || (fired && rc == -ENOMEM));
		nr_harmless += rc == 0 && fired && !nr_not_ok();
		check_after(rc, &e);
		inject.fired = fired;
	}
	assert_true(n > 30);
	if (!modes[mode].has_common) /* the list of possible CPUs: all there can be, then */
		assert_true(by == 1 ? nr_harmless == 1 : nr_harmless <= 1);
	rig_fini(&rig);
}

static void fail_every_file_call(void)
{
	static const int errors[] = {-EIO, -ENOSPC, -EINTR};
	const unsigned by = step();
	unsigned n, nr_told = 0;

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		begin();
		inject.fired = true;
		for (n = 1 + (unsigned)stride_from(by); inject.fired; n += by) {
			struct err e = {0};
			bool fired;
			int rc;

			inject_sys(n, errors[i]);
			rc = whole_session(&e);
			fired = inject.fired;
			inject_stop();
			assert_true(rc == 0 || (fired && rc == errors[i]));
			nr_told += rc == 0 && nr_not_ok();
			check_after(rc, &e);
			inject.fired = fired;
		}
		assert_true(n > 60);
		rig_fini(&rig);
	}
	if (!modes[mode].has_common && by == 1) /* two files of misc, three boundaries, but EINTR */
		assert_true(nr_told >= 2 * 2 * 3);
}

static void fail_every_perf_call(void)
{
	static const int errors[] = {-EMFILE, -EIO, -ENODEV, -EINTR};
	const unsigned by = step();
	unsigned n;

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		begin();
		fake.fail_fired = true;
		for (n = 1 + (unsigned)stride_from(by); fake.fail_fired; n += by) {
			struct err e = {0};
			bool fired;
			int rc;

			fake_reset();
			fake.fail_call = n;
			fake.fail_error = errors[i];
			rc = whole_session(&e);
			fired = fake.fail_fired;
			if (rc) /* no perf call ends a session that counts */
				assert_true(modes[mode].has_common && fired);
			else if (fired && n <= NR_CPUS * 5 && !modes[mode].has_common) /* an open */
				assert_true(nr_not_ok() || tape.nr_notes);
			assert_int_equal(fake.nr_wrong + fake.nr_orphans + fake.nr_rings, 0);
			check_after(rc, &e);
			fake.fail_fired = fired;
		}
		assert_true(n > 30);
		rig_fini(&rig);
	}
}

static pid_t no_fork(void)
{
	return -EAGAIN;
}

/* Forking a child of this program a thousand times takes too long. */
static void without_children(void (*body)(void))
{
	static struct child_ops ops;

	ops = child_kernel_ops;
	ops.fork = no_fork;
	child_set_ops(&ops);
	body();
	child_set_ops(NULL);
}

TEST(every_allocation_counting)
{
	mode = COUNTS;
	fail_every_allocation();
}

TEST(every_file_call_counting)
{
	mode = COUNTS;
	fail_every_file_call();
}

TEST(every_perf_call_counting)
{
	mode = COUNTS;
	fail_every_perf_call();
}

TEST(every_allocation_sampling)
{
	mode = SAMPLES;
	fail_every_allocation();
}

TEST(every_file_call_sampling)
{
	mode = SAMPLES;
	without_children(fail_every_file_call);
}

TEST(every_perf_call_sampling)
{
	mode = SAMPLES;
	without_children(fail_every_perf_call);
}

TEST(every_allocation_retaining)
{
	mode = RETAINS;
	fail_every_allocation();
}

TEST(every_file_call_retaining)
{
	mode = RETAINS;
	fail_every_file_call();
}
