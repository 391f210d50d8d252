/*
 * Open files of devices found by links and by the iterator in the kernel, side by side, in
 * processes of the test's own. No machine needs a GPU for it: the devices are those of /dev/null
 * and /dev/zero (major 1). What needs programs in the kernel is skipped where they cannot be
 * loaded.
 */
#include "kit.h"

#include "base/sys.h"
#include "gpu/find.h"
#include "process/reader.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAJOR = 1, MINOR_NULL = 3, MINOR_ZERO = 5, NR_CHILDREN = 5, FIRST_FD = 100 };

static void *proc;

HOOK(before_all)
{
	assert_int_equal(process_proc_reader.open(&root_live, 0, &proc), 0);
}

HOOK(after_all)
{
	process_proc_reader.close(proc);
}

static struct gpu_find *open_find(void)
{
	struct gpu_find *f;

	assert_int_equal(gpu_find_open(&root_live, proc, MAJOR, &f), 0);
	return f;
}

/* NULL: skipped. */
static struct gpu_find *open_kernel(void)
{
	struct gpu_find *f = open_find();
	struct err why = {0};

	if (gpu_find_use_kernel(f, &why) == 0)
		return f;
	print_message("skip: iterator: %s\n", why.msg);
	gpu_find_close(f);
	return NULL;
}

/* Those of the process from FIRST_FD on. */
static size_t find_of(struct gpu_find *f, pid_t process, struct gpu_file *out, size_t max)
{
	const struct gpu_file *list;
	size_t nr_all, nr = 0;

	assert_int_equal(gpu_find_read(f), 0);
	list = gpu_find_list(f, &nr_all);
	for (size_t i = 0; i < nr_all; i++)
		if (list[i].process == (uint32_t)process && list[i].fd >= FIRST_FD) {
			assert_true(nr < max);
			out[nr++] = list[i];
		}
	return nr;
}

/* ---- children */

static void open_at(const char *path, int flags, int fd)
{
	int new = open(path, flags | O_CLOEXEC);

	if (new < 0 || dup2(new, fd) != fd)
		_exit(1);
	close(new);
}

/* What a byte orders. */
enum { OPEN_ANOTHER, REPLACE, WAKE_UP };

static void obey(char order)
{
	if (order == OPEN_ANOTHER)
		open_at("/dev/null", O_RDONLY, FIRST_FD + 8);
	else if (order == REPLACE) /* it has as many as before */
		open_at("/dev/null", O_RDONLY, FIRST_FD + 9);
}

/* Tells that it is ready, and obeys. */
static void serve(int ready, int orders)
{
	char byte = 0;

	while (write(ready, &byte, 1) == 1 && read(orders, &byte, 1) == 1)
		obey(byte);
	_exit(0);
}

/* Has no device open, whatever the test inherited. */
static void be_bare_child(int ready, int orders)
{
	int pipes[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pipe(pipes))
		_exit(1);
	for (int fd = 0; fd < FIRST_FD; fd++)
		if (fd != ready && fd != orders && fd != pipes[0] && dup2(pipes[0], fd) < 0)
			_exit(1);
	open_at("/proc/self/stat", O_RDONLY, FIRST_FD + 9);
	serve(ready, orders);
}

static void be_child(int ready, int orders)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_at("/dev/null", O_RDWR, FIRST_FD);
	open_at("/dev/zero", O_RDONLY, FIRST_FD + 1);
	open_at("/dev", O_RDONLY | O_DIRECTORY, FIRST_FD + 2);
	open_at("/dev/tty", O_RDONLY | O_PATH, FIRST_FD + 3); /* of another major */
	if (dup2(FIRST_FD, FIRST_FD + 7) < 0)
		_exit(1);
	serve(ready, orders);
}

struct child {
	pid_t pid;
	int ready, orders;
};

