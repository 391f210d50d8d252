/*
 * The log and its options: levels, prefixes, one write for a line; clocks and names of states.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/opt_std.h"
#include "base/reading.h"

#include <sys/mman.h>

static int sink_fd;
static unsigned nr_writes;

static ssize_t counted_write(int fd, const void *buf, size_t len)
{
	nr_writes += fd == sink_fd;
	return sys_kernel_ops.write(fd, buf, len);
}

static void start(int min_level)
{
	sink_fd = memfd_create("log", MFD_CLOEXEC);
	assert_true(sink_fd >= 0);
	log_open("prog", min_level, sink_fd);
	nr_writes = 0;
}

/* What was logged since start, which it ends. */
static const char *logged(void)
{
	static char text[16384];
	ssize_t n = pread(sink_fd, text, sizeof(text) - 1, 0);

	assert_true(n >= 0);
	text[n] = '\0';
	close(sink_fd);
	return text;
}

TEST(silent)
{
	log_error("to nobody");
}

TEST(levels)
{
	static const struct {
		int level;
		const char *text;
	} rows[] = {
	    {-3, "[VERBOSE3:f.c(7)] m\n"},   {LOG_VERBOSE, "[VERBOSE1:f.c(7)] m\n"},
	    {LOG_INFO, "prog: m\n"},         {LOG_WARNING, "prog: warning: m\n"},
	    {LOG_ERROR, "prog: error: m\n"}, {LOG_FATAL, "prog: fatal: m\n"},
	};

	for (int min = -3; min <= LOG_FATAL + 1; min++)
		for (size_t i = 0; i < NR(rows); i++) {
			start(min);
			log_line(rows[i].level, "a/b/f.c", 7, "%s", "m");
			if (rows[i].level == LOG_INFO && min < LOG_INFO) /* --verbose */
				assert_string_equal(logged(), "[INFO:f.c(7)] m\n");
			else
				assert_string_equal(logged(),
						    rows[i].level >= min ? rows[i].text : "");
		}
}

TEST(one_write)
{
	struct sys_ops ops = sys_kernel_ops;
	static char big[20000];
	const char *text;

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	ops.write = counted_write;
	sys_set_ops(&ops);
	start(LOG_VERBOSE);
	log_warning("%s", big);
	log_info("short");
	sys_set_ops(NULL);
	assert_int_equal(nr_writes, 2);
	text = logged();
	assert_ptr_equal(strchr(text, '\n'), text + 8190); /* cut, and still a line */
	assert_non_null(strstr(text, "\n[INFO:"));
}

TEST(err)
{
	struct err e = {0};

	err_set_at(&e, -EINVAL, "a.cpspec", 2, 5, "bad");
	err_hint(&e, "mend it");
	start(LOG_INFO);
	log_err(LOG_ERROR, &e);
	assert_string_equal(logged(), "a.cpspec:2:5: error: bad\n  hint: mend it\n");
	start(LOG_INFO);
	log_err(LOG_WARNING, &e);
	assert_string_equal(logged(), "a.cpspec:2:5: warning: bad\n  hint: mend it\n");
	start(LOG_ERROR);
	log_err(LOG_WARNING, &e);
	assert_string_equal(logged(), "");
	err_clear(&e);
	err_set(&e, -EIO, "lost");
	start(LOG_INFO);
	log_err(LOG_ERROR, &e);
	assert_string_equal(logged(), "prog: error: lost\n");
}

