/*
 * Disks: the text of several kernels, which devices of captured machines are taken, disks that
 * come, go and are another one under the old name; and every failure in turn.
 */
#include "kit.h"
#include "test_things_many.h"

#include "collect/disk.h"

#define ALL   ((1u << DISK_NR_FIELDS) - 1)
#define QUEUE (1u << DISK_READ_QUEUE | 1u << DISK_WRITE_QUEUE)
#define OLD   (ALL & ~QUEUE & ~(1u << DISK_DISCARD_BYTES))
#define STAT  (ALL & ~QUEUE)
#define MS    1000000ull

static const struct {
	const char *what, *text;
	int rc;
	uint32_t has;
	uint64_t values[DISK_NR_FIELDS];
} stats[] = {
    {"Linux 5.5: 17 numbers",
     "   10 1 20 30 40 2 50 60 3 70 80 90 4 100 110 120 130\n",
     0,
     STAT,
     {[DISK_READ_OPS] = 10,
      [DISK_READ_BYTES] = 20 * 512,
      [DISK_READ_TIME] = 30 * MS,
      [DISK_WRITE_OPS] = 40,
      [DISK_WRITE_BYTES] = 50 * 512,
      [DISK_WRITE_TIME] = 60 * MS,
      [DISK_BUSY_TIME] = 70 * MS,
      [DISK_DISCARD_BYTES] = 100 * 512}},
    {"4.18: 15",
     "1 1 2 3 4 2 5 6 3 7 8 9 4 10 11\n",
     0,
     STAT,
     {[DISK_READ_OPS] = 1,
      [DISK_READ_BYTES] = 2 * 512,
      [DISK_READ_TIME] = 3 * MS,
      [DISK_WRITE_OPS] = 4,
      [DISK_WRITE_BYTES] = 5 * 512,
      [DISK_WRITE_TIME] = 6 * MS,
      [DISK_BUSY_TIME] = 7 * MS,
      [DISK_DISCARD_BYTES] = 10 * 512}},
    {"4.14: 11",
     "1 1 2 3 4 2 5 6 3 7 8\n",
     0,
     OLD,
     {[DISK_READ_OPS] = 1,
      [DISK_READ_BYTES] = 2 * 512,
      [DISK_READ_TIME] = 3 * MS,
      [DISK_WRITE_OPS] = 4,
      [DISK_WRITE_BYTES] = 5 * 512,
      [DISK_WRITE_TIME] = 6 * MS,
      [DISK_BUSY_TIME] = 7 * MS}},
    {"more than any: the rest is not looked at",
     "0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 x",
     0,
     STAT,
     {[DISK_DISCARD_BYTES] = 512}},
    {"the most bytes",
     "0 0 36028797018963967 0 0 0 0 0 0 0 0",
     0,
     OLD,
     {[DISK_READ_BYTES] = UINT64_MAX - 511}},
    {"bytes beyond 64 bits", "0 0 36028797018963968 0 0 0 0 0 0 0 0\n", -ERANGE},
    {"times beyond", "0 0 0 18446744073710 0 0 0 0 0 0 0\n", -ERANGE},
    {"a number beyond", "0 18446744073709551616 0 0 0 0 0 0 0 0 0\n", -ERANGE},
    {"ten numbers", "1 2 3 4 5 6 7 8 9 10\n", -EINVAL},
    {"four: a partition of Linux 2.6.20", "1 2 3 4\n", -EINVAL},
    {"a newline among them", "1 2 3 4 5\n6 7 8 9 10 11\n", -EINVAL},
    {"junk", "1 2 3 4 5 6 7 8 9 10x 11\n", -EINVAL},
    {"negative", "1 2 3 4 5 6 7 8 9 -10 11\n", -EINVAL},
    {"tabs", "1\t2\t3\t4\t5\t6\t7\t8\t9\t10\t11\n", -EINVAL},
    {"empty", "", -EINVAL},
};

TEST(stat)
{
	for (size_t i = 0; i < NR(stats); i++) {
		size_t len = strlen(stats[i].text);
		char *text = many_exact(stats[i].text, len);
		uint64_t values[DISK_NR_FIELDS] = {0};
		uint32_t has = 0;

		print_message("%s\n", stats[i].what);
		assert_int_equal(disk_parse_stat(text, len, values, &has), stats[i].rc);
		free(text);
		if (stats[i].rc)
			continue;
		assert_int_equal(has, stats[i].has);
		assert_memory_equal(values, stats[i].values, sizeof(values));
	}
}

