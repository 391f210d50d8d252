/*
 * Events of CPU models: names to encodings, whatever machine the test runs on; what is refused and
 * how; that every name listed resolves; model names, aliases and why there may be none.
 */
#include "kit.h"

#include "base/arena.h"
#include "base/clock.h"
#include "event/catalogue.h"
#include "event/model.h"
#include "event/parts.h"
#include "host/host.h"

#include <ctype.h>
#include <linux/perf_event.h>

/* of the captured machine */
#define CPU "AMD EPYC 7763 64-Core Processor"

static const struct event_group *const groups[] = {&event_model_group};

/* One machine and its catalogue. */
struct machine {
	struct host host;
	struct arena arena;
	struct catalogue c;
};

static void machine_init(struct machine *m, const char *tree, const char *model)
{
	struct root root = tree_captured(tree);
	struct err e = {0};

	memset(m, 0, sizeof(*m));
	assert_int_equal(host_load(&root, &m->host, &e), 0);
	arena_init(&m->arena, 64 << 20);
	m->c = (struct catalogue){groups, NR(groups), &m->host, &m->arena, model};
}

static void machine_fini(struct machine *m)
{
	arena_fini(&m->arena);
	host_fini(&m->host);
}

/*
 * attr.config of x86 (Intel SDM volume 3B, 20.2.1; AMD64 APM volume 2, 13.2.1), without the bits
 * that the kernel owns (user, os, interrupt, enable: 16, 17, 20, 22): event 0-7, unit mask 8-15,
 * edge 18, any thread 21, invert 23, counter mask 24-31; AMD: event bits 8-11 at 32-35.
 * Codes are those of Intel's perfmon event files and of AMD's Processor Programming References.
 */
