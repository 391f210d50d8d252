/*
 * The tables of the kernel's generic events against independent sources: libpfm4's own "perf" and
 * "perf_events software" tables, by the kernel's names; and a list written by hand from the
 * kernel's tables of what CPUs count for them.
 */
#include "event_tree.h"
#include "kit.h"

#include "base/buf.h"
#include "collect/collect.h"
#include "event/generic.h"

#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

/* 1 if libpfm4 knows the row's source and agrees, 0 if it does not know it. */
static int agrees(const struct event_row *row)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};

	if (pfm_get_os_event_encoding(row->source, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg) !=
	    PFM_SUCCESS)
		return 0;
	print_message("%s: type %u, config 0x%llx\n", row->source, attr.type,
		      (unsigned long long)attr.config);
	assert_int_equal(row->perf_type, attr.type);
	assert_true(row->perf_config == attr.config);
	return 1;
}

static void check_group(const struct event_group *g, int at_least)
{
	int nr = 0;

	for (size_t i = 0; i < g->nr_rows; i++)
		nr += agrees(&g->rows[i]);
	assert_true(nr >= at_least);
}

TEST(generic_events)
{
	assert_int_equal(pfm_initialize(), PFM_SUCCESS);
	check_group(&event_fixed_group, 4);
	check_group(&event_arch_group, 9);
	check_group(&event_software_group, 8);
}