TEST(inflight)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t reads, writes;
	} rows[] = {
	    {"       3       12\n", 0, 3, 12},
	    {"0 0", 0, 0, 0},
	    {"3\n", -EINVAL},
	    {"3 x\n", -EINVAL},
	    {"-3 4\n", -EINVAL},
	    {"", -EINVAL},
	    {"3\n4\n", -EINVAL},
	    {"3 4x\n", -EINVAL},
	    {"3 18446744073709551616\n", -ERANGE},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		size_t len = strlen(rows[i].text);
		char *text = many_exact(rows[i].text, len);
		uint64_t values[DISK_NR_FIELDS] = {0};
		uint32_t has = 0;

		assert_int_equal(disk_parse_inflight(text, len, values, &has), rows[i].rc);
		free(text);
		if (rows[i].rc)
			continue;
		assert_int_equal(has, QUEUE);
		assert_int_equal(values[DISK_READ_QUEUE], rows[i].reads);
		assert_int_equal(values[DISK_WRITE_QUEUE], rows[i].writes);
	}
}

/* Which devices are taken, in any order. */
static const struct {
	const char *tree, *words;
	size_t nr;
	const char *some, *none;
} choices[] = {
    {"server-256", "", 40, "sda sdx nvme0n1 nvme13n1 nvme14c14n1 nvme14c15n1",
     "nvme14n1 sda1 nvme0n1p1 dm-0 md127 loop0 ram0 zram0"},
    {"server-256", "sda", 1, "sda", "sda1"},
    {"server-256", "sda*", 3, "sda sda1 sda2", "sdb"},
    {"server-256", "nvme?n1 dm-*", 13, "nvme9n1 dm-0 dm-2", "nvme10n1 nvme0n1p1"},
    {"server-256", "all", 56, "nvme14n1 nvme0n1p3 loop3 ram0 zram0 md127 sda2", ""},
    {"server-256", "SDA", 0, "", "sda"},
    {"server-256", "sd[ab]", 2, "sda sdb", "sda1"},
    {"linux-4.14", "", 2, "sda sr0", "loop0 dm-0 sda1"},
    {"linux-4.14", "all", 6, "sda1 sda2 dm-0 loop0", ""},
    {"arm64-vm", "", 1, "vda", ""},
    {"x86-vm", "", 1, "vda", "loop0 zram0"},
    {"x86-vm", "loop*", 2, "loop0 loop1", "vda"},
};

static void expect_names(const struct many *m, const char *names, bool there)
{
	char text[256], *rest = text, *name;
	struct things_one t;

	snprintf(text, sizeof(text), "%s", names);
	while (*names && (name = strsep(&rest, " ")))
		if (many_find(m, name, &t) != there)
			fail_msg("%s is %sthere", name, there ? "not " : "");
}

TEST(choices)
{
	for (size_t i = 0; i < NR(choices); i++) {
		struct root r = tree_captured(choices[i].tree);
		struct many m;

		print_message("%s \"%s\"\n", choices[i].tree, choices[i].words);
		many_open(&m, &collect_disk_source, &r, choices[i].words, ALL);
		many_read(&m);
		assert_int_equal(m.source->nr(m.state), choices[i].nr);
		expect_names(&m, choices[i].some, true);
		expect_names(&m, choices[i].none, false);
		many_close(&m);
	}
}

/* The numbers of a file, another way than ours. */
static size_t read_numbers(const struct root *r, const char *name, const char *file,
			   unsigned long long *out)
{
	char path[300], line[512], *p = line, *end;
	size_t nr = 0;

	snprintf(path, sizeof(path), "/sys/class/block/%s/%s", name, file);
	assert_int_equal(root_load_line(r, path, line, sizeof(line)), 0);
	for (; out[nr] = strtoull(p, &end, 10), end != p; p = end)
		nr++;
	return nr;
}

static void expect_values(const struct root *r, const struct things_one *t)
{
	unsigned long long n[32] = {0}, q[32] = {0};
	size_t nr = read_numbers(r, t->name, "stat", n);
	const uint64_t *v = t->values;

	assert_int_equal(t->has, nr == 11 ? ALL & ~(1u << DISK_DISCARD_BYTES) : ALL);
	assert_int_equal(v[DISK_READ_OPS], n[0]);
	assert_int_equal(v[DISK_READ_BYTES], n[2] * 512);
	assert_int_equal(v[DISK_READ_TIME], n[3] * MS);
	assert_int_equal(v[DISK_WRITE_OPS], n[4]);
	assert_int_equal(v[DISK_WRITE_BYTES], n[6] * 512);
	assert_int_equal(v[DISK_WRITE_TIME], n[7] * MS);
	assert_int_equal(v[DISK_BUSY_TIME], n[9] * MS);
	if (nr > 11)
		assert_int_equal(v[DISK_DISCARD_BYTES], n[13] * 512);
	assert_int_equal(read_numbers(r, t->name, "inflight", q), 2);
	assert_int_equal(v[DISK_READ_QUEUE], q[0]);
	assert_int_equal(v[DISK_WRITE_QUEUE], q[1]);
}

