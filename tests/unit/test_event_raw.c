/*
 * Raw encodings, terms of any PMU, and the kernel's own names of the core PMU, on made machines.
 */
#include "event_tree.h"
#include "kit.h"

/* One core PMU, as on any x86; a box of memory; a PMU without a mask. */
static const char *const x86[] = {
    "cpu/type",
    "4",
    "cpu/format/event",
    "config:0-7",
    "cpu/format/umask",
    "config:8-15",
    "cpu/format/edge",
    "config:18",
    "cpu/format/ldlat",
    "config1:0-15",
    "cpu/events/cpu-cycles",
    "event=0x3c",
    "cpu/events/mem-loads",
    "event=0xcd,umask=0x1,ldlat=3",
    "cpu/events/Slots",
    "event=0x00,umask=0x4",
    "cpu/events/energy",
    "event=0x07",
    "cpu/events/energy.scale",
    "0.5",
    "cpu/events/energy.unit",
    "Joules",
    "cpu/events/odd",
    "nonsense=1",
    "cpu/events/ill",
    "event=0x11",
    "cpu/events/ill.scale",
    "much",
    "uncore_imc_0/type",
    "14",
    "uncore_imc_0/cpumask",
    "0,4",
    "uncore_imc_0/format/event",
    "config:0-7",
    "uncore_imc_0/format/umask",
    "config:8-15",
    "uncore_imc_0/events/cas_count_read",
    "event=0x04,umask=0x03",
    "uncore_imc_0/events/cas_count_read.scale",
    "6.103515625e-5",
    "uncore_imc_0/events/cas_count_read.unit",
    "MiB",
    "msr/type",
    "9",
    "msr/format/event",
    "config:0-63",
    "msr/events/tsc",
    "event=0x00",
    NULL,
};

static const char *const hybrid[] = {
    "cpu_core/type",
    "4",
    "cpu_core/cpus",
    "0-3",
    "cpu_core/format/event",
    "config:0-7",
    "cpu_core/format/umask",
    "config:8-15",
    "cpu_core/events/cpu-cycles",
    "event=0x3c",
    "cpu_core/events/slots",
    "event=0x00,umask=0x4",
    "cpu_atom/type",
    "10",
    "cpu_atom/cpus",
    "4-7",
    "cpu_atom/format/event",
    "config:0-7",
    "cpu_atom/format/umask",
    "config:8-15",
    "cpu_atom/events/cpu-cycles",
    "event=0x3c",
    "cpu_atom/events/topdown-bad",
    "event=0x73,umask=0x0",
    NULL,
};

static const char *const arm[] = {
    "armv8_pmuv3_0/type",
    "8",
    "armv8_pmuv3_0/cpus",
    "0-7",
    "armv8_pmuv3_0/format/event",
    "config:0-15",
    "armv8_pmuv3_0/events/inst_retired",
    "event=0x008",
    NULL,
};

static const char *const bare[] = {"software/type", "1", NULL};

