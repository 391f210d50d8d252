/*
 * What a session has written is on the disk when it says so: the thread that sees to it, and, by
 * the calls on files, that nothing that was written to is left without an fsync.
 */
#include "kit.h"
#include "test_session.h"

#include "session/syncer.h"

#include <pthread.h>
#include <time.h>

/* Rounds that take so long as they are told, and remember what they were given. */
static struct rounds {
	atomic_uint nr;
	uint64_t seen; /* a bit for each number */
	uint64_t num_iterations, nr_recorded;
	unsigned delay_ms;
	int rc;
} rounds;

static int take_round(void *arg, const struct sync_work *work, struct err *e)
{
	const struct timespec delay = {.tv_nsec = 1000000L * rounds.delay_ms};

	assert_ptr_equal(arg, &rounds);
	for (uint64_t i = work->first; i < work->end; i++)
		rounds.seen |= 1ull << i;
	rounds.num_iterations = work->num_iterations;
	rounds.nr_recorded = work->nr_recorded;
	nanosleep(&delay, NULL);
	rounds.nr++;
	return rounds.rc ? err_set(e, rounds.rc, "a round failed") : 0;
}

static void start(struct syncer *s, uint64_t period_ns, bool is_steady)
{
	rounds = (struct rounds){.nr = 0};
	*s = (struct syncer){
	    .period_ns = period_ns, .is_steady = is_steady, .round = take_round, .arg = &rounds};
	assert_int_equal(syncer_start(s), 0);
}

static int post(struct syncer *s, uint64_t i, struct err *e)
{
	return syncer_post(s, &(struct sync_work){i + 1, i + 1, i, i + 1}, e);
}

/* However slow the disk and however often something is written: all of it has a round, and the last
 * one comes before the end. */
TEST(nothing_is_dropped)
{
	const uint64_t periods_ns[] = {0, 1000, 1000000, 3600000000000};

	for (size_t k = 0; k < NR(periods_ns); k++)
		for (unsigned delay_ms = 0; delay_ms < 4; delay_ms += 3) {
			struct syncer s;

			start(&s, periods_ns[k], false);
			rounds.delay_ms = delay_ms;
			for (uint64_t i = 0; i < 64; i++)
				assert_int_equal(post(&s, i, NULL), 0);
			assert_int_equal(syncer_stop(&s, NULL), 0);
			assert_int_equal(rounds.seen, UINT64_MAX);
			assert_int_equal(rounds.num_iterations, 64);
			assert_int_equal(rounds.nr_recorded, 64);
			if (periods_ns[k] == 3600000000000)
				assert_true(rounds.nr <= 2);
			else
				assert_true(rounds.nr <= 64);
		}
}

TEST(nothing_to_do)
{
	struct syncer s;

	start(&s, 1000, false);
	assert_int_equal(syncer_stop(&s, NULL), 0);
	assert_int_equal(rounds.nr, 0);
	assert_int_equal(syncer_stop(&s, NULL), 0);
}

/* Files that grow have rounds without being told, the last of them again and again. */
TEST(steady)
{
	struct syncer s;

	start(&s, 100000, true);
	assert_int_equal(post(&s, 5, NULL), 0);
	while (rounds.nr < 5)
		sched_yield();
	assert_int_equal(syncer_stop(&s, NULL), 0);
	assert_int_equal(rounds.seen, 1 << 5);
}

TEST(an_error_sticks)
{
	struct err e = {0}, again = {0};
	struct syncer s;

	start(&s, 0, false);
	rounds.rc = -EIO;
	while (post(&s, 0, &e) == 0)
		sched_yield();
	assert_int_equal(e.code, -EIO);
	assert_string_equal(e.msg, "a round failed");
	assert_int_equal(syncer_stop(&s, &again), -EIO);
	assert_string_equal(again.msg, "a round failed");
	assert_int_equal(rounds.nr, 1);
}

TEST(slowest)
{
	struct syncer s;

	start(&s, 0, false);
	rounds.delay_ms = 2;
	assert_int_equal(post(&s, 0, NULL), 0);
	while (rounds.nr < 1)
		sched_yield();
	while (syncer_slowest_ns(&s) < 2000000)
		sched_yield();
	assert_int_equal(syncer_slowest_ns(&s), 0);
	assert_int_equal(syncer_stop(&s, NULL), 0);
}

