/*
 * The sources of this machine against what is done to it: bytes written to a loop device, sent over
 * lo, CPUs that are fought for, a cgroup that works. What this machine does not have is skipped.
 */
#include "kit.h"
#include "test_things_many.h"

#include "base/clock.h"
#include "collect/disk.h"
#include "collect/machine_pressure.h"
#include "collect/net.h"
#include "things/cgroup.h"
#include "things/cgroup_text.h"

#include <arpa/inet.h>
#include <linux/loop.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { MIB = 1 << 20, WRITTEN = 4 * MIB, READ = 2 * MIB, SENT = 3 * MIB };

struct loop {
	char name[32];
	int backing, fd;
};

/* A loop device over memory. 0 or -errno. */
static int loop_make(struct loop *l)
{
	static const struct loop_info64 on_close = {.lo_flags = LO_FLAGS_AUTOCLEAR};
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), n, tries = 10;
	char path[64];

	if (control < 0)
		return -errno;
	l->backing = memfd_create("loop", MFD_CLOEXEC);
	assert_int_equal(ftruncate(l->backing, 2 * WRITTEN), 0);
	do {
		n = ioctl(control, LOOP_CTL_GET_FREE);
		snprintf(l->name, sizeof(l->name), "loop%d", n);
		snprintf(path, sizeof(path), "/dev/loop%d", n);
		l->fd = n < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
		n = l->fd >= 0 && ioctl(l->fd, LOOP_SET_FD, l->backing) == 0 ? 0 : -errno;
		if (n && l->fd >= 0)
			close(l->fd);
	} while (n == -EBUSY && --tries); /* another took it */
	close(control);
	if (n)
		close(l->backing);
	else /* it goes with its last descriptor, however this test ends */
		assert_int_equal(ioctl(l->fd, LOOP_SET_STATUS64, &on_close), 0);
	return n;
}

static void loop_remove(struct loop *l)
{
	close(l->fd);
	close(l->backing);
}

static void write_and_read(const struct loop *l)
{
	char *block = aligned_alloc(4096, MIB);
	char path[64];
	int fd;

	memset(block, 0x5a, MIB);
	for (int i = 0; i < WRITTEN / MIB; i++)
		assert_int_equal(pwrite(l->fd, block, MIB, (off_t)i * MIB), MIB);
	assert_int_equal(fsync(l->fd), 0);
	snprintf(path, sizeof(path), "/dev/%s", l->name);
	fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	assert_true(fd >= 0);
	for (int i = 0; i < READ / MIB; i++)
		assert_int_equal(pread(fd, block, MIB, (off_t)i * MIB), MIB);
	close(fd);
	free(block);
}

TEST(loop)
{
	uint64_t before[DISK_NR_FIELDS];
	struct things_one t;
	struct loop l;
	struct many m;
	int rc = loop_make(&l);

	if (rc)
		SKIP("no loop device can be had here: %s", strerror(-rc));
	many_open(&m, &collect_disk_source, &root_live, l.name, UINT32_MAX);
	many_read(&m);
	t = many_get(&m, l.name);
	memcpy(before, t.values, sizeof(before));
	write_and_read(&l);
	many_read(&m);
	t = many_get(&m, l.name);
	assert_int_equal(t.values[DISK_WRITE_BYTES] - before[DISK_WRITE_BYTES], WRITTEN);
	assert_true(t.values[DISK_READ_BYTES] - before[DISK_READ_BYTES] >=
		    READ); /* udev looks too */
	assert_true(t.values[DISK_READ_BYTES] - before[DISK_READ_BYTES] < 2 * READ);
	assert_true(t.values[DISK_WRITE_OPS] > before[DISK_WRITE_OPS]);
	assert_true(t.values[DISK_READ_OPS] > before[DISK_READ_OPS]);
	assert_int_equal(t.values[DISK_WRITE_QUEUE], 0);
	many_close(&m);
	loop_remove(&l);
	many_open(&m, &collect_disk_source, &root_live, "", UINT32_MAX);
	many_read(&m);
	assert_false(many_find(&m, l.name, &t)); /* it is no physical disk */
	many_close(&m);
}

/* Two ends of a connection over 127.0.0.1; false if there is none to be had. */
static bool connect_ends(int ends[2])
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(a);
	bool ok;

	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ok = listener >= 0 && bind(listener, (struct sockaddr *)&a, len) == 0 &&
	     listen(listener, 1) == 0 && getsockname(listener, (struct sockaddr *)&a, &len) == 0 &&
	     connect(ends[0], (struct sockaddr *)&a, len) == 0;
	ends[1] = ok ? accept(listener, NULL, NULL) : -1;
	close(listener);
	return ok;
}

static void send_bytes(const int ends[2])
{
	static char block[16384];

	for (int sent = 0; sent < SENT; sent += (int)sizeof(block)) {
		assert_int_equal(send(ends[0], block, sizeof(block), 0), sizeof(block));
		assert_int_equal(recv(ends[1], block, sizeof(block), MSG_WAITALL), sizeof(block));
	}
}

