/*
 * Sessions of a program: started and stopped from any thread, without files, of a thread, a process
 * and the machine; things as rows; and what misuse returns.
 */
#include "kit.h"

#include "cpuperf/cpuperf.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct cpuperf_error e = CPUPERF_ERROR_INIT;

static const char *const COUNTED =
    "{\"events\": [{\"group_name\": \"software\", \"event_name\": \"page_faults\"}, // mine\n"
    "{\"group_name\": \"misc\", \"event_name\": \"process_cpu_time\"}],"
    "\"metrics\": [{\"name\": \"twice\", \"expr\": \"{page_faults} * 2\"}],"
    "\"duration\": 0.02, \"num_iterations\": 0}";

static struct cpuperf_spec *parse(const char *text)
{
	struct cpuperf_spec *spec = NULL;

	if (cpuperf_spec_parse(&spec, text, strlen(text), &e))
		fail_msg("%s", e.text);
	return spec;
}

static struct cpuperf_session *open_session(const struct cpuperf_spec *spec, int scope,
					    unsigned flags)
{
	struct cpuperf_session *s = NULL;

	if (cpuperf_session_open(&s, spec, scope, 0, flags, &e))
		fail_msg("%s", e.text);
	return s;
}

/* What fn has seen. */
struct seen {
	atomic_uint nr;
	unsigned stop_after; /* 0: never */
	uint64_t faults;
	bool has_own_row, is_metric_right, is_cut;
	struct cpuperf_session *stops; /* from within fn */
	pthread_t thread;
};

static void look_for_own(const struct cpuperf_iteration *it, struct seen *seen)
{
	char own[32];

	snprintf(own, sizeof(own), "%d ", getpid());
	for (size_t i = 0; i < it->nr_things; i++) {
		const struct cpuperf_thing *t = cpuperf_iteration_thing(it, i);

		assert_string_equal(cpuperf_iteration_event(it, t->event)->name,
				    "process_cpu_time");
		seen->has_own_row |= strncmp(t->name, own, strlen(own)) == 0;
	}
}

static int see(const struct cpuperf_iteration *it, void *arg)
{
	struct seen *seen = arg;
	const struct cpuperf_cell *faults = cpuperf_iteration_total(it, 0);

	assert_int_equal(it->size, sizeof(*it));
	assert_int_equal(it->number, seen->nr);
	assert_true(it->end_ns > it->start_ns);
	assert_null(cpuperf_iteration_event(it, it->nr_events));
	assert_null(cpuperf_iteration_cell(it, 0, it->nr_cpus));
	assert_null(cpuperf_iteration_total(it, it->nr_events));
	assert_null(cpuperf_iteration_thing(it, it->nr_things));
	assert_int_equal(cpuperf_iteration_cpu(it, it->nr_cpus), (uint32_t)CPUPERF_ANY_CPU);
	if (faults->has_value)
		seen->faults += faults->raw;
	if (it->nr_events > 2)
		seen->is_metric_right = cpuperf_iteration_total(it, 2)->value == 2 * faults->value;
	look_for_own(it, seen);
	seen->thread = pthread_self();
	seen->nr++;
	if (seen->stops)
		cpuperf_session_stop(seen->stops);
	return seen->nr == seen->stop_after;
}

static void wait_for(const struct seen *seen, unsigned nr)
{
	while (seen->nr < nr)
		usleep(1000);
}

static bool may_measure_machine(const struct cpuperf_spec *spec)
{
	struct cpuperf_session *s = NULL;
	int rc = cpuperf_session_open(&s, spec, CPUPERF_MACHINE, 0, 0, &e);
	bool may = !(rc == -ENOTSUP && strstr(e.text, "not permitted")) &&
		   (rc || geteuid() == 0 || cpuperf_session_event(s, 0)->works);

	cpuperf_session_close(s);
	if (!may)
		print_message("skip: the machine: %s\n", rc ? e.text : "no rights to count it");
	return may;
}

TEST(machine)
{
	struct cpuperf_spec *spec = parse(COUNTED);
	struct seen seen = {.nr = 0};
	struct cpuperf_session *s;

	if (may_measure_machine(spec)) {
		s = open_session(spec, CPUPERF_MACHINE, 0);
		assert_int_equal(cpuperf_session_nr_events(s), 2);
		assert_string_equal(cpuperf_session_event(s, 0)->name, "page_faults");
		assert_true(cpuperf_session_event(s, 0)->works);
		assert_null(cpuperf_session_event(s, 2));
		assert_int_equal(cpuperf_session_start(s, see, &seen, &e), 0);
		wait_for(&seen, 3);
		cpuperf_session_stop(s);
		assert_int_equal(cpuperf_session_wait(s, &e), 0);
		assert_int_equal(cpuperf_session_wait(s, &e), 0);
		assert_true(seen.nr >= 3 && seen.has_own_row && seen.is_metric_right);
		assert_false(pthread_equal(seen.thread, pthread_self()));
		cpuperf_session_close(s);
	}
	cpuperf_spec_free(spec);
}

