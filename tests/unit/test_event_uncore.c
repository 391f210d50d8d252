/*
 * misc's hardware rows on captured trees: which there are, what each opens and where, its scale
 * and unit, sums over boxes, and what is missing.
 */
#include "kit.h"

#include "base/arena.h"
#include "base/buf.h"
#include "event/catalogue.h"
#include "event/sysfs.h"

#define PMU "/sys/bus/event_source/devices/"

static const char *const trees[] = {"x86-vm",       "intel-uncore",     "intel-hybrid",
				    "linux-4.14",   "amd-server",       "amd-zen3",
				    "arm64-server", "arm64-big-little", "sparse-offline"};

struct machine {
	struct root root;
	struct host host;
	struct arena arena;
	struct catalogue c;
};

static int open_root(struct machine *m, const struct root *root)
{
	struct err e = {0};
	int rc;

	m->root = *root;
	rc = host_load(&m->root, &m->host, &e);
	if (rc)
		return rc;
	arena_init(&m->arena, 4 << 20);
	m->c = (struct catalogue){.host = &m->host, .arena = &m->arena};
	return 0;
}

static void open_tree(struct machine *m, const char *tree)
{
	struct root r = tree_captured(tree);

	assert_int_equal(open_root(m, &r), 0);
}

static void close_machine(struct machine *m)
{
	arena_fini(&m->arena);
	host_fini(&m->host);
}

static int find(struct machine *m, const char *name, const struct event_row **out, struct err *e)
{
	return event_uncore_maker.find(&m->c, name, out, e);
}

/* "COUNT PACKAGE B 64: uncore_imc_0(23) 0x304 on 0,20; …" */
static void spell(const struct event_row *r, struct buf *out)
{
	static const char *const kinds[] = {"?", "COUNT", "VALUE", "SHARE"};
	static const char *const scopes[] = {"?", "CPU", "SYSTEM", "PACKAGE"};

	buf_printf(out, "%s %s %s %.10g:", kinds[r->kind], scopes[r->scope], r->unit, r->scale);
	for (uint32_t i = 0; i < r->nr_parts; i++) {
		const struct event_part *p = &r->parts[i];

		buf_printf(out, " %s(%u) %#llx,%#llx,%#llx", p->pmu, p->type,
			   (unsigned long long)p->config, (unsigned long long)p->config1,
			   (unsigned long long)p->config2);
		buf_adds(out, p->cpus ? " on " : " everywhere");
		if (p->cpus)
			cpuset_format(p->cpus, out);
		buf_adds(out, ";");
	}
}

