/*
 * The machine from captured trees: identity, CPUs, PMUs, permissions.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/str.h"
#include "host/host.h"

#include <limits.h>

static const struct {
	const char *tree, *node, *kernel, *cpu_model, *boot_id, *online;
	int paranoid;
	bool may_perfmon, may_cpus, may_kernel;
	size_t nr_pmus;
	const char *core_pmus;     /* with the CPUs that they cover */
	int core_cpu, no_core_cpu; /* one with and one without a core PMU; -1: there is none */
} machines[] = {
    {"x86-vm", "vm", "6.1.0-18-amd64", "AMD EPYC 7763 64-Core Processor",
     "0b51cf67bd074ea98ad283a1a2b1e4c5", "0-1", 2, false, false, false, 6, "", -1, 0},
    {"intel-uncore", "server", "5.15.0-101-generic", "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz",
     "c2d1a6de6f0a4f0b9b513f3e3f1a2b3c", "0-79", -1, true, true, true, 16, "cpu() ", 79, -1},
    {"intel-hybrid", "laptop", "6.5.0-28-generic", "12th Gen Intel(R) Core(TM) i7-12700",
     "7c9e6679742540de944be07fc1f90ae7", "0-19", 4, true, true, true, 11,
     "cpu_atom(16-19) cpu_core(0-15) ", 16, 20},
    {"arm64-big-little", "board", "6.6.20", "ARM implementer 0x41 part 0xd03",
     "f47ac10b58cc4372a5670e02b2c3d479", "0-5", 1, false, false, true, 8,
     "armv8_cortex_a53(0-3) armv8_cortex_a72(4-5) ", 5, 6},
    {"sparse-offline", "sparse", "6.1.0-18-amd64", "Intel(R) Xeon(R) CPU E5-2697A v4 @ 2.60GHz",
     "00112233445566778899aabbccddeeff", "0-3,8,12-15", 0, false, true, true, 5, "cpu() ", 12, -1},
    {"linux-4.14", "old", "4.14.336", "Intel(R) Core(TM) i5-5300U CPU @ 2.30GHz",
     "11111111222233334444555555555555", "0-3", 3, true, true, true, 8, "cpu() ", 0, -1},
};

static void describe_core_pmus(const struct host *h, struct buf *out)
{
	for (size_t i = 0; i < h->nr_pmus; i++) {
		if (!h->pmus[i].is_core)
			continue;
		buf_printf(out, "%s(", h->pmus[i].name);
		cpuset_format(&h->pmus[i].cpus, out);
		buf_adds(out, ") ");
	}
}

static void expect_pmus(const struct host *h, size_t i)
{
	struct buf b;

	assert_int_equal(h->nr_pmus, machines[i].nr_pmus);
	for (size_t k = 1; k < h->nr_pmus; k++)
		assert_true(strcmp(h->pmus[k - 1].name, h->pmus[k].name) < 0);
	buf_init(&b, 1000);
	describe_core_pmus(h, &b);
	assert_string_equal(buf_str(&b), machines[i].core_pmus);
	buf_fini(&b);
	assert_int_equal(host_has_core_pmu(h, -1), machines[i].core_cpu >= 0);
	if (machines[i].core_cpu >= 0)
		assert_true(host_has_core_pmu(h, machines[i].core_cpu));
	if (machines[i].no_core_cpu >= 0)
		assert_false(host_has_core_pmu(h, machines[i].no_core_cpu));
}

static void expect_machine(const struct host *h, size_t i)
{
	struct buf b;
	char id[33];

	assert_string_equal(h->node, machines[i].node);
	assert_string_equal(h->kernel, machines[i].kernel);
	assert_string_equal(h->cpu_model, machines[i].cpu_model);
	str_hex16(h->boot_id, id);
	assert_string_equal(id, machines[i].boot_id);
	buf_init(&b, 1000);
	cpuset_format(&h->online, &b);
	assert_string_equal(buf_str(&b), machines[i].online);
	buf_fini(&b);
	assert_int_equal(h->perf_event_paranoid, machines[i].paranoid);
	assert_int_equal(h->may_perfmon, machines[i].may_perfmon);
	assert_int_equal(host_may_measure_cpus(h), machines[i].may_cpus);
	assert_int_equal(host_may_measure_kernel(h), machines[i].may_kernel);
	assert_true(h->user_hz > 0 && h->page_bytes >= 4096 && h->machine[0]);
}

TEST(machines)
{
	for (size_t i = 0; i < NR(machines); i++) {
		struct root r = tree_captured(machines[i].tree);
		struct err e = {0};
		struct host h;

		print_message("%s\n", machines[i].tree);
		assert_int_equal(host_load(&r, &h, &e), 0);
		assert_string_equal(h.root.dir, r.dir);
		expect_machine(&h, i);
		expect_pmus(&h, i);
		host_fini(&h);
		host_fini(&h);
		assert_false(host_has_core_pmu(&h, -1));
	}
}