static struct child start(void (*be)(int ready, int orders))
{
	int ready[2], orders[2];
	struct child c;
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC) | pipe2(orders, O_CLOEXEC), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (c.pid == 0) {
		close(orders[1]);
		be(ready[1], orders[0]);
	}
	close(ready[1]);
	close(orders[0]);
	c.ready = ready[0];
	c.orders = orders[1];
	assert_int_equal(read(c.ready, &byte, 1), 1);
	return c;
}

static void order(const struct child *c, char byte)
{
	assert_int_equal(write(c->orders, &byte, 1), 1);
	assert_int_equal(read(c->ready, &byte, 1), 1);
}

static void end_child(const struct child *c)
{
	close(c->orders);
	close(c->ready);
	kill(c->pid, SIGKILL);
	assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

static void expect_three(const struct gpu_file *list, size_t nr, pid_t pid)
{
	static const struct {
		uint32_t fd, minor;
	} expected[] = {
	    {FIRST_FD, MINOR_NULL}, {FIRST_FD + 1, MINOR_ZERO}, {FIRST_FD + 7, MINOR_NULL}};

	assert_int_equal(nr, NR(expected));
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(list[i].pid, pid);
		assert_int_equal(list[i].fd, expected[i].fd);
		assert_int_equal(list[i].minor, expected[i].minor);
	}
}

/* A process that opens a file after it was looked at is looked at again, within a tick of its
 * clock. */
static void expect_another(struct gpu_find *f, const struct child *c)
{
	enum { MAX_TRIES = 1000 };
	struct gpu_file list[8];
	size_t nr = 0;

	order(c, OPEN_ANOTHER);
	for (int i = 0; i < MAX_TRIES && nr < 4; i++) {
		nr = find_of(f, c->pid, list, NR(list));
		if (nr < 4)
			usleep(10000);
	}
	assert_int_equal(nr, 4);
	assert_int_equal(list[3].fd, FIRST_FD + 8);
}

static void check_children(struct gpu_find *f, bool by_kernel)
{
	struct child children[NR_CHILDREN];
	struct gpu_file list[8];
	char text[4096];

	for (size_t i = 0; i < NR_CHILDREN; i++)
		children[i] = start(be_child);
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < NR_CHILDREN; i++) {
			size_t nr = find_of(f, children[i].pid, list, NR(list));

			expect_three(list, nr, children[i].pid);
			assert_int_equal(list[0].file != 0, by_kernel);
			assert_true(list[0].file == list[2].file); /* a duplicate */
			assert_int_equal(list[0].file != list[1].file, by_kernel);
			assert_true(gpu_find_load(f, &list[0], text, sizeof(text)) > 0);
			assert_non_null(strstr(text, "flags:"));
			assert_int_equal(gpu_find_load(f, &list[0], text, 8), -EFBIG);
		}
	expect_another(f, &children[0]);
	for (size_t i = 0; i < NR_CHILDREN; i++)
		end_child(&children[i]);
	assert_int_equal(find_of(f, children[0].pid, list, NR(list)), 0);
	assert_true(gpu_find_load(f, &list[0], text, sizeof(text)) < 0);
	assert_int_equal(gpu_find_is_by_kernel(f), by_kernel);
}

TEST(by_links)
{
	struct gpu_find *f = open_find();

	check_children(f, false);
	gpu_find_close(f);
}

/* A descriptor that takes another's place, so that there are as many as before. */
TEST(replaced)
{
	enum { MAX_TRIES = 1000 };
	struct gpu_find *f = open_find();
	struct child child = start(be_bare_child);
	struct gpu_file list[8];
	size_t nr = 0;

	for (int i = 0; i < 3; i++) {
		order(&child, WAKE_UP);
		assert_int_equal(find_of(f, child.pid, list, NR(list)), 0);
	}
	order(&child, REPLACE);
	for (int i = 0; i < MAX_TRIES && !nr; i++) {
		order(&child, WAKE_UP);
		nr = find_of(f, child.pid, list, NR(list));
	}
	assert_int_equal(nr, 1);
	assert_int_equal(list[0].fd, FIRST_FD + 9);
	gpu_find_close(f);
	end_child(&child);
}

