/*
 * Network interfaces: lines of several kernels, interfaces that come and go, and a file that
 * changes while it is read page by page; and every failure in turn.
 */
#include "kit.h"
#include "test_things_many.h"

#include "collect/net.h"

#define ALL ((1u << NET_NR_FIELDS) - 1)

static const struct {
	const char *what, *line;
	int rc;
	const char *name;
	uint64_t values[NET_NR_FIELDS];
} lines[] = {
    {"today's",
     "  eth0:  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
     0,
     "eth0",
     {1, 2, 3, 4, 9, 10, 11, 12}},
    {"no space behind the colon: Linux 2.6",
     "eth0:574101541 15161    0    0    0     0          0         0 618730    8129    5    6    0 "
     "    "
     "0       0          0",
     0,
     "eth0",
     {574101541, 15161, 0, 0, 618730, 8129, 5, 6}},
    {"an alias",
     " eth0:1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
     0,
     "eth0:1",
     {1, 2, 3, 4, 9, 10, 11, 12}},
    {"as many as we want, no more",
     "a: 1 2 3 4 5 6 7 8 9 10 11 12",
     0,
     "a",
     {1, 2, 3, 4, 9, 10, 11, 12}},
    {"not UTF-8",
     "\xff\xfe: 1 2 3 4 5 6 7 8 9 10 11 12",
     0,
     "\xff\xfe",
     {1, 2, 3, 4, 9, 10, 11, 12}},
    {"the most", "a: 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0", 0, "a", {UINT64_MAX}},
    {"heading", "Inter-|   Receive                     |  Transmit", -ENOENT},
    {"heading", " face |bytes    packets errs drop|bytes", -ENOENT},
    {"empty", "", -ENOENT},
    {"no name", ": 1 2 3 4 5 6 7 8 9 10 11 12", -EINVAL},
    {"spaces for a name", "   : 1 2 3 4 5 6 7 8 9 10 11 12", -EINVAL},
    {"too few numbers", "eth0: 1 2 3 4 5 6 7 8 9 10 11", -EINVAL},
    {"no numbers", "eth0:", -EINVAL},
    {"junk", "eth0: 1 2 3 4 5 6 7 8 9 10 11 12x", -EINVAL},
    {"negative", "eth0: -1 2 3 4 5 6 7 8 9 10 11 12", -EINVAL},
    {"beyond 64 bits", "eth0: 18446744073709551616 2 3 4 5 6 7 8 9 10 11 12", -ERANGE},
};

TEST(lines)
{
	static const char nul[] = "a\0b: 1 2 3 4 5 6 7 8 9 10 11 12";
	struct net_line l;

	for (size_t i = 0; i < NR(lines); i++) {
		size_t len = strlen(lines[i].line);
		char *line = many_exact(lines[i].line, len);

		print_message("%s\n", lines[i].what);
		assert_int_equal(net_parse_line(line, len, &l), lines[i].rc);
		if (lines[i].rc == 0) {
			assert_int_equal(l.name_len, strlen(lines[i].name));
			assert_memory_equal(l.name, lines[i].name, l.name_len);
			assert_memory_equal(l.values, lines[i].values, sizeof(l.values));
		}
		free(line);
	}
	assert_int_equal(net_parse_line(nul, sizeof(nul) - 1, &l), -EINVAL);
}