/* From Linux 6.12: arch/x86/events/{intel,amd}/core.c, drivers/perf/arm_pmuv3.c. */
#define REFUSED "none: the kernel refuses this event"
static const struct {
	const char *model, *event, *text; /* text: "(CODE)" or a part of the line */
} counted[] = {
    {"core", "arch:llc_loads", "(0x4f29): loads of the level 2 cache"},
    {"core", "arch:itlb_load_misses", "(0x1282)"},
    {"nhm", "arch:itlb_loads", "INST_RETIRED.ANY_P (0x01c0): instructions retired, not lookups"},
    {"nhm", "arch:dtlb_loads", "(0x0f40)"},
    {"nhm", "arch:itlb_load_misses", "(0x20c8): instructions retired that missed"},
    {"nhm", "arch:stalled_cycles_frontend", "(0x180010e)"},
    {"nhm", "arch:stalled_cycles_backend", "(0x1803fb1)"},
    {"wsm", "arch:itlb_loads", "INST_RETIRED.ANY_P (0x01c0): instructions retired, not lookups"},
    {"wsm", "arch:itlb_load_misses", "(0x0185)"},
    {"wsm_dp", "arch:dtlb_loads", "(0x010b): loads retired"},
    {"snb", "arch:l1d_loads", "(0xf1d0): loads retired"},
    {"snb", "arch:dtlb_load_misses", "(0x0108): page walks begun, completed or not"},
    {"snb", "arch:itlb_load_misses", "(0x0185): page walks begun, completed or not"},
    {"snb", "arch:itlb_loads", "(0x1085)"},
    {"snb", "arch:stalled_cycles_backend", "(0x18001b1)"},
    {"ivb", "arch:dtlb_load_misses", "(0x8108): page walks begun, completed or not"},
    {"ivb", "arch:stalled_cycles_frontend", "(0x180010e)"},
    {"ivb", "arch:stalled_cycles_backend", REFUSED},
    {"hsw", "arch:dtlb_load_misses", "(0x0108): page walks begun, completed or not"},
    {"hsw", "arch:itlb_load_misses", "(0x0185): page walks begun, completed or not"},
    {"hsw", "arch:itlb_loads", "(0x6085)"},
    {"hsw", "arch:stalled_cycles_frontend", REFUSED},
    {"bdw", "arch:l1i_load_misses", "(0x0280)"},
    {"skl", "arch:l1d_load_misses", "L1D.REPLACEMENT (0x0151): lines brought into the cache"},
    {"skl", "arch:l1i_load_misses", "(0x0283)"},
    {"skl", "arch:llc_loads", "OFFCORE_RESPONSE (0x01b7): demand data reads that left the core"},
    {"clx", "arch:dtlb_load_misses", "(0x0e08): page walks completed"},
    {"skx", "arch:itlb_loads", "(0x2085)"},
    {"skl", "fixed:unhalted_reference_cycles", "(0x0300): on fixed counter 2"},
    {"skl", "arch:unhalted_reference_cycles", "Fuchsia's cpuperf counts 0x013c"},
    {"skl", "arch:llc_misses", "LONGEST_LAT_CACHE.MISS (0x412e)"},
    {"icl", "arch:itlb_loads", REFUSED},
    {"icx", "arch:itlb_load_misses", "(0x0e85)"},
    {"spr", "arch:l1d_load_misses", "L2_RQSTS.ALL_DEMAND_DATA_RD (0xe124)"},
    {"spr", "arch:l1i_load_misses", "(0xe424)"},
    {"spr", "arch:llc_load_misses", "(0x012a)"},
    {"spr", "arch:dtlb_load_misses", "(0x0e12)"},
    {"spr", "arch:itlb_loads", REFUSED},
    {"spr", "arch:itlb_load_misses", "(0x0e11)"},
    {"alderlake", "arch:l1d_load_misses", "P-cores of Alder Lake and Raptor Lake: L2_RQSTS"},
    {"slm", "arch:l1d_loads", REFUSED},
    {"slm", "arch:dtlb_loads", REFUSED},
    {"slm", "arch:llc_load_misses", REFUSED},
    {"knl", "arch:itlb_load_misses", "(0x40205): page walks"},
    {"glm", "arch:l1d_load_misses", REFUSED},
    {"glm", "arch:dtlb_load_misses", REFUSED},
    {"glm", "arch:itlb_loads", "INST_RETIRED.ANY_P (0x00c0): instructions retired, not lookups"},
    {"glm", "arch:itlb_load_misses", "(0x0481)"},
    {"tmt", "arch:dtlb_load_misses", "(0x0e08)"},
    {"tmt", "arch:itlb_loads", REFUSED},
    {"amd64_fam15h_interlagos", "arch:llc_misses", "(0x077e)"},
    {"amd64_fam16h", "arch:l1d_load_misses", "(0x0141)"},
    {"amd64_fam16h", "arch:unhalted_reference_cycles", REFUSED},
    {"zen1", "arch:stalled_cycles_backend", "(0x0187)"},
    {"zen1", "arch:stalled_cycles_frontend", "(0x0287)"},
    {"zen2", "arch:stalled_cycles_backend", REFUSED},
    {"zen3", "arch:stalled_cycles_frontend", "(0x00a9)"},
    {"zen3", "arch:unhalted_reference_cycles", REFUSED},
    {"zen3", "arch:llc_references", "(0xff60): requests to the level 2 cache"},
    {"zen4", "arch:unhalted_reference_cycles", "(0x100000120): from Linux 6.9"},
    {"zen4", "arch:llc_loads", REFUSED},
    {"zen5", "fixed:unhalted_reference_cycles", "(0x100000120)"},
    {"zen4", "arch:l1d_load_misses", "(0xc860)"},
    {"zen4", "arch:dtlb_load_misses", "(0xf045): misses of both levels"},
    {"arm_n1", "arch:unhalted_reference_cycles", REFUSED},
    {"arm_n1", "arch:llc_misses", "L1D_CACHE_REFILL (0x0003): refills of the level 1 data cache"},
    {"arm_n1", "arch:branch_instructions_retired", "BR_RETIRED (0x0021)"},
    {"arm_n1", "arch:branch_instructions_retired", "else PC_WRITE_RETIRED (0x000c): taken"},
    {"arm_ac72", "arch:dtlb_load_misses", "else L1D_TLB_REFILL_RD (0x004c)"},
    {"netburst", "arch:llc_misses", "unknown for the model netburst"},
    {"arm_ac9", "arch:llc_misses", "unknown for the model arm_ac9"},
    {"power9", "arch:llc_misses", "unknown for the model power9"},
};

static void expect_detail(const struct catalogue *c, const char *event, const char *text)
{
	struct event ev;
	struct buf out;
	struct err e = {0};

	buf_init(&out, 1 << 16);
	assert_int_equal(catalogue_find_spelled(c, event, &ev, &e), 0);
	buf_adds(&out, ev.row->detail ? ev.row->detail : "");
	generic_describe(c, &ev, &out);
	print_message("%s %s: \"%s\" in \"%s\"\n", c->model ? c->model : "", event, text,
		      buf_str(&out));
	assert_non_null(strstr(buf_str(&out), text));
	assert_non_null(strstr(buf_str(&out), "\nby the tables of Linux 6.12; "));
	buf_fini(&out);
}

