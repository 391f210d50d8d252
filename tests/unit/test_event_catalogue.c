/*
 * The catalogue: what every row must have, how events are found, and what is suggested for a
 * name that there is not.
 */
#include "kit.h"

#include "collect/collect.h"
#include "event/catalogue.h"

static const struct event_group *const groups[] = {&event_arch_group, &event_fixed_group,
						   &collect_misc_group, &event_software_group};
static const struct catalogue catalogue = {groups, NR(groups)};

/* The row's own demands; the text tells which row. */
static void expect_row(const struct event_group *g, const struct event_row *r)
{
	size_t len = r->description ? strlen(r->description) : 0;

	print_message("%s:%s\n", g->name, r->name);
	assert_true(len > 10 && r->description[len - 1] == '.');
	assert_true(r->unit && r->unit[0]);
	assert_true(r->source && r->source[0]);
	assert_true(r->number >= 1 && r->number <= 2047);
	assert_true(r->kind >= EVENT_COUNT && r->kind <= EVENT_SHARE);
	assert_true(r->scope >= EVENT_SCOPE_CPU && r->scope <= EVENT_SCOPE_THINGS);
	assert_int_equal(r->kind == EVENT_SHARE, strcmp(r->unit, "%") == 0);
	assert_int_equal(strspn(r->name, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(r->name));
	assert_int_equal(r->source[0] == '/' || strncmp(r->source, "bpf(2)", 6) == 0, !g->is_perf);
}

static void expect_unique(const struct event_group *g, size_t i)
{
	const struct event_row *a = &g->rows[i];

	for (size_t k = 0; k < g->nr_rows; k++) {
		const struct event_row *b = &g->rows[k];

		if (a->alias)
			assert_string_not_equal(a->alias, b->name);
		if (k == i)
			continue;
		assert_int_not_equal(a->number, b->number);
		assert_string_not_equal(a->name, b->name);
		if (a->alias && b->alias)
			assert_string_not_equal(a->alias, b->alias);
	}
}

TEST(rows)
{
	for (size_t i = 0; i < NR(groups); i++) {
		const struct event_group *g = groups[i];

		assert_true(g->nr_rows > 0 && g->description[strlen(g->description) - 1] == '.');
		for (size_t k = 0; k < g->nr_rows; k++) {
			expect_row(g, &g->rows[k]);
			expect_unique(g, k);
		}
	}
}

/* Names and numbers that traces and specs of today rely on: never another meaning. */
static const struct {
	const char *spelled;
	uint32_t id;
	const char *name; /* NULL: as spelled */
} known[] = {
    {"arch:unhalted_core_cycles", 1 << 11 | 1, NULL},
    {"arch:instructions_retired", 1 << 11 | 2, NULL},
    {"arch:unhalted_reference_cycles", 1 << 11 | 3, NULL},
    {"arch:llc_references", 1 << 11 | 4, NULL},
    {"arch:llc_misses", 0x805, NULL},
    {"arch:branch_instructions_retired", 1 << 11 | 6, NULL},
    {"arch:branches_retired", 1 << 11 | 6, "branch_instructions_retired"},
    {"arch:branch_misses_retired", 1 << 11 | 7, NULL},
    {"fixed:instructions_retired", 0x1001, NULL},
    {"fixed:unhalted_core_cycles", 2 << 11 | 2, NULL},
    {"fixed:unhalted_reference_cycles", 0x1003, NULL},
    {"fixed:cycle_counter", 2 << 11 | 4, NULL},
    {"misc:cpu_utilization", 4 << 11 | 101, NULL},
    {"misc:cpu_user", 4 << 11 | 102, NULL},
    {"misc:cpu_system", 4 << 11 | 103, NULL},
    {"misc:cpu_iowait", 4 << 11 | 104, NULL},
    {"misc:context_switches", 4 << 11 | 105, NULL},
    {"misc:memory_used", 4 << 11 | 120, NULL},
    {"misc:memory_available", 4 << 11 | 121, NULL},
    {"misc:page_faults", 4 << 11 | 130, NULL},
    {"software:cpu_clock", 5 << 11 | 1, NULL},
    {"software:minor_faults", 5 << 11 | 6, NULL},
    {"software:page_faults_min", 5 << 11 | 6, "minor_faults"},
    {"software:page_faults_maj", 5 << 11 | 7, "major_faults"},
    {"software:cgroup_switches", 5 << 11 | 12, NULL},
};

TEST(known)
{
	for (size_t i = 0; i < NR(known); i++) {
		const char *name = strchr(known[i].spelled, ':') + 1;
		struct err e = {0};
		struct event ev;

		assert_int_equal(catalogue_find_spelled(&catalogue, known[i].spelled, &ev, &e), 0);
		assert_int_equal(event_id(&ev), known[i].id);
		assert_int_equal(event_id(&ev), ev.group->id << 11 | ev.row->number);
		assert_string_equal(ev.row->name, known[i].name ? known[i].name : name);
	}
}

#define LISTS "--list-events lists all events of this machine"
static const struct {
	const char *spelled;
	int rc;
	const char *msg, *hint;
} unknown[] = {
    {"fixed:instructions_retird", -ENOENT, "Unknown event: fixed:instructions_retird",
     "did you mean fixed:instructions_retired? (--list-events lists all)"},
    {"arch:llc_miss", -ENOENT, "Unknown event: arch:llc_miss",
     "did you mean arch:llc_misses? (--list-events lists all)"},
    {"fixed:llc_misses", -ENOENT, "Unknown event: fixed:llc_misses",
     "did you mean arch:llc_misses? (--list-events lists all)"},
    {"fixd:cycle_counter", -ENOENT, "Unknown event: fixd:cycle_counter",
     "did you mean fixed:cycle_counter? (--list-events lists all)"},
    {"fixed:Instructions_Retired", -ENOENT, "Unknown event: fixed:Instructions_Retired",
     "did you mean fixed:instructions_retired? (--list-events lists all)"},
    {"FIXED:cycle_counter", -ENOENT, "Unknown event: FIXED:cycle_counter",
     "did you mean fixed:cycle_counter? (--list-events lists all)"},
    {"sofware:cpu_clok", -ENOENT, "Unknown event: sofware:cpu_clok",
     "did you mean software:cpu_clock? (--list-events lists all)"},
    {"arch:branches_retird", -ENOENT, "Unknown event: arch:branches_retird",
     "did you mean arch:branches_retired? (--list-events lists all)"},
    {"fixed:", -ENOENT, "Unknown event: fixed:", LISTS},
    {":", -ENOENT, "Unknown event: :", LISTS},
    {"fixed:zzz", -ENOENT, "Unknown event: fixed:zzz", LISTS},
    {"tracepoint:sched:sched_switch", -ENOENT, "Unknown event: tracepoint:sched:sched_switch",
     LISTS},
#define PRIVILEGE "use flags for the privilege level: os, user"
    {"fixed:instructions_retired:u", -ENOENT,
     "Unknown event: fixed:instructions_retired:u: \":u\" cannot be part "
     "of a name",
     PRIVILEGE},
    {"arch:llc_misses:uk", -ENOENT,
     "Unknown event: arch:llc_misses:uk: \":uk\" cannot be part of a "
     "name",
     PRIVILEGE},
    {"software:page_faults:h", -ENOENT,
     "Unknown event: software:page_faults:h: \":h\" cannot be part of a "
     "name",
     PRIVILEGE},
    {"software:page_faults_min:k", -ENOENT,
     "Unknown event: software:page_faults_min:k: \":k\" cannot be part "
     "of a name",
     PRIVILEGE},
    {"software:page_faults:x", -ENOENT, "Unknown event: software:page_faults:x",
     "did you mean software:page_faults? (--list-events lists all)"},
    {"fixed:zzz:u", -ENOENT, "Unknown event: fixed:zzz:u", LISTS},
    {"fixed:u", -ENOENT, "Unknown event: fixed:u", LISTS},
    {"fixed::u", -ENOENT, "Unknown event: fixed::u", LISTS},
    {"cycle_counter", -EINVAL, "\"cycle_counter\" is not of the form group:name",
     "did you mean fixed:cycle_counter?"},
    {"instructions_retired", -EINVAL, "\"instructions_retired\" is not of the form group:name",
     "did you mean arch:instructions_retired or fixed:instructions_retired?"},
    {"page_faults", -EINVAL, "\"page_faults\" is not of the form group:name",
     "did you mean misc:page_faults or software:page_faults?"},
    {"no_such_event", -EINVAL, "\"no_such_event\" is not of the form group:name",
     "for example fixed:instructions_retired"},
    {"", -EINVAL, "\"\" is not of the form group:name", "for example fixed:instructions_retired"},
};

TEST(unknown)
{
	for (size_t i = 0; i < NR(unknown); i++) {
		struct event ev = {0};
		struct err e = {0};

		assert_int_equal(catalogue_find_spelled(&catalogue, unknown[i].spelled, &ev, &e),
				 unknown[i].rc);
		assert_string_equal(e.msg, unknown[i].msg);
		assert_string_equal(e.hint, unknown[i].hint);
		assert_null(ev.row);
	}
}

/* Without a group, the first group that has the name, in the order of the table in catalogue.c. */
TEST(bare)
{
	static const struct {
		const char *name, *group, *hint;
	} cases[] = {
	    {"instructions_retired", "fixed", NULL},
	    {"llc_misses", "arch", NULL},
	    {"page_faults", "software", NULL},
	    {"page_faults_min", "software", NULL},
	    {"memory_used", "misc", NULL},
	    {"page_fault", NULL, "did you mean software:page_faults? (--list-events lists all)"},
	    {"memory_usd", NULL, "did you mean misc:memory_used? (--list-events lists all)"},
	    {"zzz", NULL, LISTS},
	    {"", NULL, LISTS},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct event ev = {0};
		struct err e = {0};
		int rc = catalogue_find_bare(&catalogue, cases[i].name, &ev, &e);

		assert_int_equal(rc, cases[i].group ? 0 : -ENOENT);
		if (cases[i].group) {
			assert_string_equal(ev.group->name, cases[i].group);
			continue;
		}
		assert_memory_equal(e.msg, "Unknown event: ", 15);
		assert_string_equal(e.hint, cases[i].hint);
	}
}

TEST(endless_name)
{
	static char spelled[100000] = "fixed:";
	struct err e = {0};
	struct event ev;

	memset(spelled + 6, 'x', sizeof(spelled) - 7);
	assert_int_equal(catalogue_find_spelled(&catalogue, spelled, &ev, &e), -ENOENT);
	assert_string_equal(e.hint, LISTS);
}

struct walk {
	size_t nr, stop_at;
	struct event last;
};

static int walk_on(const struct event *ev, void *arg)
{
	struct walk *w = arg;

	if (w->nr && w->last.group == ev->group)
		assert_true(strcmp(w->last.row->name, ev->row->name) < 0);
	w->last = *ev;
	return ++w->nr == w->stop_at ? 42 : 0;
}

TEST(each)
{
	static const struct event_group empty = {.name = "empty"};
	static const struct event_group *const with_empty[] = {&empty, &event_fixed_group};
	struct catalogue two = {with_empty, 2}, none = {groups, 0};
	struct walk all = {0}, some = {.stop_at = 3}, w = {0};
	size_t nr = 0;

	for (size_t i = 0; i < NR(groups); i++)
		nr += groups[i]->nr_rows;
	assert_int_equal(catalogue_each(&catalogue, walk_on, &all), 0);
	assert_int_equal(all.nr, nr);
	assert_ptr_equal(all.last.group, groups[NR(groups) - 1]);
	assert_int_equal(catalogue_each(&catalogue, walk_on, &some), 42);
	assert_int_equal(some.nr, 3);
	assert_int_equal(catalogue_each(&two, walk_on, &w), 0);
	assert_int_equal(catalogue_each(&none, walk_on, &w), 0);
	assert_int_equal(w.nr, event_fixed_group.nr_rows);
}

/* Counting and sampling: what may stand alone, and which are clocks. */
TEST(alone)
{
	static const unsigned any = EVENT_ALONE_OS | EVENT_ALONE_USER;
	static const struct {
		const char *event;
		unsigned counted, sampled;
		bool is_clock;
	} cases[] = {
	    {"software:cpu_clock", 0, any, true},
	    {"software:task_clock", 0, any, true},
	    {"software:page_faults", any, any, false},
	    {"software:context_switches", EVENT_ALONE_OS, EVENT_ALONE_OS, false},
	    {"software:cpu_migrations", EVENT_ALONE_OS, EVENT_ALONE_OS, false},
	    {"software:dummy", 0, 0, false},
	    {"software:bpf_output", 0, 0, false},
	    {"fixed:unhalted_core_cycles", any, any, false}, /* config 0, as the CPU clock's */
	    {"arch:instructions_retired", any, any, false},  /* config 1, as the task clock's */
	    {"misc:cpu_user", 0, 0, false},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct err e = {0};
		struct event ev;

		assert_int_equal(catalogue_find_spelled(&catalogue, cases[i].event, &ev, &e), 0);
		assert_int_equal(event_alone(&ev, false), cases[i].counted);
		assert_int_equal(event_alone(&ev, true), cases[i].sampled);
		assert_int_equal(event_is_clock(&ev), cases[i].is_clock);
	}
}

static int use_all(void *arg)
{
	struct err e = {0};
	struct event ev;
	struct walk w = {0};
	int rc = catalogue_find_spelled(arg, "arch:llc_misses", &ev, &e);

	assert_int_equal(e.code, rc);
	return rc ? rc : catalogue_each(arg, walk_on, &w);
}

TEST(failures)
{
	struct catalogue c = catalogue;

	inject_every(use_all, &c, 1 + NR(groups), 0);
}