TEST(captured)
{
	static const struct {
		const char *tree, *words, *expected;
	} rows[] = {
	    {"container", "", "0 eth0 0=1048576123 1=801234 2=0 3=0 4=23456789 5=201234 6=0 7=0\n"},
	    {"linux-4.14", "",
	     "0 enp0s31f6 0=4294967211 1=33445566 2=0 3=12 4=912345678 5=12345678 6=3 7=0\n"
	     "1 wlp2s0 0=0 1=0 2=0 3=0 4=0 5=0 6=0 7=0\n"},
	    {"linux-4.14", "lo", "0 lo 0=8123456 1=91234 2=0 3=0 4=8123456 5=91234 6=0 7=0\n"},
	    {"linux-4.14", "l* w*",
	     "0 lo 0=8123456 1=91234 2=0 3=0 4=8123456 5=91234 6=0 7=0\n"
	     "1 wlp2s0 0=0 1=0 2=0 3=0 4=0 5=0 6=0 7=0\n"},
	    {"arm64-vm", "", ""},
	    {"arm64-vm", "all", "0 lo 0=0 1=0 2=0 3=0 4=0 5=0 6=0 7=0\n"},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct root r = tree_captured(rows[i].tree);
		struct many m;

		many_open(&m, &collect_net_source, &r, rows[i].words, ALL);
		many_read(&m);
		many_expect(&m, rows[i].expected);
		many_expect_note(&m, NULL);
		many_close(&m);
	}
}

TEST(big)
{
	struct root r = tree_captured("server-256");
	struct many m;

	many_open(&m, &collect_net_source, &r, "", 1u << NET_TX_DROPS);
	many_read(&m);
	assert_int_equal(m.source->nr(m.state), 56);
	many_close(&m);
	many_open(&m, &collect_net_source, &r, "ens* docker1", ALL);
	many_read(&m);
	assert_int_equal(m.source->nr(m.state), 4);
	many_expect_note(&m, "there is no network interface \"docker1\"");
	many_expect_note(&m, NULL);
	many_close(&m);
}

#define HEADS "Inter-| Receive | Transmit\n face |bytes |bytes\n"
#define ONES  " 1 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n"

TEST(come_and_go)
{
	static const struct {
		const char *text, *expected;
	} steps[] = {
	    {HEADS "lo:" ONES " a:" ONES "b:" ONES, "0 a 0=1\n1 b 0=1\n"},
	    {HEADS "lo:" ONES "b:" ONES " a:" ONES, "0 a 0=1\n1 b 0=1\n"},
	    {HEADS "b:" ONES "c:" ONES, "1 b 0=1\n2 c 0=1\n"},
	    {HEADS "a:" ONES "b:" ONES "c:" ONES, "1 b 0=1\n2 c 0=1\n3 a 0=1\n"},
	    {HEADS "c: 7 0 0 0 0 0 0 0 0 0 0 0\n", "2 c 0=7\n"},
	    {HEADS "c: 5 0 0 0 0 0 0 0 0 0 0 0\n", "2 c 0=5\n"}, /* 32 bits: it starts again */
	    {HEADS "c: 5 0 0 0 0 0 0 0 0 0 0 0\nc: 6 0 0 0 0 0 0 0 0 0 0 0\n", "2 c 0=6\n"},
	    {HEADS, ""},
	    {"", ""},
	};
	struct root r = tree_make();
	struct many m;

	tree_text(&r, "/proc/net/dev", steps[0].text);
	many_open(&m, &collect_net_source, &r, "", 1u << NET_RX_BYTES);
	kernel_start(NULL, 0);
	for (size_t i = 0; i < NR(steps); i++) {
		tree_text(&r, "/proc/net/dev", steps[i].text);
		many_read(&m);
		many_expect(&m, steps[i].expected);
	}
	assert_int_equal(kernel.nr_opens, 0);
	kernel_stop();
	tree_text(&r, "/proc/net/dev", HEADS "d:" ONES "e:" ONES);
	many_read(&m);
	tree_text(&r, "/proc/net/dev", HEADS "d:" ONES "x: 1 2\n");
	assert_int_equal(m.source->read(m.state), -EINVAL);
	assert_int_equal(m.source->nr(m.state), 0);
	tree_text(&r, "/proc/net/dev", HEADS "d:" ONES "e:" ONES);
	many_read(&m);
	many_expect(&m, "4 d 0=1\n5 e 0=1\n"); /* of them a broken text said nothing */
	many_close(&m);
	tree_remove(&r);
}

