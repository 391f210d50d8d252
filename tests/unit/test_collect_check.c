/*
 * Whether misc events work: their files are read once, and must have what the row takes from them.
 */
#include "kit.h"

#include "collect/collect.h"
#include "host/host.h"

static struct event find(const char *name)
{
	struct event ev = {&collect_misc_group, collect_misc_group.rows};

	while (strcmp(ev.row->name, name) != 0)
		ev.row++;
	return ev;
}

static ssize_t unsupported(int fd, void *buf, size_t len, off_t at)
{
	(void)fd, (void)buf, (void)len, (void)at;
	return -EOPNOTSUPP; /* PSI that was turned off when the kernel was booted */
}

TEST(files)
{
	static const struct {
		const char *path, *text, *event;
		enum reading_state state;
		const char *reason;
	} rows[] = {
	    {"/proc/loadavg", "0.50 0.40 0.30 1/2 3\n", "load_average_1", READING_OK, ""},
	    {"/proc/loadavg", "what?\n", "load_average_1", READING_NOT_SUPPORTED, "/proc/loadavg"},
	    {"/proc/vmstat", "pgpgin 7\n", "page_in", READING_OK, ""},
	    {"/proc/vmstat", "pgpgin 7\n", "page_out", READING_NOT_SUPPORTED,
	     "/proc/vmstat does not have it"},
	    {"/proc/other", "", "page_out", READING_NOT_SUPPORTED,
	     "/proc/vmstat cannot be read: No such file or directory"},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct host host = {.root = tree_make()};
		struct event ev = find(rows[i].event);
		struct event_support s;

		tree_put(&host.root, rows[i].path, rows[i].text, strlen(rows[i].text));
		collect_check(&host, &ev, NULL, &s);
		if (s.state != rows[i].state || !strstr(s.reason, rows[i].reason) ||
		    !s.reason[0] != !rows[i].reason[0])
			fail_msg("%s: %s", rows[i].event, s.reason);
		tree_remove(&host.root);
	}
}

#define MOUNT "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"

/* An event of many things works if one of them has its field, whatever else their files have. */
TEST(fields)
{
	static const struct {
		const char *event, *path, *text, *cgroup;
		enum reading_state state;
		const char *reason;
	} rows[] = {
	    {"cgroup_cpu_usage", "/cpu.stat", "usage_usec 7\n", NULL, READING_OK, ""},
	    {"cgroup_cpu_throttled", "/cpu.stat", "usage_usec 7\n", NULL, READING_NOT_SUPPORTED,
	     "cgroup /: cpu.stat does not have all"},
	    {"cgroup_cpu_throttled", "/cpu.stat", "usage_usec 7\nthrottled_usec 1\n", NULL,
	     READING_OK, ""},
	    {"cgroup_memory_current", "/cpu.stat", "usage_usec 7\n", NULL, READING_NOT_SUPPORTED,
	     "the root of the hierarchy does not have them"},
	    {"cgroup_memory_current", "/a/memory.current", "4096\n", NULL, READING_NOT_SUPPORTED,
	     "root of"},
	    {"cgroup_memory_current", "/a/memory.current", "4096\n", "a", READING_OK, ""},
	    {"cgroup_memory_current", "/a/memory.current", "4096\n", "b", READING_OK,
	     ""}, /* may come */
	    {"cgroup_io_read_bytes", "/a/memory.current", "1\n", NULL, READING_NOT_SUPPORTED, ""},
	    {"cgroup_io_write_bytes", "/io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n", NULL,
	     READING_OK, ""},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct host host = {.root = tree_make()};
		struct event ev = find(rows[i].event);
		const struct things_choice choice = {&rows[i].cgroup, rows[i].cgroup != NULL};
		struct event_support s;
		char path[64];

		snprintf(path, sizeof(path), "/sys/fs/cgroup%s", rows[i].path);
		tree_put(&host.root, "/proc/self/mountinfo", MOUNT, strlen(MOUNT));
		tree_put(&host.root, path, rows[i].text, strlen(rows[i].text));
		collect_check(&host, &ev, &choice, &s);
		if (s.state != rows[i].state || !strstr(s.reason, rows[i].reason))
			fail_msg("%s %zu: %u %s", rows[i].event, i, s.state, s.reason);
		tree_remove(&host.root);
	}
}

TEST(unreadable)
{
	struct host host = {.root = tree_make()};
	struct sys_ops ops = sys_kernel_ops;
	struct event ev = find("load_average_1");
	struct event_support s;

	tree_put(&host.root, "/proc/loadavg", "0.50 0.40 0.30 1/2 3\n", 21);
	ops.pread = unsupported;
	sys_set_ops(&ops);
	collect_check(&host, &ev, NULL, &s);
	sys_set_ops(NULL);
	assert_int_equal(s.state, READING_NOT_SUPPORTED);
	assert_non_null(strstr(s.reason, strerror(EOPNOTSUPP)));
	tree_remove(&host.root);
}

/* Of this machine: what every kernel has. */
TEST(live)
{
	static const char *const names[] = {"cpu_user", "memory_used", "process_rss",
					    "page_faults"};
	struct host host;
	struct err e = {0};

	assert_int_equal(host_load(&root_live, &host, &e), 0);
	for (size_t i = 0; i < NR(names); i++) {
		struct event ev = find(names[i]);
		struct event_support s;

		collect_check(&host, &ev, NULL, &s);
		if (s.state != READING_OK)
			fail_msg("%s: %s", names[i], s.reason);
	}
	host_fini(&host);
}

static int check_all(void *arg)
{
	const struct host *host = arg;
	struct event_support s;

	for (size_t i = 0; i < collect_misc_group.nr_rows; i++) {
		const struct event ev = {&collect_misc_group, &collect_misc_group.rows[i]};

		if (ev.row->collector == 0)
			collect_check(host, &ev, NULL, &s);
	}
	return 0;
}

TEST(failures)
{
	struct host host = {.root = root_live};

	inject_every(check_all, &host, 2, 2);
}