/* What is logged is one object per line, whatever it contains; the time alone varies. */
TEST(json)
{
	static const struct {
		int min_level, level;
		const char *text, *line;
	} rows[] = {
	    {LOG_INFO, LOG_INFO, "m",
	     "\"level\":\"info\",\"program\":\"prog\",\"message\":\"m\"}\n"},
	    {LOG_INFO, LOG_ESSENTIAL, "m",
	     "\"level\":\"warning\",\"program\":\"prog\",\"message\":\"m\"}\n"},
	    {-1, LOG_FATAL, "m",
	     "\"level\":\"fatal\",\"program\":\"prog\",\"message\":\"m\",\"file\":\"f.c\",\"line\":"
	     "7}\n"},
	    {-2, -2, "m",
	     "\"level\":\"verbose\",\"program\":\"prog\",\"message\":\"m\",\"file\":\"f.c\","
	     "\"line\":7}\n"},
	    {LOG_INFO, LOG_ERROR, "a\"b\\c\nd\xff\xe2\x80\xaex\xe2\x80\xac",
	     "\"level\":\"error\",\"program\":\"prog\",\"message\":\"a\\\"b\\\\c?d????x???\"}\n"},
	};
	struct err e = {0};

	log_set_json(true);
	assert_true(log_is_json());
	for (size_t i = 0; i < NR(rows); i++) {
		const char *text;

		start(rows[i].min_level);
		log_line(rows[i].level, "a/b/f.c", 7, "%s", rows[i].text);
		text = logged();
		assert_memory_equal(text, "{\"time\":\"2", 10);
		assert_memory_equal(text + 19, "T", 1);
		assert_memory_equal(text + 35, "Z\",", 3);
		assert_string_equal(text + 38, rows[i].line);
	}
	err_set_at(&e, -EINVAL, "a.cpspec", 2, 5, "bad");
	err_hint(&e, "mend it");
	start(LOG_INFO);
	log_err(LOG_WARNING, &e);
	assert_string_equal(logged() + 38, "\"level\":\"warning\",\"program\":\"prog\",\"message\":"
					   "\"a.cpspec:2:5: bad\",\"hint\":\"mend it\"}\n");
	start(LOG_INFO);
	inject_mem(1);
	log_error("m");
	inject_stop();
	assert_string_equal(
	    logged(),
	    "{\"level\":\"error\",\"message\":\"a message is dropped: out of memory\"}\n");
	log_set_json(false);
}

static void take_line(const char *line, size_t len, void *arg)
{
	buf_add(arg, line, len);
}

TEST(divert)
{
	struct err e = {0};
	struct buf b;

	err_set(&e, -EIO, "lost");
	buf_init(&b, 100);
	start(LOG_WARNING);
	assert_int_equal(log_fd(), sink_fd);
	log_divert(take_line, &b);
	log_info("not this");
	log_warning("a");
	log_err(LOG_ERROR, &e);
	log_divert(NULL, NULL);
	log_warning("b");
	assert_string_equal(buf_str(&b), "prog: warning: a\nprog: error: lost\n");
	assert_string_equal(logged(), "prog: warning: b\n");
	buf_fini(&b);
}

struct target {
	int before;
	struct opt_std std;
};

static const struct opt_row rows[] = {OPT_STD_ROWS(struct target, std)};
static const struct opt_table table = {.program = "prog", .rows = rows, .nr_rows = NR(rows)};

TEST(options)
{
	static const struct {
		const char *args[3];
		int rc, min_level;
		const char *file;
	} cases[] = {
	    {{NULL}, 0, 0, NULL},
	    {{"--verbose"}, 0, -1, NULL},
	    {{"--verbose=3"}, 0, -3, NULL},
	    {{"--quiet"}, 0, 1, NULL},
	    {{"--quiet=2"}, 0, 2, NULL},
	    {{"--quiet=0"}, 0, 0, NULL},
	    {{"--verbose=100"}, 0, -100, NULL},
	    {{"--verbose=101"}, -EINVAL, 0, NULL},
	    {{"--verbose="}, -EINVAL, 0, NULL},
	    {{"--verbose=-1"}, -EINVAL, 0, NULL},
	    {{"--quiet=x"}, -EINVAL, 0, NULL},
	    {{"--log-file", "l", "--quiet"}, 0, 1, "l"},
	    {{"--log-format", "text"}, 0, 0, NULL},
	    {{"--log-format=xml"}, -EINVAL, 0, NULL},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		char *argv[4] = {(char *)"prog"};
		struct target t = {0};
		struct err e = {0};
		int argc = 1;

		while (argc < 4 && cases[i].args[argc - 1]) {
			argv[argc] = (char *)cases[i].args[argc - 1];
			argc++;
		}
		assert_int_equal(opt_parse(&table, argc, argv, &t, &e), cases[i].rc);
		assert_int_equal(t.std.min_level, cases[i].min_level);
		assert_true(cases[i].file ? !strcmp(t.std.log_file, cases[i].file)
					  : !t.std.log_file);
	}
}