/* Lines of a file of many pages; the kernel makes the text page by page. */
enum { NR_LINES = 100 };
static unsigned nr_texts, left_out;

static ssize_t paged_pread(int fd, void *buf, size_t len, off_t at)
{
	struct buf text;
	size_t n;

	(void)fd;
	nr_texts += at == 0;
	buf_init(&text, 1 << 20);
	for (unsigned i = 0; i < NR_LINES; i++)
		if (i != left_out || nr_texts != 3) /* the first is open's; the second reading's */
			buf_printf(&text, "eth%u:" ONES, i);
	n = (size_t)at < text.len ? text.len - (size_t)at : 0;
	n = n < len ? n : len;
	n = n < 4096 - 50 ? n : 4096 - 50;
	if (n)
		memcpy(buf, text.data + at, n);
	buf_fini(&text);
	return (ssize_t)n;
}

/* One that the kernel passed by between two pages is no one that went. */
TEST(passed_by)
{
	struct sys_ops ops = sys_kernel_ops;
	struct root r = tree_make();
	struct many m;

	ops.pread = paged_pread;
	tree_text(&r, "/proc/net/dev", "");
	sys_set_ops(&ops);
	nr_texts = 0;
	left_out = 70;
	many_open(&m, &collect_net_source, &r, "", 1u << NET_RX_BYTES);
	for (int i = 0; i < 3; i++) {
		many_read(&m);
		assert_int_equal(m.source->nr(m.state), NR_LINES);
		assert_int_equal(many_get(&m, "eth70").number, 70);
	}
	assert_int_equal(nr_texts, 5); /* open, three, and one once more */
	sys_set_ops(NULL);
	many_close(&m);
	tree_remove(&r);
}

TEST(refused)
{
	struct root r = tree_make();
	struct many m;

	assert_int_equal(many_try_open(&m, &collect_net_source, &r, "", ALL), -ENOENT);
	assert_non_null(strstr(m.e.msg, "/proc/net/dev cannot be read"));
	assert_int_equal(many_try_open(&m, &collect_net_source, &r, "a/b", ALL), -EINVAL);
	assert_non_null(strstr(m.e.msg, "\"a/b\" cannot be the name of a network interface"));
	tree_text(&r, "/proc/net/dev", "eth0: x\n");
	assert_int_equal(many_try_open(&m, &collect_net_source, &r, "", ALL), -EINVAL);
	tree_remove(&r);
}

/* More than the ceiling: the rest is told, once. */
TEST(too_many)
{
	struct root r = tree_make();
	struct buf text;
	struct many m;

	buf_init(&text, 16 << 20);
	for (unsigned i = 0; i < 5000; i++)
		buf_printf(&text, "v%u:" ONES, i);
	tree_text(&r, "/proc/net/dev", buf_str(&text));
	many_open(&m, &collect_net_source, &r, "", 1);
	many_read(&m);
	many_read(&m);
	assert_int_equal(m.source->nr(m.state), 4096);
	many_expect_note(&m, "there are more than 4096 of kind network interface");
	many_expect_note(&m, NULL);
	many_close(&m);
	buf_fini(&text);
	tree_remove(&r);
}

static int open_and_read(void *arg)
{
	struct many m;
	int rc = many_try_open(&m, &collect_net_source, arg, "all sdx", ALL);

	if (rc)
		return rc;
	for (int i = 0; i < 2 && rc == 0; i++) {
		rc = m.source->read(m.state);
		if (rc == 0)
			assert_int_equal(many_get(&m, "lo").values[NET_RX_BYTES], 8123456);
		else
			assert_int_equal(m.source->nr(m.state), 0);
	}
	many_close(&m);
	return rc;
}

TEST(failures)
{
	struct root r = tree_captured("linux-4.14");

	inject_every(open_and_read, &r, 5, 4);
}