TEST(values)
{
	static const char *const trees[] = {"server-256", "linux-4.14", "arm64-vm", "x86-vm"};

	for (size_t k = 0; k < NR(trees); k++) {
		struct root r = tree_captured(trees[k]);
		struct many m;

		many_open(&m, &collect_disk_source, &r, "all", ALL);
		many_read(&m);
		for (size_t i = 0; i < m.source->nr(m.state); i++) {
			struct things_one t;

			m.source->get(m.state, i, &t);
			assert_int_equal(t.number, i);
			expect_values(&r, &t);
		}
		many_close(&m);
	}
}

static const char eleven[] = "1 0 2 0 0 0 0 0 0 0 0\n", idle[] = "0 0\n";

static void put_disk(const struct root *r, const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "/sys/class/block/%s/stat", name);
	tree_text(r, path, eleven);
	snprintf(path, sizeof(path), "/sys/class/block/%s/inflight", name);
	tree_text(r, path, idle);
}

/* Numbers are given once; what goes is dropped, what comes is found, each at once. */
TEST(come_and_go)
{
	struct root r = tree_make();
	struct many m;

	put_disk(&r, "sda");
	kernel_start(NULL, 0);
	many_open(&m, &collect_disk_source, &r, "sd*", 1u << DISK_READ_BYTES);
	many_read(&m);
	many_expect(&m, "0 sda 0=1024\n");
	put_disk(&r, "sdb");
	put_disk(&r, "vda"); /* not chosen */
	many_read(&m);
	many_expect(&m, "0 sda 0=1024\n1 sdb 0=1024\n");
	tree_drop(&r, "/sys/class/block/sda");
	many_read(&m);
	many_expect(&m, "1 sdb 0=1024\n");
	put_disk(&r, "sda");
	many_read(&m);
	many_expect(&m, "1 sdb 0=1024\n2 sda 0=1024\n");
	tree_text(&r, "/sys/class/block/sdb/stat", "1 0 7 0 0 0 0 0 0 0 0\n");
	many_read(&m);
	many_expect(&m, "1 sdb 0=3584\n2 sda 0=1024\n");
	many_close(&m);
	kernel_stop();
	tree_remove(&r);
}

/* Milliseconds of 32 bits that begin anew; a step back that is none of these stays one. */
TEST(wrap)
{
	static const struct {
		unsigned ms;
		uint64_t read_ns;
	} rows[] = {
	    {4294967290u, 4294967290000000}, {5, 4294967301000000}, {4294967295u, 8589934591000000},
	    {0, 8589934592000000},           {7, 8589934599000000}, {6, 8589934598000000},
	};
	struct root r = tree_make();
	struct many m;

	put_disk(&r, "sda");
	many_open(&m, &collect_disk_source, &r, "sda", 1u << DISK_READ_TIME | 1u << DISK_READ_OPS);
	for (size_t i = 0; i < NR(rows); i++) {
		char text[128];

		snprintf(text, sizeof(text), "%u 0 0 %u 0 0 0 0 0 0 0\n", rows[i].ms, rows[i].ms);
		tree_text(&r, "/sys/class/block/sda/stat", text);
		many_read(&m);
		assert_int_equal(many_get(&m, "sda").values[DISK_READ_TIME], rows[i].read_ns);
		assert_int_equal(many_get(&m, "sda").values[DISK_READ_OPS], rows[i].ms);
	}
	many_close(&m);
	tree_remove(&r);
}

/* Between two readings a disk went and another took its name: its old files say so. */
TEST(another_of_the_name)
{
	struct root r = tree_make();
	struct many m;

	put_disk(&r, "sda");
	put_disk(&r, "sdb");
	kernel_start(NULL, 0);
	many_open(&m, &collect_disk_source, &r, "sda", 1u << DISK_READ_BYTES);
	many_read(&m);
	many_expect(&m, "0 sda 0=1024\n");
	tree_text(&r, "/sys/class/block/sdb/stat", "1 0 3 0 0 0 0 0 0 0 0\n");
	tree_rename(&r, "/sys/class/block/sdb/stat", "/sys/class/block/sda/stat");
	many_read(&m);
	many_expect(&m, "");
	many_read(&m);
	many_expect(&m, "1 sda 0=1536\n");
	many_close(&m);
	kernel_stop();
	tree_remove(&r);
}