TEST(by_model)
{
	static const char *const none[] = {NULL};
	struct machine m;

	machine_init(&m, none);
	for (size_t i = 0; i < NR(counted); i++) {
		m.c.model = counted[i].model;
		expect_detail(&m.c, counted[i].event, counted[i].text);
	}
	machine_fini(&m);
}

/* A machine with that CPU: its core PMUs and what they publish, by turns, as in machine_init. */
static void expect_on(const char *cpuinfo, const char *const *pmus, const char *event,
		      const char *text)
{
	struct err e = {0};
	struct machine m;

	machine_init(&m, pmus);
	tree_put(&m.root, "/proc/cpuinfo", cpuinfo, strlen(cpuinfo));
	host_fini(&m.host);
	assert_int_equal(host_load(&m.root, &m.host, &e), 0);
	snprintf(m.host.machine, sizeof(m.host.machine), "%s", cpuinfo[0] ? "x86_64" : "aarch64");
	expect_detail(&m.c, event, text);
	machine_fini(&m);
}

#define CPU(vendor, family, model)                                                                 \
	"processor\t: 0\nvendor_id\t: " vendor "\ncpu family\t: " family "\nmodel\t\t: " model     \
	"\nmodel name\t: CPU 151\n"

/* Numbers of /proc/cpuinfo are decimal. */
TEST(by_machine)
{
	static const char *const none[] = {NULL}, *const cpu[] = {"cpu/type", "4", NULL};
	static const char *const hybrid[] = {
	    "cpu_atom/type", "10", "cpu_atom/cpus", "4-7", "cpu_core/type", "4", "cpu_core/cpus",
	    "0-3",           NULL};
	static const char alder_lake[] = CPU("GenuineIntel", "6", "151");

	expect_on(alder_lake, hybrid, "arch:l1d_load_misses",
		  "cpu_atom: " REFUSED "\ncpu_core: L2_RQSTS.ALL_DEMAND_DATA_RD (0xe124)");
	expect_on(
	    alder_lake, none, "arch:l1d_load_misses",
	    "P-cores of Alder Lake and Raptor Lake: L2_RQSTS.ALL_DEMAND_DATA_RD (0xe124): "
	    "demand data reads sent to level 2\nE-cores of Alder Lake and Raptor Lake: none: ");
	expect_on(alder_lake, cpu, "arch:l1d_load_misses",
		  "cpu: unknown for this CPU (GenuineIntel family 6 model 151)\n");
	expect_on(CPU("GenuineIntel", "6", "143"), cpu, "arch:l1i_load_misses",
		  "Sapphire Rapids, Emerald Rapids: L2_RQSTS.ALL_CODE_RD (0xe424)");
	expect_on(CPU("GenuineIntel", "6", "143"), hybrid, "arch:l1i_load_misses",
		  "cpu_core: unknown for this CPU (GenuineIntel family 6 model 143)\n");
	expect_on(CPU("GenuineIntel", "6", "221"), cpu, "arch:llc_misses",
		  "unknown for this CPU (GenuineIntel family 6 model 221)");
	expect_on(CPU("GenuineIntel", "15", "143"), none, "arch:llc_misses",
		  "unknown for this CPU (GenuineIntel family 15 model 143)");
	expect_on(CPU("AuthenticAMD", "6", "143"), cpu, "arch:llc_misses", "AMD before Zen: ");
	expect_on(CPU("AuthenticAMD", "23", "49"), cpu, "arch:llc_misses", "Zen 2: ");
	expect_on(CPU("AuthenticAMD", "23", "128"), cpu, "arch:llc_misses", "unknown for this CPU");
	expect_on(CPU("AuthenticAMD", "25", "17"), cpu, "arch:unhalted_reference_cycles",
		  "Zen 4: P0");
	expect_on(CPU("AuthenticAMD", "25", "33"), cpu, "arch:unhalted_reference_cycles",
		  "Zen 3: none");
	expect_on(CPU("HygonGenuine", "24", "1"), cpu, "arch:llc_misses", "(0x077e)");
	expect_on(CPU("  Shanghai  ", "7", "27"), cpu, "arch:llc_misses", "event (0x051a)");
	expect_on("model name\t: Made CPU\n", cpu, "arch:llc_misses", "unknown for this CPU\n");
}

