/*
 * Processes of this machine against what they know of themselves: CPU time of threads that stay and
 * of threads that come and go, memory, bytes written, descriptors, and a number that is used again.
 * Each bound is an own reading of the program that is watched, taken before and after ours.
 */
#include "kit.h"
#include "test_process.h"

#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

enum { NR_BURNERS = 3, NR_VISITORS = 1000, MIB = 1 << 20, NOBODY = 65534, NO_RIGHTS = 77 };

/* A child that does one step each time it is asked, and then tells a number. */
struct child {
	pid_t pid;
	int ask, answer;
};

typedef uint64_t step_fn(unsigned step);

static void serve(int asked, int answer, step_fn *fn)
{
	char byte;

	for (unsigned step = 0; read(asked, &byte, 1) == 1; step++) {
		uint64_t v = fn(step);

		if (write(answer, &v, sizeof(v)) != sizeof(v))
			break;
	}
	_exit(0);
}

static struct child child_start(step_fn *fn)
{
	int to[2], from[2];
	struct child c;

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (c.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody */
		close(to[1]);
		close(from[0]);
		serve(to[0], from[1], fn);
	}
	close(to[0]);
	close(from[1]);
	c.ask = to[1];
	c.answer = from[0];
	return c;
}

static void child_ask(const struct child *c)
{
	assert_int_equal(write(c->ask, "", 1), 1);
}

static uint64_t child_answer(const struct child *c)
{
	uint64_t v;

	assert_int_equal(read(c->answer, &v, sizeof(v)), sizeof(v));
	return v;
}

static uint64_t child_step(const struct child *c)
{
	child_ask(c);
	return child_answer(c);
}

static void child_end(struct child *c)
{
	close(c->ask);
	close(c->answer);
	assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

/* "PID", for the words of a choice. */
static const char *const *only(const struct child *c)
{
	static char text[16];
	static const char *words[2] = {text};

	snprintf(text, sizeof(text), "%d", c->pid);
	return words;
}

/* The same /proc, but not as the live one: times come from threads, counts from listing. */
static const struct root *by_files(void)
{
	static const struct root r = {.dir = "/."};

	return &r;
}

/* What the child has used so far, by its own account. */
static uint64_t used_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return 1000 * (1000000 * (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec));
}

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void burn(uint64_t ns)
{
	while (thread_ns() < ns)
		;
}

/* ---- CPU time */

static pthread_barrier_t burnt;

static void *burner(void *unused)
{
	burn(100000000);
	pthread_barrier_wait(&burnt);
	for (;;)
		pause();
	return unused;
}

/* First three threads burn 100 ms each and stay; then only the account is given. */
static uint64_t burn_step(unsigned step)
{
	pthread_t thread;

	if (step == 0) {
		pthread_barrier_init(&burnt, NULL, NR_BURNERS + 1);
		for (int i = 0; i < NR_BURNERS; i++)
			pthread_create(&thread, NULL, burner, NULL);
		pthread_barrier_wait(&burnt);
	}
	return used_ns();
}

/* rusage is in microseconds, user and system each cut. */
enum { CUT_NS = 2000 };

static void expect_burnt(const struct root *r)
{
	struct child c = child_start(burn_step);
	void *s = start(r, only(&c), BIT(PROCESS_CPU_TIME) | BIT(PROCESS_THREADS));
	uint64_t before, after, read;

	read_all(s);
	assert_true(value(s, (unsigned)c.pid, PROCESS_CPU_TIME) < 100000000);
	assert_int_equal(value(s, (unsigned)c.pid, PROCESS_THREADS), 1);
	before = child_step(&c);
	read_all(s);
	read = value(s, (unsigned)c.pid, PROCESS_CPU_TIME);
	assert_int_equal(value(s, (unsigned)c.pid, PROCESS_THREADS), 1 + NR_BURNERS);
	after = child_step(&c);
	print_message("%" PRIu64 " <= %" PRIu64 " <= %" PRIu64 "\n", before, read, after);
	assert_true(before >= NR_BURNERS * 100000000ull);
	assert_true(before <= read && read <= after + CUT_NS);
	child_end(&c);
	read_all(s);
	assert_int_equal(source->nr(s), 0);
	source->close(s);
}

TEST(burners)
{
	expect_burnt(&root_live);
}

