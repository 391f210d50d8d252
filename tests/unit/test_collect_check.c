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
		collect_check(&host, &ev, &s);
		if (s.state != rows[i].state || !strstr(s.reason, rows[i].reason) ||
		    !s.reason[0] != !rows[i].reason[0])
			fail_msg("%s: %s", rows[i].event, s.reason);
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
	collect_check(&host, &ev, &s);
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

		collect_check(&host, &ev, &s);
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
			collect_check(host, &ev, &s);
	}
	return 0;
}

TEST(failures)
{
	struct host host = {.root = root_live};

	inject_every(check_all, &host, 2, 2);
}
