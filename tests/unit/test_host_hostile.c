/*
 * The machine from trees that no kernel made: each file in turn empty, cut, huge, binary, a
 * folder. Nothing crashes, and what is not understood is unknown.
 */
#include "kit.h"

#include "host/host.h"

#include <limits.h>

#define PMU "/sys/bus/event_source/devices/"

static const struct {
	const char *path, *text;
} good[] = {
    {"/sys/devices/system/cpu/online", "0-3,8\n"},
    {"/proc/sys/kernel/hostname", "box\n"},
    {"/proc/sys/kernel/osrelease", "6.1.0\n"},
    {"/proc/sys/kernel/random/boot_id", "0b51cf67-bd07-4ea9-8ad2-83a1a2b1e4c5\n"},
    {"/proc/sys/kernel/perf_event_paranoid", "2\n"},
    {"/proc/cpuinfo", "processor\t: 0\nmodel name\t: A CPU\nflags\t\t: fpu\n"},
    {"/proc/self/status", "Name:\tx\nCapPrm:\t0000004000000000\nCapEff:\t0000004000000000\n"},
    {PMU "cpu_core/type", "4\n"},
    {PMU "cpu_core/cpus", "0-3\n"},
};

static void put_good(const struct root *r, size_t but)
{
	for (size_t i = 0; i < NR(good); i++)
		if (i != but)
			tree_put(r, good[i].path, good[i].text, strlen(good[i].text));
}

/* Every string ends, every number is in its range; then it is forgotten. */
static void load(const struct root *r, struct host *h, bool *loaded)
{
	struct err e = {0};
	int rc;

	memset(h, 0x55, sizeof(*h));
	rc = host_load(r, h, &e);
	assert_int_equal(e.code, rc);
	*loaded = rc == 0;
	if (rc) {
		assert_non_null(strstr(e.msg, "/sys/devices/system/cpu/online"));
		assert_int_equal(h->node[0], 0x55); /* untouched */
		return;
	}
	assert_non_null(memchr(h->node, 0, sizeof(h->node)));
	assert_non_null(memchr(h->kernel, 0, sizeof(h->kernel)));
	assert_non_null(memchr(h->cpu_model, 0, sizeof(h->cpu_model)));
	assert_true(cpuset_count(&h->online) > 0);
	assert_true(h->perf_event_paranoid == INT_MAX || abs(h->perf_event_paranoid) <= 1000);
	for (size_t i = 0; i < h->nr_pmus; i++)
		assert_non_null(memchr(h->pmus[i].name, 0, sizeof(h->pmus[i].name)));
	host_fini(h);
}

TEST(good)
{
	struct root r = tree_make();
	struct host h;
	bool loaded;

	put_good(&r, SIZE_MAX);
	load(&r, &h, &loaded);
	assert_true(loaded && h.may_perfmon);
	assert_string_equal(h.cpu_model, "A CPU");
	tree_remove(&r);
}

/* Each file replaced by each of these. */
TEST(odd_files)
{
	static const char binary[] =
	    "\0\xff\n\xfe:\x1b[2J\0model name\t:\x80\n\n\nCapEff:\t\xff\n:";
	static char zeros[10000], endless[70000];
	const struct {
		const char *data;
		size_t len;
	} odd[] = {
	    {"", 0},
	    {"\n", 1},
	    {binary, sizeof(binary)},
	    {zeros, sizeof(zeros)},
	    {endless, sizeof(endless)},
	    {NULL, 0},
	    {"99999999999999999999999999999999\n", 33},
	    {"-99999999999999999999999999999999\n", 34},
	    {"-\n", 2},
	    {"4294967296\n", 11},
	    {"0-18446744073709551615\n", 23},
	    {"model name\nCPU implementer\nCPU part\nCapEff", 42},
	    {"CapEff:\tffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\n", 67},
	};

	memset(endless, '9', sizeof(endless));
	for (size_t i = 0; i < NR(good); i++)
		for (size_t k = 0; k < NR(odd); k++) {
			struct root r = tree_make();
			struct host h;
			bool loaded;

			put_good(&r, i);
			tree_put(&r, good[i].path, odd[k].data, odd[k].len);
			load(&r, &h, &loaded);
			assert_int_equal(loaded, i != 0);
			tree_remove(&r);
		}
}

