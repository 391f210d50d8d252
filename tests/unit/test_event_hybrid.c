/*
 * Generic events, ARM's common events and models on machines with one, two or no core PMU.
 */
#include "event_tree.h"
#include "kit.h"

#include <linux/perf_event.h>

#define HW(id) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##id

static const char *const none[] = {"software/type", "1", NULL};
static const char *const single[] = {"cpu/type", "4", "software/type", "1", NULL};
static const char *const intel[] = {
    "cpu_atom/type", "10", "cpu_atom/cpus", "4-7", "cpu_core/type", "4", "cpu_core/cpus",
    "0-3",           NULL};
/* The little cores lack an event that the big ones have. */
static const char *const arm[] = {"armv8_cortex_a53/type",
				  "8",
				  "armv8_cortex_a53/cpus",
				  "0-3",
				  "armv8_cortex_a53/format/event",
				  "config:0-15",
				  "armv8_cortex_a53/events/cpu_cycles",
				  "event=0x011",
				  "armv8_cortex_a72/type",
				  "9",
				  "armv8_cortex_a72/cpus",
				  "4-5",
				  "armv8_cortex_a72/format/event",
				  "config:0-15",
				  "armv8_cortex_a72/events/cpu_cycles",
				  "event=0x011",
				  "armv8_cortex_a72/events/bus_access",
				  "event=0x019",
				  NULL};
static const char *const arm_bare[] = {"armv8_pmuv3_0/type", "8", "armv8_pmuv3_0/cpus", "0-7",
				       NULL};

static struct event find(const struct machine *m, const char *spelled)
{
	struct event ev = {0};
	struct err e = {0};

	print_message("%s\n", spelled);
	assert_int_equal(catalogue_find_spelled(&m->c, spelled, &ev, &e), 0);
	return ev;
}

/* x86: the type of the PMU stands above the event (PERF_PMU_TYPE_SHIFT, Linux 5.13). */
static const struct {
	const char *spelled;
	uint32_t type;
	uint64_t config;
} generic[] = {
    {"fixed:instructions_retired", HW(INSTRUCTIONS)},
    {"fixed:cycle_counter", HW(CPU_CYCLES)},
    {"arch:llc_misses", HW(CACHE_MISSES)},
    {"arch:branches_retired", HW(BRANCH_INSTRUCTIONS)},
    {"arch:l1d_load_misses", PERF_TYPE_HW_CACHE, 0x10000},
};

TEST(generic)
{
	for (size_t i = 0; i < NR(generic); i++) {
		uint64_t config = generic[i].config;
		struct machine m;
		struct event ev;

		machine_init(&m, intel);
		ev = find(&m, generic[i].spelled);
		assert_int_equal(event_nr_parts(&ev), 2);
		expect_part(&ev, 0, "cpu_atom", generic[i].type, config | 10ull << 32, 0, "4-7");
		expect_part(&ev, 1, "cpu_core", generic[i].type, config | 4ull << 32, 0, "0-3");
		assert_true(event_id(&ev) >> 11 && ev.row->number); /* ids stay */
		machine_fini(&m);
		machine_init(&m, arm);
		ev = find(&m, generic[i].spelled);
		assert_int_equal(event_nr_parts(&ev), 2);
		expect_part(&ev, 0, "armv8_cortex_a53", generic[i].type, config, 0, "0-3");
		expect_part(&ev, 1, "armv8_cortex_a72", generic[i].type, config, 0, "4-5");
		machine_fini(&m);
	}
}

/* Which PMUs are added up stands in the source, and so in the trace. */
TEST(sources)
{
	static const struct {
		const char *const *tree;
		const char *spelled, *source;
	} rows[] = {
	    {intel, "fixed:instructions_retired",
	     "cpu_atom:PERF_COUNT_HW_INSTRUCTIONS cpu_core:PERF_COUNT_HW_INSTRUCTIONS"},
	    {arm, "arch:llc_misses",
	     "armv8_cortex_a53:PERF_COUNT_HW_CACHE_MISSES "
	     "armv8_cortex_a72:PERF_COUNT_HW_CACHE_MISSES"},
	    {single, "fixed:instructions_retired", "PERF_COUNT_HW_INSTRUCTIONS"},
	    {none, "fixed:instructions_retired", "PERF_COUNT_HW_INSTRUCTIONS"},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct machine m;
		struct event ev;

		machine_init(&m, rows[i].tree);
		ev = find(&m, rows[i].spelled);
		assert_string_equal(ev.row->source, rows[i].source);
		machine_fini(&m);
	}
}