TEST(by_kernel)
{
	struct gpu_find *f = open_kernel();

	if (!f)
		return;
	check_children(f, true);
	gpu_find_close(f);
}

/* ---- threads */

static pthread_barrier_t opened, checked;
static pid_t thread_id;

/* Has a table of descriptors of its own. */
static void *be_thread(void *unused)
{
	thread_id = (pid_t)gettid();
	assert_int_equal(unshare(CLONE_FILES), 0);
	open_at("/dev/zero", O_RDONLY, FIRST_FD + 4);
	pthread_barrier_wait(&opened);
	pthread_barrier_wait(&checked);
	close(FIRST_FD + 4);
	return unused;
}

/* A thread that shares the descriptors of its process is not counted again; another one is. */
TEST(threads)
{
	struct gpu_find *f = open_kernel(), *by_links = open_find();
	struct gpu_file list[8];
	pthread_t thread;

	pthread_barrier_init(&opened, NULL, 2);
	pthread_barrier_init(&checked, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, be_thread, NULL), 0);
	pthread_barrier_wait(&opened);
	assert_int_equal(find_of(by_links, getpid(), list, NR(list)), 0);
	if (f) {
		assert_int_equal(find_of(f, getpid(), list, NR(list)), 1);
		assert_int_equal(list[0].pid, thread_id);
		assert_int_equal(list[0].fd, FIRST_FD + 4);
		assert_int_equal(list[0].minor, MINOR_ZERO);
	}
	pthread_barrier_wait(&checked);
	pthread_join(thread, NULL);
	gpu_find_close(by_links);
	gpu_find_close(f);
}

/* ---- all of the machine */

static bool has(const struct gpu_find *f, const struct gpu_file *file)
{
	size_t nr;
	const struct gpu_file *list = gpu_find_list(f, &nr);

	for (size_t i = 0; i < nr; i++)
		if (list[i].pid == file->pid && list[i].fd == file->fd)
			return list[i].minor == file->minor;
	return false;
}

/* What links show before and after, the iterator shows between. */
TEST(agree)
{
	struct gpu_find *f = open_kernel(), *before, *after;
	const struct gpu_file *list;
	size_t nr, nr_same = 0;
	struct child child;

	if (!f)
		return;
	child = start(be_child);
	before = open_find();
	after = open_find();
	assert_int_equal(gpu_find_read(before), 0);
	assert_int_equal(gpu_find_read(f), 0);
	assert_int_equal(gpu_find_read(after), 0);
	list = gpu_find_list(before, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (!has(after, &list[i]))
			continue;
		assert_true(has(f, &list[i]));
		nr_same++;
	}
	assert_true(nr_same >= 3);
	print_message("%zu descriptors by both\n", nr_same);
	gpu_find_close(before);
	gpu_find_close(after);
	gpu_find_close(f);
	end_child(&child);
}

static ssize_t fail_to_read(int fd, void *buf, size_t len)
{
	(void)fd;
	(void)buf;
	(void)len;
	return -EIO;
}

/* The reading at which the iterator fails is one by links, and so are those after it. */
TEST(fails)
{
	struct gpu_find *f = open_kernel();
	struct sys_ops ops = sys_kernel_ops;
	struct gpu_file list[8];
	struct child child;

	if (!f)
		return;
	child = start(be_child);
	ops.read = fail_to_read;
	sys_set_ops(&ops);
	expect_three(list, find_of(f, child.pid, list, NR(list)), child.pid);
	sys_set_ops(NULL);
	assert_false(gpu_find_is_by_kernel(f));
	assert_int_equal(list[0].file, 0);
	expect_three(list, find_of(f, child.pid, list, NR(list)), child.pid);
	gpu_find_close(f);
	end_child(&child);
}