TEST(burners_by_files)
{
	expect_burnt(by_files());
}

static void *visitor(void *unused)
{
	burn(200000);
	return unused;
}

/* A thread each millisecond, for a second; then only the account is given. */
static uint64_t visit_step(unsigned step)
{
	const struct timespec pause_800_us = {.tv_nsec = 800000};
	pthread_t thread;

	for (int i = 0; i < NR_VISITORS && step == 0; i++) {
		if (pthread_create(&thread, NULL, visitor, NULL) == 0)
			pthread_join(thread, NULL);
		nanosleep(&pause_800_us, NULL);
	}
	return used_ns();
}

static uint64_t read_more(void *s, const struct child *c, enum process_field field, uint64_t last)
{
	uint64_t now;

	read_all(s);
	now = value(s, (unsigned)c->pid, field);
	assert_true(now >= last);
	return now;
}

static bool has_answered(const struct child *c)
{
	struct timeval soon = {.tv_usec = 10000};
	fd_set set;

	FD_ZERO(&set);
	FD_SET(c->answer, &set);
	return select(c->answer + 1, &set, NULL, NULL, &soon) == 1;
}

/* The process's own clock has them all; the files only those that a reading saw. Neither goes back,
 * nor beyond. */
TEST(visitors)
{
	struct child c = child_start(visit_step);
	void *s = start(&root_live, only(&c), BIT(PROCESS_CPU_TIME) | BIT(PROCESS_RUN_DELAY)),
	     *files = start(by_files(), only(&c), BIT(PROCESS_CPU_TIME));
	uint64_t read = 0, seen = 0, delay = 0, before, after;
	const char *note;

	child_ask(&c);
	while (!has_answered(&c)) {
		read = read_more(s, &c, PROCESS_CPU_TIME, read);
		delay = read_more(s, &c, PROCESS_RUN_DELAY, delay);
		seen = read_more(files, &c, PROCESS_CPU_TIME, seen);
	}
	before = child_answer(&c);
	read = read_more(s, &c, PROCESS_CPU_TIME, read);
	seen = read_more(files, &c, PROCESS_CPU_TIME, seen);
	after = child_step(&c);
	print_message("%" PRIu64 " <= %" PRIu64 " <= %" PRIu64 ", seen %" PRIu64 "\n", before, read,
		      after, seen);
	assert_true(before >= NR_VISITORS * 200000ull);
	assert_true(before <= read && read <= after + CUT_NS);
	assert_true(seen > 0 && seen <= read);
	assert_null(source->note(s));
	note = source->note(files);
	assert_true(note && strncmp(note, "CPU time: without threads", 25) == 0);
	source->close(s);
	source->close(files);
	child_end(&c);
}

static void *long_visitor(void *unused)
{
	burn(20000000);
	return unused;
}

/* First threads that stay, then some that end, then none. */
static uint64_t unseen_step(unsigned step)
{
	pthread_t thread;

	if (step == 0)
		return burn_step(0);
	for (int i = 0; i < 5 && step == 1; i++)
		if (pthread_create(&thread, NULL, long_visitor, NULL) == 0)
			pthread_join(thread, NULL);
	burn(thread_ns() + 30000000);
	return used_ns();
}

static uint64_t nr_missed(void *s, const struct child *c)
{
	read_all(s);
	return get(s, (unsigned)c->pid).nr_missed;
}

/* Threads that work while they are read are not taken for some that ended; those that ended between
 * two readings are noticed though no reading saw one of them. */
TEST(unseen)
{
	struct child c = child_start(unseen_step);
	void *s = start(&root_live, only(&c), BIT(PROCESS_RUN_DELAY));
	uint64_t before;

	before = nr_missed(s, &c);
	for (unsigned step = 0; step < 3; step++) {
		child_ask(&c);
		while (step != 1 && !has_answered(&c))
			assert_int_equal(nr_missed(s, &c), before);
		child_answer(&c);
		if (step == 1) {
			assert_true(nr_missed(s, &c) > before);
			before = get(s, (unsigned)c.pid).nr_missed;
		}
		assert_int_equal(nr_missed(s, &c), before);
	}
	source->close(s);
	child_end(&c);
}

/* ---- memory, disk, descriptors */