static const struct {
	const char *tree, *asked, *name, *spelled;
} rows[] = {
    /* two sockets: each box on one CPU of each */
    {"intel-uncore", "memory_bytes_read", NULL,
     "COUNT PACKAGE B 64: uncore_imc_0(23) 0x304,0,0 on 0,20; uncore_imc_1(24) 0x304,0,0 on 0,20;"},
    {"intel-uncore", "MEMORY_bytes_written", "memory_bytes_written",
     "COUNT PACKAGE B 64: uncore_imc_0(23) 0xc04,0,0 on 0,20; uncore_imc_1(24) 0xc04,0,0 on 0,20;"},
    {"intel-uncore", "uncore_imc_1/cas_count_read/", NULL,
     "COUNT PACKAGE B 64: uncore_imc_1(24) 0x304,0,0 on 0,20;"},
    {"intel-uncore", "uncore_imc/cas_count_read/", NULL,
     "COUNT PACKAGE B 64: uncore_imc_0(23) 0x304,0,0 on 0,20; uncore_imc_1(24) 0x304,0,0 on 0,20;"},
    {"intel-uncore", "UNCORE_CHA/ClockTicks/", "uncore_cha/clockticks/",
     "COUNT PACKAGE ticks 1: uncore_cha_0(13) 0,0,0 on 0,20; uncore_cha_1(14) 0,0,0 on 0,20;"},
    {"intel-uncore", "Uncore_Cha_1/clockticks/", "uncore_cha_1/clockticks/",
     "COUNT PACKAGE ticks 1: uncore_cha_1(14) 0,0,0 on 0,20;"},
    {"intel-uncore", "uncore_cha/event=0x35,umask=1,filter_tid=3/", NULL,
     "COUNT PACKAGE events 1: uncore_cha_0(13) 0x135,0x3,0 on 0,20; "
     "uncore_cha_1(14) 0x135,0x3,0 on 0,20;"},
    {"intel-uncore", "uncore_upi_0/umask_ext=0x1ff/", NULL,
     "COUNT PACKAGE events 1: uncore_upi_0(31) 0x10000ff00,0,0 on 0,20;"},
    {"intel-uncore", "energy_pkg", NULL,
     "COUNT PACKAGE J 2.328306437e-10: power(10) 0x2,0,0 on 0,20;"},
    {"intel-uncore", "power/energy-pkg/", "energy_pkg",
     "COUNT PACKAGE J 2.328306437e-10: power(10) 0x2,0,0 on 0,20;"},
    {"intel-uncore", "cstate_core_c6_residency", NULL,
     "COUNT PACKAGE ticks 1: cstate_core(11) 0x2,0,0 on 0-39;"},
    {"intel-uncore", "CSTATE_PKG_C2_Residency", "cstate_pkg_c2_residency",
     "COUNT PACKAGE ticks 1: cstate_pkg(12) 0,0,0 on 0,20;"},
    {"intel-uncore", "msr_smi", NULL, "COUNT CPU interrupts 1: msr(9) 0x4,0,0 everywhere;"},
    /* a client: requests are counted, not scaled to bytes */
    {"linux-4.14", "memory_bytes_read", NULL, "COUNT PACKAGE B 64: uncore_imc(9) 0x1,0,0 on 0;"},
    {"linux-4.14", "memory_gt_requests", NULL,
     "COUNT PACKAGE requests 1: uncore_imc(9) 0x3,0,0 on 0;"},
    {"linux-4.14", "memory_io_requests", NULL,
     "COUNT PACKAGE requests 1: uncore_imc(9) 0x5,0,0 on 0;"},
    {"linux-4.14", "energy_psys", NULL, "COUNT PACKAGE J 2.328306437e-10: power(8) 0x5,0,0 on 0;"},
    {"linux-4.14", "msr_cpu_thermal_margin", NULL, "VALUE CPU °C 1: msr(7) 0x6,0,0 everywhere;"},
    {"intel-hybrid", "memory_bytes_written", NULL,
     "COUNT PACKAGE B 64: uncore_imc_free_running_0(24) 0x30ff,0,0 on 0;"},
    {"intel-hybrid", "i915/actual-frequency/", NULL,
     "COUNT PACKAGE M 1: i915(30) 0x100000,0,0 on 0;"},
    /* AMD publishes formats, no names */
    {"amd-server", "memory_bytes_read", NULL,
     "COUNT PACKAGE B 64: amd_umc_0(13) 0x10a,0,0 on 0; amd_umc_1(14) 0x10a,0,0 on 0; "
     "amd_umc_2(15) 0x10a,0,0 on 48; amd_umc_3(16) 0x10a,0,0 on 48;"},
    {"amd-server", "amd_df/event=0x11f,umask=0xffe/", NULL,
     "COUNT PACKAGE events 1: amd_df(11) 0x10f00fe1f,0,0 on 0,48;"},
    {"amd-server", "msr_irperf", NULL, "COUNT CPU instructions 1: msr(9) 0x5,0,0 everywhere;"},
    {"amd-zen3", "amd_df/event=0x07,umask=0x38/", NULL,
     "COUNT PACKAGE events 1: amd_df(11) 0x3807,0,0 on 0,32;"},
    {"arm64-server", "arm_dmc620/clkdiv2=1,event=0x12,mask=0x1,match=0x1/", NULL,
     "COUNT PACKAGE events 1: arm_dmc620_10008c(10) 0x1,0x1,0x290 on 0; "
     "arm_dmc620_10008d(11) 0x1,0x1,0x290 on 0; arm_dmc620_50008c(12) 0x1,0x1,0x290 on 0; "
     "arm_dmc620_50008d(13) 0x1,0x1,0x290 on 0;"},
    {"arm64-server", "arm_cmn_0/hnf_mc_reqs/", NULL,
     "COUNT PACKAGE events 1: arm_cmn_0(9) 0xd0005,0,0 on 0;"},
    {"x86-vm", "msr_tsc", NULL, "COUNT CPU ticks 1: msr(8) 0,0,0 everywhere;"},
};