TEST(cut_at_every_byte)
{
	struct root r = tree_make();

	put_good(&r, SIZE_MAX);
	for (size_t i = 0; i < NR(good); i++) {
		for (size_t len = 0; len < strlen(good[i].text); len++) {
			struct host h;
			bool loaded;

			tree_put(&r, good[i].path, good[i].text, len);
			load(&r, &h, &loaded);
		}
		tree_put(&r, good[i].path, good[i].text, strlen(good[i].text));
	}
	tree_remove(&r);
}

TEST(paranoid)
{
	static const struct {
		const char *text;
		int level;
	} rows[] = {
	    {"-1\n", -1},        {"0\n", 0},        {"3\n", 3},         {"1000\n", 1000},
	    {"1001\n", INT_MAX}, {"", INT_MAX},     {"--1\n", INT_MAX}, {"2x\n", INT_MAX},
	    {"0x2\n", INT_MAX},  {" 2\n", INT_MAX},
	};
	struct root r = tree_make();

	put_good(&r, SIZE_MAX);
	for (size_t i = 0; i < NR(rows); i++) {
		struct err e = {0};
		struct host h;

		tree_put(&r, "/proc/sys/kernel/perf_event_paranoid", rows[i].text,
			 strlen(rows[i].text));
		assert_int_equal(host_load(&r, &h, &e), 0);
		assert_int_equal(h.perf_event_paranoid, rows[i].level);
		host_fini(&h);
	}
	tree_remove(&r);
}

TEST(capabilities)
{
	static const struct {
		const char *status;
		bool may;
	} rows[] = {
	    {"CapEff:\t0000004000000000\n", true}, /* CAP_PERFMON */
	    {"CapEff:\t0000000000200000\n", true}, /* CAP_SYS_ADMIN */
	    {"CapEff:\t000001ffffffffff\n", true},
	    {"CapEff:\t000001bfffdfffff\n", false}, /* all but these two */
	    {"CapPrm:\t000001ffffffffff\nCapEff:\t0000000000000000\n", false},
	    {"xCapEff:\t000001ffffffffff\n", false},
	    {"CapEff\n:000001ffffffffff\n", false},
	    {"CapEff:\t\n", false},
	};
	struct root r = tree_make();

	put_good(&r, SIZE_MAX);
	for (size_t i = 0; i < NR(rows); i++) {
		struct err e = {0};
		struct host h;

		tree_put(&r, "/proc/self/status", rows[i].status, strlen(rows[i].status));
		assert_int_equal(host_load(&r, &h, &e), 0);
		assert_int_equal(h.may_perfmon, rows[i].may);
		host_fini(&h);
	}
	tree_remove(&r);
}

#define ALL_USERS "         0          0 4294967295\n"