/* Made owner-only, appended to, not through a link. */
TEST(log_file)
{
	struct root r = tree_make();
	char path[300], link_path[300];
	struct opt_std o = {.log_file = path};
	struct err e = {0};
	struct stat st;
	struct buf b;

	snprintf(path, sizeof(path), "%s/log", r.dir);
	snprintf(link_path, sizeof(link_path), "%s/link", r.dir);
	tree_put(&r, "/log", "old\n", 4);
	assert_int_equal(stat(path, &st), 0);
	sink_fd = dup(0); /* the lowest free number will be the log's */
	close(sink_fd);
	assert_int_equal(opt_std_open_log(&o, "prog", &e), 0);
	log_error("new");
	close(sink_fd);
	buf_init(&b, 100);
	assert_int_equal(root_load(&r, "/log", &b), 0);
	assert_string_equal(buf_str(&b), "old\nprog: error: new\n");
	buf_fini(&b);
	assert_int_equal(symlink(path, link_path), 0);
	o.log_file = link_path;
	assert_int_equal(opt_std_open_log(&o, "prog", &e), -ELOOP);
	assert_non_null(strstr(e.msg, "--log-file="));
	tree_remove(&r);
}

/* What the call prints on stdout. */
static int answer(const struct opt_std *o, char *text, size_t size)
{
	int stdout_fd = dup(STDOUT_FILENO), fd = memfd_create("stdout", MFD_CLOEXEC), rc;
	ssize_t n;

	assert_true(stdout_fd >= 0 && fd >= 0);
	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	rc = opt_std_answer(o, &table, "1.2.3");
	assert_int_equal(opt_std_terminal_width(), 0);
	dup2(stdout_fd, STDOUT_FILENO);
	n = pread(fd, text, size - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	close(fd);
	close(stdout_fd);
	return rc;
}

TEST(answers)
{
	struct opt_std nothing = {0}, help = {.help = true}, version = {.version = true};
	char text[4096];

	assert_int_equal(answer(&nothing, text, sizeof(text)), 0);
	assert_string_equal(text, "");
	assert_int_equal(answer(&version, text, sizeof(text)), 1);
	assert_string_equal(text, "prog 1.2.3\n");
	assert_int_equal(answer(&help, text, sizeof(text)), 1);
	assert_non_null(strstr(text, "\n  --log-file=FILE\n"));
	for (unsigned n = 1; n <= 3;
	     n++) { /* no room for the text; a full disk; who reads has enough */
		static const int expected[] = {-ENOMEM, -ENOSPC, 1};

		if (n == 1)
			inject_mem(1);
		else
			inject_sys(1, n == 2 ? -ENOSPC : -EPIPE);
		assert_int_equal(answer(&help, text, sizeof(text)), expected[n - 1]);
		inject_stop();
	}
}

TEST(clocks)
{
	uint64_t before = clock_monotonic_ns(), cpu = clock_thread_cpu_ns();
	struct clock_triple t;

	clock_triple_now(&t);
	assert_true(before > 0 && t.monotonic_ns >= before);
	assert_true(clock_monotonic_ns() >= t.monotonic_ns);
	assert_true(t.boottime_ns >= before);
	assert_true(t.realtime_ns > 1500000000000000000u); /* 2017 */
	assert_true(clock_thread_cpu_ns() >= cpu);
}

TEST(state_names)
{
	for (uint32_t i = 0; i < READING_NR_STATES; i++) {
		assert_non_null(reading_state_name(i));
		assert_string_not_equal(reading_state_name(i), "unknown state");
	}
	assert_string_equal(reading_state_name(READING_NO_PERMISSION), "no permission");
	assert_string_equal(reading_state_name(READING_NR_STATES), "unknown state");
	assert_string_equal(reading_state_name(UINT32_MAX), "unknown state");
}
