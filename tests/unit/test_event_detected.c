/*
 * A machine whose CPU libpfm4 knows, whatever this one is: libpfm4 is told so before it starts.
 */
#include "event_tree.h"
#include "kit.h"

#include "event/model.h"

#if defined(__x86_64__)
static const char *const none[] = {"software/type", "1", NULL};
static const char *const single[] = {"cpu/type", "4", "software/type", "1", NULL};
static const char *const intel[] = {
    "cpu_atom/type", "10", "cpu_atom/cpus", "4-7", "cpu_core/type", "4", "cpu_core/cpus",
    "0-3",           NULL};

static struct event find(const struct machine *m, const char *spelled)
{
	struct event ev = {0};
	struct err e = {0};

	print_message("%s\n", spelled);
	assert_int_equal(catalogue_find_spelled(&m->c, spelled, &ev, &e), 0);
	return ev;
}

/* Which PMU counts its events: the one named after
 * it, that of the type that libpfm4 says, the only one. */
TEST(model_pmu)
{
	static const char *const other_type[] = {"armv8_pmuv3_0/type", "8", "armv8_pmuv3_0/cpus",
						 "0-7", NULL};
	static const char *const named[] = {
	    "x_other/type", "11", "x_other/cpus", "0-1", "x_skylake/type", "12", "x_skylake/cpus",
	    "2-3",          NULL};
	static const char *const unnamed[] = {"a/type", "11",     "a/cpus", "0-1", "b/type",
					      "12",     "b/cpus", "2-3",    NULL};
	static const struct {
		const char *const *tree;
		const char *pmu;
		uint32_t type;
		const char *cpus;
		bool is_missing;
	} rows[] = {
	    {single, "cpu", 4, NULL, false},        {none, "", 4, NULL, false},
	    {intel, "cpu_core", 4, "0-3", false},   {other_type, "armv8_pmuv3_0", 8, "0-7", false},
	    {named, "x_skylake", 12, "2-3", false}, {unnamed, "", 4, NULL, true},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct machine m;
		struct event ev;

		machine_init(&m, rows[i].tree);
		ev = find(&m, "model:l1d:replacement");
		assert_int_equal(event_nr_parts(&ev), 1);
		expect_part(&ev, 0, rows[i].pmu, rows[i].type, 0x151, 0, rows[i].cpus);
		assert_int_equal(ev.row->missing != NULL, rows[i].is_missing);
		machine_fini(&m);
	}
}

/* The detected CPU, and nothing of it in what the program starts. */
TEST(detected)
{
	char name[32], reason[512];
	struct machine m;

	event_model_detect(name, sizeof(name));
	assert_string_equal(name, "skl");
	machine_init(&m, single);
	event_model_missing_reason(&m.c, reason, sizeof(reason));
	assert_string_equal(reason, "");
	m.c.model = "skl";
	assert_null(find(&m, "model:L1D").row->missing);
	m.c.model = "icx";
	assert_false(!event_model_is_foreign(&m.c));
	assert_null(getenv("LIBPFM_ENCODE_INACTIVE"));
	machine_fini(&m);
}

HOOK(before_all)
{
	setenv("LIBPFM_FORCE_PMU", "skl", 1);
}
#endif