/* What would permit more: by the bounding set, the user namespace and the kernel's capabilities. */
TEST(grants)
{
	static const char all[] = "CapEff:\t000001ffffffffff\nCapBnd:\t000001ffffffffff\n";
	static const struct {
		const char *status, *uid_map, *last_cap;
		enum host_grant grant;
		bool may, has_cap_perfmon;
	} rows[] = {
	    {all, ALL_USERS, "40\n", HOST_GRANT_FILE, true, true},
	    {all, ALL_USERS, "38\n", HOST_GRANT_FILE, true, true},
	    {all, ALL_USERS, "37\n", HOST_GRANT_FILE, true, false},
	    {all, "", "x\n", HOST_GRANT_NONE, false, true}, /* nothing is mapped */
	    {all, "         0          0          1\n", "40\n", HOST_GRANT_NONE, false, true},
	    {all, "         0       1000 4294967295\n", "40\n", HOST_GRANT_NONE, false, true},
	    {all, "      1000          0 4294967295\n", "40\n", HOST_GRANT_NONE, false, true},
	    {"CapBnd:\t000001bfffdfffff\n", ALL_USERS, "40\n", HOST_GRANT_CONTAINER, false, true},
	    {"CapBnd:\t0000004000000000\n", ALL_USERS, "40\n", HOST_GRANT_FILE, false, true},
	    {"CapBnd:\t0000000000200000\n", ALL_USERS, "40\n", HOST_GRANT_FILE, false, true},
	    {"CapBnd:\t00000000a80425fb\n", "         0          0          1\n", "40\n",
	     HOST_GRANT_NONE, false, true},
	};
	struct root r = tree_make();

	put_good(&r, SIZE_MAX);
	for (size_t i = 0; i < NR(rows); i++) {
		struct err e = {0};
		struct host h;

		tree_put(&r, "/proc/self/status", rows[i].status, strlen(rows[i].status));
		tree_put(&r, "/proc/self/uid_map", rows[i].uid_map, strlen(rows[i].uid_map));
		tree_put(&r, "/proc/sys/kernel/cap_last_cap", rows[i].last_cap,
			 strlen(rows[i].last_cap));
		print_message("row %zu\n", i);
		assert_int_equal(host_load(&r, &h, &e), 0);
		assert_int_equal(h.grant, rows[i].grant);
		assert_int_equal(h.may_perfmon, rows[i].may);
		assert_int_equal(h.has_cap_perfmon, rows[i].has_cap_perfmon);
		host_fini(&h);
	}
	tree_remove(&r);
}

/* Folders that are no PMU, and names that nobody would give. */
TEST(odd_pmus)
{
	static const char longest[] = /* 63: fits; 64: does not */
	    PMU "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn/type";
	static const char too_long[] =
	    PMU "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn/type";
	struct root r = tree_make();
	struct err e = {0};
	struct host h;

	put_good(&r, SIZE_MAX);
	tree_put(&r, PMU "no_type/cpus", "0-3\n", 4);
	tree_put(&r, PMU "a_file", "4\n", 2);
	tree_put(&r, PMU "type_max/type", "4294967295\n", 11);
	tree_put(&r, PMU "type_beyond/type", "4294967296\n", 11);
	tree_put(&r, PMU "strange_cpus/type", "7\n", 2);
	tree_put(&r, PMU "strange_cpus/cpus", "zero\n", 5);
	tree_put(&r, PMU "strange_mask/type", "10\n", 3);
	tree_put(&r, PMU "strange_mask/cpumask", "zero\n", 5);
	tree_put(&r, PMU "core_of_all/type", "9\n", 2);
	tree_put(&r, PMU "core_of_all/cpus", "\n", 1);
	tree_put(&r, longest, "8\n", 2);
	tree_put(&r, too_long, "8\n", 2);
	assert_int_equal(host_load(&r, &h, &e), 0);
	assert_int_equal(h.nr_pmus, 6);
	assert_int_equal(host_find_pmu(&h, "type_max")->type, UINT32_MAX);
	assert_false(host_find_pmu(&h, "strange_cpus")->is_core);
	/* not to be opened on every CPU */
	assert_true(host_find_pmu(&h, "strange_mask")->has_cpumask);
	assert_int_equal(cpuset_count(&host_find_pmu(&h, "strange_mask")->cpus), 0);
	assert_true(host_find_pmu(&h, "core_of_all")->is_core);
	assert_true(host_has_core_pmu(&h, 4095));
	host_fini(&h);
	tree_remove(&r);
}

TEST(many_pmus)
{
	struct root r = tree_make();
	struct err e = {0};
	struct host h;

	put_good(&r, SIZE_MAX);
	for (int i = 0; i < 300; i++) {
		char path[100];

		snprintf(path, sizeof(path), PMU "uncore_%d/type", i);
		tree_put(&r, path, "7\n", 2);
	}
	assert_int_equal(host_load(&r, &h, &e), 0);
	assert_int_equal(h.nr_pmus, 301);
	host_fini(&h);
	tree_remove(&r);
}