/* A disk: files that were written to and are not on it yet, by their inodes. */
static struct disk {
	pthread_mutex_t lock;
	ino_t dirty[4096];
	size_t nr_dirty, nr_syncs, nr_renamed_dirty;
	int error;
	const char *folder; /* the session's; the rest is not looked at */
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

static ino_t inode_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

static bool find(ino_t ino, size_t *at)
{
	for (*at = 0; *at < disk.nr_dirty; ++*at)
		if (disk.dirty[*at] == ino)
			return true;
	return false;
}

static void soil(int fd)
{
	char link[64], path[512] = "";
	ino_t ino = inode_of(fd);
	size_t at;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_true(readlink(link, path, sizeof(path) - 1) > 0);
	if (strncmp(path, disk.folder, strlen(disk.folder)) != 0)
		return;
	pthread_mutex_lock(&disk.lock);
	if (!find(ino, &at)) {
		assert_true(disk.nr_dirty < NR(disk.dirty));
		disk.dirty[disk.nr_dirty++] = ino;
	}
	pthread_mutex_unlock(&disk.lock);
}

static ssize_t disk_write(int fd, const void *buf, size_t len)
{
	soil(fd);
	return sys_kernel_ops.write(fd, buf, len);
}

static ssize_t disk_writev(int fd, const struct iovec *piece, int nr)
{
	soil(fd);
	return sys_kernel_ops.writev(fd, piece, nr);
}

/* A new name soils its folder. */
static int disk_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	if (flags & O_CREAT && dirfd >= 0 && !strstr(path, ".lock"))
		soil(dirfd);
	return sys_kernel_ops.openat(dirfd, path, flags, mode);
}

static int disk_renameat2(int olddir, const char *old, int newdir, const char *new, unsigned flags)
{
	struct stat st;
	size_t at;

	assert_int_equal(fstatat(olddir, old, &st, AT_SYMLINK_NOFOLLOW), 0);
	pthread_mutex_lock(&disk.lock);
	if (strstr(new, ".cpsession"))
		disk.nr_renamed_dirty += find(st.st_ino, &at);
	pthread_mutex_unlock(&disk.lock);
	soil(newdir);
	return sys_kernel_ops.renameat2(olddir, old, newdir, new, flags);
}

static int disk_fsync(int fd)
{
	ino_t ino = inode_of(fd);
	size_t at;

	pthread_mutex_lock(&disk.lock);
	disk.nr_syncs++;
	if (!disk.error && find(ino, &at))
		disk.dirty[at] = disk.dirty[--disk.nr_dirty];
	pthread_mutex_unlock(&disk.lock);
	return disk.error;
}

/* What the session returned. */
static int run_on_disk(const char *keys, const char *events, uint64_t num_iterations,
		       uint64_t sync_period_ns, int error, struct err *e)
{
	struct sys_ops ops = sys_kernel_ops;
	struct tape tape = {.nr_iterations = 0};
	struct rig rig;
	int rc;

	rig_init(&rig, 2, keys, events);
	rig_with_files(&rig);
	rig.spec.num_iterations = num_iterations;
	rig.spec.sync_period_ns = sync_period_ns;
	ops.write = disk_write;
	ops.writev = disk_writev;
	ops.openat = disk_openat;
	ops.renameat2 = disk_renameat2;
	ops.fsync = disk_fsync;
	disk.nr_dirty = disk.nr_syncs = disk.nr_renamed_dirty = 0;
	disk.error = error;
	disk.folder = rig.folder.dir;
	sys_set_ops(&ops);
	rc = tape_run(&tape, &rig, e);
	sys_set_ops(NULL);
	rig_fini(&rig);
	return rc;
}

TEST(all_is_on_the_disk)
{
	static const char sampled[] =
	    "{\"group_name\":\"software\",\"event_name\":\"cpu_clock\",\"rate\":1000000},";
	const struct {
		const char *events;
		uint64_t nr;
	} rows[] = {{SOFTWARE_2, 1},   {SOFTWARE_2, 5},    {SOFTWARE_2, 100},
		    {SOFTWARE_2, 101}, {SOFTWARE_2, 2500}, {sampled, 3}};

	for (size_t i = 0; i < NR(rows); i++) {
		struct err e = {0};

		if (run_on_disk("", rows[i].events, rows[i].nr, 1000000000, 0, &e))
			fail_msg("row %zu: %s", i, e.msg);
		if (disk.nr_dirty || disk.nr_renamed_dirty || disk.nr_syncs < 4)
			fail_msg("row %zu: %zu dirty, %zu renamed, %zu syncs", i, disk.nr_dirty,
				 disk.nr_renamed_dirty, disk.nr_syncs);
	}
}

TEST(no_sync)
{
	assert_int_equal(run_on_disk("", SOFTWARE_2, 5, 0, 0, NULL), 0);
	assert_int_equal(disk.nr_syncs, 0);
}

TEST(a_failing_disk_is_told)
{
	struct err e = {0};

	assert_int_equal(run_on_disk("", SOFTWARE_2, 5, 1000000000, -EIO, &e), -EIO);
	assert_non_null(strstr(e.msg, "/s.cpsession"));
	assert_non_null(strstr(e.msg, strerror(EIO)));
}