static const struct {
	const char *model, *name;
	uint64_t config, config1;
	const char *canonical; /* NULL: as named */
} encodings[] = {
#if defined(__x86_64__)
    {"skl", "INST_RETIRED:ANY_P", 0x00c0, 0, NULL},
    {"skl", "L1D:REPLACEMENT", 0x0151, 0, NULL},
    {"skl", "l1d:replacement", 0x0151, 0, "L1D:REPLACEMENT"},
    {"skl", "L1d.Replacement", 0x0151, 0, "L1D:REPLACEMENT"}, /* Intel's own spelling */
    {"skl", "l1d", 0x0151, 0, "L1D"},                         /* has a default mask */
    {"skl", "L1D:REPLACEMENT:c=2", 0x02000151, 0, NULL},
    {"skl", "l1d:replacement:C=2:I", 0x02800151, 0, "L1D:REPLACEMENT:c=2:i"},
    {"skl", "L1D:REPLACEMENT:c=1:e", 0x01040151, 0, NULL},
    {"skl", "L1D:REPLACEMENT:t", 0x00200151, 0, NULL},
    {"skl", "L1D:0x1", 0x0151, 0, NULL},
    {"skl", "LONGEST_LAT_CACHE:MISS", 0x412e, 0, NULL},
    {"skl", "MEM_LOAD_RETIRED:L3_MISS", 0x20d1, 0, NULL},
    {"skl", "CYCLE_ACTIVITY:STALLS_L2_MISS", 0x050005a3, 0, NULL},
    {"skl", "FRONTEND_RETIRED:DSB_MISS", 0x01c6, 0x11, NULL},
    {"skl", "MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=128", 0x01cd, 128, NULL},
    {"skylake", "BR_MISP_RETIRED:ALL_BRANCHES", 0x00c5, 0, NULL},
    {"icx", "INST_RETIRED:ANY_P", 0x00c0, 0, NULL},
    {"icx", "L1D:REPLACEMENT", 0x0151, 0, NULL},
    {"icx", "LONGEST_LAT_CACHE:MISS", 0x412e, 0, NULL},
    {"icx", "MEM_LOAD_RETIRED:L2_MISS", 0x10d1, 0, NULL},
    {"icx", "MEM_INST_RETIRED:ALL_LOADS", 0x81d0, 0, NULL},
    {"icx", "BR_INST_RETIRED:COND_TAKEN", 0x01c4, 0, NULL},
    {"icx", "BR_MISP_RETIRED:ALL_BRANCHES", 0x00c5, 0, NULL},
    {"icx", "DTLB_LOAD_MISSES:WALK_COMPLETED", 0x0e08, 0, NULL},
    {"icx", "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE", 0x01c7, 0, NULL},
    {"icx", "OCR:DEMAND_DATA_RD_DRAM", 0x01b7, 0x73c000001, NULL},
    {"icelake-server", "topdown:slots", 0x0400, 0, "TOPDOWN:SLOTS"},
    {"spr", "INST_RETIRED:ANY_P", 0x00c0, 0, NULL},
    {"spr", "L1D:REPLACEMENT", 0x0151, 0, NULL},
    {"spr", "LONGEST_LAT_CACHE:MISS", 0x412e, 0, NULL},
    {"spr", "MEM_INST_RETIRED:ALL_STORES", 0x82d0, 0, NULL},
    {"spr", "MEM_LOAD_RETIRED:L3_HIT", 0x04d1, 0, NULL},
    {"spr", "BR_INST_RETIRED:NEAR_TAKEN", 0x20c4, 0, NULL},
    {"spr", "UOPS_ISSUED:ANY", 0x01ae, 0, NULL},
    {"spr", "UOPS_RETIRED:SLOTS", 0x02c2, 0, NULL},
    {"spr", "EXE_ACTIVITY:BOUND_ON_LOADS", 0x050021a6, 0, NULL},
    {"amd64_fam17h_zen1", "CYCLES_NOT_IN_HALT", 0x0076, 0, NULL},
    {"amd64_fam17h_zen1", "RETIRED_INSTRUCTIONS", 0x00c0, 0, NULL},
    {"amd64_fam17h_zen1", "RETIRED_UOPS", 0x00c1, 0, NULL},
    {"amd64_fam17h_zen1", "RETIRED_BRANCH_INSTRUCTIONS", 0x00c2, 0, NULL},
    {"amd64_fam17h_zen1", "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED", 0x00c3, 0, NULL},
    {"amd64_fam17h_zen1", "RETIRED_TAKEN_BRANCH_INSTRUCTIONS", 0x00c4, 0, NULL},
    {"amd64_fam17h_zen1", "RETIRED_NEAR_RETURNS", 0x00c8, 0, NULL},
    {"zen", "DATA_CACHE_ACCESSES", 0x0040, 0, NULL},
    {"zen1", "retired_instructions:c=1", 0x010000c0, 0, "RETIRED_INSTRUCTIONS:c=1"},
    {"amd64_fam19h_zen4", "CYCLES_NOT_IN_HALT", 0x0076, 0, NULL},
    {"amd64_fam19h_zen4", "P0_FREQ_CYCLES_NOT_IN_HALT:P0_FREQ_CYCLES", 0x100000120, 0, NULL},
    {"amd64_fam19h_zen4", "RETIRED_INSTRUCTIONS", 0x00c0, 0, NULL},
    {"amd64_fam19h_zen4", "RETIRED_OPS", 0x00c1, 0, NULL},
    {"amd64_fam19h_zen4", "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED", 0x00c3, 0, NULL},
    {"amd64_fam19h_zen4", "RETIRED_MMX_FP_INSTRUCTIONS:SSE_INSTR", 0x04cb, 0, NULL},
    {"amd64_fam19h_zen4", "OP_CACHE_HIT_MISS:OC_MISS", 0x20000048f, 0, NULL},
    {"Zen4", "retired_conditional_branch_instructions", 0x00d1, 0,
     "RETIRED_CONDITIONAL_BRANCH_INSTRUCTIONS"},
#else
    {"arm_n1", "SW_INCR", 0x00, 0, NULL},
    {"arm_n1", "L1D_CACHE_REFILL", 0x03, 0, NULL},
    {"arm_n1", "L1D_CACHE", 0x04, 0, NULL},
    {"arm_n1", "INST_RETIRED", 0x08, 0, NULL},
    {"arm_n1", "BR_MIS_PRED", 0x10, 0, NULL},
    {"arm_n1", "CPU_CYCLES", 0x11, 0, NULL},
    {"arm_n1", "cpu_cycles", 0x11, 0, "CPU_CYCLES"},
    {"neoverse-n1", "L2D_CACHE_REFILL", 0x17, 0, NULL},
#endif
};

TEST(encodings)
{
	for (size_t i = 0; i < NR(encodings); i++) {
		struct event_part part;
		struct machine m;
		struct event ev;
		struct err e = {0};

		print_message("%s %s\n", encodings[i].model, encodings[i].name);
		machine_init(&m, "x86-vm", encodings[i].model);
		assert_int_equal(catalogue_find(&m.c, "model", encodings[i].name, &ev, &e), 0);
		assert_string_equal(ev.row->name, encodings[i].canonical ? encodings[i].canonical
									 : encodings[i].name);
		assert_int_equal(event_nr_parts(&ev), 1);
		event_part(&ev, 0, &part);
		assert_int_equal(part.type, PERF_TYPE_RAW);
		assert_int_equal(part.config, encodings[i].config);
		assert_int_equal(part.config1, encodings[i].config1);
		assert_int_equal(part.config2, 0);
		assert_string_equal(part.pmu, "");
		assert_null(part.cpus);
		assert_int_equal(ev.row->perf_config, part.config);
		assert_string_equal(ev.row->missing, "of another CPU model (this is " CPU ")");
		machine_fini(&m);
	}
}