/* What the model's own events are found by. */
TEST(cpu_numbers)
{
	static const struct {
		const char *tree, *cpuinfo; /* cpuinfo: in place of the tree's; NULL: that */
		const char *vendor;
		uint32_t family, model;
	} cases[] = {
	    {"x86-vm", NULL, "AuthenticAMD", 25, 1},
	    {"intel-uncore", NULL, "GenuineIntel", 6, 85},
	    {"intel-hybrid", NULL, "GenuineIntel", 6, 151},
	    {"arm64-big-little", NULL, "", 0, 0},
	    {"", "model name\t: 7\nmodel\t\t: 8\ncpu family : 16 \nvendor_id\t:x\n", "x", 16, 8},
	    {"", "model : 4294967296\ncpu family : six\n", "", 0, 0},
	    {"", "model : 4294967295\n", "", 0, UINT32_MAX},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		bool is_made = cases[i].cpuinfo != NULL;
		struct root r = is_made ? tree_make() : tree_captured(cases[i].tree);
		struct err e = {0};
		struct host h;

		if (is_made) {
			tree_text(&r, "/sys/devices/system/cpu/online", "0\n");
			tree_text(&r, "/proc/cpuinfo", cases[i].cpuinfo);
		}
		assert_int_equal(host_load(&r, &h, &e), 0);
		assert_string_equal(h.cpu_vendor, cases[i].vendor);
		assert_int_equal(h.cpu_family, cases[i].family);
		assert_int_equal(h.cpu_model_nr, cases[i].model);
		host_fini(&h);
		if (is_made)
			tree_remove(&r);
	}
}

/* Settings of the kernel that take counters or callchains away. */
TEST(settings)
{
	static const struct {
		const char *watchdog, *max_stack;
		bool has_watchdog;
		uint64_t most;
	} cases[] = {
	    {"1\n", "127\n", true, 127}, {"0\n", "64\n", false, 64}, {"x\n", "-1\n", false, 0}};
	struct root r = tree_make();

	tree_text(&r, "/sys/devices/system/cpu/online", "0\n");
	tree_text(&r, "/proc/sys/kernel/perf_event_max_sample_rate", "9\n");
	for (size_t i = 0; i < NR(cases); i++) {
		struct err e = {0};
		struct host h;

		tree_text(&r, "/proc/sys/kernel/nmi_watchdog", cases[i].watchdog);
		tree_text(&r, "/proc/sys/kernel/perf_event_max_stack", cases[i].max_stack);
		assert_int_equal(host_load(&r, &h, &e), 0);
		assert_int_equal(h.nmi_watchdog, cases[i].has_watchdog);
		assert_int_equal(host_max_stack(&h), cases[i].most);
		host_fini(&h);
	}
	tree_remove(&r);
}

TEST(find_pmu)
{
	struct root r = tree_captured("intel-uncore");
	struct err e = {0};
	struct host h;

	assert_int_equal(host_load(&r, &h, &e), 0);
	assert_int_equal(host_find_pmu(&h, "uncore_imc_1")->type, 24);
	assert_false(host_find_pmu(&h, "uncore_imc_1")->is_core);
	assert_true(host_find_pmu(&h, "cpu")->is_core);
	assert_null(host_find_pmu(&h, "uncore_imc_"));
	assert_null(host_find_pmu(&h, ""));
	host_fini(&h);
}

/* Read when it is asked for, for the kernel lowers it. */
TEST(max_sample_rate)
{
	static const char path[] = "/proc/sys/kernel/perf_event_max_sample_rate";
	static const struct {
		const char *text;
		uint64_t rate;
	} cases[] = {
	    {"100000\n", 100000}, {"5000\n", 5000}, {"1\n", 1}, {"0\n", 0},
	    {"-1\n", 0},          {"", 0},          {"x\n", 0}, {"99999999999999999999\n", 0},
	};
	struct root r = tree_make();
	struct err e = {0};
	struct host h;

	tree_put(&r, "/sys/devices/system/cpu/online", "0\n", 2);
	assert_int_equal(host_load(&r, &h, &e), 0);
	assert_int_equal(host_max_sample_rate(&h), 0);
	for (size_t i = 0; i < NR(cases); i++) {
		tree_put(&r, path, cases[i].text, strlen(cases[i].text));
		assert_int_equal(host_max_sample_rate(&h), cases[i].rate);
	}
	host_fini(&h);
	tree_remove(&r);
}

TEST(this_machine)
{
	struct err e = {0};
	struct host h;

	assert_int_equal(host_load(&root_live, &h, &e), 0);
	assert_true(cpuset_count(&h.online) > 0);
	assert_non_null(strchr(h.kernel, '.'));
	assert_non_null(host_find_pmu(&h, "software"));
	host_fini(&h);
}

/* What is missing is unknown, and no error: only the list of CPUs must be there. */
TEST(next_to_nothing)
{
	static const uint8_t zeros[16];
	struct root r = tree_make();
	struct err e = {0};
	struct host h;

	tree_put(&r, "/sys/devices/system/cpu/online", "0\n", 2);
	assert_int_equal(host_load(&r, &h, &e), 0);
	assert_string_equal(h.node, "");
	assert_string_equal(h.kernel, "");
	assert_string_equal(h.cpu_model, "");
	assert_memory_equal(h.boot_id, zeros, 16);
	assert_int_equal(h.perf_event_paranoid, INT_MAX);
	assert_false(h.may_perfmon);
	assert_int_equal(h.nr_pmus, 0);
	host_fini(&h);
	tree_remove(&r);
}

static int load_and_forget(void *arg)
{
	struct err e = {0};
	struct host h;
	int rc = host_load(arg, &h, &e);

	assert_int_equal(e.code, rc);
	if (rc) {
		assert_true(e.msg[0]);
		return rc;
	}
	if (!inject.error) /* no memory for one of them is no reason to do without it */
		assert_int_equal(h.nr_pmus, 11);
	host_fini(&h);
	return 0;
}

TEST(failures)
{
	struct root r = tree_captured("intel-hybrid");

	inject_every(load_and_forget, &r, 10, 60);
}