enum { GROUP_PAGES = 3000 };

/* In the group, once told so: touches pages. */
static void work_in_group(int folder, int go)
{
	int procs = openat(folder, "cgroup.procs", O_WRONLY);
	char c;

	if (procs < 0 || write(procs, "0", 1) != 1 || read(go, &c, 1) != 1)
		_exit(1);
	for (int i = 0; i < GROUP_PAGES; i++) {
		volatile char *page =
		    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		*page = 1;
	}
	_exit(0);
}

static int add_faults(const struct cpuperf_iteration *it, void *arg)
{
	*(double *)arg += cpuperf_iteration_total(it, 0)->value;
	return 0;
}

TEST(a_control_group)
{
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	struct cpuperf_spec *spec = parse(COUNTED);
	struct cpuperf_session *s = NULL;
	int folder = -1, go[2], status = 1, rc;
	char path[64] = "";
	double faults = 0;
	pid_t pid;

	for (size_t i = 0; i < NR(mounts) && folder < 0; i++) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", mounts[i]);
		if (access(path, W_OK))
			continue;
		snprintf(path, sizeof(path), "%s/cpuperf-api-%d", mounts[i], getpid());
		if (mkdir(path, 0755) == 0)
			folder = open(path, O_RDONLY | O_DIRECTORY);
	}
	assert_int_equal(cpuperf_session_open(&s, spec, CPUPERF_CGROUP, 0, CPUPERF_CHILDREN, &e),
			 -EINVAL);
	assert_int_equal(cpuperf_session_open(&s, spec, CPUPERF_CGROUP, -1, 0, &e), -EINVAL);
	assert_non_null(strstr(e.text, "control group"));
	if (folder < 0) {
		print_message("skip: control groups: no cgroup2 here that this user may change\n");
		cpuperf_spec_free(spec);
		return;
	}
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0)
		work_in_group(folder, go[0]);
	rc = cpuperf_session_open(&s, spec, CPUPERF_CGROUP, folder, 0, &e);
	close(folder);
	if (rc == 0) {
		assert_int_equal(cpuperf_session_start(s, add_faults, &faults, &e), 0);
		for (int i = 0; i < 2 * GROUP_PAGES; i++) { /* not in the group */
			void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

			munmap(page, 4096);
		}
		assert_int_equal(write(go[1], "", 1), 1);
	} else {
		print_message("skip: control groups: %s\n", e.text);
		kill(pid, SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	cpuperf_session_close(s);
	assert_int_equal(rmdir(path), 0);
	if (rc == 0) {
		assert_int_equal(status, 0);
		assert_in_range((uint64_t)faults, GROUP_PAGES, 2 * GROUP_PAGES);
	}
	cpuperf_spec_free(spec);
	close(go[0]);
	close(go[1]);
}

/* An iteration without end is read when the program says so. */
TEST(cut)
{
	struct cpuperf_spec *spec = parse(COUNTED);
	struct seen seen = {.nr = 0};
	struct cpuperf_session *s;

	assert_int_equal(cpuperf_spec_set(spec, "duration", "1000s", &e), 0);
	s = open_session(spec, CPUPERF_PROCESS, 0);
	assert_int_equal(cpuperf_spec_set(spec, "duration", "1s", &e), -EBUSY);
	assert_int_equal(cpuperf_spec_add(spec, "cpu_clock", &e), -EBUSY);
	cpuperf_spec_free(spec); /* the session has it */
	assert_int_equal(cpuperf_session_start(s, see, &seen, &e), 0);
	for (unsigned i = 1; i <= 3; i++) {
		cpuperf_session_cut(s);
		while (seen.nr < i) {
			usleep(1000);
			cpuperf_session_cut(s);
		}
	}
	cpuperf_session_stop(s);
	assert_int_equal(cpuperf_session_wait(s, &e), 0);
	assert_true(seen.nr >= 3);
	cpuperf_session_close(s);
}

/* fn ends it, by its result and by stop. */
TEST(ended_by_fn)
{
	struct cpuperf_spec *spec = parse(COUNTED);

	for (int by_stop = 0; by_stop < 2; by_stop++) {
		struct seen seen = {.stop_after = by_stop ? 0 : 2};
		struct cpuperf_session *s = open_session(spec, CPUPERF_PROCESS, 0);

		seen.stops = by_stop ? s : NULL;
		assert_int_equal(cpuperf_session_start(s, see, &seen, &e), 0);
		assert_int_equal(cpuperf_session_wait(s, &e), 0);
		assert_true(seen.nr == 2 || (by_stop && seen.nr <= 2 && seen.nr));
		cpuperf_session_close(s);
	}
	cpuperf_spec_free(spec);
}

/* The folder in memory of which this process has something open; "": none. */
static char held[PATH_MAX];

static void find_held(void)
{
	enum { HEAD_BYTES = sizeof("/cpuperf-") - 1, HEX_BYTES = 16 };
	DIR *d = opendir("/proc/self/fd");

	assert_non_null(d);
	for (struct dirent *f; (f = readdir(d));) {
		char link[PATH_MAX] = "", *name;

		if (readlinkat(dirfd(d), f->d_name, link, sizeof(link) - 1) <= 0)
			continue;
		name = strstr(link, "/cpuperf-");
		if (!name || strspn(name + HEAD_BYTES, "0123456789abcdef") != HEX_BYTES)
			continue;
		name[HEAD_BYTES + HEX_BYTES] = '\0';
		snprintf(held, sizeof(held), "%s", link);
	}
	closedir(d);
}

static int see_held(const struct cpuperf_iteration *it, void *arg)
{
	find_held();
	return see(it, arg);
}

/* Samples are held in memory, and gone when it is closed. */
TEST(in_memory)
{
	struct cpuperf_spec *spec = NULL;
	struct seen seen = {.stop_after = 2};
	struct cpuperf_session *s;

	assert_int_equal(cpuperf_spec_new(&spec, &e), 0);
	assert_int_equal(cpuperf_spec_add(spec, "cpu_clock@997Hz", &e), 0);
	assert_int_equal(cpuperf_spec_set(spec, "duration", "30ms", &e), 0);
	s = open_session(spec, CPUPERF_THREAD, CPUPERF_IN_MEMORY);
	assert_int_equal(cpuperf_session_start(s, see_held, &seen, &e), 0);
	for (volatile unsigned i = 0; i < 100000000 && seen.nr < 2; i++)
		; /* on CPU */
	if (cpuperf_session_wait(s, &e))
		fail_msg("%s", e.text);
	assert_int_equal(seen.nr, 2);
	assert_int_equal(access(held, F_OK), 0);
	cpuperf_session_close(s);
	assert_int_equal(access(held, F_OK), -1);
	cpuperf_spec_free(spec);
}

/* What the program does after start is measured, all of it. */
TEST(from_the_start)
{
	static const char *const text =
	    "{\"events\": [{\"group_name\": \"software\", \"event_name\": \"page_faults\","
	    " \"flags\": [\"user\"]}], \"duration\": 100, \"num_iterations\": 1}";
	enum { NR_PAGES = 100 };
	struct cpuperf_spec *spec = parse(text);

	for (int i = 0; i < 5; i++) {
		volatile char *pages = mmap(NULL, (size_t)NR_PAGES * 4096, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct cpuperf_session *s = open_session(spec, CPUPERF_THREAD, CPUPERF_IN_MEMORY);
		struct seen seen = {.nr = 0};

		assert_ptr_not_equal(pages, MAP_FAILED);
		assert_int_equal(madvise((void *)pages, (size_t)NR_PAGES * 4096, MADV_NOHUGEPAGE),
				 0);
		assert_int_equal(cpuperf_session_start(s, see, &seen, &e), 0);
		for (size_t k = 0; k < NR_PAGES; k++)
			pages[k * 4096] = 1;
		cpuperf_session_stop(s);
		assert_int_equal(cpuperf_session_wait(s, &e), 0);
		cpuperf_session_close(s);
		assert_true(seen.faults >= NR_PAGES);
		munmap((void *)pages, (size_t)NR_PAGES * 4096);
	}
	cpuperf_spec_free(spec);
}

/* A session that cannot begin says so at its start. */
TEST(cannot_begin)
{
	struct cpuperf_spec *spec = parse(COUNTED);
	struct cpuperf_session *s;

	assert_int_equal(cpuperf_spec_set(spec, "output_path_prefix", "/nowhere/at/all", &e), 0);
	s = open_session(spec, CPUPERF_PROCESS, 0);
	assert_int_equal(cpuperf_session_start(s, NULL, NULL, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nowhere/at"));
	assert_int_equal(cpuperf_session_wait(s, &e), -ENOENT);
	cpuperf_session_close(s);
	cpuperf_spec_free(spec);
}

TEST(misuse)
{
	static const char *const targets[] = {
	    "{\"events\": [{\"group_name\": \"software\", \"event_name\": \"cpu_clock\"}],"
	    " \"target\": {\"pids\": [1]}}",
	    "{\"events\": [{\"group_name\": \"software\", \"event_name\": \"cpu_clock\"}],"
	    " \"target\": {\"cpus\": \"0\"}}"};
	struct cpuperf_spec *spec = parse(COUNTED);
	struct cpuperf_session *s = open_session(spec, CPUPERF_PROCESS, 0), *none;
	pid_t pid;
	int status;

	assert_int_equal(cpuperf_session_wait(s, &e), -EINVAL); /* never started */
	assert_int_equal(cpuperf_session_open(NULL, spec, CPUPERF_MACHINE, 0, 0, &e), -EINVAL);
	assert_int_equal(cpuperf_session_open(&none, NULL, CPUPERF_MACHINE, 0, 0, &e), -EINVAL);
	assert_int_equal(cpuperf_session_open(&none, spec, 77, 0, 0, &e), -EINVAL);
	assert_int_equal(cpuperf_session_open(&none, spec, CPUPERF_MACHINE, 1, 0, &e), -EINVAL);
	assert_int_equal(cpuperf_session_open(&none, spec, CPUPERF_THREAD, 0x3fffffff, 0, &e),
			 -ESRCH);
	assert_null(none);
	assert_int_equal(cpuperf_session_start(NULL, NULL, NULL, &e), -EINVAL);
	assert_int_equal(cpuperf_session_wait(NULL, &e), -EINVAL);
	cpuperf_session_stop(NULL);
	cpuperf_session_cut(NULL);
	cpuperf_session_close(NULL);
	assert_int_equal(cpuperf_session_nr_events(NULL), 0);
	assert_null(cpuperf_session_event(NULL, 0));
	assert_null(cpuperf_iteration_event(NULL, 0));
	pid = fork();
	if (pid == 0) {
		int bad = cpuperf_session_start(s, NULL, NULL, &e) != -ECHILD;

		cpuperf_session_stop(s);
		cpuperf_session_cut(s);
		bad += cpuperf_session_wait(s, NULL) != -ECHILD;
		cpuperf_session_close(s);
		_exit(bad);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(cpuperf_session_start(s, NULL, NULL, &e), 0);
	assert_int_equal(cpuperf_session_start(s, NULL, NULL, &e), -EALREADY);
	cpuperf_session_close(s); /* while it runs */
	s = open_session(spec, CPUPERF_PROCESS, 0);
	cpuperf_session_close(s); /* never started */
	cpuperf_spec_free(spec);
	for (size_t i = 0; i < NR(targets); i++) {
		spec = parse(targets[i]);
		assert_int_equal(cpuperf_session_open(&none, spec, CPUPERF_MACHINE, 0, 0, &e),
				 -ENOTSUP);
		assert_non_null(strstr(e.hint, "scope"));
		cpuperf_spec_free(spec);
	}
	assert_int_equal(cpuperf_spec_new(&spec, &e), 0);
	assert_int_equal(cpuperf_session_open(&none, spec, CPUPERF_MACHINE, 0, 0, &e), -EINVAL);
	assert_non_null(strstr(e.text, "No events"));
	cpuperf_spec_free(spec);
}

TEST(specs)
{
	struct cpuperf_spec *spec = (void *)&e;

	assert_int_equal(cpuperf_spec_parse(&spec, "{\n  oops", 8, &e), -EINVAL);
	assert_null(spec);
	assert_true(e.line == 2 && e.column && *e.message && strstr(e.text, "text:2:"));
	assert_int_equal(cpuperf_spec_load(&spec, "/nowhere.cpspec", &e), -ENOENT);
	assert_string_equal(e.source, "/nowhere.cpspec");
	assert_int_equal(cpuperf_spec_load(&spec, NULL, &e), -EINVAL);
	assert_int_equal(cpuperf_spec_new(NULL, &e), -EINVAL);
	assert_int_equal(cpuperf_spec_new(&spec, &e), 0);
	assert_int_equal(cpuperf_spec_add(NULL, "cpu_clock", &e), -EINVAL);
	assert_int_equal(cpuperf_spec_add(spec, "nonsense,cpu_clock", &e), -ENOENT);
	assert_true(e.column == 1);
	assert_int_equal(cpuperf_spec_set(spec, "duration", "soon", &e), -EINVAL);
	assert_int_equal(cpuperf_spec_set(spec, "nokey", "1", &e), -EINVAL);
	cpuperf_spec_free(spec);
}
