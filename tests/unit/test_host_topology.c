/*
 * Where CPUs are, on captured machines and on trees that are made.
 */
#include "kit.h"

#include "host/topology.h"

enum { MAX_CPUS = 256 };

static void put(const struct root *r, const char *path, const char *text)
{
	tree_put(r, path, text, strlen(text));
}

/* Two packages of two CPUs, three nodes, one of which has none; what is no node; what is broken. */
TEST(packages_and_nodes)
{
	static const char *const packages[] = {"0\n", "0\n", "36\n", "-1\n", "4294967295\n"};
	static const struct host_place want[] = {
	    {0, 0, NULL}, {0, 2, NULL}, {36, 2, NULL}, {-1, -1, NULL}, {-1, -1, NULL}};
	struct host_place out[5];
	struct host h = {.root = tree_make()};
	struct cpuset cpus;
	char path[128];

	cpuset_clear(&cpus);
	for (unsigned i = 0; i < 5; i++) {
		cpuset_add(&cpus, 2 * i);
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%u/topology/physical_package_id", 2 * i);
		put(&h.root, path, packages[i]);
	}
	put(&h.root, "/sys/devices/system/node/node0/cpulist", "0-1\n");
	put(&h.root, "/sys/devices/system/node/node1/cpulist", "\n");
	put(&h.root, "/sys/devices/system/node/node2/cpulist", "2-5\n");
	put(&h.root, "/sys/devices/system/node/node3/cpulist", "6,boom\n");
	put(&h.root, "/sys/devices/system/node/nodex/cpulist", "0-9\n");
	put(&h.root, "/sys/devices/system/node/possible", "0-3\n");
	assert_int_equal(host_places(&h, &cpus, out), 0);
	inject_mem(1);
	assert_int_equal(host_places(&h, &cpus, out), -ENOMEM);
	inject_stop();
	assert_int_equal(host_places(&h, &cpus, out), 0);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(out[i].package, want[i].package);
		assert_int_equal(out[i].node, want[i].node);
		assert_null(out[i].type);
	}
	tree_remove(&h.root);
}

TEST(nothing_is_known)
{
	struct host h = {.root = tree_make()};
	struct host_place out = {7, 7, "x"};
	struct cpuset cpus;

	cpuset_clear(&cpus);
	assert_int_equal(host_places(&h, &cpus, &out), 0); /* no CPU: nothing is written */
	assert_int_equal(out.package, 7);
	cpuset_add(&cpus, 3);
	assert_int_equal(host_places(&h, &cpus, &out), 0);
	assert_int_equal(out.package, -1);
	assert_int_equal(out.node, -1);
	assert_null(out.type);
	tree_remove(&h.root);
}

/* Types of cores, where there are several. */
TEST(types_of_cores)
{
	static const struct {
		const char *name;
		unsigned cpu;
		const char *type;
	} cases[] = {{"intel-hybrid", 0, "cpu_core"},
		     {"intel-hybrid", 19, "cpu_atom"},
		     {"arm64-big-little", 0, "armv8_cortex_a53"},
		     {"arm64-big-little", 5, "armv8_cortex_a72"},
		     {"arm64-server", 0, NULL},
		     {"amd-server", 191, NULL}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host_place out[MAX_CPUS];
		struct root root = tree_captured(cases[i].name);
		struct err e = {0};
		struct host h;
		const char *type;

		assert_int_equal(host_load(&root, &h, &e), 0);
		assert_int_equal(host_places(&h, &h.online, out), 0);
		type = out[cases[i].cpu].type;
		assert_true(!type == !cases[i].type);
		if (type)
			assert_string_equal(type, cases[i].type);
		host_fini(&h);
	}
}