#if defined(__x86_64__)
#define UNKNOWN "Unknown event: model:"
#define LISTS   "--list-events lists all events of this machine"

static const struct {
	const char *model, *name, *msg, *hint;
} refused[] = {
    {"skl", "MEM_LOAD_RETIRED",
     UNKNOWN "MEM_LOAD_RETIRED: needs a unit mask: L1_HIT, L2_HIT, L3_HIT, L1_MISS, L2_MISS, "
	     "L3_MISS, HIT_LFB, FB_HIT",
     NULL},
    {"skl", "L1D:REPLACMENT",
     UNKNOWN "L1D:REPLACMENT: no unit mask or modifier \"REPLACMENT\"; unit masks: REPLACEMENT "
	     "(default)",
     "did you mean model:L1D:REPLACEMENT? (--list-events lists all)"},
    {"skl", "L1D:REPLACEMENT:u", UNKNOWN "L1D:REPLACEMENT:u: \":u\" cannot be part of a name",
     "use flags for the privilege level: os, user"},
    {"skl", "l1d:replacement:K", UNKNOWN "l1d:replacement:K: \":k\" cannot be part of a name",
     "use flags for the privilege level: os, user"},
    {"zen4", "RETIRED_OPS:h", UNKNOWN "RETIRED_OPS:h: \":h\" cannot be part of a name",
     "use flags for the privilege level: os, user"},
    {"skl", "L1D:REPLACEMENT:period=5",
     UNKNOWN "L1D:REPLACEMENT:period=5: \":period\" cannot be part of a name",
     "use the spec's rate and flags to control measuring"},
    {"skl", "L1D:REPLACEMENT:c=999",
     UNKNOWN "L1D:REPLACEMENT:c=999: libpfm4 rejects it: invalid event attribute "
	     "value",
     NULL},
    {"skl", "L1D:",
     UNKNOWN "L1D:: no unit mask or modifier \"\"; unit masks: REPLACEMENT (default)", NULL},
    {"skl", "RETIRED_OPS", UNKNOWN "RETIRED_OPS", NULL},
    {"skl", "skl::L1D:REPLACEMENT", UNKNOWN "skl::L1D:REPLACEMENT", NULL},
    {"skl", "L1D,L1D", UNKNOWN "L1D,L1D", NULL},
    {"skl", "", UNKNOWN, LISTS},
    {NULL, "L1D:REPLACEMENT",
     UNKNOWN "L1D:REPLACEMENT: libpfm4 has no event table for " CPU
	     "; use the kernel's own names, raw encodings (r01c2, "
	     "cpu/event=0xc0/), fixed or arch",
     LISTS},
    {"arm_n1", "CPU_CYCLES",
     UNKNOWN "CPU_CYCLES: libpfm4 has no table for the model arm_n1: it is "
	     "built without ARM CPUs",
     "did you mean fixed:unhalted_core_cycles? (--list-events='CPU_CYCLES' lists more)"},
};

TEST(refused)
{
	for (size_t i = 0; i < NR(refused); i++) {
		struct event ev = {0};
		struct err e = {0};
		struct machine m;

		machine_init(&m, "x86-vm", refused[i].model);
		assert_int_equal(catalogue_find(&m.c, "model", refused[i].name, &ev, &e), -ENOENT);
		assert_string_equal(e.msg, refused[i].msg);
		if (refused[i].hint)
			assert_string_equal(e.hint, refused[i].hint);
		assert_null(ev.row);
		assert_true(m.arena.used_bytes < 4096); /* suggestions leave nothing */
		machine_fini(&m);
	}
}

/* A name too long for any table, of one token and of many; none is cut to a name that there is. */
TEST(endless_name)
{
	static const char *const repeated[] = {"L", ":REPLACEMENT", ":0x1", ":c=1", ":", "é"};
	static char name[20000];

	for (size_t i = 0; i < NR(repeated); i++) {
		size_t len = strlen(repeated[i]);
		struct err e = {0};
		struct machine m;
		struct event ev;

		strcpy(name, "L1D");
		for (size_t at = 3; at + len < sizeof(name); at += len)
			memcpy(name + at, repeated[i], len + 1);
		machine_init(&m, "x86-vm", "skl");
		assert_int_equal(catalogue_find(&m.c, "model", name, &ev, &e), -ENOENT);
		machine_fini(&m);
	}
}
#endif