/* What a core implements is what its PMU publishes. */
TEST(by_arm_core)
{
#define PUBLISHES(name, event) "armv8_pmuv3_0/events/" name, "event=" event
#define PMUV3                  "armv8_pmuv3_0/type", "8", "armv8_pmuv3_0/cpus", "0-7"
#define CYCLES                 PUBLISHES("cpu_cycles", "0x11")
	static const char *const none[] = {NULL}, *const silent[] = {PMUV3, NULL};
	static const char *const taken[] = {PMUV3, CYCLES, PUBLISHES("pc_write_retired", "0x0c"),
					    NULL};
	static const char *const all[] = {PMUV3, CYCLES, PUBLISHES("pc_write_retired", "0x0c"),
					  PUBLISHES("br_retired", "0x21"), NULL};
	static const char *const neither[] = {PMUV3, CYCLES, NULL};
	static const char *const vulcan[] = {"armv8_brcm_vulcan/type",
					     "8",
					     "armv8_brcm_vulcan/cpus",
					     "0-7",
					     "armv8_brcm_vulcan/events/cpu_cycles",
					     "event=0x11",
					     NULL};
	static const char *const v9[] = {"armv9_neoverse_n2/type", "8", "armv9_neoverse_n2/cpus",
					 "0-7", NULL};
	static const char *const apple[] = {"apple_icestorm_pmu/type", "8",
					    "apple_icestorm_pmu/cpus", "0-7", NULL};
	static const char branches[] = "arch:branch_instructions_retired";

	expect_on("", all, branches, "armv8_pmuv3_0: BR_RETIRED (0x0021): before Linux 6.12");
	expect_on("", taken, branches,
		  "armv8_pmuv3_0: PC_WRITE_RETIRED (0x000c): taken branches only\n");
	expect_on("", neither, branches, "none: the core does not implement BR_RETIRED (0x0021)");
	expect_on("", silent, branches,
		  "where the core implements it, else PC_WRITE_RETIRED (0x000c)");
	expect_on("", none, branches, "ARM PMUv3: BR_RETIRED (0x0021)");
	expect_on("", neither, "arch:dtlb_loads",
		  "none: the core does not implement L1D_TLB (0x0025)");
	expect_on("", vulcan, "arch:dtlb_loads", "armv8_brcm_vulcan: L1D_TLB_RD (0x004e)\n");
	expect_on("", v9, branches, "armv9_neoverse_n2: BR_RETIRED");
	expect_on("", apple, branches, "apple_icestorm_pmu: unknown for this CPU\n");
}

static int describe_other(const struct event *ev, void *arg)
{
	struct machine *m = arg;
	struct buf out;

	if (ev->group == &event_fixed_group || ev->group == &event_arch_group)
		return 0;
	buf_init(&out, 1 << 16);
	generic_describe(&m->c, ev, &out);
	generic_table(ev, &out);
	if (out.len)
		fail_msg("%s:%s: %s", ev->group->name, ev->row->name, buf_str(&out));
	buf_fini(&out);
	return 0;
}

/* Software events, what is read from files and what other PMUs count are not the kernel's generic
 * hardware events. */
TEST(others)
{
	static const struct event_group *const groups[] = {&event_fixed_group, &event_arch_group,
							   &event_software_group,
							   &event_model_group, &collect_misc_group};
	static const char *const files[] = {
	    "msr/type",    "9", "msr/events/tsc", "event=0x00", "msr/format/event",
	    "config:0-63", NULL};
	static const char *const models[] = {NULL, "zen5", "skl"};
	struct machine m;
	struct event ev;
	struct err e = {0};
	struct buf out;

	machine_init(&m, files);
	m.c.groups = groups;
	m.c.nr_groups = NR(groups);
	assert_int_equal(catalogue_find(&m.c, "misc", "msr_tsc", &ev, &e), 0);
	for (size_t i = 0; i < NR(models); i++) {
		m.c.model = models[i];
		assert_int_equal(catalogue_each(&m.c, describe_other, &m), 0);
	}
	buf_init(&out, 1 << 16);
	m.c.host = NULL;
	generic_describe(&m.c, &(struct event){&event_arch_group, event_arch_group.rows}, &out);
	assert_int_equal(out.len, 0);
	for (size_t i = 0; i < event_arch_group.nr_rows; i++) {
		size_t len = out.len;

		generic_table(&(struct event){&event_arch_group, &event_arch_group.rows[i]}, &out);
		assert_true(out.len > len);
	}
	buf_fini(&out);
	machine_fini(&m);
}