/* The address sanitizer would read its shadow of that memory, which some kernels count, too. */
__attribute__((no_sanitize("address"))) static uint64_t touch_step(unsigned step)
{
	char *p = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)step;
	for (size_t at = 0; p != MAP_FAILED && at < 64 * MIB; at += 4096)
		p[at] = 1;
	return p != MAP_FAILED;
}

TEST(memory)
{
	const uint32_t wanted = BIT(PROCESS_RSS) | BIT(PROCESS_VMS) | BIT(PROCESS_MINOR_FAULTS);
	struct child c = child_start(touch_step);
	unsigned pid = (unsigned)c.pid;
	void *s = start(&root_live, only(&c), wanted);
	uint64_t rss, vms, faults;

	read_all(s);
	rss = value(s, pid, PROCESS_RSS);
	vms = value(s, pid, PROCESS_VMS);
	faults = value(s, pid, PROCESS_MINOR_FAULTS);
	assert_int_equal(child_step(&c), 1);
	read_all(s);
	rss = value(s, pid, PROCESS_RSS) - rss;
	/* the kernel counts by CPU and batch: some dozens of pages are on their way */
	assert_true(rss >= 63 * MIB && rss <= 68 * MIB);
	assert_int_equal(value(s, pid, PROCESS_VMS) - vms, 64 * MIB);
	assert_true(value(s, pid, PROCESS_MINOR_FAULTS) > faults); /* huge pages: one each */
	source->close(s);
	child_end(&c);
}

static int disk_fd;

/* Writes 8 MiB and brings them to the disk; then reads them from there. */
static uint64_t disk_step(unsigned step)
{
	static char block[MIB];
	bool ok = true;

	memset(block, (int)step + 1, sizeof(block));
	for (int i = 0; i < 8 && ok; i++)
		ok = step == 0 ? pwrite(disk_fd, block, MIB, (off_t)i * MIB) == MIB
			       : pread(disk_fd, block, MIB, (off_t)i * MIB) == MIB;
	return ok && (step || fsync(disk_fd) == 0) &&
	       posix_fadvise(disk_fd, 0, 0, POSIX_FADV_DONTNEED) == 0;
}

static int open_on_disk(void)
{
	char path[4096];
	const char *base = getenv("TMPDIR");
	struct statfs fs;
	int fd;

	snprintf(path, sizeof(path), "%s/cpuperf-test.XXXXXX", base ? base : "/tmp");
	fd = mkostemp(path, O_CLOEXEC);
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(fstatfs(fd, &fs), 0);
	if (fs.f_type != TMPFS_MAGIC)
		return fd;
	close(fd);
	return -1;
}

TEST(disk)
{
	const uint32_t wanted = BIT(PROCESS_WRITE_BYTES) | BIT(PROCESS_READ_BYTES);
	uint64_t written, read;
	struct child c;
	unsigned pid;
	void *s;

	disk_fd = open_on_disk();
	if (disk_fd < 0)
		SKIP("the folder for temporary files is on no disk (TMPDIR)");
	c = child_start(disk_step);
	pid = (unsigned)c.pid;
	s = start(&root_live, only(&c), wanted);
	read_all(s);
	if (!(get(s, pid).has & wanted)) {
		source->close(s);
		SKIP("this kernel has no /proc/PID/io");
	}
	written = value(s, pid, PROCESS_WRITE_BYTES);
	assert_int_equal(child_step(&c), 1);
	read_all(s);
	written = value(s, pid, PROCESS_WRITE_BYTES) - written;
	read = value(s, pid, PROCESS_READ_BYTES);
	assert_true(written >= 8 * MIB && written <= 9 * MIB); /* what the file system adds */
	assert_int_equal(child_step(&c), 1);
	read_all(s);
	read = value(s, pid, PROCESS_READ_BYTES) - read;
	assert_true(read >= 8 * MIB && read <= 9 * MIB);
	source->close(s);
	child_end(&c);
	close(disk_fd);
}

static uint64_t open_step(unsigned step)
{
	for (unsigned i = 0; i < step; i++)
		if (dup(0) < 0)
			return 0;
	return 1;
}

/* As before Linux 6.2. */
static int stat_without_size(int dirfd, const char *path, struct stat *st, int flags)
{
	int rc = sys_kernel_ops.fstatat(dirfd, path, st, flags);

	st->st_size = 0;
	return rc;
}