static const struct {
	const char *const *tree;
	const char *name, *canonical, *pmu;
	uint32_t type;
	uint64_t config, config1;
	const char *cpus, *unit;
	enum event_scope scope;
	unsigned alone;
} found[] = {
#define CORE EVENT_SCOPE_CPU, EVENT_ALONE_OS | EVENT_ALONE_USER
    {x86, "r01c2", "r01c2", "cpu", 4, 0x1c2, 0, NULL, "events", CORE},
    {x86, "R1C2", "R1C2", "cpu", 4, 0x1c2, 0, NULL, "events", CORE},
    {x86, "rffffffffffffffff", "rffffffffffffffff", "cpu", 4, UINT64_MAX, 0, NULL, "events", CORE},
    {x86, "cpu/event=0xc0,umask=0x1/", "cpu/event=0xc0,umask=0x1/", "cpu", 4, 0x1c0, 0, NULL,
     "events", CORE},
    {x86, "CPU/edge,event=0x3c/", "cpu/edge,event=0x3c/", "cpu", 4, 0x4003c, 0, NULL, "events",
     CORE},
    {x86, "cpu/event=0xcd,umask=1,ldlat=300/", "cpu/event=0xcd,umask=1,ldlat=300/", "cpu", 4, 0x1cd,
     300, NULL, "events", CORE},
    {x86, "cpu/config=0x1b7,config1=0x18007/", "cpu/config=0x1b7,config1=0x18007/", "cpu", 4, 0x1b7,
     0x18007, NULL, "events", CORE},
    {x86, "cpu-cycles", "cpu-cycles", "cpu", 4, 0x3c, 0, NULL, "events", CORE},
    {x86, "CPU-Cycles", "cpu-cycles", "cpu", 4, 0x3c, 0, NULL, "events", CORE},
    {x86, "mem-loads", "mem-loads", "cpu", 4, 0x1cd, 3, NULL, "events", CORE},
    {x86, "slots", "Slots", "cpu", 4, 0x400, 0, NULL, "events", CORE},
    {x86, "cpu/SLOTS/", "cpu/Slots/", "cpu", 4, 0x400, 0, NULL, "events", CORE},
    {x86, "energy", "energy", "cpu", 4, 0x7, 0, NULL, "Joules", CORE},
    {hybrid, "slots", "slots", "cpu_core", 4, 0x400, 0, "0-3", "events", CORE},
    {hybrid, "topdown-bad", "topdown-bad", "cpu_atom", 10, 0x73, 0, "4-7", "events", CORE},
    {hybrid, "cpu_atom/event=0xc0/", "cpu_atom/event=0xc0/", "cpu_atom", 10, 0xc0, 0, "4-7",
     "events", CORE},
    {hybrid, "cpu/slots/", "cpu/slots/", "cpu_core", 4, 0x400, 0, "0-3", "events", CORE},
    {arm, "r11", "r11", "armv8_pmuv3_0", 8, 0x11, 0, "0-7", "events", CORE},
    {arm, "INST_RETIRED", "inst_retired", "armv8_pmuv3_0", 8, 8, 0, "0-7", "events", CORE},
    {arm, "cpu/event=0x8/", "armv8_pmuv3_0/event=0x8/", "armv8_pmuv3_0", 8, 8, 0, "0-7", "events",
     CORE},
    {bare, "r01c2", "r01c2", "", 4, 0x1c2, 0, NULL, "events", CORE},
};

TEST(found)
{
	for (size_t i = 0; i < NR(found); i++) {
		struct machine m;
		struct event ev;
		struct err e = {0};
		size_t len;

		print_message("%s\n", found[i].name);
		machine_init(&m, found[i].tree);
		assert_int_equal(catalogue_find(&m.c, "model", found[i].name, &ev, &e), 0);
		assert_string_equal(ev.row->name, found[i].canonical);
		assert_int_equal(event_nr_parts(&ev), 1);
		expect_part(&ev, 0, found[i].pmu, found[i].type, found[i].config, found[i].config1,
			    found[i].cpus);
		assert_string_equal(ev.row->unit, found[i].unit);
		assert_int_equal(ev.row->scope, found[i].scope);
		assert_int_equal(ev.row->alone, found[i].alone);
		assert_int_equal(ev.row->kind, EVENT_COUNT);
		len = strlen(ev.row->description);
		assert_true(len > 10 && ev.row->description[len - 1] == '.');
		assert_true(ev.row->source[0]);
		assert_null(ev.row->missing);
		machine_fini(&m);
	}
}

/* On a hybrid CPU raw codes and common names are counted by each type of core. */
TEST(hybrid)
{
	static const struct {
		const char *name;
		uint64_t config;
	} rows[] = {
	    {"r01c2", 0x1c2},
	    {"cpu-cycles", 0x3c},
	    {"cpu/event=0xc0,umask=0x1/", 0x1c0},
	    {"cpu/cpu-cycles/", 0x3c},
	};
	struct machine m;

	machine_init(&m, hybrid);
	for (size_t i = 0; i < NR(rows); i++) {
		struct event ev;
		struct err e = {0};

		assert_int_equal(catalogue_find(&m.c, "model", rows[i].name, &ev, &e), 0);
		assert_string_equal(ev.row->name, rows[i].name);
		assert_int_equal(event_nr_parts(&ev), 2);
		expect_part(&ev, 0, "cpu_atom", 10, rows[i].config, 0, "4-7");
		expect_part(&ev, 1, "cpu_core", 4, rows[i].config, 0, "0-3");
	}
	machine_fini(&m);
}