/* One core PMU or none: the kernel finds it. */
TEST(single)
{
	static const char *const *const trees[] = {none, single, arm_bare};

	for (size_t t = 0; t < NR(trees); t++)
		for (size_t i = 0; i < NR(generic); i++) {
			struct machine m;
			struct event ev;

			machine_init(&m, trees[t]);
			ev = find(&m, generic[i].spelled);
			assert_int_equal(ev.row->nr_parts, 0);
			expect_part(&ev, 0, "", generic[i].type, generic[i].config, 0, NULL);
			machine_fini(&m);
		}
}

/* What is no event of a core stays whole. */
TEST(software)
{
	static const struct event_group *const groups[] = {&event_software_group};
	struct machine m;
	struct event ev;

	machine_init(&m, intel);
	m.c.groups = groups;
	m.c.nr_groups = 1;
	ev = find(&m, "software:cpu_clock");
	assert_int_equal(ev.row->nr_parts, 0);
	machine_fini(&m);
}

static int check_listed(const struct event *ev, void *arg)
{
	size_t *nr = arg;

	if (ev->group != &event_model_group) {
		assert_int_equal(event_nr_parts(ev), 2);
		++*nr;
	}
	return 0;
}

TEST(list)
{
	struct machine m;
	size_t nr = 0;

	machine_init(&m, intel);
	assert_int_equal(catalogue_each(&m.c, check_listed, &nr), 0);
	assert_int_equal(nr, event_fixed_group.nr_rows + event_arch_group.nr_rows);
	arena_fini(&m.arena);
	arena_init(&m.arena, 100);
	assert_int_equal(catalogue_each(&m.c, check_listed, &nr), -ENOMEM);
	machine_fini(&m);
}

/* The Arm ARM's common events by their numbers, which ids rely on. */
static const char *const common[] = {
    "sw_incr",
    "l1i_cache_refill",
    "l1i_tlb_refill",
    "l1d_cache_refill",
    "l1d_cache",
    "l1d_tlb_refill",
    "ld_retired",
    "st_retired",
    "inst_retired",
    "exc_taken",
    "exc_return",
    "cid_write_retired",
    "pc_write_retired",
    "br_immed_retired",
    "br_return_retired",
    "unaligned_ldst_retired",
    "br_mis_pred",
    "cpu_cycles",
    "br_pred",
    "mem_access",
    "l1i_cache",
    "l1d_cache_wb",
    "l2d_cache",
    "l2d_cache_refill",
    "l2d_cache_wb",
    "bus_access",
    "memory_error",
    "inst_spec",
    "ttbr_write_retired",
    "bus_cycles",
    "chain",
    "l1d_cache_allocate",
};

TEST(common)
{
	struct machine m;

	machine_init(&m, arm_bare);
	for (uint32_t i = 0; i < NR(common); i++) {
		char spelled[64];
		struct event ev;

		snprintf(spelled, sizeof(spelled), "arch:%s", common[i]);
		ev = find(&m, spelled);
		assert_int_equal(event_id(&ev), 1 << 11 | (32 + i));
		expect_part(&ev, 0, "armv8_pmuv3_0", 8, i, 0, "0-7");
		assert_null(ev.row->missing);
		assert_string_equal(find(&m, spelled).row->name, common[i]);
	}
	assert_string_equal(find(&m, "arch:INST_RETIRED").row->name, "inst_retired");
	machine_fini(&m);
}

/* Device trees name the PMUs of newer cores armv9_…. */
TEST(common_armv9)
{
	static const char *const v9[] = {"armv8_cortex_a55/type",
					 "8",
					 "armv8_cortex_a55/cpus",
					 "0-3",
					 "armv9_cortex_a710/type",
					 "9",
					 "armv9_cortex_a710/cpus",
					 "4-5",
					 NULL};
	struct machine m;
	struct event ev;

	machine_init(&m, v9);
	ev = find(&m, "arch:l1d_cache");
	assert_int_equal(event_nr_parts(&ev), 2);
	expect_part(&ev, 1, "armv9_cortex_a710", 9, 4, 0, "4-5");
	machine_fini(&m);
}

/* A part for each PMU that publishes the event; none: why. */
TEST(common_missing)
{
	struct machine m;
	struct event ev;

	machine_init(&m, arm);
	ev = find(&m, "arch:cpu_cycles");
	assert_int_equal(event_nr_parts(&ev), 2);
	expect_part(&ev, 0, "armv8_cortex_a53", 8, 0x11, 0, "0-3");
	expect_part(&ev, 1, "armv8_cortex_a72", 9, 0x11, 0, "4-5");
	ev = find(&m, "arch:bus_access");
	assert_int_equal(event_nr_parts(&ev), 1);
	expect_part(&ev, 0, "armv8_cortex_a72", 9, 0x19, 0, "4-5");
	assert_null(ev.row->missing);
	ev = find(&m, "arch:chain");
	assert_string_equal(ev.row->missing, "the CPU does not implement it, or its kernel driver "
					     "does not offer it");
	machine_fini(&m);
}

