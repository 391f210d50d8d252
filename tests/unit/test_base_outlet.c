/*
 * The queue before a descriptor: its order, its bound, a reader that pauses, goes or never comes,
 * writes that fail. Under the thread sanitizer too.
 */
#include "kit.h"

#include "base/outlet.h"

#include <pthread.h>
#include <signal.h>

enum { MAX_BYTES = 1000, LONG_MS = 60000, SHORT_MS = 50 };

struct tube {
	int read, write;
	struct outlet *o;
};

static void open_pausing(struct tube *t, unsigned pause_ms)
{
	int fd[2];

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	t->read = fd[0];
	t->write = fd[1];
	assert_int_equal(outlet_new(t->write, MAX_BYTES, pause_ms, &t->o), 0);
}

static void open_tube(struct tube *t)
{
	open_pausing(t, 0);
}

static void close_tube(struct tube *t)
{
	outlet_close(t->o);
	close(t->write);
	if (t->read >= 0)
		close(t->read);
}

/* Until the pipe takes nothing more. */
static size_t fill(const struct tube *t)
{
	char page[4096] = {0};
	size_t nr = 0;

	fcntl(t->write, F_SETFL, O_NONBLOCK);
	for (ssize_t n; (n = write(t->write, page, sizeof(page))) > 0;)
		nr += (size_t)n;
	fcntl(t->write, F_SETFL, 0);
	return nr;
}

static void read_exactly(const struct tube *t, char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = read(t->read, text + at, len - at);

		assert_true(n > 0);
		at += (size_t)n;
	}
}

static void pass(const struct tube *t, size_t len)
{
	char page[4096];

	for (; len; len -= sizeof(page))
		read_exactly(t, page, sizeof(page));
}

static bool add(const struct tube *t, const char *text)
{
	return outlet_add(t->o, text, strlen(text), true);
}

TEST(order)
{
	char text[12] = "";
	struct tube t;

	open_tube(&t);
	assert_true(outlet_is_empty(t.o) && !outlet_is_broken(t.o));
	assert_true(add(&t, "one ") && add(&t, "") && add(&t, "two "));
	assert_true(outlet_add(t.o, "three", 5, false));
	assert_int_equal(outlet_wait(t.o, LONG_MS), 0);
	assert_true(outlet_is_empty(t.o));
	assert_int_equal(outlet_nr_written(t.o), 3);
	read_exactly(&t, text, 13 - 2);
	assert_memory_equal(text, "one two thr", 11);
	close_tube(&t);
}

/* While nothing is taken; nothing is cut, and what comes later does not pass what waits. */
TEST(bound)
{
	static char big[MAX_BYTES + 1], text[2 * MAX_BYTES];
	struct tube t;
	size_t filler;

	memset(big, 'b', sizeof(big));
	open_tube(&t);
	filler = fill(&t);
	assert_true(outlet_add(t.o, big, sizeof(big), true)); /* it is empty */
	assert_false(add(&t, "c"));
	assert_int_equal(outlet_wait(t.o, SHORT_MS), -ETIMEDOUT);
	assert_int_equal(outlet_nr_written(t.o), 0);
	pass(&t, filler);
	read_exactly(&t, text, sizeof(big));
	assert_int_equal(outlet_wait(t.o, LONG_MS), 0);
	filler = fill(&t);
	assert_true(add(&t, "d") && outlet_add(t.o, big, MAX_BYTES - 1, true));
	assert_false(add(&t, "e"));
	assert_true(add(&t, ""));
	pass(&t, filler);
	read_exactly(&t, text, MAX_BYTES);
	assert_true(text[0] == 'd' && text[1] == 'b' && text[MAX_BYTES - 1] == 'b');
	assert_int_equal(outlet_wait(t.o, LONG_MS), 0);
	assert_int_equal(outlet_nr_written(t.o), 4);
	close_tube(&t);
}

/* After a text the next ones wait for the pause; it ends for who waits, when much waits, and when
 * it is closed. */
TEST(pause)
{
	static char big[MAX_BYTES], text[4 * MAX_BYTES];
	struct tube t;

	open_pausing(&t, LONG_MS);
	assert_true(add(&t, "first"));
	read_exactly(&t, text, 5); /* at once */
	while (!outlet_is_empty(t.o))
		usleep(1000);
	usleep(SHORT_MS * 1000); /* it pauses */
	assert_true(add(&t, "two") && add(&t, "three"));
	assert_false(outlet_is_empty(t.o));
	assert_int_equal(outlet_wait(t.o, LONG_MS), 0);
	read_exactly(&t, text, 8);
	assert_memory_equal(text, "twothree", 8);
	usleep(SHORT_MS * 1000);
	assert_true(outlet_add(t.o, big, sizeof(big), true)); /* much */
	read_exactly(&t, text, sizeof(big));
	while (!outlet_is_empty(t.o))
		usleep(1000);
	usleep(SHORT_MS * 1000);
	assert_true(add(&t, "never written"));
	close_tube(&t);
}