TEST(scale)
{
	struct machine m;
	struct event ev;
	struct err e = {0};

	machine_init(&m, x86);
	assert_int_equal(catalogue_find(&m.c, "model", "energy", &ev, &e), 0);
	assert_true(ev.row->scale == 0.5);
	assert_int_equal(catalogue_find(&m.c, "model", "cpu-cycles", &ev, &e), 0);
	assert_true(ev.row->scale == 1);
	assert_int_equal(catalogue_find(&m.c, "model", "ill", &ev, &e), 0);
	assert_string_equal(ev.row->missing, "its scale is not a number");
	machine_fini(&m);
}

#define UNKNOWN "Unknown event: model:"
static const struct {
	const char *const *tree;
	const char *model, *name, *msg, *hint;
} refused[] = {
    {x86, NULL, "cpu/evnt=0xc0/", UNKNOWN "cpu/evnt=0xc0/: \"evnt\" is no term of the PMU cpu",
     "did you mean event? there are edge, event, ldlat, umask"},
    {x86, NULL, "cpu/event=0x1c0/",
     UNKNOWN "cpu/event=0x1c0/: event=0x1c0 is too large for the PMU cpu (its format is "
	     "config:0-7)",
     NULL},
    {x86, NULL, "cpu/event=ten/", UNKNOWN "cpu/event=ten/: event=ten: not a number of 64 bits",
     NULL},
    {x86, NULL, "uncore_imc_1/event=4/",
     UNKNOWN "uncore_imc_1/event=4/: this machine has no PMU \"uncore_imc_1\"",
     "did you mean misc:uncore_imc_0/…/?"},
    {x86, NULL, "cpx/event=4/", UNKNOWN "cpx/event=4/: this machine has no PMU \"cpx\"",
     "did you mean cpu/…/?"},
    {x86, NULL, "msr/tsc/", UNKNOWN "msr/tsc/: msr is not a core PMU",
     "did you mean misc:msr/tsc/?"},
    {x86, NULL, "Uncore_IMC_0/event=4/",
     UNKNOWN "Uncore_IMC_0/event=4/: uncore_imc_0 is not a core PMU",
     "did you mean misc:uncore_imc_0/event=4/?"},
    {bare, NULL, "software/config=1/", UNKNOWN "software/config=1/: software is not a core PMU",
     "--list-events lists all events of this machine"},
    {x86, NULL, "r01c2:u", UNKNOWN "r01c2:u: \":u\" cannot be part of a name",
     "use flags for the privilege level: os, user"},
    {x86, NULL, "cpu-cycles:u", UNKNOWN "cpu-cycles:u: \":u\" cannot be part of a name",
     "use flags for the privilege level: os, user"},
    {x86, NULL, "cpu/event=0xc0/u", UNKNOWN "cpu/event=0xc0/u: \"u\" cannot be part of a name",
     "use flags for the privilege level: os, user"},
    {x86, NULL, "cpu/event=0xc0/uk", UNKNOWN "cpu/event=0xc0/uk: \"uk\" cannot be part of a name",
     "use flags for the privilege level: os, user"},
    {x86, NULL, "cpu/event=0xc0/:h", UNKNOWN "cpu/event=0xc0/:h: \":h\" cannot be part of a name",
     "use flags for the privilege level: os, user"},
    {x86, NULL, "cpu/evnt=0xc0/u", UNKNOWN "cpu/evnt=0xc0/u: not of the form PMU/term=value,…/",
     NULL}, /* there is no such event without it either */
    {x86, NULL, "r11111111111111111", UNKNOWN "r11111111111111111: more than 64 bits", NULL},
    {x86, NULL, "cpu/event=4", UNKNOWN "cpu/event=4: not of the form PMU/term=value,…/",
     "for example cpu/event=0xc0,umask=0x1/"},
    {x86, NULL, "cpu//", UNKNOWN "cpu//: not of the form PMU/term=value,…/", NULL},
    {x86, NULL, "/event=4/", UNKNOWN "/event=4/: not of the form PMU/term=value,…/", NULL},
    {x86, NULL, "/", UNKNOWN "/: not of the form PMU/term=value,…/", NULL},
    {x86, NULL, "cpu/../cpu/type/", NULL, NULL},
    {x86, NULL, "cpu/\033[2J/", NULL, NULL},
    {x86, NULL, "r10000000000000000", NULL, NULL},
    {x86, NULL, "r", NULL, NULL},
    {x86, NULL, "r01g2", NULL, NULL},
    {x86, NULL, "odd", NULL, NULL},
    {x86, NULL, "tsc", NULL, NULL}, /* of no core */
    {bare, NULL, "cpu/event=4/", UNKNOWN "cpu/event=4/: this machine has no PMU \"cpu\"", NULL},
    {x86, "arm_n1", "cpu/event=4/",
     UNKNOWN "cpu/event=4/: the PMUs of this machine are not those of model arm_n1", NULL},
    {x86, "arm_n1", "cpu-cycles", NULL, NULL},
};