TEST(rows)
{
	struct buf b;

	buf_init(&b, 10000);
	for (size_t i = 0; i < NR(rows); i++) {
		const struct event_row *r = NULL;
		struct machine m;
		struct err e = {0};

		print_message("%s: %s\n", rows[i].tree, rows[i].asked);
		open_tree(&m, rows[i].tree);
		assert_int_equal(find(&m, rows[i].asked, &r, &e), 0);
		assert_string_equal(r->name, rows[i].name ? rows[i].name : rows[i].asked);
		assert_null(r->missing);
		buf_reset(&b);
		spell(r, &b);
		assert_string_equal(buf_str(&b), rows[i].spelled);
		close_machine(&m);
	}
	buf_fini(&b);
}

static const struct {
	const char *tree, *name, *says; /* "": nothing is known */
} unknown[] = {
    {"intel-uncore", "", ""},
    {"intel-uncore", "/", ""},
    {"intel-uncore", "//", ""},
    {"intel-uncore", "uncore_imc", ""},
    {"intel-uncore", "uncore_imc/", ""},
    {"intel-uncore", "uncore_imc//", ""},
    {"intel-uncore", "uncore_imc/cas_count_read", ""},
    {"intel-uncore", "uncore_imc/cas_count_read/x", ""},
    {"intel-uncore", "uncore_imc/cas_count_read/ ", ""},
    {"intel-uncore", "uncore_imc/cas_count_read clockticks/", ""},
    {"intel-uncore", "uncore_*/clockticks/", ""},
    {"intel-uncore", "uncore_im?/clockticks/", ""},
    {"intel-uncore", "uncore/clockticks/", ""},
    {"intel-uncore", "uncore_imc_2/clockticks/", ""},
    {"intel-uncore", "uncore_imc_0/cas_count/", ""},
    {"intel-uncore", "uncore_imc_0/../type/", ""},
    {"intel-uncore", "../power/energy-pkg/", ""},
    {"intel-uncore", "uncore_imc_0/evnt=1/", "\"evnt\" is no term of the PMU uncore_imc_0"},
    {"intel-uncore", "uncore_imc/event=0x100/", "too large"},
    {"intel-uncore", "cpu/cpu-cycles/", "the PMU cpu counts in the group model"},
    {"intel-uncore", "software/event=1/", ""},
    {"intel-uncore", "kprobe/config=1/", ""},
    {"intel-uncore", "intel_pt/config=1/", ""},
    {"intel-uncore", "energy", ""},
    {"intel-uncore", "energy_pkg.scale", ""},
    {"intel-uncore", "energy_psys", ""},
    {"x86-vm", "energy_pkg", ""},
    {"arm64-server", "arm_spe_0/ts_enable=1/", ""},
    {"amd-server", "ibs_op/cnt_ctl=1/", ""},
};

TEST(unknown)
{
	for (size_t i = 0; i < NR(unknown); i++) {
		const struct event_row *r = NULL;
		struct machine m;
		struct err e = {0};

		print_message("%s: \"%s\"\n", unknown[i].tree, unknown[i].name);
		open_tree(&m, unknown[i].tree);
		assert_int_equal(find(&m, unknown[i].name, &r, &e), -ENOENT);
		assert_null(r);
		assert_int_equal(!e.msg[0], !unknown[i].says[0]);
		assert_non_null(strstr(e.msg, unknown[i].says));
		close_machine(&m);
	}
}