TEST(descriptors)
{
	const struct root *const roots[] = {&root_live, by_files(), &root_live};
	struct sys_ops old = sys_kernel_ops;

	old.fstatat = stat_without_size;
	for (size_t i = 0; i < NR(roots); i++) {
		struct child c = child_start(open_step);
		unsigned pid = (unsigned)c.pid;
		uint64_t nr;
		void *s;

		sys_set_ops(i == 2 ? &old : NULL);
		s = start(roots[i], only(&c), BIT(PROCESS_FDS));
		assert_int_equal(child_step(&c), 1);
		read_all(s);
		nr = value(s, pid, PROCESS_FDS);
		assert_true(nr >= 2); /* the two pipes' ends */
		assert_int_equal(child_step(&c), 1);
		assert_int_equal(child_step(&c), 1);
		read_all(s);
		assert_int_equal(value(s, pid, PROCESS_FDS), nr + 3);
		source->close(s);
		child_end(&c);
	}
	sys_set_ops(NULL);
}

/* ---- asleep */

static uint64_t nothing(unsigned step)
{
	return step;
}

static unsigned nr_preads;
static bool is_failing;

static ssize_t count_pread(int fd, void *buf, size_t len, off_t at)
{
	nr_preads++;
	return is_failing ? -EIO : sys_kernel_ops.pread(fd, buf, len, at);
}

static void count_preads(void)
{
	static struct sys_ops ops;

	ops = sys_kernel_ops;
	ops.pread = count_pread;
	sys_set_ops(&ops);
}

static void sleep_30_ms(void)
{
	const struct timespec t = {.tv_nsec = 30000000};

	nanosleep(&t, NULL);
}

/* Reads until nr files are read at a time: the child waits for us, so it will come to that. */
static void read_until_asleep(void *s, unsigned nr)
{
	for (int i = 0; i < 100; i++) {
		nr_preads = 0;
		read_all(s);
		if (nr_preads == nr)
			return;
		sleep_30_ms();
	}
	fail_msg("of a child that sleeps %u files are read", nr_preads);
}

/* What only it can change is not read while it sleeps, is there all the same, and is read when it
 * has worked. */
TEST(asleep)
{
	const uint32_t wanted = BIT(PROCESS_MINOR_FAULTS) | BIT(PROCESS_THREADS) |
				BIT(PROCESS_RUN_DELAY) | BIT(PROCESS_WRITE_BYTES);
	struct child c = child_start(touch_step);
	unsigned pid = (unsigned)c.pid;
	void *s = start(&root_live, only(&c), wanted);
	uint64_t faults;

	count_preads();
	read_until_asleep(s, 0);
	assert_int_equal(get(s, pid).has, wanted);
	assert_int_equal(value(s, pid, PROCESS_THREADS), 1);
	faults = value(s, pid, PROCESS_MINOR_FAULTS);
	assert_true(faults > 0);
	assert_int_equal(child_step(&c), 1);
	sleep_30_ms();
	is_failing = true;
	read_all(s);
	assert_int_equal(get(s, pid).has, BIT(PROCESS_THREADS));
	is_failing = false;
	sleep_30_ms();
	read_all(s); /* what failed is read again, asleep or not */
	assert_int_equal(get(s, pid).has, wanted);
	read_until_asleep(s, 0);
	assert_true(value(s, pid, PROCESS_MINOR_FAULTS) > faults);
	child_end(&c);
	read_all(s);
	assert_int_equal(source->nr(s), 0);
	source->close(s);
	sys_set_ops(NULL);
}

static const char *nohz_full;

/* As on a machine that has such CPUs. */
static int open_nohz_full(int dirfd, const char *path, int flags, mode_t mode)
{
	int fd;

	if (strcmp(path, "/sys/devices/system/cpu/nohz_full") != 0)
		return sys_kernel_ops.openat(dirfd, path, flags, mode);
	fd = memfd_create("nohz_full", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, nohz_full, strlen(nohz_full), 0), strlen(nohz_full));
	return fd;
}