TEST(refused)
{
	for (size_t i = 0; i < NR(refused); i++) {
		struct event ev = {0};
		struct err e = {0};
		struct machine m;

		machine_init(&m, refused[i].tree);
		m.c.model = refused[i].model;
		print_message("%zu\n", i);
		assert_int_equal(catalogue_find(&m.c, "model", refused[i].name, &ev, &e), -ENOENT);
		if (refused[i].msg)
			assert_string_equal(e.msg, refused[i].msg);
		if (refused[i].hint)
			assert_string_equal(e.hint, refused[i].hint);
		assert_null(ev.row);
		machine_fini(&m);
	}
}

/* A code can be described for another CPU, not measured. */
TEST(foreign)
{
	struct machine m;
	struct event ev;
	struct err e = {0};

	machine_init(&m, x86);
	m.c.model = "arm_n1";
	assert_int_equal(catalogue_find(&m.c, "model", "r11", &ev, &e), 0);
	expect_part(&ev, 0, "", 4, 0x11, 0, NULL);
	assert_string_equal(ev.row->missing, "of another CPU model (this is Made CPU)");
	machine_fini(&m);
}

struct listing {
	const struct machine *m;
	char names[256];
};

static int note(const struct event *ev, void *arg)
{
	struct listing *l = arg;
	struct event found_again;
	struct err e = {0};

	if (ev->group != &event_model_group)
		return 0;
	strncat(l->names, ev->row->name, sizeof(l->names) - strlen(l->names) - 1);
	strncat(l->names, " ", sizeof(l->names) - strlen(l->names) - 1);
	assert_int_equal(catalogue_find(&l->m->c, "model", ev->row->name, &found_again, &e), 0);
	assert_int_equal(event_nr_parts(&found_again), event_nr_parts(ev));
	return 0;
}

/* What cannot be packed is not offered; a name of two PMUs stands once. */
TEST(list)
{
	static const struct {
		const char *const *tree;
		const char *model, *names;
	} rows[] = {
	    {x86, NULL, "Slots cpu-cycles energy ill mem-loads "},
	    {hybrid, NULL, "cpu-cycles slots topdown-bad "},
	    {arm, NULL, "inst_retired "},
	    {bare, NULL, ""},
	    {x86, "arm_ac7", ""},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct machine m;
		struct listing l = {&m, ""};

		machine_init(&m, rows[i].tree);
		m.c.model = rows[i].model;
		assert_int_equal(catalogue_each(&m.c, note, &l), 0);
#if defined(__x86_64__)
		assert_string_equal(l.names, rows[i].names);
#endif
		machine_fini(&m);
	}
}

static int stop(const struct event *ev, void *arg)
{
	(void)arg;
	return ev->group == &event_model_group ? 42 : 0;
}

static int find_some(void *arg)
{
	static const char *const names[] = {"r01c2", "cpu-cycles", "cpu/mem-loads/"};
	struct machine m = *(const struct machine *)arg;
	struct err e = {0};
	struct event ev;
	int rc = 0;

	arena_init(&m.arena, 1 << 20);
	m.c.arena = &m.arena;
	m.c.host = &((const struct machine *)arg)->host;
	for (size_t i = 0; i < NR(names) && rc == 0; i++)
		rc = catalogue_find(&m.c, "model", names[i], &ev, &e);
	arena_fini(&m.arena);
	return rc;
}

/* A listing ends at the first result that is not 0; no allocation may fail unnoticed. */
TEST(failures)
{
	struct machine m;
	int rc = -1;

	machine_init(&m, x86);
	assert_int_equal(catalogue_each(&m.c, stop, NULL), 42);
	for (unsigned n = 1; rc; n++) {
		inject_mem(n);
		rc = find_some(&m);
		inject_stop();
		assert_true(rc == 0 || rc == -ENOMEM);
		assert_int_equal(inject.nr_live, 0);
	}
	machine_fini(&m);
}