static const struct {
	const char *tree, *name, *says; /* NULL: it is there */
} missing[] = {
    {"x86-vm", "memory_bytes_read", "uncore_imc"},
    {"x86-vm", "memory_bytes_written", "amd_umc (AMD from Zen 4, Linux 6.9)"},
    {"x86-vm", "memory_bytes_read", "misc:pmu/event/"},
    {"x86-vm", "memory_gt_requests", "Intel client"},
    {"intel-uncore", "memory_ia_requests", "Intel client"},
    {"intel-uncore", "memory_bytes_read", NULL},
    {"amd-zen3", "memory_bytes_read", "AMD from Zen 4"},
    {"amd-server", "memory_bytes_read", NULL},
    {"arm64-server", "memory_bytes_read", "the PMU arm_dmc620_10008c publishes no event of reads"},
    {"intel-hybrid", "memory_io_requests", "Sandy Bridge to Rocket Lake"},
    {"linux-4.14", "memory_io_requests", NULL},
    {"linux-4.14", "all_active_core_cycles", "MCHBAR"},
    {"linux-4.14", "peci_thermal_margin", "MCHBAR"},
    {"linux-4.14", "gt_temperature", "MCHBAR"},
};

TEST(missing)
{
	for (size_t i = 0; i < NR(missing); i++) {
		const struct event_row *r;
		struct machine m;
		struct err e = {0};

		print_message("%s: %s\n", missing[i].tree, missing[i].name);
		open_tree(&m, missing[i].tree);
		assert_int_equal(find(&m, missing[i].name, &r, &e), 0);
		assert_int_equal(!r->missing, !missing[i].says);
		assert_int_equal(!r->missing, r->nr_parts > 0);
		if (r->missing && missing[i].says)
			assert_non_null(strstr(r->missing, missing[i].says));
		close_machine(&m);
	}
}

/* What is listed, a line each, and checks of every row. */
struct listed {
	struct machine *m;
	struct buf names;
	size_t nr, nr_original;
	bool numbers[100];
};

static void expect_parts(const struct listed *l, const struct event_row *r)
{
	for (uint32_t i = 0; i < r->nr_parts; i++) {
		const struct event_part *p = &r->parts[i];
		const struct host_pmu *pmu = host_find_pmu(&l->m->host, p->pmu);

		assert_non_null(pmu);
		assert_false(pmu->is_core);
		assert_int_equal(p->type, pmu->type);
		assert_int_equal(p->cpus ? EVENT_SCOPE_PACKAGE : EVENT_SCOPE_CPU, r->scope);
		assert_ptr_equal(p->cpus, p->cpus ? &pmu->cpus : NULL);
		for (uint32_t k = 0; k < i; k++) /* no box counts twice */
			assert_true(r->parts[k].type != p->type || r->parts[k].config != p->config);
	}
}

static int expect_row(const struct event_row *r, void *arg)
{
	struct listed *l = arg;
	const struct event_row *again = NULL;
	struct err e = {0};

	assert_true(r->name[0] && r->unit[0] && r->source[0]);
	assert_int_equal(r->description[strlen(r->description) - 1], '.');
	assert_int_equal(r->alone, 0);
	assert_int_equal(!r->missing, r->nr_parts > 0);
	assert_true(r->missing || r->scale > 0);
	expect_parts(l, r);
	assert_int_equal(find(l->m, r->name, &again, &e), 0);
	assert_string_equal(again->name, r->name);
	assert_int_equal(again->nr_parts, r->nr_parts);
	assert_true(r->number < NR(l->numbers) && !l->numbers[r->number]);
	l->numbers[r->number] = r->number != 0;
	l->nr_original += r->number != 0;
	if (!r->number)
		buf_printf(&l->names, "%s ", r->name);
	l->nr++;
	return 0;
}