/* Where a CPU may run without ticks, a clock that stands still means nothing. */
TEST(no_ticks)
{
	static const struct {
		const char *text;
		unsigned nr_read;
	} rows[] = {{"\n", 0}, {"(null)\n", 0}, {"2-3\n", 1}};
	struct child c = child_start(nothing);

	for (size_t i = 0; i < NR(rows); i++) {
		struct sys_ops ops = sys_kernel_ops;
		unsigned least = UINT_MAX; /* its name is read now and then, too */
		void *s;

		ops.openat = open_nohz_full;
		nohz_full = rows[i].text;
		sys_set_ops(&ops);
		s = start(&root_live, only(&c), BIT(PROCESS_MINOR_FAULTS));
		count_preads();
		for (int n = 0; n < 20 && least > 0; n++) {
			sleep_30_ms();
			nr_preads = 0;
			read_all(s);
			least = nr_preads < least ? nr_preads : least;
		}
		assert_int_equal(least, rows[i].nr_read);
		source->close(s);
		sys_set_ops(NULL);
	}
	child_end(&c);
}

static int shared_fd;

static uint64_t share_step(unsigned step)
{
	char *p = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, shared_fd, 0);

	for (size_t at = 0; p != MAP_FAILED && at < 8 * MIB; at += 4096)
		p[at] = (char)step;
	return p != MAP_FAILED;
}

/* Its memory can change while it sleeps. */
TEST(memory_asleep)
{
	struct child c;
	uint64_t rss;
	void *s;

	shared_fd = memfd_create("shared", MFD_CLOEXEC);
	assert_true(shared_fd >= 0 && ftruncate(shared_fd, 8 * MIB) == 0);
	c = child_start(share_step);
	s = start(&root_live, only(&c), BIT(PROCESS_RSS) | BIT(PROCESS_MINOR_FAULTS));
	assert_int_equal(child_step(&c), 1);
	count_preads();
	read_until_asleep(s, 1);
	rss = value(s, (unsigned)c.pid, PROCESS_RSS);
	assert_int_equal(ftruncate(shared_fd, 0), 0);
	read_until_asleep(s, 1);
	assert_true(value(s, (unsigned)c.pid, PROCESS_RSS) <= rss - 7 * MIB);
	source->close(s);
	sys_set_ops(NULL);
	child_end(&c);
	close(shared_fd);
}

/* ---- processes */

TEST(self)
{
	static const char *const words[] = {"0", NULL};
	void *s = start(&root_live, words, ALL_FIELDS);
	struct things_one t;
	char name[64];

	read_all(s);
	assert_int_equal(source->nr(s), 1);
	source->get(s, 0, &t);
	snprintf(name, sizeof(name), "%d test_process_l", getpid());
	assert_memory_equal(t.name, name, strlen(name));
	assert_true(t.values[PROCESS_RSS] > 0 && t.values[PROCESS_CPU_TIME] > 0);
	source->close(s);
}

static uint64_t rename_step(unsigned step)
{
	return prctl(PR_SET_NAME, step % 2 ? "burner" : "idler") == 0;
}

/* Until it has stopped after a step, and its clock has moved. */
static void wait_until_stopped(const struct child *c)
{
	const struct timespec moment = {.tv_nsec = 1000000};
	char path[64], text[256] = "", *name_end;

	snprintf(path, sizeof(path), "/proc/%d/stat", c->pid);
	do {
		FILE *f = fopen(path, "r");

		nanosleep(&moment, NULL);
		assert_true(f && fgets(text, sizeof(text), f));
		fclose(f);
		name_end = strrchr(text, ')');
		assert_non_null(name_end);
	} while (name_end[2] != 'S');
}

/* A name follows at the next reading, however long the process has been there: it must have run to
 * change it. */
TEST(renamed)
{
	static const char *const words[] = {"name:burner", NULL};
	struct child c = child_start(rename_step);
	void *all = start(&root_live, only(&c), BIT(PROCESS_RSS));
	void *some = start(&root_live, words, BIT(PROCESS_RSS));

	for (unsigned step = 0; step < 6; step++) {
		assert_int_equal(child_step(&c), 1);
		wait_until_stopped(&c);
		for (int i = 0; i < 5; i++) {
			read_all(all);
			read_all(some);
			assert_int_equal(source->nr(some), step % 2);
			assert_non_null(
			    strstr(get(all, (unsigned)c.pid).name, step % 2 ? "burner" : "idler"));
		}
	}
	source->close(all);
	source->close(some);
	child_end(&c);
}