/* The entry is there before its files are; and one without files that could be opened goes too. */
TEST(late_files)
{
	struct root r = tree_make();
	struct many m;

	put_disk(&r, "sda");
	tree_put(&r, "/sys/class/block/sdb", NULL, 0);
	kernel_start("sda/stat", -EACCES);
	many_open(&m, &collect_disk_source, &r, "sd?", 1u << DISK_READ_BYTES);
	many_read(&m);
	many_expect(&m, "0 sda\n");
	put_disk(&r, "sdb");
	many_read(&m);
	many_expect(&m, "0 sda\n1 sdb 0=1024\n");
	kernel.nr_opens = 0;
	many_read(&m);
	assert_int_equal(kernel.nr_opens, 0);
	tree_drop(&r, "/sys/class/block/sda");
	many_read(&m);
	many_expect(&m, "1 sdb 0=1024\n");
	many_close(&m);
	kernel_stop();
	tree_remove(&r);
}

/* A reading with nothing new opens nothing, and reads what is wanted once. */
TEST(cost)
{
	static const struct {
		uint32_t wanted;
		unsigned nr_files;
	} rows[] = {{ALL, 2}, {QUEUE, 1}, {STAT, 1}, {1u << DISK_WRITE_QUEUE, 1}};
	struct root r = tree_captured("server-256");

	for (size_t i = 0; i < NR(rows); i++) {
		size_t nr_fds = inject_open_fds();
		struct many m;

		many_open(&m, &collect_disk_source, &r, "", rows[i].wanted);
		assert_int_equal(inject_open_fds() - nr_fds, 40 * rows[i].nr_files + 1);
		kernel_start(NULL, 0);
		many_read(&m);
		assert_int_equal(kernel.nr_opens, 0);
		assert_int_equal(kernel.nr_preads, 40 * rows[i].nr_files);
		kernel_stop();
		for (size_t k = 0; k < m.source->nr(m.state); k++) {
			struct things_one t;

			m.source->get(m.state, k, &t);
			assert_int_equal(t.has, rows[i].wanted);
		}
		many_close(&m);
		assert_int_equal(inject_open_fds(), nr_fds);
	}
}

/* What cannot be opened or read is told once, and the rest works. */
TEST(notes)
{
	struct root r = tree_captured("server-256");
	struct many m;

	kernel_start("sda/inflight", -EACCES);
	many_open(&m, &collect_disk_source, &r, "sda sdzz nvme0n1 sq*", ALL);
	for (int i = 0; i < 2; i++) {
		many_read(&m);
		many_expect_fields(&m, "sda", STAT, QUEUE, 0, 0);
		many_expect_fields(&m, "nvme0n1", ALL, 0, 0, 0);
	}
	many_expect_note(&m, "disk sda: inflight cannot be opened: Permission denied");
	many_expect_note(&m, "no disk \"sdzz\"");
	many_expect_note(&m, "no disk \"sq*\"");
	many_expect_note(&m, NULL);
	many_close(&m);
	kernel_start("stat", -EMFILE);
	many_open(&m, &collect_disk_source, &r, "sda", STAT);
	many_read(&m);
	many_expect(&m, "0 sda\n");
	many_expect_fields(&m, "sda", 0, 0, 0, STAT);
	many_expect_note(&m, "disk sda: stat cannot be opened: Too many open files");
	many_close(&m);
	kernel_stop();
}

/* Numbers that an old kernel does not have; text that none would write. */
TEST(lacking)
{
	struct root r = tree_make();
	struct many m;

	put_disk(&r, "sda");
	tree_drop(&r, "/sys/class/block/sda/inflight");
	many_open(&m, &collect_disk_source, &r, "sda", ALL);
	many_read(&m);
	many_read(&m);
	many_expect_note(&m, "sda: inflight cannot be opened: the kernel does not report");
	many_expect_note(&m, "sda: stat does not have all requested fields: discards");
	many_expect_note(&m, NULL);
	many_expect(&m, "0 sda 0=1024 1=0 2=1 3=0 4=0 5=0 6=0\n");
	many_expect_fields(&m, "sda", ALL & ~QUEUE & ~(1u << DISK_DISCARD_BYTES), 0,
			   QUEUE | 1u << DISK_DISCARD_BYTES, 0);
	tree_text(&r, "/sys/class/block/sda/stat", "1 0 2 0 0 x");
	many_read(&m);
	many_expect(&m, "0 sda\n");
	many_expect_fields(&m, "sda", 0, 0, QUEUE, STAT);
	many_close(&m);
	many_open(&m, &collect_disk_source, &r, "sda", 1u << DISK_READ_OPS);
	many_read(&m);
	many_expect_note(&m, "sda: stat cannot be read: Invalid argument");
	tree_text(&r, "/sys/class/block/sda/stat", eleven);
	many_read(&m);
	many_expect_note(&m, NULL);
	many_expect(&m, "0 sda 2=1\n");
	many_close(&m);
	tree_remove(&r);
}