static const struct {
	const char *tree, *names;
} listings[] = {
    {"x86-vm", "msr_tsc "},
    {"intel-uncore",
     "cstate_core_c1_residency cstate_core_c6_residency cstate_pkg_c2_residency "
     "cstate_pkg_c6_residency msr_aperf msr_mperf msr_pperf msr_smi msr_tsc energy_pkg "
     "energy_ram uncore_cha_0/clockticks/ uncore_cha/clockticks/ uncore_cha_1/clockticks/ "
     "uncore_imc_0/cas_count_read/ uncore_imc_0/cas_count_write/ uncore_imc_0/clockticks/ "
     "uncore_imc/cas_count_read/ uncore_imc/cas_count_write/ uncore_imc/clockticks/ "
     "uncore_imc_1/cas_count_read/ uncore_imc_1/cas_count_write/ uncore_imc_1/clockticks/ "},
    {"intel-hybrid",
     "i915/actual-frequency/ msr_tsc energy_cores energy_gpu energy_pkg energy_psys "
     "uncore_imc_free_running_0/data_read/ uncore_imc_free_running_0/data_total/ "
     "uncore_imc_free_running_0/data_write/ "},
    {"linux-4.14",
     "cstate_core_c3_residency cstate_core_c6_residency cstate_core_c7_residency msr_aperf "
     "msr_cpu_thermal_margin msr_mperf msr_smi msr_tsc energy_cores energy_gpu energy_pkg "
     "energy_psys energy_ram uncore_imc/data_reads/ uncore_imc/data_writes/ "
     "uncore_imc/gt_requests/ uncore_imc/ia_requests/ uncore_imc/io_requests/ "},
    {"amd-server", "msr_aperf msr_irperf msr_mperf msr_tsc energy_pkg "},
    {"arm64-server", "arm_cmn_0/dtc_cycles/ arm_cmn_0/hnf_cache_miss/ arm_cmn_0/hnf_mc_reqs/ "
		     "arm_dmc620_10008c/clk_cycle_count/ arm_dmc620_10008c/clkdiv2_rdwr/ "
		     "arm_dmc620/clk_cycle_count/ arm_dmc620/clkdiv2_rdwr/ "
		     "arm_dmc620_10008d/clk_cycle_count/ arm_dmc620_10008d/clkdiv2_rdwr/ "
		     "arm_dmc620_50008c/clk_cycle_count/ arm_dmc620_50008c/clkdiv2_rdwr/ "
		     "arm_dmc620_50008d/clk_cycle_count/ arm_dmc620_50008d/clkdiv2_rdwr/ "},
};

static void list_machine(struct machine *m, struct listed *l)
{
	*l = (struct listed){.m = m};
	buf_init(&l->names, 65536);
	assert_int_equal(event_uncore_maker.each(&m->c, expect_row, l), 0);
	assert_int_equal(buf_error(&l->names), 0);
	assert_int_equal(l->nr_original, 20);
	assert_false(l->numbers[20] || l->numbers[21]); /* the sensors', of collect/ */
	assert_true(l->numbers[1] && l->numbers[22]);
}

TEST(listings)
{
	for (size_t i = 0; i < NR(listings); i++) {
		struct machine m;
		struct listed l;

		print_message("%s\n", listings[i].tree);
		open_tree(&m, listings[i].tree);
		list_machine(&m, &l);
		assert_string_equal(buf_str(&l.names), listings[i].names);
		buf_fini(&l.names);
		close_machine(&m);
	}
}

TEST(every_tree)
{
	for (size_t i = 0; i < NR(trees); i++) {
		struct machine m;
		struct listed l;

		print_message("%s\n", trees[i]);
		open_tree(&m, trees[i]);
		list_machine(&m, &l);
		buf_fini(&l.names);
		close_machine(&m);
	}
}

static int stop(const struct event_row *r, void *arg)
{
	(void)r;
	return --*(int *)arg ? 0 : -EXDEV;
}