struct listing {
	const struct catalogue *c;
	size_t nr, nr_masks;
	const char *last;
};

static int resolve_row(const struct event *ev, void *arg)
{
	struct listing *l = arg;
	const struct event_row *row = ev->row;
	struct err e = {0};
	struct event found;
	char upper[256];
	size_t i, len = strlen(row->description);

	for (i = 0; i < sizeof(upper) - 1 && row->name[i]; i++)
		upper[i] = (char)toupper(row->name[i]);
	upper[i] = '\0';
	if (l->last)
		assert_true(strcmp(l->last, row->name) < 0); /* each once */
	l->last = row->name;
	assert_int_equal(catalogue_find(l->c, "model", upper, &found, &e), 0);
	assert_string_equal(found.row->name, row->name);
	assert_int_equal(found.row->parts->config, row->parts->config);
	assert_int_equal(found.row->parts->config1, row->parts->config1);
	assert_string_equal(found.row->description, row->description);
	assert_true(len > 2 && row->description[len - 1] == '.' &&
		    row->description[len - 2] != '.');
	assert_true(row->unit[0] && row->source[0]);
	assert_non_null(strstr(row->detail, "\nUnit masks: "));
	assert_int_equal(row->number, 0);
	l->nr_masks += strchr(row->name, ':') != NULL;
	l->nr++;
	return 0;
}

/* How many events and how many with a mask, at least: what libpfm4 4.13 has. */
static const struct {
	const char *model;
	size_t at_least, with_mask;
} listed[] = {
#if defined(__x86_64__)
    {"skl", 470, 400},
    {"icx", 580, 550},
    {"spr", 520, 480},
    {"amd64_fam17h_zen1", 170, 130},
    {"amd64_fam19h_zen4", 310, 260},
    {"knl", 150, 120},
    {"nhm", 300, 200},
    {"netburst", 100, 100},
#else
    {"arm_n1", 80, 0},
#endif
};

TEST(list)
{
	for (size_t i = 0; i < NR(listed); i++) {
		struct listing l = {0};
		struct machine m;
		uint64_t start;

		machine_init(&m, "x86-vm", listed[i].model);
		start = clock_monotonic_ns();
		assert_int_equal(catalogue_each(&m.c, resolve_row, (l.c = &m.c, &l)), 0);
		print_message("%s: %zu events, %zu with a mask, %zu KiB, %.1f ms\n",
			      listed[i].model, l.nr, l.nr_masks, m.arena.used_bytes >> 10,
			      (double)(clock_monotonic_ns() - start) / 1e6);
		assert_true(l.nr >= listed[i].at_least && l.nr_masks >= listed[i].with_mask);
		machine_fini(&m);
	}
}

static int stop_third(const struct event *ev, void *arg)
{
	(void)ev;
	return ++*(int *)arg == 3 ? 42 : 0;
}

/* The first result that is not 0 ends a listing; a full arena ends it with -ENOMEM. */
TEST(list_ends)
{
	const struct event_row *row;
	struct event ev;
	struct err e = {0};
	struct machine m;
	int nr = 0;

	machine_init(&m, "x86-vm", listed[0].model);
	assert_int_equal(catalogue_each(&m.c, stop_third, &nr), 42);
	assert_int_equal(nr, 3);
	arena_fini(&m.arena);
	arena_init(&m.arena, 256);
	assert_int_equal(catalogue_each(&m.c, stop_third, &(int){1000}), -ENOMEM);
	assert_int_equal(event_pfm_maker.find(&m.c, encodings[0].name, &row, &e), -ENOMEM);
	assert_int_equal(catalogue_find(&m.c, "model", encodings[0].name, &ev, &e), -ENOMEM);
	machine_fini(&m);
}

static int find_one(void *arg)
{
	struct machine m = *(const struct machine *)arg;
	struct err e = {0};
	struct event ev;
	int rc;

	arena_init(&m.arena, 1 << 20);
	m.c.arena = &m.arena;
	m.c.host = &((const struct machine *)arg)->host;
	rc = catalogue_find(&m.c, "model", encodings[0].name, &ev, &e);
	arena_fini(&m.arena);
	return rc;
}

TEST(failures)
{
	struct machine m;

	machine_init(&m, "x86-vm", encodings[0].model);
	inject_every(find_one, &m, 3, 0);
	machine_fini(&m);
}