static int count_numbered(const struct event *ev, void *arg)
{
	*(size_t *)arg +=
	    ev->group == &event_arch_group && ev->row->number >= 32 && ev->row->number < 64;
	return 0;
}

/* On ARM, and for an ARM model; not on x86. */
TEST(common_list)
{
	static const struct {
		const char *const *tree;
		const char *machine, *model;
		size_t nr;
	} rows[] = {
	    {arm_bare, "aarch64", NULL, 32},  {arm, "aarch64", NULL, 32},
	    {none, "aarch64", NULL, 32},      {none, "x86_64", NULL, 0},
	    {single, "x86_64", NULL, 0},      {single, "x86_64", "neoverse-n1", 32},
	    {intel, "x86_64", "arm_ac7", 32}, {arm, "aarch64", "skylake", 0},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct machine m;
		size_t nr = 0;

		machine_init(&m, rows[i].tree);
		snprintf(m.host.machine, sizeof(m.host.machine), "%s", rows[i].machine);
		m.c.model = rows[i].model;
		assert_int_equal(catalogue_each(&m.c, count_numbered, &nr), 0);
		assert_int_equal(nr, rows[i].nr);
		machine_fini(&m);
	}
}

TEST(common_foreign)
{
	struct machine m;
	struct event ev;

	machine_init(&m, single);
	m.c.model = "neoverse-n1";
	ev = find(&m, "arch:inst_retired");
	expect_part(&ev, 0, "", PERF_TYPE_RAW, 8, 0, NULL);
	assert_string_equal(ev.row->missing, "of another CPU model than this machine's");
	machine_fini(&m);
}

#if defined(__x86_64__)
struct listing {
	const char *last;
	bool has_cycles;
};

/* Names in their order, none twice in another case. */
static int expect_once(const struct event *ev, void *arg)
{
	struct listing *l = arg;

	if (ev->group != &event_model_group)
		return 0;
	assert_true(!l->last || strcmp(l->last, ev->row->name) < 0);
	assert_string_not_equal(ev->row->name, "inst_retired");
	l->has_cycles |= strcmp(ev->row->name, "cpu-cycles") == 0;
	l->last = ev->row->name;
	return 0;
}

/* Two models in one machine: a name that both know is one event with two parts; what the kernel
 * publishes under libpfm4's name is libpfm4's. "cpu_myskylake" is no Skylake. */
TEST(two_models)
{
	static const char *const two[] = {"cpu_skylake/type",
					  "4",
					  "cpu_skylake/cpus",
					  "0-3",
					  "cpu_skylake/format/event",
					  "config:0-7",
					  "cpu_skylake/events/inst_retired",
					  "event=0xc0",
					  "cpu_skylake/events/cpu-cycles",
					  "event=0x3c",
					  "cpu_tremont/type",
					  "10",
					  "cpu_tremont/cpus",
					  "4-7",
					  "cpu_mygoldmont/type",
					  "11",
					  "cpu_mygoldmont/cpus",
					  "4-7",
					  NULL};
	struct listing l = {0};
	struct machine m;
	struct event ev;

	machine_init(&m, two);
	ev = find(&m, "model:LONGEST_LAT_CACHE:MISS");
	assert_int_equal(event_nr_parts(&ev), 2);
	expect_part(&ev, 0, "cpu_skylake", 4, 0x412e, 0, "0-3");
	expect_part(&ev, 1, "cpu_tremont", 10, 0x412e, 0, "4-7");
	ev = find(&m, "model:L1D:REPLACEMENT");
	assert_int_equal(event_nr_parts(&ev), 1);
	expect_part(&ev, 0, "cpu_skylake", 4, 0x151, 0, "0-3");
	ev = find(&m, "model:CYCLES_DIV_BUSY:ANY");
	assert_int_equal(event_nr_parts(&ev), 1);
	expect_part(&ev, 0, "cpu_tremont", 10, 0xcd, 0, "4-7");
	assert_int_equal(catalogue_each(&m.c, expect_once, &l), 0);
	assert_true(l.last && l.has_cycles);
	m.c.model = "skylake"; /* one of them by name: it is here too */
	ev = find(&m, "model:LONGEST_LAT_CACHE:MISS");
	assert_int_equal(event_nr_parts(&ev), 1);
	assert_null(ev.row->missing);
	m.c.model = "icx";
	assert_string_equal(find(&m, "model:LONGEST_LAT_CACHE:MISS").row->missing,
			    "of another CPU model (this is skl)");
	machine_fini(&m);
}
#endif