TEST(stops)
{
	struct machine m;

	open_tree(&m, "intel-uncore");
	for (int n = 1; n <= 43; n++) { /* 20 originals and 23 of its own */
		int left = n;

		assert_int_equal(event_uncore_maker.each(&m.c, stop, &left), -EXDEV);
		assert_int_equal(left, 0);
	}
	close_machine(&m);
}

/* A machine of one test: PMUs with odd names, masks and events. */
static const struct {
	const char *path, *text;
} odd_files[] = {
    {"/sys/devices/system/cpu/online", "0-3\n"},
    {PMU "box_0/type", "40\n"},
    {PMU "box_0/cpumask", "0\n"},
    {PMU "box_0/format/event", "config:0-7\n"},
    {PMU "box_0/events/same", "event=1\n"},
    {PMU "box_0/events/scaled", "event=2\n"},
    {PMU "box_0/events/scaled.scale", "2\n"},
    {PMU "box_0/events/united", "event=3\n"},
    {PMU "box_0/events/united.unit", "KiB\n"},
    {PMU "box_0/events/rising", "event=3\n"},
    {PMU "box_0/events/volts", "event=3\n"},
    {PMU "box_0/events/volts.unit", "V\n"},
    {PMU "box_0/events/only", "event=4\n"},
    {PMU "box_0/events/broken", "event=0x100\n"},
    {PMU "box_0/events/asks", "event=?\n"},
    {PMU "box_0/events/empty", ""},
    {PMU "box_0/events/noscale", "event=5\n"},
    {PMU "box_0/events/noscale.scale", "much\n"},
    {PMU "box_0/events/\001", "event=6\n"},
    {PMU "box_1/type", "41\n"},
    {PMU "box_1/cpumask", "1\n"},
    {PMU "box_1/format/event", "config:8-15\n"},
    {PMU "box_1/events/same", "event=1\n"},
    {PMU "box_1/events/scaled", "event=2\n"},
    {PMU "box_1/events/united", "event=3\n"},
    {PMU "box_1/events/rising", "event=3\n"},
    {PMU "box_1/events/rising.scale", "2\n"},
    {PMU "box_1/events/volts", "event=3\n"},
    {PMU "box_1/events/volts.unit", "A\n"},
    {PMU "box_2/type", "42\n"},
    {PMU "box_2/cpumask", "2\n"},
    {PMU "blind_0/type", "43\n"},
    {PMU "blind_0/cpumask", "\n"},
    {PMU "blind_0/events/x", "config=1\n"},
    {PMU "glob[0]_1/type", "44\n"},
    {PMU "glob[0]_1/events/x", "config=1\n"},
    {PMU "glob[0]_2/type", "45\n"},
    {PMU "glob[0]_2/events/x", "config=1\n"},
    {PMU "lone/type", "47\n"},
    {PMU "lone/events/x", "config=1\n"},
    {PMU "lone_1/type", "48\n"},
    {PMU "lone_1/events/x", "config=1\n"},
    /* Granite Rapids' events, one box with half of them */
    {PMU "uncore_imc_0/type", "49\n"},
    {PMU "uncore_imc_0/events/cas_count_read_sch0", "config=1\n"},
    {PMU "uncore_imc_0/events/cas_count_read_sch1", "config=2\n"},
    {PMU "uncore_imc_1/type", "50\n"},
    {PMU "uncore_imc_1/events/cas_count_read_sch0", "config=1\n"},
    {PMU "\033c/type", "46\n"},
    {PMU "\033c/events/x", "config=1\n"},
};