TEST(canonical)
{
	static const struct {
		const char *name, *canonical;
	} rows[] = {
	    {"skylake", "skl"},
	    {"SkyLake", "skl"},
	    {"kabylake", "skl"},
	    {"icelake", "icl"},
	    {"icelake-server", "icx"},
	    {"sapphirerapids", "spr"},
	    {"zen", "amd64_fam17h_zen1"},
	    {"zen4", "amd64_fam19h_zen4"},
	    {"neoverse-n1", "arm_n1"},
	    {"cortex-a57", "arm_ac57"},
	    {"skl", "skl"},
	    {"who knows", "who knows"},
	    {"", NULL},
	    {"default", NULL},
	    {NULL, NULL},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		const char *canonical = event_model_canonical(rows[i].name);

		if (rows[i].canonical)
			assert_string_equal(canonical, rows[i].canonical);
		else
			assert_null(canonical);
	}
}

TEST(check)
{
	static const struct {
		const char *name;
		int rc;
		const char *msg, *hint;
	} rows[] = {
		{"default", 0, "", ""},
#if defined(__x86_64__)
		{"skl", 0, "", ""},
		{"SKL", 0, "", ""},
		{"skylake", 0, "", ""},
		{"Zen2", 0, "", ""},
		{"arm_n1", -ENOTSUP,
		 "libpfm4 has no table for the model arm_n1: it is built without ARM CPUs",
		 "the groups fixed and arch work without one"},
		{"neoverse-v1", -ENOTSUP,
		 "libpfm4 has no table for the model neoverse-v1: it is built without ARM CPUs",
		 "the groups fixed and arch work without one"},
		{"ix86arch", -ENOENT, "Unknown model: ix86arch", NULL}, /* no CPU: arch has them */
#else
		{"arm_n1", 0, "", ""},
		{"cortex-a57", 0, "", ""},
		{"skylake", -ENOTSUP,
		 "libpfm4 has no table for the model skylake: it is built without x86 CPUs",
		 "the groups fixed and arch work without one"},
#endif
		{"skylaky", -ENOENT, "Unknown model: skylaky",
		 "did you mean \"skylake\"? Omit model_name for the detected CPU"},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct err e = {0};

		assert_int_equal(event_model_check(rows[i].name, &e), rows[i].rc);
		assert_string_equal(e.msg, rows[i].msg);
		if (rows[i].hint)
			assert_string_equal(e.hint, rows[i].hint);
	}
}

/* CPUs that libpfm4 4.13 has no table of: known all the same, and never taken for another. */
TEST(new_models)
{
	static const char *const names[] = {"alderlake", "RaptorLake", "graniterapids",
					    "sierraforest", "zen5"};
	struct err ignored = {0};
	bool has_x86 = event_model_check("skylake", &ignored) == 0; /* libpfm4's tables */

	for (size_t i = 0; i < NR(names); i++) {
		struct err e = {0};
		char msg[256];
		int rc = event_model_check(names[i], &e);

		print_message("%s\n", names[i]);
		if (rc == 0) /* a newer libpfm4 */
			continue;
		snprintf(msg, sizeof(msg), "libpfm4 has no table for the model %s: it is %s",
			 names[i],
			 has_x86 ? "older than that CPU, or uses another name"
				 : "built without x86 CPUs");
		assert_int_equal(rc, -ENOTSUP);
		assert_string_equal(e.msg, msg);
		assert_string_equal(e.hint, "the groups fixed and arch work without one");
	}
}

/* Every alias of this architecture's leads to a table; the reason tells what is missing. */
TEST(missing_reason)
{
	static const struct {
		const char *model, *reason;
	} rows[] = {
#if defined(__x86_64__)
		{"skylake", ""},
		{"zen3", ""},
		{"arm_n1",
		 "libpfm4 has no table for the model arm_n1: it is built without ARM CPUs"},
#endif
		{"nothing", "Unknown model: nothing"},
		{NULL, "libpfm4 has no event table for " CPU
		       "; use the kernel's own names, raw encodings (r01c2, "
		       "cpu/event=0xc0/), fixed or arch"},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		char reason[512], one[1] = {'x'};
		struct machine m;

		machine_init(&m, "x86-vm", rows[i].model);
		event_model_missing_reason(&m.c, reason, sizeof(reason));
		assert_string_equal(reason, rows[i].reason);
		event_model_missing_reason(&m.c, one, sizeof(one));
		assert_int_equal(one[0], 0);
		machine_fini(&m);
	}
}