TEST(refused)
{
	static const struct {
		const char *tree, *words;
		int rc;
		const char *msg;
	} rows[] = {
	    {"server-256", "sda /dev/sdb", -EINVAL, "\"/dev/sdb\" cannot be the name of a disk"},
	    {"server-256", "sda  sdb", -EINVAL, "\"\" cannot be"},
	    {"container", "", -ENOENT, "/sys/block cannot be read"},
	    {"container", "sda", -ENOENT, "/sys/class/block cannot be read"},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct root r = tree_captured(rows[i].tree);
		struct many m;

		assert_int_equal(many_try_open(&m, &collect_disk_source, &r, rows[i].words, ALL),
				 rows[i].rc);
		assert_int_equal(m.e.code, rows[i].rc);
		assert_non_null(strstr(m.e.msg, rows[i].msg));
		assert_null(m.state);
	}
}

TEST(no_disk)
{
	struct root r = tree_make();
	struct many m;

	tree_put(&r, "/sys/block", NULL, 0);
	many_open(&m, &collect_disk_source, &r, "", ALL);
	many_expect_note(&m, "no physical disk");
	many_read(&m);
	many_expect(&m, "");
	tree_drop(&r, "/sys/block");
	assert_int_equal(m.source->read(m.state),
			 -ENOENT); /* a file system's answer; not sysfs's */
	assert_int_equal(m.source->nr(m.state), 0);
	many_close(&m);
	tree_remove(&r);
}

/* A failure gives an error or leaves fields away; never wrong values, and it passes. */
static int open_and_read(void *arg)
{
	struct many m;
	int rc = many_try_open(&m, &collect_disk_source, arg, "sda sda1 dm-0", STAT);

	if (rc)
		return rc;
	for (int i = 0; i < 2 && rc == 0; i++) {
		struct things_one t;

		rc = m.source->read(m.state);
		if (rc == 0 && many_find(&m, "sda", &t) && t.has)
			assert_int_equal(t.values[DISK_READ_BYTES], 2960976125ull * 512);
		if (rc)
			assert_int_equal(m.source->nr(m.state), 0);
		while (m.source->note(m.state))
			;
	}
	many_close(&m);
	return rc;
}

TEST(failures)
{
	struct root r = tree_captured("linux-4.14");

	inject_every(open_and_read, &r, 8, 10);
}

/* A read that was interrupted goes on. */
TEST(interrupted)
{
	struct root r = tree_captured("linux-4.14");
	struct things_one t;
	struct many m;

	many_open(&m, &collect_disk_source, &r, "sda", OLD | QUEUE);
	for (unsigned n = 1; n < 4; n++) {
		inject_sys(n, -EINTR);
		many_read(&m);
		inject_stop();
		t = many_get(&m, "sda");
		assert_int_equal(t.has, OLD | QUEUE);
		assert_int_equal(t.values[DISK_READ_BYTES], 2960976125ull * 512);
	}
	many_close(&m);
}

/* A disk that could not be kept for want of memory is found at the next reading. */
TEST(found_later)
{
	struct root r = tree_make();
	struct many m;
	int rc;

	put_disk(&r, "sda");
	many_open(&m, &collect_disk_source, &r, "all", 1u << DISK_READ_OPS);
	many_read(&m); /* all buffers have their size now: what fails is the new disk's */
	for (unsigned n = 1; n < 4; n++) {
		char name[8];

		snprintf(name, sizeof(name), "sd%u", n);
		put_disk(&r, name);
		inject_mem(1);
		rc = m.source->read(m.state);
		inject_stop();
		assert_int_equal(rc, -ENOMEM);
		assert_int_equal(m.source->nr(m.state), 0);
		many_read(&m);
		assert_int_equal(m.source->nr(m.state), n + 1);
	}
	many_close(&m);
	tree_remove(&r);
}