/* A zombie is still there; once it is waited for, it is not. */
TEST(zombie)
{
	struct child c = child_start(nothing);
	void *s = start(&root_live, NULL, BIT(PROCESS_RSS) | BIT(PROCESS_CPU_TIME));
	siginfo_t info;
	uint64_t cpu;

	read_all(s);
	assert_true(value(s, (unsigned)c.pid, PROCESS_RSS) > 0);
	cpu = value(s, (unsigned)c.pid, PROCESS_CPU_TIME);
	kill(c.pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)c.pid, &info, WEXITED | WNOWAIT), 0);
	read_all(s);
	assert_int_equal(value(s, (unsigned)c.pid, PROCESS_RSS), 0);
	assert_true(value(s, (unsigned)c.pid, PROCESS_CPU_TIME) >= cpu);
	child_end(&c);
	read_all(s);
	assert_false(find(s, (unsigned)c.pid, &(struct things_one){0}));
	source->close(s);
}

/* By the file that is kept, whichever it is; and by CPU time alone, which needs none. */
TEST(reused)
{
	static const uint32_t wanted[] = {
	    BIT(PROCESS_CPU_TIME),    BIT(PROCESS_RUN_DELAY),
	    BIT(PROCESS_RSS),         BIT(PROCESS_THREADS),
	    BIT(PROCESS_WRITE_BYTES), BIT(PROCESS_MAJOR_FAULTS),
	    BIT(PROCESS_FDS),         ALL_FIELDS,
	};

	for (size_t i = 0; i < 2 * NR(wanted); i++) {
		struct child c = child_start(nothing);
		void *s = start(i % 2 ? by_files() : &root_live, NULL, wanted[i / 2]);
		unsigned pid = (unsigned)c.pid;
		uint32_t number;
		pid_t again;

		read_all(s);
		number = get(s, pid).number;
		sleep_30_ms(); /* it is asleep, as far as we know */
		child_end(&c);
		again = start_as(c.pid);
		if (again < 0) {
			source->close(s);
			SKIP("clone3 with a chosen number: it takes CAP_SYS_ADMIN, and Linux 5.5");
		}
		assert_int_equal(again, pid);
		read_all(s);
		assert_true(get(s, pid).number > number);
		assert_int_equal(get(s, pid).has, wanted[i / 2]);
		kill(again, SIGKILL);
		waitpid(again, NULL, 0);
		source->close(s);
	}
}

/* What another user sees of us, by how /proc is mounted. */
static const struct {
	const char *option;
	bool is_listed;
	uint32_t has;
	const char *note;
} mounts[] = {
    {"hidepid=0", true, BIT(PROCESS_CPU_TIME) | BIT(PROCESS_RSS), "bytes read, bytes written of "},
    {"hidepid=1", true, BIT(PROCESS_CPU_TIME), "resident memory, bytes read, bytes written of "},
    {"hidepid=2", false, 0, NULL},
};

/* A /proc of its own, so mounted, and no rights. */
static bool become_nobody(const char *option)
{
	return unshare(CLONE_NEWNS) == 0 && mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("proc", "/proc", "proc", 0, option) == 0 && setgroups(0, NULL) == 0 &&
	       setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

static int read_as_nobody(unsigned parent, size_t i)
{
	const uint32_t wanted = BIT(PROCESS_READ_BYTES) | BIT(PROCESS_WRITE_BYTES) |
				BIT(PROCESS_RSS) | BIT(PROCESS_CPU_TIME);
	struct things_one t = {0};
	const char *note;
	void *s;

	if (!become_nobody(mounts[i].option))
		return NO_RIGHTS;
	s = start(&root_live, NULL, wanted);
	read_all(s);
	if (find(s, parent, &t) != mounts[i].is_listed)
		return 1;
	if (t.has != mounts[i].has || (t.has && !t.values[PROCESS_CPU_TIME]))
		return 2;
	note = source->note(s);
	if (mounts[i].note && (!note || strstr(note, mounts[i].note) != note))
		return 3;
	source->close(s);
	return 0;
}

TEST(nobody)
{
	unsigned parent = (unsigned)getpid();

	for (size_t i = 0; i < NR(mounts); i++) {
		pid_t child = fork();
		int status;

		assert_true(child >= 0);
		if (child == 0)
			_exit(read_as_nobody(parent, i));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == NO_RIGHTS)
			SKIP("a /proc of our own cannot be mounted");
		print_message("%s\n", mounts[i].option);
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}