TEST(lo)
{
	uint64_t before[NET_NR_FIELDS];
	struct things_one t;
	struct many m;
	int ends[2];

	if (!connect_ends(ends))
		SKIP("no connection over 127.0.0.1: %s", strerror(errno));
	many_open(&m, &collect_net_source, &root_live, "lo", UINT32_MAX);
	many_read(&m);
	t = many_get(&m, "lo");
	memcpy(before, t.values, sizeof(before));
	send_bytes(ends);
	many_read(&m);
	t = many_get(&m, "lo");
	assert_true(t.values[NET_RX_BYTES] - before[NET_RX_BYTES] >= SENT);
	assert_true(t.values[NET_TX_BYTES] - before[NET_TX_BYTES] >= SENT);
	assert_true(t.values[NET_RX_PACKETS] - before[NET_RX_PACKETS] >= SENT / 65536);
	assert_true(t.values[NET_TX_PACKETS] > before[NET_TX_PACKETS]);
	many_close(&m);
	close(ends[0]);
	close(ends[1]);
}

/* A child that does nothing but burn time, until it is killed (or this test ends). */
static pid_t burn(const char *cgroup_procs)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (cgroup_procs) {
		int fd = open(cgroup_procs, O_WRONLY | O_CLOEXEC);

		if (fd < 0 || write(fd, "0", 1) != 1)
			_exit(1);
	}
	for (volatile unsigned n = 0;; n++)
		;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* 0, or -errno: the kernel tells none. */
static int read_pressure(uint64_t *some_us)
{
	const struct collect_source *s = &machine_pressure_cpu_source;
	void *state = calloc(1, s->state_bytes);
	struct collect_value v = {0};
	struct buf text;
	int rc;

	buf_init(&text, 4096);
	rc = root_load(&root_live, s->path, &text);
	if (rc == 0) {
		assert_int_equal(s->parse(buf_str(&text), text.len, state, 0), 0);
		assert_true(s->get(state, MACHINE_PRESSURE_SOME, 0, &v));
	}
	*some_us = v.raw;
	buf_fini(&text);
	free(state);
	return rc;
}

enum { MAX_CHILDREN = 64, PATIENCE_S = 60 };

/* More children than CPUs: some wait. */
TEST(pressure)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN) + 1;
	uint64_t first, now, end_ns = clock_monotonic_ns() + PATIENCE_S * 1000000000ull;
	pid_t children[MAX_CHILDREN];

	if (read_pressure(&first))
		SKIP("the kernel tells no pressure");
	if (nr > MAX_CHILDREN)
		SKIP("too many CPUs to keep them busy: %ld", nr);
	for (long i = 0; i < nr; i++)
		children[i] = burn(NULL);
	do {
		usleep(10000);
		assert_true(read_pressure(&now) == 0 && now >= first);
	} while (now == first && clock_monotonic_ns() < end_ns);
	for (long i = 0; i < nr; i++)
		stop(children[i]);
	assert_true(now > first);
}

/* Where groups can be made; false if nowhere. */
static bool make_group(const char *name, char folder[4096])
{
	char mount[2048];
	struct buf text;
	int rc;

	buf_init(&text, 16 << 20);
	assert_int_equal(root_load(&root_live, "/proc/self/mountinfo", &text), 0);
	rc = cgroup_find_mount(buf_str(&text), text.len, mount, sizeof(mount));
	buf_fini(&text);
	if (rc)
		return false;
	snprintf(folder, 4096, "%s/%s", mount, name);
	return mkdir(folder, 0700) == 0;
}

TEST(cgroup)
{
	uint64_t end_ns = clock_monotonic_ns() + PATIENCE_S * 1000000000ull, used_ns = 0;
	char name[64], folder[4096], procs[4200];
	struct things_one t;
	struct many m;
	pid_t child;

	snprintf(name, sizeof(name), "cpuperf-test-%d", (int)getpid());
	if (!make_group(name, folder))
		SKIP("no cgroup of version 2 can be made here");
	many_open(&m, &cgroup_source, &root_live, name, 1u << CGROUP_CPU_USAGE);
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", folder);
	child = burn(procs);
	for (; used_ns < 100000000 && clock_monotonic_ns() < end_ns; usleep(10000)) {
		many_read(&m);
		assert_int_equal(m.source->nr(m.state), 1);
		m.source->get(m.state, 0, &t);
		assert_int_equal(t.has, 1u << CGROUP_CPU_USAGE);
		assert_true(t.values[CGROUP_CPU_USAGE] >= used_ns);
		used_ns = t.values[CGROUP_CPU_USAGE];
	}
	stop(child);
	assert_true(used_ns >= 100000000);
	while (rmdir(folder) && errno == EBUSY) /* the child is still being taken down */
		usleep(1000);
	many_read(&m);
	assert_int_equal(m.source->nr(m.state), 0); /* its files say that it has gone */
	many_close(&m);
}