/* Somebody who takes little by little is waited for. */
static void *read_slowly(void *arg)
{
	const struct tube *t = arg;
	char page[4096];

	for (unsigned i = 0; i < 20; i++) {
		usleep(SHORT_MS * 1000 / 5);
		read_exactly(t, page, sizeof(page));
	}
	return NULL;
}

TEST(slow)
{
	static char big[20 * 4096];
	pthread_t thread;
	struct tube t;
	size_t filler;

	open_tube(&t);
	filler = fill(&t);
	assert_true(outlet_add(t.o, big, sizeof(big), true));
	assert_int_equal(pthread_create(&thread, NULL, read_slowly, &t), 0);
	assert_int_equal(outlet_wait(t.o, LONG_MS), 0);
	pthread_join(thread, NULL);
	assert_int_equal(outlet_nr_written(t.o), 1);
	pass(&t, filler);
	close_tube(&t);
}

/* The reader goes: before, and while the thread is held. */
TEST(gone)
{
	struct tube t;

	signal(SIGPIPE, SIG_IGN);
	for (unsigned is_held = 0; is_held < 2; is_held++) {
		open_tube(&t);
		if (is_held) {
			fill(&t);
			assert_true(add(&t, "held") && add(&t, "behind it"));
			assert_int_equal(outlet_wait(t.o, SHORT_MS), -ETIMEDOUT);
		}
		assert_false(outlet_is_broken(t.o));
		close(t.read);
		t.read = -1;
		assert_true(outlet_is_broken(t.o));
		if (!is_held)
			assert_true(add(&t, "to nobody"));
		assert_int_equal(outlet_wait(t.o, LONG_MS), -EPIPE);
		assert_true(outlet_is_empty(t.o) && outlet_is_broken(t.o));
		assert_false(add(&t, "more"));
		assert_int_equal(outlet_nr_written(t.o), 0);
		close_tube(&t);
	}
}

static atomic_uint nr_tries;

static ssize_t fail_twice(int fd, const void *buf, size_t len)
{
	unsigned n = atomic_fetch_add(&nr_tries, 1);

	return n == 0 ? -EINTR : n == 1 ? -EAGAIN : sys_kernel_ops.write(fd, buf, len);
}

static ssize_t no_space(int fd, const void *buf, size_t len)
{
	(void)fd, (void)buf, (void)len;
	return -ENOSPC;
}

TEST(failures)
{
	struct sys_ops ops = sys_kernel_ops;
	struct tube t;
	char text[2];

	ops.write = fail_twice;
	sys_set_ops(&ops);
	open_tube(&t);
	assert_true(add(&t, "x"));
	assert_int_equal(outlet_wait(t.o, LONG_MS), 0);
	read_exactly(&t, text, 1);
	close_tube(&t);
	ops.write = no_space;
	sys_set_ops(&ops);
	open_tube(&t);
	assert_true(add(&t, "x"));
	assert_int_equal(outlet_wait(t.o, LONG_MS), -ENOSPC);
	assert_true(outlet_is_broken(t.o));
	close_tube(&t);
	sys_set_ops(NULL);
}

TEST(no_memory)
{
	struct outlet *o;
	struct tube t;

	inject_mem(1);
	assert_int_equal(outlet_new(1, MAX_BYTES, 0, &o), -ENOMEM);
	assert_int_equal(inject.nr_live, 0);
	inject_stop();
	open_tube(&t);
	inject_mem(1);
	assert_false(add(&t, "x"));
	inject_stop();
	assert_true(add(&t, "y"));
	assert_int_equal(outlet_wait(t.o, LONG_MS), 0);
	close_tube(&t);
	outlet_close(NULL);
}

/* Who gives up does not wait; the thread that is held cleans up when it comes back. */
TEST(left)
{
	struct tube t;

	inject_mem(0);
	open_tube(&t);
	fill(&t);
	assert_true(add(&t, "held") && add(&t, "behind it"));
	assert_int_equal(outlet_wait(t.o, SHORT_MS), -ETIMEDOUT);
	outlet_close(t.o);
	close(t.read);
	for (unsigned i = 0; inject.nr_live && i < LONG_MS / 2; i++)
		usleep(1000);
	assert_int_equal(inject.nr_live, 0);
	close(t.write);
	inject_stop();
}

enum { NR_THREADS = 4, NR_EACH = 500 };

static void *add_many(void *arg)
{
	const struct tube *t = arg;

	for (unsigned i = 0; i < NR_EACH; i++)
		while (!outlet_add(t->o, "0123456789", 10, true))
			usleep(100);
	return NULL;
}

TEST(threads)
{
	pthread_t thread[NR_THREADS];
	struct tube t;

	open_tube(&t);
	for (unsigned i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, add_many, &t), 0);
	for (unsigned i = 0; i < NR_THREADS * NR_EACH; i++) {
		char text[10];

		read_exactly(&t, text, sizeof(text));
		assert_memory_equal(text, "0123456789", sizeof(text));
	}
	for (unsigned i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(outlet_wait(t.o, LONG_MS), 0);
	assert_int_equal(outlet_nr_written(t.o), NR_THREADS * NR_EACH);
	close_tube(&t);
}