/* PMUs of memory that do not say how much they count: no number, but what there is instead. */
static const struct {
	const char *pmu, *event, *says;
} guesses[] = {
    {"amd_df", "x", "the PMU amd_df publishes no event of all reads and writes"}, /* Zen 4, 6.8 */
    {"hisi_sccl1_ddrc0", "flux_rd", "the PMU hisi_sccl1_ddrc0 publishes flux_rd and flux_wr"},
    {"ali_drw_21000", "hif_rd", "misc:ali_drw/hif_rd/"},
    {"nvidia_scf_pmu_0", "cmem_rd_data", "misc:nvidia_scf_pmu/cmem_rd_data/"},
    {"arm_cmn_0", "hnf_mc_reqs", "misc:arm_cmn_0/EVENT/"},
    {"arm_dmc620_10008c000", "clkdiv2_rdwr", "misc:arm_dmc620/clkdiv2_rdwr/"},
};

static void put_pmu(const struct root *root, const char *pmu, const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), PMU "%s/%s", pmu, file);
	tree_put(root, path, text, strlen(text));
}

TEST(guesses)
{
	static const char *const names[] = {"memory_bytes_read", "memory_bytes_written"};

	for (size_t i = 0; i < NR(guesses); i++) {
		struct root root = tree_make();
		const struct event_row *r;
		struct machine m;
		struct err e = {0};
		char event[64];

		print_message("%s\n", guesses[i].pmu);
		tree_put(&root, "/sys/devices/system/cpu/online", "0\n", 2);
		put_pmu(&root, guesses[i].pmu, "type", "11\n");
		put_pmu(&root, guesses[i].pmu, "cpumask", "0\n");
		put_pmu(&root, guesses[i].pmu, "format/event", "config:0-7,32-37\n");
		put_pmu(&root, guesses[i].pmu, "format/umask", "config:8-15,24-27\n");
		snprintf(event, sizeof(event), "events/%s", guesses[i].event);
		put_pmu(&root, guesses[i].pmu, event, "event=1\n");
		assert_int_equal(open_root(&m, &root), 0);
		for (size_t k = 0; k < NR(names); k++) {
			assert_int_equal(find(&m, names[k], &r, &e), 0);
			assert_int_equal(r->nr_parts, 0);
			assert_non_null(strstr(r->missing, guesses[i].says));
		}
		assert_int_equal(find(&m, "memory_gt_requests", &r, &e), 0);
		assert_non_null(strstr(r->missing, "Intel client")); /* no matter what there is */
		close_machine(&m);
		tree_remove(&root);
	}
}

/* An event by its terms is none that the kernel publishes. */
TEST(descriptions)
{
	static const struct {
		const char *name, *description;
	} texts[] = {
	    {"msr/event=0x0/", "An event of the PMU msr by its terms: event=0x0."},
	    {"uncore_upi_0/umask_ext=0x1ff/",
	     "An event of the PMU uncore_upi_0 by its terms: umask_ext=0x1ff."},
	    {"uncore_cha/event=0x35/",
	     "An event of the PMU uncore_cha by its terms: event=0x35, summed over its boxes."},
	    {"msr/smi/", "System management interrupts."},
	};
	const struct event_row *r;
	struct machine m;
	struct err e = {0};

	open_tree(&m, "intel-uncore");
	for (size_t i = 0; i < NR(texts); i++) {
		assert_int_equal(find(&m, texts[i].name, &r, &e), 0);
		assert_string_equal(r->description, texts[i].description);
	}
	close_machine(&m);
}

static const struct {
	const char *name, *missing; /* NULL: it works */
} odd[] = {
    {"box/same/", NULL},
    {"box/only/", NULL},
    {"box_0/scaled/", NULL},
    {"box_0/broken/", "event=0x100 is too large"},
    {"box_0/asks/", "event=?: not a number"},
    {"box_0/empty/", "\"\" is no term"},
    {"box_0/noscale/", "its scale is not a number"},
    {"blind_0/x/", "is empty"},
    {"glob[0]_1/x/", NULL},
};

TEST(odd)
{
	struct root root = tree_make();
	const struct event_row *r;
	struct machine m;
	struct listed l;
	struct err e = {0};

	for (size_t i = 0; i < NR(odd_files); i++)
		tree_put(&root, odd_files[i].path, odd_files[i].text, strlen(odd_files[i].text));
	assert_int_equal(open_root(&m, &root), 0);
	list_machine(&m, &l);
	/* boxes that differ in scale or unit are not added up, and nothing odd is listed */
	assert_string_equal(
	    buf_str(&l.names),
	    "blind_0/x/ box_0/asks/ box_0/broken/ box_0/empty/ box_0/noscale/ "
	    "box_0/only/ box_0/rising/ box_0/same/ box_0/scaled/ box_0/united/ "
	    "box_0/volts/ box/same/ box_1/rising/ box_1/same/ box_1/scaled/ "
	    "box_1/united/ box_1/volts/ glob[0]_1/x/ glob[0]_2/x/ lone/x/ lone_1/x/ "
	    "uncore_imc_0/cas_count_read_sch0/ uncore_imc_0/cas_count_read_sch1/ "
	    "uncore_imc/cas_count_read_sch0/ uncore_imc_1/cas_count_read_sch0/ ");
	for (size_t i = 0; i < NR(odd); i++) {
		print_message("%s\n", odd[i].name);
		assert_int_equal(find(&m, odd[i].name, &r, &e), 0);
		assert_int_equal(!r->missing, !odd[i].missing);
		if (r->missing && odd[i].missing)
			assert_non_null(strstr(r->missing, odd[i].missing));
	}
	assert_int_equal(find(&m, "box/scaled/", &r, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "box_0 and box_1 count scaled in different units"));
	assert_int_equal(find(&m, "box/same/", &r, &e), 0);
	assert_int_equal(r->nr_parts, 2);
	assert_int_equal(r->parts[0].config, 1);
	assert_int_equal(r->parts[1].config, 0x100); /* by its own format */
	assert_int_equal(find(&m, "box_0/united/", &r, &e), 0);
	assert_string_equal(r->unit, "B");
	assert_true(r->scale > 1023 && r->scale < 1025);
	assert_int_equal(find(&m, "lone/config=7/", &r, &e), 0);
	assert_int_equal(r->nr_parts, 1); /* the PMU of that name, not its neighbours */
	assert_int_equal(find(&m, "memory_bytes_read", &r, &e), 0);
	assert_int_equal(r->nr_parts, 2); /* both halves of the one that has both */
	assert_int_equal(r->parts[1].type, 49);
	assert_true(r->scale > 63 && r->scale < 65);
	buf_fini(&l.names);
	close_machine(&m);
	tree_remove(&root);
}

static int count_row(const struct event_row *r, void *arg)
{
	(void)r;
	++*(size_t *)arg;
	return 0;
}

static int list_and_find(void *arg)
{
	const struct event_row *r = NULL;
	struct machine m;
	struct err e = {0};
	size_t nr = 0;
	int rc = open_root(&m, arg);

	if (rc)
		return rc;
	rc = event_uncore_maker.each(&m.c, count_row, &nr);
	if (rc == 0)
		rc = find(&m, "uncore_imc/cas_count_read/", &r, &e);
	if (rc == 0)
		rc = find(&m, "energy_pkg", &r, &e);
	assert_true(rc || r);
	close_machine(&m);
	/* a file that cannot be read takes its row along, or is said in it */
	return rc == -ENOENT && inject.fired && inject.error ? inject.error : rc;
}

TEST(failures)
{
	struct root r = tree_captured("intel-uncore");

	inject_every(list_and_find, &r, 5, 100);
}

/* Without room in the arena: -ENOMEM, and nothing half made. */
TEST(small_arena)
{
	struct machine m;

	open_tree(&m, "intel-uncore");
	for (size_t max = 0; max < 1500; max += 16) {
		const struct event_row *r = NULL;
		struct err e = {0};
		int rc;

		arena_fini(&m.arena);
		arena_init(&m.arena, max);
		rc = find(&m, "uncore_imc/cas_count_read/", &r, &e);
		assert_true(rc == 0 || rc == -ENOMEM);
		assert_true(rc ? max < 1000 && !r : max > 200 && r->name && r->unit);
	}
	close_machine(&m);
}
